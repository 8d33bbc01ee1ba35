"""What there is, what is left, and what still fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.capacity.fragmentation import Fragments, fragments
from planner.capacity.gpu_lines import GpuModelLine, gpu_lines
from planner.capacity.headroom import Fit, fits
from planner.capacity.node_pools import pools
from planner.capacity.pod_shapes import gpu_offer, standard_shapes, usual_share, workload_shapes
from planner.capacity.room import (
    PoolLine,
    ResourceLine,
    findings_of_room,
    of,
    pool_line,
    resource_lines,
    room_sentence,
    shape,
)
from planner.capacity.shared_gpus import GpuSupply, gpu_supply
from planner.ground import collector
from planner.ground.budget import allowed
from planner.ground.settings import setting, settings_within
from planner.ground.tables import Row
from planner.ground.words import Text, sentence
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.kinds import NODE, POD, ROLLING
from planner.kubernetes.nodes import NO_POOL
from planner.kubernetes.records import Finding, Snapshot
from planner.questions import overview as overview_question
from planner.questions.filters import Filter, Kept
from planner.questions.pool_settings import PoolSettings
from planner.questions.question import NOTHING, Fact, Given, Question, column_of, fact, unit_of
from planner.rollout import prepared as prepared_question


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySettings:
    shapes: tuple[str, ...] = setting(
        (),
        name="shape",
        form="TEXT",
        help="A pod shape to fit: gpu=2,cpu=8,memory=64Gi, to which pool=NAME, tolerate=all and priority=CLASS may be added; "
        "or a workload's key.",
    )
    pools: PoolSettings = settings_within(PoolSettings)
    filter: Filter = settings_within(Filter)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityAnswer:
    """Everything about what is left. Without Pods what the nodes have, and nothing of what still fits; `fragments` is None then."""

    sentence: str
    resources: tuple[ResourceLine, ...]
    gpus: tuple[GpuModelLine, ...]
    supply: tuple[GpuSupply, ...]
    pools: tuple[PoolLine, ...]
    standard: tuple[Fit, ...]
    standard_basis: str
    workloads: tuple[Fit, ...]
    fragments: Fragments | None
    findings: tuple[Finding, ...]
    resource: str = ""  # the one that GPUs of pools are counted in
    shapes: tuple[Fit, ...] = ()  # those asked for, in their order


def narrowed(whole: CapacityAnswer, kept: Kept) -> CapacityAnswer:
    """The pools and workloads that are let through; what is free and what of it is stranded stays the whole cluster's."""
    if kept.is_all:
        return whole
    own = tuple(one for one in whole.workloads if kept.workload(one.shape))
    return replace(
        whole,
        sentence=str(kept.beside(sentence(whole.sentence), len(own), len(whole.workloads), "workload")),
        pools=tuple(line for line in whole.pools if kept.pool(line.pool.name or NO_POOL)),
        workloads=own,
    )


@collector.resting()
def capacity(snapshot: Snapshot, limits: tuple[PoolLimits, ...] = ()) -> CapacityAnswer:
    """What there is, what is left, and what of it can be used."""
    cluster = prepared_question.compiled(snapshot)
    known = pools(cluster, limits)
    gpus = gpu_lines(cluster)
    broken = snapshot.if_known(fragments(cluster), POD.name)
    standard, own = (
        ((), ()) if broken is None else (fits(cluster, some(cluster)) for some in (standard_shapes, workload_shapes))
    )
    return CapacityAnswer(
        sentence=str(QUESTION.as_far_as_seen(snapshot, Text(room_sentence(gpus, standard, own, broken)))),
        resources=resource_lines(cluster),
        gpus=gpus,
        supply=gpu_supply(cluster),
        pools=tuple(pool_line(cluster, pool) for pool in known),
        standard=standard,
        standard_basis=usual_share(cluster)[2] if broken else "",
        workloads=own,
        fragments=broken,
        findings=findings_of_room(cluster, limits),
        resource=gpu_offer(cluster)[0],
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
@allowed()
def answer(snapshot: Snapshot, settings: CapacitySettings, given: Given = NOTHING) -> CapacityAnswer:
    """`capacity`, with the shapes that were asked for.

    Raises
    ------
    InputError
        When a text isn't a shape.
    """
    typed = tuple(shape(snapshot, text) for text in settings.shapes if not snapshot.lacks(POD.name))
    whole = replace(capacity(snapshot, settings.pools.known(given)), shapes=typed)
    return narrowed(whole, overview_question.kept_by(snapshot, settings.filter))


def facts(answer: CapacityAnswer) -> Iterator[Fact]:
    """Each resource, each pool, how many more of each shape fit, and what of the free GPUs no pod of a size can use."""
    for line in answer.resources:
        unit = unit_of(line.resource)
        for name in ("allocatable", "requested", "free", "free_cordoned", "pending"):
            yield fact(f"resource_{name}", getattr(line, name), unit, resource=line.resource)
    for place in answer.pools:
        yield fact("pool_nodes", place.pool.node_count, "nodes", node_pool=place.pool.name)
        yield fact("pool_room", place.room, "nodes", node_pool=place.pool.name)
        for name, amount in place.allocatable.items():
            labels = {"node_pool": place.pool.name, "resource": name}
            yield fact("pool_allocatable", amount, unit_of(name), **labels)
            yield fact("pool_requested", of(place.requested, name), unit_of(name), **labels)
    for one in (*answer.shapes, *answer.standard, *answer.workloads):
        yield fact("fits", one.known_count, "pods", shape=one.shape)
    for size in answer.fragments.sizes[1:] if answer.fragments else ():
        yield fact("gpus_stranded", size.stranded, unit_of(answer.resource), pods_of=size.gpus)


def fit_rows(answer: CapacityAnswer) -> list[Row]:
    """How many more of each shape fit, one a line."""
    return rows_of([*answer.shapes, *answer.standard, *answer.workloads])


def rows_of(fits: Sequence[Fit]) -> list[Row]:
    """The same, of any shapes."""
    return [
        {
            "shape": one.shape,
            **{
                column_of("asks", name): one.requests.get(name)
                for name in sorted({n for f in fits for n in f.requests})
            },
            "fits": one.known_count,
            "at_least": one.is_at_least,
            "by_preempting": one.by_preempting,
            "quota_lets_in": one.quota_limit,
            "stops": one.unknown or "; ".join(map(str, one.obstacles)),
            "where": "; ".join(f"{pool or 'no pool'} {zone}: {number}" for pool, zone, number in one.by_place),
        }
        for one in fits
    ]


def resource_rows(answer: CapacityAnswer) -> list[Row]:
    """One row a resource, in millicores, bytes or devices."""
    return [
        {
            "resource": line.resource,
            "unit": unit_of(line.resource),
            "allocatable": line.allocatable,
            "requested": line.requested,
            "free": line.free,
            "free_cordoned": line.free_cordoned,
            "pending": line.pending,
        }
        for line in answer.resources
    ]


def pool_rows(answer: CapacityAnswer) -> list[Row]:
    """One row a node pool and what it offers; `may_grow_by` is empty where nobody says."""
    return [
        {
            "node_pool": line.pool.name,
            "nodes": line.pool.node_count,
            "machine_types": ", ".join(line.pool.machine_types),
            "gpu_model": line.pool.accelerator,
            "gpu_label": ", ".join(line.pool.gpu_labels),
            "offered_as": one.noun if one else "",
            "gpus": one.allocatable if one else 0,
            "gpus_free": one.free if one else 0,
            "gpus_out_of_use": one.out_of_use if one else 0,
            "bought": ", ".join(line.pool.provisioning),
            "limits": line.pool.limit_text,
            "may_grow_by": line.room,
        }
        for line in answer.pools
        for one in line.offers or (None,)
    ]


QUESTION: Final = Question(
    name="capacity",
    settings=CapacitySettings,
    result=CapacityAnswer,
    answer=answer,
    facts=facts,
    tables={"fits": fit_rows, "resources": resource_rows, "pools": pool_rows},
    hangs_on=(NODE.name,),
    parts_hang_on=(POD.name,),
    lists=tuple(kind.name for kind in ROLLING),
)
