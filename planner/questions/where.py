"""The question *where*: which of several clusters fit a shape or a manifest: verdict, room, price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.capacity.fleet import cluster_names
from planner.capacity.headroom import fit
from planner.capacity.headroom_shapes import PodShape, ShapeOrigin, parse_shape
from planner.capacity.pod_room_and_price import ClusterRoom, Room, room_of
from planner.ground.answer_layout import USD_A_MONTH, Column, Listing
from planner.ground.errors import InputError, NotKnownError
from planner.ground.records import Record, dataclass
from planner.ground.setting_declarations import setting
from planner.ground.words import Text, count, listing, usd
from planner.inventory.input_report import how_to_add, told
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD
from planner.questions import rollout
from planner.questions.question import EXIT, NOTHING, Fact, Inputs, Question, Want, fact
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import compiled, manifest_namespace, prepare, unread_files

_RANK: Final = {
    Verdict.COMPLETES: 0,
    Verdict.NEEDS_GROWTH: 1,
    Verdict.EVICTIONS_BY_QUEUE: 2,
    Verdict.UNKNOWN: 3,
    Verdict.STUCK: 4,
}


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
            raise InputError("one thing is placed: a shape or a manifest", fix="Give --shape gpu=1 or -f FILE")


class WhereAnswer(Record):
    """`clusters`: where it fits first, of those the cheapest, of those with most room."""

    sentence: Text
    clusters: tuple[ClusterRoom, ...]


def answer(snapshot: Snapshot, settings: WhereSettings, inputs: Inputs = NOTHING) -> WhereAnswer:
    """The thing put to `snapshot` and to each of ``inputs.others``; ``inputs.limits`` are of the first."""
    snapshots = (snapshot, *inputs.others)
    names = cluster_names(snapshots)
    rooms = [
        _in(name, member, settings, inputs if not number else Inputs(book=inputs.book))
        for number, (name, member) in enumerate(zip(names, snapshots, strict=True))
    ]
    rooms.sort(
        key=lambda room: (
            _RANK[room.verdict], room.usd_per_month is None, room.usd_per_month or 0.0, -room.fits_more, room.cluster
        )
    )  # fmt: skip
    return WhereAnswer(sentence=_sentence(rooms), clusters=tuple(rooms))


def _in(name: str, snapshot: Snapshot, settings: WhereSettings, inputs: Inputs) -> ClusterRoom:
    if lacking := QUESTION.lacks(snapshot):
        why = Text(f"not known: {told(lacking)}. {how_to_add(lacking)}")
        return ClusterRoom(cluster=name, verdict=Verdict.UNKNOWN, sentence=why, room=(), usd_per_month=None)
    try:
        if settings.manifest:
            return _manifest(name, snapshot, settings, inputs)
        return _shape(name, snapshot, settings, inputs)
    except NotKnownError as error:
        return ClusterRoom(cluster=name, verdict=Verdict.UNKNOWN, sentence=Text(error), room=(), usd_per_month=None)


def _shape(name: str, snapshot: Snapshot, settings: WhereSettings, inputs: Inputs) -> ClusterRoom:
    cluster = compiled(snapshot)
    shape_fit = fit(cluster, parse_shape(settings.shape, cluster))
    room = room_of(snapshot, shape_fit, inputs.book)
    has_room = room.more >= settings.replicas
    each = room.usd_per_month
    verdict = Verdict.UNKNOWN if shape_fit.unknown else Verdict.COMPLETES if has_room else Verdict.STUCK
    has_room = verdict is Verdict.COMPLETES
    room_text = f"{count(settings.replicas, 'pod')} {'fits' if settings.replicas == 1 else 'fit'}: " if has_room else ""
    return ClusterRoom(
        cluster=name,
        verdict=verdict,
        sentence=Text(f"{room_text}{shape_fit.sentence}"),
        room=(room,),
        usd_per_month=None if each is None else each * settings.replicas,
    )


def _manifest(name: str, snapshot: Snapshot, placed: WhereSettings, inputs: Inputs) -> ClusterRoom:
    settings = RolloutSettings(manifest=placed.manifest, namespace=placed.namespace, unread=placed.unread)
    rollout_answer = rollout.answer(snapshot, settings, inputs)
    prepared = prepare(snapshot, scenario_of(snapshot, settings))
    cluster = compiled(snapshot)
    rooms, total = [], 0.0
    priced = True
    for revision in prepared.revisions:
        after = revision.after
        is_idle = revision.placed is not None and bool(revision.placed.idle)
        for template, number in revision.templates:
            pod_shape = PodShape(
                name=after.key, origin=ShapeOrigin.TYPED, spec=template.spec, namespace=after.namespace,
                labels=template.labels,
            )  # fmt: skip
            room = room_of(snapshot, fit(cluster, pod_shape), inputs.book)
            rooms.append(room)
            if is_idle:
                continue  # nothing of it takes room now
            priced = priced and room.usd_per_month is not None
            total += (room.usd_per_month or 0.0) * (number or 1)
    return ClusterRoom(
        cluster=name,
        verdict=rollout_answer.verdict,
        sentence=rollout_answer.sentence,
        room=tuple(rooms),
        usd_per_month=total if priced and rooms else None,
    )


def _sentence(rooms: Sequence[ClusterRoom]) -> Text:
    good = [cluster_room for cluster_room in rooms if cluster_room.verdict is Verdict.COMPLETES]
    unknown = sum(cluster_room.verdict is Verdict.UNKNOWN for cluster_room in rooms)
    apart = f"; {count(unknown, 'cluster')} not known" if unknown else ""
    if not good:
        return Text(f"It fits in {'none of these clusters' if len(rooms) > 1 else 'no cluster'}{apart}.")
    cluster_texts = [
        one.cluster + (f" ({usd(one.usd_per_month)} a month)" if one.usd_per_month is not None else "") for one in good
    ]
    return Text(f"It fits in {len(good)} of {count(len(rooms), 'cluster')}: {listing(cluster_texts, most=5)}{apart}.")


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(answer: WhereAnswer) -> Iterator[Fact]:
    """Each cluster's verdict, room and price."""
    for one in answer.clusters:
        yield fact("verdict", one.verdict.value, cluster=one.cluster)
        yield fact("pods_cost", one.usd_per_month, USD_A_MONTH, cluster=one.cluster)
        for room in one.room:
            yield fact("more_pods", room.more if room.is_known else None, "pods", cluster=one.cluster, pods=room.pods)


_CLUSTERS: Final[Listing[WhereAnswer, tuple[ClusterRoom, Room | None]]] = Listing(
    name="clusters",
    items=lambda answer: [(cluster, room) for cluster in answer.clusters for room in cluster.room or (None,)],
    columns=(
        Column("cluster", lambda of: of[0].cluster),
        Column("verdict", lambda of: of[0].verdict),
        Column("pods", lambda of: of[1].pods if of[1] else None),
        Column("more_fit", lambda of: of[1].more if of[1] and of[1].is_known else None,
            words=lambda of: f"{of[1].more:,}{'+' if of[1].is_at_least else ''}" if of[1] and of[1].is_known else None,
        ),
        Column("at_least", lambda of: of[1].is_at_least if of[1] else None, heading=None),
        Column("usd_per_month", lambda of: of[0].usd_per_month, heading="$/month"),
        Column("node_pool", lambda of: of[1].node_pool or None if of[1] else None, heading="pool"),
        Column("says", lambda of: of[0].sentence, heading="why"),
    ),
)  # fmt: skip

QUESTION: Final = Question(
    name="where",
    version="v2",  # v1 held manifests and patches as they were given
    settings=WhereSettings,
    answer=answer,
    facts=facts,
    listings=(_CLUSTERS,),
    about="""Where would this fit? Pods of a shape, or what a manifest makes, against each CLUSTER: verdict, room, price.

    Where it fits comes first, of those the cheapest. --node-pools are of the first CLUSTER. Exit status: 0 fits
    somewhere, 2 fits nowhere, 3 a pool has to grow, 4 not known.
    """,
    wants=(Want.MANIFEST, Want.OTHERS, Want.POOLS, Want.PRICES),
    stands=lambda answer: answer.clusters[0].verdict is not Verdict.UNKNOWN,
    status=lambda answer: EXIT[answer.clusters[0].verdict],
    hangs_on=(NODE.name, POD.name),
    is_by_parts=True,
)
