"""``headroom gate``: which workloads are asked, what a policy refuses, exit status, and what pipelines read."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from planner.cli import main
from planner.ground.errors import InputError
from planner.inventory.documents import objects_of
from planner.rollout.gate_policy import Failing, GatePolicy, read_policy
from tests.architecture.tree import ROOT
from tests.builders.objects import deployment, node, pod_spec

EXAMPLES = ROOT / "docs/examples"


def gate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["gate", *arguments])
    out, err = capsys.readouterr()
    return int(str(stopped.value.code or 0)), out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status, out, _ = gate(capsys, *arguments, "--output", "json")
    return status, json.loads(out)["result"]


def changed(
    name: str, *, image: str = "app:2", namespace: str = "ml", replicas: int = 1, **spec: Any
) -> dict[str, Any]:
    """A manifest of a workload as somebody writes it."""
    found = deployment(name, [], pod_spec(**spec), namespace=namespace)
    one: dict[str, Any] = next(item for item in found if item["kind"] == "Deployment")
    template = one["spec"]["template"]
    template["spec"]["containers"][0]["image"] = image
    kept = {key: one["spec"][key] for key in ("selector", "template", "strategy") if key in one["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": kept | {"replicas": replicas},
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two GPU nodes, one GPU free: ``a`` and ``b`` hold none of it; ``full`` holds the other."""
    monkeypatch.chdir(tmp_path)
    items = [
        node("gpu-0", pool="gpu", gpus=1),
        node("gpu-1", pool="gpu", gpus=1),
        node("cpu-0", pool="cpu"),
        *deployment("full", ["gpu-0"], pod_spec(gpus=1)),
        *deployment("calm", ["cpu-0"], pod_spec()),
    ]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return tmp_path


def write(folder: Path, *objects: dict[str, Any], name: str = "m.yaml") -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_both_ask_what_happens_meanwhile_and_agree(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """One free GPU and two that want it: a third node, whenever it comes, is for the other."""
    file = write(folder, changed("a", gpus=1), changed("b", gpus=1))
    then = ("--then", "2m:add:gpu=1", "--then", f"1h:apply:{write(folder, changed('late'), name='late.yaml')}")
    status, found = document(capsys, "cluster.json", "-f", file, *then)
    assert (status, found["together"]) == (0, "completes")
    with pytest.raises(SystemExit) as stopped:
        main(["rollout", "cluster.json", "-f", file, *then, "--output", "json"])
    rolled = json.loads(capsys.readouterr().out)["result"]
    assert (stopped.value.code, rolled["verdict"]) == (0, "completes")
    assert found["meanwhile"] == rolled["meanwhile"]
    assert [one["bearing"] for one in found["meanwhile"]] == ["any_time", "never_decides"]
    status, out, _ = gate(capsys, "cluster.json", "-f", file, *then, "--output", "markdown")
    assert "- meanwhile: after 2 min, pool gpu grows from 2 to 3 nodes: it may come at any time" in out
    status, out, _ = gate(capsys, "cluster.json", "-f", file, *then, "--output", "csv", "--rows", "meanwhile")
    assert out.splitlines()[1].startswith("2m:add:gpu=1,120.0,")


def test_both_play_an_upgrade(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """One free GPU, and room for both on neither: two nodes that come one after the other replace two, and only what is full moves."""
    file = write(folder, changed("a", gpus=1), changed("b", gpus=1))
    then = ("--then", "5m:upgrade:gpu=surge:2")
    _, found = document(capsys, "cluster.json", "-f", file, *then)
    with pytest.raises(SystemExit):
        main(["rollout", "cluster.json", "-f", file, *then, "--output", "json"])
    rolled = json.loads(capsys.readouterr().out)["result"]
    assert (found["together"], found["meanwhile"]) == (rolled["verdict"], rolled["meanwhile"])
    assert "pool gpu is upgraded in 1 step (surge 2, unavailable 0)" in found["meanwhile"][0]["sentence"]


def test_two_that_complete_alone_and_not_together(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """One free GPU: either new workload gets it, never both."""
    file = write(folder, changed("a", gpus=1), changed("b", gpus=1))
    status, found = document(capsys, "cluster.json", "-f", file)
    assert status == 2
    assert [one["alone"] for one in found["workloads"]] == ["completes", "completes"]
    assert sorted(one["together"] for one in found["workloads"]) == ["completes", "stuck"]
    assert found["extra_gpus"] == 2
    loser = next(one for one in found["workloads"] if one["verdict"] == "stuck")
    assert loser["sentence"].startswith("together with the others: stuck")


@pytest.mark.parametrize(("free", "bound", "verdict"), [(1, 1, "completes"), (4, 3, "stuck")])
def test_what_chance_decides_together_is_told_as_what_it_decides_alone(
    capsys: pytest.CaptureFixture[str], folder: Path, free: int, bound: int, verdict: str
) -> None:
    """``a…`` go to any of the nodes, the others to one of them each; every one completes alone."""
    items = json.loads((folder / "cluster.json").read_text())["items"]
    items += [node(f"gpu-{n}", pool="gpu", gpus=1) for n in range(2, free + bound + 1)]
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    on = [{"kubernetes.io/hostname": f"gpu-{n}"} for n in range(1, bound + 1)]
    others = [changed(f"b{n}", gpus=1, nodeSelector=where) for n, where in enumerate(on)]
    file = write(folder, *(changed(f"a{n}", gpus=1) for n in range(free)), *others)
    _, found = document(capsys, "cluster.json", "-f", file)
    assert {one["alone"] for one in found["workloads"]} == {"completes"}
    assert found["together"] == verdict
    with pytest.raises(SystemExit):
        main(["rollout", "cluster.json", "-f", file, "--output", "json"])
    rolled = json.loads(capsys.readouterr().out)["result"]
    assert rolled["but"].startswith(
        "But the whole change depends on placement and on whose controller is first: completes in "
    )
    assert rolled["sentence"] == found["together_sentence"]
    assert rolled["sentence"].endswith(rolled["but"])
    told = [one["sentence"] for one in found["workloads"] if one["verdict"] == verdict]
    assert all(one.startswith("together with the others: ") and one.endswith(rolled["but"]) for one in told)
    for written in ("text", "markdown", "github", "sarif"):
        assert "depends on placement" in gate(capsys, "cluster.json", "-f", file, "--output", written)[1]


def test_what_is_as_it_was_is_not_asked(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    cluster = json.loads((folder / "cluster.json").read_text())["items"]
    same = next(one for one in cluster if one["kind"] == "Deployment" and one["metadata"]["name"] == "full")
    relabelled = json.loads(json.dumps(same))
    relabelled["metadata"]["labels"] = {"team": "new"}
    relabelled["spec"]["strategy"] = {"type": "Recreate"}
    for one in (same, relabelled):
        status, found = document(capsys, "cluster.json", "-f", write(folder, one))
        assert (status, found["workloads"], found["unchanged"]) == (0, [], ["Deployment/ml/full"])


def test_a_manifest_without_workloads_passes(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}}
    status, out, _ = gate(capsys, "cluster.json", "-f", write(folder, settings))
    assert (status, out.splitlines()[0]) == (0, "passes: the change rolls nothing")


def test_a_manifest_whose_pods_are_not_told_is_not_known(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    template = {"spec": {"containers": [{"name": "x", "image": "y"}]}}
    odd = {"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "x"}, "spec": {"template": template}}
    assert gate(capsys, "cluster.json", "-f", write(folder, odd))[0] == 4


def test_a_workload_is_not_taken_for_new_where_its_kind_was_not_listed(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "nodes.json").write_text(json.dumps(node("gpu-0", pool="gpu", gpus=1)))
    status, out, _ = gate(capsys, "nodes.json", "-f", write(folder, changed("a", gpus=1)))
    assert status == 4
    assert "whether there is a Deployment/ml/a is not known" in out


def test_a_bare_pod_is_placed_and_a_quota_of_the_manifest_counts(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "ml"}, "spec": pod_spec(gpus=1)}
    assert document(capsys, "cluster.json", "-f", write(folder, pod))[1]["workloads"][0]["verdict"] == "completes"
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "ml"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "0"}},
    }  # fmt: skip
    status, found = document(capsys, "cluster.json", "-f", write(folder, changed("a", gpus=1), quota))
    assert (status, found["workloads"][0]["reason"]) == (2, "quota")


def test_folders_are_read_as_kubectl_does(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    below = folder / "manifests" / "below"
    below.mkdir(parents=True)
    write(folder / "manifests", changed("a", gpus=1), name="a.yaml")
    (folder / "manifests" / "notes.md").write_text("no manifest")
    (below / "b.json").write_text(json.dumps(changed("b", gpus=1)))
    assert len(document(capsys, "cluster.json", "-f", "manifests")[1]["workloads"]) == 1
    assert len(document(capsys, "cluster.json", "-f", "manifests", "-R")[1]["workloads"]) == 2
    (below / "kustomization.yaml").write_text("resources: [b.json]\n")
    status, _, err = gate(capsys, "cluster.json", "-f", "manifests", "-R")
    assert status == 1
    assert "kubectl kustomize manifests/below | headroom gate CLUSTER -f -" in err


# ── policy ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def main_rollout(capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["rollout", *arguments])
    capsys.readouterr()
    return int(str(stopped.value.code or 0))


def with_policy(folder: Path, text: str) -> None:
    (folder / "headroom.toml").write_text(text)


def test_only_the_policy_refuses_is_5(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    file = write(folder, changed("a", gpus=1))
    assert gate(capsys, "cluster.json", "-f", file)[0] == 0
    with_policy(folder, "[gate]\nmost_extra_gpus = 1\n")
    assert gate(capsys, "cluster.json", "-f", file)[0] == 0
    with_policy(folder, "[gate]\nmost_extra_gpus = 0\n")
    status, out, _ = gate(capsys, "cluster.json", "-f", file)
    assert status == 5
    assert "policy: 1 GPU more than today, and the policy allows 0" in out


def test_least_ready(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    down = changed("full", gpus=1)
    down["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    file = write(folder, down)
    assert gate(capsys, "cluster.json", "-f", file)[0] == 0
    for text, status in (("0", 0), ('"50%"', 5), ("1", 5)):
        with_policy(folder, f"[gate]\nleast_ready = {text}\n")
        assert gate(capsys, "cluster.json", "-f", file)[0] == status, text


def test_a_verdict_that_the_policy_lets_pass_counts_as_0(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    file = write(folder, changed("a", gpus=2))
    assert gate(capsys, "cluster.json", "-f", file)[0] == 2
    with_policy(folder, '[gate]\nfail = ["unknown"]\n')
    assert gate(capsys, "cluster.json", "-f", file)[0] == 0


def test_growth_of_an_autoscaled_pool_passes_and_its_nodes_are_extra(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    file = write(folder, changed("a", gpus=1, replicas=2))
    grown = ("cluster.json", "-f", file, "--limits", "gpu=4")
    status, found = document(capsys, *grown)
    assert (status, found["workloads"][0]["extra_nodes"], found["extra_gpus"]) == (0, 1, 2)
    assert found["extra_usd_per_month"] is None  # these nodes have no price, and none is made up
    out = gate(capsys, *grown)[1]
    assert "of it until nodes arrive" in out
    assert "growth: 1 more node, 1 GPU: what that costs isn't known while it is there" in out
    assert main_rollout(capsys, *grown) == 3  # a question, no policy
    with_policy(folder, '[gate]\nfail = ["needs_growth"]\n')
    assert gate(capsys, *grown)[0] == 3
    with_policy(folder, '[gate]\nfail = ["stuck"]\nmost_extra_usd_per_month = 1000000\n')
    assert gate(capsys, *grown)[0] == 4


def test_an_exception_counts_as_0_until_it_expires(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    file = write(folder, changed("a", gpus=2))
    text = '[[gate.exceptions]]\nworkload = "deployment/ml/*"\nreason = "by hand"\nexpires = {}\n'
    with_policy(folder, text.format("2999-01-01"))
    status, found = document(capsys, "cluster.json", "-f", file)
    assert (status, found["passes"], found["workloads"][0]["exception"]["reason"]) == (0, True, "by hand")
    with_policy(folder, text.format("2001-01-01"))
    status, out, _ = gate(capsys, "cluster.json", "-f", file)
    assert status == 2
    assert "the exception for deployment/ml/* expired on 2001-01-01 (by hand)" in out
    (folder / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    status, out, _ = gate(capsys, "cluster.json", "-f", "map.yaml")
    assert (status, "expired on 2001-01-01" in out) == (0, True), "where nothing rolls too"


def test_no_name_is_no_folder(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    write(folder, changed("a", gpus=2))
    status, _, err = gate(capsys, "cluster.json", "-f", "")
    assert (status, "is no path" in err) == (1, True)


def test_an_exception_does_not_hide_the_others(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    file = write(folder, changed("a", gpus=2), changed("b", gpus=2))
    with_policy(folder, '[[gate.exceptions]]\nworkload = "Deployment/ml/a"\nreason = "x"\nexpires = 2999-01-01\n')
    assert gate(capsys, "cluster.json", "-f", file)[0] == 2


@pytest.mark.parametrize(
    "text",
    [
        "gate = 1", "[gate]\nfail = 'stuck'", "[gate]\nfail = ['completes']", "[gate]\nleast_redy = 1",
        "[gate]\nleast_ready = true", "[gate]\nleast_ready = '²'", "[gate]\nmost_extra_gpus = -1",
        "[gate]\nmost_extra_gpus = 1.5", "[gate]\nmost_extra_usd_per_month = nan", "[gate", "[[gate.exceptions]]",
        "[[gate.exceptions]]\nworkload='Deployment/a/b'\nreason=''\nexpires=2026-01-01",
        "[[gate.exceptions]]\nworkload='Deployment/a/b'\nreason='x'\nexpires='2026-01-01'",
        "[[gate.exceptions]]\nworkload='Deployment/a/b'\nreason='x'\nexpires=2026-01-01T00:00:00Z",
        "[[gate.exceptions]]\nworkload='b'\nreason='x'\nexpires=2026-01-01", "[gate]\nexceptions = 3",
    ],
)  # fmt: skip
def test_a_policy_that_is_wrong_is_an_error(text: str) -> None:
    with pytest.raises(InputError) as told:
        read_policy(text, "headroom.toml")
    assert told.value.where.startswith("headroom.toml")
    assert told.value.fix


def test_policy_is_read() -> None:
    assert read_policy("", "x") == GatePolicy()
    policy = read_policy((EXAMPLES / "headroom.toml").read_text(), "x")
    assert policy.fail == (Failing.STUCK, Failing.UNKNOWN, Failing.UNSURE_GROWTH)
    assert (policy.least_ready, policy.most_extra_gpus, policy.exceptions[0].expires) == ("50%", 8, "2026-12-31")
    last_second = 1798761599  # 2026-12-31 23:59:59 UTC
    assert policy.exceptions[0].holds_at(last_second)
    assert not policy.exceptions[0].holds_at(last_second + 1)


# ── formats ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def reports(capsys: pytest.CaptureFixture[str], folder: Path) -> dict[str, str]:
    """Every format of one answer, whose names are as bad as a manifest may make them."""
    bad = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod_spec(gpus=9)}
    file = write(folder, changed("a", gpus=2), bad, changed("calm"), name="m,1:2%.yaml")
    with_policy(
        folder,
        '[[gate.exceptions]]\nworkload = "Pod/*/*"\nreason = "<b>|\\u0007 & :: \\n"\nexpires = 2999-01-01\n',
    )
    formats = ["text", "json", "yaml", "csv", "markdown", "junit", "sarif", "github"]
    writes = [part for name in formats for part in ("--write", f"{name}={name}.out")]
    assert gate(capsys, "cluster.json", "-f", file, *writes)[0] == 2
    return {name: (folder / f"{name}.out").read_text(encoding="utf-8") for name in formats}


def test_json_and_yaml_are_one_document(reports: dict[str, str]) -> None:
    assert json.loads(reports["json"]) == yaml.safe_load(reports["yaml"])
    assert json.loads(reports["json"])["format"] == "headroom.gate/v2"


def test_junit(reports: dict[str, str]) -> None:
    suite = ET.fromstring(reports["junit"])
    cases = {(case.get("classname"), case.get("name")): case for case in suite.iter("testcase")}
    assert cases["Deployment/ml/a", "rolls out alone"].find("failure") is not None
    assert cases["Pod/default/x", "rolls out alone"].find("skipped") is not None
    assert len(cases["Deployment/ml/calm", "rolls out together"]) == 0
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("7", "3", "0")
    assert suite[0].get("skipped") == "2"
    allowed = {  # attributes that junit-10.xsd (jenkinsci/xunit-plugin) has; it refuses others
        "testsuites": {"name", "time", "tests", "failures", "errors"},
        "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "file", "package"},
        "testcase": {"name", "time", "classname", "group"},
        "failure": {"type", "message"},
        "skipped": {"type", "message"},
        "system-out": set(),
    }
    assert all(set(element.keys()) <= allowed[element.tag] for element in suite.iter())
    assert all({"name", "tests", "failures", "errors"} <= set(one.keys()) for one in suite.iter("testsuite"))


def test_sarif(reports: dict[str, str]) -> None:
    log = json.loads(reports["sarif"])
    assert log["version"] == "2.1.0"
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    first, second, *doubts = run["results"]
    assert {rules[doubt["ruleIndex"]]["id"] for doubt in doubts} == {"headroom/doubt"}
    assert rules[first["ruleIndex"]]["id"] == first["ruleId"] == "headroom/stuck"
    assert first["level"] == "error"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("m%2C1%3A2%25.yaml")
    assert place["region"] == {"startLine": 1}
    assert second["suppressions"][0]["justification"].startswith("<b>|")


def test_annotations(reports: dict[str, str]) -> None:
    lines = reports["github"].splitlines()
    assert all(re.match(r"::(error|warning|notice) [^\n]*::[^\n]*$", line) for line in lines)
    assert re.match(r"::error title=Deployment/ml/a,file=\S*m%2C1%3A2%25.yaml,line=1::stuck", lines[0])
    assert lines[1].startswith("::notice title=Pod/default/x")


def test_comment(reports: dict[str, str]) -> None:
    comment = reports["markdown"]
    assert comment.startswith("<!-- headroom gate -->\n### ✗ Headroom: ")
    assert "<b>" not in comment
    assert "\x07" not in comment
    table = [line for line in comment.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert len(table) == 5


def test_a_comment_is_no_longer_than_github_takes(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    many = [changed(f"w-{'x' * 200}-{number}", gpus=3) for number in range(120)]
    _, out, _ = gate(
        capsys, "cluster.json", "-f", write(folder, *many), "-o", "markdown", "--link", "https://h.example/"
    )
    assert len(out) <= 65_536
    assert "https://h.example/rollout?workload=Deployment%2Fml%2Fw-" in out


# ── the examples ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_kustomize_through_standard_input(folder: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl")
    built = subprocess.run(["kubectl", "kustomize", EXAMPLES / "kustomize"], check=True, capture_output=True, text=True)
    assert objects_of(built.stdout, "built")
    told = headroom("gate", "demo", "-f", "-", stdin=built.stdout)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("passes: the rollout completes")


def test_helm_names_its_template(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    text = "".join(
        f"---\n# Source: chart/templates/{name}.yaml\n{yaml.safe_dump(changed(name, gpus=2))}" for name in ("a", "b")
    )
    told = headroom("gate", "cluster.json", "-f", "-", "-o", "github", stdin=text, cwd=folder)
    assert told.returncode == 2
    assert "file=chart/templates/a.yaml::" in told.stdout
    assert "file=chart/templates/b.yaml::" in told.stdout


def headroom(*arguments: str, stdin: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    script = ROOT / ".venv/bin/headroom"
    return subprocess.run([script, *arguments], input=stdin, capture_output=True, text=True, check=False, cwd=cwd)


def shell_of(name: str) -> list[str]:
    """The lines of an example that call headroom."""
    content = yaml.safe_load((EXAMPLES / name).read_text())
    return [line for line in content["headroom"]["script"] if "headroom" in line]


@pytest.mark.parametrize("name", ["gitlab-ci.yml"])
def test_the_shell_of_the_examples_runs(folder: Path, name: str) -> None:
    shutil.copytree(EXAMPLES / "manifests", folder / "manifests")
    (line,) = shell_of(name)
    environment = {"CLUSTER": "demo", "PATH": f"{ROOT / '.venv/bin'}:/usr/bin:/bin"}
    told = subprocess.run(
        ["bash", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 2, told.stderr
    assert "Deployment/prod/llm-serve" in told.stdout
    assert (folder / "headroom.md").read_text().startswith("<!-- headroom gate -->")
    assert ET.fromstring((folder / "headroom.xml").read_text()).get("failures") == "3"
    with_policy(folder, (EXAMPLES / "headroom.toml").read_text().replace("2026-12-31", "2999-01-01"))
    told = subprocess.run(
        ["bash", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout


def test_the_hooks_call_what_there_is(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """The Argo CD hook and the pre-commit hook: their arguments, with this cluster and these manifests."""
    job = yaml.safe_load((EXAMPLES / "argocd-presync.yaml").read_text())
    assert job["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "PreSync"
    assert job["spec"]["backoffLimit"] == 0
    argocd = job["spec"]["template"]["spec"]["containers"][0]["command"]
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (user,) = yaml.safe_load((EXAMPLES / "pre-commit-config.yaml").read_text())["repos"]
    assert [one["id"] for one in user["hooks"]] == [hook["id"]]
    for command in (argocd, hook["entry"].split() + hook["args"], hook["entry"].split() + user["hooks"][0]["args"]):
        program, name, cluster, *options = command
        assert (Path(program).name, name) == ("headroom", "gate")
        assert cluster in ("context:in-cluster", "cluster.json.gz")
        options[-1] = str(EXAMPLES / "manifests")
        assert gate(capsys, "demo", *options)[0] == 2


def test_objects_of_the_job_are_what_the_api_takes() -> None:
    (job,) = objects_of((EXAMPLES / "argocd-presync.yaml").read_text(), "job")
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, "- " * 5_000])
def test_a_manifest_nested_without_an_end_is_refused(
    capsys: pytest.CaptureFixture[str], folder: Path, deep: str
) -> None:
    (folder / "deep.yaml").write_text(deep)
    status, out, err = gate(capsys, "cluster.json", "-f", "deep.yaml")
    assert (status, out) == (1, "")
    assert "nested" in err


def test_standard_input_that_is_no_text(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x80")
    with (folder / "binary").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        status, _, err = gate(capsys, "cluster.json", "-f", "-")
    assert status == 1
    assert "isn't UTF-8" in err or "not UTF-8" in err


@pytest.mark.parametrize("key", [f"a{'.a' * 100_000} = 1", f"[a{'.a' * 100_000}]"])
def test_a_policy_whose_key_never_ends(key: str) -> None:
    with pytest.raises(InputError, match="dots"):
        read_policy(key, "headroom.toml")


def test_a_policy_with_a_number_nobody_can_write_out() -> None:
    with pytest.raises(InputError, match="isn't TOML"):
        read_policy(f"[gate]\nmost_extra_gpus = {'9' * 10_000}", "headroom.toml")


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_answered(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "change").mkdir()
    (folder / "change/a.yaml").write_text(yaml.safe_dump(changed("a")), encoding="utf-8")
    (folder / "change/b.yaml").write_text("kind: Deployment\nspec: {{ .Values.spec }}\n", encoding="utf-8")
    (folder / "change/c.yaml").write_bytes(b"\xff\xfe\x00bad")
    status, out, _ = gate(capsys, "cluster.json", "-f", "change")
    assert status == 4
    assert "not known" in out
    assert "change/b.yaml can't be read" in out
    assert "(line 2)" in out
    assert "change/c.yaml can't be read" in out
    assert "Deployment/ml/a" in out
    for command in ("rollout", "where"):
        with pytest.raises(SystemExit) as stopped:
            main([command, "cluster.json", "-f", "change/a.yaml", "-f", "change/b.yaml"])
        assert stopped.value.code == 4
        assert "change/b.yaml" in "".join(capsys.readouterr())


def test_one_file_that_cannot_be_read_is_an_error_with_its_name(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "b.yaml").write_text("kind: [}", encoding="utf-8")
    status, _, err = gate(capsys, "cluster.json", "-f", "b.yaml")
    assert status == 1
    assert "b.yaml" in err


@pytest.mark.parametrize("record", [True, False], ids=["applied before", "nobody knows"])
def test_a_manifest_that_leaves_out_resources_frees_no_gpus_that_nobody_applied(
    capsys: pytest.CaptureFixture[str], folder: Path, record: bool
) -> None:
    """Kept where nothing says that they were applied, and that is said; gone where they were."""
    items = [node("gpu-0", pool="gpu", gpus=2), *deployment("full", ["gpu-0"], pod_spec(gpus=1))]
    given = changed("full", gpus=1)
    if record:
        metadata = next(one for one in items if one["kind"] == "Deployment")["metadata"]
        metadata["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(given)}
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    del given["spec"]["template"]["spec"]["containers"][0]["resources"]
    _, found = document(capsys, "cluster.json", "-f", write(folder, given))
    assert [one["more_gpus"] for one in found["workloads"]] == [-1 if record else 0]
    assert ("apply-assumed" in {one["code"] for one in found["findings"]}) is not record
