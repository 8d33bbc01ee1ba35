import streamlit as st

from planner.ui import compare_view, drift_inputs, session, stored

snapshot = session.cluster()
said = st.container()
settings = compare_view.settings()
others = drift_inputs.other_clusters()
times = stored.two_moments(is_made=not (settings.changes or others))

if times or settings.changes or others:
    (earlier, later), history = times or ((None, snapshot), None)
    compare_view.show(later, settings, [earlier] if earlier is not None else others, history, said)
else:
    kept = "Choose two times of the store, upload" if stored.clusters() else "Upload"
    said.info(
        f"{kept} an earlier snapshot below, or write changes, such as drain:pool/gpu-t4: only what differs is said.",
        title="? Nothing to compare with",
    )
drift_inputs.upload()
