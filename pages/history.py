import streamlit as st

from planner.questions import commitments, trends
from planner.questions.commitments import CommitmentsSettings
from planner.questions.question import Given
from planner.questions.trends import TrendsSettings
from planner.ui import cache, downloads, errors, history_view, prices, session, sheet, stored
from planner.ui.asked import Asked

history_view.looked_back(session.cluster())
said = st.container()
moments = stored.since()
different, full, since, commit = st.tabs(["What changed", "When it is full", "Since when", "Commitments"])
with different:
    history_view.changed(moments, said)
    history_view.upload()
with full:
    is_there = stored.is_there()
if is_there:
    past = stored.history(moments[0].taken_at if moments else None)
    newest = [stored.latest(cluster) for cluster in past.clusters]
    given = Given(history=past, others=tuple(newest[1:]), book=prices.book())
    with full, errors.shown():
        asked = Asked(TrendsSettings)
        left, right = st.columns(2)
        with left:
            asked.show("time_zone", placeholder="UTC")
        with right:
            asked.show("lead_days")
        settings = asked.settings()
        found = cache.answer(trends.answer, newest[0], settings, Given(history=past))
        history_view.expected(found)
        history_view.money(found)
        downloads.answer(trends.QUESTION, newest, settings, found)
    with since, errors.shown():
        found = cache.answer(trends.answer, newest[0], TrendsSettings(), Given(history=past))
        sheet.table(trends.QUESTION, found, "since")
    with commit, errors.shown():
        terms = Asked(CommitmentsSettings)
        terms.show("fall")
        wanted = terms.settings()
        answer = cache.answer(commitments.answer, newest[0], wanted, given)
        history_view.commitment(answer)
        downloads.answer(commitments.QUESTION, newest, wanted, answer, rows="curve")
    with since:
        stored.moment()
