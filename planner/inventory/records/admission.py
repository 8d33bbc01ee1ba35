"""Webhooks, admission policies and their bindings: wire → record. Names and rules only: no address, no expression."""

from __future__ import annotations

from planner.inventory import wire
from planner.inventory.records.selectors import read_selector
from planner.inventory.records.shared import Shared, metadata_of
from planner.kubernetes import records as model


def read_webhooks(shared: Shared, configuration: wire.WebhookConfiguration, *, kind: str) -> model.WebhookConfiguration:
    """A MutatingWebhookConfiguration or ValidatingWebhookConfiguration, by `kind`."""
    name = metadata_of(configuration).name or ""
    return model.WebhookConfiguration(
        name=name,
        kind=kind,
        hooks=tuple(
            model.AdmissionHook(
                kind=kind,
                name=f"{name}/{one.name}",
                rules=_rules(one.rules),
                namespace_selector=read_selector(shared, one.namespace_selector),
                object_selector=read_selector(shared, one.object_selector),
                is_required=one.failure_policy != "Ignore",
            )
            for one in configuration.webhooks or ()
        ),
    )


def read_policy(shared: Shared, policy: wire.AdmissionPolicy, *, kind: str) -> model.AdmissionHook:
    """A ValidatingAdmissionPolicy or MutatingAdmissionPolicy, by `kind`; what it says applies where a binding names it."""
    matches = (policy.spec.match_constraints if policy.spec else None) or wire.MatchResources()
    return model.AdmissionHook(
        kind=kind,
        name=metadata_of(policy).name or "",
        rules=_rules(matches.resource_rules),
        namespace_selector=read_selector(shared, matches.namespace_selector),
        object_selector=read_selector(shared, matches.object_selector),
    )


def read_policy_binding(
    shared: Shared, binding: wire.AdmissionPolicyBinding, *, kind: str
) -> model.AdmissionPolicyBinding:
    """A ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding, by `kind` of the policy."""
    spec = binding.spec or wire.AdmissionPolicyBindingSpec()
    matches = spec.match_resources or wire.MatchResources()
    return model.AdmissionPolicyBinding(
        name=metadata_of(binding).name or "",
        policy_kind=kind,
        policy=spec.policy_name,
        denies=spec.validation_actions is None or "Deny" in spec.validation_actions,
        namespace_selector=read_selector(shared, matches.namespace_selector),
        object_selector=read_selector(shared, matches.object_selector),
    )


def _rules(rules: list[wire.AdmissionRule] | None) -> tuple[model.AdmissionRule, ...]:
    return tuple(
        model.AdmissionRule(
            operations=tuple(rule.operations or ()),
            groups=tuple(rule.api_groups or ()),
            resources=tuple(rule.resources or ()),
        )
        for rule in rules or ()
    )
