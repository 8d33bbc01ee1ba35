"""A cluster in motion: controllers and scheduler take turns until nothing is left to do, then a tick passes.

In one tick every bound pod that isn't Ready becomes Ready and every terminating pod is gone; between ticks controllers
and scheduler work until they have nothing left to do. Start-up and termination thus both last one tick, and so does
``minReadySeconds``: a pod is available at the end of the tick after the one in which it got Ready.
`planner.rollout.timing` turns ticks into seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import chain, islice
from random import Random
from typing import Protocol, runtime_checkable

from planner.ground.budget import current, too_large
from planner.ground.vocabulary import CONTROLLER_REVISION_HASH, POD_DELETION_COST, is_extended_resource
from planner.kubernetes.accelerators import alike
from planner.kubernetes.budgets import BudgetStatus, Covered, covers, scales, status
from planner.kubernetes.derived import Same
from planner.kubernetes.kinds import kind_called, kind_in
from planner.kubernetes.records import (
    Labels,
    LabelSelector,
    Pod,
    PodDisruptionBudget,
    PodSpec,
    ReplicaSet,
    Snapshot,
    Workload,
)
from planner.rollout.admission import Admission, Refusal, claim_usage, usage, volume_claim_usage
from planner.rollout.ownership import is_starting, pods_below, pods_by_node, pods_by_owner
from planner.rollout.queue import SchedulingQueue, Waiter, resting
from planner.rollout.queueing_hints import Event
from planner.rollout.tally import Tally
from planner.scheduling.cluster import BoolArray, Cluster
from planner.scheduling.devices import device_table
from planner.scheduling.filters import Fails
from planner.scheduling.pod import DEFAULT_SCHEDULER, GATED, NOWHERE, LivePod
from planner.scheduling.scheduler import Attempt, Budget, Scheduler
from planner.scheduling.shape import Shape, compile_shape
from planner.scheduling.state import State
from planner.scheduling.storage import claims_by_key

# The recorder's clock (tests/conformance/README.md). Only retries that the API server's refusals have delayed depend on
# it; a wide range around each number gives the same outcomes.
_ROUND_MS = 6.0  # one request
QUIET_MS = 900.0  # nothing done for so long: a quiet moment
STUCK_MS = 5_400.0  # nothing to wait for, and nothing done for so much longer: stuck
_POD_UNITS, _SHAPE_UNITS, _ATTEMPT_UNITS, _NOMINATED_UNITS, _ROUND_UNITS, _SYNC_UNITS = 30, 150, 60, 100, 40, 10
"""Of work (`planner.ground.budget`), as measured; a StatefulSet's pods have a shape each."""
_MOST_MADE = 500_000  # pods of one run: about half a GB of memory
_SLEEPS_ON = 0.5  # how often those whose pods were refused don't look in a tick in which there is room again
_MOST_ROUNDS = 100_000  # of controllers and scheduler within one moment; reached only by a bug


class Controller(Protocol):
    """Something that makes and deletes pods: all that the engine asks of it.

    Attributes
    ----------
    key : the owner of the pods it makes, as their `LivePod.owner` says it; none have a Deployment's
    min_ready_seconds : how long its pods are to be Ready before they are available
    retry_at : on the simulation's clock, when it tries again by itself; None: it waits for something to happen
    """

    key: str

    @property
    def min_ready_seconds(self) -> int: ...

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


@runtime_checkable
class ScaledController(Protocol):
    """The controller of a workload whose replicas an autoscaler may set."""

    key: str
    replicas: int

    def scale(self, simulation: Simulation, replicas: int) -> None:
        """Somebody writes the workload's replicas."""
        ...


@dataclass(slots=True, eq=False)
class _Families:
    """Controllers by the workload that they work for: what one of them does is for the others to see."""

    of: dict[str, Controller] | None = None
    count: int = 0
    members: dict[str, list[tuple[int, Controller]]] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    awake: set[str] = field(default_factory=set)
    due: list[tuple[float, str]] = field(default_factory=list)  # a heap: when a controller tries again by itself


def _place(one: tuple[int, Controller]) -> int:
    return one[0]


class Simulation:
    """One run of controllers and scheduler over a cluster.

    Parameters
    ----------
    cluster : Cluster
    seed : int
        Breaks the scheduler's ties, and the order among equals in what controllers delete.
    never_ready : Callable[[LivePod], bool]
        Pods made during the run for which it holds are bound and never become Ready.
    left_out : bool[line] or None
        Lines of waiting pods that are left where they wait (`planner.rollout.bystanders`).
    is_thorough : bool
        Every waiting pod is tried for itself, by all filters: for tests, which hold the short ways against it.
    backs_off : int
        For how many ticks a refused pod backs off (`planner.rollout.queue.SchedulingQueue`).
    draws_order : bool
        Which workload's controllers come first within one round is drawn too: in a real cluster each works by itself.
        Else it is the order in which they began.
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
        draws_order: bool = False,
    ) -> None:
        self.cluster = cluster
        self.budget = current()
        self.work = 0  # units spent on this run
        self.snapshot: Snapshot = cluster.snapshot
        self.state = State(cluster)
        self.random = Random(seed)
        self._order = Random(seed) if draws_order else None
        self.scheduler = Scheduler(self.state, seed + 1, self.pods_below, self.budgets, is_thorough=is_thorough)
        self.admission: Admission = self.snapshot.derived.once(Admission, self.snapshot).fork()
        self.never_ready = never_ready or (lambda _: False)
        self.now = self.snapshot.taken_at
        self.tick_number = -1
        self.clock_ms = 0.0
        self.controllers: dict[str, Controller] = {}
        self.held_up: dict[
            str, list[Callable[[], Controller]]
        ] = {}  # namespace → whose pods are refused until one goes
        self._sleeping: dict[str, int] = {}  # namespace → tick in which none of them looks
        self._families = _Families()
        self._retrying: dict[str, Controller] = {}  # those that try again by themselves
        self.is_thorough = is_thorough
        self.scales = dict(self.snapshot.derived.once(scales, self.snapshot))
        self.pods: dict[str, list[LivePod]] = {}  # by owner's key; those gone are left out by `pods_by`
        self._thinned: set[str] = set()  # keys of owners of whom somebody is gone and still in there
        self._owners: dict[str, dict[str, None]] = {}  # namespace → owners of pods in motion there
        self.starting: list[LivePod] = []
        self.terminating: list[LivePod] = []
        self.maturing: list[LivePod] = []  # Ready, and not yet for minReadySeconds
        self.refusals: dict[str, Refusal] = {}  # owner's key → the API server's last refusal
        self.claim_refusals: dict[int, Refusal] = {}  # number of a pod → why a claim of its isn't made
        self._without_claims: list[LivePod] = []
        self.preempted: list[LivePod] = []
        self.attached_twice: list[tuple[str, LivePod, LivePod]] = []  # claim, pod that has it, pod that can't get it
        self.choices = 0  # times a controller picked among equals
        self.orders = 0  # times several workloads' controllers acted in one round: any of them may be first
        self.touched: list[LivePod] = []  # pods deleted or bound
        self.news: list[LivePod] = []  # pods in the order in which something happened to them
        self.told: Counter[str] = Counter()  # owner's key → how often something happened to its pods
        self._tallies: dict[str, Tally] = {}  # by owner's key
        self._shapes: dict[tuple[int, int, int], tuple[Shape, Labels, PodSpec, LabelSelector | None]] = {}
        self._events: dict[tuple[Shape, bool], Event] = {}
        self._taken_up: set[str] = set()  # uids of owners all of whose pods are in motion
        self._live: dict[int, LivePod] = {}  # index in the snapshot → the pod in motion
        self._on_node: dict[int, dict[int, LivePod]] = {}
        self._made = 0
        self.is_idle = False  # in the last round nobody did anything, and nobody can know of anything new
        self._waiting = SchedulingQueue(
            self.state, self.scheduler, self._live, self.live, left_out=left_out, is_thorough=is_thorough,
            backs_off=backs_off,
        )  # fmt: skip
        self.replacement: Callable[[LivePod], Controller | None] = lambda _: None
        for node in cluster.absent:
            self.state.shut(node)
        self._take_up_unfinished()

    # ── pods of the snapshot ────────────────────────────────────────────────────────────────────────────────────────
    def _take_up_unfinished(self) -> None:
        """Pods that wait compete, pods that start become Ready, pods that terminate go: all from the first moment."""
        for index in self._waiting.to_take_up():
            self.live(index)
        for index in self.cluster.remember(_unfinished):
            self.live(index)

    def live(self, index: int) -> LivePod:
        """The snapshot's pod `index` as a pod in motion."""
        found = self._live.get(index)
        if found is not None:
            return found
        pod = self.snapshot.pods[index]
        shape = self.cluster.remember(_shape_of, pod.namespace, Same(pod.labels), Same(pod.spec))
        live = LivePod(
            shape=shape,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            owner=pod.owner.key(pod.namespace) if pod.owner else "",
            number=index - len(self.snapshot.pods),
            created_at=pod.created_at or 0.0,
            node=self.cluster.node_index.get(pod.node_name, NOWHERE) if pod.node_name else NOWHERE,
            is_lost=bool(pod.node_name) and pod.node_name not in self.cluster.node_index,
            is_ready=pod.is_ready,
            is_terminating=pod.deleted_at is not None,
            is_running=pod.phase == "Running",
            words=pod.unschedulable_message or None,
            ready_at=pod.ready_at or 0.0,
            started_at=pod.started_at or pod.created_at or 0.0,
            restarts=max((c.restart_count for c in pod.containers), default=0),
            deletion_cost=_integer(pod.annotations.get(POD_DELETION_COST, "0")),
            revision=pod.labels.get(CONTROLLER_REVISION_HASH, ""),
            ordinal=_ordinal(pod),
            devices=device_table(self.cluster).by_pod.get(pod.uid, ()),
            claims_made=_claims_made(self.cluster, pod),
        )
        self._live[index] = live
        self._own(live)
        self.tell(live)
        if live.is_bound:
            self._on_node.setdefault(live.node, {})[live.number] = live
            if live.is_terminating:
                self.terminating.append(live)
            elif live.is_ready:
                if index in self.cluster.remember(_maturing_at_first):
                    self.let_mature(live)
            else:
                # A pod that was failing when the snapshot was taken isn't expected to recover by waiting.
                live.never_ready = live.is_lost or not is_starting(pod)
                if not live.never_ready:
                    self.starting.append(live)
        elif not live.is_terminating:
            self._gate(live)
            self._make_claims(live)
            nominated = self.cluster.node_index.get(pod.nominated_node_name, NOWHERE)
            if nominated != NOWHERE:
                self.scheduler.nominate(live, nominated)
            self._waiting.take_up(live, index)
        return live

    def let_mature(self, pod: LivePod) -> None:
        """A Ready pod isn't available before ``minReadySeconds`` are over."""
        pod.is_maturing = True
        self.maturing.append(pod)

    def _own(self, pod: LivePod) -> None:
        self.pods.setdefault(pod.owner, []).append(pod)
        self._owners.setdefault(pod.namespace, {})[pod.owner] = None

    def pods_of(self, owner_key: str, uid: str) -> list[LivePod]:
        """All pods of an owner, the snapshot's included, that aren't gone."""
        if uid not in self._taken_up:
            self._taken_up.add(uid)
            for index in pods_by_owner(self.cluster).get(uid, ()):
                self.live(index)
            self.pods.get(owner_key, []).sort(key=lambda p: p.number)  # whoever was looked at before
        return self.pods_by(owner_key)

    def pods_by(self, owner_key: str) -> list[LivePod]:
        """Those of them that are in motion."""
        pods = self.pods.setdefault(owner_key, [])
        if owner_key in self._thinned:
            self._thinned.remove(owner_key)
            pods[:] = [pod for pod in pods if not pod.is_gone]
        return pods

    def tally(self, owner_key: str, uid: str) -> Tally:
        """The same as numbers."""
        found = self._tallies.get(owner_key)
        if found is None:
            found = self._tallies[owner_key] = Tally(self.pods_of(owner_key, uid))
        return found

    def tell(self, pod: LivePod) -> None:
        """Something happened to a pod."""
        self.news.append(pod)
        self.told[pod.owner] += 1
        self.wake(pod.owner)
        tally = self._tallies.get(pod.owner)
        if tally is not None:
            tally.take(pod)

    def pods_on(self, node: int) -> list[LivePod]:
        """Pods bound to a node, terminating ones included."""
        for index in pods_by_node(self.cluster).get(node, ()):
            if index not in self._live:
                self.live(index)
        return sorted((p for p in self._on_node.get(node, {}).values() if not p.is_gone), key=lambda p: p.number)

    def pods_below(self, node: int, priority: int) -> list[LivePod]:
        """Those of them with a lower priority."""
        for index in pods_below(self.cluster, priority).get(node, ()):
            if index not in self._live:
                self.live(index)
        here = self._on_node.get(node, {}).values()
        return sorted((p for p in here if p.priority < priority and not p.is_gone), key=lambda p: p.number)

    def budgets(self, namespace: str) -> list[Budget]:
        """A namespace's disruption budgets as the disruption controller would have them now."""
        by_namespace = self.cluster.remember(_budgets)
        return [
            Budget(namespace=namespace, selector=one.selector, allowed=self.budget_status(one).allowed)
            for one in by_namespace.get(namespace, ())
        ]

    def budget_status(self, budget: PodDisruptionBudget) -> BudgetStatus:
        """What the disruption controller would write of `budget` now."""
        near = self.pods_in(budget.namespace)
        self._spend(len(near))
        pods = [
            Covered(pod.owner, pod.is_ready and not pod.is_terminating)
            for pod in near
            if covers(budget, pod.namespace, pod.shape.labels)
        ]
        return status(budget, pods, self.scales)

    def pods_in(self, namespace: str) -> list[LivePod]:
        """All pods of a namespace that aren't gone, terminating ones included."""
        by_namespace = self.cluster.remember(_standing)
        for index in by_namespace.get(namespace, ()):
            if index not in self._live:
                self.live(index)
        owners = self._owners.get(namespace, {})
        return [p for owner in owners for p in self.pods[owner] if p.namespace == namespace and not p.is_gone]

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
        self.foresee_pods(1)
        self._spend(_POD_UNITS)
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
        self._make_claims(pod)
        self._own(pod)
        self.tell(pod)
        self._waiting.add(pod)
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

    # ── claims made for pods ────────────────────────────────────────────────────────────────────────────────────────
    def _make_claims(self, pod: LivePod) -> None:
        """The claims made for a pod, which a quota may refuse: the pod then is there and gets no node.

        Source: kubernetes `pkg/controller/resourceclaim/controller.go` `handleClaim`, `pkg/controller/volume/ephemeral`.
        """
        for number, (kind, counted) in enumerate(self._claims_of(pod)):
            if number in pod.claims_made:
                continue
            refusal = self.admission.object_refusal(kind, pod.namespace, pod.name, counted)
            if refusal:
                self.claim_refusals[pod.number] = refusal
                self._without_claims.append(pod)
                pod.is_gated = True
                return
            self.admission.charge_object(pod.namespace, counted)
            pod.claims_made |= {number}
        if self.claim_refusals.pop(pod.number, None):
            self._gate(pod)
            if not pod.is_gated:
                self._waiting.let_in(pod)

    def _drop_claims(self, pod: LivePod) -> None:
        """Claims go with the pod they were made for; pods that had to do without get theirs."""
        if not pod.claims_made and not pod.devices:
            return
        dropped = [counted for number, (_, counted) in enumerate(self._claims_of(pod)) if number in pod.claims_made]
        if pod.devices:
            dropped.append(self._extended_claim(pod, pod.node))
        if not any(dropped):
            return
        for counted in dropped:
            self.admission.charge_object(pod.namespace, counted, -1)
        if not pod.is_bound:  # the event of one that is comes with its room
            self._waiting.happened(Event(pod.shape, is_removal=False, frees_claim=True))
        self._retry_claims()

    def _retry_claims(self) -> None:
        """Pods whose claims a quota refused try again."""
        waiting, self._without_claims = self._without_claims, []
        for other in waiting:
            if not (other.is_gone or other.is_terminating):
                self._make_claims(other)

    def _claims_of(self, pod: LivePod) -> list[tuple[str, dict[str, int]]]:
        """The claims that are made for a pod from templates: their kind, and what each counts against quotas."""
        spec = pod.shape.spec
        found: list[tuple[str, dict[str, int]]] = []
        if spec.resource_claims:
            templates = self.cluster.remember(_claim_usages)
            names = [one.resource_claim_template_name for one in spec.resource_claims]
            found += [("ResourceClaim", templates.get((pod.namespace, name), {})) for name in names if name]
        for volume in spec.volumes:
            if volume.claim_template is not None and not volume.claim_name:
                counted = volume_claim_usage(self.snapshot, volume.claim_template)
                found.append(("PersistentVolumeClaim", counted))
        return found

    def _extended_claim(self, pod: LivePod, node: int) -> dict[str, int]:
        """What the claim counts that kube-scheduler makes for the pod's extended resources on a node; empty without one."""
        demand = pod.shape.devices
        if node == NOWHERE or not demand.delegated:
            return {}
        made = demand.on_node(node)[len(demand.claims) :]
        return claim_usage(self.snapshot, made[0].spec, usage(pod.shape.spec)) if made else {}

    def _shape(self, namespace: str, labels: Labels, spec: PodSpec, selector: LabelSelector | None) -> Shape:
        """The shape of a new pod as admitted; templates are few, so looked up by identity first."""
        key = (id(labels), id(spec), id(selector))
        known = self._shapes.get(key)
        if known is None:
            self._spend(_SHAPE_UNITS)
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
        self._waiting.changed()
        pod.is_terminating = True
        self.tell(pod)
        self.touched.append(pod)
        if not pod.is_lost:
            self.state.terminate(pod.shape, pod.node)
        self.terminating.append(pod)

    def _forget(self, pod: LivePod) -> None:
        self._waiting.changed()
        pod.is_gone = True
        self.tell(pod)
        self._thinned.add(pod.owner)
        self.admission.charge(pod.namespace, pod.shape.spec, -1)
        self._wake_held_up(pod.namespace)
        self._drop_claims(pod)
        if pod.nominated != NOWHERE:
            self._release_nomination(pod)
        if pod.is_bound and not pod.is_lost:
            self._waiting.happened(self._event(pod.shape, is_removal=True))
            self.state.remove(pod.shape, pod.node, is_terminating=True)
            if pod.devices or pod.shape.uses_devices:
                self.state.devices.leave(pod.shape.devices, pod.uid, pod.devices)
            self._on_node.get(pod.node, {}).pop(pod.number, None)

    def _wake_held_up(self, namespace: str) -> None:
        """Something of the namespace has gone: whose pods were refused until now may look again. Nobody tells a ReplicaSet of
        it: it tries when its back-off of up to 1,000 s is over, before whoever else waits for the room, or later.

        Source: client-go `util/workqueue/default_rate_limiters.go` `ItemExponentialFailureRateLimiter`.
        """
        if namespace not in self.held_up or self._sleeping.get(namespace) == self.tick_number:
            return
        if self._order is not None and self._order.random() < _SLEEPS_ON:
            self._sleeping[namespace] = self.tick_number
            return
        for resume in self.held_up.pop(namespace):
            controller = resume()
            self.controllers.setdefault(controller.key, controller)

    # ── what others do ──────────────────────────────────────────────────────────────────────────────────────────────
    def vanish(self, pod: LivePod) -> None:
        """A pod is gone at once: it has ended, or its node has gone."""
        if pod.is_gone:
            return
        if pod.is_bound and not (pod.is_terminating or pod.is_lost):
            self.state.terminate(pod.shape, pod.node)
        self.touched.append(pod)
        self.terminating = [one for one in self.terminating if one is not pod]
        pod.is_terminating = True
        self._forget(pod)

    def ungate(self, pod: LivePod, shape: Shape) -> None:
        """A waiting pod is one of `shape` from now on, which has no scheduling gates."""
        pod.shape, pod.words = shape, None
        self._gate(pod)
        self.tell(pod)
        if not pod.is_gated:
            self._waiting.let_in(pod)

    def rouse(self, about: Shape) -> None:
        """Something has changed that isn't told of a pod: everybody looks anew. `about` is any shape."""
        self.is_idle = False
        self._waiting.changed()
        self._waiting.happened(Event(about, is_removal=True, is_nodes=True))
        self._retry_claims()
        for key in self.controllers:
            self.wake(key)

    # ── the scheduler's turn ────────────────────────────────────────────────────────────────────────────────────────
    @property
    def is_contested(self) -> bool:
        """Whether seconds may have decided who was tried first (`SchedulingQueue.is_contested`)."""
        return self._waiting.is_contested

    @property
    def queue(self) -> list[LivePod]:
        """The pods that wait, in the order they came."""
        return self._waiting.pods()

    @property
    def arrivals(self) -> list[LivePod]:
        """The pods made during the run."""
        return self._waiting.arrivals

    def waiters(self, *, with_words: bool = True, of: Callable[[LivePod], bool] = lambda _: True) -> list[Waiter]:
        """All that wait or waited at some time, in the order they came (`SchedulingQueue.waiters`)."""
        return self._waiting.waiters(with_words=with_words, of=of)

    @property
    def ever_waiting(self) -> list[LivePod]:
        """Every pod that waited at some time, in the order they came."""
        return [self.live(i) for i in resting(self.cluster).order] + self._waiting.arrivals

    def schedule(self) -> bool:
        """Try every waiting pod that is new or was woken; whether anything came of it.

        Pods that were refused in this very moment are still backing off and come after all others, whatever their
        priority (`SchedulerPopFromBackoffQ`); those refused in an earlier one aren't (`planner.rollout.queue`).
        """
        if not self._waiting.has_work:
            return False
        did_something = False
        self._waiting.begin(self.tick_number)
        while (pod := self._waiting.next()) is not None:
            did_something |= self._try(pod)
        self._waiting.end()
        return did_something

    def _try(self, pod: LivePod) -> bool:
        self._spend(units_of_attempt(pod.shape) + _NOMINATED_UNITS * len(self.scheduler.nominations))
        attempt = self._waiting.attempt(pod)
        self.claim_refusals.pop(pod.number, None)
        if attempt.node != NOWHERE:
            refusal = self._bind(pod, attempt.node)
            if refusal is None:
                return True
            self.claim_refusals[pod.number] = refusal
            words = f'running PreBind plugin "DynamicResources": create claim for extended resources: {refusal.message}'
            attempt = Attempt(words=words, refused_by=frozenset((Fails.DEVICE_ERROR,)), is_error=True)
        self._waiting.refuse(pod, attempt)
        if attempt.deallocates and self.state.devices.deallocate_unused(pod.shape.devices, pod.uid):
            self._waiting.changed()
            self._waiting.happened(Event(pod.shape, is_removal=False, frees_claim=True))
        if attempt.nominated != NOWHERE:
            return self._preempt(pod, attempt.nominated, attempt.victims)
        if attempt.gives_up and pod.nominated != NOWHERE:
            self._waiting.changed()
            self.scheduler.clear_nomination(pod)
        return False

    def _release_nomination(self, pod: LivePod) -> None:
        """A nomination given up makes room for everyone who had to leave it."""
        self._waiting.changed()
        self.state.changed.append(pod.nominated)
        self.scheduler.clear_nomination(pod)
        self._waiting.happened(Event(pod.shape, is_removal=True))

    def _bind(self, pod: LivePod, node: int) -> Refusal | None:
        """Bind the pod, unless a quota refuses the claim made for its extended resources: an error, no refusal of a node.

        Source: kubernetes `plugins/dynamicresources` `PreBind`, `createExtendedResourceClaimInAPI`.
        """
        counted = self._extended_claim(pod, node)
        if counted:
            refusal = self.admission.object_refusal("ResourceClaim", pod.namespace, pod.name, counted)
            if refusal:
                return refusal
            self.admission.charge_object(pod.namespace, counted)
        self._waiting.changed()
        self._note_attached(pod, node)
        self.scheduler.bind(pod, node)
        self._waiting.happened(self._event(pod.shape, is_removal=False))
        pod.started_at = self.now
        pod.words = None
        self.tell(pod)
        self._on_node.setdefault(node, {})[pod.number] = pod
        if not pod.never_ready:
            self.starting.append(pod)
        return None

    def _event(self, shape: Shape, *, is_removal: bool) -> Event:
        """One for all pods of the shape that are bound, or gone."""
        event = self._events.get((shape, is_removal))
        if event is None:
            event = self._events[shape, is_removal] = Event(shape, is_removal=is_removal)
        return event

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
        self._waiting.changed()
        self.scheduler.nominate(pod, node)
        for rival in [p for p in self.scheduler.nominations if p.nominated == node and p.priority < pod.priority]:
            self._release_nomination(rival)
            self._waiting.move_up(rival)
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

    def foresee_pods(self, count: int) -> None:
        """So many pods will be made, unless one of them is refused: too many to play through, or to hold, aren't begun."""
        if self._made + count > _MOST_MADE:
            raise too_large()
        self.budget.foresee(count * _POD_UNITS)

    def _spend(self, units: int) -> None:
        self.work += units
        self.budget.spend(units)

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def round(self) -> bool:
        """About the time of one request; whether anything was done.

        Every controller does about one request's worth of work, Deployments before what they own (a ReplicaSet just
        made included); the scheduler, quicker than they, empties its queue before and after. Controllers see what
        others wrote in earlier rounds: that is how pods of several rollouts come to be made in turns.
        """
        self.clock_ms += _ROUND_MS
        self._spend(_ROUND_UNITS)
        busy = self.schedule()
        done = 0
        waiting = self._awake()
        if self._order is not None and len(waiting) > 1:
            waiting = self._in_any_order(waiting, self._order)
        families = set[str]()  # of those who did something
        while waiting:
            done = len(self.controllers)
            self._spend(_SYNC_UNITS * len(waiting))
            for controller in waiting:
                did_something = controller.sync(self)
                busy |= did_something
                if controller.retry_at is not None:
                    self._retrying[controller.key] = controller
                elif self._retrying:
                    self._retrying.pop(controller.key, None)
                if did_something:
                    families.add(self._family(controller.key))
                if did_something or (controller.retry_at is None and controller.key in self.refusals):
                    self.wake(controller.key)
                elif controller.retry_at is not None:
                    heappush(self._families.due, (controller.retry_at, controller.key))
            waiting = list(islice(self.controllers.values(), done, None))  # made meanwhile
        self.orders += len(families) > 1
        busy = self.schedule() or busy
        self.is_idle = not busy
        return busy

    def _in_any_order(self, controllers: Sequence[Controller], luck: Random) -> list[Controller]:
        """One workload's controllers after another's, each workload's in their order."""
        turns = {family: luck.random() for family in dict.fromkeys(self._family(one.key) for one in controllers)}
        return sorted(controllers, key=lambda one: turns[self._family(one.key)])

    def wake(self, owner: str) -> None:
        """Something happened that the controllers of `owner`'s pods hear of: its own and that of the workload above it."""
        self._families.awake.add(self._family(owner))

    def _family(self, owner: str) -> str:
        return self.scales[owner][0] if owner in self.scales else owner

    def _awake(self) -> list[Controller]:
        """The controllers that may have something to do, in their order: one that had nothing to do has nothing until
        something happens to its pods, or to what it makes them through."""
        found, families = self._families, self.controllers
        if found.count != len(families) or found.of is not families:
            found.of, found.count, found.members = families, len(families), {}
            for place, controller in enumerate(families.values()):
                family = self._family(controller.key)
                found.members.setdefault(family, []).append((place, controller))
                if controller.key not in found.known:
                    found.known.add(controller.key)
                    found.awake.add(family)
        while found.due and found.due[0][0] <= self.clock_ms:
            self.wake(heappop(found.due)[1])
        awake, found.awake = found.awake, set()
        if self.is_thorough:
            return list(families.values())
        return [one for _, one in sorted(chain.from_iterable(found.members.get(key, ()) for key in awake), key=_place)]

    def _pass_by(self, pod: LivePod) -> None:
        """A round after something that only the controller of `pod` hears of; nothing comes of it where that isn't played."""
        retry = self._next_retry() if self.is_idle else None
        if not self.is_idle or pod.owner in self.controllers or self._waiting.has_work or retry is not None:
            self.round()
        else:
            self.clock_ms += _ROUND_MS

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
        dues = (controller.retry_at for controller in self._retrying.values())
        return min((due for due in dues if due is not None and due > self.clock_ms), default=None)

    @property
    def is_moving(self) -> bool:
        """Whether waiting changes anything: a pod is starting, terminating, or Ready and not yet available."""
        return bool(self.starting or self.terminating or self.maturing)

    def tick(self) -> None:
        """Every starting pod becomes Ready, every terminating pod is gone: one request after another, a round each.

        Then pods become available that were Ready before.
        """
        self.tick_number += 1
        self.now += 1.0
        self.is_idle = False
        late, mature = self._ripe()
        for pod in late:
            self._mature(pod)
        starting, self.starting = self.starting, []
        gone, self.terminating = self.terminating, []
        for pod in starting:
            if not pod.is_terminating and not pod.is_gone:
                pod.is_ready = pod.is_running = True
                pod.ready_at = self.now
                owner = self.controllers.get(pod.owner)
                if owner is not None and owner.min_ready_seconds:
                    self.let_mature(pod)
                self.tell(pod)
                self._pass_by(pod)
        for pod in gone:
            self._forget(pod)
            self.round()
        for pod in mature:
            self._mature(pod)

    def _ripe(self) -> tuple[list[LivePod], list[LivePod]]:
        """Pods that become available in the tick that begins: before anything else in it, and at its end.

        A DaemonSet whose pods all have an old one beside them, which is the one its status counts, learns of it a second
        late: the recorder's tick is over by then (kubernetes `pkg/controller/daemon/daemon_controller.go` `updatePod`,
        `updateDaemonSetStatus`).
        """
        ripe = [p for p in self.maturing if p.is_maturing and not (p.is_terminating or p.is_gone)]
        late = [p for p in ripe if p.is_overdue]
        mature = [p for p in ripe if not p.is_overdue]
        in_time = {p.owner for p in mature if not self._has_surged(p)}
        for pod in mature:
            pod.is_overdue = self._has_surged(pod) and pod.owner not in in_time
        self.maturing = [p for p in mature if p.is_overdue]
        return late, [p for p in mature if not p.is_overdue]

    def _has_surged(self, pod: LivePod) -> bool:
        """Whether a pod of its owner's, one a node, is beside it."""
        beside = (p for p in self.pods_on(pod.node) if p.owner == pod.owner and p is not pod)
        return kind_in(pod.owner).is_per_node and any(not p.is_terminating for p in beside)

    def _mature(self, pod: LivePod) -> None:
        pod.is_maturing = False
        if not (pod.is_terminating or pod.is_gone):
            self.tell(pod)
            self.round()

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def held(self) -> dict[str, int]:
        """Extended resources held by bound pods of the whole cluster, terminating ones included."""
        held = self.state.held
        return {name: held[row] for name, row in self.cluster.remember(_extended_rows)}

    def extended(self, shape: Shape) -> list[tuple[str, int]]:
        """The extended resources that one such pod asks for."""
        return self.cluster.remember(_extended, shape)

    def gpus(self, shape: Shape) -> int:
        """The GPUs that one such pod asks for."""
        return self.cluster.remember(_gpus, shape)


def _unfinished(cluster: Cluster) -> list[int]:
    """Indices of the bound pods that start or terminate."""
    pods = cluster.snapshot.pods
    return [i for group in cluster.groups for i in group.pods if group.is_terminating or is_starting(pods[i])]


def _maturing_at_first(cluster: Cluster) -> frozenset[int]:
    """Indices of pods whose owner's status says that they aren't available yet: the last ones that got Ready."""
    snapshot, found = cluster.snapshot, set[int]()
    owners: tuple[ReplicaSet | Workload, ...] = snapshot.replica_sets + snapshot.every_workload
    for owner in owners:
        count = owner.ready_replicas - owner.available_replicas
        if owner.min_ready_seconds and count > 0:
            own = [i for i in pods_by_owner(cluster).get(owner.uid, ()) if snapshot.pods[i].is_ready]
            found.update(sorted(own, key=lambda i: -(snapshot.pods[i].ready_at or 0.0))[:count])
    return frozenset(found)


def _shape_of(cluster: Cluster, namespace: str, labels: Same[Labels], spec: Same[PodSpec]) -> Shape:
    """The shape of a pod of the snapshot, found again without comparing specs."""
    return compile_shape(cluster, namespace, labels.value, spec.value)


def _claims_made(cluster: Cluster, pod: Pod) -> frozenset[int]:
    """Which of the claims that are made for the pod are there, by their place in `_claims_of`."""
    made = [one.name in pod.claim_names for one in pod.spec.resource_claims if one.resource_claim_template_name]
    known = cluster.remember(claims_by_key)
    volumes = (v for v in pod.spec.volumes if v.claim_template is not None and not v.claim_name)
    made += [(pod.namespace, f"{pod.name}-{v.name}") in known for v in volumes]
    return frozenset(number for number, is_there in enumerate(made) if is_there)


def _claim_usages(cluster: Cluster) -> dict[tuple[str, str], dict[str, int]]:
    """Claim template → what a claim made from it counts against quotas."""
    snapshot = cluster.snapshot
    return {(one.namespace, one.name): claim_usage(snapshot, one.spec) for one in snapshot.resource_claim_templates}


def units_of_attempt(shape: Shape) -> int:
    """Of work (`planner.ground.budget`): kube-scheduler's look for a node of one pod."""
    return _ATTEMPT_UNITS + len(shape.candidates) // 20


def _extended_rows(cluster: Cluster) -> list[tuple[str, int]]:
    return [(name, row) for name, row in cluster.row.items() if is_extended_resource(name)]


def _gpus(cluster: Cluster, shape: Shape) -> int:
    return alike(dict(_extended(cluster, shape)))


def _extended(cluster: Cluster, shape: Shape) -> list[tuple[str, int]]:
    names = cluster.resources
    return [(names[row], amount) for row, amount in shape.asks if is_extended_resource(names[row])]


def _budgets(cluster: Cluster) -> dict[str, list[PodDisruptionBudget]]:
    """Namespace → its disruption budgets."""
    found: dict[str, list[PodDisruptionBudget]] = {}
    for budget in cluster.snapshot.pod_disruption_budgets:
        found.setdefault(budget.namespace, []).append(budget)
    return found


def _standing(cluster: Cluster) -> dict[str, list[int]]:
    """Namespace → indices of its pods that aren't Succeeded or Failed."""
    found: dict[str, list[int]] = {}
    for index, pod in enumerate(cluster.snapshot.pods):
        if not pod.is_terminal:
            found.setdefault(pod.namespace, []).append(index)
    return found


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _ordinal(pod: Pod) -> int:
    if pod.owner is None or not kind_called(pod.owner.kind).has_ordinals:
        return -1
    return _integer(pod.name.rpartition("-")[2])
