"""Makes a command from a question: takes a cluster and the question's settings and inputs, and prints its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from planner.cli import options_from_settings, output, progress_line, terminal
from planner.cli.cluster_argument import one_reader_of_stdin, read_cluster, read_clusters, read_each
from planner.cli.input_options import (
    ask_prometheus,
    oldest_price,
    pool_limits,
    pool_options,
    price_book,
    price_options,
    prometheus_options,
    say_age,
)
from planner.ground.answer_layout import Listing
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus, gravest
from planner.ground.progress import told_to
from planner.ground.records import Record, replace
from planner.ground.table_formats import alike
from planner.ground.words import moment, sentence, without_own_names
from planner.history import snapshot_names
from planner.history.store_queries import History
from planner.inventory.input_report import ServerLoad
from planner.inventory.past_job_durations import RUN_DAYS, lengths_of
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_names import with_workload_keys
from planner.pricing.price_book import PriceBook
from planner.questions import INDEX, question_called
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.questions.table_wording import listed
from planner.rollout.answers import Verdict
from planner.rollout.resumable_scripts import in_context
from planner.rollout.verdict_wording import WORD
from planner.sources.cluster_argument import CONTEXT_PREFIX, EMBEDDED, context_of

if TYPE_CHECKING:
    from planner.sources.store import Store

Settings = TypeVar("Settings")
_MOST: Final = 40  # rows of a listing on a terminal; a pipe gets all where the listing itself doesn't say how many
_COMPLETE: Final = 3  # on a terminal more than so many that complete are a line
_FEW: Final = 10  # rows on a terminal that stand each by itself
_APART: Final = 2  # lines under a row; with more of them it stands apart
_ASIDE: Final = 48  # letters of what stands before a tab; longer ones push the rest aside


class Called(Record, kw_only=False):
    """What a command was called with, and what was read of it."""

    specs: tuple[str, ...]
    snapshots: list[Snapshot]
    settings: Any
    values: Mapping[str, Any]
    history: History | None = None
    stores: dict[str, Store] = field(default_factory=dict)  # URL → what was read of

    def store(self, url: str) -> Store:
        """The store there, whose `left_out` is told beside the answer."""
        from planner.sources.store import Store

        return self.stores.setdefault(url, Store(url))


def _gpu_use(called: Called) -> dict[str, Any]:
    url = called.values["prometheus_url"]
    if not url:
        fix = "Name one that scrapes DCGM's or AMD's exporter: --prometheus http://prometheus.example:9090"
        raise InputError("no Prometheus is given", where="--prometheus", fix=fix)
    from planner.sources.prometheus_gpus import gpu_use
    from planner.sources.prometheus_tokens import token_use

    end, days, busy = called.snapshots[0].taken_at, called.values["days"], called.settings.busy_percent
    key = called.values["prometheus_token_file"]
    tokens = ask_prometheus(url, key, lambda server: token_use(server, end=end, days=days))
    query = partial(gpu_use, end=end, days=days, busy_percent=busy, may_lack=bool(tokens))
    return {"gpu_uses": ask_prometheus(url, key, query), "token_uses": tokens}


def _load(called: Called) -> dict[str, Any]:
    if not called.specs[0].startswith(CONTEXT_PREFIX):
        return {}
    from planner.sources.api_server_connection import requests_last_minute
    from planner.sources.source_limits import LIMITS

    return {"load": ServerLoad(requests_last_minute=requests_last_minute(), most_per_minute=LIMITS.requests_per_minute)}


def _another(called: Called) -> dict[str, Any]:
    """The second cluster; of two times of one cluster in a store, what its snapshots said until the later one."""
    others: dict[str, Any] = {"others": tuple(called.snapshots[1:])}
    if not others["others"] or not all(map(snapshot_names.is_place, called.specs)):
        return others
    first, last = map(snapshot_names.read_place, called.specs)
    if (first.url, first.cluster) != (last.url, last.cluster):
        return others
    store = called.store(last.url)
    later = max((store.at(place, now=time.time()) for place in (first, last)), key=lambda snapshot: snapshot.taken_at)
    return others | {"history": store.history((later.cluster,), until=later.taken_at)}


def _runs(called: Called) -> dict[str, Any]:
    spec = called.values["runs_of"] or called.specs[0]
    if called.values["runs_of"] and not snapshot_names.is_place(spec):
        raise InputError(f"{spec[:80]} is in no store", where="--history", fix="Write it like store:URL#cluster")
    if not snapshot_names.is_place(spec):
        return {}
    from planner.sources.store import days_before

    place, until = snapshot_names.read_place(spec), called.snapshots[0].taken_at
    return {"runs": lengths_of(called.store(place.url).runs_seen(place, days_before(until, RUN_DAYS), until))}


def _past_durations(called: Called) -> dict[str, Any]:
    """How long pods and nodes took, of a cluster in a store; what another CLUSTER tells is in the snapshot."""
    if not snapshot_names.is_place(called.specs[0]):
        return {}
    from planner.sources.store import days_before

    place, until = snapshot_names.read_place(called.specs[0]), called.snapshots[0].taken_at
    return {"seen": called.store(place.url).past_durations(place, days_before(until, RUN_DAYS), until)}


def _usage(called: Called) -> dict[str, Any]:
    """What Prometheus knows of the first snapshot's namespaces; nothing where no address is given."""
    url, days = called.values["prometheus_url"], called.values["days"]
    if not url:
        options_from_settings.need("--prometheus", ["--days"])
        return {}
    from planner.sources.prometheus_usage import usage_before

    token = called.values["prometheus_token_file"]
    return {"usages": ask_prometheus(url, token, lambda server: usage_before(server, called.snapshots[0], days))}


_HISTORY: Final = options_from_settings.together(
    click.option("--cluster", "of_clusters", multiple=True, metavar="NAME", help="Of this cluster only; repeatable, else all."),
    click.option("--days", "last_days", type=click.FloatRange(min=1), metavar="N", help="Of the last days only."),
)  # fmt: skip
_RUNS: Final = click.option("--history", "runs_of", metavar="STORE",
    help="How long Jobs held quota before: store:URL#cluster; a CLUSTER from a store has that one.")  # fmt: skip
_MANIFEST: Final = options_from_settings.option("", "-f", "--filename", "files", multiple=True, metavar="FILE",
    is_everyday=True, help='Manifest as for kubectl apply -f: a file, a folder, or "-"; repeatable.')  # fmt: skip
_WANTED: Final[Mapping[Want, tuple[options_from_settings.Options | None, Callable[[Called], dict[str, Any]]]]] = {
    Want.PRICES: (price_options, lambda called: {"book": book_of(called.values)}),
    Want.GPU_USE: (
        prometheus_options(what="It scrapes NVIDIA's DCGM exporter or AMD's device-metrics-exporter; needed."),
        _gpu_use,
    ),
    Want.USAGE: (prometheus_options(), _usage),
    Want.CLOCK: (None, lambda called: {"now": time.time(), "is_embedded": called.specs[0] in EMBEDDED}),
    Want.OTHERS: (None, lambda called: {"others": tuple(called.snapshots[1:])}),
    Want.HISTORY: (_HISTORY, lambda called: {"history": called.history, "others": tuple(called.snapshots[1:])}),
    Want.LOAD: (None, _load),
    Want.POOLS: (pool_options, lambda called: {"limits": limits_of(called.snapshots[0], called.values)}),
    Want.RUNS: (_RUNS, _runs),
    Want.STARTS: (None, _past_durations),
    Want.MANIFEST: (_MANIFEST, lambda _: {}),
    Want.ANOTHER: (None, _another),
}
"""What a question wants → the options that bring it, the fields of `Inputs` that it becomes."""


def book_of(values: Mapping[str, Any]) -> PriceBook:
    """The prices that `price_options` name."""
    return price_book(values["own_prices"], values["discounts"], values["commitments"])


def limits_of(snapshot: Snapshot, values: Mapping[str, Any]) -> tuple[PoolLimits, ...]:
    """What the files and the cloud that `pool_options` name say of node pools."""
    return pool_limits(snapshot, (*values["pool_files"], *values["instance_types"]), values["gke"])


def taking(*wants: Want) -> options_from_settings.Options:
    """The options that bring what is wanted."""
    return options_from_settings.together(*(more for want in wants if (more := _WANTED[want][0])))


def given_of(called: Called, *wants: Want) -> Inputs:
    """What was given beside the snapshot, of what is wanted."""
    return Inputs(**{name: value for want in wants for name, value in _WANTED[want][1](called).items()})


def _argument(question: Question[Any, Any]) -> options_from_settings.Options:
    if Want.OTHERS in question.wants:
        return click.argument("clusters", nargs=-1, required=True, metavar="CLUSTER...")
    argument = click.argument("clusters", metavar="STORE" if Want.HISTORY in question.wants else "CLUSTER")
    other = [click.argument("other", required=False)] if Want.ANOTHER in question.wants else []
    return options_from_settings.together(argument, *other)


def _called(question: Question[Any, Any], specs: tuple[str, ...], values: Mapping[str, Any]) -> Called:
    """What is read before anything is answered."""
    settings = settings_of(question.settings, specs, values)
    if Want.HISTORY in question.wants:
        from planner.cli.store import there
        from planner.sources.store import days_before

        store, days = there(specs[0]), values["last_days"]
        history = store.history(values["of_clusters"], None if days is None else days_before(time.time(), days))
        newest = {snapshot.cluster: snapshot for snapshot in store.snapshots(history.clusters)}
        return Called(specs, store.readable(newest.values()), settings, values, history, {store.url: store})
    if Want.OTHERS in question.wants:
        return Called(specs, read_clusters(specs), settings, values)
    if other := values.get("other"):
        one_reader_of_stdin(*specs, other)
        return Called((*specs, other), list(read_each((*specs, other))), settings, values)
    return Called(specs, [read_cluster(*specs, is_told=Want.LOAD not in question.wants)], settings, values)


_AS_SCRIPT: Final = options_from_settings.option("", "--script", "as_script", is_flag=True,
    is_everyday=True, help="Print the steps as a shell script that waits after each and can be stopped.")  # fmt: skip


class Hooks(Record):
    """What a command does beside what is made of its question.

    Attributes
    ----------
    options : that it has beside
    reads : the snapshot with what else was read into it
    brings : what else is given beside the snapshot
    text : the words, where they are more than the sheet
    beside : what is said beside the answer
    other : a question that is asked instead where its setting of this name is given
    """

    options: options_from_settings.Options = options_from_settings.together()
    reads: Callable[[Called], Snapshot] = lambda called: called.snapshots[0]
    brings: Callable[[Called], Mapping[str, Any]] = lambda _: {}
    text: Callable[[Any, Mapping[str, Any]], None] | None = None
    beside: Callable[[Called, Any], None] = lambda _, __: None
    other: tuple[str, str] | None = None


def command_of(name: str, hooks: Hooks = Hooks()) -> click.Command:  # noqa: B008 - it holds nothing that changes
    """The command of the question of that name."""
    question = first = question_called(name)
    other = question_called(hooks.other[0]) if hooks.other else None

    def command(clusters: str | tuple[str, ...], **values: Any) -> int:
        as_script = values.pop("as_script", False)
        question = other if other and hooks.other and values[hooks.other[1]] else first
        called = _called(question, (clusters,) if isinstance(clusters, str) else clusters, values)
        called = replace(called, snapshots=[hooks.reads(called), *called.snapshots[1:]])
        called = replace(called, settings=named_settings(called.settings, called.snapshots[0], values))
        inputs = replace(given_of(called, *question.wants), **hooks.brings(called))
        with told_to(lambda doing, share: progress_line.doing(f"{share:.0%} {doing}")):
            report = question.answer(called.snapshots[0], called.settings, inputs)
        if as_script:
            return _script(question, called.snapshots[0], report, called.specs[0])
        output_format = values["output_format"]
        status = tell(
            question, called.snapshots, called.settings, report, inputs, output_format=output_format,
            rows=_rows(question, values["rows"], output_format), fail_on=values.get("fail_on", ()),
            text=partial(hooks.text, report, values) if hooks.text else None,
        )  # fmt: skip
        if question.codes_file:
            _write_codes(question, report, values)
        hooks.beside(called, report)
        if output_format == "text" or hasattr(report, "as_of"):
            say_age(_dated(report, inputs, called.snapshots), called.snapshots[0].nodes)
        return with_left_out(status, called)

    decorate = options_from_settings.together(
        _argument(question),
        options_from_settings.asked(*(candidate.settings for candidate in (question, other) if candidate is not None)),
        *([_AS_SCRIPT] if question.script is not None else []),
        taking(*question.wants),
        *([_codes_option(question.codes_file)] if question.codes_file else []),
        hooks.options,
        output.printing(question),
    )
    return click.command(
        name.replace("_", "-"), cls=options_from_settings.ShortHelp, help=question.about or INDEX[name].line
    )(decorate(command))


def _codes_option(name: str) -> options_from_settings.Options:
    return options_from_settings.option("Output", f"--{name}", "codes_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", is_everyday=True,
        help=f"Write the {name} there: one way as it is applied, the others as comments.")  # fmt: skip


def _write_codes(question: Question[Any, Any], answer: Any, values: Mapping[str, Any]) -> None:
    """Its codes into the file that is named; else a line says that there are some. Applied together they would do twice what one does."""
    file, name, ways = values["codes_file"], question.codes_file, question.codes(answer).items()
    if file is not None:
        parts = [f"# {what}\n{text if not place else indent(text, '# ')}" for place, (what, text) in enumerate(ways)]
        output.write_file(file, "\n".join(parts))
        click.echo(f"wrote {file}" if parts else f"wrote {file}: there are no {name}", err=True)
    elif ways and values["output_format"] == "text":
        terminal.say(f"\n--{name} FILE writes the {name}.")


def with_left_out(status: int, called: Called) -> int:
    """The status, where something of a store wasn't read at least that it isn't known whole; it is named."""
    left_out = tuple(dict.fromkeys(reason for store in called.stores.values() for reason in store.left_out))
    if not left_out:
        return status
    from planner.cli.store import say_left_out

    return int(gravest([ExitStatus(status), say_left_out(left_out)]))


def tell(
    question: Question[Any, Any], snapshots: list[Snapshot], settings: Any, answer: Any, inputs: Inputs = NOTHING, *,
    output_format: str, rows: str = "", fail_on: tuple[str, ...] = (), text: Callable[[], None] | None = None,
) -> int:  # fmt: skip
    """Print the answer as it was asked for, in the words of `text` where it has any of its own; the exit status."""

    def words() -> None:
        show(question, answer)
        if question.script is not None and answer.steps:
            terminal.say("\n--script prints the steps as a shell script.")
        if inputs.book is not None and _dated(answer, inputs, snapshots):
            terminal.say(f"\n{sentence(getattr(answer, 'prices_source', '') or inputs.book.source)}")
        if len(snapshots) == 1 and Want.ANOTHER not in question.wants:
            terminal.say(f"\nfrom {snapshots[0].source}")

    output.show(output_format, question, snapshots, settings, answer, text=text or words, rows=rows)
    return int(question.exit_status(snapshots, answer, fail_on))


def _dated(answer: Any, inputs: Inputs, snapshots: Iterable[Snapshot]) -> str:
    """The date of the prices that the answer's dollars are of: where it says dollars and no date, that of the oldest price of the clusters'
    nodes, as in their bill. "" without dollars."""
    if hasattr(answer, "as_of"):
        return str(answer.as_of)
    if inputs.book is None or "$" not in str(getattr(answer, "sentence", "")):
        return ""
    return oldest_price(inputs.book, snapshots)


def _rows(question: Question[Any, Any], named: str, output_format: str) -> str:
    """The rows that were named, else those that a setting that was given means."""
    row_options = [option for option in ("rows", *question.given_rows) if options_from_settings.is_given(option)]
    return (
        named
        if not row_options or "rows" in row_options
        else question.given_rows[row_options[0]].get(output_format, named)
    )


def _script(question: Question[Any, Any], snapshot: Snapshot, report: Any, spec: str) -> int:
    """The steps as a script; where there are none the sentence says why, and nothing is printed that could be run."""
    assert question.script is not None
    text = question.script(report, f"{snapshot.source}, taken {moment(snapshot.taken_at)}") if report.steps else ""
    if not text:
        click.echo(f"headroom: no script: {report.sentence}", err=True)
    click.echo(in_context(text, context_of(spec, snapshot)), nl=False)
    return int(question.exit_status(snapshot, report))


def settings_of(record: type[Settings], specs: Sequence[str], values: Mapping[str, Any], **more: Any) -> Settings:
    """Of what the command was called with, what its record of settings takes; manifests are read."""
    if files := values.get("files"):
        one_reader_of_stdin(*specs, *files)
        from planner.sources import manifest_files

        documents = manifest_files.read(files)
        more |= {"manifest": documents.text, "unread": documents.unread}
    return options_from_settings.read(record, values, **more)


def named_settings(settings: Settings, snapshot: Snapshot, values: Mapping[str, Any]) -> Settings:
    """The settings with workloads by their keys; a name counts in the namespaces that were given (``-n``)."""
    namespaces = [
        values[name]
        for name in ("namespace", "manifest_namespace")
        if name in values and options_from_settings.is_given(name)
    ]
    return with_workload_keys(settings, snapshot, options_from_settings.many(namespaces[0]) if namespaces else ())


def show(question: Question[Any, Any], answer: Any) -> None:
    """The answer's sentence, its listings and its notes."""
    if question.tells:
        output.told(question.tells)
    terminal.say(sentence(answer.sentence))
    for listing in question.listings:
        if listing.is_shown:
            show_listing(listing, answer)
    for place, note in enumerate(question.notes(answer)):
        terminal.say(note if place else f"\n{note}")
    for what, code in question.codes(answer).items() if not question.codes_file else ():
        click.echo(f"\n{what}:\n\n{code.rstrip()}")


def show_listing(listing: Listing[Any, Any], answer: Any) -> None:
    """Its title, its rows as people read them, its note."""
    items = listing.seen(answer)
    if not items and not listing.empty:
        return
    title = listing.title_of(answer)
    terminal.say(f"\n{title}" if title else "")
    unfinished, complete = _folded(listing, items)
    groups = _alike(listing, unfinished)
    shown = groups[: _most(listing, unfinished)]
    if not items:
        terminal.say(listing.empty)
    elif listing.line is not None:
        _say_lines(listing, shown)
    else:
        terminal.say_rows(listed(listing, answer, [row for row, *_ in shown]), unknown=listing.unknown_of(answer))
    how = f": --rows {listing.name} -o csv" if listing.columns else " (a pipe, as | less, gets each of them)"
    if (more := len(unfinished) - sum(map(len, shown))) > 0:
        click.echo(f"  and {more:,} more{how}")
    elif len(unfinished) > len(shown):
        click.echo(f"  each of them{how}")
    if complete:
        terminal.say_verdict(Verdict.COMPLETES, f"{complete:,} complete", " (a pipe, as | less, gets each of them)")
    if note := listing.note(answer):
        terminal.say(note)


def _folded(listing: Listing[Any, Any], items: Sequence[Any]) -> tuple[Sequence[Any], int]:
    """The rows, and how many complete and are but a line: on a terminal, where they are more than a few."""
    if listing.verdict is None or terminal.width() is None:
        return items, 0
    unfinished = [row for row in items if listing.verdict(row) is not Verdict.COMPLETES]
    complete = len(items) - len(unfinished)
    return (unfinished, complete) if complete > _COMPLETE else (items, 0)


def _alike(listing: Listing[Any, Any], items: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of which the same is said together, but for the workload's own names: on a terminal, where there are many."""
    if listing.line is None or len(items) <= _FEW or terminal.width() is None:
        return [(single,) for single in items]

    def said(row: Any) -> object:
        name, tab, text = listing.line(row).partition("\t") if listing.line is not None else ("", "", "")
        verdict = listing.verdict(row) if listing.verdict is not None else None
        return (verdict, without_own_names(name, text)) if tab else id(row)

    return alike(items, said)


def _most(listing: Listing[Any, Any], items: Sequence[Any]) -> int | None:
    """How many rows are shown: on a terminal a screen or two, of those that take many lines a quarter of that."""
    if listing.most is not None or terminal.width() is None:
        return listing.most
    is_long = listing.line is not None and items and listing.line(items[0]).count("\n") > _APART
    return _MOST // 4 if is_long else _MOST


def _line(line: str, more: int) -> str:
    """The line of a row, which stands for so many more."""
    name, tab, text = line.partition("\t")
    return f"{name} and {more:,} more{tab}{text}" if more else line


def _say_lines(listing: Listing[Any, Any], groups: Sequence[tuple[Any, ...]]) -> None:
    """Each row as a sentence, with its verdict before it and what can be copied below; of several that are alike the first."""
    assert listing.line is not None
    items = [example for example, *_ in groups]
    verdicts = [listing.verdict(row) for row in items] if listing.verdict is not None else [None] * len(items)
    said = [_line(listing.line(example), len(more)).split("\n") for example, *more in groups]
    room = min(_ASIDE, max((len(first.partition("\t")[0]) for first, *_ in said), default=0))
    for listed_row, verdict, (first, *more) in zip(items, verdicts, said, strict=True):
        if len(more) > _APART and listed_row is not items[0]:
            click.echo()
        head, tab, tail = first.partition("\t")
        line = f"{head:<{room}}  {tail}" if tab else first
        if verdict is not None:
            terminal.say_verdict(verdict, f"{WORD[verdict].lower():<13}", line, indent=" " * 13)
        else:
            terminal.say(line, indent="  ")
        for each in more:
            terminal.say(f"    {each}")
        if listing.code is not None and (code := listing.code(listed_row)):
            click.echo("".join(f"   {each}\n" for each in code.splitlines()), nl=listed_row is not items[-1])
