"""Which one node more starts pending pods: the cheapest a pod, within its pool's limit first; none where no node starts any."""

from __future__ import annotations

import pytest

from planner.capacity.change_comparison import changed
from planner.capacity.node_for_pending_pods import pending_nodes
from planner.capacity.what_if_syntax import parse_changes
from planner.inventory.pool_limits import parse_typed_limits
from planner.questions.costs import CostsSettings
from planner.questions.costs import answer as bill
from planner.questions.question import Inputs
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders.objects import deployment, node, pod_spec, snapshot


def test_the_demos_pending_trainer_starts_on_one_more_node_which_costs_what_the_bill_grows_by() -> None:
    given, book = demo.read(), embedded_book()
    found = pending_nodes(given, (), book)[0]
    assert (found.change, found.started, found.pods) == ("add:gpu-t4=1", (("Deployment/batch/trainer", 1),), 1)
    then = changed(given, parse_changes(found.change))
    before, after = (bill(one, CostsSettings(), Inputs(book=book)).bill_usd_per_month for one in (given, then))
    assert before is not None
    assert after is not None
    assert found.usd_per_month == pytest.approx(after - before, abs=0.01)
    assert sum(pod.waits for pod in then.pods) == sum(pod.waits for pod in given.pods) - 1


def test_a_pool_at_its_maximum_comes_after_one_that_may_grow() -> None:
    nodes = [node("a-0", pool="a", gpus=1), node("b-0", pool="b", gpus=1)]
    given = snapshot(*nodes, *deployment("x", ["a-0", "b-0", "", ""], pod_spec(gpus=1)))
    free = pending_nodes(given)[0]
    assert (free.pool, free.pods, free.usd_per_month, free.is_within_limit) == ("a", 1, None, True)
    limited = pending_nodes(given, parse_typed_limits("a=1, b=3"))[0]
    assert (limited.pool, limited.is_within_limit) == ("b", True)
    both = pending_nodes(given, parse_typed_limits("a=1, b=1"))[0]
    assert not both.is_within_limit


def test_no_node_is_named_where_none_starts_a_pod_or_nothing_is_pending() -> None:
    nodes = [node("a-0", pool="a", gpus=1)]
    assert pending_nodes(snapshot(*nodes, *deployment("x", ["", ""], pod_spec(gpus=8)))) == ()
    assert pending_nodes(snapshot(*nodes, *deployment("x", ["a-0"], pod_spec(gpus=1)))) == ()
