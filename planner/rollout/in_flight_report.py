"""The report of workloads in flight: what their controllers do next, and rollouts that stand still because a pod is
pending or a user must resume them or delete pods.
"""

from __future__ import annotations

from typing import Final

from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.records import Record
from planner.ground.words import Text, count, duration
from planner.kubernetes.object_records import Workload
from planner.kubernetes.workload_kinds import ON_DELETE
from planner.rollout.in_flight import OVERDUE, InFlight, in_flight, what_it_does
from planner.rollout.ownership import workloads_by_key
from planner.rollout.past_causes import WORDS, HangCause
from planner.rollout.past_rollouts import GOING, PastRollout, past_rollouts
from planner.scheduling.cluster import Cluster


class UnderWay(Record):
    """One that isn't at rest. `since_seconds`: since the epoch, None where its objects don't show it; `does`: in words;
    `is_overdue`: without progress for as long as its ``progressDeadlineSeconds``; `is_played`: a rollout reckons with it; `cause`: why it
    stands still, "" where it moves or nothing shows it."""

    workload: str
    does: Text
    since_seconds: float | None
    for_seconds: float | None
    is_rolling: bool
    is_overdue: bool
    is_played: bool
    cause: str = ""


class InFlightSettings(Record):
    """Nothing is asked: every workload."""


class InFlightAnswer(Record):
    """The longest under way first. `rolling`, `overdue`: how many; None where a list that may hold some wasn't seen."""

    sentence: Text
    rolling: int | None
    overdue: int | None
    workloads: tuple[UnderWay, ...]


def under_way(cluster: Cluster) -> tuple[UnderWay, ...]:
    """Every workload and ReplicaSet that isn't at rest, the longest under way first."""
    standing = {record.workload: record for record in reversed(past_rollouts(cluster)) if record.course in GOING}
    rollouts = [_under_way(cluster, flight, standing.pop(flight.key, None)) for flight in in_flight(cluster)]
    rollouts += [_standing(cluster, workloads_by_key(cluster)[key], record) for key, record in standing.items()]
    return tuple(sorted(rollouts, key=lambda rollout: (-(rollout.for_seconds or 0.0), rollout.workload)))


def _under_way(cluster: Cluster, flight: InFlight, past: PastRollout | None) -> UnderWay:
    does = what_it_does(cluster, flight)
    if flight.is_untold:
        does += "; where it is going isn't known, its ReplicaSets aren't in the input"
    elif flight.is_refused:
        does += "; the API server refuses its pods, and nothing that is modelled says why"
    elif flight.is_held_up:
        does += "; a quota refuses its pods until something of its namespace goes"
    cause = _cause(past)
    return UnderWay(
        workload=flight.key, does=Text(does + _why(cause)), since_seconds=flight.since, is_rolling=flight.is_rolling or past is not None,
        for_seconds=None if flight.since is None else max(0.0, cluster.snapshot.taken_at - flight.since),
        is_overdue=flight.is_overdue, is_played=flight.is_played, cause=cause,
    )  # fmt: skip


def _standing(cluster: Cluster, workload: Workload, past: PastRollout) -> UnderWay:
    """A rollout that isn't done, with a controller that has nothing to do."""
    cause, since = _cause(past), past.began_seconds
    does = "is rolling out"
    if workload.strategy.kind == ON_DELETE:
        does = "has a new template, and pods of the old one until they are deleted by hand"
    elif past.cause is HangCause.PAUSED:
        does = "has a new template, and is paused"
    else:
        does += _why(cause)
    return UnderWay(
        workload=workload.key, does=Text(does), since_seconds=since, is_rolling=True, is_played=True, cause=cause,
        for_seconds=None if since is None else max(0.0, cluster.snapshot.taken_at - since),
        is_overdue=workload.conditions.get("Progressing") == OVERDUE,
    )  # fmt: skip


def _cause(past: PastRollout | None) -> str:
    return past.cause.value if past is not None and past.cause not in (None, HangCause.NOT_SEEN) else ""


def _why(cause: str) -> str:
    return f"; {WORDS[HangCause(cause)]}" if cause and HangCause(cause) in WORDS else ""


def sentence(workloads: int, rolling: int, overdue: int) -> Text:
    """What is said of all of them."""
    description = f"{count(rolling, 'rollout is', 'rollouts are')} under way" if rolling else "no rollout is under way"
    description += f", {overdue:,} of them without progress for its whole deadline" if overdue else ""
    if workloads > rolling:
        description += (
            f"; {count(workloads - rolling, 'workload has', 'workloads have')} more or fewer pods than wanted"
        )
    return Text(description)


IN_FLIGHT: Final[Listing[InFlightAnswer, UnderWay]] = Listing(
    name="workloads",
    columns=(
        Column("workload", lambda rollout: rollout.workload, label="workload"),
        Column("does", lambda rollout: rollout.does),
        Column("since_seconds", lambda rollout: rollout.since_seconds, heading="since"),
        Column("for_seconds", lambda flight: flight.for_seconds, heading="for", metric="in_flight_for", unit="seconds",
            words=lambda rollout: "not known" if rollout.for_seconds is None else duration(rollout.for_seconds),
        ),
        Column("rolling", lambda rollout: rollout.is_rolling, heading=None),
        Column("overdue", lambda rollout: rollout.is_overdue),
        Column("played", lambda rollout: rollout.is_played, heading="counted in verdicts"),
        Column("cause", words=lambda rollout: rollout.cause.replace("_", " ")),
    ),
)  # fmt: skip

IN_FLIGHT_FIGURES: Final = (
    Figure[InFlightAnswer]("rollouts_in_flight", lambda in_flight_answer: in_flight_answer.rolling, "workloads"),
    Figure[InFlightAnswer]("rollouts_overdue", lambda in_flight_answer: in_flight_answer.overdue, "workloads"),
)
