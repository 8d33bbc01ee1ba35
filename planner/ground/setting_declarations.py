"""How a question declares a setting: a record's field with label, unit, bounds, default and help.

The command's option, the page's widget, the link's parameter and the `settings` of the JSON document are made from it::

    class CapacitySettings(Record):
        shapes: tuple[str, ...] = setting((), name="shape", form="TEXT", help="gpu=2,cpu=8,memory=64Gi; repeatable.")

What kind of setting it is, the field's type says: bool, int, float, an enum (a choice), else text, which `parse` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from planner.ground.errors import InputError
from planner.ground.records import Record, replace

Settings = TypeVar("Settings")

_DECLARED: Final = "setting"
_WITHIN: Final = "settings"
DIGEST: Final = "sha256:"
_DIGEST: Final = re.compile(rf"{DIGEST}[0-9a-f]{{64}}")


class Setting(Record):
    """One setting, as declared.

    Attributes
    ----------
    name : the link's parameter and, with dashes, the command's option, where `option` doesn't name another
    path : attributes that lead from the record to the value; several where a record stands in another one
    kind : bool, int, float, str, an enum, or `object` for what only `parse` makes
    default : the record's value where nothing says anything
    assumed : the number an empty setting stands for, from `source`; None: it is worked out, or stays empty
    optional : may be empty even when everything is worked out
    is_private : a text of the user's that may hold anything, passwords too: it is written out nowhere, its digest stands
        for it in documents and links (`written`)
    form : how it is written, in capitals: ``FILE``, ``A=B,C=D``
    default_words : its default as people write it, where that isn't the value: ``1.36``
    is_everyday : the command's short help names it; ``--help-all`` names every one
    is_workload : it names workloads, as people type them (`planner.kubernetes.workload_names`)
    """

    name: str
    path: tuple[str, ...]
    kind: type[Any]
    default: Any
    label: str
    help: str
    unit: str = ""
    least: float | None = None
    most: float | None = None
    assumed: float | None = None
    source: str = ""
    group: str = ""
    form: str = ""
    default_words: str = ""
    option: str = ""
    short: str = ""
    optional: bool = False
    is_private: bool = False
    is_many: bool = False
    on_command: bool = True
    is_hidden: bool = False
    is_everyday: bool = False
    is_workload: bool = False
    parse: Callable[[str], Any] | None = None

    @property
    def flag(self) -> str:
        """The command's option."""
        return self.option or f"--{self.name.replace('_', '-')}"

    @property
    def heading(self) -> str:
        """What it stands under in a long list: its group, else the record within a record that holds it."""
        return self.group or (self.path[0].replace("_", " ").capitalize() if len(self.path) > 1 else "")

    @property
    def whole(self) -> bool:
        return self.kind is int

    @property
    def default_text(self) -> str:
        """The default as it would be written; "" where there is none, or nothing is off, empty or worked out."""
        if self.default_words or self.default is None or isinstance(self.default, bool):
            return self.default_words
        return ",".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)

    @property
    def bounds(self) -> str:
        """``0 to 1``, ``0 or more``; "" without any."""
        least, most = (None if bound is None else f"{bound:.10g}" for bound in (self.least, self.most))
        if least is None:
            return "" if most is None else f"at most {most}"
        return f"{least} or more" if most is None else f"{least} to {most}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of an enum; () for anything else."""
        return tuple(str(choice.value) for choice in self.kind) if issubclass(self.kind, Enum) else ()

    def read(self, text: str) -> Any:
        """The value that `text` stands for.

        Raises
        ------
        HeadroomError
            For a text it can't be.
        """
        if self.parse is not None:
            return self.parse(text)
        try:
            return self.kind(text)
        except ValueError:
            instruction = f"Choose one of {', '.join(self.choices)}" if self.choices else "Give a number"
            raise InputError(f'"{text[:60]}" is not possible', where=self.name, fix=instruction) from None

    def check(self, value: Any) -> None:
        """Refuse a number outside the bounds; NaN is outside every one.

        Raises
        ------
        InputError
            With the bounds in its cure.
        """
        if value is None or isinstance(value, bool) or not isinstance(value, int | float):
            return
        if not (self.least is None or value >= self.least) or not (self.most is None or value <= self.most):
            fix = f"Give {self.bounds} {self.unit}".rstrip()
            raise InputError(f"{value} is not possible", where=self.label, fix=fix)


def setting(
    default: Any = None,
    *,
    label: str = "",
    help: str,  # noqa: A002 - the word of the thing
    name: str = "",
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    assumed: float | None = None,
    source: str = "",
    group: str = "",
    form: str = "",
    default_words: str = "",
    option: str = "",
    short: str = "",
    optional: bool = False,
    is_private: bool = False,
    on_command: bool = True,
    is_hidden: bool = False,
    is_everyday: bool = False,
    is_workload: bool = False,
    parse: Callable[[str], Any] | None = None,
) -> Any:
    """A field that is a setting; the arguments are `Setting`'s. `on_command` False: the command takes it otherwise; `is_hidden`: it
    takes an older spelling of something else, which no help names."""
    declared = {name: value for name, value in locals().items() if name != "default"}
    return field(default=default, repr=not is_private, metadata={_DECLARED: declared})


def settings_within(record: Callable[[], Any]) -> Any:
    """A field that is a record of settings itself: they count as settings of the record it stands in."""
    return field(default_factory=record, metadata={_WITHIN: True})


@cache
def settings_of(record: Any) -> tuple[Setting, ...]:
    """Every setting of `record`, a class, in order; of two with one name (a record over another) the later."""
    hints = get_type_hints(record)
    settings: dict[str, Setting] = {}
    for attribute in fields(record):
        declared: Mapping[str, Any] | None = attribute.metadata.get(_DECLARED)
        if attribute.metadata.get(_WITHIN):
            for inner in settings_of(hints[attribute.name]):
                settings[inner.name] = replace(inner, path=(attribute.name, *inner.path))
        elif declared is not None:
            kind, is_many = _kind(hints[attribute.name])
            more = {key: value for key, value in declared.items() if key not in ("name", "label")}
            settings[declared["name"] or attribute.name] = Setting(
                name=declared["name"] or attribute.name,
                label=declared["label"] or attribute.name.replace("_", " ").capitalize(),
                path=(attribute.name,),
                kind=kind,
                default=None if attribute.default is MISSING else attribute.default,
                is_many=is_many,
                **more,
            )
    return tuple(settings.values())


def setting_of(record: Any, name: str) -> Setting:
    """The setting called `name`."""
    return next(record_setting for record_setting in settings_of(record) if record_setting.name == name)


def made(record: type[Settings], values: Mapping[str, Any]) -> Settings:
    """`record` with `values` by the settings' names; what isn't in them keeps its default.

    Raises
    ------
    InputError
        For a number outside its bounds, and whatever the record itself refuses.
    """
    values_by_path: dict[tuple[str, ...], Any] = {}
    declared: Any = record
    for declared_setting in settings_of(declared):
        if declared_setting.name in values:
            declared_setting.check(values[declared_setting.name])
            values_by_path[declared_setting.path] = values[declared_setting.name]
    return _made(record, values_by_path)


def digest_of(text: str) -> str:
    """What stands for a private text: enough to recognize it (`sha256sum FILE` prints the same of one file), not to make it
    again. "" of "". Who has all of a text but one short word can try that word: a digest isn't a place for secrets either."""
    return f"{DIGEST}{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}" if text else ""


def is_digest(text: str) -> bool:
    """Whether `text` is what `digest_of` makes."""
    return _DIGEST.fullmatch(text) is not None


def written(record: Settings) -> Settings:
    """`record` as it may be shown and kept anywhere: digests in the place of private texts."""
    if not is_dataclass(record):
        return record
    changed: dict[str, Any] = {}
    for attribute in fields(record):
        value = getattr(record, attribute.name)
        if attribute.metadata.get(_WITHIN):
            changed[attribute.name] = written(value)
        elif attribute.metadata.get(_DECLARED, {}).get("is_private"):
            changed[attribute.name] = digest_of(value)
    return replace(record, **changed) if changed else record  # type: ignore[type-var]


def _made(record: type[Settings], path_values: Mapping[tuple[str, ...], Any]) -> Settings:
    values = {path[0]: value for path, value in path_values.items() if len(path) == 1}
    hints = get_type_hints(record)
    for name in {path[0] for path in path_values if len(path) > 1}:
        values[name] = _made(hints[name], {path[1:]: value for path, value in path_values.items() if path[0] == name})
    return record(**values)


def _kind(hint: Any) -> tuple[type[Any], bool]:
    """The type a value has when it is there, and whether there may be many."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [argument for argument in get_args(hint) if argument is not type(None)]
        return _kind(kinds[0]) if len(kinds) == 1 else (object, False)
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return (_kind(inner)[0], True)
    if not isinstance(hint, type) or issubclass(hint, Record) or is_dataclass(hint):
        return object, False
    return (hint, False) if hint in (bool, int, float, str) or issubclass(hint, Enum) else (object, False)
