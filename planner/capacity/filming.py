"""Films of what was played: a rollout, nodes that are drained or lost, moves that make room (`planner.rollout.film`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.capacity.timeline import Beside, timeline
from planner.ground.budget import part
from planner.ground.records import replace
from planner.kubernetes.records import Snapshot
from planner.kubernetes.requests import pod_requests
from planner.rollout.answers import Verdict, WorkloadRollout
from planner.rollout.film import Camera, Film, Frame, developed, kept, scarce_resource
from planner.rollout.prepared import Scenario, prepare
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.timing import PodTimes, seconds_at
from planner.rollout.told import event_words, workload_keys_by_owner
from planner.rollout.unknowns import is_blind
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Static


def rollout_film(
    snapshot: Snapshot,
    scenario: Scenario,
    shown: WorkloadRollout,
    beside: Beside | None = None,
    is_wanted: Callable[[], bool] | None = None,
) -> Film | None:
    """The run that `shown` tells, played once more with a camera beside it; where it tells of a pool that grows, the run with
    today's nodes. None where nothing was played, or not to its end.

    Raises
    ------
    ChangeError
        When the scenario doesn't apply to the snapshot.
    """
    with part(is_wanted):
        planned = timeline(prepare(snapshot, scenario), beside or Beside(), namespace=scenario.namespace)
        prepared, cluster = planned.prepared, planned.cluster
        place = next((i for i, one in enumerate(prepared.revisions) if one.after.key == shown.workload), None)
        if place is None or not shown.timeline or any(is_blind(cluster, one) for one in prepared.revisions):
            return None
        for run, camera in _runs(cluster, prepared.revisions, scenario):
            if run.is_cut:
                return None
            if _is_told(run, shown):
                return _of_run(cluster, run, camera, prepared.revisions[place], prepared.pod_times[place], shown)
        return None


def _runs(cluster: Cluster, revisions: Sequence[Revision], scenario: Scenario) -> Iterator[tuple[Run, Camera]]:
    """The placements in the order in which `planner.rollout.ties.sample` tries them."""
    for number in range(max(1, scenario.runs)):
        camera, draws = Camera(), number > 0
        seed = scenario.seed + number
        yield simulate(
            cluster, revisions, seed=seed, draws_order=draws, draws_ends=draws, watch=camera.look
        ), camera  # fmt: skip


def _is_told(run: Run, shown: WorkloadRollout) -> bool:
    if shown.verdict is Verdict.NEEDS_GROWTH:
        return not run.done[shown.workload]
    last = run.moments[shown.workload][-1]
    row = shown.timeline[-1]
    return last.tick == row.tick and (last.ready, last.held_by_workload) == (row.ready, dict(row.held_by_workload))


def _of_run(
    cluster: Cluster, run: Run, camera: Camera, revision: Revision, times: PodTimes, shown: WorkloadRollout
) -> Film:
    key = shown.workload
    moments = run.moments[key]
    seconds = seconds_at(moments, times, run.tick_ends)
    resource = scarce_resource(shown.requests or pod_requests(revision.after.template.spec))
    chosen = kept(len(moments))
    frames = [
        Frame(
            tick=moments[i].tick, seconds=seconds[i], event=event_words(moments[chosen[n - 1]] if n else None, moments[i]),
            ready=moments[i].ready, waiting=moments[i].pending, held=moments[i].held_by_workload.get(resource, 0),
        )
        for n, i in enumerate(chosen)
    ]  # fmt: skip
    missed = camera.looks - len(moments)  # before it began
    shape = run.new_shapes.get(key)
    film = developed(
        cluster, camera, frames, [missed + i for i in chosen], title=key, about=tuple(run.moments), wanted=shown.replicas,
        resource=resource, keys=workload_keys_by_owner(run), is_stuck=not run.done[key], wait_for=shown.wait_for,
        candidates=() if shape is None else [int(n) for n in shape.candidates if shape.static[n] == Static.PASSES],
    )  # fmt: skip
    return replace(film, about=(key, *(one for one in film.about if one != key)), skipped=len(moments) - len(frames))
