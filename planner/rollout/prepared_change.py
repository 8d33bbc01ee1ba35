"""Prepares a requested rollout against a snapshot: which workloads change into what, and how long their pods take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from planner.ground import garbage_collector
from planner.ground.errors import ChangeError, InputError, NotKnownError
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting
from planner.ground.well_known_names import DEFAULT_NAMESPACE
from planner.ground.words import with_article
from planner.inventory.change import WorkloadChange, apply_change, patch_of
from planner.inventory.input_report import get_command, hides, unseen_kind
from planner.inventory.kubectl_apply import AppliedWorkload, PlacedWorkload, UnknownObject, read_manifest, unread_in
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.name_validation import parse_namespace
from planner.kubernetes.object_records import Finding, PodsAlike, Snapshot, Workload
from planner.kubernetes.owners import unjudged_key
from planner.kubernetes.pod_template_kinds import Gang, Idle, Placed
from planner.kubernetes.selectors import labels_match
from planner.kubernetes.workload_kinds import POD, ROLLING_TEXT, kind_in
from planner.kubernetes.workload_names import nearest
from planner.rollout.answers import RUNS
from planner.rollout.in_flight import says_rest
from planner.rollout.ownership import pods_by_owner, pods_of
from planner.rollout.pod_durations import PodTimes, learn_pod_times
from planner.rollout.run import Revision
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster


def manifest_namespace() -> Any:
    """The setting of every question that takes a manifest."""
    return setting(
        DEFAULT_NAMESPACE, name="manifest_namespace", label="Namespace of the manifest", option="--namespace", short="-n",
        form="NAME", parse=parse_namespace, is_everyday=True, help="Namespace of the manifest's objects, and of workloads, that name none.",
    )  # fmt: skip


def unread_files() -> Any:
    """The setting of every question that takes a manifest: what of it couldn't be read."""
    return setting((), on_command=False, help="Files of the manifest that can't be read, and why.")


class Scenario(Record):
    """Changes applied together, and how ties are sampled.

    `manifest` holds documents as ``kubectl apply -f`` would take them, `namespace` is of those that name none; what they change against the snapshot is added
    to `changes`; so are `applied`, workloads of a manifest that was read before (against this snapshot). `runs` seeds are
    tried where the verdict may depend on placement; the first is `seed`.
    """

    changes: tuple[WorkloadChange, ...] = ()
    manifest: str = ""
    namespace: str = DEFAULT_NAMESPACE
    unread: tuple[str, ...] = ()
    applied: tuple[AppliedWorkload | PlacedWorkload | UnknownObject, ...] = ()
    seed: int = 0
    runs: int = RUNS
    with_remedies: bool = True

    def __post_init__(self) -> None:
        if not self.changes and not self.manifest and not self.applied:
            raise ChangeError("nothing is changed", fix="Name a workload or give a manifest")


@once_a_snapshot
@garbage_collector.resting()
def compiled(snapshot: Snapshot) -> Cluster:
    """The snapshot compiled for scheduling, once: kept by the snapshot, and as long as it."""
    return Cluster(snapshot)


def make_ready(snapshot: Snapshot) -> None:
    """Make what every rollout of the snapshot is played on, before one is asked about."""
    cluster = compiled(snapshot)
    cluster.label_groups()
    pods_by_owner(cluster)
    Simulation(cluster)


class Prepared(Record):
    """A scenario worked out against a snapshot (which a manifest may have added objects to)."""

    snapshot: Snapshot
    revisions: tuple[Revision, ...]
    pod_times: tuple[PodTimes, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[UnknownObject, ...] = ()

    @property
    def timed(self) -> tuple[Revision, ...]:
        """The changes with how long their pods take, for where something else happens at a time."""
        return tuple(replace(r, times=t) for r, t in zip(self.revisions, self.pod_times, strict=True))

    def place_of(self, key: str) -> int | None:
        """Which of the changes is that workload's."""
        return next((place for place, revision in enumerate(self.revisions) if revision.after.key == key), None)


def prepare(snapshot: Snapshot, scenario: Scenario) -> Prepared:
    """Work a scenario out: which workloads change into what.

    Raises
    ------
    ChangeError
        For a workload that isn't there, or a change that doesn't apply.
    NotKnownError
        Where nothing of it is known.
    """
    revisions: list[Revision] = []
    findings: list[Finding] = []
    change_by_key: dict[str, WorkloadChange] = {}
    applied = scenario.applied
    if scenario.manifest:
        manifest = read_manifest(scenario.manifest, snapshot, namespace=scenario.namespace, unread=scenario.unread)
        snapshot = manifest.snapshot
        findings.extend(manifest.findings)
        applied += (*manifest.workloads, *manifest.placed, *manifest.unknown)
    unknown = tuple(applied_object for applied_object in applied if isinstance(applied_object, UnknownObject))
    unknown += tuple(_perhaps_there(snapshot, applied))
    for application in applied:
        if isinstance(application, UnknownObject):
            continue
        revision = revision_of(snapshot, application)
        revisions.append(revision)
        change_by_key[revision.after.key] = WorkloadChange(workload=revision.after.key)
    for change in scenario.changes:
        applied_revision = next(
            (candidate for candidate in revisions if candidate.after.key.lower() == change.workload.lower()), None
        )
        workload = applied_revision.after if applied_revision else snapshot.workload(change.workload)
        if workload is None and hides(snapshot, change.workload):
            raise unseen_kind(snapshot, change.workload)
        if workload is None and (key := unjudged_key(snapshot, change.workload)):
            what = f"not known: how {with_article(kind_in(key).name)} such as {key} rolls out isn't played"
            raise NotKnownError(
                what, fix="To see whether more such pods find nodes, give the object under another name to -f"
            )
        if workload is None:
            alike = nearest(change.workload, (candidate.key for candidate in snapshot.workloads))
            fix = f"Did you mean {', '.join(alike)}?" if alike else "headroom rollout CLUSTER lists the workloads"
            raise ChangeError(f"there is no {change.workload} in the snapshot", fix=fix)
        if not workload.traits.rolls_out:
            raise ChangeError(
                f"{with_article(workload.kind)} does not roll out: its pod template can't be changed",
                where=workload.key,
                fix=f"Pick a {ROLLING_TEXT}",
            )
        if applied_revision:  # the manifest's change is the rollout: without this a restart would be added to it
            change = replace(change, new_revision=False)
        after, has_new_template, notes = apply_change(workload, change)
        findings.extend(notes)
        if change.patch:
            unknown += tuple(unread_in(workload.key, patch_of(change.patch, workload), is_patch=True))
        changed = Revision(
            before=applied_revision.before if applied_revision else workload, after=after, never_ready=change.never_ready,
            has_new_template=has_new_template or (applied_revision is not None and applied_revision.has_new_template),
            keeps_replicas=change.replicas is None and after.replicas == workload.replicas,
            applied=applied_revision.after if applied_revision else None,
        )  # fmt: skip
        revisions = (
            [changed, *(other_revision for other_revision in revisions if other_revision is not applied_revision)]
            if scenario.manifest
            else [*revisions, changed]
        )
        change_by_key[workload.key] = change
    if not revisions:
        raise _nothing_changes(findings, unknown)
    cluster = compiled(snapshot)
    pod_times = tuple(_pod_times(cluster, r, change_by_key[r.after.key]) for r in revisions)
    return Prepared(
        snapshot=snapshot, revisions=tuple(revisions), pod_times=pod_times, findings=tuple(findings), unknown=unknown
    )


def _perhaps_there(snapshot: Snapshot, applied: Iterable[object]) -> Iterator[UnknownObject]:
    """Workloads that can't be called new, since their kind wasn't listed, and some pod may be of one that is there. Where all pods were
    and none is, and the manifest says how many it shall have, it makes no difference: there is nothing of it to replace."""
    for applied_object in applied:
        if not isinstance(applied_object, AppliedWorkload) or applied_object.before is not None:
            continue
        is_told = (
            applied_object.says_replicas
            and not snapshot.lacks(POD.name)
            and not _may_have_pods(snapshot, applied_object.after)
        )
        if snapshot.lacks(applied_object.after.kind) and not is_told:
            what = f"whether there is a {applied_object.after.key} is not known: the snapshot doesn't list its kind"
            yield UnknownObject(
                key=applied_object.after.key,
                what=what,
                fix=f"To add it: {get_command([applied_object.after.kind])}",
                may_help=True,
            )


def _may_have_pods(snapshot: Snapshot, workload: Workload) -> bool:
    """Whether a pod is of that workload, or would be of one that selects the same."""
    return any(
        (pod.owner is not None and (pod.owner.kind, pod.owner.name) == (workload.kind, workload.name))
        or labels_match(workload.selector, pod.labels)
        for pod in snapshot.pods
        if pod.namespace == workload.namespace
    )


def revision_of(snapshot: Snapshot, applied_object: AppliedWorkload | PlacedWorkload) -> Revision:
    """What an object of a manifest changes. One that stays as it is isn't played where its status says that it is at rest and its
    ReplicaSets weren't listed: they would be taken for missing."""
    if isinstance(applied_object, PlacedWorkload):
        return Revision(
            before=None,
            after=applied_object.workload,
            has_new_template=not applied_object.placed.idle,
            placed=applied_object.placed,
        )
    part, placed = applied_object.after.traits.part, None
    if (
        applied_object.before is not None
        and not applied_object.moves_pods
        and snapshot.lacks(part)
        and says_rest(applied_object.before)
    ):
        sets = tuple(
            PodsAlike(role="", template=template, count=number) for template, number in applied_object.after.templates
        )
        placed = Placed(sets=sets, gang=Gang.NONE, idle=Idle.THERE)
    return Revision(
        before=applied_object.before, after=applied_object.after, has_new_template=applied_object.has_new_template, placed=placed, rules=applied_object.rules,
        keeps_replicas=not applied_object.says_replicas,
    )  # fmt: skip


def _nothing_changes(findings: list[Finding], unknown: tuple[UnknownObject, ...]) -> InputError:
    """What the manifest holds instead of pods; not known where it may have some that aren't told here."""
    if unknown:
        what = "; ".join(unknown_object.what for unknown_object in unknown)
        return NotKnownError(f"not known: {what}", fix=next((gap.fix for gap in unknown if gap.fix), ""))
    problem = "; ".join(finding.what for finding in findings) or "it holds no workload"
    fix = next((finding.fix for finding in findings if finding.fix), "")
    what = f"the manifest asks for no pods: {problem}"
    return ChangeError(what, fix=fix or "Give a workload, a Pod, or a kind with a known pod template")


def pod_times_of(cluster: Cluster, revision: Revision) -> PodTimes:
    """How long the pods of a revision take to start and to stop, as far as its pods show."""
    return _pod_times(cluster, revision, WorkloadChange(workload=revision.after.key))


def _pod_times(cluster: Cluster, revision: Revision, change: WorkloadChange) -> PodTimes:
    pods = (cluster.snapshot.pods[i] for i in pods_of(cluster, revision.before or revision.after))
    return learn_pod_times(
        revision.after, pods, startup_seconds=change.startup_seconds, termination_seconds=change.termination_seconds
    )
