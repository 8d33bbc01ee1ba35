"""Causes, and how alive the trouble is, in words: the pages', the command's and the reports' are these."""

from __future__ import annotations

from typing import Final

from planner.restarts.model import Activity, Cause, EvidenceSource

CAUSE: Final = {
    Cause.OOM_OWN_LIMIT: "OOM-killed at its own limit",
    Cause.OOM_NODE: "OOM-killed, node ran out",
    Cause.CHILD_TIMEOUT: "workers killed by timeout",
    Cause.CHILD_KILLED: "child processes killed",
    Cause.HEAP_LIMIT: "memory refused inside",
    Cause.GPU_MEMORY: "GPU memory",
    Cause.SHARED_MEMORY: "shared memory",
    Cause.STARTUP_PROBE: "startup probe",
    Cause.LIVENESS_PROBE: "liveness probe",
    Cause.CPU_THROTTLED: "CPU throttled at start",
    Cause.BAD_COMMAND: "command can't be run",
    Cause.IMAGE: "image",
    Cause.CONFIG: "configuration missing",
    Cause.VOLUME: "volume",
    Cause.DEPENDENCY: "another service doesn't answer",
    Cause.NODE_LOST: "node lost",
    Cause.EVICTED: "evicted",
    Cause.PREEMPTED: "preempted",
    Cause.REJECTED: "refused by its node",
    Cause.DEADLINE: "out of time",
    Cause.COMPLETED: "ends by itself",
    Cause.CRASH: "crash",
    Cause.ERROR_EXIT: "error exit",
    Cause.KILLED: "killed, by whom is unknown",
    Cause.UNKNOWN: "unknown",
}
ACTIVITY: Final = {
    Activity.NOT_STARTING: "✗ doesn't start",
    Activity.LOOPING: "✗ looping now",
    Activity.SILENT: "△ hidden: the pod shows nothing",
    Activity.RECURRING: "△ restarted within a day",
    Activity.GONE: "i pod gone",
    Activity.SETTLED: "✓ long past",
}
SOURCE: Final = {
    EvidenceSource.STATUS: "pod status",
    EvidenceSource.EVENT: "event",
    EvidenceSource.LOG: "log",
    EvidenceSource.SPEC: "spec",
    EvidenceSource.METRICS: "metrics",
    EvidenceSource.PEERS: "where the program works",
}
