"""The whole cluster's savings: the demo's figures by hand, and sums that reconcile whatever the cluster."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.capacity.what_if_syntax import parse_changes
from planner.ground.errors import NotKnownError
from planner.ground.records import replace
from planner.ground.well_known_names import GKE_SPOT, INSTANCE_TYPE, SPOT_OPT_OUT
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.pricing.allocation import AllocationKind
from planner.pricing.projected_bill import bill
from planner.questions import what_if
from planner.questions.question import Inputs
from planner.questions.savings import SavingsSettings, answer
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot.cluster_savings import FleetSavings, Move, fleet_savings

BOOK = embedded_book()
L4 = 1_875.71  # g2-standard-24 in Seoul, a month on demand
L4_SPOT = 508.75


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


@pytest.fixture(scope="module")
def fleet(snapshot: Snapshot) -> FleetSavings:
    return fleet_savings(snapshot, BOOK, {})


def move(fleet: FleetSavings, workload: str, pool: str) -> Move:
    return next(one for one in fleet.moves if (one.workload, one.node_pool) == (workload, pool))


def test_what_packing_frees_can_be_drained(snapshot: Snapshot, fleet: FleetSavings) -> None:
    """The engine drains them one after another: every pod that leaves finds another node of its pool. Said first, as it risks nothing."""
    assert str(fleet.sentence).startswith(
        "Without spot, packing more tightly saves $1,125 a month: 4 of 7 nodes can be drained."
    )
    assert len(fleet.packing_nodes) == len(fleet.packing_drains) == 4
    assert all(node in drain for node, drain in zip(fleet.packing_nodes, fleet.packing_drains, strict=True))
    changes = parse_changes(";".join(f"drain:{node}" for node in fleet.packing_nodes))
    found = what_if.answer(snapshot, what_if.WhatIfSettings(changes=changes, with_rollouts=False), Inputs(book=BOOK))
    assert found.waiting_after == found.waiting_before


def test_a_cluster_that_is_full_has_nothing_to_drain(snapshot: Snapshot) -> None:
    nodes = [node for node in snapshot.nodes if "gpu-a100" in node.name]
    names = {node.name for node in nodes}
    full = replace(
        snapshot, nodes=tuple(nodes), pods=tuple(p for p in snapshot.pods if p.node_name in names), digest="full"
    )
    found = fleet_savings(full, BOOK, {})
    assert (found.packing_nodes, found.packing_drains, found.packing_usd) == ((), (), 0.0)
    assert "packing" not in str(found.sentence)


def test_on_demand_is_kept_and_freed_to_the_cent(snapshot: Snapshot, fleet: FleetSavings) -> None:
    assert round(fleet.kept_usd + fleet.freed_usd, 2) == fleet.on_demand_usd
    assert fleet.bill_usd == bill(BOOK, snapshot).bill_usd_per_month == 36_971.90
    assert fleet.saved_usd == round(fleet.freed_usd - fleet.packing_usd - fleet.spot_usd, 2)
    assert fleet.expected_usd == round(fleet.saved_usd - fleet.interruptions_usd - fleet.moving_prices_usd, 2)
    assert fleet.idle_usd == 0
    assert fleet.saved_usd <= 19_350, "every on-demand pool on spot, node for node"
    chosen = [one for one in fleet.moves if one.is_worth_it]
    for name in ("saved_usd", "expected_usd", "spot_usd"):
        assert round(sum(getattr(one, name) for one in chosen), 2) == getattr(fleet, name), name
    assert round(sum(one.freed_usd for one in chosen) + fleet.packing_usd, 2) == fleet.freed_usd
    assert sum(one.spot_nodes for one in chosen) == fleet.spot_nodes


def test_a_review_s_figures_by_hand(fleet: FleetSavings) -> None:
    """Five pods of prod on four L4 nodes: one node holds nothing else, and the other three pods need two of the rest."""
    prod = move(fleet, "Deployment/prod/inference-api", "gpu-l4")
    assert prod.alone_usd == pytest.approx(L4 - 3 * L4_SPOT, abs=0.02) == pytest.approx(349, abs=1)
    assert prod.repacked_usd == pytest.approx(2 * L4 - 3 * L4_SPOT, abs=0.02) == pytest.approx(2_225, abs=1)
    dev = move(fleet, "Deployment/dev/inference-api", "gpu-l4")
    embed = move(fleet, "Job/batch/embed-nightly", "gpu-l4")
    assert dev.alone_usd == embed.alone_usd == pytest.approx(-L4_SPOT, abs=0.01) == pytest.approx(-509, abs=1)
    together = [one for one in fleet.moves if one.node_pool == "gpu-l4"]
    assert sum(one.saved_usd for one in together) == pytest.approx(4 * L4 - 4 * L4_SPOT, abs=0.05)


def test_who_bears_what_adds_up(fleet: FleetSavings) -> None:
    def total(name: str) -> float:
        return float(round(sum(getattr(one, name) for one in fleet.bearers), 2))

    assert total("on_demand_usd") == fleet.on_demand_usd
    assert total("kept_usd") == fleet.kept_usd
    assert total("freed_usd") == fleet.freed_usd
    assert round(total("on_demand_usd") + total("spot_before_usd"), 2) == fleet.bill_usd
    assert round(total("spot_after_usd") - total("spot_before_usd"), 2) == fleet.spot_usd
    assert total("saved_usd") == round(fleet.saved_usd + fleet.packing_usd, 2)
    assert {one.share for one in fleet.bearers} == {AllocationKind.USED, AllocationKind.SHARED, AllocationKind.IDLE}


def test_who_bears_what_is_the_bill_s_own(snapshot: Snapshot, fleet: FleetSavings) -> None:
    """A namespace's on-demand nodes and its spot nodes are its line of ``costs --by namespace``, to the cent."""
    lines = {line.name or line.share.value: line.usd for line in bill(BOOK, snapshot).lines}
    assert {one.name: round(one.on_demand_usd + one.spot_before_usd, 2) for one in fleet.bearers} == lines


def test_what_isn_t_on_demand_now_saves_nothing(snapshot: Snapshot) -> None:
    """A review: waiting pods claimed $12,263 of cost, those on spot already $3,751, workloads without replicas $176."""
    found = answer(snapshot, SavingsSettings(), Inputs(book=BOOK))
    lines = {line.workload: line for line in found.lines}
    for key, why in (
        ("Deployment/batch/labs-runner", "runs on spot already"),
        ("Deployment/batch/trainer", "holds no node now"),
        ("Deployment/llm-lab/llm-canary", "holds no node now"),
    ):
        assert (lines[key].on_demand_usd, lines[key].saved_usd) == (0.0, 0.0)
        assert why in lines[key].why
    assert sum(line.on_demand_usd or 0 for line in found.lines) < 35_700.02
    assert found.fleet is not None
    assert sum(line.saved_usd or 0 for line in found.lines) == pytest.approx(found.fleet.expected_usd, abs=0.1)


def test_the_order_is_most_saved_per_risk_within_what_each_pool_allows(fleet: FleetSavings) -> None:
    first = next(one for one in fleet.moves if one.is_worth_it)
    assert first.workload == "Deployment/prod/llm-serve"
    heads: dict[str, Move] = {}
    for one in fleet.moves:
        heads.setdefault(one.node_pool, one)
    ratios = {pool: one.expected_usd / one.risk_pod_hours for pool, one in heads.items() if one.is_worth_it}
    assert max(ratios, key=lambda pool: ratios[pool]) == first.node_pool
    assert all(not one.is_worth_it for one in fleet.moves[len([m for m in fleet.moves if m.is_worth_it]) :])


def test_what_may_not_go_stays(snapshot: Snapshot) -> None:
    key = "Deployment/prod/llm-serve"
    kept = replace(
        snapshot,
        workloads=tuple(
            replace(one, annotations=FrozenMap({SPOT_OPT_OUT: "never"})) if one.key == key else one
            for one in snapshot.workloads
        ),
    )
    found = fleet_savings(kept, BOOK, {})
    assert dict(found.kept_off)[key] == "kept off spot by its annotation"
    assert not [one for one in found.moves if one.workload == key]
    assert not [name for name in found.freed_nodes if "a100" in name]


def test_a_node_with_a_pod_that_can_t_move_stays(snapshot: Snapshot) -> None:
    pinned = next(pod for pod in snapshot.pods if pod.namespace == "batch" and "embed" in pod.name)
    bare = replace(snapshot, pods=tuple(replace(pod, owner=None) if pod is pinned else pod for pod in snapshot.pods))
    assert pinned.node_name not in fleet_savings(bare, BOOK, {}).freed_nodes


def test_interruptions_are_dearer_the_more_of_them_there_are(snapshot: Snapshot, fleet: FleetSavings) -> None:
    rates: dict[str, Any] = dict.fromkeys(
        ("hazard_low_per_hour", "hazard_likely_per_hour", "hazard_high_per_hour"), 0.1
    )
    assert fleet_savings(snapshot, BOOK, rates).interruptions_usd > 2 * fleet.interruptions_usd


def test_without_nodes_there_is_nothing_to_save() -> None:
    found = fleet_savings(Snapshot(taken_at=0.0, source="nothing", digest="0"), BOOK, {})
    assert (found.on_demand_usd, found.saved_usd, found.moves) == (0.0, 0.0, ())


@given(gone=st.sets(st.integers(0, 132), max_size=60), away=st.sets(st.integers(0, 23), max_size=8))
@settings(max_examples=12, deadline=None)
def test_any_part_of_the_demo_reconciles(gone: set[int], away: set[int]) -> None:
    whole = demo.read()
    nodes = tuple(node for i, node in enumerate(whole.nodes) if i not in away)
    part = replace(
        whole, nodes=nodes, pods=tuple(pod for i, pod in enumerate(whole.pods) if i not in gone), digest=f"{gone}{away}"
    )
    found = fleet_savings(part, BOOK, {})
    assert round(found.kept_usd + found.freed_usd, 2) == found.on_demand_usd
    assert round(sum(one.freed_usd for one in found.bearers), 2) == found.freed_usd
    assert found.saved_usd >= 0
    assert len(set(found.freed_nodes)) == len(found.freed_nodes)


def test_without_any_price_what_spot_saves_is_not_known() -> None:
    """The trace's nodes contradict their label: not $0, and not "saves nothing"."""
    with pytest.raises(NotKnownError, match="none of the 1,523 nodes has a price"):
        fleet_savings(demo.read_large(), BOOK, {})


def test_nodes_without_a_price_are_said_to_be_left_out(snapshot: Snapshot) -> None:
    strange = tuple(
        replace(node, labels=FrozenMap({**node.labels, INSTANCE_TYPE: "strange-9"}))
        if "gpu-a100" in node.name
        else node
        for node in snapshot.nodes
    )
    found = fleet_savings(replace(snapshot, nodes=strange, digest="strange"), BOOK, {})
    assert found.unpriced_nodes == 2
    assert str(found.sentence).endswith("2 nodes without a price are not in it.")
    assert found.bill_usd == pytest.approx(36_971.90 - 23_649.61, abs=0.011)


def test_no_way_is_compared_where_nothing_is_on_demand(snapshot: Snapshot) -> None:
    spot = tuple(replace(node, labels=FrozenMap({**node.labels, GKE_SPOT: "true"})) for node in snapshot.nodes)
    assert fleet_savings(replace(snapshot, nodes=spot, digest="all spot"), BOOK, {}).ways == ()
