"""The question *idle*: GPUs that pods reserve but don't use: owner, since when, cost; and GPUs that no pod requests."""

from __future__ import annotations

from typing import Final

from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing
from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.ground.table_formats import alike
from planner.ground.words import moment
from planner.kubernetes.accelerator_units import GPUS
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD
from planner.pricing.idle_gpus import HeldIdle, IdleAnswer, IdleUnits, idle_gpus, with_tokens
from planner.pricing.projected_bill import cost_cluster
from planner.pricing.token_cost import COLUMNS, TokenCost
from planner.questions.question import NOTHING, Inputs, Question, Want, known_book


class IdleSettings(Record):
    """What counts as idle."""

    busy_percent: float = setting(
        5.0, least=0.0, most=99.0, unit="%", label="Busy above",
        help="A GPU is busy where a reading of its utilisation is above this.",
    )  # fmt: skip
    idle_minutes: float = setting(
        60.0, least=0.0, most=60 * 24 * 90, unit="min", label="Idle after",
        help="A GPU that wasn't busy for so long, up to now, is held and not used.",
    )  # fmt: skip


def answer(snapshot: Snapshot, settings: IdleSettings, inputs: Inputs = NOTHING) -> IdleAnswer:
    """Pods that hold GPUs, joined with what was measured of them.

    Raises
    ------
    InputError
        Without readings of a Prometheus, or without a price book.
    """
    if inputs.gpu_uses is None:
        raise InputError(
            "nothing in the input tells how busy GPUs are",
            fix="Name a Prometheus that scrapes DCGM's or AMD's exporter",
        )
    cost = cost_cluster(known_book(inputs), snapshot)
    idle = idle_gpus(snapshot, inputs.gpu_uses, cost.nodes, settings.idle_minutes * 60)
    return with_tokens(idle, snapshot, inputs.token_uses, known_book(inputs)) if inputs.token_uses else idle


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _noun(holder: HeldIdle | IdleUnits) -> str:
    return holder.nouns.many


def _sum(amounts: list[float | None]) -> float | None:
    known_amounts = [amount for amount in amounts if amount is not None]
    return round(sum(known_amounts), 2) if len(known_amounts) == len(amounts) else None


_PODS: Final[Listing[IdleAnswer, HeldIdle]] = Listing(
    name="pods",
    empty="Every GPU that was measured was busy lately.",
    columns=(
        Column("namespace", lambda idle_pod: idle_pod.namespace, heading=None, label="namespace"),
        Column("pod", lambda idle_pod: idle_pod.pod, words=lambda row: f"{row.namespace}/{row.pod}", label="pod"),
        Column("workload", lambda idle_pod: idle_pod.workload, label="workload"),
        Column("node", lambda idle_pod: idle_pod.node),
        Column("node_pool", lambda idle_pod: idle_pod.node_pool),
        Column("model", lambda idle_pod: idle_pod.model or None, heading="GPU", label="model"),
        Column("gpus_are", lambda idle_pod: idle_pod.nouns.many, heading="offered as"),
        Column("gpus_held", lambda idle_pod: idle_pod.held, heading="held"),
        Column("gpus_idle", lambda idle_pod: idle_pod.idle, heading="idle", metric="pod_gpus_idle", unit=_noun),
        Column("gpus_not_measured", lambda idle_pod: idle_pod.held - idle_pod.measured, heading="not measured"),
        Column("idle_since_seconds", lambda idle_pod: idle_pod.idle_since, heading="idle since",
            words=lambda idle_pod: f"{moment(idle_pod.idle_since)}{' or before' if idle_pod.is_since_before else ''}",
            metric="pod_gpus_idle_since", unit="seconds since the epoch",
        ),
        Column("idle_since_before", lambda idle_pod: idle_pod.is_since_before, heading=None),
        Column("peak_percent", lambda idle_pod: idle_pod.peak_percent),
        Column("memory_bytes", lambda idle_pod: idle_pod.used_bytes),
        Column("usd_per_month", lambda idle_pod: idle_pod.usd_per_month, heading="$/month", metric="pod_cost_held_idle",
            unit=USD_A_MONTH,
        ),
    ),
)  # fmt: skip
_WORKLOADS: Final[Listing[IdleAnswer, tuple[HeldIdle, ...]]] = Listing(
    name="workloads",
    items=lambda idle_answer: alike(idle_answer.pods, lambda idle_pod: idle_pod.workload),
    is_shown=False,
    columns=(
        Column("workload", lambda workload_pods: workload_pods[0].workload),
        Column("pods", len),
        Column("gpus_idle", lambda workload_pods: sum(held_idle.idle for held_idle in workload_pods)),
        Column("idle_since_seconds", lambda workload_pods: min(held_idle.idle_since for held_idle in workload_pods)),
        Column("usd_per_month", lambda workload_pods: _sum([held_idle.usd_per_month for held_idle in workload_pods])),
    ),
)


_UNITS: Final[Listing[IdleAnswer, IdleUnits]] = Listing(
    name="units",
    is_shown=False,
    columns=(
        Column("offered_as", lambda unit: None if unit.nouns == GPUS else unit.nouns.many, label="offered_as"),
        Column("held", lambda unit: unit.held, metric="gpus_held", unit=_noun),
        Column("idle", lambda unit: unit.idle, metric="gpus_held_idle", unit=_noun),
        Column("not_measured", lambda unit: unit.unmeasured, metric="gpus_held_unmeasured", unit=_noun),
        Column("nobody_asked_for", lambda unit: unit.free, metric="gpus_nobody_asked_for", unit=_noun),
    ),
)
_TOKENS: Final[Listing[IdleAnswer, TokenCost]] = Listing(name="tokens", title="what tokens cost", columns=COLUMNS)

QUESTION: Final = Question(
    name="idle",
    settings=IdleSettings,
    answer=answer,
    figures=(
        Figure("cost_held_idle", lambda idle: idle.idle_usd, USD_A_MONTH),
        Figure("cost_nobody_asked_for", lambda idle: idle.free_usd, USD_A_MONTH),
    ),
    listings=(_PODS, _WORKLOADS, _UNITS, _TOKENS),
    about="""GPUs that pods reserve but don't use: owner, since when, cost a month; GPUs that no pod requests apart.

    Read from a Prometheus: DCGM_FI_PROF_GR_ENGINE_ACTIVE, DCGM_FI_DEV_GPU_UTIL and DCGM_FI_DEV_FB_USED, or AMD's
    gpu_gfx_activity and gpu_used_vram. A held GPU without readings is counted as not measured, never as idle.
    """,
    wants=(Want.GPU_USE, Want.PRICES),
    hangs_on=(NODE.name, POD.name),
)  # fmt: skip
