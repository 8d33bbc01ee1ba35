"""USD per million tokens, by hand on the demo's two llm-serve pods: rows add up to the bill, to the cent."""

from __future__ import annotations

import pytest

from planner.ground.records import replace
from planner.inventory.token_use import TokenUse
from planner.kubernetes.object_records import Pod, Snapshot
from planner.pricing.projected_bill import bill, usd_of_pods
from planner.pricing.token_cost import TokenShare, token_costs, tokens_sentence
from planner.questions.idle import QUESTION, IdleSettings, answer
from planner.questions.question import Inputs
from planner.sources import demo
from planner.sources.prices import embedded_book

DAY = 86_400.0
MONTH = 730 / 24  # days


def serving(snapshot: Snapshot) -> list[Pod]:
    return [pod for pod in snapshot.pods if pod.name.startswith("llm-serve-") and pod.node_name]


def use(pod: Pod, model: str, prompt: float, generation: float, *, busy: float = 1.0) -> TokenUse:
    """Of a day."""
    return TokenUse(
        namespace=pod.namespace, pod=pod.name, model=model, prompt_tokens=prompt, generation_tokens=generation, seconds=DAY,
        busy_seconds=busy * DAY,
    )  # fmt: skip


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


def test_by_hand_and_to_the_bill(snapshot: Snapshot) -> None:
    """A pod that serves half of the day, 6 million tokens of one model; one that serves two models all day, 3 to 1."""
    first, second = serving(snapshot)
    book = embedded_book()
    hourly = usd_of_pods(book, snapshot)
    month = [hourly[pod.uid] * 730 for pod in (first, second)]
    assert month[0] > 8_000, "four A100s of an a2-highgpu-4g with what it requests of the rest"
    uses = (
        use(first, "llama", 4e6, 2e6, busy=0.5),
        use(second, "llama", 2e6, 1e6),
        use(second, "qwen", 0.5e6, 0.5e6),
    )
    lines = token_costs(snapshot, uses, book)
    llama, qwen, others, nobody = lines
    assert (llama.namespace, llama.model, llama.pods) == ("prod", "llama", 2)
    assert llama.tokens == pytest.approx(9e6 * MONTH)
    assert llama.usd_per_month == pytest.approx(month[0] + 0.75 * month[1], abs=0.02)
    assert llama.idle_usd == pytest.approx(0.5 * month[0], abs=0.01)
    assert llama.usd_per_million(with_idle=False) == pytest.approx(
        (0.5 * month[0] + 0.75 * month[1]) / (9 * MONTH), abs=0.001
    )
    assert llama.usd_per_million(with_idle=True) == pytest.approx((month[0] + 0.75 * month[1]) / (9 * MONTH), abs=0.001)
    assert qwen.usd_per_month == pytest.approx(0.25 * month[1], abs=0.02)
    assert qwen.idle_usd == 0.0
    whole = bill(book, snapshot)
    assert whole.bill_idle is not None
    assert nobody.usd_per_month == pytest.approx(whole.bill_idle.total, abs=0.011)
    assert (others.share, nobody.share) == (TokenShare.OTHERS, TokenShare.NOBODY)
    assert round(sum(100 * (line.usd_per_month or 0.0) for line in lines)) == round(
        100 * (whole.bill_usd_per_month or 0)
    )


def test_a_pod_that_is_gone_bears_nothing_and_one_that_served_nothing_has_no_price_a_token(snapshot: Snapshot) -> None:
    first, _ = serving(snapshot)
    gone = replace(first, name="llm-serve-gone", uid="gone")
    lines = token_costs(
        snapshot, (use(gone, "llama", 1e6, 1e6), use(first, "qwen", 0.0, 0.0, busy=0.0)), embedded_book()
    )
    assert [line.model for line in lines] == ["qwen", "", ""]
    assert lines[0].usd_per_month == lines[0].idle_usd
    assert lines[0].usd_per_million(with_idle=True) is None
    assert tokens_sentence(lines) == ""


def test_a_machine_without_a_price_is_counted(snapshot: Snapshot) -> None:
    first, second = serving(snapshot)
    nodes = tuple(
        replace(node, labels=type(node.labels)({**node.labels, "node.kubernetes.io/instance-type": "a4x-highgpu-4g"}))
        if node.name == second.node_name
        else node
        for node in snapshot.nodes
    )
    there = replace(snapshot, nodes=nodes, digest="unpriced")
    lines = token_costs(there, (use(first, "llama", 1e6, 0.0), use(second, "llama", 1e6, 0.0)), embedded_book())
    assert (lines[0].pods, lines[0].unpriced_pods) == (2, 1)
    assert "1 pod without a price is not in it" in tokens_sentence(lines)


def test_the_question_has_a_column_and_says_it_first(snapshot: Snapshot) -> None:
    first, _ = serving(snapshot)
    given = Inputs(book=embedded_book(), gpu_uses=(), token_uses=(use(first, "llama", 4e6, 2e6, busy=0.5),))
    found = answer(snapshot, IdleSettings(), given)
    assert " per million tokens of llama in prod ($" in str(found.sentence)
    assert "of it without a token" in str(found.sentence)
    rows = {one.name: one.rows(found) for one in QUESTION.listings}["tokens"]
    assert rows[0]["price_per_million_tokens"] == pytest.approx(
        found.tokens[0].usd_per_million(with_idle=False), abs=1e-6
    )
    assert answer(snapshot, IdleSettings(), Inputs(book=embedded_book(), gpu_uses=())).tokens == ()
