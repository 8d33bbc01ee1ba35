"""The Overview's parts: the story in one box, key figures, and which workloads are in trouble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeVar

import streamlit as st

from planner.capacity.filters import Kept
from planner.capacity.gpu_lines import known_sum, supplies_of, unoffered_words
from planner.figures import gpu_bars
from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions.costs import QUESTION as COSTS
from planner.questions.costs import CostsSettings
from planner.questions.overview import QUESTION, OverviewSettings
from planner.questions.question import Given, Question
from planner.questions.restarts import QUESTION as RESTARTS
from planner.questions.restarts import RestartsSettings
from planner.questions.wording import listed
from planner.remedies.overview import ClusterOverview, WorkloadOverview, by_cause, by_trouble
from planner.rollout.answers import Verdict
from planner.rollout.glance import unjudged_words
from planner.sources import demo
from planner.ui import (
    cache,
    charts,
    downloads,
    errors,
    filtered,
    opening,
    prices,
    replay,
    session,
    sheet,
    tables,
    tiles,
    usage_inputs,
    verdict,
)

S = TypeVar("S")
A = TypeVar("A")
_RESOURCES: Final = 4  # accelerators with a figure of their own; the chart has all
_LIST_PIXELS = 640
_QUICK_NODES = 500  # above, what other rooms say isn't worked out for the first page
_FEW = 40  # workloads that are listed one by one at once
_SHOWN = 6  # causes of trouble that are told one by one; the table has all


def trouble(overview: ClusterOverview) -> list[WorkloadOverview]:
    """Workloads that could not be rolled out now, those with most at stake first."""
    lines = by_trouble(overview.workloads)
    return [line for line in lines if line.verdict is not Verdict.COMPLETES]


@errors.part
def what_this_is() -> None:
    """Name and purpose on the first screen; that this is an example, where it is."""
    if session.is_demo():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(
                "Which rollouts would get stuck, and why, before you apply them. This cluster is an example: *Another cluster*, in the "
                "sidebar, takes yours.", width="content",
            )  # fmt: skip
            if demo.is_demo(session.cluster()):
                replay.offer()


@errors.part
def story(snapshot: Snapshot, overview: ClusterOverview, kept: Kept) -> None:
    """What could not be rolled out now, in one box; of what the filter lets through, which is said."""
    which = "" if kept.is_all else words.literal(f" {kept.said}")
    troubled, total = trouble(overview), len(overview.workloads)
    stuck, grows = ([line for line in troubled if line.verdict is one] for one in (Verdict.STUCK, Verdict.NEEDS_GROWTH))
    if not total:
        title = "? Not known" if QUESTION.lacks(snapshot) else "? Nothing to roll out"
        st.info(words.literal(overview.sentence), title=title, icon=":material/help:")
    elif not troubled:
        st.success(
            "Each by itself, if only its template changed, with everything else as it is.",
            title=f"✓ All {words.count(total, 'workload')}{which} could be rolled out now",
            icon=":material/check_circle:",
        )  # fmt: skip
    elif grows and not stuck:
        title = f"△ {len(grows):,} of {words.count(total, 'workload')}{which} could be rolled out once node pools grow"
        st.warning(words.literal(overview.sentence), title=title, icon=":material/trending_up:")
    elif not stuck:
        title = f"? Of {len(troubled):,} of {words.count(total, 'workload')}{which} it isn't known whether they could be rolled out"
        verdict.unknown(title, overview.sentence)
    else:
        causes = Counter(verdict.REASON[line.reason] or verdict.WORD[line.verdict].lower() for line in stuck)
        more = f" {len(grows):,} more {words.plural(len(grows), 'needs', 'need')} node pools to grow." if grows else ""
        st.error(
            words.literal(
                f"By cause: {', '.join(f'{cause} {number}' for cause, number in causes.most_common())}.{more}"
            ),
            icon=":material/block:",
            title=f"✗ {len(stuck):,} of {words.count(total, 'workload')}{which} could not be rolled out now",
        )
    beside = unjudged_words(overview.unjudged)
    if total and beside and (stuck or not troubled):  # else the sentence says it
        st.caption(words.literal(f"{beside}."))


@errors.part
def figures(snapshot: Snapshot, overview: ClusterOverview, findings: words.Text) -> None:
    """The key figures."""
    supplies = supplies_of(overview.gpus)
    counts = Counter(line.verdict for line in overview.workloads)
    with st.grid(min_column_width=140):
        total = len(overview.workloads)
        is_any_known = counts[Verdict.UNKNOWN] < total or not (total or QUESTION.lacks(snapshot))
        tiles.share("Could be rolled out", counts[Verdict.COMPLETES] if is_any_known else None, total or None)
        for supply in supplies[:_RESOURCES]:
            noun = words.literal(supply.noun)
            tiles.share(f"{noun} free", supply.free, supply.allocatable)
            if supply.out_of_use:
                tiles.show(f"{noun} out of use", supply.out_of_use)
            if supply.overcommitted:
                tiles.show(f"{noun} overcommitted", supply.overcommitted)
            tiles.show(f"{noun} wanted", supply.pending)
        if not supplies:
            tiles.show("GPUs free", None if overview.node_count is None else "no GPUs")
        if away := unoffered_words(overview.gpus):
            tiles.show("GPUs no pod can use", sum(line.unoffered for line in overview.gpus), hint=words.literal(away))
        tiles.share("Pods waiting", overview.pending_pods, known_sum((overview.pod_count, overview.pending_pods)))
        _of_other_rooms(snapshot)
    st.caption(
        f"{'Whole cluster, but for what could be rolled out. ' if overview.hidden else ''}"
        f"Data: {words.literal(overview.source)}, taken {words.moment(overview.taken_at)}. Findings: {findings}."
    )


def _of_other_rooms(snapshot: Snapshot) -> None:
    """What restarts, and the bill: the first figures of Health and Money."""
    restarts = _quickly(RESTARTS, snapshot, RestartsSettings(cures=0), Given(usages=usage_inputs.history(snapshot)))
    bill = _quickly(COSTS, snapshot, CostsSettings(), Given(book=prices.book()))
    if restarts is not None:
        live = sum(loop.is_live for loop in restarts.report.loops)
        tiles.show("In trouble", live, hint="Workloads that restart, or don't start: the room Health.")
    if bill is not None:
        total = bill.bill_usd_per_month
        tiles.show(
            "Bill a month", None if total is None else words.usd(total), hint="On demand or as bought: the room Money."
        )


def _quickly(question: Question[S, A], snapshot: Snapshot, asked: S, given: Given) -> A | None:
    """The answer, of a large cluster only where it is kept; None where nobody can tell."""
    if question.not_known(snapshot):
        return None
    if len(snapshot.nodes) > _QUICK_NODES:
        return cache.known(question, snapshot, asked, given)
    return cache.ask(question, snapshot, asked, given)


@errors.part
def troubled_lines(snapshot: Snapshot, overview: ClusterOverview) -> None:
    """Each cause of trouble once: the first workload's verdict, link with the scenario in it, and why."""
    causes = by_cause(overview.workloads)
    is_known = not causes or any(line.verdict is not Verdict.UNKNOWN for line, *_ in causes)
    st.header("Could not be rolled out now" if is_known else "Not known")
    if not causes:
        st.caption("Not known." if QUESTION.lacks(snapshot) else "✓ None.")
    for line, *alike in causes[:_SHOWN]:
        with st.container(border=True, gap="xsmall"):
            with st.container(horizontal=True, vertical_alignment="center"):
                target = opening.Target(page="rollout.py", query={"workload": line.workload})
                opening.link(target, line.workload, icon=":material/rocket_launch:")
                verdict.badge(line.verdict, line.reason)
            st.markdown(words.literal(words.sentence(line.headline)))
            if alike:
                st.caption(f"and {len(alike):,} more for the same reason")
    if more := sum(len(cause) for cause in causes[_SHOWN:]):
        st.caption(f"and {more:,} more, in the list of every workload")
    elif any(len(cause) > 1 for cause in causes):
        st.caption("All are in the list of every workload.")


@errors.part
def gpus(overview: ClusterOverview) -> None:
    """GPUs by model: held, free, waited for."""
    if not overview.gpus:
        st.caption(
            "No node of this cluster has GPUs."
            if overview.node_count is not None
            else "Not known: see which nodes were read."
        )
        return
    charts.show(gpu_bars.figure(overview.gpus), key="gpus", alt=gpu_bars.alt(overview.gpus))
    tables.small(listed(QUESTION.listings[1], overview), unknown="not known")


@errors.part
def table(snapshot: Snapshot, overview: ClusterOverview) -> None:
    """Every workload's own rollout, as a table."""

    def rows(groups: Sequence[tuple[WorkloadOverview, ...]], key: str) -> None:
        if key == "workloads":
            sheet.table(
                QUESTION, overview, "workloads", opens=lambda line: opening.rollout(line.workload), key=key,
                names=("workload", "verdict", "ready", "gpus", "gpus_are", "headline"),  # a phone shows the first
                height=_LIST_PIXELS if len(overview.workloads) > _SHOWN else "content",
            )  # fmt: skip
            return
        told = [
            {
                "workload": words.listing([line.workload for line in (line, *more)], most=1),
                "its rollout now": verdict.words(line.verdict, line.reason),
                "GPUs": known_sum([line.gpus for line in (line, *more)]),
                "why": "each by itself" if line.verdict is Verdict.COMPLETES else str(line.headline),
            }
            for line, *more in groups
        ]
        tables.show(
            told, alt=str(overview.sentence), opens=[opening.rollout(line.workload) for line, *_ in groups], key=key
        )

    complete = tuple(line for line in overview.workloads if line.verdict is Verdict.COMPLETES)
    tables.grouped([*by_cause(overview.workloads), *filter(None, [complete])], rows, key="workloads", few=_FEW)
    if overview.workloads:
        st.caption(f"{opening.SELECT} Node pools and GPU models are in the download.")
    downloads.answer(QUESTION, snapshot, OverviewSettings(filter=filtered.wanted()), overview)
