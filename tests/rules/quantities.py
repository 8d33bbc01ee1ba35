"""The quantities that stand in more than one place: what each is of, and how it is written where people and programs read it.

A pattern takes one group, the figure. It is looked for in everything that pages, commands and exports say, so it has to hold the
words that make it this quantity and no other.
"""

from __future__ import annotations

from dataclasses import dataclass

NUMBER = r"(?:\\?\$)?([\d,]+(?:\.\d+)?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """`least`: places (pages, commands, exports) that must say it."""

    name: str
    scope: str
    where: str
    patterns: tuple[str, ...] = ()
    least: int = 2


QUANTITIES = (
    Quantity(
        name="the bill",
        scope="all nodes, a month of 730 hours, after negotiated discounts and sustained use, with commitments that cover none; "
        "without cluster fees and disks",
        where="Now, Money, Other clusters, As if, report; costs, savings, fleet, what-if, trends",
        patterns=(
            rf"{NUMBER} a month for \d[\d,]* nodes", rf"{NUMBER} a month; [$\d,]+ of it isn't requested", rf"of the {NUMBER} a month: \d", rf"add up to the bill, {NUMBER},",
            rf"; {NUMBER} a month\.$", rf"instead of {NUMBER}\.$", r"^cost_with_sustained_use,,([\d.]+),USD/month",
        ),
        least=8,
    ),
    Quantity(
        name="idle cost",
        scope="of the bill: what no bound pod requests of its node",
        where="Now, Money, report; costs, trends",
        patterns=(rf"a month for \d[\d,]* nodes?; {NUMBER} of it isn't requested", rf"a month, {NUMBER} of it idle", rf"a month; {NUMBER} of it isn't requested"), least=3,
    ),
    Quantity(
        name="workloads that would get stuck",
        scope="each workload's own rollout with its own strategy, if it changed now and nothing else moved",
        where="Now, Every workload, Other clusters, report; overview, fleet, report",
        patterns=(r"\b([\d,]+) of [\d,]+ workloads would get stuck",), least=4,
    ),
    Quantity(
        name="workloads that can be rolled out",
        scope="each workload's own rollout with its own strategy, if it changed now and nothing else moved",
        where="Suppose all of it; plan",
        patterns=(r"\b([\d,]+) of [\d,]+ workloads can be rolled out now",), least=3,
    ),
    Quantity(
        name="workloads that restart or fail to start",
        scope="of all containers, those that do so still",
        where="Restarts; restarts",
        patterns=(r"\b([\d,]+) workloads? restarts? or fails? to start",), least=3,
    ),
    Quantity(
        name="GPUs that are free",
        scope="on nodes that take new pods, held by no bound pod; whatever a pod needs beside them",
        where="What fits, report; overview, capacity",
        patterns=(r"\b([\d,]+) of [\d,]+ GPUs (?:is|are) free",), least=3,
    ),
    Quantity(
        name="GPUs in all",
        scope="on every node, those out of use included, as kube-scheduler counts them",
        where="What fits; overview, capacity",
        patterns=(r"\b[\d,]+ of ([\d,]+) GPUs (?:is|are) free",), least=3,
    ),
    Quantity(
        name="what spot saves",
        scope="of the bill, by all moves together, expected, after interruptions and moves of the spot price",
        where="Money, report; savings",
        patterns=(rf"Spot would save {NUMBER} of the", rf"saved by spot\s+{NUMBER}"), least=3,
    ),
    Quantity(
        name="a T4 node",
        scope="one n1-standard-8 with a T4, a month on demand, after sustained use",
        where="As if, Rollout's price of a surge; what-if, gate, plan",
        patterns=(rf"{NUMBER} a month more: ", r"Surge 1 costs \$([\d,]+) a month"), least=2,
    ),
)  # fmt: skip
"""For people: docs/quantities.md is made of it (`make docs`)."""


def as_markdown() -> str:
    """docs/quantities.md."""
    rows = "".join(f"| {one.name} | {one.scope} | {one.where} |\n" for one in QUANTITIES)
    return f"""# One quantity, one number

For people who compare figures of two pages. Made by `make docs` from `tests/rules/quantities.py`. What has the same name and the same scope is the same number wherever it
stands; `tests/rules/test_one_number.py` walks all pages, commands and exports of the demo cluster, and the most used of three others, and compares each figure.

| quantity | of what | where |
| --- | --- | --- |
{rows}| how many more pods of a workload fit | what quotas and admission of its namespace let in of what nodes have room for; pods that wait stay out of it | What fits, As if, Other clusters, report; capacity, what-if, where |

What sounds alike and has another scope, and is called so:

- *on nodes* (`on_nodes`): what the nodes alone have room for, whatever quotas and admission say.
- *Spot of one workload*: its own nodes, played month by month (`savings --workload`); in the list, its part of the whole plan. The two agree
  to a few dollars where it is alone on its nodes.
- *Spot before losses and after*: *saved* is the difference of prices, *expected* is less interruptions and moves of the price.
- *Of the on-demand nodes*: what spot would move is on demand today; the bill has the spot nodes too.

Where next: [where each rule stands](where-is.md), [all commands](command-line.md).
"""
