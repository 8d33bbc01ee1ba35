"""Devices asked for through ResourceClaims (dynamic resource allocation), as far as they are counted.

What can't be judged (CEL beyond the library, constraints between devices, shared or partitioned devices) is answered
"unknown" and said aloud, never guessed. Sources: kubernetes `pkg/scheduler/framework/plugins/dynamicresources`,
`k8s.io/dynamic-resource-allocation/structured`, KEP-4381.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import celpy
import numpy as np
from celpy import celtypes
from numpy.typing import NDArray

from planner.errors import QuantityError
from planner.kubernetes.records import ClaimSpec, Device, PodSpec, Presence, ResourceSlice
from planner.kubernetes.selectors import term_matches
from planner.quantity import parse_decimal
from planner.scheduling.cluster import BoolArray, Cluster, CodeArray

ALL_NODES = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Requests of all of a pod's claims. `masks` is bool[device] each, `counts` the devices wanted (−1: all)."""

    masks: tuple[BoolArray, ...] = ()
    counts: tuple[int, ...] = ()
    nodes: BoolArray | None = None  # where already allocated claims are usable
    unknown: str = ""  # why the demand can't be judged
    missing: str = ""  # a claim, template or class that isn't there: the pod is never tried

    @property
    def is_empty(self) -> bool:
        return not self.counts and self.nodes is None and not self.unknown and not self.missing


class DeviceTable:
    """All devices of a cluster. `node` is int32[device]: the node a device is on, −1 when any node reaches it."""

    def __init__(self, cluster: Cluster) -> None:
        snapshot = cluster.snapshot
        newest: dict[tuple[str, str], int] = {}
        for s in snapshot.resource_slices:
            newest[s.driver, s.pool] = max(newest.get((s.driver, s.pool), 0), s.generation)
        self.devices: list[tuple[ResourceSlice, Device]] = []
        nodes: list[int] = []
        self.reach: dict[int, BoolArray] = {}  # devices selected by node labels
        for s in snapshot.resource_slices:
            if s.generation != newest[s.driver, s.pool]:
                continue
            if s.node_name and s.node_name not in cluster.node_index:
                continue
            for device in s.devices:
                if s.node_selector is not None:
                    term = s.node_selector
                    reach = [term_matches(term, n.labels, n.name) for n in cluster.nodes]
                    self.reach[len(self.devices)] = np.array(reach, dtype=np.bool_)
                nodes.append(cluster.node_index[s.node_name] if s.node_name else ALL_NODES)
                self.devices.append((s, device))
        self.node: CodeArray = np.array(nodes, dtype=np.int32)
        self.number = {(s.driver, s.pool, d.name): i for i, (s, d) in enumerate(self.devices)}
        self.taken = np.zeros(len(self.devices), dtype=np.bool_)
        self.by_pod: dict[str, tuple[int, ...]] = {}
        for claim in snapshot.resource_claims:
            held = tuple(self.number[a] for a in claim.allocated if a in self.number)
            self.taken[list(held)] = True
            if claim.owner is not None and held:
                self.by_pod[claim.owner.uid] = self.by_pod.get(claim.owner.uid, ()) + held
        self.classes = {c.name: c for c in snapshot.device_classes}
        self._masks: dict[tuple[str, ...], BoolArray | str] = {}

    def select(self, expressions: tuple[str, ...]) -> BoolArray | str:
        """Which devices satisfy all CEL expressions: bool[device], or the sentence why that is unknown."""
        found = self._masks.get(expressions)
        if found is None:
            found = self._masks[expressions] = self._select(expressions)
        return found

    def _select(self, expressions: tuple[str, ...]) -> BoolArray | str:
        mask = np.ones(len(self.devices), dtype=np.bool_)
        for expression in expressions:
            for i, (s, device) in enumerate(self.devices):
                if not mask[i]:
                    continue
                verdict = _evaluate(expression, s.driver, device)
                if verdict is None:
                    return f"the selector {expression!r} uses CEL that Headroom can't evaluate"
                mask[i] = verdict
        return mask


def _quantity(text: Any) -> celtypes.IntType:
    return celtypes.IntType(int(parse_decimal(str(text))))


def _compare(a: Any, b: Any) -> celtypes.IntType:
    return celtypes.IntType((a > b) - (a < b))


_FUNCTIONS: dict[str, Any] = {
    "quantity": _quantity,
    "compareTo": _compare,
    "isGreaterThan": lambda a, b: celtypes.BoolType(a > b),
    "isLessThan": lambda a, b: celtypes.BoolType(a < b),
}


@lru_cache(maxsize=512)
def _program(expression: str) -> Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(expression), functions=_FUNCTIONS)


def _by_domain(driver: str, values: Iterable[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    """Qualified names ("domain/name") by domain; plain names belong to the driver's."""
    domains: dict[str, dict[str, Any]] = {driver: {}}
    for name, value in values:
        domain, _, plain = name.rpartition("/")
        domains.setdefault(domain or driver, {})[plain] = value
    return domains


def _evaluate(expression: str, driver: str, device: Device) -> bool | None:
    """Whether a device satisfies a CEL expression; None when that can't be told. A runtime error is "no"."""
    try:
        program = _program(expression)
    except celpy.CELParseError:
        return None
    subject = {
        "device": {
            "driver": driver,
            "attributes": _by_domain(driver, device.attributes.items()),
            "capacity": _by_domain(driver, device.capacity.items()),
        }
    }
    try:
        return bool(program.evaluate(celpy.json_to_cel(subject)))
    except celpy.CELEvalError as error:
        return None if "no matching overload" in str(error) or "undeclared" in str(error) else False
    except (QuantityError, TypeError, KeyError):
        return None


def device_table(cluster: Cluster) -> DeviceTable:
    """The cluster's devices, compiled once."""
    return cluster.remember(DeviceTable)


def device_demand(cluster: Cluster, namespace: str, spec: PodSpec) -> Demand:
    """What a new pod of this spec asks for; claims made from templates are counted as new ones."""
    if not spec.resource_claims:
        return Demand()
    snapshot, table = cluster.snapshot, device_table(cluster)
    templates = {t.name: t.spec for t in snapshot.resource_claim_templates if t.namespace == namespace}
    named = {c.name: c for c in snapshot.resource_claims if c.namespace == namespace}
    masks: list[BoolArray] = []
    counts: list[int] = []
    nodes: BoolArray | None = None
    for reference in spec.resource_claims:
        wanted: ClaimSpec | None
        if reference.resource_claim_template_name is not None:
            wanted = templates.get(reference.resource_claim_template_name)
            what = f"ResourceClaimTemplate {reference.resource_claim_template_name}"
            known = snapshot.presence.get("ResourceClaimTemplate") is Presence.PRESENT
        else:
            claim = named.get(reference.resource_claim_name or "")
            wanted = claim.spec if claim else None
            what = f"ResourceClaim {reference.resource_claim_name}"
            known = snapshot.presence.get("ResourceClaim") is Presence.PRESENT
            if claim is not None and claim.allocated:
                terms = claim.node_selector
                if terms is not None:
                    usable = [any(term_matches(t, n.labels, n.name) for t in terms) for n in cluster.nodes]
                    nodes = np.array(usable) if nodes is None else nodes & np.array(usable)
                continue
        if wanted is None:
            return Demand(missing=what) if known else Demand(unknown=f"the snapshot doesn't hold {what}")
        problem = _add_requests(table, wanted, masks, counts)
        if problem:
            return Demand(unknown=problem)
    return Demand(masks=tuple(masks), counts=tuple(counts), nodes=nodes)


def _add_requests(table: DeviceTable, wanted: ClaimSpec, masks: list[BoolArray], counts: list[int]) -> str:
    """Append a claim's requests; the sentence why not, or ""."""
    if wanted.has_constraints:
        return "the claim has constraints between devices"
    for request in wanted.requests:
        if request.is_complex or request.is_admin:
            return f"the claim's request \"{request.name}\" is of a kind Headroom doesn't count"
        device_class = table.classes.get(request.device_class_name)
        if device_class is None:
            return f"DeviceClass {request.device_class_name} is not in the snapshot"
        mask = table.select(device_class.selectors + request.selectors)
        if isinstance(mask, str):
            return mask
        if any(d.is_complex or d.taints for (_, d), chosen in zip(table.devices, mask, strict=True) if chosen):
            return "the devices are shared, partitioned or tainted"
        masks.append(mask)
        counts.append(-1 if request.allocation_mode == "All" else request.count)
    return ""


def choose(table: DeviceTable, free: BoolArray, demand: Demand, node: int) -> tuple[int, ...] | None:
    """Devices for a pod on a node, in the slices' order, or None when there aren't enough."""
    chosen: list[int] = []

    def solve(request: int) -> bool:
        if request == len(demand.counts):
            return True
        reachable = _reachable(table, node) & demand.masks[request]
        count = demand.counts[request]
        if count < 0:
            wanted = np.flatnonzero(reachable)
            if not len(wanted) or not free[wanted].all() or any(int(i) in chosen for i in wanted):
                return False
            candidates = [tuple(int(i) for i in wanted)]
        else:
            options = [int(i) for i in np.flatnonzero(reachable & free) if int(i) not in chosen]
            if len(options) < count:
                return False
            candidates = [tuple(options[:count])]
            if request + 1 < len(demand.counts):
                candidates += [tuple(options[k : k + count]) for k in range(1, len(options) - count + 1)]
        for candidate in candidates:
            chosen.extend(candidate)
            if solve(request + 1):
                return True
            del chosen[-len(candidate) :]
        return False

    return tuple(chosen) if solve(0) else None


def _reachable(table: DeviceTable, node: int) -> BoolArray:
    reachable: BoolArray = (table.node == node) | (table.node == ALL_NODES)
    for device, nodes in table.reach.items():
        reachable[device] = nodes[node]
    return reachable


def nodes_with_devices(cluster: Cluster, table: DeviceTable, free: BoolArray, demand: Demand) -> BoolArray:
    """Nodes on which the demand could be met now: bool[node]."""
    possible = demand.nodes.copy() if demand.nodes is not None else np.ones(cluster.node_count, dtype=np.bool_)
    if not demand.counts:
        return possible
    if len(demand.counts) == 1 and demand.counts[0] > 0 and not table.reach and not (table.node == ALL_NODES).any():
        usable = table.node[demand.masks[0] & free]
        counts: NDArray[np.intp] = np.bincount(usable, minlength=cluster.node_count)
        enough: BoolArray = possible & (counts >= demand.counts[0])
        return enough
    for node in np.flatnonzero(possible):
        possible[node] = choose(table, free, demand, int(node)) is not None
    return possible
