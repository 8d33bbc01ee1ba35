"""Computes maxSurge and maxUnavailable, rounded as the controllers round them.

Sources: kubernetes `pkg/controller/deployment/util/deployment_util.go` `ResolveFenceposts`, `MaxUnavailable`;
`pkg/controller/daemon/util` `SurgeCount`, `UnavailableCount`; `pkg/controller/statefulset/stateful_set_utils.go`
`getStatefulSetMaxUnavailable`; apimachinery `pkg/util/intstr`.
"""

from __future__ import annotations

import re
from math import ceil

from planner.ground.errors import ChangeError, InputError
from planner.kubernetes.object_records import Workload
from planner.kubernetes.workload_kinds import BLUE_GREEN, RECREATE

_SHARE = re.compile(r"(\d{1,9})(%?)\Z", re.ASCII)
_FIX = 'Give a number such as 1, or a share such as "25%"'


def parse_share(text: str, *, where: str = "") -> int | str:
    """``1`` or ``25%`` as a user types it.

    Raises
    ------
    ChangeError
        For anything else; `where` says in which field it stands.
    """
    match = _SHARE.match(text.strip())
    if match is None:
        raise ChangeError(f'"{text[:40]}" is neither a number nor a percentage', where=where, fix=_FIX)
    return f"{int(match[1])}%" if match[2] else int(match[1])


def check_share(field: str, value: int | str | None) -> None:
    """Refuse what the API server refuses while an object is read; the error names the field.

    Raises
    ------
    InputError
        When `value` is neither a number nor a percentage.
    """
    if value is not None:
        try:
            share_parts(value)
        except ChangeError as error:
            raise InputError(f"{field}: {error.what}", fix=error.fix) from None


def share_parts(value: int | str, *, name: str = "", where: str = "") -> tuple[int, bool]:
    """(number, whether it is a percentage) of a value as the API holds it: 1 or "25%", and not "1".

    `name` is what the value says, `where` the object it stands in.

    Raises
    ------
    ChangeError
        When it is neither, or negative.
    """
    if isinstance(value, int) and value >= 0:
        return value, False
    match = _SHARE.match(value) if isinstance(value, str) else None
    if match is None or not match[2]:
        message = (
            f'{name} is "{str(value)[:40]}"' if name else f'"{str(value)[:40]}" is neither a number nor a percentage'
        )
        raise ChangeError(message, where=where, fix=_FIX)
    return int(match[1]), True


def scaled_value(value: int | str | None, total: int, *, round_up: bool) -> int:
    """An absolute number or a percentage of `total`; None counts 0.

    Raises
    ------
    ChangeError
        When `value` is neither, or negative.
    """
    if value is None:
        return 0
    number, is_percent = share_parts(value)
    if not is_percent:
        return number
    product = number * total
    return -(-product // 100) if round_up else product // 100


def enough(share: float, total: int) -> int:
    """The fewest of `total` that are `share` of it, rounded up as a disruption budget's minAvailable; 7 for 0.07 of 100, whatever a float's
    last digit says."""
    return ceil(share * total - 1e-9)


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
    unavailable; a blue-green has both sets whole. (0, 0) for a kind that doesn't roll out.
    """
    count = workload.replicas if replicas is None else replicas
    strategy, traits = workload.strategy, workload.traits
    if not traits.rolls_out:
        return 0, 0
    if strategy.kind == RECREATE:
        return 0, count
    if strategy.kind == BLUE_GREEN:
        return count, 0
    max_surge = strategy.max_surge if traits.can_surge else None
    surge, unavailable = fenceposts(max_surge, strategy.max_unavailable, count, round_up=traits.rounds_unavailable_up)
    return surge, min(unavailable, count) if traits.part else unavailable
