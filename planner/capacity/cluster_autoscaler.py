"""Simulates one scale-up of cluster-autoscaler for pending pods, as its main loop decides it.

Source: kubernetes/autoscaler `cluster-autoscaler/core/scaleup/orchestrator/orchestrator.go` `ScaleUp`,
`core/podlistprocessor/filter_out_schedulable.go` and `filter_out_expendable.go`, `estimator/binpacking_estimator.go`,
`estimator/decreasing_pod_orderer.go`, `processors/nodegroupset/balancing_processor.go`, `expander/waste/waste.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from planner.capacity.node_groups import NodeGroup, Sizes
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, HOSTNAME, MEMORY, PODS
from planner.inventory.autoscaler_flags import Autoscaling, Expander
from planner.kubernetes.object_records import FrozenMap, Node
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import Fails, fails_on, feasible_nodes, is_judged_by_node
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import Shape, compile_shape, seats
from planner.scheduling.state import State
from planner.scheduling.template_node import daemon_overhead


class _Option(Record, eq=False):
    """Growing one group: by so many nodes, for these pods."""

    group: NodeGroup
    nodes: int
    pods: tuple[Shape, ...]

    @property
    def waste(self) -> float:
        """Of the new machines' CPU and memory, the share that the pods leave: 0 to 2."""
        capacity = self.group.template.capacity or self.group.template.allocatable
        total = 0.0
        for resource in (CPU, MEMORY):
            capacity_amount = capacity.get(resource, 0) * self.nodes
            requested = sum(
                pod_requests(shape.spec).get(resource, 0) * pods for shape, pods in Counter(self.pods).items()
            )
            total += (capacity_amount - requested) / capacity_amount if capacity_amount else 0.0
        return total


def scale_up(
    cluster: Cluster,
    state: State,
    waiting: Iterable[LivePod],
    groups: Sequence[NodeGroup],
    sizes: Sizes,
    how: Autoscaling,
) -> list[NodeGroup]:
    """The groups that grow now, one entry a node, in the order in which they are asked for: loop after loop, each with the nodes
    of those before taken for there (`addUpcomingNodesToClusterSnapshot`), until none helps.

    Parameters
    ----------
    state : State
        All at rest; it is changed: pods that cluster-autoscaler takes for schedulable are put where they would fit.
    waiting : LivePods
        All that find no node, whosever they are.
    """
    scaled_groups: list[NodeGroup] = []
    pending_pods = unschedulable(state, waiting, how)
    while pending_pods and len(scaled_groups) <= LIMITS.nodes_brought:
        options = [
            option
            for group in groups
            if group.pool.is_autoscaled is not False and sizes.room(group) != 0
            if (option := _estimated(cluster, state, pending_pods, group)) is not None
        ]
        if not options:
            break
        now = _balanced(_best(options, how), [option.group for option in options], sizes)
        # Every group of the best option is at its limit: the next loop would choose the same again.
        if not now:
            break
        coming = [
            with_daemons_aside(
                cluster, renamed_node(group.template, f"{group.template.name}-coming-{len(scaled_groups) + i}")
            )
            for i, group in enumerate(now)
        ]
        scaled_groups += now
        cluster = cluster.grown(tuple(coming))
        state = state.over(cluster)
        pending_pods = without_room(state, pending_pods)
    return scaled_groups


def unschedulable(state: State, waiting: Iterable[LivePod], how: Autoscaling) -> list[LivePod]:
    """Pending pods that cluster-autoscaler adds nodes for: neither expendable pods, nor pods that fit where expendable ones run."""
    cutoff = how.expendable_below
    pods = [pod for pod in waiting if not pod.is_gated and not pod.is_bound and pod.priority >= cutoff]
    return without_room(state, sorted(pods, key=lambda pod: -pod.priority))


def without_room(state: State, pods: Sequence[LivePod]) -> list[LivePod]:
    """The pods that fit on no node there is, those before them on theirs."""
    pending_pods = []
    shapes = {
        shape: shape_for_grown_cluster(state.cluster, shape) for shape in dict.fromkeys(pod.shape for pod in pods)
    }
    full: set[Shape] = set()  # more pods make no room for one that only amounts keep away
    for pod in pods:
        shape = shapes[pod.shape]
        if shape in full:
            pending_pods.append(pod)
        elif len(nodes := feasible_nodes(state, shape)):
            state.add(shape, int(nodes[0]))
        else:
            pending_pods.append(pod)
            full |= {shape} if is_judged_by_node(state, shape) else set()
    return pending_pods


# ── how many nodes of one group ──────────────────────────────────────────────────────────────────────────────────────
def _estimated(cluster: Cluster, state: State, pods: Sequence[LivePod], group: NodeGroup) -> _Option | None:
    """First fit, largest first, on new nodes of the group only; None where none of the pods would go there."""
    node = with_daemons_aside(cluster, group.template)
    takes = {shape for shape in dict.fromkeys(pod.shape for pod in pods) if could_take(node, shape)}
    able = [pod for pod in pods if pod.shape in takes]
    if not able:
        return None
    names = [f"{group.template.name}-estimated-{i}" for i in range(min(LIMITS.nodes_brought, len(able)))]
    larger = cluster.grown(tuple(renamed_node(node, name) for name in names))
    new = [larger.node_index[name] for name in names]
    tried = state.over(larger)
    # All new nodes are in the arrays at once (a larger cluster is compiled anew), shut until the packing needs them.
    for place in new:
        tried.shut(place)
    # Affinity and spread may refuse even an empty node: asked once a shape, on the first new node.
    shapes = {shape: shape_for_grown_cluster(larger, shape) for shape in takes}
    tried.open(new[0])
    takes = {shape for shape, pod_count in shapes.items() if fails_on(tried, pod_count, new[0]) == Fails.NOTHING}
    able = [pod for pod in able if pod.shape in takes]
    tried.shut(new[0])
    packing = _Packing(tried, new)
    for shape, number in _by_size([(pod.owner, shapes[pod.shape]) for pod in able], node):
        packing.pack(shape, number)
    if not packing.with_pods:
        return None
    return _Option(group=group, nodes=len(packing.with_pods), pods=tuple(packing.placed))


class _Packing:
    """New nodes filled one after the other."""

    def __init__(self, state: State, nodes: Sequence[int]) -> None:
        self._state, self._nodes = state, nodes
        self._open = 0
        self.with_pods: set[int] = set()
        self.placed: list[Shape] = []

    def pack(self, shape: Shape, pods: int) -> None:
        """Pods that are alike: on any node opened before, then on the last, then on a new one; the first that finds none ends it."""
        is_first, is_alone = True, is_judged_by_node(self._state, shape)
        while pods:
            opened = self._nodes[: self._open] if is_first else self._nodes[: self._open][-1:]
            place = next((node for node in opened if self._fits(shape, node)), None)
            if place is None:
                is_first = False
                place = self._on_new(shape)
            if place is None:
                return
            # where only amounts decide, the next would go there too until it is full
            pod_count = min(pods, int(seats(shape, self._state.free[:, [place]])[0])) if is_alone else 1
            self._state.add(shape, place, pod_count)
            self.with_pods.add(place)
            self.placed += [shape] * pod_count
            pods -= pod_count

    def _on_new(self, shape: Shape) -> int | None:
        if self._open and self._nodes[self._open - 1] not in self.with_pods:
            return None  # an empty one is there already
        if self._open == len(self._nodes):
            return None
        node = self._nodes[self._open]
        self._open += 1
        self._state.open(node)
        return node if self._fits(shape, node) else None

    def _fits(self, shape: Shape, node: int) -> bool:
        return fails_on(self._state, shape, node) == Fails.NOTHING


def _by_size(pods: Sequence[tuple[str, Shape]], node: Node) -> list[tuple[Shape, int]]:
    """Pods of one owner that are alike, and how many; those that take most of a node's CPU and memory first."""

    def share(shape: Shape) -> float:
        requests = pod_requests(shape.spec)
        return sum(
            requests.get(name, 0) / node.allocatable[name] for name in (CPU, MEMORY) if node.allocatable.get(name)
        )

    groups = [(shape, number) for (_, shape), number in Counter(pods).items()]
    return sorted(groups, key=lambda group: -share(group[0]))


# ── which group ──────────────────────────────────────────────────────────────────────────────────────────────────────
def _best(options: Sequence[_Option], how: Autoscaling) -> _Option:
    """As the expander chooses; among equals it draws, and here the first by name is taken."""
    ordered = sorted(options, key=lambda option: option.group.key)
    if how.expander is Expander.MOST_PODS:
        return max(ordered, key=lambda option: len(option.pods))
    if how.expander is Expander.LEAST_NODES:
        return min(ordered, key=lambda option: option.nodes)
    if how.expander is Expander.LEAST_WASTE:
        return min(ordered, key=lambda option: option.waste)
    return ordered[0]


def _balanced(best: _Option, others: Sequence[NodeGroup], sizes: Sizes) -> list[NodeGroup]:
    """The group of each new node: where zones are balanced one by one the smallest, else always the one, within its limit."""
    stated = best.group.pool.stated
    balances = stated is None or stated.balances
    groups = [node_group for node_group in others if node_group.pool is best.group.pool] if balances else [best.group]
    balanced_groups: list[NodeGroup] = []
    for _ in range(best.nodes):
        open_to = [group for group in groups if sizes.room(group) != 0]
        if not open_to:
            break
        smallest = min(open_to, key=lambda group: (sizes.size(group), group.key))
        sizes.added[smallest.key] += 1
        balanced_groups.append(smallest)
    return balanced_groups


# ── a node that isn't there yet ──────────────────────────────────────────────────────────────────────────────────────
def with_daemons_aside(cluster: Cluster, template: Node) -> Node:
    """The template, with what its DaemonSets will take already set aside."""
    taken = daemon_overhead(cluster, template)
    allocatable = {name: max(0, amount - taken.get(name, 0)) for name, amount in template.allocatable.items()}
    return replace(template, allocatable=FrozenMap(allocatable))


def renamed_node(node: Node, name: str) -> Node:
    """A copy of the node with another name."""
    return replace(node, name=name, labels=FrozenMap({**node.labels, HOSTNAME: name}))


def could_take(node: Node, shape: Shape) -> bool:
    """Whether the pod would go to that node with no other pod there, neighbors apart."""
    spec = shape.spec
    requests = {**pod_requests(spec), PODS: 1}
    return (
        all(node.allocatable.get(name, 0) >= amount for name, amount in requests.items())
        and tolerates_taints(spec.tolerations, node.taints)
        and node_affinity_matches(spec, node.labels, node.name)
    )


def shape_for_grown_cluster(cluster: Cluster, shape: Shape) -> Shape:
    """The shape for a cluster that has grown."""
    return compile_shape(cluster, shape.namespace, shape.labels, shape.spec)
