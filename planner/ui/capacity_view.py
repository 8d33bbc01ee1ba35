"""The page Capacity: the seat map (seats by workload, pending pods, a lost node), what fits, pools and resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import streamlit as st

from planner.capacity import free_resources_by_pool
from planner.capacity.capacity_answer import CapacityAnswer
from planner.capacity.display_filter import ALL, Selection
from planner.capacity.fragmentation import Fragments
from planner.capacity.headroom import Fit
from planner.capacity.node_for_pending_pods import PendingNode, pending_nodes
from planner.capacity.node_pools import NodePool
from planner.capacity.seat_map import NodeLoss, PendingSeats, node_loss, pending_pods, seat_words, shares
from planner.figures import seat_map
from planner.ground import words
from planner.ground.errors import ChangeError
from planner.ground.records import replace
from planner.ground.table_formats import alike
from planner.ground.well_known_names import CPU, MEMORY
from planner.inventory.pool_limits import LimitSource, UpgradeSettings, UpgradeStrategy
from planner.kubernetes.object_records import Snapshot
from planner.questions import capacity, seats
from planner.questions.capacity import CapacitySettings
from planner.remedies.make_room import MadeRoom
from planner.ui import (
    answer_view,
    as_if,
    downloads,
    errors,
    findings,
    link,
    object_page_links,
    page_filter,
    pool_limit_inputs,
    queues_and_losses_view,
    shared_answers,
    tables,
    verdict,
)
from planner.ui.custom_components import component

_FRAMED_PIXELS = 778  # what a frame leaves for a table


# ── what is left ─────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def sentence(answer: CapacityAnswer, kept: Selection = ALL) -> None:
    """The honest measure first: what of the free GPUs takes a pod; of the whole cluster, whatever is listed below."""
    whole = "" if kept.is_all else "Whole cluster: "
    st.info(words.literal(whole + words.sentence(answer.sentence)), icon=":material/event_seat:")
    findings.show(answer.findings)


@errors.part
def pools(answer: CapacityAnswer) -> None:
    """Pools with what is held of them and how far they may grow."""
    if not answer.pools:
        st.caption(page_filter.nothing("node pool", "No nodes in this snapshot."))
        return
    answer_view.table(capacity.QUESTION, answer, "pools")
    with link.expander("Zones, taints, upgrades, reservations", key="pool_facts", icon=":material/dns:") as is_open:
        if is_open:
            facts = [
                {
                    "pool": line.pool.name,
                    "label": ", ".join(line.pool.gpu_labels),
                    "zones": ", ".join(f"{zone or 'no zone'} ({number})" for zone, number in line.pool.zones),
                    "taints": ", ".join(f"{taint.key}:{taint.effect}" for taint in line.pool.taints) or "none",
                    "upgrade": _upgrade(line.pool.upgrade),
                    "reservation": line.pool.reservation or "none known",
                }
                for line in answer.pools
            ]
            tables.show(facts, alt="Each node pool's zones, taints and upgrades", within=_FRAMED_PIXELS)


def _upgrade(settings: UpgradeSettings | None) -> str:
    if settings is None:
        return "unknown"
    if settings.strategy is UpgradeStrategy.BLUE_GREEN:
        return "blue-green"
    return f"maxSurge {settings.max_surge}, maxUnavailable {settings.max_unavailable}"


def typed(snapshot: Snapshot, shape: str) -> list[Fit]:
    """What of a typed shape fits, shown; nothing where none is typed."""
    fits = [shared_answers.answer(free_resources_by_pool.shape, snapshot, shape)] if shape else []
    for fit in fits:
        _one_shape(fit)
    return fits


@errors.part
def _one_shape(fit: Fit) -> None:
    """A typed shape: how many fit and where, and what stops the next."""
    glyph = "?" if fit.unknown else "✓" if fit.count else "✗"
    verdict.box(f"{glyph} {fit.shape}", words.sentence(fit.sentence))
    if fit.message:
        st.caption("What kube-scheduler would say of the next one")
        st.code(str(fit.message), language=None, wrap_lines=True)


@errors.part
def what_fits(answer: CapacityAnswer) -> None:
    """Every shape: how many more, what stops the next one, where they would go."""
    if not answer.resources or answer.fragments is None:
        st.caption(
            "What fits isn't known without Pods." if answer.resources else "No nodes in this snapshot, so nothing fits."
        )
        return
    groups = alike((*answer.workloads, *answer.standard), lambda fit: (fit.requests, fit.known_count, fit.obstacles))
    answer_view.grouped(
        capacity.QUESTION, answer, "fits", groups, called="shape", key="what_fits", opens=lambda fit: object_page_links.rollout(fit.shape),
        names=("shape", "fits", "stops", "where"),
    )  # fmt: skip
    answer_view.note(capacity.QUESTION, answer, "fits")
    st.caption(f"Each shape by itself. {object_page_links.SELECT} Standard shapes have none.")


@errors.part
def stranded(fragments: Fragments | None) -> None:
    """Free GPUs that serve no pod of a size: why, and where."""
    if fragments is None or not fragments.free:
        return
    with st.expander(f"Free {fragments.noun} that a pod can't use", icon=":material/block:"):
        st.markdown(words.literal(words.sentence(fragments.sentence)))
        rows = [
            {
                "for": "any pod" if size.gpus == 0 else f"pods of {size.gpus}",
                "of no use": f"{size.stranded:,} of {size.free:,} free",
                "why": words.listing(list(dict.fromkeys(str(node.sentence) for node in size.nodes)), most=2) or None,
                "where": words.listing([node.node for node in size.nodes], most=3) or None,
            }
            for size in fragments.sizes
        ]
        tables.small(rows)
        st.caption(
            "The mix: the pods of this cluster that ask for GPUs, pending ones included. Fragmentation as in Weng et al., USENIX ATC 2023."
        )


@errors.part
def resources(answer: CapacityAnswer) -> None:
    """The whole cluster's resources."""
    answer_view.table(capacity.QUESTION, answer, "resources")


@errors.part
def download(
    snapshot: Snapshot, settings: CapacitySettings, answer: CapacityAnswer, typed: Sequence[Fit], shape: str
) -> None:
    """The answer as a versioned document, and what fits as rows; with the shape as it was typed."""
    shown_settings = replace(settings, shapes=(shape,) if shape else ())
    downloads.answer(capacity.QUESTION, snapshot, shown_settings, replace(answer, shapes=tuple(typed)))


_KEY: Final = "seat_map"
_LOST: Final = "lost"  # the node, in the link
_TABLE_ROWS: Final = 2_000
_FEW_PENDING: Final = 6  # kinds of pending pods beside the map


@errors.part
def seats_map(snapshot: Snapshot, answer: CapacityAnswer, kept: Selection, table: Any) -> None:
    """The map of seats, and the same in `table`, a tab, for who doesn't see it."""
    if answer.fragments is None:  # who holds them is told by pods
        return
    every = shared_answers.ask(seats.QUESTION, snapshot, seats.SeatsSettings())
    seated = [node for node in seats.narrowed(every, kept).nodes if node.seats]
    kinds = [*(["GPUs"] if every.nodes else []), "CPU", "Memory"]
    kind = link.segments("Seats", kinds, key="seats_of", label_visibility="collapsed")
    square = "Each square is a GPU"
    if kind != "GPUs":
        resource = CPU if kind == "CPU" else MEMORY
        shared, unit = shared_answers.answer(shares, snapshot, resource)
        seated = [node for node in shared if kept.node(node.node)]
        square = words.capital(seat_words(resource, unit))
    note = f"{square}, by requests of bound pods. Point at a pending pod to see what holds its place; click a node to lose it."
    if not seated:
        st.info(
            page_filter.nothing("node", "No node in this snapshot."), title="? Nothing to draw", icon=":material/help:"
        )
        return
    waiting = [
        pending
        for pending in shared_answers.answer(pending_pods, snapshot)
        if any(map(kept.workload, pending.workloads))
    ]
    if len(waiting) > _FEW_PENDING:
        note += f" {words.count(sum(pending_seats.pods for pending_seats in waiting[_FEW_PENDING:]), 'more pod')} pending: under Make room."
    texts = list(_told(snapshot, waiting[:_FEW_PENDING]))
    data = seat_map.seat_map_document(seated, texts, _lost(snapshot), _beside(answer), note)
    component("seat_map", "seatMap(place, data, setTriggerValue)")(
        key=_KEY, data=data, on_lose_change=_lose, on_suppose_change=_suppose
    )
    with table:
        if table.open:
            names = ("node", "node_pool", "free", "held_by", "could_take")
            answer_view.table(seats.QUESTION, every, "nodes", items=seated[:_TABLE_ROWS], names=names)
            if len(seated) > _TABLE_ROWS:
                st.caption(f"The first {_TABLE_ROWS:,} of {len(seated):,} nodes.")


def _lose() -> None:
    node = st.session_state[_KEY].lose
    st.query_params[_LOST] = node or ""
    if not node:
        del st.query_params[_LOST]


def _suppose() -> None:
    if change := st.session_state[_KEY].suppose:
        as_if.suppose(str(change))
        st.query_params.pop(_LOST, None)


def _lost(snapshot: Snapshot) -> NodeLoss | None:
    """What the loss of the link's node comes to."""
    node = st.query_params.get(_LOST, "")
    try:
        return shared_answers.answer(node_loss, snapshot, node) if node else None
    except ChangeError:  # it isn't there, or it is lost already
        return None


def _beside(answer: CapacityAnswer) -> dict[str, str]:
    def beside(pool: NodePool) -> str:
        limits = "limits unknown" if pool.source is LimitSource.UNKNOWN else pool.limit_text
        return ", ".join(filter(None, (words.count(pool.node_count, "node"), pool.accelerator, limits)))

    return {line.pool.name: beside(line.pool) for line in answer.pools}


def _told(snapshot: Snapshot, waiting: Sequence[PendingSeats]) -> Iterator[tuple[PendingSeats, list[str], str]]:
    """Each with what it needs, the workloads that hold its place, the moves that start it, and the node that would."""
    if not waiting:
        return
    given = pool_limit_inputs.priced(pool_limit_inputs.given(snapshot))
    made = queues_and_losses_view.room(snapshot)
    nodes = shared_answers.answer(pending_nodes, snapshot, given.limits, given.book)
    for pending_seats in waiting:
        node = next((node for node in nodes if {key for key, _ in node.started} & set(pending_seats.workloads)), None)
        lines = [f"Needs {pending_seats.needs}{' each' if pending_seats.pods > 1 else ''}."]
        if pending_seats.holders:
            holders = [f"{words.short_name(key)} ({words.count(pods, 'pod')})" for key, pods in pending_seats.holders]
            lines.append(f"Its place is held by {words.listing(holders, most=None)}.")
        elif not pending_seats.nodes:
            lines.append("No node is of its kind and large enough.")
        lines += [*_moves(made, pending_seats), *([] if node is None else [_node(node)])]
        yield pending_seats, lines, "" if node is None else node.change


def _moves(made: MadeRoom | None, pending_seats: PendingSeats) -> Iterator[str]:
    """Which moves start it, or that none do."""
    if made is None:
        yield "Which moves start it is worked out under Make room."
    elif started := [start for start in made.starts if start.workload in pending_seats.workloads]:
        stage = max(start.stage for start in started)
        moved = [f"{move.pod} leaves {move.node}" for move in made.moves if move.stage <= stage]
        yield f"{words.count(len(moved), 'move')} {words.plural(len(moved), 'starts', 'start')} {len(started):,}: {words.listing(moved)}."
    elif any(left.workload in pending_seats.workloads for left in made.left):
        yield f"No move of other pods {'starts it (proven)' if made.is_most else 'was found that starts it'}."


def _node(node: PendingNode) -> str:
    cost = "no price is known" if node.usd_per_month is None else f"{words.usd(node.usd_per_month)} a month"
    return f"One more {node.pool} node does{'' if node.is_within_limit else ', above its limit'}; {cost}."
