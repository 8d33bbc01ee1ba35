"""Rollouts one after another: one rollout may free the room for the next, at no cost.

A rollout changes no amounts, only where its pods are. So one that is stuck for want of a node of its own may find it once another's
pods, which are rolled out anyway, went elsewhere. Nor does any order complete because each rollout does by itself: a pod that went to a
new node leaves its old one to a pending Job, and the next rollout's surge finds that place taken. So each sequence is played as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from operator import itemgetter

from planner.ground.errors import HeadroomError
from planner.ground.records import Record, replace
from planner.ground.words import count
from planner.ground.work_budget import TooLargeError, part, too_large
from planner.kubernetes.surge_and_unavailable import enough
from planner.remedies import limits
from planner.remedies.levers.lending import scaled as scaled_to
from planner.remedies.random_draw_checks import holds_under_chance, placements
from planner.rollout.kueue_admission import admitted_revisions
from planner.rollout.ownership import pods_of
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape, Static, shape_of


class RolloutTurn(Record, eq=False):
    """A rollout in its turn. `lent`: workloads of others that are scaled down for it, and back afterwards."""

    revision: Revision
    lent: tuple[Revision, ...] = ()


def simulated_order(
    cluster: Cluster, revisions: Sequence[Revision], share: float, scaled: Sequence[Revision] = ()
) -> Run | None:
    """The rollouts one after another, each once the one before is at rest, after those that are `scaled`; None unless each completes with
    `share` of its pods Ready, whatever chance decides in so many draws."""
    changes = _in_sequence(cluster, revisions, scaled)
    turns = changes[len(scaled) :]

    def does(run: Run) -> bool:
        return all(run.done.values()) and all(_keeps(run, turn, share) for turn in turns)

    run = simulate(cluster, changes, seed=0)
    return run if does(run) and holds_under_chance(cluster, changes, run, does) else None


def _keeps(run: Run, turn: Revision, share: float) -> bool:
    """Whether it completes with `share` of its pods Ready; those that turns before it cost it count too."""
    return run.done[turn.after.key] and run.lowest_ready(turn.after.key) >= enough(share, turn.after.pods_wanted)


def _in_sequence(cluster: Cluster, revisions: Sequence[Revision], scaled: Sequence[Revision]) -> list[Revision]:
    """Each once those before it are at rest; the first after those that are `scaled`."""
    turns = admitted_revisions(cluster.snapshot, revisions)
    later = [replace(turn, after_seconds=WHEN_AT_REST) for turn in turns]
    return [*scaled, *later] if scaled else [turns[0], *later[1:]]


def first_turns(
    cluster: Cluster, before: Sequence[Revision], others: Iterable[Revision], ways: Sequence[RolloutTurn], share: float
) -> tuple[tuple[Revision, ...], RolloutTurn] | None:
    """Who of `others` comes before one rollout, after those `before`, so that it goes in one of its `ways`: as few as do; and the way. Who
    lends to it is scaled before the first of all."""
    if not (shape := _shape_with_room(cluster, ways[0].revision)):
        return None
    near = list(_near(cluster, others, shape))
    for number in range(0 if before else 1, limits.BEFORE.most + 1):
        for turns in permutations(near, number):
            for way in ways:
                try:
                    if simulated_order(cluster, (*before, *turns, way.revision), share, way.lent) is not None:
                        return turns, way
                except HeadroomError:
                    return None
    return None


def _shape_with_room(cluster: Cluster, revision: Revision) -> Shape | None:
    """The shape of its new pods; None where all that is free in the cluster is too little for one of them."""
    after = revision.after
    shape = shape_of(cluster, after)
    open_nodes = [place for place, node in enumerate(cluster.nodes) if not node.is_cordoned]
    free = (cluster.allocatable - cluster.requested)[:, open_nodes].clip(min=0).sum(axis=1)
    return shape if all(free[row] >= amount for row, amount in shape.asks) else None


def _near(cluster: Cluster, others: Iterable[Revision], shape: Shape) -> Iterator[Revision]:
    """Workloads with pods where its own may go, first those that hold its rarest resource, with the fewest pods."""
    may, pods = shape.static == Static.PASSES, cluster.snapshot.pods
    rarest, near_revisions = {row for row, _ in shape.asks[-1:]}, []
    for revision in others:
        after = revision.after
        if after.traits.is_per_node:
            continue  # its pods are where they were then
        own = shape_of(cluster, after)
        nodes = [cluster.node_index.get(pods[place].node_name) for place in pods_of(cluster, after)]
        if any(node is not None and may[node] for node in nodes):
            near_revisions.append(((not rarest <= {row for row, _ in own.asks}, len(nodes), after.key), revision))
    yield from (revision for _, revision in sorted(near_revisions, key=itemgetter(0))[: limits.ASKED_BEFORE.most])


# ── the order of a plan ──────────────────────────────────────────────────────────────────────────────────────────────
class PlayedOrder(Record, eq=False):
    """An order in which each rollout completes with its share Ready after those before it (`is_played`), or the order that was asked
    for: then `why` says that each completes by itself, and why no more is known."""

    turns: tuple[RolloutTurn, ...]
    is_played: bool
    why: str = ""


def playable_order(cluster: Cluster, turns: Sequence[RolloutTurn], share: float) -> PlayedOrder:
    """`turns` in an order that completes as a whole: as they are, or with the first that is stuck put before those that let it get stuck."""
    requested_turns = tuple(turns)
    if len(requested_turns) < 2:
        return PlayedOrder(turns=requested_turns, is_played=True)
    if len(requested_turns) > limits.ORDER_TURNS.most or cluster.node_count > limits.LARGE_CLUSTER.most:
        return PlayedOrder(turns=requested_turns, is_played=False, why=limits.ORDER_TURNS.reached())
    order, tried = list(requested_turns), set[tuple[int, ...]]()
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
        return PlayedOrder(turns=requested_turns, is_played=False, why=limits.ORDER_UNITS.reached())
    why = limits.ORDERS_PLAYED.reached(number=count(len(tried), "order"))
    return PlayedOrder(turns=requested_turns, is_played=False, why=why)


def _first_stuck(cluster: Cluster, turns: Sequence[RolloutTurn], share: float) -> int | None:
    """The first turn that doesn't complete with its share Ready, in any of a few placements; None where all do."""
    draw, draws = 0, 1
    while draw < draws:
        place, work, at, is_sure = 0, 0, cluster, True
        for segment in _segments(turns):
            changes = _in_sequence(at, [turn.revision for turn in segment], segment[0].lent)
            run = simulate(at, changes, seed=draw, draws_order=draw > 0, draws_ends=draw > 0)
            work += run.work
            if run.is_cut:  # cut at its most steps: whether it gets stuck isn't known
                raise too_large()
            for turn in segment:
                if not _keeps(run, turn.revision, share):
                    return place
                place += 1
            is_sure = is_sure and holds_in_every_placement(run.whole(), [turn.revision for turn in segment])
            if place < len(turns):
                at = Cluster(_given_back(run, segment, draw).simulation.snapshot_now())
        if is_sure:
            break
        draw, draws = draw + 1, placements(work)  # a long order gets fewer draws: the work limits them
    return None


def _segments(turns: Sequence[RolloutTurn]) -> Iterator[list[RolloutTurn]]:
    """Turns that one run plays: those without loans together, one that others lend to alone."""
    segment: list[RolloutTurn] = []
    for turn in turns:
        if segment and (turn.lent or segment[-1].lent):
            yield segment
            segment = []
        segment.append(turn)
    if segment:
        yield segment


def _given_back(run: Run, segment: Sequence[RolloutTurn], draw: int) -> Run:
    """The run after it, in which those that lent have their replicas again."""
    lent = segment[0].lent
    if not lent:
        return run
    back = [scaled_to(loan.after, loan.before.replicas) for loan in lent if loan.before]
    return simulate(Cluster(run.simulation.snapshot_now()), back, seed=draw)
