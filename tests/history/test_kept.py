from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from planner.capacity import rollout_readiness as overviews
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.history import snapshot_bytes
from planner.history.snapshot_names import FORMAT
from planner.kubernetes.object_records import Device, FrozenMap, PodLog, ResourceSlice, Snapshot
from planner.questions.question import plain
from planner.sources import demo
from tests.architecture.tree import ROOT
from tests.builders.objects import node, read_items
from tests.quick import sample
from tests.seen import each


@pytest.mark.parametrize("read", [demo.read, demo.read_large])
def test_a_whole_snapshot_comes_back(read: Callable[[], Snapshot]) -> None:
    snapshot = read()
    again = snapshot_bytes.decode(snapshot_bytes.encode(snapshot), "x")
    assert again == replace(snapshot, logs=())
    assert len({id(pod.spec) for pod in again.pods}) == len({pod.spec for pod in snapshot.pods})  # shared, as before


def test_questions_are_answered_alike() -> None:
    again = snapshot_bytes.decode(snapshot_bytes.encode(demo.read()), "x")
    assert plain(overviews.overview(again)) == plain(overviews.overview(demo.read()))


def test_revisions_come_back() -> None:
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "main"}]}}
    owner = {"kind": "StatefulSet", "name": "db", "uid": "s", "controller": True}
    items = [
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": name, "ownerReferences": owners},
         "data": {"spec": {"template": template}}, "revision": 2}
        for name, owners in (("db-1", [owner]), ("other", []))
    ]  # fmt: skip
    snapshot = read_items(items)
    assert [one.template is not None for one in snapshot.controller_revisions] == [True, False]
    assert snapshot_bytes.decode(snapshot_bytes.encode(snapshot), "x") == snapshot


def test_yes_is_not_one() -> None:
    """True equals 1 in Python: maps that are made one by being equal would mix them up."""
    values: tuple[str | int | bool, ...] = (True, 1, "1", False, 0)
    devices = tuple(Device(name=f"d{i}", attributes=FrozenMap({"x": value})) for i, value in enumerate(values))
    snapshot = Snapshot(
        taken_at=1.0,
        source="x",
        digest="d",
        resource_slices=(ResourceSlice(name="s", driver="d", pool="p", devices=devices),),
    )
    again = snapshot_bytes.decode(snapshot_bytes.encode(snapshot), "x").resource_slices[0].devices
    assert [(type(one.attributes["x"]), one.attributes["x"]) for one in again] == [
        (bool, True), (int, 1), (str, "1"), (bool, False), (int, 0),
    ]  # fmt: skip


SECRETS = ("hunter2-env", "--password=hunter2-arg", "hunter2-secret", "hunter2-map", "hunter2-note", "hunter2-log")


def test_no_values_arguments_secrets_or_logs_are_kept() -> None:
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "a"}, "annotations": {"note": SECRETS[4]}},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "env": [{"name": "PASSWORD", "value": SECRETS[0]}],
                    "command": ["sh", "-c"],
                    "args": [f"exec run {SECRETS[1]}"],
                }
            ]
        },
    }
    named = {"namespace": "n", "name": "a"}
    snapshot = read_items(
        [
            {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {**named, "uid": "1"},
             "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}},
            {"kind": "Pod", "apiVersion": "v1", "metadata": {**named, "uid": "2", **template["metadata"]},
             "spec": template["spec"]},
            {"kind": "Secret", "apiVersion": "v1", "metadata": named, "stringData": {"k": SECRETS[2]}},
            {"kind": "ConfigMap", "apiVersion": "v1", "metadata": named, "data": {"k": SECRETS[3]}},
        ],
        taken_at=1_795_341_770.0,
    )  # fmt: skip
    log = PodLog(namespace="n", pod="a", container="c", is_previous=False, lines=(SECRETS[5],))
    data = snapshot_bytes.encode(replace(snapshot, logs=(log,)))
    template_kept = str(snapshot_bytes.decode(data, "x").workloads[0].template.manifest)
    assert "PASSWORD" not in template_kept
    for secret in SECRETS:
        assert secret.encode() not in data
        assert secret not in template_kept  # bytes are base64 in JSON


def test_later_fields_are_passed_over_and_missing_ones_have_their_default() -> None:
    content = json.loads(snapshot_bytes.encode(demo.read()))
    content["later"] = 1
    content["nodes"][0]["later"] = {"a": 1}
    del content["autoscalers"]
    content["pods"] = [{key: one for key, one in pod.items() if key != "reason"} for pod in content["pods"]]
    again = snapshot_bytes.decode(json.dumps(content).encode(), "x")
    assert again.nodes == demo.read().nodes
    assert again.autoscalers == ()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "array": lambda data: b"[]",
    "later format": lambda data: data.replace(b"headroom.snapshot/v1", b"headroom.snapshot/v2"),
    "spec missing": lambda data: data.replace(b'"spec":0', b'"spec":999999'),
    "spec negative": lambda data: data.replace(b'"spec":0', b'"spec":-1'),
    "not UTF-8": lambda data: b"\xff" + data,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_said(damage: str) -> None:
    with pytest.raises(InputError) as refused:
        snapshot_bytes.decode(DAMAGE[damage](snapshot_bytes.encode(demo.read())), "snapshots/x")
    assert refused.value.where == "snapshots/x"
    assert refused.value.fix


def _set(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        place: Any = content
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


_CONTAINER = ("pod_specs", 0, "containers", 0)
HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "amount": (_set("nodes", 0, "allocatable", "cpu", value=10**30), r"its allocatable of cpu is 1e\+30"),
    "negative amount": (_set(*_CONTAINER, "requests", "cpu", value=-1), "its requests of cpu is -1"),
    "number": (_set("workloads", 0, "replicas", value=2**63), r"its replicas is 9.22e\+18"),
    "name": (_set("workloads", 0, "name", value="x$(reboot)"), "metadata.name"),
    "namespace": (_set("pods", 0, "namespace", value="a b"), "metadata.namespace"),
    "node of a pod": (_set("pods", 0, "node_name", value="`reboot`"), "node_name"),
    "label": (_set("nodes", 0, "labels", "pool", value="<script>"), "the value of label pool"),
    "label's key": (_set("pods", 0, "labels", "a b", value="c"), "a label's name"),
    "container": (_set(*_CONTAINER, "name", value="A;b"), "a container's name"),
    "resource": (_set("nodes", 0, "allocatable", "a b", value=1), "a resource's name"),
    "a workload's key": (_set("workloads", 0, "template_of", value="Deployment"), "template_of 'Deployment'"),
    "a name in such a key": (_set("workloads", 0, "template_of", value="Deployment/a/$(b)"), "template_of '[$]"),
    "a node twice": (lambda content: content["nodes"].insert(0, content["nodes"][0]), "its nodes aren't sorted"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_stored_snapshot_holds_what_a_dump_may_hold(what: str) -> None:
    """A store isn't trusted: an amount of 10^30 would end the arithmetic, a name would reach a script."""
    change, says = HOSTILE[what]
    content = json.loads(snapshot_bytes.encode(demo.read()))
    snapshot_bytes.decode(json.dumps(content).encode(), "snapshots/x")
    change(content)
    with pytest.raises(InputError, match=says) as refused:
        snapshot_bytes.decode(json.dumps(content).encode(), "snapshots/x")
    assert refused.value.where == "snapshots/x"
    assert refused.value.fix


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", "x$(reboot)", "metadata.name"),
        ("namespace", "a b", "metadata.namespace"),
        ("kind", "Later", "its kind of release is Later"),
        ("seconds", 0, "its seconds are 0"),
        ("seconds", 1e300, r"its seconds are 1e\+300"),
        ("retries", 2**31, "its retries are"),
        ("health_checks", ["Deployment"], "health_checks"),
    ],
)
def test_a_stored_release_of_flux_is_one_that_a_dump_may_hold(field: str, value: Any, says: str) -> None:
    """A kind of none of its groups ended the search for its workloads."""
    spec = {"interval": "10m", "healthChecks": [{"kind": "Deployment", "name": "app", "namespace": "ml"}]}
    meta = {"name": "llm", "namespace": "flux", "uid": "u"}
    release = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": meta, "spec": spec}
    found = read_items([release, node("n0")])
    content = json.loads(snapshot_bytes.encode(found))
    assert snapshot_bytes.decode(json.dumps(content).encode(), "snapshots/x").unplayed == found.unplayed
    kept = content["unplayed"][0]["release"]
    assert kept["health_checks"] == ["Deployment/ml/app"]
    kept[field] = value
    with pytest.raises(InputError, match=says):
        snapshot_bytes.decode(json.dumps(content).encode(), "snapshots/x")


def test_the_largest_amount_there_is_stays() -> None:
    content = json.loads(snapshot_bytes.encode(demo.read()))
    content["nodes"][0]["allocatable"]["example.com/x"] = 2**63 - 1
    assert snapshot_bytes.decode(json.dumps(content).encode(), "x").nodes[0].allocatable["example.com/x"] == 2**63 - 1


def test_what_was_recorded_of_every_kind_comes_back() -> None:
    """No rule for stored snapshots refuses what a reader of a dump takes."""
    folder = ROOT / "tests/conformance"
    names = [
        path
        for one in ("rollouts", "rollouts4", "rollouts5", "queues", "drains", "growth")
        for path in sorted((folder / one).glob("*.json*"))
    ]
    assert len(names) > 1_000
    for path in each(sample(names[::10])):
        data = path.read_bytes()
        case = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        snapshot = read_items(case["cluster"]["items"])
        assert snapshot_bytes.decode(snapshot_bytes.encode(snapshot), path.name) == replace(snapshot, logs=()), (
            path.name
        )


def test_what_is_kept_is_json_that_others_read() -> None:
    content = msgspec.json.decode(snapshot_bytes.encode(demo.read()))
    assert content["format"] == FORMAT
    assert {"nodes", "pods", "pod_specs", "workloads"} <= set(content)
    assert not {"logs", "derived"} & set(content)


def test_what_an_earlier_release_kept_of_events_is_hidden_when_it_is_read() -> None:
    snapshot = demo.read()
    one = replace(snapshot.events[0], message="Get https://puller:hunter2@registry.example.com/v2/: denied")
    again = snapshot_bytes.decode(snapshot_bytes.encode(replace(snapshot, events=(one, *snapshot.events[1:]))), "x")
    assert again.events[0].message == "Get https://<hidden>@registry.example.com/v2/: denied"
    assert again.events[1:] == snapshot.events[1:]
