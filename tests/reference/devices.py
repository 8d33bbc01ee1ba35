"""Devices through resource claims (dynamic-resource-allocation/structured, plugins/dynamicresources)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

from tests.reference.cluster import Cluster
from tests.reference.objects import Key, Object, key, node_selector_matches, pod_requests, quantity, tolerates

Device = tuple[str, str, str]  # driver, pool, name
IMPLICIT = "deviceclass.resource.kubernetes.io/"
EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"
MOST_RESERVATIONS = 256  # resourceapi.ResourceClaimReservedForMaxSize
MOST_DEVICES = 32  # resourceapi.AllocationResultsMaxSize


class SchedulingError(Exception):
    """Not a refusal of one node: the attempt to place the pod is given up."""


# --- which claims ------------------------------------------------------------------------------------------------


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
    """The claims that a pod names, or None while one is missing (the pod is gated until then)."""
    names = claim_names(pod)
    if len(names) < len(pod["spec"].get("resourceClaims") or []):
        return None
    found = [cluster.get("ResourceClaim", pod["metadata"]["namespace"], name) for _, name in names]
    return None if any(claim is None for claim in found) else [claim for claim in found if claim is not None]


def class_behind(cluster: Cluster, resource: str) -> str | None:
    """The DeviceClass that stands for an extended resource (extendedresourcecache): the newest, then the first by name."""
    if resource.startswith(IMPLICIT):
        name = resource.removeprefix(IMPLICIT)
        return name if cluster.get("DeviceClass", "", name) else None
    found = [c for c in cluster.of("DeviceClass") if c["spec"].get("extendedResourceName") == resource]
    found.sort(key=lambda c: c["metadata"]["name"])
    found.sort(key=lambda c: str(c["metadata"].get("creationTimestamp", "")), reverse=True)
    return found[0]["metadata"]["name"] if found else None


def delegated(cluster: Cluster, pod: Object, node: Object) -> dict[str, str]:
    """Extended resource -> DeviceClass, of what the pod asks for and this node has through claims only
    (noderesources/fit.go shouldDelegateResourceToDRA)."""
    if not cluster.of("DeviceClass"):
        return {}
    found = {}
    for resource, amount in pod_requests(pod).items():
        if amount <= 0 or "/" not in resource or quantity(node["status"]["allocatable"].get(resource, 0)) > 0:
            continue
        name = class_behind(cluster, resource)
        if name is not None:
            found[resource] = name
    return found


def extended_requests(cluster: Cluster, pod: Object, node: Object) -> list[Object]:
    """extendeddynamicresources.go createRequestsAndMappings: a request for each container that stays; of the init
    containers that go the largest, less what it may use of the later ones."""
    starting = pod["spec"].get("initContainers") or []
    containers = [*starting, *pod["spec"]["containers"]]
    requests = []
    for resource, name in sorted(delegated(cluster, pod, node).items()):
        counts = [
            int(quantity(((c.get("resources") or {}).get("requests") or {}).get(resource, 0))) for c in containers
        ]
        goes = [i < len(starting) and c.get("restartPolicy") != "Always" for i, c in enumerate(containers)]
        extra = [
            (count - sum(other for j, other in enumerate(counts) if j >= i and not goes[j]), i)
            for i, count in enumerate(counts)
            if goes[i] and count
        ]
        largest = max(extra, key=lambda one: (one[0], -one[1]), default=(0, 0))
        wanted = [(largest[1], largest[0])] if largest[0] > 0 else []
        wanted += [(i, count) for i, count in enumerate(counts) if count and not goes[i]]
        for index, count in wanted:
            place = sorted(containers[index]["resources"]["requests"]).index(resource)
            requests.append(
                {
                    "name": f"container-{index}-request-{place}",
                    "exactly": {"deviceClassName": name, "allocationMode": "ExactCount", "count": count},
                }
            )
    return requests


def allocation_of(claim: Object) -> Object | None:
    found: Object | None = (claim.get("status") or {}).get("allocation")
    return found


def results_of(cluster: Cluster) -> Iterator[tuple[Device, Object]]:
    """What is allocated; admin access takes nothing."""
    for claim in cluster.of("ResourceClaim"):
        for result in ((allocation_of(claim) or {}).get("devices") or {}).get("results") or []:
            if not result.get("adminAccess"):
                yield (result["driver"], result["pool"], result["device"]), result


def taken(cluster: Cluster) -> set[Device]:
    """The devices in use that no other claim may share."""
    return {device for device, result in results_of(cluster) if "consumedCapacity" not in result}


def consumed(device: Object, asked: Object) -> dict[str, Fraction] | None:
    """consumable_capacity.go: what a request takes of each capacity, rounded up to what the policy lets be asked for."""
    wanted = {name: quantity(text) for name, text in ((asked.get("capacity") or {}).get("requests") or {}).items()}
    there = device.get("capacity") or {}
    if set(wanted) - set(there):
        return None
    found = {}
    for name, capacity in there.items():
        policy = capacity.get("requestPolicy") or {}
        default = quantity(policy["default"]) if "default" in policy else None
        steps, values = policy.get("validRange") or {}, [quantity(one) for one in policy.get("validValues") or []]
        if name not in wanted:
            amount = quantity(capacity["value"]) if default is None else default
        elif "min" in steps:
            amount, least = max(wanted[name], quantity(steps["min"])), quantity(steps["min"])
            while "step" in steps and (amount - least) % quantity(steps["step"]):
                amount += quantity(steps["step"]) - (amount - least) % quantity(steps["step"])
        else:
            amount = next((one for one in values if wanted[name] <= one), wanted[name])
        if amount > quantity(capacity["value"]):
            return None
        if amount != default:
            if "max" in steps and amount > quantity(steps["max"]):
                return None
            if "step" in steps and (amount - quantity(steps.get("min", 0))) % quantity(steps["step"]):
                return None
            if not steps and values and amount not in values:
                return None
        found[name] = amount
    return found


# --- selectors ---------------------------------------------------------------------------------------------------


@cache
def program_of(expression: str) -> Any:
    import celpy  # only clusters with devices need it
    from celpy import celtypes

    def boolean(test: Any) -> Any:
        return lambda left, right: celtypes.BoolType(test(left, right))

    functions = {
        "quantity": lambda text: celtypes.IntType(int(quantity(str(text)))),
        "isGreaterThan": boolean(lambda left, right: left > right),
        "isLessThan": boolean(lambda left, right: left < right),
        "lowerAscii": lambda text: celtypes.StringType(str(text).lower()),
        "upperAscii": lambda text: celtypes.StringType(str(text).upper()),
        "compareTo": lambda left, right: celtypes.IntType((left > right) - (left < right)),
    }
    environment = celpy.Environment()
    return environment.program(environment.compile(expression), functions=functions)


def facts_of(driver: str, device: Object) -> Any:
    """cel/compile.go DeviceMatches: by domain; one that isn't there is an empty map, not an error."""
    import celpy
    from celpy import celtypes

    class Domains(celtypes.MapType):
        def __getitem__(self, name: Any) -> Any:
            return super().__getitem__(name) if name in self else celtypes.MapType({})

    def by_domain(values: dict[str, Any]) -> Any:
        domains: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            domain, _, short = name.rpartition("/")
            domains.setdefault(domain or driver, {})[short] = value
        return Domains({celtypes.StringType(name): celpy.json_to_cel(facts) for name, facts in domains.items()})

    attributes = {name: next(iter(value.values())) for name, value in (device.get("attributes") or {}).items()}
    capacity = {name: int(quantity(value["value"])) for name, value in (device.get("capacity") or {}).items()}
    return celtypes.MapType(
        {
            celtypes.StringType("driver"): celtypes.StringType(driver),
            celtypes.StringType("attributes"): by_domain(attributes),
            celtypes.StringType("capacity"): by_domain(capacity),
        }
    )


def cel_matches(expression: str, driver: str, device: Object) -> bool:
    import celpy

    try:
        return bool(program_of(expression).evaluate({"device": facts_of(driver, device)}))
    except celpy.CELEvalError as error:
        what = str(error.args[0])
        if "no such member in mapping" in what:
            what = f"no such key: {what.rpartition(': ')[2].strip(chr(39))}"
        raise SchedulingError(f"selector #0: CEL runtime error: {what}") from None


# --- pools (structured/internal/incubating/pools_incubating.go) ------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    driver: str
    name: str
    is_usable: bool  # neither slices missing nor anything wrong with them
    devices: list[tuple[Device, Object]] = field(default_factory=list)
    counters: dict[tuple[str, str], Fraction] = field(default_factory=dict)  # (set, counter) -> what there is
    consumers: dict[Device, dict[tuple[str, str], Fraction]] = field(default_factory=dict)


def reaches(node: Object, where: Object) -> bool:
    if where.get("nodeName"):
        return bool(where["nodeName"] == node["metadata"]["name"])
    if where.get("allNodes"):
        return True
    return bool(where.get("nodeSelector")) and node_selector_matches(where["nodeSelector"], node)


def is_relevant(node: Object, spec: Object) -> bool:
    if spec.get("sharedCounters"):
        return True
    if spec.get("perDeviceNodeSelection"):
        return any(reaches(node, device) for device in spec.get("devices") or [])
    return reaches(node, spec)


def pools_for(cluster: Cluster, node: Object) -> list[Pool]:
    slices: dict[tuple[str, str], list[Object]] = {}
    for part in sorted(cluster.of("ResourceSlice"), key=lambda one: str(one["metadata"]["name"])):
        slices.setdefault((part["spec"]["driver"], part["spec"]["pool"]["name"]), []).append(part["spec"])
    found = []
    for (driver, name), everything in sorted(slices.items()):
        near = [spec for spec in everything if is_relevant(node, spec)]
        if not near:
            continue
        latest = max(spec["pool"]["generation"] for spec in near)
        if any(spec["pool"]["generation"] > latest for spec in everything):
            continue  # what is near is obsolete
        near = [spec for spec in near if spec["pool"]["generation"] == latest]
        current = [spec for spec in everything if spec["pool"]["generation"] == latest]
        found.append(pool_of(driver, name, near, current, node))
    return found


def pool_of(driver: str, name: str, near: list[Object], current: list[Object], node: Object) -> Pool:
    if len(current) != near[0]["pool"]["resourceSliceCount"]:
        return Pool(driver, name, False)
    sets = [one for spec in near for one in spec.get("sharedCounters") or []]
    counters = {
        (one["name"], counter): quantity(amount["value"]) for one in sets for counter, amount in one["counters"].items()
    }
    consumers = {
        (driver, name, device["name"]): {
            (use["counterSet"], counter): quantity(amount["value"])
            for use in device.get("consumesCounters") or []
            for counter, amount in use["counters"].items()
        }
        for spec in current
        for device in spec.get("devices") or []
    }
    names = [device["name"] for spec in near for device in spec.get("devices") or []]
    twice = len(set(names)) < len(names) or len({one["name"] for one in sets}) < len(sets)
    if twice or any(use not in counters for uses in consumers.values() for use in uses):
        return Pool(driver, name, False)
    devices = [
        ((driver, name, device["name"]), device)
        for spec in near
        for device in spec.get("devices") or []
        if not spec.get("perDeviceNodeSelection") or reaches(node, device)
    ]
    return Pool(driver, name, True, devices, counters, consumers)


# --- allocation (structured/internal/incubating/allocator_incubating.go) ----------------------------------------------


@dataclass(frozen=True)
class Result:
    request: str
    device: Device
    is_admin: bool
    share: tuple[tuple[str, Fraction], ...] | None = None  # of a device that several claims may share


Results = list[tuple[int, Result]]  # with the number of the claim


class Allocator:
    """One attempt on one node: an exhaustive search, claim by claim, request by request, device by device."""

    def __init__(self, cluster: Cluster, node: Object, specs: list[Object]) -> None:
        self.cluster, self.node, self.specs = cluster, node, specs
        self.pools = pools_for(cluster, node)
        self.busy = taken(cluster)
        self.shares: dict[tuple[Device, str], Fraction] = {}
        for device, result in results_of(cluster):
            for name, amount in (result.get("consumedCapacity") or {}).items():
                self.shares[device, name] = self.shares.get((device, name), Fraction(0)) + quantity(amount)
        self.facts = {name: device for pool in self.pools for name, device in pool.devices}

    def run(self) -> Results | None:
        for spec in self.specs:
            for _, alternatives in requests_of(spec):
                for _, asked in alternatives:
                    if asked.get("allocationMode") == "All":
                        self.everything(asked)
        return self.search(list(self.steps()), [])

    def steps(self) -> Iterator[tuple[int, str, list[tuple[str, Object]]]]:
        for number, spec in enumerate(self.specs):
            for name, alternatives in requests_of(spec):
                yield number, name, alternatives

    def everything(self, asked: Object) -> list[Device]:
        if not all(pool.is_usable for pool in self.pools):
            raise SchedulingError("asks for all devices, but a resource pool is currently being updated or invalid")
        return [
            name
            for pool in self.pools
            for name, facts in pool.devices
            if self.is_selected(asked, name) and consumed(facts, asked) is not None
        ]

    def is_shared(self, device: Device) -> bool:
        return bool(self.facts[device].get("allowMultipleAllocations"))

    def share_of(self, asked: Object, device: Device) -> tuple[tuple[str, Fraction], ...] | None:
        if asked.get("adminAccess") or not self.is_shared(device):
            return None
        return tuple((consumed(self.facts[device], asked) or {}).items())

    def has_left(self, asked: Object, device: Device, chosen: Results) -> bool:
        """CmpRequestOverCapacity."""
        amounts = consumed(self.facts[device], asked)
        if amounts is None or asked.get("adminAccess") or not self.is_shared(device):
            return amounts is not None
        used = [pair for _, one in chosen if one.device == device for pair in one.share or ()]
        return all(
            self.shares.get((device, name), Fraction(0)) + sum(n for of, n in used if of == name) + amount
            <= quantity(self.facts[device]["capacity"][name]["value"])
            for name, amount in amounts.items()
        )

    def is_selected(self, asked: Object, device: Device) -> bool:
        device_class = self.cluster.get("DeviceClass", "", asked["deviceClassName"])
        assert device_class is not None
        of_class = device_class["spec"].get("selectors") or []
        try:
            if not all(cel_matches(one["cel"]["expression"], device[0], self.facts[device]) for one in of_class):
                return False
        except SchedulingError as error:
            raise SchedulingError(f"class {asked['deviceClassName']}: {error}") from None
        own = asked.get("selectors") or []
        return all(cel_matches(one["cel"]["expression"], device[0], self.facts[device]) for one in own)

    def search(self, steps: list[tuple[int, str, list[tuple[str, Object]]]], chosen: Results) -> Results | None:
        if not steps:
            return chosen
        number, _, alternatives = steps[0]
        for name, asked in alternatives:
            found = self.choose(steps[1:], number, name, asked, chosen)
            if found is not None:
                return found
        return None

    def choose(
        self,
        rest: list[tuple[int, str, list[tuple[str, Object]]]],
        number: int,
        name: str,
        asked: Object,
        chosen: Results,
    ) -> Results | None:
        """Every combination of devices for one request, in the order of the devices."""
        is_admin = bool(asked.get("adminAccess"))
        if asked.get("allocationMode") == "All":
            everything = self.everything(asked)
            if not everything or len(everything) > MOST_DEVICES:
                return None
            added = chosen
            for device in everything:
                if not self.may_have(number, name, asked, device, added):
                    return None
                added = [*added, (number, Result(name, device, is_admin, self.share_of(asked, device)))]
            return self.search(rest, added)
        return self.pick(rest, number, name, asked, chosen, asked.get("count", 1), 0)

    def pick(
        self,
        rest: list[tuple[int, str, list[tuple[str, Object]]]],
        number: int,
        name: str,
        asked: Object,
        chosen: Results,
        left: int,
        start: int,
    ) -> Results | None:
        if left == 0:
            return self.search(rest, chosen)
        usable = [device for pool in self.pools if pool.is_usable for device, _ in pool.devices]
        for place, device in enumerate(usable[start:], start):
            in_use = device in self.busy or (self.is_chosen(device, chosen) and not self.is_shared(device))
            if not asked.get("adminAccess") and in_use:
                continue
            if not self.is_selected(asked, device) or not self.may_have(number, name, asked, device, chosen):
                continue
            share = self.share_of(asked, device)
            result = Result(name, device, bool(asked.get("adminAccess")), share)
            after = place + 1 if share is None else place  # the same request may have another part of it
            found = self.pick(rest, number, name, asked, [*chosen, (number, result)], left - 1, after)
            if found is not None:
                return found
        return None

    def is_chosen(self, device: Device, chosen: Results, number: int | None = None) -> bool:
        return any(one.device == device and number in (None, of) for of, one in chosen)

    def may_have(self, number: int, name: str, asked: Object, device: Device, chosen: Results) -> bool:
        """allocateDevice: in use, counters, taints, constraints."""
        if asked.get("adminAccess"):
            if self.is_chosen(device, chosen, number):
                return False
        elif device in self.busy or (self.is_chosen(device, chosen) and not self.is_shared(device)):
            return False
        if not self.has_left(asked, device, chosen):
            return False
        if not self.counters_suffice(device, chosen) or not self.tolerates_all(asked, device):
            return False
        others = [one for of, one in chosen if of == number]
        constraints = (self.specs[number].get("devices") or {}).get("constraints") or []
        return all(self.keeps(constraint, name, device, others) for constraint in constraints)

    def counters_suffice(self, device: Device, chosen: Results) -> bool:
        pool = next(one for one in self.pools if (one.driver, one.name) == device[:2])
        if not pool.consumers.get(device):
            return True
        used = dict.fromkeys(pool.counters, Fraction(0))
        for name in [*(self.busy & set(pool.consumers)), *(one.device for _, one in chosen), device]:
            for use, amount in pool.consumers.get(name, {}).items():
                used[use] += amount
        return all(used[one] <= there for one, there in pool.counters.items())

    def tolerates_all(self, asked: Object, device: Device) -> bool:
        found = [*(self.facts[device].get("taints") or []), *self.ruled_taints(device)]
        taints = [t for t in found if t["effect"] in ("NoSchedule", "NoExecute")]
        return all(any(tolerates(one, taint) for one in asked.get("tolerations") or []) for taint in taints)

    def ruled_taints(self, device: Device) -> list[Object]:
        """resourceslice/tracker: DeviceTaintRules whose selector names the device."""
        rules = [
            one["spec"] for one in self.cluster.of("DeviceTaintRule") if one["spec"].get("deviceSelector") is not None
        ]
        fields = ("driver", "pool", "device")
        return [
            one["taint"]
            for one in rules
            if all(one["deviceSelector"].get(f) in (None, value) for f, value in zip(fields, device, strict=True))
        ]

    def keeps(self, constraint: Object, name: str, device: Device, others: list[Result]) -> bool:
        concerned = constraint.get("requests") or []

        def concerns(request: str) -> bool:
            return not concerned or request in concerned or request.split("/", maxsplit=1)[0] in concerned

        if not concerns(name):
            return True
        attribute = constraint.get("matchAttribute") or constraint["distinctAttribute"]
        value = self.attribute(device, attribute)
        if value is None:
            return False
        values = [self.attribute(one.device, attribute) for one in others if concerns(one.request)]
        if "matchAttribute" in constraint:
            return all(value == other for other in values)
        return value not in values

    def attribute(self, device: Device, name: str) -> Object | None:
        attributes = self.facts[device].get("attributes") or {}
        domain, _, short = name.rpartition("/")
        found: Object | None = attributes.get(name) or (attributes.get(short) if domain == device[0] else None)
        return found


def requests_of(spec: Object) -> Iterator[tuple[str, list[tuple[str, Object]]]]:
    for request in (spec.get("devices") or {}).get("requests") or []:
        if request.get("firstAvailable"):
            yield request["name"], [(f"{request['name']}/{one['name']}", one) for one in request["firstAvailable"]]
        else:
            yield request["name"], [(request["name"], request["exactly"])]


# --- the plugin ----------------------------------------------------------------------------------------------------


def refusal_before_nodes(cluster: Cluster, pod: Object) -> str | None:
    """dynamicresources.go PreFilter: what no node can fix."""
    for claim in claims_of(cluster, pod) or []:
        status = claim.get("status") or {}
        reserved = status.get("reservedFor") or []
        if status.get("allocation"):
            if len(reserved) >= MOST_RESERVATIONS and pod["metadata"].get("uid") not in [
                one["uid"] for one in reserved
            ]:
                return "resourceclaim in use"
            continue
        for _, alternatives in requests_of(claim["spec"]):
            for name, asked in alternatives:
                if cluster.get("DeviceClass", "", asked["deviceClassName"]) is None:
                    return f"request {name}: device class {asked['deviceClassName']} does not exist"
    return None


def uses_devices(cluster: Cluster, pod: Object) -> bool:
    if pod["spec"].get("resourceClaims"):
        return True
    return bool(cluster.of("DeviceClass")) and any(
        class_behind(cluster, name) for name in pod_requests(pod) if "/" in name
    )


def unavailable_claims(cluster: Cluster, pod: Object, node: Object) -> list[Object]:
    """Claims of the pod with an allocation that this node can't reach."""
    found = []
    for claim in claims_of(cluster, pod) or []:
        selector = (allocation_of(claim) or {}).get("nodeSelector")
        if selector and not node_selector_matches(selector, node):
            found.append(claim)
    return found


def allocate(cluster: Cluster, pod: Object, node: Object) -> tuple[list[Key | None], Results] | None:
    """What to allocate on ``node``: the claims' keys (None: the one for extended resources) and their devices; or None."""
    keys: list[Key | None] = []
    specs: list[Object] = []
    for claim in claims_of(cluster, pod) or []:
        if allocation_of(claim) is None:
            keys.append(key(claim))
            specs.append(claim["spec"])
    extended = extended_requests(cluster, pod, node)
    if extended:
        keys.append(None)
        specs.append({"devices": {"requests": extended}})
    results = Allocator(cluster, node, specs).run() if specs else []
    return None if results is None else (keys, results)


def node_selector_of(cluster: Cluster, devices: list[Device], node: Object) -> Object | None:
    """createNodeSelector: a device of one node ties the claim to it; a slice's selector is taken over."""
    requirements: list[Object] = []
    for part, device in itertools.product(cluster.of("ResourceSlice"), devices):
        spec = part["spec"]
        if (spec["driver"], spec["pool"]["name"]) != device[:2]:
            continue
        named = next((one for one in spec.get("devices") or [] if one["name"] == device[2]), None)
        if named is None:
            continue
        where = named if spec.get("perDeviceNodeSelection") else spec
        if where.get("nodeName"):
            field_of = {"key": "metadata.name", "operator": "In", "values": [node["metadata"]["name"]]}
            return {"nodeSelectorTerms": [{"matchFields": [field_of]}]}
        if where.get("nodeSelector"):
            requirements += where["nodeSelector"]["nodeSelectorTerms"][0].get("matchExpressions") or []
    return {"nodeSelectorTerms": [{"matchExpressions": requirements}]} if requirements else None


def extended_claim(pod: Object, requests: list[Object]) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": "",
            "namespace": pod["metadata"]["namespace"],
            "annotations": {EXTENDED_CLAIM: "true"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": pod["metadata"]["name"],
                    "uid": pod["metadata"]["uid"],
                    "controller": True,
                }
            ],
        },
        "spec": {"devices": {"requests": requests}},
    }


def reserve(cluster: Cluster, pod: Object, node: Object, extended: Object | None) -> None:
    """dynamicresources.go Reserve and PreBind: the allocation and the pod's reservation are written to the claims.

    ``extended``: the claim made for the pod's extended resources, if any."""
    allocated = allocate(cluster, pod, node)
    assert allocated is not None
    keys, results = allocated
    claims = list(claims_of(cluster, pod) or [])
    if extended is not None:
        claims.append(extended)
    for number, claim_key in enumerate(keys):
        claim = extended if claim_key is None else cluster.kinds["ResourceClaim"][claim_key]
        assert claim is not None
        mine = [one for of, one in results if of == number]
        allocation: Object = {
            "devices": {
                "results": [
                    {
                        "request": one.request,
                        "driver": one.device[0],
                        "pool": one.device[1],
                        "device": one.device[2],
                        **({"adminAccess": True} if one.is_admin else {}),
                        **({} if one.share is None else {"consumedCapacity": {n: str(v) for n, v in one.share}}),
                    }
                    for one in mine
                ]
            }
        }
        selector = node_selector_of(cluster, [one.device for one in mine], node)
        if selector:
            allocation["nodeSelector"] = selector
        claim.setdefault("status", {})["allocation"] = allocation
    for claim in claims:
        reserved = claim.setdefault("status", {}).setdefault("reservedFor", [])
        if pod["metadata"]["uid"] not in [one["uid"] for one in reserved]:
            reserved.append({"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]})


def deallocate(cluster: Cluster, claim: Object) -> None:
    claim["status"].pop("allocation", None)
    claim["status"]["reservedFor"] = []
    cluster.tell("deallocated", claim)
