from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.history.snapshot_names import (
    Partition,
    SnapshotAddress,
    decoded,
    encoded,
    latest_moment,
    moment_of,
    read_place,
    snapshot_id,
    time_text,
)
from planner.kubernetes.object_records import Snapshot

GKE = "gke_acme-prod_europe-west4_edu"
EKS = "arn:aws:eks:eu-west-1:123456789012:cluster/edu@team"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_clusters_name_comes_back_from_its_path(name: str) -> None:
    text = encoded(name)
    assert decoded(text) == name
    assert not set(text) & set("@/:#?&= \\\0")
    assert Partition.in_path(f"tables/pods/{Partition(name, '2026-11-17').path}/x.parquet") == Partition(
        name, "2026-11-17"
    )


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ("store:/data/h", SnapshotAddress(url="/data/h")),
        ("store:/data/h#prod", SnapshotAddress(url="/data/h", cluster="prod")),
        ("store:file:///d#prod@2026-11-17", SnapshotAddress(url="file:///d", cluster="prod", time="2026-11-17")),
        (
            f"store:s3://b/p?region=x#{encoded(EKS)}@7d",
            SnapshotAddress(url="s3://b/p?region=x", cluster=EKS, time="7d"),
        ),
        ("store:/a#b/h#user@prod@latest", SnapshotAddress(url="/a#b/h", cluster="user@prod")),  # the last @ separates
    ],
)
def test_a_place_is_read_as_it_is_written(spec: str, place: SnapshotAddress) -> None:
    assert read_place(spec) == place
    assert read_place(str(place)) == place


@pytest.mark.parametrize("spec", ["store:", "store:#prod", "store:/d#prod@yesterday", "store:/d#prod@2026-13-01"])
def test_what_names_nothing_is_refused(spec: str) -> None:
    with pytest.raises(InputError) as refused:
        read_place(spec)
    assert refused.value.fix


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("time", "inside", "outside"),
    [
        ("2026-11-17", "2026-11-17T23:59:59", "2026-11-18T00:00:00"),
        ("2026-11-17T09:30Z", "2026-11-17T09:30:59", "2026-11-17T09:31:00"),
        ("2026-11-17T10:30+01:00", "2026-11-17T09:30:59", "2026-11-17T09:31:00"),
        ("2026-11-17T09:30:05", "2026-11-17T09:30:05.900000", "2026-11-17T09:30:06"),
        ("3d", "2026-11-17T12:00:00", "2026-11-17T12:00:01"),
        ("36h", "2026-11-19T00:00:00", "2026-11-19T00:00:01"),
    ],
)
def test_a_time_includes_all_that_it_names(time: str, inside: str, outside: str) -> None:
    latest = latest_moment(time, now=at("2026-11-20T12:00:00"))
    assert at(inside) <= latest < at(outside)


def test_a_snapshots_id_tells_its_moment_and_its_content() -> None:
    one = Snapshot(source="x", taken_at=1_795_341_770.123456, digest="ab" * 16)
    assert snapshot_id(one) == "20261122T100250.123456Z-abababababababab"
    assert moment_of(snapshot_id(one)) == pytest.approx(one.taken_at, abs=1e-6)
    assert latest_moment(time_text(one.taken_at), now=0) >= one.taken_at
