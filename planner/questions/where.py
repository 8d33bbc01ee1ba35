"""Where would this fit? A shape or a manifest against several clusters: verdict, room, price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.capacity.headroom import Fit, fit
from planner.capacity.pod_shapes import PodShape, ShapeOrigin, parse_shape
from planner.ground.errors import InputError, NotKnownError
from planner.ground.settings import setting
from planner.ground.tables import Row
from planner.ground.vocabulary import CPU, MEMORY
from planner.ground.words import Text, count, listing, usd
from planner.inventory.account import mend, told
from planner.kubernetes.accelerators import alike
from planner.kubernetes.kinds import NODE, POD
from planner.kubernetes.nodes import gpu_count
from planner.kubernetes.records import EMPTY, Amounts, Snapshot
from planner.pricing.bill import USD_A_MONTH
from planner.pricing.cluster import SplitCost, cluster_cost
from planner.questions import rollout
from planner.questions.fleet import cluster_names
from planner.questions.question import EXIT, NOTHING, Fact, Given, Question, fact
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.rollout.answers import Verdict
from planner.rollout.prepared import compiled, manifest_namespace, prepare, unread_files

_RANK: Final = {Verdict.COMPLETES: 0, Verdict.NEEDS_GROWTH: 1, Verdict.UNKNOWN: 2, Verdict.STUCK: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereSettings:
    """What is to be placed: pods of a shape, or what a manifest makes."""

    shape: str = setting(
        "", form="TEXT",
        help="gpu=2,cpu=8,memory=64Gi; also pool=NAME, tolerate=all, priority=CLASS.",
    )  # fmt: skip
    replicas: int = setting(1, least=1, most=100_000, help="Pods of the shape; a manifest has its own.")
    manifest: str = setting("", on_command=False, is_private=True, help="What kubectl apply -f would get.")
    namespace: str = manifest_namespace()
    unread: tuple[str, ...] = unread_files()

    def __post_init__(self) -> None:
        if bool(self.shape) == bool(self.manifest):
            raise InputError("one thing is placed: a shape or a manifest", mend="Give --shape gpu=1 or -f FILE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many more pods of one kind fit now. `usd_per_month`: one pod's part of the cheapest node it fits on, by GPU, CPU
    and memory, before sustained use; None where it fits on none with a price."""

    pods: str
    more: int
    is_at_least: bool
    usd_per_month: float | None
    node_pool: str  # of that node; "" without a price
    is_known: bool = True  # `more`; else it is what the nodes' sums leave room for


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRoom:
    """One cluster's answer; `room` has an entry for each kind of pod."""

    cluster: str
    verdict: Verdict
    sentence: Text
    room: tuple[Room, ...]
    usd_per_month: float | None  # all pods that are asked for; None where one has no price

    @property
    def fits_more(self) -> int:
        """Of the kind that has least room."""
        return min((one.more for one in self.room), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereAnswer:
    """`clusters`: where it fits first, of those the cheapest, of those with most room."""

    sentence: Text
    clusters: tuple[ClusterRoom, ...]


def answer(snapshot: Snapshot, settings: WhereSettings, given: Given = NOTHING) -> WhereAnswer:
    """The thing put to `snapshot` and to each of ``given.others``; ``given.limits`` are of the first."""
    snapshots = (snapshot, *given.others)
    names = cluster_names(snapshots)
    found = [
        _in(name, one, settings, given if not number else Given(book=given.book))
        for number, (name, one) in enumerate(zip(names, snapshots, strict=True))
    ]
    found.sort(
        key=lambda one: (
            _RANK[one.verdict], one.usd_per_month is None, one.usd_per_month or 0.0, -one.fits_more, one.cluster
        )
    )  # fmt: skip
    return WhereAnswer(sentence=_sentence(found), clusters=tuple(found))


def _in(name: str, snapshot: Snapshot, settings: WhereSettings, given: Given) -> ClusterRoom:
    if lacking := QUESTION.lacks(snapshot):
        why = Text(f"not known: {told(lacking)}. {mend(lacking)}")
        return ClusterRoom(cluster=name, verdict=Verdict.UNKNOWN, sentence=why, room=(), usd_per_month=None)
    try:
        if settings.manifest:
            return _manifest(name, snapshot, settings, given)
        return _shape(name, snapshot, settings, given)
    except NotKnownError as error:
        return ClusterRoom(cluster=name, verdict=Verdict.UNKNOWN, sentence=Text(error), room=(), usd_per_month=None)


def _shape(name: str, snapshot: Snapshot, settings: WhereSettings, given: Given) -> ClusterRoom:
    cluster = compiled(snapshot)
    found = fit(cluster, parse_shape(settings.shape, cluster))
    room = _room(snapshot, found, given)
    has_room = room.more >= settings.replicas
    each = room.usd_per_month
    verdict = Verdict.UNKNOWN if found.unknown else Verdict.COMPLETES if has_room else Verdict.STUCK
    has_room = verdict is Verdict.COMPLETES
    said = f"{count(settings.replicas, 'pod')} {'fits' if settings.replicas == 1 else 'fit'}: " if has_room else ""
    return ClusterRoom(
        cluster=name,
        verdict=verdict,
        sentence=Text(f"{said}{found.sentence}"),
        room=(room,),
        usd_per_month=None if each is None else each * settings.replicas,
    )


def _manifest(name: str, snapshot: Snapshot, placed: WhereSettings, given: Given) -> ClusterRoom:
    settings = RolloutSettings(manifest=placed.manifest, namespace=placed.namespace, unread=placed.unread)
    result = rollout.answer(snapshot, settings, given)
    prepared = prepare(snapshot, scenario_of(snapshot, settings))
    cluster = compiled(snapshot)
    rooms, total = [], 0.0
    priced = True
    for revision in prepared.revisions:
        after = revision.after
        is_idle = revision.placed is not None and bool(revision.placed.idle)
        for template, number in revision.templates:
            asked = PodShape(
                name=after.key, origin=ShapeOrigin.TYPED, spec=template.spec, namespace=after.namespace,
                labels=template.labels,
            )  # fmt: skip
            room = _room(snapshot, fit(cluster, asked), given)
            rooms.append(room)
            if is_idle:
                continue  # nothing of it takes room now
            priced = priced and room.usd_per_month is not None
            total += (room.usd_per_month or 0.0) * (number or 1)
    return ClusterRoom(
        cluster=name,
        verdict=result.verdict,
        sentence=result.sentence,
        room=tuple(rooms),
        usd_per_month=total if priced and rooms else None,
    )


def _room(snapshot: Snapshot, found: Fit, given: Given) -> Room:
    more = found.count if found.quota_limit is None else min(found.count, found.quota_limit)
    price, pool = _price(snapshot, found, given)
    return Room(
        pods=found.shape, more=more, is_at_least=found.is_at_least, usd_per_month=price, node_pool=pool,
        is_known=not found.unknown,
    )  # fmt: skip


def _price(snapshot: Snapshot, found: Fit, given: Given) -> tuple[float | None, str]:
    """The cheapest node's, of those on which the pods would be placed; and its pool."""
    if given.book is None:
        return None, ""
    taken = {node for node, _ in found.by_node}
    nodes = {node.name: node for node in snapshot.nodes if node.name in taken}
    costs = [
        (
            _part(one.cost, found.requests, nodes[one.node.node].allocatable, gpu_count(nodes[one.node.node])),
            one.node.node_pool,
        )
        for one in cluster_cost(given.book, nodes.values(), EMPTY).nodes
    ]
    return min(costs, default=(None, ""))


def _part(cost: SplitCost, requests: Amounts, allocatable: Amounts, gpus: int) -> float:
    """USD a month of a pod's share of each part of a node's price."""

    def share(asked: int, there: int) -> float:
        return asked / there if there else 0.0

    return (
        cost.gpu * share(alike(requests), gpus)
        + cost.cpu * share(requests.get(CPU, 0), allocatable.get(CPU, 0))
        + cost.memory * share(requests.get(MEMORY, 0), allocatable.get(MEMORY, 0))
    )


def _sentence(found: Sequence[ClusterRoom]) -> Text:
    good = [one for one in found if one.verdict is Verdict.COMPLETES]
    unknown = sum(one.verdict is Verdict.UNKNOWN for one in found)
    apart = f"; {count(unknown, 'cluster')} not known" if unknown else ""
    if not good:
        return Text(f"It fits in {'none of these clusters' if len(found) > 1 else 'no cluster'}{apart}.")
    said = [
        one.cluster + (f" ({usd(one.usd_per_month)} a month)" if one.usd_per_month is not None else "") for one in good
    ]
    return Text(f"It fits in {len(good)} of {count(len(found), 'cluster')}: {listing(said, most=5)}{apart}.")


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(answer: WhereAnswer) -> Iterator[Fact]:
    """Each cluster's verdict, room and price."""
    for one in answer.clusters:
        yield fact("verdict", one.verdict.value, cluster=one.cluster)
        yield fact("pods_cost", one.usd_per_month, USD_A_MONTH, cluster=one.cluster)
        for room in one.room:
            yield fact("more_pods", room.more if room.is_known else None, "pods", cluster=one.cluster, pods=room.pods)


def cluster_rows(answer: WhereAnswer) -> list[Row]:
    """One row a cluster and kind of pod."""
    return [
        {
            "cluster": one.cluster,
            "verdict": one.verdict,
            "pods": room.pods if room else None,
            "more_fit": None
            if room is None or not room.is_known
            else f"{room.more:,}{'+' if room.is_at_least else ''}",
            "usd_per_month": None if one.usd_per_month is None else round(one.usd_per_month, 2),
            "node_pool": room.node_pool or None if room else None,
            "says": one.sentence,
        }
        for one in answer.clusters
        for room in (one.room or (None,))
    ]


QUESTION: Final = Question(
    name="where",
    version="v2",  # v1 held manifests and patches as they were given
    settings=WhereSettings,
    result=WhereAnswer,
    answer=answer,
    facts=facts,
    tables={"clusters": cluster_rows},
    status=lambda answer: EXIT[answer.clusters[0].verdict],
    hangs_on=(NODE.name, POD.name),
    is_by_parts=True,
)
