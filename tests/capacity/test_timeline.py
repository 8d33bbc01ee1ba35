"""What happens beside a rollout: each event's answer, derived by hand. Pods take 30 s to start and 30 s to end."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from planner.capacity.timed_cluster_events import LaterEvents, timeline
from planner.capacity.what_if import ChangeCase, upgrade_steps
from planner.capacity.what_if_syntax import Later, parse_change, parse_later, text_of
from planner.ground.errors import ChangeError, HeadroomError, NotKnownError
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import LimitSource, PoolLimits, UpgradeSettings, UpgradeStrategy
from planner.kubernetes.object_records import Snapshot
from planner.questions.rollout import RolloutSettings
from planner.questions.rollout import answer as answer_of
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Bearing, Reason, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.run import simulate
from tests.builders.objects import Item, deployment, node, owner, pod, pod_spec, read_items, snapshot
from tests.rollout.rollouts import WORKER, daemon_set, stateful_set

ONE_GPU = pod_spec(gpus=1)
SURGE: dict[str, Any] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
OTHER = "Deployment/ml/other"
NOW = 1_790_000_000.0
LATE: Item = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "late", "namespace": "ml"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "late"}}, "template": {"metadata": {"labels": {"app": "late"}}, "spec": ONE_GPU}},
}  # fmt: skip


def asked(
    found: Snapshot, then: str, *, key: str = WORKER, manifests: tuple[str, ...] = (), **change: Any
) -> RolloutResult:
    beside = LaterEvents(later=parse_later(then), manifests=manifests)
    return rollout(found, Scenario(changes=(WorkloadChange(workload=key, **change),)), beside=beside)


def full(*more: Item | list[Item], gpus: int = 1) -> Snapshot:
    """The worker's one pod, which surges, on a node of pool gpu."""
    return snapshot(node("a", pool="gpu", gpus=gpus), deployment("worker", ["a"], ONE_GPU, **SURGE), *more)


def job(name: str, nodes: list[str], spec: Item = ONE_GPU, **more: Any) -> list[Item]:
    body = {"parallelism": len(nodes), "completions": len(nodes), "template": {"metadata": {}, "spec": spec}, **more}
    own = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "ml", "uid": f"j-{name}"}, "spec": body}  # fmt: skip
    by = owner("Job", name, f"j-{name}")
    return [own, *(pod(f"{name}-{i}", spec, on=where, owner=by) for i, where in enumerate(nodes))]


def quota(hard: Item, used: Item) -> Item:
    metadata = {"name": "q", "namespace": "ml"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}, "status": {"used": used}}  # fmt: skip


def budget(name: str, app: str, least: int) -> Item:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": app}}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": spec,
    }


# ── one of each ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_node_that_comes_lets_a_waiting_surge_through() -> None:
    """Stuck from the beginning; at 2:00 the new pod is placed, Ready at 2:30, the old one gone at 3:00."""
    answer = asked(full(), "2m:add:gpu=1")
    assert answer.verdict is Verdict.COMPLETES
    assert answer.seconds == 180
    (event,) = answer.meanwhile
    assert (event.happened, event.bearing, event.completes_without) == (True, Bearing.ANY_TIME, False)
    assert [(row.seconds, row.event) for row in answer.timeline][2:] == [
        (120, "meanwhile pool gpu grows from 1 to 2 nodes, 1 starting"),
        (150, "1 new Ready, 1 terminating"),
        (180, "1 gone"),
    ]


def test_an_event_in_the_midst_of_a_step_comes_at_its_second() -> None:
    """What it begins takes its time from then; what is under way takes no longer for it."""
    answer = asked(full(), "10s:add:gpu=1")
    assert [(row.seconds, row.event) for row in answer.timeline] == [
        (0, "before the change"),
        (10, "meanwhile pool gpu grows from 1 to 2 nodes, 1 starting"),
        (40, "1 new Ready, 1 terminating"),
        (70, "1 gone"),
    ]
    beside = full(node("b", pool="gpu", gpus=1))
    assert asked(beside, "10s:add:gpu=1").seconds == asked(beside, "").seconds == 60
    # A pod that is placed at 0:10 is Ready at 0:40: the step lasts so long, and the next one, in which the old pod ends, until 1:10.
    other = deployment("other", [], ONE_GPU, replicas=0)
    assert asked(full(other, gpus=3), "10s:replicas:Deployment/ml/other=1").seconds == 70


@pytest.mark.parametrize(("left", "ready"), [(12, 42), (-5, 30)])
def test_a_pod_that_is_being_deleted_ends_when_the_grace_of_that_request_is_over(left: int, ready: int) -> None:
    """Its deletionTimestamp; the pod's own grace period is ten minutes (apiserver `pkg/registry/rest/delete.go` `BeforeDelete`)."""
    going = pod("old", {**ONE_GPU, "terminationGracePeriodSeconds": 600}, on="b")
    going["metadata"]["deletionTimestamp"] = datetime.fromtimestamp(NOW + left, UTC).isoformat()
    worker = deployment("worker", ["a"], ONE_GPU, **SURGE)
    found = read_items([*(node(name, pool="gpu", gpus=1) for name in "ab"), *worker, going], taken_at=NOW)
    answer = asked(found, "30m:add:gpu=1")
    assert [row.seconds for row in answer.timeline if "new Ready" in row.event] == [ready]


def test_what_is_there_before_a_node_comes_knows_nothing_of_it() -> None:
    """Spread over hosts: a node that isn't there yet, with no pod, would refuse the surge on the others."""
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "worker"}}}  # fmt: skip
    spec = pod_spec(gpus=1, topologySpreadConstraints=[spread])
    nodes = [node(name, pool="gpu", gpus=2) for name in "ab"]
    found = snapshot(nodes, deployment("worker", ["a", "b"], spec, **SURGE))
    answer = asked(found, "10m:add:gpu=1")
    assert answer.verdict is Verdict.COMPLETES
    assert answer.seconds == asked(found, "").seconds < 600
    assert not answer.meanwhile[0].happened
    assert "when all is done already" in str(answer.meanwhile[0].sentence)


def test_daemon_sets_take_their_share_of_a_node_that_comes() -> None:
    """2 CPUs, of which a DaemonSet takes one and a half: no room for the worker's one."""
    small = node("a", pool="gpu", gpus=1, cpu="2")
    agent = daemon_set("agent", ["a"], pod_spec(cpu="1500m", memory="1Mi"))
    spec = pod_spec(gpus=1, cpu="500m")
    worker = deployment("worker", ["a"], spec, **SURGE)
    assert asked(snapshot(small, agent, worker), "1m:add:gpu=1").verdict is Verdict.COMPLETES
    answer = asked(snapshot(small, agent, worker), "1m:add:gpu=1", requests={"cpu": 600})
    assert answer.verdict is Verdict.STUCK
    assert "0/2 nodes are available" in str(answer.workloads[0].scheduler_message)
    assert answer.meanwhile[0].bearing is Bearing.NEVER_DECIDES


def test_a_node_that_goes_takes_the_new_pod_with_it() -> None:
    """The surge goes to b, Ready at 0:30. Before that b's end leaves the worker where hold-and-wait begins; from then on the
    old pod is on its way out, and its successor follows it on a: placed at 1:00, Ready at 1:30."""
    found = full(node("b", pool="gpu", gpus=1))
    early = asked(found, "10s:delete:b")
    assert (early.verdict, early.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)
    assert "0/1 nodes are available" in str(early.workloads[0].scheduler_message)
    (event,) = early.meanwhile
    assert (event.bearing, event.from_seconds, event.completes_without) == (Bearing.FROM, 30, True)
    late = asked(found, "40s:delete:b")
    assert (late.verdict, late.seconds) == (Verdict.COMPLETES, 90)
    assert late.meanwhile[0].bearing is Bearing.FROM
    after = asked(found, "5m:delete:b")  # all was done at 1:00: its pod comes back on a, Ready at 5:30
    assert (after.verdict, after.seconds, after.meanwhile[0].happened) == (Verdict.COMPLETES, 330, False)
    assert "when all is done already" in str(after.meanwhile[0].sentence)


def test_pods_of_others_come_back_elsewhere_when_their_node_goes() -> None:
    """The worker replaces its pod in place, gone at 0:30; other's pod, whose node goes at once, waits longest and takes its
    room."""
    recreate: dict[str, Any] = {"strategy": {"type": "Recreate"}}
    found = snapshot(
        node("a", pool="gpu", gpus=1), node("b", pool="gpu", gpus=1), deployment("other", ["b"], ONE_GPU),
        deployment("worker", ["a"], ONE_GPU, **recreate),
    )  # fmt: skip
    answer = asked(found, "0s:delete:b")
    assert answer.verdict is Verdict.STUCK
    assert [(one.workload, one.count) for one in answer.pending] == [(WORKER, 1)]
    assert answer.meanwhile[0].bearing is Bearing.FROM


def test_a_drain_sends_pods_elsewhere_and_keeps_new_ones_away() -> None:
    """The surge waits for a place; other's pod is evicted from b at 1:00, but b takes nobody then: it comes back nowhere."""
    found = full(node("b", pool="gpu", gpus=2), deployment("other", ["b"], ONE_GPU))
    assert asked(found, "5m:drain:b").verdict is Verdict.COMPLETES
    early = asked(found, "0s:drain:b")
    assert (early.verdict, early.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)
    assert "1 node(s) were unschedulable" in str(early.workloads[0].scheduler_message)
    assert "0/2 nodes are available" in str(early.workloads[0].scheduler_message)
    assert early.meanwhile[0].bearing is Bearing.FROM


def test_evictions_are_asked_for_until_budgets_let_them() -> None:
    """The surge takes two GPUs of a. The budget lets one of other's pods go at 0:00; its successor elsewhere is Ready at 0:30, then the
    other goes, too, and is gone at 1:00. The surge is placed, Ready at 1:30, the old pod gone at 2:00."""
    two = pod_spec(gpus=2, nodeSelector={"kubernetes.io/hostname": "a"})

    def found(least: int) -> Snapshot:
        return snapshot(
            node("a", pool="gpu", gpus=4), node("c", gpus=1), node("d", gpus=1), deployment("other", ["a", "a"], ONE_GPU),
            budget("keep", "other", least), deployment("worker", ["a"], two, **SURGE),
        )  # fmt: skip

    names = sorted(one.name for one in found(1).pods if "other" in one.name)
    both = ";".join(f"0s:evict:ml/{name}" for name in names)
    answer = asked(found(1), both)
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 120)
    assert asked(found(2), both).verdict is Verdict.STUCK


def test_an_evicted_pod_leaves_its_place_to_whoever_waits_longer() -> None:
    """Worker's surge waits since 0:00; other's pod, made anew at 1:00, comes after it."""
    found = snapshot(
        node("a", pool="gpu", gpus=2),
        deployment("worker", ["a"], ONE_GPU, **SURGE),
        deployment("other", ["a"], ONE_GPU),
    )
    names = [one.name for one in found.pods if "other" in one.name]
    answer = asked(found, f"1m:evict:ml/{names[0]}")
    assert answer.verdict is Verdict.COMPLETES
    assert (answer.meanwhile[0].bearing, answer.meanwhile[0].completes_without) == (Bearing.ANY_TIME, False)
    guarded = asked(
        snapshot(
            node("a", pool="gpu", gpus=2), deployment("worker", ["a"], ONE_GPU, **SURGE),
            deployment("other", ["a"], ONE_GPU), budget("keep", "other", 1),
        ), f"1m:evict:ml/{names[0]}",
    )  # fmt: skip
    assert (guarded.verdict, guarded.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)


def test_whom_a_cordon_does_not_keep_away_is_not_known() -> None:
    agent = daemon_set("agent", ["a", "b"], pod_spec())
    found = snapshot(node("a"), node("b"), agent)
    with pytest.raises(NotKnownError, match="goes to cordoned nodes, too"):
        asked(found, "1m:drain:b", key="DaemonSet/ml/agent")


@pytest.mark.parametrize(
    ("there", "then"),
    [
        (node("b", pool="other", cordoned=True), "1m:drain:b"),
        (node("b", pool="other", cordoned=True), "1m:upgrade:other"),
        (node("b", pool="other", cordoned=True, taints=(("k", "NoSchedule"),)), "10m:untaint:other=k"),
        (node("b", pool="other", taints=(("node.kubernetes.io/disk-pressure", "NoSchedule"),)), "1m:drain:b"),
    ],
)
def test_a_daemon_sets_pods_go_where_its_template_tolerates_nothing(there: Item, then: str) -> None:
    """To cordoned nodes, and those under pressure. Other taints keep them away, and so nothing is asked of a drain there."""
    key = "DaemonSet/ml/agent"
    with pytest.raises(NotKnownError, match=r"goes to cordoned nodes, too|rolls out on each node"):
        asked(snapshot(node("a", pool="gpu"), there, daemon_set("agent", ["a"], pod_spec())), then, key=key)
    kept = node("b", pool="other", cordoned=True, taints=(("held", "NoSchedule"),))
    found = snapshot(node("a", pool="gpu"), kept, daemon_set("agent", ["a"], pod_spec()))
    assert asked(found, "1m:drain:b", key=key).verdict is Verdict.COMPLETES


def test_a_node_takes_pods_again_when_it_is_uncordoned() -> None:
    """Stuck from the beginning beside a cordoned node; placed there at 2:00, Ready at 2:30, the old pod gone at 3:00."""
    found = full(node("b", pool="gpu", gpus=1, cordoned=True))
    assert asked(found, "").verdict is Verdict.STUCK
    answer = asked(found, "2m:uncordon:b")
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 180)
    (event,) = answer.meanwhile
    assert (event.bearing, event.completes_without) == (Bearing.ANY_TIME, False)
    assert "1 node(s) were unschedulable" in str(asked(full(gpus=1), "1m:drain:a").workloads[0].scheduler_message)


def test_a_drained_node_takes_pods_again() -> None:
    """The surge waits for b, which is drained of nobody at 0:00, until it is uncordoned at 2:00."""
    found = full(node("b", pool="gpu", gpus=1))
    assert asked(found, "0s:drain:b").verdict is Verdict.STUCK
    answer = asked(found, "0s:drain:b;2m:uncordon:b")
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 180)
    assert [one.completes_without for one in answer.meanwhile] == [True, False]


def test_a_drain_ends_when_the_node_is_uncordoned() -> None:
    """Other's pod may not be evicted before the worker's second one is Ready; by then the node is uncordoned."""
    found = full(node("b", pool="gpu", gpus=2), deployment("other", ["b"], ONE_GPU), budget("keep", "other", 1))
    answer = asked(found, "0s:drain:b;1m:uncordon:b")
    assert answer.verdict is Verdict.COMPLETES
    assert not answer.preempted


def test_a_taint_that_nobody_tolerates_keeps_new_pods_away() -> None:
    """The surge waits for the GPU of b that a Job holds until 1:00. A taint that comes before keeps it away, one that comes later finds it
    placed; taken off again at 2:00, it lets it in."""
    found = full(node("b", pool="other", gpus=1), job("nightly", ["b"]))
    ends, taint = "1m:job-ends:ml/nightly", "taint:other=maintenance:NoSchedule"
    early = asked(found, f"30s:{taint};{ends}")
    assert (early.verdict, early.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)
    assert "1 node(s) had untolerated taint(s)" in str(early.workloads[0].scheduler_message)
    assert asked(found, f"{ends};70s:{taint}").verdict is Verdict.COMPLETES
    back = asked(found, f"30s:{taint};{ends};2m:untaint:other=maintenance")
    assert (back.verdict, back.seconds) == (Verdict.COMPLETES, 180)


def test_a_taint_that_executes_pushes_pods_out_and_asks_no_budget() -> None:
    """The worker's surge waits for a GPU of b; at 1:00 other's pod has to go, gone at 1:30, and comes back nowhere: b takes nobody
    until 5:00, when the surge is first."""
    found = full(node("b", pool="other", gpus=1), deployment("other", ["b"], ONE_GPU), budget("keep", "other", 1))
    out = asked(found, "1m:taint:other=maintenance:NoExecute")
    assert (out.verdict, out.reason) == (Verdict.STUCK, Reason.HOLD_AND_WAIT)
    assert sorted((one.workload, one.count) for one in out.pending) == [(OTHER, 1), (WORKER, 1)]
    back = asked(found, "1m:taint:other=maintenance:NoExecute;5m:untaint:other=maintenance")
    assert (back.verdict, back.seconds) == (Verdict.COMPLETES, 360)
    kept = asked(found, "1m:taint:other=maintenance:NoSchedule;5m:untaint:other=maintenance")
    assert (kept.verdict, len(kept.pending)) == (Verdict.STUCK, 1)


def test_a_taint_that_is_taken_off_lets_pods_in() -> None:
    found = full(node("b", pool="other", gpus=1, taints=(("held", "NoSchedule"),)))
    assert asked(found, "").verdict is Verdict.STUCK
    answer = asked(found, "2m:untaint:other=held")
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 180)
    assert answer.meanwhile[0].bearing is Bearing.ANY_TIME


def test_a_taint_that_all_tolerate_changes_nothing() -> None:
    tolerant = pod_spec(gpus=1, tolerations=[{"key": "maintenance", "operator": "Exists"}])
    worker = deployment("worker", ["a"], tolerant, **SURGE)
    found = snapshot(node("a", pool="gpu", gpus=1), node("b", pool="other", gpus=1), worker)
    answer = asked(found, "0s:taint:other=maintenance:NoSchedule")
    assert answer.verdict is Verdict.COMPLETES
    assert answer.meanwhile[0].bearing is Bearing.NEVER_DECIDES
    # however far an upgrade of that pool is then; what evicts, or lets pods end, may differ
    assert asked(found, "0s:taint:other=maintenance:NoSchedule;1m:upgrade:other").verdict is Verdict.COMPLETES
    with pytest.raises(NotKnownError, match="how far pool other is upgraded"):
        asked(found, "0s:taint:other=maintenance:NoExecute;1m:upgrade:other")


@pytest.mark.parametrize(
    ("then", "tolerations", "said"),
    [
        ("1m:taint:other=m:NoSchedule", [{"key": "m", "operator": "Exists"}], "tolerates the taint and"),
        ("1m:taint:other=m:PreferNoSchedule", [], "changes which nodes are preferred"),
        (
            "1m:taint:other=m:NoExecute",
            [{"key": "m", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
            "tolerates the taint and",
        ),
    ],
)
def test_a_taint_that_only_some_tolerate_is_not_known(then: str, tolerations: list[Item], said: str) -> None:
    other = deployment("other", ["b"], pod_spec(gpus=1, tolerations=tolerations))
    with pytest.raises(NotKnownError, match=said):
        asked(full(node("b", pool="other", gpus=2), other), then)


def test_a_pod_is_led_to_a_node_while_all_others_are_cordoned() -> None:
    """Other's pod, on the only node that the worker's two GPUs fit on, is evicted at 1:00 and led to c, though b has room, too; the
    surge is placed when it is gone at 1:30, Ready at 2:00, the old pod gone at 2:30."""
    two = pod_spec(gpus=2, nodeSelector={"kubernetes.io/hostname": "a"})
    found = snapshot(
        node("a", pool="gpu", gpus=4), node("b", gpus=1), node("c", gpus=1), deployment("other", ["a"], ONE_GPU),
        deployment("worker", ["a"], two, **SURGE),
    )  # fmt: skip
    (name,) = [one.name for one in found.pods if "other" in one.name]
    assert asked(found, "").verdict is Verdict.STUCK
    for goal in "bc":
        answer = asked(found, f"1m:move:ml/{name}={goal}")
        assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 150)
        assert answer.meanwhile[0].completes_without is False
    assert asked(found, f"1m:move:ml/{name}=a").verdict is Verdict.STUCK


def test_the_node_that_comes_for_an_upgraded_one_lets_a_waiting_surge_through() -> None:
    """At 2:00 a's successor comes and a is drained: the surge, which has waited longest, is placed on it, the evicted pod's successor
    finds nothing until the surge is Ready at 2:30, and nobody needs it then."""
    answer = asked(full(), "2m:upgrade:gpu")
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 150)
    (event,) = answer.meanwhile
    assert (event.happened, event.bearing, event.completes_without) == (True, Bearing.ANY_TIME, False)
    assert "pool gpu is upgraded in 1 step (surge 1, unavailable 0)" in str(event.sentence)
    assert [(row.seconds, row.event) for row in answer.timeline][2:] == [
        (
            120,
            "meanwhile pool gpu is upgraded in 1 step (surge 1, unavailable 0), 1 starting, 1 terminating, 1 waiting for a node",
        ),
        (150, "meanwhile node a replaced, step 1 of 1 of the upgrade of gpu, 1 new Ready, 1 gone"),
    ]


def beside_web() -> Snapshot:
    """The worker, replaced in place on the one GPU of pool web, where it has to be; other's pod, which may go anywhere, on pool gpu's."""
    spec = pod_spec(gpus=1, nodeSelector={"cloud.google.com/gke-nodepool": "web"})
    worker = deployment("worker", ["w"], spec, strategy={"type": "Recreate"})
    nodes = [node("a", pool="gpu", gpus=1), node("w", pool="web", gpus=1)]
    return snapshot(nodes, worker, deployment("other", ["a"], ONE_GPU))


def test_an_upgrade_sends_pods_of_others_into_the_room_of_a_rollout() -> None:
    """Without surge a is drained first. At once: other's new pod waits for the first GPU, and that is the worker's, which is free at 0:30
    and never again. From 0:30 on the worker has it. With surge a's successor is there before other's pod is evicted."""
    early = asked(beside_web(), "0s:upgrade:gpu=surge:0,unavailable:1")
    assert (early.verdict, early.workloads[0].verdict) == (Verdict.STUCK, Verdict.STUCK)
    (event,) = early.meanwhile
    assert (event.bearing, event.from_seconds, event.completes_without) == (Bearing.FROM, 30, True)
    late = asked(beside_web(), "40s:upgrade:gpu=surge:0,unavailable:1")
    # Its new pod and a's, which is evicted at 0:40 and takes 30 s to end, come to something in one step.
    assert (late.verdict, late.seconds) == (Verdict.COMPLETES, 70)
    surge = asked(beside_web(), "0s:upgrade:gpu")
    assert (surge.verdict, surge.meanwhile[0].bearing) == (Verdict.COMPLETES, Bearing.NEVER_DECIDES)


def test_an_upgrade_is_the_drains_and_nodes_that_it_is_made_of() -> None:
    """A node that comes, the old one drained, and gone when its pod has left it at 0:30: by three events, in another pool's name."""
    by_hand = "0s:add:gpu=1;0s:drain:a;30s:delete:a"
    for then in ("0s:upgrade:gpu", by_hand):
        answer = asked(beside_web(), then)
        assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 60)


@pytest.mark.parametrize("how", ["", "=surge:1,unavailable:1", "=surge:0,unavailable:2", "=surge:2,quota:1"])
def test_both_doors_upgrade_a_pool_in_the_same_steps_to_the_same_end(how: str) -> None:
    """What-if by itself, and beside a rollout that has nothing to do with it."""
    nodes = [node(name, pool="gpu", gpus=2) for name in "abcde"]
    found = snapshot(
        *nodes,
        node("w", pool="web"),
        deployment("worker", ["w"], pod_spec()),
        deployment("other", list("aabcde"), ONE_GPU),
    )
    cluster = compiled(found)
    steps = list(upgrade_steps(ChangeCase(cluster, parse_change(f"upgrade:gpu{how}"), ())))
    scenario = Scenario(changes=(WorkloadChange(workload=WORKER),))
    beside = timeline(prepare(found, scenario), LaterEvents(later=parse_later(f"0s:upgrade:gpu{how}")))
    (planned,) = beside.planned
    assert planned.happening is not None
    stages = (planned.happening, *planned.happening.stages)
    assert [one.drains for one in stages] == [*(one.nodes for one in steps), ()]
    assert [one.nodes_go for one in stages] == [(), *(one.nodes for one in steps)]
    assert len(stages[0].nodes_come) == len(steps[0].cluster.nodes) - len(cluster.nodes)
    assert len({name for one in stages for name in one.nodes_come}) == len(nodes)
    run = simulate(beside.cluster, beside.prepared.revisions)
    ends = (steps[-1].after, run.simulation.snapshot_now())
    waiting, held = ([sum(getattr(pod, what) for pod in end.pods) for end in ends] for what in ("waits", "holds_room"))
    assert waiting[0] == waiting[1]
    assert held[0] == held[1]


def test_whom_budgets_keep_an_upgrade_deletes_after_an_hour() -> None:
    """Other's only pod may not be evicted from a, which goes with it at 1:00:00: the surge has waited longer for the node that comes, and
    is Ready at 1:00:30."""
    nodes = [node(name, pool="gpu", gpus=1) for name in "ab"]
    worker, other = deployment("worker", ["b"], ONE_GPU, **SURGE), deployment("other", ["a"], ONE_GPU)
    found = snapshot(nodes, worker, other, budget("keep", "other", 1))
    answer = asked(found, "0s:upgrade:gpu=surge:0,unavailable:1")
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 3630)
    kept = "meanwhile node a replaced, step 1 of 2 of the upgrade of gpu, with pods that budgets never let go"
    assert any(kept in row.event for row in answer.timeline)


def test_blue_green_brings_the_whole_pool_first() -> None:
    """Two nodes come, both old ones are drained together: one of the two for the surge at once, and it needs no other."""
    nodes = [node(name, pool="gpu", gpus=1) for name in "ab"]
    found = snapshot(nodes, deployment("worker", ["a"], ONE_GPU, **SURGE), deployment("other", ["b"], ONE_GPU))
    way = PoolLimits(
        name="gpu", source=LimitSource.GCLOUD, upgrade=UpgradeSettings(strategy=UpgradeStrategy.BLUE_GREEN)
    )
    beside = LaterEvents(later=parse_later("1m:upgrade:gpu"), limits=(way,))
    answer = rollout(found, Scenario(changes=(WorkloadChange(workload=WORKER),)), beside=beside)
    assert answer.verdict is Verdict.COMPLETES
    assert "in 1 step (blue-green, 2 more nodes meanwhile)" in str(answer.meanwhile[0].sentence)


def test_a_change_may_come_after_the_others() -> None:
    """`rollout:` of a change that is asked about, and the older spelling, mean the same; of another workload it is a restart."""
    found = full(node("b", pool="gpu", gpus=1), deployment("other", ["b"], ONE_GPU, **SURGE), gpus=2)
    keys = (WORKER, OTHER)

    def both(then: str, first: tuple[str, ...] = ()) -> RolloutResult:
        changes = tuple(WorkloadChange(workload=key) for key in keys)
        return rollout(found, Scenario(changes=changes), beside=LaterEvents(later=parse_later(then), first=first))

    named, every = both(f"45s:rollout:{OTHER}"), both("45s:rollout:all", first=(WORKER,))
    assert named.workloads == every.workloads
    assert named.seconds == every.seconds == 120
    restarted = asked(found, f"45s:rollout:{OTHER}")
    assert restarted.workloads == named.workloads
    settings = RolloutSettings(workloads=(OTHER,), also=(WORKER,), after_seconds=45)
    older = answer_of(found, settings)
    assert {one.workload: one.seconds for one in older.workloads} == {
        one.workload: one.seconds for one in every.workloads
    }
    assert older.meanwhile[0].event == "45s:rollout:all"


def test_a_zone_may_go() -> None:
    found = full(node("b", pool="gpu", gpus=1, zone="z"))
    answer = asked(found, "10s:remove-zone:z")
    assert answer.verdict is Verdict.STUCK
    assert str(answer.meanwhile[0].sentence).startswith(
        "after 10 s, zone z with node b gone: it must not come before 30 s"
    )


def test_a_quota_that_is_raised_lets_the_surge_through() -> None:
    found = full(quota({"pods": "1"}, {"pods": "1"}), gpus=2)
    assert asked(found, "").reason is Reason.QUOTA
    answer = asked(found, "90s:quota:ml/q=pods:2")
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 150)
    assert answer.meanwhile[0].bearing is Bearing.ANY_TIME
    assert asked(found, "90s:quota:ml/q=pods:1").verdict is Verdict.STUCK


def test_a_quota_that_is_lowered_refuses_what_comes_later() -> None:
    """Two replicas: the second surge is asked for at 1:00, when the first old pod is gone."""
    found = snapshot(
        node("a", gpus=3), deployment("worker", ["a", "a"], ONE_GPU, **SURGE), quota({"pods": "3"}, {"pods": "2"})
    )
    answer = asked(found, "45s:quota:ml/q=pods:2")
    assert (answer.verdict, answer.reason) == (Verdict.STUCK, Reason.QUOTA)
    assert answer.meanwhile[0].bearing is Bearing.FROM


def test_a_job_that_ends_makes_room() -> None:
    answer = asked(full(job("nightly", ["a"]), gpus=2), "1m:job-ends:ml/nightly")
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 120)
    assert answer.meanwhile[0].bearing is Bearing.ANY_TIME


def test_gates_that_are_removed_let_the_new_pod_be_tried() -> None:
    patch = json.dumps({"spec": {"template": {"spec": {"schedulingGates": [{"name": "example.com/wait"}]}}}})
    found = full(gpus=2)
    assert asked(found, "", patch=patch).reason is Reason.SCHEDULING_GATE
    answer = asked(found, "30s:ungate:ml/worker", patch=patch)
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 90)
    assert answer.meanwhile[0].bearing is Bearing.ANY_TIME


def test_another_that_is_scaled_down_makes_room() -> None:
    """At 1:00 its pod is deleted, gone at 1:30; the new one is Ready at 2:00, the old one gone at 2:30."""
    found = full(deployment("other", ["a"], ONE_GPU), gpus=2)
    answer = asked(found, "1m:replicas:Deployment/ml/other=0")
    assert [(part.workload, part.verdict) for part in answer.workloads] == [
        (WORKER, Verdict.COMPLETES), (OTHER, Verdict.COMPLETES),
    ]  # fmt: skip
    assert answer.seconds == 150
    (event,) = answer.meanwhile
    assert (event.bearing, event.completes_without) == (Bearing.ANY_TIME, False)
    assert asked(found, "1m:resize:Deployment/ml/other=replicas:0").seconds == 150


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_the_workload_itself_may_be_scaled_on_its_way(kind: str) -> None:
    make = {"Deployment": deployment, "StatefulSet": stateful_set}[kind]
    more = SURGE if kind == "Deployment" else {}
    found = snapshot(node("a", gpus=8), make("worker", ["a", "a"], ONE_GPU, **more))
    answer = asked(found, f"10s:replicas:{kind.lower()}/ml/worker=3", key=f"{kind}/ml/worker")
    assert (answer.verdict, answer.workloads[0].replicas) == (Verdict.COMPLETES, 3)
    assert answer.workloads[0].final["replicas"] == 3
    assert len(answer.workloads) == 1


def test_another_release_may_follow() -> None:
    """Two GPUs: the surge holds the second until 1:00, the release that comes at 0:10 waits for it, and is Ready at 1:30."""
    answer = asked(full(gpus=2), "10s:apply:late.yaml", manifests=(json.dumps(LATE),))
    assert answer.verdict is Verdict.COMPLETES
    assert [part.workload for part in answer.workloads] == [WORKER, "Deployment/ml/late"]
    assert answer.seconds == 90
    (event,) = answer.meanwhile
    assert (event.happened, event.bearing) == (True, Bearing.NEVER_DECIDES)
    assert str(event.sentence).startswith("after 10 s, late.yaml is applied")


def test_a_daemon_set_follows_nodes_that_come_and_go() -> None:
    """One at a time: a at 0:30 gone, at 1:00 Ready; c comes meanwhile and gets its new pod at once; b has gone."""
    found = snapshot(node("a", pool="gpu"), node("b", pool="gpu"), daemon_set("agent", ["a", "b"], pod_spec()))
    answer = asked(found, "5s:add:gpu=1;10s:delete:b", key="DaemonSet/ml/agent")
    assert answer.verdict is Verdict.COMPLETES
    assert answer.workloads[0].final["desiredNumberScheduled"] == 2
    assert answer.workloads[0].final["updatedNumberScheduled"] == 2
    assert all(one.happened for one in answer.meanwhile)


def test_a_job_that_loses_a_node_makes_its_pod_anew_or_fails() -> None:
    """No GPU is spare: the surge waits, and beside it the Job's new pod, unless the Job gives up with the first it loses."""
    b = node("b", pool="gpu", gpus=1)
    kept = asked(full(b, job("nightly", ["b"])), "0s:delete:b")
    assert {one.workload for one in kept.pending} == {WORKER, "Job/ml/nightly"}
    failed = asked(full(b, job("nightly", ["b"], backoffLimit=0)), "0s:delete:b")
    assert {one.workload for one in failed.pending} == {WORKER}


def test_who_is_done_is_not_late_because_others_go_on() -> None:
    """Other is scaled down within 30 s; the worker goes on for longer than other's deadline after that."""
    other = deployment("other", ["a"], ONE_GPU, progressDeadlineSeconds=40)
    answer = asked(full(other, gpus=2), "1m:replicas:Deployment/ml/other=0")
    assert [(part.workload, part.exceeds_deadline) for part in answer.workloads] == [(WORKER, False), (OTHER, False)]


# ── how late ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("then", "verdict", "bearing", "is_undone"),
    [
        ("1h:add:gpu=2", Verdict.COMPLETES, Bearing.NEVER_DECIDES, False),
        ("1h:delete:pool/gpu", Verdict.STUCK, Bearing.NEVER, True),
        ("1h:replicas:Deployment/ml/worker=2", Verdict.COMPLETES, Bearing.NEVER_DECIDES, True),
        ("1h:replicas:Deployment/ml/worker=4", Verdict.STUCK, Bearing.NEVER, True),
    ],
)
def test_an_event_after_the_end_is_played_too(then: str, verdict: Verdict, bearing: Bearing, is_undone: bool) -> None:
    """live4-011: it was dropped, and a scaling that stays stuck passed. A run ends when nothing is left to come."""
    found = full(node("b", pool="gpu", gpus=1), gpus=2)
    plain, answer = asked(found, ""), asked(found, then)
    (event,) = answer.meanwhile
    assert (answer.verdict, event.bearing, event.happened) == (verdict, bearing, False)
    assert ", when all is done already: " in str(event.sentence)
    assert (answer.seconds == plain.seconds) is not is_undone


def test_a_job_has_to_end_before_its_room_is_taken_by_another() -> None:
    """Whoever comes first keeps the GPU: the worker when the Job ends before other is scaled up, else other, which asked after
    the worker and has a higher priority."""
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 9, "preemptionPolicy": "Never"}  # fmt: skip
    other = deployment("other", [], pod_spec(gpus=1, priorityClassName="urgent"), replicas=0)
    found = full(job("nightly", ["a"]), urgent, other, gpus=2)
    answer = asked(found, "1m:job-ends:ml/nightly;3m:replicas:Deployment/ml/other=1")
    assert answer.verdict is Verdict.COMPLETES
    late = asked(found, "5m:job-ends:ml/nightly;3m:replicas:Deployment/ml/other=1")
    assert (late.verdict, late.workloads[0].verdict) == (Verdict.STUCK, Verdict.STUCK)
    for one in (answer, late):
        event = next(e for e in one.meanwhile if "job-ends" in e.event)
        assert (event.bearing, event.until_seconds) == (Bearing.UNTIL, 180)


# ── what isn't played is said ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("2m:move:ml/worker-0=a", "there is no pod worker-0 on a node"),
        ("2m:move:ml/worker-1-0=z", "there is no node z"),
        ("2m:uncordon:a", "node a: not cordoned"),
        ("2m:untaint:gpu=a", "pool gpu has no taint a"),
        ("2m:rollout:Deployment/ml/none", "there is no Deployment/ml/none"),
        ("2m:drain:z", "there is no node z"),
        ("2m:evict:ml/none", "there is no pod none on a node"),
        ("2m:upgrade:web", "there is no pool web"),
        ("2m:upgrade:gpu=quota:0", "pool gpu can't be upgraded: it needs 1 more node and the quota lets in 0"),
        ("add:gpu=1", "begins with no time"),
        ("25h:add:gpu=1", "more than a day"),
        ("2m:add:web=1", "there is no pool web"),
        ("2m:delete:z", "there is no node z"),
        ("2m:remove-zone:z", "no node is in zone z"),
        ("2m:quota:ml/other=pods:2", "there is no ResourceQuota other"),
        ("2m:quota:ml/q=services:2", "says nothing of services"),
        ("2m:quota:q=pods:2", "can't be read"),
        ("2m:job-ends:ml/nightly", "there is no Job nightly that isn't done"),
        ("2m:ungate:ml/worker", "no pod of ml/worker waits behind a scheduling gate"),
        ("2m:replicas:Deployment/ml/none=1", "there is no Deployment/ml/none"),
        ("1m:apply:x.yaml", "only workloads are applied"),
    ],
)
def test_what_is_not_played_is_refused(then: str, said: str) -> None:
    found = full(quota({"pods": "9"}, {"pods": "1"}), deployment("other", ["a"], ONE_GPU), gpus=4)
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": [LATE, quota({"pods": "5"}, {})]})
    with pytest.raises(ChangeError, match=said):
        asked(found, then, manifests=(manifest,))


@pytest.mark.parametrize("other", ["1m:delete:a", "1h:add:gpu=1", "3m:upgrade:gpu", "3m:drain:pool/gpu"])
def test_what_else_happens_to_a_pool_that_is_upgraded_is_not_known(other: str) -> None:
    with pytest.raises(NotKnownError, match="how far pool gpu is upgraded when that comes isn't known"):
        asked(full(), f"2m:upgrade:gpu;{other}")


def test_devices_of_new_nodes_are_not_known() -> None:
    one = {"name": "gpu-0", "attributes": {}, "capacity": {}}
    devices = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {"driver": "gpu.example.com", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1}, "devices": [one]}}  # fmt: skip
    with pytest.raises(NotKnownError, match="which devices a new node of pool gpu has isn't known"):
        asked(full(devices), "2m:add:gpu=1")


def test_a_list_is_read_back_as_it_is_written() -> None:
    text = "0s:delete:a;1m30s:add:gpu=2;2h:quota:ml/q=pods:2,requests.cpu:500m;1h1s:apply:a dir/b=c.yaml"
    assert text_of(parse_later(text)) == text
    assert parse_later("90s:add:gpu=2")[0].after_seconds == 90
    assert isinstance(parse_later("90s:add:gpu=2")[0], Later)
    with pytest.raises(HeadroomError, match="13 events"):
        parse_later(";".join(["1m:delete:a"] * 13))
