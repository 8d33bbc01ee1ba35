"""Commitments of the account, given once: what they cover costs their price, what covers nothing is paid all the same."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any, Final

import pytest

from planner.capacity.what_if_syntax import parse_changes
from planner.cli import main
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.words import usd
from planner.kubernetes.object_records import FrozenMap
from planner.pricing import projected_bill as bill_room
from planner.pricing.added_nodes import price_of_nodes
from planner.pricing.allocation import AllocationKind
from planner.pricing.focus_export import OF_COMMITMENTS, focus_rows, unfilled
from planner.pricing.owned_commitments import paid_for, parse_commitments
from planner.pricing.price_book import PriceBook, Provisioning
from planner.questions import costs, savings, what_if
from planner.questions.question import Inputs
from planner.questions.savings import SavingsSettings
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot import cluster_savings as fleet_savings
from planner.spot import savings_inputs as spot_inputs
from planner.spot.assumptions import SpotSettings
from tests.builders.objects import read_items
from tests.seen import each

WORKER = "Deployment/prod/ml-worker"
EKS: Final = Path(__file__).parents[1] / "spot" / "data" / "eks-karpenter-l4.json.gz"
HEAD = "machine_type,region,nodes,term,usd_per_hour,id\n"


def book(*rows: str) -> PriceBook:
    return embedded_book().with_commitments(parse_commitments(HEAD + "\n".join(rows), where="owned.csv"))


# six n1-standard-8 with a T4 run on demand in Seoul, at 0.857514 less 30 % = 0.6002598 an hour all month
FOUR = "n1-standard-8,asia-northeast3,4,3y,0.40,seoul"
EIGHT = "n1-standard-8,asia-northeast3,8,3y,0.40,seoul"


def test_covered_nodes_cost_their_commitment() -> None:
    plain, owned = bill_room.bill(embedded_book(), demo.read()), bill_room.bill(book(FOUR), demo.read())
    assert plain.bill_usd_per_month is not None
    assert owned.bill_usd_per_month is not None
    saved = 4 * 730 * (0.857514 * 0.7 - 0.40)
    assert plain.bill_usd_per_month - owned.bill_usd_per_month == pytest.approx(saved, abs=0.02)
    assert sum(bool(one.commitment_id) for one in owned.nodes) == 4
    pools = {(one.node_pool, one.provisioning): one.node_count for one in owned.pools}
    assert pools["gpu-t4", Provisioning.COMMITMENT_3Y] == 4
    assert pools["gpu-t4", Provisioning.ON_DEMAND] == 2


def test_what_covers_no_node_is_a_line_of_the_bill() -> None:
    owned = bill_room.bill(book(EIGHT), demo.read())
    (line,) = [one for one in owned.lines if one.share is AllocationKind.UNUSED]
    assert (line.name, line.usd) == ("seoul", round(2 * 0.40 * 730, 2))
    assert owned.bill_usd_per_month == pytest.approx(sum(one.usd for one in owned.lines), abs=0.001)
    assert f"{usd(owned.bill_usd_per_month or 0)} a month for 24 nodes and commitments that cover none;" in str(
        owned.sentence
    )


def test_focus_tells_used_unused_and_the_purchase() -> None:
    owned = bill_room.bill(book(EIGHT), demo.read())
    rows = costs.QUESTION.rows(owned, "focus")
    by = {status: [row for row in rows if row["CommitmentDiscountStatus"] == status] for status in ("Used", "Unused")}
    assert sum(float(str(row["EffectiveCost"])) for row in by["Used"]) == pytest.approx(6 * 0.40 * 730, abs=0.01)
    assert {row["PricingCategory"] for row in by["Used"]} == {"Committed"}
    assert {row["BilledCost"] for row in by["Used"]} == {0.0}
    assert by["Used"][0]["ListUnitPrice"] == pytest.approx(0.857514)
    (unused,) = by["Unused"]
    assert unused["EffectiveCost"] == 584.0
    assert unused["CommitmentDiscountQuantity"] == 2 * 730
    (bought,) = [row for row in rows if row["ChargeCategory"] == "Purchase"]
    assert bought["BilledCost"] == pytest.approx(8 * 0.40 * 730, abs=0.01)
    totals = [sum(float(str(row[name])) for row in rows) for name in ("BilledCost", "EffectiveCost")]
    assert totals == pytest.approx([owned.bill_usd_per_month] * 2, abs=0.005)
    assert not set(unfilled(owned)) & set(OF_COMMITMENTS)
    assert set(OF_COMMITMENTS) < set(unfilled(bill_room.bill(embedded_book(), demo.read())))


def test_a_workload_saves_only_what_is_not_paid_for_already() -> None:
    """Six workers; of six nodes of their kind four are committed: if they go, four commitments cover nothing."""
    derived = spot_inputs.derive(demo.read(), book(FOUR), WORKER)
    assert (derived.values["committed_nodes"], derived.values["committed_usd_per_hour"]) == (4, 0.40)
    asked = SavingsSettings(workload=WORKER, spot=SpotSettings(runs=200))
    plain = savings.answer(demo.read(), asked, Inputs(book=embedded_book()))
    owned = savings.answer(demo.read(), asked, Inputs(book=book(FOUR)))
    in_list = [one.lines[0].saved_usd or 0.0 for one in (plain, owned)]
    assert in_list[1] == pytest.approx(in_list[0] / 3, abs=0.01)  # the plan moves the two that aren't committed
    before, after = (savings.detail_of(one).estimate.savings.saved_usd.mean for one in (plain, owned))
    assert after < before - 4 * 730 * 0.857514 * 0.7 + 5  # the on-demand price of four nodes isn't saved


def test_others_that_stay_use_the_commitments_on() -> None:
    """Two commitments, and a workload with one of six nodes: the others use both on, so nothing is lost."""
    few = book("n1-standard-8,asia-northeast3,2,1y,0.5,few")
    smaller = [
        key for key in (one.key for one in demo.read().workloads)
        if spot_inputs.derive(demo.read(), few, key).machine_types == ("n1-standard-8",)
        and 0 < (spot_inputs.derive(demo.read(), few, key).values["nodes"] or 0) <= 4
    ]  # fmt: skip
    for key in each(smaller):
        assert spot_inputs.derive(demo.read(), few, key).values.get("committed_nodes") is None


def test_the_fleet_keeps_what_is_committed() -> None:
    plain = fleet_savings.fleet_savings(demo.read(), embedded_book(), {})
    owned = fleet_savings.fleet_savings(demo.read(), book(EIGHT), {})
    assert owned.on_demand_nodes == plain.on_demand_nodes - 6
    assert owned.on_demand_usd == pytest.approx(owned.kept_usd + owned.freed_usd, abs=0.001)
    assert sum(one.saved_usd for one in owned.bearers) == pytest.approx(owned.saved_usd + owned.packing_usd, abs=0.01)
    bill = bill_room.bill(book(EIGHT), demo.read()).bill_usd_per_month
    assert owned.bill_usd == pytest.approx(bill, abs=0.01)


def test_a_price_that_nobody_knows_is_named() -> None:
    owned = bill_room.bill(book("n1-standard-8,europe-north1,3,1y,,far"), demo.read())
    assert any("3 nodes of far" in str(one.sentence) for one in owned.not_in)
    assert owned.bill_usd_per_month == bill_room.bill(embedded_book(), demo.read()).bill_usd_per_month


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("machine_type,region,nodes\n", 'no column "term"'),
        (HEAD + "n1-standard-8,r,²,1y,,\n", "no number of nodes"),
        (HEAD + "n1-standard-8,r,4,2y,,\n", "no term"),
        (HEAD + "n1-standard-8,r,4,1y,free,\n", "no price"),
        (HEAD + ",r,4,1y,,\n", "is empty"),
        (HEAD + "a,r,4,1y,,x\na,r,4,1y,,x\n", "the same id"),
    ],
)
def test_what_is_no_commitment_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_commitments(text, where="owned.csv")


@pytest.mark.parametrize("way", ["option", "environment"])
def test_the_command_takes_them_once(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "owned.csv"
    file.write_text(HEAD + EIGHT + "\n")
    if way == "environment":
        monkeypatch.setenv("HEADROOM_COMMITMENTS", str(file))
    given = ["--commitments", str(file)] if way == "option" else []
    with pytest.raises(SystemExit) as ended:
        main(["costs", "demo", "--by", "namespace", "-o", "csv", *given])
    assert not ended.value.code
    captured = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert {row["CommitmentDiscountStatus"] for row in rows} == {"", "Used", "Unused"}
    assert "CommitmentDiscountStatus" not in captured.err


# ── new nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────
MONTH = 0.7 * 0.857514 * 730  # of a T4 node on demand: 438.19


@pytest.mark.parametrize(("rows", "paid"), [((), 0), ((FOUR,), 0), ((EIGHT.replace(",8,", ",7,"),), 1), ((EIGHT,), 2)])
def test_a_new_node_is_on_demand_unless_a_commitment_covers_nothing_now(
    rows: tuple[str, ...], paid: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two nodes of T4s come beside six: what covers the six isn't theirs. The gate, the plan's prices and the bill's difference agree."""
    snapshot, prices = demo.read(), book(*rows)
    like = next(node for node in snapshot.nodes if "gpu-t4" in node.name)
    assert paid_for(prices, snapshot.nodes, like) == paid
    by_hand = (2 - paid) * MONTH
    price = price_of_nodes(prices, snapshot.nodes, like, 2, 60.0)
    assert price is not None
    assert price.usd_per_month == pytest.approx(by_hand)
    owned, manifest = tmp_path / "owned.csv", tmp_path / "more.json"
    owned.write_text(HEAD + "\n".join(rows), encoding="utf-8")
    manifest.write_text(json.dumps(more_t4s()), encoding="utf-8")
    asked = ["gate", "demo", "-f", str(manifest), "--limits", "gpu-t4=9", "-o", "json"]
    with pytest.raises(SystemExit):
        main([*asked, *(["--commitments", str(owned)] if rows else [])])
    (found,) = json.loads(capsys.readouterr().out)["result"]["workloads"]
    assert (found["extra_nodes"], found["added_usd_per_month"]) == (2, pytest.approx(by_hand))
    then = what_if.answer(snapshot, what_if.WhatIfSettings(changes=parse_changes("add:gpu-t4=2")), Inputs(book=prices))
    assert (then.usd_per_month_after or 0.0) - (then.usd_per_month_before or 0.0) == pytest.approx(by_hand, abs=0.01)


def more_t4s() -> dict[str, Any]:
    container = {"name": "c", "image": "a/b:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {
        "containers": [container],
        "nodeSelector": {"cloud.google.com/gke-nodepool": "gpu-t4"},
        "tolerations": [{"operator": "Exists"}],
    }
    template = {"metadata": {"labels": {"app": "more"}}, "spec": spec}
    made = {"replicas": 2, "selector": {"matchLabels": {"app": "more"}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "more", "namespace": "prod"},
        "spec": made,
    }


def test_nodes_without_a_price_make_a_difference_that_is_not_known() -> None:
    snapshot = demo.read()
    labels = {"cloud.google.com/gke-accelerator": "", "node.kubernetes.io/instance-type": "x9-unknown-8"}
    strange = replace(
        snapshot,
        nodes=tuple(
            replace(node, labels=FrozenMap({**node.labels, **labels})) if "gpu-t4" in node.name else node
            for node in snapshot.nodes
        ),
    )
    then = what_if.answer(
        strange, what_if.WhatIfSettings(changes=parse_changes("add:gpu-t4=1")), Inputs(book=embedded_book())
    )
    assert then.usd_per_month_before is not None
    assert then.usd_per_month_after is None
    same = what_if.answer(
        strange, what_if.WhatIfSettings(changes=parse_changes("add:gpu-l4=1")), Inputs(book=embedded_book())
    )
    assert (same.usd_per_month_after or 0.0) - (same.usd_per_month_before or 0.0) == pytest.approx(
        7_502.85 / 4, abs=0.01
    )


# ── plans of USD an hour ─────────────────────────────────────────────────────────────────────────────────────────────
PLANS = "machine_type,region,nodes,term,usd_per_hour,id,discount\n"
DEMAND: Final = 0.9776  # of a g6.2xlarge in us-east-1, on demand


def eks_with(*rows: str) -> Any:
    """Six g6.2xlarge on demand and two on spot, which no plan covers."""
    items = json.loads(
        json.dumps(json.loads(gzip.decompress(EKS.read_bytes()))["items"]).replace("us-west-2", "us-east-1")
    )
    owned = parse_commitments(PLANS + "\n".join(rows), where="owned.csv") if rows else ()
    return bill_room.bill(embedded_book().with_commitments(owned), read_items(items))


def test_a_savings_plan_is_spent_on_nodes_on_demand() -> None:
    """$1.20 an hour at 40% off: two nodes at 0.58656, and 0.02688 of a third, 4.6% of its hour; the rest of it is paid on demand."""
    plain, planned = eks_with(), eks_with("g6.*,us-east-1,,1y,1.20,ec2-plan,0.4")
    assert plain.bill_usd_per_month == pytest.approx(6 * DEMAND * 730, abs=0.02)
    third = (1.2 - 2 * 0.6 * DEMAND) / (0.6 * DEMAND)
    by_hand = 1.2 + (1 - third) * DEMAND + 3 * DEMAND
    assert planned.bill_usd_per_month == pytest.approx(by_hand * 730, abs=0.02)
    assert sum(bool(one.commitment_id) for one in planned.nodes) == 3
    assert planned.unused_commitments == ()
    saved = (plain.bill_usd_per_month or 0) - (planned.bill_usd_per_month or 0)
    assert saved == pytest.approx(1.2 * 730 * (1 / 0.6 - 1), abs=0.02), "what the plan pays for, less what it costs"


def test_what_a_plan_does_not_spend_is_paid_all_the_same() -> None:
    """$4 an hour, of which six nodes take 3.51936; on machines of another family, or in another region, all of it is unused."""
    planned = eks_with("*,,,3y,4,compute,0.4")
    assert planned.bill_usd_per_month == pytest.approx(4 * 730, abs=0.02)
    (left,) = planned.unused_commitments
    assert left.usd_per_month == pytest.approx((4 - 6 * 0.6 * DEMAND) * 730, abs=0.01)
    for row in ("p5.*,us-east-1,,1y,2,other-family,0.4", "g6.*,eu-west-1,,1y,2,elsewhere,0.4"):
        found = eks_with(row)
        assert found.bill_usd_per_month == pytest.approx((6 * DEMAND + 2) * 730, abs=0.02)
        assert not any(one.commitment_id for one in found.nodes)
        every = focus_rows(found.by_node, found.nodes, found.resources, found.starts_at, found.unused_commitments)
        rows: list[dict[str, Any]] = [dict(row) for row in every]
        for column in ("BilledCost", "EffectiveCost"):
            assert sum(one[column] or 0.0 for one in rows) == pytest.approx(found.bill_usd_per_month, abs=0.02)


def test_no_plan_is_spent_on_google_s_machines() -> None:
    """Its flexible commitments cover vCPUs and memory alone: they stand in the savings' ways of buying."""
    owned = parse_commitments(PLANS + "*,,,1y,1,plan,0.3", where="owned.csv")
    found = bill_room.bill(embedded_book().with_commitments(owned), demo.read())
    assert not any(one.commitment_id for one in found.nodes)
    assert [one.usd_per_month for one in found.unused_commitments] == [pytest.approx(730)]


@pytest.mark.parametrize(
    "row", ["*,,,3y,12,plan,", "*,,,3y,12,plan,1", "*,,2,3y,12,plan,0.4", "*,,,5y,12,plan,0.4", "*,,,1y,,plan,0.4"]
)
def test_a_plan_that_lacks_something_is_refused(row: str) -> None:
    with pytest.raises(InputError, match="a plan of USD an hour lacks something"):
        parse_commitments(PLANS + row, where="owned.csv")
