"""The grid of strategies: maxSurge × maxUnavailable, and Recreate, each cell a simulated rollout."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from planner.ground.errors import ChangeError
from planner.ground.records import replace
from planner.ground.words import Text
from planner.ground.work_budget import TOO_LARGE, part
from planner.kubernetes.accelerator_units import Nouns, units_of
from planner.kubernetes.disruption_budgets import kept_ready
from planner.kubernetes.object_records import Snapshot, Strategy, Workload
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import RECREATE, ROLLING_UPDATE, kind_in
from planner.rollout.answers import Extremes, GridCell, Reason, StrategyGrid, Verdict, rolling
from planner.rollout.closed_form_rollout import CertainCourse, certain_course
from planner.rollout.pod_durations import PodTimes, seconds_at, seconds_of
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.strategy_choice import choose
from planner.rollout.stuck_diagnosis import explain
from planner.rollout.tie_break_sensitivity import FEW_UNITS, PLACEMENTS, sample
from planner.scheduling.cluster import Cluster

FULL_UP_TO = 20  # replicas up to which every number is a column, where cells are counted; above, FEW of them
FEW = 11
_FEWEST = 3
_PODS_PLAYED = 50_000  # in all cells together, where each is simulated
_WORK_UNITS = (
    1_500_000  # what more placements of all cells together may cost (`planner.ground.work_budget`): a second or two
)


def axis(replicas: int, full_up_to: int = FULL_UP_TO, few: int = FEW) -> tuple[int, ...]:
    """The numbers on an axis: 0 to `replicas`, thinned evenly to `few` (0, 1 and all of them kept) where there are many."""
    if replicas <= full_up_to:
        return tuple(range(replicas + 1))
    step = replicas / (few - 1)
    return tuple(sorted({0, 1, *(round(i * step) for i in range(few))}))


def played_axis(replicas: int) -> tuple[int, ...]:
    """The same where each cell is simulated: the more pods it has, the fewer cells. One is left for today's strategy."""
    few = min(FEW, max(_FEWEST, isqrt(_PODS_PLAYED // max(1, replicas)) - 1))
    return axis(replicas, FEW - 1, few)


@part()
def strategy_grid(snapshot: Snapshot, scenario: Scenario, key: str) -> StrategyGrid:
    """Every maxSurge × maxUnavailable for one Deployment of the scenario; its other changes stay as they are.

    Cells that aren't counted or proven are played in a few placements each, of which the worst moment is told; 0/0 is marked invalid, since the API server refuses it. Today's strategy has its cell, however thin the
    axes are.

    Raises
    ------
    ChangeError
        When `key` is no Deployment of the scenario.
    """
    prepared = prepare(snapshot, scenario)
    cluster, revisions, place = compiled(prepared.snapshot), prepared.revisions, prepared.place_of(key)
    if place is None or not revisions[place].after.traits.surges_freely:
        raise ChangeError(
            f"{key} is no Deployment of the scenario", fix="The strategy grid is for a changed Deployment"
        )
    workload, pod_times = revisions[place].after, prepared.pod_times[place]
    current = rolling_limits(workload) if workload.strategy.kind == ROLLING_UPDATE else None

    def cell(surge: int, unavailable: int, strategy: Strategy) -> GridCell:
        played = play_cell(
            cluster, revisions, key, strategy, surge, unavailable, seed=scenario.seed, pod_times=pod_times,
            units=_WORK_UNITS // (len(surges) * len(unavailables)),
        )  # fmt: skip
        return replace(played, is_current=(surge, unavailable) == current)

    is_counted = len(revisions) == 1 and certain_course(cluster, workload) is not None
    values = axis(workload.replicas) if is_counted else played_axis(workload.replicas)
    invalid = GridCell(
        max_surge=0, max_unavailable=0, verdict=Verdict.UNKNOWN, reason=Reason.NONE, peak_gpus=0, peak_pods=0,
        lowest_ready=0, ticks=0, seconds=0.0, is_valid=False,
    )  # fmt: skip
    surges, unavailables = (tuple(sorted({*values, today})) for today in current or (0, 0))
    cells = tuple(
        tuple(
            invalid if surge == unavailable == 0 else cell(surge, unavailable, rolling(surge, unavailable))
            for unavailable in unavailables
        )
        for surge in surges
    )
    recreate = replace(
        cell(0, workload.replicas, Strategy(kind=RECREATE)), is_current=workload.strategy.kind == RECREATE
    )
    nouns = units_of(cluster.snapshot).nouns(pod_requests(workload.template.spec))
    keep = kept_ready(cluster.snapshot, workload)
    return StrategyGrid(
        workload=key, surges=surges, unavailables=unavailables, cells=cells, recreate=recreate, nouns=nouns,
        sentence=Text(_sentence(cells, recreate, workload.replicas, nouns, keep)), keep_ready=keep,
    )  # fmt: skip


def play_cell(
    cluster: Cluster,
    revisions: Sequence[Revision],
    key: str,
    strategy: Strategy,
    surge: int,
    unavailable: int,
    *,
    seed: int,
    pod_times: PodTimes,
    units: int = FEW_UNITS,
) -> GridCell:
    """One strategy of the Deployment `key`: counted where its course is certain, else played with `seed` and, unless that is proven, in a few
    more placements, as many as `units` of work allow: the worst moment of all is the cell's."""
    changed = [replace(r, after=replace(r.after, strategy=strategy)) if r.after.key == key else r for r in revisions]
    if len(changed) == 1 and changed[0].has_new_template and not changed[0].never_ready:
        course = certain_course(cluster, changed[0].after)
        if course is not None:
            return _certain_cell(course, changed[0].after, surge, unavailable, pod_times)
    first = simulate(cluster, changed, seed=seed)
    runs = 1 + min(PLACEMENTS - 1, units // max(1, first.work))
    run, ties = sample(cluster, changed, first, seed=seed, runs=runs)
    return _cell(run, ties.extremes[key], next(r for r in changed if r.after.key == key), surge, unavailable, pod_times)


def _certain_cell(
    course: CertainCourse, workload: Workload, surge: int, unavailable: int, pod_times: PodTimes
) -> GridCell:
    """A cell with a certain course. If that is stuck, it is for want of a seat that old pods hold."""
    gpus = requested_gpus(workload.template.spec)
    return GridCell(
        max_surge=surge,
        max_unavailable=unavailable,
        is_recreate=workload.strategy.kind == RECREATE,
        verdict=Verdict.COMPLETES if course.completes else Verdict.STUCK,
        reason=Reason.NONE if course.completes else Reason.HOLD_AND_WAIT,
        peak_gpus=gpus * course.peak_bound,
        peak_pods=course.peak_pods,
        lowest_ready=course.lowest_ready,
        ticks=course.ticks,
        seconds=seconds_of(course.pauses, pod_times),
        extra_gpus=gpus * max(0, course.peak_bound - workload.replicas),
    )


def _cell(run: Run, worst: Extremes, revision: Revision, surge: int, unavailable: int, pod_times: PodTimes) -> GridCell:
    key = revision.after.key
    moments = run.moments[key]
    done = run.done[key]
    others = [pod for pod in run.preempted if pod not in run.pods[key]]
    gpu_counts = [moment.gpus for moment in moments]
    return GridCell(
        max_surge=surge,
        max_unavailable=unavailable,
        is_recreate=revision.after.strategy.kind == RECREATE,
        verdict=run.verdict(key),
        reason=Reason.NONE if done else explain(run, revision).reason,
        peak_gpus=max(gpu_counts),
        extra_gpus=max(gpu_counts) - gpu_counts[0],
        evictions=len(others),
        killed_jobs=sum(kind_in(pod.owner).is_batch for pod in others),
        peak_pods=worst.peak_pods,
        lowest_ready=worst.lowest_ready,
        ticks=run.ticks,
        seconds=seconds_at(moments, pod_times, run.tick_ends)[-1],
    )


def _sentence(
    cells: tuple[tuple[GridCell, ...], ...], recreate: GridCell, replicas: int, nouns: Nouns, keep: int | None
) -> str:
    valid = [c for row in cells for c in row if c.is_valid]
    good = [c for c in valid if c.verdict is Verdict.COMPLETES]
    if not good and any(c.verdict is Verdict.UNKNOWN for c in (*valid, recreate)):
        return f"Not known: {TOO_LARGE}."
    if not good:
        if recreate.verdict is Verdict.COMPLETES:
            return f"None of {len(valid):,} rolling strategies was found to complete; Recreate does."
        return f"None of {len(valid):,} rolling strategies was found to complete, nor was Recreate."
    return f"{len(good):,} of {len(valid):,} rolling strategies complete. {choose([*good, recreate], replicas, nouns=nouns, keep_ready=keep).sentence}"
