"""Whether Kueue admits a change's pods: builds the Workloads that Kueue would, and runs its queues' rules.

What is let in gets what its flavors add to a pod, so that its place is looked for there; what isn't keeps Kueue's gate. Of Jobs,
JobSets, Ray's, Kubeflow's, LeaderWorkerSets and pod groups all pods of one Workload are let in or none; of a Deployment each pod by
itself, and old pods hold their quota until they are gone.

Source: kueue at ff69552e79ad, `pkg/controller/jobs/*/` (`PodSets`), `pkg/controller/jobframework/reconciler.go` (`ExtractPriority`),
`pkg/podset/podset.go` (`FromAssignment`), and the frameworks that are on by default:
`config/components/manager/controller_manager_config.yaml`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from planner.ground.records import replace
from planner.ground.well_known_names import (
    HOSTNAME,
    KUEUE_ADMISSION_GATE,
    KUEUE_GROUP_COUNT,
    KUEUE_LEAST_PODS,
    KUEUE_POD_GROUP,
    KUEUE_PRIORITY_CLASS,
    KUEUE_QUEUE,
)
from planner.ground.words import count, listing, plural, with_article
from planner.kubernetes import kueue_managed_pods
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import (
    EMPTY,
    Finding,
    FrozenMap,
    Pod,
    PodsAlike,
    PodSpec,
    QueuedSet,
    QueuedWorkload,
    Severity,
    Snapshot,
    Strategy,
    Template,
    Workload,
)
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import gang_of
from planner.kubernetes.pod_template_kinds import Gang, Idle, Placed
from planner.kubernetes.priorities import classes_in
from planner.kubernetes.priorities import priority as pod_priority
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import DEPLOYMENT, JOB, LEADER_WORKER_SET, POD, RECREATE, STATEFUL_SET
from planner.rollout.admission import Admission
from planner.rollout.kueue_evictions import after_evictions, evicted_pods, evictions
from planner.rollout.run import Queued, Revision, simulate
from planner.rollout.simulation_limits import LIMITS
from planner.scheduling.cluster import Cluster
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome, KueueVerdict, play
from planner.scheduling.kueue.kueue_verdicts import lacking, name_of, rules_of, verdicts_of, why
from planner.scheduling.kueue.queue_state import ADMITTED, has_quota, state_of

_ALWAYS: Final = frozenset({JOB.name, "JobSet", "MPIJob", "RayCluster", "RayJob"})
"""Kinds with an integration that is on by default in every version; of others something of the cluster has to show it."""
_KUBEFLOW: Final = frozenset({"PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"})
_PODS: Final = frozenset({POD.name, DEPLOYMENT.name, STATEFUL_SET.name, LEADER_WORKER_SET.name})
_MADE: Final = _ALWAYS | _KUBEFLOW | _PODS
_PREFIX: Final = f"{kueue_managed_pods.GROUP}/"
_LEVELS: Final = (f"{_PREFIX}podset-required-topology", f"{_PREFIX}podset-preferred-topology")
_TOPOLOGY: Final = frozenset((*_LEVELS, f"{_PREFIX}podset-unconstrained-topology"))
_KNOWN: Final = (
    frozenset({KUEUE_QUEUE, KUEUE_PRIORITY_CLASS, f"{_PREFIX}managed", f"{_PREFIX}max-exec-time-seconds"}) | _TOPOLOGY
)
_KNOWN_OF: Final = {
    JOB.name: {KUEUE_LEAST_PODS}, POD.name: {KUEUE_POD_GROUP, KUEUE_GROUP_COUNT, f"{_PREFIX}retriable-in-group"},
}  # fmt: skip
_NEVER: Final = (AdmissionOutcome.NEVER, AdmissionOutcome.REFUSED, AdmissionOutcome.STOPPED)


class _QueuedChange(NamedTuple):
    """The Workloads that a change would make; `unknown`: why that isn't known; `part`: which of their sets it is, "" for all."""

    workloads: tuple[QueuedWorkload, ...] = ()
    unknown: str = ""
    part: str = ""

    def own(self, verdict: KueueVerdict) -> KueueVerdict:
        """Of its Workload's verdict what is its own: of a pod group's one pod."""
        own_sets = tuple(pod_set._replace(pods=1, places=()) for pod_set in verdict.given if pod_set.name == self.part)
        return replace(verdict, given=own_sets) if self.part else verdict


def admitted_revisions(snapshot: Snapshot, revisions: Sequence[Revision]) -> tuple[Revision, ...]:
    """The changes, each as Kueue lets its pods in; those that it has no say in as they are."""
    requests: dict[int, _QueuedChange] = {}
    revisions = [_as_refused(snapshot, rollout) if _is_refused(snapshot, rollout) else rollout for rollout in revisions]
    for place, revision in enumerate(revisions):
        if revision.queued is None and _is_queued(snapshot, revision):
            requests[place] = _asked(snapshot, revision, place)
    if not requests:
        return tuple(revisions)
    groups: dict[tuple[str, str], list[int]] = {}
    for place in requests:
        if name := group_of(revisions[place]):
            groups.setdefault((revisions[place].after.namespace, name), []).append(place)
    for (space, name), places in groups.items():
        requests |= _together(snapshot, space, name, {each: requests[each] for each in places}, revisions)
    workloads = {each.key: each for request in requests.values() for each in request.workloads}
    lined_up = replace(snapshot, queued_workloads=(*snapshot.queued_workloads, *workloads.values()))
    verdicts = verdicts_of(lined_up)
    return tuple(
        _evicting(lined_up, _as_let_in(snapshot, revision, requests[place], verdicts), requests, place, verdicts) if place in requests else revision
        for place, revision in enumerate(revisions)
    )  # fmt: skip


def _evicting(
    lined_up: Snapshot,
    revision: Revision,
    requests: Mapping[int, _QueuedChange],
    place: int,
    verdicts: Mapping[str, KueueVerdict],
) -> Revision:
    """The change with the workloads that Kueue evicts for it, and those that it lets in beside it once these have gone.

    The cluster after all changes' evictions is worked out, as Kueue has them at once; told are those for this change alone.
    """
    own_verdicts = [verdicts[each.key] for each in requests[place].workloads]
    if (
        revision.queued is None
        or revision.queued.unknown
        or revision.queued.keeps_out
        or not any(each.targets for each in own_verdicts)
    ):
        return revision
    then = after_evictions(lined_up, [verdicts[each.key] for every in requests.values() for each in every.workloads])
    records = {each.key: each for each in lined_up.queued_workloads}
    evicted_sets = [
        evicted_pods(lined_up, records[target.held.key]) for each in own_verdicts for target in each.targets
    ]
    return replace(
        revision,
        queued=replace(
            revision.queued,
            evicts=evictions(lined_up, then, own_verdicts),
            evicted=frozenset[str]().union(*evicted_sets),
            beside=tuple(let_in_now(then, outcomes=(AdmissionOutcome.LET_IN, AdmissionOutcome.EVICTS))),
        ),
    )


@once_a_snapshot
def _names(snapshot: Snapshot) -> dict[str, str]:
    """A Workload's key → what it was made for."""
    return {workload.key: name_of(workload) for workload in snapshot.queued_workloads}


def _is_queued(snapshot: Snapshot, revision: Revision) -> bool:
    """Whether something names a queue for pods that it makes."""
    if revision.placed is not None and revision.placed.idle is Idle.THERE:
        return False
    templates = [template for template, _ in revision.templates]
    is_named = kueue_managed_pods.named_queue(revision.after.labels, templates) or _default_queue(snapshot, revision)
    return bool(is_named) and not lacking(snapshot)


def _default_queue(snapshot: Snapshot, revision: Revision) -> str:
    """The queue that a new object of a kind that Kueue queues gets where it names none."""
    is_new = revision.before is None and not (revision.placed is not None and revision.placed.rules)
    return (
        kueue_managed_pods.default_queue(snapshot, revision.after.namespace)
        if is_new and revision.after.kind in _MADE
        else ""
    )


# ── what Kueue's webhooks refuse ─────────────────────────────────────────────────────────────────────────────────────
def _refusal(snapshot: Snapshot, revision: Revision) -> str:
    """Why a webhook of Kueue's doesn't take an object that it queues, by the webhook's name; "" where it takes it.

    Source: kueue at ff69552e79ad, `pkg/controller/jobs/statefulset/statefulset_webhook.go`, `raycluster/raycluster_webhook.go`,
    `rayjob/rayjob_webhook.go` (`ValidateCreate`, `ValidateUpdate`).
    """
    after, before = revision.after, revision.before
    if revision.placed is not None:
        return "" if f"{_PREFIX}elastic-job" in after.annotations else revision.placed.not_taken
    is_scaled = before is not None and 0 < before.replicas != after.replicas > 0
    if (
        after.kind == STATEFUL_SET.name
        and is_scaled
        and KUEUE_QUEUE in after.labels
        and _is_shown(snapshot, after.kind)
    ):
        return "vstatefulset.kb.io refuses the change: spec.replicas changes only from 0 or to 0"
    return ""


def _is_refused(snapshot: Snapshot, revision: Revision) -> bool:
    return revision.queued is None and _is_queued(snapshot, revision) and bool(_refusal(snapshot, revision))


def _as_refused(snapshot: Snapshot, revision: Revision) -> Revision:
    """Nothing comes of it."""
    queued = Queued(refused=f"Kueue's webhook {_refusal(snapshot, revision)}")
    if revision.placed is not None:
        placed = replace(revision.placed, idle=Idle.THERE)
        return replace(revision, placed=placed, has_new_template=False, queued=queued)
    return replace(revision, after=revision.before or revision.after, has_new_template=False, queued=queued)


# ── the Workloads that it would make ─────────────────────────────────────────────────────────────────────────────────
def _asked(snapshot: Snapshot, revision: Revision, place: int) -> _QueuedChange:
    after, templates = revision.after, [template for template, _ in revision.templates]
    queue = after.labels.get(KUEUE_QUEUE, "")
    if not queue and after.kind in (DEPLOYMENT.name, POD.name):
        queue = templates[0].labels.get(KUEUE_QUEUE, "")
    queue = queue or _default_queue(snapshot, revision)
    if not queue:
        return _QueuedChange(unknown="which of its objects Kueue queues isn't told by the label of its pods")
    if why := _unknown_kind(snapshot, revision) or _said_besides(after, templates):
        return _QueuedChange(unknown=why)
    name = after.labels.get(KUEUE_PRIORITY_CLASS, "")
    # Kueue labels what names none with the class called so: `pkg/controller/jobframework/defaults.go` `ApplyDefaultWorkloadPriorityClass`.
    is_by_default = not name and not kueue_managed_pods.is_before(
        kueue_managed_pods.version(snapshot), kueue_managed_pods.PLAYED
    )
    named_class = kueue_managed_pods.DEFAULT if is_by_default else name
    value = next((each.value for each in snapshot.workload_priority_classes if each.name == named_class), None)
    if name and value is None:
        return _QueuedChange(unknown=f"the input holds no WorkloadPriorityClass {name}")
    if value is None:
        named = next((each.spec for each in templates if each.spec.priority_class_name), templates[0].spec)
        value = pod_priority(named, classes_in(snapshot))
    sets = _sets(snapshot, revision)
    last = max(
        (each.created_at or 0.0 for each in snapshot.queued_workloads), default=0.0
    )  # Kueue orders equal priorities by age: the new one is last
    number, unknown = _number(snapshot, revision)
    return _QueuedChange(
        unknown=unknown,
        workloads=tuple(
            QueuedWorkload(
                namespace=after.namespace, name=f"{after.kind}/{after.name} (change {place}.{each})", uid=f"\U0010ffff{place:06}.{each:06}",
                queue=queue, created_at=max(snapshot.taken_at, last, 1.0), sets=sets, priority=value,
            )
            for each in range(0 if unknown else number)
        ),
    )  # fmt: skip


def _unknown_kind(snapshot: Snapshot, revision: Revision) -> str:
    """Why it isn't known what Kueue makes of an object of its kind, "" where it is."""
    kind, placed = revision.after.kind, revision.placed
    if placed is not None and (placed.rules or placed.old or placed.leaving or placed.scheduler):
        return f"how Kueue goes on with {with_article(kind)} that changes isn't modelled"
    if placed is not None and placed.uncounted:
        return placed.uncounted
    if placed is None and kind not in (DEPLOYMENT.name, STATEFUL_SET.name, LEADER_WORKER_SET.name):
        return f"how Kueue queues {with_article(kind)} isn't modelled"
    if kind in (STATEFUL_SET.name, LEADER_WORKER_SET.name) and revision.before is not None:
        return f"how Kueue hands the quota of {with_article(kind)}'s old pods to new ones isn't modelled"
    if kind in _PODS | _KUBEFLOW:
        return "" if _is_shown(snapshot, kind) else f"no Workload shows whether Kueue's integration for {kind}s is on"
    return "" if kind in _ALWAYS else f"what Kueue asks quota for in {with_article(kind)} isn't modelled"


def _is_shown(snapshot: Snapshot, kind: str) -> bool:
    """Whether a Workload shows that Kueue's integration of a kind of pods, or of Kubeflow's, is on."""
    shown = {each.owner.kind for each in snapshot.queued_workloads if each.owner is not None}
    shown |= {POD.name for each in snapshot.queued_workloads if each.is_group}
    return bool(shown & (_PODS if kind in _PODS else {kind}))


def _said_besides(after: Workload, templates: Iterable[Template]) -> str:
    """What else of Kueue's is said of it, and isn't modeled."""
    known_labels = _KNOWN | _KNOWN_OF.get(after.kind, set())
    keys = {
        *after.labels,
        *after.annotations,
        *(key for template in templates for key in (*template.labels, *template.annotations)),
    }
    more = sorted(key for key in keys if key.startswith(_PREFIX) and key not in known_labels)
    if any(template.spec.scheduling_gates for template in templates):
        return "its pods have scheduling gates of their own"
    return f"{listing(more)} isn't modelled" if more else ""


def _sets(snapshot: Snapshot, revision: Revision) -> tuple[QueuedSet, ...]:
    """Its pod sets, of one group or pod where each is a Workload of its own; `as_counted` says what they ask for. Of a Pod and a
    Deployment Kueue reads the pods that the API server has made, with what was added to them."""
    admission = snapshot.derived.once(Admission, snapshot)

    def counted(spec: PodSpec) -> PodSpec:
        if revision.after.kind not in (DEPLOYMENT.name, POD.name):
            return spec
        real = admission.prepare(revision.after.namespace, spec)
        return replace(
            spec, containers=real.containers, init_containers=real.init_containers, overhead=real.overhead,
            pod_requests=real.pod_requests,
        )  # fmt: skip

    after = revision.after
    if revision.placed is not None:
        least = after.annotations.get(KUEUE_LEAST_PODS, "")
        return tuple(
            _in_topology(after, each.template, QueuedSet(
                name=each.role or f"set-{number}", count=each.count, spec=counted(each.template.spec),
                least=int(least) if least.isdecimal() else None,
            ))
            for number, each in enumerate(revision.placed.sets)
        )  # fmt: skip
    if after.groups is not None and after.worker_template is not None:
        templates = {"leader": (1, after.template), "worker": (after.groups.size - 1, after.worker_template)}
    else:
        templates = {"main": (after.replicas if after.kind == STATEFUL_SET.name else 1, after.template)}
    return tuple(
        _in_topology(after, template, QueuedSet(name=name, count=number, spec=counted(template.spec)))
        for name, (number, template) in templates.items()
        if number or name == "main"
    )  # fmt: skip


def _in_topology(after: Workload, template: Template, pods: QueuedSet) -> QueuedSet:
    """The set with what its annotations ask for of a topology: the pod template's before the object's."""
    all_annotations = {**after.annotations, **template.annotations}
    if not _TOPOLOGY & all_annotations.keys():
        return pods
    level = next((all_annotations[key] for key in _LEVELS if key in all_annotations), "")
    return replace(pods, is_topological=True, level=level, is_required=_LEVELS[0] in all_annotations)


def _number(snapshot: Snapshot, revision: Revision) -> tuple[int, str]:
    """How many such Workloads it makes beyond those that it has, and why that isn't known."""
    after, before = revision.after, revision.before
    if revision.placed is not None:
        return revision.placed.groups, ""
    if after.kind == STATEFUL_SET.name:
        return (1 if after.replicas else 0), ""
    more = after.replicas
    if before is not None:
        if any(before.labels.get(key) != after.labels.get(key) for key in (KUEUE_QUEUE, KUEUE_PRIORITY_CLASS)):
            return 0, "how its pods pass from one queue to another isn't modelled"
        if not revision.has_new_template and after.replicas <= len(_with_quota(snapshot, before)):
            return 0, ""  # what waits goes first: `getPodsToDelete` ranks pods without a node before others
        if without := _without_quota(snapshot, before):
            return 0, without
        if _asks_more(
            revision
        ):  # where all of them get quota beside all old ones, none depends on what those give back
            return (0, _PASSES_MORE) if after.replicas > LIMITS.queued_pods else (after.replicas, "")
        surge = (
            max(1, rolling_limits(after)[0]) if revision.has_new_template else 0
        )  # 1: whether new pods are let in at all
        more = max(0, after.replicas - before.replicas) + surge
    return (0, f"of more than {LIMITS.queued_pods} pods it isn't played") if more > LIMITS.queued_pods else (more, "")


_PASSES_MORE: Final = "how quota passes to pods that ask for more isn't modelled"


def _asks_more(revision: Revision) -> bool:
    """Whether a new pod asks for more of something than an old one."""
    before = pod_requests(revision.before.template.spec) if revision.before is not None else {}
    asks = pod_requests(revision.after.template.spec)
    return revision.before is not None and any(amount > before.get(name, 0) for name, amount in asks.items())


def _pods_of(snapshot: Snapshot, workload: Workload) -> list[Pod]:
    keys = workload_keys(snapshot)
    return [pod for pod in snapshot.pods if keys[pod.uid] == workload.key and not pod.is_terminal]


def _with_quota(snapshot: Snapshot, workload: Workload) -> list[QueuedWorkload]:
    """The Workloads with quota of its pods, each of which stands in its queue by itself; in the order of their names."""
    pod_names = {(pod.namespace, pod.name) for pod in _pods_of(snapshot, workload)}
    return sorted(
        (
            each
            for each in snapshot.queued_workloads
            if each.owner is not None and each.owner.kind == POD.name and (each.namespace, each.owner.name) in pod_names
            and each.is_said(ADMITTED) and has_quota(each)
        ),
        key=lambda each: each.name,
    )  # fmt: skip


def _without_quota(snapshot: Snapshot, workload: Workload) -> str:
    """Whether some pod of it has no Workload with quota, or waits for it."""
    admitted_pods = {
        (each.namespace, each.owner.name) for each in _with_quota(snapshot, workload) if each.owner is not None
    }
    own_pods = _pods_of(snapshot, workload)
    lost = [pod.name for pod in own_pods if (pod.namespace, pod.name) not in admitted_pods]
    if lost or len(own_pods) < workload.replicas:
        return f"no Workload shows that {'its pod ' + lost[0] if lost else 'all its pods'} has quota"
    return ""


# ── pods that are let in together ────────────────────────────────────────────────────────────────────────────────────
def group_of(revision: Revision) -> str:
    """The group of Kueue's that a Pod is one of, "" where it is none."""
    after = revision.after
    named = after.labels.get(KUEUE_POD_GROUP) or after.annotations.get(KUEUE_POD_GROUP, "")
    return named if after.kind == POD.name else ""


def _together(
    snapshot: Snapshot, space: str, name: str, requests: Mapping[int, _QueuedChange], revisions: Sequence[Revision]
) -> dict[int, _QueuedChange]:
    """One Workload of a group's pods, in sets of those that are alike (`pod_controller.go` `constructGroupPodSets`)."""
    first, *others = (revisions[place].after for place in requests)
    totals = {workload.annotations.get(KUEUE_GROUP_COUNT, "") for workload in (first, *others)}
    unknown = next((request.unknown for request in requests.values() if request.unknown), "")
    records = [each for request in requests.values() for each in request.workloads]
    if any(pod.namespace == space and pod.labels.get(KUEUE_POD_GROUP) == name for pod in snapshot.pods) or any(
        workload.key == f"{space}/{name}" for workload in snapshot.queued_workloads
    ):
        unknown = f"pods of group {name} are there already, and what comes to a group isn't modelled"
    # Kueue makes the group's Workload when as many pods are there as this annotation says.
    elif totals != {str(len(requests))}:
        unknown = f"{count(len(requests), 'pod')} of group {name} {plural(len(requests), 'comes', 'come')} with this change, and {KUEUE_GROUP_COUNT} says {listing(sorted(totals))}"
    elif len({(record.queue, record.priority) for record in records}) > 1:
        unknown = f"pods of group {name} name different queues or priorities"
    if unknown:
        return dict.fromkeys(requests, _QueuedChange(unknown=unknown))
    alike: dict[PodSpec, list[int]] = {}
    for place, queue_request in requests.items():
        alike.setdefault(queue_request.workloads[0].sets[0].spec, []).append(place)
    sets = tuple(
        QueuedSet(name=f"set-{number}", count=len(alike_places), spec=spec)
        for number, (spec, alike_places) in enumerate(alike.items())
    )
    whole = replace(records[0], sets=sets)
    return {
        place: _QueuedChange(workloads=(whole,), part=f"set-{number}") for number, alike_places in enumerate(alike.values()) for place in alike_places
    }  # fmt: skip


def crowded(cluster: Cluster, revisions: Sequence[Revision]) -> str:
    """Why what is let in may find its places taken, "" where it doesn't: others that Kueue lets in now come as well."""
    if not any(
        revision.queued is not None and not revision.queued.keeps_out and revision.queued.said for revision in revisions
    ):
        return ""
    names = {revision.after.key for revision in revisions}
    others = [*let_in_now(cluster.snapshot, names, (AdmissionOutcome.LET_IN, AdmissionOutcome.EVICTS))]
    flights_alongside = (each for rollout in revisions if rollout.queued is not None for each in rollout.queued.beside)
    others += {
        each.after.key: each
        for each in flights_alongside
        if each.after.key not in {revision.after.key for revision in others}
    }.values()
    if not others:
        return ""
    run = simulate(cluster, [*others, *revisions])
    if not run.is_cut and all(run.done[revision.after.key] for revision in revisions):
        return ""
    also = listing([revision.after.name for revision in others])
    return f"Kueue lets in {also}, too, and beside them not all of its pods may find nodes"


def let_in_now(
    snapshot: Snapshot, without: Container[str] = (), outcomes: Container[AdmissionOutcome] = (AdmissionOutcome.LET_IN,)
) -> Iterator[Revision]:
    """Pending workloads that are admitted now, each with its pods as its flavors have them; the pods it evicts stay meanwhile."""
    verdicts = verdicts_of(snapshot)
    for record in sorted(
        snapshot.queued_workloads, key=lambda workload: (-workload.priority, workload.created_at or 0.0, workload.key)
    ):
        verdict = verdicts.get(record.key)
        if verdict is None or verdict.outcome not in outcomes or name_of(record) in without or not record.sets:
            continue
        sets = tuple(
            PodsAlike(role=pod_set.name, template=Template(labels=EMPTY, spec=pod_set.spec), count=pod_set.count)
            for pod_set in record.sets
        )
        other = _by_themselves(record.namespace, name_of(record), sets)
        yield _with_flavors(snapshot, other, [verdict])


def _by_themselves(namespace: str, name: str, sets: tuple[PodsAlike, ...]) -> Revision:
    """Pods of which it is asked only whether they find nodes."""
    template = sets[0].template
    after = Workload(kind=JOB.name, namespace=namespace, name=name, template=template, strategy=Strategy(kind=""))
    return Revision(before=None, after=after, has_new_template=True, placed=Placed(sets=sets, gang=Gang.NONE))


class KeptBack(NamedTuple):
    """Pods of one object that Kueue keeps back, and why; not `is_known`: it may, and why that isn't known."""

    owner: str
    pods: int
    why: str
    is_known: bool


class AsLetIn(NamedTuple):
    """`snapshot`: with the gates off the pods that Kueue lets in now, and with what their flavors add; `opened`: their uids.

    `kept`: whom else of those that wait Kueue keeps back.
    """

    snapshot: Snapshot
    opened: frozenset[str] = frozenset()
    kept: tuple[KeptBack, ...] = ()


@once_a_snapshot
def pending_in_kueue(snapshot: Snapshot) -> AsLetIn:
    """Workloads pending in Kueue, by the same rules that `admitted_revisions` asks."""
    shut = {(shut_pod.namespace, shut_pod.name): shut_pod for shut_pod in snapshot.pods if shut_pod.node_name == "" and not shut_pod.is_terminal
            and KUEUE_ADMISSION_GATE in shut_pod.spec.scheduling_gates}  # fmt: skip
    verdicts = {} if lacking(snapshot) else verdicts_of(snapshot)
    if not shut and not verdicts:
        return AsLetIn(snapshot)
    names, keys = _names(snapshot), workload_keys(snapshot)
    opened: dict[str, Pod] = {}
    held_back_counts: dict[tuple[str, str, bool], int] = {}
    for record in snapshot.queued_workloads:
        if (verdict := verdicts.get(record.key)) is None:
            continue
        is_pod = record.owner is not None and record.owner.kind == POD.name
        pod = shut.get((record.namespace, record.owner.name)) if is_pod and record.owner is not None else None
        # The Workload of a pod group is let in as a whole: no pod of it is opened by itself.
        if pod is not None and gang_of(pod):
            continue
        shut.pop((pod.namespace, pod.name) if pod is not None else ("", ""), None)
        if pod is not None and verdict.outcome is AdmissionOutcome.LET_IN and (spec := _opened(snapshot, pod, verdict)):
            opened[pod.uid] = replace(pod, spec=spec)
            continue
        reason_text = f"{why(verdict, names)}{f' in ClusterQueue {verdict.queue}' if verdict.outcome is AdmissionOutcome.QUOTA else ''}"
        if verdict.outcome in (
            AdmissionOutcome.LET_IN,
            AdmissionOutcome.EVICTS,
            AdmissionOutcome.CHECK,
            AdmissionOutcome.UNKNOWN,
        ):
            reason_text = f"{verdict.outcome}: {reason_text}"
        if verdict.outcome is AdmissionOutcome.LET_IN:
            reason_text += "; its pods aren't there yet, and headroom capacity --queues says whether they find nodes"
        who = (
            keys[pod.uid] if pod is not None else names[record.key],
            reason_text,
            verdict.outcome is not AdmissionOutcome.UNKNOWN,
        )
        held_back_counts[who] = held_back_counts.get(who, 0) + sum(queued_set.count for queued_set in record.sets)
    for pod in shut.values():
        reason_text = "not known: no Workload of its own shows what it waits for"
        if missing := lacking(snapshot):
            reason_text = f"not known: the snapshot holds no {listing(missing)}"
        held_back_counts[keys[pod.uid], reason_text, False] = (
            held_back_counts.get((keys[pod.uid], reason_text, False), 0) + 1
        )
    pods = tuple(opened.get(snapshot_pod.uid, snapshot_pod) for snapshot_pod in snapshot.pods)
    return AsLetIn(
        replace(snapshot, pods=pods) if opened else snapshot,
        frozenset(opened),
        tuple(
            KeptBack(owner, number, explanation, is_known)
            for (owner, explanation, is_known), number in held_back_counts.items()
        ),
    )


def _opened(snapshot: Snapshot, pod: Pod, verdict: KueueVerdict) -> PodSpec | None:
    """The spec once Kueue removes its gate; None where its flavor isn't told."""
    gates = tuple(gate for gate in pod.spec.scheduling_gates if gate != KUEUE_ADMISSION_GATE)
    template = Template(labels=pod.labels, spec=replace(pod.spec, scheduling_gates=gates))
    alone = _by_themselves(pod.namespace, pod.name, (PodsAlike(role="main", template=template, count=1),))
    revision = _with_flavors(snapshot, alone, [verdict])
    return None if revision.placed is None else revision.placed.sets[0].template.spec


def found_of_queues(snapshot: Snapshot, revisions: Iterable[Revision]) -> tuple[Finding, ...]:
    """What Kueue does with what it lets in, and what that depends on."""
    return tuple(
        Finding(
            severity=Severity.INFO, code="queued", object=revision.after.key,
            what=f"{revision.queued.said}, {kueue_managed_pods.of_rules(snapshot)}, unless another workload comes first",
            fix="See the pending workloads: headroom capacity --queues",
        )
        for revision in revisions
        if revision.queued is not None and revision.queued.said
    )  # fmt: skip


# ── what becomes of them ─────────────────────────────────────────────────────────────────────────────────────────────
def _unknown(revision: Revision, why: str) -> Revision:
    return replace(revision, queued=Queued(unknown=why))


def _as_let_in(
    snapshot: Snapshot, revision: Revision, queue_request: _QueuedChange, verdicts: Mapping[str, KueueVerdict]
) -> Revision:
    if queue_request.unknown:
        return _unknown(revision, queue_request.unknown)
    if not queue_request.workloads:
        return replace(revision, queued=Queued(said="it makes no more pods than it has"))
    own_verdicts = [queue_request.own(verdicts[each.key]) for each in queue_request.workloads]
    own = {each.key for each in queue_request.workloads}
    if unknown := _doubt(snapshot, revision, own_verdicts, verdicts):
        return _unknown(revision, unknown)
    out = [each for each in own_verdicts if each.outcome not in (AdmissionOutcome.LET_IN, AdmissionOutcome.EVICTS)]
    reason_text = str(why(out[0], _names(snapshot))) if out else ""
    if out and out[0].outcome is AdmissionOutcome.QUOTA:
        reason_text = f"{reason_text} in ClusterQueue {out[0].queue}"
    # A workload that is there gets quota back as its old pods go. One that its queue will never take waits as a new
    # one would.
    if revision.placed is None and revision.before is not None and not (out and out[0].outcome in _NEVER):
        roots = {name: queue.root() for name, queue in state_of(snapshot).tree.queues.items()}
        others = [
            each for key, each in verdicts.items()
            if key not in own and each.outcome not in (*_NEVER, AdmissionOutcome.LET_IN) and roots.get(each.queue) is roots.get(own_verdicts[0].queue)
        ]  # fmt: skip
        return _rolled(snapshot, revision, own_verdicts, reason_text, others, queue_request.workloads[0])
    if not out:
        return _with_flavors(snapshot, revision, own_verdicts)
    if len(own_verdicts) > 1:
        reason_text = f"{reason_text}; it lets in {len(own_verdicts) - len(out)} of {len(own_verdicts)}"
    return _gated(revision, reason_text)


def _doubt(
    snapshot: Snapshot, change: Revision, own_verdicts: Sequence[KueueVerdict], verdicts: Mapping[str, KueueVerdict]
) -> str:
    """Why what Kueue does isn't known."""
    for each in own_verdicts:
        if each.outcome is AdmissionOutcome.EVICTS and change.before is not None:
            victims = listing([_names(snapshot).get(target.held.key, target.held.key) for target in each.targets])
            return f"Kueue would evict {victims} for it, and what becomes of them and of their places isn't played"
        if each.outcome in (AdmissionOutcome.UNKNOWN, AdmissionOutcome.CHECK):
            return str(why(each, {})) or "what its queue does isn't known"
        if each.outcome in (AdmissionOutcome.LET_IN, AdmissionOutcome.EVICTS) and any(
            assigned_set.pods != requested_set.count
            for assigned_set, requested_set in zip(each.given, _sets(snapshot, change), strict=True)
        ):
            return "Kueue would let it in with fewer pods, which isn't played"
    pods = {(pod.namespace, pod.name) for pod in snapshot.pods}
    pod_by_key = {
        each.key: (each.namespace, each.owner.name) for each in snapshot.queued_workloads if each.owner is not None
    }
    # Not for this change: others that wait may be about to evict, and free the very places that its pods would get.
    if change.before is not None and any(
        pod_by_key.get(t.held.key) in pods for each in verdicts.values() for t in each.targets
    ):
        return "Kueue is about to evict others' pods, and what becomes of their places isn't played"
    return ""


def _with_flavors(snapshot: Snapshot, revision: Revision, own_verdicts: Sequence[KueueVerdict]) -> Revision:
    """Let in: its pods get the node labels and tolerations of their flavors."""
    ways = {
        tuple(tuple(sorted({assignment.flavor for assignment in each.flavors.values()})) for each in verdict.given) for verdict in own_verdicts
    }  # fmt: skip
    if len(ways) > 1:
        return _unknown(revision, "its pods get different flavors, and how these are shared out isn't played")
    [way] = ways
    let = _as_flavored(snapshot, revision, way, own_verdicts[0].queue)
    return _at_places(snapshot, let, own_verdicts[0]) if len(own_verdicts) == 1 else let


def _at_places(snapshot: Snapshot, revision: Revision, verdict: KueueVerdict) -> Revision:
    """The change with the pods of each set that has places in a topology at them: Kueue gives each pod the labels of its domain, the
    node's alone where that is the lowest level (`pkg/controller/tas/topology_ungater.go`)."""
    if revision.placed is None or not any(each.places for each in verdict.given):
        return revision
    levels = {each.name: each.levels for each in snapshot.topologies}
    topology = {flavor.name: levels.get(flavor.topology, ()) for flavor in snapshot.resource_flavors}
    sets = []
    for alike, assigned_set in zip(revision.placed.sets, verdict.given, strict=False):
        of = next((topology[each.flavor] for each in assigned_set.flavors.values() if topology.get(each.flavor)), ())
        spec = alike.template.spec
        for place, number in assigned_set.places:
            labels = dict(zip(of, place, strict=True))
            labels = {HOSTNAME: labels[HOSTNAME]} if of[-1] == HOSTNAME else labels
            own = replace(spec, node_selector=FrozenMap({**spec.node_selector, **labels}))
            sets.append(replace(alike, template=replace(alike.template, spec=own), count=number))
        sets += [] if assigned_set.places else [alike]
    return replace(revision, placed=replace(revision.placed, sets=tuple(sets)))


def _as_flavored(snapshot: Snapshot, revision: Revision, way: Sequence[Sequence[str]], queue: str = "") -> Revision:
    """`way`: of each of its pod sets the names of its flavors."""
    flavors = {each.name: each for each in snapshot.resource_flavors}

    def added(template: Template, names: Iterable[str]) -> Template:
        got = [flavors[name] for name in names]
        labels = {key: value for each in got for key, value in each.node_labels.items()}
        tolerations = tuple(each for flavor in got for each in flavor.tolerations)
        if not labels and not tolerations:
            return template
        spec = template.spec
        selector = FrozenMap({**spec.node_selector, **labels})
        return replace(template, spec=replace(spec, node_selector=selector, tolerations=spec.tolerations + tolerations))

    names = sorted({name for each in way for name in each})
    quota_text = f"ClusterQueue {queue} has quota of {listing(names)} for it" if queue and names else "Kueue lets it in"
    templates = [
        added(template, flavor_names)
        for template, flavor_names in zip(_templates(revision), (*way, *way[-1:]), strict=False)
    ]
    return _with_templates(replace(revision, queued=Queued(said=quota_text)), templates)


def _templates(revision: Revision) -> list[Template]:
    """Templates of the pods that Kueue admits; what stands beside comes later, and isn't placed."""
    if revision.placed is not None:
        return [each.template for each in revision.placed.sets]
    return [
        revision.after.template,
        *([revision.after.worker_template] if revision.after.worker_template is not None else []),
    ]


def _with_templates(rollout: Revision, templates: Sequence[Template]) -> Revision:
    """The change with other templates of the same pods, and without the suspension that Kueue takes away."""
    if rollout.placed is not None:
        sets = tuple(replace(each, template=own) for each, own in zip(rollout.placed.sets, templates, strict=True))
        idle = Idle.NO if rollout.placed.idle is Idle.SUSPENDED else rollout.placed.idle
        return replace(rollout, placed=replace(rollout.placed, sets=sets, idle=idle))
    template, *workers = templates
    if template is rollout.after.template and not workers:
        return rollout
    return replace(rollout, after=replace(rollout.after, template=template, worker_template=next(iter(workers), None)))


def _rolled(
    snapshot: Snapshot,
    revision: Revision,
    own_verdicts: Sequence[KueueVerdict],
    reason_text: str,
    others: Sequence[KueueVerdict],
    record: QueuedWorkload,
) -> Revision:
    """A Deployment that is there: old pods give their quota back as they go, and others that wait may get it. `own_verdicts`: pods beside
    the old ones, each made as `record`."""
    room = [each for each in own_verdicts if each.outcome is AdmissionOutcome.LET_IN]
    surge, unavailable = rolling_limits(revision.after)
    before = revision.before or revision.after
    more = max(0, revision.after.replicas - before.replicas)
    if _asks_more(revision) and len(room) < len(own_verdicts):
        return _unknown(revision, _PASSES_MORE)
    if len(room) < more and pod_requests(revision.after.template.spec) == pod_requests(before.template.spec):
        return _in_part(revision, len(room), more, before.replicas + len(room), reason_text)
    if len(room) < len(own_verdicts) and more:
        return _unknown(
            revision,
            f"lets in {len(room)} of {count(len(own_verdicts), 'pod that comes', 'pods that come')} ({reason_text})",
        )
    # With maxUnavailable 0 no old pod goes before a new one is Ready, and without quota no new pod starts: neither
    # moves.
    if not room and not unavailable:
        return _gated(revision, f"{reason_text}, and the old pods keep theirs until it is Ready")
    if others and revision.has_new_template and len(room) < revision.after.replicas:
        contested = _contested(snapshot, revision, unavailable, others, record)
        if contested is not None:
            return contested
    names_of = _only_flavors(snapshot, own_verdicts[0].queue)
    if not room and names_of is None:
        return _unknown(revision, "which flavor its new pods get from the old ones isn't played")
    let = _with_flavors(snapshot, revision, room) if room else _as_flavored(snapshot, revision, [names_of or ()])
    if let.after is not revision.after and not revision.has_new_template:
        return _unknown(revision, "where its flavors put the pods that come isn't played")
    if len(room) >= surge or let.queued is None or let.queued.unknown:
        return let
    # Kueue gates the pods beyond this number, which comes to the same as a smaller maxSurge.
    strategy = replace(let.after.strategy, max_surge=len(room))
    note = f"ClusterQueue {own_verdicts[0].queue} has quota for {len(room)} of {count(surge, 'pod')} beside the old ones, and is played with that maxSurge"
    return replace(let, after=replace(let.after, strategy=strategy), queued=Queued(said=note))


def _in_part(revision: Revision, let: int, of: int, replicas: int, reason_text: str) -> Revision:
    """A Deployment of which some pods never get quota: as many as do are played."""
    why = f"Kueue lets in {let} of {count(of, 'new pod')}: {reason_text}"
    return replace(revision, after=replace(revision.after, replicas=replicas), queued=Queued(said=why, never_whole=why))


def _contested(
    snapshot: Snapshot, revision: Revision, missing: int, others: Sequence[KueueVerdict], record: QueuedWorkload
) -> Revision | None:
    """What comes of a Deployment's rollout where others wait for quota of the same cohort, too; None where they get none of what
    `missing` old pods give back, which is the most that is given back at once, and the new pods do.

    Under Recreate all old pods go before a new one comes (`pkg/controller/deployment/recreate.go`), so others are first.
    """
    assert revision.before is not None
    old = _with_quota(snapshot, revision.before)
    keys = {each.key for each in old[:missing]}
    freed = replace(
        snapshot, queued_workloads=tuple(each for each in snapshot.queued_workloads if each.key not in keys)
    )
    rules = rules_of(snapshot)  # what old pods show of Kueue's configuration holds once they have gone
    verdicts = play(freed, rules)
    then = {each.key: verdicts[each.key] for each in others}
    takers = [each for each in then.values() if each.outcome not in _ON_QUOTA]
    is_recreated = revision.after.strategy.kind == RECREATE
    # With one workload that waits, or with room for all of them, their order decides nothing.
    is_known = all(each.outcome is AdmissionOutcome.LET_IN for each in takers) and (
        len(others) == 1 or len(takers) == len(others)
    )
    granted = {
        (flavor, resource)
        for each in old
        for granted_set in each.granted
        for resource, flavor in granted_set.flavors.items()
    }
    # Old pods got one resource from several flavors: which flavor comes free first isn't known.
    if len(granted) > len({resource for _, resource in granted}) or (takers and not (is_recreated and is_known)):
        first = _names(snapshot).get(others[0].key, others[0].key)
        return _unknown(revision, f"who gets its old pods' quota isn't played: {first} waits for some, too")
    after = after_evictions(freed, takers)
    number = revision.after.replicas if is_recreated else missing
    new = [replace(record, name=f"{record.name}.{each}", uid=f"{record.uid}.{each:06}") for each in range(number)]
    end = play(replace(after, queued_workloads=(*after.queued_workloads, *new)), rules)
    lacks = [end[each.key] for each in new if end[each.key].outcome is not AdmissionOutcome.LET_IN]
    if not lacks:
        return (
            None
            if not takers
            else _unknown(revision, "where those go that get what its old pods give back isn't played")
        )
    reason_text = str(why(lacks[0], _names(snapshot)))
    if any(each.outcome not in _ON_QUOTA for each in lacks) or not is_recreated:
        return _unknown(revision, f"who gets its old pods' quota isn't played: {reason_text}")
    names = listing([_names(snapshot).get(each.key, each.key) for each in takers])
    reason_text = f"{reason_text}{f'; {names} gets what the old pods give back' if names else ''}"
    return _in_part(revision, number - len(lacks), number, number - len(lacks), reason_text)


_ON_QUOTA: Final = (AdmissionOutcome.QUOTA, AdmissionOutcome.NEVER, AdmissionOutcome.BEHIND)


def _only_flavors(snapshot: Snapshot, queue: str) -> tuple[str, ...] | None:
    """The flavors that all its pods get; None where there is a choice."""
    groups = next(cluster_queue.groups for cluster_queue in snapshot.cluster_queues if cluster_queue.name == queue)
    return tuple(group.flavors[0] for group in groups) if all(len(group.flavors) == 1 for group in groups) else None


def _gated(rollout: Revision, reason_text: str) -> Revision:
    """Not let in: its new pods keep Kueue's gate."""
    shut = [
        replace(each, spec=replace(each.spec, scheduling_gates=(KUEUE_ADMISSION_GATE,))) for each in _templates(rollout)
    ]
    return _with_templates(replace(rollout, queued=Queued(said=reason_text, keeps_out=True)), shut)
