"""How long a pod has from its SIGTERM until its spot node is gone, by provider."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from planner.ground import vocabulary
from planner.kubernetes.nodes import is_gke
from planner.kubernetes.records import Node
from planner.spot.assumptions import Capacity

_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-gke\.(\d+))?")

# GKE: versions up to this one gave ordinary pods 25 of the 30 seconds, later ones 15.
_GKE_LAST_LONG: Final = (1, 22, 8, 200)
# GKE: from this control plane version on, the window of a Spot node pool can be raised.
_GKE_FIRST_RAISABLE: Final = (1, 35, 0, 1_171_000)

_GKE_SPOT: Final = "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/spot-vms (2026-11)"
_GKE_PREEMPTIBLE: Final = "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/preemptible-vms (2026-11)"
_GKE_AUTOPILOT: Final = "https://cloud.google.com/kubernetes-engine/docs/how-to/autopilot-spot-pods (2026-11)"
_EKS: Final = "Amazon EC2, Spot instance interruption notices: two minutes"
_AKS: Final = "https://learn.microsoft.com/azure/aks/node-auto-drain; Azure Scheduled Events: at least 30 seconds"


class Provider(StrEnum):
    GKE = "GKE"
    EKS = "EKS"
    AKS = "AKS"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """`seconds`: what an ordinary pod gets by default; `raisable_seconds`: what it can be raised to, None: it can't."""

    provider: Provider
    seconds: int
    raisable_seconds: int | None
    what: str
    source: str


def provider_of(nodes: Iterable[Node]) -> Provider:
    """Who runs these nodes, by their labels and provider ids; the first that tells decides. Google's VMs that GKE doesn't run
    (kOps) are nobody's here: what they get is GKE's shortest notice anyway."""
    for node in nodes:
        labels = node.labels
        if is_gke(node):
            return Provider.GKE
        if vocabulary.EKS_NODE_GROUP in labels or node.provider_id.startswith("aws://"):
            return Provider.EKS
        if vocabulary.AKS_AGENT_POOL in labels or node.provider_id.startswith("azure://"):
            return Provider.AKS
    return Provider.OTHER


def window_of(nodes: Iterable[Node], capacity: Capacity = Capacity.SPOT) -> Window:
    """The window on nodes like `nodes`; the shortest there is where their provider isn't known."""
    nodes = tuple(nodes)
    provider = provider_of(nodes)
    if provider is Provider.GKE:
        return _gke_window(nodes, capacity)
    if provider is Provider.EKS:
        return Window(
            provider=provider,
            seconds=120,
            raisable_seconds=None,
            what="EC2 gives notice two minutes ahead; a termination handler or Karpenter has to turn it into a drain",
            source=_EKS,
        )
    if provider is Provider.AKS:
        return Window(
            provider=provider,
            seconds=30,
            raisable_seconds=None,
            what="Azure announces the eviction at least 30 s ahead; AKS then drains the node, as well as it can",
            source=_AKS,
        )
    return Window(
        provider=provider,
        seconds=15,
        raisable_seconds=None,
        what="the nodes don't tell their provider; the shortest notice of GKE, EKS and AKS is taken",
        source=_GKE_SPOT,
    )


def _gke_window(nodes: tuple[Node, ...], capacity: Capacity) -> Window:
    versions = [version for node in nodes if (version := _gke_version(node.kubelet_version))]
    oldest = min(versions, default=None)
    if nodes and all(node.name.startswith("gk3-") for node in nodes):  # Autopilot's node names
        return Window(
            provider=Provider.GKE,
            seconds=25,
            raisable_seconds=None,
            what="Spot Pods on Autopilot get at most 25 s",
            source=_GKE_AUTOPILOT,
        )
    if oldest is not None and oldest <= _GKE_LAST_LONG:
        return Window(
            provider=Provider.GKE,
            seconds=25,
            raisable_seconds=None,
            what="GKE up to 1.22.8-gke.200 gives ordinary pods 25 of the 30 s",
            source=_GKE_PREEMPTIBLE,
        )
    can_raise = capacity is Capacity.SPOT and oldest is not None and oldest >= _GKE_FIRST_RAISABLE
    return Window(
        provider=Provider.GKE,
        seconds=15,
        raisable_seconds=120 if can_raise else None,
        what="GKE gives ordinary pods 15 of the 30 s before a preemption, the other 15 to system pods",
        source=_GKE_SPOT if capacity is Capacity.SPOT else _GKE_PREEMPTIBLE,
    )


@lru_cache(maxsize=1_024)
def _gke_version(text: str) -> tuple[int, int, int, int] | None:
    match = _VERSION.match(text)
    if match is None:
        return None
    major, minor, patch, gke = match.groups()
    return int(major), int(minor), int(patch), int(gke or 0)
