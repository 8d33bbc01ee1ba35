"""Limits and settings of node pools: how far they may grow, how they upgrade, what they reserve."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.well_known_names import INSTANCE_TYPE, KARPENTER_CAPACITY_TYPE, ZONE
from planner.inventory.cloud_quotas import Quota
from planner.inventory.instance_types import InstanceType
from planner.inventory.records.read_context import go_duration
from planner.kubernetes.object_records import (
    EMPTY,
    Amounts,
    FrozenMap,
    KarpenterNodePool,
    Labels,
    Requirement,
    Snapshot,
    Taint,
)


class LimitSource(StrEnum):
    """Who says how far a pool may grow."""

    GCLOUD = "gcloud node-pools list"
    GKE_API = "GKE API"
    KARPENTER = "Karpenter NodePool"
    AUTOSCALER_STATUS = "cluster-autoscaler-status"
    TYPED = "typed"
    INSTANCE_TYPES = "instance types"  # a cloud's list of machines: of no pool, and of every one of Karpenter's
    QUOTAS = "the cloud's quotas"  # of no pool, and of every one
    UNKNOWN = "unknown"


class UpgradeStrategy(StrEnum):
    SURGE = "surge"
    BLUE_GREEN = "blue-green"


class UpgradeSettings(Record):
    """How a pool's nodes are replaced. GKE's defaults: surge, maxSurge 1, maxUnavailable 0.

    Source: cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies (2026-07).
    """

    strategy: UpgradeStrategy = UpgradeStrategy.SURGE
    max_surge: int = 1
    max_unavailable: int = 0
    batch_nodes: int | None = None  # blue-green: nodes drained at once
    soak_seconds: float | None = None  # blue-green: how long both sets of nodes are kept


class PoolLimits(Record):
    """One node pool as something other than its nodes describes it.

    Attributes
    ----------
    minimum, maximum : nodes in all, None where nothing says
    is_autoscaled : False for a pool of fixed size, None where nothing says
    maximum_per_zone : where the limit holds for each zone by itself
    resource_limits : Karpenter's ``spec.limits``: sums over the nodes of the pool
    group_names : what the cluster autoscaler calls the pool's groups of nodes (`LimitSource.AUTOSCALER_STATUS`)
    machine : what its machine type is, where that is known
    balances : whether new nodes are spread over its zones (GKE's location policy ``BALANCED``, the default)
    consolidate_after_seconds, consolidates_used : of a Karpenter NodePool: after how long without change it takes a node away, None: never;
        and whether one that pods are on, too
    requirements, least_values, weight : of a Karpenter NodePool: which nodes it may bring, of how many values of a label it must be free to
        choose (``minValues``), and which of several it is asked first
    is_ready, keeps : of a Karpenter NodePool: False: none until it is; how many nodes a static one keeps, whichever pods are pending
    instance_types : of `LimitSource.INSTANCE_TYPES`
    quotas : of `LimitSource.QUOTAS`
    shares : the field by which its accelerators are given out in parts; "": whole
    """

    name: str
    source: LimitSource
    minimum: int | None = None
    maximum: int | None = None
    is_autoscaled: bool | None = None
    maximum_per_zone: int | None = None
    zones: tuple[str, ...] = ()
    machine_type: str = ""
    accelerator: str = ""
    gpus_a_node: int = 0
    provisioning: str = ""
    reservation: str = ""
    upgrade: UpgradeSettings | None = None
    resource_limits: Amounts = EMPTY
    labels: Labels = EMPTY
    taints: tuple[Taint, ...] = ()
    group_names: tuple[str, ...] = ()
    disk_gib: int | None = None
    pods_a_node: int | None = None
    machine: InstanceType | None = None
    balances: bool = True
    requirements: tuple[Requirement, ...] = ()
    least_values: FrozenMap[int] = EMPTY
    weight: int = 0
    consolidate_after_seconds: float | None = 0.0
    consolidates_used: bool = True
    is_ready: bool = True
    keeps: int = 0
    instance_types: tuple[InstanceType, ...] = ()
    quotas: tuple[Quota, ...] = ()
    shares: str = ""


def limits_of(pool: KarpenterNodePool) -> PoolLimits:
    """What a NodePool of Karpenter's says.

    Source: karpenter `pkg/controllers/provisioning/provisioner.go` `NewScheduler`, which leaves out those that aren't Ready or go.
    """
    values_by_label = {each.key: each.values for each in pool.requirements}
    return PoolLimits(
        name=pool.name,
        source=LimitSource.KARPENTER,
        maximum=pool.limits.get("nodes"),
        is_autoscaled=pool.replicas is None and not pool.is_deleting,
        keeps=0 if pool.is_deleting else min(pool.replicas or 0, pool.limits.get("nodes", pool.replicas or 0)),
        is_ready=pool.is_ready,
        # ``1h30m``, 0 s where nothing is said (karpenter `pkg/apis/v1/nodepool.go` `Disruption`)
        consolidate_after_seconds=None
        if pool.consolidate_after == "Never" or "Empty" in pool.kept_from
        else go_duration(pool.consolidate_after),
        consolidates_used=pool.consolidation_policy != "WhenEmpty" and "Underutilized" not in pool.kept_from,
        zones=values_by_label.get(ZONE, ()),
        machine_type=", ".join(values_by_label.get(INSTANCE_TYPE, ())),
        provisioning=", ".join(values_by_label.get(KARPENTER_CAPACITY_TYPE, ())),
        resource_limits=FrozenMap({name: amount for name, amount in pool.limits.items() if name != "nodes"}),
        requirements=pool.requirements,
        least_values=pool.least_values,
        weight=pool.weight,
        labels=pool.labels,
        taints=pool.taints,
    )


def with_snapshots(snapshot: Snapshot, file_limits: Sequence[PoolLimits]) -> tuple[PoolLimits, ...]:
    """`file_limits`, and the NodePools of the snapshot that no file speaks of; of a list that isn't whole none, since others of it may grow."""
    limited_pools = {limits.name for limits in file_limits if limits.source is LimitSource.KARPENTER}
    node_pools = () if snapshot.lacks("NodePool") else snapshot.node_pools
    return (*file_limits, *(limits_of(node_pool) for node_pool in node_pools if node_pool.name not in limited_pools))


def parse_typed_limits(text: str) -> tuple[PoolLimits, ...]:
    """``gpu-t4=8, web=2-12``: a pool's maximum, or its minimum and maximum.

    Raises
    ------
    InputError
        For a part that isn't ``pool=maximum`` or ``pool=minimum-maximum``.
    """
    limits = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.rpartition("="))
        low, dash, high = (piece.strip() for piece in value.rpartition("-"))
        if not equals or not name or not high.isascii() or not high.isdecimal() or len(high) > 6:
            raise _no_limit(part)
        if dash and not (low.isascii() and low.isdecimal() and int(low) <= int(high)):
            raise _no_limit(part)
        limits.append(
            PoolLimits(
                name=name, source=LimitSource.TYPED, minimum=int(low) if dash else None, maximum=int(high),
                is_autoscaled=True,
            )
        )  # fmt: skip
    return tuple(limits)


def _no_limit(part: str) -> InputError:
    return InputError(
        f'"{part[:60]}" is not a limit of a pool', where="limits", fix="Write it like gpu-t4=8 or gpu-t4=2-8"
    )
