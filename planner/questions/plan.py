"""A readiness plan: the least that makes every workload rollable, simulated together, with its cost.

What costs nothing comes first (another strategy, a larger quota), then nodes, as few as do and within the budgets. Each
measure is tried on the cluster as the ones before it leave it, pods that wait today take their places first, and a measure
that turns out not to be needed is taken back. At the end every workload's rollout is played in that cluster, one at a time:
spare nodes are shared by rollouts that follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.capacity.readiness import MOST_SPARE, Aims, Measure, MeasureKind, PlanAnswer, Planner, State, World
from planner.ground.budget import LIST_UNITS, allowed
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.progress import tell
from planner.ground.settings import setting, settings_within
from planner.ground.tables import Row
from planner.kubernetes.kinds import NODE, POD, ROLLING
from planner.kubernetes.records import Snapshot
from planner.pricing.bill import USD_A_MONTH
from planner.questions import overview as overview_question
from planner.questions.filters import Filter, Kept
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.rollout.prepared import compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """What the plan may cost, and what every rollout has to keep."""

    least_ready_percent: int = setting(
        0, least=0, most=100, label="Ready at least, %", option="--least-ready", form="PERCENT",
        help="No workload's rollout may have a smaller share of its pods Ready.",
    )  # fmt: skip
    most_nodes: int | None = setting(
        None, least=0, most=MOST_SPARE, label="Spare nodes at most", help="No more nodes than these are added."
    )
    most_usd: float | None = setting(
        None, least=0, most=10_000_000, label="$ a month at most", help="No more is spent on nodes a month, if they are kept."
    )  # fmt: skip
    rollouts_per_month: float = setting(
        20, least=0, most=10_000, help="How often the workloads that need spare nodes are rolled out in all."
    )
    filter: Filter = settings_within(Filter)


@allowed(units=LIST_UNITS)
def answer(snapshot: Snapshot, settings: PlanSettings, given: Given = NOTHING) -> PlanAnswer:
    """The plan, worked out from every workload's own rollout on.

    Raises
    ------
    InputError
        Where there is a budget of money and no price book.
    """
    if settings.most_usd is not None and given.book is None:
        raise InputError("a budget of money needs prices", where="most_usd", mend="Give a price book")
    tell("Every workload's rollout is played", 0.0)
    share = settings.least_ready_percent / 100
    now = {line.workload: line for line in overview_question.overview(snapshot).workloads}
    states = {
        key: State(line.verdict, line.reason, str(line.headline), line.lowest_ready or 0, line.replicas or 0)
        for key, line in now.items()
    }
    aims = Aims(
        least_ready_percent=settings.least_ready_percent,
        most_nodes=settings.most_nodes,
        most_usd=settings.most_usd,
        rollouts_per_month=settings.rollouts_per_month,
    )
    planner = Planner(World(compiled(snapshot), {}, {}, ()), states, share, aims, given.book, snapshot)
    whole = planner.plan()
    whole = replace(whole, sentence=QUESTION.of_those_seen(snapshot, whole.sentence))
    return narrowed(whole, overview_question.kept_by(snapshot, settings.filter))


def narrowed(whole: PlanAnswer, kept: Kept) -> PlanAnswer:
    """The workloads that are let through; what to do is the whole cluster's, since the measures work together."""
    if kept.is_all:
        return whole
    order = tuple(one for one in whole.order if kept.workload(one.workload))
    left = tuple(one for one in whole.left if kept.workload(one.workload))
    total, shown = len(whole.order) + len(whole.left), len(order) + len(left)
    sentence = kept.beside(whole.sentence, shown, total, "workload")
    return replace(whole, order=order, left=left, hidden=total - shown, sentence=sentence)


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


Numbered = tuple[int, Measure]


def alike(measures: Sequence[Measure]) -> list[tuple[Numbered, ...]]:
    """The measures with their numbers from 1; those that patch other workloads in the same way and cost nothing together."""
    found: dict[tuple[object, ...], list[Numbered]] = {}
    for number, one in enumerate(measures, 1):
        patches = tuple(command.partition(" -p ")[2] for command in (one.command, one.undo))
        key = (one.kind, patches, bool(one.makes)) if one.kind is MeasureKind.STRATEGY and all(patches) else (number,)
        found.setdefault(key, []).append((number, one))
    return [tuple(some) for some in found.values()]


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(answer: PlanAnswer) -> Iterator[Fact]:
    """How many workloads can be rolled out now and with the plan, what it costs, and each measure."""
    for name in ("total", "ready_now", "ready_free", "ready_all", "unknown"):
        yield fact(f"plan_{name}", getattr(answer, name), "workloads")
    yield fact("plan_nodes", answer.nodes, "nodes")
    yield fact("plan_cost", answer.usd_per_month, USD_A_MONTH)
    yield fact("plan_cost_of_a_rollout", answer.usd_per_rollout, "USD/rollout")
    for place, one in enumerate(answer.measures, 1):
        named = {"measure": place, "kind": one.kind, "workload": one.workload}
        yield fact("measure_makes", len(one.makes), "workloads", **named)
        yield fact("measure_nodes", one.nodes, "nodes", **named)
        yield fact("measure_cost", one.usd_per_month, USD_A_MONTH, **named)


def measure_rows(answer: PlanAnswer) -> list[Row]:
    """One row a measure, in the order they are taken."""
    return [
        {
            "number": place,
            "kind": one.kind,
            "what": one.what,
            "workload": one.workload,
            "makes": len(one.makes),
            "nodes": one.nodes,
            "usd_per_month": one.usd_per_month,
            "usd_per_rollout": one.usd_per_rollout,
            "command": one.command,
            "undo": one.undo,
        }
        for place, one in enumerate(answer.measures, 1)
    ]


def order_rows(answer: PlanAnswer) -> list[Row]:
    """One row a workload that can be rolled out with the plan, in the order of rollouts."""
    return [
        {
            "turn": place,
            "workload": one.workload,
            "lowest_ready": one.lowest_ready,
            "replicas": one.replicas,
            "needs": ", ".join(map(str, one.needs)),
        }
        for place, one in enumerate(answer.order, 1)
    ]


def left_rows(answer: PlanAnswer) -> list[Row]:
    """One row a workload that the plan doesn't make rollable."""
    return [
        {"workload": one.workload, "verdict": one.verdict.value, "reason": one.reason.value, "why": one.why}
        for one in answer.left
    ]


QUESTION: Final = Question(
    name="plan",
    settings=PlanSettings,
    result=PlanAnswer,
    answer=answer,
    facts=facts,
    tables={"measures": measure_rows, "order": order_rows, "left": left_rows},
    states={"left": ExitStatus.REFUSED},
    states_of=lambda answer: {"left"} if answer.left else set(),
    leaves_open=lambda answer: answer.unknown > 0,
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
    is_of_lists=True,
)
