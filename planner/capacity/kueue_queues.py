"""Kueue's queues: what each uses, why each workload is pending, what would admit it, the effect of moved quota."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final

from planner.capacity.what_if_syntax import Change, ChangeKind
from planner.capacity.work_limits import LIMITS
from planner.ground import quantity, words
from planner.ground.errors import ChangeError, QuantityError
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, duration, listing, roughly
from planner.inventory.past_job_durations import FEWEST, Lengths, RunBand, remaining, series_of
from planner.kubernetes.kueue_managed_pods import of_rules
from planner.kubernetes.object_records import QueuedWorkload, Snapshot
from planner.kubernetes.workload_kinds import NODE, POD
from planner.rollout.kueue_admission import let_in_now
from planner.rollout.prepared_change import compiled
from planner.rollout.run import simulate
from planner.scheduling.kueue.admission_cycle import QuotaState, nominate
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome, KueueVerdict
from planner.scheduling.kueue.cohort_tree import AdmittedWorkload, FlavorResource, Queue, Tree
from planner.scheduling.kueue.kueue_verdicts import lacking, name_of, rules_of, verdicts_of, why, with_nominal
from planner.scheduling.kueue.pending_workload import NO_MATCH, Lack, Mode, Wanting
from planner.scheduling.kueue.queue_state import state_of, wanting
from planner.scheduling.kueue.requests import as_counted


class QueueUse(Record):
    """A ClusterQueue's use of one resource in one flavor, in the planner's units.

    Attributes
    ----------
    used, borrowed : by admitted workloads; of it beyond its own nominal quota
    idle : of its own nominal quota what no pod uses, itself or others who borrow
    free : what it may still be given now; `at_most`: what it could have if no workload used anything
    waiting : workloads that wait in the queue
    """

    queue: str
    cohort: str
    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    idle: int
    free: int
    at_most: int
    waiting: int


class Waiting(Record):
    """A workload that waits.

    Attributes
    ----------
    workload : the object it was made for, ``Job/team-a/train``; Kueue's own name where that isn't said
    outcome : what it waits for; `why`: in words; `before`: the same before what was changed, "" where nothing was
    evicts : whom Kueue would evict for it
    remedy : what would let it in; "" where nothing was found, or it wasn't looked for
    latest_seconds : when enough of those that run are ended at the latest, by their own limits; None: not known, `untold`: why
    usual_least_seconds, usual_most_seconds, usual_runs : in how long enough of those have ended, each taking as long as so many runs like it
        took before; None: not known, `usual` says it in words; "" where no runs were given
    finds_nodes : of one that is let in, whether its pods find nodes now; None: not known, or it isn't let in
    """

    workload: str
    name: str
    queue: str
    place: int
    priority: int
    since_seconds: float | None
    outcome: AdmissionOutcome
    why: Text
    evicts: tuple[str, ...] = ()
    remedy: Text = words.NO_WORDS
    latest_seconds: float | None = None
    untold: Text = words.NO_WORDS
    usual_least_seconds: float | None = None
    usual_most_seconds: float | None = None
    usual_runs: int | None = None
    usual: Text = words.NO_WORDS
    finds_nodes: bool | None = None
    before: str = ""


class Queues(Record):
    """`is_fair`: Kueue shares by weight here, with its default strategies. `assumed`: what no object of the cluster tells."""

    sentence: Text
    queues: tuple[QueueUse, ...]
    waiting: tuple[Waiting, ...]
    is_fair: bool
    assumed: tuple[str, ...]

    def waiting_for(self, *outcomes: AdmissionOutcome) -> int:
        return sum(waiting.outcome in outcomes for waiting in self.waiting)


def queues(snapshot: Snapshot, changes: Sequence[Change] = (), runs: Lengths | None = None) -> Queues:
    """Every ClusterQueue, and everybody who waits, after `changes` of quota; `runs`: how long Jobs held quota before.

    Raises
    ------
    ChangeError
        For a change that isn't one of a ClusterQueue's quota, or of one that isn't there.
    """
    then = with_changes(snapshot, changes)
    verdicts, before = verdicts_of(then), verdicts_of(snapshot) if changes else {}
    state = state_of(then, rules_of(then))
    names = {workload.key: name_of(workload) for workload in then.queued_workloads}
    order = sorted(verdicts.values(), key=lambda verdict: (verdict.queue, verdict.place))
    records = {workload.key: workload for workload in as_counted(then)}
    uses = tuple(_uses(state.tree, verdicts))
    when = {verdict.key: _when(then, state, verdict, order, records, runs) for verdict in order}
    places = then.derived.once(_places, then)
    remedies = dict(_remedies(state, then, order))
    waiting = tuple(
        Waiting(
            workload=names[verdict.key], name=verdict.key, queue=verdict.queue, place=verdict.place, priority=verdict.priority,
            since_seconds=verdict.queued_at or None, outcome=verdict.outcome, why=why(verdict, names),
            evicts=tuple(names.get(each.held.key, each.held.key) for each in verdict.targets),
            remedy=remedies.get(verdict.key, words.NO_WORDS),
            finds_nodes=places.get(names[verdict.key]), **when[verdict.key],
            before=before[verdict.key].outcome.value if changes and verdict.key in before else "",
        )
        for verdict in order
    )  # fmt: skip
    return Queues(
        sentence=_sentence(waiting), queues=uses, waiting=waiting,
        is_fair=rules_of(then).fair is not None, assumed=tuple(_assumed(then)),
    )  # fmt: skip


def _uses(tree: Tree, verdicts: Mapping[str, KueueVerdict]) -> Iterator[QueueUse]:
    waiting: dict[str, int] = {}
    for verdict in verdicts.values():
        waiting[verdict.queue] = waiting.get(verdict.queue, 0) + 1
    for name in sorted(tree.queues):
        queue = tree.queues[name]
        for fr, quota in queue.quotas.items():
            used = queue.use.get(fr, 0)
            yield QueueUse(
                queue=name, cohort=queue.parent.name if queue.parent is not None else "", flavor=fr[0], resource=fr[1],
                nominal=quota.nominal, used=used, borrowed=max(0, used - quota.nominal),
                idle=idle(queue, fr), free=queue.free(fr), at_most=queue.at_most(fr), waiting=waiting.get(name, 0),
            )  # fmt: skip


def idle(queue: Queue, fr: FlavorResource) -> int:
    """The part of a queue's nominal quota that no pod uses: neither its own, nor borrowers in its cohort."""
    own = max(0, queue.quota(fr).nominal - queue.use.get(fr, 0))
    return own if queue.parent is None else min(own, queue.kept_free(fr) + max(0, queue.parent.available(fr)))


# ── in words ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _sentence(waiting: Sequence[Waiting]) -> Text:
    if not waiting:
        return Text("No workload is pending in a queue")
    numbers = {
        outcome: sum(waiting_workload.outcome is outcome for waiting_workload in waiting)
        for outcome in AdmissionOutcome
    }
    parts = [f"{number:,} {_SAID[outcome]}" for outcome, number in numbers.items() if number]
    verb = "waits" if len(waiting) == 1 else "wait"
    return Text(f"{count(len(waiting), 'workload')} {verb}: {listing(parts, most=None)}")


_SAID: Final = {
    AdmissionOutcome.LET_IN: "for Kueue's next cycle, which has quota for it",
    AdmissionOutcome.EVICTS: "while others are evicted for it",
    AdmissionOutcome.QUOTA: "on quota",
    AdmissionOutcome.NEVER: "for more than its queue can have",
    AdmissionOutcome.BEHIND: "behind the first of a strict queue",
    AdmissionOutcome.CHECK: "on an admission check",
    AdmissionOutcome.STOPPED: "in a stopped queue",
    AdmissionOutcome.REFUSED: "where Kueue doesn't take it",
    AdmissionOutcome.UNKNOWN: "with an answer that isn't known",
}


# ── what would let it in ─────────────────────────────────────────────────────────────────────────────────────────────
def _remedies(state: QuotaState, then: Snapshot, order: Sequence[KueueVerdict]) -> Iterator[tuple[str, Text]]:
    """Nominal quota of a queue that doesn't use it, moved: put to the rules, and told where it lets the workload in.

    Of the first in each queue that isn't let in: the next one needs that one gone first.
    """
    seen_queues: set[str] = set()
    records = {workload.key: workload for workload in as_counted(then)}
    _let_in(state, order)
    for verdict in order:
        if (
            verdict.queue in seen_queues
            or verdict.outcome not in (AdmissionOutcome.QUOTA, AdmissionOutcome.NEVER)
            or verdict.queue not in state.tree.queues
        ):
            continue
        seen_queues.add(verdict.queue)
        if len(seen_queues) <= LIMITS.queues_asked and (remedy := _remedy(state, verdict, records[verdict.key])):
            yield verdict.key, remedy


def _let_in(state: QuotaState, order: Sequence[KueueVerdict]) -> None:
    """Admits pending workloads by their verdicts, and removes the workloads that are evicted for them."""
    for verdict in order:
        for target in verdict.targets:
            if target.held.key in state.tree.queues[target.held.queue].held:
                state.tree.let_go(target.held)
        if verdict.uses:
            state.tree.hold(
                AdmittedWorkload(key=verdict.key, queue=verdict.queue, uses=verdict.uses, priority=verdict.priority)
            )


def _remedy(state: QuotaState, verdict: KueueVerdict, record: QueuedWorkload) -> Text:
    by_flavor: dict[str, list[Lack]] = {}
    if any(
        lack.flavor in state.places for lack in verdict.lacks
    ):  # which places are left by those that are let in isn't asked here
        return words.NO_WORDS
    for lack in verdict.lacks:
        if lack.kind != NO_MATCH:
            by_flavor.setdefault(lack.flavor, []).append(lack)
    for lacks in by_flavor.values():
        moved = [move for lack in lacks if (move := _donor(state.tree, verdict.queue, lack)) is not None]
        if len(moved) == len(lacks) and _lets_in(state, verdict, record, lacks, moved):
            parts = [
                f"{roughly(lack.missing, lack.resource)} {lack.resource} of nominal quota of {lack.flavor} from {donor}'s idle "
                f"{roughly(unused, lack.resource)}"
                for lack, (donor, unused) in zip(lacks, moved, strict=True)
            ]
            return Text(listing(parts, most=None))
    return words.NO_WORDS


def _lets_in(
    state: QuotaState,
    verdict: KueueVerdict,
    record: QueuedWorkload,
    lacks: Sequence[Lack],
    moved: Sequence[tuple[str, int]],
) -> bool:
    """Whether it fits once what it lacks has been moved; `state` is as before afterwards."""
    tree, undo = state.tree, []
    for lack, (donor, _) in zip(lacks, moved, strict=True):
        fr = (lack.flavor, lack.resource)
        for queue, more in ((tree.queues[donor], -lack.missing), (tree.queues[verdict.queue], lack.missing)):
            undo.append((queue, fr, queue.quota(fr)))
            tree.set_nominal(queue, fr, queue.quota(fr).nominal + more)
    assignment = nominate(state, wanting(record, verdict.queue)).assignment
    for queue, fr, quota in reversed(undo):
        tree.set_nominal(queue, fr, quota.nominal)
        queue.quotas[fr] = quota
        tree.set_nominal(queue, fr, quota.nominal)
    return assignment.mode == Mode.FIT


def _donor(tree: Tree, queue: str, lack: Lack) -> tuple[str, int] | None:
    """The queue with most idle quota of it, if that is enough: its name, and how much."""
    fr = (lack.flavor, lack.resource)
    idle_quotas = [
        (idle(cluster_queue, fr), name)
        for name, cluster_queue in tree.queues.items()
        if name != queue and fr in cluster_queue.quotas
    ]
    most = max(idle_quotas, key=lambda donor: (donor[0], donor[1]), default=(0, ""))
    return (most[1], most[0]) if most[0] >= lack.missing > 0 else None


# ── when, and where ──────────────────────────────────────────────────────────────────────────────────────────────────
def _when(
    snapshot: Snapshot, state: QuotaState, verdict: KueueVerdict, order: Sequence[KueueVerdict], records: Mapping[str, QueuedWorkload],
    runs: Lengths | None,
) -> dict[str, Any]:  # fmt: skip
    """In how many seconds enough has ended that it is let in, as fields of `Waiting`: at the latest, by the limits of time of those
    that hold quota, and as `runs` before took; or why that isn't known."""
    if verdict.outcome is not AdmissionOutcome.QUOTA or verdict.queue not in state.tree.queues:
        return {}
    if verdict.place != 1:
        return _untold("others are before it", runs)
    root = state.tree.queues[verdict.queue].root()
    near = {queue.name for queue in root.every_queue()} | {verdict.queue}
    rival = next((each for each in order if each.queue in near - {verdict.queue} and each.outcome in _RIVALS), None)
    if rival is not None:
        return _untold(f"{name_of(records[rival.key])} waits in the same cohort", runs)
    limits = snapshot.derived.once(_deadlines, snapshot)
    admitted = [each for name in near for each in state.tree.queues[name].held.values() if each.key in records]
    request, now = wanting(records[verdict.key], verdict.queue), snapshot.taken_at
    ends = [(max(0.0, at - now), each) for each in admitted if (at := _ends_at(records[each.key], limits)) is not None]
    latest, _ = _fits_after(state, request, ends)
    gap = _untold("who holds quota there has no limit of time that frees enough", None) if latest is None else {}
    gap["latest_seconds"] = latest
    return gap if runs is None else gap | _usual(state, request, admitted, ends, _bands(admitted, records, runs, now))


def _untold(why: str, runs: Lengths | None) -> dict[str, Any]:
    return {"untold": Text(why), "usual": Text("" if runs is None else f"not known: {why}")}


def _fits_after(
    state: QuotaState, request: Wanting, ends: Iterable[tuple[float, AdmittedWorkload]]
) -> tuple[float | None, set[str]]:
    """When it fits, those that hold quota going one after another, and who went; the rules are asked after each. `state` is as before
    afterwards."""
    finished, admitted_at = [], None
    for at, each in sorted(ends, key=lambda end: (end[0], end[1].key)):
        state.tree.let_go(each)
        finished.append(each)
        if nominate(state, request).assignment.mode == Mode.FIT:
            admitted_at = at
            break
    for each in finished:
        state.tree.hold(each)
    return admitted_at, {each.key for each in finished}


def _bands(
    admitted: Sequence[AdmittedWorkload], records: Mapping[str, QueuedWorkload], runs: Lengths, now: float
) -> dict[str, tuple[str, RunBand]]:
    """For workloads that hold quota: the key of similar runs, and how much longer they take."""
    bands = {}
    for each in admitted:
        series, began = series_of(records[each.key]), records[each.key].changed_at.get("Admitted")
        if began is not None and (band := remaining(runs.get(series, ()), max(0.0, now - began))) is not None:
            bands[each.key] = (series, band)
    return bands


def _usual(
    state: QuotaState, request: Wanting, admitted: Sequence[AdmittedWorkload], limits: Sequence[tuple[float, AdmittedWorkload]], bands: Mapping[str, tuple[str, RunBand]],
) -> dict[str, Any]:  # fmt: skip
    """A workload without a band may end now, and by its limit at the latest."""
    limit = {each.key: at for at, each in limits}
    last = [(limit.get(each.key, inf), bands[each.key][1] if each.key in bands else None, each) for each in admitted]
    soon = [(min(at, band.least) if band else 0.0, each) for at, band, each in last]
    late = [(min(at, band.most) if band else at, each) for at, band, each in last]
    least, early = _fits_after(state, request, soon)
    most, finished = _fits_after(state, request, [end for end in late if end[0] < inf])
    number = sum(
        {series: band.runs for series, band in (bands[key] for key in early | finished if key in bands)}.values()
    )
    if least is None or most is None or not number:
        return {
            "usual": Text(
                f"not known: fewer than {FEWEST} runs in the store are like those that hold quota there, and took longer"
            )
        }
    time_range = f"between {duration(least)} and {duration(most)}" if least else f"within {duration(most)}"
    return {
        "usual_least_seconds": min(least, most), "usual_most_seconds": most, "usual_runs": number,
        "usual": Text(f"{time_range}, by {count(number, 'run')} in the store"),
    }  # fmt: skip


_RIVALS: Final = (AdmissionOutcome.QUOTA, AdmissionOutcome.EVICTS, AdmissionOutcome.CHECK, AdmissionOutcome.UNKNOWN)


def _deadlines(snapshot: Snapshot) -> dict[str, int]:
    """Job → its ``activeDeadlineSeconds``; it counts from when Kueue resumes it."""
    deadlines = {workload.key: workload.active_deadline_seconds for workload in snapshot.every_workload}
    return {key: seconds for key, seconds in deadlines.items() if seconds is not None}


def _ends_at(record: QueuedWorkload, limits: Mapping[str, int]) -> float | None:
    began = record.changed_at.get("Admitted")
    seconds = [limit for limit in (record.longest_seconds, limits.get(name_of(record))) if limit is not None]
    return began + min(seconds) if seconds and began is not None else None


def _places(snapshot: Snapshot) -> dict[str, bool]:
    """Of each that is let in now whether all its pods find nodes, those of the others that are let in placed before; left out where
    that isn't known: without nodes and pods, of more than are played, or where it would without the others."""
    let = list(let_in_now(snapshot))
    pods = sum(revision.placed.pods for revision in let if revision.placed is not None)
    if not let or pods > LIMITS.pods_let_in or not snapshot.nodes or not snapshot.if_known(True, NODE.name, POD.name):
        return {}
    cluster = compiled(snapshot)
    run = simulate(cluster, let)
    if run.is_cut:
        return {}
    places = {revision.after.name: True for revision in let if run.done[revision.after.key]}
    alone = [revision for revision in let if revision.after.name not in places]
    return places | {
        revision.after.name: False for revision in alone if not simulate(cluster, [revision]).done[revision.after.key]
    }  # fmt: skip


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def is_of_queue(change: Change) -> bool:
    """Whether it changes a ClusterQueue's quota: ``quota:QUEUE/FLAVOR/RESOURCE=n``."""
    return change.kind is ChangeKind.QUOTA and change.target.count("/") >= 2


def with_changes(snapshot: Snapshot, changes: Sequence[Change]) -> Snapshot:
    """The snapshot with other nominal quotas.

    Raises
    ------
    ChangeError
        For one that isn't such a change, or of a quota that isn't there.
    """
    for change in changes:
        if not is_of_queue(change):
            raise ChangeError(f"{change} changes no queue's quota", fix="Write it like quota:QUEUE/FLAVOR/RESOURCE=8")
        snapshot = with_quota(snapshot, change)
    return snapshot


def with_quota(snapshot: Snapshot, change: Change) -> Snapshot:
    """The snapshot with another nominal quota; errors as `with_changes`."""
    name, flavor, resource = change.target.split("/", 2)
    queue = next((cluster_queue for cluster_queue in snapshot.cluster_queues if cluster_queue.name == name), None)
    if queue is None:
        names = listing([cluster_queue.name for cluster_queue in snapshot.cluster_queues]) or "none was given"
        raise ChangeError(f"there is no ClusterQueue {name}", where=str(change), fix=f"Known: {names}")
    if not any(
        (quota.flavor, quota.resource) == (flavor, resource) for group in queue.groups for quota in group.quotas
    ):
        names = listing([f"{quota.flavor}/{quota.resource}" for group in queue.groups for quota in group.quotas])
        raise ChangeError(f"{name} has no quota of {flavor}/{resource}", where=str(change), fix=f"It has {names}")
    try:
        nominal = quantity.parse(change.value, resource)
    except QuantityError as error:
        raise ChangeError(error.what, where=str(change), fix=error.fix) from None
    changed = with_nominal(queue, flavor, resource, nominal)
    return replace(
        snapshot,
        cluster_queues=tuple(
            changed if cluster_queue is queue else cluster_queue for cluster_queue in snapshot.cluster_queues
        ),
    )


def moved_words(before: Snapshot, after: Snapshot) -> str:
    """The effect on pending workloads: ``Job/a/train: quota → let in``."""
    if lacking(before):
        return "who is let in then isn't known without all of Kueue's lists"
    was, then = verdicts_of(before), verdicts_of(after)
    names = {workload.key: name_of(workload) for workload in after.queued_workloads}
    moved = [
        f"{names[key]}: {was[key].outcome} → {verdict.outcome}"
        for key, verdict in then.items()
        if was[key].outcome is not verdict.outcome
    ]
    return listing(moved) if moved else "it admits no pending workload and changes what none waits for"


def _assumed(snapshot: Snapshot) -> Iterator[str]:
    yield (
        f"Played {of_rules(snapshot)}; its own configuration (other gates, resources that it leaves out) is in no object that is read"
    )
    if uncounted := rules_of(snapshot).uncounted:
        yield f"Kueue's configuration leaves {listing(sorted(uncounted), most=None)} out of quotas, as its Workloads show"
    if snapshot.lacks("Cohort") and any(queue.cohort for queue in snapshot.cluster_queues):
        yield "No Cohorts were given: taken for without quota of their own, and without cohorts above them"
    if rules_of(snapshot).fair is not None:
        yield "Its ClusterQueues show a weighted share, so Kueue shares fairly; its preemption strategies are taken for the default"
    if any(queue.checks for queue in snapshot.cluster_queues):
        yield "What admission checks say isn't known"
