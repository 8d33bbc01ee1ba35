"""Devices through resource claims (dynamic-resource-allocation/structured): counted devices with CEL selectors."""

from __future__ import annotations

from typing import Any

from tests.reference.cluster import Cluster
from tests.reference.objects import Key, Object, key, quantity

Device = tuple[str, str, str]  # driver, pool, name


def claim_names(pod: Object) -> list[tuple[str, str]]:
    """(name in the pod, name of the ResourceClaim) of the claims that exist already."""
    made = {s["name"]: s.get("resourceClaimName") for s in pod["status"].get("resourceClaimStatuses") or []}
    names = []
    for entry in pod["spec"].get("resourceClaims") or []:
        name = entry.get("resourceClaimName") or made.get(entry["name"])
        if name:
            names.append((entry["name"], name))
    return names


def claims_of(cluster: Cluster, pod: Object) -> list[Object] | None:
    """The claims of a pod, or None while one is missing (the pod is gated until then)."""
    names = claim_names(pod)
    if len(names) < len(pod["spec"].get("resourceClaims") or []):
        return None
    found = [cluster.get("ResourceClaim", pod["metadata"]["namespace"], name) for _, name in names]
    return None if any(claim is None for claim in found) else [claim for claim in found if claim is not None]


def taken(cluster: Cluster) -> set[Device]:
    devices = set()
    for claim in cluster.of("ResourceClaim"):
        allocation = (claim.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or []:
            devices.add((result["driver"], result["pool"], result["device"]))
    return devices


def cel_matches(expression: str, driver: str, device: Object) -> bool:
    """A selector of a device, evaluated by the CEL library (dynamic-resource-allocation/cel)."""
    import celpy  # only clusters with devices need it

    attributes: dict[str, dict[str, Any]] = {}
    for name, value in (device.get("attributes") or {}).items():
        domain, _, short = name.rpartition("/")
        attributes.setdefault(domain or driver, {})[short] = next(iter(value.values()))
    capacity: dict[str, dict[str, Any]] = {}
    for name, value in (device.get("capacity") or {}).items():
        domain, _, short = name.rpartition("/")
        capacity.setdefault(domain or driver, {})[short] = int(quantity(value["value"]))
    facts = celpy.json_to_cel({"driver": driver, "attributes": attributes, "capacity": capacity})
    environment = celpy.Environment()
    program = environment.program(environment.compile(expression))
    try:
        return bool(program.evaluate({"device": facts}))
    except celpy.CELEvalError:
        return False


def devices_on(cluster: Cluster, node: Object) -> list[tuple[Device, Object]]:
    slices = [part["spec"] for part in cluster.of("ResourceSlice")]
    return [
        ((spec["driver"], spec["pool"]["name"], device["name"]), device)
        for spec in slices
        if spec.get("allNodes") or spec.get("nodeName") == node["metadata"]["name"]
        for device in spec.get("devices") or []
    ]


def fitting(cluster: Cluster, node: Object, request: Object) -> list[Device]:
    """The devices of a node that a request's class and selectors accept."""
    device_class = cluster.get("DeviceClass", "", request["deviceClassName"])
    if device_class is None:
        return []
    selectors = list(device_class["spec"].get("selectors") or []) + list(request.get("selectors") or [])
    return [
        name
        for name, device in devices_on(cluster, node)
        if all(cel_matches(s["cel"]["expression"], name[0], device) for s in selectors)
    ]


def allocate(cluster: Cluster, pod: Object, node: Object) -> dict[Key, list[tuple[str, Device]]] | None:
    """Devices of ``node`` for every claim of ``pod`` that has none yet, or None when they do not suffice."""
    claims = claims_of(cluster, pod)
    if claims is None:
        return None
    wanted: list[tuple[Key, str, list[Device]]] = []  # one entry per device
    busy = taken(cluster)
    for claim in claims:
        allocation = (claim.get("status") or {}).get("allocation")
        if allocation:
            nodes = {r["pool"] for r in allocation["devices"]["results"]}
            if node["metadata"]["name"] not in nodes:
                return None
            continue
        for request in claim["spec"]["devices"]["requests"]:
            exactly = request["exactly"]
            free = [device for device in fitting(cluster, node, exactly) if device not in busy]
            if exactly.get("allocationMode", "ExactCount") == "All":
                everything = fitting(cluster, node, exactly)
                if not everything or len(free) < len(everything):
                    return None
                wanted += [(key(claim), request["name"], [device]) for device in everything]
            else:
                wanted += [(key(claim), request["name"], free)] * exactly.get("count", 1)
    chosen = choose(wanted, set())
    if chosen is None:
        return None
    result: dict[Key, list[tuple[str, Device]]] = {}
    for (claim_key, name, _), device in zip(wanted, chosen, strict=True):
        result.setdefault(claim_key, []).append((name, device))
    return result


def choose(wanted: list[tuple[Key, str, list[Device]]], used: set[Device]) -> list[Device] | None:
    """One device for each entry, none twice (backtracking)."""
    if not wanted:
        return []
    for device in wanted[0][2]:
        if device not in used:
            rest = choose(wanted[1:], used | {device})
            if rest is not None:
                return [device, *rest]
    return None


def reserve(cluster: Cluster, pod: Object, node: Object) -> None:
    """dynamicresources.go Reserve and PreBind: the allocation and the pod's reservation are written to the claims."""
    chosen = allocate(cluster, pod, node)
    for claim_key, results in (chosen or {}).items():
        claim = cluster.kinds["ResourceClaim"][claim_key]
        claim.setdefault("status", {})["allocation"] = {
            "devices": {
                "results": [{"request": name, "driver": d[0], "pool": d[1], "device": d[2]} for name, d in results]
            }
        }
    for claim in claims_of(cluster, pod) or []:
        claim.setdefault("status", {}).setdefault("reservedFor", []).append(
            {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        )
