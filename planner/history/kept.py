"""A whole snapshot as bytes: JSON with a version, so that what is kept today is read by later releases.

Kept is what a snapshot holds, without log lines: they are a program's words, and may hold anything. Environment values,
arguments and Secrets are in no snapshot; the digests that stand for them in pod templates tell that two were equal in the
process that read them, and nothing else once it has ended (`planner.inventory.sealed`).
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import msgspec

from planner.ground import typed
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.words import Text
from planner.history.names import FORMAT
from planner.inventory import stored
from planner.inventory.masking import said
from planner.kubernetes.records import FrozenMap, Pod, PodSpec, Snapshot

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
        found = typed.decode(data, _STORED, dec_hook=_Reader().read)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the snapshot is damaged: {error}", where=where, mend="Take another snapshot") from None
    if found.format != FORMAT:
        mend = "Read it with the release of Headroom that wrote it"
        raise InputError(f'its format is "{found.format[:40]}", not {FORMAT}', where=where, mend=mend)
    if not all(0 <= pod.spec < len(found.pod_specs) for pod in found.pods):
        raise InputError("the snapshot is damaged: a pod's spec is missing", where=where, mend="Take another snapshot")
    pods = tuple(
        Pod(spec=found.pod_specs[pod.spec], **{name: getattr(pod, name) for name in _POD_FIELDS}) for pod in found.pods
    )
    others = {name: getattr(found, name) for name in _FIELDS if name not in ("pods", "events")}
    events = tuple(
        one if (message := said(one.message)) == one.message else replace(one, message=message) for one in found.events
    )
    snapshot = Snapshot(**others, pods=pods, events=events)  # messages that an earlier release kept as they were
    try:
        stored.check(snapshot)
    except InputError as error:
        what = f"{error.what} ({error.where})" if error.where else error.what
        raise InputError(what, where=where, mend="Take another snapshot, and ask who wrote this one") from None
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

    def read(self, wanted: Any, value: Any) -> Any:
        if getattr(wanted, "__origin__", wanted) is FrozenMap:
            inner: Any = wanted.__args__[0] if hasattr(wanted, "__args__") else Any
            kind: Any = dict.__class_getitem__((str, inner))
            made = FrozenMap[Any](typed.convert(value, kind, dec_hook=self.read))
            return self._maps.setdefault((inner, made), made) if inner in (str, int) else made  # True equals 1
        if wanted is Text:
            return Text(value)
        raise NotImplementedError(str(wanted))


def _types(record: type[Any], names: tuple[str, ...], changed: dict[str, Any]) -> list[Any]:
    """Fields of a record as `msgspec.defstruct` takes them; those that may be missing have their default."""
    from dataclasses import MISSING
    from typing import get_type_hints

    hints, known = get_type_hints(record), {field.name: field for field in fields(record)}
    made = []
    for name in names:
        default = known[name].default if name in known else MISSING
        entry = (name, changed.get(name, hints.get(name)))
        made.append(entry if default is MISSING else (*entry, default))
    return made


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
