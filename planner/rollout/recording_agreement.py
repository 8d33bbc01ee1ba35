"""How often verdicts agree with recordings of control planes: `make docs` counts it from ``tests/conformance``."""

from __future__ import annotations

import json
from functools import cache

from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.ground.words import Text, listing


class RecordedVerdicts(Record):
    """The recordings of one folder, by what Headroom says of them.

    right : verdicts that are as recorded
    unknown : where Headroom says that it doesn't know
    wrong : any other
    """

    folder: str
    what: str
    right: int
    unknown: int
    wrong: int

    @property
    def total(self) -> int:
        return self.right + self.unknown + self.wrong


@cache
def recorded_verdicts() -> tuple[RecordedVerdicts, ...]:
    """A row a folder of recordings, rollouts first."""
    rows = json.loads(table_beside(__name__, "recording_agreement.json"))
    return tuple(RecordedVerdicts(**row) for row in rows)


def sentence() -> Text:
    """The claim with its exceptions in the same breath, for the first page, `doctor` and the README."""
    rows = recorded_verdicts()
    right, unknown, wrong, total = (
        sum(getattr(row, name) for row in rows) for name in ("right", "unknown", "wrong", "total")
    )
    but = [f"{unknown:,} are not known"] if unknown else []
    but += [f"{wrong:,} {'is' if wrong == 1 else 'are'} wrong"] if wrong else []
    return Text(
        f"Of {total:,} verdicts recorded on real control planes, {right:,} are right{f'; {listing(but)}' if but else ''}."
    )
