"""Checks a changed workload as the API server does: immutable fields, and values that contradict each other.

Source: kubernetes 1.36 `pkg/apis/apps/validation`, `pkg/apis/batch/validation`, `pkg/apis/core/validation`
(`ValidateResourceRequirements`), lws 0.8 `pkg/webhooks/leaderworkerset_webhook.go`, as far as the planner keeps the fields.
"""

from __future__ import annotations

from planner.ground.errors import ChangeError
from planner.ground.quantity import format_amount
from planner.ground.well_known_names import is_extended_resource
from planner.kubernetes.object_records import Container, PodDisruptionBudget, Strategy, Workload
from planner.kubernetes.selectors import labels_match
from planner.kubernetes.surge_and_unavailable import share_parts
from planner.kubernetes.workload_kinds import ROLLING_UPDATE

_MOST_REPLICAS = 2**31 - 1


def check_workload(before: Workload | None, after: Workload) -> None:
    """Raise a `ChangeError` when the API server would refuse `after`, in place of `before` or (None) as a new one."""
    if before is not None:
        _check_unchanged(before, after)
    if before is None or before.strategy != after.strategy:
        _check_strategy(after.strategy, after)
    if before is None or before.template != after.template:
        _check_template(before, after)
    deadline, wait = after.progress_deadline_seconds, after.min_ready_seconds
    # The API server accepted what is there: only a change of either number is judged.
    is_given = before is None or (before.progress_deadline_seconds, before.min_ready_seconds) != (deadline, wait)
    if deadline is not None and deadline <= wait and is_given:
        what = f"progressDeadlineSeconds is {deadline}, and must be greater than minReadySeconds, which is {wait}"
        raise ChangeError(what, where=after.key, fix="Raise it, or wait for fewer seconds")
    if wait < 0 and is_given:
        raise ChangeError(f"minReadySeconds is {wait}", where=after.key, fix="Give 0 or more")
    if not 0 <= after.replicas <= _MOST_REPLICAS:
        raise ChangeError(f"replicas is {after.replicas}", where=after.key, fix="Give 0 or more")


def check_budget(budget: PodDisruptionBudget) -> None:
    """Raise a `ChangeError` when the API server would refuse it.

    Source: kubernetes 1.36 `pkg/apis/policy/validation` `ValidatePodDisruptionBudgetSpec`.
    """
    where = f"PodDisruptionBudget/{budget.namespace}/{budget.name}"
    values = {"minAvailable": budget.min_available, "maxUnavailable": budget.max_unavailable}
    if None not in values.values():
        raise ChangeError("minAvailable and maxUnavailable are both set", where=where, fix="Give one of them")
    for name, value in values.items():
        if value is not None:
            number, is_percent = share_parts(value, name=name, where=where)
            if is_percent and number > 100:
                raise ChangeError(f"{name} is {value}", where=where, fix="Give 100% or less")


def _check_unchanged(before: Workload, after: Workload) -> None:
    """Selectors never change; most of a StatefulSet and a Job's template don't either."""
    fixed: list[tuple[str, object, object]] = [("spec.selector", before.selector, after.selector)]
    if before.traits.has_ordinals:
        fixed += [
            ("spec.serviceName", before.service_name, after.service_name),
            ("spec.podManagementPolicy", before.pod_management_policy, after.pod_management_policy),
            ("spec.volumeClaimTemplates", before.claim_templates, after.claim_templates),
        ]
    if before.traits.is_batch:
        fixed += [("spec.completions", before.completions, after.completions)]
        if not before.is_paused:
            fixed += [("spec.template", before.template.spec, after.template.spec)]
    if before.groups is not None and after.groups is not None:
        sizes = before.groups.sub_group_size, after.groups.sub_group_size
        fixed += [("spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize", *sizes)]
    for field, old, new in fixed:
        if old != new:
            fix = f"Delete the {before.kind} and create it anew"
            raise ChangeError(f"{field} can't be changed", where=before.key, fix=fix)


def _check_strategy(strategy: Strategy, workload: Workload) -> None:
    where = workload.key
    if strategy.kind != ROLLING_UPDATE:
        return
    values = [("maxSurge", strategy.max_surge), ("maxUnavailable", strategy.max_unavailable)]
    sizes = {name: share_parts(v, name=name, where=where)[0] for name, v in values if v is not None}
    if len(sizes) == 2 and not any(sizes.values()):
        raise ChangeError("maxSurge and maxUnavailable are both 0", where=where, fix="Give one of them at least 1")
    if workload.traits.is_per_node and len(sizes) == 2 and all(sizes.values()):
        fix = "Give one of them as 0"
        raise ChangeError("maxSurge may not be set when maxUnavailable is not 0", where=where, fix=fix)
    bounded = (
        values if workload.traits.is_per_node or workload.groups is not None else values[1:]
    )  # a Deployment may surge by more
    for name, value in bounded:
        if isinstance(value, str) and sizes[name] > 100:
            raise ChangeError(f"{name} is {value}", where=where, fix="Give 100% or less")


def _check_template(before: Workload | None, after: Workload) -> None:
    """Labels, restart policy, and the containers that are new or changed."""
    spec = after.template.spec
    if after.template_of:
        return
    if not after.traits.is_batch:
        if after.groups is None and not labels_match(after.selector, after.template.labels):
            fix = "Give the template the labels that the selector asks for"
            raise ChangeError("the selector doesn't select its own pod template", where=after.key, fix=fix)
        if spec.restart_policy != "Always":
            what = f"restartPolicy is {spec.restart_policy}, has to be Always"
            raise ChangeError(what, where=after.key, fix="Only Jobs and single pods may have another one")
    if not spec.containers:
        raise ChangeError("the pod template has no containers", where=after.key)
    old = before.template.spec if before else None
    old_containers = {*old.containers, *old.init_containers} if old else set()
    _check_containers(after, old_containers)


def _check_containers(workload: Workload, old_containers: set[Container]) -> None:
    spec = workload.template.spec
    names = [container.name for container in (*spec.containers, *spec.init_containers)]
    for container in (*spec.containers, *spec.init_containers):
        # What is there already was accepted once: the API server's rules may be newer than the object.
        if container in old_containers:
            continue
        if not container.name or names.count(container.name) > 1:
            what = f'the container name "{container.name}" is empty or used twice'
            raise ChangeError(what, where=workload.key)
        if not container.image:
            others = ", ".join(name for name in names if name != container.name) or "none"
            fix = f"If a container of the workload is meant, use its name (there: {others}); else give an image"
            raise ChangeError(f'the container "{container.name}" has no image', where=workload.key, fix=fix)
        check_resources(container, workload.key)


def check_resources(container: Container, where: str) -> None:
    """What the API server refuses of a container's amounts, whatever makes its pod.

    Raises
    ------
    ChangeError
    """
    place = f"{where}, container {container.name}"
    for resource, limit in container.limits.items():
        request = container.requests.get(resource, 0)
        if is_extended_resource(resource) and request != limit:
            fix = f"Give both the same number, or the limit only: {resource} can't be overcommitted"
            raise ChangeError(f"{resource}: request {request} and limit {limit} differ", where=place, fix=fix)
        if request > limit:
            amounts = f"{format_amount(request, resource)} is above the limit of {format_amount(limit, resource)}"
            fix = "Raise the limit as well"
            raise ChangeError(f"the {resource} request of {amounts}", where=place, fix=fix)
    for resource in container.requests:
        if is_extended_resource(resource) and resource not in container.limits:
            fix = "Give a limit of the same number"
            raise ChangeError(f"{resource}: a request without a limit", where=place, fix=fix)
