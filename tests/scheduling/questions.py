"""One pod asked of a small cluster: where it can go, why not, how nodes score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.kubernetes.object_records import LabelSelector
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import fails, feasible_nodes, reasons_for, scores_on
from planner.scheduling.pod import LivePod
from planner.scheduling.scheduler import Attempt, Budget, Scheduler
from planner.scheduling.scores import total_scores
from planner.scheduling.shape import Shape, compile_shape
from planner.scheduling.state import State
from tests.builders.objects import Item, node, pod, pod_spec, read_items

NO_PREEMPTION = "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."


class Question:
    """A cluster made of `items`, and one pod of `spec` that isn't there yet."""

    def __init__(
        self,
        items: Sequence[Item],
        spec: Item | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        default_selector: LabelSelector | None = None,
    ) -> None:
        asked = pod("asked", spec if spec is not None else pod_spec(), labels=labels)
        snapshot = read_items([*items, asked])
        self.cluster = Cluster(snapshot)
        self.state = State(self.cluster)
        found = next(p for p in snapshot.pods if p.name == "asked")
        self.shape: Shape = compile_shape(
            self.cluster, found.namespace, found.labels, found.spec, default_selector=default_selector
        )
        self.live = {
            n: [self._live(i) for i, p in enumerate(snapshot.pods) if p.node_name == name]
            for n, name in enumerate(self.cluster.node_names)
        }

    def _live(self, index: int) -> LivePod:
        known = self.cluster.snapshot.pods[index]
        shape = compile_shape(self.cluster, known.namespace, known.labels, known.spec)
        return LivePod(
            shape=shape, namespace=known.namespace, name=known.name, uid=known.uid, owner="", number=index,
            created_at=0.0, node=self.cluster.node_index[known.node_name], is_ready=True,
            started_at=known.started_at or 0.0,
        )  # fmt: skip

    def _below(self, node: int, priority: int) -> list[LivePod]:
        return [pod for pod in self.live[node] if pod.priority < priority]

    def fitting(self) -> list[str]:
        return [self.cluster.node_names[n] for n in feasible_nodes(self.state, self.shape).tolist()]

    def attempt(self, *, seed: int = 0, budgets: Sequence[Budget] = ()) -> Attempt:
        scheduler = Scheduler(
            self.state,
            seed,
            self._below,
            lambda namespace: [b for b in budgets if b.namespace == namespace],
            is_thorough=bool(budgets),  # the snapshot holds none, so what is known of it leaves them out
        )
        return scheduler.attempt(
            LivePod(
                shape=self.shape,
                namespace=self.shape.namespace,
                name="asked",
                uid="asked",
                owner="",
                number=1_000,
                created_at=0.0,
            )
        )

    def place(self, node: str) -> None:
        """Bind one more pod like the one asked about."""
        at = self.cluster.node_index[node]
        live = LivePod(
            shape=self.shape, namespace=self.shape.namespace, name="placed", uid="placed", owner="", number=999,
            created_at=0.0,
        )  # fmt: skip
        Scheduler(self.state, 0, self._below, lambda _: []).bind(live, at)
        live.node = at
        self.live[at].append(live)

    def reasons(self) -> str:
        """The first sentence of the scheduler's message."""
        return self.attempt().message.split(". ")[0].partition(": ")[2]

    def reasons_elsewhere(self) -> str:
        """What refuses the pod on nodes that it doesn't fit on, though it fits on another."""
        found, _ = reasons_for(self.state, self.shape, fails(self.state, self.shape))
        return ", ".join(f"{count} {reason}" for reason, count in found.items())

    def scores(self) -> dict[str, int]:
        nodes = feasible_nodes(self.state, self.shape)
        totals = total_scores(self.state, self.shape, scores_on(self.state, self.shape, nodes), nodes)
        return {self.cluster.node_names[n]: int(s) for n, s in zip(nodes.tolist(), totals, strict=True)}

    def totals(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return self.state.used + self.state.free


def nodes(count: int, **each: Any) -> list[Item]:
    return [node(f"n-{i}", **each) for i in range(count)]
