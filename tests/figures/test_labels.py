"""Names beside bars: short enough for a phone, and never two alike."""

from __future__ import annotations

from planner.figures.text_labels import LONGEST, short, ticks


def test_a_long_name_loses_its_middle() -> None:
    assert short(["gke-prod-cluster-gpu-l4-pool-8f3a2c1d-x1yz", "short"]) == ["gke-prod-clu…8f3a2c1d-x1yz", "short"]


def test_names_that_differ_in_the_middle_stay_apart() -> None:
    hosts = [f"ip-10-0-123-{place}.eu-central-1.compute.internal" for place in (4, 45, 46)]
    assert short(hosts) == ["ip-10-0-123-4", "ip-10-0-123-45", "ip-10-0-123-46"]
    inner = [f"namespace-of-a-team/{place}-a-service-with-a-long-name" for place in "ab"]
    assert short(inner) == inner


def test_categories_keep_their_whole_names() -> None:
    names = ["a" * LONGEST, "b" * 60]
    assert ticks(names)["tickvals"] == names
    assert ticks(names[:1]) == {}
