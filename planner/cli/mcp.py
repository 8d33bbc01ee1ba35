"""``headroom serve --mcp``: the questions as tools for agents, by the Model Context Protocol.

A tool a question, made from the index: its settings are the tool's input, its versioned document the structured output. Nothing is
changed, no file of this machine is read for a caller, and each answer is worked out in a process that can be ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import click

from planner.cli import python, waiting
from planner.cli.cluster import read_cluster
from planner.cli.serve import watched
from planner.ground.errors import HeadroomError, InputError
from planner.ground.settings import Setting, settings_of
from planner.inventory import account
from planner.inventory.sight import as_seen
from planner.kubernetes.records import Snapshot
from planner.questions import INDEX, question_called
from planner.questions.question import Given, Question, Want, document
from planner.serve.processes.pool import Pool
from planner.sources.access import sees
from planner.sources.cluster import CONTEXT_PREFIX, EMBEDDED

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server import Server

_SNAPSHOT: Final = "headroom://snapshot"
_FINDINGS: Final = "headroom://findings"
_NOT_OF_ONE: Final = ("report", "fleet", "trends", "commitments")  # a file; they need other clusters, or a store
_SAID: Final = (
    "Headroom tells before a change is applied whether a Kubernetes rollout will finish, why not, and what each way out costs. "
    "Every tool reads one snapshot and changes nothing. A verdict is completes, stuck, needs_growth, evictions_by_queue or unknown; unknown is an answer. "
    "Workloads are written kind/namespace/name."
)


@click.command("mcp")
@click.argument("cluster")
@click.option("--namespace", "-n", "namespaces", multiple=True, metavar="PATTERN",
              help="Answer as for somebody who sees these namespaces only, such as team-*; repeatable. Others' load counts, their names are hidden.")  # fmt: skip
@click.option("--http", "port", type=click.IntRange(1, 65_535), metavar="PORT",
              help="Listen on this port of this machine (http://127.0.0.1:PORT/mcp) instead of standard input.")  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes that work answers out."
)
def command(cluster: str, namespaces: tuple[str, ...], port: int | None, workers: int) -> int:
    """The questions as tools for agents, by the Model Context Protocol.

    On standard input and output, as agents start it, or on a port of this machine. A live cluster (context:NAME) is watched, any
    other is read once. It reads; it changes nothing. Needs headroom-planner[mcp].
    """
    if find_spec("mcp") is None:
        raise InputError(
            "the mcp package isn't installed", where="headroom serve --mcp", mend='pip install "headroom-planner[mcp]"'
        )
    import anyio

    pool = Pool(workers)
    server = made(_reader(cluster, namespaces), pool, is_embedded=cluster in EMBEDDED)
    waiting.end()
    try:
        if port is None:
            anyio.run(_on_standard_input, server)
        else:
            import uvicorn

            uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")
    finally:
        pool.close()
    return 0


def _reader(cluster: str, namespaces: tuple[str, ...]) -> Callable[[], Snapshot]:
    """What is known of the cluster now, as somebody sees it who may see those namespaces: worked out once for each snapshot, since the
    same one is held by the processes that answer."""
    if cluster.startswith(CONTEXT_PREFIX):
        whole: Callable[[], Snapshot] = partial(watched, cluster.removeprefix(CONTEXT_PREFIX))
    else:
        read = read_cluster(cluster)
        whole = lambda: read  # noqa: E731
    return (lambda: (known := whole()).derived.once(_seen, known, namespaces)) if namespaces else whole


def _seen(snapshot: Snapshot, namespaces: tuple[str, ...]) -> Snapshot:
    return as_seen(snapshot, partial(sees, namespaces))


async def _on_standard_input(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def made(snapshot: Callable[[], Snapshot], pool: Pool, *, is_embedded: bool = False) -> Server[Any]:
    """The server; each call is answered from `snapshot` as it then is."""
    import anyio.to_thread
    import mcp_types as types
    from mcp.server import Server

    def answered(name: str, given: Mapping[str, Any]) -> types.CallToolResult:
        try:
            if name not in TOOLS:
                raise InputError(f"there is no tool {name!r}", where="name", mend=f"Choose one of {', '.join(TOOLS)}")
            found = _document(snapshot(), name, given, pool, is_embedded=is_embedded)
        except HeadroomError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        told = [types.TextContent(type="text", text=json.dumps(found, ensure_ascii=False))]
        return types.CallToolResult(content=list(told), structured_content=found)

    async def list_tools(_context: Any, _parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(_tools()))

    async def call_tool(_context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        return await anyio.to_thread.run_sync(answered, parameters.name, parameters.arguments or {})

    async def list_resources(_context: Any, _parameters: Any) -> types.ListResourcesResult:
        named = {_SNAPSHOT: "What was read, and what of it couldn't be", _FINDINGS: INDEX["findings"].line}
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=uri.partition("//")[2], description=said, mime_type="application/json")
                for uri, said in named.items()
            ]
        )

    def read(uri: str) -> str:
        if uri == _SNAPSHOT:
            known = snapshot()
            said = {
                "source": known.source,
                "digest": known.digest,
                "taken_at": known.taken_at,
                "nodes": len(known.nodes),
                "pods": len(known.pods),
                "workloads": [workload.key for workload in known.workloads],
                "not_seen": account.not_seen(known),
            }
            return json.dumps(said, ensure_ascii=False)
        if uri == _FINDINGS:
            return json.dumps(_document(snapshot(), "findings", {}, pool, is_embedded=is_embedded), ensure_ascii=False)
        raise InputError(f"there is no resource {uri}", where="uri", mend=f"Read {_SNAPSHOT} or {_FINDINGS}")

    async def read_resource(_context: Any, parameters: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(parameters.uri)
        text = await anyio.to_thread.run_sync(read, uri)
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])

    return Server(
        "headroom",
        version=version("headroom-planner"),
        instructions=_SAID,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _document(
    snapshot: Snapshot, name: str, settings: Mapping[str, Any], pool: Pool, *, is_embedded: bool
) -> dict[str, Any]:
    question, wanted = python.prepared(name, (), settings)
    if why := question.not_known(snapshot):
        raise why
    given = Given(limits=python.limits(snapshot), book=python.book(), now=time.time(), is_embedded=is_embedded)
    found = pool.run(question.answer, snapshot, wanted, given)
    sentence = str(getattr(found, "sentence", ""))
    return {"sentence": sentence, **document(question, snapshot, wanted, found)}


TOOLS: Final = tuple(
    name for name in INDEX if name not in _NOT_OF_ONE and Want.GPU_USE not in question_called(name).wants
)
"""The questions that are tools: nothing but a snapshot and settings is needed."""


def _tools() -> Iterator[types.Tool]:
    import mcp_types as types

    for name in TOOLS:
        question = question_called(name)
        taken = {
            setting.name: _schema(setting)
            for setting in settings_of(question.settings)
            if (setting.on_command and not setting.is_hidden) or setting.is_private or setting.kind is bool
        }
        yield types.Tool(
            name=name,
            title=name.replace("_", " "),
            description=INDEX[name].line or f"{name.replace('_', ' ').capitalize()}, as {name} of the dashboard.",
            input_schema={"type": "object", "properties": taken, "additionalProperties": False},
            output_schema=_output(question),
            annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
        )


def _output(question: Question[Any, Any]) -> dict[str, Any]:
    """The envelope of the document; its result's own schema is in docs/schemas."""
    parts: dict[str, Any] = {
        "sentence": {"type": "string"},
        "format": {"const": question.format},
        "clusters": {"type": "array"},
        "settings": {"type": "object"},
        "result": {"type": ["object", "null"]},
        "not_seen": {"type": "array"},
    }
    return {"type": "object", "properties": parts, "required": list(parts)}


def _schema(one: Setting) -> dict[str, Any]:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    if issubclass(one.kind, Enum) and one.parse is None:
        inner: dict[str, Any] = {"enum": list(one.choices)}
    elif one.parse is not None:
        inner = {"type": ["string", "number"]}
    else:
        bounds = {"minimum": one.least, "maximum": one.most}
        inner = {"type": kinds.get(one.kind, "string")} | {key: at for key, at in bounds.items() if at is not None}
    shape = {"type": "array", "items": inner} if one.is_many else inner
    unit = f" ({one.unit})" if one.unit else ""
    return {**shape, "description": f"{one.label}{unit}. {one.help}".strip()}
