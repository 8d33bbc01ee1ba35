"""The schema of a store's tables, as data (``schema.json``), for any engine that reads Parquet.

``docs/store.md`` is made of this. A release may add columns and tables; a column that is there keeps its name, type and
meaning as long as `FORMAT` keeps its number.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.records import Record

FORMAT: Final = "headroom.store/v1"


class ColumnType(StrEnum):
    """A column's type, in Parquet's words."""

    TEXT = "string"
    INTEGER = "int64"
    NUMBER = "double"
    YES_NO = "boolean"
    MOMENT = "timestamp (µs, UTC)"
    LABELS = "map<string, string>"
    AMOUNTS = "map<string, int64>"


class TableColumn(Record):
    name: str
    kind: ColumnType
    what: str


class Table(Record):
    name: str
    what: str
    columns: tuple[TableColumn, ...]

    @property
    def all_columns(self) -> tuple[TableColumn, ...]:
        """Those of every table first."""
        return (*EVERY, *self.columns)


class _Schema(Record):
    """What the file beside this module says. `every`: columns of every table; `partitioned_by`: those that only paths hold."""

    every: tuple[TableColumn, ...]
    partitioned_by: tuple[TableColumn, ...]
    tables: tuple[Table, ...]


_SCHEMA: Final = typed_json.decode(table_beside(__name__, "schema.json"), _Schema)
EVERY: Final = _SCHEMA.every
PARTITIONED_BY: Final = _SCHEMA.partitioned_by
TABLES: Final = _SCHEMA.tables
TRENDS: Final = "trends"  # not written: it follows from two others
NAMED: Final = {table.name: table for table in TABLES}
