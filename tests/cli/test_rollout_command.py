"""``headroom rollout``: sentences, exit status, the JSON document, and what bad input says."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from planner.cli import main
from planner.sources.shipped_files import data_folder
from tests.builders.objects import deployment, node, pod_spec

Object = dict[str, object]
SERVE = "deployment/prod/llm-serve"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["rollout", *arguments])
    out, err = capsys.readouterr()
    return int(str(stopped.value.code or 0)), out, err


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """One GPU, held by the only pod of ``ml/worker``."""
    items = [node("gpu-0", pool="gpu", gpus=1), *deployment("worker", ["gpu-0"], pod_spec(gpus=1))]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return str(path)


# ── verdicts ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_stuck_exits_2_with_cycle_message_and_ways_out(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    status, out, err = run(capsys, cluster, "-w", "deployment/ml/worker")
    assert status == 2
    assert out.startswith("Stuck: the new pod needs 1 T4, and the pods that it replaces hold the only one\n")
    assert "The new pod needs 1 nvidia.com/gpu on a node of pool gpu; the only nvidia.com/gpu there" in out
    assert "kube-scheduler: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu." in out
    assert "way out: maxSurge 0, maxUnavailable 1" in out
    assert err == ""


def test_completes_exits_0(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    options = ("--max-surge", "0", "--max-unavailable", "1")
    status, out, _ = run(capsys, cluster, "-w", "deployment/ml/worker", *options)
    assert (status, out.split(",")[0]) == (0, "completes in 2 steps")
    assert run(capsys, cluster, "-w", "deployment/ml/worker", "--recreate")[0] == 0


def test_a_percentage_is_taken_as_written(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    status, _, _ = run(capsys, cluster, "-w", "deployment/ml/worker", "--max-surge", "0%", "--max-unavailable", "100%")
    assert status == 0


def test_a_patch_from_a_file(capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text("spec: {template: {spec: {nodeSelector: {disk: ssd}}}}", encoding="utf-8")
    status, out, _ = run(capsys, cluster, "-w", "deployment/ml/worker", "--patch", str(patch))
    assert status == 2
    assert "No node matches the new pod (1 that its node selector or affinity rules out)" in out


def test_a_patch_written_on_the_command_line(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    patch = '{"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}}'
    status, out, _ = run(capsys, cluster, "-w", "deployment/ml/worker", "--patch", patch)
    assert (status, out[:9]) == (0, "completes")


def test_two_inputs_are_not_read_from_standard_input(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    for arguments in (["-", "-f", "-"], ["-", "-w", "a/b/c", "--patch", "-"], [f"{cluster},-", "-f", "-"]):
        status, out, err = run(capsys, *arguments)
        assert (status, out) == (1, "")
        assert "standard input: two inputs can't both be read from it" in err


def test_pods_of_a_kind_that_is_not_rolled_out(
    capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ml}\nspec: {containers: [{name: a, image: x}]}\n"
    )
    status, out, _ = run(capsys, cluster, "-f", str(path))
    assert status == 0
    assert out.startswith("completes: its pod is placed")
    assert "placement only" in out


def test_a_manifest_with_a_new_workload(capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path) -> None:
    manifest = tmp_path / "new.yaml"
    new = deployment("other", [], pod_spec(gpus=1), replicas=1)[0]
    new["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/other:1"
    manifest.write_text(json.dumps(new), encoding="utf-8")
    status, out, err = run(capsys, cluster, "-f", str(manifest))
    assert (status, err) == (2, "")
    assert "nvidia.com/gpu" in out


def test_pods_that_never_get_ready(capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    status, out, _ = run(capsys, cluster, "-w", "deployment/ml/worker", "--recreate", "--never-ready")
    assert status == 2
    assert "never became Ready" in out


def test_without_a_workload_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "demo")
    assert status == 0
    assert out.splitlines()[0].endswith("would get stuck if changed now.")
    assert any(line.startswith("stuck") and "prod/llm-serve" in line for line in out.splitlines())


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "demo", "-w", SERVE, "--output", "json")
    document = json.loads(out)
    assert status == 2
    assert document["format"] == "headroom.rollout/v2"
    assert document["clusters"][0]["source"] == "demo"
    assert document["settings"]["workloads"] == ["Deployment/prod/llm-serve"]
    assert document["result"]["verdict"] == "stuck"
    assert document["result"]["workloads"][0]["timeline"][0]["tick"] == -1


def test_what_the_snapshot_lacks_is_not_known_and_exits_4(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, cluster: str
) -> None:
    items = json.loads(Path(cluster).read_text(encoding="utf-8"))["items"]
    path = tmp_path / "no-pods.json"
    kept = {"apiVersion": "v1", "kind": "List", "items": [one for one in items if one["kind"] != "Pod"]}
    path.write_text(json.dumps(kept), encoding="utf-8")
    recreate = ("-w", "deployment/ml/worker", "--recreate")
    status, out, _ = run(capsys, str(path), *recreate)
    assert (status, out.partition(":")[0]) == (4, "Not known")
    assert run(capsys, cluster, *recreate)[0] == 0


def test_a_list_fails_where_it_is_told_to(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["overview", "demo", "--fail-on", "stuck,unknown"])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit) as stopped:
        main(["overview", "demo", "--fail-on", "sad"])
    assert stopped.value.code == 1
    assert "'sad' is not one of stuck, needs_growth, evictions_by_queue, unknown" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt, click.Abort])
def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    def interrupted(*_: object, **_more: object) -> None:
        raise error

    monkeypatch.setattr("planner.cli.question_commands.read_cluster", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(["overview", "demo"])
    assert stopped.value.code == 130


@pytest.mark.parametrize("output", ["text", "table", "json", "yaml", "csv", "markdown"])
def test_the_same_formats_everywhere(capsys: pytest.CaptureFixture[str], cluster: str, output: str) -> None:
    status, out, _ = run(capsys, cluster, "-w", "deployment/ml/worker", "-o", output)
    assert status == 2
    if output == "yaml":
        document = yaml.safe_load(out)
        assert document == json.loads(run(capsys, cluster, "-w", "deployment/ml/worker", "-o", "json")[1])
    starts = {"json": "{", "yaml": "format: headroom.rollout/v2", "csv": "workload,verdict", "markdown": "stuck: "}
    assert out.startswith(starts.get(output, "Stuck: "))


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("demo", "-w", "deployment/prod/ml-worke"), "Did you mean Deployment/prod/ml-worker?"),
        (("demo", "-w", "ml-worke"), "Did you mean Deployment/prod/ml-worker?"),
        (("demo", "-w", "qqqq"), "Write kind/namespace/name, namespace/name, or the name where there is only one"),
        (("demo", "-w", SERVE, "--max-surge", "lots"), "lots"),
        (("demo", "-w", SERVE, "--max-surge", "0", "--max-unavailable", "0"), "both 0"),
        (("demo", "-w", SERVE, "--patch", "nowhere.yaml"), "nowhere.yaml: can't be read"),
        (("demo", "-f", "nowhere.yaml"), "nowhere.yaml: can't be read"),
        (("nowhere.json",), "nowhere.json"),
    ],
)
def test_bad_input_is_a_sentence_and_exits_1(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 1
    assert out == ""
    assert err.startswith("headroom: ")
    assert words in err
    assert "Traceback" not in err


def test_a_cut_off_dump_is_answered_with_a_warning() -> None:
    whole = gzip.decompress((data_folder() / "demo" / "cluster.json.gz").read_bytes())
    command = [sys.executable, "-c", "from planner.cli import main; main()", "rollout", "-", "--workload"]
    done = subprocess.run(
        [*command, "deployment/prod/ml-worker"], input=whole[:300_000], capture_output=True, check=False
    )
    assert b"headroom: warning: standard input: its List is damaged or cut off" in done.stderr
    assert b"what follows is missing" in done.stderr
    assert done.stdout


def test_many_warnings_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken: list[Object] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n-{i}"}, "status": {"allocatable": {"cpu": "1K"}}}
        for i in range(8)
    ]
    path = tmp_path / "broken.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("gpu-0"), *broken]}), "utf-8")
    _, _, err = run(capsys, str(path))
    assert err.count("headroom: warning: ") == 7
    assert "3 more like these" in err


def test_manifests_are_read_as_the_gate_reads_them(
    capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path
) -> None:
    """A folder, and nothing in a file, which is no change that passes."""
    (tmp_path / "none.yaml").write_text("\n")
    status, out, err = run(capsys, cluster, "-f", str(tmp_path / "none.yaml"))
    assert (status, out) == (1, "")
    assert "it is empty" in err
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (folder / "map.json").write_text('{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}')
    assert "1 ConfigMap, 1 Secret" in "".join(run(capsys, cluster, "-f", str(folder))[1:])


def test_a_workload_with_a_manifest_is_answered_with_the_manifest_applied(
    capsys: pytest.CaptureFixture[str], cluster: str, tmp_path: Path
) -> None:
    file = tmp_path / "change.yaml"
    containers = [{"name": "main", "resources": {"requests": {"cpu": "999"}}}]
    file.write_text(
        yaml.safe_dump({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "worker", "namespace": "ml"},
            "spec": {"template": {"spec": {"containers": containers}}},
        })
    )  # fmt: skip
    asked = ("-w", "deployment/ml/worker", "-f", str(file), "--output", "json")
    _, out, _ = run(capsys, cluster, *asked, "--recreate")
    told = json.loads(out)["result"]
    assert "999" in str(told["workloads"][0]["scheduler_message"]) or "cpu" in str(told["sentence"])
    assert told["workloads"][0]["workload"] == "Deployment/ml/worker"
    fields = {one["field"] for one in told["apply"][0]["differences"]}
    assert "spec.template.spec.containers[main].resources.requests.cpu" in fields
    assert any(field.startswith("spec.strategy") for field in fields)


@pytest.mark.parametrize("output", ["csv", "markdown"])
def test_the_plans_of_levers_are_rows_too(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--rows` names the rollout's by default, and another question is answered then."""
    status, out, _ = run(capsys, "demo", "-w", SERVE, "--levers", "strategy,lend", "-o", output)
    assert status == 0
    assert "maxSurge 0, maxUnavailable 1" in out


def test_of_many_steps_alike_the_first_are_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    gpu, held = node("gpu-0", pool="gpu", gpus=2), deployment("worker", ["gpu-0", "gpu-0"], pod_spec(gpus=1))
    rivals = [one for number in range(7) for one in deployment(f"rival-{number}", [""], pod_spec(gpus=1))]
    path = tmp_path / "crowd.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [gpu, *held, *rivals]}), encoding="utf-8")
    _, out, _ = run(capsys, str(path), "-w", "deployment/ml/worker")
    assert out.count("  4. to 7. Scale 4 more in the same way: --script has all\n") == 1
    assert "kubectl scale deployment/rival-2 -n ml --replicas=0" in out
    assert "kubectl scale deployment/rival-3 -n ml" not in out
    _, script, _ = run(capsys, str(path), "-w", "deployment/ml/worker", "--script", "--way-out", "2")
    assert "kubectl scale deployment/rival-6 -n ml --replicas=0" in script
