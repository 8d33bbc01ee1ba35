"""On a terminal rows of which the same is said, but for their own names, are one; a pipe has each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.cli import main
from planner.ground.words import numbered, without_own_names
from tests.builders.objects import deployment, node, pod_spec
from tests.builders.wrapped import wrapped_to

COPIES = 14


@pytest.fixture
def crowded(tmp_path: Path) -> str:
    """So many Deployments alike, each in a namespace of its own on the only node for it, and one that differs."""
    items: list[Any] = []
    for number in range(COPIES):
        space = f"team-{number}"
        items += [node(f"n{number}", gpus=1, labels={"team": space})]
        items += deployment("serve", [f"n{number}"], pod_spec(gpus=1, nodeSelector={"team": space}), namespace=space)
    items += [
        node("other", cpu="2"),
        *deployment("web", ["other"], pod_spec(cpu="2", nodeSelector={"kubernetes.io/hostname": "other"})),
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": items}))
    return str(file)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit):
        main([*words, "--quiet"])
    return capsys.readouterr().out


def test_alike_workloads_are_one_line_on_a_terminal_and_each_has_one_in_a_pipe(
    crowded: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with wrapped_to(120):
        grouped = printed(capsys, "overview", crowded)
    stuck = [line for line in grouped.splitlines() if line.startswith("stuck")]
    assert len(stuck) == 2
    assert any(f"Deployment/team-0/serve and {COPIES - 1} more" in line for line in stuck)
    assert "each of them: --rows workloads -o csv" in grouped
    whole = printed(capsys, "overview", crowded)
    assert sum(line.startswith("stuck") for line in whole.splitlines()) == COPIES + 1


def test_a_plan_tells_like_measures_and_turns_once(crowded: str, capsys: pytest.CaptureFixture[str]) -> None:
    with wrapped_to(120):
        said = printed(capsys, "overview", "--plan", crowded)
    assert said.count("kubectl patch deployment/") == 2  # one, and what takes it back
    assert "the same for 2. team-0/serve" in said
    assert f" and {COPIES} more" in said
    rows = printed(capsys, "overview", "--plan", crowded, "--rows", "order", "-o", "csv").splitlines()
    assert len(rows) == COPIES + 2


def test_numbers_in_a_row_are_told_by_their_ends() -> None:
    assert numbered([]) == ""
    assert numbered([3, 1]) == "1., 3."
    assert numbered([1, 2]) == "1., 2."
    assert numbered([5, 1, 6, 7, 3]) == "1., 3., 5. to 7."


def test_the_own_names_of_a_workload_are_what_may_differ() -> None:
    one, other = "namespace dev-0 takes no pods", "namespace dev-1 takes no pods"
    assert without_own_names("Deployment/dev-0/web", one) == without_own_names("Deployment/dev-1/web", other)
    assert without_own_names("Deployment/dev/web", "web-2 waits") == "web-2 waits"
