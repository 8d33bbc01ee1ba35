"""GPUs that are held and not used, on the Costs page: read from a Prometheus, shown by pod."""

from __future__ import annotations

import streamlit as st

from planner.ground import words
from planner.inventory.gpu_use import GpuUse
from planner.kubernetes.records import Snapshot
from planner.questions.idle import QUESTION, IdleSettings
from planner.questions.question import Inputs
from planner.sources.prometheus_gpus import gpu_use
from planner.ui import cache, downloads, errors, prices, sheet
from planner.ui.prometheus_form import Form
from planner.ui.settings_form import SettingsForm

_FORM: Form[tuple[GpuUse, ...]] = Form(
    key="_gpu_use",
    ask=lambda server, snapshot, days: gpu_use(
        server, end=snapshot.taken_at, days=days, busy_percent=IdleSettings().busy_percent
    ),
    said=lambda uses: words.count(len({usage.gpu for usage in uses}), "GPU"),
    read="✓ How busy GPUs were is known",
    back="Forget it",
)


def line(snapshot: Snapshot) -> str:
    """What of the GPUs that are held isn't used, for the first step of the staircase."""
    uses = _FORM.kept(snapshot)
    if uses is None:
        return "How busy GPUs are isn't known: give a Prometheus under Held and not used."
    idle_answer = cache.ask(QUESTION, snapshot, IdleSettings(), Inputs(book=prices.book(), gpu_uses=uses))
    return words.sentence(idle_answer.sentence)


@errors.part
def show(snapshot: Snapshot) -> None:
    """GPUs that pods hold and don't use."""
    st.header("Held and not used")
    uses = _FORM.kept(snapshot)
    if uses is not None:
        widgets = SettingsForm(IdleSettings)
        widgets.show("idle_minutes")
        settings = widgets.settings()
        idle_answer = cache.ask(QUESTION, snapshot, settings, Inputs(book=prices.book(), gpu_uses=uses))
        sheet.show(QUESTION, idle_answer)
        st.caption(
            f"Busy: a reading above {settings.busy_percent:g}% of utilisation. The GPUs' own part of their nodes' price, after "
            "sustained use. GPUs without readings are not measured, and not idle."
        )
        downloads.answer(QUESTION, snapshot, settings, idle_answer)
    with st.expander("How busy GPUs were, from Prometheus", icon=":material/monitoring:", expanded=uses is None):
        _FORM.show(
            snapshot,
            "A request says that a GPU is held, not that it works. A Prometheus that scrapes NVIDIA's DCGM exporter or AMD's "
            "device-metrics-exporter knows.",
        )
