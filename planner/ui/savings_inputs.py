"""What the savings estimate assumes: one widget an assumption, each a parameter of the page's URL.

Fields left empty take what the cluster or the price book says; it stands in them in grey.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.ground.settings import Setting
from planner.kubernetes.records import Snapshot
from planner.questions.savings import SavingsSettings
from planner.spot import savings_inputs as spot_inputs
from planner.spot.assumptions import COUNTED, LOSSES, POOL, SETTINGS, SIMULATION, WORK, Capacity, Fallback, Work
from planner.spot.savings_inputs import Derived
from planner.ui import cache, prices
from planner.ui.settings_form import SettingsForm

_ONLY_JOBS = frozenset({"job_minutes", "checkpoint_minutes", "checkpoint_seconds", "late_factor", "retries"})
_ONLY_SERVING = frozenset({"request_seconds"})
_WORD: dict[str, str] = {
    Capacity.SPOT: "spot",
    Capacity.PREEMPTIBLE: "preemptible",
    Work.JOBS: "jobs",
    Work.SERVING: "serving",
    Fallback.WAIT: "wait",
    Fallback.ON_DEMAND: "buy on demand",
}
_COUNTED = {"", *COUNTED}  # the label says it already


def derived(snapshot: Snapshot, key: str) -> Derived:
    """What the cluster and the prices say of the workload."""
    return cache.answer(spot_inputs.derive, snapshot, prices.book(), key)


def settings(derived_inputs: Derived) -> SavingsSettings:
    """What the widgets say; a field left empty takes what the cluster or the price book says."""
    form = SettingsForm(SavingsSettings)
    with st.container(border=True, gap="small"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            work = form.show(
                "work", words=_WORD, default=derived_inputs.work, help=f"Guessed: {derived_inputs.work_source}."
            )
            if Capacity.PREEMPTIBLE not in derived_inputs.unsold:
                form.show("capacity", label="Buy instead", words=_WORD, default=derived_inputs.capacity)
            form.show(
                "fallback",
                words=_WORD,
                default=Fallback.ON_DEMAND,
                help="Wait for one, or let on-demand nodes stand in.",
            )
        open_group = next((setting.group for setting in SETTINGS if setting.name in st.query_params), None)
        with form.more("Assumptions", but=("workload",)) as is_drawn:
            if is_drawn:
                _assumptions(form, work, derived_inputs, open_group)
    return form.settings(workload=derived_inputs.workload)


def _assumptions(
    widgets: SettingsForm[SavingsSettings], work: Work, derived_assumptions: Derived, open_group: str | None
) -> None:
    """Every number that an estimate rests on, by what it is about; `open_group`: the group that is in sight at first."""
    pool, losses, jobs, simulation = st.tabs([POOL, LOSSES, WORK, SIMULATION], default=open_group)
    with pool:
        _fields(widgets, POOL, derived_assumptions)
    with losses:
        _fields(widgets, LOSSES, derived_assumptions)
    with jobs:
        _fields(widgets, WORK, derived_assumptions, hidden=_ONLY_SERVING if work is Work.JOBS else _ONLY_JOBS)
        if work is Work.JOBS:
            widgets.show(
                "saves_on_notice", label="Writes a checkpoint on SIGTERM",
                help="Then an interruption loses nothing, if it can be written within the notice.",
            )  # fmt: skip
    with simulation:
        _fields(widgets, SIMULATION, derived_assumptions)


def choose_base(nodes: int) -> None:
    """Keep so many nodes on demand; for callbacks."""
    st.session_state["base_nodes"] = nodes


def _fields(
    form: SettingsForm[SavingsSettings], group: str, derived: Derived, hidden: frozenset[str] = frozenset()
) -> None:
    with st.grid(min_column_width=220, gap="small", vertical_alignment="bottom"):
        for setting in SETTINGS:
            if setting.group == group and setting.name not in hidden:
                default_number = derived.values.get(setting.name, setting.assumed)
                unknown = "none" if setting.optional else "not known"
                more: dict[str, Any] = {} if setting.whole else {"format": "%g", "step": _step(setting)}
                form.show(
                    setting.name,
                    label=setting.label if setting.unit in _COUNTED else f"{setting.label}, {setting.unit}",
                    placeholder=unknown if default_number is None else f"{default_number:g}",
                    help=f"{setting.help} Source: {derived.sources.get(setting.name, setting.source)}.",
                    **more,
                )


def _step(setting: Setting) -> float:
    if "per VM-hour" in setting.unit:
        return 0.001
    return 0.01 if setting.unit in ("USD/h", "share") else 1.0
