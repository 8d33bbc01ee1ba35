"""On a terminal a long answer goes through PAGER, from its first line on; a short one, a pipe and ``--no-pager`` don't."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from planner.cli import COMMANDS, headroom
from tests.architecture.tree import ROOT
from tests.builders.objects import node

RUN = """\
import sys
from planner.cli import main
for line in open(sys.argv[1]).read().splitlines():
    try:
        main(line.split())
    except SystemExit as ended:
        sys.stdout.write(f"--- {ended.code}\\n")
        sys.stdout.flush()
"""
PAGER = """\
import sys
text = sys.stdin.read()
print(f"[paged {len(text.splitlines())}] {text.splitlines()[0]}")
"""
END = re.compile(r"--- (\d+)\n")
PAGED = re.compile(r"\A\[paged (\d+)\] (.*)")
FIRST = "5 of 20 workloads"


def on_a_terminal(folder: Path, rows: int, *commands: str, is_typed: bool = True, **environment: str) -> list[str]:
    """What each prints there; `is_typed`: what is typed reaches it, as standard input."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100 if rows else 0, 0, 0))
    (folder / "pager.py").write_text(PAGER)
    (folder / "asked").write_text("\n".join(commands))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "LESS")}
    kept |= {"TERM": "xterm-256color", "PAGER": f"{sys.executable} {folder / 'pager.py'}", **environment}
    program = [sys.executable, "-c", RUN, str(folder / "asked")]
    stdin = theirs if is_typed else subprocess.DEVNULL
    with subprocess.Popen(program, cwd=ROOT, env=kept, stdin=stdin, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        printed = b""
        while part := _read(ours):
            printed += part
    os.close(ours)
    assert child.returncode == 0, printed.decode()
    text = re.sub(r"[^\n]*\x1b\[2K", "", printed.decode().replace("\r\n", "\n"))  # without a line of progress
    return [one.replace("\x1b[0m", "").lstrip() for one in END.split(text)[0::2]][:-1]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux's way to say that nobody holds the other end
        return b""


def test_a_long_answer_is_paged_from_its_first_line_on_and_a_short_one_is_not(tmp_path: Path) -> None:
    long, at_once, before, short = on_a_terminal(
        tmp_path, 5, "overview demo", "overview demo --no-pager", "--no-pager overview demo", "diff demo demo"
    )
    paged = PAGED.match(long)
    assert paged is not None, long[-300:]
    assert int(paged[1]) > 10
    assert paged[2].startswith(FIRST)
    for text in (at_once, before):
        assert text.startswith(FIRST)
        assert len(text.splitlines()) == int(paged[1])
    assert short.startswith("Nothing that is compared differs.")


def test_twice_the_height_is_printed_and_48_lines_where_it_is_not_known(tmp_path: Path) -> None:
    lines = len(on_a_terminal(tmp_path, 0, "overview demo --no-pager")[0].splitlines())
    assert 10 < lines <= 48
    assert PAGED.match(on_a_terminal(tmp_path, 0, "overview demo")[0]) is None
    assert PAGED.match(on_a_terminal(tmp_path, 0, "costs demo --by namespace", LINES="4")[0])


def test_a_pager_that_is_not_there_and_nobody_who_types_print_it_at_once(tmp_path: Path) -> None:
    lacking = on_a_terminal(tmp_path, 5, "overview demo", PAGER="no-such-pager")
    untyped = on_a_terminal(tmp_path, 5, "overview demo", is_typed=False)
    for (text,) in (lacking, untyped):
        assert text.startswith(FIRST)
        assert "\\x1b" not in text


def test_a_pipe_is_never_paged(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from planner.cli import main; main()", "overview", "demo"]
    environment = {**os.environ, "PAGER": "false", "LINES": "4"}
    done = subprocess.run(
        program, cwd=ROOT, env=environment, stdin=theirs, stdout=subprocess.PIPE, text=True, check=True
    )
    os.close(ours)
    os.close(theirs)
    assert done.stdout.startswith(FIRST)
    assert len(done.stdout.splitlines()) > 10


def test_what_warns_stands_below_the_answer_on_a_terminal(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.json"

    nodes.write_text(json.dumps(node("a")))
    (text,) = on_a_terminal(tmp_path, 40, f"capacity {nodes}")
    assert not text.startswith("headroom:")
    assert "\nheadroom: " in text


@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.startswith(("store", "serve", "app", "dump"))])
def test_every_command_that_answers_takes_no_pager(name: str) -> None:
    command = headroom.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    every = getattr(command, "commands", {"": command}).values()
    assert all(any(param.name == "no_pager" for param in one.params) for one in every)
