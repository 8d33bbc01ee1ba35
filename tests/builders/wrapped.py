"""What commands print on a terminal, where there is none."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from planner.cli import terminal


def wrapped_to(columns: int) -> AbstractContextManager[Any]:
    """As on a terminal so wide."""
    return patch.object(terminal, "width", lambda *, err=False: columns)
