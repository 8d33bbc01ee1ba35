"""The lever *strategy*: another update strategy of the workload. It costs its own availability or time only.

How far it goes: every value of maxSurge and maxUnavailable up to `limits.STRATEGIES_UP_TO`, and a few above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Any, Final

from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.kubernetes.disruption_budgets import kept_ready
from planner.kubernetes.object_records import Strategy, Workload
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import ROLLING_UPDATE
from planner.remedies import limits
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.rollout.answers import GridCell, Pair, Remedy, RemedyKind, rolling
from planner.rollout.argo_and_lws_strategies import OwnWay, own_ways, recreate_way, rolling_way
from planner.rollout.controllers.statefulset import takes_max_unavailable
from planner.rollout.ownership import pods_of
from planner.rollout.prepared_change import pod_times_of
from planner.rollout.run import Revision
from planner.rollout.strategy_choice import Weights, choose
from planner.rollout.strategy_grid import axis, play_cell
from planner.rollout.tie_break_sensitivity import is_too_large_for_its_node
from planner.scheduling.cluster import Cluster

ONE_BY_ONE = rolling_way((0, 1))
_WEIGHTS: Final = Weights(availability=10, evictions=5, time=2, extra_gpus=1, money=0)


# ── alone ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def ways_out(case: StuckRollout) -> Iterator[Remedy]:
    """Surge 0 with as few unavailable as completes, and today's surge with one more unavailable; of other projects' kinds in their own
    fields."""
    workload = case.workload
    if workload.traits.is_custom:
        yield from _first_of(case, RemedyKind.SWITCH_STRATEGY, own_ways(workload))
    elif workload.traits.is_per_node:
        # A DaemonSet's pod that its node can't hold even alone doesn't fit one by one either.
        ways = [] if is_too_large_for_its_node(case.run, case.revision) else [ONE_BY_ONE]
        yield from _first_of(case, RemedyKind.SWITCH_STRATEGY, ways)
    elif workload.traits.has_ordinals and workload.strategy.kind != ROLLING_UPDATE:
        yield from _first_of(case, RemedyKind.SWITCH_STRATEGY, [_rolling_ordinals(workload.strategy, 0, None)])
    elif workload.traits.surges_freely and workload.replicas:
        today = rolling_limits(workload) if workload.strategy.kind == ROLLING_UPDATE else (0, 0)
        pairs = dict.fromkeys(((0, 1), (today[0], today[1] + 1)))
        ways = [rolling_way(pair) for pair in pairs if pair != today and pair[1] <= workload.replicas]
        yield from _first_of(case, RemedyKind.SWITCH_STRATEGY, ways)


def recreated(case: StuckRollout) -> Iterator[Remedy]:
    """Recreate, where the kind has it."""
    yield from _first_of(case, RemedyKind.RECREATE, recreate_way(case.workload))


def _first_of(case: StuckRollout, kind: RemedyKind, ways: Iterable[OwnWay]) -> Iterator[Remedy]:
    return case.first_of(replace(position_of(case.workload, way), kind=kind) for way in ways)


def patch_of(workload: Workload, way: OwnWay) -> dict[str, Any]:
    """Of the whole workload."""
    return {"spec": {workload.traits.strategy_field: way.patch}}


def as_change(key: str, strategy: Strategy) -> str:
    """The strategy as ``--change`` takes it; "" where maxSurge and maxUnavailable don't say it."""
    limits = f"maxSurge:{strategy.max_surge},maxUnavailable:{strategy.max_unavailable}"
    is_told = strategy.kind == ROLLING_UPDATE and strategy.max_unavailable is not None
    return f"resize:{key}={limits}" if is_told else ""


# ── for a plan ───────────────────────────────────────────────────────────────────────────────────────────────────────
def few(workload: Workload, replicas: int, least_ready: int, *, is_full: bool) -> list[Pair]:
    """Few strategies that differ in kind, as (maxSurge, maxUnavailable): none missing, as many missing as may be, and both.

    `least_ready`: of `replicas` pods; `is_full`: not one more pod finds room, so that no surge by itself does.
    """
    if workload.traits.is_custom:
        return []  # its steps are its own to say: `planner.rollout.argo_and_lws_strategies`
    may_miss = replicas - least_ready
    missing = sorted({0, min(1, may_miss), may_miss if may_miss <= 1 else max(1, may_miss // 2), may_miss})
    surges = (0, 1) if not workload.traits.surges_freely else (0, 1, max(1, ceil(replicas / 4)))
    today = rolling_limits(workload) if workload.strategy.kind == ROLLING_UPDATE else None
    pairs = {(surge, miss) for surge in surges for miss in missing if (surge or miss)}
    if today is not None and today[1] == 0 and is_full:
        pairs = {pair for pair in pairs if pair[1]}
    if workload.traits.is_per_node:
        pairs = {pair for pair in pairs if not (pair[0] and pair[1])}
    return sorted(pairs - {today})


def recommended(
    cluster: Cluster, revision: Revision, pairs: Sequence[Pair], replicas: int, least_ready: int
) -> Pair | None:
    """Of strategies that keep `least_ready` pods Ready the one that `choose` recommends, with as few missing as do; None where none does."""
    workload = revision.after
    for most in sorted({missing for _, missing in pairs}):
        cells = (_cell(cluster, revision, pair) for pair in pairs if pair[1] == most)
        ready = [cell for cell in cells if cell is not None and cell.lowest_ready >= least_ready]
        best = choose(ready, replicas, _WEIGHTS, keep_ready=kept_ready(cluster.snapshot, workload)).recommended
        if best is not None:
            return best.max_surge, best.max_unavailable
    return None


def _cell(cluster: Cluster, revision: Revision, pair: Pair) -> GridCell | None:
    times = pod_times_of(cluster, revision)
    try:
        return play_cell(cluster, [revision], revision.after.key, rolling(*pair), *pair, seed=0, pod_times=times)
    except HeadroomError:
        return None


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────
def ways(cluster: Cluster, workload: Workload, cut: list[str]) -> Iterator[LeverPosition]:
    """Every other strategy that is looked at; `cut` gets where that ends."""
    if workload.traits.is_custom:
        yield from (position_of(workload, own) for own in own_ways(workload))
        cut.append(f"of {workload.kind} {workload.name} a few settings of its own are looked at")
        return
    if workload.traits.has_ordinals:
        yield from _of_ordinals(cluster, workload, cut)
        return
    is_per_node = workload.traits.is_per_node
    if not workload.traits.surges_freely and not is_per_node:
        if workload.traits.rolls_out:
            cut.append(f"of {workload.kind} {workload.name} no other strategy is looked at")
        return
    number = len(pods_of(cluster, workload)) if is_per_node else workload.replicas
    values = axis(number, limits.STRATEGIES_UP_TO.most, limits.STRATEGIES_ABOVE.most)
    if len(values) <= number:
        fields = "maxSurge and maxUnavailable"
        cut.append(limits.STRATEGIES_UP_TO.reached(number=number + 1, field=fields, looked=len(values)))
    today = rolling_limits(workload, number) if workload.strategy.kind == ROLLING_UPDATE else None
    pairs = [(surge, missing) for missing in values for surge in values if surge or missing]
    if is_per_node:  # the API server refuses a DaemonSet that has both maxSurge and maxUnavailable
        pairs = [(0, missing) for missing in values if missing] + [(surge, 0) for surge in values if surge]
    yield from (position_of(workload, rolling_way(pair)) for pair in pairs if pair != today)
    if not is_per_node:
        yield from (position_of(workload, own) for own in recreate_way(workload))


def _of_ordinals(cluster: Cluster, workload: Workload, cut: list[str]) -> Iterator[LeverPosition]:
    """A StatefulSet leaves the pods below a partition as they are, and lets pods miss where its feature gate shows to be on."""
    strategy, number = workload.strategy, workload.replicas
    values = axis(number, limits.STRATEGIES_UP_TO.most, limits.STRATEGIES_ABOVE.most)
    if len(values) <= number:
        cut.append(limits.STRATEGIES_UP_TO.reached(number=number, field="partition", looked=len(values) - 1))
    missing: list[int | str | None] = [strategy.max_unavailable]
    if cluster.remember(takes_max_unavailable):
        missing += [bound for bound in values if bound and bound != strategy.max_unavailable]
    for most in missing:
        # A partition of as many as there are pods replaces none: it would complete, and change nothing.
        for partition in (ordinal for ordinal in values if ordinal < number):
            if (ROLLING_UPDATE, partition, most) == (strategy.kind, strategy.partition, strategy.max_unavailable):
                continue
            change_texts = [] if most == strategy.max_unavailable else [f"maxUnavailable {most}"]
            change_texts += [] if partition == strategy.partition and change_texts else [f"partition {partition}"]
            own = _rolling_ordinals(strategy, partition, most)
            yield LeverPosition(title=", ".join(change_texts), strategy=own.strategy, patch=patch_of(workload, own))


def _rolling_ordinals(strategy: Strategy, partition: int, most: int | str | None) -> OwnWay:
    """A StatefulSet's RollingUpdate from the highest ordinal down to its partition; with `most` pods missing, where that is set."""
    bounds = {"partition": partition, **({} if most is None else {"maxUnavailable": most})}
    return OwnWay(
        title=ROLLING_UPDATE, patch={"type": ROLLING_UPDATE, "rollingUpdate": bounds},
        strategy=replace(strategy, kind=ROLLING_UPDATE, partition=partition, max_unavailable=most),
    )  # fmt: skip


def position_of(workload: Workload, way: OwnWay) -> LeverPosition:
    """Another strategy of a workload as a position of its own knob."""
    return LeverPosition(
        title=way.title, strategy=way.strategy, patch=patch_of(workload, way), change=as_change(workload.key, way.strategy)
    )  # fmt: skip
