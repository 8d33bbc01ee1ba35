"""Rollouts one after another: what one leaves may let the next one through, and costs nothing.

A rollout changes no amounts, only where its pods are. So one that is stuck for want of a node of its own may find it once another's
pods, which are rolled out anyway, went elsewhere. Each sequence is played by the engine, in as many draws of what chance decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from operator import itemgetter

from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.kubernetes.shares import enough
from planner.remedies import limits
from planner.remedies.scenario import holds_under_chance
from planner.rollout.ownership import pods_of
from planner.rollout.queued import let_in
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape, Static, compile_shape

Way = tuple[Revision, tuple[Revision, ...]]
"""A rollout, with those that are scaled before the first of all."""


def played(
    cluster: Cluster, revisions: Sequence[Revision], share: float, scaled: Sequence[Revision] = ()
) -> Run | None:
    """The rollouts one after another, each once the one before is at rest, after those that are `scaled`; None unless each completes with
    `share` of its pods Ready, whatever chance decides in so many draws."""
    turns = let_in(cluster.snapshot, revisions)
    later = [replace(turn, after_seconds=WHEN_AT_REST) for turn in turns]
    changes = [*scaled, *later] if scaled else [turns[0], *later[1:]]

    def does(run: Run) -> bool:
        keeps = (lowest(run, turn) >= enough(share, turn.after.pods_wanted) for turn in turns)
        return all(run.done.values()) and all(keeps)

    run = simulate(cluster, changes, seed=0)
    return run if does(run) and holds_under_chance(cluster, changes, run, does) else None


def lowest(run: Run, one: Revision) -> int:
    """Its pods Ready at worst."""
    return run.lowest_ready(one.after.key)


def first_turns(
    cluster: Cluster, before: Sequence[Revision], others: Iterable[Revision], ways: Sequence[Way], share: float
) -> tuple[tuple[Revision, ...], Way] | None:
    """Who of `others` comes before one rollout, after those `before`, so that it goes in one of its `ways`: as few as do; and the way."""
    if not (shape := _shape_with_room(cluster, ways[0][0])):
        return None
    near = list(_near(cluster, others, shape))
    for number in range(0 if before else 1, limits.BEFORE.most + 1):
        for turns in permutations(near, number):
            for way in ways:
                revision, scaled = way
                try:
                    if played(cluster, (*before, *turns, revision), share, scaled) is not None:
                        return turns, way
                except HeadroomError:
                    return None
    return None


def _shape_with_room(cluster: Cluster, one: Revision) -> Shape | None:
    """Of its new pods; None where not even all that is free in the cluster is enough for one of them, wherever others are."""
    after = one.after
    shape = compile_shape(cluster, after.namespace, after.template.labels, after.template.spec)
    open_nodes = [place for place, node in enumerate(cluster.nodes) if not node.is_cordoned]
    free = (cluster.allocatable - cluster.requested)[:, open_nodes].clip(min=0).sum(axis=1)
    return shape if all(free[row] >= amount for row, amount in shape.asks) else None


def _near(cluster: Cluster, others: Iterable[Revision], shape: Shape) -> Iterator[Revision]:
    """Those with pods where its own may go, first those that hold what it asks for that is rarest, with the fewest pods."""
    may, pods = shape.static == Static.PASSES, cluster.snapshot.pods
    rarest, found = {row for row, _ in shape.asks[-1:]}, []
    for revision in others:
        after = revision.after
        if after.traits.is_per_node:
            continue  # its pods are where they were then
        own = compile_shape(cluster, after.namespace, after.template.labels, after.template.spec)
        nodes = [cluster.node_index.get(pods[place].node_name) for place in pods_of(cluster, after)]
        if any(node is not None and may[node] for node in nodes):
            found.append(((not rarest <= {row for row, _ in own.asks}, len(nodes), after.key), revision))
    yield from (revision for _, revision in sorted(found, key=itemgetter(0))[: limits.ASKED_BEFORE.most])
