import streamlit as st

from planner.questions import commitments, trends
from planner.questions.commitments import CommitmentsSettings
from planner.questions.question import Inputs
from planner.questions.trends import TrendsSettings
from planner.ui import (
    answer_view,
    downloads,
    errors,
    history_store,
    history_view,
    session_cluster,
    session_prices,
    shared_answers,
)
from planner.ui.settings_form import SettingsForm

said = st.container()
history_view.looked_back(session_cluster.cluster())
history_view.predicted(session_cluster.cluster())
moments = history_store.since()
different, full, since, commit = st.tabs(["What changed", "When it is full", "Since when", "Commitments"])
with different:
    history_view.changed(moments, said)
    history_view.upload()
with full:
    is_there = history_store.is_there()
if is_there:
    past = history_store.history(moments[0].taken_at if moments else None)
    newest = [history_store.latest(cluster) for cluster in past.clusters]
    given = Inputs(history=past, others=tuple(newest[1:]), book=session_prices.book())
    with full, errors.shown():
        asked = SettingsForm(TrendsSettings)
        with st.grid(2):
            asked.show("time_zone", placeholder="UTC")
            asked.show("lead_days")
        settings = asked.settings()
        found = shared_answers.answer(trends.answer, newest[0], settings, Inputs(history=past))
        history_view.expected(found)
        history_view.money(found)
        downloads.answer(trends.QUESTION, newest, settings, found)
    with since, errors.shown():
        found = shared_answers.answer(trends.answer, newest[0], TrendsSettings(), Inputs(history=past))
        answer_view.table(trends.QUESTION, found, "since")
    with commit, errors.shown():
        terms = SettingsForm(CommitmentsSettings)
        terms.show("fall")
        wanted = terms.settings()
        answer = shared_answers.answer(commitments.answer, newest[0], wanted, given)
        history_view.commitment(answer)
        downloads.answer(commitments.QUESTION, newest, wanted, answer, rows="curve")
    with since:
        history_store.moment()
else:
    since.caption(NO_STORE := "No store is named: see *When it is full*.")
    commit.caption(NO_STORE)
