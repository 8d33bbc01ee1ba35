"""Films of simulations: a rollout, drained or lost nodes, moved pods (`planner.rollout.film`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from planner.capacity.drain import simulate_drain
from planner.capacity.eviction_simulation import at_rest, evict
from planner.capacity.node_losses import LossPlayer
from planner.capacity.timed_cluster_events import LaterEvents, timeline
from planner.capacity.what_if import PATIENCE, ChangeCase, UpgradeStep, upgrade_steps
from planner.capacity.what_if_syntax import Change, ChangeKind
from planner.ground.errors import ChangeError
from planner.ground.records import replace
from planner.ground.words import count
from planner.ground.work_budget import part
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import kind_in
from planner.rollout.answers import Verdict, WorkloadRollout
from planner.rollout.eviction_requests import these
from planner.rollout.film import Camera, Doings, Film, Frame, count_at, developed, kept, scarce_resource
from planner.rollout.ownership import workloads_by_owner
from planner.rollout.pod_durations import PodTimes, seconds_at
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.run_outcomes import event_words, workload_keys_by_owner
from planner.rollout.simulation import Simulation
from planner.rollout.unknowns import is_blind
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Static


def rollout_film(
    snapshot: Snapshot,
    scenario: Scenario,
    shown: WorkloadRollout,
    later_events: LaterEvents | None = None,
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
        planned = timeline(prepare(snapshot, scenario), later_events or LaterEvents(), namespace=scenario.namespace)
        prepared, cluster = planned.prepared, planned.cluster
        place = prepared.place_of(shown.workload)
        if place is None or not shown.timeline or any(is_blind(cluster, revision) for revision in prepared.revisions):
            return None
        for run, camera in _runs(cluster, prepared.revisions, scenario):
            if run.is_cut:
                return None
            if _is_told(run, shown):
                return _of_run(cluster, run, camera, prepared.revisions[place], prepared.pod_times[place], shown)
        return None


def _runs(cluster: Cluster, revisions: Sequence[Revision], scenario: Scenario) -> Iterator[tuple[Run, Camera]]:
    """The placements in the order in which `planner.rollout.tie_break_sensitivity.sample` tries them."""
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
    moments, awaited = run.moments[key], run.awaited[key]
    seconds = seconds_at(moments, times, run.tick_ends)
    resource = scarce_resource(shown.requests or pod_requests(revision.after.template.spec))
    chosen = kept(len(moments))
    frames = [
        Frame(
            tick=moments[i].tick, seconds=seconds[i], event=event_words(moments[chosen[n - 1]] if n else None, moments[i], awaited.get(i, "")),
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
    return replace(film, about=(key, *(name for name in film.about if name != key)), skipped=len(moments) - len(frames))


# ── what a user does to nodes ──────────────────────────────────────────────────────────────────────────────────────
FILMED: Final = (ChangeKind.DRAIN, ChangeKind.DELETE, ChangeKind.REMOVE_ZONE, ChangeKind.EVICT, ChangeKind.UPGRADE)
"""Changes of a cluster that have a film: those that move pods and are played in one piece; of an upgrade all steps that are played."""


def change_film(snapshot: Snapshot, change: Change, is_wanted: Callable[[], bool] | None = None) -> Film | None:
    """A drain, an upgrade step by step, an eviction, or nodes or a zone lost, as the pods that have to go and come again. None where it moves no pod.

    Raises
    ------
    ChangeError
        When the change names what isn't there, or is none of `FILMED`.
    """
    with part(is_wanted):
        cluster, out = at_rest(snapshot), dict[str, str]()
        case, shot, blocked_pods, lost, title = (
            ChangeCase(cluster, change, ()),
            Shot(),
            0,
            tuple[str, ...](),
            str(change),
        )
        if change.kind is ChangeKind.EVICT:
            blocked_pods = len(evict(cluster, these([case.pod()]), watch=shot.look).left)
        elif change.kind is ChangeKind.DRAIN:
            blocked_pods, out = (
                len(simulate_drain(cluster, case.nodes(), watch=shot.look).left),
                dict.fromkeys(case.nodes(), "drained"),
            )
        elif change.kind is ChangeKind.UPGRADE:
            steps = list(upgrade_steps(case, shot.look))
            if not steps:
                return None
            cluster, out, more = _upgraded(case, steps, shot.camera)
            blocked_pods = len(steps[-1].run.left)
            shot.steps, title = steps[0].of, f"{title}{more}"
        elif change.kind in FILMED:
            lost = case.zone() if change.kind is ChangeKind.REMOVE_ZONE else case.nodes()
            LossPlayer(cluster).lose([cluster.node_index[name] for name in lost], watch=shot.look)
            out = dict.fromkeys(lost, "lost")
        else:
            raise ChangeError(f"{change.kind} has no film", fix=f"One of {', '.join(FILMED)}")
        before = {pod.uid for pod in cluster.snapshot.pods}
        pods = shot.camera.pods
        new_pods = [uid for uid in shot.camera.seen if uid not in before and not kind_in(pods[uid].owner).is_per_node]
        film = of_shot(cluster, shot, new_pods, title=title, words="Ready again", left=blocked_pods)
        return film and replace(
            film, nodes=tuple(replace(node, note=out.get(node.name, node.note)) for node in film.nodes)
        )


def _upgraded(case: ChangeCase, steps: Sequence[UpgradeStep], camera: Camera) -> tuple[Cluster, dict[str, str], str]:
    """The first step's cluster with the nodes of all of them, what became of which node, and what the film leaves out."""
    nodes = {node.name: node for step in steps for node in step.cluster.nodes}
    # Nodes of all steps in one cluster, though some never stand together: the film needs a row for each.
    together = Cluster(replace(steps[0].cluster.snapshot, nodes=tuple(nodes[name] for name in camera.nodes)))
    at = ["" if steps[0].of == 1 else f", step {number}" for number in range(1, len(steps) + 1)]
    notes = dict[str, str]()
    for upgrade_step, time_text in zip(steps, at, strict=True):
        for name in upgrade_step.cluster.node_names:
            if name not in case.cluster.node_index:
                notes.setdefault(name, f"in{time_text}")
    notes |= {
        name: f"out{moment_text}"
        for upgrade_step, moment_text in zip(steps, at, strict=True)
        for name in upgrade_step.nodes
    }
    more = f", the first {len(steps)} of {steps[0].of:,} steps" if steps[0].of > len(steps) else ""
    if held_pods := sum(len(step.run.left) for step in steps):
        more += f"; {count(held_pods, 'pod')} held back, deleted after {PATIENCE}, which isn't in the times"
    return together, notes, more


class Shot:
    """A camera that knows what time it is, through stages that begin at 0 s each."""

    def __init__(self) -> None:
        self.camera, self.seconds = Camera(), list[float]()
        self.steps, self.at = 0, list[int]()  # how many there are, and in which each look is
        self._simulation: Simulation | None = None
        self._begun, self._number = 0.0, 0

    def look(self, simulation: Simulation, seconds: float) -> None:
        if simulation is not self._simulation:
            self._simulation, self._begun = simulation, self.seconds[-1] if self.seconds else 0.0
            self._number += 1
        self.camera.look(simulation)
        self.seconds.append(self._begun + seconds)
        self.at.append(self._number)

    def said(self, look: int) -> str:
        """``step 2 of 6: ``, where there are several."""
        return f"step {self.at[look]} of {self.steps:,}: " if self.steps > 1 else ""


def of_shot(
    cluster: Cluster, shot: Shot, counted: Sequence[str], *, title: str, words: str, left: int = 0
) -> Film | None:
    """The film of a drain, an upgrade or a lost node: where the pods go that were on it. None where none but DaemonSets' were.

    `counted`: the pods, by uid, of which the frames tell how many are Ready and wait; `words` says which these are; `left`: pods that
    should have gone.
    """
    camera, before = shot.camera, {pod.uid: pod for pod in cluster.snapshot.pods}
    went = [
        uid for uid, sightings in camera.seen.items() if uid in before and any(state is None for _, state in sightings)
    ]
    keys = workload_keys(cluster.snapshot)
    # A DaemonSet's pod goes with its node and isn't waited for: a drain leaves it, so that the film does too.
    removed_pods = [before[uid] for uid in went if before[uid].node_name and not kind_in(keys[uid]).is_per_node]
    if not removed_pods:
        return None
    requested_resources = [scarce_resource(pod_requests(pod.spec)) for pod in removed_pods]
    resource = next((name for name in requested_resources if name), "")
    looks = kept(camera.looks)
    seen_uids = [uid for uid in counted if uid in camera.seen]
    counts = [count_at(camera, seen_uids, resource, cluster, look) for look in looks]
    ending = [count_at(camera, went, resource, cluster, look).terminating for look in looks]
    frames = tuple(
        Frame(
            tick=look - 1, seconds=shot.seconds[look], event=shot.said(look) + (_happening(counts[n], ending[n], is_last=look == looks[-1]) if n else "before the change"),
            ready=counts[n].ready, waiting=counts[n].waiting, held=counts[n].held,
        )
        for n, look in enumerate(looks)
    )  # fmt: skip
    waited = [before[uid] for uid in counted if uid in before]
    about = tuple(dict.fromkeys(keys[pod.uid] for pod in (*waited, *removed_pods)))
    film = developed(
        cluster, camera, frames, looks, title=title, about=about, wanted=len(waited) or len(removed_pods), resource=resource,
        keys=workloads_by_owner(cluster), is_revised=False, is_stuck=bool(counts[-1].waiting or left),
    )  # fmt: skip
    return replace(film, counts=words)


def _happening(now: Doings, ending: int, *, is_last: bool) -> str:
    parts = [
        f"{number:,} {words}"
        for number, words in (
            (ending, "terminating"),
            (now.waiting, "waiting for a node"),
            (now.starting, "starting"),
            (now.ready, "Ready"),
        )
        if number
    ]
    return ", ".join(parts) or ("nothing left to do" if is_last else "waits for what comes next")
