import streamlit as st

from planner.questions.savings import QUESTION, detail_of
from planner.ui import (
    cache,
    downloads,
    errors,
    frame,
    link,
    opening,
    own_history,
    savings_inputs,
    savings_view,
    session,
    sheet,
)

snapshot = session.cluster()
(title := st.empty()).title("On spot")
key = savings_inputs.pick(snapshot)
title.title(opening.title(key))
derived = savings_inputs.derived(snapshot, key)
answer, knobs = st.columns([8, 5], gap="large")

with knobs, frame.folded("What is assumed", "assumed"), errors.shown(answer):
    settings = savings_inputs.settings(derived)
    given = own_history.given(snapshot)
with errors.shown(answer):
    result = cache.ask(QUESTION, snapshot, settings, given)
detail = detail_of(result)
saved, mix, fitness = detail.estimate.savings, detail.estimate.mix, detail.suitability
with answer:
    savings_view.verdicts(detail)
    savings_view.figures(saved, detail.assumed)

much, pays, fit, ways, basis = link.tabs(
    ["How much", "Until when it pays", "Is it fit for spot?", "Every way of buying", "What it rests on"], key="part"
)
with much:
    if much.open:
        savings_view.how_much(saved)
        own_history.show(result)
with pays:
    if pays.open:
        savings_view.break_even(saved, detail.assumed)
        savings_view.mixes(mix, detail.assumed)
with fit:
    if fit.open:
        savings_view.checklist(fitness)
with ways:
    if ways.open:
        savings_view.ways(result)
        st.header("What the discount was")
        savings_view.history(derived)
with basis:
    if basis.open:
        savings_view.step_table(saved)
        savings_view.notes(saved)
        sheet.table(QUESTION, result, "assumptions", is_whole=True, height="content")
downloads.answer(QUESTION, snapshot, settings, result)
