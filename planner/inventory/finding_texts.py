"""Sentences of findings by their code, from ``finding_texts.json``: one row a code."""

from __future__ import annotations

from typing import Final

import msgspec

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.kubernetes.object_records import Finding, Severity


class _Row(msgspec.Struct):
    """`what` and `fix` name in braces what `finding` is given."""

    severity: Severity
    what: str
    fix: str = ""


_ROWS: Final = typed_json.decode(table_beside(__name__, "finding_texts.json"), dict[str, _Row])


DAEMON_NODES: Final = "daemon-nodes"
GROWS_TO: Final = "grows-to"
NOTES: Final = frozenset({DAEMON_NODES, GROWS_TO})
"""Codes of findings that every door tells beside the verdict, though they change nothing: how far a change reaches."""


def finding(row: str, about: str = "", *, severity: Severity | None = None, **parameters: object) -> Finding:
    """The finding of a row about an object ("" for the whole snapshot); of two rows with one code each has a word after a colon."""
    finding_row = _ROWS[row]
    return Finding(
        severity=severity or finding_row.severity, code=row.partition(":")[0], object=about, what=finding_row.what.format(**parameters),
        fix=finding_row.fix.format(**parameters),
    )  # fmt: skip
