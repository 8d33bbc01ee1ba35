"""GPU use by pod, from vendors' exporters in Prometheus.

NVIDIA's DCGM exporter: `DCGM_FI_PROF_GR_ENGINE_ACTIVE` (0 to 1; there for slices too), `DCGM_FI_DEV_GPU_UTIL` (percent),
`DCGM_FI_DEV_FB_USED` (MiB), labels ``UUID``, ``gpu``, ``GPU_I_ID``, ``modelName``, ``Hostname`` (dcgm-exporter
`etc/default-counters.csv`). AMD's device-metrics-exporter: `gpu_gfx_activity` (percent), `gpu_used_vram` (MB), labels
``gpu_uuid``, ``gpu_id``, ``gpu_partition_id``, ``card_series``, ``hostname``. Both tell the pod that holds a GPU as
``namespace`` and ``pod``; a Prometheus that keeps its own labels renames them ``exported_namespace`` and ``exported_pod``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.ground.errors import SourceError
from planner.ground.records import replace
from planner.inventory.gpu_use import GpuUse
from planner.kubernetes.object_records import Labels
from planner.sources.prometheus_usage import Prometheus, Series, step_seconds

_DAY: Final = 86_400
_MIB: Final = 2**20
BUSY: Final = {"DCGM_FI_PROF_GR_ENGINE_ACTIVE": 100.0, "DCGM_FI_DEV_GPU_UTIL": 1.0, "gpu_gfx_activity": 1.0}
"""Metric → what makes percent of it; of several that know a GPU the highest counts."""
USED: Final = {"DCGM_FI_DEV_FB_USED": _MIB, "gpu_used_vram": _MIB}
_BY: Final = (
    "namespace", "pod", "exported_namespace", "exported_pod", "UUID", "gpu", "GPU_I_ID", "modelName", "Hostname",
    "gpu_uuid", "gpu_id", "gpu_partition_id", "card_series", "hostname",
)  # fmt: skip
_POINTS: Final = 200  # a request: many GPUs at a time

Key = tuple[str, str, str]  # namespace, pod, GPU


def gpu_use(
    server: Prometheus, *, end: float, days: int, busy_percent: float, may_lack: bool = False
) -> tuple[GpuUse, ...]:
    """Every GPU by the pod that held it in the `days` before `end`; each step counts with its highest reading. `may_lack`: something else
    is asked of the server too, so that one without these metrics is no mistake.

    Raises
    ------
    InputError, SourceError
        As `Prometheus.query_range`; where the server knows none of the metrics.
    """
    asker = replace(server, bounds=replace(server.bounds, points_per_request=_POINTS))
    step, start = step_seconds(days), end - days * _DAY
    busy = _by_gpu(asker, BUSY, start, end, step)
    if not busy and may_lack:
        return ()
    if not busy:
        raise SourceError(
            f"the Prometheus server has none of {', '.join(BUSY)}",
            where=server.address,
            fix="Check that it scrapes NVIDIA's DCGM exporter or AMD's device-metrics-exporter, and the stretch of time",
        )
    used = _by_gpu(asker, USED, start, end, step)
    gpu_uses = []
    for key, (labels, times, percents) in busy.items():
        above = times[percents > busy_percent]
        memory = used.get(key)
        gpu_uses.append(
            GpuUse(
                namespace=key[0],
                pod=key[1],
                gpu=key[2],
                node=labels.get("Hostname") or labels.get("hostname", ""),
                model=labels.get("modelName") or labels.get("card_series", ""),
                samples=len(times),
                first_at=float(times[0]),
                last_at=float(times[-1]),
                busy_at=float(above[-1]) if len(above) else None,
                peak_percent=float(percents.max()),
                mean_percent=float(percents.mean()),
                used_bytes=None if memory is None else int(memory[2].max()),
            )
        )
    return tuple(sorted(gpu_uses, key=lambda usage: (usage.namespace, usage.pod, usage.gpu)))


def _by_gpu(
    server: Prometheus, metrics: dict[str, float] | dict[str, int], start: float, end: float, step: int
) -> dict[Key, tuple[Labels, NDArray[np.float64], NDArray[np.float64]]]:
    """Pod and GPU → labels, times, values; the highest where several series know the same GPU."""
    every: dict[Key, list[tuple[Series, float]]] = {}
    for metric, factor in metrics.items():
        expression = f"max by ({', '.join(_BY)}) (max_over_time({metric}[{step}s]))"
        for gpu_series in server.query_range(expression, start=min(start + step, end), end=end, step_seconds=step):
            if len(gpu_series.times):
                every.setdefault(_key(gpu_series.labels), []).append((gpu_series, float(factor)))
    return {key: (series_of_gpu[0][0].labels, *_highest(series_of_gpu)) for key, series_of_gpu in every.items()}


def _highest(gpu_series: Iterable[tuple[Series, float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    best: dict[float, float] = {}
    for series, factor in gpu_series:
        for at, value in zip(series.times.tolist(), (series.values * factor).tolist(), strict=True):
            best[at] = max(best.get(at, 0.0), value)
    times = np.array(sorted(best))
    return times, np.array([best[at] for at in times.tolist()])


def _key(labels: Labels) -> Key:
    """The pod that the exporter names: where Prometheus has kept its own labels, that is the renamed one."""
    is_renamed = "exported_pod" in labels
    namespace = labels.get("exported_namespace" if is_renamed else "namespace", "")
    pod = labels.get("exported_pod" if is_renamed else "pod", "")
    gpu = labels.get("UUID") or labels.get("gpu_uuid") or labels.get("gpu") or labels.get("gpu_id", "")
    part = labels.get("GPU_I_ID") or labels.get("gpu_partition_id", "")
    return namespace, pod, f"{gpu}/{part}" if part else gpu
