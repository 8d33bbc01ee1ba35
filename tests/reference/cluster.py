"""The API server of the reference: objects by kind and name, a logical clock, and who is told of a change."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.reference.objects import Key, Object, copied, is_bound, key

Listener = Callable[[str, Object], None]


class Cluster:
    """Objects by kind and key. ``clock`` orders what happens; ``tick`` is the coarse time that timestamps show;
    ``milliseconds`` is for those who wait."""

    def __init__(self, items: list[Object], seed: int) -> None:
        self.random = random.Random(seed)
        self.draws_order = False  # whose controller is first; else the recorder's order, as far as it has one
        self.clock = 0
        self.tick = -1
        self.milliseconds = 0.0
        self.listeners: list[Listener] = []
        self.adds_tolerations: bool | None = None  # whether ExtendedResourceToleration is on; not looked at yet
        self.kinds: dict[str, dict[Key, Object]] = {}
        for item in items:
            self.kinds.setdefault(item["kind"], {})[key(item)] = copied(item)

    def of(self, kind: str) -> list[Object]:
        return list(self.kinds.get(kind, {}).values())

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        return self.kinds.get(kind, {}).get((namespace, name))

    def labels_of_namespace(self, name: str) -> dict[str, str]:
        found = (self.get("Namespace", "", name) or {"metadata": {}})["metadata"].get("labels") or {}
        return {"kubernetes.io/metadata.name": name, **found}

    def now(self) -> int:
        self.clock += 1
        return self.clock

    def fresh_name(self, prefix: str) -> str:
        """``prefix`` and five letters that no object ends with yet."""
        endings = {name[-5:] for kind in self.kinds.values() for _, name in kind}
        while True:
            ending = "".join(self.random.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(5))
            if ending not in endings:
                return prefix + ending

    def tell(self, event: str, item: Object) -> None:
        for listener in self.listeners:
            listener(event, item)

    def create(self, item: Object) -> Object:
        if key(item) in self.kinds.get(item["kind"], {}):
            raise ValueError(f"{item['kind']} {key(item)} exists already")
        item["metadata"].setdefault("uid", f"uid-{item['kind']}-{'/'.join(key(item))}-{self.clock}")
        item["metadata"]["created"] = (self.tick, self.now())
        self.kinds.setdefault(item["kind"], {})[key(item)] = item
        self.tell("created", item)
        return item

    def delete_pod(self, pod: Object) -> None:
        """registry/core/pod/strategy.go CheckGracefulDelete: an unbound pod goes at once, a bound one terminates."""
        if pod["metadata"].get("deletionTimestamp"):
            return
        if is_bound(pod) and pod["spec"].get("terminationGracePeriodSeconds", 30) > 0:
            pod["metadata"]["deletionTimestamp"] = f"tick {self.tick}"
            self.tell("terminating", pod)
        else:
            self.remove(pod)

    def remove(self, item: Object) -> None:
        if self.kinds.get(item["kind"], {}).pop(key(item), None) is not None:
            self.tell("removed", item)

    def pods_by_node(self) -> dict[str, list[Object]]:
        placed: dict[str, list[Object]] = {node["metadata"]["name"]: [] for node in self.of("Node")}
        for pod in self.of("Pod"):
            if is_bound(pod) and pod["spec"]["nodeName"] in placed:
                placed[pod["spec"]["nodeName"]].append(pod)
        return placed


def age_class(stamp: tuple[Any, ...] | None) -> int:
    """Creation and readiness only count by the tick they happened in: timestamps have whole seconds."""
    return -1 if stamp is None else int(stamp[0])
