"""Checks that objects given together are of one cluster: two clusters are never read as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from planner.ground.errors import InputError
from planner.kubernetes.workload_kinds import NODE

_NAMESPACE: Final = "Namespace"
_SYSTEM: Final = "kube-system"  # its uid is what tools take for the cluster's own: it lives as long as the cluster
TELLING: Final = frozenset({NODE.name, _NAMESPACE})
"""Kinds with objects that tell one cluster from another."""


class OneCluster:
    """What was seen of the nodes and of kube-system, by the file that it came from."""

    def __init__(self) -> None:
        self._system: dict[str, str] = {}  # uid of kube-system → file
        self._nodes: dict[str, dict[tuple[Any, ...], str]] = {}  # node → what it is (uid, provider's, capacity) → file
        self._names: dict[str, set[str]] = {}  # file → its nodes
        self._stands_on: dict[str, set[str]] = {}  # file with pods → the nodes that they stand on
        self._clash = ""

    def saw_pods(self, file: str, nodes: Iterable[str]) -> None:
        """That a file has pods, and the nodes that they stand on."""
        self._stands_on.setdefault(file, set()).update(nodes)

    def saw(self, kind: str, record: Any, uid: str, file: str) -> None:
        """One object of a telling kind, as it was read."""
        if kind == _NAMESPACE:
            # The uid of kube-system is the cluster's identity: two of them are two clusters.
            if record.name == _SYSTEM and uid and self._system.setdefault(uid, file) == file and len(self._system) > 1:
                first = next(iter(self._system.values()))
                self._clash = self._clash or f"{first} and {file} each have a namespace kube-system of their own"
        else:
            self._names.setdefault(file, set()).add(record.name)
            identities = self._nodes.setdefault(record.name, {})
            identity = (uid, record.provider_id, record.capacity)
            for other, other_file in identities.items():
                if other_file != file and _differ(identity, other):
                    self._clash = self._clash or f"{other_file} and {file} have different nodes called {record.name}"
            identities.setdefault(identity, file)

    def check(self, source: str) -> None:
        """Refuse two clusters.

        Raises
        ------
        InputError
            Where kube-system or a node comes in two kinds, or two files have nodes and pods, share no node, and no pods of theirs or
            of files between them stand on each other's nodes.
        """
        clash = self._clash
        whole = [file for file in self._names if file in self._stands_on]
        if len(whole) > 1 and not clash:
            joined = self._joined()
            apart = next((file for file in whole if joined[file] is not joined[whole[0]]), None)
            clash = f"{whole[0]} and {apart} have nodes and pods each, and share no node" if apart is not None else ""
        if clash:
            fix = "Give one cluster at a time; the dashboard keeps several and switches between them"
            raise InputError(f"these are two clusters: {clash}", where=source, fix=fix)

    def _joined(self) -> dict[str, set[str]]:
        """File → the files of its cluster: a dump that a user split has pods in one file and their nodes in another."""
        groups = {file: {file} for file in {*self._names, *self._stands_on}}
        of_node: dict[str, str] = {}
        for file, nodes in [*self._names.items(), *self._stands_on.items()]:
            for node in nodes:
                group, other = groups[of_node.setdefault(node, file)], groups[file]
                if group is not other and node in self._nodes:
                    group |= other
                    groups |= dict.fromkeys(other, group)
        return groups


def _differ(node: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two nodes of one name are two, by the first thing that both tell: a node keeps its uid when it gets its provider's id late,
    and both when a resize or a device plugin changes its capacity."""
    differences = (first != second for first, second in zip(node, other, strict=True) if first and second)
    return next(differences, False)
