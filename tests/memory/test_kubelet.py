import pytest

from planner.ground.errors import InputError
from planner.health.memory.kubelet import (
    THRESHOLD_SOURCES,
    KubeletSettings,
    ReservationPolicy,
    Threshold,
    node_memory,
    parse_threshold,
)
from planner.kubernetes.object_records import Node
from tests.builders.records import amounts
from tests.memory.objects import GIB, MIB


def test_thresholds_are_read_as_the_kubelet_reads_them() -> None:
    assert parse_threshold("100Mi") == Threshold(amount_bytes=100 * MIB)
    assert parse_threshold("5%") == Threshold(percent=5.0)
    assert parse_threshold("0%") is None
    assert parse_threshold("100%") is None


@pytest.mark.parametrize("text", ["", "0", "-1", "101%", "x%", "1K", "5 %", "NaN%"])
def test_thresholds_the_kubelet_refuses(text: str) -> None:
    with pytest.raises(InputError, match="threshold"):
        parse_threshold(text)


def test_a_share_is_kept_in_32_bits_as_in_the_kubelet() -> None:
    # float32(10)/100 is a little more than a tenth: 1 byte in 100 GB and more
    assert Threshold(percent=10.0).of(16 * GIB) == int(16 * GIB * 0.10000000149011612)
    assert str(Threshold(percent=10.0)) == "10%"
    assert str(Threshold(amount_bytes=100 * MIB)) == "100Mi"


def test_defaults_name_their_source() -> None:
    assert KubeletSettings().hard == Threshold(amount_bytes=100 * MIB)
    assert KubeletSettings().soft is None
    assert all("100Mi" in source for source in THRESHOLD_SOURCES.values())


@pytest.mark.parametrize("factor", [0, -0.1, 1.01])
def test_throttling_factor_is_bounded(factor: float) -> None:
    with pytest.raises(InputError, match="throttling factor"):
        KubeletSettings(throttling_factor=factor)


def test_reservation_needs_the_feature() -> None:
    with pytest.raises(InputError, match="MemoryQoS"):
        KubeletSettings(reservation_policy=ReservationPolicy.TIERED)
    assert KubeletSettings(memory_qos=True, reservation_policy=ReservationPolicy.TIERED).memory_qos


def test_negative_swap_is_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        KubeletSettings(swap_bytes=-1)


def test_a_node_without_allocatable_has_its_capacity() -> None:
    bare = Node(name="bare", capacity=amounts({"memory": "8Gi"}))
    assert node_memory(bare, KubeletSettings(swap_bytes=5)).allocatable_bytes == 8 * GIB
    assert node_memory(bare, KubeletSettings(swap_bytes=5)).swap_bytes == 5
