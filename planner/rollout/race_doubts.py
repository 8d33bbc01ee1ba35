"""Doubts about races: seconds decide which pod is tried first, an autoscaler changes the replicas during the rollout,
another controller acts. Races are simulated where possible, and named where they change the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, listing, plural
from planner.ground.work_budget import TOO_LARGE, allowed
from planner.kubernetes.autoscaler_replica_bounds import autoscaler_of, autoscalers_of, moves_between
from planner.kubernetes.node_properties import is_ready, is_silent
from planner.kubernetes.object_records import Finding, HorizontalPodAutoscaler, Node, Severity, Workload
from planner.kubernetes.pod_properties import ends_late
from planner.rollout.answers import Ties
from planner.rollout.doubt_rules import standing_doubts
from planner.rollout.doubts import Doubt, Effect, is_proven
from planner.rollout.in_flight import InFlight, in_flight, perhaps_in_flight
from planner.rollout.independent_actors import (
    METRICS,
    Bound,
    at_bound,
    comes_up,
    going_by_node,
    may_be_removed,
    may_take,
    possible_arrivals,
    possible_departures,
    recovering,
    removal_reason,
)
from planner.rollout.interfering_rollouts import evictions_met, interfering, ruled_namespaces
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.scheduling_queue import CLOCKS
from planner.rollout.silent_node_cures import cures
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from planner.scheduling.cluster import Cluster, once_at_any_size
from planner.scheduling.shape import compile_shape, shape_of

PLACEMENT = "placement"  # these three: what a doubt is about where that isn't an object
SECONDS = "seconds"
MEANWHILE_ACTING = "meanwhile"

_RESIZES = "VerticalPodAutoscaler"
_WORK_UNITS = 1_000_000  # what others at one bound may cost (`planner.ground.work_budget`): about a second
_ANSWERS = "answers:"
_A_MOMENT = 1.0  # seconds by which a change is later than what comes before it
_WHERE = {  # by the clock
    1: "if pods start or end within 2 s of each other (10 s if they were refused often), the one refused last is tried last, and it",
    -1: "if pods that are deleted together end further apart than the scheduler backs off (1 to 11 s), it",
}
_AGAIN = "if other pending pods are tried again meanwhile (after 5.5 min at most), they come after the new pods, and it"


class IndependentActor(Record):
    """A controller or user that may act on its own meanwhile: in words, and what the rollout comes to then (None: too large to be played)."""

    does: str
    then: tuple[tuple[str, bool | None], ...] = ()

    def sentence(self, completes: bool) -> str:
        """Where the verdict would change, and where it wouldn't, as far as that was played."""
        parts = ", ".join(f"{where} it {_race_words(done, completes)}" for where, done in self.then)
        return f"{self.does}: {parts}" if parts else self.does


def _race_words(done: bool | None, completes: bool) -> str:
    if done is None:
        return "is too large to be played"
    also = "also " if done is completes else ""
    return f"{also}completes" if done else f"is {also}stuck"


def _completes(run: Run) -> bool | None:
    return None if run.is_cut else run.completed


def racing_autoscalers(
    cluster: Cluster, revisions: Sequence[Revision], run: Run, *, seed: int
) -> tuple[IndependentActor, ...]:
    """Autoscalers with metrics that may scale a changed workload, or others that it meets, with the rollout at their lowest and highest
    replicas; and what else may act on its own."""
    actors: list[IndependentActor] = []
    for place, revision in enumerate(revisions):
        after = revision.after
        scalers = autoscalers_of(cluster.snapshot, after.key)
        bounds = moves_between(scalers, after.replicas) if revision.placed is None else None
        then = []
        for replicas in bounds or ():
            if replicas != run.replicas[after.key]:
                others = list(revisions)
                others[place] = replace(revision, after=replace(after, replicas=replicas))
                then.append((f"at {replicas:,}", _completes(simulate(cluster, others, seed=seed))))
        if bounds is not None:
            named = _named(max(scalers, key=lambda autoscaler: autoscaler.maximum))
            does = f"{named} may set {bounds[0]:,} to {bounds[1]:,} replicas meanwhile"
            actors.append(IndependentActor(does=does, then=tuple(then)))
    return (
        *actors,
        *_others_moved(cluster, revisions, seed=seed),
        *_evicted(cluster, revisions, run, seed=seed),
        *_answering(revisions, run),
        *_stuck_terminating_doubt(cluster, revisions, run, seed=seed),
        *_acting(cluster, revisions, run, seed=seed),
    )


def _answering(revisions: Sequence[Revision], run: Run) -> Iterator[IndependentActor]:
    """Nodes that don't answer and with which, once they do, a rollout completes that is stuck."""
    events = [event for revision in revisions for cure in cures(run, revision) for event in cure.events]
    if names := list(dict.fromkeys(event.removeprefix(_ANSWERS) for event in events if event.startswith(_ANSWERS))):
        yield IndependentActor(does=f"meanwhile {listing(names)} may answer again", then=(("with that", True),))


def _stuck_terminating_doubt(
    cluster: Cluster, revisions: Sequence[Revision], run: Run, *, seed: int
) -> Iterator[IndependentActor]:
    """Pods that should have ended long ago (`pod-stuck-terminating`), where a rollout completes since they are taken to end now: nobody
    knows when what keeps them lets them go."""
    late = _late(cluster) if run.completed else frozenset()
    done = _completes(simulate(cluster, revisions, seed=seed, stays=late)) if late else True
    if done is not True:
        pods = [cluster.snapshot.pods[place] for place in sorted(late)]
        names = listing([f"{pod.namespace}/{pod.name}" for pod in pods], 3)
        yield IndependentActor(
            does=f"{names} should have ended long ago (a finalizer, a volume or the kubelet keeps {plural(len(late), 'it', 'them')})",
            then=((f"while {plural(len(late), 'it stays', 'they stay')}", done),),
        )


@once_at_any_size
def _late(cluster: Cluster) -> frozenset[int]:
    """Places of all of them; made once a cluster."""
    pods, taken_at = cluster.snapshot.pods, cluster.snapshot.taken_at
    return frozenset(place for place, pod in enumerate(pods) if ends_late(pod, taken_at))


def _evicted(cluster: Cluster, revisions: Sequence[Revision], run: Run, *, seed: int) -> Iterator[IndependentActor]:
    """Evictions by taints at other times than was played, where they change the verdict: before the change comes, or only after all is
    done, as how long pods take to start is an estimate, and when a taint came isn't told."""
    met = evictions_met(cluster, [revision.after for revision in revisions])
    later = [replace(revision, after_seconds=revision.after_seconds + _A_MOMENT) for revision in revisions]
    times = (("with that at once", later, 0.0), ("without that", revisions, inf)) if met else ()
    then = [
        (when, _completes(simulate(cluster, revisions_then, seed=seed, evicts_after=at)))
        for when, revisions_then, at in times
    ]
    if any(done is not run.completed for _, done in then):
        nodes = listing(sorted({eviction.puts_out for eviction in met}))
        yield IndependentActor(does=f"when pods are evicted from {nodes} may decide", then=tuple(then))


def _run_at_bound(cluster: Cluster, revisions: Sequence[Revision], bound: Bound, seed: int) -> bool | None:
    with allowed(units=_WORK_UNITS):
        return _completes(simulate(cluster, revisions, seed=seed, bound=bound))


def _others_moved(cluster: Cluster, revisions: Sequence[Revision], *, seed: int) -> Iterator[IndependentActor]:
    """The rollout while metrics move the replicas of others that it meets."""
    met = {bound: scaled_names for bound in METRICS if (scaled_names := _met_at(cluster, revisions, bound))}
    names = dict.fromkeys(name for met_workloads in met.values() for name in met_workloads)
    which = f"with {plural(len(names), 'it', 'all')} at the"
    if met:
        does = f"autoscalers may move the replicas of {listing(list(names))} meanwhile"
        yield IndependentActor(
            does=does, then=tuple((f"{which} {b}", _run_at_bound(cluster, revisions, b, seed)) for b in met)
        )


def _met_at(cluster: Cluster, revisions: Sequence[Revision], bound: Bound) -> list[str]:
    """The others that metrics may move, and that the changes then meet."""
    unmoved = {id(flight.of) for flight in in_flight(cluster)}
    moved_there = {bound_flight.key for bound_flight in at_bound(cluster, bound) if id(bound_flight.of) not in unmoved}
    met = interfering(cluster, [r.after for r in revisions], bound) if moved_there else ()
    return [other_flight.key for other_flight in met if other_flight.key in moved_there]


def _acting(cluster: Cluster, revisions: Sequence[Revision], run: Run, *, seed: int) -> Iterator[IndependentActor]:
    """What else may act on its own, and may decide; where pods may come, they are played."""
    if does := _acts(cluster, revisions, run):
        comes = run.completed and _met_at(cluster, revisions, Bound.BEGUN)
        then = (("with that", _run_at_bound(cluster, revisions, Bound.BEGUN, seed)),) if comes else ()
        yield IndependentActor(does=f"meanwhile {listing(list(does))}", then=then)


def _acts(cluster: Cluster, revisions: Sequence[Revision], run: Run) -> tuple[str, ...]:
    """What may change the verdict: for a rollout that completes, what may take its room or its nodes; for one that is stuck, which pods
    may leave it room."""
    unread = cluster.snapshot.other_kinds.get(_RESIZES, 0)
    are_not = plural(unread, "isn't", "aren't")
    acts = [f"{count(unread, _RESIZES)} that {are_not} read may give pods other requests"] if unread else []
    acts += [f"{controller_key} may make and move pods" for controller_key in perhaps_in_flight(cluster)]
    if not run.completed:
        return tuple(dict.fromkeys((*acts, *_leaving_room(cluster, run))))
    met = _met_at(cluster, revisions, Bound.BEGUN)
    acts += [
        coming_pods.does
        for coming_pods in possible_arrivals(cluster)
        if coming_pods.pods.key in met and not _give_way(cluster, revisions, coming_pods.pods)
    ]
    nodes = {pod.node for pods in run.pods.values() for pod in pods if pod.is_bound and not pod.is_lost}
    leaving_nodes = [cluster.nodes[node] for node in sorted(nodes) if may_be_removed(cluster.nodes[node])]
    return tuple(dict.fromkeys((*acts, *(removal_reason(node) for node in leaving_nodes))))


def _give_way(cluster: Cluster, revisions: Sequence[Revision], coming: InFlight) -> bool:
    """Whether the changed pods, all alike, may each push one of them out, nothing but room decides where they go, and no other pod moves
    whom these would send elsewhere."""
    maker = coming.of
    if isinstance(maker, Workload) or in_flight(cluster) or len(cluster.unbound):
        return False
    theirs = shape_of(cluster, maker)
    after = [revision.after for revision in revisions]
    own_shapes = [
        compile_shape(cluster, workload.namespace, t.labels, t.spec)
        for workload in after
        for t, _ in workload.templates
    ]
    plain = all(shape.is_plain and shape.may_preempt and shape.priority > theirs.priority for shape in own_shapes)
    return (
        len(own_shapes) == 1
        and plain
        and not {maker.namespace, *(workload.namespace for workload in after)} & ruled_namespaces(cluster)
    )


def _leaving_room(cluster: Cluster, run: Run) -> Iterator[str]:
    """Pods that may leave meanwhile, each in words: those on a node where a new pod would fit once they have left, and those that a
    quota counts."""
    snapshot, simulation, leaving_pods = cluster.snapshot, run.simulation, possible_departures(cluster)
    if run.refusals:
        counted = {quota.namespace for quota in snapshot.resource_quotas}
        yield from (leaving_pods[place] for place in leaving_pods if snapshot.pods[place].namespace in counted)
    on = going_by_node(cluster)
    if not (on or recovering(cluster)):  # as mostly: who waits is looked at only for such nodes
        return
    for shape in {pod.shape for pods in run.pods.values() for pod in pods if not pod.is_bound}:
        names = [cluster.resources[row] for row, _ in shape.asks]
        asks = (*names, *shape.absent)
        recovers = {node for node in recovering(cluster) if may_take(cluster.nodes[node], shape.spec, asks)}
        for node in (on.keys() & set(shape.candidates.tolist())) | recovers:
            live = {place: simulation.pods.live(place) for place in on.get(node, ())}
            leave = [pod for pod in live.values() if not (pod.is_gone or pod.is_terminating)]
            more = {name: comes_up(cluster.nodes[node], name) for name in asks if node in recovers}
            free_amounts = {
                row: simulation.state.free[row, node] + more.get(cluster.resources[row], 0) for row, _ in shape.asks
            }
            if all(more.get(name) for name in shape.absent) and all(
                free_amounts[row] + sum(dict(p.shape.asks).get(row, 0) for p in leave) >= n for row, n in shape.asks
            ):
                yield from (leaving_pods[place] for place, pod in live.items() if pod in leave)
                yield from (_recovers(cluster.nodes[node_number], asks) for node_number in {node} & recovers)


def _recovers(node: Node, asks: Iterable[str]) -> str:
    if is_ready(node) and (up := [name for name in asks if comes_up(node, name)]):
        return f"{node.name} may offer more {listing(up)} once its device plugin is up"
    if node.is_cordoned and not may_be_removed(node):
        return f"{node.name} is cordoned, and may take pods again"
    return f"{node.name} may {'take pods again' if may_be_removed(node) else 'answer again' if is_silent(node) else 'get Ready'}"


def is_open(cluster: Cluster, revisions: Sequence[Revision], run: Run) -> bool:
    """Whether something of this may change the verdict, before any of it is played."""
    return (
        run.simulation.queue.is_contested
        or run.simulation.queue.is_overtaken
        or not is_proven(standing_doubts(cluster, revisions, run), ())
        or any(moves_between(autoscalers_of(cluster.snapshot, r.after.key), r.after.replicas) for r in revisions)
        or any(_met_at(cluster, revisions, bound) for bound in METRICS)
        or bool(evictions_met(cluster, [revision.after for revision in revisions]))
        or bool(run.simulation.pods.silent and not run.completed)
        or bool(_acts(cluster, revisions, run))
    )


class OtherClocks(Record):
    """What other seconds make of a rollout. `sentence`: where they change the verdict, empty where they don't; `is_proven`: no
    placement can change it with them either; `is_cut`: some were too large to play."""

    sentence: Text = NO_WORDS
    is_proven: bool = True
    is_cut: bool = False


def on_other_clocks(cluster: Cluster, revisions: Sequence[Revision], run: Run, *, seed: int) -> OtherClocks:
    """The rollout with other seconds between pods' ends, where they may decide who is tried first.

    Source: kubernetes `pkg/scheduler/backend/queue/backoff_queue.go` `getBackoffTime`, `alignToWindow`, `scheduling_queue.go`
    `flushUnschedulablePodsLeftover`.
    """
    queue, proven, is_cut = run.simulation.queue, True, False
    ways = [(clock, False) for clock in CLOCKS[1:] if queue.is_contested]  # the first was played
    for backs_off, again in (*ways, *([(0, True)] if queue.is_overtaken else [])):
        other = simulate(cluster, revisions, seed=seed, backs_off=backs_off, tries_again=again)
        if not other.is_cut and other.completed is not run.completed:
            where, word = _AGAIN if again else _WHERE[backs_off], "completes" if other.completed else "is stuck"
            return OtherClocks(sentence=Text(f"seconds may decide otherwise: {where} {word}"), is_proven=False)
        proven, is_cut = (
            proven and not other.is_cut and holds_in_every_placement(other, revisions),
            is_cut or other.is_cut,
        )
    return OtherClocks(is_proven=proven, is_cut=is_cut)


def doubts_of_chance(run: Run, ties: Ties, clocks: OtherClocks) -> Iterator[Doubt]:
    """What other placements and other seconds may make of a verdict, as far as they were played."""
    if not ties.proven:
        keys = [revision.after.key for revision in run.revisions]
        about = f"{PLACEMENT} of {keys[0] if len(keys) == 1 else f'all {len(keys):,}'}"
        what = TOO_LARGE if run.is_cut else f"it {ties.outcome}"
        yield Doubt(about=about, why=Text(what), could_change=Effect.VERDICT)
    if clocks.sentence:
        yield Doubt(about=SECONDS, why=clocks.sentence, could_change=Effect.VERDICT)
    elif not clocks.is_proven:
        why = Text("pods may end some seconds earlier or later than played, and not every such run was tried")
        yield Doubt(about=SECONDS, why=why, could_change=Effect.VERDICT)


def doubts_of_acting(moves: Sequence[IndependentActor], completes: bool) -> Iterator[Doubt]:
    """What may act on its own meanwhile: no recording tells when, so that nothing is proven."""
    decided_acts = {move.does for move in moves if move.then}
    for move in moves:
        if not move.then and move.does in decided_acts:
            continue  # what it comes to is told already: a node that may answer again is found twice
        yield Doubt(about=MEANWHILE_ACTING, why=Text(move.sentence(completes)), could_change=Effect.VERDICT)


def ties_beside(ties: Ties, doubts: Sequence[Doubt], findings: Sequence[Finding]) -> Ties:
    """What is known of ties beside all else that isn't sure, in one sentence."""
    if is_proven(doubts, findings):
        return ties
    more = [doubt for doubt in doubts if doubt.could_change is Effect.VERDICT and not doubt.about.startswith(PLACEMENT)]
    seconds = [str(doubt.why) for doubt in more if doubt.about == SECONDS]
    lead = f"{ties.outcome}, but {seconds[0]}" if seconds else str(ties.outcome)
    words = [lead, *(str(doubt.why) for doubt in more if doubt.about != SECONDS)]
    return replace(ties, proven=False, sentence=Text("; ".join(words)))


def scaled_at_once(run: Run, revisions: Sequence[Revision]) -> tuple[Finding, ...]:
    """Replicas that an autoscaler sets to others as soon as it looks, whatever its metrics say."""
    findings = []
    for key, desired_replicas in ((r.after.key, r.after.replicas) for r in revisions):
        scaler = autoscaler_of(run.simulation.snapshot, key)
        if scaler is None or run.replicas[key] == desired_replicas:
            continue
        findings.append(
            Finding(
                severity=Severity.WARNING, code="replicas-outside-autoscaler", object=key,
                what=f"{count(desired_replicas, 'replica is', 'replicas are')} outside the bounds of {_named(scaler)}, which sets "
                f"{run.replicas[key]:,} as soon as it looks: pods are deleted and made anew meanwhile",
                fix="Leave replicas out of the manifest of a workload that an autoscaler scales",
            )
        )  # fmt: skip
    return tuple(findings)


def _named(scaler: HorizontalPodAutoscaler) -> str:
    return f"{scaler.kind} {scaler.namespace}/{scaler.name}"
