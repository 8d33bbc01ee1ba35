"""Ways out: each was simulated, completes, and can be applied as it is printed."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml

from planner.ground.quantity import parse
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange, apply_change
from planner.kubernetes.object_records import FrozenMap, Snapshot
from planner.remedies import rollout_with_remedies
from planner.remedies.lever_ranges import Lever
from planner.remedies.levers import quota as quotas
from planner.remedies.pareto_plans_report import certificate
from planner.rollout.answers import Reason, Remedy, RemedyKind, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import demo
from tests.builders import eks
from tests.builders.objects import Item, deployment, node, owner, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, daemon_set, rolling, stateful_set
from tests.rollout.test_admission import quota
from tests.rollout.test_meanwhile import scaled


def ask(found: Snapshot, key: str = WORKER, **change: object) -> RolloutResult:
    return rollout_with_remedies.rollout(found, Scenario(changes=(WorkloadChange(workload=key, **change),)))  # type: ignore[arg-type]


def worker(*nodes: str, spec: Item | None = None, surge: int = 1, unavailable: int = 0) -> list[Item]:
    return deployment("worker", list(nodes), spec or pod_spec(gpus=1), strategy=rolling(surge, unavailable))


GPU = node("gpu-0", pool="gpu", gpus=2)
STUCK = snapshot(GPU, worker("gpu-0", "gpu-0"))


def by_kind(result: RolloutResult) -> dict[RemedyKind, Remedy]:
    assert result.verdict is Verdict.STUCK
    return {remedy.kind: remedy for remedy in result.remedies}


def test_nobody_is_scaled_down_who_has_no_place_to_come_back_to() -> None:
    """Two of three run, and the third has no place: scaled to two it rolls out, and the third waits for ever again."""
    found = by_kind(ask(snapshot(GPU, worker("gpu-0", "gpu-0", "", surge=0, unavailable=1))))
    assert RemedyKind.SCALE_DOWN_FIRST not in found


@pytest.mark.parametrize(
    ("found", "key"),
    [
        (STUCK, WORKER),
        (
            snapshot(
                node("n-0", gpus=1), daemon_set("worker", ["n-0"], pod_spec(gpus=1), updateStrategy=rolling(1, 0))
            ),
            "DaemonSet/ml/worker",
        ),
        (snapshot(node("n-0", cpu="2"), worker("n-0", spec=pod_spec(cpu="1500m"))), WORKER),
        (snapshot(node("n-0"), worker("n-0", spec=pod_spec(nodeSelector={"disk": "ssd"}))), WORKER),
    ],
)
def test_every_patch_parses_applies_and_completes(found: Snapshot, key: str) -> None:
    result = ask(found, key)
    patched = [r for r in result.remedies if r.patch_yaml and r.kind is not RemedyKind.FREE_CAPACITY]
    assert patched
    for remedy in patched:
        assert isinstance(yaml.safe_load(remedy.patch_yaml), dict)
        assert remedy.command.startswith("kubectl patch ")
        before = found.workload(key)
        assert before is not None
        apply_change(before, WorkloadChange(workload=key, patch=remedy.patch_yaml))
        again = rollout_with_remedies.rollout(
            found, Scenario(changes=(WorkloadChange(workload=key, patch=remedy.patch_yaml),))
        )
        after = apply_change(before, WorkloadChange(workload=key, patch=remedy.patch_yaml))[0]
        rolled = rollout_with_remedies.rollout(
            replace(found, workloads=tuple(after if w.key == key else w for w in found.workloads)),
            Scenario(changes=(WorkloadChange(workload=key),)),
        )
        assert again.verdict is Verdict.COMPLETES
        assert rolled.verdict is Verdict.COMPLETES, remedy.title


def test_hold_and_wait_has_a_strategy_recreate_and_a_node() -> None:
    found = by_kind(ask(STUCK))
    switch = found[RemedyKind.SWITCH_STRATEGY]
    assert (switch.title, switch.lowest_ready, switch.extra_gpus) == ("maxSurge 0, maxUnavailable 1", 1, 0)
    assert found[RemedyKind.RECREATE].lowest_ready == 0
    assert "the service is down" in str(found[RemedyKind.RECREATE].sentence)
    more = found[RemedyKind.ADD_NODE]
    assert (more.lowest_ready, more.extra_gpus) == (2, 2)
    assert "gcloud container clusters resize CLUSTER --node-pool gpu --num-nodes 2" in more.command


def test_what_keeps_most_pods_ready_without_more_gpus_comes_first() -> None:
    remedies = ask(STUCK).remedies
    assert [r.extra_gpus > 0 for r in remedies] == sorted(r.extra_gpus > 0 for r in remedies)
    free = [r.lowest_ready for r in remedies if not r.extra_gpus]
    assert free == sorted(free, reverse=True)


def test_a_quota_is_raised_by_what_is_needed() -> None:
    found = snapshot(node("n-0"), worker("n-0", spec=pod_spec()), quota({"pods": "1"}))
    remedy = by_kind(ask(found))[RemedyKind.RAISE_QUOTA]
    assert "pods to 2" in str(remedy.sentence)
    assert remedy.command == """kubectl patch resourcequota/q -n ml -p '{"spec": {"hard": {"pods": "2"}}}'"""


def named_quota(name: str, hard: Item, used: Item | None = None) -> Item:
    one = quota(hard, used)
    return one | {"metadata": one["metadata"] | {"name": name, "uid": name}}


def raised(found: Snapshot, remedy: Remedy) -> Snapshot:
    """`found` after the remedy's commands, read as a shell would read them."""
    quotas = list(found.resource_quotas)
    for command in remedy.command.split(" && "):
        _, _, quota, _, namespace, _, patch = shlex.split(command)
        name = quota.removeprefix("resourcequota/")
        place = next(i for i, q in enumerate(quotas) if (q.namespace, q.name) == (namespace, name))
        hard = {key: parse(amount, key) for key, amount in json.loads(patch)["spec"]["hard"].items()}
        quotas[place] = replace(quotas[place], hard=FrozenMap({**quotas[place].hard, **hard}))
    return replace(found, resource_quotas=tuple(quotas))


QUOTAS = [
    # the refused pod and the resource are named like the quota that has room
    ([named_quota("gpu", {"requests.nvidia.com/gpu": "9"}), named_quota("team", {"pods": "2"})], "team"),
    ([named_quota("pods", {"requests.cpu": "9"}), named_quota("a", {"pods": "2", "requests.cpu": "9"})], "a"),
    ([named_quota("a", {"pods": "2"}), named_quota("b", {"requests.nvidia.com/gpu": "2"})], "a and b"),
    ([named_quota("b", {"requests.memory": "2Gi", "requests.cpu": "2"})], "b"),
]


@pytest.mark.parametrize(("quotas", "names"), QUOTAS)
@pytest.mark.parametrize("surge", [1, 2])
def test_the_quota_that_is_exceeded_is_raised_and_that_is_enough(quotas: list[Item], names: str, surge: int) -> None:
    nodes = [node(f"gpu-{i}", pool="gpu", gpus=2) for i in range(2)]
    found = snapshot(*nodes, worker("gpu-0", "gpu-1", surge=surge), *quotas)
    remedy = by_kind(ask(found))[RemedyKind.RAISE_QUOTA]
    assert remedy.title == f"Raise the {'quotas' if ' and ' in names else 'quota'} {names}"
    assert ask(raised(found, remedy)).verdict is Verdict.COMPLETES
    for key in ("requests.nvidia.com/gpu", "pods"):
        assert f"{key} to {2 + surge}" in str(remedy.sentence) or f"{key} to" not in str(remedy.sentence)


def test_a_quota_that_asks_for_amounts_is_not_raised() -> None:
    found = snapshot(node("n-0"), worker("n-0", spec=pod_spec()), quota({"limits.cpu": "9"}))
    assert RemedyKind.RAISE_QUOTA not in by_kind(ask(found))


def test_a_smaller_request_where_half_of_it_is_there() -> None:
    other = deployment("other", ["n-0"], pod_spec(cpu="3"))
    found = snapshot(node("n-0"), other, worker("", spec=pod_spec(cpu="6")))
    remedy = by_kind(ask(found))[RemedyKind.SMALLER_REQUEST]
    assert remedy.title == "Ask for 5 cpu instead of 6"


def test_another_holder_makes_room() -> None:
    other = deployment("other", ["gpu-0", "gpu-0"], pod_spec(gpus=1))
    found = snapshot(GPU, other, worker("", surge=0, unavailable=1))
    remedy = by_kind(ask(found))[RemedyKind.FREE_CAPACITY]
    assert "kubectl scale deployment/other -n ml --replicas=1" in remedy.command


@pytest.mark.parametrize("is_owned", [False, True])
def test_what_an_operator_made_lends_at_no_door(is_owned: bool) -> None:
    other = deployment("other", ["gpu-0", "gpu-0"], pod_spec(gpus=1))
    other[0]["metadata"]["ownerReferences"] = [owner("Service", "made", "s-1")] if is_owned else []
    found, scenario = (
        snapshot(GPU, other, worker("", surge=0, unavailable=1)),
        Scenario(changes=(WorkloadChange(workload=WORKER),)),
    )
    assert (RemedyKind.FREE_CAPACITY in by_kind(ask(found))) is not is_owned
    assert bool(certificate(found, scenario, {Lever.LEND}).plans) is not is_owned


def classed(name: str, value: int, **more: str) -> tuple[Item, Item]:
    """A priority class, and a pod with a GPU in it."""
    of = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    return {**of, **more}, pod_spec(gpus=1, priorityClassName=name, priority=value, **more)


@pytest.mark.parametrize(
    ("then", "policy", "is_given_back"),
    [(0, "PreemptLowerPriority", False), (0, "Never", True), (50, "PreemptLowerPriority", True)],
)
def test_what_would_preempt_the_new_pod_is_not_given_back(then: int, policy: str, is_given_back: bool) -> None:
    """`pkg/scheduler/framework/preemption`: a pod that only waited while it was lent comes back, and takes the place of a lower one."""
    (high, before), (low, _) = classed("high", 100), classed("low", then)
    middle, asks = classed("middle", 50, preemptionPolicy=policy)
    nodes = [node(f"n{number}", pool="gpu", gpus=1) for number in range(2)]
    found = snapshot(
        high,
        low,
        middle,
        nodes,
        worker("n0", surge=0, unavailable=1, spec=before),
        deployment("other", ["n1", ""], asks),
    )
    patch = json.dumps({"spec": {"template": {"spec": {"priorityClassName": "low", "priority": None}}}})
    lent = by_kind(ask(found, patch=patch))[RemedyKind.FREE_CAPACITY]
    assert (
        str(lent.title)
        == f"One pod of ml/other fewer {'while rolling out' if is_given_back else 'until there is other room'}"
    )
    back = "Scale ml/other back to 2"
    assert (back in [step.what for step in lent.steps]) is is_given_back
    changed = Scenario(changes=(WorkloadChange(workload=WORKER, patch=patch),))
    (plan,) = certificate(found, changed, {Lever.LEND}).plans
    assert (back in [step.what for step in plan.steps]) is is_given_back


def test_of_two_loans_only_as_many_are_given_back_as_find_room_beside_each_other() -> None:
    """The change needs one GPU more for good and another one for its surge: either lender finds room again, both don't."""
    others = [deployment(name, ["n0"], pod_spec(gpus=1)) for name in ("first", "second")]
    found = snapshot(
        node("n0", pool="gpu", gpus=3), *others, worker("n0", surge=1, unavailable=0, spec=pod_spec(gpus=1))
    )
    resources = {name: {"nvidia.com/gpu": "2"} for name in ("limits", "requests")}
    larger = {"spec": {"template": {"spec": {"containers": [{"name": "main", "resources": resources}]}}}}
    change = WorkloadChange(workload=WORKER, patch=json.dumps(larger))
    (plan,) = certificate(found, Scenario(changes=(change,)), {Lever.LEND}).plans
    assert [step.what for step in plan.steps if "back" in step.what] == ["Scale ml/first back to 1"]
    assert "ml/second stays so until there is other room" in str(plan.sentence)
    assert "ml/first stays so" not in str(plan.sentence)


def test_no_way_out_scales_what_an_autoscaler_scales_back_at_once() -> None:
    other = deployment("other", ["gpu-0", "gpu-0"], pod_spec(gpus=1))
    waits = worker("", surge=0, unavailable=1)
    switched_off = by_kind(ask(snapshot(GPU, other, waits, scaled(2, 4, name="other"))))[RemedyKind.FREE_CAPACITY]
    assert "kubectl scale deployment/other -n ml --replicas=0" in switched_off.command  # at 0 it leaves it alone
    kept = ask(snapshot(GPU, other, waits, scaled(2, 4, kind="ScaledObject", name="other")))  # KEDA doesn't
    assert RemedyKind.FREE_CAPACITY not in by_kind(kept)
    lent = by_kind(ask(snapshot(GPU, other, waits, scaled(1, 4, name="other"))))[RemedyKind.FREE_CAPACITY]
    assert str(lent.sentence).endswith("its autoscaler may scale it back meanwhile")


def test_no_way_out_scales_down_below_an_autoscalers_least() -> None:
    stuck = [GPU, *worker("gpu-0", "gpu-0")]
    assert RemedyKind.SCALE_DOWN_FIRST in by_kind(ask(snapshot(*stuck)))
    assert RemedyKind.SCALE_DOWN_FIRST not in by_kind(ask(snapshot(*stuck, scaled(2, 4))))


def test_of_many_that_wait_too_a_few_are_named() -> None:
    rivals = [deployment(f"rival-{number}", [""], pod_spec(gpus=1)) for number in range(5)]
    remedy = by_kind(ask(snapshot(GPU, worker("gpu-0", "gpu-0"), *rivals)))[RemedyKind.FREE_CAPACITY]
    assert str(remedy.title) == "maxSurge 0, maxUnavailable 1, with 5 workloads of others at 0 replicas meanwhile"
    named = "ml/rival-0, ml/rival-1, ml/rival-2 and 2 more"
    assert str(remedy.sentence).endswith(f"without that, {named} may take the place of the first old pod")
    assert sum("--replicas=0" in str(step) for step in remedy.steps) == 5, "each is scaled"


def test_a_selector_no_node_has_is_left_out() -> None:
    found = snapshot(node("n-0"), worker("n-0", spec=pod_spec()))
    result = ask(found, patch='{"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}}')
    assert result.reason is Reason.NO_MATCHING_NODE
    assert by_kind(result)[RemedyKind.FIX_SELECTOR].title == "Without nodeSelector disk=ssd"


def test_no_way_out_is_offered_where_none_was_found() -> None:
    result = ask(snapshot(node("n-0"), worker("n-0", spec=pod_spec())), never_ready=True)
    assert result.reason is Reason.NEVER_READY
    assert all(r.kind is not RemedyKind.ADD_NODE for r in result.remedies)


def test_a_workload_that_never_comes_to_rest_is_not_scaled_down_first() -> None:
    """`kubectl rollout status` would wait for ever for pods that fail."""
    assert RemedyKind.SCALE_DOWN_FIRST in by_kind(ask(snapshot(GPU, worker("gpu-0", "gpu-0"))))
    broken = worker("gpu-0", "gpu-0")
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    for one in broken[2:]:
        one["status"]["containerStatuses"] = [{"name": "main", "ready": False, "restartCount": 7, "state": state}]
        one["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    found = ask(snapshot(GPU, broken))
    assert RemedyKind.SCALE_DOWN_FIRST not in {one.kind for one in found.remedies}


def test_who_waits_already_takes_new_nodes_first() -> None:
    """One node would do for the surge alone: two pods that have waited longer are placed on it before."""
    waits = [pod(f"waits-{i}", pod_spec(gpus=1)) for i in range(2)]
    for one in waits:
        one["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    alone, after_others = (by_kind(ask(snapshot(GPU, worker("gpu-0", "gpu-0"), some))) for some in ([], waits))
    assert (alone[RemedyKind.ADD_NODE].extra_nodes, after_others[RemedyKind.ADD_NODE].extra_nodes) == (1, 2)


def test_nobody_nobody_sees_is_beside_a_way_out() -> None:
    """A StatefulSet whose list wasn't given, of whose pods one isn't Ready, may be midway, and take what a way out would need; where
    all its pods are at rest it isn't."""
    nodes = [node("a", pool="gpu", gpus=2), node("b", pool="gpu", gpus=1)]
    worker = deployment("worker", ["a"], pod_spec(gpus=2), strategy=rolling(1, 0))
    for ready, ways in ((True, True), (False, False)):
        pods = stateful_set("set", ["b"], pod_spec(gpus=1), ready=[ready])[1:]
        found = rollout_with_remedies.rollout(
            snapshot(nodes, worker, pods), Scenario(changes=(WorkloadChange(workload=WORKER),))
        )
        assert found.verdict is Verdict.STUCK
        assert bool(found.remedies) is ways


def test_what_brings_nodes_by_itself_has_no_size_to_be_set() -> None:
    found = rollout_with_remedies.rollout(eks.snapshot(), Scenario(changes=(WorkloadChange(workload=eks.INFERENCE),)))
    (added,) = [one for one in found.remedies if one.kind is RemedyKind.ADD_NODE]
    assert added.command.startswith("# Karpenter adds nodes to NodePool gpu while pods wait")


def test_of_a_daemon_set_as_many_are_wanted_as_there_are_nodes() -> None:
    """Its status says nothing, as that of a new one."""
    found = snapshot(node("a"), node("b"), daemon_set("agent", ["a", "b"], pod_spec()))
    answer = rollout_with_remedies.rollout(found, Scenario(changes=(WorkloadChange(workload="DaemonSet/ml/agent"),)))
    assert answer.workloads[0].replicas == 2


def test_no_quota_is_raised_for_pods_that_do_not_say_what_they_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the bound is, the API server refuses them; so none is played."""
    monkeypatch.setattr(quotas, "with_bounds", lambda *_: pytest.fail("a larger quota was played"))
    answer = ask(demo.read(), "Deployment/dev/notebook", new_revision=True)
    assert "requests.memory" in str(answer.sentence)
    assert RemedyKind.RAISE_QUOTA not in by_kind(answer)
