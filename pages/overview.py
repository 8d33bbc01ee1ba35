import streamlit as st

from planner.questions.overview import QUESTION, OverviewSettings, narrowed
from planner.ui import cache, filtered, findings, overview_view, plan_view, session
from planner.ui.findings import untold

st.title("Overview")
snapshot = session.cluster()
overview_view.what_this_is()
kept = filtered.kept(snapshot)
overview = narrowed(snapshot, cache.ask(QUESTION, snapshot, OverviewSettings()), kept)
found = findings.of(snapshot)

overview_view.story(snapshot, overview, kept)
overview_view.figures(snapshot, overview, found.sentence)
plan = st.container()

troubled, gpus = st.columns(2, gap="large")
with troubled:
    st.header("Could not be rolled out now")
    st.caption("If only its template changed, with everything else as it is. Open one to see why, and the ways out.")
    overview_view.troubled_lines(snapshot, overview)
with gpus:
    st.header("GPUs by model")
    overview_view.gpus(overview)
    st.header("Findings")
    told = {line.workload for line in overview_view.trouble(overview)}
    findings.show(untold(found.findings, told), at_most=5, more=", on Inventory")
    st.page_link("inventory.py", label="All findings", icon=":material/arrow_forward:")

st.page_link("costs.py", label="What it costs, and whom", icon=":material/payments:")
st.header("Every workload")
overview_view.table(snapshot, overview)
with plan:  # last, since it takes longest
    plan_view.line(snapshot)
