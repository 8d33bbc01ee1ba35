"""Rollout readiness of every workload: would its own rollout finish if its template changed now? GPUs by model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from planner.capacity.display_filter import ALL, Filter, Selection, keep
from planner.capacity.gpu_inventory import GpuModelLine, gpu_lines
from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.summary_with_growth import summary_with_growth
from planner.ground import parallel_parts
from planner.ground.records import Record, replace
from planner.ground.table_formats import alike
from planner.ground.words import NO_WORDS, Text, count, listing, without_own_names
from planner.ground.work_budget import LIST_UNITS, QUESTION_UNITS, allowed, part
from planner.inventory.input_report import get_command, missing, told, unseen, without_workloads
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.accelerator_units import GPUS, Nouns, units_of
from planner.kubernetes.feature_gates import not_recorded
from planner.kubernetes.object_records import EMPTY, FrozenMap, Severity, Snapshot, Workload
from planner.kubernetes.owners import Unjudged, unjudged
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING, several
from planner.rollout.answers import GROWING_REASONS, Verdict, WorkloadOutcome
from planner.rollout.ownership import pods_of
from planner.rollout.prepared_change import compiled
from planner.rollout.rollout_summary import OwnRollout, OwnRollouts, nodes_with_pods, restarted, unjudged_words
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import gpu_models, node_pools

_JUDGED_BY: Final = frozenset(kind.name for kind in (NODE, POD, *ROLLING))
_TROUBLE: Final = {
    Verdict.STUCK: 0,
    Verdict.EVICTIONS_BY_QUEUE: 1,
    Verdict.NEEDS_GROWTH: 2,
    Verdict.UNKNOWN: 3,
    Verdict.COMPLETES: 4,
}


class WorkloadOverview(WorkloadOutcome):
    """A workload's own rollout if its template changed now, as one line of the Overview."""

    replicas: int | None  # of one on every node its pods tell; None where they weren't seen
    ready: int | None
    gpus: int | None  # asked for by all its replicas
    nouns: Nouns = GPUS  # what `gpus` are a number of
    gpu_model: str
    node_pools: tuple[str, ...]
    lowest_ready: int | None = 0  # at the worst moment of its rollout
    headline: Text = NO_WORDS  # a dozen words, without the verdict
    is_growth_automatic: bool = (
        False  # of what needs growth: whether autoscalers bring it, within limits that are known
    )


class ClusterOverview(Record):
    sentence: Text
    workloads: tuple[WorkloadOverview, ...]
    gpus: tuple[GpuModelLine, ...]
    node_count: int | None  # None, as the pods, where they weren't seen
    pod_count: int | None
    pending_pods: int | None
    taken_at: float
    source: str
    digest: str
    unjudged: tuple[Unjudged, ...] = ()  # of the whole cluster: their rollout isn't played
    hidden: int = 0  # workloads that the filter leaves out; GPUs, nodes and pods are the whole cluster's


def overview(snapshot: Snapshot, limits: tuple[PoolLimits, ...] = ()) -> ClusterOverview:
    """Every workload's own rollout, were its template changed now, with the nodes that pools may bring as far as it is given
    so; GPUs by model. Played once a snapshot, and once for what is `limits` of pools."""
    return (
        snapshot.derived.once(_grown, snapshot, limits)
        if growable_pools(snapshot, limits)
        else on_todays_nodes(snapshot)
    )


def on_todays_nodes(snapshot: Snapshot) -> ClusterOverview:
    """The overview if no pool grows."""
    return snapshot.derived.once(simulated_readiness, snapshot)


@allowed(units=LIST_UNITS)
def _grown(snapshot: Snapshot, known: tuple[PoolLimits, ...]) -> ClusterOverview:
    """`on_todays_nodes`, and of what finds no room what it comes to once pools grow, as `rollout` says it; what is too large to
    play beside all others isn't known."""
    today, cluster, pools = on_todays_nodes(snapshot), compiled(snapshot), growable_pools(snapshot, known)
    answers = OwnRollouts(cluster, lambda cluster, revision: summary_with_growth(cluster, revision, pools)[0])
    lacking = [line.verdict is Verdict.STUCK and line.reason in GROWING_REASONS for line in today.workloads]
    rolled = [workload for workload in snapshot.workloads if workload.traits.rolls_out]
    revisions = [restarted(workload) for workload, lacks in zip(rolled, lacking, strict=True) if lacks]
    with part(units=QUESTION_UNITS):
        answers_iter = iter(parallel_parts.each(revisions, answers.of))
    lines = tuple(
        _overview_line(cluster, workload, next(answers_iter)) if lacks else line
        for workload, line, lacks in zip(rolled, today.workloads, lacking, strict=True)
    )
    return replace(today, workloads=lines, sentence=sentence_of(snapshot, lines))


@allowed(units=LIST_UNITS)
def simulated_readiness(snapshot: Snapshot) -> ClusterOverview:
    """`on_todays_nodes`, played anew."""
    cluster = compiled(snapshot)
    answers = OwnRollouts(cluster)
    rolled = [workload for workload in snapshot.workloads if workload.traits.rolls_out]
    rollouts = parallel_parts.each([restarted(workload) for workload in rolled], answers.of)
    lines = tuple(_overview_line(cluster, workload, answer) for workload, answer in zip(rolled, rollouts, strict=True))
    return ClusterOverview(
        sentence=sentence_of(snapshot, lines),
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


def sentence_of(
    snapshot: Snapshot, lines: Sequence[WorkloadOverview], selection: Selection = ALL, hidden: int = 0
) -> Text:
    """How many workloads could be rolled out, and for how many that isn't judged."""
    unjudged_text = unjudged_words(unjudged(snapshot))
    sentences = (
        _judged_sentence(snapshot, lines, selection, hidden),
        *(f"{note}." for note in (unjudged_text, not_recorded(snapshot)) if note),
    )
    return Text(" ".join(sentences))


def _judged_sentence(
    snapshot: Snapshot, lines: Sequence[WorkloadOverview], selection: Selection = ALL, hidden: int = 0
) -> str:
    """``9 of 11 workloads would get stuck if changed now.``; what isn't known is neither good nor bad, and says what lacks."""
    counted = Counter(line.verdict for line in lines)
    stuck, completing, unknown = (counted[verdict] for verdict in (Verdict.STUCK, Verdict.COMPLETES, Verdict.UNKNOWN))
    grows = counted[Verdict.NEEDS_GROWTH]
    grow = f", {grows:,} would complete once node pools grow" if grows else ""
    refused = [kind_gap for kind_gap in unseen(snapshot) if kind_gap.state.hides and kind_gap.kind in _JUDGED_BY]
    # A list that was refused may hide whole workloads: no sentence that begins with All would be true.
    if refused:
        why = told(refused)
        return f"Not known of all workloads: {why}. Of those seen, {stuck:,} would get stuck if changed now{grow}, {completing:,} would complete."
    if not lines:
        return without_workloads(snapshot) if selection.is_all else f"No workload {selection.said}; {hidden:,} hidden."
    which, hidden_text = ("", ".") if selection.is_all else (f" {selection.said}", f"; {hidden:,} hidden.")
    if unknown:
        lacking = [kind for kind, (severity, _) in missing(snapshot).items() if severity is not Severity.INFO]
        why = f": no {listing([several(kind) for kind in lacking], most=len(lacking))}" if lacking else ""
        adds = f" To add them: {get_command(lacking)}" if lacking else ""
        no = f"{stuck:,} would get stuck if changed now{grow}, " if stuck or grow else ""
        only = "" if selection.is_all else f" Only workloads{which}{hidden_text}"
        return f"{no}{completing:,} known to complete, {unknown:,} not known{why}.{only}{adds}"
    if stuck:
        return f"{stuck:,} of {count(len(lines), 'workload')}{which} would get stuck if changed now{grow}{hidden_text}"
    if grows:
        return f"{grows:,} of {count(len(lines), 'workload')}{which} can roll out once node pools grow{hidden_text}"
    if len(lines) > 1:
        return f"All {len(lines):,} workloads{which} can roll out now{hidden_text}"
    return f"The one workload{which} can roll out now{hidden_text}"


def _overview_line(cluster: Cluster, workload: Workload, answer: OwnRollout) -> WorkloadOverview:
    pods = [cluster.snapshot.pods[i] for i in pods_of(cluster, workload)]
    nodes = nodes_with_pods(cluster, workload)
    gpus = requested_gpus(workload.template.spec)
    if_known, models, named = cluster.snapshot.if_known, gpu_models(cluster), node_pools(cluster)
    # A DaemonSet says no number of replicas: it has as many as nodes with its pods.
    replicas = if_known(len(nodes), POD.name, NODE.name) if workload.traits.is_per_node else workload.replicas
    return WorkloadOverview(
        workload=workload.key,
        verdict=answer.verdict,
        reason=answer.reason,
        sentence=answer.sentence,
        replicas=replicas,
        ready=if_known(sum(p.is_ready and p.deleted_at is None for p in pods), POD.name),
        gpus=None if replicas is None else gpus * replicas,
        nouns=units_of(cluster.snapshot).nouns(pod_requests(workload.template.spec)),
        gpu_model=", ".join(sorted({models[n] for n in nodes} - {""})) if gpus else "",
        node_pools=tuple(sorted({named[n] for n in nodes} - {""})),
        lowest_ready=if_known(answer.lowest_ready, POD.name, NODE.name),
        headline=answer.headline,
        is_growth_automatic=answer.is_growth_automatic,
    )


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

    def cause(line: WorkloadOverview) -> Hashable:
        return line.verdict, line.reason, without_own_names(line.workload, str(line.headline))

    return alike((line for line in by_trouble(lines) if line.verdict is not Verdict.COMPLETES), cause)


def verdicts_of(whole: ClusterOverview) -> FrozenMap[Verdict]:
    """How each workload's own rollout would go."""
    return FrozenMap({line.workload: line.verdict for line in whole.workloads})


def filtered(snapshot: Snapshot, query: Filter, limits: tuple[PoolLimits, ...] = ()) -> Selection:
    """What a filter lets through; workloads are played only where it asks for their verdicts."""
    return keep(snapshot, query, verdicts_of(overview(snapshot, limits)) if query.verdicts else EMPTY)
