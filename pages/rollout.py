import streamlit as st

from planner.figures import strategy_grid, wait_for
from planner.questions import rollout as rollout_question
from planner.questions import usable_devices as usable_question
from planner.ui import (
    apply_view,
    cache,
    capacity_inputs,
    charts,
    downloads,
    errors,
    rollout_inputs,
    rollout_view,
    session,
    spares,
)

st.title("Rollout")
snapshot = session.cluster()
key, also = rollout_inputs.pick(snapshot)
answer = st.container()
picture, knobs = st.columns([7, 3], gap="large")

with knobs, st.container(border=True), errors.shown(answer):
    settings = rollout_inputs.settings(snapshot, key, also)
given = capacity_inputs.given(snapshot)
with errors.shown(answer):
    result = cache.ask(rollout_question.QUESTION, snapshot, settings, given)
scenario = rollout_question.scenario_of(snapshot, settings)
with answer:
    rollout_view.asked_for(rollout_inputs.differs(settings, snapshot.workload(key)))
    rollout_view.answer(result)
    apply_view.show(result.apply)

with picture:
    rollout = rollout_view.choose_workload(result)
    st.subheader("What happens")
    usable = cache.answer(usable_question.usable_devices, snapshot, scenario)
    rollout_view.timeline(result, rollout, next(one for one in usable if one.workload == rollout.workload))
    if rollout.wait_for:
        st.subheader("Who waits for whom")
        charts.show(wait_for.figure(rollout.wait_for), key="wait_for", alt=wait_for.alt(rollout.wait_for))

ways_out, costs = st.container(), None

if rollout_view.has_grid(rollout, snapshot):
    st.subheader("Every strategy")
    st.caption(
        "Click a cell to try it. In a cell: verdict, and the most GPUs held at once (pods, where none is asked)."
    )
    grid = cache.answer(rollout_question.strategy_grid, snapshot, scenario, rollout.workload)
    cells = st.container()
    rollout_view.under_grid(grid)
    costs = spares.show(snapshot, settings, grid, given)
    with cells:
        drawn, said = strategy_grid.figure(grid, costs), strategy_grid.alt(grid, costs)
        charts.pick(drawn, key="grid", alt=said, on_pick=rollout_view.adopt_cell)
with ways_out:
    rollout_view.remedies(result, snapshot, spares.remedy_price(snapshot, costs))

st.subheader("Step by step")
rollout_view.steps(rollout)
rollout_view.pending(result)
downloads.show(
    "rollout",
    document=lambda: spares.document(snapshot, settings, result, costs),
    rows=lambda: rollout_question.timeline_rows([rollout]),
)
