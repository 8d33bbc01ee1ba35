"""Inputs of a page for node pools' limits and the autoscaler, kept in its URL."""

from __future__ import annotations

import streamlit as st

from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.inventory.pool_limits import PoolLimits, parse_typed_limits
from planner.kubernetes.node_properties import ARRIVAL_WORDS
from planner.kubernetes.object_records import Snapshot
from planner.questions.capacity import CapacitySettings
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.sources import node_pool_files
from planner.ui import errors, session_cluster, session_prices, uploads
from planner.ui.settings_form import SettingsForm

_POOLS = "_pool_limits"  # limits read from a file uploaded for a cluster
_TYPED = "_typed_limits"
_LIMITS = "gpu-t4=8, web=2-12"
_AUTOSCALER = ("expander", "expendable_pods_priority_cutoff", "new_pod_delay_seconds", "new_gpu_pod_delay_seconds")


def stated(snapshot: Snapshot) -> tuple[PoolLimits, ...]:
    """Limits of pools that came with the cluster or were uploaded for it in this session."""
    return node_pool_files.stated(session_cluster.as_read(snapshot), uploads.kept(_POOLS, (), of=snapshot))


def settings(snapshot: Snapshot) -> CapacitySettings:
    """Limits typed by hand; those of files are uploaded beside them (`given`)."""
    widgets = SettingsForm(CapacitySettings)
    with st.expander("How far node pools may grow", icon=":material/trending_up:"):
        if not stated(snapshot):
            st.caption("Pools' limits aren't known yet: give a file, or type limits. Until then growth is unknown.")
        widgets.show("limits", placeholder=_LIMITS)
        uploads.ask(
            "gcloud container node-pools list (JSON), Karpenter NodePools with a list of instance types, the "
            "cluster-autoscaler-status ConfigMap, the cloud's quotas",
            key=_POOLS, types=["json", "yaml", "yml"], nothing=(), of=snapshot,
            read=lambda files: tuple(limit for name, content in files for limit in node_pool_files.read_bytes(content, name=name)),
        )  # fmt: skip
    return widgets.settings()


def typed() -> tuple[PoolLimits, ...]:
    """Limits typed by hand, on this page or the last one that asks for them; what can't be read is told beside its field."""
    text = st.session_state.get("limits", st.query_params.get("limits", st.session_state.get(_TYPED))) or ""
    st.session_state[_TYPED] = text
    try:
        return parse_typed_limits(text)
    except HeadroomError:
        return ()


def given(snapshot: Snapshot) -> Inputs:
    """What files say of node pools."""
    return Inputs(limits=stated(snapshot))


def priced(inputs: Inputs) -> Inputs:
    """With prices, where they can be read."""
    try:
        return replace(inputs, book=session_prices.book())
    except HeadroomError as error:
        errors.show(error)
        return inputs


def shape() -> str:
    """The shape typed, as it is written in the URL."""
    widgets = SettingsForm(CapacitySettings)
    widgets.show("shape", label="Another shape", placeholder="gpu=2,cpu=8,memory=64Gi")
    return str(widgets.values.get("shape", ""))


def growth(widgets: SettingsForm[RolloutSettings]) -> None:
    """How far node pools may grow and how long a new node takes, as settings of a rollout."""
    with st.grid(min_column_width=200, gap="small"):
        widgets.show("limits", placeholder=_LIMITS, help="Limits from a file are given on What fits.")
        widgets.show("arrival_seconds", placeholder=ARRIVAL_WORDS)
        for name in _AUTOSCALER:
            widgets.show(name)
