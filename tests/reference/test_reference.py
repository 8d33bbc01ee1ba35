"""The second oracle itself: small rollouts worked out by hand, and properties on clusters nobody recorded."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.quick import seeds
from tests.reference.__main__ import play as play_recording
from tests.reference.__main__ import read_recording
from tests.reference.cluster import Cluster
from tests.reference.controllers import surge_and_unavailable
from tests.reference.drain import drain
from tests.reference.headroom import headroom
from tests.reference.objects import Object, copied, is_bound, pod_requests, quantity, strategic_merge, tolerates
from tests.reference.random_clusters import Case, grow, node, priority_classes, random_case
from tests.reference.simulation import RECORDERS_PATIENCE_MS, Simulation, simulate
from tests.reference.storage import bind_claims, make_claim
from tests.seen import premise

SEEDS = seeds(60)
REV_2 = {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "REV", "value": "2"}]}]}}}}


def deployment(replicas: int, surge: Any, unavailable: Any, name: str = "worker") -> Object:
    asks = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "x", "env": [{"name": "REV", "value": "1"}], "resources": {"requests": asks}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
            },
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
        "status": {},
    }


def play(items: list[Object], patch: Object = REV_2, never_ready: list[dict[str, str]] | None = None) -> dict[str, Any]:
    change = {"kind": "Deployment", "namespace": "ml", "name": "worker", "patch": patch}
    return simulate(items, [change], never_ready or [])


@pytest.mark.parametrize(
    ("surge", "unavailable", "verdict", "ticks"),
    [("25%", "25%", "stuck", 0), (1, 0, "stuck", 0), (0, 1, "complete", 2), (1, 1, "complete", 2)],
)
def test_one_replica_on_the_last_gpu(surge: Any, unavailable: Any, verdict: str, ticks: int) -> None:
    items = grow([node("gpu-0", "a", 8, 32, 1), deployment(1, surge, unavailable)], [], 0)
    outcome = play(items)
    assert (outcome["verdict"], outcome["ticks"]) == (verdict, ticks)
    assert outcome["peak_held"] == {"nvidia.com/gpu": 1.0}


def test_the_message_is_the_schedulers() -> None:
    items = grow([node("gpu-0", "a", 8, 32, 1), node("cpu-0", "a", 8, 32, 0), deployment(1, 1, 0)], [], 0)
    (pending,) = play(items)["pending"]
    assert pending["message"] == (
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_pods_that_never_become_ready_stop_the_rollout() -> None:
    items = grow([node("gpu-0", "a", 8, 32, 8), deployment(4, 1, 1)], [], 0)
    outcome = play(items, never_ready=[{"app": "worker"}])
    assert outcome["verdict"] == "stuck"
    assert outcome["workloads"]["Deployment/ml/worker"] == {"peak_pods": 6, "min_ready": 3}
    assert not outcome["pending"]


def test_a_scaling_change_scales_the_old_revision_first() -> None:
    items = grow([node("gpu-0", "a", 8, 32, 2), deployment(1, 1, 0)], [], 0)
    outcome = play(items, strategic_merge(REV_2, {"spec": {"replicas": 2}}))
    assert outcome["verdict"] == "stuck"
    status = outcome["final"]["Deployment/ml/worker"]
    assert (status["replicas"], status["updatedReplicas"], status["readyReplicas"]) == (3, 1, 2)


def test_a_quota_counts_what_terminates() -> None:
    hard = {"requests.nvidia.com/gpu": "2"}
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": hard}}
    items = grow([node("gpu-0", "a", 8, 32, 8), quota, deployment(2, 0, 1)], [], 0)
    outcome = play(items)
    assert outcome["verdict"] == "complete"
    assert outcome["workloads"]["Deployment/ml/worker"] == {"peak_pods": 2, "min_ready": 1}


def test_a_more_important_rollout_takes_the_gpu_of_a_lesser_pod() -> None:
    important = deployment(1, 1, 0)
    important["spec"]["template"]["spec"]["priorityClassName"] = "high"
    lesser = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "lesser", "namespace": "other", "labels": {"app": "lesser"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Pending"},
    }
    items = grow([*priority_classes(), node("gpu-0", "a", 8, 32, 2), important], [lesser], 0)
    outcome = play(items)
    assert (outcome["verdict"], outcome["ticks"]) == ("complete", 3)
    assert outcome["peak_held"] == {"nvidia.com/gpu": 2.0}


def test_a_drain_waits_for_the_budget() -> None:
    budget: Object = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "worker", "namespace": "ml"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "worker"}}},
        "status": {},
    }
    items = grow([node("gpu-0", "a", 8, 32, 1), node("gpu-1", "a", 8, 32, 1), deployment(2, 1, 0), budget], [], 0)
    outcome = drain(items, ["gpu-0"])
    assert (outcome["evicted"], outcome["drained"], outcome["blocked_by_pdb"]) == (0, False, {"worker": 1})
    budget["spec"]["minAvailable"] = 1
    items = grow([node("gpu-0", "a", 8, 32, 1), node("gpu-1", "a", 8, 32, 1), deployment(2, 1, 0), budget], [], 0)
    outcome = drain(items, ["gpu-0"])
    assert (outcome["evicted"], outcome["drained"], outcome["pending"]) == (1, True, {"worker": 1})


def test_headroom_ends_at_the_first_pod_that_does_not_fit() -> None:
    items = grow([node("gpu-0", "a", 8, 32, 4), node("gpu-1", "a", 2, 32, 4), deployment(1, 1, 0)], [], 0)
    containers = deployment(1, 1, 0)["spec"]["template"]["spec"]["containers"]
    shape = {"metadata": {"name": "x", "namespace": "ml", "labels": {}}, "spec": {"containers": containers}}
    outcome = headroom(items, shape)
    # 4 GPUs on the first node, 2 CPUs on the second; one pod is there already.
    assert outcome["fits"] == 5


@pytest.mark.parametrize(
    ("text", "value"),
    [("100m", Fraction(1, 10)), ("2Gi", 2**31), ("1e3", 1000), ("1.5", Fraction(3, 2)), ("12E", 12 * 10**18), (4, 4)],
)
def test_quantities(text: Any, value: Fraction) -> None:
    assert quantity(text) == value


def test_init_containers_and_sidecars_count_as_the_scheduler_counts() -> None:
    def container(cpu: str, **more: str) -> Object:
        return {"name": "x", "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1")],
        "initContainers": [container("2", restartPolicy="Always"), container("5")],
        "overhead": {"cpu": "1"},
    }
    # Running: 1 + 2. Starting: 5 beside the sidecar's 2. The larger, and the overhead.
    assert pod_requests({"spec": spec}) == {"cpu": 8}


# --- recordings -------------------------------------------------------------------------------------------------------

ROLLOUTS = Path(__file__).parents[1] / "conformance" / "rollouts"


def test_a_preemption_policy_beside_the_class_is_refused() -> None:
    """A template that names another policy than its class makes no pod: another Deployment's that waits so takes no GPU (`vol5-recreate-thief-1`)."""
    low = {"kind": "PriorityClass", "metadata": {"name": "low"}, "value": 0}
    items = [node("gpu-0", "a", 8, 32, 2), low, deployment(1, 1, 0)]
    patch = {"spec": {"template": {"spec": {"priorityClassName": "low", "preemptionPolicy": "Never"}}}}
    refused = play(grow(items, [], 0), patch)
    assert (refused["verdict"], refused["pending"]) == ("stuck", [])
    patch["spec"]["template"]["spec"]["preemptionPolicy"] = "PreemptLowerPriority"
    assert play(grow(items, [], 0), patch)["verdict"] == "complete"


def test_pods_show_whether_tolerations_are_added() -> None:
    """On Google's nodes they are, unless pods there that ask for GPUs have none."""
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    tainted = node("gpu-1", "a", 8, 32, 1)
    tainted["spec"]["taints"] = [taint]
    for one in (without := node("gpu-0", "a", 8, 32, 1)), tainted:
        one["metadata"]["labels"]["cloud.google.com/gke-nodepool"] = "pool"
    items = grow([without, tainted, deployment(1, 1, 0)], [], 0)
    (pod,) = (item for item in items if item["kind"] == "Pod")
    pod["spec"]["nodeName"] = "gpu-0"
    assert play(items)["verdict"] == "complete"  # the pod that grew there has what the plugin adds
    pod["spec"]["tolerations"] = []
    assert play(items)["verdict"] == "stuck"


@pytest.mark.parametrize(
    ("operator", "value", "fits"), [("Gt", "50", True), ("Gt", "950", False), ("Lt", "951", True), ("Lt", "950", False)]
)
def test_tolerations_may_compare_numbers(operator: str, value: str, fits: bool) -> None:
    taint = {"key": "example.com/sla", "value": "950", "effect": "NoSchedule"}
    assert tolerates({"key": "example.com/sla", "operator": operator, "value": value}, taint) is fits


def test_a_claim_made_anew_gets_a_volume_of_its_own() -> None:
    late = {"kind": "StorageClass", "metadata": {"name": "late"}, "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}  # fmt: skip
    cluster = Cluster([late, node("n-0", "a", 8, 32, 0)], seed=0)
    names = []
    for _ in range(2):
        claim = cluster.create(make_claim("ml", "data", {"spec": {"storageClassName": "late"}}))
        mounts: Object = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
        bind_claims(cluster, {"metadata": {"name": "p", "namespace": "ml"}, "spec": mounts}, cluster.of("Node")[0])
        names.append(claim["spec"]["volumeName"])
        cluster.remove(claim)
    assert len(set(names)) == 2


def test_every_recorded_verdict_is_the_references_too() -> None:
    """Of all but the largest clusters; ``make reference`` plays those, too (minutes)."""
    paths = [path for path in sorted(ROLLOUTS.glob("*.json.gz")) if not path.name.startswith("n-large")]
    wrong = []
    for path in paths:
        recording = read_recording(path)
        verdict = play_recording(recording)["verdict"]
        if verdict not in [one.get("verdict") for one in (recording["outcome"], *(recording.get("also") or []))]:
            wrong.append(path.name.removesuffix(".json.gz"))
    assert len(paths) > 800
    assert wrong == []


SILENT = sorted(path for path in (ROLLOUTS.parent / "rollouts5").glob("node5*.json.gz") if "-vol-" not in path.name)


def test_every_recorded_verdict_beside_a_silent_node_is_the_references_too() -> None:
    """In one of the placements: which node a StatefulSet's pod goes to may be drawn (`node5b-mid-sts`)."""
    assert len(SILENT) == 25
    wrong = []
    for recording in map(read_recording, SILENT):
        events = [(one["tick"], {"silence": one["then"].partition(":")[2]}) for one in recording.get("events") or []]
        wanted = recording["outcome"]["verdict"], recording["outcome"]["ticks"]
        items, changes = recording["cluster"]["items"], [recording["change"]]
        played = (simulate(items, changes, [], seed, events, RECORDERS_PATIENCE_MS) for seed in range(10))
        if not any((one["verdict"], one["ticks"]) == wanted for one in played):
            wrong.append(recording["name"])
    assert wrong == []


EXCLUSIVE = sorted((ROLLOUTS.parent / "rollouts5").glob("vol5*.json.gz"))


def test_every_recorded_verdict_with_volumes_is_the_references_too() -> None:
    """In one of the placements; those with events are the engine's alone, which knows the events."""
    recordings = [one for one in map(read_recording, EXCLUSIVE) if not one.get("events")]
    assert len(recordings) > 70
    wrong = []
    for recording in recordings:
        seen = [one for one in (recording["outcome"], *(recording.get("also") or [])) if "ticks" in one]
        wanted = [(one.get("verdict", recording["outcome"]["verdict"]), one["ticks"]) for one in seen]
        changes = recording["change"] if isinstance(recording["change"], list) else [recording["change"]]
        items = recording["cluster"]["items"]
        played = (simulate(items, changes, [], seed, (), RECORDERS_PATIENCE_MS) for seed in range(10))
        if not any((one["verdict"], one["ticks"]) in wanted for one in played):
            wrong.append(recording["name"])
    assert wrong == []


# --- properties -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=SEEDS)
def case(request: pytest.FixtureRequest) -> Case:
    return random_case(request.param)


def test_the_same_seed_gives_the_same_outcome(case: Case) -> None:
    before = copied(case)
    first = simulate(case.items, case.changes, case.never_ready, 7)
    assert case == before, "the input was changed"
    assert first == simulate(case.items, case.changes, case.never_ready, 7)


def test_no_node_ever_holds_more_than_it_has(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0

    def record(simulation: Simulation) -> None:
        nonlocal seen
        seen += 1
        for name, pods in simulation.cluster.pods_by_node().items():
            room = simulation.cluster.kinds["Node"]["", name]["status"]["allocatable"]
            for resource in ("cpu", "memory", "nvidia.com/gpu"):
                used = sum(pod_requests(pod).get(resource, 0) for pod in pods)
                assert used <= quantity(room.get(resource, 0)), (name, resource)
            assert all(is_bound(pod) for pod in pods)
        original(simulation)

    original = Simulation.record
    monkeypatch.setattr(Simulation, "record", record)
    simulate(case.items, case.changes, case.never_ready)
    assert seen >= 2


def test_surge_and_unavailability_keep_their_limits(case: Case) -> None:
    outcome = simulate(case.items, case.changes, case.never_ready)
    # Who is scaled down loses pods of both revisions in proportion, and two rollouts may preempt each other.
    is_steady = all(item["kind"] != "HorizontalPodAutoscaler" for item in case.items)
    for wanted in case.changes:
        if not premise(is_steady and wanted["kind"] == "Deployment" and len(case.changes) == 1):
            continue
        found = next(i for i in case.items if i["kind"] == "Deployment" and i["metadata"]["name"] == wanted["name"])
        item = strategic_merge(found, wanted["patch"])
        surge, unavailable = surge_and_unavailable(item)
        replicas, name = item["spec"]["replicas"], f"Deployment/ml/{wanted['name']}"
        rows = [row["workloads"][name] for row in outcome["timeline"]]
        alive = [row["pods"] - row["terminating"] for row in rows]
        if item["spec"]["strategy"]["type"] == "Recreate":
            assert max(row["pods"] for row in rows) <= max(replicas, alive[0])
        else:
            assert max(alive) <= max(replicas + surge, alive[0])
            assert min(row["ready"] for row in rows) >= min(rows[0]["ready"], replicas - unavailable)


def test_complete_means_everything_is_new_and_available(case: Case) -> None:
    outcome = simulate(case.items, case.changes, case.never_ready)
    for wanted in case.changes:
        status = outcome["final"][f"{wanted['kind']}/ml/{wanted['name']}"]
        if premise(outcome["verdict"] == "complete" and wanted["kind"] == "Deployment"):
            assert status["updatedReplicas"] == status["replicas"] == status["availableReplicas"]
    assert all(pod["message"] for pod in outcome["pending"])
