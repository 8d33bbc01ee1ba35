"""Which workloads aren't at rest: rolling out, or with more or fewer pods than they shall have; since when."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record
from planner.ground.sheet import Column, Figure, Listing
from planner.ground.words import Text, count, duration
from planner.kubernetes.kinds import NODE, POD, REPLICA_SET, ROLLING
from planner.kubernetes.records import Snapshot
from planner.questions.question import NOTHING, Given, Question
from planner.rollout.prepared import compiled
from planner.rollout.under_way import UnderWay, under_way


class InFlightSettings(Record):
    """Nothing is asked: every workload."""


class InFlightAnswer(Record):
    """The longest under way first. `rolling`, `overdue`: how many; None where a list that may hold some wasn't seen."""

    sentence: Text
    rolling: int | None
    overdue: int | None
    workloads: tuple[UnderWay, ...]


def answer(snapshot: Snapshot, _settings: InFlightSettings, _given: Given = NOTHING) -> InFlightAnswer:
    """Every workload and ReplicaSet that isn't at rest."""
    found = under_way(compiled(snapshot))
    rolling, overdue = sum(one.is_rolling for one in found), sum(one.is_overdue for one in found)
    said = f"{count(rolling, 'rollout is', 'rollouts are')} under way" if rolling else "no rollout is under way"
    said += f", {overdue:,} of them without progress for its whole deadline" if overdue else ""
    if len(found) > rolling:
        said += (
            f"; {count(len(found) - rolling, 'workload has', 'workloads have')} more or fewer pods than they shall have"
        )
    is_known = not QUESTION.lacks(snapshot)
    return InFlightAnswer(
        sentence=QUESTION.of_those_seen(snapshot, Text(said)), workloads=found,
        rolling=rolling if is_known else None, overdue=overdue if is_known else None,
    )  # fmt: skip


_WORKLOADS: Final[Listing[InFlightAnswer, UnderWay]] = Listing(
    name="workloads",
    columns=(
        Column("workload", lambda one: one.workload, label="workload"),
        Column("does", lambda one: one.does),
        Column("since_seconds", lambda one: one.since_seconds, heading="since"),
        Column("for_seconds", lambda one: one.for_seconds, heading="for", metric="in_flight_for", unit="seconds",
            words=lambda one: "not known" if one.for_seconds is None else duration(one.for_seconds),
        ),
        Column("rolling", lambda one: one.is_rolling, heading=None),
        Column("overdue", lambda one: one.is_overdue),
        Column("played", lambda one: one.is_played, heading="reckoned with"),
    ),
)  # fmt: skip

QUESTION: Final = Question(
    name="in_flight",
    settings=InFlightSettings,
    answer=answer,
    figures=(
        Figure("rollouts_in_flight", lambda found: found.rolling, "workloads"),
        Figure("rollouts_overdue", lambda found: found.overdue, "workloads"),
    ),
    listings=(_WORKLOADS,),
    about="""Which workloads aren't at rest: rolling out, or with more or fewer pods than they shall have; since when.

    Every verdict on a change plays these on; what isn't played makes it not known.
    """,
    hangs_on=(NODE.name, POD.name),
    parts_hang_on=(REPLICA_SET.name,),
    lists=tuple(kind.name for kind in ROLLING),
)  # fmt: skip
