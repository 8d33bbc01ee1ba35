"""Several clusters as one: GPUs by model over all of them, what is stuck where, and the same workload in several."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.capacity.gpu_lines import GpuModelLine, known_sum
from planner.ground.exit_status import ExitStatus
from planner.ground.tables import Row
from planner.ground.words import Text, count, listing, usd
from planner.kubernetes.kinds import NODE, POD, ROLLING
from planner.kubernetes.nodes import Sharing
from planner.kubernetes.records import Snapshot
from planner.kubernetes.units import GPUS, Nouns
from planner.pricing.bill import USD_A_MONTH, cost_cluster
from planner.pricing.model import PriceBook
from planner.questions.overview import ClusterOverview, overview
from planner.questions.question import EXIT, NOTHING, Fact, Given, Question, fact, unit_of
from planner.rollout.answers import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """Nothing is asked: every cluster that is given, as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCluster:
    """One cluster as a line. `usd_per_month` is None without a price for any of its nodes; what hangs on nodes or pods that
    weren't seen is None too."""

    cluster: str
    taken_at: float
    nodes: int | None
    pods: int | None
    waiting: int | None
    workloads: int | None
    stuck: int
    unknown: int
    usd_per_month: float | None
    nodes_without_price: int | None
    gpus: tuple[GpuModelLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetModel:
    """GPUs of one model and resource over all clusters that have or want some; None where one of them doesn't tell."""

    gpu_model: str
    resource: str
    clusters: tuple[str, ...]
    allocatable: int
    requested: int | None
    free: int | None
    pending: int | None
    out_of_use: int | None  # nobody holds them, on nodes that take no new pods
    most_free: str  # the cluster with most of the free ones; "" where none is free
    sharing: Sharing = Sharing.WHOLE
    profile: str = ""
    labels: tuple[str, ...] = ()  # what the clusters' own labels call the model, where that is another word
    name: str = ""  # with what the numbers are of: ``T4``, ``T4, time slices``


@dataclass(frozen=True, slots=True, kw_only=True)
class InCluster:
    """A workload in one of the clusters that have it."""

    cluster: str
    replicas: int | None
    ready: int | None
    verdict: Verdict
    images: tuple[str, ...]
    gpus: int | None
    nouns: Nouns = GPUS  # what `gpus` are a number of


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetWorkload:
    """A workload that several clusters have under one key; `differs`: what isn't the same everywhere."""

    workload: str
    where: tuple[InCluster, ...]
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAnswer:
    """`usd_per_month` adds the clusters that have a price; None where none has."""

    sentence: Text
    clusters: tuple[FleetCluster, ...]
    models: tuple[FleetModel, ...]
    workloads: tuple[FleetWorkload, ...]
    usd_per_month: float | None


def cluster_names(snapshots: Sequence[Snapshot]) -> tuple[str, ...]:
    """A name for each that no other has: its source, and its number where that comes again."""
    names: list[str] = []
    for snapshot in snapshots:
        name, number = snapshot.source, 1
        while name in names:
            number += 1
            name = f"{snapshot.source} ({number})"
        names.append(name)
    return tuple(names)


def answer(snapshot: Snapshot, _settings: FleetSettings, given: Given = NOTHING) -> FleetAnswer:
    """`snapshot` and ``given.others`` side by side; money where a price book is given."""
    snapshots = (snapshot, *given.others)
    clusters, found = [], defaultdict(list)
    for name, one in zip(cluster_names(snapshots), snapshots, strict=True):
        seen = overview(one)
        clusters.append(_cluster(name, one, seen, given.book))
        specs = {workload.key: workload.template.spec for workload in one.workloads}
        for line in seen.workloads:
            images = tuple(container.image for container in specs[line.workload].containers)
            found[line.workload].append(
                InCluster(
                    cluster=name, replicas=line.replicas, ready=line.ready, verdict=line.verdict, images=images, gpus=line.gpus,
                    nouns=line.nouns,
                )
            )  # fmt: skip
    models = tuple(_models(clusters))
    workloads = tuple(_workload(key, where) for key, where in sorted(found.items()) if len(where) > 1)
    known = [one.usd_per_month for one in clusters if one.usd_per_month is not None]
    total = sum(known) if known else None
    return FleetAnswer(
        sentence=QUESTION.of_those_seen(snapshots, _sentence(clusters, models, total)),
        clusters=tuple(clusters),
        models=models,
        workloads=workloads,
        usd_per_month=total,
    )


def _cluster(name: str, snapshot: Snapshot, seen: ClusterOverview, book: PriceBook | None) -> FleetCluster:
    verdicts = Counter(line.verdict for line in seen.workloads)
    cost = cost_cluster(book, snapshot) if book is not None and seen.node_count is not None else None
    return FleetCluster(
        cluster=name,
        taken_at=snapshot.taken_at,
        nodes=seen.node_count,
        pods=seen.pod_count,
        waiting=seen.pending_pods,
        workloads=len(seen.workloads) or snapshot.if_known(0, *(kind.name for kind in ROLLING)),
        stuck=verdicts[Verdict.STUCK],
        unknown=verdicts[Verdict.UNKNOWN],
        usd_per_month=cost.usd_per_month if cost else None,
        nodes_without_price=sum(len(group.nodes) for group in cost.unpriced) if cost else seen.node_count,
        gpus=seen.gpus,
    )


def _models(clusters: Sequence[FleetCluster]) -> Iterator[FleetModel]:
    by: dict[tuple[str, str, Sharing, str], list[tuple[str, GpuModelLine]]] = defaultdict(list)
    for cluster in clusters:
        for line in cluster.gpus:
            by[line.model, line.resource, line.sharing, line.profile].append((cluster.cluster, line))
    for (model, resource, how, profile), lines in sorted(by.items()):
        name, most = max(((name, line.free or 0) for name, line in lines), key=lambda one: one[1])
        yield FleetModel(
            gpu_model=model,
            resource=resource,
            clusters=tuple(name for name, _ in lines),
            allocatable=sum(line.allocatable for _, line in lines),
            requested=known_sum(line.requested for _, line in lines),
            free=known_sum(line.free for _, line in lines),
            pending=known_sum(line.pending for _, line in lines),
            out_of_use=known_sum(line.out_of_use for _, line in lines),
            most_free=name if most else "",
            sharing=how,
            profile=profile,
            labels=tuple(sorted({label for _, line in lines for label in line.labels})),
            name=lines[0][1].name,
        )


def _workload(key: str, where: Sequence[InCluster]) -> FleetWorkload:
    seen: dict[str, set[object]] = {
        "replicas": {one.replicas for one in where},
        "images": {one.images for one in where},
        "GPUs": {(one.gpus, one.gpus and one.nouns) for one in where},
        "verdict": {one.verdict for one in where},
    }
    return FleetWorkload(
        workload=key, where=tuple(where), differs=tuple(name for name, values in seen.items() if len(values) > 1)
    )


def _sentence(clusters: Sequence[FleetCluster], models: Sequence[FleetModel], total: float | None) -> Text:
    stuck, unknown = (sum(getattr(one, name) for one in clusters) for name in ("stuck", "unknown"))
    every = sum(one.workloads or 0 for one in clusters)
    gpus = [
        f"{one.free:,} of {one.allocatable:,} {one.name}" for one in models if one.allocatable and one.free is not None
    ]
    of_unseen = [f"{one.allocatable:,} {one.name}" for one in models if one.allocatable and one.free is None]
    free = f"; free: {listing(gpus, most=5)}" if gpus else ""
    free += f"; how many are free of {listing(of_unseen, most=5)} is not known" if of_unseen else ""
    untold = f", of {unknown:,} it is not known" if unknown else ""
    unpriced = sum(one.usd_per_month is None for one in clusters)
    cost = (
        ""
        if total is None
        else f"; {usd(total)} a month at list price"
        + (f" without {count(unpriced, 'cluster')} of no known price" if unpriced else "")
    )
    return Text(
        f"{count(len(clusters), 'cluster')}: {stuck:,} of {every:,} workloads could not be rolled out now{untold}{free}{cost}."
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(answer: FleetAnswer) -> Iterator[Fact]:
    """Each cluster, each model over all, and the workloads that several clusters have."""
    yield fact("clusters", len(answer.clusters), "clusters")
    yield fact("cost", answer.usd_per_month, USD_A_MONTH)
    for one in answer.clusters:
        yield fact("nodes", one.nodes, "nodes", cluster=one.cluster)
        yield fact("pods_waiting", one.waiting, "pods", cluster=one.cluster)
        yield fact("workloads_stuck", one.stuck, "workloads", cluster=one.cluster)
        yield fact("cluster_cost", one.usd_per_month, USD_A_MONTH, cluster=one.cluster)
    for model in answer.models:
        labels = {"model": model.gpu_model, "resource": model.resource}
        labels |= {} if model.sharing is Sharing.WHOLE else {"offered_as": model.name}
        for name in ("allocatable", "requested", "free", "out_of_use", "pending"):
            unit = unit_of(model.resource)
            yield fact(f"gpus_{name}", getattr(model, name), unit, **labels)
    for workload in answer.workloads:
        yield fact("in_clusters", len(workload.where), "clusters", workload=workload.workload)


def cluster_rows(answer: FleetAnswer) -> list[Row]:
    """One row a cluster."""
    return [
        {
            "cluster": one.cluster,
            "nodes": one.nodes,
            "pods": one.pods,
            "waiting": one.waiting,
            "workloads": one.workloads,
            "stuck": one.stuck,
            "unknown": one.unknown,
            "usd_per_month": None if one.usd_per_month is None else round(one.usd_per_month, 2),
            "nodes_without_price": one.nodes_without_price,
        }
        for one in answer.clusters
    ]


def model_rows(answer: FleetAnswer) -> list[Row]:
    """One row a model and resource over all clusters."""
    return [
        {
            "model": one.name,
            "label": ", ".join(one.labels),
            "clusters": len(one.clusters),
            "allocatable": one.allocatable,
            "held": one.requested,
            "free": one.free,
            "out_of_use": one.out_of_use,
            "waited_for": one.pending,
            "most_free_in": one.most_free or None,
        }
        for one in answer.models
    ]


def workload_rows(answer: FleetAnswer) -> list[Row]:
    """One row a workload that several clusters have, and cluster."""
    return [
        {
            "workload": one.workload,
            "cluster": each.cluster,
            "replicas": each.replicas,
            "ready": each.ready,
            "gpus": each.gpus,
            "gpus_are": each.nouns.many if each.gpus else "",
            "verdict": each.verdict,
            "images": " ".join(each.images),
            "differs": ", ".join(one.differs),
        }
        for one in answer.workloads
        for each in one.where
    ]


QUESTION: Final = Question(
    name="fleet",
    settings=FleetSettings,
    result=FleetAnswer,
    answer=answer,
    facts=facts,
    tables={"clusters": cluster_rows, "models": model_rows, "workloads": workload_rows},
    states={Verdict.STUCK.value: ExitStatus.REFUSED, Verdict.UNKNOWN.value: EXIT[Verdict.UNKNOWN]},
    states_of=lambda answer: {
        name for one in answer.clusters for name, some in (("stuck", one.stuck), ("unknown", one.unknown)) if some
    },
    leaves_open=lambda answer: any(one.unknown for one in answer.clusters),
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
    is_by_parts=True,
)
