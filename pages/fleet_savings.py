import streamlit as st

from planner.questions.question import Given
from planner.questions.savings import QUESTION, SavingsSettings
from planner.ui import cache, downloads, filtered, fleet_view, price_age, savings_view, session

st.title("Fleet savings")
snapshot = session.cluster()
settings = SavingsSettings()
found = cache.ask(QUESTION, snapshot, settings, Given(book=cache.price_book()))
kept = filtered.kept(snapshot)
fleet = fleet_view.fleet_of(found)

fleet_view.head(fleet)
price_age.show(fleet.as_of)
st.header("In this order")
fleet_view.moves(found, kept)
st.header("Every way of buying it")
savings_view.ways(found)
st.header("Who bears it, before and after")
fleet_view.bearers(found, kept)
fleet_view.kept_off(fleet, kept)
downloads.answer(QUESTION, snapshot, settings, found, rows="moves")
