"""Refreshes a snapshot every so many seconds, and the answers that depend on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.node_pools import NodePool
from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.serve.cluster_metrics import ClusterMetrics

_METRICS_SHARE = 0.1
"""Of the time that goes into metrics at most: reviews are answered on the same cores."""


class Latest(Record):
    """What is known now. `listed_at` is this machine's clock when the listing began; `metrics` come a little later."""

    snapshot: Snapshot
    pools: tuple[NodePool, ...]
    listed_at: float
    metrics: ClusterMetrics | None = None


def _holds(snapshot: Snapshot) -> tuple[object, ...]:
    """What an answer depends on: its objects, and which lists are whole, which a watch tells a while after they came to lack some."""
    return snapshot.digest, snapshot.presence


class Keeper:
    """Keeps the latest snapshot; a listing that fails leaves the one before in place, and is counted.

    Parameters
    ----------
    read : callable
        Reads the cluster, raising `HeadroomError`.
    limits : callable
        What is known of node pools, of a snapshot.
    metrics : callable
        Metrics of a snapshot, worked out where no review waits for it; raises `HeadroomError`.
    every_seconds : float
        Between two times that the metrics are worked out, and between two listings unless `look_seconds` is given.
    look_seconds : float, optional
        Between two looks at a cluster that is watched, where `read` gives what is known without asking for it.
    age : callable
        How long ago, in seconds, the cluster was as `read` has just given it.
    know : callable
        Gets a snapshot that differs from the one before, and the pools that may grow.
    """

    def __init__(
        self,
        read: Callable[[], Snapshot],
        limits: Callable[[Snapshot], tuple[PoolLimits, ...]],
        metrics: Callable[[Snapshot], ClusterMetrics],
        *,
        every_seconds: float,
        look_seconds: float | None = None,
        age: Callable[[], float] = lambda: 0.0,
        know: Callable[[Snapshot, tuple[NodePool, ...]], None],
        say: Callable[[str], None],
    ) -> None:
        self._read, self._limits, self._metrics, self._know, self._say = read, limits, metrics, know, say
        self.every_seconds = every_seconds
        self._look_seconds, self._age = look_seconds or every_seconds, age
        self.failures = 0
        self.kept: Latest | None = None
        self._metrics_of: tuple[object, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def start(self) -> None:
        """List now, and go on in the background.

        Raises
        ------
        HeadroomError
            When the first listing fails: nothing could be answered.
        """
        self.list_anew()
        self._thread.start()

    def stop(self) -> None:
        """End the background work at its next pause."""
        self._stop.set()

    def age_seconds(self) -> float | None:
        """How long ago what is kept was listed; None before the first listing."""
        return None if self.kept is None else time.time() - self.kept.listed_at

    def list_anew(self) -> None:
        """Read the cluster; those who answer get to know it if it is another one."""
        began = time.time()
        snapshot = self._read()
        began -= self._age()
        before = self.kept
        if before is not None and _holds(before.snapshot) == _holds(snapshot):
            self.kept = Latest(snapshot=before.snapshot, pools=before.pools, listed_at=began, metrics=before.metrics)
            return
        pools = growable_pools(snapshot, self._limits(snapshot))
        self._know(snapshot, pools)
        metrics = before.metrics if before else None
        self.kept = Latest(snapshot=snapshot, pools=pools, listed_at=began, metrics=metrics)

    def tell(self) -> None:
        """Work the metrics out, where the snapshot is another one."""
        kept_state = self.kept
        if kept_state is None or self._metrics_of == _holds(kept_state.snapshot):
            return
        metrics = self._metrics(kept_state.snapshot)
        self._metrics_of = _holds(kept_state.snapshot)
        self.kept = Latest(
            snapshot=kept_state.snapshot, pools=kept_state.pools, listed_at=kept_state.listed_at, metrics=metrics
        )

    def _run(self) -> None:
        told_at, took, was_failing = float("-inf"), 0.0, False
        while not self._stop.is_set():
            try:
                if time.monotonic() - told_at >= max(self.every_seconds, took / _METRICS_SHARE):
                    told_at = time.monotonic()
                    try:
                        self.tell()
                    finally:
                        took = time.monotonic() - told_at
            except HeadroomError as error:
                self._say(f"metrics can't be worked out: {error}")
            if self._stop.wait(self._look_seconds):
                return
            try:
                self.list_anew()
                was_failing = False
            except HeadroomError as error:
                self.failures += 1
                if not was_failing or self._look_seconds == self.every_seconds:  # once, not every few seconds
                    self._say(f"the cluster can't be listed, what was known before is kept: {error}")
                was_failing = True
