"""The certificate: all plans worth having, against every plan played one by one; proven only where nothing is left to chance."""

from __future__ import annotations

import os
from random import Random

import pytest

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.remedies.lever_ranges import Knobs, Lever, knobs
from planner.remedies.pareto_plan_search import SearchOutcome, search
from planner.remedies.pareto_plans_answer import Certificate
from planner.remedies.pareto_plans_report import ALL, certificate
from planner.remedies.player import Costs
from planner.remedies.random_draw_checks import PlanCase
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.run import simulate
from planner.rollout.stuck_diagnosis import explain
from tests.builders.objects import WHOLE, Item, deployment, node, pod_spec, snapshot
from tests.capacity.plain_plans import Vector, beats, every, pools_of
from tests.quick import seeds
from tests.rollout.rollouts import WORKER, rolling, stateful_set
from tests.rollout.test_admission import quota
from tests.rollout.test_verdict import one_of_two_devices

CASES = int(os.environ.get("HEADROOM_CERTIFICATE_CASES", "25"))
MOST_NODES = 1  # of a pool, so that trying all doesn't take long
PLAYED = ALL - {Lever.MOVES, Lever.ORDER}


def asked(
    found: Snapshot, levers: frozenset[Lever] = PLAYED, key: str = WORKER, most_nodes: int = MOST_NODES
) -> tuple[PlanCase, Knobs]:
    prepared = prepare(found, Scenario(changes=(WorkloadChange(workload=key),)))
    cluster = compiled(prepared.snapshot)
    run = simulate(cluster, prepared.revisions)
    case = PlanCase(cluster=cluster, revisions=prepared.revisions, pod_times=prepared.pod_times, run=run)
    lacking = () if run.completed else explain(run, prepared.revisions[0]).lacking
    known = knobs(case, levers, (), lacking)
    return case, replace(known, pools=tuple(replace(one, most=min(one.most, most_nodes)) for one in known.pools))


def of(*items: Item | list[Item], levers: frozenset[Lever] = ALL) -> Certificate:
    return certificate(snapshot(*items), Scenario(changes=(WorkloadChange(workload=WORKER),)), levers)


def worker(*nodes: str, gpus: int = 1, surge: int = 1, unavailable: int = 0) -> list[Item]:
    return deployment("worker", list(nodes), pod_spec(gpus=gpus), strategy=rolling(surge, unavailable))


# ── against every plan ───────────────────────────────────────────────────────────────────────────────────────────────
def random_case(seed: int) -> Snapshot:
    """At most 4 nodes of a pool or two, the worker, another Deployment or two beside it, some of whose pods wait, and a quota."""
    luck = Random(seed)
    nodes = {f"n{i}": luck.choice((1, 1, 2, 2)) for i in range(luck.randint(1, luck.choice((2, 2, 4))))}
    pools = {name: luck.choice(("a", "a", "b")) for name in nodes}
    left = dict(nodes)

    def placed(gpus: int, waits: float) -> str:
        fitting = [name for name in left if left[name] >= gpus]
        if not fitting or luck.random() < waits:
            return ""
        name = luck.choice(fitting)
        left[name] -= gpus
        return name

    size = luck.choice((1, 1, 1, 2))
    homes = [placed(size, 0.05) for _ in range(luck.randint(1, 2))]
    items: list[Item] = [node(name, pool=pools[name], gpus=gpus) for name, gpus in nodes.items()]
    strategy = luck.choice(
        (rolling(1, 0), rolling(1, 0), rolling(1, 0), rolling(0, 1), rolling(1, 1), {"type": "Recreate"})
    )
    items += deployment("worker", homes, pod_spec(gpus=size), strategy=strategy)
    for name in ("other", "more")[: luck.choice((0, 1, 1, 2))]:
        gpus = luck.choice((1, 1, 2))
        own = [placed(gpus, 0.3) for _ in range(luck.randint(1, 2))]
        space = luck.choice(("ml", "web"))
        spec = pod_spec(gpus=gpus, priority=luck.choice((0, 0, 0, 10, -10)))
        items += deployment(name, own, spec, namespace=space, strategy=rolling(1, 0))
    if luck.random() < 0.25:
        used = size * sum(map(bool, homes))
        items.append(quota({"requests.nvidia.com/gpu": str(used + luck.choice((0, 0, 1)))}))
    return snapshot(*items)


@pytest.mark.parametrize("seed", seeds(CASES))
def test_the_plans_are_those_that_trying_all_finds(seed: int) -> None:
    case, known = asked(random_case(seed))
    found = search(case, known, units=200_000_000)
    assert found.is_whole
    assert_same(case, known, found, MOST_NODES)
    assert found.looked_at == found.total == known.total
    lean = search(case, known, units=200_000_000, does=lambda _: False)
    assert {one.costs for one in lean.best} == {one.costs for one in found.best}, "what lacks room isn't played"
    first = search(case, known, units=200_000_000, does=lambda one: one.lowest[0] > 0)
    easiest = next((one.costs for one in found.best if one.lowest[0] > 0), None)
    assert easiest == next((one.costs for one in first.best if one.lowest[0] > 0), None)


def ordinal_case(seed: int) -> Snapshot:
    """A StatefulSet of two or three pods, one of which may be nowhere, another that waits for its place, and the gate on or off."""
    luck = Random(seed)
    names = [f"n{i}" for i in range(luck.randint(2, 3))]
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": luck.choice((0, 0, 1))}}
    if luck.random() < 0.5:
        update["rollingUpdate"]["maxUnavailable"] = luck.choice((1, 2))  # type: ignore[index]
    homes = [name if luck.random() < 0.9 else "" for name in names]
    rival = deployment("other", [""], pod_spec(gpus=1), strategy=rolling(1, 0)) if luck.random() < 0.5 else []
    sets = stateful_set("sharded", homes, pod_spec(gpus=1), updateStrategy=update)
    return snapshot(*(node(name, pool="a", gpus=1) for name in names), sets, rival)


@pytest.mark.parametrize("seed", seeds(max(10, CASES // 5)))
def test_the_plans_of_a_stateful_set_too(seed: int) -> None:
    case, known = asked(ordinal_case(seed), key="StatefulSet/ml/sharded")
    found = search(case, known, units=200_000_000)
    assert_same(case, known, found, MOST_NODES)
    assert found.looked_at == found.total == known.total


def assert_same(case: PlanCase, known: Knobs, found: SearchOutcome, most_nodes: int) -> None:
    """The search misses no plan that trying all finds, within ranges that are wider than its own, and has none that isn't there."""
    names, mine = pools_of(case.cluster.snapshot), [pool.pool for pool in known.pools]

    def told(costs: Costs) -> Vector:
        nodes = dict(zip(mine, costs[1:], strict=False))
        return (costs[0], *(nodes.get(name, 0.0) for name in names), *costs[1 + len(mine) :])

    best, tried = {told(one.costs) for one in found.best}, every(case, most_nodes)
    missed = {one for one in tried if not any(other == one or beats(other, one) for other in best)}
    assert not missed
    within = {one for one in best if max(one[1 : 1 + len(names)], default=0.0) <= most_nodes}
    assert within <= tried


@pytest.mark.parametrize("seed", seeds(max(6, CASES // 8)))
def test_nothing_is_missed_as_far_as_the_levers_go(seed: int) -> None:
    """With as many nodes as the search looks at by itself; trying all goes to two of each pool."""
    case, _ = asked(random_case(seed))
    lacking = () if case.run.completed else explain(case.run, case.revisions[0]).lacking
    known = knobs(case, PLAYED, (), lacking)
    assert not [why for why in known.cut if "aren't alike" not in why]
    found = search(case, known, units=200_000_000)
    assert found.is_whole
    assert_same(case, known, found, 2)


def test_a_partition_leaves_pods_as_they_are_and_says_so() -> None:
    """Somebody waits for the first pod's node, and takes it when that pod ends: with a partition it stays."""
    nodes = [node("n0", pool="a", gpus=1), node("n1", pool="b", gpus=1)]
    bound = pod_spec(gpus=1, nodeSelector={"cloud.google.com/gke-nodepool": "a"})
    rival = deployment("other", [""], bound, strategy=rolling(1, 0))
    sets = stateful_set("sharded", ["n0", "n1"], pod_spec(gpus=1))
    asked_for = Scenario(changes=(WorkloadChange(workload="StatefulSet/ml/sharded"),))
    alone = certificate(snapshot(WHOLE, *nodes, sets), asked_for, frozenset({Lever.STRATEGY}))
    assert [(plan.title, plan.left) for plan in alone.plans] == [("As it is", 0)], "sooner alone is nothing"
    assert alone.is_proven
    beside = certificate(snapshot(WHOLE, *nodes, sets, rival), asked_for, frozenset({Lever.STRATEGY}))
    assert [(plan.title, plan.left) for plan in beside.plans] == [("partition 1", 1)]
    assert "1 pod keeps what it has, until the partition is 0" in str(beside.plans[0].sentence)
    assert str(beside.sentence).startswith("no plan without leaving 1 pod as it is")


def test_the_cases_have_something_to_find() -> None:
    """So that equal sets are no sets of nothing: stuck ones, ones without any plan, and ones where several are worth having."""
    found = [search(*asked(random_case(seed)), units=200_000_000) for seed in range(20)]
    stuck = [asked(random_case(seed))[0].run.completed for seed in range(20)]
    assert stuck.count(False) >= 5
    assert sum(len(one.best) > 2 for one in found) >= 5
    assert sum(one.played < one.total for one in found) >= 10, "the bound leaves some out"


# ── what is said ─────────────────────────────────────────────────────────────────────────────────────────────────────
def only_gpu() -> list[Item]:
    """The only GPU, held by the only pod."""
    return [*WHOLE, node("gpu-0", pool="gpu", gpus=1), *worker("gpu-0")]


def test_the_deadlock_on_the_only_gpu_has_two_ends_and_that_is_proven() -> None:
    found = of(only_gpu())
    assert str(found.sentence) == (
        "no plan without 1 min of downtime or a node exists (proven: all 8 looked at); 2 plans are worth having"
    )
    assert [(plan.title, plan.lowest_ready, plan.nodes) for plan in found.plans] == [
        ("maxSurge 0, maxUnavailable 1", 0, 0),
        ("1 more node in gpu", 1, 1),
    ]
    assert found.is_proven
    assert not found.why_not
    assert all(plan.is_proven for plan in found.plans)


def test_without_the_lever_that_helps_there_is_none_and_the_nearest_is_named() -> None:
    found = of(only_gpu(), levers=frozenset({Lever.LEND, Lever.ORDER}))
    assert str(found.sentence) == "no plan within these levers exists (proven: all 1 looked at)"
    assert str(found.nearest) == "with maxSurge 0, maxUnavailable 1: 1 plan"
    assert found.is_proven


def test_a_pool_at_its_limit_is_no_way_and_is_named_as_the_nearest() -> None:
    case = snapshot(only_gpu())
    known = growable_pools(case, parse_typed_limits("gpu=1-1"))
    asked_for = Scenario(changes=(WorkloadChange(workload=WORKER),))
    found = certificate(case, asked_for, frozenset({Lever.NODES}), known)
    assert str(found.sentence) == "no plan within these levers exists (proven: all 1 looked at)"
    assert "above the pool's limit: 1 to 1 node (typed)" in str(found.nearest)
    assert str(found.nearest).startswith("with 1 more node in gpu, above")


def test_what_the_api_server_refuses_no_lever_mends() -> None:
    found = of(only_gpu(), quota({"requests.nvidia.com/gpu": "4", "limits.memory": "4Gi"}))
    assert "no new pod is taken" in str(found.sentence)
    assert (found.plans, found.is_proven) == ((), True)


def claiming() -> tuple[list[Item], Item]:
    """The worker with a claim of a template, made with its pod; and the template."""
    spec = {"spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]}}}
    template = {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t", "namespace": "ml"},
        "spec": spec,
    }  # fmt: skip
    asks = pod_spec(resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}])
    asks["containers"][0]["resources"]["claims"] = [{"name": "c"}]
    pods = deployment("worker", ["n-0"], asks, strategy=rolling(1, 0))
    pods[-1]["status"]["resourceClaimStatuses"] = [{"name": "c", "resourceClaimName": "worker-1-0-c"}]
    return pods, template


@pytest.mark.parametrize("is_made_with_the_pod", [True, False])
def test_a_larger_quota_lets_in_the_claim_of_a_new_pod(is_made_with_the_pod: bool) -> None:
    """Refused is the claim alone, not the pod. For an extended resource the scheduler makes it, once it has a node."""
    one = {"count/resourceclaims.resource.k8s.io": "1"}
    if is_made_with_the_pod:
        pods, template = claiming()
        items = [*one_of_two_devices("worker-1-0-c", "one"), template, *pods]
    else:
        items = [*one_of_two_devices("worker-1-0-extended-resources-x", "container-0-request-0"), *worker("n-0")]
    assert "a larger quota" in [plan.title for plan in of(items, quota(one, one)).plans]


def test_where_chance_decides_nothing_is_proven() -> None:
    lender = deployment("lender", ["gpu-0", "gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    found = of(node("gpu-0", pool="gpu", gpus=3), worker("gpu-0"), lender)
    assert not found.is_proven
    assert any("chance decides" in str(why) for why in found.why_not)
    assert any("ml/lender at 1 replica meanwhile" in plan.title for plan in found.plans), "it lends one of two"


def test_a_small_budget_says_how_far_it_went() -> None:
    case = snapshot(node("gpu-0", pool="gpu", gpus=4), worker("gpu-0", "gpu-0", "gpu-0", "gpu-0"))
    found = certificate(case, Scenario(changes=(WorkloadChange(workload=WORKER),)), ALL, units=2_000)
    assert not found.is_proven
    assert found.looked_at < found.total
    assert "not proven" in str(found.sentence)
    assert any("plans were looked at" in str(why) for why in found.why_not)


def test_the_order_of_two_changes_is_a_lever() -> None:
    """Both surge by one, and one GPU is free: one after another they keep all pods, together one waits for the other."""
    two = deployment("two", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    case = snapshot(node("gpu-0", pool="gpu", gpus=3), worker("gpu-0"), two)
    changes = (WorkloadChange(workload=WORKER), WorkloadChange(workload="Deployment/ml/two"))
    found = certificate(case, Scenario(changes=changes), frozenset({Lever.ORDER}))
    assert all(kept.lowest_ready == kept.replicas for plan in found.plans for kept in plan.kept)
    assert found.total == 3
