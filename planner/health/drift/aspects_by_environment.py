"""Compares a service's environments: one row an aspect (image, requests, probes, …), one cell an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from planner.ground.records import replace
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import measured_bytes, ratio, written
from planner.health.drift.model import (
    Aspect,
    Cell,
    Row,
)
from planner.health.drift.service_workloads import (
    EnvironmentMember,
    usage_of,
)
from planner.health.restarts.container_observations import image_repository
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Container, Probe
from planner.kubernetes.workload_kinds import ROLLING_UPDATE

_UNSEEN = Cell("not known", is_unseen=True)


def rows_of(members: Sequence[EnvironmentMember]) -> tuple[Row, ...]:
    """Every aspect that any of `members` (the reference first) has a value of; those of the workload before those of
    its containers."""
    rows = [_row(aspect, "", [cell_of(member) for member in members]) for aspect, cell_of in _OF_WORKLOAD.items()]
    containers = [member.workload.template.spec.containers for member in members]
    # With one container in each environment they are compared whatever they are called.
    is_single = all(len(own_containers) == 1 for own_containers in containers)
    names = [""] if is_single else list(dict.fromkeys(container.name for every in containers for container in every))
    for name in names:
        pairs = [(member, _container(member, name)) for member in members]
        for aspect, value_of in _OF_CONTAINER.items():
            cells = [
                None if spec_container is None else value_of(member, spec_container) for member, spec_container in pairs
            ]
            rows.append(_row(aspect, name, cells))
    shown_rows = [row for row in rows if any(cell is not None and cell.text not in ("", "none") for cell in row.cells)]
    order = tuple(Aspect)
    return tuple(sorted(shown_rows, key=lambda row: (row.container, order.index(row.aspect))))


def _container(member: EnvironmentMember, name: str) -> Container | None:
    """The container called `name`; without one, the only one there is, whatever it is called."""
    containers = member.workload.template.spec.containers
    return next((container for container in containers if name in ("", container.name)), None)


def _row(aspect: Aspect, container: str, cells: Sequence[Cell | None]) -> Row:
    first = cells[0]
    base = first.amount if first is not None else None
    compared: list[Cell | None] = []
    for cell in cells:
        if cell is None or cell is first or cell.amount is None or not base or cell.amount == base:
            compared.append(cell)
        else:
            compared.append(replace(cell, ratio=ratio(cell.amount, base)))
    texts = {cell.text if cell is not None else None for cell in cells}
    return Row(aspect=aspect, container=container, cells=tuple(compared), differs=len(texts) > 1)


def image_version(image: str) -> str:
    """The tag, and of a digest its first letters; ``latest`` where neither is written."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    short = f"@{digest.partition(':')[2][:12]}" if digest else ""
    return f"{tag or ('' if digest else 'latest')}{short}"


def probe_text(probe: Probe | None) -> str:
    """``http, after 20 s, every 10 s, 3 failures, timeout 1 s``."""
    if probe is None:
        return "none"
    return (
        f"{probe.handler}, after {probe.initial_delay_seconds} s, every {probe.period_seconds} s, "
        f"{probe.failure_threshold} failures, timeout {probe.timeout_seconds} s"
    )


def _ready(member: EnvironmentMember) -> Cell:
    if member.pods is None:
        return _UNSEEN
    return Cell(f"{sum(pod.is_ready for pod in member.pods)} of {len(member.pods)}")


def _strategy(member: EnvironmentMember) -> Cell:
    strategy = member.workload.strategy
    if not member.workload.traits.rolls_out:
        return Cell("none")
    if strategy.kind != ROLLING_UPDATE:
        return Cell(strategy.kind)
    parts = [
        f"{name} {value}"
        for name, value in (("surge", strategy.max_surge), ("unavailable", strategy.max_unavailable))
        if value is not None
    ]
    return Cell(f"{strategy.kind}" + (f" ({', '.join(parts)})" if parts else ""))


def _grace(member: EnvironmentMember) -> Cell:
    seconds = member.workload.template.spec.termination_grace_period_seconds
    return Cell(f"{seconds} s", seconds)


def _node_pools(member: EnvironmentMember) -> Cell:
    """The pools its pods are on now, by label; nodes without one count by their name."""
    if member.pods is None or member.nodes is None:
        return _UNSEEN
    nodes = [node for pod in member.pods if (node := member.nodes.get(pod.node_name)) is not None]
    return Cell(", ".join(sorted({node_pool(node) or node.name for node in nodes})))


_OF_WORKLOAD: Final[Mapping[Aspect, Callable[[EnvironmentMember], Cell]]] = {
    Aspect.KIND: lambda member: Cell(member.workload.kind),
    Aspect.REPLICAS: lambda member: Cell(str(member.workload.replicas), member.workload.replicas),
    Aspect.READY: _ready,
    Aspect.RESTARTS: lambda member: (
        _UNSEEN if member.restart_count is None else Cell(str(member.restart_count), member.restart_count)
    ),
    Aspect.STRATEGY: _strategy,
    Aspect.GRACE: _grace,
    Aspect.NODE_POOL: _node_pools,
    Aspect.PRIORITY: lambda member: Cell(member.workload.template.spec.priority_class_name or "none"),
}


def _amount(amount: int | None, resource: str) -> Cell:
    return Cell(written(amount, resource), amount)


def _working_set(member: EnvironmentMember, container: Container) -> Cell:
    working_set = max((usage.working_set_bytes for usage in usage_of(member, container)), default=None)
    return Cell("not measured" if working_set is None else measured_bytes(working_set), working_set)


def _cpu_used(member: EnvironmentMember, container: Container) -> Cell:
    used = max((u.cpu_millicores for u in usage_of(member, container) if u.cpu_millicores is not None), default=None)
    return Cell("not measured" if used is None else f"{used}m", used)


def _gpus(_: EnvironmentMember, container: Container) -> Cell:
    gpus = {name: amount for name, amount in container.requests.items() if is_gpu_resource(name)}
    text = ", ".join(f"{amount} {name}" for name, amount in sorted(gpus.items()))
    return Cell(text or "none", sum(gpus.values()) or None)


def _started_as(_: EnvironmentMember, container: Container) -> Cell:
    program = f" ({container.program})" if container.program else ""
    return Cell(f"{container.command_form.value.replace('_', ' ')}{program}")


_OF_CONTAINER: Final[Mapping[Aspect, Callable[[EnvironmentMember, Container], Cell]]] = {
    Aspect.MEMORY_REQUEST: lambda _, container: _amount(container.requests.get(MEMORY), MEMORY),
    Aspect.MEMORY_LIMIT: lambda _, container: _amount(container.limits.get(MEMORY), MEMORY),
    Aspect.WORKING_SET: _working_set,
    Aspect.CPU_REQUEST: lambda _, container: _amount(container.requests.get(CPU), CPU),
    Aspect.CPU_LIMIT: lambda _, container: _amount(container.limits.get(CPU), CPU),
    Aspect.CPU_USED: _cpu_used,
    Aspect.GPUS: _gpus,
    Aspect.STARTUP_PROBE: lambda _, container: Cell(probe_text(container.startup_probe)),
    Aspect.READINESS_PROBE: lambda _, container: Cell(probe_text(container.readiness_probe)),
    Aspect.LIVENESS_PROBE: lambda _, container: Cell(probe_text(container.liveness_probe)),
    Aspect.IMAGE: lambda _, container: Cell(image_repository(container.image)),
    Aspect.VERSION: lambda _, container: Cell(image_version(container.image)),
    Aspect.START: _started_as,
}
