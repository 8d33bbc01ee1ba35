"""What Kueue does with a change: quota and place, each with its own reason, and what isn't known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest

from planner.capacity.rollout_readiness import overview
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.questions import gate, plan, where
from planner.questions.gate import GateSettings
from planner.questions.plan import PlanSettings
from planner.questions.where import WhereSettings
from planner.remedies.make_room import MadeRoom, RoomRequest, make_room, notes
from planner.remedies.plan_actions import MeasureKind
from planner.remedies.player import PlanOutcome
from planner.remedies.rollout_with_remedies import rollout
from planner.remedies.single_rollout_plans import unbeaten_plans
from planner.remedies.ways_out import find_remedies
from planner.rollout.answers import Reason, Remedy, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.race_doubts import OtherClocks, on_other_clocks
from planner.rollout.run import Revision, Run
from planner.scheduling.cluster import Cluster
from planner.serve.admission_review import Silence, read_request, review
from tests.capacity.teams import API, GPU, KINDS, flavor, local, node, pod, queue, read, teams, workload
from tests.pages.visiting import visit

Object = dict[str, Any]
LABEL: Final = {"kueue.x-k8s.io/queue-name": "main"}


def spec(gpus: int, **more: Any) -> Object:
    return {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "x", "resources": {"limits": {GPU: str(gpus)}}}],
        **more,
    }


def job(gpus: int, *, pods: int = 1, namespace: str = "team-c", labels: Object | None = None, **more: Any) -> Object:
    annotations = more.pop("annotations", {})
    return {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "new", "namespace": namespace, "labels": {**LABEL, **(labels or {})}, "annotations": annotations},
        "spec": {"suspend": True, "parallelism": pods, "completions": pods, "template": {"spec": spec(gpus, **more)}},
    }  # fmt: skip


def asked(snapshot: Snapshot, *objects: Object) -> RolloutResult:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return rollout(snapshot, Scenario(manifest=text))


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read(teams())


@pytest.mark.parametrize(
    ("given", "verdict", "reason", "said"),
    [
        (job(8), Verdict.COMPLETES, Reason.NONE, "its pod is placed"),
        (job(8, pods=3), Verdict.STUCK, Reason.QUEUE, f"8 {GPU} more of a100 than the queue can ever have"),
        (job(4, namespace="team-b"), Verdict.STUCK, Reason.QUEUE, f"4 {GPU} of a100 too few are free in ClusterQueue team-b"),
        (job(1, namespace="team-a"), Verdict.STUCK, Reason.QUEUE, "the queue is StrictFIFO, and Job/team-a/next is first"),
        (job(16), Verdict.STUCK, Reason.INSUFFICIENT_RESOURCE, f"the pod needs 16 {GPU} on one"),  # quota isn't place
        (job(8, labels={"kueue.x-k8s.io/queue-name": "none"}), Verdict.STUCK, Reason.QUEUE, "there is no LocalQueue team-c/none"),
        (job(8, nodeSelector={"pool": "no"}), Verdict.STUCK, Reason.NO_MATCHING_NODE, "no node matches"),
    ],
)  # fmt: skip
def test_a_job_needs_quota_and_a_place(
    snapshot: Snapshot, given: Object, verdict: Verdict, reason: Reason, said: str
) -> None:
    found = asked(snapshot, given)
    assert (found.verdict, found.reason) == (verdict, reason)
    assert said in str(found.sentence)
    assert found.ties is not None
    assert not found.ties.proven
    assert "proven" not in str(found.ties.sentence)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (job(8, labels={"kueue.x-k8s.io/priority-class": "high"}), "holds no WorkloadPriorityClass high"),
        (job(8, annotations={"kueue.x-k8s.io/elastic-job": "true"}), "kueue.x-k8s.io/elastic-job isn't modelled"),
        (job(8, schedulingGates=[{"name": "mine"}]), "scheduling gates of their own"),
        ({**job(8), "apiVersion": "ray.io/v1", "kind": "RayService",
          "spec": {"rayClusterConfig": {"headGroupSpec": {"template": {"spec": spec(1)}}}}}, "quota for in a RayService isn't modelled"),
        ({**job(8), "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
          "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": spec(1)}}}}},
         "integration for PyTorchJobs is on"),
    ],
)  # fmt: skip
def test_what_isn_t_modelled_is_named(snapshot: Snapshot, given: Object, said: str) -> None:
    found = asked(snapshot, given)
    assert found.verdict is Verdict.UNKNOWN
    assert said in str(found.sentence)


def test_resources_that_no_group_has_may_be_left_out_by_configuration(snapshot: Snapshot) -> None:
    with_cpu = job(1)
    with_cpu["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1"
    found = asked(snapshot, with_cpu)
    assert found.verdict is Verdict.UNKNOWN
    assert "no resource group has cpu, unless Kueue's configuration leaves that out" in str(found.sentence)


def test_a_priority_class_may_evict() -> None:
    high = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 1000}
    found = asked(read([*teams(), high]), job(8, namespace="team-a", labels={"kueue.x-k8s.io/priority-class": "high"}))
    assert found.verdict is Verdict.EVICTIONS_BY_QUEUE
    assert "Kueue has evicted Job/team-a/" in str(found.sentence)


def test_two_jobs_share_one_quota() -> None:
    """Each alone is let in, both are not."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-c"}}
    cluster = read([node("n", 32), space, flavor("f"), queue("q", {"f": ("16",)}), local("team-c", "q")])
    other = job(6, pods=2)
    other["metadata"]["name"] = "other"
    assert [asked(cluster, one).verdict for one in (job(8), other)] == [Verdict.COMPLETES, Verdict.COMPLETES]
    found = asked(cluster, job(8), other)
    assert [one.verdict for one in found.workloads] == [Verdict.COMPLETES, Verdict.STUCK]
    assert found.reason is Reason.QUEUE


def test_without_one_of_the_lists_it_is_not_known() -> None:
    for kind in ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Workload"):
        found = asked(
            read([one for one in teams() if one["kind"] != kind], tuple(one for one in KINDS if one != kind)), job(8)
        )
        assert found.verdict is Verdict.UNKNOWN, kind
        assert f"the input holds no {kind}s" in str(found.sentence)
    older = replace(read(teams()), presence=FrozenMap())  # written before these kinds were read
    assert asked(older, job(8)).verdict is Verdict.UNKNOWN


def test_queues_that_come_with_the_manifest_count(snapshot: Snapshot) -> None:
    """A LocalQueue beside its Job, and a quota that is raised for it."""
    fresh = job(8, labels={"kueue.x-k8s.io/queue-name": "fresh"})
    assert asked(snapshot, fresh).reason is Reason.QUEUE
    assert asked(snapshot, local("team-c", "team-c", "fresh"), fresh).verdict is Verdict.COMPLETES
    raised = queue("team-c", {"a100": ("24",)})
    assert asked(snapshot, job(8, pods=3)).reason is Reason.QUEUE
    assert asked(snapshot, raised, job(8, pods=3)).reason is not Reason.QUEUE


def test_an_admission_check_is_not_known() -> None:
    items = [{**one, "spec": {**one["spec"], "admissionChecks": ["budget"]}} if one["kind"] == "ClusterQueue" else one for one in teams()]  # fmt: skip
    found = asked(read(items), job(8))
    assert found.verdict is Verdict.UNKNOWN
    assert "then checked: budget" in str(found.sentence)


def test_the_flavor_says_where_its_pods_go() -> None:
    """Quota of b only, whose nodes are full: the free node of a is none for it."""

    def cluster(on: str) -> Snapshot:
        nodes = [
            {**node(name, 8), "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "pool": name}}} for name in "ab"
        ]  # fmt: skip
        other = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "held", "namespace": "x", "uid": "held"},
            "spec": {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {GPU: "8"}, "limits": {GPU: "8"}}}]},
            "status": {"phase": "Running"},
        }  # fmt: skip
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-c"}}
        return read(
            [
                *nodes,
                other,
                space,
                flavor("b", nodeLabels={"pool": "b"}),
                queue("q", {"b": ("8",)}),
                local("team-c", "q"),
            ]
        )

    assert asked(cluster("a"), job(8)).verdict is Verdict.COMPLETES
    found = asked(cluster("b"), job(8))
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.INSUFFICIENT_RESOURCE)


def test_others_that_are_let_in_take_places_too() -> None:
    """One node for two that both have quota: nobody knows who gets it."""
    items = [
        node("n", 8), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-c"}}, flavor("f"),
        queue("q", {"f": ("16",)}), local("team-c", "q"),
    ]  # fmt: skip
    assert asked(read(items), job(8)).verdict is Verdict.COMPLETES
    found = asked(read([*items, workload("team-c", "first", 8)]), job(8))
    assert found.verdict is Verdict.UNKNOWN
    assert "Kueue lets in Job/team-c/first, too" in str(found.sentence)


# ── Deployments: each pod by itself ──────────────────────────────────────────────────────────────────────────────────
def served(
    quota: int, surge: int, unavailable: int, *, others: tuple[Object, ...] = (), shown: bool = True
) -> Snapshot:
    return read([*served_items(quota, surge, unavailable, shown=shown), *others])


def served_items(quota: int, surge: int, unavailable: int, *, shown: bool = True) -> list[Object]:
    """A Deployment of two pods of one GPU, which have quota, on a node of 8."""
    meta = {"namespace": "team-c", "labels": {"app": "app", **LABEL}}
    template = {"metadata": {"labels": {"app": "app", **LABEL}}, "spec": {**spec(1), "restartPolicy": "Always"}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}

    def owned(kind: str, name: str) -> list[Object]:
        return [
            {
                "apiVersion": "apps/v1" if kind != "Pod" else "v1",
                "kind": kind,
                "name": name,
                "uid": f"u-{name}",
                "controller": True,
            }
        ]

    pods: list[Object] = [
        {"apiVersion": "v1", "kind": "Pod",
         "metadata": {**meta, "name": f"app-1-{n}", "uid": f"u-app-1-{n}", "ownerReferences": owned("ReplicaSet", "app-1")},
         "spec": {**template["spec"], "nodeName": "n"},
         "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        for n in range(2)
    ]  # fmt: skip
    held = []
    for one in pods:
        each = workload("team-c", one["metadata"]["name"], 1, held=("q", "f"))
        each["metadata"]["ownerReferences"] = owned("Pod", one["metadata"]["name"])
        held.append(each)
    return [
        node("n", 8), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-c"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**meta, "name": "app", "uid": "u-app", "generation": 1},
         "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "app"}}, "template": template, "strategy": strategy}},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {**meta, "name": "app-1", "uid": "u-app-1", "ownerReferences": owned("Deployment", "app"),
         "annotations": {"deployment.kubernetes.io/revision": "1"}},
         "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "app"}}, "template": template}},
        *pods, *(held if shown else []), flavor("f"), queue("q", {"f": (str(quota),)}), local("team-c", "q"),
    ]  # fmt: skip


def restarted(snapshot: Snapshot) -> RolloutResult:
    return rollout(snapshot, Scenario(changes=(WorkloadChange(workload="Deployment/team-c/app"),)))


@pytest.mark.parametrize(
    ("quota", "surge", "unavailable", "verdict", "reason"),
    [
        (2, 1, 0, Verdict.STUCK, Reason.QUEUE),  # the surge pod needs what the old ones keep until it is Ready
        (3, 1, 0, Verdict.COMPLETES, Reason.NONE),
        (2, 0, 1, Verdict.COMPLETES, Reason.NONE),
        (2, 1, 1, Verdict.COMPLETES, Reason.NONE),
        (3, 2, 0, Verdict.COMPLETES, Reason.NONE),  # one at a time
    ],
)
def test_a_surge_pod_waits_for_quota_of_the_old_ones(
    quota: int, surge: int, unavailable: int, verdict: Verdict, reason: Reason
) -> None:
    snapshot = served(quota, surge, unavailable)
    found = restarted(snapshot)
    assert (found.verdict, found.reason) == (verdict, reason), found.sentence
    assert found.ties is not None
    assert not found.ties.proven
    if verdict is Verdict.STUCK:
        assert "the old pods keep theirs until it is Ready" in str(found.sentence)
        assert found.workloads[0].lowest_ready == 2


@pytest.mark.parametrize(("quota", "surge", "unavailable"), [(2, 1, 0), (3, 1, 0), (2, 0, 1), (2, 1, 1)])
def test_the_overview_says_the_same(quota: int, surge: int, unavailable: int) -> None:
    snapshot = served(quota, surge, unavailable)
    [row] = [one for one in overview(snapshot).workloads if one.workload == "Deployment/team-c/app"]
    found = restarted(snapshot)
    assert (row.verdict, row.reason) == (found.verdict, found.reason)


def test_who_gets_quota_that_comes_free_is_not_known() -> None:
    """Where what one old pod gives back is enough for the other."""
    assert (
        restarted(served(4, 1, 0, others=(workload("team-c", "other", 8),))).verdict is Verdict.COMPLETES
    )  # never fits
    # one more pod at a time: never more than 3 of 5 are free, and the other waits for 4
    assert restarted(served(5, 1, 0, others=(workload("team-c", "other", 4),))).verdict is Verdict.COMPLETES
    found = restarted(served(2, 0, 1, others=(workload("team-c", "other", 1),)))
    assert found.verdict is Verdict.UNKNOWN
    assert "Job/team-c/other waits for some, too" in str(found.sentence)


def test_a_deployment_that_nothing_shows_to_be_queued_is_not_known() -> None:
    found = restarted(served(3, 1, 0, shown=False))
    assert found.verdict is Verdict.UNKNOWN
    assert "no Workload shows" in str(found.sentence)


# ── the same at every door ───────────────────────────────────────────────────────────────────────────────────────────
def job_set(gpus: int, pods: int) -> Object:
    one = job(gpus, pods=pods)
    inner = {"template": {"spec": {key: value for key, value in one["spec"].items() if key != "suspend"}}}
    spec = {"suspend": True, "replicatedJobs": [{"name": "worker", "replicas": 1, **inner}]}
    return {**one, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": spec}


@pytest.mark.parametrize(
    ("gpus", "pods", "verdict"),
    [(8, 1, Verdict.COMPLETES), (8, 3, Verdict.STUCK), (16, 1, Verdict.STUCK)],
)
def test_rollout_gate_where_webhook_and_page_say_the_same(gpus: int, pods: int, verdict: Verdict) -> None:
    other = {"containers": [{"name": "c", "image": "x"}]}
    shown = {  # the page asks for something that rolls out
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "team-c"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": other}},
    }  # fmt: skip
    snapshot = read([*teams(), shown])
    given = job_set(gpus, pods)
    text = json.dumps(given)
    found = rollout(snapshot, Scenario(manifest=text))
    [at_gate] = gate.answer(snapshot, GateSettings(manifest=text)).workloads
    [there] = where.answer(snapshot, WhereSettings(manifest=text)).clusters
    request = {
        "uid": "1", "operation": "CREATE", "namespace": "team-c", "name": "new", "object": given, "oldObject": None,
        "resource": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "resource": "jobsets"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    said = review(snapshot, read_request(body.encode()))
    assert (found.verdict, at_gate.verdict, there.verdict) == (verdict, verdict, verdict)
    assert (found.reason, str(found.sentence)) == (at_gate.reason, str(at_gate.sentence))
    assert not at_gate.is_suspended  # Kueue resumes it
    assert said.is_stuck is (verdict is Verdict.STUCK)
    assert (said.silence is Silence.COMPLETES) is (verdict is Verdict.COMPLETES)
    app = visit("rollout", snapshot, by="manifest", manifest=text)
    boxes = [one.value.replace("\\", "").strip("*") for kind in (app.error, app.success, app.warning) for one in kind]
    [title] = [text for text in boxes if text.startswith(("✗", "✓", "△", "▽"))]
    assert title.startswith("✗ Stuck" if verdict is Verdict.STUCK else "✓ Completes")
    assert verdict is not Verdict.STUCK or str(found.headline) in title
    assert verdict is not Verdict.STUCK or str(found.sentence).removeprefix("stuck: ") in said.warning


def test_the_webhook_plays_again_what_kueue_let_in(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other seconds and ways out are those of the pods that it played, with their flavor's node labels."""
    played: list[Revision] = []

    def clocks(cluster: Cluster, revisions: Sequence[Revision], run: Run, *, seed: int) -> OtherClocks:
        played.extend(revisions)
        return on_other_clocks(cluster, revisions, run, seed=seed)

    def ways(cluster: Cluster, revisions: Sequence[Revision], *given: Any) -> Iterator[Remedy]:
        played.extend(revisions)
        return find_remedies(cluster, revisions, *given)

    monkeypatch.setattr("planner.serve.admission_review.on_other_clocks", clocks)
    monkeypatch.setattr("planner.serve.admission_review.find_remedies", ways)
    request = {
        "uid": "1", "operation": "CREATE", "namespace": "team-c", "name": "new", "object": job_set(16, 1), "oldObject": None,
        "resource": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "resource": "jobsets"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    assert review(snapshot, read_request(body.encode())).is_stuck
    assert [one.queued is not None for one in played] == [True, True]
    monkeypatch.setattr("planner.ground.work_budget._GLANCE_UNITS", 0)  # it is asked whenever something is done
    late = review(snapshot, read_request(body.encode()), is_wanted=lambda: False)
    assert (late.silence, late.rolls) == (Silence.TIME_UP, True)  # it passes, and those after it are reviewed beside it


def test_a_plan_plays_again_what_kueue_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger queue has the surge pod let in, and its node has no room: nodes are looked for, by the plan and by the certificate's search."""
    played: list[Revision] = []

    def ways(cluster: Cluster, revisions: Sequence[Revision], *given: Any, **named: Any) -> Iterator[Remedy]:
        played.extend(revisions)
        return find_remedies(cluster, revisions, *given, **named)

    def search(cluster: Cluster, revision: Revision, *given: Any) -> tuple[PlanOutcome, ...]:
        played.append(revision)
        return unbeaten_plans(cluster, revision, *given)

    monkeypatch.setattr("planner.remedies.readiness_plan_state.find_remedies", ways)
    monkeypatch.setattr("planner.remedies.costless_action_search.unbeaten_plans", search)
    full = read([node("n", 2), *served_items(3, 1, 0)[1:]])
    found = plan.answer(full, PlanSettings(least_ready_percent=100))
    assert [one.kind for one in found.measures] == [MeasureKind.NODES]
    assert {one.queued is not None for one in played} == {True}


def test_what_a_flavor_adds_is_not_told_as_part_of_the_change() -> None:
    """The new pods go where the flavor says, and the command that applies the change doesn't say so."""
    labelled = flavor("f", nodeLabels={"kubernetes.io/hostname": "n"})
    items = served_items(3, 1, 0)
    found = restarted(read([labelled if one["kind"] == "ResourceFlavor" else one for one in items]))
    assert found.verdict is Verdict.COMPLETES
    assert "hostname" not in str(found.apply)
    elsewhere = flavor("f", nodeLabels={"kubernetes.io/hostname": "other"})
    found = restarted(read([elsewhere if one["kind"] == "ResourceFlavor" else one for one in items]))
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.NO_MATCHING_NODE)


def gated(name: str, gpus: int, created: int) -> list[Object]:
    """A pod that Kueue's gate holds, and its Workload."""
    one = pod("a", name, gpus, "")
    one["metadata"]["ownerReferences"] = []
    one["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    one["status"] = {"phase": "Pending"}
    record = workload("a", name, gpus, created=created)
    record["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": f"{name}-0", "uid": "u", "controller": True}
    ]
    return [one, record]


def room(*more: Object, nominal: str = "8", labels: Object | None = None, **asked: Any) -> MadeRoom:
    """Two nodes of 4 GPUs, each with one taken; a queue of one flavor."""
    running = [pod("b", name, 1, on) for name, on in (("x", "n0"), ("y", "n1"))]
    for one in running:
        one["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
        ]
        one["metadata"]["labels"] = {"app": "web"}
    replica_set = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "b", "uid": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"metadata": {"labels": {"app": "web"}}, "spec": running[0]["spec"] | {"nodeName": None}}},
    }  # fmt: skip
    spaces: list[Object] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in "ab"]
    kueue = [flavor("f", nodeLabels=labels or {}), queue("q", {"f": (nominal,)}), local("a", "q")]
    return make_room(
        read([node("n0", 4), node("n1", 4), *spaces, *kueue, *running, replica_set, *more]), RoomRequest(**asked)
    )


def test_room_is_made_only_for_pods_that_quota_lets_in() -> None:
    """Quota is there: a place is made. It isn't: no move is for it, and why is said. Neither is proven over Kueue's word."""
    found = room(*gated("w", 4, -50))
    assert str(found.sentence) == "1 move starts the waiting pod; no plan needs fewer, as far as is known"
    assert "Kueue" in [one.about for one in found.doubts]
    assert (found.queued, found.is_proven, found.is_most) == ((), False, False)
    found = room(*gated("w", 4, -50), nominal="3")
    assert str(found.sentence) == "no pod waits for a node; Kueue keeps back 1 pod"
    assert (found.moves, found.waiting) == ((), 0)
    assert f"1 {GPU} more of f than the queue can ever have" in str(found.queued[0].why)
    assert "no move gives quota" in " ".join(notes(found))


def test_of_two_that_wait_for_one_quota_the_older_gets_a_place() -> None:
    found = room(*gated("old", 4, -90), *gated("new", 4, -50), nominal="4")
    assert [one.pod for one in found.starts] == ["a/old-0"]
    [kept] = found.queued
    assert (kept.workload, kept.pods) == ("Pod/a/new-0", 1)
    assert str(kept.why) == f"4 {GPU} of f too few are free in ClusterQueue q"
    asked = room(*gated("old", 4, -90), *gated("new", 4, -50), nominal="4", workload="Pod/a/new-0")
    assert (asked.waiting, asked.queued) == (0, (kept,))


def test_a_place_is_where_the_flavor_says() -> None:
    assert {one.node for one in room(*gated("w", 4, -50), labels={"kubernetes.io/hostname": "n1"}).starts} == {"n1"}
    nowhere = room(*gated("w", 4, -50), labels={"kubernetes.io/hostname": "n7"})
    assert (nowhere.starts, nowhere.queued) == ((), ())
    assert str(nowhere.left[0].why).startswith("no node takes it")


def test_a_manifest_says_place_and_quota_each_by_itself() -> None:
    for nominal, kept in (("8", ""), ("3", f"1 {GPU} more of f than the queue can ever have")):
        manifest = json.dumps(job(4, namespace="a"))
        found = room(nominal=nominal, change=Scenario(manifest=manifest))
        assert (len(found.moves), len(found.starts), found.is_proven) == (1, 1, False)
        assert [str(one.why) for one in found.queued] == ([kept] if kept else [])
    label = job(4, namespace="a", labels={"kueue.x-k8s.io/priority-class": "high"})
    found = room(change=Scenario(manifest=json.dumps(label)))
    assert str(found.queued[0].why) == "not known: the input holds no WorkloadPriorityClass high"
    assert str(found.sentence).endswith("; Kueue may keep back 1 pod")


def test_a_shape_says_nothing_of_quota() -> None:
    found = room(shape="gpu=4")
    assert (len(found.moves), found.is_proven) == (1, True)
    assert "A shape names no queue: whether Kueue has quota for such pods isn't asked." in notes(found)


def test_a_suspended_job_that_waits_is_named(snapshot: Snapshot) -> None:
    kept = {one.workload: str(one.why) for one in make_room(snapshot).queued}
    assert kept["Job/team-a/next"].startswith("the queue is StrictFIFO") or "of a100" in kept["Job/team-a/next"]
    assert "its pods aren't there yet" in kept["Job/team-b/eval"]
    assert len(kept) == 5


@pytest.mark.parametrize(
    ("name", "labels", "verdict"),
    [
        ("default", {}, Verdict.EVICTIONS_BY_QUEUE),  # Kueue labels the Job with it, and evicts for it
        ("other", {}, Verdict.STUCK),
        ("default", {"kueue.x-k8s.io/priority-class": "low"}, Verdict.STUCK),
    ],
)
def test_the_priority_class_called_default_is_of_what_names_none(name: str, labels: Object, verdict: Verdict) -> None:
    values = {name: 1000, "low": -100}
    classes = [
        {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": each}, "value": value}
        for each, value in values.items()
    ]
    found = asked(read([*teams(), *classes]), job(8, namespace="team-a", labels=labels))
    assert found.verdict is verdict
    assert ("Kueue has evicted Job/team-a/" in str(found.sentence)) == (verdict is Verdict.EVICTIONS_BY_QUEUE)


def of_a_group(*numbers: int, total: str = "2", name: str = "g", gpus: int = 8) -> str:
    pods: list[Object] = [
        {
            "apiVersion": "v1", "kind": "Pod", "spec": spec(gpus),
            "metadata": {
                "name": f"{name}-{number}", "namespace": "team-c",
                "labels": {**LABEL, "kueue.x-k8s.io/pod-group-name": name}, "annotations": {"kueue.x-k8s.io/pod-group-total-count": total},
            },
        }
        for number in numbers
    ]  # fmt: skip
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})


@pytest.fixture(scope="module")
def with_a_group() -> Snapshot:
    """As `snapshot`, and a group of Pods that was let in shows that Kueue's integration for Pods is on."""
    group = workload("team-c", "old", 0, held=("team-c", "a100"))
    group["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "old-0", "uid": "u"}]
    return read([*teams(), group])


@pytest.mark.parametrize(
    ("manifest", "status"),
    [
        (of_a_group(0, 1, gpus=4), 0),
        (of_a_group(0), 4),  # the group isn't whole
        (of_a_group(0, 1, total="3"), 4),
        (of_a_group(0, 1, 2, total="3"), 2),  # the third has no quota, so none of them is let in
    ],
)
def test_a_group_of_pods_is_one_workload_at_the_gate(with_a_group: Snapshot, manifest: str, status: int) -> None:
    found = gate.answer(with_a_group, GateSettings(manifest=manifest))
    assert found.exit_status == status
    assert {str(part.verdict) for part in found.workloads} == {
        {0: "completes", 2: "stuck", 4: "unknown"}[status]
    }  # the same of each
    played_at_rollout = rollout(with_a_group, Scenario(manifest=manifest)).verdict
    assert str(played_at_rollout) == str(found.workloads[0].verdict)


def test_two_groups_and_a_job_are_each_judged_alone(with_a_group: Snapshot) -> None:
    items = [
        *json.loads(of_a_group(0, 1, gpus=1))["items"],
        *json.loads(of_a_group(0, 1, name="h", total="3"))["items"],
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, job(1)]})
    found = gate.answer(with_a_group, GateSettings(manifest=text))
    assert {part.workload: str(part.alone) for part in found.workloads} == {
        "Pod/team-c/g-0": "completes", "Pod/team-c/g-1": "completes", "Pod/team-c/h-0": "unknown", "Pod/team-c/h-1": "unknown",
        "Job/team-c/new": "completes",
    }  # fmt: skip
