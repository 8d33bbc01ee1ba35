"""Names that Kubernetes refuses are refused while reading, with the object's name: they may be meant for a shell."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from planner.capacity.rollout_readiness import overview
from planner.ground.errors import ChangeError, InputError
from planner.inventory.kubectl_apply import read_manifest
from planner.kubernetes import name_validation
from planner.kubernetes.object_records import Severity
from planner.questions import question_called
from planner.questions.findings import FindingsSettings
from planner.questions.question import Inputs
from tests.builders.objects import deployment, pod_spec, read_items

EVIL = (
    "a; rm -rf ~",
    "a\nb",
    "$(id)",
    "`id`",
    "a'b",
    '"',
    "-o",
    "a/b",
    "A",
    "é",
    "a\x1b]0;x\x07",
    "x" * 254,
    "a..b",
    "web.a-",
    "web-",
)
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "api-0", "namespace": "prod", "labels": {"app": "api"}},
    "spec": {"containers": [{"name": "main", "image": "a", "resources": {"requests": {"cpu": "1"}}}]},
}
NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-0", "labels": {"pool": "a"}}}


def read(*objects: dict[str, Any]) -> Any:
    return read_items(objects)


def changed(base: dict[str, Any], *path: str | int, value: Any) -> dict[str, Any]:
    """`base` with another value at `path`."""
    copy = deepcopy(base)
    place: Any = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
@pytest.mark.parametrize(
    "path",
    [
        ("metadata", "name"),
        ("metadata", "namespace"),
        ("metadata", "labels", "app"),
        ("spec", "containers", 0, "name"),
        ("spec", "nodeName"),
        ("spec", "priorityClassName"),
        ("spec", "serviceAccountName"),
    ],
    ids=str,
)
def test_an_object_with_such_a_name_is_left_out_and_named(path: tuple[str | int, ...], evil: str) -> None:
    if path[-1] == "app" and evil in ("A", "a..b"):  # a label's value may be so
        evil += ";"
    found = read(NODE, changed(POD, *path, value=evil))
    assert found.pods == ()
    (problem,) = (one for one in found.problems if one.code == "object-unreadable")
    assert problem.severity is Severity.ERROR
    assert "that Kubernetes takes" in problem.what
    assert found.reading.unreadable == 1


@pytest.mark.parametrize(
    ("base", "path", "value"),
    [
        (NODE, ("metadata", "name"), "a;b"),
        (NODE, ("metadata", "labels", "pool"), "a;b"),
        (NODE, ("metadata", "labels", "a b"), "x"),
        (NODE, ("spec",), {"taints": [{"key": "a;b", "effect": "NoSchedule"}]}),
        (NODE, ("spec",), {"taints": [{"key": "a", "value": "$(id)", "effect": "NoSchedule"}]}),
        (NODE, ("status",), {"allocatable": {"a;b/c": "1"}}),
    ],
)
def test_nodes_and_what_pools_are_called_by(base: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    found = read(POD, changed(base, *path, value=value))
    assert found.nodes == ()
    assert found.reading.unreadable == 1


AUTOSCALER: dict[str, Any] = {
    "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h", "namespace": "prod"},
    "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "api"}},
}  # fmt: skip
ROLLOUT: dict[str, Any] = {
    "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "r", "namespace": "prod"},
    "spec": {"selector": {"matchLabels": {"app": "api"}}, "strategy": {"canary": {}}, "workloadRef": {"kind": "Deployment", "name": "api"}},
}  # fmt: skip


@pytest.mark.parametrize("field", ["kind", "name"])
@pytest.mark.parametrize("evil", [one for one in EVIL if one not in ("A", "x" * 254)])
def test_a_reference_to_a_workload_is_one(field: str, evil: str) -> None:
    """A key has three parts: one with a slash more ended `plan` (found in a store's snapshot, and so in a dump)."""
    good = read(POD, NODE, AUTOSCALER, ROLLOUT)
    assert (good.autoscalers[0].target, good.workloads[0].template_of) == ("Deployment/prod/api",) * 2
    found = read(
        POD,
        NODE,
        changed(AUTOSCALER, "spec", "scaleTargetRef", field, value=evil),
        changed(ROLLOUT, "spec", "workloadRef", field, value=evil),
    )
    assert (found.autoscalers, found.workloads) == ((), ())
    assert all("that Kubernetes takes" in one.what for one in found.problems if one.code == "object-unreadable")
    assert found.reading.unreadable == 2


def test_what_kubernetes_takes_is_taken() -> None:
    labels = {"a.example/b_C.d": "x-Y_z.0", "empty": "", "app": "a" * 63}
    pod = changed(POD, "metadata", value={"generateName": "api-", "namespace": "prod", "labels": labels})
    node = changed(NODE, "metadata", value={"name": "ip-10-0-0-1.eu.internal", "labels": labels})
    found = read(pod, node)
    assert (len(found.pods), len(found.nodes), found.reading.unreadable) == (1, 1, 0)
    assert name_validation.is_qualified("nvidia.com/mig-1g.5gb")
    assert name_validation.is_qualified("hugepages-2Mi")
    assert not name_validation.is_qualified("/a")
    assert not name_validation.is_qualified("a/")


@pytest.mark.parametrize("evil", ["a;b", "a\nb", "$(id)"])
def test_a_manifest_is_held_to_the_same(evil: str) -> None:
    text = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {evil!r}, namespace: prod}}
spec:
  selector: {{matchLabels: {{app: a}}}}
  template: {{metadata: {{labels: {{app: a}}}}, spec: {{containers: [{{name: m, image: a}}]}}}}
""".replace("'a\\nb'", '"a\\nb"')
    with pytest.raises(ChangeError, match="that Kubernetes takes"):
        read_manifest(text, read(NODE, POD))


@pytest.mark.parametrize("bad", ["250", "x%", -3, "²", "5.5%", 2**70])
@pytest.mark.parametrize("field", ["maxSurge", "maxUnavailable"])
def test_one_bad_strategy_is_named_and_breaks_no_list(field: str, bad: Any) -> None:
    good, wrong = (deployment(name, ["n-0"], pod_spec()) for name in ("good", "wrong"))
    wrong[0]["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {field: bad}}
    found = read(NODE, *good, *wrong)
    assert [one.name for one in found.workloads] == ["good"]
    (problem,) = (one for one in found.problems if one.code == "object-unreadable")
    assert problem.object == "Deployment/ml/wrong"
    assert field in problem.what
    assert [line.workload for line in overview(found).workloads] == ["Deployment/ml/good"]


def test_a_list_in_a_list_is_read_and_pods_on_unknown_nodes_are_named() -> None:
    inner = {"kind": "List", "apiVersion": "v1", "items": deployment("web", ["gone"], pod_spec())}
    found = read(NODE, {"kind": "List", "apiVersion": "v1", "items": [inner]})
    assert found.reading.objects == found.reading.used == 4
    said = [one.what for one in question_called("findings").answer(found, FindingsSettings(), Inputs()).findings]
    assert any("is bound to this node, which isn't in the input" in what for what in said)


@pytest.mark.parametrize(
    "key", ["", "Deployment/prod/web", "my-kind/prod/web", "RayCluster/prod/", "Node//n-0", "/prod/web"]
)
def test_a_key_of_a_workload_may_have_the_kind_of_any_custom_resource(key: str) -> None:
    assert name_validation.check_workload_key("owner", key) == key


@pytest.mark.parametrize(
    "key",
    [
        "web",
        "a/b",
        "a/b/c/d",
        "-x/prod/web",
        "a_b/prod/web",
        "é/prod/web",
        "Pod/PROD/web",
        "Pod/-o/web",
        "Pod/a b/web",
        "Pod/prod/-o",
    ],
)
def test_no_other_key_of_a_workload_is_read(key: str) -> None:
    with pytest.raises(InputError, match="owner"):
        name_validation.check_workload_key("owner", key)
