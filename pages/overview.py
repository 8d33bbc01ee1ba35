import streamlit as st

from planner.questions.overview import QUESTION, OverviewSettings, narrowed
from planner.ui import cache, capacity_inputs, filtered, findings, frame, overview_view, plan_view, session
from planner.ui.findings import untold

st.title("Now")
snapshot = session.cluster()
overview_view.what_this_is()
kept = filtered.kept(snapshot)
overview = narrowed(snapshot, cache.ask(QUESTION, snapshot, OverviewSettings(), capacity_inputs.given(snapshot)), kept)
found = findings.of(snapshot)

overview_view.story(snapshot, overview, kept)
plan = st.container()
overview_view.figures(snapshot, overview, found.sentence)

troubled, gpus = st.columns(2, gap="large")
with troubled:
    overview_view.troubled_lines(snapshot, overview)
with gpus:
    with frame.folded("GPUs by model", "gpus"):
        st.header("GPUs by model")
        overview_view.gpus(overview)
    with frame.folded("Also worth a look", "findings"):
        st.header("Also worth a look")
        told = {line.workload for line in overview_view.trouble(overview)}
        findings.show(untold(found.findings, told), at_most=2, more=", on What was read")
    st.page_link("inventory.py", label="All findings", icon=":material/arrow_forward:")
with plan:  # last, since it takes longest
    plan_view.line(snapshot)
