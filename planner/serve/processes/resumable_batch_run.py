"""Runs a sweep: submits tasks to an executor and writes results as they come, so that a stopped sweep can resume.

Any `concurrent.futures.Executor` will do. `Local` is a pool of processes, `OnDask` a Dask cluster by address; another engine
(Ray's, Spark's) needs a `Crew`: an executor, and how it sends bytes once to each worker.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from planner.ground.errors import InputError, SourceError
from planner.ground.records import Record
from planner.history import snapshot_bytes, snapshot_names
from planner.history.snapshot_names import Partition
from planner.history.snapshot_rows import every_of
from planner.kubernetes.object_records import Snapshot
from planner.serve.processes.parameter_sweep_tasks import PLAN, WHOLE, Row, Task, do, tasks_of
from planner.sources.store import Store

TASK_WORKLOADS: Final = 4
AHEAD: Final = 4  # tasks handed out for each worker, so that none waits and few are lost
WRITE_SECONDS: Final = 5.0
DASK_TIMEOUT = "30s"
_TRIES: Final = 3  # of a pool after a worker was killed

Result = list[tuple[str, list[Row]]]


class Crew(Protocol):
    """An executor and its ways."""

    workers: int

    def open(self) -> AbstractContextManager[Executor]:
        """The executor, until it is left."""

    def send(self, name: str, data: bytes) -> Any:
        """Data that each worker gets once; the handle is given to tasks in the data's place."""

    def close(self) -> None:
        """All is done: what was sent may go."""


class SweepCase(Record):
    """One snapshot to be swept."""

    cluster: str
    snapshot: Snapshot


class Swept(Record):
    """What a sweep did: workloads asked now and before, and rows written."""

    done: int
    before: int
    rows: int


class Local:
    """A pool of processes on this machine; `workers` 0 is as many as it has cores."""

    def __init__(self, workers: int = 0) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self._folder = tempfile.TemporaryDirectory(prefix="headroom-sweep-")

    @contextmanager
    def open(self) -> Iterator[Executor]:
        """Workers start afresh, so that none has half of another's state."""
        context = multiprocessing.get_context("spawn")
        # Ctrl-C is the main process's: workers finish what they have, and are stopped by it.
        ignores = (signal.SIGINT, signal.SIG_IGN)
        with ProcessPoolExecutor(self.workers, context, signal.signal, ignores) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def send(self, name: str, data: bytes) -> str:
        """A file that every worker reads."""
        path = Path(self._folder.name) / name
        path.write_bytes(data)
        return str(path)

    def close(self) -> None:
        """Delete the files."""
        self._folder.cleanup()


class OnDask:
    """A Dask cluster by the address of its scheduler, such as ``tcp://10.0.0.1:8786``."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            fix = "Install it: pip install 'headroom-planner[dask]'"
            raise InputError("Dask isn't installed", where="--on", fix=fix) from None
        try:
            connect: Any = Client  # untyped
            self._client = connect(address, timeout=DASK_TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:
            fix = "Check the address, and that a scheduler runs there"
            raise SourceError(f"no Dask scheduler answers: {error}", where=address, fix=fix) from None
        self.workers = sum(
            worker["nthreads"] for worker in self._client.scheduler_info(n_workers=-1)["workers"].values()
        )
        if not self.workers:
            fix = "Start one: dask worker ADDRESS"
            raise SourceError("the Dask cluster has no worker", where=address, fix=fix)

    @contextmanager
    def open(self) -> Iterator[Executor]:
        """Tasks of a worker that dies are done by another; the scheduler sees to it."""
        from planner.serve.processes import dask_workers

        with (
            dask_workers.without_profiler(self._client),
            self._client.get_executor(retries=_TRIES, pure=False) as executor,
        ):
            yield executor

    def send(self, name: str, data: bytes) -> Any:
        """Every worker has it, so that it outlives one of them."""
        return self._client.scatter(data, hash=False, broadcast=True)

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        self._client.close()


def sweep(
    every: Iterable[SweepCase],
    store: Store,
    crew: Crew,
    *,
    run: str,
    asked: tuple[str, ...],
    told: Callable[[str, int], None] = lambda _doing, _done: None,
    write_seconds: float = WRITE_SECONDS,
) -> Swept:
    """Ask every workload of every snapshot, and write the answers to `store` under the name `run`.

    What the run has written already isn't asked again. `told` hears what is being done, and how many more workloads are.

    Raises
    ------
    SourceError
        When workers die again and again.
    """
    try:
        return _Sweep(store, run, asked, told, write_seconds).over(every, crew)
    finally:
        crew.close()


class _Sweep:
    def __init__(
        self,
        store: Store,
        run: str,
        questions: tuple[str, ...],
        on_progress: Callable[[str, int], None],
        write_seconds: float,
    ) -> None:
        self._store, self._run, self._asked, self._told = store, run, questions, on_progress
        self._write_seconds, self._written_at = write_seconds, time.monotonic()
        self._waiting: dict[tuple[str, str], Result] = defaultdict(list)
        self._known: dict[tuple[str, str], tuple[Partition, Snapshot]] = {}
        self._handles: dict[tuple[str, str], Any] = {}
        self._sent: Counter[tuple[str, str]] = Counter()
        self._unfinished: list[tuple[Task, Any]] = []
        self._done = self._before = self._rows = 0

    def over(self, every: Iterable[SweepCase], crew: Crew) -> Swept:
        remaining_tasks = iter(self._tasks(every, crew))
        again: list[tuple[Task, Any]] = []
        for attempt in range(_TRIES):
            try:
                with crew.open() as executor:
                    try:
                        again = self._through(executor, crew, remaining_tasks, again)
                    finally:
                        self._write()
                break
            except BrokenExecutor as broken:  # a worker of the pool was killed; what it had is asked again
                again = self._unfinished
                if attempt == _TRIES - 1:
                    fix = "It may have run out of memory: fewer --workers"
                    raise SourceError("workers were killed again and again", where="sweep", fix=fix) from broken
        return Swept(done=self._done, before=self._before, rows=self._rows)

    def _tasks(self, every: Iterable[SweepCase], crew: Crew) -> Iterator[tuple[Task, Any]]:
        for swept_snapshot in every:
            name = snapshot_names.snapshot_id(swept_snapshot.snapshot)
            partition = Partition(swept_snapshot.cluster, snapshot_names.day_of(swept_snapshot.snapshot.taken_at))
            stored_parts = self._store.parts(partition)
            self._known[swept_snapshot.cluster, name] = (partition, swept_snapshot.snapshot)
            done = {
                part.rpartition(self._part(name, ""))[2]
                for part in stored_parts
                if part.startswith(self._part(name, ""))
            }
            tasks = list(
                tasks_of(swept_snapshot.cluster, name, swept_snapshot.snapshot, self._asked, done, TASK_WORKLOADS)
            )
            self._before += len(done - {WHOLE})
            if tasks:
                handle = crew.send(f"{name}.json", snapshot_bytes.encode(swept_snapshot.snapshot))
                self._handles[swept_snapshot.cluster, name] = handle
                yield from ((task, handle) for task in tasks)

    def _through(
        self, executor: Executor, crew: Crew, remaining_tasks: Iterator[tuple[Task, Any]], again: list[tuple[Task, Any]]
    ) -> list[tuple[Task, Any]]:
        running: dict[Future[Result], tuple[Task, Any]] = {}
        queue = deque(again)
        try:
            while True:
                while len(running) < AHEAD * crew.workers:
                    if not queue and (more := next(remaining_tasks, None)) is not None:
                        queue.append(more)
                    if not queue:
                        break
                    running[executor.submit(do, *queue[0])] = queue[0]  # it stays ours until it is taken
                    queue.popleft()
                if not running:
                    return []
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task, handle = running[future]
                    try:
                        self._take(task, future.result())
                    except CancelledError:  # what was sent went with the workers that had it
                        queue.append((task, self._sent_again(task, handle, crew)))
                    del running[future]
        except BaseException:
            self._unfinished = [*running.values(), *queue]
            for future in running:
                future.cancel()
            raise

    def _sent_again(self, task: Task, lost: Any, crew: Crew) -> Any:
        """The handle of the task's snapshot, sent anew once for all that lost their handle."""
        key = (task.cluster, task.snapshot)
        if self._handles[key] is lost:
            self._sent[key] += 1
            if self._sent[key] > _TRIES:
                raise SourceError("workers were lost again and again", where="sweep", fix="See the workers' logs")
            self._handles[key] = crew.send(f"{task.snapshot}.json", snapshot_bytes.encode(self._known[key][1]))
        return self._handles[key]

    def _take(self, task: Task, task_rows: Result) -> None:
        self._waiting[task.cluster, task.snapshot] += task_rows
        answered_workloads = sum(key != WHOLE for key, _ in task_rows)
        self._done += answered_workloads
        self._told(f"{task.cluster}: {task.workloads[-1] if answered_workloads else PLAN}", answered_workloads)
        if time.monotonic() - self._written_at >= self._write_seconds:
            self._write()

    def _write(self) -> None:
        for (cluster, name), snapshot_rows in list(self._waiting.items()):
            partition, snapshot = self._known[cluster, name]
            rows: list[Any] = []
            for key, fact_rows in snapshot_rows:
                rows += ({"run": self._run, **row, **every_of(snapshot, self._part(name, key))} for row in fact_rows)
            self._store.write_part(partition, tuple(self._part(name, key) for key, _ in snapshot_rows), {"sweep": rows})
            self._rows += sum(len(question_rows) for _, question_rows in snapshot_rows)
            del self._waiting[cluster, name]
        self._written_at = time.monotonic()

    def _part(self, snapshot: str, workload: str) -> str:
        return f"{snapshot}/{self._run}/{','.join(self._asked)}/{workload}"
