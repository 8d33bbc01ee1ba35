"""Reads tables from data files that lie beside their module."""

from __future__ import annotations

import pkgutil


def table_beside(module: str, file: str) -> bytes:
    """What is in a file of a module's own folder: ``well_known_names.json``. Raises OSError where the package came without it."""
    content = pkgutil.get_data(module, file)
    assert content is not None  # whatever loads our modules from, a folder or an archive, gives data as well
    return content
