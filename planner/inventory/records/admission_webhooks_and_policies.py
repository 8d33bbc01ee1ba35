"""Reads webhooks, admission policies and bindings: names, rules, match conditions; no address."""

from __future__ import annotations

from typing import Any

import msgspec

from planner.ground.records import replace
from planner.inventory.records.read_context import Shared
from planner.inventory.records.record_layouts import METADATA, FieldPath, Many, RecordLayout, at, each, of
from planner.kubernetes import object_records as model


def _always(value: str) -> FieldPath:
    return of(lambda _: value)


class _Condition(msgspec.Struct):
    expression: str = ""


def _expressions(_: Shared, conditions: list[_Condition]) -> tuple[str, ...]:
    return tuple(condition.expression for condition in conditions)


_RULE = RecordLayout(
    model.AdmissionRule,
    is_object=False,
    operations="operations",
    groups="apiGroups",
    resources="resources",
    is_of_cluster=at("scope", str, lambda _, scope: scope == "Cluster"),
)


def _webhooks(kind: str) -> RecordLayout:
    """A MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""
    hook = RecordLayout(
        model.AdmissionHook,
        is_object=False,
        kind=_always(kind),
        name="name",
        rules=each("rules", _RULE),
        namespace_selector="namespaceSelector",
        object_selector="objectSelector",
        is_required=at("failurePolicy", str, lambda _, policy: policy != "Ignore"),
        conditions=at("matchConditions", Many(_Condition), _expressions),
    )

    def hooks(shared: Shared, metadata: Any, written: Any) -> tuple[model.AdmissionHook, ...]:
        return tuple(
            replace(webhook, name=f"{metadata.name}/{webhook.name}")
            for webhook in (hook.read(shared, each) for each in written or ())
        )

    return RecordLayout(
        model.WebhookConfiguration, kind=_always(kind), hooks=of(hooks, METADATA, ("webhooks", Many(hook)))
    )


def _policy(kind: str) -> RecordLayout:
    """A ValidatingAdmissionPolicy or MutatingAdmissionPolicy; what it says applies where a binding names it."""
    return RecordLayout(
        model.AdmissionHook,
        kind=_always(kind),
        rules=each("spec.matchConstraints.resourceRules", _RULE),
        namespace_selector="spec.matchConstraints.namespaceSelector",
        object_selector="spec.matchConstraints.objectSelector",
        is_required=at("spec.failurePolicy", str, lambda _, policy: policy != "Ignore"),
        conditions=at("spec.matchConditions", Many(_Condition), _expressions),
    )


def _binding(kind: str) -> RecordLayout:
    """A ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding, by `kind` of the policy."""
    return RecordLayout(
        model.AdmissionPolicyBinding,
        policy_kind=_always(kind),
        policy="spec.policyName",
        denies=at("spec.validationActions", list[str], lambda _, actions: "Deny" in actions),
        namespace_selector="spec.matchResources.namespaceSelector",
        object_selector="spec.matchResources.objectSelector",
    )


KINDS = {
    **{kind: _webhooks(kind) for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")},
    **{kind: _policy(kind) for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")},
    **{f"{kind}Binding": _binding(kind) for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")},
}
