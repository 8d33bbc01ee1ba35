"""Machines of other clouds: what of a price is GPUs' is solved; SkyPilot's catalogue columns. Figures by hand."""

from __future__ import annotations

import pytest

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.well_known_names import AWS_ZONE_ID, CPU, INSTANCE_TYPE, MEMORY, REGION
from planner.kubernetes.object_records import FrozenMap, Node, Snapshot
from planner.pricing.node_pool_costs import SplitCost, cluster_cost
from planner.pricing.node_price import price_node, refresh_commands
from planner.pricing.price_book import PriceBook, Provisioning
from planner.pricing.price_table_parser import compose, read_table
from planner.pricing.projected_bill import bill
from planner.sources.prices import embedded_book

OWN = "machine_type,region,total_ondemand,total_spot"
SKYPILOT = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone,Arch"
)


def book(text: str) -> PriceBook:
    table = read_table(text, where="mine.csv", source="own prices", is_own=True)
    return compose((), own=(table,), as_of="2026-11-20", source="nothing")


def node(machine: str, vcpus: int, gib: int, gpus: int, *, spot: bool = False, zone_id: str = "", region: str = "us-east-1") -> Node:  # fmt: skip
    labels = {INSTANCE_TYPE: machine, REGION: region, "eks.amazonaws.com/capacityType": "SPOT" if spot else "ON_DEMAND"}
    labels |= {AWS_ZONE_ID: zone_id} if zone_id else {}
    size = {CPU: vcpus * 1000, MEMORY: gib * 2**30} | ({"nvidia.com/gpu": gpus} if gpus else {})
    return Node(name=machine, labels=FrozenMap(labels), allocatable=FrozenMap(size), capacity=FrozenMap(size))


def split(text: str, *nodes: Node) -> dict[str, SplitCost]:
    return {one.node.node: one.cost.times(1 / 730) for one in cluster_cost(book(text), nodes, None).nodes}


def test_a_family_s_sizes_tell_what_its_gpus_cost() -> None:
    """g4dn: (0.752 − 0.526) for 4 vCPUs and 16 GiB = 0.226, the T4 0.300; four of them and 48 vCPUs 3.912, as listed."""
    rows = f"{OWN}\ng4dn.xlarge,us-east-1,0.526,\ng4dn.2xlarge,us-east-1,0.752,\ng4dn.12xlarge,us-east-1,3.912,\n"
    nodes = node("g4dn.xlarge", 4, 16, 1), node("g4dn.2xlarge", 8, 32, 1), node("g4dn.12xlarge", 48, 192, 4)
    found = split(rows, *nodes)
    assert found["g4dn.xlarge"].gpu == pytest.approx(0.300, abs=0.001)
    assert found["g4dn.2xlarge"].gpu == pytest.approx(0.300, abs=0.001)
    assert found["g4dn.12xlarge"].gpu == pytest.approx(1.200, abs=0.002)
    assert found["g4dn.12xlarge"].cpu + found["g4dn.12xlarge"].memory == pytest.approx(12 * 0.226, abs=0.002)


def test_one_size_has_the_host_s_rates() -> None:
    """p4d: 96 × 0.033 + 1,152 × 0.00375 = 7.488 of 21.957642: GPUs 66%. A review: a pod of 40 vCPUs and 400 GiB cost $0."""
    found = split(f"{OWN}\np4d.24xlarge,us-east-1,21.957642,\n", node("p4d.24xlarge", 96, 1152, 8))["p4d.24xlarge"]
    assert found.gpu == pytest.approx(21.957642 - 7.488, abs=0.001)
    assert found.gpu / found.total == pytest.approx(0.66, abs=0.005)
    pod = 730 * (40 / 96 * found.cpu + 400 / 1_152 * found.memory)
    assert 2_000 < pod < 2_300


def test_one_s_own_hosts_go_before_the_default_rates() -> None:
    """At 0.05 a vCPU and 0.01 a GiB: 8 × 0.05 + 64 × 0.01 = 1.04 of 2.04."""
    rows = f"{OWN}\nm.large,us-east-1,0.18,\nc.large,us-east-1,0.14,\nr.large,us-east-1,0.26,\nx1.big,us-east-1,2.04,\n"
    hosts = node("m.large", 2, 8, 0), node("c.large", 2, 4, 0), node("r.large", 2, 16, 0)
    assert split(rows, *hosts, node("x1.big", 8, 64, 1))["x1.big"].gpu == pytest.approx(1.0, abs=0.001)


def test_a_machine_without_gpus_has_none_to_pay() -> None:
    assert split(f"{OWN}\nm5.xlarge,us-east-1,0.192,\n", node("m5.xlarge", 4, 16, 0))["m5.xlarge"].gpu == 0


# ── SkyPilot's columns ───────────────────────────────────────────────────────────────────────────────────────────────
CATALOGUE = f"""{SKYPILOT}
g4dn.xlarge,T4,1.0,4.0,16.0,,0.526,0.21,us-east-1,use1-az4,x86_64
g4dn.xlarge,T4,1.0,4.0,16.0,,0.526,0.25,us-east-1,use1-az6,x86_64
g4dn.xlarge,T4,1.0,4.0,16.0,,0.526,,us-east-1,use1-az1,x86_64
a1.large,,,2.0,4.0,,0.051,0.051,us-east-1,use1-az4,arm64
Standard_NC24ads_A100_v4,A100-80GB,1.0,24.0,220.0,,3.673,0.68,eastus,,x64
"""


def test_skypilot_s_columns_are_a_price_list() -> None:
    prices = book(CATALOGUE)
    at = price_node(prices, node("g4dn.xlarge", 4, 16, 1, spot=True, zone_id="use1-az6")).price
    assert (at.usd_per_hour, at.region_id) == (0.25, "us-east-1")
    assert price_node(prices, node("g4dn.xlarge", 4, 16, 1, spot=True)).usd_per_hour == pytest.approx(0.23)
    assert price_node(prices, node("g4dn.xlarge", 4, 16, 1, zone_id="use1-az4")).usd_per_hour == 0.526
    azure = node("Standard_NC24ads_A100_v4", 24, 220, 1, region="eastus")
    assert price_node(prices, azure, Provisioning.SPOT).usd_per_hour == 0.68


def test_a_spot_price_equal_to_the_one_on_demand_is_no_market() -> None:
    found = price_node(book(CATALOGUE), node("a1.large", 2, 4, 0), Provisioning.SPOT)
    assert found.usd_per_hour is None


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("g4dn.xlarge,T4,1,4,16,,free,,us-east-1,use1-az4,x86_64", "is not a number"),
        (",T4,1,,,,0.35,,us-central1,us-central1-a,", "without a machine type"),
        ("g4dn.xlarge,T4,1,4,16,,,,us-east-1,use1-az4,x86_64", "no prices"),
    ],
)
def test_what_is_wrong_with_a_catalogue_is_said(row: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        book(f"{SKYPILOT}\n{row}\n")


# ── the lists that come with the planner ─────────────────────────────────────────────────────────────────────────────
def embedded(*nodes: Node) -> dict[str, SplitCost]:
    return {one.node.node: one.cost.times(1 / 730) for one in cluster_cost(embedded_book(), nodes, None).nodes}


def test_nodes_of_eks_have_prices_and_their_gpus_a_part() -> None:
    """One g4dn.xlarge alone: the list's other sizes tell that its T4 is 0.27 to 0.30 of 0.526; of a p4d, GPUs are 66%."""
    found = embedded(node("g4dn.xlarge", 4, 16, 1), node("p4d.24xlarge", 96, 1152, 8), node("m5.large", 2, 8, 0))
    assert found["m5.large"].total == pytest.approx(0.096)
    assert found["g4dn.xlarge"].total == pytest.approx(0.526)
    assert found["g4dn.xlarge"].gpu == pytest.approx(0.285, abs=0.016)  # the larger have dearer disks
    assert found["p4d.24xlarge"].gpu / found["p4d.24xlarge"].total == pytest.approx(0.66, abs=0.01)


def test_nodes_of_aks_have_prices_in_every_region() -> None:
    """NC24ads_A100_v4 in eastus 3.673, of it 24 × 0.033 + 220 × 0.00375 = 1.617 the host's, as D4s_v5 0.192 and E4s_v5 0.252 tell."""
    labels = FrozenMap(
        {INSTANCE_TYPE: "Standard_NC24ads_A100_v4", REGION: "eastus", "kubernetes.azure.com/agentpool": "gpu"}
    )
    size = FrozenMap({CPU: 24_000, MEMORY: 220 * 2**30, "nvidia.com/gpu": 1})
    aks = Node(name="aks-gpu-0", labels=labels, allocatable=size, capacity=size)
    found = embedded(aks)["aks-gpu-0"]
    assert found.total == pytest.approx(3.673)
    assert found.gpu == pytest.approx(3.673 - 1.617, abs=0.001)
    spot = price_node(embedded_book(), aks, Provisioning.SPOT).price
    assert spot.usd_per_hour is None
    assert "costs --price-list refresh --cloud" in str(spot.sentence)


def test_the_cluster_s_fee_is_of_who_runs_it() -> None:
    """Nodes of Google's whose kubelets aren't GKE's (openb) pay no fee; EKS and AKS have theirs."""

    def said(version: str, label: str) -> str:
        one = Node(name="n", labels=FrozenMap({label: "a"}), kubelet_version=version)
        return next(
            (
                str(item.sentence)
                for item in bill(
                    embedded_book(), Snapshot(nodes=(one,), taken_at=0.0, source="made", digest="x")
                ).not_in
                if item.name == "cluster fee"
            ),
            "",
        )

    assert said("v1.36.2-gke.1208000", "cloud.google.com/gke-nodepool").startswith("GKE's")
    assert not said("v1.36.2", "cloud.google.com/gke-nodepool")
    assert said("v1.36.2-eks-3025e55", "eks.amazonaws.com/nodegroup").startswith("EKS's management fee, $73.00")
    assert said("v1.36.2", "kubernetes.azure.com/agentpool").endswith("none in the Free tier")


IMPLAUSIBLE = {
    "newzealandnorth": ["F1ams", "F2ams", "F4ams", "F8ams", "F16ams", "F32ams", "F48ams", "F64ams", "F72iams"],
    "brazilsoutheast": ["A8", "A9", "A10", "A11"],
    "centralindia": ["D2as", "D16ads"],
}


def test_fifteen_slips_of_azures_list_are_refused_and_nothing_else_is() -> None:
    """A tenth of what the type costs elsewhere (F64ams_v6 0.719, the median of its regions 6.925) is no price to reckon with."""
    (azure,) = (one for one in embedded_book().lists if one.seller == "Azure")
    refused = {name for names in IMPLAUSIBLE.values() for name in names}
    found = {
        (region, machine.removeprefix("Standard_").split("_")[0])
        for place, machine in enumerate(azure.machine_types)
        if place % 5 == 0 or any(f"_{name}_" in f"{machine}_" for name in refused)  # a fifth of those that are right
        for region in azure.regions
        if azure.implausible(machine, region) is not None
    }
    assert found == {(region, machine) for region, machines in IMPLAUSIBLE.items() for machine in machines}
    assert azure.find("Standard_F64ams_v6", "newzealandnorth") is None
    there = azure.find("Standard_F64ams_v6", "eastus")
    assert there is not None
    assert there.usd_per_hour["on-demand"] > 4
    assert "newzealandnorth" not in azure.regions_of("Standard_F64ams_v6")


def test_a_refused_price_is_told_with_what_is_usual() -> None:
    labels = {INSTANCE_TYPE: "Standard_F64ams_v6", REGION: "newzealandnorth", "kubernetes.azure.com/agentpool": "cpu"}
    size = FrozenMap({CPU: 64_000, MEMORY: 512 * 2**30})
    found = price_node(embedded_book(), Node(name="n", labels=FrozenMap(labels), allocatable=size, capacity=size))
    assert found.usd_per_hour is None
    assert "0.719, is refused: the median of its regions is 6.925" in str(found.sentence)


def test_a_list_is_read_by_its_regions() -> None:
    """``headroom costs --price-list refresh`` refuses a cloud without one."""
    machine = node("m5.xlarge", 4, 16, 0)
    regions = ("us-east-1", "eu-west-1", "")
    here, elsewhere, nowhere = (
        replace(machine, provider_id="aws:///z/i-1", labels=FrozenMap({REGION: region})) for region in regions
    )
    both = "headroom costs --price-list refresh --cloud aws --region eu-west-1 --region us-east-1"
    assert refresh_commands([here, elsewhere, nowhere]) == (both,)
    assert refresh_commands([nowhere]) == ()
    google = Node(name="g", provider_id="gce://p/us-central1-a/g")
    assert refresh_commands([google]) == ("headroom costs --price-list refresh",)
