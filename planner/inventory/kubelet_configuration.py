"""Kubelets' configuration from an input: its node, and the settings that decide whether a pod is admitted.

Read are ``configz`` (``kubectl get --raw /api/v1/nodes/NODE/proxy/configz``; sonobuoy keeps it as ``hosts/NODE/configz.json``), a file of
the kind KubeletConfiguration, the NodeResourceTopology that node feature discovery writes of each node, and the arguments that k3s and RKE2
write into an annotation of theirs. Sources: kubernetes `staging/src/k8s.io/kubelet/config/v1beta1/types.go`, `cmd/kubelet/app/options`;
noderesourcetopology-api `pkg/apis/topology/v1alpha2/types.go`; k3s `pkg/nodeconfig/nodeconfig.go`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from planner.kubernetes.object_records import KubeletConfiguration, TopologyManagerPolicy

KUBELET_CONFIGURATION: Final = "KubeletConfiguration"
NODE_RESOURCE_TOPOLOGY: Final = "NodeResourceTopology"
CONFIGZ: Final = "kubeletconfig"  # the key below which configz has it
_POLICY: Final = "topologyManagerPolicy"
_OLD_POLICIES: Final = {
    "SingleNUMANode": TopologyManagerPolicy.SINGLE_NUMA_NODE,
    "Restricted": TopologyManagerPolicy.RESTRICTED,
    "BestEffort": TopologyManagerPolicy.BEST_EFFORT,
    "None": TopologyManagerPolicy.NONE,
}
_ARGUMENT: Final = re.compile(r"(?:--)?(?:kubelet-arg=)?(?:--)?([a-z-]+)=(.+)", re.DOTALL)
_FIELDS: Final = {
    "topology-manager-policy": _POLICY,
    "topology-manager-scope": "topologyManagerScope",
    "cpu-manager-policy": "cpuManagerPolicy",
    "memory-manager-policy": "memoryManagerPolicy",
}
_FULL_CORES: Final = "full-pcpus-only"


def of_document(document: Mapping[str, Any]) -> KubeletConfiguration | None:
    """That of a configz answer, or of an object of the kind; None of anything else."""
    within = document.get(CONFIGZ)
    if within is None and document.get("kind") == KUBELET_CONFIGURATION:
        within = document
    if not isinstance(within, Mapping):
        return None
    options = within.get("cpuManagerPolicyOptions")
    full_cores = options.get(_FULL_CORES) if isinstance(options, Mapping) else None
    return _configuration(within, gives_whole_cores=str(full_cores).lower() == "true")


def of_topology(document: Mapping[str, Any]) -> KubeletConfiguration | None:
    """What a NodeResourceTopology says of the kubelet of the node of the same name: its attributes, or before v1alpha2 the policy and the
    scope in one word (``SingleNUMANodePodLevel``)."""
    listed = document.get("attributes")
    attributes = (
        {pair.get("name"): pair.get("value") for pair in listed if isinstance(pair, Mapping)}
        if isinstance(listed, list)
        else {}
    )
    if _POLICY in attributes:
        return _configuration(attributes)
    policies = document.get("topologyPolicies")
    old = str(policies[0]) if isinstance(policies, list) and policies else ""
    for word, policy in _OLD_POLICIES.items():
        if old.startswith(word):
            return KubeletConfiguration(topology_manager_policy=policy, is_pod_scope=old.endswith("PodLevel"))
    return None


def of_arguments(text: str) -> KubeletConfiguration | None:
    """What the arguments of k3s or RKE2 say, a list in JSON; None where they set nothing of it. Nothing else of them is kept: they may hold
    tokens."""
    settings: dict[str, str] = {}
    with suppress(ValueError, RecursionError):
        arguments = json.loads(text) if text else []
        for kubelet_argument in arguments if isinstance(arguments, list) else ():
            if (match := _ARGUMENT.fullmatch(str(kubelet_argument))) is not None:
                settings[match[1]] = match[2]
    fields = {field: settings[argument] for argument, field in _FIELDS.items() if argument in settings}
    full_cores = f"{_FULL_CORES}=true" in settings.get("cpu-manager-policy-options", "")
    return _configuration(fields, gives_whole_cores=full_cores) if fields or full_cores else None


def _configuration(settings: Mapping[Any, Any], *, gives_whole_cores: bool = False) -> KubeletConfiguration:
    policy = str(settings.get(_POLICY) or TopologyManagerPolicy.NONE)
    return KubeletConfiguration(
        topology_manager_policy=TopologyManagerPolicy(policy) if policy in tuple(TopologyManagerPolicy) else TopologyManagerPolicy.NONE,
        is_pod_scope=settings.get("topologyManagerScope") == "pod",
        is_cpu_static=settings.get("cpuManagerPolicy") == "static",
        is_memory_static=settings.get("memoryManagerPolicy") == "Static",
        gives_whole_cores=gives_whole_cores,
    )  # fmt: skip


def node_of(where: str, names: Collection[str]) -> str:
    """The node that a file's path names (``hosts/NODE/configz.json``, ``configz-NODE.json``), of nodes of one cluster; the only node
    there is; "" where neither tells."""
    *folders, file = where.split("/")
    own = [name for name in names if name in folders]
    if not own:
        own = [name for name in names if any(name == piece for piece in _pieces(file))]
    nodes = set(own) or (set(names) if len(names) == 1 else set())
    return nodes.pop() if len(nodes) == 1 else ""


def _pieces(name: str) -> Iterator[str]:
    """What may be a node's name in that of a file: without its ending, and without a word before or behind it."""
    stem = re.sub(r"\.(json|ya?ml)$", "", name)
    yield stem
    for word in ("configz", "kubelet-config", "kubelet", "kubeletconfig", "config"):
        for mark in "-_.":
            yield stem.removeprefix(f"{word}{mark}")
            yield stem.removesuffix(f"{mark}{word}")
