"""Rounding of maxSurge and maxUnavailable; the tables are those of Kubernetes' own tests (`TestResolveFenceposts`)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import ChangeError
from planner.kubernetes.object_records import PodSpec, Strategy, Template, Workload
from planner.kubernetes.surge_and_unavailable import enough, fenceposts, rolling_limits, scaled_value


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        ("0%", "0%", 0, (0, 1)),
        ("39%", "39%", 10, (4, 3)),
        (None, "39%", 10, (0, 3)),
        ("39%", None, 10, (4, 0)),
        (None, None, 10, (0, 1)),
        ("25%", "25%", 1, (1, 0)),
        ("25%", "25%", 6, (2, 1)),
        (1, 0, 3, (1, 0)),
    ],
)
def test_fenceposts(
    surge: int | str | None, unavailable: int | str | None, replicas: int, expected: tuple[int, int]
) -> None:
    assert fenceposts(surge, unavailable, replicas) == expected


@pytest.mark.parametrize("value", ["oops", "urg", "1", "-1%", "1.5%", "", "%", -1])
def test_what_is_neither_number_nor_share(value: int | str) -> None:
    with pytest.raises(ChangeError):
        scaled_value(value, 10, round_up=True)


@given(st.integers(0, 200), st.integers(0, 1000))
def test_shares_are_rounded_as_said(percent: int, total: int) -> None:
    up, down = (scaled_value(f"{percent}%", total, round_up=flag) for flag in (True, False))
    assert down * 100 <= percent * total <= up * 100
    assert up - down in (0, 1)
    assert enough(percent / 100, total) == up


def workload(kind: str, how: str = "RollingUpdate", **limits: int | str) -> Workload:
    template = Template(labels=PodSpec().node_selector, spec=PodSpec())
    rule = Strategy(kind=how, **limits)  # type: ignore[arg-type]
    return Workload(kind=kind, namespace="ml", name="w", replicas=5, template=template, strategy=rule)


def test_limits_by_kind() -> None:
    assert rolling_limits(workload("Deployment", max_surge="25%", max_unavailable="25%")) == (2, 1)
    assert rolling_limits(workload("Deployment", max_surge=1, max_unavailable=9)) == (1, 5)
    assert rolling_limits(workload("Deployment", "Recreate")) == (0, 5)
    assert rolling_limits(workload("DaemonSet", max_surge="10%", max_unavailable=0), 12) == (2, 0)
    assert rolling_limits(workload("DaemonSet", max_surge=0, max_unavailable="10%"), 12) == (0, 2)
    assert rolling_limits(workload("DaemonSet", max_surge=0, max_unavailable=0), 12) == (0, 1)
    assert rolling_limits(workload("StatefulSet")) == (0, 1)
    assert rolling_limits(workload("StatefulSet", max_unavailable="30%")) == (0, 1)  # rounded down, at least 1
    assert rolling_limits(workload("StatefulSet", max_unavailable="50%")) == (0, 2)
    assert rolling_limits(workload("Job")) == (0, 0)
