"""The live API, against a local server that plays recorded answers."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from pathlib import Path

import pytest
import yaml
from kubernetes import client
from kubernetes.config import kube_config

from planner.ground.errors import SourceError
from planner.kubernetes.object_records import Presence, Severity
from planner.sources import cluster_argument, cluster_dumps, kubeconfig, kubernetes_api
from planner.sources.api_server_connection import Connection
from planner.sources.kubernetes_api import ATTEMPTS, Api
from tests.sources.api_server import Answer, Asked, Play, api_server, as_recorded, recorded, recordings

PODS = "/api/v1/pods"


def _status(code: int, message: str, **metadata: str) -> Answer:
    return Answer(status=code, body={"kind": "Status", "metadata": metadata, "message": message, "code": code})


class _Waits(list[float]):
    """Stands for time.sleep and remembers."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def _instead(path: str, answer: Play) -> Play:
    """As recorded, but for one path."""
    return lambda asked: answer(asked) if asked.path == path else as_recorded(asked)


def _api(configuration: client.Configuration, waits: _Waits | None = None) -> Api:
    return Api(Connection(configuration, name="edu"), sleep=waits if waits is not None else _Waits())


def test_reads_every_list_page_by_page() -> None:
    with api_server(as_recorded) as (configuration, asked):
        snapshot = _api(configuration).snapshot()
    assert (len(snapshot.pods), len(snapshot.nodes), len(snapshot.events)) == (133, 24, 244)
    assert len({pod.uid for pod in snapshot.pods}) == 133
    assert asked[0].path == "/apis", "which groups the server has, so that no others are asked for"
    assert [one.query.get("limit") for one in asked[1:]] == ["500"] * (len(asked) - 1)
    assert sum(one.path == PODS for one in asked) == 6
    assert snapshot.problems == ()
    assert snapshot.source == "edu"


def test_gives_what_the_same_answers_give_as_files() -> None:
    with api_server(as_recorded) as (configuration, _):
        live = _api(configuration).snapshot()
    answers = [
        one["body"]
        for name, one in recordings().items()
        if one["status"] == 200 and not name.startswith("expired") and "items" in one["body"]
    ]
    files = cluster_dumps.read_uploads([(f"{i}.json", json.dumps(body).encode()) for i, body in enumerate(answers)])
    assert live.digest == files.digest
    assert set(live.pods) == set(files.pods)
    assert set(live.workloads) == set(files.workloads)


def test_presence_tells_empty_lists_from_missing_ones() -> None:
    with api_server(as_recorded) as (configuration, _):
        presence = _api(configuration).snapshot().presence
    assert presence["ResourceSlice"] is Presence.PRESENT  # installed, no objects
    assert presence["PodMetrics"] is Presence.ABSENT  # 404: no metrics-server


def test_a_refused_list_is_noted_and_the_rest_is_read() -> None:
    def play(asked: Asked) -> Answer:
        refused = {PODS: "pods-forbidden", "/api/v1/nodes": "nodes-forbidden"}
        return recorded(refused[asked.path]) if asked.path in refused else as_recorded(asked)

    with api_server(play) as (configuration, _):
        snapshot = _api(configuration).snapshot()
    assert snapshot.presence["Pod"] is Presence.REFUSED
    assert snapshot.presence["Node"] is Presence.REFUSED
    assert snapshot.pods == ()
    assert len(snapshot.workloads) == 21


def test_credentials_that_do_not_work_end_it_at_once() -> None:
    with (
        api_server(lambda _: recorded("unauthorized")) as (configuration, asked),
        pytest.raises(SourceError, match=r"credentials aren't accepted: Unauthorized.*Log in again"),
    ):
        _api(configuration).snapshot()
    assert len(asked) == 1


def test_an_expired_page_starts_the_list_again() -> None:
    token = recordings()["expired-page1-gone"]["request"]["query"]["continue"]
    lists = 0

    def play(asked: Asked) -> Answer:
        nonlocal lists
        lists += "continue" not in asked.query
        if asked.query.get("continue") == token:
            return recorded("expired-page1-gone")
        return recorded("expired-page0") if lists == 1 else as_recorded(asked)

    with api_server(_instead(PODS, play)) as (configuration, _):
        snapshot = _api(configuration).snapshot()
    assert lists == 2
    assert len(snapshot.pods) == 133
    assert snapshot.problems == ()


def test_a_list_that_expires_again_goes_on_with_later_objects_and_says_so() -> None:
    gone = recordings()["expired-page1-gone"]
    later = gone["body"]["metadata"]["continue"]
    first = {pod["metadata"]["name"] for pod in recordings()["expired-page0"]["body"]["items"]}
    rest = [
        pod
        for name, one in recordings().items()
        if name.startswith("pods-page")
        for pod in one["body"]["items"]
        if pod["metadata"]["name"] not in first
    ]

    def play(asked: Asked) -> Answer:
        if "continue" not in asked.query:
            return recorded("expired-page0")
        if asked.query["continue"] == later:
            return Answer(body={"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": rest})
        return recorded("expired-page1-gone")

    with api_server(_instead(PODS, play)) as (configuration, _):
        snapshot = _api(configuration).snapshot()
    assert len(snapshot.pods) == 133
    [problem] = snapshot.problems
    assert problem.severity is Severity.INFO
    assert problem.what.startswith("Pod: listing took longer")


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(_status(410, "too old"), id="no token to go on with"),
        pytest.param(_status(410, "too old", **{"continue": "same"}), id="nothing after it either"),
    ],
)
def test_a_list_that_cannot_be_finished_is_an_error_and_not_half_a_list(gone: Answer) -> None:
    def play(asked: Asked) -> Answer:
        return gone if "continue" in asked.query else recorded("expired-page0")

    with api_server(_instead(PODS, play)) as (configuration, _), pytest.raises(SourceError, match="too old"):
        _api(configuration).snapshot()


def test_a_bad_request_is_told_in_the_servers_words() -> None:
    def play(asked: Asked) -> Answer:
        return recorded("bad-continue") if "continue" in asked.query else recorded("pods-page0")

    with (
        api_server(_instead(PODS, play)) as (configuration, _),
        pytest.raises(SourceError, match="invalid continue token"),
    ):
        _api(configuration).snapshot()


def test_waits_as_long_as_the_server_asks_and_no_longer_than_bound() -> None:
    answers = [
        Answer(status=429, body="", headers={"Retry-After": "2"}),
        Answer(status=429, body="", headers={"Retry-After": "3600"}),
        Answer(status=503, body=""),
    ]

    def play(asked: Asked) -> Answer:
        return answers.pop(0) if answers else as_recorded(asked)

    waits = _Waits()
    with api_server(_instead("/api/v1/nodes", play)) as (configuration, _):
        snapshot = _api(configuration, waits).snapshot()
    assert len(snapshot.nodes) == 24
    assert waits == [2.0, 10.0, 2.0]


def test_a_moment_to_come_back_at_is_as_good_as_seconds() -> None:
    """RFC 9110, 10.2.3: a proxy before the API server may give a date."""
    busy = [
        Answer(status=503, body="", headers={"Retry-After": formatdate(time.time() + ahead, usegmt=True)})
        for ahead in (3600, -60)
    ]
    busy.append(Answer(status=503, body="", headers={"Retry-After": "soon"}))

    def play(asked: Asked) -> Answer:
        return busy.pop(0) if busy else as_recorded(asked)

    waits = _Waits()
    with api_server(_instead("/api/v1/nodes", play)) as (configuration, _):
        assert len(_api(configuration, waits).snapshot().nodes) == 24
    assert waits == [10.0, 0.0, 2.0]


def test_a_server_that_keeps_failing_is_given_up() -> None:
    with (
        api_server(_instead(PODS, lambda _: _status(500, "etcdserver: request timed out"))) as (configuration, asked),
        pytest.raises(SourceError, match=r"no answer after 4 attempts: etcdserver: request timed out"),
    ):
        _api(configuration).snapshot()
    assert sum(one.path == PODS for one in asked) == ATTEMPTS


def test_metrics_that_fail_do_not_cost_the_snapshot() -> None:
    path = "/apis/metrics.k8s.io/v1beta1/pods"
    with api_server(_instead(path, lambda _: _status(503, "the server is starting"))) as (configuration, _):
        snapshot = _api(configuration).snapshot()
    assert len(snapshot.pods) == 133
    [problem] = snapshot.problems
    assert problem.code == "kind-unread"
    assert "PodMetrics" in problem.what


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    cut = [Answer(body=recordings()["nodes-page0"]["body"], cut=100)]

    def play(asked: Asked) -> Answer:
        return cut.pop() if cut else as_recorded(asked)

    with api_server(_instead("/api/v1/nodes", play)) as (configuration, asked):
        snapshot = _api(configuration).snapshot()
    assert len(snapshot.nodes) == 24
    assert sum(one.path == "/api/v1/nodes" for one in asked) == 2


def test_something_else_at_the_address() -> None:
    with (
        api_server(lambda _: Answer(body="<html>please log in</html>")) as (configuration, _),
        pytest.raises(SourceError, match="isn't a list in JSON"),
    ):
        _api(configuration).snapshot()


def test_a_dead_server() -> None:
    with api_server(as_recorded) as (configuration, _):
        pass
    with pytest.raises(SourceError, match="nothing listens at the server's address"):
        _api(configuration).snapshot()


def test_older_versions_of_an_api_are_tried() -> None:
    def play(asked: Asked) -> Answer:
        if asked.path == "/apis/resource.k8s.io/v1beta1/deviceclasses":
            item = {"metadata": {"name": "gpu"}, "spec": {}}
            return Answer(
                body={
                    "kind": "DeviceClassList",
                    "apiVersion": "resource.k8s.io/v1beta1",
                    "metadata": {},
                    "items": [item],
                }
            )
        return as_recorded(asked)

    with api_server(play) as (configuration, _):
        snapshot = _api(configuration).snapshot()
    assert [one.name for one in snapshot.device_classes] == ["gpu"]


def test_log_of_the_container_before_its_restart() -> None:
    def play(asked: Asked) -> Answer:
        return Answer(body="first\nlast\n")

    with api_server(play) as (configuration, asked):
        log = _api(configuration).log("dev", "api-1", "api", is_previous=True, lines=50)
    assert log.lines == ("first", "last")
    assert log.is_previous
    assert asked[0].path == "/api/v1/namespaces/dev/pods/api-1/log"
    assert asked[0].query["previous"] == "true"
    assert asked[0].query["tailLines"] == "50"
    assert "limitBytes" in asked[0].query


def test_log_that_is_not_there() -> None:
    message = 'previous terminated container "api" in pod "api-1" not found'
    with (
        api_server(lambda _: _status(400, message)) as (configuration, _),
        pytest.raises(SourceError, match="previous terminated container"),
    ):
        _api(configuration).log("dev", "api-1", "api", is_previous=True)


# ── kubeconfig ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _kubeconfig(path: Path, host: str) -> None:
    contexts = [{"name": name, "context": {"cluster": "edu", "user": "reader"}} for name in ("other", "edu")]
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "edu", "cluster": {"server": host}}],
                "users": [{"name": "reader", "user": {"token": "made-up-token"}}],
                "contexts": contexts,
                "current-context": "edu",
            }
        )
    )


def test_a_context_of_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    with api_server(as_recorded) as (configuration, asked):
        _kubeconfig(file, configuration.host)
        before = file.read_bytes()
        assert kubeconfig.contexts() == ("edu", "other")
        snapshot = cluster_argument.read_cluster("context:edu")
    assert len(snapshot.pods) == 133
    assert {one.authorization for one in asked} == {"Bearer made-up-token"}
    assert file.read_bytes() == before
    assert "made-up-token" not in repr(snapshot)


def test_a_context_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    _kubeconfig(file, "http://127.0.0.1:1")
    with pytest.raises(SourceError, match=r"context:nowhere: .*Contexts of the kubeconfig: edu, other"):
        kubernetes_api.read("nowhere")


def test_no_kubeconfig_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    assert kubeconfig.contexts() == ()
    with pytest.raises(SourceError, match="Contexts of the kubeconfig: none"):
        kubernetes_api.read("edu")


@pytest.mark.parametrize("text", ["", "a: [", "just text", "contexts: 3", "contexts: [{}]"])
def test_a_damaged_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    assert kubeconfig.contexts() == ()
    with pytest.raises(SourceError):
        kubernetes_api.read("edu")
