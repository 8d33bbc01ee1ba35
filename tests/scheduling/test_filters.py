"""Filters: which nodes are left, the first reason of each that isn't, in kube-scheduler's order and words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.objects import Item, node, pod, pod_spec
from tests.scheduling.questions import Question, nodes

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SELF = {"matchLabels": {"app": "a"}}


def spread(key: str = HOST, cpu: str = "1", **more: Any) -> Item:
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELF, **more}
    return pod_spec(cpu=cpu, topologySpreadConstraints=[constraint])


def term(which: str, *, labels: dict[str, str], key: str = HOST, **more: Any) -> Item:
    one = {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **more}
    return pod_spec(affinity={which: {"requiredDuringSchedulingIgnoredDuringExecution": [one]}})


# ── static filters and resources ─────────────────────────────────────────────────────────────────────────────────────
def test_a_node_that_two_things_close_opens_once_both_are_over() -> None:
    """A cordon, and a taint. Each is seen by who is asked before, between and after. Source: kubernetes
    `pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go` and `tainttoleration/taint_toleration.go` `Filter`."""
    question = Question(nodes(2))
    found = [question.fitting()]
    changes = (
        ("close", "cordon"),
        ("close", "a taint"),
        ("reopen", "cordon"),
        ("reopen", "a taint"),
        ("close", "cordon"),
    )
    for change, bar in changes:
        getattr(question.state, change)(0, bar)
        found.append(question.fitting())
    assert found == [["n-0", "n-1"], ["n-1"], ["n-1"], ["n-1"], ["n-0", "n-1"], ["n-1"]]


def test_the_first_filter_gives_the_reason() -> None:
    items = [
        node("n-0", cordoned=True, taints=(("gpu", "NoSchedule"),)),
        node("n-1", taints=(("gpu", "NoExecute"),)),
        node("n-2"),
        node("n-3", labels={"disk": "ssd"}, cpu="1"),
        node("n-4", labels={"disk": "ssd"}),
    ]
    question = Question(items, pod_spec(cpu="2", nodeSelector={"disk": "ssd"}))
    assert question.fitting() == ["n-4"]
    question = Question(items[:4], pod_spec(cpu="2", nodeSelector={"disk": "ssd"}))
    assert question.reasons() == (
        "1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable"
    )


def test_every_resource_that_lacks_is_named_for_a_node() -> None:
    items = [node("n-0", cpu="1", memory="1Gi", extra={"pods": "0"})]
    assert Question(items, pod_spec(cpu="2", memory="2Gi", gpus=1)).reasons() == (
        "1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu, 1 Too many pods"
    )


def test_nodes_named_in_the_affinity_are_the_only_ones_looked_at() -> None:
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n-1"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}}
    assert Question(nodes(3), pod_spec(affinity={"nodeAffinity": required})).fitting() == ["n-1"]
    full = Question(nodes(3, cpu="1"), pod_spec(cpu="2", affinity={"nodeAffinity": required}))
    assert full.reasons() == "1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]"


# ── host ports ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("theirs", "mine", "fits"),
    [
        ({}, {}, False),
        ({}, {"protocol": "UDP"}, True),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, True),
        ({"hostIP": "10.0.0.1"}, {}, False),
        ({}, {"hostPort": 81}, True),
    ],
)
def test_host_ports(theirs: Item, mine: Item, fits: bool) -> None:
    def spec(port: Item) -> Item:
        return {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80, **port}]}]}

    question = Question([*nodes(1), pod("there", spec(theirs), on="n-0")], spec(mine))
    assert bool(question.fitting()) is fits
    if not fits:
        assert question.reasons() == "1 node(s) didn't have free ports for the requested pod ports"


# ── topology spread ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_spread_keeps_the_skew() -> None:
    items = [*nodes(2), pod("there", pod_spec(), on="n-0", labels={"app": "a"})]
    assert Question(items, spread(), labels={"app": "a"}).fitting() == ["n-1"]
    assert Question(items, spread(maxSkew=2), labels={"app": "a"}).fitting() == ["n-0", "n-1"]
    elsewhere = [*nodes(2), pod("there", pod_spec(), on="n-0", labels={"app": "a"}, namespace="other")]
    assert Question(elsewhere, spread(), labels={"app": "a"}).fitting() == ["n-0", "n-1"]


def test_spread_counts_by_zone_and_says_which_nodes_lack_the_label() -> None:
    bare = node("n-2")
    del bare["metadata"]["labels"][ZONE]
    items = [
        node("n-0", zone="a"),
        node("n-1", zone="b", cpu="1"),
        bare,
        pod("there", pod_spec(), on="n-0", labels={"app": "a"}),
    ]
    assert Question(items, spread(ZONE, cpu="2"), labels={"app": "a"}).reasons() == (
        "1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label)"
    )


def test_with_fewer_domains_than_asked_for_the_lowest_counts_as_empty() -> None:
    items = [*nodes(2), *(pod(f"p-{i}", pod_spec(), on=f"n-{i}", labels={"app": "a"}) for i in range(2))]
    assert Question(items, spread(minDomains=2), labels={"app": "a"}).fitting() == ["n-0", "n-1"]
    assert Question(items, spread(minDomains=3), labels={"app": "a"}).fitting() == []


def test_tainted_nodes_count_unless_told_otherwise() -> None:
    there = pod("there", pod_spec(), on="n-0", labels={"app": "a"})
    items = [node("n-0"), node("n-1", taints=(("gpu", "NoSchedule"),)), there]
    assert Question(items, spread(), labels={"app": "a"}).fitting() == []
    assert Question(items, spread(nodeTaintsPolicy="Honor"), labels={"app": "a"}).fitting() == ["n-0"]


def test_match_label_keys_count_only_pods_of_the_same_revision() -> None:
    items = [*nodes(2), pod("old", pod_spec(), on="n-0", labels={"app": "a", "rev": "1"})]
    asked = spread(matchLabelKeys=["rev"])
    assert Question(items, asked, labels={"app": "a", "rev": "1"}).fitting() == ["n-1"]
    assert Question(items, asked, labels={"app": "a", "rev": "2"}).fitting() == ["n-0", "n-1"]


# ── affinity between pods ────────────────────────────────────────────────────────────────────────────────────────────
def test_affinity_needs_a_friend_unless_the_pod_is_the_first_of_its_kind() -> None:
    items = [*nodes(2), pod("db", pod_spec(), on="n-1", labels={"app": "db"})]
    assert Question(items, term("podAffinity", labels={"app": "db"})).fitting() == ["n-1"]
    alone = Question(nodes(2), term("podAffinity", labels={"app": "db"}))
    assert alone.reasons() == "2 node(s) didn't match pod affinity rules"
    first = Question(nodes(2), term("podAffinity", labels={"app": "a"}), labels={"app": "a"})
    assert first.fitting() == ["n-0", "n-1"]


def test_anti_affinity_works_both_ways() -> None:
    there = pod("there", pod_spec(), on="n-0", labels={"app": "a"})
    mine = Question([*nodes(1), there], term("podAntiAffinity", labels={"app": "a"}))
    assert mine.reasons() == "1 node(s) didn't match pod anti-affinity rules"
    theirs = pod("there", term("podAntiAffinity", labels={"app": "b"}), on="n-0", labels={"app": "a"})
    asked = Question([*nodes(1), theirs], labels={"app": "b"})
    assert asked.reasons() == "1 node(s) didn't satisfy existing pods anti-affinity rules"


def test_terms_speak_of_their_own_namespace_unless_they_say_more() -> None:
    there = pod("there", pod_spec(), on="n-0", labels={"app": "a"}, namespace="other")
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "x"}}}
    items = [*nodes(1), there, space]

    def anti(**more: Any) -> list[str]:
        return Question(items, term("podAntiAffinity", labels={"app": "a"}, **more)).fitting()

    assert anti() == ["n-0"]
    assert anti(namespaces=["other"]) == []
    assert anti(namespaceSelector={"matchLabels": {"team": "x"}}) == []
    assert anti(namespaceSelector={"matchLabels": {"team": "y"}}) == ["n-0"]
    assert anti(namespaceSelector={}) == []


def test_label_keys_that_must_differ() -> None:
    items = [*nodes(1), pod("there", pod_spec(), on="n-0", labels={"app": "a", "tenant": "1"})]
    asked = term("podAntiAffinity", labels={"app": "a"}, mismatchLabelKeys=["tenant"])
    assert Question(items, asked, labels={"tenant": "1"}).fitting() == ["n-0"]
    assert Question(items, asked, labels={"tenant": "2"}).fitting() == []


@pytest.mark.parametrize("keys", ["matchLabelKeys", "mismatchLabelKeys"])
def test_a_label_key_that_the_pod_does_not_have_asks_for_nothing(keys: str) -> None:
    """Source: kubernetes `pkg/registry/core/pod/strategy.go` `applyMatchLabelKeysAndMismatchLabelKeys` (``if value, ok := labels[key]; ok``)."""
    more: Item = {keys: ["tenant"]}
    asked = term("podAntiAffinity", labels={"app": "a"}, **more)
    there = pod("there", pod_spec(), on="n-0", labels={"app": "a", "tenant": "blue"})
    assert Question([node("n-0"), node("n-1"), there], asked, labels={"app": "a"}).fitting() == ["n-1"]
