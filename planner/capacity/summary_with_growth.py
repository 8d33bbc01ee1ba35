"""A rollout's summary including scale-ups, for the list of all workloads and for the webhook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.capacity.node_pools import NodePool
from planner.capacity.scale_up_simulation import Growth, grow, waiting_shape
from planner.ground.records import replace
from planner.ground.words import Text
from planner.ground.work_budget import TOO_LARGE, TooLargeError
from planner.rollout.answers import GROWING_REASONS, Verdict
from planner.rollout.kueue_admission import admitted_revisions, crowded
from planner.rollout.kueue_evictions import GROWTH_BESIDE
from planner.rollout.prepared_change import pod_times_of
from planner.rollout.rollout_summary import Glance, glance
from planner.rollout.run import Revision
from planner.rollout.unknowns import unknowns
from planner.scheduling.cluster import Cluster

_UNPLAYED: Final = f"whether it completes once node pools grow is {TOO_LARGE} beside all others"


def summary_with_growth(
    cluster: Cluster, revision: Revision, pools: tuple[NodePool, ...], along: Sequence[Revision] = ()
) -> tuple[Glance, Growth | None]:
    """`glance`, and of one that finds no room today what it comes to once pools have grown: as `planner.remedies.rollout_with_remedies` says.

    Raises
    ------
    TooLargeError
        When today's rollout is too large to play; of growth that is said.
    """
    first_look = glance(cluster, revision, along)
    today, run, why = first_look.answer, first_look.run, first_look.why
    if not pools or run is None or why is None or today.verdict is not Verdict.STUCK or why.reason not in GROWING_REASONS:  # fmt: skip
        return first_look, None
    key = revision.after.key
    revisions = [
        replace(change, times=pod_times_of(cluster, change))
        for change in admitted_revisions(cluster.snapshot, (*along, revision))
    ]
    growth: Growth | None = None
    lacks = GROWTH_BESIDE if any(change.evicts for change in revisions) else ""
    try:
        if not lacks:
            node_growth = grow(cluster, revisions, run, waiting_shape(run, key), pools, says_why=False)
            growth, lacks = node_growth.growth, node_growth.unknown
    except TooLargeError:
        lacks = _UNPLAYED
    if growth is not None:
        others = [unknown.what for unknown in unknowns(cluster, revisions[-1], run.new_shapes.get(key))]
        lacks = next(filter(None, (*others, crowded(cluster, revisions))), "")
    if lacks:
        sentence = Text(f"not known: {lacks}. Without that, it is {today.sentence}")
        return replace(
            first_look, answer=replace(today, verdict=Verdict.UNKNOWN, sentence=sentence, headline=Text(lacks))
        ), None
    if growth is None:
        return first_look, None
    grown = replace(
        today, verdict=Verdict.NEEDS_GROWTH, sentence=Text(f"{growth.sentence}. Today it is {today.sentence}"),
        headline=Text(f"it finishes once {growth.has_grown}"), is_growth_automatic=growth.grows_by_itself,
        lowest_ready=growth.run.lowest_ready(key),
    )  # fmt: skip
    return replace(first_look, answer=grown, tells_others=bool(growth.taken)), growth
