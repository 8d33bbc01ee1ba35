from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from planner.cli import main
from tests.sources.prometheus_server import running


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main([*arguments])
    return int(str(caught.value.code or 0))


def test_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("restarts", "demo") == 0
    shown = capsys.readouterr().out
    assert "2 workloads restart or fail to start" in shown
    assert "own memory limit (512Mi)" in shown
    assert "gunicorn's own timeout after 31 s" in shown
    assert "Noise: 4 of 4 working pods of the same program print it as well" in shown
    assert "Its rollout: completes" in shown.replace("Completes", "completes")


def test_what_was_not_tried_is_said_and_still_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("restarts", "demo", "--cures", "0") == 0
    shown = capsys.readouterr().out
    assert shown.count("Suggested: ") == shown.count("weren't tried: --cures says how many are.") == 2
    assert "Its rollout: " not in shown


def test_json_is_a_versioned_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("restarts", "demo", "--output", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "headroom.restarts/v1"
    assert [loop["diagnosis"]["cause"] for loop in document["result"]["report"]["loops"]] == [
        "oom_own_limit",
        "child_timeout",
    ]
    assert [cure["rollout"]["verdict"] for cure in document["result"]["cures"]] == ["completes", "completes"]


@pytest.mark.parametrize(("rows", "number"), [("loops", 2), ("lines", 6)])
def test_csv(rows: str, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("restarts", "demo", "--output", "csv", "--rows", rows) == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == number


def test_logs_given_beside_a_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "api-1", "namespace": "dev", "uid": "u1"},
        "spec": {"nodeName": "n1", "containers": [{"name": "api", "image": "api:1"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "api", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": "2026-11-20T08:00:00Z"}},
             "image": "api:1", "imageID": ""}]},
    }  # fmt: skip
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod]}))
    log = tmp_path / "logs" / "dev" / "api-1" / "api.log"
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(f"[CRITICAL] WORKER TIMEOUT (pid:{n}) password=hunter2" for n in range(3)))
    assert run("restarts", str(tmp_path / "pods.json")) == 0
    assert "No container restarts" in capsys.readouterr().out
    assert run("restarts", str(tmp_path / "pods.json"), "--logs", str(tmp_path / "logs")) == 0
    shown = capsys.readouterr().out
    assert "workers killed by gunicorn's own timeout" in shown
    assert "hunter2" not in shown


def test_live_logs_need_a_live_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("restarts", "demo", "--live-logs") == 1
    assert "only a live cluster has live logs" in capsys.readouterr().err


def test_drift_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("drift", "demo", "--service", "api") == 0
    shown = capsys.readouterr().out
    assert "dev has 1/8 of prod's memory request (256Mi of 2Gi)" in shown
    assert "18 restarts of dev/api; prod has none." in shown
    assert "celery (prod, dev)" not in shown


def test_drift_of_two_clusters_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("drift", "demo", "demo", "--output", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "headroom.drift/v1"
    assert len(document["clusters"]) == 2
    assert "demo-1/prod" in document["result"]["environments"]


def test_drift_csv_with_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("drift", "demo", "--output", "csv", "--all", "--service", "web") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["environment"] for row in rows} == {"prod", "dev"}
    assert "image version" in {row["aspect"] for row in rows}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--service", "moon"), 'no service "moon"'),
        (("--reference", "moon"), 'no environment "moon"'),
        (("--same", "x"), "is not a pair"),
        (("--match", "label"), "no label is named"),
        (("--prometheus", "not an address"), "is not the address of a Prometheus server"),
    ],
)
def test_drift_bad_input(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("drift", "demo", *arguments) == 1
    assert words in capsys.readouterr().err


def test_use_over_time_from_a_real_prometheus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The history knows a peak of 900 MiB of a pod the snapshot doesn't: it belongs to dev/api by its name."""
    items = []
    for namespace, memory in (("dev", "256Mi"), ("prod", "2Gi")):
        container = {"name": "api", "image": "api:1", "resources": {"requests": {"memory": memory}}}
        items.append(
            {
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "api", "namespace": namespace, "uid": namespace, "labels": {"app": "api"}},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "api"}},
                         "template": {"metadata": {"labels": {"app": "api"}}, "spec": {"containers": [container]}}},
                "status": {"conditions": [{"type": "Available", "status": "True",
                                           "lastUpdateTime": "2026-11-19T08:00:00Z", "lastTransitionTime": "2026-11-19T08:00:00Z"}]},
            }
        )  # fmt: skip
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "dev", "uid": "e"},
        "involvedObject": {"kind": "Pod", "name": "x", "namespace": "dev"}, "reason": "Pulled", "message": "m",
        "type": "Normal", "count": 1, "firstTimestamp": "2026-11-19T08:00:00Z", "lastTimestamp": "2026-11-19T08:00:00Z",
    }  # fmt: skip
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, event]}))
    folder = tmp_path / "prometheus"
    folder.mkdir()
    with running(folder) as address:
        assert (
            run("drift", str(path), "--prometheus", address, "--days", "1", "--output", "json") == 4
        )  # no pods are in it
    document = json.loads(capsys.readouterr().out)
    suggested = {one["environment"]: one["suggestion"] for one in document["result"]["services"][0]["suggestions"]}
    assert suggested["dev"]["seen_bytes"] == 900 * 2**20
    assert suggested["dev"]["memory_request_bytes"] >= 900 * 2**20 * 115 // 100
    assert not suggested["dev"]["is_one_moment"]


def test_one_workload_is_listed_by_the_name_people_type(capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli import main

    def listed(*more: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["restarts", "demo", *more])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    status, out, _ = listed("-w", "dev/celery")
    assert status == 0
    assert out.startswith("1 loop of Deployment/dev/celery; 1 hidden. Whole cluster: 2 workloads restart")
    assert "dev/api-" not in out
    assert listed("-w", "celery", "-n", "prod")[1].startswith("0 loops of Deployment/prod/celery, in namespace prod")
    assert listed("-w", "prod/llm-serve")[1].startswith("0 loops of Deployment/prod/llm-serve; 2 hidden.")
    assert "dev/api" in listed()[1]
    status, out, err = listed("-w", "Deployment/dev/celry")
    assert (status, out) == (1, "")
    assert "Did you mean Deployment/dev/celery" in err
