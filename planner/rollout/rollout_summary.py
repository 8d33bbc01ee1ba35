"""The summary of one workload's rollout."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from planner.ground import garbage_collector
from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, listing, plural
from planner.ground.work_budget import part
from planner.kubernetes.object_records import Finding, Severity, Snapshot, Workload
from planner.kubernetes.owners import Unjudged, of_unknown_kinds
from planner.kubernetes.surge_and_unavailable import enough
from planner.rollout.answers import Reason, RolloutOutcome, Verdict
from planner.rollout.closed_form_rollout import certain_course
from planner.rollout.kueue_admission import admitted_revisions, crowded
from planner.rollout.ownership import pods_of
from planner.rollout.rollout_equivalence import surroundings
from planner.rollout.run import Revision, Run, simulate, simulate_alone
from planner.rollout.run_outcomes import after_evictions_words
from planner.rollout.silent_node_cures import cures, with_cures
from planner.rollout.simulation_limits import LIMITS
from planner.rollout.stuck_diagnosis import Impasse, explain
from planner.rollout.tie_break_sensitivity import fewest_ready, sample
from planner.rollout.unknowns import Unknown, is_blind, unknown_drivers, unknowns
from planner.rollout.verdict_wording import stay_ready
from planner.scheduling.cluster import Cluster

_PLACEMENTS: Final = 9


class OwnRollout(RolloutOutcome):
    """How a workload's own rollout would go."""

    lowest_ready: int = 0
    replicas: int = 0
    headline: Text = NO_WORDS
    is_growth_automatic: bool = False
    """Of what needs growth: whether autoscalers bring it, within limits that are known."""

    def keeps(self, share: float) -> bool:
        """Whether it completes and keeps such a share of its pods Ready."""
        return self.verdict is Verdict.COMPLETES and self.lowest_ready >= enough(share, self.replicas)


class OwnRollouts:
    """Workloads' own rollouts, each a question by itself; those that are alike have one answer. `ask`: as `glance`. `is_brief`: the
    headlines do for sentences, which may name others beside the rollout."""

    def __init__(
        self, cluster: Cluster, ask: Callable[[Cluster, Revision], Glance] | None = None, *, is_brief: bool = False
    ) -> None:
        self._cluster, self._ask, self._is_brief = cluster, ask or glance, is_brief
        self._known: dict[Hashable, tuple[OwnRollout, Callable[[Workload], Impasse] | None]] = {}

    @garbage_collector.resting()  # until the run is over and what it made in cycles may go
    def of(self, revision: Revision) -> OwnRollout:
        answer = self._answer(revision)
        return replace(answer, sentence=answer.headline) if self._is_brief else answer

    def _answer(self, revision: Revision) -> OwnRollout:
        workload, before = revision.after, revision.before
        alike = surroundings(self._cluster, workload, self._cluster)
        key = None if alike is None else (alike, before.strategy if before else None, revision.has_new_template)
        cached_rollout = self._known.get(key) if key is not None else None
        if cached_rollout is not None:
            answer, of = cached_rollout
            own_words = of(workload) if of else None
            return replace(answer, sentence=own_words.sentence, headline=own_words.headline) if own_words else answer
        with part():
            outcome = self._ask(self._cluster, revision)
        of = outcome.why.of if outcome.why is not None and outcome.answer.sentence == outcome.why.sentence else None
        # An answer that names pods or nodes isn't that of a workload that is alike, unless its words can be made anew
        # for it.
        names_objects = outcome.names_objects or (outcome.tells_others and not self._is_brief)
        if key is not None and (of or not names_objects):
            self._known[key] = outcome.answer, of
        return outcome.answer


def restarted(workload: Workload) -> Revision:
    """A revision with a changed template, and nothing else changed."""
    return Revision(before=workload, after=workload, has_new_template=True)


class Glance(Record):
    """How a rollout goes, in one placement and without ways out; `run` and `why` where it was simulated and is stuck.

    `names_objects`: see `Impasse`; what isn't known may lie in an object of the namespace. `tells_others`: the sentence
    alone names others: who takes nodes that come, or waits for them too.
    """

    answer: OwnRollout
    run: Run | None = None
    why: Impasse | None = None
    tells_others: bool = False

    @property
    def names_objects(self) -> bool:
        return self.answer.verdict is Verdict.UNKNOWN or (self.why is not None and self.why.names_objects)


def glance(cluster: Cluster, revision: Revision, along: Sequence[Revision] = ()) -> Glance:
    """A rollout by itself, or beside those `along` that are made with it: counted where its course is certain, simulated
    where it isn't."""
    *along, revision = admitted_revisions(cluster.snapshot, (*along, revision))
    workload = revision.after
    before = revision.before
    is_same = before is not None and before.template is workload.template and before.replicas == workload.replicas
    course = certain_course(cluster, workload) if is_same and revision.has_new_template and not along else None
    run: Run | None = None
    why: Impasse | None = None
    verdict, new = Verdict.COMPLETES, None
    if course is not None and course.completes:
        ticks, lowest = course.ticks, course.lowest_ready
    else:
        run = simulate(cluster, [*along, revision]) if along else simulate_alone(cluster, revision)
        run = _where_volumes_follow(cluster, [*along, revision], run)
        why = None if run.done[workload.key] else with_cures(explain(run, revision), cures(run, revision))
        verdict, new = run.verdict(workload.key), run.new_shapes.get(workload.key)
        revisions = (*along, revision)
        lowest = fewest_ready(
            run,
            revisions,
            workload.key,
            lambda seed: simulate(cluster, revisions, seed=seed, draws_order=True, draws_ends=True),
        )
        ticks = run.ticks
    unread = unknown_drivers(run, [workload.key]) if run is not None and why is not None else ()
    lacking = (*unknowns(cluster, revision, new), *(gap for _, gap in unread))
    # What could only make it worse is no gap in the answer to a rollout that is stuck anyway.
    unknown = next((u for u in lacking if u.may_help or not why), None)
    if unknown is None and why is None and (full := crowded(cluster, [*along, revision])):
        unknown = Unknown(what=full)
    replicas = len(nodes_with_pods(cluster, workload)) if workload.traits.is_per_node else workload.pods_wanted
    reason, headline = (why.reason, why.headline) if why else (Reason.NONE, Text(stay_ready(lowest, replicas)))
    completion_text = f"completes in {count(ticks, 'step')}; at worst {lowest:,} of {replicas:,} Ready"
    if why is None and revision.evicts:
        verdict = Verdict.EVICTIONS_BY_QUEUE
        completion_text, named = after_evictions_words(revision, completion_text, headline)
        headline = Text(named)
    sentence = why.sentence if why else Text(completion_text)
    if unknown is not None:
        reason = reason if why and not is_blind(cluster, revision) else Reason.UNKNOWN
        verdict, sentence, headline = Verdict.UNKNOWN, Text(f"not known: {unknown.what}"), Text(unknown.what)
        run, why, lowest = None, None, 0
    rollout_answer = OwnRollout(
        verdict=verdict, reason=reason, sentence=sentence, lowest_ready=lowest, replicas=replicas, headline=headline
    )
    return Glance(
        answer=rollout_answer, run=run if why else None, why=why, tells_others=why is not None and why.tells_others
    )


def _where_volumes_follow(cluster: Cluster, revisions: Sequence[Revision], run: Run) -> Run:
    """The run, and where new pods need a volume that one node has at a time the commonest of some: there placement decides, and the first
    is no better than any other."""
    needs = any(shape.storage.attached for shape in run.new_shapes.values())
    if not needs or not run.choices or run.is_cut:
        return run
    commonest, _ = sample(cluster, revisions, run, seed=0, runs=_PLACEMENTS)
    return commonest


def nodes_with_pods(cluster: Cluster, workload: Workload) -> set[int]:
    """Places of the nodes that hold pods of `workload`."""
    pods = (cluster.snapshot.pods[i] for i in pods_of(cluster, workload))
    return {cluster.node_index[p.node_name] for p in pods if p.node_name in cluster.node_index}


def held_by_unknown(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Who holds GPUs though its kind is not known: they are counted as held, and whether they go is its controller's to say."""
    unmodelled = of_unknown_kinds(snapshot)
    if not unmodelled:
        return ()
    names = listing([key for unjudged in unmodelled for key in unjudged.keys][: LIMITS.kinds_named])
    return (
        Finding(
            severity=Severity.INFO, code="held-by-unknown", object=unmodelled[0].keys[0], what=f"{unjudged_words(unmodelled)}: {names}",
            fix="Its kind is in no table: whether it gives GPUs back isn't known",
        ),
    )  # fmt: skip


def unjudged_words(kinds: Sequence[Unjudged]) -> str:
    """``1 Rollout isn't judged (its 6 pods hold 48 GPUs)``, "" where everything is; of many kinds those that hold most GPUs."""
    sentences = []
    ranked = sorted(kinds, key=lambda unjudged_kind: -unjudged_kind.gpus) if len(kinds) > LIMITS.kinds_named else kinds
    for owner_kind in ranked[: LIMITS.kinds_named]:
        number = len(owner_kind.keys)
        gpus = (
            f"{plural(owner_kind.pods, 'holds', 'hold')} {owner_kind.nouns.count(owner_kind.gpus)}"
            if owner_kind.gpus
            else "without GPUs"
        )
        pods = f"{plural(number, 'its', 'their')} {count(owner_kind.pods, 'pod')} {gpus}"
        sentences.append(f"{count(number, owner_kind.kind)} {plural(number, 'is', 'are')} not judged ({pods})")
    if unnamed_kinds := ranked[LIMITS.kinds_named :]:
        gpus_held = sum(unjudged.gpus for unjudged in unnamed_kinds)
        gpus = f"hold {unnamed_kinds[0].nouns.count(gpus_held)}" if gpus_held else "without GPUs"
        objects, pods_of = (
            sum(len(unjudged.keys) for unjudged in unnamed_kinds),
            count(sum(unjudged_kind.pods for unjudged_kind in unnamed_kinds), "pod"),
        )
        sentences.append(
            f"nor {plural(objects, 'is', 'are')} {count(objects, 'object')} of {count(len(unnamed_kinds), 'other kind')} (their {pods_of} {gpus})"
        )
    return "; ".join(sentences)
