"""Several clusters side by side: a line each, GPUs by model over all of them, and workloads that run in several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from planner.capacity.gpu_inventory import GpuModelLine, known_sum
from planner.ground.records import Record
from planner.kubernetes.accelerator_units import GPUS, Nouns
from planner.kubernetes.node_properties import Sharing
from planner.kubernetes.object_records import Snapshot
from planner.rollout.answers import Verdict


class FleetCluster(Record):
    """One cluster as a line. `usd_per_month` is None without a price for any of its nodes; what depends on nodes or pods that
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


class FleetModel(Record):
    """GPUs of one model and resource over all clusters that have or want some; None where one of them doesn't tell."""

    gpu_model: str
    resource: str
    clusters: tuple[str, ...]
    allocatable: int
    requested: int | None
    free: int | None
    pending: int | None
    out_of_use: int | None  # no pod holds them, on nodes that take no new pods
    most_free: str  # the cluster with most of the free ones; "" where none is free
    sharing: Sharing = Sharing.WHOLE
    profile: str = ""
    labels: tuple[str, ...] = ()  # what the clusters' own labels call the model, where that is another word
    name: str = ""  # with what the numbers are of: ``T4``, ``T4, time slices``


class InCluster(Record):
    """A workload in one of the clusters that have it."""

    cluster: str
    replicas: int | None
    ready: int | None
    verdict: Verdict
    images: tuple[str, ...]
    gpus: int | None
    nouns: Nouns = GPUS  # what `gpus` are a number of


class FleetWorkload(Record):
    """A workload that several clusters have under one key; `differs`: what isn't the same everywhere."""

    workload: str
    where: tuple[InCluster, ...]
    differs: tuple[str, ...]


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


def models_of(clusters: Sequence[FleetCluster]) -> Iterator[FleetModel]:
    """GPUs of each model and resource, added up."""
    by: dict[tuple[str, str, Sharing, str], list[tuple[str, GpuModelLine]]] = defaultdict(list)
    for cluster in clusters:
        for line in cluster.gpus:
            by[line.model, line.resource, line.sharing, line.profile].append((cluster.cluster, line))
    for (model, resource, how, profile), lines in sorted(by.items()):
        name, most = max(((name, line.free or 0) for name, line in lines), key=lambda pair: pair[1])
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


def workload_of(key: str, where: Sequence[InCluster]) -> FleetWorkload:
    """The workload `key`, and what of it isn't the same everywhere."""
    variants: dict[str, set[object]] = {
        "replicas": {in_cluster.replicas for in_cluster in where},
        "images": {in_cluster.images for in_cluster in where},
        "GPUs": {(in_cluster.gpus, in_cluster.gpus and in_cluster.nouns) for in_cluster in where},
        "verdict": {in_cluster.verdict for in_cluster in where},
    }
    return FleetWorkload(
        workload=key, where=tuple(where), differs=tuple(name for name, values in variants.items() if len(values) > 1)
    )
