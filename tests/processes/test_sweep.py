"""A sweep has the same answers on any executor, goes on where it was, and loses nothing when a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from planner.cli import main
from planner.ground.errors import SourceError
from planner.ground.records import replace
from planner.history.snapshot_names import snapshot_id
from planner.kubernetes.object_records import Snapshot
from planner.questions import plan
from planner.questions.plan import PlanSettings
from planner.questions.question import Inputs
from planner.serve.processes import resumable_batch_run as runs
from planner.serve.processes.parameter_sweep_tasks import tasks_of
from planner.serve.processes.resumable_batch_run import Local, SweepCase, sweep
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.sources.store import Store
from tests.architecture.tree import ROOT
from tests.processes.dask_cluster import Workers, dask_cluster

ROLLOUT = ("rollout",)
FACTS = "SELECT snapshot, workload, question, metric, labels, value, text FROM sweep ORDER BY ALL"
ONCE = "SELECT count(*) AS n, count(DISTINCT (snapshot, workload)) AS workloads FROM sweep WHERE metric = 'rollout_verdict'"


PROD = 7  # workloads that are asked of each


def moments(number: int) -> list[Snapshot]:
    """The demo a second apart; only some of its workloads, so that a test takes seconds."""
    some = tuple(one for one in demo.read().workloads if one.namespace == "prod")
    return [replace(demo.read(), workloads=some, taken_at=demo.read().taken_at + one) for one in range(number)]


class Threads:
    """An executor that isn't ours: what a crew has to have."""

    workers = 2

    @contextmanager
    def open(self) -> Iterator[Executor]:
        with ThreadPoolExecutor(2) as pool:
            yield pool

    def send(self, name: str, data: bytes) -> bytes:
        return data

    def close(self) -> None:
        pass


def over(crew: Any, store: Store, number: int = 1, **more: Any) -> runs.Swept:
    given = {"run": "test", "asked": ROLLOUT, **more}
    return sweep((SweepCase(cluster="edu", snapshot=one) for one in moments(number)), store, crew, **given)


def test_any_executor_has_the_same_answers(tmp_path: Path) -> None:
    threads, processes = Store(str(tmp_path / "threads")), Store(str(tmp_path / "processes"))
    asked = ("rollout", "grid", "plan", "savings")
    assert over(Threads(), threads, asked=asked).done == over(Local(2), processes, asked=asked).done == PROD
    found = threads.query(FACTS)
    assert found == processes.query(FACTS)
    assert {row["question"] for row in found} == set(asked)
    verdicts = {row["workload"]: row["text"] for row in found if row["metric"] == "rollout_verdict"}
    assert verdicts["Deployment/prod/llm-serve"] == "stuck"
    assert len(verdicts) == PROD


def test_the_plan_is_the_readiness_plan_of_the_whole_snapshot(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    swept = over(Threads(), store, asked=("plan",))
    (one,) = moments(1)
    known = plan.QUESTION.facts(plan.answer(one, PlanSettings(), Inputs(book=embedded_book())))
    rows = store.query("SELECT workload, metric, value, text, labels FROM sweep WHERE question = 'plan'")
    assert {row["workload"] for row in rows} == {"*"}
    told = sorted((row["metric"], str(row["labels"]), row["value"]) for row in rows if row["value"] is not None)
    assert told == sorted(
        (one.metric, str(dict(one.labels)), float(one.value))
        for one in known
        if isinstance(one.value, int | float) and not isinstance(one.value, bool)
    )
    assert swept.done == 0
    assert over(Threads(), store, asked=("plan",)).rows == 0  # not asked twice


def test_what_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    heard: list[str] = []

    def stop(doing: str, by: int) -> None:
        heard.append(doing)
        if len(heard) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        over(Threads(), store, 3, told=stop)
    first = store.query(ONCE)[0]["n"]
    assert 0 < first < 3 * PROD
    rest = over(Threads(), store, 3)
    assert (rest.done, rest.before) == (3 * PROD - first, first)
    assert store.query(ONCE) == [{"n": 3 * PROD, "workloads": 3 * PROD}]
    assert over(Threads(), store, 3) == runs.Swept(done=0, before=3 * PROD, rows=0)
    assert over(Threads(), store, 1, run="another").done == PROD  # a run of another name is another


def test_a_snapshot_is_sent_once(tmp_path: Path) -> None:
    sent = []

    class Counting(Threads):
        def send(self, name: str, data: bytes) -> bytes:
            sent.append(name)
            return data

    over(Counting(), Store(str(tmp_path)), 2)
    assert len(sent) == 2


def test_what_takes_longest_comes_first() -> None:
    """A worker that gets the longest task last keeps all others waiting."""
    first, *_, last = tasks_of("edu", "now", demo.read(), ROLLOUT, (), 4)
    assert {one.partition("/")[0] for one in first.workloads} == {"DaemonSet"}
    alone = {one.key for one in demo.read().workloads if one.replicas == 1}
    assert set(last.workloads) <= alone


def test_a_killed_process_is_replaced_and_nothing_is_lost_or_twice(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    killed: list[int] = []

    class Killing(Local):
        @contextmanager
        def open(self) -> Iterator[Executor]:
            with super().open() as pool:
                self.pool: Any = pool
                yield pool

    crew = Killing(2)

    def kill(doing: str, by: int) -> None:
        if not killed:
            victim = next(iter(crew.pool._processes))
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    over(crew, store, 3, told=kill, write_seconds=0.0)
    assert killed
    assert store.query(ONCE) == [{"n": 3 * PROD, "workloads": 3 * PROD}]


def test_workers_that_die_again_and_again_are_an_error(tmp_path: Path) -> None:
    class Dying(Local):
        @contextmanager
        def open(self) -> Iterator[Executor]:
            with super().open() as pool:
                pool.submit(os.abort)
                yield pool

    with pytest.raises(SourceError, match="killed again and again"):
        over(Dying(1), Store(str(tmp_path)))


# ── Dask ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def dask() -> Iterator[tuple[str, Workers]]:
    with dask_cluster(2) as found:
        yield found


DRIVER = """
import sys
from planner.sources.store import Store
from planner.serve.processes.resumable_batch_run import OnDask
from tests.processes.test_sweep import over
crew = OnDask(sys.argv[1])
print("ready", crew.workers, flush=True)
print(over(crew, Store(sys.argv[2]), 4, told=lambda doing, by: print("done", flush=True), write_seconds=0.0), flush=True)
"""


def test_a_dask_worker_that_is_killed_loses_nothing_and_nothing_comes_twice(
    dask: tuple[str, Workers], tmp_path: Path
) -> None:
    """Two workers on a real scheduler; one is killed with -9 after the first results. Dask in a process of its own: its
    warnings aren't ours."""
    address, workers = dask
    driver = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", DRIVER, address, str(tmp_path / "dask")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert driver.stdout is not None
    assert driver.stdout.readline() == "ready 2\n", driver.communicate()[1][-2_000:]
    assert driver.stdout.readline() == "done\n"
    workers[0].kill()
    rest, errors = driver.communicate(timeout=300)
    assert driver.returncode == 0, errors[-2_000:]
    assert f"Swept(done={4 * PROD}, before=0" in rest
    on_dask, local = Store(str(tmp_path / "dask")), Store(str(tmp_path / "local"))
    assert on_dask.query(ONCE) == [{"n": 4 * PROD, "workloads": 4 * PROD}]
    over(Threads(), local, 4)
    assert on_dask.query(FACTS) == local.query(FACTS)


PROFILERS = """
import sys
from planner.serve.processes.resumable_batch_run import OnDask
crew = OnDask(sys.argv[1])
run = lambda: sorted(set(crew._client.run(lambda dask_worker: dask_worker.periodic_callbacks["profile"].is_running()).values()))
print(run())
with crew.open() as executor:
    print(run(), executor.submit(sum, (1, 2)).result())
print(run())
crew.close()
"""


def test_dask_s_profiler_rests_while_a_sweep_runs_and_goes_on_afterwards(dask: tuple[str, Workers]) -> None:
    """It takes a tenth of the workers' time; a cluster that others use has it back."""
    command = [sys.executable, "-W", "ignore", "-c", PROFILERS, dask[0]]
    driver = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert driver.stdout.splitlines() == ["[True]", "[False] 3", "[True]"], driver.stderr[-2_000:]


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_command_sweeps_a_whole_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for one in moments(2):
        store.write("a@b", one, {})
    arguments = ["sweep", f"store:{tmp_path}", "--store", str(tmp_path), "--ask", "rollout", "--workers", "1"]
    for said in ("asked 14 workloads; wrote", "asked 0 workloads, 14 were there"):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code in (0, None)
        assert said in capsys.readouterr().out
    rows = store.query("SELECT cluster, snapshot, count(DISTINCT workload) AS n FROM sweep GROUP BY ALL ORDER BY ALL")
    assert [tuple(row.values()) for row in rows] == [("a@b", snapshot_id(one), PROD) for one in moments(2)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--ask", "weather"], "isn't asked of workloads"),
        (["--run", "a/b"], "it is no name"),
        (["--on", "tcp://127.0.0.1:9"], "no Dask scheduler answers"),
    ],
    ids=["ask", "run", "on"],
)
def test_what_can_not_be_done_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], said: str
) -> None:
    monkeypatch.setattr(runs, "DASK_TIMEOUT", "2s")
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "demo", "--store", str(tmp_path), *more])
    assert ended.value.code == 1
    assert said in capsys.readouterr().err
