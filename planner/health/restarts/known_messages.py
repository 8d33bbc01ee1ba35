"""Known log messages of programs that were killed, ran out of something, or can't start.

Each sign is a pattern with what it means (`signs.tsv`). Patterns follow the programs' own messages; where a program is named in the
comment, its source holds the text. Read 2026-11-20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from statistics import median

from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.health.restarts.log_line_templates import template, written_at


class Sign(StrEnum):
    WORKER_BOOT = "worker_boot"  # a supervisor starts a child (group: pid)
    WORKER_TIMEOUT = "worker_timeout"  # a supervisor finds its child late and stops it (group: pid)
    CHILD_SIGKILL = "child_sigkill"  # a child died of signal 9 (group: pid)
    CHILD_DIED = "child_died"  # a child died otherwise
    TASK_TIME_LIMIT = "task_time_limit"  # a job runner stops a job at its own time limit
    HEAP_LIMIT = "heap_limit"
    ALLOCATION_FAILED = "allocation_failed"  # malloc said no
    GPU_MEMORY = "gpu_memory"
    SHARED_MEMORY = "shared_memory"
    KERNEL_OOM = "kernel_oom"  # the kernel's own words
    COMMAND = "command"  # a program or module that isn't there
    ARCHITECTURE = "architecture"  # built for another CPU
    CONFIG = "config"
    DEPENDENCY = "dependency"
    CRASH = "crash"
    GPU_DRIVER = "gpu_driver"  # missing, too old, or of another version than its libraries
    GPU_MISSING = "gpu_missing"  # the program sees no GPU
    GPU_BROKEN = "gpu_broken"  # the card fails or is taken
    GPU_IMAGE = "gpu_image"  # built for other GPUs
    KV_CACHE = "kv_cache"  # an inference server's cache doesn't fit into what the weights leave
    NCCL = "nccl"  # the ranks of a job don't reach one another
    MODEL_ACCESS = "model_access"  # weights that may not be downloaded


GPU_PROGRAMS = (
    Sign.GPU_DRIVER, Sign.GPU_MISSING, Sign.GPU_BROKEN, Sign.GPU_IMAGE, Sign.KV_CACHE, Sign.NCCL, Sign.MODEL_ACCESS,
)  # fmt: skip
_TABLE = table_beside(__name__, "signs.tsv").decode()  # sign, program, pattern
_LINES = tuple(line.split("\t") for line in _TABLE.splitlines() if not line.startswith("#"))
_SIGNS = tuple((Sign(sign), program, re.compile(pattern)) for sign, program, pattern in _LINES)
# cheap first look: most lines hold none of these, and then no pattern needs to be tried (looking for plain texts takes
# a twentieth of the time of one expression that holds them all)
_HINTS = (
    "worker", "child", "pid", "kill", "signal", "memory", "heap", "alloc", "harakiri", "time limit", "timelimit",
    "could not", "couldn", "not found", "cannot find", "can't open", "format error", "keyerror", "bus error",
    "cudaerror", "no module", "shm", "find or load", "refused", "not known", "no such", "timeout", "timed out",
    "missing", "required", "not set", "oom", "fault", "core dumped", "panic:", "fatal error", "smashing", "died",
    "connect", "econn", "translate host", "resolution", "enotfound", "eai_again", "configur", "config", "sigsegv",
    "cuda", "nvml", "nvidia driver", "nvrm", "no hip gpus", "ecc error", "fallen off", "gpu is lost", "kernel image", "not compatible with",
    "cache blocks", "kv cache", "nccl", "collective operation", "gated", "access to model", "repositorynotfound", "401 client error",
)  # fmt: skip


class Hit(Record):
    sign: Sign
    program: str  # the program that prints them; empty when many do
    pid: str
    at: float | None
    template: str


class Signs(Record, kw_only=False):
    """All hits of one log, in order."""

    hits: tuple[Hit, ...] = ()

    def of(self, *signs: Sign) -> tuple[Hit, ...]:
        return tuple([hit for hit in self.hits if hit.sign in signs]) if self.hits else ()

    def killed_by_others(self) -> tuple[Hit, ...]:
        """Children that died of SIGKILL without their supervisor having found them late before."""
        late: set[str] = set()
        others: list[Hit] = []
        for hit in self.hits:
            if hit.sign is Sign.WORKER_TIMEOUT and hit.pid:
                late.add(hit.pid)
            elif hit.sign is Sign.WORKER_BOOT:
                late.discard(hit.pid)  # the number is used again
            elif hit.sign is Sign.CHILD_SIGKILL and hit.pid not in late:
                others.append(hit)
        return tuple(others)

    def seconds_until_timeout(self) -> float | None:
        """Median time between a child's start and the moment it was found late; None where the log has no times."""
        booted: dict[str, float] = {}
        lives: list[float] = []
        for hit in self.hits:
            if hit.at is None or not hit.pid:
                continue
            if hit.sign is Sign.WORKER_BOOT:
                booted[hit.pid] = hit.at
            elif hit.sign is Sign.WORKER_TIMEOUT and hit.pid in booted:
                lives.append(hit.at - booted.pop(hit.pid))
        return median(lives) if lives else None


def read(lines: Sequence[str]) -> Signs:
    """The signs in `lines`; the first pattern that fits a line counts."""
    hits: list[Hit] = []
    for line in lines:
        head = line[:1_000]
        lowered = head.lower()
        if not any(hint in lowered for hint in _HINTS):
            continue
        for sign, program, pattern in _SIGNS:
            match = pattern.search(head)
            if match is not None:
                pid = match.groupdict().get("pid") or ""
                hits.append(Hit(sign=sign, program=program, pid=pid, at=written_at(head), template=template(line)))
                break
    return Signs(tuple(hits))
