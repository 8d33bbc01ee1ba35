"""What the readers of one snapshot share: equal parts made once, the newest time seen, and how fields are read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from planner import quantity
from planner.errors import InputError, QuantityError
from planner.inventory import wire
from planner.kubernetes import names
from planner.kubernetes import records as model
from planner.kubernetes.records import EMPTY, Amounts, FrozenMap, Labels

T = TypeVar("T")
V = TypeVar("V")
W = TypeVar("W")


class Shared:
    """Equal texts, labels, amounts and encoded parts become one object each, so that large clusters fit in memory.

    `newest` is the latest time seen, in seconds since the epoch.
    """

    def __init__(self) -> None:
        self.newest: float = 0.0
        self._texts: dict[str, str] = {}
        self._labels: dict[Any, Labels] = {}
        self._conditions: dict[Any, Labels] = {}
        self._amounts: dict[Any, Amounts] = {}
        self._parts: dict[tuple[str, bytes], Any] = {}
        self._pairs: dict[tuple[int, int], tuple[Any, Any, Any]] = {}  # by what was shared before

    def seconds(self, moment: datetime | None) -> float | None:
        """Seconds since the epoch, remembering the newest."""
        if moment is None:
            return None
        seconds = moment.timestamp() if moment.tzinfo else seconds_of(moment)
        if seconds > self.newest:
            self.newest = seconds
        return seconds

    def text(self, text: str | None) -> str:
        """`text`, the same object for the same text; "" for None."""
        return self._texts.setdefault(text, text) if text else ""

    def labels(self, labels: dict[str, str] | None) -> Labels:
        """Labels, or what they are selected by; refused where Kubernetes refuses them (`names`)."""
        if not labels:
            return EMPTY
        key = tuple(labels.items())
        known = self._labels.get(key)
        if known is None:
            names.check_labels(labels)
            known = self._labels[key] = FrozenMap(labels)
        return known

    def conditions(self, statuses: dict[str, str]) -> Labels:
        """Type → status."""
        key = tuple(statuses.items())
        return self._conditions.setdefault(key, FrozenMap(statuses)) if statuses else EMPTY

    def amounts(self, quantities: wire.Quantities | None) -> Amounts:
        """Quantities as integers, by resource name."""
        if not quantities:
            return EMPTY
        key = tuple(quantities.items())
        known = self._amounts.get(key)
        if known is None:
            for name in quantities:
                names.check_resource(name)
            known = self._amounts[key] = FrozenMap({name: amount(text, name) for name, text in quantities.items()})
        return known

    def once(self, what: str, decoded: W, make: Callable[[W], T]) -> T:
        """``make(decoded)``, made once for equal content; `what` keeps readers of different records apart."""
        key = (what, wire.encode(decoded))
        known: T | None = self._parts.get(key)
        if known is None:
            known = self._parts[key] = make(decoded)
        return known

    def pair(self, one: V, other: W, make: Callable[[V, W], T]) -> T:
        """``make(one, other)``, made once for the same two, which `once` gave."""
        known = self._pairs.get((id(one), id(other)))
        if known is None:
            known = self._pairs[id(one), id(other)] = (
                make(one, other),
                one,
                other,
            )  # kept, so that their ids are theirs
        made: T = known[0]
        return made


def read_owner(shared: Shared, metadata: wire.Metadata) -> model.Owner | None:
    """The owner that controls the object, None when there is none."""
    for reference in metadata.owner_references or ():
        if reference.controller:
            return shared.once("owner", reference, lambda r: model.Owner(kind=r.kind, name=r.name, uid=r.uid))
    return None


def metadata_of(decoded: wire.Object) -> wire.Metadata:
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
    names.check_object(metadata.name or "", metadata.namespace or "", is_prefix=is_prefix)
    return metadata


def annotations_of(metadata: wire.Metadata) -> Labels:
    """The annotations of the short list that is kept; without any, `metadata` loses its empty map as well."""
    if metadata.annotations is None:
        return EMPTY
    kept = {}
    for attribute, key in wire.ANNOTATION_FIELDS.items():
        if (value := getattr(metadata.annotations, attribute)) is not None:
            kept[key] = value
    if not kept:
        metadata.annotations = None
        return EMPTY
    return FrozenMap(kept)


def seconds_of(moment: datetime) -> float:
    """Seconds since the epoch; a time without a zone is UTC, as everywhere in the API."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def given(value: int | None, default: int) -> int:
    """`value`, or `default` for None."""
    return default if value is None else value


def amount(text: str | int | float, resource: str) -> int:
    """A quantity as an integer; the error names the resource."""
    try:
        return quantity.parse(text, resource)
    except QuantityError as error:
        raise QuantityError(f"{resource}: {error.what}", mend=error.mend) from None
