"""What is worth a person's attention, in sentences by their code: ``findings.json``, a row each."""

from __future__ import annotations

from typing import Final

import msgspec

from planner.ground import typed
from planner.ground.beside import table_beside
from planner.kubernetes.records import Finding, Severity


class _Row(msgspec.Struct):
    """`what` and `mend` name in braces what `finding` is given."""

    severity: Severity
    what: str
    mend: str = ""


_ROWS: Final = typed.decode(table_beside(__name__, "findings.json"), dict[str, _Row])


DAEMON_NODES: Final = "daemon-nodes"
GROWS_TO: Final = "grows-to"
NOTES: Final = frozenset({DAEMON_NODES, GROWS_TO})
"""Codes of findings that every door tells beside the verdict, though they change nothing: how far a change reaches."""


def finding(row: str, about: str = "", *, severity: Severity | None = None, **given: object) -> Finding:
    """The finding of a row about an object ("" for the whole snapshot); of two rows with one code each has a word after a colon."""
    known = _ROWS[row]
    return Finding(
        severity=severity or known.severity, code=row.partition(":")[0], object=about, what=known.what.format(**given),
        mend=known.mend.format(**given),
    )  # fmt: skip
