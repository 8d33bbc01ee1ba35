"""A day of metrics, as OpenMetrics: spot nodes that come and go, GPUs of the demo's pods that are busy and not."""

from __future__ import annotations

from planner.sources import demo

HOUR = 3_600
END = int(demo.read().taken_at)  # of the demo, whose pods hold the GPUs
START = END - 24 * HOUR
SCRAPE = 60
SPOT = {"label_cloud_google_com_gke_spot": "true", "label_cloud_google_com_gke_nodepool": "gpu-spot",
        "label_node_kubernetes_io_instance_type": "n1-standard-8"}  # fmt: skip
EKS = {"label_eks_amazonaws_com_capacity_type": "SPOT", "label_eks_amazonaws_com_nodegroup": "spots"}
ON_DEMAND = {"label_cloud_google_com_gke_nodepool": "cpu"}

# node, labels, created, first and last hour in which it was there
NODES = (
    ("gke-a", SPOT, -5.0, 0.0, 10.0),  # lost at 10:00, back under its name at 11:30
    ("gke-a", SPOT, 11.5, 11.5, 24.0),
    ("gke-b", SPOT, -30.0, 0.0, 24.0),
    ("gke-c", SPOT, 2.0, 2.0, 6.0),  # taken down by the autoscaler
    ("gke-cpu", ON_DEMAND, -100.0, 0.0, 12.0),
    ("ip-1", EKS, -1.0, 0.0, 20.0),
)


def labels(of: dict[str, str]) -> str:
    return ",".join(f'{key}="{value}"' for key, value in of.items())


def metrics() -> str:
    """Nodes as kube-state-metrics tells them; GPUs of the demo's ml-worker as DCGM does, of an AMD pod as AMD does."""
    lines: dict[str, list[str]] = {}

    def add(metric: str, of: dict[str, str], value: float, at: int) -> None:
        lines.setdefault(metric, [f"# TYPE {metric} gauge"]).append(f"{metric}{{{labels(of)}}} {value:.12g} {at}")

    pods = [one for one in demo.read().pods if one.name.startswith("ml-worker-") and one.node_name]
    idle_pod, busy_pod, late_pod = (one.name for one in pods[:3])
    for at in range(START, END + 1, SCRAPE):
        hour = (at - START) / HOUR
        for name, of, created, begins, ends in NODES:
            if begins <= hour < ends or (ends == 24.0 and hour == 24.0):
                add("kube_node_created", {"node": name}, START + created * HOUR, at)
                add("kube_node_labels", {"node": name, **of}, 1, at)
        if 5.8 <= hour < 6.0:
            add("kube_node_spec_taint", {"node": "gke-c", "key": "ToBeDeletedByClusterAutoscaler"}, 1, at)
        held = {"namespace": "prod", "container": "worker", "modelName": "Tesla T4", "Hostname": "gpu-1"}
        if hour >= 12:
            percent = 90 if (at - START) % (4 * HOUR) < HOUR else 0  # an hour of each four
            add("DCGM_FI_DEV_GPU_UTIL", {**held, "pod": busy_pod, "UUID": "GPU-busy"}, percent, at)
            # its Prometheus kept its own labels: the exporter's pod stands where the holder would
            renamed = {"namespace": "gpu-operator", "pod": "dcgm-exporter-x", "exported_namespace": "prod"}
            add("DCGM_FI_DEV_GPU_UTIL", {**renamed, "exported_pod": idle_pod, "UUID": "GPU-idle"}, 0, at)
            add("DCGM_FI_DEV_FB_USED", {**renamed, "exported_pod": idle_pod, "UUID": "GPU-idle"}, 9_000, at)
            one_minute = at == START + 15 * HOUR  # a single scrape between two steps
            add(
                "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
                {**held, "pod": late_pod, "UUID": "GPU-late"},
                0.9 if one_minute else 0.001,
                at,
            )
            add("gpu_gfx_activity", {"namespace": "amd", "pod": "mi300", "gpu_uuid": "u", "gpu_id": "0",
                                     "card_series": "MI300X", "hostname": "h"}, 3, at)  # fmt: skip
            add("gpu_used_vram", {"namespace": "amd", "pod": "mi300", "gpu_uuid": "u", "gpu_id": "0"}, 100, at)
    return "\n".join([line for metric in lines.values() for line in metric] + ["# EOF", ""])
