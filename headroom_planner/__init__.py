"""Headroom for who writes Python: ``import headroom_planner as headroom``.

``read``, ``rollout`` and a function for every other question are `planner.cli.python_api`'s; docs/python.md shows them. They are loaded when
they are asked for. What stands behind them is the inside, and changes without notice.
"""

from __future__ import annotations

from typing import Any

_COMMANDS = ("main", "kubectl_plugin")


def __getattr__(name: str) -> Any:
    if name in _COMMANDS:
        from planner import cli

        return getattr(cli, name)
    if name.startswith("_"):
        raise AttributeError(name)
    from planner.cli import python_api

    return python_api.public(name)


def __dir__() -> list[str]:
    from planner.cli import python_api

    return sorted(python_api.NAMES)
