"""What a committed file may not hold."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.architecture.tree import ROOT, project_files
from tests.house.check import Check, lines

_TEXT: Final = {".py", ".md", ".toml", ".lock", ".yaml", ".yml", ".cfg", ".ini", ".sh", ".txt", ""}
_WORDS: Final = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc"}

# One letter of each in brackets, so that this file doesn't hold them itself. Homes of users in images are no machine's.
MACHINE_PATH: Final = re.compile(
    r"(?<![\w.$}~-])/(?:[w]ork|[r]oot|[h]ome(?!/(?:kubernetes|headroom)\b)|[t]mp|opt/[p]ypi)/\w"
)
REGISTRY: Final = re.compile(r"[p]ypi\.org|[p]ythonhosted\.org|[n]pmjs\.org|[i]ndex-url[= ]+http")
SPACED_PERCENT: Final = re.compile(r"\d %(?= [a-z]|[.,:;)|]|$)")
BARE_EXCEPTION: Final = re.compile(r"#\s*(?:[n]oqa(?!: ?[A-Z])|[t]ype: ignore(?!\[))")
# `(...)*+` and the like. Of a single character's class they are right in every Python
GROUP_NEVER_GONE_BACK_INTO: Final = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")

DEPENDENCIES: Final = "docs/decisions/0002-dependencies.md"


@cache
def texts(*folders: str) -> list[Path]:
    """Every committed text that isn't data; those under `folders` alone."""
    every = [path for path in project_files() if path.suffix in _TEXT and "data" not in path.parts]
    return [path for path in every if not folders or path.parts[0] in folders]


def _written() -> list[Path]:
    return [path for path in texts("planner", "pages", "docs") if "decisions" not in path.parts]


def _code() -> list[Path]:
    return [path for path in texts() if path.suffix == ".py"]


def _dependencies() -> Sequence[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]
    return [re.split(r"[<>=\[; ]", entry)[0] for entry in asked]


def _without_a_reason(dependency: str) -> Iterator[str]:
    if dependency not in (ROOT / DEPENDENCIES).read_text(encoding="utf-8"):
        yield f"pyproject.toml {dependency}"


def _vague(path: Path) -> Iterator[str]:
    if vague := {path.stem, *path.parent.parts} & _WORDS:
        yield f"{path} {', '.join(sorted(vague))}"


CHECKS: Final = (
    Check(
        holds="a file names no machine's path and no package index",
        subjects=texts,
        faults=lambda path: lines(path, MACHINE_PATH, REGISTRY),
        advice="a clone works on any machine, with whatever package index pip is configured for there",
    ),
    Check(
        holds="a percentage is written as Kubernetes does, 25%",
        subjects=_written,
        faults=lambda path: lines(path, SPACED_PERCENT),
    ),
    Check(
        holds="an exception from a lint rule names the rule",
        subjects=_code,
        faults=lambda path: lines(path, BARE_EXCEPTION),
    ),
    Check(
        holds="no pattern has a possessive group",
        subjects=lambda: texts("planner", "pages", "app.py"),
        faults=lambda path: lines(path, GROUP_NEVER_GONE_BACK_INTO),
        advice="before Python 3.11.5, Debian 12's included, it keeps what half of it took (cpython's issues 100061 and 106052)",
    ),
    Check(
        holds="a direct dependency has its reason",
        subjects=_dependencies,
        faults=_without_a_reason,
        advice=f"{DEPENDENCIES} says why each is there",
    ),
    Check(holds="a module is named for what it holds", subjects=_code, faults=_vague),
)
