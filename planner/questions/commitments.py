"""Which level of 1- and 3-year commitments would have cost least on the use that a store remembers, and what it risks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.ground.exit_status import ExitStatus
from planner.ground.settings import setting
from planner.ground.tables import Row
from planner.ground.words import Text
from planner.history.terms import TERM_WORDS, ModelUse, commitments_sentence, model_uses
from planner.kubernetes.kinds import NODE
from planner.kubernetes.records import Snapshot
from planner.pricing.bill import USD_A_MONTH
from planner.questions.costs import known_book
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.questions.trends import known_history


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentsSettings:
    """What is risked."""

    fall: float = setting(
        0.2, name="fall", least=0.0, most=1.0, label="Use falls by", unit="share", form="SHARE",
        help="The share of use that goes, for what a commitment then saves or costs.",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentsAnswer:
    sentence: Text
    prices_as_of: str
    lines: tuple[ModelUse, ...]


def answer(snapshot: Snapshot, settings: CommitmentsSettings, given: Given = NOTHING) -> CommitmentsAnswer:
    """`snapshot` and ``given.others`` are each cluster's newest: their machines are what is priced."""
    history, book = known_history(given), known_book(given)
    nodes = [node for one in (snapshot, *given.others) for node in one.nodes]
    lines = tuple(model_uses(history, nodes, book, settings.fall))
    return CommitmentsAnswer(sentence=commitments_sentence(lines), prices_as_of=book.as_of, lines=lines)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(answer: CommitmentsAnswer) -> Iterator[Fact]:
    """The cheapest level of each term, what it saves and risks."""
    yield fact("models", len(answer.lines), "models")
    for line in answer.lines:
        named = {"model": line.gpu_model, "resource": line.resource, "region": line.region}
        yield fact("held_today", line.today, line.resource, **named)
        for one in line.terms:
            yield fact("commitment_level", one.best.level, line.resource, term=one.term, **named)
            yield fact("commitment_saving", one.best.saved_usd, USD_A_MONTH, term=one.term, **named)
            yield fact(
                "commitment_saving_after_fall", one.best.saved_after_fall_usd, USD_A_MONTH, term=one.term, **named
            )


def best_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model, region and term."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "term": TERM_WORDS[one.term],
            "gpus": one.best.level,
            "held_today": line.today,
            "usd_per_month": round(one.best.usd_per_month, 2),
            "saves": round(one.best.saved_usd, 2),
            "saves_after_fall": round(one.best.saved_after_fall_usd, 2),
            "usd_per_gpu_hour": round(one.usd_per_gpu_hour, 6),
        }
        for line in answer.lines
        for one in line.terms
    ]


def curve_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model, region, term and level."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "term": TERM_WORDS[one.term],
            "gpus": point.level,
            "usd_per_month": round(point.usd_per_month, 2),
            "saves": round(point.saved_usd, 2),
            "saves_after_fall": round(point.saved_after_fall_usd, 2),
            "is_today": point.level == line.today,
        }
        for line in answer.lines
        for one in line.terms
        for point in one.points
    ]


def use_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model, region and level: the hours at it."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "gpus_held": one.level,
            "hours": round(one.hours, 2),
            "share": round(one.hours / line.hours, 4),
        }
        for line in answer.lines
        for one in line.used
    ]


def above_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model and region: what the hours above the best level cost a month, each way."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "gpu_hours_a_month": round(line.above.gpu_hours, 1),
            "on_demand_usd": round(line.above.on_demand_usd, 2),
            "spot_usd": None if line.above.spot_usd is None else round(line.above.spot_usd, 2),
            "flex_start_usd": None if line.above.flex_start_usd is None else round(line.above.flex_start_usd, 2),
        }
        for line in answer.lines
        if line.above is not None
    ]


def _status(answer: CommitmentsAnswer) -> ExitStatus:
    return ExitStatus.ANSWERED if any(line.terms for line in answer.lines) else ExitStatus.NOT_KNOWN


QUESTION: Final = Question(
    name="commitments",
    settings=CommitmentsSettings,
    result=CommitmentsAnswer,
    answer=answer,
    facts=facts,
    tables={"best": best_rows, "curve": curve_rows, "use": use_rows, "above": above_rows},
    status=_status,
    hangs_on=(NODE.name,),
)
