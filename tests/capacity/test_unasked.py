"""Nodes that an autoscaler brings to a rollout that completes without."""

from __future__ import annotations

from planner.capacity.node_pools import pools
from planner.ground.records import replace
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.questions.strategies import StrategiesSettings, answer
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario, compiled
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

ONE_AT_A_TIME: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}


def full(grace: int) -> Snapshot:
    """Two GPU nodes, both taken: a successor waits until its predecessor is gone."""
    spec = {**pod_spec(gpus=1), "terminationGracePeriodSeconds": grace}
    nodes = [node(f"n{i}", pool="t4", gpus=1) for i in range(2)]
    return snapshot(nodes, deployment("a", ["n0", "n1"], spec, **ONE_AT_A_TIME))


def asked(cluster: Snapshot, limits: str = "t4=5", how: Autoscaling | None = None) -> RolloutResult:
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(cluster, scenario, pools(compiled(cluster), parse_typed_limits(limits)), how)


def test_a_pod_that_waits_longer_than_the_autoscaler_brings_nodes_that_nobody_needs() -> None:
    found = asked(full(60))
    assert found.verdict is Verdict.COMPLETES
    assert [one.code for one in found.findings].count("nodes-unasked") == 1
    assert len(found.unasked_nodes) == 1
    assert "the autoscaler brings 1 node of pool t4 on the way, which it doesn't need" in str(found.sentence)
    assert found.unasked_node_seconds >= 600


def test_one_that_waits_less_brings_none() -> None:
    assert asked(full(20)).unasked_nodes == ()


def test_how_long_pods_are_left_alone_is_a_setting() -> None:
    assert len(asked(full(20), how=Autoscaling(gpu_pod_delay_seconds=5)).unasked_nodes) == 1


def test_at_its_maximum_a_pool_brings_none() -> None:
    assert asked(full(60), "t4=2").unasked_nodes == ()


def test_nobody_knows_that_a_pool_grows_whose_maximum_nobody_states() -> None:
    assert asked(full(60), "other=3").unasked_nodes == ()


def test_each_strategy_says_what_it_brings_and_what_that_costs() -> None:
    settings = StrategiesSettings(
        rollout=RolloutSettings(
            workloads=("Deployment/prod/ml-worker",), termination_seconds=120.0,
            pools=PoolSettings(limits=parse_typed_limits("gpu-t4=12")),
        )
    )  # fmt: skip
    found = answer(demo.read(), settings, Inputs(book=embedded_book()))
    brought = {one.name: one.brought for one in found.options}
    today = brought["maxSurge 2, maxUnavailable 1"]
    assert today is not None
    # The first comes at 300 s, in the midst of a step, and is paid for from then on.
    assert today.words.startswith("up to 5 nodes for about 17 min, $1.04")
    assert [one for one in found.options if (one.is_best or one.is_current) and one.brought is None] == []
    assert brought["Recreate"] is None  # beaten: not asked
    unknown = answer(demo.read(), replace(settings, rollout=replace(settings.rollout, pools=PoolSettings())))
    assert {one.brought for one in unknown.options} == {None}


def test_without_a_price_there_is_none() -> None:
    assert asked(full(60)).unasked_usd is None
