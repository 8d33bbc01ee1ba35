import streamlit as st

from planner.questions import capacity as plan_capacity
from planner.questions import seats as seats_question
from planner.ui import cache, capacity_inputs, capacity_view, seats_view, session

st.title("Headroom")
snapshot = session.cluster()
said = st.container()
limits = capacity_inputs.limits(snapshot)
answer = cache.answer(plan_capacity.capacity, snapshot, limits)
nodes = cache.answer(seats_question.seats, snapshot)
with said:
    capacity_view.sentence(answer)
    seats_view.figures(nodes, snapshot)

st.subheader("Node pools")
st.caption("By requests of bound pods, not by use. Hatched: how far the pool may still grow, where somebody says.")
capacity_view.pools(answer)

st.subheader("What fits")
shape = capacity_view.shape_text()
typed = [cache.answer(plan_capacity.shape, snapshot, shape)] if shape else []
for found in typed:
    capacity_view.one_shape(found)
capacity_view.what_fits(answer)

st.subheader("Free GPUs, and whom they serve")
capacity_view.stranded(answer.fragments)

st.subheader("Seats")
st.caption("Each node a row, each GPU a seat, by who holds it: by requests of bound pods, not by use.")
seats_view.seats(seats_view.chosen(nodes))

st.subheader("Where the next pod fits")
st.caption("One more pod of each workload that asks for GPUs, with everything else as it is.")
seats_view.next_pods(nodes, snapshot)

st.subheader("All resources")
capacity_view.resources(answer)
capacity_view.download(answer, snapshot, typed)
