"""A webhook's ``matchConditions``: for which selected objects it isn't called, as far as an object's fields are known.

Source: kubernetes `staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go` `Match`: one condition that is
false skips the webhook, whatever the others come to; one that fails skips it under failurePolicy Ignore, else the object is refused.
Variables: `admission/plugin/cel/condition.go` `CreateAdmissionRequest`, ``oldObject`` is null of what is created.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from planner.ground.records import Record
from planner.ground.well_known_names import (
    CONTROLLER_REVISION_HASH,
    POD_INDEX,
    POD_TEMPLATE_GENERATION,
    POD_TEMPLATE_HASH,
    STATEFULSET_POD_NAME,
)
from planner.inventory.redacted_value_digests import is_sealed
from planner.kubernetes.object_records import AdmissionHook, Labels, Template
from planner.kubernetes.workload_kinds import DEPLOYMENT, POD, REPLICA_SET, Kind
from planner.rollout.run import Revision
from planner.scheduling.partially_known_objects import ABSENT, UNKNOWN, ClosedFields, OpenList, Outcome

# Labels that controllers, or a webhook that is played, may add to a pod.
_ADDED: Final = frozenset(
    {
        CONTROLLER_REVISION_HASH, POD_INDEX, POD_TEMPLATE_GENERATION, STATEFULSET_POD_NAME,
        "security.istio.io/tlsMode", "service.istio.io/canonical-name", "service.istio.io/canonical-revision",
    }
)  # fmt: skip
# Fields that nothing sets otherwise on a pod's way in, where its template says them; what it doesn't say may be set.
_KEPT: Final = (
    "hostNetwork", "nodeSelector", "priorityClassName", "runtimeClassName", "schedulerName", "serviceAccountName",
)  # fmt: skip


class AdmittedObject(Record, eq=False, dict=True):
    """What webhooks are asked about: a pod of a change by its template, the ReplicaSet that makes it, or the change's own object."""

    kind: Kind
    labels: Labels
    revision: Revision
    template: Template | None = None

    @cached_property
    def variables(self) -> Mapping[str, Any]:
        """What conditions may name, as far as it is known; of ``authorizer``, a policy's parameters and its Namespace nothing is."""
        kind, namespace = self.kind, self.revision.after.namespace
        names = {"group": kind.group, "version": kind.version}
        asked_kind, resource = (
            ClosedFields({**names, "kind": kind.name}),
            ClosedFields({**names, "resource": kind.resource}),
        )
        operation, old = self._operation
        return {
            "object": {
                "apiVersion": f"{kind.group}/{kind.version}" if kind.group else kind.version, "kind": kind.name,
                "metadata": {"namespace": namespace, **self._metadata}, "spec": _known_spec(self.template) if self.template else {},
            },
            "request": {
                "kind": asked_kind, "requestKind": asked_kind, "resource": resource, "requestResource": resource,
                "namespace": namespace, "operation": operation,
            },
            **old, **{name: {} for name in ("authorizer", "namespaceObject", "params", "variables")},
        }  # fmt: skip

    @property
    def _operation(self) -> tuple[Any, Mapping[str, Any]]:
        """The operation, and the object before; a ReplicaSet is made or scaled."""
        if self.kind is REPLICA_SET:
            return UNKNOWN, {}
        is_new = self.template is not None or self.revision.before is None
        return ("CREATE", {"oldObject": None}) if is_new else ("UPDATE", {"oldObject": {}})

    @property
    def _metadata(self) -> Mapping[str, Any]:
        """Of annotations only a short list is read. Labels of kinds that others make pods for, or change on their way, may be more."""
        revision, after = self.revision, self.revision.after
        is_own = revision.placed is None and revision.queued is None and not after.traits.is_custom
        annotations = after.annotations if self.template is None else self.template.annotations
        kept = {"annotations": dict(annotations)} if annotations and self.kind is not REPLICA_SET else {}
        if self.template is None and self.kind is not REPLICA_SET:
            own = ClosedFields(self.labels) if self.labels else ABSENT
            return {"name": after.name, "labels": own if is_own else UNKNOWN, **kept}
        # Controllers add this label with a hash that isn't computed here: a condition on its value isn't known.
        hashed = {POD_TEMPLATE_HASH: UNKNOWN} if after.traits.part else {}
        labels = ClosedFields({**self.labels, **hashed}, _ADDED) if is_own else dict(self.labels)
        maker = REPLICA_SET.name if after.kind == DEPLOYMENT.name else after.kind
        owners = {"ownerReferences": [{"kind": maker, "controller": True}]} if is_own and self.template else {}
        return {"labels": labels, **owners, **kept}


def is_skipped(hook: AdmissionHook, asked_about: AdmittedObject) -> bool:
    """Whether its conditions say for sure that it isn't called for the object."""
    if not hook.conditions:
        return False
    from planner.scheduling.cel_with_unknowns import condition  # only clusters with conditions pay for its library

    outcomes = {condition(expression, asked_about.variables) for expression in hook.conditions}
    return Outcome.FALSE in outcomes or (Outcome.ERROR in outcomes and not hook.is_required)


def admitted_objects(revision: Revision) -> Iterator[AdmittedObject]:
    """The API server asks about each object on its way: a change's pods, their ReplicaSet, and its own object."""
    after = revision.after
    for template, _ in revision.templates:
        yield AdmittedObject(kind=POD, labels=template.labels, revision=revision, template=template)
    if after.traits.part:
        yield AdmittedObject(kind=REPLICA_SET, labels=after.template.labels, revision=revision)
    yield AdmittedObject(kind=after.traits, labels=after.labels, revision=revision)


def _known_spec(template: Template) -> Mapping[str, Any]:
    """Of a pod's spec what its template says and nothing changes on the way; of amounts only for which resources there are some."""
    written = json.loads(template.manifest).get("spec") or {}
    spec = {key: written[key] for key in _KEPT if key in written and not is_sealed(written[key])}
    containers = OpenList(_known_container(container) for container in written.get("containers") or ())
    return {**spec, "containers": containers} if containers else spec


def _known_container(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    amounts = {key: dict.fromkeys(resources[key], UNKNOWN) for key in ("limits", "requests") if resources.get(key)}
    return {"name": container["name"], **({"resources": amounts} if amounts else {})}
