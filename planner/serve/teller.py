"""Metrics worked out in a process of their own, which stands back behind those that answer reviews."""

from __future__ import annotations

from typing import Final

from planner.capacity.node_pools import NodePool
from planner.ground.errors import HeadroomError, SourceError
from planner.kubernetes.records import Snapshot
from planner.processes.process import Known, Process
from planner.questions.question import Given
from planner.serve.cluster_metrics import ClusterMetrics, cluster_metrics

NICENESS: Final = 10


class Teller:
    """Works metrics out; its process begins with `start`, else with the first."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._process: Process | None = None
        self._is_ended = False

    def start(self) -> None:
        """Start the process; it loads its code while the cluster is listed."""
        self._process = Process(NICENESS)

    def metrics(self, snapshot: Snapshot, pools: tuple[NodePool, ...]) -> ClusterMetrics:
        """As `cluster_metrics`.

        Raises
        ------
        HeadroomError
            As that; also when the process ended. The next call begins another one.
        """
        process = self._process = self._process or Process(NICENESS)
        try:
            process.know(Known(number=process.number + 1, snapshot=snapshot, pools=pools))
            found = process.ask(_worked_out, self._given)
        except (EOFError, OSError):
            if not self._is_ended:
                process.restart()
            raise SourceError("the process that works them out ended", where="this server") from None
        if isinstance(found, ClusterMetrics):
            return found
        raise found

    def stop(self) -> None:
        """End the process."""
        self._is_ended = True
        if self._process is not None:
            self._process.end()


def _worked_out(snapshot: Snapshot, _pools: tuple[NodePool, ...], given: Given) -> ClusterMetrics | HeadroomError:
    try:
        return cluster_metrics(snapshot, given)
    except HeadroomError as error:
        return error
