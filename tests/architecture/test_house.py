"""The checks of `tests.house` hold, and each sees what it is there for."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.house import documents, empty, files, limits, names, pages, rooms
from tests.house.__main__ import CHECKS
from tests.house.check import Check

HERE = Path("planner/ground/errors.py")  # what is imported is read from the file: it imports nothing that is refused


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.holds)
def test_it_holds(check: Check[object]) -> None:
    looked, found = check.run()
    assert not found, f"{check.holds} ({check.advice})"
    assert looked


def test_a_check_that_looks_at_nothing_does_not_hold() -> None:
    assert Check(holds="all is well", subjects=list[str], faults=lambda one: [one]).run() == (
        0,
        ["it looked at nothing"],
    )


def test_what_does_not_hold_is_told_of_every_subject() -> None:
    check = Check(holds="it is short", subjects=lambda: ["a", "bbb", "cccc"], faults=lambda one: [one] * (len(one) > 2))
    assert check.run() == (3, ["bbb", "cccc"])


SLASH = "/"  # so that this file holds none of them itself


@pytest.mark.parametrize(
    ("pattern", "seen", "passed"),
    [
        (files.MACHINE_PATH, (f"{SLASH}root/x", f"in {SLASH}tmp/a"), ("~/tmp/x", "$HOME/work/x", "/home/headroom/x")),
        (files.REGISTRY, ("index-url" + " = https://x", "files.pythonhosted" + ".org"), ("the package index",)),
        (files.SPACED_PERCENT, ("25 % of", "25 %."), ("25%", "7 %d")),
        (files.BARE_EXCEPTION, ("x  # " + "noqa", "x  # " + "type: ignore"), ("x  # noqa: E501", "x  # type: ignore[arg-type]")),
        (
            files.GROUP_NEVER_GONE_BACK_INTO,
            ("(?:ab?c)*+", "(a|b)++", "(a)?+", "(a){2,}+"),
            ("[-a-z0-9]*+(?<!-)", "(?:a|b){1,4096}", "(a)+", "f(x) + y"),
        ),
    ],
)  # fmt: skip
def test_a_line_is_seen(pattern: object, seen: tuple[str, ...], passed: tuple[str, ...]) -> None:
    assert hasattr(pattern, "search")
    assert [line for line in seen if not pattern.search(line)] == []
    assert [line for line in passed if pattern.search(line)] == []


@pytest.mark.parametrize(
    ("faults", "seen", "passed"),
    [
        (rooms.outside, ("print(1)", "open('x')", "datetime.now()", "eval('1')"), ("now(1)", "x.open()", "taken_at")),
        (rooms.unseeded, ("random.Random()", "np.random.default_rng()"), ("random.Random(3)", "default_rng(seed=1)")),
        (rooms.loose, ("@dataclass\nclass A: ...", "@dataclass(slots=True)\nclass A: ..."), ("@dataclass(frozen=True)\nclass A: ...",)),
        (rooms.long_functions, ("def f():\n" + "    pass\n" * 30,), ("def f():\n" + "    pass\n" * 29,)),
        (
            rooms.large_classes,
            ("class A:\n" + "    x = 1\n" * 400, "class A:\n" + "    def f(self): ...\n" * 31),
            ("class A:\n" + "    x = 1\n" * 399, "class A:\n" + "    def f(self): ...\n" * 30),
        ),
        (pages.arithmetic, ("a + 1", "sum(x)", "a -= 1", "round(x)"), ("a.sum()", "print(x)", "f(a)")),
        (
            empty.empty,
            (
                "def test_a():\n for x in found:\n  assert x", "def test_a():\n for x in (1,):\n  for y in x:\n   assert y",
                "def test_a():\n f()", "def test_a():\n if a:\n  assert b", "def test_a():\n if a:\n  return\n assert b",
                "def test_a():\n for x in each(found):\n  if x:\n   continue\n  assert x", "def test_a():\n assert all(x for x in found)",
                "def test_a():\n assert not [x for x in found]", "def test_a():\n assert {x for x in found} == set()",
                "def test_a():\n while a:\n  assert b", "def test_a():\n with suppress(E):\n  f()\n  assert a",
                "def test_a():\n try:\n  f()\n except E:\n  pass\n else:\n  assert a",
            ),
            (
                "def test_a():\n for x in each(found):\n  assert x", "def test_a():\n for x in CASES:\n  assert x",
                "def test_a():\n for x in found:\n  assert x\n assert found", "def a():\n for x in found:\n  assert x",
                "def test_a():\n if a:\n  assert b\n else:\n  assert c", "def test_a():\n if premise(a):\n  assert b",
                "def test_a():\n with pytest.raises(E):\n  f()", "def test_a():\n assert any(x for x in found)",
                "def test_a():\n assert all(x for x in each(found))", "def test_a():\n if a:\n  pytest.skip()\n assert b",
                "def test_a():\n while True:\n  assert b", "def test_a():\n with suppress(E):\n  f()\n assert a",
                "def test_a():\n try:\n  f()\n except E:\n  raise\n else:\n  assert a", "def test_a():\n with may_refuse(E):\n  assert a",
            ),
        ),
        (
            limits.of_its_own,
            (
                "_MOST_NODES: Final = 8", "DRAWS = 5", "for n in range(8):\n pass", "found[:3]", "while tried < 64:\n pass",
                "list(islice(found, 5))", "class A:\n    MOST = 3", "if 2 * n > 4:\n pass", "range(1, n + 8)",
            ),
            ("range(n)", "found[:-3]", "if len(found) < 2:\n pass", "found[: limits.NODES.most]", "WORDS = 3", "x = 3"),
        ),
        (
            names.unused, ("_MOST = 3", "def _f():\n pass", "_a, b = 1, 2\nprint(b)"),
            ("MOST = 3", "_MOST = 3\nprint(_MOST)", "__all__ = 3", "def f():\n _x = 3", "for _ in x:\n pass"),
        ),
        (pages.markup, ("st.write(x, unsafe_allow_html=True)",), ("st.write(x, help=y)",)),
    ],
)  # fmt: skip
def test_code_is_seen(faults: object, seen: tuple[str, ...], passed: tuple[str, ...]) -> None:
    def found(code: str) -> list[str]:
        assert callable(faults)
        told: Iterable[str] = faults(HERE, ast.parse(code))
        return list(told)

    assert [code for code in seen if not found(code)] == []
    assert [code for code in passed if found(code)] == []


def test_a_page_named_like_a_module_is_seen() -> None:
    assert list(pages.shadowing(Path("pages/select.py")))
    assert list(pages.shadowing(Path("pages/kubernetes.py")))
    assert not list(pages.shadowing(Path("pages/headroom.py")))


def test_a_name_of_two_rooms_is_seen() -> None:
    assert list(names.twice(("Pod", ["planner/a.py", "planner/b.py"])))
    assert not list(names.twice(("Pod", ["planner/a.py"])))


@pytest.mark.parametrize(
    "row",
    [
        "| what a pod holds | `planner/kubernetes/object_records.py` `Pod.gone` |",
        "| what a pod holds | `planner/kubernetes/nowhere.py` `Pod` |",
        "| what a pod holds | somewhere |",
    ],
)
def test_a_rule_that_is_not_where_the_page_says_is_seen(row: str) -> None:
    assert list(documents.elsewhere((7, row)))


def test_newcomers_find_the_page_of_rules() -> None:
    assert "(where-is.md)" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert "where-is.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(documents.places()) >= 10


def test_the_core_is_looked_at() -> None:
    core = next(check for check in CHECKS if check.holds == "the core touches nothing outside").subjects()
    assert {Path("planner/kubernetes/object_records.py"), Path("planner/rollout/answers.py")} <= set(core)
    assert Path("pages/_router.py") in pages.pages()
