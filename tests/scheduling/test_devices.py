"""Devices asked for through claims: counted where they can be, "unknown" said where not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kubernetes.object_records import EMPTY, CapacityPolicy, Device, FrozenMap
from planner.rollout.run import Revision
from planner.rollout.unknowns import unknowns
from planner.scheduling.cluster import Cluster
from planner.scheduling.devices import consumed
from tests.builders.objects import Item, deployment, node, pod, pod_spec, snapshot
from tests.scheduling.questions import Question

DRIVER = "gpu.example.com"
NODES = [node("n-0"), node("n-1")]


def named(kind: str, name: str, spec: Item, namespace: str = "") -> Item:
    metadata = {"name": name, "uid": f"{kind}-{name}"} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def device_class(*expressions: str, name: str = "gpu") -> Item:
    return named("DeviceClass", name, {"selectors": [{"cel": {"expression": e}} for e in expressions]})


def devices(where: str, *models: str, **more: Any) -> Item:
    """One device a model on a node: attribute ``model``, capacity ``memory`` of 40Gi."""
    listed = [
        {
            "name": f"gpu-{i}",
            "attributes": {"model": {"string": model}},
            "capacity": {"memory": {"value": "40Gi"}},
            **more,
        }
        for i, model in enumerate(models)
    ]
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1}
    return named("ResourceSlice", f"s-{where}", {"driver": DRIVER, "pool": pool, "nodeName": where, "devices": listed})


def template(*requests: Item, **more: Any) -> Item:
    return named("ResourceClaimTemplate", "gpus", {"spec": {"devices": {"requests": list(requests), **more}}}, "ml")


def wants(count: int = 1, *expressions: str, name: str = "one", **more: Any) -> Item:
    selectors = [{"cel": {"expression": e}} for e in expressions]
    return {"name": name, "exactly": {"deviceClassName": "gpu", "count": count, "selectors": selectors, **more}}


SPEC = pod_spec(resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": "gpus"}])


def ask(*items: Item, spec: Item = SPEC) -> Question:
    return Question([*NODES, *items], spec)


def unknown(*items: Item) -> str:
    return ask(*items).shape.devices.unknown


def chosen(question: Question, node: int) -> tuple[int, ...]:
    """Numbers of the devices a pod gets on a node."""
    return tuple(device for device, _ in question.state.devices.take(question.shape.devices, node, "new"))


CLASS = device_class(f"device.driver == '{DRIVER}'")
BOTH = [CLASS, devices("n-0", "a100"), devices("n-1", "t4", "t4")]


def test_a_count_of_devices() -> None:
    assert ask(*BOTH, template(wants(1))).fitting() == ["n-0", "n-1"]
    assert ask(*BOTH, template(wants(2))).fitting() == ["n-1"]
    assert ask(*BOTH, template(wants(3))).reasons() == "2 cannot allocate all claims"
    assert "still not schedulable, preemption:" in ask(*BOTH, template(wants(3))).attempt().message


@pytest.mark.parametrize(
    ("expression", "fitting"),
    [
        (f"device.attributes['{DRIVER}'].model == 'a100'", ["n-0"]),
        (f"device.attributes['{DRIVER}'].model.startsWith('t')", ["n-1"]),
        (f"device.capacity['{DRIVER}'].memory.compareTo(quantity('80Gi')) < 0", ["n-0", "n-1"]),
        (f"device.capacity['{DRIVER}'].memory.isGreaterThan(quantity('80Gi'))", []),
        (f"device.attributes['{DRIVER}'].model.lowerAscii().startsWith('A')", []),
        (f"device.attributes['{DRIVER}'].model == 3", []),
        (f"has(device.attributes['{DRIVER}'].colour) && device.attributes['{DRIVER}'].colour == 'red'", []),
        ("has(device.attributes['other.example'].colour)", []),
    ],
)
def test_selectors_in_cel(expression: str, fitting: list[str]) -> None:
    assert ask(*BOTH, template(wants(1, expression))).fitting() == fitting


def test_several_requests_take_different_devices() -> None:
    mixed = [CLASS, devices("n-0", "t4", "a100"), devices("n-1", "t4", "t4")]
    a100 = f"device.attributes['{DRIVER}'].model == 'a100'"
    question = ask(*mixed, template(wants(1, name="any"), wants(1, a100, name="large")))
    assert question.fitting() == ["n-0"]
    assert chosen(question, 0) == (0, 1)
    # the first device would do for both: the other way round it has to be left to the second request
    question = ask(*mixed, template(wants(1, name="any"), wants(1, a100.replace("a100", "t4"), name="small")))
    assert chosen(question, 0) == (1, 0)


def test_every_combination_is_tried() -> None:
    """Two of any kind and two of B, of A B A B: the two A are not next to each other."""
    b = f"device.attributes['{DRIVER}'].model == 'B'"
    question = ask(CLASS, devices("n-0", "A", "B", "A", "B"), template(wants(2, name="any"), wants(2, b, name="b")))
    assert question.fitting() == ["n-0"]
    assert chosen(question, 0) == (0, 2, 1, 3)


def test_a_search_without_end_is_given_up() -> None:
    """Eight of sixteen and nine more: no combination serves; equal devices are not tried for one another."""
    many = devices("n-0", *("A" for _ in range(16)))
    assert ask(CLASS, many, template(wants(8, name="x"), wants(9, name="y"))).fitting() == []


def test_all_of_a_nodes_devices() -> None:
    question = ask(*BOTH, template(wants(1, allocationMode="All")))
    assert question.fitting() == ["n-0", "n-1"]
    question.state.devices.hold([(1, EMPTY)])
    assert question.fitting() == ["n-0"]


def test_devices_in_use_are_taken() -> None:
    question = ask(*BOTH, template(wants(1)))
    question.state.devices.hold([(0, EMPTY)])
    assert question.fitting() == ["n-1"]
    question.state.devices.hold([(0, EMPTY)], release=True)
    assert question.fitting() == ["n-0", "n-1"]


def test_what_cannot_be_counted_is_said_to_be_unknown() -> None:
    assert "Headroom can't evaluate" in unknown(*BOTH, template(wants(1, "device.")))
    assert unknown(devices("n-0", "t4"), template(wants(1))) == "DeviceClass gpu is not in the snapshot"
    waits = devices("n-0", "t4", bindingConditions=["attached"])
    assert unknown(CLASS, waits, template(wants(1))).startswith("the devices wait for conditions of their driver")
    assert unknown(CLASS, shared("n-0"), template(part("1Gi"))) == ""


def test_claims_that_pods_must_have_and_nobody_read_hold_devices() -> None:
    """No pod with claims is on a node before they are allocated: which devices are taken isn't known without them."""
    said = "the snapshot doesn't hold ResourceClaims, which say what pods have of devices"
    fits = [*BOTH, template(wants(1))]
    assert unknown(*fits, pod("holds", SPEC, on="n-0")) == said
    assert unknown(*fits, pod("holds", SHARED, on="n-0")) == said
    assert unknown(*fits, pod("waits", SPEC)) == unknown(*fits, pod("plain", pod_spec(), on="n-0")) == ""
    assert unknown(*fits, shared_claim("n-0", "holds"), pod("holds", SHARED, on="n-0")) == ""
    backed = device_class("true")
    backed["spec"]["extendedResourceName"] = "nvidia.com/gpu"
    items = [backed, devices("n-1", "a"), pod("holds", pod_spec(gpus=1), on="n-1")]
    assert Question([*NODES, *items], pod_spec(gpus=1)).shape.devices.unknown == said
    assert Question([node("n-1", gpus=2), node("n-0"), *items], pod_spec(gpus=1)).shape.devices.unknown == ""


def test_missing_kinds_are_asked_for_only_where_some_are_missing() -> None:
    for lacking, items in (
        (True, [devices("n-0", "t4"), template(wants(1))]),
        (True, [CLASS, devices("n-0", "t4")]),
        (False, [CLASS, devices("n-0", "t4", bindingConditions=["attached"]), template(wants(1))]),
        (False, [*BOTH, template(wants(1, "device."))]),
    ):
        cluster = Cluster(snapshot(*NODES, *items, *deployment("worker", ["n-0"], SPEC)))
        workload = cluster.snapshot.workload("Deployment/ml/worker")
        assert workload is not None
        asked = Revision(before=workload, after=workload, has_new_template=True)
        (found,) = [one for one in unknowns(cluster, asked) if "evice" in one.what or "esourceClaim" in one.what]
        assert ("missing kinds" in found.fix) is lacking, found


def test_a_class_that_does_not_exist_refuses_the_pod() -> None:
    other = named("DeviceClass", "other", {"selectors": []})
    message = ask(other, devices("n-0", "t4"), template(wants(1))).attempt().message
    assert message.startswith("0/2 nodes are available: request one: device class gpu does not exist. no new claims")


@pytest.mark.parametrize("where", ["class gpu", "claim ml/gpus"])
def test_an_error_of_a_selector_stops_the_pod_everywhere(where: str) -> None:
    """Also on a node without such devices nothing is placed: the attempt is given up."""
    wrong = f"device.attributes['{DRIVER}'].colour == 'red'"
    classes = device_class(wrong) if where == "class gpu" else CLASS
    question = ask(classes, devices("n-0", "a100"), template(wants(1, *([] if where == "class gpu" else [wrong]))))
    attempt = question.attempt()
    assert attempt.is_error
    expected = f'running "DynamicResources" filter plugin: {where}: selector #0: CEL runtime error: no such key: colour'
    assert attempt.message == expected


def test_an_error_behind_the_devices_that_serve_is_not_met() -> None:
    guarded = f"device.attributes['{DRIVER}'].model == 'a100' || device.attributes['{DRIVER}'].colour == 'red'"
    first = ask(CLASS, devices("n-0", "a100", "t4"), template(wants(1, guarded)))
    assert first.fitting() == ["n-0"]
    first.state.devices.hold([(0, EMPTY)])
    assert first.attempt().is_error


def test_a_pool_of_which_a_slice_is_missing_is_not_used() -> None:
    half = devices("n-0", "t4", "t4")
    half["spec"]["pool"]["resourceSliceCount"] = 2
    question = ask(CLASS, half, devices("n-1", "t4"), template(wants(1)))
    assert question.fitting() == ["n-1"]
    everything = ask(CLASS, half, template(wants(1, allocationMode="All"))).attempt()
    assert (
        "asks for all devices, but resource pool gpu.example.com/n-0 is currently being updated" in everything.message
    )


def test_taints_of_devices() -> None:
    tainted = devices("n-0", "t4", taints=[{"key": "broken", "effect": "NoSchedule"}])
    assert ask(CLASS, tainted, template(wants(1))).fitting() == []
    tolerant = wants(1, tolerations=[{"key": "broken", "operator": "Exists"}])
    assert ask(CLASS, tainted, template(tolerant)).fitting() == ["n-0"]


def test_constraints_between_devices() -> None:
    mixed = devices("n-0", "a", "b", "a", "c")
    alike = template(wants(2), constraints=[{"matchAttribute": f"{DRIVER}/model"}])
    apart = template(wants(3), constraints=[{"distinctAttribute": f"{DRIVER}/model", "requests": ["one"]}])
    assert chosen(ask(CLASS, mixed, alike), 0) == (0, 2)
    assert chosen(ask(CLASS, mixed, apart), 0) == (0, 1, 3)
    assert ask(CLASS, devices("n-0", "a", "b"), alike).fitting() == []
    numa = template(wants(2), constraints=[{"matchAttribute": "other.example/numa"}])
    assert ask(CLASS, devices("n-0", "a", "a"), numa).fitting() == []


def test_the_first_alternative_that_fits() -> None:
    def either(*counts: int) -> Item:
        return {
            "name": "either",
            "firstAvailable": [{"name": f"x{n}", "deviceClassName": "gpu", "count": n} for n in counts],
        }

    assert chosen(ask(*BOTH, template(either(2, 1))), 0) == (0,)
    assert chosen(ask(*BOTH, template(either(2, 1))), 1) == (1, 2)
    assert ask(*BOTH, template(either(3, 2))).fitting() == ["n-1"]


@pytest.mark.parametrize(
    ("alternatives", "fitting", "error"),
    [
        ([(40, 1)], ["n-0", "n-1"], ""),
        ([(1, 40)], ["n-0", "n-1"], ""),
        ([(33, 34)], [], "number of requested devices 33 exceeds the claim limit of 32"),
        ([(20, 40), (13, 14)], [], "number of requested devices 33 exceeds the claim limit of 32"),
        ([(20, 40), (12, 14)], [], "cannot allocate all claims"),  # 32 may be asked for: there are no more than two
    ],
)
def test_the_least_that_alternatives_ask_for_is_what_a_claims_limit_counts(
    alternatives: list[tuple[int, int]], fitting: list[str], error: str
) -> None:
    """Source: kubernetes `staging/src/k8s.io/dynamic-resource-allocation/structured` `Allocate` (`minDevicesPerClaim`, the least
    `firstAvailable` entry of each request), `resource/v1` `AllocationResultsMaxSize` = 32."""
    requests = [
        {
            "name": f"r{number}",
            "firstAvailable": [{"name": f"x{n}", "deviceClassName": "gpu", "count": n} for n in counts],
        }
        for number, counts in enumerate(alternatives)
    ]
    question = ask(*BOTH, template(*requests))
    assert question.fitting() == fitting
    assert error in question.reasons()


def test_slices_of_a_pools_older_generation_count_no_more() -> None:
    older = devices("n-0", "a", "a")
    older["spec"]["pool"]["generation"] = 0
    assert ask(CLASS, older, template(wants(2))).fitting() == ["n-0"]
    newer = devices("n-0", "a")
    newer["metadata"]["name"] = "newer"
    for slices in ((older, newer), (newer, older)):
        assert ask(CLASS, *slices, template(wants(2))).fitting() == []
        assert ask(CLASS, *slices, template(wants(1))).fitting() == ["n-0"]


def test_counters_that_parts_of_a_device_share() -> None:
    def part(name: str, gigabytes: int) -> Item:
        return {
            "name": name,
            "consumesCounters": [{"counterSet": "g", "counters": {"mem": {"value": f"{gigabytes}Gi"}}}],
        }

    pool = {"name": "n-0", "generation": 1, "resourceSliceCount": 2}
    common: Item = {"driver": DRIVER, "pool": pool, "nodeName": "n-0"}
    counters = {"sharedCounters": [{"name": "g", "counters": {"mem": {"value": "40Gi"}}}]}
    items = [
        named("ResourceSlice", "counters", common | counters),
        named("ResourceSlice", "parts", common | {"devices": [part("a", 20), part("b", 20), part("whole", 40)]}),
    ]
    assert ask(CLASS, *items, template(wants(2))).fitting() == ["n-0"]
    assert ask(CLASS, *items, template(wants(3))).fitting() == []
    question = ask(CLASS, *items, template(wants(1)))
    question.state.devices.hold([(2, EMPTY)])
    assert question.fitting() == []
    question.state.devices.hold([(2, EMPTY)], release=True)
    question.state.devices.hold([(0, EMPTY)])
    assert chosen(question, 0) == (1,)


def test_admin_access_takes_nothing() -> None:
    question = ask(CLASS, devices("n-0", "a"), template(wants(1, adminAccess=True)))
    question.state.devices.hold([(0, EMPTY)])
    assert question.fitting() == ["n-0"]
    assert chosen(question, 0) == ()


# ── claims of their own ──────────────────────────────────────────────────────────────────────────────────────────────
SHARED = pod_spec(resourceClaims=[{"name": "gpus", "resourceClaimName": "common"}])


def shared_claim(on: str = "", *users: str) -> Item:
    claim = named("ResourceClaim", "common", {"devices": {"requests": [wants(1)]}}, "ml")
    if on:
        result = {"driver": DRIVER, "pool": on, "device": "gpu-0", "request": "one"}
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
        claim["status"] = {
            "allocation": {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}},
            "reservedFor": [{"resource": "pods", "name": user, "uid": f"p-{user}"} for user in users],
        }
    return claim


def test_pods_that_share_a_claim_share_its_device() -> None:
    question = ask(CLASS, devices("n-0", "a"), devices("n-1", "a"), shared_claim(), spec=SHARED)
    assert question.fitting() == ["n-0", "n-1"]
    question.place("n-1")
    assert question.fitting() == ["n-1"]
    assert question.reasons_elsewhere() == "1 resourceclaim not available on the node"


def test_a_claim_is_free_again_when_its_last_user_is_gone() -> None:
    question = ask(CLASS, devices("n-0", "a"), devices("n-1", "a"), shared_claim(), spec=SHARED)
    question.place("n-1")
    question.state.devices.leave(question.shape.devices, "placed", ())
    assert question.fitting() == ["n-0", "n-1"]


def test_a_claim_that_nobody_uses_is_given_up_where_it_is_in_the_way() -> None:
    cordoned = [node("n-0"), node("n-1", cordoned=True), CLASS, devices("n-0", "a"), devices("n-1", "a")]
    unused = Question([*cordoned, shared_claim("n-1")], SHARED)
    attempt = unused.attempt()
    assert "1 resourceclaim not available on the node" in attempt.message
    assert "deallocation of ResourceClaim completed" in attempt.message
    assert attempt.deallocates
    user = pod("user", SHARED, on="n-1")
    assert not Question([*cordoned, shared_claim("n-1", "user"), user], SHARED).attempt().deallocates


# ── extended resources ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("resource", ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"])
def test_an_extended_resource_that_devices_stand_for(resource: str) -> None:
    backed = device_class(f"device.driver == '{DRIVER}'")
    backed["spec"]["extendedResourceName"] = "example.com/gpu"
    asks = pod_spec() | {
        "containers": [{"name": "main", "resources": {"requests": {resource: "2"}, "limits": {resource: "2"}}}]
    }
    items = [backed, devices("n-0", "a"), devices("n-1", "a", "a")]
    question = ask(*items, spec=asks)
    assert question.fitting() == ["n-1"]
    question.place("n-1")
    assert question.reasons() == "2 cannot allocate all claims"
    without = Question([*NODES, devices("n-1", "a", "a")], asks)
    assert without.reasons() == f"2 Insufficient {resource}"


@pytest.mark.parametrize(("newest", "fits"), [("gpu", ["n-1"]), ("gpu-next", []), ("", ["n-1"])])
def test_of_two_classes_for_one_resource_the_newest_counts_then_the_first_by_name(newest: str, fits: list[str]) -> None:
    classes = [device_class("true"), device_class("false", name="gpu-next")]
    for one in classes:
        one["spec"]["extendedResourceName"] = "example.com/gpu"
        year = "2026" if one["metadata"]["name"] == newest else "2025"
        one["metadata"]["creationTimestamp"] = f"{year}-01-01T00:00:00Z"
    amount = {"example.com/gpu": "1"}
    asks = pod_spec() | {"containers": [{"name": "main", "resources": {"requests": amount, "limits": amount}}]}
    for given in (classes, classes[::-1]):
        assert ask(*given, devices("n-1", "a"), spec=asks).fitting() == fits


def test_a_node_that_lists_the_resource_itself_needs_no_devices() -> None:
    backed = device_class("true")
    backed["spec"]["extendedResourceName"] = "nvidia.com/gpu"
    items = [node("n-0", gpus=1), node("n-1"), backed, devices("n-1", "a")]
    question = Question(items, pod_spec(gpus=1))
    assert question.fitting() == ["n-0", "n-1"]
    question.place("n-0")
    question.place("n-1")
    assert question.reasons() == "1 Insufficient nvidia.com/gpu, 1 cannot allocate all claims"


def test_init_containers_share_what_comes_after_them() -> None:
    backed = device_class("true")
    backed["spec"]["extendedResourceName"] = "example.com/gpu"

    def one(name: str, count: int) -> Item:
        return {
            "name": name,
            "resources": {"requests": {"example.com/gpu": str(count)}, "limits": {"example.com/gpu": str(count)}},
        }

    asks = pod_spec() | {"initContainers": [one("warm", 3)], "containers": [one("a", 1), one("b", 1)]}
    assert ask(backed, devices("n-0", "a", "a"), devices("n-1", "a", "a", "a"), spec=asks).fitting() == ["n-1"]


def test_a_template_that_is_not_there() -> None:
    question = ask(*BOTH, template(wants(1)) | {"metadata": {"name": "other", "namespace": "ml", "uid": "u"}})
    assert question.shape.devices.missing == "ResourceClaimTemplate gpus"
    assert "doesn't hold ResourceClaimTemplate gpus" in unknown(*BOTH)


# ── a part of a device's capacity ────────────────────────────────────────────────────────────────────────────────────
GIB = 2**30


def shared(where: str, count: int = 1, policy: Item | None = None, **more: Any) -> Item:
    """Devices of 40Gi that several claims may share."""
    capacity = {"memory": {"value": "40Gi"} | ({"requestPolicy": policy} if policy else {})}
    return devices(where, *["a100"] * count, allowMultipleAllocations=True, capacity=capacity, **more)


def part(size: str, count: int = 1, **more: Any) -> Item:
    return wants(count, capacity={"requests": {"memory": size}}, **more)


def fill(question: Question, node: int = 0) -> int:
    """How many such pods a node takes."""
    taken = 0
    while question.cluster.node_names[node] in question.fitting():
        assert chosen(question, node)
        taken += 1
    return taken


def test_claims_share_a_device_until_its_capacity_is_used_up() -> None:
    assert fill(ask(CLASS, shared("n-0"), template(part("10Gi")))) == 4
    assert fill(ask(CLASS, shared("n-0"), template(part("15Gi")))) == 2
    assert fill(ask(CLASS, shared("n-0", 2), template(part("15Gi")))) == 4
    assert fill(ask(CLASS, shared("n-0"), template(wants()))) == 1  # no part is asked for: all of it
    assert ask(CLASS, shared("n-0"), template(part("41Gi"))).reasons() == "2 cannot allocate all claims"


def test_one_request_may_have_several_parts_of_a_device() -> None:
    assert fill(ask(CLASS, shared("n-0"), template(part("10Gi", 2)))) == 2
    distinct = [{"distinctAttribute": f"{DRIVER}/model"}]
    assert ask(CLASS, shared("n-0", 2), template(part("10Gi", 2), constraints=distinct)).fitting() == []


def test_what_is_asked_of_an_exclusive_device_is_the_least_it_must_have() -> None:
    question = ask(CLASS, devices("n-0", "a100"), template(part("10Gi")))
    assert fill(question) == 1
    assert ask(CLASS, devices("n-0", "a100"), template(part("41Gi"))).fitting() == []
    other = wants(capacity={"requests": {"bandwidth": "1"}})
    assert ask(CLASS, devices("n-0", "a100"), template(other)).fitting() == []


def test_what_a_pod_gives_back_is_there_again() -> None:
    question = ask(CLASS, shared("n-0"), template(part("20Gi")))
    own = question.state.devices.take(question.shape.devices, 0, "new")
    with question.state.devices.tried():
        assert chosen(question, 0)
        assert question.fitting() == []
    assert question.fitting() == ["n-0"]
    assert chosen(question, 0)
    question.state.devices.leave(question.shape.devices, "new", own)
    assert question.fitting() == ["n-0"]


def test_what_claims_of_the_snapshot_hold_is_taken() -> None:
    result = {"driver": DRIVER, "pool": "n-0", "device": "gpu-0", "request": "one", "shareID": "x"}
    held = named("ResourceClaim", "held", {"devices": {"requests": [part("30Gi")]}}, "ml")
    held["status"] = {
        "allocation": {"devices": {"results": [{**result, "consumedCapacity": {"memory": "30Gi"}}]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "p-p"}],
    }
    there = [CLASS, shared("n-0"), held, pod("p", pod_spec(resourceClaims=[{"name": "x", "resourceClaimName": "held"}]), on="n-0")]  # fmt: skip
    assert fill(ask(*there, template(part("10Gi")))) == 1
    assert ask(*there, template(part("11Gi"))).fitting() == []


@pytest.mark.parametrize(
    ("policy", "asked", "found"),
    [
        (None, None, 40), (None, 7, 7), (None, 41, None),
        (CapacityPolicy(default=20, values=(20, 40)), None, 20),
        (CapacityPolicy(default=20, values=(20, 40)), 5, 20),
        (CapacityPolicy(default=20, values=(20, 40)), 21, 40),
        (CapacityPolicy(default=20, values=(20, 30)), 31, None),
        (CapacityPolicy(default=10, minimum=10, step=5), 3, 10),
        (CapacityPolicy(default=10, minimum=10, step=5), 11, 15),
        (CapacityPolicy(default=10, minimum=10, step=5), 15, 15),
        (CapacityPolicy(default=10, minimum=10), 13, 13),
        (CapacityPolicy(default=10, minimum=10, maximum=20), 21, None),
        (CapacityPolicy(minimum=10), None, 40),
    ],
)  # fmt: skip
def test_a_policy_rounds_what_is_asked_for_up(
    policy: CapacityPolicy | None, asked: int | None, found: int | None
) -> None:
    device = Device(
        name="x", capacity=FrozenMap({"memory": 40}), policies=FrozenMap({"memory": policy}) if policy else EMPTY
    )
    amounts = consumed(device, EMPTY if asked is None else FrozenMap({"memory": asked}))
    assert (None if amounts is None else amounts["memory"]) == found


def test_a_policys_default_counts_where_nothing_is_asked_for() -> None:
    policy = {"default": "10Gi", "validRange": {"min": "10Gi", "step": "10Gi"}}
    assert fill(ask(CLASS, shared("n-0", policy=policy), template(wants()))) == 4
    assert fill(ask(CLASS, shared("n-0", policy=policy), template(part("11Gi")))) == 2


def rule(**selector: str) -> Item:
    taint = {"key": "broken", "effect": "NoSchedule"}
    return named("DeviceTaintRule", "rule", {"deviceSelector": selector, "taint": taint})


def test_a_taint_rule_keeps_pods_from_its_devices() -> None:
    claim = template(wants())
    assert ask(*BOTH, claim, rule(driver=DRIVER, pool="n-0")).fitting() == ["n-1"]
    assert ask(*BOTH, claim, rule(pool="n-1", device="gpu-0")).fitting() == ["n-0", "n-1"]
    assert ask(*BOTH, template(wants(2)), rule(pool="n-1", device="gpu-0")).fitting() == []
    assert ask(*BOTH, claim, rule()).fitting() == []
    assert ask(*BOTH, claim, rule(driver="other")).fitting() == ["n-0", "n-1"]
    tolerant = template(wants(tolerations=[{"key": "broken", "operator": "Exists"}]))
    assert ask(*BOTH, tolerant, rule()).fitting() == ["n-0", "n-1"]
    nobodys = rule()
    del nobodys["spec"]["deviceSelector"]
    assert ask(*BOTH, claim, nobodys).fitting() == ["n-0", "n-1"]
