"""One price and one duration of an added node, at every door that says them: `planner.pricing.added_nodes`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planner.capacity.rollout_readiness import overview
from planner.capacity.strategy_prices import costs_of
from planner.capacity.survival import survival
from planner.cli.rollout import command
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.object_records import FrozenMap, Node, Snapshot
from planner.pricing.added_nodes import AddedNodes, price_of_nodes, priced
from planner.pricing.node_price import price_node
from planner.pricing.owned_commitments import paid_for, parse_commitments
from planner.pricing.price_book import PriceBook, Provisioning
from planner.questions.costs import QUESTION as COSTS
from planner.questions.costs import CostsSettings
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.questions.rollout import answer as rollout_answer
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_report import ALL, certificate
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Remedy, RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders.objects import ZONE, deployment, node, pod, pod_spec, read_items, snapshot
from tests.capacity.test_certificate import random_case
from tests.remedies.doors import of_prices
from tests.rollout.rollouts import WORKER, rolling

BOOK = embedded_book()
CASE = Path(__file__).parent / "data" / "spot-pool-grows.json.gz"  # three g2-standard-12 on spot, full, in pool l4-spot
LLM_SERVE = "Deployment/prod/llm-serve"
A2_HOUR, ROLLOUT = 16.198, 300 + 1_154 + 600  # USD; seconds: the node's start, the rollout, and until it is taken back


def contradictions(asked: Snapshot, workload: str, book: PriceBook | None = None) -> list[str]:
    scenario = Scenario(changes=(WorkloadChange(workload=workload),))
    return list(of_prices(rollout(asked, scenario, book=book), certificate(asked, scenario, ALL, (), book)))


def added(asked: Snapshot, workload: str = WORKER) -> Remedy:
    ways = rollout(asked, Scenario(changes=(WorkloadChange(workload=workload),)), book=BOOK).remedies
    return next(one for one in ways if one.kind is RemedyKind.ADD_NODE)


def test_one_node_for_one_rollout_has_one_price_everywhere() -> None:
    asked, by_hand = demo.read(), A2_HOUR * ROLLOUT / 3600
    scenario = Scenario(changes=(WorkloadChange(workload=LLM_SERVE, max_surge=1, max_unavailable=0),))
    title = "1 more node in gpu-a100, llm-lab/llm-canary at 0 replicas meanwhile"
    (one,) = (one for one in certificate(asked, scenario, ALL, (), BOOK).plans if str(one.title) == title)
    assert (one.usd, one.usd_per_rollout) == pytest.approx((by_hand, by_hand), rel=1e-4)
    assert one.seconds == ROLLOUT - 600
    surge = next(one for one in costs_of(asked, scenario, LLM_SERVE, BOOK, {}).strategies if one.name == "Surge 1")
    assert surge.cost is not None
    assert surge.cost.added_usd == pytest.approx(20 * by_hand, rel=1e-4)
    planned = plan(asked, PlanSettings(least_ready_percent=100), Inputs(book=BOOK))
    (measure,) = (one for one in planned.measures if one.workload == LLM_SERVE and one.nodes == 1)
    assert measure.usd_per_rollout == pytest.approx(by_hand, rel=1e-4)


def spot_pool() -> Snapshot:
    return read_items(json.loads(gzip.decompress(CASE.read_bytes()))["items"])


def _like(asked: Snapshot, pool: str) -> Node:
    return next(node for node in asked.nodes if pool in node.name)


def test_of_two_nodes_of_which_one_goes_again_one_is_paid_for_all_month() -> None:
    way = added(demo.read(), LLM_SERVE)
    assert (way.extra_nodes, way.kept_nodes, way.is_kept) == (2, 1, True)
    assert way.usd_per_month == pytest.approx(11_824.81, abs=0.01)
    assert way.usd_per_rollout == pytest.approx(9.24, abs=0.01)
    assert str(way.price) == "$11,825 a month, $9.24 for one rollout: 1 of them stays in use afterwards"
    assert "1 of them stays in use afterwards, the other node can be removed; $11,825 a month" in str(way.sentence)


@pytest.mark.parametrize(("waiting", "kept"), [(0, 0), (1, 1), (2, 2)])
def test_as_many_nodes_stay_as_pods_need(waiting: int, kept: int) -> None:
    """Pods that wait stay on new nodes; the surge's place goes again."""
    pods = [deployment("other", [""] * waiting, pod_spec(gpus=1))] if waiting else []
    full = [node("n0", pool="gpu", gpus=1)]
    asked = snapshot(*full, deployment("worker", ["n0"], pod_spec(gpus=1), strategy=rolling(1, 0)), *pods)
    way = added(asked)
    assert (way.extra_nodes, way.kept_nodes) == (1 + waiting, kept)


def test_two_half_full_nodes_become_one() -> None:
    """Three nodes come: for the surge, and half of one for each pod that waits. One is enough for what stays once the old pod has gone."""
    asked = snapshot(
        node("n0", pool="gpu", gpus=2), deployment("worker", ["n0"], pod_spec(gpus=2), strategy=rolling(1, 0)),
        deployment("other", ["", ""], pod_spec(gpus=1)),
    )  # fmt: skip
    assert (added(asked).extra_nodes, added(asked).kept_nodes) == (3, 1)


def test_a_spot_pool_brings_a_spot_node_at_every_door() -> None:
    asked = spot_pool()
    given = Inputs(book=BOOK, limits=(PoolLimits(name="l4-spot", maximum=6, source=LimitSource.TYPED),))
    bill = COSTS.answer(asked, CostsSettings(), given).usd_per_month
    assert bill is not None
    month, way = bill / 3, added(asked, "Deployment/a/srv")
    assert month == pytest.approx(373.21, abs=0.01)
    (measure,) = plan(asked, PlanSettings(least_ready_percent=100), given).measures
    assert (measure.usd_per_month, measure.usd_per_rollout) == pytest.approx((month, 0.18), abs=0.005)
    assert (way.usd_per_month, way.usd_per_rollout) == (measure.usd_per_month, measure.usd_per_rollout)
    assert survival(asked, book=BOOK).usd_per_month == pytest.approx(month)
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/a/srv"),))
    surge = next(
        one for one in costs_of(asked, scenario, "Deployment/a/srv", BOOK, {}).strategies if one.name == "Surge 1"
    )
    assert surge.cost is not None
    assert surge.cost.added_usd == pytest.approx(20 * (way.usd_per_rollout or 0))
    assert surge.cost.kept_on_demand_usd == pytest.approx(730, abs=1), "what is asked for by name is what it is"
    given_price = costs_of(asked, scenario, "Deployment/a/srv", BOOK, {"spot_usd_per_gpu_hour": 1.0})
    cost = next(one.cost for one in given_price.strategies if one.name == "Surge 1")
    assert cost is not None
    assert cost.added_usd == pytest.approx(20 * cost.added_hours), "a price that is given counts"


def test_a_commitment_pays_for_no_spot_node() -> None:
    spot = spot_pool()
    rows = "machine_type,region,nodes,term,usd_per_hour,id\ng2-standard-12,us-central1,9,1y,0.1,\nn1-standard-8,asia-northeast3,9,1y,0.1,\n"
    owned = BOOK.with_commitments(parse_commitments(rows, where="owned.csv"))
    assert paid_for(owned, spot.nodes, spot.nodes[0]) == 0
    on_demand = demo.read()
    assert paid_for(owned, on_demand.nodes, _like(on_demand, "gpu-t4")) == 3, "nine are paid for, six are there"


def test_places_of_a_pool_share_what_a_commitment_pays_for() -> None:
    """Three more are paid for: it is the same wherever they are, and one that stays has it before one that goes again."""
    rows = "machine_type,region,nodes,term,usd_per_hour,id\nn1-standard-8,asia-northeast3,9,1y,0.1,\n"
    asked = demo.read()
    like, other = _like(asked, "gpu-t4"), _like(asked, "gpu-a100")
    prices = AddedNodes(
        BOOK.with_commitments(parse_commitments(rows, where="owned.csv")), asked.nodes, [like, like, other]
    )
    each = price_of_nodes(BOOK, asked.nodes, like, 1, 0.0)

    def month(*numbers: int, stay: tuple[int, ...] = (0, 0, 0)) -> float:
        price = prices.price(numbers, stay, 600.0)
        assert price is not None
        return price.usd_per_month

    assert each is not None
    assert month(3, 0, 0) == month(0, 3, 0) == month(1, 2, 0) == 0
    assert month(3, 1, 0) == month(0, 4, 0) == each.usd_per_month
    assert month(0, 0, 1) > 0, "another machine isn't paid for"
    assert month(3, 1, 0, stay=(0, 1, 0)) == 0


def test_what_a_commitment_pays_for_does_not_depend_on_the_order_of_places() -> None:
    """Two more are paid for: they are the two dearer ones, whichever stands first."""
    rows = "machine_type,region,nodes,term,usd_per_hour,id\nn1-standard-8,asia-northeast3,8,1y,0.1,\n"
    asked = demo.read()
    dear = _like(asked, "gpu-t4")
    bare = {name: amount for name, amount in dear.allocatable.items() if name != "nvidia.com/gpu"}
    labels = {key: value for key, value in dear.labels.items() if "accelerator" not in key}
    cheap = replace(dear, name="bare", allocatable=FrozenMap(bare), capacity=FrozenMap(bare), labels=FrozenMap(labels))
    owned = BOOK.with_commitments(parse_commitments(rows, where="owned.csv"))
    orders = ([dear, cheap], [cheap, dear])
    months = [AddedNodes(owned, asked.nodes, likes).price([2, 2], [0, 0], 600.0) for likes in orders]
    of_cheap = price_of_nodes(BOOK, asked.nodes, cheap, 2, 600.0)
    of_dear = price_of_nodes(BOOK, asked.nodes, dear, 2, 600.0)
    assert months[0] == months[1]
    assert of_cheap is not None
    assert of_dear is not None
    assert months[0] is not None
    assert of_cheap.usd_per_month == months[0].usd_per_month < of_dear.usd_per_month


ZONES = [f"asia-northeast3-{place}" for place in "ab"]


def two_zones(*spread: dict[str, Any], waits: int) -> Snapshot:
    """A pool of two T4 nodes, one a zone, each full of a pod of a Deployment that surges; `waits`: pods that are pending in the first."""
    model = _like(demo.read(), "gpu-t4")
    specs = [pod_spec(gpus=1, **more) for more in spread]
    pods = [pod(f"x{i}", pod_spec(gpus=1, nodeSelector={ZONE: ZONES[0]})) for i in range(waits)]
    found = snapshot(
        [node(f"n{i}", gpus=1, zone=zone) for i, zone in enumerate(ZONES)], pods,
        *(deployment(name, [f"n{i}"], specs[i], strategy=rolling(1, 0)) for i, name in enumerate("bc")),
    )  # fmt: skip
    labels = [{**model.labels, ZONE: one.labels[ZONE], "kubernetes.io/hostname": one.name} for one in found.nodes]
    nodes = (
        replace(model, name=one.name, uid=one.name, taints=(), allocatable=one.allocatable, labels=FrozenMap(of))
        for one, of in zip(found.nodes, labels, strict=True)
    )
    return replace(found, nodes=tuple(nodes))


def test_a_plan_counts_a_month_of_the_nodes_that_stay_only() -> None:
    """One of two nodes in the first zone stays, with the pod that was pending; that of the second zone goes again: the plan for both
    workloads costs what the certificate says of both."""
    asked = two_zones(*({"nodeSelector": {ZONE: zone}} for zone in ZONES), waits=1)
    found = plan(asked, PlanSettings(least_ready_percent=100), Inputs(book=BOOK))
    both = Scenario(changes=tuple(WorkloadChange(workload=f"Deployment/ml/{name}") for name in "bc"))
    (mine,) = certificate(asked, both, {Lever.NODES}, (), BOOK).plans[-1:]
    assert (found.nodes, mine.nodes, mine.kept_nodes) == (3, 3, 1)
    assert (found.usd_per_month, found.usd_per_rollout) == pytest.approx((mine.usd_per_month, mine.usd_per_rollout))
    assert "a month, since pods that have no other node stay on 1 of them" in str(found.sentence)


def test_fewer_nodes_for_two_workloads_are_in_the_zone_that_one_of_them_needs() -> None:
    """The first is at home in both zones, the second in one: a node there does for both, and the step says where."""
    asked = two_zones({}, {"nodeSelector": {ZONE: ZONES[1]}}, waits=0)
    found = plan(asked, PlanSettings(least_ready_percent=100), Inputs(book=BOOK))
    (nodes,) = (measure for measure in found.measures if measure.nodes)
    assert nodes.nodes == 1
    assert f"zone {ZONES[1]}" in str(nodes.what)
    assert nodes.command.endswith(f"the new nodes have to be in zone {ZONES[1]}")


@pytest.mark.parametrize("names", ["bc", "cb"])
def test_the_zone_that_one_of_two_changes_needs_is_said_whichever_stands_first(names: str) -> None:
    asked = two_zones({}, {"nodeSelector": {ZONE: ZONES[0]}}, waits=0)
    both = Scenario(changes=tuple(WorkloadChange(workload=f"Deployment/ml/{name}") for name in names))
    first, *_ = certificate(asked, both, {Lever.NODES}, (), BOOK).plans
    assert str(first.title) == f"1 more node in gpu-t4, zone {ZONES[0]}"
    assert first.steps[0].commands[0].endswith(f"the new nodes have to be in zone {ZONES[0]}")


def test_price_and_duration_of_a_way_out_stand_in_every_format() -> None:
    way = added(demo.read(), LLM_SERVE)
    arguments = ["demo", "-w", LLM_SERVE]
    text = " ".join(CliRunner().invoke(command, arguments, standalone_mode=False).output.split())
    assert "$11,825 a month, $9.24 for one rollout" in text
    assert "about 24 min" in text
    document = json.loads(CliRunner().invoke(command, [*arguments, "-o", "json"], standalone_mode=False).output)
    (mine,) = (one for one in document["result"]["remedies"] if one["extra_nodes"])
    assert (mine["usd_per_month"], mine["usd_per_rollout"], mine["kept_nodes"]) == (
        way.usd_per_month,
        way.usd_per_rollout,
        1,
    )
    assert (mine["seconds"], mine["price"]) == (way.seconds, str(way.price))


def test_a_way_out_takes_as_long_as_growth_does() -> None:
    """The node's arrival is in both, the given one too."""
    asked = snapshot(
        node("n0", pool="gpu", gpus=1), deployment("worker", ["n0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    )
    limits = (PoolLimits(name="gpu", maximum=2, source=LimitSource.TYPED),)
    for arrival in (None, 60.0):
        settings = RolloutSettings(workloads=(WORKER,), arrival_seconds=arrival)
        stuck, grown = rollout_answer(asked, settings), rollout_answer(asked, settings, Inputs(limits=limits))
        assert (stuck.verdict, grown.verdict) == (Verdict.STUCK, Verdict.NEEDS_GROWTH)
        way = next(one for one in stuck.remedies if one.kind is RemedyKind.ADD_NODE)
        assert way.seconds == grown.seconds
        assert way.arrival_seconds == (300.0 if arrival is None else arrival)


def test_another_price_is_seen() -> None:
    asked, scenario = spot_pool(), Scenario(changes=(WorkloadChange(workload="Deployment/a/srv"),))
    alone, every = rollout(asked, scenario, book=BOOK), certificate(asked, scenario, ALL, (), BOOK)
    assert not list(of_prices(alone, every))
    dearer = replace(alone, remedies=tuple(replace(one, usd_per_month=1.0, seconds=1.0) for one in alone.remedies))
    differing = list(of_prices(dearer, every))
    assert sum(": seconds " in one for one in differing) == 2  # of the two ways that the certificate has too
    assert sum(": usd_per_month " in one for one in differing) == 2


def test_what_has_no_price_has_none() -> None:
    assert price_of_nodes(None, (), _like(demo.read(), "gpu-t4"), 1, 60.0) is None
    assert priced(None, None, 2, 1) == "no price"
    nameless = snapshot(node("n0", pool="gpu", gpus=1)).nodes[0]
    prices = AddedNodes(BOOK, (), [_like(demo.read(), "gpu-t4"), nameless])
    assert not prices.is_priced
    assert prices.price([1, 1], [0, 0], 60.0) is None
    only = prices.price([1, 0], [0, 0], 60.0)
    hourly = price_node(BOOK, _like(demo.read(), "gpu-t4"), Provisioning.ON_DEMAND).price.usd_per_hour
    assert only is not None
    assert hourly is not None
    assert only.usd == pytest.approx(hourly * (300 + 60 + 600) / 3600)


def test_ways_out_and_all_plans_agree() -> None:
    asked = demo.read()
    stuck = [row.workload for row in overview(asked).workloads if row.verdict is Verdict.STUCK]
    assert len(stuck) >= 4
    assert not [said for workload in stuck for said in contradictions(asked, workload, BOOK)]


@pytest.mark.parametrize("seed", range(12))
def test_ways_out_and_all_plans_agree_on_random_clusters(seed: int) -> None:
    try:
        assert not contradictions(random_case(seed), WORKER)
    except HeadroomError as error:
        pytest.skip(str(error))
