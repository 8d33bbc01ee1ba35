import streamlit as st

from planner.questions.savings import QUESTION, SavingsSettings, narrowed
from planner.ui import (
    cache,
    downloads,
    errors,
    filtered,
    fleet_view,
    link,
    own_history,
    prices,
    savings_view,
    session,
)

snapshot = session.cluster()
said = st.container()
given = own_history.given(snapshot)
with errors.shown(said):
    whole = cache.ask(QUESTION, snapshot, SavingsSettings(), given)
found = narrowed(whole, filtered.kept(snapshot))
fleet = fleet_view.fleet_of(found)

with said:
    fleet_view.head(found)
    prices.say_age(fleet.as_of)
order, ways, bears = link.tabs(
    ["In this order", "Every way of buying it", "Who bears it, before and after"], key="part"
)
with order:
    fleet_view.moves(found)
    fleet_view.kept_off(fleet)
    own_history.show(found)
with ways:
    if ways.open:
        savings_view.ways(found)
with bears:
    if bears.open:
        fleet_view.bearers(found)
downloads.answer(QUESTION, snapshot, SavingsSettings(filter=filtered.wanted()), found, rows="moves")
