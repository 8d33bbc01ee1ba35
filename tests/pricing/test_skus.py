"""The mapping of SKUs, with the ten traps of the reference one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.pricing.gcp_skus import Rejection, Sku, TieredRate, read_description, read_sku
from planner.pricing.price_book import Component, Provisioning
from tests.pricing.catalogue import as_sku, wire_sku
from tests.seen import premise

P = Provisioning
C = Component


def read(description: str, usd: float = 1.0, **more: object) -> object:
    """(component, product, provisioning, price) of the first region, or the rejection."""
    found = read_sku(as_sku(wire_sku(description, usd, **more)), "2026-11-20", "test")  # type: ignore[arg-type]
    if isinstance(found, Rejection):
        return found
    return found[0].key.component, found[0].key.product, found[0].key.provisioning, found[0].list_unit_price


@pytest.mark.parametrize(
    ("description", "usage", "expected"),
    [
        ("N1 Predefined Instance Core running in Americas", "OnDemand", (C.CORE, "n1", P.ON_DEMAND)),
        ("N1 Predefined Instance Ram running in Americas", "OnDemand", (C.RAM, "n1", P.ON_DEMAND)),
        ("Spot Preemptible N1 Predefined Instance Core running in Berlin", "Preemptible", (C.CORE, "n1", P.SPOT)),
        ("Preemptible N2 Instance Ram running in Iowa", "Preemptible", (C.RAM, "n2", P.SPOT)),
        ("N2D AMD Instance Core running in Seoul", "OnDemand", (C.CORE, "n2d", P.ON_DEMAND)),
        ("C4A Arm Instance Core running in Seoul", "OnDemand", (C.CORE, "c4a", P.ON_DEMAND)),
        ("T2D AMD Instance Ram running in Singapore", "OnDemand", (C.RAM, "t2d", P.ON_DEMAND)),
        ("E2 Instance Core running in Americas", "OnDemand", (C.CORE, "e2", P.ON_DEMAND)),
        ("Compute optimized Core running in Americas", "OnDemand", (C.CORE, "c2", P.ON_DEMAND)),
        ("Compute optimized Instance Ram running in Berlin", "OnDemand", (C.RAM, "c2", P.ON_DEMAND)),
        ("A2 Instance Core running in Americas", "OnDemand", (C.CORE, "a2", P.ON_DEMAND)),
        ("A3 Instance Core running in Americas", "OnDemand", (C.CORE, "a3", P.ON_DEMAND)),
        ("A3Plus Instance Core running in Americas", "OnDemand", (C.CORE, "a3plus", P.ON_DEMAND)),
        ("A3Ultra Instance Ram running in Americas", "OnDemand", (C.RAM, "a3ultra", P.ON_DEMAND)),
        ("Nvidia Tesla T4 GPU running in Americas", "OnDemand", (C.GPU, "T4", P.ON_DEMAND)),
        ("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Iowa", "Preemptible", (C.GPU, "T4", P.SPOT)),
        ("Nvidia H100 80GB Plus GPU running in Americas", "OnDemand", (C.GPU, "H100-MEGA", P.ON_DEMAND)),
        ("Nvidia H100 80GB Mega GPU running in Tokyo", "OnDemand", (C.GPU, "H100-MEGA", P.ON_DEMAND)),
        ("H200 141GB GPU running in Iowa", "OnDemand", (C.GPU, "H200", P.ON_DEMAND)),
        ("H200 141GB GPU attached to Spot Preemptible VMs running in Iowa", "Preemptible", (C.GPU, "H200", P.SPOT)),
        ("RTX 6000 96GB running in Iowa", "OnDemand", (C.GPU, "RTX-PRO-6000", P.ON_DEMAND)),
        ("RTX 6000 96GB attached to Spot Preemptible VMs running in Iowa", "Preemptible", (C.GPU, "RTX-PRO-6000", P.SPOT)),
        ("SSD backed Local Storage", "OnDemand", (C.LOCAL_SSD, "local-ssd", P.ON_DEMAND)),
        ("SSD backed Local Storage in Tokyo", "OnDemand", (C.LOCAL_SSD, "local-ssd", P.ON_DEMAND)),
        ("SSD backed Local Storage attached to Spot Preemptible VMs in Tokyo", "Preemptible", (C.LOCAL_SSD, "local-ssd", P.SPOT)),
        ("Commitment v1: Nvidia L4 GPU running in Iowa for 1 Year", "Commit1Yr", (C.GPU, "L4", P.COMMITMENT_1Y)),
        ("Commitment v1: A2 Cpu in Americas for 3 Years", "Commit3Yr", (C.CORE, "a2", P.COMMITMENT_3Y)),
        ("Commitment v1: A2 Cpu in Americas for 3 Year", "Commit3Yr", (C.CORE, "a2", P.COMMITMENT_3Y)),
        ("Commitment v1: Cpu in Montreal for 1 Year", "Commit1Yr", (C.CORE, "n1", P.COMMITMENT_1Y)),
        ("Commitment v1: N2D AMD Ram in Seoul for 1 Year", "Commit1Yr", (C.RAM, "n2d", P.COMMITMENT_1Y)),
    ],
)  # fmt: skip
def test_descriptions_of_the_real_catalogue(
    description: str, usage: str, expected: tuple[Component, str, Provisioning]
) -> None:
    assert read_description(description, usage) == expected


def test_trap_1_flex_start_and_calendar_skus_are_typed_on_demand() -> None:
    """13 of the 35 GPU prices of a public catalogue are these."""
    flex = "Nvidia Tesla A100 80GB GPU attached to DWS Defined Duration VMs running in Americas"
    assert read(flex, 1.846198, group="GPU") == (C.GPU, "A100-80GB", P.FLEX_START, 1.846198)
    mega = "Nvidia H100 Mega 80GB GPU attached to DWS Defined Duration VMs running in Americas"
    assert read(mega, 4.423936, group="GPU") == (C.GPU, "H100-MEGA", P.FLEX_START, 4.423936)
    assert read("DWS Defined Duration A2 Core running in Americas") == (C.CORE, "a2", P.FLEX_START, 1.0)
    assert read("DWS Defined Duration A2 Ram running in Americas", unit="GiBy.h", group="RAM") == (C.RAM, "a2", P.FLEX_START, 1.0)  # fmt: skip
    for other in (
        "Reserved Nvidia H100 80GB Mega GPU in Americas in Calendar Mode",
        "DWS Calendar Mode A4 Nvidia B200 (1 gpu slice) running in Americas",
        "Nvidia H100 80GB GPU attached to Capacity Optimized VMs running in Americas",
    ):
        assert read(other, group="GPU") in (Rejection.OTHER_PRODUCT, Rejection.UNKNOWN_PRODUCT)


def test_trap_2_spot_skus_can_be_typed_on_demand() -> None:
    assert read("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas", 4.9542, group="GPU") == (C.GPU, "B200", P.SPOT, 4.9542)  # fmt: skip
    assert read("A4 Nvidia B200 (1 gpu slice) running in Americas", 16.11, group="GPU") == (C.GPU, "B200", P.ON_DEMAND, 16.11)  # fmt: skip


def test_trap_3_a_prefix_is_not_a_model() -> None:
    texts = [
        "Nvidia Tesla A100 GPU running in Americas",
        "Nvidia Tesla A100 80GB GPU running in Americas",
        "Nvidia H100 80GB GPU running in Americas",
        "Nvidia H100 80GB Mega GPU running in Americas",
        "A3 Instance Core running in Americas",
        "A3Plus Instance Core running in Americas",
        "A3Ultra Instance Core running in Americas",
    ]
    products = [read(text, group="GPU" if "GPU" in text else "CPU")[1] for text in texts]  # type: ignore[index]
    assert products == ["A100", "A100-80GB", "H100", "H100-MEGA", "a3", "a3plus", "a3ultra"]
    assert read("Nvidia Tesla A100 160GB GPU running in Americas", group="GPU") is Rejection.UNKNOWN_PRODUCT
    assert read("A3Mega Instance Core running in Americas") is Rejection.UNKNOWN_PRODUCT


def test_trap_4_zero_prices_are_placeholders() -> None:
    assert read("Nvidia L4 GPU running in Iowa", 0.0, group="GPU") is Rejection.ZERO
    free_tier = [
        {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD"}},
        {"startUsageAmount": 10, "unitPrice": {"currencyCode": "USD", "nanos": 250_000_000}},
    ]
    assert read("Nvidia L4 GPU running in Iowa", group="GPU", rates=free_tier) == (C.GPU, "L4", P.ON_DEMAND, 0.25)
    assert read("Nvidia L4 GPU running in Iowa", group="GPU", rates=[]) is Rejection.ZERO


def test_trap_5_memory_is_counted_in_gibibyte_hours() -> None:
    assert read("A2 Instance Ram running in Americas", 0.004237, unit="GiBy.h", group="RAM") == (C.RAM, "a2", P.ON_DEMAND, 0.004237)  # fmt: skip
    assert read("A2 Instance Ram running in Americas", unit="h", group="RAM") is Rejection.UNIT
    assert read("A2 Instance Core running in Americas", unit="GiBy.h") is Rejection.UNIT
    assert read("SSD backed Local Storage", unit="GiBy.h", group="LocalSSD", family="Storage") is Rejection.UNIT


@pytest.mark.parametrize(
    "description",
    [
        "Sole Tenancy Premium for G2 Instance Core running in Iowa",
        "N2 Sole Tenancy Instance Core running in Iowa",
        "Committed Use Discount Premium for E2 Custom Instance Core running in Johannesburg",
        "Memory Optimized Upgrade Premium for Memory-optimized Instance Core running in Iowa",
        "N1 Predefined suspended Instance Core running in Iowa",
        "Reserved Nvidia Tesla A100 GPU in Milan",
        "Licensing Fee for Windows Server 2022 (CPU cost) running in Iowa",
        "Commitment v1: N4A Core in Johannesburg for 5 Years",
    ],
)
def test_trap_7_premiums_tenancy_and_licences_are_not_the_machine(description: str) -> None:
    assert read(description) is Rejection.OTHER_PRODUCT
    assert read(description, usage="Preemptible") in (Rejection.OTHER_PRODUCT, Rejection.USAGE_TYPE)


@pytest.mark.parametrize(
    ("description", "product"),
    [
        ("Custom Instance Core running in Americas", "n1-custom"),
        ("N2 Custom Instance Core running in Singapore", "n2-custom"),
        ("N2D AMD Custom Instance Core running in Singapore", "n2d-custom"),
        ("Custom E2 Instance Core running in Iowa", "e2-custom"),
        ("E2 Custom Instance Core running in Iowa", "e2-custom"),
        ("N4 Custom Instance Core running in Iowa", "n4-custom"),
    ],
)
def test_trap_7_custom_skus_price_custom_types_only(description: str, product: str) -> None:
    assert read(description) == (C.CORE, product, P.ON_DEMAND, 1.0)
    extended = description.replace("Instance Core", "Extended Instance Ram")
    assert read(extended, unit="GiBy.h", group="RAM") == (C.RAM, f"{product}-ext", P.ON_DEMAND, 1.0)


def test_trap_10_other_currencies_are_refused() -> None:
    assert read("T2D AMD Instance Core running in Singapore", 508.93, currency="IDR") is Rejection.CURRENCY


def test_regions_come_from_the_list_not_from_the_place() -> None:
    sku = as_sku(wire_sku("Nvidia L4 GPU running in Americas", 0.5, group="GPU", regions=["us-west1", "us-east1"]))
    found = read_sku(sku, "2026-11-20", "test")
    assert not isinstance(found, Rejection)
    assert [unit.key.region_id for unit in found] == ["us-west1", "us-east1"]
    assert read("Nvidia L4 GPU running in Americas", group="GPU", regions=[]) is Rejection.NO_REGION


def test_units_and_billionths_are_added_exactly() -> None:
    assert read("Nvidia Tesla A100 GPU running in Americas", 2.933908, group="GPU") == (C.GPU, "A100", P.ON_DEMAND, 2.933908)  # fmt: skip
    assert TieredRate(start_usage_amount=0, currency_code="USD", units=16, nanos=110_000_000).unit_price == 16.11


def test_a_price_that_depends_on_the_amount_is_not_one_price() -> None:
    rates = [
        {"startUsageAmount": start, "unitPrice": {"currencyCode": "USD", "nanos": nanos}}
        for start, nanos in ((0, 1000), (5, 900))
    ]
    assert read("Nvidia L4 GPU running in Iowa", group="GPU", rates=rates) is Rejection.TIERED


@pytest.mark.parametrize(
    ("description", "more", "expected"),
    [
        ("Network Egress via Carrier Peering", {"group": "PeeringOrInterconnectEgress", "family": "Network"}, Rejection.OTHER_RESOURCE),
        ("Micro Instance with burstable CPU running in Iowa", {"group": "F1Micro"}, Rejection.OTHER_RESOURCE),
        ("Licensing Fee for Ubuntu", {"group": "CPU", "family": "License"}, Rejection.OTHER_RESOURCE),
        ("Commitment v1: A2 Cpu in Americas for 1 Year", {"usage": "Commit3Yr"}, Rejection.USAGE_TYPE),
        ("Commitment v1: A2 Cpu in Americas for 1 Year", {"usage": "OnDemand"}, Rejection.USAGE_TYPE),
        ("Nvidia L4 GPU attached to DWS Defined Duration VMs running in Iowa", {"group": "GPU", "usage": "Preemptible"}, Rejection.USAGE_TYPE),
        ("A2 Instance Core running in Americas", {"usage": "CmtCudPremium"}, Rejection.OTHER_PRODUCT),
        ("Quantum Instance Core running in Americas", {}, Rejection.UNKNOWN_PRODUCT),
    ],
)  # fmt: skip
def test_what_is_something_else_is_left_out(description: str, more: dict[str, object], expected: Rejection) -> None:
    assert read(description, 1.0, **more) is expected


@given(
    st.tuples(
        st.sampled_from(["", "Spot Preemptible", "DWS Defined Duration", "Commitment v1:"]),
        st.sampled_from(["", "", "", "Custom", "Extended", "Premium", "Reserved", "Instance", "GPU"]),
        st.sampled_from(["Nvidia Tesla A100 80GB GPU", "A3Plus Instance Core", "A2 Cpu", "A2 Instance Core", "A3 (1 gpu slice)"]),
        st.sampled_from(["", "", "attached to VMs", "attached to Spot Preemptible VMs", "attached to DWS Defined Duration VMs"]),
        st.sampled_from(["running in Americas", "in Americas for 1 Year", "in Americas for 3 Years"]),
    ).map(lambda parts: " ".join(filter(None, parts))),
    st.sampled_from(["OnDemand", "Preemptible", "Commit1Yr", "Commit3Yr", "", "Commit"]),
)  # fmt: skip
def test_any_words_are_read_or_rejected(description: str, usage: str) -> None:
    sku = Sku(
        sku_id="x",
        description=description,
        resource_family="Compute",
        resource_group="CPU",
        usage_type=usage,
        service_regions=("us-central1",),
        usage_unit="h",
        rates=(TieredRate(start_usage_amount=0, currency_code="USD", units=1, nanos=500_000_000),),
    )
    found = read_sku(sku, "2026-11-20", "test")
    if premise(not isinstance(found, Rejection)):
        assert not isinstance(found, Rejection)
        assert "Premium" not in description
        assert "Reserved" not in description
        assert (found[0].key.provisioning in (P.COMMITMENT_1Y, P.COMMITMENT_3Y)) == usage.startswith("Commit")
