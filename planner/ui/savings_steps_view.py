"""Savings as steps: the bill, packing, spot, commitments, each with dollars, risk and work, and a slide for a manager.
Then the moves to spot in order, and each namespace's cost before and after.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.figures import savings_slide
from planner.ground import words
from planner.ground.errors import HeadroomError
from planner.ground.table_formats import alike
from planner.ground.words import literal, moment, short_name, usd
from planner.kubernetes.object_records import Snapshot
from planner.pricing.projected_bill import ClusterBill
from planner.questions import commitments, costs
from planner.questions.commitments import CommitmentsSettings
from planner.questions.question import Inputs
from planner.questions.savings import QUESTION, SavingsAnswer, SavingsSettings, detail_of
from planner.spot.cluster_savings import FleetSavings, Move
from planner.spot.packing_spot_commitment_steps import MoneyStep, left_usd, staircase, summary
from planner.ui import (
    answer_view,
    as_if,
    errors,
    history_store,
    idle_view,
    object_page_links,
    page_frame,
    session_prices,
    shared_answers,
)

_WIDTHS: Final = (0.4, 4.6, 2.0, 2.2, 3.4)  # number, step, dollars, bar, risk and work
_FEW_NODES: Final = 10  # nodes: a list of changes has no more
_ON_SLIDE: Final = 6  # on the slide


@errors.part
def show(
    snapshot: Snapshot, bill: ClusterBill, answer: SavingsAnswer | None, given: Inputs, place: DeltaGenerator
) -> None:
    """The staircase, its sentence at `place`."""
    total = bill.bill_usd_per_month
    if total is None:
        place.info(literal(words.sentence(bill.sentence)), title="? No bill", icon=":material/help:")
        return
    fleet = None if answer is None else answer.fleet
    steps = staircase(bill, fleet, *_committed(given))
    less = sum(step.saved_usd for step in steps)
    unpriced = sum(len(cost.nodes) for cost in bill.unpriced)
    lacking = f" {words.count(unpriced, 'more node')} without a price." if unpriced else ""
    expected = f" {usd(less)} less is expected, in this order." if less > 0 else ""
    place.info(literal(f"{usd(total)} a month.{expected}{lacking}"), icon=":material/payments:")
    _row(1, "The bill today", literal(words.sentence(bill.sentence)), usd(total), 1.0, idle_view.line(snapshot))
    for number, step in enumerate(steps, 2):
        left = left_usd(bill, steps[: number - 1])
        saved = f"{'−' if step.saved_usd else ''}{usd(step.saved_usd)}"
        aside = " · ".join(filter(None, (step.risk, step.work)))
        _row(number, step.name, literal(step.detail), saved, left / total, aside, step.band)
    with st.container(horizontal=True, vertical_alignment="center"):
        if steps:
            st.markdown(f"**Left: {literal(usd(left_usd(bill, steps)))}**", width="content")
        if fleet is not None and 0 < len(fleet.packing_nodes) <= _FEW_NODES:
            drains = ";".join(f"drain:{name}" for name in fleet.packing_nodes)
            as_if.button(drains, key="packing", label="Suppose the packing")
        if steps and answer is not None:
            st.download_button(
                "One slide", data=lambda: slide_of(snapshot, total, steps, answer, given), file_name="savings.html", mime="text/html",
                icon=":material/co_present:", on_click="ignore", key="slide", help="What can be saved, its risk and the work, on one page for a manager.",
            )  # fmt: skip


def _row(number: int, name: str, detail: str, dollars: str, share: float, aside: str, band: str = "") -> None:
    with st.container(key=f"row_money_{number}"):
        place, step, money, bar, risk = st.columns(_WIDTHS, vertical_alignment="center", gap="small")
        place.markdown(f"**{number}**")
        step.markdown(f"**{literal(name)}**  \n:gray[{detail}]")
        money.markdown(f"**{literal(dollars)}**" + (f"  \n:gray[{literal(band)}]" if band else ""))
        bar.progress(min(1.0, max(0.0, share)))
        risk.markdown(f":gray[{literal(aside)}]")


def _committed(given: Inputs) -> tuple[float, str]:
    """What commitments save on what is left, and how that is known: of the store's history."""
    try:
        if not (history_store.clusters() or history_store.is_made()):
            return 0.0, "Commitments need a history: let headroom store snapshot keep one."
        past = history_store.history(None)
        newest = [history_store.latest(cluster) for cluster in past.clusters]
        asked = Inputs(history=past, others=tuple(newest[1:]), book=given.book)
        commitments_answer = shared_answers.answer(commitments.answer, newest[0], CommitmentsSettings(), asked)
    except HeadroomError as error:
        return 0.0, words.sentence(error.what)
    best = [max((term.best.saved_usd for term in line.terms), default=0.0) for line in commitments_answer.lines]
    why = list(dict.fromkeys(str(line.sentence) for line in commitments_answer.lines if any(best) == bool(line.terms)))
    return sum(best), words.sentence(words.listing(why) or commitments_answer.sentence)


def slide_of(
    snapshot: Snapshot, total: float, steps: Sequence[MoneyStep], savings_answer: SavingsAnswer, given: Inputs
) -> str:
    """The slide, with a sentence for each of the workloads that save the most on spot."""
    assert savings_answer.fleet is not None
    moves = sorted(
        (move for move in savings_answer.fleet.moves if move.is_worth_it), key=lambda move: -move.expected_usd
    )
    keys = list(dict.fromkeys(move.workload for move in moves))[:_ON_SLIDE]
    each = [
        (short_name(key), str(summary(detail_of(QUESTION.answer(snapshot, SavingsSettings(workload=key), given)))))
        for key in keys
    ]
    return savings_slide.html(f"{snapshot.source}, taken {moment(snapshot.taken_at)}", total, steps, each)


def settled(snapshot: Snapshot, given: Inputs) -> SavingsAnswer | None:
    """What spot saves; None where it isn't known, which is said."""
    try:
        return shared_answers.ask(QUESTION, snapshot, SavingsSettings(), given)
    except HeadroomError as error:
        if snapshot.nodes and not costs.QUESTION.not_known(snapshot):
            errors.show(error)
        return None


def age(bill: ClusterBill) -> None:
    """How old the prices are, and who sells at them."""
    oldest = f", the oldest used of {bill.as_of}" if bill.as_of else ""
    with page_frame.folded("How old the prices are", "age"):
        source = words.sentence(f"{bill.prices_source or session_prices.book().source}: list prices in USD{oldest}")
        st.caption(literal(source) + session_prices.age(bill.as_of or session_prices.book().as_of))


def fleet_of(savings_answer: SavingsAnswer) -> FleetSavings:
    """The fleet, which an answer without a workload has."""
    assert savings_answer.fleet is not None
    return savings_answer.fleet


@errors.part
def moves(answer: SavingsAnswer) -> None:
    """The moves, most saved per pod-hour at risk first."""
    moving = fleet_of(answer).moves
    answer_view.grouped(
        QUESTION, answer, "moves", alike(moving, _alike), key="moves", few=_FEW_MOVES,
        sums=("expected_usd", "pod_hours_at_risk", "nodes_freed"), names=_SHOWN,
        opens=lambda move: object_page_links.PageLink(page="rollout.py", query={"workload": move.workload, "about": "Spot", "spot": "true"}),
    )  # fmt: skip
    if moving:
        st.caption(
            "USD a month. Saved: expected, after losses and price moves: its part of what the moves of its pool save together. Pod-hours at "
            "risk: expected not to be Ready a month. Freed: on-demand nodes that go. A move without a number would save nothing."
        )


_FEW_MOVES: Final = 40
_SHOWN: Final = ("workload", "move", "expected_usd", "fit", "pod_hours_at_risk", "nodes_freed")


def _alike(move: Move) -> Hashable:
    """What is said of a move, but for its owner: money to three digits, since cents that are left over have an owner."""
    amounts = (move.expected_usd, move.risk_pod_hours, move.freed_nodes, move.spot_nodes)
    return move.fitness, tuple(f"{amount or 0:.3g}" for amount in amounts)


@errors.part
def kept_off(fleet: FleetSavings) -> None:
    """What stays, and why."""
    shown = fleet.kept_off
    if shown:
        with st.expander(
            f"{words.count(len(shown), 'workload')} {words.plural(len(shown), 'stays where it is', 'stay where they are')}",
            icon=":material/push_pin:",
        ):
            for workload, why in shown:
                st.markdown(f"**{words.literal(workload)}**: {words.literal(why)}")
