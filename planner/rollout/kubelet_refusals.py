"""Pods that kubelets refused once they were bound, as the snapshot's failed pods tell: kube-scheduler doesn't look at what these look at.

A kubelet refuses a pod for NUMA alignment (`single-numa-node`, `restricted`), CPU alignment, devices that became unhealthy, room that is
less than the API server knows, labels that changed, or a feature that it doesn't have. The pod fails, and its ReplicaSet makes another at
once. Source: kubernetes `pkg/kubelet/lifecycle/{handlers,predicate}.go`, `pkg/kubelet/cm/topologymanager`; the reasons are
`planner.kubernetes.status_reasons`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.ground.records import Record
from planner.ground.words import count
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.status_reasons import outcome_of
from planner.scheduling.cluster import Cluster, once_a_cluster

_REFUSED = "refused"  # so begin the outcomes of admission
_IN_A_LOOP = 3  # pods of one owner, from which on it is called one


class KubeletRefusal(Record):
    """So many pods of one owner that a node's kubelet refused for one reason, and what it said of the last."""

    workload: str
    owner: str
    node: str
    reason: str
    message: str
    pods: int

    @property
    def words(self) -> str:
        said = f"{self.reason}: {self.message}" if self.message else self.reason
        return f"the kubelet of {self.node} refused {count(self.pods, 'pod')} of {self.workload} ({said.rstrip('.')})"

    @property
    def loop_words(self) -> str:
        """That its owner makes pods in vain, again and again; "" of few."""
        if self.pods < _IN_A_LOOP:
            return ""
        kind, _, name = self.owner.split("/", 2)
        return f"{kind} {name} makes each anew at once, in a loop"


@once_a_cluster
def refusals(cluster: Cluster) -> tuple[KubeletRefusal, ...]:
    """All of them, those of the most pods first; made once a cluster."""
    keys, found = workload_keys(cluster.snapshot), dict[tuple[str, str, str, str], list[str]]()
    for pod in cluster.snapshot.pods:
        if pod.phase == "Failed" and pod.node_name and outcome_of("pod", pod.reason).startswith(_REFUSED):
            owner = pod.owner.key(pod.namespace) if pod.owner is not None else keys[pod.uid]
            found.setdefault((keys[pod.uid], owner, pod.node_name, pod.reason), []).append(str(pod.message))
    made = (
        KubeletRefusal(workload=workload, owner=owner, node=node, reason=reason, message=said[-1], pods=len(said))
        for (workload, owner, node, reason), said in found.items()
    )
    return tuple(sorted(made, key=lambda one: (-one.pods, one.workload, one.node)))


def met_by(cluster: Cluster, key: str, places: Sequence[int]) -> Iterator[KubeletRefusal]:
    """Those of a workload's own pods, and those of others' on nodes at these places, which its new pods may come to."""
    nodes = {cluster.node_names[place] for place in places}
    for one in refusals(cluster):
        if one.workload == key or one.node in nodes:
            yield one


def doubt_words(one: KubeletRefusal) -> str:
    """What a refusal says of a change whose pods may come there."""
    loop = f"; {one.loop_words}" if one.loop_words else ""
    return f"{one.words}: kube-scheduler doesn't look at that, and the new pods may be refused, too{loop}"
