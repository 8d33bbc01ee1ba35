"""What tokens cost, from vLLM's counters in a real Prometheus."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pytest

from planner.cli import main
from planner.kubernetes.object_records import Pod
from planner.pricing.projected_bill import bill, usd_of_pods
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.sources.nodes_and_gpus import END, HOUR, START
from tests.sources.prometheus_server import running

SCRAPE = 60


def pods() -> list[Pod]:
    return [pod for pod in demo.read().pods if pod.name.startswith("llm-serve-") and pod.node_name]


def counters() -> str:
    """One pod serves 100 and 50 tokens a second in the first half of the day; the other 20 and 10 all day, and its counters begin anew
    at 18:00. Its Prometheus kept its own labels for a pod that is gone."""
    first, second = pods()
    lines: dict[str, list[str]] = {}

    def add(metric: str, of: str, value: float, at: int) -> None:
        lines.setdefault(metric, [f"# TYPE {metric} counter"]).append(f"{metric}_total{{{of}}} {value:.1f} {at}")

    for at in range(START, END + 1, SCRAPE):
        passed = at - START
        for metric, rates in (("vllm:prompt_tokens", (100, 20)), ("vllm:generation_tokens", (50, 10))):
            served = min(passed, 12 * HOUR) * rates[0]
            add(metric, f'namespace="prod",pod="{first.name}",model_name="llama",engine="0"', served, at)
            since = passed if passed < 18 * HOUR else passed - 18 * HOUR
            add(metric, f'namespace="prod",pod="{second.name}",model_name="llama",engine="0"', since * rates[1], at)
            gone = (
                'namespace="monitoring",pod="exporter",exported_namespace="prod",exported_pod="gone",model_name="llama"'
            )
            add(metric, gone, passed * 1_000, at)
    return "\n".join([line for metric in lines.values() for line in metric] + ["# EOF", ""])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus"), data=counters()) as url:
        yield url


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(str(caught.value.code or 0))


def test_usd_per_million_tokens(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without any exporter of GPUs: their use isn't known, the tokens' price is. 150 tokens a second for half of the day and 30 all day."""
    asked = ("costs", "--idle", "demo", "--prometheus", address, "--days", "1")
    assert run(*asked, "-o", "json") == 0
    result = json.loads(capsys.readouterr().out)["result"]
    line = next(one for one in result["tokens"] if one["model"] == "llama")
    snapshot, book = demo.read(), embedded_book()
    hourly = usd_of_pods(book, snapshot)
    month = [hourly[pod.uid] * 730 for pod in pods()]
    assert (line["namespace"], line["pods"]) == ("prod", 2)
    assert line["prompt_tokens"] == pytest.approx((100 * 12 + 20 * 24) * 3_600 * 730 / 24, rel=0.01)
    assert line["generation_tokens"] == pytest.approx((50 * 12 + 10 * 24) * 3_600 * 730 / 24, rel=0.01)
    assert line["usd_per_month"] == pytest.approx(sum(month), abs=0.02)
    assert line["idle_usd"] == pytest.approx(month[0] / 2, rel=0.02)
    whole = bill(book, snapshot).bill_usd_per_month
    assert sum(one["usd_per_month"] for one in result["tokens"]) == pytest.approx(whole, abs=0.001)
    assert run(*asked, "-o", "csv", "--rows", "tokens") == 0
    (llama, *_) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    millions = (line["prompt_tokens"] + line["generation_tokens"]) / 1e6
    each = (line["usd_per_month"] - line["idle_usd"]) / millions
    assert float(llama["price_per_million_tokens"]) == pytest.approx(each, abs=1e-6)
    assert run(*asked) == 0
    assert f"${each:,.4g} per million tokens of llama in prod" in capsys.readouterr().out
