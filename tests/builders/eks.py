"""A small EKS cluster with Karpenter, made up: no such cluster was ever read. Test data, never part of the package.

``python -m tests.builders.eks FOLDER`` writes it as a person would hand it over: ``cluster.json`` (kubectl get … -o json),
``nodepools.json`` (kubectl get nodepools.karpenter.sh -o json), ``instance-types.json`` and ``quotas.json`` (aws service-quotas).
Machine sizes are those of AWS' pages on instance types, prices are round numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planner.kubernetes.object_records import Snapshot
from tests.builders.objects import GPU, Item, deployment, owner, pod, pod_spec, read_items

SAID: Final = "made by tests/builders/eks.py: no real cluster"
REGION: Final = "eu-west-1"
TAKEN_AT: Final = 1_790_000_000.0
INFERENCE: Final = "Deployment/ml/inference"
_MADE: Final = "2026-09-01T08:00:00Z"
_MACHINES: Final[Mapping[str, tuple[int, int, int, float]]] = {  # vCPUs, GiB, A10G cards, USD an hour
    "m5.large": (2, 8, 0, 0.10), "m5.xlarge": (4, 16, 0, 0.20), "m5.2xlarge": (8, 32, 0, 0.40),
    "g5.xlarge": (4, 16, 1, 1.00), "g5.2xlarge": (8, 32, 1, 1.20), "g5.12xlarge": (48, 192, 4, 5.70),
}  # fmt: skip
_GPU_TOLERATION: Final[Item] = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}


def items() -> list[Item]:
    """Seven nodes: a managed node group, and two NodePools of Karpenter; one pod waits for a GPU, and low-priority pods keep a
    node spare."""
    nodes = [
        *(_node(f"ip-10-0-0-{i}.{REGION}.compute.internal", "m5.large", zone, group="system") for i, zone in enumerate("ab")),
        *(_node(f"ip-10-0-1-{i}.{REGION}.compute.internal", "g5.xlarge", zone, pool="gpu") for i, zone in enumerate("abc")),
        *(_node(f"ip-10-0-2-{i}.{REGION}.compute.internal", "m5.xlarge", zone, pool="general", spot=True) for i, zone in enumerate("bc")),
    ]  # fmt: skip
    names = [one["metadata"]["name"] for one in nodes]
    system, gpus, general = names[:2], names[2:5], names[5:]
    gpu = pod_spec(gpus=1, cpu="3", memory="10Gi", tolerations=[_GPU_TOLERATION])
    surge: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    workloads = [
        *deployment("coredns", system, pod_spec(cpu="100m", memory="70Mi"), namespace="kube-system"),
        *deployment("karpenter", system, pod_spec(cpu="250m", memory="256Mi"), namespace="kube-system"),
        *deployment("web", [*general, *general], pod_spec(cpu="1", memory="2Gi"), namespace="shop", **surge),
        *deployment("inference", [*gpus[:2]], gpu, **surge),
        *deployment("embedder", [gpus[2], ""], gpu, **surge),
        *deployment("spare", general[:1], pod_spec(cpu="500m", memory="1Gi", priorityClassName="placeholder", priority=-5), namespace="kube-system"),
        *_daemons("aws-node", names, pod_spec(cpu="50m", memory="64Mi", tolerations=[{"operator": "Exists"}])),
    ]  # fmt: skip
    placeholder = {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "placeholder"}, "value": -5,
    }  # fmt: skip
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}} for one in ("ml", "shop", "kube-system")
    ]
    return [*nodes, *namespaces, placeholder, *workloads, *node_pools()]


def node_pools() -> list[Item]:
    """Karpenter's: g5 on demand up to 6 GPUs, kept from others by a taint; m5 on spot, else on demand."""
    return [
        _pool("gpu", ["g5"], ["on-demand"], {GPU: "6"}, taints=[{"key": GPU, "value": "true", "effect": "NoSchedule"}]),
        _pool("general", ["m5"], ["spot", "on-demand"], {"cpu": "64"}),
    ]


def instance_types() -> list[Item]:
    """What its cloud offers, in the form of Karpenter's kwok provider."""
    return [
        {
            "name": name, "architecture": "amd64", "operatingSystems": ["linux"], "resources": _amounts(name),
            "offerings": [_offering(usd * (0.4 if kind == "spot" else 1), kind, zone) for kind in ("on-demand", "spot") for zone in "abc"],
        }
        for name, (_, _, _, usd) in _MACHINES.items()
    ]  # fmt: skip


def quotas() -> Item:
    """As ``aws service-quotas list-service-quotas --service-code ec2``: 16 vCPUs of G machines, of which 12 are in use."""
    named = {
        "L-1216C47A": ("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 64.0),
        "L-DB2E81BA": ("Running On-Demand G and VT instances", 16.0),
    }
    return {
        "Quotas": [
            {
                "ServiceCode": "ec2", "QuotaCode": code, "QuotaName": name, "Value": value,
                "QuotaArn": f"arn:aws:servicequotas:{REGION}:111122223333:ec2/{code}",
            }
            for code, (name, value) in named.items()
        ]
    }  # fmt: skip


def snapshot() -> Snapshot:
    """The cluster as it is read."""
    return read_items(items(), source="eks-made-up.json", taken_at=TAKEN_AT)


def write(folder: Path) -> None:
    """The four files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (
        ("cluster", {"apiVersion": "v1", "kind": "List", "metadata": {"annotations": {"about": SAID}}, "items": items()}),
        ("nodepools", {"apiVersion": "v1", "kind": "List", "items": node_pools()}),
        ("instance-types", instance_types()),
        ("quotas", quotas()),
    ):  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _amounts(machine: str) -> Item:
    cpus, gib, cards, _ = _MACHINES[machine]
    return {"cpu": str(cpus), "memory": f"{gib}Gi", "pods": "58", **({GPU: str(cards)} if cards else {})}


def _node(name: str, machine: str, zone: str, *, group: str = "", pool: str = "", spot: bool = False) -> Item:
    cpus, gib, cards, _ = _MACHINES[machine]
    kind = "spot" if spot else "on-demand"
    whose = (
        {"karpenter.sh/nodepool": pool, "karpenter.sh/capacity-type": kind, "karpenter.k8s.aws/instance-family": machine.partition(".")[0]}
        if pool
        else {"eks.amazonaws.com/nodegroup": group, "eks.amazonaws.com/capacityType": kind.upper().replace("-", "_")}
    )  # fmt: skip
    labels = {
        "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine, "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": f"{REGION}{zone}", **whose,
        **({"karpenter.k8s.aws/instance-gpu-name": "a10g", "karpenter.k8s.aws/instance-gpu-count": str(cards)} if cards else {}),
    }  # fmt: skip
    capacity = _amounts(machine)
    free = capacity | {"cpu": f"{cpus * 1000 - 80}m", "memory": f"{gib * 1024 - 900}Mi"}
    taints = [{"key": GPU, "value": "true", "effect": "NoSchedule"}] if cards else []
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": labels, "creationTimestamp": _MADE},
        "spec": {"providerID": f"aws:///{REGION}{zone}/i-{name[3:11].replace('-', '')}", "taints": taints},
        "status": {
            "allocatable": free, "capacity": capacity, "nodeInfo": {"kubeletVersion": "v1.35.2-eks-1a2b3c4"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": _MADE}],
        },
    }  # fmt: skip


def _pool(name: str, families: list[str], kinds: list[str], limits: Item, taints: list[Item] | None = None) -> Item:
    wanted = {
        "karpenter.k8s.aws/instance-family": families, "karpenter.sh/capacity-type": kinds,
        "topology.kubernetes.io/zone": [f"{REGION}{zone}" for zone in "abc"], "kubernetes.io/arch": ["amd64"],
    }  # fmt: skip
    spec: Item = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        "requirements": [{"key": key, "operator": "In", "values": values} for key, values in wanted.items()],
        "taints": taints or [],
    }
    return {
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name, "uid": f"pool-{name}"},
        "spec": {
            "template": {"metadata": {"labels": {}}, "spec": spec}, "limits": limits,
            "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m", "budgets": [{"nodes": "10%"}]},
        },
    }  # fmt: skip


def _offering(usd: float, kind: str, zone: str) -> Item:
    wanted = {"karpenter.sh/capacity-type": kind, "topology.kubernetes.io/zone": f"{REGION}{zone}"}
    return {
        "Price": round(usd, 4), "Available": True,
        "Requirements": [{"key": key, "operator": "In", "values": [value]} for key, value in wanted.items()],
    }  # fmt: skip


def _daemons(name: str, nodes: list[str], spec: Item) -> list[Item]:
    labels = {"app": name}
    template: Any = {"metadata": {"labels": labels}, "spec": spec}
    own: Item = {
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system", "uid": f"ds-{name}", "generation": 1},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
        "status": {"desiredNumberScheduled": len(nodes), "numberReady": len(nodes), "observedGeneration": 1},
    }  # fmt: skip
    by = owner("DaemonSet", name, f"ds-{name}")
    return [
        own,
        *(
            pod(f"{name}-{i}", spec, on=on, namespace="kube-system", labels=labels, owner=by)
            for i, on in enumerate(nodes)
        ),
    ]


if __name__ == "__main__":
    write(Path(sys.argv[1]))
