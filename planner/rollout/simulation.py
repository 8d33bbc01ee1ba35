"""A cluster in motion: controllers and scheduler take turns until nothing is left to do, then a tick passes.

In one tick every bound pod that isn't Ready becomes Ready and every terminating pod is gone; between ticks controllers
and scheduler work until they have nothing left to do. Start-up and termination thus both last one tick;
`planner.rollout.timing` turns ticks into seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Protocol

from planner.kubernetes.kinds import kind_called
from planner.kubernetes.records import Labels, LabelSelector, Pod, PodSpec, Snapshot
from planner.kubernetes.selectors import labels_match
from planner.kubernetes.shares import scaled_value
from planner.rollout.admission import Admission, Refusal
from planner.rollout.ownership import pods_by_node, pods_by_owner
from planner.rollout.queueing_hints import Event
from planner.scheduling.cluster import Cluster
from planner.scheduling.devices import device_table
from planner.scheduling.pod import DEFAULT_SCHEDULER, GATED, NOWHERE, LivePod
from planner.scheduling.scheduler import Attempt, Budget, Scheduler
from planner.scheduling.shape import Shape, compile_shape
from planner.scheduling.state import State
from planner.vocabulary import POD_DELETION_COST, is_extended_resource

# The recorder's clock (tests/conformance/README.md). Only retries that the API server's refusals have delayed depend on
# it; a wide range around each number gives the same outcomes.
_ROUND_MS = 6.0  # one request
QUIET_MS = 900.0  # nothing done for so long: a quiet moment
STUCK_MS = 5_400.0  # nothing to wait for, and nothing done for so much longer: stuck
_MOST_ROUNDS = 100_000  # of controllers and scheduler within one moment; reached only by a bug


class Controller(Protocol):
    """Something that makes and deletes pods: all that the engine asks of it.

    Attributes
    ----------
    key : the owner of the pods it makes, as their `LivePod.owner` says it; none have a Deployment's
    replicas : its scale as disruption budgets see it; None: it has none, and its pods are counted
    retry_at : on the simulation's clock, when it tries again by itself; None: it waits for something to happen
    """

    key: str

    @property
    def replicas(self) -> int | None: ...

    @property
    def retry_at(self) -> float | None: ...

    def sync(self, simulation: Simulation) -> bool:
        """Do what can be done now; whether anything was."""
        ...


class RolloutController(Controller, Protocol):
    """The controller of a workload that is changed."""

    def owners(self) -> tuple[str, ...]:
        """Who owns its pods, as their `LivePod.owner` says it: itself, or what it makes them through."""
        ...

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        """Its pods that aren't gone, terminating ones included."""
        ...

    def is_terminating(self, simulation: Simulation) -> bool: ...

    def is_complete(self, simulation: Simulation) -> bool:
        """As ``kubectl rollout status`` sees it."""
        ...

    def status(self, simulation: Simulation) -> dict[str, int]:
        """The numbers of its ``status``, by the API's field names."""
        ...


class Simulation:
    """One run of controllers and scheduler over a cluster.

    Parameters
    ----------
    cluster : Cluster
    seed : int
        Breaks the scheduler's ties, and the order among equals in what controllers delete.
    never_ready : Callable[[LivePod], bool]
        Pods made during the run for which it holds are bound and never become Ready.
    """

    def __init__(
        self, cluster: Cluster, *, seed: int = 0, never_ready: Callable[[LivePod], bool] | None = None
    ) -> None:
        self.cluster = cluster
        self.snapshot: Snapshot = cluster.snapshot
        self.state = State(cluster)
        self.random = Random(seed)
        self.scheduler = Scheduler(self.state, seed + 1, self.pods_on, self.budgets)
        self.admission = Admission(self.snapshot)
        self.never_ready = never_ready or (lambda _: False)
        self.now = self.snapshot.taken_at
        self.tick_number = -1
        self.clock_ms = 0.0
        self.controllers: dict[str, Controller] = {}
        self.pods: dict[str, list[LivePod]] = {}  # by owner's key, until they are gone
        self.queue: list[LivePod] = []
        self.starting: list[LivePod] = []
        self.terminating: list[LivePod] = []
        self.refusals: dict[str, Refusal] = {}  # owner's key → the API server's last refusal
        self.preempted: list[LivePod] = []
        self.attached_twice: list[tuple[str, LivePod, LivePod]] = []  # claim, pod that has it, pod that can't get it
        self.choices = 0  # times a controller picked among equals
        self.touched: list[LivePod] = []  # pods deleted or bound
        self.ever_waiting: list[LivePod] = []
        self.news: list[LivePod] = []  # pods in the order in which something happened to them
        self._shapes: dict[tuple[int, int, int], tuple[Shape, Labels, PodSpec, LabelSelector | None]] = {}
        self._taken_up: set[str] = set()  # uids of owners all of whose pods are in motion
        self._live: dict[int, LivePod] = {}  # index in the snapshot → the pod in motion
        self._on_node: dict[int, dict[int, LivePod]] = {}
        self._made = 0
        self._clock = 0  # order in the scheduling queue
        self._events: list[Event] = []  # what may make a waiting pod fit, in order
        self._version = 0  # changes of what the scheduler sees
        self._failed: dict[int, tuple[int, Attempt]] = {}  # id of a shape → version and attempt of its last failure
        self._woken: dict[tuple[int, frozenset[int], int], bool] = {}  # (shape, refusals, event) → whether it wakes
        self.replacement: Callable[[LivePod], Controller | None] = lambda _: None
        self._take_up_unfinished()

    # ── pods of the snapshot ────────────────────────────────────────────────────────────────────────────────────────
    def _take_up_unfinished(self) -> None:
        """Pods that wait compete, pods that start become Ready, pods that terminate go: all from the first moment."""
        for index in sorted(self.cluster.waiting, key=lambda i: self.snapshot.pods[i].created_at or 0.0):
            self.live(index)
        unfinished = self.cluster.remember(
            "unfinished",
            lambda: [
                i
                for group in self.cluster.groups
                for i in group.pods
                if group.is_terminating or not self.snapshot.pods[i].is_ready
            ],
        )
        for index in unfinished:
            self.live(index)

    def live(self, index: int) -> LivePod:
        """The snapshot's pod `index` as a pod in motion."""
        found = self._live.get(index)
        if found is not None:
            return found
        pod = self.snapshot.pods[index]
        shape = compile_shape(self.cluster, pod.namespace, pod.labels, pod.spec, default_selector=None)
        live = LivePod(
            shape=shape,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            owner=pod.owner.key(pod.namespace) if pod.owner else "",
            number=index - len(self.snapshot.pods),
            created_at=pod.created_at or 0.0,
            node=self.cluster.node_index.get(pod.node_name, NOWHERE) if pod.node_name else NOWHERE,
            is_ready=pod.is_ready,
            is_terminating=pod.deleted_at is not None,
            is_running=pod.phase == "Running",
            words=pod.unschedulable_message or None,
            ready_at=pod.ready_at or 0.0,
            started_at=pod.started_at or pod.created_at or 0.0,
            restarts=max((c.restart_count for c in pod.containers), default=0),
            deletion_cost=_integer(pod.annotations.get(POD_DELETION_COST, "0")),
            revision=pod.labels.get("controller-revision-hash", ""),
            ordinal=_ordinal(pod),
            devices=device_table(self.cluster).by_pod.get(pod.uid, ()),
        )
        self._live[index] = live
        self.pods.setdefault(live.owner, []).append(live)
        self.news.append(live)
        if live.is_bound:
            self._on_node.setdefault(live.node, {})[live.number] = live
            if live.is_terminating:
                self.terminating.append(live)
            elif not live.is_ready:
                # A pod that was failing when the snapshot was taken isn't expected to recover by waiting.
                live.never_ready = _is_failing(pod)
                if not live.never_ready:
                    self.starting.append(live)
        elif not live.is_terminating:
            self._gate(live)
            nominated = self.cluster.node_index.get(pod.nominated_node_name, NOWHERE)
            if nominated != NOWHERE:
                self.scheduler.nominate(live, nominated)
            self._enqueue(live)
            if live.words is not None and not live.is_gated:  # it was tried on this very cluster
                live.refused_by = self.scheduler.refusals(live)
                live.seen_events = 0
        return live

    def pods_of(self, owner_key: str, uid: str) -> list[LivePod]:
        """All pods of an owner, the snapshot's included, that aren't gone."""
        if uid not in self._taken_up:
            self._taken_up.add(uid)
            for index in pods_by_owner(self.cluster).get(uid, ()):
                self.live(index)
        return self.pods.setdefault(owner_key, [])

    def pods_on(self, node: int) -> list[LivePod]:
        """Pods bound to a node, terminating ones included."""
        for index in pods_by_node(self.cluster).get(node, ()):
            if index not in self._live:
                self.live(index)
        return [p for p in self._on_node.get(node, {}).values() if not p.is_gone]

    def budgets(self) -> list[Budget]:
        """Disruption budgets as the disruption controller would have them now."""
        return [
            Budget(namespace=b.namespace, selector=b.selector, allowed=self._disruptions_allowed(b.namespace, b.selector, b.min_available, b.max_unavailable))
            for b in self.snapshot.pod_disruption_budgets
        ]  # fmt: skip

    def _disruptions_allowed(
        self, namespace: str, selector: LabelSelector | None, low: int | str | None, high: int | str | None
    ) -> int:
        """Source: kubernetes `pkg/controller/disruption/disruption.go` `getExpectedPodCount`, `countHealthyPods`."""
        covered = [p for p in self.pods_in(namespace) if labels_match(selector, p.shape.labels)]
        healthy = sum(1 for p in covered if p.is_ready and not p.is_terminating)
        if high is not None or isinstance(low, str):
            owners = {p.owner for p in covered}
            expected = sum(self._scale_of(owner, covered) for owner in owners)
        else:
            expected = len(covered)
        if high is not None:
            desired = expected - scaled_value(high, expected, round_up=True)
        else:
            desired = scaled_value(low, expected, round_up=True)
        return max(0, healthy - max(0, desired)) if expected > 0 else 0

    def _scale_of(self, owner: str, covered: list[LivePod]) -> int:
        controller = self.controllers.get(owner)
        if controller is not None and controller.replicas is not None:
            return controller.replicas
        return sum(1 for p in covered if p.owner == owner and not p.is_terminating)

    def pods_in(self, namespace: str) -> list[LivePod]:
        """All pods of a namespace that aren't gone, terminating ones included."""
        in_namespace = self.cluster.remember(
            ("pods-in", namespace),
            lambda: [
                i
                for i, p in enumerate(self.snapshot.pods)
                if p.namespace == namespace and p.phase not in ("Succeeded", "Failed")
            ],
        )
        for index in in_namespace:
            self.live(index)
        return [p for owned in self.pods.values() for p in owned if p.namespace == namespace and not p.is_gone]

    def snapshot_now(self) -> Snapshot:
        """The snapshot as the run has left it: pods gone, made and bound; pods that terminate are gone too."""
        kept = []
        for index, pod in enumerate(self.snapshot.pods):
            live = self._live.get(index)
            if live is None:
                kept.append(pod)
            elif not (live.is_gone or live.is_terminating):
                kept.append(self._as_it_is_now(pod, live))
        owners = {p.owner.key(p.namespace): p.owner for p in self.snapshot.pods if p.owner}
        made = [
            p for owned in self.pods.values() for p in owned if p.number > 0 and not (p.is_gone or p.is_terminating)
        ]
        for live in sorted(made, key=lambda p: p.number):
            blank = Pod(
                namespace=live.namespace, name=live.name, uid=live.uid, labels=live.shape.labels, spec=live.shape.spec,
                owner=owners.get(live.owner), created_at=live.created_at,
            )  # fmt: skip
            kept.append(self._as_it_is_now(blank, live))
        return replace(self.snapshot, pods=tuple(kept))

    def _as_it_is_now(self, pod: Pod, live: LivePod) -> Pod:
        if not live.is_bound:
            return replace(pod, unschedulable_message=live.message or "")
        if pod.node_name:
            return pod
        return replace(
            pod,
            node_name=self.cluster.node_names[live.node],
            nominated_node_name="",
            phase="Running" if live.is_running else "Pending",
            is_ready=live.is_ready,
            unschedulable_message="",
        )

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
        self._made += 1
        pod = LivePod(
            shape=shape,
            namespace=namespace,
            name=name,
            uid=f"{self.random.getrandbits(64):016x}",
            owner=owner,
            number=self._made,
            created_at=self.now,
            is_new=is_new,
            ordinal=ordinal,
            revision=revision,
        )
        self._gate(pod)
        pod.never_ready = self.never_ready(pod)
        self.pods.setdefault(owner, []).append(pod)
        self.news.append(pod)
        self._enqueue(pod)
        return pod

    def _shape(self, namespace: str, labels: Labels, spec: PodSpec, selector: LabelSelector | None) -> Shape:
        """The shape of a new pod as admitted; templates are few, so looked up by identity first."""
        key = (id(labels), id(spec), id(selector))
        known = self._shapes.get(key)
        if known is None:
            prepared = self.admission.prepare(namespace, spec)
            shape = compile_shape(self.cluster, namespace, labels, prepared, default_selector=selector)
            known = self._shapes[key] = (shape, labels, spec, selector)  # the objects are kept, so their ids are
        return known[0]

    def _gate(self, pod: LivePod) -> None:
        """Pods that kube-scheduler never tries (`PreEnqueue` of SchedulingGates and DynamicResources)."""
        spec = pod.shape.spec
        is_others = spec.scheduler_name != DEFAULT_SCHEDULER
        pod.is_gated = bool(spec.scheduling_gates) or is_others or bool(self._missing(pod.shape))
        if spec.scheduling_gates:
            pod.words = GATED

    def _missing(self, shape: Shape) -> str:
        return shape.devices.missing

    def delete(self, pod: LivePod) -> None:
        """Delete a pod: one that was never bound is gone at once, a bound one terminates until the next tick."""
        if pod.is_terminating or pod.is_gone:
            return
        if not pod.is_bound:
            self._forget(pod)
            return
        self._version += 1
        pod.is_terminating = True
        self.news.append(pod)
        self.touched.append(pod)
        self.state.terminate(pod.shape, pod.node)
        self.terminating.append(pod)

    def _forget(self, pod: LivePod) -> None:
        self._version += 1
        pod.is_gone = True
        self.news.append(pod)
        self.pods[pod.owner].remove(pod)
        self.admission.charge(pod.namespace, pod.shape.spec, -1)
        if pod.nominated != NOWHERE:
            self._release_nomination(pod)
        if pod.is_bound:
            self._events.append(Event(pod.shape, is_removal=True))
            self.state.remove(pod.shape, pod.node, is_terminating=True)
            if pod.devices or pod.shape.uses_devices:
                self.state.devices.leave(pod.shape.devices, pod.uid, pod.devices)
            self._on_node.get(pod.node, {}).pop(pod.number, None)

    def _enqueue(self, pod: LivePod) -> None:
        self._clock += 1
        pod.queued_at = self._clock
        self.queue.append(pod)
        self.ever_waiting.append(pod)

    # ── the scheduler's turn ────────────────────────────────────────────────────────────────────────────────────────
    def schedule(self) -> bool:
        """Try every waiting pod that is new or was woken; whether anything came of it.

        Pods that failed a moment ago are still backing off and come after all others, whatever their priority
        (`SchedulerPopFromBackoffQ`). Source: kubernetes `pkg/scheduler/backend/queue/scheduling_queue.go`.
        """
        did_something = False
        ready = self._ready_to_try()
        while ready:
            version = self._version
            did_something |= self._try(ready.pop())
            if self._version != version:
                ready = self._ready_to_try()
        self.queue = [p for p in self.queue if not p.is_gone and not p.is_bound]
        return did_something

    def _ready_to_try(self) -> list[LivePod]:
        """Waiting pods to try now, the first of them last."""
        ready = [p for p in self.queue if not p.is_gone and not p.is_bound and not p.is_gated and self._is_woken(p)]
        ready.sort(key=lambda p: (p.failed_tick >= self.tick_number - 1, -p.priority, p.queued_at), reverse=True)
        return ready

    def _try(self, pod: LivePod) -> bool:
        failed = self._failed.get(id(pod.shape))
        if failed is not None and failed[0] == self._version and pod.nominated == NOWHERE:
            attempt = failed[1]  # nothing changed since one like it failed
        else:
            attempt = self.scheduler.attempt(pod)
        if attempt.node != NOWHERE:
            self._bind(pod, attempt.node)
            return True
        pod.words = attempt.words
        pod.refused_by = attempt.refused_by
        pod.failed_tick = self.tick_number
        self._clock += 1
        pod.queued_at = self._clock
        pod.seen_events = len(self._events)
        if attempt.is_error:
            pod.seen_events = -1
        if attempt.deallocates:
            self.state.devices.deallocate_unused(pod.shape.devices, pod.uid)
            self._version += 1
            pod.seen_events = -1
        if attempt.nominated != NOWHERE:
            return self._preempt(pod, attempt.nominated, attempt.victims)
        if attempt.gives_up and pod.nominated != NOWHERE:
            self._version += 1
            self.scheduler.clear_nomination(pod)
        if pod.nominated == NOWHERE:
            self._failed[id(pod.shape)] = (self._version, attempt)
        return False

    def _is_woken(self, pod: LivePod) -> bool:
        """Whether a pod was never tried, or something happened that its refusals hoped for (queueing hints)."""
        if pod.words is None or pod.seen_events < 0:
            return True
        for number in range(pod.seen_events, len(self._events)):
            key = (id(pod.shape), pod.refused_by, number)
            wakes = self._woken.get(key)
            if wakes is None:
                wakes = self._woken[key] = self._events[number].wakes(self.cluster, pod)
            if wakes:
                return True
            pod.seen_events = number + 1
        return False

    def _release_nomination(self, pod: LivePod) -> None:
        """A nomination given up makes room for everyone who had to leave it."""
        self._version += 1
        self.scheduler.clear_nomination(pod)
        self._events.append(Event(pod.shape, is_removal=True))

    def _bind(self, pod: LivePod, node: int) -> None:
        self._version += 1
        self._note_attached(pod, node)
        self.scheduler.bind(pod, node)
        self._events.append(Event(pod.shape, is_removal=False))
        pod.started_at = self.now
        pod.words = None
        self.news.append(pod)
        self._on_node.setdefault(node, {})[pod.number] = pod
        if not pod.never_ready:
            self.starting.append(pod)

    def _note_attached(self, pod: LivePod, node: int) -> None:
        """kube-scheduler lets a pod go where a ReadWriteOnce volume can't follow, since another node has it attached:
        such a pod waits in ContainerCreating as long as the other one runs (attach-detach controller, `Multi-Attach`)."""
        for claim in pod.shape.storage.single_node:
            for other in self.pods_in(pod.namespace):
                elsewhere = other.is_bound and other.node != node and not other.is_terminating
                if elsewhere and claim in other.shape.storage.single_node:
                    self.attached_twice.append((claim[1], other, pod))
                    break

    def _preempt(self, pod: LivePod, node: int, victims: Iterable[LivePod]) -> bool:
        was = pod.nominated
        self._version += 1
        self.scheduler.nominate(pod, node)
        for rival in [p for p in self.scheduler.nominations if p.nominated == node and p.priority < pod.priority]:
            self._release_nomination(rival)
            rival.seen_events = -1  # moved to the active queue
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

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def round(self) -> bool:
        """About the time of one request; whether anything was done.

        Every controller does about one request's worth of work, Deployments before what they own (a ReplicaSet just
        made included); the scheduler, quicker than they, empties its queue before and after. Controllers see what
        others wrote in earlier rounds: that is how pods of several rollouts come to be made in turns.
        """
        self.clock_ms += _ROUND_MS
        busy = self.schedule() if self.queue else False
        done: set[str] = set()
        while waiting := [c for key, c in self.controllers.items() if key not in done]:
            for controller in waiting:
                done.add(controller.key)
                busy |= controller.sync(self)
        return (self.schedule() if self.queue else False) or busy

    def settle(self, quiet_ms: float = QUIET_MS) -> None:
        """Rounds until nobody has done anything for `quiet_ms`; delayed retries that fall into it are made."""
        since = self.clock_ms
        for _ in range(_MOST_ROUNDS):
            if self.round():
                since = self.clock_ms
                continue
            retry = self._next_retry()
            if retry is None or retry > since + quiet_ms:
                self.clock_ms = max(self.clock_ms, since + quiet_ms)
                return
            self.clock_ms = retry
        raise AssertionError("controllers and scheduler never come to rest")

    def _next_retry(self) -> float | None:
        """When the next delayed retry is due, if a controller waits for one."""
        dues = (controller.retry_at for controller in self.controllers.values())
        return min((due for due in dues if due is not None and due > self.clock_ms), default=None)

    @property
    def is_moving(self) -> bool:
        """Whether waiting changes anything: a pod is starting or terminating."""
        return bool(self.starting or self.terminating)

    def tick(self) -> None:
        """Every starting pod becomes Ready, every terminating pod is gone: one request after another, a round each."""
        self.tick_number += 1
        self.now += 1.0
        starting, self.starting = self.starting, []
        gone, self.terminating = self.terminating, []
        for pod in starting:
            if not pod.is_terminating and not pod.is_gone:
                pod.is_ready = pod.is_running = True
                pod.ready_at = self.now
                pod.ready_tick = self.tick_number
                self.news.append(pod)
                self.round()
        for pod in gone:
            self._forget(pod)
            self.round()

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def held(self) -> dict[str, int]:
        """Extended resources held by bound pods of the whole cluster, terminating ones included."""
        held = self.state.held
        return {name: int(held[row]) for name, row in self._extended_rows()}

    def _extended_rows(self) -> list[tuple[str, int]]:
        return self.cluster.remember(
            "extended-rows", lambda: [(n, row) for n, row in self.cluster.row.items() if is_extended_resource(n)]
        )

    def extended(self, shape: Shape) -> list[tuple[str, int]]:
        def ask() -> list[tuple[str, int]]:
            names = self.cluster.resources
            return [(names[row], amount) for row, amount in shape.asks if is_extended_resource(names[row])]

        return self.cluster.remember(("extended", id(shape)), ask)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _ordinal(pod: Pod) -> int:
    if pod.owner is None or not kind_called(pod.owner.kind).has_ordinals:
        return -1
    return _integer(pod.name.rpartition("-")[2])


def _is_failing(pod: Pod) -> bool:
    """A container that waits in a failure, or was restarted and still isn't ready."""
    return any(
        (c.state == "waiting" and c.reason not in ("", "ContainerCreating", "PodInitializing")) or c.restart_count > 2
        for c in pod.containers
    )
