"""Bearing what is used, and what is idle by weight: OpenCost's and Kubecost's conventions, on the demo by hand and on a node of two pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import NotKnownError
from planner.ground.records import replace
from planner.kubernetes.object_records import ContainerMetrics, PodMetrics, Snapshot
from planner.pricing.allocation import AllocationKind
from planner.pricing.projected_bill import POOL, WORKLOAD, ClusterBill, bill
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders import aks

BOOK = embedded_book()


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


def by_name(found: ClusterBill) -> dict[str, float]:
    return {line.name or line.share.value: line.usd for line in found.lines}


def test_the_demo_as_opencost_counts_it(snapshot: Snapshot) -> None:
    """A review's own reckoning: prod 28,981.80 instead of 28,975.81, idle 4,967.87 instead of 4,973.95."""
    plain, used = bill(BOOK, snapshot), bill(BOOK, snapshot, counts_usage=True)
    assert (by_name(plain)["prod"], by_name(plain)["idle"]) == (28_975.81, 4_973.95)
    assert by_name(used)["prod"] == 28_981.80
    assert by_name(used)["idle"] == pytest.approx(4_967.87, abs=0.011)
    assert used.bill_usd_per_month == plain.bill_usd_per_month
    assert "$4,968 of it isn't requested or used" in str(used.sentence)
    assert any("usage is of one moment (metrics-server), of 131 of 131 pods" in note for note in used.notes)


def test_idle_and_shared_by_weight_by_hand(snapshot: Snapshot) -> None:
    """28,975.81, 1,694.03 and 1,204.49 bear 123.62 + 4,973.95 beside: each 5,097.57 / 31,874.33 = 15.9927% more."""
    found = bill(BOOK, snapshot, shares_idle=True)
    assert {line.share for line in found.lines} == {AllocationKind.USED}
    by_hand = {"prod": 33_609.83, "batch": 1_964.95, "dev": 1_397.12}
    assert by_name(found) == pytest.approx(by_hand, abs=0.011)
    assert found.bill_idle == bill(BOOK, snapshot).bill_idle  # it is still idle, whoever bears it


@pytest.mark.parametrize("by", ["namespace", WORKLOAD, POOL, "label:app"])
@pytest.mark.parametrize("counts_usage", [False, True])
def test_the_lines_are_the_bill_to_the_cent(snapshot: Snapshot, by: str, *, counts_usage: bool) -> None:
    found = bill(BOOK, snapshot, by, counts_usage=counts_usage, shares_idle=True)
    cents = sum(round(100 * one) for line in found.lines for one in (line.gpu_usd, line.cpu_usd, line.memory_usd))
    assert cents == round(100 * (found.bill_usd_per_month or 0.0))


def test_a_pool_s_idle_stays_with_the_pool(snapshot: Snapshot) -> None:
    plain, found = bill(BOOK, snapshot, POOL), bill(BOOK, snapshot, POOL, shares_idle=True)
    sums: dict[str, float] = {}
    for line in plain.lines:
        sums[line.name] = sums.get(line.name, 0.0) + line.usd
    assert by_name(found) == pytest.approx(sums, abs=0.005)


def with_usage(cpu_millicores: int, memory_bytes: int) -> Snapshot:
    """The AKS cluster, one of whose two servers uses so much; it requests 12 vCPUs and 110 GiB of 24 and 220."""
    snapshot = aks.snapshot()
    name = next(pod.name for pod in snapshot.pods if pod.name.startswith("serve"))
    container = next(pod for pod in snapshot.pods if pod.name == name).spec.containers[0].name
    seen = ContainerMetrics(container=container, cpu_millicores=cpu_millicores, working_set_bytes=memory_bytes)
    metrics = PodMetrics(namespace="ml", name=name, taken_at=snapshot.taken_at, window_seconds=30.0, containers=(seen,))
    return replace(snapshot, pod_metrics=(metrics,))


@given(st.integers(0, 40_000), st.integers(0, 300 * 2**30))
def test_who_uses_more_bears_more_and_never_less(cpu: int, memory: int) -> None:
    snapshot = with_usage(cpu, memory)
    plain, used = (
        next(line for line in bill(BOOK, snapshot, counts_usage=one).lines if line.name == "ml")
        for one in (False, True)
    )
    assert used.gpu_usd == plain.gpu_usd
    for before, after, is_more in (
        (plain.cpu_usd, used.cpu_usd, cpu > 12_000), (plain.memory_usd, used.memory_usd, memory > 110 * 2**30)
    ):  # fmt: skip
        assert after >= before
        assert is_more or after == before


def test_pods_without_a_reading_count_by_what_they_request_and_are_told() -> None:
    found = bill(BOOK, with_usage(24_000, 0), counts_usage=True)
    every = sum(pod.holds_room for pod in aks.snapshot().pods)
    assert any(
        f"of 1 of {every} pods; the other {every - 1} count by what they request" in note for note in found.notes
    )


def test_without_any_usage_it_is_not_known() -> None:
    with pytest.raises(NotKnownError, match="no pod's usage is in the input"):
        bill(BOOK, aks.snapshot(), counts_usage=True)
