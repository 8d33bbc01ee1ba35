"""What one loss breaks, held against what-if's deletion of each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random

import pytest
import yaml

from planner.capacity.eviction_simulation import at_rest
from planner.capacity.node_losses import NONE, LossPlayer
from planner.capacity.node_losses_without_simulation import Counting, LossOutcome
from planner.capacity.survival import Loss, Scope, Survival, notes, survival
from planner.capacity.what_if import apply
from planner.capacity.what_if_syntax import parse_change
from planner.capacity.work_limits import LIMITS
from planner.ground.records import replace
from planner.ground.work_budget import TooLargeError, part
from planner.kubernetes.object_records import FrozenMap, Presence
from planner.rollout.prepared_change import compiled
from planner.rollout.simulation import _ATTEMPT_UNITS, Simulation
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.objects import (
    NODE_CRITICAL,
    WHOLE,
    Item,
    budget,
    deployment,
    node,
    pod,
    pod_spec,
    read_items,
    snapshot,
)
from tests.properties.random_rollouts import case_of
from tests.rollout.rollouts import stateful_set


def found(*items: Item | list[Item], **asked: object) -> Survival:
    return survival(snapshot(*items), **asked)  # type: ignore[arg-type]


def loss(of: Survival, name: str) -> Loss:
    return next(one for one in of.losses if one.name == name)


def test_a_pod_that_finds_no_other_node_is_missing_and_a_spare_mends_it() -> None:
    made = found(node("n0", gpus=2), node("n1", gpus=2), deployment("a", ["n0", "n1"], pod_spec(gpus=2)))
    one = loss(made, "n0")
    assert (one.alike, one.missing, one.waiting, one.back) == (2, 1, 1, 0)
    assert [(who.workload, who.pods) for who in one.whose] == [("Deployment/ml/a", 1)]
    assert [(spare.nodes, spare.usd_per_month) for spare in one.spare] == [(1, None)]
    assert (made.is_for_all, made.nodes(), made.nodes(broken=True)) == (True, 2, 2)
    (together,) = made.together
    assert (together.survived, together.is_every, together.breaks) == (0, True, ("n0",))


def test_pods_that_come_back_take_a_time_and_the_largest_number_that_may_go_is_found() -> None:
    nodes = [node(f"n{i}", gpus=2) for i in range(4)]
    made = found(*nodes, deployment("a", ["n0", "n1"], pod_spec(gpus=2)))
    one = loss(made, "n0")
    assert (one.missing, one.back) == (0, 1)
    assert one.seconds > 0
    (together,) = made.together
    assert (together.survived, together.is_every, len(together.breaks)) == (2, True, 3)
    assert (made.spare, made.is_for_all, made.manifests) == ((), True, ())


@pytest.mark.parametrize("lacks", ["", "LimitRange", "ResourceQuota"])
def test_how_many_may_be_lost_is_proven_only_without_a_doubt(lacks: str) -> None:
    """Pods of one node each, that two others take: nothing is left to chance."""
    one = [node("n0", gpus=2), node("n1", gpus=2), *deployment("a", ["n0"], pod_spec(gpus=2))]
    whole = snapshot(WHOLE, one)
    made = survival(
        replace(whole, presence=FrozenMap({**whole.presence, **({lacks: Presence.ABSENT} if lacks else {})}))
    )
    (together,) = made.together
    assert (together.survived, together.is_every, together.is_proven) == (1, True, not lacks)
    assert [one.about for one in made.doubts] == ([f"{lacks}s"] if lacks else [])
    assert all(any(str(doubt.sentence) == str(note) for note in notes(made)) for doubt in made.doubts)


def test_a_loss_that_chance_decides_is_not_proven() -> None:
    """Two large pods and a small one look for places of three sizes: one order or another."""
    nodes = [node(f"n{i}", gpus=4) for i in range(4)]
    apart = pod_spec(gpus=1, topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}])  # fmt: skip
    made = survival(snapshot(WHOLE, nodes, deployment("a", ["n0", "n1"], apart)))
    assert "placement" in [one.about for one in made.doubts]
    assert not any(one.is_proven for one in made.together)


def test_a_bare_pod_never_comes_back_and_no_spare_mends_that() -> None:
    made = found(node("n0", gpus=1), node("n1", gpus=1), pod("bare", pod_spec(gpus=1), on="n0"))
    one = loss(made, "n0")
    assert (one.missing, one.waiting, one.spare) == (1, 0, ())
    assert not made.is_for_all


def test_who_is_pushed_out_is_told() -> None:
    low = deployment("low", ["n1"], pod_spec(gpus=1))
    high = deployment("high", ["n0"], pod_spec(gpus=1, priority=100))
    one = loss(found(node("n0", gpus=1), node("n1", gpus=1), low, high), "n0")
    assert [(who.workload, who.pods) for who in one.pushed] == [("Deployment/ml/low", 1)]
    assert [who.workload for who in one.whose] == ["Deployment/ml/low"]


def test_those_who_wait_today_take_the_spare_first() -> None:
    items = [node("n0", gpus=2), *deployment("a", ["n0"], pod_spec(gpus=2)), *deployment("b", [""], pod_spec(gpus=2))]
    assert [one.nodes for one in found(items).spare] == [2]


def test_nodes_that_share_a_label_are_lost_at_once() -> None:
    rack = {"example.com/rack": "r1"}
    nodes = [node("n0", gpus=1, labels=rack), node("n1", gpus=1, labels=rack), node("n2", gpus=1)]
    made = found(*nodes, deployment("a", ["n0", "n1"], pod_spec(gpus=1)), label="example.com/rack")
    one = loss(made, "example.com/rack=r1")
    assert (one.scope, one.nodes, one.missing, one.back) == (Scope.RACK, 2, 1, 1)


def test_manifests_ask_for_whole_nodes() -> None:
    made = found(node("n0", gpus=2), deployment("a", ["n0"], pod_spec(gpus=2)))
    (_, buffers), (_, placeholders) = made.manifests
    template, buffer = yaml.safe_load_all(buffers)
    assert (buffer["kind"], buffer["spec"]["replicas"]) == ("CapacityBuffer", 1)
    assert buffer["spec"]["podTemplateRef"]["name"] == template["metadata"]["name"]
    first, deployed = yaml.safe_load_all(placeholders)
    (container,) = deployed["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"]["nvidia.com/gpu"] == "2"
    assert deployed["spec"]["template"]["spec"]["priorityClassName"] == first["metadata"]["name"]


def test_manifests_are_valid_and_stay_in_the_zone() -> None:
    """A pool may be called what no object may; no container may ask for volumes; and what ails a node passes."""
    taints = (("gpu", "NoSchedule"), ("node.kubernetes.io/memory-pressure", "NoSchedule"))
    one = node("n0", gpus=2, pool="A100_Pool.x", zone="eu-1b", taints=taints, extra={"attachable-volumes-aws-ebs": 25})
    tolerates = [{"operator": "Exists"}]
    (_, buffers), (_, placeholders) = found(
        one, deployment("a", ["n0"], pod_spec(gpus=2, tolerations=tolerates))
    ).manifests
    template, _ = yaml.safe_load_all(buffers)
    _, deployed = yaml.safe_load_all(placeholders)
    assert template["metadata"]["name"] == deployed["metadata"]["name"] == "spare-a100-pool-x"
    spec = template["template"]["spec"]
    assert spec["nodeSelector"] == {
        "cloud.google.com/gke-nodepool": "A100_Pool.x",
        "topology.kubernetes.io/zone": "eu-1b",
    }
    assert set(spec["containers"][0]["resources"]["requests"]) == {"cpu", "memory", "nvidia.com/gpu"}
    assert [one["key"] for one in spec["tolerations"]] == ["gpu"]


def test_on_the_demo_it_is_what_deleting_each_node_comes_to() -> None:
    """12 of the 17 GPU nodes; 10 as long as what-if left the quota as if the pods of the node that is gone were there."""
    cluster = compiled(demo.read())
    broken = set()
    for one in cluster.nodes:
        made = apply(cluster, [parse_change(f"delete:{one.name}")])
        if sum(pod.waits for pod in made.snapshot.pods) > made.waiting_before:
            broken.add(one.name)
    answer = survival(demo.read())
    assert len(broken) == answer.nodes(broken=True) == answer.nodes(broken=True, with_gpus=True) == 12
    assert {one.name for one in answer.losses if one.scope is Scope.NODE and one.missing} <= broken
    assert answer.is_for_all


# ── counted, not played ──────────────────────────────────────────────────────────────────────────────────────────────
def held_against_play(cluster: Cluster, losses: Sequence[Sequence[int]], luck: Random) -> Counter[str]:
    """Losses that are counted, without and with a spare node, held against two draws of each; how many there were of which kind."""
    player, compared = LossPlayer(cluster), Counter[str]()
    for nodes in losses:
        for spares in (NONE, ((luck.randrange(cluster.node_count), 1),)):
            if player.counting(spares).outcome(nodes) is None:
                continue
            counted = player.lose(nodes, spares)
            compared += Counter(
                all=1, waiting=counted.waiting > 0, later=counted.seconds > 30, back=counted.seconds > 0
            )
            for seed in range(2):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr("planner.capacity.node_losses.Simulation", partial(Simulation, seed=seed))
                    played = player.lose(nodes, spares, watch=lambda *_: None)
                assert played == counted
                assert list(played.shapes) == list(counted.shapes)  # who waits first
    return compared


def test_a_loss_that_is_counted_is_the_played_one_however_it_is_drawn() -> None:
    compared, luck = Counter[str](), Random(33)
    for seed in range(90):
        cluster = at_rest(read_items(case_of(seed).items))
        places = range(cluster.node_count)
        pairs = [luck.sample(places, 2)] if len(places) > 1 else []
        compared += held_against_play(cluster, [*([place] for place in places), *pairs], luck)
    cluster = at_rest(demo.read())
    compared += held_against_play(cluster, [[place] for place in range(cluster.node_count)], luck)
    assert min(compared[kind] for kind in ("waiting", "back")) > 20, compared


def test_one_pod_a_node_and_ordered_pods_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The web has a pod on every node and nowhere to go; a StatefulSet's two pods come back one after the other."""
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}]}}  # fmt: skip
    names = [f"n{i}" for i in range(6)]
    web = deployment("web", names, pod_spec(affinity=apart))
    cluster = at_rest(snapshot(*map(node, names), web, stateful_set("db", ["n0", "n1", "n0"], pod_spec())))
    compared = held_against_play(cluster, [[place] for place in range(6)], Random(1))
    assert (compared["all"], compared["waiting"], compared["later"]) == (12, 6, 2), compared
    monkeypatch.setattr("planner.capacity.node_losses.Simulation", None)  # nothing is played
    assert [LossPlayer(cluster).lose([place]).waiting for place in range(6)] == [1] * 6


def test_a_pod_that_starts_today_is_waited_for() -> None:
    """It is Ready at the end of the first tick, after the ten minutes that one like it took: nobody who comes back is told to be sooner;
    on a node without others it makes no time. With spare nodes it is Ready before the loss."""
    begun, ready = {"lastTransitionTime": "2026-01-01T00:00:00Z"}, {"lastTransitionTime": "2026-01-01T00:10:00Z"}
    starts = deployment("slow", ["n1", "n1"], pod_spec())
    started, starting = (one["status"] for one in starts if one["kind"] == "Pod")
    placed = {"type": "PodScheduled", "status": "True", **begun}
    started["conditions"] = [placed, {"type": "Ready", "status": "True", **ready}]
    starting["conditions"] = [placed, {"type": "Ready", "status": "False", **begun}]
    items = [node("n0"), node("n1"), node("n2"), *deployment("a", ["n0"], pod_spec()), *starts]
    cluster = at_rest(snapshot(*items))
    compared = held_against_play(cluster, [[0], [2], [0, 2]], Random(2))
    assert (compared["all"], compared["back"], compared["later"]) == (6, 4, 2), compared
    player = LossPlayer(cluster)
    assert (player.lose([0]).seconds, player.lose([0], ((2, 1),)).seconds) == (600, 30)


_OF_NO_CLASS = pod_spec(priorityClassName="gone", priority=5)
_NEVER = pod_spec(preemptionPolicy="Never")
_ABOVE_LIMIT = pod_spec()
_ABOVE_LIMIT["containers"][0]["resources"]["limits"] = {"cpu": "500m"}
_ABOVE_ITS_POD = pod_spec(resources={"requests": {"cpu": "500m"}})


@pytest.mark.parametrize("spec", [_OF_NO_CLASS, _NEVER, _ABOVE_LIMIT, _ABOVE_ITS_POD])
def test_a_pod_that_the_api_server_refuses_does_not_come_back(spec: Item) -> None:
    items = [node("n0"), node("n1"), NODE_CRITICAL]
    cluster = at_rest(snapshot(*items, deployment("a", ["n0"], spec), deployment("b", ["n1"], pod_spec())))
    assert [Counting(cluster).outcome([place]) is None for place in range(2)] == [True, False]
    assert [LossPlayer(cluster).lose([place]).missing for place in range(2)] == [{"Deployment/ml/a": 1}, {}]


def test_no_more_is_remembered_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is found again, the same."""
    kinds = [deployment(f"d{i}", ["n0", "n1"], pod_spec(cpu=f"{i + 1}00m")) for i in range(5)]
    cluster = at_rest(snapshot(node("n0"), node("n1"), node("n2"), *kinds))
    whole, bounded = Counting(cluster), Counting(cluster)
    found = [whole.outcome([place]) for place in (0, 1, 0)]
    monkeypatch.setattr("planner.capacity.node_losses_without_simulation.LIMITS", replace(LIMITS, taken_by_nodes=6))
    assert [bounded.outcome([place]) for place in (0, 1, 0)] == found
    assert None not in found
    assert (len(whole._open), len(bounded._open)) == (5, 1)


def test_a_namespace_with_a_quota_is_played() -> None:
    items = [node("n0"), node("n1"), *deployment("a", ["n0"], pod_spec())]
    assert Counting(Cluster(snapshot(*items))).outcome([0]) is not None
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": {"pods": "1"}}}
    assert Counting(Cluster(snapshot(*items, quota))).outcome([0]) is None


def test_upgrades_tell_which_budget_holds_pods_back() -> None:
    label = {"cloud.google.com/gke-nodepool": "p"}
    items = [
        node("n0", gpus=1, labels=label),
        *deployment("a", ["n0"], pod_spec(gpus=1)),
        budget("a", minAvailable="100%"),
    ]
    made = found(items, upgrades=True)
    assert [(one.strategy.value, one.is_done, one.budgets) for one in made.upgrades] == [
        ("surge", False, ("a",)), ("blue-green", False, ("a",)),
    ]  # fmt: skip


def test_what_costs_too_much_is_named_and_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.capacity.survival.LIMITS", replace(LIMITS, loss_units=0))
    made = found(node("n0", gpus=1), deployment("a", ["n0"], pod_spec(gpus=1)))
    assert (made.losses, made.too_large) == ((), ("n0",))
    assert "too large to be played: n0" in str(made.sentence)


def test_a_loss_that_has_to_be_played_is_too_large_where_playing_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that cost a unit each to count, that with a host port isn't counted."""
    monkeypatch.setattr("planner.capacity.survival.LIMITS", replace(LIMITS, loss_units=1))
    port = pod_spec()
    port["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    made = found(node("n0"), node("n1"), deployment("a", ["n0"], port), deployment("b", ["n1"], pod_spec()))
    assert ([one.name for one in made.losses], made.too_large) == (["n1"], ("a", "n0"))


def test_what_can_not_be_paid_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pod is tried once at least; of those that are made one after the other the first."""
    port = pod_spec()
    port["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    cluster = at_rest(
        snapshot(node("n0"), node("n1"), stateful_set("s", ["n0", "n0"], pod_spec()), deployment("a", ["n0"], port))
    )
    monkeypatch.setattr("planner.capacity.node_losses.Simulation", None)  # nothing is played
    least = 2 + 2 * _ATTEMPT_UNITS  # to count three
    with part(units=least), pytest.raises(TooLargeError):
        LossPlayer(cluster).lose([0])
    with part(units=least + 1):
        assert Counting(cluster).outcome([0]) is None


def test_what_is_larger_than_what_cost_too_much_isnt_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    zones = [node(f"n{i}", zone="a" if i < 3 else "b" if i < 5 else "c") for i in range(7)]
    tried: list[tuple[int, ...]] = []

    def lose(_: LossPlayer, nodes: Sequence[int], *__: object) -> LossOutcome:
        tried.append(tuple(nodes))
        raise TooLargeError("too large")

    monkeypatch.setattr(LossPlayer, "lose", lose)
    made = found(*zones, deployment("a", ["n0"], pod_spec()))
    assert [len(one) for one in tried if len(one) > 1] == [2]  # the first of the two smallest, and no other
    assert [name for name in made.too_large if name in "abc"] == ["a", "b", "c"]


def test_a_node_with_pods_of_an_unknown_controller_is_neither_safe_nor_broken() -> None:
    """Whether they come back isn't known, and so nothing is proven of their pool."""
    widget = {"apiVersion": "acme.io/v1", "kind": "Widget", "name": "x", "uid": "x", "controller": True}
    found = survival(
        snapshot(
            node("n0", gpus=2, pool="p"),
            node("n1", gpus=2, pool="p"),
            pod("x", pod_spec(gpus=1), on="n0", owner=widget),
        ),
        upgrades=True,
    )
    assert (found.nodes(broken=True), found.is_for_all) == (0, False)
    assert str(found.sentence) == (
        "not known for 1 of 2 nodes: whether their pods come back. Not known for 1 pod: whether they come back"
    )
    (pool,) = found.together
    assert (pool.survived, pool.is_proven, pool.breaks) == (0, False, ())
    assert any("No PodDisruptionBudgets were read" in str(note) for note in notes(found))


def test_briefly_all_that_it_tells_is_the_same() -> None:
    whole, less = survival(demo.read()), survival(demo.read(), is_brief=True)
    at_once = [one for one in whole.losses if one.scope is not Scope.NODE]
    assert whole.together
    assert any(one.spare for one in at_once)
    losses = tuple(replace(one, spare=()) if one in at_once else one for one in whole.losses)
    assert less == replace(whole, together=(), doubts=(), losses=losses)


def test_the_spare_for_a_node_isnt_the_one_for_its_zone() -> None:
    """Without the zone it has to be elsewhere; without the node it is as near as it may be."""
    nodes = [node("n0", gpus=1, zone="a"), node("n1", zone="a"), node("n2", gpus=1, zone="b")]
    made = found(*nodes, deployment("a", ["n0", "n2"], pod_spec(gpus=1)))
    spares = {name: [one.like for one in loss(made, name).spare] for name in ("a", "n0")}
    assert spares == {"a": ["n2"], "n0": ["n0"]}
