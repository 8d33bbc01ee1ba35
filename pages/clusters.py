import streamlit as st

from planner.questions import fleet, where
from planner.questions.fleet import FleetSettings
from planner.questions.question import Inputs
from planner.questions.where import WhereSettings
from planner.ui import clusters_view, downloads, errors, session_prices, shared_answers
from planner.ui.settings_form import SettingsForm

first, *others = snapshots = clusters_view.clusters()
given, settings = Inputs(others=tuple(others), book=session_prices.book()), FleetSettings()
with errors.shown():
    together = shared_answers.ask(fleet.QUESTION, first, settings, given)
    clusters_view.show(together)
    downloads.answer(fleet.QUESTION, snapshots, settings, together, rows="models")

st.header("Where would this fit?")
with errors.shown():
    asked = SettingsForm(WhereSettings)
    with st.grid(2):
        shape = asked.show("shape", placeholder="gpu=2,cpu=8,memory=64Gi")
        asked.show("replicas")
    manifest = clusters_view.manifest()
    if shape or manifest:
        wanted = clusters_view.wanted(asked, manifest)
        room = shared_answers.answer(where.answer, first, wanted, given)
        clusters_view.where(room)
        downloads.answer(where.QUESTION, snapshots, wanted, room)
    else:
        st.caption("Type what one pod asks for, or give a manifest: all that it makes has to fit.")
