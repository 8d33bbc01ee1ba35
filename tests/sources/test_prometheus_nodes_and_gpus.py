"""Spot nodes that came and went, and how busy GPUs were, from a real Prometheus with backfilled metrics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.ground.errors import SourceError
from planner.kubernetes.object_records import Snapshot
from planner.questions import idle
from planner.questions.idle import IdleSettings
from planner.questions.question import Inputs
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.sources.prometheus_gpus import gpu_use
from planner.sources.prometheus_node_lifetimes import nodes_before
from planner.sources.prometheus_usage import Bounds, Prometheus
from planner.spot.fitted_node_lifetimes import own_history, spells_of
from tests.sources.nodes_and_gpus import END, HOUR, START, metrics
from tests.sources.prometheus_server import running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus"), data=metrics()) as url:
        yield url


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_spot_nodes_come_and_go(address: str) -> None:
    watch = nodes_before(Prometheus(url=address), float(END), 1)
    assert {(one.node, one.node_pool, one.machine_type) for one in watch.nodes} == {
        ("gke-a", "gpu-spot", "n1-standard-8"), ("gke-b", "gpu-spot", "n1-standard-8"),
        ("gke-c", "gpu-spot", "n1-standard-8"), ("ip-1", "spots", ""),
    }  # fmt: skip
    spells = {(one.node_pool, one.created_at): one for one in spells_of(watch)}
    lost = spells["gpu-spot", START - 5.0 * HOUR]
    assert lost.was_lost
    # staleness of backfilled series: up to five minutes; looks are each five minutes
    assert lost.ended_at == pytest.approx(START + 10 * HOUR, abs=600)
    assert not spells["gpu-spot", START + 11.5 * HOUR].is_over
    down = spells["gpu-spot", START + 2.0 * HOUR]
    assert (down.is_over, down.was_lost) == (True, False)


def test_lives_and_gaps_are_fitted(address: str) -> None:
    found = own_history(nodes_before(Prometheus(url=address), float(END), 1))
    assert (found.nodes, found.lost, found.taken_down, found.still_there) == (5, 2, 1, 2)
    # 10 + 12.5 + 24 + 4 + 20 hours within the day
    assert found.node_hours == pytest.approx(70.5, abs=0.7)
    assert [life.hours for life in found.gaps if life.ended] == pytest.approx([1.5], abs=0.15)
    assert found.source == f"Prometheus at {address}"


def test_without_labels_of_nodes_it_says_how_to_get_them(tmp_path: Path) -> None:
    bare = "\n".join(
        ["# TYPE kube_node_created gauge"] + [f'kube_node_created{{node="a"}} 1 {START + i * 60}' for i in range(120)]
        + ["# TYPE kube_node_labels gauge"] + [f'kube_node_labels{{node="a"}} 1 {START + i * 60}' for i in range(120)]
        + ["# EOF", ""]
    )  # fmt: skip
    with running(tmp_path, data=bare) as url:
        with pytest.raises(SourceError, match="labels that tell spot nodes") as caught:
            nodes_before(Prometheus(url=url), float(START + 2 * HOUR), 1)
        assert "--metric-labels-allowlist" in caught.value.fix
        with pytest.raises(SourceError, match="none of DCGM_FI_PROF_GR_ENGINE_ACTIVE"):
            gpu_use(Prometheus(url=url), end=float(START + 2 * HOUR), days=1, busy_percent=5)
        with pytest.raises(SourceError, match="has no kube_node_created"):
            nodes_before(Prometheus(url=url), float(START - 10 * 86_400), 1)


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_gpus_are_idle_since_their_last_busy_reading(address: str) -> None:
    by = {one.gpu: one for one in gpu_use(Prometheus(url=address), end=float(END), days=1, busy_percent=5)}
    assert set(by) == {"GPU-busy", "GPU-idle", "GPU-late", "u"}
    assert by["GPU-idle"].busy_at is None
    assert by["GPU-idle"].namespace == "prod"  # the holder's, not the exporter's
    assert by["GPU-idle"].used_bytes == 9_000 * 2**20
    late = by["GPU-late"].busy_at
    assert late is not None
    assert START + 15 * HOUR <= late <= START + 15.5 * HOUR  # a peak of one scrape isn't missed
    assert by["GPU-late"].peak_percent == pytest.approx(90)
    assert (by["u"].model, by["u"].peak_percent, by["u"].used_bytes) == ("MI300X", 3, 100 * 2**20)


def test_requests_are_bounded_by_points(address: str) -> None:
    server = Prometheus(url=address, bounds=Bounds(series_per_request=1))
    with pytest.raises(SourceError, match="series for one query"):
        gpu_use(server, end=float(END), days=1, busy_percent=5)


def test_held_and_not_used_is_told_apart_from_nobodys(address: str, snapshot: Snapshot) -> None:
    uses = gpu_use(Prometheus(url=address), end=float(END), days=1, busy_percent=5)
    found = idle.answer(snapshot, IdleSettings(), Inputs(book=embedded_book(), gpu_uses=uses))
    assert {one.pod for one in found.pods} == {
        one.name for one in [pod for pod in snapshot.pods if pod.name.startswith("ml-worker-") and pod.node_name][:3]
    } - {one.pod for one in uses if one.gpu == "GPU-busy"}
    # a T4 in Seoul: 0.37 an hour less 30 % for a whole month = $189.07
    assert [one.usd_per_month for one in found.pods] == [189.07, 189.07]
    assert found.idle == 2
    assert found.idle_usd == 378.14
    assert found.held - found.unmeasured == 3
    by = {one.pod: one for one in found.pods}
    never = next(one for one in found.pods if one.is_since_before)
    assert never.workload == "Deployment/prod/ml-worker"
    assert {one.is_since_before for one in by.values()} == {True, False}
    assert found.gpus == found.held + found.free


def test_longer_ago_than_asked_is_not_idle(address: str, snapshot: Snapshot) -> None:
    uses = gpu_use(Prometheus(url=address), end=float(END), days=1, busy_percent=5)
    given = Inputs(book=embedded_book(), gpu_uses=uses)
    assert idle.answer(snapshot, IdleSettings(idle_minutes=10 * 60), given).idle == 1  # the one idle since 15:00 is not
    assert idle.answer(snapshot, IdleSettings(idle_minutes=20 * 60), given).idle == 0
