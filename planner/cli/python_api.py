"""Headroom's Python API: read a cluster, ask a question, get a frozen record.

Made from the index of questions, as the commands are: a function a question, its settings by their names::

    import headroom_planner as headroom

    cluster = headroom.read("demo")
    answer = headroom.rollout(cluster, "deployment/prod/llm-serve", max_surge=0, max_unavailable=1)
    answer.verdict, answer.sentence, answer.document()

`headroom_planner` hands these names out; its stub, ``__init__.pyi``, says every function's settings to editors and type checkers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.ground.errors import HeadroomError, InputError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.setting_declarations import Setting, made, settings_of
from planner.ground.table_formats import Row
from planner.ground.words import count
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_names import with_workload_keys
from planner.pricing.price_book import PriceBook
from planner.questions import INDEX, question_called
from planner.questions.question import FACTS, Inputs, Question, document
from planner.questions.table_wording import for_people, listed
from planner.sources.cluster_argument import EMBEDDED

if TYPE_CHECKING:
    import pandas as pd

OTHER_NAMES: Final = {"grid": "strategies"}
"""What a question is also called, where its own name says less."""
FIRST: Final = ("workload", "changes", "shape", "service")
"""The setting that what stands after the cluster becomes: the first of these that a question has."""
BESIDE: Final = ("prices", "discounts", "node_pools", "others", "store", "now")
"""What may be given beside the settings; `ask` says what each is."""
_MOST_ROWS: Final = 50  # of a table in a notebook


class Cluster(Record, kw_only=False):
    """A cluster that was read. `name` is the CLUSTER it was read from."""

    snapshot: Snapshot
    name: str

    @property
    def workloads(self) -> tuple[str, ...]:
        """Every workload, ``Deployment/prod/api``."""
        return tuple(workload.key for workload in self.snapshot.workloads)

    def __repr__(self) -> str:
        nodes, pods = len(self.snapshot.nodes), len(self.snapshot.pods)
        return f"<Cluster {self.name}: {count(nodes, 'node')}, {count(pods, 'pod')}, {count(len(self.workloads), 'workload')}>"


class Answer(Record):
    """One answer.

    Attributes
    ----------
    record : the question's own frozen record
    settings : what was asked, by the settings' names
    """

    question: Question[Any, Any]
    clusters: tuple[Snapshot, ...]
    settings: Any
    record: Any

    @property
    def sentence(self) -> str:
        """The answer in a sentence."""
        return str(getattr(self.record, "sentence", ""))

    @property
    def verdict(self) -> str | None:
        """``completes``, ``stuck``, ``needs_growth`` or ``unknown``; None of a question that gives none."""
        verdict = getattr(self.record, "verdict", None)
        return None if verdict is None else str(verdict.value)

    @property
    def status(self) -> ExitStatus:
        """What the command would end with."""
        return self.question.exit_status(self.clusters, self.record)

    @property
    def tables(self) -> tuple[str, ...]:
        """What `to_frame` can be asked for."""
        return (*self.question.tables, FACTS)

    def rows(self, table: str = "") -> list[Row]:
        """The rows of a table, raw: integers in millicores, bytes and devices, seconds, USD. "" is the question's first.

        Raises
        ------
        InputError
            For a table that the answer doesn't have.
        """
        if table and table not in self.tables:
            fix = f"Choose one of {', '.join(self.tables)}"
            raise InputError(f"{self.question.name} has no table {table!r}", where="table", fix=fix)
        return list(self.question.rows(self.record, table or ("" if self.question.tables else FACTS)))

    def facts(self) -> list[Row]:
        """The answer as flat facts: metric, labels, value, unit."""
        return self.rows(FACTS)

    def to_frame(self, table: str = "") -> pd.DataFrame:
        """`rows` as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows(table))

    def document(self) -> dict[str, Any]:
        """The versioned document, as ``-o json`` prints it; docs/schemas has its schema."""
        return document(self.question, self.clusters, self.settings, self.record)

    def figure(self) -> Any:
        """The chart of the answer, a plotly Figure.

        Raises
        ------
        InputError
            Where there is none, or nothing to draw.
        """
        from planner.figures.answer_charts import charts

        chart = next(charts(self.question.name, self.record), None)
        if chart is None:
            fix = "Ask for its tables: .to_frame()"
            raise InputError("there is nothing to draw", where=self.question.name, fix=fix)
        return chart.figure()

    def __repr__(self) -> str:
        return f"<{self.question.name}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """The sentence and the question's first table, as people read it."""
        first = next(iter(self.question.listings), None)
        rows = listed(first, self.record) if first else for_people(self.rows()) if self.question.tables else []
        head = "".join(f"<th>{escape(str(name))}</th>" for name in (rows[0] if rows else ()))
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in rows[:_MOST_ROWS]
        )
        more = f"<p>… and {len(rows) - _MOST_ROWS:,} more: .to_frame()</p>" if len(rows) > _MOST_ROWS else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}" if rows else ""
        return f"<p><strong>{escape(self.sentence)}</strong></p>{table}"


def _cell(value: object) -> str:
    return "not known" if value is None else escape(str(value))


def read(spec: str | Path) -> Cluster:
    """The cluster named by `spec`: a file, folder or archive, ``"demo"``, ``"context:NAME"``, ``"store:URL#cluster@time"``.

    Raises
    ------
    HeadroomError
        When it can't be read: what, where, and how to fix it.
    """
    from planner.sources.cluster_argument import read_cluster

    return Cluster(read_cluster(str(spec)), str(spec))


def ask(
    name: str,
    cluster: Cluster,
    *about: str,
    prices: Iterable[str | Path] = (),
    discounts: Iterable[str] = (),
    node_pools: Iterable[str | Path] = (),
    others: Iterable[Cluster] = (),
    store: str = "",
    now: float | None = None,
    **settings: Any,
) -> Answer:
    """The answer of the question called `name`.

    Parameters
    ----------
    about
        What the question is asked of: workloads, a shape, changes or services (`FIRST`).
    prices, discounts
        CSVs of your own prices, and ``Standard=0.15``; the list prices that came along are there without.
    node_pools
        Files that say how far node pools may grow.
    others
        Clusters to compare with.
    store
        A store of history, for the questions that are asked over time.
    now
        Seconds since the epoch; else the clock's.
    settings
        By the names of the command's options, with underscores: values, or texts as the option takes them. A `Path` as ``manifest``
        or ``patch`` is read.

    Raises
    ------
    HeadroomError
        For a question or setting that there isn't, values that are impossible, and input that can't be read.
    NotKnownError
        Where the answer depends on objects that the cluster's input lacks.
    """
    question, question_settings = prepared(name, about, settings)
    snapshot, other_snapshots = cluster.snapshot, tuple(cluster_read.snapshot for cluster_read in others)
    question_settings = with_workload_keys(question_settings, snapshot)
    inputs = Inputs(
        limits=limits(snapshot, tuple(map(str, node_pools))),
        book=book(tuple(Path(price) for price in prices), tuple(discounts)),
        others=other_snapshots,
        history=_history(store),
        now=time.time() if now is None else now,
        is_embedded=cluster.name in EMBEDDED,
    )
    record = question.answer(snapshot, question_settings, inputs)
    clusters = (snapshot, *other_snapshots)
    if why := question.not_known(clusters, record):
        raise why
    return Answer(question=question, clusters=clusters, settings=question_settings, record=record)


def prepared(name: str, about: Sequence[str], settings: Mapping[str, Any]) -> tuple[Question[Any, Any], Any]:
    """The question called `name`, and its record of settings.

    Raises
    ------
    InputError
        Where there is no such question or setting.
    """
    name = OTHER_NAMES.get(name, name)
    if name not in INDEX:
        raise InputError(f"there is no question {name!r}", where="name", fix=f"Choose one of {', '.join(INDEX)}")
    question = question_called(name)
    setting_by_name = {setting.name: setting for setting in settings_of(question.settings)}
    field_values: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Path):
            field_values |= _read(_setting(name, setting_by_name, key), value)
        elif value is not None:
            field_values[key] = _value(_setting(name, setting_by_name, key), value)
    if about:
        first = next((setting_name for setting_name in FIRST if setting_name in setting_by_name), None)
        if first is None:
            fix = "Leave out what stands after the cluster"
            raise InputError(f"{name} is asked of the whole cluster", where="about", fix=fix)
        field_values[first] = _value(setting_by_name[first], about if setting_by_name[first].is_many else about[0])
    return question, made(question.settings, field_values)


def _setting(question: str, setting_fields: dict[str, Setting], name: str) -> Setting:
    if name not in setting_fields:
        fix = (
            f"Give one of {', '.join(setting_fields)}"
            if setting_fields
            else "Leave it out: the question has no settings"
        )
        raise InputError(f"{question} has no setting {name!r}", where=name, fix=fix)
    return setting_fields[name]


def _read(setting: Setting, path: Path) -> dict[str, Any]:
    """The file's text as that setting; of manifests also the names of the files that aren't Kubernetes'."""
    from planner.sources import manifest_files

    documents = manifest_files.read((str(path),))
    return {setting.name: documents.text} | (
        {"unread": documents.unread} if setting.name == "manifest" and documents.unread else {}
    )


def _value(setting: Setting, value: Any) -> Any:
    if setting.is_many:
        choices: Sequence[Any] = (value,) if isinstance(value, str) else tuple(value)
        parts = [_one(setting, part) for part in choices]
        return tuple(part for member in parts for part in (member if isinstance(member, list | tuple) else (member,)))
    return _one(setting, value)


def _one(setting: Setting, value: Any) -> Any:
    is_text = isinstance(value, str) and (setting.parse is not None or setting.kind is not str)
    return setting.read(value) if is_text else value


@cache
def book(own: tuple[Path, ...] = (), discounts: tuple[str, ...] = ()) -> PriceBook:
    """The prices that came along, with one's own and discounts."""
    from planner.cli.input_options import price_book

    return price_book(own, discounts)


def limits(snapshot: Snapshot, files: tuple[str, ...] = ()) -> tuple[PoolLimits, ...]:
    """How far node pools may grow, by the snapshot itself and by files."""
    from planner.cli.input_options import pool_limits

    return pool_limits(snapshot, files, None)


def _history(store: str) -> Any:
    if not store:
        return None
    from planner.sources.store import Store

    return Store(store).history((), None)


def public(name: str) -> Any:
    """What `headroom_planner` has under that name.

    Raises
    ------
    AttributeError
        Where it has nothing.
    """
    if name in INDEX or name in OTHER_NAMES:
        ask_question: Callable[..., Answer] = partial(ask, name)
        ask_question.__doc__ = INDEX[OTHER_NAMES.get(name, name)].line or None
        return ask_question
    if name not in NAMES:
        raise AttributeError(f"module 'headroom_planner' has no attribute {name!r}")
    return globals()[name]


__all__ = ["Answer", "Cluster", "HeadroomError", "NotKnownError", "ask", "read"]
NAMES: Final = (*__all__, *INDEX, *OTHER_NAMES)
"""All that `headroom_planner` hands out."""
