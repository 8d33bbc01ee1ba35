from __future__ import annotations

from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.pricing.price_book import PriceBook
from planner.questions import savings as plan_savings
from planner.questions.question import Inputs
from planner.questions.savings import SavingsSettings
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot import savings_inputs as spot_inputs
from planner.spot.assumptions import SETTINGS, Capacity, SpotSettings, Work
from planner.spot.savings_inputs import Derived

WORKER = "Deployment/prod/ml-worker"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return embedded_book()


@pytest.fixture(scope="module")
def worker(snapshot: Snapshot, book: PriceBook) -> Derived:
    return spot_inputs.derive(snapshot, book, WORKER)


def test_the_cluster_tells_nodes_prices_and_times(worker: Derived) -> None:
    values = worker.values
    assert (values["nodes"], values["gpus_per_node"], values["zones"]) == (6, 1, 2)
    assert values["needed_nodes"] == 5  # the PodDisruptionBudget wants 5 of 6 pods
    # 8 vCPUs and 30 GiB of N1 and a T4 in Seoul: 0.487514 + 0.37, less 30 % for a whole month
    assert values["stand_in_usd_per_hour"] == pytest.approx(0.857514)
    assert values["on_demand_usd_per_hour"] == pytest.approx(0.857514 * 0.7, abs=1e-6)
    assert values["spot_usd_per_hour"] == pytest.approx(0.18964 + 0.1841)
    assert values["pod_start_seconds"] == 101
    assert values["window_seconds"] == 15
    assert "30% for sustained use" in worker.sources["on_demand_usd_per_hour"]
    assert (worker.work, worker.bought_as, worker.as_of) == (Work.JOBS, "on-demand", "2026-07-16")


def test_pods_that_share_a_node_need_fewer_nodes(snapshot: Snapshot, book: PriceBook) -> None:
    api = spot_inputs.derive(snapshot, book, "Deployment/prod/inference-api")
    assert (api.values["nodes"], api.values["gpus_per_node"], api.values["needed_nodes"]) == (3, 2, 2)
    job = spot_inputs.derive(snapshot, book, "Job/batch/embed-nightly")
    assert (job.values["retries"], job.counted_retries) == (None, 6), "the listed podFailurePolicy is taken as made"


def test_a_pod_that_waits_is_priced_by_the_node_it_asks_for(snapshot: Snapshot, book: PriceBook) -> None:
    waiting = spot_inputs.derive(snapshot, book, "Deployment/llm-lab/llm-canary")
    assert waiting.machine_type == "a2-highgpu-4g"
    assert waiting.values["flex_start_usd_per_hour"] is not None


def test_what_is_asked_wins_over_what_is_derived(worker: Derived) -> None:
    found = spot_inputs.assume(worker, {"nodes": 10, "spot_usd_per_hour": 0.2, "capacity": Capacity.PREEMPTIBLE})
    assert (found.nodes, found.needed_nodes, found.spot_usd_per_hour) == (10, 9, 0.2)
    assert found.capacity is Capacity.PREEMPTIBLE
    assert spot_inputs.assume(worker, {"nodes": None}) == spot_inputs.assume(worker, {})


def test_a_price_nobody_knows_is_asked_for(snapshot: Snapshot, book: PriceBook) -> None:
    elsewhere = replace(
        snapshot,
        nodes=tuple(
            replace(
                node, labels=FrozenMap({**node.labels, "topology.kubernetes.io/region": "mars", "topology.kubernetes.io/zone": "mars-a"})
            )
            for node in snapshot.nodes
        ),
    )  # fmt: skip
    derived = spot_inputs.derive(elsewhere, book, WORKER)
    with pytest.raises(InputError, match="no price"):
        spot_inputs.assume(derived, {})
    given = spot_inputs.assume(derived, {"on_demand_usd_per_hour": 1.0, "spot_usd_per_hour": 0.4})
    assert given.on_demand_usd_per_hour == 1.0


def test_no_node_that_suits_is_a_sentence(snapshot: Snapshot, book: PriceBook) -> None:
    bare = replace(snapshot, nodes=(), pods=())
    with pytest.raises(InputError, match="no node of the cluster suits"):
        spot_inputs.assume(spot_inputs.derive(bare, book, WORKER), {})


@pytest.mark.parametrize(
    ("asked", "words"), [({"colour": 1}, "no assumption called colour"), ({"availability": 7}, "not possible")]
)
def test_what_can_t_be_is_refused(worker: Derived, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        spot_inputs.assume(worker, asked)


def test_unknown_workload_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(InputError, match='no workload "Deployment/x/y"'):
        spot_inputs.find(snapshot, "Deployment/x/y")


def test_the_table_says_where_each_value_comes_from(worker: Derived) -> None:
    asked = {"job_minutes": 5.0}
    rows = {row.name: row for row in spot_inputs.table(worker, asked, spot_inputs.assume(worker, asked))}
    assert rows.keys() >= {setting.name for setting in SETTINGS} | {"work", "capacity", "fallback", "saves_on_notice"}
    assert (rows["job_minutes"].value, rows["job_minutes"].source) == (5.0, "given")
    assert rows["needed_nodes"].source == "PodDisruptionBudget ml-worker: 5 of 6 pods"
    assert rows["committed_usd_per_hour"].value is None
    assert all(row.source for row in rows.values())


def test_one_workload_has_its_detail_and_a_line(snapshot: Snapshot, book: PriceBook) -> None:
    settings = SavingsSettings(workload=WORKER, spot=SpotSettings(runs=200))
    answer = plan_savings.answer(snapshot, settings, Inputs(book=book))
    assert answer.detail is not None
    assert answer.lines[0].saved_usd == pytest.approx(answer.detail.estimate.savings.saved_usd.mean, rel=0.02)
    assert {row.name: row.source for row in answer.detail.assumptions}["runs"] == "given"
    rows = plan_savings.QUESTION.rows(answer, "figures")
    assert len({tuple(row) for row in rows}) == 1, "all rows have the same columns"
    assert [row["name"] for row in rows if row["kind"] == "step"][-1] == "Net"


def test_without_a_workload_each_has_a_line(snapshot: Snapshot, book: PriceBook) -> None:
    answer = plan_savings.answer(snapshot, SavingsSettings(spot=SpotSettings(runs=100)), Inputs(book=book))
    assert [line.workload for line in answer.lines] == [one.key for one in spot_inputs.workloads(snapshot)]
    unknown = [line for line in answer.lines if line.saved_usd is None]
    assert all(line.why and line.on_demand_usd is None for line in unknown), "no price is no 0"


def test_without_a_price_book_nothing_is_assumed(snapshot: Snapshot) -> None:
    with pytest.raises(InputError, match="no price book"):
        plan_savings.answer(snapshot, SavingsSettings(workload=WORKER))


def test_workloads_with_gpus_stand_first(snapshot: Snapshot) -> None:
    keys = [workload.key for workload in spot_inputs.workloads(snapshot)]
    assert keys[0] == WORKER
    assert not any("kube-system" in key or key.startswith("DaemonSet") for key in keys)
    assert keys.index("Deployment/prod/web") > keys.index("Job/batch/embed-nightly")
