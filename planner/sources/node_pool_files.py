"""Reads files with limits of node pools: gcloud's JSON, Karpenter NodePools, the cluster autoscaler's status.

Which of them a file is shows in what it holds; several can be given together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from planner.ground import typed_json
from planner.ground.errors import InputError
from planner.ground.quantity import parse
from planner.ground.records import replace
from planner.ground.well_known_names import KARPENTER_CAPACITY_TYPE, ZONE
from planner.inventory.cloud_quotas import Quota, is_quotas, quotas_of
from planner.inventory.documents import objects_of, values_of
from planner.inventory.gke_allocatable import gke_machine
from planner.inventory.instance_types import InstanceType, Offering
from planner.inventory.pool_limits import LimitSource, PoolLimits, limits_of
from planner.inventory.records.node_autoscaling import NODE_POOL
from planner.inventory.records.read_context import Shared
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import FrozenMap, Requirement, Snapshot
from planner.sources import bounded_reading, demo, gcloud_node_pools
from planner.sources.prices import machine_shape

LARGEST_BYTES: Final = 64 * 2**20  # of one file: a thousand pools have less than one MiB
_STATUS_NAME: Final = "cluster-autoscaler-status"
_FIX: Final = (
    "Give gcloud container node-pools list --format=json, kubectl get nodepools.karpenter.sh -o json, "
    "or kubectl get configmap cluster-autoscaler-status -n kube-system -o json; quotas: gcloud compute regions describe REGION "
    "--format=json, az vm list-usage -l REGION -o json, aws service-quotas list-service-quotas --service-code ec2"
)
# Before 1.30 the status was text: "Name: ng1", then "(minSize=1, maxSize=7)". Source: kubernetes/autoscaler#6375.
_TEXT_GROUP: Final = re.compile(
    r"^\s*Name:\s+(\S+)\s*$(?:(?!^\s*Name:).)*?\(min(?:Size)?=(\d+), max(?:Size)?=(\d+)\)", re.MULTILINE | re.DOTALL
)


def stated(snapshot: Snapshot, limits: Sequence[PoolLimits] = ()) -> tuple[PoolLimits, ...]:
    """What is said of the cluster's pools: `limits`, else what comes with the demo; of pools without nodes what their machine is."""
    all_limits = tuple(limits) or (_of_demo() if demo.is_demo(snapshot) else ())
    used_pools = {node_pool(node) for node in snapshot.nodes}
    return tuple(
        limit if limit.name in used_pools or not limit.machine_type else _with_machine(limit) for limit in all_limits
    )


def _with_machine(pool: PoolLimits) -> PoolLimits:
    """A GKE pool of a known machine type, with what such a node has."""
    shape = machine_shape(pool.machine_type) if pool.source in (LimitSource.GCLOUD, LimitSource.GKE_API) else None
    if shape is None:
        return pool
    vcpus, memory_gib, built_in = shape
    machine = gke_machine(
        pool.machine_type, vcpus=vcpus, memory_gib=memory_gib, gpus=pool.gpus_a_node or built_in,
        disk_gib=pool.disk_gib, pods=pool.pods_a_node,
    )  # fmt: skip
    return replace(pool, machine=machine)


@cache
def _of_demo() -> tuple[PoolLimits, ...]:
    return read(demo.node_pools_file())


def read(path: str | Path) -> tuple[PoolLimits, ...]:
    """The pools a file speaks of.

    Raises
    ------
    InputError
        When the file can't be read or holds none of what it may.
    """
    return read_bytes(bounded_reading.read_file(path, limit=LARGEST_BYTES), name=Path(path).name)


def read_bytes(data: bytes, *, name: str) -> tuple[PoolLimits, ...]:
    """The same from an upload's bytes."""
    text = bounded_reading.text_of(data, name, limit=LARGEST_BYTES, fix=_FIX)
    try:
        return _read_text(text, name)
    except InputError as error:
        where = name if not error.where or error.where == name else f"{name}, {error.where}"
        raise InputError(error.what, where=where, fix=error.fix or _FIX) from None


def _read_text(text: str, name: str) -> tuple[PoolLimits, ...]:
    limits: list[PoolLimits] = []
    types: list[InstanceType] = []
    quotas: list[Quota] = []
    for document in objects_of(text, name):
        if isinstance(document.get("nodePools"), list):
            limits.extend(gcloud_node_pools.pool_limits(document))
        elif document.get("kind") == "NodePool" and str(document.get("apiVersion", "")).startswith("karpenter.sh/"):
            limits.append(_karpenter(document))
        elif document.get("kind") == "ConfigMap" and _mapping(document.get("metadata")).get("name") == _STATUS_NAME:
            limits.extend(_autoscaler_status(str(_mapping(document.get("data")).get("status", ""))))
        elif "config" in document and "name" in document:
            limits.extend(gcloud_node_pools.pool_limits([document]))
        elif "offerings" in document and ("resources" in document or "capacity" in document):
            types.append(_instance_type(document))
        elif is_quotas(document):
            quotas.extend(quotas_of(document))
    if types:
        limits.append(PoolLimits(name="", source=LimitSource.INSTANCE_TYPES, instance_types=tuple(types)))
    if quotas:
        limits.append(PoolLimits(name="", source=LimitSource.QUOTAS, quotas=tuple(quotas)))
    if not limits:
        raise InputError("it speaks of no node pool", where=name, fix=_FIX)
    return tuple(limits)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


# ── Karpenter ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _karpenter(document: Mapping[str, Any]) -> PoolLimits:
    try:
        return limits_of(NODE_POOL.read(Shared(), typed_json.convert(document, NODE_POOL.wire)))
    except msgspec.ValidationError as error:
        raise InputError(f"a NodePool isn't as Karpenter writes it: {error}", fix=_FIX) from None


def _requirements(value: Any) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            key=str(requirement.get("key", "")), operator=str(requirement.get("operator", "")),
            values=tuple(str(value) for value in _sequence(requirement.get("values"))),
        )
        for requirement in _sequence(value)
        if isinstance(requirement, Mapping)
    )  # fmt: skip


def _instance_type(document: Mapping[str, Any]) -> InstanceType:
    """Source: karpenter `kwok/cloudprovider/helpers.go` `InstanceTypeOptions`, which its own lists are written in;
    ``overhead`` and ``labels`` are ours, and may be left out."""
    capacity = {
        str(k): parse(v, str(k)) for k, v in _mapping(document.get("resources") or document.get("capacity")).items()
    }
    overhead = {str(k): parse(v, str(k)) for k, v in _mapping(document.get("overhead")).items()}
    systems = _sequence(document.get("operatingSystems"))
    return InstanceType(
        name=str(document.get("name", "")),
        capacity=FrozenMap(capacity),
        overhead=FrozenMap(overhead) if overhead else None,
        architecture=str(document.get("architecture") or "amd64"),
        operating_system=str(systems[0]) if systems else "linux",
        offerings=tuple(filter(None, (_offering(each) for each in _sequence(document.get("offerings"))))),
        labels=FrozenMap({str(k): str(v) for k, v in _mapping(document.get("labels")).items()}),
    )


def _offering(document: Any) -> Offering | None:
    """None for one that isn't available."""
    offering_fields = {str(key).lower(): value for key, value in _mapping(document).items()}
    if not offering_fields or offering_fields.get("available") is False:
        return None
    values_by_key = {each.key: each.values for each in _requirements(offering_fields.get("requirements"))}
    price = offering_fields.get("price")
    return Offering(
        zone=next(iter(values_by_key.get(ZONE, ())), ""),
        capacity_type=next(iter(values_by_key.get(KARPENTER_CAPACITY_TYPE, ())), ""),
        usd_per_hour=float(price) if isinstance(price, int | float) else None,
    )


# ── cluster autoscaler ───────────────────────────────────────────────────────────────────────────────────────────────
def _autoscaler_status(text: str) -> Iterable[PoolLimits]:
    """One entry a group of nodes, under the cloud's name of it; `planner.capacity.node_pools` finds the pool.

    YAML since 1.30, text before. Source: kubernetes/autoscaler `cluster-autoscaler/clusterstate/api/types.go`.
    """
    groups = _status_groups(text)
    if not groups:
        raise InputError("the status names no group of nodes", where=_STATUS_NAME, fix=_FIX)
    for name, low, high in groups:
        short = name.rstrip("/").rsplit("/", 1)[-1]
        yield PoolLimits(
            name=short, source=LimitSource.AUTOSCALER_STATUS, minimum=low, maximum=high, is_autoscaled=True,
            group_names=(short,),
        )  # fmt: skip


def _status_groups(text: str) -> list[tuple[str, int, int]]:
    if "nodeGroups:" in text:
        status = _mapping(next(iter(values_of(text, _STATUS_NAME)), None))
        groups = []
        for group in _sequence(status.get("nodeGroups")):
            health = _mapping(_mapping(group).get("health"))
            low, high = health.get("minSize"), health.get("maxSize")
            if isinstance(low, int) and isinstance(high, int):
                groups.append((str(_mapping(group).get("name", "")), low, high))
        return groups
    return [(match[1], int(match[2]), int(match[3])) for match in _TEXT_GROUP.finditer(text)]
