"""The lever *move*: other workloads' pods are evicted stage by stage, with nodes cordoned, before a change.

How far it goes: room for `limits.PLACES` more pods of a change, in clusters of `limits.MOVES_NODES`, as far as the work goes that it may
cost. Each move costs the time in which one pod is missing. What was moved isn't brought back; cordons are lent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from planner.capacity.move_stages import Acted, Stage
from planner.capacity.moves_plan import MovesPlan
from planner.ground.records import Record
from planner.ground.words import listing, short_name
from planner.kubernetes import shell_commands
from planner.kubernetes.object_records import Pod, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.workload_kinds import kind_in
from planner.remedies import limits
from planner.rollout.answers import Step
from planner.rollout.ownership import workloads_by_key
from planner.scheduling.cluster import Cluster

_LATE: Final = 600.0  # seconds that a script waits for pods at least


class Moved(Record, eq=False):
    """The cluster after `moves` evictions, and how they are made."""

    cluster: Cluster
    moves: int
    seconds: float
    steps: tuple[Step, ...]


def steps(
    cluster: Cluster, plan: MovesPlan, keys: Mapping[str, str], named: frozenset[str], *, is_of_places: bool
) -> tuple[Step, ...]:
    """What a user does: cordons are lent, so that a script that stops gives them back. `named`: pods that are there under these names;
    of others the Ready ones of their workload are waited for. `is_of_places`: the moves make room for a change, so no pod waits yet.
    A replay is the plan under one draw of the scheduler's choices."""
    first, names, move_steps, shut = plan.replays[0], cluster.node_names, list[Step](), frozenset[int]()
    as_it_is = {
        i for i, node in enumerate(cluster.nodes) if node.is_cordoned
    }  # the user cordoned these: the script leaves them cordoned
    pods = {pod.uid: pod for pod in cluster.snapshot.pods}
    does = [replay for replay in plan.replays if replay.does(len(plan.moves.hosts))]
    acts_by_replay = [replay.acts for replay in does]
    last = [{uid: i for i, act in enumerate(acts, 1) for uid in act.started} for acts in acts_by_replay]
    # A pod that starts in every draw is waited for in the last of its stages.
    surely = {uid: max(acts[uid] for acts in last) for uid in first.started if all(uid in acts for acts in last)}
    ever = sorted(set().union(*(stage.shut for stage in plan.stages)) - as_it_is)
    come = [] if is_of_places else [(pods[uid].namespace, pods[uid].name) for uid in surely if uid in named]
    looks = shell_commands.untouched([names[node] for node in ever], come)
    move_steps.append(Step(what="Look whether the nodes are open and the pods still wait", commands=looks))
    # The last stage is empty: it uncordons what the stages before it left cordoned.
    for number, (stage, act) in enumerate(zip((*plan.stages, Stage()), first.acts, strict=True), 1):
        newly = (stage.shut - shut, shut - stage.shut)
        closed, opened = ([names[node] for node in sorted(some - as_it_is)] for some in newly)
        shut = stage.shut
        if closed:
            what = f"Stage {number}: cordon {listing(closed)}, so that no other pod takes the room"
            undo = (shell_commands.uncordon(*closed),)
            move_steps.append(Step(what=what, commands=(shell_commands.cordon(*closed),), undo=undo, is_lent=True))
        if opened:
            what = f"Stage {number}: uncordon {listing(opened)}"
            move_steps.append(Step(what=what, commands=(shell_commands.uncordon(*opened),)))
        if act.moved:
            moved_pods = [pods[uid] for uid, _ in act.moved if uid in pods]
            evictions = [
                shell_commands.evict(pod.namespace, pod.name, pod.node_name, pod.spec.termination_grace_period_seconds) for pod in moved_pods
            ]  # fmt: skip
            together = limits.EVICTED_AT_ONCE.most
            done = [shell_commands.at_once(evictions[i : i + together]) for i in range(0, len(moved_pods), together)]
            done += _ready(cluster, [acts[number - 1] for acts in acts_by_replay], keys, moved_pods)
            what = f"Stage {number}: evict {listing([name(pod) for pod in moved_pods])}"
            move_steps.append(Step(what=what, commands=tuple(done)))
        start = [pods[uid] for uid, stage_of in surely.items() if stage_of == number and uid in pods]
        if start and not is_of_places:
            theirs = [pod for pod in start if pod.uid in named]
            new = dict.fromkeys(keys[pod.uid] for pod in start if pod.uid not in named)
            until = [shell_commands.wait_scheduled(pod.namespace, pod.name) for pod in theirs]
            ready = ((key, min(_ready_pods(run.snapshot, key) for run in does)) for key in new)
            until += [_ready_wait(cluster, key, _LATE, least) for key, least in ready]
            who = [*map(name, theirs), *(f"new pods of {short_name(key)}" for key in new)]
            move_steps.append(Step(what=f"Stage {number}: {listing(who)} start", commands=tuple(filter(None, until))))
    return tuple(move_steps)


def _ready(cluster: Cluster, acts: Sequence[Acted], keys: Mapping[str, str], moved: Sequence[Pod]) -> tuple[str, ...]:
    """Waits for as many Ready pods of the workloads moved as are there at the end of the stage in each draw; where none is, its
    successor waits."""
    patience = max(_LATE, 2 * max(act.seconds for act in acts))
    ready = {key: min(act.ready.get(key, 0) for act in acts) for key in (keys[pod.uid] for pod in moved)}
    return tuple(filter(None, (_ready_wait(cluster, key, patience, number) for key, number in ready.items())))


def _ready_wait(cluster: Cluster, key: str, patience: float, number: int) -> str:
    """Until so many are Ready; "" where none is, or the object doesn't say."""
    kind, workload = kind_in(key), workloads_by_key(cluster).get(key)
    if not number or not (kind.has_scale or kind.waits.endswith("=")):
        return ""
    return shell_commands.wait_ready(key, patience, number + (workload.succeeded_pods if workload else 0))


def _ready_pods(snapshot: Snapshot, key: str) -> int:
    keys = workload_keys(snapshot)
    return sum(pod.is_ready and keys[pod.uid] == key for pod in snapshot.pods)


def in_turn(act: Acted, pods: Mapping[str, Pod]) -> float:
    """Seconds that evictions wait for those that the script makes before them."""
    grace = max((pods[uid].spec.termination_grace_period_seconds for uid, _ in act.moved if uid in pods), default=0)
    return float(grace * (max(0, len(act.moved) - 1) // limits.EVICTED_AT_ONCE.most))


def name(pod: Pod) -> str:
    """``ml/train-0``."""
    return f"{pod.namespace}/{pod.name}"
