"""``headroom serve --mcp``, asked by the SDK's own client."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TextIO

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from planner.cli import mcp
from planner.cli.mcp import ACTIONS
from planner.ground.errors import SourceError
from planner.questions import INDEX, question_called
from planner.questions.question import Want
from planner.serve.processes.process_pool import Pool
from planner.sources import demo
from tests.architecture import schemas
from tests.architecture.tree import ROOT
from tests.ports import reserved

PROGRAM = "from planner.cli import main; main()"
STUCK = "deployment/prod/llm-serve"
MOST_BYTES = 8_000  # of all that an agent reads before its first question
MOST_TEXT_BYTES = 8_000
DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "new", "namespace": "dev"},
    "spec": {
        "selector": {"matchLabels": {"app": "new"}},
        "template": {
            "metadata": {"labels": {"app": "new"}},
            "spec": {"containers": [{"name": "main", "image": "new:1", "resources": {"requests": {"cpu": "1"}}}]},
        },
    },
}  # fmt: skip


def asked(
    ask: Callable[[Client], Awaitable[Any]], *words: str, cluster: str = "demo", errors: TextIO = sys.stderr
) -> Any:
    """What `ask` finds out of ``headroom serve --mcp CLUSTER``, started as an agent does."""

    async def run() -> Any:
        place = StdioServerParameters(
            command=sys.executable,
            args=["-c", PROGRAM, "serve", "--mcp", cluster, *words],
            env=dict(os.environ),
            cwd=str(ROOT),
        )
        async with Client(stdio_client(place, errlog=errors)) as client:
            return await ask(client)

    return anyio.run(run)


def test_every_question_of_a_snapshot_is_an_action_of_a_few_small_tools() -> None:
    async def ask(client: Client) -> Any:
        return await client.list_tools()

    listed = asked(ask)
    tools = {one.name: one for one in listed.tools}
    assert len(tools) <= 6
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) <= MOST_BYTES
    actions = {tool: one.input_schema["properties"]["action"]["enum"] for tool, one in tools.items()}
    assert actions == {tool: list(names) for tool, names in ACTIONS.items()}
    named = [name for names in actions.values() for name in names]
    needs_more = {
        name for name in INDEX if name == "report" or {Want.GPU_USE, Want.HISTORY} & set(question_called(name).wants)
    }
    assert needs_more == {"report", "idle", "trends", "commitments"}, "a file, a Prometheus, a store, a store"
    assert sorted(named) == sorted(set(INDEX) - needs_more)
    for one in tools.values():
        jsonschema.Draft202012Validator.check_schema(one.input_schema)
        assert one.annotations is not None
        assert one.annotations.read_only_hint
    taken = tools["rollout"].input_schema["properties"]
    assert taken["replicas"]["type"] == "integer"
    assert taken["workload"]["type"] == "array"
    assert "manifest" in taken, "given as text"
    assert "prices" not in taken, "no file of this machine"
    assert "startup_seconds" in tools["rollout"].description


def test_a_workload_is_named_as_on_the_command_line() -> None:
    """By what fits one only; of a typo the nearest is told."""

    async def ask(client: Client) -> Any:
        short = await client.call_tool("rollout", {"workload": [STUCK.rpartition("/")[2]], "details": True})
        wrong = await client.call_tool("rollout", {"workload": ["llm-srve"]})
        return short.structured_content, wrong

    short, wrong = asked(ask)
    assert [one["workload"] for one in short["result"]["workloads"]] == ["Deployment/prod/llm-serve"]
    assert wrong.is_error
    assert "Did you mean" in wrong.content[0].text


def test_the_gate_answers_without_a_cluster() -> None:
    """The room that each rollout needs, as `headroom gate -f` tells it; with the cluster the same manifest is asked of that."""
    manifest = (ROOT / "docs/examples/one-gpu.yaml").read_text(encoding="utf-8")

    async def ask(client: Client) -> Any:
        given = {"action": "gate", "manifest": manifest, "details": True}
        return await client.call_tool("rollout", given | {"without_cluster": True}), await client.call_tool(
            "rollout", given
        )

    alone, there = asked(ask)
    text = alone.content[0].text
    assert text.startswith("fails: 1 of 1 workload needs room (Deployment/speech/diarizer)")
    assert "Deployment/speech/diarizer: needs room for 1 more pod (1 GPU, " in text
    assert alone.structured_content["result"]["without_cluster"] is True
    assert alone.structured_content["result"]["workloads"][0]["room"]["places"] == 1
    assert there.structured_content["result"]["without_cluster"] is False
    assert "needs room" not in there.content[0].text


def test_an_answer_is_a_sentence_and_ten_lines_and_its_document_comes_once() -> None:
    async def ask(client: Client) -> Any:
        short = await client.call_tool("rollout", {"workload": [STUCK]})
        good = await client.call_tool("rollout", {"workload": [STUCK], "details": True})
        cured = await client.call_tool(
            "rollout", {"workload": [STUCK], "max_surge": 0, "max_unavailable": 1, "replicas": 1, "details": True}
        )
        snapshot = await client.read_resource("headroom://snapshot")
        findings = await client.read_resource("headroom://findings")
        return short, good, cured, snapshot, findings

    short, good, cured, snapshot, findings = asked(ask)
    (text,) = [one.text for one in short.content]
    assert text.startswith("stuck: the new pod needs")
    assert "gcloud container clusters resize" in text, "a way out, to be copied"
    assert "not sure: " in cured.content[0].text
    assert short.structured_content is None
    assert text == good.content[0].text
    found = good.structured_content
    assert found["result"]["verdict"] == "stuck"
    assert found["sentence"] == text.splitlines()[0]
    schema = json.loads((ROOT / schemas.path_of(found["format"])).read_text())
    jsonschema.validate(found, schema)
    assert cured.structured_content["result"]["verdict"] == "completes"
    doubts = cured.structured_content["result"]["doubts"]  # the demo holds no LimitRanges
    assert ("LimitRanges", "verdict") in {(one["about"], one["could_change"]) for one in doubts}
    assert json.loads(snapshot.contents[0].text)["nodes"] == 24
    assert json.loads(findings.contents[0].text)["format"] == "headroom.findings/v1"


def test_every_action_answers_in_few_lines_and_describes_its_settings() -> None:
    given: dict[str, dict[str, Any]] = {
        "gate": {"manifest": json.dumps(DEPLOYMENT)}, "where": {"shape": "gpu=1"}, "what_if": {"changes": ["add:gpu-t4=1"]},
        "diff": {"changes": ["add:gpu-t4=1"]}, "memory_what_if": {"workload": STUCK, "limit": "400Gi"},
        **{name: {"workload": [STUCK]} for name in ("rollout", "strategies", "strategy_costs", "certificate")},
    }  # fmt: skip

    async def ask(client: Client) -> Any:
        found = []
        for tool, actions in ACTIONS.items():
            for action in actions:
                answer = await client.call_tool(tool, {"action": action, **given.get(action, {})})
                described = await client.call_tool(tool, {"action": action, "help": True})
                found.append((action, answer, described))
        return found

    told = asked(ask)
    assert {action for action, _, _ in told} == {action for actions in ACTIONS.values() for action in actions}
    for action, answer, described in told:
        (text,) = [one.text for one in answer.content]
        assert answer.is_error == (action == "queues"), (action, text)  # the demo has no Kueue: not known
        assert 1 <= len(text.splitlines()) <= 12, (action, text)
        assert len(text.encode()) <= MOST_TEXT_BYTES, action
        assert answer.structured_content is None, action
        for name in given.get(action, ()):
            assert f"{name} (" in described.content[0].text, action


def test_an_error_says_what_and_no_log_has_a_traceback(tmp_path: Path) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("rollout", {"workload": ["deployment/prod/nobody"]}, "there is no deployment/prod/nobody in the snapshot"),
        ("rollout", {"workload": [STUCK], "surge": 1}, "surge: rollout has no setting 'surge'"),
        ("roll", {}, "name: there is no tool 'roll'"),
        ("rollout", {"action": "plan"}, "action: rollout has no action 'plan'"),
        ("rollout", {"action": ["plan"]}, "action: rollout has no action"),
        ("rollout", {"workload": [STUCK], "replicas": {"a": 1}}, "replicas: its value has another type"),
        ("rollout", {"workload": [STUCK], "replicas": 1.5}, "replicas: its value has another type"),
        ("rollout", {"workload": [STUCK], "replicas": True}, "replicas: its value has another type"),
        ("rollout", {"workload": [[STUCK]]}, "workload: its value has another type"),
        (
            "rollout",
            {"workload": [STUCK], "then_manifests": "/etc/passwd"},
            "then_manifests: it isn't a JSON list of texts",
        ),
        (
            "rollout",
            {"workload": [STUCK], "then_manifests": "[" * 100_000},
            "then_manifests: it isn't a JSON list of texts",
        ),
        ("costs", {"by": "label:" + "a" * 5_000}, 'by: "' + "a" * 60 + "\" is no label's key"),
        ("capacity", {"action": "make_room", "shape": ["gpu=1", "gpu=2"]}, "shape: its value has another type"),
    ]

    async def ask(client: Client) -> Any:
        answers = [await client.call_tool(tool, given) for tool, given, _ in wrong]
        with pytest.raises(MCPError, match="there is no resource headroom://other"):
            await client.read_resource("headroom://other")
        cores = await client.call_tool("rollout", {"workload": [STUCK], "cpu": 2, "max_surge": 1, "details": True})
        by_app = await client.call_tool("costs", {"by": "label:app.kubernetes.io/name"})
        return answers, cores, by_app

    log = tmp_path / "log"
    with log.open("w") as errors:
        answers, cores, by_app = asked(ask, errors=errors)
    assert len(answers) == len(wrong)
    for answer, (_, _, begins) in zip(answers, wrong, strict=True):
        assert answer.is_error
        assert answer.content[0].text.startswith(begins)
        assert len(answer.content[0].text) < 1_500
    assert cores.structured_content["settings"]["cpu"] == 2_000, "as the command reads 2"
    assert not by_app.is_error
    assert "Traceback" not in log.read_text()


def test_a_line_that_is_no_message_is_answered_and_the_next_one_too() -> None:
    """Who wrote it would wait for ever; its answer has its id where it has one."""
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    parse_error, invalid = -32_700, -32_600
    lines: list[tuple[bytes, object, int | None]] = [
        (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": first}).encode(), 1, None),
        (b"overview", None, parse_error),
        (b'{"jsonrpc":"2.0","id":2,"method":"tools/call"', None, parse_error),
        (b"[" * 100_000, None, parse_error),
        (b"\xff\xfe", None, parse_error),
        (b"42", None, invalid),
        (b'[{"jsonrpc":"2.0","id":3,"method":"tools/list"}]', None, invalid),
        (b'{"jsonrpc":"2.0","id":4}', 4, invalid),
        (b'{"jsonrpc":"2.0","id":"five","method":"tools/call","params":[]}', "five", invalid),
        (b'{"jsonrpc":"1.0","id":6,"method":"tools/list"}', 6, invalid),
        (b'{"jsonrpc":"2.0","id":7,"method":"resources/list"}', 7, None),
    ]
    words = [sys.executable, "-c", PROGRAM, "serve", "--mcp", "demo"]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, key, code in lines:
            process.stdin.write(b"\n \r\n" + line + b"\n")  # blank lines ask for nothing
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert (answer["id"], answer.get("error", {}).get("code")) == (key, code), line[:60]
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_a_long_question_gives_its_process_back() -> None:
    """The bound is of time, beside that of work: the next question isn't kept waiting for minutes."""
    pool = Pool(1)
    try:
        with pytest.raises(SourceError, match=r"^plan: it took longer than .*--answer-seconds"):
            mcp.ask_within(demo.read(), "plan", {}, pool=pool, is_embedded=True, answer_seconds=0.1)
        text, _ = mcp.ask_within(demo.read(), "doctor", {}, pool=pool, is_embedded=True, answer_seconds=300.0)
        assert text.startswith("Everything that answers need")
    finally:
        pool.close()


def test_restarts_and_drift_say_what_the_command_says() -> None:
    """A driver too old for the image, and a CPU limit that goes along with the request that is suggested."""

    async def ask(client: Client) -> Any:
        return [
            (await client.call_tool("health", {"action": action, "details": True})).structured_content
            for action in ("restarts", "drift")
        ]

    inputs = ROOT / "tests" / "restarts" / "inputs"
    restarts, _ = asked(ask, cluster=str(inputs / "nvidia-runtime-error.json.gz"))
    loops = {loop["workload"]: loop["diagnosis"] for loop in restarts["result"]["report"]["loops"]}
    assert {key: one["cause"] for key, one in loops.items()} == {
        "Deployment/ml/llm": "gpu_driver",
        "Deployment/ml/tts": "gpu_driver",
    }
    assert "needs cuda>=12.4" in loops["Deployment/ml/tts"]["what"]
    _, drift = asked(ask, cluster=str(inputs / "cpu-request-over-its-limit.json.gz"))
    (service,) = drift["result"]["services"]
    (value,) = service["suggestions"]
    assert (value["suggestion"]["cpu_request_millicores"], value["suggestion"]["cpu_limit_millicores"]) == (1040, 1040)


def test_who_sees_some_namespaces_is_told_of_them_only() -> None:
    async def ask(client: Client) -> Any:
        seen = await client.call_tool("overview", {"details": True})
        hidden = await client.call_tool("rollout", {"workload": [STUCK]})
        return seen, hidden

    seen, hidden = asked(ask, "--namespace", "dev")
    named = {one["workload"].split("/")[1] for one in seen.structured_content["result"]["workloads"]}
    assert named == {"dev"}
    assert hidden.is_error
    assert "llm-serve" not in seen.content[0].text


def test_over_http_on_this_machine() -> None:
    port = reserved()
    words = [sys.executable, "-c", PROGRAM, "serve", "--mcp", "demo", "--http", str(port)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            _until_it_listens(process, port)

            async def run() -> Any:
                async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                    return await client.call_tool("capacity", {"shape": ["gpu=1"], "details": True})

            found = anyio.run(run)
            origins = {
                origin: _status(port, origin)
                for origin in (
                    "",
                    *(f"http://{name}:{port}" for name in ("127.0.0.1", "localhost")),
                    "http://127.0.0.1:1",
                    f"http://localhost:{port + 1}",
                    "http://evil.example",
                    f"https://localhost.:{port}",
                    "null",
                )
            }
        finally:
            process.terminate()
            process.communicate(timeout=30)
    assert found.structured_content["format"].startswith("headroom.capacity/")
    refused = [origin for origin, status in origins.items() if status == 403]
    assert refused == list(origins)[3:], "pages of other ports and hosts"
    assert set(list(origins.values())[:3]) == {200}


def _status(port: int, origin: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"},
    }}  # fmt: skip
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/mcp", json.dumps(body).encode(),
        {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | ({"Origin": origin} if origin else {}),
    )  # fmt: skip
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(600):
        assert process.poll() is None
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("it doesn't listen")
