"""What a way out of a stuck rollout costs where it adds nodes."""

from __future__ import annotations

from planner.ground.words import usd
from planner.kubernetes.nodes import GPU_NODE_ARRIVAL_SECONDS
from planner.kubernetes.records import Snapshot
from planner.pricing.model import PriceBook, Provisioning
from planner.pricing.node import price_node
from planner.pricing.strategy_cost import SCALE_DOWN_SECONDS, SpareTerms
from planner.rollout.answers import Remedy


def remedy_cost(snapshot: Snapshot, book: PriceBook, remedy: Remedy, terms: SpareTerms | None = None) -> str:
    """What the nodes a way out adds cost, in words; "" where it adds none. `terms` tell when an added node comes and goes.

    Examples
    --------
    ``$438 a month kept, $0.53 for one rollout``
    """
    node = next((node for node in snapshot.nodes if node.name == remedy.node_template), None)
    if node is None or not remedy.extra_nodes:
        return ""
    price = price_node(book, node, Provisioning.ON_DEMAND).price
    hourly, monthly = price.usd_per_hour, price.sustained_use_usd_per_month
    if hourly is None or monthly is None:
        return "no price"
    start = terms.node_start_seconds if terms else GPU_NODE_ARRIVAL_SECONDS
    idle = terms.scale_down_seconds if terms else SCALE_DOWN_SECONDS
    kept = remedy.extra_nodes * monthly
    once = remedy.extra_nodes * hourly * (start + remedy.seconds + idle) / 3600
    return f"{usd(kept)} a month kept, {usd(once)} for one rollout"
