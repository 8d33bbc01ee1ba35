"""A user's own accelerators and labels, out of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from planner.errors import InputError
from planner.inventory.documents import values_of
from planner.kubernetes import accelerators

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
    try:
        with Path(name).open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", where=name, mend="Check the path") from None
    except UnicodeDecodeError:
        raise InputError("isn't text", where=name, mend="Give YAML or JSON in UTF-8") from None
    if len(data) > _LARGEST_BYTES:
        raise InputError("is larger than 1 MiB", where=name, mend="Keep resources and labels only")
    values = values_of(text, name)
    if len(values) != 1:
        raise InputError("isn't one document", where=name, mend="Write resources and labels in one")
    accelerators.use(accelerators.extended(values[0], name))
