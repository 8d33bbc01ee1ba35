"""A sweep's task about one workload, and how a worker gets the snapshot: sent once, kept while needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.history import snapshot_bytes
from planner.history.snapshot_rows import fact_row
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_book import PriceBook
from planner.questions import plan, rollout, savings
from planner.questions.plan import PlanSettings
from planner.questions.question import Fact, Inputs, fact
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.questions.savings import SavingsSettings
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import RUNS, StrategyGrid
from planner.serve.processes.process_limits import LIMITS
from planner.spot.assumptions import SpotSettings

ASKED: Final = ("rollout", "grid", "plan", "savings")
"""What is asked of a workload; the ways out are in ``rollout``. The plan is one of the whole snapshot."""
PLAN: Final = "plan"
WHOLE: Final = "*"
"""In place of a workload: what is asked of a snapshot as a whole."""
MONTHS: Final = 1_000

Row = dict[str, Any]
_kept: OrderedDict[str, Snapshot] = OrderedDict()
_lock = threading.Lock()


class Task(Record):
    """Some workloads of one snapshot; a worker is given it with the snapshot's bytes, or with the file that has them."""

    cluster: str
    snapshot: str  # its id
    workloads: tuple[str, ...]
    asked: tuple[str, ...] = ASKED
    seed: int = 0


def tasks_of(
    cluster: str, name: str, snapshot: Snapshot, questions: tuple[str, ...], done: Container[str], size: int
) -> Iterator[Task]:
    """What is left to do of a snapshot: its readiness plan, then `size` workloads at a time, those of most pods first.

    What takes longest comes first, so that no worker waits long for another's last task (Graham 1969, longest processing time).
    """
    if PLAN in questions and WHOLE not in done:
        yield Task(cluster=cluster, snapshot=name, workloads=(WHOLE,), asked=(PLAN,))
    each = tuple(question for question in questions if question != PLAN)
    by_pods = sorted(snapshot.workloads, key=lambda workload: -(workload.status_replicas or workload.replicas))
    keys = [pod.key for pod in by_pods if pod.traits.rolls_out and pod.key not in done] if each else []
    for start in range(0, len(keys), size):
        yield Task(cluster=cluster, snapshot=name, workloads=tuple(keys[start : start + size]), asked=each)


def do(task: Task, snapshot: bytes | str) -> list[tuple[str, list[Row]]]:
    """(workload, rows of the table ``sweep``) of each; called in a worker.

    `snapshot`: as `planner.history.snapshot_bytes.encode` wrote it, or the path of a file with that.
    """
    decoded_snapshot = _snapshot(task.snapshot, snapshot)
    return [(key, list(_rows(decoded_snapshot, key, task))) for key in task.workloads]


def _snapshot(name: str, bytes_or_path: bytes | str) -> Snapshot:
    with _lock:
        if name not in _kept:
            content = Path(bytes_or_path).read_bytes() if isinstance(bytes_or_path, str) else bytes_or_path
            _kept[name] = snapshot_bytes.decode(content, name)
            while len(_kept) > LIMITS.snapshots_kept:
                _kept.popitem(last=False)
        _kept.move_to_end(name)
        return _kept[name]


def _rows(snapshot: Snapshot, key: str, task: Task) -> Iterator[Row]:
    for question in task.asked:
        for metric_fact in _facts(snapshot, key, question, task.seed):
            row = fact_row(metric_fact)
            yield {"workload": key, "question": question, **row, "labels": {**metric_fact.labels}}


def _facts(snapshot: Snapshot, key: str, question: str, seed: int) -> Iterable[Fact]:
    """The answer's facts; why there is no answer is a fact too."""
    settings = RolloutSettings(workloads=(key,), seed=seed, runs=RUNS)
    try:
        if question == "rollout":
            rollout_answer = rollout.answer(snapshot, settings)
            ways = [
                fact("way_out", remedy.kind.value, number=number, workload=key)
                for number, remedy in enumerate(rollout_answer.remedies, 1)
            ]
            return [*rollout.QUESTION.facts(rollout_answer), *ways]
        if question == PLAN:
            return list(plan.QUESTION.facts(plan.answer(snapshot, PlanSettings(), Inputs(book=_book()))))
        if question == "grid":
            return list(_grid(grids.strategy_grid(snapshot, scenario_of(snapshot, settings), key)))
        savings_settings = SavingsSettings(workload=key, spot=SpotSettings(runs=MONTHS))
        return list(savings.facts(savings.answer(snapshot, savings_settings, Inputs(book=_book()))))
    except HeadroomError as error:
        return [fact("not_answered", error.what, workload=key)]


def _grid(grid: StrategyGrid) -> Iterator[Fact]:
    for row in grid.cells:
        for cell in row:
            if cell.is_valid:
                named: dict[str, Any] = {"max_surge": cell.max_surge, "max_unavailable": cell.max_unavailable}
                yield fact("grid_verdict", cell.verdict.value, **named)
                yield fact("grid_lowest_ready", cell.lowest_ready, "pods", **named)
                yield fact("grid_seconds", cell.seconds, "seconds", **named)
                yield fact("grid_extra_gpus", cell.extra_gpus, "GPUs", **named)
                yield fact("grid_evictions", cell.evictions, "pods", **named)


@cache
def _book() -> PriceBook:
    from planner.sources.prices import load_book

    return load_book()
