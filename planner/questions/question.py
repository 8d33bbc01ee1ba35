"""What every question consists of: a settings record, an answer, a versioned document, facts and tables.

A question is asked with ``QUESTION.answer(snapshot, settings, given)``; nothing else goes into its answer. The command,
the page and everything that keeps or compares answers read the rest of `Question`, and compute nothing themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec
from msgspec.structs import force_setattr

from planner.ground.answer_layout import Figure, Listing, Value
from planner.ground.errors import InputError, NotKnownError
from planner.ground.exit_status import ExitStatus, gravest
from planner.ground.records import Record
from planner.ground.setting_declarations import written
from planner.ground.table_formats import Row, Rows
from planner.ground.well_known_names import CPU, EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY
from planner.ground.words import Text
from planner.inventory.input_report import ServerLoad, Unseen, how_to_add, told, unseen, with_command
from planner.kubernetes.object_records import EMPTY, FrozenMap, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.workload_kinds import POD, ROLLING, kind_in
from planner.rollout.answers import Verdict

if TYPE_CHECKING:  # what may be given beside a snapshot is loaded by its giver
    from planner.history.store_queries import History
    from planner.inventory.cadvisor import NodeMemoryStats
    from planner.inventory.gpu_use import GpuUse
    from planner.inventory.past_durations import PastDurations
    from planner.inventory.past_job_durations import Lengths
    from planner.inventory.pool_limits import PoolLimits
    from planner.inventory.token_use import TokenUse
    from planner.inventory.usage import Usage
    from planner.pricing.price_book import PriceBook
    from planner.spot.assumptions import Life
    from planner.spot.fitted_node_lifetimes import OwnHistory

S = TypeVar("S")
A = TypeVar("A")

VERSION: Final = "v1"
EXIT: Final = {
    Verdict.COMPLETES: ExitStatus.ANSWERED,
    Verdict.STUCK: ExitStatus.STUCK,
    Verdict.NEEDS_GROWTH: ExitStatus.NEEDS_GROWTH,
    Verdict.EVICTIONS_BY_QUEUE: ExitStatus.EVICTIONS_BY_QUEUE,
    Verdict.UNKNOWN: ExitStatus.NOT_KNOWN,
}


class Inputs(Record):
    """What was given beside the snapshot. What is not given is unknown, and so is what depends on it."""

    limits: tuple[PoolLimits, ...] = ()  # how far node pools may grow, from files and clouds
    book: PriceBook | None = None
    usages: tuple[Usage, ...] | None = None  # use over time, of the first snapshot; None: PodMetrics count
    stats: tuple[NodeMemoryStats, ...] = ()  # the kubelets' own metrics
    lives: tuple[Life, ...] = ()  # observed lives of spot VMs
    gaps: tuple[Life, ...] = ()  # observed times from a loss until a spot VM was available again
    own_history: OwnHistory | None = None  # of one's own spot nodes; its lives and gaps count where none are given
    gpu_uses: tuple[GpuUse, ...] | None = None  # how busy GPUs were
    token_uses: tuple[TokenUse, ...] = ()  # what models served
    others: tuple[Snapshot, ...] = ()  # clusters to compare with
    history: History | None = None  # of a store
    runs: Lengths | None = None  # how long Jobs held quota before
    seen: PastDurations = EMPTY  # how long pods and nodes took, of a store
    load: ServerLoad | None = None  # what reading a live cluster cost its API server
    now: float | None = None  # seconds since the epoch, by the reader's clock
    is_embedded: bool = False  # the snapshot came with Headroom: it is meant to be old, and that isn't a finding


NOTHING: Final = Inputs()


def known_book(inputs: Inputs) -> PriceBook:
    """The price book that was given.

    Raises
    ------
    InputError
        Without one: no price is assumed.
    """
    if inputs.book is None:
        raise InputError("no price book is given", fix="Give the embedded one, or prices of your own")
    return inputs.book


class Fact(Record):
    """One number (or word) of an answer. `metric` and `labels` name it for good; `value` None is unknown.

    `unit`: ``pods``, ``bytes``, ``millicores``, ``seconds``, ``USD/month``, a device's resource name, or "" for words.
    """

    metric: str
    value: Value
    unit: str = ""
    labels: FrozenMap[str] = EMPTY


def fact(metric: str, value: Value, unit: str = "", **labels: object) -> Fact:
    """A fact; its labels as text, as is a word of a list."""
    value = value.value if isinstance(value, StrEnum) else value
    return Fact(metric=metric, value=value, unit=unit, labels=FrozenMap({key: str(one) for key, one in labels.items()}))


def unit_of(resource: str) -> str:
    """The unit that amounts of `resource` are in: millicores, bytes, else the resource itself."""
    if resource == CPU:
        return "millicores"
    return "bytes" if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGE_PAGES) else resource


def column_of(word: str, resource: str) -> str:
    """The column of amounts of `resource`: ``asks_memory_bytes``, ``held_nvidia.com/gpu``. Its name says the unit."""
    return f"{word}_{resource}" if unit_of(resource) == resource else f"{word}_{resource}_{unit_of(resource)}"


class Want(StrEnum):
    """What a question needs beside a cluster, for the command that is made of it."""

    PRICES = "prices"
    GPU_USE = "gpu use"
    USAGE = "usage"  # of CPU and memory over time
    CLOCK = "clock"
    OTHERS = "others"  # several clusters
    HISTORY = "history"  # a store, instead of a cluster
    LOAD = "load"  # what reading cost the API server
    POOLS = "pools"  # how far node pools may grow
    STARTS = "starts"  # how long pods took to get Ready before, of a CLUSTER that is in a store
    RUNS = "runs"  # how long Jobs held quota before, by a store
    MANIFEST = "manifest"  # what kubectl apply -f would get, as a setting
    ANOTHER = "another"  # perhaps a second cluster, or the same at another time


class Question(Record, Generic[S, A]):
    """One question, and everything that is made of its answer.

    Attributes
    ----------
    name : as in the document's format, ``headroom.<name>/v1``
    answer : from snapshot, settings and what was given beside them; raises `HeadroomError` when it can't be answered
    figures, listings : what is shown of the answer, everywhere; facts and tables are made of them, where they aren't given
    notes : sentences under it
    codes : what can be copied: what it is for → the text; `codes_file`: what they are called that an option writes to a file instead
    given_rows : a setting that was given → format → the rows that are then meant where none are named
    first_rows : the rows that are else meant; without it those of the first listing
    about, wants : of the command that is made of it, where it has no words of its own: its help, what it takes
    script : what its steps are as a shell script, from the answer and where it comes from; empty without steps
    tells : missing kinds that it names itself
    facts : the answer as flat facts, those that no figure and no column has
    tables : name → the answer as rows; the first is what CSV and Markdown show where nothing else is asked for
    status : the exit status of the answer by itself
    states : for a list, state → the exit status it stands for when ``--fail-on`` names it
    state_of : for a list, the states that are in the answer
    hangs_on : kinds without which there is no answer: what it would say of them is wrong, not rough
    parts_hang_on : kinds without which a part of the answer isn't known, and the rest is right
    lists : kinds that it answers for object by object: without them it is no answer for all, and right for the rest
    is_of_lists : nothing of it is known where no workload was listed that pods tell of
    leaves_open : whether some part of the answer says that it isn't known
    version : of its document
    is_by_parts : each part says itself what it doesn't know, so that the parts are given even where one of `hangs_on` lacks
    stands : whether an answer depends on none of `hangs_on` after all, as a change that moves no pod
    """

    name: str
    settings: type[S]
    answer: Callable[[Snapshot, S, Inputs], A]
    figures: tuple[Figure[A], ...] = ()
    listings: tuple[Listing[A, Any], ...] = ()
    notes: Callable[[A], Iterable[str | Text]] = lambda _: ()
    codes: Callable[[A], Mapping[str, str]] = lambda _: {}
    codes_file: str = ""
    given_rows: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    first_rows: str = ""
    script: Callable[[A, str], str] | None = None
    about: str = ""
    wants: tuple[Want, ...] = ()
    tells: tuple[str, ...] = ()
    facts: Callable[[A], Iterable[Fact]] = lambda _: ()
    tables: Mapping[str, Callable[[A], Rows]] = field(default_factory=dict)
    status: Callable[[A], ExitStatus] = lambda _: ExitStatus.ANSWERED
    states: Mapping[str, ExitStatus] = field(default_factory=dict)
    states_of: Callable[[A], Iterable[str]] = lambda _: ()
    hangs_on: tuple[str, ...] = ()
    parts_hang_on: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    is_of_lists: bool = False
    leaves_open: Callable[[A], bool] = lambda _: False
    is_by_parts: bool = False
    stands: Callable[[A], bool] = lambda _: False
    version: str = VERSION

    def __post_init__(self) -> None:
        if self.listings:
            listing_tables = {listing.name: listing.rows for listing in self.listings if listing.columns}
            force_setattr(self, "tables", listing_tables | dict(self.tables))  # type: ignore[arg-type]
        own = self.facts
        force_setattr(self, "facts", lambda answer: (*self._facts(answer), *own(answer)))  # type: ignore[arg-type]

    def _facts(self, answer: A) -> Iterator[Fact]:
        """Each figure, and each row's values that are one, named by the row's labels."""
        yield from (fact(one.metric, one.of(answer), one.unit, **one.also) for one in self.figures)
        for listing in self.listings:
            columns = listing.columns_of(answer)
            told = [column for column in columns if column.metric]
            for item in listing.items(answer) if told else ():
                named = {one.label: value for one in columns if one.label and (value := one.value(item)) is not None}
                yield from (fact(one.metric, one.value(item), one.unit_of(item), **named, **one.also) for one in told)

    def listing(self, name: str = "") -> Listing[A, Any] | None:
        """The listing of that name ("" is the first); None where it is a table that only programs read."""
        return next((listing for listing in self.listings if listing.name == (name or next(iter(self.tables)))), None)

    @property
    def format(self) -> str:
        return f"headroom.{self.name}/{self.version}"

    def rows(self, answer: A, table: str = "") -> Rows:
        """The rows of `table`; ``facts`` are one of every question's, "" is the first."""
        if table == FACTS:
            return fact_rows(self.facts(answer))
        return self.tables[table or next(iter(self.tables))](answer)

    def exit_status(
        self, snapshots: Snapshot | Sequence[Snapshot], answer: A, fail_on: Iterable[str] = ()
    ) -> ExitStatus:
        """What a command that asked this ends with: not known too where a list that was refused or cut off leaves a part open. A part
        that is open because something isn't modelled is one of the answer's states."""
        answer_states = set(self.states_of(answer))
        incomplete = not self.stands(answer) and any(self.lacks(snapshot) for snapshot in _each(snapshots))
        hidden = any(state.hides for snapshot in _each(snapshots) for state in snapshot.presence.values())
        incomplete = incomplete or (hidden and self.leaves_open(answer))
        return gravest(
            [
                self.status(answer),
                *([ExitStatus.NOT_KNOWN] if incomplete else []),
                *(self.states[state] for state in fail_on if state in answer_states),
            ]
        )

    def not_known(self, snapshots: Snapshot | Sequence[Snapshot], answer: A | None = None) -> NotKnownError | None:
        """Why there is no answer: a list it depends on wasn't seen, and an unseen list is not an empty one."""
        if answer is not None and self.stands(answer):
            return None
        for snapshot in _each(snapshots):
            every = self.lacks(snapshot)
            lacking = [gap for gap in every if gap.kind in self.hangs_on]
            if lacking:
                lacking = [gap for gap in every if gap.kind in (*self.hangs_on, *self.parts_hang_on)]
            if self.is_of_lists and all(snapshot.lacks(kind.name) for kind in ROLLING):
                lacking += [gap for gap in every if gap.kind in self.lists and gap not in lacking]
            if lacking and not self.is_by_parts:
                why = f"not known: {told(lacking)}, and the answer depends on them"
                return NotKnownError(why, where=snapshot.source, fix=how_to_add(lacking))
        return None

    def lacks(self, snapshot: Snapshot) -> list[Unseen]:
        """Kinds this depends on that weren't seen. One that it lists and that isn't in the input lacks where pods tell that there
        are such objects, and where there are no pods to tell."""
        needed = {*self.hangs_on, *self.parts_hang_on}
        gaps = [gap for gap in unseen(snapshot) if gap.kind in needed or gap.kind in self.lists]
        if snapshot.lacks(POD.name) or all(gap.state.hides or gap.kind in needed for gap in gaps):
            return gaps
        relevant_kinds = {*needed, *(kind_in(key).name for key in workload_keys(snapshot).values())}
        return [gap for gap in gaps if gap.state.hides or gap.kind in relevant_kinds]

    def of_those_seen(self, snapshots: Snapshot | Sequence[Snapshot], sentence: Text) -> Text:
        """`sentence`, said as what it is where some of what this answers for wasn't seen: of the rest."""
        lacking = list({gap.kind: gap for snapshot in _each(snapshots) for gap in self.lacks(snapshot)}.values())
        if not lacking:
            return sentence
        sentence_text = f"Not known of all workloads: {told(lacking)}. Of those seen: {sentence}"
        return with_command(sentence_text, lacking)


def _each(snapshots: Snapshot | Sequence[Snapshot]) -> Sequence[Snapshot]:
    return [snapshots] if isinstance(snapshots, Snapshot) else snapshots


FACTS: Final = "facts"


def fact_rows(facts: Iterable[Fact]) -> list[Row]:
    """Facts as rows; labels as ``name=value`` in one cell, sorted."""
    return [
        {
            "metric": metric_fact.metric,
            "labels": ",".join(f"{name}={value}" for name, value in sorted(metric_fact.labels.items())),
            "value": metric_fact.value,
            "unit": metric_fact.unit,
        }
        for metric_fact in facts
    ]


def document(
    question: Question[S, A], snapshots: Snapshot | Sequence[Snapshot], settings: S, answer: A, *also: Mapping[str, Any]
) -> dict[str, Any]:
    """The answer as a versioned document for programs, the same from the page and from the command line.

    Amounts are integers in the planner's units (millicores, bytes, devices), times are seconds, money is USD a month
    where nothing else is said. Of private settings it holds digests. `also`: documents of other questions that were answered along with it. ``not_seen`` names
    the kinds that weren't seen, and ``result`` is null where the answer depends on one. Its JSON Schema is in docs/schemas.
    """
    clusters = _each(snapshots)
    return {
        "format": question.format,
        "clusters": [{"source": one.source, "digest": one.digest, "taken_at": one.taken_at} for one in clusters],
        "settings": plain(written(settings)),
        "result": None if question.not_known(clusters, answer) else plain(answer),
        "not_seen": [
            {"kind": gap.kind, "state": gap.state.value, "lacking": str(gap.lacking)}
            for cluster in clusters
            for gap in unseen(cluster)
        ],
        "also": list(also),
    }


def plain(value: Any) -> Any:
    """A record as JSON knows it: fields by name, enums by value, tuples as lists."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, Sequence):
        return tuple(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in a document")
