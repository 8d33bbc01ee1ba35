"""Runs Kueue's cycles until nothing moves: which workloads are admitted, pending (place, reason) or evicted.

Meanwhile no workload ends, and none comes. Evicted workloads aren't played on: they wait again, and the outcome for them isn't known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.kueue_managed_pods import FAIR_SINCE
from planner.kubernetes.object_records import ClusterQueue, Labels, LabelSelector, Presence, QueuedWorkload, Snapshot
from planner.kubernetes.selectors import labels_match
from planner.scheduling.kueue.admission_cycle import CycleEntry, CycleStatus, QuotaState, nominate, reserves, run
from planner.scheduling.kueue.cohort_tree import FlavorResource
from planner.scheduling.kueue.pending_workload import (
    NO_MATCH,
    NO_PLACES,
    TOO_MUCH,
    Lack,
    Mode,
    PreemptionTarget,
    SetGiven,
    Wanting,
)
from planner.scheduling.kueue.preemption_candidates import Rules
from planner.scheduling.kueue.queue_state import (
    ADMITTED,
    EVICTED,
    RESERVED,
    has_quota,
    in_order,
    is_pending,
    queued_at,
    state_of,
    wanting,
)
from planner.scheduling.kueue.requests import as_counted

_REQUEUED: Final = "Requeued"
_REPLACEMENTS: Final = "WaitingForReplacementPods"
_GATED: Final = "False/AdmissionGated"
ROUNDS: Final = 4
"""How often those that were set aside are tried again after a workload went; beyond that they are not known."""


class AdmissionOutcome(StrEnum):
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


class KueueVerdict(Record):
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
    outcome: AdmissionOutcome
    priority: int = 0
    queued_at: float = 0.0
    given: tuple[SetGiven, ...] = ()
    lacks: tuple[Lack, ...] = ()
    targets: tuple[PreemptionTarget, ...] = ()
    uses: Mapping[FlavorResource, int] = field(default_factory=dict)
    why: str = ""
    after: str = ""


CHECKERS: Final = {
    "kueue.x-k8s.io/provisioning-request": "a ProvisioningRequest: whether an autoscaler brings its nodes isn't known",
    "kueue.x-k8s.io/multikueue": "MultiKueue: which cluster takes it isn't known",
}
"""An AdmissionCheck's controller → what depends on it: kueue `apis/kueue/v1beta2/{provisioningrequestconfig,multikueue}_types.go`."""


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
        self.found: dict[str, KueueVerdict] = {}
        self.places: dict[str, int] = {}
        self.tried: dict[str, list[dict[str, int]]] = {}
        self.waiting: dict[str, list[Wanting]] = {}
        self.aside: list[Wanting] = []
        self.shapes: dict[object, CycleEntry] = {}
        self.doubts: dict[str, str] = {}

    def root(self, queue: str) -> str:
        """The cohort above all that it lends to or borrows from, or itself; "" of one that isn't there."""
        cluster_queue = self.state.tree.queues.get(queue)
        return "" if cluster_queue is None else cluster_queue.root().name

    def told(self, claimant: Wanting, outcome: AdmissionOutcome, **more: object) -> None:
        self.found[claimant.key] = KueueVerdict(
            key=claimant.key, queue=claimant.queue, place=self.places[claimant.key], outcome=outcome, priority=claimant.priority,
            queued_at=claimant.queued_at, **more,  # type: ignore[arg-type]
        )  # fmt: skip


def play(snapshot: Snapshot, rules: Rules) -> dict[str, KueueVerdict]:
    """Of every workload that waits, by key."""
    queues = {queue.name: queue for queue in snapshot.cluster_queues}
    is_blind = any(snapshot.presence.get(kind, Presence.ABSENT).is_lacking for kind in ("Node", "Pod"))
    checkers = {check.name: check.controller for check in snapshot.admission_checks}
    kueue_play = _Play(state_of(snapshot, rules), queues, checkers, is_blind=is_blind)
    _standing(kueue_play, snapshot)
    _cycles(kueue_play)
    _with_unknowns(kueue_play, snapshot)
    return kueue_play.found | {verdict.key: verdict for verdict in _at_a_check(snapshot, kueue_play.checkers)}


def _at_a_check(snapshot: Snapshot, checkers: Mapping[str, str]) -> Iterator[KueueVerdict]:
    """Those that have quota, and wait for what is checked after it."""
    for workload in snapshot.queued_workloads:
        if has_quota(workload) and not workload.is_said(ADMITTED) and not workload.is_said(EVICTED):
            open_ones = [
                f"{_check_words(checkers, check)}: {state}"
                for check, state in workload.checks.items()
                if state != "Ready"
            ]
            check_text = (
                f"it has quota; not checked yet: {', '.join(open_ones)}"
                if open_ones
                else "it has quota, and isn't admitted yet"
            )
            yield KueueVerdict(
                key=workload.key, queue=workload.admitted_by, place=0, outcome=AdmissionOutcome.CHECK, priority=workload.priority, queued_at=queued_at(workload), why=check_text,
            )  # fmt: skip


def _standing(kueue_play: _Play, snapshot: Snapshot) -> None:
    """Who stands in which queue, but those of whom it is clear that they aren't let in."""
    labels = {space.name: space.labels for space in snapshot.namespaces}  # a queue selects by them
    into = {(queue.namespace, queue.name): queue for queue in snapshot.local_queues}
    of_queue: dict[str, list[tuple[Wanting, QueuedWorkload]]] = {}
    for workload in as_counted(snapshot):
        if is_pending(workload):
            local = into.get((workload.namespace, workload.queue))
            name = local.cluster_queue if local is not None else ""
            of_queue.setdefault(name, []).append((wanting(workload, name), workload))
    for name, queue_records in of_queue.items():
        records = {wants.key: record for wants, record in queue_records}
        for place, each in enumerate(in_order(wants for wants, _ in queue_records), 1):
            kueue_play.places[each.key] = place
            record = records[each.key]
            local = into.get((record.namespace, record.queue))
            outcome, why = _kept_out(kueue_play, record, name, local.stop if local is not None else "", labels)
            if outcome is None:
                kueue_play.waiting.setdefault(name, []).append(each)
            else:
                kueue_play.told(each, outcome, why=why)


def _kept_out(
    kueue_play: _Play, workload: QueuedWorkload, name: str, stop: str, labels: Mapping[str, Labels]
) -> tuple[AdmissionOutcome | None, str]:
    """Why it isn't looked at, whatever is free."""
    queue = kueue_play.queues.get(name)
    if not name:
        return AdmissionOutcome.REFUSED, f"there is no LocalQueue {workload.namespace}/{workload.queue}"
    if queue is None:
        return AdmissionOutcome.REFUSED, f"there is no ClusterQueue {name}"
    if "None" not in (stop, queue.stop) or stop not in ("", "None") or queue.stop != "None":
        return AdmissionOutcome.STOPPED, "its queue is stopped (stopPolicy)"
    if queue.is_active is False:
        return AdmissionOutcome.STOPPED, f"Kueue says that ClusterQueue {name} isn't active"
    above = kueue_play.state.tree.queues[name].ancestors()
    if kueue_play.state.tree.cycles and any(node.name in kueue_play.state.tree.cycles for node in above):
        return AdmissionOutcome.STOPPED, "its cohort is its own ancestor"
    # An empty selector takes every namespace: only another one depends on labels that weren't read.
    if workload.namespace not in labels and queue.selector is not None and queue.selector != LabelSelector():
        return AdmissionOutcome.UNKNOWN, f"its namespace isn't in the input, and {name} takes only some"
    if not labels_match(queue.selector, labels.get(workload.namespace, Labels())):
        return AdmissionOutcome.REFUSED, f"ClusterQueue {name} takes nothing of namespace {workload.namespace}"
    if states := [f"{check}: {state}" for check, state in workload.checks.items() if state in ("Retry", "Rejected")]:
        return AdmissionOutcome.CHECK, f"an admission check failed ({', '.join(states)})"
    if limit := over_its_limit(workload):
        return AdmissionOutcome.REFUSED, limit
    # `pkg/workload/workload.go` `IsAdmissible`: such a one is put into no queue, so nobody waits behind it.
    if workload.is_said(_REPLACEMENTS):
        return (
            AdmissionOutcome.REFUSED,
            f"Kueue queues it once pods that its group lacks are there (its condition {_REPLACEMENTS} is True)",
        )
    if workload.conditions.get(RESERVED) == _GATED:
        return (
            AdmissionOutcome.REFUSED,
            f"Kueue queues it once nothing gates its admission (its condition {RESERVED} is {_GATED})",
        )
    # `pkg/cache/queue/cluster_queue.go` `backoffWaitingTimeExpired`: until then it stands in no heap, so nobody waits behind it.
    if workload.conditions.get(_REQUEUED, "").startswith("False"):
        return AdmissionOutcome.UNKNOWN, f"Kueue puts it back into its queue later (its condition {_REQUEUED} is False)"
    return None, ""


def over_its_limit(workload: QueuedWorkload) -> str:
    """Why Kueue refuses its pods by themselves (`pkg/workload/resources.go` `ValidateResources`); "" where it doesn't."""
    for each in workload.sets:
        for container in (*each.spec.init_containers, *each.spec.containers):
            for resource, amount in container.requests.items():
                if amount > container.limits.get(resource, amount):
                    return f"a container asks for more {resource} than its limit"
    return ""


# ── the cycles ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _cycles(kueue_play: _Play) -> None:
    again: list[Wanting] = []
    for _ in range(ROUNDS):
        somebody_went = _until_still(kueue_play)
        again = [
            claimant
            for claimant in kueue_play.aside
            if kueue_play.found[claimant.key].outcome == AdmissionOutcome.QUOTA
        ]
        if not somebody_went or not again:
            return
        kueue_play.aside, kueue_play.shapes = [], {}
        for waiting_workload in in_order(again):
            kueue_play.waiting.setdefault(waiting_workload.queue, []).append(waiting_workload)
    for waiting_workload in again:  # a workload went once more, and they weren't tried since
        kueue_play.told(waiting_workload, AdmissionOutcome.UNKNOWN, why="others go and come for too long to be played")


def _until_still(kueue_play: _Play) -> bool:
    """Cycles until no queue's first one moves; those that don't fit are set aside. Whether a workload was evicted.

    Who is left then is tried in every cycle, and all behind them never are: kueue `pkg/scheduler/scheduler.go` `requeueAndUpdate` puts
    back at once who was skipped, `pkg/cache/queue/cluster_queue.go` `RequeueIfNotPresent` what is of a StrictFIFO queue.
    """
    somebody_went = False
    while heads := list(_heads(kueue_play)):
        entries = run(kueue_play.state, heads, kueue_play.tried)
        is_moving = False
        for cycle_entry in entries:
            moves, went = _after(kueue_play, cycle_entry)
            is_moving, somebody_went = is_moving or moves, somebody_went or went
            if went:
                kueue_play.shapes.clear()
        if not is_moving:
            for cycle_entry in entries:
                _wait(kueue_play, cycle_entry, is_tried_again=True)
    return somebody_went


def _shape(claimant: Wanting) -> object:
    sets = tuple((each.count, each.least, each.spec, each.asks) for each in claimant.sets)
    return claimant.queue, claimant.priority, sets


def _heads(kueue_play: _Play) -> Iterator[Wanting]:
    """The first of each queue; one that is as another that was set aside is set aside with it, as Kueue does by its hash."""
    for name in sorted(kueue_play.waiting):
        queue_members = kueue_play.waiting[name]
        at = 0
        while at < len(queue_members) and (like := kueue_play.shapes.get(_shape(queue_members[at]))) is not None:
            _tell_waiting(kueue_play, queue_members[at], like)
            kueue_play.aside.append(queue_members[at])
            at += 1
        kueue_play.waiting[name] = queue_members = queue_members[at:]
        if queue_members:
            yield queue_members[0]


def _after(kueue_play: _Play, cycle_entry: CycleEntry) -> tuple[bool, bool]:
    """Whether the queue moves, and whether a workload goes."""
    claimant, queue = cycle_entry.wanting, kueue_play.waiting[cycle_entry.queue.name]
    if cycle_entry.doubt:
        kueue_play.told(claimant, AdmissionOutcome.UNKNOWN, why=cycle_entry.doubt)
        kueue_play.doubts.setdefault(kueue_play.root(claimant.queue), f"{claimant.key}: {cycle_entry.doubt}")
        queue.pop(0)
        return True, False
    if cycle_entry.status == CycleStatus.ADMITTED:
        checks = kueue_play.queues[claimant.queue].checks
        flavors = {assignment.flavor for each in cycle_entry.assignment.sets for assignment in each.flavors.values()}
        check_names = [name for name, of in checks if not of or flavors & set(of)]
        why = (
            f"then checked: {', '.join(_check_words(kueue_play.checkers, name) for name in check_names)}"
            if check_names
            else ""
        )
        outcome = AdmissionOutcome.CHECK if check_names else AdmissionOutcome.LET_IN
        kueue_play.told(claimant, outcome, given=cycle_entry.assignment.sets, uses=cycle_entry.assignment.use, why=why)
        queue.pop(0)
        return True, False
    if cycle_entry.status == CycleStatus.PREEMPTS:
        for target in cycle_entry.targets:
            kueue_play.state.tree.let_go(target.held)
            if (before := kueue_play.found.get(target.held.key)) is not None:
                kueue_play.found[before.key] = _unknown(before, f"it is let in, and evicted again for {claimant.key}")
        kueue_play.state.tree.hold(cycle_entry.held)
        granted, targets = cycle_entry.assignment, tuple(cycle_entry.targets)
        kueue_play.told(
            claimant,
            AdmissionOutcome.EVICTS,
            given=granted.sets,
            uses=granted.use,
            lacks=granted.lacks,
            targets=targets,
        )
        queue.pop(0)
        return True, True
    if cycle_entry.is_still_looking and cycle_entry.status in (CycleStatus.NO_FIT, CycleStatus.NO_CANDIDATES):
        tried = [
            {name: assignment.tried for name, assignment in each.flavors.items()}
            for each in cycle_entry.assignment.sets
        ]
        # Kueue tries the flavors that are left in its next cycle, and goes on as long as one of them is new.
        if kueue_play.tried.get(claimant.key) != tried:
            kueue_play.tried[claimant.key] = tried
            return True, False
    if cycle_entry.status in (CycleStatus.SKIPPED, CycleStatus.DEFERRED):
        return False, False
    if cycle_entry.queue.is_strict and cycle_entry.status == CycleStatus.NO_CANDIDATES and reserves(cycle_entry):
        return False, False  # it stays the first, and keeps its queue's idle quota from borrowers in the cycles to come
    _wait(kueue_play, cycle_entry)
    if not cycle_entry.queue.is_strict:
        kueue_play.shapes[_shape(claimant)] = cycle_entry
    return True, False


def _check_words(checkers: Mapping[str, str], name: str) -> str:
    """``nodes (a ProvisioningRequest: whether an autoscaler brings its nodes isn't known)``."""
    checker_text = CHECKERS.get(checkers.get(name, ""), "")
    return f"{name} ({checker_text})" if checker_text else name


def _wait(kueue_play: _Play, cycle_entry: CycleEntry, *, is_tried_again: bool = False) -> None:
    """It is set aside; in a strict queue, and behind one that is tried again in every cycle, all behind it are."""
    claimant, queue = cycle_entry.wanting, kueue_play.waiting[cycle_entry.queue.name]
    if not queue or queue[0] is not claimant:
        return
    _tell_waiting(kueue_play, claimant, cycle_entry)
    kueue_play.aside.append(queue.pop(0))
    if cycle_entry.queue.is_strict or is_tried_again:
        retry_text = "" if cycle_entry.queue.is_strict else "Kueue tries the first of the queue again in every cycle"
        for other in queue:
            kueue_play.told(other, AdmissionOutcome.BEHIND, after=claimant.key, why=retry_text)
        queue.clear()


def _tell_waiting(kueue_play: _Play, claimant: Wanting, cycle_entry: CycleEntry) -> None:
    lacks = cycle_entry.assignment.lacks
    is_over = cycle_entry.assignment.mode == Mode.NO_FIT and all(each.kind in (TOO_MUCH, NO_MATCH) for each in lacks)
    why = "" if lacks else "others of its cohort come first"
    kueue_play.told(
        claimant,
        AdmissionOutcome.NEVER if is_over and lacks else AdmissionOutcome.QUOTA,
        lacks=lacks,
        given=cycle_entry.assignment.sets,
        why=why,
    )


# ── what isn't known ─────────────────────────────────────────────────────────────────────────────────────────────────
def _with_unknowns(kueue_play: _Play, snapshot: Snapshot) -> None:
    """Where a rule that isn't modeled has a say, and for all whom that may touch, it isn't known."""
    records = {workload.key: workload for workload in snapshot.queued_workloads}
    today = state_of(snapshot, kueue_play.state.rules)  # no pending pod has quota yet
    doubted = dict(kueue_play.doubts)
    for verdict in list(kueue_play.found.values()):
        if (root := kueue_play.root(verdict.queue)) and (
            why := _not_modelled(kueue_play, today, verdict, records[verdict.key])
        ):
            doubted.setdefault(root, f"{verdict.key}: {why}")
            kueue_play.found[verdict.key] = _unknown(verdict, why)
    for queue in kueue_play.queues.values():
        if queue.unmodelled:
            why = f"ClusterQueue {queue.name} has {', '.join(queue.unmodelled)}, which isn't modelled"
            doubted.setdefault(kueue_play.root(queue.name), why)
    for workload in snapshot.queued_workloads:
        if workload.unmodelled and (root := kueue_play.root(workload.admitted_by)):
            doubted.setdefault(root, f"{workload.key} has {', '.join(workload.unmodelled)}, which isn't modelled")
    for key, verdict in list(kueue_play.found.items()):
        is_doubted = verdict.outcome in _HANG_ON_OTHERS and not _lacks_quota(today, verdict, records[key])
        if is_doubted and (why := doubted.get(kueue_play.root(verdict.queue), "")):
            kueue_play.found[key] = _unknown(verdict, why)


_HANG_ON_OTHERS: Final = (
    AdmissionOutcome.LET_IN,
    AdmissionOutcome.EVICTS,
    AdmissionOutcome.QUOTA,
    AdmissionOutcome.BEHIND,
    AdmissionOutcome.CHECK,
)


def _unknown(verdict: KueueVerdict, why: str) -> KueueVerdict:
    return KueueVerdict(
        key=verdict.key, queue=verdict.queue, place=verdict.place, outcome=AdmissionOutcome.UNKNOWN, priority=verdict.priority,
        queued_at=verdict.queued_at, lacks=verdict.lacks, why=why,
    )  # fmt: skip


def _places_not_modelled(kueue_play: _Play, today: QuotaState, verdict: KueueVerdict, record: QueuedWorkload) -> str:
    """Why it isn't known which places its pods get in a topology; "" where it is, or where they get none."""
    flavors = kueue_play.state.flavors.objects
    of_queue = [name for group in kueue_play.queues[verdict.queue].groups for name in group.flavors]
    with_topology = [name for name in of_queue if name in flavors and flavors[name].topology]
    # Where every flavor of the queue has a topology, Kueue places each workload in it, asked for or not.
    is_implied = bool(of_queue) and len(with_topology) == len(of_queue)
    if not with_topology or not (is_implied or any(each.is_topological for each in record.sets)):
        return ""
    if missing := [name for name in with_topology if name not in today.places]:
        return f"the input holds no Topology {flavors[missing[0]].topology}"
    if kueue_play.is_blind:
        return "the nodes and pods of its topology aren't all in the input"
    if any(each.group or each.has_slices for each in record.sets):
        return "slices and groups in a topology aren't modelled"
    if any(each.spec.node_affinity.preferred for each in record.sets):
        return "what preferred node affinity does in a topology isn't modelled"
    if verdict.outcome is AdmissionOutcome.EVICTS:
        return "whether it fits a topology once others are evicted isn't modelled"
    if len(with_topology) > 1:
        return "which of several flavors with a topology it gets isn't modelled"
    own_nodes = today.places[with_topology[0]].nodes.keys()
    if any(name not in with_topology and not own_nodes.isdisjoint(each.nodes) for name, each in today.places.items()):
        return "flavors with a topology that share nodes aren't modelled"
    return (
        ""
        if _are_bound(today, with_topology[0])
        else f"some pods with quota of {with_topology[0]} aren't on their nodes yet"
    )


def _are_bound(today: QuotaState, flavor: str) -> bool:
    """Whether the pods that are on a flavor's nodes by Kueue ask for as much as Workloads hold of it."""
    used_amounts: dict[str, int] = {}
    for queue in today.tree.queues.values():
        for (name, resource), amount in queue.use.items():
            if name == flavor:
                used_amounts[resource] = used_amounts.get(resource, 0) + amount
    return all(today.places[flavor].held(resource) == amount for resource, amount in used_amounts.items())


def _lacks_quota(today: QuotaState, verdict: KueueVerdict, record: QueuedWorkload) -> bool:
    """Whether too little quota is free for it before anybody else is let in, and no workload may be evicted for it: then it waits, whatever a
    topology or a check says to it and to others (`flavorassigner.go` assigns quota first)."""
    if verdict.outcome is not AdmissionOutcome.QUOTA or verdict.queue not in today.tree.queues:
        return False
    cycle_entry = nominate(today, wanting(record, verdict.queue))
    assignment = cycle_entry.assignment
    is_quota = not assignment.lacks_places or any(lack.kind != NO_PLACES for lack in assignment.lacks)
    return assignment.mode != Mode.FIT and is_quota and not cycle_entry.targets and not cycle_entry.is_still_looking


def _not_modelled(kueue_play: _Play, today: QuotaState, verdict: KueueVerdict, record: QueuedWorkload) -> str:
    if verdict.outcome not in _HANG_ON_OTHERS or _lacks_quota(today, verdict, record):
        return ""
    if record.unmodelled:
        return f"it has {', '.join(record.unmodelled)}, which isn't modelled"
    if why := _places_not_modelled(kueue_play, today, verdict, record):
        return why
    if kueue_play.state.rules.is_old and kueue_play.state.tree.queues[verdict.queue].parent is not None:
        return f"fair sharing of a Kueue before {FAIR_SINCE} isn't modelled"
    if not record.created_at:
        return "since when it waits isn't said"
    return ""
