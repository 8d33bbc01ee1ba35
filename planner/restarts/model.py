"""What is said about containers that restart: cause, evidence, noise, cure."""

from __future__ import annotations

from enum import StrEnum

from planner.ground.records import Record
from planner.ground.words import Text
from planner.memory.suggestion import Suggestion


class Cause(StrEnum):
    """Why a container restarts, or never starts."""

    OOM_OWN_LIMIT = "oom_own_limit"  # the kernel killed it at its own (or its pod's) memory limit
    OOM_NODE = "oom_node"  # killed for memory without a limit of its own: the node ran out
    CHILD_TIMEOUT = "child_timeout"  # a supervisor stops its own workers for being late; the container lives on
    CHILD_KILLED = "child_killed"  # somebody else killed a child process; the container lives on
    HEAP_LIMIT = "heap_limit"  # the runtime's own heap limit, or malloc, said no: Java, Node.js, Python, Go
    GPU_MEMORY = "gpu_memory"
    SHARED_MEMORY = "shared_memory"  # /dev/shm
    STARTUP_PROBE = "startup_probe"
    LIVENESS_PROBE = "liveness_probe"
    CPU_THROTTLED = "cpu_throttled"  # its CPU limit makes it too slow to start in time
    BAD_COMMAND = "bad_command"
    IMAGE = "image"
    CONFIG = "config"  # a Secret, ConfigMap or key it names isn't there
    VOLUME = "volume"  # a volume can't be mounted
    DEPENDENCY = "dependency"  # another service it needs at start doesn't answer
    NODE_LOST = "node_lost"  # node gone, shut down or rebooted: spot and preemptible nodes
    EVICTED = "evicted"  # by the kubelet, under pressure
    PREEMPTED = "preempted"  # by the scheduler, for a pod of higher priority
    REJECTED = "rejected"  # the kubelet refused it: no device, no room, after the scheduler had placed it
    DEADLINE = "deadline"  # activeDeadlineSeconds
    COMPLETED = "completed"  # it ends with 0 and restartPolicy starts it again
    CRASH = "crash"  # SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE
    ERROR_EXIT = "error_exit"
    KILLED = "killed"  # SIGKILL, and nothing says by whom
    UNKNOWN = "unknown"


class Confidence(StrEnum):
    CERTAIN = "certain"  # Kubernetes itself says so
    LIKELY = "likely"  # several signs agree
    POSSIBLE = "possible"  # one sign, or signs that allow another cause


class Activity(StrEnum):
    """How alive the trouble is."""

    NOT_STARTING = "not_starting"  # the container never ran
    LOOPING = "looping"  # in back-off, or restarted minutes ago
    SILENT = "silent"  # children are killed inside a container that hasn't restarted
    RECURRING = "recurring"  # restarted within the last day
    GONE = "gone"  # the pod was lost with its node, evicted or preempted
    SETTLED = "settled"  # restarted once upon a time, fine since


class EvidenceSource(StrEnum):
    STATUS = "status"
    EVENT = "event"
    LOG = "log"
    SPEC = "spec"
    METRICS = "metrics"
    PEERS = "peers"  # the same program elsewhere


class Evidence(Record):
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
    """One container of one workload in trouble, all its pods together."""

    workload: str  # key
    namespace: str
    container: str
    image: str
    pods: tuple[str, ...]  # in trouble
    pods_in_all: int
    activity: Activity
    restarts: int  # of all these pods
    most_restarts: int  # of one pod
    since: float | None  # the first sign: earliest event, else start of the oldest pod in trouble
    last_restart_at: float | None
    seconds_between: float | None  # average time between restarts of one pod
    diagnosis: Diagnosis
    memory_limit_bytes: int | None
    memory_request_bytes: int | None
    seen_bytes: int | None  # largest working set of these pods
    peers: Peers | None
    suggestion: Suggestion | None
    lines: tuple[LogLine, ...]
    has_log: bool
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
