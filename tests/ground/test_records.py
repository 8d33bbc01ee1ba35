"""Records are, to whoever uses them, dataclasses of the standard library."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import field
from typing import Any, Generic, TypeVar

import msgspec
import pytest

from planner.ground.records import WRITTEN_NAME, Record, replace

T = TypeVar("T")


class Kept(Record, Generic[T]):
    """Some record."""

    name: str
    of: T
    many: tuple[int, ...] = ()
    words: str = field(default="none", metadata={"unit": "bytes"})
    number: int = 3

    @property
    def twice(self) -> int:
        return 2 * self.number


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Like(Generic[T]):
    """As `Kept`, of the standard library."""

    name: str
    of: T
    many: tuple[int, ...] = ()
    words: str = field(default="none", metadata={"unit": "bytes"})
    number: int = 3


class Below(Kept[int]):
    more: int


class Plain(Record, eq=False, kw_only=False):
    name: str
    made: list[int] = field(default_factory=list)


def test_they_are_the_same_to_who_uses_them() -> None:
    made, like = Kept(name="a", of=1), Like(name="a", of=1)
    assert repr(made).removeprefix("Kept") == repr(like).removeprefix("Like")
    assert (made.twice, made.many, made.words) == (6, (), "none")
    assert made == Kept(name="a", of=1)
    assert made != Kept(name="b", of=1)
    assert dataclasses.asdict(made) == dataclasses.asdict(like)
    described = [
        [(one.name, one.type, one.default, dict(one.metadata)) for one in dataclasses.fields(cls)]
        for cls in (Kept, Like)
    ]
    assert described[0] == described[1]
    assert all(map(dataclasses.is_dataclass, (made, Kept)))
    for changed in (replace(made, number=9), dataclasses.replace(made, number=9)):
        assert (changed.name, changed.twice, made.twice) == ("a", 18, 6)
    assert hash(made) == hash(Kept(name="a", of=1))


class Advice(Record):
    what: str
    fix: str = field(default="", metadata={WRITTEN_NAME: "mend"})
    more: list[str] = field(default_factory=list, metadata={WRITTEN_NAME: "also"})


def test_a_field_is_written_and_read_by_its_stable_name() -> None:
    advice = Advice(what="a", fix="b")
    assert msgspec.json.encode(advice) == b'{"what":"a","mend":"b","also":[]}'
    assert msgspec.json.decode(msgspec.json.encode(advice), type=Advice) == advice
    assert [one.name for one in dataclasses.fields(Advice)] == ["what", "fix", "more"]
    assert replace(advice, fix="c").fix == "c"
    assert pickle.loads(pickle.dumps(advice)) == advice
    assert msgspec.json.encode(Kept(name="a", of=1)).startswith(b'{"name":"a","of":1'), "others as they are called"


def test_what_a_dataclass_refuses_is_refused() -> None:
    ours: Any = Kept
    for wrong in ({"name": "a"}, {"name": "a", "of": 1, "colour": 2}):
        with pytest.raises(TypeError):
            ours(**wrong)
    with pytest.raises(TypeError):
        ours("a", 1)
    made = ours(name="a", of=1)
    with pytest.raises(TypeError):
        replace(made, colour=2)
    with pytest.raises(AttributeError):
        made.name = "b"


def test_without_eq_each_is_itself() -> None:
    assert Plain("a") != Plain("a")
    assert len({Plain("a"), Plain("a")}) == 2
    assert Plain("a").made is not Plain("a").made


def test_a_record_below_another_has_the_fields_of_both() -> None:
    below = Below(name="a", of=1, more=2)
    assert (below.name, below.more, below.twice) == ("a", 2, 6)
    assert [one.name for one in dataclasses.fields(Below)] == ["name", "of", "many", "words", "number", "more"]


def test_a_record_of_a_module_is_pickled() -> None:
    kept = Kept[str](name="a", of="a", number=4)
    assert pickle.loads(pickle.dumps(kept)) == kept


@pytest.mark.parametrize("word", ["init", "repr", "compare"])
def test_what_msgspec_has_no_word_for_is_refused(word: str) -> None:
    options: dict[str, Any] = {word: False}
    made: Any = type(Record)
    with pytest.raises(TypeError, match=r"Odd\.number: msgspec has no word"):
        made("Odd", (Record,), {"__annotations__": {"number": "int"}, "number": field(default=3, **options)})
