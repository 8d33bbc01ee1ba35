from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.records import replace
from planner.health.drift.model import Rule
from planner.health.drift.service_differences import drift
from planner.kubernetes.object_records import Snapshot
from planner.questions import drift as plan_drift
from planner.sources import demo
from planner.sources.cluster_argument import read_cluster
from planner.ui import uploads
from tests.drift.test_drift import dev_and_prod
from tests.drift.test_telling import many
from tests.pages.visiting import played, visit
from tests.restarts.cases import Cluster


def page(given: Snapshot | None = None, others: tuple[Snapshot, ...] = (), **query: str) -> AppTest:
    """A workload's tab, of `workload`; else Health."""
    app = (
        visit("rollout", given, about="Same service elsewhere", **query)
        if query.get("workload")
        else visit("drift", given, **query)
    )
    if others:
        app.session_state["_other_clusters-kept"] = uploads.ReadFiles(names=("west.json",), of=None, value=others)
        app.run()
    return app


def shown(app: AppTest) -> str:
    assert not app.exception
    kinds = (app.success, app.info, app.warning, app.error, app.markdown, app.caption, app.code)
    return "\n".join(str(one.value) for kind in kinds for one in kind).replace("\\", "")


def test_what_is_suggested_can_be_rolled_out() -> None:
    """A CPU request above today's limit was suggested, which the API server refuses."""
    given = read_cluster(str(Path(__file__).parents[1] / "restarts" / "inputs" / "cpu-request-over-its-limit.json.gz"))
    (service,) = [one for one in drift((given,), Rule()).services if one.suggestions]
    text = shown(page(given, workload=service.suggestions[0].workload))
    assert "CPU request 1040m, limit 1040m" in text
    assert "can't be worked out" not in text
    assert "ompletes in 2 steps" in text


def test_the_demo_has_a_row_for_each_service_that_differs() -> None:
    app = page()
    assert "celery in dev and api in dev" in shown(app)
    links = [one.proto for one in app.main.get("page_link")]
    assert {"**dev/celery**", "**dev/api**", "**dev/inference-api**", "**dev/web**"} <= {one.label for one in links}
    (web,) = [one for one in links if one.label == "**dev/web**"]
    assert "about=Same+service+elsewhere" in web.query_string


def test_a_row_carries_the_rule_by_which_its_service_is_matched() -> None:
    app = page(same="trainer=api")
    links = [one.proto for one in app.main.get("page_link")]
    rows = [one.query_string for one in links if "about=" in one.query_string]
    assert len(rows) > 4
    assert sum("same=trainer%3Dapi" in row for row in rows) == len(rows)


def test_dev_api_against_prod_api_differences_only_then_everything() -> None:
    app = page(workload="Deployment/dev/api")
    assert "1/8 of prod's memory request (256Mi of 2Gi)" in shown(app)
    matrix = app.table[0].value
    assert list(matrix.columns) == ["What", "prod", "dev"]
    assert "grace period" not in list(matrix["What"])
    app.toggle(key="everything").set_value(True).run()
    assert "grace period" in list(app.table[0].value["What"])


def test_suggestions_come_with_their_rollout() -> None:
    words = shown(page(workload="Deployment/dev/api"))
    assert "Suggested: memory request 1920Mi" in words
    assert "ompletes in" in words
    assert "memory: 1920Mi" in words


def test_the_rule_is_in_the_link() -> None:
    app = page(match="image", reference="dev", workload="Deployment/dev/web")
    assert list(app.table[0].value.columns) == ["What", "dev", "prod"]
    assert app.selectbox(key="match").value == "image"


def test_a_second_cluster() -> None:
    other = replace(demo.read(), source="west.json", digest="other")
    assert "set up the same" not in shown(page(None, (other,)))
    app = page(None, (other,), workload="Deployment/prod/api")
    assert "west/prod" in list(app.table[0].value.columns)
    assert "west.json" not in shown(app)
    app.query_params["more_drift"] = "true"
    assert "west.json" in shown(app.run())


@pytest.mark.parametrize(
    ("cluster", "words"),
    [(Cluster(), "environment"), (dev_and_prod(), "The difference explains the trouble of api in dev")],
    ids=["empty", "two"],
)
def test_small_clusters(cluster: Cluster, words: str) -> None:
    assert words in shown(page(replace(cluster.snapshot(), digest=f"small-{len(cluster.pods)}")))


def test_of_many_environments_some_are_shown_and_one_suggestion_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = played(monkeypatch, plan_drift)
    snapshot = replace(many(20, in_trouble=range(19)).snapshot(), digest="many-environments")
    assert "**dev-07**" in shown(page(snapshot, workload="Deployment/dev-07/api"))
    assert asked == ["Deployment/dev-07/api"]  # its own
    app = page(snapshot, workload="Deployment/dev-19/api")
    words = shown(app)
    assert "dev-00 and 18 more" in [column for table in (*app.dataframe, *app.table) for column in table.value.columns]
    assert len(app.table[0].value.columns) == 4  # what it is, and three that differ
    assert [one.proto.title for one in app.warning] == ["△ dev-00 and 18 more"]
    assert "So it is in" not in words
    assert asked[1:] == [f"Deployment/dev-0{place}/api" for place in range(4)]  # the first ones: it has none itself
