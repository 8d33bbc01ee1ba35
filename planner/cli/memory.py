"""``headroom memory``: the generated command, plus use over time and the effect of a change of one workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.cli import options_from_settings
from planner.cli.input_options import THERE
from planner.cli.question_commands import Called, Hooks, command_of
from planner.ground.records import replace
from planner.inventory import cadvisor
from planner.kubernetes.object_records import Snapshot
from planner.sources import bounded_reading, cluster_dumps

_OPTIONS: Final = options_from_settings.together(
    options_from_settings.option("", "--pod-metrics", type=THERE, is_everyday=True, help="PodMetrics as kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods gives."),
    options_from_settings.option("", "--kubelet-metrics", type=THERE, multiple=True, is_everyday=True, help="A kubelet's metrics/cadvisor, one file a node; repeatable."),
)  # fmt: skip


def _with_metrics(called: Called) -> Snapshot:
    [snapshot], path = called.snapshots, called.values["pod_metrics"]
    if path is None:
        return snapshot
    read = cluster_dumps.read(path, limit_bytes=bounded_reading.limit_bytes())
    return replace(snapshot, pod_metrics=read.pod_metrics, digest=f"{snapshot.digest}+{read.digest}")


def _of_kubelets(called: Called) -> Mapping[str, Any]:
    texts = {
        str(path): bounded_reading.read_file(path).decode("utf-8", "replace")
        for path in called.values["kubelet_metrics"]
    }
    return {"stats": tuple(cadvisor.parse(text, path) for path, text in texts.items())}


command = command_of(
    "memory", Hooks(options=_OPTIONS, reads=_with_metrics, brings=_of_kubelets, other=("memory_what_if", "workload"))
)
