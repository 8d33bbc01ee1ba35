"""The page *Now*: what is stuck or pending, what one loss breaks, and cost, each with the next step and a button. Then
the workloads that need attention, and *Every workload*, the table of all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from planner.capacity.display_filter import Selection
from planner.capacity.node_for_pending_pods import pending_nodes
from planner.capacity.rollout_readiness import ClusterOverview, WorkloadOverview, by_cause
from planner.capacity.survival import Scope, Spare, Survival
from planner.figures import review_first_page
from planner.ground import words
from planner.ground.errors import NotKnownError
from planner.health.troubles import brief
from planner.history.predictions import COUNTED_DAYS
from planner.kubernetes.object_records import Snapshot
from planner.pricing.projected_bill import ClusterBill
from planner.questions import costs, plan, restarts, review, savings
from planner.questions.costs import CostsSettings
from planner.questions.overview import QUESTION, OverviewSettings, narrowed
from planner.questions.plan import PlanSettings
from planner.questions.question import Inputs
from planner.questions.restarts import RestartsSettings
from planner.questions.savings import SavingsSettings
from planner.remedies.plan_actions import Measure, MeasureKind, price_of
from planner.remedies.readiness_planner import PlanAnswer
from planner.rollout import recording_agreement
from planner.rollout.answers import Verdict
from planner.rollout.past_report import ReviewSettings
from planner.rollout.rollout_summary import unjudged_words
from planner.ui import (
    answer_view,
    as_if,
    downloads,
    errors,
    health_inputs,
    history_store,
    link,
    object_page_links,
    page_filter,
    pool_limit_inputs,
    queues_and_losses_view,
    session_cluster,
    session_prices,
    shared_answers,
    tables,
    verdict,
)

_FEW: Final = 12  # workloads in the table that are told one by one; of more each cause once
_CAUSES: Final = 6
_WIDTHS: Final = (1.1, 7.4, 2.0)  # what a line is about, what it says, its button
_COLOUR: Final = {"✗": "red", "✓": "green", "△": "orange", "▽": "orange"}
# what is given back afterwards leaves the cluster as it was
_ASIDE: Final = frozenset({MeasureKind.ORDER, MeasureKind.LEND})


def overview(snapshot: Snapshot, kept: Selection) -> ClusterOverview:
    """Every workload's rollout, of what the filter lets through."""
    whole = shared_answers.ask(QUESTION, snapshot, OverviewSettings(), pool_limit_inputs.given(snapshot))
    return narrowed(snapshot, whole, kept)


class NowLine(NamedTuple):
    """Where one of the four lines says what is, what next, and has its button."""

    said: DeltaGenerator
    step: DeltaGenerator
    act: DeltaGenerator


def lines(*names: str) -> list[NowLine]:
    """The places of the lines, in their order."""
    return [_place(name) for name in names]


def _place(name: str) -> NowLine:
    with st.container(key=f"line_{name.lower().replace(' ', '_')}"):
        about, text_column, act = st.columns(_WIDTHS, vertical_alignment="center", gap="small")
        about.markdown(f"**{name}**")
        with text_column, st.container(gap="xxsmall"):
            return NowLine(said=st.container(), step=st.container(), act=act.container())


def _say(line: NowLine, what: str, glyph: str) -> None:
    mark = f":{_COLOUR[glyph]}[{glyph}]" if glyph in _COLOUR else glyph
    line.said.markdown(f"{mark} **{words.literal(what)}**")


def _say_next(line: NowLine, what: object) -> None:
    line.step.markdown(f"Next: {words.literal(words.sentence(str(what)))}")


def _say_unasked(line: NowLine, snapshot: Snapshot, label: str) -> None:
    """Why there is no next step of a large cluster, and which button finds it."""
    if not shared_answers.is_quick(snapshot):
        _say_next(line, f"not worked out unasked for {len(snapshot.nodes):,} nodes; {label} does")


# ── rollouts ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def rollouts(line: NowLine, overview: ClusterOverview, kept: Selection) -> None:
    """How many workloads would get stuck."""
    if not overview.workloads:
        _say(line, str(overview.sentence), "?")
        return
    glyph, headline_text = headline(overview, kept)
    _say(line, f"{headline_text}.", glyph)
    if glyph == "?":
        line.step.caption(words.literal(str(overview.sentence)))
    elif unjudged_text := unjudged_words(overview.unjudged):
        line.step.caption(words.literal(f"{unjudged_text}."))


@errors.part
def next_rollout(line: NowLine, snapshot: Snapshot) -> None:
    """The plan's first measure that costs nothing and makes a workload able to roll out, else its first."""
    if plan.QUESTION.not_known(snapshot):
        return
    inputs = pool_limit_inputs.priced(pool_limit_inputs.given(snapshot))
    with line.step:
        plan_answer = shared_answers.known(plan.QUESTION, snapshot, PlanSettings(), inputs)
        if plan_answer is None and shared_answers.is_quick(snapshot):
            plan_answer = shared_answers.answer(plan.first_steps, snapshot, PlanSettings(), inputs)
    step = None if plan_answer is None else _first(plan_answer)
    if plan_answer is None:
        _say_unasked(line, snapshot, "Suppose all of it")
    elif step is not None:
        cost = price_of(step) if step.kind is MeasureKind.NODES else "no cost"
        _say_next(line, f"{step.what}; {cost}")
    with line.act:
        if step is not None and step.change:
            as_if.button(step.change, key="rollouts", is_first=True)
        if plan_answer is None or plan_answer.measures or plan_answer.left:
            st.button(
                "Suppose all of it", key="plan", icon=":material/checklist:", on_click=link.open_dialog, args=("plan",)
            )


def _first(plan_answer: PlanAnswer) -> Measure | None:
    lasting = [measure for measure in plan_answer.measures if measure.kind not in _ASIDE]
    return min(lasting, key=lambda measure: (not measure.makes, measure.kind is MeasureKind.NODES), default=None)


# ── pending pods ─────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def pending(line: NowLine, overview: ClusterOverview) -> None:
    """How many pods wait for a node, and for how many GPUs."""
    glyph = "?" if overview.pending_pods is None else "✗" if overview.pending_pods else "✓"
    _say(line, review_first_page.pending_words(overview), glyph)


@errors.part
def next_pending(line: NowLine, snapshot: Snapshot, overview: ClusterOverview) -> None:
    """One more node that starts some of them."""
    if not overview.pending_pods:
        return
    inputs = pool_limit_inputs.priced(pool_limit_inputs.given(snapshot))
    with line.step:
        node = next(iter(shared_answers.answer(pending_nodes, snapshot, inputs.limits, inputs.book)), None)
    if node is None:
        _say_next(line, "no single node of today's pools starts any; see what would")
        with line.act:
            _show("headroom.py", {queues_and_losses_view.ROOM: "true"})
        return
    started = words.listing([words.short_name(key) for key, _ in node.started], most=2)
    limit = "" if node.is_within_limit else "; the pool's limit has to be raised"
    _say_next(line, f"one more {node.pool} node starts {started}, {_cost(node.usd_per_month)}{limit}")
    with line.act:
        as_if.button(node.change, key="pending")


def _cost(usd_per_month: float | None) -> str:
    return "no price" if usd_per_month is None else f"{words.usd(usd_per_month)} a month"


def _show(page: str, query: Mapping[str, str] | None = None) -> None:
    st.page_link(page, label="Show", icon=":material/arrow_forward:", query_params=dict(query or {}))


# ── one loss ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def loss(line: NowLine, snapshot: Snapshot) -> None:
    """How many nodes are single points of failure, and the spare node that covers most of them."""
    with line.act:
        _show("headroom.py", {queues_and_losses_view.LOSSES: "true"})
    try:
        with line.said:
            survival_answer = queues_and_losses_view.losses(snapshot)
    except NotKnownError as error:
        _say(line, words.sentence(error.what), "?")
        return
    if survival_answer is None:
        _say_unasked(line, snapshot, "Show")
        return
    is_broken, is_unknown = survival_answer.nodes(broken=True), survival_answer.unknown_nodes
    _say(line, words.sentence(survival_answer.headline), "△" if is_broken else "?" if is_unknown else "✓")
    covered = _covered(survival_answer)
    if covered is not None:
        spare, number = covered
        _say_next(line, f"one spare {spare.pool} node covers {number:,} of them, {_cost(spare.usd_per_month)}")


def _covered(survival_answer: Survival) -> tuple[Spare, int] | None:
    """The one spare node that covers most of the nodes that are single points of failure, and how many."""
    number: Counter[tuple[str, str]] = Counter()
    spares: dict[tuple[str, str], Spare] = {}
    for node_loss in survival_answer.losses:
        if node_loss.scope is Scope.NODE and node_loss.is_broken and [spare.nodes for spare in node_loss.spare] == [1]:
            key = node_loss.spare[0].pool, node_loss.spare[0].zone
            number[key] += node_loss.alike
            spares[key] = node_loss.spare[0]
    best = max(number, key=lambda key: (number[key], key), default=None)
    return None if best is None else (spares[best], number[best])


# ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def money(line: NowLine, snapshot: Snapshot) -> None:
    """The bill, what of it is not requested, and what packing frees."""
    if costs.QUESTION.not_known(snapshot):
        _say(line, "Not known: nodes were not read.", "?")
        return
    bill = shared_answers.ask(costs.QUESTION, snapshot, CostsSettings(), Inputs(book=session_prices.book()))
    _say(line, _bill(bill, len(snapshot.nodes)), "?" if bill.bill_usd_per_month is None else "○")
    with line.act:
        _show("costs.py")


def _bill(bill: ClusterBill, nodes: int) -> str:
    if bill.bill_usd_per_month is None:
        return words.sentence(bill.sentence)
    unpriced = sum(len(unpriced_nodes.nodes) for unpriced_nodes in bill.unpriced)
    whole = f"{words.usd(bill.bill_usd_per_month)} a month"
    if unpriced:
        return f"{whole} for {words.count(nodes - unpriced, 'node')}; {unpriced:,} more have no price."
    idle = bill.bill_idle.total if bill.bill_idle else 0.0
    return f"{whole}; {words.usd(idle)} of it isn't requested." if idle else f"{whole}."


@errors.part
def next_money(line: NowLine, snapshot: Snapshot) -> None:
    """What packing frees, which risks nothing; else what spot is expected to save."""
    if savings.QUESTION.not_known(snapshot):
        return
    given = Inputs(book=session_prices.book())
    try:
        with line.step:
            savings_answer = shared_answers.quickly(savings.QUESTION, snapshot, SavingsSettings(), given)
    except NotKnownError as error:  # no node has a price
        _say_next(line, error.fix)
        return
    fleet = None if savings_answer is None else savings_answer.fleet
    if fleet is None:
        _say_unasked(line, snapshot, "Show")
    elif fleet.packing_nodes:
        number = len(fleet.packing_nodes)
        _say_next(
            line,
            f"{words.count(number, 'node')} can go once {words.plural(number, 'its', 'their')} pods move, "
            f"{words.usd(fleet.packing_usd)} a month",
        )
    elif fleet.expected_usd > 0:
        _say_next(line, f"spot is expected to save {words.usd(fleet.expected_usd)} a month")


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
@errors.part
def workloads(snapshot: Snapshot, overview: ClusterOverview) -> None:
    """Those that would get stuck first, then those that restart; each name opens its page."""
    st.header("Workloads")
    trouble, restarting = _restarting(snapshot), defaultdict[str, list[WorkloadOverview]](list)
    for line in overview.workloads:
        if line.verdict is Verdict.COMPLETES and line.workload in trouble:
            restarting[trouble[line.workload]].append(line)
    parts: list[list[Sequence[WorkloadOverview]]] = [[*by_cause(overview.workloads)], [*restarting.values()]]
    if sum(len(alike) for part in parts for alike in part) <= _FEW:
        parts = [[(line,) for alike in part for line in alike] for part in parts]
    shown = [alike for part in parts for alike in part[: _FEW if len(part) <= _FEW else _CAUSES]]
    for place, line_group in enumerate(shown):
        with st.container(key=f"row_{place}"):
            row(line_group, trouble)
    shown_keys = {line.workload for line_group in shown for line in line_group}
    hidden = [line for line in overview.workloads if line.workload not in shown_keys]
    with st.container(horizontal=True, vertical_alignment="center"):
        if hidden:
            does = " complete" if all(line.verdict is Verdict.COMPLETES for line in hidden) else ""
            st.caption(f"{len(hidden):,} more{does}.")
        st.page_link("rollouts.py", label="Every workload", icon=":material/table_rows:")
        st.button(
            "All findings", key="findings", icon=":material/arrow_forward:", type="tertiary", on_click=link.open_dialog, args=("cluster",)
        )  # fmt: skip


def _restarting(snapshot: Snapshot) -> dict[str, str]:
    """Workload → what is wrong with its containers, of those that restart or don't start now."""
    restart_settings, inputs = RestartsSettings(cures=0), Inputs(usages=health_inputs.usages(snapshot))
    if restarts.QUESTION.not_known(snapshot):
        return {}
    report = shared_answers.ask(restarts.QUESTION, snapshot, restart_settings, inputs).report
    return {loop.workload: brief(loop) for loop in report.loops if loop.is_live}


@errors.part
def foot(snapshot: Snapshot, overview: ClusterOverview, findings: Any) -> None:
    """Where it is from, what else was found, what rollouts it still shows, and how often verdicts are right."""
    is_known = not review.QUESTION.not_known(snapshot)
    past = shared_answers.ask(review.QUESTION, snapshot, ReviewSettings()) if is_known else None
    rollouts = f" Rollouts it still shows: {past.clause}." if past is not None and past.rollouts else ""
    whole = "" if page_filter.wanted().is_empty else "Pending pods, losses and money are the whole cluster's. "
    taken = f"taken {words.moment(overview.taken_at)}"
    data = f"Data: {words.literal(overview.source)}, {taken}. Findings: {findings}."
    scores = history_store.predictions(snapshot)
    own = f"In this cluster: {scores.clause} in {COUNTED_DAYS} days. " if scores is not None else ""
    st.caption(f"{whole}{data}{rollouts} {own}{words.literal(recording_agreement.sentence())}")


_FEW_ROWS: Final = 40  # workloads that are listed one by one at once


@errors.part
def what_this_is() -> None:
    """Name and purpose on the first screen; that this is an example, where it is."""
    if session_cluster.is_demo():
        st.caption(
            "Which rollouts would get stuck, and why, before you apply them. This cluster is an example: *Another cluster*, in the "
            "sidebar, takes yours."
        )


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
def table(snapshot: Snapshot, overview: ClusterOverview) -> None:
    """Every workload's own rollout, the stuck first: of many those that say the same are one row."""
    complete = tuple(line for line in overview.workloads if line.verdict is Verdict.COMPLETES)
    groups = [*by_cause(overview.workloads), *filter(None, [complete])]
    answer_view.grouped(
        QUESTION, overview, "workloads", groups, key="workloads", few=_FEW_ROWS, sums=("gpus",), height=566 if len(overview.workloads) > 8 else "content",
        opens=lambda line: object_page_links.rollout(line.workload), names=("workload", "verdict", "ready", "gpus", "gpus_are", "headline"),
    )  # fmt: skip
    if overview.workloads:
        st.caption(f"{object_page_links.SELECT} Node pools and GPU models are in the download.")
    downloads.answer(QUESTION, snapshot, OverviewSettings(filter=page_filter.wanted()), overview)


def row(alike_lines: Sequence[WorkloadOverview], trouble: Mapping[str, str]) -> None:
    """A workload, or several of which the same is said: a row, and a card on a phone. `trouble`: what else is wrong with it."""
    line, *alike = alike_lines
    parts = [words.sentence(line.headline)] if line.verdict is not Verdict.COMPLETES else []
    parts += [words.sentence(trouble[line.workload])] if line.workload in trouble else []
    same = "" if line.verdict is Verdict.COMPLETES else " for the same reason"
    parts += [f"And {len(alike):,} more{same}."] if alike else []
    ready_text = "" if line.ready is None or line.replicas is None else f"{line.ready:,} of {line.replicas:,} Ready"
    gpus = line.nouns.count(line.gpus) if line.gpus else ""
    tables.row(
        object_page_links.rollout(line.workload), words.short_name(line.workload), verdict.words(line.verdict, line.reason),
        verdict.COLOUR[line.verdict], words.literal(" ".join(parts)), " · ".join(filter(None, (ready_text, gpus))),
    )  # fmt: skip
