"""Keyed digests of pod template values that a snapshot doesn't keep, so that a change of them is still seen.

Every value that the wire structs skip (environment, arguments, mounts, other annotations, …) becomes a digest in its place.
So a patch can be merged into a template with values that are not held, and two templates can be compared in full. The key is
drawn anew in each process (`planner.sources`) and never leaves it: a digest says that two values are equal, not what they
are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from planner.ground.data_files import table_beside
from planner.inventory import api_types
from planner.inventory.field_coverage import FIELDS

Object = dict[str, Any]
_key = bytes(32)
_keyed = blake2b(digest_size=8, key=_key)
_written = json.JSONEncoder(sort_keys=True).encode
_SEALED = re.compile("\0[0-9a-f]{16}\\Z")
_APART = {"command": "headroom.dev/command", "args": "headroom.dev/args"}
"""Decoded to see how a process is started and then dropped: the digests stand beside them."""
_READ_AND_DROPPED: dict[type[msgspec.Struct], tuple[str, ...]] = {api_types.HostPath: ("path",)}
"""Fields that are decoded to see something of them, and then dropped; only digests are kept."""
# Source: kubernetes pkg/apis/core/v1/defaults.go; what the API server fills in, or drops when it is empty
_DEFAULTS: dict[str, list[Any]] = msgspec.json.decode(table_beside(__name__, "redacted_value_digests.json"))


def use_key(key: bytes) -> None:
    """Seal with this key from now on; before anything is read, since digests of two keys can't be compared."""
    global _key, _keyed
    _key, _keyed = key, blake2b(digest_size=8, key=key)
    _digests_of_defaults.cache_clear()


def key() -> bytes:
    """The key of this process, for another process of its own that works on the same snapshots; for no other."""
    return _key


def _digest(value: Any) -> str:
    hashed = _keyed.copy()
    # A text as it is, after a quote, which no other value begins with: environment and arguments are texts.
    text = '"' + value if isinstance(value, str) else repr(value) if type(value) is int else _written(value)
    hashed.update(text.encode("utf-8", "surrogatepass"))
    return "\0" + hashed.hexdigest()


def sealed(text: str) -> str:
    """The digest in the place of `text`."""
    return _digest(text)


def annotation_digests(annotations: Mapping[str, Any]) -> tuple[str, ...]:
    """A digest of each annotation with its value, both of which may be digests already, and one of nothing: that tells the key, so that
    digests of another process, which differ from all of this one's, aren't compared (`is_of_this_key`)."""
    return (_digest(""), *sorted(_digest("=".join(map(_as_digest, pair))) for pair in annotations.items()))


def is_of_this_key(digests: tuple[str, ...]) -> bool:
    """Whether `annotation_digests` were made with the key of this process; False of none."""
    return digests[:1] == (_digest(""),)


def _as_digest(value: Any) -> str:
    return str(value) if is_sealed(value) else _digest(value)


def _hide(value: Any) -> Any:
    """`value` with a digest in the place of each plain value; directives of a patch, and null, stay."""
    if isinstance(value, str):
        return value if is_sealed(value) else _digest(value)
    if isinstance(value, dict):
        return {key: child if _is_directive(key) else _hide(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_hide(child) for child in value]
    return None if value is None else _digest(value)


def is_sealed(value: Any) -> bool:
    """Whether `value` is a digest in the place of one that isn't kept."""
    return isinstance(value, str) and value[:1] == "\0" and _SEALED.match(value) is not None


def _is_directive(key: str) -> bool:
    """A directive of a patch that names fields; those that name values (`$setElementOrder/env`) are hidden too."""
    return key[:1] == "$" and "/" not in key


def leaves(document: Mapping[str, Any]) -> str:
    """A digest of each plain value with its path, 16 letters each, sorted: what a document says can be looked for in what
    another says. A number and its text are one; null, "" and what is empty say nothing, as in the API."""
    paths: set[str] = set()
    todo: list[tuple[str, Any]] = [("", document)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, Mapping):
            todo += [(f"{path}\0{key}", child) for key, child in value.items()]
        elif isinstance(value, list):
            todo += [(f"{path}\0{place}", child) for place, child in enumerate(value)]
        elif value is not None and value != "":
            text = json.dumps(value) if isinstance(value, bool) else str(value)
            paths.add(_digest(f"{path}\0={text}")[1:])
    return "".join(sorted(paths))


def leaves_of(digests: str) -> frozenset[str]:
    """The single digests of `leaves`."""
    return frozenset(digests[place : place + _LEAF] for place in range(0, len(digests), _LEAF))


_LEAF: Final = 16  # letters of a digest


def seal(template: Object) -> Object:
    """A pod template, or a patch of one, with digests for what isn't kept; sealed ones stay as they are.

    ``command`` and ``args`` are kept as well as sealed, for readers how the process is started.
    """
    sealed = seal_but_spec(template)
    return {
        key: seal_spec(child) if key == "spec" and isinstance(child, dict) else child for key, child in sealed.items()
    }


def seal_spec(spec: Object) -> Object:
    """The spec of a template, as `seal` does it."""
    return _seal(spec, api_types.PodSpec)


def seal_but_spec(template: Object) -> Object:
    """`seal`, the spec left as it is."""
    sealed = {
        key: child if key == "spec" and isinstance(child, dict) else _seal({key: child}, api_types.PodTemplate)[key]
        for key, child in template.items()
    }
    metadata = sealed.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(metadata, dict) and isinstance(annotations, dict):
        sealed["metadata"] = {
            **metadata,
            "annotations": {
                key if key in fields_of(api_types.Annotations) else _hide(key): text
                for key, text in annotations.items()
            },
        }
    return sealed


def _seal(value: Object, type_: type[msgspec.Struct]) -> Object:
    fields, sealed_fields = fields_of(type_), {}
    for key, field in value.items():
        if key in _APART:
            sealed_fields[key], sealed_fields[_APART[key]] = field, _hide(field)
        elif _is_directive(key):
            sealed_fields[key] = field
        elif key[:1] == "$":  # $setElementOrder/env
            sealed_fields[key] = field if key.partition("/")[2] in fields else _hide(field)
        elif key not in fields:
            sealed_fields[key] = _hide(field)
        elif (inner := fields[key]) is None:
            sealed_fields[key] = field
        elif isinstance(field, dict):
            sealed_fields[key] = _seal(field, inner)
        elif isinstance(field, list):
            sealed_fields[key] = [_seal(each, inner) if isinstance(each, dict) else each for each in field]
        else:
            sealed_fields[key] = field
    return sealed_fields


def with_kept(sealed: Any, decoded: Any) -> Any:
    """`decoded` (what was decoded, written again) with what else `sealed` says; the manifest to keep."""
    if isinstance(decoded, dict) and isinstance(sealed, dict):
        merged = {key: child for key, child in sealed.items() if key not in decoded and key not in _APART}
        for key, subtree in decoded.items():
            merged[key] = with_kept(sealed.get(key), subtree) if isinstance(subtree, (dict, list)) else subtree
        return merged
    # Lists are matched by place, which only says the same where nothing was left out.
    if isinstance(decoded, list) and isinstance(sealed, list) and len(decoded) == len(sealed):
        return [with_kept(theirs, ours) for theirs, ours in zip(sealed, decoded, strict=True)]
    return decoded


def unread(sealed: Object, of_spec: str) -> str:
    """A digest of all that a template says and its record doesn't hold, the API server's defaults left out.

    `of_spec`: what `unread_of_spec` gives for its spec.
    """
    metadata = sealed.get("metadata") or {}
    annotations = {key: annotation for key, annotation in (metadata.get("annotations") or {}).items() if is_sealed(key)}
    return _digest([of_spec, annotations])[1:]


def unread_of_spec(sealed: Object, decoded: api_types.PodSpec) -> str:
    """A digest of all that the spec of a template says and its record doesn't hold."""
    return _digest(api_types.encode([_hidden(sealed, api_types.PodSpec), _unrecorded(decoded)]).decode())


def _hidden(value: Any, type_: type[msgspec.Struct] | None) -> Any:
    """The parts of `value` that `type_` skips, without empty ones and defaults; None where there are none."""
    if isinstance(value, list):
        parts = [_hidden(child, type_) for child in value]
        return parts if any(part is not None for part in parts) else None
    if not isinstance(value, dict):
        return value if type_ is None else None
    fields = fields_of(type_) if type_ is not None else {}
    hidden_fields = {}
    for key, field in value.items():
        if (key in fields and fields[key] is None) or _is_passed_over(key, type_):
            continue
        part = _hidden(field, fields.get(key))
        if part is not None and not (isinstance(part, str) and _is_default(key, part, value)):
            hidden_fields[key] = part
    return hidden_fields or None


@lru_cache(maxsize=4_096)
def _is_passed_over(key: str, type_: type[msgspec.Struct] | None) -> bool:
    """Whether a field says nothing of its own: it is sealed beside (`_APART`), repeats another (`serviceAccount`), or the API
    server drops it, as it doesn't know it."""
    known_fields = FIELDS.get(_API_TYPES.get(type_, "")) if type_ else None
    is_unknown = known_fields is not None and key not in known_fields and key not in _APART.values()
    return key in _APART or key == "serviceAccount" or is_unknown


_API_TYPES: dict[type[msgspec.Struct], str] = {api_types.PodSpec: "PodSpec", api_types.Container: "Container"}


def _is_default(key: str, digest: str, container: Object) -> bool:
    """Whether a sealed value is what the API server would have filled in."""
    if key == "imagePullPolicy":
        name, at, _ = str(container.get("image") or "").partition("@")
        _, colon, tag = name.rpartition("/")[2].partition(":")
        return digest == _digest("Always" if tag == "latest" or not (colon or at) else "IfNotPresent")
    return digest in _digests_of_defaults(key if key in _DEFAULTS else "")


@cache
def _digests_of_defaults(key: str) -> tuple[str, ...]:
    """The digests of what the API server fills in for a field; of most fields that of an empty text."""
    return tuple(_digest(default) for default in (*_DEFAULTS.get(key, ()), ""))


def _unrecorded(spec: api_types.PodSpec) -> list[Any]:
    """What is decoded and not in the record: ports, which requests are written down, and fields that mean the same
    whether they are written or left out, which the API server doesn't fill in."""
    shape: list[Any] = []
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        ports = sorted(
            [port.container_port or 0, port.host_port or 0, port.protocol or "TCP"] for port in container.ports or ()
        )
        requests = container.resources.requests if container.resources else None
        privileged = container.security_context.privileged if container.security_context else None
        shape.append([container.name, ports, sorted(requests or ()), privileged])
    written = [[toleration.operator for toleration in spec.tolerations or ()], spec.host_users]
    spread = [
        [constraint.node_affinity_policy, constraint.node_taints_policy, constraint.min_domains]
        for constraint in spec.topology_spread_constraints or ()
    ]
    return [shape, written, spread]


@cache
def fields_of(type_: type[msgspec.Struct]) -> Mapping[str, type[msgspec.Struct] | None]:
    """JSON name → the struct it holds (itself, or in a list), None for a plain value."""
    read_only = _READ_AND_DROPPED.get(type_, ())
    fields = msgspec.structs.fields(type_)
    return {field.encode_name: _struct_in(field.type) for field in fields if field.name not in read_only}


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    if get_origin(annotation) in (Union, UnionType, list):
        return next((struct for argument in get_args(annotation) if (struct := _struct_in(argument)) is not None), None)
    return None
