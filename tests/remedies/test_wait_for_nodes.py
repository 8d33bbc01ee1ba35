"""A rollout that waits for a node to come is waited for as long by each door: the node's arrival and the rollout, twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.cli import main

ONLY_GPU = str(Path(__file__).parents[2] / "docs" / "examples" / "only-gpu.json")
WAIT = re.compile(r"rollout status deployment/worker -n ml --timeout=(\d+)m")


def waits(capsys: pytest.CaptureFixture[str], *more: str) -> list[tuple[str, int]]:
    """Of each way out its title and for how many minutes its rollout is waited."""
    with pytest.raises(SystemExit):
        main(["rollout", ONLY_GPU, "-w", "worker", *more])
    parts = re.split(r"^(?:way out|plan \d+): ", capsys.readouterr().out, flags=re.MULTILINE)[1:]
    return [(part.split("\n")[0].split("  (")[0], int(found[1])) for part in parts if (found := WAIT.search(part))]


def test_every_door_waits_for_the_node_and_the_rollout(capsys: pytest.CaptureFixture[str]) -> None:
    alone, together = dict(waits(capsys)), dict(waits(capsys, "--levers", "all"))
    assert alone["1 more node in gpu-pool"] == together["1 more node in gpu-pool"] == 11  # twice 5 min and 30 s
    assert alone["maxSurge 0, maxUnavailable 1"] == together["maxSurge 0, maxUnavailable 1"] == 1
