"""The question *overview*: would each workload's rollout finish if its template changed now? GPUs by model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from planner.capacity import rollout_readiness
from planner.capacity.display_filter import Filter, Selection, keep
from planner.capacity.gpu_inventory import GpuModelLine
from planner.capacity.rollout_readiness import ClusterOverview, WorkloadOverview, overview
from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import settings_within
from planner.ground.words import some
from planner.kubernetes.accelerator_units import GPUS
from planner.kubernetes.node_properties import Sharing
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import EXIT, NOTHING, Fact, Inputs, Question, Want, fact, unit_of
from planner.rollout.answers import Verdict
from planner.rollout.verdict_wording import words


class OverviewSettings(Record):
    """Which workloads are listed, each as it is, and how far node pools may grow."""

    filter: Filter = settings_within(Filter)
    pools: PoolSettings = settings_within(PoolSettings)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: OverviewSettings, inputs: Inputs = NOTHING) -> ClusterOverview:
    """`overview`, of the workloads that the filter lets through."""
    whole = overview(snapshot, settings.pools.known(inputs))
    return narrowed(snapshot, whole, keep(snapshot, settings.filter, rollout_readiness.verdicts_of(whole)))


def narrowed(snapshot: Snapshot, whole: ClusterOverview, selection: Selection) -> ClusterOverview:
    """The workloads that are let through; the sentence says how many aren't."""
    if selection.is_all:
        return whole
    lines = tuple(line for line in whole.workloads if selection.workload(line.workload))
    hidden = len(whole.workloads) - len(lines)
    sentence = rollout_readiness.sentence_of(snapshot, lines, selection, hidden)
    return replace(whole, workloads=lines, hidden=hidden, sentence=sentence)


def facts(answer: ClusterOverview) -> Iterator[Fact]:
    """Workloads by verdict, those that aren't judged, GPUs by model."""
    verdicts = Counter(line.verdict for line in answer.workloads)
    for verdict in Verdict:
        yield fact("workloads", verdicts[verdict], "workloads", verdict=verdict)
    for unjudged in answer.unjudged:
        yield fact("workloads_not_judged", len(unjudged.keys), "workloads", kind=unjudged.kind)
        yield fact("gpus_not_judged", unjudged.gpus, unjudged.nouns.many, kind=unjudged.kind)
    for gpu in answer.gpus:
        unit, labels = unit_of(gpu.resource), {"model": gpu.model, "resource": gpu.resource}
        labels |= {} if gpu.sharing is Sharing.WHOLE else {"offered_as": gpu.name}
        for name in ("allocatable", "requested", "free", "out_of_use", "pending"):
            yield fact(f"gpus_{name}", getattr(gpu, name), unit, **labels)


def _free(line: GpuModelLine) -> str | None:
    if not line.node_count:
        return "–"
    return None if line.free is None else f"{line.free:,} of {line.allocatable:,}"


_WORKLOADS: Final[Listing[ClusterOverview, WorkloadOverview]] = Listing(
    name="workloads",
    items=lambda answer: rollout_readiness.by_trouble(answer.workloads),
    line=lambda line: f"{line.workload}\t{line.headline}",
    verdict=lambda line: line.verdict,
    columns=(
        Column("workload", label="workload"),
        Column("verdict", heading="its rollout now", words=lambda line: words(line.verdict, line.reason),
            metric="workload_verdict",
        ),
        Column("reason", heading=None, metric="workload_reason"),
        Column("replicas", heading=None, metric="workload_replicas", unit="pods"),
        Column("ready", heading="Ready", metric="workload_ready", unit="pods",
            words=lambda line: None if line.ready is None or line.replicas is None else f"{line.ready:,} of {line.replicas:,}",
        ),
        Column("gpus", metric="workload_gpus", unit=lambda line: line.nouns.many),
        Column("gpus_are", lambda line: line.nouns.many if line.gpus else "", heading="they are",
            words=lambda line: line.nouns.many if line.gpus and line.nouns != GPUS else "",
        ),
        Column("gpu_model", heading=None),
        Column("node_pools", lambda line: ", ".join(line.node_pools), heading=None),
        Column("sentence", lambda line: str(line.sentence), heading=None),
        Column("headline", lambda line: str(line.headline), heading="why"),
    ),
)  # fmt: skip
_GPUS: Final[Listing[ClusterOverview, GpuModelLine]] = Listing(
    name="gpus",
    title="GPUs",
    items=lambda answer: answer.gpus,
    columns=(
        Column("model", words=lambda line: line.name),
        Column("label", lambda line: ", ".join(line.labels)),
        Column("resource", heading=None),
        Column("offered_as", lambda line: line.sharing.value, heading=None),
        Column("physical", heading=None),
        Column("nodes", lambda line: line.node_count),
        Column("allocatable", heading=None),
        Column("requested", heading="held"),
        Column("free", words=_free),
        Column("out_of_use", words=lambda line: some(line.out_of_use)),
        Column("pending", heading="wanted"),
        Column(
            "overcommitted", words=lambda line: some(line.overcommitted), heading="overcommitted by", is_said_only=True
        ),
    ),
)

QUESTION: Final = Question(
    name="overview",
    settings=OverviewSettings,
    answer=answer,
    figures=(
        Figure("nodes", lambda answer: answer.node_count, "nodes"),
        Figure("pods", lambda answer: answer.pod_count, "pods"),
        Figure("pods_waiting", lambda answer: answer.pending_pods, "pods"),
    ),
    facts=facts,
    listings=(_WORKLOADS, _GPUS),
    wants=(Want.POOLS,),
    about="""Every workload's own rollout if its template changed now, with everything else as it is; GPUs by model.

    Exits 0 when the question is answered, 4 when nodes or pods are missing or a refused list
    leaves a workload unknown; --fail-on stuck exits 2 when a workload would get stuck, --fail-on unknown 4.
    """,
    states={verdict.value: status for verdict, status in EXIT.items() if verdict is not Verdict.COMPLETES},
    states_of=lambda answer: {line.verdict.value for line in answer.workloads},
    leaves_open=lambda answer: any(line.verdict is Verdict.UNKNOWN for line in answer.workloads),
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
    is_by_parts=True,
)
