"""Runs one rollout from the change to its end: events at every quiet moment, and whether it completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from copy import copy
from functools import partial
from math import inf
from typing import Final, Unpack

from planner.ground import garbage_collector
from planner.ground.records import Record, replace
from planner.ground.words import duration, listing, short_name
from planner.ground.work_budget import TooLargeError, WorkBudget, too_large
from planner.kubernetes.disruption_budgets import without_scale
from planner.kubernetes.object_records import Template, Workload
from planner.kubernetes.pod_template_kinds import Placed
from planner.rollout import taint_evictions
from planner.rollout.answers import QueueEviction, Reason, Verdict
from planner.rollout.clock import PATIENCE_MS, Controller
from planner.rollout.closed_form_finish import Remainder, remainder
from planner.rollout.controllers import registry
from planner.rollout.controllers.generic_pod_controller import PlacedController
from planner.rollout.controllers.horizontal_autoscaler import autoscalers
from planner.rollout.controllers.protocol import RolloutController, is_scaled
from planner.rollout.eviction_requests import Evictor
from planner.rollout.in_flight import InFlight
from planner.rollout.in_flight import failing as failing_owners
from planner.rollout.independent_actors import Bound
from planner.rollout.interfering_rollouts import all_in_flight, evictions_met, interfering
from planner.rollout.ownership import pods_of, workloads_by_owner
from planner.rollout.pod_counts import Moment, PodCounts, held_resources
from planner.rollout.pod_durations import PodTimes, Stopwatch
from planner.rollout.scripted_event_playback import apply_event, evict_by_taint, evictor, is_emptied, retry_refused
from planner.rollout.silent_nodes import evictions_on
from planner.rollout.simulation import RunOptions, Simulation
from planner.rollout.unaffected_pods import bystanders, stayed_apart
from planner.rollout.volume_attachments import FORCED_DETACH_SECONDS
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import Happening
from planner.scheduling.shape import Shape

WHEN_AT_REST: Final = inf
_RETRIES_THEN: Final = 0.5  # how often ReplicaSets that a quota refused try again in the moment of a second change
Watcher = Callable[[Simulation], None]
_LOOKS: Final = 2  # from how many first moments on the rest may be counted: who else was starting is Ready by then


class Queued(Record):
    """What Kueue does with the pods of a change.

    Attributes
    ----------
    said, unknown : in words, or why that isn't known
    keeps_out : it lets none of them in
    refused : why its webhooks refuse the change, "" where they don't
    never_whole : why some of its pods never get quota, "" where that isn't so: those that do are played
    evicts, evicted : whom it evicts before it lets them in, and the uids of the pods that go with them
    beside : who else is let in once those have gone
    """

    said: str = ""
    unknown: str = ""
    keeps_out: bool = False
    refused: str = ""
    never_whole: str = ""
    evicts: tuple[QueueEviction, ...] = ()
    evicted: frozenset[str] = frozenset()
    beside: tuple[Revision, ...] = ()


class Revision(Record):
    """One workload's change: as it is, as it shall be, and whether its pods are replaced.

    `never_ready` pods of the new revision start and don't become Ready. `placed`: its pods, where only their placement
    is asked; then `after` stands for its name and its first template. `after_seconds`: how long after the others it comes;
    `WHEN_AT_REST`: when they, and all that are in flight, have come to rest. `is_promoted`: where it waits to be promoted, it
    is promoted once nothing else moves. `times`: how long its pods take, where something
    else happens at a time. `rules`: the project with the rules, read and not recorded, that made this change of another object's; "" where the
    change is the workload's own. `queued`: what Kueue does with its pods; their templates are as it lets them in; None where it has
    no say, or wasn't asked. `changes`: what changes the same workload later, whatever has become of this then, each against the one
    before it; `words`: what a timeline calls such a change. `turn`: among what comes at the same time, which is first. `keeps_replicas`:
    it says nothing of replicas: those stay that there are then, from wherever. `applied`: what a manifest alone makes of it, where a
    setting or a patch comes on top.
    """

    before: Workload | None  # None: the workload is new
    after: Workload
    has_new_template: bool
    never_ready: bool = False
    placed: Placed | None = None
    after_seconds: float = 0.0
    is_promoted: bool = True
    times: PodTimes | None = None
    rules: str = ""
    queued: Queued | None = None
    changes: tuple[Revision, ...] = ()
    words: str = ""
    turn: int = 0
    keeps_replicas: bool = False
    applied: Workload | None = None

    @property
    def is_recorded(self) -> bool:
        """Whether what the change does is a rule that recordings hold up, not one that was only read."""
        return not self.rules and not (self.placed is not None and self.placed.rules)

    @property
    def is_plain(self) -> bool:
        """Whether it is the workload's own change, made at once, by its controller and no other."""
        return (
            self.is_recorded
            and self.placed is None
            and self.queued is None
            and not (self.after_seconds or self.times or self.changes)
        )

    def then(self, change: Revision) -> Revision:
        """Both changes as one: from what was there before this one to what the later one makes."""
        return replace(
            self, after=change.after, has_new_template=self.has_new_template or change.has_new_template,
            never_ready=change.never_ready, times=change.times or self.times, is_promoted=change.is_promoted,
        )  # fmt: skip

    @property
    def never(self) -> tuple[Reason, str] | None:
        """Why it never completes, whatever its pods do: it is refused, or its controller ignores it; None where it may."""
        if self.placed is not None and self.placed.never:
            return Reason.IGNORED, self.placed.never
        if self.queued is not None and self.queued.never_whole:
            return Reason.QUEUE, self.queued.never_whole
        return (Reason.ADMISSION, self.queued.refused) if self.queued is not None and self.queued.refused else None

    @property
    def evicts(self) -> tuple[QueueEviction, ...]:
        """Whom Kueue evicts for it."""
        return () if self.queued is None else self.queued.evicts

    @property
    def templates(self) -> tuple[tuple[Template, int], ...]:
        """The templates of its pods, and how many pods each has: of a workload that is rolled out its one."""
        return self.placed.templates if self.placed is not None else self.after.templates


class QuietMoment(Record, eq=False):
    """A quiet moment, as an autoscaler sees it: `position` of the state (`State.at`), who waits, and until when nothing happens."""

    tick: int
    seconds: float
    until_seconds: float
    position: int
    waiting: tuple[LivePod, ...]


def _awaits_words(names: Set[str], words: str) -> str:
    others = sorted({short_name(name) for name in names})
    return f"waits for pods of {listing(others)}" if others else words


def _time_of(event: Revision | Happening) -> tuple[float, int]:
    return event.after_seconds, event.turn


class Run:
    """One simulated rollout: played from the change to its end, and what it came to.

    Attributes
    ----------
    completed : whether every changed workload's rollout is complete
    ticks : ticks until that, or until nothing moved any more
    moments : per workload key, the quiet moments; the first is before the change (tick −1)
    status : per workload key, the numbers of its status at the end
    awaited : per workload key, by a place in `moments`, what is waited for where the run goes on from there
    done : per workload key, whether it completed
    finished_at : per workload key, the tick at which it completed; −1 never
    finished_moment : the same as a place in `moments`
    choices : how often chance decided: scheduler's ties, and equals among which a controller picked
    orders : how often several workloads' controllers acted in one round, in an order that nothing determines
    work : how costly the run was, in units of `planner.ground.work_budget`
    is_cut : it was too large to be played to its end
    owners : per workload key, who owned its pods, as their `LivePod.owner` says it
    replicas : per workload key, those it is to have at the end: an autoscaler may have set others than the change
    new_shapes : per workload key, the shape of its new pods, if any were made
    touched : pods that were made, deleted or bound during the run
    others : those in flight that were played beside the changes
    waited : per workload key, the seconds after which its change came
    came : of what was to happen to the cluster (`Cluster.later`), and of changes to workloads changed before, what did
    happened : of those, what came before all was done
    tick_ends : seconds after which each tick ended
    promotions : per workload key, how often it had to be promoted
    waits_for : per workload key, what one that isn't done waits for without anything moving: ``promotion``
    rests : the quiet moments in which a pod waits, or room may be kept for pods that aren't there, where they were asked for
    retried : nothing moved any more until a controller with refused pods tried again
    is_counted : its end was counted: `pods` are those that were there before, of those that stay
    """

    completed: bool
    ticks: int
    status: dict[str, dict[str, int]]
    pods: dict[str, tuple[LivePod, ...]]
    choices: int
    orders: int
    work: int
    owners: dict[str, tuple[str, ...]]
    replicas: dict[str, int]
    new_shapes: dict[str, Shape]
    promotions: dict[str, int]
    waits_for: dict[str, str]

    def __init__(
        self,
        simulation: Simulation,
        revisions: Sequence[Revision],
        others: tuple[InFlight, ...],
        *,
        keeps_rests: bool = False,
        watch: Watcher | None = None,
        may_count: bool = False,
        evictions: Sequence[Happening] = (),
    ) -> None:
        self._watch, self._may_count = watch, may_count
        self._remainder: Remainder | None = None
        self._played: list[Moment] = []  # where the rest was counted
        self._left = 0  # of the work that it may cost, then
        self.simulation, self.revisions, self.others = simulation, revisions, others
        self.refusals, self.preempted, self.touched = simulation.refusals, simulation.preempted, simulation.pods.touched
        self.controllers: dict[str, RolloutController] = {}  # of the changes that have come
        self.later: list[Revision | Happening] = [r for r in revisions if r.after_seconds]
        self.later += [change for r in revisions for change in r.changes]
        self.changed = {r.after.key: r for r in revisions}  # as the changes that have come leave them
        self.later = sorted((*self.later, *simulation.cluster.later, *evictions), key=_time_of)
        self._times = {r.after.key: r.times for r in revisions if r.times is not None}
        self._is_timed = bool(self._times or simulation.cluster.later or evictions)
        self._keys: dict[str, str] = {}  # by who owns pods, `workload_of`; the owner was there before them
        self.moments: dict[str, list[Moment]] = {r.after.key: [] for r in revisions}
        self.finished_at = dict.fromkeys(self.moments, -1)
        self.finished_moment = dict.fromkeys(self.moments, -1)
        self.done = dict.fromkeys(self.moments, False)
        self.awaited: dict[str, dict[int, str]] = {key: {} for key in self.moments}
        self._passed: dict[str, list[Moment]] = {key: [] for key in self.moments}  # quiet moments that an event ended
        self._early: dict[str, PodCounts] = {}  # of workloads before their change: others may push their pods out
        self._waits = 0  # of the ticks, those in which nothing but time passed until an event
        self.is_cut = False
        self._counts: dict[str, PodCounts] = {}
        self._read = 0  # of the simulation's news
        self._clock = Stopwatch(simulation.cluster, self._times_of, self.workload_of)
        self.waited: dict[str, float] = {}
        self.came: list[Happening | Revision] = []
        self.happened: list[Happening | Revision] = []
        self._unseen: list[str] = []  # of their words, those that no moment tells yet
        self.tick_ends: list[float] = []
        self._keeps_rests, self.rests = keeps_rests, list[QuietMoment]()
        self.retried = False
        self._evictors: list[Evictor] = []
        self._stages: list[Happening] = []  # of `later`, those that may come before their time

    def let_fail(self) -> None:
        """New pods of a revision that says so never become Ready, nor do others' of whom those there fail."""
        is_failing = any(revision.never_ready for r in self.revisions for revision in (r, *r.changes))
        broken = failing_owners(self.simulation.cluster)

        def fails(pod: LivePod) -> bool:
            key = self.workload_of(pod)
            return (pod.is_new and self.changed[key].never_ready) if key else (pod.owner, pod.revision) in broken

        if is_failing or broken:
            self.simulation.never_ready = fails

    @garbage_collector.resting()  # until the end: what a run makes is kept so long
    def play(self) -> Run:
        """From the change to the end; this run."""
        simulation = self.simulation
        simulation.take_new_nodes()
        going_on: dict[str, Controller] = {}
        for flight in self.others:
            if flight.is_held_up and not simulation.is_thorough:
                simulation.held_up.setdefault(flight.namespace, []).append(partial(registry.resume, simulation, flight))
            else:
                going_on[flight.key] = registry.resume(simulation, flight)
        simulation.controllers = {**going_on, **simulation.controllers}
        scaling = {autoscaler.key: autoscaler for autoscaler in autoscalers(simulation, going_on)}
        if scaling:  # it has looked before the change comes: every 15 s
            simulation.controllers.update(scaling)
            simulation.settle()
        self._begin([r for r in self.revisions if not r.after_seconds])
        late = ((r.after.key, r.before) for r in self.revisions if r.after_seconds and r.before is not None)
        self._early = {key: self._counted(pods_of(simulation.cluster, before)) for key, before in late}
        self._look()
        simulation.clock.tick = 0
        return self._play_on()

    def _play_on(self) -> Run:
        simulation = self.simulation
        try:
            while not (self._is_over() or self._is_counted()):
                self._keep_rest()
                self._clock.pass_by(simulation)
                self.tick_ends.append(self._clock.seconds)
                simulation.tick()
        except TooLargeError:
            self.is_cut = True
            self._look()
        if self.is_cut:  # so that there is something to say of those to come
            self._begin([r for r in self.revisions if r.after.key not in self.controllers])
        self._end()
        return self

    def _counted(self, indices: Sequence[int]) -> PodCounts:
        return PodCounts(self.simulation.cluster, [self.simulation.pods.live(index) for index in indices])

    def _begin(self, revisions: Sequence[Revision]) -> None:
        """Changes are made, back to back; pods that Kueue evicts for them go first."""
        simulation = self.simulation
        evicted = frozenset[str]().union(*(r.queued.evicted for r in revisions if r.queued is not None))
        for index, pod in enumerate(simulation.snapshot.pods) if evicted else ():
            if pod.uid in evicted:
                simulation.delete(simulation.pods.live(index))
        begun = {r.after.key: _started(simulation, r) for r in revisions}
        for key, controller in begun.items():
            self.waited[key] = self._clock.seconds
            self._early.pop(key, None)
            self.controllers[key] = controller
            self._counts[key] = PodCounts(simulation.cluster, controller.all_pods(simulation))
        self._keys.clear()
        # One that makes evicted pods again for the workload as it was (a StatefulSet's has its key) ends with the change: this one goes on.
        for key in begun.keys() & simulation.controllers.keys():
            simulation.clock.wake(key)
        simulation.controllers = {**begun, **simulation.controllers, **begun}
        simulation.controllers.update((autoscaler.key, autoscaler) for autoscaler in autoscalers(simulation, begun))
        for revision in revisions:
            _wait_as_changed(simulation, revision, begun[revision.after.key])

    def _change(self, revision: Revision) -> None:
        """A workload that a change was made of before is changed again; what has become of that change goes on.

        What the second change frees of a quota its own new pods have first, unless another ReplicaSet's delay is over in that moment:
        it is not known when that is, so in some draws it is (seed 502 of `tests.properties.test_changes_on_top`).
        """
        simulation, key = self.simulation, revision.after.key
        if simulation.draws(_RETRIES_THEN):
            retry_refused(simulation)
        controller = self.controllers[key]
        if revision.keeps_replicas and is_scaled(controller):
            revision = replace(revision, after=replace(revision.after, replicas=controller.replicas))
        registry.change(
            simulation, controller, revision.after, before=revision.before, has_new_template=revision.has_new_template
        )
        self.changed[key] = self.changed[key].then(revision)
        self._counts[key] = PodCounts(
            simulation.cluster, controller.all_pods(simulation)
        )  # other pods are the new ones
        self._keys.clear()
        if revision.times is not None:
            self._times[key] = revision.times
        for scaling in autoscalers(simulation, {key: controller}):
            simulation.controllers.setdefault(scaling.key, scaling)
            simulation.clock.wake(scaling.key)
        _wait_as_changed(simulation, revision, controller)

    def _look(self) -> None:
        """A quiet moment, which gets a row."""
        is_begun = self.simulation.clock.tick >= 0  # else it is as it was before the change
        for key, moment in self._moments_now().items():
            if key not in self._early:
                self.moments[key].append(moment)
            elif is_begun:
                self._passed[key].append(moment)
        self._unseen = []
        if self._watch is not None:
            self._watch(self.simulation)

    def _moments_now(self) -> dict[str, Moment]:
        simulation, moments = self.simulation, dict[str, Moment]()
        for pod in dict.fromkeys(simulation.pods.news[self._read :]):
            if key := self.workload_of(pod):
                self._counts[key].take(pod)
            elif (
                self._early and (key := workloads_by_owner(simulation.cluster).get(pod.owner, pod.owner)) in self._early
            ):
                self._early[key].take(pod)
        self._read = len(simulation.pods.news)
        everywhere = held_resources(simulation.state)
        for key, counted in (*self._counts.items(), *self._early.items()):
            moment = counted.moment(simulation.clock.tick - self._waits, everywhere, simulation.pods.maturing)
            if self._is_timed:
                moment = replace(moment, seconds=self._clock.seconds, events=tuple(self._unseen))
            moments[key] = moment
        return moments

    def _times_of(self, pod: LivePod) -> PodTimes | None:
        return self._times.get(self.workload_of(pod)) if self._times else None

    def _come(self, event: Revision | Happening) -> None:
        """Play an event that is due: a change that begins, a change of what is rolling out already, or what happens to nodes and pods.
        The evictions that follow from it are put among `later`; events that it lifts are taken out."""
        is_again = isinstance(event, Revision) and event.after.key in self.controllers
        if is_again or isinstance(event, Happening):
            self.came.append(event)
            self.happened += [] if all(self.done.values()) else [event]
            is_for_nobody = (
                isinstance(event, Happening) and event.puts_out and not evict_by_taint(self.simulation, event)
            )
            self._unseen += [] if is_for_nobody else [event.words]
        if isinstance(event, Revision):
            (self._change if is_again else self._begin_later)(event)
        else:
            apply_event(self.simulation, event, self.workload_of, self._clock.seconds)
            evicting = evictor(self.simulation, event)
            self._evictors += [evicting] if evicting is not None else []
            for name in event.silences:
                here = self.simulation.pods.on(self.simulation.cluster.node_index[name])
                specs = (pod.shape.spec for pod in here if not pod.is_terminating)
                place = self.simulation.cluster.node_index[name]
                evicting_them = evictions_on(self.simulation.cluster, place, self._clock.seconds, specs)
                self.later = sorted((*self.later, *evicting_them), key=_time_of)
            if event.expels is not None:
                for name in event.tainted:
                    due = taint_evictions.scheduled((e for e in self.later if isinstance(e, Happening)), name)
                    here = self.simulation.pods.on(self.simulation.cluster.node_index[name])
                    free = [pod for pod in here if pod.number not in due]
                    evicting_them = taint_evictions.evictions_on(name, event.expels, self._clock.seconds, free)
                    self.later = sorted((*self.later, *evicting_them), key=_time_of)
            self.later = [left for later_event in self.later if (left := self._left_of(later_event, event)) is not None]
            for stage in event.stages[:1]:
                # The next batch of an upgrade begins once this one's nodes are empty (`_due`), and at the latest then:
                # a budget may never let a pod go. From here on `after_seconds` counts from the start of the run.
                latest = self._clock.seconds + stage.after_seconds
                self._stages.append(replace(stage, after_seconds=latest, stages=event.stages[1:]))
                self.later = sorted((*self.later, self._stages[-1]), key=_time_of)

    def _left_of(self, later: Revision | Happening, came: Happening) -> Revision | Happening | None:
        """What is left of a later event after one that took a taint away; None of an eviction that is canceled by it."""
        if not isinstance(later, Happening) or later.expels is None or later.puts_out not in came.opens:
            return later
        happenings = [event for event in self.came if isinstance(event, Happening)]
        taints = taint_evictions.executing_now(self.simulation.cluster, later.puts_out, happenings)
        here = self.simulation.pods.on(self.simulation.cluster.node_index[later.puts_out])
        return taint_evictions.left_of(later, taints, here)

    def _begin_later(self, revision: Revision) -> None:
        self._begin([revision])
        self._look()  # as it was before

    def _due(self, *, is_at_rest: bool) -> Revision | Happening | None:
        """What comes now, taken from what was to come; at rest that is the next, whenever it was to."""
        simulation = self.simulation
        for stage in self._stages:
            # A stage of an upgrade comes as soon as its nodes are empty; its seconds only say when it comes at the
            # latest.
            if is_emptied(simulation, stage.nodes_go):
                self._stages.remove(stage)
                self.later.remove(stage)
                return stage
        if not self.later or not (is_at_rest or self.later[0].after_seconds < self._clock.next(simulation)):
            return None
        now = self.later.pop(0)
        if not is_at_rest:
            self._clock.interrupt(simulation, now.after_seconds)
        if isinstance(now, Happening) and now in self._stages:
            self._stages.remove(now)
            return replace(now, words=f"{now.words}, with pods that budgets never let go")
        return now

    def _is_over(self, *, is_at_rest: bool = False) -> bool:
        """Let everybody do what they can: whether all is done, or nothing moves any more. At rest the next change comes,
        whenever that is."""
        simulation = self.simulation
        self._settle()
        while (now := self._due(is_at_rest=is_at_rest)) is not None:
            for key, moment in self._moments_now().items():
                self._passed[key] += [moment] if self.moments[key] or key in self._early else []
            self._come(now)
            is_at_rest = False
            self._settle()
        self._look()
        for key in self.moments:
            controller = self.controllers.get(key)
            is_done = (
                controller is not None and controller.is_complete(simulation) and not self._awaits_ends(controller)
            )
            is_done = is_done and self.changed[key].never is None
            self.done[key] = is_done
            if not is_done or self.finished_at[key] < 0:
                self.finished_at[key] = simulation.clock.tick - self._waits if is_done else -1
                self.finished_moment[key] = len(self.moments[key]) - 1 if is_done else -1
        if all(self.done.values()) and not any(self._is_awaited(event) for event in self.later):
            return True
        is_moving = simulation.is_moving
        if is_moving:
            self._note_awaited(of_others=True)
            return False
        # Nothing moves by itself any more. What may go on without an event is tried first: a pause of its steps that
        # ends, a volume that is detached by force after 6 min, pods that a quota refused. Then the next event comes.
        if self._goes_on():
            self._note_awaited("waits for a promotion, or for a pause to end")
            return self._is_over()
        if self._detach_by_force():
            self._note_awaited("waits until a volume is detached by force")
            return self._is_over()
        waited = simulation.wait(PATIENCE_MS)
        if waited:
            self._note_awaited("waits until a quota lets in the pods that it refused")
        self.retried |= waited > 0
        self._clock.seconds += waited / 1_000
        if simulation.is_moving:
            return False
        if not self.later:
            return True
        self._note_awaited("waits for what comes next")
        self._wait_for(self.later[0])
        return self._is_over(is_at_rest=True)

    def _note_awaited(self, words: str = "", *, of_others: bool = False) -> None:
        """What those wait for of whom nothing moves at the last quiet moment, since the run goes on."""
        pods = self.simulation.pods
        moving = {pod.owner: pod for pod in (*pods.starting, *pods.terminating, *pods.maturing)} if of_others else {}
        above = workloads_by_owner(self.simulation.cluster) if moving else {}
        names = {self.workload_of(pod) or above.get(owner) or owner or pod.name for owner, pod in moving.items()}
        of_none = _awaits_words(names, words)  # what those wait for none of whose pods are among them: worked out once
        for key, moments in self.moments.items():
            awaits = _awaits_words(names - {key}, words) if key in names else of_none
            if moments and awaits:
                self.awaited[key][len(moments) - 1] = "is complete" if self.done[key] else awaits

    @staticmethod
    def _is_awaited(event: Revision | Happening) -> bool:
        """Whether it may undo what is done, so that a run isn't over before it has come: a Deployment that was rolled out is scaled, or loses
        a node, and what it comes to then is the answer."""
        return isinstance(event, Revision) or event.prolongs

    def _awaits_ends(self, controller: RolloutController) -> bool:
        """Whether pods of it are still to go. ``kubectl rollout status`` doesn't wait for those that a silent node keeps."""
        pods = self.simulation.pods
        if not pods.silent or not controller.is_terminating(self.simulation):
            return controller.is_terminating(self.simulation)
        return any(pod.is_terminating and not pods.never_ends(pod) for pod in controller.all_pods(self.simulation))

    def _is_counted(self) -> bool:
        """Whether the rest is certain: then it is counted, not played."""
        simulation = self.simulation
        if not self._may_count or simulation.clock.tick >= _LOOKS:
            return False
        ((key, controller),) = self.controllers.items()
        pods_to_replace = remainder(simulation, self.revisions[0].after, controller)
        if pods_to_replace is None:
            return False
        old = (pods_to_replace.old or pods_to_replace.new)[0].shape
        if pods_to_replace.old:
            simulation.tell_of_end(old)
        self._played, counts = self.moments[key], copy(self._counts[key])
        moments = self.moments[key] = [*self._played]
        for numbers in pods_to_replace.course:
            simulation.clock.tick += 1
            moments.append(counts.step(simulation.clock.tick, moments[-1].held, old, pods_to_replace.shape, numbers))
        self.touched += [pod for pod in pods_to_replace.old if not pod.is_terminating]
        self.done[key], self.finished_at[key] = True, simulation.clock.tick
        self.finished_moment[key] = len(moments) - 1
        self._remainder, self._left = pods_to_replace, simulation.work.left
        return True

    def played_on(self) -> Run:
        """Where its end was counted: the same, played from there on. Once only, since the pods are the same, too. It may cost what it might
        have cost then, whatever else was asked since, and whether or not the caller still waits."""
        run, simulation = copy(self), self.simulation
        simulation.work = simulation.pods.work = WorkBudget(self._left)
        run._may_count, run._remainder, simulation.clock.tick = False, None, self._played.pop().tick
        run.moments = dict.fromkeys(self.moments, self._played)
        run.done, run.finished_at = dict.fromkeys(self.done, False), dict.fromkeys(self.finished_at, -1)
        run.finished_moment = dict(run.finished_at)
        return run._play_on()

    @property
    def is_counted(self) -> bool:
        return self._remainder is not None

    @property
    def to_come(self) -> int:
        """How many new pods aren't there yet, where the end was counted."""
        return 0 if self._remainder is None else self._remainder.to_come

    def _settle(self) -> None:
        """Until no controller has anything left to do; then those who evict pods ask again, as kubectl does every 5 s."""
        self.simulation.settle()
        evictor_progress = [node_evictor.ask() for node_evictor in self._evictors]  # each of them
        if any(evictor_progress):
            self.simulation.settle()

    def _goes_on(self) -> bool:
        """Whether a pod waited for nothing but time, or for a promotion, and now goes on."""
        waiting = [
            controller
            for controller in self.simulation.controllers.values()
            if isinstance(controller, RolloutController)
        ]
        promoted = {r.after.key for r in self.revisions if r.is_promoted}
        go_on = [
            controller.go_on(self.simulation, may_promote=controller.key in promoted) for controller in waiting
        ]  # each of them
        return any(go_on)

    def _detach_by_force(self) -> bool:
        """Whether volumes that pods wait for are taken off nodes that are gone or don't answer, which takes some minutes."""
        at = self._clock.seconds + FORCED_DETACH_SECONDS
        if self.later and self.later[0].after_seconds < at:
            return False
        if not self.simulation.attachments.detach_by_force():
            return False
        self._clock.seconds = at
        self._unseen.append(f"volumes are detached by force, after {duration(FORCED_DETACH_SECONDS)}")
        return True

    def _wait_for(self, event: Revision | Happening) -> None:
        """Nothing happens until it comes: a step of its own in which only time passes, where it is an event."""
        if event.after_seconds != WHEN_AT_REST:
            self._clock.seconds = max(self._clock.seconds, event.after_seconds)
        elif isinstance(event, Happening):
            self._clock.seconds += event.takes_seconds
        if isinstance(event, Happening) and not event.puts_out:
            self.tick_ends.append(self._clock.seconds)
            self.simulation.tick()
            self._waits += 1
        elif isinstance(event, Happening):
            self.simulation.queue.time_passes()

    def _keep_rest(self) -> None:
        simulation = self.simulation
        waiting = simulation.queue.pods() if self._keeps_rests else []
        if waiting or (self._keeps_rests and simulation.snapshot.capacity_buffers):
            self.rests.append(
                QuietMoment(
                    tick=simulation.clock.tick, seconds=self._clock.seconds, until_seconds=self._clock.next(simulation),
                    position=simulation.state.position, waiting=tuple(copy(pod) for pod in waiting),
                )
            )  # fmt: skip

    def _end(self) -> None:
        simulation, controllers = self.simulation, self.controllers
        self.completed = all(self.done.values())
        self.ticks = (
            max(self.finished_at.values(), default=0) if self.completed else simulation.clock.tick - self._waits
        )
        self.status = {key: controllers[key].status(simulation) for key in self.moments}
        self.pods = {key: tuple(controllers[key].all_pods(simulation)) for key in self.moments}
        # The rest was computed in closed form: the controllers stopped before it, and their counts aren't the end's.
        if self._remainder is not None:
            self.status, self.pods = (
                dict.fromkeys(self.status, self._remainder.status),
                dict.fromkeys(self.pods, tuple(self._remainder.new)),
            )
        self.choices = simulation.choices + simulation.scheduler.choices + simulation.attachments.choices
        self.orders = simulation.orders
        self.work = simulation.units_before - simulation.work.left
        self.owners = {key: controllers[key].owners() for key in self.moments}
        scaled = {key: controller.replicas for key, controller in controllers.items() if is_scaled(controller)}
        self.replicas = {r.after.key: scaled.get(r.after.key, r.after.replicas) for r in self.revisions}
        self.new_shapes = {key: p.shape for p in simulation.queue.arrivals if p.is_new and (key := self.workload_of(p))}
        self.promotions = {key: controller.promotions for key, controller in controllers.items()}
        self.waits_for = {key: controller.waits_for for key, controller in controllers.items()}

    def workload_of(self, pod: LivePod) -> str:
        """The key of the changed workload a new pod belongs to; "" for none."""
        owner_key = self._keys.get(pod.owner)
        if owner_key is None:
            keys = (key for key, controller in self.controllers.items() if pod.owner in controller.owners())
            owner_key = self._keys[pod.owner] = next(keys, "")
        return owner_key

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def verdict(self, key: str) -> Verdict:
        """Of a changed workload."""
        if self.done[key]:
            return Verdict.EVICTIONS_BY_QUEUE if self.changed[key].evicts else Verdict.COMPLETES
        return Verdict.UNKNOWN if self.is_cut else Verdict.STUCK

    def lowest_ready(self, key: str) -> int:
        """The fewest Ready pods of a changed workload at any quiet moment since its change. Where that comes later than the first of all,
        moments before it count as far as pods were lost in them: pods that were missing then are no work of the changes."""
        own, before = self.moments[key][1:], self._passed[key]
        ready_before = before[0].ready if before and before[0] not in own else 0
        return min(
            [*(moment.ready for moment in own), *(moment.ready for moment in before if moment.ready < ready_before)]
        )

    def most_pods(self, key: str) -> int:
        """The most pods of a changed workload at any quiet moment since the change, terminating ones included."""
        return max(moment.pods for moment in self._since_the_change(key))

    def _since_the_change(self, key: str) -> list[Moment]:
        return [*self.moments[key][1:], *self._passed[key]]

    def is_others(self, pod: LivePod) -> bool:
        """Whether no changed workload owns it."""
        return not any(pod.owner in owners for owners in self.owners.values())

    def whole(self) -> Run:
        """This run, where what it came to is to be built on.

        Raises
        ------
        TooLargeError
            When it was cut: what it came to isn't known.
        """
        if self.is_cut:
            raise too_large()
        return self

    @property
    def waiting(self) -> tuple[LivePod, ...]:
        """Pods never placed at the end."""
        return tuple(self.simulation.queue.pods())


def simulate(
    cluster: Cluster,
    revisions: Sequence[Revision],
    *,
    bound: Bound | None = None,
    keeps_rests: bool = False,
    watch: Watcher | None = None,
    may_count: bool = False,
    evicts_after: float | None = None,
    **way: Unpack[RunOptions],
) -> Run:
    """Apply the changes back to back and let the cluster run until nothing moves.

    Parameters
    ----------
    bound : Bound or None
        To which bound of their autoscalers metrics bring all others.
    keeps_rests : bool
        `Run.rests` is kept.
    watch : Callable or None
        Called at each moment that is counted (`Run.moments`).
    may_count : bool
        An end that is certain needn't be played (`planner.rollout.closed_form_finish`): who asks goes by what the moments tell.
    evicts_after : float or None
        After so many seconds the pods on silent nodes are evicted, `inf`: never; None: when their tolerations say so.
    way : RunOptions
        How it is played. The same seed gives the same run; without `never_ready` the revisions say which pods never are.
    """
    pods = (index for revision in (revisions if cluster.waiting else ()) for index in pods_of(cluster, revision.after))
    simulation = Simulation(cluster, own=frozenset(i for i in pods if cluster.snapshot.pods[i].waits), **way)
    simulation.replacement = lambda pod: registry.replacing(simulation, pod)
    changed = [r.after for r in revisions]
    evicting_them = [] if evicts_after == inf else evictions_met(cluster, changed)
    if evicts_after is not None:
        evicting_them = [replace(eviction, after_seconds=evicts_after) for eviction in evicting_them]
    later = cluster.later or evicting_them
    # An event may reach any rollout in flight: with one to come all are played, and not only those that the changes can
    # meet.
    others = (all_in_flight if simulation.is_thorough or later else interfering)(cluster, changed, bound)
    is_alone = len(revisions) == 1 and not (others or later or keeps_rests or watch or simulation.is_thorough)
    may_count = may_count and is_alone and revisions[0].is_plain
    run = Run(
        simulation,
        revisions,
        others,
        keeps_rests=keeps_rests,
        watch=watch,
        may_count=may_count,
        evictions=evicting_them,
    )
    if way.get("never_ready") is None:
        run.let_fail()
    return run.play()


def simulate_alone(cluster: Cluster, revision: Revision) -> Run:
    """The same of one change, without the waiting pods that it doesn't meet; what they come to isn't played."""
    is_met = cluster.later or revision.evicts or evictions_met(cluster, [revision.after])
    left_out = None if is_met else bystanders(cluster, revision.after)
    if left_out is not None:
        run = simulate(cluster, [revision], left_out=left_out.lines)
        if stayed_apart(run.simulation, left_out):
            return run
    return simulate(cluster, [revision])


def _wait_as_changed(simulation: Simulation, revision: Revision, controller: RolloutController) -> None:
    """Another ``minReadySeconds`` is another answer to which of the Ready pods are available."""
    seconds = revision.after.min_ready_seconds
    if revision.before is None or revision.before.min_ready_seconds == seconds:
        return
    for pod in controller.all_pods(simulation):
        is_young = pod.is_ready and simulation.clock.now - pod.ready_at < seconds
        if is_young and not pod.is_maturing:
            simulation.pods.let_mature(pod)
        elif not is_young:
            pod.is_maturing = False
        simulation.pods.tell(pod)


def _started(simulation: Simulation, revision: Revision) -> RolloutController:
    after, placed = revision.after, revision.placed
    if placed is not None:
        if not without_scale(after.key):
            simulation.scales[after.key] = (after.key, placed.pods)
        return PlacedController(after, placed)
    return registry.start(
        simulation, revision.after, before=revision.before, has_new_template=revision.has_new_template
    )
