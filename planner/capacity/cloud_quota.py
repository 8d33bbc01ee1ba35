"""Whether the cloud's quotas allow the nodes by which a pool would grow, beside the pool's own maximum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.capacity.node_pools import NodePool, pool_key
from planner.capacity.recent_scale_up_attempts import SCALE_UP_FAILED, failed_scale_ups
from planner.ground.well_known_names import CPU
from planner.ground.words import Text, count, plural
from planner.inventory.cloud_quotas import Quota, QuotaUnit
from planner.kubernetes.clouds import cloud_of
from planner.kubernetes.node_properties import gpu_label, is_spot, machine_type, physical_gpus, region
from planner.kubernetes.object_records import Finding, Node, Severity
from planner.rollout.doubts import Doubt, Effect
from planner.scheduling.cluster import Cluster

QUOTA_SHORT: Final = "quota-short"
BESIDE: Final = frozenset({SCALE_UP_FAILED, QUOTA_SHORT})
"""Codes of what stands beside the verdict of one workload, wherever it is told."""


def may_not_come(cluster: Cluster, pool: NodePool, nodes: Sequence[Node], key: str) -> tuple[Finding, ...]:
    """Why those of `nodes` that are the pool's may not come although it may grow: tries that failed lately, quotas. They stand beside
    a verdict, never in place of it."""
    new = [node for node in nodes if pool_key(node) == pool.name]
    return (*failed_scale_ups(cluster, pool, key), *short_quotas(cluster, pool, new, key))


def unseen_quotas(pool: NodePool, nodes: Sequence[Node]) -> Iterator[Doubt]:
    """A cloud's quota that no document told of, where `nodes` are to come: it may be used up. Of Google's GPUs the one for GPUs counts."""
    new = [node for node in nodes if pool_key(node) == pool.name]
    cloud = cloud_of(new[0]) if new else None
    if cloud is None or not cloud.quota_command:
        return
    asks_gpus = cloud.quotas_gpus and any(physical_gpus(node) for node in new)
    applicable_quotas = (quota for quota in pool.quotas if any(_amount(quota, node) for node in new))
    if any(quota.unit is QuotaUnit.GPUS or not asks_gpus for quota in applicable_quotas):
        return
    why = f"whether the cloud's quota lets {plural(len(new), 'the node', f'the {len(new):,} nodes')} come isn't known: none was given"
    command = " ".join(cloud.quota_command).format(region=region(new[0]) or "REGION")
    yield Doubt(
        about=f"node pool {pool.name}", why=Text(why), could_change=Effect.VERDICT,
        advice=f"Give it with --node-pools: {command} > quotas.json",
    )  # fmt: skip


def short_quotas(cluster: Cluster, pool: NodePool, nodes: Sequence[Node], key: str) -> Iterator[Finding]:
    """A warning to the workload `key` for each quota that `nodes`, new ones of the pool, don't fit in: ``quota NVIDIA_T4_GPUS of
    europe-west4 has 2 of 8 GPUs left, the 4 nodes of pool gpu-t4 need 4``. What a document doesn't say is used (EC2's) is
    counted from the cluster's own nodes, the least that it can be."""
    for quota in pool.quotas:
        needed = sum(_amount(quota, node) for node in nodes)
        if not needed:
            continue
        counted_amount = sum(_amount(quota, node) for node in cluster.nodes)
        used = counted_amount if quota.used is None else quota.used
        remaining = max(0.0, quota.limit - used)
        if needed <= remaining:
            continue
        least = " at most" if quota.used is None else ""
        where = f" of {quota.region}" if quota.region else ""
        yield Finding(
            severity=Severity.WARNING,
            code=QUOTA_SHORT,
            object=key,
            what=(
                f"quota {quota.name}{where} has{least} {remaining:g} of {quota.limit:g} {quota.unit} left, the "
                f"{count(len(nodes), 'node')} of pool {pool.name} {plural(len(nodes), 'needs', 'need')} {needed:g} ({quota.source})"
            ),
            fix="The nodes may not come: ask the cloud for a larger quota first",
        )


def _amount(quota: Quota, node: Node) -> float:
    """What the node takes of the quota; 0 where it doesn't count against it."""
    if quota.region and region(node) not in ("", quota.region):
        return 0
    if not quota.counts(machine_type=machine_type(node), accelerator=gpu_label(node), is_spot=is_spot(node)):
        return 0
    if quota.unit is QuotaUnit.GPUS:
        return physical_gpus(node) or 0
    return (node.capacity.get(CPU, 0) or node.allocatable.get(CPU, 0)) / 1000
