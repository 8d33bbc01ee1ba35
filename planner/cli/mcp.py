"""``headroom serve --mcp``: questions as tools for agents, over the Model Context Protocol.

An agent reads every tool's schema before its first question, so there are few tools, each with its questions as actions, and settings
are described when they are asked for. An answer is its sentence and a few lines; with ``details`` the versioned document comes too.
Nothing is changed, no file of this machine is read for a caller, and each answer is worked out in a process that can be ended.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import click

from planner.cli import progress_line, python_api
from planner.cli.cluster_argument import read_cluster
from planner.cli.serve import watched
from planner.ground.answer_layout import Listing
from planner.ground.errors import HeadroomError, InputError, SourceError
from planner.ground.setting_declarations import Setting, settings_of
from planner.ground.words import duration, printable
from planner.ground.work_budget import UnwantedError
from planner.inventory import input_report
from planner.inventory.namespace_redaction import redacted_for
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_names import with_workload_keys
from planner.questions import INDEX, question_called
from planner.questions.question import Inputs, Question, document
from planner.questions.table_wording import listed
from planner.rollout.verdict_wording import WORD
from planner.serve.processes.process_pool import Pool
from planner.sources.cluster_argument import CONTEXT_PREFIX, EMBEDDED
from planner.sources.dashboard_access import sees

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server import Server

_SNAPSHOT: Final = "headroom://snapshot"
_FINDINGS: Final = "headroom://findings"


def _actions(tool: str) -> tuple[str, ...]:
    """The actions of a tool, the question of its name first."""
    named = [name for name, question_entry in INDEX.items() if question_entry.tool == tool]
    return tuple(sorted(named, key=lambda name: name != tool))


ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    question_entry.tool: _actions(question_entry.tool) for question_entry in INDEX.values() if question_entry.tool
}
"""Tool → its actions: every question that needs a snapshot and settings only."""
_OWN: Final = ("action", "details", "help")  # what a tool takes beside its action's settings
_COMMON: Final = (
    "workload", "manifest", "replicas", "max_surge", "max_unavailable", "strategy", "then", "changes", "shape", "namespace", "service",
)  # fmt: skip
"""Settings with their types in the tools; the others have only names."""
_LINES_SHOWN: Final = 10
_LETTERS_OF_A_LINE: Final = 500  # of a line
_SAME_LETTERS: Final = 40  # a cell as long that the sentence has already is left out
ANSWER_SECONDS: Final = 120.0
_SAID: Final = (
    "Headroom tells before a change is applied whether a Kubernetes rollout will finish, why not, and what each way out costs. "
    "Every tool reads one snapshot and changes nothing. A verdict is completes, stuck, needs_growth, evictions_by_queue or unknown; unknown is an answer. "
    "Workloads are written kind/namespace/name, or shorter where that fits one only. Tools take an action and its settings by name; help: true describes them. "
    "An answer is a sentence and at most ten lines; details: true adds the whole document."
)


@click.command("mcp")
@click.argument("cluster")
@click.option("--namespace", "-n", "namespaces", multiple=True, metavar="PATTERN",
              help="Answer as for a user who sees these namespaces only, such as team-*; repeatable. The load of other namespaces counts; their names are hidden.")  # fmt: skip
@click.option("--http", "port", type=click.IntRange(1, 65_535), metavar="PORT",
              help="Listen on this port of this machine (http://127.0.0.1:PORT/mcp) instead of standard input.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True,
              help="Processes that work answers out, each started when the others are busy.")  # fmt: skip
@click.option("--answer-seconds", type=click.FloatRange(1, 3_600), default=ANSWER_SECONDS, show_default=True, metavar="SECONDS",
              help="How long one answer may take; then its process is free for others.")  # fmt: skip
def command(cluster: str, namespaces: tuple[str, ...], port: int | None, workers: int, answer_seconds: float) -> int:
    """The questions as tools for agents, by the Model Context Protocol.

    On standard input and output, as agents start it, or on a port of this machine. A live cluster (context:NAME) is watched, any
    other is read once. It reads; it changes nothing. Needs headroom-planner[mcp].
    """
    if find_spec("mcp") is None:
        raise InputError(
            "the mcp package isn't installed", where="headroom serve --mcp", fix='pip install "headroom-planner[mcp]"'
        )
    import anyio

    pool = Pool(workers)
    server = made(_reader(cluster, namespaces), pool, is_embedded=cluster in EMBEDDED, answer_seconds=answer_seconds)
    progress_line.end()
    try:
        if port is None:
            anyio.run(_on_standard_input, server)
        else:
            import uvicorn
            from mcp.server.transport_security import TransportSecuritySettings

            # the SDK's default lets pages of every other port of this machine ask
            own = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
            security = TransportSecuritySettings(allowed_hosts=own, allowed_origins=[f"http://{name}" for name in own])
            app = server.streamable_http_app(transport_security=security)
            uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
    finally:
        pool.close()
    return 0


def _reader(cluster: str, namespaces: tuple[str, ...]) -> Callable[[], Snapshot]:
    """What is known of the cluster now, as a user sees it who may see those namespaces: worked out once for each snapshot, since the
    same one is held by the processes that answer."""
    if cluster.startswith(CONTEXT_PREFIX):
        whole: Callable[[], Snapshot] = partial(watched, cluster.removeprefix(CONTEXT_PREFIX))
    else:
        read = read_cluster(cluster)
        whole = lambda: read  # noqa: E731
    return (lambda: (snapshot := whole()).derived.once(_seen, snapshot, namespaces)) if namespaces else whole


def _seen(snapshot: Snapshot, namespaces: tuple[str, ...]) -> Snapshot:
    return redacted_for(snapshot, partial(sees, namespaces))


async def _on_standard_input(server: Server[Any]) -> None:
    import anyio
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage

    relay, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with relay, messages, stdio_server() as (incoming, outgoing), anyio.create_task_group() as group:

        async def answer_what_is_no_message() -> None:
            """The SDK passes such lines over: who wrote one would wait for ever."""
            async with relay, incoming:  # the SDK closes only what it is given
                async for message_or_error in incoming:
                    if isinstance(message_or_error, Exception):
                        if _is_blank(message_or_error):  # it asks for nothing, and some clients end a message so
                            continue
                        await outgoing.send(SessionMessage(_refused(message_or_error)))
                    else:
                        await relay.send(message_or_error)

        group.start_soon(answer_what_is_no_message)
        await server.run(messages, outgoing, server.create_initialization_options())


def _is_blank(error: Exception) -> bool:
    from pydantic import ValidationError

    return isinstance(error, ValidationError) and not str(error.errors(include_url=False)[0]["input"]).strip()


def _refused(error: Exception) -> types.JSONRPCError:
    """The answer to a line that is no JSON (-32700) or no message of JSON-RPC (-32600, with its ``id`` where it has one)."""
    import mcp_types as types
    from pydantic import ValidationError

    wrong = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    if wrong and wrong[0]["type"] != "json_invalid":
        ids = (
            each["input"].get("id") for each in wrong if each["type"] == "missing" and isinstance(each["input"], dict)
        )
        request_id = next((id_ for id_ in ids if isinstance(id_, int | str) and not isinstance(id_, bool)), None)
        code, what = types.INVALID_REQUEST, "it is no message of JSON-RPC 2.0"
    else:
        request_id, code, what = None, types.PARSE_ERROR, "the line is no JSON"
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=what))


def made(
    snapshot: Callable[[], Snapshot], pool: Pool, *, is_embedded: bool = False, answer_seconds: float = ANSWER_SECONDS
) -> Server[Any]:
    """The server; each call is answered from `snapshot` as it then is, within `answer_seconds`."""
    import anyio.to_thread
    import mcp_types as types
    from mcp import MCPError
    from mcp.server import Server

    within = partial(ask_within, pool=pool, is_embedded=is_embedded, answer_seconds=answer_seconds)

    def result_of(tool: str, arguments: Mapping[str, Any], is_gone: threading.Event) -> types.CallToolResult:
        structured = None
        try:
            name = _action(tool, arguments)
            if arguments.get("help") is True:
                text = _help(name)
            else:
                settings = {key: value for key, value in arguments.items() if key not in _OWN}
                text, whole = within(snapshot(), name, settings, is_gone=is_gone)
                structured = whole if arguments.get("details") is True else None
        except HeadroomError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)

    async def list_tools(_context: Any, _parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(_tools()))

    async def call_tool(_context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        is_gone = threading.Event()
        try:
            return await anyio.to_thread.run_sync(
                result_of, parameters.name, parameters.arguments or {}, is_gone, abandon_on_cancel=True
            )
        finally:  # who asked may have canceled: the process is free for others
            is_gone.set()

    async def list_resources(_context: Any, _parameters: Any) -> types.ListResourcesResult:
        named = {_SNAPSHOT: "What was read, and what of it couldn't be", _FINDINGS: INDEX["findings"].line}
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=uri, name=uri.partition("//")[2], description=description, mime_type="application/json"
                )
                for uri, description in named.items()
            ]
        )

    def read(uri: str) -> str:
        if uri == _SNAPSHOT:
            snapshot_read = snapshot()
            resource_document = {
                "source": snapshot_read.source,
                "digest": snapshot_read.digest,
                "taken_at": snapshot_read.taken_at,
                "nodes": len(snapshot_read.nodes),
                "pods": len(snapshot_read.pods),
                "workloads": [workload.key for workload in snapshot_read.workloads],
                "not_seen": input_report.not_seen(snapshot_read),
            }
            return json.dumps(resource_document, ensure_ascii=False)
        if uri == _FINDINGS:
            return json.dumps(within(snapshot(), "findings", {})[1], ensure_ascii=False)
        raise InputError(f"there is no resource {uri}", where="uri", fix=f"Read {_SNAPSHOT} or {_FINDINGS}")

    async def read_resource(_context: Any, parameters: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(parameters.uri)
        try:
            text = await anyio.to_thread.run_sync(read, uri)
        except HeadroomError as error:  # as an error of the protocol, which the SDK doesn't log with a traceback
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
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


def _action(tool: str, arguments: Mapping[str, Any]) -> str:
    """The question that is asked; of a tool called without an action its first one.

    Raises
    ------
    InputError
        For a tool or an action that there isn't.
    """
    if tool not in ACTIONS:
        raise InputError(f"there is no tool {tool[:60]!r}", where="name", fix=f"Choose one of {', '.join(ACTIONS)}")
    name = arguments.get("action", ACTIONS[tool][0])
    if name not in ACTIONS[tool]:
        fix = f"Choose one of {', '.join(ACTIONS[tool])}"
        raise InputError(f"{tool} has no action {str(name)[:60]!r}", where="action", fix=fix)
    return str(name)


def ask_within(
    snapshot: Snapshot, name: str, settings: Mapping[str, Any], *, pool: Pool, is_embedded: bool, answer_seconds: float,
    is_gone: threading.Event | None = None,
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """The answer as text, and its document, within `answer_seconds`. `is_gone`: set once no caller waits for it.

    Raises
    ------
    HeadroomError
        What the question raises; `SourceError` where it took too long or failed.
    """
    until = time.monotonic() + answer_seconds

    def is_wanted() -> bool:
        return not (is_gone is not None and is_gone.is_set()) and time.monotonic() < until

    setting_fields = {setting.name: setting for setting in settings_of(question_called(name).settings)}
    read = {
        key: _from_json(setting_fields[key], value) if key in setting_fields else value
        for key, value in settings.items()
    }
    question, question_settings = python_api.prepared(name, (), read)
    question_settings = with_workload_keys(question_settings, snapshot)
    if why := question.not_known(snapshot):
        raise why
    inputs = Inputs(
        limits=python_api.limits(snapshot), book=python_api.book(), now=time.time(), is_embedded=is_embedded
    )
    try:
        answer = pool.run(question.answer, snapshot, question_settings, inputs, is_wanted=is_wanted)
    except UnwantedError:
        fix = "Ask for less: one workload, fewer runs; or start the server with a longer --answer-seconds"
        raise SourceError(f"it took longer than {duration(answer_seconds)}", where=name, fix=fix) from None
    except RuntimeError as error:  # of the process that worked it out, which logged it
        fix = "Tell us what you asked"
        raise SourceError(f"it failed ({error}): a mistake of ours", where=name, fix=fix) from None
    sentence = str(getattr(answer, "sentence", ""))
    return _text(question, answer), {"sentence": sentence, **document(question, snapshot, question_settings, answer)}


def _from_json(setting: Setting, value: Any) -> Any:
    """A value out of JSON as `python_api.prepared` takes it: a number where a text is read (``cpu: 2``) as that text.

    Raises
    ------
    InputError
        For a value of another type.
    """
    if isinstance(value, list) and setting.is_many:
        return tuple(_scalar(setting, each) for each in value)
    return _scalar(setting, value)


def _scalar(setting: Setting, value: Any) -> Any:
    if value is None or (isinstance(value, str) and setting.kind is not bool):
        return value
    # To Python true is a whole number, too: it must not be read as 1.
    if isinstance(value, bool) or setting.kind is bool:
        fits = isinstance(value, bool) and setting.kind is bool
    elif setting.parse is not None and isinstance(value, int | float):
        return str(value) if isinstance(value, int) else f"{value:.15g}"
    else:
        fits = isinstance(value, int | float if setting.kind is float else int) and setting.kind in (int, float)
    if not fits:
        kind = _schema(setting)
        raise InputError(
            "its value has another type", where=setting.name, fix=f"Give {json.dumps(kind, ensure_ascii=False)[:200]}"
        )
    return value


# ── an answer's text ─────────────────────────────────────────────────────────────────────────────────────────────────
def _text(question: Question[Any, Any], report: Any) -> str:
    """The sentence and at most ten lines: what it isn't sure of, then each listing's first rows."""
    sentence = str(getattr(report, "sentence", ""))
    lines = [f"not sure: {doubt.sentence}" for doubt in getattr(report, "doubts", ())][: _LINES_SHOWN // 2]
    every = [
        *lines,
        *(line for listing in question.listings if listing.is_shown for line in _lines(listing, report, sentence)),
    ]
    shown = [printable(line, one_line=True) for line in every[:_LINES_SHOWN]]
    more = [f"… and {len(every) - len(shown):,} more lines (details: true)"] if len(every) > len(shown) else []
    return "\n".join([printable(sentence), *shown, *more])


def _lines(listing: Listing[Any, Any], answer_record: Any, sentence: str) -> Iterator[str]:
    """Each row of a listing as a line."""
    items = listing.seen(answer_record)
    if listing.line is not None:
        for listed_row in items:
            verdict = listing.verdict(listed_row) if listing.verdict is not None else None
            head = f"{WORD[verdict].lower()}: " if verdict is not None else ""
            yield head + ", ".join(listing.line(listed_row).replace("\t", "  ").splitlines())[:_LETTERS_OF_A_LINE]
        return
    lowercase_sentence = sentence.lower()
    for row in listed(listing, answer_record, items):
        line = ""
        for head, cell in row.items():
            words = "" if cell is None or cell is False else str(cell)
            # What the sentence above says isn't said again: an agent reads the whole answer, and its letters count.
            is_told = len(words) > _SAME_LETTERS and words.rstrip(".").lower() in lowercase_sentence
            if words and not is_told and len(line) + len(head) + len(words) < _LETTERS_OF_A_LINE:
                line += f"{', ' if line else ''}{head} {words}"
        if line:
            yield line


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _taken(name: str) -> dict[str, Setting]:
    """The settings of a question that a caller may give."""
    return {
        setting.name: setting
        for setting in settings_of(question_called(name).settings)
        if (setting.on_command and not setting.is_hidden) or setting.is_private or setting.kind is bool
    }


def _help(name: str) -> str:
    """An action's settings, one a line."""
    lines = [INDEX[name].line]
    for setting in _taken(name).values():
        shape = _schema(setting)
        kind = shape.get("items", shape)
        words = "|".join(kind["enum"]) if "enum" in kind else kind["type"]
        many = "a list of " if setting.is_many else ""
        lines.append(
            f"{setting.name} ({many}{words if isinstance(words, str) else ' or '.join(words)}): {shape['description']}"
        )
    return "\n".join(lines if lines[1:] else [*lines, "It takes no settings."])


def _tools() -> Iterator[types.Tool]:
    import mcp_types as types

    for tool, actions in ACTIONS.items():
        taken = {setting.name: setting for name in actions for setting in _taken(name).values()}
        common = {
            name: {key: value for key, value in _schema(taken[name]).items() if key != "description"}
            for name in _COMMON
            if name in taken
        }
        others = ", ".join(name for name in taken if name not in common)
        own: dict[str, Any] = {
            "action": {"enum": list(actions), "default": actions[0]},
            "help": {"type": "boolean", "description": "Describe the action's settings instead."},
            "details": {"type": "boolean", "description": "Add the whole document."},
        }
        also = f" More settings: {others}." if others else ""
        yield types.Tool(
            name=tool,
            description="\n".join(f"{name}: {INDEX[name].line}" for name in actions) + also,
            input_schema={"type": "object", "properties": own | common},
            annotations=types.ToolAnnotations(read_only_hint=True),
        )


def _schema(setting: Setting) -> dict[str, Any]:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    if issubclass(setting.kind, Enum) and setting.parse is None:
        inner: dict[str, Any] = {"enum": list(setting.choices)}
    elif setting.parse is not None:
        inner = {"type": ["string", "number"]}
    else:
        bounds = {"minimum": setting.least, "maximum": setting.most}
        inner = {"type": kinds.get(setting.kind, "string")} | {key: at for key, at in bounds.items() if at is not None}
    shape = {"type": "array", "items": inner} if setting.is_many else inner
    unit = f" ({setting.unit})" if setting.unit else ""
    return {**shape, "description": f"{setting.label}{unit}. {setting.help}".strip()}
