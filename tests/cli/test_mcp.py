"""``headroom serve --mcp``, asked by the SDK's own client."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from planner.cli.mcp import TOOLS
from planner.questions import INDEX
from tests.architecture import schemas
from tests.architecture.tree import ROOT
from tests.ports import reserved

PROGRAM = "from planner.cli import main; main()"
STUCK = "deployment/prod/llm-serve"


def asked(ask: Callable[[Client], Awaitable[Any]], *words: str, cluster: str = "demo") -> Any:
    """What `ask` finds out of ``headroom serve --mcp CLUSTER``, started as an agent does."""

    async def run() -> Any:
        place = StdioServerParameters(
            command=sys.executable,
            args=["-c", PROGRAM, "serve", "--mcp", cluster, *words],
            env=dict(os.environ),
            cwd=str(ROOT),
        )
        async with Client(stdio_client(place)) as client:
            return await ask(client)

    return anyio.run(run)


def test_every_question_of_one_snapshot_is_a_tool() -> None:
    async def ask(client: Client) -> Any:
        return await client.list_tools()

    tools = {one.name: one for one in asked(ask).tools}
    assert set(tools) == set(TOOLS)
    assert set(INDEX) - set(TOOLS) == {"report", "idle", "fleet", "trends", "commitments"}, (
        "they need more than a snapshot"
    )
    for one in tools.values():
        jsonschema.Draft202012Validator.check_schema(one.input_schema)
        assert one.annotations is not None
        assert one.annotations.read_only_hint
        assert one.description
    taken = tools["rollout"].input_schema["properties"]
    assert taken["replicas"]["type"] == "integer"
    assert taken["workload"]["type"] == "array"
    assert "manifest" in taken, "given as text"
    assert "prices" not in taken, "no file of this machine"


def test_an_answer_is_the_document_and_an_error_says_what() -> None:
    async def ask(client: Client) -> Any:
        good = await client.call_tool("rollout", {"workload": [STUCK]})
        cured = await client.call_tool(
            "rollout", {"workload": [STUCK], "max_surge": 0, "max_unavailable": 1, "replicas": 1}
        )
        no_workload = await client.call_tool("rollout", {"workload": ["deployment/prod/nobody"]})
        no_setting = await client.call_tool("rollout", {"workload": [STUCK], "surge": 1})
        no_tool = await client.call_tool("roll", {})
        snapshot = await client.read_resource("headroom://snapshot")
        findings = await client.read_resource("headroom://findings")
        return good, cured, (no_workload, no_setting, no_tool), snapshot, findings

    good, cured, wrong, snapshot, findings = asked(ask)
    found = good.structured_content
    assert found["result"]["verdict"] == "stuck"
    assert found["sentence"].startswith("stuck: the new pod needs")
    schema = json.loads((ROOT / schemas.path_of(found["format"])).read_text())
    jsonschema.validate(found, schema)
    assert cured.structured_content["result"]["verdict"] == "completes"
    doubts = cured.structured_content["result"]["doubts"]  # the demo holds no LimitRanges
    assert ("LimitRanges", "verdict") in {(one["about"], one["could_change"]) for one in doubts}
    assert [one.is_error for one in wrong] == [True, True, True]
    assert [one.content[0].text.split(". ")[0] for one in wrong] == [
        "there is no deployment/prod/nobody in the snapshot", "surge: rollout has no setting 'surge'", "name: there is no tool 'roll'"
    ]  # fmt: skip
    assert json.loads(snapshot.contents[0].text)["nodes"] == 24
    assert json.loads(findings.contents[0].text)["format"] == "headroom.findings/v1"


def test_restarts_and_drift_say_what_the_command_says() -> None:
    """A driver too old for the image, and a CPU limit that goes along with the request that is suggested."""

    async def ask(client: Client) -> Any:
        return (await client.call_tool("restarts", {})).structured_content, (
            await client.call_tool("drift", {})
        ).structured_content

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
        seen = await client.call_tool("overview", {})
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
                    return await client.call_tool("capacity", {"shape": ["gpu=1"]})

            found = anyio.run(run)
        finally:
            process.terminate()
            process.communicate(timeout=30)
    assert found.structured_content["format"].startswith("headroom.capacity/")


def _until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(600):
        assert process.poll() is None
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("it doesn't listen")
