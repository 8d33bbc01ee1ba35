"""maxSurge and maxUnavailable as the controllers round them.

Sources: kubernetes `pkg/controller/deployment/util/deployment_util.go` `ResolveFenceposts`, `MaxUnavailable`;
`pkg/controller/daemon/util` `SurgeCount`, `UnavailableCount`; `pkg/controller/statefulset/stateful_set_utils.go`
`getStatefulSetMaxUnavailable`; apimachinery `pkg/util/intstr`.
"""

from __future__ import annotations

import re

from planner.errors import ChangeError
from planner.kubernetes.kinds import RECREATE
from planner.kubernetes.records import Workload

_PERCENT = re.compile(r"(\d+)%\Z", re.ASCII)


def scaled_value(value: int | str | None, total: int, *, round_up: bool) -> int:
    """An absolute number or a percentage of `total`; None counts 0.

    Raises
    ------
    ChangeError
        When `value` is neither, or negative.
    """
    if value is None:
        return 0
    if isinstance(value, int):
        if value < 0:
            raise ChangeError(f"{value} is negative", mend='Give a number such as 1, or a share such as "25%"')
        return value
    match = _PERCENT.match(value)
    if match is None:
        raise ChangeError(f'"{value}" is neither a number nor a percentage', mend='Write it like 1 or "25%"')
    product = int(match[1]) * total
    return -(-product // 100) if round_up else product // 100


def fenceposts(
    max_surge: int | str | None, max_unavailable: int | str | None, replicas: int, *, round_up: bool = False
) -> tuple[int, int]:
    """(surge, unavailable): surge rounded up, unavailable down or (a DaemonSet's) up, and never both 0."""
    surge = scaled_value(max_surge, replicas, round_up=True)
    unavailable = scaled_value(max_unavailable, replicas, round_up=round_up)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, unavailable


def rolling_limits(workload: Workload, replicas: int | None = None) -> tuple[int, int]:
    """(surge, unavailable) the controller works with, at `replicas` (a DaemonSet: nodes it should run on).

    Surge is rounded up, unavailable as the kind's row says, and one of them is at least 1. Under Recreate all pods are
    unavailable. (0, 0) for a kind that doesn't roll out.
    """
    count = workload.replicas if replicas is None else replicas
    strategy, traits = workload.strategy, workload.traits
    if not traits.rolls_out:
        return 0, 0
    if strategy.kind == RECREATE:
        return 0, count
    max_surge = strategy.max_surge if traits.can_surge else None
    surge, unavailable = fenceposts(max_surge, strategy.max_unavailable, count, round_up=traits.rounds_unavailable_up)
    return surge, min(unavailable, count) if traits.part else unavailable
