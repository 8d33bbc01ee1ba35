"""The one entry to the core for capacity: what there is, what is left, what still fits, and what changes would do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from planner.capacity.changes import Change, text_of
from planner.capacity.fragmentation import Fragments, fragments
from planner.capacity.headroom import Fit, fit, fits
from planner.capacity.node_pools import NodePool, held_by, pools, unmatched
from planner.capacity.pod_shapes import parse_shape, standard_shapes, usual_share, workload_shapes
from planner.capacity.shared_gpus import GpuSupply, gpu_supply
from planner.capacity.what_if import Step, apply
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.records import Amounts, Finding, Severity, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.questions import overview as overview_question
from planner.questions import prepared as prepared_question
from planner.questions.overview import GpuModelLine, WorkloadOverview, free_words, supplies_of
from planner.rollout.answers import Verdict
from planner.scheduling.cluster import Cluster
from planner.vocabulary import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from planner.words import count

_SHOWN_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLine:
    """One resource of the whole cluster. Requests are those of bound pods; what waiting pods ask for stands apart.

    ``requested + free == allocatable + overcommitted``: what is free on one node doesn't help another, on which pods ask
    for more than there is. `free_cordoned` is the part of it on nodes that take no new pods.
    """

    resource: str
    allocatable: int
    requested: int
    free: int
    free_cordoned: int
    pending: int
    overcommitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLine:
    """A node pool with what its nodes have and what is requested of it."""

    pool: NodePool
    allocatable: Amounts
    requested: Amounts
    room: int | None  # nodes it may grow by; None where nobody says


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityAnswer:
    """Everything about what is left."""

    sentence: str
    resources: tuple[ResourceLine, ...]
    gpus: tuple[GpuModelLine, ...]
    supply: tuple[GpuSupply, ...]
    pools: tuple[PoolLine, ...]
    standard: tuple[Fit, ...]
    standard_basis: str
    workloads: tuple[Fit, ...]
    fragments: Fragments
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A workload whose own rollout would go otherwise."""

    workload: str
    before: Verdict
    after: Verdict
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FitChange:
    """How many more pods of a shape fit, today and then."""

    shape: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfAnswer:
    """The same answers for the changed cluster, beside today's."""

    sentence: str
    changes: str
    steps: tuple[Step, ...]
    before: CapacityAnswer
    after: CapacityAnswer
    fits: tuple[FitChange, ...]
    verdicts: tuple[VerdictChange, ...]
    completing_before: int | None  # None where rollouts were not played
    completing_after: int | None
    waiting_before: int
    waiting_after: int


def capacity(snapshot: Snapshot, limits: tuple[PoolLimits, ...] = ()) -> CapacityAnswer:
    """What there is, what is left, and what of it can be used."""
    cluster = prepared_question.compiled(snapshot)
    known = pools(cluster, limits)
    gpus = overview_question.gpu_lines(cluster)
    standard = fits(cluster, standard_shapes(cluster))
    broken = fragments(cluster)
    return CapacityAnswer(
        sentence=_sentence(gpus, standard, broken),
        resources=_resources(cluster),
        gpus=gpus,
        supply=gpu_supply(cluster),
        pools=tuple(_pool_line(cluster, pool) for pool in known),
        standard=standard,
        standard_basis=usual_share(cluster)[2],
        workloads=fits(cluster, workload_shapes(cluster)),
        fragments=broken,
        findings=_findings(cluster, limits),
    )


def shape(snapshot: Snapshot, text: str) -> Fit:
    """How many more pods of a typed shape (``gpu=2,cpu=8,memory=64Gi``) fit, where, and what stops the next one.

    Raises
    ------
    InputError
        When the text isn't a shape.
    """
    cluster = prepared_question.compiled(snapshot)
    return fit(cluster, parse_shape(text, cluster))


def what_if(
    snapshot: Snapshot,
    changes: tuple[Change, ...],
    limits: tuple[PoolLimits, ...] = (),
    shape_text: str = "",
    with_rollouts: bool = True,
) -> WhatIfAnswer:
    """The cluster after `changes`, answered like today's.

    Parameters
    ----------
    with_rollouts : bool
        Whether every workload's own rollout is played on both clusters too: seconds, on one of thousands of nodes.

    Raises
    ------
    HeadroomError
        When a change doesn't apply to the snapshot, or the shape can't be read.
    """
    made = apply(prepared_question.compiled(snapshot), changes, limits)
    then = replace(made.snapshot, digest=_digest(snapshot, changes))
    today = prepared_question.compiled(snapshot)
    before = today.remember(("capacity", limits), lambda: capacity(snapshot, limits))
    after = capacity(then, limits)
    shapes = _fit_changes(before, after, fits(prepared_question.compiled(then), standard_shapes(today)))
    if shape_text:
        typed = shape(snapshot, shape_text)
        shapes = (FitChange(shape=typed.shape, before=typed.count, after=shape(then, shape_text).count), *shapes)
    now: tuple[WorkloadOverview, ...] = ()
    later: tuple[WorkloadOverview, ...] = ()
    if with_rollouts:
        now = today.remember("overview", lambda: overview_question.overview(snapshot)).workloads
        later = overview_question.overview(then).workloads
    verdicts = {line.workload: line for line in now}
    changed = tuple(
        VerdictChange(
            workload=line.workload, before=verdicts[line.workload].verdict, after=line.verdict, sentence=line.sentence
        )
        for line in later
        if line.workload in verdicts and verdicts[line.workload].verdict is not line.verdict
    )
    completing = [sum(one.verdict is Verdict.COMPLETES for one in lines) for lines in (now, later)]
    answer = WhatIfAnswer(
        sentence="",
        changes=text_of(changes),
        steps=made.steps,
        before=before,
        after=after,
        fits=shapes,
        verdicts=changed,
        completing_before=completing[0] if with_rollouts else None,
        completing_after=completing[1] if with_rollouts else None,
        waiting_before=len(today.waiting),
        waiting_after=len(prepared_question.compiled(then).waiting),
    )
    return replace(answer, sentence=_what_if_sentence(answer))


def _digest(snapshot: Snapshot, changes: tuple[Change, ...]) -> str:
    return hashlib.blake2b(f"{snapshot.digest}\n{text_of(changes)}".encode(), digest_size=16).hexdigest()


def _fit_changes(before: CapacityAnswer, after: CapacityAnswer, standard: tuple[Fit, ...]) -> tuple[FitChange, ...]:
    """Standard shapes are those of today's mix on both sides; workloads by name."""
    then = {one.shape: one.count for one in (*standard, *after.workloads)}
    return tuple(
        FitChange(shape=one.shape, before=one.count, after=then[one.shape])
        for one in (*before.standard, *before.workloads)
        if one.shape in then
    )


# ── pieces ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _resources(cluster: Cluster) -> tuple[ResourceLine, ...]:
    pending: dict[str, int] = {}
    for index in cluster.waiting:
        for name, amount in (*pod_requests(cluster.snapshot.pods[index].spec).items(), (PODS, 1)):
            pending[name] = pending.get(name, 0) + amount
    rest = cluster.allocatable - cluster.requested
    free, over = np.maximum(rest, 0), np.maximum(-rest, 0)
    cordoned = [i for i, node in enumerate(cluster.nodes) if node.is_cordoned]
    lines = [
        ResourceLine(
            resource=name,
            allocatable=int(cluster.allocatable[row].sum()),
            requested=int(cluster.requested[row].sum()),
            free=int(free[row].sum()),
            free_cordoned=int(free[row, cordoned].sum()),
            pending=pending.get(name, 0),
            overcommitted=int(over[row].sum()),
        )
        for name, row in cluster.row.items()
    ]
    kept = [line for line in lines if line.allocatable or line.requested or line.pending]
    order = {name: place for place, name in enumerate(_SHOWN_FIRST, start=1)}
    return tuple(sorted(kept, key=lambda line: (order.get(line.resource, 0), line.resource)))


def _pool_line(cluster: Cluster, pool: NodePool) -> PoolLine:
    allocatable, requested = held_by(cluster, pool)
    return PoolLine(pool=pool, allocatable=allocatable, requested=requested, room=pool.room(allocatable))


def _findings(cluster: Cluster, limits: tuple[PoolLimits, ...]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            severity=Severity.INFO,
            code="node-group-without-pool",
            object="",
            what=f"the autoscaler's group {name} fits no node pool of the snapshot",
            mend="Name the pool's limit by hand: POOL=MAX",
        )
        for name in unmatched(cluster, limits)
    )


def _sentence(gpus: tuple[GpuModelLine, ...], standard: tuple[Fit, ...], broken: Fragments) -> str:
    """``2,221 of 6,212 GPUs are free; room for 1,310 more pods of 1 GPU, and for none of 8``."""
    supplies = supplies_of(gpus)
    if not supplies:
        return "the cluster has no GPUs"
    fitting = [f"{one.count:,} more pods of {_gpus(one, broken)} GPU" for one in standard if one.count]
    none = " or ".join(str(_gpus(one, broken)) for one in standard if not one.count)
    words = free_words(supplies)
    if fitting:
        return f"{words}: room for {' or '.join(fitting)}" + (f", and for none of {none}" if none else "")
    return f"{words}; not one more pod of 1 GPU with its usual CPU and memory fits"


def _gpus(one: Fit, broken: Fragments) -> int:
    return int(one.requests.get(broken.resource, 0))


def _what_if_sentence(answer: WhatIfAnswer) -> str:
    """What the changes come to, the troubles first."""
    failed = [step for step in answer.steps if not step.is_done]
    if not answer.steps:
        return "nothing is changed"
    parts = [str(step.sentence) for step in (failed or answer.steps[:1])]
    worse = sum(one.after is not Verdict.COMPLETES for one in answer.verdicts)
    better = len(answer.verdicts) - worse
    if worse:
        parts.append(f"{count(worse, 'rollout that completes', 'rollouts that complete')} today would not")
    if better:
        parts.append(f"{count(better, 'rollout that is', 'rollouts that are')} stuck today would complete")
    return "; ".join(parts)
