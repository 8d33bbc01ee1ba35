"""A kubelet's memory settings: features, swap and eviction thresholds, with Kubernetes' defaults.

Sources: kubernetes 1.36 `pkg/kubelet/apis/config/v1beta1/defaults.go` and `validation/validation.go`,
`pkg/kubelet/eviction/defaults_linux.go`, `pkg/kubelet/eviction/helpers.go` (`parseThresholdStatement`),
`pkg/kubelet/eviction/api/types.go` (`GetThresholdQuantity`); KEP-2570 (MemoryQoS), KEP-2400 (swap). Of 1.37: `test/e2e_node/memory_qos_test.go`
(MemoryQoS is on, and without a factor no memory.high is set).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

import numpy as np

from planner.ground import well_known_names
from planner.ground.errors import InputError, QuantityError
from planner.ground.quantity import format_amount, parse
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.kubernetes.object_records import Node

_PERCENT = re.compile(r"\d+(\.\d+)?%\Z", re.ASCII)


class ReservationPolicy(StrEnum):
    """``memoryReservationPolicy``: whether requests become memory.min / memory.low. Needs the MemoryQoS feature."""

    NONE = "None"
    TIERED = "TieredReservation"  # memory.min for Guaranteed pods, memory.low for Burstable ones


class SwapBehavior(StrEnum):
    """``memorySwap.swapBehavior``."""

    NO_SWAP = "NoSwap"
    LIMITED_SWAP = "LimitedSwap"  # Burstable containers get swap in proportion to their request


class Threshold(Record):
    """An eviction threshold for ``memory.available``: a number of bytes, or a share of the node's capacity."""

    amount_bytes: int = 0
    percent: float | None = None

    def of(self, capacity_bytes: int) -> int:
        """The threshold in bytes on a node of `capacity_bytes`; the kubelet keeps the percentage in 32 bits."""
        if self.percent is None:
            return self.amount_bytes
        return int(float(capacity_bytes) * float(np.float32(self.percent) / np.float32(100)))

    def __str__(self) -> str:
        return (
            format_amount(self.amount_bytes, well_known_names.MEMORY) if self.percent is None else f"{self.percent:g}%"
        )


def parse_threshold(text: str) -> Threshold | None:
    """``"100Mi"`` or ``"5%"`` as the kubelet reads it; ``"0%"`` and ``"100%"`` stand for no threshold: None.

    Raises
    ------
    InputError
        For what the kubelet refuses to start with.
    """
    fix = 'Write it like "100Mi" or "5%"'
    if text in ("0%", "100%"):
        return None
    if text.endswith("%"):
        if not _PERCENT.match(text) or float(text[:-1]) > 100:
            raise InputError(f'"{text[:40]}" is not a share from 0% to 100%', where="eviction threshold", fix=fix)
        return Threshold(percent=float(text[:-1]))
    try:
        amount = parse(text, well_known_names.MEMORY)
    except QuantityError as error:
        raise InputError(error.what, where="eviction threshold", fix=fix) from error
    if amount <= 0:
        raise InputError("a threshold of 0 is refused by the kubelet", where="eviction threshold", fix=fix)
    return Threshold(amount_bytes=amount)


DEFAULT_HARD: Final = Threshold(amount_bytes=100 * 2**20)  # kubernetes pkg/kubelet/eviction/defaults_linux.go, 1.36
DEFAULT_THROTTLING_FACTOR: Final = 0.9  # kubernetes pkg/kubelet/apis/config/v1beta1/defaults.go, 1.36


THRESHOLD_SOURCES: Final = {
    "kubelet": "kubernetes 1.36 pkg/kubelet/eviction/defaults_linux.go: memory.available<100Mi, no soft threshold",
    "GKE": "the reference of a node pool's kubeletConfig.evictionSoft, which names 100Mi as GKE's default hard threshold "
    "(https://pub.dev/documentation/pulumi_gcp/latest/container/ClusterNodePoolNodeConfigKubeletConfigEvictionSoft-class.html, "
    "read 2026-11-20); no soft threshold unless evictionSoft is set",
}
"""Where no thresholds: who says what they are then. It is the same on both."""


class KubeletSettings(Record):
    """The kubelet's configuration, the same for every node asked about. The defaults are Kubernetes' own.

    `swap_bytes` is the swap of each node (a snapshot doesn't say). `hard` is None when memory has no hard threshold.
    """

    memory_qos: bool = setting(
        False,
        label="MemoryQoS feature",
        help="The kubelets have the MemoryQoS feature on (KEP-2570): alpha and off up to 1.36; beta and on since 1.37, "
        "which sets nothing unless memoryThrottlingFactor or memoryReservationPolicy is given.",
    )
    reservation_policy: ReservationPolicy = setting(
        ReservationPolicy.NONE, name="reservation", label="memoryReservationPolicy",
        help="Their memoryReservationPolicy: memory.min and memory.low from requests.",
    )  # fmt: skip
    throttling_factor: float = setting(
        DEFAULT_THROTTLING_FACTOR, label="Memory throttling factor", least=0.01, most=1,
        help="Their memoryThrottlingFactor: 0.9 by default up to 1.36, none since 1.37.",
    )  # fmt: skip
    swap_behavior: SwapBehavior = setting(
        SwapBehavior.NO_SWAP, label="Swap",
        help="Their memorySwap.swapBehavior: swap for Burstable containers, in proportion to their request (KEP-2400).",
    )  # fmt: skip
    swap_bytes: int = setting(
        0,
        name="swap",
        label="Swap of each node",
        form="Q",
        parse=lambda text: parse(text, well_known_names.MEMORY),
        help="Swap of each node, such as 8Gi.",
    )
    hard: Threshold | None = setting(
        DEFAULT_HARD, label="Hard: memory.available <", form="Q", parse=parse_threshold,
        help='evictionHard memory.available: "100Mi" or "5%"; "0%" is none.',
    )  # fmt: skip
    soft: Threshold | None = setting(
        None, label="Soft: memory.available <", form="Q", parse=parse_threshold,
        help='evictionSoft memory.available: "500Mi" or "10%"; "0%" is none.',
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not 0 < self.throttling_factor <= 1:
            raise InputError(
                f"the memory throttling factor is {self.throttling_factor}", fix="Give more than 0 and at most 1"
            )
        if self.reservation_policy is ReservationPolicy.TIERED and not self.memory_qos:
            raise InputError("TieredReservation needs the MemoryQoS feature", fix="Turn MemoryQoS on, or choose None")
        if self.swap_bytes < 0:
            raise InputError("swap can't be negative", fix="Give 0 or more")


class NodeMemory(Record):
    """A node's memory as the kubelet counts it."""

    capacity_bytes: int
    allocatable_bytes: int
    swap_bytes: int = 0


def node_memory(node: Node, settings: KubeletSettings) -> NodeMemory:
    """What `node` has. A node that states no allocatable has all of its capacity, as the kubelet starts with."""
    capacity = node.capacity.get(well_known_names.MEMORY, node.allocatable.get(well_known_names.MEMORY, 0))
    return NodeMemory(
        capacity_bytes=capacity,
        allocatable_bytes=node.allocatable.get(well_known_names.MEMORY, capacity),
        swap_bytes=settings.swap_bytes,
    )
