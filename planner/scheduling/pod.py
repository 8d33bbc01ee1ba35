"""A pod in a simulation: what the scheduler and the controllers know of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from planner.ground.records import dataclass
from planner.kubernetes.object_records import Amounts
from planner.scheduling.shape import Shape

NOWHERE = -1
GATED = "Scheduling is blocked due to non-empty scheduling gates"  # the API server's words


class Words:
    """kube-scheduler's words on a refusal, worked out when they are read."""

    __slots__ = ("_make", "_text")

    def __init__(self, make: Callable[[], str]) -> None:
        self._make: Callable[[], str] | None = make
        self._text = ""

    def __str__(self) -> str:
        if self._make is not None:
            self._text, self._make = self._make(), None
        return self._text


class RefusedGroup(Protocol):
    """Refused pods that are alike (`planner.rollout.pending_groups`)."""

    def said_to(self, pod: LivePod) -> str | Words | None:
        """The words of the last attempt that stands for `pod`."""
        ...


@dataclass(slots=True, eq=False)
class LivePod:
    """One pod of a simulation.

    Attributes
    ----------
    owner : key of the controller that made it, such as ``ReplicaSet/ml/worker-5cf5``; "" for bare pods
    node : index of the node it is bound to, −1 while it waits
    words : kube-scheduler's at its last attempt, None while never tried
    """

    shape: Shape
    namespace: str
    name: str
    uid: str
    owner: str
    number: int  # order of creation within the simulation; negative for pods of the snapshot
    created_at: float
    node: int = NOWHERE
    is_ready: bool = False
    is_terminating: bool = False
    is_gone: bool = False
    never_ready: bool = False
    is_new: bool = False  # of a revision made by the change
    nominated: int = NOWHERE
    queued_at: int = 0
    words: str | Words | None = None
    preempted: bool = False  # terminating because the scheduler preempted it
    ready_at: float = 0.0
    started_at: float = 0.0
    restarts: int = 0
    deletion_cost: int = 0
    is_running: bool = False
    ordinal: int = -1  # StatefulSet
    revision: str = ""
    devices: tuple[tuple[int, Amounts], ...] = ()  # with what of a shared one
    is_gated: bool = False  # never tried: scheduling gates, another scheduler's, or a claim that isn't there
    is_maturing: bool = False  # Ready, and not yet for its workload's minReadySeconds
    claims_made: frozenset[int] = frozenset()  # which of the claims that controllers make for it are there
    is_lost: bool = False  # bound to a node that isn't there (any more)
    is_overdue: bool = False  # it has been, and its controller hasn't looked yet
    refused_by: frozenset[int] = frozenset()  # filters that refused it at its last attempt (`filters.Fails`)
    seen_events: int = -1  # how much of the simulation's events its last attempt had seen; −1: to be tried anew
    failed_tick: int = -1_000  # tick of its last failed attempt
    arrived: int = 0  # order of arrival in the scheduling queue
    turn: int = 0  # order of the last time it came to the queue or was refused; `queued_at` among those of one turn
    call: int = -1  # of the scheduler's turns, that of its last own refusal
    line: RefusedGroup | None = None  # of refused pods it stands in

    @property
    def message(self) -> str | None:
        """kube-scheduler's words at its last attempt, None while never tried."""
        words = self.words if self.line is None else self.line.said_to(self)
        return None if words is None else str(words)

    @property
    def is_bound(self) -> bool:
        return self.node != NOWHERE or self.is_lost

    @property
    def is_available(self) -> bool:
        """`IsPodAvailable`: Ready for minReadySeconds (kubernetes `pkg/api/v1/pod/util.go`)."""
        return self.is_ready and not self.is_maturing

    @property
    def priority(self) -> int:
        return self.shape.priority
