"""Lists that are there in part: cut off, damaged, a page of several, or told of by what else is there."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from planner.inventory import input_report
from planner.inventory.lists_from_watch_events import Picture
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Presence, Snapshot
from planner.questions import question_called
from planner.questions.question import Inputs
from planner.sources import cluster_dumps

Item = dict[str, Any]


def named(
    kind: str, name: str, *, version: str = "v1", namespace: str = "prod", owner: Item | None = None, **fields: Any
) -> Item:
    metadata: Item = {"name": name, "uid": f"uid-{kind}-{name}"} | (
        {} if kind in ("Node", "Namespace") else {"namespace": namespace}
    )
    if owner is not None:
        metadata["ownerReferences"] = [
            {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
             "uid": owner["metadata"]["uid"], "controller": True}
        ]  # fmt: skip
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}]},
}
SPEC = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
COUNTS = {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "updatedReplicas": 3}
NODE = named(
    "Node",
    "n",
    status={
        "allocatable": {"cpu": "8", "pods": "10", "memory": "8Gi"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
)
DEPLOYMENT = named("Deployment", "web", version="apps/v1", spec=SPEC, status=COUNTS)
SETS = named("ReplicaSet", "web-1", version="apps/v1", owner=DEPLOYMENT, spec=SPEC, status=COUNTS)


def pod(name: str, *, node: str = "n", owner: Item | None = SETS, ready: bool = True, **metadata: Any) -> Item:
    one = named("Pod", name, owner=owner, spec={**TEMPLATE["spec"], "nodeName": node})  # type: ignore[dict-item]
    one["metadata"] |= {"labels": {"app": "web"}, **metadata}
    one["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
    return one


PODS = [pod(f"web-1-{n}") for n in range(3)]
WHOLE = [named("Namespace", "prod"), NODE, DEPLOYMENT, SETS, *PODS]


def text(items: list[Item], kind: str = "List", **metadata: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "items": items, "kind": kind, "metadata": metadata}).encode()


def read(items: list[Item]) -> Snapshot:
    return cluster_dumps.read_bytes(text(items), name="c.json")


def partial(snapshot: Snapshot) -> set[str]:
    return {kind for kind, state in snapshot.presence.items() if state is Presence.PARTIAL}


def test_a_whole_cluster_lacks_nothing() -> None:
    assert partial(read(WHOLE)) == set()


@pytest.mark.parametrize(
    ("items", "kinds"),
    [
        ([one for one in WHOLE if one is not PODS[0]], {"Pod"}),
        ([*WHOLE[:4]], set()),  # no list of pods at all: absent, as ever
        ([one for one in WHOLE if one is not SETS], set()),  # told from its pods
        ([one for one in WHOLE if one is not SETS] + [named("ReplicaSet", "other", version="apps/v1", spec=SPEC)], {"ReplicaSet"}),
        ([one for one in WHOLE if one is not DEPLOYMENT] + [named("Deployment", "other", version="apps/v1", spec=SPEC)], {"Deployment"}),
        ([*WHOLE, pod("lost", node="gone", owner=None)], {"Node"}),
        ([*WHOLE, pod("new", node="gone", owner=None, deletionTimestamp="2026-11-20T08:00:00Z")], set()),
        ([*WHOLE, pod("orphan", owner=named("StatefulSet", "db", version="apps/v1"))], set()),  # none was listed
        ([*WHOLE[:4], *PODS[:2], pod("web-1-2", ready=False)], set()),  # readiness comes and goes
        ([*WHOLE[:3], {**SETS, "status": {**COUNTS, "replicas": 4}}, *PODS], set()),  # scaled between two lists
        ([*WHOLE[:3], {**SETS, "status": {**COUNTS, "readyReplicas": 2}}, PODS[0], pod("web-1-1", ready=False)], {"Pod"}),
        ([*WHOLE, {**pod("bad"), "spec": 5}], {"Pod"}),
        ([*WHOLE, {**NODE, "status": 5}], {"Node"}),
        ([*WHOLE[:1], {**NODE, "status": 5}, *WHOLE[2:]], {"Node"}),
        ([*WHOLE, named("ResourceQuota", "gpus", spec={"hard": {"pods": []}})], {"ResourceQuota"}),
    ],
)  # fmt: skip
def test_what_is_there_tells_of_what_is_not(items: list[Item], kinds: set[str]) -> None:
    assert partial(read(items)) == kinds


@pytest.mark.parametrize(
    ("spaces", "others", "is_whole"),
    [
        (["prod", "kube-system"], [], False),  # kubectl get … -n prod
        (["prod"], [], True),
        (["prod", "kube-system"], ["kube-system"], True),
        (["prod", "kube-system", "openshift-dns"], ["openshift-dns"], True),  # whose kube-system is empty
    ],
)
def test_pods_of_one_namespace_are_not_all(spaces: list[str], others: list[str], is_whole: bool) -> None:
    beside = [pod(f"dns-{space}", owner=None, namespace=space) for space in others]
    pods = [pod(f"web-{i}") for i in range(3)]
    found = read([NODE, DEPLOYMENT, SETS, *pods, *beside, *(named("Namespace", space) for space in spaces)])
    assert (found.presence["Pod"] is Presence.PRESENT) is is_whole
    assert ("it has those of one namespace" in found.reading.partial.get("Pod", "")) is not is_whole


def done(namespace: str) -> Item:
    one = pod("done", owner=None, namespace=namespace)
    return {**one, "status": {"phase": "Succeeded"}}


SPACES = [named("Namespace", space) for space in ("default", "prod", "kube-system")]
ELSEWHERE = {
    "the API server's Service": named("Service", "kubernetes", namespace="default"),
    "a workload": {**DEPLOYMENT, "metadata": {"name": "idle", "namespace": "default"}, "status": {}},
    "an object of a kind that isn't used": named("ConfigMap", "kube-root-ca.crt", namespace="default"),
    "an event": named("Event", "n.1", namespace="default", involvedObject={"kind": "Node", "name": "n"}),
    "a claim": named("PersistentVolumeClaim", "disk", namespace="default", spec={}),
    "a pod that has finished": done("default"),
}


@pytest.mark.parametrize("what", ELSEWHERE)
def test_anything_in_another_namespace_shows_that_all_were_asked(what: str) -> None:
    assert partial(read([NODE, DEPLOYMENT, SETS, *PODS, *SPACES, ELSEWHERE[what]])) == set()


@pytest.mark.parametrize(
    "beside",
    [
        named("ConfigMap", "settings"),
        named("Service", "web"),
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"},
         "spec": {"template": {"spec": {"replicatedJobs": []}}}},
        {"apiVersion": "example.org/v1", "kind": "Wide", "metadata": {"name": "w"}, "spec": {"template": TEMPLATE}},
    ],
    ids=lambda one: str(one["kind"]),
)  # fmt: skip
def test_what_is_in_that_namespace_or_in_none_shows_nothing(beside: Item) -> None:
    assert partial(read([NODE, DEPLOYMENT, SETS, *PODS, *SPACES, beside])) == {"Pod"}


def test_a_live_cluster_was_asked_for_all_namespaces() -> None:
    picture, items = Picture(), [NODE, DEPLOYMENT, SETS, *PODS, *SPACES]
    for kind in {one["kind"] for one in items}:
        picture.take(kind, [one for one in items if one["kind"] == kind], "1")
    listed = build_snapshot([Part(items=items)], source="live", versions={"Pod": "1"})
    assert partial(picture.snapshot(source="live", taken_at=0.0)) == partial(listed) == set()
    assert listed.reading.resource_versions == {"Pod": "1"}
    assert partial(build_snapshot([Part(items=items)], source="a file")) == {"Pod"}


def test_a_watched_cluster_lacks_what_it_lacks_for_long() -> None:
    """A node is deleted a minute before its pods are."""
    picture, items = Picture(gap_seconds=90.0), [NODE, named("Node", "other"), DEPLOYMENT, SETS, *PODS, *SPACES]
    for kind in {one["kind"] for one in items}:
        picture.take(kind, [one for one in items if one["kind"] == kind], "1")
    assert partial(picture.snapshot(source="live", taken_at=0.0)) == set()
    picture.fold("Node", "DELETED", NODE)
    found = [partial(picture.snapshot(source="live", taken_at=at)) for at in (10.0, 60.0, 120.0)]
    assert found == [set(), set(), {"Node"}]
    picture.fold("Node", "ADDED", NODE)
    assert partial(picture.snapshot(source="live", taken_at=130.0)) == set()
    filtered = Picture(gap_seconds=90.0)  # by a proxy, from the beginning
    for kind in ("Node", "Pod"):
        filtered.take(kind, PODS if kind == "Pod" else [named("Node", "other")], "1")
    assert "Node" in partial(filtered.snapshot(source="live", taken_at=0.0))


def test_a_node_that_went_with_pods_that_finished_is_no_gap() -> None:
    done = pod("done", node="gone", owner=None)
    done["status"]["phase"] = "Succeeded"
    assert partial(read([*WHOLE, done])) == set()


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["List", "PodList"])
def test_a_list_that_is_cut_off_is_a_part(cut: float, kind: str) -> None:
    items = WHOLE if kind == "List" else PODS
    data = json.dumps({"apiVersion": "v1", "kind": kind, "items": items}).encode()
    found = cluster_dumps.read_uploads([("a.json", text([NODE, DEPLOYMENT])), ("b.json", data[: int(len(data) * cut)])])
    assert found.presence["Pod"].is_lacking
    assert ("Node" in partial(found)) == (kind == "List")


def test_yaml_that_is_cut_off_is_a_part() -> None:
    import yaml

    data = yaml.safe_dump({"apiVersion": "v1", "items": WHOLE, "kind": "List"}, sort_keys=False).encode()
    for share in range(3, 10):
        found = cluster_dumps.read_bytes(data[: len(data) * share // 10], name="c.yaml")
        assert {kind for kind in ("Node", "Pod") if found.presence[kind] is Presence.PRESENT} == set(), share


@pytest.mark.parametrize(
    ("version", "kind", "listed"),
    [
        ("v1", "List", set()),  # kubectl's, of whatever it was asked for
        ("v1", "ResourceQuotaList", {"ResourceQuota"}), ("apps/v1", "StatefulSetList", {"StatefulSet"}),
        ("extensions/v1beta1", "DeploymentList", {"Deployment"}), ("batch/v1", "CronJobList", {"cronjobs.batch"}),
        ("apps.kruise.io/v1beta1", "StatefulSetList", {"statefulsets.apps.kruise.io"}),
        ("batch.volcano.sh/v1alpha1", "JobList", {"jobs.batch.volcano.sh"}), ("example.com/v1", "ReplicaSetList", set()),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["b.json", "b.yaml"])
def test_an_empty_list_says_whose_it_is(version: str, kind: str, listed: set[str], name: str) -> None:
    data = json.dumps({"apiVersion": version, "kind": kind, "metadata": {"resourceVersion": "1"}, "items": []}).encode()
    found = cluster_dumps.read_uploads([("a.json", text([NODE])), (name, data)])
    assert {one for one, state in found.presence.items() if state is Presence.PRESENT} == {"Node", *listed}


def test_a_page_of_a_list_is_a_part_until_the_others_are_there() -> None:
    one = text(PODS[:2], "PodList", **{"continue": "token", "remainingItemCount": 1})
    last = text(PODS[2:], "PodList")
    rest = ("r.json", text(WHOLE[:4]))
    assert partial(cluster_dumps.read_uploads([rest, ("1.json", one)])) == {"Pod"}
    assert partial(cluster_dumps.read_uploads([rest, ("1.json", one), ("2.json", last)])) == set()
    assert partial(cluster_dumps.read_uploads([rest, ("2.json", last)])) == {"Pod"}, "the ReplicaSet counts three"
    assert (
        partial(
            cluster_dumps.read_uploads(
                [rest, ("1.json", text(PODS, "PodList", resourceVersion="1", remainingItemCount=None))]
            )
        )
        == set()
    )
    assert partial(cluster_dumps.read_bytes(text(WHOLE, **{"continue": "x"}), name="c.json")) >= {"Node", "Pod"}


def test_an_archive_that_is_cut_off_and_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, data in (("all.json", text(WHOLE)), ("more.json", text([NODE]) + b" " * 20_000)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    cut = cluster_dumps.read_bytes(sink.getvalue()[:-15_000], name="c.tar")
    assert {"Node", "Pod"} <= partial(cut)
    (tmp_path / "all.json").write_bytes(text(WHOLE))
    (tmp_path / "notes.yaml").write_bytes(b"a: [")
    assert partial(cluster_dumps.read(tmp_path)) == set(), "it says nothing of Kubernetes"
    (tmp_path / "pods.json").write_bytes(b"\x1f\x8b\x08cut")
    assert partial(cluster_dumps.read(tmp_path)) == {"Pod"}


def test_a_part_is_not_known_and_says_why() -> None:
    found = read([*WHOLE, pod("lost", node="gone", owner=None)])
    [node] = [one for one in input_report.unseen(found) if one.kind == "Node"]
    assert "1 pod is bound to 1 node" in str(node.sentence)
    capacity = question_called("capacity")
    assert capacity.not_known(found) is not None
    rollout = question_called("rollout")
    answer = rollout.answer(found, rollout.settings(workloads=("Deployment/prod/web",)), Inputs())
    assert (str(answer.verdict), rollout.exit_status(found, answer)) == ("unknown", 4)


def test_nodes_of_a_live_server_that_cannot_be_read_are_not_none() -> None:
    picture = Picture()
    picture.take("Node", [{**NODE, "status": 5}])
    picture.take("Pod", PODS)
    found = picture.snapshot(source="live", taken_at=1.0)
    assert found.presence["Node"] is Presence.PARTIAL
    capacity = question_called("capacity")
    why = capacity.not_known(found)
    assert why is not None
    assert "Nodes" in why.what
