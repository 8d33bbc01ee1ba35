"""A small AKS cluster, made up: no such cluster was ever read. Test data, never part of the package.

``python -m tests.builders.aks FILE`` writes it as kubectl get … -o json does. Labels are those of AKS' documentation on node pools,
machine sizes those of Azure's pages.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from planner.kubernetes.object_records import Snapshot
from tests.builders.objects import GPU, Item, deployment, pod_spec, read_items

SAID: Final = "made by tests/builders/aks.py: no real cluster"
REGION: Final = "westeurope"
TAKEN_AT: Final = 1_790_000_000.0
SERVE: Final = "Deployment/ml/serve"
_MACHINES: Final[Mapping[str, tuple[int, int, int, str]]] = {  # vCPUs, GiB, GPUs, their model
    "Standard_D4s_v5": (4, 16, 0, ""),
    "Standard_NC24ads_A100_v4": (24, 220, 1, "nvidia"),
}
_TAINT: Final[Item] = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}
_SPOT: Final[Item] = {"key": "kubernetes.azure.com/scalesetpriority", "value": "spot", "effect": "NoSchedule"}


def items() -> list[Item]:
    """Six nodes: a system pool, a pool of A100s, and D4s on spot."""
    nodes = [
        *(_node("system", i, "Standard_D4s_v5") for i in range(2)),
        *(_node("gpu", i, "Standard_NC24ads_A100_v4", taints=[_TAINT]) for i in range(2)),
        *(_node("cheap", i, "Standard_D4s_v5", taints=[_SPOT]) for i in range(2)),
    ]
    system, gpus, cheap = ([one["metadata"]["name"] for one in nodes[at : at + 2]] for at in (0, 2, 4))
    tolerated = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    on_spot = {"key": _SPOT["key"], "operator": "Equal", "value": "spot", "effect": "NoSchedule"}
    surge: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}} for one in ("ml", "shop", "kube-system")
    ]
    return [
        *nodes,
        *spaces,
        *deployment("coredns", system, pod_spec(cpu="100m", memory="70Mi"), namespace="kube-system"),
        *deployment("serve", gpus, pod_spec(gpus=1, cpu="12", memory="110Gi", tolerations=[tolerated]), namespace="ml", **surge),
        *deployment("web", cheap, pod_spec(cpu="1", memory="2Gi", tolerations=[on_spot]), namespace="shop", **surge),
    ]  # fmt: skip


def snapshot() -> Snapshot:
    """The cluster as it is read."""
    return read_items(items(), source="aks-made-up.json", taken_at=TAKEN_AT)


def _node(pool: str, number: int, machine: str, *, taints: list[Item] | None = None) -> Item:
    cpus, gib, gpus, model = _MACHINES[machine]
    name, zone = f"aks-{pool}-31415926-vmss00000{number}", f"{REGION}-{number + 1}"
    labels = {
        "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine, "topology.kubernetes.io/region": REGION, "topology.kubernetes.io/zone": zone,
        "kubernetes.azure.com/agentpool": pool, "agentpool": pool, "kubernetes.azure.com/cluster": "MC_group_cluster_westeurope",
        **({"kubernetes.azure.com/scalesetpriority": "spot"} if _SPOT in (taints or []) else {}),
        **({"kubernetes.azure.com/accelerator": model} if model else {}),
    }  # fmt: skip
    capacity = {"cpu": str(cpus), "memory": f"{gib}Gi", "pods": "110", **({GPU: str(gpus)} if gpus else {})}
    scale_set = f"resourceGroups/group/providers/Microsoft.Compute/virtualMachineScaleSets/aks-{pool}"
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": labels, "creationTimestamp": "2026-09-01T08:00:00Z"},
        "spec": {"providerID": f"azure:///subscriptions/made-up/{scale_set}/virtualMachines/{number}", "taints": taints or []},
        "status": {
            "allocatable": capacity | {"cpu": f"{cpus * 1000 - 140}m", "memory": f"{gib - 3}Gi"}, "capacity": capacity,
            "nodeInfo": {"kubeletVersion": "v1.35.2"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-09-01T08:00:00Z"}],
        },
    }  # fmt: skip


if __name__ == "__main__":
    made = {"apiVersion": "v1", "kind": "List", "metadata": {"annotations": {"about": SAID}}, "items": items()}
    Path(sys.argv[1]).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
