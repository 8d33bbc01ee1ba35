"""Scale-ups that each rollout strategy triggers although it completes without them, priced for the strategy grid."""

from __future__ import annotations

from collections.abc import Sequence

from planner.capacity.node_pools import NodePool
from planner.capacity.unneeded_scale_ups import unneeded_scale_ups
from planner.capacity.work_limits import LIMITS
from planner.ground.records import replace
from planner.ground.work_budget import TooLargeError
from planner.inventory.autoscaler_flags import Autoscaling
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_book import PriceBook
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.strategy_choice import Brought, Option


def options_with_scale_ups(
    snapshot: Snapshot, scenario: Scenario, key: str, options: Sequence[Option], pools: Sequence[NodePool],
    how: Autoscaling, book: PriceBook | None = None,
) -> tuple[Option, ...]:  # fmt: skip
    """The strategies of the workload `key`, each that nothing beats, and today's, with `Option.brought`.

    Raises
    ------
    ChangeError
        When the scenario doesn't apply to the snapshot.
    """
    if not pools:
        return tuple(options)
    prepared = prepare(snapshot, scenario)
    cluster = compiled(prepared.snapshot)
    candidates = [option for option in options if option.is_best or option.is_current][: LIMITS.strategies_with_growth]

    def brought(option: Option) -> Brought | None:
        changed = [
            replace(r, after=replace(r.after, strategy=option.strategy)) if r.after.key == key else r
            for r in prepared.timed
        ]
        try:
            scale_up = unneeded_scale_ups(cluster, changed, pools, how, seed=scenario.seed)
        except TooLargeError:
            return None
        return scale_up.brought(book) if scale_up else Brought(nodes=0, seconds=0.0, usd=0.0)

    return tuple(replace(option, brought=brought(option)) if option in candidates else option for option in options)
