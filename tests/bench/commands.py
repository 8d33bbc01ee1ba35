"""Whole commands, from their start to their end, each in a process of its own: seconds of CPU, all its processes together; where what
counts is how long somebody waits, seconds by the clock with all cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planner.processes import VARIABLE
from tests.bench import clusters, crowd
from tests.bench.table import Figure

ROOT = Path(__file__).parents[2]
_NUMPY = ("-c", "import numpy, msgspec, click")  # what no verdict goes without
_HEADROOM = ("-c", "from headroom_planner import main; main()")
_TOLD = (0, 2, 3, 4)  # statuses that say what was found: bad input (1) is no answer that is worth timing
MANIFESTS = "docs/examples/manifests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One process: its CPU with that of its copies, how long it took, the most memory that it held."""

    cpu_seconds: float
    seconds: float
    peak_bytes: int


def run(*arguments: str, workers: int | None = None) -> Ran:
    """Python with `arguments`."""
    environment = {**os.environ, **({} if workers is None else {VARIABLE: str(workers)})}
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT, env=environment
    ) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in _TOLD, said.decode()
    return Ran(
        cpu_seconds=used.ru_utime + used.ru_stime, seconds=time.perf_counter() - start, peak_bytes=used.ru_maxrss * 1024
    )


def headroom(command: str, *, runs: int = 3, workers: int | None = None) -> Ran:
    """The run of ``headroom command`` that took least; what is above it is the machine's other business."""
    return min(
        (run(*_HEADROOM, *command.split(), workers=workers) for _ in range(runs)), key=lambda one: one.cpu_seconds
    )


@cache
def _numpy() -> float:
    return min(run(*_NUMPY).cpu_seconds for _ in range(5))


def start(_: int) -> Iterator[Figure]:
    """What every user pays each time: whole commands on the demo."""
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        yield from _started(folder)


def _started(folder: str) -> Iterator[Figure]:
    for command, target in (
        ("rollout --help", 0.35),
        ("rollout demo", 0.55),
        ("rollout demo -w deployment/prod/llm-serve", 0.55),
        (f"gate demo -f {MANIFESTS}", 0.55),
        ("overview demo", 0.55),
        ("capacity demo", 0.55),
        ("capacity demo --change add:gpu-t4=1", 0.55),
        *((f"{name} demo", 1.0) for name in ("costs", "memory", "restarts", "drift", "plan", "fleet", "survive", "make-room", "queues", "doctor")),
        *((f"{name} demo", 1.0) for name in ("costs --spot", "overview --findings", "capacity --seats", "rollout --peak", "rollout --in-flight")),
        *((command, 1.0) for command in ("diff demo demo", f"report demo --to {folder}/review.html", "anonymise demo --to /dev/stdout", "completion bash")),
        *((f"{name} --help", 1.0) for name in ("store", "serve", "app", "mcp")),
    ):  # fmt: skip
        yield Figure(
            figure=f"headroom {command.partition(' --to')[0]}", cluster="demo", seconds=headroom(command, runs=5).cpu_seconds,
            beside="numpy, click", beside_seconds=_numpy(), at_most_seconds=target,
        )  # fmt: skip


def commands(_: int) -> Iterator[Figure]:
    """Whole commands on large clusters: how long one waits, with one process and with all cores."""
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        some, many, varied, quiet = (
            _file(folder, name, dump)
            for name, dump in (
                ("42 copies", crowd.kubectl_json(42)),
                ("208 copies", crowd.kubectl_json(208)),
                ("208 varied", crowd.kubectl_json(208, varied=True)),
                ("5,000 nodes", clusters.kubectl_json(clusters.lay_out(5_000))),
            )
        )
        html = f"--to {folder}/report.html"
        for path, command, target in (
            (some, "plan {}", 3.0), (many, "plan {}", 5.0), (varied, "plan {}", 20.0),
            (many, "overview {}", None), (varied, "overview {}", None),
            (varied, f"diff {{}} {many}", 20.0), (varied, "restarts {}", 20.0),
            (varied, f"report {{}} {html}", 30.0), (quiet, f"report {{}} {html}", 10.0),
        ):  # fmt: skip
            yield from _waited(command.format(path), path.stem, target)


def _waited(command: str, cluster: str, target: float | None) -> Iterator[Figure]:
    alone, together = (headroom(command, runs=1, workers=workers) for workers in (0, None))
    yield Figure(
        figure=f"headroom {command.split(maxsplit=1)[0]}, all cores", cluster=cluster, seconds=together.seconds, beside="one process",
        beside_seconds=alone.seconds, at_most_seconds=target,
    )  # fmt: skip


def huge(_: int) -> Iterator[Figure]:
    """65,000 nodes and more than 200,000 pods, from the file: seconds of CPU, and memory."""
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        path = _file(folder, "65,000 nodes", clusters.kubectl_json(clusters.lay_out(65_000, is_sparse=True)))
        size = path.stat().st_size
        for command in (f"capacity {path}", f"rollout {path} -w {clusters.FIFTY}", f"overview {path}"):
            found = headroom(command, runs=1)
            name = command.split()[0]
            yield Figure(
                figure=f"headroom {name} of {size / 1e6:,.0f} MB", cluster=path.stem, seconds=found.cpu_seconds
            )
            yield Figure(
                figure=f"peak memory of {name} / 8 GB",
                cluster=path.stem,
                ratio=found.peak_bytes / 8e9,
                at_most_ratio=1.0,
            )


def _file(folder: str, name: str, dump: Iterable[bytes]) -> Path:
    path = Path(folder) / f"{name.replace(',', '').replace(' ', '-')}.json"
    with path.open("wb") as file:
        file.writelines(dump)
    return path
