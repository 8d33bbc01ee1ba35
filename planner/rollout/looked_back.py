"""The rollouts of a snapshot's past as a person reads them: one sentence, and a line each."""

from __future__ import annotations

from collections import Counter
from typing import Final

from planner.ground.records import Record, replace
from planner.ground.sheet import Column, Figure, Listing
from planner.ground.words import Text, count, duration
from planner.rollout.past import GOING, Course, PastRollout, past_rollouts
from planner.rollout.past_told import would_have_told
from planner.scheduling.cluster import Cluster

HUNG: Final = (Course.HUNG_STILL, Course.HUNG_THEN_CURED)


class ReviewSettings(Record):
    """Nothing is asked: every workload."""


class Review(Record):
    """`rollouts`: those that go on or hang first, then the latest first; `hung_seconds`: of all together, at least."""

    sentence: Text
    hung: int
    not_seen: int
    hung_seconds: float
    rollouts: tuple[PastRollout, ...]

    @property
    def clause(self) -> str:
        """``31, of which 7 hung``."""
        hung = f"of which {self.hung:,} hung" if self.hung else "none hung"
        return f"{len(self.rollouts):,}, {hung}"


def review(cluster: Cluster) -> Review:
    """What a cluster's objects still show of its rollouts."""
    rollouts = tuple(replace(one, would_have_told=would_have_told(cluster, one)) for one in past_rollouts(cluster))
    courses = Counter(one.course for one in rollouts)
    hung, seconds = (
        sum(courses[one] for one in HUNG),
        sum(one.hung_seconds.least for one in rollouts if one.hung_seconds),
    )
    began = [one.began_seconds for one in rollouts if one.began_seconds is not None]
    span = duration(cluster.snapshot.taken_at - min(began)) if began else ""
    return Review(
        sentence=Text(_sentence(rollouts, courses, hung, seconds, span)), hung=hung, not_seen=courses[Course.NOT_SEEN],
        hung_seconds=seconds, rollouts=rollouts,
    )  # fmt: skip


def _sentence(rollouts: tuple[PastRollout, ...], courses: Counter[Course], hung: int, seconds: float, span: str) -> str:
    """``In what this snapshot still shows (14 d): 31 rollouts, 7 hung, 41 h in all; 1 hangs still``."""
    if not rollouts:
        return "nothing that this snapshot still shows tells of a rollout"
    said = f"in what this snapshot still shows{f' ({span})' if span else ''}: {count(len(rollouts), 'rollout')}, {hung} hung"
    said += f", {duration(seconds)} in all at least" if seconds else ""
    told = sum(one.would_have_told or False for one in rollouts)
    said += f"; Headroom would have told {told} of them before" if told else ""
    still, unseen = courses[Course.HUNG_STILL], courses[Course.NOT_SEEN]
    said += f"; {still} {'hangs' if still == 1 else 'hang'} still" if still else ""
    said += f"; how {unseen} of them went isn't shown" if unseen else ""
    return said


ROLLOUTS: Final[Listing[Review, PastRollout]] = Listing(
    name="rollouts",
    empty="A workload's first revision is no rollout.",
    columns=(
        Column("workload", label="workload"),
        Column("revision"),
        Column("began", words=lambda one: one.began or "not shown"),
        Column("ended", words=lambda one: one.ended or ("" if one.course in GOING else "not shown")),
        Column("course", words=lambda one: one.course.value.replace("_", " ")),
        Column("hung_seconds_least", lambda one: one.hung_seconds.least if one.hung_seconds else None, heading="hung at least",
            words=lambda one: duration(one.hung_seconds.least) if one.hung_seconds else "",
        ),
        Column("hung_seconds_most", lambda one: one.hung_seconds.most if one.hung_seconds else None, heading=None),
        Column("cause", words=lambda one: (one.cause or "").replace("_", " ")),
        Column("cure", words=lambda one: (one.cure or "").replace("_", " ")),
        Column("would_have_told", heading="told before", words=lambda one: "" if one.would_have_told is None else "yes" if one.would_have_told else "no"),
        Column("traces", lambda one: "; ".join(one.traces), heading="told by", words=lambda one: one.traces[-1] if one.traces else ""),
    ),
)  # fmt: skip

FIGURES: Final = (
    Figure[Review]("past_rollouts", lambda found: len(found.rollouts), "rollouts"),
    Figure[Review]("past_rollouts_hung", lambda found: found.hung, "rollouts"),
    Figure[Review]("past_rollouts_not_seen", lambda found: found.not_seen, "rollouts"),
    Figure[Review]("past_rollouts_hung_seconds", lambda found: found.hung_seconds, "seconds"),
)
