"""What Kueue counts that pods of a Workload ask for: what it says itself, else by its rules.

Source: kueue `pkg/workload/resources.go` (`AdjustResources`: the overhead of a RuntimeClass, limits where no request is, the defaults of
LimitRanges), `pkg/workload/workload.go` (`PropagateResourceRequests`: what it counted, in the status of one that found no quota).
"""

from __future__ import annotations

from planner.ground.records import replace
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.records import FrozenMap, LimitRange, PodSpec, QueuedWorkload, RuntimeClass, Snapshot
from planner.kubernetes.requests import with_defaults


@once_a_snapshot
def as_counted(snapshot: Snapshot) -> tuple[QueuedWorkload, ...]:
    """Every Workload with what its pods ask for as Kueue counts it. Those that hold quota say what they got, and stay as they are."""
    ranges: dict[str, list[LimitRange]] = {}
    for limits in snapshot.limit_ranges:
        ranges.setdefault(limits.namespace, []).append(limits)
    runtimes = {runtime.name: runtime for runtime in snapshot.runtime_classes}

    def counted(one: QueuedWorkload) -> QueuedWorkload:
        if one.admitted_by:
            return one
        said = {each.name: each.asks for each in one.counted}
        sets = []
        for queued_set in one.sets:
            spec = _adjusted(queued_set.spec, ranges.get(one.namespace, []), runtimes)
            pods = queued_set.count - one.gone.get(queued_set.name, 0)
            total = said.get(queued_set.name)
            is_whole = total is not None and pods > 0 and not any(amount % pods for amount in total.values())
            asks = {name: amount // pods for name, amount in total.items()} if total is not None and is_whole else None
            sets.append(replace(queued_set, spec=spec, asks=FrozenMap(asks) if asks is not None else queued_set.asks))
        return replace(one, sets=tuple(sets)) if tuple(sets) != one.sets else one

    return tuple(map(counted, snapshot.queued_workloads))


def _adjusted(spec: PodSpec, ranges: list[LimitRange], runtimes: dict[str, RuntimeClass]) -> PodSpec:
    runtime = runtimes.get(spec.runtime_class_name)
    if runtime is not None and not spec.overhead:
        spec = replace(spec, overhead=runtime.overhead)
    for item in (item for limits in ranges for item in limits.items if item.kind == "Container"):
        spec = replace(
            spec,
            containers=tuple(with_defaults(one, item) for one in spec.containers),
            init_containers=tuple(with_defaults(one, item) for one in spec.init_containers),
        )
    return spec
