"""What lets a rollout complete whose new pod is on another node than a volume that one node has at a time.

Each is played before it is told, in as many placements as ways out are. Another strategy is a way out of its own
(`planner.remedies.ways_out`), with steps and their undo; that a pod is evicted helps nobody, since its successor is put back where
the volume is before that is taken off.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, Final

from planner.capacity.changes import Change, ChangeKind, Later, parse_later, text_of
from planner.capacity.timeline import Beside, timeline
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.ground.vocabulary import HOSTNAME, TAINT_UNSCHEDULABLE
from planner.ground.words import Text, listing
from planner.inventory.change import WorkloadChange, apply_change
from planner.kubernetes.records import Workload
from planner.remedies.scenario import holds_under_chance
from planner.rollout.answers import VolumeCure
from planner.rollout.prepared import Prepared
from planner.rollout.run import Run, simulate
from planner.rollout.verdict import volume_waits

_STEP_SECONDS: Final = 60  # between the end of the stuck rollout and what is done then, and from one to the next


def find_volume_cures(asked: Prepared, beside: Beside, run: Run, key: str, *, seed: int) -> Iterator[VolumeCure]:
    """Cures of the stuck workload `key`; `asked` and `beside` are what `run` was made of."""
    workload = next(revision.after for revision in asked.revisions if revision.after.key == key)
    for cure in (*_near(workload), *_on_its_node(run, workload), *_afterwards(run, workload)):
        try:
            if _completes(asked, beside, cure, key, seed):
                yield cure
        except HeadroomError:  # it can't be asked of this workload, or not be played
            continue


def _completes(asked: Prepared, beside: Beside, cure: VolumeCure, key: str, seed: int) -> bool:
    """Whether the rollout completes with it in every placement that is tried."""
    if cure.patch:
        patched = [
            replace(
                one,
                after=apply_change(one.after, WorkloadChange(workload=key, patch=cure.patch))[0],
                has_new_template=True,
            )
            if one.after.key == key
            else one
            for one in asked.revisions
        ]
        asked = replace(asked, revisions=tuple(patched))
    planned = timeline(asked, replace(beside, later=(*beside.later, *_later(cure))))
    revisions = planned.prepared.revisions
    run = simulate(planned.cluster, revisions, seed=seed)
    return run.completed and holds_under_chance(planned.cluster, revisions, run, lambda one: one.completed, seed=seed)


def _later(cure: VolumeCure) -> tuple[Later, ...]:
    return parse_later(cure.then) if cure.then else ()


def _near(workload: Workload) -> Iterator[VolumeCure]:
    """New pods go where pods of the workload are, and so where the volume is."""
    selector = workload.selector
    if not selector.match_labels or selector.match_expressions:
        return
    term = {"labelSelector": {"matchLabels": dict(selector.match_labels)}, "topologyKey": HOSTNAME}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    said = f"Give its pods required podAffinity to themselves ({HOSTNAME}), so that all are on the node that has the volume"
    yield VolumeCure(sentence=Text(said), patch=_patch({"affinity": affinity}))


def _on_its_node(run: Run, workload: Workload) -> Iterator[VolumeCure]:
    """New pods go to the node that has the volume."""
    holders = _holders(run, workload.key)
    if len(holders) == 1:
        node = run.simulation.cluster.nodes[holders[0]]
        name = node.labels.get(HOSTNAME, "")
        if name:
            said = f"Select the node that has the volume: nodeSelector {HOSTNAME}={name}"
            yield VolumeCure(sentence=Text(said), patch=_patch({"nodeSelector": {HOSTNAME: name}}))


def _afterwards(run: Run, workload: Workload) -> Iterator[VolumeCure]:
    """What is done once it is stuck: the pods that hold the volume leave its node, or all of the workload's go and come back."""
    at = float(ceil(run.tick_ends[-1] if run.tick_ends else 0) + _STEP_SECONDS)
    names = [run.simulation.cluster.node_names[place] for place in _holders(run, workload.key)]
    if names:
        drains = [Later(after_seconds=at, change=Change(kind=ChangeKind.DRAIN, target=name)) for name in names]
        said = f"Drain {listing([f'node {name}' for name in names])} once it is stuck: the volume follows"
        yield VolumeCure(sentence=Text(said), then=text_of(drains))
        yield from _cordoned(run, workload.key, names, at)
    if workload.traits.has_replicas and workload.replicas:
        scaled = [
            Later(
                after_seconds=at + wait, change=Change(kind=ChangeKind.REPLICAS, target=workload.key, value=str(number))
            )
            for wait, number in ((0, 0), (2 * _STEP_SECONDS, workload.replicas))
        ]
        said = f"Scale it to 0 once it is stuck, and back to {workload.replicas:,} when its pods are gone"
        yield VolumeCure(sentence=Text(said), then=text_of(scaled))


def _cordoned(run: Run, key: str, names: Sequence[str], at: float) -> Iterator[VolumeCure]:
    """As a drain, for the pods that hold the volume alone: their successors can't come back to its node. Pods that the run made have no
    name that anybody could evict."""
    pods = {pod.number: pod for wait in volume_waits(run, key) for pod in wait.pods}
    if not pods or max(pods) > 0:
        return
    shut = [Change(kind=ChangeKind.TAINT, target=name, value=f"{TAINT_UNSCHEDULABLE}:NoSchedule") for name in names]
    gone = [Change(kind=ChangeKind.EVICT, target=f"{pod.namespace}/{pod.name}") for pod in pods.values()]
    which = listing([f"{pod.namespace}/{pod.name}" for pod in pods.values()])
    said = f"Cordon {listing([f'node {name}' for name in names])} once it is stuck, and evict {which} there: the volume follows"
    steps = [Later(after_seconds=at, change=one) for one in shut]
    steps += [Later(after_seconds=at + _STEP_SECONDS, change=one) for one in gone]
    yield VolumeCure(sentence=Text(said), then=text_of(steps))


def _holders(run: Run, key: str) -> list[int]:
    return sorted({place for wait in volume_waits(run, key) for place in wait.holders})


def _patch(spec: dict[str, Any]) -> str:
    return json.dumps({"spec": {"template": {"spec": spec}}})
