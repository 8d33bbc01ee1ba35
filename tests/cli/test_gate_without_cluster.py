"""``headroom gate -f FILES`` without CLUSTER: the room that each rollout needs, at each door and in each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from planner.rollout.gate_policy import GatePolicy, read_policy
from tests.architecture.tree import ROOT
from tests.cli.test_gate_command import document, gate, write

FILES = ROOT / "tests/remedies/no_cluster"
GIVEN = "No cluster was given: this is the room that each rollout needs, wherever it runs."
RIGHT: dict[str, tuple[int, str]] = {
    "one-gpu-defaults": (3, ("speech/diarizer needs room for 1 more pod (1 GPU, 4 CPU, 16 GiB on one node) while it rolls out. "
                            "With maxSurge 0, maxUnavailable 1 it needs none; at worst 0 of 1 is Ready.")),
    "surge-100-percent": (3, "models/llama needs room for 1 more pod (1 GPU, 8 CPU, 32 GiB on one node) while it rolls out"),
    "claim-attaches-once": (3, "and the new pod must land on the old pod's node: claim wiki-uploads attaches to one node"),
    "claim-and-recreate": (0, "docs/wiki needs no spare room: it completes on a full cluster; at worst 0 of 1 is Ready"),
    "claim-many": (3, "docs/wiki needs room for 1 more pod (250m CPU, 512 MiB on one node) while it rolls out"),
    "small-cpu-worker": (3, "portal/ingestion-worker needs room for 1 more pod (600m CPU, 1 GiB on one node) while it rolls out"),
    "four-replicas-defaults": (0, ("models/embed needs no spare room: it completes on a full cluster (proven, for this workload alone); "
                                  "at worst 3 of 4 are Ready")),
    "scaled-by-an-autoscaler": (3, "at 1 to 3 replicas room for 1 more pod, from 4 on none (1 GPU, 2 CPU, 8 GiB on one node)"),
    "budget-no-drain-passes": (0, "speech/diarizer needs no spare room"),
    "statefulset": (0, "search/vectors needs no spare room"),
    "flux-five-minutes": (0, "models/llama needs no spare room"),
}  # fmt: skip
"""File → exit status, and what is said, as cases4's right.md has it."""


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_said_and_the_exit_status_are_right_in_every_format(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, said = RIGHT[name]
    file = str(FILES / f"{name}.yaml")
    formats = ("json", "markdown", "junit", "sarif", "github", "csv", "yaml")
    writes = [part for one in formats for part in ("--write", f"{one}={one}.out")]
    found, out, _ = gate(capsys, "-f", file, *writes)
    assert found == status
    assert out.splitlines()[0] == GIVEN
    assert said in out
    text = {one: (tmp_path / f"{one}.out").read_text() for one in formats}
    result = json.loads(text["json"])["result"]
    (part,) = result["workloads"]
    assert (result["exit_status"], result["without_cluster"], result["passes"]) == (status, True, not status)
    assert f"{part['workload']} {part['sentence']}".endswith(said) or said in f"{part['workload']} {part['sentence']}"
    assert part["room"]["places"] == (1 if status == 3 else 0)
    assert bool(part["room"]["cures"]) == (status == 3)
    assert GIVEN in text["markdown"]
    assert part["workload"] in text["markdown"]
    assert f"::notice title=headroom gate::{GIVEN.replace(':', ':')}" in text["github"]
    suite = ET.fromstring(text["junit"])
    failures = {failure.get("type") for failure in suite.iter("failure")}
    results = json.loads(text["sarif"])["runs"][0]["results"]
    rules = {one["ruleId"] for one in results}
    assert ("needs_room" in failures, "headroom/needs_room" in rules) == (status == 3, status == 3)
    driver = json.loads(text["sarif"])["runs"][0]["tool"]["driver"]["rules"]
    assert all(driver[one["ruleIndex"]]["id"] == one["ruleId"] for one in results)
    assert "took to be" not in text["yaml"]
    assert yaml.safe_load(text["yaml"])["result"]["exit_status"] == status


WARNED: dict[str, str] = {
    "flux-five-minutes": "up to 20 min a pod by its startup probe, 2 one after the other; HelmRelease/models/llama "
    "(it is in its target namespace) waits 5 min by default, then rolls back and tries 3 times more",
    "budget-no-drain-passes": "no drain of its nodes gets past PodDisruptionBudget diarizer (minAvailable 1 needs 1 of 1 pod); "
    "GKE's upgrades go on after an hour",
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_pass_and_stand_in_every_format(capsys: pytest.CaptureFixture[str], name: str) -> None:
    file = str(FILES / f"{name}.yaml")
    for form in ("text", "json", "markdown", "junit", "sarif", "github"):
        status, out, _ = gate(capsys, "-f", file, "--output", form)
        assert status == 0
        words = out.replace("&apos;", "'").replace("\\", "")
        assert WARNED[name] in words, form


def test_a_release_alone_is_not_known_and_governs_by_its_labels(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    release, deployment = list(yaml.safe_load_all((FILES / "flux-five-minutes.yaml").read_text()))
    assert gate(capsys, "-f", write(tmp_path, release))[0] == 4
    deployment["metadata"]["labels"] = {"app.kubernetes.io/instance": "llama"}
    status, out, _ = gate(capsys, "-f", write(tmp_path, release, deployment))
    assert status == 0
    assert "HelmRelease/models/llama waits 5 min by default" in out
    release["spec"]["timeout"] = "45m"
    status, out, _ = gate(capsys, "-f", write(tmp_path, release, deployment))
    assert "startup probe" not in out
    status, out, _ = gate(capsys, "-f", write(tmp_path, deployment), "--deploy-timeout", "10m")
    assert "the deploy (--deploy-timeout) waits 10 min" in out
    assert status == 0


def test_a_shell_that_keeps_the_signal_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifest = workload(strategy={"type": "Recreate"})
    manifest["spec"]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "sleep 1; python worker.py"]
    status, out, _ = gate(capsys, "-f", write(tmp_path, manifest))
    assert status == 0
    assert "a shell may keep SIGTERM from the program" in out
    manifest["spec"]["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "exec python worker.py"]
    assert "SIGTERM" not in gate(capsys, "-f", write(tmp_path, manifest))[1]


def test_a_manifest_that_is_read_as_the_cluster_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = str(FILES / "one-gpu-defaults.yaml"), str(FILES / "claim-many.yaml")
    status, _, err = gate(capsys, "-f", first, second)
    assert status == 1
    assert f"-f {second}" in err
    status, out, _ = gate(capsys, "-f", first, "-f", second)
    assert status == 3
    assert "2 of 2 workloads need room" in out
    status, out, err = gate(capsys, "", "-f", first)
    assert status == 1
    assert not out
    assert err


def test_what_needs_a_cluster_is_refused_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = gate(capsys, "-f", str(FILES / "claim-many.yaml"), "--then", "2m:add:gpu=1")
    assert status == 1
    assert "means nothing without CLUSTER" in err


def test_the_policy_lets_room_pass_by_word_and_by_what_a_node_has_free(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    small, large = str(FILES / "small-cpu-worker.yaml"), str(FILES / "one-gpu-defaults.yaml")
    policy = tmp_path / "p.toml"
    policy.write_text('[gate]\nfail = ["stuck", "unknown"]\n')
    status, out, _ = gate(capsys, "-f", large, "--policy", str(policy))
    assert status == 0
    assert "needs room for 1 more pod" in out
    policy.write_text('[gate]\nspare = {cpu = "1", memory = "2Gi"}\n')
    status, out, _ = gate(capsys, "-f", small, "--policy", str(policy))
    assert status == 0
    assert "it fits into what a node always has free" in out
    assert gate(capsys, "-f", large, "--policy", str(policy))[0] == 3  # no GPU is spare
    policy.write_text('[gate]\nspare = {cpu = "1", memory = "512Mi"}\n')
    assert gate(capsys, "-f", small, "--policy", str(policy))[0] == 3
    claim = str(FILES / "claim-attaches-once.yaml")
    policy.write_text('[gate]\nspare = {cpu = "1", memory = "2Gi"}\n')
    assert gate(capsys, "-f", claim, "--policy", str(policy))[0] == 3  # room elsewhere isn't on the old pod's node


@pytest.mark.parametrize(
    ("name", "spare", "said"),
    [
        (
            "small-cpu-worker",
            '{cpu = "500m", memory = "2Gi"}',
            "requests of at most 500m CPU, which a node always has free",
        ),
        (
            "small-cpu-worker",
            '{cpu = "500m", memory = "512Mi"}',
            "requests of at most 500m CPU, 512 MiB, which a node always has free",
        ),
        ("small-cpu-worker", '{cpu = "1", memory = "2Gi"}', ""),  # it fits as it is
        ("small-cpu-worker", '{memory = "2Gi"}', ""),  # no CPU is free at all
        ("one-gpu-defaults", '{cpu = "1", memory = "2Gi"}', ""),  # a GPU can't be asked for in part
    ],
)
def test_smaller_requests_are_a_cure_where_a_node_has_that_free(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, spare: str, said: str
) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text(f"[gate]\nspare = {spare}\n")
    file = str(FILES / f"{name}.yaml")
    _, found = document(capsys, "-f", file, "--policy", str(policy))
    cures = found["workloads"][0]["room"]["cures"]
    titles = [one["title"] for one in cures if "requests of" in one["title"]]
    assert [title.startswith(said) for title in titles] == ([True] if said else [])
    if said:
        (manifest,) = [yaml.safe_load(one["manifest"]) for one in cures if one["title"] in titles]
        original = yaml.safe_load((FILES / f"{name}.yaml").read_text())
        container = original["spec"]["template"]["spec"]["containers"][0]
        (changed,) = manifest["spec"]["template"]["spec"]["containers"]
        assert changed["name"] == container["name"]
        container["resources"]["requests"] |= changed["resources"]["requests"]
        assert gate(capsys, "-f", write(tmp_path, original), "--policy", str(policy))[0] == 0


def test_a_policy_says_what_a_node_has_free() -> None:
    policy = read_policy('[gate]\nspare = {cpu = "1500m", memory = "2Gi"}', "p.toml")
    assert dict(policy.spare) == {"cpu": 1500, "memory": 2 * 2**30}
    assert dict(GatePolicy().spare) == {}


def workload(kind: Any = "Deployment", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "app:2", "resources": {"requests": {"cpu": "2", "memory": "8Gi"}}}
    template = {"metadata": {"labels": {"app": "app"}}, "spec": {"containers": [container], **spec.pop("pod", {})}}
    return {
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "app", "namespace": "ml"},
        "spec": {"selector": {"matchLabels": {"app": "app"}}, "template": template, **spec},
    }  # fmt: skip


def test_what_rolls_nothing_out_is_named_and_passes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "ml"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}},
    }  # fmt: skip
    status, out, _ = gate(capsys, "-f", write(tmp_path, job))
    assert status == 0
    assert "rolls nothing out: Job/ml/once" in out
    status, out, _ = gate(capsys, "-f", write(tmp_path, workload(replicas=0)))
    assert status == 0
    assert "rolls nothing out at 0 replicas; at 1 it needs room for 1 more pod" in out


def test_a_claim_that_the_files_lack_is_not_known(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    volume = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    status, out, _ = gate(capsys, "-f", write(tmp_path, workload(pod=volume)))
    assert status == 4
    assert "PersistentVolumeClaim data isn't in the files" in out


def test_what_completes_on_no_cluster_is_stuck(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    claim = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "ml"},
        "spec": {"accessModes": ["ReadWriteOncePod"], "resources": {"requests": {"storage": "1Gi"}}},
    }  # fmt: skip
    volume = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    status, out, _ = gate(capsys, "-f", write(tmp_path, claim, workload(pod=volume)))
    assert status == 2
    assert "completes on no cluster, however much room there is" in out
    ends_first = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
    assert gate(capsys, "-f", write(tmp_path, claim, workload(pod=volume, **ends_first)))[0] == 0
    surges = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    port = workload("DaemonSet", **surges)
    port["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    assert gate(capsys, "-f", write(tmp_path, port))[0] == 2
    status, out, _ = gate(capsys, "-f", write(tmp_path, workload("DaemonSet", **surges)))
    assert status == 3
    assert "needs room for 1 more pod on each node (2 CPU, 8 GiB)" in out
    assert gate(capsys, "-f", write(tmp_path, workload("DaemonSet")))[0] == 0


def test_a_field_that_the_api_server_refuses_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = gate(capsys, "-f", write(tmp_path, workload(stratgy={})))
    assert status == 1
    assert not out
    assert "stratgy" in err


def test_rules_of_another_version_are_asked_for_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(FILES / "one-gpu-defaults.yaml")
    status, found = document(capsys, "-f", file, "--kubernetes-version", "1.34")
    assert status == 3
    assert found["workloads"][0]["room"]["places"] == 1
    status, _, err = gate(capsys, "-f", file, "--kubernetes-version", "1.99")
    assert status == 1
    assert "1.28 to 1.37" in err


def test_together_they_need_fewer_places_where_one_frees_what_another_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, second = workload(), workload()
    second["metadata"]["name"] = "other"
    second["spec"]["selector"]["matchLabels"] = second["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    status, found = document(capsys, "-f", write(tmp_path, first, second))
    assert status == 3
    assert found["room"]["places"] == 1
    second["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    assert document(capsys, "-f", write(tmp_path, first, second))[1]["room"]["places"] == 2


def test_the_examples_without_a_cluster_call_what_there_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    examples = ROOT / "docs/examples"
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (user,) = yaml.safe_load((examples / "pre-commit-config-no-cluster.yaml").read_text())["repos"]
    job = yaml.safe_load((examples / "gitlab-ci-no-cluster.yml").read_text())["headroom"]
    assert "allow_failure" not in job
    (line,) = job["script"]
    (one,) = user["hooks"]
    assert one["id"] == hook["id"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "a.yaml").write_text((FILES / "one-gpu-defaults.yaml").read_text())
    for words in (line.split(), hook["entry"].split() + one["args"]):
        assert [Path(words[0]).name, words[1]] == ["headroom", "gate"]
        assert gate(capsys, *words[2:])[0] == 3
    assert (tmp_path / "headroom.md").read_text().startswith("<!-- headroom gate -->")


CHART_TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  {{- with .Values.updates }}
  strategy:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector: {matchLabels: {app: diarizer}}
"""


def test_a_cure_is_told_as_values_where_the_charts_folder_is_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "speech" / "templates").mkdir(parents=True)
    (tmp_path / "speech" / "Chart.yaml").write_text("apiVersion: v2\nname: speech\nversion: 1.0.0\n")
    template = tmp_path / "speech" / "templates" / "app.yaml"
    template.write_text(CHART_TEMPLATE)
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(f"---\n# Source: speech/templates/app.yaml\n{(FILES / 'one-gpu-defaults.yaml').read_text()}")
    status, out, _ = gate(
        capsys, "-f", str(rendered), "--chart", "speech", "--write", "json=j", "--write", "markdown=m"
    )
    assert status == 3
    assert "  as values of the chart:\n    updates:\n" in out
    assert "<summary>values of the chart</summary>" in (tmp_path / "m").read_text()
    first, second = json.loads((tmp_path / "j").read_text())["result"]["workloads"][0]["room"]["cures"]
    assert yaml.safe_load(first["values"]) == {
        "updates": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    }
    assert yaml.safe_load(second["values"]) == {"updates": {"type": "Recreate", "rollingUpdate": None}}
    template.write_text(CHART_TEMPLATE.replace("with .Values.updates", 'with include "speech.updates" .'))
    _, out, _ = gate(capsys, "-f", str(rendered), "--chart", "speech")
    assert "as values of the chart: not known: templates/app.yaml doesn't take strategy from one value" in out
    assert "as values" not in gate(capsys, "-f", str(rendered))[1]
    assert "leave cluster out" in gate(capsys, "demo", "-f", str(rendered), "--chart", "speech")[2].lower()
    assert "holds no Chart.yaml" in gate(capsys, "-f", str(rendered), "--chart", "speech/templates")[2]
