import streamlit as st

st.title("Inventory")
