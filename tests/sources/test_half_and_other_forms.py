"""Text for people, refusals, watches and other tools' snapshots: read, or refused in a sentence of its own."""

from __future__ import annotations

import io
import json
import tarfile
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.sources import cluster_dumps

DESCRIBED = "Name:               gpu-0\nRoles:              <none>\nLabels:             kubernetes.io/arch=amd64\n"
TABLE = "NAMESPACE     NAME      READY   STATUS    RESTARTS   AGE   IP         NODE\nkube-system   dns-1     1/1     Running   0   1d   10.0.0.2   n\n"
REFUSED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "nodes is forbidden: no", "reason": "Forbidden", "code": 403}  # fmt: skip


def node(name: str, cpu: str = "4", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more}, "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}}}


def event(told: str, item: dict[str, Any]) -> str:
    return json.dumps({"type": told, "object": {"apiVersion": "v1", "kind": "Node", **item}})


def read(text: str, name: str = "given.json") -> Any:
    return cluster_dumps.read_uploads([(name, text.encode())])


@pytest.mark.parametrize("name", ["nodes.txt", "nodes.yaml", "nodes"])
@pytest.mark.parametrize(("text", "said"), [(DESCRIBED, "describe"), (TABLE, "table"), (TABLE.replace("NAMESPACE     ", ""), "table")])  # fmt: skip
def test_text_for_people_is_called_what_it_is(name: str, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        read(text, name)
    assert "-o json" in (error.value.fix or "")
    assert "log" not in error.value.what


def test_a_saved_refusal_says_what_was_refused() -> None:
    with pytest.raises(InputError, match="nodes is forbidden: no"):
        read(json.dumps(REFUSED))
    beside = json.dumps({"apiVersion": "v1", "kind": "Node", **node("n")})
    found = cluster_dumps.read_uploads([("a.json", beside.encode()), ("b.json", json.dumps(REFUSED).encode())])
    assert [one.what for one in found.problems if "forbidden" in one.what]


def test_an_archive_of_empty_files_says_so() -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as packed:
        for name in ("a.json", "b.yaml"):
            packed.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(InputError, match="every file in it is empty"):
        cluster_dumps.read_uploads([("dump.tgz", data.getvalue())])


def test_of_a_watch_the_last_event_of_each_object_counts() -> None:
    told = [event("ADDED", node("a")), event("ADDED", node("b")), event("MODIFIED", node("a", "6")), event("DELETED", node("b"))]  # fmt: skip
    bookmark = json.dumps({"type": "BOOKMARK", "object": {"kind": "Node", "metadata": {"resourceVersion": "9"}}})
    found = read("\n".join([*told, bookmark]))
    assert [(one.name, one.allocatable["cpu"]) for one in found.nodes] == [("a", 6_000)]
    assert not found.problems
    again = read("\n---\n".join(f"type: ADDED\nobject: {json.loads(one)['object']}" for one in told[:2]), "watch.yaml")
    assert [one.name for one in again.nodes] == ["a", "b"]


def test_a_node_is_known_by_what_it_has() -> None:
    assert [one.name for one in read(json.dumps([node("n")])).nodes] == ["n"]


def test_snapshots_of_other_schedulers_tools_are_read() -> None:
    pod = {"metadata": {"name": "p", "namespace": "d"}, "spec": {"nodeName": "n", "containers": [{"name": "c"}]}}
    kai = {"config": {}, "rawObjects": {"pods": [pod], "nodes": [node("n")], "queues": None}, "schedulerParams": {}}
    simulator = {"pods": [pod], "nodes": [node("n")], "pvs": [], "schedulerConfig": {"profiles": []}}
    for one in (kai, simulator):
        found = read(json.dumps(one))
        assert ([node.name for node in found.nodes], [pod.name for pod in found.pods]) == (["n"], ["p"])
