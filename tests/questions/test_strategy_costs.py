"""The price of every strategy, by hand: on the demo, and on three workers with a GPU each."""

from __future__ import annotations

import pytest

from planner.capacity import strategy_prices, strategy_spare_gpus
from planner.capacity.strategy_prices import StrategyCosts, StrategyPrice, costs_of
from planner.ground import work_budget
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.pricing.strategy_cost import SpareTerms
from planner.remedies import rollout_with_remedies
from planner.remedies.price import with_price
from planner.rollout.answers import RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders import objects
from tests.pages.clusters import WORKER, full, node, snapshot, worker
from tests.rollout.rollouts import daemon_set, rolling

BOOK = embedded_book()
OWN = {"on_demand_usd_per_gpu_hour": 0.35, "spot_usd_per_gpu_hour": 0.19}


def costs(cluster: Snapshot, key: str, *, asked: dict[str, float] | None = None, **change: object) -> StrategyCosts:
    scenario = Scenario(changes=(WorkloadChange(workload=key, **change),))  # type: ignore[arg-type]
    return costs_of(cluster, scenario, key, BOOK, asked or {})


def named(found: StrategyCosts, name: str) -> StrategyPrice:
    return next(one for one in found.strategies if one.name == name)


def test_three_workers_by_hand() -> None:
    """Start-up 60 s, termination 30 s, no GPU free, 20 rollouts a month, 300 s until a node comes, 600 s until it goes.

    Surge 1 with a fourth GPU: a new pod is Ready after 60 s; the next starts when an old one is gone, 30 s later: 60 +
    2 x 90 = 240 s, and 30 s more until the last old pod is gone.
    """
    found = costs(full(), WORKER, asked=OWN, startup_seconds=60.0, termination_seconds=30.0)
    surge = named(found, "Surge 1")
    assert (surge.verdict, surge.needs_room, surge.extra_gpus, surge.lowest_ready) == (Verdict.STUCK, True, 1, 3)
    assert surge.seconds == pytest.approx(60 + 2 * 90 + 30)
    assert surge.cost is not None
    assert surge.cost.kept_on_demand_usd == pytest.approx(0.35 * 730)
    assert surge.cost.kept_on_spot_usd == pytest.approx(0.19 * 730)
    assert surge.cost.added_usd == pytest.approx(20 * 0.35 * (300 + 270 + 600) / 3600)

    swap = named(found, "Unavailable 1")
    assert (swap.verdict, swap.needs_room, swap.extra_gpus, swap.lowest_ready) == (Verdict.COMPLETES, False, 0, 2)
    assert swap.seconds == pytest.approx(3 * 90)
    assert swap.cost is not None
    assert (swap.cost.kept_on_demand_usd, swap.cost.added_usd) == (0, 0)
    assert swap.cost.missing_pod_hours == pytest.approx(20 * 270 / 3600)
    assert str(found.sentence) == (
        "Surge 1 costs $255 a month as a spare GPU, $139 as a spare GPU on spot, $2.27 a month as a node added for each "
        "of 20 rollouts; or nothing with unavailable 1: two of three pods for 4 min 30 s."
    )


def test_what_is_asked_stands_in_the_price() -> None:
    asked = OWN | {"rollouts_per_month": 4.0, "node_start_seconds": 60.0, "scale_down_seconds": 0.0}
    found = costs(full(), WORKER, asked=asked, startup_seconds=60.0, termination_seconds=30.0)
    cost = named(found, "Surge 1").cost
    assert cost is not None
    assert cost.added_usd == pytest.approx(4 * 0.35 * (60 + 270) / 3600)
    assert dict(found.sources)["rollouts_per_month"] == "given"
    assert dict(found.sources)["scale_down_seconds"] == "given"


def test_the_demos_worker() -> None:
    """A T4 on an n1-standard-8 in Seoul: 0.487514 + 0.37 an hour, 0.2255 + 0.13096 on spot (data/prices)."""
    found = costs(demo.read(), "Deployment/prod/ml-worker")
    surge = named(found, "Surge 1")
    assert (surge.verdict, surge.extra_gpus, surge.lowest_ready, surge.replicas) == (Verdict.STUCK, 1, 6, 6)
    assert surge.cost is not None
    assert surge.seconds is not None
    assert surge.cost.kept_on_demand_usd == pytest.approx((0.487514 + 0.37) * 0.7 * 730)
    assert surge.cost.kept_on_spot_usd == pytest.approx(0.37374 * 730)
    assert surge.cost.added_usd == pytest.approx(20 * 0.857514 * (300 + surge.seconds + 600) / 3600)
    assert (found.node_pool, found.machine_type, found.as_of) == ("gpu-t4", "n1-standard-8", "2026-07-16")
    assert str(found.sentence).startswith("Surge 1 costs $438 a month as a spare T4, $273 as a spare T4 on spot, $")
    assert "; or nothing with unavailable 1: five of six pods for" in str(found.sentence)
    assert not found.notes


def test_the_demos_server_needs_whole_nodes_and_someone_is_before_it() -> None:
    """Four A100s a pod, four a node: 16.198364 an hour. llm-canary waits for such a node already, and gets its own."""
    found = costs(demo.read(), "Deployment/prod/llm-serve")
    surge, two = named(found, "Surge 1"), named(found, "Surge 2")
    assert surge.cost is not None
    assert two.cost is not None
    assert (surge.extra_gpus, surge.cost.billed_gpus, two.extra_gpus) == (4, 4, 8)
    assert surge.cost.kept_on_demand_usd == pytest.approx(16.198364 * 730)
    assert two.cost.kept_on_demand_usd == pytest.approx(2 * 16.198364 * 730)
    swap = named(found, "Unavailable 1")
    assert (swap.verdict, swap.needs_room, swap.extra_gpus) == (Verdict.STUCK, True, 0)
    assert len(found.notes) == 1
    assert found.notes[0].startswith("llm-lab/llm-canary waits for")
    assert "1 node first" in found.notes[0]


def test_room_that_is_there_is_used_and_late_pods_need_none() -> None:
    """A fourth GPU is free: surge 1 completes today with it. A pod that ends late isn't a spare GPU of surge 0."""
    cluster = snapshot(*(node(f"node-{place}", 1) for place in range(4)), *worker(3))
    found = costs(cluster, WORKER, asked=OWN)
    surge, swap = named(found, "Surge 1"), named(found, "Unavailable 1")
    assert (surge.verdict, surge.needs_room, surge.extra_gpus) == (Verdict.COMPLETES, False, 1)
    assert (swap.verdict, swap.extra_gpus) == (Verdict.COMPLETES, 0)


def test_a_pod_that_fills_a_node_costs_the_whole_node() -> None:
    """Two GPUs a node, but each pod takes most of its CPU: two more pods are two more nodes, so four GPUs."""
    cluster = snapshot(*(node(f"node-{place}", 2) for place in range(3)), *worker(3))
    found = costs(cluster, WORKER, asked=OWN, requests=FrozenMap({"cpu": 5000}))
    two = named(found, "Surge 2")
    assert two.cost is not None
    assert (two.extra_gpus, two.cost.billed_gpus) == (2, 4)


def test_an_unknown_price_is_not_nothing() -> None:
    found = costs(full(), WORKER)
    surge = named(found, "Surge 1")
    assert surge.cost is not None
    assert (surge.cost.kept_on_demand_usd, surge.cost.kept_on_spot_usd, surge.cost.added_usd) == (None, None, None)
    assert "there is no price" in str(found.sentence)
    assert found.notes[0].startswith("no price: ")


def test_what_more_nodes_do_not_help_has_no_price() -> None:
    found = costs(full(), WORKER, asked=OWN, never_ready=True)
    for one in found.strategies:
        assert (one.verdict, one.cost, one.extra_gpus, one.seconds) == (Verdict.STUCK, None, None, None)
    assert str(found.sentence) == "No strategy was found that completes, even with more nodes."
    assert str(named(found, "Surge 1").sentence) == "Surge 1 wasn't found to complete, even with more nodes."


def test_what_is_too_large_to_play_is_not_called_stuck() -> None:
    with work_budget.allowed(units=1):
        found = costs(full(), WORKER, asked=OWN, never_ready=True)
    assert str(found.sentence) == "Not known: too large to play through."
    assert str(named(found, "Surge 1").sentence) == "Surge 1 is too large to play through."


def test_pods_that_have_no_place_get_their_nodes_beside_the_price() -> None:
    """Three workers on three GPUs, scaled to five: two nodes for the two, one more for a surge of one."""
    found = costs(full(), WORKER, asked=OWN, replicas=5)
    assert named(found, "Surge 1").extra_gpus == 1
    assert found.notes == (
        "2 of its own 5 pods wait for the same nodes and would take 2 nodes first, whatever the strategy: not in these prices",
    )


def test_of_a_size_that_has_no_place_no_strategy_is_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy_spare_gpus, "play_cell", None)  # it isn't even played
    found = costs(full(), WORKER, asked=OWN, replicas=103)
    assert {one.cost for one in found.strategies} == {None}
    assert (
        str(found.sentence)
        == "No strategy was found that completes: 100 of 103 pods have no place, however they are rolled out."
    )
    assert found.notes == ("100 of its own 103 pods have no place: add nodes for them first, then compare strategies",)


def test_who_may_preempt_has_the_place_of_others() -> None:
    """Ten GPUs are held by pods of lower priority: one worker scaled to ten takes nine of them, and lacks none."""
    nodes = [objects.node(f"n{i}", gpus=1, pool="t4") for i in range(11)]
    high, low = objects.pod_spec(gpus=1, priority=1_000), objects.pod_spec(gpus=1, priority=0)
    others = objects.deployment("low", [f"n{i}" for i in range(1, 11)], low)
    cluster = objects.snapshot(nodes, objects.deployment("high", ["n0"], high), others)
    found = costs(cluster, "Deployment/ml/high", asked=OWN, replicas=10)
    assert named(found, "Surge 1").verdict is Verdict.COMPLETES
    assert not [note for note in found.notes if "no place" in note or "wait" in note]


def test_a_node_has_its_price_though_not_all_is_played_on_it() -> None:
    """A pod that waits would preempt the DaemonSet's pod on a new node: that is said, and takes no price away."""
    agent = daemon_set("agent", ["n0"], objects.pod_spec(cpu="2", priority=0))
    own = objects.deployment("worker", ["n0"], objects.pod_spec(gpus=1), strategy=rolling(1, 0))
    unplayed = "pods of DaemonSets would be preempted on new nodes of t4, which isn't played"
    for cores, notes in (("7", (unplayed,)), ("9", ())):  # 9 fit no such node
        waits = objects.deployment("high", [""], objects.pod_spec(cpu=cores, priority=100))
        found = costs(objects.snapshot(objects.node("n0", gpus=1, pool="t4"), agent, own, waits), WORKER, asked=OWN)
        assert named(found, "Surge 1").extra_gpus == 1
        assert found.notes == notes


def test_a_pool_that_is_cordoned_has_a_price_where_no_other_takes_the_pods() -> None:
    own = objects.deployment("worker", ["n0"], objects.pod_spec(gpus=1), strategy=rolling(1, 0))
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cordoned = objects.node("n0", gpus=1, pool="a", cordoned=True)
    cordoned["spec"]["taints"] = [taint]
    found = costs(objects.snapshot(cordoned, own), WORKER, asked=OWN)
    assert (found.node_pool, named(found, "Surge 1").extra_gpus) == ("a", 1)
    beside = objects.node("n1", gpus=1, pool="b")
    assert costs(objects.snapshot(cordoned, beside, own), WORKER, asked=OWN).node_pool == "b"
    cordoned["spec"]["taints"] = [taint, {"key": "team", "value": "other", "effect": "NoSchedule"}]
    assert costs(objects.snapshot(cordoned, own), WORKER, asked=OWN).node_pool == ""


def test_pods_without_gpus_are_not_priced() -> None:
    found = costs(demo.read(), "Deployment/prod/api")
    assert all(one.cost is None for one in found.strategies)
    assert str(found.sentence) == ""
    assert "no GPU" in found.notes[0]


def test_worth_a_look_are_those_no_other_beats() -> None:
    found = costs(demo.read(), "Deployment/prod/ml-worker")
    kept = [one for one in found.strategies if one.is_worth]
    assert {"Surge 1", "Unavailable 1", "Recreate", "Surge 2, unavailable 1"} <= {one.name for one in kept}
    assert len(kept) < len(found.strategies) / 2
    for one in kept:
        if one.is_current or one.is_recreate or one.name == "Unavailable 1":
            continue
        assert not [
            other.name
            for other in found.strategies
            if other.cost and one.cost and other.lowest_ready > one.lowest_ready  # type: ignore[operator]
            and other.seconds < one.seconds and other.cost.billed_gpus < one.cost.billed_gpus  # type: ignore[operator]
        ]  # fmt: skip


def test_a_scenario_that_grows_a_workload_counts_what_it_will_hold() -> None:
    """From three to four pods of one GPU: the fourth GPU is not spare, the fifth is."""
    cluster = snapshot(*(node(f"node-{place}", 1) for place in range(5)), *worker(3))
    surge = named(costs(cluster, WORKER, asked=OWN, replicas=4), "Surge 1")
    assert (surge.verdict, surge.extra_gpus) == (Verdict.COMPLETES, 1)


def test_a_remedys_node_has_its_price() -> None:
    cluster = demo.read()
    change = WorkloadChange(workload="Deployment/prod/ml-worker", max_surge=1, max_unavailable=0)
    remedies = rollout_with_remedies.rollout(cluster, Scenario(changes=(change,))).remedies
    node_added = next(one for one in remedies if one.kind is RemedyKind.ADD_NODE)
    once = 0.857514 * (node_added.seconds + 600) / 3600
    kept = str(with_price(cluster, BOOK, node_added).price)
    assert kept == "$438 a month: it stays in use afterwards", "batch/trainer, which waits today"
    going = replace(node_added, is_kept=False, kept_nodes=0)
    assert str(with_price(cluster, BOOK, going).price) == f"$438 a month kept, ${once:.2f} for one rollout"
    assert {str(with_price(cluster, BOOK, one).price) for one in remedies if one is not node_added} == {""}
    assert str(with_price(full(), BOOK, replace(node_added, node_template="node-0")).price) == "no price"


def test_settings_are_the_terms() -> None:
    fields = set(SpareTerms.__dataclass_fields__)
    assert {setting.name for setting in strategy_prices.SETTINGS} <= fields


def test_pods_of_its_own_that_wait_are_no_spare() -> None:
    """Three pods and two nodes: the third waits, and gets a node whatever the strategy. Surge 1 needs one more."""
    waiting = worker(3)
    waiting[-1]["spec"].pop("nodeName")
    waiting[-1]["status"] = {"phase": "Pending"}
    found = costs(snapshot(node("node-0", 1), node("node-1", 1), *waiting), WORKER, asked=OWN)
    surge, swap = named(found, "Surge 1"), named(found, "Unavailable 1")
    assert (surge.needs_room, surge.extra_gpus) == (True, 1)
    assert swap.extra_gpus == 0
    (note,) = found.notes
    assert note.startswith("1 of its own 3 pods wait for the same nodes and would take 1 node first")
