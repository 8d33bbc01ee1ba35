"""The tables of a store, as data: what any engine that reads Parquet finds in its columns.

``docs/store.md`` is made of this. A release may add columns and tables; a column that is there keeps its name, type and
meaning as long as `FORMAT` keeps its number.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from planner.ground.records import Record

FORMAT: Final = "headroom.store/v1"


class Kind(StrEnum):
    """A column's type, in Parquet's words."""

    TEXT = "string"
    INTEGER = "int64"
    NUMBER = "double"
    YES_NO = "boolean"
    MOMENT = "timestamp (µs, UTC)"
    LABELS = "map<string, string>"
    AMOUNTS = "map<string, int64>"


class Column(Record):
    name: str
    kind: Kind
    what: str


class Table(Record):
    name: str
    what: str
    columns: tuple[Column, ...]

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Those of every table first."""
        return (*EVERY, *self.columns)


def _columns(*rows: tuple[str, Kind, str]) -> tuple[Column, ...]:
    return tuple(Column(name=name, kind=kind, what=what) for name, kind, what in rows)


def _table(name: str, what: str, *rows: tuple[str, Kind, str]) -> Table:
    return Table(name=name, what=what, columns=_columns(*rows))


EVERY: Final = _columns(
    ("part", Kind.TEXT, "what was written together; it comes once, however often files were joined"),
    ("snapshot", Kind.TEXT, "the snapshot's id: when it was taken, then its content"),
    ("taken_at", Kind.MOMENT, "when the snapshot was taken"),
)
PARTITIONED_BY: Final = _columns(
    ("cluster", Kind.TEXT, "the cluster's name, percent-encoded in the path"),
    ("day", Kind.TEXT, "the day it was taken, in UTC: 2026-11-17"),
)

_NAMED = ("namespace", Kind.TEXT, "")
_REQUESTED = (
    ("requested", Kind.AMOUNTS, "resource → what bound pods ask for"),
    ("requested_millicores", Kind.INTEGER, "of CPU"),
    ("requested_bytes", Kind.INTEGER, "of memory"),
    ("requested_gpus", Kind.INTEGER, "devices, else slices, else shares: nothing is added that isn't alike"),
)

TABLES: Final = (
    _table(
        "snapshots",
        "one row a snapshot",
        ("source", Kind.TEXT, "the file or context it was read from"),
        ("digest", Kind.TEXT, "of its content: equal content has equal digests"),
        ("nodes", Kind.INTEGER, "nodes in it"),
        ("pods", Kind.INTEGER, "pods in it"),
        ("workloads", Kind.INTEGER, "Deployments, StatefulSets, DaemonSets and Jobs in it"),
        (
            "lacking",
            Kind.TEXT,
            "kinds that were refused or not given, joined by commas; what hangs on them isn't known",
        ),
        ("written_by", Kind.TEXT, "the release that wrote it"),
        ("prices", Kind.TEXT, "digest of the price book it was reckoned with"),
    ),
    _table(
        "answers",
        "one row a question that was asked of a snapshot",
        ("question", Kind.TEXT, "overview, capacity, costs, …"),
        ("format", Kind.TEXT, "of its document: headroom.overview/v1"),
        ("settings", Kind.TEXT, "what was asked, as JSON"),
        ("exit_status", Kind.INTEGER, "what the command ends with"),
        ("sentence", Kind.TEXT, "the answer in a sentence"),
        ("error", Kind.TEXT, "why it isn't answered; empty where it is"),
    ),
    _table(
        "facts",
        "the flat facts of every answer: one number or word a row",
        ("question", Kind.TEXT, "whose answer it is of"),
        ("metric", Kind.TEXT, "what it is; with the labels it names the fact for good"),
        ("labels", Kind.LABELS, "what it is of: workload, model, node_pool, …"),
        ("value", Kind.NUMBER, "the number; null for words, and where it isn't known"),
        ("text", Kind.TEXT, "the word, such as stuck; null for numbers, and where it isn't known"),
        ("unit", Kind.TEXT, "pods, bytes, millicores, seconds, USD/month, a resource's name; empty for words"),
    ),
    _table(
        "nodes",
        "one row a node",
        ("node", Kind.TEXT, ""),
        ("node_pool", Kind.TEXT, "empty where no label tells"),
        ("machine_type", Kind.TEXT, ""),
        ("region", Kind.TEXT, ""),
        ("zone", Kind.TEXT, ""),
        ("provisioning", Kind.TEXT, "on-demand, spot, preemptible, flex-start, reserved, capacity-block"),
        ("gpu_model", Kind.TEXT, "empty without GPUs"),
        ("is_ready", Kind.YES_NO, "its condition Ready is True"),
        ("is_cordoned", Kind.YES_NO, ""),
        ("is_going", Kind.YES_NO, "an autoscaler is taking it down; null where an earlier release wrote it"),
        ("created_at", Kind.MOMENT, ""),
        ("allocatable", Kind.AMOUNTS, "resource → millicores, bytes or devices"),
        ("allocatable_millicores", Kind.INTEGER, "of CPU"),
        ("allocatable_bytes", Kind.INTEGER, "of memory"),
        ("allocatable_gpus", Kind.INTEGER, "devices, else slices, else shares"),
        *_REQUESTED,
    ),
    _table(
        "node_events",
        "one row an event about a node that came or went",
        ("node", Kind.TEXT, ""),
        ("told", Kind.TEXT, "registered, gone, or taken down (by an autoscaler)"),
        ("at", Kind.MOMENT, "when it was seen"),
    ),
    _table(
        "pools",
        "one row for what a node pool has of a resource; a pool of several regions, ways of buying or GPU models has "
        "a row for each",
        ("node_pool", Kind.TEXT, "empty where no label tells"),
        ("region", Kind.TEXT, ""),
        ("provisioning", Kind.TEXT, "on-demand, spot, preemptible, flex-start, reserved, capacity-block"),
        ("gpu_model", Kind.TEXT, "empty without GPUs"),
        ("resource", Kind.TEXT, "cpu, memory, or a GPU resource"),
        ("nodes", Kind.INTEGER, "that have it"),
        ("allocatable", Kind.INTEGER, "millicores, bytes or devices"),
        ("requested", Kind.INTEGER, "asked for by the pods bound to them"),
        ("free", Kind.INTEGER, "on each node that takes new pods (not cordoned, Ready) what isn't held there"),
    ),
    _table(
        "workloads",
        "one row a Deployment, StatefulSet, DaemonSet or Job",
        ("workload", Kind.TEXT, "kind/namespace/name"),
        ("kind", Kind.TEXT, ""),
        _NAMED,
        ("name", Kind.TEXT, ""),
        ("replicas", Kind.INTEGER, "wanted; of a Job its parallelism; of a DaemonSet the pods it has"),
        ("ready", Kind.INTEGER, "pods that are Ready, as its status says"),
        ("created_at", Kind.MOMENT, ""),
        ("images", Kind.TEXT, "of its containers, joined by spaces"),
        ("requests", Kind.AMOUNTS, "what one pod asks for"),
        ("requests_millicores", Kind.INTEGER, "of CPU, one pod"),
        ("requests_bytes", Kind.INTEGER, "of memory, one pod"),
        ("requests_gpus", Kind.INTEGER, "one pod"),
    ),
    _table(
        "pods",
        "one row a pod",
        _NAMED,
        ("pod", Kind.TEXT, ""),
        ("workload", Kind.TEXT, "who made it: kind/namespace/name"),
        ("node", Kind.TEXT, "empty while it waits"),
        ("phase", Kind.TEXT, ""),
        ("is_ready", Kind.YES_NO, ""),
        ("created_at", Kind.MOMENT, ""),
        ("priority", Kind.INTEGER, "null where admission set none"),
        ("qos_class", Kind.TEXT, ""),
        ("restarts", Kind.INTEGER, "of its containers together"),
        ("requests", Kind.AMOUNTS, "what it asks for"),
        ("requests_millicores", Kind.INTEGER, "of CPU"),
        ("requests_bytes", Kind.INTEGER, "of memory"),
        ("requests_gpus", Kind.INTEGER, ""),
    ),
    _table(
        "trends",
        "what trends are made of, in plain columns: a row a GPU resource of a pool, a number, or a workload's verdict; made "
        "of pools and facts whenever they are written",
        ("metric", Kind.TEXT, "pool, or a fact's"),
        ("about", Kind.TEXT, "the workload, model, verdict, or what is paid for; empty for all"),
        ("resource", Kind.TEXT, "a GPU resource; empty else"),
        ("node_pool", Kind.TEXT, "these are empty but for pools"),
        ("region", Kind.TEXT, ""),
        ("provisioning", Kind.TEXT, ""),
        ("gpu_model", Kind.TEXT, ""),
        ("nodes", Kind.INTEGER, "these are null but for pools"),
        ("allocatable", Kind.INTEGER, ""),
        ("requested", Kind.INTEGER, ""),
        ("free", Kind.INTEGER, ""),
        ("value", Kind.NUMBER, "a fact's number"),
        ("text", Kind.TEXT, "a fact's word: the verdict"),
    ),
    _table(
        "sweep",
        "one row a fact of a workload in a sweep: its verdict, strategies, plan and savings",
        ("run", Kind.TEXT, "the sweep's name"),
        ("workload", Kind.TEXT, "kind/namespace/name; * for the plan, which is of the whole snapshot"),
        ("question", Kind.TEXT, "rollout, grid, plan, savings"),
        ("metric", Kind.TEXT, ""),
        ("labels", Kind.LABELS, ""),
        ("value", Kind.NUMBER, "the number; null for words, and where it isn't known"),
        ("text", Kind.TEXT, "the word; null for numbers, and where it isn't known"),
        ("unit", Kind.TEXT, ""),
    ),
)
TRENDS: Final = "trends"  # nobody writes it: it follows from two others
NAMED: Final = {table.name: table for table in TABLES}
