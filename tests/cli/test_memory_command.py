from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from planner.cli import main

NODE = "gke-edu-default-7f3a02"
CELERY = ("--workload", "deployment/dev/celery")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["memory", "demo", *arguments])
    return int(str(caught.value.code or 0))


def test_every_node_and_the_risks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    shown = capsys.readouterr().out
    assert "No node is past its eviction threshold" in shown
    assert sum(line.startswith("gke-edu-") for line in shown.splitlines()) == 24
    assert "warning: Deployment/prod/celery: " in shown


def test_one_node_shows_order_and_cgroup_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--node", NODE, "--memory-qos", "--reservation", "TieredReservation") == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("1.")).split()[1].startswith("prod/celery-")
    values = next(line for line in lines if line.startswith("prod/celery-") and "/celery " in line).split()
    assert values[1:] == ["4294967296", "4026531840", "-", "1610612736", "0", "953", "1."]


def test_json_is_a_versioned_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--node", NODE, "--output", "json", "--soft", "10%") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "headroom.memory/v1"
    (node,) = document["result"]["cluster"]["nodes"]
    assert node["name"] == document["settings"]["node"] == NODE
    assert document["settings"]["kubelet"]["soft"]["percent"] == 10
    assert node["lines"]["soft_bytes"] < node["lines"]["hard_bytes"]


@pytest.mark.parametrize(("what", "count"), [("nodes", 24), ("pods", 131), ("containers", 131)])
def test_csv_rows(what: str, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--output", "csv", "--rows", what) == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == count


def test_what_if_says_what_changes_and_whether_it_rolls_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*CELERY, "--request", "2Gi", "--limit", "2Gi", "--equal-cpu") == 0
    shown = capsys.readouterr().out
    assert "Class Burstable becomes Guaranteed" in shown
    assert "Rollout: completes" in shown
    assert "kubectl patch deployment/celery -n dev" in shown


def test_what_if_that_the_quota_refuses_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--workload", "deployment/dev/api", "--request", "60Gi", "--limit", "60Gi", "--output", "json") == 2
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "headroom.memory_what_if/v1"
    assert document["result"]["rollout"]["verdict"] == "stuck"
    assert [one["code"] for one in document["result"]["cured"]] == ["memory-near-limit"]


def test_a_kubelets_metrics_tell_what_the_system_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--node", NODE, "--output", "json")
    pod = json.loads(capsys.readouterr().out)["result"]["cluster"]["nodes"][0]["pods"][0]
    labels = f'container="celery",namespace="{pod["namespace"]}",pod="{pod["name"]}"'
    given = tmp_path / "node.txt"
    given.write_text(
        'container_memory_working_set_bytes{id="/",container="",namespace="",pod=""} 1.2e+10\n'
        f"container_memory_working_set_bytes{{{labels}}} 2e+09\ncontainer_memory_rss{{{labels}}} 1e+09\n",
        encoding="utf-8",
    )
    assert run("--node", NODE, "--output", "json", "--kubelet-metrics", str(given)) == 0
    node = json.loads(capsys.readouterr().out)["result"]["cluster"]["nodes"][0]
    assert node["lines"]["hard_bytes"] < node["memory"]["allocatable_bytes"]
    assert node["pods"][0]["containers"][0]["anonymous_bytes"] == 1_000_000_000


def test_pod_metrics_may_come_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    item = {
        "metadata": {"name": "nobody", "namespace": "dev"},
        "timestamp": "2026-11-20T09:02:50Z",
        "window": "15s",
        "containers": [{"name": "main", "usage": {"cpu": "1m", "memory": "1Mi"}}],
    }
    listed = {"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": [item]}
    given = tmp_path / "metrics.json"
    given.write_text(json.dumps(listed), encoding="utf-8")
    assert run("--pod-metrics", str(given)) == 0
    assert "unknown for 131 of 131 pods" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--node", "nobody"), 'there is no node "nobody"'),
        (("--workload", "deployment/dev/nobody", "--request", "1Gi"), "there is no deployment/dev/nobody"),
        ((*CELERY, "--container", "web", "--request", "1Gi"), 'container "web"'),
        ((*CELERY, "--request", "9Gi", "--limit", "1Gi"), "more memory than its limit"),
        ((*CELERY, "--request", "lots"), "not a Kubernetes quantity"),
        (("--hard", "200%"), "0% to 100%"),
        (("--reservation", "TieredReservation"), "needs the MemoryQoS feature"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 1
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.out == ""
