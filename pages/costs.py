import streamlit as st

from planner.ground import words
from planner.questions import costs, savings
from planner.questions.question import Inputs
from planner.ui import (
    costs_view,
    downloads,
    idle_view,
    link,
    page_filter,
    page_frame,
    savings_steps_view,
    savings_view,
    session_cluster,
    session_prices,
    shared_answers,
    spot_node_history,
)

snapshot, book = session_cluster.cluster(), session_prices.book()
said, stairs = st.container(), st.container()
WHO, SPOT, WAYS = "Who pays", "Spot, workload by workload", "Every way of buying"
who, spot, ways, pools, held = link.tabs([WHO, SPOT, WAYS, "Pools", "Held and not used"], key="part")
with who:
    settings = costs_view.settings(snapshot)
with page_frame.folded("Your own nodes and prices", "own"), st.grid(2):
    given = spot_node_history.given(snapshot)
whole = shared_answers.ask(costs.QUESTION, snapshot, settings, Inputs(book=book))
kept = page_filter.kept(snapshot)
bill = costs.narrowed(whole, kept)
with stairs:
    every = savings_steps_view.settled(snapshot, given)
    savings_steps_view.show(snapshot, whole, every, given, said)
    savings_steps_view.age(whole)
with who:
    costs_view.shares(bill)
    costs_view.commitments()
if every is not None:
    found = savings.narrowed(every, kept)
    asked = savings.SavingsSettings(filter=page_filter.wanted())
    with spot:
        st.markdown(words.literal(found.sentence))
        if spot.open:
            savings_steps_view.moves(found)
            savings_steps_view.kept_off(savings_steps_view.fleet_of(found))
        spot_node_history.show(found)
        downloads.answer(savings.QUESTION, snapshot, asked, found, rows="moves")
    with ways:
        if ways.open:
            savings_view.ways(found)
with pools:
    costs_view.pools(bill)
with held:
    idle_view.show(snapshot)
if every is None or not spot.open:  # it has its own, of the savings
    costs_view.downloads_of(snapshot, settings, bill)
