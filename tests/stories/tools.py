"""Tools that stories are put to. A tool gets a story's folder and says a verdict, or ``unknown``.

Another tool is a command: ``--tool "my-command --json"`` is called with the folder as its last word, and prints the verdict in its first line.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headroom_planner as api

UNKNOWN = "unknown"
_SECONDS = 300


def headroom(folder: Path) -> str:
    """This project's own answer."""
    story = json.loads((folder / "story.json").read_text())
    cluster = api.read(folder / "cluster.json")
    try:
        return _ASKED[story["question"]](cluster, story.get("about", ""), folder)
    except api.NotKnownError:
        return UNKNOWN


def by_command(command: str) -> Callable[[Path], str]:
    """A tool that is a command."""

    def ask(folder: Path) -> str:
        told = subprocess.run(
            [*shlex.split(command), str(folder)], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
        return (told.stdout.splitlines() or [UNKNOWN])[0].strip()

    return ask


def _rollout(cluster: Any, _about: str, folder: Path) -> str:
    pools = folder / "node-pools.json"
    found = api.rollout(cluster, manifest=folder / "change.json", node_pools=[pools] if pools.exists() else [])
    return (found.verdict or UNKNOWN).replace("_", " ")


def _fits(cluster: Any, about: str, _folder: Path) -> str:
    shape, _, times = about.rpartition(" x")
    row = api.capacity(cluster, shape).rows("fits")[0]
    return "fits" if int(str(row["fits"])) >= int(times) else "does not fit"


def _drain(cluster: Any, about: str, _folder: Path) -> str:
    steps = api.what_if(cluster, f"drain:{about}", rollouts=False).rows("steps")
    return "drained" if all(one["done"] for one in steps) else "blocked"


def _lose(cluster: Any, about: str, _folder: Path) -> str:
    rows = {one["figure"]: one for one in api.what_if(cluster, f"delete:{about}", rollouts=False).rows("figures")}
    waiting = rows["pods waiting"]
    return "leaves pods waiting" if int(str(waiting["then"])) > int(str(waiting["today"])) else "survives"


def _moves(cluster: Any, _about: str, _folder: Path) -> str:
    found = api.ask("make_room", cluster).record
    if found.left:
        return "impossible" if found.is_most else UNKNOWN
    return str(len(found.moves))


def _free(cluster: Any, _about: str, _folder: Path) -> str:
    return str(sum(int(str(one["free"])) for one in api.seats(cluster).rows("nodes")))


_ASKED: dict[str, Callable[[Any, str, Path], str]] = {
    "rollout": _rollout, "fits": _fits, "drain": _drain, "lose": _lose, "moves": _moves, "free": _free
}  # fmt: skip
TOOLS: dict[str, Callable[[Path], str]] = {"headroom": headroom}
