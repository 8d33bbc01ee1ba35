import streamlit as st

from planner.questions.drift import narrowed
from planner.ui import drift_inputs, drift_view, filtered, link, session, usage_inputs

st.title("Drift")
snapshot = session.cluster()
others = drift_inputs.other_clusters()
answer = st.container()
settings = drift_inputs.settings(drift_view.environments(snapshot, others))
whole = drift_view.compared(snapshot, settings, usage_inputs.history(snapshot), others)
report = narrowed(whole, filtered.kept(snapshot))
with answer:
    drift_view.headline(report)
    drift_view.services(report)

if report.services:
    service = drift_inputs.service(report)
    differs, values = link.tabs(["What differs", "Suggested values"], key="part")
    with differs:
        drift_view.one(service, everything=drift_inputs.everything())
    with values:
        drift_view.suggestions(service, snapshot)

drift_inputs.upload()
usage_inputs.ask(snapshot)
drift_view.download(report, settings, (snapshot, *others))
