"""The capacity review's first page, to be read in a meeting: what is stuck, what waits, what one loss breaks, money; each in a
sentence with the next step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planner.capacity.survival import Loss, Survival, spare_words, whose_words
from planner.ground.words import count, plural, usd
from planner.questions.report import Review


class Line(NamedTuple):
    """`question`: whose chapter has more; "" where none has."""

    about: str
    said: str
    step: str
    question: str


def lines(review: Review) -> list[Line]:
    """A line a matter; of one that isn't known, why."""
    asked = {name: one.answer for name, one in review.asked.items()}
    loss = _loss(review.losses) if "overview" in asked else ()
    return [*_stuck(asked), *_waits(asked), *loss, *_money(asked)]


def _stuck(asked: dict[str, Any]) -> Iterator[Line]:
    if "overview" in asked:
        yield Line("Rollouts", str(asked["overview"].sentence), _first_measure(asked.get("plan")), "overview")


def _first_measure(plan: Any) -> str:
    if plan is None or not plan.measures:
        return "" if plan is None or plan.ready_now == plan.total else str(plan.sentence)
    first, rest = plan.measures[0], len(plan.measures) - 1
    more = (
        f", then {count(rest, 'more measure')}: {plan.ready_all:,} of {plan.total:,} can be rolled out" if rest else ""
    )
    return f"{first.what}{more}"


def _waits(asked: dict[str, Any]) -> Iterator[Line]:
    if "overview" not in asked or asked["overview"].pending_pods is None:
        return
    found = asked["overview"]
    gpus = sum(one.pending or 0 for one in found.gpus)
    wanted = f" and {plural(found.pending_pods, 'wants', 'want')} {count(gpus, 'GPU')}" if gpus else ""
    said = f"{count(found.pending_pods, 'pod')} {plural(found.pending_pods, 'waits', 'wait')} for a node{wanted}." if found.pending_pods else "No pod waits for a node."  # fmt: skip
    yield Line(
        "Waiting",
        said,
        "See what starts pending pods: headroom make-room CLUSTER" if found.pending_pods else "",
        "capacity",
    )


def _loss(found: Survival | None) -> Iterator[Line]:
    if found is None:
        yield Line("One loss", "Not worked out here, of a cluster as large.", "headroom survive CLUSTER", "")
        return
    worst: Loss | None = max((loss for loss in found.losses if loss.missing), key=lambda one: one.missing, default=None)
    nodes, broken = found.nodes(), found.nodes(broken=True)
    points = plural(broken, "is a single point", "are single points")
    said = f"{broken:,} of {count(nodes, 'node')} {points} of failure: if one fails, some pods stay pending"
    if worst is not None:
        said += f". Worst: {worst.name}, {whose_words(worst.whose)}"
    spare = spare_words(found.spare)
    yield Line(
        "One loss",
        f"{said}.",
        f"Keep spare, for any one node: {spare}" if spare and found.is_for_all else "",
        "",
    )


def _money(asked: dict[str, Any]) -> Iterator[Line]:
    saved = asked["savings"].fleet if "savings" in asked else None
    step = ""
    if saved is not None and saved.expected_usd > 0:
        moving = [move for move in saved.moves if move.saved_usd > 0]
        first = f": {moving[0].workload} first" if moving else ""
        step = f"Spot is expected to save {usd(saved.expected_usd)} a month{first}"
    if "costs" in asked:
        if asked["costs"].bill_usd_per_month is None:
            step = "Give your own prices: --prices FILE"
        yield Line("Money", str(asked["costs"].sentence), step, "costs")
