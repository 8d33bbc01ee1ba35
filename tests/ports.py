"""Ports for programs that tests start and that have to be told one beforehand."""

from __future__ import annotations

import fcntl
import random
import socket
import tempfile
from pathlib import Path
from typing import IO, Final

HOST: Final = "127.0.0.1"
_RANGE: Final = range(20_000, 30_000)  # below those that systems choose from by themselves (Linux from 32,768 on)
_LOCKS: Final = Path(tempfile.gettempdir()) / "headroom-test-ports"
_held: list[IO[bytes]] = []  # as long as this process runs


def reserved() -> int:
    """A port that nobody gets but who asks for it by number, and no other test process of this machine does.

    One that was bound to 0, closed and handed on may be anybody's before the program that is told it has started.
    """
    _LOCKS.mkdir(exist_ok=True)
    for port in random.SystemRandom().sample(_RANGE, len(_RANGE)):
        lock = (_LOCKS / str(port)).open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as tried:
                tried.bind((HOST, port))
        except OSError:  # another test process has it, or a server of this machine
            lock.close()
            continue
        _held.append(lock)
        return port
    raise RuntimeError("all ports are taken")


def dead() -> socket.socket:
    """A socket that refuses whoever connects to its port, which is its own as long as it is open."""
    refusing = socket.socket()
    refusing.bind((HOST, 0))
    return refusing
