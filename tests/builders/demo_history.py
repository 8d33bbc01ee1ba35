"""Two earlier moments of the demo cluster, and the store that holds them with today's: made here, nobody recorded them.

``python -m tests.builders.demo_history`` writes ``data/demo/history``; a test makes it again and compares what it says. A moment is
the demo's own recording with something taken back: what would be of the moment's future is as many days older, pods and nodes that
came since aren't there, and fields that were changed since are as they were.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

from planner.ground.records import replace
from planner.history.snapshot_rows import rows_of
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.serve.processes import answers_for_store
from planner.sources import cluster_dumps, demo
from planner.sources import store as stores
from planner.sources.prices import embedded_book
from tests.architecture.tree import ROOT

Item = dict[str, Any]
FOLDER: Final = ROOT / "data" / "demo" / "history"

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_T4: Final = "gke-edu-gpu-t4-7f3a0"
_WORKER: Final = "prod/ml-worker"
_CAME: Final = {7: (f"{_T4}5", f"{_WORKER}@{_T4}4"), 14: (f"{_T4}5", f"{_WORKER}@{_T4}4", f"{_WORKER}@{_T4}3")}
"""Days ago → nodes that weren't there yet, and pods of a Deployment on a node."""
_ONE_AWAY: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
_STRATEGIES: Final = {7: ("dev/inference-api",), 14: ("dev/inference-api", "prod/llm-serve")}
"""Days ago → Deployments that still let one pod go before the next came, and so could be rolled out."""
_NOT_YET: Final = {7: ("batch/trainer",), 14: ("batch/trainer", "llm-lab/llm-canary")}
"""Days ago → Deployments that weren't there yet: those that wait for GPUs today would have got what was free."""
_IMAGES: Final = {14: ("app/llm-serve:2026.11.3", "app/llm-serve:2026.10.2")}
_ROWS: Final = ("pools", "facts")  # what History is made of


def moments() -> Iterator[Snapshot]:
    """A fortnight ago, a week ago, now."""
    yield from (_ago(days) for days in (14, 7))
    yield demo.read()


def write(folder: Path = FOLDER) -> None:
    """The store, its files named after the moments."""
    shutil.rmtree(folder, ignore_errors=True)
    for snapshot in moments():
        answers = answers_for_store.answers(snapshot, Inputs(book=embedded_book()), ("overview", "costs"))
        rows = {name: some for name, some in rows_of(snapshot, answers, written_by="").items() if name in _ROWS}
        clock = SimpleNamespace(time=lambda taken=snapshot.taken_at: taken, monotonic=time.monotonic)
        with mock.patch.object(stores, "time", clock), mock.patch.object(stores, "_unique", return_value="made"):
            stores.Store(str(folder)).write(demo.DEMO_NAME, snapshot, rows)


def _ago(days: int) -> Snapshot:
    now = demo.read().taken_at
    before = timedelta(days=days)
    moment = datetime.fromtimestamp(now, UTC) - before

    def earlier(found: re.Match[str]) -> str:
        at = datetime.fromisoformat(found[0])
        return found[0] if at <= moment else f"{at - before:%Y-%m-%dT%H:%M:%SZ}"

    files = []
    gone: set[tuple[str, str]] = set()
    for name in ("cluster.json", "pod-metrics.json"):
        text = gzip.decompress((ROOT / "data" / "demo" / f"{name}.gz").read_bytes()).decode()
        if days in _IMAGES:
            text = text.replace(*_IMAGES[days])
        document = json.loads(_MOMENT.sub(earlier, text))
        document["items"] = _taken_back(document["items"], days, gone)
        files.append((name, json.dumps(document).encode()))
    return replace(cluster_dumps.read_uploads(files, source=demo.DEMO_NAME), taken_at=moment.timestamp())


def _taken_back(items: list[Item], days: int, gone: set[tuple[str, str]]) -> list[Item]:
    """`items` as they were; `gone`: (namespace, name) of pods and nodes that weren't there."""
    by_owner = {_key(one): one for one in items}
    for one in items:
        kind, namespace, name = _key(one)
        if any(f"{namespace}/{name}-".startswith(f"{workload}-") for workload in _NOT_YET[days]):
            gone.add((namespace, name))
        elif kind == "Pod" and (place := _came(one, days)):
            gone.add((namespace, name))
            for owner in (*_owners(one, by_owner), *_budgets(one, items)):
                _one_fewer(owner, is_daemon=place == "node")
        elif kind == "Node" and name in _CAME[days]:
            gone.add(("", name))
        elif kind == "Deployment" and f"{namespace}/{name}" in _STRATEGIES[days]:
            one["spec"]["strategy"] = _ONE_AWAY
        elif kind == "ReplicaSet" and f"{namespace}/{name.rpartition('-')[0]}" in _STRATEGIES[days]:
            _annotate(one, one["spec"]["replicas"])
    return [one for one in items if not {_key(one)[1:], _about(one)} & gone]


def _key(one: Item) -> tuple[str, str, str]:
    return one.get("kind", ""), one["metadata"].get("namespace", ""), one["metadata"]["name"]


def _about(event: Item) -> tuple[str, str]:
    told = event.get("involvedObject", {})
    return ("" if told.get("kind") == "Node" else told.get("namespace", "")), told.get("name", "")


def _came(pod: Item, days: int) -> str:
    """Whether a pod came since, with its node or by itself."""
    node = pod["spec"].get("nodeName", "")
    if node in _CAME[days]:
        return "node"
    workload = f"{pod['metadata']['namespace']}/{pod['metadata']['name'].rsplit('-', 2)[0]}"
    return "pod" if f"{workload}@{node}" in _CAME[days] else ""


def _owners(one: Item, items: dict[tuple[str, str, str], Item]) -> Iterator[Item]:
    for owner in one["metadata"].get("ownerReferences", ()):
        found = items.get((owner["kind"], one["metadata"].get("namespace", ""), owner["name"]))
        if found is not None:
            yield found
            yield from _owners(found, items)


def _budgets(pod: Item, items: list[Item]) -> Iterator[Item]:
    labels = pod["metadata"].get("labels", {}).items()
    for one in items:
        if one.get("kind") == "PodDisruptionBudget" and _key(one)[1] == pod["metadata"]["namespace"]:
            if one["spec"]["selector"]["matchLabels"].items() <= labels:
                yield one


def _one_fewer(owner: Item, *, is_daemon: bool) -> None:
    """A pod less: of a budget, of a DaemonSet whose node went, else of what has replicas."""
    wanted = {"PodDisruptionBudget": "Healthy|Pods|minAvailable", "DaemonSet": "umber" if is_daemon else "never"}
    counted = re.compile(wanted.get(owner["kind"], "eplicas"))
    for part in (owner["spec"], owner["status"]):
        for name, value in part.items():
            if counted.search(name) and isinstance(value, int) and value:
                part[name] = value - 1
    if owner["kind"] == "ReplicaSet":
        _annotate(owner, owner["spec"]["replicas"] + ceil(owner["spec"]["replicas"] / 4))


def _annotate(replica_set: Item, most: int) -> None:
    """What the Deployment's controller writes on its ReplicaSet (`deploymentutil.SetReplicasAnnotations`)."""
    replica_set["metadata"]["annotations"] |= {
        "deployment.kubernetes.io/desired-replicas": str(replica_set["spec"]["replicas"]),
        "deployment.kubernetes.io/max-replicas": str(most),
    }


if __name__ == "__main__":
    write()
