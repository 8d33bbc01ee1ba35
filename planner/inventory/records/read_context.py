"""State shared by the readers of one snapshot: interned equal parts, the newest time seen, and field readers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from planner.ground import quantity, typed_json
from planner.ground.errors import InputError, QuantityError
from planner.ground.records import Record
from planner.inventory import api_types
from planner.inventory.reading_limits import LIMITS
from planner.kubernetes import name_validation
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap, Labels

T = TypeVar("T")
W = TypeVar("W")


class Shared:
    """Equal texts, labels, amounts and encoded parts become one object each, so that large clusters fit in memory."""

    def __init__(self) -> None:
        self.times = Times()
        self.seconds = self.times.seconds
        self.texts = Texts()
        self.text = self.texts.__getitem__
        self._labels: dict[Any, Labels] = {}
        self._owners: dict[tuple[str, str, str, str], model.Owner] = {}
        self._conditions: dict[Any, Labels] = {}
        self._amounts: dict[Any, Amounts] = {}
        self.pod_specs: dict[
            tuple[int, bytes], model.PodSpec
        ] = {}  # for nodes: by the spec that `once` gave, and their text
        self.node_affinities: dict[bytes, model.NodeAffinity] = {}  # by their text, as `api_types.encode` writes it
        self._parts: dict[tuple[str, bytes], Any] = {}
        self.spec_texts: dict[bytes, Any] = {}  # `repeated_pod_specs`: digest of a spec's text → what was read of it
        self.node_names: dict[bytes, str] = {}  # as written → the name
        self.sampled_revisions: dict[
            tuple[str, str], str
        ] = {}  # owner, revision → the pod with the annotations that were read
        self.last_texts: dict[
            int, Any
        ] = {}  # `repeated_pod_specs`: length of a spec's text → the last one that was read
        self._written: dict[tuple[Any, bytes], tuple[Any, msgspec.Raw]] = {}

    def forget_texts(self) -> None:
        """Forget what may hold secrets: a list has been read."""
        self.last_texts.clear()
        self._written.clear()

    def labels(self, labels: dict[str, str] | None) -> Labels:
        """Labels, or what they are selected by; refused where Kubernetes refuses them (`names`)."""
        if not labels:
            return EMPTY
        key = (*labels, *labels.values())
        cached_labels = self._labels.get(key)
        if cached_labels is None:
            name_validation.check_labels(labels)
            cached_labels = self._labels[key] = FrozenMap(labels)
        return cached_labels

    def owner(self, kind: str, name: str, uid: str, api_version: str) -> model.Owner:
        cached_owner = self._owners.get((kind, name, uid, api_version))
        if cached_owner is None:
            group = api_version.rpartition("/")[0]
            cached_owner = self._owners[kind, name, uid, api_version] = model.Owner(
                kind=kind, name=name, uid=uid, api_group=group
            )
        return cached_owner

    def conditions(self, statuses: dict[str, str]) -> Labels:
        """Type → status."""
        key = tuple(statuses.items())
        return self._conditions.setdefault(key, FrozenMap(statuses)) if statuses else EMPTY

    def amounts(self, quantities: api_types.Quantities | None) -> Amounts:
        """Quantities as integers, by resource name."""
        if not quantities:
            return EMPTY
        key = tuple(quantities.items())
        cached = self._amounts.get(key)
        if cached is None:
            for name in quantities:
                name_validation.check_resource(name)
            cached = self._amounts[key] = FrozenMap({name: amount(text, name) for name, text in quantities.items()})
        return cached

    def once(self, what: str, decoded: W, make: Callable[[W], T]) -> T:
        """``make(decoded)``, made once for equal content; `what` keeps readers of different records apart."""
        return self.once_written(what, api_types.encode(decoded), lambda _: make(decoded))

    def once_written(self, what: str, text: bytes, make: Callable[[bytes], T]) -> T:
        """``make(text)``, made once for equal texts."""
        key = (what, api_types.digest(text))  # of what may hold secrets nothing more is kept
        cached_part: T | None = self._parts.get(key)
        if cached_part is None:
            cached_part = self._parts[key] = make(text)
        return cached_part

    def written(self, text: msgspec.Raw, type_: Any, read: Callable[[Shared, Any], T]) -> tuple[T, msgspec.Raw]:
        """``read(self, decoded)`` of the JSON of a list or of a map, None of none; and that JSON as `api_types.encode` writes it."""
        raw_text = bytes(text)
        key = read, raw_text  # the same text may be another field's, and wrong there
        cached_record = self._written.get(key)
        if cached_record is None:
            decoded = typed_json.decode(raw_text, type_ | None) if raw_text else None
            cached_record = (
                read(self, decoded),
                api_types.NO_TEXT if decoded is None else msgspec.Raw(api_types.encode(decoded)),
            )
            if len(self._written) < LIMITS.texts_shared:
                self._written[key] = cached_record
        return cached_record


class Texts(dict[str | None, str]):
    """The same object for the same text; "" for None."""

    def __missing__(self, text: str | None) -> str:
        return self.setdefault(text, text or "")


class Times(dict[str | None, float | None]):
    """Seconds since the epoch by a time's text; one that msgspec would write in another way is refused.

    `newest` is the latest time seen.
    """

    newest = 0.0

    def __missing__(self, text: Any) -> float | None:
        if text is None or isinstance(text, datetime):
            return self.seconds(text)
        moment = typed_json.convert(text, datetime)
        if api_types.encode(moment) != b'"%b"' % text.encode():
            raise msgspec.ValidationError("it is written in another way")
        if len(self) > LIMITS.texts_shared:
            self.clear()
        return self.setdefault(text, self.seconds(moment))

    def seconds(self, moment: datetime | None) -> float | None:
        """Seconds since the epoch, remembering the newest."""
        if moment is None:
            return None
        seconds = seconds_of(moment)
        if seconds > self.newest:
            self.newest = seconds
        return seconds


class ReadObject(Record):
    """One object: its record, the digest of what is kept of it, and the metadata it came with."""

    record: Any
    digest: bytes
    metadata: api_types.Metadata


def read_owner(shared: Shared, references: list[api_types.OwnerReference] | None) -> model.Owner | None:
    """The owner that controls an object, None when there is none."""
    for reference in references or ():
        if reference.controller:
            return shared.owner(reference.kind, reference.name, reference.uid, reference.api_version)
    return None


def metadata_of(decoded: api_types.Object) -> api_types.Metadata:
    """The object's metadata.

    Raises
    ------
    InputError
        When it has no name, or one that Kubernetes refuses.
    """
    metadata = decoded.metadata
    if metadata is None or not (metadata.name or metadata.generate_name):
        raise InputError("it has no metadata.name")
    is_prefix = not metadata.name
    if is_prefix:
        metadata.name = metadata.generate_name
    name_validation.check_object(metadata.name or "", metadata.namespace or "", is_prefix=is_prefix)
    return metadata


def annotations_of(metadata: api_types.Metadata) -> Labels:
    """The annotations of the short list that is kept; without any, `metadata` loses its empty map as well."""
    if metadata.annotations is None:
        return EMPTY
    if metadata.annotations in _NO_ANNOTATIONS:  # those of nearly all objects: none of the list
        metadata.annotations = None
        return EMPTY
    kept_annotations = {}
    for attribute, key in api_types.ANNOTATION_FIELDS.items():
        if (value := getattr(metadata.annotations, attribute)) is not None:
            kept_annotations[key] = value
    return FrozenMap(kept_annotations) if kept_annotations else EMPTY


_NO_ANNOTATIONS = (api_types.Annotations(), api_types.AppliedAnnotations())


def seconds_of(moment: datetime) -> float:
    """Seconds since the epoch; a time without a zone is UTC, as everywhere in the API."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def given(value: int | None, default: int) -> int:
    """`value`, or `default` for None."""
    return default if value is None else value


def amount_or_none(text: str | int | float | None, resource: str) -> int | None:
    """`amount`, None where there is none."""
    return None if text is None else amount(text, resource)


def amount(text: str | int | float, resource: str) -> int:
    """A quantity as an integer; the error names the resource."""
    try:
        return quantity.parse(text, resource)
    except QuantityError as error:
        raise QuantityError(f"{resource}: {error.what}", fix=error.fix) from None


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def go_duration(text: str, *, whole: bool = False) -> float | None:
    """Go's ``time.Duration`` (``1m30s``) in seconds; with `whole` None of a text that is anything else besides."""
    parts = _DURATION.findall(text)
    if whole and (not parts or "".join(number + unit for number, unit in parts) != text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
