"""Alternative strategies of Argo Rollouts and LeaderWorkerSets in their own fields, each as a patch.

Source: argo-rollouts 1.9 `utils/replicaset/canary.go` (with a router the canary comes on top of the stable set, unless
``dynamicStableScale`` takes from it as the weight shifts); lws 0.8 ``rollingUpdateParameters`` (surge groups come first).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from planner.ground.records import Record, replace
from planner.ground.words import Text
from planner.ground.work_budget import part
from planner.kubernetes.accelerator_units import GPUS, Nouns, units_of
from planner.kubernetes.argo_and_lws_rollouts import BlueGreen, Canary, CanaryStep
from planner.kubernetes.disruption_budgets import kept_ready
from planner.kubernetes.object_records import Snapshot, Strategy, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import RECREATE, ROLLING_UPDATE
from planner.rollout.answers import Pair, rolling
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.simulation_limits import LIMITS
from planner.rollout.strategy_choice import Choice, Weights, choose, strategy_name
from planner.rollout.strategy_grid import axis, play_cell
from planner.rollout.unknowns import unknowns

_FEW: Final = 4  # numbers on an axis of its limits: each pair is played


class OwnWay(Record):
    """Another strategy. `patch`: of the kind's strategy field."""

    title: str
    strategy: Strategy
    patch: dict[str, Any]


def rolling_way(pair: Pair) -> OwnWay:
    """RollingUpdate with these limits of surge and unavailable, in the fields of the built-in kinds."""
    limits = {"maxSurge": pair[0], "maxUnavailable": pair[1]}
    patch = {"type": ROLLING_UPDATE, "rollingUpdate": limits}
    return OwnWay(title=strategy_name(pair), strategy=rolling(*pair), patch=patch)


def recreate_way(workload: Workload) -> Iterator[OwnWay]:
    """Recreate, where the kind has it and it isn't today's."""
    if RECREATE in workload.traits.strategies and workload.strategy.kind != RECREATE:
        patch = {"type": RECREATE, "rollingUpdate": None}
        yield OwnWay(title=RECREATE, strategy=Strategy(kind=RECREATE), patch=patch)


def own_ways(workload: Workload) -> Iterator[OwnWay]:
    """What to try, the least change first; none for a blue-green, which has both sets whole whatever it says."""
    strategy, canary = workload.strategy, workload.strategy.canary
    # A blue-green has both sets whole at once: no surge or unavailable makes it need less.
    if workload.replicas == 0 or strategy.blue_green is not None:
        return
    if canary is not None and canary.is_routed:
        yield from _routed(workload, strategy, canary)
        return
    surge, unavailable = rolling_limits(workload)
    for most, missing in dict.fromkeys(((0, 1), (surge, unavailable + 1), (0, max(1, workload.replicas // 2)))):
        if (most, missing) != (surge, unavailable) and missing <= workload.replicas:
            limits = {"maxSurge": most, "maxUnavailable": missing}
            field = "canary" if canary is not None else "rollingUpdateConfiguration"
            other = replace(strategy, max_surge=most, max_unavailable=missing)
            yield OwnWay(title=f"maxSurge {most}, maxUnavailable {missing}", strategy=other, patch={field: limits})


def _routed(workload: Workload, strategy: Strategy, canary: Canary) -> Iterator[OwnWay]:
    if not canary.scales_stable:
        yield _with(strategy, canary, "dynamicStableScale: true", {"dynamicStableScale": True}, scales_stable=True)
    count = min(workload.replicas, LIMITS.canary_steps)
    weights = [-(-canary.whole_weight * place // count) for place in range(1, count)]
    steps = tuple(CanaryStep(weight=weight) for weight in weights)
    if steps and steps != canary.steps:
        patch = {"dynamicStableScale": True, "steps": [{"setWeight": weight} for weight in weights]}
        title = f"dynamicStableScale: true, {len(steps)} small steps"
        yield _with(strategy, canary, title, patch, scales_stable=True, steps=steps)


def _with(strategy: Strategy, canary: Canary, title: str, patch: dict[str, Any], **changed: Any) -> OwnWay:
    other = replace(canary, written=_patched(canary, patch), **changed)
    return OwnWay(title=title, strategy=replace(strategy, canary=other), patch={"canary": patch})


def _patched(strategy: Canary | BlueGreen, patch: dict[str, Any]) -> str:
    return json.dumps(json.loads(strategy.written) | patch)


# ── all of them beside each other ────────────────────────────────────────────────────────────────────────────────────
class OwnChoice(Record):
    """`strategies`: by the pair of an option of `choice`. `pods`: how many it has: a group of several counts as those."""

    choice: Choice
    strategies: Mapping[Pair, Strategy]
    pods: int
    nouns: Nouns = GPUS


@part()
def own_strategies(snapshot: Snapshot, scenario: Scenario, key: str, weights: Weights) -> OwnChoice:
    """Today's strategy of an Argo Rollout or a LeaderWorkerSet of the scenario and every other in its own fields, a run each: what nothing
    beats. No options where it isn't known how it rolls out."""
    prepared = prepare(snapshot, scenario)
    cluster, revisions, place = compiled(prepared.snapshot), prepared.revisions, prepared.place_of(key)
    assert place is not None
    workload, pod_times = revisions[place].after, prepared.pod_times[place]
    if lacking := unknowns(cluster, revisions[place]):
        nothing = Choice(options=(), recommended=None, sentence=Text(f"Not known: {lacking[0].what}."))
        return OwnChoice(choice=nothing, strategies={}, pods=workload.replicas)
    strategies: dict[Pair, Strategy] = {}
    cells = []
    for number, way in enumerate(_every_way(workload)):
        own = replace(workload, strategy=way.strategy)
        pair = (number, number) if _is_told_by_more(way.strategy) else rolling_limits(own)
        if pair in strategies:
            continue  # a share that comes to the same number
        strategies[pair] = way.strategy
        played = play_cell(cluster, revisions, key, way.strategy, *pair, seed=scenario.seed, pod_times=pod_times)
        title = way.title if _is_told_by_more(way.strategy) else ""
        cells.append(replace(played, is_current=number == 0, title=title))
    pods = workload.replicas * (workload.groups.size if workload.groups is not None else 1)
    nouns = units_of(cluster.snapshot).nouns(pod_requests(workload.template.spec))
    choice = choose(cells, pods, weights, nouns=nouns, keep_ready=kept_ready(cluster.snapshot, workload))
    if not choice.options:
        choice = replace(
            choice, sentence=Text(f"No strategy in its own fields was found that completes ({len(cells):,} played).")
        )
    return OwnChoice(choice=choice, strategies=strategies, pods=pods, nouns=nouns)


def _is_told_by_more(strategy: Strategy) -> bool:
    """Whether two numbers don't tell it: its steps and its router do, or both sets are whole."""
    return strategy.blue_green is not None or (strategy.canary is not None and strategy.canary.is_routed)


def _every_way(workload: Workload) -> Iterator[OwnWay]:
    """Today's first."""
    strategy, canary, blue_green = workload.strategy, workload.strategy.canary, workload.strategy.blue_green
    yield OwnWay(title=_todays(strategy), strategy=strategy, patch={})
    if blue_green is not None:
        if blue_green.preview_replicas is None and workload.replicas > 1:
            patch = {"previewReplicaCount": 1}
            preview = replace(blue_green, preview_replicas=1, written=_patched(blue_green, patch))
            with_preview = replace(strategy, blue_green=preview)
            yield OwnWay(title="previewReplicaCount 1", strategy=with_preview, patch={"blueGreen": patch})
        return
    if canary is not None and canary.is_routed:
        yield from _routed(workload, strategy, canary)
        return
    values = axis(workload.replicas, _FEW, _FEW)
    for surge in values:
        for missing in values:
            if surge or missing:
                other = replace(strategy, max_surge=surge, max_unavailable=missing)
                yield OwnWay(title="", strategy=other, patch={})


def _todays(strategy: Strategy) -> str:
    if strategy.blue_green is not None:
        return "blue-green as it is"
    stable = "with" if strategy.canary is not None and strategy.canary.scales_stable else "without"
    return f"its steps, {stable} dynamicStableScale"
