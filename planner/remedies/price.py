"""Adds the cost of its nodes to a remedy (`planner.pricing.added_nodes`)."""

from __future__ import annotations

from planner.ground.records import replace
from planner.ground.words import Text
from planner.kubernetes.object_records import Snapshot
from planner.pricing.added_nodes import NodesPrice, money, price_of_nodes
from planner.pricing.price_book import PriceBook
from planner.rollout.answers import Remedy


def price_of_remedy(snapshot: Snapshot, book: PriceBook | None, remedy: Remedy) -> NodesPrice | None:
    """Of the nodes that a way out adds; None where it adds none, and without a price."""
    node = next((node for node in snapshot.nodes if node.name == remedy.node_template), None)
    if node is None or not remedy.extra_nodes:
        return None
    arrival, number, kept = remedy.arrival_seconds, remedy.extra_nodes, remedy.kept_nodes
    seconds = remedy.seconds - arrival
    return price_of_nodes(book, snapshot.nodes, node, number, seconds, kept=kept, start_seconds=arrival)


def with_price(snapshot: Snapshot, book: PriceBook | None, remedy: Remedy) -> Remedy:
    """A way out with what its nodes cost, in its sentence too."""
    if not remedy.extra_nodes or book is None:
        return remedy
    if (price := price_of_remedy(snapshot, book, remedy)) is None:
        return replace(remedy, price=Text("no price"))
    month, once = price.usd_per_month, price.usd_per_rollout
    return replace(
        remedy, price=Text(price.words), usd_per_month=month, usd_per_rollout=once,
        sentence=Text(f"{remedy.sentence}; {money(month, once, price.kept)}"),
    )  # fmt: skip
