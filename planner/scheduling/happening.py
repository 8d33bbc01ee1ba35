"""What somebody does to a cluster while it is played: said of names, and played by `planner.rollout.happenings`."""

from __future__ import annotations

from planner.ground.records import dataclass
from planner.kubernetes.records import EMPTY, Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One event, `after_seconds` after the first change; what isn't named stays as it is.

    Attributes
    ----------
    words : what happens, for people
    takes_seconds : of one that comes once all is at rest, how long that takes
    nodes_come : names of nodes that the cluster is compiled with and that aren't there before
    nodes_go : names of nodes that go at once, with all that runs on them
    drains : names of nodes that are cordoned, and whose pods are evicted as their budgets let them
    evicts : places in the snapshot of pods that are evicted so
    ends : key of a Job all of whose pods are done
    ungates : ``namespace/name`` of a pod, or of what owns pods, that lose their scheduling gates
    quota, hard : ``namespace/name`` of a ResourceQuota, and what it lets in from then on
    scales, replicas : key of a workload, and its replicas from then on
    """

    after_seconds: float
    words: str
    takes_seconds: float = 0.0
    nodes_come: tuple[str, ...] = ()
    nodes_go: tuple[str, ...] = ()
    drains: tuple[str, ...] = ()
    evicts: tuple[int, ...] = ()
    ends: str = ""
    ungates: str = ""
    quota: str = ""
    hard: Amounts = EMPTY
    scales: str = ""
    replicas: int = 0
