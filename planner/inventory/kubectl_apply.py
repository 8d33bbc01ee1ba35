"""Applies a manifest to the snapshot as ``kubectl apply -f`` would: what it changes, and what it creates.

What the manifest says of a workload is merged into what the snapshot has, as kubectl does it (`change.applied_to`): what it leaves
out goes where the last applied configuration had it, and stays else, such as replicas set by an autoscaler. Budgets, quotas,
classes and claims go into a snapshot of their own beside the given one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from planner.ground import typed_json, words
from planner.ground.data_files import table_beside
from planner.ground.errors import ChangeError, InputError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import DEFAULT_NAMESPACE, LWS_EXCLUSIVE, LWS_SUBGROUP_EXCLUSIVE
from planner.ground.words import with_article
from planner.inventory import api_types, api_version_checks, helm_hooks
from planner.inventory.change import (
    applied_to,
    document_of,
    has_new_template,
    read_changed,
    read_workload_document,
)
from planner.inventory.change_validation import check_budget, check_resources, check_workload
from planner.inventory.custom_resource_validation import DEFINITION, custom_kinds, unpacked
from planner.inventory.documents import objects_of
from planner.inventory.finding_texts import GROWS_TO, finding
from planner.inventory.generated_deployments import lacks_applied, through
from planner.inventory.indirect_pod_effects import Unsure, raised_autoscalers, side_effects
from planner.inventory.manifest_comparison import Sameness, compare_objects, is_same_pod, is_same_set
from planner.inventory.operator_updates import NOT_RECORDED, ChangeCourse, course, unchanged_course
from planner.inventory.pod_template_validation import amount_problems
from planner.inventory.records.read_context import Shared
from planner.inventory.records.unplayed_objects import read_before, read_pods, read_set, read_unplayed
from planner.inventory.referenced_pod_templates import Runtimes
from planner.inventory.snapshot_parser import DAMAGE, Part, Reader, damage_in_words, is_known, kind_of
from planner.kubernetes import kueue_managed_pods
from planner.kubernetes.argo_and_lws_rollouts import invalid
from planner.kubernetes.autoscaler_replica_bounds import (
    AUTOSCALERS,
    acting_autoscalers,
    autoscalers_of,
    brought_within,
    settled_replicas,
)
from planner.kubernetes.composite_kinds import Composed, FoundSet, ray_workers_at_most
from planner.kubernetes.feature_gates import GANGS, minor_of
from planner.kubernetes.jobs import wanted_pods
from planner.kubernetes.kinds_without_pods import PodEffect, effect_of, makes_no_pods
from planner.kubernetes.object_records import (
    EMPTY,
    ClusterQueue,
    Finding,
    FrozenMap,
    HorizontalPodAutoscaler,
    Labels,
    Namespace,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PodsAlike,
    PodSpec,
    Presence,
    ResourceQuota,
    Severity,
    Snapshot,
    Strategy,
    Template,
    Unplayed,
    Workload,
)
from planner.kubernetes.operator_update_rules import at
from planner.kubernetes.owners import held_below
from planner.kubernetes.pod_template_kinds import (
    Gang,
    Idle,
    Placed,
    Templated,
    assumed_of,
    found_sets,
    gang_in,
    group_count,
    is_suspended,
    other_scheduler,
    resource_of,
    strange_places,
    templated,
    waits_of,
)
from planner.kubernetes.requests import requested_gpus
from planner.kubernetes.shell_commands import command
from planner.kubernetes.unknown_kind_requests import Untold, gangs_asked, unmodelled_requests
from planner.kubernetes.workload_kinds import LEADER_WORKER_SET, POD, REPLICA_SET, ROLLOUT, WORKLOADS, kind_in

Object = dict[str, Any]
MANIFEST = "manifest"

_BESIDE = frozenset(
    {"Namespace", "PodDisruptionBudget", "PriorityClass", "RuntimeClass", "ResourceQuota", "LimitRange",
     "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "DeviceClass", "ResourceClaim",
     "ResourceClaimTemplate", *AUTOSCALERS, "Service"}
)  # fmt: skip
_GIVE = "Give what kubectl apply -f takes"
_METADATA: tuple[tuple[str, type, str], ...] = (
    ("name", str, "a text"),
    ("generateName", str, "a text"),
    ("namespace", str, "a text"),
    ("labels", dict, "an object"),
    ("annotations", dict, "an object"),
)
_WORKLOADS = {kind.name for kind in WORKLOADS}
_ACCOUNT = "ServiceAccount"
_KEPT_AS_THEY_ARE = frozenset({"PersistentVolume", "PersistentVolumeClaim", "ResourceClaim"})


class AppliedWorkload(Record):
    """One workload of a manifest. `before` is None when the cluster doesn't have it yet.

    `has_new_template`: its controller makes new pods; False for one that is only scaled, or not changed at all. `is_assumed`:
    nothing says what was applied before, and the manifest leaves out what the workload has. `says_replicas`: it says how many, so
    that an object that was not listed can't have kept another number. `rules`: of which project, where its owner's change was read by
    rules that weren't recorded.
    """

    before: Workload | None
    after: Workload
    has_new_template: bool
    is_assumed: bool = False
    says_replicas: bool = False
    rules: str = ""

    @property
    def is_changed(self) -> bool:
        return self.has_new_template or self.before != self.after

    @property
    def moves_pods(self) -> bool:
        """Whether its controller makes or deletes pods for it: not for labels, annotations, a strategy or a deadline."""
        before, after = self.before, self.after
        if self.has_new_template or before is None:
            return True
        field_names = ("replicas", "is_paused", "start_ordinal", "selector", "completions")
        return before.strategy.partition != after.strategy.partition or any(
            getattr(before, name) != getattr(after, name) for name in field_names
        )


class PlacedWorkload(Record):
    """An object of a manifest with known pods that isn't played: `workload` has its name and first template."""

    workload: Workload
    placed: Placed

    @property
    def moves_pods(self) -> bool:
        """As `AppliedWorkload.moves_pods`; of one that is suspended what it would make is worth telling."""
        return not self.placed.is_unchanged


class UnknownObject(Record):
    """An object of a manifest without known pods, or without a known end for them.

    `key` is ``Kind/namespace/name``, `what` why, as a sentence without a full stop. `gpus`: what it asks for at least.
    `may_help`: whether it may also free room.
    """

    key: str
    what: str
    fix: str = ""
    gpus: int = 0
    may_help: bool = False

    def asking(self, words: str, gpus: int) -> UnknownObject:
        """The same, with what it asks for at least: in words that follow, and of GPUs."""
        return UnknownObject(key=self.key, what=f"{self.what}{words}", fix=self.fix, gpus=gpus, may_help=self.may_help)


class Manifest(Record):
    """What a manifest does: its workloads, the snapshot with its other objects, and what it holds besides."""

    workloads: tuple[AppliedWorkload, ...]
    placed: tuple[PlacedWorkload, ...]
    unknown: tuple[UnknownObject, ...]
    snapshot: Snapshot  # workloads and pods as they were
    other_kinds: FrozenMap[int]  # kinds that change nothing here → how many
    findings: tuple[Finding, ...]


def read_manifest(
    text: str, snapshot: Snapshot, *, namespace: str = DEFAULT_NAMESPACE, unread: Iterable[str] = ()
) -> Manifest:
    """The documents of `text` (JSON or YAML, Lists taken apart) against `snapshot`.

    An object that names no namespace is meant for `namespace`, as with ``kubectl apply -n``. `unread`: files of it that can't
    be read, and why.

    Raises
    ------
    ChangeError
        When a document can't be read or the API server would refuse it; nothing is applied in part.
    """
    objects = _objects(text)
    workloads: dict[str, AppliedWorkload] = {}
    placed: dict[str, PlacedWorkload] = {}
    unknown = [_unknown("unreadable", name, problem=why) for name, _, why in (note.partition(": ") for note in unread)]
    findings: list[Finding] = []
    other_objects: list[Object] = []
    other_kinds: dict[str, int] = {}
    accounts: list[tuple[str, str]] = []
    runtimes = Runtimes(objects, snapshot, namespace)
    each_once = list(_each_once(objects, namespace, findings))
    unknown += _not_refused(each_once, snapshot)
    each_once = _without_gangs(each_once, unknown)
    for number, kind, document in each_once:
        if helm_hooks.events(document) and not (helm_hooks.stays(document) and kind in (*_BESIDE, _ACCOUNT)):
            makes_pods = kind not in (*_BESIDE, _ACCOUNT) and not makes_no_pods(document)
            code = "helm-hook" if makes_pods else "helm-hook:without pods"
            findings.append(finding(code, _key(kind, *_named(document)), events=", ".join(helm_hooks.events(document))))
            continue
        row = templated(str(document.get("kind")), str(document.get("apiVersion") or ""))
        # First whether another kind carries it out: KServe makes a Deployment of an InferenceService, and the Deployment's strategy decides.
        if row is not None and (rolled := _through(row, document, snapshot)) is not None:
            workloads[rolled.after.key] = rolled
            findings.append(_by_rules_of(row, document))
        elif row is not None and not (kind in _WORKLOADS and _is_there(kind, document, snapshot)):
            placement = _placed(row, document, number, snapshot, runtimes)
            if isinstance(placement, UnknownObject):
                unknown.append(placement)
                continue
            placed[placement.workload.key] = placement
            findings += _told(placement)
        elif kind in _WORKLOADS:
            applied, notes = _applied(kind, document, number, snapshot)
            workloads[applied.after.key] = applied
            unknown += unread_in(applied.after.key, document)
            findings += notes
        elif kind in _BESIDE or kueue_managed_pods.configures(document):
            other_objects.append(document)
        elif kind == _ACCOUNT:
            accounts.append(_named(document))
        elif makes_no_pods(document):
            other_kinds[kind] = other_kinds.get(kind, 0) + 1
        elif isinstance(placement := _of_unknown_kind(document, snapshot), PlacedWorkload):
            placed[placement.workload.key] = placement
        else:
            unknown.append(placement)
    assumed = [workload.after.key for workload in workloads.values() if workload.is_assumed]
    findings += [finding("apply-assumed", keys=words.listing(assumed))] if assumed else []
    # a new ServingRuntime makes no pods by itself, so that it is no gap once a model of the manifest uses it
    unknown = [gap for gap in unknown if gap.may_help or gap.key not in runtimes.used]
    # A Job has no rollout: applying a new one makes all its pods at once, so that each has to find a node.
    at_once = [key for key, applied in workloads.items() if not applied.after.traits.rolls_out]
    jobs = [_of_job(workloads.pop(key)) for key in at_once]
    unknown += [job for job in jobs if isinstance(job, UnknownObject)]
    placed |= {job.workload.key: job for job in jobs if isinstance(job, PlacedWorkload)}
    findings += [job_finding for job in jobs if isinstance(job, PlacedWorkload) for job_finding in _told(job)]
    if other_kinds:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(other_kinds.items()))
        findings.append(finding("manifest-not-applied", kinds=kinds))
    side_findings, unsure = _beside_pods(each_once, snapshot, workloads)
    findings += side_findings
    unknown += unsure
    with_objects = _with_objects(snapshot, other_objects, accounts, text) if other_objects or accounts else snapshot
    # After the objects beside it are in: an autoscaler of the same manifest sets replicas of a workload that the manifest doesn't name.
    findings += raised_autoscalers(snapshot, with_objects)
    moved, not_told = _autoscaled(snapshot, with_objects, workloads)
    workloads |= moved
    unknown += not_told
    for key, one_moved in moved.items():
        today = words.count(one_moved.before.replicas, "replica") if one_moved.before is not None else ""
        findings.append(finding("replicas-by-autoscaler", key, today=today, then=one_moved.after.replicas))
    new_workloads = [*(workload.after for workload in workloads.values()), *(pods.workload for pods in placed.values())]
    findings += _no_namespace(new_workloads, with_objects)
    return Manifest(
        workloads=tuple(workloads.values()),
        placed=tuple(placed.values()),
        unknown=tuple(_each_key(unknown)),
        snapshot=with_objects,
        other_kinds=FrozenMap(other_kinds) if other_kinds else EMPTY,
        findings=tuple(findings),
    )


def objects_in(text: str, namespace: str) -> list[Object]:
    """The objects of a manifest as they are written, each once and in its namespace.

    Raises
    ------
    ChangeError
        When a document can't be read.
    """
    return [document for _, _, document in _each_once(_objects(text), namespace, [])]


def _objects(text: str) -> list[Object]:
    """The objects of a manifest, refused with keys that are given twice: kubectl sends the last, and only one can be meant."""
    repeated: list[str] = []
    try:
        objects = [document for document in objects_of(text, MANIFEST, repeated) if document]
    except InputError as error:
        fix = "It is a template: give what helm template prints" if "{{" in text else error.fix
        raise ChangeError(error.what, where=error.where, fix=fix) from None
    if not objects:
        raise ChangeError("it is empty", where=MANIFEST, fix=_GIVE)
    if repeated:
        what, fix = f"keys are given twice: {words.listing(repeated)}", "Delete the one that isn't meant"
        raise ChangeError(what, where=MANIFEST, fix=fix)
    return objects


def _each_once(objects: Iterable[Object], namespace: str, findings: list[Finding]) -> Iterator[tuple[int, str, Object]]:
    """Each object's number, kind and itself, in its namespace; of one that is there twice the last, as kubectl applies them
    one after another."""
    last: dict[object, tuple[int, str, Object]] = {}
    again: dict[str, None] = {}
    for number, document in enumerate(objects, start=1):
        kind = _kind(document, number)
        _check_metadata(document, f"{MANIFEST}, {kind} (document {number})")
        metadata, resource_kind = document.get("metadata"), api_types.READ.get(kind)
        # kinds of the cluster have none
        if (
            isinstance(metadata, dict)
            and not metadata.get("namespace")
            and (resource_kind is None or resource_kind.is_namespaced)
        ):
            metadata["namespace"] = namespace
        group = str(document.get("apiVersion") or "").rpartition("/")[0]
        # Without a name (generateName) each document makes an object of its own.
        key = (group, kind, *_named(document)) if _named(document)[1] else number
        if key in last:
            again[_key(kind, *_named(document))] = None
        last[key] = (number, kind, document)
    if again:
        findings.append(finding("manifest-twice", keys=words.listing(list(again))))
    yield from last.values()


def _named(document: Object) -> tuple[str, str]:
    """The namespace and the name that an object gives; "" for one that isn't there."""
    metadata = document.get("metadata")
    metadata_fields = metadata if isinstance(metadata, dict) else {}
    return str(metadata_fields.get("namespace") or ""), str(metadata_fields.get("name") or "")


def _no_namespace(workloads_to_check: Iterable[Workload], snapshot: Snapshot) -> list[Finding]:
    """Namespaces that neither the cluster has nor the manifest brings."""
    if snapshot.presence.get("Namespace") is not Presence.PRESENT:
        return []
    namespace_names = {namespace.name for namespace in snapshot.namespaces}
    missing = dict.fromkeys(
        workload.namespace
        for workload in workloads_to_check
        if workload.namespace and workload.namespace not in namespace_names
    )
    create = ("kubectl", "create", "namespace")
    return [finding("namespace-missing", f"Namespace/{name}", command=command(*create, name)) for name in missing]


_NO_MANIFESTS: Final[tuple[tuple[str, str, type, frozenset[str]], ...]] = (
    # what stands beside manifests in a repository, by keys under which each has such a value: `resources` are a list of a kustomization's
    # files, and an object in Helm's values
    ("a kustomization", "Give what it builds: kubectl kustomize FOLDER", list,
     frozenset({"resources", "bases", "components", "patches", "patchesStrategicMerge", "configMapGenerator", "helmCharts"})),
    ("a file of Docker Compose", "Give what kompose convert makes of it", dict, frozenset({"services"})),
    ("a Helm chart's Chart.yaml", "Give what helm template prints", str, frozenset({"appVersion"})),
    ("Helm's values", "Give what helm template prints", object,
     frozenset({"replicaCount", "image", "fullnameOverride", "nameOverride", "global", "resources", "serviceAccount", "nodeSelector", "tolerations"})),
)  # fmt: skip


def _kind(document: Object, number: int) -> str:
    """The kind, or for one of another API group its name with the group."""
    try:
        kind, api_version = kind_of(document, Part())
    except InputError as error:
        what, fix = next(
            ((called, cure) for called, cure, sort, keys in _NO_MANIFESTS if any(isinstance(document.get(key), sort) for key in keys & document.keys())),
            ("", ""),
        )  # fmt: skip
        place = f"{MANIFEST}, document {number}"
        if what and not document.get("kind"):
            raise ChangeError(f"it is {what}, and no manifest", where=place, fix=fix) from None
        raise ChangeError(error.what, where=place, fix="Give kind and apiVersion") from None
    if api_version.startswith("kustomize.config.k8s.io/"):
        fix = "Give what it builds: kubectl kustomize FOLDER"
        raise ChangeError("is for kustomize, and applies nothing", where=f"{MANIFEST}, document {number}", fix=fix)
    return kind if is_known(kind, api_version) or kind not in (*_WORKLOADS, *_BESIDE) else f"{kind} ({api_version})"


def _check_metadata(document: Object, where: str) -> None:
    """Refuse metadata that are none: every object has them alike, and they are looked into before its kind is."""
    metadata = document.get("metadata")
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        raise ChangeError("metadata isn't an object", where=where, fix=_GIVE)
    for field, sort, called in _METADATA:
        if metadata.get(field) is not None and not isinstance(metadata[field], sort):
            raise ChangeError(f"metadata.{field} isn't {called}", where=where, fix=_GIVE)


def _not_refused(objects: Sequence[tuple[int, str, Object]], snapshot: Snapshot) -> list[UnknownObject]:
    """Refuse what an API server of the snapshot's version refuses; of which it isn't known is returned. Helm's hooks are left out."""
    given_objects = [
        api_version_checks.AppliedObject(
            document=document,
            where=f"{MANIFEST}, {_key(kind, *_named(document)) if _named(document)[1] else kind} (document {number})",
            is_there=_is_listed(kind, document, snapshot),
        )
        for number, kind, document in objects
        if not helm_hooks.events(document)
    ]
    schemas = snapshot.reading.custom_schemas
    named = {f"{document.get('apiVersion')}/{document.get('kind')}" for _, _, document in objects}
    customs = {key: unpacked(schemas[key]) for key in named & schemas.keys()}
    customs |= custom_kinds(
        document for _, kind, document in objects if kind == DEFINITION
    )  # applied with it, and the newer one
    doubts = api_version_checks.refuse(given_objects, minor_of(snapshot), customs)
    return [
        _unknown("server", _key(str(doubted_object.document["kind"]), *_named(doubted_object.document)), doubt=doubt)
        for doubted_object, doubt in doubts
    ]


def _beside_pods(
    objects: Iterable[tuple[int, str, Object]], snapshot: Snapshot, workloads: Mapping[str, AppliedWorkload]
) -> tuple[list[Finding], list[UnknownObject]]:
    """What objects do to pods that run or are made later, beside making some; Helm's hooks are left out."""
    findings: list[Finding] = []
    unknown: list[UnknownObject] = []
    for _, kind, document in objects:
        key = "/".join(filter(None, (kind, *_named(document))))
        for effect in () if helm_hooks.events(document) else side_effects(key, document, snapshot, workloads):
            if isinstance(effect, Unsure):
                unknown.append(_unknown(effect.row, key, gpus=0, may_help=False, **dict(effect.given)))
            else:
                findings.append(effect)
    return findings, unknown


def _each_key(unknown: Iterable[UnknownObject]) -> list[UnknownObject]:
    """One for each object, with all that isn't known of it."""
    unknown_by_key: dict[str, UnknownObject] = {}
    for gap in unknown:
        earlier = unknown_by_key.get(gap.key)
        unknown_by_key[gap.key] = gap if earlier is None else replace(gap, what=f"{earlier.what}; {gap.what}")
    return list(unknown_by_key.values())


def _is_listed(kind: str, document: Object, snapshot: Snapshot) -> bool:
    """Whether the snapshot has the object: what a manifest leaves out of it stays."""
    resource_kind = api_types.READ.get(kind)
    if resource_kind is None:
        return (
            _there_now(
                snapshot, _key(kind, *_named(document)), str(document.get("apiVersion") or "").rpartition("/")[0]
            )
            is not None
        )
    namespace, name = _named(document)
    records = getattr(snapshot, resource_kind.field)
    return any(
        record.name == name and getattr(record, "namespace", "") in ("", namespace)
        for record in records
        if getattr(record, "kind", kind) == kind
    )


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _applied(kind: str, document: Object, number: int, snapshot: Snapshot) -> tuple[AppliedWorkload, list[Finding]]:
    where = f"{MANIFEST}, {kind} (document {number})"
    before, spec = snapshot.workload("/".join((kind, *_named(document)))), document.get("spec")
    says_replicas = isinstance(spec, dict) and spec.get("replicas") is not None
    if before is None:
        new_workload = read_workload_document(kind, document, where)
        check_workload(None, new_workload)
        says_replicas |= not new_workload.traits.has_replicas
        application = AppliedWorkload(
            before=None, after=new_workload, has_new_template=True, says_replicas=says_replicas
        )
        # its name in another namespace: perhaps that one was meant
        named = [
            other.namespace
            for other in snapshot.workloads
            if (other.kind, other.name) == (new_workload.kind, new_workload.name)
        ]
        if not named:
            return application, []
        others = ", ".join(sorted(named))
        return application, [
            finding(
                "manifest-new-namesake",
                new_workload.key,
                namespace=new_workload.namespace,
                others=others,
                kind=new_workload.kind,
            )
        ]
    after = applied_to(before, document)
    check_workload(before, after)
    is_new = before.traits.rolls_out and has_new_template(before, after)
    is_assumed = not before.applied and _leaves_out(before, after, document)
    application = AppliedWorkload(
        before=before, after=after, has_new_template=is_new, is_assumed=is_assumed, says_replicas=says_replicas
    )
    return application, []


_EXCLUSIVE: Final = (f"metadata.annotations[{LWS_EXCLUSIVE}]", f"metadata.annotations[{LWS_SUBGROUP_EXCLUSIVE}]")
_READ_OF_PLAYED: Final = ("spec.paused", "spec.workloadRef", *_EXCLUSIVE)
"""Of a kind that is played, which its row needn't know."""


def unread_in(key: str, document: Object, *, is_patch: bool = False) -> list[UnknownObject]:
    """What a change of an object of another project's kind says that is not read: its controller may act on it. `document`: the object as it
    is applied, or a patch of it, which may be one of its status (an abort, a promotion)."""
    kind = kind_in(key)
    row = templated(kind.name, f"{kind.group}/{kind.version}") if kind.is_custom else None
    every = strange_places(row, document) if row is not None else []
    places = [path for path in every if not path.startswith(_READ_OF_PLAYED) and "$" not in path]
    places += ["status"] if is_patch and row is not None and document.get("status") else []
    if not places:
        return []
    return [_unknown("not read", key, fields=words.listing(places))]


def _leaves_out(before: Workload, after: Workload, manifest_object: Object) -> bool:
    """Whether the manifest's template by itself would make other pods than with what it leaves out."""
    spec = manifest_object.get("spec") or {}
    if "selector" not in spec:
        return False  # a part of one, which can only mean a change
    document = document_of(before)
    document["spec"] |= {key: value for key, value in spec.items() if value is not None}
    try:
        return not read_changed(before, document).template.makes_the_same_pods(after.template)
    except ChangeError:
        return True  # by itself it would be refused


# ── autoscalers of pods ──────────────────────────────────────────────────────────────────────────────────────────────
def _autoscaled(
    snapshot: Snapshot, then: Snapshot, workloads: Mapping[str, AppliedWorkload]
) -> tuple[dict[str, AppliedWorkload], list[UnknownObject]]:
    """The workloads that the manifest's autoscalers scale as soon as they look, and nothing else of the manifest does."""
    current_autoscalers, moved, unknown = set(snapshot.autoscalers), dict[str, AppliedWorkload](), list[UnknownObject]()
    for key in dict.fromkeys(
        autoscaler.target for autoscaler in acting_autoscalers(then) if autoscaler not in current_autoscalers
    ):
        applied_workload = workloads.get(key)
        before = applied_workload.before if applied_workload is not None else snapshot.workload(key)
        if applied_workload is not None and applied_workload.moves_pods:
            continue  # the controllers' own play sees the autoscaler
        if before is None:
            is_hidden = snapshot.lacks(kind_in(key).name) and kind_in(key).rolls_out
            held_pods = held_below(snapshot).get(key) if applied_workload is None else None
            if is_hidden or (held_pods and brought_within(autoscalers_of(then, key), held_pods.pods) != held_pods.pods):
                unknown.append(_unknown("scaled", key))
            continue
        after = applied_workload.after if applied_workload is not None else before
        replicas = settled_replicas(then, after)
        if before.traits.has_replicas and replicas != after.replicas:
            after = replace(after, replicas=replicas)
            moved[key] = AppliedWorkload(before=before, after=after, has_new_template=False)
    return moved, unknown


def read_autoscaler(document: Object) -> HorizontalPodAutoscaler:
    """A HorizontalPodAutoscaler or ScaledObject as a manifest has it.

    Raises
    ------
    ChangeError, InputError
        When it isn't one, or can't be read.
    """
    autoscaler = next((records[0] for kind, records in _read([document]).items() if kind in AUTOSCALERS), None)
    if not isinstance(autoscaler, HorizontalPodAutoscaler):
        raise ChangeError("isn't an autoscaler that is known", where=MANIFEST, fix=_GIVE)
    return autoscaler


# ── pods of other kinds ──────────────────────────────────────────────────────────────────────────────────────────────
def _is_there(kind: str, document: Object, snapshot: Snapshot) -> bool:
    metadata = document.get("metadata") or {}
    return snapshot.workload(f"{kind}/{metadata.get('namespace')}/{metadata.get('name')}") is not None


def _placed(
    row: Templated,
    document: Object,
    number: int,
    snapshot: Snapshot,
    runtimes: Runtimes | None = None,
    was: Unplayed | None = None,
) -> PlacedWorkload | UnknownObject:
    """What is to be placed for an object, where its fields tell all of its pods, or with the runtime that it names. `was`: it before,
    instead of the snapshot's."""
    kind = row.kind
    where = f"{MANIFEST}, {kind} (document {number})"
    metadata = document.get("metadata")
    name = (metadata.get("name") or metadata.get("generateName")) if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not isinstance(metadata, dict):
        raise ChangeError("it has no metadata.name", where=where, fix="Give it a name")
    namespace = str(metadata.get("namespace") or "")
    shared = Shared()
    sets = []
    read, groups = found_sets(row, document), group_count(row, document)
    idle = Idle.SUSPENDED if is_suspended(row, document) else Idle.NO
    for pod_set in read:
        try:
            pods = read_pods(shared, pod_set)
        except DAMAGE as error:
            place = f"{where}, {pod_set.path}" if pod_set.path else where
            raise ChangeError(damage_in_words(error), where=place) from None
        if not pods.template.spec.containers:
            place = f"{where}, {pod_set.path}" if pod_set.path else where
            raise ChangeError("containers: the API server takes no pod without one", where=place, fix="Give one")
        _check_amounts(pod_set, pods.template, f"{where}, {pod_set.path}" if pod_set.path else where)
        sets.append(pods)
    sameness = _known_of(document, snapshot, row, sets, was) if metadata.get("name") else None
    if isinstance(sameness, UnknownObject):
        held_pods = held_below(snapshot).get(sameness.key)
        gpus_requested = sum(groups * each.count * requested_gpus(each.template.spec) for each in sets)
        # Pods that are there hold their GPUs already: only those beyond them are asked for.
        more_gpus = 0 if idle else max(0, gpus_requested - (held_pods.gpus if held_pods is not None else 0))
        return sameness.asking(_asks(unmodelled_requests(None, document)), more_gpus)
    if sameness is Sameness.SAME or sameness is Sameness.ASSUMED:
        return _there(document, sets, row, sameness)
    if isinstance(sameness, ChangeCourse):
        return _of_course(sameness, row, metadata, other_scheduler(row, document))
    more, exclusive = unmodelled_requests(row, document), _labels(metadata, "annotations").get(LWS_EXCLUSIVE, "")
    # Exclusive topology is played for a new one (each group gets a domain of its own), so it is no gap in what is
    # known.
    if kind == LEADER_WORKER_SET.name and exclusive:
        more = replace(more, places=tuple(place for place in more.places if place != _EXCLUSIVE[0]))
    if more:
        resolved = runtimes.resolved(document, row) if runtimes is not None else None
        if resolved is not None:
            return _placed(row, resolved, number, snapshot, was=was)
        told_gpus = sum(groups * each.count * requested_gpus(each.template.spec) for each in sets)
        return _told_in_part(_key(kind, namespace, name), more, told_gpus)
    if not sets or not groups:
        return _unknown("without pods", _key(kind, namespace, name), may_help=False)
    problem = row.problem(document) if row.problem is not None else ""
    if kind == ROLLOUT.name:
        strategy = _read([document])[kind][0].strategy
        problem = invalid(strategy.canary or strategy.blue_green)
    if problem:
        return _unknown("invalid", _key(kind, namespace, name), problem=problem)
    counted = row.counted(document) if row.counted is not None else Composed(sets=())
    placed = Placed(
        uncounted=words.listing(counted.untold, most=None), not_taken=words.listing(counted.refused, most=None),
        sets=tuple(sets), gang=row.gang, groups=groups, resource=resource_of(row) if metadata.get("name") else "",
        waits=() if idle else waits_of(row, read, groups), idle=idle, assumes=assumed_of(row, document),
        gpus_at_most=_gpus_at_most(shared, row, document),
        scheduler=other_scheduler(row, document), exclusive=exclusive if kind == LEADER_WORKER_SET.name else "",
    )  # fmt: skip
    found_one = _placed_as(kind, namespace, metadata, placed, placed.pods)
    return replace(found_one, workload=replace(found_one.workload, annotations=_labels(metadata, "annotations")))


def _gpus_at_most(shared: Shared, row: Templated, document: Object) -> int:
    """GPUs that the pods of an object may come to ask for by its own autoscaler; 0 where it has none."""
    if not assumed_of(row, document):
        return 0
    most = ray_workers_at_most(document)
    sets = found_sets(row, document, with_none=True)
    return sum(
        most.get(pod_set.role, pod_set.count) * requested_gpus(read_set(shared, pod_set).spec) for pod_set in sets
    )


def _check_amounts(pod_set: FoundSet, template: Template, where: str) -> None:
    """The API server takes the object of another project's kind, and none of its pods."""
    problem = next(amount_problems(typed_json.convert(pod_set.template, api_types.PodTemplate)), None)
    if problem:
        raise ChangeError(problem, where=where, fix="The API server refuses its pods: fix that field")
    for container in (*template.spec.containers, *template.spec.init_containers):
        check_resources(container, where)


def _through(
    row: Templated, document: Object, snapshot: Snapshot, was: Unplayed | None = None
) -> AppliedWorkload | None:
    """The Deployment that an object which is there changes by what it says; None where it changes none, or that isn't known."""
    namespace, name = _named(document)
    if row.updates is None or not row.updates.through or not name:
        return None
    live_object = was or _there_now(snapshot, _key(row.kind, namespace, name), row.group)
    if (
        live_object is None
        or compare_objects(read_unplayed(Shared(), document), live_object, row) is not Sameness.DIFFERENT
    ):
        return None
    applied_workload = through(snapshot, document, live_object, row)
    if applied_workload is None:
        return None
    before, after, is_new = applied_workload
    return AppliedWorkload(before=before, after=after, has_new_template=is_new, rules=row.updates.project)


def _by_rules_of(row: Templated, document: Object) -> Finding:
    assert row.updates is not None
    what = (
        f"by the rules of {row.updates.project}, not recorded: {with_article(row.kind)} that changes {row.updates.way}"
    )
    return Finding(severity=Severity.INFO, code=NOT_RECORDED, object=_key(row.kind, *_named(document)), what=what)


def _known_of(
    document: Object, snapshot: Snapshot, row: Templated | None, sets: list[PodsAlike], was: Unplayed | None = None
) -> Sameness | ChangeCourse | UnknownObject | None:
    """What applying an object does to the one of its name that is there; None where none is."""
    kind, metadata = str(document.get("kind")), document["metadata"]
    namespace, name = str(metadata.get("namespace") or DEFAULT_NAMESPACE), str(metadata["name"])
    key = _key(kind, namespace, name)
    if kind == POD.name and row is not None:
        pod = next((pod for pod in snapshot.pods if (pod.namespace, pod.name) == (namespace, name)), None)
        if pod is None:
            return None
        return Sameness.SAME if sets and is_same_pod(sets[0].template, pod) else _changed(key, "")
    if kind == REPLICA_SET.name and row is not None:
        replica_set = next((candidate for candidate in snapshot.replica_sets if candidate.key == key), None)
        if replica_set is not None:
            first_set = (sets[0].template, sets[0].count) if sets else (replica_set.template, 0)
            return Sameness.SAME if is_same_set(*first_set, replica_set) else _changed(key, _holds(snapshot, key))
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    live_object = was or _there_now(snapshot, key, group)
    if live_object is None:
        # It wasn't listed, but pods that are there belong to it: it exists, and what a write changes of it can't be compared.
        if key not in held_below(snapshot):
            return None
        return _unknown("not in the input", key, holds=_holds(snapshot, key), kind=kind_in(key).name.lower())
    given_object = read_unplayed(Shared(), document)
    sameness = compare_objects(given_object, live_object, row)
    if sameness is not Sameness.DIFFERENT:
        updates = row.updates if row is not None else None
        stays = unchanged_course(snapshot, live_object, updates) if updates is not None else None
        return stays if stays is not None and stays.lacked else sameness
    changed = (
        course(snapshot, given_object, live_object, row, sets, _without_added(document, live_object, row))
        if row is not None
        else None
    )
    if changed is None and row is not None and lacks_applied(snapshot, live_object, row):
        return _unknown("not applied", key, holds=_holds(snapshot, key), kind=resource_of(row))
    if changed is None:
        return _changed(key, _holds(snapshot, key))
    return _refused(key, changed) if changed.refused else changed


def _without_added(document: Object, live_object: Unplayed, row: Templated) -> Unplayed | None:
    """A manifest's object without the groups that it adds at the end of a list of them; None where it adds none there."""
    place = row.updates.grows_at if row.updates is not None else ""
    groups, roles = at(document, place) if place else None, {pod.role for pod in live_object.pods}
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        return None
    kind_of_group = next(each.role for each in row.sets if each.base == f"{place}[]")
    remaining_groups = [group for group in groups if f"{kind_of_group}-{group.get('groupName')}" in roles]
    # Only groups at the end: one put between others changes their places, and Ray then makes another cluster.
    if len(remaining_groups) == len(groups) or groups[: len(remaining_groups)] != remaining_groups:
        return None
    *above, last = place.split(".")
    cut = shortened = dict(document)
    for name in above:
        shortened[name] = shortened = dict(shortened[name])
    shortened[last] = remaining_groups
    return read_unplayed(Shared(), cut)


# ── as an API server tells of a write ────────────────────────────────────────────────────────────────────────────────
def read_written(
    row: Templated, after: Object, before: Object | None, snapshot: Snapshot
) -> AppliedWorkload | PlacedWorkload | UnknownObject:
    """What a write of one object of a kind with a row does: `after` and `before` (None: it is new) whole, as the API server has them.

    One whose last change the snapshot doesn't show may be in the midst of it, and what another does then was read of no project: it isn't
    known, unless it says nothing new. (Of kinds that are played the controllers go on from what the snapshot shows.)

    Raises
    ------
    ChangeError, InputError
        When one can't be read, or the API server would refuse it.
    """
    key, was = _key(row.kind, *_named(after)), None
    now = _there_now(snapshot, key, row.group)
    try:
        if before is not None:
            was = read_before(Shared(), before)
    except DAMAGE as error:
        raise ChangeError(damage_in_words(error), where=key) from None
    is_as_it_was = (None if was is None else was.said) == (None if now is None else now.said)
    if not is_as_it_was and (
        was is None or compare_objects(read_unplayed(Shared(), after), was, row) is not Sameness.SAME
    ):
        return _unknown("not as before", key)
    rolled = _through(row, after, snapshot, was) if was is not None else None
    return rolled or _placed(row, after, 1, snapshot, Runtimes([after], snapshot, _named(after)[0]), was)


def read_scaled(row: Templated, key: str, replicas: int, snapshot: Snapshot) -> PlacedWorkload | UnknownObject:
    """What ``kubectl scale`` does to an object that is there, of a kind with such a subresource in its row."""
    live_object = _there_now(snapshot, key, row.group)
    if live_object is None or row.scales not in {pod.role for pod in live_object.pods}:
        return _unknown("number", key)
    pods = tuple(replace(pod, count=replicas) if pod.role == row.scales else pod for pod in live_object.pods)
    changed = course(snapshot, replace(live_object, pods=pods, applied_of_pods=""), live_object, row, pods)
    if changed is None or changed.refused:
        return _changed(key, _holds(snapshot, key)) if changed is None else _refused(key, changed)
    return _of_course(changed, row, {"namespace": live_object.namespace, "name": live_object.name}, row.scheduler)


def _there_now(snapshot: Snapshot, key: str, group: str) -> Unplayed | None:
    return snapshot.derived.once(_unplayed, snapshot).get((key, group))


def _unplayed(snapshot: Snapshot) -> dict[tuple[str, str], Unplayed]:
    """By key and API group."""
    return {(unplayed.key, unplayed.api_group): unplayed for unplayed in snapshot.unplayed}


def _holds(snapshot: Snapshot, key: str) -> str:
    """`` (its 2 pods hold 16 GPUs)``."""
    held_pods = held_below(snapshot).get(key)
    if held_pods is None or not held_pods.pods:
        return ""
    gpus = (
        f" {words.plural(held_pods.pods, 'holds', 'hold')} {held_pods.nouns.count(held_pods.gpus)}"
        if held_pods.gpus
        else ""
    )
    return f" (its {words.count(held_pods.pods, 'pod')}{gpus})"


def _changed(key: str, holds: str) -> UnknownObject:
    return _unknown("changed", key, holds=holds, kind=kind_in(key).name)


def _refused(key: str, changed: ChangeCourse) -> UnknownObject:
    return _unknown("refused", key, refused=changed.refused, by=changed.words(kind_in(key).name))


def _of_course(changed: ChangeCourse, row: Templated, metadata: Object, scheduler: str = "") -> PlacedWorkload:
    """An object that is there and changes, by its kind's rules; of one that is to wake later what its next run makes."""
    waits = row.waits if "{role}" not in row.waits and not row.waits.endswith("=") else ""
    placed = Placed(
        sets=changed.sets, gang=row.gang, resource=resource_of(row) if waits else "", waits=(waits,) if waits else (),
        idle=changed.idle, old=changed.old, leaving=changed.leaving, lacked=changed.lacked, rules=changed.updates.project, scheduler=scheduler,
        course="" if changed.ignored else changed.words(row.kind), never=changed.ignored,
    )  # fmt: skip
    return _placed_as(row.kind, str(metadata["namespace"]), metadata, placed, placed.pods)


def _placed_as(kind: str, namespace: str, metadata: Object, placed: Placed, replicas: int) -> PlacedWorkload:
    """What is placed, under the name of its object; it may have no set."""
    gang = gang_in(placed.gang, placed.scheduler, _labels(metadata), [template for template, _ in placed.templates])
    placed = replace(placed, gang=gang)
    workload = Workload(
        kind=kind, namespace=namespace, name=str(metadata.get("name") or str(metadata["generateName"]).removesuffix("-")),
        template=placed.sets[0].template if placed.sets else Template(labels=EMPTY, spec=PodSpec()), replicas=replicas,
        strategy=Strategy(kind=""), labels=_labels(metadata),
    )  # fmt: skip
    return PlacedWorkload(workload=workload, placed=placed)


def _there(document: Object, sets: list[PodsAlike], row: Templated | None, sameness: Sameness) -> PlacedWorkload:
    """An object that is there and stays as it is; `sets` may be none."""
    metadata = document["metadata"]
    placed = Placed(
        sets=tuple(sets), gang=row.gang if row else Gang.NONE, idle=Idle.THERE, is_assumed=sameness is Sameness.ASSUMED
    )
    return _placed_as(
        str(document.get("kind")), str(metadata.get("namespace") or DEFAULT_NAMESPACE), metadata, placed, 0
    )


def _of_job(applied: AppliedWorkload) -> PlacedWorkload | UnknownObject:
    """A Job that is there: the same again does nothing, and one that is resumed makes its pods. Its template can't be changed."""
    before, after = applied.before, applied.after
    assert before is not None  # a new one is placed
    new_template, theirs = after.template, before.template
    if (new_template.spec, new_template.unread) != (theirs.spec, theirs.unread):
        return _unknown("job's template", after.key)
    pod_count = wanted_pods(after)
    sets = (PodsAlike(role="", template=new_template, count=pod_count),)
    if not applied.moves_pods or before.is_finished:
        return PlacedWorkload(
            workload=replace(after, replicas=0), placed=Placed(sets=sets, gang=Gang.NONE, idle=Idle.THERE)
        )
    if before.replicas != after.replicas or before.completions != after.completions:
        return _unknown("job's number", after.key, then=after.replicas, now=before.replicas)
    idle = Idle.SUSPENDED if after.is_paused else Idle.NO
    number = 0 if idle else pod_count
    return PlacedWorkload(workload=replace(after, replicas=number), placed=Placed(sets=sets, gang=Gang.NONE, idle=idle))


def _placement_only(placement: PlacedWorkload) -> Finding:
    placed, kind = placement.placed, placement.workload.kind
    sets = ", ".join(
        f"{pod_set.count} {pod_set.role}" if pod_set.role else words.count(pod_set.count, "pod")
        for pod_set in placed.sets
    )
    groups = f"{placed.groups} groups of " if placed.groups > 1 else ""
    assumes = f"; {placed.assumes}" if placed.assumes else ""
    key, gang = placement.workload.key, placed.gang
    return finding("placement-only", key, groups=groups, sets=sets, gang=gang, kind=kind, assumes=assumes)


def _labels(metadata: Object, of: str = "labels") -> Labels:
    labels = metadata.get(of)
    return FrozenMap({key: value for key, value in labels.items() if isinstance(value, str)}) if labels else EMPTY


def _key(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name.removesuffix('-')}"


def _told(placement: PlacedWorkload) -> list[Finding]:
    """What is worth saying of an object that is placed."""
    placed = placement.placed
    if placed.course and placed.idle is not Idle.SUSPENDED:
        return [Finding(severity=Severity.INFO, code=NOT_RECORDED, object=placement.workload.key, what=placed.course)]
    if placed.idle is Idle.THERE:
        return [finding("apply-assumed:stays", placement.workload.key)] if placed.is_assumed else []
    is_queued = bool(
        kueue_managed_pods.named_queue(placement.workload.labels, [alike.template for alike in placed.sets])
    )
    if placed.idle is Idle.NO or is_queued:  # Kueue takes the suspension away
        more = (
            [finding(GROWS_TO, placement.workload.key, gpus=placed.gpus_at_most)]
            if placed.gpus_at_most > placed.gpus
            else []
        )
        return [_placement_only(placement), *more]
    return [finding("suspended", placement.workload.key, said=placed.idle_words)]


def _told_in_part(key: str, more: Untold, told_gpus: int = 0) -> UnknownObject:
    """Pods of a known kind that its own fields don't tell: from a runtime, a preset, a place that isn't known; `told_gpus` they do."""
    if more.places and all(place.startswith(_EXCLUSIVE[1]) for place in more.places):
        return _unknown("exclusive new", key, gpus=max(_most(more), told_gpus), fields=words.listing(more.places))
    notes = [place for place in more.places if "annotations[" in place or "labels[" in place]
    gpus = max(_most(more), told_gpus)
    if notes and len(notes) == len(more.places) and not more.asked:
        return _unknown("not modelled", key, gpus=gpus, may_help=False, notes=words.listing(notes))
    where = (
        f": those of {words.listing(more.places)} come from another object, or aren't known here" if more.places else ""
    )
    return _unknown("told in part", key, gpus=gpus, may_help=False, where=where, asks=_asks(more))


def _of_unknown_kind(document: Object, snapshot: Snapshot) -> UnknownObject | PlacedWorkload:
    """An object of a kind that is in no table, unless it stays as it is."""
    kind, metadata = str(document.get("kind")), document.get("metadata")
    name_fields = metadata if isinstance(metadata, dict) else {}
    row = _EFFECT_ROWS.get(effect_of(document) or PodEffect.NONE)
    if isinstance(name_fields.get("name"), str):
        sameness = _known_of(document, snapshot, None, [])
        if isinstance(sameness, UnknownObject) and row is None:
            asks = unmodelled_requests(None, document)
            return sameness.asking(_asks(asks), _most(asks))
        if sameness is Sameness.SAME:
            return _there(document, [], None, sameness)
    key = _key(
        kind,
        str(name_fields.get("namespace") or ""),
        str(name_fields.get("name") or name_fields.get("generateName") or "?"),
    )
    more = unmodelled_requests(None, document)
    has = f"; its pod template at {words.listing(more.places)} isn't counted in" if more.places else ""
    version, request_words = document.get("apiVersion"), _asks(more)
    row = row or "not in the table"
    return _unknown(row, key, gpus=_most(more), may_help=False, version=version, kind=kind, has=has, asks=request_words)


_EFFECT_ROWS: Final = {PodEffect.DEFINES: "defines", PodEffect.LETS_BEGIN: "lets begin"}


def _asks(more: Untold) -> str:
    return f"; it asks for {words.listing([str(request) for request in more.asked])}" if more.asked else ""


def _most(more: Untold) -> int:
    return sum(request.total for request in more.asked)


_WHY: Final = typed_json.decode(table_beside(__name__, "kubectl_apply.json"), dict[str, tuple[str, str]])


def _without_gangs(
    objects: Iterable[tuple[int, str, Object]], unknown: list[UnknownObject]
) -> list[tuple[int, str, Object]]:
    """The objects without pods that are scheduled as a group; the others are added to those that aren't known."""
    others = []
    for number, kind, document in objects:
        key, gangs = _key(kind, *_named(document)), gangs_asked(document)
        if not gangs:
            others.append((number, kind, document))
        elif all(doubt.key != key for doubt in unknown):  # else it isn't known whether a server takes the field at all
            unknown.append(_unknown("gang", key, fields=words.listing(gangs), gate=GANGS.name))
    return others


def _unknown(row: str, key: str, *, gpus: int = 0, may_help: bool = True, **parameters: object) -> UnknownObject:
    """By a row of ``kubectl_apply.json``: why it isn't known, and how to fix it."""
    what, fix = (text.format(key=key, **parameters) for text in _WHY[row])
    return UnknownObject(key=key, what=what, fix=fix, gpus=gpus, may_help=may_help)


# ── the objects beside the workloads ─────────────────────────────────────────────────────────────────────────────────
def _with_objects(
    snapshot: Snapshot, objects: Iterable[Object], accounts: Iterable[tuple[str, str]], text: str
) -> Snapshot:
    """The snapshot with `objects` added or put in the place of those they change. A kind that wasn't listed stays so: what the
    manifest brings of it isn't all there is."""
    changes: dict[str, Any] = {}
    brought = _read(objects)
    for budget in brought.get("PodDisruptionBudget", ()):
        check_budget(budget)
    for kind, records in brought.items():
        field = api_types.READ[kind].field
        record_by_name = {_name(change): change for change in changes.get(field, getattr(snapshot, field))}
        for record in records:
            old = record_by_name.get(_name(record))
            if old is None or kind not in _KEPT_AS_THEY_ARE:
                record_by_name[_name(record)] = _with_status(record, old)
        changes[field] = tuple(record_by_name.values())
    return replace(
        snapshot,
        digest=blake2b(f"{snapshot.digest}\0{text}".encode(), digest_size=16).hexdigest(),
        service_accounts=(*snapshot.service_accounts, *accounts),
        **changes,
    )


def _read(objects: Iterable[Object]) -> Mapping[str, Sequence[Any]]:
    reader = Reader()
    for document in objects:
        try:
            reader.read_item(document, Part())
        except DAMAGE as error:
            where = f"{MANIFEST}, {document.get('kind', 'object')} {_named(document)[1]}".rstrip()
            raise ChangeError(damage_in_words(error), where=where) from None
    return reader.found


def _name(record: Any) -> tuple[str, ...]:
    """Kinds that are kept together have theirs beside it."""
    return getattr(record, "kind", ""), getattr(record, "namespace", ""), record.name


def _with_status(record: Any, old: Any) -> Any:
    """`record` with what the controllers had written into `old`; a namespace keeps labels that others gave it."""
    if isinstance(record, PersistentVolumeClaim):
        return replace(record, is_new=True)
    if isinstance(record, Namespace) and isinstance(old, Namespace):
        return replace(old, labels=FrozenMap({**old.labels, **record.labels}))
    if isinstance(record, ResourceQuota) and isinstance(old, ResourceQuota):
        return replace(record, used=old.used)
    if isinstance(record, ClusterQueue) and isinstance(old, ClusterQueue):  # whether it is active then isn't known
        return replace(record, has_share=old.has_share)
    if isinstance(record, PodDisruptionBudget) and isinstance(old, PodDisruptionBudget):
        status_fields = ("disruptions_allowed", "current_healthy", "desired_healthy", "expected_pods")
        return replace(record, **{name: getattr(old, name) for name in status_fields})
    return record
