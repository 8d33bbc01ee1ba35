"""A snapshot that can be shown to others: every name replaced, each always by the same one, and nothing else changed.

Names are taken apart at ``-``, ``.``, ``/``, ``:`` and ``@``; each part gets another one wherever it stands, so that a pod's
name still begins with its ReplicaSet's, and selectors select what they did. The new parts are in the order of the old ones,
since ties between equals are broken by names. Numbers stay, and so do what labels of Kubernetes and clouds say (zones, machine
types, GPU models), resources, ``kube-system``, and words that say which environment something is of. A pool that is called
``gpu-a100`` keeps the resource's word and loses the other.
"""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from planner.ground.vocabulary import CONTROLLER_REVISION_HASH, KEPT_ANNOTATIONS, POD_TEMPLATE_HASH, SYSTEM_NAMESPACES
from planner.history import kept
from planner.kubernetes.records import Snapshot

SOURCE: Final = "anonymous"
_PART: Final = re.compile(r"[^-./:@\s]+")
_RUN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*[A-Za-z0-9_]|[A-Za-z0-9_]")
_DIGITS: Final = "0123456789bcdfghklmnpqrstvwxz"  # no vowels: no words

# Fields whose texts are words of Kubernetes' own, or digests: they stay.
_WORDS: Final = frozenset(
    [
        "format",
        "digest",
        "unread",
        "said",
        "said_of_itself",
        "applied",
        "api_group",
        "kind",
        "object_kind",
        "operator",
        "effect",
        "phase",
        "state",
        "last_state",
        "reason",
        "last_reason",
        "handler",
        "protocol",
        "host_ip",
        "medium",
        "access_modes",
        "volume_mode",
        "volume_binding_mode",
        "node_affinity_policy",
        "node_taints_policy",
        "preemption_policy",
        "restart_policy",
        "qos_class",
        "os",
        "scopes",
        "scope_name",
        "when_unsatisfiable",
        "unhealthy_pod_eviction_policy",
        "pod_management_policy",
        "max_surge",
        "max_unavailable",
        "min_available",
        "command_form",
        "kubelet_version",
        "driver",
        "csi_driver",
        "provisioner",
        "selectors",
        "component",
        "scheduler_name",
        "extended_resource_name",
        "conditions",
        "presence",
        "attributes",
        "match_attribute",
        "distinct_attribute",
        "unmodelled",
        "severity",
        "code",
        "state_reason",
        "allocation_mode",
        "failure_policy",
        "match_policy",
        "operations",
        "resources",
        "api_groups",
        "api_versions",
        "type",
        "handler_form",
        "seccomp",
        "proc_mount",
        "added_capabilities",
        "dropped_capabilities",
        "sysctls",
        "run_as_user",
    ]
)
_TEXTS: Final = frozenset(
    {"message", "unschedulable_message", "what", "mend", "lines"}
)  # sentences, with names in them
_AMOUNTS: Final = frozenset(
    [
        "requests",
        "limits",
        "overhead",
        "pod_requests",
        "pod_limits",
        "allocatable",
        "capacity",
        "hard",
        "used",
        "usage",
        "default",
        "default_request",
        "maximum",
        "minimum",
        "max",
        "min",
        "max_ratio",
        "resource_limits",
    ]
)  # resource → amount: resources stay
_DRIVERS: Final = frozenset({"driver", "csi_driver", "provisioner"})  # products' names, that other fields repeat
_LABELS: Final = frozenset(
    {"labels", "match_labels", "node_selector", "annotations", "matchLabels", "nodeSelector"}
)  # key → value
_DOMAINS: Final = (
    "kubernetes.io", "k8s.io", "cloud.google.com", "nvidia.com", "amd.com", "intel.com", "karpenter.sh", "amazonaws.com",
    "azure.com", "karpenter.k8s.aws", "karpenter.azure.com", "headroom.dev", "google.com", "node.kubernetes.io",
)  # fmt: skip
_PLAIN_KEYS: Final = frozenset(
    {"app", "name", "env", "environment", "k8s-app", "component", "version", "tier", "team", "agentpool", POD_TEMPLATE_HASH,
     CONTROLLER_REVISION_HASH, "job-name", "metadata.name"}
)  # fmt: skip
_NAMING: Final = (
    "hostname",
    "pool",
    "nodegroup",
    "name",
    "hash",
    "uid",
    "instance",
    "part-of",
    "managed-by",
)  # keys' ends
_ALWAYS: Final = frozenset(
    [
        "kube",
        "system",
        "default",
        "public",
        "lease",
        "node",
        "nodes",
        "pod",
        "pods",
        "container",
        "cluster",
        "critical",
        "gke",
        "gk3",
        "gce",
        "aws",
        "azure",
        "provider",
        "true",
        "false",
        "none",
        "None",
        "Exists",
        "metadata",
        "present",
        "app",
        "env",
        "in-cluster",
        "anonymous",
    ]
)


@dataclass(frozen=True, slots=True)
class _Names:
    """What is called how: part → its new one; `whole` are the names that sentences may hold."""

    parts: dict[str, str]
    whole: frozenset[str]

    def name(self, text: str) -> str:
        return _PART.sub(lambda found: self.parts.get(found.group(), found.group()), text)

    def sentence(self, text: str) -> str:
        return _RUN.sub(lambda found: self.name(found.group()) if self._is_name(found.group()) else found.group(), text)

    def _is_name(self, run: str) -> bool:
        """Whether it is a name, or begins with one, as that of a pod that was never made does."""
        begins = (run[: found.start()] for found in re.finditer("-", run))
        return run in self.whole or any(begin in self.whole and "-" in begin for begin in begins)


def anonymised(snapshot: Snapshot, stay: Iterable[str] = (), tell: Sequence[str] = ()) -> bytes:
    """The snapshot as `planner.history.kept` writes it, under other names; log lines are left out.

    Parameters
    ----------
    stay : words that stay in names besides those of Kubernetes and clouds, such as those of environments
    tell : words that tell something wherever they stand in a name, such as ``train`` in ``trainer``: they are added to the new
        name of what has them
    """
    content = json.loads(kept.encode(snapshot))
    for workload in content["workloads"]:
        workload.pop("applied", None)  # which fields a manifest set: of names, and of no use without that manifest
    texts = set(_texts(content))
    known = (
        _ALWAYS
        | set(stay)
        | set(_known(content))
        | {part for name in SYSTEM_NAMESPACES for part in _PART.findall(name)}
    )
    parts = {part for text in texts for part in _PART.findall(text)}
    whole = frozenset(piece for text in texts for piece in re.split(r"[/:@]", text) if piece) | texts
    names = _Names(_new({one for one in parts if one not in known and not one.isdecimal()}, known & parts, tell), whole)
    made = _renamed(content, names, "")
    made["source"] = SOURCE
    made["digest"] = blake2b(json.dumps(made, sort_keys=True).encode(), digest_size=16).hexdigest()
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode()


def _new(parts: set[str], known: Iterable[str], tell: Sequence[str]) -> dict[str, str]:
    """New parts in the order of the old ones, and with those that stay between them where they were.

    A part that comes after the word K, which stays, is K0…: that stands between K and every word after it.
    """
    stays = sorted(word for word in known if word.isalnum() and word.islower() and not any(one in word for one in tell))
    width = 1
    while len(_DIGITS) ** width <= len(parts):
        width += 1
    found = {}
    for place, part in enumerate(sorted(parts)):
        before = bisect_right(stays, part)
        said = next((word for word in tell if word in part.lower()), "")
        found[part] = f"{stays[before - 1] if before else ''}0{_number(place, width)}{said}"
    return found


def _number(place: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        place, rest = divmod(place, len(_DIGITS))
        digits = _DIGITS[rest] + digits
    return digits


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _is_known_key(key: str) -> bool:
    """Whether a label's key is Kubernetes' or a cloud's own."""
    domain = key.partition("/")[0]
    return key in _PLAIN_KEYS or key in KEPT_ANNOTATIONS or ("/" in key and domain.endswith(_DOMAINS))


def _field_of(one: Any, field: str) -> str:
    """The field that an element of a list stands for: a record in a list is neither labels nor amounts."""
    return "" if isinstance(one, dict) else field


def _is_amounts(field: str, value: Any) -> bool:
    """Whether `value` says how much there is of resources; requests for devices are a list."""
    return field in _AMOUNTS and isinstance(value, dict)


def _is_labels(field: str, value: dict[str, Any]) -> bool:
    """Whether `value` is key → value; devices have a term under the name of a pod's node selector."""
    is_term = any(isinstance(one, list) for one in value.values())
    return field in _LABELS and not (is_term and field in ("node_selector", "nodeSelector"))


def _staying(value: dict[str, Any]) -> frozenset[str]:
    """Fields of a requirement, taint or toleration whose key is Kubernetes' or a cloud's own: what is asked of it stays."""
    key = value.get("key")
    is_known = isinstance(key, str) and _has_known_value(key)
    return frozenset({"value", "values"}) if is_known and {"value", "values"} & set(value) else frozenset()


def _has_known_value(key: str) -> bool:
    return "/" in key and _is_known_key(key) and not key.endswith(_NAMING)


def _texts(value: Any, field: str = "") -> Iterator[str]:
    """Every text that is a name, or may be one."""
    if field in _WORDS or field in _TEXTS or _is_amounts(field, value):
        return
    if isinstance(value, dict):
        stays = _staying(value)
        for key, one in value.items():
            if key in stays:
                continue
            if _is_labels(field, value):
                if not _is_known_key(key):
                    yield key
                if not _has_known_value(key) and isinstance(one, str):
                    yield one
            else:
                if field in ("images", "claim_names"):
                    yield key
                yield from _texts(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, _field_of(one, field))
    elif isinstance(value, str) and value:
        if field == "manifest":
            yield from _texts(json.loads(base64.b64decode(value)))
        elif "\0" not in value and not (field in ("key", "topology_key", "topologyKey") and _is_known_key(value)):
            yield value


def _known(value: Any) -> Iterator[str]:
    """Parts of words that are said everywhere and are nobody's: resources, drivers."""
    if isinstance(value, dict):
        for key, one in value.items():
            if _is_amounts(key, one):
                for resource in one:
                    yield from _PART.findall(resource)
            elif key in _DRIVERS and isinstance(one, str):
                yield from _PART.findall(one)
            else:
                yield from _known(one)
    elif isinstance(value, list):
        for one in value:
            yield from _known(one)


def _renamed(value: Any, names: _Names, field: str) -> Any:
    if field in _WORDS or _is_amounts(field, value):
        return value
    if isinstance(value, dict):
        made = {}
        stays = _staying(value)
        for key, one in value.items():
            if key in stays:
                made[key] = one
            elif _is_labels(field, value):
                new = key if _is_known_key(key) else names.name(key)
                made[new] = one if _has_known_value(key) or not isinstance(one, str) else names.name(one)
            else:
                new = names.name(key) if field in ("images", "claim_names") else key
                made[new] = _renamed(one, names, key)
        return made
    if isinstance(value, list):
        return [_renamed(one, names, _field_of(one, field)) for one in value]
    if not isinstance(value, str) or "\0" in value:
        return value
    if field == "manifest":
        template = _renamed(json.loads(base64.b64decode(value)), names, "")
        return base64.b64encode(json.dumps(template, separators=(",", ":")).encode()).decode()
    if field in _TEXTS:
        return names.sentence(value)
    if field in ("key", "topology_key", "topologyKey") and _is_known_key(value):
        return value
    return names.name(value)
