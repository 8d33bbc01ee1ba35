"""Rollouts from a snapshot and a scenario to the answer: joint changes, manifests, unknowns, overview, seats."""

from __future__ import annotations

import json

import pytest

from planner.capacity import gpu_holders as seats_room
from planner.capacity import rollout_readiness as overviews
from planner.capacity.gpu_inventory import known_sum
from planner.ground.errors import ChangeError
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Presence, Severity
from planner.remedies import rollout_with_remedies
from planner.rollout import prepared_change as prepared_question
from planner.rollout.answers import PodState, Reason, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import demo
from tests.builders.objects import WHOLE, Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import rolling, stateful_set

DEMO = demo.read()
A, B = "Deployment/ml/a", "Deployment/ml/b"


def ask(*items: Item | list[Item], manifest: str = "", **changes: dict[str, object]) -> RolloutResult:
    asked = tuple(WorkloadChange(workload=f"Deployment/ml/{name}", **fields) for name, fields in changes.items())  # type: ignore[arg-type]
    return rollout_with_remedies.rollout(snapshot(*items), Scenario(changes=asked, manifest=manifest))


def two(gpus: int, *, surge: int = 1, unavailable: int = 0) -> list[Item]:
    """Two Deployments of one GPU pod each, on one node with `gpus` GPUs."""
    rule = rolling(surge, unavailable)
    one, other = (deployment(name, ["gpu-0"], pod_spec(gpus=1), strategy=rule) for name in "ab")
    return [node("gpu-0", pool="gpu", gpus=gpus), *one, *other]


def test_one_pod_and_one_placement_are_said_as_one() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
    apart: Item = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    items = [node(f"n{i}", gpus=1, labels={"kubernetes.io/hostname": f"n{i}"}) for i in range(3)]
    alone = deployment("a", ["n0"], pod_spec(gpus=1, **apart), strategy=rolling(1, 0))
    asked = Scenario(changes=(WorkloadChange(workload=A),), runs=1, with_remedies=False)
    result = rollout_with_remedies.rollout(snapshot(WHOLE, *items, *alone), asked)
    assert str(result.sentence).endswith("; at worst 1 of 1 pod is Ready")
    assert result.ties is not None
    assert str(result.ties.outcome) == "completes in the one placement tried"


# ── several changes ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_rollouts_together_share_what_is_free() -> None:
    result = ask(two(3), a={}, b={})
    assert result.verdict is Verdict.COMPLETES
    assert str(result.sentence) == "completes: all 2 rollouts finish together"
    assert [p.workload for p in result.workloads] == [A, B]
    assert result.peak_held == {"nvidia.com/gpu": 3}
    assert result.ticks > ask(two(4), a={}, b={}).ticks  # with room for both surges at once


def test_one_of_two_that_is_stuck_is_named() -> None:
    result = ask(two(3), a={}, b={"requests": {"nvidia.com/gpu": 3}})
    assert result.verdict is Verdict.STUCK
    assert str(result.sentence).startswith("1 of 2 rollouts finish; Deployment/ml/b is stuck: ")
    assert [p.verdict for p in result.workloads] == [Verdict.COMPLETES, Verdict.STUCK]


def test_pods_that_waited_before_compete() -> None:
    waiting = deployment("c", [""], pod_spec(gpus=1))
    alone = ask(two(2, surge=0, unavailable=1), a={})
    crowded = ask(two(2, surge=0, unavailable=1), waiting, a={})
    assert alone.verdict is Verdict.COMPLETES
    assert crowded.verdict is Verdict.STUCK
    assert crowded.reason is Reason.INSUFFICIENT_RESOURCE


# ── manifests ────────────────────────────────────────────────────────────────────────────────────────────────────────
def manifest(name: str, gpus: int, **more: object) -> str:
    spec = pod_spec(gpus=gpus)
    spec["containers"][0]["image"] = "registry.example/app:2"
    labels = {"app": name}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
                **more,
            },
        }
    )


def test_a_new_workload_is_rolled_out_beside_a_changed_one() -> None:
    result = ask(two(4), manifest=manifest("new", 1) + "\n---\n" + manifest("a", 1, strategy=rolling(1, 0)))
    assert result.verdict is Verdict.COMPLETES
    assert {p.workload for p in result.workloads} == {"Deployment/ml/new", A}
    stuck = ask(two(2), manifest=manifest("new", 1))
    assert (stuck.verdict, stuck.reason) == (Verdict.STUCK, Reason.INSUFFICIENT_RESOURCE)


# ── what can't be asked, what can't be known ─────────────────────────────────────────────────────────────────────────
def test_an_unknown_workload_gets_a_hint() -> None:
    with pytest.raises(ChangeError, match=r"there is no Deployment/ml/aa in the snapshot\. "):
        ask(two(2), aa={})
    with pytest.raises(ChangeError, match="Did you mean Deployment/prod/ml-worker"):
        rollout_with_remedies.rollout(DEMO, Scenario(changes=(WorkloadChange(workload="deployment/prod/worker"),)))


def test_a_job_does_not_roll_out() -> None:
    job = next((w for w in DEMO.workloads if w.kind == "Job"), None)
    if job is None:
        pytest.fail("the demo has no Job")
    with pytest.raises(ChangeError, match="a Job does not roll out"):
        rollout_with_remedies.rollout(DEMO, Scenario(changes=(WorkloadChange(workload=job.key),)))


def test_missing_kinds_make_an_answer_unknown() -> None:
    spec = pod_spec(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}])
    result = ask(node("n-0"), deployment("a", ["n-0"], spec), a={})
    assert result.verdict is Verdict.UNKNOWN
    assert str(result.sentence).startswith("not known: the pods use volumes, and the snapshot doesn't hold ")
    assert [f.code for f in result.findings if f.severity is Severity.WARNING] == ["answer-incomplete"]
    alone = ask(node("n-0"), deployment("a", [], pod_spec(), replicas=1)[0], a={})
    assert alone.verdict is Verdict.UNKNOWN
    assert "doesn't hold Pods and ReplicaSets" in str(alone.sentence)


# ── the answer's parts ───────────────────────────────────────────────────────────────────────────────────────────────
def test_the_timeline_counts_every_pod_once() -> None:
    for key in ("Deployment/prod/ml-worker", "Deployment/prod/llm-serve", "StatefulSet/prod/redis"):
        part = rollout_with_remedies.rollout(DEMO, Scenario(changes=(WorkloadChange(workload=key),))).workloads[0]
        for row in part.timeline:
            assert set(row.counts) == {state.value for state in PodState}
            ready = row.counts[PodState.OLD_READY] + row.counts[PodState.NEW_READY]
            assert ready == row.ready
        assert max(sum(row.counts.values()) for row in part.timeline[1:]) == part.peak_pods
        assert [row.seconds for row in part.timeline] == sorted(row.seconds for row in part.timeline)


def test_scaling_moves_nothing_of_the_template() -> None:
    result = ask(two(2), a={"replicas": 0, "new_revision": False})
    part = result.workloads[0]
    assert result.verdict is Verdict.COMPLETES
    assert not part.is_new_revision
    assert part.final["replicas"] == 0


# ── overview and seats ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("replicas", "said"), [(1_000, True), (3, True), (2, False)])
def test_that_no_strategy_could_place_them_all_is_said(replicas: int, said: bool) -> None:
    """Two nodes of four A100s each, and a pod asks for four."""
    change = WorkloadChange(workload="Deployment/prod/llm-serve", replicas=replicas)
    found = rollout_with_remedies.rollout(demo.read(), Scenario(changes=(change,), with_remedies=False))
    room = f"With nothing else on them the nodes that match hold at most 2 of its {replicas:,} pods"
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)
    assert str(found.sentence).endswith(room) is said
    assert ("nothing else" in str(found.sentence)) is said


@pytest.mark.parametrize("replicas", [9, 16, 20])
def test_pods_that_stay_sit_on_the_seats_that_are_counted(replicas: int) -> None:
    """A node of eight GPUs holds eight pods of one, eight of which stay as they are."""
    worker = deployment("a", ["gpu-0"] * 8, pod_spec(gpus=1), strategy=rolling(1, 1))
    result = ask(node("gpu-0", gpus=8), worker, a={"replicas": replicas, "new_revision": False})
    assert result.verdict is Verdict.STUCK
    assert str(result.sentence).endswith(f"hold at most 8 of its {replicas} pods")


def test_pods_that_stay_where_no_new_one_may_come_are_counted_too() -> None:
    cordoned = node("gpu-1", gpus=8)
    cordoned["spec"]["unschedulable"] = True
    worker = deployment("a", ["gpu-0"] * 2 + ["gpu-1"] * 3, pod_spec(gpus=1), strategy=rolling(1, 1))
    result = ask(node("gpu-0", gpus=2), cordoned, worker, a={"replicas": 9, "new_revision": False})
    assert str(result.sentence).endswith("hold at most 5 of its 9 pods")


def test_the_demo_at_a_glance() -> None:
    found = overviews.overview(DEMO)
    lines = {line.workload: line for line in found.workloads}
    stuck = [line for line in found.workloads if line.verdict is Verdict.STUCK]
    assert str(found.sentence) == f"{len(stuck)} of {len(lines)} workloads would get stuck if changed now."
    assert lines["Deployment/prod/llm-serve"].reason is Reason.HOLD_AND_WAIT
    assert lines["Deployment/prod/ml-worker"].verdict is Verdict.COMPLETES
    for line in found.workloads:  # counted or simulated, the same as asked one by one
        asked = Scenario(changes=(WorkloadChange(workload=line.workload),), runs=1, with_remedies=False)
        assert rollout_with_remedies.rollout(DEMO, asked).verdict is line.verdict, line.workload
    for gpu in found.gpus:
        assert gpu.allocatable == known_sum((gpu.requested, gpu.free))
    assert found.pod_count == sum(bool(p.node_name) and not p.is_terminal for p in DEMO.pods)


def test_seats_add_up() -> None:
    rows = seats_room.seats(DEMO)
    lines = overviews.overview(DEMO).gpus
    assert sum(len(row.seats) for row in rows) == sum(line.allocatable for line in lines)
    assert sum(bool(seat.holder) for row in rows for seat in row.seats) == known_sum(line.requested for line in lines)
    assert rows == tuple(sorted(rows, key=lambda row: (row.node_pool, row.node)))


def test_a_snapshot_is_compiled_once() -> None:
    assert prepared_question.compiled(DEMO) is prepared_question.compiled(DEMO)
    assert DEMO.presence["Pod"] is Presence.PRESENT


# ── volumes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def on_disk(mode: str, *, surge: int) -> RolloutResult:
    """One pod with a network disk, on the node of two that has no room for a second."""
    spec = pod_spec(gpus=1, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    rule = rolling(surge, 1 - surge)
    source = {"driver": "pd.csi.storage.gke.io", "volumeHandle": "h"}
    disk: Item = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
                  "spec": {"csi": source, "accessModes": [mode], "capacity": {"storage": "1Gi"}}}  # fmt: skip
    claim: Item = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "ml"},
                   "spec": {"volumeName": "pv", "accessModes": [mode]}, "status": {"phase": "Bound"}}  # fmt: skip
    nodes = [node("gpu-0", pool="gpu", gpus=1), node("gpu-1", pool="gpu", gpus=1)]
    return ask(nodes, disk, claim, deployment("a", ["gpu-0"], spec, strategy=rule), a={})


def test_a_volume_for_one_node_does_not_follow_a_surge() -> None:
    """kube-scheduler doesn't look at attached volumes: the pod is placed on gpu-1, and its volume never comes there."""
    assert (result := on_disk("ReadWriteOnce", surge=1)).verdict is Verdict.STUCK
    assert result.reason is Reason.VOLUME_ATTACHED
    assert "gpu-0" in str(result.sentence)


@pytest.mark.parametrize(("mode", "surge"), [("ReadWriteMany", 1), ("ReadWriteOnce", 0)])
def test_a_volume_that_can_follow_is_not_spoken_of(mode: str, surge: int) -> None:
    result = on_disk(mode, surge=surge)
    assert result.verdict is Verdict.COMPLETES
    assert "volume-on-two-nodes" not in {f.code for f in result.findings}


def test_a_stateful_sets_controller_makes_its_claims() -> None:
    """A StatefulSet that is scaled up has new claims: bound late, or refused by the driver's limit on the node."""
    template = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    fast = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
            "provisioner": "csi.example", "volumeBindingMode": "WaitForFirstConsumer"}  # fmt: skip
    items = [node("n-0"), fast, *stateful_set("db", ["n-0"], pod_spec(), volumeClaimTemplates=[template])]
    scaled = (WorkloadChange(workload="StatefulSet/ml/db", replicas=3, new_revision=False),)
    grown = rollout_with_remedies.rollout(snapshot(items), Scenario(changes=scaled))
    assert grown.verdict is Verdict.COMPLETES
    drivers = [{"name": "csi.example", "nodeID": "n-0", "allocatable": {"count": 1}}]
    limit = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "n-0"},
        "spec": {"drivers": drivers},
    }
    limited = rollout_with_remedies.rollout(snapshot([*items, limit]), Scenario(changes=scaled))
    assert (limited.verdict, limited.reason) == (Verdict.STUCK, Reason.VOLUME)
    assert "1 node(s) exceed max volume count" in str(limited.workloads[0].scheduler_message)


# ── what isn't played ────────────────────────────────────────────────────────────────────────────────────────────────
def test_another_schedulers_pods_are_said() -> None:
    spec = pod_spec(gpus=1)
    items = [node("gpu-0", pool="gpu", gpus=2), *deployment("a", ["gpu-0"], spec)]
    patch = json.dumps({"spec": {"template": {"spec": {"schedulerName": "volcano"}}}})
    alone = ask(items, a={"patch": patch})
    assert alone.verdict is Verdict.UNKNOWN  # it may run outside the cluster, or be in no list
    assert 'asks for the scheduler "volcano"' in str(alone.sentence)
    placed = deployment("b", ["gpu-0"], spec | {"schedulerName": "volcano"})
    beside = ask(items, placed, a={"patch": patch})
    assert beside.verdict is Verdict.UNKNOWN
    assert 'placed by the scheduler "volcano"; Headroom doesn\'t know its rules' in str(beside.sentence)


def test_a_runtime_class_that_was_not_read_leaves_the_answer_open() -> None:
    patch = json.dumps({"spec": {"template": {"spec": {"runtimeClassName": "gvisor"}}}})
    items = [node("gpu-0", pool="gpu", gpus=2), *deployment("a", ["gpu-0"], pod_spec(gpus=1))]
    assert ask(items, a={"patch": patch}).verdict is Verdict.UNKNOWN
    runtime: Item = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"},
                     "scheduling": {"nodeSelector": {"runtime": "gvisor"}}}  # fmt: skip
    assert ask(items, runtime, a={"patch": patch}).reason is Reason.NO_MATCHING_NODE
    other: Item = runtime | {"metadata": {"name": "other"}}
    refused = ask(items, other, a={"patch": patch})
    assert refused.reason is Reason.ADMISSION
    assert 'RuntimeClass "gvisor" not found' in str(refused.sentence)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"schedulingGroup": {"podGroupName": "g"}}, "the pods' schedulingGroup is not modelled (pods of a group"),
        ({"os": {"name": "windows"}}, "the pods' os is not modelled"),
        ({"readinessGates": [{"conditionType": "lb"}]}, "the pods' readinessGates is not modelled"),
        (
            {"serviceAccountName": "trainer"},
            "the pods run as ServiceAccount trainer, which no pod of namespace ml uses yet",
        ),
    ],
)
def test_a_field_that_is_not_modelled_is_named(fields: Item, named: str) -> None:
    items = [node("gpu-0", pool="gpu", gpus=2), *deployment("a", ["gpu-0"], pod_spec(gpus=1))]
    result = ask(items, a={"patch": json.dumps({"spec": {"template": {"spec": fields}}})})
    assert result.verdict is Verdict.UNKNOWN
    assert named in str(result.sentence)
    assert named in next(f.what for f in result.findings if f.code == "answer-incomplete")


@pytest.mark.parametrize("fields", [{"os": {"name": "linux"}}, {"serviceAccountName": "default"}, {"hostname": "x"}])
def test_a_field_that_cannot_matter_is_not_spoken_of(fields: Item) -> None:
    items = [node("gpu-0", pool="gpu", gpus=2), *deployment("a", ["gpu-0"], pod_spec(gpus=1))]
    assert ask(items, a={"patch": json.dumps({"spec": {"template": {"spec": fields}}})}).verdict is Verdict.COMPLETES


def test_what_the_pods_have_had_all_along_works() -> None:
    """Readiness gates that somebody sets, and a ServiceAccount that is there, leave the answer as it is."""
    spec = pod_spec(gpus=1) | {"readinessGates": [{"conditionType": "lb"}], "serviceAccountName": "trainer"}
    items = [node("gpu-0", pool="gpu", gpus=2), *deployment("a", ["gpu-0"], spec)]
    assert ask(items, a={}).verdict is Verdict.COMPLETES


def test_webhooks_and_policies_that_see_the_pods_are_named() -> None:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    elsewhere = {"matchLabels": {"kubernetes.io/metadata.name": "other"}}
    group = "admissionregistration.k8s.io/v1"

    def hook(name: str, **more: object) -> Item:
        return {"apiVersion": group, "kind": "MutatingWebhookConfiguration", "metadata": {"name": name},
                "webhooks": [{"name": f"{name}.example", "rules": [rule], **more}]}  # fmt: skip

    def policy(name: str, *actions: str) -> list[Item]:
        on_deployments = rule | {"apiGroups": ["apps"], "resources": ["deployments"], "operations": ["UPDATE"]}
        spec = {"matchConstraints": {"resourceRules": [on_deployments]}}
        bound = {"policyName": name, "validationActions": list(actions)}
        return [
            {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
            {
                "apiVersion": group,
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": name},
                "spec": bound,
            },
        ]

    namespace: Item = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    quiet = hook("quiet", rules=[rule | {"resources": ["services"]}])
    items = [namespace, hook("inject"), hook("other", namespaceSelector=elsewhere), quiet]
    changing = [
        {**one, "kind": one["kind"].replace("Validating", "Mutating"), "metadata": {"name": "changes"}}
        for one in policy("changes")
    ]
    unbound = {**changing[0], "metadata": {"name": "limits"}}  # the binding of that name is another kind's
    items += [changing[0], {**changing[1], "spec": {"policyName": "changes"}}, unbound]
    result = ask(two(4), items, policy("limits", "Deny"), policy("advice", "Warn"), a={})
    assert result.verdict is Verdict.COMPLETES
    [finding] = [f for f in result.findings if f.code == "admission-not-played"]
    assert finding.what == (
        "MutatingWebhookConfiguration inject/inject.example, ValidatingAdmissionPolicy limits, MutatingAdmissionPolicy "
        "changes may change or refuse these pods or the workload: what they do is not played"
    )
