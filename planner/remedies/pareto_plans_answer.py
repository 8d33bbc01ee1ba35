"""Records of the answer of *certificate*: the Pareto-optimal plans of a rollout, or the proof that there is none."""

from __future__ import annotations

from planner.ground.records import Record
from planner.ground.words import NO_WORDS, Text
from planner.rollout.answers import Step


class Kept(Record):
    """Pods of a changed workload that stay Ready at the worst moment."""

    workload: str
    lowest_ready: int
    replicas: int


class WorthHaving(Record):
    """A plan that nothing beats.

    Attributes
    ----------
    lowest_ready, replicas : of the changed workload that keeps least, where several change
    seconds : until it is through: others scaled down, nodes come, and the rollout
    down_seconds : of them those in which no pod is Ready
    usd : what its nodes cost: a month those that pods stay on (`kept_nodes`), while it rolls out the others; None without a price
    usd_per_month, usd_per_rollout : of the nodes that stay, or of all where none does; and of those that go again
    nodes : that are added, `pools` where
    disturbed : pods of others that end on the way
    left : pods that don't get the change: those below a StatefulSet's partition
    runs : placements it was played in
    """

    title: str
    sentence: Text
    lowest_ready: int
    replicas: int
    kept: tuple[Kept, ...]
    seconds: float
    down_seconds: float
    usd: float | None
    is_kept: bool
    kept_nodes: int
    usd_per_month: float | None
    usd_per_rollout: float | None
    nodes: int
    pools: tuple[tuple[str, int], ...]
    disturbed: int
    left: int
    is_proven: bool
    runs: int
    steps: tuple[Step, ...]


class Certificate(Record):
    """All plans within the levers that are worth having, or that there is none.

    Attributes
    ----------
    is_known : whether anything can be said
    is_proven : whether these are all, whatever kube-scheduler chooses; `why_not` says why it isn't
    looked_at, total : plans
    nearest : what would make one possible, where there is none, or none without downtime
    """

    sentence: Text
    levers: tuple[str, ...]
    plans: tuple[WorthHaving, ...]
    is_known: bool
    is_proven: bool
    looked_at: int
    played: int
    total: int
    why_not: tuple[Text, ...] = ()
    nearest: Text = NO_WORDS
