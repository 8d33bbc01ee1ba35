import streamlit as st

from planner.ui import compare_view, drift_inputs, session, stored

st.title("Compare")
snapshot = session.cluster()
st.caption("Only what differs: since another snapshot, or after changes to this cluster.")
settings = compare_view.settings()
others = drift_inputs.other_clusters()
times = stored.two_moments()

if times:
    (earlier, later), history = times
    compare_view.show(later, settings, [earlier], history)
elif settings.changes or others:
    compare_view.show(snapshot, settings, others)
else:
    kept = "Choose two times of the store above, upload" if stored.clusters() else "Upload"
    st.info(
        f"{kept} an earlier snapshot below, or write changes above, such as drain:pool/gpu-t4.",
        title="? Nothing to compare with",
    )
drift_inputs.upload()
