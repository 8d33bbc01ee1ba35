"""Actions of a readiness plan: a lever pulled for a workload, as a command with undo, and the cluster after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import Final

from planner.ground import table_formats
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, listing, plural, short_name
from planner.inventory.patch_and_undo import applied
from planner.kubernetes import shell_commands
from planner.kubernetes.object_records import Snapshot, Strategy, Workload
from planner.kubernetes.workload_kinds import ROLLING_UPDATE
from planner.pricing.added_nodes import priced
from planner.remedies.lever_outcomes import LeveredCluster
from planner.remedies.levers import quota, user_change_steps
from planner.remedies.levers.pods import uncordoning
from planner.remedies.levers.strategy import as_change


class MeasureKind(StrEnum):
    STRATEGY = "strategy"
    QUOTA = "quota"
    ORDER = "order"  # others rolled out before it
    LEND = "lend"  # others scaled down while it rolls out
    UNCORDON = "uncordon"  # nodes that take pods again
    MOVES = "moves"  # pods evicted, so that those that wait find room
    NODES = "nodes"


FOR_ALL: Final = frozenset(
    {MeasureKind.UNCORDON, MeasureKind.MOVES, MeasureKind.NODES}
)  # room that any rollout may take


class Measure(Record):
    """One thing to do. `makes`: the workloads that can be rolled out with it and what comes before it, and couldn't before.

    Money is of nodes bought as their pool buys: `usd_per_month` of the `kept_nodes`, which pods stay on, or of all where none is, were
    they kept; `usd_per_rollout` of those that are taken away after it; None without a price, or where all stay. `limit`: what the pool's own limit says to that.
    """

    kind: MeasureKind
    what: Text
    workload: str  # the one that the strategy or quota is of; of nodes the first that needs them
    command: str
    undo: str
    makes: tuple[str, ...]
    pool: str = ""
    moves: int = 0
    nodes: int = 0
    gpus: int = 0
    gpu_model: str = ""
    usd_per_month: float | None = 0.0
    usd_per_rollout: float | None = 0.0
    is_kept: bool = False
    kept_nodes: int = 0
    limit: Text = NO_WORDS
    change: str = ""  # the same as `--change` takes it; "" of what no change of a cluster is: an order, a loan
    alike: str = ""  # what it sets and sets back, the same for those that may be told together; "" of what stands alone


Effect = Callable[[LeveredCluster], LeveredCluster]
Change = tuple[Measure, Effect]


def with_all(world: LeveredCluster, changes: Iterable[Change]) -> LeveredCluster:
    """With all that the changes make of it."""
    for _, effect in changes:
        world = effect(world)
    return world


def strategy_measure(today: LeveredCluster, now: LeveredCluster, key: str, strategy: Strategy) -> Change | None:
    """Another strategy than that of `now` as a measure, set back to that of `today`; None where it is today's."""
    workload = now.revision(key).after
    how = applied(today.revision(key).after, replace(workload, strategy=strategy))
    if how is None:
        return None
    is_rolling, before = strategy.kind == ROLLING_UPDATE, today.revision(key).after.strategy
    rolls = f"maxSurge {strategy.max_surge}, maxUnavailable {strategy.max_unavailable}"
    what = f"{short_name(key)}: {rolls if is_rolling else strategy.kind}{_instead(workload.strategy)}"
    measure = Measure(
        kind=MeasureKind.STRATEGY, what=Text(what), workload=key, command=how.command, undo=how.undo, makes=(),
        change=as_change(key, strategy),
        alike=f"{how.patch_yaml}instead of {before.kind} {before.max_surge} {before.max_unavailable}" if how.is_whole else "",
    )  # fmt: skip
    return measure, partial(LeveredCluster.more, strategies={key: strategy})


def _instead(strategy: Strategy) -> str:
    if strategy.kind != ROLLING_UPDATE:
        return f" instead of {strategy.kind}"
    settings = [str(bound) for bound in (strategy.max_surge, strategy.max_unavailable) if bound is not None]
    return f" instead of {', '.join(settings)}"


def quota_measure(snapshot: Snapshot, key: str, hard: Sequence[tuple[str, str, int]]) -> Change:
    """`hard`: quota of the workload's namespace, resource, and what it is raised to."""
    space = key.split("/")[1]
    today = {quota.name: quota.hard for quota in snapshot.resource_quotas if quota.namespace == space}
    step = quota.raise_quotas(space, [(name, resource, today[name][resource], most) for name, resource, most in hard])
    amounts = ", ".join(f"{key} to {format_amount(amount, key)}" for _, key, amount in hard)
    measure = Measure(
        kind=MeasureKind.QUOTA, what=Text(f"{step.what}: {amounts}"), workload=key, makes=(), change=quota.as_change(space, hard),
        command=shell_commands.chain(step.commands), undo=shell_commands.chain(step.undo),
    )  # fmt: skip
    return measure, partial(LeveredCluster.more, quotas={(space, name, key): amount for name, key, amount in hard})


def uncordon_measure(key: str, name: str) -> Change:
    """That a cordoned node takes pods again, as a measure."""
    step = uncordoning([name])
    measure = Measure(
        kind=MeasureKind.UNCORDON, what=Text(f"{step.what}, for {short_name(key)}"), workload=key, makes=(), change=f"uncordon:{name}",
        command=step.commands[0], undo=step.undo[0],
    )  # fmt: skip
    return measure, partial(LeveredCluster.more, opens=[name])


def loan_measure(whose: Sequence[str], lent: Iterable[tuple[Workload, int]], waiting: Collection[str]) -> Measure:
    """The loan for the rollouts of `whose`, as a measure of the last of them. `waiting`: lenders without a pod on a node."""
    parts, commands_, undo = [], list[str](), list[str]()
    for workload, replicas_left in lent:
        is_pending = ", which is only pending today" if workload.key in waiting else ""
        of = count(workload.replicas, "replica")
        parts.append(f"{short_name(workload.key)} at {replicas_left:,} of {of}{is_pending}")
        step = user_change_steps.scale(workload, replicas_left)
        commands_ += step.commands
        undo += step.undo
    names = listing([short_name(lender_key) for lender_key in whose], None)
    what = f"while {names} {plural(len(whose), 'rolls', 'roll')} out: {listing(parts, None)}"
    return Measure(
        kind=MeasureKind.LEND, what=Text(what), workload=whose[-1], command=shell_commands.chain(commands_),
        undo=shell_commands.chain(undo), makes=(),
    )  # fmt: skip


def order_measure(key: str, before: tuple[str, ...], share: float) -> Change:
    """That others are rolled out before it, as a measure."""
    others, own = listing([short_name(workload_key) for workload_key in before], None), short_name(key)
    measure = Measure(
        kind=MeasureKind.ORDER, what=Text(f"{own} after {others}: what they leave lets it through"), workload=key, makes=(),
        command=shell_commands.remark(f"roll out {others}, each once the one before is complete, then {own}"),
        undo=shell_commands.remark("an order leaves nothing to undo"),
    )  # fmt: skip
    return measure, partial(LeveredCluster.more, turns={key: (before, share)})


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
Numbered = tuple[int, Measure]


def alike(measures: Sequence[Measure]) -> list[tuple[Numbered, ...]]:
    """The measures with their numbers from 1; those that patch other workloads in the same way and cost nothing together."""

    def patched(of: Numbered) -> object:
        number, measure = of
        return (measure.alike, bool(measure.makes)) if measure.alike else number

    return table_formats.alike(enumerate(measures, 1), patched)


def _priced(of: Numbered) -> str:
    """``2. One A100 node more in gpu-a100: $12,263 a month kept, $178 for one rollout``."""
    number, measure = of
    limit = f"; {measure.limit}" if measure.limit else ""
    return f"{number}. {measure.what}{f': {price_of(measure)}' if measure.kind is MeasureKind.NODES else ''}{limit}"


def together(some: tuple[Numbered, ...]) -> str:
    """The first of some that are alike, and for which workloads the others are."""
    more = [f"{number}. {short_name(measure.workload)}" for number, measure in some[1:]]
    return f"{_priced(some[0])}{f'; the same for {listing(more)} (--script has all)' if more else ''}"


def price_of(measure: Measure) -> str:
    """``$438 a month kept, $4.57 for one rollout``; of nodes that pods stay on ``$438 a month: pods stay on it``."""
    return priced(measure.usd_per_month, measure.usd_per_rollout, measure.nodes, measure.kept_nodes)
