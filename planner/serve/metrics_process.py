"""A separate low-priority process that computes metrics, so that reviews come first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from planner.ground.errors import SourceError
from planner.ground.records import replace
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.serve.cluster_metrics import ClusterMetrics, cluster_metrics
from planner.serve.processes.snapshot_process import Holder

NICENESS: Final = 10


class Teller:
    """Works metrics out; its process begins with `start`, else with the first. `limits`: what is known of a snapshot's pools."""

    def __init__(self, inputs: Inputs, limits: Callable[[Snapshot], tuple[PoolLimits, ...]] = lambda _: ()) -> None:
        self._given, self._limits = inputs, limits
        self._process: Holder | None = None
        self._is_ended = False

    def start(self) -> None:
        """Start the process; it loads its code while the cluster is listed."""
        self._process = Holder(niceness=NICENESS, most_bytes=0)

    def metrics(self, snapshot: Snapshot) -> ClusterMetrics:
        """As `cluster_metrics`.

        Raises
        ------
        HeadroomError
            As that; also when the process ended. The next call begins another one.
        """
        if self._process is None:
            self.start()
        process = self._process
        assert process is not None
        try:
            metrics_answer = process.run(cluster_metrics, snapshot, replace(self._given, limits=self._limits(snapshot)))
        except (EOFError, OSError):
            if not self._is_ended:
                process.restart()
            raise SourceError("the process that works them out ended", where="this server") from None
        except (
            RuntimeError
        ) as error:  # a mistake of ours costs one answer, not the thread that asks; its traceback is logged
            raise SourceError(f"a mistake of ours: {error}", where="this server") from None
        assert isinstance(metrics_answer, ClusterMetrics)
        return metrics_answer

    def stop(self) -> None:
        """End the process."""
        self._is_ended = True
        if self._process is not None:
            self._process.end()
