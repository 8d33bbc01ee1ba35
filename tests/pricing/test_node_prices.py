from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.records import replace
from planner.ground.well_known_names import (
    GKE_ACCELERATOR,
    GKE_ACCELERATOR_COUNT,
    GKE_GPU_PARTITION_SIZE,
    GKE_MAX_SHARED_CLIENTS,
    GKE_NODE_POOL,
    GKE_PROVISIONING,
    GKE_SPOT,
    KARPENTER_CAPACITY_TYPE,
    NVIDIA_GPU_REPLICAS,
    REGION,
    ZONE,
)
from planner.kubernetes.node_properties import physical_gpus, provisioning_model, region
from planner.kubernetes.object_records import FrozenMap, Node
from planner.pricing.gpu_share_of_price import GpuShares
from planner.pricing.node_price import price_node, spare_terms
from planner.pricing.price_book import PartKind, PriceReason, Provisioning
from planner.sources.prices import embedded_book, load_book, own_table
from tests.pricing.books import SEOUL, book_with, make_node

BOOK = embedded_book()
P = Provisioning
T4 = {GKE_ACCELERATOR: "nvidia-tesla-t4", GKE_NODE_POOL: "gpu-t4"}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, P.ON_DEMAND),
        ({GKE_PROVISIONING: "standard"}, P.ON_DEMAND),
        ({GKE_SPOT: "true"}, P.SPOT),
        ({GKE_PROVISIONING: "spot"}, P.SPOT),
        ({"cloud.google.com/gke-preemptible": "true"}, P.PREEMPTIBLE),
        ({GKE_PROVISIONING: "preemptible"}, P.PREEMPTIBLE),
        ({"cloud.google.com/gke-flex-start": "true"}, P.FLEX_START),
        ({GKE_PROVISIONING: "flex-start"}, P.FLEX_START),
        ({GKE_SPOT: "false"}, P.ON_DEMAND),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, P.SPOT),
        ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, P.ON_DEMAND),
        ({KARPENTER_CAPACITY_TYPE: "spot"}, P.SPOT),
        ({"kubernetes.azure.com/scalesetpriority": "spot"}, P.SPOT),
    ],
)
def test_labels_tell_how_a_node_was_bought(labels: dict[str, str], expected: Provisioning) -> None:
    assert Provisioning(provisioning_model(make_node(labels=labels))) is expected


def test_the_region_is_read_from_the_zone_if_need_be() -> None:
    assert region(make_node(labels={ZONE: f"{SEOUL}-b"})) == SEOUL
    assert region(make_node(region="", labels={ZONE: f"{SEOUL}-b"})) == SEOUL
    assert region(make_node(region="")) == ""


@pytest.mark.parametrize(
    ("labels", "gpus", "resource", "expected"),
    [
        ({}, 0, "nvidia.com/gpu", 0),
        ({}, 2, "nvidia.com/gpu", 2),
        ({GKE_ACCELERATOR_COUNT: "1"}, 4, "nvidia.com/gpu", 1),
        ({GKE_MAX_SHARED_CLIENTS: "4"}, 8, "nvidia.com/gpu", 2),
        ({NVIDIA_GPU_REPLICAS: "10"}, 10, "nvidia.com/gpu", 1),
        ({GKE_MAX_SHARED_CLIENTS: "3"}, 8, "nvidia.com/gpu", None),
        ({GKE_GPU_PARTITION_SIZE: "1g.5gb"}, 7, "nvidia.com/gpu", None),
        ({}, 7, "nvidia.com/mig-1g.5gb", None),
        ({GKE_ACCELERATOR_COUNT: "1"}, 7, "nvidia.com/mig-1g.5gb", 1),
    ],
)
def test_physical_gpus_are_told_from_shares(
    labels: dict[str, str], gpus: int, resource: str, expected: int | None
) -> None:
    assert physical_gpus(make_node(labels=labels, gpus=gpus, gpu_resource=resource)) == expected


def test_a_node_with_a_shared_gpu_costs_what_its_gpu_costs() -> None:
    whole = price_node(BOOK, make_node(labels=T4, gpus=1))
    shared = price_node(BOOK, make_node(labels={**T4, GKE_MAX_SHARED_CLIENTS: "4"}, gpus=4))
    assert whole.usd_per_hour == shared.usd_per_hour == pytest.approx(0.857514)
    assert whole.node_pool == "gpu-t4"


def test_a_node_can_be_priced_as_if_bought_otherwise() -> None:
    node = make_node(labels=T4, gpus=1)
    assert price_node(BOOK, node, P.SPOT).usd_per_hour == pytest.approx(0.18964 + 0.1841)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (make_node(machine_type=""), PriceReason.NO_MACHINE_TYPE),
        (make_node(region=""), PriceReason.NO_REGION),
        (make_node("m5.xlarge", "eu-west-3", labels={"eks.amazonaws.com/nodegroup": "a"}), PriceReason.OTHER_CLOUD),
        (make_node("m5.xlarge", "eu-west-3", provider_id="aws:///eu-west-3a/i-1"), PriceReason.OTHER_CLOUD),
        (
            make_node("Standard_NC6000", "koreacentral", labels={"kubernetes.azure.com/agentpool": "a"}),
            PriceReason.OTHER_CLOUD,
        ),
        # even where the name is one of Google's
        (make_node("n1-standard-8", SEOUL, provider_id="openstack:///x"), PriceReason.OTHER_CLOUD),
        (make_node(name="gk3-edu-pool-1-abc"), PriceReason.AUTOPILOT),
        (make_node("kwok", SEOUL), PriceReason.UNKNOWN_MACHINE_TYPE),
        (make_node(cpu=96_000), PriceReason.CAPACITY_MISMATCH),
        (make_node(cpu=2_000), PriceReason.CAPACITY_MISMATCH),
        (make_node(memory_gib=64), PriceReason.CAPACITY_MISMATCH),
        (make_node(gpus=1), PriceReason.UNKNOWN_GPU),
        (make_node(gpus=1, labels={GKE_ACCELERATOR: "t5"}), PriceReason.UNKNOWN_GPU),
        (make_node(gpus=7, gpu_resource="nvidia.com/mig-1g.5gb"), PriceReason.UNKNOWN_GPU_COUNT),
        (make_node("n2-standard-8", gpus=1, labels=T4), PriceReason.UNKNOWN_GPU),
    ],
)
def test_nodes_without_a_price_say_why(node: object, reason: PriceReason) -> None:
    price = price_node(BOOK, node).price  # type: ignore[arg-type]
    assert price.usd_per_hour is None
    assert price.reason is reason
    assert str(price.sentence).startswith("no price: ")


def test_threads_switched_off_and_shared_cores_are_no_contradiction() -> None:
    assert price_node(BOOK, make_node(cpu=4_000)).usd_per_hour == pytest.approx(0.487514)
    assert price_node(BOOK, make_node("e2-small", cpu=2_000, memory_gib=1.9)).usd_per_hour == pytest.approx(0.021491)
    custom = make_node("custom-8-32768", "us-central1", memory_gib=31.3)
    assert price_node(BOOK, custom).usd_per_hour == pytest.approx(0.407902, abs=1e-5)


def test_own_prices_make_other_clouds_priced() -> None:
    book = book_with("machine_type,region,total_ondemand,total_spot\nm5.2xlarge,us-east-1,0.384,0.15\n")
    node = make_node(
        "m5.2xlarge", "us-east-1", labels={"eks.amazonaws.com/nodegroup": "a", "eks.amazonaws.com/capacityType": "SPOT"}
    )
    assert price_node(book, node).usd_per_hour == 0.15


def test_a_spare_gpu_costs_its_share_of_a_node() -> None:
    t4 = spare_terms(BOOK, make_node(labels=T4, gpus=1))
    assert (t4.gpus_per_node, t4.gpu_model) == (1, "T4")
    assert t4.on_demand_usd_per_gpu_hour == pytest.approx(0.857514)
    assert t4.spot_usd_per_gpu_hour == pytest.approx(0.18964 + 0.1841)
    a100 = spare_terms(BOOK, make_node("a2-highgpu-4g", cpu=48_000, memory_gib=330, gpus=4))
    assert a100.gpus_per_node == 4
    assert a100.spot_usd_per_gpu_hour == pytest.approx(8.19756 / 4)


def test_a_spare_of_what_has_no_price_has_none() -> None:
    assert spare_terms(BOOK, make_node()).on_demand_usd_per_gpu_hour is None
    assert spare_terms(BOOK, make_node("kwok", gpus=1)).on_demand_usd_per_gpu_hour is None
    assert spare_terms(BOOK, make_node("kwok", gpus=1)).gpus_per_node == 1


@given(
    st.dictionaries(
        st.sampled_from([GKE_ACCELERATOR, GKE_ACCELERATOR_COUNT, GKE_MAX_SHARED_CLIENTS, GKE_PROVISIONING, ZONE, REGION]),
        st.sampled_from(["", "0", "1", "-1", "x", "spot", "nvidia-tesla-t4", "nvidia-l4", "½", SEOUL, f"{SEOUL}-b"]),
    ),
    st.sampled_from(["", "n1-standard-8", "g2-standard-12", "custom-8-32768", "custom-0-0", "n2-custom-2-1024-ext", "a-b-c", "-"]),
    st.integers(0, 9),
)  # fmt: skip
def test_any_labels_give_a_price_or_a_reason(labels: dict[str, str], machine_type: str, gpus: int) -> None:
    price = price_node(BOOK, make_node(machine_type, labels=labels, gpus=gpus)).price
    if price.usd_per_hour is None:
        assert price.reason is not PriceReason.NONE
        assert price.sentence
    else:
        assert price.usd_per_hour > 0
        assert price.list_usd_per_hour == pytest.approx(
            sum(part.quantity * part.list_unit_price for part in price.parts if part.kind in PartKind)
        )


EPHEMERAL = "cloud.google.com/gke-ephemeral-storage-local-ssd"
RAW = "cloud.google.com/gke-local-nvme-ssd"


def with_disks(gib: float, *labels: str, machine: str = "n1-standard-8", region: str = SEOUL) -> Node:
    node = make_node(machine, region, labels=dict.fromkeys(labels, "true"))
    return replace(node, capacity=FrozenMap({**node.capacity, "ephemeral-storage": int(gib * 2**30)}))


@pytest.mark.parametrize(
    ("gib", "disks"), [(368.1, 1), (375.0, 1), (2 * 368.1, 2), (8 * 368.1, 8), (16 * 368.1, 16), (24 * 368.1, 24)]
)
def test_local_ssds_are_priced_where_the_file_system_tells_how_many(gib: float, disks: int) -> None:
    """One in Seoul: 0.487514 + 375 × 0.104 / 730 = 0.540938… an hour; sustained use is 30 % of the machine alone."""
    price = price_node(BOOK, with_disks(gib, EPHEMERAL)).price
    ssd = disks * 375 * 0.104 / 730
    assert price.usd_per_hour == pytest.approx(0.487514 + ssd, abs=1e-9)
    assert price.part_usd_per_hour(PartKind.LOCAL_SSD) == pytest.approx(ssd)
    assert price.sustained_use_usd_per_hour == pytest.approx(0.7 * 0.487514 + ssd, abs=1e-9)
    spot = price_node(BOOK, with_disks(gib, EPHEMERAL), Provisioning.SPOT)
    assert spot.usd_per_hour == pytest.approx(0.18964 + disks * 375 * 0.0267 / 730, abs=1e-9)
    assert price_node(BOOK, with_disks(gib, EPHEMERAL), Provisioning.COMMITMENT_1Y).usd_per_hour is None, (
        "no price is no 0"
    )


@pytest.mark.parametrize(
    "node",
    [
        with_disks(94, EPHEMERAL),  # a boot disk's size: the label lies
        with_disks(0, EPHEMERAL),
        with_disks(94, RAW),
        with_disks(368.1, EPHEMERAL, RAW),  # both kinds: the raw ones aren't told
        with_disks(368.1),  # no label: a boot disk that large
        with_disks(368.1, EPHEMERAL, region="nowhere1"),
    ],
)
def test_local_ssds_of_unknown_number_or_price_are_not_in_it(node: Node) -> None:
    price = price_node(BOOK, node).price
    assert not [part for part in price.parts if part.kind is PartKind.LOCAL_SSD]
    assert price.usd_per_hour == (
        pytest.approx(0.487514) if node.labels["topology.kubernetes.io/region"] == SEOUL else None
    )


def test_bundled_local_ssds_are_not_counted_twice() -> None:
    row = BOOK.machines["a2-ultragpu-1g us-central1"]
    node = make_node("a2-ultragpu-1g", "us-central1", cpu=12_000, memory_gib=160, gpus=1, labels={EPHEMERAL: "true"})
    full = replace(node, capacity=FrozenMap({**node.capacity, "ephemeral-storage": int(368.1 * 2**30)}))
    assert price_node(BOOK, full).usd_per_hour == pytest.approx(row.total_usd_per_hour["on-demand"], abs=1e-5)


def test_disks_that_the_types_name_tells_are_not_counted_twice() -> None:
    """gcp_totals_more_families.csv: 0.482488, of which the disks are what lacks at c4a-standard-8 (0.3592)."""
    node = make_node("c4a-standard-8-lssd", "us-central1", memory_gib=32, labels={EPHEMERAL: "true"})
    full = replace(node, capacity=FrozenMap({**node.capacity, "ephemeral-storage": int(368.1 * 2**30)}))
    assert price_node(BOOK, full).usd_per_hour == pytest.approx(0.482488)


def test_ones_own_price_of_a_pool_goes_before_what_labels_say() -> None:
    """On premises no label says a machine type; in openb all say one that none of them can be."""
    own = "machine_type,region,total_ondemand,total_spot\npool:gpu-t4,any,3.5,1.25\n"
    book = load_book([own_table(own, "own.csv")], is_refreshed=False)
    nameless = replace(make_node(gpus=4, cpu=64_000), labels=FrozenMap(T4))
    impossible = make_node(cpu=104_000, gpus=2, labels=T4)
    for node in (nameless, impossible):
        assert price_node(BOOK, node).price.usd_per_hour is None
        found = price_node(book, node).price
        assert (found.usd_per_hour, found.region_id) == (3.5, region(node))
        assert price_node(book, node, P.SPOT).price.usd_per_hour == 1.25
        assert 0 < GpuShares(book, [node]).of(found) < 1
    other = make_node(cpu=104_000, labels={GKE_NODE_POOL: "default"})
    assert price_node(book, other).price.reason is PriceReason.CAPACITY_MISMATCH, "another pool's isn't told"
    assert price_node(book, impossible, P.COMMITMENT_1Y).price.usd_per_hour is None
