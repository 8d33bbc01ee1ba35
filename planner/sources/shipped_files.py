"""Paths of the files that ship with the planner."""

from __future__ import annotations

from pathlib import Path


def data_folder() -> Path:
    """Where the files that come with the planner are: in the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "_data"
    return installed if installed.is_dir() else package.parent / "data"
