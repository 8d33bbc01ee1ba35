"""What nodes that are added cost: those of a way out of a stuck rollout, and those of a plan for all of them."""

from __future__ import annotations

from collections.abc import Iterable

from planner.ground.words import plural, usd
from planner.kubernetes.nodes import arrival_seconds, gpu_count
from planner.kubernetes.records import Node, Snapshot
from planner.pricing.commitments import paid_for
from planner.pricing.model import PriceBook, Provisioning
from planner.pricing.node import price_node
from planner.pricing.strategy_cost import SCALE_DOWN_SECONDS, SpareTerms
from planner.rollout.answers import Remedy


def usd_of_nodes(
    book: PriceBook | None,
    nodes: Iterable[Node],
    like: Node,
    number: int,
    rollout_seconds: float,
    terms: SpareTerms | None = None,
) -> tuple[float | None, float | None]:
    """USD of so many nodes on demand beside `nodes`: kept all month, and added for one rollout of so many seconds; None without a price.
    What a commitment covers that covers none of `nodes` is paid for already.

    `terms` tell when an added node comes and goes.
    """
    price = None if book is None else price_node(book, like, Provisioning.ON_DEMAND).price
    if price is None or price.usd_per_hour is None or price.sustained_use_usd_per_month is None:
        return None, None
    start = terms.node_start_seconds if terms else arrival_seconds(has_gpus=bool(gpu_count(like)))
    idle = terms.scale_down_seconds if terms else SCALE_DOWN_SECONDS
    hours = (start + rollout_seconds + idle) / 3600
    number -= paid_for(book, nodes, like, number) if book else 0
    return number * price.sustained_use_usd_per_month, number * price.usd_per_hour * hours


def priced(month: float | None, once: float | None, number: int, *, is_kept: bool) -> str:
    """``$438 a month kept, $4.57 for one rollout``; of nodes that pods stay on ``$438 a month: pods stay on it``."""
    if month is None:
        return "no price"
    if is_kept or once is None:
        return f"{usd(month)} a month: pods stay on {plural(number, 'it', 'them')}"
    return f"{usd(month)} a month kept, {usd(once)} for one rollout"


def remedy_cost(snapshot: Snapshot, book: PriceBook, remedy: Remedy, terms: SpareTerms | None = None) -> str:
    """What the nodes a way out adds cost, in words; "" where it adds none."""
    node = next((node for node in snapshot.nodes if node.name == remedy.node_template), None)
    if node is None or not remedy.extra_nodes:
        return ""
    month, once = usd_of_nodes(book, snapshot.nodes, node, remedy.extra_nodes, remedy.seconds, terms)
    return priced(month, once, remedy.extra_nodes, is_kept=remedy.is_kept)
