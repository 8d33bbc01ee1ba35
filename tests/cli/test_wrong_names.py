"""A name that isn't there is refused, with status 1 and the name that was meant."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from planner.cli import headroom, main
from tests.builders.objects import deployment, pod_spec

CASES = {
    "command": ("rolout demo", "No such command 'rolout'. Did you mean rollout?"),
    "command like none": ("xyzzy demo", "headroom --help lists the commands"),
    "command within": ("store trend x", "Did you mean 'trends'?"),
    "option": ("overview demo --serch x", "'--search'"),
    "value of an option": ("overview demo -o jsn", "'json', 'yaml'"),
    "rows": ("overview demo --rows workload", "'workloads'"),
    "state": ("overview demo --fail-on stck", "stuck, needs_growth"),
    "workload": ("rollout demo -w llm-srve", "Did you mean Deployment/prod/llm-serve?"),
    "workload with its namespace": ("rollout demo -w prod/llm-srve", "Did you mean Deployment/prod/llm-serve?"),
    "workload with its kind": ("rollout demo -w deployment/llm-srve -n prod", "Did you mean Deployment/prod/llm-serve?"),
    "whole key": ("rollout demo -w Deployment/prod/llm-srve", "Did you mean Deployment/prod/llm-serve?"),
    "workload of make-room": ("make-room demo --for llm-canry", "Did you mean Deployment/llm-lab/llm-canary?"),
    "workload of spot": ("spot demo -w ml-workr", "Did you mean Deployment/prod/ml-worker?"),
    "workload of memory": ("memory demo -w celry", "Did you mean Deployment/dev/celery, Deployment/prod/celery?"),
    "name of several": ("rollout demo -w api", '"api" may be'),
    "namespace": ("overview demo -n prdo", "Did you mean prod?"),
    "namespace of a list": ("rollout demo -n prdo", "Did you mean prod?"),
    "namespace like none": ("costs demo -n x", "Choose of batch, default, dev"),
    "pool": ("capacity demo --pool gpu-t5", "Did you mean"),
    "node": ("memory demo --node gke-edu-gpu-t4-7f3a06", "Did you mean gke-edu-gpu-t4-7f3a0"),
    "environment": ("diff demo --between dev,prdo", "Did you mean prod?"),
    "pool of a change": ("capacity demo --change drain:pool/gpu-t5", "Pools: default, gpu-a100"),
    "lever": ("rollout demo -w llm-serve --levers nodess", "Levers: strategy,order"),
    "event": ("rollout demo -w llm-serve --then 2m:ad:gpu-t4=1", "Begin with one of add"),
    "file": ("overview nosuch.json", "no such file or directory"),
    "file of a manifest": ("gate demo -f nosuch.yaml", "no such file or directory"),
    "form of a report": ("report demo --to review.doc", "Give it one of .html"),
    "context": ("overview context:nosuch", "context:nosuch: the context can't be used"),
    "order of arguments": ("rollout llm-serve demo", "CLUSTER comes first, and -w names the workload: headroom rollout demo -w llm-serve"),
    "workload without -w": ("rollout demo deploy/llm-serve", "Name a workload by -w: headroom rollout demo -w deploy/llm-serve"),
    "workload for a cluster": ("rollout deploy/llm-serve", "Name the workload by -w deploy/llm-serve"),
    "two clusters": ("overview demo demo", "One CLUSTER is taken"),
    "workload without -w, of a question": ("memory demo deploy/api", "Name a workload by -w: headroom memory demo -w deploy/api"),
    "workload before a store": ("rollout llm-serve store:s", "headroom rollout store:s -w llm-serve"),
    "workload before a pipe": ("rollout llm-serve -", "headroom rollout - -w llm-serve"),
    "workload before several files": ("rollout llm-serve pyproject.toml,README.md", "headroom rollout pyproject.toml,README.md -w llm-serve"),
    "files that the shell wrote out": ("gate demo -f README.md pyproject.toml", "Repeat -f before each manifest, or name their folder"),
    "three clusters to compare": ("diff demo demo demo", "Two clusters are compared: join several files by commas"),
    "two stores": ("store trends a b", "One STORE is taken"),
    "file for a workload": ("overview deploy/clutser.json", "no such file or directory. Check the path"),
    "query without SQL": ("store query s", "Missing argument 'SQL'."),
    "store": ("store list", "Missing argument 'STORE'."),
    "shell": ("completion", "Missing argument '{bash|zsh|fish}'."),
    "cluster of several": ("sweep", "Missing argument 'CLUSTER...'. Give demo"),
    "option of kubectl where no namespace is taken": ("gate demo -A", "No such option '-A'. All namespaces are read"),
    "two namespaces attached": ("rollout demo -nprod -ndev", "--namespace is given twice"),
    "cluster before the command": ("demo overview", "The command comes first: headroom overview demo"),
    "help as a command": ("help", "Write headroom --help"),
    "option of kubectl": ("overview demo -A", "All namespaces are read; -n NAME lists one"),
    "two namespaces where one is taken": ("rollout demo -n prod -n dev", "--namespace is given twice"),
    "namespaces with a comma": ("overview demo -n prod,dev", "Give each namespace by itself (as options: -n prod -n dev)"),
    "pools with a comma": ("overview demo --pool default,gpu-a100", "Give each pool by itself (as options: --pool default --pool gpu-a100)"),
    "pools of which one isn't there": ("overview demo --pool default,gpu", "there is no pool"),
    "change with another sign": ("capacity demo --change add=gpu-t4", "Write it like add:POOL=N"),
    "manifest without -f": ("gate demo", "Write it like headroom gate [CLUSTER] -f FILE"),
    "address of a cluster": ("overview https://example.com/x.json", "is an address, and only files are read"),
    "address of a manifest": ("gate -f https://example.com/x.yaml", "is an address, and only files are read"),
    "context without a name": ("overview context:", "names no context"),
    "cluster": ("capacity", "Give demo, a FILE of kubectl get … -A -o json, or context:NAME"),
}  # fmt: skip
"""What is named wrongly → the command, what its error says."""


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_name_is_refused_with_what_was_meant(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, said = CASES[name]
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    out, err = capsys.readouterr()
    assert (int(ended.value.code or 0), out) == (1, "")
    assert said in " ".join(err.split())


def test_the_right_names_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("overview demo -n prod", "memory demo --node gke-edu-gpu-t4-7f3a05", "capacity demo --pool gpu-t4"):
        with pytest.raises(SystemExit) as ended:
            main(command.split())
        assert not ended.value.code
        assert "Did you mean" not in capsys.readouterr().err


def test_a_context_by_its_bare_name_is_told_how_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("prod-eu", "staging")]
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "prod-eu", "contexts": contexts,
              "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}]}  # fmt: skip
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    for word, said in {
        "prod-eu": "write context:prod-eu", "Context:staging": "write context:staging", "prod-us": "A live cluster is written context:NAME",
        "context:prod-e": "Did you mean prod-eu? Contexts of the kubeconfig: prod-eu, staging", str(file): "It is a kubeconfig",
    }.items():  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["overview", word])
        assert (ended.value.code, said in " ".join(capsys.readouterr().err.split())) == (1, True), word


def test_what_is_meant_otherwise_gets_no_hint_of_another_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("rollouts", "dumps-of-may", "deploy"):
        (tmp_path / folder).mkdir()
    (tmp_path / "snapshot.json").write_text("{}")
    (tmp_path / "workflow.yaml").write_text("kind: WorkflowTemplate\nspec: {{inputs.spec}}\n   at: [1\n")
    for command, said, unsaid in (
        ("rollouts demo", "Did you mean rollout?", "The command comes first"),
        ("snapshot.json", "The command comes first: headroom overview snapshot.json", "Did you mean"),
        ("dumps-of-may", "The command comes first: headroom overview dumps-of-may", "Did you mean"),
        ("rollout deploy/llm-serve", "Check the path. Name the workload by -w deploy/llm-serve", "CLUSTER comes first"),
        ("overview deploy/clutser.json", "Check the path", "by -w"),
        ("gate -f workflow.yaml", "(line", "Helm"),
        ("gate demo -A -f workflow.yaml", "All namespaces are read", "-n NAME"),
        ("store query s", "Missing argument 'SQL'.", "context:NAME"),
        ("overview demo a b", "One CLUSTER is taken", "Repeat -f"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(command.split())
        text = " ".join(capsys.readouterr().err.split())
        assert (ended.value.code, said in text, unsaid in text) == (1, True, False), text


def test_a_shell_that_completes_is_told_of_no_error() -> None:
    rollout = headroom.get_command(click.Context(headroom), "rollout")
    assert rollout is not None
    assert (
        rollout.make_context("rollout", ["demo", "-n", "prod", "-n", "dev"], resilient_parsing=True).params["cluster"]
        == "demo"
    )
    with pytest.raises(click.UsageError, match="given twice"):
        rollout.make_context("rollout", ["demo", "-n", "prod", "-n", "dev"])


def test_files_of_a_chart_are_told_from_what_it_renders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
    template = tmp_path / "templates" / "app.yaml"
    template.write_text("kind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n")
    twice = f"{template},{tmp_path / 'Chart.yaml'}"
    for file, said in {
        str(tmp_path): "is a Helm chart",
        str(template): "is a template of a Helm chart",
        twice: "Give each its own -f",
    }.items():
        with pytest.raises(SystemExit) as ended:
            main(["gate", "-f", file])
        assert (ended.value.code, said in " ".join(capsys.readouterr().err.split())) == (1, True), file
    beside = tmp_path / "good.yaml"  # where another file can be read the hint stands too
    beside.write_text(json.dumps(deployment("web", [], pod_spec())[0]))
    with pytest.raises(SystemExit):
        main(["gate", "demo", "-f", str(beside), "-f", str(template)])
    assert "it is a template of a Helm chart" in " ".join("".join(capsys.readouterr()).split())
