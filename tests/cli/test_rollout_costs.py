"""``headroom rollout --costs``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner.cli.rollout import command

WORKER = ("demo", "--workload", "deployment/prod/ml-worker", "--max-surge", "1", "--max-unavailable", "0")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command, [*WORKER, *arguments], standalone_mode=False)
    assert result.exception is None
    return result.output


def test_table_is_printed_when_asked_for() -> None:
    said = run("--costs")
    assert "Surge 1 costs $438 a month as a spare T4, $273 as a spare T4 on spot" in said
    (line,) = [line for line in said.splitlines() if line.startswith("Surge 1 (now)")]
    assert line.split()[3:12] == ["✗", "Stuck:", "waits", "for", "itself", "6", "of", "6", "1"]
    assert "$438" in line
    assert "What each strategy costs" not in run()


def test_document_has_every_strategy_and_its_terms() -> None:
    asked = ("--costs", "--rollouts-per-month", "4", "--node-arrival-seconds", "120", "--output", "json")
    (document,) = json.loads(run(*asked))["also"]
    assert document["format"] == "headroom.strategy_costs/v2"
    costs = document["result"]
    assert len(costs["strategies"]) == 7 * 7  # 48 pairs and Recreate
    terms = costs["terms"]
    assert (terms["rollouts_per_month"], terms["node_start_seconds"], terms["scale_down_seconds"]) == (4, 120, 600)
    surge = next(one for one in costs["strategies"] if one["name"] == "Surge 1")
    added = 4 * 0.857514 * (120 + surge["seconds"] + 600) / 3600
    assert surge["cost"]["added_usd"] == pytest.approx(added)
    assert dict(costs["sources"])["node_start_seconds"] == "given"
    assert json.loads(run("--output", "json"))["also"] == []


def test_a_negotiated_discount_is_taken_off() -> None:
    assert "$351 a month as a spare T4" in run("--costs", "--discount", "Standard=0.2")  # 0.8 x 0.7 x 0.857514 x 730


def test_own_prices_come_first(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("machine_type,region,total_ondemand,total_spot\nn1-standard-8,asia-northeast3,1,0.5\n", "utf-8")
    # what one says is what one pays; the T4 at the book's 0.37 an hour, less 30 % for a whole month: 1.259 x 730
    assert "Surge 1 costs $919 a month as a spare T4" in run("--costs", "--prices", str(own))
