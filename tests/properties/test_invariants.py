"""What holds in every cluster, checked on clusters nobody recorded."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.capacity import rollout_readiness as overviews
from planner.ground.records import replace
from planner.ground.well_known_names import DESIRED_REPLICAS
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.remedies import ways_out as remedies
from planner.remedies.levers.nodes import with_more_nodes
from planner.remedies.ways_out import find_remedies
from planner.rollout import rollout_equivalence, rollout_summary, tie_break_sensitivity
from planner.rollout.answers import Reason
from planner.rollout.closed_form_rollout import certain_course
from planner.rollout.prepared_change import Scenario, compiled, pod_times_of, prepare
from planner.rollout.run import Revision, Run, simulate, simulate_alone
from planner.rollout.simulation import Simulation
from planner.rollout.stuck_diagnosis import explain
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from planner.rollout.unaffected_pods import bystanders
from planner.scheduling.cluster import PODS_ROW, Cluster
from planner.scheduling.pod import LivePod
from tests.bench import crowd
from tests.builders.objects import POOL, Item, budget, deployment, node, owner, pod, pod_spec, read_items
from tests.properties.random_rollouts import case_of, engine, renamed, with_empty_node
from tests.properties.test_flying_clusters import roomy
from tests.quick import examples, floor, is_quick, seeds
from tests.reference.flying_clusters import flying_case
from tests.reference.random_clusters import Case
from tests.seen import premise

SEEDS = st.integers(min_value=1_000, max_value=1_000_000)
COURSES = seeds(150)


def _bound(simulation: Simulation) -> list[LivePod]:
    for index in range(len(simulation.snapshot.pods)):
        simulation.pods.live(index)
    return [p for owned in simulation.pods.by_owner.values() for p in owned if p.is_bound and not p.is_gone]


def _check_books(simulation: Simulation) -> None:
    """Requested, counted pod by pod, and free are what there is; nobody got more than there was."""
    state, cluster = simulation.state, simulation.cluster
    requested = np.zeros_like(cluster.allocatable)
    for bound in _bound(simulation):
        requested[PODS_ROW, bound.node] += 1
        for name, amount in pod_requests(bound.shape.spec).items():
            requested[cluster.row[name], bound.node] += amount
    assert np.array_equal(requested, state.used)
    assert np.array_equal(state.used + state.free, cluster.allocatable)
    assert np.array_equal(requested.sum(axis=1), state.held)
    assert (state.free >= np.minimum(0, cluster.allocatable - cluster.requested)).all()


@settings(max_examples=examples(60))
@given(SEEDS)
def test_no_node_ever_holds_more_than_it_has_and_nothing_is_lost(seed: int) -> None:
    rounds = 0
    round_of = Simulation.round

    def checked(simulation: Simulation) -> bool:
        nonlocal rounds
        rounds += 1
        did = round_of(simulation)
        _check_books(simulation)
        return did

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Simulation, "round", checked)
        engine(case_of(seed))
    assert rounds >= 1


@settings(max_examples=examples(150))
@given(SEEDS)
def test_surge_and_unavailable_are_kept(seed: int) -> None:
    case = case_of(seed)
    played = engine(case)
    for revision in played.revisions:
        after = revision.after
        is_its_own = not played.run.preempted and played.run.replicas[after.key] == after.replicas
        if not premise(after.kind == "Deployment" and is_its_own):
            continue  # who is preempted, or scaled meanwhile, doesn't go by its own strategy
        moments = played.run.moments[after.key]
        before = moments[0]
        if after.strategy.kind == "Recreate":
            assert max(m.pods for m in moments) <= max(after.replicas, before.pods)
            continue
        surge, unavailable = rolling_limits(after)
        assert max(m.pods - m.terminating for m in moments) <= max(after.replicas + surge, before.pods)
        assert min(m.ready for m in moments) >= min(before.ready, after.replicas - unavailable)


@settings(max_examples=examples(80))
@given(SEEDS)
def test_names_change_nothing(seed: int) -> None:
    case = case_of(seed)
    played = engine(case)
    if premise(played.run.choices == 0):  # where ties decide, names steer it
        assert engine(renamed(case)).outcome._replace(messages=()) == played.outcome._replace(messages=())


@settings(max_examples=examples(80))
@given(SEEDS)
def test_an_empty_node_more_keeps_no_rollout_from_completing(seed: int) -> None:
    case = case_of(seed)
    if not premise(not case.never_ready and len(case.changes) == 1 and engine(case).run.completed):
        return
    nodes = [item for item in case.items if item["kind"] == "Node"]
    for template in (nodes[0], nodes[-1]):
        more = with_empty_node(case, template)
        assert any(engine(more, seed).run.completed for seed in range(5))


def _compared_courses(cluster: Cluster) -> int:
    """Certain courses held against simulated ones; how many there were."""
    compared = 0
    for workload in cluster.snapshot.workloads:
        course = certain_course(cluster, workload)
        if course is None:
            continue
        compared += 1
        run = simulate(cluster, [Revision(before=workload, after=workload, has_new_template=True)])
        moments = run.moments[workload.key][1:]
        lowest, peak = min(m.ready for m in moments), max(m.pods for m in moments)
        simulated = (run.completed, run.ticks, lowest, peak, max(m.bound for m in moments))
        counted = (course.completes, course.ticks, course.lowest_ready, course.peak_pods, course.peak_bound)
        assert simulated == counted, workload.key
    return compared


def test_a_certain_course_is_the_simulated_one() -> None:
    assert sum(_compared_courses(Cluster(read_items(case_of(seed).items))) for seed in COURSES) > floor(40)


def _waiting(name: str, cpu: str, priority: int, gpus: int) -> Item:
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes."}
    waits = pod(name, pod_spec(cpu=cpu, priority=priority, gpus=gpus))
    return {**waits, "status": {**waits["status"], "conditions": [refused]}}


def _beside_waiting(seed: int) -> Snapshot:
    """A DaemonSet, a StatefulSet and a Deployment on a few nodes, and pods that wait: some fit already, some would in a
    place given up."""
    luck = random.Random(seed)
    nodes = [f"n-{i}" for i in range(luck.randint(1, 4))]
    size, least = luck.choice(("500m", "1", "2")), luck.choice((0, 1_000))
    spec = pod_spec(cpu=size, priority=least)
    labels = {"app": "agent"}
    one = {"template": {"metadata": {"labels": labels}, "spec": spec}, "selector": {"matchLabels": labels}}
    items: list[Item] = [node(name, cpu=luck.choice(("5", "7", "9")), memory="64Gi", gpus=1) for name in nodes]
    for kind in ("DaemonSet", "StatefulSet"):
        name, uid = kind.lower(), f"u-{kind}"
        items.append(
            {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "ml", "uid": uid},
             "spec": {**one, "replicas": len(nodes)} if kind == "StatefulSet" else one}
        )  # fmt: skip
        for place, on in enumerate(nodes):
            items.append(
                pod(f"{name}-{place}", spec, on=on, labels=labels, owner=owner(kind, name, uid), uid=f"{uid}-{place}")
            )
    items += deployment("web", nodes, pod_spec(cpu="1"))
    sizes = [luck.choice(("250m", "700m", "1", "1500m", "2500m", "3")) for _ in range(luck.randint(1, 3))]
    items += [
        _waiting(f"w-{place}", cpu, luck.choice((0, 0, 500)) if seed % 2 else 0, luck.randint(0, 1))
        for place, cpu in enumerate(sizes * luck.randint(1, 2))
    ]
    return read_items(items)


def test_beside_pods_that_wait_too() -> None:
    counted = [_compared_courses(Cluster(_beside_waiting(seed))) for seed in seeds(400)]
    assert sum(counted) > floor(60)


def test_a_certain_course_with_nodes_that_have_just_come_is_the_simulated_one_too() -> None:
    counted = with_new = 0
    for seed in seeds(400):
        luck, snapshot = random.Random(seed), _beside_waiting(seed)
        cluster = with_more_nodes(Cluster(snapshot), [luck.choice(snapshot.nodes) for _ in range(luck.randint(1, 3))])
        (daemons,) = (workload for workload in snapshot.workloads if workload.traits.is_per_node)
        with_new += certain_course(cluster, daemons) is not None
        counted += _compared_courses(cluster)
    assert with_new > floor(20), (with_new, counted)


def _in_pools(seed: int) -> Snapshot:
    """Three pools with a Deployment each, that may go elsewhere too and push others out, and pods that wait for some."""
    luck = random.Random(seed)
    pools = ("a", "b", "c")
    nodes = {pool: [f"{pool}-{i}" for i in range(luck.randint(2, 3))] for pool in pools}
    items = [node(name, pool=pool, cpu=str(luck.randint(3, 9))) for pool in pools for name in nodes[pool]]

    def spec(pool: str, cpu: str) -> Item:
        where = {"nodeSelector": {POOL: pool}} if luck.random() < 0.85 else {}
        return {**pod_spec(cpu=cpu, priority=luck.choice((0, 0, 0, 5, -5))), **where}

    for pool in pools:
        items += deployment(
            f"web-{pool}", luck.choices(nodes[pool], k=luck.randint(1, 3)), spec(pool, luck.choice(("1", "2")))
        )
        for number in range(luck.randint(0, 3)):
            item = _waiting(f"w-{pool}-{number}", "1", 0, 0)
            items.append({**item, "spec": spec(pool, luck.choice(("1", "2500m", "4")))})
        if luck.random() < 0.2:
            items.append(budget(f"web-{pool}", minAvailable=1))
    return read_items(items)


def test_whom_a_rollout_never_meets_changes_nothing_of_it() -> None:
    left = played = 0
    for seed in seeds(200):
        cluster = Cluster(_in_pools(seed))
        for workload in cluster.snapshot.workloads:
            revision = Revision(before=workload, after=workload, has_new_template=True)
            alone, whole = simulate_alone(cluster, revision), simulate(cluster, [revision])
            if bystanders(cluster, workload) is None:
                continue
            left += len(alone.waiting) > len(whole.waiting)
            if whole.choices and len({str(simulate(cluster, [revision], seed=n).moments) for n in range(8)}) > 1:
                continue  # chance decides
            played += 1
            assert alone.done == whole.done, seed
            told = [[replace(m, held={}) for m in run.moments[workload.key]] for run in (alone, whole)]
            assert told[0][: alone.ticks + 1] == told[1][: alone.ticks + 1], seed
            assert replace(told[0][-1], tick=0) == replace(told[1][-1], tick=0), seed
    assert min(left, played) > floor(20), (left, played)


@pytest.mark.parametrize("is_varied", [False, True])
def test_an_answer_that_is_shared_or_counted_is_the_workloads_own(
    is_varied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = crowd.snapshot(3, varied=is_varied)
    told = {line.workload: line for line in overviews.overview(snapshot).workloads}
    monkeypatch.setattr(rollout_summary, "certain_course", lambda _cluster, _workload: None)
    monkeypatch.setattr(rollout_summary, "surroundings", lambda *_: None)
    played = overviews.overview(replace(snapshot)).workloads
    assert len(played) == len(told) > 40
    for line in played:
        assert line == told[line.workload]


@pytest.mark.parametrize("is_brief", [False, True])
@pytest.mark.parametrize("number", [2, 3, 4])
def test_whose_pods_wait_and_take_new_nodes_are_alike_and_each_has_its_own_answer(number: int, is_brief: bool) -> None:
    """Of three canaries that wait two find a place, or all do, or a node is left over."""
    cluster = Cluster(crowd.snapshot(3))
    like = next(node for node in cluster.nodes if node.name.startswith("gke-edu-gpu-a100"))
    larger = with_more_nodes(cluster, [like] * number)
    played = Counter[str]()

    def counted(cluster: Cluster, revision: Revision) -> rollout_summary.Glance:
        played[revision.after.name] += 1
        return rollout_summary.glance(cluster, revision)

    answers, found = rollout_summary.OwnRollouts(larger, counted, is_brief=is_brief), Counter[str]()
    for after in (one for one in cluster.snapshot.workloads if one.traits.rolls_out):
        revision = rollout_summary.restarted(after)
        own = rollout_summary.glance(larger, revision).answer
        assert answers.of(revision) == (replace(own, sentence=own.headline) if is_brief else own)
        found[after.name] += 1
    assert found["llm-canary"] == found["llm-serve"] == found["trainer"] == 3
    # One for all that have a place; who of them is told to wait too differs.
    assert played["llm-canary"] == (max(1, 4 - number) if is_brief or number > 3 else 3)
    assert played["llm-serve"] < 3  # who else waits is the same for all
    assert played["trainer"] == 3  # which aren't placed


def test_whom_a_quota_refuses_alike_is_played_once_and_told_of_its_own_namespace() -> None:
    cluster = Cluster(crowd.snapshot(3))
    asked = list[str]()

    def counted(cluster: Cluster, revision: Revision) -> rollout_summary.Glance:
        asked.append(revision.after.key)
        return rollout_summary.glance(cluster, revision)

    answers = rollout_summary.OwnRollouts(cluster, counted)
    refused = Counter[str]()
    for after in (one for one in cluster.snapshot.workloads if one.traits.rolls_out):
        revision = rollout_summary.restarted(after)
        found = answers.of(revision)
        if found.reason is Reason.QUOTA and after.key not in asked:
            refused[after.name] += 1
            assert found == rollout_summary.glance(cluster, revision).answer
            assert f"namespace {after.namespace} " in str(found.headline)
    assert refused.keys() == {"inference-api", "notebook"}


def test_what_is_around_a_workload_is_looked_at_where_another_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only such a one can be alike."""
    looked: list[Cluster] = []
    whole = rollout_equivalence._look

    def look(cluster: Cluster) -> rollout_equivalence._KindNumbers:
        looked.append(cluster)
        return whole(cluster)

    monkeypatch.setattr(rollout_equivalence, "_look", look)
    cluster = compiled(crowd.snapshot(3))
    names = Counter((workload.kind, workload.name) for workload in cluster.snapshot.workloads)
    keys: dict[bool, list[Hashable]] = {True: [], False: []}
    for is_alone in (True, False):
        for workload in cluster.snapshot.workloads:
            if (names[workload.kind, workload.name] == 1) is is_alone:
                keys[is_alone].append(rollout_equivalence.surroundings(cluster, workload))
        assert bool(looked) is not is_alone
    alone, several = ([key for key in some if key is not None] for some in (keys[True], keys[False]))
    assert len(set(alone)) == len(alone) > 0
    assert len(set(several)) < len(several)


@pytest.mark.parametrize("reason", [Reason.PAUSED, Reason.STALE_ANNOTATION])
def test_a_command_that_mends_is_told_of_its_own_namespace(reason: Reason) -> None:
    snapshot = crowd.snapshot(3)
    if reason is Reason.PAUSED:
        snapshot = replace(snapshot, workloads=tuple(replace(one, is_paused=True) for one in snapshot.workloads))
    else:
        stale = FrozenMap({DESIRED_REPLICAS: "99"})
        snapshot = replace(snapshot, replica_sets=tuple(replace(r, annotations=stale) for r in snapshot.replica_sets))
    cluster, told = Cluster(snapshot), 0
    answers = rollout_summary.OwnRollouts(cluster)
    for after in (one for one in snapshot.workloads if one.kind == "Deployment"):
        found = answers.of(rollout_summary.restarted(after))
        if found.reason is reason:
            told += 1
            assert f" -n {after.namespace}" in str(found.sentence)
    assert told > 20


def test_what_is_proven_is_so_in_every_placement() -> None:
    proven = 0
    for seed in COURSES:
        case = case_of(seed)
        played = engine(case)
        if played.run.choices and holds_in_every_placement(played.run, played.revisions):
            proven += 1
            known = 2 if played.run.completed else 1  # of what is stuck the steps may differ, the verdict doesn't
            told = {engine(case, seed).outcome[:known] for seed in range(10)}
            assert told == {played.outcome[:known]}, seed
    assert proven > floor(30)


def test_pods_that_surely_find_room_go_alike_in_every_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only that proves it: sizes differ, and others wait or are in flight."""
    found, luck = crowd.snapshot(2 if is_quick() else 8, varied=True), random.Random(5)
    cases = [flying_case(seed).case for seed in seeds(30)]
    ways: list[Callable[[int], Run]] = []
    revisions: list[Sequence[Revision]] = []
    for case in (*cases, *map(roomy, cases)):
        revisions.append(engine(case).revisions)
        ways.append(lambda draw, case=case: engine(case, draw).run)  # type: ignore[misc]
    for one in [one for one in found.workloads if one.traits.surges_freely and one.replicas]:
        asks = {"cpu": luck.choice(("50m", "300m", "2")), "memory": luck.choice(("64Mi", "2Gi"))}
        containers = [
            {"name": each.name, "resources": {"requests": asks, "limits": asks}}
            for each in one.template.spec.containers
        ]
        patch = json.dumps({"spec": {"template": {"spec": {"containers": containers}}}})
        change = WorkloadChange(
            workload=one.key, patch=patch, max_surge=luck.choice((1, "100%", "200%")), max_unavailable=0
        )
        prepared = prepare(found, Scenario(changes=(change,)))
        revisions.append(prepared.revisions)
        ways.append(
            lambda draw, of=prepared: simulate(  # type: ignore[misc]
                compiled(of.snapshot), of.revisions, seed=draw, draws_order=draw > 0, draws_ends=draw > 0
            )
        )
    proven = 0
    for asked, way in zip(revisions, ways, strict=True):
        first = way(0)
        with monkeypatch.context() as without:
            without.setattr(tie_break_sensitivity, "_finds_room", lambda _run, _revision: False)
            if holds_in_every_placement(first, asked):
                continue
        if holds_in_every_placement(first, asked):
            proven += 1
            runs = [first, *(way(draw) for draw in range(1, 9))]
            assert {(run.ticks, *run.done.items(), *run.finished_at.items()) for run in runs} == {
                (first.ticks, *first.done.items(), *first.finished_at.items())
            }
    assert proven > (2 if is_quick() else 8)


def test_what_is_refused_for_good_is_stuck_in_every_placement_and_has_no_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing else proves it; quotas and what old pods lack are another matter."""
    cases = map(case_of, COURSES)
    asked: list[tuple[Sequence[Revision], Callable[[int], Run]]] = [
        (engine(case).revisions, partial(_played, case)) for case in cases
    ]
    for found in (crowd.snapshot(1 if is_quick() else 3, varied=True), crowd.snapshot(1)):
        for one in [one for one in found.workloads if one.traits.rolls_out and not one.traits.is_custom]:
            spec = replace(one.template.spec, priority_class_name="of-nobody")
            after = replace(one, template=replace(one.template, spec=spec))
            change = [Revision(before=one, after=after, has_new_template=True)]
            asked.append((change, partial(_drawn, compiled(found), change)))
    refused = 0
    for revisions, way in asked:
        first = way(0)
        if tie_break_sensitivity.is_refused(first, revisions[0]) and len(revisions) == 1:
            refused += 1
            cluster, key = first.simulation.cluster, revisions[0].after.key
            assert not any(way(draw).completed for draw in range(9))
            with monkeypatch.context() as without:
                without.setattr(remedies, "is_refused", lambda _run, _revision: False)
                times = pod_times_of(cluster, revisions[0])
                assert not list(find_remedies(cluster, revisions, key, first, explain(first, revisions[0]), times))
    assert refused > (20 if is_quick() else 40)


def _played(case: Case, draw: int) -> Run:
    return engine(case, draw).run


def _drawn(cluster: Cluster, revisions: Sequence[Revision], draw: int) -> Run:
    return simulate(cluster, revisions, seed=draw, draws_order=draw > 0, draws_ends=draw > 0)


def test_changes_that_are_proven_not_to_meet_go_alike_whoever_is_first() -> None:
    found = crowd.snapshot(3, varied=True)
    cluster, luck, proven = compiled(found), random.Random(3), 0
    some = [one for one in found.workloads if one.traits.surges_freely and one.replicas]
    for _ in seeds(120, share=3):
        pair = luck.sample(some, 2)
        ways = [
            replace(one.strategy, max_surge=luck.choice((1, 2)), max_unavailable=luck.choice((0, 1))) for one in pair
        ]
        revisions = [
            Revision(before=one, after=replace(one, strategy=way), has_new_template=True)
            for one, way in zip(pair, ways, strict=True)
        ]
        first = simulate(cluster, revisions)
        if first.orders and holds_in_every_placement(first, revisions):
            proven += 1
            again = [simulate(cluster, revisions, seed=n, draws_order=True, draws_ends=True) for n in range(1, 9)]
            assert {(one.ticks, *one.done.items(), *one.finished_at.items()) for one in (first, *again)} == {
                (first.ticks, *first.done.items(), *first.finished_at.items())
            }
            for one in pair:
                assert len({min(m.ready for m in run.moments[one.key]) for run in (first, *again)}) == 1
    assert proven > (1 if is_quick() else 5)
