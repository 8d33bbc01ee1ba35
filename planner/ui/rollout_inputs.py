"""What is changed: the widgets of the Rollout page, each a parameter of its URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from planner import quantity
from planner.errors import ChangeError, HeadroomError
from planner.inventory.change import WorkloadChange
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.records import EMPTY, Amounts, FrozenMap, Labels, Snapshot, Workload
from planner.kubernetes.requests import pod_requests
from planner.quantity import format_amount
from planner.questions.overview import WorkloadOverview
from planner.questions.prepared import Scenario
from planner.rollout.answers import Verdict
from planner.ui import link
from planner.vocabulary import CPU, MEMORY, NVIDIA_GPU

T = TypeVar("T")

_KINDS = ("Deployment", "StatefulSet", "DaemonSet")
_STRATEGIES = {
    "Deployment": ("RollingUpdate", "Recreate"),
    "StatefulSet": ("RollingUpdate", "OnDelete"),
    "DaemonSet": ("RollingUpdate", "OnDelete"),
}
_OF_ONE_WORKLOAD = ("max_surge", "max_unavailable", "cpu", "memory", "gpu", "node_selector", "patch")
_MOST_REPLICAS = 100_000
_MOST_SECONDS = 86_400
_LONGEST_TEXT = 6_000  # letters of a patch or manifest that still make a link browsers take
_LABEL = re.compile(r"([\w./-]{1,317})\s*=\s*([\w.-]{0,63})", re.ASCII)  # about what the API server takes
_BY_WORKLOAD, _BY_MANIFEST = "workload", "manifest"


def pick(snapshot: Snapshot) -> tuple[str, tuple[str, ...]]:
    """The workload looked at, and those rolled out in the same moment. Those with most GPUs at stake stand first: which
    can't be rolled out is the Overview's question, and nobody waits for it here."""
    keys = [workload.key for workload in by_stake(snapshot)]
    if not keys:
        raise ChangeError(
            "this cluster has no Deployment, StatefulSet or DaemonSet",
            where=snapshot.source,
            mend="Make the snapshot with deployments, statefulsets and daemonsets in it (see Inventory)",
        )
    first, second = st.columns([3, 2])
    with first:
        key = link.select("Workload", keys, key="workload", on_change=_forget)
    with second:
        also = link.choices(
            "Rolled out together with", [k for k in keys if k != key], key="also", placeholder="nothing else",
            help="Several workloads changed in one moment, as helm upgrade does: they share the free capacity.",
        )  # fmt: skip
    return key, also


def by_stake(snapshot: Snapshot) -> list[Workload]:
    """Workloads that roll out; those that run first, and among them those with most GPUs, then most replicas."""

    def gpus(workload: Workload) -> int:
        requests = pod_requests(workload.template.spec)
        return workload.replicas * sum(amount for name, amount in requests.items() if is_gpu_resource(name))

    offered = [workload for workload in snapshot.workloads if workload.kind in _KINDS]
    return sorted(offered, key=lambda w: (w.replicas > 0 and not w.ready_replicas, -gpus(w), -w.replicas, w.key))


def by_trouble(lines: Sequence[WorkloadOverview]) -> list[WorkloadOverview]:
    """Workloads that can't be rolled out now first; among equals those that run, and those with most GPUs at stake."""
    rank = {Verdict.STUCK: 0, Verdict.NEEDS_GROWTH: 1, Verdict.UNKNOWN: 2, Verdict.COMPLETES: 3}
    offered = [line for line in lines if line.workload.partition("/")[0] in _KINDS]
    return sorted(
        offered, key=lambda line: (rank[line.verdict], not line.ready, -line.gpus, -line.replicas, line.workload)
    )


def scenario(snapshot: Snapshot, key: str, also: tuple[str, ...]) -> Scenario:
    """The widgets of the what-if panel, and what they ask.

    Raises
    ------
    HeadroomError
        When a text typed or a parameter of the URL can't be read.
    """
    st.subheader("What if …")
    if link.segments("Change", (_BY_WORKLOAD, _BY_MANIFEST), key="by") == _BY_MANIFEST:
        return _of_manifest()
    workload = snapshot.workload(key)
    assert workload is not None
    return Scenario(changes=(_change(workload), *(WorkloadChange(workload=other) for other in also)))


def _of_manifest() -> Scenario:
    manifest = link.text(
        "Manifest", str, key="manifest", area=True, height=320, max_chars=_LONGEST_TEXT,
        placeholder="apiVersion: apps/v1\nkind: Deployment\n…",
        help="What kubectl apply -f would get: several documents, new workloads too. Longer ones: headroom rollout -f.",
    )  # fmt: skip
    if not manifest:
        raise ChangeError("no manifest is given", mend="Paste one on the right, or change a workload instead")
    return Scenario(manifest=manifest)


def _change(workload: Workload) -> WorkloadChange:
    """All widgets are drawn before the first text that can't be read is told: they must not vanish."""
    strategy = workload.strategy
    refused: list[HeadroomError] = []
    kind = link.segments("Strategy", _STRATEGIES[workload.kind], key="strategy", default=strategy.kind)
    rolls = kind == "RollingUpdate"
    surge = _text(
        refused, "maxSurge", _share, key="max_surge", placeholder=f"{_or_none(strategy.max_surge)} now",
        disabled=not rolls or workload.kind == "StatefulSet", help="Pods above the wanted number: 1 or 25%.",
    )  # fmt: skip
    unavailable = _text(
        refused, "maxUnavailable", _share, key="max_unavailable", placeholder=f"{_or_none(strategy.max_unavailable)} now",
        disabled=not rolls, help="Pods that may be missing meanwhile: 1 or 25%.",
    )  # fmt: skip
    replicas = link.number(
        "Replicas", key="replicas", least=0, most=_MOST_REPLICAS, placeholder=f"{workload.replicas} now",
        disabled=workload.kind == "DaemonSet",
    )  # fmt: skip
    requests, node_selector, scales_only = _pod(workload, refused)
    startup, termination, never_ready = _time()
    with st.expander("Patch", icon=":material/edit_note:"):
        patch = link.text(
            "Strategic merge patch", str, key="patch", area=True, height=180, max_chars=_LONGEST_TEXT,
            placeholder="spec:\n  strategy: …", help="JSON or YAML, as kubectl patch takes it. Applied first.",
        )  # fmt: skip
    if refused:
        raise refused[0]
    return WorkloadChange(
        workload=workload.key,
        patch=patch or "",
        replicas=None if replicas is None else int(replicas),
        strategy_kind=None if kind == strategy.kind else kind,
        max_surge=surge if rolls else None,
        max_unavailable=unavailable if rolls else None,
        requests=requests,
        node_selector=node_selector,
        new_revision=not scales_only,
        never_ready=never_ready,
        startup_seconds=startup,
        termination_seconds=termination,
    )


def _text(refused: list[HeadroomError], label: str, parse: Callable[[str], T], **more: Any) -> T | None:
    """A text widget; what its parser refuses is added to `refused`."""
    try:
        return link.text(label, parse, **more)
    except HeadroomError as error:
        refused.append(error)
        return None


def _pod(workload: Workload, refused: list[HeadroomError]) -> tuple[Amounts, Labels | None, bool]:
    spec = workload.template.spec
    asked = {name for container in spec.containers for name in container.requests}
    gpu = next((name for name in sorted(asked) if is_gpu_resource(name)), NVIDIA_GPU)
    amounts: dict[str, int] = {}
    with st.expander("Pod and placement", icon=":material/deployed_code:"):
        for label, key, resource in (("CPU", "cpu", CPU), ("Memory", "memory", MEMORY), (gpu, "gpu", gpu)):
            now = sum(container.requests.get(resource, 0) for container in spec.containers)
            amount = _text(
                refused, f"{label} per pod", partial(quantity.parse, resource=resource), key=key,
                placeholder=f"{format_amount(now, resource)} now",
            )  # fmt: skip
            if amount is not None:
                amounts[resource] = amount
        selector = _text(
            refused, "Node selector", _labels, key="node_selector", help='key=value, key=value; "none" takes it away.',
            placeholder=", ".join(f"{name}={value}" for name, value in spec.node_selector.items()) or "none now",
        )  # fmt: skip
        scales_only = link.toggle(
            "Only scale", key="scale_only", help="Keep the pod template: no new revision, pods are added or removed."
        )
    return FrozenMap(amounts) if amounts else EMPTY, selector, scales_only


def _time() -> tuple[float | None, float | None, bool]:
    with st.expander("Time and readiness", icon=":material/timer:"):
        startup = link.number(
            "Start-up, seconds", key="startup_seconds", least=0, most=_MOST_SECONDS, placeholder="learnt from its pods",
            help="From bound to Ready. Learnt from the snapshot where it shows it.",
        )  # fmt: skip
        termination = link.number(
            "Termination, seconds", key="termination_seconds", least=0, most=_MOST_SECONDS,
            placeholder="its grace period", help="From deletion until the pod is gone and its GPU is free.",
        )  # fmt: skip
        never_ready = link.toggle(
            "New pods never become Ready", key="never_ready", help="What a broken image or a failing probe would do."
        )
    return startup, termination, never_ready


def adopt_strategy(max_surge: int, max_unavailable: int) -> None:
    """Set the widgets to a cell of the strategy grid; for callbacks."""
    st.session_state["strategy"] = "RollingUpdate"
    st.session_state["max_surge"], st.session_state["max_unavailable"] = str(max_surge), str(max_unavailable)


def adopt_recreate() -> None:
    """Set the strategy to Recreate; for callbacks."""
    st.session_state["strategy"] = "Recreate"


def adopt_patch(patch: str) -> None:
    """Put a remedy's patch into the what-if panel; for callbacks."""
    _forget()
    st.session_state["patch"] = patch


def _forget() -> None:
    """Another workload: what was typed for the one before doesn't carry over."""
    for key in _OF_ONE_WORKLOAD:
        st.session_state[key] = ""
    for key in ("replicas", "startup_seconds", "termination_seconds"):
        st.session_state[key] = None
    for key in ("scale_only", "never_ready"):
        st.session_state[key] = False
    st.session_state.pop("strategy", None)


def _or_none(share: int | str | None) -> str:
    return "none" if share is None else str(share)


def _share(typed: str) -> int | str:
    if not re.fullmatch(r"\d{1,6}%?", typed):
        raise ChangeError(f'"{typed[:40]}" is neither a number nor a percentage', mend='Write it like "1" or "25%"')
    return typed if typed.endswith("%") else int(typed)


def _labels(typed: str) -> Labels:
    if typed.lower() == "none":
        return EMPTY
    pairs = [_LABEL.fullmatch(part.strip()) for part in typed.split(",")]
    if not all(pairs):
        raise ChangeError(f'"{typed[:60]}" is not a node selector', mend='Write it like "disk=ssd, zone=a"')
    return FrozenMap({pair[1]: pair[2] for pair in pairs if pair})
