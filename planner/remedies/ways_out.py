"""Remedies of a stuck rollout: each lever alone, simulated before it is offered, in order of preference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from planner.remedies import limits
from planner.remedies.levers import lending, nodes, order, pods, quota, strategy, template
from planner.remedies.levers.stuck_rollout_trial import Grow, StuckRollout
from planner.remedies.ranking import WayCost
from planner.rollout.answers import GROWING_REASONS, Reason, Remedy, RemedyKind
from planner.rollout.pod_durations import PodTimes
from planner.rollout.run import Revision, Run
from planner.rollout.stuck_diagnosis import Impasse
from planner.rollout.tie_break_sensitivity import is_refused
from planner.scheduling.cluster import Cluster


def find_remedies(
    cluster: Cluster, revisions: Sequence[Revision], key: str, run: Run, why: Impasse, pod_times: PodTimes, *, seed: int = 0,
    kinds: frozenset[RemedyKind] = frozenset(RemedyKind), grown: Grow = nodes.grown_by, reached: list[str] | None = None,
    arrival: float | None = None,
) -> Iterator[Remedy]:  # fmt: skip
    """Ways out for the stuck workload `key`, as they are found: another strategy first, if one does. Only those of `kinds` are looked
    for. Who asks for many workloads gives a `grown` that keeps the last few clusters. `reached` gets what is to be said of each limit
    of a search that was reached: none of its kind may be called the only one then, nor may it be said that there is none."""
    place = next(i for i, r in enumerate(revisions) if r.after.key == key)
    if is_refused(run, revisions[place]):
        return  # in any order, with any strategy, and wherever there is room
    reached = [] if reached is None else reached
    case = StuckRollout(cluster, revisions, place, run, why, pod_times, seed, grown, reached, arrival)
    if case.workload.owner is not None:
        kinds &= _LEAVES_IT
    if any(revision.queued is not None for revision in revisions):  # Kueue was asked for today's strategy only
        kinds -= {RemedyKind.SWITCH_STRATEGY}
    wanted = ((search, reasons) for which, search, reasons in _SEARCHES if which & kinds)
    due = [search for search, reasons in wanted if reasons is None or why.reason in reasons]
    remedies = (remedy for search in due for remedy in search(case) if remedy.kind in kinds)
    many, is_alone = list[Remedy](), True
    for remedy in remedies:
        if remedy.lenders > limits.LENDERS_ALONE.most:
            many.append(remedy)
        else:
            is_alone = False
            yield remedy
    for remedy in many:  # many teams asked at once is no way out to show alone
        if is_alone:
            case.reached.append(limits.LENDERS_ALONE.reached(number=remedy.lenders, names=remedy.title))
        else:
            yield remedy


def preference(remedy: Remedy) -> tuple[float, ...]:
    """The order of ways out, once they have prices: by what they cost; of equals what is simplest to do and to undo, and then what is done
    soonest."""
    month, once = remedy.usd_per_month, remedy.usd_per_rollout
    usd = None if month is None else (month if remedy.is_kept else 0.0) + (once or 0.0)
    # To wait for others changes nothing: it keeps what today's strategy keeps.
    short = 0 if remedy.kind is RemedyKind.WAIT else max(0, remedy.replicas - remedy.lowest_ready)
    asked = remedy.lenders if remedy.lenders > limits.LENDERS_ALONE.most else 0
    cost = WayCost(
        usd=usd, nodes=remedy.extra_nodes, short=short, is_down=0 < short == remedy.replicas, given_up=remedy.disturbs + asked
    )  # fmt: skip
    return (*cost.rank, _PREFERRED.index(remedy.kind), remedy.seconds)


VOLUME_CURES: Final = frozenset(
    {RemedyKind.SAME_NODE, RemedyKind.DRAIN_NODE, RemedyKind.CORDON_NODE, RemedyKind.SCALE_TO_ZERO}
)
ONCE_STUCK: Final = VOLUME_CURES | {RemedyKind.NODE_BACK, RemedyKind.FORCE_DELETE}
_LEAVES_IT: Final = frozenset(
    {RemedyKind.WAIT, RemedyKind.FREE_CAPACITY, RemedyKind.RAISE_QUOTA, RemedyKind.ADD_NODE, RemedyKind.UNCORDON, RemedyKind.DRAIN_NODE,
     RemedyKind.CORDON_NODE, RemedyKind.NODE_BACK, RemedyKind.FORCE_DELETE}
)  # fmt: skip
"""Those that set nothing on the workload itself: what another object made is set back by that one's controller."""

# Among equals in cost: what is simplest to do and to undo.
_PREFERRED = (
    RemedyKind.WAIT, RemedyKind.SWITCH_STRATEGY, RemedyKind.UNCORDON, RemedyKind.DELETE_PODS, RemedyKind.FIX_SELECTOR, RemedyKind.SAME_NODE,
    RemedyKind.NODE_BACK, RemedyKind.SCALE_DOWN_FIRST, RemedyKind.FREE_CAPACITY, RemedyKind.RAISE_QUOTA, RemedyKind.SMALLER_REQUEST,
    RemedyKind.RECREATE, RemedyKind.CORDON_NODE, RemedyKind.DRAIN_NODE, RemedyKind.SCALE_TO_ZERO, RemedyKind.FORCE_DELETE,
    RemedyKind.ADD_NODE,
)  # fmt: skip


def _once_stuck(case: StuckRollout) -> Iterator[Remedy]:
    """What a volume or a node that doesn't answer keeps: each way that completes."""
    revision, run = case.revision, case.run
    for ways in (template.ways(revision, run, case.why), pods.ways(case.cluster, revision, run, case.why, [])):
        yield from filter(None, map(case.in_way, ways))


_HELD = (Reason.HOLD_AND_WAIT,)
_SHORT = (*_HELD, Reason.INSUFFICIENT_RESOURCE)
_Search = Callable[[StuckRollout], Iterator[Remedy]]
# What is looked for, in this order, and for which reasons: None for all.
_SEARCHES: tuple[tuple[frozenset[RemedyKind], _Search, Collection[Reason] | None], ...] = (
    (frozenset({RemedyKind.WAIT}), order.ways_out, None),
    (frozenset({RemedyKind.SWITCH_STRATEGY}), strategy.ways_out, None),
    (frozenset({RemedyKind.RECREATE}), strategy.recreated, None),
    (frozenset({RemedyKind.UNCORDON}), pods.uncordoned, GROWING_REASONS),
    (frozenset({RemedyKind.SCALE_DOWN_FIRST}), lending.own_pods, _HELD),
    (frozenset({RemedyKind.ADD_NODE}), nodes.ways_out, GROWING_REASONS),
    (frozenset({RemedyKind.SMALLER_REQUEST}), template.smaller_request, _SHORT),
    (frozenset({RemedyKind.RAISE_QUOTA}), quota.ways_out, (Reason.QUOTA,)),
    (frozenset({RemedyKind.FREE_CAPACITY}), lending.pods_of_others, _SHORT),
    (frozenset({RemedyKind.FREE_CAPACITY}), lending.rivals_at_rest, _HELD),
    (frozenset({RemedyKind.FIX_SELECTOR}), template.other_selector, (Reason.NO_MATCHING_NODE,)),
    (frozenset({RemedyKind.DELETE_PODS}), pods.broken, (Reason.POD_MANAGEMENT,)),
    (ONCE_STUCK, _once_stuck, (Reason.VOLUME_ATTACHED, Reason.SILENT_NODE)),
)
