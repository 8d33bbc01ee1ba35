"""Books and nodes for the tests."""

from __future__ import annotations

from planner.ground.well_known_names import INSTANCE_TYPE, REGION
from planner.kubernetes.object_records import FrozenMap, Node
from planner.pricing.price_book import PriceBook
from planner.pricing.price_table_parser import PriceTable, compose, read_table
from planner.sources.prices import embedded_book
from tests.builders import records

SEOUL = "asia-northeast3"


def own_table(text: str) -> PriceTable:
    return read_table(text, where="own.csv", source="own prices", is_own=True)


def book_with(*own: str) -> PriceBook:
    """The embedded book under own tables."""
    embedded = embedded_book()
    below = PriceTable(
        machines=embedded.machines,
        units=tuple(embedded.units.values()),
        gpu_models=tuple(embedded.gpu_models.values()),
    )
    return compose([below], own=[own_table(text) for text in own], as_of=embedded.as_of, source=embedded.source)


def make_node(
    machine_type: str = "n1-standard-8",
    region: str = SEOUL,
    *,
    name: str = "node-0",
    cpu: int = 8000,
    memory_gib: float = 29.5,
    gpus: int = 0,
    gpu_resource: str = "nvidia.com/gpu",
    provider_id: str = "",
    labels: dict[str, str] | None = None,
) -> Node:
    amounts = {"cpu": cpu, "memory": int(memory_gib * 2**30), "pods": 110, **({gpu_resource: gpus} if gpus else {})}
    given = {INSTANCE_TYPE: machine_type, REGION: region, **(labels or {})}
    return records.node(name, FrozenMap(amounts), given, provider_id=provider_id)
