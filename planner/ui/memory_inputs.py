"""What the Memory page asks: how the kubelets are set up, which node to look at, and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from planner.inventory import cadvisor
from planner.inventory.cadvisor import NodeMemoryStats
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.qos import running_containers
from planner.kubernetes.records import Snapshot
from planner.memory.kubelet import (
    DEFAULT_THROTTLING_FACTOR,
    THRESHOLD_DEFAULTS,
    KubeletSettings,
    ReservationPolicy,
    SwapBehavior,
    Threshold,
    ThresholdDefaults,
    parse_threshold,
)
from planner.memory.nodes import ClusterMemory, NodeReport
from planner.memory.what_if import MemoryChange
from planner.quantity import parse
from planner.ui import link
from planner.vocabulary import GKE_NODE_POOL, MEMORY

_GIB: Final = 2**30
_AS_NOW: Final = "as now"
_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfInputs:
    """`change` is None where no workload is changed."""

    change: MemoryChange | None
    settings: KubeletSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletInputs:
    """`stats`: the kubelets' own metrics, where somebody gave them."""

    settings: KubeletSettings
    stats: tuple[NodeMemoryStats, ...]


def kubelet(snapshot: Snapshot) -> KubeletInputs:
    """How the kubelets are set up now; Kubernetes' defaults until somebody says otherwise."""
    with st.expander("How the kubelets are set up (defaults unless you change them)", icon=":material/tune:"):
        names = [one.name for one in THRESHOLD_DEFAULTS]
        on_gke = any(GKE_NODE_POOL in node.labels for node in snapshot.nodes)
        chosen = link.segments("Thresholds' defaults", names, key="defaults", default=names[on_gke])
        defaults = next(one for one in THRESHOLD_DEFAULTS if one.name == chosen)
        hard, soft = _thresholds(defaults)
        st.caption(f"Source of the defaults: {defaults.source}.")
        with st.container(horizontal=True):
            memory_qos = link.toggle("MemoryQoS feature", key="qos", help="Alpha, off by default (KEP-2570)")
            tiered = link.toggle(
                "TieredReservation", key="tiered", help="memory.min / memory.low from requests", disabled=not memory_qos
            )
            swap = link.toggle(
                "LimitedSwap",
                key="swap",
                help="Swap for Burstable containers, in proportion to their request (KEP-2400)",
            )
        left, middle = st.columns(2)
        with left:
            factor = link.number(
                "Memory throttling factor",
                key="factor",
                least=0.01,
                most=1,
                default=DEFAULT_THROTTLING_FACTOR,
                whole=False,
                step=0.05,
            )
        with middle:
            swap_gib = link.number("Swap of each node, GiB", key="swap_gib", least=0, most=10_000, default=0)
        stats = _stats()
    settings = KubeletSettings(
        memory_qos=memory_qos,
        reservation_policy=ReservationPolicy.TIERED if tiered and memory_qos else ReservationPolicy.NONE,
        throttling_factor=factor or DEFAULT_THROTTLING_FACTOR,
        swap_behavior=SwapBehavior.LIMITED_SWAP if swap else SwapBehavior.NO_SWAP,
        swap_bytes=int(swap_gib or 0) * _GIB,
        hard=hard,
        soft=soft,
    )
    return KubeletInputs(settings=settings, stats=stats)


def _stats() -> tuple[NodeMemoryStats, ...]:
    """Kubelets' own metrics, one file a node; kept in this session only, so not part of a link."""
    files = st.file_uploader(
        "Kubelets' own metrics (optional): tell file cache from anonymous memory, and what the system uses",
        accept_multiple_files=True,
        key="_kubelet_metrics",
        help="One file a node: kubectl get --raw /api/v1/nodes/NODE/proxy/metrics/cadvisor",
    )
    return tuple(cadvisor.parse(one.getvalue().decode("utf-8", "replace")) for one in files)


def _thresholds(defaults: ThresholdDefaults) -> tuple[Threshold | None, Threshold | None]:
    """The hard and the soft threshold; an empty input is the default, "0%" is none."""
    left, right = st.columns(2)
    with left:
        hard = link.text(
            "Hard: memory.available <",
            _Typed,
            key="hard",
            placeholder=str(defaults.hard),
            help='"100Mi", "5%", or "0%" for none',
        )
    with right:
        soft = link.text(
            "Soft: memory.available <",
            _Typed,
            key="soft",
            placeholder=str(defaults.soft or "none"),
            help='"500Mi", "10%", or "0%" for none',
        )
    return hard.value if hard else defaults.hard, soft.value if soft else defaults.soft


class _Typed:
    """A threshold that was typed, so that "none" differs from nothing typed."""

    def __init__(self, text: str) -> None:
        self.value = parse_threshold(text)


def node(cluster: ClusterMemory) -> NodeReport:
    """The node to look at: the nearest to eviction until another one is chosen. There has to be one."""
    by_name = {one.name: one for one in cluster.nodes}
    return by_name[link.select("Node", list(by_name), key="node", help="The nearest to eviction first")]


def size_gib() -> float:
    """The size of the file or heap that the page-cache table asks about."""
    return (
        link.number(
            "Size of a file, or of a heap, GiB",
            key="size_gib",
            least=0.1,
            most=10_000,
            default=4,
            whole=False,
            step=1.0,
        )
        or 4
    )


def what_if(snapshot: Snapshot, settings: KubeletSettings) -> WhatIfInputs:
    """A workload's other request and limit, and other settings of the kubelets."""
    keys = workload_keys(snapshot)
    bound = {keys[pod.uid]: pod for pod in snapshot.pods if pod.holds_room}
    left, right = st.columns(2)
    with left:
        workload = link.select("Change the memory of", [_NOTHING, *sorted(bound)], key="workload")
    change = None
    if workload != _NOTHING:
        with right:
            names = [one.name for one in running_containers(bound[workload].spec)]
            container = link.select("Container", names, key="container")
        change = _change(workload, container)
    return WhatIfInputs(change=None if change is None or change.is_empty else change, settings=_changed(settings))


def _change(workload: str, container: str) -> MemoryChange:
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    with left:
        request = link.text(
            "Memory request", _memory, key="request", placeholder=_AS_NOW, help='"2Gi"; "0" takes it away'
        )
    with middle:
        limit = link.text("Memory limit", _memory, key="limit", placeholder=_AS_NOW, help='"4Gi"; "0" takes it away')
    with right:
        equal_cpu = link.toggle(
            "CPU limit = request", key="equal_cpu", help="With equal memory too, the class is Guaranteed"
        )
    return MemoryChange(
        workload=workload, container=container, request_bytes=request, limit_bytes=limit, equal_cpu=equal_cpu
    )


def _memory(text: str) -> int:
    return parse(text, MEMORY)


def _changed(now: KubeletSettings) -> KubeletSettings:
    """The kubelets' settings after the change; each is as now until chosen."""
    first, second = st.columns(2)
    with first:
        feature = link.segments("MemoryQoS", [_AS_NOW, "off", "on", "tiered"], key="then_qos")
    with second:
        swapping = link.segments("Swap", [_AS_NOW, "off", "limited"], key="then_swap")
    with first:
        factor = link.number(
            "Throttling factor", key="then_factor", least=0.01, most=1, whole=False, step=0.05, placeholder=_AS_NOW
        )
    with second:
        swap_gib = link.number("Swap of each node, GiB", key="then_swap_gib", least=0, most=10_000, placeholder=_AS_NOW)
    policies = {_AS_NOW: now.reservation_policy, "tiered": ReservationPolicy.TIERED}
    behaviours = {_AS_NOW: now.swap_behavior, "limited": SwapBehavior.LIMITED_SWAP}
    return KubeletSettings(
        memory_qos=now.memory_qos if feature == _AS_NOW else feature != "off",
        reservation_policy=policies.get(feature, ReservationPolicy.NONE),
        throttling_factor=now.throttling_factor if factor is None else factor,
        swap_behavior=behaviours.get(swapping, SwapBehavior.NO_SWAP),
        swap_bytes=now.swap_bytes if swap_gib is None else int(swap_gib) * _GIB,
        hard=now.hard,
        soft=now.soft,
    )
