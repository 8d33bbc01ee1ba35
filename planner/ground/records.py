"""Dataclasses as the standard library has them; those that are frozen and have slots are made by msgspec: the same to
whoever reads, compares, replaces or asks `dataclasses.fields`, but a class and an instance cost a tenth.

A start of ``headroom`` makes some 400 classes and reading a cluster a million instances. The standard library compiles six
functions for each class, and a frozen instance sets each field by a call. What msgspec has no word for (a class that may
change, a field that isn't given, compared or shown, a class that others inherit from) is the standard library's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import new_class
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

__all__ = ["dataclass", "replace"]

T = TypeVar("T")
Told = dict[str, tuple[Any, Any]]

_OPTIONS: Final = {"eq": "eq", "frozen": "frozen", "kw_only": "kw_only", "order": "order", "weakref_slot": "weakref"}
"""Word of the standard library → word of msgspec, which always has ``slots``."""


class _Fields:
    """``__dataclass_fields__`` of a class that msgspec made, worked out when somebody asks."""

    def __get__(self, instance: object, owner: type[Any]) -> dict[str, dataclasses.Field[Any]]:
        told: Told = owner.__told__
        values = {name: value for name, (_, value) in told.items() if value is not dataclasses.MISSING}
        hints = {name: hint for name, (hint, _) in told.items()}
        like: Any = type(owner.__name__, (), {**values, "__annotations__": hints, "__doc__": ""})
        known: dict[str, dataclasses.Field[Any]] = dataclasses.dataclass(repr=False, eq=False, kw_only=True)(
            like
        ).__dataclass_fields__
        owner.__dataclass_fields__ = known
        return known


def _is_plain(field: object) -> bool:
    """Whether msgspec has a word for the field."""
    return not isinstance(field, dataclasses.Field) or (
        field.init and field.repr and field.compare and field.hash is None
    )


def _made(cls: type[Any], options: dict[str, bool]) -> type[Any]:
    """`cls` by msgspec where that can be, by the standard library else."""
    names = dict(vars(cls))
    hints = names.get("__annotations__", {})
    if any(issubclass(base, msgspec.Struct) for base in cls.__bases__):
        raise TypeError(f"{cls.__name__}: a class to inherit from has no slots, and is the standard library's then")
    if not (options.get("frozen") and options.get("slots") and all(_is_plain(names.get(name)) for name in hints)):
        return dataclasses.dataclass(**options)(cls)
    told = {name: (hint, names.pop(name, dataclasses.MISSING)) for name, hint in hints.items()}
    names |= {name: _value(value) for name, (_, value) in told.items() if value is not dataclasses.MISSING}
    names |= {"__told__": told, "__dataclass_fields__": _Fields()}
    names["__doc__"] = names["__doc__"] or f"{cls.__name__}({', '.join(hints)})"
    for own in ("__dict__", "__weakref__"):  # of this class; the one that is made has none
        names.pop(own, None)
    bases = tuple(base for base in names.pop("__orig_bases__", cls.__bases__) if base is not object)
    words = {_OPTIONS[option]: value for option, value in options.items() if option != "slots"}
    return new_class(cls.__name__, (msgspec.Struct, *bases), words, lambda namespace: namespace.update(names))


def _value(value: Any) -> Any:
    """A field's default as msgspec is told it."""
    if not isinstance(value, dataclasses.Field):
        return value
    if value.default_factory is not dataclasses.MISSING:
        return msgspec.field(default_factory=value.default_factory)
    return msgspec.field() if value.default is dataclasses.MISSING else msgspec.field(default=value.default)


if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(**options: bool) -> Callable[[type[T]], type[T]]:
        """As `dataclasses.dataclass`."""
        return lambda cls: _made(cls, options)

    def replace(record: T, /, **changes: object) -> T:
        """As `dataclasses.replace`."""
        make = msgspec.structs.replace if isinstance(record, msgspec.Struct) else dataclasses.replace
        return make(record, **changes)
