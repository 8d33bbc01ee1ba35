import streamlit as st

from planner.questions import capacity as capacity_question
from planner.questions import seats as seats_question
from planner.ui import (
    cache,
    capacity_inputs,
    capacity_view,
    filtered,
    link,
    seats_view,
    sections,
    session,
)

snapshot = session.cluster()
said = st.container()
settings, given = capacity_inputs.settings(snapshot), capacity_inputs.given(snapshot)
answer = cache.ask(capacity_question.QUESTION, snapshot, settings, given)
if answer.fragments is None:
    capacity_view.of_nodes_only(answer, filtered.kept(snapshot))
    st.stop()
every = cache.ask(seats_question.QUESTION, snapshot, seats_question.SeatsSettings())
kept = filtered.kept(snapshot)
with said:
    capacity_view.sentence(answer, kept)
    seats_view.figures(every.nodes, snapshot)
answer, nodes = capacity_question.narrowed(answer, kept), seats_question.narrowed(every, kept).nodes
MORE, NEXT, POOLS, SEATS = "How many more", "The next pod", "Node pools", "Seats"
FREE, LOSSES, ALL = "Free GPUs", "Make room, lose nodes", "All resources"
ON_LINK = {
    sections.ROOM: LOSSES, sections.LOSSES: LOSSES, "size": FREE, "resource": POOLS, "pool_facts": POOLS,
    **dict.fromkeys(("seats_pool", "zone", "only_free", "seats_page"), SEATS),
}  # fmt: skip
names = [MORE, NEXT, POOLS, SEATS, FREE, LOSSES, ALL]
more, following, pools, seats, free, losses, resources = link.tabs(names, key="part", holds=ON_LINK)
with more:
    typed = capacity_view.typed(snapshot, shape := capacity_inputs.shape())
    capacity_view.what_fits(answer)
with following:
    if following.open:
        st.caption("One more pod of each workload that asks for GPUs, with everything else as it is.")
        seats_view.next_pods(every.nodes, snapshot, kept)
with pools:
    st.caption("By requests of bound pods, not by use. Hatched: how far the pool may still grow, where somebody says.")
    capacity_view.pools(answer, is_open=pools.open)
with seats:
    st.caption("Each node a row, each GPU a seat, by who holds it: by requests of bound pods, not by use.")
    seats_view.seats(seats_view.chosen(nodes), is_open=seats.open)
with free:
    capacity_view.stranded(answer.fragments, is_open=free.open)
with losses:
    sections.of_room(snapshot, shape)
    sections.of_losses(snapshot, given)
with resources:
    if resources.open:
        capacity_view.resources(answer)
capacity_view.download(snapshot, settings, answer, typed, shape)
