"""Records that msgspec makes are, to whoever uses them, the standard library's."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import field
from typing import Any, Generic, TypeVar

import msgspec
import pytest

from planner.ground.records import dataclass, replace

T = TypeVar("T")


class _Written(Generic[T]):
    """Some record."""

    name: str
    of: T
    many: list[int] = field(default_factory=list)
    words: str = field(default="none", metadata={"unit": "bytes"})
    number: int = 3

    @property
    def twice(self) -> int:
        return 2 * self.number


def both(**options: Any) -> tuple[Any, Any]:
    """The class by msgspec and by the standard library."""

    def copy() -> Any:
        names = {name: value for name, value in vars(_Written).items() if name not in ("__dict__", "__weakref__")}
        return type("Written", (), names | {"__module__": __name__})

    return dataclass(frozen=True, slots=True, **options)(copy()), dataclasses.dataclass(
        frozen=True, slots=True, **options
    )(copy())


def test_they_are_the_same_to_who_uses_them() -> None:
    ours, theirs = both(kw_only=True)
    assert issubclass(ours, msgspec.Struct)
    assert not issubclass(theirs, msgspec.Struct)
    made, like = ours(name="a", of=1), theirs(name="a", of=1)
    assert repr(made) == repr(like)
    assert (made.twice, made.many, made.words) == (6, [], "none")
    assert made == ours(name="a", of=1)
    assert made != ours(name="b", of=1)
    assert dataclasses.asdict(made) == dataclasses.asdict(like)
    described = [
        [(one.name, one.type, one.default, dict(one.metadata)) for one in dataclasses.fields(cls)]
        for cls in (ours, theirs)
    ]
    assert described[0] == described[1]
    assert all(map(dataclasses.is_dataclass, (made, ours)))
    for changed in (replace(made, number=9), dataclasses.replace(made, number=9)):
        assert (changed.name, changed.twice, made.twice) == ("a", 18, 6)
    for wrong in ({"name": "a"}, {"name": "a", "of": 1, "colour": 2}):
        with pytest.raises(TypeError):
            ours(**wrong)
    with pytest.raises(TypeError):
        ours("a", 1)
    with pytest.raises(TypeError):
        replace(made, colour=2)
    with pytest.raises(AttributeError):
        made.name = "b"
    assert hash(ours(name="a", of=1, many=())) == hash(ours(name="a", of=1, many=()))
    assert made.many is not ours(name="a", of=1).many


def test_without_eq_each_is_itself() -> None:
    ours, _ = both(eq=False)
    assert ours("a", 1) != ours("a", 1)
    assert len({ours("a", 1), ours("a", 1)}) == 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Generic[T]):
    of: T
    number: int = 3


def test_a_record_of_a_module_is_pickled() -> None:
    kept = Kept[str](of="a", number=4)
    assert pickle.loads(pickle.dumps(kept)) == kept


@pytest.mark.parametrize("word", ["init", "repr", "compare"])
def test_what_msgspec_has_no_word_for_is_the_standard_librarys(word: str) -> None:
    options: dict[str, Any] = {word: False}
    made: Any = dataclass(frozen=True, slots=True, kw_only=True)(
        type("Odd", (), {"__annotations__": {"number": "int"}, "number": field(default=3, **options)})
    )
    assert not issubclass(made, msgspec.Struct)
    assert made().number == 3
    assert not issubclass(
        dataclass(slots=True)(type("Changing", (), {"__annotations__": {"a": "int"}})), msgspec.Struct
    )


def test_a_record_with_slots_has_no_subclass() -> None:
    with pytest.raises(TypeError, match="a class to inherit from has no slots"):

        @dataclass(frozen=True, slots=True, kw_only=True)
        class _Below(Kept[int]):
            more: int
