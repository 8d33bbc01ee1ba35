import streamlit as st

from planner.questions.plan import QUESTION, narrowed
from planner.ui import cache, filtered, plan_view, session

snapshot = session.cluster()
said = st.container()
settings = plan_view.settings()
found = cache.ask_aloud(QUESTION, snapshot, settings, plan_view.given(snapshot))
if found is not None:
    plan_view.show(snapshot, narrowed(found, filtered.kept(snapshot)), settings, said)
