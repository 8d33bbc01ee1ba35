"""The whole cluster's savings, shown: what it comes to, the moves in order, who bears what before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import streamlit as st

from planner.ground import words
from planner.ground.tables import Row, alike
from planner.questions.savings import QUESTION, SavingsAnswer
from planner.spot.fleet import FleetSavings
from planner.ui import errors, object_links, sheet, tables


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
    moving = QUESTION.rows(found, "moves")
    pools = Counter(row["workload"] for row in moving)

    def rows(groups: Sequence[tuple[Row, ...]], key: str) -> None:
        table_rows = [
            {
                "move": alike_rows[0]["move"],
                "workload": words.listing([_whose(row, pools) for row in alike_rows], most=1),
                "saved $": _sum(alike_rows, "expected_usd"),
                "fit": alike_rows[0]["fit"],
                "risk": _sum(alike_rows, "pod_hours_at_risk"),
                "nodes": f"{_sum(alike_rows, 'nodes_freed'):g} → {_sum(alike_rows, 'spot_nodes'):g}",
                "alone $": _sum(alike_rows, "alone_usd"),
                "repacked $": _sum(alike_rows, "alone_repacked_usd"),
            }
            for alike_rows in groups
        ]
        tables.show(
            table_rows,
            alt="Workloads that move to spot, in order, with what each saves a month",
            columns={"risk": st.column_config.NumberColumn(format="%.2f")},
            money=("saved $", "alone $", "repacked $"),
            empty="No workload may move, or none runs on demand.",
            opens=[object_links.PageLink(page="rollout.py", query={"workload": str(row["workload"]), "about": "Spot", "spot": "true"}) for row, *_ in groups], key=key,
        )  # fmt: skip

    tables.grouped(alike(moving, _move), rows, key="moves", few=_FEW_MOVES)
    if not moving:
        return
    st.caption(
        "USD a month. Saved: expected, its part of what the pool's moves save together, by what it bears of the bill, after losses and price moves. Alone and repacked are before these. Alone: by itself, whole nodes only; repacked: the "
        "rest of its pool packed more tightly. Risk: pod-hours a month that aren't Ready, expected. Nodes: on-demand ones that "
        "go → spot ones that come. Those without a number would save nothing. Select a row to open its own page."
    )


_FEW_MOVES: Final = 40
_SAID: Final = (
    "fit",
    "expected_usd",
    "pod_hours_at_risk",
    "nodes_freed",
    "spot_nodes",
    "alone_usd",
    "alone_repacked_usd",
)


def _move(row: Row) -> Hashable:
    """What is said of a move, but for whose it is: to three digits, since cents that are left over have an owner."""
    return tuple(f"{cell:.3g}" if isinstance(cell := row[name], float) else cell for name in _SAID)


def _whose(row: Row, pools: Mapping[object, int]) -> str:
    return (
        f"{row['workload']} in {row['node_pool'] or 'no pool'}" if pools[row["workload"]] > 1 else str(row["workload"])
    )


def _sum(group_rows: Sequence[Row], name: str) -> float | None:
    amounts = [amount for row in group_rows if isinstance(amount := row[name], int | float)]
    return sum(amounts) if amounts else None


@errors.part
def bearers(found: SavingsAnswer) -> None:
    """Namespaces and what is idle, before and after."""
    if not found.fleet or not found.fleet.bearers:
        st.caption("No nodes, so nothing to pay for.")
        return
    sheet.table(QUESTION, found, "namespaces")
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
