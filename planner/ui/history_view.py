"""The page *Over time*: what changed, when GPUs are full, since when something is stuck, what to commit to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.figures import palette
from planner.ground import words
from planner.ground.well_known_names import NVIDIA_GPU
from planner.history.commitments_by_gpu_model import TERM_WORDS
from planner.history.daily_series import Period, TrendLine, money_words
from planner.history.predictions import COUNTED_DAYS
from planner.history.store_queries import History
from planner.history.trend import Outlook
from planner.kubernetes.object_records import Snapshot
from planner.questions import commitments, diff, review, trends
from planner.questions.commitments import CommitmentsAnswer
from planner.questions.question import Inputs
from planner.questions.trends import TrendsAnswer
from planner.rollout.past_report import ReviewSettings
from planner.serve import prediction_listing
from planner.sources import cluster_dumps
from planner.ui import (
    answer_view,
    downloads,
    errors,
    history_store,
    link,
    page_frame,
    pool_limit_inputs,
    session_cluster,
    session_prices,
    shared_answers,
    uploads,
    verdict,
)

Moments = tuple[Snapshot, Snapshot, History | None]


@errors.part
def changed(moments: Moments | None, place: DeltaGenerator) -> None:
    """What differs between the two moments, in a sentence at `place`: what people changed first; only that."""
    if moments is None:
        place.info(
            "Upload an earlier snapshot below: two are a history, and only what differs is said.",
            title="? Nothing to compare with",
        )
        return
    first, then, history = moments
    given = Inputs(limits=pool_limit_inputs.stated(then), book=session_prices.book(), others=(then,), history=history)
    diff_answer = shared_answers.answer(diff.QUESTION.answer, first, diff.DiffSettings(), given)
    # what people changed and the gravest that follows, of what was seen; then the rest
    headline, *others = diff.sentences(diff_answer)
    seen = diff.QUESTION.of_those_seen((first, then), words.Text(headline))
    place.info(words.literal(words.sentence(seen)), icon=":material/difference:")
    for note in (*others, *diff.QUESTION.notes(diff_answer)):
        st.caption(words.literal(words.sentence(note)))
    listed = [
        listing.name for listing in diff.QUESTION.listings if listing.items(diff_answer) and listing.name != "numbers"
    ]
    answer_view.parts(diff.QUESTION, diff_answer, *listed[:1])
    with page_frame.folded("What else changed", "more_changes"):
        answer_view.parts(diff.QUESTION, diff_answer, *listed[1:])
    with page_frame.folded("Numbers and downloads", "numbers"):
        if diff_answer.numbers:
            with st.expander("Every number that differs", icon=":material/numbers:"):
                answer_view.table(diff.QUESTION, diff_answer, "numbers")
        downloads.answer(diff.QUESTION, [first, then], diff.DiffSettings(), diff_answer)


def upload() -> None:
    """An earlier snapshot, kept beside the one looked at."""
    with (
        st.expander("Upload an earlier snapshot", icon=":material/upload_file:"),
        errors.shown(title=errors.UNREADABLE),
    ):
        files = uploads.taken("Upload an earlier snapshot", key="earlier", types=cluster_dumps.UPLOADED)
        if files:
            session_cluster.keep(earlier := shared_answers.work(cluster_dumps.read_uploads, files))
            link.forget(["from"])
            st.query_params["from"] = session_cluster.called_beside(earlier)
            st.rerun()


_RANK = {Outlook.FULL: 0, Outlook.FILLS: 1}


@errors.part
def looked_back(snapshot: Snapshot) -> None:
    """Which rollouts the cluster still shows, and which of them hung; each in a list."""
    if review.QUESTION.not_known(snapshot):
        return
    review_answer = shared_answers.ask(review.QUESTION, snapshot, ReviewSettings(), Inputs())
    st.markdown(words.literal(words.sentence(review_answer.sentence)))
    if review_answer.rollouts:
        with st.expander("Each rollout", icon=":material/history:"):
            answer_view.table(review.QUESTION, review_answer, "rollouts")


@errors.part
def predicted(snapshot: Snapshot) -> None:
    """How often what `headroom serve` predicted of this cluster came so: the wrong ones first, each with what came."""
    scores = history_store.predictions(snapshot)
    if scores is None:
        return
    sentence = f"Predicted in {COUNTED_DAYS} days: {scores.sentence}"
    st.markdown(words.literal(words.sentence(sentence)))
    with st.expander("Each prediction, the wrong ones first", icon=":material/fact_check:"):
        answer_view.table(prediction_listing.QUESTION, scores, "predictions")
        for note in prediction_listing.QUESTION.notes(scores):
            st.caption(words.literal(note))


def expected(trends_answer: TrendsAnswer) -> None:
    """What is to be expected of the fullest model, of each; then one model by day."""
    whole = sorted(
        (line for line in trends_answer.lines if not line.node_pool and line.period is Period.ALL),
        key=lambda line: (_RANK.get(line.trend.outlook, 2), line.trend.early_weeks or 0.0),
    )
    if not whole:
        st.info("No node of this history has GPUs.", title="? No GPUs")
        return
    first = whole[0]
    sentence = f"{first.gpu_model or first.resource}: {first.sentence}"
    verdict.box(
        f"{_GLYPH.get(first.trend.outlook, '✓')} {sentence}",
        f"{words.count(trends_answer.snapshots, 'snapshot')} from {words.moment(trends_answer.first_at)} to {words.moment(trends_answer.last_at)}.",
    )
    first_day = trends_answer.gpus[0].day if len(trends_answer.clusters) > 1 and trends_answer.gpus else ""
    if first_day > words.moment(trends_answer.first_at)[:10]:
        st.caption(
            f"Together they are known since {first_day} only: one of these clusters wasn't kept before. Choose one "
            "above for its own history."
        )
    answer_view.table(trends.QUESTION, trends_answer, "trends", items=whole, names=_TREND)
    name = link.select("GPU model", [_name(line) for line in whole], key="model")
    line = next(trend_line for trend_line in whole if _name(trend_line) == name)
    days = [
        day
        for day in trends_answer.gpus
        if (day.gpu_model, day.resource, day.node_pool) == (line.gpu_model, line.resource, "")
    ]
    if len(days) > 1:  # a day alone has no line
        st.line_chart(
            [
                {"day": date.fromisoformat(day.day), "in all": day.allocatable, "held or wanted": day.held + (day.waiting or 0), "held": day.held}
                for day in days
            ],
            x="day", y=["in all", "held or wanted", "held"], y_label="GPUs", color=[palette.LINE, palette.ORANGE, palette.BLUE],
            alt=f"{name} by day: {line.sentence}",
        )  # fmt: skip
    pools = [
        trend_line
        for trend_line in trends_answer.lines
        if trend_line.gpu_model == line.gpu_model and trend_line.resource == line.resource and trend_line is not line
    ]
    with st.expander("Working hours, nights and weekends; each pool", icon=":material/dns:"):
        answer_view.table(trends.QUESTION, trends_answer, "trends", items=pools, names=("node_pool", "hours", *_TREND))


_TREND = ("model", "wanted_now", "there_are", "says", "band_held")
_GLYPH = {Outlook.FULL: "△", Outlook.FILLS: "△", Outlook.TOO_SHORT: "?"}


def _name(line: TrendLine) -> str:
    return f"{line.gpu_model or line.resource}" + ("" if line.resource == NVIDIA_GPU else f" ({line.resource})")


def money(trends_answer: TrendsAnswer) -> None:
    """Cost and idle by day, in words; the days are in the download."""
    cost_text = money_words(trends_answer.money)
    st.header("Cost")
    st.markdown(words.literal(words.sentence(cost_text)) if cost_text else "No price is known for these clusters.")


def commitment(commitments_answer: CommitmentsAnswer) -> None:
    """The cheapest levels, and the curve of one model and region."""
    if not commitments_answer.lines:
        st.info("No GPUs were held on nodes bought on demand.", title="? Nothing to commit to")
        return
    answer_view.table(commitments.QUESTION, commitments_answer, "best")
    names = [f"{line.gpu_model or line.resource} in {line.region}" for line in commitments_answer.lines]
    line = commitments_answer.lines[names.index(link.select("Model and region", names, key="committed"))]
    if line.terms:
        points = [
            {"GPUs committed": point.level, "saved, USD a month": usd, "term": f"{TERM_WORDS[term.term]}{after}"}
            for term in line.terms
            for point in term.points
            for after, usd in (("", point.saved_usd), (", use fallen", point.saved_after_fall_usd))
        ]
        st.line_chart(
            points, x="GPUs committed", y="saved, USD a month", color="term", alt=words.sentence(line.sentence)
        )
    st.markdown(words.literal(words.sentence(line.sentence)))
    if line.above is not None:
        ways: Sequence[tuple[str, float | None]] = (
            ("on demand", line.above.on_demand_usd),
            ("spot (can be taken away)", line.above.spot_usd),
            ("flex-start (runs for days at most)", line.above.flex_start_usd),
        )
        costs_text = ", ".join(f"{name} {words.usd(cost)}" for name, cost in ways if cost is not None)
        st.markdown(
            words.literal(f"Above it {words.count(round(line.above.gpu_hours), 'GPU-hour')} a month: {costs_text}.")
        )
    answer_view.notes(commitments.QUESTION, commitments_answer)
    st.caption("Those that are owned already aren't known here.")
