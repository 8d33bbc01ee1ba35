"""Folding what watches tell gives what listing at the end gives, whatever comes in whatever order; steps lead from one snapshot
to the next."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.ground.records import replace
from planner.inventory import snapshot_delta
from planner.inventory.lists_from_watch_events import ADDED, DELETED, MODIFIED, Picture
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Presence, Snapshot
from planner.serve.processes.snapshot_fingerprint import identity
from tests.builders.objects import deployment, node, pod_spec
from tests.quick import examples

Item = dict[str, Any]
NAMESPACES = ("a", "a-b", "a.c", "b")  # which "/" sorts between


def raw(item: Item) -> bytes:
    return json.dumps(item).encode()


def key_of(item: Item) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


class Told:
    """What an API server would hold, and what its watches would say."""

    def __init__(self, items: list[Item]) -> None:
        self.objects: dict[str, dict[str, Item]] = {}
        for item in items:
            self.objects.setdefault(item["kind"], {})[key_of(item)] = item

    def change(self, draw: random.Random) -> tuple[str, str, Item]:
        kind = draw.choice(sorted(self.objects))
        there = self.objects[kind]
        what = draw.choice((ADDED, MODIFIED, MODIFIED, DELETED)) if there else ADDED
        if what == ADDED:
            item = (
                pod(draw)
                if kind == "Pod"
                else node(f"n{draw.randrange(6)}", pool=draw.choice("pq"), gpus=draw.randrange(3))
            )
            kind = item["kind"]
            what = MODIFIED if key_of(item) in self.objects.get(kind, {}) else ADDED
        else:
            item = copy.deepcopy(there[draw.choice(sorted(there))])
            if what == MODIFIED:
                item["metadata"]["labels"] = {"l": str(draw.randrange(3))}
                if draw.random() < 0.2:  # damaged, repaired by a later change
                    item["metadata"]["labels"] = ["no map"]
        if what == DELETED:
            del there[key_of(item)]
        else:
            self.objects.setdefault(kind, {})[key_of(item)] = item
        return kind, what, item

    def listed(self, kind: str) -> list[bytes]:
        return [raw(item) for _, item in sorted(self.objects.get(kind, {}).items())]


def pod(draw: random.Random) -> Item:
    """Of a uid of its own mostly, bound to a node that may be gone, and of an owner that may be."""
    uid = draw.choice((f"u{draw.randrange(10**9)}", f"u{draw.randrange(10**9)}", f"u{draw.randrange(3)}", ""))
    by = draw.choice(
        (
            None,
            ("ReplicaSet", "serve-1", "apps/v1"),
            ("StatefulSet", "gone", "apps/v1"),
            ("StatefulSet", "kruise", "apps.kruise.io/v1"),
        )
    )
    owners = (
        [{"kind": by[0], "name": by[1], "apiVersion": by[2], "uid": f"uid-{by[1]}", "controller": True}] if by else []
    )
    ended = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if draw.random() < 0.2 else {}
    return {
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": f"p{draw.randrange(8)}", "namespace": draw.choice((*NAMESPACES, "ml")), "uid": uid, "ownerReferences": owners, **ended},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": f"{draw.randrange(1, 9)}00m"}}}],
            **draw.choice(({}, {"nodeName": f"n{draw.randrange(8)}"})),
        },
        "status": {
            "phase": draw.choice(("Pending", "Running", "Succeeded")),
            "conditions": [{"type": "Ready", "status": draw.choice(("True", "False"))}],
        },
    }  # fmt: skip


def begun() -> Told:
    spec = pod_spec(gpus=1, cpu="3", memory="6Gi")
    serve = deployment("serve", ["n0"], spec)
    for one in serve[:2]:  # they count more than there may be
        one["status"] = {"replicas": 2, "readyReplicas": 2}
    return Told([node("n0", pool="gpu", gpus=1), *serve])


def taken(told: Told) -> Picture:
    picture = Picture()
    for kind in told.objects:
        picture.take(kind, told.listed(kind))
    return picture


def snapshot(picture: Picture) -> Snapshot:
    return picture.snapshot(source="live", taken_at=1.0)


def contents(one: Snapshot) -> dict[str, Any]:
    """Everything a question may look at."""
    return {name: getattr(one, name) for name in one.__dataclass_fields__ if name not in ("derived", "reading")}


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 60))
def test_folding_is_listing_at_the_end(seed: int, changes: int) -> None:
    draw, told = random.Random(seed), begun()
    picture = taken(told)
    for _ in range(changes):
        kind, event, item = told.change(draw)
        picture.fold(kind, event, raw(item))
        if draw.random() < 0.1:
            snapshot(picture)  # those made meanwhile change nothing
        if draw.random() < 0.05:
            picture.take(kind, told.listed(kind))  # 410: listed anew in the middle
    assert contents(snapshot(picture)) == contents(snapshot(taken(told)))


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32))
def test_it_is_what_reading_the_lists_gives(seed: int) -> None:
    draw, told = random.Random(seed), begun()
    for _ in range(20):
        told.change(draw)
    parts = [Part(where=kind, items=told.listed(kind), kind=kind, listed=(kind,)) for kind in told.objects]
    read, ours = build_snapshot(parts, source="live", taken_at=1.0), snapshot(taken(told))
    assert ours.digest == read.digest
    assert set(ours.pods) == set(read.pods)
    assert (ours.nodes, ours.workloads, ours.presence) == (read.nodes, read.workloads, read.presence)
    assert ours.reading.unreadable == read.reading.unreadable


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.sampled_from((0, 64)))
def test_what_goes_with_the_changes_is_what_reading_the_lists_anew_gives(seed: int, changes: int, few: int) -> None:
    """Order, digest, uids that two have, what is damaged, and what objects tell of others that are missing."""
    draw, told = random.Random(seed), begun()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planner.inventory.lists_from_watch_events._FEW", few)
        picture, before = taken(told), None
        for _ in range(changes):
            kind, event, item = told.change(draw)
            picture.fold(kind, event, raw(item))
            if draw.random() < 0.05:
                picture.lack(kind, Presence.REFUSED)
                picture.take(kind, told.listed(kind))
            if draw.random() < 0.3 or changes < 3:
                parts = [Part(where=k, items=told.listed(k), kind=k, listed=(k,)) for k in told.objects]
                ours, read = snapshot(picture), build_snapshot(parts, source="live", taken_at=1.0, versions={})
                assert {**contents(ours), "problems": ()} == {**contents(read), "problems": ()}
                assert sorted(one.code for one in ours.problems) == sorted(one.code for one in read.problems)
                assert ours.reading.partial == read.reading.partial
                assert before is None or before[0] == hash(before[1].pods), "what was made before stays"
                before = hash(ours.pods), ours
        kept = picture._kept["Pod"]
        assert set(kept._uids) == {one.uid for one in kept.records}, "nothing is kept of what is gone"
        assert all(0 not in one.values() for one in picture._tally._counts)


def test_what_came_and_went_before_any_snapshot_is_forgotten() -> None:
    """As long as one list can't be read there is none, and pods of Jobs come and go."""
    picture, one = taken(begun()), node("n9", pool="p", gpus=0)
    before = len(picture._changed["Node"])
    for event, some in ((ADDED, {}), (MODIFIED, {"spec": {"unschedulable": True}}), (DELETED, {})):
        assert picture.fold("Node", event, raw(one | some))
    assert len(picture._changed["Node"]) == before
    assert "n9" not in {one.name for one in snapshot(picture).nodes}


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(0, 12), max_size=40), st.lists(st.integers(0, 12), max_size=40))
def test_any_order_is_led_to(first: list[int], last: list[int]) -> None:
    """Records that come, go, are there twice and change places."""
    events = [node(f"n{i}", pool="p", gpus=0) for i in range(13)]
    nodes = build_snapshot([Part(items=events, listed=("Node",))], source="x").nodes
    old, new = (replace(snapshot(Picture()), nodes=tuple(nodes[i] for i in some)) for some in (first, last))
    assert snapshot_delta.followed(old, snapshot_delta.difference(old, new)).nodes == new.nodes


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_steps_lead_to_the_same_snapshot(seed: int, changes: int) -> None:
    draw, told = random.Random(seed), begun()
    picture = taken(told)
    line = [snapshot(picture)]
    snapshot_delta.begin(line[0], "first")
    for _ in range(changes):
        kind, event, item = told.change(draw)
        picture.fold(kind, event, raw(item))
        after = snapshot(picture)
        snapshot_delta.succeed(line[-1], after)
        line.append(after)
    names = [snapshot_delta.name_of(one) for one in line]
    assert len(set(names)) == len(names)
    assert [identity(one) for one in line] == names
    held = draw.randrange(len(line) - 1)
    found = snapshot_delta.path(line[-1], lambda name: name == names[held])
    assert found is not None
    assert found[0] == names[held]
    assert contents(snapshot_delta.walked(line[held], found[1])) == contents(line[-1])


def test_nothing_that_was_held_is_no_way() -> None:
    one = snapshot(taken(begun()))
    snapshot_delta.begin(one, "one")
    assert snapshot_delta.path(one, lambda _: False) is None
    assert snapshot_delta.path(snapshot(taken(begun())), lambda _: True) is None, "not of a line"


def test_what_changes_nothing_is_no_change() -> None:
    told = begun()
    picture = taken(told)
    changes = picture.changes
    item = copy.deepcopy(told.objects["Node"]["n0"])
    item["metadata"]["resourceVersion"] = "999"
    item["metadata"]["managedFields"] = [{"manager": "kubelet"}]
    assert not picture.fold("Node", MODIFIED, raw(item))
    picture.take("Node", told.listed("Node"))
    assert not picture.fold("Node", DELETED, raw(node("never-there", pool="p", gpus=0)))
    assert not picture.fold("Node", "BOOKMARK", b"{}")
    assert picture.changes == changes


@pytest.mark.parametrize("presence", [Presence.REFUSED, Presence.ABSENT])
def test_a_list_that_is_refused_later_is_not_empty(presence: Presence) -> None:
    picture = taken(begun())
    picture.lack("Pod", presence)
    found = snapshot(picture)
    assert (found.pods, found.presence["Pod"]) == ((), presence)


def test_what_is_shared_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.inventory.lists_from_watch_events._FORGET_AFTER", 5)
    told, draw = begun(), random.Random(3)
    picture = taken(told)
    for _ in range(100):
        kind, event, item = told.change(draw)
        picture.fold(kind, event, raw(item))
    assert contents(snapshot(picture)) == contents(snapshot(taken(told)))
    assert len(picture._shared.texts) < 100
