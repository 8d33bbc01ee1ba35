"""The question *fleet*: several clusters as one: GPUs by model, stuck rollouts, workloads in several clusters."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from planner.capacity.fleet import (
    FleetCluster,
    FleetModel,
    FleetWorkload,
    InCluster,
    cluster_names,
    models_of,
    workload_of,
)
from planner.capacity.rollout_readiness import ClusterOverview, overview
from planner.ground.answer_layout import USD_A_MONTH, Column, Figure, Listing
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.words import Text, count, listing, usd
from planner.kubernetes.node_properties import Sharing
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.pricing.price_book import PriceBook
from planner.pricing.projected_bill import cost_cluster
from planner.questions.question import EXIT, NOTHING, Inputs, Question, Want, unit_of
from planner.rollout.answers import Verdict


class FleetSettings(Record):
    """Nothing is asked: every cluster that is given, as it is."""


class FleetAnswer(Record):
    """`usd_per_month` adds the clusters that have a price; None where none has."""

    sentence: Text
    clusters: tuple[FleetCluster, ...]
    models: tuple[FleetModel, ...]
    workloads: tuple[FleetWorkload, ...]
    usd_per_month: float | None


def answer(snapshot: Snapshot, _settings: FleetSettings, inputs: Inputs = NOTHING) -> FleetAnswer:
    """`snapshot` and ``inputs.others`` side by side; money where a price book is given."""
    snapshots = (snapshot, *inputs.others)
    clusters, models_by_name = [], defaultdict(list)
    for name, cluster_snapshot in zip(cluster_names(snapshots), snapshots, strict=True):
        cluster_overview = overview(cluster_snapshot)
        clusters.append(_cluster(name, cluster_snapshot, cluster_overview, inputs.book))
        specs = {workload.key: workload.template.spec for workload in cluster_snapshot.workloads}
        for line in cluster_overview.workloads:
            images = tuple(container.image for container in specs[line.workload].containers)
            models_by_name[line.workload].append(
                InCluster(
                    cluster=name, replicas=line.replicas, ready=line.ready, verdict=line.verdict, images=images, gpus=line.gpus,
                    nouns=line.nouns,
                )
            )  # fmt: skip
    models = tuple(models_of(clusters))
    workloads = tuple(workload_of(key, where) for key, where in sorted(models_by_name.items()) if len(where) > 1)
    known_costs = [cluster.usd_per_month for cluster in clusters if cluster.usd_per_month is not None]
    total = sum(known_costs) if known_costs else None
    return FleetAnswer(
        sentence=QUESTION.of_those_seen(snapshots, _sentence(clusters, models, total)),
        clusters=tuple(clusters),
        models=models,
        workloads=workloads,
        usd_per_month=total,
    )


def _cluster(name: str, snapshot: Snapshot, cluster_overview: ClusterOverview, book: PriceBook | None) -> FleetCluster:
    verdicts = Counter(line.verdict for line in cluster_overview.workloads)
    cost = cost_cluster(book, snapshot) if book is not None and cluster_overview.node_count is not None else None
    return FleetCluster(
        cluster=name,
        taken_at=snapshot.taken_at,
        nodes=cluster_overview.node_count,
        pods=cluster_overview.pod_count,
        waiting=cluster_overview.pending_pods,
        workloads=len(cluster_overview.workloads) or snapshot.if_known(0, *(kind.name for kind in ROLLING)),
        stuck=verdicts[Verdict.STUCK],
        unknown=verdicts[Verdict.UNKNOWN],
        usd_per_month=cost.usd_per_month if cost else None,
        nodes_without_price=sum(len(group.nodes) for group in cost.unpriced) if cost else cluster_overview.node_count,
        gpus=cluster_overview.gpus,
    )


def _sentence(clusters: Sequence[FleetCluster], models: Sequence[FleetModel], total: float | None) -> Text:
    stuck, unknown = (sum(getattr(cluster, name) for cluster in clusters) for name in ("stuck", "unknown"))
    every = sum(cluster.workloads or 0 for cluster in clusters)
    gpus = [
        f"{one.free:,} of {one.allocatable:,} {one.name}" for one in models if one.allocatable and one.free is not None
    ]
    of_unseen = [f"{model.allocatable:,} {model.name}" for model in models if model.allocatable and model.free is None]
    free = f"; free: {listing(gpus, most=5)}" if gpus else ""
    free += f"; how many are free of {listing(of_unseen, most=5)} is not known" if of_unseen else ""
    untold = f", of {unknown:,} it is not known" if unknown else ""
    unpriced = sum(cluster.usd_per_month is None for cluster in clusters)
    bare = sum(cluster.nodes_without_price or 0 for cluster in clusters if cluster.usd_per_month is not None)
    cost = "" if total is None else f"; {usd(total)} a month"
    cost += f" without {count(unpriced, 'cluster')} of unknown price" if cost and unpriced else ""
    cost += f" and {count(bare, 'node')} without a price" if cost and bare else ""
    return Text(
        f"{count(len(clusters), 'cluster')}: {stuck:,} of {every:,} workloads would get stuck if changed now{untold}{free}{cost}."
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
Shared = tuple[FleetWorkload, InCluster]


def _shared(answer: FleetAnswer) -> list[Shared]:
    """A workload that several clusters have, and each of those; what is stuck somewhere first, then what differs."""

    def place(workload: FleetWorkload) -> tuple[bool, bool]:
        return all(each.verdict is not Verdict.STUCK for each in workload.where), not workload.differs

    return [(workload, each) for workload in sorted(answer.workloads, key=place) for each in workload.where]


def _amount(name: str, of: str, heading: str = "") -> Column[FleetModel]:
    return Column(
        name, lambda gpu: getattr(gpu, of), heading=heading, metric=f"gpus_{of}", unit=lambda gpu: unit_of(gpu.resource)
    )


_CLUSTERS: Final[Listing[FleetAnswer, FleetCluster]] = Listing(
    name="clusters",
    title="clusters",
    columns=(
        Column("cluster", label="cluster"),
        Column("nodes", metric="nodes", unit="nodes"),
        Column("pods"),
        Column("waiting", metric="pods_waiting", unit="pods"),
        Column("workloads"),
        Column("stuck", metric="workloads_stuck", unit="workloads"),
        Column("unknown", heading="not known"),
        Column("usd_per_month", heading="$/month", metric="cluster_cost_with_sustained_use", unit=USD_A_MONTH),
        Column("nodes_without_price", heading="without a price"),
    ),
)
_MODELS: Final[Listing[FleetAnswer, FleetModel]] = Listing(
    name="models",
    title="GPUs by model",
    empty="No GPUs in these clusters.",
    columns=(
        Column("model", lambda model: model.name),
        Column("label", lambda model: ", ".join(model.labels)),
        Column("clusters", lambda model: len(model.clusters)),
        _amount("allocatable", "allocatable", "in all"),
        _amount("held", "requested"),
        _amount("free", "free"),
        _amount("out_of_use", "out_of_use"),
        _amount("waited_for", "pending", "wanted"),
        Column("most_free_in", lambda model: model.most_free or None, words=lambda model: model.most_free),
        Column("", lambda model: model.gpu_model, label="model"),
        Column("", lambda model: model.resource, label="resource"),
        Column("", lambda model: None if model.sharing is Sharing.WHOLE else model.name, label="offered_as"),
    ),
)  # fmt: skip
_WORKLOADS: Final[Listing[FleetAnswer, Shared]] = Listing(
    name="workloads",
    title="workloads that several clusters have",
    items=_shared,
    most=40,
    columns=(
        Column("workload", lambda of: of[0].workload),
        Column("cluster", lambda of: of[1].cluster),
        Column("replicas", lambda of: of[1].replicas),
        Column("ready", lambda of: of[1].ready, heading="Ready"),
        Column("gpus", lambda of: of[1].gpus, heading=None),
        Column("gpus_are", lambda of: of[1].nouns.many if of[1].gpus else "", heading=None),
        Column("verdict", lambda of: of[1].verdict),
        Column("images", lambda of: " ".join(of[1].images), heading=None),
        Column("differs", lambda of: ", ".join(of[0].differs), heading="what differs"),
    ),
)

_IN_SEVERAL: Final[Listing[FleetAnswer, FleetWorkload]] = Listing(
    name="in_several",
    items=lambda answer: answer.workloads,
    is_shown=False,
    columns=(
        Column("workload", label="workload"),
        Column("in_clusters", lambda workload: len(workload.where), metric="in_clusters", unit="clusters"),
    ),
)

QUESTION: Final = Question(
    name="fleet",
    settings=FleetSettings,
    answer=answer,
    figures=(
        Figure("clusters", lambda answer: len(answer.clusters), "clusters"),
        Figure("cost_with_sustained_use", lambda answer: answer.usd_per_month, USD_A_MONTH),
    ),
    listings=(_CLUSTERS, _MODELS, _WORKLOADS, _IN_SEVERAL),
    about="""Several clusters side by side: GPUs by model over all of them, what is stuck where, what each costs, and workloads
    that several have.

    store:URL without a cluster is the latest snapshot of each of its clusters.
    """,
    wants=(Want.OTHERS, Want.PRICES),
    states={Verdict.STUCK.value: ExitStatus.REFUSED, Verdict.UNKNOWN.value: EXIT[Verdict.UNKNOWN]},
    states_of=lambda answer: {
        name for one in answer.clusters for name, number in (("stuck", one.stuck), ("unknown", one.unknown)) if number
    },
    leaves_open=lambda answer: any(cluster.unknown for cluster in answer.clusters),
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
    is_by_parts=True,
)
