"""Parses Kubernetes objects into a `Snapshot`: API server defaults set, equal parts shared, nothing dropped silently.

What an object from the API server has and what a manifest leaves out look the same afterwards (`records` has the
rules). An object that can't be read is left out and named in `Snapshot.problems`; the others are kept.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import blake2b
from typing import Any, Final

import msgspec

from planner.ground import garbage_collector, typed_json, words
from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CONTROLLER_REVISION_HASH, DEFAULT_NAMESPACE
from planner.inventory import api_types
from planner.inventory.finding_texts import finding
from planner.inventory.incomplete_lists import with_gaps
from planner.inventory.inferred_replicasets import with_inferred
from planner.inventory.json_scanner import LARGEST_OBJECT_BYTES, check_count, too_many
from planner.inventory.kind_detection import is_object, kind_of_shape
from planner.inventory.kubelet_configuration import (
    CONFIGZ,
    KUBELET_CONFIGURATION,
    NODE_RESOURCE_TOPOLOGY,
    node_of,
    of_document,
    of_topology,
)
from planner.inventory.reading_limits import LIMITS
from planner.inventory.records import (
    admission_webhooks_and_policies,
    budgets_and_quotas,
    devices,
    events_and_metrics,
    kueue,
    node_autoscaling,
    nodes,
    pods,
    repeated_pod_specs,
    storage,
    unplayed_objects,
    workloads,
)
from planner.inventory.records.read_context import ReadObject, Shared
from planner.inventory.records.record_layouts import ByHand, RecordLayout
from planner.inventory.redacted_value_digests import annotation_digests
from planner.inventory.same_cluster_check import TELLING, OneCluster
from planner.kubernetes import object_records as model
from planner.kubernetes.kinds_without_pods import makes_no_pods
from planner.kubernetes.object_records import Finding, FrozenMap, Presence, Reading, Severity
from planner.kubernetes.operator_update_rules import text_at
from planner.kubernetes.unplayed_kinds import LISTED, is_kept
from planner.kubernetes.workload_kinds import LEADER_WORKER_SET, NODE, POD, REPLICA_SET, WORKLOADS, kind_called

Item = msgspec.Raw | bytes | memoryview | dict[str, Any]
_TEXTS = (msgspec.Raw, bytes, memoryview)
_LARGEST_BY_NAME_BYTES = 32 * 2**20  # these are taken apart as a whole

DAMAGE = (msgspec.MsgspecError, InputError, RecursionError, ValueError, OverflowError)
"""What reading a damaged object raises."""

_HEAD = re.compile(rb'\{\s*"apiVersion":\s*"([^"\\]*)",\s*"kind":\s*"([^"\\]*)"')
_TAIL = re.compile(
    rb'"apiVersion":\s*"([^"\\]*)",\s*"kind":\s*"([^"\\]*)"\s*\}\s*\Z'
)  # as Go's clients write items of a List
_VERSION = b'"apiVersion"'
_TAIL_BYTES = 120
_KINDS: dict[str, RecordLayout | ByHand] = {
    NODE.name: nodes.NODE,
    "Namespace": nodes.NAMESPACE,
    "PodDisruptionBudget": budgets_and_quotas.BUDGET,
    "ControllerRevision": workloads.CONTROLLER_REVISION,
    "HorizontalPodAutoscaler": workloads.AUTOSCALER,
    "ScaledObject": workloads.SCALED_OBJECT,
    "Service": workloads.SERVICE,
    "PriorityClass": budgets_and_quotas.PRIORITY_CLASS,
    "RuntimeClass": budgets_and_quotas.RUNTIME_CLASS,
    **admission_webhooks_and_policies.KINDS,
    "ResourceQuota": budgets_and_quotas.RESOURCE_QUOTA,
    "LimitRange": budgets_and_quotas.LIMIT_RANGE,
    "PersistentVolume": storage.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": storage.PERSISTENT_VOLUME_CLAIM,
    "StorageClass": storage.STORAGE_CLASS,
    "CSINode": storage.CSI_NODE,
    "CSIDriver": storage.CSI_DRIVER,
    "VolumeAttachment": storage.VOLUME_ATTACHMENT,
    "CSIStorageCapacity": storage.CSI_STORAGE_CAPACITY,
    "DeviceClass": devices.DEVICE_CLASS,
    "ResourceSlice": devices.RESOURCE_SLICE,
    "ResourceClaim": devices.RESOURCE_CLAIM,
    "ResourceClaimTemplate": devices.RESOURCE_CLAIM_TEMPLATE,
    "DeviceTaintRule": devices.DEVICE_TAINT_RULE,
    "ClusterQueue": kueue.CLUSTER_QUEUE,
    "LocalQueue": kueue.LOCAL_QUEUE,
    "ResourceFlavor": kueue.RESOURCE_FLAVOR,
    "Cohort": kueue.COHORT,
    "Workload": kueue.WORKLOAD,
    "WorkloadPriorityClass": kueue.WORKLOAD_PRIORITY_CLASS,
    "AdmissionCheck": kueue.ADMISSION_CHECK,
    "Topology": kueue.TOPOLOGY,
    "PodTemplate": node_autoscaling.POD_TEMPLATE,
    "CapacityBuffer": node_autoscaling.CAPACITY_BUFFER,
    "ProvisioningRequest": node_autoscaling.PROVISIONING_REQUEST,
    "NodePool": node_autoscaling.NODE_POOL,
    "NodeClaim": node_autoscaling.NODE_CLAIM,
    "Event": events_and_metrics.EVENT,
    "PodMetrics": events_and_metrics.POD_METRICS,
}
_WORKLOADS = frozenset(kind.name for kind in WORKLOADS)
_OF_KUBELETS: Final = tuple(word.encode() for word in (CONFIGZ, KUBELET_CONFIGURATION, NODE_RESOURCE_TOPOLOGY))
_TEMPLATED: dict[str, Callable[[Shared, Any, workloads.Raw], Any]] = {
    **{kind.name: partial(workloads.read_workload, kind=kind) for kind in WORKLOADS},
    REPLICA_SET.name: workloads.read_replica_set,
}
"""Kinds with a pod template, which their readers get as it is written as well."""


class Part(Record):
    """Objects that came together: one List, one document, one page of the API server's answer.

    Parameters
    ----------
    where : str
        The file or request they came from, for messages.
    items : sequence of JSON texts or of decoded objects
        Each a whole Kubernetes object.
    first : int
        The number of the first item, counted from 1, where a List comes in several parts.
    kind, api_version : str
        What the items are where they don't say it themselves (items of a ``PodList`` don't).
    listed : tuple of str
        Kinds this part is the whole list of, even when it has no items.
    refused : tuple of str
        Kinds the API server refused to list (403).
    cut : tuple of str
        Kinds of which it is known that some are missing: cut off, or left out as damaged. `EVERY_KIND` where it isn't
        known of which.
    of_pages : (int, int, bool), optional
        Of a List of one kind: its items, how many there are from its first on at least, and whether it is the last page.
    is_named : bool
        The user named this very file, so that what it holds is meant to be objects; False for one of many in a folder
        or an archive.
    """

    where: str = ""
    items: Sequence[Item] = ()
    first: int = 1
    kind: str = ""
    api_version: str = ""
    listed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    of_pages: tuple[int, int, bool] | None = None
    is_named: bool = True


EVERY_KIND = "*"
CUT_OFF = "it is cut off or damaged"
"""Why there is only a part of a kind (`Reading.partial`)."""
REFUSAL = "api-refusal"
"""The code of the finding that a file holds the API server's refusal."""
NO_KIND = "kind not told"
"""What objects of an unknown kind count as, among other kinds."""


class NotAnObject(InputError):
    """A value that is no object of Kubernetes at all."""


@garbage_collector.resting(keeps=True)
def build_snapshot(
    parts: Iterable[Part],
    *,
    source: str,
    taken_at: float | None = None,
    logs: Iterable[model.PodLog] = (),
    problems: Iterable[Finding] = (),
    passed_over: Mapping[str, int] | None = None,
    versions: Mapping[str, str] | None = None,
) -> model.Snapshot:
    """Read `parts` into one snapshot.

    Parameters
    ----------
    parts : iterable of Part
        Read one after the other, so a generator needs only one of them in memory.
    source : str
        A name for people.
    taken_at : float, optional
        Seconds since the epoch; the newest time seen in the objects when not given, 0 when there is none.
    logs, problems, passed_over
        Kept as they are, and read after `parts`, which may have added to them. `problems` come before what reading
        the objects finds. `passed_over`: why → how many files weren't looked into.
    versions : mapping, optional
        Of a live cluster, with each kind listed in all namespaces: kind → resourceVersion, read after `parts`.

    Raises
    ------
    InputError
        When the parts are of two clusters.
    """
    reader = Reader()
    for part in parts:
        reader.read(part)
    reader.take_watched()
    reader.one_cluster.check(source)
    reader.resource_versions = FrozenMap(versions or {})
    snapshot = reader.snapshot(
        source=source, taken_at=taken_at, logs=tuple(logs), problems=tuple(problems), passed_over=passed_over or {}
    )
    return with_gaps(with_inferred(snapshot), reader.spaces if versions is None else None)


def read_object(shared: Shared, raw_object: Item, kind: str) -> ReadObject:
    """Read one object of a known kind; one of `DAMAGE` is raised when it can't be read."""
    if kind == POD.name:
        read = repeated_pod_specs.read_pod_text(shared, raw_object) if not isinstance(raw_object, dict) else None
        if read is not None:
            return _sampled(shared, raw_object, read)
    decoded_type, decode = _wire_of(kind)
    decoded: Any = typed_json.convert(raw_object, decoded_type) if isinstance(raw_object, dict) else decode(raw_object)
    if kind == POD.name:
        return _sampled(shared, raw_object, pods.read_pod(shared, decoded))
    if kind in _TEMPLATED:
        record = _TEMPLATED[kind](shared, decoded, _template_in(raw_object, kind))
    else:
        record = _KINDS[kind].read(shared, decoded)
    # What the readers drop is gone from `decoded` as well: the digest is that of what is kept.
    digest = api_types.digest(kind.encode() + api_types.encode(decoded))
    return ReadObject(record=record, digest=digest, metadata=decoded.metadata or api_types.Metadata())


_DEFINITION = "CustomResourceDefinition"


class _Annotated(api_types.Wire):
    annotations: dict[str, str] | None = None


class _WithAnnotations(api_types.Wire):
    metadata: _Annotated | None = None


def _sampled(shared: Shared, raw: Item, read: ReadObject) -> ReadObject:
    """A pod that is the first of its revision keeps digests of its annotations: which its template has may tell one revision from another."""
    owner, revision = read.record.owner, read.record.labels.get(CONTROLLER_REVISION_HASH)
    if owner is None or revision is None:
        return read
    if shared.sampled_revisions.setdefault((owner.uid, revision), read.record.uid) != read.record.uid:
        return read
    annotated = (
        typed_json.convert(raw, _WithAnnotations) if isinstance(raw, dict) else typed_json.decode(raw, _WithAnnotations)
    )
    annotations = (annotated.metadata.annotations if annotated.metadata else None) or {}
    return replace(read, record=replace(read.record, annotation_digests=annotation_digests(annotations)))


def read_unplayed_object(
    shared: Shared, raw_object: Item, kind: str, api_version: str
) -> tuple[model.Unplayed, bytes] | None:
    """An object that isn't played, and its digest; None of one that makes no pods, is damaged, or is too large to be one."""
    head = {"kind": kind, "apiVersion": api_version}
    if makes_no_pods(head) or (isinstance(raw_object, _TEXTS) and len(memoryview(raw_object)) > LIMITS.unplayed_bytes):
        return None
    try:
        document = raw_object if isinstance(raw_object, dict) else msgspec.json.decode(raw_object)
        record = unplayed_objects.read_unplayed(shared, {**document, **head})
    except (*DAMAGE, TypeError):
        return None
    pod_sets = [(pod.role, pod.count, pod.template.labels, pod.template.spec) for pod in record.pods]
    generation = (document.get("metadata") or {}).get("generation")  # another for each change of what isn't kept
    counted = record.status_replicas, record.ready_replicas
    states = record.is_told, record.is_suspended
    digest_text = f"{record.api_group} {record.key} {record.uid} {generation} {states} {pod_sets} {counted}"
    return record, api_types.digest(digest_text.encode())


def _advising(raw_object: Item, kind: str) -> str:
    """Its kind; a VerticalPodAutoscaler that only advises apart from those that act (autoscaler `v1/types.go` `UpdateModeOff`)."""
    if kind != "VerticalPodAutoscaler":
        return kind
    try:
        document = raw_object if isinstance(raw_object, dict) else msgspec.json.decode(raw_object)
    except DAMAGE:
        return kind
    return f"{kind} (Off)" if text_at(document, "spec.updatePolicy.updateMode") == "Off" else kind


@cache
def _wire_of(kind: str) -> tuple[type[msgspec.Struct], Callable[[Any], Any]]:
    """What is decoded of a kind's objects, and the decoder."""
    templated = api_types.Workload if kind in _TEMPLATED else api_types.Pod
    decoded = _KINDS[kind].wire if kind in _KINDS else templated
    return decoded, typed_json.decoder(decoded)


class Reader:
    """Reads parts into records; `found` holds them by kind."""

    def __init__(self) -> None:
        self.found: dict[str, list[Any]] = {}
        self.other_kinds: dict[str, int] = {}
        self.presence: dict[str, Presence] = dict.fromkeys(api_types.READ, Presence.ABSENT)
        self.problems: list[Finding] = []
        self.objects = self.workloads = self.unreadable = self.by_shape = self.foreign = 0
        self.resource_versions: FrozenMap[str] = FrozenMap()
        self._files: set[str] = set()
        self._foreign: dict[str, int] = {}  # name of a file among many → values in it that are no objects
        self._watched: dict[tuple[str, ...], tuple[dict[str, Any], Part] | None] = {}
        self._is_old: dict[tuple[str, str], bool] = {}  # kinds and versions that are read and were seen
        self._old: dict[tuple[str, str], int] = {}
        self._shared = Shared()
        self._digests: set[bytes] = set()
        self._digest = ""  # where it is known
        self._told_apart: Collection[str] = ()
        self._states: dict[
            str, array[int]
        ] = {}  # kind → of each object that was found its resourceVersion, -1 where it says none
        self._contradicted: dict[
            tuple[str, str, str], None
        ] = {}  # kind, namespace, name of objects in states nothing tells apart
        self._unplayed: dict[tuple[str, str], model.Unplayed] = {}
        self._unplayed_states: dict[tuple[str, str], int] = {}
        self._unplayed_read = 0
        self._custom_schemas: dict[str, bytes] = {}
        self._kubelets: dict[str, model.KubeletConfiguration] = {}  # by the file that holds it
        self._topologies: dict[str, model.KubeletConfiguration] = {}  # by node
        self._told: dict[tuple[str, Severity], int] = {}
        self.spaces: set[str] = set()  # two at most: of objects of kinds that aren't used, or not played
        self._cut: set[str] = set()
        self._damaged: dict[str, int] = {}  # kind, or `EVERY_KIND` → objects left out
        self._pages: dict[str, list[tuple[int, int, bool]]] = {}  # kind → (items, of how many from its first, is last)
        self.one_cluster = OneCluster()

    @classmethod
    def of(
        cls,
        found: Mapping[str, list[Any]],
        digest: str,
        presence: Mapping[str, Presence],
        unreadable: list[Finding],
        resource_versions: Mapping[str, str],
        damaged: Mapping[str, int],
        unplayed: Iterable[model.Unplayed] = (),
        told_apart: Collection[str] = (),
    ) -> Reader:
        """One that has read these records already (`planner.inventory.lists_from_watch_events`). `told_apart`: kinds with names and uids that are known to
        differ."""
        reader = cls()
        reader.found, reader._digest, reader.presence = dict(found), digest, dict(presence)
        reader._told_apart = told_apart
        reader.problems, reader.unreadable = unreadable, len(unreadable)
        reader._unplayed = {(record.key, record.api_group): record for record in unplayed}
        reader._unplayed_read = sum(is_kept(record.kind, record.api_group) for record in reader._unplayed.values())
        reader.objects = sum(map(len, found.values())) + len(unreadable) + len(reader._unplayed)
        reader._files = {kind for kind, state in presence.items() if state is not Presence.ABSENT}
        reader.resource_versions = FrozenMap(resource_versions)
        reader._damaged = dict(damaged)
        return reader

    def read(self, part: Part) -> None:
        """Read every item of `part`; what can't be read becomes a problem."""
        if part.where:
            self._files.add(part.where)
        before, pods_before = self.objects, len(self.found.get(POD.name, ()))
        for kind in (_list_called(kind, part) for kind in part.listed):
            if kind in self.presence or kind in LISTED:
                self.presence[kind] = Presence.PRESENT
        for kind in part.refused:
            if self.presence.get(kind, Presence.ABSENT if kind in LISTED else None) is Presence.ABSENT:
                self.presence[kind] = Presence.REFUSED
        self._cut.update(part.cut)
        if part.kind and part.of_pages is not None:
            self._pages.setdefault(part.kind, []).append(part.of_pages)
        for number, raw_object in enumerate(part.items, start=part.first):
            try:
                try:
                    kind, api_version = kind_of(raw_object, part)
                except NotAnObject:
                    kind, api_version = _kind_of_shape(raw_object), ""
                    self.by_shape += 1
            except NotAnObject as error:
                self._read_foreign(raw_object, part, number, error)
                continue
            except DAMAGE as error:
                self._count(part, EVERY_KIND)
                if part.is_named:
                    self._leave_out(raw_object, part, number, error, EVERY_KIND)
                else:
                    self.other_kinds[NO_KIND] = self.other_kinds.get(NO_KIND, 0) + 1
                continue
            # A List may hold Lists: answers that were joined by hand.
            if kind[-4:] == "List" and (within := _list_in(raw_object, kind, part)) is not None:
                self.read(within)
                continue
            self._count(part, kind)
            try:
                self._keep(raw_object, kind, api_version, part.where)
            except DAMAGE as error:
                self._leave_out(raw_object, part, number, error, kind)
        if self.objects > before:
            self._files.add(part.where)
        if len(self.found.get(POD.name, ())) > pods_before:
            new_pods = self.found[POD.name][pods_before:]
            self.one_cluster.saw_pods(part.where, (pod.node_name for pod in new_pods if pod.node_name))
        self._shared.forget_texts()

    def _count(self, part: Part, kind: str) -> None:
        self.objects = objects = self.objects + 1
        if kind in _WORKLOADS:
            self.workloads += 1
            if self.workloads > LIMITS.workloads:
                raise too_many(part.where, LIMITS.workloads, "workloads")
        if objects > LIMITS.objects:
            raise too_many(part.where)

    def _leave_out(self, raw_object: Item, part: Part, number: int, error: Exception, kind: str) -> None:
        self.unreadable += 1
        self._damaged[kind] = self._damaged.get(kind, 0) + 1
        self._tell("object-unreadable", Severity.ERROR, lambda: _unreadable(raw_object, part, number, error))

    def _tell(self, code: str, severity: Severity, make: Callable[[], Finding]) -> None:
        """A problem of which there may be as many as objects: the first of a code are made, the others counted."""
        self._told[code, severity] = problem_count = self._told.get((code, severity), 0) + 1
        if problem_count <= _SHOWN_OF_EACH:
            self.problems.append(make())

    def _read_foreign(self, raw_object: Item, part: Part, number: int, error: NotAnObject) -> None:
        """Lists by name (``{"pods": {"items": […]}}``) are read; what else isn't an object is told."""
        if (event := _watch_event(raw_object)) is not None:
            self._watch(*event, part)
            return
        if self._keep_kubelet(raw_object, part.where):
            return
        lists = _lists_by_name(raw_object, part)
        for list_part in lists:
            self.read(list_part)
        if lists:
            return
        self.foreign += 1
        if self.foreign > LIMITS.objects:
            raise too_many(part.where)
        if part.is_named:
            self._tell("object-unreadable", Severity.ERROR, lambda: _unreadable(raw_object, part, number, error))
        else:
            self._foreign[part.where] = self._foreign.get(part.where, 0) + 1

    def _watch(self, event_type: str, raw_object: dict[str, Any], part: Part) -> None:
        """An event of a watch: of several about one object the last counts, and one that was deleted is gone."""
        metadata = raw_object.get("metadata") or {}
        if event_type == "BOOKMARK" or not isinstance(metadata, dict):
            return
        key = tuple(str(word) for word in (raw_object.get("kind"), metadata.get("namespace"), metadata.get("name")))
        self._watched.pop(key, None)
        self._watched[key] = None if event_type == "DELETED" else (raw_object, part)

    def take_watched(self) -> None:
        """Read what the events of watches left."""
        watched_objects = [watch_event for watch_event in self._watched.values() if watch_event is not None]
        self._watched.clear()
        for raw_object, part in watched_objects:
            self.read(replace(part, items=[raw_object], first=1, listed=()))

    def _refused(self, raw_object: Item, file: str) -> None:
        """What the API server answered in place of a list."""
        fields = msgspec.json.decode(raw_object) if isinstance(raw_object, _TEXTS) else raw_object
        if isinstance(fields, dict) and fields.get("status") == "Failure":
            message = " ".join(str(fields.get("message") or fields.get("reason") or "it doesn't say why").split())[:300]
            self.problems.append(finding(REFUSAL, file=file, said=message))

    def read_item(self, raw_object: Item, part: Part) -> None:
        """Read one item of `part`; one of `DAMAGE` is raised when it can't be read."""
        self._keep(raw_object, *kind_of(raw_object, part), part.where)

    def _keep(self, raw_object: Item, kind: str, api_version: str, file: str) -> None:
        kind_and_version = kind, api_version
        # Whether a kind is known is asked once a kind: a dump may hold a million objects of it.
        was = self._is_old.get(kind_and_version)
        if was is None:
            if kind_and_version == ("Status", "v1"):
                self._refused(raw_object, file)
            if not is_known(kind, api_version):
                if len(self.spaces) < 2 and (named := named_in(raw_object)) is not None and named.namespace:
                    self.spaces.add(named.namespace)
                if not self._keep_unplayed(raw_object, kind, api_version):
                    if kind == _DEFINITION:
                        self._keep_definition(raw_object)
                    elif kind in (KUBELET_CONFIGURATION, NODE_RESOURCE_TOPOLOGY):
                        self._keep_kubelet(raw_object, file)
                    counted = _advising(raw_object, kind)
                    self.other_kinds[counted] = self.other_kinds.get(counted, 0) + 1
                return
            self._is_old[kind_and_version] = was = is_old(kind, api_version)
        if was:
            self._old[kind_and_version] = self._old.get(kind_and_version, 0) + 1
        if not isinstance(raw_object, dict) and len(memoryview(raw_object)) > LARGEST_OBJECT_BYTES:
            raise InputError(_TOO_LARGE)
        read = read_object(self._shared, raw_object, kind)
        self._digests.add(read.digest)
        if kind in TELLING:
            self.one_cluster.saw(kind, read.record, read.metadata.uid or "", file)
        self.found.setdefault(kind, []).append(read.record)
        if kind not in self._states:
            self._states[kind] = array("q")
        self._states[kind].append(_state_of(raw_object))
        self.presence[kind] = Presence.PRESENT

    def _keep_definition(self, raw_object: Item) -> None:
        """Keep what a CustomResourceDefinition says of its versions, packed: most are never asked for, and some have 500 kB."""
        from planner.inventory.custom_resource_validation import packed_schemas  # only inputs that hold one pay for it

        if isinstance(raw_object, dict) or len(memoryview(raw_object)) <= LARGEST_OBJECT_BYTES:
            with suppress(*DAMAGE, TypeError):
                schemas = packed_schemas(
                    raw_object if isinstance(raw_object, dict) else msgspec.json.decode(raw_object)
                )
                self._custom_schemas |= schemas
                self._digests.update(map(api_types.digest, schemas.values()))

    def _keep_kubelet(self, raw_object: Item, file: str) -> bool:
        """Keep a kubelet's configuration, of the node that its file or its own name tells; False where it is none."""
        if isinstance(raw_object, _TEXTS) and not any(word in bytes(raw_object) for word in _OF_KUBELETS):
            return False
        try:
            document = raw_object if isinstance(raw_object, dict) else msgspec.json.decode(raw_object)
        except (*DAMAGE, TypeError):  # TypeError: a number or null stands in the place of an object
            return False
        if (configuration := of_document(document)) is not None:
            self._kubelets[file] = configuration
        elif (configuration := of_topology(document)) is not None:
            self._topologies[str((document.get("metadata") or {}).get("name"))] = configuration
        if configuration is not None:
            self._digests.add(api_types.digest(repr((file, configuration)).encode()))
        return configuration is not None

    def _with_kubelets(self, nodes: list[model.Node]) -> list[model.Node]:
        """The nodes with what files beside them tell of their kubelets; a file of which it isn't clear whose it is is named."""
        topologies, names = dict(self._topologies), {node.name for node in nodes}
        for file, configuration in self._kubelets.items():
            if name := node_of(file, names):
                topologies[name] = configuration
            elif names:
                self.problems.append(finding("kubelet-of-no-node", where=file))
        return [replace(node, kubelet=topologies[node.name]) if node.name in topologies else node for node in nodes]

    def _keep_unplayed(self, raw_object: Item, kind: str, api_version: str) -> bool:
        """Keep what tells a change of an object that isn't rolled out here; whether it counts as used."""
        is_used = is_kept(kind, api_version.rpartition("/")[0])
        if not is_used and len(self._unplayed) >= LIMITS.unknown_objects:
            return False
        read = read_unplayed_object(self._shared, raw_object, kind, api_version)
        if read is None:
            return False
        record, digest = read
        self._unplayed_read += is_used
        key, state = (record.key, record.api_group), _state_of(raw_object)
        before, state_before = self._unplayed.get(key), self._unplayed_states.get(key, -1)
        if before is None or _is_later(record, state, before, state_before):
            self._unplayed[key], self._unplayed_states[key] = record, state
        if before is not None and before != record:
            self._contradict(kind, record, state, state_before)
        self._digests.add(digest)
        return is_used

    def snapshot(
        self,
        *,
        source: str,
        taken_at: float | None = None,
        logs: tuple[model.PodLog, ...] = (),
        problems: tuple[Finding, ...] = (),
        passed_over: Mapping[str, int] = FrozenMap(),
    ) -> model.Snapshot:
        """What was read so far."""
        self.take_watched()
        fields: dict[str, list[Any]] = {}
        for kind, resource_kind in api_types.READ.items():
            fields.setdefault(resource_kind.field, []).extend(self._each_once(kind, self.found.get(kind, [])))
        fields["nodes"].sort(key=lambda node: str(node.name))
        if self._kubelets or self._topologies:
            fields["nodes"] = self._with_kubelets(fields["nodes"])
        fields["workloads"], fields["made"] = _apart(fields["workloads"])
        unplayed_used = sum(is_kept(record.kind, record.api_group) for record in self._unplayed.values())
        read = sum(map(len, self.found.values())) + self._unplayed_read
        used = sum(map(len, fields.values())) + unplayed_used
        fields["unplayed"] = list(self._unplayed.values())
        reading = Reading(
            files=len(self._files),
            foreign_files=len(self._foreign),
            passed_over=FrozenMap(passed_over),
            objects=self.objects,
            used=used,
            repeated=read - used,
            unreadable=self.unreadable,
            other_kinds=FrozenMap(self.other_kinds),
            foreign=self.foreign,
            by_shape=self.by_shape,
            resource_versions=self.resource_versions,
            partial=FrozenMap(dict(self._partial())),
            contradicted=tuple(sorted(self._contradicted)),
            custom_schemas=FrozenMap(self._custom_schemas),
        )
        return model.Snapshot(
            taken_at=self._shared.times.newest if taken_at is None else taken_at,
            source=source,
            digest=self._digest or digest_of(sorted(self._digests)),
            logs=logs,
            presence=FrozenMap(self.presence),
            reading=reading,
            problems=tuple(_few_of_each((*problems, *self.problems, *self._notes()), self._told)),
            **{field: tuple(records) for field, records in fields.items()},
        )

    def _partial(self) -> Iterator[tuple[str, str]]:
        """Kinds of which some weren't read → why."""
        for kind in api_types.READ:
            damaged, is_there = self._damaged.get(kind, 0), self.presence[kind] is Presence.PRESENT
            pages = self._pages.get(kind, ())
            if damaged:
                yield kind, f"{words.count(damaged, 'object is', 'objects are')} damaged and left out"
            elif kind in self._cut or (EVERY_KIND in self._cut and is_there):
                yield kind, CUT_OFF
            elif EVERY_KIND in self._damaged and is_there:
                yield kind, f"{words.count(self._damaged[EVERY_KIND], 'object')} of unknown kind left out"
            # A page says how many objects are to follow, and the last one has no token for another.
            elif pages and (
                sum(items for items, _, _ in pages) < max(total_objects for _, total_objects, _ in pages)
                or not any(is_last for _, _, is_last in pages)
            ):
                yield kind, "its pages say that there are more"

    def _notes(self) -> Iterator[Finding]:
        """What holds for many objects or files, each once."""
        for (kind, api_version), count in self._old.items():
            were, new = words.plural(count, "was", "were"), f"{api_types.API_GROUPS[kind]}/v1"
            yield finding("old-api-version", count=count, kind=kind, old=api_version, were=were, new=new)
        if self.by_shape:
            yield finding("kind-by-shape", count=self.by_shape, objects=self.objects)
        if self._foreign:
            names = list(self._foreign)
            shown = f"{', '.join(names[:3])}{f' and {len(names) - 3:,} more' if len(names) > 3 else ''}"
            files = words.count(len(names), "file holds", "files hold")
            yield finding("no-kubernetes-object", files=files, shown=shown)

    def _each_once(self, kind: str, records: list[Any]) -> list[Any]:
        """Each object once (the first stays), each with a uid of its own; a problem for each oddity."""
        if kind == "Event":
            return list(dict.fromkeys(records))
        if kind in self._told_apart:
            return records
        states = self._states.get(kind, ())
        of_each = states if len(states) == len(records) else [-1] * len(records)
        places: dict[tuple[str, str], int] = {}
        unique_records: list[Any] = []
        ranks: list[tuple[int, int]] = []
        for record, state in zip(records, of_each, strict=True):
            key, rank = (getattr(record, "namespace", ""), record.name), (state, getattr(record, "generation", 0))
            place = places.setdefault(key, len(unique_records))
            if place == len(unique_records):
                unique_records.append(record)
                ranks.append(rank)
                continue
            if unique_records[place] == record:
                ranks[place] = max(rank, ranks[place])
                continue
            self._contradict(kind, record, rank, ranks[place])
            if _is_later(record, rank, unique_records[place], ranks[place]):
                unique_records[place], ranks[place] = record, rank
        return self._with_own_uids(kind, unique_records)

    def _with_own_uids(self, kind: str, records: list[Any]) -> list[Any]:
        """Each with a uid of its own: of several with one it is the first's by name, whatever their order."""
        if not records or not hasattr(records[0], "uid"):
            return records
        owner: dict[str, tuple[str, str]] = {}
        for record in records:
            key = (getattr(record, "namespace", ""), record.name)
            owner[record.uid] = min(key, owner.get(record.uid, key))
        if len(owner) == len(records) and "" not in owner:
            return records
        named_records = []
        for record in records:
            key = (getattr(record, "namespace", ""), record.name)
            if not record.uid or owner[record.uid] != key:
                name = object_name(kind, *key)
                if record.uid:
                    self._odd("duplicate-uid", name, uid=record.uid, kind=kind)
                record = replace(record, uid=name)
            named_records.append(record)
        return named_records

    def _contradict(self, kind: str, record: Any, rank: Any, rank_before: Any) -> None:
        """An object in another state than the latest before; ranks that are alike don't tell which is the later one."""
        key = (kind, getattr(record, "namespace", ""), record.name)
        if rank == rank_before:
            self._contradicted[key] = None
        elif rank > rank_before:  # the latest of all so far: whatever stood before doesn't count
            self._contradicted.pop(key, None)
        self._odd("duplicate-object" if rank == rank_before else "duplicate-object:later", object_name(*key))

    def _odd(self, code: str, name: str, **parameters: Any) -> None:
        self._tell(code.partition(":")[0], Severity.WARNING, lambda: finding(code, name, **parameters))


_RESOURCE_VERSION: Final = re.compile(rb'"resourceVersion"\s*:\s*"(\d{1,18})"|"spec"\s*:')


def _state_of(raw_object: Item) -> int:
    """The resourceVersion of an object, which orders its states (kubernetes KEP-5504); -1 where it isn't a number that stands before what
    it says itself: a volume's claim is written with that of another."""
    if isinstance(raw_object, dict):
        metadata = raw_object.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        is_number = isinstance(version, str) and version.isascii() and version.isdecimal() and len(version) <= 18
        return int(str(version)) if is_number else -1
    match = _RESOURCE_VERSION.search(raw_object)
    return int(match[1]) if match is not None and match[1] else -1


def _is_later(record: Any, rank: Any, before: Any, rank_before: Any) -> bool:
    """Whether a state of an object comes after the one before; where nothing tells, any, whatever the order in which they are given."""
    return bool((rank, repr(record)) > (rank_before, repr(before)))


def digest_of(digests: Iterable[bytes]) -> str:
    """Of a snapshot, by those of its objects in order."""
    return blake2b(b"".join(digests), digest_size=16).hexdigest()


_SHOWN_OF_EACH = 5


def _few_of_each(problems: Iterable[Finding], problem_counts: Mapping[tuple[str, Severity], int]) -> Iterator[Finding]:
    """The first problems of each code, and how many more there are; no number is lost, and a thousand are not read. `problem_counts`:
    how many there are of a code, where not all are in `problems`."""
    counts: dict[tuple[str, Severity], int] = {}
    for problem in problems:
        key = problem.code, problem.severity
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= _SHOWN_OF_EACH:
            yield problem
    for (code, severity), in_full in counts.items():
        count = in_full + max(0, problem_counts.get((code, severity), 0) - _SHOWN_OF_EACH)
        if count > _SHOWN_OF_EACH:
            what = f"{count - _SHOWN_OF_EACH:,} more like these ({code.replace('-', ' ')})"
            yield Finding(severity=severity, code=code, object="", what=what)


def _apart(workloads: Iterable[model.Workload]) -> tuple[list[model.Workload], list[model.Workload]]:
    """Those that a person changes, and those that one of them makes: a LeaderWorkerSet's StatefulSet, a leader's."""
    own: list[model.Workload] = []
    derived: list[model.Workload] = []
    for workload in workloads:
        owner = workload.owner.kind if workload.owner is not None else ""
        (derived if owner == POD.name or (owner and kind_called(owner).part == workload.kind) else own).append(workload)
    return own, derived


def _template_in(raw_object: Item, kind: str) -> workloads.Raw:
    """The pod template of a workload that could be decoded; of one with several its whole spec."""
    if kind == LEADER_WORKER_SET.name:
        document = raw_object if isinstance(raw_object, dict) else msgspec.json.decode(raw_object)
        whole = document.get("spec")
        return whole if isinstance(whole, dict) else {}
    if isinstance(raw_object, dict):
        return (raw_object.get("spec") or {}).get("template") or {}
    spec = typed_json.decode(raw_object, api_types.Templated).spec
    text = bytes(spec.template) if spec is not None else b""
    # `template: null` is four bytes of JSON and no template.
    return text if text[:1] == b"{" else {}


class _ObjectName(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None


class _Object(msgspec.Struct):
    metadata: _ObjectName | None = None


def named_in(raw: Item) -> _ObjectName | None:
    """Name and namespace of an object of which nothing else may be readable; None where they aren't either."""
    try:
        loose = typed_json.convert(raw, _Object) if isinstance(raw, dict) else typed_json.decode(raw, _Object)
    except DAMAGE:
        return None
    return loose.metadata or _ObjectName()


def kind_of(raw_object: object, part: Part) -> tuple[str, str]:
    """(kind, API version) of an item; where they are first, as kubectl writes them, or last, only they are looked at.

    Raises
    ------
    InputError
        When it isn't an object, or neither it nor `part` says what kind it is.
    """
    if isinstance(raw_object, dict):
        kind, api_version = raw_object.get("kind"), raw_object.get("apiVersion")
    elif not isinstance(raw_object, _TEXTS):
        raise NotAnObject("it isn't an object")
    elif (head := _HEAD.match(raw_object)) is not None:
        return head[2].decode(), head[1].decode()
    else:
        tail = bytes(memoryview(raw_object)[-_TAIL_BYTES:])
        kind_and_version = _told_by(tail[tail.rfind(_VERSION) :])
        if kind_and_version is not None:
            return kind_and_version
        try:
            decoded = typed_json.decode(raw_object, api_types.Head)
        except msgspec.ValidationError:
            raise NotAnObject("it isn't an object") from None
        kind, api_version = decoded.kind, decoded.api_version
    kind = kind or part.kind
    if not isinstance(kind, str) or not kind:
        raise NotAnObject(_NO_KIND)
    return kind, str(api_version or part.api_version)


_told: dict[bytes, tuple[str, str]] = {}  # the ends of objects, which are few; none that says more: it may be a secret


def _told_by(tail: bytes) -> tuple[str, str] | None:
    """(kind, API version) of the end of an object, None where they aren't all that is there."""
    kind_and_version = _told.get(tail)
    if kind_and_version is None and (match := _TAIL.match(tail)) is not None:
        kind_and_version = match[2].decode(), match[1].decode()
        if len(_told) < LIMITS.versions_remembered:
            _told[tail] = kind_and_version
    return kind_and_version


_NO_KIND = "it has no kind, so it isn't a Kubernetes object"


def _kind_of_shape(raw_object: object) -> str:
    """The kind of an item that doesn't say it, by its fields; errors as `kind_of`."""
    if _is_too_large(raw_object):  # perhaps lists by name
        raise NotAnObject(_TOO_LARGE)
    loose = msgspec.json.decode(raw_object) if isinstance(raw_object, _TEXTS) else raw_object
    if not isinstance(loose, dict):
        raise NotAnObject("it isn't an object")
    if not is_object(loose):
        raise NotAnObject(_NO_KIND)
    kind = kind_of_shape(loose)
    if not kind:
        raise InputError("it has no kind, and its fields don't tell it")
    return kind


_TOO_LARGE = f"it has more than {LARGEST_OBJECT_BYTES:,} bytes, which no object has"


def _is_too_large(raw_object: object) -> bool:
    """Whether it is larger than any object: made, it would take a multiple of its text."""
    return isinstance(raw_object, _TEXTS) and len(memoryview(raw_object)) > LARGEST_OBJECT_BYTES


def _list_in(raw_object: Item, kind: str, part: Part) -> Part | None:
    """The List that an item is itself (``jq -s`` of several), None for an object whose own kind ends in List, as its List says."""
    if kind == part.kind:
        return None
    if isinstance(raw_object, dict):
        items, version = raw_object.get("items"), str(raw_object.get("apiVersion") or "")
    else:
        check_count(raw_object, part.where)
        try:
            fields = typed_json.decode(raw_object, api_types.List)
        except msgspec.MsgspecError:
            return None
        items, version = fields.items, fields.api_version or ""
    if not isinstance(items, list):
        return None
    element_kind = kind.removesuffix("List")
    return replace(
        part, items=items, first=1, kind=element_kind, api_version=version if element_kind else "", listed=(element_kind,) if element_kind else (),
        cut=(), of_pages=None,
    )  # fmt: skip


_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})


def _watch_event(raw_object: Item) -> tuple[str, dict[str, Any]] | None:
    """(type, object) of what ``kubectl get --output-watch-events`` writes; None of anything else."""
    try:
        fields = msgspec.json.decode(raw_object) if isinstance(raw_object, _TEXTS) else raw_object
    except DAMAGE:
        return None
    if not isinstance(fields, dict) or fields.get("type") not in _EVENTS or not isinstance(fields.get("object"), dict):
        return None
    return str(fields["type"]), fields["object"]


def _lists_by_name(raw_object: Item, part: Part) -> list[Part]:
    """The Lists that are the fields of an object (``{"pods": {"items": […]}, "nodes": {"items": […]}}``)."""
    if isinstance(raw_object, _TEXTS) and len(memoryview(raw_object)) > _LARGEST_BY_NAME_BYTES:
        return []
    try:
        fields = msgspec.json.decode(raw_object) if isinstance(raw_object, _TEXTS) else raw_object
    except DAMAGE:
        return []
    if not isinstance(fields, dict):
        return []
    parts = []
    within = fields.get("rawObjects")  # KAI-Scheduler's /get-snapshot
    for value in (within if isinstance(within, dict) else fields).values():
        items = value.get("items") if isinstance(value, dict) else value
        if isinstance(items, list) and items and all(is_object(element) for element in items):
            kind = str(value.get("kind") or "") if isinstance(value, dict) else ""
            parts.append(
                replace(part, items=items, first=1, kind=kind.removesuffix("List"), listed=(), cut=(), of_pages=None)
            )
    return parts


def _list_called(kind: str, part: Part) -> str:
    """A list by its name here: a typed one may be of another project's kind (Kruise's StatefulSetList, Volcano's JobList)."""
    if kind != part.kind or is_known(kind, part.api_version):
        return kind
    group = part.api_version.rpartition("/")[0]
    return next((name for name, row in LISTED.items() if (row.kind, row.group) == (kind, group)), "")


def is_known(kind: str, api_version: str) -> bool:
    """Whether the planner reads this kind; a kind of the same name from another API group is another kind."""
    if kind not in api_types.READ:
        return False
    group = api_version.rpartition("/")[0]
    if kind == "Event":
        return group in ("", "events.k8s.io")
    return group == api_types.API_GROUPS.get(kind, "") or not api_version or is_old(kind, api_version)


def is_old(kind: str, api_version: str) -> bool:
    """Whether the kind is of a group it was in before Kubernetes 1.16, with the same fields."""
    return kind in api_types.OLD_KINDS and api_version.partition("/")[0] == api_types.OLD_API_GROUP


def object_name(kind: str, namespace: str, name: str) -> str:
    """``Pod/prod/api-0``, ``Node/gpu-0``: how objects are named in findings and results."""
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


def _unreadable(raw_object: Item, part: Part, number: int, error: Exception) -> Finding:
    """The problem an item that can't be read is reported as."""
    place = f"item {number}" + (f" of {part.where}" if part.where else "")
    return finding("object-unreadable", _name_of(raw_object, part), place=place, damage=damage_in_words(error))


def damage_in_words(error: Exception) -> str:
    """What is wrong with an object, the field first: ``spec.replicas: expected `int`, got `str` ``."""
    if isinstance(error, InputError):
        return error.what
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text, _, path = str(error).partition(" - at `$.")
    field = path.removesuffix("`")
    return f"{field}: {text[:1].lower()}{text[1:]}" if field else text


def _name_of(raw_object: Item, part: Part) -> str:
    """The name of an item that may be damaged, "" when it can't be told."""
    try:
        if _is_too_large(raw_object):
            return ""
        loose = raw_object if isinstance(raw_object, dict) else msgspec.json.decode(raw_object)
        kind, _ = kind_of(loose, part)
        metadata = loose["metadata"]
        resource_kind = api_types.READ.get(kind)
        namespace = (
            str(metadata.get("namespace") or DEFAULT_NAMESPACE)
            if resource_kind is None or resource_kind.is_namespaced
            else ""
        )
        return object_name(kind, namespace, str(metadata["name"])) if metadata["name"] else ""
    except (msgspec.MsgspecError, InputError, LookupError, AttributeError, TypeError, ValueError, RecursionError):
        return ""
