"""Pod templates that an object takes from another: a KServe model's ServingRuntime, an LLM service's configurations, a
TrainJob's runtime.

Of the snapshot's runtimes what their pods are is kept, sealed (`planner.inventory.redacted_value_digests`); those of the manifest count before them. A
model that names none is matched by KServe among all there are, by priority and age: that isn't modeled.

Source: kserve `pkg/controller/v1alpha1/llmisvc/config_merge.go` `combineBaseRefsConfig`, `getConfig` (commit 0217bdab); `pkg/controller/v1beta1/inferenceservice/utils/utils.go` `GetServingRuntime` (the namespace's first, then the cluster's),
`MergeRuntimeContainers`, `MergePodSpec`; `pkg/apis/serving/v1beta1/predictor_model.go` `RuntimeSupportsModel`. Kubeflow's trainer
`pkg/runtime/core/trainingruntime.go` `newRuntimeInfo` (commit 067e5c66), `pkg/runtime/framework/plugins/jobset/builder.go` `Trainer`
(commit 08595084), `torch/torch.go` and `plainml/plainml.go` `EnforceMLPolicy`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.ground.errors import ChangeError
from planner.inventory import api_types
from planner.inventory.redacted_value_digests import fields_of, seal
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.operator_update_rules import at
from planner.kubernetes.pod_template_kinds import (
    BASE,
    BASE_NAMESPACE,
    RUNTIME_GROUP,
    RUNTIMES,
    TRAINING_GROUP,
    TRAINING_RUNTIMES,
    Templated,
)
from planner.kubernetes.strategic_merge_patch import merge

Object = dict[str, Any]
_NOT_OURS: Final = ("disabled", "multiModel", "workerSpec")


class Runtimes:
    """The runtimes of a manifest and of the snapshot beside it. `used`: keys of those of the manifest that a model names."""

    def __init__(self, objects: Iterable[Object], snapshot: Snapshot, namespace: str) -> None:
        self.used: set[str] = set()
        self._given: dict[tuple[str, str, str], Object] = {}
        for document in objects:
            metadata = document.get("metadata")
            if is_runtime(document) and isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
                place = str(metadata.get("namespace") or namespace)
                self._given[str(document.get("kind")), place, metadata["name"]] = document
        self._there = {
            (record.kind, record.namespace, record.name): record.runtime
            for record in snapshot.unplayed
            if record.runtime
        }

    def resolved(self, document: Object, row: Templated) -> Object | None:
        """The document with the containers that its runtime gives in place of its model; None where that isn't known."""
        updates, spec = row.updates, document.get("spec")
        part = spec.get(updates.through) if updates is not None and updates.through and isinstance(spec, dict) else None
        model = part.get(updates.model) if updates is not None and isinstance(part, dict) else None
        if row.refers and isinstance(spec, dict):
            return self._over_bases(document, spec, row.refers)
        if row.group == TRAINING_GROUP and isinstance(spec, dict):
            return self._trained(document, spec)
        if updates is None or not isinstance(spec, dict) or not isinstance(part, dict) or not isinstance(model, dict):
            return None
        format_of, name = model.get("modelFormat"), model.get("runtime")
        metadata = document.get("metadata")
        listed = part.get("containers", [])
        if not isinstance(metadata, dict) or not isinstance(listed, list):
            return None
        # KServe chooses a runtime itself where none is named, and workerSpec spreads the model over nodes: neither is
        # known here.
        if not isinstance(name, str) or not isinstance(format_of, dict) or "workerSpec" in part:
            return None
        runtime = self._named(name, str(metadata.get("namespace") or ""))
        if runtime is None or [format_of.get("name"), str(format_of.get("version") or "")] not in runtime["formats"]:
            return None
        container = {key: field for key, field in model.items() if key in fields_of(api_types.Container)}
        own = {key: field for key, field in part.items() if key in fields_of(api_types.PodSpec)}
        own["containers"] = [*listed, {**container, "name": updates.container}]
        try:
            # KServe merges the object over its runtime by strategic merge patch, too.
            merged = merge({"spec": runtime["spec"]}, seal({"spec": own}))
        except ChangeError:
            return None
        other_fields = {key: field for key, field in part.items() if key != updates.model}
        return {**document, "spec": {**spec, updates.through: {**other_fields, **merged["spec"]}}}

    def _over_bases(self, document: Object, spec: Object, refers: str) -> Object | None:
        """The document laid over what it refers to, the last of them first; None where one of them isn't there."""
        metadata, names = document.get("metadata"), spec.get(refers)
        if not isinstance(metadata, dict) or not isinstance(names, list) or not names:
            return None
        laid: Object = {}
        for runtime_name in names:
            name = runtime_name.get("name") if isinstance(runtime_name, dict) else None
            base = self._base(name, str(metadata.get("namespace") or "")) if isinstance(name, str) else None
            if base is None:
                return None
            laid = _laid_over(laid, base)
        try:
            laid = _laid_over(laid, _sealed_parts({key: each for key, each in spec.items() if key != refers}))
        except ChangeError:
            return None
        return {**document, "spec": laid}

    def _trained(self, document: Object, spec: Object) -> Object | None:
        """A TrainJob with the Jobs of its runtime: those of its trainer are as many pods as it has nodes, and ask for what it says."""
        name, kind = at(spec, "runtimeRef.name"), at(spec, "runtimeRef.kind") or "ClusterTrainingRuntime"
        if not isinstance(name, str) or at(spec, "runtimeRef.apiGroup") not in (None, "", TRAINING_GROUP):
            return None
        kinds = {kind: TRAINING_RUNTIMES[kind]} if kind in TRAINING_RUNTIMES else {}
        runtime = self._named(name, str(at(document, "metadata.namespace") or ""), kinds)
        if runtime is None:
            return None
        resources, nodes = at(spec, "trainer.resourcesPerNode"), at(spec, "trainer.numNodes")
        for job in runtime["jobs"]["replicatedJobs"]:
            step = (at(job, "template.metadata.labels") or {}).get(_STEP)
            if step is not None:
                job["replicas"] = 1
            number = nodes if nodes is not None else runtime["nodes"]
            if step == "trainer" and number is not None:
                job["template"]["spec"] |= {"parallelism": number, "completions": number}
            for container in job["template"]["spec"]["template"]["spec"]["containers"]:
                if container.get("name") == _TRAINED and resources:
                    container["resources"] = resources
        remaining_spec = {key: field for key, field in spec.items() if key not in ("runtimeRef", "trainer")}
        return {**document, "spec": {**remaining_spec, "jobs": runtime["jobs"]}}

    def _base(self, name: str, namespace: str) -> Object | None:
        base_runtimes = (self._told((BASE, place, name)) for place in (namespace, BASE_NAMESPACE))
        return next((runtime for runtime in base_runtimes if runtime is not None), None)

    def _named(self, name: str, namespace: str, kinds: Mapping[str, bool] = RUNTIMES) -> Object | None:
        for kind, is_namespaced in kinds.items():
            for runtime_kind, place, called in (*self._given, *self._there):
                if (runtime_kind, called) == (kind, name) and (not is_namespaced or place == namespace):
                    return self._told((runtime_kind, place, called))
        return None

    def _told(self, key: tuple[str, str, str]) -> Object | None:
        """What is kept of one, of the manifest's before the snapshot's; None where there is none, or it tells nothing."""
        given_runtime = self._given.get(key)
        if given_runtime is not None:
            self.used.add("/".join(key))
        text = runtime_of(given_runtime) if given_runtime is not None else self._there.get(key, "")
        document = json.loads(text) if text else None
        return document if isinstance(document, dict) else None


def is_runtime(document: Mapping[str, Any]) -> bool:
    """Whether an object is one."""
    group = str(document.get("apiVersion") or "").partition("/")[0]
    kind = document.get("kind")
    if group == TRAINING_GROUP:
        return kind in TRAINING_RUNTIMES
    return isinstance(kind, str) and (kind in RUNTIMES or kind == BASE) and group == RUNTIME_GROUP


def runtime_of(document: Mapping[str, Any]) -> str:
    """What is kept of a runtime, as JSON: its pods' spec, sealed, and the (format, version) that it serves; "" of one that isn't for
    single models on one node."""
    spec = document.get("spec")
    if is_runtime(document) and document.get("kind") == BASE:
        return json.dumps(_sealed_parts(spec)) if isinstance(spec, dict) and not spec.get("runtime") else ""
    if is_runtime(document) and document.get("kind") in TRAINING_RUNTIMES:
        return json.dumps(_training(spec)) if isinstance(spec, dict) and not _is_other_policy(spec) else ""
    if not is_runtime(document) or not isinstance(spec, dict) or any(spec.get(name) for name in _NOT_OURS):
        return ""
    if not isinstance(spec.get("containers"), list):
        return ""
    listed = spec.get("supportedModelFormats")
    formats = (
        [model_format for model_format in listed if isinstance(model_format, dict)] if isinstance(listed, list) else []
    )
    # A format with a version serves requests for that version, and those that name none.
    each = [
        [model_format.get("name"), version]
        for model_format in formats
        for version in ("", str(model_format.get("version") or ""))
    ]
    own = {key: field for key, field in spec.items() if key in fields_of(api_types.PodSpec)}
    return json.dumps({"formats": each, "spec": seal({"spec": own})["spec"]})


_STEP: Final = f"{TRAINING_GROUP}/trainjob-ancestor-step"
_TRAINED: Final = "node"
"""The container that a TrainJob's resources are given to."""


def _is_other_policy(spec: Object) -> bool:
    """Whether a runtime's pods are placed as a group, or are other ones than its template's: MPI's, Flux', elastic ones."""
    policies = ("podGroupPolicy", "mlPolicy.mpi", "mlPolicy.flux", "mlPolicy.torch.elasticPolicy")
    return any(at(spec, path) is not None for path in policies)


def _training(spec: Object) -> Object | None:
    """What is kept of a runtime of TrainJobs: how many nodes it has, and its Jobs with their pods' templates sealed; None of one
    without."""
    jobs, new_jobs = at(spec, "template.spec.replicatedJobs"), []
    for job in jobs if isinstance(jobs, list) else ():
        template = at(job, "template.spec.template")
        if not isinstance(at(template, "spec.containers"), list) or not all(
            map(_is_object, template["spec"]["containers"])
        ):
            return None
        own = {key: field for key, field in template["spec"].items() if key in fields_of(api_types.PodSpec)}
        pods = seal({"metadata": at(template, "metadata") or {}, "spec": own})
        labels = {"labels": at(job, "template.metadata.labels") or {}}
        new_jobs.append(
            {**job, "template": {"metadata": labels, "spec": {**job["template"]["spec"], "template": pods}}}
        )
    if not new_jobs:
        return None
    nodes = (at(spec, "mlPolicy.numNodes") or 1) if _is_object(spec.get("mlPolicy")) else None
    return {"nodes": nodes, "jobs": {**at(spec, "template.spec"), "replicatedJobs": new_jobs}}


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


_POD_SPECS: Final = ("template", "worker")
_WITHIN: Final = ("prefill", "router", "scheduler")
_SAID: Final = ("replicas", "minReplicas", "scaling", "parallelism", "pool", *_POD_SPECS, *_WITHIN)
"""Fields of an LLM service that its pods depend on."""


def _sealed_parts(spec: Mapping[str, Any]) -> Object:
    """What its pods depend on, with what isn't kept of their specs sealed."""
    sealed_parts: Object = {}
    for key in _SAID:
        value = spec.get(key)
        if key in _POD_SPECS and isinstance(value, dict):
            sealed_parts[key] = seal(
                {"spec": {name: field for name, field in value.items() if name in fields_of(api_types.PodSpec)}}
            )["spec"]
        elif key in _WITHIN and isinstance(value, dict):
            sealed_parts[key] = _sealed_parts(value)
        elif value is not None:
            sealed_parts[key] = value
    return sealed_parts


def _laid_over(base: Object, over: Object) -> Object:
    """`over` merged into `base`: a pod's spec strategically, as KServe does it.

    Raises
    ------
    ChangeError
        When it can't be merged.
    """
    layered = dict(base)
    for key, value in over.items():
        base_field = base.get(key)
        if key in _POD_SPECS and isinstance(base_field, dict) and isinstance(value, dict):
            layered[key] = merge({"spec": base_field}, {"spec": value})["spec"]
        elif key in _WITHIN and isinstance(base_field, dict) and isinstance(value, dict):
            layered[key] = _laid_over(base_field, value)
        else:
            layered[key] = value
    return layered
