"""Every workload in a table under its headline, as a row or a card, and what this product is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from planner.capacity.display_filter import Selection
from planner.capacity.overview import ClusterOverview, WorkloadOverview, by_cause
from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions.overview import QUESTION, OverviewSettings
from planner.rollout.answers import Verdict
from planner.rollout.rollout_summary import unjudged_words
from planner.sources import demo
from planner.ui import answer_view, demo_replay, downloads, errors, object_links, page_filter, session, tables, verdict

_FEW: Final = 40  # workloads that are listed one by one at once
_NO_TROUBLE: Final[Mapping[str, str]] = {}


@errors.part
def what_this_is() -> None:
    """Name and purpose on the first screen; that this is an example, where it is."""
    if session.is_demo():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(
                "Which rollouts would get stuck, and why, before you apply them. This cluster is an example: *Another cluster*, in the "
                "sidebar, takes yours.", width="content",
            )  # fmt: skip
            if demo.is_demo(session.looked_at()):
                demo_replay.offer()


def headline(overview: ClusterOverview, selection: Selection) -> tuple[str, str]:
    """A glyph, and how many workloads would get stuck, of those that the filter lets through, which is said."""
    counts = Counter(line.verdict for line in overview.workloads)
    total = words.count(len(overview.workloads), "workload") + ("" if selection.is_all else f" {selection.said}")
    troubled = len(overview.workloads) - counts[Verdict.COMPLETES]
    if stuck := counts[Verdict.STUCK]:
        return "✗", f"{stuck:,} of {total} would get stuck"
    if grows := counts[Verdict.NEEDS_GROWTH]:
        return "△", f"{grows:,} of {total} can roll out once node pools grow"
    if evicts := counts[Verdict.EVICTIONS_BY_QUEUE]:
        return "▽", f"{evicts:,} of {total} would have others evicted"
    return ("?", f"Not known for {troubled:,} of {total}") if troubled else ("✓", f"All {total} can roll out")


@errors.part
def story(snapshot: Snapshot, overview: ClusterOverview, kept: Selection) -> None:
    """How many workloads would get stuck, and by which causes, in one box."""
    if not overview.workloads:
        verdict.box("? Not known" if QUESTION.lacks(snapshot) else "? Nothing to roll out", overview.sentence)
        return
    glyph, headline_text = headline(overview, kept)
    said = str(overview.sentence)
    if glyph == "✗":
        stuck = [line for line in overview.workloads if line.verdict is Verdict.STUCK]
        grows = sum(line.verdict is Verdict.NEEDS_GROWTH for line in overview.workloads)
        causes = Counter(verdict.REASON[line.reason] or verdict.WORD[line.verdict].lower() for line in stuck)
        more = f" {grows:,} more {words.plural(grows, 'needs', 'need')} node pools to grow." if grows else ""
        said = f"By cause: {', '.join(f'{cause} {number}' for cause, number in causes.most_common())}.{more}"
    elif glyph == "✓":
        said = "Each by itself, if only its template changed, with everything else as it is."
    (verdict.unknown if glyph == "?" else verdict.box)(f"{glyph} {headline_text}", said)
    if glyph in "✗✓" and (unjudged_text := unjudged_words(overview.unjudged)):  # else the sentence says it
        st.caption(words.literal(f"{unjudged_text}."))


@errors.part
def table(snapshot: Snapshot, overview: ClusterOverview) -> None:
    """Every workload's own rollout, the stuck first: of many those that say the same are one row."""
    complete = tuple(line for line in overview.workloads if line.verdict is Verdict.COMPLETES)
    groups = [*by_cause(overview.workloads), *filter(None, [complete])]
    answer_view.grouped(
        QUESTION, overview, "workloads", groups, key="workloads", few=_FEW, sums=("gpus",),
        opens=lambda line: object_links.rollout(line.workload), names=("workload", "verdict", "ready", "gpus", "gpus_are", "headline"),
    )  # fmt: skip
    if overview.workloads:
        st.caption(f"{object_links.SELECT} Node pools and GPU models are in the download.")
    downloads.answer(QUESTION, snapshot, OverviewSettings(filter=page_filter.wanted()), overview)


def row(alike_lines: Sequence[WorkloadOverview], trouble: Mapping[str, str] = _NO_TROUBLE) -> None:
    """A workload, or several of which the same is said: a row, and a card on a phone. `trouble`: what else is wrong with it."""
    line, *alike = alike_lines
    parts = [words.sentence(line.headline)] if line.verdict is not Verdict.COMPLETES else []
    parts += [words.sentence(trouble[line.workload])] if line.workload in trouble else []
    same = "" if line.verdict is Verdict.COMPLETES else " for the same reason"
    parts += [f"And {len(alike):,} more{same}."] if alike else []
    ready_text = "" if line.ready is None or line.replicas is None else f"{line.ready:,} of {line.replicas:,} Ready"
    gpus = line.nouns.count(line.gpus) if line.gpus else ""
    tables.row(
        object_links.rollout(line.workload), words.short_name(line.workload), verdict.words(line.verdict, line.reason),
        verdict.COLOUR[line.verdict], words.literal(" ".join(parts)), " · ".join(filter(None, (ready_text, gpus))),
    )  # fmt: skip
