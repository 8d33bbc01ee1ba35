"""Encodes a whole snapshot as bytes and back: JSON with a version that later releases can read.

Kept is what a snapshot holds, without log lines: they are a program's words, and may hold anything. Environment values,
arguments and Secrets are in no snapshot; the digests that stand for them in pod templates tell that two were equal in the
process that read them, and nothing else once it has ended (`planner.inventory.redacted_value_digests`).
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import msgspec

from planner.ground import typed_json
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.words import Text
from planner.history.snapshot_names import FORMAT
from planner.inventory import stored_snapshot_validation as stored
from planner.inventory.log_secret_masking import said
from planner.kubernetes.object_records import FrozenMap, Pod, PodSpec, Snapshot

_NOT_KEPT: Final = frozenset({"derived", "logs", "others"})
_FIELDS: Final = tuple(field.name for field in fields(Snapshot) if field.name not in _NOT_KEPT)
_POD_FIELDS: Final = tuple(field.name for field in fields(Pod) if field.name != "spec")


def encode(snapshot: Snapshot) -> bytes:
    """`snapshot` as JSON; pods name their spec by its place in `pod_specs`, since all pods of a template share one."""
    specs: dict[PodSpec, int] = {}
    pods = [
        {name: getattr(pod, name) for name in _POD_FIELDS} | {"spec": specs.setdefault(pod.spec, len(specs))}
        for pod in snapshot.pods
    ]
    content = {name: getattr(snapshot, name) for name in _FIELDS} | {"pods": pods, "pod_specs": list(specs)}
    return msgspec.json.encode({"format": FORMAT, **content}, enc_hook=_written)


def decode(data: bytes | bytearray, where: str) -> Snapshot:
    """The snapshot that `encode` wrote; fields that a later release added are passed over.

    Raises
    ------
    InputError
        When it is damaged, of a format that isn't known, or holds what no reader of a dump lets through.
    """
    try:
        stored_snapshot = typed_json.decode(data, _STORED, dec_hook=_Reader().read)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the snapshot is damaged: {error}", where=where, fix="Take another snapshot") from None
    if stored_snapshot.format != FORMAT:
        fix = "Read it with the release of Headroom that wrote it"
        raise InputError(f'its format is "{stored_snapshot.format[:40]}", not {FORMAT}', where=where, fix=fix)
    if not all(0 <= pod.spec < len(stored_snapshot.pod_specs) for pod in stored_snapshot.pods):
        raise InputError("the snapshot is damaged: a pod's spec is missing", where=where, fix="Take another snapshot")
    pods = tuple(
        Pod(spec=stored_snapshot.pod_specs[pod.spec], **{name: getattr(pod, name) for name in _POD_FIELDS})
        for pod in stored_snapshot.pods
    )
    others = {name: getattr(stored_snapshot, name) for name in _FIELDS if name not in ("pods", "events")}
    events = tuple(
        event if (message := said(event.message)) == event.message else replace(event, message=message)
        for event in stored_snapshot.events
    )
    snapshot = Snapshot(**others, pods=pods, events=events)  # messages that an earlier release kept as they were
    try:
        stored.check(snapshot)
    except InputError as error:
        what = f"{error.what} ({error.where})" if error.where else error.what
        raise InputError(what, where=where, fix="Take another snapshot, and ask who wrote this one") from None
    return snapshot


def _written(value: Any) -> Any:
    if isinstance(value, FrozenMap):
        return dict(value)
    if isinstance(value, Text):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no place in a snapshot")


class _Reader:
    """Makes the types that JSON doesn't know; equal maps become one object, as they were when the snapshot was read."""

    def __init__(self) -> None:
        self._maps: dict[tuple[Any, FrozenMap[Any]], FrozenMap[Any]] = {}

    def read(self, expected_type: Any, value: Any) -> Any:
        if getattr(expected_type, "__origin__", expected_type) is FrozenMap:
            inner: Any = expected_type.__args__[0] if hasattr(expected_type, "__args__") else Any
            kind: Any = dict.__class_getitem__((str, inner))
            frozen = FrozenMap[Any](typed_json.convert(value, kind, dec_hook=self.read))
            return self._maps.setdefault((inner, frozen), frozen) if inner in (str, int) else frozen  # True equals 1
        if expected_type is Text:
            return Text(value)
        raise NotImplementedError(str(expected_type))


def _types(record: type[Any], names: tuple[str, ...], changed: dict[str, Any]) -> list[Any]:
    """Fields of a record as `msgspec.defstruct` takes them; those that may be missing have their default."""
    from dataclasses import MISSING
    from typing import get_type_hints

    hints, field_by_name = get_type_hints(record), {field.name: field for field in fields(record)}
    field_definitions = []
    for name in names:
        default = field_by_name[name].default if name in field_by_name else MISSING
        field_definition = (name, changed.get(name, hints.get(name)))
        field_definitions.append(field_definition if default is MISSING else (*field_definition, default))
    return field_definitions


_POD: Any = msgspec.defstruct("_Pod", [*_types(Pod, _POD_FIELDS, {}), ("spec", int)], kw_only=True)
_STORED: Any = msgspec.defstruct(
    "_Stored",
    [
        ("format", str),
        *_types(Snapshot, _FIELDS, {"pods": tuple.__class_getitem__((_POD, ...))}),
        ("pod_specs", tuple[PodSpec, ...], ()),
    ],
    kw_only=True,
)
