"""Records a run as a film: at each quiet moment, which pods hold which seats of which nodes, and which are pending.

A `Camera` looks on while the engine plays; `developed` makes the film of what it saw. Nothing here plays anything: there is no
frame of what wasn't played. The numbers beside a frame are the engine's own (`planner.rollout.pod_counts`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby

from planner.ground.records import Record
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.object_records import Amounts, Pod
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import POD
from planner.rollout.answers import WaitForEdge
from planner.rollout.ownership import pods_by_node
from planner.rollout.simulation import Simulation
from planner.rollout.simulation_limits import LIMITS
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import node_pools
from planner.scheduling.pod import LivePod

WAITS, ELSEWHERE = -1, -2
"""`Block.node` of a pod that waits, and of one on a node without a row."""

Span = tuple[int, int]
"""First seat, and the one after the last."""


class Doing(StrEnum):
    """What a pod does, as one sees it."""

    READY = "ready"
    STARTING = "starting"  # bound, and not Ready (yet, or any more)
    TERMINATING = "terminating"
    WAITING = "waiting"


class FilmNode(Record):
    """A row. `seats`: how many of the film's resource the node has; of a film without one, how many pods are drawn on it at most."""

    name: str
    pool: str
    seats: int
    note: str = ""  # cordoned, not Ready


class Block(Record):
    """A pod that does one thing at one place, from frame `first` to frame `last`.

    Attributes
    ----------
    amount : of the film's resource that it asks for
    node : index in `Film.nodes`; `WAITS`, `ELSEWHERE`
    seats : spans of the node's seats; more than one where what was free wasn't in one piece
    is_new : of the revision that the change makes; where none is made, a pod made meanwhile
    """

    pod: str  # namespace/name
    workload: str
    is_new: bool
    amount: int
    doing: Doing
    node: int
    seats: tuple[Span, ...]
    first: int
    last: int


class Frame(Record):
    """A quiet moment, with the engine's numbers. `held`: of the film's resource, by those the film is about."""

    tick: int
    seconds: float
    event: str
    ready: int
    waiting: int
    held: int


class Film(Record):
    """What was played.

    Attributes
    ----------
    about : workloads that the film is about; `ready`, `waiting` and `held` of the frames are of the first
    wanted : Ready pods that there are to be
    resource : of which the seats are a number; "" where its pods ask for nothing of the kind, and a seat is a pod
    more_nodes : that its pods may go to, or where something moves, and that have no row
    skipped : moments between the frames that aren't shown
    is_stuck : nothing moves any more, and it isn't done
    wait_for : then, who waits for whom
    """

    title: str
    about: tuple[str, ...]
    wanted: int
    resource: str
    capacity: int
    nodes: tuple[FilmNode, ...]
    blocks: tuple[Block, ...]
    frames: tuple[Frame, ...]
    more_nodes: int
    skipped: int
    is_stuck: bool = False
    wait_for: tuple[WaitForEdge, ...] = ()
    counts: str = "Ready"  # what `ready` is a number of

    def at(self, frame: int) -> list[Block]:
        return [block for block in self.blocks if block.first <= frame <= block.last]


def scarce_resource(requests: Amounts) -> str:
    """The extended resource that is looked at: the pod's GPUs, else the first it asks for, else none ("")."""
    extended = [name for name in requests if "/" in name]
    return next((name for name in extended if is_gpu_resource(name)), extended[0] if extended else "")


# ── what the camera sees ─────────────────────────────────────────────────────────────────────────────────────────────
Seen = tuple[Doing, int] | None
"""What a pod does and on which node of the cluster; None: it is gone."""


class Camera:
    """Looks on at the quiet moments of a run, and notes what has happened to pods since the last.

    A run may go on in another simulation (moves in stages, an upgrade step by step): pods are known by their uid, and nodes by
    their place in `nodes`, which are those of the first simulation and then what came.
    """

    def __init__(self) -> None:
        self.looks = 0
        self.nodes: dict[str, int] = {}
        self.seen: dict[str, list[tuple[int, Seen]]] = {}  # by uid: (look, what it did then), where that changed
        self.pods: dict[str, LivePod] = {}
        self._read = 0
        self._simulation: Simulation | None = None
        self._places, self._before = list[int](), dict[str, Seen]()

    def look(self, simulation: Simulation) -> None:
        """A quiet moment."""
        if simulation is not self._simulation:
            self._go_on(simulation)
        news = simulation.pods.news
        for pod in dict.fromkeys(news[self._read :]):
            self.pods.setdefault(pod.uid, pod)
            self.seen.setdefault(pod.uid, []).append((self.looks, self._placed(_of(pod))))
        self._read = len(news)
        self.looks += 1

    def _go_on(self, simulation: Simulation) -> None:
        """In another simulation: what is otherwise than it was when the last one ended happened unseen."""
        was, self._simulation, self._read = self._simulation, simulation, 0
        self._places = [self.nodes.setdefault(name, len(self.nodes)) for name in simulation.cluster.node_names]
        now = {pod.uid: self._placed(at_first(simulation.cluster, pod)) for pod in simulation.snapshot.pods}
        if was is None:
            self._before = now
            return
        for state in (was, simulation):
            for index, pod in enumerate(state.snapshot.pods):
                uid, sighting = pod.uid, now.get(pod.uid)
                if sighting != (self.seen[uid][-1][1] if uid in self.seen else self._before.get(uid)):
                    self.pods.setdefault(uid, state.pods.live(index))
                    self.seen.setdefault(uid, []).append((self.looks, sighting))
        for uid, since in self.seen.items():  # made in the last one, and gone
            if uid not in now and since[-1][1] is not None:
                since.append((self.looks, None))

    def _placed(self, sighting: Seen) -> Seen:
        return sighting if sighting is None or sighting[1] < 0 else (sighting[0], self._places[sighting[1]])


def _of(pod: LivePod) -> Seen:
    if pod.is_gone:
        return None
    if pod.is_terminating:
        return Doing.TERMINATING, pod.node
    if not pod.is_bound:
        return Doing.WAITING, pod.node
    return Doing.READY if pod.is_ready else Doing.STARTING, pod.node


def at_first(cluster: Cluster, pod: Pod) -> Seen:
    """What a pod of the snapshot does before anything is played."""
    node = cluster.node_index.get(pod.node_name, ELSEWHERE) if pod.node_name else WAITS
    if pod.deleted_at is not None:
        return Doing.TERMINATING, node
    if not pod.node_name:
        return Doing.WAITING, node
    return Doing.READY if pod.is_ready else Doing.STARTING, node


class Doings(Record):
    """Some pods at one look: how many do what. `held`: of a resource, by those on a node."""

    ready: int = 0
    starting: int = 0
    waiting: int = 0
    terminating: int = 0
    held: int = 0


def count_at(camera: Camera, uids: Iterable[str], resource: str, cluster: Cluster, look: int) -> Doings:
    """The pods `uids` as the camera saw them."""
    row, doing, held_amount = cluster.row.get(resource), Counter[Doing](), 0
    for uid in uids:
        sighting = _at(camera.seen[uid], look)
        if sighting is not None:
            doing[sighting[0]] += 1
            asks = camera.pods[uid].shape.asks
            held_amount += (
                next((amount for resource_row, amount in asks if resource_row == row), 0)
                if sighting[0] is not Doing.WAITING
                else 0
            )
    return Doings(
        ready=doing[Doing.READY], starting=doing[Doing.STARTING], waiting=doing[Doing.WAITING],
        terminating=doing[Doing.TERMINATING], held=held_amount,
    )  # fmt: skip


def _at(since: Sequence[tuple[int, Seen]], look: int) -> Seen:
    place = bisect_right([begun for begun, _ in since], look)
    return since[place - 1][1] if place else None


# ── the film ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def kept(moments: int, most: int = LIMITS.frames) -> list[int]:
    """Of so many moments those that are shown: evenly chosen, the first and the last kept."""
    step = max(1, -(-moments // most))
    return sorted({*range(0, moments, step), moments - 1})


class _Life(Record):
    """A pod, and what it does from which look on."""

    name: str
    workload: str
    is_new: bool
    amount: int
    is_played: bool
    since: tuple[tuple[int, Seen], ...]


def developed(
    cluster: Cluster,
    camera: Camera,
    frames: Sequence[Frame],
    looks: Sequence[int],
    *,
    title: str,
    about: Collection[str],
    wanted: int,
    resource: str,
    keys: Mapping[str, str],
    candidates: Iterable[int] = (),
    is_revised: bool = True,
    is_stuck: bool = False,
    wait_for: tuple[WaitForEdge, ...] = (),
) -> Film:
    """The film of what `camera` saw on `cluster`.

    Parameters
    ----------
    frames, looks : the frames, and which look of the camera each is
    keys : the workload of each owner of pods that were made
    candidates : nodes that the new pods may go to
    is_revised : a change makes new pods; else every pod made meanwhile counts as new
    """
    names = set(about)
    # Pods to which nothing happens may be very many. Those that wait come first, then the nodes that get a row, and of the other pods
    # only those on these rows.
    lives = [*_played(cluster, camera, resource, keys, is_revised=is_revised)]
    lives += _unplayed(cluster, camera, resource, cluster.waiting)
    most = LIMITS.film_nodes if is_revised else LIMITS.film_nodes_of_a_change
    rows, more = _rows(cluster, [live for live in lives if live.is_played], names, candidates, resource, most)
    unplayed_pods = (number for node in rows for number in pods_by_node(cluster, None).get(node, ()))
    lives = _in_sight([*lives, *_unplayed(cluster, camera, resource, unplayed_pods)], names, set(rows))
    order = sorted(lives, key=lambda life: (life.since[0][0], life.workload not in names, life.workload, life.name))
    blocks, widest = _seated(order, {node: row for row, node in enumerate(rows)}, looks, _seats(cluster, resource))
    return Film(
        title=title, about=tuple(about), wanted=wanted, resource=resource,
        capacity=sum(_seats(cluster, resource)[node] for node in rows) if resource else 0,
        nodes=tuple(_row(cluster, node, resource, widest.get(row, 1)) for row, node in enumerate(rows)),
        blocks=tuple(blocks), frames=tuple(frames), more_nodes=more, skipped=camera.looks - len(frames),
        is_stuck=is_stuck, wait_for=wait_for,
    )  # fmt: skip


def _in_sight(lives: Iterable[_Life], about: set[str], rows: set[int]) -> list[_Life]:
    """Pods that are on a row at some time; of the others some that wait, those of `about` first."""
    pod_lives, remaining_waiting = list[_Life](), LIMITS.film_waiting
    for live in sorted(lives, key=lambda life: (life.workload not in about, life.since[0][0])):
        if any(sighting and sighting[1] in rows for _, sighting in live.since):
            pod_lives.append(live)
        elif remaining_waiting and any(sighting and sighting[0] is Doing.WAITING for _, sighting in live.since):
            pod_lives.append(live)
            remaining_waiting -= 1
    return pod_lives


def _row(cluster: Cluster, node: int, resource: str, widest: int) -> FilmNode:
    of = cluster.nodes[node]
    return FilmNode(
        name=of.name, pool=node_pools(cluster)[node], note="cordoned" if of.is_cordoned else "",
        seats=_seats(cluster, resource)[node] if resource else widest,
    )  # fmt: skip


def _seats(cluster: Cluster, resource: str) -> list[int]:
    row = cluster.row.get(resource)
    seats: list[int] = [0] * cluster.node_count if row is None else cluster.allocatable[row].tolist()
    return seats


def _played(
    cluster: Cluster, camera: Camera, resource: str, keys: Mapping[str, str], *, is_revised: bool
) -> Iterable[_Life]:
    """Pods to which something happened, or that were looked at."""
    before = {pod.uid: pod for pod in cluster.snapshot.pods if pod.uid in camera.seen}
    of = workload_keys(cluster.snapshot)
    row = cluster.row.get(resource)
    for uid, sightings in camera.seen.items():
        live = camera.pods[uid]
        was = before.get(uid)
        since = list(sightings)
        # First seen when something happened to it: until then it was as the snapshot has it.
        if was is not None and since[0][0] > 0:
            since.insert(0, (0, at_first(cluster, was)))
        workload = of[uid] if was is not None else keys.get(live.owner, live.owner)
        yield _Life(
            name=f"{live.namespace}/{live.name}", workload=workload or POD.key(live.namespace, live.name),
            is_new=live.is_new if is_revised else was is None,
            amount=1 if not resource else next((amount for resource_row, amount in live.shape.asks if resource_row == row), 0),
            is_played=True, since=tuple(since),
        )  # fmt: skip


def _unplayed(cluster: Cluster, camera: Camera, resource: str, numbers: Iterable[int]) -> Iterable[_Life]:
    """Of these pods those that ask for the film's resource, and to which nothing happens."""
    of = workload_keys(cluster.snapshot)
    for number in numbers if resource else ():
        pod = cluster.snapshot.pods[number]
        amount = pod_requests(pod.spec).get(resource, 0)
        if pod.uid not in camera.seen and amount:
            yield _Life(
                name=f"{pod.namespace}/{pod.name}", workload=of[pod.uid], is_new=False, amount=amount, is_played=False,
                since=((0, at_first(cluster, pod)),),
            )  # fmt: skip


def _rows(
    cluster: Cluster, played: Sequence[_Life], about: set[str], candidates: Iterable[int], resource: str, most: int
) -> tuple[list[int], int]:
    """The nodes that get a row, by pool and name, and how many more are concerned: first those on which something happens, the
    earliest first, then those that hold pods it is about, then those that such pods may go to, the fullest first."""
    moving: dict[int, int] = {}  # node → the look of the first thing that happens there
    holding: dict[int, None] = {}
    for life in played:
        if resource and not life.amount:
            continue
        was: Seen = None
        for look, sighting in life.since:
            nodes = {at[1] for at in (sighting, was) if at and at[1] >= 0}
            if look:
                moving.update((node, look) for node in nodes if look < moving.get(node, look + 1))
            if life.workload in about:
                holding.update(dict.fromkeys(nodes))
            was = sighting
    row = cluster.row.get(resource)
    may = [node for node in candidates if row is None or cluster.allocatable[row, node]]
    if row is not None:
        may.sort(key=lambda node: -int(cluster.requested[row, node]))
    node_rows = list(dict.fromkeys([*sorted(moving, key=lambda node: (moving[node], node)), *holding, *may]))
    pools = node_pools(cluster)
    shown = sorted(node_rows[:most], key=lambda node: (pools[node], cluster.node_names[node]))
    return shown, len(node_rows[most:])


class _Seats:
    """The seats of one node."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken: list[Span] = []
        self.widest = 0

    def take(self, amount: int) -> tuple[Span, ...]:
        """So many: in one piece where there is one that large, else the first that are free; beyond the last where none is."""
        gaps, at = list[Span](), 0
        for start, end in sorted(self._taken):
            if start > at:
                gaps.append((at, start))
            at = max(at, end)
        gaps.append((at, max(at, self._number) + amount))
        whole = next(((a, a + amount) for a, b in gaps if b - a >= amount and a + amount <= self._number), None)
        spans = [whole] if whole else []
        remaining_amount = 0 if whole else amount
        for start, end in gaps:
            part = min(remaining_amount, end - start)
            if part:
                spans.append((start, start + part))
                remaining_amount -= part
        self._taken += spans
        self.widest = max(self.widest, *(end for _, end in self._taken)) if self._taken else self.widest
        return tuple(spans)

    def leave(self, spans: Iterable[Span]) -> None:
        """Give seats back."""
        for span in spans:
            self._taken.remove(span)


def _seated(
    lives: Sequence[_Life], rows: Mapping[int, int], looks: Sequence[int], seats: Sequence[int]
) -> tuple[list[Block], dict[int, int]]:
    """The blocks of all frames, and how many seats each row needs. A pod keeps its seats for as long as it is on its node."""
    halls = {row: _Seats(seats[node]) for node, row in rows.items()}
    shown: list[tuple[_Life, list[Seen]]] = [(live, [_at(live.since, look) for look in looks]) for live in lives]
    places: dict[tuple[int, int], tuple[Span, ...]] = {}
    for frame in range(len(looks)):
        # Pods that leave give their seats back first: in the same frame a successor may take those of its predecessor.
        for number, (_, sightings) in enumerate(shown):
            was, now = sightings[frame - 1] if frame else None, sightings[frame]
            if was and (now is None or now[1] != was[1]) and (number, was[1]) in places:
                halls[rows[was[1]]].leave(places[number, was[1]])
        for number, (life, sightings) in enumerate(shown):
            was, now = sightings[frame - 1] if frame else None, sightings[frame]
            if now and now[1] in rows and life.amount and (was is None or was[1] != now[1]):
                places[number, now[1]] = halls[rows[now[1]]].take(life.amount)
    blocks = [
        Block(
            pod=pod_life.name, workload=pod_life.workload, is_new=pod_life.is_new, amount=pod_life.amount, doing=now[0], first=first, last=last,
            node=WAITS if now[0] is Doing.WAITING else rows.get(now[1], ELSEWHERE), seats=places.get((number, now[1]), ()),
        )
        for number, (pod_life, pod_sightings) in enumerate(shown)
        for now, first, last in _stretches(pod_sightings)
    ]  # fmt: skip
    return blocks, {row: hall.widest for row, hall in halls.items()}


def _stretches(sightings: Sequence[Seen]) -> Iterable[tuple[tuple[Doing, int], int, int]]:
    """(what it does, first frame, last frame) of each stretch in which that stays the same."""
    first = 0
    for now, equal_sightings in groupby(sightings):
        after = first + sum(1 for _ in equal_sightings)
        if now is not None:
            yield now, first, after - 1
        first = after
