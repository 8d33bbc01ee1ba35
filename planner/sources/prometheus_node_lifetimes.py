"""Lifetimes of spot nodes from kube-state-metrics in Prometheus: `kube_node_created` and `kube_node_labels`.

kube-state-metrics gives labels of nodes only where it is started with ``--metric-labels-allowlist=nodes=[…]``; it writes
their keys with underscores, in lower case, words of camel case apart (kube-state-metrics `internal/store/utils.go`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from planner.ground.errors import SourceError
from planner.ground.well_known_names import (
    GKE_NODE_POOL,
    GKE_PROVISIONING,
    GKE_SPOT,
    INSTANCE_TYPE,
    ZONE,
)
from planner.inventory.spot_node_lifetimes import TAKEN_DOWN, NodeSeen, Watch
from planner.kubernetes import accelerators
from planner.kubernetes.node_properties import is_spot, machine_type, node_pool, zone
from planner.kubernetes.object_records import FrozenMap, Labels, Node
from planner.sources.prometheus_usage import Prometheus, Series

CREATED: Final = "kube_node_created"
LABELS: Final = "kube_node_labels"
TAINTS: Final = "kube_node_spec_taint"
_DAY: Final = 86_400
_SHORT_DAYS: Final = 7
_STEPS: Final = (300, 900)  # seconds, up to a week and beyond: gaps between nodes are minutes to hours
_LOOKS_AT_LABELS: Final = 50
_CAMEL: Final = re.compile("([a-z0-9])([A-Z])")
_APART: Final = r"\1_\2"


def nodes_before(server: Prometheus, end: float, days: int) -> Watch:
    """The spot and preemptible nodes that the server saw in the `days` before `end` (seconds since the epoch).

    Raises
    ------
    InputError, SourceError
        As `Prometheus.query_range`; where it knows no nodes, or no labels that tell which are spot nodes.
    """
    step = _STEPS[days > _SHORT_DAYS]
    start = end - days * _DAY
    created = server.query_range(f"max by (cluster, node) ({CREATED})", start=start, end=end, step_seconds=step)
    if not created:
        raise _unknown(server, CREATED, "Check that it scrapes kube-state-metrics, and the stretch of time")
    labels = _labels(server, start, end)
    going = _going(server, start, end, step)
    looks: dict[str, set[float]] = {}
    nodes: list[NodeSeen] = []
    for node_series in created:
        cluster, name = node_series.labels.get("cluster", ""), node_series.labels.get("node", "")
        looks.setdefault(cluster, set()).update(node_series.times.tolist())
        node = Node(name=name, labels=labels.get((cluster, name), FrozenMap({})))
        if name and is_spot(node):
            nodes += _seen(node_series, node, cluster, going.get((cluster, name), 0.0), step)
    return Watch(
        source=f"Prometheus at {server.address}",
        looks=tuple((cluster, tuple(sorted(moments))) for cluster, moments in sorted(looks.items())),
        nodes=tuple(nodes),
    )


def _seen(series: Series, node: Node, cluster: str, going_at: float, step: int) -> Iterator[NodeSeen]:
    """A node of one name may be several, one after another: each has its own time of creation."""
    for created in np.unique(series.values).tolist():
        present_times = series.times[series.values == created]
        last = float(present_times[-1])
        yield NodeSeen(
            cluster=cluster, node=node.name, node_pool=node_pool(node), machine_type=machine_type(node),
            created_at=float(created), first_at=float(present_times[0]), last_at=last, is_going=last - step <= going_at <= last + step,
            zone=zone(node),
        )  # fmt: skip


def _labels(server: Prometheus, start: float, end: float) -> dict[tuple[str, str], Labels]:
    """(cluster, node) → those of its labels that say what it is, with their own keys."""
    step = max(60, int((end - start) // _LOOKS_AT_LABELS))
    tables = accelerators.tables()
    telling = (*tables.bought, *tables.pool, *tables.machine_type, ZONE)
    key_by_label = {_written(key): key for key in telling}  # as kube-state-metrics writes it → the label's key
    labels: dict[tuple[str, str], Labels] = {}
    expression = f"last_over_time({LABELS}[{step}s])"
    series = server.query_range(expression, start=min(start + step, end), end=end, step_seconds=step)
    for label_series in series:
        own = {key_by_label[key]: value for key, value in label_series.labels.items() if key in key_by_label and value}
        name = (label_series.labels.get("cluster", ""), label_series.labels.get("node", ""))
        labels[name] = FrozenMap({**labels.get(name, {}), **own})
    if not any(labels.values()):
        keys = f"{GKE_NODE_POOL},{GKE_SPOT},{GKE_PROVISIONING},{INSTANCE_TYPE}"
        fix = f"Start kube-state-metrics with --metric-labels-allowlist=nodes=[{keys}], or the labels of your cloud"
        raise _unknown(server, f"{LABELS} that tell spot nodes", fix)
    return labels


def _written(key: str) -> str:
    plain = re.sub("[^a-zA-Z0-9_]", "_", key)
    return f"label_{_CAMEL.sub(_APART, plain).lower()}"


def _going(server: Prometheus, start: float, end: float, step: int) -> dict[tuple[str, str], float]:
    """(cluster, node) → when an autoscaler's mark was last seen on it; {} where taints aren't scraped."""
    marks = "|".join(sorted(re.escape(taint_key).replace("\\", "\\\\") for taint_key in TAKEN_DOWN))
    expression = f'max by (cluster, node) ({TAINTS}{{key=~"{marks}"}})'
    taint_series = server.query_range(expression, start=start, end=end, step_seconds=step)
    return {
        (node_series.labels.get("cluster", ""), node_series.labels.get("node", "")): float(node_series.times[-1])
        for node_series in taint_series
        if len(node_series.times)
    }


def _unknown(server: Prometheus, what: str, fix: str) -> SourceError:
    return SourceError(f"the Prometheus server has no {what}", where=server.address, fix=fix)
