"""Devices requested through ResourceClaims, or through extended resources of a DeviceClass (dynamic resource
allocation).

Claims, requests and devices are gone through in the allocator's order, so that the first solution is its solution and
an error that stops it stops it here. Of a device that several claims may share each takes a part of its capacity
(`consumed`). What isn't known (CEL beyond the library, conditions of a driver) is answered "unknown" and said aloud. Sources: kubernetes `pkg/scheduler/framework/plugins/dynamicresources`,
`k8s.io/dynamic-resource-allocation/structured/internal/incubating`, `pkg/controller/resourceclaim/controller.go`;
KEP-4381, KEP-4815, KEP-4816, KEP-5004, KEP-5055, KEP-5075.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record
from planner.ground.well_known_names import DEVICE_CLASS_PREFIX, is_extended_resource
from planner.kubernetes.object_records import (
    EMPTY,
    Amounts,
    CapacityPolicy,
    ClaimSpec,
    Device,
    DeviceConstraint,
    DeviceRequest,
    FrozenMap,
    PodSpec,
    Presence,
    ResourceClaim,
    ResourceSlice,
    Snapshot,
)
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import tolerates_taints
from planner.scheduling.cel_errors import CelError, NotEvaluated
from planner.scheduling.cluster import BoolArray, Cluster, CodeArray

ALL_NODES = -1
MOST_DEVICES = 32  # of one claim: AllocationResultsMaxSize
_MOST_STEPS = 20_000  # of one search; kube-scheduler gives up after 10 s
ClaimKey = tuple[str, str]  # namespace, name
Taken = tuple[int, Amounts]  # a device, and what of a shared one


class DeviceError(Exception):
    """What makes kube-scheduler give up the attempt, in its words."""


class ClaimDemand(Record):
    """One claim of a pod. `key` is None for a claim made for the pod alone."""

    key: ClaimKey | None
    label: str
    spec: ClaimSpec


class Demand(Record, eq=False):
    """What a pod's claims ask for.

    Attributes
    ----------
    delegated : extended resources a DeviceClass stands for: (resource, nodes that have it through devices only, requests)
    alike : bool[device] and count, where the whole demand is so many devices of one kind and nothing else
    unknown : why the demand can't be judged
    is_unread : for want of objects that the snapshot doesn't hold
    missing : a claim or template that isn't there: the pod is never tried
    blocked : why no node is looked at
    """

    claims: tuple[ClaimDemand, ...] = ()
    delegated: tuple[tuple[str, BoolArray, tuple[DeviceRequest, ...]], ...] = ()
    alike: tuple[BoolArray, int] | None = None
    unknown: str = ""
    is_unread: bool = False
    missing: str = ""
    blocked: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.claims or self.delegated or self.unknown or self.missing or self.blocked)

    def on_node(self, node: int) -> tuple[ClaimDemand, ...]:
        """The claims, with the one that the node's lack of a resource adds."""
        requests = tuple(
            request for _, nodes, claim_requests in self.delegated if nodes[node] for request in claim_requests
        )
        if not requests:
            return self.claims
        return (*self.claims, ClaimDemand(key=None, label="<extended-resources>", spec=ClaimSpec(requests=requests)))


class DeviceTable:
    """All devices of a cluster, in the order the allocator tries them: by driver, pool, slice and place.

    `node` is int32[device]: the node a device is on, −1 when any node reaches it (or those of `reach`). `usable` is
    False for devices of a pool of which slices are missing.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        snapshot = cluster.snapshot
        newest: dict[tuple[str, str], int] = {}
        pools: dict[tuple[str, str], list[ResourceSlice]] = {}
        for s in snapshot.resource_slices:
            newest[s.driver, s.pool] = max(newest.get((s.driver, s.pool), 0), s.generation)
        for s in snapshot.resource_slices:
            # A driver publishes a changed pool slice by slice, under a higher generation: slices of the one before
            # count no more.
            if s.generation == newest[s.driver, s.pool]:
                pools.setdefault((s.driver, s.pool), []).append(s)
        self.devices: list[tuple[ResourceSlice, Device]] = []
        self.reach: dict[int, BoolArray] = {}  # devices selected by node labels
        self.counters: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        self.incomplete: list[tuple[str, BoolArray]] = []  # pools, and the nodes they have devices for
        nodes: list[int] = []
        usable: list[bool] = []
        for key in sorted(pools):
            slices = sorted(pools[key], key=lambda resource_slice: resource_slice.name)
            # The allocator takes no device of a pool of which a slice is missing (resourceSliceCount).
            is_whole = len(slices) == slices[0].slice_count
            self.counters[key] = Counter({(a, b): n for s in slices for a, b, n in s.counters})
            first = len(nodes)
            for s in slices:
                if not s.node_name or s.node_name in cluster.node_index:
                    for device in s.devices:
                        nodes.append(self._place(len(nodes), s, device))
                        usable.append(is_whole)
                        self.devices.append((s, device))
            if not is_whole:
                self.incomplete.append((f"{key[0]}/{key[1]}", self._nodes_of(range(first, len(nodes)), nodes)))
        self.node: CodeArray = np.array(nodes, dtype=np.int32)
        self.usable = np.array(usable, dtype=np.bool_)
        self.number = {(s.driver, s.pool, d.name): i for i, (s, d) in enumerate(self.devices)}
        self.taken = np.zeros(len(self.devices), dtype=np.bool_)
        self.shares: Counter[tuple[int, str]] = (
            Counter()
        )  # (device, capacity) → how much of a shared device its claims have taken
        self.by_pod: dict[str, tuple[Taken, ...]] = {}
        for claim in snapshot.resource_claims:
            held_amounts = self.held_by(claim)
            for place, amounts in held_amounts:
                self.taken[place] = not self.devices[place][1].is_shared
                self.shares.update({(place, name): amount for name, amount in amounts.items()})
            if claim.owner is not None and held_amounts:
                self.by_pod[claim.owner.uid] = self.by_pod.get(claim.owner.uid, ()) + held_amounts
        self.classes = {c.name: c for c in snapshot.device_classes}
        # Two classes may stand for one resource while users move from one to the other: the newest does, then the first by name
        # (kubernetes staging/src/k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache `updateResourceName2class`).
        classes = sorted(snapshot.device_classes, key=lambda c: (-(c.created_at or 0.0), c.name))
        by_resource = {c.extended_resource_name: c.name for c in reversed(classes)}
        self.class_of = {**{f"{DEVICE_CLASS_PREFIX}{name}": name for name in self.classes}, **by_resource}
        self._on_node: dict[int, list[int]] = {}

    def held_by(self, claim: ResourceClaim) -> tuple[Taken, ...]:
        """The devices that are allocated to a claim of the snapshot."""
        amounts = claim.consumed or (EMPTY,) * len(claim.allocated)
        return tuple((self.number[a], b) for a, b in zip(claim.allocated, amounts, strict=True) if a in self.number)

    def is_used(self, device: int) -> bool:
        """Whether a claim of the snapshot holds it, or a part of it."""
        return bool(self.taken[device]) or any(self.shares[device, name] for name in self.devices[device][1].capacity)

    def _place(self, number: int, s: ResourceSlice, device: Device) -> int:
        placed_on = device if s.is_per_device else s
        if placed_on.node_name:
            return self.cluster.node_index.get(placed_on.node_name, ALL_NODES - 1)
        if placed_on.node_selector is not None:
            self.reach[number] = self.cluster.selected((placed_on.node_selector,))
        return ALL_NODES

    def _nodes_of(self, devices: Iterable[int], place: list[int]) -> BoolArray:
        nodes = np.zeros(self.cluster.node_count, dtype=np.bool_)
        for i in devices:
            if place[i] >= 0:
                nodes[place[i]] = True
            elif place[i] == ALL_NODES:
                nodes |= self.reach.get(i, np.True_)
        return nodes

    def on_node(self, node: int) -> list[int]:
        """Usable devices that the node reaches, in order."""
        devices = self._on_node.get(node)
        if devices is None:
            near = (self.node == node) | (self.node == ALL_NODES)
            numbers = np.flatnonzero(near & self.usable).tolist()
            devices = [i for i in numbers if i not in self.reach or self.reach[i][node]]
            self._on_node[node] = devices
        return devices

    def pool(self, device: int) -> tuple[str, str]:
        s, _ = self.devices[device]
        return s.driver, s.pool

    def suits(self, device: int, claim: ClaimDemand, request: DeviceRequest) -> bool:
        """Whether a device satisfies the selectors of the request and of its class.

        Raises
        ------
        DeviceError
            When one of them fails on the device.
        """
        from planner.scheduling.device_selectors import satisfies  # only clusters with selectors pay for its library

        s, candidate = self.devices[device]
        by_class = self.classes[request.device_class_name].selectors
        for who, expressions in ((f"class {request.device_class_name}", by_class), (claim.label, request.selectors)):
            for i, expression in enumerate(expressions):
                try:
                    if not satisfies(expression, s.driver, candidate):
                        return False
                except CelError as error:
                    raise DeviceError(f"{who}: selector #{i}: CEL runtime error: {error}") from None
        return True

    def tolerated(self, device: int, request: DeviceRequest) -> bool:
        """Whether a request tolerates the device's own taints and those of DeviceTaintRules (resourceslice tracker)."""
        s, own = self.devices[device]
        rules = (
            rule.taint
            for rule in self.cluster.snapshot.device_taint_rules
            if rule.driver in ("", s.driver) and rule.pool in ("", s.pool) and rule.device in ("", own.name)
        )
        return tolerates_taints(request.tolerations, (*own.taints, *rules))

    def attribute(self, device: int, name: str) -> str | int | bool | None:
        """A qualified attribute; those of the driver's own domain may be listed by their plain name."""
        s, device_record = self.devices[device]
        domain, _, plain = name.partition("/")
        attribute: str | int | bool | None = device_record.attributes.get(name)
        return device_record.attributes.get(plain) if attribute is None and domain == s.driver else attribute


def device_table(cluster: Cluster) -> DeviceTable:
    """The cluster's devices, compiled once."""
    return cluster.remember(DeviceTable)


# ── demand ───────────────────────────────────────────────────────────────────────────────────────────────────────────
_NOTHING = Demand()


def device_demand(cluster: Cluster, namespace: str, spec: PodSpec) -> Demand:
    """What a pod of this spec asks for; claims from templates are its own. Compiled once."""
    if not spec.resource_claims and not cluster.snapshot.device_classes:
        return _NOTHING
    return cluster.remember(_demand, namespace, spec)


def _demand(cluster: Cluster, namespace: str, spec: PodSpec) -> Demand:
    snapshot, table = cluster.snapshot, device_table(cluster)
    templates = {t.name: t.spec for t in snapshot.resource_claim_templates if t.namespace == namespace}
    named = {c.name: c.spec for c in snapshot.resource_claims if c.namespace == namespace}
    claims: list[ClaimDemand] = []
    for reference in spec.resource_claims:
        if reference.resource_claim_template_name is not None:
            kind, name, key = "ResourceClaimTemplate", reference.resource_claim_template_name, None
            claim_spec = templates.get(name)
        else:
            kind, name = "ResourceClaim", reference.resource_claim_name or ""
            key, claim_spec = (namespace, name), named.get(name)
        if claim_spec is None:
            # All claims were read and this isn't one of them: kube-scheduler refuses the pod. An unread one is only
            # unknown.
            if snapshot.presence.get(kind) is Presence.PRESENT:
                return Demand(missing=f"{kind} {name}")
            return Demand(unknown=f"the snapshot doesn't hold {kind} {name}", is_unread=True)
        claims.append(
            ClaimDemand(key=key, label=f"claim {namespace}/{reference.name if key is None else name}", spec=claim_spec)
        )
    delegated = _delegated(cluster, table, spec)
    everything = [*claims, *(ClaimDemand(key=None, label="", spec=ClaimSpec(requests=r)) for _, _, r in delegated)]
    if not everything:
        return _NOTHING
    barred = _barred(table, snapshot, everything)
    is_read = snapshot.presence.get("ResourceClaim") is Presence.PRESENT
    if not (barred or is_read) and cluster.remember(_are_held):
        barred = {
            "unknown": "the snapshot doesn't hold ResourceClaims, which say what pods have of devices",
            "is_unread": True,
        }
    alike = None if barred or delegated else _alike(table, claims)
    return Demand(claims=tuple(claims), delegated=delegated, alike=alike, **barred)


def _are_held(cluster: Cluster) -> bool:
    """Whether there are claims that hold devices: no pod with claims, its own or those that stand for extended resources, is on a node
    before they are allocated."""
    stands_for = device_table(cluster).class_of
    for pod in cluster.snapshot.pods:
        place = cluster.node_index.get(pod.node_name) if pod.holds_room else None
        if place is not None:
            stand_in_names = stands_for.keys() & pod_requests(pod.spec).keys()
            if pod.spec.resource_claims or any(
                not cluster.nodes[place].allocatable.get(name) for name in stand_in_names
            ):
                return True
    return False


def _barred(table: DeviceTable, snapshot: Snapshot, claims: list[ClaimDemand]) -> dict[str, Any]:
    """The fields of a `Demand` that say why it can't be judged, or why the pod is refused before any node is looked at."""
    for claim in claims:
        for request in claim.spec.requests:
            for subrequest in request.first_available or (request,):
                name = f"{request.name}/{subrequest.name}" if request.first_available else subrequest.name
                if subrequest.device_class_name not in table.classes:
                    if snapshot.presence.get("DeviceClass") is Presence.PRESENT:
                        return {
                            "blocked": f"request {name}: device class {subrequest.device_class_name} does not exist"
                        }
                    what = f"DeviceClass {subrequest.device_class_name} is not in the snapshot"
                    return {"unknown": what, "is_unread": True}
                for i, (_, device) in enumerate(table.devices):
                    try:
                        is_wanted = table.suits(i, claim, subrequest)
                    # A selector that fails on a device counts where the allocator meets it: it changes nothing on other
                    # nodes.
                    except DeviceError:
                        continue
                    except NotEvaluated:
                        return {"unknown": "a device selector uses CEL that Headroom can't evaluate"}
                    if is_wanted and device.is_complex:
                        what = "the devices wait for conditions of their driver, or are shared and use counters"
                        return {"unknown": what}
    return {}


def classes_without_devices(cluster: Cluster, demand: Demand) -> tuple[str, ...]:
    """DeviceClasses that a pod asks for and no device of any ResourceSlice is of, in use or not; of alternatives where that holds for all."""
    table, classes = device_table(cluster), dict[str, None]()
    implied = (
        ClaimDemand(key=None, label="", spec=ClaimSpec(requests=claim_requests))
        for _, _, claim_requests in demand.delegated
    )
    for claim in (*demand.claims, *implied):
        for request in claim.spec.requests:
            subrequests = request.first_available or (request,)
            if not any(_is_there(table, claim, device_request) for device_request in subrequests):
                classes.update(dict.fromkeys(device_request.device_class_name for device_request in subrequests))
    return tuple(classes)


def _is_there(table: DeviceTable, claim: ClaimDemand, request: DeviceRequest) -> bool:
    """Whether some device suits, or may."""
    is_known = request.device_class_name in table.classes  # else that is told otherwise
    return not is_known or any(may_suit(table, device, claim, request) for device in range(len(table.devices)))


def may_suit(table: DeviceTable, device: int, claim: ClaimDemand, request: DeviceRequest) -> bool:
    """Whether a device suits a request; one on which a selector fails may."""
    try:
        return request.device_class_name in table.classes and table.suits(device, claim, request)
    except (DeviceError, NotEvaluated):
        return True


def consumed(device: Device, requests: Amounts) -> Amounts | None:
    """What of each of a device's capacities a request takes; None where it can't have so much, or such a part.

    Source: `consumable_capacity.go` `CmpRequestOverCapacity`, `calculateConsumedCapacity`, `violatesPolicy`.
    """
    if any(name not in device.capacity for name in requests):
        return None
    amounts = {}
    for name, value in device.capacity.items():
        policy = device.policies.get(name)
        amount = _part(policy, requests.get(name), value)
        if amount > value or (policy is not None and _violates(policy, amount)):
            return None
        amounts[name] = amount
    return FrozenMap(amounts)


def _part(policy: CapacityPolicy | None, requested_amount: int | None, value: int) -> int:
    """What is asked for, rounded up to what may be."""
    if requested_amount is None:
        return value if policy is None or policy.default is None else policy.default
    if policy is None:
        return requested_amount
    if policy.minimum is not None:
        beyond = max(0, requested_amount - policy.minimum)
        return policy.minimum + (-(-beyond // policy.step) * policy.step if policy.step else beyond)
    return next((valid_amount for valid_amount in policy.values if requested_amount <= valid_amount), requested_amount)


def _violates(policy: CapacityPolicy, amount: int) -> bool:
    if amount == policy.default:
        return False
    if policy.maximum is not None and amount > policy.maximum:
        return True
    if policy.step:
        return (amount - (policy.minimum or 0)) % policy.step != 0
    return bool(policy.values) and amount not in policy.values


def _alike(table: DeviceTable, claims: list[ClaimDemand]) -> tuple[BoolArray, int] | None:
    if len(claims) != 1 or claims[0].key is not None or len(claims[0].spec.requests) != 1:
        return None
    claim, request = claims[0], claims[0].spec.requests[0]
    if claim.spec.constraints or request.first_available or request.is_admin or request.allocation_mode == "All":
        return None
    if request.capacity or request.count > MOST_DEVICES or (table.node < 0).any():
        return None
    mask = np.zeros(len(table.devices), dtype=np.bool_)
    try:
        for i, (_, device) in enumerate(table.devices):
            mask[i] = table.usable[i] and table.suits(i, claim, request) and table.tolerated(i, request)
            if mask[i] and (device.counters or device.is_shared):
                return None
    except DeviceError:
        return None  # whether it is met with depends on the node
    return mask, request.count


def _delegated(
    cluster: Cluster, table: DeviceTable, spec: PodSpec
) -> tuple[tuple[str, BoolArray, tuple[DeviceRequest, ...]], ...]:
    """Extended resources that devices stand for on nodes that don't list them (`shouldDelegateResourceToDRA`)."""
    delegated_requests = []
    for name in sorted(pod_requests(spec)):
        class_name = table.class_of.get(name)
        if class_name is None or not is_extended_resource(name):
            continue
        row = cluster.row.get(name)
        none_there = np.ones(cluster.node_count, dtype=np.bool_) if row is None else cluster.allocatable[row] == 0
        if none_there.any():
            delegated_requests.append((name, none_there, _extended_requests(spec, name, class_name)))
    return tuple(delegated_requests)


def _extended_requests(spec: PodSpec, resource: str, class_name: str) -> tuple[DeviceRequest, ...]:
    """One request a container; init containers that end use what later ones hold first, and share what is beyond it.

    Source: `extendeddynamicresources.go` `createRequestsAndMappings`.
    """
    everyone = spec.init_containers + spec.containers
    long_lived = [
        container.requests.get(resource, 0)
        if i >= len(spec.init_containers) or container.restart_policy == "Always"
        else 0
        for i, container in enumerate(everyone)
    ]
    beyond = max(
        (
            container.requests.get(resource, 0) - sum(long_lived[i:])
            for i, container in enumerate(spec.init_containers)
            if container.restart_policy != "Always"
        ),
        default=0,
    )
    counts = [*(count for count in long_lived if count > 0), *([beyond] if beyond > 0 else [])]
    return tuple(
        DeviceRequest(name=f"{resource}-{i}", device_class_name=class_name, count=count)
        for i, count in enumerate(counts)
    )


# ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class _Constraints:
    """A claim's constraints while devices are chosen: the values of each, in the order they were added."""

    def __init__(self, table: DeviceTable, constraints: tuple[DeviceConstraint, ...]) -> None:
        self.table, self.constraints = table, constraints
        self.values: list[list[str | int | bool]] = [[] for _ in constraints]

    def add(self, device: int, names: tuple[str, ...]) -> bool:
        """Whether `device` may be taken for the request of these names (its own and its subrequest's); if not, nothing is added."""
        added: list[list[str | int | bool]] = []
        for values, constraint in zip(self.values, self.constraints, strict=True):
            if constraint.requests and not set(constraint.requests).intersection(names):
                continue
            value = self.table.attribute(device, constraint.match_attribute or constraint.distinct_attribute)
            # by type, too: in Python True == 1, and a DRA attribute that is a bool is no int
            same = [v for v in values if type(v) is type(value) and v == value]
            fits = len(same) == len(values) if constraint.match_attribute else not same
            if value is None or not fits:
                for other in added:
                    other.pop()
                return False
            values.append(value)
            added.append(values)
        return True

    def remove(self, names: tuple[str, ...]) -> None:
        for values, constraint in zip(self.values, self.constraints, strict=True):
            if not constraint.requests or set(constraint.requests).intersection(names):
                values.pop()


class _DeviceSearch:
    """Devices for the claims of one pod on one node: every combination, in the allocator's order, until one serves."""

    def __init__(self, devices: Devices, node: int, claims: tuple[ClaimDemand, ...]) -> None:
        self.devices, self.table, self.claims = devices, devices.table, claims
        self.candidates = self.table.on_node(node)
        self.node = node
        self.constraints = [_Constraints(self.table, claim.spec.constraints) for claim in claims]
        self.allocating: dict[int, set[int]] = {}  # device → claims it is chosen for
        self.consumed: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        self.shares: Counter[tuple[int, str]] = Counter()  # (device, capacity) → what is chosen of a shared one
        self.chosen: list[list[tuple[Taken, bool]]] = [[] for _ in claims]  # (device, whether it is taken)
        self.whole: dict[int, list[int]] = {}  # by id of a request for all devices
        self.steps = 0
        self.kinds: dict[int, object] = {}

    def run(self) -> list[list[tuple[Taken, bool]]] | None:
        """Devices of each claim, None when there aren't enough; a `DeviceError` where the scheduler gives up."""
        for claim in self.claims:
            least = sum(
                min(self._number(claim, device_request) for device_request in request.first_available or (request,))
                for request in claim.spec.requests
            )
            if least > MOST_DEVICES:
                what = f"number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
                raise DeviceError(f"{claim.label}: {what}")
        return self.chosen if self._request(0, 0) else None

    def _number(self, claim: ClaimDemand, request: DeviceRequest) -> int:
        if request.allocation_mode != "All":
            return request.count
        for pool, nodes in self.table.incomplete:
            if nodes[self.node]:
                what = f"asks for all devices, but resource pool {pool} is currently being updated"
                raise DeviceError(f"{claim.label}, request {request.name}: {what}")
        devices = [
            i
            for i in self.candidates
            if self.table.suits(i, claim, request) and consumed(self._facts(i), request.capacity) is not None
        ]
        self.whole[id(request)] = devices
        return len(devices)

    def _request(self, c: int, r: int) -> bool:
        if c == len(self.claims):
            return True
        requests = self.claims[c].spec.requests
        if r == len(requests):
            return self._request(c + 1, 0)
        request = requests[r]
        if not request.first_available:
            return self._device(c, r, request, (request.name,), 0, 0)
        return any(
            self._device(c, r, device_request, (request.name, f"{request.name}/{device_request.name}"), 0, 0)
            for device_request in request.first_available
        )

    def _device(self, c: int, r: int, request: DeviceRequest, names: tuple[str, ...], have: int, start: int) -> bool:
        """Choose the request's device number `have`, from the candidate number `start` on, and all that follow."""
        is_all = request.allocation_mode == "All"
        eligible_devices = self.whole[id(request)] if is_all else self.candidates
        count = len(eligible_devices) if is_all else request.count
        if have == count:
            return count > 0 and self._request(c, r + 1)
        if len(self.chosen[c]) + count - have > MOST_DEVICES:
            return False
        tried: set[object] = set()
        can_repeat = not is_all and any(self._facts(candidate).is_shared for candidate in eligible_devices[start:])
        for place in range(start, len(eligible_devices)):
            if (len(eligible_devices) - place < count - have and not can_repeat) or self.steps > _MOST_STEPS:
                return False
            self.steps += 1
            device = eligible_devices[place]
            if self._is_used(device, c, request) or not (is_all or self.table.suits(device, self.claims[c], request)):
                if is_all:
                    return False
                continue
            kind = self._kind(device)
            if kind in tried:
                continue  # one just like it didn't lead anywhere
            if self._choose(device, c, request, names):
                again = not is_all and self._facts(device).is_shared  # another part of it
                if self._device(c, r, request, names, have + 1, place if again else place + 1):
                    return True
                self._give_back(device, c, names)
            if is_all:
                return False
            if kind is not None:
                tried.add(kind)
        return False

    def _is_used(self, device: int, c: int, request: DeviceRequest) -> bool:
        chosen_for = self.allocating.get(device, set())
        if request.is_admin:
            return c in chosen_for
        return not self._facts(device).is_shared and (bool(chosen_for) or not self.devices.free[device])

    def _facts(self, device: int) -> Device:
        return self.table.devices[device][1]

    def _kind(self, device: int) -> object:
        """Equal for devices that can stand for each other everywhere in this search; None where that isn't known."""
        if device not in self.kinds:
            device_facts = self._facts(device)
            # What is left of a shared device differs after each use: none stands for another.
            if device_facts.is_shared:
                return None
            names = [x.match_attribute or x.distinct_attribute for claim in self.claims for x in claim.spec.constraints]
            try:
                suits = tuple(
                    self.table.suits(device, claim, exact)
                    for claim in self.claims
                    for request in claim.spec.requests
                    for exact in request.first_available or (request,)
                )
            except DeviceError:
                self.kinds[device] = None
            else:
                values = tuple(self.table.attribute(device, name) for name in names)
                used = bool(self.devices.free[device])
                self.kinds[device] = (
                    self.table.pool(device),
                    suits,
                    values,
                    device_facts.taints,
                    device_facts.counters,
                    used,
                    device_facts.capacity,
                )
        return self.kinds[device]

    def _choose(self, device: int, c: int, request: DeviceRequest, names: tuple[str, ...]) -> bool:
        device_facts = self._facts(device)
        amounts = consumed(device_facts, request.capacity)
        if amounts is None or (device_facts.is_shared and not request.is_admin and not self._leaves(device, amounts)):
            return False
        pool, consumes = self.table.pool(device), device_facts.counters
        used = self.consumed.setdefault(pool, Counter())
        if consumes:
            remaining_counters = self.devices.counters_left(pool)
            if any(remaining_counters[a, b] - used[a, b] < amount for a, b, amount in consumes):
                return False
        if not self.table.tolerated(device, request) or not self.constraints[c].add(device, names):
            return False
        for a, b, amount in consumes:
            used[a, b] += amount
        self.allocating.setdefault(device, set()).add(c)
        # A request with adminAccess watches a device and takes nothing of it.
        share = amounts if device_facts.is_shared and not request.is_admin else EMPTY
        self.shares.update({(device, name): amount for name, amount in share.items()})
        self.chosen[c].append(((device, share), not request.is_admin))
        return True

    def _leaves(self, device: int, amounts: Amounts) -> bool:
        """Whether so much of a shared device's capacity is left."""
        taken = self.devices.shares
        return all(
            taken[device, name] + self.shares[device, name] + amount <= self._facts(device).capacity[name]
            for name, amount in amounts.items()
        )

    def _give_back(self, device: int, c: int, names: tuple[str, ...]) -> None:
        for a, b, amount in self.table.devices[device][1].counters:
            self.consumed[self.table.pool(device)][a, b] -= amount
        self.constraints[c].remove(names)
        (_, share), _ = self.chosen[c].pop()
        self.shares.subtract({(device, name): amount for name, amount in share.items()})
        if all(chosen_device != device for (chosen_device, _), _ in self.chosen[c]):
            self.allocating[device].discard(c)


# ── in motion ────────────────────────────────────────────────────────────────────────────────────────────────────────
class Devices:
    """Claims and devices during a run.

    Attributes
    ----------
    free : bool[device], not allocated to any claim
    error : kube-scheduler's words where the last question made it give up, else ""
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.table = device_table(cluster)
        self.free: BoolArray = ~self.table.taken
        self.shares = self.table.shares.copy()
        self.error = ""
        self._held: dict[ClaimKey, tuple[tuple[Taken, ...], BoolArray | None]] = {}  # named claims: devices, nodes
        self._users: dict[ClaimKey, set[str]] = {}  # uids of the pods a named claim is reserved for
        common = [c for c in cluster.snapshot.resource_claims if c.is_allocated and c.owner is None]
        alive = {p.uid for p in cluster.snapshot.pods if not p.is_terminal} if common else set()
        for claim in common:
            key = (claim.namespace, claim.name)
            nodes = None if claim.node_selector is None else cluster.selected(claim.node_selector)
            self._held[key] = self.table.held_by(claim), nodes
            self._users[key] = alive.intersection(claim.reserved_for)
            if claim.reserved_for and not self._users[key]:
                self._deallocate(key)  # the controller does so once its last user is gone

    def counters_left(self, pool: tuple[str, str]) -> Counter[tuple[str, str]]:
        """Counters of a pool that its allocated devices leave."""
        remaining_counters = Counter(self.table.counters[pool])
        for i in np.flatnonzero(~self.free).tolist():
            if self.table.pool(i) == pool:
                remaining_counters.subtract({(a, b): amount for a, b, amount in self.table.devices[i][1].counters})
        return remaining_counters

    def _to_allocate(self, demand: Demand, node: int) -> tuple[ClaimDemand, ...]:
        return tuple(c for c in demand.on_node(node) if c.key is None or c.key not in self._held)

    def refused(self, demand: Demand, nodes: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Of `nodes` (bool[node]): those without devices for the claims, those an allocated claim isn't available on."""
        self.error = ""
        lacking = np.zeros(self.cluster.node_count, dtype=np.bool_)
        elsewhere = np.zeros(self.cluster.node_count, dtype=np.bool_)
        if demand.unknown or demand.missing or demand.blocked:
            return lacking, elsewhere
        # Claims for any of the same devices need no search: a node does if it has as many of them free.
        if demand.alike is not None:
            mask, count = demand.alike
            free_devices: NDArray[np.intp] = np.bincount(
                self.table.node[mask & self.free], minlength=self.cluster.node_count
            )
            return nodes & (free_devices < count), elsewhere
        for node in np.flatnonzero(nodes).tolist():
            try:
                claims = self._to_allocate(demand, node)
                lacking[node] = bool(claims) and _DeviceSearch(self, node, claims).run() is None
            except DeviceError as error:
                self.error = str(error)
                return lacking, elsewhere
            masks = [self._held[c.key][1] for c in demand.claims if c.key is not None and c.key in self._held]
            elsewhere[node] = not lacking[node] and not all(mask is None or mask[node] for mask in masks)
        return lacking, elsewhere

    def take(self, demand: Demand, node: int, uid: str) -> tuple[Taken, ...]:
        """Allocate the claims of a pod that gets `node`, and reserve them for it; its own devices are returned."""
        own: list[Taken] = []
        if demand.unknown or demand.missing or demand.blocked:
            return ()
        claims = self._to_allocate(demand, node)
        taken_devices = _DeviceSearch(self, node, claims).run() if claims else []
        for claim, chosen in zip(claims, taken_devices or (), strict=False):
            devices = tuple(device for device, is_taken in chosen if is_taken)
            self.hold(devices)
            # A claim from a template goes with its pod, and its devices with it; a named one keeps them for its next
            # users.
            if claim.key is None:
                own += devices
            else:
                self._held[claim.key] = devices, self._reach([device for (device, _), _ in chosen], node)
        for claim in demand.claims:
            if claim.key is not None:
                self._users.setdefault(claim.key, set()).add(uid)
        return tuple(own)

    def _reach(self, devices: list[int], node: int) -> BoolArray | None:
        """Nodes that can use what was allocated (`createNodeSelector`); None: all."""
        if any(self.table.node[i] != ALL_NODES for i in devices):
            only = np.zeros(self.cluster.node_count, dtype=np.bool_)
            only[node] = True
            return only
        masks = [self.table.reach[i] for i in devices if i in self.table.reach]
        return np.logical_and.reduce(masks) if masks else None

    def leave(self, demand: Demand, uid: str, own: Iterable[Taken]) -> None:
        """A pod is gone: its own devices are free, and those of a claim that no other pod has reserved."""
        self.hold(own, release=True)
        for claim in demand.claims:
            if claim.key is not None and uid in self._users.get(claim.key, ()):
                self._users[claim.key].discard(uid)
                if not self._users[claim.key]:
                    self._deallocate(claim.key)

    def deallocate_unused(self, demand: Demand, uid: str) -> bool:
        """Give up a claim that is allocated elsewhere and that no other pod has reserved (`PostFilter`)."""
        for claim in demand.claims:
            allocation = self._held.get(claim.key) if claim.key is not None else None
            if (
                claim.key is not None
                and allocation is not None
                and allocation[1] is not None
                and not allocation[1].all()
            ):
                if not self._users.get(claim.key, set()) - {uid}:
                    self._deallocate(claim.key)
                    return True
        return False

    def _deallocate(self, key: ClaimKey) -> None:
        devices, _ = self._held.pop(key, ((), None))
        self.hold(devices, release=True)

    def hold(self, devices: Iterable[Taken], *, release: bool = False) -> None:
        for device, share in devices:
            if not self.table.devices[device][1].is_shared:
                self.free[device] = release
            for name, amount in share.items():
                self.shares[device, name] += -amount if release else amount

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Whatever is done inside is undone at the end."""
        saved = self.free.copy(), dict(self._held), deepcopy(self._users), self.shares.copy()
        yield
        self.free, self._held, self._users, self.shares = saved
