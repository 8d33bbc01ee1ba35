import streamlit as st

from planner.ground import words
from planner.ui import (
    errors,
    pool_limit_inputs,
    rollout_inputs,
    rollout_view,
    session_cluster,
    workload_tabs,
)

snapshot = session_cluster.cluster()
name, choice = st.columns([5, 3], vertical_alignment="bottom")
(title := name.empty()).title("Workload")
with choice:
    key = rollout_inputs.pick(snapshot)
if key:
    title.title(words.literal(words.short_name(key)))
place = st.container()
rollout, *others = workload_tabs.tabs(key, rolls_out=rollout_inputs.rolls_out(snapshot, key))
if rollout is None:
    place.info("Pods of a Job and bare pods are made once.", title="○ No rollout", icon=":material/work:")
else:
    with errors.shown(place), rollout:
        settings = rollout_inputs.settings(snapshot, key, place)
    with errors.shown():
        given = pool_limit_inputs.priced(pool_limit_inputs.given(snapshot))
        rollout_view.show(snapshot, settings, given, place, rollout)
if key:
    workload_tabs.show(snapshot, key, *others)
