import streamlit as st

from planner.questions import capacity as capacity_question
from planner.ui import (
    capacity_view,
    link,
    page_filter,
    page_frame,
    pool_limit_inputs,
    queues_and_losses_view,
    session_cluster,
    shared_answers,
)

snapshot = session_cluster.cluster()
said, face = st.container(), st.container()
FITS, POOLS, ROOM, LOSSES = "What fits", "Node pools", "Make room", "Lose nodes"
TABLE, ALL = "The map as a table", "All resources"
ON_LINK = {
    queues_and_losses_view.ROOM: ROOM,
    queues_and_losses_view.LOSSES: LOSSES,
    "limits": POOLS,
    "pool_facts": POOLS,
}
fits, pools, make, losses, table, every = link.tabs([FITS, POOLS, ROOM, LOSSES, TABLE, ALL], key="part", holds=ON_LINK)
with pools:
    settings, given = pool_limit_inputs.settings(snapshot), pool_limit_inputs.given(snapshot)
with fits:
    shape = pool_limit_inputs.shape()
whole = shared_answers.ask(capacity_question.QUESTION, snapshot, settings, given)
kept = page_filter.kept(snapshot)
answer = capacity_question.narrowed(whole, kept)
with said:
    capacity_view.sentence(whole, kept)
with face:
    capacity_view.seats_map(snapshot, answer, kept, table)
with fits:
    typed = capacity_view.typed(snapshot, shape)
    if fits.open:
        with page_frame.folded("What fits", "fits"):
            capacity_view.what_fits(answer)
            capacity_view.stranded(answer.fragments)
with pools:
    if pools.open:
        capacity_view.pools(answer)
with make:
    if make.open:
        queues_and_losses_view.of_room(snapshot, shape)
with losses:
    if losses.open:
        queues_and_losses_view.of_losses(snapshot, given)
with every:
    if every.open:
        capacity_view.resources(answer)
if not (make.open or losses.open):  # these have their own
    capacity_view.download(snapshot, settings, whole, typed, shape)
