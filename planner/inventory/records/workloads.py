"""Reads workloads, ReplicaSets and ControllerRevisions into records.

Defaults are those of kubernetes `pkg/apis/{apps,batch}/v1/defaults.go`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from planner.ground import typed_json
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.well_known_names import (
    DEFAULT_NAMESPACE,
    ISTIO_ANNOTATIONS,
    KEDA_PAUSED,
    KEDA_PAUSED_REPLICAS,
    LWS_NAME,
)
from planner.inventory import api_types
from planner.inventory.last_applied import take_applied_fields
from planner.inventory.log_secret_masking import said
from planner.inventory.records import argo_and_lws
from planner.inventory.records.pods import cut, known_spec
from planner.inventory.records.read_context import Shared, annotations_of, given, metadata_of, read_owner
from planner.inventory.records.record_layouts import METADATA, ByHand, RecordLayout, of
from planner.inventory.records.selectors import read_selector
from planner.inventory.records.storage import read_claim_template
from planner.inventory.redacted_value_digests import seal_but_spec, seal_spec, unread, unread_of_spec, with_kept
from planner.kubernetes import name_validation
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import FrozenMap, Labels
from planner.kubernetes.surge_and_unavailable import check_share
from planner.kubernetes.workload_kinds import (
    CANARY,
    DAEMON_SET,
    DEPLOYMENT,
    LEADER_WORKER_SET,
    REPLICA_SET,
    ROLLING_UPDATE,
    STATEFUL_SET,
    Kind,
)

Raw = bytes | dict[str, Any]  # a pod template as it is written, or as plain values
DEFAULT_REVISION_HISTORY_LIMIT = 10
DEFAULT_JOB_BACKOFF_LIMIT = 6
_KEEPS_REVISIONS = frozenset({STATEFUL_SET.name, DAEMON_SET.name})
_COUNTS = {field.encode_name: field.name for field in msgspec.structs.fields(api_types.WorkloadStatus)}


def read_template(
    shared: Shared, template: api_types.PodTemplate | None, raw: Raw, *, has_manifest: bool
) -> model.Template:
    """The record of a pod template, of which `raw` is the whole."""
    template = template or api_types.PodTemplate()
    metadata = template.metadata or api_types.Metadata()
    template.metadata = metadata = api_types.Metadata(labels=metadata.labels, annotations=metadata.annotations)
    template.spec = spec = cut(template.spec or api_types.PodSpec())
    annotations = annotations_of(metadata)

    def read(text: bytes) -> model.Template:
        labels = shared.labels(metadata.labels)
        raw_fields = typed_json.decode(text, dict[str, msgspec.Raw])
        whole = bytes(raw_fields.pop("spec", b"null"))
        of_spec = shared.once_written("spec of a template", whole, lambda _: _ReadSpec.of(shared, whole, spec))
        sealed_fields = seal_but_spec({key: msgspec.json.decode(raw_field) for key, raw_field in raw_fields.items()})
        plain_template = msgspec.to_builtins(template) if has_manifest else None
        injection = {key: value for key, value in annotations.items() if key in ISTIO_ANNOTATIONS}
        spec_record = replace(of_spec.record, injection=FrozenMap(injection)) if injection else of_spec.record
        return model.Template(
            labels=labels,
            spec=spec_record,
            annotations=annotations,
            manifest=api_types.encode(with_kept({**sealed_fields, "spec": of_spec.sealed}, plain_template))
            if plain_template is not None
            else b"{}",
            unread=unread(sealed_fields, of_spec.unread),
        )

    text = api_types.encode(raw) if isinstance(raw, dict) else raw
    return shared.once_written("template" if has_manifest else "template of a part", text, read)


class _ReadSpec(NamedTuple):
    """The spec of a template, and what it says and isn't kept: a Deployment and its ReplicaSet write the same."""

    record: model.PodSpec
    sealed: dict[str, Any]
    unread: str

    @classmethod
    def of(cls, shared: Shared, text: bytes, spec: api_types.PodSpec) -> _ReadSpec:
        sealed = seal_spec(msgspec.json.decode(text) or {})
        return cls(known_spec(shared, spec).record, sealed, unread_of_spec(sealed, spec))


def read_workload(shared: Shared, workload: api_types.Workload, raw: Raw, *, kind: Kind) -> model.Workload:
    """The record of a workload; `raw` is its whole pod template, a LeaderWorkerSet's its spec with both of them."""
    metadata = metadata_of(workload)
    groups = worker = None
    if kind is LEADER_WORKER_SET and isinstance(raw, dict):
        groups, worker, raw = _read_groups(shared, workload, raw)
    applied = shared.text(take_applied_fields(workload.metadata))
    spec = workload.spec or api_types.WorkloadSpec()
    status = workload.status or api_types.WorkloadStatus()
    conditions = {c.type: f"{c.status}/{c.reason or ''}" for c in status.conditions or ()}
    name = metadata.name or ""
    return model.Workload(
        kind=kind.name,
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=name,
        uid=metadata.uid or "",
        generation=metadata.generation or 0,
        labels=shared.labels(metadata.labels),
        annotations=annotations_of(metadata),
        created_at=shared.seconds(metadata.creation_timestamp),
        is_deleting=metadata.deletion_timestamp is not None,
        replicas=_replicas(kind, spec),
        selector=read_selector(shared, spec.selector) or _default_selector(kind, name, spec),
        template=read_template(shared, _leader(kind, spec), raw, has_manifest=True),
        strategy=_strategy(kind, spec),
        min_ready_seconds=spec.min_ready_seconds or 0,
        progress_deadline_seconds=(
            given(spec.progress_deadline_seconds, kind.progress_deadline_seconds)
            if kind.progress_deadline_seconds is not None
            else None
        ),
        revision_history_limit=given(spec.revision_history_limit, DEFAULT_REVISION_HISTORY_LIMIT),
        is_paused=bool(spec.paused) or bool(spec.suspend),
        pod_management_policy=spec.pod_management_policy or "OrderedReady",
        service_name=spec.service_name or "",
        start_ordinal=(spec.ordinals.start or 0) if spec.ordinals else 0,
        claim_templates=tuple(
            read_claim_template(shared, claim.spec, claim.metadata.name or "")
            for claim in spec.volume_claim_templates or ()
            if claim.metadata
        ),
        current_revision=status.current_revision or "",
        update_revision=status.update_revision or "",
        observed_generation=_generation(status.observed_generation),
        status_replicas=_count(status, kind.status.wanted),
        ready_replicas=_count(status, kind.status.ready),
        available_replicas=_count(status, kind.status.available),
        updated_replicas=_count(status, kind.status.updated),
        # a Job that gives neither completions nor parallelism needs one completion (`SetDefaults_Job`)
        completions=1 if kind.is_batch and spec.completions is spec.parallelism is None else spec.completions,
        backoff_limit=given(spec.backoff_limit, DEFAULT_JOB_BACKOFF_LIMIT) if kind.is_batch else None,
        active_deadline_seconds=spec.active_deadline_seconds,
        ignores_disruptions=_on_disruption(spec.pod_failure_policy) == "Ignore",
        fails_on_disruption=_on_disruption(spec.pod_failure_policy) == "FailJob",
        counts_ended_only=spec.pod_replacement_policy == "Failed" or spec.pod_failure_policy is not None,
        has_limit_each_index=spec.backoff_limit_per_index is not None,
        failed_pods=given(status.failed, 0),
        succeeded_pods=given(status.succeeded, 0),
        is_finished=kind.is_batch and any(conditions.get(t, "").startswith("True") for t in ("Complete", "Failed")),
        owner=read_owner(shared, metadata.owner_references),
        conditions=shared.conditions(conditions),
        progressing_at=_progressing_at(shared, status),
        progressing_since=_progressing_since(shared, status),
        refusal_message=shared.text(said(_refusal_message(status))),
        applied=applied,
        progress=argo_and_lws.read_progress(status) if CANARY in kind.strategies else None,
        template_of=_template_of(spec, shared.text(metadata.namespace or DEFAULT_NAMESPACE)),
        groups=groups,
        worker_template=worker,
    )


def _read_groups(shared: Shared, workload: api_types.Workload, raw: Raw) -> tuple[Any, model.Template, Raw]:
    """A LeaderWorkerSet's groups, its workers' template, and its leaders' as it is written."""
    spec = workload.spec or api_types.WorkloadSpec()
    groups_field = raw.get("leaderWorkerTemplate") if isinstance(raw, dict) else None
    both = groups_field if isinstance(groups_field, dict) else {}
    workers = both.get("workerTemplate") or {}
    template = spec.leader_worker_template or api_types.LeaderWorkerTemplate()
    worker = read_template(shared, template.worker_template, workers, has_manifest=True)
    return argo_and_lws.read_groups(spec), worker, both.get("leaderTemplate") or workers


def _leader(kind: Kind, spec: api_types.WorkloadSpec) -> api_types.PodTemplate | None:
    groups = spec.leader_worker_template
    if kind is not LEADER_WORKER_SET or groups is None:
        return spec.template
    return groups.leader_template if groups.leader_template is not None else groups.worker_template


def _template_of(spec: api_types.WorkloadSpec, namespace: str) -> str:
    """The key of what an Argo Rollout takes its pod template from; "" where it has its own."""
    reference = spec.workload_ref
    if reference is None:
        return ""
    return name_validation.check_workload_key("spec.workloadRef", f"{reference.kind}/{namespace}/{reference.name}")


def _generation(observed: int | str | None) -> int | None:
    """A number in Kubernetes' own kinds, a text in Argo's."""
    if isinstance(observed, str):
        return int(observed) if observed.isascii() and observed.isdecimal() and len(observed) < 19 else None
    return observed


def _condition(status: api_types.WorkloadStatus, called: str) -> api_types.WorkloadCondition | None:
    return next((condition for condition in status.conditions or () if condition.type == called), None)


def _progressing_at(shared: Shared, status: api_types.WorkloadStatus) -> float | None:
    condition = _condition(status, "Progressing")
    return (
        shared.seconds(condition.last_update_time or condition.last_transition_time) if condition is not None else None
    )


def _progressing_since(shared: Shared, status: api_types.WorkloadStatus) -> float | None:
    progress_condition = _condition(status, "Progressing")
    return shared.seconds(progress_condition.last_transition_time) if progress_condition is not None else None


def _refusal_message(status: api_types.WorkloadStatus) -> str:
    condition = _condition(status, "ReplicaFailure")
    return (condition.message or "") if condition is not None and condition.status == "True" else ""


def _on_disruption(policy: api_types.FailurePolicy | None) -> str:
    """What the first rule about pods that a disruption ended does: Ignore, FailJob, Count, … (batch/v1 `PodFailurePolicy`:
    rules are looked at in order, a condition's status is True where none is given).

    Such a pod's containers end by SIGTERM or SIGKILL where they don't say otherwise, so that a rule about these exit codes that
    comes first is about them too.
    """
    for rule in (policy.rules if policy is not None else None) or ():
        if any(
            condition.type == "DisruptionTarget" and condition.status in ("", "True")
            for condition in rule.on_pod_conditions or ()
        ):
            return rule.action
        codes = rule.on_exit_codes
        if codes is not None and rule.action != "Ignore":
            is_in = codes.operator == "In"
            if any((code in (codes.values or ())) is is_in for code in _SIGNALLED):
                return "Count"
    return "Count"


_SIGNALLED: Final = (143, 137)  # 128 + SIGTERM, 128 + SIGKILL


def read_replica_set(shared: Shared, replica_set: api_types.Workload, raw: Raw) -> model.ReplicaSet:
    """A ReplicaSet; `raw` is its whole pod template."""
    metadata = metadata_of(replica_set)
    spec = replica_set.spec or api_types.WorkloadSpec()
    status = replica_set.status or api_types.WorkloadStatus()
    return model.ReplicaSet(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        uid=metadata.uid or "",
        labels=shared.labels(metadata.labels),
        annotations=annotations_of(metadata),
        owner=read_owner(shared, metadata.owner_references),
        created_at=shared.seconds(metadata.creation_timestamp),
        replicas=given(spec.replicas, 1),
        selector=read_selector(shared, spec.selector) or _default_selector(REPLICA_SET, metadata.name or "", spec),
        template=read_template(shared, spec.template, raw, has_manifest=False),
        min_ready_seconds=spec.min_ready_seconds or 0,
        status_replicas=status.replicas or 0,
        ready_replicas=status.ready_replicas or 0,
        available_replicas=status.available_replicas or 0,
    )


def read_controller_revision(shared: Shared, revision: api_types.ControllerRevision) -> model.ControllerRevision:
    """A ControllerRevision; of `decoded`, which other kinds' controllers use as they like, the template at most is kept.

    Source: kubernetes `pkg/controller/statefulset/stateful_set_utils.go`, `pkg/controller/daemon/update.go`, `getPatch`.
    """
    metadata = metadata_of(revision)
    owner, template = read_owner(shared, metadata.owner_references), None
    raw_revision, revision.data = revision.data, None
    if owner is not None and owner.kind in _KEEPS_REVISIONS:
        decoded = typed_json.convert(raw_revision, api_types.RevisionData)
        if decoded.spec is not None and decoded.spec.template is not None:
            template = read_template(
                shared, decoded.spec.template, raw_revision["spec"]["template"], has_manifest=False
            )
            revision.data = decoded
    return model.ControllerRevision(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        uid=metadata.uid or "",
        labels=shared.labels(metadata.labels),
        owner=owner,
        number=revision.revision,
        created_at=shared.seconds(metadata.creation_timestamp),
        template=template,
    )


def _count(status: api_types.WorkloadStatus, field: str) -> int:
    """A number of ``status`` by its name in the API; 0 where the kind has none, or it isn't given."""
    return given(getattr(status, _COUNTS[field]), 0) if field else 0


def _replicas(kind: Kind, spec: api_types.WorkloadSpec) -> int:
    if kind.is_per_node:
        return 0
    return given(spec.parallelism if kind.is_batch else spec.replicas, 1)


def _default_selector(kind: Kind, name: str, spec: api_types.WorkloadSpec) -> model.LabelSelector:
    """A Job's selector is made by the API server; the others must give one, which then is the template's labels."""
    if kind.is_batch:
        return model.LabelSelector(match_labels=FrozenMap({"batch.kubernetes.io/job-name": name}))
    if kind is LEADER_WORKER_SET:  # its own label, on all its pods
        return model.LabelSelector(match_labels=FrozenMap({LWS_NAME: name}))
    if spec.workload_ref is not None:
        return model.LabelSelector()
    metadata = spec.template.metadata if spec.template else None
    labels = (metadata.labels or {}) if metadata else {}
    if not labels:
        raise InputError("it has neither a selector nor labels on its pod template")
    return model.LabelSelector(match_labels=FrozenMap(labels))


def _strategy(kind: Kind, spec: api_types.WorkloadSpec) -> model.Strategy:
    """The update strategy with the defaults of its kind: RollingUpdate, from partition 0."""
    if not kind.rolls_out:
        return model.Strategy()
    if CANARY in kind.strategies:
        return argo_and_lws.read_strategy(kind, spec.strategy or api_types.Strategy())
    if kind is LEADER_WORKER_SET:
        return argo_and_lws.read_group_strategy(kind, spec.rollout_strategy)
    written = {"strategy": spec.strategy, "updateStrategy": spec.update_strategy}
    strategy = written[kind.strategy_field] or api_types.Strategy()
    type_ = strategy.type or ROLLING_UPDATE
    if type_ != ROLLING_UPDATE:
        return model.Strategy(kind=type_)
    rolling = strategy.rolling_update or api_types.RollingUpdate()
    where = f"spec.{kind.strategy_field}.rollingUpdate"
    check_share(f"{where}.maxSurge", rolling.max_surge)
    check_share(f"{where}.maxUnavailable", rolling.max_unavailable)
    return model.Strategy(
        kind=type_,
        max_surge=kind.default_surge if rolling.max_surge is None else rolling.max_surge,
        max_unavailable=kind.default_unavailable if rolling.max_unavailable is None else rolling.max_unavailable,
        partition=rolling.partition or 0,
    )


def read_scaled_object(shared: Shared, scaled: api_types.ScaledObject) -> model.HorizontalPodAutoscaler:
    """KEDA's ScaledObject, which makes a HorizontalPodAutoscaler of the same bounds and scales to 0 by itself.

    Source: keda `apis/keda/v1alpha1/scaledobject_types.go` (minReplicaCount 0, maxReplicaCount 100, kind Deployment;
    `NeedToBePausedByAnnotation`).
    """
    metadata = metadata_of(scaled)
    spec = scaled.spec or api_types.ScaledObjectSpec()
    is_paused, replicas = _paused(annotations_of(metadata), scaled.status)
    target = spec.scale_target_ref or api_types.ScaleTarget()
    namespace = shared.text(metadata.namespace or DEFAULT_NAMESPACE)
    return model.HorizontalPodAutoscaler(
        namespace=namespace,
        name=metadata.name or "",
        target=_key_of(target, namespace, DEPLOYMENT.name),
        minimum=given(spec.min_replica_count, 0) if replicas is None else replicas,
        maximum=given(spec.max_replica_count, 100) if replicas is None else replicas,
        kind="ScaledObject",
        idle=spec.idle_replica_count if replicas is None else None,
        is_paused=is_paused,
    )


def _paused(annotations: Labels, status: api_types.ScaledObjectStatus | None) -> tuple[bool, int | None]:
    """Whether it leaves replicas alone, else which it sets first: those of its annotation, before it leaves them alone."""
    text = annotations.get(KEDA_PAUSED_REPLICAS)
    if text is None:
        paused_text = annotations.get(KEDA_PAUSED)
        return paused_text is not None and paused_text not in _FALSE, None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        return True, None  # KEDA refuses the whole object
    replicas = int(text)
    is_done = status is not None and status.paused_replica_count == replicas
    return is_done, None if is_done else replicas


_FALSE: Final = ("0", "f", "F", "false", "False", "FALSE")  # Go's strconv.ParseBool


def _target(_: Shared, metadata: api_types.Metadata, target: api_types.ScaleTarget | None) -> str:
    return _key_of(target or api_types.ScaleTarget(), metadata.namespace or DEFAULT_NAMESPACE)


def _key_of(target: api_types.ScaleTarget, namespace: str, kind: str = "") -> str:
    return name_validation.check_workload_key("spec.scaleTargetRef", f"{target.kind or kind}/{namespace}/{target.name}")


AUTOSCALER = RecordLayout(
    model.HorizontalPodAutoscaler,
    target=of(_target, METADATA, ("spec.scaleTargetRef", api_types.ScaleTarget)),
    minimum="spec.minReplicas",
    maximum="spec.maxReplicas",
)
SCALED_OBJECT = ByHand(api_types.ScaledObject, read_scaled_object)
CONTROLLER_REVISION = ByHand(api_types.ControllerRevision, read_controller_revision)
SERVICE = RecordLayout(model.Service, selector="spec.selector")
