"""Each command of the help's list, once, as a process of its own: its status and how its answer begins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import ROOMS
from tests.architecture.tree import ROOT

ONLY_GPU = str(ROOT / "docs" / "examples" / "only-gpu.json")
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: new, namespace: dev}
spec:
  selector: {matchLabels: {app: new}}
  template:
    metadata: {labels: {app: new}}
    spec: {containers: [{name: web, image: "web:2", resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}]}
"""
CASES: dict[str, tuple[str, int, str]] = {
    "overview": ("demo", 0, "5 of 20 workloads would get stuck if changed now."),
    "rollout": ("demo -w Deployment/prod/llm-serve", 2, "Stuck: the new pod needs 4 A100s"),
    "gate": ("demo -f {folder}/gate.yaml", 0, "passes: the rollout completes"),
    "capacity": ("demo", 0, "1 of 27 GPUs is free"),
    "make-room": ("demo", 0, "No moves start any of the 2 waiting pods (proven)."),
    "survive": (ONLY_GPU, 0, "1 spare node (1 gpu-pool) covers the loss of any one node"),
    "fleet": ("demo demo", 0, "2 clusters: 10 of 40 workloads"),
    "memory": ("demo", 0, "No node is past its eviction threshold"),
    "restarts": ("demo", 0, "2 workloads restart or fail to start"),
    "costs": ("demo", 0, "$36,972 a month for 24 nodes"),
    "report": (f"{ONLY_GPU} --to {{folder}}/report.md", 0, "{folder}/report.md"),
    "diff": ("demo demo", 0, "Nothing that is compared differs."),
    "store": ("snapshot demo --store {folder}/store --questions capacity", 0, "{folder}/store"),
    "review": ("demo", 0, "This snapshot shows no past rollout."),
    "doctor": ("demo", 0, "Everything that answers need could be read"),
    "app": ("--help", 0, "Usage: headroom app"),
    "serve": ("--help", 0, "Usage: headroom serve"),
    "spot": ("demo --runs 100", 0, "Without spot, packing more tightly saves"),
    "dump": (f"{ONLY_GPU} --to {{folder}}/cluster.json.gz", 0, "headroom overview {folder}/cluster.json.gz reads it."),
    "overview --plan": (ONLY_GPU, 0, "0 of 1 workload can be rolled out now; 1 with one strategy change"),
    "capacity --queues": ("demo", 4, "not known: the input holds no ClusterQueues"),
    "diff --between dev,prod": ("demo", 0, "The difference explains the trouble of celery in dev and api in dev."),
    "completion": ("bash", 0, "_headroom_completion()"),
}
"""Command → arguments, status, words of the answer."""


def test_every_command_has_its_case() -> None:
    assert {name for name in CASES if " " not in name} == {name for commands in ROOMS.values() for name in commands} | {
        "completion"
    }


@pytest.mark.parametrize("command", CASES)
def test_a_command_answers_as_a_process(command: str, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text(MANIFEST)
    arguments, status, words = CASES[command]
    program = [sys.executable, "-c", "from planner.cli import main; main()", *command.split()]
    done = subprocess.run(
        program + arguments.format(folder=tmp_path).split(), capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == status, done.stderr
    assert words.format(folder=tmp_path) in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
