import streamlit as st

from planner.ui import findings, frame, inventory_view, link, session
from planner.ui.findings import untold

st.title("What was read")
snapshot = session.looked_at()

what, other = st.columns([3, 2], gap="large")
with other:
    st.header("Another cluster")
    inventory_view.another_cluster()
    with link.expander("How to make a snapshot", key="how_to", icon=":material/terminal:") as is_open:
        if is_open:
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
with link.expander("As a table", key="as_table", icon=":material/table:") as is_open:
    if is_open:
        findings.table(found.findings)
