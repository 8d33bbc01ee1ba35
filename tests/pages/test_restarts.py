from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.records import replace
from planner.health.restarts.report import restarts
from planner.kubernetes.object_records import PodSpec, Snapshot
from planner.questions import restarts as plan_restarts
from planner.serve.processes.snapshot_fingerprint import identity
from planner.sources import demo
from planner.sources.cluster_argument import read_cluster
from planner.sources.pod_log_folder import read_text
from planner.ui import uploads
from tests.builders.records import amounts
from tests.pages.visiting import played, visit
from tests.restarts.cases import RUNNING, Cluster, container, crashed, single
from tests.sources.prometheus_server import running

API = "dev/api: workers killed by timeout"


def page(given: Snapshot | None = None, **query: str) -> AppTest:
    """Health; with `loop`, as links of earlier releases have it, the workload's tab."""
    return visit("restarts", given, **query)


def shown(app: AppTest) -> str:
    kinds = (app.success, app.info, app.warning, app.error, app.markdown, app.caption, app.code)
    return "\n".join(str(one.value) for kind in kinds for one in kind).replace("\\", "").replace("\u2060", "")


def test_the_demo_has_one_row_a_service_with_all_that_is_wrong_and_what_to_set() -> None:
    app = page()
    assert "2 workloads restart" in app.error[0].value
    words = shown(app)
    assert [one.proto.label for one in app.main.get("page_link")][:3] == [
        "**dev/celery**",
        "**dev/api**",
        "**prod/celery**",
    ]
    assert "41 restarts: OOM-killed at its own limit." in words
    assert "Set: Memory request 2688Mi, limit 2688Mi." in words
    assert "dev has 1/8 of prod's memory request (256Mi of 2Gi)" in words
    assert "Is within 10% of its memory limit." in words
    assert "for 23 h 53 min" in words
    assert "inference-api differs between prod and dev" in words


def test_only_the_cure_that_is_looked_at_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = played(monkeypatch, plan_restarts)
    page(replace(demo.read(), source="another"), loop=API)
    assert asked == ["Deployment/dev/api"]


def test_a_link_shows_one_loop() -> None:
    app = page(loop=API)
    assert app.title[0].value == "dev/api"
    words = shown(app)
    assert "gunicorn's own timeout after 31 s" in words
    assert "readiness probe fails" in words
    assert "Only here: none of 4 working pods" in words
    assert "ompletes in" in words
    assert "kubectl patch deployment/api -n dev" in words


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nvidia-runtime-error", "The NVIDIA driver of node a is too old for the image, which needs cuda>=12.4"),
        ("probe-kill-exits-zero", "is killed by its startup probe, 10 s after its start"),
        ("topology-affinity", "no NUMA node with 4 nvidia.com/gpu and 1 cpu together"),
    ],
)
def test_reasons_of_statuses_are_explained(name: str, said: str) -> None:
    """The message of the kubelet or the runtime stands among the evidence; see tests/restarts/test_statuses.py."""
    given = read_cluster(str(Path(__file__).parents[1] / "restarts" / "inputs" / f"{name}.json.gz"))
    told = restarts(given).loops[-1]
    app = page(given, loop=f"{told.workload.split('/', 1)[1]}: {told.diagnosis.cause.words}")
    assert said.lower() in shown(app).lower().replace("\u200b", "")
    assert told.diagnosis.evidence[-1].text[-25:] in shown(app)


def test_nothing_restarts() -> None:
    cluster, _ = single(RUNNING)
    app = page(cluster.snapshot())
    assert "No container restarts" in shown(app)
    assert "There are no logs" in shown(app)


def test_an_empty_cluster() -> None:
    assert "No container restarts" in shown(page(Cluster().snapshot()))


def test_uploaded_logs_change_the_answer() -> None:
    snapshot = single(RUNNING)[0].snapshot()
    app = page(snapshot)
    assert "No container restarts" in shown(app)
    text = "\n".join(f"WORKER TIMEOUT (pid:{n})" for n in range(3))
    log = read_text(text, namespace="dev", pod="api-0", container="api")
    app.session_state["_uploaded_logs-kept"] = uploads.ReadFiles(names=("a.log",), of=identity(snapshot), value=(log,))
    app.run()
    assert "△ hidden: the pod shows nothing: workers killed by timeout" in shown(app)


def test_names_out_of_a_cluster_are_not_markup() -> None:
    spec = PodSpec(containers=(container(limits=amounts(memory="256Mi")),))
    cluster = Cluster()
    cluster.node()
    cluster.pod(cluster.workload("api", "dev", spec), crashed(1), previous_log="ERROR **bold** <b>x</b> :red[y] `code`")
    snapshot = replace(cluster.snapshot(), digest="markup")
    app = page(snapshot, loop="dev/api")
    assert any(r"\*\*bold\*\*" in one.value for one in app.markdown)


def test_a_history_from_a_real_prometheus_replaces_the_one_moment(tmp_path: Path) -> None:
    """The server of the tests knows a spike of 900 MiB of the demo's pod dev/api-6c6bb8f8c6-kzqs6."""
    with running(tmp_path) as address:
        app = page(loop=API)
        app.text_input(key="_prometheus_url").set_value(address)
        app.selectbox(key="_prometheus_days").set_value(3)
        next(one for one in app.button if one.label == "Read").click().run()
        assert not app.exception
    words = shown(app)
    assert f"over 3 days from {address}" in words
    assert "900 MiB of 256Mi" in words
    assert f"Prometheus at {address}" in words


def test_a_server_that_is_not_there_changes_nothing() -> None:
    app = page(loop=API)
    app.text_input(key="_prometheus_url").set_value("http://127.0.0.1:9")
    next(one for one in app.button if one.label == "Read").click().run()
    assert "can't be reached" in shown(app)
    assert "one moment only" in shown(app)
