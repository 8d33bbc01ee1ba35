"""What is worth a person's attention in this cluster, from every room that looks for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import streamlit as st

from planner import restarts, words
from planner.drift import services as drift
from planner.inventory import checks
from planner.kubernetes.records import Finding, Severity, Snapshot
from planner.memory import risks
from planner.ui import cache, session, tables

# Each room that finds something adds its function: snapshot → findings.
SOURCES: tuple[Callable[[Snapshot], Sequence[Finding]], ...] = (
    checks.check,
    restarts.findings,
    drift.findings,
    risks.check,
)

GLYPH = {Severity.ERROR: "✗", Severity.WARNING: "△", Severity.INFO: "i"}
WORD = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def age(snapshot: Snapshot) -> Sequence[Finding]:
    """How old the snapshot is by this machine's clock; nothing for the embedded ones, which are meant to be old."""
    return () if session.is_demo() else checks.check_age(snapshot, time.time())


def of(snapshot: Snapshot) -> list[Finding]:
    """All findings, the gravest first."""
    found = [*age(snapshot), *(finding for source in SOURCES for finding in cache.answer(source, snapshot))]
    return sorted(dict.fromkeys(found), key=lambda finding: _RANK[finding.severity])


def summary(findings: Sequence[Finding]) -> str:
    """``2 errors, 5 warnings, 1 note``."""
    counts = {severity: sum(f.severity is severity for f in findings) for severity in _RANK}
    said = [words.count(number, WORD[severity]) for severity, number in counts.items() if number]
    return ", ".join(said) or "Nothing found"


def show(findings: Sequence[Finding], *, at_most: int | None = None) -> None:
    """The findings as lines: glyph, object, what, and how to mend it."""
    for finding in findings[:at_most]:
        about = f"**{words.literal(finding.object)}**: " if finding.object else ""
        mend = f"  \n:gray[{words.literal(finding.mend)}]" if finding.mend else ""
        st.markdown(f"{GLYPH[finding.severity]} {about}{words.literal(finding.what)}{mend}")
    if at_most is not None and len(findings) > at_most:
        st.caption(f"and {len(findings) - at_most:,} more")


def table(findings: Sequence[Finding]) -> None:
    """The findings as a table that can be searched and sorted."""
    rows = [
        {
            "severity": f"{GLYPH[finding.severity]} {WORD[finding.severity]}",
            "object": finding.object,
            "what": finding.what,
            "how to mend it": finding.mend,
        }
        for finding in findings
    ]
    tables.show(rows, alt=f"Findings: {summary(findings)}", empty="Nothing found: the checks have no complaint.")
