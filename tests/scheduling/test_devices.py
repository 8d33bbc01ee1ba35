"""Devices asked for through claims: counted where they can be, "unknown" said where not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.objects import Item, node, pod, pod_spec
from tests.scheduling.questions import Question

DRIVER = "gpu.example.com"
NODES = [node("n-0"), node("n-1")]


def named(kind: str, name: str, spec: Item, namespace: str = "") -> Item:
    metadata = {"name": name, "uid": f"{kind}-{name}"} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def device_class(*expressions: str) -> Item:
    return named("DeviceClass", "gpu", {"selectors": [{"cel": {"expression": e}} for e in expressions]})


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
    return question.state.devices.take(question.shape.devices, node, "new")


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
    question.state.devices.hold([1])
    assert question.fitting() == ["n-0"]


def test_devices_in_use_are_taken() -> None:
    question = ask(*BOTH, template(wants(1)))
    question.state.devices.hold([0])
    assert question.fitting() == ["n-1"]
    question.state.devices.hold([0], release=True)
    assert question.fitting() == ["n-0", "n-1"]


def test_what_cannot_be_counted_is_said_to_be_unknown() -> None:
    assert "Headroom can't evaluate" in unknown(*BOTH, template(wants(1, "device.")))
    assert unknown(devices("n-0", "t4"), template(wants(1))) == "DeviceClass gpu is not in the snapshot"
    shared = devices("n-0", "t4", allowMultipleAllocations=True)
    assert (
        unknown(CLASS, shared, template(wants(1))) == "the devices are shared, or wait for conditions of their driver"
    )
    part = wants(1, capacity={"requests": {"memory": "1Gi"}})
    assert "asks for part of a device's capacity" in unknown(*BOTH, template(part))


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
    first.state.devices.hold([0])
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
    question.state.devices.hold([2])
    assert question.fitting() == []
    question.state.devices.hold([2], release=True)
    question.state.devices.hold([0])
    assert chosen(question, 0) == (1,)


def test_admin_access_takes_nothing() -> None:
    question = ask(CLASS, devices("n-0", "a"), template(wants(1, adminAccess=True)))
    question.state.devices.hold([0])
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
