"""Redacts a cluster for a user who may see some namespaces only: names of other namespaces go, their load stays.

What is worked out has to be right, and depends on everybody's pods: they hold room, keep others away, are preempted and made
again. So nothing of the cluster is left out. Objects of hidden namespaces get other names (each always the same one, in the
order of the old ones, since ties between equals are broken by names), lose what says what they are (images, programs, labels,
messages, restarts, logs), and their workloads stand in `Snapshot.others`, where the engine finds them and no list does.
Kueue's queues, cohorts and flavors are of those who share them, and go whole, with the Workloads of hidden namespaces: who waits for what
depends on everybody's, so that answer is not known to who doesn't see all.
Nodes and what else belongs to no namespace are everybody's, and so are the words in them: a label's key, a class or a resource that
neither they nor anything seen has, and only hidden pods ask for, has another name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_type_hints

from planner.ground.records import replace
from planner.ground.well_known_names import (
    CONTROLLER_REVISION_HASH,
    DEFAULT_SCHEDULER,
    JOB_NAME,
    KEPT_ANNOTATIONS,
    POD_TEMPLATE_GENERATION,
    POD_TEMPLATE_HASH,
    SYSTEM_NAMESPACES,
)
from planner.inventory.api_types import READ
from planner.kubernetes.clouds import labels_of
from planner.kubernetes.field_privacy import Tells, told_by
from planner.kubernetes.kueue_managed_pods import KINDS as QUEUE_KINDS
from planner.kubernetes.kueue_managed_pods import NAMESPACED
from planner.kubernetes.object_records import (
    EMPTY,
    Event,
    FrozenMap,
    LabelSelector,
    Node,
    NodeSelectorTerm,
    PersistentVolume,
    PodSpec,
    Presence,
    Requirement,
    Snapshot,
    Toleration,
    VolumeAttachment,
)

HIDDEN: Final = "hidden."
"""How a hidden namespace's other name begins; no real one has a dot (RFC 1123, labels)."""

_PART: Final = re.compile(r"[^-.]+")
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
IN_NAMESPACES: Final = tuple(
    name
    for name, hint in get_type_hints(Snapshot).items()
    if name not in ("workloads", "others", "events", "logs")
    and any(hasattr(record, "namespace") for record in get_args(hint))
)
"""What is in a namespace, whatever it is; the four are told apart below. Fields aren't asked for: each start would wait for 43 classes."""
_OF_ALL: Final = (
    "priority_classes", "runtime_classes", "storage_classes", "device_classes", "resource_slices", "csi_nodes", "csi_drivers",
    "device_taint_rules",
)  # fmt: skip
_ASKING: Final = (
    "persistent_volume_claims", "resource_quotas", "limit_ranges", "resource_claims", "resource_claim_templates",
)  # fmt: skip
_ZONES: Final = ("topology.", "failure-domain.")  # labels of volumes that say where they are
_POOLS: Final = frozenset(labels_of("pool"))
_PROVIDERS: Final = (
    "kubernetes.io", "k8s.io", "cloud.google.com", "amazonaws.com", "karpenter.sh", "karpenter.k8s.aws", "azure.com", "nvidia.com",
    "amd.com", "intel.com",
)  # fmt: skip
"""Whose labels and resources are the same in every cluster; what they say of a node is hardware, except a pool's name."""
_EVERYWHERE: Final = frozenset(["", DEFAULT_SCHEDULER, "metadata.name"])
_KEYS: Final = KEPT_ANNOTATIONS | {
    POD_TEMPLATE_HASH, CONTROLLER_REVISION_HASH, POD_TEMPLATE_GENERATION, "app", JOB_NAME, "controller-uid", "name",
}  # fmt: skip
T = TypeVar("T")
Said = tuple[Any, ...]  # on a field: what it tells


def redacted_for(snapshot: Snapshot, sees: Callable[[str], bool]) -> Snapshot:
    """`snapshot` for a user who `sees` these namespaces.

    Verdicts for what is seen are the whole cluster's. `digest` stays: it says of which objects this is a view.
    """
    lists = (getattr(snapshot, kind) for kind in (*IN_NAMESPACES, "workloads", "events", "logs"))
    namespaces = {namespace.name for namespace in snapshot.namespaces} | {
        record.namespace for records in lists for record in records
    }
    hidden = {namespace for namespace in namespaces if not sees(namespace)}
    if not hidden:
        return snapshot
    # Hidden pods stay, under other names: they hold room and are preempted, so that a verdict without them would be wrong.
    names = _Names(snapshot, hidden)
    changed: dict[str, Any] = {
        kind: tuple(names.of(record) for record in getattr(snapshot, kind)) for kind in IN_NAMESPACES
    }
    return replace(
        snapshot,
        **(changed | _without_queues(snapshot, hidden)),
        workloads=tuple(workload for workload in snapshot.workloads if workload.namespace not in hidden),
        others=tuple(names.of(workload) for workload in snapshot.workloads if workload.namespace in hidden),
        namespaces=tuple(names.record(space) if space.name in hidden else space for space in snapshot.namespaces),
        nodes=tuple(names.node(node) for node in snapshot.nodes),
        persistent_volumes=tuple(names.volume(volume) for volume in snapshot.persistent_volumes),
        volume_attachments=tuple(names.attachment(attachment) for attachment in snapshot.volume_attachments),
        events=tuple(names.event(event) for event in snapshot.events if event.namespace not in hidden),
        logs=tuple(log for log in snapshot.logs if log.namespace not in hidden),
        problems=tuple(
            problem
            for problem in snapshot.problems
            if not names.tells(f"{problem.object} {problem.what} {problem.fix}")
        ),
    )


def _without_queues(snapshot: Snapshot, hidden: set[str]) -> dict[str, Any]:
    """Kueue's objects that may name another team, gone, and said to be missing; what of them is in seen namespaces stays."""
    fields_of = {kind: READ[kind].field for kind in QUEUE_KINDS}
    fields_left: dict[str, Any] = {field: () for kind, field in fields_of.items() if kind not in NAMESPACED}
    fields_left["queued_workloads"] = tuple(
        queued for queued in snapshot.queued_workloads if queued.namespace not in hidden
    )
    lost = [
        kind
        for kind, field in fields_of.items()
        if field in fields_left and len(fields_left[field]) < len(getattr(snapshot, field))
    ]
    partial = FrozenMap({**snapshot.reading.partial, **dict.fromkeys(lost, "not every namespace may be seen")})
    presence = FrozenMap({**snapshot.presence, **dict.fromkeys(lost, Presence.PARTIAL)})
    contradicted = tuple(
        (kind, "", "") if space in hidden else (kind, space, name)
        for kind, space, name in snapshot.reading.contradicted
    )
    reading = replace(snapshot.reading, partial=partial, contradicted=contradicted, custom_schemas=EMPTY)
    return {**fields_left, "presence": presence, "reading": reading}


class _Names:
    """Other names for what is in `hidden` namespaces; everything else passes as it is."""

    def __init__(self, snapshot: Snapshot, hidden: set[str]) -> None:
        self._hidden = hidden
        self._spaces = {name: f"{HIDDEN}{place}" for place, name in enumerate(sorted(hidden), 1)}
        self._spaces |= {name: name for name in SYSTEM_NAMESPACES}  # Kubernetes' own, which some rules know
        objects: list[Any] = [record for kind in (*IN_NAMESPACES, "workloads") for record in getattr(snapshot, kind)]
        apart = {record.name for record in objects if record.namespace in hidden} | hidden
        self._told = apart - {record.name for record in objects if record.namespace not in hidden}
        self._uids: dict[str, str] = {}
        self._texts: dict[Tells, Callable[[str], str]] = {
            Tells.SHARED_NAME: self._word,
            Tells.NODE_KEY: self._node_key,
            Tells.POD_KEY: self._key,
            Tells.UID: self._uid,
            Tells.IMAGE: self._image,
            Tells.PATH: lambda text: "/".join(map(self._name, text.split("/"))),
            Tells.WORKLOAD: self._target,
        }
        self._made: dict[tuple[int, Said], tuple[Any, Any]] = {}  # of what many share: specs, labels
        parts = {part for name in apart for part in _PART.findall(name) if not part.isdecimal()}
        self._parts = {part: f"x{place:06d}" for place, part in enumerate(sorted(parts))}
        own_pods = [pod for pod in snapshot.pods if pod.namespace not in hidden]
        my_workloads = [workload for workload in snapshot.workloads if workload.namespace not in hidden]
        visible_specs = [*(pod.spec for pod in own_pods), *(workload.template.spec for workload in my_workloads)]
        once = {id(spec): spec for spec in visible_specs}.values()
        containers = [container for spec in once for container in (*spec.containers, *spec.init_containers)]
        self._images = {container.image for container in containers}
        self._keys = {key for workload in my_workloads for key in workload.selector.match_labels}
        self._keys |= {key for pod in own_pods for key in pod.labels}
        self._keys |= {key for spec in once for key in _asked_keys(spec)}
        self._open = {pair for spec in once for pair in _asked(spec)}  # labels by which what is seen tells pods apart
        self._seen = {name for pod in own_pods for name in (pod.name, pod.namespace)} | {
            container.name for container in containers
        }
        self._shared_words = _EVERYWHERE | set(_words_of_nodes(snapshot.nodes))
        of_all: list[Any] = [record for kind in _OF_ALL for record in getattr(snapshot, kind)]
        visible_objects = [
            record for kind in _ASKING for record in getattr(snapshot, kind) if record.namespace not in hidden
        ]
        self._shared_words |= set(_texts([*of_all, *visible_objects, *once]))
        volumes = [v for v in snapshot.persistent_volumes if v.claim and v.claim[0] in hidden]
        self._volumes, self._attached = {v.name for v in volumes}, {v.attached_name for v in volumes}

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _name(self, text: str) -> str:
        if text in self._spaces:
            return self._spaces[text]
        return _PART.sub(lambda match: self._part(match.group()), text)

    def _part(self, part: str) -> str:
        if part.isdecimal() or part in ("true", "false"):
            return part
        return self._parts.setdefault(part, f"x{len(self._parts):06d}")

    def _uid(self, uid: str) -> str:
        return self._uids.setdefault(uid, f"hidden-{len(self._uids)}") if uid else uid

    def _image(self, image: str) -> str:
        return image if image in self._images or not image else self._name(re.sub(r"[/:@_]", "-", image))

    def tells(self, text: str) -> bool:
        """Whether a text has a hidden name in it."""
        return any(word in self._told for word in _words(text))

    def _sentence(self, text: str) -> str:
        return _WORD.sub(
            lambda match: self._name(match.group()) if match.group() in self._told else match.group(), text
        )

    # ── records ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def of(self, record: Any) -> Any:
        """An object of a namespace."""
        return self.record(record) if record.namespace in self._hidden else record

    def node(self, node: Node) -> Node:
        """A node, which holds images and volumes of everybody."""
        images = FrozenMap({self._image(name): size for name, size in node.images.items()})
        return replace(
            node, images=images, volumes_attached=tuple(v for v in node.volumes_attached if v not in self._attached)
        )

    def attachment(self, attached_volume: VolumeAttachment) -> VolumeAttachment:
        """The attachment of a volume; its claim may be another namespace's."""
        is_hidden = attached_volume.volume_name in self._volumes
        return (
            replace(attached_volume, volume_name=self._name(attached_volume.volume_name))
            if is_hidden
            else attached_volume
        )

    def volume(self, disk: PersistentVolume) -> PersistentVolume:
        """A volume, which may be bound to a claim of another namespace."""
        if disk.name not in self._volumes or disk.claim is None:
            return disk
        labels = {key: value for key, value in disk.labels.items() if any(word in key for word in _ZONES)}
        claim = (self._name(disk.claim[0]), self._name(disk.claim[1]))
        return replace(disk, name=self._name(disk.name), claim=claim, labels=FrozenMap(labels), handle="")

    def event(self, record: Event) -> Event:
        """An event that is seen, with a message that may name what isn't; of one about what is everybody's (a node's kernel killed a
        process of whomever) stay the names of what is seen."""
        resource_kind = READ.get(record.object_kind)
        if resource_kind is None or resource_kind.is_namespaced:
            return replace(record, message=self._sentence(record.message))
        return replace(record, message=" ".join(word for word in _words(record.message) if word in self._seen))

    def record(self, kube_object: T) -> T:
        """What is hidden, with other names and without what says what it is."""
        if isinstance(kube_object, LabelSelector):
            return self._selector(kube_object)  # type: ignore[return-value] # T is that
        if isinstance(kube_object, NodeSelectorTerm):
            terms = {name: tuple(map(self._requirement, getattr(kube_object, name))) for name in ("match_expressions", "match_fields")}  # fmt: skip
            return replace(kube_object, **terms)
        if isinstance(kube_object, Requirement):  # of a quota's scope: its key is the API's
            return replace(kube_object, values=tuple(map(self._word, kube_object.values)))
        if isinstance(kube_object, Toleration):
            key, value = self._node_key(kube_object.key), self._node_value(kube_object.key, kube_object.value)
            return replace(kube_object, key=key, value=value)
        record: Any = type(kube_object)
        empty = _defaults(record)
        changed = {
            name: empty[name] if Tells.INSIDE in marks else self._value(getattr(kube_object, name), marks)
            for name, marks in told_by(record).items()
        }
        return replace(kube_object, **changed)  # type: ignore[type-var]

    def _requirement(self, requirement: Requirement) -> Requirement:
        values = tuple(self._node_value(requirement.key, value) for value in requirement.values)
        return replace(requirement, key=self._node_key(requirement.key), values=values)

    def _selector(self, label_selector: LabelSelector) -> LabelSelector:
        terms = tuple(
            replace(term, key=self._key(term.key), values=tuple(self._label(term.key, value) for value in term.values))
            for term in label_selector.match_expressions
        )
        return LabelSelector(match_labels=self._labels(label_selector.match_labels), match_expressions=terms)

    def _labels(self, labels: FrozenMap[str]) -> FrozenMap[str]:
        return (
            FrozenMap({self._key(key): self._label(key, value) for key, value in labels.items()}) if labels else EMPTY
        )

    def _key(self, key: str) -> str:
        """A label's key: Kubernetes' own, and those that what is seen has too, are no secret."""
        if key in self._keys or key in _KEYS or _is_of(key, _PROVIDERS[:2]):
            return key
        return self._name(re.sub(r"[/_]", "-", key))

    # ── what pods ask of nodes, and of what is everybody's ───────────────────────────────────────────────────────────
    def _word(self, text: str) -> str:
        """A word that is everybody's as it is; another one, which no node has either, in the place of any other."""
        if text in self._shared_words or text.startswith("system-"):
            return text
        return self._name(re.sub(r"[/_]", "-", text))

    def _node_key(self, key: str) -> str:
        return key if _is_of(key, _PROVIDERS) else self._word(key)

    def _node_value(self, key: str, value: str) -> str:
        return value if _is_of(key, _PROVIDERS) and key not in _POOLS else self._word(value)

    def _resource(self, name: str) -> str:
        """A resource's name, or a quota's key for one; a renamed one stays an extended one."""
        if "/" not in name or name in self._shared_words or _is_of(name.removeprefix("requests."), _PROVIDERS):
            before, dot, kind = name.partition(".storageclass.storage.")  # a quota of a StorageClass
            return f"{self._word(before)}{dot}{kind}" if dot else name
        verb = next((prefix for prefix in ("requests.", "limits.") if name.startswith(prefix)), "")
        if verb and name.removeprefix(verb) in self._shared_words:
            return name
        return verb + "/".join(map(self._name, name.removeprefix(verb).split("/", 1)))

    def _map(self, value: FrozenMap[Any], marks: Said) -> FrozenMap[Any]:
        if Tells.NAMES in marks:
            return FrozenMap({self._name(key): self._name(name) for key, name in value.items()})
        if Tells.NODE_KEY in marks:
            return FrozenMap({self._node_key(key): self._node_value(key, content) for key, content in value.items()})
        if any(not isinstance(content, str) for content in value.values()):  # amounts
            return FrozenMap({self._resource(key): amount for key, amount in value.items()})
        return self._labels(value)

    def _label(self, key: str, value: str) -> str:
        return value if (key, value) in self._open else self._name(value)

    def _value(self, value: Any, marks: Said) -> Any:
        if Tells.NOTHING in marks or value is None or isinstance(value, bool | int | float | Enum):
            return value
        if isinstance(value, str):
            return next((self._texts[text_kind] for text_kind in marks if text_kind in self._texts), self._name)(value)
        if isinstance(value, tuple):
            return tuple(self._value(member, marks) for member in value)
        return self._shared(value, marks)

    def _target(self, key: str) -> str:
        kind, _, name = key.partition("/")
        return "/".join([kind, *map(self._name, name.split("/"))]) if name else self._name(key)

    def _shared(self, value: Any, marks: Said) -> Any:
        """Made once for each object: pods of a template share theirs."""
        key = (id(value), marks)
        if key not in self._made:
            masked = self._map(value, marks) if isinstance(value, FrozenMap) else self.record(value)
            self._made[key] = value, masked  # the value is kept alive, so that its number stays its own
        return self._made[key][1]


@cache
def _defaults(record: Any) -> dict[str, Any]:
    """What stands in a field that is hidden from other namespaces."""
    return {field.name: field.default for field in fields(record)}


def _is_of(name: str, domains: tuple[str, ...]) -> bool:
    """Whether a key's or a resource's domain is one of these, or below one."""
    domain, slash, _ = name.partition("/")
    return bool(slash) and any(domain == suffix or domain.endswith(f".{suffix}") for suffix in domains)


def _words_of_nodes(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        yield node.name
        yield from (text for pair in node.labels.items() for text in pair)
        yield from (text for taint in node.taints for text in (taint.key, taint.value))
        yield from node.allocatable
        yield from node.capacity


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, FrozenMap):
        yield from value
        yield from _texts(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for member in value:
            yield from _texts(member)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _texts(getattr(value, field.name))


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        yield match.group()


def _selectors(spec: PodSpec) -> list[LabelSelector]:
    """Those of a pod's affinity, of other pods and of namespaces."""
    terms = (*spec.pod_affinity, *spec.pod_anti_affinity)
    return [
        selector
        for term in terms
        for selector in (term.label_selector, term.namespace_selector)
        if selector is not None
    ]


def _asked(spec: PodSpec) -> Iterable[tuple[str, str]]:
    """Labels that a pod's affinity asks for of other pods and namespaces."""
    for selector in _selectors(spec):
        yield from selector.match_labels.items()
        yield from ((expression.key, value) for expression in selector.match_expressions for value in expression.values)


def _asked_keys(spec: PodSpec) -> Iterable[str]:
    """Keys of labels that a pod's affinity and spread ask for."""
    spread = [constraint.label_selector for constraint in spec.topology_spread if constraint.label_selector is not None]
    for selector in (*_selectors(spec), *spread):
        yield from selector.match_labels
        yield from (expression.key for expression in selector.match_expressions)
    for term in (*spec.pod_affinity, *spec.pod_anti_affinity):
        yield from (*term.match_label_keys, *term.mismatch_label_keys)
    for constraint in spec.topology_spread:
        yield from constraint.match_label_keys
