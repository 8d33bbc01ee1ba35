"""The question *in flight*: workloads that are rolling out, or have more or fewer pods than wanted; since when."""

from __future__ import annotations

from typing import Final

from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, REPLICA_SET, ROLLING
from planner.questions.question import NOTHING, Inputs, Question
from planner.rollout.in_flight_report import (
    IN_FLIGHT,
    IN_FLIGHT_FIGURES,
    InFlightAnswer,
    InFlightSettings,
    sentence,
    under_way,
)
from planner.rollout.prepared_change import compiled


def answer(snapshot: Snapshot, _settings: InFlightSettings, _given: Inputs = NOTHING) -> InFlightAnswer:
    """Every workload and ReplicaSet that isn't at rest."""
    rollouts = under_way(compiled(snapshot))
    rolling, overdue = sum(rollout.is_rolling for rollout in rollouts), sum(rollout.is_overdue for rollout in rollouts)
    words = sentence(len(rollouts), rolling, overdue)
    is_known = not QUESTION.lacks(snapshot)
    return InFlightAnswer(
        sentence=QUESTION.of_those_seen(snapshot, words), workloads=rollouts,
        rolling=rolling if is_known else None, overdue=overdue if is_known else None,
    )  # fmt: skip


QUESTION: Final = Question(
    name="in_flight",
    settings=InFlightSettings,
    answer=answer,
    figures=IN_FLIGHT_FIGURES,
    listings=(IN_FLIGHT,),
    about="""Which workloads aren't at rest: rolling out, or with more or fewer pods than wanted; since when.

    Every verdict on a change plays these on; what isn't played makes it not known.
    """,
    hangs_on=(NODE.name, POD.name),
    parts_hang_on=(REPLICA_SET.name,),
    lists=tuple(kind.name for kind in ROLLING),
)  # fmt: skip
