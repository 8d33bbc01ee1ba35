"""Simulates a moving cluster: controllers and scheduler take turns until all is done, then a tick passes.

In one tick every bound pod that isn't Ready becomes Ready and every terminating pod is gone; between ticks controllers
and scheduler work until they have nothing left to do. Start-up and termination thus both last one tick, and so does
``minReadySeconds``: a pod is available at the end of the tick after the one in which it got Ready.
`planner.rollout.pod_durations` turns ticks into seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from itertools import islice
from random import Random
from typing import Final, TypedDict

from planner.ground.records import replace
from planner.ground.work_budget import current, too_large
from planner.kubernetes.disruption_budgets import scales
from planner.kubernetes.object_records import (
    Labels,
    LabelSelector,
    Owner,
    PodSpec,
    ReplicaSet,
    ResourceClaim,
    Snapshot,
    Workload,
)
from planner.kubernetes.workload_kinds import POD, kind_called
from planner.rollout.admission import Admission, Refusal
from planner.rollout.claims_from_templates import Claims, gate
from planner.rollout.clock import AFTER_RETRY_MS, QUIET_MS, ROUND_MS, Clock, Controller
from planner.rollout.pods import Pods, unfinished
from planner.rollout.queueing_hints import ClusterEvent
from planner.rollout.scheduling_queue import SchedulingQueue
from planner.rollout.simulation_limits import LIMITS
from planner.rollout.volume_attachments import Attachments
from planner.scheduling.cluster import BoolArray, Cluster, once_at_any_size
from planner.scheduling.filters import Fails
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.scheduler import Attempt, Scheduler
from planner.scheduling.shape import Shape, compile_shape
from planner.scheduling.state import State, filler

_POD_UNITS, _SHAPE_UNITS, _ATTEMPT_UNITS, _NOMINATED_UNITS, _ROUND_UNITS, _SYNC_UNITS = 30, 150, 60, 100, 40, 10
"""Of work (`planner.ground.work_budget`), as measured; a StatefulSet's pods have a shape each."""
_SLEEPS_ON = 0.5  # how often a controller with refused pods doesn't look in a tick in which there is room again


_MADE: Final = re.compile(r"[0-9a-f]{16}")
"""The uid of a pod that a run made; an API server's have 36 characters."""


@once_at_any_size
def _made_before(cluster: Cluster) -> int:
    """What the pods that runs before this one made add to its seed: else it would give its own their names and uids."""
    return sum(int(pod.uid, 16) for pod in cluster.snapshot.pods if len(pod.uid) == 16 and _MADE.fullmatch(pod.uid))


class RunOptions(TypedDict, total=False):
    """How a run is played.

    Attributes
    ----------
    seed : int
        Breaks the scheduler's ties, and the order among equals in what controllers delete.
    never_ready : Callable[[LivePod], bool]
        Pods made during the run for which it holds are bound and never become Ready.
    left_out : bool[line] or None
        Lines of waiting pods that are left where they wait (`planner.rollout.unaffected_pods`).
    is_thorough : bool
        Every waiting pod is tried for itself, by all filters: for tests, which hold the short ways against it.
    backs_off : int
        For how many ticks a refused pod backs off (`planner.rollout.scheduling_queue.SchedulingQueue`).
    tries_again : bool
        Others' pods of the snapshot that wait are tried again meanwhile (there, too).
    draws_order : bool
        Which workload's controllers come first within one round is drawn too: in a real cluster each works by itself.
        Else it is the order in which they began.
    draws_ends : bool
        Which of the pods that start or end in one tick is first is drawn too: their seconds aren't known. Else it is the order
        in which they were bound and deleted, as in the recordings.
    stays : frozenset[int]
        Places of the snapshot's pods that are ending, and don't end: a finalizer, a volume or their kubelet keeps them.
    """

    seed: int
    never_ready: Callable[[LivePod], bool] | None
    left_out: BoolArray | None
    is_thorough: bool
    backs_off: int
    tries_again: bool
    draws_order: bool
    draws_ends: bool
    stays: frozenset[int]


class Simulation:
    """One run of controllers and scheduler over a cluster, played as `RunOptions` says. `own`: pods of the snapshot, of whom it is about.

    Attributes
    ----------
    controllers : by key, those that come first first
    replacement : makes the controller that a preempted pod's owner has, which is played from then on
    held_up : namespace → controllers with pods that a quota refuses: they begin when something of the namespace goes
    refusals : owner's key → the API server's last refusal
    attachments : which nodes have volumes that one node holds at a time, and who waits for them
    choices : times a controller picked among equals
    orders : times several workloads' controllers acted in one round: any of them may be first
    ends : times several pods ended in one tick while pods of several kinds waited for their places: any of them may be first
    is_idle : in the last round no controller did anything, and none can know of anything new
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        seed: int = 0,
        never_ready: Callable[[LivePod], bool] | None = None,
        left_out: BoolArray | None = None,
        is_thorough: bool = False,
        backs_off: int = 0,
        own: frozenset[int] = frozenset(),
        tries_again: bool = False,
        draws_order: bool = False,
        draws_ends: bool = False,
        stays: frozenset[int] = frozenset(),
    ) -> None:
        self.cluster, self.snapshot = cluster, cluster.snapshot
        self.work = current()
        self.units_before = self.work.left
        self.state = State(cluster)
        self.random = Random(seed + _made_before(cluster))
        self._luck = Random(seed) if draws_order else None
        self._ends_luck = Random(seed) if draws_ends else None
        self.scales = dict(self.snapshot.derived.once(scales, self.snapshot))
        self.is_thorough = is_thorough
        self.clock = Clock(self.snapshot.taken_at, self.scales, luck=self._luck, is_thorough=is_thorough)
        self.pods = Pods(
            cluster, self.work, self.scales, hears=self.clock.wake, waits=self._take_up, lacks=self._lacks_volume,
            stays=stays,
        )  # fmt: skip
        self.attachments = Attachments(cluster, self.pods, self.state.volumes, self._luck)
        self.scheduler = Scheduler(self.state, seed + 1, self.pods.below, self.pods.budgets, is_thorough=is_thorough)
        self.queue = SchedulingQueue(
            self.state, self.scheduler, self.pods.by_index, self.pods.live, left_out=left_out, is_thorough=is_thorough,
            backs_off=backs_off, own=own, tries_again=tries_again,
        )  # fmt: skip
        self.admission: Admission = self.snapshot.derived.once(Admission, self.snapshot).fork()
        self.claims = Claims(cluster, self.admission, let_in=self.queue.let_in, freed=self._claims_freed)
        self.never_ready = never_ready or (lambda _: False)
        self.controllers: dict[str, Controller] = {}
        self.replacement: Callable[[LivePod], Controller | None] = lambda _: None
        self.held_up: dict[str, list[Callable[[], Controller]]] = {}
        self._sleeping: dict[str, int] = {}  # namespace → tick in which none of them looks
        self.refusals: dict[str, Refusal] = {}
        self.preempted: list[LivePod] = []
        self.choices = self.orders = self.ends = 0
        self.is_idle = False
        self.taken_off: dict[int, frozenset[str]] = {}  # node → keys of what keeps pods away that it has no more
        self._shapes: dict[tuple[int, int, int], tuple[Shape, Labels, PodSpec, LabelSelector | None]] = {}
        self._events: dict[tuple[Shape, bool], ClusterEvent] = {}
        self._made = 0
        for node in cluster.absent:
            self.state.shut(node)
        for node, bar in cluster.closed:
            self.state.close(node, bar)
        for index in (*self.queue.to_take_up(), *unfinished(cluster)):
            self.pods.live(index)
        self._attach()

    def _take_up(self, pod: LivePod, index: int) -> None:
        """A waiting pod of the snapshot competes from the first moment."""
        gate(pod)
        self.claims.make(pod)
        nominated = self.cluster.node_index.get(self.snapshot.pods[index].nominated_node_name, NOWHERE)
        if nominated != NOWHERE:
            self.scheduler.nominate(pod, nominated)
        self.queue.take_up(pod, index)

    # ── what controllers do ─────────────────────────────────────────────────────────────────────────────────────────
    def create(
        self,
        owner: str,
        namespace: str,
        name: str,
        labels: Labels,
        spec: PodSpec,
        default_selector: LabelSelector | None,
        *,
        is_new: bool,
        ordinal: int = -1,
        revision: str = "",
    ) -> LivePod | None:
        """Make a pod; None when the API server refuses it (`refusals` then says why)."""
        shape = self._shape(namespace, labels, spec, default_selector)
        refusal = self.admission.refusal(namespace, name, shape.spec)
        if refusal:
            self.refusals[owner] = refusal
            return None
        self.refusals.pop(owner, None)
        self.admission.charge(namespace, shape.spec)
        self.foresee_pods(1)
        self.work.spend(_POD_UNITS)
        self._made += 1
        pod = LivePod(
            shape=shape, namespace=namespace, name=name, uid=f"{self.random.getrandbits(64):016x}", owner=owner,
            number=self._made, created_at=self.clock.now, is_new=is_new, ordinal=ordinal, revision=revision,
        )  # fmt: skip
        gate(pod)
        pod.never_ready = self.never_ready(pod)
        self.claims.make(pod)
        self.pods.add(pod)
        self.queue.add(pod)
        return pod

    def make_object(self, owner: str, kind: str, namespace: str, name: str, counted: dict[str, int]) -> bool:
        """Make an object that isn't a pod; whether the API server takes it (`refusals` says why not)."""
        refusal = self.admission.object_refusal(kind, namespace, name, counted)
        if refusal:
            self.refusals[owner] = refusal
            return False
        self.refusals.pop(owner, None)
        self.admission.charge_object(namespace, counted)
        return True

    def _shape(self, namespace: str, labels: Labels, spec: PodSpec, selector: LabelSelector | None) -> Shape:
        """The shape of a new pod as admitted; templates are few, so looked up by identity first."""
        key = (id(labels), id(spec), id(selector))
        cached_shape = self._shapes.get(key)
        if cached_shape is None:
            self.work.spend(_SHAPE_UNITS)
            prepared = self.admission.prepare(namespace, spec, labels)
            shape = compile_shape(self.cluster, namespace, labels, prepared, default_selector=selector)
            cached_shape = self._shapes[key] = (shape, labels, spec, selector)  # the objects are kept, so their ids are
        return cached_shape[0]

    def delete(self, pod: LivePod) -> None:
        """Delete a pod: one that was never bound is gone at once, a bound one terminates until the next tick.

        Source: kubernetes `pkg/registry/core/pod/strategy.go` `CheckGracefulDelete`.
        """
        if pod.is_terminating or pod.is_gone:
            return
        if not pod.is_bound:
            self._forget(pod)
            return
        if self.pods.hangs(pod) and not pod.shape.spec.termination_grace_period_seconds:
            self.vanish(pod)  # the API server waits for no kubelet
            return
        self.queue.changed()
        self.attachments.deleted(pod)
        self.pods.terminate(pod)
        if not pod.is_lost:
            self.state.terminate(pod.shape, pod.node)

    def _forget(self, pod: LivePod) -> None:
        self.queue.changed()
        self.pods.drop(pod)
        self.admission.charge(pod.namespace, pod.shape.spec, -1)
        self._wake_held_up(pod.namespace)
        self.claims.drop(pod)
        if pod.nominated != NOWHERE:
            self._release_nomination(pod)
        if pod.is_bound and not pod.is_lost:
            self.attachments.leave(pod)
            self.queue.happened(self._event(pod.shape, is_removal=True))
            self.state.remove(pod.shape, pod.node, is_terminating=True)
            if pod.devices or pod.shape.uses_devices:
                self.state.devices.leave(pod.shape.devices, pod.uid, pod.devices)

    def tell_of_end(self, shape: Shape) -> None:
        """Who waits hears that a pod of the shape has gone, of those that are counted."""
        self.queue.changed()
        self.queue.happened(self._event(shape, is_removal=True))
        self.schedule()

    def _wake_held_up(self, namespace: str) -> None:
        """Something of the namespace has gone, and with it what a quota counts: controllers with pods that the quota refused may try
        again. No event tells a ReplicaSet so. It tries when its back-off of up to 1,000 s is over, which may be before or
        after others take what is free: with a seed it sometimes sleeps through this tick.

        Source: client-go `util/workqueue/default_rate_limiters.go` `ItemExponentialFailureRateLimiter`.
        """
        if namespace not in self.held_up or self._sleeping.get(namespace) == self.clock.tick:
            return
        if self.draws(_SLEEPS_ON):
            self._sleeping[namespace] = self.clock.tick
            return
        for resume in self.held_up.pop(namespace):
            controller = resume()
            self.controllers.setdefault(controller.key, controller)

    def draws(self, share: float) -> bool:
        """Whether chance has it so, in such a share of the runs that draw an order; in others never."""
        return self._luck is not None and self._luck.random() < share

    # ── what others do ──────────────────────────────────────────────────────────────────────────────────────────────
    def vanish(self, pod: LivePod) -> None:
        """A pod is gone at once: it has ended, or its node has gone."""
        if pod.is_gone:
            return
        if pod.is_bound and not (pod.is_terminating or pod.is_lost):
            self.state.terminate(pod.shape, pod.node)
        self.pods.touched.append(pod)
        self.pods.terminating = [live_pod for live_pod in self.pods.terminating if live_pod is not pod]
        pod.is_terminating = True
        self._forget(pod)

    def ungate(self, pod: LivePod, shape: Shape) -> None:
        """A waiting pod is one of `shape` from now on, which has no scheduling gates."""
        pod.shape, pod.words = shape, None
        gate(pod)
        self.pods.tell(pod)
        if not pod.is_gated:
            self.queue.let_in(pod)

    def rouse(self, about: Shape) -> None:
        """Something other than a pod has changed (nodes, a quota): every waiting pod is tried again, and every controller looks.
        `about`: any shape, since the event has to have one."""
        self.is_idle = False
        self.queue.changed()
        self.queue.happened(ClusterEvent(about, is_removal=True, is_nodes=True))
        self.claims.retry()
        for key in self.controllers:
            self.clock.wake(key)

    def take_new_nodes(self) -> None:
        """Who waits already is tried on nodes that have just come as soon as they do, before anything else."""
        if self.cluster.new_nodes:
            self.rouse(self.cluster.remember(filler))
            self.settle()

    # ── the scheduler's turn ────────────────────────────────────────────────────────────────────────────────────────
    def schedule(self) -> bool:
        """Try every waiting pod that is new or was woken; whether anything came of it.

        Pods that were refused in this very moment are still backing off and come after all others, whatever their
        priority (`SchedulerPopFromBackoffQ`); those refused in an earlier one aren't (`planner.rollout.scheduling_queue`).
        """
        if not self.queue.has_work:
            return False
        did_something = False
        self.queue.begin(self.clock.tick)
        while (pod := self.queue.next()) is not None:
            did_something |= self._try(pod)
        self.queue.end()
        return did_something

    def _try(self, pod: LivePod) -> bool:
        nominated = len(self.scheduler.nominations)
        rivals = _NOMINATED_UNITS * min(nominated, len(pod.shape.candidates))
        self.work.spend(units_of_attempt(pod.shape) + rivals + nominated)
        attempt = self.queue.attempt(pod)
        self.claims.refusals.pop(pod.number, None)
        if attempt.node != NOWHERE:
            refusal = self._bind(pod, attempt.node)
            if refusal is None:
                return True
            self.claims.refusals[pod.number] = refusal
            words = f'running PreBind plugin "DynamicResources": create claim for extended resources: {refusal.message}'
            attempt = Attempt(words=words, refused_by=frozenset((Fails.DEVICE_ERROR,)), is_error=True)
        self.queue.refuse(pod, attempt)
        if attempt.deallocates and self.state.devices.deallocate_unused(pod.shape.devices, pod.uid):
            self.queue.changed()
            self.queue.happened(ClusterEvent(pod.shape, is_removal=False, frees_claim=True))
        if attempt.nominated != NOWHERE:
            return self._preempt(pod, attempt.nominated, attempt.victims)
        if attempt.gives_up and pod.nominated != NOWHERE:
            self.queue.changed()
            self.scheduler.clear_nomination(pod)
        return False

    def _release_nomination(self, pod: LivePod) -> None:
        """A nomination given up makes room for everyone who had to leave it."""
        self.queue.changed()
        self.state.changed.append(pod.nominated)
        self.scheduler.clear_nomination(pod)
        self.queue.happened(ClusterEvent(pod.shape, is_removal=True))

    def _bind(self, pod: LivePod, node: int) -> Refusal | None:
        """Bind the pod, unless a quota refuses the claim made for its extended resources: an error, no refusal of a node.

        Source: kubernetes `plugins/dynamicresources` `PreBind`, `createExtendedResourceClaimInAPI`.
        """
        counted = self.claims.of_devices(pod, node)
        if counted:
            refusal = self.admission.object_refusal("ResourceClaim", pod.namespace, pod.name, counted)
            if refusal:
                return refusal
            self.admission.charge_object(pod.namespace, counted)
        self.queue.changed()
        self.scheduler.bind(pod, node)
        self.queue.happened(self._event(pod.shape, is_removal=False))
        pod.started_at = self.clock.now
        pod.words = None
        self.pods.tell(pod)
        self.pods.bind(pod, node)
        return None

    def _claims_freed(self, pod: LivePod) -> None:
        self.queue.happened(ClusterEvent(pod.shape, is_removal=False, frees_claim=True))

    def _event(self, shape: Shape, *, is_removal: bool) -> ClusterEvent:
        """One for all pods of the shape that are bound, or gone."""
        event = self._events.get((shape, is_removal))
        if event is None:
            event = self._events[shape, is_removal] = ClusterEvent(shape, is_removal=is_removal)
        return event

    def _lacks_volume(self, pod: LivePod) -> bool:
        return self.attachments.begin(pod)

    def _attach(self) -> None:
        """The attach-detach controller's turn: pods start that have their volumes now."""
        for pod in self.attachments.settle():
            self.pods.let_start(pod)

    def _preempt(self, pod: LivePod, node: int, victims: Iterable[LivePod]) -> bool:
        was = pod.nominated
        self.queue.changed()
        self.scheduler.nominate(pod, node)
        for rival in [p for p in self.scheduler.nominations.on(node) if p.priority < pod.priority]:
            self._release_nomination(rival)
            self.queue.move_up(rival)
        did_something = was != node
        for victim in victims:
            if victim.is_terminating:
                continue
            victim.preempted = True
            self.preempted.append(victim)
            self.delete(victim)
            did_something = True
            controller = self.replacement(victim)
            if controller is not None:
                self.controllers.setdefault(controller.key, controller)
        return did_something

    # ── what it has come to ─────────────────────────────────────────────────────────────────────────────────────────
    def snapshot_now(self) -> Snapshot:
        """The snapshot as controllers and kube-scheduler have left it, at the moment that it has come to: pods, what makes them and says
        so, what quotas count. What is asked of it next is asked of a cluster that there can be: a Deployment that was scaled, say, has
        written its replicas into its ReplicaSets' annotations.
        """
        snapshot, written = self.snapshot, dict[str, Workload | ReplicaSet]()
        for controller in self.controllers.values():
            written.update({record.key: record for record in controller.objects(self)})
        makers = {pod.owner.key(pod.namespace): pod.owner for pod in snapshot.pods if pod.owner}
        for key, controlled in written.items():
            makers.setdefault(
                key,
                Owner(
                    kind=controlled.kind,
                    name=controlled.name,
                    uid=controlled.uid,
                    api_group=kind_called(controlled.kind).group,
                ),
            )
        sets = {record.key: record for record in written.values() if isinstance(record, ReplicaSet)}
        workloads = {record.key: record for record in written.values() if isinstance(record, Workload)}
        parts = (snapshot.workloads, snapshot.others, snapshot.made)
        own, others, generated = (tuple(workloads.pop(workload.key, workload) for workload in part) for part in parts)
        pods, quotas = self.pods.pods_now(makers), self.admission.quotas_now()
        return replace(
            snapshot, taken_at=self.clock.now, pods=pods, others=others,
            workloads=own + tuple(workload for workload in workloads.values() if workload.owner is None),
            made=generated + tuple(workload for workload in workloads.values() if workload.owner is not None),
            replica_sets=tuple(sets.pop(record.key, record) for record in snapshot.replica_sets) + tuple(sets.values()),
            resource_quotas=tuple(quotas[quota.namespace, quota.name] for quota in snapshot.resource_quotas),
            resource_claims=self._claims_now({pod.uid for pod in pods}),
        )  # fmt: skip

    def _claims_now(self, uids: Container[str]) -> tuple[ResourceClaim, ...]:
        """ResourceClaims without those of pods that are gone, and with those of pods that were placed: what devices they have."""
        remaining_claims = (
            claim for claim in self.snapshot.resource_claims if claim.owner is None or claim.owner.uid in uids
        )
        table_by_pod = self.state.devices.table.by_pod
        placed = (pod for pod in self.queue.arrivals if pod.devices and pod.uid in uids and pod.uid not in table_by_pod)
        return (*remaining_claims, *map(self._claim_of, placed))

    def _claim_of(self, pod: LivePod) -> ResourceClaim:
        table = self.state.devices.table
        devices = [table.devices[place] for place, _ in pod.devices]
        return ResourceClaim(
            namespace=pod.namespace, name=f"{pod.name}-devices", owner=Owner(kind=POD.name, name=pod.name, uid=pod.uid),
            is_allocated=True, allocated=tuple((part.driver, part.pool, device.name) for part, device in devices),
            consumed=tuple(amounts for _, amounts in pod.devices), reserved_for=(pod.uid,),
        )  # fmt: skip

    def foresee_pods(self, count: int) -> None:
        """Ends the run as too large before `count` pods are made, where that is more than it may make or has work left for."""
        if self._made + count > LIMITS.pods_made:
            raise too_large()
        self.work.foresee(count * _POD_UNITS)

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def round(self) -> bool:
        """About the time of one request; whether anything was done.

        Every controller does about one request's worth of work, Deployments before what they own (a ReplicaSet just
        made included); the scheduler, quicker than they, empties its queue before and after. Controllers see what
        others wrote in earlier rounds: that is how pods of several rollouts come to be made in turns.
        """
        self.clock.ms += ROUND_MS
        self.work.spend(_ROUND_UNITS)
        busy = self.schedule()
        waiting = self.clock.awake(self.controllers)
        workloads = set[str]()  # of the controllers that did something
        while waiting:
            done = len(self.controllers)
            self.work.spend(_SYNC_UNITS * len(waiting))
            for controller in waiting:
                did_something = controller.sync(self)
                if did_something:
                    busy = True
                    workloads.add(self.clock.workload_of(controller.key))
                is_refused = controller.key in self.refusals
                if did_something or is_refused or self.clock.retrying or controller.retry_at is not None:
                    self.clock.looked(controller, did_something=did_something, is_refused=is_refused)
            has_new_makers = len(self.controllers) > done  # meanwhile
            waiting = list(islice(self.controllers.values(), done, None)) if has_new_makers else []
        self.orders += len(workloads) > 1
        busy = self.schedule() or busy
        self.is_idle = not busy
        return busy

    def _pass_by(self, pod: LivePod) -> None:
        """Lets the time of a round go by after `pod` changed. Only its controller hears of that: where it isn't played, no
        controller has work and no retry is due, the round would do nothing, and is left out."""
        retry = self.clock.next_retry if self.is_idle else None
        if not self.is_idle or pod.owner in self.controllers or self.queue.has_work or retry is not None:
            self.round()
        else:
            self.clock.ms += ROUND_MS

    def settle(self, quiet_ms: float = QUIET_MS) -> None:
        """Rounds until no controller has done anything for `quiet_ms`; delayed retries that fall into it are made. Then volumes are
        attached, not heard of before a pod is Ready."""
        since = self.clock.ms
        for _ in range(LIMITS.rounds):
            if self.round():
                since = self.clock.ms
                continue
            retry = self.clock.next_retry
            if retry is None or retry > since + quiet_ms:
                self.clock.ms = max(self.clock.ms, since + quiet_ms)
                self._attach()
                return
            self.clock.ms = retry
        raise AssertionError("controllers and scheduler never come to rest")

    def wait(self, most_ms: float) -> float:
        """Nothing moves any more but for controllers that try again, later each time, after the API server refused them a pod.

        Lets time go by, in ms, until one of these retries makes something move; the time that took. 0 where none does
        within `most_ms` of the last that did anything.
        """
        begun = since = self.clock.ms
        while not self.is_moving:
            if self.round():
                since = self.clock.ms
                continue
            self._attach()  # what a retry made may be bound by now, and wait for nothing but its volume
            if self._is_moving():
                break
            retry = self.clock.next_retry
            if retry is None or retry > since + most_ms:
                return 0.0
            self.clock.ms = retry
        waited = self.clock.ms - begun
        self.settle(AFTER_RETRY_MS)
        return waited

    @property
    def is_moving(self) -> bool:
        """Whether waiting changes anything: a pod is starting, terminating, or Ready and not yet available."""
        return self._is_moving()

    def _is_moving(self) -> bool:  # a method: mypy takes a property for as it was before another call
        return bool(self.pods.starting or self.pods.terminating or self.pods.maturing)

    def tick(self) -> None:
        """Every starting pod becomes Ready, every terminating pod is gone: one request after another, a round each.

        Then pods become available that were Ready before.
        """
        self._attach()
        self.clock.tick += 1
        self.clock.now += 1.0
        self.is_idle = False
        late, mature = self.pods.ripe()
        # The API server deletes a pod with a grace period of 0 in the request itself: where only such pods end, no time passes, and no
        # refused pod's back-off ends meanwhile.
        ends = [p.shape.spec.termination_grace_period_seconds for p in self.pods.terminating]
        if self.pods.starting or mature or late or not ends or any(ends):
            self.queue.time_passes()
        for pod in late:
            self._mature(pod)
        starting, self.pods.starting = self.pods.starting, []
        terminated_pods, self.pods.terminating = self.pods.terminating, []
        rivals = self.queue.kinds_for({pod.node for pod in terminated_pods}) if len(terminated_pods) > 1 else set()
        arrived = len(self.queue.arrivals)
        if self._ends_luck is not None:
            self._ends_luck.shuffle(starting)
            self._ends_luck.shuffle(terminated_pods)
        for pod in starting:
            if not pod.is_terminating and not pod.is_gone:
                pod.is_ready = pod.is_running = True
                pod.ready_at = self.clock.now
                owner = self.controllers.get(pod.owner)
                if owner is not None and owner.min_ready_seconds:
                    self.pods.let_mature(pod)
                self.pods.tell(pod)
                self._pass_by(pod)
        for pod in terminated_pods:
            self._forget(pod)
            self.round()
        # Several pods ended in one tick, and pods of several kinds wait for their places: which of them ended first may
        # decide which pod gets a place.
        if len(terminated_pods) > 1 and len(rivals.union(pod.shape for pod in self.queue.arrivals[arrived:])) > 1:
            self.ends += 1
        for pod in mature:
            self._mature(pod)

    def _mature(self, pod: LivePod) -> None:
        pod.is_maturing = False
        if not (pod.is_terminating or pod.is_gone):
            self.pods.tell(pod)
            self.round()


def units_of_attempt(shape: Shape) -> int:
    """Of work (`planner.ground.work_budget`): kube-scheduler's look for a node of one pod."""
    return _ATTEMPT_UNITS + len(shape.candidates) // 20
