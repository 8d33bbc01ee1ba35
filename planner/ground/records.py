"""The base of all records: frozen values, equal if their fields are equal, with keyword fields.

A `Record` is made by msgspec and is a dataclass to readers, compares, replaces or asks `dataclasses.fields`, and to
mypy; a class and an instance cost a tenth of the standard library's. A start of ``headroom`` makes some 600 classes and reading
a cluster a million instances. What msgspec has no word for (a class that may change, a field that isn't given, compared or
shown) is a `dataclass` of the standard library.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, dataclass_transform

import msgspec

__all__ = ["WRITTEN_NAME", "Record", "dataclass", "replace"]

WRITTEN_NAME: Final = "written_name"
"""In a field's metadata: its name in documents and stored snapshots, where that is stable and the field's own isn't the same."""

T = TypeVar("T")


class _Fields:
    """``__dataclass_fields__`` of a class that msgspec made, worked out when it is asked for."""

    def __get__(self, instance: object, owner: type[Any]) -> dict[str, dataclasses.Field[Any]]:
        field_hints: dict[str, tuple[Any, Any]] = owner.__told__
        values = {name: value for name, (_, value) in field_hints.items() if value is not dataclasses.MISSING}
        hints = {name: field_hints[name][0] for name in owner.__struct_fields__}  # in the order that documents have
        # with a docstring, since without one it would work out a signature
        like: Any = type(owner.__name__, (), {**values, "__annotations__": hints, "__doc__": owner.__name__})
        field_class = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(like)
        dataclass_fields: dict[str, dataclasses.Field[Any]] = field_class.__dataclass_fields__
        owner.__dataclass_fields__ = dataclass_fields
        return dataclass_fields


def _value(name: str, value: Any) -> Any:
    """A field's default as msgspec is told it."""
    if not isinstance(value, dataclasses.Field):
        return value
    if not (value.init and value.repr and value.compare and value.hash is None):
        raise TypeError(f"{name}: msgspec has no word for this field; make the class a dataclass")
    written = value.metadata.get(WRITTEN_NAME)  # None: as the field is called
    if value.default_factory is not dataclasses.MISSING:
        return msgspec.field(default_factory=value.default_factory, name=written)
    if value.default is dataclasses.MISSING:
        return msgspec.field(name=written)
    return msgspec.field(default=value.default, name=written)


if TYPE_CHECKING:
    from dataclasses import replace

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
    class Record:
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

        def __init_subclass__(
            cls,
            *,
            kw_only: bool = True,
            eq: bool = True,
            order: bool = False,
            weakref: bool = False,
            forbid_unknown_fields: bool = False,
            dict: bool = False,  # noqa: A002 - msgspec's word
        ) -> None: ...
else:

    class _Made(type(msgspec.Struct)):
        def __new__(cls, name, bases, names, *, kw_only=True, **words):
            hints = names.get("__annotations__", {})
            field_hints = {field: (hint, names.get(field, dataclasses.MISSING)) for field, hint in hints.items()}
            values = {f: _value(f"{name}.{f}", v) for f, (_, v) in field_hints.items() if v is not dataclasses.MISSING}
            of_bases = {f: v for base in reversed(bases) for f, v in getattr(base, "__told__", {}).items()}
            bookkeeping = {"__told__": of_bases | field_hints, "__dataclass_fields__": _Fields()}
            return super().__new__(
                cls, name, bases, names | values | bookkeeping, frozen=True, kw_only=kw_only, **words
            )

    class Record(msgspec.Struct, metaclass=_Made):
        """See the module."""

    def replace(record: T, /, **changes: object) -> T:
        """As `dataclasses.replace`."""
        make = msgspec.structs.replace if isinstance(record, msgspec.Struct) else dataclasses.replace
        return make(record, **changes)
