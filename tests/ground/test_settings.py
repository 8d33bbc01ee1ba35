from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

from planner.ground.errors import InputError
from planner.ground.setting_declarations import (
    digest_of,
    is_digest,
    made,
    setting,
    setting_of,
    settings_of,
    settings_within,
    written,
)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def halves(text: str) -> tuple[int, ...]:
    return tuple(int(part) // 2 for part in text.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    depth: float | None = setting(None, help="How deep.", unit="m", least=0, most=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    names: tuple[str, ...] = setting((), name="name", help="Names.")
    count: int = setting(3, help="How many.", least=1, most=9)
    colour: Colour | None = setting(None, help="Which.")
    is_on: bool = setting(True, name="on", help="Whether.")
    numbers: tuple[int, ...] = setting((), help="Numbers.", parse=halves)
    limit: int | None = setting(7, help="At most.", least=0)
    inner: Inner = settings_within(Inner)


def test_kinds_come_from_the_types() -> None:
    kinds = {one.name: (one.kind, one.is_many) for one in settings_of(Outer)}
    assert kinds == {
        "name": (str, True),
        "count": (int, False),
        "colour": (Colour, False),
        "on": (bool, False),
        "numbers": (int, True),
        "limit": (int, False),
        "depth": (float, False),
    }
    assert setting_of(Outer, "depth").path == ("inner", "depth")
    assert setting_of(Outer, "colour").choices == ("red", "blue")


def test_a_record_is_made_of_values_by_name() -> None:
    assert made(Outer, {}) == Outer()
    found = made(Outer, {"name": ("a",), "depth": 2.5, "on": False})
    assert found == Outer(names=("a",), is_on=False, inner=Inner(depth=2.5))
    assert made(Outer, {"limit": None}).limit is None, "None is a value where it is given"


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        ({"count": 0}, "Give 1 to 9"),
        ({"depth": 11}, "Give 0 to 10 m"),
        ({"depth": float("nan")}, "Give 0 to 10 m"),
        ({"limit": -1}, "Give 0 or more"),
    ],
)
def test_bounds_hold_whoever_asks(values: dict[str, float], fix: str) -> None:
    with pytest.raises(InputError) as refused:
        made(Outer, values)
    assert refused.value.fix == fix


def test_texts_are_read_by_kind() -> None:
    assert setting_of(Outer, "count").read("4") == 4
    assert setting_of(Outer, "colour").read("blue") is Colour.BLUE
    assert setting_of(Outer, "numbers").read("2,8") == (1, 4)
    with pytest.raises(InputError, match="Give a number"):
        setting_of(Outer, "count").read("²")
    with pytest.raises(InputError, match="red, blue"):
        setting_of(Outer, "colour").read("green")


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    text: str = setting("", help="Anything.", is_private=True)
    name: str = setting("", help="A name.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    typed: Typed = settings_within(Typed)


def test_a_private_text_is_written_as_its_digest_wherever_it_stands() -> None:
    asked = Holding(typed=Typed(text="password: hunter2", name="a"))
    shown = written(asked)
    assert shown.typed.text == digest_of("password: hunter2")
    assert is_digest(shown.typed.text)
    assert (shown.typed.name, asked.typed.text) == ("a", "password: hunter2")
    assert written(Holding()) == Holding()
    assert "hunter2" not in repr(asked)
