"""The one order of ways out: of the list, of all plans, and of the nodes of a plan for every workload."""

from __future__ import annotations

from planner.ground.records import Record


class WayCost(Record):
    """What a way out costs.

    Attributes
    ----------
    usd, nodes : of the nodes that it adds; None without a price
    short : pods that are Ready at worst, fewer than the workload wants; `is_down`: none is for a while
    left : pods that don't get the change
    given_up : pods of others that end for it, and where many others are asked for it also how many
    """

    usd: float | None = 0.0
    nodes: int = 0
    short: int = 0
    is_down: bool = False
    left: int = 0
    given_up: int = 0

    @property
    def rank(self) -> tuple[float, ...]:
        """What keeps all pods Ready for no money first; then what costs availability or money, no money first and the cheapest first in
        each; last what others give up."""
        is_free = not (self.nodes or self.short or self.is_down or self.left)
        is_unpriced = bool(self.nodes) and self.usd is None
        money = (bool(self.nodes), is_unpriced, self.usd or 0.0, self.nodes)
        return (2 if self.given_up else 0 if is_free else 1, *money, self.given_up, self.left, self.is_down, self.short)
