"""What a filter lets through: by hand on the demo, and the same in every question that lists."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity.display_filter import ALL, Filter, keep
from planner.capacity.rollout_readiness import filtered
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.kubernetes.node_properties import NO_POOL
from planner.kubernetes.object_records import FrozenMap
from planner.kubernetes.selectors import labels_match, read_selector
from planner.pricing.allocation import AllocationKind
from planner.questions import costs, findings, memory, overview, plan, restarts, savings, seats
from planner.questions.question import Inputs
from planner.rollout.answers import Verdict
from planner.sources import demo
from planner.sources.prices import embedded_book

DEMO = demo.read()
GIVEN = Inputs(book=embedded_book())


def rolling(wanted: Filter) -> set[str]:
    kept = filtered(DEMO, wanted)
    return {w.key for w in DEMO.workloads if w.traits.rolls_out and kept.workload(w.key)}


def test_nothing_asked_lets_everything_through() -> None:
    assert keep(DEMO, Filter()) is ALL
    assert ALL.is_all
    assert ALL.workload("Deployment/x/y")
    assert ALL.pod("x", "y")
    assert ALL.node("n")
    assert ALL.about("")


def test_every_condition_has_to_hold() -> None:
    prod = rolling(Filter(namespaces=("prod",)))
    assert {key.split("/")[1] for key in prod} == {"prod"}
    assert len(prod) == 7
    assert rolling(Filter(namespaces=("prod",), search="API")) == {
        "Deployment/prod/api",
        "Deployment/prod/inference-api",
    }
    assert rolling(Filter(namespaces=("prod",), verdicts=(Verdict.STUCK,))) == {"Deployment/prod/llm-serve"}
    both = rolling(Filter(namespaces=("prod", "dev"), verdicts=(Verdict.STUCK,)))
    assert both == {"Deployment/prod/llm-serve", "Deployment/dev/inference-api", "Deployment/dev/notebook"}


def test_a_pool_is_its_nodes_and_what_has_pods_on_them() -> None:
    kept = keep(DEMO, Filter(pools=("gpu-t4",)))
    assert kept.pools == {"gpu-t4"}
    assert len(kept.nodes) == 6
    assert "Deployment/prod/ml-worker" in kept.workloads
    assert "Deployment/prod/llm-serve" not in kept.workloads  # on gpu-a100
    assert "Deployment/batch/trainer" not in kept.workloads  # waits: its pod is on no node


def test_nodes_are_listed_for_their_pods_and_for_their_own_name() -> None:
    holding = keep(DEMO, Filter(search="llm-serve"))
    assert {name.rsplit("-", 1)[0] for name in holding.nodes} == {"gke-edu-gpu-a100"}
    assert len(holding.nodes) == 2
    assert len(keep(DEMO, Filter(search="gpu-t4")).nodes) >= 6
    assert not keep(DEMO, Filter(search="gpu-t4", namespaces=("dev",))).nodes  # nothing of dev has that in its name


def test_labels_are_of_the_workload_or_of_its_pods() -> None:
    one = next(w for w in DEMO.workloads if w.template.labels and w.namespace == "prod")
    key, value = next(iter(one.template.labels.items()))
    kept = keep(DEMO, Filter(labels=f"{key}={value}"))
    assert one.key in kept.workloads
    assert one.key not in keep(DEMO, Filter(labels=f"{key}!={value}")).workloads


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("app=api", {"app": "api"}, True),
        ("app==api,tier!=test", {"app": "api"}, True),
        ("app=api,tier!=test", {"app": "api", "tier": "test"}, False),
        ("env in (a, b)", {"env": "b"}, True),
        ("env notin (a,b)", {"env": "b"}, False),
        ("env notin (a,b)", {}, True),
        ("app", {"app": ""}, True),
        ("!app", {"app": ""}, False),
        ("app=", {"app": ""}, True),
        ("", {"app": "x"}, True),
    ],
)
def test_selectors_are_kubectls(text: str, labels: dict[str, str], matches: bool) -> None:
    assert labels_match(read_selector(text), labels) is matches


@pytest.mark.parametrize("text", ["a=b=c", "a b", "in (a)", "a,,b", "a in b", "((("])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no label selector"):
        read_selector(text)


def test_a_name_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError, match='no namespace "prd"') as error:
        keep(DEMO, Filter(namespaces=("prd",)))
    assert "prod" in str(error.value.fix)
    bare = replace(DEMO, nodes=tuple(replace(node, labels=FrozenMap({})) for node in DEMO.nodes), digest="bare")
    assert keep(bare, Filter(pools=(NO_POOL,))).pools == {NO_POOL}


def test_findings_pass_by_their_object_and_those_about_everything_stay() -> None:
    kept = keep(DEMO, Filter(namespaces=("dev",)))
    assert kept.about("")
    assert kept.about("Deployment/dev/api")
    assert kept.about("ResourceQuota/dev/quota")
    assert not kept.about("Deployment/prod/api")
    assert not kept.about("ResourceQuota/prod/quota")
    assert not kept.about("Deployment/dev/gone")


@pytest.mark.parametrize("question", [overview, findings, memory, restarts, costs, plan, savings, seats])
def test_every_list_says_that_it_is_filtered_and_what_is_hidden(question: Any) -> None:
    whole = question.answer(DEMO, question.QUESTION.settings(), GIVEN)
    part = question.answer(DEMO, question.QUESTION.settings(filter=Filter(namespaces=("dev",))), GIVEN)
    sentence = str(
        part.report.sentence if question is restarts else part.cluster.sentence if question is memory else part.sentence
    )
    assert "in namespace dev" in sentence
    assert " hidden" in sentence
    assert sentence != str(getattr(whole, "sentence", ""))
    hidden = part.hidden_nodes if question is memory else part.hidden
    shown, every = (len(question.QUESTION.rows(one)) for one in (part, whole))
    if question in (overview, findings, seats, restarts):  # the rows are what the filter hides
        assert hidden == every - shown
    assert shown <= every


def test_the_overview_counts_only_what_is_listed() -> None:
    found = overview.answer(DEMO, overview.OverviewSettings(filter=Filter(namespaces=("prod",))))
    assert str(found.sentence) == "1 of 7 workloads in namespace prod would get stuck if changed now; 13 hidden."
    assert found.node_count == len(DEMO.nodes)  # the whole cluster's


def test_hidden_lines_of_a_bill_are_in_its_sum() -> None:
    whole = costs.answer(DEMO, costs.CostsSettings(), GIVEN)
    part = costs.answer(DEMO, costs.CostsSettings(filter=Filter(namespaces=("dev",))), GIVEN)
    assert {one.name for one in part.lines if one.share is AllocationKind.USED} == {"dev"}
    assert part.bill_usd_per_month == whole.bill_usd_per_month
    assert whole.bill_usd_per_month == pytest.approx(sum(one.usd for one in part.lines) + part.hidden_usd)


def test_hidden_savings_are_in_the_sums_and_moves_keep_their_place() -> None:
    whole = savings.answer(DEMO, savings.SavingsSettings(), GIVEN)
    part = savings.answer(DEMO, savings.SavingsSettings(filter=Filter(namespaces=("dev",))), GIVEN)
    assert whole.fleet is not None
    assert part.fleet is not None
    assert part.fleet.saved_usd == whole.fleet.saved_usd
    assert {one.workload.split("/")[1] for one in part.fleet.moves} == {"dev"}
    assert set(part.fleet.moves) < set(whole.fleet.moves)
    assert [one.place for one in whole.fleet.moves] == list(range(1, len(whole.fleet.moves) + 1))
    shown = sum(one.saved_usd or 0.0 for one in part.lines)
    assert shown + part.hidden_usd == pytest.approx(whole.fleet.expected_usd, abs=0.02)
    assert {one.name for one in part.fleet.bearers if one.share is AllocationKind.USED} == {"dev"}
    assert part.hidden_namespaces == len(whole.fleet.bearers) - len(part.fleet.bearers)
    pool = savings.answer(DEMO, savings.SavingsSettings(filter=Filter(pools=("gpu-t4",))), GIVEN)
    assert pool.fleet is not None
    assert {one.node_pool for one in pool.fleet.moves} == {"gpu-t4"}


def test_a_filter_is_for_the_list_and_not_for_one_workload() -> None:
    asked = savings.SavingsSettings(workload="Deployment/prod/web", filter=Filter(namespaces=("dev",)))
    with pytest.raises(InputError, match="it lists workloads, and one is asked for"):
        savings.answer(DEMO, asked, GIVEN)


def test_the_plan_keeps_every_measure_since_they_work_together() -> None:
    whole = plan.answer(DEMO, plan.PlanSettings(), GIVEN)
    part = plan.answer(DEMO, plan.PlanSettings(filter=Filter(namespaces=("dev",))), GIVEN)
    assert part.measures == whole.measures
    listed = [one.workload for one in part.order] + [one.workload for one in part.left]
    assert {key.split("/")[1] for key in listed} == {"dev"}
    assert part.hidden == len(whole.order) + len(whole.left) - len(part.order) - len(part.left)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Filter(namespaces=("prod",)), "1 of 7 workloads in namespace prod would get stuck if changed now; 13 hidden."),
        (Filter(search="web"), "All 2 workloads with “web” in the name can roll out now; 18 hidden."),
        (Filter(search="nothing"), "No workload with “nothing” in the name; 20 hidden."),
        (Filter(), "5 of 20 workloads would get stuck if changed now."),
    ],
)
def test_the_overview_says_how_many_it_hides(asked: Filter, said: str) -> None:
    assert str(overview.answer(DEMO, overview.OverviewSettings(filter=asked)).sentence) == said
