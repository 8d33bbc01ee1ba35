"""An event that a user applies to the simulated cluster, in names; `scripted_event_playback` applies it."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import TAINT_OUT_OF_SERVICE
from planner.kubernetes.object_records import EMPTY, Amounts, Taint

CORDON: Final = ""
LED: Final = " "
CORDONS: Final = frozenset((CORDON, LED))
"""The bars of a cordon, and of one that lasts until a pod has moved; that of a taint is its key."""


class Happening(Record):
    """One event, `after_seconds` after the first change; what isn't named stays as it is.

    Attributes
    ----------
    words : what happens, for people
    turn : among those of the same time, which comes first
    prolongs : whether a run goes on until it comes though all changes are done; an autoscaler's node, which would not be missed then, doesn't
    takes_seconds : of one that comes once all is at rest, how long that takes
    stages : what follows on it, one after another: each as soon as its `nodes_go` are empty but for daemons, `after_seconds` after the
        one before at the latest
    nodes_come : names of nodes that the cluster is compiled with and that aren't there before
    nodes_go : names of nodes that go at once, with all that runs on them
    drains : of `closes`, names of nodes to evict pods from, as their budgets let them, while they are closed
    closes, opens : names of nodes that take no pods any more because of `bar`, and of those that do again
    bar : why: a cordon, or a taint (its key)
    expels : the NoExecute taint that pods on `closes` have to go for at once, unless they tolerate it; of one that puts pods out, for which
    tainted : names of nodes that get the taint and still take pods: those there are evicted when they tolerate `expels` no longer
    evicts : places in the snapshot of pods that are evicted, as their budgets let them
    leads_to : name of the node that the successor of those is to have: all others are cordoned until it is there
    ends : key of a Job with all its pods done
    ungates : ``namespace/name`` of a pod, or of what owns pods, that lose their scheduling gates
    quota, hard : ``namespace/name`` of a ResourceQuota, and what it lets in from then on
    silences, answers : names of nodes that stop answering, or answer again
    puts_out, silent_since, outlasts, without : name of a node that is silent since then, on the run's clock: pods there are deleted that
        tolerate it for no more than so many seconds; keys of taints that it had no more by then
    numbers : of one that puts pods out for a taint of a node that answers, the numbers of the pods that it deletes
    deletes : ``namespace/name`` of pods that are deleted by force: their objects go at once, whatever their node does
    scales, replicas : key of a workload, and its replicas from then on
    """

    after_seconds: float
    words: str
    turn: int = 0
    prolongs: bool = True
    takes_seconds: float = 0.0
    stages: tuple[Happening, ...] = ()
    nodes_come: tuple[str, ...] = ()
    nodes_go: tuple[str, ...] = ()
    drains: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    bar: str = CORDON
    expels: Taint | None = None
    tainted: tuple[str, ...] = ()
    leads_to: str = ""
    evicts: tuple[int, ...] = ()
    silences: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    puts_out: str = ""
    silent_since: float = 0.0
    outlasts: float = 0.0
    without: frozenset[str] = frozenset()
    numbers: frozenset[int] = frozenset()
    deletes: tuple[str, ...] = ()
    ends: str = ""
    ungates: str = ""
    quota: str = ""
    hard: Amounts = EMPTY
    scales: str = ""
    replicas: int = 0

    @property
    def nodes(self) -> frozenset[str]:
        """The names of all nodes that it, and what follows on it, happen to: a taint that all tolerate and that evicts nobody does nothing,
        but for the one that lets pods of a silent node end."""
        tainted = self.tainted if self.expels is not None or self.bar == TAINT_OUT_OF_SERVICE else ()
        leads = (self.leads_to,) if self.leads_to else ()
        later = (name for stage in self.stages for name in stage.nodes)
        return frozenset(
            (
                *self.nodes_come,
                *self.nodes_go,
                *self.closes,
                *tainted,
                *self.opens,
                *self.silences,
                *self.answers,
                *leads,
                *later,
            )
        )
