import pytest
import streamlit

from planner.figures import report
from planner.ground.records import replace
from planner.kubernetes.records import Owner, Snapshot
from planner.questions.report import Review
from tests.builders import objects
from tests.pages.clusters import WORKER, full, node, snapshot, worker
from tests.pages.visiting import said, visit


def test_the_demo_tells_its_story_at_once() -> None:
    app = visit("overview")
    assert "could not be rolled out now" in app.error[0].proto.title
    assert "hold and wait 1" in app.error[0].value
    assert "The new pod needs 4 A100s, and the pods that it replaces hold all 8." in said(app)
    assert said(app).count("hold all 8") == 1  # said once
    assert {one.label for one in app.metric} >= {"Could be rolled out", "GPUs free", "Pods waiting"}
    assert "taken 2026-" in said(app)


def test_a_cluster_with_room_is_good_news() -> None:
    app = visit("overview", full(unavailable=1))
    assert app.success[0].proto.title == "✓ All 1 workload could be rolled out now"
    assert not app.error


def test_trouble_is_told_with_a_link_to_its_rollout() -> None:
    app = visit("overview", full())
    assert app.error[0].proto.title == "✗ 1 of 1 workload could not be rolled out now"
    links = [link.proto for link in app.get("page_link")]
    assert any(WORKER in link.label for link in links)
    assert any("workload=Deployment" in link.query_string for link in links)


def test_an_empty_cluster_says_so() -> None:
    app = visit("overview", snapshot(node("node-0", 0)))
    assert "Nothing to roll out" in said(app)
    assert "no GPUs" in {one.value for one in app.metric}


@pytest.mark.parametrize("given", [full(), full(unavailable=1)])
def test_what_is_not_judged_is_said(given: Snapshot) -> None:
    owner = Owner(kind="Rollout", name="llm", uid="r")
    mine = replace(given.pods[0], name="llm-1", uid="llm-1", owner=owner, node_name="")
    page = said(visit("overview", replace(given, pods=(*given.pods, mine))))
    assert "1 Rollout is not judged (its 1 pod without GPUs)" in page


def test_names_out_of_a_cluster_stay_names() -> None:
    given = snapshot(node("node-0", 0), *worker(1), source="[a](http://elsewhere.example) <b>")
    app = visit("overview", given)
    assert not [text.value for text in app.caption if "[a](http" in text.value]


def test_the_review_counts_the_findings_that_the_page_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    summaries: list[str] = []

    def read(found: Review) -> str:
        summaries.append(str(found.answer.sentence))
        return ""

    monkeypatch.setattr(report, "html", read)
    monkeypatch.setattr(streamlit, "download_button", lambda *_, data, **__: data() if callable(data) else None)
    page = said(visit("overview"))
    assert "Findings: 2 errors, 8 warnings, 1 note." in page
    assert summaries
    assert summaries[0].endswith(" 2 errors, 8 warnings, 1 note.")


def test_workloads_that_the_same_is_said_of_are_told_once() -> None:
    teams = [objects.deployment(f"serve-{i}", [""], objects.pod_spec(gpus=4), namespace=f"team-{i}") for i in range(9)]
    app = visit("overview", snapshot(node("node-0", 1), *(item for team in teams for item in team)))
    assert not app.exception
    assert said(app).count("The new pod needs 4 T4s") == 1
    assert "and 8 more for the same reason" in said(app)
    assert "All are in the list of every workload." in said(app)
    assert [
        link.proto.label
        for link in app.get("page_link")
        if "serve" in link.proto.label and "team-1" in link.proto.label
    ] == []
