import streamlit as st

from planner.questions import capacity as plan_capacity
from planner.ui import cache, capacity_inputs, capacity_view, errors, session, tables

st.title("What if")
snapshot = session.cluster()
st.caption("The same answers for the cluster after these changes, beside today's. The link holds the list.")
known = capacity_inputs.limits(snapshot)
today = cache.answer(plan_capacity.capacity, snapshot, known)
changes = capacity_inputs.changes(snapshot, [line.pool for line in today.pools])

if changes:
    rollouts = capacity_inputs.with_rollouts(snapshot)
    with errors.shown():
        answer = cache.answer(plan_capacity.what_if, snapshot, changes, known, with_rollouts=rollouts)
        capacity_view.steps(answer)
        capacity_view.beside(answer)
        capacity_view.download(today, snapshot, [], answer)
else:
    st.info(
        "Add a change above: nodes, a drain, an upgrade, a lost zone, a taint, a resized workload.",
        title="? Nothing is changed",
    )
    with st.expander("How changes are written", icon=":material/edit_note:"):
        tables.show(capacity_inputs.forms(), alt="The forms of changes, for links and for headroom capacity --what-if")
