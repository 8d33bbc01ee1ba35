"""Webhooks, admission policies and their bindings. Names and rules only: no address, no expression."""

from __future__ import annotations

from typing import Any

from planner.ground.records import replace
from planner.inventory.records.places import METADATA, Kept, Many, Place, at, each, of
from planner.inventory.records.shared import Shared
from planner.kubernetes import records as model


def _always(value: str) -> Place:
    return of(lambda _: value)


_RULE = Kept(
    model.AdmissionRule,
    is_object=False,
    operations="operations",
    groups="apiGroups",
    resources="resources",
    is_of_cluster=at("scope", str, lambda _, scope: scope == "Cluster"),
)


def _webhooks(kind: str) -> Kept:
    """A MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""
    hook = Kept(
        model.AdmissionHook,
        is_object=False,
        kind=_always(kind),
        name="name",
        rules=each("rules", _RULE),
        namespace_selector="namespaceSelector",
        object_selector="objectSelector",
        is_required=at("failurePolicy", str, lambda _, policy: policy != "Ignore"),
    )

    def hooks(shared: Shared, metadata: Any, written: Any) -> tuple[model.AdmissionHook, ...]:
        return tuple(
            replace(one, name=f"{metadata.name}/{one.name}")
            for one in (hook.read(shared, each) for each in written or ())
        )

    return Kept(model.WebhookConfiguration, kind=_always(kind), hooks=of(hooks, METADATA, ("webhooks", Many(hook))))


def _policy(kind: str) -> Kept:
    """A ValidatingAdmissionPolicy or MutatingAdmissionPolicy; what it says applies where a binding names it."""
    return Kept(
        model.AdmissionHook,
        kind=_always(kind),
        rules=each("spec.matchConstraints.resourceRules", _RULE),
        namespace_selector="spec.matchConstraints.namespaceSelector",
        object_selector="spec.matchConstraints.objectSelector",
    )


def _binding(kind: str) -> Kept:
    """A ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding, by `kind` of the policy."""
    return Kept(
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
