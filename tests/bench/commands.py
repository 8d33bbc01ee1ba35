"""Whole commands, from their start to their end, each in a process of its own: seconds of CPU, all its processes together; where what
counts is how long somebody waits, seconds by the clock with all cores.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from planner.serve.processes import VARIABLE
from tests.bench import clusters, inputs
from tests.bench.inputs import COPIES, DEMO, FIVE, HUGE, OPENB, QUIET, SOME, SOME_VARIED, VARIED
from tests.bench.table import Figure, Found, kept

ROOT = Path(__file__).parents[2]
NUMPY = ("-c", "import numpy, msgspec, click")  # what no verdict goes without
_HEADROOM = ("-c", "from headroom_planner import main; main()")
_TOLD = (0, 2, 3, 4)  # statuses that say what was found: bad input (1) is no answer that is worth timing
_TOO_LONG = 600.0  # seconds; what takes longer has failed
OVERVIEW, PLAN = "overview {cluster} -o json", "plan {cluster} -o json"
DIFF, SURVIVE, MAKE_ROOM = "diff {cluster} {other}", "survive {cluster}", "make-room {cluster}"
REPORT = "report {cluster} --to {folder}/report.html"
MANIFESTS = "docs/examples/manifests"
SPEED_UP = 1.7  # on two cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One process: its CPU with that of its copies, how long it took, the most memory that it held, what it printed."""

    cpu_seconds: float
    seconds: float
    peak_bytes: int
    said: str  # a digest


def run(*arguments: str, workers: int | None = None) -> Ran:
    """Python with `arguments`."""
    environment = {**os.environ, **({} if workers is None else {VARIABLE: str(workers)})}
    start = time.perf_counter()
    with (
        tempfile.TemporaryFile() as out,
        subprocess.Popen(
            [sys.executable, *arguments], stdout=out, stderr=subprocess.PIPE, cwd=ROOT, env=environment
        ) as process,
    ):
        alarm = threading.Timer(_TOO_LONG, process.kill)
        alarm.start()
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        digest = hashlib.file_digest(out, "sha256").hexdigest()
    if process.returncode not in _TOLD:
        raise RuntimeError(f"ended with {process.returncode} after {seconds:.0f} s: {said.decode()[-150:]}")
    return Ran(
        cpu_seconds=used.ru_utime + used.ru_stime, seconds=seconds, peak_bytes=used.ru_maxrss * 1024, said=digest
    )


def headroom(command: str, *, runs: int = 3, workers: int | None = None) -> Ran:
    """The run of ``headroom command`` that took least; what is above it is the machine's other business."""
    return min(
        (run(*_HEADROOM, *command.split(), workers=workers) for _ in range(runs)), key=lambda one: one.cpu_seconds
    )


@kept
def _numpy() -> float:
    return min(run(*NUMPY).cpu_seconds for _ in range(5))


# ── what every user pays each time ───────────────────────────────────────────────────────────────────────────────────
VERDICTS = (
    "rollout demo", "rollout demo -w deployment/prod/llm-serve", f"gate demo -f {MANIFESTS}", "overview demo", "capacity demo",
    "capacity demo --change add:gpu-t4=1",
)  # fmt: skip
OTHERS = (
    *(f"{name} demo" for name in ("costs", "memory", "restarts", "drift", "plan", "fleet", "survive", "make-room", "queues", "doctor")),
    *(f"{name} demo" for name in ("costs --spot", "overview --findings", "capacity --seats", "rollout --peak", "rollout --in-flight")),
    "diff demo demo", "report demo --to {folder}/demo.html", "anonymise demo --to /dev/stdout", "completion bash",
    *(f"{name} --help" for name in ("store", "serve", "app", "mcp")),
)  # fmt: skip


def start() -> Iterator[Figure]:
    """Whole commands on the demo."""
    yield Figure(figure="starting Python with numpy, msgspec, click; CPU", cluster=DEMO, take=_numpy)
    yield _started("rollout --help", 0.35)
    for command in VERDICTS:
        yield _started(command, 0.55)
    for command in OTHERS:
        yield _started(command, 1.0, "another command; CPU")


def _started(command: str, target: float, row: str = "") -> Figure:
    def take() -> Found:
        ran = headroom(command.format(folder=inputs.folder().name), runs=3)
        return Found(seconds=ran.cpu_seconds, beside=_numpy())

    name = f"headroom {command.partition(' --to')[0]}".replace(" demo", "").replace(f" {MANIFESTS}", " two manifests")
    return Figure(
        figure=row or f"{name}; CPU", one_of=name if row else "", cluster=DEMO, beside="numpy", at_most_seconds=target, take=take
    )  # fmt: skip


# ── how long one waits ───────────────────────────────────────────────────────────────────────────────────────────────
BY_CLUSTER: dict[str, dict[str, float | None]] = {
    "rollout {cluster} -w {stuck}": dict.fromkeys(FIVE),
    "capacity {cluster}": dict.fromkeys(FIVE),
    OVERVIEW: dict.fromkeys(FIVE),
    PLAN: {**dict.fromkeys(FIVE), SOME: 3.0, SOME_VARIED: None, COPIES: 5.0, VARIED: 20.0},
    REPORT: {**dict.fromkeys(FIVE), VARIED: 30.0, QUIET: 10.0},
    DIFF: {**dict.fromkeys(FIVE), VARIED: 20.0},
    "restarts {cluster}": {**dict.fromkeys(FIVE), VARIED: 20.0},
    SURVIVE: {**dict.fromkeys(FIVE), VARIED: 20.0},
    MAKE_ROOM: {**dict.fromkeys(FIVE), OPENB: 10.0, COPIES: 10.0},
}
"""Each command with its targets, by cluster."""
IN_CPU = (SURVIVE, MAKE_ROOM)
"""Those whose targets are of CPU, all their processes together; of the others by the clock."""


def waited() -> Iterator[Figure]:
    """Whole commands on the five clusters, with all cores; beside the start of Python and a bare decode of each file that they read."""
    for cluster in (*FIVE[:2], SOME, SOME_VARIED, *FIVE[2:]):
        for command, targets in BY_CLUSTER.items():
            if cluster in targets:
                yield _waited(command, cluster, targets[cluster])


def _waited(command: str, cluster: str, target: float | None) -> Figure:
    def take() -> Found:
        ran = _ran(_on(command, cluster), None)
        decoded = bare(cluster) + (bare(_other(cluster)) if command == DIFF else 0.0)
        return Found(seconds=ran.cpu_seconds if command in IN_CPU else ran.seconds, beside=_numpy() + decoded)

    unit = "CPU" if command in IN_CPU else "all cores, clock"
    return Figure(
        figure=f"headroom {command.split(maxsplit=1)[0]}; {unit}", cluster=cluster, beside="CPU of start and decode", at_most_seconds=target, take=take
    )  # fmt: skip


def _other(cluster: str) -> str:
    """What it is compared with."""
    return COPIES if cluster == VARIED else cluster


def _on(command: str, cluster: str) -> str:
    return command.format(
        cluster=inputs.taken(cluster), other=inputs.taken(_other(cluster)),
        stuck=inputs.STUCK.get(cluster, ""), folder=inputs.folder().name,
    )  # fmt: skip


@kept
def _ran(command: str, workers: int | None) -> Ran:
    """What takes long is asked once in a run, for all figures that it is in."""
    ran = headroom(command, runs=1, workers=workers)
    if " --to " not in command:
        return ran
    return replace(ran, said=hashlib.sha256(Path(command.rpartition(" ")[2]).read_bytes()).hexdigest())


# ── two cores ────────────────────────────────────────────────────────────────────────────────────────────────────────
def both() -> Iterator[Figure]:
    """How many times sooner an answer is there with all cores than with one process; what they say is equal."""
    for cluster in (COPIES, VARIED):
        for command in (OVERVIEW, PLAN, REPORT):
            yield _sooner(command, cluster)
    yield _sooner(REPORT, QUIET)


def _sooner(command: str, cluster: str) -> Figure:
    def take() -> Found:
        alone, together = (_ran(_on(command, cluster), workers) for workers in (0, None))
        if alone.said != together.said:
            raise AssertionError("two processes say something else than one")
        return Found(ratio=alone.seconds / together.seconds)

    return Figure(
        figure=f"headroom {command.split(maxsplit=1)[0]}; one process / all cores, clock", cluster=cluster, at_least_ratio=SPEED_UP, take=take
    )  # fmt: skip


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def load() -> Iterator[Figure]:
    """Time and memory of reading kubectl's JSON, beside two bare decodes of the same bytes; each in a process of its own."""
    for cluster in FIVE:
        for way, name in (("bare", "msgspec"), ("json", "json.loads")):
            yield Figure(
                figure=f"bare decode by {name}, collector off; CPU", cluster=cluster,
                take=lambda cluster=cluster, way=way: read(cluster, way)["seconds"],  # type: ignore[misc]
            )  # fmt: skip
        yield _read(cluster)
        if cluster in FIVE[:2]:  # small: what Python itself holds
            continue
        yield Figure(
            figure="peak memory of reading / the file", cluster=cluster, at_most_ratio=3.0,
            take=lambda cluster=cluster: Found(ratio=_peak(cluster)),  # type: ignore[misc]
        )  # fmt: skip


def _read(cluster: str) -> Figure:
    def take() -> Found:
        return Found(seconds=read(cluster, "headroom")["seconds"], beside=bare(cluster))

    return Figure(
        figure="reading / a bare decode; CPU", cluster=cluster, beside="bare decode", at_most_ratio=2.0, take=take
    )


def bare(cluster: str) -> float:
    """Seconds of CPU of decoding what a command reads, into what msgspec makes of it."""
    return read(cluster, "bare")["seconds"]


def _peak(cluster: str) -> float:
    return read(cluster, "headroom")["peak_bytes"] / inputs.file(cluster).stat().st_size


@kept
def read(cluster: str, way: str) -> dict[str, float]:
    """Of three times that with least; of what is large of two, of what is huge once."""
    return min(
        (_loaded(inputs.file(cluster), way) for _ in range({QUIET: 2, HUGE: 1}.get(cluster, 3))),
        key=lambda one: one["seconds"],
    )


def _loaded(path: Path, way: str) -> dict[str, float]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.bench.load", str(path), way], check=True, capture_output=True, text=True, timeout=_TOO_LONG, cwd=ROOT
    )  # fmt: skip
    figures: dict[str, float] = json.loads(ran.stdout)
    return figures


# ── what is huge ─────────────────────────────────────────────────────────────────────────────────────────────────────
def huge() -> Iterator[Figure]:
    """65,000 nodes and more than 200,000 pods, from the file: seconds of CPU, and memory."""
    for command in ("capacity {cluster}", f"rollout {{cluster}} -w {clusters.FIFTY}", "overview {cluster}"):
        name = command.split()[0]
        yield Figure(
            figure=f"headroom {name} of 1.2 GB; CPU", cluster=HUGE, beside="bare decode",
            take=lambda command=command: Found(seconds=_ran(_on(command, HUGE), None).cpu_seconds, beside=bare(HUGE)),  # type: ignore[misc]
        )  # fmt: skip
        yield Figure(
            figure=f"peak memory of {name} / 8 GB", cluster=HUGE, at_most_ratio=1.0,
            take=lambda command=command: Found(ratio=_ran(_on(command, HUGE), None).peak_bytes / 8e9),  # type: ignore[misc]
        )  # fmt: skip
