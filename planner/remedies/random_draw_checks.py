"""Simulates rollouts on a cluster with levers pulled, and checks that they complete under several random draws."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from planner.ground.records import Record
from planner.ground.words import count, plural
from planner.remedies import limits
from planner.rollout.pod_durations import PodTimes
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape, shape_of

T = TypeVar("T")


class PlanCase(Record):
    """What is asked: the changes as they are, and `run`, what they come to."""

    cluster: Cluster
    revisions: tuple[Revision, ...]
    pod_times: tuple[PodTimes, ...]
    run: Run
    seed: int = 0
    arrival_seconds: float | None = None  # until a new node takes pods, where that is given

    @property
    def namespaces(self) -> set[str]:
        return {revision.after.namespace for revision in self.revisions}

    def shape(self, place: int) -> Shape:
        """Of the new pods of a change, as admitted where any were made."""
        after = self.revisions[place].after
        return self.run.new_shapes.get(after.key) or shape_of(self.cluster, after)

    @property
    def shapes(self) -> list[Shape]:
        return [self.shape(place) for place in range(len(self.revisions))]


def placements(work: int) -> int:
    """In how many placements is tried what costs so much `work` in one: the one rule for ways out, the certificate, sequences, the order
    of a plan and moves. 8; of a whole order of the demo, or of 194 moves among 5,074 pods, 3."""
    return max(limits.FEWER_DRAWS.most, min(limits.DRAWS.most, limits.DRAW_UNITS.most // max(1, work)))


def other_draws(cluster: Cluster, revisions: Sequence[Revision], run: Run, *, seed: int = 0) -> Iterator[Run]:
    """The rollouts of `run` in further draws: which of equal pods is placed, ends or comes first."""
    for draw in range(1, placements(run.work)):
        yield simulate(cluster, revisions, seed=seed + draw, draws_order=True, draws_ends=True)


def ends_on_the_way(pods: int) -> str:
    """``1 pod of others ends on the way``."""
    return f"{count(pods, 'pod')} of others {plural(pods, 'ends', 'end')} on the way"


def preempted_of_others(run: Run, keys: Collection[str]) -> int:
    """Pods of others than the workloads `keys` that are preempted on the way: they end for it, too."""
    own = {owner for key in keys for owner in run.owners[key]}
    return len({pod.uid for pod in run.preempted if pod.owner not in own})


def holds_under_chance(
    cluster: Cluster, revisions: Sequence[Revision], run: Run, does: Callable[[Run], bool], *, seed: int = 0
) -> bool:
    """Whether `run`, which does what is asked, does so in every placement (proven), or in all draws that are tried. The one rule for
    ways out, the certificate and sequences: none is offered that one draw refutes."""
    draws = other_draws(cluster, revisions, run, seed=seed)
    return holds_in_every_placement(run.whole(), revisions) or all(map(does, draws))


def fewest(
    numbers: Sequence[int], attempt: Callable[[int], Run | None], holds: Callable[[Run], bool], likely: int = 0
) -> tuple[int, Run] | None:
    """`fewest_of` with which a rollout completes, whatever chance decides. Searched in one placement, then tried in others (`holds`), since
    each costs as much again."""
    enough = fewest_of(numbers, attempt, likely)
    return enough if enough is not None and holds(enough[1]) else None


def fewest_of(numbers: Sequence[int], attempt: Callable[[int], T | None], likely: int = 0) -> tuple[int, T] | None:
    """The fewest of `numbers` (ascending) that are enough, and what the attempt gives: where the most don't do, fewer don't either. The
    `likely` one is tried with its neighbors, the first, the last, then by halving: one that is right proves by the number before it that the
    first doesn't do. Where the search begins changes no answer as long as more is never worse."""
    too_few, best = -1, None
    near = [numbers.index(number) for number in (likely, likely - 1, likely + 1) if number in numbers]
    for place in (*near, 0, len(numbers) - 1):
        if not too_few < place < (len(numbers) if best is None else best[0]):
            continue
        if (outcome := attempt(numbers[place])) is not None:
            best = place, outcome
        else:
            too_few = place
    while best is not None and best[0] - too_few > 1:
        middle = (too_few + best[0]) // 2
        if (outcome := attempt(numbers[middle])) is None:
            too_few = middle
        else:
            best = middle, outcome
    return None if best is None else (numbers[best[0]], best[1])
