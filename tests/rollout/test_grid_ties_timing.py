"""The strategy grid, what ties can change, and ticks as seconds."""

from __future__ import annotations

import json

import pytest

from planner.ground.records import replace
from planner.ground.well_known_names import CPU
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.remedies import rollout_with_remedies
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import RemedyKind, RolloutResult, Verdict
from planner.rollout.pod_durations import DEFAULT_STARTUP_SECONDS, learn_pod_times
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import simulate
from planner.rollout.strategy_choice import choose
from planner.rollout.strategy_grid import FULL_UP_TO, axis, played_axis
from planner.rollout.tie_break_sensitivity import holds_in_every_placement, is_refused
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.objects import POOL, WHOLE, Item, deployment, node, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, revision, roll, rolling

RESTART = Scenario(changes=(WorkloadChange(workload=WORKER),))


def worker(count: int, **spec: object) -> list[Item]:
    return deployment("worker", ["n-0"] * count, pod_spec(**spec), strategy=rolling(1, 0))  # type: ignore[arg-type]


# ── grid ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_axes() -> None:
    assert axis(3) == (0, 1, 2, 3)
    assert axis(FULL_UP_TO) == tuple(range(FULL_UP_TO + 1))
    long = axis(200)
    assert (long[0], long[1], long[-1]) == (0, 1, 200)
    assert len(long) <= 13


def test_the_more_pods_the_fewer_cells_are_played() -> None:
    assert played_axis(10) == tuple(range(11))
    assert len(played_axis(300)) == 12
    assert len(played_axis(1_000)) == 7
    assert played_axis(100_000) == (0, 1, 50_000, 100_000)


def test_cells_are_what_a_rollout_of_that_strategy_gives() -> None:
    found = snapshot(node("n-0", gpus=2), worker(2, gpus=1))
    grid = grids.strategy_grid(found, RESTART, WORKER)
    assert not grid.cells[0][0].is_valid
    assert grid.cells[1][0].is_current
    assert grid.cells[1][0].verdict is Verdict.STUCK
    for cell in (c for row in grid.cells for c in row if c.is_valid):
        asked = WorkloadChange(workload=WORKER, max_surge=cell.max_surge, max_unavailable=cell.max_unavailable)
        part = rollout_with_remedies.rollout(found, Scenario(changes=(asked,), with_remedies=False)).workloads[0]
        assert (part.verdict, part.reason) == (cell.verdict, cell.reason)
        assert (part.peak_pods, part.lowest_ready) == (cell.peak_pods, cell.lowest_ready)
    assert grid.recreate.verdict is Verdict.COMPLETES
    assert grid.recreate.lowest_ready == 0
    cells = [c for row in grid.cells for c in row]
    best = choose([*cells, grid.recreate], 2).recommended
    assert best is not None
    assert (best.max_surge, best.max_unavailable, best.lowest_ready) == (0, 1, 1)
    assert f"maxSurge {best.max_surge}, maxUnavailable {best.max_unavailable} is recommended" in str(grid.sentence)


@pytest.mark.parametrize(
    ("replicas", "strategy", "today"),
    [
        (30, rolling("25%", "25%"), (8, 7)),  # as the API server has it where none is given
        (30, rolling(40, 0), (40, 0)),
        (6, rolling("25%", "25%"), (2, 1)),  # on thin axes too
    ],
)
@pytest.mark.parametrize("ready_for", [0, 1])  # 1: each cell is simulated, else counted
def test_todays_strategy_has_its_cell(replicas: int, strategy: Item, today: tuple[int, int], ready_for: int) -> None:
    pods = deployment("worker", ["n-0"] * replicas, pod_spec(gpus=1), strategy=strategy, minReadySeconds=ready_for)
    found = snapshot(node("n-0", gpus=replicas + 4, cpu="200", memory="200Gi"), pods)
    grid = grids.strategy_grid(found, RESTART, WORKER)
    cells = {(cell.max_surge, cell.max_unavailable): cell for row in grid.cells for cell in row}
    assert list(cells) == [(surge, unavailable) for surge in grid.surges for unavailable in grid.unavailables]
    assert [pair for pair, cell in cells.items() if cell.is_current] == [today]
    part = rollout_with_remedies.rollout(found, replace(RESTART, with_remedies=False)).workloads[0]
    assert (part.peak_pods, part.lowest_ready) == (cells[today].peak_pods, cells[today].lowest_ready)


# ── ties ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_pods_of_one_size_are_proven() -> None:
    nodes = [node(f"n-{i}", gpus=2) for i in range(3)]
    found = snapshot(WHOLE, nodes, worker(2, gpus=1))
    ties = rollout_with_remedies.rollout(found, RESTART).ties
    assert ties is not None
    assert ties.proven
    assert str(ties.sentence) == "completes wherever pods are placed (proven)"


def _hangs_on_an_old_pod(*unseen: str, seed: int = 0) -> RolloutResult:
    """One more old pod may come to the only node that the new ones may go to, or to another."""
    own = deployment("worker", ["c"], pod_spec(cpu="10"), strategy=rolling(1, 0))
    own[1]["metadata"]["annotations"] = {"deployment.kubernetes.io/desired-replicas": "1"}
    found = snapshot(node("a", cpu="10", labels={"disk": "ssd"}), node("b", cpu="10"), node("c", cpu="10"), own)
    found = replace(found, presence=FrozenMap({**found.presence, **dict.fromkeys(unseen, Presence.PARTIAL)}))
    change = WorkloadChange(
        workload=WORKER, replicas=2, requests=FrozenMap({CPU: 1_000}), node_selector=FrozenMap({"disk": "ssd"})
    )
    return rollout_with_remedies.rollout(found, Scenario(changes=(change,), seed=seed, with_remedies=False))


@pytest.mark.parametrize("seed", [0, 4])  # it is stuck, and completes
def test_old_pods_that_are_made_on_the_way_take_more_than_a_new_one_needs(seed: int) -> None:
    ties = _hangs_on_an_old_pod(seed=seed).ties
    assert ties is not None
    assert not ties.proven
    assert 0 < ties.completed_runs < ties.runs


def test_of_pods_that_werent_all_seen_no_placement_is_told_to_decide() -> None:
    assert "completes in some of the 50 placements tried, is stuck in others" in str(_hangs_on_an_old_pod().but)
    assert str(_hangs_on_an_old_pod("Pod").but) == ""


@pytest.mark.parametrize(("speaks_of", "is_proven"), [("somebody", True), ("worker", False)])
def test_anti_affinity_takes_the_proof_from_those_it_speaks_of(speaks_of: str, is_proven: bool) -> None:
    nodes = [node(f"n-{i}", gpus=2) for i in range(3)]
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": speaks_of}}}
    loner = pod_spec() | {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    found = snapshot(WHOLE, nodes, worker(2, gpus=1), deployment("loner", ["n-2"], loner))
    ties = rollout_with_remedies.rollout(found, RESTART).ties
    assert ties is not None
    assert (ties.proven, ties.completed_runs) == (is_proven, 0 if is_proven else ties.runs)


@pytest.mark.parametrize(("old", "new", "quota", "is_sure"),
    [("", "gone", "", True), ("gone", "", "", False), ("gone", "gone", "", True), ("", "", "3", False)])  # fmt: skip
def test_new_pods_refused_for_good_are_proven_stuck(old: str, new: str, quota: str, is_sure: bool) -> None:
    """By a PriorityClass that isn't there; not what old pods lack, nor what a quota refuses today."""
    spec = pod_spec(cpu="2") | ({"priorityClassName": old} if old else {})
    pods = deployment("worker", ["n-0", "n-1"], spec, replicas=3, strategy=rolling(1, 1))
    hard = {"hard": {"pods": quota}}
    quotas: list[Item] = [
        {
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": "ml", "uid": "q"},
            "spec": hard,
            "status": hard,
        }
    ]
    there = snapshot(WHOLE, [node("n-0", cpu="4"), node("n-1", cpu="4")], pods, quotas * bool(quota))
    asked = revision(there, WORKER)
    template = replace(asked.after.template, spec=replace(asked.after.template.spec, priority_class_name=new))
    asked = replace(asked, after=replace(asked.after, template=template))
    assert is_refused(simulate(Cluster(there), [asked]), asked) is is_sure


@pytest.mark.parametrize(
    ("pool", "space", "counted", "is_sure"),
    [
        ("b", "ml", ["away"], True),
        ("b", "ml", [], False),  # nobody says which quotas there are
        ("b", "web", [], True),
        ("a", "web", ["away"], False),  # the same nodes
        ("b", "ml", ["ml"], False),  # which of the two is first matters to a quota of both
        ("b", "web", ["ml", "web"], True),
    ],
)
def test_changes_that_cannot_meet_are_proven(pool: str, space: str, counted: list[str], is_sure: bool) -> None:
    def own(name: str, where: str, space: str) -> list[Item]:
        spec = pod_spec(cpu="2", nodeSelector={POOL: where})
        return deployment(name, [f"{where}-0"] * 2, spec, namespace=space, strategy=rolling(1, 1))

    nodes = [node(f"{one}-{i}", pool=one) for one in "ab" for i in range(2)]
    quotas: list[Item] = [
        {"kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": one, "uid": f"q-{one}"}, "spec": {"hard": {"pods": "9"}},
         "status": {"hard": {"pods": "9"}}}
        for one in counted
    ]  # fmt: skip
    found = snapshot(nodes, own("worker", "a", "ml"), own("other", pool, space), quotas)
    revisions = [revision(found, key) for key in (WORKER, f"Deployment/{space}/other")]
    run = simulate(Cluster(found), revisions)
    assert run.orders > 0
    assert holds_in_every_placement(run, revisions) is is_sure


@pytest.mark.parametrize(
    ("nodes", "others", "is_sure"),
    [
        (3, [], True),  # seats for seven more beside the old pods
        (1, [], False),  # seats for two, where four are to be
        (3, ["waits"], False),  # somebody who waits could come there when an old pod goes
        (3, ["waits elsewhere"], True),
        (3, ["is refused"], False),  # what an old pod leaves of the quota may come to somebody else
    ],
)
def test_larger_pods_that_find_room_wherever_they_go_are_proven(nodes: int, others: list[str], is_sure: bool) -> None:
    pool = [node(f"n-{i}", cpu="8") for i in range(nodes)]
    beside = {
        "waits": deployment("big", [""], pod_spec(cpu="9")),
        "waits elsewhere": deployment("big", [""], pod_spec(cpu="9", nodeSelector={POOL: "b"})),
        "is refused": [
            *deployment("more", [], pod_spec(cpu="7"), replicas=1),
            {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ml", "uid": "q"}, "spec": {"hard": {"requests.cpu": "10"}},
             "status": {"hard": {"requests.cpu": "10"}}},
        ],
    }  # fmt: skip
    away = {
        "kind": "ResourceQuota",
        "metadata": {"name": "pods", "namespace": "away", "uid": "a"},
        "spec": {"hard": {"pods": "9"}},
    }
    items = [*pool, away, *(one for name in others for one in beside[name])]
    found = snapshot(WHOLE, items, deployment("worker", ["n-0", "n-0"], pod_spec(cpu="2"), strategy=rolling(1, 1)))
    larger = {
        "spec": {"template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2500m"}}}]}}}
    }
    change = WorkloadChange(workload=WORKER, patch=json.dumps(larger))
    ties = rollout_with_remedies.rollout(found, Scenario(changes=(change,), runs=6)).ties
    assert ties is not None
    assert ties.proven is is_sure


@pytest.mark.parametrize("pool", ["a", "b"])
def test_a_proof_looks_at_those_who_wait_for_its_nodes_and_brings_nobody_else_to_life(pool: str) -> None:
    large = pod_spec(cpu="9", nodeSelector={POOL: pool})
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes."}
    waiting = [pod(f"large-{i}", large, namespace="away") for i in range(5)]
    for item in waiting:
        item["status"]["conditions"] = [refused]
    own = deployment("worker", ["a-0", "a-0"], pod_spec(cpu="2", nodeSelector={POOL: "a"}), strategy=rolling(1, 1))
    nodes = [node("b-0", cpu="8", pool="b"), *(node(f"a-{i}", cpu="8", pool="a") for i in range(3))]
    found = snapshot(WHOLE, nodes, own, waiting)
    run = simulate(Cluster(found), [revision(found)])
    assert run.choices > 0
    before = len(run.simulation.pods.by_index)
    assert holds_in_every_placement(run, [revision(found)]) is (pool == "b")
    assert (len(run.simulation.pods.by_index) == before) is (pool == "b")


def test_pods_of_different_sizes_are_sampled() -> None:
    nodes = [node(f"n-{i}", gpus=2) for i in range(2)]
    items = [
        *nodes,
        *deployment("worker", [], pod_spec(gpus=1), replicas=2),
        *deployment("large", [], pod_spec(gpus=2), replicas=1),
        pod("done", pod_spec()) | {"status": {"phase": "Succeeded"}},  # pods were listed
    ]
    found = snapshot(items)
    both = [revision(found), revision(found, "Deployment/ml/large")]
    runs = [simulate(Cluster(found), both, seed=seed) for seed in range(20)]
    assert not any(holds_in_every_placement(run, both) for run in runs if run.choices)
    changes = tuple(WorkloadChange(workload=r.after.key) for r in both)
    ties = rollout_with_remedies.rollout(found, Scenario(changes=changes, runs=20)).ties
    assert ties is not None
    assert (ties.proven, ties.runs) == (False, 20)
    assert ties.completed_runs == sum(run.completed for run in runs)


# ── timing ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def at(second: int) -> str:
    return f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"


def learnt(*startups: int, restarts: int = 0) -> Snapshot:
    items = worker(len(startups))
    pods = [item for item in items if item["kind"] == "Pod"]
    for one, seconds in zip(pods, startups, strict=True):
        one["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(0)},
            {"type": "Ready", "status": "True", "lastTransitionTime": at(seconds)},
        ]
        one["status"]["containerStatuses"] = [
            {"name": "main", "ready": True, "restartCount": restarts, "image": "", "imageID": ""}
        ]
    return snapshot(node("n-0"), items)


def test_start_up_is_the_median_of_the_pods() -> None:
    part = rollout_with_remedies.rollout(learnt(20, 40, 600), RESTART).workloads[0]
    assert (part.startup_seconds, part.startup_source, part.termination_seconds) == (40, "learnt from 3 pods", 30)
    restarted = rollout_with_remedies.rollout(learnt(20, 40, restarts=1), RESTART).workloads[0]
    assert (restarted.startup_seconds, restarted.startup_source) == (DEFAULT_STARTUP_SECONDS, "default")


def test_given_seconds_win_and_waits_come_on_top() -> None:
    found = learnt(20)
    workload = found.workloads[0]
    pod_times = learn_pod_times(workload, found.pods, startup_seconds=5, termination_seconds=2)
    assert (pod_times.startup_seconds, pod_times.termination_seconds, pod_times.source) == (5, 2, "given")


def test_a_step_lasts_as_long_as_the_slowest_in_it() -> None:
    part = rollout_with_remedies.rollout(learnt(20, 20), RESTART).workloads[0]
    # a new pod starts (20), another beside the old one that goes (30), the last old one goes (30)
    assert part.seconds == 20 + 30 + 30
    assert not part.exceeds_deadline
    slow = WorkloadChange(workload=WORKER, startup_seconds=601)
    assert rollout_with_remedies.rollout(learnt(20, 20), Scenario(changes=(slow,))).workloads[0].exceeds_deadline


def test_the_same_seed_gives_the_same_run() -> None:
    items = [node("n-0"), node("n-1"), *worker(3)]
    first, second = roll(items, seed=5), roll(items, seed=5)
    assert [p.name for p in first.pods[WORKER]] == [p.name for p in second.pods[WORKER]]
    assert first.moments == second.moments


def test_pods_of_the_new_replica_set_take_as_long_as_those_there() -> None:
    """The run's own clock: the snapshot doesn't know the ReplicaSet that the change makes."""
    found = learnt(20, 20)
    run = simulate(Cluster(found), [revision(found)])
    assert run.tick_ends[:2] == [20, 50]  # it took 30 where nothing was known


def test_a_step_that_waits_for_others_lasts_as_long_as_theirs() -> None:
    """The demo's ml-worker with a node more, which takes 300 s to come: for 30 s batch/trainer, whom it preempts, goes; then six times 101 s to start and 30 s to
    end: 816 s. It said 887, the first step as one of its own starts."""
    asked = WorkloadChange(workload="Deployment/prod/ml-worker", max_surge=1, max_unavailable=0)
    answer = rollout_with_remedies.rollout(demo.read(), Scenario(changes=(asked,)))
    (more,) = [one for one in answer.remedies if one.kind is RemedyKind.ADD_NODE]
    assert more.seconds == 300 + 30 + 6 * (101 + 30)
