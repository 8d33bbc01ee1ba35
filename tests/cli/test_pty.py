"""Every question's command on a terminal of 80 and of 120 columns, on the demo: nothing wider, no escape that one sees."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from planner.questions import INDEX
from tests.architecture.tree import ROOT

DRAIN = "drain:pool/gpu-t4"
COMMANDS = {name: f"{name.replace('_', '-')} demo" for name, entry in INDEX.items() if entry.room} | {
    "rollout of one": "rollout demo -w Deployment/prod/llm-serve", "gate": "gate demo -f {folder}/gate.yaml",
    "report": "report demo --to {folder}/report.md", "diff": f"diff demo --change {DRAIN}", "what_if": f"what-if demo --change {DRAIN}",
    "savings of one": "savings demo -w Deployment/prod/ml-worker --runs 200", "fleet": "fleet demo demo",
    "where": "where demo --shape gpu=1", "trends": "trends {folder}/store", "commitments": "commitments {folder}/store",
}  # fmt: skip
"""A question's command is asked of the demo as it is, where it wants nothing else."""
GATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: new, namespace: dev}
spec:
  selector: {matchLabels: {app: new}}
  template:
    metadata: {labels: {app: new}}
    spec: {containers: [{name: web, image: "web:2", resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}]}
"""
RUN = """\
import sys
from planner.cli import main
for line in sys.stdin.read().splitlines():
    try:
        main(line.split())
    except SystemExit as ended:
        sys.stdout.write(f"\\n--- {ended.code}\\n")
        sys.stdout.flush()
"""
MARKER = re.compile(r"\n--- (\d+)\n")
OBEYED = re.compile("\x1b\\[[0-9;]*[mK]")  # colours, and the end of a line erased
COLOUR = re.compile("\x1b\\[[0-9;]*m")
COPIED = re.compile(
    r"^\s*(#|headroom: |wrote store:|(undo: )?(kubectl|gcloud|headroom) )"
)  # whole, for the clipboard; errors hold such ones


def on_a_terminal(columns: int, commands: list[str], folder: Path) -> list[tuple[int, str]]:
    """What each prints there, with its exit status."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    asked = folder / f"asked-{columns}"
    asked.write_text("\n".join(commands))
    with asked.open() as stdin, subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, env=kept | {"TERM": "xterm-256color"}, stdin=stdin, stdout=theirs, stderr=theirs
    ) as child:  # fmt: skip
        os.close(theirs)
        printed = b""
        while part := _read(ours):
            printed += part
    os.close(ours)
    assert child.returncode == 0
    texts = MARKER.split(printed.decode().replace("\r\n", "\n"))
    return [(int(status), text) for text, status in zip(texts[0::2], texts[1::2], strict=False)]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux's way to say that nobody holds the other end
        return b""


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_no_escape_and_nothing_wider(columns: int, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text(GATE)
    asked = [f"snapshot demo --store {tmp_path}/store", *(one.format(folder=tmp_path) for one in COMMANDS.values())]
    found = on_a_terminal(columns, asked, tmp_path)
    assert len(found) == len(asked)
    for command, (status, text) in zip(asked, found, strict=True):
        assert status in ((1,) if command.startswith("idle") else (0, 2, 3, 4)), (
            command,
            text,
        )  # idle asks a Prometheus
        seen = [OBEYED.sub("", line.rsplit("\r", 1)[-1]) for line in text.splitlines()]
        assert not [line for line in seen if re.search(r"\x1b|\^\[|\\x1b", line)], command
        assert all(COLOUR.findall(line)[-1:] in ([], ["\x1b[0m"]) for line in text.split("\n")), (
            command
        )  # none is left on
        wide = [line for line in seen if len(line) > columns and " " in line.strip()[:columns].strip()]
        assert [line for line in wide if not COPIED.search(line)] == [], command
    overview = OBEYED.sub("", found[1 + list(COMMANDS).index("overview")][1])
    lines = [line for line in overview.splitlines() if line.startswith(("stuck", "completes", "15 complete"))]
    assert [line.split()[0] for line in lines] == ["stuck"] * 5 + ["15"]
    assert "\x1b[31m" in found[1][1] + found[1 + list(COMMANDS).index("overview")][1]
