"""The project's own files, as the architecture tests read them."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
"""It stands in pyproject.toml; whatever else names it, `make docs` writes."""
CORE = (
    "ground",
    "kubernetes",
    "inventory",
    "scheduling",
    "rollout",
    "capacity",
    "remedies",
    "pricing",
    "spot",
    "health",
    "history",
    "questions",
)  # the pure rooms


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is, or could be, committed; relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return tuple(sorted(Path(name) for name in set(listed.split("\0")) if name and (ROOT / name).is_file()))


def python_files(*folders: str) -> Iterator[Path]:
    """The Python files under `folders` (a file's own name works too), relative to the root."""
    wanted = tuple(Path(folder) for folder in folders)
    for path in project_files():
        if path.suffix == ".py" and any(path.is_relative_to(folder) for folder in wanted):
            yield path


def core_files() -> Iterator[Path]:
    """The pure core: the rooms that compute, and the modules beside them in `planner/`."""
    yield from python_files(*(f"planner/{room}" for room in CORE))
    yield from (path for path in python_files("planner") if len(path.parts) == 2)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of every import in the file, those inside functions included."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)


def imports_of(path: Path, *packages: str) -> list[str]:
    """ "path:line imports module" for every import of one of `packages` or of what lies below them."""
    return [
        f"{path}:{line} imports {module}"
        for line, module in imported(path)
        if any(module == package or module.startswith(f"{package}.") for package in packages)
    ]
