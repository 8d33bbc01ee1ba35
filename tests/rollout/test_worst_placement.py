"""How few pods are Ready at worst and how many there are at most: of all placements tried, with the one that is shown told apart."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import parse_later
from planner.cli import main
from planner.inventory.change import WorkloadChange
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Extremes, RolloutResult, Verdict
from planner.rollout.gate_policy import GatePolicy
from planner.rollout.prepared_change import Scenario, compiled, pod_times_of
from planner.rollout.rollout_summary import glance, restarted
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.strategy_grid import play_cell
from planner.rollout.tie_break_sensitivity import (
    PLACEMENTS,
    extremes,
    fewest_ready,
    keeps_on_nodes,
    keeps_ready,
    sample,
)
from planner.scheduling.cluster import Cluster
from tests.builders.objects import deployment, node, pod_spec
from tests.collection.clusters import whole
from tests.conformance.rollout_cases import WHOLE_LISTS, revisions_of
from tests.properties.random_rollouts import LISTED, case_of
from tests.quick import floor, seeds
from tests.reference.flying_clusters import crowded_case
from tests.rollout.rollouts import WORKER, daemon_set, revision, rolling
from tests.rollout.test_changed_again import full

RECORDED = Path(__file__).parents[1] / "conformance" / "rollouts4" / "evdrain4-003-sts.json.gz"
SERVE, DRAIN = "StatefulSet/ml/serve", "65s:drain:gpu-0"


@pytest.fixture(scope="module")
def recording() -> dict[str, Any]:
    """A StatefulSet of 4 on three nodes, one of which is drained in its third step: Kubernetes left 1 of 4 Ready."""
    found: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    assert found["outcome"]["workloads"][SERVE]["min_ready"] == 1
    return found


def answered(recording: dict[str, Any], *, seed: int = 0, runs: int = 50) -> RolloutResult:
    snapshot = build_snapshot([Part(items=recording["cluster"]["items"], listed=WHOLE_LISTS)], source="recording")
    change = WorkloadChange(workload=SERVE, patch=json.dumps(recording["change"]["patch"]), new_revision=False)
    scenario = Scenario(changes=(change,), seed=seed, runs=runs)
    return rollout(snapshot, scenario, beside=LaterEvents(later=parse_later(DRAIN), first=(SERVE,)))


def test_the_worst_of_all_placements_is_told_and_the_one_shown_apart(recording: dict[str, Any]) -> None:
    answer = answered(recording)
    (part,) = answer.workloads
    assert answer.ties is not None
    assert (answer.verdict, part.lowest_ready, part.shown_lowest_ready) == (Verdict.COMPLETES, 1, 2)
    assert f"at worst 1 of 4 pods are Ready in {answer.ties.runs} placements, 2 in the one shown" in str(
        answer.sentence
    )
    assert min(row.ready for row in part.timeline[1:]) == 2
    alone = [answered(recording, seed=seed, runs=1).workloads[0] for seed in range(5)]
    assert {one.lowest_ready for one in alone} == {1, 2}
    assert all(one.shown_lowest_ready is None for one in alone)


def test_a_policy_goes_by_the_worst_placement(recording: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    """2 of 4 are Ready in the placement shown, which 50 % would let pass."""
    assert GatePolicy(least_ready="50%").too_few_ready(4, 4, 1)
    assert not GatePolicy(least_ready="50%").too_few_ready(4, 4, 2)
    items = recording["cluster"]["items"]
    changed = copy.deepcopy(next(one for one in items if one["kind"] == "StatefulSet"))
    changed["spec"]["template"]["metadata"]["labels"]["rev"] = "two"
    for name, what in (("cluster.json", {"apiVersion": "v1", "kind": "List", "items": items}), ("new.json", changed)):
        (tmp_path / name).write_text(json.dumps(what))
    for share, status in (("50%", 5), ("25%", 0)):
        (tmp_path / "headroom.toml").write_text(f'[gate]\nleast_ready = "{share}"\n')
        asked = ["gate", str(tmp_path / "cluster.json"), "-f", str(tmp_path / "new.json"), "--then", DRAIN]
        with pytest.raises(SystemExit) as ended:
            main([*asked, "--policy", str(tmp_path / "headroom.toml"), "--output", "json"])
        found = json.loads(capsys.readouterr().out)
        assert (share, ended.value.code or 0) == (share, status)
        assert [one["lowest_ready"] for one in found["result"]["workloads"]] == [1]


def test_where_no_placement_differs_nothing_is_told_apart() -> None:
    found = whole(
        node("gpu-0", gpus=8, cpu="64"), deployment("worker", ["gpu-0"] * 3, pod_spec(gpus=1), strategy=rolling(1, 1))
    )
    (part,) = rollout(found, Scenario(changes=(WorkloadChange(workload=WORKER),))).workloads
    assert (part.lowest_ready, part.shown_lowest_ready, part.shown_peak_pods) == (2, None, None)
    assert part.is_lowest_bound
    assert "placements" not in str(part.sentence)


def test_it_counts_from_the_first_change_also_of_what_is_changed_later() -> None:
    """The first rollout pushes out a pod of the other, whose own change comes at last and begins with one fewer."""
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9}
    mine = deployment("worker", ["gpu-0"], pod_spec(gpus=1, priorityClassName="urgent"), strategy=rolling(1, 0))
    other = deployment("other", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(0, 1))
    found = whole(urgent, node("gpu-0", gpus=2, cpu="64"), mine, other)
    beside = LaterEvents(later=parse_later("10m:rollout:Deployment/ml/other"), first=(WORKER,))
    answer = rollout(found, Scenario(changes=(WorkloadChange(workload=WORKER),)), beside=beside)
    assert {one.workload: one.lowest_ready for one in answer.workloads} == {WORKER: 1, "Deployment/ml/other": 0}
    assert answer.workloads[1].peak_pods == 2


def test_what_a_strategy_keeps_ready_no_placement_falls_below() -> None:
    """Where nothing else takes pods. Both hold in some: that it is told, and that placements differ."""
    bounded = drawn = on_nodes = 0
    for seed in seeds(60):
        for case in (case_of(seed), crowded_case(seed).case):
            if case.never_ready:
                continue
            snapshot = build_snapshot([Part(items=copy.deepcopy(case.items), listed=LISTED)], source="random cluster")
            cluster, revisions = Cluster(snapshot), revisions_of({"change": case.changes}, snapshot)
            first = simulate(cluster, revisions)
            _, ties = sample(cluster, revisions, first, seed=0, runs=8)
            drawn += not ties.proven
            for key, worst in ties.extremes.items():
                keeps = keeps_ready(first, key)
                bounded += keeps is not None
                assert keeps is None or worst.lowest_ready >= keeps, (seed, key)
                a_node_each = keeps_on_nodes(first, key)
                on_nodes += a_node_each is not None
                assert a_node_each is None or worst.lowest_ready >= a_node_each, (seed, key)
                assert worst.lowest_ready <= first.lowest_ready(key)
                assert worst.peak_pods >= first.most_pods(key)
    assert bounded > floor(20)
    assert on_nodes >= floor(5)
    assert drawn > floor(10)


def test_lists_and_cells_take_the_worst_of_a_few_placements() -> None:
    """Each of them is asked where another may be worse; else one placement is enough."""
    found, _ = full(8, replicas=4, strategy=rolling(1, 1))
    cluster, worker = compiled(found), found.workload(WORKER)
    assert worker is not None
    change = restarted(worker)
    run = simulate(cluster, [change])
    asked = list[int]()

    def again(seed: int) -> Any:
        asked.append(seed)
        return simulate(cluster, [change], seed=seed)

    assert fewest_ready(run, [change], WORKER, again) == 3
    assert asked == []  # the strategy keeps 3
    assert glance(cluster, change).answer.lowest_ready == 3
    cell = play_cell(cluster, [change], WORKER, worker.strategy, 1, 1, seed=0, pod_times=pod_times_of(cluster, change))
    assert (cell.lowest_ready, cell.peak_pods) == (3, run.most_pods(WORKER))
    assert PLACEMENTS > 1


def test_what_a_daemon_set_keeps_on_its_nodes_isnt_drawn() -> None:
    """4 of 6 nodes have a pod: none of them goes before the two new ones are Ready. One that surges, or has a pod on a node that it
    shouldn't run on, is played in other placements; what these come to is the same as ever."""
    names = [f"n-{i}" for i in range(6)]

    def never(_: int) -> Run:
        raise AssertionError("a placement was drawn")

    for more, keeps in (
        ({}, 4),
        ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}}, 3),
        ({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}, None),
        ({"updateStrategy": {"type": "OnDelete"}}, None),
    ):
        agents = daemon_set("agent", names[:4], pod_spec(cpu="100m", memory="64Mi"), **more)
        found = whole(*(node(name, cpu="4") for name in names), agents)
        agent = found.workload("DaemonSet/ml/agent")
        assert agent is not None
        cluster, change = Cluster(found), restarted(agent)
        run = simulate(cluster, [change])
        drawn = [simulate(cluster, [change], seed=seed, draws_order=True, draws_ends=True) for seed in range(1, 9)]
        assert keeps_on_nodes(run, agent.key) == keeps
        lowest = [one.lowest_ready(agent.key) for one in (run, *drawn)]
        assert min(lowest) >= (keeps or 0)
        again = drawn.__getitem__ if keeps is None else never
        unbegun = simulate(cluster, [change])
        unbegun.controllers.clear()  # as of a change that was to come later, in a run that was cut before
        assert keeps_on_nodes(unbegun, agent.key) is None
        assert fewest_ready(run, [change], agent.key, again) == min(lowest)
    astray = daemon_set("agent", names, pod_spec(cpu="100m", memory="64Mi", nodeSelector={"disk": "ssd"}))
    found = whole(*(node(name, cpu="4", labels={"disk": "ssd"} if name != "n-5" else {}) for name in names), astray)
    agent = found.workload("DaemonSet/ml/agent")
    assert agent is not None
    assert keeps_on_nodes(simulate(Cluster(found), [restarted(agent)]), agent.key) is None


def test_of_several_runs_the_extremes_are_the_worst(recording: dict[str, Any]) -> None:
    snapshot = build_snapshot([Part(items=recording["cluster"]["items"], listed=WHOLE_LISTS)], source="recording")
    revisions = revisions_of(recording, snapshot)
    runs = [simulate(Cluster(snapshot), revisions, seed=seed) for seed in range(4)]
    lowest, most = min(run.lowest_ready(SERVE) for run in runs), max(run.most_pods(SERVE) for run in runs)
    found = extremes(runs)[SERVE]
    assert found == Extremes(lowest_ready=lowest, peak_pods=most, is_bound=found.is_bound)


def preempting(*more: Any, new_class: str = "urgent") -> tuple[Cluster, Revision]:
    """Three pods of a class that roll out with surge 1 on full nodes: each new one preempts a pod of a lower class."""
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("urgent", 9), ("most", 99))
    ]
    names = ["gpu-0", "gpu-1", "gpu-2"]
    mine = deployment("worker", names, pod_spec(gpus=1, priorityClassName="urgent"), strategy=rolling(1, 0))
    other = deployment("other", names, pod_spec(gpus=1), strategy=rolling(0, 1))
    nodes = [node(name, gpus=2, cpu="64") for name in names]
    found = whole(*classes, *nodes, mine, other, *more)
    return Cluster(found), revision(found, patch=class_of(new_class))


def class_of(name: str) -> dict[str, Any]:
    return {"spec": {"template": {"metadata": {"labels": {"rev": "2"}}, "spec": {"priorityClassName": name}}}}


def test_whom_its_own_pods_preempt_takes_none_of_them() -> None:
    """The victims and those made in their place have a lower class: 3 of 3 stay Ready wherever pods go, and no placement is drawn for it."""
    cluster, change = preempting()
    run = simulate(cluster, [change])
    assert run.preempted
    assert keeps_ready(run, WORKER) == 3
    drawn = [simulate(cluster, [change], seed=seed, draws_order=True, draws_ends=True) for seed in range(1, 21)]
    assert [run.lowest_ready(WORKER) for run in drawn] == [3] * 20
    assert fewest_ready(run, [change], WORKER, lambda _: pytest.fail("a placement was drawn")) == 3


def test_a_pod_of_a_higher_class_may_take_some() -> None:
    """One of others that waits, and its own new ones where the template's class is the higher one: no bound then."""
    waiting = deployment("third", [""], pod_spec(gpus=1, priorityClassName="most"))
    for cluster, change in (preempting(waiting), preempting(new_class="most")):
        assert keeps_ready(simulate(cluster, [change]), WORKER) is None
