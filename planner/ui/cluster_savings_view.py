"""The whole cluster's savings, shown: what it comes to, the moves in order, who bears what before and after."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import streamlit as st

from planner.ground import words
from planner.ground.tables import alike
from planner.questions.savings import QUESTION, SavingsAnswer
from planner.spot.cluster_savings import FleetSavings, Move
from planner.ui import answer_view, errors, link, object_links


def fleet_of(savings_answer: SavingsAnswer) -> FleetSavings:
    """The fleet, which an answer without a workload has."""
    assert savings_answer.fleet is not None
    return savings_answer.fleet


@errors.part
def sums(found: SavingsAnswer) -> None:
    """The sentence, and the figures that reconcile: the whole cluster's."""
    fleet = fleet_of(found)
    st.markdown(words.literal(found.sentence))
    st.caption(
        f"USD a month, as billed. On demand {words.literal(f'${fleet.on_demand_usd:,.2f}')} = kept "
        f"{words.literal(f'${fleet.kept_usd:,.2f}')} + freed {words.literal(f'${fleet.freed_usd:,.2f}')}, of which "
        f"{words.literal(f'${fleet.packing_usd:,.2f}')} by packing alone: that is not counted as saved by spot."
    )


@errors.part
def moves(found: SavingsAnswer) -> None:
    """The moves, most saved per pod-hour at risk first."""
    moving = fleet_of(found).moves
    answer_view.grouped(
        QUESTION, found, "moves", alike(moving, _alike), key="moves", few=_FEW_MOVES,
        sums=("expected_usd", "pod_hours_at_risk", "nodes_freed"), names=_SHOWN,
        opens=lambda move: object_links.PageLink(page="rollout.py", query={"workload": move.workload, "about": "Spot", "spot": "true"}),
    )  # fmt: skip
    if moving:
        st.caption(
            "USD a month. Saved: expected, after losses and price moves: its part of what the moves of its pool save together. Pod-hours at "
            "risk: expected not to be Ready a month. Freed: on-demand nodes that go. A move without a number would save nothing."
        )


_FEW_MOVES: Final = 40
_FEW_BEARERS: Final = 12
_SHOWN: Final = (
    "move",
    "workload",
    "expected_usd",
    "fit",
    "pod_hours_at_risk",
    "nodes_freed",
)


def _alike(move: Move) -> Hashable:
    """What is said of a move, but for its owner: money to three digits, since cents that are left over have an owner."""
    amounts = (move.expected_usd, move.risk_pod_hours, move.freed_nodes, move.spot_nodes)
    return move.fitness, tuple(f"{amount or 0:.3g}" for amount in amounts)


@errors.part
def bearers(found: SavingsAnswer) -> None:
    """Namespaces and what is idle, before and after; many of them where one asks for it."""
    if not found.fleet or not found.fleet.bearers:
        st.caption("No nodes, so nothing to pay for.")
        return
    few = len(found.fleet.bearers) <= _FEW_BEARERS
    with link.expander(
        "Namespaces, before and after", key="bearers", icon=":material/groups:", is_open=few
    ) as is_drawn:
        if is_drawn:
            answer_view.table(QUESTION, found, "namespaces")
            st.caption(
                "USD a month. Every column adds up to the sums above, to the cent. Bears less: with what packing frees, before losses."
                if not found.hidden_namespaces
                else f"Bears less: with what packing frees, before losses. {found.hidden_namespaces:,} hidden: the rows don't add up to the sums above."
            )


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
