"""Which strategy is recommended: never one that another beats, and by the weights that were given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes import disruption_budgets
from planner.kubernetes.object_records import Workload
from planner.remedies import rollout_with_remedies
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import GridCell, Reason, StrategyGrid, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.strategy_choice import Choice, Weights, choose
from planner.sources import demo


def cell(surge: int, unavailable: int, *, ready: int = 0, seconds: float = 60.0, gpus: int = 0, evictions: int = 0,
         stuck: bool = False) -> GridCell:  # fmt: skip
    return GridCell(
        max_surge=surge, max_unavailable=unavailable, verdict=Verdict.STUCK if stuck else Verdict.COMPLETES,
        reason=Reason.NONE, peak_gpus=gpus, peak_pods=6, lowest_ready=ready, ticks=3, seconds=seconds, extra_gpus=gpus,
        evictions=evictions,
    )  # fmt: skip


def chosen(workload: str) -> tuple[Choice, StrategyGrid]:
    grid = grids.strategy_grid(demo.read(), Scenario(changes=(WorkloadChange(workload=workload),)), workload)
    return choose([*(one for row in grid.cells for one in row), grid.recreate], len(grid.cells[0]) - 1), grid


def test_a_strategy_that_another_beats_is_never_recommended() -> None:
    """The demo's api: 0/1 is slower than 1/1, and no better in anything."""
    found, grid = chosen("Deployment/prod/api")
    by_pair = {one.pair: one for one in found.options}
    assert by_pair[0, 1].lowest_ready == by_pair[1, 1].lowest_ready
    assert by_pair[0, 1].seconds > by_pair[1, 1].seconds
    assert not by_pair[0, 1].is_best
    assert found.recommended is not None
    assert found.recommended.pair == (1, 0), "today's: nothing keeps more Ready"
    assert str(found.sentence) in str(grid.sentence)
    assert "maxSurge 0, maxUnavailable 1 is recommended" not in str(grid.sentence)


def test_who_waits_below_takes_nothing_from_the_new_pods() -> None:
    """The demo's ml-worker as Kubernetes rolls it out: batch/trainer, of lower priority, waits from beginning to end."""
    found, _ = chosen("Deployment/prod/ml-worker")
    by_pair = {one.pair: one for one in found.options}
    assert (by_pair[0, 1].seconds, by_pair[0, 1].evictions) == (by_pair[1, 1].seconds, 0)
    asked = Scenario(changes=(WorkloadChange(workload="Deployment/prod/ml-worker", max_surge=0, max_unavailable=1),))
    result = rollout_with_remedies.rollout(demo.read(), asked)
    assert (result.verdict, result.ticks, result.preempted) == (Verdict.COMPLETES, 12, ())


def test_weights_move_the_recommendation() -> None:
    slow, fast = cell(0, 1, ready=5, seconds=900), cell(0, 3, ready=3, seconds=100)
    assert recommended(choose([slow, fast], 6)) == (0, 1)
    hurried = Weights(availability=1, time=10, evictions=0, extra_gpus=0, money=0)
    assert recommended(choose([slow, fast], 6, hurried)) == (0, 3)


def test_on_a_tie_the_words_the_table_and_the_patch_have_one_strategy() -> None:
    """Two that nothing beats, equal by the weights: by figures the second comes first, by its numbers the first."""
    fewer, more = cell(1, 0, ready=3, seconds=100), cell(2, 0, ready=4, seconds=200)
    even = Weights(availability=5, time=5, evictions=0, extra_gpus=0, money=0)
    for cells in ([fewer, more], [more, fewer]):
        found = choose(cells, 4, even)
        assert [one.score for one in found.options] == [5.0, 5.0]
        assert found.recommended is found.options[0]
        assert [one.is_recommended for one in found.options] == [True, False]
        assert str(found.sentence).startswith(found.recommended.name)
        assert recommended(found) == (1, 0)


def test_money_counts_only_where_all_of_it_is_known() -> None:
    cheap, dear = cell(0, 1, ready=5), cell(1, 0, ready=6, gpus=1)
    only_money = Weights(availability=0, time=0, evictions=0, extra_gpus=0, money=10)
    priced = choose([cheap, dear], 6, only_money, {(0, 1): 0.0, (1, 0): 500.0})
    assert recommended(priced) == (0, 1)
    unpriced = choose([cheap, dear], 6, only_money, {(0, 1): 0.0, (1, 0): None})
    assert {one.pair for one in unpriced.options if one.is_best} == {(0, 1), (1, 0)}
    assert {one.score for one in unpriced.options} == {0.0}


def test_where_nothing_completes_nothing_is_recommended() -> None:
    found = choose([cell(1, 0, stuck=True), replace(cell(0, 6, stuck=True), is_recreate=True)], 6)
    assert (found.options, found.recommended) == ((), None)
    assert str(found.sentence) == "No strategy was found that completes by itself."


@given(
    some.lists(
        some.tuples(some.integers(0, 3), some.integers(0, 3), some.integers(0, 3), some.integers(0, 2)), min_size=1, max_size=12
    )
)  # fmt: skip
def test_the_marked_ones_are_those_that_nothing_beats(rows: list[tuple[int, int, int, int]]) -> None:
    cells = [cell(i, 1, ready=r, seconds=60.0 * t, gpus=g, evictions=e) for i, (r, t, g, e) in enumerate(rows)]
    found = choose(cells, 3)

    def figures(one: object) -> tuple[float, ...]:
        return (-one.lowest_ready, one.seconds, one.extra_gpus, one.evictions)  # type: ignore[attr-defined]

    for one in found.options:
        beaten = any(
            figures(other) != figures(one) and all(a <= b for a, b in zip(figures(other), figures(one), strict=True))
            for other in found.options
        )
        assert not (beaten and one.is_best)
    best = {figures(one) for one in found.options if one.is_best}
    assert {figures(one) for one in found.options} >= best
    for one in found.options:  # each is in the set, or something of the set is at least as good in everything
        assert any(all(a <= b for a, b in zip(own, figures(one), strict=True)) for own in best)


def recommended(found: Choice) -> tuple[int, int]:
    assert found.recommended is not None
    return found.recommended.pair


def test_none_below_the_budget_is_recommended_where_one_keeps_it() -> None:
    """The demo's ml-worker: its budget wants 5 of 6 Ready. Six minutes sooner with 4 Ready is an alternative, not a star."""
    found = disruption_budgets.kept_ready(demo.read(), workload_called("Deployment/prod/ml-worker"))
    assert found == 5
    slow, fast = cell(1, 1, ready=5, seconds=800), cell(0, 2, ready=4, seconds=400)
    eager = Weights(availability=0, time=10)
    assert recommended(choose([slow, fast], 6, eager)) == (0, 2)
    assert recommended(choose([slow, fast], 6, eager, keep_ready=5)) == (1, 1)


def test_where_none_keeps_the_budget_the_one_with_most_ready_is_and_that_is_said() -> None:
    some, fewer = cell(0, 2, ready=4, seconds=800), cell(0, 3, ready=3, seconds=100)
    found = choose([some, fewer], 6, Weights(availability=0, time=10), keep_ready=5)
    assert recommended(found) == (0, 2)
    assert "below the budget of 5" in str(found.sentence)


def test_todays_stays_where_nothing_keeps_more_ready() -> None:
    today = replace(cell(2, 1, ready=5, seconds=900, gpus=2), is_current=True)
    sooner, more = cell(0, 1, ready=5, seconds=100), cell(1, 0, ready=6, seconds=900)
    eager = Weights(availability=0, time=10)
    assert recommended(choose([today, sooner], 6, eager)) == (2, 1)
    assert recommended(choose([today, sooner, more], 6, eager)) == (0, 1), (
        "none below today's, and something keeps more"
    )
    evicts = replace(today, evictions=1)
    assert recommended(choose([evicts, sooner], 6, eager)) == (0, 1), "it ends pods of others, and another doesn't"


def workload_called(key: str) -> Workload:
    return next(one for one in demo.read().workloads if one.key == key)
