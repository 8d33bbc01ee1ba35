"""The Costs page: the bill, who bears it, pools."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Presence
from planner.questions import costs, savings
from planner.questions.question import Inputs
from planner.sources import demo
from planner.spot.packing_spot_commitment_steps import staircase, summary
from planner.ui import savings_steps_view, session_prices
from tests.pages.clusters import full
from tests.pages.visiting import said, visit


def test_who_bears_the_bill_adds_up_to_it() -> None:
    app = visit("costs")
    table = next(one.value for one in app.dataframe if "Share" in one.value).set_index("Namespace")
    assert round(table["$/month"].sum(), 2) == 36_971.90
    assert table.loc["prod", "$/month"] == 28_975.81
    assert "the lines add up to the bill" in said(app)
    assert "Not in it: GKE's management fee" in said(visit("costs", part="Pools"))
    by_pool = visit("costs", by="pool")
    assert "gpu-t4" in set(next(one.value for one in by_pool.dataframe if "Share" in one.value)["Pool"])


def test_the_month_is_priced_by_pool_and_way_of_buying_and_what_is_idle() -> None:
    app = visit("costs", part="Pools")
    assert "Downloads" in [toggle.label for toggle in app.toggle]
    assert not app.metric, "each figure is told once, in the staircase"
    table = next(one.value for one in app.dataframe if "Bought" in one.value).set_index("Node pool")
    assert table.loc["gpu-l4-spot", "Bought"] == "spot"
    assert table.loc["gpu-t4", "Bill $/month"] == pytest.approx(6 * 0.857514 * 730 * 0.7)
    assert table.loc["gpu-l4-spot", "Of that GPUs"] == pytest.approx(0.1951 * 730)
    assert "Prices are of 2026-07-16" in said(app)
    assert "$36,972 a month for 24 nodes; $4,974 of it isn't requested (13%)" in said(app)


def test_without_pods_the_bill_is_known_and_whose_it_is_is_not() -> None:
    base = demo.read()
    refused = FrozenMap({**base.presence, "Pod": Presence.REFUSED})
    app = visit("costs", replace(base, pods=(), presence=refused, digest="refused"))
    assert not app.exception
    assert "$36,972 a month for 24 nodes; without pods neither owners nor idle cost are known" in said(app)
    table = next(one.value for one in app.dataframe if "Share" in one.value)
    assert table[["Share", "$/month"]].values.tolist() == [["not known", 36_971.90]]
    app.session_state["part"] = "Pools"
    pools = next(one.value for one in app.run().dataframe if "Bought" in one.value)
    assert pools["Idle $/month"].isna().all()
    assert not pools["Bill $/month"].isna().any()


def test_the_staircase_adds_up_and_its_slide_says_what_the_engine_says() -> None:
    app = visit("costs")
    words = said(app)
    assert "$36,972 a month. $16,976 less is expected, in this order." in words
    for said_of in ("−$1,125", "−$15,851", "$9,704 to $20,862", "Left: $19,996"):
        assert said_of in words
    assert "5 of 5 workloads need changes first" in words
    assert "4 nodes of 7 can go once their pods move to the others." in words
    assert "oo short a history to say: 4 d of it is known." in words
    book = session_prices.book()
    given = Inputs(book=book)
    found = savings.answer(demo.read(), savings.SavingsSettings(), given)
    fleet = found.fleet
    assert fleet is not None
    steps = staircase(costs.answer(demo.read(), costs.CostsSettings(), given), fleet, 0.0, "")
    page = savings_steps_view.slide_of(demo.read(), fleet.bill_usd, steps, found, given)
    assert "About $16,976 a month less (46%)" in page
    detail = savings.answer(demo.read(), savings.SavingsSettings(workload="Deployment/prod/ml-worker"), given).detail
    assert detail is not None
    assert str(summary(detail)) in page
    assert str(summary(detail)).startswith("About $750 a month (29%), in nine of ten months $102 to $1,275; ")
    assert "below 5 ready, after 3 changes" in str(summary(detail))
    assert "http" not in page.replace("http-equiv", "")


def test_nodes_without_a_price_are_no_money() -> None:
    app = visit("costs", full(), part="Pools")
    assert "? No bill" in said(app)
    assert "△ 3 nodes: no price: node node-0 has no label" in said(app)
    table = next(one.value for one in app.dataframe if "Bought" in one.value)
    assert table["Bill $/month"].isna().all()


def _free() -> None:
    import dataclasses

    import streamlit as st

    from planner.kubernetes.object_records import Snapshot
    from planner.pricing import projected_bill as bill_room
    from planner.pricing.owned_commitments import parse_commitments
    from planner.questions.question import Inputs
    from planner.ui import savings_steps_view, session_prices
    from tests.pricing.books import make_node

    owned = "machine_type,region,nodes,term,usd_per_hour,id\nn1-standard-8,asia-northeast3,1,3y,0,given"
    book = dataclasses.replace(session_prices.book(), commitments=parse_commitments(owned, where="owned.csv"))
    bill = bill_room.bill(book, Snapshot(taken_at=0.0, source="test", digest="0", nodes=(make_node(),)))
    savings_steps_view.show(
        Snapshot(taken_at=0.0, source="test", digest="0"), bill, None, Inputs(book=book), st.container()
    )


def test_a_bill_of_nothing_is_a_bill() -> None:
    app = AppTest.from_function(_free).run()
    assert not app.exception
    assert "$0 a month for 1 node; $0 of it isn't requested: CPU $0, memory $0." in said(app)


def test_prices_are_given_by_pool_where_a_page_asks_for_them() -> None:
    """The nodes of openb say a machine type that they can't be: three pages could only ask for a file that nothing took."""
    large = demo.read_large()
    app = visit("costs", large)
    assert "? No bill" in said(app)
    for how, usd in (("on demand", 10.0), ("on spot", 4.0)):
        next(one for one in app.number_input if one.label == f"pool-g2-8, {how}").set_value(usd)
    next(one for one in app.button if one.label == "Use these prices").click()
    app.run()
    assert not app.exception
    nodes = sum(node.labels["cloud.google.com/gke-nodepool"] == "pool-g2-8" for node in large.nodes)
    assert f"${nodes * 10 * 730:,} a month" in said(app)
    assert f"{len(large.nodes) - nodes:,} more nodes without a price" in said(app)
