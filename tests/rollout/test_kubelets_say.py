"""What kubelets do once pods are bound, as the snapshot tells: pods that they refuse, and images that they have to pull first."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest

from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate
from planner.questions.gate import GateAnswer, GateSettings
from planner.questions.question import Inputs
from planner.rollout.answers import Verdict
from planner.rollout.doubts import Effect
from planner.rollout.image_pulls import image_pulls
from planner.scheduling.cluster import Cluster
from planner.sources import cluster_dumps
from tests.builders.objects import WHOLE, Item, deployment, node, owner, pod, pod_spec
from tests.builders.objects import snapshot as read
from tests.rollout.rollouts import daemon_set

BY = owner("ReplicaSet", "worker-1", "rs-worker")


def refused(reason: str, *, on: str = "g0", count: int = 1, by: Item = BY, phase: str = "Failed") -> list[Item]:
    made = [pod(f"refused-{on}-{i}", pod_spec(gpus=1), on=on, owner=by) for i in range(count)]
    for one in made:
        one["status"] = {"phase": phase, "reason": reason, "message": "Pod was rejected: no NUMA node has them"}
    return made


def asked(
    *items: Item | list[Item], image: str = "app:2", nodes: list[Item] | None = None
) -> tuple[Snapshot, GateAnswer]:
    mine = deployment("worker", ["g0"], pod_spec(gpus=1))
    found = read(WHOLE, *(nodes or [node("g0", gpus=8)]), mine, *items)
    manifest = copy.deepcopy(mine[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return found, gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))


def said(answer: GateAnswer, effect: Effect = Effect.VERDICT) -> list[str]:
    return [str(one.why) for one in answer.doubts if one.could_change is effect]


# ── refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "reason",
    [
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "OutOfephemeral-storage",
        "OutOfcpu",
        "NodeAffinity",
        "SMTAlignmentError",
    ],
)
def test_pods_that_a_kubelet_refused_take_the_proof_away(reason: str) -> None:
    _, answer = asked(refused(reason))
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    (why,) = said(answer)
    assert why.startswith(f"the kubelet of g0 refused 1 pod of Deployment/ml/worker ({reason}: Pod was rejected")
    assert "in a loop" not in why


def test_pods_refused_and_made_again_are_a_loop() -> None:
    (why,) = said(asked(refused("TopologyAffinityError", count=4))[1])
    assert "refused 4 pods" in why
    assert why.endswith("; ReplicaSet worker-1 makes each anew at once, in a loop")


def test_others_that_were_refused_count_where_the_new_pods_are() -> None:
    elsewhere = deployment("other", ["g1"], pod_spec())
    by = owner("ReplicaSet", "other-1", "rs-other")
    nodes = [node("g0", gpus=8), node("g1")]
    _, near = asked(elsewhere, refused("TopologyAffinityError", on="g0", by=by), nodes=nodes)
    (why,) = said(near)
    assert "refused 1 pod of Deployment/ml/other" in why
    _, far = asked(elsewhere, refused("TopologyAffinityError", on="g1", by=by), nodes=nodes)
    assert said(far) == []


@pytest.mark.parametrize(
    "items", [refused("Evicted"), refused("DeadlineExceeded"), refused("", phase="Succeeded"), []], ids=["evicted", "late", "done", "none"]
)  # fmt: skip
def test_pods_that_ended_otherwise_take_no_proof_away(items: list[Item]) -> None:
    assert said(asked(items)[1]) == []


# ── expected: the kubelet's configuration, and pressure ──────────────────────────────────────────────────────────────
SINGLE = {"topologyManagerPolicy": "single-numa-node"}
STATIC = {"cpuManagerPolicy": "static", "memoryManagerPolicy": "Static"}
BURSTABLE, GUARANTEED = pod_spec(gpus=2), pod_spec(gpus=1, cpu="3")
GUARANTEED["containers"][0]["resources"]["limits"] |= {"cpu": "3", "memory": "1Gi"}


def of_kubelet(folder: Path, configuration: Item, spec: Item, *, node_name: str = "g0") -> GateAnswer:
    """A change of a Deployment on g0 whose input is a bundle with that node's configz."""
    mine = deployment("worker", ["g0"], spec)
    objects = [*WHOLE, node("g0", gpus=8), node("g1"), *mine]
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    (folder / "hosts" / node_name).mkdir(parents=True)
    (folder / "hosts" / node_name / "configz.json").write_text(json.dumps({"kubeletconfig": configuration}))
    manifest = copy.deepcopy(mine[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    found = cluster_dumps.read(folder)
    return gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))


@pytest.mark.parametrize(
    ("configuration", "spec", "what"),
    [
        (SINGLE, BURSTABLE, "2 nvidia.com/gpu of a container"),
        ({"topologyManagerPolicy": "restricted"}, BURSTABLE, "2 nvidia.com/gpu of a container"),
        (SINGLE | STATIC, GUARANTEED, "1 nvidia.com/gpu, 3 cpu and memory of a container"),
        (SINGLE | {"topologyManagerScope": "pod"}, BURSTABLE, "2 nvidia.com/gpu of a pod"),
    ],
)
def test_a_kubelet_that_aligns_takes_the_proof_away(tmp_path: Path, configuration: Item, spec: Item, what: str) -> None:
    answer = of_kubelet(tmp_path, configuration, spec)
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    (why,) = said(answer)
    assert why == (
        "the kubelet of g0 may refuse the new pods once they are bound: topologyManagerPolicy is "
        f"{configuration['topologyManagerPolicy']}, and whether {what} are free on one NUMA node isn't known (TopologyAffinityError); "
        "kube-scheduler doesn't look at that"
    )


@pytest.mark.parametrize(
    ("configuration", "spec", "node_name"),
    [
        ({"topologyManagerPolicy": "best-effort"}, BURSTABLE, "g0"),  # it never refuses
        ({"topologyManagerPolicy": "none"}, BURSTABLE, "g0"),
        (SINGLE, pod_spec(gpus=1), "g0"),  # one device is on one node
        (SINGLE, GUARANTEED, "g0"),  # its CPUs aren't its own without the static policy
        (SINGLE | STATIC, pod_spec(gpus=1, cpu="3"), "g0"),  # nor those of a Burstable pod
        (SINGLE, BURSTABLE, "g1"),  # no new pod comes there
    ],
)
def test_a_kubelet_that_aligns_nothing_of_the_pod_says_nothing(
    tmp_path: Path, configuration: Item, spec: Item, node_name: str
) -> None:
    assert said(of_kubelet(tmp_path, configuration, spec, node_name=node_name)) == []


@pytest.mark.parametrize(("cpu", "is_said"), [("3", True), ("4", False), ("2500m", False)])
def test_a_kubelet_that_gives_out_whole_cores_refuses_an_odd_number_of_cpus(
    tmp_path: Path, cpu: str, is_said: bool
) -> None:
    spec = pod_spec(cpu=cpu)
    spec["containers"][0]["resources"]["limits"] = {"cpu": cpu, "memory": "1Gi"}
    spec["nodeSelector"] = {"kubernetes.io/hostname": "g0"}
    configuration = STATIC | {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}
    found = said(of_kubelet(tmp_path, configuration, spec))
    assert bool(found) is is_said
    assert all("3 CPUs are none where a core has two threads (SMTAlignmentError)" in why for why in found)


def at_kubelets(answer: GateAnswer) -> list[str]:
    """Of a DaemonSet it may depend on placement, too."""
    return [why for why in said(answer) if why.startswith("the kubelet")]


def pressed(*conditions: str, taint: bool) -> Item:
    made = node("g1", taints=(("node.kubernetes.io/disk-pressure", "NoSchedule"),) if taint else ())
    made["status"]["conditions"] += [{"type": one, "status": "True"} for one in conditions]
    return made


def of_daemon_set(spec: Item, there: Item) -> GateAnswer:
    mine = daemon_set("agent", ["g0", "g1"], spec)
    found = read(WHOLE, node("g0"), there, mine)
    manifest = copy.deepcopy(mine[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    return gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))


def test_a_kubelet_under_disk_pressure_refuses_pods_that_tolerate_the_taint() -> None:
    """A DaemonSet's do (`AddOrUpdateDaemonPodTolerations`); a critical one's are admitted (`IsCriticalPod`)."""
    (why,) = at_kubelets(of_daemon_set(pod_spec(), pressed("DiskPressure", taint=True)))
    assert why.startswith(
        "the kubelet of g1 may refuse the new pods once they are bound: it is under DiskPressure (Evicted)"
    )
    critical = pod_spec(priority=2_000_001_000, priorityClassName="system-node-critical")
    assert at_kubelets(of_daemon_set(critical, pressed("DiskPressure", taint=True))) == []
    assert at_kubelets(of_daemon_set(pod_spec(), node("g1"))) == []
    assert (
        said(asked(nodes=[node("g0", gpus=8), pressed("DiskPressure", taint=True)])[1]) == []
    )  # no such pod comes there


def test_memory_pressure_refuses_best_effort_pods_that_do_not_tolerate_it() -> None:
    under = node("g0", gpus=8)
    under["status"]["conditions"] += [{"type": "MemoryPressure", "status": "True"}]
    assert at_kubelets(of_daemon_set(pod_spec(), pressed("MemoryPressure", taint=False))) == []
    bare: Item = {"containers": [{"name": "main", "image": "app:1"}]}
    assert at_kubelets(of_daemon_set(bare, pressed("MemoryPressure", taint=False))) == []  # a DaemonSet's tolerate it
    mine = deployment("plain", ["g0"], bare)
    manifest = copy.deepcopy(mine[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    found = read(WHOLE, under, mine)
    answer = gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))
    (why,) = said(answer)
    assert "it is under MemoryPressure (Evicted), until that ends" in why


@pytest.mark.parametrize("condition", ["MemoryPressure", "DiskPressure", "NetworkUnavailable"])
def test_a_taint_of_a_condition_that_isnt_there_yet_takes_the_proof_away(condition: str) -> None:
    """The node lifecycle controller puts it there at once (`doNoScheduleTaintingPass`). Here the kubelet admits the pod: it isn't BestEffort,
    or it is critical."""
    key = "node.kubernetes.io/" + re.sub("(?<=[a-z])(?=[A-Z])", "-", condition).lower()
    critical: Item = {"priority": 2_000_001_000, "priorityClassName": "system-node-critical"}
    tolerant: Item = {"tolerations": [{"key": key, "operator": "Exists"}]}
    of_pod: Item = critical if condition == "DiskPressure" else {}

    def answered(more: Item, *taints: tuple[str, str], under: bool = True) -> GateAnswer:
        there = node("g0", gpus=8, taints=taints)
        there["status"]["conditions"] += [{"type": condition, "status": "True"}] if under else []
        mine = deployment("plain", ["g0"], pod_spec(**of_pod, **more))
        manifest = copy.deepcopy(mine[0])
        manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
        found = read(WHOLE, there, mine)
        return gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))

    (why,) = said(answered({}))
    assert why.startswith(
        f"g0 has the condition {condition}, and its taint {key}, which keeps the new pods away, isn't there yet"
    )
    assert [one.verdict for one in answered({}).workloads] == [Verdict.COMPLETES]
    assert [one.verdict for one in answered({}, (key, "NoSchedule")).workloads] == [Verdict.STUCK]
    assert said(answered(tolerant)) == said(answered(tolerant, (key, "NoSchedule"))) == []
    assert said(answered({}, under=False)) == []
    # kube-scheduler looks at an effect, and never at a pod that names its node
    assert said(answered({}, (key, "PreferNoSchedule"))) == [why]
    assert not any(key in one for one in said(answered({"nodeName": "g0"})))


# ── pulled ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def listing(name: str, *images: str, gigabytes: int = 7, gpus: int = 8) -> Item:
    made = node(name, gpus=gpus)
    made["status"]["images"] = [{"names": [one], "sizeBytes": gigabytes * 10**9} for one in images]
    return made


@pytest.mark.parametrize(
    ("image", "here", "there", "size"),
    [
        ("app:2", ["docker.io/library/app:1"], ["docker.io/library/app:2"], ", 6.52 GiB,"),
        ("app:2", ["docker.io/library/app:1"], ["other:1"], ""),  # nobody tells how large it is
        ("app:2", ["docker.io/library/app:2"], [], None),  # it is there
        ("app", ["docker.io/library/app:latest"], [], None),
        ("reg.example.com/app:2", ["reg.example.com/app:2"], [], None),
        ("app:2", [], ["docker.io/library/app:2"], None),  # the node tells of no images
        ("app:2", [f"other:{i}" for i in range(50)], [], None),  # it may have more than it lists
    ],
)
def test_a_pull_is_named_where_it_will_happen(image: str, here: list[str], there: list[str], size: str | None) -> None:
    """It changes no verdict and takes no proof away: only the time."""
    _, answer = asked(image=image, nodes=[listing("g0", *here), listing("g1", *there, gpus=0)])
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    assert said(answer) == []
    found = said(answer, Effect.TIME)
    assert found == ([] if size is None else [f"new pods pull {image}{size} where they come to g0, which lacks it"])


def test_a_container_without_an_image_of_its_own_is_no_pull() -> None:
    """Whoever makes the pods gives them one. Source: kubernetes `staging/src/k8s.io/api/core/v1/types.go` `Container.Image`: optional, "to allow
    higher level config management to default or override container images in workload controllers"."""
    found = read(listing("g0", "docker.io/library/app:1"), deployment("worker", ["g0"], pod_spec(gpus=1)))
    spec = found.workloads[0].template.spec
    named, unnamed = (replace(spec.containers[0], name=f"c-{image}", image=image) for image in ("app:2", ""))
    pulls = image_pulls(Cluster(found), replace(spec, containers=(named, unnamed)), [0])
    assert [(one.image, one.nodes) for one in pulls] == [("app:2", ("g0",))]


@pytest.mark.parametrize(
    ("image", "reason", "is_said"),
    [
        ("app:2", "ErrImagePull", True),
        ("app:2", "ImagePullBackOff", True),
        ("app:3", "ErrImagePull", False),
        ("app:2", "CrashLoopBackOff", False),
    ],
)
def test_an_image_that_cannot_be_pulled_today_takes_the_proof_away(image: str, reason: str, is_said: bool) -> None:
    """Of the revision in flight, or of anybody: a change to the same image is the same pull."""
    spec = pod_spec(gpus=1)
    spec["containers"][0] |= {"name": "main", "image": "app:2"}
    failing = pod("other-0", spec, on="g0")
    container = {
        "name": "main",
        "ready": False,
        "restartCount": 0,
        "image": "app:2",
        "imageID": "",
        "state": {"waiting": {"reason": reason}},
    }
    failing["status"] |= {"phase": "Pending", "containerStatuses": [container]}
    failing["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    _, answer = asked(failing, image=image)
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    words = f"app:2 can't be pulled for pod ml/other-0 on g0 ({reason})"
    assert said(answer) == ([words] if is_said else [])
