"""What the API server refuses of a manifest: unknown and doubled fields, other types, missing ones, versions that nobody serves.

The second opinion is PyPI's kubernetes-validate, strictly, asked about many manifests that one random change was made to.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any, Final

import kubernetes_validate  # type: ignore[import-untyped] # it has none
import pytest
import yaml

from planner.ground.errors import ChangeError
from planner.inventory.field_validation import FieldProblem, problems_of
from planner.inventory.kubectl_apply import Manifest, read_manifest
from planner.inventory.kubernetes_api_schema import table
from tests.builders.objects import read_items
from tests.collection.manifests import Seen, cases
from tests.inventory.objects import Object, gpu_node, named, workload
from tests.quick import floor, seeds

POD_SPEC: Final = {
    "nodeSelector": {"pool": "a"},
    "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "c", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}],
    "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
    "containers": [{
        "name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
        "ports": [{"name": "http", "containerPort": 80}], "env": [{"name": "A", "value": "1"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }],
}  # fmt: skip


def deployment(**spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": "w"}}, "spec": copy.deepcopy(POD_SPEC)}
    own = {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "strategy": {"rollingUpdate": {"maxSurge": 1}}}
    return named("Deployment", "w", "prod", "apps/v1", spec=own | {"template": template} | spec)


def nodes(version: str = "v1.36.2") -> list[Object]:
    node = gpu_node("gpu-0")
    node["status"]["nodeInfo"] = {"kubeletVersion": version} if version else {}
    return [node]


def read(*documents: Object, version: str = "v1.36.2", there: tuple[Object, ...] = ()) -> Manifest:
    return read_manifest(yaml.safe_dump_all(documents), read_items([*nodes(version), *there]))


def refusal(*documents: Object, version: str = "v1.36.2") -> str:
    with pytest.raises(ChangeError) as refused:
        read(*documents, version=version)
    return str(refused.value)


# ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stratgy": {}}, 'unknown field "spec.stratgy". Write "strategy"'),
        ({"strategy": {"rollingUpdate": {"maxsurge": 0}}}, 'unknown field "spec.strategy.rollingUpdate.maxsurge". Write "maxSurge"'),
        ({"zzz": 1}, 'unknown field "spec.zzz". Delete what isn\'t known'),
        ({"replicas": "2"}, "spec.replicas: expected a whole number, got a text"),
        ({"replicas": 2.5}, "spec.replicas: expected a whole number, got a fraction"),
        ({"paused": "true"}, "spec.paused: expected true or false, got a text"),
        ({"template": None}, "spec.template is required"),
        ({"strategy": {"type": "Rolling"}}, "spec.strategy.type: has to be Recreate or RollingUpdate"),
        ({"replicas": -1}, "spec.replicas: has to be 0 or more"),
    ],
)  # fmt: skip
def test_what_a_deployment_is_refused_for(change: Object, said: str) -> None:
    assert said in refusal(deployment(**change))
    read(deployment())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"resource": {}}, 'containers[0].resource". Write "resources"'),
        ({"env": [{"name": "A", "value": 1}]}, "env[0].value: expected a text in quotes, got a number"),
        ({"env": [{"name": "A", "value": True}]}, "env[0].value: expected a text in quotes, got true or false"),
        ({"env": [{"value": "1"}]}, "env[0].name is required"),
        ({"env": {"A": "1"}}, "env: expected a list, got an object"),
        ({"ports": [{"name": "metrics-of-the-model-server", "containerPort": 80}]}, "ports[0].name: has to be 1 to 15"),
        ({"ports": [{"containerPort": 70_000}]}, "ports[0].containerPort: has to be from 1 to 65535"),
        ({"imagePullPolicy": "always"}, "imagePullPolicy: has to be Always, IfNotPresent or Never"),
        ({"resources": {"requests": {"cpu": "1,5"}}}, 'requests[cpu]: "1,5" is not a Kubernetes quantity'),
        ({"volumeMounts": [{"name": "v"}]}, "volumeMounts[0].mountPath is required"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["Deployment", "CronJob", "Pod"])
def test_what_containers_are_refused_for_in_every_kind(kind: str, change: Object, said: str) -> None:
    spec = copy.deepcopy(POD_SPEC)
    spec["containers"][0] |= change  # type: ignore[index]
    one = {
        "Deployment": deployment(template={"metadata": {"labels": {"app": "w"}}, "spec": spec}),
        "CronJob": named("CronJob", "w", "prod", "batch/v1", spec={
            "schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": spec | {"restartPolicy": "Never"}}}}}),
        "Pod": named("Pod", "w", "prod", spec=spec),
    }[kind]  # fmt: skip
    assert said in refusal(one)


def test_each_object_that_is_refused_is_named() -> None:
    said = refusal(deployment(foo=1), named("Service", "s", "prod", spec={"port": []}))
    assert "Deployment/prod/w (document 1)" in said
    assert 'Service/prod/s (document 2): unknown field "spec.port"' in said


def test_values_of_a_secret_are_not_told() -> None:
    said = refusal(named("Secret", "s", "prod", data={"password": "not base64!"}))
    assert "data[password]: expected base64" in said
    assert "not base64!" not in said


def test_keys_that_are_given_twice_are_refused() -> None:
    text = yaml.safe_dump(deployment())
    with pytest.raises(ChangeError, match=r'keys are given twice: "replicas" \(line'):
        read_manifest(text.replace("  replicas: 2\n", "  replicas: 2\n  replicas: 3\n"), read_items(nodes()))
    with pytest.raises(ChangeError, match='keys are given twice: "name"'):
        read_manifest(
            '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "name": "b"}}', read_items(nodes())
        )


def test_what_is_left_out_of_an_object_that_is_there_stays() -> None:
    there = workload("Deployment", "w", "prod")
    part = named("Deployment", "w", "prod", "apps/v1", spec={"replicas": 3})
    assert read(part, there=(there,)).workloads[0].after.replicas == 3
    assert "spec.selector is required; spec.template is required" in refusal(part)


def test_what_an_api_server_takes() -> None:
    """Null, a directive of patches, a status, a number for a quantity."""
    spec = copy.deepcopy(POD_SPEC)
    spec["containers"][0]["resources"] = {"requests": {"cpu": 0.5, "memory": 1_000_000}}  # type: ignore[index]
    one = deployment(
        paused=None,
        template={"metadata": {"creationTimestamp": None, "labels": {"app": "w"}}, "spec": spec},
    )
    read(one | {"status": {}})
    read(one | {"status": {"replicas": 3, "conditions": [{"type": "Available"}]}})
    read(
        named("Service", "s", "prod", spec={"ports": [{"port": 80, "targetPort": "http"}]}, status={"loadBalancer": {}})
    )
    read(named("NetworkPolicy", "n", "prod", "networking.k8s.io/v1", spec={"policyTypes": ["Ingress"]}))
    read(named("PriorityClass", "p", "", "scheduling.k8s.io/v1"))


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────
BUDGET: Final = named("PodDisruptionBudget", "b", "prod", "policy/v1beta1", spec={"minAvailable": 1})


@pytest.mark.parametrize("version", ["v1.36.2", "v1.25.0", ""])
def test_versions_that_nobody_serves_any_more(version: str) -> None:
    said = refusal(BUDGET, version=version)
    assert (
        "no API server since Kubernetes 1.25 takes a PodDisruptionBudget of policy/v1beta1. Give apiVersion policy/v1"
        in said
    )


def test_versions_that_old_servers_serve() -> None:
    assert read(BUDGET, version="v1.24.9").unknown == ()


@pytest.mark.parametrize(
    ("kind", "api_version", "version", "outcome"),
    [
        ("Ingress", "networking.k8s.io/v1beta1", "v1.34.1", "since Kubernetes 1.22"),
        ("Ingress", "networking.k8s.io/v1beta1", "v1.21.1", ""),
        ("ResourceClaimTemplate", "resource.k8s.io/v1alpha2", "v1.34.1", "since Kubernetes 1.31"),
        ("ResourceClaimTemplate", "resource.k8s.io/v1", "v1.30.1", "before Kubernetes 1.34"),
        ("ResourceClaimTemplate", "resource.k8s.io/v1", "v1.34.1", ""),
        ("ResourceClaimTemplate", "resource.k8s.io/v1", "v1.33.1", "not known"),  # its API server may be newer
        ("Pod", "apps/v1", "v1.34.1", "no such kind"),
        ("Eviction", "policy/v1", "v1.34.1", "no such kind"),
        ("Pod", "v2", "v1.34.1", "no such kind"),
        ("Novelty", "apps/v1", "v1.99.0", "not known"),
    ],
)
def test_which_versions_are_taken(kind: str, api_version: str, version: str, outcome: str) -> None:
    one = named(kind, "x", "prod", api_version, **({"spec": {"spec": {}}} if kind == "ResourceClaimTemplate" else {}))
    if outcome in ("", "not known"):
        unknown = [each.what for each in read(one, version=version).unknown]
        assert bool(unknown) == bool(outcome), unknown
        assert not outcome or any("isn't known" in what for what in unknown)
    else:
        assert outcome in refusal(one, version=version)


def test_fields_that_only_another_version_has() -> None:
    """``spec.resources`` of pods is known since 1.32: a server of nodes of 1.30 may know it, one of 1.27 can't."""
    one = named("Pod", "p", "prod", spec=POD_SPEC | {"resources": {}})
    assert not read(one).unknown
    assert "since Kubernetes 1.32" in read(one, version="v1.30.1").unknown[0].what
    assert 'unknown field "spec.resources"' in refusal(one, version="v1.27.3")
    assert not read(one, version="").unknown
    newest = read(named("Pod", "p", "prod", spec=POD_SPEC | {"ofTomorrow": 1}), version="v1.99.0").unknown
    assert "spec.ofTomorrow" in newest[0].what


# ── custom kinds ─────────────────────────────────────────────────────────────────────────────────────────────────────
def definition(**schema: Any) -> Object:
    widget = {
        "type": "object", "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 1}, "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": True}, "closed": {"type": "object"},
        },
    } | schema  # fmt: skip
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": widget}}},
    }
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"}}
    return named("CustomResourceDefinition", "widgets.example.com", "", "apiextensions.k8s.io/v1", spec=spec | {
        "versions": [version, version | {"name": "v0", "served": False, "storage": False}]})  # fmt: skip


def widget(version: str = "v1", **spec: Any) -> Object:
    return named("Widget", "w", "prod", f"example.com/{version}", spec=spec)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"size": 1, "sise": 2}, 'unknown field "spec.sise". Write "size"'),
        ({"size": 1, "closed": {"a": 1}}, 'unknown field "spec.closed.a"'),
        ({"size": "1"}, "spec.size: expected a whole number, got a text"),
        ({"size": 0}, "spec.size: is beyond minimum, which is 1"),
        ({"size": 1, "mode": "c"}, "spec.mode: has to be one of a, b"),
        ({"size": 1, "labels": {"a": 1}}, "spec.labels[a]: expected a text in quotes, got a number"),
        ({"size": 1, "port": True}, "spec.port: expected a whole number or a text"),
        ({}, "spec.size is required"),
    ],
)
def test_a_custom_kind_is_as_strict_as_its_definition(spec: Object, said: str) -> None:
    assert said in refusal(definition(), widget(**spec))
    assert said not in [one.what for one in read(widget(**spec)).unknown]  # without it nothing is refused


def test_a_definition_of_the_cluster_counts_as_well() -> None:
    there = definition()
    with pytest.raises(ChangeError, match=r'unknown field "spec\.sise"'):
        read(widget(size=1, sise=2), there=(there,))
    assert len(read(widget(size=1), there=(there,)).unknown) == 1  # which pods it makes isn't known
    newer = definition(properties={"size": {"type": "integer"}, "sise": {"type": "integer"}})
    read(newer, widget(size=1, sise=2), there=(there,))  # the manifest's is applied
    assert read_items([there]).digest != read_items([definition(type="string")]).digest


def test_what_a_definition_lets_through() -> None:
    spec: Object = {"size": 1, "anything": {"a": {"b": 1}}, "labels": {"a": "b"}, "port": "http"}
    read(definition(), widget(**spec) | {"metadata": {"name": "w", "namespace": "prod", "labels": {"a": "b"}}})
    read(definition(**{"x-kubernetes-preserve-unknown-fields": True}), widget(size=1, sise=2))
    assert 'unknown field "metadata.label". Write "labels"' in refusal(
        definition(), widget(size=1) | {"metadata": {"name": "w", "label": {}}}
    )
    assert "doesn't serve example.com/v0" in refusal(definition(), widget("v0", size=1))


# ── the second opinion ───────────────────────────────────────────────────────────────────────────────────────────────
def _builtin() -> list[Object]:
    """Objects of the collection that Kubernetes' own servers take."""
    found = [copy.deepcopy(one) for case in cases() if case.seen is not Seen.REFUSED for one in case.documents]
    known = {key for key, runs in table().kinds.items() if runs[-1][1] >= 36 >= runs[0][0]}
    return [one for one in found if f"{one.get('apiVersion')}/{one.get('kind')}" in known] + [deployment()]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from _places(each, (*path, key))


def _mutated(one: Object, chance: random.Random) -> Object:
    """One place of it misspelt, of another type, or left out."""
    changed = copy.deepcopy(one)
    places = [place for place in _places(changed) if place[0] not in ("apiVersion", "kind")]
    place = chance.choice(places)
    within: Any = changed
    for step in place[:-1]:
        within = within[step]
    last = place[-1]
    match chance.randrange(4):
        case 0 if isinstance(last, str):
            within[f"{last}x"] = within.pop(last)
        case 1 if isinstance(last, str):
            del within[last]
        case 2:
            within[last] = chance.choice(["text", 7, True, ["a"], {"a": "b"}])
        case _ if isinstance(last, str):
            within[last.swapcase()] = within.pop(last)
        case _:
            within[last] = chance.choice(["text", 7])
    return changed


def _says(problem: FieldProblem) -> str:
    return f"{problem.path} {problem.what}"


def test_a_second_opinion_of_many_mutated_manifests() -> None:
    """Where both speak of fields, types and what is missing they agree; values are checked here alone, and what is required in vain there."""
    chance = random.Random(1)
    objects, differ, refused = _builtin(), [], 0
    for number in seeds(300, share=3):
        one = _mutated(objects[number % len(objects)], chance)
        try:
            kubernetes_validate.validate(one, "1.36", strict=True)
            theirs = ""
        except kubernetes_validate.ValidationError as error:
            theirs = str(error.message)
        type_name = table().kinds[f"{one['apiVersion']}/{one['kind']}"][-1][2]
        problems = problems_of(one, type_name, 36)
        ours = [_says(each) for each in problems]
        refused += bool(theirs)
        if bool(ours) != bool(theirs) and not _is_of_values(problems) and "is a required property" not in theirs:
            differ.append((one["kind"], ours, theirs[:200]))
    assert refused > floor(100)
    assert not differ, differ[:5]


def _is_of_values(problems: list[FieldProblem]) -> bool:
    """Formats and what validation takes: kubernetes-validate looks at types only."""
    words = (
        "has to be",
        "has a name",
        "has what",
        "is not a Kubernetes quantity",
        "expected base64",
        "expected a time",
        "out of bounds",
    )
    return bool(problems) and all(any(word in one.what for word in words) for one in problems)
