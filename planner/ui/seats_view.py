"""Nodes as seats, and which workload's next pod would fit where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import streamlit as st

from planner.capacity.filters import Kept
from planner.capacity.seats import NodeSeats
from planner.figures import node_seats, pool_seats
from planner.ground import words
from planner.ground.vocabulary import NVIDIA_GPU
from planner.kubernetes.nodes import NO_POOL
from planner.kubernetes.records import Snapshot
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.units import Offer, card_by_card, units_of
from planner.ui import charts, errors, filtered, link, opening, tables, tiles

_ALL = "all"
_NAMED = 2  # nodes named in a line before "and n more"


@errors.part
def figures(nodes: Sequence[NodeSeats], snapshot: Snapshot) -> None:
    """Seats held and free, and the largest hole: what a pod that needs several GPUs on one node has to fit in."""
    seated = [node for node in nodes if node.seats]
    offered = list(dict.fromkeys(node.offer for node in seated)) or [Offer(resource=NVIDIA_GPU)]
    units = units_of(snapshot)
    with st.grid(min_column_width=150):
        for offer in offered:
            some = [node for node in seated if node.offer == offer]
            noun = words.literal(offer.noun(0, is_only=units.is_only(offer.resource)))
            of = "" if len(offered) == 1 else f" {noun}"
            total, free = sum(node.gpus for node in some), sum(node.gpus_free for node in some)
            out_of_use = sum(node.gpus_out_of_use for node in some)
            tiles.show(noun[:1].upper() + noun[1:], total)
            tiles.show(f"Held{of}", total - free - out_of_use, hint="By bound pods, as requested.")
            tiles.show(f"Free{of}", free, hint="On nodes that take new pods.")
            if out_of_use:
                tiles.show(f"Out of use{of}", out_of_use, hint="Free GPUs on cordoned or not Ready nodes.")
            tiles.show(f"Most on one node{of}", max((node.gpus_free for node in some), default=0))
        tiles.show(
            "GPU nodes", len({node.node for node in seated}), hint=f"Of {words.count(len(snapshot.nodes), 'node')}."
        )


def chosen(nodes: Sequence[NodeSeats]) -> list[NodeSeats]:
    """The nodes with GPUs of the pool and the zone picked in the URL."""
    seated = [node for node in nodes if node.seats]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pool = link.select("Node pool", [_ALL, *sorted({_pool(node) for node in seated})], key="seats_pool", width=320)
        zone = link.select("Zone", [_ALL, *sorted({_zone(node) for node in seated})], key="zone", width=320)
        only_free = link.toggle("Only nodes with a free GPU", key="only_free")
    return [
        node
        for node in seated
        if pool in (_ALL, _pool(node)) and zone in (_ALL, _zone(node)) and (node.gpus_free or not only_free)
    ]


@errors.part
def seats(nodes: Sequence[NodeSeats], *, is_open: bool) -> None:
    """Each node a row and each GPU a seat; above 500 nodes sums by pool and zone, opened by a click. Drawn where `is_open`."""
    if not nodes:
        st.info("No node with GPUs matches.", title="? Nothing to draw", icon=":material/help:")
        return
    if len(nodes) > node_seats.NAMED_NODES and len(pool_seats.totals(nodes)) > 1:
        st.caption(f"{words.count(len(nodes), 'node')}: summed by pool and zone. Click a bar to open it.")
        if is_open:
            charts.pick(pool_seats.figure(nodes), key="pools", alt=pool_seats.alt(nodes), on_pick=_open)
        return
    pages = (len(nodes) - 1) // node_seats.NAMED_NODES + 1
    page = st.pagination(pages, key="seats_page", bind="query-params") if pages > 1 else 1
    if is_open:
        shown = nodes[(page - 1) * node_seats.NAMED_NODES : page * node_seats.NAMED_NODES]
        charts.show(node_seats.figure(shown), key="seats", alt=node_seats.alt(shown))


def _open(place: list[str]) -> None:
    st.session_state["seats_pool"], st.session_state["zone"] = place[0], place[1]


@errors.part
def next_pods(nodes: Sequence[NodeSeats], snapshot: Snapshot, kept: Kept) -> None:
    """For each workload that asks for GPUs: on how many nodes one more of its pods fits now, and where."""
    fits = defaultdict[str, dict[str, None]](dict)
    for node in nodes:
        for workload in node.could_take:
            fits[workload][node.node] = None
    rows = [
        {
            "workload": key,
            "asks for": words.literal(gpus),
            "fits now": "? not known" if is_elsewhere else "✓ yes" if fits[key] else "✗ nowhere",
            "on nodes": len(fits[key]),
            "where": words.listing([*fits[key]], most=_NAMED),
        }
        for number, gpus, key, is_elsewhere in sorted(
            (
                (
                    requested_gpus(spec),
                    units_of(snapshot).words(pod_requests(spec)),
                    workload.key,
                    bool(card_by_card(snapshot, pod_requests(spec))),
                )
                for workload, spec in ((one, one.template.spec) for one in snapshot.workloads)
                if not workload.is_finished and kept.workload(workload.key)
            ),
            key=lambda line: (bool(fits[line[2]]), -line[0], line[2]),
        )
        if number
    ]
    tables.show(
        rows, alt=f"Where the next pod of each of {words.count(len(rows), 'workload')} fits", empty=filtered.nothing("workload that asks for GPUs", "No workload asks for GPUs."),
        opens=[opening.rollout(str(row["workload"])) for row in rows], key="next_pods",
    )  # fmt: skip
    if rows:
        st.caption(opening.SELECT)


def _pool(node: NodeSeats) -> str:
    return node.node_pool or NO_POOL


def _zone(node: NodeSeats) -> str:
    return node.zone or pool_seats.NO_ZONE
