"""Verdicts of the recordings, counted as the product tells them (`planner/rollout/recording_agreement.json`, the README)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path

from planner.rollout.recording_agreement import recorded_verdicts
from tests.conformance.comparison import Comparison

HERE = Path(__file__).parent
COUNTS = HERE.parents[1] / "planner" / "rollout" / "recording_agreement.json"
WHAT = {
    "rollouts": "rollouts, Kubernetes 1.36.2",
    "rollouts4": "rollouts with others' changes and events, Kubernetes 1.36.3",
    "rollouts5": "volumes that attach once, nodes that stop answering, Kubernetes 1.36.3",
    "kinds": "Argo Rollouts 1.9, LeaderWorkerSet 0.8",
    "kinds4": "KubeRay 1.7, JobSet, LeaderWorkerSet 0.10",
    "queues": "Kueue: who gets quota",
    "headroom": "how many more pods fit (cluster-capacity)",
    "drains": "nodes that are drained",
    "growth": "nodes that cluster-autoscaler and Karpenter add",
}
RENEW = "run `python -m tests.conformance.counts`, then `make docs`, and read what changed"
_UNKNOWN = ("unknown", "not known")


def counted(found: Iterable[Comparison]) -> dict[str, int]:
    """Right, unknown and wrong, of the verdicts among them. An answer that leaves out a part of what was recorded is unknown; that nobody
    who waits at rest is told to come in is no verdict of its own."""
    every = list(found)
    partly = {one.case for one in every if one.field == "known" and not one.agrees}
    numbers = {"right": 0, "unknown": 0, "wrong": 0}
    for one in every:
        if one.is_verdict and one.field != "at rest":
            is_unknown = str(one.got) in _UNKNOWN and one.expected != one.got
            is_unknown |= one.agrees and one.case in partly
            numbers["unknown" if is_unknown else "right" if one.agrees else "wrong"] += 1
    return numbers


def told(folder: str) -> Mapping[str, int]:
    """What the product says of a folder."""
    (row,) = (row for row in recorded_verdicts() if row.folder == folder)
    return {"right": row.right, "unknown": row.unknown, "wrong": row.wrong}


def write() -> None:
    """Counts every folder anew (a minute and a half) and keeps what the product tells."""
    from tests.conformance.__main__ import FOLDERS

    rows = [
        {"folder": name, "what": what, **counted(import_module(FOLDERS[name]).compare(HERE / name))}
        for name, what in WHAT.items()
    ]
    COUNTS.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
