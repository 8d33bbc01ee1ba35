"""Kubernetes objects → `Snapshot`: the defaults the API server would have set, equal parts shared, nothing dropped
silently.

What an object from the API server has and what a manifest leaves out look the same afterwards. Source of the defaults:
kubernetes 1.36 `pkg/apis/{core,apps,batch,policy,storage,scheduling}/v1/defaults.go` and the field comments of
k8s.io/api. An object that can't be read is left out and named in `Snapshot.problems`; the others are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from planner import quantity
from planner.errors import InputError, QuantityError
from planner.inventory import model, wire
from planner.inventory.model import EMPTY, Amounts, CommandForm, Finding, FrozenMap, Labels, Presence, Severity
from planner.inventory.start import start_of

T = TypeVar("T")
W = TypeVar("W")
Item = msgspec.Raw | bytes | memoryview | dict[str, Any]

WORKLOAD_KINDS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Job"})
DEFAULT_GRACE_SECONDS = 30
DEFAULT_PROGRESS_DEADLINE_SECONDS = 600
DEFAULT_JOB_BACKOFF_LIMIT = 6

_HEAD = re.compile(rb'\{\s*"apiVersion":\s*"([^"\\]*)",\s*"kind":\s*"([^"\\]*)"')
_CLUSTER_KINDS = frozenset(
    {"Node", "Namespace", "PriorityClass", "PersistentVolume", "StorageClass", "DeviceClass", "ResourceSlice"}
)
_MOUNTED_BY_ADMISSION = "kube-api-access-"  # volume the ServiceAccount admission plugin adds, named anew for each pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Objects that came together: one List, one document, one page of the API server's answer.

    Parameters
    ----------
    where : str
        The file or request they came from, for messages.
    items : sequence of JSON texts or of decoded objects
        Each a whole Kubernetes object.
    kind, api_version : str
        What the items are where they don't say it themselves (items of a ``PodList`` don't).
    listed : tuple of str
        Kinds this part is the whole list of, even when it has no items.
    refused : tuple of str
        Kinds the API server refused to list (403).
    """

    where: str = ""
    items: Sequence[Item] = ()
    kind: str = ""
    api_version: str = ""
    listed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def build_snapshot(
    parts: Iterable[Part],
    *,
    source: str,
    taken_at: float | None = None,
    logs: tuple[model.PodLog, ...] = (),
    problems: Iterable[Finding] = (),
) -> model.Snapshot:
    """Read `parts` into one snapshot.

    Parameters
    ----------
    parts : iterable of Part
        Read one after the other, so a generator needs only one of them in memory.
    source : str
        A name for people.
    taken_at : float, optional
        Seconds since the epoch; the newest time seen in the objects when not given, 0 when there is none.
    logs, problems
        Kept as they are; `problems` come before what reading finds, and may grow while `parts` are read.
    """
    reader = Reader()
    for part in parts:
        reader.read(part)
    return reader.snapshot(source=source, taken_at=taken_at, logs=logs, problems=tuple(problems))


class Reader:
    """Reads parts into records. Equal pod specs, templates and label sets become one object each."""

    def __init__(self) -> None:
        self.found: dict[str, list[Any]] = {}
        self.other_kinds: dict[str, int] = {}
        self.presence: dict[str, Presence] = dict.fromkeys(wire.KINDS, Presence.ABSENT)
        self.problems: list[Finding] = []
        self.newest: float = 0.0
        self._digests: list[bytes] = []
        self._texts: dict[str, str] = {}
        self._labels: dict[Any, Labels] = {}
        self._amounts: dict[Any, Amounts] = {}
        self._pod_specs: dict[bytes, model.PodSpec] = {}
        self._templates: dict[bytes, model.Template] = {}
        self._parts: dict[tuple[str, bytes], Any] = {}

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def read(self, part: Part) -> None:
        """Read every item of `part`; what can't be read becomes a problem."""
        for kind in part.listed:
            if kind in self.presence:
                self.presence[kind] = Presence.PRESENT
        for kind in part.refused:
            if self.presence.get(kind) is Presence.ABSENT:
                self.presence[kind] = Presence.REFUSED
        for index, item in enumerate(part.items):
            try:
                self._read_item(item, part)
            except (msgspec.MsgspecError, InputError, RecursionError, ValueError, OverflowError) as error:
                self.problems.append(_unreadable(item, part, index, error))

    def _read_item(self, item: Item, part: Part) -> None:
        kind, api_version = _kind_of(item, part)
        if not _is_known(kind, api_version):
            name = kind or "(no kind)"
            self.other_kinds[name] = self.other_kinds.get(name, 0) + 1
            return
        if isinstance(item, dict):
            decoded = msgspec.convert(item, wire.KINDS[kind])
        else:
            decoded = wire.DECODERS[kind].decode(item)
        record = self._pod(decoded) if kind == "Pod" else self._record(kind, decoded)
        self.found.setdefault(kind, []).append(record)
        self.presence[kind] = Presence.PRESENT

    def _record(self, kind: str, decoded: Any) -> Any:
        """The record of any kind but Pod; its digest is that of what was kept."""
        if kind in WORKLOAD_KINDS:
            record: Any = self.workload(kind, decoded)
        else:
            record = _READERS[kind](self, decoded)
        self._digest(kind.encode(), wire.encode(decoded))
        return record

    def _digest(self, *content: bytes) -> None:
        self._digests.append(blake2b(b"\0".join(content), digest_size=16).digest())

    def snapshot(
        self,
        *,
        source: str,
        taken_at: float | None,
        logs: tuple[model.PodLog, ...] = (),
        problems: tuple[Finding, ...] = (),
    ) -> model.Snapshot:
        """What was read so far."""
        for kind in self.found:
            self.found[kind] = self._without_doubles(kind, self.found[kind])
        digest = blake2b(digest_size=16)
        for one in sorted(self._digests):
            digest.update(one)
        get = self.found.get
        workloads: list[model.Workload] = [w for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job") for w in get(kind, ())]
        return model.Snapshot(
            taken_at=self.newest if taken_at is None else taken_at,
            source=source,
            digest=digest.hexdigest(),
            nodes=tuple(sorted(get("Node", ()), key=lambda node: node.name)),
            namespaces=tuple(get("Namespace", ())),
            pods=tuple(get("Pod", ())),
            workloads=tuple(workloads),
            replica_sets=tuple(get("ReplicaSet", ())),
            pod_disruption_budgets=tuple(get("PodDisruptionBudget", ())),
            priority_classes=tuple(get("PriorityClass", ())),
            resource_quotas=tuple(get("ResourceQuota", ())),
            limit_ranges=tuple(get("LimitRange", ())),
            persistent_volumes=tuple(get("PersistentVolume", ())),
            persistent_volume_claims=tuple(get("PersistentVolumeClaim", ())),
            storage_classes=tuple(get("StorageClass", ())),
            device_classes=tuple(get("DeviceClass", ())),
            resource_slices=tuple(get("ResourceSlice", ())),
            resource_claims=tuple(get("ResourceClaim", ())),
            resource_claim_templates=tuple(get("ResourceClaimTemplate", ())),
            events=tuple(get("Event", ())),
            pod_metrics=tuple(get("PodMetrics", ())),
            logs=logs,
            presence=FrozenMap(self.presence),
            other_kinds=FrozenMap(self.other_kinds),
            problems=problems + tuple(self.problems),
        )

    def _without_doubles(self, kind: str, records: list[Any]) -> list[Any]:
        """The records, each namespace and name once (the first stays), with a problem for each one left out."""
        if kind == "Event":
            return records
        kept: dict[tuple[str, str], Any] = {}
        for record in records:
            key = (getattr(record, "namespace", ""), record.name)
            first = kept.setdefault(key, record)
            if first is not record and first != record:
                self.problems.append(
                    Finding(
                        severity=Severity.WARNING,
                        code="duplicate-object",
                        object=_object_name(kind, *key),
                        what="is in the input more than once, with different content; the first one is used",
                        mend="Give one state of the cluster: don't join dumps taken at different times",
                    )
                )
        return list(kept.values())

    # ── shared parts ─────────────────────────────────────────────────────────────────────────────────────────────────
    def _seconds(self, moment: datetime | None) -> float | None:
        """Seconds since the epoch, remembering the newest."""
        if moment is None:
            return None
        seconds = _seconds(moment)
        if seconds > self.newest:
            self.newest = seconds
        return seconds

    def _text(self, text: str | None) -> str:
        return self._texts.setdefault(text, text) if text else ""

    def _label_map(self, labels: dict[str, str] | None) -> Labels:
        if not labels:
            return EMPTY
        key = tuple(labels.items())
        known = self._labels.get(key)
        if known is None:
            known = self._labels[key] = FrozenMap(labels)
        return known

    def _amount_map(self, quantities: wire.Quantities | None) -> Amounts:
        if not quantities:
            return EMPTY
        key = tuple(quantities.items())
        known = self._amounts.get(key)
        if known is None:
            known = self._amounts[key] = FrozenMap({name: _amount(text, name) for name, text in quantities.items()})
        return known

    def _shared(self, name: str, decoded: W, make: Callable[[W], T]) -> T:
        """`make(decoded)`, once for equal content."""
        key = (name, wire.encode(decoded))
        known: T | None = self._parts.get(key)
        if known is None:
            known = self._parts[key] = make(decoded)
        return known

    # ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _pod(self, pod: wire.Pod) -> model.Pod:
        metadata = _metadata(pod)
        spec = pod.spec or wire.PodSpec()
        node_name, spec.node_name = spec.node_name, None
        key = wire.encode(_cut(spec))
        pod_spec = self._pod_specs.get(key)
        if pod_spec is None:
            pod_spec = self._pod_specs[key] = self.pod_spec(spec)
        status = pod.status or wire.PodStatus()
        annotations = _annotations(metadata)
        self._digest(b"Pod", wire.encode(metadata), key, (node_name or "").encode(), wire.encode(status))
        ready_at = scheduled_at = None
        is_ready, unschedulable_message = False, ""
        for condition in status.conditions or ():
            since = self._seconds(condition.last_transition_time)
            if condition.type == "Ready":
                is_ready, ready_at = condition.status == "True", since
            elif condition.type == "PodScheduled":
                if condition.status == "True":
                    scheduled_at = since
                elif condition.reason == "Unschedulable":
                    unschedulable_message = condition.message or ""
        claims = status.resource_claim_statuses
        return model.Pod(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            uid=metadata.uid or "",
            labels=self._label_map(metadata.labels),
            spec=pod_spec,
            owner=self._owner(metadata),
            annotations=annotations,
            created_at=self._seconds(metadata.creation_timestamp),
            deleted_at=_seconds_or_none(metadata.deletion_timestamp),
            node_name=self._text(node_name),
            nominated_node_name=self._text(status.nominated_node_name),
            phase=self._text(status.phase) or "Pending",
            is_ready=is_ready,
            ready_at=ready_at,
            scheduled_at=scheduled_at,
            unschedulable_message=self._text(unschedulable_message),
            started_at=self._seconds(status.start_time),
            containers=self._container_states(status),
            qos_class=self._text(status.qos_class),
            reason=self._text(status.reason),
            claim_names=FrozenMap({c.name: c.resource_claim_name or "" for c in claims}) if claims else EMPTY,
        )

    def _owner(self, metadata: wire.Metadata) -> model.Owner | None:
        for reference in metadata.owner_references or ():
            if reference.controller:
                return self._shared("owner", reference, lambda r: model.Owner(kind=r.kind, name=r.name, uid=r.uid))
        return None

    def _container_states(self, status: wire.PodStatus) -> tuple[model.ContainerState, ...]:
        states = [self._container_state(one, False) for one in status.container_statuses or ()]
        states += [self._container_state(one, True) for one in status.init_container_statuses or ()]
        return tuple(states)

    def _container_state(self, status: wire.ContainerStatus, is_init: bool) -> model.ContainerState:
        now, last = self._state(status.state), self._state(status.last_state)
        return model.ContainerState(
            name=self._text(status.name),
            is_init=is_init,
            ready=bool(status.ready),
            started=status.started,
            restart_count=status.restart_count or 0,
            state=now[0],
            reason=now[1],
            message=now[2],
            exit_code=now[3],
            signal=now[4],
            started_at=now[5],
            finished_at=now[6],
            last_state=last[0],
            last_reason=last[1],
            last_exit_code=last[3],
            last_signal=last[4],
            last_started_at=last[5],
            last_finished_at=last[6],
        )

    def _state(
        self, state: wire.State | None
    ) -> tuple[str, str, str, int | None, int | None, float | None, float | None]:
        """(state, reason, message, exit code, signal, started at, finished at)."""
        if state is None:
            return _NO_STATE
        if (running := state.running) is not None:
            return ("running", "", "", None, None, self._seconds(running.started_at), None)
        if (waiting := state.waiting) is not None:
            return ("waiting", self._text(waiting.reason), self._text(waiting.message), None, None, None, None)
        if (ended := state.terminated) is not None:
            started, finished = self._seconds(ended.started_at), self._seconds(ended.finished_at)
            return ("terminated", self._text(ended.reason), "", ended.exit_code, ended.signal, started, finished)
        return _NO_STATE

    def pod_spec(self, spec: wire.PodSpec) -> model.PodSpec:
        """The record of a spec already cut down by `_cut`."""
        affinity = spec.affinity or _NO_AFFINITY
        host_network = bool(spec.host_network)
        containers = self._shared(
            "host-containers" if host_network else "containers",
            spec.containers or [],
            lambda many: tuple(self._container(one, host_network) for one in many),
        )
        init_containers = self._shared(
            "host-containers" if host_network else "containers",
            spec.init_containers or [],
            lambda many: tuple(self._container(one, host_network) for one in many),
        )
        pod_requests, pod_limits = self._pod_level(spec.resources, containers, init_containers)
        return model.PodSpec(
            containers=containers,
            init_containers=init_containers,
            overhead=self._amount_map(spec.overhead),
            pod_requests=pod_requests,
            pod_limits=pod_limits,
            node_selector=self._label_map(spec.node_selector),
            node_affinity=_node_affinity(affinity.node_affinity),
            pod_affinity=self._pod_affinity(affinity.pod_affinity),
            pod_anti_affinity=self._pod_affinity(affinity.pod_anti_affinity),
            topology_spread=tuple(self._spread(one) for one in spec.topology_spread_constraints or ()),
            tolerations=self._shared("tolerations", spec.tolerations or [], _tolerations),
            node_name=self._text(spec.node_name),
            priority_class_name=self._text(spec.priority_class_name),
            priority=spec.priority,
            preemption_policy=spec.preemption_policy,
            host_network=host_network,
            volumes=tuple(_volume(one) for one in spec.volumes or ()),
            resource_claims=tuple(_pod_claim(one) for one in spec.resource_claims or ()),
            scheduler_name=self._text(spec.scheduler_name) or "default-scheduler",
            scheduling_gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
            runtime_class_name=self._text(spec.runtime_class_name),
            restart_policy=self._text(spec.restart_policy) or "Always",
            termination_grace_period_seconds=_or(spec.termination_grace_period_seconds, DEFAULT_GRACE_SECONDS),
            active_deadline_seconds=spec.active_deadline_seconds,
            has_readiness_gates=bool(spec.readiness_gates),
        )

    def _container(self, container: wire.Container, host_network: bool) -> model.Container:
        resources = container.resources or _NO_RESOURCES
        limits = self._amount_map(resources.limits)
        requests = self._amount_map(resources.requests)
        if any(name not in requests for name in limits):  # SetDefaults_Pod: a request left out is the limit
            requests = FrozenMap({**limits, **requests})
        form, _, program = (container.start or CommandForm.IMAGE).partition(" ")
        return model.Container(
            name=container.name,
            image=container.image or "",
            requests=requests,
            limits=limits,
            host_ports=_host_ports(container.ports, host_network),
            restart_policy=container.restart_policy,
            command_form=CommandForm(form) if form in _FORMS else CommandForm.IMAGE,
            program=program,
            startup_probe=_probe(container.startup_probe),
            readiness_probe=_probe(container.readiness_probe),
            liveness_probe=_probe(container.liveness_probe),
            has_pre_stop=container.lifecycle is not None and container.lifecycle.pre_stop is not None,
            resource_claims=tuple(claim.name for claim in resources.claims or ()),
        )

    def _pod_level(
        self,
        resources: wire.Resources | None,
        containers: tuple[model.Container, ...],
        init_containers: tuple[model.Container, ...],
    ) -> tuple[Amounts | None, Amounts | None]:
        """Requests and limits of the pod as a whole, None where not given.

        A request left out is the sum of the containers' where they give one (cpu and memory), else the pod's limit.
        Source: `pkg/apis/core/v1/defaults.go` `defaultPodRequests`.
        """
        if resources is None or not (resources.requests or resources.limits):
            return None, None
        limits = self._amount_map(resources.limits)
        requests: dict[str, int] = dict(self._amount_map(resources.requests))
        if limits:
            for name in ("cpu", "memory"):
                if name not in requests and any(name in c.requests for c in (*containers, *init_containers)):
                    requests[name] = effective_container_requests(containers, init_containers, name)
            for name, amount in limits.items():
                requests.setdefault(name, amount)
        return FrozenMap(requests), limits if resources.limits else None

    def _pod_affinity(self, affinity: wire.PodAffinity | None) -> tuple[model.PodAffinityTerm, ...]:
        if affinity is None:
            return ()
        terms = [self._affinity_term(term, 0) for term in affinity.required or ()]
        for weighted in affinity.preferred or ():
            if weighted.pod_affinity_term is not None:
                terms.append(self._affinity_term(weighted.pod_affinity_term, weighted.weight))
        return tuple(terms)

    def _affinity_term(self, term: wire.PodAffinityTerm, weight: int) -> model.PodAffinityTerm:
        return model.PodAffinityTerm(
            label_selector=self._selector(term.label_selector),
            topology_key=term.topology_key,
            namespaces=tuple(term.namespaces or ()),
            namespace_selector=self._selector(term.namespace_selector),
            match_label_keys=tuple(term.match_label_keys or ()),
            mismatch_label_keys=tuple(term.mismatch_label_keys or ()),
            weight=weight,
        )

    def _spread(self, constraint: wire.TopologySpreadConstraint) -> model.TopologySpreadConstraint:
        return model.TopologySpreadConstraint(
            max_skew=constraint.max_skew,
            topology_key=constraint.topology_key,
            when_unsatisfiable=constraint.when_unsatisfiable,
            label_selector=self._selector(constraint.label_selector),
            min_domains=constraint.min_domains,
            node_affinity_policy=constraint.node_affinity_policy or "Honor",
            node_taints_policy=constraint.node_taints_policy or "Ignore",
            match_label_keys=tuple(constraint.match_label_keys or ()),
        )

    def _selector(self, selector: wire.LabelSelector | None) -> model.LabelSelector | None:
        if selector is None:
            return None
        return model.LabelSelector(
            match_labels=self._label_map(selector.match_labels),
            match_expressions=_requirements(selector.match_expressions),
        )

    # ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────
    def template(self, template: wire.PodTemplate | None) -> model.Template:
        """The record of a pod template; `manifest` is what was kept of it."""
        given = template or wire.PodTemplate()
        metadata = given.metadata or wire.Metadata()
        kept = wire.PodTemplate(
            metadata=wire.Metadata(labels=metadata.labels, annotations=metadata.annotations),
            spec=_cut(given.spec or wire.PodSpec()),
        )
        if template is not None:
            template.metadata = kept.metadata  # so that the digest is made of the same content
        manifest = wire.encode(kept)
        known = self._templates.get(manifest)
        if known is None:
            assert kept.spec is not None
            known = self._templates[manifest] = model.Template(
                labels=self._label_map(metadata.labels),
                spec=self.pod_spec(kept.spec),
                annotations=_annotations(metadata),
                manifest=manifest,
            )
        return known

    def workload(self, kind: str, workload: wire.Workload) -> model.Workload:
        """The record of a Deployment, StatefulSet, DaemonSet or Job."""
        metadata = _metadata(workload)
        spec = workload.spec or wire.WorkloadSpec()
        status = workload.status or wire.WorkloadStatus()
        conditions = {c.type: f"{c.status}/{c.reason or ''}" for c in status.conditions or ()}
        is_daemon_set, is_job = kind == "DaemonSet", kind == "Job"
        name = metadata.name or ""
        return model.Workload(
            kind=kind,
            namespace=self._text(metadata.namespace or "default"),
            name=name,
            uid=metadata.uid or "",
            generation=metadata.generation or 0,
            labels=self._label_map(metadata.labels),
            annotations=_annotations(metadata),
            created_at=self._seconds(metadata.creation_timestamp),
            replicas=_replicas(kind, spec),
            selector=self._selector(spec.selector) or _default_selector(kind, name, spec),
            template=self.template(spec.template),
            strategy=_strategy(kind, spec),
            min_ready_seconds=spec.min_ready_seconds or 0,
            progress_deadline_seconds=(
                _or(spec.progress_deadline_seconds, DEFAULT_PROGRESS_DEADLINE_SECONDS) if kind == "Deployment" else None
            ),
            revision_history_limit=_or(spec.revision_history_limit, 10),
            is_paused=bool(spec.paused) or bool(spec.suspend),
            pod_management_policy=spec.pod_management_policy or "OrderedReady",
            service_name=spec.service_name or "",
            start_ordinal=(spec.ordinals.start or 0) if spec.ordinals else 0,
            claim_templates=tuple(
                (claim.metadata.name or "") for claim in spec.volume_claim_templates or () if claim.metadata
            ),
            current_revision=status.current_revision or "",
            update_revision=status.update_revision or "",
            observed_generation=status.observed_generation,
            status_replicas=_or(
                status.desired_number_scheduled if is_daemon_set else status.active if is_job else status.replicas, 0
            ),
            ready_replicas=_or(
                status.number_ready if is_daemon_set else status.ready if is_job else status.ready_replicas, 0
            ),
            available_replicas=_or(status.number_available if is_daemon_set else status.available_replicas, 0),
            updated_replicas=_or(status.updated_number_scheduled if is_daemon_set else status.updated_replicas, 0),
            completions=spec.completions if spec.completions is not None else _default_completions(kind, spec),
            backoff_limit=_or(spec.backoff_limit, DEFAULT_JOB_BACKOFF_LIMIT) if is_job else None,
            active_deadline_seconds=spec.active_deadline_seconds,
            is_finished=is_job and any(conditions.get(t, "").startswith("True") for t in ("Complete", "Failed")),
            owner=self._owner(metadata),
            conditions=self._label_map(conditions),
        )

    def _replica_set(self, replica_set: wire.Workload) -> model.ReplicaSet:
        metadata = _metadata(replica_set)
        spec = replica_set.spec or wire.WorkloadSpec()
        status = replica_set.status or wire.WorkloadStatus()
        return model.ReplicaSet(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            uid=metadata.uid or "",
            labels=self._label_map(metadata.labels),
            annotations=_annotations(metadata),
            owner=self._owner(metadata),
            created_at=self._seconds(metadata.creation_timestamp),
            replicas=_or(spec.replicas, 1),
            selector=self._selector(spec.selector) or _default_selector("ReplicaSet", metadata.name or "", spec),
            template=self.template(spec.template),
            min_ready_seconds=spec.min_ready_seconds or 0,
            status_replicas=status.replicas or 0,
            ready_replicas=status.ready_replicas or 0,
            available_replicas=status.available_replicas or 0,
        )

    # ── nodes, namespaces, policy ────────────────────────────────────────────────────────────────────────────────────
    def _node(self, node: wire.Node) -> model.Node:
        metadata = _metadata(node)
        spec, status = node.spec or wire.NodeSpec(), node.status or wire.NodeStatus()
        images = {name: image.size_bytes or 0 for image in status.images or () for name in image.names or ()}
        for condition in status.conditions or ():
            self._seconds(condition.last_heartbeat_time)
            condition.last_heartbeat_time = None  # tells when the snapshot was taken, and nothing else
        return model.Node(
            name=self._text(metadata.name),
            uid=metadata.uid or "",
            labels=self._label_map(metadata.labels),
            annotations=_annotations(metadata),
            taints=tuple(_taint(taint) for taint in spec.taints or ()),
            is_cordoned=bool(spec.unschedulable),
            allocatable=self._amount_map(status.allocatable),
            capacity=self._amount_map(status.capacity),
            conditions=self._label_map({c.type: c.status for c in status.conditions or ()}),
            images=FrozenMap(images) if images else EMPTY,
            provider_id=spec.provider_id or "",
            kubelet_version=self._text(status.node_info.kubelet_version) if status.node_info else "",
            created_at=self._seconds(metadata.creation_timestamp),
        )

    def _namespace(self, namespace: wire.Namespace) -> model.Namespace:
        metadata = _metadata(namespace)
        return model.Namespace(name=metadata.name or "", labels=self._label_map(metadata.labels))

    def _budget(self, budget: wire.PodDisruptionBudget) -> model.PodDisruptionBudget:
        metadata = _metadata(budget)
        spec, status = budget.spec or wire.BudgetSpec(), budget.status or wire.BudgetStatus()
        return model.PodDisruptionBudget(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            selector=self._selector(spec.selector),
            min_available=spec.min_available,
            max_unavailable=spec.max_unavailable,
            unhealthy_pod_eviction_policy=spec.unhealthy_pod_eviction_policy or "IfHealthyBudget",
            disruptions_allowed=status.disruptions_allowed or 0,
            current_healthy=status.current_healthy or 0,
            desired_healthy=status.desired_healthy or 0,
            expected_pods=status.expected_pods or 0,
        )

    def _priority_class(self, priority_class: wire.PriorityClass) -> model.PriorityClass:
        return model.PriorityClass(
            name=_metadata(priority_class).name or "",
            value=priority_class.value,
            is_global_default=bool(priority_class.global_default),
            preemption_policy=priority_class.preemption_policy or "PreemptLowerPriority",
        )

    def _quota(self, quota: wire.ResourceQuota) -> model.ResourceQuota:
        metadata = _metadata(quota)
        spec = quota.spec or wire.QuotaSpec()
        terms = (spec.scope_selector.match_expressions or ()) if spec.scope_selector else ()
        return model.ResourceQuota(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            hard=self._amount_map(spec.hard),
            used=self._amount_map(quota.status.used) if quota.status else EMPTY,
            scopes=tuple(spec.scopes or ()),
            scope_selector=tuple(
                model.Requirement(key=t.scope_name, operator=t.operator, values=tuple(t.values or ())) for t in terms
            ),
        )

    def _limit_range(self, limit_range: wire.LimitRange) -> model.LimitRange:
        metadata = _metadata(limit_range)
        items = (limit_range.spec.limits or ()) if limit_range.spec else ()
        return model.LimitRange(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            items=tuple(self._limit_range_item(item) for item in items),
        )

    def _limit_range_item(self, item: wire.LimitRangeItem) -> model.LimitRangeItem:
        """Defaults follow from one another as in `SetDefaults_LimitRangeItem` (Container items only)."""
        maximum, minimum = self._amount_map(item.max), self._amount_map(item.min)
        limits, requests = dict(self._amount_map(item.default)), dict(self._amount_map(item.default_request))
        if item.type == "Container":
            limits = {**maximum, **limits}
            requests = {**minimum, **limits, **requests}
        ratios = {name: float(quantity.parse_decimal(str(q))) for name, q in (item.max_limit_request_ratio or {}).items()}
        return model.LimitRangeItem(
            kind=item.type,
            minimum=minimum,
            maximum=maximum,
            default_limits=FrozenMap(limits),
            default_requests=FrozenMap(requests),
            max_limit_request_ratio=FrozenMap(ratios),
        )

    # ── storage ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _volume(self, volume: wire.PersistentVolume) -> model.PersistentVolume:
        metadata = _metadata(volume)
        spec = volume.spec or wire.PersistentVolumeSpec()
        claim = spec.claim_ref
        return model.PersistentVolume(
            name=metadata.name or "",
            labels=self._label_map(metadata.labels),
            node_affinity=_terms(spec.node_affinity.required) if spec.node_affinity else None,
            claim=(claim.namespace or "default", claim.name or "") if claim else None,
            storage_class_name=spec.storage_class_name or "",
            capacity_bytes=self._amount_map(spec.capacity).get("storage", 0),
            access_modes=tuple(spec.access_modes or ()),
            phase=(volume.status.phase or "") if volume.status else "",
            csi_driver=spec.csi.driver if spec.csi else "",
            is_local=spec.local is not None,
        )

    def _volume_claim(self, claim: wire.PersistentVolumeClaim) -> model.PersistentVolumeClaim:
        metadata = _metadata(claim)
        spec = claim.spec or wire.PersistentVolumeClaimSpec()
        requests = self._amount_map(spec.resources.requests) if spec.resources else EMPTY
        return model.PersistentVolumeClaim(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            volume_name=spec.volume_name or "",
            storage_class_name=spec.storage_class_name,
            requested_bytes=requests.get("storage", 0),
            access_modes=tuple(spec.access_modes or ()),
            phase=(claim.status.phase or "") if claim.status else "",
        )

    def _storage_class(self, storage_class: wire.StorageClass) -> model.StorageClass:
        terms = []
        for topology in storage_class.allowed_topologies or ():
            expressions = tuple(
                model.Requirement(key=e.key, operator="In", values=tuple(e.values or ()))
                for e in topology.match_label_expressions or ()
            )
            terms.append(model.NodeSelectorTerm(match_expressions=expressions))
        return model.StorageClass(
            name=_metadata(storage_class).name or "",
            provisioner=storage_class.provisioner or "",
            volume_binding_mode=storage_class.volume_binding_mode or "Immediate",
            allowed_topologies=tuple(terms),
        )

    # ── devices ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _device_class(self, device_class: wire.DeviceClass) -> model.DeviceClass:
        spec = device_class.spec or wire.DeviceClassSpec()
        return model.DeviceClass(
            name=_metadata(device_class).name or "",
            selectors=_cel(spec.selectors),
            extended_resource_name=spec.extended_resource_name or "",
        )

    def _resource_slice(self, resource_slice: wire.ResourceSlice) -> model.ResourceSlice:
        spec = resource_slice.spec or wire.ResourceSliceSpec()
        pool = spec.pool or wire.ResourcePool()
        terms = _terms(spec.node_selector) if spec.node_selector else ()
        return model.ResourceSlice(
            name=_metadata(resource_slice).name or "",
            driver=spec.driver,
            pool=pool.name,
            generation=pool.generation or 0,
            slice_count=_or(pool.resource_slice_count, 1),
            node_name=self._text(spec.node_name),
            all_nodes=bool(spec.all_nodes),
            node_selector=terms[0] if terms else None,
            devices=tuple(_device(one) for one in spec.devices or ()),
        )

    def _resource_claim(self, claim: wire.ResourceClaim) -> model.ResourceClaim:
        metadata = _metadata(claim)
        status = claim.status or wire.ClaimStatus()
        allocation = status.allocation
        results = (allocation.devices.results or ()) if allocation and allocation.devices else ()
        selector = allocation.node_selector if allocation else None
        return model.ResourceClaim(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            spec=_claim_spec(claim.spec),
            owner=self._owner(metadata),
            allocated=tuple((one.driver, one.pool, one.device) for one in results),
            node_selector=_terms(selector) if selector else None,
            reserved_for=tuple(user.uid or "" for user in status.reserved_for or ()),
        )

    def _claim_template(self, template: wire.ResourceClaimTemplate) -> model.ResourceClaimTemplate:
        metadata = _metadata(template)
        return model.ResourceClaimTemplate(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            spec=_claim_spec(template.spec.spec if template.spec else None),
        )

    # ── events, metrics ──────────────────────────────────────────────────────────────────────────────────────────────
    def _event(self, event: wire.Event) -> model.Event:
        metadata = _metadata(event)
        about = event.involved_object or event.regarding or wire.ObjectReference()
        series = event.series or wire.EventSeries()
        source = event.source or event.deprecated_source or wire.EventSource()
        first = event.first_timestamp or event.deprecated_first_timestamp or event.event_time
        last = event.last_timestamp or event.deprecated_last_timestamp or series.last_observed_time or event.event_time
        return model.Event(
            namespace=self._text(metadata.namespace or about.namespace or "default"),
            object_kind=self._text(about.kind),
            object_name=about.name or "",
            object_uid=about.uid or "",
            kind=self._text(event.type) or "Normal",
            reason=self._text(event.reason),
            message=self._text(event.message or event.note),
            count=event.count or event.deprecated_count or series.count or 1,
            first_seen_at=self._seconds(first or metadata.creation_timestamp),
            last_seen_at=self._seconds(last or metadata.creation_timestamp),
            component=self._text(source.component or event.reporting_component or event.reporting_controller),
        )

    def _pod_metrics(self, metrics: wire.PodMetrics) -> model.PodMetrics:
        metadata = _metadata(metrics)
        containers = []
        for one in metrics.containers or ():
            usage = self._amount_map(one.usage)
            containers.append(
                model.ContainerMetrics(
                    container=one.name, cpu_millicores=usage.get("cpu", 0), working_set_bytes=usage.get("memory", 0)
                )
            )
        return model.PodMetrics(
            namespace=self._text(metadata.namespace or "default"),
            name=metadata.name or "",
            taken_at=self._seconds(metrics.timestamp),
            window_seconds=_duration_seconds(metrics.window),
            containers=tuple(containers),
        )


_READERS: dict[str, Callable[[Reader, Any], Any]] = {
    "Node": Reader._node,
    "Namespace": Reader._namespace,
    "ReplicaSet": Reader._replica_set,
    "PodDisruptionBudget": Reader._budget,
    "PriorityClass": Reader._priority_class,
    "ResourceQuota": Reader._quota,
    "LimitRange": Reader._limit_range,
    "PersistentVolume": Reader._volume,
    "PersistentVolumeClaim": Reader._volume_claim,
    "StorageClass": Reader._storage_class,
    "DeviceClass": Reader._device_class,
    "ResourceSlice": Reader._resource_slice,
    "ResourceClaim": Reader._resource_claim,
    "ResourceClaimTemplate": Reader._claim_template,
    "Event": Reader._event,
    "PodMetrics": Reader._pod_metrics,
}

_NO_STATE = ("", "", "", None, None, None, None)
_NO_AFFINITY = wire.Affinity()
_NO_RESOURCES = wire.Resources()
_FORMS = frozenset(form.value for form in CommandForm)


# ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _kind_of(item: Item, part: Part) -> tuple[str, str]:
    """(kind, API version) of an item; kubectl writes them first, and then only these two are looked at."""
    if isinstance(item, dict):
        kind, api_version = item.get("kind"), item.get("apiVersion")
    elif (head := _HEAD.match(item)) is not None:
        return head[2].decode(), head[1].decode()
    else:
        decoded = msgspec.json.decode(item, type=wire.Head)
        kind, api_version = decoded.kind, decoded.api_version
    return str(kind or part.kind), str(api_version or part.api_version)


def _is_known(kind: str, api_version: str) -> bool:
    """Whether the planner reads this kind; a kind of the same name from another API group is another kind."""
    if kind not in wire.KINDS:
        return False
    group = api_version.rpartition("/")[0]
    if kind == "Event":
        return group in ("", "events.k8s.io")
    return group == wire.API_GROUPS.get(kind, "") or not api_version


def _object_name(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


def _unreadable(item: Item, part: Part, index: int, error: Exception) -> Finding:
    """The problem an item that can't be read is reported as."""
    name = ""
    try:
        loose = dict(item) if isinstance(item, dict) else msgspec.json.decode(item)
        kind, _ = _kind_of(loose, part)
        metadata = loose.get("metadata") or {}
        namespace = "" if kind in _CLUSTER_KINDS else str(metadata.get("namespace") or "default")
        if metadata.get("name"):
            name = _object_name(kind, namespace, str(metadata["name"]))
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError, RecursionError):
        pass
    what = f"{error.what}" if isinstance(error, InputError) else str(error).replace(" - at `$.", " at `")
    place = f"item {index + 1}" + (f" of {part.where}" if part.where else "")
    return Finding(
        severity=Severity.ERROR,
        code="object-unreadable",
        object=name,
        what=f"{place} was left out: {what}",
        mend="Correct the field, or write the dump again with kubectl get -o json",
    )


def _metadata(decoded: wire.Object) -> wire.Metadata:
    metadata = decoded.metadata
    if metadata is None or not (metadata.name or metadata.generate_name):
        raise InputError("it has no metadata.name")
    if metadata.name is None:
        metadata.name = metadata.generate_name
    return metadata


def _annotations(metadata: wire.Metadata) -> Labels:
    if metadata.annotations is None:
        return EMPTY
    kept = {}
    for attribute, key in wire.ANNOTATION_FIELDS.items():
        if (value := getattr(metadata.annotations, attribute)) is not None:
            kept[key] = value
    return FrozenMap(kept) if kept else EMPTY


def _cut(spec: wire.PodSpec) -> wire.PodSpec:
    """`spec` without commands' text (`Container.start` says what matters) and without the token volume of each pod."""
    for containers in (spec.containers, spec.init_containers):
        for container in containers or ():
            if container.command is not None or container.args is not None:
                form, program = start_of(container.command or (), container.args or ())
                container.start = f"{form} {program}".rstrip()
                container.command = container.args = None
    if spec.volumes:
        spec.volumes = [v for v in spec.volumes if not v.name.startswith(_MOUNTED_BY_ADMISSION)] or None
    return spec


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _seconds_or_none(moment: datetime | None) -> float | None:
    return None if moment is None else _seconds(moment)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _amount(text: str | int | float, resource: str) -> int:
    try:
        return quantity.parse(text, resource)
    except QuantityError as error:
        raise QuantityError(f"{resource}: {error.what}", mend=error.mend) from None


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_DURATION_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _duration_seconds(text: str | None) -> float:
    """Go's ``time.Duration`` text (``"1m30s"``) in seconds; 0 when there is none."""
    return sum(float(number) * _DURATION_SECONDS[unit] for number, unit in _DURATION.findall(text or ""))


# ── parts of pods ────────────────────────────────────────────────────────────────────────────────────────────────────
def _requirements(requirements: list[wire.Requirement] | None) -> tuple[model.Requirement, ...]:
    return tuple(
        model.Requirement(key=one.key, operator=one.operator, values=tuple(one.values or ()))
        for one in requirements or ()
    )


def _term(term: wire.NodeSelectorTerm | None) -> model.NodeSelectorTerm:
    if term is None:
        return model.NodeSelectorTerm()
    return model.NodeSelectorTerm(
        match_expressions=_requirements(term.match_expressions), match_fields=_requirements(term.match_fields)
    )


def _terms(selector: wire.NodeSelector | None) -> tuple[model.NodeSelectorTerm, ...]:
    return tuple(_term(term) for term in selector.node_selector_terms or ()) if selector else ()


def _node_affinity(affinity: wire.NodeAffinity | None) -> model.NodeAffinity:
    if affinity is None:
        return _NO_NODE_AFFINITY
    return model.NodeAffinity(
        required=_terms(affinity.required) if affinity.required else None,
        preferred=tuple(
            model.PreferredTerm(weight=one.weight, term=_term(one.preference)) for one in affinity.preferred or ()
        ),
    )


_NO_NODE_AFFINITY = model.NodeAffinity()


def _tolerations(tolerations: list[wire.Toleration]) -> tuple[model.Toleration, ...]:
    return tuple(_toleration(one) for one in tolerations)


def _toleration(toleration: wire.Toleration) -> model.Toleration:
    return model.Toleration(
        key=toleration.key or "",
        operator=toleration.operator or "Equal",
        value=toleration.value or "",
        effect=toleration.effect or "",
        toleration_seconds=toleration.toleration_seconds,
    )


def _taint(taint: wire.Taint) -> model.Taint:
    return model.Taint(key=taint.key, value=taint.value or "", effect=taint.effect)


def _host_ports(ports: list[wire.ContainerPort] | None, host_network: bool) -> tuple[model.HostPort, ...]:
    """Ports taken on the node; with hostNetwork every container port is one (`defaultHostNetworkPorts`)."""
    taken = []
    for port in ports or ():
        number = port.host_port or (port.container_port if host_network else None)
        if number:
            taken.append(
                model.HostPort(port=number, protocol=port.protocol or "TCP", host_ip=port.host_ip or "0.0.0.0")
            )
    return tuple(taken)


def _probe(probe: wire.Probe | None) -> model.Probe | None:
    if probe is None:
        return None
    handler = "http" if probe.http_get else "tcp" if probe.tcp_socket else "grpc" if probe.grpc else "exec"
    return model.Probe(
        handler=handler,
        initial_delay_seconds=probe.initial_delay_seconds or 0,
        timeout_seconds=probe.timeout_seconds or 1,
        period_seconds=probe.period_seconds or 10,
        success_threshold=probe.success_threshold or 1,
        failure_threshold=probe.failure_threshold or 3,
    )


def effective_container_requests(
    containers: tuple[model.Container, ...], init_containers: tuple[model.Container, ...], resource: str
) -> int:
    """What the containers of a pod need of `resource` at the same time, at most.

    Source: component-helpers `resource/helpers.go` `AggregateContainerRequests`: sidecars add to everything after
    them; an ordinary init container counts with the sidecars started before it.
    """
    sidecars = highest = 0
    for container in init_containers:
        amount = container.requests.get(resource, 0)
        if container.restart_policy == "Always":
            sidecars += amount
            highest = max(highest, sidecars)
        else:
            highest = max(highest, sidecars + amount)
    return max(highest, sidecars + sum(container.requests.get(resource, 0) for container in containers))


_SOURCES: dict[str, str] = {
    info.name: info.encode_name for info in msgspec.structs.fields(wire.Volume) if info.name != "name"
}


def _volume(volume: wire.Volume) -> model.Volume:
    claim, ephemeral, empty = volume.persistent_volume_claim, volume.ephemeral, volume.empty_dir
    if claim is not None:
        return model.Volume(
            name=volume.name,
            kind="persistentVolumeClaim",
            claim_name=claim.claim_name,
            read_only=bool(claim.read_only),
        )
    if ephemeral is not None:
        template = ephemeral.volume_claim_template
        storage_class = template.spec.storage_class_name if template and template.spec else None
        return model.Volume(name=volume.name, kind="ephemeral", storage_class_name=storage_class)
    if empty is not None:
        size = empty.size_limit
        return model.Volume(
            name=volume.name,
            kind="emptyDir",
            medium=empty.medium or "",
            size_limit_bytes=None if size is None else _amount(size, "sizeLimit"),
        )
    for attribute, kind in _SOURCES.items():
        source = getattr(volume, attribute)
        if source is not None:
            return model.Volume(
                name=volume.name,
                kind=kind,
                disk_id=_disk_id(source),
                read_only=bool(getattr(source, "read_only", False)),
            )
    return model.Volume(name=volume.name, kind="emptyDir")


def _disk_id(source: Any) -> str:
    """What identifies a disk that only one pod may write to (kube-scheduler `volumerestrictions`)."""
    match source:
        case wire.GcePersistentDisk():
            return source.pd_name
        case wire.AwsElasticBlockStore():
            return source.volume_id
        case wire.AzureDisk():
            return source.disk_uri
        case wire.Rbd():
            return f"{source.pool or 'rbd'}/{source.image}"
        case wire.Iscsi():
            return source.iqn
    return ""


def _pod_claim(claim: wire.PodResourceClaim) -> model.PodClaim:
    given = claim.source or claim
    return model.PodClaim(
        name=claim.name,
        resource_claim_name=given.resource_claim_name,
        resource_claim_template_name=given.resource_claim_template_name,
    )


# ── parts of workloads ───────────────────────────────────────────────────────────────────────────────────────────────
def _replicas(kind: str, spec: wire.WorkloadSpec) -> int:
    if kind == "DaemonSet":
        return 0
    return _or(spec.parallelism if kind == "Job" else spec.replicas, 1)


def _default_completions(kind: str, spec: wire.WorkloadSpec) -> int | None:
    """A Job that gives neither completions nor parallelism needs one completion (`SetDefaults_Job`)."""
    return 1 if kind == "Job" and spec.parallelism is None else None


def _default_selector(kind: str, name: str, spec: wire.WorkloadSpec) -> model.LabelSelector:
    """A Job's selector is made by the API server; the others must give one, which then is the template's labels."""
    if kind == "Job":
        return model.LabelSelector(match_labels=FrozenMap({"batch.kubernetes.io/job-name": name}))
    metadata = spec.template.metadata if spec.template else None
    labels = (metadata.labels or {}) if metadata else {}
    if not labels:
        raise InputError("it has neither a selector nor labels on its pod template")
    return model.LabelSelector(match_labels=FrozenMap(labels))


def _strategy(kind: str, spec: wire.WorkloadSpec) -> model.Strategy:
    """The update strategy with its defaults.

    Deployment: RollingUpdate, 25 % and 25 %. DaemonSet: RollingUpdate, 1 unavailable, no surge. StatefulSet:
    RollingUpdate from partition 0, 1 unavailable. Job: has none.
    """
    given = (spec.strategy if kind == "Deployment" else spec.update_strategy) or wire.Strategy()
    if kind not in WORKLOAD_KINDS or kind == "Job":
        return model.Strategy()
    type_ = given.type or "RollingUpdate"
    if type_ != "RollingUpdate":
        return model.Strategy(kind=type_)
    rolling = given.rolling_update or wire.RollingUpdate()
    surge, unavailable = {
        "Deployment": ("25%", "25%"),
        "DaemonSet": (0, 1),
        "StatefulSet": (None, 1),
    }[kind]
    return model.Strategy(
        kind=type_,
        max_surge=surge if rolling.max_surge is None else rolling.max_surge,
        max_unavailable=unavailable if rolling.max_unavailable is None else rolling.max_unavailable,
        partition=rolling.partition or 0,
    )


# ── parts of devices ─────────────────────────────────────────────────────────────────────────────────────────────────
def _cel(selectors: list[wire.DeviceSelector] | None) -> tuple[str, ...]:
    return tuple(one.cel.expression for one in selectors or () if one.cel)


def _device(device: wire.Device) -> model.Device:
    body = device.basic or device
    attributes: dict[str, str | int | bool] = {}
    for name, attribute in (body.attributes or {}).items():
        for value in (attribute.bool_, attribute.int_, attribute.string, attribute.version):
            if value is not None:
                attributes[name] = value
    capacity = {
        name: _amount(given if isinstance(given, str) else given.value, name)
        for name, given in (body.capacity or {}).items()
    }
    is_complex = bool(
        body.consumes_counters
        or body.allow_multiple_allocations
        or body.node_name
        or body.node_selector is not None
        or body.all_nodes
        or body.binding_conditions
    )
    return model.Device(
        name=device.name,
        attributes=FrozenMap(attributes),
        capacity=FrozenMap(capacity),
        taints=tuple(_taint(taint) for taint in body.taints or ()),
        is_complex=is_complex,
    )


def _claim_spec(spec: wire.ClaimSpec | None) -> model.ClaimSpec:
    devices = (spec.devices if spec else None) or wire.DeviceClaim()
    return model.ClaimSpec(
        requests=tuple(_device_request(one) for one in devices.requests or ()),
        has_constraints=bool(devices.constraints),
    )


def _device_request(request: wire.DeviceRequest) -> model.DeviceRequest:
    exact = request.exactly or request
    return model.DeviceRequest(
        name=request.name,
        device_class_name=exact.device_class_name or "",
        selectors=_cel(exact.selectors),
        allocation_mode=exact.allocation_mode or "ExactCount",
        count=_or(exact.count, 1),
        is_admin=bool(exact.admin_access),
        tolerations=_tolerations(exact.tolerations or []),
        is_complex=bool(request.first_available) or exact.capacity is not None,
    )
