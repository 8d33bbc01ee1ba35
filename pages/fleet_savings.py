import streamlit as st

from planner.questions.savings import QUESTION, SavingsSettings
from planner.ui import cache, downloads, errors, filtered, fleet_view, own_history, price_age, savings_view, session

st.title("Fleet savings")
snapshot = session.cluster()
said, settings = st.container(), SavingsSettings()
with errors.shown():
    found = cache.ask(QUESTION, snapshot, settings, own_history.given(snapshot))
kept = filtered.kept(snapshot)
fleet = fleet_view.fleet_of(found)

with said:
    fleet_view.head(fleet)
    price_age.show(fleet.as_of)
own_history.show(found)
st.header("In this order")
fleet_view.moves(found, kept)
st.header("Every way of buying it")
savings_view.ways(found)
st.header("Who bears it, before and after")
fleet_view.bearers(found, kept)
fleet_view.kept_off(fleet, kept)
downloads.answer(QUESTION, snapshot, settings, found, rows="moves")
