"""The store's table ``trends``, made of its tables ``pools`` and ``facts``: plain columns, read quickly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from planner.history.store_queries import METRICS, POOL

_ABOUT: Final = ("workload", "verdict", "model", "paid_for")
FROM: Final = ("pools", "facts")
"""The tables it is made of."""
FACT_COLUMNS: Final = ("part", "snapshot", "taken_at", "metric", "labels", "value", "text")


def trends(tables: Mapping[str, pa.Table], schema: pa.Schema) -> pa.Table:
    """Its rows, for those of `tables` (by name) that are there; columns beside `schema`'s are passed over."""
    trend_tables = [
        make_table(tables[name]) for name, make_table in (("pools", _of_pools), ("facts", _of_facts)) if name in tables
    ]
    return (
        pa.concat_tables([_filled(table, schema) for table in trend_tables]) if trend_tables else schema.empty_table()
    )


def _of_pools(pools: pa.Table) -> pa.Table:
    gpus = pools.filter(pc.invert(pc.is_in(pools["resource"], pa.array(["cpu", "memory"]))))
    return gpus.append_column("metric", pa.array([POOL] * len(gpus), pa.string()))


def _of_facts(facts: pa.Table) -> pa.Table:
    metric_facts = facts.filter(pc.is_in(facts["metric"], pa.array(METRICS)))
    labels = metric_facts["labels"].combine_chunks() if len(metric_facts) else pa.array([], metric_facts["labels"].type)

    def label(name: str) -> pa.Array:
        return pc.map_lookup(labels, name, "first")

    about = pc.coalesce(*map(label, _ABOUT), pa.scalar(""))
    resource = pc.coalesce(label("resource"), pa.scalar(""))
    return metric_facts.drop_columns(["labels"]).append_column("about", about).append_column("resource", resource)


def _filled(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """`table` with `schema`'s columns in their order: texts that it lacks are empty, numbers null."""
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(table[field.name].cast(field.type))
        else:
            empty = pa.scalar("" if pa.types.is_string(field.type) and field.name != "text" else None, field.type)
            columns.append(pa.repeat(empty, len(table)))
    return pa.Table.from_arrays(columns, schema=schema)
