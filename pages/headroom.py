import streamlit as st

from planner import plan
from planner.ui import cache, seats_view, session

st.title("Headroom")
snapshot = session.cluster()
nodes = cache.answer(plan.seats, snapshot)

seats_view.figures(nodes, snapshot)

st.subheader("Seats")
st.caption("Each node a row, each GPU a seat, by who holds it: by requests of bound pods, not by use.")
seats_view.seats(seats_view.chosen(nodes))

st.subheader("Where the next pod fits")
st.caption("One more pod of each workload that asks for GPUs, with everything else as it is.")
seats_view.next_pods(nodes, snapshot)
