"""Reads a bill from a file: FOCUS, Google's export, AWS' CUR or Azure's cost details as CSV, JSON or Parquet,
OpenCost's ``/allocation`` as JSON; gzip or not.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from planner.ground.errors import InputError
from planner.inventory import archives
from planner.pricing.billed_costs import Invoice
from planner.sources import bounded_reading
from planner.sources.source_limits import LIMITS

_LARGEST_BYTES: Final = 256 * 1024 * 1024
_PARQUET: Final = b"PAR1"
_UNREAD: Final = frozenset({"tags", "labels", "system_labels", "adjustment_info"})  # wide, and never looked at
_FIX: Final = (
    "Give a FOCUS table, Google's, AWS' or Azure's billing export (CSV, JSON or Parquet) or OpenCost's /allocation JSON"
)


def load_bill(path: Path) -> Invoice:
    """The charges in a file.

    Raises
    ------
    InputError
        For a file that is none of them, or holds too much.
    """
    content = bytes(
        archives.inflated(
            bounded_reading.read_file(path, limit=_LARGEST_BYTES), path.name, archives.Walk(_LARGEST_BYTES)
        )
    )
    if content.startswith(_PARQUET):
        return Invoice(_rows(content, path.name), where=path.name)
    return Invoice(bounded_reading.text_of(content, path.name, limit=_LARGEST_BYTES, fix=_FIX), where=path.name)


def _rows(data: bytes, where: str) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        if file.metadata.num_rows > LIMITS.bill_rows:
            raise InputError(
                f"has {file.metadata.num_rows:,} rows",
                where=where,
                fix=f"Export at most {LIMITS.bill_rows:,}: one cluster's, one month's",
            )
        column_names = [name for name in file.schema_arrow.names if name.lower() not in _UNREAD]
        for batch in file.iter_batches(batch_size=10_000, columns=column_names):
            yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise InputError("is not Parquet", where=where, fix=_FIX) from error
