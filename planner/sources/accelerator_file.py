"""Reads a user's own accelerators and labels from a file."""

from __future__ import annotations

import os
from typing import Final

from planner.ground.errors import InputError
from planner.inventory.documents import values_of
from planner.kubernetes import accelerators
from planner.sources import bounded_reading

VARIABLE: Final = "HEADROOM_ACCELERATORS"
_LARGEST_BYTES: Final = 2**20


def use(path: str = "") -> None:
    """Let the file's rows stand before the built-in ones, in this process; ``HEADROOM_ACCELERATORS`` where none is given.

    Raises
    ------
    InputError
        When the file can't be read or isn't such a table (`planner.kubernetes.accelerators.extended`).
    """
    name = path or os.environ.get(VARIABLE, "")
    if not name:
        return
    text = bounded_reading.read_text(name, limit=_LARGEST_BYTES, fix="Give YAML or JSON in UTF-8")
    values = values_of(text, name)
    if len(values) != 1:
        raise InputError("isn't one document", where=name, fix="Write resources and labels in one")
    accelerators.use(accelerators.extended(values[0], name))
