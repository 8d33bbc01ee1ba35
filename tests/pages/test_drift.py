from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.records import replace
from planner.kubernetes.records import Snapshot
from planner.questions import drift as plan_drift
from planner.sources import demo
from planner.sources.cluster_argument import read_cluster
from planner.ui import uploads
from tests.drift.test_drift import dev_and_prod
from tests.drift.test_telling import many
from tests.pages.visiting import played
from tests.restarts.cases import Cluster

PAGE = Path(__file__).parents[2] / "pages" / "drift.py"


def page(given: Snapshot | None = None, others: tuple[Snapshot, ...] = (), **query: str) -> AppTest:
    app = AppTest.from_file(PAGE, default_timeout=120)
    if given is not None:
        app.session_state["_clusters"] = (given,)
    if others:
        app.session_state["_other_clusters-kept"] = uploads.ReadFiles(names=("west.json",), of=None, value=others)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    return app


def shown(app: AppTest) -> str:
    assert not app.exception
    kinds = (app.success, app.info, app.warning, app.error, app.markdown, app.caption, app.code)
    return "\n".join(str(one.value) for kind in kinds for one in kind).replace("\\", "")


def test_what_is_suggested_can_be_rolled_out() -> None:
    """A CPU request above today's limit was suggested, which the API server refuses."""
    app = page(
        read_cluster(str(Path(__file__).parents[1] / "restarts" / "inputs" / "cpu-request-over-its-limit.json.gz"))
    )
    text = shown(app)
    assert "CPU request 1040m, limit 1040m" in text
    assert "can't be worked out" not in text
    assert "ompletes in 2 steps" in text


def test_the_demo() -> None:
    app = page()
    assert "celery in dev and api in dev" in shown(app)
    assert list(app.dataframe[0].value["Service"]) == ["celery", "api", "inference-api", "web"]
    assert app.dataframe[0].value["dev"][1] == "256Mi, ✗ 18 restarts"


def test_dev_api_against_prod_api_differences_only_then_everything() -> None:
    app = page(service="api")
    assert "1/8 of prod's memory request (256Mi of 2Gi)" in shown(app)
    matrix = app.table[0].value
    assert list(matrix.columns) == ["What", "prod", "dev"]
    assert "grace period" not in list(matrix["What"])
    app.toggle(key="everything").set_value(True).run()
    assert "grace period" in list(app.table[0].value["What"])


def test_suggestions_come_with_their_rollout() -> None:
    words = shown(page(service="api"))
    assert "Suggested: memory request 1920Mi" in words
    assert "ompletes in" in words
    assert "memory: 1920Mi" in words


def test_the_rule_is_in_the_link() -> None:
    app = page(match="image", reference="dev", service="web")
    assert list(app.table[0].value.columns) == ["What", "dev", "prod"]
    assert app.selectbox(key="match").value == "image"


def test_a_second_cluster() -> None:
    other = replace(demo.read(), source="west.json", digest="other")
    app = page(None, (other,))
    assert "west/prod" in list(app.dataframe[0].value.columns)
    assert "west.json" in shown(app)


@pytest.mark.parametrize("cluster", [Cluster(), dev_and_prod()], ids=["empty", "two"])
def test_small_clusters(cluster: Cluster) -> None:
    assert "environment" in shown(page(replace(cluster.snapshot(), digest=f"small-{len(cluster.pods)}")))


def test_an_empty_cluster_says_what_to_do() -> None:
    assert "upload another cluster below, or edit the rule" in shown(page(replace(Cluster().snapshot(), digest="none")))


def test_of_many_environments_some_are_shown_and_one_suggestion_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = played(monkeypatch, plan_drift)
    snapshot = replace(many(20, in_trouble=range(20)).snapshot(), digest="many-environments")
    app = page(snapshot)
    words = shown(app)
    assert "dev-00 and 19 more" in [column for table in (*app.dataframe, *app.table) for column in table.value.columns]
    tables = (*app.dataframe, *app.table)
    assert [len(one.value.columns) for one in tables] == [4, 3]  # the service's name and words; what it is
    assert len(app.warning) == 1 + 1  # the headline, and one for all that are alike
    assert "So it is in" not in words
    assert asked == ["Deployment/dev-00/api"]
    app.selectbox(key="suggested").set_value("dev-07, api").run()
    assert "**dev-07**" in shown(app)
    assert asked == ["Deployment/dev-00/api", "Deployment/dev-07/api"]
