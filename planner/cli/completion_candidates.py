"""Names in a cluster for shell completion: read once a file, then from the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

WORKLOADS: Final = "workloads"
NAMESPACES: Final = "namespaces"
POOLS: Final = "pools"


def names_in(spec: str) -> Mapping[str, list[str]]:
    """Keys of workloads, namespaces and node pools of CLUSTER; nothing of one that can't be read, and of a live one or a store: no key
    asks a server."""
    from planner.ground.errors import HeadroomError
    from planner.sources.cluster_argument import EMBEDDED, read_cluster

    path = Path(spec)
    if spec not in EMBEDDED and not path.is_file():
        return {}
    state = path.stat() if spec not in EMBEDDED else None
    cache_key = f"{version('headroom-planner')} {path.resolve() if state else spec} {state.st_mtime_ns if state else 0} {state.st_size if state else 0}"
    place = _folder() / f"{hashlib.sha256(cache_key.encode()).hexdigest()[:32]}.json"
    if (cached_names := _kept(place)) is not None:
        return cached_names
    try:
        names = _names(read_cluster(spec))
    except (HeadroomError, OSError):
        return {}
    _keep(place, names)
    return names


def _names(snapshot: Any) -> dict[str, list[str]]:
    from planner.kubernetes.node_properties import node_pool

    namespaces = {pod.namespace for pod in snapshot.pods} | {workload.namespace for workload in snapshot.workloads}
    return {
        WORKLOADS: sorted(workload.key for workload in snapshot.workloads),
        NAMESPACES: sorted(namespaces - {""}),
        POOLS: sorted({node_pool(node) for node in snapshot.nodes} - {""}),
    }


def written_forms(keys: Iterable[str], incomplete: str) -> list[str]:
    """Names of workloads as people type them that begin with `incomplete`: ``prod/web``, or as many parts as it has."""
    every = [key.split("/") for key in keys]
    parts = incomplete.count("/")
    if incomplete and parts == 0:
        own = [name for _, _, name in every]
        # A bare name is offered only where one workload has it: the command would refuse it else.
        forms = [name for name in own if own.count(name) == 1]
        forms += [f"{namespace}/{name}" for _, namespace, name in every]
    elif parts == 2:
        forms = [f"{kind.lower()}/{namespace}/{name}" for kind, namespace, name in every]
    else:
        forms = [f"{namespace}/{name}" for _, namespace, name in every]
    return sorted({form for form in forms if form.startswith(incomplete.lower() if parts == 2 else incomplete)})


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headroom" / "completion"


def _kept(place: Path) -> dict[str, list[str]] | None:
    try:
        names = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return names if isinstance(names, dict) else None


def _keep(place: Path, names: Mapping[str, list[str]]) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary_file = place.with_suffix(f".{os.getpid()}")
        temporary_file.touch(mode=0o600)
        temporary_file.write_text(json.dumps(names), encoding="utf-8")
        temporary_file.replace(place)
    except OSError:  # a home that can't be written: the next key reads anew
        return
