import streamlit as st

from planner.figures import savings_band, savings_break_even, savings_mix, savings_waterfall
from planner.questions.savings import QUESTION, detail_of
from planner.ui import cache, charts, downloads, errors, own_history, savings_inputs, savings_view, session

st.title("Spot savings")
snapshot = session.cluster()
key = savings_inputs.pick(snapshot)
derived = savings_inputs.derived(snapshot, key)
answer = st.container()
picture, knobs = st.columns([7, 3], gap="large")

with knobs, st.container(border=True), errors.shown(answer):
    settings = savings_inputs.settings(derived)
    given = own_history.given(snapshot)
with errors.shown(answer):
    result = cache.ask(QUESTION, snapshot, settings, given)
detail = detail_of(result)
saved, mix, fitness = detail.estimate.savings, detail.estimate.mix, detail.suitability
with answer:
    savings_view.verdicts(detail)
    savings_view.figures(saved, detail.assumed)

with picture:
    st.header("From on demand to spot")
    charts.show(savings_waterfall.figure(saved), key="waterfall", alt=savings_waterfall.alt(saved))
    st.header("How much, how surely")
    charts.show(savings_band.figure(saved), key="band", alt=savings_band.alt(saved))
    st.header("Until when it pays")
    marks = savings_view.marks(detail.assumed)
    if saved.break_even.curve:
        charts.show(
            savings_break_even.figure(saved.break_even, marks), key="even", alt=savings_break_even.alt(saved.break_even)
        )
    savings_view.under_break_even(saved)
    st.header("How much of the pool on spot")
    charts.pick(savings_mix.figure(mix), key="mix", alt=savings_mix.alt(mix), on_pick=savings_inputs.choose_base)
    savings_view.under_mix(mix, detail.assumed)

st.header("Every way of buying it")
savings_view.ways(result)
own_history.show(result)
st.header("Is it fit for spot?")
savings_view.checklist(fitness)
st.header("What the discount was")
savings_view.history(cache.price_book(), derived)
st.header("The numbers and what they rest on")
savings_view.step_table(saved)
savings_view.assumption_table(detail.assumptions)
downloads.answer(QUESTION, snapshot, settings, result)
