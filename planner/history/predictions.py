"""Records of predicted rollouts and their outcomes, kept as lines of a journal.

A line is JSON, of a prediction or of an outcome. A later line of the same rollout stands for the earlier ones: the webhook's prediction is
written before the API server gets its answer, and again once its numbers are worked out; a rollout that is stuck may be cured later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from enum import StrEnum
from typing import Final

import msgspec

from planner.ground import typed_json
from planner.ground.records import Record
from planner.history.store_queries import is_amount
from planner.rollout.answers import Verdict

COUNTED_DAYS: Final = 30
"""Days back that a cluster's predictions are counted, by the metrics and on the dashboard."""


class Door(StrEnum):
    """Who made the prediction."""

    WEBHOOK = "webhook"  # of a write that the API server asked about
    WATCH = "watch"  # of a rollout that began, against the snapshot before it


class Prediction(Record):
    """What was said of one rollout. None: not worked out.

    Attributes
    ----------
    id : of the rollout: its workload's uid and the generation of the write that began it
    at : when the snapshot was taken that it was made from, seconds since the epoch; `digest`: that snapshot's
    least_seconds, most_seconds : 8 of 10 such rollouts take so long
    completes_share : of the placements that were tried, where they come to different verdicts
    doubts : what could change the verdict
    """

    id: str
    at: float
    workload: str
    uid: str
    generation: int
    door: Door
    digest: str
    verdict: Verdict
    reason: str = ""
    sentence: str = ""
    replicas: int | None = None
    lowest_ready: int | None = None
    seconds: float | None = None
    least_seconds: float | None = None
    most_seconds: float | None = None
    nodes_added: int | None = None
    pods_preempted: int | None = None
    completes_share: float | None = None
    is_proven: bool = False
    doubts: tuple[str, ...] = ()


class RolloutEnd(StrEnum):
    """What came of a rollout."""

    COMPLETED = "completed"
    STUCK = "stuck"  # past its deadline
    CURED = "cured"  # it stood still, and went on after something was changed
    OVERTAKEN = "overtaken"  # by another template, before it was done
    NODE_LOST = "node_lost"  # stuck, after a node went that its pods could use
    NOT_SEEN = "not_seen"


class PredictionOutcome(Record):
    """What came of the rollout with that `id`; times in seconds since the epoch.

    Attributes
    ----------
    is_whole : whether a watch told of every change of its pods: else there may have been fewer Ready ones
    was_hung, is_overdue : it stood still at some time; for as long as its deadline
    meanwhile : what happened that no prediction foretells; `disturbed_by`: of that, what came before it stood still
    cause : why it stood still, as `headroom review` says
    """

    id: str
    at: float
    outcome: RolloutEnd
    began: float
    ended: float | None = None
    is_whole: bool = True
    was_hung: bool = False
    is_overdue: bool = False
    lowest_ready: int | None = None
    nodes_added: int = 0
    pods_preempted: int = 0
    meanwhile: tuple[str, ...] = ()
    disturbed_by: tuple[str, ...] = ()
    cause: str = ""


class PredictedRollout(Record):
    """A prediction beside what came; None as long as the rollout goes on."""

    prediction: Prediction
    outcome: PredictionOutcome | None = None


class _Line(Record):
    prediction: Prediction | None = None
    outcome: PredictionOutcome | None = None


def id_of(uid: str, generation: int) -> str:
    """One rollout's name: each change of the spec has another generation."""
    return f"{uid}-{generation}"


def line_of(entry: Prediction | PredictionOutcome) -> bytes:
    """Its line of a journal, without the line's end."""
    is_prediction = isinstance(entry, Prediction)
    return msgspec.json.encode({"prediction" if is_prediction else "outcome": entry})


def _is_sound(entry: Prediction | PredictionOutcome | None) -> bool:
    """Whether its numbers are some that Headroom writes: a journal isn't trusted."""
    if entry is None:
        return True
    share = entry.completes_share if isinstance(entry, Prediction) else None
    return (share or 0.0) <= 1.0 and all(is_amount(getattr(entry, field.name)) for field in fields(type(entry)))


def read_journal(lines: Iterable[bytes]) -> tuple[tuple[PredictedRollout, ...], int]:
    """Each rollout once, in the order of the first predictions; and how many lines can't be read, such as one that was broken off."""
    predictions: dict[str, Prediction] = {}
    outcomes: dict[str, PredictionOutcome] = {}
    damaged = 0
    for text in lines:
        try:
            line = typed_json.decode(text, _Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            damaged += 1
            continue
        if not all(map(_is_sound, (line.prediction, line.outcome))):
            damaged += 1
            continue
        if line.prediction is not None:
            predictions[line.prediction.id] = line.prediction
            outcomes.pop(line.prediction.id, None)  # of a write that was refused: the next one got its number
        if line.outcome is not None:
            outcomes[line.outcome.id] = line.outcome
    rollouts = (
        PredictedRollout(prediction=prediction, outcome=outcomes.get(key)) for key, prediction in predictions.items()
    )
    return tuple(rollouts), damaged
