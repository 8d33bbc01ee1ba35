"""Parses Kubernetes quantities into exact integers (millicores, bytes, devices), and formats them.

Source: apimachinery `pkg/api/resource/quantity.go` (grammar, rounding up) and
`pkg/apis/core/validation` (requests may not be negative).
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

from planner.ground.errors import QuantityError

_GRAMMAR = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?\d+))?\Z", re.ASCII)
_FACTOR = {
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("n", "u", "m", None, *"kMGTPE"), -3)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
LARGEST = 2**63 - 1  # the API server caps what doesn't fit an int64 in the same way


@lru_cache(maxsize=65_536)
def parse_decimal(text: str) -> Decimal:
    """The exact value of a quantity such as ``"512Mi"``, ``"100m"`` or ``"1e3"``.

    Raises
    ------
    QuantityError
        For anything the API server refuses: ``"NaN"``, ``"1K"``, ``" 5"``, ``"1_000"``, an empty text.
    """
    match = _GRAMMAR.match(text)
    if match is None:
        raise QuantityError(f'"{text[:40]}" is not a Kubernetes quantity', fix='Write it like "500m", "2" or "16Gi"')
    sign, digits, suffix, exponent = match.groups()
    if exponent is not None and len(exponent) > 3:
        raise QuantityError(f'"{text[:40]}" is too large or too small', fix='Write it like "500m", "2" or "16Gi"')
    value = Decimal(digits) * (Decimal(10) ** int(exponent) if exponent else _FACTOR[suffix])
    return -value if sign == "-" else value


def parse(text: str | int | float, resource: str) -> int:
    """A quantity of `resource` as an integer: millicores for ``cpu``, else bytes or devices.

    Fractions are rounded up, as `Quantity.MilliValue` and `Quantity.Value` do; what exceeds an int64 is capped.

    Parameters
    ----------
    text : str or number
        As it stands in JSON or YAML (YAML gives ``cpu: 2`` as a number).
    resource : str
        The resource's name; ``cpu``, ``requests.cpu`` and ``limits.cpu`` are counted in millicores.

    Raises
    ------
    QuantityError
        For what isn't a quantity, and for negative amounts.
    """
    return _parse(str(text) if not isinstance(text, str) else text, resource == "cpu" or resource.endswith(".cpu"))


@lru_cache(maxsize=65_536)
def _parse(text: str, is_cpu: bool) -> int:
    value = parse_decimal(text)
    if value < 0:
        raise QuantityError(f'"{text}" is negative', fix="A request, limit or capacity is 0 or more")
    scaled = value * 1000 if is_cpu else value
    return min(int(scaled.to_integral_value(rounding=ROUND_CEILING)), LARGEST)


def format_amount(amount: int, resource: str) -> str:
    """An integer amount as people write it: ``1500`` of cpu → ``"1500m"``, ``2**30`` of memory → ``"1Gi"``.

    The text parses back to exactly `amount`.
    """
    if resource == "cpu" or resource.endswith(".cpu"):
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if "memory" in resource or "storage" in resource or "hugepages" in resource:
        for suffix, factor in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
            if amount and amount % factor == 0:
                return f"{amount // factor}{suffix}"
    return str(amount)
