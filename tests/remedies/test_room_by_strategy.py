"""How much room each strategy needs on the tightest cluster of a manifest, as the grid of a pasted manifest shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.figures import strategy_grid as drawing
from planner.inventory.change import WorkloadChange
from planner.questions import rollout, strategies
from planner.questions.rollout import RolloutSettings
from planner.remedies.manifest_room_needs import tightest_cluster_of
from planner.remedies.room_by_strategy import cells_of, with_room
from planner.rollout.answers import RECREATE, Verdict
from planner.rollout.clusterless_room_need import Need
from planner.rollout.prepared_change import Scenario
from planner.rollout.strategy_choice import Weights
from planner.rollout.strategy_grid import strategy_grid
from tests.remedies.test_room_without_cluster import HOST, ZONE, affinity, claim, need_of, rolling, spread, workload

KEY = "Deployment/ml/app"


def made(*objects: dict[str, Any], **replicas: int) -> Any:
    counts = {f"Deployment/ml/{name}": number for name, number in (replicas or {"app": 1}).items()}
    return tightest_cluster_of("\n---\n".join(map(json.dumps, objects)), counts)


def test_each_cell_says_how_much_room_it_needs() -> None:
    snapshot = made(workload(3), app=3)
    scenario = Scenario(changes=(WorkloadChange(workload=KEY),))
    before = strategy_grid(snapshot, scenario, KEY)
    grid, places = with_room(snapshot, scenario, before)
    assert all(cell.verdict is Verdict.COMPLETES for cell in cells_of(grid))
    assert places == {(1, 0): 1, (2, 0): 1, (3, 0): 1}  # with one that may be missing none needs any
    for cell in cells_of(before):
        assert (cell.verdict is Verdict.COMPLETES) is (cell.pair not in places)
    drawn = drawing.grid_document(grid, strategies.weighed(before, 3, Weights()), 3, (1, 0), places)
    words = {cell["words"]: cell["text"] for row in drawn["rows"] for cell in row["cells"]}
    needing = [text for said, text in words.items() if said.endswith("needs room for 1 more pod")]
    assert needing
    assert all(text.endswith("+1") for text in needing)
    assert not [text for said, text in words.items() if "needs room" not in said and "+" in text]
    assert "needs room" not in drawn["recreate"]["words"]


@pytest.mark.parametrize(
    "objects",
    [
        [workload(2)],
        [workload(2, affinity=affinity("podAntiAffinity", HOST))],
        [workload(3, rolling(1, 0), topologySpreadConstraints=spread(ZONE))],
        [claim("ReadWriteOnce"), workload(1, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])],
    ],
)
def test_a_cell_needs_what_the_gate_says_without_a_cluster(objects: list[dict[str, Any]]) -> None:
    replicas = objects[-1]["spec"]["replicas"]
    snapshot, scenario = made(*objects, app=replicas), Scenario(changes=(WorkloadChange(workload=KEY),))
    _, places = with_room(snapshot, scenario, strategy_grid(snapshot, scenario, KEY))
    for surge, unavailable in ((1, 0), (0, 1)):
        objects[-1]["spec"]["strategy"] = rolling(surge, unavailable)
        assert places.get((surge, unavailable), 0) == need_of(*objects).room.places
    assert RECREATE not in places


# ── what is asked on the page of a pasted manifest ───────────────────────────────────────────────────────────────────
def answered(snapshot: Any, **settings: Any) -> Any:
    return rollout.answer(snapshot, RolloutSettings(workloads=(KEY,), **settings)).workloads[0]


def test_near_to_another_workload_of_the_manifest_it_needs_room() -> None:
    beside = workload(affinity=affinity("podAffinity", HOST, "cache"))
    snapshot = made(beside, workload(name="cache"), app=1, cache=1)
    part = answered(snapshot)
    assert part.verdict is Verdict.NEEDS_GROWTH
    assert (part.room.need, part.room.places, part.room.is_on_its_node) == (Need.ROOM, 1, True)
    assert answered(snapshot, max_surge=0, max_unavailable=1).verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("change", "places", "words"),
    [
        ({"cpu": 4000}, 1, "4 CPU, 8 GiB on one node"),  # the old pod's node holds none of the new ones
        ({"replicas": 3}, 3, "2 CPU, 8 GiB on one node each"),  # two more, and one that comes before an old one goes
        ({"cpu": 4000, "replicas": 2}, 2, "4 CPU, 8 GiB on one node each"),
        ({"cpu": 1000}, 1, "1 CPU, 8 GiB on one node"),
    ],
)
def test_other_requests_and_replicas_need_room_too(change: dict[str, int], places: int, words: str) -> None:
    part = answered(made(workload(1, rolling(1, 0))), **change)
    assert part.verdict is Verdict.NEEDS_GROWTH
    assert part.room.places == places
    assert words in part.room.sentence


def test_what_never_completes_is_stuck_there_too() -> None:
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    part = answered(made(claim("ReadWriteOncePod"), workload(volumes=volumes)))
    assert part.verdict is Verdict.STUCK
    smaller = answered(made(workload(2, rolling(0, 1)), app=2), cpu=1000)
    assert smaller.verdict is Verdict.COMPLETES
    assert smaller.room is None
