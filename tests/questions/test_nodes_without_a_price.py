"""A node without any price is counted beside every sum that leaves it out; every dollar has its date, one age, and its cloud's cure.

The cluster is made up: a TPU v6e and a GB200 machine that no list has, and four of AWS in us-east-1.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Final

import pytest

from planner.cli import main
from planner.ground.words import usd
from planner.kubernetes.object_records import Snapshot
from planner.questions import costs, fleet, report
from planner.questions.question import Inputs
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders.objects import Item, read_items
from tests.seen import each

CASE: Final = Path(__file__).parent / "cases" / "money-no-price.json.gz"


def items() -> list[Item]:
    found: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    return found


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read_items(items())


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "cluster.json"
    path.write_bytes(gzip.decompress(CASE.read_bytes()))
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    with pytest.raises(SystemExit):
        main(list(words))
    found = capsys.readouterr()
    return found.out, found.err


def test_sums_count_the_nodes_that_they_leave_out(snapshot: Snapshot) -> None:
    given = Inputs(book=embedded_book())
    bill = costs.answer(snapshot, costs.CostsSettings(), given)
    assert "$141,964 a month for 4 nodes" in str(bill.sentence)
    assert "2 more have no price and are not in it" in str(bill.sentence)
    every = fleet.answer(snapshot, fleet.FleetSettings(), Inputs(book=embedded_book(), others=(demo.read(),)))
    assert str(every.sentence).endswith(f"; {usd(every.usd_per_month or 0.0)} a month and 2 nodes without a price.")
    assert [cluster.nodes_without_price for cluster in every.clusters] == [2, 0]
    priced = fleet.answer(demo.read(), fleet.FleetSettings(), given)
    assert "without a price" not in str(priced.sentence)


def test_the_report_counts_them(snapshot: Snapshot) -> None:
    chapters = report.answer(snapshot, report.ReportSettings(), Inputs(book=embedded_book()))
    assert "2 more have no price" in str(chapters)


def test_the_cure_is_of_the_nodes_own_cloud(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """AWS' list has no spot: not Google's refresh, though two of the six nodes are Google's."""
    _, err = said(capsys, "costs", "--spot", file)
    assert '"headroom costs CLUSTER --actual BILL --write-prices OWN.csv"' in err
    assert "--price-list refresh" not in err
    _, err = said(capsys, "costs", file)
    assert '"headroom costs --price-list refresh --cloud aws --region us-east-1"' in err


AGES: Final = (
    ("costs", "demo"), ("plan", "demo"), ("survive", "demo"), ("fleet", "demo", "demo"),
    ("rollout", "demo", "--workload", "deployment/prod/llm-serve"),
    ("rollout", "demo", "--workload", "deployment/prod/llm-serve", "--costs"),
    ("rollout", "demo", "--workload", "deployment/prod/llm-serve", "--levers", "nodes", "--limits", "gpu-a100=4"),
    ("costs", "--spot", "demo"),
)  # fmt: skip


def test_every_dollar_has_one_age(capsys: pytest.CaptureFixture[str]) -> None:
    """A review: 135 and 127 days in one output, and no age at all in three."""
    told = {}
    for words in each(AGES):
        out, err = said(capsys, *words)
        assert "$" in out, words
        ages = set(re.findall(r"Prices are of (\S+), (\d+) days old", err))
        assert len(ages) == 1, (words, err)
        told[words] = ages.pop()
    assert len(set(told.values())) == 1, told


def test_the_command_named_runs_as_it_is_printed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Up to the network, which tests don't have: a mistake in the command itself would be told first (exit status 2)."""
    _, err = said(capsys, "costs", file)
    commands = re.findall(r'"headroom (costs --price-list refresh[^"]*)"', err)
    assert len(commands) == 2
    for command in each(commands):
        with pytest.raises(SystemExit) as caught:
            main([*command.split(), "--endpoint", "http://127.0.0.1:9"])
        assert caught.value.code == 1
        assert "can't be reached" in capsys.readouterr().err
