"""Events beside a rollout: changes of the cluster, each at its time, and how late each may come.

What changes a workload is a revision that comes later and has a verdict of its own; the rest happens to the cluster
(`planner.scheduling.happening`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.capacity.changes import ChangeKind, Later
from planner.capacity.what_if import Case, copies, quota_words
from planner.ground.errors import ChangeError, NotKnownError
from planner.ground.records import dataclass, replace
from planner.ground.vocabulary import DEFAULT_NAMESPACE
from planner.ground.words import Text, count, duration
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.kinds import kind_called
from planner.kubernetes.records import Pod
from planner.kubernetes.selectors import tolerates_cordon
from planner.rollout.answers import Bearing, EventBeside
from planner.rollout.happenings import is_called
from planner.rollout.in_flight import in_flight
from planner.rollout.prepared import Prepared, Scenario, compiled, prepare
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.happening import Happening

_WORK_UNITS: Final = 3_000_000
"""What asking for all events' latest times may cost (`planner.ground.budget`): a few seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What happens beside a rollout. `manifests`: the texts of what is applied later, in the order of those events; `limits`:
    how far pools may grow, where somebody says."""

    later: tuple[Later, ...] = ()
    manifests: tuple[str, ...] = ()
    limits: tuple[PoolLimits, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One event, worked out: what happens to the cluster, or the workloads that are changed."""

    later: Later
    words: str
    happening: Happening | None = None
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A scenario with what happens beside it: `cluster` is the one to play on."""

    prepared: Prepared
    cluster: Cluster
    planned: tuple[Planned, ...] = ()


def timeline(prepared: Prepared, beside: Beside, *, namespace: str = DEFAULT_NAMESPACE) -> Timeline:
    """The events worked out against what is prepared; `namespace` is of objects applied later that name none.

    Raises
    ------
    ChangeError
        For what isn't there, and for two changes of one workload that aren't played.
    NotKnownError
        Where what an event brings isn't told by the snapshot.
    """
    cluster = compiled(prepared.snapshot)
    if not beside.later:
        return Timeline(prepared=prepared, cluster=cluster)
    texts = iter(beside.manifests)
    given = {one: next(texts, "") for one in beside.later if one.change.kind is ChangeKind.APPLY}
    planned: list[Planned] = []
    for one in sorted(beside.later, key=lambda one: one.after_seconds):
        case = Case(cluster, one.change, beside.limits)
        if one.change.kind is ChangeKind.ADD:
            cluster, found = _added(case, one, len(planned))
        elif one.change.kind in (ChangeKind.APPLY, ChangeKind.RESIZE, ChangeKind.REPLICAS):
            prepared, found = _changed(case, one, prepared, given.get(one, ""), namespace)
        else:
            found = _happening(case, one, prepared)
        planned.append(found)
    revisions = tuple(replace(r, times=t) for r, t in zip(prepared.revisions, prepared.pod_times, strict=True))
    return Timeline(
        prepared=replace(prepared, revisions=revisions),
        cluster=cluster.expecting(tuple(one.happening for one in planned if one.happening is not None)),
        planned=tuple(planned),
    )


# ── what happens to the cluster ──────────────────────────────────────────────────────────────────────────────────────
def _added(case: Case, one: Later, place: int) -> tuple[Cluster, Planned]:
    pool, number = case.pool(), int(one.change.value)
    if any(some.node_name in pool.nodes for some in case.snapshot.resource_slices):
        raise NotKnownError(
            f"which devices a new node of pool {pool.name} has isn't known: ResourceSlices tell them of nodes that are there",
            mend="Ask without this event, or with nodes of a pool without ResourceSlices",
        )
    nodes = copies(case.cluster, pool, number, f"later{place}")
    words = f"pool {pool.name} grows from {pool.node_count:,} to {pool.node_count + number:,} nodes"
    room = pool.room()
    if room is not None and number > room:
        words += f", past what {pool.limit_text} allows"
    grown = case.cluster.grown(nodes)
    happening = Happening(after_seconds=one.after_seconds, words=words, nodes_come=tuple(node.name for node in nodes))
    return grown, Planned(later=one, words=words, happening=happening)


def _happening(case: Case, one: Later, prepared: Prepared) -> Planned:
    kind, target = one.change.kind, one.change.target
    if kind is ChangeKind.DELETE:
        found = Happening(
            after_seconds=one.after_seconds, words=f"{_nodes(case.nodes())} deleted", nodes_go=case.nodes()
        )
    elif kind is ChangeKind.REMOVE_ZONE:
        nodes = case.zone()
        found = Happening(
            after_seconds=one.after_seconds, words=f"zone {target} with {_nodes(nodes)} gone", nodes_go=nodes
        )
    elif kind is ChangeKind.DRAIN:
        _check_cordons(case, prepared)
        found = Happening(after_seconds=one.after_seconds, words=f"{_nodes(case.nodes())} drained", drains=case.nodes())
    elif kind is ChangeKind.EVICT:
        found = Happening(after_seconds=one.after_seconds, words=f"pod {target} evicted", evicts=(case.pod(),))
    elif kind is ChangeKind.QUOTA:
        quota, hard = case.quota()
        found = Happening(
            after_seconds=one.after_seconds,
            words=quota_words(one.change),
            quota=f"{quota.namespace}/{quota.name}",
            hard=hard,
        )
    elif kind is ChangeKind.JOB_ENDS:
        found = Happening(after_seconds=one.after_seconds, words=f"Job {target} ends", ends=case.job().key)
    else:
        if not (case.gated() or any(_is_gated(revision, target) for revision in prepared.revisions)):
            raise ChangeError(f"no pod of {target} waits behind a scheduling gate", where=str(one)[:120])
        found = Happening(
            after_seconds=one.after_seconds, words=f"pods of {target} lose their scheduling gates", ungates=target
        )
    return Planned(later=one, words=found.words, happening=found)


def _check_cordons(case: Case, prepared: Prepared) -> None:
    """Pods that a cordon doesn't keep off a node, and those that are spread over nodes without taints, aren't played while one
    comes.

    Raises
    ------
    NotKnownError
        Where some are there that may be made anew, or wait.
    """
    moving = [r.after for r in prepared.revisions]
    moving += [one.workload for one in in_flight(case.cluster) if one.workload is not None]
    specs = [(one.key, template.spec) for one in moving for template, _ in one.templates]
    drained = set(case.nodes())
    specs += [
        (f"pod {pod.namespace}/{pod.name}", pod.spec)
        for pod in case.snapshot.pods
        if not pod.node_name or (pod.node_name in drained and not _is_daemons(pod))
    ]
    cordoned = [replace(case.cluster.nodes[case.cluster.node_index[name]], is_cordoned=True) for name in drained]
    daemons = {one.key for one in moving if one.traits.is_per_node}
    for name, spec in specs:
        honors = any(one.node_taints_policy == "Honor" for one in spec.topology_spread)
        if honors or name in daemons or any(tolerates_cordon(spec, node) for node in cordoned):
            why = "is spread over nodes without taints" if honors else "goes to cordoned nodes, too"
            raise NotKnownError(
                f"{name} {why}, and a drain beside it isn't played",
                mend="headroom what-if --change drain:… plays it by itself",
            )


def _is_daemons(pod: Pod) -> bool:
    return pod.owner is not None and kind_called(pod.owner.kind).is_per_node


def _nodes(names: Sequence[str]) -> str:
    return f"node {names[0]}" if len(names) == 1 else count(len(names), "node")


def _is_gated(revision: Revision, target: str) -> bool:
    namespace, _, name = target.partition("/")
    is_meant = revision.after.namespace == namespace and is_called(name, "", revision.after.key)
    return is_meant and any(template.spec.scheduling_gates for template, _ in revision.templates)


# ── what changes workloads ───────────────────────────────────────────────────────────────────────────────────────────
def _changed(case: Case, one: Later, prepared: Prepared, text: str, namespace: str) -> tuple[Prepared, Planned]:
    known = {revision.after.key.lower(): revision for revision in prepared.revisions}
    mine = known.get(one.change.target.lower())
    if one.change.kind is ChangeKind.REPLICAS and (mine is not None or _flies(case.cluster, one.change.target)):
        return prepared, _scaled(one, mine)
    if one.change.kind is ChangeKind.APPLY:
        if not text:
            raise ChangeError("no file is read here", where=str(one)[:120], mend="headroom rollout --then takes one")
        scenario = Scenario(manifest=text, namespace=namespace)
        words = f"{one.change.target} is applied"
    else:
        _, asked, words = case.workload()
        scenario = Scenario(changes=(asked,))
    more = prepare(prepared.snapshot, scenario)
    if more.snapshot is not prepared.snapshot:
        raise ChangeError(
            "only workloads are applied while a rollout goes on", where=str(one)[:120],
            mend="Leave quotas, autoscalers and other objects out of that file, or apply them with the change",
        )  # fmt: skip
    for revision in more.revisions:
        if revision.after.key.lower() in known or _flies(case.cluster, revision.after.key):
            raise ChangeError(
                f"{revision.after.key} is rolling out when this comes: two changes of one workload aren't played",
                where=str(one)[:120], mend="Of such a workload only replicas: is played",
            )  # fmt: skip
    revisions = tuple(replace(revision, after_seconds=one.after_seconds) for revision in more.revisions)
    whole = replace(
        prepared, revisions=prepared.revisions + revisions, pod_times=prepared.pod_times + more.pod_times,
        findings=prepared.findings + more.findings, unknown=prepared.unknown + more.unknown,
    )  # fmt: skip
    return whole, Planned(later=one, words=words, keys=frozenset(revision.after.key for revision in revisions))


def _flies(cluster: Cluster, key: str) -> bool:
    return any(one.key.lower() == key.lower() for one in in_flight(cluster))


def _scaled(one: Later, mine: Revision | None) -> Planned:
    """Replicas of a workload whose controller has begun."""
    key, replicas = mine.after.key if mine is not None else one.change.target, int(one.change.value)
    if mine is not None and (not mine.after.traits.has_replicas or one.after_seconds < mine.after_seconds):
        raise ChangeError(f"{key} can't be scaled then", where=str(one)[:120], mend="Scale a Deployment or StatefulSet, once its change has come")  # fmt: skip
    words = f"{key} with replicas {replicas:,}"
    happening = Happening(after_seconds=one.after_seconds, words=words, scales=key, replicas=replicas)
    return Planned(later=one, words=words, happening=happening)


# ── how late ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def told(found: Timeline, run: Run, first: Run, *, seed: int, is_asked: bool) -> tuple[EventBeside, ...]:
    """What became of each event in `run`, and how late it may come in the `first` placement; that isn't worked out where it
    isn't asked, or where another verdict is commoner than the first's."""
    bearings = _Bearings(found, first, seed)
    is_asked = is_asked and first.completed is run.completed
    return tuple(_told(one, run, bearings.of(one) if is_asked else _Bore(Bearing.UNKNOWN)) for one in found.planned)


@dataclass(frozen=True, slots=True)
class _Bore:
    bearing: Bearing
    at_seconds: float | None = None
    without: bool | None = None


def _told(one: Planned, run: Run, bore: _Bore) -> EventBeside:
    happened = one.happening in run.happened if one.happening is not None else one.keys <= run.waited.keys()
    sentence = f"after {duration(one.later.after_seconds)}, {one.words}"
    if not happened:
        sentence += ", when all is done already"
    said = _said(bore, completes=run.completed)
    return EventBeside(
        event=str(one.later),
        after_seconds=one.later.after_seconds,
        happened=happened,
        sentence=Text(f"{sentence}: {said}" if said else sentence),
        bearing=bore.bearing,
        until_seconds=bore.at_seconds if bore.bearing is Bearing.UNTIL else None,
        from_seconds=bore.at_seconds if bore.bearing is Bearing.FROM else None,
        completes_without=bore.without,
    )


def _said(bore: _Bore, *, completes: bool) -> str:
    at = duration(bore.at_seconds or 0)
    word = "completes" if completes else "is stuck"
    return {
        Bearing.NEVER_DECIDES: f"it never decides, the rollout {word} with it and without",
        Bearing.ANY_TIME: "it may come at any time, and without it the rollout is stuck",
        Bearing.UNTIL: f"it has to come before {at}, else the rollout is stuck",
        Bearing.FROM: f"it must not come before {at}, else the rollout is stuck",
        Bearing.NEVER: "whenever it comes the rollout is stuck, and without it it completes",
        Bearing.MIXED: "the rollout completes with it at some times and not at others",
        Bearing.UNKNOWN: "",
    }[bore.bearing]


class _Bearings:
    """The rollout with one event at other times, the others as asked: at once, at rest, not at all, and by halving between."""

    def __init__(self, found: Timeline, run: Run, seed: int) -> None:
        self._found, self._run, self._seed = found, run, seed
        self._left = _WORK_UNITS

    def of(self, one: Planned) -> _Bore:
        first, last, without = self._at(one, 0.0), self._at(one, WHEN_AT_REST), self._at(one, None)
        if self._run.is_cut or first is None or last is None or without is None:
            return _Bore(Bearing.UNKNOWN)
        own = self._run.completed
        if first.completed is last.completed:
            if own is not first.completed:
                return _Bore(Bearing.MIXED, without=without.completed)
            if own is without.completed:
                return _Bore(Bearing.NEVER_DECIDES, without=own)
            return _Bore(Bearing.ANY_TIME if own else Bearing.NEVER, without=without.completed)
        at = self._turning(one, (0.0, *last.tick_ends), is_early=first.completed)
        if at is None:
            return _Bore(Bearing.UNKNOWN, without=without.completed)
        is_early = one.later.after_seconds < at
        if own is not (is_early if first.completed else not is_early):
            return _Bore(Bearing.MIXED, without=without.completed)
        return _Bore(Bearing.UNTIL if first.completed else Bearing.FROM, at, without.completed)

    def _turning(self, one: Planned, times: Sequence[float], *, is_early: bool) -> float | None:
        """The first of `times` with which it isn't as at once: an event between two of them comes at the earlier."""
        low, high = 0, len(times) - 1
        while high - low > 1:
            middle = (low + high) // 2
            run = self._at(one, times[middle])
            if run is None:
                return None
            low, high = (middle, high) if run.completed is is_early else (low, middle)
        return times[high]

    def _at(self, one: Planned, seconds: float | None) -> Run | None:
        """The run with the event then, None: without it; nothing where it is too much to play."""
        if self._left <= 0:
            return None
        later = [h for h in self._found.cluster.later if h is not one.happening]
        revisions = [r for r in self._found.prepared.revisions if r.after.key not in one.keys]
        if seconds is not None and one.happening is not None:
            later.append(replace(one.happening, after_seconds=seconds))
        elif seconds is not None:
            mine = (r for r in self._found.prepared.revisions if r.after.key in one.keys)
            revisions += [replace(r, after_seconds=seconds) for r in mine]
        run = simulate(self._found.cluster.expecting(tuple(later)), revisions, seed=self._seed)
        self._left -= run.work
        return None if run.is_cut else run
