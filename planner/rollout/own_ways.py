"""Other strategies of the kinds of other projects, in their own fields: each a patch, and the strategy that it makes.

Source: argo-rollouts 1.9 `utils/replicaset/canary.go` (with a router the canary comes on top of the stable set, unless
``dynamicStableScale`` takes from it as the weight shifts); lws 0.8 ``rollingUpdateParameters`` (surge groups come first).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from planner.ground.records import dataclass, replace
from planner.kubernetes.progressive import Canary, CanaryStep
from planner.kubernetes.records import Strategy, Workload
from planner.kubernetes.shares import rolling_limits

_MOST_STEPS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWay:
    """`patch`: of the kind's strategy field."""

    title: str
    strategy: Strategy
    patch: dict[str, Any]


def own_ways(workload: Workload) -> Iterator[OwnWay]:
    """What to try, the least change first; none for a blue-green, which has both sets whole whatever it says."""
    strategy, canary = workload.strategy, workload.strategy.canary
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
    count = min(workload.replicas, _MOST_STEPS)
    weights = [-(-canary.whole_weight * place // count) for place in range(1, count)]
    steps = tuple(CanaryStep(weight=one) for one in weights)
    if steps and steps != canary.steps:
        patch = {"dynamicStableScale": True, "steps": [{"setWeight": one} for one in weights]}
        title = f"dynamicStableScale: true, {len(steps)} small steps"
        yield _with(strategy, canary, title, patch, scales_stable=True, steps=steps)


def _with(strategy: Strategy, canary: Canary, title: str, patch: dict[str, Any], **changed: Any) -> OwnWay:
    written = json.dumps(json.loads(canary.written) | patch)
    return OwnWay(
        title=title,
        strategy=replace(strategy, canary=replace(canary, written=written, **changed)),
        patch={"canary": patch},
    )
