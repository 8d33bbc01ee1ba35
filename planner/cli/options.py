"""Options of a command, made from a question's record of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import Record
from planner.ground.settings import Setting, made, settings_of

Settings = TypeVar("Settings")
Options = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Adds options to a command."""


def together(*more: Options) -> Options:
    """Several, in the order of the help."""

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(more):
            command = one(command)
        return command

    return with_options


class _Read(Record, kw_only=False):
    """A value that was read, so that one that stands for "none" differs from nothing given."""

    value: Any


class _Text(click.ParamType[Any]):
    """What a setting's own parser makes of a text; it refuses with an error of ours."""

    name = "text"

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return _Read(self.setting.read(value))
        except HeadroomError as error:
            error.where = error.where or self.setting.flag
            raise


def asked(*records: Any) -> Options:
    """An option for each setting of `records`; of two with one name the first counts."""
    settings = {one.name: one for record in reversed(records) for one in settings_of(record) if one.on_command}
    return together(*map(_option, settings.values()))


def need(partner: str, flags: Iterable[str]) -> None:
    """Refuse `flags` that were given to the command that runs, where they mean nothing without `partner`, which wasn't.

    Raises
    ------
    InputError
        For the first of them.
    """
    context = click.get_current_context()
    named = {flag: param.name for param in context.command.params for flag in (*param.opts, *param.secondary_opts)}
    for flag in flags:
        if context.get_parameter_source(named[flag] or "") is ParameterSource.COMMANDLINE:
            raise alone(flag, partner)


def is_given(name: str) -> bool:
    """Whether the command that runs was called with the option of that name."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def alone(flag: str, partner: str) -> InputError:
    """The error of an option without its partner."""
    return InputError(f"means nothing without {partner}", where=flag, mend=f"Give {partner} too, or leave it out")


def flags_of(*records: Any) -> Iterable[str]:
    """The options that `asked` makes of `records`."""
    return (one.flag for record in records for one in settings_of(record) if one.on_command)


def read(record: type[Settings], values: Mapping[str, Any], **more: Any) -> Settings:
    """The record as it was asked for: `values` are what the command was called with, `more` what it found out itself.

    Raises
    ------
    InputError
        For values that are impossible.
    """
    return made(record, {name: _value(one) for name, one in {**values, **more}.items() if one not in (None, ())})


def _value(given: Any) -> Any:
    if isinstance(given, _Read):
        return given.value
    if not isinstance(given, tuple):
        return given
    parts: list[Any] = []
    for one in given:
        parts += one.value if isinstance(one, _Read) and isinstance(one.value, Iterable) else [_value(one)]
    return tuple(parts)


def _option(one: Setting) -> Options:
    names = [*filter(None, [one.short]), one.flag]
    if one.kind is bool and one.default:
        names[-1] += f"/--no-{one.flag.removeprefix('--')}"
    kind: Any = _Text(one)
    if one.kind is bool:
        kind = click.BOOL
    elif one.parse is None and one.choices:
        kind = _Choice(one)
    elif one.parse is None and one.kind is str:
        kind = click.STRING
    elif one.parse is None and one.kind in (int, float):
        kind = _Number(one)
    more: dict[str, Any] = {"is_flag": True} if one.kind is bool else {"type": kind, "multiple": one.is_many}
    more["hidden"] = one.is_hidden
    return click.option(*names, one.name, default=None, metavar=one.form or None, help=_help(one), **more)


class _Choice(click.Choice[str]):
    """The values of an enum; gives the member."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting.choices, case_sensitive=False)
        self.setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, self.setting.kind) else self.setting.read(super().convert(value, param, ctx))


class _Number(click.ParamType[Any]):
    """A number within the setting's bounds."""

    def __init__(self, setting: Setting) -> None:
        self.name = "whole number" if setting.whole else "number"
        self.setting = setting

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = self.setting.read(value) if isinstance(value, str) else value
        self.setting.check(number)
        return number


def _help(one: Setting) -> str:
    """``Nodes in all (nodes). Else from the cluster.``; for one without a source its help and default."""
    unit = f" ({one.unit})" if one.unit else ""
    if one.source:
        source = f"from {one.source}" if one.source.startswith(("the ", "how ", "what ")) else one.source
        known = f"Else {source}." if one.assumed is None else f"Default {one.assumed:g}: {one.source}."
        said = f"{one.label}{unit}. {known}"
    else:
        said = one.help + (" Repeatable." if one.is_many else "")
    default = [f"default: {one.default_text}"] if one.default_text else []
    notes = "; ".join(default + ([one.bounds] if one.bounds else []))
    return f"{said}  [{notes}]" if notes else said
