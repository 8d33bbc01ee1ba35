"""The outcome of a predicted rollout, from the course that a watch saw, and whether the prediction was right.

A rollout is *completed* by its status (``observedGeneration``, then as many updated and available pods as it shall have, for a Deployment the
condition ``Progressing`` with ``NewReplicaSetAvailable``), *stuck* once its deadline passed (``ProgressDeadlineExceeded``; kinds without one: 10
minutes without any movement). Both are read in `planner.rollout.past_rollouts`, as for `headroom review`. What happened meanwhile excuses a prediction
only where it could: a lost node explains a rollout that hangs, and not one that completes.

Sources: kubernetes `pkg/controller/deployment/util/deployment_util.go` `DeploymentComplete`, `DeploymentTimedOut`;
`staging/src/k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from planner.history.predictions import PredictedRollout, Prediction, PredictionOutcome, RolloutEnd, id_of
from planner.rollout.answers import Verdict
from planner.rollout.observed_course import Meanwhile, ObservedCourse
from planner.rollout.past_causes import WORDS, HangCause

_HANGS: Final = frozenset(Meanwhile) - {Meanwhile.NODE_ADDED}
"""What may make a rollout hang that would have completed."""
_FREES: Final = frozenset(Meanwhile) - {Meanwhile.NODE_LOST}
"""What may let a rollout complete that would have been stuck."""
_NEEDS_SOMETHING: Final = frozenset(HangCause) - {
    HangCause.NEVER_READY, HangCause.CRASH_LOOP, HangCause.IMAGE_PULL, HangCause.OTHER, HangCause.NOT_SEEN,
}  # fmt: skip
"""Causes of a hang that no pod gets over by itself: room, quota, a node that matches. A slow start is no such."""
_STUCK: Final = (RolloutEnd.STUCK, RolloutEnd.NODE_LOST, RolloutEnd.CURED)


class Judgement(StrEnum):
    """What a prediction was worth."""

    RIGHT = "right"
    WRONG = "wrong"
    MEANWHILE = "meanwhile"  # it came otherwise, after something that no prediction foretells
    NOT_KNOWN = "not_known"  # nothing was said, or what came wasn't seen
    OPEN = "open"  # the rollout goes on


def outcome_of(course: ObservedCourse, at: float) -> PredictionOutcome | None:
    """What came of a rollout by `at`; None as long as it goes on within its deadline."""
    outcome = _outcome(course)
    if outcome is None:
        return None
    return PredictionOutcome(
        id=id_of(course.uid, course.generation), at=at, outcome=outcome, began=course.began, ended=course.ended, is_whole=course.is_whole,
        was_hung=course.was_hung, is_overdue=course.is_overdue, lowest_ready=course.lowest_ready, nodes_added=len(course.nodes_added),
        pods_preempted=len(course.preempted), meanwhile=tuple(course.meanwhile), disturbed_by=tuple(course.disturbed_by), cause=course.cause,
    )  # fmt: skip


def _outcome(course: ObservedCourse) -> RolloutEnd | None:
    is_blocked = course.is_overdue or (course.was_hung and course.cause in _NEEDS_SOMETHING)
    is_helped = is_blocked and bool(_FREES.intersection(course.meanwhile))
    if course.is_overtaken:  # past its deadline that is how it was cured
        return RolloutEnd.CURED if course.is_overdue else RolloutEnd.OVERTAKEN
    if course.is_done:
        return RolloutEnd.CURED if is_helped else RolloutEnd.COMPLETED
    if course.is_overdue:
        return RolloutEnd.NODE_LOST if Meanwhile.NODE_LOST in course.disturbed_by else RolloutEnd.STUCK
    return RolloutEnd.NOT_SEEN if course.is_over else None


def judgement_of(rollout: PredictedRollout) -> Judgement:
    """Whether the verdict was right."""
    prediction, outcome = rollout.prediction, rollout.outcome
    if outcome is None:
        return Judgement.OPEN
    if prediction.verdict is Verdict.UNKNOWN or outcome.outcome is RolloutEnd.NOT_SEEN:
        return Judgement.NOT_KNOWN
    if outcome.outcome is RolloutEnd.OVERTAKEN:  # one that stood still before says that it would have gone on so
        is_borne_out = prediction.verdict is Verdict.STUCK and outcome.was_hung
        return Judgement.RIGHT if is_borne_out else Judgement.NOT_KNOWN
    is_stuck, is_cured = outcome.outcome in _STUCK, outcome.outcome is RolloutEnd.CURED
    if prediction.verdict is Verdict.NEEDS_GROWTH:  # borne out by nodes that came, or by none that came
        is_right = bool(outcome.nodes_added) == (is_cured or not is_stuck)
    else:
        is_right = is_stuck == (prediction.verdict is Verdict.STUCK)
    if is_right:
        return Judgement.RIGHT
    if is_cured and not outcome.is_overdue:  # it ended in time, and not by itself
        return Judgement.MEANWHILE
    excuses = _HANGS.intersection(outcome.disturbed_by) if is_stuck else _FREES.intersection(outcome.meanwhile)
    return Judgement.MEANWHILE if excuses else Judgement.WRONG


def likeliest_cause(prediction: Prediction, outcome: PredictionOutcome) -> str:
    """Why it came otherwise, as far as its objects and the watch tell."""
    if outcome.cause and outcome.cause != HangCause.NOT_SEEN:
        return {str(cause): words for cause, words in WORDS.items()}.get(outcome.cause, outcome.cause.replace("_", " "))
    if outcome.meanwhile:
        return "meanwhile: " + ", ".join(word.replace("_", " ") for word in outcome.meanwhile)
    return prediction.doubts[0] if prediction.doubts else "not known"
