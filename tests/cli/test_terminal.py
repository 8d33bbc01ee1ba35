"""Names, reasons and log lines out of a cluster do nothing to a terminal, a page, a chart, a spreadsheet or a program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from planner.cli import main
from planner.figures.text_labels import plain
from planner.ground.records import replace
from planner.ground.table_formats import as_csv, as_json
from planner.ground.words import literal
from planner.kubernetes.object_records import ContainerState, Finding, Severity
from planner.sources import cluster_argument, demo

ESCAPES = "\x1b[2J\x1b]0;title\x07\x1b]8;;https://evil.example\x1b\\x\x9b31m\r\x08\u202e\x00"
ALIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo with escapes wherever Kubernetes takes any text: images, reasons, messages, log lines, the source's name."""
    base = demo.read()
    states = [ContainerState(name="api", state="waiting", reason=f"Crash{ESCAPES}", message=ESCAPES, restart_count=9)]
    pods = tuple(
        replace(pod, unschedulable_message=ESCAPES, reason=ESCAPES, containers=tuple(states) if pod.containers else ())
        for pod in base.pods
    )
    workloads = tuple(
        replace(
            one,
            template=replace(
                one.template,
                spec=replace(
                    one.template.spec,
                    containers=tuple(replace(c, image=f"{c.image}{ESCAPES}") for c in one.template.spec.containers),
                    scheduler_name=ESCAPES,
                ),
            ),
        )
        for one in base.workloads
    )
    events = tuple(replace(event, message=ESCAPES, reason=f"{event.reason}") for event in base.events)
    logs = tuple(replace(log, lines=tuple(f"ERROR {ESCAPES} {line}" for line in log.lines)) for log in base.logs)
    problem = Finding(severity=Severity.ERROR, code="x", object=ESCAPES, what=ESCAPES, fix=ESCAPES)
    made = replace(base, source=ESCAPES, pods=pods, workloads=workloads, events=events, logs=logs, problems=(problem,))
    monkeypatch.setattr(cluster_argument, "read_cluster", lambda *_, **__: made)


@pytest.mark.parametrize(
    "command", ["overview", "rollout", "capacity", "seats", "restarts", "findings", "memory", "drift"]
)
@pytest.mark.parametrize("output", ["text", "json", "yaml", "csv", "markdown"])
def test_nothing_printed_moves_a_terminal(
    command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile(monkeypatch)
    more = ["-w", "Deployment/prod/ml-worker"] if command == "rollout" else []
    with pytest.raises(SystemExit):
        main([command, "context:x", "-o", output, *more])
    out, err = capsys.readouterr()
    assert ALIVE.search(out) is None
    assert ALIVE.search(err) is None
    if output == "json":
        json.loads(out)
    elif output == "yaml":
        yaml.safe_load(out)


def test_an_error_about_a_path_moves_none_either(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for argv in (["overview", f"{tmp_path}/{ESCAPES[:-1]}"], ["rollout", "demo", "-w", ESCAPES], [f"--{ESCAPES}"]):
        with pytest.raises(SystemExit):
            main(argv)
        out, err = capsys.readouterr()
        assert ALIVE.search(out + err) is None
        assert err


def test_json_keeps_the_values() -> None:
    values = {"a": f"{ESCAPES}é\ud800", "b": [1, None, 2.5]}
    assert json.loads(as_json(values)) == values
    assert ALIVE.search(as_json(values)) is None
    as_json(values).encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json(float("nan"))


@pytest.mark.parametrize(
    ("text", "alive"),
    [
        ("https://evil.example/x", r"(^|[^\w\u2060])https?:"),
        ("(http://evil.example", r"(^|[^\w\u2060])https?:"),
        ("see www.evil.example", r"(^|[^\w\u2060])www\."),
        ("bob@evil.example", r"\w@\w"),
        (":material/home:", r":[\w/+-]+:"),
        (":material_home:", r":[\w/+-]+:"),
        (":smile: :+1:", r":[\w/+-]+:"),
    ],
)
def test_what_is_looked_for_in_text_is_parted(text: str, alive: str) -> None:
    """Streamlit and GFM look for these after Markdown's escapes are read, so that escaping alone doesn't help."""
    joined = "\u2060"
    assert re.search(alive, text)
    read = re.sub(r"\\(.)", r"\1", literal(text))
    assert re.search(alive, read) is None
    assert read.replace(joined, "") == text


@pytest.mark.parametrize(
    "text", [":red[x]", "![a](https)", "<b>x</b>", "$x$", "# a", "`a`", "&lt;", "a|b", "*a*", "_a_", "~a~"]
)
def test_what_markdown_obeys_is_escaped(text: str) -> None:
    assert re.search(r"(?<!\\)[\\`*_\[\]<>#$:~|&](?![\\`*_\[\]<>#$:~|&(])", literal(text)) is None


def test_text_on_a_page_is_one_line() -> None:
    assert literal("a\nb\u2028c\r\nd\x85e\x1b[0m") == r"a b c d e\\x1b\[0m"


def test_text_in_a_chart_is_text() -> None:
    assert plain('<a href="javascript:x">b</a>\n<br>') == '&lt;a href="javascript:x"&gt;b&lt;/a&gt; &lt;br&gt;'


@pytest.mark.parametrize("text", ["=cmd|x", "+1", "-1+cmd", "@SUM(A1)", "\t=1", "\n=1", " =1"])
def test_text_in_a_spreadsheet_is_text(text: str) -> None:
    cell = as_csv([{"a": text}]).split("\n", 1)[1].lstrip('"')
    assert cell.startswith("'")
