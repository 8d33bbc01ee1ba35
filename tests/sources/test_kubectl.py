"""Files, folders, standard input and uploads."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
import yaml

from planner.ground.errors import InputError
from planner.kubernetes.object_records import Presence
from planner.sources import cluster_argument, cluster_dumps, demo, pod_log_folder
from tests.inventory.objects import a_list, named, node, pod, workload

LIST = a_list(node(), pod(), workload())


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A folder as ``kubectl cluster-info dump --all-namespaces -o json`` writes it."""
    folder = tmp_path / "dump"
    (folder / "prod" / "app-1").mkdir(parents=True)
    (folder / "empty").mkdir()

    def bare(item: dict[str, object]) -> dict[str, object]:
        return {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}

    lists = {
        "nodes.json": {"kind": "NodeList", "apiVersion": "v1", "items": [bare(node())]},
        "prod/pods.json": {"kind": "PodList", "apiVersion": "v1", "items": [bare(pod())]},
        "prod/deployments.json": {"kind": "DeploymentList", "apiVersion": "apps/v1", "items": [bare(workload())]},
        "prod/leases.json": {"kind": "LeaseList", "apiVersion": "v1", "items": [{"metadata": {"name": "s"}}]},
        "empty/pods.json": {"kind": "PodList", "apiVersion": "v1", "items": None},
        "empty/daemonsets.json": {"kind": "DaemonSetList", "apiVersion": "apps/v1", "items": None},
    }
    for name, content in lists.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "prod" / "app-1" / "logs.txt").write_text(
        "==== START logs for container main of pod prod/app-1 ====\nhello\n"
        "==== END logs for container main of pod prod/app-1 ====\n"
    )
    return folder


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json.gz"
    path.write_bytes(gzip.compress(json.dumps(LIST).encode()))
    snapshot = cluster_dumps.read(path)
    assert (len(snapshot.nodes), len(snapshot.pods), len(snapshot.workloads)) == (1, 1, 1)
    assert snapshot.source == "cluster.json.gz"
    assert cluster_argument.read_cluster(str(path)) == snapshot


def test_standard_input() -> None:
    data = yaml.safe_dump(LIST).encode()
    snapshot = cluster_argument.read_cluster("-", stdin=io.BytesIO(data))
    assert snapshot.source == "standard input"
    assert len(snapshot.pods) == 1


def test_a_dump_folder_with_its_logs(dump: Path) -> None:
    snapshot = cluster_dumps.read(dump)
    assert (len(snapshot.nodes), len(snapshot.pods), len(snapshot.workloads)) == (1, 1, 1)
    assert snapshot.problems == ()
    assert [(log.namespace, log.pod, log.container, log.lines) for log in snapshot.logs] == [
        ("prod", "app-1", "main", ("hello",))
    ]
    assert snapshot.presence["DaemonSet"] is Presence.PRESENT
    assert snapshot.presence["PodDisruptionBudget"] is Presence.ABSENT
    assert snapshot.other_kinds == {"Lease": 1}


def test_a_broken_file_of_a_dump_is_named_and_the_others_are_read(dump: Path) -> None:
    (dump / "prod" / "deployments.json").write_bytes(b"\x00\x01")
    snapshot = cluster_dumps.read(dump)
    assert (len(snapshot.pods), len(snapshot.workloads)) == (1, 0)
    [problem] = snapshot.problems
    assert problem.what.startswith("prod/deployments.json: left out")


def test_logs_that_are_too_much_cost_only_the_logs(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_log_folder, "LARGEST_BYTES", 3)
    snapshot = cluster_dumps.read(dump)
    assert len(snapshot.pods) == 1
    assert snapshot.logs == ()
    assert [problem.code for problem in snapshot.problems] == ["document-unreadable"]


def test_several_places_joined(dump: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.json"
    more.write_text(json.dumps(a_list(pod(), named("ResourceQuota", namespace="prod", spec={}))))
    snapshot = cluster_dumps.read([dump, more])
    assert len(snapshot.pods) == 1  # the same pod in both
    assert len(snapshot.resource_quotas) == 1
    assert snapshot.source == "dump, more.json"
    assert snapshot.problems == ()


def test_places_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file") as missing:
        cluster_dumps.read(tmp_path / "none.json")
    assert str(tmp_path / "none.json") == missing.value.where
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="no JSON or YAML file"):
        cluster_dumps.read(tmp_path / "folder")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "it is empty"),
        (b"hello", "nothing in it can be read"),
        (b'{"kind": "Lease", "apiVersion": "v1", "metadata": {"name": "x"}}', r"none of its objects.*Lease"),
        (b'{"kind": "List", "items": []}', "no Kubernetes object in it"),
        (b'{"kind": "List", "items": [{"kind": "Po', "nothing in it can be read"),
    ],
)
def test_an_upload_with_nothing_of_use(data: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        cluster_dumps.read_bytes(data, name="upload.json")
    assert refused.value.where == "upload.json"
    assert refused.value.fix


def test_a_standard_input_without_end() -> None:
    with pytest.raises(InputError, match="more than 100 bytes"):
        cluster_dumps.read("-", stdin=io.BytesIO(b"x" * 1000), limit_bytes=100)


def test_uploaded_logs() -> None:
    logs = (
        "stray line\n"
        "==== START logs for container a of pod prod/app-1 ====\none\ntwo\n"
        "==== END logs for container a of pod prod/app-1 ====\n"
        "==== START logs for container b of pod dev/app-2 ====\nthree\n"
    )
    files = [("c.json", json.dumps(LIST).encode()), ("logs.txt", logs.encode())]
    snapshot = cluster_dumps.read_uploads(files)
    assert [(log.pod, log.container, log.lines) for log in snapshot.logs] == [
        ("app-1", "a", ("one", "two")),
        ("app-2", "b", ("three",)),
    ]
    assert [problem.code for problem in snapshot.problems] == ["log-unnamed"]


# ── what comes with the planner ──────────────────────────────────────────────────────────────────────────────────────
def test_the_demo() -> None:
    snapshot = cluster_argument.read_cluster("demo")
    assert snapshot == demo.read()
    assert (len(snapshot.nodes), len(snapshot.pods), len(snapshot.pod_metrics)) == (24, 133, 131)
    assert sum(node.allocatable.get("nvidia.com/gpu", 0) for node in snapshot.nodes) == 27
    assert {(log.namespace, log.pod) for log in snapshot.logs} <= {(pod.namespace, pod.name) for pod in snapshot.pods}
    assert any("WORKER TIMEOUT" in line for log in snapshot.logs for line in log.lines)
    assert snapshot.problems == ()
    assert snapshot.workload("Deployment/prod/ml-worker") is not None


def test_the_large_example() -> None:
    snapshot = cluster_argument.read_cluster("openb")
    assert (len(snapshot.nodes), len(snapshot.pods)) == (1523, 5074)
    gpus = sum(node.allocatable.get("nvidia.com/gpu", 0) for node in snapshot.nodes)
    held = sum(pod.spec.containers[0].requests.get("nvidia.com/gpu", 0) for pod in snapshot.pods if pod.node_name)
    assert (gpus, held) == (6212, 3991)
    assert sum(not pod.node_name for pod in snapshot.pods) == 47


def test_the_node_pools_of_the_demo_are_there() -> None:
    assert isinstance(json.loads(demo.node_pools_file().read_text()), list)
