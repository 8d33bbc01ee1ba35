import streamlit as st

from planner.questions.costs import QUESTION, narrowed
from planner.questions.question import Given
from planner.ui import cache, costs_view, filtered, idle_view, prices, session

st.title("Bill")
snapshot, book = session.cluster(), prices.book()
settings = costs_view.settings(snapshot)
bill = narrowed(cache.ask(QUESTION, snapshot, settings, Given(book=book)), filtered.kept(snapshot))

costs_view.head(bill, book)
st.header("Who it is for")
costs_view.shares(bill)
costs_view.commitments()
st.header("Pools")
costs_view.pools(bill)
costs_view.downloads_of(snapshot, settings, bill)
idle_view.show(snapshot)
