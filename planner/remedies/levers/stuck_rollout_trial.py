"""Tries a change on a stuck rollout, and makes a remedy of it if the rollout then completes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from planner.capacity.eviction_simulation import with_uncordoned
from planner.capacity.scale_up_simulation import waiting_shape
from planner.ground.records import Record, replace
from planner.ground.words import Text
from planner.kubernetes import shell_commands
from planner.kubernetes.accelerator_units import units_of
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.object_records import Node, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.strategic_merge_patch import as_yaml
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.user_change_steps import (
    after_change,
    before_change,
    comes_with_change,
    cure_of,
    with_cure,
)
from planner.remedies.random_draw_checks import ends_on_the_way, holds_under_chance, preempted_of_others
from planner.rollout.answers import Remedy, Step
from planner.rollout.in_flight import is_midway, perhaps_in_flight
from planner.rollout.pod_durations import PodTimes, seconds_at
from planner.rollout.room_when_empty import RoomWhenEmpty
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.stuck_diagnosis import Impasse
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape

Grow = Callable[[Cluster, Node, int], Cluster]


class StuckRollout(Record, kw_only=False, eq=False, dict=True):
    """A stuck rollout and how to try something else on it."""

    cluster: Cluster
    revisions: Sequence[Revision]
    place: int
    run: Run
    why: Impasse
    pod_times: PodTimes
    seed: int
    grown: Grow
    reached: list[str]  # limits of a search that was reached, in words
    arrival: float | None  # seconds until a new node takes pods, where that is given

    @property
    def workload(self) -> Workload:
        return self.revisions[self.place].after

    @property
    def revision(self) -> Revision:
        return self.revisions[self.place]

    def attempt(self, workload: Workload, cluster: Cluster | None = None, *, draws: bool = True) -> Run | None:
        """The run in which the rollout of `workload`, instead of what it is, completes; None where it doesn't."""
        return self.played(self.with_workload(workload), cluster, draws=draws)

    def with_workload(self, workload: Workload) -> list[Revision]:
        """The changes, of which the stuck one comes to this."""
        changed = list(self.revisions)
        changed[self.place] = replace(changed[self.place], after=workload)
        return changed

    def played(
        self, revisions: Sequence[Revision], cluster: Cluster | None = None, *, draws: bool = True
    ) -> Run | None:
        """The same of all changes; others that are scaled for it come to rest, too: they are waited for. Without `draws` in one
        placement, which is enough to search with."""
        cluster = cluster or self.cluster
        workload = next(r.after for r in revisions if r.after.key == self.workload.key)
        if workload.template is self.workload.template and self.room.is_short(cluster, workload):
            return None
        if perhaps_in_flight(self.cluster):  # an unseen pod may take what it would have
            return None
        run = simulate(cluster, revisions, seed=self.seed)
        return run if self._helps(run) and (not draws or self.holds(run)) else None

    def holds(self, run: Run) -> bool:
        """Whether what was played in one placement, and helps there, does so whatever chance decides."""
        return holds_under_chance(run.simulation.cluster, run.revisions, run, self._helps, seed=self.seed)

    def _helps(self, run: Run) -> bool:
        other_keys = {r.after.key for r in self.revisions} - {self.workload.key}
        return all(is_done for key, is_done in run.done.items() if key not in other_keys)

    @cached_property
    def room(self) -> RoomWhenEmpty:
        return RoomWhenEmpty.of(self.run, self.revisions[self.place])

    @cached_property
    def shape(self) -> Shape | None:
        return waiting_shape(self.run, self.workload.key)

    def lowest_ready(self, run: Run) -> int:
        return run.lowest_ready(self.workload.key)

    def seconds(self, run: Run) -> float:
        """Until it is complete, from the first step on: what is waited for before it counts, as in the certificate."""
        key = self.workload.key
        return run.waited[key] + seconds_at(run.moments[key], self.pod_times, run.tick_ends)[-1]

    def lent(
        self, lent: Sequence[Revision], revisions: Sequence[Revision] | None = None, *, draws: bool = True
    ) -> Run | None:
        """The run in which others are scaled first and the changes come once they are at rest, as the printed steps wait for them."""
        later = self.revisions if revisions is None else revisions
        if len(later) == 1 and not is_midway(self.cluster, [self.workload.key]):
            later = [replace(rollout, after_seconds=WHEN_AT_REST) for rollout in later]
        return self.played([*lent, *later], draws=draws)

    def at_worst(self, run: Run) -> str:
        """``at worst 3 of 4 Ready``."""
        return f"at worst {self.lowest_ready(run):,} of {self.workload.pods_wanted:,} Ready"

    def availability(self, run: Run) -> str:
        """The same of what adds no node, and that the service is down where no pod is Ready."""
        if self.lowest_ready(run) == 0:
            return "no pod is Ready for a while: the service is down while new pods start"
        gpu_resources = [name for name in pod_requests(self.workload.template.spec) if is_gpu_resource(name)]
        extra = f", no extra {units_of(self.cluster.snapshot).nouns(gpu_resources).one}" if gpu_resources else ""
        return f"{self.at_worst(run)}{extra}"

    def in_way(self, way: LeverPosition) -> Remedy | None:
        """The way out that a position of its own knob is; None where it doesn't complete."""
        changed = list(self.revisions)
        changed[self.place] = way.revised(self.revision)
        run = self.played(changed, way.happens_to(with_uncordoned(self.cluster, way.opens)))
        if run is None:
            return None
        return self.remedy(way, way.costs.format(self.at_worst(run)) or self.availability(run), run)

    def first_of(self, ways: Iterable[LeverPosition]) -> Iterator[Remedy]:
        """The first of them that completes."""
        yield from islice(filter(None, map(self.in_way, ways)), 1)

    def remedy(
        self, way: LeverPosition, sentence: str, run: Run, *, title: str = "", step: Step | None = None, first: tuple[Step, ...] = (),
        first_seconds: float = 0.0, last: tuple[Step, ...] = (), last_seconds: float = 0.0, disturbs: int = 0, **more: Any,
    ) -> Remedy:  # fmt: skip
        """The way out: `first`, the `step` that cures or what its own knob does, the change itself, `last`; waited for in between. `more`: of
        `Remedy`."""
        assert way.kind is not None
        preempted = preempted_of_others(run, [r.after.key for r in self.revisions])
        # A resize may answer before its node takes pods (EKS, AKS): the wait covers what comes first, as the certificate's does.
        seconds = first_seconds + self.seconds(run)
        own = list(before_change(self.revision, way)) if step is None else [step]
        changed = list(with_cure(self.revision, way, run, seconds))
        cure = changed[0] if comes_with_change(self.revision, way) else cure_of(self.revision, way)
        done = [*first, *own, *changed]
        back = [*after_change(self.revision, way), *last]
        # What is lent, and what has to be done in its time, is no cure by itself.
        is_whole = bool(first or way.then) or way.replicas is not None
        on_failure = [undo for done_step in done if done_step.is_lent for undo in done_step.undo]
        # Which of the pods that wait comes to a node that opens is played in one placement.
        is_open = bool(way.opens and self.cluster.waiting)
        whole = shell_commands.chain(_commands(done), always=_commands(back), on_failure=on_failure)
        return Remedy(
            kind=way.kind, title=title or way.title, sentence=Text(f"{sentence}; {ends_on_the_way(preempted)}" if preempted else sentence),
            disturbs=disturbs + way.disturbs + preempted, lowest_ready=self.lowest_ready(run), replicas=self.workload.pods_wanted,
            seconds=seconds + last_seconds, patch_yaml=as_yaml(way.patch) if way.patch else "",
            command=whole if is_whole else shell_commands.chain(_commands([*own, *([cure] if cure else [])])),
            steps=(*done, *back), is_proven=not is_open and holds_in_every_placement(run.whole(), run.revisions), events=way.events,
            **{"change": way.change, **more},
        )  # fmt: skip


def _commands(steps: Iterable[Step]) -> list[str]:
    return [command for step in steps for command in step.commands]
