"""Records of the restart answer: cause, evidence, noise, fix."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from planner.ground.records import Record
from planner.ground.words import Text
from planner.health.memory.request_suggestions import Suggestion


class Worded(StrEnum):
    """A value as documents have it, and how people are told it (`words`)."""

    _value_: str
    words: str

    def __new__(cls, value: str, words: str) -> Self:
        member = str.__new__(cls, value)
        member._value_, member.words = value, words
        return member


class Cause(Worded):
    """Why a container restarts, or never starts."""

    OOM_OWN_LIMIT = "oom_own_limit", "OOM-killed at its own limit"  # or its pod's
    OOM_NODE = "oom_node", "OOM-killed, node ran out"  # killed for memory without a limit of its own: the node ran out
    CHILD_TIMEOUT = "child_timeout", "workers killed by timeout"  # by their own supervisor; the container lives on
    CHILD_KILLED = "child_killed", "child processes killed"  # by another process; the container lives on
    HEAP_LIMIT = "heap_limit", "memory refused inside"  # by the runtime's own heap limit, or malloc
    GPU_MEMORY = "gpu_memory", "GPU memory"
    SHARED_MEMORY = "shared_memory", "shared memory"  # /dev/shm
    STARTUP_PROBE = "startup_probe", "startup probe"
    LIVENESS_PROBE = "liveness_probe", "liveness probe"
    CPU_THROTTLED = "cpu_throttled", "CPU throttled at start"  # its CPU limit makes it too slow to start in time
    BAD_COMMAND = "bad_command", "command can't be run"
    IMAGE = "image", "image"
    CONFIG = "config", "configuration missing"  # a Secret, ConfigMap or key it names isn't there
    SECURITY = "security", "security context"  # runAsNonRoot, or a profile that the node can't apply
    HOOK = "hook", "postStart hook"  # failed: the kubelet kills the container
    GPU_DRIVER = "gpu_driver", "GPU driver on the node"  # missing, too old, or NVIDIA's runtime fails
    RUNTIME = "runtime", "container runtime"  # the node's runtime can't start it, and command and image aren't to blame
    VOLUME = "volume", "volume"  # a volume can't be mounted
    DEPENDENCY = "dependency", "another service doesn't answer"  # another service it needs at start doesn't answer
    NODE_LOST = "node_lost", "node lost"  # node gone, shut down or rebooted: spot and preemptible nodes
    EVICTED = "evicted", "evicted"  # by the kubelet, under pressure
    PREEMPTED = "preempted", "preempted"  # by the scheduler, for a pod of higher priority
    REJECTED = "rejected", "refused by its node"  # no device, no room, after the scheduler had placed it
    DEADLINE = "deadline", "out of time"  # activeDeadlineSeconds
    COMPLETED = "completed", "ends by itself"  # it ends with 0 and restartPolicy starts it again
    CRASH = "crash", "crash"  # SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE
    ERROR_EXIT = "error_exit", "error exit"
    KILLED = "killed", "killed, by whom is unknown"  # SIGKILL, and nothing says by whom
    UNKNOWN = "unknown", "unknown"


class Confidence(StrEnum):
    CERTAIN = "certain"  # Kubernetes itself says so
    LIKELY = "likely"  # several signs agree
    POSSIBLE = "possible"  # one sign, or signs that allow another cause


class Activity(Worded):
    """How alive the trouble is."""

    NOT_STARTING = "not_starting", "✗ doesn't start"  # the container never ran
    LOOPING = "looping", "✗ looping now"  # in back-off, or restarted minutes ago
    SILENT = "silent", "△ hidden: the pod shows nothing"  # children are killed inside a container that hasn't restarted
    RECURRING = "recurring", "△ restarted within a day"  # restarted within the last day
    GONE = "gone", "i pod gone"  # the pod was lost with its node, evicted or preempted
    SETTLED = "settled", "✓ long past"  # restarted once upon a time, fine since


class EvidenceSource(Worded):
    STATUS = "status", "pod status"
    EVENT = "event", "event"
    LOG = "log", "log"
    SPEC = "spec", "spec"
    METRICS = "metrics", "metrics"
    PEERS = "peers", "where the program works"  # the same program elsewhere


class Evidence(Record, kw_only=False):
    source: EvidenceSource
    text: str


class Diagnosis(Record):
    """`what` completes the sentence "CONTAINER …": ``was killed at its own memory limit (512Mi)``."""

    cause: Cause
    confidence: Confidence
    what: str
    evidence: tuple[Evidence, ...]
    cure: str
    root: str = ""  # what lies behind the cause, where something does: "memory is full: …"
    wants_memory: bool = False  # more memory is (part of) the cure
    wants_cpu: bool = False


class LineVerdict(StrEnum):
    NOISE = "noise"  # pods that work print it as well
    ONLY_FAILING = "only_failing"  # no pod that works prints it
    UNSURE = "unsure"  # no pod that works has a log to compare with


class LogLine(Record):
    """A line that looks alarming, as a template: times, numbers, addresses and secrets taken out."""

    template: str
    verdict: LineVerdict
    lines: int  # how often, in all failing pods together
    failing_pods: int  # failing pods that print it, of those with a log
    failing_pods_with_log: int
    healthy_pods: int  # pods of the same program that work and print it …
    healthy_pods_with_log: int
    healthy_elsewhere: int  # … and working pods of other programs that do
    per_start: float  # lines a process start, in failing pods
    per_start_healthy: float | None  # the same in healthy pods of the same program
    sentence: Text


class Peers(Record):
    """The same program in pods that work: what it is given and what it uses there."""

    workloads: tuple[str, ...]
    pods: int
    memory_request_bytes: int | None  # largest among them
    memory_limit_bytes: int | None
    cpu_request_millicores: int | None
    cpu_limit_millicores: int | None
    working_set_bytes: int | None  # largest seen
    startup_seconds: float | None  # slowest seen, container start → Ready


class Loop(Record):
    """One container of one workload in trouble, all its pods together; of pods that are gone little is known."""

    workload: str  # key
    namespace: str
    container: str = ""
    image: str = ""
    pods: tuple[str, ...]  # in trouble
    pods_in_all: int
    activity: Activity
    restarts: int = 0  # of all these pods
    most_restarts: int = 0  # of one pod
    since: float | None  # the first sign: earliest event, else start of the oldest pod in trouble
    last_restart_at: float | None = None
    seconds_between: float | None = None  # average time between restarts of one pod
    diagnosis: Diagnosis
    memory_limit_bytes: int | None = None
    memory_request_bytes: int | None = None
    seen_bytes: int | None = None  # largest working set of these pods
    peers: Peers | None = None
    suggestion: Suggestion | None = None
    lines: tuple[LogLine, ...] = ()
    has_log: bool = False
    sentence: Text

    @property
    def is_live(self) -> bool:
        """Whether it goes on: neither long past nor about pods that have gone."""
        return self.activity not in (Activity.SETTLED, Activity.GONE)

    @property
    def noise(self) -> tuple[LogLine, ...]:
        return tuple(line for line in self.lines if line.verdict is LineVerdict.NOISE)

    @property
    def suspects(self) -> tuple[LogLine, ...]:
        return tuple(line for line in self.lines if line.verdict is not LineVerdict.NOISE)


class RestartReport(Record):
    """All loops, worst first, and what the answer couldn't use."""

    loops: tuple[Loop, ...]
    pods: int
    containers: int
    pods_with_log: int
    gaps: tuple[str, ...]  # what wasn't there to look at, in sentences
    sentence: Text
