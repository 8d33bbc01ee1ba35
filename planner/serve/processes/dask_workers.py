"""Settings of a sweep's Dask workers while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from distributed import WorkerPlugin

NAME: Final = "headroom-sweep"
_PROFILER: Final = ("profile", "profile-cycle")


class NoProfiler(WorkerPlugin):
    """Dask looks a hundred times a second at what a worker does, which takes a tenth of what is worked out beside it.

    Its profiler rests while this is there, on workers that come later too, and goes on afterwards. ``distributed``,
    `Worker.__init__`: the periodic callbacks "profile" and "profile-cycle", absent where the configuration turns them off.
    """

    def setup(self, worker: Any) -> None:
        """Called on each worker when it begins."""
        for callback in _callbacks(worker):
            callback.stop()

    def teardown(self, worker: Any) -> None:
        """Called on each worker when it ends."""
        for callback in _callbacks(worker):
            callback.start()


@contextmanager
def without_profiler(client: Any) -> Iterator[None]:
    """Let the profilers rest meanwhile; they go on, where there is still a cluster."""
    client.register_plugin(NoProfiler(), name=NAME)
    try:
        yield
    finally:
        with suppress(OSError, ValueError):  # gone, or another sweep has let them go on
            client.unregister_worker_plugin(NAME)


def _callbacks(worker: Any) -> list[Any]:
    return [worker.periodic_callbacks[name] for name in _PROFILER if name in worker.periodic_callbacks]
