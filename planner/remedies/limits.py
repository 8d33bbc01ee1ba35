"""Limits of the searches for remedies, and what is said where a search ends. No search in this package has another.

"None exists" and "proven" are withheld where a limit was reached: a search asks `Limit.reached` and hands the words on.
"""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record
from planner.ground.work_budget import QUESTION_UNITS


class Limit(Record, kw_only=False):
    """How far a search goes.

    Attributes
    ----------
    most : the largest number it looks at, of what `words` name
    words : what is said where there would be more; `most` and what `reached` is given stand in braces. "" where a search says it in its
        own answer (how many of how many plans, placements that were tried), or where reaching it loses nothing that is claimed
    """

    most: int
    words: str = ""

    def reached(self, **parameters: object) -> str:
        return self.words.format(most=f"{self.most:,}", **parameters)


# ── how far a lever goes ─────────────────────────────────────────────────────────────────────────────────────────────
NODES: Final = Limit(64, "at most {most} more nodes in {pool} are looked at")
POOLS: Final = Limit(3, "of {number:,} pools that match {most} are looked at")
PLACES_OF_A_POOL: Final = Limit(4, "of {number:,} places of pool {pool} {most} are looked at")  # zones, racks
UNCORDONED: Final = Limit(8, "of {number:,} cordoned nodes {most} at most are opened alone, then all: no other set")
# Above, a way out that asks them is the last, and never the only one.
LENDERS_ALONE: Final = Limit(
    3, "one that scales {number:,} workloads of others to 0 is not offered by itself ({names})"
)
LENDERS: Final = Limit(10, "of {number:,} workloads that could lend {most} are looked at")
OWN_PODS: Final = Limit(8, "{workload} is scaled down by at most {most} of its {number:,} pods")
STRATEGIES_UP_TO: Final = Limit(8, "of {number:,} values of {field} {looked} are looked at")  # each value, up to there
STRATEGIES_ABOVE: Final = Limit(6, STRATEGIES_UP_TO.words)  # values of each field, above
ORDERED: Final = Limit(4, "of {number:,} changes at once no other order is looked at: {most} is the most")
DISTRIBUTIONS: Final = Limit(60)  # of a number of places over zones: one that isn't tried makes the number larger
DISTRIBUTIONS_SORTED: Final = Limit(1_000)  # of those, from which the most even are tried
OWN_SHARES: Final = Limit(4)  # of places of their own shapes, where places of the largest shape are known to be enough
# of a manifest
TOGETHER: Final = Limit(
    8, "of {number:,} workloads at once nothing is asked: {most} is the most; each alone is answered"
)
REPLICAS_EACH: Final = Limit(20)  # of an autoscaler, up to which each number is asked
GRID_PLACES: Final = Limit(
    3, "✗: it isn't through with room for {most} more pods; more room wasn't tried."
)  # of a cell of the grid
GRID_DISTRIBUTIONS: Final = Limit(4)  # of these over zones: the grid is played with each
HOSTS_BESIDE: Final = Limit(3)  # nodes of a workload that others have to be beside, where room is looked for
PLACES: Final = Limit(3, "other moves than the fewest weren't looked at")  # pods of the change that moves make room for

# ── how much is played ───────────────────────────────────────────────────────────────────────────────────────────────
# Placements in which a way out has to do what it says, where chance has a say (`scenario.placements`): the answer tells them.
DRAWS: Final = Limit(8)
DRAW_UNITS: Final = Limit(250_000)  # of work for all of them; where one costs more than its share, fewer are tried, but
FEWER_DRAWS: Final = Limit(3)
# Of work (`planner.ground.work_budget`), about half a second: the answer says how many plans.
SEARCH_UNITS: Final = Limit(500_000)
PLAN_UNITS: Final = Limit(150_000)  # of work for one workload of a plan in a large cluster
NEAREST_UNITS: Final = Limit(150_000)  # of work for the lever that would help, which is a hint
PASSED_UNITS: Final = Limit(20)  # of work for plans that are passed over together
PLAYED: Final = Limit(4_000)  # plans that are played, and
WALKED: Final = Limit(200_000)  # that are so much as looked at: the answer says of how many
MOVES_UNITS: Final = Limit(500_000, "moves were looked at as far as the work goes that they may cost")
MOVES_NODES: Final = Limit(2_000, "no moves were looked at in a cluster of {number:,} nodes")  # each is compiled anew
MOVES_OF_ALL: Final = Limit(500, "in a cluster of {number:,} nodes no moves for all pending pods were looked at")

# ── a plan for every workload ────────────────────────────────────────────────────────────────────────────────────────
CURED: Final = Limit(200, "For {number:,} more workloads nothing was looked for.")
LARGE_CLUSTER: Final = Limit(500)  # nodes, up to which quotas, nodes and every strategy of a loan are looked at too
LENT: Final = Limit(40, "Who could lend to {number} wasn't looked at.")  # workloads that others are asked to lend to
LENT_IN_VAIN: Final = Limit(8, LENT.words)  # of them in a row, in a large cluster
BEFORE: Final = Limit(2)  # rollouts that are put before one at a time: an order that isn't found is no claim
ASKED_BEFORE: Final = Limit(8)  # workloads that could come before one
# Times that fewer nodes for all together are tried: the plan says whether the number is proven.
FEWER_NODES: Final = Limit(8)
FEWER_POOLS: Final = Limit(3)  # pools of which they are
FEWER_UNITS: Final = Limit(2_000_000)  # of work for all of these
ORDER_TURNS: Final = Limit(
    60, "Each of these completes by itself: the order wasn't played as a whole, in a cluster of this size."
)
ORDERS_PLAYED: Final = Limit(
    6, "Each of these completes by itself: not all do in {number} that Headroom played; no other order was tried."
)
ORDER_UNITS: Final = Limit(
    QUESTION_UNITS,
    "Each of these completes by itself: the search for an order in which all do stopped at the work that it may cost.",
)
AHEAD: Final = Limit(32)  # workloads that nodes are looked for at a time: how it is worked out, not what is found
FEWER_AHEAD: Final = Limit(4)  # where the certificate's search looks for them too
GLANCES: Final = Limit(80)  # of stuck workloads that are remembered: their runs are large
GROWN: Final = Limit(16)  # clusters with more nodes that are remembered, for the next workload that asks for the same

# ── how much is told ─────────────────────────────────────────────────────────────────────────────────────────────────
AWAITED: Final = Limit(5, "and {number:,} more that are rolling out")  # in flight, for which a command is printed
UNMOVED: Final = Limit(5)  # workloads with pods that may not be moved, by name
NAME_LETTERS: Final = Limit(120)  # of a name that was asked for and isn't there
EVICTED_AT_ONCE: Final = Limit(16)  # pods of a stage that a script evicts beside each other
