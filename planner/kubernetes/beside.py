"""Tables that stand in a file beside their module, and are a part of it as its code is."""

from __future__ import annotations

import pkgutil


def table_beside(module: str, ending: str) -> bytes:
    """What is in the file beside a module that is called as it is: ``podless.txt``."""
    package, _, name = module.rpartition(".")
    return pkgutil.get_data(package, f"{name}.{ending}") or b""
