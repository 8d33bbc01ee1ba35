"""Turns a snapshot and its answers into rows of the tables in `planner.history.schema`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Protocol

from planner.ground.records import Record
from planner.ground.well_known_names import CPU, MEMORY
from planner.history.schema import NAMED, TRENDS
from planner.history.snapshot_names import moment_of, snapshot_id
from planner.inventory.past_durations import RolloutActivity, past_durations
from planner.inventory.past_job_durations import series_of
from planner.inventory.spot_node_lifetimes import is_going, node_events
from planner.kubernetes import node_properties as node_words
from planner.kubernetes.accelerators import alike, is_gpu_resource, once, same_as
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap, Node, PodSpec, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests, requested_gpus, sum_requests
from planner.kubernetes.workload_kinds import DAEMON_SET, POD

Value = float | int | str | bool | Mapping[str, object] | None
Rows = dict[str, list[dict[str, Value]]]
"""Table → rows; columns of `schema.EVERY` are in each."""


class FactLike(Protocol):
    """A flat fact of an answer (`planner.questions.question.Fact`)."""

    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float | int | str | bool | None: ...
    @property
    def unit(self) -> str: ...
    @property
    def labels(self) -> FrozenMap[str]: ...


class Answered(Record):
    """A question that was asked of a snapshot, and what came of it; `error` says why it wasn't answered."""

    question: str
    format: str
    settings: str = "{}"
    exit_status: int = 0
    sentence: str = ""
    error: str = ""
    facts: tuple[FactLike, ...] = field(default=())


def _not_known(snapshot: Snapshot) -> set[str]:
    """Kinds of which rows may be missing, or may be of another state of an object than its latest."""
    lacking = {kind for kind, presence in snapshot.presence.items() if presence.is_lacking}
    return lacking | {kind for kind, *_ in snapshot.reading.contradicted}


def rows_of(snapshot: Snapshot, answers: Iterable[Answered], *, written_by: str, prices: str = "") -> Rows:
    """Every table's rows of one snapshot; its `part` is the snapshot's id."""
    rows: Rows = {name: [] for name in NAMED if name not in ("sweep", TRENDS)}
    rows["snapshots"].append(
        {
            "source": snapshot.source,
            "digest": snapshot.digest,
            "nodes": len(snapshot.nodes),
            "pods": snapshot.if_known(len(snapshot.pods), POD.name),
            "workloads": len(snapshot.workloads),
            "lacking": ",".join(sorted(_not_known(snapshot))),
            "written_by": written_by,
            "prices": prices,
        }
    )
    node_requests = snapshot.if_known(_held(snapshot), POD.name)
    rows["node_events"] += (
        {"node": node, "told": event_name.value, "at": at} for node, event_name, at in node_events(snapshot)
    )
    rows["nodes"] += (
        _node(node, None if node_requests is None else node_requests.get(node.name, EMPTY)) for node in snapshot.nodes
    )
    rows["pools"] += (
        _pools(snapshot, node_requests) if node_requests is not None else ()
    )  # without the pod list every GPU would count as free, and the trend would drop
    rows["workloads"] += _workloads(snapshot)
    rows["pods"] += _pods(snapshot)
    rows["durations"] += _durations(snapshot)
    rows["queued_workloads"] += snapshot.if_known(_queued(snapshot), "Workload") or ()
    for answer in answers:
        answer_row = {
            name: getattr(answer, name) for name in ("question", "format", "settings", "exit_status", "sentence")
        }
        rows["answers"].append({**answer_row, "error": answer.error})
        rows["facts"] += ({"question": answer.question, **fact_row(fact)} for fact in answer.facts)
    every = every_of(snapshot)
    for table in rows.values():
        for row in table:
            row.update(every)
    return rows


def every_of(snapshot: Snapshot, part: str = "") -> dict[str, Value]:
    """What every row says: what it was written with, and of which snapshot it is."""
    name = snapshot_id(snapshot)
    return {"part": part or name, "snapshot": name, "taken_at": moment_of(name)}


def fact_row(fact: FactLike) -> dict[str, Value]:
    """A fact's columns; numbers and words apart, True and False as words."""
    is_number = isinstance(fact.value, int | float) and not isinstance(fact.value, bool)
    return {
        "metric": fact.metric,
        "labels": dict(fact.labels),
        "value": float(fact.value) if is_number and fact.value is not None else None,
        "text": None if is_number or fact.value is None else str(fact.value),
        "unit": fact.unit,
    }


def _amounts(prefix: str, amounts: Amounts | None, gpus: int) -> dict[str, Value]:
    if amounts is None:
        return {prefix: None, f"{prefix}_millicores": None, f"{prefix}_bytes": None, f"{prefix}_gpus": None}
    return {
        prefix: dict(amounts),
        f"{prefix}_millicores": amounts.get(CPU, 0),
        f"{prefix}_bytes": amounts.get(MEMORY, 0),
        f"{prefix}_gpus": gpus,
    }


def _held(snapshot: Snapshot) -> dict[str, Amounts]:
    """Node → what its pods ask for."""
    bound: dict[str, dict[PodSpec, int]] = defaultdict(lambda: defaultdict(int))
    for pod in snapshot.pods:
        if pod.holds_room:
            bound[pod.node_name][pod.spec] += 1
    return {node: sum_requests(specs.items()) for node, specs in bound.items()}


def _node(node: Node, request_columns: Amounts | None) -> dict[str, Value]:
    return {
        "node": node.name,
        "node_pool": node_words.node_pool(node),
        "machine_type": node_words.machine_type(node),
        "region": node_words.region(node),
        "zone": node_words.zone(node),
        "provisioning": node_words.provisioning_model(node),
        "gpu_model": node_words.gpu_model(node),
        "is_ready": node_words.is_ready(node),
        "is_cordoned": node.is_cordoned,
        "is_going": is_going(node),
        "created_at": node.created_at,
        **_amounts("allocatable", node.allocatable, alike(node.allocatable)),
        **_amounts("requested", request_columns, alike(request_columns or EMPTY)),
    }


def _pools(snapshot: Snapshot, requests_by_node: Mapping[str, Amounts]) -> Iterator[dict[str, Value]]:
    pools: dict[tuple[str, ...], list[int]] = {}
    for node in snapshot.nodes:
        place = (node_words.node_pool(node), node_words.region(node), node_words.provisioning_model(node))
        seconds = {name for name in node.allocatable if is_gpu_resource(name)} - once(node.allocatable).keys()
        for name, amount in node.allocatable.items():
            if amount and name not in seconds and (name in (CPU, MEMORY) or is_gpu_resource(name)):
                here = requests_by_node.get(node.name, EMPTY)
                taken = max(
                    here.get(name_form, 0) for name_form in (name, *(two for two in seconds if same_as(two) == name))
                )
                line = pools.setdefault((*place, node_words.gpu_model(node), name), [0, 0, 0, 0])
                free = 0 if node_words.out_of_use(node) else max(0, amount - taken)
                line[:] = line[0] + 1, line[1] + amount, line[2] + taken, line[3] + free
    for (pool, region, bought, model, resource), (nodes, allocatable, requested, free) in sorted(pools.items()):
        yield {
            "node_pool": pool, "region": region, "provisioning": bought, "gpu_model": model, "resource": resource,
            "nodes": nodes, "allocatable": allocatable, "requested": requested, "free": free,
        }  # fmt: skip


def _workloads(snapshot: Snapshot) -> Iterator[dict[str, Value]]:
    for workload in snapshot.workloads:
        spec = workload.template.spec
        yield {
            "workload": workload.key,
            "kind": workload.kind,
            "namespace": workload.namespace,
            "name": workload.name,
            "replicas": workload.status_replicas if workload.kind == DAEMON_SET.name else workload.replicas,
            "ready": workload.ready_replicas,
            "created_at": workload.created_at,
            "images": " ".join(container.image for container in (*spec.init_containers, *spec.containers)),
            **_amounts("requests", pod_requests(spec), requested_gpus(spec)),
        }


def _pods(snapshot: Snapshot) -> Iterator[dict[str, Value]]:
    makers = workload_keys(snapshot)
    columns_by_spec: dict[PodSpec, dict[str, Value]] = {}
    for pod in snapshot.pods:
        if pod.spec not in columns_by_spec:
            columns_by_spec[pod.spec] = _amounts("requests", pod_requests(pod.spec), requested_gpus(pod.spec))
        yield {
            "namespace": pod.namespace,
            "pod": pod.name,
            "workload": makers[pod.uid],
            "node": pod.node_name,
            "phase": pod.phase,
            "is_ready": pod.is_ready,
            "created_at": pod.created_at,
            "scheduled_at": pod.scheduled_at,
            "ready_at": pod.ready_at if pod.is_ready else None,
            "priority": pod.spec.priority,
            "qos_class": pod.qos_class,
            "restarts": sum(container.restart_count for container in pod.containers),
            **columns_by_spec[pod.spec],
        }


def _durations(snapshot: Snapshot) -> Iterator[dict[str, Value]]:
    for activity, by_about in past_durations(snapshot).items():
        for about, seen in by_about.items() if activity is not RolloutActivity.START else ():
            for past in seen:
                times = {"created_at": past.created_at, "ended_at": past.ended_at, "seconds": past.seconds}
                yield {"activity": activity, "about": about, "name": past.name, **times}


def _queued(snapshot: Snapshot) -> Iterator[dict[str, Value]]:
    for queued in snapshot.queued_workloads:
        yield {
            "workload": queued.owner.key(queued.namespace) if queued.owner is not None else f"Workload/{queued.key}",
            "uid": queued.uid or queued.key,
            "series": series_of(queued),
            "admitted_at": queued.changed_at.get("Admitted") if queued.is_said("Admitted") else None,
            "finished_at": queued.changed_at.get("Finished") if queued.is_said("Finished") else None,
        }
