"""A pod's demands compiled against a cluster: everything that doesn't change as pods come and go.

Pods of one template are one shape. Sources: kubernetes `pkg/scheduler/framework/plugins/*`, default profile of 1.36.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from enum import IntEnum
from functools import partial
from hashlib import blake2b
from typing import Self

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record, dataclass, replace
from planner.ground.well_known_names import CPU, HOSTNAME, MEMORY, NAMESPACE_NAME, ZONE
from planner.kubernetes.derived import MOST_KEPT, Same
from planner.kubernetes.object_records import (
    EMPTY,
    HostPort,
    Labels,
    LabelSelector,
    Node,
    NodeAffinity,
    PodAffinityTerm,
    PodSpec,
    ReplicaSet,
    Requirement,
    Toleration,
    TopologySpreadConstraint,
    Workload,
)
from planner.kubernetes.priorities import class_of
from planner.kubernetes.requests import host_ports, pod_requests, scored_requests
from planner.kubernetes.selectors import (
    intolerable_preferences,
    labels_match,
    named_nodes,
    node_affinity_matches,
    term_matches,
    tolerates_cordon,
    tolerates_taints,
)
from planner.scheduling.cluster import PODS_ROW, TOO_MUCH, BoolArray, Cluster, IntArray, once_a_cluster
from planner.scheduling.devices import Demand, device_demand
from planner.scheduling.volume_placement import StorageDemand, storage_demand


class Code(IntEnum):
    """Why a node refuses a pod: a number, and kube-scheduler's words."""

    reason: str

    def __new__(cls, code: int, reason: str = "") -> Self:
        static_member = int.__new__(cls, code)
        static_member._value_, static_member.reason = code, reason
        return static_member


class Static(Code):
    """The first static filter a node fails, in the default profile's order; PASSES when none."""

    PASSES = 0
    NOT_NAMED = 1, "node(s) didn't satisfy plugin(s) [NodeAffinity]"  # PreFilter: the pod's affinity names other nodes
    CORDONED = 2, "node(s) were unschedulable"
    OTHER_NODE_NAME = 3, "node(s) didn't match the requested node name"
    TAINT = 4, "node(s) had untolerated taint(s)"
    NODE_AFFINITY = 5, "node(s) didn't match Pod's node affinity/selector"


class AffinityTerm(Record):
    """A pod (anti-)affinity term with its namespaces and label keys resolved."""

    selector: LabelSelector | None
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None
    weight: int = 0

    def matches(self, cluster: Cluster, namespace: str, labels: Labels) -> bool:
        """Whether a pod with these labels in this namespace is one the term speaks of."""
        if namespace not in self.namespaces:
            if self.namespace_selector is None:
                return False
            namespace_labels = dict(cluster.namespace_labels.get(namespace, {}))
            namespace_labels.setdefault(NAMESPACE_NAME, namespace)
            if not labels_match(self.namespace_selector, namespace_labels):
                return False
        return labels_match(self.selector, labels)


class Spread(Record, eq=False):
    """A topology spread constraint with its selector resolved; `counted` says on which nodes pods count: bool[node]."""

    max_skew: int
    topology_key: str
    selector: LabelSelector | None
    min_domains: int = 1
    counted: BoolArray
    matches_itself: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """One kind of pod, compiled.

    Attributes
    ----------
    asks : resources asked for, as (row of the cluster's tables, amount)
    absent : resources asked for that no node has
    candidates : nodes that pass every static filter, storage included: intp[c], ascending
    static : uint8[node], a `Static` each
    preferred, disliked : int64[node] or None; raw NodeAffinity score, untolerated PreferNoSchedule taints
    blocked : why the pod is refused before any node is looked at ("" if not), in kube-scheduler's words
    has_affinity : whether it says anything about neighbours
    uses_devices : whether claims or devices have a say
    is_simple : whether nodes can be judged one by one: only static filters and resources decide
    is_plain : simple, and no volume says anything: a refusal has no reason but static filters and amounts
    is_ranked : whether many of its pods may be placed by a ranking (`planner.scheduling.node_score_classes`), where others don't stand in the way
    """

    namespace: str
    labels: Labels = EMPTY
    spec: PodSpec
    priority: int
    may_preempt: bool
    asks: tuple[tuple[int, int], ...]
    absent: tuple[str, ...]
    candidates: NDArray[np.intp]
    scored: tuple[int, int]
    scored_column: IntArray  # the same as int64[2, 1]
    balanced: tuple[int, int]
    balanced_column: IntArray
    static: NDArray[np.uint8]
    preferred: IntArray | None
    disliked: IntArray | None
    image_score: IntArray | None
    host_ports: tuple[HostPort, ...]
    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    liked: tuple[AffinityTerm, ...] = ()  # preferred affinity (weight > 0) and anti-affinity (weight < 0)
    hard_spread: tuple[Spread, ...] = ()
    soft_spread: tuple[Spread, ...] = ()
    has_own_spread: bool
    storage: StorageDemand
    devices: Demand
    delegated: dict[int, BoolArray]  # rows that devices stand for → on which nodes
    blocked: str
    has_affinity: bool = field(init=False)
    uses_devices: bool = field(init=False)
    is_simple: bool = field(init=False)
    is_plain: bool = field(init=False)
    is_ranked: bool = field(init=False)

    def __post_init__(self) -> None:
        has_affinity = bool(self.affinity or self.anti_affinity or self.liked)
        uses_devices = not self.devices.is_empty
        is_apart = not (
            self.host_ports or self.affinity or self.hard_spread or uses_devices or self.storage.is_in_motion
        )
        is_simple = is_apart and not self.anti_affinity
        is_plain = is_simple and self.storage.codes is None and not (self.storage.attached or self.blocked)
        for name, value in (
            ("has_affinity", has_affinity), ("uses_devices", uses_devices), ("is_simple", is_simple), ("is_plain", is_plain),
            ("is_ranked", is_apart and not self.liked),
        ):  # fmt: skip
            object.__setattr__(self, name, value)  # worked out once: every attempt asks


class Alike(Record, kw_only=False, eq=False):
    """What shapes have in common that every node judges alike, by static filters and amounts alone.

    `large` says where the pod fits on an empty node: bool[candidate].
    """

    shape: Shape  # one of them
    large: BoolArray


@once_a_cluster
def alike(cluster: Cluster, shape: Shape) -> Alike:
    """One object for all shapes that ask for the same amounts of the same nodes with the same priority."""
    nodes = blake2b(shape.static.tobytes(), digest_size=16).digest()
    alike_by_key, alike_key = _alike(cluster), (nodes, shape.asks, shape.absent, shape.priority, shape.may_preempt)
    if alike_key not in alike_by_key:
        large = np.full(len(shape.candidates), not shape.absent)
        for row, amount in shape.asks:
            large &= cluster.allocatable[row, shape.candidates] >= amount
        if len(alike_by_key) >= MOST_KEPT:
            alike_by_key.clear()
        alike_by_key[alike_key] = Alike(shape, large)
    return alike_by_key[alike_key]


@once_a_cluster
def _alike(_: Cluster) -> dict[object, Alike]:
    return {}


def _merge_keys(selector: LabelSelector | None, labels: Labels, match: tuple[str, ...], mismatch: tuple[str, ...] = ()) -> LabelSelector | None:  # fmt: skip
    """matchLabelKeys and mismatchLabelKeys turned into requirements, as the API server does on creation."""
    if selector is None:
        return None
    extra = [Requirement(key=key, operator="In", values=(labels[key],)) for key in match if key in labels]
    extra += [Requirement(key=key, operator="NotIn", values=(labels[key],)) for key in mismatch if key in labels]
    if not extra:
        return selector
    return replace(selector, match_expressions=selector.match_expressions + tuple(extra))


def compile_term(term: PodAffinityTerm, namespace: str, labels: Labels, sign: int = 1) -> AffinityTerm:
    """Resolve a term of a pod in `namespace` with `labels` (`newAffinityTerm`: no namespaces means its own)."""
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        selector=_merge_keys(term.label_selector, labels, term.match_label_keys, term.mismatch_label_keys),
        topology_key=term.topology_key,
        namespaces=frozenset((namespace,)) if own else frozenset(term.namespaces),
        namespace_selector=term.namespace_selector,
        weight=term.weight * sign,
    )


def _compile_spread(
    cluster: Cluster, constraints: list[TopologySpreadConstraint], spec: PodSpec, labels: Labels
) -> tuple[Spread, ...]:
    """Hard or soft constraints with the nodes they count on.

    Source: plugins/podtopologyspread `calPreFilterState`, `initPreScoreState` and `matchNodeInclusionPolicies`.
    """
    if not constraints:
        return ()
    has_all_keys = np.ones(cluster.node_count, dtype=np.bool_)
    for constraint in constraints:
        has_all_keys &= cluster.domains(constraint.topology_key).codes >= 0
    compiled = []
    for constraint in constraints:
        counted = has_all_keys.copy()
        if constraint.node_affinity_policy == "Honor":
            counted &= _affine(cluster, spec.node_selector, spec.node_affinity)
        if constraint.node_taints_policy == "Honor":
            counted &= cluster.where(lambda n: tolerates_taints(spec.tolerations, n.taints), ())
        selector = _merge_keys(constraint.label_selector, labels, constraint.match_label_keys)
        compiled.append(
            Spread(
                max_skew=constraint.max_skew,
                topology_key=constraint.topology_key,
                selector=selector,
                min_domains=constraint.min_domains or 1,
                counted=counted,
                matches_itself=labels_match(selector, labels),
            )
        )
    return tuple(compiled)


def _node_label_keys(spec: PodSpec) -> set[str]:
    keys = set(spec.node_selector)
    terms = list(spec.node_affinity.required or ()) + [p.term for p in spec.node_affinity.preferred]
    for term in terms:
        keys.update(requirement.key for requirement in term.match_expressions)
        if term.match_fields:
            keys.add(HOSTNAME)  # looks at the node's name: no class can answer
    return keys


@once_a_cluster
def _affine(cluster: Cluster, selector: Labels, affinity: NodeAffinity) -> BoolArray:
    spec = PodSpec(node_selector=selector, node_affinity=affinity)
    return cluster.where(lambda n: node_affinity_matches(spec, n.labels, n.name), _node_label_keys(spec))


def allowed(cluster: Cluster, spec: PodSpec) -> BoolArray:
    """Nodes that pass the static filters, volumes apart: bool[node]; one array for all that ask for the same nodes, don't
    change it."""
    return cluster.remember(_allowed, spec.node_name, spec.node_selector, spec.node_affinity, spec.tolerations)


def _allowed(
    cluster: Cluster, node_name: str, selector: Labels, affinity: NodeAffinity, tolerations: tuple[Toleration, ...]
) -> BoolArray:
    passes: BoolArray = _static(cluster, node_name, selector, affinity, tolerations) == Static.PASSES
    return passes


@once_a_cluster
def _static(
    cluster: Cluster, node_name: str, selector: Labels, affinity: NodeAffinity, tolerations: tuple[Toleration, ...]
) -> NDArray[np.uint8]:
    """The static filters, worked out once for all that ask for the same nodes; don't change it."""
    spec = PodSpec(node_name=node_name, node_selector=selector, node_affinity=affinity, tolerations=tolerations)

    def judge(node: Node) -> int:
        if not (spec.node_name or tolerates_cordon(spec, node)):
            return Static.CORDONED
        if spec.node_name and spec.node_name != node.name:
            return Static.OTHER_NODE_NAME
        # who names its node isn't kube-scheduler's: its kubelet looks at NoExecute alone (pkg/kubelet/lifecycle/predicate.go)
        taints = [taint for taint in node.taints if taint.effect == "NoExecute"] if spec.node_name else node.taints
        if not tolerates_taints(spec.tolerations, taints):
            return Static.TAINT
        if not node_affinity_matches(spec, node.labels, node.name):
            return Static.NODE_AFFINITY
        return Static.PASSES

    named = named_nodes(spec)
    if named is not None:
        codes = np.full(cluster.node_count, Static.NOT_NAMED, dtype=np.uint8)
        for name in named:
            position = cluster.node_index.get(name)
            if position is not None:
                codes[position] = judge(cluster.nodes[position])
        return codes
    keys = _node_label_keys(spec) | ({HOSTNAME} if spec.node_name else set())
    return cluster.by_node(judge, keys).astype(np.uint8)


def _preferred(cluster: Cluster, spec: PodSpec) -> IntArray | None:
    preferred = [p for p in spec.node_affinity.preferred if p.weight]
    if not preferred:
        return None

    def score(node: Node) -> int:
        return sum(p.weight for p in preferred if term_matches(p.term, node.labels, node.name))

    return cluster.by_node(score, _node_label_keys(spec))


@once_a_cluster
def _disliked(cluster: Cluster, tolerations: tuple[Toleration, ...]) -> IntArray | None:
    counts = cluster.by_node(lambda node: intolerable_preferences(tolerations, node.taints), ())
    return counts if counts.any() else None


_MIN_IMAGE_BYTES, _MAX_IMAGE_BYTES = 23 * 1024 * 1024, 1000 * 1024 * 1024


def _image_nodes(cluster: Cluster) -> Counter[str]:
    return Counter(image for node in cluster.nodes for image in node.images)


def _image_score(cluster: Cluster, spec: PodSpec) -> IntArray | None:
    """ImageLocality: bytes of the pod's images already on a node, scaled by how many nodes have them.

    Source: plugins/imagelocality `sumImageScores`, `calculatePriority`.
    """
    containers = spec.init_containers + spec.containers
    nodes_by_image = cluster.remember(_image_nodes)
    spread = {c.image: nodes_by_image.get(c.image, 0) for c in containers}
    if not any(spread.values()):
        return None
    largest = _MAX_IMAGE_BYTES * len(containers)
    scores = np.zeros(cluster.node_count, dtype=np.int64)
    for i, node in enumerate(cluster.nodes):
        total = sum(int(node.images.get(c.image, 0) * spread[c.image] / cluster.node_count) for c in containers)
        clamped = min(max(total, _MIN_IMAGE_BYTES), largest)
        scores[i] = 100 * (clamped - _MIN_IMAGE_BYTES) // (largest - _MIN_IMAGE_BYTES)
    return scores


_SYSTEM_DEFAULT_SPREAD = ((HOSTNAME, 3), (ZONE, 5))  # kubernetes pkg/scheduler/framework/plugins/podtopologyspread


def _soft_spread(
    cluster: Cluster, spec: PodSpec, labels: Labels, default_selector: LabelSelector | None
) -> tuple[Spread, ...]:
    if spec.topology_spread:
        soft = [c for c in spec.topology_spread if c.when_unsatisfiable == "ScheduleAnyway"]
        return _compile_spread(cluster, soft, spec, labels)
    if default_selector is None:
        return ()
    affine = _affine(cluster, spec.node_selector, spec.node_affinity)
    return tuple(
        Spread(
            max_skew=max_skew,
            topology_key=key,
            selector=default_selector,
            counted=affine,
            matches_itself=labels_match(default_selector, labels),
        )
        for key, max_skew in _SYSTEM_DEFAULT_SPREAD
    )


def compile_shape(
    cluster: Cluster,
    namespace: str,
    labels: Labels,
    spec: PodSpec,
    *,
    default_selector: LabelSelector | None = None,
) -> Shape:
    """The shape of a pod, compiled once a cluster for equal arguments.

    Parameters
    ----------
    default_selector : LabelSelector or None
        Selector of the owning ReplicaSet or StatefulSet, for the default spreading of pods without constraints.
    """
    return cluster.remember(_compile, namespace, labels, spec, default_selector)


def shape_of(cluster: Cluster, workload: Workload | ReplicaSet) -> Shape:
    """The shape of a workload's new pods, as its template has them."""
    return compile_shape(cluster, workload.namespace, workload.template.labels, workload.template.spec)


def seats(shape: Shape, free: IntArray) -> IntArray:
    """How many pods of a shape find the amounts that they ask for on each node: int64[node].

    Parameters
    ----------
    free : int64[resource, node]
        What is there for them, on any nodes; less than nothing is none.
    """
    count: IntArray = np.maximum(free[PODS_ROW], 0) if not shape.absent else np.zeros(free.shape[1], dtype=np.int64)
    for row, amount in shape.asks:
        count = np.minimum(count, np.maximum(free[row], 0) // amount)
    return count


def asks_of(cluster: Cluster, spec: PodSpec) -> tuple[tuple[int, int], ...]:
    """`Shape.asks` of a pod with that spec."""
    requests = pod_requests(spec).items()
    return tuple((cluster.row[name], min(amount, TOO_MUCH)) for name, amount in requests if name in cluster.row)


def compile_alike(cluster: Cluster, namespace: str, labels: Labels, spec: PodSpec) -> Shape:
    """The same, compiled once for the same objects: comparing and hashing what many pods have costs more."""
    return cluster.remember(_compile_same, namespace, Same(labels), Same(spec))


def _compile_same(cluster: Cluster, namespace: str, labels: Same[Labels], spec: Same[PodSpec]) -> Shape:
    return _compile(cluster, namespace, labels.value, spec.value, None)


def _compile(
    cluster: Cluster, namespace: str, labels: Labels, spec: PodSpec, default_selector: LabelSelector | None
) -> Shape:
    """What depends on labels is added to what pods of one template have in common."""
    required = [c for c in spec.topology_spread if c.when_unsatisfiable != "ScheduleAnyway"]
    compile_one = partial(compile_term, namespace=namespace, labels=labels)
    return replace(
        cluster.remember(_compile_unlabelled, namespace, Same(spec)),
        labels=labels,
        affinity=tuple(compile_one(t) for t in spec.pod_affinity if not t.weight),
        anti_affinity=tuple(compile_one(t) for t in spec.pod_anti_affinity if not t.weight),
        liked=tuple(compile_one(t) for t in spec.pod_affinity if t.weight)
        + tuple(compile_one(t, sign=-1) for t in spec.pod_anti_affinity if t.weight),
        hard_spread=_compile_spread(cluster, required, spec, labels),
        soft_spread=_soft_spread(cluster, spec, labels, default_selector),
    )


def _compile_unlabelled(cluster: Cluster, namespace: str, of: Same[PodSpec]) -> Shape:
    spec = of.value
    requests = pod_requests(spec)
    millicores, size = scored_requests(spec)
    scored = min(millicores, TOO_MUCH), min(size, TOO_MUCH)
    balanced = min(requests.get(CPU, 0), TOO_MUCH), min(requests.get(MEMORY, 0), TOO_MUCH)
    storage = storage_demand(cluster, namespace, spec)
    devices = device_demand(cluster, namespace, spec)
    by_devices = {name for name, _, _ in devices.delegated}
    named = class_of(spec, cluster.priorities)
    policy = spec.preemption_policy or (named.preemption_policy if named else "PreemptLowerPriority")
    static = _static(cluster, spec.node_name, spec.node_selector, spec.node_affinity, spec.tolerations)
    passes = static == Static.PASSES
    if storage.codes is not None:
        passes &= storage.codes == 0
    return Shape(
        namespace=namespace,
        spec=spec,
        priority=cluster.priority_of(spec),
        may_preempt=policy != "Never" and not spec.node_name,  # kube-scheduler isn't asked for one that names its node
        asks=asks_of(cluster, spec),
        # A resource that a DeviceClass stands for (DRAExtendedResource) is no lack where no node has it: the
        # scheduler makes a claim for it.
        absent=tuple(sorted(name for name in requests if name not in cluster.row and name not in by_devices)),
        candidates=np.flatnonzero(passes),
        scored=scored,
        scored_column=np.array(scored, dtype=np.int64)[:, None],
        balanced=balanced,
        balanced_column=np.array(balanced, dtype=np.int64)[:, None],
        static=static,
        preferred=_preferred(cluster, spec),
        disliked=_disliked(cluster, spec.tolerations),
        image_score=_image_score(cluster, spec),
        host_ports=host_ports(spec),
        has_own_spread=bool(spec.topology_spread),
        storage=storage,
        devices=devices,
        delegated={cluster.row[name]: nodes for name, nodes, _ in devices.delegated if name in cluster.row},
        blocked=storage.blocked or devices.blocked,
    )
