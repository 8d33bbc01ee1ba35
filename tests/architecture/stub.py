"""``headroom_planner/__init__.pyi``: what `planner.cli.python_api` hands out, with every question's settings, for editors and type checkers.

``make docs`` writes it.
"""

from __future__ import annotations

from enum import Enum

from planner.cli.python_api import FIRST, OTHER_NAMES
from planner.ground.setting_declarations import Setting, settings_of
from planner.questions import INDEX, question_called

STUB = "headroom_planner/__init__.pyi"
HEAD = '''\
# Made by `make docs` from the index of questions and their settings.
"""Headroom for who writes Python: docs/python.md."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from planner.cli.python_api import Answer as Answer
from planner.cli.python_api import Cluster as Cluster
from planner.cli.python_api import ask as ask
from planner.cli.python_api import read as read
from planner.ground.errors import HeadroomError as HeadroomError
from planner.ground.errors import NotKnownError as NotKnownError

def main(argv: list[str] | None = None) -> None: ...
def kubectl_plugin() -> None: ...
'''
FILES = ("manifest", "patch")
BESIDE = (
    "prices: Iterable[str | Path] = ...",
    "discounts: Iterable[str] = ...",
    "node_pools: Iterable[str | Path] = ...",
    "others: Iterable[Cluster] = ...",
    "store: str = ...",
    "now: float | None = ...",
)


def stub() -> str:
    """The whole file."""
    every = [*INDEX, *OTHER_NAMES]
    return HEAD + "".join(_function(name) for name in every)


def _function(name: str) -> str:
    told = OTHER_NAMES.get(name, name)
    every = settings_of(question_called(told).settings)
    known = {one.name: one for one in every if one.on_command or one.name in FILES}
    about = ["    *about: str,"] if any(one in known for one in FIRST) else ["    *,"]
    lines = [
        *about,
        *(f"    {one}," for one in BESIDE),
        *(f"    {key}: {_type(one)} = ...," for key, one in known.items()),
    ]
    said = f'\n    """{INDEX[told].line}"""\n' if INDEX[told].line else " ...\n"
    return "\n".join([f"\ndef {name}(", "    cluster: Cluster,", *lines, f") -> Answer:{said}"])


def _type(one: Setting) -> str:
    kind = one.kind.__name__ if one.kind in (bool, int, float, str) else "Any"
    if issubclass(one.kind, Enum):
        kind = f"Literal[{', '.join(repr(value) for value in one.choices)}]".replace("'", '"')
    if one.parse is not None and kind not in ("str", "Any"):
        kind = f"{kind} | str"
    if one.name in FILES:
        kind = "str | Path"
    return f"Iterable[{kind}] | str" if one.is_many and kind != "Any" else kind if kind == "Any" else f"{kind} | None"
