"""Commands that are made of a question: it takes a cluster, the question's settings and what it wants, and shows its sheet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from planner.cli import options, output, terminal, waiting
from planner.cli.cluster import one_reader_of_stdin, read_cluster, read_clusters
from planner.cli.given import (
    ask_prometheus,
    pool_limits,
    pool_options,
    price_book,
    price_options,
    prometheus_options,
)
from planner.ground.errors import InputError
from planner.ground.progress import told_to
from planner.ground.records import Record
from planner.ground.settings import settings_of
from planner.ground.sheet import Listing
from planner.ground.words import moment, sentence
from planner.history import names
from planner.history.levels import History
from planner.inventory.account import ServerLoad
from planner.inventory.queue_runs import RUN_DAYS, lengths_of
from planner.kubernetes.records import Snapshot
from planner.questions import question_called
from planner.questions.question import NOTHING, Given, Question, Want
from planner.questions.wording import listed
from planner.rollout.answers import Verdict
from planner.rollout.scripts import in_context
from planner.rollout.wording import WORD
from planner.sources.cluster import CONTEXT_PREFIX, EMBEDDED, context_of

Options = Callable[[Callable[..., Any]], Callable[..., Any]]
_COMPLETE: Final = 3  # on a terminal more than so many that complete are a line
_ASIDE: Final = 48  # letters of what stands before a tab; longer ones push the rest aside


class _Asked(Record, kw_only=False):
    """What the command was called with."""

    specs: tuple[str, ...]
    snapshots: list[Snapshot]
    settings: Any
    values: Mapping[str, Any]
    history: History | None = None


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


def _load(asked: _Asked) -> dict[str, Any]:
    if not asked.specs[0].startswith(CONTEXT_PREFIX):
        return {}
    from planner.sources.connection import MOST_PER_MINUTE, requests_last_minute

    return {"load": ServerLoad(requests_last_minute=requests_last_minute(), most_per_minute=MOST_PER_MINUTE)}


def _manifest_option(command: Callable[..., Any]) -> Callable[..., Any]:
    said = "A manifest, or - for standard input; repeatable."
    return click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help=said)(command)


def _another(asked: _Asked) -> dict[str, Any]:
    """The second cluster; of two times of one cluster in a store, what its snapshots said until the later one."""
    others: dict[str, Any] = {"others": tuple(asked.snapshots[1:])}
    if not others["others"] or not all(map(names.is_place, asked.specs)):
        return others
    from planner.sources.store import Store

    first, last = map(names.read_place, asked.specs)
    if (first.url, first.cluster) != (last.url, last.cluster):
        return others
    store = Store(last.url)
    later = max((store.at(one, now=time.time()) for one in (first, last)), key=lambda one: one.taken_at)
    return others | {"history": store.history((later.cluster,), until=later.taken_at)}


def _history_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--days", "last_days", type=click.FloatRange(min=1), metavar="N", help="Of the last days only.")(command)  # fmt: skip
    said = "Of this cluster only; repeatable, else all."
    return click.option("--cluster", "of_clusters", multiple=True, metavar="NAME", help=said)(command)


def _runs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    said = "How long Jobs held quota before: store:URL#cluster; a CLUSTER that is in a store has that one."
    return click.option("--history", "runs_of", metavar="STORE", help=said)(command)


def _runs(asked: _Asked) -> dict[str, Any]:
    spec = asked.values["runs_of"] or asked.specs[0]
    if asked.values["runs_of"] and not names.is_place(spec):
        raise InputError(f"{spec[:80]} is in no store", where="--history", mend="Write it like store:URL#cluster")
    if not names.is_place(spec):
        return {}
    from planner.sources.store import Store, days_before

    place, until = names.read_place(spec), asked.snapshots[0].taken_at
    return {"runs": lengths_of(Store(place.url).runs_seen(place, days_before(until, RUN_DAYS), until))}


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
    Want.HISTORY: (_history_options, lambda asked: {"history": asked.history, "others": tuple(asked.snapshots[1:])}),
    Want.LOAD: (None, _load),
    Want.POOLS: (
        pool_options,
        lambda asked: {"limits": pool_limits(asked.snapshots[0], asked.values["pool_files"], asked.values["gke"])},
    ),
    Want.RUNS: (_runs_option, _runs),
    Want.MANIFEST: (_manifest_option, lambda _: {}),
    Want.ANOTHER: (None, _another),
}
"""What a question wants → the options that bring it, the fields of `Given` that it becomes."""


def _argument(question: Question[Any, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    if Want.OTHERS in question.wants:
        return click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
    one = click.argument("clusters", metavar="STORE" if Want.HISTORY in question.wants else "CLUSTER")
    other = click.argument("other", required=False)
    return (lambda command: one(other(command))) if Want.ANOTHER in question.wants else one


def _asked(question: Question[Any, Any], specs: tuple[str, ...], values: Mapping[str, Any]) -> _Asked:
    """What is read before anything is answered."""
    settings = _settings(question, specs, values)
    if Want.HISTORY in question.wants:
        from planner.sources.store import Store, days_before

        store, days = Store(specs[0]), values["last_days"]
        history = store.history(values["of_clusters"], None if days is None else days_before(time.time(), days))
        newest = {one.cluster: one for one in store.snapshots(history.clusters)}
        return _Asked(specs, [store.snapshot(one) for one in newest.values()], settings, values, history)
    if Want.OTHERS in question.wants:
        return _Asked(specs, read_clusters(specs), settings, values)
    if other := values.get("other"):
        one_reader_of_stdin(*specs, other)
        return _Asked((*specs, other), [read_cluster(*specs), read_cluster(other)], settings, values)
    return _Asked(specs, [read_cluster(*specs, is_told=Want.LOAD not in question.wants)], settings, values)


_AS_SCRIPT: Final = "Print the steps as a shell script that waits after each and can be stopped."


def command_of(
    name: str, more: Options | None = None, beside: Callable[[Snapshot, Any, Mapping[str, Any]], None] | None = None
) -> click.Command:
    """The command of the question of that name; `more`: options beside its own, of which `beside` says something to the answer."""
    question = question_called(name)

    def command(clusters: str | tuple[str, ...], **values: Any) -> int:
        as_script = values.pop("as_script", False)
        asked = _asked(question, (clusters,) if isinstance(clusters, str) else clusters, values)
        given = Given(**{key: value for want in question.wants for key, value in _WANTED[want][1](asked).items()})
        with told_to(lambda doing, share: waiting.doing(f"{share:.0%} {doing}")):
            found = question.answer(asked.snapshots[0], asked.settings, given)
        if as_script:
            return _script(question, asked.snapshots[0], found, asked.specs[0])
        status = tell(question, asked.snapshots, asked.settings, found, given, **_told(question, values))
        if beside is not None:
            beside(asked.snapshots[0], found, values)
        as_of = getattr(found, "as_of", "")
        if as_of:
            from planner.pricing.book import age_warning

            if warning := age_warning(as_of, time.time()):
                terminal.say(warning, err=True)
        return status

    made: Callable[..., Any] = output.printing(question)(command)
    made = more(made) if more else made
    for want in reversed(question.wants):
        with_options = _WANTED[want][0]
        made = with_options(made) if with_options else made
    if question.script is not None:
        made = click.option("--script", "as_script", is_flag=True, help=_AS_SCRIPT)(made)
    made = _argument(question)(options.asked(question.settings)(made))
    return click.command(name.replace("_", "-"), help=question.about)(made)


def tell(
    question: Question[Any, Any], snapshots: list[Snapshot], settings: Any, answer: Any, given: Given = NOTHING, *,
    output_format: str, rows: str = "", fail_on: tuple[str, ...] = (),
) -> int:  # fmt: skip
    """Print the answer as it was asked for; the exit status."""

    def text() -> None:
        show(question, answer)
        is_priced = hasattr(answer, "as_of") and answer.as_of
        if given.book is not None and is_priced:
            terminal.say(f"\n{sentence(getattr(answer, 'prices_source', '') or given.book.source)}")
        if len(snapshots) == 1 and Want.ANOTHER not in question.wants:
            terminal.say(f"\nfrom {snapshots[0].source}")

    output.show(output_format, question, snapshots, settings, answer, text=text, rows=rows)
    return int(question.exit_status(snapshots, answer, fail_on))


def _told(question: Question[Any, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    output_format = values["output_format"]
    return {
        "output_format": output_format,
        "rows": _rows(question, values["rows"], output_format),
        "fail_on": values.get("fail_on", ()),
    }


def _rows(question: Question[Any, Any], named: str, output_format: str) -> str:
    """The rows that were named, else those that a setting that was given means."""
    given = [one for one in ("rows", *question.given_rows) if options.is_given(one)]
    return named if not given or "rows" in given else question.given_rows[given[0]].get(output_format, named)


def _script(question: Question[Any, Any], snapshot: Snapshot, found: Any, spec: str) -> int:
    """The steps as a script; where there are none the sentence says why, and nothing is printed that could be run."""
    assert question.script is not None
    text = question.script(found, f"{snapshot.source}, taken {moment(snapshot.taken_at)}") if found.steps else ""
    if not text:
        click.echo(f"headroom: no script: {found.sentence}", err=True)
    click.echo(in_context(text, context_of(spec, snapshot)), nl=False)
    return int(question.exit_status(snapshot, found))


def _settings(question: Question[Any, Any], specs: tuple[str, ...], values: Mapping[str, Any]) -> Any:
    """Of what the command was called with, what its record of settings takes."""
    record: Any = question.settings
    more = {}
    if files := values.get("files"):
        one_reader_of_stdin(*specs, *files)
        from planner.sources import manifests

        found = manifests.read(files, recursive=False)
        more = {"manifest": found.text, "unread": found.unread}
    return options.read(
        record, {one.name: values[one.name] for one in settings_of(record) if one.name in values}, **more
    )


def show(question: Question[Any, Any], answer: Any) -> None:
    """The answer's sentence, its listings and its notes."""
    if question.tells:
        output.told(question.tells)
    terminal.say(sentence(answer.sentence))
    show_listings(question, answer, *(one.name for one in question.listings if one.is_shown))
    for place, note in enumerate(question.notes(answer)):
        terminal.say(note if place else f"\n{note}")
    for what, code in question.codes(answer).items():
        click.echo(f"\n{what}:\n\n{code.rstrip()}")


def show_listings(question: Question[Any, Any], answer: Any, *names: str) -> None:
    """Those of its listings, in that order."""
    there = {one.name: one for one in question.listings}
    for name in names:
        show_listing(there[name], answer)


def show_listing(listing: Listing[Any, Any], answer: Any) -> None:
    """Its title, its rows as people read them, its note."""
    items = listing.seen(answer)
    if not items and not listing.empty:
        return
    terminal.say(f"\n{listing.title}" if listing.title else "")
    shown = items[: listing.most]
    if not items:
        terminal.say(listing.empty)
    elif listing.line is not None:
        _say_lines(listing, shown)
    else:
        terminal.say_rows(listed(listing, answer, shown), unknown=listing.unknown_of(answer))
    if len(items) > len(shown):
        click.echo(f"  and {len(items) - len(shown):,} more: --rows {listing.name} -o csv")
    if note := listing.note(answer):
        terminal.say(note)


def _say_lines(listing: Listing[Any, Any], items: Sequence[Any]) -> None:
    """Each row as a sentence, with its verdict before it and what can be copied below; on a terminal those that complete
    are a line."""
    assert listing.line is not None
    verdicts = [listing.verdict(one) for one in items] if listing.verdict is not None else [None] * len(items)
    complete = verdicts.count(Verdict.COMPLETES) if terminal.width() is not None else 0
    if complete > _COMPLETE:
        kept = [place for place, verdict in enumerate(verdicts) if verdict is not Verdict.COMPLETES]
        items, verdicts = [items[place] for place in kept], [verdicts[place] for place in kept]
    said = [listing.line(one).split("\n") for one in items]
    room = min(_ASIDE, max((len(first.partition("\t")[0]) for first, *_ in said), default=0))
    for one, verdict, (first, *more) in zip(items, verdicts, said, strict=True):
        head, tab, rest = first.partition("\t")
        line = f"{head:<{room}}  {rest}" if tab else first
        if verdict is not None:
            terminal.say_verdict(verdict, f"{WORD[verdict].lower():<13}", line, indent=" " * 13)
        else:
            terminal.say(line, indent="  ")
        for each in more:
            terminal.say(f"    {each}")
        if listing.code is not None:
            click.echo("".join(f"   {each}\n" for each in listing.code(one).splitlines()), nl=one is not items[-1])
    if complete > _COMPLETE:
        terminal.say_verdict(Verdict.COMPLETES, f"{complete:,} complete", " (a pipe, as | less, gets each of them)")
