"""Now: four lines, each with what is, what next and a button; then the workloads that need attention."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from planner.figures import html_report
from planner.ground.records import replace
from planner.history.predictions import Door, Prediction, PredictionOutcome, RolloutEnd, line_of
from planner.kubernetes.object_records import Owner, Snapshot
from planner.questions.report import Report
from planner.rollout import recording_agreement
from planner.rollout.answers import Verdict
from planner.sources.append_only_journal import VARIABLE, Journal
from tests.builders import objects
from tests.builders.objects import read_items
from tests.pages.clusters import WORKER, full, node, snapshot, worker
from tests.pages.visiting import said, visit
from tests.seen import each


def words_of(app: AppTest) -> str:
    return said(app).replace("*", "")


def linked(app: AppTest) -> list[str]:
    """The names in links, as they are shown."""
    return [link.proto.label.replace("*", "").replace("\\", "") for link in app.get("page_link")]


def test_the_demo_says_in_four_lines_what_is_and_what_next() -> None:
    words = words_of(visit("overview"))
    assert "5 of 20 workloads would get stuck." in words
    assert "Next: dev/inference-api: maxSurge 0, maxUnavailable 1 instead of" in words
    assert "2 pods are pending for 5 GPUs." in words
    assert "Next: One more gpu-t4 node starts batch/trainer, $438 a month." in words
    assert "12 of 24 nodes are single points of failure." in words
    assert "Next: One spare gpu-t4 node covers 6 of them, $438 a month." in words
    assert "$36,972 a month; $4,974 of it isn't requested." in words
    assert "Next: 4 nodes can go once their pods move, $1,125 a month." in words
    assert words.count("hold all 8") == 1  # each reason is said once
    assert "taken 2026-" in words
    assert str(recording_agreement.sentence()) in words
    assert not visit("overview").metric


def test_a_workload_that_restarts_is_listed_although_it_completes() -> None:
    app = visit("overview")
    assert "dev/celery" in linked(app)
    assert "41 restarts: " in words_of(app)
    assert "prod/web" not in linked(app), "nothing is wrong with it"
    assert "13 more complete." in words_of(app)


def test_what_is_supposed_is_on_every_page_in_the_link_and_goes_again() -> None:
    app = visit("overview")
    app.button(key="suppose-pending").click().run()
    assert app.query_params["as_if"] == "add:gpu-t4=1"
    words = words_of(app)
    assert "15 → 16 workloads can roll out" in words
    assert "2 → 1 pods are pending" in words
    assert "+$438 a month" in words
    assert "1 pod is pending for 4 GPUs." in words
    assert "$37,410 a month" in words
    assert "node starts llm-lab/llm-canary, $11,825 a month; the pool's limit has to be raised." in words
    app.button(key="suppose-rollouts").click().run()
    assert "add:gpu-t4=1;resize:Deployment/dev/inference-api=maxSurge:0,maxUnavailable:1" in app.query_params["as_if"]
    app.switch_page("costs.py").run()
    assert "As if" in words_of(app)
    assert "$37,410" in words_of(app)
    app.button(key="as_if_clear").click().run()
    assert "As if" not in words_of(app)
    assert "$36,972" in words_of(app)


def test_what_cannot_be_supposed_is_said_and_the_pages_answer_for_the_cluster_as_it_is() -> None:
    for changes, why in (("add:nowhere=1", "There is no pool nowhere"), ("format:disk", "is not a change")):
        words = words_of(visit("overview", as_if=changes))
        assert why in words
        assert "Every page answers for the cluster as it is." in words
        assert "5 of 20 workloads would get stuck." in words


def test_a_cluster_with_room_is_good_news() -> None:
    words = words_of(visit("overview", full(unavailable=1)))
    assert "All 1 workload can roll out." in words
    assert "would get stuck" not in words


def test_trouble_is_told_with_a_link_to_its_rollout() -> None:
    app = visit("overview", full())
    assert "1 of 1 workload would get stuck." in words_of(app)
    assert WORKER.partition("/")[2] in linked(app)
    assert any("workload=Deployment" in link.proto.query_string for link in app.get("page_link"))


def test_an_empty_cluster_says_so() -> None:
    words = words_of(visit("overview", snapshot(node("node-0", 0))))
    assert "No pod is pending." in words or "Not known: the list of pods is missing or cut off." in words


def test_what_was_not_read_is_said_in_its_line_and_nowhere_else() -> None:
    """Of pods without their controllers it isn't known whether they come back; of nodes alone nothing is but the bill."""
    _, _, *pods = objects.deployment("x", ["a", "b"], objects.pod_spec())
    app = visit("overview", read_items([*map(objects.node, "ab"), *pods]))
    words = words_of(app)
    assert "? Not known for 2 of 2 nodes: whether their pods come back." in words
    assert "can fail alone" not in words
    alone = visit("overview", read_items([objects.node("a")]))
    assert words_of(alone).count("Not known: the input holds no Pods") == 2  # rollouts and one loss
    assert [len(app.info), len(alone.info)] == [0, 0]
    assert all("Data: " in words_of(one) for one in (app, alone))


def test_without_a_price_the_next_step_is_to_give_one() -> None:
    app = visit("overview", full())
    words = words_of(app)
    assert "? No price: the price book knows none of the nodes." in words
    assert "Next: Give prices of your own as a CSV." in words
    assert not app.info


@pytest.mark.parametrize("given", [full(), full(unavailable=1)])
def test_what_is_not_judged_is_said(given: Snapshot) -> None:
    owner = Owner(kind="Rollout", name="llm", uid="r")
    mine = replace(given.pods[0], name="llm-1", uid="llm-1", owner=owner, node_name="")
    page = said(visit("overview", replace(given, pods=(*given.pods, mine))))
    assert "1 Rollout is not judged (its 1 pod without GPUs)" in page


def test_names_out_of_a_cluster_stay_names() -> None:
    given = snapshot(node("node-0", 0), *worker(1), source="[a](http://elsewhere.example) <b>")
    app = visit("overview", given)
    assert not [text.value for text in each(app.caption) if "[a](http" in text.value]


def test_the_review_counts_the_findings_that_the_page_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    summaries: list[str] = []

    def read(found: Report) -> str:
        summaries.append(str(found.answer.sentence))
        return ""

    monkeypatch.setattr(html_report, "html", read)
    monkeypatch.setattr(streamlit, "download_button", lambda *_, data, **__: data() if callable(data) else None)
    page = said(visit("overview"))
    assert "Findings: 2 errors, 8 warnings, 1 note." in page
    assert summaries
    assert summaries[0].endswith(" 2 errors, 8 warnings, 1 note.")


@pytest.mark.parametrize(("teams", "rows"), [(9, 9), (20, 1)])
def test_few_workloads_are_told_one_by_one_and_of_many_each_cause_once(teams: int, rows: int) -> None:
    every = [
        objects.deployment(f"serve-{i}", [""], objects.pod_spec(gpus=4), namespace=f"team-{i}") for i in range(teams)
    ]
    app = visit("overview", snapshot(node("node-0", 1), *(item for team in every for item in team)))
    assert len([name for name in linked(app) if "serve" in name]) == rows
    assert (f"And {teams - 1} more for the same reason." in words_of(app)) == (rows == 1)


def test_the_foot_and_over_time_say_which_rollouts_the_cluster_still_shows() -> None:
    """A template that was changed while paused hangs; of a cluster that shows no rollout the foot says nothing."""
    items = [*worker(2), node("node-0", 1), node("node-1", 1)]
    calm, template = read_items(items), items[0]["spec"]["template"]
    paused = {**template, "spec": {"containers": [{**template["spec"]["containers"][0], "image": "worker:2"}]}}
    items[0]["spec"] |= {"paused": True, "template": paused}
    assert "Rollouts it still shows" not in words_of(visit("overview", calm))
    assert "shows no past rollout" in words_of(visit("history", calm))
    assert "Rollouts it still shows: 1, of which 1 hung." in words_of(visit("overview", read_items(items)))
    assert "1 rollout, 1 hung" in words_of(visit("history", read_items(items)))


def test_the_foot_and_over_time_say_how_often_predictions_came_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of this cluster, of the last 30 days, and the wrong ones first; nothing of another cluster, and nothing where none is kept."""
    calm = read_items([*worker(2), node("node-0", 1), node("node-1", 1)])
    now = time.time()

    def keep(cluster: str, number: int, outcome: RolloutEnd, at: float) -> None:
        prediction = Prediction(
            id=f"u-{number}", at=at, workload=f"Deployment/ml/worker-{number}", uid="u", generation=number, door=Door.WATCH, digest="d" * 64,
            verdict=Verdict.COMPLETES,
        )  # fmt: skip
        came = PredictionOutcome(id=prediction.id, at=at + 60.0, outcome=outcome, began=at, ended=at + 60.0)
        journal = Journal(str(tmp_path), cluster)
        assert all(journal.append(line_of(entry), at) for entry in (prediction, came))

    monkeypatch.setenv(VARIABLE, str(tmp_path))
    streamlit.cache_resource.clear()
    keep("another", 1, RolloutEnd.STUCK, now - 500.0)
    assert "In this cluster" not in words_of(visit("overview", calm))
    assert "Predicted in" not in words_of(visit("history", calm))
    keep(calm.source, 2, RolloutEnd.COMPLETED, now - 400.0)
    keep(calm.source, 3, RolloutEnd.STUCK, now - 300.0)
    keep(calm.source, 4, RolloutEnd.COMPLETED, now - 40 * 86_400.0)
    streamlit.cache_resource.clear()
    assert "In this cluster: 1 of 2 right in 30 days." in words_of(visit("overview", calm))
    page = visit("history", calm)
    assert "Predicted in 30 days: 2 said completes, 1 came so" in words_of(page)
    (table,) = (frame.value for frame in page.dataframe if "Likeliest cause" in frame.value.columns)
    assert [name.replace("\n", "") for name in table["Workload"]] == [
        "Deployment/ml/worker-3",
        "Deployment/ml/worker-2",
    ]
    monkeypatch.setenv(VARIABLE, "s3://bucket/path")
    assert "In this cluster" not in words_of(visit("overview", calm))
    streamlit.cache_resource.clear()
