"""The child's side of a `Holder`: holds snapshots and price books, answers calls, imports no Streamlit.

Talks over the pipe that it was started with (`planner.serve.processes.child_process`), and ends with it.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Container
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any, Final

from planner.ground.errors import HeadroomError
from planner.ground.progress import told_to
from planner.ground.work_budget import UnwantedError, allowed
from planner.inventory import snapshot_delta
from planner.questions import INDEX, question_called
from planner.serve.processes import child_process
from planner.serve.processes.process_limits import LIMITS

_TELL_SECONDS: Final = 0.2


class HeldValues:
    """Values that tasks speak of by name, the least used forgotten first."""

    def __init__(self, most_bytes: int = LIMITS.held_bytes) -> None:
        self._values: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._most_bytes = most_bytes

    def put(self, name: str, packed: bytes, needed_names: Container[str] = ()) -> list[str]:
        """Keep what is `packed`; the names of what was forgotten for it, none of them `needed_names`."""
        return self._put(name, pickle.loads(packed), len(packed), needed_names)  # noqa: S301 - of our own parent

    def follow(self, name: str, before: str, steps: tuple[bytes, ...], needed_names: Container[str] = ()) -> list[str]:
        """Keep the snapshot that `steps` lead to from the one called `before`; the names of what was forgotten for it.

        It shares nearly all with that one, but its tables are made anew: a sixteenth of the room, so that few are kept.
        """
        size = max(self._values[before][1], self._most_bytes // 16)
        return self._put(name, snapshot_delta.walked(self.get(before), steps), size, needed_names)

    def _put(self, name: str, value: Any, size: int, needed_names: Container[str]) -> list[str]:
        self._values[name] = value, size
        forgotten = []
        for old in [old_name for old_name in self._values if old_name != name and old_name not in needed_names]:
            if sum(size for _, size in self._values.values()) <= self._most_bytes:
                break
            del self._values[old]
            forgotten.append(old)
        return forgotten

    def get(self, name: str) -> Any:
        """The value called `name`, now the last used."""
        self._values.move_to_end(name)
        return self._values[name][0]

    def name_of(self, value: object) -> str | None:
        """What a held value is called; None for any other."""
        return next((name for name, (cached_object, _) in self._values.items() if cached_object is value), None)


class _Reader(pickle.Unpickler):
    def __init__(self, data: bytes, holder: HeldValues) -> None:
        super().__init__(io.BytesIO(data))
        self._held = holder

    def persistent_load(self, pid: Any) -> Any:
        return self._held.get(pid)


def name_of(function: Callable[..., Any]) -> str:
    """What a function of a module is called by the other side."""
    return f"{function.__module__}:{function.__qualname__}"


def function_called(name: str) -> Any:
    """The function of a module of this program: ``planner.questions.rollout:answer``."""
    module, _, path = name.partition(":")
    return attrgetter(path)(importlib.import_module(module))


def ready() -> None:
    """Load all questions."""
    for name in INDEX:
        question_called(name)


def error_of(error: BaseException) -> tuple[Any, ...]:
    """An error to be told: ours whole, any other as its traceback."""
    if isinstance(error, HeadroomError):
        return "ours", error
    return "other", type(error).__name__, "".join(traceback.format_exception(error))


class _Teller:
    """Tells the other end what is being done, a few times a second at most."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._next = connection, 0.0

    def __call__(self, doing: str, share: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _TELL_SECONDS
            self._connection.send_bytes(pickle.dumps(("doing", doing, share)))


def _answer(connection: Connection, object_cache: HeldValues, name: str, packed: bytes) -> bytes:
    def is_wanted() -> bool:
        return not connection.poll(0)  # while it works it is sent nothing but "no longer"

    try:
        arguments, more = _Reader(packed, object_cache).load()
        with allowed(is_wanted), told_to(_Teller(connection)):
            reply: tuple[Any, ...] = ("answer", function_called(name)(*arguments, **more))
        return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
    except UnwantedError:
        return pickle.dumps(("unwanted",))
    except Exception as error:  # noqa: BLE001 - told to the caller
        return pickle.dumps(error_of(error))


def serve(connection: Connection) -> None:
    """Answer until the other end is gone.

    Taken: first ("begin", key, niceness, most bytes held), then ("hold", name, packed, wanted), ("follow", name, before, steps, wanted), ("ask", function, packed), ("unwanted",).
    Given, for each "ask": packed ("answer", value), ("ours", error), ("other", kind, traceback) or ("unwanted",), after any
    number of ("doing", what, share); for each "hold" and "follow" the names that were forgotten.
    """
    object_cache = HeldValues()
    while True:
        try:
            what, *start_arguments = pickle.loads(connection.recv_bytes())  # noqa: S301 - of our own parent
        except (EOFError, OSError):
            return
        if what == "begin":
            object_cache = _begun(*start_arguments)
        elif what == "hold":
            connection.send_bytes(pickle.dumps(object_cache.put(*start_arguments)))
        elif what == "follow":
            connection.send_bytes(pickle.dumps(object_cache.follow(*start_arguments)))
        elif what == "ask":
            connection.send_bytes(_answer(connection, object_cache, *start_arguments))


def _begun(key: bytes, niceness: int, most_bytes: int) -> HeldValues:
    from planner.inventory import redacted_value_digests
    from planner.sources import accelerator_file

    if sys.platform != "win32":
        os.nice(niceness)
    redacted_value_digests.use_key(key)
    accelerator_file.use()
    return HeldValues(most_bytes)


if __name__ == "__main__":
    try:
        serve(child_process.pipe())
    except (KeyboardInterrupt, BrokenPipeError):
        pass
