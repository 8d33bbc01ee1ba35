"""ReplicaSet: keeps the requested number of pods, and deletes surplus pods in Kubernetes' order.

Source: kubernetes `pkg/controller/replicaset/replica_set.go` `manageReplicas`,
`pkg/controller/controller_utils.go` `ActivePodsWithRanks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.ground.records import replace
from planner.ground.well_known_names import DESIRED_REPLICAS, MAX_REPLICAS
from planner.kubernetes.object_records import FrozenMap, ReplicaSet
from planner.rollout.clock import LONGEST_RETRY_MS, Controller
from planner.rollout.controllers.deletion_order import DeletionOrder
from planner.rollout.pods_by_state import AVAILABLE, BOUND, ENDING, READY, Tally
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod

_FIRST_BATCH = 1  # controller.SlowStartInitialBatchSize
_BURST = 500  # replicaset.BurstReplicas
_FIRST_RETRY_MS = 5.0  # ItemExponentialFailureRateLimiter(5 ms, 1000 s)


class ReplicaSetController(Controller):
    """One ReplicaSet.

    Parameters
    ----------
    related : Callable[[], tuple[str, ...]]
        The ReplicaSets of the same Deployment by key: doubled-up nodes are counted over their pods.
    desired : int or None
        The Deployment's replicas when it last scaled this one (annotation ``desired-replicas``).
    desired_annotation : str
        The annotation that says so: Argo's Rollouts have their own.
    """

    def __init__(
        self,
        replica_set: ReplicaSet,
        *,
        is_new: bool = False,
        desired: int | None = None,
        maximum: int | None = None,
        desired_annotation: str = DESIRED_REPLICAS,
        min_ready_seconds: int = 0,
        related: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        self._known, self._desired_annotation = replica_set, desired_annotation
        self.key = replica_set.key
        self.namespace, self.name, self.uid = replica_set.namespace, replica_set.name, replica_set.uid
        self.template, self.selector, self.annotations = (
            replica_set.template,
            replica_set.selector,
            replica_set.annotations,
        )
        self.replicas = replica_set.replicas
        self.created_at = replica_set.created_at or 0.0
        self.is_new = is_new
        self.desired = desired
        self.maximum = maximum
        self.min_ready_seconds = min_ready_seconds
        self._related = related
        self._order: DeletionOrder | None = None  # made when a pod is first deleted
        self._to_create = 0  # left of a creation loop that has begun
        self._batch = _FIRST_BATCH
        self._failures = 0  # syncs in a row that were refused a pod
        self._seen: tuple[int, ...] = ()  # what of its own it had seen at the last refusal
        self.written: tuple[int, ...] | None = None  # status as last written: replicas, ready, terminating, available
        self._at_rest = (-1, -1)  # replicas, and changes of its pods, with which it has nothing to do
        self._tally: Tally | None = None

    def adopt(self, simulation: Simulation) -> None:
        """Its pods are those of the revision that the change makes."""
        self.hand_over(simulation, is_new=True)

    def hand_over(self, simulation: Simulation, *, is_new: bool) -> None:
        """Whether it has the template that its workload shall have now, and so its pods."""
        self.is_new = is_new
        for pod in self.pods(simulation):
            pod.is_new = is_new

    def pods(self, simulation: Simulation) -> list[LivePod]:
        """Pods of the ReplicaSet that aren't gone, terminating ones included."""
        return simulation.pods.of(self.key, self.uid)

    def tally(self, simulation: Simulation) -> Tally:
        """The set's pods as numbers by state."""
        if self._tally is None:
            self._tally = simulation.pods.tally(self.key, self.uid)
        return self._tally

    def active(self, simulation: Simulation) -> int:
        return self.tally(simulation).count(lacking=ENDING)

    def reported_available(self, simulation: Simulation) -> int:
        """``status.availableReplicas`` as last written: what the Deployment controller goes by."""
        return self.reported(simulation)[3]

    def reported_replicas(self, simulation: Simulation) -> int:
        """``status.replicas`` as last written."""
        return self.reported(simulation)[0]

    def reported(self, simulation: Simulation) -> tuple[int, ...]:
        """The set's status as last written."""
        if self.written is None:
            self.written = self._current_status(simulation)
        return self.written

    def available(self, simulation: Simulation) -> int:
        return self.tally(simulation).count(AVAILABLE, lacking=ENDING)

    def objects(self, simulation: Simulation) -> Iterator[ReplicaSet]:
        """Itself, with the annotations that its Deployment writes when it scales it (`SetReplicasAnnotations`)."""
        numbers = {self._desired_annotation: self.desired, MAX_REPLICAS: self.maximum}
        written = {key: str(number) for key, number in numbers.items() if number is not None}
        pod_count, ready, _, available = self._current_status(simulation)
        yield replace(
            self._known, replicas=self.replicas, annotations=FrozenMap({**self.annotations, **written}),
            status_replicas=pod_count, ready_replicas=ready, available_replicas=available,
        )  # fmt: skip

    def sync(self, simulation: Simulation) -> bool:
        """`syncReplicaSet`: one batch of pods made, or the surplus deleted, or else the status written.

        Pods are made in batches of 1, 2, 4, … (slow start): others act in between, and a loop once begun makes all
        its pods even if the ReplicaSet is scaled down meanwhile.
        """
        if self._to_create:
            return self._create_batch(simulation)
        tally = self._tally or self.tally(simulation)
        rest_state = (self.replicas, tally.changes)
        if self._at_rest == rest_state:
            return False
        missing = self.replicas - tally.count(lacking=ENDING)
        if missing < 0:
            for pod in self.first_to_go(simulation, -missing):
                simulation.delete(pod)
            return True
        if missing == 0:
            self._failures, self.retry_at = 0, None
            if self._report(simulation):
                return True
            self._at_rest = rest_state
            return False
        if not self._is_backing_off(simulation):
            simulation.foresee_pods(missing)
            self._to_create, self._batch = min(missing, _BURST), _FIRST_BATCH
            if self._create_batch(simulation):
                return True
        return self._report(simulation)

    def _current_status(self, simulation: Simulation) -> tuple[int, ...]:
        count = self.tally(simulation).count
        return count(0, ENDING), count(READY, ENDING), count(ENDING), count(AVAILABLE, ENDING)

    def _report(self, simulation: Simulation) -> bool:
        before, self.written = self.written, self._current_status(simulation)
        return before is not None and before != self.written

    def _create_batch(self, simulation: Simulation) -> bool:
        count = min(self._batch, self._to_create)
        pods_created = sum(self._create(simulation) for _ in range(count))
        self._to_create -= count
        self._batch *= 2
        if pods_created < count:
            self._to_create = 0
            due = simulation.clock.ms + min(_FIRST_RETRY_MS * 2**self._failures, LONGEST_RETRY_MS)
            waiting = self.retry_at is not None and self.retry_at > simulation.clock.ms
            self.retry_at = min(due, self.retry_at) if waiting and self.retry_at is not None else due
            self._failures += 1
            self._seen = self._own_events(simulation)
        elif not self._to_create:
            self._failures, self.retry_at = 0, None
        return pods_created > 0

    def _is_backing_off(self, simulation: Simulation) -> bool:
        """After a refusal it tries again when something of its own changes, each failure doubling the delay, or when
        the delay is over (client-go `util/workqueue/default_rate_limiters.go`)."""
        if not self._failures or self._seen != self._own_events(simulation):
            return False
        return self.retry_at is not None and self.retry_at > simulation.clock.ms

    def try_again(self) -> None:
        """What refused its pods has gone: it doesn't wait for the delay to be over."""
        self._failures, self.retry_at = 0, None

    def _own_events(self, simulation: Simulation) -> tuple[int, ...]:
        """Changes when it is scaled, when its status is written, and when something happens to one of its pods."""
        tally = self.tally(simulation)
        numbers = (tally.count(), tally.count(BOUND), tally.count(READY), tally.count(ENDING))
        return self.replicas, *numbers, *(self.written or ())[:3]

    def _create(self, simulation: Simulation) -> bool:
        name = f"{self.name}-{simulation.random.getrandbits(24):06x}"
        labels, spec = self.template.labels, self.template.spec
        pod = simulation.create(self.key, self.namespace, name, labels, spec, self.selector, is_new=self.is_new)
        return pod is not None

    def first_to_go(self, simulation: Simulation, count: int) -> list[LivePod]:
        """The `count` pods that the controller deletes."""
        if self._order is None:
            self._order = DeletionOrder(self.key, self._related)
        return self._order.first(simulation, count)
