"""GPUs that pods reserve but don't use, and the cost of tokens, on the page Money: read from Prometheus."""

from __future__ import annotations

import streamlit as st

from planner.ground import words
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.pricing.idle_gpus import IdleAnswer
from planner.questions.idle import QUESTION, IdleSettings
from planner.questions.question import Inputs
from planner.sources.prometheus_gpus import gpu_use
from planner.sources.prometheus_tokens import token_use
from planner.sources.prometheus_usage import Prometheus
from planner.ui import answer_view, downloads, errors, session_prices, shared_answers
from planner.ui.prometheus_form import Form
from planner.ui.settings_form import SettingsForm


def _ask(server: Prometheus, snapshot: Snapshot, days: int) -> Inputs:
    """How busy GPUs were, and the tokens of vLLM's servers; a server that has either is enough."""
    end, busy = snapshot.taken_at, IdleSettings().busy_percent
    tokens = token_use(server, end=end, days=days)
    uses = gpu_use(server, end=end, days=days, busy_percent=busy, may_lack=bool(tokens))
    return Inputs(gpu_uses=uses, token_uses=tokens)


_FORM: Form[Inputs] = Form(
    key="_gpu_use", ask=_ask, read="✓ How busy GPUs were is known", back="Forget it",
    said=lambda read: words.count(len({usage.gpu for usage in read.gpu_uses or ()}), "GPU"),
)  # fmt: skip


def _answer(snapshot: Snapshot, settings: IdleSettings) -> IdleAnswer | None:
    read = _FORM.kept(snapshot)
    if read is None:
        return None
    return shared_answers.ask(QUESTION, snapshot, settings, replace(read, book=session_prices.book()))


def line(snapshot: Snapshot) -> str:
    """What of the GPUs that are held isn't used, for the first step of the staircase."""
    idle_answer = _answer(snapshot, IdleSettings())
    if idle_answer is None:
        return "How busy GPUs are isn't known: give a Prometheus under Held and not used."
    return words.sentence(idle_answer.sentence)


@errors.part
def show(snapshot: Snapshot) -> None:
    """GPUs that pods hold and don't use."""
    st.header("Held and not used")
    widgets, is_read = SettingsForm(IdleSettings), _FORM.kept(snapshot) is not None
    if is_read:
        widgets.show("idle_minutes")
    if (idle_answer := _answer(snapshot, settings := widgets.settings())) is not None:
        answer_view.show(QUESTION, idle_answer)
        st.caption(
            f"Busy: a reading above {settings.busy_percent:g}% of utilisation. The GPUs' own part of their nodes' price, after "
            "sustained use. GPUs without readings are not measured, and not idle."
        )
        downloads.answer(QUESTION, snapshot, settings, idle_answer)
    with st.expander("How busy GPUs were, from Prometheus", icon=":material/monitoring:", expanded=not is_read):
        _FORM.show(
            snapshot,
            "A request says that a GPU is held, not that it works. A Prometheus that scrapes NVIDIA's DCGM exporter or AMD's "
            "device-metrics-exporter knows; where it has vLLM's counters, what a million tokens cost is told too.",
        )
