"""Which nodes the autoscaler removes after a rollout: empty or hardly used nodes of the pools that grew.

cluster-autoscaler takes a node away that was unneeded for ``--scale-down-unneeded-time``, not before ``--scale-down-delay-after-add``
(both 10 minutes) after it added the last one, and never below the pool's minimum. Unneeded is a node used below 0.5, with pods that
all fit elsewhere; what is used is the larger of CPU and memory that pods ask for, those of DaemonSets too, on a node with GPUs these
alone. Pods without an owner, of kube-system, and with a directory or an emptyDir of the node keep it.

Source: kubernetes/autoscaler `cluster-autoscaler/core/scaledown/eligibility/eligibility.go` `isNodeBelowUtilizationThreshold`,
`core/scaledown/unneeded/nodes.go` `unremovableReason`, `simulator/utilization/info.go` `Calculate`, `core/static_autoscaler.go`
`isScaleDownInCooldown`, `config/flags/flags.go`.

Karpenter takes an empty node away ``consolidateAfter`` (a NodePool's, 0 s) after its last pod came or went, and 15 s in which it looks
twice; with ``WhenEmptyOrUnderutilized``, the default, also a node with pods that fit elsewhere. Its budgets (10% of a NodePool's nodes at once)
and replacing a node by a cheaper one aren't played.

Source: kubernetes-sigs/karpenter `pkg/controllers/disruption/emptiness.go`, `consolidation.go` `consolidationTTL`, `pkg/apis/v1/nodepool.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from planner.capacity.capacity_buffers import nodes_for, provisioned_buffer_pods
from planner.capacity.cluster_autoscaler import without_room
from planner.capacity.node_groups import is_karpenters
from planner.capacity.node_pools import NodePool, pool_key
from planner.ground.records import Record
from planner.ground.well_known_names import CPU, DO_NOT_DISRUPT, MEMORY, SAFE_TO_EVICT, SCALE_DOWN_DISABLED
from planner.ground.words import count, duration, plural
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.accelerators import alike
from planner.kubernetes.object_records import EMPTY, Finding, Severity
from planner.kubernetes.workload_kinds import kind_in
from planner.rollout.ownership import workloads_by_owner
from planner.rollout.run import Run
from planner.scheduling.pod import LivePod
from planner.scheduling.state import State

_THRESHOLD: Final = 0.5
_LOOKS_TWICE: Final = 15.0
_SYSTEM: Final = "kube-system"
_OF_THE_NODE: Final = ("emptyDir", "hostPath", "local")


class EmptiedPool(Record, eq=False):
    """What becomes of a pool's nodes after a rollout.

    Attributes
    ----------
    empty : names of nodes that go, since no pod is on them but those of DaemonSets
    emptied : of those that may go after, since their few pods fit elsewhere: they are evicted
    stay : how many of the nodes that came stay
    seconds : from the rollout's end until the first go, at the latest; None: none is ever taken away
    """

    pool: NodePool
    empty: tuple[str, ...]
    emptied: tuple[str, ...]
    stay: int
    seconds: float | None

    @property
    def sentence(self) -> str:
        """``pool gpu-t4: 1 node goes again about 10 min after the rollout is done (n-3)``."""
        sentences = []
        if self.seconds is None:
            return f"pool {self.pool.name}: nothing takes its nodes away again (consolidateAfter Never, or a budget of 0 nodes)"
        if self.empty:
            names = ", ".join(self.empty[:3]) + (", …" if len(self.empty) > 3 else "")
            goes = f"{count(len(self.empty), 'node')} {plural(len(self.empty), 'goes', 'go')} again"
            sentences.append(f"{goes} about {duration(self.seconds)} after the rollout is done ({names})")
        if self.emptied:
            more = count(
                len(self.emptied), "more node" if self.empty else "node", "more nodes" if self.empty else "nodes"
            )
            sentences.append(
                f"{more} may be emptied after that, as {plural(len(self.emptied), 'its', 'their')} pods fit elsewhere"
            )
        if not sentences:
            every = self.pool.node_count + self.stay
            sentences.append(f"its {count(every, 'node')} {plural(every, 'stays', 'stay')}: each is needed")
        return f"pool {self.pool.name}: {'; '.join(sentences)}"


def removed_nodes(run: Run, grown: Iterable[NodePool], how: Autoscaling) -> tuple[EmptiedPool, ...]:
    """Of the pools that grew during a rollout that completes: which of their nodes go again. Those that had no pod before go anyway
    and aren't told; pools that only a person resizes keep theirs.

    Parameters
    ----------
    run : Run
        With the nodes that come.
    """
    return tuple(
        _of(run, pool, how)
        for pool in grown
        if pool.source is not LimitSource.UNKNOWN and pool.is_autoscaled is not False
    )


def removal_findings(leavings: Sequence[EmptiedPool], key: str) -> tuple[Finding, ...]:
    """One line to the workload `key`."""
    return tuple(
        Finding(
            severity=Severity.INFO, code="nodes-go-again", object=key, what=leaving_node.sentence,
            fix="Until then they are on the bill; pods that come meanwhile may keep them",
        )
        for leaving_node in leavings
    )  # fmt: skip


def _of(run: Run, pool: NodePool, how: Autoscaling) -> EmptiedPool:
    simulation, cluster = run.simulation, run.simulation.cluster
    karpenters = pool.stated if is_karpenters(pool) else None
    seconds: float | None = how.scale_down_unneeded_seconds
    if karpenters is not None:
        after = karpenters.consolidate_after_seconds
        seconds = None if after is None else after + _LOOKS_TWICE
    before = set(pool.nodes)
    pool_nodes = [i for i, node in enumerate(cluster.nodes) if node.name in before or pool_key(node) == pool.name]
    came = [i for i in pool_nodes if cluster.node_names[i] not in before and i not in simulation.state.absent]
    changed = [i for i in pool_nodes if i in simulation.state.touched and i not in simulation.state.absent]
    # Autoscalers keep a pool's minimum: of the 2 nodes that came to a pool of 2 with a minimum of 3, one goes again.
    room = len(before) + len(came) - (pool.minimum or 0)
    # cluster-autoscaler `core/scaledown/eligibility/eligibility.go` `HasNoScaleDownAnnotation`, karpenter `statenode.go` `ValidateNodeDisruptable`
    kept = SCALE_DOWN_DISABLED if karpenters is None else DO_NOT_DISRUPT
    going = [i for i in {*came, *changed} if cluster.nodes[i].annotations.get(kept) != "true"]
    pods = {i: [pod for pod in simulation.pods.on(i) if not kind_in(pod.owner).is_per_node] for i in going}
    state = simulation.state.over(cluster)
    needed_nodes = nodes_for(
        state, provisioned_buffer_pods(cluster) if karpenters is None else (), {i for i in pods if pods[i]}
    )
    empty = (
        [i for i in sorted(pods) if not pods[i] and i not in needed_nodes][: max(0, room)]
        if seconds is not None
        else []
    )
    used = {i: _used(simulation.state, i) for i in pods if pods[i]}
    # Karpenter has no threshold of use: WhenEmptyOrUnderutilized takes any node with pods that fit elsewhere (1.1: more
    # than a full node), WhenEmpty none with pods (0).
    limit = _THRESHOLD if karpenters is None else 1.1 if karpenters.consolidates_used else 0.0
    # The empty nodes are gone by then: the pods of a node that is emptied later must fit on nodes that stay.
    for i in empty:
        state.shut(i)
    emptied: list[int] = []
    for i in sorted(used, key=lambda i: (used[i], i)) if seconds is not None else []:
        fits = used[i] < limit and i not in needed_nodes and len(empty) + len(emptied) < room
        if fits and not any(_keeps(run, pod, karpenters) for pod in pods[i]) and _fit_elsewhere(state, pods[i], i):
            emptied.append(i)
    return EmptiedPool(
        pool=pool,
        empty=tuple(cluster.node_names[i] for i in empty),
        emptied=tuple(cluster.node_names[i] for i in emptied),
        stay=len(set(came) - set(empty) - set(emptied)),
        seconds=seconds,
    )


def _used(state: State, node: int) -> float:
    """How much of the node pods ask for, 0 to 1: of its GPUs where it has some, else the larger of CPU and memory."""
    cluster = state.cluster
    devices = [name for name in cluster.nodes[node].allocatable if alike({name: 1})]
    shares = [
        float(state.used[row, node] / cluster.allocatable[row, node])
        for name in devices or (CPU, MEMORY)
        if (row := cluster.row.get(name)) is not None and cluster.allocatable[row, node]
    ]
    return max(shares, default=0.0)


def _keeps(run: Run, pod: LivePod, karpenters: PoolLimits | None) -> bool:
    """Whether the pod keeps its node; by Karpenter's rule where `karpenters` is its NodePool (`pkg/controllers/state/statenode.go`
    `ValidatePodsDisruptable`: its own annotation alone, and budgets of pods)."""
    snapshot = run.simulation.snapshot
    # The snapshot's pods have numbers below zero; a pod made in the run has the annotations of its template.
    if pod.number < 0:
        annotations = snapshot.pods[pod.number + len(snapshot.pods)].annotations
    else:
        own = next((key for key, owners in run.owners.items() if pod.owner in owners), "")
        workload = snapshot.workload(own or workloads_by_owner(run.simulation.cluster).get(pod.owner, ""))
        annotations = workload.template.annotations if workload is not None else EMPTY
    if karpenters is not None:
        return annotations.get(DO_NOT_DISRUPT) == "true"
    spec = pod.shape.spec
    return (
        not pod.owner
        or pod.namespace == _SYSTEM
        or annotations.get(SAFE_TO_EVICT) == "false"
        or bool(spec.resource_claims)
        or any(volume.kind in _OF_THE_NODE for volume in spec.volumes)
    )


def _fit_elsewhere(state: State, pods: Sequence[LivePod], node: int) -> bool:
    """Whether all find room on other nodes; they are put there if so, and their node is shut."""
    before = state.position
    state.shut(node)
    fit = not without_room(state, pods)
    if not fit:
        state.take_back(before)
    return fit
