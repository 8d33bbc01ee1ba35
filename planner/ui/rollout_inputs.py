"""Inputs of the page Rollout: widgets for the change, each a parameter of its URL."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.capacity.what_if_syntax import FORMS, ChangeKind, text_of
from planner.ground import words
from planner.ground.quantity import format_amount
from planner.ground.setting_declarations import setting_of
from planner.ground.well_known_names import CPU, MEMORY
from planner.kubernetes.autoscaler_replica_bounds import autoscaler_of
from planner.kubernetes.object_records import Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.workload_kinds import CANARY, RECREATE, ROLLING_TEXT, ROLLING_UPDATE, kind_called
from planner.questions.rollout import RolloutSettings, gpu_resource_of
from planner.rollout import answers
from planner.rollout.scaled_cluster import At
from planner.spot.savings_inputs import workloads
from planner.ui import errors, link, page_filter, pool_limit_inputs
from planner.ui.settings_form import SettingsForm

_OF_ONE_WORKLOAD = ("max_surge", "max_unavailable", "cpu", "memory", "gpu", "node_selector", "patch", "request", "limit")  # fmt: skip
_ON_GRID = ("strategy", "max_surge", "max_unavailable")
_CHANGE = "Change it: replicas, pod, patch, a manifest, growth of pools, what happens meanwhile"
_LONGEST_TEXT = 200_000  # letters of a patch or manifest
_BY_WORKLOAD, _BY_MANIFEST = "workload", "manifest"


def pick(snapshot: Snapshot) -> str:
    """The workload looked at; "" where there is none: then a manifest can be asked about. Those with most GPUs at stake stand
    first: which can't be rolled out is another view's question, and no visitor waits for it here."""
    every = [workload.key for workload in by_stake(snapshot)]
    # Jobs too, for what spot saves; where nothing rolls out a manifest is asked about.
    if every or "workload" in st.query_params:
        every += [workload.key for workload in workloads(snapshot) if workload.key not in every]
    # a pod that no workload made, by a link to its health
    if (named := st.query_params.get("workload", "")) not in every and named in workload_keys(snapshot).values():
        every.append(named)
    if not every:
        return ""
    keys = page_filter.offered(snapshot, every, key="workload")
    return link.select("Workload", keys, key="workload", on_change=_forget, label_visibility="collapsed")


def rolls_out(snapshot: Snapshot, key: str) -> bool:
    """Whether there is a rollout to ask about: of a workload that has one, and of a manifest."""
    workload = snapshot.workload(key) if key else None
    return not key or (workload is not None and workload.traits.rolls_out)


def by_stake(snapshot: Snapshot) -> list[Workload]:
    """Workloads that roll out; those that run first, and among them those with most GPUs, then most replicas."""

    def gpus(workload: Workload) -> int:
        return workload.replicas * requested_gpus(workload.template.spec)

    offered = [workload for workload in snapshot.workloads if workload.traits.rolls_out]
    return sorted(offered, key=lambda w: (w.replicas > 0 and not w.ready_replicas, -gpus(w), -w.replicas, w.key))


def settings(snapshot: Snapshot, key: str, place: DeltaGenerator) -> RolloutSettings:
    """The widgets of what is changed, in one fold, and what they ask; the strategy is chosen on its grid too. `place`: of the answer,
    where there is nothing to ask about.

    Raises
    ------
    HeadroomError
        When a text typed or a parameter of the URL can't be read.
    """
    widgets = SettingsForm(RolloutSettings)
    workload = snapshot.workload(key) if key else None
    also: tuple[str, ...] = ()
    by = st.session_state.get("by", st.query_params.get("by"))
    is_open = workload is None or link.lacks("patch") or by == _BY_MANIFEST
    with widgets.more(_CHANGE, is_open=is_open, but=("workload", "runs", "seed"), seen=_ON_GRID) as is_drawn:
        # Drawn only where it is open, or where the question is asked in it: each field costs the browser and the
        # server.
        if is_drawn or is_open:
            is_drawn = True
            ways = (_BY_WORKLOAD, _BY_MANIFEST) if workload else (_BY_MANIFEST,)
            if link.segments("Change", ways, key="by") == _BY_MANIFEST:
                workload = None
        if is_drawn and workload is not None:
            _numbers(widgets, workload, rolls=_choices(widgets, workload, snapshot))
            _more(widgets, workload)
            keys = page_filter.offered(snapshot, [workload.key for workload in by_stake(snapshot)], key="also")
            also = link.choices(
                "Rolled out together with", [other_key for other_key in keys if other_key != key], key="also", placeholder="nothing else",
                help="Several workloads changed in one moment, as helm upgrade does: they share the free capacity.",
            )  # fmt: skip
        elif is_drawn:
            widgets.show(
                "manifest", height=240, max_chars=_LONGEST_TEXT,
                placeholder="apiVersion: apps/v1\nkind: Deployment\n…",
                help="What kubectl apply -f would get: several documents, new workloads too. It isn't part of the link, only its digest is.",
            )  # fmt: skip
        if is_drawn:
            pool_limit_inputs.growth(widgets)
            widgets.show("then", placeholder="2m:add:POOL=1; 10m:job-ends:NAMESPACE/NAME", help=_MEANWHILE)
    if workload is not None:
        return widgets.settings(workload=(workload.key,), also=also)
    widgets.check()
    if "manifest" not in widgets.values and not key:
        what = f"this snapshot has no {ROLLING_TEXT}; whether they were asked for is told under What was read"
        errors.nothing(
            "Nothing to roll out", f"{what}. Paste a manifest under Change it to ask about what it would bring", place
        )
    if "manifest" not in widgets.values:
        errors.nothing("Nothing asked yet", "paste a manifest under Change it, or change a workload instead", place)
    return widgets.settings()


def _choices(widgets: SettingsForm[RolloutSettings], workload: Workload, snapshot: Snapshot) -> bool:
    """The strategy and, where an autoscaler scales it, from which replicas; whether pods are replaced step by step."""
    chosen = workload.strategy.kind
    if not workload.traits.is_custom:  # another project's strategies are written in its own fields: a patch
        chosen = widgets.show("strategy", options=workload.traits.strategies, default=chosen)
        if chosen == workload.strategy.kind:
            widgets.forget("strategy")  # nothing is asked: what was worked out for today's answers it
    scaler = autoscaler_of(snapshot, workload.key)
    if scaler is not None:
        names = {At.TODAY: "today's", At.LOWEST: f"lowest, {scaler.minimum}", At.HIGHEST: f"highest, {scaler.maximum}"}
        widgets.show("at", words=names, help=f"Played from there: {scaler.kind} {scaler.name} scales it.")
    return chosen in (CANARY, ROLLING_UPDATE)


def _numbers(widgets: SettingsForm[RolloutSettings], workload: Workload, *, rolls: bool) -> None:
    """What is changed most: side by side, or below each other on a phone."""
    kind, strategy = kind_called(workload.kind), workload.strategy
    with st.grid(min_column_width=200, gap="small"):
        widgets.show(
            "max_surge", placeholder=f"{_or_none(strategy.max_surge)} now", disabled=not rolls or not kind.can_surge,
            help="Pods above the wanted number: 1 or 25%.",
        )  # fmt: skip
        widgets.show(
            "max_unavailable", placeholder=f"{_or_none(strategy.max_unavailable)} now", disabled=not rolls,
            help="Pods that may be missing meanwhile: 1 or 25%.",
        )  # fmt: skip
        if not rolls:
            widgets.forget("max_surge", "max_unavailable")
        widgets.show("replicas", placeholder=f"{workload.replicas} now", disabled=kind.is_per_node)


def _more(widgets: SettingsForm[RolloutSettings], workload: Workload) -> None:
    spec = workload.template.spec
    gpu, now = gpu_resource_of(workload), pod_requests(spec)
    with st.grid(min_column_width=200, gap="small"):
        for name, resource, label in (("cpu", CPU, ""), ("memory", MEMORY, ""), ("gpu", gpu, f"{gpu} per pod")):
            widgets.show(name, label=label, placeholder=f"{format_amount(now.get(resource, 0), resource)} now")
        selector = ", ".join(f"{name}={value}" for name, value in spec.node_selector.items())
        widgets.show("node_selector", placeholder=selector or "none now")
        widgets.show("startup_seconds", placeholder="learnt from its pods")
        widgets.show("termination_seconds", placeholder="its grace period")
        widgets.show("scale_only")
        widgets.show("never_ready", help="What a broken image or a failing probe would do.")
    widgets.show("patch", height=140, max_chars=_LONGEST_TEXT, placeholder="spec:\n  strategy: …")


_ADOPTED = "_adopted"  # the strategy was chosen by hand: its film plays


def is_adopted() -> bool:
    """Whether a strategy was chosen just now, on its grid or by a button."""
    return bool(st.session_state.pop(_ADOPTED, False))


def adopt_strategy(pair: Sequence[int], kind: str) -> None:
    """Set the widgets to a strategy, maxSurge and maxUnavailable of a cell of the grid or what stands for Recreate; for callbacks.
    `kind`: of the strategy so far, which stays as it is where the new one's is the same."""
    is_recreate = tuple(pair) == answers.RECREATE
    st.session_state[_ADOPTED] = True
    if (new := RECREATE if is_recreate else ROLLING_UPDATE) != kind:
        st.session_state["strategy"] = new
    if not is_recreate:
        for name, number in zip(("max_surge", "max_unavailable"), pair, strict=True):
            # Its field was never drawn, and a first value that isn't the link's never gets there.
            if name not in st.session_state:
                st.query_params[name] = str(number)
            st.session_state[name] = str(number)


def forget_strategy() -> None:
    """Back to the workload's own strategy; for callbacks."""
    st.session_state["max_surge"] = st.session_state["max_unavailable"] = ""
    st.session_state.pop("strategy", None)


def adopt_patch(patch: str) -> None:
    """Put a remedy's patch into the what-if panel; for callbacks."""
    _forget()
    st.session_state["patch"] = patch


def differs(settings: RolloutSettings, workload: Workload | None) -> str:
    """What is asked for beside today's, in the words of the link: ``maxSurge 0, maxUnavailable 1; today 25%, 25%``."""
    if workload is None:
        return ""
    strategy, parts, now = workload.strategy, [], []
    for name, today in (
        ("strategy", strategy.kind), ("max_surge", strategy.max_surge), ("max_unavailable", strategy.max_unavailable),
        ("replicas", workload.replicas),
    ):  # fmt: skip
        chosen = getattr(settings, name)
        if chosen is not None and (name != "strategy" or chosen.value != today):
            parts.append(f"{setting_of(RolloutSettings, name).label} {chosen.value if name == 'strategy' else chosen}")
            now.append(_or_none(today))
    others = ("cpu", "memory", "gpu", "node_selector", "startup_seconds", "termination_seconds")
    parts += [setting_of(RolloutSettings, name).label for name in others if getattr(settings, name) is not None]
    parts += [f"at its {settings.at} replicas"] if settings.at is not At.TODAY else []
    parts += [flag_text for name, flag_text in _FLAGS.items() if getattr(settings, name)]
    parts += [f"meanwhile {text_of(settings.meanwhile.then)}"] if settings.meanwhile.then else []
    parts += [f"together with {words.count(len(settings.also), 'other workload')}"] if settings.also else []
    return f"{', '.join(parts)}{'; today ' + ', '.join(now) if now else ''}"


_MEANWHILE = "What else happens while it goes on, each after its time (90s, 2m, 1h30m): " + "; ".join(
    FORMS[kind][0] for kind in FORMS if kind is not ChangeKind.APPLY
)
_FLAGS = {"patch": "a patch", "scale_only": "only scaled", "never_ready": "new pods that never become Ready"}


def back_to_today() -> None:
    """Take every what-if away; for callbacks."""
    _forget()
    st.session_state["also"] = []
    st.session_state["then"] = ""
    st.session_state["by"] = _BY_WORKLOAD


def _forget() -> None:
    """Another workload: what was typed for the one before doesn't carry over."""
    for key in _OF_ONE_WORKLOAD:
        st.session_state[key] = ""
    link.forget_private("patch")
    for key in ("replicas", "startup_seconds", "termination_seconds"):
        st.session_state[key] = None
    for key in ("scale_only", "never_ready"):
        st.session_state[key] = False
    st.session_state.pop("strategy", None)
    st.session_state.pop("at", None)


def _or_none(share: int | str | None) -> str:
    return "none" if share is None else str(share)
