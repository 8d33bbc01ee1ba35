"""The order of a List's items, and how they are shared out over a folder's files, decides nothing."""

from __future__ import annotations

import copy
import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from planner.ground.records import replace
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import compiled
from planner.rollout.rollout_summary import glance, restarted
from planner.sources.cluster_argument import read_cluster
from tests.properties.random_rollouts import LISTED, case_of
from tests.quick import seeds
from tests.reference.objects import Object

CLUSTERS = 50  # 500 were drawn as a List and as folders on 2026-11-28, and 700 with parts of objects swapped: no verdict differed


def as_list(items: list[Object]) -> Snapshot:
    return build_snapshot([Part(items=copy.deepcopy(items), listed=LISTED)], source="order")


def verdicts(found: Snapshot) -> dict[str, Verdict]:
    """Of each workload's own rollout."""
    cluster = compiled(found)
    return {one.key: glance(cluster, restarted(one)).answer.verdict for one in found.workloads if one.traits.rolls_out}


@pytest.mark.parametrize("seed", seeds(CLUSTERS))
def test_the_order_of_items_decides_no_verdict(seed: int) -> None:
    items = list(case_of(seed).items)
    first = verdicts(as_list(items))
    assert first
    random.Random(seed).shuffle(items)
    assert verdicts(as_list(items)) == first
    assert verdicts(as_list(items[::-1])) == first


@pytest.mark.parametrize("seed", seeds(CLUSTERS))
def test_nor_do_the_files_of_a_folder(seed: int, tmp_path: Path) -> None:
    items = list(case_of(seed).items)
    rng, found = random.Random(f"{seed}: files"), list[dict[str, Verdict]]()
    for name, of_file in (("one", lambda _: 0), ("a kind", lambda number: items[number]["kind"]), ("each", int)):
        folder = tmp_path / name
        folder.mkdir()
        rng.shuffle(items)
        files = defaultdict[object, list[Object]](list)
        for number, item in enumerate(items):
            files[of_file(number)].append(item)
        for some in files.values():
            content = {"apiVersion": "v1", "kind": "List", "items": some}
            (folder / f"{rng.random()}.json").write_text(json.dumps(content))
        whole = as_list(items).presence
        read = read_cluster(str(folder))
        told = FrozenMap({kind: state for kind, state in whole.items() if read.presence[kind].is_lacking})
        found.append(verdicts(replace(read, presence=FrozenMap({**read.presence, **told}))))
    assert found[0]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("seed", seeds(CLUSTERS))
def test_nor_where_objects_are_there_in_two_states(seed: int) -> None:
    """Each with a random one's spec or status instead of its own, and no word of which is the later."""
    rng, items = random.Random(f"{seed}: states"), copy.deepcopy(list(case_of(seed).items))
    for one in rng.sample(items, k=3):
        other = rng.choice([each for each in items if each["kind"] == one["kind"]])
        part = rng.choice(["spec", "status", "metadata"])
        if part in one and part in other:
            kept = {"name": one["metadata"]["name"], "namespace": one["metadata"].get("namespace", "")}
            items.append({**one, part: {**other[part], **(kept if part == "metadata" else {})}})
    first = verdicts(as_list(items))
    rng.shuffle(items)
    assert verdicts(as_list(items)) == first
    assert verdicts(as_list(items[::-1])) == first
