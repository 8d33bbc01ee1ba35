import streamlit as st

from planner.figures import savings_band, savings_mix, savings_waterfall
from planner.questions.savings import QUESTION, detail_of
from planner.ui import cache, charts, downloads, errors, frame, link, own_history, savings_inputs, savings_view, session

st.title("One workload on spot")
snapshot = session.cluster()
key = savings_inputs.pick(snapshot)
derived = savings_inputs.derived(snapshot, key)
answer, knobs = st.columns([8, 5], gap="large")

with knobs, frame.folded("What is assumed", "assumed"), errors.shown(answer):
    settings = savings_inputs.settings(derived)
    given = own_history.given(snapshot)
with errors.shown(answer):
    result = cache.ask(QUESTION, snapshot, settings, given)
detail = detail_of(result)
saved, mix, fitness = detail.estimate.savings, detail.estimate.mix, detail.suitability
with answer:
    savings_view.verdicts(detail)
    savings_view.figures(saved, detail.assumed)

much, pays, fit, ways, basis = link.tabs(
    ["How much", "Until when it pays", "Is it fit for spot?", "Every way of buying", "What it rests on"], key="part"
)
with much:
    if much.open:
        left, right = st.columns(2, gap="large")
        with left:
            st.header("From on demand to spot")
            charts.show(savings_waterfall.figure(saved), key="waterfall", alt=savings_waterfall.alt(saved))
            st.caption("Means of the simulated months, as the saving above: they add up.")
        with right, frame.folded("How much, how surely", "band"):
            st.header("How much, how surely")
            charts.show(savings_band.figure(saved), key="band", alt=savings_band.alt(saved))
        own_history.show(result)
with pays:
    if pays.open:
        savings_view.break_even(saved, detail.assumed)
        st.header("How much of the pool on spot")
        charts.pick(savings_mix.figure(mix), key="mix", alt=savings_mix.alt(mix), on_pick=savings_inputs.choose_base)
        savings_view.under_mix(mix, detail.assumed)
with fit:
    if fit.open:
        savings_view.checklist(fitness)
with ways:
    if ways.open:
        savings_view.ways(result)
        st.header("What the discount was")
        savings_view.history(derived)
with basis:
    if basis.open:
        savings_view.step_table(saved)
        savings_view.notes(saved)
        savings_view.assumption_table(detail.assumptions)
downloads.answer(QUESTION, snapshot, settings, result)
