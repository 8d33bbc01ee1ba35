"""Scores worked out by hand from the plugins' formulas (integer arithmetic and all)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from planner.kubernetes.object_records import FrozenMap, LabelSelector
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.scores import resource_scores, total_scores
from planner.scheduling.shape import Shape, compile_shape
from tests.builders.objects import Item, node, pod, pod_spec
from tests.scheduling.questions import Question, nodes

DB = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}


def added(items: Sequence[Item], labels: Mapping[str, str] | None = None, **spec: Any) -> dict[str, int]:
    """What the fields in `spec` add to the scores of a plain pod."""
    plain = Question(items, pod_spec(), labels=labels).scores()
    return {
        name: score - plain[name] for name, score in Question(items, pod_spec(**spec), labels=labels).scores().items()
    }


def test_least_allocated_and_balance() -> None:
    items = [*nodes(2), pod("there", pod_spec(cpu="4", memory="16Gi"), on="n-1")]
    # Of 8 cpu and 32 GiB, the pod asks for 1 and 1. Empty: 87 and 96 % left, mean 91; balance 100 → 95: 50 + 45 // 2.
    # Half full: 37 and 46 % left, mean 41; the balance changes as much.
    assert Question(items).scores() == {"n-0": 91 + 72, "n-1": 41 + 72}


def test_a_pod_without_requests_gets_no_score_for_balance() -> None:
    spec = {"containers": [{"name": "main"}]}
    # 100m of 8 cpu and 200 MiB of 32 GiB are assumed: 98 and 99 % left.
    assert Question(nodes(2), spec).scores() == {"n-0": 98, "n-1": 98}


def test_soft_spread_by_node() -> None:
    items = [*nodes(2), *(pod(f"p-{i}", pod_spec(), on="n-0", labels={"app": "a"}) for i in range(2))]
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "a"}}}  # fmt: skip
    # 2 · log(2 + 2) = 2.77, rounded 3; against 0. Weight 2.
    assert added(items, {"app": "a"}, topologySpreadConstraints=[constraint]) == {"n-0": 0, "n-1": 200}


@pytest.mark.parametrize(
    ("mib", "on", "score"),
    [
        (23, (0, 1), (0, 0)),  # 23 MiB and less count nothing
        (523, (0, 1), (51, 51)),  # 100 · (523 − 23) // (1000 − 23)
        (523, (0,), (24, 0)),  # on one of two nodes it counts half: 261.5 MiB
        (2_000, (0, 1), (100, 100)),  # more than 1000 MiB a container counts no more
    ],
)
def test_an_image_that_is_there(mib: int, on: tuple[int, ...], score: tuple[int, int]) -> None:
    items = nodes(2)
    for place in on:
        items[place]["status"]["images"] = [{"names": ["registry/big:1"], "sizeBytes": mib * 2**20}]
    asked = pod_spec()
    asked["containers"][0]["image"] = "registry/big:1"
    plain = Question(nodes(2), pod_spec()).scores()
    found = Question(items, asked).scores()
    assert (found["n-0"] - plain["n-0"], found["n-1"] - plain["n-1"]) == score


def test_preferred_pod_affinity_and_its_opposite() -> None:
    items = [*nodes(2), pod("db", pod_spec(), on="n-0", labels={"app": "db"})]
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": DB}]}
    assert added(items, affinity={"podAffinity": preferred}) == {"n-0": 200, "n-1": 0}
    assert added(items, affinity={"podAntiAffinity": preferred}) == {"n-0": 0, "n-1": 200}


def test_what_other_pods_require_attracts_those_they_require() -> None:
    needs = pod_spec(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [DB]}})
    items = [*nodes(2), pod("client", needs, on="n-1", labels={"app": "client"})]
    plain = Question(items, labels={"app": "other"}).scores()
    wanted = Question(items, labels={"app": "db"}).scores()
    assert {name: wanted[name] - plain[name] for name in plain} == {"n-0": 0, "n-1": 200}


def test_soft_taints_and_preferred_nodes() -> None:
    items = [node("n-0", taints=(("old", "PreferNoSchedule"),)), node("n-1", labels={"disk": "ssd"})]
    plain = [node("n-0"), node("n-1", labels={"disk": "ssd"})]
    base = Question(plain).scores()
    assert {name: score - base[name] for name, score in Question(items).scores().items()} == {"n-0": 0, "n-1": 300}
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": ssd}]}
    assert added(plain, affinity={"nodeAffinity": preferred}) == {"n-0": 0, "n-1": 200}


def test_equals_are_told_apart_by_the_seed_alone() -> None:
    chosen = {Question(nodes(4)).attempt(seed=seed).node for seed in range(40)}
    assert chosen == {0, 1, 2, 3}
    assert len({Question(nodes(4)).attempt(seed=3).node for _ in range(3)}) == 1


@pytest.mark.parametrize("seed", range(12))
def test_scores_kept_up_to_date_are_those_of_a_state_made_anew(seed: int) -> None:
    """Pods come and go one after another, of the shape asked about and of others; each node's score stays what it is."""
    luck = Random(seed)
    items = [
        node(
            f"n-{i}",
            labels={"disk": luck.choice("ab"), **({"topology.kubernetes.io/zone": luck.choice("xyz")} if i else {})},
            taints=(("old", "PreferNoSchedule"),) if luck.random() < 0.3 else (),
            cpu=luck.choice(("4", "8")),
            extra={"pods": luck.choice((3, 30))},
        )
        for i in range(luck.randint(2, 12))
    ]
    constraint = {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1}
    selector = {"matchLabels": {"app": "a"}}
    own: dict[str, Any] = {"topologySpreadConstraints": [constraint | {"labelSelector": selector}]}
    spec = pod_spec(cpu=luck.choice(("100m", "1")), memory="1Gi", **(own if luck.random() < 0.5 else {}))
    default = LabelSelector(match_labels=FrozenMap({"app": "a"}), match_expressions=())
    asked = Question(items, spec, labels={"app": "a"}, default_selector=default)
    other = compile_shape(asked.cluster, asked.shape.namespace, FrozenMap({"app": "b"}), asked.shape.spec)
    there: list[tuple[Shape, int]] = []
    for _ in range(120):
        fitting = feasible_nodes(asked.state, asked.shape)
        if there and (luck.random() < 0.4 or not len(fitting)):
            shape, at = there.pop(luck.randrange(len(there)))
            asked.state.remove(shape, at, is_terminating=False)
        else:
            there.append((luck.choice((asked.shape, other)), int(luck.choice(fitting.tolist()))))
            asked.state.add(*there[-1])
        anew = asked.state.at(asked.state.position)
        nodes = feasible_nodes(anew, asked.shape)
        assert feasible_nodes(asked.state, asked.shape).tolist() == nodes.tolist()
        if len(nodes):
            wanted = total_scores(anew, asked.shape, resource_scores(anew, asked.shape, nodes), nodes)
            assert list(asked.scores().values()) == wanted.tolist()
