"""The clusters that ship with the planner: the demo, a large one from a trace, and a small one with every kind.

Their files are in ``data/`` of a checkout and inside the package when installed.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Final

from planner.kubernetes.object_records import Snapshot
from planner.sources import cluster_dumps
from planner.sources.shipped_files import data_folder

DEMO_NAME: Final = "demo"
LARGE_NAME: Final = "openb"
KINDS_NAME: Final = "ml-platform"
_DEMO_FILES: Final = ("cluster.json", "pod-metrics.json", "logs.txt")


def read() -> Snapshot:
    """The demo cluster ``edu-gke``: objects, pod metrics and logs, as recorded."""
    return _recorded()


@cache
def _recorded() -> Snapshot:
    folder = data_folder() / "demo"
    return cluster_dumps.read_uploads(
        [(name, gzip.decompress((folder / f"{name}.gz").read_bytes())) for name in _DEMO_FILES], source=DEMO_NAME
    )


def read_large() -> Snapshot:
    """The cluster of the trace ``openb``: 1,523 nodes, 6,212 GPUs, 5,074 pods."""
    return cluster_dumps.read_bytes((data_folder() / "openb" / "cluster.json.gz").read_bytes(), name=LARGE_NAME)


def read_kinds() -> Snapshot:
    """A small cluster with one of each kind that GPU clusters run; made, not read."""
    return cluster_dumps.read_bytes((data_folder() / KINDS_NAME / "cluster.json.gz").read_bytes(), name=KINDS_NAME)


EMBEDDED: Final = {DEMO_NAME: read, LARGE_NAME: read_large, KINDS_NAME: read_kinds}
"""By name."""


def is_demo(snapshot: Snapshot) -> bool:
    """Whether `snapshot` is the demo, and not something else of its name."""
    return snapshot.source == DEMO_NAME and snapshot.digest == read().digest


def node_pools_file() -> Path:
    """The demo's ``gcloud container node-pools list --format=json``."""
    return data_folder() / "demo" / "node-pools.json"


def history_folder() -> Path:
    """A store of the demo and two earlier moments of it, which were made (``tests/builders/demo_history.py``)."""
    return data_folder() / "demo" / "history"
