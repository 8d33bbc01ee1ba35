"""Figures of capacity: bars that add up, axes with units, words for those who can't see them."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity import free_capacity as capacity_left
from planner.capacity.free_capacity import CapacityAnswer
from planner.figures import capacity_pools, capacity_stranded
from planner.figures.drawing import as_figure
from planner.inventory.pool_limits import parse_typed_limits
from planner.sources import demo

GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def answer() -> CapacityAnswer:
    return capacity_left.capacity(demo.read(), parse_typed_limits("gpu-l4=6"))


def bars(figure: Any) -> dict[str, dict[str, float]]:
    """Trace name → bar → length."""
    return {trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in figure.to_dict()["data"]}


def test_a_pools_bar_is_what_it_has_and_may_have(answer: CapacityAnswer) -> None:
    figure = as_figure(capacity_pools.figure(answer.pools, GPU))
    drawn = bars(figure)
    assert (drawn["requested"]["gpu-l4"], drawn["free"]["gpu-l4"], drawn["room to grow"]["gpu-l4"]) == (8, 0, 4)
    assert sum(drawn["requested"].values()) + sum(drawn["free"].values()) == 27
    assert "web" not in drawn["requested"]
    assert figure.layout.xaxis.title.text == "GPUs"


def test_amounts_are_shown_in_the_unit_that_is_named(answer: CapacityAnswer) -> None:
    figure = as_figure(capacity_pools.figure(answer.pools, "memory", divisor=2**30, unit="GiB"))
    total = sum(sum(bar.values()) for name, bar in bars(figure).items() if name != "room to grow")
    memory = next(line for line in answer.resources if line.resource == "memory")
    assert total == pytest.approx(memory.allocatable / 2**30)
    assert figure.layout.xaxis.title.text == "GiB"


def test_growth_that_nobody_knows_is_not_drawn() -> None:
    unknown = capacity_left.capacity(demo.read())
    assert set(bars(as_figure(capacity_pools.figure(unknown.pools, GPU)))) == {"requested", "free"}


def test_free_gpus_are_usable_or_stranded(answer: CapacityAnswer) -> None:
    assert answer.fragments is not None
    sizes = answer.fragments.sizes
    drawn = bars(as_figure(capacity_stranded.figure(sizes)))
    for size in sizes:
        name = "any pod" if size.gpus == 0 else f"pods of {size.gpus}"
        assert sum(bar[name] for bar in drawn.values()) == size.free
    assert drawn["taint"]["pods of 4"] == 1


def test_the_figures_in_words(answer: CapacityAnswer) -> None:
    assert "gpu-l4: 8 requested, 0 free, room to grow by 4" in capacity_pools.alt(answer.pools, GPU)
    assert answer.fragments is not None
    assert "pods of 4: 0 of 1 usable (1 taint)" in capacity_stranded.alt(answer.fragments.sizes)
