"""Make room: the fewest pods that must move so that pending pods can start, in simulated stages.

A move is one eviction; cordons cost nothing. Where moved pods land is kube-scheduler's choice: the plan is played in several
draws of its ties, and the answer says in how many it does what it says. Beside the number of moves stands a bound that no plan is
below, by rules that it names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from planner.capacity.eviction_simulation import at_rest
from planner.capacity.headroom_shapes import parse_shape
from planner.capacity.movable_pods import Movable, MoveObjective, Prices, Stays, movable
from planner.capacity.move_stages import Acted, replay
from planner.capacity.moves_plan import MovesPlan, plan_moves
from planner.capacity.simulation_films import Shot, of_shot
from planner.ground.errors import InputError, NotKnownError
from planner.ground.records import Record, replace
from planner.ground.words import Text, about, count, duration, listing, plural, short_name, usd
from planner.ground.work_budget import part
from planner.inventory.input_report import list_command
from planner.kubernetes import kueue_managed_pods
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.object_records import Pod, PodSpec, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import several
from planner.pricing.price_book import PriceBook
from planner.pricing.projected_bill import usd_of_pods
from planner.remedies import limits
from planner.remedies.levers import moves as moving
from planner.remedies.random_draw_checks import placements
from planner.rollout.admission import Admission
from planner.rollout.answers import Step
from planner.rollout.doubt_rules import decisive_doubts, made_anew
from planner.rollout.doubts import Doubt, decisive, each_once, is_proven
from planner.rollout.film import Film
from planner.rollout.kueue_admission import admitted_revisions, pending_in_kueue
from planner.rollout.kueue_evictions import eviction_words
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.run import Revision
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster

_PLACE: Final = "place"
_COST: Final = (
    "Cost is what the moved pods bear of their nodes, as the bill shares them out, while they are missing, and for a Job's work since its pod "
    "began (since its last checkpoint at most, where one is given). What else a restart loses isn't known."
)
PROVEN_BY: Final = (
    "The bound counts amounts, taints, selectors and node affinity, for plans that move only movable pods; "
    "evictions are played with every rule that Headroom knows."
)


class Move(Record):
    """One eviction. `to`: where its successor lands in the first draw, "" where that isn't one node."""

    stage: int
    pod: str  # namespace/name
    workload: str
    node: str
    to: str
    gpus: int


class Start(Record):
    """A waiting pod that starts, after which stage, and where in the first draw."""

    stage: int
    pod: str
    workload: str
    node: str
    gpus: int


class StillWaiting(Record):
    """Waiting pods of one workload that no moves start."""

    workload: str
    pods: int
    why: Text


class Kept(Record):
    """Pods that aren't moved."""

    pods: int
    why: Stays
    whose: tuple[str, ...] = ()  # of those whose owner isn't known: its key


class Places(Record):
    """So many places for so many moves."""

    places: int
    moves: float


class MadeRoom(Record):
    """The plan.

    Attributes
    ----------
    waiting : pods that it was asked for, or places
    weight, at_least : of the moves, in `least`: how many, minutes or USD; no plan for the same pods weighs less than the second
    is_least, is_proven : whether the search shows that no plan that starts as many weighs less; and nothing of `doubts` could change that
    is_most : whether it is proven that no more of them can start
    draws, held : of the scheduler's ties, and in how many of them the plan does what it says
    seconds : until the last one has started, about
    curve : moves for the first so many places, where places were asked for
    queued : whom Kueue keeps back, or of whom that isn't known, with why; no move changes that
    unread : kinds that weren't read, and might hold a move back
    asks_no_quota : whether places for a shape were asked for where Kueue is: a shape names no queue
    """

    sentence: Text
    waiting: int
    least: MoveObjective
    moves: tuple[Move, ...]
    starts: tuple[Start, ...]
    left: tuple[StillWaiting, ...]
    kept: tuple[Kept, ...]
    weight: float
    at_least: float
    is_least: bool
    is_proven: bool
    is_most: bool
    draws: int
    held: int
    seconds: float
    steps: tuple[Step, ...] = ()
    curve: tuple[Places, ...] = ()
    queued: tuple[StillWaiting, ...] = ()
    unread: tuple[str, ...] = ()
    asks_no_quota: bool = False
    doubts: tuple[Doubt, ...] = ()


class RoomRequest(Record):
    """What room is made for: the pods of `workload` that wait, `number` places for `shape` or for pods `like` one, or places for the pods of
    what `change` makes; else all that wait."""

    workload: str = ""
    shape: str = ""
    like: Pod | None = None
    number: int = 1
    change: Scenario | None = None
    least: MoveObjective = MoveObjective.MOVES
    book: PriceBook | None = None  # for the least cost
    checkpoint_minutes: float | None = None

    @property
    def is_of_places(self) -> bool:
        return bool(self.shape or self.like or self.change)

    def movable(self, cluster: Cluster) -> Movable:
        """Who may be moved, by what is to be the least.

        Raises
        ------
        InputError
            Where cost is, and there is no price book.
        NotKnownError
            Where a pod's isn't known.
        """
        if self.least is not MoveObjective.COST:
            return movable(cluster, self.least)
        if self.book is None:
            raise InputError("the cheapest moves need prices", where="least", fix="Give a price book")
        usd = usd_of_pods(self.book, cluster.snapshot)
        return movable(cluster, self.least, Prices(usd_per_hour=usd, checkpoint_minutes=self.checkpoint_minutes))


_ALL_THAT_WAIT: Final = RoomRequest()


def make_room(snapshot: Snapshot, what: RoomRequest = _ALL_THAT_WAIT) -> MadeRoom:
    """The least moves that do. Raises what `room_made` does."""
    return room_made(snapshot, what)[0]


def room_made(snapshot: Snapshot, what: RoomRequest = _ALL_THAT_WAIT) -> tuple[MadeRoom, Snapshot]:
    """The least moves that do, and the cluster after them in the first draw, in which places that were asked for are free.

    Raises
    ------
    InputError
        For a workload without pending pods, a shape that is none, and a change of what is there already.
    NotKnownError
        When it isn't known what pods a change makes.
    TooLargeError
        When it costs more than a question may.
    """
    put, movable_pods, plan = _planned(snapshot, what)
    after = plan.replays[0].snapshot
    if what.is_of_places:
        after = replace(after, pods=tuple(pod for pod in after.pods if not pod.uid.startswith(f"{_PLACE}-")))
    return _described(snapshot, what, put, movable_pods, plan), after


def _planned(snapshot: Snapshot, what: RoomRequest) -> tuple[_RestingCluster, Movable, MovesPlan]:
    put = _cluster_at_rest(snapshot, what)
    movable_pods = _there_today(snapshot, put.cluster, what.movable(put.cluster))
    return put, movable_pods, plan_moves(put.cluster, put.asked, movable_pods, placements)


def room_film(
    snapshot: Snapshot, room_request: RoomRequest, is_wanted: Callable[[], bool] | None = None
) -> Film | None:
    """The film of the moves that make room, stage by stage, in the first draw of kube-scheduler's choices. None where there are none.

    Raises
    ------
    InputError
        As `make_room`.
    """
    with part(is_wanted):
        put, _, plan = _planned(snapshot, room_request)
        if not plan.held or not plan.moves.leaves:
            return None
        shot = Shot()
        replay(put.cluster, plan.stages, put.asked, watch=shot.look)
        uids = [put.cluster.snapshot.pods[number].uid for number in put.asked]
        return of_shot(put.cluster, shot, uids, title="Moves that make room", words="started and Ready")


def _there_today(snapshot: Snapshot, cluster: Cluster, movable_pods: Movable) -> Movable:
    """Without pods that controllers make until the cluster is at rest (of what is preempted): their names aren't known yet."""
    # The script evicts by name: a pod that is made while the cluster comes to rest has a random end that no script can know.
    today, pods = {pod.uid for pod in snapshot.pods}, cluster.snapshot.pods
    weights = {number: weight for number, weight in movable_pods.weights.items() if pods[number].uid in today}
    new = len(movable_pods.weights) - len(weights)
    return replace(movable_pods, weights=weights, stays={**movable_pods.stays, Stays.NEW: new}) if new else movable_pods


class _RestingCluster(NamedTuple):
    """The cluster at rest, the pods that are to start, whom Kueue keeps back (or may: not `is_queue_known`); `changes`: what the manifest
    makes; `doubts`: what isn't sure before any move; `today`: before any place was put into it."""

    today: Cluster
    cluster: Cluster
    asked: list[int]
    queued: tuple[StillWaiting, ...] = ()
    is_queue_known: bool = True
    changes: tuple[Revision, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def _cluster_at_rest(snapshot: Snapshot, what: RoomRequest) -> _RestingCluster:
    places: Wanted = ()
    put = _RestingCluster(compiled(snapshot), compiled(snapshot), [])
    if what.change is not None:
        places, put = _made_by(snapshot, what.change)
        snapshot = put.today.snapshot  # with what else the manifest holds: a claim, its StorageClass, a budget
    elif not what.is_of_places:
        waiting = pending_in_kueue(snapshot)
        kept = [group for group in waiting.kept if what.workload in ("", group.owner)]
        queued = tuple(StillWaiting(workload=group.owner, pods=group.pods, why=Text(group.why)) for group in kept)
        doubts = (_QUEUES,) if waiting.opened or waiting.kept else ()
        put = put._replace(queued=queued, is_queue_known=all(group.is_known for group in kept), doubts=doubts)
        snapshot = waiting.snapshot
    cluster, like = at_rest(compiled(snapshot).snapshot), what.like
    if what.shape:
        shape = parse_shape(what.shape, cluster)
        like = Pod(namespace=shape.namespace, name=_PLACE, uid="", labels=shape.labels, spec=shape.spec)
    places = ((like, what.number),) if like else places
    cluster = _with_pods(cluster, places) if places else cluster
    pod_numbers = _requested_pods(cluster, what.workload, is_of_places=bool(places), is_queued=bool(put.queued))
    return put._replace(cluster=cluster, asked=pod_numbers)


Wanted = Sequence[tuple[Pod, int]]
"""Pods, and for how many like each there is to be a place."""


def _made_by(snapshot: Snapshot, change: Scenario) -> tuple[Wanted, _RestingCluster]:
    """The pods of what a manifest makes anew, as the API server lets them in, which of them Kueue keeps back, and what isn't sure of them."""
    prepared, missing_pods = prepare(snapshot, change), list[tuple[Pod, int]]()
    queued, doubts = list[StillWaiting](), list[Doubt]()
    if prepared.unknown:
        raise NotKnownError(prepared.unknown[0].what)
    revisions, is_known = admitted_revisions(prepared.snapshot, prepared.revisions), True
    admission = Admission(prepared.snapshot)
    for plain, changed_revision in zip(prepared.revisions, revisions, strict=True):
        revision, after = changed_revision, changed_revision.after
        queue_sentence, is_queue_known = _of_queue(prepared.snapshot, changed_revision)
        is_known = is_known and is_queue_known
        if queue_sentence:
            pods = sum(number for _, number in plain.templates)
            queued.append(StillWaiting(workload=after.key, pods=pods, why=Text(queue_sentence)))
            # Kueue keeps the pods back today, but may let them in later: the room is asked for without its flavors' nodes.
            revision = plain
        doubts += [_QUEUES] if queue_sentence or changed_revision.queued is not None else []
        if plain.placed is not None and plain.placed.assumes:
            doubts.append(decisive(after.key, plain.placed.assumes))
        if revision.before is not None:
            fix = "headroom rollout CLUSTER -f FILE --levers moves says whether moves help its rollout"
            raise InputError(f"{after.key} is there already", where="-f", fix=fix)
        if after.traits.is_per_node:
            raise InputError(f"{after.key} has a pod on each node", where="-f", fix="Give something with replicas")
        for template, number in revision.templates:
            spec = admission.prepare(after.namespace, template.spec, template.labels)
            if refused := _refused(admission, after.namespace, after.name, spec, number):
                doubts.append(decisive(after.key, refused))
            like = Pod(
                namespace=after.namespace, name=after.name, uid="", labels=template.labels, annotations=template.annotations, spec=spec
            )  # fmt: skip
            missing_pods += [(like, number)] if number else []
    if not missing_pods:
        raise InputError("the manifest makes no pods", where="-f", fix="Give a Deployment, a StatefulSet or a Job")
    cluster, changes = compiled(prepared.snapshot), tuple(prepared.revisions)
    return missing_pods, _RestingCluster(
        cluster, cluster, [], tuple(queued), is_known, changes, tuple(dict.fromkeys(doubts))
    )


def _refused(admission: Admission, namespace: str, name: str, spec: PodSpec, number: int) -> str:
    """What the API server says to the first of so many pods that it refuses; "" where it takes all."""
    for _ in range(number):
        if refusal := admission.refusal(namespace, name, spec):
            return refusal.message
        admission.charge(namespace, spec)
    return ""


def _of_queue(snapshot: Snapshot, revision: Revision) -> tuple[str, bool]:
    """Why Kueue doesn't let its pods in, "" where it does or has no say; and whether that is known."""
    if revision.queued is None:
        after, templates = revision.after, [template for template, _ in revision.templates]
        queue_sentence = kueue_managed_pods.managing_reason(snapshot, after.namespace, after.labels, templates)
        return (f"not known: {queue_sentence}" if queue_sentence else ""), not queue_sentence
    if revision.queued.unknown:
        return f"not known: {revision.queued.unknown}", False
    if revision.evicts:
        return f"its pods start once {eviction_words(revision.evicts)}", True
    return (revision.queued.said if revision.queued.keeps_out else ""), True


def _with_pods(cluster: Cluster, places: Wanted) -> Cluster:
    """So many more pods that wait for a place, and preempt no pod."""
    place_pods = list[Pod]()
    for pod, number in places:
        # A place is free room: a pod of high priority that preempts would find one everywhere, at others' cost.
        spec = replace(pod.spec, preemption_policy="Never")
        for _ in range(number):
            name = f"{_PLACE}-{len(place_pods) + 1}"
            place_pods.append(replace(pod, name=name, uid=name, spec=spec))
    return Cluster(replace(cluster.snapshot, pods=(*cluster.snapshot.pods, *place_pods)))


def _requested_pods(cluster: Cluster, workload: str, *, is_of_places: bool, is_queued: bool) -> list[int]:
    """The waiting pods that are meant, without those that kube-scheduler never tries."""
    snapshot, keys, world = cluster.snapshot, workload_keys(cluster.snapshot), Simulation(cluster)
    waiting = [number for number in cluster.waiting if not world.pods.live(number).is_gated]
    if is_of_places:
        return [number for number in waiting if snapshot.pods[number].uid.startswith(f"{_PLACE}-")]
    if not workload:
        return waiting
    own = [number for number in waiting if keys[snapshot.pods[number].uid] == workload]
    if not own and not is_queued:
        names = sorted({keys[snapshot.pods[number].uid] for number in waiting})
        fix = f"Workloads with pods that wait: {listing(names, 8)}" if names else "No pod waits: give --shape instead"
        raise InputError(f"no pod of {workload[: limits.NAME_LETTERS.most]} waits for a node", where="--for", fix=fix)
    return own


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _described(
    today: Snapshot, what: RoomRequest, put: _RestingCluster, movable_pods: Movable, plan: MovesPlan
) -> MadeRoom:
    """`today`: before the cluster came to rest; pods that weren't there are told by their workloads."""
    cluster, pod_numbers, least, is_of_places = put.cluster, put.asked, what.least, what.is_of_places
    snapshot, keys = cluster.snapshot, workload_keys(cluster.snapshot)
    named = frozenset(pod.uid for pod in today.pods) | {snapshot.pods[n].uid for n in pod_numbers if is_of_places}
    first, holds = plan.replays[0], plan.held > 0
    unit = 100.0 if least is MoveObjective.COST else 1.0  # cents are weighed
    pods = {pod.uid: pod for pod in snapshot.pods}
    acts = list(enumerate(first.acts, 1)) if holds else []
    moves = [move for stage, act in acts for move in _moves(stage, act, pods, keys)]
    starts = [
        Start(stage=stage, pod=name, workload=keys[uid], node=node, gpus=_gpus(pods[uid]))
        for stage, act in acts
        for uid, node in act.started.items()
        if uid in first.started
        for name in (moving.name(pods[uid]) if uid in named else f"a new pod of {short_name(keys[uid])}",)
    ]
    left = [n for n in pod_numbers if not holds or snapshot.pods[n].uid not in first.started]
    moved = {move.workload for move in moves}
    doubts = _doubts(today, put, movable_pods, keys, moved, is_done=bool(starts), is_whole=not left)
    is_sure = is_proven(doubts, ())
    is_least = plan.moves.is_proven and plan.moves.is_most and holds
    room_plan = MadeRoom(
        sentence=Text(), waiting=len(pod_numbers), least=least, moves=tuple(moves), starts=tuple(starts),
        left=_still_pending(cluster, left, plan), kept=tuple(
            Kept(pods=number, why=why, whose=movable_pods.unknown if why is Stays.UNKNOWN_OWNER else ())
            for why, number in Counter(movable_pods.stays).most_common()
        ), weight=plan.moves.weight / unit if holds else 0.0, at_least=max(0.0, plan.moves.at_least) / unit,
        is_least=is_least, is_proven=is_least and is_sure, is_most=plan.moves.is_most and (holds or not plan.moves.hosts) and is_sure,
        draws=len(plan.replays), held=plan.held,
        seconds=first.seconds + sum(moving.in_turn(act, pods) for act in first.acts) if holds else 0.0,
        steps=moving.steps(cluster, plan, keys, named, is_of_places=is_of_places) if holds and plan.stages else (),
        curve=tuple(Places(places=i, moves=cost / unit) for i, cost in enumerate(plan.moves.curve * is_of_places, 1)),
        queued=put.queued, unread=_unread(today), asks_no_quota=bool(what.shape) and kueue_managed_pods.is_there(today), doubts=doubts,
    )  # fmt: skip
    keeps = "keeps back" if put.is_queue_known else "may keep back"
    more = f"; Kueue {keeps} {count(sum(pending.pods for pending in put.queued), 'pod')}" if put.queued else ""
    return replace(room_plan, sentence=Text(f"{_sentence(room_plan, is_of_places=is_of_places)}{more}"))


_QUEUES: Final = decisive(
    "Kueue", "Kueue decides which of the pods may start, and its queues aren't played with the moves",
    "See who waits: headroom capacity --queues",
)  # fmt: skip


def _unread(snapshot: Snapshot) -> tuple[str, ...]:
    """Kinds that weren't read, and might hold a move back."""
    return tuple(filter(snapshot.lacks, ("PodDisruptionBudget",)))


def _doubts(
    today: Snapshot, put: _RestingCluster, pods: Movable, keys: Mapping[str, str], moved: set[str], *, is_done: bool, is_whole: bool
) -> tuple[Doubt, ...]:  # fmt: skip
    """What could make another plan the least: what every rule doubts of the new pods and of those that controllers make for the moved ones.
    Where pods go on waiting, the successors of all that may be moved count: a webhook may make them smaller."""
    doubts = list(put.doubts)
    if is_done:
        doubts += decisive_doubts(put.today, [*put.changes, *made_anew(put.today, moved)])
    if not is_whole:
        movable = {keys[put.cluster.snapshot.pods[number].uid] for number in pods.weights}
        doubts += decisive_doubts(put.today, [*put.changes, *made_anew(put.today, movable)], is_done=False)
    for kind in _unread(today) if moved else ():
        why = f"whether one holds a move back isn't known: no {several(kind)} were read"
        doubts.append(decisive(several(kind), why, f"To add them, also where they are empty: {list_command(kind)}"))
    return each_once(doubts)


def _gpus(pod: Pod) -> int:
    return sum(amount for name, amount in pod_requests(pod.spec).items() if is_gpu_resource(name))


def _moves(stage: int, act: Acted, pods: Mapping[str, Pod], keys: Mapping[str, str]) -> Iterable[Move]:
    landed: dict[str, list[str]] = defaultdict(list)
    for owner, node in act.made:
        landed[owner].append(node)
    for uid, node in act.moved:
        if uid in pods:
            pod = pods[uid]
            nodes = landed.get(pod.owner.key(pod.namespace) if pod.owner else "", [])
            yield Move(
                stage=stage, pod=moving.name(pod), workload=keys[uid], node=node, to=nodes.pop(0) if nodes else "", gpus=_gpus(pod)
            )  # fmt: skip


def _still_pending(cluster: Cluster, numbers: Sequence[int], plan: MovesPlan) -> tuple[StillWaiting, ...]:
    keys, pods = workload_keys(cluster.snapshot), cluster.snapshot.pods
    groups: Counter[tuple[str, str]] = Counter()
    for number in numbers:
        why = "those that would have to leave find no other node, or a plan wasn't found"
        if number in plan.moves.hopeless:
            why = "no node takes it, even without every pod that may be moved"
        elif number in plan.moves.hosts:
            why = "rules between pods or budgets keep the moves from it"
        elif plan.moves.is_most:
            why = "no moves that are allowed start it"
        scheduler_message = pods[number].unschedulable_message
        groups[keys[pods[number].uid], f"{why}: {scheduler_message}" if scheduler_message else why] += 1
    every = groups.most_common()
    return tuple(StillWaiting(workload=name, pods=number, why=Text(why)) for (name, why), number in every)


def _sentence(room_plan: MadeRoom, *, is_of_places: bool) -> str:
    """``194 moves start all 47 waiting pods; no plan needs fewer (proven)``."""
    noun, verb, many = ("place", "makes", "make") if is_of_places else ("waiting pod", "starts", "start")
    if not room_plan.waiting:
        return "no pod waits for a node"
    each = f"the {noun}" if room_plan.waiting == 1 else f"any of the {count(room_plan.waiting, noun)}"
    if not room_plan.starts:
        return f"no moves {many} {each} (proven)" if room_plan.is_most else f"no moves were found that {many} {each}"
    number, started = len(room_plan.moves), len(room_plan.starts)
    who = f"{started:,} of {count(room_plan.waiting, noun)}"
    if started == room_plan.waiting:
        who = f"the {noun}" if started == 1 else f"all {count(started, noun)}"
    words = f"{count(number, 'move')} {plural(number, verb, many)} {who}"
    if not number:
        words = f"{who} {plural(started, 'needs', 'need')} no move"
    is_counted = room_plan.least is MoveObjective.MOVES
    words += f" ({weighed(room_plan.least, room_plan.weight)})" if number and not is_counted else ""
    if room_plan.is_least:
        least = "no plan needs fewer" if is_counted else "no plan costs less"
        words += f"; {least}{' (proven)' if room_plan.is_proven else ', as far as is known'}" if number else ""
    else:
        # the bound is of the pods that start: it is every plan's only where no plan starts more
        plans = "any plan" if room_plan.is_most else "any plan for these"
        words += f"; {plans} needs at least {f'{room_plan.at_least:,.0f}' if is_counted else weighed(room_plan.least, room_plan.at_least)}"
    if started < room_plan.waiting:
        words += "; no moves start more (proven)" if room_plan.is_most else "; that no more can start isn't proven"
    if room_plan.held < room_plan.draws:
        words += f"; this in {room_plan.held} of {room_plan.draws} draws of what kube-scheduler may choose"
    return words


def weighed(least: MoveObjective, weight: float) -> str:
    """``72 moves``, ``12 min of pods in all``, ``$3.20``."""
    if least is MoveObjective.COST:
        return usd(weight)
    return f"{duration(60 * weight)} of pods in all" if least is MoveObjective.MINUTES else count(round(weight), "move")


def notes(room_plan: MadeRoom) -> list[str]:
    """What stands beside it: how long it takes, by which rules it is proven, and who may not be moved."""
    remarks = []
    for kept in room_plan.kept:
        whose = f" ({listing(kept.whose[: limits.UNMOVED.most])})" if kept.whose else ""
        remarks.append(f"{count(kept.pods, 'pod')} may not be moved: {kept.why}{whose}.")
    if room_plan.moves:
        took = f"It takes {about(room_plan.seconds)}, as far as start-ups are known."
        remarks += [f"{took} Played in {count(room_plan.draws, 'draw')} of what kube-scheduler may choose. {PROVEN_BY}"]
    remarks += [str(doubt.sentence) for doubt in room_plan.doubts]
    if room_plan.least is MoveObjective.COST:
        remarks += [_COST]
    if room_plan.asks_no_quota:
        remarks += ["A shape names no queue: whether Kueue has quota for such pods isn't asked."]
    if room_plan.queued:
        remarks += [
            "Places and quota are asked each by itself: no move gives quota. See who waits: headroom capacity --queues"
        ]
    return remarks
