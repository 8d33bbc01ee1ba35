"""What a committed file may not hold, and what the documents must."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, project_files

TEXT = {".py", ".md", ".toml", ".lock", ".yaml", ".yml", ".cfg", ".ini", ".sh", ".txt", ""}
TEXTS = [path for path in project_files() if path.suffix in TEXT and "data" not in path.parts]

# One letter of each in brackets, so that this file doesn't hold them itself. Homes of users in images are no machine's.
MACHINE_PATH = re.compile(r"(?<![\w.$}~-])/(?:[w]ork|[r]oot|[h]ome(?!/(?:kubernetes|headroom)\b)|[t]mp|opt/[p]ypi)/\w")
REGISTRY = re.compile(r"[p]ypi\.org|[p]ythonhosted\.org|[n]pmjs\.org|[i]ndex-url[= ]+http")


@pytest.mark.parametrize("path", TEXTS, ids=str)
def test_file_names_no_machine_and_no_registry(path: Path) -> None:
    """A clone works on any machine, with whatever package index pip is configured for there."""
    text = (ROOT / path).read_text(encoding="utf-8")
    found = [match.group() for pattern in (MACHINE_PATH, REGISTRY) for match in pattern.finditer(text)]
    assert not found, f"{path}: {found}"


SPACED_PERCENT = re.compile(r"\d %(?= [a-z]|[.,:;)|]|$)", re.MULTILINE)


@pytest.mark.parametrize("path", [path for path in TEXTS if path.parts[0] in ("planner", "pages", "docs")], ids=str)
def test_a_percentage_is_written_as_kubernetes_does(path: Path) -> None:
    """``25%``: one spelling in sentences, tables, charts and documents."""
    if "decisions" not in path.parts:
        assert not SPACED_PERCENT.findall((ROOT / path).read_text(encoding="utf-8"))


def test_every_direct_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]
    reasons = (ROOT / "docs/decisions/0002-dependencies.md").read_text(encoding="utf-8")
    missing = [name for entry in asked if (name := re.split(r"[<>=\[; ]", entry)[0]) not in reasons]
    assert not missing, f"docs/decisions/0002-dependencies.md doesn't say why: {missing}"


def test_every_lint_exception_has_its_reason() -> None:
    """A `noqa` or `type: ignore` names the rule it breaks."""
    bare = re.compile(r"#\s*(?:noqa(?!: ?[A-Z])|type: ignore(?!\[))")
    found = [
        f"{path}:{number}"
        for path in TEXTS
        if path.suffix == ".py" and path != Path(__file__).relative_to(ROOT)
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if bare.search(line)
    ]
    assert not found


# `(...)*+` and the like. Of a single character's class they are right in every Python
GROUP_NEVER_GONE_BACK_INTO = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")


@pytest.mark.parametrize("path", [path for path in TEXTS if path.parts[0] in ("planner", "pages", "app.py")], ids=str)
def test_no_pattern_has_a_possessive_group(path: Path) -> None:
    """Before Python 3.11.5, Debian 12's included, such a group keeps what half of it took (cpython's issues 100061 and 106052)."""
    assert not GROUP_NEVER_GONE_BACK_INTO.findall((ROOT / path).read_text(encoding="utf-8"))


def test_the_check_sees_a_possessive_group() -> None:
    assert all(map(GROUP_NEVER_GONE_BACK_INTO.search, ("(?:ab?c)*+", "(a|b)++", "(a)?+", "(a){2,}+")))
    assert not any(map(GROUP_NEVER_GONE_BACK_INTO.search, ("[-a-z0-9]*+(?<!-)", "(?:a|b){1,4096}", "(a)+", "f(x) + y")))
