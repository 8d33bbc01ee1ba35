"""Starts child processes of this program.

They begin with a module of ours and nothing else. `multiprocessing` would run the parent's ``__main__`` again first, and where
Streamlit is, that is the page that a user visited last.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

_ROOT = str(Path(__file__).parents[__name__.count(".")])


def begin(module: str) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start ``python -m module FD``; the process, and this end of a pipe; the process has the other end as FD (`pipe`).

    It is of a session of its own: Ctrl-C goes to this process, and it ends with the pipe.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", module, str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([_ROOT, *sys.path])},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    return process, Connection(ours.detach())


def pipe() -> Connection:
    """The other end, in the process that `begin` started."""
    return Connection(int(sys.argv[1]))
