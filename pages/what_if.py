import streamlit as st

from planner.questions import capacity
from planner.questions.what_if import QUESTION, WhatIfSettings
from planner.ui import cache, capacity_inputs, capacity_view, downloads, errors, film_view, session, tables
from planner.ui.asked import Asked

snapshot = session.looked_at()
said = st.container()
asked = Asked(WhatIfSettings)
settings, given = capacity_inputs.settings(snapshot), capacity_inputs.given(snapshot)
today = cache.ask(capacity.QUESTION, snapshot, settings, given)

if capacity_inputs.changes(asked, snapshot, [line.pool for line in today.pools]):
    capacity_inputs.with_rollouts(asked, snapshot)
    with errors.shown():
        wanted = asked.settings(limits=settings.pools.limits)
        answer = cache.ask(QUESTION, snapshot, wanted, capacity_inputs.priced(given))
        with said:
            capacity_view.steps(answer)
        film_view.change(snapshot, wanted.changes)
        capacity_view.beside(answer)
        downloads.answer(QUESTION, snapshot, wanted, answer)
else:
    said.info(
        "Add a change below (nodes, a drain, an upgrade, a lost zone, a taint, a resized workload): the same answers come for the cluster "
        "after it, beside today's. The link holds the list.",
        title="? Nothing is changed",
    )
    with st.expander("How changes are written", icon=":material/edit_note:"):
        tables.show(capacity_inputs.forms(), alt="The forms of changes, for links and for headroom capacity --change")
