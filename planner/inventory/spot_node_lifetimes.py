"""When spot nodes came and went, as far as it was observed: from snapshots, a store, or Prometheus.

Events of nodes say the moment (`REASONS`): node-controller's RegisteredNode and RemovingNode, cloud-node-lifecycle's
DeletingNode (kubernetes `pkg/controller/nodelifecycle`, `cloud-provider/controllers/nodelifecycle`); why, where it was on
purpose: cluster-autoscaler's ScaleDown and its taint, Karpenter's disruption (karpenter `pkg/controllers/disruption`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from planner.ground.records import Record, replace
from planner.kubernetes.node_properties import is_spot, machine_type, node_pool, zone
from planner.kubernetes.object_records import Node, Snapshot
from planner.kubernetes.workload_kinds import NODE


class NodeSign(StrEnum):
    """What an event says of a node."""

    REGISTERED = "registered"
    GONE = "gone"
    TAKEN_DOWN = "taken down"  # on purpose: by an autoscaler that had no use for it


REASONS: Final = {
    "RegisteredNode": NodeSign.REGISTERED,
    "RemovingNode": NodeSign.GONE,
    "DeletingNode": NodeSign.GONE,
    "ScaleDown": NodeSign.TAKEN_DOWN,
    "DisruptionTerminating": NodeSign.TAKEN_DOWN,
}
TAKEN_DOWN: Final = frozenset({"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"})
"""Taints of a node that an autoscaler takes down, on purpose."""
GOING_TAINTS: Final = TAKEN_DOWN | {
    "DeletionCandidateOfClusterAutoscaler", "node.cluster.x-k8s.io/outdated-revision",
    "cloud.google.com/impending-node-termination",
    *(f"aws-node-termination-handler/{why}" for why in
      ("spot-itn", "scheduled-maintenance", "asg-lifecycle-termination", "rebalance-recommendation")),
    "remediator.kubernetes.azure.com/unschedulable", "remediator.aks.microsoft.com/unschedulable",
}  # fmt: skip
"""Those of any node that a cloud or autoscaler may take away soon. Sources: cluster-autoscaler `utils/taints/taints.go`, karpenter
`pkg/apis/v1/taints.go`, Cluster API `api/v1beta1/common_types.go`, aws-node-termination-handler `pkg/node/node.go`, GKE's and AKS's
pages on host maintenance and on node auto-drain."""
_GOING_CONDITIONS: Final = ("Terminating", "VMEventScheduled")  # OpenShift's machine API on spot, AKS
_GOING_LABEL: Final = ("cloud.google.com/active-node-maintenance", "ONGOING")


class NodeSeen(Record):
    """A spot or preemptible node over all looks; times are seconds since the epoch. `is_going`: marked at the last."""

    cluster: str
    node: str
    node_pool: str
    machine_type: str
    created_at: float
    first_at: float
    last_at: float
    is_going: bool = False
    zone: str = ""


class NodeEvent(Record):
    cluster: str
    node: str
    told: NodeSign
    at: float


class Watch(Record):
    """What was seen. `looks`: cluster → the moments at which all its nodes were looked at, rising."""

    source: str
    looks: tuple[tuple[str, tuple[float, ...]], ...]
    nodes: tuple[NodeSeen, ...]
    events: tuple[NodeEvent, ...] = ()


def node_events(snapshot: Snapshot) -> Iterator[tuple[str, NodeSign, float]]:
    """(node, what, when) of the snapshot's events about nodes; one that was counted several times has its ends."""
    for event in snapshot.events:
        node_reason = REASONS.get(event.reason) if event.object_kind == NODE.name else None
        if node_reason is not None:
            for at in {event.first_seen_at, event.last_seen_at} - {None}:
                yield event.object_name, node_reason, float(at or 0.0)


def is_going(node: Node) -> bool:
    """Whether an autoscaler is taking the node down."""
    return any(taint.key in TAKEN_DOWN for taint in node.taints)


def may_go(node: Node) -> bool:
    """Whether anybody has marked it as one that he may take away."""
    return (
        any(taint.key in GOING_TAINTS for taint in node.taints)
        or any(node.conditions.get(condition) == "True" for condition in _GOING_CONDITIONS)
        or node.labels.get(_GOING_LABEL[0]) == _GOING_LABEL[1]
    )


def watch_snapshots(snapshots: Sequence[tuple[str, Snapshot]]) -> Watch:
    """What snapshots (with their cluster's name) saw; events of all of them count once."""
    node_by_key: dict[tuple[str, str, float], NodeSeen] = {}
    looks: dict[str, set[float]] = {}
    events: set[tuple[str, str, NodeSign, float]] = set()
    for cluster, snapshot in sorted(snapshots, key=lambda pair: pair[1].taken_at):
        looks.setdefault(cluster, set()).add(snapshot.taken_at)
        events |= {(cluster, *event) for event in node_events(snapshot)}
        for node in snapshot.nodes:
            if node.created_at is None or not is_spot(node):
                continue
            key = (cluster, node.name, node.created_at)
            first = node_by_key[key].first_at if key in node_by_key else snapshot.taken_at
            node_by_key[key] = NodeSeen(
                cluster=cluster, node=node.name, node_pool=node_pool(node), machine_type=machine_type(node),
                created_at=node.created_at, first_at=first, last_at=snapshot.taken_at, is_going=is_going(node), zone=zone(node),
            )  # fmt: skip
    return Watch(
        source=f"{len(snapshots)} snapshots" if len(snapshots) > 1 else "events of the snapshot",
        looks=tuple((cluster, tuple(sorted(moments))) for cluster, moments in sorted(looks.items())),
        nodes=tuple(node_by_key.values()),
        events=tuple(NodeEvent(cluster=c, node=n, told=node_reason, at=at) for c, n, node_reason, at in sorted(events)),
    )


def together(watches: Iterable[Watch]) -> Watch:
    """Several watches as one; clusters of one name are one cluster."""
    every = list(watches)
    looks: dict[str, set[float]] = {}
    for watch in every:
        for cluster, moments in watch.looks:
            looks.setdefault(cluster, set()).update(moments)
    node_by_key: dict[tuple[str, str, float], NodeSeen] = {}
    for node in (node for watch in every for node in watch.nodes):
        # A node that is made anew keeps its name: its creation tells it apart, to the second, as sources round
        # differently.
        key = (node.cluster, node.node, round(node.created_at))
        earlier_sighting = node_by_key.get(key, node)
        last = max(node, earlier_sighting, key=lambda life: life.last_at)
        node_by_key[key] = replace(last, first_at=min(node.first_at, earlier_sighting.first_at))
    return Watch(
        source=", ".join(dict.fromkeys(watch.source for watch in every)),
        looks=tuple((cluster, tuple(sorted(moments))) for cluster, moments in sorted(looks.items())),
        nodes=tuple(node_by_key.values()),
        events=tuple(dict.fromkeys(event for watch in every for event in watch.events)),
    )


def until(watch: Watch, moment: float) -> Watch:
    """What had been seen by `moment`."""
    looks = tuple((cluster, tuple(at for at in moments if at <= moment)) for cluster, moments in watch.looks)
    last = {cluster: moments[-1] for cluster, moments in looks if moments}
    return Watch(
        source=watch.source,
        looks=tuple((cluster, moments) for cluster, moments in looks if moments),
        nodes=tuple(
            replace(
                node, last_at=min(node.last_at, last[node.cluster]), is_going=node.is_going and node.last_at <= moment
            )
            for node in watch.nodes
            if node.cluster in last and node.first_at <= last[node.cluster]
        ),
        events=tuple(event for event in watch.events if event.at <= moment),
    )
