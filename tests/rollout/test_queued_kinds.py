"""What Kueue makes of Ray's kinds, of pod groups and of places in a topology, and what an older Kueue does otherwise.

Expected by hand from kueue at ff69552e79ad: `pkg/controller/jobs/{raycluster,rayjob,pod}`.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from planner.capacity.kueue_queues import queues
from planner.kubernetes.kueue_managed_pods import of_rules
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, where
from planner.questions.gate import GateSettings
from planner.questions.where import WhereSettings
from planner.rollout.answers import Reason, Verdict
from planner.rollout.prepared_change import Scenario
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from tests.capacity.teams import GPU, flavor, local, node, pod, queue, read, workload
from tests.collection.clusters import whole
from tests.rollout.test_queued import LABEL, Object, asked, job, room

SPACE: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}


def cluster(gpus: str, cpu: str = "100", *more: Object, nodes: int = 2) -> Snapshot:
    """Nodes of 8 GPUs; a queue with so much quota of GPUs, CPU and memory."""
    both = queue("q", {"f": (gpus,)})
    [group] = both["spec"]["resourceGroups"]
    group["coveredResources"] += ["cpu", "memory"]
    group["flavors"][0]["resources"] += [
        {"name": "cpu", "nominalQuota": cpu},
        {"name": "memory", "nominalQuota": "1Ti"},
    ]
    return read([*(node(f"n{one}", 8) for one in range(nodes)), SPACE, flavor("f"), both, local("a", "q"), *more])


def pod_spec(gpus: int = 0) -> Object:
    amounts = {"cpu": "1", "memory": "1Gi"} | ({GPU: str(gpus)} if gpus else {})
    return {"containers": [{"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}}]}


def ray(kind: str = "RayCluster", *, replicas: int | None = 2, gpus: int = 4, **more: Any) -> Object:
    """A head without a GPU and a group of workers."""
    group = {"groupName": "g", "minReplicas": 1, "maxReplicas": 4, "template": {"spec": pod_spec(gpus)}}
    spec: Object = {
        "headGroupSpec": {"template": {"spec": pod_spec()}},
        "workerGroupSpecs": [group | ({} if replicas is None else {"replicas": replicas})],
    }
    if kind == "RayJob":
        spec = {"entrypoint": "x", "shutdownAfterJobFinishes": True, "rayClusterSpec": spec}
    return {
        "apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "new", "namespace": "a", "labels": LABEL},
        "spec": {"suspend": True, **spec, **more},
    }  # fmt: skip


SUBMITTER: Final = {"spec": {**pod_spec(), "restartPolicy": "Never"}}


@pytest.mark.parametrize(
    ("given", "gpus", "cpu", "verdict", "reason"),
    [
        (ray(), "8", "3", Verdict.COMPLETES, Reason.NONE),
        (ray(), "7", "3", Verdict.STUCK, Reason.QUEUE),
        (ray(), "8", "2", Verdict.STUCK, Reason.QUEUE),  # the head's CPU counts as well
        (ray(gpus=16), "32", "3", Verdict.STUCK, Reason.INSUFFICIENT_RESOURCE),  # quota, and no node of 16
        (ray("RayJob"), "8", "3500m", Verdict.COMPLETES, Reason.NONE),
        (ray("RayJob"), "8", "3", Verdict.STUCK, Reason.QUEUE),  # who submits it asks for half a core
        (ray("RayJob", submissionMode="HTTPMode"), "8", "3", Verdict.COMPLETES, Reason.NONE),
        (ray("RayJob", submissionMode="HTTPMode", submitterPodTemplate=SUBMITTER), "8", "3", Verdict.COMPLETES, Reason.NONE),
        (ray("RayJob", submissionMode="SidecarMode"), "8", "3500m", Verdict.COMPLETES, Reason.NONE),
        (ray("RayJob", submissionMode="SidecarMode"), "8", "3", Verdict.STUCK, Reason.QUEUE),  # in the head
        (ray("RayJob", submitterPodTemplate=SUBMITTER), "8", "4", Verdict.COMPLETES, Reason.NONE),
        (ray("RayJob", submitterPodTemplate=SUBMITTER), "8", "3500m", Verdict.STUCK, Reason.QUEUE),
    ],
)  # fmt: skip
def test_rays_quota_is_its_heads_and_its_groups(
    given: Object, gpus: str, cpu: str, verdict: Verdict, reason: Reason
) -> None:
    snapshot, text = cluster(gpus, cpu), json.dumps(given)
    found = asked(snapshot, given)
    assert (found.verdict, found.reason) == (verdict, reason), found.sentence
    assert found.ties is None or not found.ties.proven
    [at_gate] = gate.answer(snapshot, GateSettings(manifest=text)).workloads
    [there] = where.answer(snapshot, WhereSettings(manifest=text)).clusters
    assert (at_gate.verdict, at_gate.reason, there.verdict) == (verdict, reason, verdict)


def test_what_kueue_admits_is_placed_all_or_nothing() -> None:
    """Without its label the workers that find a node hold their GPUs: `tests/questions/test_placement.py`."""
    found = asked(cluster("32", nodes=1), ray("RayJob", replicas=4))
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.INSUFFICIENT_RESOURCE)
    assert "its 5 pods are placed all or nothing, so none is; 3 of them would find a node" in str(found.sentence)
    assert found.preempted == ()
    small = node("n0", 8)
    small["status"]["allocatable"]["cpu"] = "3"
    found = asked(cluster("32", "100", small, nodes=0), ray("RayJob"))  # its submitter comes when the others are Ready
    assert "; 3 of its 4 pods are placed, hold 8 GPUs and wait for the others" in str(found.sentence)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ray(replicas=None), "KubeRay makes another number of pods"),  # Kueue takes 1, KubeRay the group's least
        (ray(replicas=5), "KubeRay makes another number of pods"),
        (ray(gcsFaultToleranceOptions={"redisAddress": "r"}), "cleaning up Ray's Redis"),
    ],
)
def test_what_kueue_counts_otherwise_is_not_known(given: Object, said: str) -> None:
    found = asked(cluster("100"), given)
    assert found.verdict is Verdict.UNKNOWN
    assert said in str(found.sentence)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ray(enableInTreeAutoscaling=True), "vraycluster.kb.io refuses one that scales itself"),
        (ray("RayJob", shutdownAfterJobFinishes=False), "vrayjob.kb.io refuses one that keeps its cluster"),
    ],
)
def test_what_kueues_webhooks_refuse_is_named(given: Object, said: str) -> None:
    found = asked(cluster("100"), given)
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.ADMISSION)
    assert said in str(found.sentence)


# ── pod groups ───────────────────────────────────────────────────────────────────────────────────────────────────────
def grouped(name: str, gpus: int, total: int, group: str = "g", **annotations: str) -> Object:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "a", "labels": {**LABEL, "kueue.x-k8s.io/pod-group-name": group},
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": str(total), **annotations},
        },
        "spec": pod_spec(gpus),
    }  # fmt: skip


SHOWN = {
    "metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}]}
}


def with_pods(gpus: str, *more: Object, nodes: int = 2) -> Snapshot:
    """A Workload of a Pod's shows that pods are queued here."""
    seen = workload("a", "seen", 0, held=("q", "f"))
    seen["metadata"] |= SHOWN["metadata"]
    return cluster(gpus, "100", seen, *more, nodes=nodes)


def test_a_group_is_let_in_whole_or_not_at_all() -> None:
    pods = [grouped("one", 4, 3), grouped("two", 4, 3), grouped("small", 1, 3)]
    found = asked(with_pods("9"), *pods)
    assert [one.verdict for one in found.workloads] == [Verdict.COMPLETES] * 3, found.sentence
    found = asked(with_pods("8"), *pods)  # each alone would have quota
    assert {(one.verdict, one.reason) for one in found.workloads} == {(Verdict.STUCK, Reason.QUEUE)}
    assert asked(with_pods("8"), grouped("one", 4, 1), grouped("two", 4, 1, "h")).verdict is Verdict.COMPLETES


def test_quota_of_a_group_is_not_its_place() -> None:
    pods = [grouped(name, 8, 3) for name in ("one", "two", "three")]
    found = asked(with_pods("24"), *pods)
    assert sorted(one.verdict for one in found.workloads) == [Verdict.COMPLETES, Verdict.COMPLETES, Verdict.STUCK]
    assert asked(with_pods("24", nodes=3), *pods).verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("pods", "more", "said"),
    [
        ([grouped("one", 1, 2)], [], "1 pod of group g comes with this change"),
        ([grouped("one", 1, 2), grouped("two", 1, 3)], [], "says 2 and 3"),
        ([grouped("one", 1, 1)], [workload("a", "x", 1)], "are there already"),
        ([grouped("one", 1, 1, **{"kueue.x-k8s.io/pod-group-fast-admission": "true"})], [], "fast-admission isn't modelled"),
    ],
)  # fmt: skip
def test_half_a_group_is_not_known(pods: list[Object], more: list[Object], said: str) -> None:
    for one in more:
        one["metadata"]["name"] = "g"
    found = asked(with_pods("100", *more), *pods)
    assert found.verdict is Verdict.UNKNOWN
    assert said in str(found.sentence)


def served(namespace: str) -> Object:
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "new", "namespace": namespace, "labels": LABEL},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "new"}},
                 "template": {"metadata": {"labels": {"app": "new", **LABEL}}, "spec": pod_spec(1)}},
    }  # fmt: skip


# ── places in a topology ─────────────────────────────────────────────────────────────────────────────────────────────
ASKS: Final = ("podset-required-topology", "podset-preferred-topology", "podset-unconstrained-topology")
RACKS: Final = (
    SPACE, flavor("f", topologyName="t"), local("a", "q"),
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}]}},
)  # fmt: skip


@pytest.mark.parametrize("key", ASKS)
def test_quota_that_lacks_lacks_wherever_the_racks_are(key: str) -> None:
    """Too little is free before any place is looked for; with enough, racks have to be known, and where pods with quota are."""
    given = job(8, namespace="a")
    given["spec"]["template"]["metadata"] = {"annotations": {f"kueue.x-k8s.io/{key}": "rack"}}
    held = workload("a", "old", 8, held=("q", "f"))
    found = asked(read([node("n", 8), *RACKS, queue("q", {"f": ("12",)}), held]), given)
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.QUEUE)
    assert "4 nvidia.com/gpu of f too few are free" in str(found.sentence)
    found = asked(read([node("n", 8), *RACKS, queue("q", {"f": ("16",)}), held]), given)
    assert found.verdict is Verdict.UNKNOWN
    assert "some pods with quota of f aren't on their nodes yet" in str(found.sentence)
    nowhere = asked(
        read([node("n", 8), *RACKS, queue("q", {"f": ("16",)})]), given
    )  # a node without the label of a rack
    assert (nowhere.verdict, nowhere.reason) == (Verdict.STUCK, Reason.QUEUE)
    assert "topology t has room for 0 of 1 pods" in str(nowhere.sentence)
    racked = node("n", 8)
    racked["metadata"]["labels"]["rack"] = "r"
    assert asked(read([racked, *RACKS, queue("q", {"f": ("16",)})]), given).verdict is Verdict.COMPLETES
    without = asked(cluster("100"), given)  # a flavor without a topology takes none that asks for one
    assert (without.verdict, without.reason) == (Verdict.STUCK, Reason.QUEUE)


@pytest.mark.parametrize("key", ["podset-slice-required-topology", "podset-group-name"])
def test_places_near_to_each_other_are_not_known(key: str) -> None:
    """At each door, where it is said on the template, and of a flavor that has a topology."""
    one = ray()
    one["spec"]["workerGroupSpecs"][0]["template"]["metadata"] = {"annotations": {f"kueue.x-k8s.io/{key}": "rack"}}
    snapshot, text = cluster("100"), json.dumps(one)
    found = asked(snapshot, one)
    assert found.verdict is Verdict.UNKNOWN
    assert f"kueue.x-k8s.io/{key} isn't modelled" in str(found.sentence)
    assert gate.answer(snapshot, GateSettings(manifest=text)).workloads[0].verdict is Verdict.UNKNOWN
    assert where.answer(snapshot, WhereSettings(manifest=text)).clusters[0].verdict is Verdict.UNKNOWN
    for given in (job(8, namespace="a"), served(SPACE["metadata"]["name"])):
        assert asked(with_pods("100"), given).verdict is Verdict.COMPLETES
        given["spec"]["template"].setdefault("metadata", {})["annotations"] = {f"kueue.x-k8s.io/{key}": "rack"}
        assert asked(with_pods("100"), given).verdict is Verdict.UNKNOWN
    racks = read([node("n", 8), SPACE, flavor("f", topologyName="t"), queue("q", {"f": ("8",)}), local("a", "q")])
    plain = {
        **one,
        "spec": {**one["spec"], "headGroupSpec": {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}},
    }
    plain["spec"]["workerGroupSpecs"] = []
    found = asked(racks, plain)
    assert found.verdict is Verdict.UNKNOWN


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def manager(version: str) -> Object:
    one = pod("kueue-system", "manager", 0, "n0")
    one["spec"]["containers"][0]["image"] = f"registry.example/kueue/kueue:v{version}.1"
    return one


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.20", "by the rules and default feature gates of Kueue 0.20"),
        ("0.19", "of 0.19 (who would be evicted for two at once is looked for again for the second since 0.20)"),
        ("0.16", "fair sharing spares who lives on its own quota since 0.17"),
        ("0.9", "a RayJob's submitter is counted since 0.10"),
        ("0.18", "a RayJob's submitter in SidecarMode is counted since 0.19"),
        ("0.21", "of 0.21, newer than these rules"),
    ],
)
def test_what_another_version_does_otherwise_is_said(version: str, said: str) -> None:
    assert said in of_rules(cluster("8", "8", manager(version)))
    assert ("though" in of_rules(cluster("8", "8", manager(version)))) is (version != "0.20")
    assert "which version runs here isn't seen" in of_rules(cluster("8"))


@pytest.mark.parametrize(
    ("version", "outcome"), [("0.16", AdmissionOutcome.UNKNOWN), ("0.17", AdmissionOutcome.LET_IN)]
)
def test_older_fair_sharing_is_not_known(version: str, outcome: AdmissionOutcome) -> None:
    fair = queue("q", {"f": ("8",)}, cohort="c")
    fair["status"] = {"fairSharing": {"weightedShare": 0}}
    items = [node("n0", 8), SPACE, flavor("f"), fair, local("a", "q"), workload("a", "w", 1), manager(version)]
    [found] = queues(read(items)).waiting
    assert found.outcome is outcome


def test_make_room_asks_for_a_ray_clusters_quota() -> None:
    """A queue of 3 GPUs for a head of 4 without CPU: its place is made, its quota isn't there, each is said by itself."""
    one = ray()
    amounts = {GPU: "4"}
    one["spec"] = {
        "headGroupSpec": {
            "template": {"spec": {"containers": [{"name": "c", "image": "x", "resources": {"limits": amounts}}]}}
        }
    }
    for nominal, kept in (("8", []), ("3", [f"1 {GPU} more of f than the queue can ever have"])):
        found = room(nominal=nominal, change=Scenario(manifest=json.dumps(one)))
        assert (len(found.starts), found.is_proven) == (1, False)
        assert [str(each.why) for each in found.queued] == kept


@pytest.mark.parametrize(
    ("cpu", "options", "verdict"),
    [
        ("3500m", {}, Verdict.COMPLETES),  # a core for the head and each worker, half a core for the autoscaler
        ("3400m", {}, Verdict.STUCK),
        ("3", None, Verdict.COMPLETES),
        ("3500m", {"resources": {"requests": {"cpu": "1"}}}, Verdict.STUCK),
        ("4", {"resources": {"requests": {"cpu": "1"}}}, Verdict.COMPLETES),
        ("3", {"resources": {}}, Verdict.COMPLETES),  # it asks for nothing
    ],
)
def test_the_autoscalers_container_in_rays_head(cpu: str, options: Object | None, verdict: Verdict) -> None:
    """kuberay `BuildAutoscalerContainer`: 500m and 512Mi, or all of autoscalerOptions.resources."""
    there = node("n", 8)
    there["status"]["allocatable"]["cpu"] = cpu
    one = ray()
    if options is not None:
        one["spec"] |= {"enableInTreeAutoscaling": True, "autoscalerOptions": options}
    del one["metadata"]["labels"], one["spec"]["suspend"]
    one["spec"]["workerGroupSpecs"][0]["maxReplicas"] = 2
    inside = {"rayClusterConfig": one["spec"]}
    for kind, spec in (("RayCluster", one["spec"]), ("RayService", inside)):
        found = asked(whole(there), {**one, "kind": kind, "spec": spec})
        assert found.verdict is verdict, found.sentence
        assert found.ties is not None
        assert found.ties.proven
        given = json.dumps({**one, "kind": kind, "spec": spec})
        assert gate.answer(whole(there), GateSettings(manifest=given)).passes is (verdict is Verdict.COMPLETES)


@pytest.mark.parametrize("scales", [False, True])
def test_nothing_is_proven_of_pods_that_are_not_counted(scales: bool) -> None:
    """Ray's autoscaler adds workers: a place for what is counted isn't a place for all."""
    one = ray(enableInTreeAutoscaling=scales)
    del one["metadata"]["labels"], one["spec"]["suspend"]
    service = {**one, "kind": "RayService", "spec": {"rayClusterConfig": one["spec"]}}
    for given in (one, service):
        found = asked(whole(node("n", 8)), given)
        assert found.verdict is Verdict.COMPLETES
        assert found.ties is not None
        assert found.ties.proven is not scales
        assert ("proven" in str(found.ties.sentence)) is not scales
        assert any("autoscaler adds" in one.what for one in found.findings) is scales
        assert asked(whole(node("n", 2)), given).verdict is Verdict.STUCK
    assert room(change=Scenario(manifest=json.dumps(one))).is_proven is not scales
