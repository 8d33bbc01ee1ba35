"""The lever *template*: pods with a smaller request, without an unsatisfied selector, or on the volume's node.

How far it goes: one field at a time. It costs what the program does with less, or that all pods share a node's fate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from planner.ground.errors import HeadroomError
from planner.ground.quantity import format_amount
from planner.ground.records import replace
from planner.ground.well_known_names import HOSTNAME
from planner.inventory.change import WorkloadChange, apply_change
from planner.kubernetes.object_records import FrozenMap, PodSpec, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.strategic_merge_patch import Object
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.rollout.answers import Reason, Remedy, RemedyKind
from planner.rollout.run import Revision, Run
from planner.rollout.stuck_diagnosis import Impasse, volume_waits
from planner.scheduling.filters import Fails, fails


def smaller_request(case: StuckRollout) -> Iterator[Remedy]:
    """The largest request that would do, where cpu or memory is what is short and half of it is there."""
    shape, lacking = case.shape, case.why.lacking
    if shape is None or lacking not in (("cpu",), ("memory",)) or len(case.workload.template.spec.containers) != 1:
        return
    name = lacking[0]
    row = case.cluster.row[name]
    codes = fails(case.run.simulation.state, shape)
    nodes = np.flatnonzero(codes == Fails.RESOURCES)
    if not len(nodes):
        return
    request = pod_requests(shape.spec)[name]
    # Rounded down to amounts that people write: 100m, 64Mi.
    step = 100 if name == "cpu" else 64 * 2**20
    free = int(case.run.simulation.state.free[row, nodes].max()) // step * step
    if free * 2 < request or free <= 0:
        return
    template, text = case.workload.template, format_amount(free, name)
    container = {"name": template.spec.containers[0].name, "resources": {"requests": {name: text}}}
    way = LeverPosition(
        kind=RemedyKind.SMALLER_REQUEST, title=f"Ask for {text} {name} instead of {format_amount(request, name)}",
        template=replace(template, spec=_asking(template.spec, name, free)), patch=in_template({"containers": [container]}),
        costs="{}; only if the program can live with it",
    )  # fmt: skip
    yield from case.first_of([way])


def _asking(spec: PodSpec, name: str, amount: int) -> PodSpec:
    """The spec of which the first container asks for so much."""
    first, *others = spec.containers
    return replace(spec, containers=(replace(first, requests=FrozenMap({**first.requests, name: amount})), *others))


def other_selector(case: StuckRollout) -> Iterator[Remedy]:
    """A node selector entry that no node satisfies, left out."""
    template, selector = case.workload.template, case.workload.template.spec.node_selector
    ways_out = (
        LeverPosition(
            kind=RemedyKind.FIX_SELECTOR, title=f"Without nodeSelector {key}={selector[key]}",
            template=replace(template, spec=replace(template.spec, node_selector=FrozenMap({k: v for k, v in selector.items() if k != key}))),
            patch=in_template({"nodeSelector": {key: None}}), costs="no usable node has that label; {}",
        )
        for key in selector
    )  # fmt: skip
    yield from case.first_of(ways_out)


def ways(revision: Revision, run: Run, why: Impasse) -> Iterator[LeverPosition]:
    """New pods on the node that has the volume they wait for: where pods of the workload are, or that node by its name."""
    workload = revision.after
    if why.reason is not Reason.VOLUME_ATTACHED:
        return
    if (near := near_its_own_pods(workload)) is not None:
        title = f"Give its pods required podAffinity to themselves ({HOSTNAME}), so that all are on the node that has the volume"
        yield from _with(workload, title, near)
    holders = {place for wait in volume_waits(run, workload.key) for place in wait.holders}
    name = run.simulation.cluster.nodes[min(holders)].labels.get(HOSTNAME, "") if len(holders) == 1 else ""
    if name:
        title = f"Select the node that has the volume: nodeSelector {HOSTNAME}={name}"
        yield from _with(workload, title, in_template({"nodeSelector": {HOSTNAME: name}}))


def near_its_own_pods(workload: Workload) -> Object | None:
    """A patch with which new pods go where pods of the workload are; None where its selector is more than labels."""
    selector = workload.selector
    if not selector.match_labels or selector.match_expressions:
        return None
    term = {"labelSelector": {"matchLabels": dict(selector.match_labels)}, "topologyKey": HOSTNAME}
    return in_template({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})


def _with(workload: Workload, title: str, patch: Object) -> Iterator[LeverPosition]:
    """Nothing where the patch doesn't apply."""
    try:
        template = apply_change(workload, WorkloadChange(workload=workload.key, patch=json.dumps(patch)))[0].template
    except HeadroomError:
        return
    yield LeverPosition(title=title, template=template, patch=patch, kind=RemedyKind.SAME_NODE)


def in_template(spec: Object) -> Object:
    """A patch of a workload that sets this of its pods' spec."""
    return {"spec": {"template": {"spec": spec}}}
