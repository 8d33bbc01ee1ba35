"""The values that are compared: one row an aspect, one cell an environment."""

from __future__ import annotations

from collections.abc import Sequence

from planner.drift.members import (
    Member,
    usage_of,
)
from planner.drift.model import (
    Aspect,
    Cell,
    Row,
)
from planner.ground.records import replace
from planner.ground.vocabulary import CPU, MEMORY
from planner.ground.words import measured_bytes, ratio, written
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.kinds import ROLLING_UPDATE
from planner.kubernetes.nodes import node_pool
from planner.kubernetes.records import Container, Probe, Workload
from planner.restarts.population import image_repository

_UNSEEN = Cell(text="not known", is_unseen=True)
_WORKLOAD_ASPECTS = (
    Aspect.KIND, Aspect.REPLICAS, Aspect.READY, Aspect.RESTARTS, Aspect.STRATEGY, Aspect.GRACE, Aspect.NODE_POOL,
    Aspect.PRIORITY,
)  # fmt: skip
_CONTAINER_ASPECTS = tuple(aspect for aspect in Aspect if aspect not in _WORKLOAD_ASPECTS)


def rows_of(members: Sequence[Member]) -> tuple[Row, ...]:
    """Every aspect that any of `members` (the reference first) has a value of; those of the workload before those of
    its containers."""
    rows = [_row(aspect, "", [_workload_cell(aspect, member) for member in members]) for aspect in _WORKLOAD_ASPECTS]
    names = dict.fromkeys(one.name for member in members for one in member.workload.template.spec.containers)
    for container in names:
        pairs = [(member, _container(member, container, len(names))) for member in members]
        for aspect in _CONTAINER_ASPECTS:
            cells = [None if one is None else _container_cell(aspect, member, one) for member, one in pairs]
            rows.append(_row(aspect, container if len(names) > 1 else "", cells))
    kept = [row for row in rows if any(cell is not None and cell.text not in ("", "none") for cell in row.cells)]
    order = tuple(Aspect)
    return tuple(sorted(kept, key=lambda row: (row.container, order.index(row.aspect))))


def _container(member: Member, name: str, names: int) -> Container | None:
    """The container called `name`; where every workload has just one, that one, whatever it is called."""
    containers = member.workload.template.spec.containers
    if len(containers) == 1 and names == 1:
        return containers[0]
    return next((one for one in containers if one.name == name), None)


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


def _workload_cell(aspect: Aspect, member: Member) -> Cell:
    workload, spec = member.workload, member.workload.template.spec
    match aspect:
        case Aspect.KIND:
            return Cell(text=workload.kind)
        case Aspect.REPLICAS:
            return Cell(text=str(workload.replicas), amount=workload.replicas)
        case Aspect.READY:
            if member.pods is None:
                return _UNSEEN
            ready = sum(pod.is_ready for pod in member.pods)
            return Cell(text=f"{ready} of {len(member.pods)}")
        case Aspect.RESTARTS:
            restarts = member.restart_count
            return _UNSEEN if restarts is None else Cell(text=str(restarts), amount=restarts)
        case Aspect.STRATEGY:
            return Cell(text=_strategy_text(workload))
        case Aspect.GRACE:
            return Cell(text=f"{spec.termination_grace_period_seconds} s", amount=spec.termination_grace_period_seconds)
        case Aspect.NODE_POOL:
            pools = _node_pools(member)
            return _UNSEEN if pools is None else Cell(text=", ".join(pools))
        case _:
            return Cell(text=spec.priority_class_name or "none")


def _container_cell(aspect: Aspect, member: Member, container: Container) -> Cell:
    match aspect:
        case Aspect.MEMORY_REQUEST:
            return _amount_cell(container.requests.get(MEMORY), MEMORY)
        case Aspect.MEMORY_LIMIT:
            return _amount_cell(container.limits.get(MEMORY), MEMORY)
        case Aspect.CPU_REQUEST:
            return _amount_cell(container.requests.get(CPU), CPU)
        case Aspect.CPU_LIMIT:
            return _amount_cell(container.limits.get(CPU), CPU)
        case Aspect.WORKING_SET:
            seen = max((one.working_set_bytes for one in usage_of(member, container)), default=None)
            return Cell(text="not measured" if seen is None else measured_bytes(seen), amount=seen)
        case Aspect.CPU_USED:
            used = max(
                (u.cpu_millicores for u in usage_of(member, container) if u.cpu_millicores is not None), default=None
            )
            return Cell(text="not measured" if used is None else f"{used}m", amount=used)
        case Aspect.GPUS:
            gpus = {name: amount for name, amount in container.requests.items() if is_gpu_resource(name)}
            text = ", ".join(f"{amount} {name}" for name, amount in sorted(gpus.items()))
            return Cell(text=text or "none", amount=sum(gpus.values()) or None)
        case Aspect.STARTUP_PROBE:
            return Cell(text=probe_text(container.startup_probe))
        case Aspect.READINESS_PROBE:
            return Cell(text=probe_text(container.readiness_probe))
        case Aspect.LIVENESS_PROBE:
            return Cell(text=probe_text(container.liveness_probe))
        case Aspect.IMAGE:
            return Cell(text=image_repository(container.image))
        case Aspect.VERSION:
            return Cell(text=image_version(container.image))
        case _:
            program = f" ({container.program})" if container.program else ""
            return Cell(text=f"{container.command_form.value.replace('_', ' ')}{program}")


def _amount_cell(amount: int | None, resource: str) -> Cell:
    return Cell(text=written(amount, resource), amount=amount)


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


def _strategy_text(workload: Workload) -> str:
    strategy = workload.strategy
    if not workload.traits.rolls_out:
        return "none"
    if strategy.kind != ROLLING_UPDATE:
        return strategy.kind
    parts = [
        f"{name} {value}"
        for name, value in (("surge", strategy.max_surge), ("unavailable", strategy.max_unavailable))
        if value is not None
    ]
    return f"{strategy.kind}" + (f" ({', '.join(parts)})" if parts else "")


def _node_pools(member: Member) -> list[str] | None:
    """The pools its pods are on now, by label; nodes without one count by their name."""
    if member.pods is None or member.nodes is None:
        return None
    pools = set()
    for pod in member.pods:
        node = member.nodes.get(pod.node_name)
        if node is not None:
            pools.add(node_pool(node) or node.name)
    return sorted(pools)
