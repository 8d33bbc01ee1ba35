"""Cycle after cycle until nothing moves: who is let in, who waits at which place and for what, who would be evicted for whom.

Nothing ends meanwhile, and none comes. Workloads that are evicted are not played on: they wait again, with what came of it not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.queues import FAIR_SINCE
from planner.kubernetes.records import ClusterQueue, Labels, LabelSelector, Presence, QueuedWorkload, Snapshot
from planner.kubernetes.selectors import labels_match
from planner.scheduling.kueue.candidates import Rules
from planner.scheduling.kueue.cycle import CycleStatus, Entry, QuotaState, nominate, reserves, run
from planner.scheduling.kueue.requests import as_counted
from planner.scheduling.kueue.standing import (
    ADMITTED,
    EVICTED,
    FINISHED,
    RESERVED,
    in_order,
    queued_at,
    state_of,
    waits,
    wanting,
)
from planner.scheduling.kueue.tree import FlavorResource
from planner.scheduling.kueue.wanting import NO_MATCH, NO_PLACES, TOO_MUCH, Lack, Mode, SetGiven, Target, Wanting

ROUNDS: Final = 4
"""How often those that were set aside are tried again after a workload went; beyond that they are not known."""


class Outcome(StrEnum):
    """What a workload that waits waits for."""

    LET_IN = "let in"  # quota is free: Kueue's next cycles give it
    EVICTS = "evicts others"
    QUOTA = "quota"
    NEVER = "never fits"  # more than its queue could ever have, or no flavor is for its pods
    BEHIND = "behind another"  # StrictFIFO: the first one of the queue waits
    CHECK = "admission check"
    STOPPED = "stopped"
    REFUSED = "refused"
    UNKNOWN = "not known"


class Verdict(Record):
    """Of one workload that waits.

    Attributes
    ----------
    key, queue : ``namespace/name`` of Kueue's Workload, and its ClusterQueue ("" where its LocalQueue leads to none)
    place : in its queue, from 1; 0 of one that has left it
    given : what it gets, or would; `lacks`: why not; `targets`: who would be evicted for it
    uses : what it takes of each flavor's resource, where it is let in
    why : in words, where `lacks` doesn't say it
    after : who has to be let in, or to go, first
    """

    key: str
    queue: str
    place: int
    outcome: Outcome
    priority: int = 0
    queued_at: float = 0.0
    given: tuple[SetGiven, ...] = ()
    lacks: tuple[Lack, ...] = ()
    targets: tuple[Target, ...] = ()
    uses: Mapping[FlavorResource, int] = field(default_factory=dict)
    why: str = ""
    after: str = ""


CHECKERS: Final = {
    "kueue.x-k8s.io/provisioning-request": "a ProvisioningRequest: whether an autoscaler brings its nodes isn't known",
    "kueue.x-k8s.io/multikueue": "MultiKueue: which cluster takes it isn't known",
}
"""An AdmissionCheck's controller → what hangs on it: kueue `apis/kueue/v1beta2/{provisioningrequestconfig,multikueue}_types.go`."""


class _Play:
    """`waiting`: by queue; `aside`: who doesn't fit for now; `shapes`: an entry of each kind that was set aside; `checkers`: admission
    check → its controller; `is_blind`: nodes or pods are missing in the input; `doubts`: the cohort above all → why it isn't known what becomes of those below."""

    def __init__(
        self,
        state: QuotaState,
        queues: Mapping[str, ClusterQueue],
        checkers: Mapping[str, str],
        *,
        is_blind: bool = False,
    ) -> None:
        self.state, self.queues, self.checkers, self.is_blind = state, queues, checkers, is_blind
        self.found: dict[str, Verdict] = {}
        self.places: dict[str, int] = {}
        self.tried: dict[str, list[dict[str, int]]] = {}
        self.waiting: dict[str, list[Wanting]] = {}
        self.aside: list[Wanting] = []
        self.shapes: dict[object, Entry] = {}
        self.doubts: dict[str, str] = {}

    def root(self, queue: str) -> str:
        """The cohort above all that it lends to or borrows from, or itself; "" of one that isn't there."""
        found = self.state.tree.queues.get(queue)
        return "" if found is None else found.root().name

    def told(self, one: Wanting, outcome: Outcome, **more: object) -> None:
        self.found[one.key] = Verdict(
            key=one.key, queue=one.queue, place=self.places[one.key], outcome=outcome, priority=one.priority,
            queued_at=one.queued_at, **more,  # type: ignore[arg-type]
        )  # fmt: skip


def play(snapshot: Snapshot, rules: Rules) -> dict[str, Verdict]:
    """Of every workload that waits, by key."""
    queues = {queue.name: queue for queue in snapshot.cluster_queues}
    is_blind = any(snapshot.presence.get(kind, Presence.ABSENT).is_lacking for kind in ("Node", "Pod"))
    checkers = {check.name: check.controller for check in snapshot.admission_checks}
    made = _Play(state_of(snapshot, rules), queues, checkers, is_blind=is_blind)
    _standing(made, snapshot)
    _cycles(made)
    _with_unknowns(made, snapshot)
    return made.found | {verdict.key: verdict for verdict in _at_a_check(snapshot, made.checkers)}


def _at_a_check(snapshot: Snapshot, checkers: Mapping[str, str]) -> Iterator[Verdict]:
    """Those that have quota, and wait for what is checked after it."""
    for one in snapshot.queued_workloads:
        if one.admitted_by and one.is_said(RESERVED) and not any(map(one.is_said, (ADMITTED, FINISHED, EVICTED))):
            open_ones = [
                f"{_check_words(checkers, check)}: {state}" for check, state in one.checks.items() if state != "Ready"
            ]
            said = (
                f"it has quota; not checked yet: {', '.join(open_ones)}"
                if open_ones
                else "it has quota, and isn't admitted yet"
            )
            yield Verdict(
                key=one.key, queue=one.admitted_by, place=0, outcome=Outcome.CHECK, priority=one.priority, queued_at=queued_at(one), why=said,
            )  # fmt: skip


def _standing(made: _Play, snapshot: Snapshot) -> None:
    """Who stands in which queue, but those of whom it is clear that they aren't let in."""
    labels = {one.name: one.labels for one in snapshot.namespaces}  # which say whose workloads a queue takes
    into = {(queue.namespace, queue.name): queue for queue in snapshot.local_queues}
    of_queue: dict[str, list[tuple[Wanting, QueuedWorkload]]] = {}
    for workload in as_counted(snapshot):
        if waits(workload):
            local = into.get((workload.namespace, workload.queue))
            name = local.cluster_queue if local is not None else ""
            of_queue.setdefault(name, []).append((wanting(workload, name), workload))
    for name, some in of_queue.items():
        records = {wants.key: record for wants, record in some}
        for place, each in enumerate(in_order(wants for wants, _ in some), 1):
            made.places[each.key] = place
            record = records[each.key]
            local = into.get((record.namespace, record.queue))
            outcome, why = _kept_out(made, record, name, local.stop if local is not None else "", labels)
            if outcome is None:
                made.waiting.setdefault(name, []).append(each)
            else:
                made.told(each, outcome, why=why)


def _kept_out(
    made: _Play, one: QueuedWorkload, name: str, stop: str, labels: Mapping[str, Labels]
) -> tuple[Outcome | None, str]:
    """Why it isn't looked at, whatever is free."""
    queue = made.queues.get(name)
    if not name:
        return Outcome.REFUSED, f"there is no LocalQueue {one.namespace}/{one.queue}"
    if queue is None:
        return Outcome.REFUSED, f"there is no ClusterQueue {name}"
    if "None" not in (stop, queue.stop) or stop not in ("", "None") or queue.stop != "None":
        return Outcome.STOPPED, "its queue is stopped (stopPolicy)"
    if queue.is_active is False:
        return Outcome.STOPPED, f"Kueue says that ClusterQueue {name} isn't active"
    above = made.state.tree.queues[name].ancestors()
    if made.state.tree.cycles and any(node.name in made.state.tree.cycles for node in above):
        return Outcome.STOPPED, "its cohort is its own ancestor"
    if one.namespace not in labels and queue.selector is not None and queue.selector != LabelSelector():
        return Outcome.UNKNOWN, f"its namespace isn't in the input, and {name} takes only some"
    if not labels_match(queue.selector, labels.get(one.namespace, Labels())):
        return Outcome.REFUSED, f"ClusterQueue {name} takes nothing of namespace {one.namespace}"
    if states := [f"{check}: {state}" for check, state in one.checks.items() if state in ("Retry", "Rejected")]:
        return Outcome.CHECK, f"an admission check failed ({', '.join(states)})"
    if limit := over_its_limit(one):
        return Outcome.REFUSED, limit
    return None, ""


def over_its_limit(one: QueuedWorkload) -> str:
    """Why Kueue refuses its pods by themselves (`pkg/workload/resources.go` `ValidateResources`); "" where it doesn't."""
    for each in one.sets:
        for container in (*each.spec.init_containers, *each.spec.containers):
            for resource, amount in container.requests.items():
                if amount > container.limits.get(resource, amount):
                    return f"a container asks for more {resource} than its limit"
    return ""


# ── the cycles ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _cycles(made: _Play) -> None:
    again: list[Wanting] = []
    for _ in range(ROUNDS):
        somebody_went = _until_still(made)
        again = [one for one in made.aside if made.found[one.key].outcome == Outcome.QUOTA]
        if not somebody_went or not again:
            return
        made.aside, made.shapes = [], {}
        for one in in_order(again):
            made.waiting.setdefault(one.queue, []).append(one)
    for one in again:  # a workload went once more, and they weren't tried since
        made.told(one, Outcome.UNKNOWN, why="others go and come for too long to be played")


def _until_still(made: _Play) -> bool:
    """Cycles until no queue's first one moves; those that don't fit are set aside. Whether a workload was evicted.

    Who is left then is tried in every cycle, and all behind them never are: kueue `pkg/scheduler/scheduler.go` `requeueAndUpdate` puts
    back at once who was skipped, `pkg/cache/queue/cluster_queue.go` `RequeueIfNotPresent` what is of a StrictFIFO queue.
    """
    somebody_went = False
    while heads := list(_heads(made)):
        entries = run(made.state, heads, made.tried)
        is_moving = False
        for entry in entries:
            moves, went = _after(made, entry)
            is_moving, somebody_went = is_moving or moves, somebody_went or went
            if went:
                made.shapes.clear()
        if not is_moving:
            for entry in entries:
                _wait(made, entry, is_tried_again=True)
    return somebody_went


def _shape(one: Wanting) -> object:
    sets = tuple((each.count, each.least, each.spec, each.asks) for each in one.sets)
    return one.queue, one.priority, sets


def _heads(made: _Play) -> Iterator[Wanting]:
    """The first of each queue; one that is as another that was set aside is set aside with it, as Kueue does by its hash."""
    for name in sorted(made.waiting):
        some = made.waiting[name]
        at = 0
        while at < len(some) and (like := made.shapes.get(_shape(some[at]))) is not None:
            _tell_waiting(made, some[at], like)
            made.aside.append(some[at])
            at += 1
        made.waiting[name] = some = some[at:]
        if some:
            yield some[0]


def _after(made: _Play, entry: Entry) -> tuple[bool, bool]:
    """Whether the queue moves, and whether a workload goes."""
    one, queue = entry.wanting, made.waiting[entry.queue.name]
    if entry.doubt:
        made.told(one, Outcome.UNKNOWN, why=entry.doubt)
        made.doubts.setdefault(made.root(one.queue), f"{one.key}: {entry.doubt}")
        queue.pop(0)
        return True, False
    if entry.status == CycleStatus.ADMITTED:
        checks = made.queues[one.queue].checks
        flavors = {given.flavor for each in entry.assignment.sets for given in each.flavors.values()}
        asked = [name for name, of in checks if not of or flavors & set(of)]
        why = f"then checked: {', '.join(_check_words(made.checkers, name) for name in asked)}" if asked else ""
        outcome = Outcome.CHECK if asked else Outcome.LET_IN
        made.told(one, outcome, given=entry.assignment.sets, uses=entry.assignment.use, why=why)
        queue.pop(0)
        return True, False
    if entry.status == CycleStatus.PREEMPTS:
        for target in entry.targets:
            made.state.tree.let_go(target.held)
            if (before := made.found.get(target.held.key)) is not None:
                made.found[before.key] = _unknown(before, f"it is let in, and evicted again for {one.key}")
        made.state.tree.hold(entry.held)
        found, targets = entry.assignment, tuple(entry.targets)
        made.told(one, Outcome.EVICTS, given=found.sets, uses=found.use, lacks=found.lacks, targets=targets)
        queue.pop(0)
        return True, True
    if entry.is_still_looking and entry.status in (CycleStatus.NO_FIT, CycleStatus.NO_CANDIDATES):
        tried = [{name: given.tried for name, given in each.flavors.items()} for each in entry.assignment.sets]
        if made.tried.get(one.key) != tried:
            made.tried[one.key] = tried
            return True, False
    if entry.status in (CycleStatus.SKIPPED, CycleStatus.DEFERRED):
        return False, False
    if entry.queue.is_strict and entry.status == CycleStatus.NO_CANDIDATES and reserves(entry):
        return False, False  # it stays the first, and keeps its queue's idle quota from borrowers in the cycles to come
    _wait(made, entry)
    if not entry.queue.is_strict:
        made.shapes[_shape(one)] = entry
    return True, False


def _check_words(checkers: Mapping[str, str], name: str) -> str:
    """``nodes (a ProvisioningRequest: whether an autoscaler brings its nodes isn't known)``."""
    said = CHECKERS.get(checkers.get(name, ""), "")
    return f"{name} ({said})" if said else name


def _wait(made: _Play, entry: Entry, *, is_tried_again: bool = False) -> None:
    """It is set aside; in a strict queue, and behind one that is tried again in every cycle, all behind it are."""
    one, queue = entry.wanting, made.waiting[entry.queue.name]
    if not queue or queue[0] is not one:
        return
    _tell_waiting(made, one, entry)
    made.aside.append(queue.pop(0))
    if entry.queue.is_strict or is_tried_again:
        said = "" if entry.queue.is_strict else "Kueue tries the first of the queue again in every cycle"
        for other in queue:
            made.told(other, Outcome.BEHIND, after=one.key, why=said)
        queue.clear()


def _tell_waiting(made: _Play, one: Wanting, entry: Entry) -> None:
    lacks = entry.assignment.lacks
    is_over = entry.assignment.mode == Mode.NO_FIT and all(each.kind in (TOO_MUCH, NO_MATCH) for each in lacks)
    why = "" if lacks else "others of its cohort come first"
    made.told(
        one, Outcome.NEVER if is_over and lacks else Outcome.QUOTA, lacks=lacks, given=entry.assignment.sets, why=why
    )


# ── what isn't known ─────────────────────────────────────────────────────────────────────────────────────────────────
def _with_unknowns(made: _Play, snapshot: Snapshot) -> None:
    """Where a rule that isn't modelled has a say, and for all whom that may touch, it isn't known."""
    records = {workload.key: workload for workload in snapshot.queued_workloads}
    today = state_of(snapshot, made.state.rules)  # no pending pod has quota yet
    doubted = dict(made.doubts)
    for verdict in list(made.found.values()):
        if (root := made.root(verdict.queue)) and (why := _not_modelled(made, today, verdict, records[verdict.key])):
            doubted.setdefault(root, f"{verdict.key}: {why}")
            made.found[verdict.key] = _unknown(verdict, why)
    for queue in made.queues.values():
        if queue.unmodelled:
            why = f"ClusterQueue {queue.name} has {', '.join(queue.unmodelled)}, which isn't modelled"
            doubted.setdefault(made.root(queue.name), why)
    for workload in snapshot.queued_workloads:
        if workload.unmodelled and (root := made.root(workload.admitted_by)):
            doubted.setdefault(root, f"{workload.key} has {', '.join(workload.unmodelled)}, which isn't modelled")
    for key, verdict in list(made.found.items()):
        is_doubted = verdict.outcome in _HANG_ON_OTHERS and not _lacks_quota(today, verdict, records[key])
        if is_doubted and (why := doubted.get(made.root(verdict.queue), "")):
            made.found[key] = _unknown(verdict, why)


_HANG_ON_OTHERS: Final = (Outcome.LET_IN, Outcome.EVICTS, Outcome.QUOTA, Outcome.BEHIND, Outcome.CHECK)


def _unknown(verdict: Verdict, why: str) -> Verdict:
    return Verdict(
        key=verdict.key, queue=verdict.queue, place=verdict.place, outcome=Outcome.UNKNOWN, priority=verdict.priority,
        queued_at=verdict.queued_at, lacks=verdict.lacks, why=why,
    )  # fmt: skip


def _places_not_modelled(made: _Play, today: QuotaState, verdict: Verdict, record: QueuedWorkload) -> str:
    """Why it isn't known which places its pods get in a topology; "" where it is, or where they get none."""
    flavors = made.state.flavors.objects
    of_queue = [name for group in made.queues[verdict.queue].groups for name in group.flavors]
    with_topology = [name for name in of_queue if name in flavors and flavors[name].topology]
    is_implied = bool(of_queue) and len(with_topology) == len(of_queue)
    if not with_topology or not (is_implied or any(each.is_topological for each in record.sets)):
        return ""
    if missing := [name for name in with_topology if name not in today.places]:
        return f"the input holds no Topology {flavors[missing[0]].topology}"
    if made.is_blind:
        return "the nodes and pods of its topology aren't all in the input"
    if any(each.group or each.has_slices for each in record.sets):
        return "slices and groups in a topology aren't modelled"
    if any(each.spec.node_affinity.preferred for each in record.sets):
        return "what preferred node affinity does in a topology isn't modelled"
    if verdict.outcome is Outcome.EVICTS:
        return "whether it fits a topology once others are evicted isn't modelled"
    if len(with_topology) > 1:
        return "which of several flavors with a topology it gets isn't modelled"
    mine = today.places[with_topology[0]].nodes.keys()
    if any(name not in with_topology and not mine.isdisjoint(each.nodes) for name, each in today.places.items()):
        return "flavors with a topology that share nodes aren't modelled"
    return (
        ""
        if _are_bound(today, with_topology[0])
        else f"some pods with quota of {with_topology[0]} aren't on their nodes yet"
    )


def _are_bound(today: QuotaState, flavor: str) -> bool:
    """Whether the pods that are on a flavor's nodes by Kueue ask for as much as Workloads hold of it."""
    held: dict[str, int] = {}
    for queue in today.tree.queues.values():
        for (name, resource), amount in queue.use.items():
            if name == flavor:
                held[resource] = held.get(resource, 0) + amount
    return all(today.places[flavor].held(resource) == amount for resource, amount in held.items())


def _lacks_quota(today: QuotaState, verdict: Verdict, record: QueuedWorkload) -> bool:
    """Whether too little quota is free for it before anybody else is let in, and no workload may be evicted for it: then it waits, whatever a
    topology or a check says to it and to others (`flavorassigner.go` assigns quota first)."""
    if verdict.outcome is not Outcome.QUOTA or verdict.queue not in today.tree.queues:
        return False
    entry = nominate(today, wanting(record, verdict.queue))
    found = entry.assignment
    is_quota = not found.lacks_places or any(lack.kind != NO_PLACES for lack in found.lacks)
    return found.mode != Mode.FIT and is_quota and not entry.targets and not entry.is_still_looking


def _not_modelled(made: _Play, today: QuotaState, verdict: Verdict, record: QueuedWorkload) -> str:
    if verdict.outcome not in _HANG_ON_OTHERS or _lacks_quota(today, verdict, record):
        return ""
    if record.unmodelled:
        return f"it has {', '.join(record.unmodelled)}, which isn't modelled"
    if why := _places_not_modelled(made, today, verdict, record):
        return why
    if made.state.rules.is_old and made.state.tree.queues[verdict.queue].parent is not None:
        return f"fair sharing of a Kueue before {FAIR_SINCE} isn't modelled"
    if not record.created_at:
        return "since when it waits isn't said"
    return ""
