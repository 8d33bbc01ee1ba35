"""Pods that a kubelet refuses at admission: said once a workload, and named as a loop where their controller makes them again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.ground.records import replace
from planner.health.restarts.model import Activity, Cause
from planner.health.restarts.report import findings, restarts
from planner.kubernetes.object_records import ContainerState, PodSpec, Severity
from tests.restarts.cases import NOW, RUNNING, Cluster, container, one_loop

NOTHING = ContainerState(name="")
TOPOLOGY = "TopologyAffinityError"
LOCALITY = "Pod was rejected: Resources cannot be allocated with Topology locality"


def refused(
    times: int,
    *,
    every: float = 20,
    last: float = 30,
    containers: int = 1,
    reason: str = TOPOLOGY,
    message: str = LOCALITY,
) -> Cluster:
    """`times` pods of dev/train that node-1 refused, the last of them `last` seconds before the snapshot."""
    cluster = Cluster()
    cluster.node()
    spec = PodSpec(containers=tuple(container(f"c{number}") for number in range(containers)))
    workload = cluster.workload("train", "dev", spec, kind="ReplicaSet")
    for number in reversed(range(times)):
        cluster.pod(
            workload, NOTHING, phase="Failed", reason=reason, message=message, created_at=NOW - last - number * every
        )
    return cluster


def successor(cluster: Cluster, state: ContainerState, **fields: object) -> None:
    cluster.pod(cluster.workloads[0], state, **fields)  # type: ignore[arg-type]


def test_pods_refused_and_made_again_are_a_loop() -> None:
    loop = one_loop(refused(5))
    assert (loop.diagnosis.cause, loop.activity) == (Cause.REJECTED, Activity.LOOPING)
    assert str(loop.sentence).endswith(
        "5 pods were refused on node node-1, one every 20 s on average: a loop, in which the ReplicaSet makes each again."
    )
    assert loop.diagnosis.cure.startswith(
        "End the loop: kubectl cordon node-1. Then kubectl delete pods -n dev --field-selector=status.phase=Failed. "
    )
    (finding,) = findings(refused(5).snapshot())
    assert (finding.severity, finding.code) == (Severity.ERROR, "restarts-rejected")


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        (
            "UnexpectedAdmissionError",
            "Pod was rejected: Allocate failed due to requested number of devices unavailable",
        ),
        ("OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu"),
        ("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed"),
        ("FrobnicationError", "Pod was rejected: no frobnicator"),
        ("Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "),
    ],
)
def test_whatever_the_reason(reason: str, message: str) -> None:
    assert one_loop(refused(2, reason=reason, message=message)).activity is Activity.LOOPING


def test_a_pod_that_waits_beside_them_ends_no_loop_and_a_ready_one_does() -> None:
    pending = refused(3)
    successor(
        pending,
        ContainerState(name="", state="waiting", reason="ContainerCreating"),
        phase="Pending",
        created_at=NOW - 5,
    )
    assert one_loop(pending).activity is Activity.LOOPING
    over = refused(3)
    successor(over, RUNNING, created_at=NOW - 5)
    assert one_loop(over).activity is Activity.GONE
    assert "a loop" not in str(one_loop(over).sentence)
    assert "cordon" not in one_loop(over).diagnosis.cure


def test_a_ready_pod_from_before_ends_no_loop() -> None:
    cluster = refused(3)
    successor(cluster, RUNNING, created_at=NOW - 90_000)
    assert one_loop(cluster).activity is Activity.LOOPING


def test_one_refused_pod_is_no_loop() -> None:
    alone = one_loop(refused(1))
    assert alone.activity is Activity.NOT_STARTING
    assert "a loop" not in str(alone.sentence)
    replaced = refused(1)
    successor(replaced, RUNNING, created_at=NOW - 5)
    assert one_loop(replaced).activity is Activity.GONE


def test_pods_refused_long_ago_are_no_loop() -> None:
    assert one_loop(refused(4, last=9_000)).activity is Activity.NOT_STARTING


def test_nobody_makes_bare_pods_again() -> None:
    cluster = refused(2)
    cluster.pods = [replace(pod, owner=None) for pod in cluster.pods]
    assert {loop.activity for loop in restarts(cluster.snapshot()).loops} == {Activity.NOT_STARTING}


def test_evicted_pods_that_ran_are_not_refused_ones() -> None:
    message = (
        "The node was low on resource: memory. Container c0 was using 900Mi, request is 0, has larger consumption."
    )
    assert one_loop(refused(3, reason="Evicted", message=message)).activity is Activity.GONE


def test_failed_pods_of_a_job_are_no_refusals() -> None:
    cluster = refused(0)
    ended = ContainerState(
        name="", state="terminated", reason="Error", exit_code=3, started_at=NOW - 90, finished_at=NOW - 60
    )
    for _ in range(3):
        successor(cluster, ended, phase="Failed", created_at=NOW - 95)
    assert one_loop(cluster).diagnosis.cause is Cause.ERROR_EXIT


def test_a_pod_of_several_containers_is_refused_once() -> None:
    assert one_loop(refused(3, containers=3)).pods_in_all == 3


def test_several_nodes_are_named() -> None:
    cluster = refused(2)
    cluster.node("node-2")
    cluster.pods[0] = replace(cluster.pods[0], node_name="node-2")
    loop = one_loop(cluster)
    assert "on nodes node-1 and node-2" in str(loop.sentence)
    assert "kubectl cordon node-1; kubectl cordon node-2" in loop.diagnosis.cure


def test_refused_pods_that_were_deleted_are_told_by_their_events() -> None:
    cluster = refused(0)
    cluster.event(refused(1).pods[0], "Scheduled", "Successfully assigned", kind="Normal")
    cluster.event(refused(1).pods[0], TOPOLOGY, LOCALITY)
    loop = one_loop(cluster)
    assert (loop.diagnosis.cause, loop.activity) == (Cause.REJECTED, Activity.GONE)


def _written(tmp_path: Path) -> str:
    """The recorded refusal, three times and without the pod that took its place."""
    source = Path(__file__).parent / "inputs" / "topology-affinity.json.gz"
    cluster = json.loads(gzip.decompress(source.read_bytes()))
    pods = [one for one in cluster["items"] if one["kind"] == "Pod" and one["metadata"]["namespace"] == "ml"]
    (failed,) = (pod for pod in pods if pod["status"]["phase"] == "Failed")
    cluster["items"] = [one for one in cluster["items"] if one not in pods]
    for number in range(3):
        meta = failed["metadata"] | {
            "name": f"train-{number}",
            "uid": f"u{number}",
            "creationTimestamp": f"2026-11-20T10:00:{number}0Z",
        }
        cluster["items"].append(failed | {"metadata": meta})
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster))
    return str(path)


def test_text_and_documents_name_the_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _written(tmp_path)
    with pytest.raises(SystemExit):
        main(["restarts", path])
    assert "3 pods were refused on node a, one every 10 s on average: a loop" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["restarts", path, "--output", "json"])
    (loop,) = json.loads(capsys.readouterr().out)["result"]["report"]["loops"]
    assert (loop["activity"], loop["diagnosis"]["cause"], loop["seconds_between"]) == ("looping", "rejected", 10)
