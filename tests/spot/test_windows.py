import pytest

from planner.spot.assumptions import Capacity
from planner.spot.termination_notice import Provider, window_of
from tests.spot import clusters
from tests.spot.clusters import node


@pytest.mark.parametrize(
    ("version", "seconds", "raisable"),
    [
        ("v1.22.8-gke.200", 25, None),
        ("v1.22.8-gke.201", 15, None),
        ("v1.34.1-gke.1000", 15, None),
        ("v1.35.0-gke.1170999", 15, None),
        ("v1.35.0-gke.1171000", 15, 120),
        ("v1.36.2-gke.1208000", 15, 120),
        ("nonsense", 15, None),
    ],
)
def test_gke_by_version(version: str, seconds: int, raisable: int | None) -> None:
    found = window_of([node(version=version)])
    assert (found.provider, found.seconds, found.raisable_seconds) == (Provider.GKE, seconds, raisable)
    assert found.source.startswith("https://")


def test_the_oldest_node_decides_and_preemptible_cannot_be_raised() -> None:
    mixed = [node("a"), node("b", version="v1.34.0-gke.1")]
    assert window_of(mixed).raisable_seconds is None
    assert window_of([node()], Capacity.PREEMPTIBLE).raisable_seconds is None


def test_autopilot() -> None:
    assert window_of([node("gk3-cluster-pool-1")]).seconds == 25


@pytest.mark.parametrize(
    ("labels", "provider", "seconds"),
    [
        ({"eks.amazonaws.com/nodegroup": "g"}, Provider.EKS, 120),
        ({"kubernetes.azure.com/agentpool": "g"}, Provider.AKS, 30),
        ({}, Provider.OTHER, 15),
    ],
)
def test_other_providers(
    labels: dict[str, str], provider: Provider, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "GKE", {})
    found = window_of([node(labels=labels, version="v1.31.0")])
    assert (found.provider, found.seconds) == (provider, seconds)
    assert found.source


def test_nobody_to_ask_gives_the_shortest() -> None:
    assert window_of([]).seconds == 15
