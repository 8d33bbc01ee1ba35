import streamlit as st

from planner.ui import capacity_inputs, errors, frame, opening, rollout_inputs, rollout_view, session

snapshot = session.cluster()
(title := st.empty()).title("Rollout")
if key := rollout_inputs.pick(snapshot):
    title.title(opening.title(key))
answer, knobs = st.columns([8, 5], gap="large")
with knobs, frame.folded("Change it", "change"), errors.shown(answer):
    settings = rollout_inputs.settings(snapshot, key, answer)
given = capacity_inputs.priced(capacity_inputs.given(snapshot))
with answer, errors.shown():
    result = rollout_view.answered(snapshot, settings, given)
    played = rollout_view.played(snapshot, settings)
rollout_view.sections(*played, result, given)
rollout_view.download(snapshot, settings, result)
