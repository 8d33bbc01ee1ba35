"""What well-known programs do with SIGTERM when they are process 1 of a container.

The kernel drops a signal for process 1 unless it has installed a handler for it (Linux `pid_namespaces(7)`), so that a
program which would simply die elsewhere goes on working here until it is killed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from planner.ground.records import Record


class Signal(StrEnum):
    """How a program as process 1 takes SIGTERM."""

    PASSES_ON = "passes_on"  # an init that hands signals to its child
    STOPS = "stops"  # finishes what it has begun, then ends
    CUTS = "cuts"  # ends at once, or isn't gentle by default
    DROPS = "drops"  # never tells its child, or doesn't end
    NEEDS_HANDLER = "needs_handler"  # an interpreter or a script: up to the program run by it


class Program(Record):
    signal: Signal
    what: str
    cure: str = ""
    source: str


_INIT: Final = Program(
    signal=Signal.PASSES_ON,
    what="an init that passes SIGTERM on to the program it starts",
    source="https://github.com/krallin/tini, https://github.com/Yelp/dumb-init (2026-11)",
)
_PYTHON: Final = Program(
    signal=Signal.NEEDS_HANDLER,
    what="Python installs no handler of its own for SIGTERM: as process 1 it goes on until it is killed",
    cure="Call signal.signal(signal.SIGTERM, …) in the program, or start it under tini",
    source="https://docs.python.org/3/library/signal.html; Linux pid_namespaces(7)",
)
_NODE: Final = Program(
    signal=Signal.NEEDS_HANDLER,
    what="Node.js as process 1 ends on SIGTERM only where the program has process.on('SIGTERM', …)",
    cure="Add process.on('SIGTERM', …), or start it under tini",
    source="https://nodejs.org/api/process.html#signal-events; Linux pid_namespaces(7)",
)
_NPM: Final = Program(
    signal=Signal.DROPS,
    what="npm runs the program as a child, often under a shell, and the program doesn't hear of SIGTERM reliably",
    cure='Start the program itself: command: ["node", "server.js"]',
    source="https://maximorlov.com/process-signals-inside-docker-containers/ (2026-11)",
)
_UVICORN: Final = Program(
    signal=Signal.STOPS,
    what="stops taking connections and finishes open requests",
    source="https://www.uvicorn.org/#command-line-options (--timeout-graceful-shutdown)",
)

_TORCHRUN: Final = Program(
    signal=Signal.PASSES_ON,
    what="torchrun sends its workers SIGTERM and kills them 30 s later; what they do with it is up to them",
    cure="Write a checkpoint in a SIGTERM handler of the training loop, within the notice",
    source="https://docs.pytorch.org/docs/stable/elastic/agent.html",
)

PROGRAMS: Final[dict[str, Program]] = {
    "torchrun": _TORCHRUN,
    "uv": Program(
        signal=Signal.PASSES_ON,
        what="uv run starts the program beside itself and hands SIGTERM on to it",
        source="https://docs.astral.sh/uv/concepts/projects/run/",
    ),
    "conda": Program(
        signal=Signal.DROPS,
        what="conda run starts the program through a script and doesn't pass SIGTERM on",
        cure="Start the environment's own program by its path, such as /opt/conda/envs/NAME/bin/python",
        source="https://github.com/conda/conda (conda run)",
    ),
    "timeout": Program(
        signal=Signal.PASSES_ON,
        what="timeout sends the program the SIGTERM that it gets",
        source="https://www.gnu.org/software/coreutils/manual/html_node/timeout-invocation.html",
    ),
    "tini": _INIT,
    "tini-static": _INIT,
    "dumb-init": Program(
        signal=Signal.PASSES_ON,
        what="an init that passes SIGTERM on to all that it started",
        source="https://github.com/Yelp/dumb-init (2026-11)",
    ),
    "docker-init": _INIT,
    "catatonit": _INIT,
    "python": _PYTHON,
    "python3": _PYTHON,
    "node": _NODE,
    "npm": _NPM,
    "npx": _NPM,
    "pnpm": _NPM,
    "yarn": _NPM,
    "gunicorn": Program(
        signal=Signal.STOPS,
        what="finishes current requests for up to graceful_timeout, 30 s by default",
        cure="Set --graceful-timeout below the notice",
        source="https://docs.gunicorn.org/en/stable/signals.html",
    ),
    "uvicorn": _UVICORN,
    "hypercorn": _UVICORN,
    "vllm": Program(
        signal=Signal.STOPS,
        what="its uvicorn stops taking requests; long generations may outlast the notice",
        source="https://www.uvicorn.org/; vllm serve runs it",
    ),
    "celery": Program(
        signal=Signal.STOPS,
        what="warm shutdown: waits for running tasks without limit; tasks longer than the notice are killed",
        cure="Set worker_soft_shutdown_timeout below the notice with REMAP_SIGTERM=SIGQUIT, and task_acks_late",
        source="https://docs.celeryq.dev/en/stable/userguide/workers.html#stopping-the-worker",
    ),
    "rq": Program(
        signal=Signal.STOPS,
        what="warm shutdown: finishes the running job, then ends",
        source="https://python-rq.org/docs/workers/",
    ),
    "uwsgi": Program(
        signal=Signal.DROPS,
        what="reloads on SIGTERM and doesn't end, unless die-on-term is set",
        cure="Set die-on-term = true (and worker-reload-mercy below the notice)",
        source="https://uwsgi-docs.readthedocs.io/en/latest/Management.html",
    ),
    "supervisord": Program(
        signal=Signal.STOPS,
        what="sends each child its stopsignal and kills it after stopwaitsecs, 10 s by default",
        cure="Keep stopwaitsecs below the notice, and set stopasgroup for children started through a shell",
        source="http://supervisord.org/configuration.html",
    ),
    "nginx": Program(
        signal=Signal.CUTS,
        what="SIGTERM is its fast shutdown: open requests are cut; SIGQUIT is the graceful one",
        cure="Use an image with STOPSIGNAL SIGQUIT, or a preStop hook of nginx -s quit",
        source="https://nginx.org/en/docs/control.html",
    ),
    "httpd": Program(
        signal=Signal.CUTS,
        what="SIGTERM stops it at once; SIGWINCH is the graceful stop",
        cure="Use an image with STOPSIGNAL SIGWINCH",
        source="https://httpd.apache.org/docs/2.4/stopping.html",
    ),
    "php-fpm": Program(
        signal=Signal.CUTS,
        what="SIGTERM stops it at once; SIGQUIT is the graceful stop",
        cure="Use an image with STOPSIGNAL SIGQUIT",
        source="php-fpm(8)",
    ),
    "java": Program(
        signal=Signal.STOPS,
        what="runs its shutdown hooks",
        source="https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/lang/Runtime.html",
    ),
    "redis-server": Program(
        signal=Signal.STOPS,
        what="saves if it is told to persist, then ends",
        source="https://redis.io/docs/latest/operate/oss_and_stack/reference/signals/",
    ),
    "tritonserver": Program(
        signal=Signal.STOPS,
        what="finishes requests for up to --exit-timeout-secs, 30 s by default",
        cure="Set --exit-timeout-secs below the notice",
        source="https://github.com/triton-inference-server/server (2026-11)",
    ),
}


def known(program: str) -> Program | None:
    """What is known of a program by its name (``python3.11`` counts as ``python3``); None for the others."""
    if program in PROGRAMS:
        return PROGRAMS[program]
    if program.endswith((".sh", ".bash")):
        return Program(
            signal=Signal.DROPS,
            what="a shell script as process 1 doesn't pass SIGTERM on to what it starts",
            cure="End the script with exec and the program",
            source="https://www.gnu.org/software/bash/manual/html_node/Signals.html; Linux pid_namespaces(7)",
        )
    return PROGRAMS["python3"] if program.startswith("python3.") else None
