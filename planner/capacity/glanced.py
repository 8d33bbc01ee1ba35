"""One workload's rollout in short, with the nodes that autoscalers bring: what the list of all, and the webhook, say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.capacity.growth import Growth, grow, waiting_shape
from planner.capacity.node_pools import NodePool
from planner.ground.budget import TOO_LARGE, TooLargeError
from planner.ground.records import replace
from planner.ground.words import Text
from planner.rollout.answers import GROWING_REASONS, Verdict
from planner.rollout.glance import Glance, glance
from planner.rollout.prepared import pod_times_of
from planner.rollout.queue_evictions import GROWTH_BESIDE
from planner.rollout.queued import crowded, let_in
from planner.rollout.run import Revision
from planner.rollout.unknowns import unknowns
from planner.scheduling.cluster import Cluster

_UNPLAYED: Final = f"whether it completes once node pools grow is {TOO_LARGE} beside all others"


def glanced(
    cluster: Cluster, revision: Revision, pools: tuple[NodePool, ...], along: Sequence[Revision] = ()
) -> tuple[Glance, Growth | None]:
    """`glance`, and of one that finds no room today what it comes to once pools have grown: as `planner.remedies.rollouts` says.

    Raises
    ------
    TooLargeError
        When today's rollout is too large to play; of growth that is said.
    """
    seen = glance(cluster, revision, along)
    today, run, why = seen.answer, seen.run, seen.why
    if not pools or run is None or why is None or today.verdict is not Verdict.STUCK or why.reason not in GROWING_REASONS:  # fmt: skip
        return seen, None
    key = revision.after.key
    asked = [replace(one, times=pod_times_of(cluster, one)) for one in let_in(cluster.snapshot, (*along, revision))]
    growth: Growth | None = None
    lacks = GROWTH_BESIDE if any(one.evicts for one in asked) else ""
    try:
        if not lacks:
            found = grow(cluster, asked, run, waiting_shape(run, key), pools, says_why=False)
            growth, lacks = found.growth, found.unknown
    except TooLargeError:
        lacks = _UNPLAYED
    if growth is not None:
        others = [unknown.what for unknown in unknowns(cluster, asked[-1], run.new_shapes.get(key))]
        lacks = next(filter(None, (*others, crowded(cluster, asked))), "")
    if lacks:
        said = Text(f"not known: {lacks}. Without that, it is {today.sentence}")
        return replace(seen, answer=replace(today, verdict=Verdict.UNKNOWN, sentence=said, headline=Text(lacks))), None
    if growth is None:
        return seen, None
    grown = replace(
        today, verdict=Verdict.NEEDS_GROWTH, sentence=Text(f"{growth.sentence}. Today it is {today.sentence}"),
        headline=Text(f"it finishes once {growth.has_grown}"), is_growth_automatic=growth.grows_by_itself,
        lowest_ready=growth.run.lowest_ready(key),
    )  # fmt: skip
    return replace(seen, answer=grown, tells_others=bool(growth.taken)), growth
