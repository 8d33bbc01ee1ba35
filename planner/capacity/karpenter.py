"""Simulates Karpenter's scale-up for pending pods: new nodes of the instance types that its NodePools allow.

Source: karpenter (v1.13) `pkg/controllers/provisioning/scheduling/scheduler.go` `Solve`, `add`, `addToNewNodeClaim`,
`filterByRemainingResources`, `subtractMax`; `nodeclaim.go` `CanAdd`; `queue.go`; `pkg/utils/nodepool/nodepool.go` `OrderByWeight`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Final

from planner.capacity.cluster_autoscaler import renamed_node, shape_for_grown_cluster, with_daemons_aside
from planner.capacity.node_pools import NodePool, capacity_of
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record, dataclass, replace
from planner.ground.well_known_names import (
    ARCHITECTURE,
    CPU,
    HOSTNAME,
    INSTANCE_TYPE,
    KARPENTER_CAPACITY_TYPE,
    KARPENTER_NODE_POOL,
    MEMORY,
    OLD_ARCHITECTURE,
    OLD_OPERATING_SYSTEM,
    OLD_REGION,
    OLD_ZONE,
    OPERATING_SYSTEM,
    PODS,
    REGION,
    ZONE,
)
from planner.ground.words import listing
from planner.ground.work_budget import current
from planner.inventory.instance_types import InstanceType, Offering
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.node_properties import machine_type, region_of_zone, zone
from planner.kubernetes.object_records import EMPTY, FrozenMap, Labels, Node, NodeClaim, Requirement
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import node_affinity_matches, requirement_matches, tolerates_taints
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import Fails, fails_on, feasible_nodes, is_judged_by_node
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import Shape
from planner.scheduling.state import State

_UNITS_A_LOOK: Final = 400  # at a claim with rules on neighbors, and for each claim and pod that there is: as measured
_UNITS_A_POD: Final = 12
_OLD_NAMES: Final = {  # that kubelets write beside the new ones (karpenter `pkg/apis/v1/labels.go` `NormalizedLabels`)
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE, OLD_ARCHITECTURE: ARCHITECTURE, OLD_OPERATING_SYSTEM: OPERATING_SYSTEM,
    OLD_ZONE: ZONE, OLD_REGION: REGION,
}  # fmt: skip
_KNOWN_BY_NODES: Final = frozenset(
    {INSTANCE_TYPE, ZONE, REGION, KARPENTER_CAPACITY_TYPE, ARCHITECTURE, OPERATING_SYSTEM, HOSTNAME, *_OLD_NAMES}
)
_PROVIDERS: Final = (
    "karpenter.k8s.aws/", "topology.k8s.aws/", "eks.amazonaws.com/", "karpenter.kwok.sh/", "karpenter.azure.com/", "kubernetes.azure.com/",
    "karpenter.k8s.gcp/",
)  # fmt: skip
_FREE_OPERATORS: Final = frozenset({"Exists", "In"})


class _Option(Record, eq=False):
    """A machine in a zone, bought in one way; `node` is what it would be, DaemonSets' share set aside. `known`: those of its labels that
    Karpenter knows of before it is there."""

    type: InstanceType
    offering: Offering
    node: Node
    template: Node  # the same, nothing set aside
    known: Labels

    @property
    def rank(self) -> tuple[bool, float, bool, int, int, str, str]:
        """The cheapest first; without spot prices, then the smallest."""
        usd = self.offering.usd_per_hour
        capacity = self.type.capacity
        return (
            usd is None, usd or 0.0, self.offering.capacity_type != "spot", capacity.get(CPU, 0), capacity.get(MEMORY, 0),
            self.type.name, self.offering.zone,
        )  # fmt: skip


@dataclass(slots=True, eq=False)
class _Claim:
    """A node that is to come: what it may still be, and who is on it."""

    pool: NodePool
    options: list[_Option]
    asked: dict[str, int] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)  # that pods have chosen

    @property
    def node(self) -> Node:
        """The node that the claim would become now."""
        node = min(self.options, key=lambda option: option.rank).template
        return replace(node, labels=FrozenMap({**node.labels, **self.labels}))


class Provisioner:
    """What NodePools may bring; `is_bound` False: as if they had no limits."""

    def __init__(self, cluster: Cluster, pools: Sequence[NodePool], *, is_bound: bool = True) -> None:
        self._cluster = cluster
        self._is_bound = is_bound
        # heaviest first, by name among equals
        able = [
            pool
            for pool in pools
            if not is_bound or (pool.is_autoscaled is not False and (pool.stated is None or pool.stated.is_ready))
        ]  # a static one keeps its number
        self._pools = sorted(able, key=lambda pool: (-(pool.stated.weight if pool.stated else 0), pool.name))
        self._options = {pool.name: _options(cluster, pool) for pool in self._pools}
        self._brought: dict[str, list[Node]] = {pool.name: [] for pool in self._pools}

    def provision(self, cluster: Cluster, state: State, waiting: Iterable[LivePod]) -> list[tuple[NodePool, Node]]:
        """The nodes that one turn brings, each like a template; `state` is changed."""
        pods = [pod for pod in waiting if not pod.is_gated and not pod.is_bound]
        pods = sorted(pods, key=lambda pod: tuple(-pod_requests(pod.shape.spec).get(name, 0) for name in (CPU, MEMORY)))
        claims: list[_Claim] = []
        remaining = {pool.name: self._remaining(pool) for pool in self._pools}
        # Shape → (claims, labels chosen on them) when it was last refused. Claims only get fuller, so that these refuse it again; a new
        # claim, or a label that another pod had one choose, may take it.
        refused: dict[Shape, tuple[int, int]] = {}
        for pod in pods:
            if len(claims) > LIMITS.nodes_brought:
                break
            stand = (len(claims), sum(len(claim.labels) for claim in claims))
            if refused.get(pod.shape) == stand:
                continue
            nodes = feasible_nodes(state, pod.shape)
            if len(nodes):
                state.add(pod.shape, int(nodes[0]))
                continue
            claims.sort(key=lambda claim: len(claim.shapes))
            if any(self._join(cluster, state, claims, claim, pod.shape) for claim in claims):
                continue
            # Only what a node's own amounts and labels decide: a neighbor that comes may let in a pod with rules on neighbors.
            if not self._open(cluster, state, claims, pod.shape, remaining) and is_judged_by_node(state, pod.shape):
                refused[pod.shape] = stand
        new_nodes = [(claim.pool, claim.node) for claim in claims]
        for pool, node in new_nodes:
            self._brought[pool.name].append(node)
        return new_nodes

    # ── claims ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _open(
        self, cluster: Cluster, state: State, claims: list[_Claim], shape: Shape, remaining: dict[str, dict[str, int]]
    ) -> bool:
        for pool in self._pools:
            budget = remaining[pool.name]
            options = [option for option in self._options[pool.name] if _is_within(option.type, budget)]
            claim = _Claim(pool=pool, options=options)
            if options and self._join(cluster, state, claims, claim, shape):
                claims.append(claim)
                # Which of the types is launched is open until the end, so that Karpenter takes the largest off the
                # NodePool's limits (`subtractMax`, karpenter `pkg/controllers/provisioning/scheduling/scheduler.go`).
                largest = {name: max(option.type.capacity.get(name, 0) for option in claim.options) for name in budget}
                for name in budget:
                    budget[name] -= 1 if name == _NODES else largest[name]
                return True
        return False

    def _join(self, cluster: Cluster, state: State, claims: Sequence[_Claim], claim: _Claim, shape: Shape) -> bool:
        """Whether the pod goes to the claim, which is then no more than what can hold it too."""
        if claim.pool.stated is not None and not tolerates_taints(shape.spec.tolerations, claim.pool.stated.taints):
            return False
        requests = dict(claim.asked)
        for name, amount in {**pod_requests(shape.spec), PODS: 1}.items():
            requests[name] = requests.get(name, 0) + amount
        labels = {**_chosen(claim.pool, shape), **claim.labels}
        options = [option for option in claim.options if _fits(option, requests, labels, shape)]
        if claim.pool.stated is not None and _lacks_values(claim.pool.stated, options):
            return False
        # Only rules about neighbors need all claims' nodes in one cluster, which is compiled anew for each look.
        if options and (shape.has_affinity or shape.hard_spread or shape.host_ports or state.is_kept_away(shape)):
            options = _allowed(cluster, state, claims, claim, options, shape)
        if not options:
            return False
        claim.options, claim.asked, claim.labels = options, requests, labels
        claim.shapes.append(shape)
        return True

    def _remaining(self, pool: NodePool) -> dict[str, int]:
        """What the pool's limits leave, by resource; ``nodes`` too."""
        if not self._is_bound:
            return {}
        used = capacity_of(self._cluster, pool)
        more: list[Node | NodeClaim] = [*self._brought[pool.name], *unregistered(self._cluster, pool.name)]
        pool_room = {
            name: limit - used.get(name, 0) - sum(node.capacity.get(name, 0) for node in more)
            for name, limit in pool.resource_limits.items()
        }
        if pool.maximum is not None:
            pool_room[_NODES] = pool.maximum - pool.node_count - len(more)
        return pool_room

    # ── what isn't known ────────────────────────────────────────────────────────────────────────────────────────────
    def missing(self, waiting: Shape) -> tuple[str, ...]:
        """What isn't known of machines that might take the pod."""
        return tuple(filter(None, (self._missing_of(pool, waiting) for pool in self._pools)))

    def _missing_of(self, pool: NodePool, waiting: Shape) -> str:
        stated = pool.stated
        if stated is None or not could_take(pool, waiting):
            return ""
        type_names = {option.type.name for option in self._options[pool.name]}
        types = next(
            (
                requirement
                for requirement in stated.requirements
                if requirement.key == INSTANCE_TYPE and requirement.operator == "In"
            ),
            None,
        )
        listed = {instance_type.name for instance_type in pool.instance_types}
        lacks = {*pool.machine_types, *(types.values if types is not None else ())} - listed
        if listed and type_names and not lacks:
            return ""
        if (
            types is not None
            and type_names.issuperset(types.values)
            and not _chooses_elsewhere(self._cluster, pool, waiting)
        ):
            return ""
        requests = {**pod_requests(waiting.spec), PODS: 1}
        made_to_measure = InstanceType(name="", capacity=FrozenMap(requests))
        # A NodePool at its limit brings no machine, whatever the list of types lacks.
        if not _is_within(made_to_measure, self._remaining(pool)):
            return ""
        field_ = INSTANCE_TYPE if types is not None else "spec.template.spec.requirements"
        what = f"which machines NodePool {pool.name} may bring isn't known"
        if listed:
            return f"{what}: the list of instance types has {f'no {listing(sorted(lacks))}' if lacks else 'none that it allows'}"
        return f"{what} ({field_}): give --instance-types"


_NODES: Final = "nodes"


def unregistered(cluster: Cluster, pool: str) -> list[NodeClaim]:
    """The pool's nodes on their way that the snapshot doesn't show yet."""
    claims = (claim for claim in cluster.snapshot.node_claims if claim.labels.get(KARPENTER_NODE_POOL) == pool)
    return [claim for claim in claims if not claim.is_deleting and claim.node not in cluster.node_index]


def _is_within(kind: InstanceType, pool_room: dict[str, int]) -> bool:
    """`filterByRemainingResources`: by capacity, not by what pods may ask."""
    return all(amount >= (1 if name == _NODES else kind.capacity.get(name, 0)) for name, amount in pool_room.items())


def _lacks_values(stated: PoolLimits, options: Sequence[_Option]) -> bool:
    """Whether the machines that are left have too few values of a label with ``minValues``: by its default policy (Strict) Karpenter opens no
    node then (`pkg/cloudprovider/types.go` `SatisfiesMinValues`)."""
    return any(
        len({option.known[label] for option in options if label in option.known}) < least
        for label, least in stated.least_values.items()
    )


def _fits(option: _Option, requests: dict[str, int], labels: dict[str, str], shape: Shape) -> bool:
    node = option.node
    return all(node.allocatable.get(name, 0) >= amount for name, amount in requests.items()) and node_affinity_matches(
        shape.spec, FrozenMap({**option.known, **labels}), node.name
    )


def _allowed(
    cluster: Cluster, state: State, claims: Sequence[_Claim], claim: _Claim, options: list[_Option], shape: Shape
) -> list[_Option]:
    """Of the options those in the zone that the rules on neighbors allow: the one with the cheapest.

    Raises
    ------
    TooLargeError
        When the question may cost no more: each of many such pods is tried with each claim, beside all others.
    """
    best: dict[str, _Option] = {}
    for offering_option in sorted(options, key=lambda candidate: candidate.rank):
        best.setdefault(offering_option.offering.zone, offering_option)
    others = [other_claim for other_claim in claims if other_claim is not claim]
    nodes = [renamed_node(other_claim.node, f"claim-{i}") for i, other_claim in enumerate(others)]
    work = _UNITS_A_LOOK + _UNITS_A_POD * sum(1 + len(node_claim.shapes) for node_claim in claims)
    for place, option in best.items():
        current().spend(work)
        name = f"claim-in-{place}"
        node = renamed_node(option.template, name)
        larger = cluster.grown((*nodes, node))
        tried = state.over(larger)
        # Pods of claims have no node yet: put there, or two replicas that exclude each other would share a claim.
        for each, other in zip(nodes, others, strict=True):
            for other_shape in other.shapes:
                tried.add(shape_for_grown_cluster(larger, other_shape), larger.node_index[each.name])
        for own_shape in claim.shapes:
            tried.add(shape_for_grown_cluster(larger, own_shape), larger.node_index[name])
        if fails_on(tried, shape_for_grown_cluster(larger, shape), larger.node_index[name]) == Fails.NOTHING:
            return [instance for instance in options if instance.offering.zone == place]
    return []


# ── what a NodePool may bring ────────────────────────────────────────────────────────────────────────────────────────
def _options(cluster: Cluster, pool: NodePool) -> list[_Option]:
    pool_limits = pool.stated
    if pool_limits is None:
        return []
    options: list[_Option] = []
    for kind in _types(cluster, pool):
        for offering in kind.offerings:
            labels = {
                **kind.all_labels,
                **{requirement.key: requirement.values[0] for requirement in pool_limits.requirements if requirement.operator == "In" and len(requirement.values) == 1 and not _is_given(requirement.key)},
                **pool_limits.labels,
                **({INSTANCE_TYPE: kind.name} if kind.name else {}),
                ARCHITECTURE: kind.architecture,
                OPERATING_SYSTEM: kind.operating_system,
                KARPENTER_NODE_POOL: pool.name,
            }  # fmt: skip
            if offering.zone:
                labels[ZONE] = offering.zone
                # Nodes of today tell their region themselves, and not every zone's name does (AKS calls none "0").
                if REGION not in labels and (region := region_of_zone(offering.zone)):
                    labels[REGION] = region
            if offering.capacity_type:
                labels[KARPENTER_CAPACITY_TYPE] = offering.capacity_type
            labels |= {old: labels[name] for old, name in _OLD_NAMES.items() if name in labels}
            # What the NodePool makes up itself is open until a pod chooses; only what comes with the machine can shut it out now.
            if all(
                requirement_matches(requirement, labels)
                for requirement in pool_limits.requirements
                if _is_given(requirement.key)
            ):
                options.append(_option(cluster, pool, kind, offering, labels))
    return options


def _option(
    cluster: Cluster, pool: NodePool, kind: InstanceType, offering: Offering, labels: dict[str, str]
) -> _Option:
    name = f"{pool.name}-{kind.name}"
    template = Node(
        name=name, labels=FrozenMap({**labels, HOSTNAME: name}), taints=pool.stated.taints if pool.stated else (),
        capacity=kind.capacity, allocatable=kind.allocatable, conditions=EMPTY,
    )  # fmt: skip
    # Today's nodes also have labels that came after them (GPU feature discovery's, a person's). Karpenter knows of none that isn't the
    # provider's or the NodePool's own, and leaves a pod that asks for one pending (`pkg/scheduling/requirements.go` `Compatible`).
    stated = pool.stated or PoolLimits(name=pool.name, source=pool.source)
    made = {KARPENTER_NODE_POOL, *stated.labels, *(requirement.key for requirement in stated.requirements)}
    known = labels if pool.instance_types else {key: labels[key] for key in labels if _is_given(key) or key in made}
    node = with_daemons_aside(cluster, template)
    return _Option(type=kind, offering=offering, node=node, template=template, known=FrozenMap(known))


def _is_given(key: str) -> bool:
    """Whether a label comes with the machine, and isn't one that a NodePool makes up."""
    return key in _KNOWN_BY_NODES or key.startswith(_PROVIDERS)


def _types(cluster: Cluster, pool: NodePool) -> Iterator[InstanceType]:
    """The machines there are: as the cloud's list says, with the overhead that a node of the cluster shows; without a list, those
    of today's nodes."""
    own = [node for node in cluster.nodes if node.name in set(pool.nodes)]
    karpenters = [node for node in cluster.nodes if KARPENTER_NODE_POOL in node.labels]
    node_by_type: dict[str, Node] = {}
    for node in (*own, *karpenters):
        node_by_type.setdefault(machine_type(node), node)
    if pool.instance_types:
        default = _overhead(next((node for node in (*own, *karpenters) if node.capacity), None))
        for kind in pool.instance_types:
            overhead = _overhead(node_by_type[kind.name]) if kind.name in node_by_type else kind.overhead or default
            yield replace(kind, overhead=FrozenMap(overhead) if overhead else None)
        return
    places = dict.fromkeys((zone(node), node.labels.get(KARPENTER_CAPACITY_TYPE, "")) for node in own or karpenters)
    for name, node in node_by_type.items():
        # A node of another NodePool shows what its machine is, by its provider's labels; its other labels are that
        # pool's own, and no new node of this one gets them.
        labels = {key: value for key, value in node.labels.items() if node in own or key.startswith(_PROVIDERS)}
        yield InstanceType(
            name=name, capacity=node.capacity or node.allocatable, overhead=FrozenMap(_overhead(node)), labels=FrozenMap(labels),
            architecture=node.labels.get(ARCHITECTURE, "amd64"), operating_system=node.labels.get(OPERATING_SYSTEM, "linux"),
            offerings=tuple(Offering(zone=place, capacity_type=how) for place, how in places),
        )  # fmt: skip


def _overhead(node: Node | None) -> dict[str, int]:
    """What pods don't get of a node."""
    if node is None:
        return {}
    return {
        name: amount - node.allocatable.get(name, 0)
        for name, amount in node.capacity.items()
        if amount > node.allocatable.get(name, 0)
    }


def _chosen(pool: NodePool, shape: Shape) -> dict[str, str]:
    """Labels that the NodePool lets pods choose, as this one does."""
    free = {
        pool_requirement.key: pool_requirement
        for pool_requirement in (pool.stated.requirements if pool.stated else ())
        if not _is_given(pool_requirement.key)
    }
    chosen_labels: dict[str, str] = {}
    for key, value in _wanted(shape):
        requirement = free.get(key)
        if (
            requirement is not None
            and requirement.operator in _FREE_OPERATORS
            and requirement_matches(requirement, {key: value})
        ):
            chosen_labels.setdefault(key, value)
    return chosen_labels


def _wanted(shape: Shape) -> Iterator[tuple[str, str]]:
    """(label, value) that the pod asks of a node."""
    spec = shape.spec
    yield from spec.node_selector.items()
    for term in spec.node_affinity.required or ():
        for expression in term.match_expressions:
            if expression.operator == "In":
                yield from ((expression.key, value) for value in expression.values)


def _chooses_elsewhere(cluster: Cluster, pool: NodePool, shape: Shape) -> bool:
    """Whether the pod asks for a zone or a way to buy that no node of Karpenter's shows, and that the NodePool doesn't shut out."""
    pool_limits = pool.stated
    for key, value in _wanted(shape):
        if key in (ZONE, KARPENTER_CAPACITY_TYPE) and all(node.labels.get(key) != value for node in cluster.nodes):
            return all(
                requirement_matches(requirement, {key: value})
                for requirement in (pool_limits.requirements if pool_limits else ())
                if requirement.key == key
            )
    return False


def could_take(pool: NodePool, shape: Shape) -> bool:
    """Whether nothing that the pod asks of a node is shut out by what the NodePool says."""
    pool_limits = pool.stated
    if pool_limits is None or not tolerates_taints(shape.spec.tolerations, pool_limits.taints):
        return False
    by_key: dict[str, list[Requirement]] = {}
    for requirement in pool_limits.requirements:
        by_key.setdefault(requirement.key, []).append(requirement)
    for key, value in shape.spec.node_selector.items():
        rules = by_key.get(key, [])
        if not all(requirement_matches(rule, {key: value}) for rule in rules):
            return False
        if (
            # A label that neither the NodePool nor the cloud writes is on none of its nodes.
            not rules
            and not _is_given(key)
            and pool_limits.labels.get(key, key == KARPENTER_NODE_POOL and pool.name) != value
        ):
            return False
    return True
