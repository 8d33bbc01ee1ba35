"""Kueue's own test tables, made into JSON once, and how each is asked of the rules here.

Each file names its repository, commit, Go file, function and licence, and the cases that were left out, with the reason.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from planner.ground.records import replace
from planner.inventory.records.read_context import Shared
from planner.inventory.snapshot_parser import read_object
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import QueuedSet, Snapshot
from planner.kubernetes.selectors import labels_match
from planner.scheduling.kueue.admission_cycle import CycleStatus, QuotaState, run
from planner.scheduling.kueue.admission_cycles import over_its_limit
from planner.scheduling.kueue.fair_sharing_preemption import STRATEGIES
from planner.scheduling.kueue.flavor_assignment import Assigner, fewer
from planner.scheduling.kueue.pending_workload import Mode, Possible, Wanting, asked_of
from planner.scheduling.kueue.preemption import targets
from planner.scheduling.kueue.preemption_candidates import Rules
from planner.scheduling.kueue.queue_state import in_order, is_pending, state_of, wanting

TABLES = Path(__file__).parent / "tables"
Case = dict[str, Any]
_MODES = {"NoFit": Mode.NO_FIT, "Preempt": Mode.PREEMPT, "Fit": Mode.FIT, "DeferredFit": Mode.DEFERRED_FIT}
_TRIED_AGAIN = (CycleStatus.PREEMPTS, CycleStatus.DEFERRED, CycleStatus.SKIPPED)
_POSSIBLE = {"NoCandidates": Possible.NONE, "Preempt": Possible.PREEMPT, "Reclaim": Possible.RECLAIM}


@cache
def table(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TABLES / f"{name}.json").read_text())
    return found


class _Reading:
    """The objects of a case, read as those of a cluster are."""

    def __init__(self, name: str, case: Case) -> None:
        self._objects, self._case, self._shared = table(name)["objects"], case, Shared()

    def one(self, number: int, kind: str) -> Any:
        return read_object(self._shared, self._objects[number], kind).record

    def all(self, field: str, kind: str) -> list[Any]:
        return [self.one(number, kind) for number in self._case.get(field, ())]

    def _queue(self, number: int) -> Any:
        """As a Go test has it, which asks no API server for defaults: a policy that isn't given is none, and not Never."""
        found, preemption = self.one(number, "ClusterQueue"), self._objects[number]["spec"].get("preemption")
        is_given = preemption is None or "reclaimWithinCohort" in preemption
        return found if is_given else replace(found, reclaim="")

    def objects(self, workloads: str = "admitted") -> Snapshot:
        return Snapshot(
            taken_at=0.0, source="", digest="", cluster_queues=tuple(map(self._queue, self._case["queues"])),
            cohorts=tuple(self.all("cohorts", "Cohort")), local_queues=tuple(self.all("local", "LocalQueue")),
            resource_flavors=tuple(self.all("flavors", "ResourceFlavor")), queued_workloads=tuple(self.all(workloads, "Workload")),
        )  # fmt: skip


def _use(rows: list[list[Any]]) -> dict[tuple[str, str], int]:
    return {(flavor, resource): amount for flavor, resource, amount in rows}


# ── what each table asks: its expected answer, and ours ──────────────────────────────────────────────────────────────
def available(name: str, case: Case) -> tuple[Any, Any]:
    tree = state_of(_Reading(name, case).objects()).tree
    before = {one.name: {fr: one.available(fr) for fr in one.quotas} for one in tree.queues.values()}
    for queue, use in case["use"].items():
        tree.queues[queue].add_all(_use(use))
    ours = [
        {one.name: {fr: one.free(fr) for fr in one.quotas} for one in tree.queues.values()},
        {one.name: {fr: one.at_most(fr) for fr in one.quotas} for one in tree.queues.values()},
    ]
    for queue, use in case["use"].items():
        tree.queues[queue].remove_all(_use(use))
    after = {one.name: {fr: one.available(fr) for fr in one.quotas} for one in tree.queues.values()}
    want = [{queue: _use(use) for queue, use in case[field].items()} for field in ("available", "at_most")]
    return [*want, want[1], want[1]], [*ours, before, after]


def shares(name: str, case: Case) -> tuple[Any, Any]:
    tree = state_of(_Reading(name, case).objects()).tree
    tree.queues["cq"].add_all(_use(case["use"]))
    more = _use(case["more"])
    found = set()
    for is_cohort, nodes in ((False, tree.queues), (True, tree.cohorts)):
        for node in nodes.values():
            kept = dict(node.use)
            for fr, amount in more.items():
                node.use[fr] = node.use.get(fr, 0) + amount
            share = node.share()
            node.use = kept
            rounded = 2**63 - 1 if share.rounded is None else share.rounded
            found.add((node.name, is_cohort, rounded, share.dominant, bool(share.of)))
    return {tuple(one) for one in case["want"]}, found


def flavors(name: str, case: Case) -> tuple[Any, Any]:
    reading = _Reading(name, case)
    tree, known, *_ = state_of(reading.objects())
    queues = [one.name for one in reading.all("queues", "ClusterQueue")]
    for queue, use in zip(queues, case["use"], strict=False):
        tree.queues[queue].add_all(_use(use))
    told = {(flavor, resource): (_POSSIBLE[one], borrow) for flavor, resource, one, borrow in case["oracle"]}
    queue = tree.queues[queues[0]]
    workload = wanting(reading.one(case["incoming"], "Workload"), queue.name)

    def oracle(flavor: str, resource: str, _: int) -> tuple[Possible, int]:
        return told.get((flavor, resource), (Possible.PREEMPT, 0))

    found = Assigner(workload, queue, known, oracle, is_fair=case["fair"]).assign()
    if "want_flavors" in case:
        ours: Any = {resource: one.flavor for resource, one in found.sets[0].flavors.items()}
        return (_MODES[case["mode"]], case["want_flavors"]), (found.mode, ours)
    want = [
        (
            one["name"],
            one["count"] or 0,
            {key: (of, _MODES[mode or "NoFit"], tried) for key, (of, mode, tried) in one["flavors"].items()},
        )
        for one in case["want"]
    ]
    got = [
        (one.name, one.pods, {key: (given.flavor, given.mode, given.tried) for key, given in one.flavors.items()})
        for one in found.sets
    ]
    return (
        (_MODES[case["mode"]], want, _use(case["want_use"]), case["borrowing"]),
        (found.mode, got, found.use, found.borrow),
    )


def preempted(name: str, case: Case) -> tuple[Any, Any]:
    reading = _Reading(name, case)
    state = state_of(reading.objects())
    workload = reading.one(case["incoming"], "Workload")
    wants = wanting(workload, case["target"])
    given = {one["name"]: one for one in case["assignment"]}
    use: dict[tuple[str, str], int] = {}
    short = set()
    for one in wants.sets:
        for resource, amount in asked_of(Same(one.spec)).items():
            flavor, mode, _ = given[one.name]["flavors"][resource]
            use[flavor, resource] = use.get((flavor, resource), 0) + amount * one.count
            if mode == "Preempt":
                short.add((flavor, resource))
    queue = state.tree.queues[case["target"]]
    before = {one.name: dict(one.use) for one in state.tree.queues.values()}
    found = targets(state.tree, queue, wants, use, frozenset(short), Rules())
    assert {
        one.name: {fr: n for fr, n in one.use.items() if n or fr in before[one.name]}
        for one in state.tree.queues.values()
    } == before
    gone = {one.key for one in reading.all("admitted", "Workload") if one.is_said("Evicted")}
    ours = sorted([*one.held.key.split("/"), one.reason] for one in found if one.held.key not in gone)
    return (case["want"], case["number"]), (ours, len(found))


def preempted_fairly(name: str, case: Case) -> tuple[Any, Any]:
    reading = _Reading(name, case)
    objects = reading.objects()
    named = [replace(one, uid=one.name) for one in objects.queued_workloads]  # as the Go test does
    state = state_of(replace(objects, queued_workloads=tuple(named)))
    wants = wanting(reading.one(case["incoming"], "Workload"), case["target"])
    use: dict[tuple[str, str], int] = {}
    for one in wants.sets:
        for resource, amount in asked_of(Same(one.spec)).items():
            use[case["flavor"], resource] = use.get((case["flavor"], resource), 0) + amount * one.count
    rules = Rules(fair=tuple(case["strategies"]) or STRATEGIES)
    queue = state.tree.queues[case["target"]]
    found = targets(state.tree, queue, wants, use, frozenset({(case["flavor"], "cpu")}), rules)
    return sorted(case["want"]), sorted([one.held.key, one.reason] for one in found)


_NAMESPACES = {"eng-alpha": "eng", "eng-beta": "eng", "eng-gamma": "eng", "sales": "sales", "lend": "lend"}


def scheduled(name: str, case: Case) -> tuple[Any, Any]:
    """One cycle: who has which flavors afterwards, who is preempted, who is left in its queue, and who is set aside."""
    reading = _Reading(name, case)
    objects = reading.objects("workloads")
    is_fair = case["fair"] or name == "TestScheduleForFairSharing"
    state = state_of(objects, Rules(fair=STRATEGIES if is_fair else None))
    found = _cycle_of(state, objects, _by_queue(objects))
    want = (
        {
            key: (one["cluster_queue"], {each["name"]: (each["flavors"], each["count"]) for each in one["sets"]})
            for key, one in case["assignments"].items()
        },
        case["preempted"],
        case["left"],
        case["inadmissible"],
    )
    return want, found


def searched(_: str, case: Case) -> tuple[Any, Any]:
    """With how many pods it starts of those that may be fewer, where no more than the limit fit; and whether it may."""
    sets = tuple(QueuedSet(name=str(n), count=one, least=least) for n, (one, least) in enumerate(case["sets"]))
    wants = Wanting(key="w", queue="q", sets=sets)
    if not wants.spare:
        return case["want"], [0, False]
    steps = range(wants.spare + 1)
    step = bisect_left(steps, True, key=lambda one: sum(fewer(wants, one)) <= case["limit"])
    return case["want"], [sum(fewer(wants, step)), step < len(steps)]


def _by_queue(objects: Snapshot) -> dict[str, list[Any]]:
    """ClusterQueue → who waits in it, in order. Those whose LocalQueue isn't there are in none."""
    into = {(one.namespace, one.name): one.cluster_queue for one in objects.local_queues}
    found: dict[str, list[Any]] = {}
    for one in objects.queued_workloads:
        if is_pending(one) and (queue := into.get((one.namespace, one.queue))):
            found.setdefault(queue, []).append(wanting(one, queue))
    return {name: in_order(some) for name, some in found.items()}


def _cycle_of(state: QuotaState, objects: Snapshot, waiting: dict[str, list[Any]]) -> Any:
    records = {one.key: one for one in objects.queued_workloads}
    by_name = {one.name: one for one in objects.cluster_queues}
    heads: list[Any] = []
    aside: dict[str, list[str]] = {}
    for queue, some in waiting.items():
        if queue not in by_name:
            continue
        head = some.pop(0)
        labels = {"dep": dep} if (dep := _NAMESPACES.get(head.key.partition("/")[0])) else {}
        if by_name[queue].is_active is False or not labels_match(by_name[queue].selector, labels):
            aside.setdefault(queue, []).append(head.key)
            continue
        if over_its_limit(records[head.key]):
            if by_name[queue].strategy == "StrictFIFO":
                some.append(head)
            else:
                aside.setdefault(queue, []).append(head.key)
            continue
        heads.append(head)
    entries = run(state, heads)
    assignments = {
        one.key: (one.admitted_by, {each.name: (dict(each.flavors), each.count) for each in one.granted})
        for one in objects.queued_workloads
        if one.is_said("QuotaReserved") and not one.is_said("Finished") and one.admitted_by in state.tree.queues
    }
    preempted: set[tuple[str, ...]] = set()
    evicted = {one.key for one in objects.queued_workloads if one.is_said("Evicted")}
    left = {queue: [one.key for one in some] for queue, some in waiting.items() if some and queue in by_name}
    for entry in entries:
        key, queue = entry.wanting.key, entry.queue.name
        if entry.status == CycleStatus.ADMITTED:
            assignments[key] = (
                queue, {one.name: ({res: given.flavor for res, given in one.flavors.items()}, one.pods) for one in entry.assignment.sets},
            )  # fmt: skip
            continue
        if entry.status == CycleStatus.PREEMPTS:
            preempted |= {
                (*one.held.key.split("/"), one.reason) for one in entry.targets if one.held.key not in evicted
            }
        goes_on = entry.queue.is_strict or entry.status in _TRIED_AGAIN or entry.is_still_looking
        (left if goes_on else aside).setdefault(queue, []).append(key)
    return (
        assignments, sorted(map(list, preempted)), {queue: sorted(some) for queue, some in left.items()},
        {queue: sorted(some) for queue, some in aside.items()},
    )  # fmt: skip


ASKED: dict[str, Callable[[str, Case], tuple[Any, Any]]] = {
    "TestAvailable": available,
    "TestDominantResourceShare": shares,
    "TestAssignFlavors": flavors,
    "TestDeletedFlavors": flavors,
    "TestReclaimBeforePriorityPreemption": flavors,
    "TestHierarchical": flavors,
    "TestPreemption": preempted,
    "TestHierarchicalPreemptions": preempted,
    "TestFairPreemptions": preempted_fairly,
    "TestSchedule": scheduled,
    "TestScheduleForFairSharing": scheduled,
    "TestScheduleRecomputePreemptionTargets": scheduled,
    "TestSearch": searched,
}


def cases() -> Iterator[tuple[str, Case]]:
    for name in ASKED:
        for case in table(name)["cases"]:
            yield name, case


def agrees(name: str, case: Case) -> tuple[bool, Any, Any]:
    want, ours = ASKED[name](name, case)
    return want == ours, want, ours
