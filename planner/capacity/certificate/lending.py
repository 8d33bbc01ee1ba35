"""Who lends: whether it has its pods again afterwards, and the plan that lends least."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import ceil
from typing import Final

from planner.capacity.certificate.levers import Case, Lender, Lever, knobs
from planner.capacity.certificate.playing import Outcome
from planner.capacity.certificate.search import search
from planner.ground.errors import HeadroomError
from planner.ground.words import listing, short_name
from planner.kubernetes.records import Strategy
from planner.rollout.prepared import pod_times_of
from planner.rollout.room import has_room
from planner.rollout.run import Revision, Run
from planner.rollout.surroundings import surroundings
from planner.rollout.verdict import Explanation
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape, compile_shape

_LEVERS: Final = frozenset({Lever.STRATEGY, Lever.LEND})
_UNITS: Final = 150_000  # of work for one workload


def is_given_back(one: Outcome, lender: Lender, left: int) -> bool:
    """Whether what was lent finds room again once the rollout is through, only waited, or pushes the change's pods out."""
    number = lender.disturbed(left)
    return not number or has_room(_run(one), _shape(one, lender), number) or bool(pushes_out(one, lender, left))


def pushes_out(one: Outcome, lender: Lender, left: int) -> str:
    """That its pods take their place back from the change's, which have a lower priority; "" where they needn't or can't."""
    run, number, shape = _run(one), lender.disturbed(left), _shape(one, lender)
    if not number or has_room(run, shape, number) or not shape.may_preempt:
        return ""
    mine = [pod for r in one.revisions for pod in run.pods[r.after.key] if pod.is_bound and not pod.is_gone]
    if sum(pod.shape.priority < shape.priority for pod in mine) < number:
        return ""
    names = listing([short_name(r.after.key) for r in one.revisions])
    return f"takes its place back from {names} afterwards, which has a lower priority and waits again"


def _run(one: Outcome) -> Run:
    assert one.run is not None, "a plan that completes was played"
    return one.run


def _shape(one: Outcome, lender: Lender) -> Shape:
    workload = lender.workload
    cluster = _run(one).simulation.cluster
    return compile_shape(cluster, workload.namespace, workload.template.labels, workload.template.spec)


def least_lent(
    cluster: Cluster, revision: Revision, run: Run, why: Explanation, share: float, in_vain: set[Hashable]
) -> tuple[Outcome, Strategy | None, Mapping[str, int]] | None:
    """The plan that lends least to a rollout that is stuck, the strategy that goes with it, and who is scaled to what; None without one.

    Only plans in which everybody who lends is given back, and keeps `share` of its pods, as the rollout itself does. `in_vain`: searches in
    this cluster that found none; what is alike and would ask the same lenders isn't asked again.
    """
    times = pod_times_of(cluster, revision)
    case = Case(cluster=cluster, revisions=(revision,), pod_times=(times,), run=run)
    known = knobs(case, _LEVERS, (), why.lacking)
    if not known.lenders:
        return None
    asked = _asked(cluster, revision, known.lenders)
    if asked is not None and asked in in_vain:
        return None
    try:
        found = search(case, known, units=_UNITS)
    except HeadroomError:
        return None
    for one in found.best:
        way = known.ways[0][one.plan.ways[0]]
        enough = one.lowest[0] >= ceil(share * revision.after.pods_wanted - 1e-9)
        kept = all(left >= ceil(share * lender.bound - 1e-9) for lender, left in one.lent)
        if (
            one.lent
            and way.replicas is None
            and enough
            and kept
            and all(is_given_back(one, *pair) for pair in one.lent)
        ):
            return one, way.strategy, {lender.workload.key: left for lender, left in one.lent}
    if asked is not None:
        in_vain.add(asked)
    return None


def _asked(cluster: Cluster, revision: Revision, lenders: tuple[Lender, ...]) -> Hashable | None:
    """What tells one search from another; None where lenders have pods on nodes, since whose nodes those are counts too, or share a
    quota with the rollout."""
    alike, space = surroundings(cluster, revision.after), revision.after.namespace
    if alike is None or any(one.bound or one.workload.namespace == space for one in lenders):
        return None
    before = revision.before.strategy if revision.before else None
    return alike, before, tuple((one.workload.key, one.replicas) for one in lenders)
