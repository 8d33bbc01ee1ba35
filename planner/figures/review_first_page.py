"""The capacity review's first page, for a meeting: what is stuck, pending, at risk of one loss, and its cost; each a
sentence with the next step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planner.capacity.gpu_inventory import supplies_of
from planner.capacity.rollout_readiness import ClusterOverview
from planner.capacity.survival import Loss, Survival, spare_words, whose_words
from planner.ground.words import capital, count, listing, plural, usd
from planner.questions.report import Report


class FirstPageLine(NamedTuple):
    """`question`: the chapter that has more; "" where none has."""

    about: str
    said: str
    step: str
    question: str


def lines(review: Report) -> list[FirstPageLine]:
    """A line a matter; of one that isn't known, why."""
    answer_by_question = {name: part_answer.answer for name, part_answer in review.asked.items()}
    loss = _loss(review.losses) if "overview" in answer_by_question else ()
    return [*_stuck(answer_by_question), *_waits(answer_by_question), *loss, *_money(answer_by_question)]


def _stuck(answers: dict[str, Any]) -> Iterator[FirstPageLine]:
    if "overview" in answers:
        yield FirstPageLine(
            "Rollouts", str(answers["overview"].sentence), _first_measure(answers.get("plan")), "overview"
        )


def _first_measure(plan: Any) -> str:
    if plan is None or not plan.measures:
        return "" if plan is None or plan.ready_now == plan.total else str(plan.sentence)
    first, more_measures = plan.measures[0], len(plan.measures) - 1
    more = (
        f", then {count(more_measures, 'more measure')}: {plan.ready_all:,} of {plan.total:,} can be rolled out"
        if more_measures
        else ""
    )
    return f"{first.what}{more}"


def _waits(answer_by_question: dict[str, Any]) -> Iterator[FirstPageLine]:
    if "overview" not in answer_by_question or answer_by_question["overview"].pending_pods is None:
        return
    today = answer_by_question["overview"]
    step = "See what starts pending pods: headroom make-room CLUSTER" if today.pending_pods else ""
    yield FirstPageLine("Waiting", pending_words(today), step, "capacity")


def pending_words(overview: ClusterOverview) -> str:
    """``2 pods are pending for 5 GPUs.``"""
    pods = overview.pending_pods
    if not pods:
        return "Not known: the list of pods is missing or cut off." if pods is None else "No pod is pending."
    wanted = [
        f"{models.pending:,} {models.noun_for(models.pending)}"
        for models in supplies_of(overview.gpus)
        if models.pending
    ]
    lacking = f" for {listing(wanted, None)}" if wanted else ""
    return f"{count(pods, 'pod')} {plural(pods, 'is', 'are')} pending{lacking}."


def _loss(loss_answer: Survival | None) -> Iterator[FirstPageLine]:
    if loss_answer is None:
        yield FirstPageLine("One loss", "Not worked out here, of a cluster as large.", "headroom survive CLUSTER", "")
        return
    worst: Loss | None = max(
        (loss for loss in loss_answer.losses if loss.missing), key=lambda candidate: candidate.missing, default=None
    )
    breaks = ": if one fails, some pods stay pending" if loss_answer.nodes(broken=True) else ""
    text = f"{capital(loss_answer.headline)}{breaks}"
    if worst is not None:
        text += f". Worst: {worst.name}, {whose_words(worst.whose)}"
    spare = spare_words(loss_answer.spare)
    yield FirstPageLine(
        "One loss", f"{text}.", f"Keep spare, for any one node: {spare}" if spare and loss_answer.is_for_all else "", ""
    )


def _money(answer_by_question: dict[str, Any]) -> Iterator[FirstPageLine]:
    saved = answer_by_question["savings"].fleet if "savings" in answer_by_question else None
    step = ""
    if saved is not None and saved.expected_usd > 0:
        moving = [move for move in saved.moves if move.saved_usd > 0]
        first = f": {moving[0].workload} first" if moving else ""
        step = f"Spot is expected to save {usd(saved.expected_usd)} a month{first}"
    if "costs" in answer_by_question:
        if answer_by_question["costs"].bill_usd_per_month is None:
            step = "Give your own prices: --prices FILE"
        yield FirstPageLine("Money", str(answer_by_question["costs"].sentence), step, "costs")
