import streamlit as st

from planner.questions import costs, savings
from planner.questions.question import Inputs
from planner.ui import (
    answer_view,
    cache,
    costs_view,
    downloads,
    idle_view,
    link,
    money_view,
    own_history,
    page_filter,
    page_frame,
    prices,
    savings_view,
    session,
)

snapshot, book = session.cluster(), prices.book()
said, stairs = st.container(), st.container()
WHO, SPOT, WAYS = "Who pays", "Spot, workload by workload", "Every way of buying"
who, spot, ways, pools, held = link.tabs([WHO, SPOT, WAYS, "Pools", "Held and not used"], key="part")
with who:
    settings = costs_view.settings(snapshot)
with page_frame.folded("Your own nodes and prices", "own"), st.grid(2):
    given = own_history.given(snapshot)
whole = cache.ask(costs.QUESTION, snapshot, settings, Inputs(book=book))
kept = page_filter.kept(snapshot)
bill = costs.narrowed(whole, kept)
with stairs:
    every = money_view.settled(snapshot, given)
    money_view.show(snapshot, whole, every, given, said)
    money_view.age(whole)
with who:
    costs_view.shares(bill)
    costs_view.commitments()
if every is not None:
    found = savings.narrowed(every, kept)
    asked = savings.SavingsSettings(filter=page_filter.wanted())
    with spot:
        money_view.sums(found)
        if spot.open:
            money_view.moves(found)
            money_view.kept_off(money_view.fleet_of(found))
            money_view.bearers(found)
        own_history.show(found)
        downloads.answer(savings.QUESTION, snapshot, asked, found, rows="moves")
    with ways:
        if ways.open:
            savings_view.ways(found)
with pools:
    answer_view.figures(costs.QUESTION, bill)
    costs_view.pools(bill)
with held:
    idle_view.show(snapshot)
if every is None or not spot.open:  # it has its own, of the savings
    costs_view.downloads_of(snapshot, settings, bill)
