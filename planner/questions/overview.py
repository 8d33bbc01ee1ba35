"""Every workload's own rollout, were its template changed now; GPUs by model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.capacity.gpu_lines import GpuModelLine, gpu_lines
from planner.ground.budget import LIST_UNITS, allowed
from planner.ground.settings import settings_within
from planner.ground.sheet import Column, Figure, Listing
from planner.ground.words import NO_WORDS, Text, listing, some
from planner.inventory.account import get_command, missing, told, without_workloads
from planner.kubernetes.kinds import NODE, POD, ROLLING, several
from planner.kubernetes.nodes import Sharing
from planner.kubernetes.owners import Unjudged, unjudged
from planner.kubernetes.records import EMPTY, FrozenMap, Severity, Snapshot, Workload
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.units import GPUS, Nouns, units_of
from planner.kubernetes.versions import not_recorded
from planner.questions.filters import ALL, Filter, Kept, keep
from planner.questions.question import EXIT, NOTHING, Fact, Given, Question, fact, unit_of
from planner.rollout.answers import Reason, Verdict
from planner.rollout.glance import Answer, Answers, nodes_with_pods, restarted, unjudged_words
from planner.rollout.ownership import pods_of
from planner.rollout.prepared import compiled
from planner.rollout.wording import words
from planner.scheduling.cluster import Cluster
from planner.scheduling.said_of_nodes import gpu_models, node_pools


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewSettings:
    """Which workloads are listed; each as it is."""

    filter: Filter = settings_within(Filter)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOverview:
    """A workload's own rollout if its template changed now, as one line of the Overview."""

    workload: str
    verdict: Verdict
    reason: Reason
    sentence: str
    replicas: int | None  # of one on every node its pods tell; None where they weren't seen
    ready: int | None
    gpus: int | None  # asked for by all its replicas
    nouns: Nouns = GPUS  # what `gpus` are a number of
    gpu_model: str
    node_pools: tuple[str, ...]
    lowest_ready: int | None = 0  # at the worst moment of its rollout
    headline: Text = NO_WORDS  # a dozen words, without the verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOverview:
    sentence: str
    workloads: tuple[WorkloadOverview, ...]
    gpus: tuple[GpuModelLine, ...]
    node_count: int | None  # None, as the pods, where they weren't seen
    pod_count: int | None
    pending_pods: int | None
    taken_at: float
    source: str
    digest: str
    unjudged: tuple[Unjudged, ...] = ()  # whose rollout isn't played: the whole cluster's
    hidden: int = 0  # workloads that the filter leaves out; GPUs, nodes and pods are the whole cluster's


def overview(snapshot: Snapshot) -> ClusterOverview:
    """Every workload's own rollout, were its template changed now; GPUs by model. Played once a snapshot (`played`)."""
    return snapshot.derived.once(played, snapshot)


@allowed(units=LIST_UNITS)
def played(snapshot: Snapshot) -> ClusterOverview:
    """`overview`, played anew."""
    cluster = compiled(snapshot)
    answers = Answers(cluster)
    lines = tuple(
        _overview_line(cluster, workload, answers.of(restarted(workload)))
        for workload in snapshot.workloads
        if workload.traits.rolls_out
    )
    return ClusterOverview(
        sentence=_sentence(snapshot, lines),
        workloads=lines,
        gpus=gpu_lines(cluster),
        node_count=snapshot.if_known(cluster.node_count, NODE.name),
        pod_count=snapshot.if_known(sum(len(g.nodes) for g in cluster.groups), POD.name, NODE.name),
        pending_pods=snapshot.if_known(len(cluster.waiting), POD.name),
        taken_at=snapshot.taken_at,
        source=snapshot.source,
        digest=snapshot.digest,
        unjudged=unjudged(snapshot),
    )


def _sentence(snapshot: Snapshot, lines: Sequence[WorkloadOverview], kept: Kept = ALL, hidden: int = 0) -> str:
    """How many workloads could be rolled out, and whose rollouts aren't judged."""
    beside = unjudged_words(unjudged(snapshot))
    said = (
        _judged_sentence(snapshot, lines, kept, hidden),
        *(f"{one}." for one in (beside, not_recorded(snapshot)) if one),
    )
    return " ".join(said)


def _judged_sentence(snapshot: Snapshot, lines: Sequence[WorkloadOverview], kept: Kept = ALL, hidden: int = 0) -> str:
    """``9 of 11 workloads could not be rolled out now.``; what isn't known is neither good nor bad, and says what lacks."""
    stuck, known = (sum(line.verdict is one for line in lines) for one in (Verdict.STUCK, Verdict.COMPLETES))
    unknown = len(lines) - stuck - known
    refused = [one for one in QUESTION.lacks(snapshot) if one.state.hides]
    if refused:
        why = told(refused)
        return (
            f"Not known of all workloads: {why}. Of those seen, {stuck:,} could not be rolled out now, {known:,} could."
        )
    if not lines:
        return without_workloads(snapshot) if kept.is_all else f"No workload {kept.said}; {hidden:,} hidden."
    which, rest = ("", ".") if kept.is_all else (f" {kept.said}", f"; {hidden:,} hidden.")
    if unknown:
        lacking = [kind for kind, (severity, _) in missing(snapshot).items() if severity is not Severity.INFO]
        why = f": no {listing([several(kind) for kind in lacking], most=len(lacking))}" if lacking else ""
        adds = f" To add them: {get_command(lacking)}" if lacking else ""
        no = f"{stuck:,} could not be rolled out now, " if stuck else ""
        only = "" if kept.is_all else f" Only workloads{which}{rest}"
        return f"{no}{known:,} known to complete, {unknown:,} not known{why}.{only}{adds}"
    if stuck:
        return f"{stuck:,} of {len(lines):,} workloads{which} could not be rolled out now{rest}"
    if len(lines) > 1:
        return f"All {len(lines):,} workloads{which} could be rolled out now{rest}"
    return f"The one workload{which} could be rolled out now{rest}"


def _overview_line(cluster: Cluster, workload: Workload, answer: Answer) -> WorkloadOverview:
    pods = [cluster.snapshot.pods[i] for i in pods_of(cluster, workload)]
    nodes = nodes_with_pods(cluster, workload)
    gpus = requested_gpus(workload.template.spec)
    known = cluster.snapshot.if_known
    replicas = known(len(nodes), POD.name, NODE.name) if workload.traits.is_per_node else workload.replicas
    return WorkloadOverview(
        workload=workload.key,
        verdict=answer.verdict,
        reason=answer.reason,
        sentence=str(answer.sentence),
        replicas=replicas,
        ready=known(sum(p.is_ready and p.deleted_at is None for p in pods), POD.name),
        gpus=None if replicas is None else gpus * replicas,
        nouns=units_of(cluster.snapshot).nouns(pod_requests(workload.template.spec)),
        gpu_model=", ".join(sorted({gpu_models(cluster)[n] for n in nodes} - {""})) if gpus else "",
        node_pools=tuple(sorted({node_pools(cluster)[n] for n in nodes} - {""})),
        lowest_ready=known(answer.lowest_ready, POD.name, NODE.name),
        headline=answer.headline,
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
_TROUBLE: Final = {Verdict.STUCK: 0, Verdict.NEEDS_GROWTH: 1, Verdict.UNKNOWN: 2, Verdict.COMPLETES: 3}


def by_trouble(lines: Iterable[WorkloadOverview]) -> list[WorkloadOverview]:
    """Workloads that can't be rolled out now first; among equals those that run, and those with most GPUs at stake."""
    return sorted(
        lines,
        key=lambda line: (
            _TROUBLE[line.verdict], not line.ready, -(line.gpus or 0), -(line.replicas or 0), line.workload
        ),
    )  # fmt: skip


def by_cause(lines: Iterable[WorkloadOverview]) -> list[tuple[WorkloadOverview, ...]]:
    """Workloads that can't be rolled out now, each with those of which the same is said: what differs is their own names."""
    causes: dict[Hashable, list[WorkloadOverview]] = {}
    for line in by_trouble(lines):
        if line.verdict is not Verdict.COMPLETES:
            own = "|".join(re.escape(name) for name in line.workload.split("/")[1:])
            said = re.sub(rf"(?<![\w.-])({own})(?![\w-])", "", str(line.headline))
            causes.setdefault((line.verdict, line.reason, said), []).append(line)
    return [tuple(cause) for cause in causes.values()]


def answer(snapshot: Snapshot, settings: OverviewSettings, _given: Given = NOTHING) -> ClusterOverview:
    """`overview`, of the workloads that the filter lets through."""
    whole = overview(snapshot)
    return narrowed(snapshot, whole, keep(snapshot, settings.filter, verdicts_of(whole)))


def verdicts_of(whole: ClusterOverview) -> FrozenMap[Verdict]:
    """How each workload's own rollout would go."""
    return FrozenMap({line.workload: line.verdict for line in whole.workloads})


def kept_by(snapshot: Snapshot, wanted: Filter) -> Kept:
    """What a filter lets through; workloads are played only where it asks for their verdicts."""
    return keep(snapshot, wanted, verdicts_of(overview(snapshot)) if wanted.verdicts else EMPTY)


def narrowed(snapshot: Snapshot, whole: ClusterOverview, kept: Kept) -> ClusterOverview:
    """The workloads that are let through; the sentence says how many aren't."""
    if kept.is_all:
        return whole
    lines = tuple(line for line in whole.workloads if kept.workload(line.workload))
    hidden = len(whole.workloads) - len(lines)
    return replace(whole, workloads=lines, hidden=hidden, sentence=_sentence(snapshot, lines, kept, hidden))


def facts(answer: ClusterOverview) -> Iterator[Fact]:
    """Workloads by verdict, those that aren't judged, GPUs by model."""
    verdicts = Counter(line.verdict for line in answer.workloads)
    for verdict in Verdict:
        yield fact("workloads", verdicts[verdict], "workloads", verdict=verdict)
    for one in answer.unjudged:
        yield fact("workloads_not_judged", len(one.keys), "workloads", kind=one.kind)
        yield fact("gpus_not_judged", one.gpus, one.nouns.many, kind=one.kind)
    for gpu in answer.gpus:
        unit, labels = unit_of(gpu.resource), {"model": gpu.model, "resource": gpu.resource}
        labels |= {} if gpu.sharing is Sharing.WHOLE else {"offered_as": gpu.name}
        for name in ("allocatable", "requested", "free", "out_of_use", "pending"):
            yield fact(f"gpus_{name}", getattr(gpu, name), unit, **labels)


def _ready(line: WorkloadOverview) -> str | None:
    return None if line.ready is None or line.replicas is None else f"{line.ready:,} of {line.replicas:,}"


_WORKLOADS: Final[Listing[ClusterOverview, WorkloadOverview]] = Listing(
    name="workloads",
    items=lambda answer: by_trouble(answer.workloads),
    line=lambda line: f"{line.workload}\t{line.headline}",
    verdict=lambda line: line.verdict,
    columns=(
        Column("workload", label="workload"),
        Column("verdict", heading="its rollout now", words=lambda line: words(line.verdict, line.reason),
            metric="workload_verdict",
        ),
        Column("reason", heading=None, metric="workload_reason"),
        Column("replicas", heading=None, metric="workload_replicas", unit="pods"),
        Column("ready", heading="Ready", words=_ready, metric="workload_ready", unit="pods"),
        Column("gpus", metric="workload_gpus", unit=lambda line: line.nouns.many),
        Column("gpus_are", lambda line: line.nouns.many if line.gpus else "", heading="they are",
            words=lambda line: line.nouns.many if line.gpus and line.nouns != GPUS else "",
        ),
        Column("gpu_model", heading=None),
        Column("node_pools", lambda line: ", ".join(line.node_pools), heading=None),
        Column("sentence", heading=None),
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
        Column("free", words=lambda line: None if line.free is None else f"{line.free:,} of {line.allocatable:,}"),
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
    result=ClusterOverview,
    answer=answer,
    figures=(
        Figure("nodes", lambda answer: answer.node_count, "nodes"),
        Figure("pods", lambda answer: answer.pod_count, "pods"),
        Figure("pods_waiting", lambda answer: answer.pending_pods, "pods"),
    ),
    facts=facts,
    listings=(_WORKLOADS, _GPUS),
    about="""Every workload's own rollout if its template changed now, with everything else as it is; GPUs by model.

    Exits 0 when the question is answered, 4 when nodes or pods are missing from the snapshot or a list that was refused
    leaves a workload unknown; --fail-on stuck exits 2 when a workload could not be rolled out, --fail-on unknown 4.
    """,
    states={verdict.value: status for verdict, status in EXIT.items() if verdict is not Verdict.COMPLETES},
    states_of=lambda answer: {line.verdict.value for line in answer.workloads},
    leaves_open=lambda answer: any(line.verdict is Verdict.UNKNOWN for line in answer.workloads),
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
    is_by_parts=True,
)
