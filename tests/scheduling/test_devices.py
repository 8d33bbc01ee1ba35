"""Devices asked for through claims: counted where they can be, "unknown" said where not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.scheduling.devices import choose, device_demand, device_table
from tests.builders.objects import Item, node, pod_spec
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
    question = ask(*items)
    return device_demand(question.cluster, "ml", question.shape.spec).unknown


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
        (f"device.attributes['{DRIVER}'].colour == 'red'", []),
    ],
)
def test_selectors_in_cel(expression: str, fitting: list[str]) -> None:
    assert ask(*BOTH, template(wants(1, expression))).fitting() == fitting


def test_several_requests_take_different_devices() -> None:
    mixed = [CLASS, devices("n-0", "t4", "a100"), devices("n-1", "t4", "t4")]
    a100 = f"device.attributes['{DRIVER}'].model == 'a100'"
    question = ask(*mixed, template(wants(1, name="any"), wants(1, a100, name="large")))
    assert question.fitting() == ["n-0"]
    table = device_table(question.cluster)
    demand = device_demand(question.cluster, "ml", question.shape.spec)
    assert choose(table, question.state.free_devices(), demand, 0) == (0, 1)
    # the first device would do for both: the other way round it has to be left to the second request
    question = ask(*mixed, template(wants(1, name="any"), wants(1, a100.replace("a100", "t4"), name="small")))
    chosen = choose(
        device_table(question.cluster),
        question.state.free_devices(),
        device_demand(question.cluster, "ml", question.shape.spec),
        0,
    )
    assert chosen == (1, 0)


def test_all_of_a_nodes_devices() -> None:
    question = ask(*BOTH, template(wants(1, allocationMode="All")))
    assert question.fitting() == ["n-0", "n-1"]
    question.state.hold_devices([1])
    assert question.fitting() == ["n-0"]


def test_devices_in_use_are_taken() -> None:
    question = ask(*BOTH, template(wants(1)))
    question.state.hold_devices([0])
    assert question.fitting() == ["n-1"]
    question.state.hold_devices([0], release=True)
    assert question.fitting() == ["n-0", "n-1"]


def test_what_cannot_be_counted_is_said_to_be_unknown() -> None:
    assert "has constraints between devices" in unknown(
        *BOTH, template(wants(2), constraints=[{"matchAttribute": "gpu.example.com/numa"}])
    )
    first = {"name": "either", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]}
    assert 'request "either" is of a kind' in unknown(*BOTH, template(first))
    assert "Headroom can't evaluate" in unknown(*BOTH, template(wants(1, "device.")))
    assert unknown(devices("n-0", "t4"), template(wants(1))) == "DeviceClass gpu is not in the snapshot"
    tainted = devices("n-0", "t4", taints=[{"key": "broken", "effect": "NoSchedule"}])
    assert unknown(CLASS, tainted, template(wants(1))) == "the devices are shared, partitioned or tainted"


def test_a_template_that_is_not_there() -> None:
    question = ask(*BOTH, template(wants(1)) | {"metadata": {"name": "other", "namespace": "ml", "uid": "u"}})
    assert device_demand(question.cluster, "ml", question.shape.spec).missing == "ResourceClaimTemplate gpus"
    assert "doesn't hold ResourceClaimTemplate gpus" in unknown(*BOTH)
