"""A name that isn't there is refused, with status 1 and the name that was meant."""

from __future__ import annotations

import pytest

from planner.cli import main

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
