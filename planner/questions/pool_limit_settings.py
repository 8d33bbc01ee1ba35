"""Settings for limits of node pools that the user types: how far each pool may grow."""

from __future__ import annotations

from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.inventory.pool_limits import PoolLimits, parse_typed_limits
from planner.questions.question import Inputs


class PoolSettings(Record):
    """Limits by hand stand above what files and clouds say."""

    limits: tuple[PoolLimits, ...] = setting(
        (), label="Limits by hand", form="TEXT", parse=parse_typed_limits,
        help="How far node pools may grow, pool=maximum or pool=minimum-maximum: gpu-t4=8,web=2-12.",
    )  # fmt: skip

    def known(self, inputs: Inputs) -> tuple[PoolLimits, ...]:
        return (*inputs.limits, *self.limits)
