"""Prices of Compute Engine's spend-based (flexible) commitments: USD an hour on vCPUs and memory.

They take 28% off the price on demand for 1 year and 46% for 3, of most families for general purpose and computing; nothing off GPUs, local
SSDs and shared cores, and no sustained use is taken off what they cover. Sources: Google, "Compute flexible CUDs"
(https://docs.cloud.google.com/compute/docs/instances/committed-use-discounts-overview#spend_based) and its example of a billing export, in
which an E2 vCPU of 0.02181159 is 0.01570434 under one for a year (https://docs.cloud.google.com/docs/cuds-multiprice); both as quoted in
public pages of 2026. Families with other rates (M, H) aren't reckoned.
"""

from __future__ import annotations

from typing import Final

from planner.pricing.machine_price import SHARED_CORES
from planner.pricing.price_book import PartKind, Price, Provisioning
from planner.pricing.sustained_use import SUSTAINED_USE_DISCOUNT

FLEXIBLE: Final = {"1-year flexible commitment": 1, "3-year flexible commitment": 3}  # years
DISCOUNT: Final = {1: 0.28, 3: 0.46}
"""Years → share off the price on demand."""
_FAMILIES: Final = frozenset({"n1", "n2", "n2d", "n4", "e2", "c2", "c2d", "c3", "c3d", "c4"})


def flexible_usd_per_hour(price: Price, years: int) -> float | None:
    """A machine's hour under a flexible commitment, its GPUs after sustained use; None where none covers it, or its price isn't known
    by parts. `price` is that on demand."""
    family = price.machine_type.partition("-")[0].replace("custom", "n1")
    host = price.part_usd_per_hour(PartKind.MACHINE)
    if host is None or family not in _FAMILIES or price.machine_type in SHARED_CORES:
        return None
    if price.provisioning is not Provisioning.ON_DEMAND or any(part.is_own for part in price.parts):
        return None
    gpus = price.part_usd_per_hour(PartKind.GPU) or 0.0
    undiscounted = sum(part.usd_per_hour for part in price.parts) - host - gpus
    return host * (1 - DISCOUNT[years]) + gpus * (1 - SUSTAINED_USE_DISCOUNT.get(family, 0.0)) + undiscounted
