"""The clusters that figures are of, each made once in a run: as what a command takes, as a file of kubectl's JSON, as a snapshot."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path

from planner.kubernetes.object_records import Snapshot
from planner.sources import cluster_dumps, demo
from planner.sources.shipped_files import data_folder
from tests.bench import clusters, crowd

DEMO, OPENB, COPIES, VARIED, QUIET = "demo", "openb", "208 copies", "208 varied", "quiet 5,000"
FIVE = (DEMO, OPENB, COPIES, VARIED, QUIET)
"""The easy ones and the hard ones: a table has a column for each."""
SOME, SOME_VARIED = "42 copies", "42 varied"
HUGE = "65,000 nodes"

STUCK = {
    DEMO: "Deployment/prod/llm-serve", OPENB: "Deployment/ml/job-028-04808",
    COPIES: crowd.STUCK, VARIED: crowd.STUCK, QUIET: clusters.HELD,
}  # fmt: skip
"""A workload that can't be rolled out."""
ROLLS = {
    DEMO: "Deployment/prod/web", OPENB: "Deployment/ml/job-000-00050",
    COPIES: "Deployment/prod-0/web", VARIED: "Deployment/prod-0/web", QUIET: clusters.FIFTY,
}  # fmt: skip
"""One that can."""

_MADE: dict[str, Callable[[], Iterable[bytes]]] = {
    SOME: lambda: crowd.kubectl_json(42),
    SOME_VARIED: lambda: crowd.kubectl_json(42, varied=True),
    COPIES: lambda: crowd.kubectl_json(208),
    VARIED: lambda: crowd.kubectl_json(208, varied=True),
    QUIET: lambda: clusters.kubectl_json(clusters.lay_out(5_000)),
    HUGE: lambda: clusters.kubectl_json(clusters.lay_out(65_000, is_sparse=True)),
}


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """What the run keeps, gone with it."""
    return tempfile.TemporaryDirectory(prefix="headroom-bench-")


@cache
def file(cluster: str) -> Path:
    """Its kubectl JSON, not packed."""
    path = Path(folder().name) / f"{cluster.replace(',', '').replace(' ', '-')}.json"
    with path.open("wb") as out:
        if cluster in _MADE:
            out.writelines(_MADE[cluster]())
        else:
            out.write(gzip.decompress((data_folder() / cluster / "cluster.json.gz").read_bytes()))
    return path


def taken(cluster: str) -> str:
    """CLUSTER on the command line."""
    return str(file(cluster)) if cluster in _MADE else cluster


@lru_cache(1)
def snapshot(cluster: str) -> Snapshot:
    """The last one that was asked for stays: together they would be some GB."""
    if cluster in demo.EMBEDDED:
        return demo.EMBEDDED[cluster]()
    return cluster_dumps.read_bytes(file(cluster).read_bytes(), name=cluster)
