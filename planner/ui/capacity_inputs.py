"""What is known of node pools' limits, and the lists of changes: inputs that live in the URL."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from planner.capacity.changes import FORMS, Change, ChangeKind, parse_change, parse_changes, text_of
from planner.capacity.node_pools import NodePool
from planner.ground import words
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import replace
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.kinds import kind_called
from planner.kubernetes.nodes import ARRIVAL_WORDS, zone
from planner.kubernetes.records import Snapshot
from planner.questions.capacity import CapacitySettings
from planner.questions.question import Given
from planner.questions.rollout import RolloutSettings
from planner.questions.what_if import WhatIfSettings
from planner.serve.processes.identity import identity
from planner.sources import node_pools
from planner.ui import errors, prices, uploads
from planner.ui.asked import Asked

_POOLS = "_pool_limits"  # limits read from a file uploaded for a cluster
_CHANGES = "changes"
_LIMITS = "gpu-t4=8, web=2-12"
_AUTOSCALER = ("expander", "expendable_pods_priority_cutoff", "new_pod_delay_seconds", "new_gpu_pod_delay_seconds")
_QUICK_NODES = 2_000  # above, rollouts of all workloads take seconds


def stated(snapshot: Snapshot) -> tuple[PoolLimits, ...]:
    """Limits of pools that came with the cluster or were uploaded for it in this session."""
    return node_pools.stated(snapshot, uploads.kept(_POOLS, (), of=identity(snapshot)))


def settings(snapshot: Snapshot) -> CapacitySettings:
    """Limits typed by hand; those of files are uploaded beside them (`given`)."""
    asked = Asked(CapacitySettings)
    with st.expander("How far node pools may grow", icon=":material/trending_up:"):
        if not stated(snapshot):
            st.caption("Pools' limits aren't known yet: give a file, or type limits. Until then growth is unknown.")
        asked.show("limits", placeholder=_LIMITS)
        known = uploads.ask(
            "gcloud container node-pools list (JSON), Karpenter NodePools with a list of instance types, the "
            "cluster-autoscaler-status ConfigMap, the cloud's quotas",
            key=_POOLS, types=["json", "yaml", "yml"], nothing=(), of=identity(snapshot),
            read=lambda files: tuple(one for name, data in files for one in node_pools.read_bytes(data, name=name)),
        )  # fmt: skip
        if known:
            pools = sum(bool(limits.name) for limits in known)
            types = sum(len(limits.instance_types) for limits in known)
            quotas = sum(len(limits.quotas) for limits in known)
            parts = [
                words.count(pools, "pool") + " with limits" if pools else "",
                words.count(types, "instance type") if types else "",
                words.count(quotas, "quota") if quotas else "",
            ]
            st.caption(f"{', '.join(filter(None, parts))}, from the files.")
    return asked.settings()


def given(snapshot: Snapshot) -> Given:
    """What files say of node pools."""
    return Given(limits=stated(snapshot))


def priced(known: Given) -> Given:
    """With prices, where they can be read."""
    try:
        return replace(known, book=prices.book())
    except HeadroomError as error:
        errors.show(error)
        return known


def shape() -> str:
    """The shape typed, as it is written in the URL."""
    asked = Asked(CapacitySettings)
    asked.show("shape", label="Another shape", placeholder="gpu=2,cpu=8,memory=64Gi")
    return str(asked.values.get("shape", ""))


def growth(asked: Asked[RolloutSettings]) -> None:
    """How far node pools may grow and how long a new node takes, as settings of a rollout."""
    with st.grid(min_column_width=200, gap="small"):
        asked.show("limits", placeholder=_LIMITS, help="Limits from a file are given on What fits.")
        asked.show("arrival_seconds", placeholder=ARRIVAL_WORDS)
        for name in _AUTOSCALER:
            asked.show(name)


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def changes(asked: Asked[WhatIfSettings], snapshot: Snapshot, known: Sequence[NodePool]) -> tuple[Change, ...]:
    """The list of changes: built by clicking, kept as one text in the URL.

    Raises
    ------
    HeadroomError
        When a link's text isn't a list of changes.
    """
    kind = st.selectbox(
        "Add a change", list(_LABEL), format_func=_LABEL.__getitem__, key="_change_kind", width=420
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = _asked(ChangeKind(kind), snapshot, [pool.name for pool in known if pool.nodes])
        st.button("Add", key="add-change", icon=":material/add:", on_click=_with, args=(text,), disabled=not text)
    found: tuple[Change, ...] = asked.show(_CHANGES, help="Separated by ; as in a link.") or ()
    asked.check()
    for place, change in enumerate(found):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(f"{place + 1}. {words.literal(str(change))}", color="blue")
            st.button(
                "Remove", key=f"remove-{place}", icon=":material/close:", type="tertiary", on_click=_without,
                args=(place,),
            )  # fmt: skip
    return found


def with_rollouts(asked: Asked[WhatIfSettings], snapshot: Snapshot) -> None:
    """Whether every workload's own rollout is compared too: quick up to a few thousand nodes."""
    asked.show("rollouts", default=len(snapshot.nodes) <= _QUICK_NODES)


_LABEL = {
    ChangeKind.ADD: "Add nodes to a pool",
    ChangeKind.DRAIN: "Drain nodes",
    ChangeKind.UNCORDON: "Uncordon nodes",
    ChangeKind.EVICT: "Evict a pod",
    ChangeKind.MOVE: "Move a pod to a node",
    ChangeKind.DELETE: "Lose nodes",
    ChangeKind.UPGRADE: "Upgrade a pool",
    ChangeKind.REMOVE_ZONE: "Lose a zone",
    ChangeKind.STOPS_ANSWERING: "Nodes stop answering",
    ChangeKind.ANSWERS: "Nodes answer again",
    ChangeKind.FORCE_DELETE: "Delete a pod by force",
    ChangeKind.TAINT: "Taint a pool or a node",
    ChangeKind.UNTAINT: "Take a taint off a pool or a node",
    ChangeKind.RESIZE: "Resize a workload",
}


def _asked(kind: ChangeKind, snapshot: Snapshot, names: list[str]) -> str:
    """The widgets of one kind of change; "" while something is missing."""
    if kind is ChangeKind.ADD:
        pool, count = _pick("Pool", names), st.number_input("Nodes", 1, 1000, 1, key="_count", width=140)
        return f"add:{pool}={count}" if pool else ""
    nodes = [node.name for node in snapshot.nodes]
    of_nodes = (
        ChangeKind.DRAIN,
        ChangeKind.UNCORDON,
        ChangeKind.DELETE,
        ChangeKind.STOPS_ANSWERING,
        ChangeKind.ANSWERS,
    )
    if kind in of_nodes:
        target = _pick("Node or pool", [*(f"pool/{pool}" for pool in names), *nodes])
        return f"{kind}:{target}" if target else ""
    if kind in (ChangeKind.EVICT, ChangeKind.MOVE, ChangeKind.FORCE_DELETE):
        pod = _pick("Pod", [f"{pod.namespace}/{pod.name}" for pod in snapshot.pods if pod.holds_room])
        to = _pick("Node", nodes, key="_to_node") if kind is ChangeKind.MOVE else ""
        return f"{kind}:{pod}" + (f"={to}" if to else "") if pod and (to or kind is not ChangeKind.MOVE) else ""
    if kind is ChangeKind.UPGRADE:
        pool = _pick("Pool", names)
        settings = st.text_input(
            "Settings", key="_settings", placeholder="as the pool says; surge:1,unavailable:0,quota:2"
        )
        return f"upgrade:{pool}" + (f"={settings}" if settings else "") if pool else ""
    if kind is ChangeKind.REMOVE_ZONE:
        place = _pick("Zone", sorted({zone(node) for node in snapshot.nodes} - {""}))
        return f"remove-zone:{place}" if place else ""
    if kind is ChangeKind.TAINT:
        pool = _pick("Pool or node", [*names, *(f"node/{name}" for name in nodes)])
        key = st.text_input("Taint", key="_taint", placeholder="team", width=200)
        effect = st.selectbox("Effect", ("NoSchedule", "NoExecute", "PreferNoSchedule"), key="_effect", width=200)
        return f"taint:{pool}={key}:{effect}" if pool and key else ""
    if kind is ChangeKind.UNTAINT:
        known = sorted({taint.key for node in snapshot.nodes for taint in node.taints})
        pool = _pick("Pool or node", [*names, *(f"node/{name}" for name in nodes)])
        key = _pick("Taint", known, key="_known_taint")
        return f"untaint:{pool}={key}" if pool and key else ""
    rolling = [w.key for w in snapshot.workloads if kind_called(w.kind).has_replicas]
    workload = _pick("Workload", rolling)
    sizes = st.text_input("To", key="_sizes", placeholder="cpu:2,memory:8Gi,replicas:4")
    return f"resize:{workload}={sizes}" if workload and sizes else ""


def _pick(label: str, options: list[str], key: str = "") -> str:
    return st.selectbox(label, options, key=key or f"_pick_{label}", width=320) or ""


def _with(text: str) -> None:
    """A change added to the list; one that can't be read is told beside the list."""
    now = str(st.session_state.get(_CHANGES) or "")
    try:
        text = str(parse_change(text))
    except InputError as error:
        st.toast(f"△ {words.literal(str(error))}")
        return
    st.session_state[_CHANGES] = f"{now};{text}" if now else text


def _without(place: int) -> None:
    kept = [change for i, change in enumerate(parse_changes(str(st.session_state.get(_CHANGES) or ""))) if i != place]
    st.session_state[_CHANGES] = text_of(kept)


def forms() -> list[dict[str, object]]:
    """How changes are written, for those who type them."""
    return [{"written": form, "does": what} for form, what in FORMS.values()]
