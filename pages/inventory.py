import streamlit as st

from planner.ui import findings, frame, inventory_view, session
from planner.ui.findings import untold

st.title("What was read")
snapshot = session.cluster()

what, other = st.columns([3, 2], gap="large")
with other:
    st.header("Another cluster")
    inventory_view.another_cluster()
    with st.expander("How to make a snapshot", icon=":material/terminal:"):
        inventory_view.how_to()
with what:
    st.header("Kinds of objects")
    inventory_view.read(snapshot)

st.header("Findings")
found = findings.of(snapshot)
more = " Below, of each object the gravest; all of them are in the table." if found.findings else ""
st.caption(f"{found.sentence}.{more}")
with frame.folded("Each finding", "findings"):
    findings.show(untold(found.findings, ()), at_most=12, more=", in the table")
with st.expander("As a table", icon=":material/table:"):
    findings.table(found.findings)
