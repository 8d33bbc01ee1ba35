"""Nodes in classes of equals give what every node looked at for itself gives: who is feasible, and which are the best."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from planner.kubernetes.object_records import FrozenMap, LabelSelector
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.node_score_classes import Ranking, ranking
from planner.scheduling.scores import resource_scores, total_scores
from planner.scheduling.shape import Shape, compile_shape
from tests.builders.objects import node, pod_spec
from tests.scheduling.questions import Question

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def _asked(luck: Random) -> Question:
    labelled = luck.random() < 0.5  # else some nodes are in no zone
    items = [
        node(
            f"n-{i}",
            labels={"disk": luck.choice("ab"), **({ZONE: luck.choice("xyz")} if labelled or i else {})},
            taints=(("old", "PreferNoSchedule"),) if luck.random() < 0.3 else (),
            cpu=luck.choice(("4", "8", "8")),
            extra={"pods": luck.choice((3, 30, 30))},
        )
        for i in range(luck.randint(3, 20))
    ]
    more: dict[str, Any] = {}
    affinity: dict[str, Any] = {}
    selector = {"matchLabels": {"app": "a"}}
    if labelled and luck.random() < 0.8:
        constraint = {"topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": luck.randint(1, 3)}
        more["topologySpreadConstraints"] = [constraint | {"labelSelector": selector}]
    if luck.random() < 0.4:
        term = {"labelSelector": selector, "topologyKey": HOST}
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    if luck.random() < 0.4:
        ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["a"]}]}
        preferred = [{"weight": luck.randint(1, 90), "preference": ssd}]
        affinity["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    spec = pod_spec(cpu=luck.choice(("100m", "1")), memory="1Gi", **more, affinity=affinity)
    default = LabelSelector(match_labels=FrozenMap({"app": "a"}), match_expressions=())
    return Question(items, spec, labels={"app": "a"}, default_selector=default)


@pytest.mark.parametrize("seed", range(40))
def test_the_best_are_those_of_all_nodes_scored_anew(seed: int) -> None:
    luck = Random(seed)
    asked = _asked(luck)
    state, shape = asked.state, asked.shape
    other = compile_shape(asked.cluster, shape.namespace, FrozenMap({"app": "b"}), shape.spec)
    there: list[tuple[Shape, int]] = []
    ranked = 0
    for _ in range(80):
        fitting = feasible_nodes(state, shape)
        if there and (luck.random() < 0.4 or not len(fitting)):
            one, at = there.pop(luck.randrange(len(there)))
            if luck.random() < 0.3:
                state.terminate(one, at)
                state.remove(one, at, is_terminating=True)
            else:
                state.remove(one, at, is_terminating=False)
        elif len(fitting):
            there.append((luck.choice((shape, shape, other)), int(luck.choice(fitting.tolist()))))
            state.add(*there[-1])
        found = ranking(state, shape)
        if found is None:
            continue
        anew = state.at(state.position)
        nodes = feasible_nodes(anew, shape)
        assert found.count == len(nodes)
        if len(nodes):
            ranked += 1
            scores = total_scores(anew, shape, resource_scores(anew, shape, nodes), nodes)
            assert found.best() == nodes[scores == scores.max()].tolist()
    assert ranked > 5


def test_who_hangs_on_neighbours_has_none() -> None:
    """Preferred affinity says of each node what its neighbours make of it: no class of equals tells that."""
    term = {"weight": 5, "podAffinityTerm": {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": ZONE}}
    liking = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    items = [node(f"n-{i}", labels={ZONE: "x"}) for i in range(3)]
    liked = Question(items, pod_spec(cpu="1", affinity=liking), labels={"app": "a"})
    assert [ranking(liked.state, liked.shape) for _ in range(9)] == [None] * 9
    plain = Question(items, pod_spec(cpu="1"), labels={"app": "a"})
    made = [isinstance(ranking(plain.state, plain.shape), Ranking) for _ in range(9)]
    assert made == sorted(made)  # not for the first attempts, which are mostly all
    assert made[-1]
    alone = Question(items[:1], pod_spec(cpu="1"), labels={"app": "a"})
    assert [ranking(alone.state, alone.shape) for _ in range(9)] == [None] * 9  # one node needs no order
    plain.state.add(liked.shape, 0)  # and now somebody likes to be with it
    assert ranking(plain.state, plain.shape) is None
