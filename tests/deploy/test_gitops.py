"""The examples for Argo CD and Flux: what an API server with their definitions takes. They were not run by either."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate  # type: ignore[import-untyped] # it has none
import pytest
import yaml

from tests.architecture.tree import ROOT

EXAMPLES = ROOT / "docs/examples"
FLUX = json.loads((Path(__file__).parent / "schemas/flux-kustomization-v1.json").read_text())
GATE, APP, JOB = yaml.safe_load_all((EXAMPLES / "flux-gate.yaml").read_text())


def strict(schema: Any) -> Any:
    """An API server drops fields that the definition doesn't have; here they are a fault."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: strict(one) for key, one in schema.items()}
    has_fields = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {**found, "additionalProperties": False} if has_fields else found


@pytest.mark.parametrize("one", [GATE, APP], ids=lambda one: str(one["metadata"]["name"]))
def test_flux_takes_its_kustomizations(one: dict[str, Any]) -> None:
    jsonschema.validate(one, strict(FLUX))
    wrong = copy.deepcopy(one)
    wrong["spec"]["dependOn"] = []
    with pytest.raises(jsonschema.ValidationError, match="dependOn"):
        jsonschema.validate(wrong, strict(FLUX))


def test_the_application_waits_for_the_gate() -> None:
    assert [one["name"] for one in APP["spec"]["dependsOn"]] == [GATE["metadata"]["name"]]
    assert GATE["spec"]["wait"]
    assert GATE["spec"]["sourceRef"] == APP["spec"]["sourceRef"]  # only then Flux waits for the same revision


def test_jobs_are_what_the_api_takes() -> None:
    hook = yaml.safe_load((EXAMPLES / "argocd-presync.yaml").read_text())
    kubernetes_validate.validate(hook, "1.36", strict=True)
    kubernetes_validate.validate(JOB, "1.36", strict=True)
    assert JOB["spec"] == hook["spec"]  # what the Argo CD example's command does is tested with the gate
