"""``headroom dump context:NAME``: one file, written with the rights there are, that every command answers alike and that holds no secret."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.cli import ROOMS, main
from planner.ground.records import replace
from planner.inventory import input_report
from planner.inventory.api_types import READ
from planner.sources import cluster_argument
from planner.sources.source_limits import LIMITS
from tests.sources import kubeconfigs
from tests.sources.api_server import Answer, Asked, Play, api_server, as_recorded, recorded

PLANTED = {
    "environment": "planted-environment-value", "applied": "planted-last-applied-value", "argument": "--token=planted-argument-value",
    "secret": "planted-secret-value", "log": "planted-log-line",
}  # fmt: skip
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
POD_LISTS = ("/api/v1/pods", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets")


def planted(asked: Asked) -> Answer:
    """As recorded, with secrets in every pod template; Secrets, ConfigMaps and logs are there for who asks for them."""
    if asked.path.endswith(("/secrets", "/configmaps")):
        item = {"metadata": {"name": "x", "namespace": "prod"}, "data": {"key": PLANTED["secret"]}}
        return Answer(body={"kind": "List", "apiVersion": "v1", "metadata": {}, "items": [item]})
    if asked.path.endswith("/log"):
        return Answer(body=PLANTED["log"])
    answer = as_recorded(asked)
    if asked.path not in POD_LISTS:
        return answer
    body = json.loads(json.dumps(answer.body))
    for item in body["items"]:
        note = json.dumps({"spec": {"template": {"spec": {"containers": [{"env": [{"value": PLANTED["applied"]}]}]}}}})
        item["metadata"].setdefault("annotations", {})[LAST_APPLIED] = note
        spec = item["spec"]["template"]["spec"] if "template" in item["spec"] else item["spec"]
        for container in spec["containers"]:
            container["env"] = [{"name": "TOKEN", "value": PLANTED["environment"]}]
            container["args"] = [PLANTED["argument"]]
    return Answer(status=answer.status, body=body)


def refusing(asked: Asked) -> Answer:
    return recorded("nodes-forbidden") if asked.path == "/api/v1/resourcequotas" else as_recorded(asked)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def dumped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path, play: Play, *more: str
) -> tuple[str, Any, list[Asked]]:
    """What is printed, what the context gives read by itself, and what the server was asked; the file is ``cluster.json.gz``."""
    with api_server(play) as (configuration, asked):
        monkeypatch.setenv("KUBECONFIG", str(kubeconfigs.write(folder / "config", configuration.host)))
        status, out, err = run(capsys, "dump", "context:edu", "--to", str(folder / "cluster.json.gz"), *more)
        assert status == 0, err
        asked = list(asked)
        live = cluster_argument.read_cluster("context:edu")
    return out + err, live, asked


def test_it_answers_alike(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out, live, asked = dumped(capsys, monkeypatch, tmp_path, as_recorded)
    assert "24 nodes, 133 pods" in out
    assert "Refused" not in out
    assert asked[0].path == "/apis"  # what the server has
    assert sum(one.path == "/api/v1/pods" for one in asked) == 6  # in pages
    read = cluster_argument.read_cluster(str(tmp_path / "cluster.json.gz"))
    assert read.digest == live.digest
    lists = (
        "nodes",
        "pods",
        "workloads",
        "replica_sets",
        "presence",
        "events",
        "storage_classes",
        "other_kinds",
        "unplayed",
    )
    assert [name for name in lists if getattr(read, name) != getattr(live, name)] == []


MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: new, namespace: dev}
spec:
  selector: {matchLabels: {app: new}}
  template:
    metadata: {labels: {app: new}}
    spec: {containers: [{name: web, image: "web:2", resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}]}
"""
ALIKE: dict[str, str] = {
    "overview": "overview {cluster} -o json", "rollout": "rollout {cluster} -w prod/llm-serve -o json",
    "gate": "gate {cluster} -f {folder}/gate.yaml -o json", "capacity": "capacity {cluster} -o json", "make-room": "make-room {cluster} -o json",
    "survive": "survive {cluster} -o json", "fleet": "fleet {cluster} {cluster} -o json", "restarts": "restarts {cluster} -o json",
    "memory": "memory {cluster} -o json", "costs": "costs {cluster} -o json", "spot": "spot {cluster} --runs 100 -o json",
    "report": "report {cluster} --to {out}.json", "diff": "diff {cluster} {cluster} -o json", "review": "review {cluster} -o json",
    "store": "store snapshot {cluster} --store {out} --questions capacity", "doctor": "doctor {cluster} -o json",
    "dump": "dump {cluster} --to {out}.json.gz", "plan": "overview {cluster} --plan -o json", "findings": "overview {cluster} --findings -o json",
    "seats": "capacity {cluster} --seats -o json", "change": "capacity {cluster} --change drain:pool/gpu-t4 -o json",
    "between": "diff {cluster} --between dev,prod -o json", "peak": "rollout {cluster} --peak -o json",
}  # fmt: skip
"""What each command that answers is asked of a live cluster, and of the file that dump wrote of it."""
TAKEN_AT = 1_795_000_000.0
SERVERS = ("app", "serve")  # they run until they are stopped
OF_THE_READING = {"source", "load", "age_seconds"}  # where from, what a live reading asked, how long ago


def without_the_reading(text: str, spec: str) -> Any:
    """A document without what tells one reading from another: its time, and where from."""

    def bare(found: Any) -> Any:
        if isinstance(found, dict):
            return {name: bare(value) for name, value in found.items() if name not in OF_THE_READING}
        return [bare(one) for one in found] if isinstance(found, list) else found

    for name in (spec, Path(spec).name):
        text = text.replace(name, "edu")
    return bare(json.loads(text))


@pytest.fixture(scope="module")
def live_and_dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A context of the local server, and the file that dump writes of it, both as if read at one time: months of spot begin with it."""
    folder = tmp_path_factory.mktemp("dumped")
    with api_server(as_recorded) as (configuration, _), pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(kubeconfigs.write(folder / "config", configuration.host)))
        nothing_waits = replace(LIMITS, requests_per_minute=1_000_000)
        patch.setattr("planner.sources.api_server_connection.LIMITS", nothing_waits)
        file = str(folder / "edu.json.gz")
        with pytest.raises(SystemExit) as ended:
            main(["dump", "context:edu", "--to", file])
        assert not ended.value.code
        read = cluster_argument.read_cluster
        patch.setattr(
            cluster_argument, "read_cluster", lambda *words, **more: replace(read(*words, **more), taken_at=TAKEN_AT)
        )
        yield "context:edu", file


def test_every_command_that_answers_is_asked_of_both() -> None:
    commands = {name for room in ROOMS.values() for name in room}
    assert commands == {line.split()[0] for line in ALIKE.values()} | set(SERVERS)


@pytest.mark.parametrize("name", ALIKE)
def test_commands_answer_alike(
    capsys: pytest.CaptureFixture[str], live_and_dumped: tuple[str, str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "gate.yaml").write_text(MANIFEST)
    answers = []
    for place, spec in enumerate(live_and_dumped):
        out = tmp_path / f"out-{place}"
        status, printed, _ = run(capsys, *ALIKE[name].format(cluster=spec, folder=tmp_path, out=out).split())
        if name == "report":
            answer: Any = without_the_reading((tmp_path / f"out-{place}.json").read_text(), spec)
        elif name == "dump":
            answer = cluster_argument.read_cluster(f"{out}.json.gz").digest
        elif name == "store":
            facts = run(
                capsys, "store", "query", str(out), "select metric, labels, value from facts order by all", "-o", "json"
            )
            assert facts[0] == 0, facts
            answer = without_the_reading(facts[1], spec)
        else:
            answer = without_the_reading(printed, spec)["result"]
        answers.append((status, answer))
    assert answers[0] == answers[1]
    assert answers[0][1]


def test_what_is_refused_and_what_the_server_lacks_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out, _, _ = dumped(capsys, monkeypatch, tmp_path, refusing)
    assert "Refused (403), so not in the file: ResourceQuota." in out
    absent = next(line for line in out.splitlines() if line.startswith("The server doesn't have"))
    assert "PodMetrics" in absent
    assert not {"Node", "Pod", "Deployment", "ResourceQuota"} & set(re.split(r"[ ,.]+", absent))
    status, _, err = run(capsys, "overview", str(tmp_path / "cluster.json.gz"))
    assert "ResourceQuota" in err  # a reader of the file is told too
    assert status in (0, 2, 4)


def test_nothing_that_is_secret_is_in_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, _, asked = dumped(capsys, monkeypatch, tmp_path, planted)
    assert not [one.path for one in asked if re.search(r"/(secrets|configmaps|log)$", one.path)]
    text = gzip.decompress((tmp_path / "cluster.json.gz").read_bytes()).decode()
    templates = [base64.b64decode(one).decode() for one in re.findall(r'"manifest":"([A-Za-z0-9+/=]+)"', text)]
    assert len(templates) > 10
    for value in PLANTED.values():
        assert value not in text
        assert not [one for one in templates if value in one]
    assert LAST_APPLIED not in text
    assert "prod" in text  # the file is readable: what was looked for could have been found


def test_the_check_finds_what_is_planted() -> None:
    text = json.dumps(planted(Asked("/api/v1/pods", {"limit": "500"}, None)).body)
    assert PLANTED["environment"] in text
    assert PLANTED["applied"] in text


def test_names_are_replaced_where_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out, live, _ = dumped(capsys, monkeypatch, tmp_path, as_recorded, "--anonymize", "--yes")
    assert "Names were replaced" in out
    text = gzip.decompress((tmp_path / "cluster.json.gz").read_bytes()).decode()
    assert "llm-serve" not in text
    assert len(cluster_argument.read_cluster(str(tmp_path / "cluster.json.gz")).pods) == len(live.pods)
    status, _, err = run(capsys, "dump", "demo", "--to", str(tmp_path / "x"), "--yes")
    assert status == 1
    assert "--anonymize" in err


# ── without Headroom ─────────────────────────────────────────────────────────────────────────────────────────────────
KUBECTL = """\
#!/bin/sh
case "$1" in
api-resources) printf 'pods\\nsecrets\\nconfigmaps\\nnodes\\nresourcequotas\\ndeployments.apps\\nwidgets.example.com\\n' ;;
get)
  echo "$2" >> "$LOG"
  if [ "$2" = resourcequotas ]; then echo 'Error from server (Forbidden)' >&2; exit 1; fi
  cat "$LISTS/$2.json" ;;
esac
"""


def test_the_line_of_shell_goes_on_where_one_kind_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    status, line, _ = run(capsys, "doctor", "--kubectl")
    assert status == 0
    assert line.strip() == input_report.SHELL_COMMAND
    program = tmp_path / "bin" / "kubectl"
    program.parent.mkdir()
    program.write_text(KUBECTL)
    program.chmod(0o755)
    for name, path in {
        "pods": "/api/v1/pods",
        "nodes": "/api/v1/nodes",
        "deployments.apps": "/apis/apps/v1/deployments",
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(as_recorded(Asked(path, {}, None)).body))
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "LOG": str(tmp_path / "asked"), "LISTS": str(tmp_path)}
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert (tmp_path / "asked").read_text().split() == ["pods", "nodes", "resourcequotas", "deployments.apps"]
    assert "left out: resourcequotas" in done.stderr
    read = cluster_argument.read_cluster(str(tmp_path / "cluster.json.gz"))
    assert len(read.nodes) == 24
    assert read.workloads


def test_the_line_asks_for_every_kind_that_is_read_and_for_no_other() -> None:
    pattern = re.search(r"-xE '([^']+)'", input_report.SHELL_COMMAND)
    assert pattern is not None
    asks = re.compile(pattern.group(1))
    for kind in READ.values():
        if kind.group != "metrics.k8s.io":
            assert asks.fullmatch(f"{kind.resource}.{kind.group}".rstrip(".")), kind.resource
    for other in ("secrets", "configmaps", "podsXmetrics.k8s.io", "deploymentsXapps", "nodes.metrics.k8s.io"):
        assert not asks.fullmatch(other)
