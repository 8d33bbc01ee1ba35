"""The tables of a store, as data: what any engine that reads Parquet finds in its columns.

``docs/store.md`` is made of this. A release may add columns and tables; a column that is there keeps its name, type and
meaning as long as `FORMAT` keeps its number.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from planner.ground.records import Record

FORMAT: Final = "headroom.store/v1"


class ColumnType(StrEnum):
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
    kind: ColumnType
    what: str


class Table(Record):
    name: str
    what: str
    columns: tuple[Column, ...]

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Those of every table first."""
        return (*EVERY, *self.columns)


def _columns(*rows: tuple[str, ColumnType, str]) -> tuple[Column, ...]:
    return tuple(Column(name=name, kind=kind, what=what) for name, kind, what in rows)


def _table(name: str, what: str, *rows: tuple[str, ColumnType, str]) -> Table:
    return Table(name=name, what=what, columns=_columns(*rows))


EVERY: Final = _columns(
    ("part", ColumnType.TEXT, "what was written together; it comes once, however often files were joined"),
    ("snapshot", ColumnType.TEXT, "the snapshot's id: when it was taken, then its content"),
    ("taken_at", ColumnType.MOMENT, "when the snapshot was taken"),
)
PARTITIONED_BY: Final = _columns(
    ("cluster", ColumnType.TEXT, "the cluster's name, percent-encoded in the path"),
    ("day", ColumnType.TEXT, "the day it was taken, in UTC: 2026-11-17"),
)

_NAMED = ("namespace", ColumnType.TEXT, "")
_REQUESTED = (
    ("requested", ColumnType.AMOUNTS, "resource → what bound pods ask for"),
    ("requested_millicores", ColumnType.INTEGER, "of CPU"),
    ("requested_bytes", ColumnType.INTEGER, "of memory"),
    ("requested_gpus", ColumnType.INTEGER, "devices, else slices, else shares: nothing is added that isn't alike"),
)

TABLES: Final = (
    _table(
        "snapshots",
        "one row a snapshot",
        ("source", ColumnType.TEXT, "the file or context it was read from"),
        ("digest", ColumnType.TEXT, "of its content: equal content has equal digests"),
        ("nodes", ColumnType.INTEGER, "nodes in it"),
        ("pods", ColumnType.INTEGER, "pods in it"),
        ("workloads", ColumnType.INTEGER, "Deployments, StatefulSets, DaemonSets and Jobs in it"),
        (
            "lacking",
            ColumnType.TEXT,
            "kinds that were refused or not given, joined by commas; what hangs on them isn't known",
        ),
        ("written_by", ColumnType.TEXT, "the release that wrote it"),
        ("prices", ColumnType.TEXT, "digest of the price book it was reckoned with"),
    ),
    _table(
        "answers",
        "one row a question that was asked of a snapshot",
        ("question", ColumnType.TEXT, "overview, capacity, costs, …"),
        ("format", ColumnType.TEXT, "of its document: headroom.overview/v1"),
        ("settings", ColumnType.TEXT, "what was asked, as JSON"),
        ("exit_status", ColumnType.INTEGER, "what the command ends with"),
        ("sentence", ColumnType.TEXT, "the answer in a sentence"),
        ("error", ColumnType.TEXT, "why it isn't answered; empty where it is"),
    ),
    _table(
        "facts",
        "the flat facts of every answer: one number or word a row",
        ("question", ColumnType.TEXT, "whose answer it is of"),
        ("metric", ColumnType.TEXT, "what it is; with the labels it names the fact for good"),
        ("labels", ColumnType.LABELS, "what it is of: workload, model, node_pool, …"),
        ("value", ColumnType.NUMBER, "the number; null for words, and where it isn't known"),
        ("text", ColumnType.TEXT, "the word, such as stuck; null for numbers, and where it isn't known"),
        ("unit", ColumnType.TEXT, "pods, bytes, millicores, seconds, USD/month, a resource's name; empty for words"),
    ),
    _table(
        "nodes",
        "one row a node",
        ("node", ColumnType.TEXT, ""),
        ("node_pool", ColumnType.TEXT, "empty where no label tells"),
        ("machine_type", ColumnType.TEXT, ""),
        ("region", ColumnType.TEXT, ""),
        ("zone", ColumnType.TEXT, ""),
        ("provisioning", ColumnType.TEXT, "on-demand, spot, preemptible, flex-start, reserved, capacity-block"),
        ("gpu_model", ColumnType.TEXT, "empty without GPUs"),
        ("is_ready", ColumnType.YES_NO, "its condition Ready is True"),
        ("is_cordoned", ColumnType.YES_NO, ""),
        ("is_going", ColumnType.YES_NO, "an autoscaler is taking it down; null where an earlier release wrote it"),
        ("created_at", ColumnType.MOMENT, ""),
        ("allocatable", ColumnType.AMOUNTS, "resource → millicores, bytes or devices"),
        ("allocatable_millicores", ColumnType.INTEGER, "of CPU"),
        ("allocatable_bytes", ColumnType.INTEGER, "of memory"),
        ("allocatable_gpus", ColumnType.INTEGER, "devices, else slices, else shares"),
        *_REQUESTED,
    ),
    _table(
        "node_events",
        "one row an event about a node that came or went",
        ("node", ColumnType.TEXT, ""),
        ("told", ColumnType.TEXT, "registered, gone, or taken down (by an autoscaler)"),
        ("at", ColumnType.MOMENT, "when it was seen"),
    ),
    _table(
        "pools",
        "one row for what a node pool has of a resource; a pool of several regions, ways of buying or GPU models has "
        "a row for each",
        ("node_pool", ColumnType.TEXT, "empty where no label tells"),
        ("region", ColumnType.TEXT, ""),
        ("provisioning", ColumnType.TEXT, "on-demand, spot, preemptible, flex-start, reserved, capacity-block"),
        ("gpu_model", ColumnType.TEXT, "empty without GPUs"),
        ("resource", ColumnType.TEXT, "cpu, memory, or a GPU resource"),
        ("nodes", ColumnType.INTEGER, "that have it"),
        ("allocatable", ColumnType.INTEGER, "millicores, bytes or devices"),
        ("requested", ColumnType.INTEGER, "asked for by the pods bound to them"),
        ("free", ColumnType.INTEGER, "on each node that takes new pods (not cordoned, Ready) what isn't held there"),
    ),
    _table(
        "workloads",
        "one row a Deployment, StatefulSet, DaemonSet or Job",
        ("workload", ColumnType.TEXT, "kind/namespace/name"),
        ("kind", ColumnType.TEXT, ""),
        _NAMED,
        ("name", ColumnType.TEXT, ""),
        ("replicas", ColumnType.INTEGER, "wanted; of a Job its parallelism; of a DaemonSet the pods it has"),
        ("ready", ColumnType.INTEGER, "pods that are Ready, as its status says"),
        ("created_at", ColumnType.MOMENT, ""),
        ("images", ColumnType.TEXT, "of its containers, joined by spaces"),
        ("requests", ColumnType.AMOUNTS, "what one pod asks for"),
        ("requests_millicores", ColumnType.INTEGER, "of CPU, one pod"),
        ("requests_bytes", ColumnType.INTEGER, "of memory, one pod"),
        ("requests_gpus", ColumnType.INTEGER, "one pod"),
    ),
    _table(
        "pods",
        "one row a pod",
        _NAMED,
        ("pod", ColumnType.TEXT, ""),
        ("workload", ColumnType.TEXT, "who made it: kind/namespace/name"),
        ("node", ColumnType.TEXT, "empty while it waits"),
        ("phase", ColumnType.TEXT, ""),
        ("is_ready", ColumnType.YES_NO, ""),
        ("created_at", ColumnType.MOMENT, ""),
        ("priority", ColumnType.INTEGER, "null where admission set none"),
        ("qos_class", ColumnType.TEXT, ""),
        ("restarts", ColumnType.INTEGER, "of its containers together"),
        ("requests", ColumnType.AMOUNTS, "what it asks for"),
        ("requests_millicores", ColumnType.INTEGER, "of CPU"),
        ("requests_bytes", ColumnType.INTEGER, "of memory"),
        ("requests_gpus", ColumnType.INTEGER, ""),
    ),
    _table(
        "queued_workloads",
        "one row a Workload of Kueue's; none of a snapshot that lacks some of them, or that an earlier release wrote",
        ("workload", ColumnType.TEXT, "what it was made for: kind/namespace/name"),
        ("uid", ColumnType.TEXT, "of the Workload"),
        ("series", ColumnType.TEXT, "what runs that are alike have in common; empty where nothing owns it"),
        ("admitted_at", ColumnType.MOMENT, "null while it isn't admitted"),
        ("finished_at", ColumnType.MOMENT, "null while it isn't finished"),
    ),
    _table(
        "trends",
        "what trends are made of, in plain columns: a row a GPU resource of a pool, a number, or a workload's verdict; made "
        "of pools and facts whenever they are written",
        ("metric", ColumnType.TEXT, "pool, or a fact's"),
        ("about", ColumnType.TEXT, "the workload, model, verdict, or what is paid for; empty for all"),
        ("resource", ColumnType.TEXT, "a GPU resource; empty else"),
        ("node_pool", ColumnType.TEXT, "these are empty but for pools"),
        ("region", ColumnType.TEXT, ""),
        ("provisioning", ColumnType.TEXT, ""),
        ("gpu_model", ColumnType.TEXT, ""),
        ("nodes", ColumnType.INTEGER, "these are null but for pools"),
        ("allocatable", ColumnType.INTEGER, ""),
        ("requested", ColumnType.INTEGER, ""),
        ("free", ColumnType.INTEGER, ""),
        ("value", ColumnType.NUMBER, "a fact's number"),
        ("text", ColumnType.TEXT, "a fact's word: the verdict"),
    ),
    _table(
        "sweep",
        "one row a fact of a workload in a sweep: its verdict, strategies, plan and savings",
        ("run", ColumnType.TEXT, "the sweep's name"),
        ("workload", ColumnType.TEXT, "kind/namespace/name; * for the plan, which is of the whole snapshot"),
        ("question", ColumnType.TEXT, "rollout, grid, plan, savings"),
        ("metric", ColumnType.TEXT, ""),
        ("labels", ColumnType.LABELS, ""),
        ("value", ColumnType.NUMBER, "the number; null for words, and where it isn't known"),
        ("text", ColumnType.TEXT, "the word; null for numbers, and where it isn't known"),
        ("unit", ColumnType.TEXT, ""),
    ),
)
TRENDS: Final = "trends"  # nobody writes it: it follows from two others
NAMED: Final = {table.name: table for table in TABLES}
