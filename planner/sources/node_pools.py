"""Files that say how far node pools may grow: gcloud's JSON, Karpenter NodePools, the cluster autoscaler's status.

Which of them a file is shows in what it holds; several can be given together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from planner.ground import typed
from planner.ground.errors import InputError
from planner.ground.quantity import parse
from planner.ground.records import replace
from planner.ground.vocabulary import KARPENTER_CAPACITY_TYPE, ZONE
from planner.inventory.documents import objects_of, values_of
from planner.inventory.gke_nodes import gke_machine
from planner.inventory.instance_types import InstanceType, Offering
from planner.inventory.pool_limits import LimitSource, PoolLimits, limits_of
from planner.inventory.quotas import Quota, is_quotas, quotas_of
from planner.inventory.records.shared import Shared
from planner.inventory.records.spare import NODE_POOL
from planner.kubernetes.nodes import node_pool
from planner.kubernetes.records import FrozenMap, Requirement, Snapshot
from planner.sources import bounded, demo, gcloud
from planner.sources.prices import machine_shape

LARGEST_BYTES: Final = 64 * 2**20  # of one file: a thousand pools have less than one MiB
_STATUS_NAME: Final = "cluster-autoscaler-status"
_MEND: Final = (
    "Give gcloud container node-pools list --format=json, kubectl get nodepools.karpenter.sh -o json, "
    "or kubectl get configmap cluster-autoscaler-status -n kube-system -o json; quotas: gcloud compute regions describe REGION "
    "--format=json, az vm list-usage -l REGION -o json, aws service-quotas list-service-quotas --service-code ec2"
)
# Before 1.30 the status was text: "Name: ng1", then "(minSize=1, maxSize=7)". Source: kubernetes/autoscaler#6375.
_TEXT_GROUP: Final = re.compile(
    r"^\s*Name:\s+(\S+)\s*$(?:(?!^\s*Name:).)*?\(min(?:Size)?=(\d+), max(?:Size)?=(\d+)\)", re.MULTILINE | re.DOTALL
)


def stated(snapshot: Snapshot, given: Sequence[PoolLimits] = ()) -> tuple[PoolLimits, ...]:
    """What is said of the cluster's pools: `given`, else what comes with the demo; of pools without nodes what their machine is."""
    known = tuple(given) or (_of_demo() if demo.is_demo(snapshot) else ())
    seen = {node_pool(node) for node in snapshot.nodes}
    return tuple(one if one.name in seen or not one.machine_type else _with_machine(one) for one in known)


def _with_machine(one: PoolLimits) -> PoolLimits:
    """A GKE pool whose machine type is known, with what such a node has."""
    shape = machine_shape(one.machine_type) if one.source in (LimitSource.GCLOUD, LimitSource.GKE_API) else None
    if shape is None:
        return one
    vcpus, memory_gib, built_in = shape
    machine = gke_machine(
        one.machine_type, vcpus=vcpus, memory_gib=memory_gib, gpus=one.gpus_a_node or built_in,
        disk_gib=one.disk_gib, pods=one.pods_a_node,
    )  # fmt: skip
    return replace(one, machine=machine)


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
    return read_bytes(bounded.read_file(path, limit=LARGEST_BYTES), name=Path(path).name)


def read_bytes(data: bytes, *, name: str) -> tuple[PoolLimits, ...]:
    """The same from an upload's bytes."""
    text = bounded.text_of(data, name, limit=LARGEST_BYTES, mend=_MEND)
    try:
        return _read_text(text, name)
    except InputError as error:
        where = name if not error.where or error.where == name else f"{name}, {error.where}"
        raise InputError(error.what, where=where, mend=error.mend or _MEND) from None


def _read_text(text: str, name: str) -> tuple[PoolLimits, ...]:
    found: list[PoolLimits] = []
    types: list[InstanceType] = []
    quotas: list[Quota] = []
    for one in objects_of(text, name):
        if isinstance(one.get("nodePools"), list):
            found.extend(gcloud.pool_limits(one))
        elif one.get("kind") == "NodePool" and str(one.get("apiVersion", "")).startswith("karpenter.sh/"):
            found.append(_karpenter(one))
        elif one.get("kind") == "ConfigMap" and _mapping(one.get("metadata")).get("name") == _STATUS_NAME:
            found.extend(_autoscaler_status(str(_mapping(one.get("data")).get("status", ""))))
        elif "config" in one and "name" in one:
            found.extend(gcloud.pool_limits([one]))
        elif "offerings" in one and ("resources" in one or "capacity" in one):
            types.append(_instance_type(one))
        elif is_quotas(one):
            quotas.extend(quotas_of(one))
    if types:
        found.append(PoolLimits(name="", source=LimitSource.INSTANCE_TYPES, instance_types=tuple(types)))
    if quotas:
        found.append(PoolLimits(name="", source=LimitSource.QUOTAS, quotas=tuple(quotas)))
    if not found:
        raise InputError("it speaks of no node pool", where=name, mend=_MEND)
    return tuple(found)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


# ── Karpenter ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _karpenter(one: Mapping[str, Any]) -> PoolLimits:
    """As one of a snapshot."""
    try:
        return limits_of(NODE_POOL.read(Shared(), typed.convert(one, NODE_POOL.wire)))
    except msgspec.ValidationError as error:
        raise InputError(f"a NodePool isn't as Karpenter writes it: {error}", mend=_MEND) from None


def _requirements(value: Any) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            key=str(one.get("key", "")), operator=str(one.get("operator", "")),
            values=tuple(str(value) for value in _sequence(one.get("values"))),
        )
        for one in _sequence(value)
        if isinstance(one, Mapping)
    )  # fmt: skip


def _instance_type(one: Mapping[str, Any]) -> InstanceType:
    """Source: karpenter `kwok/cloudprovider/helpers.go` `InstanceTypeOptions`, which its own lists are written in;
    ``overhead`` and ``labels`` are ours, and may be left out."""
    capacity = {str(k): parse(v, str(k)) for k, v in _mapping(one.get("resources") or one.get("capacity")).items()}
    overhead = {str(k): parse(v, str(k)) for k, v in _mapping(one.get("overhead")).items()}
    systems = _sequence(one.get("operatingSystems"))
    return InstanceType(
        name=str(one.get("name", "")),
        capacity=FrozenMap(capacity),
        overhead=FrozenMap(overhead) if overhead else None,
        architecture=str(one.get("architecture") or "amd64"),
        operating_system=str(systems[0]) if systems else "linux",
        offerings=tuple(filter(None, (_offering(each) for each in _sequence(one.get("offerings"))))),
        labels=FrozenMap({str(k): str(v) for k, v in _mapping(one.get("labels")).items()}),
    )


def _offering(one: Any) -> Offering | None:
    """None for one that isn't to be had."""
    told = {str(key).lower(): value for key, value in _mapping(one).items()}
    if not told or told.get("available") is False:
        return None
    wanted = {each.key: each.values for each in _requirements(told.get("requirements"))}
    price = told.get("price")
    return Offering(
        zone=next(iter(wanted.get(ZONE, ())), ""),
        capacity_type=next(iter(wanted.get(KARPENTER_CAPACITY_TYPE, ())), ""),
        usd_per_hour=float(price) if isinstance(price, int | float) else None,
    )


# ── cluster autoscaler ───────────────────────────────────────────────────────────────────────────────────────────────
def _autoscaler_status(text: str) -> Iterable[PoolLimits]:
    """One entry a group of nodes, under the cloud's name of it; `planner.capacity.node_pools` finds the pool.

    YAML since 1.30, text before. Source: kubernetes/autoscaler `cluster-autoscaler/clusterstate/api/types.go`.
    """
    groups = _status_groups(text)
    if not groups:
        raise InputError("the status names no group of nodes", where=_STATUS_NAME, mend=_MEND)
    for name, low, high in groups:
        short = name.rstrip("/").rsplit("/", 1)[-1]
        yield PoolLimits(
            name=short, source=LimitSource.AUTOSCALER_STATUS, minimum=low, maximum=high, is_autoscaled=True,
            group_names=(short,),
        )  # fmt: skip


def _status_groups(text: str) -> list[tuple[str, int, int]]:
    if "nodeGroups:" in text:
        status = _mapping(next(iter(values_of(text, _STATUS_NAME)), None))
        found = []
        for group in _sequence(status.get("nodeGroups")):
            health = _mapping(_mapping(group).get("health"))
            low, high = health.get("minSize"), health.get("maxSize")
            if isinstance(low, int) and isinstance(high, int):
                found.append((str(_mapping(group).get("name", "")), low, high))
        return found
    return [(match[1], int(match[2]), int(match[3])) for match in _TEXT_GROUP.finditer(text)]
