"""Widgets of a question's settings, made from its record's declarations, each a parameter of the link."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from planner.ground.errors import HeadroomError
from planner.ground.setting_declarations import Setting, made, setting_of, settings_of
from planner.ui import link

Settings = TypeVar("Settings")

_FEW = 4  # choices that fit beside each other, on a phone below


class SettingsForm(Generic[Settings]):
    """What the widgets of a page say of one record of settings.

    A text that can't be read is told only when the record is made: widgets that follow it must not vanish.
    """

    def __init__(self, record: type[Settings]) -> None:
        self.record = record
        self.values: dict[str, Any] = {}
        self._names: set[str] = set()  # of those that were shown
        self._refused: list[HeadroomError] = []

    def show(self, name: str, *, label: str = "", help: str = "", **more: Any) -> Any:  # noqa: A002 - Streamlit's word
        """The widget of the setting `name`; its value, or None while nothing is given. `more` goes to the widget."""
        self._names.add(name)
        setting = setting_of(self.record, name)
        value = self._shown(
            setting,
            label or (f"{setting.label}, {setting.unit}" if setting.unit else setting.label),
            {"help": help or setting.help, **more},
        )
        if value is not None:
            self.values[name] = value[0]
        return None if value is None else value[0]

    @contextmanager
    def more(self, label: str, *, is_open: bool = False, but: Collection[str] = (), seen: Collection[str] = ()) -> Iterator[bool]:  # fmt: skip
        """A part for the settings that weren't shown so far, without those in `but`: drawn once it is opened, and while one of
        them is given; gives whether it is. It begins open where the link says one, so that nothing given is hidden; whether it is
        open is each page's own. A field costs the browser of the visitor and the server, closed or not."""
        record: Any = self.record
        holds = {setting.name for setting in settings_of(record)}.difference(self._names, but, link.EVERYWHERE)
        key, is_given = f"more_{record.__name__.removesuffix('Settings').lower()}", link.gives(holds)
        with link.expander(
            label, key=key, icon=":material/tune:", is_open=is_open or link.says(holds.difference(seen))
        ) as is_drawn:
            yield is_drawn or is_given

    def forget(self, *names: str) -> None:
        """Take back what widgets say that don't count now."""
        for name in names:
            self.values.pop(name, None)

    def check(self) -> None:
        """Tell what can't be read.

        Raises
        ------
        HeadroomError
            The first refusal of a widget.
        """
        if self._refused:
            raise self._refused[0]

    def settings(self, **more: Any) -> Settings:
        """The record; `more` are settings that a page asks for otherwise.

        Raises
        ------
        HeadroomError
            The first refusal of a widget, else one of the record's own.
        """
        self.check()
        return made(self.record, {**self.values, **more})

    def _shown(self, setting: Setting, label: str, more: dict[str, Any]) -> tuple[Any] | None:
        """The widget's value in a tuple, so that a value that stands for "none" differs from nothing given."""
        if setting.kind is bool:
            default = bool(more.pop("default", setting.default))
            return (link.toggle(label, key=setting.name, default=default, **more),)
        if setting.choices and setting.parse is None:
            return _choice(setting, label, **more)
        if setting.kind in (int, float) and setting.parse is None:
            value = link.number(
                label, key=setting.name, least=setting.least or 0, most=setting.most or 2**31 - 1, whole=setting.whole,
                default=setting.default, **more,
            )  # fmt: skip
            return None if value is None else (setting.kind(value),)
        widget = link.private_text if setting.is_private else link.text
        try:
            return widget(label, lambda text: (setting.read(text),), key=setting.name, **more)
        except HeadroomError as error:
            self._refused.append(error)
            return None


def _choice(
    setting: Setting, label: str, options: Sequence[str] = (), words: Mapping[str, str] | None = None, **more: Any
) -> tuple[Any]:
    """A few choices as segments, more in a list: those in `options`, as `words` call them."""
    called = {(words or {}).get(choice, choice): choice for choice in options or setting.choices}
    default = more.pop("default", setting.default)
    shown = next((word for word, choice in called.items() if choice == default), None)
    widget = link.segments if len(called) <= _FEW else link.select
    return (setting.read(called[widget(label, list(called), key=setting.name, default=shown, **more)]),)
