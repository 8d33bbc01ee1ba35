import streamlit as st

from planner.ui import (
    capacity_inputs,
    errors,
    object_links,
    page_frame,
    rollout_inputs,
    rollout_view,
    session,
    workload_tabs,
)

snapshot = session.cluster()
name, choice = st.columns([5, 3], vertical_alignment="bottom")
(title := name.empty()).title("Workload")
with choice:
    key = rollout_inputs.pick(snapshot)
if key:
    title.title(object_links.title(key))
place = st.container()
if rollout_inputs.rolls_out(snapshot, key):
    with errors.shown(place):
        settings = rollout_inputs.settings(snapshot, key, place)
    with errors.shown():
        given = capacity_inputs.priced(capacity_inputs.given(snapshot))
        rollout_view.show(snapshot, settings, given, place)
else:
    place.info("Pods of a Job and bare pods are made once.", title="○ No rollout", icon=":material/work:")
if key:
    with page_frame.folded("Spot, memory and restarts, the same service elsewhere", "about"):
        workload_tabs.show(snapshot, key)
