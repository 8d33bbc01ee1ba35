"""Ways out of a stuck rollout: each is simulated before it is offered, and says what it costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.vocabulary import is_extended_resource
from planner.ground.words import Text, duration, listing, plural, short_name
from planner.inventory.applied import MANIFEST
from planner.kubernetes import commands
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.autoscalers import autoscalers_of, moves_between, settled
from planner.kubernetes.kinds import DEPLOYMENT, ROLLING_UPDATE
from planner.kubernetes.nodes import arrival_seconds, gpu_count, node_pool
from planner.kubernetes.patches import Object, as_yaml
from planner.kubernetes.records import FrozenMap, Node, PodSpec, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.shares import rolling_limits
from planner.kubernetes.units import units_of
from planner.remedies import limits, steps
from planner.remedies.levers import most_wanted
from planner.remedies.new_nodes import NewNode, new_nodes_of
from planner.remedies.scenario import ends_on_the_way, holds_under_chance, preempted_of_others
from planner.rollout.admission import usage
from planner.rollout.answers import Reason, Remedy, RemedyKind, Step
from planner.rollout.in_flight import in_flight, perhaps_in_flight
from planner.rollout.own_ways import OwnWay, own_ways, recreate_way, rolling_way
from planner.rollout.ownership import pods_by_owner, pods_of, sets_by_owner, workloads_by_key
from planner.rollout.room import RoomWhenEmpty, has_room, kept_nodes
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.ties import is_refused, is_too_large_for_its_node
from planner.rollout.timing import PodTimes, seconds_at
from planner.rollout.verdict import Impasse, rivals, workload_of
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import daemons_on, empty_copy
from planner.scheduling.filters import Fails, fails
from planner.scheduling.happening import Happening
from planner.scheduling.shape import Shape, Static, compile_shape

_UNBOUNDED = 2**62  # of a quota that is out of the way


Grow = Callable[[Cluster, Node, int], Cluster]


def grown(cluster: Cluster, template: Node, number: int) -> Cluster:
    """With so many more nodes like one of its own, empty but for what DaemonSets take."""
    return cluster.grown(tuple(empty_copy(cluster, template, i) for i in range(number)))


class _Case(Record, kw_only=False, eq=False, dict=True):
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

    def attempt(self, workload: Workload, cluster: Cluster | None = None, *, draws: bool = True) -> Run | None:
        """The run in which the rollout of `workload`, instead of what it is, completes; None where it doesn't."""
        changed = list(self.revisions)
        changed[self.place] = replace(changed[self.place], after=workload)
        return self.played(changed, cluster, draws=draws)

    def played(
        self, revisions: Sequence[Revision], cluster: Cluster | None = None, *, draws: bool = True
    ) -> Run | None:
        """The same of all changes; others that are scaled for it come to rest, too: they are waited for. Without `draws` in one
        placement, which is enough to search with."""
        cluster = cluster or self.cluster
        workload = next(r.after for r in revisions if r.after.key == self.workload.key)
        if workload.template is self.workload.template and self.room.is_short(cluster, workload):
            return None
        if perhaps_in_flight(self.cluster):  # somebody nobody sees may take what it would have
            return None
        run = simulate(cluster, revisions, seed=self.seed)
        asked = {r.after.key for r in self.revisions} - {workload.key}

        def helps(run: Run) -> bool:
            return all(is_done for key, is_done in run.done.items() if key not in asked)

        if not helps(run) or (draws and not holds_under_chance(cluster, revisions, run, helps, seed=self.seed)):
            return None
        return run

    @cached_property
    def room(self) -> RoomWhenEmpty:
        return RoomWhenEmpty.of(self.run, self.revisions[self.place])

    @cached_property
    def shape(self) -> Shape | None:
        """Of a pod that waits, a new one if one does."""
        waiting = [pod for pod in self.run.pods[self.workload.key] if not pod.is_bound]
        return next((pod.shape for pod in sorted(waiting, key=lambda pod: not pod.is_new)), None)

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
        own = {one.key for one in in_flight(self.cluster)}
        later = self.revisions if revisions is None else revisions
        if len(later) == 1 and self.workload.key not in own:
            later = [replace(one, after_seconds=WHEN_AT_REST) for one in later]
        return self.played([*lent, *later], draws=draws)

    def remedy(
        self, kind: RemedyKind, title: str, sentence: str, run: Run, *, patch: Object | None = None, step: Step | None = None,
        first: tuple[Step, ...] = (), first_seconds: float = 0.0, last: tuple[Step, ...] = (), last_seconds: float = 0.0,
        what: str = "", then: Step | None = None, disturbs: int = 0, **more: Any,
    ) -> Remedy:  # fmt: skip
        """The way out: `first`, the patch or step that cures, the change itself, `then`, `last`; waited for in between. `more`: of
        `Remedy`."""
        before = self.revisions[self.place].before
        preempted = preempted_of_others(run, [r.after.key for r in self.revisions])
        is_of_pods = patch is not None and "template" in patch["spec"]
        if patch and before is not None and is_of_pods:  # before the change it would be a rollout of its own
            step = then = steps.strategy_set(before, what or title, patch)
        elif patch and before is not None:
            step = steps.strategy_set(before, what or title, patch)
        elif patch:  # there is nothing to patch yet
            wanted = commands.comment(f"write it into {MANIFEST}: {json.dumps(patch)}").strip()
            step = Step(what=what or title, commands=(wanted,))
        cures = [] if step is None else [step]
        cure = commands.chain([one for step in cures for one in step.commands]) if cures else ""
        done = [*first, *(() if step is then else cures), *self._change(run, then)]
        return Remedy(
            kind=kind,
            title=title,
            sentence=Text(f"{sentence}; {ends_on_the_way(preempted)}" if preempted else sentence),
            disturbs=disturbs + preempted,
            lowest_ready=self.lowest_ready(run),
            replicas=self.workload.pods_wanted,
            seconds=first_seconds + self.seconds(run) + last_seconds,
            patch_yaml=as_yaml(patch) if patch else "",
            command=commands.chain(
                [one for step in done for one in step.commands],
                always=[one for step in last for one in step.commands],
                on_failure=[one for step in first for one in step.undo],
            )
            if first or (then and not is_of_pods)
            else cure,
            steps=(*done, *last),
            **more,
        )

    def _change(self, run: Run, then: Step | None) -> Iterator[Step]:
        """The change and the wait for it; what has to be done `then`, before it can end, comes before that wait."""
        step = steps.change(self.revisions[self.place], run, self.seconds(run))
        if then is None:
            yield step
        else:
            yield replace(step, commands=step.commands[:1])
            yield replace(then, commands=(*then.commands, *step.commands[1:]))


def find_remedies(
    cluster: Cluster,
    revisions: Sequence[Revision],
    key: str,
    run: Run,
    why: Impasse,
    pod_times: PodTimes,
    *,
    seed: int = 0,
    kinds: frozenset[RemedyKind] = frozenset(RemedyKind),
    grown: Grow = grown,
    reached: list[str] | None = None,
    arrival: float | None = None,
) -> Iterator[Remedy]:
    """Ways out for the stuck workload `key`, as they are found: another strategy first, if one does. Only those of `kinds` are looked
    for. Who asks for many workloads gives a `grown` that keeps the last few clusters. `reached` gets what is to be said of each limit
    of a search that was reached: none of its kind may be called the only one then, nor may it be said that there is none."""
    place = next(i for i, r in enumerate(revisions) if r.after.key == key)
    if is_refused(run, revisions[place]):
        return  # in any order, with any strategy, and wherever there is room
    case = _Case(
        cluster, revisions, place, run, why, pod_times, seed, grown, [] if reached is None else reached, arrival
    )
    if case.workload.owner is not None:
        kinds &= _LEAVES_IT
    if any(revision.queued is not None for revision in revisions):  # Kueue was asked for today's strategy only
        kinds -= {RemedyKind.SWITCH_STRATEGY}
    found = (
        remedy
        for kind, search, reasons in _SEARCHES
        if kind in kinds and (reasons is None or why.reason in reasons)
        for remedy in search(case)
    )
    many, is_alone = list[Remedy](), True
    for remedy in found:
        if remedy.lenders > limits.LENDERS_ALONE.most:
            many.append(remedy)
        else:
            is_alone = False
            yield remedy
    for remedy in many:  # many teams asked at once is no way out to show alone
        if is_alone:
            case.reached.append(limits.LENDERS_ALONE.reached(number=remedy.lenders, names=remedy.title))
        else:
            yield remedy


def preference(one: Remedy) -> tuple[int, bool, int, int, int, float]:
    """The order of ways out: what keeps all pods Ready for no money first; then what costs availability or money, no money first, most
    Ready first; last what ends pods of others, the fewest first."""
    is_free = not one.extra_nodes and one.lowest_ready >= one.replicas
    asks_many = one.lenders > limits.LENDERS_ALONE.most
    group = 0 if one.kind is RemedyKind.WAIT else 3 if one.disturbs or asks_many else 1 if is_free else 2
    return (
        group,
        bool(one.extra_nodes),
        one.disturbs + one.lenders * asks_many,
        -one.lowest_ready,
        _PREFERRED.index(one.kind),
        one.seconds,
    )


_LEAVES_IT: Final = frozenset({RemedyKind.WAIT, RemedyKind.FREE_CAPACITY, RemedyKind.RAISE_QUOTA, RemedyKind.ADD_NODE})
"""Those that set nothing on the workload itself: what another object made is set back by that one's controller."""

# Among equals in availability: what is simplest to do and to undo.
_PREFERRED = (
    RemedyKind.WAIT, RemedyKind.SWITCH_STRATEGY, RemedyKind.DELETE_PODS, RemedyKind.FIX_SELECTOR, RemedyKind.SCALE_DOWN_FIRST, RemedyKind.FREE_CAPACITY,
    RemedyKind.RAISE_QUOTA, RemedyKind.SMALLER_REQUEST, RemedyKind.RECREATE, RemedyKind.ADD_NODE,
)  # fmt: skip


# ── searches ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _wait(case: _Case) -> Iterator[Remedy]:
    """Others that are in flight give room back when they have rolled out: the change after them, as it is."""
    flying = [one.key for one in case.run.others if one.is_rolling]
    if not flying or case.cluster.later or any(one.key == case.workload.key for one in in_flight(case.cluster)):
        return
    run = case.played([replace(revision, after_seconds=WHEN_AT_REST) for revision in case.revisions])
    if run is None:
        return
    waited = run.waited[case.workload.key]
    waits = steps.waits_for(case.cluster, flying, max(waited, steps.SCALE_SECONDS))
    names = listing([short_name(key) for key in flying])
    yield case.remedy(
        RemedyKind.WAIT,
        f"Wait for {names}",
        f"{plural(len(flying), 'it is', 'they are')} rolling out now, for about {duration(waited)} more; then "
        f"{_at_worst(case, run)}, and nothing has to be changed",
        run,
        first=(Step(what=f"Wait until {names} {plural(len(flying), 'has', 'have')} rolled out", commands=waits),),
    )


def _other_strategy(case: _Case) -> Iterator[Remedy]:
    """Surge 0 with as few unavailable as completes, and today's surge with one more unavailable; of other projects' kinds in their own
    fields."""
    workload = case.workload
    if workload.traits.is_custom:
        yield from _first_of(case, RemedyKind.SWITCH_STRATEGY, own_ways(workload))
    elif workload.traits.is_per_node:
        ways = [] if is_too_large_for_its_node(case.run, case.revisions[case.place]) else [rolling_way((0, 1))]
        yield from _first_of(case, RemedyKind.SWITCH_STRATEGY, ways)
    elif workload.traits.surges_freely and workload.replicas:
        today = rolling_limits(workload) if workload.strategy.kind == ROLLING_UPDATE else (0, 0)
        pairs = dict.fromkeys(((0, 1), (today[0], today[1] + 1)))
        ways = [rolling_way(pair) for pair in pairs if pair != today and pair[1] <= workload.replicas]
        yield from _first_of(case, RemedyKind.SWITCH_STRATEGY, ways)


def _first_of(case: _Case, kind: RemedyKind, ways: Iterable[OwnWay]) -> Iterator[Remedy]:
    """The first of other strategies that completes."""
    for way in ways:
        run = case.attempt(replace(case.workload, strategy=way.strategy))
        if run is not None:
            patch = {"spec": {case.workload.traits.strategy_field: way.patch}}
            yield case.remedy(kind, way.title, _availability(case, run), run, patch=patch)
            return


def _smaller_first(case: _Case) -> Iterator[Remedy]:
    """Scale down, roll out, scale up again: for teams that may not touch the strategy.

    Not where a pod waits for the same nodes: it would take the place before the new pods come, or before the scaling back. Those
    of lower priority are pushed out again by pods that may.
    """
    workload = case.workload
    before = case.revisions[case.place].before
    if before is None or not (workload.traits.surges_freely and workload.replicas > 1):
        return
    shape = case.shape
    if shape is None:
        return
    least = shape.priority if shape.may_preempt else None
    if rivals(case.run, workload.key, shape, least_priority=least):
        return
    fewer = workload.replicas - 1
    run = case.attempt(replace(workload, replicas=fewer)) if _stays(case, workload, fewer) else None
    if run is None or not has_room(run, shape, 1):  # for the one that comes back
        return
    if _comes_to_rest(case, before, fewer):
        yield case.remedy(
            RemedyKind.SCALE_DOWN_FIRST,
            f"Scale to {fewer} first, and back afterwards",
            f"{fewer} of {workload.replicas} pods during the rollout, {_at_worst(case, run)}"
            f"{_may_be_moved(case, workload, fewer)}",
            run,
            first=(steps.scaled(workload, fewer),),
            last=(steps.scaled_back(workload),),
            last_seconds=case.pod_times.startup_seconds,
        )


def _comes_to_rest(case: _Case, workload: Workload, replicas: int) -> bool:
    """Whether a workload as it is today has so many pods Ready once it is scaled: that is waited for before the change is made. Pods
    that fail never are, and a Deployment that is midway may never go on (kubernetes#138036)."""
    scaled = Revision(before=workload, after=replace(workload, replicas=replicas), has_new_template=False)
    return simulate(case.cluster, [scaled], seed=case.seed).done[workload.key]


def _stays(case: _Case, workload: Workload, replicas: int) -> bool:
    """Whether no autoscaler sets other replicas as soon as it looks."""
    return settled(case.cluster.snapshot, replace(workload, replicas=replicas)) == replicas


def _may_be_moved(case: _Case, workload: Workload, replicas: int) -> str:
    is_moved = moves_between(autoscalers_of(case.cluster.snapshot, workload.key), replicas) is not None
    return "; its autoscaler may scale it back meanwhile" if is_moved else ""


def _another_node(case: _Case) -> Iterator[Remedy]:
    """Nodes like those of a pool that matches: as few as do. How many hangs on whose rollouts are in flight, and would take them."""
    if case.cluster.snapshot.lacks(DEPLOYMENT.name) or case.shape is None:
        return
    wanted = most_wanted(case.cluster, case.revisions)
    most = min(wanted, limits.NODES.most)
    for templates in _templates(case, case.shape):
        tried = [(one, _fewest(range(1, most + 1), partial(_with_nodes, case, one.template))) for one in templates]
        enough = [(*found, one) for one, found in tried if found is not None]
        if not enough:
            if wanted > most:
                pool = node_pool(templates[0].template) or templates[0].template.name
                case.reached.append(limits.NODES.reached(pool=pool))
            continue
        count, run, new = min(enough, key=lambda one: one[0])
        is_anywhere = len(enough) == len(tried) and all(number == count for number, *_ in enough)
        template, kept = new.template, len(kept_nodes(run, count))
        step = steps.nodes_added(case.cluster, template, count, place="" if is_anywhere else new.place)
        arrival = arrival_seconds(has_gpus=bool(gpu_count(template))) if case.arrival is None else case.arrival
        yield case.remedy(
            RemedyKind.ADD_NODE,
            step.what,
            f"the strategy stays as it is ({_at_worst(case, run)}); {_afterwards(count, kept)}",
            run,
            step=step,
            extra_gpus=count * gpu_count(template),
            extra_nodes=count,
            node_template=template.name,
            is_kept=kept > 0,
            kept_nodes=kept,
            first_seconds=arrival,
            arrival_seconds=arrival,
        )


def _afterwards(nodes: int, kept: int) -> str:
    """What becomes of added nodes: ``pods stay on 1 of them, the other node can go again afterwards``."""
    if not kept:
        return f"the {plural(nodes, 'node')} can go again afterwards"
    if kept == nodes:
        return f"pods stay on {plural(nodes, 'it', 'them')}"
    return f"pods stay on {kept:,} of them, the other {plural(nodes - kept, 'node', 'nodes')} can go again afterwards"


def _with_nodes(case: _Case, template: Node, count: int, draws: bool) -> Run | None:
    return case.attempt(case.workload, case.grown(case.cluster, template, count), draws=draws)


def _fewest(numbers: Sequence[int], attempt: Callable[[int, bool], Run | None]) -> tuple[int, Run] | None:
    """The fewest of `numbers` (ascending) with which the rollout completes, whatever chance decides: where the most don't do, fewer
    don't either. Searched in one placement (False), then tried in others (True), since each costs as much again."""
    too_few, enough = -1, len(numbers) - 1
    for place in (0, enough) if numbers else ():
        if attempt(numbers[place], False) is not None:
            enough = place
            break
        too_few = place
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if attempt(numbers[middle], False) is None:
            too_few = middle
        else:
            enough = middle
    if not numbers or too_few == enough or (run := attempt(numbers[enough], True)) is None:
        return None
    return numbers[enough], run


def _smaller_request(case: _Case) -> Iterator[Remedy]:
    """The largest request that would do, where cpu or memory is what is short and half of it is there."""
    shape, lacking = case.shape, case.why.lacking
    if shape is None or lacking not in (("cpu",), ("memory",)) or len(case.workload.template.spec.containers) != 1:
        return
    name = lacking[0]
    row = case.cluster.row[name]
    codes = fails(case.run.simulation.state, shape)
    nodes = np.flatnonzero(codes == Fails.RESOURCES)
    if not len(nodes):
        return
    asked = pod_requests(shape.spec)[name]
    step = 100 if name == "cpu" else 64 * 2**20
    free = int(case.run.simulation.state.free[row, nodes].max()) // step * step
    if free * 2 < asked or free <= 0:
        return
    template = case.workload.template
    smaller = compile_shape(case.cluster, shape.namespace, shape.labels, _asking(shape.spec, name, free))
    room = replace(case.room, shape=smaller)
    if case.room.shape is not None and room.is_short(case.cluster, case.workload):
        return
    run = case.attempt(replace(case.workload, template=replace(template, spec=_asking(template.spec, name, free))))
    if run is not None:
        text, container = format_amount(free, name), template.spec.containers[0].name
        resources: dict[str, dict[str, str]] = {"requests": {name: text}}
        yield case.remedy(
            RemedyKind.SMALLER_REQUEST,
            f"Ask for {text} {name} instead of {format_amount(asked, name)}",
            f"{_at_worst(case, run)}; only if the program can live with it",
            run,
            patch={"spec": {"template": {"spec": {"containers": [{"name": container, "resources": resources}]}}}},
        )


def _asking(spec: PodSpec, name: str, amount: int) -> PodSpec:
    """The spec of which the first container asks for so much."""
    first, *others = spec.containers
    return replace(spec, containers=(replace(first, requests=FrozenMap({**first.requests, name: amount})), *others))


def _larger_quota(case: _Case) -> Iterator[Remedy]:
    """The quotas that stand in the way, raised by what the surge needs, or else to the most that is ever used."""
    workload = case.workload
    if is_unstated(case.run, workload.key):
        return
    quotas = [q for q in case.cluster.snapshot.resource_quotas if q.namespace == workload.namespace]
    free = _with_quotas(case, {q.name: dict.fromkeys(q.hard, _UNBOUNDED) for q in quotas})
    if free is None:
        return
    admission = free.simulation.admission
    asked = usage(admission.prepare(workload.namespace, workload.template.spec, workload.template.labels))
    live = sum(1 for p in case.run.pods[workload.key] if not p.is_terminating)
    pods = max(1, rolling_limits(workload)[0], workload.replicas - live)
    surged: dict[str, dict[str, int]] = {}
    most: dict[str, dict[str, int]] = {}
    for quota in quotas:
        name = (quota.namespace, quota.name)
        first, peak = admission.used_at_first[name], admission.most_used[name]
        for key, bound in quota.hard.items():
            if peak.get(key, 0) > bound:
                most.setdefault(quota.name, {})[key] = peak[key]
            with_surge = min(peak.get(key, 0), first.get(key, 0) + pods * asked.get(key, 0))
            if with_surge > bound:
                surged.setdefault(quota.name, {})[key] = with_surge
    for raised in (surged, most):
        run = _with_quotas(case, raised) if raised else None
        if run is not None:
            yield _raise(case, raised, run)
            return


def is_unstated(run: Run, key: str) -> bool:
    """Whether quotas refuse its pods since they don't state what they ask for, whatever the bounds are and however few there are."""
    refusals = [refusal for owner in run.owners[key] if (refusal := run.refusals.get(owner))]
    return bool(refusals) and all(refusal.unstated for refusal in refusals)


def _raise(case: _Case, raised: Mapping[str, Mapping[str, int]], run: Run) -> Remedy:
    namespace = case.workload.namespace
    today = {quota.name: quota.hard for quota in case.cluster.snapshot.resource_quotas if quota.namespace == namespace}
    hard = [(name, key, today[name][key], amount) for name, keys in raised.items() for key, amount in keys.items()]
    amounts = ", ".join(f"{key} to {format_amount(amount, key)}" for _, key, _, amount in hard)
    return case.remedy(
        RemedyKind.RAISE_QUOTA,
        f"Raise the {plural(len(raised), 'quota')} {' and '.join(raised)}",
        f"{amounts}; {_at_worst(case, run)}",
        run,
        step=steps.quota_raised(namespace, hard),
        quota_hard=tuple((name, key, n) for name, keys in raised.items() for key, n in keys.items()),
    )


def _with_quotas(case: _Case, hard: Mapping[str, Mapping[str, int]]) -> Run | None:
    """The rollout with other bounds in the quotas of its namespace: quota → key → amount."""
    snapshot = case.cluster.snapshot
    quotas = tuple(
        replace(q, hard=FrozenMap({**q.hard, **hard[q.name]}))
        if q.namespace == case.workload.namespace and q.name in hard
        else q
        for q in snapshot.resource_quotas
    )
    return case.attempt(case.workload, case.cluster.with_snapshot(replace(snapshot, resource_quotas=quotas)))


def _other_holder(case: _Case) -> Iterator[Remedy]:
    """Another workload on the matching nodes, scaled down by as little as does."""
    shape = case.shape
    scarce = next((n for n in case.why.lacking if is_extended_resource(n)), None)
    if shape is None or scarce is None:
        return
    lenders = [
        other
        for other in case.cluster.snapshot.workloads
        if other.traits.surges_freely and other.key not in case.run.moments and other.replicas
        if other.owner is None  # whose controller would scale it back
        if scarce in pod_requests(other.template.spec) and _makes_room(case, shape, other)
    ]
    for other in lenders[: limits.LENDERS.most]:
        numbers = [n for n in range(1, other.replicas + 1) if _stays(case, other, other.replicas - n)]
        found = _fewest(numbers, partial(_without, case, other))
        if found is not None and _comes_to_rest(case, other, other.replicas - found[0]):
            count, run = found
            left, pods = other.replicas - count, "One pod" if count == 1 else f"{count:,} pods"
            shape_of_other = compile_shape(
                run.simulation.cluster, other.namespace, other.template.labels, other.template.spec
            )
            placed = case.revisions[case.place].placed
            can_wait = placed is None or bool(placed.resource and placed.waits)
            is_lent = can_wait and has_room(run, shape_of_other, count)
            until = "while rolling out" if is_lent else "until there is other room"
            yield case.remedy(
                RemedyKind.FREE_CAPACITY,
                f"{pods} of {other.namespace}/{other.name} fewer {until}",
                f"{left:,} of {other.replicas:,} {other.namespace}/{other.name}; {_at_worst(case, run)}"
                f"{_may_be_moved(case, other, left)}",
                run,
                first=(steps.scaled(other, left),),
                last=(steps.scaled_back(other),) if is_lent else (),
                disturbs=_ended(case, other, left),
                lenders=1,
            )
            return
    if len(lenders) > limits.LENDERS.most:
        case.reached.append(limits.LENDERS.reached(number=len(lenders)))


def _ended(case: _Case, other: Workload, left: int) -> int:
    """How many of its pods on nodes end where it is scaled to `left`: pending ones go first (`deletion_order`)."""
    pods = case.cluster.snapshot.pods
    return max(0, sum(pods[i].holds_room for i in pods_of(case.cluster, other)) - left)


def _without(case: _Case, other: Workload, count: int, draws: bool) -> Run | None:
    """The rollout while another workload has so many pods fewer; None where it doesn't complete."""
    fewer = Revision(before=other, after=replace(other, replicas=other.replicas - count), has_new_template=False)
    return case.lent([fewer], draws=draws)


def _makes_room(case: _Case, shape: Shape, other: Workload) -> bool:
    """Whether the waiting pod would fit on a node of `other` if all of its pods there went."""
    cluster, state = case.cluster, case.run.simulation.state
    owners = [r.uid for r in sets_by_owner(cluster).get(other.uid, ()) if r.replicas]
    indices = [i for uid in owners for i in pods_by_owner(cluster).get(uid, ())]
    names = Counter(cluster.snapshot.pods[i].node_name for i in indices)
    given = {cluster.row[n]: a for n, a in pod_requests(other.template.spec).items() if n in cluster.row}
    candidates = set(shape.candidates.tolist())
    for name, count in names.items():
        node = cluster.node_index.get(name)
        if node is not None and node in candidates:
            if all(int(state.free[row, node]) + count * given.get(row, 0) >= amount for row, amount in shape.asks):
                return True
    return False


def _without_rivals(case: _Case) -> Iterator[Remedy]:
    """Workloads that wait for the same nodes and would take what is freed, scaled to 0 while rolling out."""
    workload, shape = case.workload, case.shape
    if not workload.traits.surges_freely or shape is None:
        return
    workloads = workloads_by_key(case.cluster)
    keys = dict.fromkeys(workload_of(case.run, p) for p in rivals(case.run, workload.key, shape))
    others = [w for key in keys if (w := workloads.get(key)) is not None and w.traits.part and w.owner is None]
    if (
        not others
        or len(others) < len(keys)
        or case.attempt(replace(workload, strategy=_ONE_BY_ONE.strategy)) is not None
    ):
        return
    paused = [Revision(before=r, after=replace(r, replicas=0), has_new_template=False) for r in others]
    changed = list(case.revisions)
    changed[case.place] = replace(changed[case.place], after=replace(workload, strategy=_ONE_BY_ONE.strategy))
    run = case.lent(paused, changed)
    if run is not None and all(_comes_to_rest(case, one, 0) for one in others):
        names = listing([f"{r.namespace}/{r.name}" for r in others])
        whom = f"{len(others):,} workloads of others" if len(others) > limits.LENDERS_ALONE.most else names
        yield case.remedy(
            RemedyKind.FREE_CAPACITY,
            f"{_ONE_BY_ONE.title}, with {whom} at 0 replicas meanwhile",
            f"{_at_worst(case, run)}; without that, {names} may take the place of the first old pod",
            run,
            patch={"spec": {workload.traits.strategy_field: _ONE_BY_ONE.patch}},
            what=_ONE_BY_ONE.title,
            first=tuple(steps.scaled(one, 0) for one in others),
            last=tuple(map(steps.scaled_back, others)),
            disturbs=sum(_ended(case, other, 0) for other in others),
            lenders=len(others),
        )


_ONE_BY_ONE = rolling_way((0, 1))


def _other_selector(case: _Case) -> Iterator[Remedy]:
    """A node selector entry that no node satisfies, left out."""
    workload = case.workload
    spec = workload.template.spec
    for key in spec.node_selector:
        fewer = FrozenMap({k: v for k, v in spec.node_selector.items() if k != key})
        template = replace(workload.template, spec=replace(spec, node_selector=fewer))
        run = case.attempt(replace(workload, template=template))
        if run is not None:
            yield case.remedy(
                RemedyKind.FIX_SELECTOR,
                f"Without nodeSelector {key}={spec.node_selector[key]}",
                f"no usable node has that label; {_at_worst(case, run)}",
                run,
                patch={"spec": {"template": {"spec": {"nodeSelector": {key: None}}}}},
            )
            return


def _without_broken_pods(case: _Case) -> Iterator[Remedy]:
    """An ordered StatefulSet whose broken pod blocks its own cure: the pod is deleted once the change is there, and made of the new
    revision (`stateful_set_control.go` waits for it to get Ready otherwise; kubernetes.io, *Forced rollback*)."""
    old = (pod for pod in case.run.pods[case.workload.key] if pod.is_bound and not pod.is_ready and not pod.is_new)
    broken = [pod.name for pod in sorted(old, key=lambda pod: (pod.ordinal, pod.name))]
    if not broken:
        return
    namespace = case.workload.namespace
    event = Happening(after_seconds=WHEN_AT_REST, words="", deletes=tuple(f"{namespace}/{name}" for name in broken))
    run = case.played(case.revisions, case.cluster.expecting((*case.cluster.later, event)))
    if run is not None:
        what = f"Delete {plural(len(broken), 'pod')} {listing(broken)} after the change"
        yield case.remedy(
            RemedyKind.DELETE_PODS,
            what,
            f"{plural(len(broken), 'it is', 'they are')} not Ready today; {_at_worst(case, run)}",
            run,
            then=Step(what=what, commands=(commands.command("kubectl", "delete", "pod", *broken, "-n", namespace),)),
        )


_HELD = (Reason.HOLD_AND_WAIT,)
_SHORT = (*_HELD, Reason.INSUFFICIENT_RESOURCE)
# What is looked for, in this order, and for which reasons: None for all.
_SEARCHES: tuple[tuple[RemedyKind, Callable[[_Case], Iterator[Remedy]], tuple[Reason, ...] | None], ...] = (
    (RemedyKind.WAIT, _wait, None),
    (RemedyKind.SWITCH_STRATEGY, _other_strategy, None),
    (RemedyKind.RECREATE, lambda case: _first_of(case, RemedyKind.RECREATE, recreate_way(case.workload)), None),
    (RemedyKind.SCALE_DOWN_FIRST, _smaller_first, _HELD),
    (RemedyKind.ADD_NODE, _another_node, (*_SHORT, Reason.TOO_MANY_PODS)),
    (RemedyKind.SMALLER_REQUEST, _smaller_request, _SHORT),
    (RemedyKind.RAISE_QUOTA, _larger_quota, (Reason.QUOTA,)),
    (RemedyKind.FREE_CAPACITY, _other_holder, _SHORT),
    (RemedyKind.FREE_CAPACITY, _without_rivals, _HELD),
    (RemedyKind.FIX_SELECTOR, _other_selector, (Reason.NO_MATCHING_NODE,)),
    (RemedyKind.DELETE_PODS, _without_broken_pods, (Reason.POD_MANAGEMENT,)),
)


# ── pieces ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _templates(case: _Case, shape: Shape) -> list[list[NewNode]]:
    """Of each pool that matches the pod and is large enough for it when empty what a new node may be like, by the places it tells apart."""
    cluster, asked = case.cluster, pod_requests(shape.spec).items()
    matching = [
        i
        for i in np.flatnonzero(shape.static == Static.PASSES).tolist()
        if all(cluster.nodes[i].allocatable.get(name, 0) >= amount for name, amount in asked)
        and not cluster.remember(_pushes_daemons, i)
    ]
    found = [some for _, some in new_nodes_of(cluster, shape, matching, _pool_or_size, told=case.reached.append)]
    if len(found) > limits.POOLS.most:
        case.reached.append(limits.POOLS.reached(number=len(found)))
    return found[: limits.POOLS.most]


def _pool_or_size(node: Node) -> str:
    """A node's pool; of nodes without one those of a size are alike."""
    return node_pool(node) or f" {sorted(node.allocatable.items())}"


def _pushes_daemons(cluster: Cluster, place: int) -> bool:
    """Whether somebody who waits would push pods of DaemonSets out of a new node like that of a place, where their share is only set
    aside."""
    node = cluster.nodes[place]
    lowest = min((cluster.priority_of(one.template.spec) for one in daemons_on(cluster.snapshot, node)), default=None)
    if lowest is None:
        return False
    left = empty_copy(cluster, node, 0).allocatable
    mine = (asks for asks, priority in cluster.remember(_preempting) if priority > lowest)
    return any(
        left.get(name, 0) < amount <= node.allocatable.get(name, 0) for asks in mine for name, amount in asks.items()
    )


def _preempting(cluster: Cluster) -> list[tuple[Mapping[str, int], int]]:
    """What those who wait and may preempt ask for, and their priority."""
    pods = cluster.snapshot.pods
    waiting = {compile_shape(cluster, p.namespace, p.labels, p.spec) for p in (pods[i] for i in cluster.unbound)}
    return [(pod_requests(shape.spec), shape.priority) for shape in waiting if shape.may_preempt]


def _at_worst(case: _Case, run: Run) -> str:
    return f"at worst {case.lowest_ready(run):,} of {case.workload.pods_wanted:,} Ready"


def _availability(case: _Case, run: Run) -> str:
    lowest = case.lowest_ready(run)
    if lowest == 0:
        return "no pod is Ready for a while: the service is down while new pods start"
    held = [name for name in pod_requests(case.workload.template.spec) if is_gpu_resource(name)]
    extra = f", no extra {units_of(case.cluster.snapshot).nouns(held).one}" if held else ""
    return f"{_at_worst(case, run)}{extra}"
