"""Pods whose template another object gives: a KServe model's, by the ServingRuntime that it names.

Of the snapshot's runtimes what their pods are is kept, sealed (`planner.inventory.sealed`); those of the manifest count before them. A
model that names none is matched by KServe among all there are, by priority and age: that isn't modelled.

Source: kserve `pkg/controller/v1beta1/inferenceservice/utils/utils.go` `GetServingRuntime` (the namespace's first, then the cluster's),
`MergeRuntimeContainers`, `MergePodSpec`; `pkg/apis/serving/v1beta1/predictor_model.go` `RuntimeSupportsModel`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.ground.errors import ChangeError
from planner.inventory import wire
from planner.inventory.sealed import fields_of, seal
from planner.kubernetes.patches import merge
from planner.kubernetes.pod_templates import RUNTIME_GROUP, RUNTIMES, Templated
from planner.kubernetes.records import Snapshot

Object = dict[str, Any]
_NOT_OURS: Final = ("disabled", "multiModel", "workerSpec")


class Runtimes:
    """The runtimes of a manifest and of the snapshot beside it. `used`: keys of those of the manifest that a model names."""

    def __init__(self, objects: Iterable[Object], snapshot: Snapshot, namespace: str) -> None:
        self.used: set[str] = set()
        self._given: dict[tuple[str, str, str], Object] = {}
        for one in objects:
            metadata = one.get("metadata")
            if is_runtime(one) and isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
                place = str(metadata.get("namespace") or namespace)
                self._given[str(one.get("kind")), place, metadata["name"]] = one
        self._there = {(one.kind, one.namespace, one.name): one.runtime for one in snapshot.unplayed if one.runtime}

    def resolved(self, document: Object, row: Templated) -> Object | None:
        """The document with the containers that its runtime gives in place of its model; None where that isn't known."""
        updates, spec = row.updates, document.get("spec")
        part = spec.get(updates.through) if updates is not None and updates.through and isinstance(spec, dict) else None
        model = part.get(updates.model) if updates is not None and isinstance(part, dict) else None
        if updates is None or not isinstance(spec, dict) or not isinstance(part, dict) or not isinstance(model, dict):
            return None
        format_of, name = model.get("modelFormat"), model.get("runtime")
        metadata = document.get("metadata")
        listed = part.get("containers", [])
        if not isinstance(metadata, dict) or not isinstance(listed, list):
            return None
        if not isinstance(name, str) or not isinstance(format_of, dict) or "workerSpec" in part:
            return None
        runtime = self._named(name, str(metadata.get("namespace") or ""))
        if runtime is None or [format_of.get("name"), str(format_of.get("version") or "")] not in runtime["formats"]:
            return None
        container = {key: one for key, one in model.items() if key in fields_of(wire.Container)}
        own = {key: one for key, one in part.items() if key in fields_of(wire.PodSpec)}
        own["containers"] = [*listed, {**container, "name": updates.container}]
        try:
            merged = merge({"spec": runtime["spec"]}, seal({"spec": own}))
        except ChangeError:
            return None
        kept = {key: one for key, one in part.items() if key != updates.model}
        return {**document, "spec": {**spec, updates.through: {**kept, **merged["spec"]}}}

    def _named(self, name: str, namespace: str) -> Object | None:
        for kind, is_namespaced in RUNTIMES.items():
            for known, place, called in (*self._given, *self._there):
                if (known, called) != (kind, name) or (is_namespaced and place != namespace):
                    continue
                given = self._given.get((known, place, called))
                if given is not None:
                    self.used.add(f"{known}/{place}/{called}")
                text = runtime_of(given) if given is not None else self._there[known, place, called]
                found = json.loads(text) if text else None
                return found if isinstance(found, dict) else None
        return None


def is_runtime(document: Mapping[str, Any]) -> bool:
    """Whether an object is one."""
    group = str(document.get("apiVersion") or "").partition("/")[0]
    kind = document.get("kind")
    return isinstance(kind, str) and kind in RUNTIMES and group == RUNTIME_GROUP


def runtime_of(document: Mapping[str, Any]) -> str:
    """What is kept of a runtime, as JSON: its pods' spec, sealed, and the (format, version) that it serves; "" of one that isn't for
    single models on one node."""
    spec = document.get("spec")
    if not is_runtime(document) or not isinstance(spec, dict) or any(spec.get(name) for name in _NOT_OURS):
        return ""
    if not isinstance(spec.get("containers"), list):
        return ""
    listed = spec.get("supportedModelFormats")
    formats = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    each = [[one.get("name"), version] for one in formats for version in ("", str(one.get("version") or ""))]
    own = {key: one for key, one in spec.items() if key in fields_of(wire.PodSpec)}
    return json.dumps({"formats": each, "spec": seal({"spec": own})["spec"]})
