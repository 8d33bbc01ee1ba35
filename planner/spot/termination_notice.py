"""The termination notice by provider: how long a pod has from SIGTERM until its spot node is gone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.clouds import AUTOPILOT_PREFIX, GKE, clouds_of
from planner.kubernetes.clouds import GKE_NOTICE as _SPOT
from planner.kubernetes.object_records import Node
from planner.spot.assumptions import Capacity

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-gke\.(\d+))?")

# GKE: versions up to this one gave ordinary pods 25 of the 30 seconds, later ones 15.
_GKE_LAST_LONG: Final = (1, 22, 8, 200)
# GKE: from this control plane version on, the window of a Spot node pool can be raised.
_GKE_FIRST_RAISABLE: Final = (1, 35, 0, 1_171_000)

_GKE_PREEMPTIBLE: Final = "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/preemptible-vms (2026-11)"
_GKE_AUTOPILOT: Final = "https://cloud.google.com/kubernetes-engine/docs/how-to/autopilot-spot-pods (2026-11)"


class Provider(StrEnum):
    GKE = "GKE"
    EKS = "EKS"
    AKS = "AKS"
    OTHER = "other"


class Window(Record, kw_only=False):
    """`seconds`: what an ordinary pod gets by default; `raisable_seconds`: what it can be raised to, None: it can't."""

    provider: Provider
    seconds: int
    raisable_seconds: int | None
    what: str
    source: str


def window_of(nodes: Iterable[Node], capacity: Capacity = Capacity.SPOT) -> Window:
    """The window on nodes like `nodes`; the shortest there is where their provider isn't known."""
    nodes = tuple(nodes)
    cloud = next((notice_cloud for notice_cloud in clouds_of(nodes) if notice_cloud.notice), None)
    if cloud is GKE:
        return _gke_window(nodes, capacity)
    if cloud is not None and cloud.notice:
        return Window(Provider(cloud.name), cloud.notice.seconds, None, cloud.notice.what, cloud.notice.source)
    what = "the nodes don't tell their provider; the shortest notice of GKE, EKS and AKS is taken"
    return Window(Provider.OTHER, _SPOT.seconds, None, what, _SPOT.source)


def _gke_window(nodes: tuple[Node, ...], capacity: Capacity) -> Window:
    versions = [version for node in nodes if (version := _gke_version(node.kubelet_version))]
    # A pod may be on any of its nodes: the notice of the oldest kubelet counts.
    oldest = min(versions, default=None)
    if nodes and all(node.name.startswith(AUTOPILOT_PREFIX) for node in nodes):
        return Window(Provider.GKE, 25, None, "Spot Pods on Autopilot get at most 25 s", _GKE_AUTOPILOT)
    if oldest is not None and oldest <= _GKE_LAST_LONG:
        what = "GKE up to 1.22.8-gke.200 gives ordinary pods 25 of the 30 s"
        return Window(Provider.GKE, 25, None, what, _GKE_PREEMPTIBLE)
    can_raise = capacity is Capacity.SPOT and oldest is not None and oldest >= _GKE_FIRST_RAISABLE
    source = _SPOT.source if capacity is Capacity.SPOT else _GKE_PREEMPTIBLE
    return Window(Provider.GKE, _SPOT.seconds, 120 if can_raise else None, _SPOT.what, source)


@lru_cache(maxsize=1_024)
def _gke_version(text: str) -> tuple[int, int, int, int] | None:
    match = _VERSION.match(text)
    if match is None:
        return None
    major, minor, patch, gke = match.groups()
    return int(major), int(minor), int(patch), int(gke or 0)
