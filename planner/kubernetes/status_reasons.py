"""Reasons in pod statuses, by the kubelet, container runtimes and controllers (``status_reasons.tsv``).

One table, each row with its source in Kubernetes: `restarts` explains by it, `inventory` reads by it which messages of ended
containers are the runtime's, and anonymous snapshots keep its words. A reason without a row is quoted as it is.
"""

from __future__ import annotations

from typing import Final, Literal

from planner.ground.data_files import table_beside
from planner.ground.records import Record

Place = Literal["waiting", "terminated", "pod"]
UNTOLD: Final = "-"
"""The outcome of reasons that say only that something ended or waits."""


class StatusReason(Record):
    """A row: where the reason stands, what `restarts` makes of it, and the source that writes it."""

    reason: str
    place: str
    outcome: str
    source: str


_LINES: Final = table_beside(__name__, "status_reasons.tsv").decode().splitlines()
ROWS: Final = tuple(
    StatusReason(reason=reason, place=place, outcome=outcome, source=source)
    for reason, place, outcome, source in (line.split("\t") for line in _LINES if not line.startswith("#"))
)
_WHOLE: Final = {(row.place, row.reason): row for row in ROWS}
_BEGINNINGS: Final = tuple(row for row in ROWS if row.reason.endswith("*"))
WORDS: Final = frozenset(row.reason for row in ROWS if " " not in row.reason and "*" not in row.reason)
"""The reasons themselves, which are no names."""
RUNTIME_MESSAGES: Final = frozenset(row.reason for row in ROWS if row.place == "terminated" and row.outcome == "start")
"""Endings of containers that never ran: their message is the runtime's error, not what a program printed."""


def outcome_of(place: Place, reason: str) -> str:
    """What the table makes of `reason` at this place; "" for a reason that it doesn't have."""
    row = _WHOLE.get((place, reason))
    if row is None:
        begins = (prefix for prefix in _BEGINNINGS if prefix.place == place and reason.startswith(prefix.reason[:-1]))
        row = next(begins, None)
    return row.outcome if row is not None else ""
