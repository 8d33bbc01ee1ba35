"""Each door that tells of restarts tells the same cause and the same cure of each workload: commands, documents, pages, agents, the report.

The inputs are those of `test_statuses`: small clusters after what was reported of real ones.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from planner.cli import main
from planner.cli.mcp import ask_within
from planner.ground.words import short_name
from planner.health.restarts.model import Loop
from planner.health.restarts.report import findings, restarts
from planner.serve.processes.process_pool import Pool
from planner.sources.cluster_argument import read_cluster
from tests.pages.visiting import visit
from tests.restarts.test_statuses import INPUTS
from tests.seen import each

NAMES = sorted(one.name.removesuffix(".json.gz") for one in INPUTS.iterdir())
WITHOUT_LOGS = {"cpu-request-over-its-limit"}  # its trouble shows in a log alone


def file(name: str) -> Path:
    return INPUTS / f"{name}.json.gz"


def loops(name: str) -> tuple[Loop, ...]:
    return restarts(read_cluster(str(file(name)))).loops


def plain(text: str) -> str:
    """Without line ends, and what Markdown and HTML write otherwise."""
    return " ".join(html.unescape(text).replace("\\", "").replace("\u2060", "").split())


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([*map(str, words)])
    assert not stopped.value.code
    return capsys.readouterr().out


def of_page(name: str) -> str:
    """All that the workload's page says of each loop, where links of earlier releases lead."""
    said: list[str] = []
    for loop in loops(name):
        words = f"{short_name(loop.workload)}: {loop.diagnosis.cause.words}"
        app = visit("restarts", read_cluster(str(file(name))), loop=words)
        assert not app.exception
        kinds = (app.success, app.info, app.warning, app.error, app.markdown, app.caption)
        said += [str(one.value) for kind in kinds for one in kind]
    return "\n".join(said)


def of_agent(name: str) -> str:
    """As `headroom serve --mcp` answers the tool, in this process."""
    here = cast("Pool", SimpleNamespace(run=lambda answer, *given, is_wanted: answer(*given)))
    snapshot = read_cluster(str(file(name)))
    _, found = ask_within(snapshot, "restarts", {}, pool=here, is_embedded=False, answer_seconds=300.0)
    return json.dumps(found, ensure_ascii=False)


def test_the_inputs_are_there() -> None:
    assert len(NAMES) >= 6
    assert {name for name in NAMES if not loops(name)} == WITHOUT_LOGS


@pytest.mark.parametrize("door", ["text", "json", "csv", "markdown", "report", "findings", "page", "agent"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_LOGS])
def test_each_tells_the_same_cause_and_cure(
    name: str, door: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = read_cluster(str(file(name)))
    if door == "report":
        printed(capsys, "report", file(name), "--to", tmp_path / "report.html")
        said = (tmp_path / "report.html").read_text(encoding="utf-8")
    elif door == "findings":
        said = json.dumps([[one.what, one.fix] for one in findings(snapshot)], ensure_ascii=False)
    elif door == "page":
        said = of_page(name)
    elif door == "agent":
        said = of_agent(name)
    else:
        said = printed(capsys, "restarts", file(name), "-o", door)
    said = plain(said.replace('\\"', '"').replace('""', '"'))
    for loop in each(loops(name)):
        assert plain(str(loop.diagnosis.what)) in said, loop.workload
        assert plain(str(loop.diagnosis.cure)) in said, loop.workload
