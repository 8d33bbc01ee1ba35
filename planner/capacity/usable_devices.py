"""Which of the cluster's devices the new pods of a rollout could ever use: those of the nodes they match."""

from __future__ import annotations

import numpy as np

from planner.ground.records import Record
from planner.ground.vocabulary import is_extended_resource
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import EMPTY, Amounts, FrozenMap, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.rollout import prepared as prepared_question
from planner.rollout.prepared import Scenario
from planner.rollout.run import Revision
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Static, compile_shape


class UsableDevices(Record):
    """Nodes that pass the scheduler's filters which other pods can't change: cordon, name, taints, node affinity.

    Each extended resource the new pods ask for is a key of `allocatable`, of `own` and `others` (held there before the
    change by the workload's own pods and by all others, terminating ones included), and of `whole_cluster`
    (allocatable on all nodes).
    """

    workload: str
    node_count: int
    allocatable: Amounts
    own: Amounts
    others: Amounts
    whole_cluster: Amounts = EMPTY


def usable_devices(snapshot: Snapshot, scenario: Scenario) -> tuple[UsableDevices, ...]:
    """The devices of every workload that `scenario` changes, in the order of `rollout_question.rollout`'s workloads.

    Raises
    ------
    ChangeError
        When the scenario doesn't apply to the snapshot.
    """
    prepared = prepared_question.prepare(snapshot, scenario)
    cluster = prepared_question.compiled(prepared.snapshot)
    return tuple(_usable(cluster, revision) for revision in prepared.revisions)


def _usable(cluster: Cluster, revision: Revision) -> UsableDevices:
    workload = revision.after
    spec = workload.template.spec
    shape = compile_shape(cluster, workload.namespace, workload.template.labels, spec)
    matching = shape.static == Static.PASSES
    there = {cluster.node_names[n] for n in np.flatnonzero(matching).tolist()}
    keys = workload_keys(cluster.snapshot)
    pods = [
        pod_requests(pod.spec)
        for pod in cluster.snapshot.pods
        if keys[pod.uid] == workload.key and pod.holds_room and pod.node_name in there
    ]
    rows = {n: cluster.row[n] for n in pod_requests(spec) if is_extended_resource(n) and n in cluster.row}
    held = {name: int(cluster.requested[row, matching].sum()) for name, row in rows.items()}
    own = {name: sum(requests.get(name, 0) for requests in pods) for name in rows}
    return UsableDevices(
        workload=workload.key,
        node_count=len(there),
        allocatable=FrozenMap({name: int(cluster.allocatable[row, matching].sum()) for name, row in rows.items()}),
        own=FrozenMap(own),
        others=FrozenMap({name: held[name] - own[name] for name in rows}),
        whole_cluster=FrozenMap({name: int(cluster.allocatable[row].sum()) for name, row in rows.items()}),
    )
