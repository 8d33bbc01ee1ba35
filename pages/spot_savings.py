import streamlit as st

from planner.figures import savings_band, savings_break_even, savings_mix, savings_waterfall
from planner.questions import savings as plan_savings
from planner.ui import cache, charts, downloads, errors, savings_inputs, savings_view, session

st.title("Spot savings")
snapshot = session.cluster()
key = savings_inputs.pick(snapshot)
derived = savings_inputs.derived(snapshot, key)
answer = st.container()
picture, knobs = st.columns([7, 3], gap="large")

with knobs, st.container(border=True), errors.shown(answer):
    asked = savings_inputs.asked(derived)
with errors.shown(answer):
    assumptions = plan_savings.assume(derived, asked)
    result = cache.answer(plan_savings.answer, snapshot, assumptions)
    fitness = cache.answer(plan_savings.suitability, snapshot, key, assumptions.capacity, asked.get("job_minutes"))
with answer:
    savings_view.verdicts(result, fitness, derived)
    savings_view.figures(result.savings, assumptions)

saved = result.savings
with picture:
    st.subheader("From on demand to spot")
    charts.show(savings_waterfall.figure(saved), key="waterfall", alt=savings_waterfall.alt(saved))
    st.subheader("How much, how surely")
    charts.show(savings_band.figure(saved), key="band", alt=savings_band.alt(saved))
    st.subheader("Until when it pays")
    marks = savings_view.marks(assumptions)
    if saved.break_even.curve:
        charts.show(
            savings_break_even.figure(saved.break_even, marks), key="even", alt=savings_break_even.alt(saved.break_even)
        )
    savings_view.under_break_even(saved)
    st.subheader("How much of the pool on spot")
    charts.pick(
        savings_mix.figure(result.mix), key="mix", alt=savings_mix.alt(result.mix), on_pick=savings_inputs.choose_base
    )
    savings_view.under_mix(result.mix, assumptions)

st.subheader("Is it fit for spot?")
savings_view.checklist(fitness)
st.subheader("What the discount was")
savings_view.history(cache.price_book(), derived)
st.subheader("The numbers and what they rest on")
savings_view.step_table(saved)
table = plan_savings.table(derived, asked, assumptions)
savings_view.assumption_table(table)
downloads.show(
    "spot-savings",
    document=lambda: savings_view.document(result, fitness, table, derived, snapshot),
    rows=lambda: savings_view.rows(result, table),
)
