"""The estimate after the changes takes each listed change as made; each line says what its change is worth alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest

from planner.cli import main
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.questions.savings import SavingsAnswer, SavingsSettings, answer
from planner.sources.prices import embedded_book
from planner.spot import savings_columns
from planner.spot.assumptions import Capacity, SpotSettings
from planner.spot.suitability_checks import Check, CheckResult, Status
from tests.builders.objects import Item, read_items

CASE: Final = Path(__file__).parent / "data" / "h100-train.json.gz"  # eight a3-highgpu-8g, a gang of one pod each
JOB: Final = "Job/ml/pretrain"
ON_DEMAND, SAVED, DRAWN, AS_IS = 516_782, 164_105, 162_032, -126_373
"""Of the list, and of the drawn months before they have the list's mean; and with six retries."""
WORTH: Final = DRAWN - AS_IS
IGNORES: Final = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def training(*, ignores: bool = False, is_spot: bool = False) -> Snapshot:
    items: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    for item in items:
        if item["kind"] == "Job" and ignores:
            item["spec"]["podFailurePolicy"] = IGNORES
        if item["kind"] == "Node" and is_spot:
            item["metadata"]["labels"]["cloud.google.com/gke-spot"] = "true"
    return read_items(items)


def asked(snapshot: Snapshot, **given: Any) -> SavingsAnswer:
    spot = SpotSettings(**{"job_minutes": 20_160.0, "checkpoint_minutes": 60.0, "checkpoint_seconds": 60.0} | given)
    return answer(snapshot, SavingsSettings(workload=JOB, spot=spot), Inputs(book=embedded_book()))


def line(found: SavingsAnswer, check: Check) -> CheckResult:
    assert found.detail is not None
    return next(one for one in found.detail.suitability.checks if one.check is check)


def saved(found: SavingsAnswer) -> float:
    assert found.detail is not None
    return found.detail.estimate.savings.saved_usd.mean


@pytest.fixture(scope="module")
def counted() -> SavingsAnswer:
    return asked(training())


def test_retries_that_the_listed_policy_saves_are_not_counted(counted: SavingsAnswer) -> None:
    assert str(counted.sentence).startswith("After the changes below: 8 of 8 nodes on spot: saves $164,105 a month")
    assert saved(counted) == pytest.approx(SAVED, abs=1)
    assert saved(asked(training(ignores=True))) == pytest.approx(saved(counted)), "as with the policy in the Job"


def test_the_line_says_what_the_policy_alone_is_worth(counted: SavingsAnswer) -> None:
    found = line(counted, Check.RETRIES)
    assert found.worth_usd == pytest.approx(WORTH, abs=1)
    assert "Alone it is worth $288,405 a month." in savings_columns.checked(found)
    assert line(counted, Check.PLACEMENT).worth_usd == pytest.approx(SAVED, abs=1)
    assert "It changes no figure of the estimate." in savings_columns.checked(line(counted, Check.GRACE_PERIOD))
    assert line(counted, Check.CONTROLLER).worth_usd is None


def test_an_own_simulation_apart_says_the_same_within_2_percent(counted: SavingsAnswer) -> None:
    """4,000 months by another program, without moves of the price: net 315,243 of 516,782."""
    assert counted.detail is not None
    found = counted.detail.estimate.savings
    assert round(found.on_demand_usd) == ON_DEMAND
    moves = next(step.usd.mean for step in found.steps if step.name == "Price moves")
    assert found.net_usd.mean - moves == pytest.approx(315_243, rel=0.02)


def test_a_policy_that_is_there_is_no_change() -> None:
    found = line(asked(training(ignores=True)), Check.RETRIES)
    assert (found.status, found.worth_usd) == (Status.OK, None)


def test_retries_that_are_given_are_kept_and_said() -> None:
    found = asked(training(), retries=6)
    assert str(found.sentence).startswith(
        "After the changes below, with 6 retries as given: 8 of 8 nodes on spot: costs"
    )
    assert saved(found) == pytest.approx(AS_IS, abs=1)
    assert line(found, Check.RETRIES).worth_usd == pytest.approx(WORTH, abs=1)


def test_on_spot_already_the_limit_that_stands_is_counted() -> None:
    found = asked(training(is_spot=True), hours_per_month=730.0)
    assert "After the changes" not in str(found.sentence)
    assert found.detail is not None
    assert found.detail.assumed.retries == 6
    assert line(found, Check.RETRIES).worth_usd == pytest.approx(WORTH, rel=0.01)


def test_the_notice_that_is_given_counts_in_the_checks_too() -> None:
    """A review: --window-seconds 120 counted in the estimate, and grace period, jobs and the patch said 15 s."""
    found = asked(training(), window_seconds=120.0)
    assert line(found, Check.GRACE_PERIOD).status is Status.OK
    assert "notice 120 s" in line(found, Check.GRACE_PERIOD).evidence
    assert found.detail is not None
    assert found.detail.suitability.window.seconds == 120
    assert line(asked(training()), Check.GRACE_PERIOD).status is Status.CHANGE


def test_the_way_that_was_asked_is_named() -> None:
    """A review: "the spot is expected to cost …, spot …" where preemptible was asked."""
    said = str(asked(training(), capacity=Capacity.PREEMPTIBLE).sentence)
    assert "Cheaper still: flex-start is expected to cost $223,789 a month, preemptible $" in said
    assert "Cheaper still: flex-start is expected to cost $223,789 a month, spot $" in str(asked(training()).sentence)


def test_preemptible_as_given_is_said_beside_the_change_to_spot() -> None:
    found = asked(training(), capacity=Capacity.PREEMPTIBLE)
    assert "After the changes below, on preemptible VMs as given: 8 of 8 nodes on preemptible" in str(found.sentence)
    assert line(found, Check.JOB_LENGTH).worth_usd == pytest.approx(DRAWN - saved(found), abs=1)


def test_the_document_and_the_terminal_carry_the_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(gzip.decompress(CASE.read_bytes()))
    work = ("--job-minutes", "20160", "--checkpoint-minutes", "60", "--checkpoint-seconds", "60")
    shown = []
    for more in ((), ("--output", "json")):
        with pytest.raises(SystemExit):
            main(["costs", "--spot", str(file), "--workload", JOB.lower(), *work, *more])
        shown.append(capsys.readouterr().out)
    assert "Alone it is worth $288,405 a month." in shown[0]
    checks = json.loads(shown[1])["result"]["detail"]["suitability"]["checks"]
    worths = {one["check"]: one["worth_usd"] for one in checks if one["worth_usd"] is not None}
    assert worths == {"retries": pytest.approx(288_405, abs=1), "placement": pytest.approx(SAVED, abs=1)}
