"""Typed reading by several threads at once, and that there is no other door to it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, parsed, python_files

DOOR = Path("planner/ground/typed_json.py")

AT_ONCE = """
import sys, threading
from msgspec import defstruct
from planner.ground import typed_json

sys.setswitchinterval(1e-6)
for _ in range(20):
    parts = [defstruct(f"Part{n}", [("a", int, 0), ("b", str, "")]) for n in range(20)]
    whole = defstruct("Whole", [(f"f{n}", part | None, None) for n, part in enumerate(parts)])
    start, found = threading.Barrier(4), []

    def read():
        start.wait()
        found.append(%s)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert [(one.f19.a, one.f3.a, one.f0) for one in found] == [(1, 2, None)] * 4
print("read")
"""


@pytest.mark.parametrize(
    "read",
    [
        'typed_json.decode(b\'{"f19": {"a": 1}, "f3": {"a": 2}}\', whole)',
        'typed_json.decoder(whole)(b\'{"f19": {"a": 1}, "f3": {"a": 2}}\')',
        'typed_json.convert({"f19": {"a": 1}, "f3": {"a": 2}}, whole)',
    ],
)
def test_a_type_that_threads_read_for_the_first_time_at_once(read: str) -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE % read], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("read\n", 0), done.stderr


def _past_the_door(tree: ast.Module) -> list[str]:
    """Calls that have msgspec work out a type."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("msgspec", "msgspec.json"):
            found += [one.name for one in node.names if one.name in ("convert", "decode", "Decoder", "json")]
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("msgspec."):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in ("convert", "Decoder") or (name == "decode" and len(node.args) + len(node.keywords) > 1):
                found.append(ast.unparse(node))
    return found


def test_nobody_passes_the_door_by() -> None:
    past = {
        str(path): calls
        for path in python_files("planner", "headroom_planner", "pages", "app.py")
        if path != DOOR and (calls := _past_the_door(parsed(path)))
    }
    assert past == {}
    assert len(_past_the_door(parsed(DOOR))) == 3, "what is looked for is found where it is"
    assert (ROOT / DOOR).is_file()
