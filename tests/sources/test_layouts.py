"""What support tools write, as folders and as archives: the same cluster out of each, and every object accounted for."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from planner.ground.errors import InputError
from planner.inventory import input_report
from planner.kubernetes.object_records import Presence, Severity, Snapshot
from planner.sources import bounded_reading, cluster_argument, cluster_dumps
from tests.builders.objects import read_items
from tests.inventory.objects import a_list, named, node, pod, workload
from tests.sources import layouts
from tests.sources.layouts import LAYOUTS, OBJECTS, PACKERS, as_json, as_yaml, bare, on_disk

WHOLE = read_items(OBJECTS)


def check_account(snapshot: Snapshot, objects: int) -> None:
    """Every object that was given is used or named as not used."""
    reading = snapshot.reading
    assert reading.objects == objects
    assert reading.objects == reading.used + reading.repeated + reading.unreadable + sum(reading.other_kinds.values())


def check_same(snapshot: Snapshot) -> None:
    assert snapshot.digest == WHOLE.digest
    assert [problem for problem in snapshot.problems if problem.severity is not Severity.INFO] == []
    assert [(log.namespace, log.pod, log.container, log.lines) for log in snapshot.logs] == [
        ("prod", "app-1", "main", ("one", "two"))
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_folder_of_each_layout(layout: str, tmp_path: Path) -> None:
    snapshot = cluster_dumps.read(on_disk(LAYOUTS[layout](), tmp_path / "given"))
    check_same(snapshot)
    check_account(snapshot, len(OBJECTS) + (layout == "support bundle"))  # its own kind SupportBundle
    assert [one.name for one in snapshot.services] == ["app"]


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("layout", ["must-gather", "support bundle", "files packed one by one"])
def test_an_archive_of_each_kind(layout: str, name: str, tmp_path: Path) -> None:
    data = PACKERS[name](LAYOUTS[layout]())
    path = tmp_path / name
    path.write_bytes(data)
    for snapshot in (
        cluster_dumps.read(path),
        cluster_dumps.read_uploads([(name, data)]),
        cluster_dumps.read("-", stdin=io.BytesIO(data)),
    ):
        check_same(snapshot)
        check_account(snapshot, len(OBJECTS) + (layout == "support bundle"))


def test_an_archive_in_a_folder_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "must-gather.tar.gz").write_bytes(layouts.tar(layouts.must_gather(), "w:gz"))
    check_same(cluster_dumps.read(tmp_path))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("write", [as_json, as_yaml])
def test_a_dump_written_to_one_file_has_logs_between_its_lists(encoding: str, write: object) -> None:
    data = layouts.dump_stream(write)  # type: ignore[arg-type]
    snapshot = cluster_dumps.read_bytes(data.decode().encode(encoding), name="dump.txt")
    assert snapshot.digest == WHOLE.digest
    assert snapshot.problems == ()
    check_account(snapshot, len(OBJECTS))
    assert [len(log.lines) for log in snapshot.logs] == [4]


def test_a_dump_that_is_cut_off_in_a_log_says_so() -> None:
    data = layouts.dump_stream()
    snapshot = cluster_dumps.read_bytes(data[: data.index(b"==== END")], name="dump.json")
    assert len(snapshot.nodes) == 2
    assert snapshot.presence["Pod"] is Presence.ABSENT
    [problem] = snapshot.problems
    assert "cut off in the log of pod prod/app-1" in problem.what


# ── objects that don't say what they are ─────────────────────────────────────────────────────────────────────────────
KINDLESS = {
    "an array": as_json([bare(one) for one in OBJECTS]),
    "items": as_json({"items": [bare(one) for one in OBJECTS]}),
    "a line each": b"\n".join(json.dumps(bare(one)).encode() for one in OBJECTS),
    "an array in YAML": as_yaml([bare(one) for one in OBJECTS]),
    "lists by name": as_json({"nodes": {"items": [bare(one) for one in layouts.NODES]}, "rest": [*OBJECTS[2:]]}),
    "an array of lists": as_json([a_list(*layouts.NODES), layouts.typed("Pod", layouts.PODS), *OBJECTS[5:]]),
}


@pytest.mark.parametrize("form", KINDLESS)
def test_the_kind_is_told_by_the_fields(form: str) -> None:
    snapshot = cluster_dumps.read_bytes(KINDLESS[form], name="api.json")
    assert snapshot.digest == WHOLE.digest
    check_account(snapshot, len(OBJECTS))
    assert len(snapshot.services) == 1
    assert not snapshot.other_kinds
    assert {problem.code for problem in snapshot.problems} <= {"kind-by-shape"}


def test_what_nothing_tells_is_named() -> None:
    odd = {"metadata": {"name": "odd"}, "spec": {"colour": "red"}}
    snapshot = cluster_dumps.read_bytes(as_json([bare(pod("p")), odd]), name="api.json")
    check_account(snapshot, 2)
    assert [problem.code for problem in snapshot.problems] == ["object-unreadable", "kind-by-shape"]


# ── the rest of the table ────────────────────────────────────────────────────────────────────────────────────────────
def test_old_api_versions_are_read_and_said() -> None:
    old = workload() | {"apiVersion": "extensions/v1beta1"}
    ingress = {"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "i"}}
    snapshot = cluster_dumps.read_bytes(as_json(a_list(old, ingress)), name="old.json")
    assert [one.key for one in snapshot.workloads] == ["Deployment/prod/app"]
    assert snapshot.other_kinds == {"Ingress": 1}
    [problem] = snapshot.problems
    assert problem.code == "old-api-version"
    assert "1 Deployment of extensions/v1beta1" in problem.what


def test_a_repeated_key_counts_as_it_was_given_last_and_is_said() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeName: x\n  nodeName: y\n  containers: []\n"
    snapshot = cluster_dumps.read_bytes(text.encode(), name="pod.yaml")
    assert [one.node_name for one in snapshot.pods] == ["y"]
    [problem] = snapshot.problems
    assert '"nodeName" (line 6)' in problem.what


def test_unrelated_files_are_told_in_one_sentence(tmp_path: Path) -> None:
    files = {f"config/{number}.json": b'{"a": 1}' for number in range(41)}
    files |= {
        "broken/a.json": b"{",
        "values.yaml": b"image: x\n",
        "notes.md": b"# x",
        "cluster.json": as_json(a_list(node())),
    }
    snapshot = cluster_dumps.read(on_disk(files, tmp_path))
    codes = sorted((problem.code, problem.severity) for problem in snapshot.problems)
    assert codes == [("document-unreadable", Severity.ERROR), ("no-kubernetes-object", Severity.INFO)]
    assert any("42 files hold" in problem.what for problem in snapshot.problems)
    assert snapshot.reading.foreign_files == 42
    assert snapshot.reading.passed_over == {"neither JSON, YAML nor a log": 1}


def test_hundreds_of_oddities_are_five_and_a_number() -> None:
    twice = [pod(f"p{number}") for number in range(100)]
    changed = [pod(f"p{number}", "elsewhere") for number in range(100)]
    snapshot = read_items([*twice, *changed])
    assert len(snapshot.problems) == 6
    assert "95 more like these" in snapshot.problems[-1].what
    assert snapshot.reading.repeated == 100


def test_what_kubectl_said_among_the_documents_is_told() -> None:
    said = b'Warning: v1 ComponentStatus is deprecated\nError from server (Forbidden): nodes is forbidden: User "x"\n'
    for data in (said + as_json(a_list(pod())), as_json(a_list(pod())) + said, said + as_yaml(a_list(pod()))):
        snapshot = cluster_dumps.read_bytes(data, name="dump.json")
        assert len(snapshot.pods) == 1
        [problem] = snapshot.problems
        assert "kubectl said: Warning: v1 ComponentStatus" in problem.what


def test_places_joined_by_commas(tmp_path: Path) -> None:
    on_disk(
        {"a.json": as_json(a_list(node())), "b.json": as_json(a_list(pod())), "c,d.json": as_json(a_list(node()))},
        tmp_path,
    )
    snapshot = cluster_argument.read_cluster(f"{tmp_path}/a.json,{tmp_path}/b.json")
    assert (len(snapshot.nodes), len(snapshot.pods)) == (1, 1)
    assert len(cluster_argument.read_cluster(f"{tmp_path}/c,d.json").nodes) == 1


def test_a_folder_without_anything_of_use(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no JSON or YAML file"):
        cluster_dumps.read(on_disk({"a/readme.md": b"# x"}, tmp_path))


# ── in words ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_account_in_words() -> None:
    snapshot = cluster_dumps.read_bytes(as_json(a_list(pod(), pod(), workload(), named("Lease"))), name="all.json")
    assert input_report.read_sentence(snapshot) == (
        "read 1 file: 4 objects, 2 used; not used: 1 Lease; there more than once: 1"
    )
    said = input_report.missing_sentence(snapshot)
    assert said.startswith("not in the input: Node (without nodes nothing can be placed); ReplicaSet (")
    assert input_report.missing_command(snapshot) == (
        "kubectl get nodes,replicasets,priorityclasses,resourcequotas,poddisruptionbudgets "
        "--all-namespaces --output json"
    )
    assert not input_report.is_whole(snapshot)


def test_the_limit_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADROOM_UNPACKED_LIMIT", "1Ki")
    with pytest.raises(InputError, match="more than 1 KiB"):
        cluster_dumps.read_bytes(b" " * 2000, name="a")
    assert bounded_reading.limit_bytes("8Gi") == 8 * 2**30
    monkeypatch.setenv("HEADROOM_UNPACKED_LIMIT", "much")
    with pytest.raises(InputError, match="not a Kubernetes quantity"):
        bounded_reading.limit_bytes()
