"""The question *review*: past rollouts of a snapshot: which were stuck, how long, why, and what ended that."""

from __future__ import annotations

from typing import Final

from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, REPLICA_SET, ROLLING
from planner.questions.question import NOTHING, Inputs, Question
from planner.rollout.past_report import FIGURES, ROLLOUTS, Review, ReviewSettings, review
from planner.rollout.prepared_change import compiled


def answer(snapshot: Snapshot, _settings: ReviewSettings, _given: Inputs = NOTHING) -> Review:
    """Every rollout of which something remains; what isn't shown any more isn't told."""
    return review(compiled(snapshot))


QUESTION: Final = Question(
    name="review", settings=ReviewSettings, answer=answer, figures=FIGURES, listings=(ROLLOUTS,), hangs_on=(NODE.name, POD.name),
    parts_hang_on=(REPLICA_SET.name,), lists=tuple(kind.name for kind in ROLLING),
    about="""Past rollouts: which hung, how long, why, and how it ended; from what remains in a snapshot.

    Conditions, revisions, the pods' own times and events are read. What none of them shows is "not seen".
    """,
)  # fmt: skip
