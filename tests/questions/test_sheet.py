"""What is described once is the same in facts, CSV, words and on a command."""

from __future__ import annotations

import csv
import io

import pytest

from planner.cli import COMMANDS, main
from planner.ground.table_formats import as_csv
from planner.questions import INDEX, question_called
from planner.questions.in_flight import QUESTION, answer
from planner.questions.table_wording import listed
from planner.rollout.in_flight_report import InFlightSettings
from tests.builders.objects import deployment, node, snapshot
from tests.rollout.test_in_flight import ONE_GPU, midway

MIDWAY = snapshot(node("gpu-0", gpus=4), *midway("api", ["gpu-0"], ["gpu-0"]))


def test_a_listing_is_facts_csv_and_words_of_the_same_values() -> None:
    found = answer(MIDWAY, InFlightSettings())
    (row,) = csv.DictReader(io.StringIO(as_csv(QUESTION.rows(found))))
    facts = {(one.metric, one.labels.get("workload", "")): one.value for one in QUESTION.facts(found)}
    (told,) = listed(QUESTION.listings[0], found)
    assert facts["rollouts_in_flight", ""] == 1
    assert float(row["for_seconds"]) == facts["in_flight_for", "Deployment/ml/api"]
    assert told["workload"] == row["workload"] == "Deployment/ml/api"
    assert "rolling" not in told, "a column without a heading is for programs"
    assert str(told["does"]) == "is rolling out"


def test_under_way_is_said_with_its_number() -> None:
    assert str(answer(MIDWAY, InFlightSettings()).sentence) == "1 rollout is under way"
    at_rest = answer(snapshot(node("gpu-0", gpus=4), *deployment("api", ["gpu-0"], ONE_GPU)), InFlightSettings())
    assert (str(at_rest.sentence), at_rest.workloads) == ("no rollout is under way", ())


def test_every_question_of_the_index_is_a_command_with_its_line() -> None:
    called = {one.called or one.named or name.replace("_", "-"): one for name, one in INDEX.items() if one.room}
    assert {" ".join(name.split(" ")[:2]): one.line for name, one in called.items()}.items() <= COMMANDS.items()


@pytest.mark.parametrize("name", [name for name in INDEX if question_called(name).about])
def test_a_command_that_is_made_of_a_question_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name.replace("_", "-"), "--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert "--output" in said
    assert " ".join(question_called(name).about.split())[:40] in " ".join(said.split())


def test_a_made_command_answers_in_words_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    for more, wanted in ((), "No rollout is under way; 1 workload has more or fewer pods than wanted."), (
        ("-o", "csv"), "workload,does,since_seconds,for_seconds,rolling,overdue,played,cause",
    ):  # fmt: skip
        with pytest.raises(SystemExit):
            main(["in-flight", "demo", *more])
        assert capsys.readouterr().out.splitlines()[0] == wanted
