"""Kubernetes objects → `Snapshot`: the defaults the API server would have set, equal parts shared, nothing dropped
silently.

What an object from the API server has and what a manifest leaves out look the same afterwards (`records` has the
rules). An object that can't be read is left out and named in `Snapshot.problems`; the others are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import msgspec

from planner.errors import InputError
from planner.inventory import wire
from planner.inventory.records import admission, devices, nodes, observations, pods, policy, storage, workloads
from planner.inventory.records.shared import Shared
from planner.kubernetes import records as model
from planner.kubernetes.records import Finding, FrozenMap, Presence, Severity

Item = msgspec.Raw | bytes | memoryview | dict[str, Any]
Read = Callable[[Shared, Any], Any]

DAMAGE = (msgspec.MsgspecError, InputError, RecursionError, ValueError, OverflowError)
"""What reading a damaged object raises."""

_HEAD = re.compile(rb'\{\s*"apiVersion":\s*"([^"\\]*)",\s*"kind":\s*"([^"\\]*)"')
_READERS: dict[str, Read] = {
    "Node": nodes.read_node,
    "Namespace": nodes.read_namespace,
    "Pod": pods.read_pod,
    "Deployment": lambda shared, one: workloads.read_workload(shared, "Deployment", one),
    "StatefulSet": lambda shared, one: workloads.read_workload(shared, "StatefulSet", one),
    "DaemonSet": lambda shared, one: workloads.read_workload(shared, "DaemonSet", one),
    "Job": lambda shared, one: workloads.read_workload(shared, "Job", one),
    "ReplicaSet": workloads.read_replica_set,
    "PodDisruptionBudget": policy.read_pod_disruption_budget,
    "HorizontalPodAutoscaler": workloads.read_autoscaler,
    "Service": workloads.read_service,
    "PriorityClass": policy.read_priority_class,
    "RuntimeClass": policy.read_runtime_class,
    "ValidatingWebhookConfiguration": lambda shared, one: admission.read_webhooks(
        shared, "ValidatingWebhookConfiguration", one
    ),
    "MutatingWebhookConfiguration": lambda shared, one: admission.read_webhooks(
        shared, "MutatingWebhookConfiguration", one
    ),
    "ValidatingAdmissionPolicy": admission.read_policy,
    "ValidatingAdmissionPolicyBinding": admission.read_policy_binding,
    "ResourceQuota": policy.read_resource_quota,
    "LimitRange": policy.read_limit_range,
    "PersistentVolume": storage.read_persistent_volume,
    "PersistentVolumeClaim": storage.read_persistent_volume_claim,
    "StorageClass": storage.read_storage_class,
    "CSINode": storage.read_csi_node,
    "DeviceClass": devices.read_device_class,
    "ResourceSlice": devices.read_resource_slice,
    "ResourceClaim": devices.read_resource_claim,
    "ResourceClaimTemplate": devices.read_resource_claim_template,
    "Event": observations.read_event,
    "PodMetrics": observations.read_pod_metrics,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
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
    """

    where: str = ""
    items: Sequence[Item] = ()
    first: int = 1
    kind: str = ""
    api_version: str = ""
    listed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def build_snapshot(
    parts: Iterable[Part],
    *,
    source: str,
    taken_at: float | None = None,
    logs: Iterable[model.PodLog] = (),
    problems: Iterable[Finding] = (),
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
    logs, problems
        Kept as they are, and read after `parts`, which may have added to them. `problems` come before what reading
        the objects finds.
    """
    reader = Reader()
    for part in parts:
        reader.read(part)
    return reader.snapshot(source=source, taken_at=taken_at, logs=tuple(logs), problems=tuple(problems))


class Reader:
    """Reads parts into records; `found` holds them by kind."""

    def __init__(self) -> None:
        self.found: dict[str, list[Any]] = {}
        self.other_kinds: dict[str, int] = {}
        self.presence: dict[str, Presence] = dict.fromkeys(wire.KINDS, Presence.ABSENT)
        self.problems: list[Finding] = []
        self._shared = Shared()
        self._digests: set[bytes] = set()

    def read(self, part: Part) -> None:
        """Read every item of `part`; what can't be read becomes a problem."""
        for kind in part.listed:
            if kind in self.presence:
                self.presence[kind] = Presence.PRESENT
        for kind in part.refused:
            if self.presence.get(kind) is Presence.ABSENT:
                self.presence[kind] = Presence.REFUSED
        for number, item in enumerate(part.items, start=part.first):
            try:
                self.read_item(item, part)
            except DAMAGE as error:
                self.problems.append(_unreadable(item, part, number, error))

    def read_item(self, item: Item, part: Part) -> None:
        """Read one item of `part`; one of `DAMAGE` is raised when it can't be read."""
        kind, api_version = kind_of(item, part)
        if not is_known(kind, api_version):
            self.other_kinds[kind] = self.other_kinds.get(kind, 0) + 1
            return
        if isinstance(item, dict):
            decoded = msgspec.convert(item, wire.KINDS[kind])
        else:
            decoded = wire.DECODERS[kind].decode(item)
        record = _READERS[kind](self._shared, decoded)
        # What the readers drop is gone from `decoded` as well: the digest is that of what is kept.
        self._digests.add(blake2b(wire.encode(decoded), digest_size=16, person=kind[:16].encode()).digest())
        self.found.setdefault(kind, []).append(record)
        self.presence[kind] = Presence.PRESENT

    def snapshot(
        self,
        *,
        source: str,
        taken_at: float | None = None,
        logs: tuple[model.PodLog, ...] = (),
        problems: tuple[Finding, ...] = (),
    ) -> model.Snapshot:
        """What was read so far."""
        fields: dict[str, list[Any]] = {}
        for kind, known in wire.READ.items():
            fields.setdefault(known.field, []).extend(self._each_once(kind, self.found.get(kind, [])))
        fields["nodes"].sort(key=lambda node: str(node.name))
        return model.Snapshot(
            taken_at=self._shared.newest if taken_at is None else taken_at,
            source=source,
            digest=blake2b(b"".join(sorted(self._digests)), digest_size=16).hexdigest(),
            logs=logs,
            presence=FrozenMap(self.presence),
            other_kinds=FrozenMap(self.other_kinds),
            problems=problems + tuple(self.problems),
            **{field: tuple(records) for field, records in fields.items()},
        )

    def _each_once(self, kind: str, records: list[Any]) -> list[Any]:
        """Each object once (the first stays), each with a uid of its own; a problem for each oddity."""
        if kind == "Event":
            return list(dict.fromkeys(records))
        seen: dict[tuple[str, str], Any] = {}
        kept: list[Any] = []
        uids: set[str] = set()
        for record in records:
            key = (getattr(record, "namespace", ""), record.name)
            if key in seen:
                if seen[key] != record:
                    self._odd("duplicate-object", object_name(kind, *key), _TWICE, _ONE_STATE)
                continue
            seen[key] = record
            uid = getattr(record, "uid", None)
            if uid is not None and (not uid or uid in uids):
                if uid:
                    what = f"has the uid {uid} of another {kind}; it is kept under a uid made up for it"
                    self._odd("duplicate-uid", object_name(kind, *key), what, _ONE_STATE)
                uid = object_name(kind, *key)
                record = replace(record, uid=uid)
            if uid is not None:
                uids.add(uid)
            kept.append(record)
        return kept

    def _odd(self, code: str, name: str, what: str, mend: str) -> None:
        self.problems.append(Finding(severity=Severity.WARNING, code=code, object=name, what=what, mend=mend))


_TWICE = "is in the input more than once, with different content; the first one is used"
_ONE_STATE = "Give one state of one cluster: don't join dumps of different times or clusters, or edited copies"


def kind_of(item: object, part: Part) -> tuple[str, str]:
    """(kind, API version) of an item; kubectl writes them first, and then only these two are looked at.

    Raises
    ------
    InputError
        When it isn't an object, or neither it nor `part` says what kind it is.
    """
    if isinstance(item, dict):
        kind, api_version = item.get("kind"), item.get("apiVersion")
    elif not isinstance(item, msgspec.Raw | bytes | memoryview):
        raise InputError("it isn't an object")
    elif (head := _HEAD.match(item)) is not None:
        return head[2].decode(), head[1].decode()
    else:
        decoded = msgspec.json.decode(item, type=wire.Head)
        kind, api_version = decoded.kind, decoded.api_version
    kind = kind or part.kind
    if not isinstance(kind, str) or not kind:
        raise InputError("it has no kind, so it isn't a Kubernetes object")
    return kind, str(api_version or part.api_version)


def is_known(kind: str, api_version: str) -> bool:
    """Whether the planner reads this kind; a kind of the same name from another API group is another kind."""
    if kind not in wire.KINDS:
        return False
    group = api_version.rpartition("/")[0]
    if kind == "Event":
        return group in ("", "events.k8s.io")
    return group == wire.API_GROUPS.get(kind, "") or not api_version


def object_name(kind: str, namespace: str, name: str) -> str:
    """``Pod/prod/api-0``, ``Node/gpu-0``: how objects are named in findings and results."""
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


def _unreadable(item: Item, part: Part, number: int, error: Exception) -> Finding:
    """The problem an item that can't be read is reported as."""
    place = f"item {number}" + (f" of {part.where}" if part.where else "")
    return Finding(
        severity=Severity.ERROR,
        code="object-unreadable",
        object=_name_of(item, part),
        what=f"{place} was left out: {damage_in_words(error)}",
        mend="Correct the field, or write the dump again with kubectl get -o json",
    )


def damage_in_words(error: Exception) -> str:
    """What is wrong with an object, the field first: ``spec.replicas: expected `int`, got `str` ``."""
    if isinstance(error, InputError):
        return error.what
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text, _, path = str(error).partition(" - at `$.")
    field = path.removesuffix("`")
    return f"{field}: {text[:1].lower()}{text[1:]}" if field else text


def _name_of(item: Item, part: Part) -> str:
    """The name of an item that may be damaged, "" when it can't be told."""
    try:
        loose = item if isinstance(item, dict) else msgspec.json.decode(item)
        kind, _ = kind_of(loose, part)
        metadata = loose["metadata"]
        known = wire.READ.get(kind)
        namespace = str(metadata.get("namespace") or "default") if known is None or known.is_namespaced else ""
        return object_name(kind, namespace, str(metadata["name"])) if metadata["name"] else ""
    except (msgspec.MsgspecError, InputError, LookupError, AttributeError, TypeError, ValueError, RecursionError):
        return ""
