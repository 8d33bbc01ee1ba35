"""The requests that Kueue counts for a Workload's pods: its own record, else by its rules.

Source: kueue `pkg/workload/resources.go` (`AdjustResources`: the overhead of a RuntimeClass, limits where no request is, the defaults of
LimitRanges), `pkg/workload/workload.go` (`PropagateResourceRequests`: what it counted, in the status of one that found no quota).
"""

from __future__ import annotations

from planner.ground.records import replace
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import FrozenMap, LimitRange, PodSpec, QueuedWorkload, RuntimeClass, Snapshot
from planner.kubernetes.requests import with_defaults


@once_a_snapshot
def as_counted(snapshot: Snapshot) -> tuple[QueuedWorkload, ...]:
    """Every Workload with what its pods ask for as Kueue counts it. Those that hold quota say what they got, and stay as they are."""
    ranges: dict[str, list[LimitRange]] = {}
    for limits in snapshot.limit_ranges:
        ranges.setdefault(limits.namespace, []).append(limits)
    runtimes = {runtime.name: runtime for runtime in snapshot.runtime_classes}

    def counted(workload: QueuedWorkload) -> QueuedWorkload:
        if workload.admitted_by:
            return workload
        requests_by_set = {each.name: each.asks for each in workload.counted}
        sets = []
        for queued_set in workload.sets:
            spec = _adjusted(queued_set.spec, ranges.get(workload.namespace, []), runtimes)
            pods = queued_set.count - workload.gone.get(queued_set.name, 0)
            total = requests_by_set.get(queued_set.name)
            # Kueue notes totals: one that the pods don't divide evenly isn't of equal pods, and the spec is counted
            # instead.
            is_whole = total is not None and pods > 0 and not any(amount % pods for amount in total.values())
            asks = {name: amount // pods for name, amount in total.items()} if total is not None and is_whole else None
            sets.append(replace(queued_set, spec=spec, asks=FrozenMap(asks) if asks is not None else queued_set.asks))
        return replace(workload, sets=tuple(sets)) if tuple(sets) != workload.sets else workload

    return tuple(map(counted, snapshot.queued_workloads))


def _adjusted(spec: PodSpec, ranges: list[LimitRange], runtimes: dict[str, RuntimeClass]) -> PodSpec:
    runtime = runtimes.get(spec.runtime_class_name)
    if runtime is not None and not spec.overhead:
        spec = replace(spec, overhead=runtime.overhead)
    for limit in (range_limit for limits in ranges for range_limit in limits.items if range_limit.kind == "Container"):
        spec = replace(
            spec,
            containers=tuple(with_defaults(container, limit) for container in spec.containers),
            init_containers=tuple(with_defaults(init_container, limit) for init_container in spec.init_containers),
        )
    return spec
