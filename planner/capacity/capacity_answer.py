"""The answer of *capacity*: pools, GPUs, free resources, what still fits and findings of one cluster, in one record."""

from __future__ import annotations

from planner.capacity.fragmentation import Fragments, fragments
from planner.capacity.free_resources_by_pool import (
    PoolLine,
    ResourceLine,
    findings_of_room,
    pool_line,
    resource_lines,
    room_sentence,
)
from planner.capacity.gpu_inventory import GpuModelLine, gpu_lines
from planner.capacity.headroom import Fit, fits
from planner.capacity.headroom_shapes import gpu_offer, standard_shapes, usual_share, workload_shapes
from planner.capacity.node_pools import pools
from planner.capacity.shared_gpus import GpuSupply, gpu_supply
from planner.ground import garbage_collector
from planner.ground.records import Record
from planner.ground.words import Text
from planner.inventory.input_report import told, unseen, with_command
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Finding, Snapshot
from planner.kubernetes.workload_kinds import POD
from planner.rollout import prepared_change as prepared_question
from planner.rollout.rollout_summary import held_by_unknown


class CapacityAnswer(Record):
    """Everything about what is left. Without Pods what the nodes have, and nothing of what still fits; `fragments` is None then."""

    sentence: Text
    resources: tuple[ResourceLine, ...]
    gpus: tuple[GpuModelLine, ...]
    supply: tuple[GpuSupply, ...]
    pools: tuple[PoolLine, ...]
    standard: tuple[Fit, ...]
    standard_basis: str
    workloads: tuple[Fit, ...]
    fragments: Fragments | None
    findings: tuple[Finding, ...]
    resource: str = ""  # the one that GPUs of pools are counted in
    shapes: tuple[Fit, ...] = ()  # those asked for, in their order


@garbage_collector.resting()
def capacity(snapshot: Snapshot, limits: tuple[PoolLimits, ...] = ()) -> CapacityAnswer:
    """What there is, what is left, and what of it can be used."""
    cluster = prepared_question.compiled(snapshot)
    node_pool_list = pools(cluster, limits)
    gpus = gpu_lines(cluster)
    broken = snapshot.if_known(fragments(cluster), POD.name)
    standard, own = (
        ((), ())
        if broken is None
        else (fits(cluster, shapes_of(cluster)) for shapes_of in (standard_shapes, workload_shapes))
    )
    resources = resource_lines(cluster)
    return CapacityAnswer(
        sentence=_as_far_as_seen(snapshot, room_sentence(gpus, standard, own, broken, resources)),
        resources=resources,
        gpus=gpus,
        supply=gpu_supply(cluster),
        pools=tuple(pool_line(cluster, pool) for pool in node_pool_list),
        standard=standard,
        standard_basis=usual_share(cluster)[2] if broken else "",
        workloads=own,
        fragments=broken,
        findings=(*findings_of_room(cluster, limits), *held_by_unknown(snapshot)),
        resource=gpu_offer(cluster)[0],
    )


def _as_far_as_seen(snapshot: Snapshot, sentence: str) -> Text:
    """`sentence`, which without Pods leaves out what still fits, with why and the command that adds them."""
    lacking = [kind_gap for kind_gap in unseen(snapshot) if kind_gap.kind == POD.name]
    return with_command(f"{sentence}: {told(lacking)}", lacking) if lacking else Text(sentence)
