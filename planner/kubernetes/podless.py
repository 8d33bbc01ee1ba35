"""Kinds that make no pods: what of them is applied rolls nothing out. A kind that is neither there nor among those whose
pods are told (`kinds`, `pod_templates`) isn't known.

In ``podless.txt`` a group (``-``: the core's) stands with ``*`` where none of its kinds makes pods, else with those that don't:
operators put both into one group (``monitoring.coreos.com`` has ServiceMonitor and Prometheus); a kind with ``?`` makes none
unless a pod template stands in it. What wraps other kinds (templates, Applications, runtimes, packages) isn't there, nor what lets other objects' pods begin (Kueue's Workload, a PodGroup).

Sources: the API references of Kubernetes 1.36 and of the projects, each group's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.ground.beside import table_beside
from planner.kubernetes.pod_templates import hidden_templates


def _rows() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in table_beside(__name__, "podless.txt").decode().splitlines():
        group, *kinds = line.split()
        name = "" if group == "-" else group
        found[name] = found.get(name, frozenset()) | frozenset(kinds)
    return found


_KINDS: Final = _rows()


def makes_no_pods(document: Mapping[str, Any]) -> bool:
    """Whether nothing of an object becomes pods."""
    kind = str(document.get("kind"))
    known = _KINDS.get(str(document.get("apiVersion") or "").rpartition("/")[0], frozenset())
    return bool(known & {"*", kind}) or (f"{kind}?" in known and not hidden_templates(document))
