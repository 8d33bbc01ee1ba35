"""Reads GKE node pools: ``gcloud container node-pools list --format=json``, or live through google-cloud-container."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planner.ground.errors import InputError, SourceError
from planner.inventory.pool_limits import LimitSource, PoolLimits, UpgradeSettings, UpgradeStrategy
from planner.kubernetes.object_records import FrozenMap, Taint

_EFFECTS: Final = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
_CLUSTER: Final = re.compile(r"projects/[^/]+/locations/[^/]+/clusters/[^/]+\Z")
_WRITE: Final = "Write it with gcloud container node-pools list --cluster=NAME --location=PLACE --format=json"
_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)s\Z")


def pool_limits(document: Any, *, source: LimitSource = LimitSource.GCLOUD) -> tuple[PoolLimits, ...]:
    """The pools in gcloud's JSON.

    Raises
    ------
    InputError
        When it isn't a list of node pools.
    """
    pools = document.get("nodePools") if isinstance(document, Mapping) else document
    if not isinstance(pools, Sequence) or isinstance(pools, str):
        raise InputError("it is no list of node pools", where="node pools", fix=_WRITE)
    return tuple(_pool(pool, place, source) for place, pool in enumerate(pools))


def _pool(pool: Any, place: int, source: LimitSource) -> PoolLimits:
    """Source: container.googleapis.com v1 `NodePool`; ``maxNodeCount`` is a zone's, ``totalMaxNodeCount`` the pool's."""
    where = f"node pool {place + 1}"
    if not isinstance(pool, Mapping) or not isinstance(pool.get("name"), str):
        raise InputError("it has no name", where=where, fix=_WRITE)
    where = f"node pool {pool['name']}"
    config = _mapping(pool.get("config"), where)
    zones = tuple(str(zone) for zone in _list(pool.get("locations"), where))
    scaling = _mapping(pool.get("autoscaling"), where)
    is_autoscaled = scaling.get("enabled") is True
    per_zone = _number(scaling.get("maxNodeCount"), where) if is_autoscaled else None
    lowest = _number(scaling.get("minNodeCount"), where) if is_autoscaled else None
    total_max = _number(scaling.get("totalMaxNodeCount"), where) if is_autoscaled else None
    total_min = _number(scaling.get("totalMinNodeCount"), where) if is_autoscaled else None
    # The two exclude each other: where the pool has a number of its own, a zone has none.
    if total_max:
        per_zone = None
    first = _mapping(next(iter(_list(config.get("accelerators"), where)), None), where)
    reservation = _mapping(config.get("reservationAffinity"), where)
    return PoolLimits(
        name=pool["name"],
        source=source,
        minimum=total_min if total_max else _times(lowest, zones),
        maximum=total_max or _times(per_zone, zones),
        is_autoscaled=is_autoscaled,
        maximum_per_zone=per_zone,
        balances=scaling.get("locationPolicy") != "ANY",
        zones=zones,
        machine_type=str(config.get("machineType") or ""),
        disk_gib=_number(config.get("diskSizeGb"), where),
        pods_a_node=_number(_mapping(pool.get("maxPodsConstraint"), where).get("maxPodsPerNode"), where),
        accelerator=str(first.get("acceleratorType") or ""),
        gpus_a_node=_number(first.get("acceleratorCount"), where) or 0,
        shares=next((field for field in ("gpuPartitionSize", "gpuSharingConfig") if first.get(field)), ""),
        provisioning=_provisioning(config),
        reservation=", ".join(str(value) for value in _list(reservation.get("values"), where)),
        upgrade=_upgrade(_mapping(pool.get("upgradeSettings"), where), where),
        labels=FrozenMap({str(k): str(v) for k, v in _mapping(config.get("labels"), where).items()}),
        taints=tuple(
            Taint(
                key=str(taint.get("key") or ""),
                value=str(taint.get("value") or ""),
                effect=_EFFECTS.get(str(taint.get("effect")), "NoSchedule"),
            )
            for taint in _list(config.get("taints"), where)
            if isinstance(taint, Mapping)
        ),
    )


def _times(per_zone: int | None, zones: tuple[str, ...]) -> int | None:
    return None if per_zone is None else per_zone * max(1, len(zones))


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError("a part of it isn't an object", where=where, fix=_WRITE)
    return value


def _list(value: Any, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InputError(f'"{str(value)[:40]}" is not a list', where=where, fix=_WRITE)
    return value


def _number(value: Any, where: str) -> int | None:
    """int64 fields come as text in JSON."""
    if value is None or value == "":
        return None
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f'"{text[:40]}" is not a number of nodes', where=where, fix=_WRITE)
    return int(text)


def _provisioning(config: Mapping[str, Any]) -> str:
    if config.get("flexStart") is True:
        return "flex-start"
    if config.get("preemptible") is True:
        return "preemptible"
    return "spot" if config.get("spot") is True else "on-demand"


def _upgrade(settings: Mapping[str, Any], where: str) -> UpgradeSettings:
    if str(settings.get("strategy", "SURGE")) != "BLUE_GREEN":
        surge = _number(settings.get("maxSurge"), where)
        unavailable = _number(settings.get("maxUnavailable"), where) or 0
        return UpgradeSettings(
            max_surge=1 if surge is None and not settings else surge or 0, max_unavailable=unavailable
        )
    blue_green = _mapping(settings.get("blueGreenSettings"), where)
    policy = _mapping(blue_green.get("standardRolloutPolicy"), where)
    return UpgradeSettings(
        strategy=UpgradeStrategy.BLUE_GREEN,
        max_surge=0,
        max_unavailable=0,
        batch_nodes=_number(policy.get("batchNodeCount"), where),
        soak_seconds=_seconds(blue_green.get("nodePoolSoakDuration")),
    )


def _seconds(text: Any) -> float | None:
    match = _SECONDS.match(str(text or ""))
    return float(match[1]) if match else None


def read_live(cluster: str, *, endpoint: str = "", timeout_seconds: float = 60.0) -> tuple[PoolLimits, ...]:
    """The pools of a live GKE cluster; asks for ``container.clusters.get`` and nothing more.

    Parameters
    ----------
    cluster : str
        ``projects/PROJECT/locations/PLACE/clusters/NAME``.
    endpoint : str
        Another server than container.googleapis.com, asked without credentials.

    Raises
    ------
    InputError
        When `cluster` isn't written like that.
    SourceError
        When the library isn't there, no credentials are, or the API doesn't answer.
    """
    if not _CLUSTER.match(cluster):
        raise InputError(
            f'"{cluster[:80]}" is not the name of a GKE cluster',
            fix="Write projects/PROJECT/locations/PLACE/clusters/NAME",
        )
    try:
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError
        from google.cloud import container_v1
    except ImportError:
        raise SourceError(
            "google-cloud-container isn't installed",
            where="GKE API",
            fix="Install headroom-planner[gke], or use gcloud's JSON",
        ) from None
    try:
        answer = _client(container_v1, endpoint).list_node_pools(parent=cluster, timeout=timeout_seconds)
    except GoogleAuthError as error:
        raise SourceError(
            "no Google credentials can be used", where="GKE API", fix='Run "gcloud auth application-default login"'
        ) from error
    except GoogleAPICallError as error:
        raise SourceError(
            f"it answered {error.code}: {str(error.message)[:200]}", where="GKE API",
            fix="Check the cluster's name and that you may see it (container.clusters.get)",
        ) from error  # fmt: skip
    document = container_v1.ListNodePoolsResponse.to_dict(
        answer, preserving_proto_field_name=False, use_integers_for_enums=False
    )
    return pool_limits(document, source=LimitSource.GKE_API)


def _client(container_v1: Any, endpoint: str) -> Any:
    if not endpoint:
        return container_v1.ClusterManagerClient()
    import grpc  # type: ignore[import-untyped]

    transport = container_v1.services.cluster_manager.transports.ClusterManagerGrpcTransport(
        channel=grpc.insecure_channel(endpoint)
    )
    return container_v1.ClusterManagerClient(transport=transport)
