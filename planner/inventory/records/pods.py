"""Reads pods and pod specs into records, with the defaults of kubernetes `pkg/apis/core/v1/defaults.go`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from planner.ground import quantity, typed_json
from planner.ground.errors import QuantityError
from planner.ground.records import replace
from planner.ground.well_known_names import CPU, DEFAULT_NAMESPACE, DEFAULT_SCHEDULER, HUGE_PAGES, MEMORY
from planner.inventory import api_types
from planner.inventory.container_entrypoint import read_start, slept_seconds, start_of, written_start
from planner.inventory.log_secret_masking import said, without_login
from planner.inventory.records.read_context import (
    ReadObject,
    Shared,
    amount,
    amount_or_none,
    annotations_of,
    given,
    metadata_of,
    read_owner,
    seconds_of,
)
from planner.inventory.records.selectors import (
    read_selector,
    read_term,
    read_terms,
    read_tolerations,
)
from planner.inventory.records.storage import read_claim_template
from planner.inventory.redacted_value_digests import is_sealed
from planner.kubernetes import name_validation
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap, Labels
from planner.kubernetes.pod_properties import system_directory
from planner.kubernetes.requests import at_once
from planner.kubernetes.requests import pod_requests as pod_requests_of
from planner.kubernetes.status_reasons import RUNTIME_MESSAGES

DEFAULT_GRACE_SECONDS = 30
MOUNTED_BY_ADMISSION = "kube-api-access-"  # volume the ServiceAccount admission plugin adds, named anew for each pod
_NO_STATE = ("", "", "", None, None, None, None)
_NO_AFFINITY = api_types.Affinity()
_NO_RESOURCES = api_types.Resources()
_NO_SECURITY = api_types.SecurityContext()
_NO_NODE_AFFINITY = model.NodeAffinity()
_SOURCES: dict[str, str] = {
    info.name: info.encode_name for info in msgspec.structs.fields(api_types.Volume) if info.name != "name"
}


class KnownSpec(NamedTuple):
    """A pod's spec without the node that it is bound to, and without an affinity for one node (`taken_out`).

    `digest` is that of what is kept of it. `asked` has the containers, with what they ask for.
    """

    record: model.PodSpec
    digest: bytes
    asked: api_types.PodSpec


def read_pod(shared: Shared, pod: api_types.Pod) -> ReadObject:
    """A Pod; its command text and its token volume are dropped from `pod` as well, and in the end its spec."""
    metadata = metadata_of(pod)
    spec = pod.spec or api_types.PodSpec()
    status = pod.status or api_types.PodStatus()
    for holder, counted in [*allocated(spec, status)]:
        holder.resources = counted
    node_name, spec.node_name = spec.node_name, None  # all pods of a template share one spec
    name_validation.check_reference("spec.nodeName", node_name)
    affinity = taken_out(spec)
    cached_spec = known_spec(shared, cut(spec))
    pod.spec = None
    nodes = api_types.encode(affinity.node_affinity) if affinity is not None else b""
    labels, owner = shared.labels(metadata.labels), read_owner(shared, metadata.owner_references)
    return finished(shared, pod, metadata, status, cached_spec, nodes, node_name, shared.seconds, labels, owner)


def known_spec(shared: Shared, spec: api_types.PodSpec) -> KnownSpec:
    """What is read of `spec`, already cut down by `cut`."""
    return shared.once_written(
        "pod", api_types.encode(spec), lambda text: KnownSpec(read_pod_spec(shared, spec), api_types.digest(text), spec)
    )


def finished(
    shared: Shared,
    pod: api_types.Object,
    metadata: api_types.Metadata,
    status: api_types.PodStatus,
    cached_spec: KnownSpec,
    nodes: bytes,
    node_name: str | None,
    seconds: Callable[[Any], float | None],
    labels: Labels,
    owner: model.Owner | None,
) -> ReadObject:
    """The record of `pod`, which has lost its spec: that is `cached_spec`, for the nodes of the affinity that `nodes` is the text of,
    where it isn't empty, and bound to `node_name`. `seconds` reads its times."""
    pod_spec = cached_spec.record
    # A DaemonSet's pods share one spec but for the node that each is tied to: only that term is put in anew.
    if nodes:
        pod_spec = shared.pod_specs.get((id(pod_spec), nodes)) or _elsewhere(shared, pod_spec, nodes)
    text = shared.text
    ready_at = scheduled_at = None
    is_ready, unschedulable_message = False, ""
    for condition in status.conditions or ():
        since, kind = seconds(condition.last_transition_time), condition.type
        if kind == "Ready":
            is_ready, ready_at = condition.status == "True", since
        elif kind == "PodScheduled":
            if condition.status == "True":
                scheduled_at = since
            elif condition.reason == "Unschedulable":
                unschedulable_message = said(condition.message or "")
    claims = status.resource_claim_statuses
    deleted_at = seconds_of(metadata.deletion_timestamp) if metadata.deletion_timestamp else None
    grace = metadata.deletion_grace_period_seconds
    record = model.Pod(
        namespace=text(metadata.namespace or DEFAULT_NAMESPACE), name=metadata.name or "", uid=metadata.uid or "", labels=labels,
        spec=pod_spec, owner=owner, annotations=annotations_of(metadata), created_at=seconds(metadata.creation_timestamp),
        deleted_at=deleted_at, deletion_asked_at=None if deleted_at is None or grace is None else deleted_at - grace,
        node_name=text(node_name),
        nominated_node_name=text(status.nominated_node_name), phase=text(status.phase) or "Pending", is_ready=is_ready,
        ready_at=ready_at, scheduled_at=scheduled_at, unschedulable_message=text(unschedulable_message),
        started_at=seconds(status.start_time), containers=_container_states(status, text, seconds),
        qos_class=text(status.qos_class), reason=text(status.reason), message=said(status.message or ""),
        claim_names=FrozenMap({c.name: c.resource_claim_name or "" for c in claims}) if claims else EMPTY,
    )  # fmt: skip
    content = b"".join((b"Pod", api_types.encode(pod), cached_spec.digest, nodes, (node_name or "").encode()))
    return ReadObject(record=record, digest=api_types.digest(content), metadata=metadata)


def _elsewhere(shared: Shared, spec: model.PodSpec, nodes: bytes) -> model.PodSpec:
    where = shared.node_affinities.get(nodes)
    if where is None:
        where = _node_affinity(typed_json.decode(nodes, api_types.NodeAffinity))
        shared.node_affinities[nodes] = where
    relocated_spec = shared.pod_specs[id(spec), nodes] = replace(spec, node_affinity=where)
    return relocated_spec


def taken_out(spec: api_types.PodSpec) -> api_types.Affinity | None:
    """The affinity of a pod that is for one node, which `spec` then lacks: a DaemonSet's pods differ in that only, so that without it
    they have one spec, which is kept once."""
    affinity = spec.affinity
    required = affinity.node_affinity.required if affinity is not None and affinity.node_affinity is not None else None
    if affinity is None or required is None or affinity.pod_affinity or affinity.pod_anti_affinity:
        return None
    if not any(term.match_fields for term in required.node_selector_terms or ()):
        return None
    spec.affinity = None
    return affinity


def allocated(
    spec: api_types.PodSpec, status: api_types.PodStatus
) -> Iterator[tuple[api_types.PodSpec | api_types.Container, api_types.Resources]]:
    """While a pod is resized in place: whose requests in `spec` (its containers' or its own) don't count, and what does.

    That is the most of what is asked for, what is allocated and what is in force; what is asked for is left out once the
    kubelet has called it infeasible. Source: component-helpers `resource/helpers.go` `determineEffectiveRequests`,
    `PodRequests`.
    """
    if spec.resources is not None and spec.resources.requests and status.resources is not None:
        counted = _effective(spec.resources, status, status)
        if counted is not spec.resources:
            yield spec, counted
    if not _says_resources(status):
        return
    statuses = {
        status_of.name: status_of
        for status_of in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    }
    sidecars = [sidecar for sidecar in spec.init_containers or () if sidecar.restart_policy == "Always"]
    for container in (*(spec.containers or ()), *sidecars):
        container_status = statuses.get(container.name)
        if container_status is not None and container_status.resources is not None and container.resources is not None:
            counted = _effective(container.resources, container_status, status)
            if counted is not container.resources:
                yield container, counted


def is_resized(spec: api_types.PodSpec, status: api_types.PodStatus) -> bool:
    """Whether `allocated` says anything."""
    may_be = status.resources is not None or _says_resources(status)
    return may_be and next(allocated(spec, status), None) is not None


def _says_resources(status: api_types.PodStatus) -> bool:
    for container_status in status.container_statuses or ():
        if container_status.resources is not None:
            return True
    inits = status.init_container_statuses
    return inits is not None and any(init.resources is not None for init in inits)


def _effective(
    resources: api_types.Resources,
    container_status: api_types.ContainerStatus | api_types.PodStatus,
    status: api_types.PodStatus,
) -> api_types.Resources:
    own = resources.requests or {}
    in_force = container_status.resources.requests if container_status.resources else None
    current = [in_force or {}, container_status.allocated_resources or {}]
    if all(amounts == own for amounts in current):
        return resources
    pending = (condition.reason for condition in status.conditions or () if condition.type == "PodResizePending")
    # As kube-scheduler counts a pod that is resized: the most of what it asks for, has and was promised, without what
    # its node can never give it (kubernetes `component-helpers/resource/helpers.go` `determineContainerReqs`).
    if "Infeasible" not in pending:
        current.append(own)
    names = dict.fromkeys(name for amounts in current for name in amounts)
    counted = {
        name: max((amounts[name] for amounts in current if name in amounts), key=partial(amount, resource=name))
        for name in names
    }
    return api_types.Resources(requests=counted, limits=resources.limits, claims=resources.claims)


def _container_states(
    status: api_types.PodStatus, text: Callable[[str | None], str], seconds: Callable[[Any], float | None]
) -> tuple[model.ContainerState, ...]:
    states = []
    for many, is_init in ((status.container_statuses, False), (status.init_container_statuses, True)):
        for status_of in many or ():
            now, before = status_of.state, status_of.last_state
            has_before = before and (before.running or before.waiting or before.terminated)
            if now is not None and now.running is not None and not has_before:
                # nearly all: a field that is given takes its time even where it is its default
                states.append(
                    model.ContainerState(
                        name=text(status_of.name), is_init=is_init, ready=bool(status_of.ready), started=status_of.started,
                        restart_count=status_of.restart_count or 0, state="running", started_at=seconds(now.running.started_at),
                    )
                )  # fmt: skip
                continue
            state, reason, message, exit_code, signal, started_at, finished_at = _state(now, text, seconds)
            last = _state(before, text, seconds)
            states.append(
                model.ContainerState(
                    name=text(status_of.name), is_init=is_init, ready=bool(status_of.ready), started=status_of.started,
                    restart_count=status_of.restart_count or 0, state=state, reason=reason, message=message, exit_code=exit_code,
                    signal=signal, started_at=started_at, finished_at=finished_at, last_state=last[0], last_reason=last[1],
                    last_message=last[2],
                    last_exit_code=last[3], last_signal=last[4], last_started_at=last[5], last_finished_at=last[6],
                )
            )  # fmt: skip
    return tuple(states)


def _state(
    state: api_types.State | None, text: Callable[[str | None], str], seconds: Callable[[Any], float | None]
) -> tuple[str, str, str, int | None, int | None, float | None, float | None]:
    """(state, reason, message, exit code, signal, started at, finished at)."""
    if state is None:
        return _NO_STATE
    if (running := state.running) is not None:
        return ("running", "", "", None, None, seconds(running.started_at), None)
    if (waiting := state.waiting) is not None:
        return ("waiting", text(waiting.reason), text(said(waiting.message or "")), None, None, None, None)
    if (ended := state.terminated) is not None:
        started, finished = seconds(ended.started_at), seconds(ended.finished_at)
        if ended.reason not in RUNTIME_MESSAGES:
            ended.message = None  # a program's own last words (/dev/termination-log, or the end of its log)
        message = text(said(ended.message or ""))
        return ("terminated", text(ended.reason), message, ended.exit_code, ended.signal, started, finished)
    return _NO_STATE


def cut(spec: api_types.PodSpec) -> api_types.PodSpec:
    """`spec` without commands' text (`Container.start` says what matters) and without the token volume of each pod."""
    for containers in (spec.containers, spec.init_containers):
        for container in containers or ():
            if container.command:
                container.start = written_start(*start_of(container.command, container.args or ()))
            elif container.start is not None:
                # Written by Headroom before: commands are gone, and its own note says how they start.
                container.start = written_start(*read_start(container.start))
            container.command = container.args = None
            container.image = without_login(container.image or "") or None
            life = container.lifecycle
            for hook in (life.post_start, life.pre_stop) if life is not None else ():
                if hook is not None and hook.exec is not None and hook.exec.command is not None:
                    hook.exec = api_types.Command(sleeps=slept_seconds(hook.exec.command))
    for volume in spec.volumes or ():
        if (place := volume.host_path) is not None and place.path is not None:
            # A path may name a team or a customer: only a system directory or a digest stays.
            host_directory = place.directory if is_sealed(place.path) else system_directory(place.path)
            volume.host_path = api_types.HostPath(directory=host_directory or None)
    spec.volumes = without_token(spec.volumes)
    return spec


def without_token(volumes: list[api_types.Volume] | None) -> list[api_types.Volume] | None:
    """`volumes` without the one that admission adds."""
    return [volume for volume in volumes or () if not volume.name.startswith(MOUNTED_BY_ADMISSION)] or None


def read_pod_spec(shared: Shared, spec: api_types.PodSpec) -> model.PodSpec:
    """The record of a spec already cut down by `cut`."""
    affinity = spec.affinity or _NO_AFFINITY
    host_network = bool(spec.host_network)
    containers, init_containers = (
        shared.once(
            # The same text reads differently with the node's network: each port is a hostPort there (kubernetes
            # `pkg/apis/core/v1/defaults.go` `defaultHostNetworkPorts`), so that the two are kept apart.
            "host-containers" if host_network else "containers",
            container_list or [],
            lambda many: tuple(_container(shared, container, host_network) for container in many),
        )
        for container_list in (spec.containers, spec.init_containers)
    )
    pod_requests, pod_limits = _pod_level(shared, spec.resources, containers, init_containers)
    for field, name in (
        ("spec.nodeName", spec.node_name),
        ("spec.priorityClassName", spec.priority_class_name),
        ("spec.serviceAccountName", spec.service_account_name),
        ("spec.runtimeClassName", spec.runtime_class_name),
    ):
        name_validation.check_reference(field, name)
    read = model.PodSpec(
        containers=containers,
        init_containers=init_containers,
        overhead=shared.amounts(spec.overhead),
        pod_requests=pod_requests,
        pod_limits=pod_limits,
        node_selector=shared.labels(spec.node_selector),
        node_affinity=_node_affinity(affinity.node_affinity),
        pod_affinity=_pod_affinity(shared, affinity.pod_affinity),
        pod_anti_affinity=_pod_affinity(shared, affinity.pod_anti_affinity),
        topology_spread=tuple(_spread(shared, constraint) for constraint in spec.topology_spread_constraints or ()),
        tolerations=shared.once("tolerations", spec.tolerations or [], read_tolerations),
        node_name=shared.text(spec.node_name),
        priority_class_name=shared.text(spec.priority_class_name),
        priority=spec.priority,
        preemption_policy=spec.preemption_policy,
        host_network=host_network,
        host_pid=bool(spec.host_pid),
        host_ipc=bool(spec.host_ipc),
        host_users=spec.host_users is not False,
        os=(spec.os.name or "") if spec.os else "",
        security=_security(shared, spec.security_context),
        volumes=tuple(_volume(shared, volume) for volume in spec.volumes or ()),
        resource_claims=tuple(_pod_claim(claim) for claim in spec.resource_claims or ()),
        scheduler_name=shared.text(spec.scheduler_name) or DEFAULT_SCHEDULER,
        scheduling_gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        runtime_class_name=shared.text(spec.runtime_class_name),
        restart_policy=shared.text(spec.restart_policy) or "Always",
        termination_grace_period_seconds=given(spec.termination_grace_period_seconds, DEFAULT_GRACE_SECONDS),
        active_deadline_seconds=spec.active_deadline_seconds,
        has_readiness_gates=bool(spec.readiness_gates),
        # Admission writes the name into each pod, and a template seldom has it: both must compare as the same.
        service_account_name="" if spec.service_account_name == "default" else shared.text(spec.service_account_name),
        unmodelled=tuple(_unmodelled(spec)),
    )
    for name, total in pod_requests_of(read).items():
        if total > quantity.LARGEST:
            what = f"the requests of its containers for {name} are more than can be counted"
            raise QuantityError(what, fix="Correct the amounts, or leave the object out")
    return read


def _unmodelled(spec: api_types.PodSpec) -> Iterator[str]:
    """Fields that make a verdict unknown (`planner.inventory.field_coverage`), apart from serviceAccountName, which only does so
    where no pod uses the account yet."""
    if spec.os is not None and spec.os.name != "linux":
        yield "os"
    if spec.readiness_gates:
        yield "readinessGates"
    if spec.scheduling_group is not None:
        yield "schedulingGroup"
    if any(container.restart_policy_rules for container in (*(spec.containers or ()), *(spec.init_containers or ()))):
        yield "restartPolicyRules"


def _container(shared: Shared, container: api_types.Container, host_network: bool) -> model.Container:
    if container.name:
        name_validation.check_dns_label("a container's name", container.name)
    resources = container.resources or _NO_RESOURCES
    limits = shared.amounts(resources.limits)
    requests = shared.amounts(resources.requests)
    if any(name not in requests for name in limits):  # SetDefaults_Pod: a request left out is the limit
        requests = FrozenMap({**limits, **requests})
    form, program = read_start(container.start)
    return model.Container(
        name=container.name,
        image=container.image or "",
        requests=requests,
        limits=limits,
        host_ports=_host_ports(container.ports, host_network),
        restart_policy=container.restart_policy,
        command_form=form,
        program=program,
        startup_probe=_probe(container.startup_probe),
        readiness_probe=_probe(container.readiness_probe),
        liveness_probe=_probe(container.liveness_probe),
        has_pre_stop=container.lifecycle is not None and container.lifecycle.pre_stop is not None,
        pre_stop_seconds=_pre_stop_seconds(container.lifecycle),
        resource_claims=tuple(claim.name for claim in resources.claims or ()),
        security=_security(shared, container.security_context),
        handler_hosts=_handler_hosts(container),
    )


def _pre_stop_seconds(lifecycle: api_types.Lifecycle | None) -> int | None:
    hook = lifecycle.pre_stop if lifecycle is not None else None
    if hook is None:
        return None
    return hook.exec.sleeps if hook.exec is not None else hook.sleep.seconds if hook.sleep is not None else None


def _security(shared: Shared, context: api_types.SecurityContext | None) -> model.SecurityContext:
    if context is None or context == _NO_SECURITY:
        return model.NO_SECURITY_CONTEXT
    return shared.once("security", context, _security_context)


def _security_context(context: api_types.SecurityContext) -> model.SecurityContext:
    capabilities, options = context.capabilities or api_types.Capabilities(), context.se_linux_options
    return model.SecurityContext(
        is_privileged=bool(context.privileged),
        may_escalate=context.allow_privilege_escalation,
        added_capabilities=tuple(capabilities.add or ()),
        dropped_capabilities=tuple(capabilities.drop or ()),
        proc_mount=context.proc_mount,
        run_as_non_root=context.run_as_non_root,
        run_as_user=context.run_as_user,
        seccomp=None if context.seccomp_profile is None else context.seccomp_profile.type or "",
        app_armor=None if context.app_armor_profile is None else context.app_armor_profile.type or "",
        se_linux=None if options is None else (options.type or "", options.user or "", options.role or ""),
        is_host_process=bool(context.windows_options and context.windows_options.host_process),
        sysctls=tuple(sysctl.name for sysctl in context.sysctls or ()),
    )


def _handler_hosts(container: api_types.Container) -> tuple[str, ...]:
    life = container.lifecycle or api_types.Lifecycle()
    askers = (
        container.liveness_probe,
        container.readiness_probe,
        container.startup_probe,
        life.post_start,
        life.pre_stop,
    )
    handlers = [handler for asker in askers if asker is not None for handler in (asker.http_get, asker.tcp_socket)]
    return tuple(handler.host for handler in handlers if handler is not None and handler.host)


def _host_ports(ports: list[api_types.ContainerPort] | None, host_network: bool) -> tuple[model.HostPort, ...]:
    """Ports taken on the node; with hostNetwork every container port is one (`defaultHostNetworkPorts`)."""
    taken = []
    for port in ports or ():
        number = port.host_port or (port.container_port if host_network else None)
        if number:
            taken.append(
                model.HostPort(port=number, protocol=port.protocol or "TCP", host_ip=port.host_ip or "0.0.0.0")
            )
    return tuple(taken)


def _probe(probe: api_types.Probe | None) -> model.Probe | None:
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


def _pod_level(
    shared: Shared,
    resources: api_types.Resources | None,
    containers: tuple[model.Container, ...],
    init_containers: tuple[model.Container, ...],
) -> tuple[Amounts | None, Amounts | None]:
    """Requests and limits of the pod as a whole, None where not given.

    Where the pod has limits, a request left out is the sum of the containers' where they give one (cpu and memory),
    else the pod's limit; huge pages of the containers count for the pod in any case.
    Source: `pkg/apis/core/v1/defaults.go` `defaultHugePagePodLimits`, `defaultPodRequests`.
    """
    if resources is None or not (resources.requests or resources.limits):
        return None, None
    limits: dict[str, int] = dict(shared.amounts(resources.limits))
    requests: dict[str, int] = dict(shared.amounts(resources.requests))
    everyone = (*containers, *init_containers)
    for name in sorted({name for container in everyone for name in container.limits if name.startswith(HUGE_PAGES)}):
        if name not in requests and name not in limits:
            limits[name] = asked_at_once(containers, init_containers, name)
    if limits:
        for name in (CPU, MEMORY):
            if name not in requests and any(name in container.requests for container in everyone):
                requests[name] = asked_at_once(containers, init_containers, name)
        for name, limit in limits.items():
            requests.setdefault(name, limit)
    return FrozenMap(requests), FrozenMap(limits) if limits else None


def asked_at_once(
    containers: tuple[model.Container, ...], init_containers: tuple[model.Container, ...], resource: str
) -> int:
    """What containers ask for together."""
    return at_once(containers, init_containers, lambda container: container.requests.get(resource, 0))


def _pod_affinity(shared: Shared, affinity: api_types.PodAffinity | None) -> tuple[model.PodAffinityTerm, ...]:
    if affinity is None:
        return ()
    terms = [_affinity_term(shared, term, 0) for term in affinity.required or ()]
    terms.extend(
        _affinity_term(shared, weighted.pod_affinity_term, weighted.weight)
        for weighted in affinity.preferred or ()
        if weighted.pod_affinity_term is not None
    )
    return tuple(terms)


def _affinity_term(shared: Shared, term: api_types.PodAffinityTerm, weight: int) -> model.PodAffinityTerm:
    return model.PodAffinityTerm(
        label_selector=read_selector(shared, term.label_selector),
        topology_key=term.topology_key,
        namespaces=tuple(term.namespaces or ()),
        namespace_selector=read_selector(shared, term.namespace_selector),
        match_label_keys=tuple(term.match_label_keys or ()),
        mismatch_label_keys=tuple(term.mismatch_label_keys or ()),
        weight=weight,
    )


def _spread(shared: Shared, constraint: api_types.TopologySpreadConstraint) -> model.TopologySpreadConstraint:
    return model.TopologySpreadConstraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        when_unsatisfiable=constraint.when_unsatisfiable,
        label_selector=read_selector(shared, constraint.label_selector),
        min_domains=constraint.min_domains,
        node_affinity_policy=constraint.node_affinity_policy or "Honor",
        node_taints_policy=constraint.node_taints_policy or "Ignore",
        match_label_keys=tuple(constraint.match_label_keys or ()),
    )


def _node_affinity(affinity: api_types.NodeAffinity | None) -> model.NodeAffinity:
    if affinity is None:
        return _NO_NODE_AFFINITY
    return model.NodeAffinity(
        required=read_terms(affinity.required) if affinity.required else None,
        preferred=tuple(
            model.PreferredTerm(weight=preference.weight, term=read_term(preference.preference))
            for preference in affinity.preferred or ()
        ),
    )


def _volume(shared: Shared, volume: api_types.Volume) -> model.Volume:
    if volume.ephemeral is not None:
        template = volume.ephemeral.volume_claim_template or api_types.ClaimTemplate()
        claim = read_claim_template(shared, template.spec)
        return model.Volume(name=volume.name, kind="ephemeral", claim_template=claim)
    empty = volume.empty_dir or api_types.EmptyDir()
    # A volume that names no source is an emptyDir (`SetDefaults_Volume`).
    kind, source = next(
        ((kind, disk_source) for name, kind in _SOURCES.items() if (disk_source := getattr(volume, name)) is not None),
        ("emptyDir", empty),
    )
    disk = source if isinstance(source, api_types.Disk) else api_types.Disk()
    return model.Volume(
        name=volume.name,
        kind=kind,
        claim_name=disk.claim_name,
        medium=empty.medium or "",
        size_limit_bytes=amount_or_none(empty.size_limit, "sizeLimit"),
        host_path=(source.directory or "") if isinstance(source, api_types.HostPath) else "",
        disk_id=_disk_id(kind, disk),
        read_only=bool(disk.read_only),
    )


def _disk_id(kind: str, disk: api_types.Disk) -> str:
    """What identifies a disk that only one pod may write to (kube-scheduler `volumerestrictions`)."""
    return (
        f"{disk.pool or 'rbd'}/{disk.image}"
        if kind == "rbd"
        else disk.pd_name or disk.volume_id or disk.disk_uri or disk.iqn
    )


def _pod_claim(claim: api_types.PodResourceClaim) -> model.PodClaim:
    claim_source = claim.source or claim
    return model.PodClaim(
        name=claim.name,
        resource_claim_name=claim_source.resource_claim_name,
        resource_claim_template_name=claim_source.resource_claim_template_name,
    )
