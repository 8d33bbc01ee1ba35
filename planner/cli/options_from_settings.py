"""Makes a command's options from a question's settings record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from planner.cli import usage_errors
from planner.ground.errors import HeadroomError, InputError
from planner.ground.records import Record
from planner.ground.setting_declarations import Setting, made, settings_of

Settings = TypeVar("Settings")
Options = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Adds options to a command."""


_MOST_SHOWN: Final = 15
"""Options of a command's short help, ``--help`` and ``--help-all`` among them: a screen."""
_LONG: Final = 240  # letters: some four lines of a screen
_ALL: Final = "planner.cli.options_from_settings.all"
_WORDS: Final = "planner.cli.options_from_settings.words"
OLD_FLAGS: Final = {"--extra-gpus": "--weigh-extra-gpus"}
"""Options by the names they had, which go on working in scripts."""


class HeadedOption(click.Option):
    """An option that knows its heading in the long help, whether the short one names it, and which names of the cluster it takes."""

    def __init__(
        self, *names: Any, heading: str = "", is_everyday: bool = False, takes: str = "", **attributes: Any
    ) -> None:
        super().__init__(*names, **attributes)
        self.heading = heading
        self.is_everyday = is_everyday
        self.takes = takes

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Of what names workloads, namespaces or pools those of the cluster that stands before it."""
        if not self.takes:
            return super().shell_complete(ctx, incomplete)
        from planner.cli import completion_candidates

        every = [completion_candidates.names_in(word) for word in ctx.meta.get(_WORDS, ()) if not word.startswith("-")]
        names = next(filter(None, every), {}).get(self.takes, [])
        if self.takes == completion_candidates.WORKLOADS:
            return [CompletionItem(form) for form in completion_candidates.written_forms(names, incomplete)]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def option(heading: str, *names: str, is_everyday: bool = False, **attributes: Any) -> Options:
    """`click.option` of that heading."""
    return click.option(*names, cls=HeadedOption, heading=heading, is_everyday=is_everyday, **attributes)


class ShortHelp(click.Command):
    """A command with one screen of help: of many options it names those that people type, and ``--help-all`` names every one."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """With ``--help-all`` beside ``--help``, where the short help leaves options out."""
        params = super().get_params(ctx)
        if len(_shown(params)) <= _MOST_SHOWN:
            return params
        help_text = f"All {len(_shown(params)) + 1} options, under headings."
        every = click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_long_help, help=help_text
        )
        return [*params[:-1], every, params[-1]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Old names of options are read as those of today."""
        words = [word.partition("=") for word in args]
        ctx.meta[_WORDS] = tuple(args)  # completing an option's value ends the parsing before CLUSTER is known
        twice = usage_errors.namespace_twice(ctx, [name for name, *_ in words])
        if twice is not None and not ctx.resilient_parsing:  # a shell that completes would print it into the prompt
            raise twice
        ctx.allow_extra_args = True
        extra = super().parse_args(ctx, ["".join((OLD_FLAGS.get(name, name), *more)) for name, *more in words])
        if extra and not ctx.resilient_parsing:
            raise usage_errors.extra_arguments(ctx, extra)
        return extra

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The everyday options, all of few, or all under their headings."""
        params = _shown(self.get_params(ctx))
        if len(params) <= _MOST_SHOWN:
            super().format_options(ctx, formatter)
            return
        is_long = bool(ctx.meta.get(_ALL))
        params = [param for param in params if is_long or is_everyday(param)]
        for heading in dict.fromkeys(_heading(param) if is_long else "" for param in params):
            rows = [param.get_help_record(ctx) for param in params if not is_long or _heading(param) == heading]
            with formatter.section(heading or "Options"):
                formatter.write_dl(
                    [
                        (names, description if is_long else _brief(description))
                        for names, description in filter(None, rows)
                    ]
                )


def _shown(params: Iterable[click.Parameter]) -> list[click.Option]:
    return [param for param in params if isinstance(param, click.Option) and not param.hidden]


def is_everyday(param: click.Option) -> bool:
    """Whether the short help of a command with many options names it."""
    return getattr(param, "is_everyday", False) or bool({"--help", "--help-all"} & set(param.opts))


def _brief(help_text: str) -> str:
    """Of a help that is long its first sentence: that of ``--then`` lists all events."""
    return help_text if len(help_text) <= _LONG else f"{help_text.partition('. ')[0]}."


def _heading(param: click.Option) -> str:
    return str(getattr(param, "heading", ""))


def _long_help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def together(*more: Options) -> Options:
    """Several, in the order of the help."""

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(more):
            command = decorator(command)
        return command

    return with_options


class _ReadValue(Record, kw_only=False):
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
            return _ReadValue(self.setting.read(value))
        except HeadroomError as error:
            error.where = error.where or self.setting.flag
            raise


def asked(*records: Any) -> Options:
    """An option for each setting of `records`; of two with one name the first counts."""
    settings = {field.name: field for record in reversed(records) for field in settings_of(record) if field.on_command}
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
    return InputError(f"means nothing without {partner}", where=flag, fix=f"Give {partner} too, or leave it out")


def flags_of(*records: Any) -> Iterable[str]:
    """The options that `asked` makes of `records`."""
    return (setting.flag for record in records for setting in settings_of(record) if setting.on_command)


def read(record: type[Settings], values: Mapping[str, Any], **more: Any) -> Settings:
    """The record as it was asked for: `values` are what the command was called with, `more` what it found out itself.

    Raises
    ------
    InputError
        For values that are impossible.
    """
    return made(record, {name: _value(raw) for name, raw in {**values, **more}.items() if raw not in (None, ())})


def _value(parameter: Any) -> Any:
    if isinstance(parameter, _ReadValue):
        return parameter.value
    if not isinstance(parameter, tuple):
        return parameter
    parts: list[Any] = []
    for part in parameter:
        parts += part.value if isinstance(part, _ReadValue) and isinstance(part.value, Iterable) else [_value(part)]
    return tuple(parts)


def many(parameter: Any) -> tuple[Any, ...]:
    """What an option was given as values, whether it is repeatable or not."""
    value = _value(parameter)
    return value if isinstance(value, tuple) else (value,)


_TAKES: Final = {"--namespace": "namespaces", "--pool": "pools"}
"""Options → which names of the cluster they take, for completion."""


def _option(setting: Setting) -> Options:
    names = [*filter(None, [setting.short]), setting.flag]
    if setting.kind is bool and setting.default:
        names[-1] += f"/--no-{setting.flag.removeprefix('--')}"
    kind: Any = _Text(setting)
    if setting.kind is bool:
        kind = click.BOOL
    elif setting.parse is None and setting.choices:
        kind = _Choice(setting)
    elif setting.parse is None and setting.kind is str:
        kind = click.STRING
    elif setting.parse is None and setting.kind in (int, float):
        kind = _Number(setting)
    more: dict[str, Any] = {"is_flag": True} if setting.kind is bool else {"type": kind, "multiple": setting.is_many}
    takes = "workloads" if setting.is_workload else _TAKES.get(setting.flag, "")
    more |= {
        "hidden": setting.is_hidden,
        "cls": HeadedOption,
        "is_everyday": setting.is_everyday,
        "heading": setting.heading,
        "takes": takes,
    }
    return click.option(*names, setting.name, default=None, metavar=setting.form or None, help=_help(setting), **more)


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


_NO_SOURCE: Final = frozenset({"the default", "assumed: not given"})


def _help(setting: Setting) -> str:
    """``Nodes in all (nodes). Else from the cluster.``; for one without a source its help and default."""
    unit = f" ({setting.unit})" if setting.unit else ""
    if setting.source:
        source = f"from {setting.source}" if setting.source.startswith(("the ", "how ", "what ")) else setting.source
        if setting.source in _NO_SOURCE:  # "Default 60: assumed: not given" would say no more than "Default 60"
            default_text = "" if setting.assumed is None else f"Default {setting.assumed:g}."
        elif setting.assumed is None:
            default_text = f"Else {source}."
        else:
            default_text = f"Default {setting.assumed:g}: {setting.source}."
        help_text = f"{setting.label}{unit}. {default_text}".rstrip()
    else:
        help_text = setting.help + (" Repeatable." if setting.is_many else "")
    default = [f"default: {setting.default_text}"] if setting.default_text else []
    notes = "; ".join(default + ([setting.bounds] if setting.bounds else []))
    return f"{help_text}  [{notes}]" if notes else help_text
