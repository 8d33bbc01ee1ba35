"""A crowded cluster of any size: copies of the demo cluster in one, as kubectl's JSON.

The demo is full: pods wait, preempt, are spread, kept by quotas and budgets. Each copy has the same node pools and
namespaces of its own; what stands once in a cluster (classes, kube-system's workloads) stands once, and its DaemonSets
have a pod on every node. With `varied` no two copies are equal: requests, replicas, grace periods and labels differ.

42 copies: 1,008 nodes, 5,504 pods, 677 workloads, 84 of the pods waiting. 208 copies: 4,992, 27,250, 3,333 and 416.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from planner.kubernetes.object_records import Snapshot
from planner.sources import cluster_dumps
from planner.sources.shipped_files import data_folder
from tests.builders.objects import read_items

Item = dict[str, Any]

SYSTEM = "kube-system"
STUCK = "Deployment/prod-0/llm-serve"  # holds the GPUs its successor needs, while others wait for them
_ONCE = ("PriorityClass", "StorageClass", "DeviceClass")
_OF_A_COPY = ("Node", "PersistentVolume", "Namespace")  # without a namespace, one each


@cache
def _demo() -> tuple[Item, ...]:
    data = gzip.decompress((data_folder() / "demo" / "cluster.json.gz").read_bytes())
    return tuple(json.loads(data)["items"])


def snapshot(copies: int, *, varied: bool = False) -> Snapshot:
    return cluster_dumps.read_bytes(b"".join(kubectl_json(copies, varied=varied)), name="crowd")


def waiting(more: int) -> Snapshot:
    """One copy, in which so many pods more wait that are alike: those of the demo's llm-canary."""
    items = list(_items(1, varied=False))
    canary = next(i for i in items if i["kind"] == "Pod" and i["metadata"]["name"].startswith("llm-canary"))
    for number in range(more):
        metadata = canary["metadata"]
        name, uid = f"{metadata['name']}-{number}", f"{metadata['uid']}-{number}"
        items.append({**canary, "metadata": {**metadata, "name": name, "uid": uid}})
    return read_items(items)


def kubectl_json(copies: int, *, varied: bool = False) -> Iterator[bytes]:
    """What ``kubectl get … -A -o json`` would give, piece by piece."""
    yield b'{"apiVersion":"v1","kind":"List","items":[\n'
    separator = b""
    for item in _items(copies, varied=varied):
        yield separator + json.dumps(item, separators=(",", ":")).encode()
        separator = b",\n"
    yield b"\n]}\n"


def _items(copies: int, *, varied: bool) -> Iterator[Item]:
    names = {item["metadata"]["name"] for item in _demo() if item["kind"] == "Node"}
    for number in range(copies):
        for item in _demo():
            if item["kind"] in _ONCE:
                kept = number == 0
            elif item["metadata"].get("namespace") == SYSTEM:
                kept = number == 0 or _is_daemon(item)
            else:
                kept = number == 0 or (item["kind"], item["metadata"]["name"]) not in (
                    ("Namespace", SYSTEM), ("Namespace", "default"),
                )  # fmt: skip
            if not kept:
                continue
            copy = _renamed(item, _namer(names, number))
            if item["kind"] == "DaemonSet" and item["metadata"]["namespace"] == SYSTEM:
                copy["status"] = {k: v * copies if isinstance(v, int) and k != "observedGeneration" else v for k, v in item["status"].items()}  # fmt: skip
            if varied and item["metadata"].get("namespace") not in (None, SYSTEM):
                if not _is_left_out(copy, number):
                    yield _varied(copy, number)
            else:
                yield copy


def _is_daemon(item: Item) -> bool:
    return item["kind"] == "Pod" and any(o["kind"] == "DaemonSet" for o in item["metadata"].get("ownerReferences", ()))


def _namer(nodes: set[str], number: int) -> Callable[[Item, str, str], str]:
    """What a text at a key becomes in the copy: names of nodes, namespaces and what has none, and uids, are its own."""

    def name(top: Item, key: str, text: str) -> str:
        metadata = top["metadata"]
        shared = metadata.get("namespace") == SYSTEM
        if text in nodes:
            return f"{text}-{number}"
        if key == "uid" and text == metadata.get("uid") and (not shared or number):
            return f"{text[:-4]}{number:04d}"
        if key == "uid" and not shared:
            return f"{text[:-4]}{number:04d}"
        if key in ("namespace", "kubernetes.io/metadata.name") and text not in (SYSTEM, "default"):
            return f"{text}-{number}"
        if key == "name" and text == metadata["name"]:
            if shared:
                return f"{text}-{number}" if number and top["kind"] == "Pod" else text
            if top["kind"] in _OF_A_COPY and text not in (SYSTEM, "default"):
                return f"{text}-{number}"
        if key == "volumeName":
            return f"{text}-{number}"
        return text

    return name


def _renamed(item: Item, name: Callable[[Item, str, str], str]) -> Item:
    def rename(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {k: rename(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [rename(v, key) for v in value]
        return name(item, key, value) if isinstance(value, str) else value

    renamed: Item = rename(item, "")
    return renamed


# ── no two copies alike ──────────────────────────────────────────────────────────────────────────────────────────────
_ROLLED = ("Deployment", "StatefulSet", "ReplicaSet")


def _fewer(owner: str, number: int) -> bool:
    """Whether the copy's Deployment of this name has a pod less than the demo's."""
    return number % 2 == 1 and owner.startswith(("web", "ml-worker"))


def _is_left_out(item: Item, number: int) -> bool:
    """The pod whose Deployment has one less: the last by name of its ReplicaSet."""
    if item["kind"] != "Pod":
        return False
    owner = next(iter(item["metadata"].get("ownerReferences", ())), None)
    if owner is None or not _fewer(owner["name"], number):
        return False
    alike = (i["metadata"]["name"] for i in _demo() if i["kind"] == "Pod" and _owned_by(i, owner["name"]))
    return bool(item["metadata"]["name"] == max(alike))


def _owned_by(item: Item, name: str) -> bool:
    return any(owner["name"] == name for owner in item["metadata"].get("ownerReferences", ()))


def _varied(item: Item, number: int) -> Item:
    """Requests a little smaller, another grace period, a label more; a pod less in some Deployments."""
    kind, spec = item["kind"], item.get("spec", {})
    if kind in _ROLLED:
        if _fewer(item["metadata"]["name"], number) and spec.get("replicas"):
            spec["replicas"] -= 1
            _less(item["status"], lambda key: key == "replicas" or key.endswith("Replicas"))
            _less(item["metadata"]["annotations"], lambda key: key.endswith(("/desired-replicas", "/max-replicas")))
        _vary_pod(spec["template"]["metadata"], spec["template"]["spec"], number)
    elif kind == "Pod":
        _vary_pod(item["metadata"], spec, number)
    return item


def _less(numbers: Item, is_meant: Callable[[str], bool]) -> None:
    """One less of each that is more than 0; of what annotations say, as text."""
    for key, value in numbers.items():
        if is_meant(key) and int(value):
            numbers[key] = type(value)(int(value) - 1)


def _vary_pod(metadata: Item, spec: Item, number: int) -> None:
    metadata["labels"] = {**metadata.get("labels", {}), "copy": str(number)}
    spec["terminationGracePeriodSeconds"] = 20 + number % 50
    for container in spec["containers"]:
        requests = container.get("resources", {}).get("requests", {})
        if requests.get("memory", "").endswith("Mi"):
            requests["memory"] = f"{int(requests['memory'][:-2]) - number % 61}Mi"
        elif requests.get("memory", "").endswith("Gi"):
            requests["memory"] = f"{int(requests['memory'][:-2]) * 1024 - number % 61}Mi"
