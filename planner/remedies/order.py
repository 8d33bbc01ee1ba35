"""The order of a plan's rollouts, played as a whole: what one rollout leaves is what the next one finds.

That each rollout completes by itself doesn't make any order of them complete: a pod that went to a new node leaves its old one to a
pending Job, and the next rollout's surge finds that place taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.ground.budget import TooLargeError, part, too_large
from planner.ground.records import Record, replace
from planner.ground.words import count
from planner.kubernetes.shares import enough
from planner.remedies import limits
from planner.remedies.levers.lending import scaled
from planner.rollout.queued import let_in
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.ties import holds_in_every_placement
from planner.scheduling.cluster import Cluster


class RolloutTurn(Record, eq=False):
    """A rollout in its turn. `lent`: workloads of others that are scaled down for it, and back afterwards."""

    revision: Revision
    lent: tuple[Revision, ...] = ()


class PlayedOrder(Record, eq=False):
    """An order in which each rollout completes with its share Ready after those before it (`is_played`), or the order that was asked
    for: then `why` says that each completes by itself, and why no more is known."""

    turns: tuple[RolloutTurn, ...]
    is_played: bool
    why: str = ""


def playable_order(cluster: Cluster, turns: Sequence[RolloutTurn], share: float) -> PlayedOrder:
    """`turns` in an order that completes as a whole: as they are, or with the first that is stuck put before those that let it get stuck."""
    asked = tuple(turns)
    if len(asked) < 2:
        return PlayedOrder(turns=asked, is_played=True)
    if len(asked) > limits.ORDER_TURNS.most or cluster.node_count > limits.LARGE_CLUSTER.most:
        return PlayedOrder(turns=asked, is_played=False, why=limits.ORDER_TURNS.reached())
    order, tried = list(asked), set[tuple[int, ...]]()
    try:
        with part(units=limits.ORDER_UNITS.most):
            for _ in range(limits.ORDERS_PLAYED.most):
                tried.add(tuple(map(id, order)))
                place = _first_stuck(cluster, order, share)
                if place is None:
                    return PlayedOrder(turns=tuple(order), is_played=True)
                order.insert(0, order.pop(place))
                if tuple(map(id, order)) in tried:
                    break
    except TooLargeError:
        return PlayedOrder(turns=asked, is_played=False, why=limits.ORDER_UNITS.reached())
    why = limits.ORDERS_PLAYED.reached(number=count(len(tried), "order"))
    return PlayedOrder(turns=asked, is_played=False, why=why)


def _first_stuck(cluster: Cluster, turns: Sequence[RolloutTurn], share: float) -> int | None:
    """The first turn that doesn't complete with its share Ready, in any of a few placements; None where all do."""
    for draw in range(limits.ORDER_DRAWS.most):
        place, at, is_sure = 0, cluster, True
        for segment in _segments(turns):
            run = _play(at, segment, draw)
            if run.is_cut:  # what isn't played to its end isn't stuck
                raise too_large()
            for turn in segment:
                after = turn.revision.after
                lowest = min(moment.ready for moment in run.moments[after.key][1:])
                if not run.done[after.key] or lowest < enough(share, after.pods_wanted):
                    return place
                place += 1
            is_sure = is_sure and holds_in_every_placement(run.whole(), [turn.revision for turn in segment])
            if place < len(turns):
                at = Cluster(_given_back(run, segment, draw).simulation.snapshot_now())
        if is_sure:
            break
    return None


def _segments(turns: Sequence[RolloutTurn]) -> Iterator[list[RolloutTurn]]:
    """Turns that one run plays: those without loans together, one that others lend to alone."""
    some: list[RolloutTurn] = []
    for turn in turns:
        if some and (turn.lent or some[-1].lent):
            yield some
            some = []
        some.append(turn)
    if some:
        yield some


def _play(cluster: Cluster, segment: Sequence[RolloutTurn], draw: int) -> Run:
    lent = segment[0].lent
    revisions = let_in(cluster.snapshot, [turn.revision for turn in segment])
    later = [replace(one, after_seconds=WHEN_AT_REST) for one in revisions]
    changes = [*lent, *later] if lent else [revisions[0], *later[1:]]
    return simulate(cluster, changes, seed=draw, draws_order=draw > 0, draws_ends=draw > 0)


def _given_back(run: Run, segment: Sequence[RolloutTurn], draw: int) -> Run:
    """The run after it, in which those that lent have their replicas again."""
    lent = segment[0].lent
    if not lent:
        return run
    back = [scaled(one.after, one.before.replicas) for one in lent if one.before]
    return simulate(Cluster(run.simulation.snapshot_now()), back, seed=draw)
