"""Shows findings on a page: as lines, and as a table."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from planner.ground import words
from planner.ground.table_formats import alike
from planner.inventory import cluster_oddities, input_report
from planner.kubernetes.object_records import Finding, Severity, Snapshot
from planner.questions.findings import QUESTION, FindingsAnswer, FindingsSettings, narrowed
from planner.questions.question import Inputs
from planner.ui import answer_view, object_page_links, page_filter, session_cluster, shared_answers

GLYPH = {Severity.ERROR: "✗", Severity.WARNING: "△", Severity.INFO: "i"}


def kinds(findings: Sequence[Finding]) -> list[tuple[Finding, ...]]:
    """Findings of one code and severity together, in the order of the first of each."""
    return alike(findings, lambda finding: (finding.severity, finding.code))


def _now(snapshot: Snapshot) -> float | None:
    """This machine's clock, so that the snapshot's age is whole steps and the answer can be kept; None for the embedded
    clusters, which are meant to be old.

    The age is rounded down: a step is what clocks may differ by, so that no snapshot is ahead, stale or aged by the rounding.
    """
    if session_cluster.is_demo():
        return None
    step = cluster_oddities.CLOCKS_MAY_DIFFER_SECONDS
    return snapshot.taken_at + (time.time() - snapshot.taken_at) // step * step


def age(snapshot: Snapshot) -> Sequence[Finding]:
    """How old the snapshot is."""
    now = _now(snapshot)
    return () if now is None else cluster_oddities.check_age(snapshot, now)


def not_seen(snapshot: Snapshot) -> None:
    """A line on every page for each list that the API server refused, and for those of which a part is there."""
    for sentence in input_report.not_seen(snapshot):
        st.warning(words.literal(words.sentence(sentence)), title="△ Not seen")


def lost(snapshot: Snapshot, at_most: int = 3) -> str:
    """What of a snapshot's files could not be used, each with how to fix it, as Markdown; "" where all could."""
    problems = [problem for problem in snapshot.problems if problem.severity is not Severity.INFO]
    if not problems:
        return ""
    lines = [
        f"- {words.literal(words.sentence(': '.join(filter(None, (problem.object, problem.what)))))} {words.literal(words.sentence(problem.fix))}"
        for problem in problems[:at_most]
    ]
    more = f"\n- and {len(problems) - at_most:,} more" if len(problems) > at_most else ""
    return f"{words.count(len(problems), 'part')} could not be used:\n" + "\n".join(lines) + more


def of(snapshot: Snapshot) -> FindingsAnswer:
    """The findings that the filter lets through, the gravest first."""
    return narrowed(
        shared_answers.ask(QUESTION, snapshot, FindingsSettings(), Inputs(now=_now(snapshot))),
        page_filter.kept(snapshot),
    )


def show(findings: Sequence[Finding], *, at_most: int | None = None) -> None:
    """The findings as lines: glyph, object with the way to its page, what, and how to fix it.

    Where there are more than `at_most`, the first of each kind stands for those like it.
    """
    most = len(findings) if at_most is None else at_most
    listed = kinds(findings) if len(findings) > most else [(finding,) for finding in findings]
    for alike_findings in listed[:most]:
        _line(alike_findings[0])
        if len(alike_findings) > 1:
            st.caption(f"and {len(alike_findings) - 1:,} more like it")
    if hidden_findings := sum(map(len, listed[most:])):
        st.caption(f"and {hidden_findings:,} more")


def _line(finding: Finding) -> None:
    fix = f"  \n:gray[{words.literal(words.sentence(finding.fix))}]" if finding.fix else ""
    glyph, target = GLYPH[finding.severity], object_page_links.of(finding)
    if target is None:
        about = f"**{words.literal(finding.object)}**: " if finding.object else ""
        st.markdown(f"{glyph} {about}{words.literal(words.sentence(finding.what))}{fix}")
        return
    with st.container(gap=None):
        object_page_links.link(target, finding.object, glyph)
        st.markdown(f"{words.literal(words.sentence(finding.what))}{fix}")


def table(answer: FindingsAnswer) -> None:
    """The findings as a table that can be searched and sorted."""
    answer_view.table(QUESTION, answer, "findings", opens=object_page_links.of, key="findings_table")
