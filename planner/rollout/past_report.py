"""The report of a snapshot's past rollouts: one sentence, and a line each."""

from __future__ import annotations

from collections import Counter
from typing import Final

from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, duration
from planner.rollout.past_rollouts import GOING, PastCourse, PastRollout, past_rollouts
from planner.rollout.rollout_backtest import would_have_told
from planner.scheduling.cluster import Cluster

HUNG: Final = (PastCourse.HUNG_STILL, PastCourse.HUNG_THEN_CURED)


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
    rollouts = tuple(
        replace(past_rollout, would_have_told=would_have_told(cluster, past_rollout))
        for past_rollout in past_rollouts(cluster)
    )
    courses = Counter(rollout.course for rollout in rollouts)
    hung, seconds = (
        sum(courses[course] for course in HUNG),
        sum(rollout.hung_seconds.least for rollout in rollouts if rollout.hung_seconds),
    )
    began = [rollout.began_seconds for rollout in rollouts if rollout.began_seconds is not None]
    span = duration(cluster.snapshot.taken_at - min(began)) if began else ""
    return Review(
        sentence=Text(_sentence(rollouts, courses, hung, seconds, span)), hung=hung, not_seen=courses[PastCourse.NOT_SEEN],
        hung_seconds=seconds, rollouts=rollouts,
    )  # fmt: skip


def _sentence(
    rollouts: tuple[PastRollout, ...], courses: Counter[PastCourse], hung: int, seconds: float, span: str
) -> str:
    """``In what this snapshot still shows (14 d): 31 rollouts, 7 hung, 41 h in all; 1 hangs still``."""
    if not rollouts:
        return "this snapshot shows no past rollout"
    sentence = f"in what this snapshot still shows{f' ({span})' if span else ''}: {count(len(rollouts), 'rollout')}, {hung} hung"
    sentence += f", {duration(seconds)} in all at least" if seconds else ""
    # None where it can't be told afterwards counts as no: the sentence claims only what is known.
    foretold = sum(rollout.would_have_told or False for rollout in rollouts)
    sentence += f"; Headroom would have told {foretold} of them before" if foretold else ""
    still, unseen = courses[PastCourse.HUNG_STILL], courses[PastCourse.NOT_SEEN]
    sentence += f"; {still} {'hangs' if still == 1 else 'hang'} still" if still else ""
    sentence += f"; how {unseen} of them went isn't shown" if unseen else ""
    return sentence


ROLLOUTS: Final[Listing[Review, PastRollout]] = Listing(
    name="rollouts",
    empty="A workload's first revision is no rollout.",
    columns=(
        Column("workload", label="workload"),
        Column("revision"),
        Column("began", words=lambda rollout: rollout.began or "not shown"),
        Column("ended", words=lambda rollout: rollout.ended or ("" if rollout.course in GOING else "not shown")),
        Column("course", words=lambda rollout: rollout.course.value.replace("_", " ")),
        Column("hung_seconds_least", lambda rollout: rollout.hung_seconds.least if rollout.hung_seconds else None, heading="hung at least",
            words=lambda rollout: duration(rollout.hung_seconds.least) if rollout.hung_seconds else "",
        ),
        Column("hung_seconds_most", lambda rollout: rollout.hung_seconds.most if rollout.hung_seconds else None, heading=None),
        Column("cause", words=lambda rollout: (rollout.cause or "").replace("_", " ")),
        Column("cure", words=lambda rollout: (rollout.cure or "").replace("_", " ")),
        Column("would_have_told", heading="told before", words=lambda rollout: "" if rollout.would_have_told is None else "yes" if rollout.would_have_told else "no"),
        Column("traces", lambda rollout: "; ".join(rollout.traces), heading="told by", words=lambda rollout: rollout.traces[-1] if rollout.traces else ""),
    ),
)  # fmt: skip

FIGURES: Final = (
    Figure[Review]("past_rollouts", lambda past_review: len(past_review.rollouts), "rollouts"),
    Figure[Review]("past_rollouts_hung", lambda past_review: past_review.hung, "rollouts"),
    Figure[Review]("past_rollouts_not_seen", lambda past_review: past_review.not_seen, "rollouts"),
    Figure[Review]("past_rollouts_hung_seconds", lambda past_review: past_review.hung_seconds, "seconds"),
)
