"""A change of a workload (patch, replicas, strategy, requests, node selector), and how it is applied.

The patch is merged into the manifest the snapshot keeps of the workload (`Template.manifest`), which is then read anew,
so a change gives what reading the changed object from the API server would give. What the snapshot doesn't keep
(environment, arguments, mounts, …) is there as digests (`planner.inventory.redacted_value_digests`), so it is merged and compared too.
"""

from __future__ import annotations

import json
from typing import Any, Final

from planner.ground import quantity, typed_json
from planner.ground.errors import ChangeError, InputError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import is_extended_resource
from planner.ground.words import with_article
from planner.inventory import api_types
from planner.inventory.change_validation import check_workload
from planner.inventory.documents import values_of
from planner.inventory.finding_texts import finding
from planner.inventory.last_applied import BY_FIELD, fields_in
from planner.inventory.pod_template_validation import problems_of
from planner.inventory.records.argo_and_lws import groups_document, strategy_document
from planner.inventory.records.read_context import Shared
from planner.inventory.records.workloads import read_workload
from planner.inventory.redacted_value_digests import fields_of, seal
from planner.inventory.snapshot_parser import DAMAGE, damage_in_words
from planner.kubernetes.object_records import (
    EMPTY,
    Amounts,
    ClaimTemplate,
    Finding,
    Labels,
    LabelSelector,
    Strategy,
    Workload,
)
from planner.kubernetes.strategic_merge_patch import merge, of_apply, with_whole_lists
from planner.kubernetes.workload_kinds import CANARY, ROLLING_UPDATE, kind_called

Object = dict[str, Any]
_TEMPLATES = ("template", "leaderWorkerTemplate", "workloadRef")
NOT_READ = "change-not-read"
"""A finding's code: fields of a patch that the planner doesn't read."""


class WorkloadChange(Record):
    """A change to one workload. Fields left at None stay as they are; `patch` is applied first, then the others.

    A change with nothing set stands for "a new revision of the same shape": what ``kubectl rollout restart`` does.
    """

    workload: str  # key, e.g. "Deployment/prod/ml-worker"
    patch: str = ""  # strategic merge patch, JSON or YAML
    replicas: int | None = None
    strategy_kind: str | None = None
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    requests: Amounts = EMPTY  # replaces these resources' requests (and an extended resource's limit) per pod
    node_selector: Labels | None = None
    new_revision: bool = True  # without it, a change that leaves the template alone only scales
    never_ready: bool = False  # pods of the new revision start and never become Ready
    startup_seconds: float | None = None
    termination_seconds: float | None = None

    def __post_init__(self) -> None:
        if self.replicas is not None and self.replicas < 0:
            raise ChangeError(f"replicas is {self.replicas}", where=self.workload, fix="Give 0 or more")
        if self.workload.count("/") != 2:
            raise ChangeError(
                f'"{self.workload}" is not a workload',
                fix="Write it as kind/namespace/name: deployment/prod/ml-worker",
            )


def apply_change(workload: Workload, change: WorkloadChange) -> tuple[Workload, bool, tuple[Finding, ...]]:
    """`workload` after `change`.

    The patch comes first, then replicas, strategy, requests and node selector, each if given.

    Returns
    -------
    workload : Workload
        With the changed spec and the status as it was.
    has_new_template : bool
        Whether its controller makes new pods: the template differs, or `change` asks for a new revision without
        giving a patch (``kubectl rollout restart``).
    findings : tuple of Finding
        What could not be compared or was adjusted.

    Raises
    ------
    ChangeError
        For a patch or a value that the API server would refuse, and for one that isn't for this workload.
    """
    findings: list[Finding] = []
    changed = workload
    if change.patch:
        changed, unread = _patched(workload, change.patch)
        findings += [finding(NOT_READ, workload.key, fields=", ".join(unread[:4]))] if unread else []
    if change.requests or change.node_selector is not None:
        document = document_of(changed)
        spec = document["spec"]["template"].setdefault("spec", {})
        if change.node_selector is not None:
            spec["nodeSelector"] = dict(change.node_selector)
        for resource, amount in change.requests.items():
            findings += _set_request(spec, resource, amount, workload.key)
        changed = read_changed(changed, document)
    changed = _scaled(changed, change.replicas)
    changed = replace(changed, strategy=_strategy(changed, change))
    check_workload(workload, changed)
    if (
        workload.traits.has_ordinals
        and workload.strategy.max_unavailable is None is not changed.strategy.max_unavailable
    ):
        # kubernetes `pkg/registry/apps/statefulset/strategy.go` `dropStatefulSetDisabledFields`
        findings.append(finding("change-dropped", workload.key))
    is_restart = change.new_revision and not change.patch
    return changed, is_restart or has_new_template(workload, changed), tuple(findings)


def has_new_template(before: Workload, after: Workload) -> bool:
    """Whether the pod templates differ, or what else makes its pods others; ``"1"`` and ``"1000m"`` are the same.

    A LeaderWorkerSet's revision holds ``leaderWorkerTemplate`` as a whole (lws `pkg/utils/revision` ``getPatch``).
    """
    old, new = before.worker_template, after.worker_template
    if old is not None and new is not None and not old.makes_the_same_pods(new):
        return True
    groups = [replace(version.groups, starts="") if version.groups is not None else None for version in (before, after)]
    return groups[0] != groups[1] or not before.template.makes_the_same_pods(after.template)


def claim_document(template: ClaimTemplate) -> Object:
    """A claim template as the API server would show it."""
    spec: Object = {
        "storageClassName": template.storage_class_name,
        "accessModes": list(template.access_modes),
        "resources": {"requests": {"storage": str(template.requested_bytes)}},
        "selector": _selector_document(template.selector) if template.selector else None,
        "volumeMode": template.volume_mode,
    }
    return {"metadata": {"name": template.name}, "spec": {key: part for key, part in spec.items() if part is not None}}


# ── the workload as a document, and back ─────────────────────────────────────────────────────────────────────────────
def document_of(workload: Workload) -> Object:
    """The workload as the API server would show it, as far as the snapshot keeps it: metadata and spec."""
    spec: Object = {
        "selector": _selector_document(workload.selector),
        "template": json.loads(workload.template.manifest),
        "minReadySeconds": workload.min_ready_seconds,
    }
    traits = workload.traits
    if workload.template_of:
        kind, _, name = workload.template_of.split("/")
        spec |= {"template": None, "selector": None, "workloadRef": {"kind": kind, "name": name}}
    if traits.rolls_out:
        spec |= {"revisionHistoryLimit": workload.revision_history_limit}
        spec[traits.strategy_field] = _strategy_document(workload)
    if workload.groups is not None and workload.worker_template is not None:
        templates = workload.template.manifest, workload.worker_template.manifest
        spec |= {"selector": None, "template": None, "startupPolicy": workload.groups.starts}
        # Its spec has neither (lws `api/leaderworkerset/v1/leaderworkerset_types.go`): where the document is read as a
        # manifest they would be fields that aren't known.
        spec |= {"minReadySeconds": None, "revisionHistoryLimit": None}
        spec["leaderWorkerTemplate"] = groups_document(workload.groups, *templates)
    if traits.has_replicas:
        spec["replicas"] = workload.replicas
    if traits.can_pause:
        spec |= {"progressDeadlineSeconds": workload.progress_deadline_seconds, "paused": workload.is_paused}
    if traits.has_ordinals:
        spec |= {
            "podManagementPolicy": workload.pod_management_policy,
            "serviceName": workload.service_name,
            "ordinals": {"start": workload.start_ordinal},
            "volumeClaimTemplates": [claim_document(template) for template in workload.claim_templates],
        }
    if traits.is_batch:
        spec |= {
            "parallelism": workload.replicas,
            "completions": workload.completions,
            "backoffLimit": workload.backoff_limit,
            "activeDeadlineSeconds": workload.active_deadline_seconds,
            "suspend": workload.is_paused,
        }
    metadata = {
        "name": workload.name,
        "namespace": workload.namespace,
        "labels": dict(workload.labels),
        "annotations": dict(workload.annotations),
    }
    return {
        "kind": workload.kind,
        "metadata": metadata,
        "spec": {key: field for key, field in spec.items() if field is not None},
    }


def read_changed(before: Workload, document: Object) -> Workload:
    """The workload that `document` describes, with identity and status of `before`.

    Raises
    ------
    ChangeError
        When the document can't be read as a workload of that kind.
    """
    after = read_workload_document(before.kind, document, before.key)
    template = after.template
    if template.manifest == before.template.manifest:
        template = before.template
    return replace(before, template=template, **{name: getattr(after, name) for name in _SAID})


_SAID: Final = (  # fields of a workload that its document says, beside the template
    "labels", "annotations", "replicas", "selector", "strategy", "min_ready_seconds", "progress_deadline_seconds",
    "revision_history_limit", "is_paused", "pod_management_policy", "service_name", "start_ordinal", "claim_templates", "completions",
    "backoff_limit", "active_deadline_seconds", "template_of", "groups", "worker_template",
)  # fmt: skip


def read_workload_document(kind: str, document: Object, where: str) -> Workload:
    """A workload out of plain values; errors name `where`."""
    try:
        decoded = typed_json.convert(document, api_types.Workload)
        spec = document.get("spec") or {}
        template = spec if "leaderWorkerTemplate" in spec else spec.get("template") or {}
        _check_template(decoded, template, kind, where)
        return read_workload(Shared(), decoded, template, kind=kind_called(kind))
    except DAMAGE as error:
        raise ChangeError(damage_in_words(error), where=where, fix=getattr(error, "fix", "")) from None


def _check_template(decoded: api_types.Workload, document: Object, kind: str, where: str) -> None:
    spec = decoded.spec
    if spec is None or spec.template is None or not kind_called(kind).rolls_out:
        return
    claims = [template.metadata.name or "" for template in spec.volume_claim_templates or () if template.metadata]
    if problem := next(problems_of(spec.template, document, claims), None):
        raise ChangeError(f"spec.template.spec.{problem}", where=where, fix="The API server refuses it: fix that field")


def _selector_document(selector: LabelSelector) -> Object:
    return {
        "matchLabels": dict(selector.match_labels),
        "matchExpressions": [
            {"key": expression.key, "operator": expression.operator, "values": list(expression.values)}
            for expression in selector.match_expressions
        ],
    }


def _strategy_document(workload: Workload) -> Object:
    strategy = workload.strategy
    if (own := strategy_document(strategy)) is not None:
        return own
    if strategy.kind != ROLLING_UPDATE:
        return {"type": strategy.kind}
    rolling = {
        "maxSurge": strategy.max_surge,
        "maxUnavailable": strategy.max_unavailable,
        "partition": strategy.partition if workload.traits.has_ordinals or workload.groups is not None else None,
    }
    field = "rollingUpdateConfiguration" if workload.groups is not None else "rollingUpdate"
    return {"type": strategy.kind, field: {key: content for key, content in rolling.items() if content is not None}}


# ── the patch ────────────────────────────────────────────────────────────────────────────────────────────────────────
def patch_of(text: str, workload: Workload) -> Object:
    """The patch as plain values; one object, for this workload."""
    where = f"patch for {workload.key}"
    try:
        values = values_of(text, where)
    except InputError as error:
        raise ChangeError(error.what, where=where, fix=error.fix) from None
    if len(values) == 1 and isinstance(values[0], list):
        fix = "Write a strategic merge patch: the changed fields in their places, as in kubectl patch"
        raise ChangeError("it is a list, perhaps a JSON patch", where=where, fix=fix)
    if len(values) != 1 or not isinstance(values[0], dict):
        fix = 'Give one object such as {"spec": {"replicas": 3}}'
        raise ChangeError("it isn't one object", where=where, fix=fix)
    patch: Object = values[0]
    metadata = patch.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise ChangeError("metadata isn't an object", where=where)
    for field, patch_field, own in (
        ("kind", patch.get("kind"), workload.kind),
        ("metadata.name", metadata.get("name"), workload.name),
        ("metadata.namespace", metadata.get("namespace"), workload.namespace),
    ):
        if patch_field not in (None, own):
            fix = "Give the patch of this workload, or leave the field out"
            raise ChangeError(f"{field} is {patch_field}, the workload's is {own}", where=where, fix=fix)
    return patch


def _patched(workload: Workload, text: str) -> tuple[Workload, list[str]]:
    """The workload with the patch merged in, and the patched fields that the planner doesn't read."""
    patch = patch_of(text, workload)
    where = f"patch for {workload.key}"
    try:
        document = merge(document_of(workload), _meant(workload, _sealed(_without_lost_commands(patch))))
    except ChangeError as error:
        raise ChangeError(error.what, where=f"{where}, {error.where}", fix=error.fix) from None
    spec = document.get("spec")
    if not isinstance(spec, dict) or not any(isinstance(spec.get(field), dict) for field in _TEMPLATES):
        raise ChangeError("it takes the pod template away", where=where, fix="Give the changed fields only")
    strategy = spec.get(workload.traits.strategy_field) or {}
    is_rolling = not isinstance(strategy, dict) or strategy.get("type") in (None, ROLLING_UPDATE)
    # A patch of the type alone leaves today's rollingUpdate beside it, which the API server refuses
    # (`ValidateDeploymentStrategy`, `ValidateStatefulSetSpec`); of a DaemonSet it takes both.
    if not is_rolling and strategy.get("rollingUpdate") and not workload.traits.is_per_node:
        raise ChangeError(
            f"strategy type {strategy['type']} may not come with rollingUpdate, which the workload has",
            where=where,
            fix=f'Write {{"type": "{strategy["type"]}", "rollingUpdate": null}}',
        )
    patch_spec = patch.get("spec") or {}
    unread = [
        f"spec.{key}" for key in patch_spec if key not in fields_of(api_types.WorkloadSpec) and not key.startswith("$")
    ]
    return read_changed(workload, document), unread


def applied_to(before: Workload, document: Object) -> Workload:
    """The workload once ``kubectl apply`` was given this document of it; a part of one counts as a patch.

    Raises
    ------
    ChangeError
        For a document that doesn't have a workload's shape, or leaves one that can't be read.
    """
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    if not isinstance(spec, dict):
        raise ChangeError("spec: expected an object", where=before.key)
    applied_metadata = {"annotations": metadata.get("annotations") or {}}  # kubectl apply writes one of its own
    if "labels" in metadata:
        applied_metadata["labels"] = metadata["labels"]
    live, applied = document_of(before), fields_in(before.applied)
    document = _sealed({"metadata": applied_metadata, "spec": spec})
    patch = of_apply(
        document, {key: applied.get(key, {}) for key in document}, live, is_by_field=applied.get(BY_FIELD, False),
        has_whole_lists=before.traits.is_custom,
    )  # fmt: skip
    return read_changed(before, merge(live, _meant(before, _without_lost_commands(patch))))


def _meant(workload: Workload, patch: Object) -> Object:
    """A patch as the API server takes it of this kind."""
    meant: Object = with_whole_lists(patch) if workload.traits.is_custom else patch
    return meant


def _sealed(patch: Object) -> Object:
    """`patch` with what it says of the pod templates sealed as the templates are."""
    spec = patch.get("spec")
    if not isinstance(spec, dict):
        return patch
    templates = {"template": spec["template"]} if isinstance(spec.get("template"), dict) else {}
    sealed_ones: Object = {field: seal(template) for field, template in templates.items()}
    groups = spec.get("leaderWorkerTemplate")
    if isinstance(groups, dict):
        both = {
            field: template
            for field, template in groups.items()
            if field.endswith("Template") and isinstance(template, dict)
        }
        sealed_ones["leaderWorkerTemplate"] = groups | {field: seal(template) for field, template in both.items()}
    return {**patch, "spec": {**spec, **sealed_ones}}


def _without_lost_commands(patch: Any) -> Any:
    """`patch`, where a container that loses its command loses `Container.start` with it, and a hook with another what the old slept.

    A new command is read when the merged manifest is; arguments alone don't change how a process is started.
    """
    if isinstance(patch, list):
        return [_without_lost_commands(child) for child in patch]
    if not isinstance(patch, dict):
        return patch
    cleaned = {key: _without_lost_commands(child) for key, child in patch.items()}
    if "command" in patch:
        cleaned[api_types.SLEEPS] = None
        if not patch["command"]:
            cleaned[api_types.START] = None
    return cleaned


# ── the other overrides ──────────────────────────────────────────────────────────────────────────────────────────────
def _scaled(workload: Workload, replicas: int | None) -> Workload:
    if replicas is None:
        return workload
    if workload.traits.is_per_node:
        fix = "Change its node selector to run it on fewer or more nodes"
        raise ChangeError(f"{with_article(workload.kind)} has no replicas", where=workload.key, fix=fix)
    return replace(workload, replicas=replicas)


def _strategy(workload: Workload, change: WorkloadChange) -> Strategy:
    """The strategy with what `change` overrides; a new kind comes with that kind's defaults."""
    strategy, kind = workload.strategy, workload.kind
    strategy_fields = {"max_surge": change.max_surge, "max_unavailable": change.max_unavailable}
    if change.strategy_kind is None and change.max_surge is None and change.max_unavailable is None:
        return strategy
    traits = workload.traits
    if not traits.rolls_out:
        raise ChangeError(f"{with_article(kind)} has no update strategy", where=workload.key)
    if change.strategy_kind is not None and change.strategy_kind != strategy.kind:
        if change.strategy_kind not in traits.strategies:
            fix = f"A {kind} knows {' and '.join(traits.strategies)}"
            raise ChangeError(f'the strategy "{change.strategy_kind}" doesn\'t exist', where=workload.key, fix=fix)
        if traits.is_custom:
            fix = f"Write it into the patch: spec.{traits.strategy_field}"
            raise ChangeError(f"{with_article(kind)}'s strategy is more than its name", where=workload.key, fix=fix)
        is_rolling = change.strategy_kind == ROLLING_UPDATE
        strategy = Strategy(
            kind=change.strategy_kind,
            max_surge=traits.default_surge if is_rolling else None,
            max_unavailable=traits.default_unavailable if is_rolling else None,
        )
    for name, value in strategy_fields.items():
        if value is None:
            continue
        if strategy.kind not in (CANARY, ROLLING_UPDATE) or (name == "max_surge" and not traits.can_surge):
            what = f"{name} has no meaning for {with_article(kind)} with {strategy.kind}"
            raise ChangeError(what, where=workload.key, fix="Leave it out, or choose RollingUpdate")
    return replace(
        strategy,
        max_surge=strategy.max_surge if change.max_surge is None else change.max_surge,
        max_unavailable=strategy.max_unavailable if change.max_unavailable is None else change.max_unavailable,
    )


def _set_request(spec: Object, resource: str, amount: int, where: str) -> list[Finding]:
    """Make the pod ask for `amount` of `resource`; the container that asks for most of it takes the difference.

    An extended resource's limit is its request. A cpu or memory limit below the new request is raised to it, since
    the API server refuses it otherwise; the finding says so.
    """
    containers = [container for container in spec.get("containers") or [] if isinstance(container, dict)]
    if not containers:
        raise ChangeError("it has no containers", where=where)
    container_requests = [_asked(container, resource) for container in containers]
    index = max(range(len(containers)), key=container_requests.__getitem__)
    other_requests = sum(container_requests) - container_requests[index]
    if amount < other_requests:
        least = quantity.format_amount(other_requests, resource)
        what = f"{resource}: {quantity.format_amount(amount, resource)} is less than the other containers ask for"
        raise ChangeError(what, where=where, fix=f"Give at least {least}")
    own = amount - other_requests
    resources = containers[index].setdefault("resources", {})
    requests, limits = resources.setdefault("requests", {}), resources.setdefault("limits", {})
    written = quantity.format_amount(own, resource)
    findings: list[Finding] = []
    if is_extended_resource(resource) and own == 0:
        requests.pop(resource, None)
        limits.pop(resource, None)
    elif is_extended_resource(resource):
        requests[resource] = limits[resource] = written
    else:
        requests[resource] = written
        if resource in limits and quantity.parse(limits[resource], resource) < own:
            before, limits[resource] = limits[resource], written
            findings.append(finding("change-raised-limit", where, resource=resource, before=before, after=written))
    # A request of the pod as a whole counts instead of its containers': it changes along.
    if (spec.get("resources") or {}).get("requests", {}).get(resource) is not None:
        spec["resources"]["requests"][resource] = quantity.format_amount(amount, resource)
    return findings


def _asked(container: Object, resource: str) -> int:
    """What a container asks for; its limit where it gives no request."""
    resources = container.get("resources") or {}
    for amounts in (resources.get("requests"), resources.get("limits")):
        if amounts and resource in amounts:
            return quantity.parse(amounts[resource], resource)
    return 0
