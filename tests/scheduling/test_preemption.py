"""Preemption: whose pods go, on which node, and what is said when nobody's going would help."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kubernetes.object_records import FrozenMap, LabelSelector
from planner.scheduling.scheduler import Budget, histogram
from tests.builders.objects import Item, pod, pod_spec
from tests.scheduling.questions import Question, nodes


def asks(priority: int, cpu: str = "8", **more: Any) -> Item:
    return pod_spec(cpu=cpu, priority=priority, **more)


def full(*priorities: int, cpu: str = "8", labels: dict[str, str] | None = None) -> list[Item]:
    """One node per priority, each filled by one pod of it."""
    filled = [pod(f"v-{i}", asks(p, cpu), on=f"n-{i}", labels=labels) for i, p in enumerate(priorities)]
    return [*nodes(len(priorities)), *filled]


def victims(question: Question, *budgets: Budget) -> tuple[int, list[str]]:
    attempt = question.attempt(budgets=budgets)
    return attempt.nominated, sorted(p.name for p in attempt.victims)


def test_the_least_important_pod_goes() -> None:
    assert victims(Question(full(5, 1, 3), asks(10))) == (1, ["v-1"])


def test_only_as_many_as_needed_and_the_important_ones_are_kept() -> None:
    items = [*nodes(1), *(pod(f"v-{p}", asks(p, "4"), on="n-0") for p in (1, 2))]
    assert victims(Question(items, asks(10, "4"))) == (0, ["v-1"])
    assert victims(Question(items, asks(10, "8"))) == (0, ["v-1", "v-2"])


def test_a_lower_sum_of_priorities_then_fewer_pods() -> None:
    items = [*nodes(2), pod("a", asks(3, "4"), on="n-0"), pod("b", asks(3, "4"), on="n-0"), pod("c", asks(3), on="n-1")]
    assert victims(Question(items, asks(10))) == (1, ["c"])


def test_a_broken_budget_weighs_more_than_priority() -> None:
    guarded = Budget(namespace="ml", selector=LabelSelector(match_labels=FrozenMap({"app": "a"})), allowed=0)
    items = [*full(1, labels={"app": "a"}), nodes(2)[1], pod("v-9", asks(5), on="n-1")]
    assert victims(Question(items, asks(10))) == (0, ["v-0"])
    assert victims(Question(items, asks(10)), guarded) == (1, ["v-9"])
    # where nothing else helps, a budget doesn't protect
    assert victims(Question(items, asks(3)), guarded) == (0, ["v-0"])


@pytest.mark.parametrize("seed", range(3))  # each begins at another node
def test_the_first_node_that_breaks_no_budget_does_not_end_the_search(seed: int) -> None:
    """Source: kubernetes `pkg/scheduler/framework/preemption/preemption.go` `DryRunPreemption`: a tenth of the nodes, and a hundred at least."""
    nobodys = Budget(namespace="ml", selector=LabelSelector(match_labels=FrozenMap({"app": "of-nobody"})), allowed=0)
    found = Question(full(5, 1, 3), asks(10)).attempt(seed=seed, budgets=[nobodys])
    assert (found.nominated, [one.name for one in found.victims]) == (1, ["v-1"])


def test_a_hundred_nodes_that_break_budgets_do_not_end_it_either() -> None:
    """Source: the same: a node that breaks none is looked for beyond them."""
    guarded = Budget(namespace="ml", selector=LabelSelector(match_labels=FrozenMap({"app": "a"})), allowed=0)
    items = [*full(*[1] * 150, labels={"app": "a"}), *nodes(151)[150:], pod("free", asks(5), on="n-150")]
    question = Question(items, asks(10))
    victims = [question.attempt(seed=seed, budgets=[guarded]).victims for seed in range(4)]
    assert [[one.name for one in those] for those in victims] == [["free"]] * 4


def test_no_victims() -> None:
    attempt = Question(full(10, 10), asks(10)).attempt()
    assert attempt.victims == ()
    assert attempt.gives_up
    assert attempt.message == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )


def test_nodes_too_small_and_nodes_ruled_out_are_not_helpful() -> None:
    attempt = Question(full(1, 1, cpu="4"), asks(10, "9")).attempt()
    assert attempt.message.endswith("0/2 nodes are available: 2 Preemption is not helpful for scheduling.")


def test_where_the_going_of_all_would_not_help_the_reason_is_the_filters() -> None:
    keeper = pod("keeper", asks(20, "4"), on="n-0")
    attempt = Question([*nodes(1), keeper, pod("small", asks(1, "2"), on="n-0")], asks(10, "8")).attempt()
    assert attempt.message.endswith("preemption: 0/1 nodes are available: 1 Insufficient cpu.")


def test_a_pod_that_never_preempts_says_so() -> None:
    attempt = Question(full(1), asks(10, preemptionPolicy="Never")).attempt()
    assert attempt.victims == ()
    assert attempt.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_the_state_is_left_as_it_was() -> None:
    question = Question(full(5, 1, 3), asks(10))
    before = question.state.free.copy()
    question.attempt()
    assert (question.state.free == before).all()
    assert (question.totals() == question.cluster.allocatable).all()


def test_the_histogram_is_sorted_as_text() -> None:
    from collections import Counter

    assert histogram(12, Counter({"b": 2, "a": 10})) == "0/12 nodes are available: 10 a, 2 b."
    assert histogram(0, Counter()) == "0/0 nodes are available:"
