"""The question *commitments*: the cheapest level of 1- and 3-year commitments for past use, and its risk."""

from __future__ import annotations

from typing import Final

from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing, of_first
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.ground.words import Text
from planner.history.commitment_cost_curve import Above, Point, Use
from planner.history.commitments_by_gpu_model import TERM_WORDS, ModelUse, Term, commitments_sentence, model_uses
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE
from planner.questions.question import NOTHING, Inputs, Question, Want, known_book
from planner.questions.trends import known_history
from planner.spot.cluster_savings import gpus_leaving


class CommitmentsSettings(Record):
    """What is risked."""

    fall: float = setting(
        0.2, name="fall", least=0.0, most=1.0, label="Use falls by", unit="share", form="SHARE",
        help="The share of use that goes, for what a commitment then saves or costs.",
    )  # fmt: skip


class CommitmentsAnswer(Record):
    sentence: Text
    prices_as_of: str
    lines: tuple[ModelUse, ...]


def answer(snapshot: Snapshot, settings: CommitmentsSettings, inputs: Inputs = NOTHING) -> CommitmentsAnswer:
    """`snapshot` and ``inputs.others`` are each cluster's newest: their machines are what is priced."""
    history, book = known_history(inputs), known_book(inputs)
    every = (snapshot, *inputs.others)
    nodes = [node for cluster_snapshot in every for node in cluster_snapshot.nodes]
    lines = tuple(model_uses(history, nodes, book, settings.fall, gpus_leaving(every, book)))
    return CommitmentsAnswer(sentence=commitments_sentence(lines), prices_as_of=book.as_of, lines=lines)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
Bought = tuple[ModelUse, Term]
Level = tuple[ModelUse, Term, Point]


def _bought(answer: CommitmentsAnswer) -> list[Bought]:
    return [(line, term) for line in answer.lines for term in line.terms]


def _model(line: ModelUse) -> str:
    return line.gpu_model or line.resource


_NAMES: Final[tuple[Column[ModelUse], ...]] = (
    Column("model", _model),
    Column("region"),
    Column("", lambda line: line.gpu_model, label="model"),
    Column("", lambda line: line.resource, label="resource"),
    Column("", lambda line: line.region, label="region"),
)
_BEST: Final[Listing[CommitmentsAnswer, Bought]] = Listing(
    name="best",
    title="the cheapest level, USD a month",
    empty="No commitment's price is known for these models.",
    items=_bought,
    columns=(
        *(of_first(column) for column in _NAMES),
        Column("term", lambda of: TERM_WORDS[of[1].term]),
        Column("", lambda of: of[1].term, label="term"),
        Column("gpus", lambda of: of[1].best.level, metric="commitment_level", unit=lambda of: of[0].resource),
        Column("held_today", lambda of: of[0].today),
        Column("leaving_for_spot", lambda of: of[0].leaving),
        Column("leaving_after_rollouts", lambda of: of[0].surplus),
        Column("usd_per_month", lambda of: of[1].best.usd_per_month),
        Column("saves", lambda of: of[1].best.saved_usd, metric="commitment_saving", unit=USD_A_MONTH),
        Column("saves_after_fall", lambda of: of[1].best.saved_after_fall_usd, metric="commitment_saving_after_fall",
            unit=USD_A_MONTH,
        ),
        Column("usd_per_gpu_hour", lambda of: of[1].usd_per_gpu_hour),
    ),
)  # fmt: skip
_CURVE: Final[Listing[CommitmentsAnswer, Level]] = Listing(
    name="curve",
    is_shown=False,
    items=lambda answer: [(line, term, point) for line, term in _bought(answer) for point in term.points],
    columns=(
        *(of_first(column) for column in _NAMES),
        Column("term", lambda of: TERM_WORDS[of[1].term]),
        Column("gpus", lambda of: of[2].level),
        Column("usd_per_month", lambda of: of[2].usd_per_month),
        Column("saves", lambda of: of[2].saved_usd, unit=USD_A_MONTH),
        Column("saves_after_fall", lambda of: of[2].saved_after_fall_usd, unit=USD_A_MONTH),
        Column("is_today", lambda of: of[2].level == of[0].today),
    ),
)
_USE: Final[Listing[CommitmentsAnswer, tuple[ModelUse, Use]]] = Listing(
    name="use",
    is_shown=False,
    items=lambda answer: [(line, use) for line in answer.lines for use in line.used],
    columns=(
        *(of_first(column) for column in _NAMES),
        Column("gpus_held", lambda of: of[1].level),
        Column("hours", lambda of: round(of[1].hours, 2)),
        Column("share", lambda of: round(of[1].hours / of[0].hours, 4)),
    ),
)
_ABOVE: Final[Listing[CommitmentsAnswer, tuple[ModelUse, Above]]] = Listing(
    name="above",
    title="the hours above it, USD a month",
    unknown="no price",
    items=lambda answer: [(line, line.above) for line in answer.lines if line.above],
    columns=(
        *(of_first(column) for column in _NAMES),
        Column("gpu_hours_a_month", lambda of: round(of[1].gpu_hours, 1)),
        Column("on_demand_usd", lambda of: of[1].on_demand_usd),
        Column("spot_usd", lambda of: of[1].spot_usd),
        Column("flex_start_usd", lambda of: of[1].flex_start_usd),
    ),
)
_HELD: Final[Listing[CommitmentsAnswer, ModelUse]] = Listing(
    name="held",
    is_shown=False,
    items=lambda answer: answer.lines,
    columns=(*_NAMES, Column("held_today", lambda line: line.today, metric="held_today", unit=lambda line: line.resource)),
)  # fmt: skip


def _status(answer: CommitmentsAnswer) -> ExitStatus:
    return ExitStatus.ANSWERED if any(line.terms for line in answer.lines) else ExitStatus.NOT_KNOWN


QUESTION: Final = Question(
    name="commitments",
    settings=CommitmentsSettings,
    answer=answer,
    figures=(Figure("models", lambda answer: len(answer.lines), "models"),),
    listings=(_BEST, _CURVE, _USE, _ABOVE, _HELD),
    notes=lambda answer: [f"Prices as of {answer.prices_as_of}; a commitment is paid whether it is used or not."],
    about="""Hours at each level of GPUs held on demand, per model and region; the commitments that would have cost least.

    STORE is what headroom store snapshot wrote. A price is a GPU's with its share of the machine. Exits 4 where nothing can be
    said: a history of less than a week, or no price.
    """,
    wants=(Want.HISTORY, Want.PRICES),
    status=_status,
    hangs_on=(NODE.name,),
)
