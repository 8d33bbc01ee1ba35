"""How the kubelets are set up, which node to look at, and what to change of a workload's memory."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.health.memory.kubelet import (
    DEFAULT_HARD,
    THRESHOLD_SOURCES,
    KubeletSettings,
    ReservationPolicy,
    SwapBehavior,
)
from planner.health.memory.node_memory import ClusterMemory, NodeReport
from planner.health.memory.what_if import MemoryChange
from planner.inventory import cadvisor
from planner.inventory.cadvisor import NodeMemoryStats
from planner.kubernetes.nodes import is_gke
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.qos import running_containers
from planner.kubernetes.records import Snapshot
from planner.questions.memory import MemoryWhatIfSettings, change_of
from planner.serve.processes.snapshot_fingerprint import identity
from planner.sources import bounded_reading
from planner.ui import link, uploads
from planner.ui.settings_form import SettingsForm

_GIB: Final = 2**30
_AS_NOW: Final = "as now"
_METRICS: Final = "_kubelet_metrics"
OF_NODES: Final = frozenset({"node", "size_gib"})
"""Parameters of the link that look at one node."""
OF_WHAT_IF: Final = frozenset(
    {"container", "request", "limit", "equal_cpu", "then_qos", "then_swap", "then_factor", "then_swap_gib"}
)
"""Parameters of the link that change a workload's memory or the kubelets."""


def kubelet(snapshot: Snapshot) -> tuple[KubeletSettings, tuple[NodeMemoryStats, ...]]:
    """How the kubelets are set up now, Kubernetes' defaults until a user says otherwise; and their own metrics, where a user gave
    them."""
    widgets = SettingsForm(KubeletSettings)
    with widgets.more("How the kubelets are set up (defaults unless you change them)") as is_drawn:
        if is_drawn:
            names = list(THRESHOLD_SOURCES)
            on_gke = any(is_gke(node) for node in snapshot.nodes)
            chosen = link.segments("Thresholds' defaults", names, key="defaults", default=names[on_gke])
            with st.grid(2):
                widgets.show("hard", placeholder=str(DEFAULT_HARD))
                widgets.show("soft", placeholder="none")
            st.caption(f"Source of the defaults: {THRESHOLD_SOURCES[chosen]}.")
            with st.container(horizontal=True, vertical_alignment="bottom"):
                memory_qos = widgets.show("memory_qos")
                widgets.show("reservation", disabled=not memory_qos)
                widgets.show("swap_behavior")
            if not memory_qos:
                widgets.forget("reservation")
            with st.grid(2):
                widgets.show("throttling_factor", step=0.05)
                widgets.show("swap", placeholder="none")
            uploads.ask(  # kept in this session only, so not part of a link
                "Kubelets' own metrics (optional): tell file cache from anonymous memory, and what the system uses",
                key=_METRICS, nothing=(), of=identity(snapshot),
                help="One file a node: kubectl get --raw /api/v1/nodes/NODE/proxy/metrics/cadvisor",
                read=lambda files: tuple(
                    cadvisor.parse(bounded_reading.checked(content, name).decode("utf-8", "replace"), name) for name, content in files
                ),
            )  # fmt: skip
    return widgets.settings(), uploads.kept(_METRICS, (), of=identity(snapshot))


def node(cluster: ClusterMemory) -> NodeReport:
    """The node to look at: the nearest to eviction until another one is chosen. There has to be one."""
    by_name = {node_report.name: node_report for node_report in cluster.nodes}
    return by_name[link.select("Node", list(by_name), key="node", help="The nearest to eviction first")]


def look_at(name: str) -> None:
    """Look at the node of that name; for callbacks."""
    st.session_state["node"] = name


def size_gib() -> float:
    """The size of the file or heap that the page-cache table asks about."""
    label = "Size of a file, or of a heap, GiB"
    return link.number(label, key="size_gib", least=0.1, most=10_000, default=4, whole=False, step=1.0) or 4


def what_if(snapshot: Snapshot, key: str, settings: KubeletSettings) -> tuple[MemoryChange | None, KubeletSettings]:
    """The workload's other request and limit, None where none is changed; and other settings of the kubelets."""
    keys = workload_keys(snapshot)
    pod = next((pod for pod in snapshot.pods if pod.holds_room and keys[pod.uid] == key), None)
    change = None
    if pod is not None:
        names = [container.name for container in running_containers(pod.spec)]
        container = link.select("Container", names, key="container")
        widgets = SettingsForm(MemoryWhatIfSettings)
        with st.grid(3, vertical_alignment="bottom"):
            widgets.show("request", placeholder=_AS_NOW, help='"2Gi"; "0" removes it')
            widgets.show("limit", placeholder=_AS_NOW, help='"4Gi"; "0" removes it')
            widgets.show("equal_cpu", help="With equal memory too, the class is Guaranteed")
        change = change_of(snapshot, widgets.settings(workload=key, container=container))
    return None if change is None or change.is_empty else change, _changed(settings)


def _changed(now: KubeletSettings) -> KubeletSettings:
    """The kubelets' settings after the change; each is as now until chosen."""
    with st.grid(2):
        feature = link.segments("MemoryQoS", [_AS_NOW, "off", "on", "tiered"], key="then_qos")
        swapping = link.segments("Swap", [_AS_NOW, "off", "limited"], key="then_swap")
        factor = link.number(
            "Throttling factor", key="then_factor", least=0.01, most=1, whole=False, step=0.05, placeholder=_AS_NOW
        )
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
