"""Can random tie-breaks (kube-scheduler's ties, the order of controllers) change the verdict? Proven with bounds where
possible, else sampled.

The bound: pods of a simple shape (only static filters and resources decide) are interchangeable, and each takes exactly
one seat wherever it goes: the number of seats, the sum over nodes of how often the shape fits, falls by one whichever
node is chosen. If every pod that comes or goes during the rollout is of that size, all placements see the same number of
seats at every moment, so they share verdict and steps. A change of another size is bound so where all its pods, the old ones too, would
find seats for the new ones beside what is there today: no new pod waits then wherever those before it went, and what old pods
leave only adds. New pods that the API server refuses for what no placement changes are refused in all. Of several changes each is bound so
where no two can meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import cache, partial
from itertools import takewhile
from typing import Final

import numpy as np

from planner.ground.words import Text
from planner.ground.work_budget import TOO_LARGE
from planner.kubernetes.object_records import FrozenMap
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import ROLLING_UPDATE
from planner.rollout.answers import Extremes, Ties
from planner.rollout.closed_form_finish import nodes_of
from planner.rollout.controllers.daemonset import DaemonSetController
from planner.rollout.interfering_rollouts import ruled_namespaces
from planner.rollout.ownership import pods_of
from planner.rollout.run import Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import is_judged_alone, is_judged_by_node
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.shape import Shape, Static, seats
from planner.scheduling.state import State

_FEWEST_RUNS = 5
PLACEMENTS: Final = 5
"""Placements tried where a workload is told of in short, or one strategy among many."""
FEW_UNITS: Final = 100_000
"""What those after the first may cost (`planner.ground.work_budget`): about a tenth of a second."""
_WORK_UNITS = 1_000_000  # what all samples together may cost (`planner.ground.work_budget`): about a second


def holds_in_every_placement(run: Run, revisions: Sequence[Revision]) -> bool:
    """Whether every placement gives `run`'s verdict and steps, whichever of those in flight comes first; of pods that are refused the
    verdict alone, since others may come a step later. By rules that were read and not recorded nothing is proven.
    """
    if not all(revision.is_recorded for revision in revisions):
        return False
    if any(_meets_others(run, revision) for revision in revisions):
        return False
    if not run.is_counted and run.choices == run.orders == run.simulation.ends == 0:
        return True  # nothing was ever left to chance
    # Before the tests of others: they can't matter to a pod that its only node can't hold even empty.
    if all(is_too_large_for_its_node(run, revision) for revision in revisions):
        return True
    if run.preempted or run.came or not _are_apart(run, revisions):
        return False
    # Each revision may have a proof of its own: one is refused by the API server while another has room for all its pods.
    proofs = (is_refused, _is_exchangeable, _finds_room)
    return all(any(holds(run, revision) for holds in proofs) for revision in revisions)


def is_refused(run: Run, revision: Revision) -> bool:
    """Whether new pods are needed, none could be made, and none ever can: the API server refuses them for what no placement changes (a
    LimitRange, a class that isn't there), not for what a quota has left."""
    after, admission = revision.after, run.simulation.admission
    if not revision.has_new_template or revision.placed is not None or after.traits.is_custom:
        return False
    if run.done[after.key] or after.key in run.new_shapes:
        return False
    if not any(owner in run.owners[after.key] and not refusal.quota for owner, refusal in run.refusals.items()):
        return False
    # Asked once more at the end: only a refusal that isn't a quota's stays whatever else happens.
    spec = admission.prepare(after.namespace, after.template.spec, after.template.labels)
    refusal = admission.refusal(after.namespace, "", spec)
    return refusal is not None and not refusal.quota


def is_too_large_for_its_node(run: Run, revision: Revision) -> bool:
    """Whether a node that a DaemonSet should run on is too small for its pod even empty: it then isn't done in any placement, whichever
    comes first and whomever it preempts."""
    cluster, key = run.simulation.cluster, revision.after.key
    if not revision.after.traits.is_per_node or run.done[key] or cluster.later:
        return False
    waiting = (pod.shape for pod in run.pods[key] if not (pod.is_bound or pod.is_gone))
    return any(
        len(shape.candidates) == 1 and any(cluster.allocatable[row, shape.candidates[0]] < amount for row, amount in shape.asks)
        for shape in waiting
    )  # fmt: skip


def _finds_room(run: Run, revision: Revision) -> bool:
    """Whether no new pod can have to wait: the nodes have seats for as many as the workload ever has pods beside what is there
    today, no other controller did anything, and who waits may come to none of them and doesn't ask who is there. Each that comes, the old ones
    too, takes one of them."""
    workload, simulation, cluster = revision.after, run.simulation, run.simulation.cluster
    shape, owners = run.new_shapes.get(workload.key), run.owners[workload.key]
    is_even = run.completed and workload.traits.surges_freely and not workload.min_ready_seconds
    if (
        shape is None
        or not is_even
        or run.retried
        or cluster.later
        or any(pod.owner not in owners for pod in run.touched)
    ):
        return False
    if any(owner in owners or refusal.over for owner, refusal in run.refusals.items()):
        return False  # room in a quota may come to another workload first
    pods = {*run.pods[workload.key], *run.touched}
    shapes = {pod.shape for pod in pods}
    # A quota counts pods in the order they are made: with a third shape beside old and new, which of them is let in could depend on
    # the order, and the room on that.
    is_ruled = workload.namespace in ruled_namespaces(cluster) or cluster.snapshot.lacks("ResourceQuota")
    if (is_ruled and len(shapes) > 2) or not all(is_judged_alone(simulation.state, pod_shape) for pod_shape in shapes):
        return False
    nodes = nodes_of(cluster, pods)

    def may_go(other: Shape) -> bool:
        return not other.is_simple or bool((nodes & (other.static == Static.PASSES)).any())

    waiting = simulation.queue.ever_waiting(may_go)
    if any(map(may_go, {pod.shape for pod in waiting if pod.owner not in owners})):
        return False
    if not all(_takes_one(shape, other_shape) for other_shape in {pod.shape for pod in pods if _came(run, pod)}):
        return False
    # `len(pods)` counts old pods too, though they hold their places already: a successor may come before its predecessor goes.
    free = (cluster.allocatable - cluster.requested)[:, shape.static == Static.PASSES]
    return int(seats(shape, free).sum()) >= len(pods) + run.to_come


def _takes_one(shape: Shape, other: Shape) -> bool:
    """Whether a pod of the `other` takes no more than one seat of `shape` wherever it comes."""
    seat = dict(shape.asks)
    return all(amount <= seat.get(row, amount) for row, amount in other.asks)


def _are_apart(run: Run, revisions: Sequence[Revision]) -> bool:
    """Whether no two changes can meet: each begins at once, pods of none are or may go where another's are or may go, only nodes'
    amounts and labels judge them, and nothing counts the pods of a namespace that two are in. Each then goes as it does alone."""
    if len(revisions) == 1:
        return True
    cluster = run.simulation.cluster
    spaces = Counter(revision.after.namespace for revision in revisions)
    shared = {space for space, count in spaces.items() if count > 1}
    is_counted = shared & ruled_namespaces(cluster) or (shared and cluster.snapshot.lacks("ResourceQuota"))
    if is_counted or any(revision.after_seconds for revision in revisions):
        return False
    taken = np.zeros(cluster.node_count, dtype=np.bool_)
    for revision in revisions:
        owners = run.owners[revision.after.key]
        pods = [*run.pods[revision.after.key], *(pod for pod in run.touched if pod.owner in owners)]
        if not all(is_judged_alone(run.simulation.state, shape) for shape in {pod.shape for pod in pods}):
            return False
        nodes = nodes_of(cluster, pods)
        if (nodes & taken).any():
            return False
        taken |= nodes
    return True


def _meets_others(run: Run, revision: Revision) -> bool:
    """Whether others in flight did anything where the workload's pods are or may go, or in its namespace: which of two
    controllers is first is a matter of milliseconds."""
    if not run.others:
        return False
    pods = [pod for pod in (*run.touched, *run.simulation.queue.arrivals) if run.is_others(pod)]
    if any(pod.namespace == revision.after.namespace for pod in pods):
        return True
    candidate_nodes = nodes_of(run.simulation.cluster, run.pods[revision.after.key])
    theirs = {pod.shape for pod in pods}
    return any(bool(candidate_nodes[shape.candidates].any()) for shape in theirs) or any(
        pod.node != NOWHERE and candidate_nodes[pod.node] for pod in pods
    )


def _is_exchangeable(run: Run, revision: Revision) -> bool:
    simulation = run.simulation
    shape = run.new_shapes.get(revision.after.key)
    if not revision.after.traits.surges_freely or shape is None or not is_judged_by_node(simulation.state, shape):
        return False
    if shape.storage.attached:  # on which node a pod finds its volume is the placement's to say
        return False
    meets = cache(partial(_meeting, simulation.state, shape))
    waiting = simulation.queue.ever_waiting(lambda other: meets(other) is not _Meeting.NEVER)
    return all(_is_harmless(run, shape, pod, meets(pod.shape)) for pod in (*run.touched, *waiting))


class _Meeting(Enum):
    """How pods of another shape and the nodes where `shape` may go stand to each other."""

    NEVER = auto()  # they may go to none of them
    ALIKE = auto()  # there, and nowhere else, and each takes and gives back as much
    OTHERWISE = auto()


def _meeting(state: State, shape: Shape, other: Shape) -> _Meeting:
    if other is shape:
        return _Meeting.ALIKE
    passing_nodes, theirs = shape.static == Static.PASSES, other.static == Static.PASSES
    if other.asks == shape.asks and (passing_nodes == theirs).all() and is_judged_by_node(state, other):
        return _Meeting.ALIKE
    return _Meeting.OTHERWISE if (passing_nodes & theirs).any() else _Meeting.NEVER


def _is_harmless(run: Run, shape: Shape, pod: LivePod, meeting: _Meeting) -> bool:
    """Whether a pod takes and gives back the same as `shape` wherever `shape` may go, or never meets it there."""
    if meeting is _Meeting.ALIKE or pod.is_lost:
        return True
    if pod.is_bound and not _came(run, pod):
        return bool(shape.static[pod.node] != Static.PASSES)
    return meeting is _Meeting.NEVER


def _came(run: Run, pod: LivePod) -> bool:
    """Whether the pod came to its node, if it has one, in the run: then it might have come to another."""
    return pod.number > 0 or run.simulation.snapshot.pods[pod.number].waits  # the snapshot's are numbered from its end


def sample(
    cluster: Cluster,
    revisions: Sequence[Revision],
    first: Run,
    *,
    seed: int,
    runs: int,
    never_ready: Callable[[LivePod], bool] | None = None,
    draws_ends: bool = True,
) -> tuple[Run, Ties]:
    """The run to show and what is known of ties; `first` is the run with `seed`.

    At most `runs` placements are tried, fewer (never below 5) where one run is costly; the sentence says how many. In each
    but the first the order of workloads in each round is drawn too, and which pods of a tick start and end first
    (unless `draws_ends` is false: who made a recording knows it).

    Without proof `runs` placements are tried; the run shown is the first with the commonest verdict.
    """
    is_certain = not first.is_cut and holds_in_every_placement(first, revisions)
    if first.is_counted and not is_certain:
        first = simulate(cluster, revisions, seed=seed, never_ready=never_ready)
        is_certain = not first.is_cut and holds_in_every_placement(first, revisions)
    if is_certain:
        word = "completes" if first.completed else "is stuck"
        outcome = Text(f"{word} wherever pods are placed")
        return first, Ties(
            proven=True, runs=0, completed_runs=0, sentence=Text(f"{outcome} (proven)"), outcome=outcome,
            extremes=extremes([first], is_proven=True),
        )  # fmt: skip
    if first.is_cut:
        outcome = Text(f"not known: {TOO_LARGE}")
        return first, Ties(
            proven=False, runs=1, completed_runs=0, sentence=outcome, outcome=outcome, extremes=extremes([first])
        )
    runs = min(runs, max(_FEWEST_RUNS, _WORK_UNITS // max(1, first.work)))
    more = (
        simulate(cluster, revisions, seed=seed + i, never_ready=never_ready, draws_order=True, draws_ends=draws_ends)
        for i in range(1, max(1, runs))
    )
    tried = [first, *takewhile(lambda run: not run.is_cut, more)]
    completed = sum(r.completed for r in tried)
    outcomes = Counter((r.completed, r.ticks) for r in tried)
    majority = completed * 2 >= len(tried)
    commonest = max((o for o in outcomes if o[0] is majority), key=lambda o: outcomes[o])
    shown = next(r for r in tried if (r.completed, r.ticks) == commonest)
    return shown, Ties(
        proven=False, runs=len(tried), completed_runs=completed, sentence=(outcome := _outcome(tried)), outcome=outcome,
        extremes=extremes(tried),
    )  # fmt: skip


def _outcome(tried: Sequence[Run]) -> Text:
    """What came of the placements tried. Where they differ it says on what that depends and gives no share of them: draws are even, and a
    cluster's needn't be. Of pods made and Ready in the same second, say, kube-controller-manager deletes the one that its cache lists
    first, which is the pod made last far more often than not.

    Source: kubernetes `pkg/controller/controller_utils.go` `ActivePodsWithRanks.Less`.
    """
    completed = sum(run.completed for run in tried)
    if completed in (0, len(tried)):
        word = "completes" if completed else "is stuck"
        return Text(f"{word} in {'the one placement' if len(tried) == 1 else f'all {len(tried)} placements'} tried")
    lots = ["placement"] if any(run.simulation.scheduler.choices for run in tried) else []
    lots += ["which of equal pods is deleted first"] if any(run.simulation.choices for run in tried) else []
    lots += ["whose controller is first"] if any(run.orders for run in tried) else []
    lots += ["which pods end first"] if any(run.simulation.ends for run in tried) else []
    lots = lots or ["placement"]
    on = " and on ".join(lots) if len(lots) < 3 else ", on ".join(lots[:-1]) + f" and on {lots[-1]}"
    return Text(f"depends on {on}: completes in some of the {len(tried)} placements tried, is stuck in others")


def extremes(tried: Sequence[Run], *, is_proven: bool = False) -> FrozenMap[Extremes]:
    """The fewest Ready pods and the most pods of each changed workload, over all of these placements."""
    extremes_by_key = {}
    for key in tried[0].moments:
        lowest = min(run.lowest_ready(key) for run in tried)
        is_bound = is_proven or all(lowest <= (keeps_ready(run, key) or -1) for run in tried)
        most = max(run.most_pods(key) for run in tried)
        extremes_by_key[key] = Extremes(lowest_ready=lowest, peak_pods=most, is_bound=is_bound or not lowest)
    return FrozenMap(extremes_by_key)


def fewest_ready(first: Run, revisions: Sequence[Revision], key: str, again: Callable[[int], Run]) -> int:
    """The fewest Ready pods of a workload in `first` and, where another placement may come to fewer, in a few more, which `again` plays by
    their seeds: for doors that answer in short."""
    lowest = first.lowest_ready(key)
    if not lowest or not first.done[key]:
        return lowest
    keeps = keeps_ready(first, key)
    keeps = keeps_on_nodes(first, key) if keeps is None else keeps
    if lowest <= (keeps or 0) or holds_in_every_placement(first, revisions):
        return lowest
    for run in map(again, range(1, min(PLACEMENTS - 1, FEW_UNITS // max(1, first.work)) + 1)):
        lowest = lowest if run.is_cut else min(lowest, run.lowest_ready(key))
        if lowest <= (keeps or 0):
            break  # no other placement comes to fewer
    return lowest


def keeps_ready(run: Run, key: str) -> int | None:
    """How many pods a workload's strategy keeps Ready wherever pods go; None where something else may take some, or it isn't known.

    Source: kubernetes `pkg/controller/deployment/rolling.go` `reconcileOldReplicaSets`,
    `pkg/controller/statefulset/stateful_set_control.go` `updateStatefulSet`.
    """
    after = run.changed[key].after
    if not after.traits.has_replicas or run.replicas[key] != after.replicas or not _is_its_own(run, key):
        return None
    missing = rolling_limits(after)[1] if after.traits.surges_freely else max(1, rolling_limits(after)[1])
    return max(0, min(after.replicas, run.moments[key][0].ready) - missing)


def keeps_on_nodes(run: Run, key: str) -> int | None:
    """The same of a DaemonSet that doesn't surge, with at most a pod on each node that it should run on, and none elsewhere: it deletes
    available pods as far as maxUnavailable allows, nodes without one included. So it has the fewest at the beginning, or all but those.

    Source: kubernetes `pkg/controller/daemon/update.go` `rollingUpdate`.
    """
    controller, simulation = run.controllers.get(key), run.simulation  # None of a change that a cut run didn't come to
    if not isinstance(controller, DaemonSetController) or simulation.pods.silent or not _is_its_own(run, key):
        return None
    cluster, nodes, first = simulation.cluster, controller.targets(simulation), run.moments[key][0]
    surge, missing = controller.limits(simulation)
    places = [cluster.node_index.get(cluster.snapshot.pods[i].node_name) for i in pods_of(cluster, controller.workload)]
    if surge or len(set(places)) < len(places) or not set(nodes).issuperset(places):
        return None
    return max(0, min(first.ready - first.maturing, len(nodes) - missing))


def _is_its_own(run: Run, key: str) -> bool:
    """Whether a workload rolls, and none but its controller takes pods of it."""
    revision, simulation = run.changed[key], run.simulation
    rolls = revision.after.strategy.kind == ROLLING_UPDATE and not revision.after.traits.is_custom
    if not rolls or revision.placed is not None or revision.before is None or run.came or simulation.cluster.later:
        return False
    # Whom its own pods preempt has a lower priority, and so have those that are made in their place: none of them can preempt its pods.
    # Only a pod of a higher priority than the lowest of its own can, its own new ones included where the template's class changed.
    own = (pod for pod in (*run.pods[key], *run.touched) if pod.owner in run.owners[key])
    own_priority = min((pod.priority for pod in own), default=0)
    waited = simulation.queue.ever_waiting(lambda shape: shape.may_preempt and shape.priority > own_priority)
    return not any(pod.shape.may_preempt and pod.priority > own_priority for pod in waited)
