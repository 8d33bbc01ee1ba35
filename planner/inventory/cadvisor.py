"""Parses a kubelet's ``container_memory_*`` metrics: memory by kind for each container and for the node.

The text is what ``kubectl get --raw /api/v1/nodes/NODE/proxy/metrics/cadvisor`` prints, or a Prometheus exposition of the
same metrics. Source of the names: google/cadvisor `docs/storage/prometheus.md`; of the format: the Prometheus project's
text exposition format 0.0.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.ground.errors import InputError
from planner.ground.records import Record

_LINE = re.compile(r"(container_memory_\w+)\{(.*)\}\s+(\S+)(?:\s+-?\d+)?\s*\Z")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_FIELDS = {
    "container_memory_working_set_bytes": "working_set_bytes",
    "container_memory_rss": "anonymous_bytes",
    "container_memory_cache": "cache_bytes",
    "container_memory_swap": "swap_bytes",
}


class ContainerMemoryStats(Record):
    """One container's memory by kind, in bytes; None where the text has no such line."""

    namespace: str
    pod: str
    container: str
    working_set_bytes: int | None = None
    anonymous_bytes: int | None = None
    cache_bytes: int | None = None
    swap_bytes: int | None = None


class NodeMemoryStats(Record):
    """What one kubelet told. `working_set_bytes` is the whole node's, None where it isn't in the text."""

    working_set_bytes: int | None
    containers: tuple[ContainerMemoryStats, ...]

    @property
    def pods_bytes(self) -> int:
        """The working sets of its containers together."""
        return sum(container.working_set_bytes or 0 for container in self.containers)


def parse(text: str, where: str = "cadvisor metrics") -> NodeMemoryStats:
    """The memory of one node's containers. Pause containers and groups of containers are left out. `where` is the file's name.

    Raises
    ------
    InputError
        When the text holds no such metric.
    """
    metrics: dict[tuple[str, str, str], dict[str, int]] = {}
    node = None
    for name, labels, value in _samples(text):
        field = _FIELDS.get(name)
        # The root cgroup is the whole node, kubelet and system daemons included.
        if field == "working_set_bytes" and labels.get("id") == "/":
            node = value
        key = (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", ""))
        if field and all(key) and key[2] != "POD":
            metrics.setdefault(key, {})[field] = value
    if not metrics and node is None:
        raise InputError(
            "there is no container_memory_working_set_bytes in it",
            where=where,
            fix="Give the output of: kubectl get --raw /api/v1/nodes/NODE/proxy/metrics/cadvisor",
        )
    containers = tuple(
        ContainerMemoryStats(namespace=key[0], pod=key[1], container=key[2], **values)
        for key, values in metrics.items()
    )
    return NodeMemoryStats(working_set_bytes=node, containers=containers)


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        try:
            value = int(float(match[3]))
        except (ValueError, OverflowError):  # NaN and +Inf are allowed in the format, and say nothing here
            continue
        yield match[1], dict(_LABEL.findall(match[2])), value
