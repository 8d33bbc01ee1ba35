"""Savings that another program worked out apart, over 4,000 months without moves of the price: the same within 2%."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.questions.savings import SavingsSettings, answer, detail_of
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot.assumptions import Capacity, SpotSettings
from planner.spot.suitability_checks import Check, Status
from tests.builders.objects import read_items

HERE: Final = Path(__file__).parent
BILLS: Final = HERE.parent / "pricing" / "data" / "bills"


def read(path: Path) -> Snapshot:
    return read_items(json.loads(gzip.decompress(path.read_bytes()))["items"])


def cpu_batch() -> Snapshot:
    return read(HERE / "data" / "cpu-batch.json.gz")


def l4_serve() -> Snapshot:
    return read(BILLS / "l4-serve.json.gz")


WORKER: Final = "Deployment/prod/ml-worker"
Simulated = tuple[float, float, float, float]
# cluster, workload, what is asked; saved, lost work, restarts, fallback a month by the other program
APART: Final[dict[str, tuple[Callable[[], Snapshot], str, dict[str, Any], Simulated]]] = {
    "six T4, jobs of five minutes": (demo.read, WORKER, {"job_minutes": 5.0}, (960.33, 0.61, 1.64, 29.58)),
    "ten n2 for jobs of an hour": (
        cpu_batch, "Job/batch/etl", {"job_minutes": 60.0, "node_start_seconds": 300.0}, (895, 6.05, 1.31, 20.95),
    ),
    "six L4 that serve": (l4_serve, "Deployment/serve/api", {}, (2_155, 0, 2.34, 30.88)),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_another_program_says_the_same(name: str) -> None:
    cluster, workload, asked, by_itself = APART[name]
    spot = SpotSettings(runs=2_000, **asked)
    found = detail_of(answer(cluster(), SavingsSettings(workload=workload, spot=spot), Inputs(book=embedded_book())))
    saved = found.estimate.savings
    steps = {step.name: step.usd.mean for step in saved.steps}
    before_moves = saved.saved_usd.mean + steps["Price moves"]
    costs = [steps[step] for step in ("Lost work", "Restarts", "Fallback")]
    assert before_moves == pytest.approx(by_itself[0], rel=0.02)
    # dollars of a few: half a percent of what is saved is more than 2% of these, and 2% are cents
    assert costs == pytest.approx(by_itself[1:], rel=0.02, abs=0.03)


def test_a_preemptible_node_s_day() -> None:
    """24 hours are no multiple of five minutes and 401 s: the other program counts 0.7 less of lost work."""
    spot = SpotSettings(runs=2_000, job_minutes=5.0, capacity=Capacity.PREEMPTIBLE)
    found = detail_of(answer(demo.read(), SavingsSettings(workload=WORKER, spot=spot), Inputs(book=embedded_book())))
    steps = {step.name: step.usd.mean for step in found.estimate.savings.steps}
    assert found.estimate.savings.saved_usd.mean + steps["Price moves"] == pytest.approx(951.50, rel=0.02)
    assert steps["Restarts"] == pytest.approx(8.24, rel=0.03)


@pytest.mark.parametrize(
    ("case", "workload"), [("aks-a100", "Deployment/ml/train"), ("eks-l4-use1", "Deployment/ml/worker")]
)
def test_no_quota_of_spot_is_called_right_unseen(case: str, workload: str) -> None:
    """AKS and EKS have one, of cores and vCPUs: a cluster doesn't tell it. Spot prices of both come from the bill, or from Azure's list."""
    snapshot = read(BILLS / f"{case}.json.gz")
    (key,) = (one.key for one in snapshot.workloads if one.kind == "Deployment" and one.name == workload.split("/")[2])
    spot = SpotSettings(runs=100, spot_usd_per_hour=0.4)
    found = detail_of(answer(snapshot, SavingsSettings(workload=key, spot=spot), Inputs(book=embedded_book())))
    (quota,) = (one for one in found.suitability.checks if one.check is Check.QUOTA)
    assert quota.status is Status.UNSEEN
    assert "a cluster doesn't tell it" in quota.evidence
