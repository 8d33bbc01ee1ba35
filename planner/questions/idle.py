"""GPUs that pods hold and don't use: whose, since when, and what they cost; apart from those that nobody asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.ground.errors import InputError
from planner.ground.settings import setting
from planner.ground.tables import Row
from planner.ground.words import duration, moment
from planner.kubernetes.kinds import NODE, POD
from planner.kubernetes.records import Snapshot
from planner.kubernetes.units import GPUS
from planner.pricing.bill import USD_A_MONTH, cost_cluster
from planner.pricing.idle import HeldIdle, IdleAnswer, idle_gpus
from planner.questions.costs import known_book
from planner.questions.question import NOTHING, Fact, Given, Question, fact


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSettings:
    """What counts as idle."""

    busy_percent: float = setting(
        5.0, least=0.0, most=99.0, unit="%", label="Busy above",
        help="A GPU is busy where a reading of its utilisation is above this.",
    )  # fmt: skip
    idle_minutes: float = setting(
        60.0, least=0.0, most=60 * 24 * 90, unit="min", label="Idle after",
        help="A GPU that wasn't busy for so long, up to now, is held and not used.",
    )  # fmt: skip


def answer(snapshot: Snapshot, settings: IdleSettings, given: Given = NOTHING) -> IdleAnswer:
    """Pods that hold GPUs, joined with what was measured of them.

    Raises
    ------
    InputError
        Without readings of a Prometheus, or without a price book.
    """
    if given.gpu_uses is None:
        raise InputError(
            "nobody says how busy GPUs are", mend="Name a Prometheus that scrapes DCGM's or AMD's exporter"
        )
    cost = cost_cluster(known_book(given), snapshot)
    return idle_gpus(snapshot, given.gpu_uses, cost.nodes, settings.idle_minutes * 60)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(found: IdleAnswer) -> Iterator[Fact]:
    """GPUs held and not used, in all and of each pod."""
    for units in found.units:
        named = {} if units.nouns == GPUS else {"offered_as": units.nouns.many}
        yield fact("gpus_held", units.held, units.nouns.many, **named)
        yield fact("gpus_held_idle", units.idle, units.nouns.many, **named)
        yield fact("gpus_held_unmeasured", units.unmeasured, units.nouns.many, **named)
        yield fact("gpus_nobody_asked_for", units.free, units.nouns.many, **named)
    yield fact("cost_held_idle", found.idle_usd, USD_A_MONTH)
    yield fact("cost_nobody_asked_for", found.free_usd, USD_A_MONTH)
    for one in found.pods:
        named = {"namespace": one.namespace, "pod": one.pod, "workload": one.workload, "model": one.model}
        yield fact("pod_gpus_idle", one.idle, one.nouns.many, **named)
        yield fact("pod_gpus_idle_since", one.idle_since, "seconds since the epoch", **named)
        yield fact("pod_cost_held_idle", one.usd_per_month, USD_A_MONTH, **named)


def pod_rows(found: IdleAnswer) -> list[Row]:
    """One row a pod, dearest first."""
    return [
        {
            "pod": f"{one.namespace}/{one.pod}",
            "workload": one.workload,
            "node": one.node,
            "node_pool": one.node_pool,
            "model": one.model,
            "gpus_are": one.nouns.many,
            "gpus_held": one.held,
            "gpus_idle": one.idle,
            "gpus_not_measured": one.held - one.measured,
            "idle_since": f"{moment(one.idle_since)}{' or before' if one.is_since_before else ''}",
            "idle_for": duration(found.until - one.idle_since),
            "peak_percent": one.peak_percent,
            "memory_gib": None if one.used_bytes is None else round(one.used_bytes / 2**30, 1),
            "usd_per_month": one.usd_per_month,
        }
        for one in found.pods
    ]


def workload_rows(found: IdleAnswer) -> list[Row]:
    """One row a workload."""
    groups: dict[str, list[HeldIdle]] = defaultdict(list)
    for one in found.pods:
        groups[one.workload].append(one)
    return [
        {
            "workload": workload,
            "pods": len(some),
            "gpus_idle": sum(one.idle for one in some),
            "idle_since": moment(min(one.idle_since for one in some)),
            "usd_per_month": round(sum(one.usd_per_month or 0.0 for one in some), 2)
            if all(one.usd_per_month is not None for one in some)
            else None,
        }
        for workload, some in groups.items()
    ]


QUESTION: Final = Question(
    name="idle",
    settings=IdleSettings,
    result=IdleAnswer,
    answer=answer,
    facts=facts,
    tables={"pods": pod_rows, "workloads": workload_rows},
    hangs_on=(NODE.name, POD.name),
)
