"""Skips decoding of pods with the same spec text as an earlier pod.

Pods of a template are written alike but for two things: the name of the node that they are bound to, which a DaemonSet's pod
has in its affinity as well, and that of the token volume, which admission makes up for each. Both are holes in the text. Of
texts that are equal but for what stands in the holes the second is decoded with marks in them: where the marks are found in
these two places only, and in nothing else that is kept, any other names in the holes give the same spec.

Of such a pod times, labels and owners are left as they are written too, and looked up. Whatever is odd about it (a time written in
another way, a name that Kubernetes refuses) is left to `read_pod`, which decodes it as a whole and tells what is wrong. Of what is
given twice the last counts, as for `read_pod`; where one before it is damaged, which no API server writes, the pod is counted here and
left out there. Nothing can be hidden so: what is read is what is written last.

The texts hold secrets, so that what is kept of them is a digest; the last one of each length only while a list is read. What is
written around its holes is looked for first: that is neither copied nor hashed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache, reduce
from hashlib import sha256
from operator import or_
from types import GenericAlias, UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin

import msgspec

from planner.ground import typed_json
from planner.ground.errors import InputError
from planner.inventory import api_types
from planner.inventory.records.pods import (
    MOUNTED_BY_ADMISSION,
    KnownSpec,
    cut,
    finished,
    is_resized,
    known_spec,
    taken_out,
    without_token,
)
from planner.inventory.records.read_context import ReadObject, Shared, metadata_of, read_owner
from planner.kubernetes.name_validation import is_subdomain

_FIELD = b'"nodeName"'
_TOKEN = b'"' + MOUNTED_BY_ADMISSION.encode()
_TOKEN_LENGTH = len(_TOKEN) + 5  # kubernetes apiserver `pkg/storage/names/generate.go`: five letters or digits
_TOKEN_HOLE = b'"' + b"\1" * (_TOKEN_LENGTH - 1) + b'"'  # JSON has no such text, and none of zero bytes
_NODE_NAME = re.compile(rb"[a-z0-9][a-z0-9.-]{2,252}")
_NODE_MARK, _TOKEN_MARK = b"headroom-mark-of-a-node", b"headroom-mark-of-a-token"
_FIELDS: Final = frozenset(
    name.encode()
    for var in vars(api_types).values()
    if isinstance(var, type) and issubclass(var, msgspec.Struct)
    for name in var.__struct_encode_fields__
)


class _Learnt(NamedTuple):
    """A spec known by its text; `nodes` is its affinity for one node as `api_types.encode` writes it, with a mark for the name."""

    spec: KnownSpec
    nodes: bytes


def read_pod_text(shared: Shared, raw_object: msgspec.Raw | bytes | memoryview) -> ReadObject | None:
    """The Pod of the JSON `raw_object`; None where it has to be decoded as a whole, which tells what is wrong with it."""
    newest = shared.times.newest
    try:
        pod = _decoder()(raw_object)
        text, pod.spec = bytes(pod.spec), api_types.NO_TEXT
        cached_spec, node = _known(shared, text)
        status = pod.status or _NO_STATUS
        if cached_spec is None or is_resized(cached_spec.spec.asked, status):
            return None
        metadata: Any = metadata_of(pod)
        labels, metadata.labels = shared.written(metadata.labels, dict[str, str], Shared.labels)
        owner, metadata.owner_references = shared.written(
            metadata.owner_references, list[api_types.OwnerReference], read_owner
        )
        nodes = cached_spec.nodes and cached_spec.nodes.replace(_NODE_MARK, node.encode())
        seconds = shared.times.__getitem__
        return finished(shared, pod, metadata, status, cached_spec.spec, nodes, node or None, seconds, labels, owner)
    except (msgspec.MsgspecError, InputError):
        if newest != shared.times.newest:  # it was of a pod that may turn out not to be read
            shared.times.clear()
            shared.times.newest = newest
        return None


def _as_written(type_: Any, **field_types: Any) -> Any:
    """`type_`, with texts in the place of times wherever it has any; a field of a struct that is `field_types` has that type.
    Times repeat from pod to pod, so they are looked up by their text (`Times`) and not parsed each time.

    Not in a `TerminatedState`: beside another state it isn't read, and its times wouldn't be looked at.
    """
    if type_ is api_types.TerminatedState:
        return type_
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        struct_fields = msgspec.structs.fields(type_)
        kinds = [field_types.get(struct_field.name) or _as_written(struct_field.type) for struct_field in struct_fields]
        if kinds == [struct_field.type for struct_field in struct_fields]:
            return type_
        fields = []
        for field, kind in zip(struct_fields, kinds, strict=True):
            default = api_types.NO_TEXT if kind is msgspec.Raw else field.default
            fields.append((field.name, kind, msgspec.field(name=field.encode_name, default=default)))
        return msgspec.defstruct(type_.__name__, fields, kw_only=True, omit_defaults=True, gc=False)
    if get_origin(type_) in (Union, UnionType):
        return reduce(or_, map(_as_written, get_args(type_)))
    if get_origin(type_) is list:
        return GenericAlias(list, tuple(map(_as_written, get_args(type_))))
    return str if type_ is datetime else type_


@cache
def _decoder() -> Callable[[Any], Any]:
    """Decodes a Pod, of which the spec, the labels and the owners are left as they are written, and times."""
    metadata = _as_written(
        api_types.Metadata, labels=msgspec.Raw, owner_references=msgspec.Raw, deletion_timestamp=datetime | None
    )
    return typed_json.decoder(_as_written(api_types.Pod, metadata=metadata | None, spec=msgspec.Raw))


_NO_STATUS = api_types.PodStatus()
_SEEN, _OTHERWISE = "seen once", "to be decoded each time"


def _with_holes(shared: Shared, text: bytes) -> tuple[bytes, str]:
    """(the spec's text with holes, the name in the holes for the node's).

    A hole is as long as what was in it, and texts are looked for from their end: either is quicker.
    """
    node, place = "", text.rfind(_FIELD)  # kubectl and Go write it after the containers
    if place >= 0:
        start = text.find(b'"', place + len(_FIELD))
        written = text[start : text.find(b'"', start + 1) + 1]
        node = _node_called(shared, written)
        if node:
            text = text.replace(written, _hole(len(written)))
    place = text.rfind(_TOKEN)
    if place >= 0:
        end = place + _TOKEN_LENGTH
        if text[end - 5 : end].isalnum() and text[end : end + 1] == b'"':
            text = text.replace(text[place : end + 1], _TOKEN_HOLE)
    return text, node


class _Text(NamedTuple):
    """A spec's text that is known: what is around its holes, and where these are."""

    learnt: _Learnt
    around: tuple[tuple[int, bytes], ...]
    nodes: tuple[slice, ...]
    tokens: tuple[slice, ...]

    @classmethod
    def of(cls, with_holes: bytes, learnt: _Learnt) -> _Text:
        holes = [hole.span() for hole in _HOLE.finditer(with_holes)]
        starts, ends = [0, *(end for _, end in holes)], [*(start for start, _ in holes), len(with_holes)]
        around = tuple((start, with_holes[start:end]) for start, end in zip(starts, ends, strict=True))
        tokens = tuple(slice(*hole) for hole in holes if with_holes[slice(*hole)] == _TOKEN_HOLE)
        return cls(learnt, around, tuple(hole for bounds in holes if (hole := slice(*bounds)) not in tokens), tokens)


_HOLE = re.compile(rb'"(?:\x00+|\x01+)"')


def _node_in(shared: Shared, text: bytes, last: _Text) -> str | None:
    """The node's name in a text of the same length as the last one, and alike but for what is in the holes; None in another text."""
    for start, piece in last.around:
        if not text.startswith(piece, start):
            return None
    for hole in last.tokens:
        token = text[hole]
        if token != text[last.tokens[0]] or not (token.startswith(_TOKEN) and token[-6:-1].isalnum()):
            return None
    name = ""
    for hole in last.nodes:
        before, name = name, _node_called(shared, text[hole])
        if not name or (before and name != before):
            return None
    return name


def _known(shared: Shared, text: bytes) -> tuple[_Learnt | None, str]:
    """What is known of a spec by its text, or learned of the second one that has it; and the node's name."""
    last = shared.last_texts.get(len(text))  # pods of a template mostly follow one another, or those of few of them
    if last is not None and (name := _node_in(shared, text, last)) is not None:
        return last.learnt, name
    with_holes, node = _with_holes(shared, text)
    key = sha256(with_holes).digest()
    cached_spec = shared.spec_texts.get(key)
    if cached_spec is None:
        shared.spec_texts[key] = _SEEN
    elif cached_spec is _SEEN:
        cached_spec = shared.spec_texts[key] = _learnt(shared, with_holes, node) or _OTHERWISE
    if not isinstance(cached_spec, _Learnt):
        return None, node
    shared.last_texts[len(text)] = _Text.of(with_holes, cached_spec)
    return cached_spec, node


def _node_called(shared: Shared, written: bytes) -> str:
    """The name that may leave a hole, "" of one that mayn't."""
    node_name = shared.node_names.get(written)
    if node_name is None:
        name = written[1:-1]
        if not _NODE_NAME.fullmatch(name) or name in _FIELDS or not is_subdomain(name.decode()):
            return ""
        node_name = shared.node_names[written] = name.decode()
    return node_name


def _hole(length: int) -> bytes:
    return b'"%b"' % (b"\0" * (length - 2))


def _learnt(shared: Shared, text: bytes, node: str) -> _Learnt | None:
    """What is read of a spec's text with holes; None where what is in the holes is seen in another way than described above.

    A mark that isn't in what was decoded stands in what isn't, or for a name of a field that isn't known; `_FIELDS` are none
    that a hole may have had.
    """
    if _NODE_MARK in text or _TOKEN_MARK in text:
        return None
    marked = text.replace(_hole(len(node) + 2), b'"' + _NODE_MARK + b'"').replace(
        _TOKEN_HOLE, _TOKEN + _TOKEN_MARK + b'"'
    )
    try:
        spec = api_types.decode_pod_spec(marked)
    except msgspec.MsgspecError:
        return None
    if (spec.node_name or "") != (_NODE_MARK.decode() if node else ""):
        return None
    spec.node_name = None
    affinity = taken_out(spec)
    spec.volumes = without_token(spec.volumes)
    nodes = api_types.encode(affinity.node_affinity) if affinity is not None else b""
    spec_bytes = api_types.encode(spec)
    if _NODE_MARK in spec_bytes or _TOKEN_MARK in spec_bytes + nodes:
        return None
    try:
        return _Learnt(known_spec(shared, cut(spec)), nodes)
    except (InputError, ValueError, OverflowError):  # what is wrong is told where it isn't looked for in vain
        return None
