"""One GPU model, one name: whatever clusters, labels, price lists and stores call it, every door says the same and adds it once."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from planner.capacity import rollout_readiness as overviews
from planner.capacity.gpu_inventory import gpu_lines
from planner.capacity.headroom import fit
from planner.capacity.headroom_shapes import parse_shape
from planner.ground.records import replace
from planner.history.daily_series import Period, days_of_gpus
from planner.history.snapshot_rows import Answered, rows_of
from planner.kubernetes.clouds import AS_SPOT, CLOUDS, cloud_of, clouds_of, group_beginnings, seller_of
from planner.kubernetes.node_properties import gpu_model, provisioning_model
from planner.kubernetes.object_records import FrozenMap, Node, Snapshot
from planner.pricing.node_price import price_node
from planner.pricing.price_book import PriceReason, Provisioning
from planner.pricing.projected_bill import bill
from planner.questions import capacity, fleet, overview, seats
from planner.questions.question import Inputs
from planner.scheduling.cluster import Cluster
from planner.serve.processes import answers_for_store
from planner.sources.prices import embedded_book, load_book
from planner.sources.store import Store
from tests.builders.objects import ACCELERATOR, GPU, deployment, node, pod_spec, snapshot

KARPENTER, PRODUCT, TYPE = (
    "karpenter.k8s.aws/instance-gpu-name",
    "nvidia.com/gpu.product",
    "node.kubernetes.io/instance-type",
)
MIXED = (
    {ACCELERATOR: "", KARPENTER: "h100"},
    {ACCELERATOR: "", "accelerator": "H100"},
    {ACCELERATOR: "nvidia-h100-80gb"},
    {ACCELERATOR: "", PRODUCT: "NVIDIA-H100-80GB-HBM3"},
    {ACCELERATOR: "", TYPE: "p5.48xlarge"},
)
LABELS = ("NVIDIA-H100-80GB-HBM3", "h100", "nvidia-h100-80gb")


def mixed() -> Snapshot:
    """Five nodes of eight H100s, each called otherwise; one GPU of each is held."""
    nodes = [node(f"n{i}", gpus=8, pool="gpu", labels=labels) for i, labels in enumerate(MIXED)]
    return snapshot([*nodes, *deployment("a", [f"n{i}" for i in range(5)], pod_spec(gpus=1))])


def test_a_cluster_of_mixed_labels_has_one_model() -> None:
    given = mixed()
    [line] = gpu_lines(Cluster(given))
    assert (line.model, line.node_count, line.allocatable, line.requested, line.free) == ("H100", 5, 40, 5, 35)
    assert line.labels == LABELS
    [row] = overview.QUESTION.rows(overviews.overview(given), "gpus")
    assert (row["model"], row["label"]) == ("H100", ", ".join(LABELS))
    assert {one.model for one in seats.answer(given, seats.SeatsSettings()).nodes} == {"H100"}
    [pool] = capacity.QUESTION.rows(capacity.answer(given, capacity.CapacitySettings()), "pools")
    assert (pool["gpu_model"], pool["gpu_label"]) == ("H100", ", ".join(LABELS))


def test_clusters_of_several_clouds_are_added() -> None:
    some = [replace(snapshot([node("n", gpus=8, labels=labels)]), source=f"c{i}") for i, labels in enumerate(MIXED[:3])]
    found = fleet.answer(some[0], fleet.FleetSettings(), Inputs(others=tuple(some[1:])))
    [model] = found.models
    assert (model.gpu_model, model.allocatable, len(model.clusters)) == ("H100", 24, 3)
    assert model.labels == ("h100", "nvidia-h100-80gb")


# ── a store ──────────────────────────────────────────────────────────────────────────────────────────────────────────
OLD = {"n0": "h100", "n1": "H100", "n2": "nvidia-h100-80gb", "n3": "NVIDIA-H100-80GB-HBM3", "n4": ""}


def write(store: Store, given: Snapshot, *, is_old: bool) -> None:
    """As today's version writes, or as one did that kept each label's own word and knew no machine types."""
    answers: tuple[Answered, ...] = answers_for_store.answers(given, Inputs(book=embedded_book()), ("overview",))
    rows = rows_of(given, answers, written_by="test")
    if is_old:
        whole = next(row for row in rows["pools"] if row["resource"] == GPU)
        rest = [row for row in rows["pools"] if row["resource"] != GPU]
        each = {"nodes": 1, "allocatable": 8, "requested": 1, "free": 7}
        rows["pools"] = [*rest, *({**whole, **each, "gpu_model": name} for name in OLD.values())]
        for row in rows["facts"]:
            if row["metric"] == "gpus_pending":
                row["labels"] = {"model": "nvidia-h100-80gb", "resource": GPU}
                row["value"] = 2.0
    store.write("prod", given, rows)


def test_a_series_known_under_an_old_name_goes_on_under_the_new_one(tmp_path: Path) -> None:
    store, given = Store(str(tmp_path)), replace(mixed(), taken_at=1_790_000_000.0)
    for day in range(4):
        write(store, replace(given, taken_at=given.taken_at + 86_400 * day), is_old=day < 2)
    found = days_of_gpus(store.history(), UTC, Period.ALL)
    assert set(found) == {("H100", GPU, ""), ("H100", GPU, "gpu")}
    whole = found["H100", GPU, ""]
    assert [(one.allocatable, one.held, one.free) for one in whole] == [
        (40, 5, 35)
    ] * 4  # neither twice nor the largest
    assert [one.waiting for one in whole] == [2, 2, 0, 0]


# ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def bought(**labels: str) -> Node:
    named = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
    place = {TYPE: "p5.48xlarge", "topology.kubernetes.io/region": "us-east-1"}
    return Node(name="n", labels=FrozenMap({**place, **named}), allocatable=FrozenMap({GPU: 8}))


@pytest.mark.parametrize(
    ("label", "value", "way"),
    [
        ("karpenter.sh/capacity-type", "reserved", Provisioning.RESERVED),
        ("eks.amazonaws.com/capacityType", "CAPACITY_BLOCK", Provisioning.CAPACITY_BLOCK),
    ],
)
def test_what_is_reserved_has_no_list_price(label: str, value: str, way: Provisioning, tmp_path: Path) -> None:
    """Not that on demand, even where a user gave one; a price of its own counts."""
    file = tmp_path / "own.csv"
    one = Node(name="n", labels=FrozenMap({**bought().labels, label: value}), allocatable=FrozenMap({GPU: 8}))
    file.write_text("machine_type,region,total_ondemand\np5.48xlarge,us-east-1,98.32\n")
    price = price_node(load_book([file]), one).price
    assert (price.provisioning, price.usd_per_hour, price.reason) == (way, None, PriceReason.RESERVED)
    assert f"bought as {way}" in str(price.sentence)
    assert price_node(load_book([file]), bought()).price.usd_per_hour == pytest.approx(98.32)
    column = f"total_{way.replace('-', '_')}"
    file.write_text(f"machine_type,region,total_ondemand,{column}\np5.48xlarge,us-east-1,98.32,31.5\n")
    assert price_node(load_book([file]), one).price.usd_per_hour == pytest.approx(31.5)


def test_a_gpu_is_priced_under_every_name_of_it() -> None:
    book = embedded_book()
    for name in ("T4", "t4", "nvidia-tesla-t4", "Tesla-T4"):
        found = book.gpu_model(name)
        assert found is not None
        assert found.model == "T4"
    assert book.gpu_model("nvidia-h100-mega-80gb") is book.gpu_models["H100-MEGA"]
    assert book.gpu_model("nobody's") is None


# ── a cloud is a row ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("labels", "provider_id", "runs", "sells"),
    [
        ({"cloud.google.com/gke-nodepool": "a"}, "gce://p/z/n", "GKE", "Google Cloud"),
        ({}, "gce://p/z/n", None, "Google Cloud"),  # kOps on Google's machines
        ({"eks.amazonaws.com/nodegroup": "a"}, "", "EKS", "AWS"),
        ({"karpenter.k8s.aws/instance-family": "p5"}, "", "EKS", "AWS"),
        ({}, "aws:///us-east-1a/i-1", "EKS", "AWS"),
        ({"kubernetes.azure.com/agentpool": "a"}, "azure:///subscriptions/x", "AKS", "Azure"),
        ({}, "openstack:///x", "OpenStack", "OpenStack"),
        ({}, "", None, None),
    ],
)
def test_who_runs_a_node_and_whose_it_is(
    labels: dict[str, str], provider_id: str, runs: str | None, sells: str | None
) -> None:
    one = Node(name="n", labels=FrozenMap(labels), provider_id=provider_id)
    cloud, seller = cloud_of(one), seller_of(one)
    assert (cloud and cloud.name, seller and seller.seller) == (runs, sells)
    assert [cloud.name for cloud in clouds_of([one, one])] == ([runs] if runs else [])


def test_every_row_tells_something_of_its_own() -> None:
    """No label stands in two rows, or which one counts would hang on their order."""
    for what in ("pool", "zone", "region", "machine_type", "model", "count", "bought", "marks"):
        labels = [label for cloud in CLOUDS for label in getattr(cloud, what)]
        assert len(labels) == len(set(labels)), what
    assert len({cloud.name for cloud in CLOUDS}) == len(CLOUDS)


def test_the_cluster_fee_is_gkes() -> None:
    def fees(*nodes: object) -> list[str]:
        found = bill(embedded_book(), snapshot(list(nodes)))  # type: ignore[arg-type]
        return [one.name for one in found.not_in if one.name == "cluster fee"]

    assert fees(node("n", pool="a")) == ["cluster fee"]
    assert fees(node("n")) == []
    assert gpu_model(bought()) == "H100"


@pytest.mark.parametrize(
    "labels",
    [
        {"cloud.google.com/gke-nodepool": "big"},
        {"eks.amazonaws.com/nodegroup": "big"},
        {"kubernetes.azure.com/agentpool": "big"},
        {"karpenter.sh/nodepool": "big"},
        {"oke.oraclecloud.com/pool.name": "big"},
        {"node-role.kubernetes.io/big": ""},
    ],
)
def test_a_shape_for_a_pool_goes_there_whoever_runs_it(labels: dict[str, str]) -> None:
    cluster = Cluster(snapshot(node("n", gpus=2, labels=labels), node("other", gpus=2)))
    assert fit(cluster, parse_shape("gpu=1,pool=big", cluster)).by_node == (("n", 2),)
    assert fit(cluster, parse_shape("gpu=1,pool=none", cluster)).count == 0


def test_a_group_is_of_the_pool_that_its_cloud_calls_so() -> None:
    assert group_beginnings("gpu") == ("eks-gpu-", "aks-gpu-")


def test_a_node_that_would_be_on_spot_is_so_whatever_its_labels_say() -> None:
    for label, value in (("karpenter.sh/capacity-type", "reserved"), ("eks.amazonaws.com/capacityType", "ON_DEMAND")):
        labels = {label: value, AS_SPOT[0]: AS_SPOT[1]}
        assert provisioning_model(Node(name="n", labels=FrozenMap(labels))) == "spot"
