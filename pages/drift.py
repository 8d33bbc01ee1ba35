import streamlit as st

from planner.questions.drift import QUESTION, narrowed
from planner.questions.question import Inputs
from planner.ui import cache, downloads, drift_inputs, drift_view, link, page_filter, session, usage_inputs

snapshot = session.cluster()
others = drift_inputs.other_clusters()
answer = st.container()
settings = drift_inputs.settings((snapshot, *others))
given = Inputs(usages=usage_inputs.history(snapshot), others=others)
report = narrowed(cache.ask(QUESTION, snapshot, settings, given), page_filter.kept(snapshot))
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
downloads.answer(QUESTION, (snapshot, *others), settings, report, rows="all")
