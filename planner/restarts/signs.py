"""What known programs print when a process is killed, runs out of something or can't start.

Each sign is a pattern with what it means. Patterns follow the programs' own messages; where a program is named in the
comment, its source holds the text. Read 2026-11-20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from statistics import median

from planner.ground.records import Record
from planner.restarts.lines import template, written_at


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


_PATTERNS: tuple[tuple[Sign, str, str], ...] = (
    # gunicorn `arbiter.py`: murder_workers, reap_workers, spawn_worker
    (Sign.WORKER_BOOT, "gunicorn", r"Booting worker with pid: (?P<pid>\d+)"),
    (Sign.WORKER_TIMEOUT, "gunicorn", r"WORKER TIMEOUT \(pid: ?(?P<pid>\d+)\)"),
    (Sign.CHILD_SIGKILL, "gunicorn", r"Worker \(pid: ?(?P<pid>\d+)\) was sent SIGKILL"),
    (Sign.CHILD_SIGKILL, "gunicorn", r"Worker \(pid: ?(?P<pid>\d+)\) was terminated due to signal 9\b"),
    (Sign.CHILD_DIED, "gunicorn", r"Worker \(pid: ?(?P<pid>\d+)\) (?:was sent SIG(?!KILL)|exited with code [1-9])"),
    # uvicorn `supervisors/multiprocess.py`
    (Sign.WORKER_BOOT, "uvicorn", r"Started server process \[(?P<pid>\d+)\]"),
    (Sign.CHILD_DIED, "uvicorn", r"Child process \[(?P<pid>\d+)\] died"),
    # celery and billiard: `exceptions.py`, `concurrency/asynpool.py`, `worker/request.py`
    (Sign.CHILD_SIGKILL, "celery", r"(?:pid|PID):? ?(?P<pid>\d+) exited with 'signal 9"),
    (Sign.CHILD_SIGKILL, "celery", r"Worker exited prematurely: signal 9"),
    (Sign.TASK_TIME_LIMIT, "celery", r"Hard time limit \([\d.]+s?\) exceeded|\bTimeLimitExceeded\("),
    # Ruby: unicorn `http_server.rb`, puma `cluster.rb`
    (Sign.WORKER_TIMEOUT, "unicorn", r"worker=\d+ PID:(?P<pid>\d+) timeout \(\d+s > \d+s\), killing"),
    (Sign.CHILD_SIGKILL, "unicorn", r"reaped #<Process::Status: pid (?P<pid>\d+) SIGKILL"),
    (Sign.WORKER_TIMEOUT, "puma", r"Terminating timed out worker(?: \(.*\))?:? ?(?P<pid>\d+)?"),
    (Sign.WORKER_BOOT, "puma", r"Worker \d+ \(PID: (?P<pid>\d+)\) booted"),
    # uWSGI `core/master_utils.c`, `core/master_checks.c`
    (Sign.CHILD_SIGKILL, "uwsgi", r"worker \d+ \(pid: (?P<pid>\d+)\) died, killed by signal 9"),
    (Sign.WORKER_TIMEOUT, "uwsgi", r"HARAKIRI.*(?:worker \d+ \(pid: (?P<pid>\d+)\))"),
    (Sign.WORKER_BOOT, "uwsgi", r"spawned uWSGI worker \d+ \(pid: (?P<pid>\d+)"),
    # php-fpm `fpm_children.c`, `fpm_process_ctl.c`; nginx `ngx_process.c`; PostgreSQL `postmaster.c`
    (Sign.CHILD_SIGKILL, "php-fpm", r"child (?P<pid>\d+) exited on signal 9"),
    (Sign.WORKER_TIMEOUT, "php-fpm", r"child (?P<pid>\d+),.*execution timed out .*terminating"),
    (Sign.CHILD_SIGKILL, "nginx", r"worker process (?P<pid>\d+) exited on signal 9"),
    (Sign.CHILD_SIGKILL, "postgres", r"\(PID (?P<pid>\d+)\) was terminated by signal 9"),
    # Python: multiprocessing, concurrent.futures, PyTorch's DataLoader
    (Sign.CHILD_SIGKILL, "python", r"DataLoader worker \(pid(?:\(s\))? (?P<pid>\d+)\) is killed by signal: Killed"),
    (Sign.CHILD_DIED, "python", (r"DataLoader worker \(pid\(s\) [\d, ]+\) exited unexpectedly|BrokenProcessPool|"
                                r"process pool was terminated abruptly")),
    (Sign.SHARED_MEMORY, "python", (r"out of shared memory|insufficient shared memory|shm.*No space left on device|"
                                   r"killed by signal: Bus error")),
    (Sign.GPU_MEMORY, "", (r"CUDA(?: error:)? out of memory|OutOfMemoryError: CUDA|CUDA_ERROR_OUT_OF_MEMORY|"
                          r"\bcudaErrorMemoryAllocation\b|HIP out of memory|RESOURCE_EXHAUSTED: Out of memory")),
    (Sign.ALLOCATION_FAILED, "python", r"(?:^|\s|\.)MemoryError\b|_ArrayMemoryError|Unable to allocate [\d.]+ [KMGT]iB"),
    # JVM: `java.lang.OutOfMemoryError`, `os::abort`; Node.js / V8 `api.cc`; Go `runtime/malloc.go`; Rust `alloc`
    (Sign.HEAP_LIMIT, "java", (r"OutOfMemoryError: (?:Java heap space|GC overhead limit exceeded|Metaspace|Direct buffer "
                              r"memory|Compressed class space)|Terminating due to java\.lang\.OutOfMemoryError|"
                              r"Aborting due to java\.lang\.OutOfMemoryError")),
    (Sign.ALLOCATION_FAILED, "java", (r"insufficient memory for the Java Runtime Environment|"
                                     r"unable to create (?:new )?native thread")),
    (Sign.HEAP_LIMIT, "node", r"JavaScript heap out of memory|Reached heap limit|Ineffective mark-compacts near heap limit"),
    (Sign.ALLOCATION_FAILED, "go", r"fatal error: (?:runtime: )?(?:out of memory|cannot allocate memory)"),
    (Sign.ALLOCATION_FAILED, "", (r"memory allocation of \d+ bytes failed|std::bad_alloc|Cannot allocate memory|"
                                 r"failed to allocate memory \(NoMemoryError\)")),
    (Sign.KERNEL_OOM, "", r"(?:Memory cgroup o|O)ut of memory: Killed process (?P<pid>\d+)|oom-kill:constraint="),
    # a shell that reports its child (bash, dash): "run.sh: line 3:    12 Killed   python work.py"
    (Sign.CHILD_SIGKILL, "sh", r"^Killed\s*$|: line \d+:\s+(?P<pid>\d+)\s+Killed\s"),
    (Sign.CHILD_SIGKILL, "", r"(?:killed|terminated|exited|died)\b.{0,40}\b(?:signal[: =]+(?:9\b|SIGKILL|killed)|SIGKILL)"),
    (Sign.ARCHITECTURE, "", r"exec format error"),
    (Sign.COMMAND, "", (r"executable file not found in \$PATH|: (?:command )?not found$|ModuleNotFoundError: No module named|"
                       r"Error: Cannot find module|Could not find or load main class|can't open file .*No such file")),
    (Sign.CONFIG, "", (r"KeyError: '[A-Z][A-Z0-9_]{3,}'|environment variable \S+ (?:is )?(?:not set|missing|required)|"
                      r"[Mm]issing (?:required )?(?:environment|config\w*|setting)|"
                      r"ImproperlyConfigured|required key \S+ missing value|invalid (?:configuration|config file)")),
    (Sign.DEPENDENCY, "", (r"[Cc]onnection refused|ECONNREFUSED|[Nn]ame or service not known|ENOTFOUND|no such host|"
                          r"[Cc]ould not connect to|[Cc]annot connect to|[Ff]ailed to connect|could not translate host name|"
                          r"Temporary failure in name resolution|EAI_AGAIN|i/o timeout")),
    (Sign.CRASH, "", r"[Ss]egmentation fault|SIGSEGV|core dumped|^panic: |^fatal error: |stack smashing detected"),
)  # fmt: skip
_SIGNS = tuple((sign, program, re.compile(pattern)) for sign, program, pattern in _PATTERNS)
# cheap first look: most lines hold none of these, and then no pattern needs to be tried (looking for plain texts takes
# a twentieth of the time of one expression that holds them all)
_HINTS = (
    "worker", "child", "pid", "kill", "signal", "memory", "heap", "alloc", "harakiri", "time limit", "timelimit",
    "could not", "couldn", "not found", "cannot find", "can't open", "format error", "keyerror", "bus error",
    "cudaerror", "no module", "shm", "find or load", "refused", "not known", "no such", "timeout", "timed out",
    "missing", "required", "not set", "oom", "fault", "core dumped", "panic:", "fatal error", "smashing", "died",
    "connect", "econn", "translate host", "resolution", "enotfound", "eai_again", "configur", "config", "sigsegv",
)  # fmt: skip


class Hit(Record):
    sign: Sign
    program: str  # whose words they are; empty when many programs speak so
    pid: str
    at: float | None
    template: str


class Signs(Record, kw_only=False):
    """All hits of one log, in order."""

    hits: tuple[Hit, ...] = ()

    def of(self, *signs: Sign) -> tuple[Hit, ...]:
        return tuple(hit for hit in self.hits if hit.sign in signs)

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
