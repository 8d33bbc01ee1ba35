"""Commands that are made of a question: it takes a cluster, the question's settings and what it wants, and shows its sheet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import click

from planner.cli import options, output, terminal
from planner.cli.cluster import read_cluster, read_clusters
from planner.cli.given import ask_prometheus, price_book, price_options, prometheus_options
from planner.ground.errors import InputError
from planner.ground.settings import settings_of
from planner.ground.tables import as_text
from planner.ground.words import sentence
from planner.kubernetes.records import Snapshot
from planner.questions import question_called
from planner.questions.question import Given, Question, Want
from planner.questions.wording import listed
from planner.sources.cluster import EMBEDDED

Options = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command was called with."""

    specs: tuple[str, ...]
    snapshots: list[Snapshot]
    settings: Any
    values: Mapping[str, Any]


def _gpu_use(asked: _Asked) -> dict[str, Any]:
    url = asked.values["prometheus_url"]
    if not url:
        mend = "Name one that scrapes DCGM's or AMD's exporter: --prometheus http://prometheus.example:9090"
        raise InputError("no Prometheus is given", where="--prometheus", mend=mend)
    from planner.sources.prometheus_gpus import gpu_use

    end, days, busy = asked.snapshots[0].taken_at, asked.values["days"], asked.settings.busy_percent
    token = asked.values["prometheus_token_file"]
    return {
        "gpu_uses": ask_prometheus(url, token, lambda server: gpu_use(server, end=end, days=days, busy_percent=busy))
    }


_WANTED: Final[Mapping[Want, tuple[Options | None, Callable[[_Asked], dict[str, Any]]]]] = {
    Want.PRICES: (
        price_options,
        lambda asked: {"book": price_book(asked.values["own_prices"], asked.values["discounts"])},
    ),
    Want.GPU_USE: (
        prometheus_options(what="It scrapes NVIDIA's DCGM exporter or AMD's device-metrics-exporter; needed."),
        _gpu_use,
    ),
    Want.CLOCK: (None, lambda asked: {"now": time.time(), "is_embedded": asked.specs[0] in EMBEDDED}),
    Want.OTHERS: (None, lambda asked: {"others": tuple(asked.snapshots[1:])}),
}
"""What a question wants → the options that bring it, the fields of `Given` that it becomes."""


def command_of(name: str) -> click.Command:
    """The command of the question of that name."""
    question = question_called(name)
    several = Want.OTHERS in question.wants

    def command(clusters: str | tuple[str, ...], rows: str, output_format: str, **values: Any) -> int:
        specs = (clusters,) if isinstance(clusters, str) else clusters
        fail_on = values.pop("fail_on", ())
        snapshots = read_clusters(specs) if several else [read_cluster(*specs)]
        asked = _Asked(specs, snapshots, options.read(question.settings, _settings(question, values)), values)
        given = Given(**{key: value for want in question.wants for key, value in _WANTED[want][1](asked).items()})
        found = question.answer(snapshots[0], asked.settings, given)
        output.show(
            output_format, question, snapshots, asked.settings, found, text=lambda: show(question, found), rows=rows
        )
        return int(question.exit_status(snapshots, found, fail_on))

    made: Callable[..., Any] = output.printing(question)(command)
    for want in reversed(question.wants):
        with_options = _WANTED[want][0]
        made = with_options(made) if with_options else made
    made = options.asked(question.settings)(made)
    made = click.argument("clusters", **({"nargs": -1, "required": True, "metavar": "CLUSTER..."} if several else {"metavar": "CLUSTER"}))(made)  # fmt: skip
    return click.command(name.replace("_", "-"), help=question.about)(made)


def _settings(question: Question[Any, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Of what the command was called with, what its record of settings takes."""
    record: Any = question.settings
    return {one.name: values[one.name] for one in settings_of(record) if one.name in values}


def show(question: Question[Any, Any], answer: Any) -> None:
    """The answer's sentence, its listings and its notes."""
    if question.tells:
        output.told(question.tells)
    terminal.say(sentence(answer.sentence))
    for listing in question.listings:
        items = listing.items(answer) if listing.is_shown else ()
        if not items and not listing.empty:
            continue
        click.echo(f"\n{listing.title}" if listing.title else "")
        if not items:
            terminal.say(listing.empty)
        elif listing.line is not None:
            for one in items:
                terminal.say(listing.line(one), indent="  ")
        else:
            click.echo(as_text(listed(listing, answer), unknown="not known"), nl=False)
    for note in question.notes(answer):
        terminal.say(f"\n{note}")
