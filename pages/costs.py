import streamlit as st

from planner.questions.costs import QUESTION, narrowed
from planner.questions.question import Given
from planner.ui import cache, costs_view, filtered, idle_view, link, prices, session

snapshot, book = session.cluster(), prices.book()
said = st.container()
settings = costs_view.settings(snapshot)
bill = narrowed(cache.ask(QUESTION, snapshot, settings, Given(book=book)), filtered.kept(snapshot))

with said:
    costs_view.head(bill, book)
    prices.ask(snapshot)
whose, pools, held = link.tabs(["Who it is for", "Pools", "Held and not used"], key="part")
with whose:
    costs_view.shares(bill)
    costs_view.commitments()
with pools:
    if pools.open:
        costs_view.pools(bill)
with held:
    idle_view.show(snapshot)
costs_view.downloads_of(snapshot, settings, bill)
