"""The recordings hold: every verdict, and every field but those that ties decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.rollout.answers import Reason
from planner.rollout.recording_agreement import recorded_verdicts, sentence
from tests.builders.objects import node, pod_spec, snapshot
from tests.conformance import kind_cases, rollout_cases
from tests.conformance.__main__ import main, summary
from tests.conformance.comparison import Comparison, cases
from tests.conformance.counts import RENEW, WHAT, counted, told
from tests.quick import is_quick
from tests.rollout.rollouts import stateful_set
from tests.seen import each

HERE = Path(__file__).parent

# Decided by chance (the scheduler's ties, requests milliseconds apart); docs/decisions/0007-recordings.md says what and why.
# The list is for this test alone: the comparison itself knows no case.
UNDECIDED = {
    "n-large-002",
    "n-nodes2-002-notready",
    "n-volumes2-015-wffc-topology",
    "n-volumes2-018-ephemeral",
    "p-image-then-scale",
    "spread-008-spread-zone",
    "spread-042-spread-rev",
    "t-match3-006-effect-empty",
    "t-shape3-010-shrunk-node",
    "t-volumes3-008-block-mode",
    "tight-058-spread-zone",
    "vol5-two-deploys-together",
    "vol5b-recreate-three",
    "vol5b-tie-three-0",
}

# Rules the engine doesn't know yet: family and case, a line each. A case whose fields all agree has to leave the list.
NOT_YET = {line.split()[1] for line in (HERE / "not_yet.txt").read_text(encoding="utf-8").splitlines()}


FOLDERS = {"rollouts": 890, "rollouts4": 153, "rollouts5": 113}


@pytest.fixture(scope="module")
def compared() -> list[Comparison]:
    def may_be_first(name: str) -> bool:
        return is_quick() and name not in UNDECIDED | NOT_YET

    return [c for folder in FOLDERS for c in rollout_cases.compare(HERE / folder, may_be_first=may_be_first)]


def test_every_recorded_rollout_is_compared(compared: list[Comparison]) -> None:
    counts = {folder: len(list((HERE / folder).glob("*.json.gz"))) for folder in FOLDERS}
    assert counts == FOLDERS
    assert len({c.case for c in compared}) == sum(FOLDERS.values())


def test_the_product_tells_how_many_are_right(compared: list[Comparison]) -> None:
    for folder in FOLDERS:
        names = {path.name.split(".")[0] for path in (HERE / folder).glob("*.json.gz")}
        assert counted(one for one in compared if one.case in names) == told(folder), RENEW
    assert f"Of {sum(row.total for row in recorded_verdicts()):,} verdicts" in str(sentence())
    assert {row.folder for row in recorded_verdicts()} == set(WHAT)


def test_every_verdict_agrees(compared: list[Comparison]) -> None:
    verdicts = [c for c in compared if c.is_verdict]
    assert len({c.case for c in verdicts}) == sum(FOLDERS.values())
    assert [c.case for c in verdicts if not c.agrees and c.case not in NOT_YET] == []


def test_every_field_agrees(compared: list[Comparison]) -> None:
    skipped = UNDECIDED | NOT_YET
    wrong = {(c.case, c.field): (c.expected, c.got) for c in each(compared) if not c.agrees and c.case not in skipped}
    assert wrong == {}


def test_what_a_stateful_set_with_fewer_pods_than_replicas_may_wait_for() -> None:
    """One that stands and isn't Ready holds the next ones back; where all that stand are, the API server took no more."""
    key = "StatefulSet/ml/worker"
    whole = stateful_set("worker", ["a", "a", "a"], pod_spec(gpus=1))
    workload = snapshot(node("a", gpus=4), whole).workload(key)
    assert workload is not None
    refused = {Reason.QUOTA, Reason.ADMISSION}
    for ready, reasons in ((1, refused | {Reason.NEVER_READY, Reason.POD_MANAGEMENT}), (2, refused)):
        final = {key: {"replicas": 2, "readyReplicas": ready}}
        outcome = {"pending": [], "final": final}
        assert rollout_cases.reasons_of(outcome, workload) == reasons


def test_what_is_not_known_yet_disagrees(compared: list[Comparison]) -> None:
    assert NOT_YET - {c.case for c in compared if not c.agrees} == set()


@pytest.mark.parametrize("name", sorted(path.name.split(".")[0] for path in (HERE / "rollouts").glob("seed-*")))
def test_the_seed_recordings_hold_in_every_field(compared: list[Comparison], name: str) -> None:
    own = [c for c in compared if c.case == name]
    assert len(own) >= 8
    assert all(c.agrees for c in own)


# When the StatefulSet controller looks again after names that were still taken, which is drawn out longer each time, hangs on how
# long the recorder watched.
UNDECIDED_KINDS = {"lws-leader-000", "lws-leader-004"}


def test_recorded_rollouts_of_other_kinds_hold() -> None:
    compared = list(kind_cases.compare(HERE / "kinds"))
    assert len({c.case for c in compared}) == len(list((HERE / "kinds").rglob("*.json.gz"))) == 52
    assert [c.case for c in compared if c.is_verdict and not c.agrees] == []
    assert counted(compared) == told("kinds"), RENEW
    wrong = {(c.case, c.field): (c.expected, c.got) for c in compared if not c.agrees and c.case not in UNDECIDED_KINDS}
    assert wrong == {}


def test_the_summary_counts() -> None:
    found = [
        Comparison("a", "f", "verdict", "stuck", "stuck", agrees=True, is_verdict=True),
        Comparison("a", "f", "ticks", 1, 2, agrees=False),
    ]
    assert summary("rollouts", found) == "rollouts: 1 of 1 verdicts, 1 of 2 fields"


def test_a_wrong_recording_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rollouts"
    folder.mkdir()
    name, case = next(cases(HERE / "rollouts"))
    case["outcome"]["verdict"] = "stuck" if case["outcome"]["verdict"] == "complete" else "complete"
    (folder / f"{name}.json").write_text(json.dumps(case), encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert "rollouts: 0 of 1 verdicts" in capsys.readouterr().out


def test_a_folder_without_recordings_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "none of" in capsys.readouterr().err


def test_a_case_headroom_fails_on_counts_as_a_wrong_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rollouts"
    folder.mkdir()
    name, case = next(cases(HERE / "rollouts"))
    (folder / f"{name}.json").write_text(json.dumps(case), encoding="utf-8")
    case["cluster"] = {"items": []}
    (folder / "broken.json").write_text(json.dumps(case), encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert "rollouts: 1 of 2 verdicts" in capsys.readouterr().out
