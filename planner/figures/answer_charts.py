"""The chart of an answer: one place for the report, and for the caller from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from planner.figures import (
    capacity_pools,
    capacity_stranded,
    gpu_bars,
    memory_nodes,
    pool_costs,
    pool_seats,
)
from planner.ground.vocabulary import NVIDIA_GPU
from planner.rollout.film import scarce_resource

_DEAREST: Final = 20  # pools that are drawn


class Chart(NamedTuple):
    """`table`: beside which of the question's tables it stands. `alt`: what it says, in words."""

    table: str
    figure: Any
    alt: str


def charts(question: str, answer: Any) -> Iterator[Chart]:
    """The charts of that question's answer; none where there is nothing to draw."""
    if question in _DRAWN:
        yield from _DRAWN[question](answer)


def _overview(answer: Any) -> Iterator[Chart]:
    if answer.gpus:
        yield Chart("gpus", gpu_bars.figure(answer.gpus), gpu_bars.alt(answer.gpus))


def _capacity(answer: Any) -> Iterator[Chart]:
    resource = answer.resource or NVIDIA_GPU
    if lines := capacity_pools.shown(answer.pools, resource):
        yield Chart("pools", capacity_pools.figure(lines, resource), capacity_pools.alt(lines, resource))
    if answer.fragments and len(sizes := answer.fragments.sizes) > 1:
        noun = answer.fragments.noun
        yield Chart("stranded", capacity_stranded.figure(sizes, noun), capacity_stranded.alt(sizes, noun))


def _costs(answer: Any) -> Iterator[Chart]:
    dearest = sorted((pool for pool in answer.pools if pool.usd_per_month), key=lambda pool: -pool.usd_per_month)
    if dearest:
        yield Chart("pools", pool_costs.figure(dearest[:_DEAREST]), pool_costs.alt(answer.pools))


def _memory(answer: Any) -> Iterator[Chart]:
    if answer.cluster.nodes:
        yield Chart("nodes", memory_nodes.figure(answer.cluster), memory_nodes.alt(answer.cluster))


def _rollout(answer: Any) -> Iterator[Chart]:
    from planner.figures import rollout_timeline  # Plotly draws it

    for workload in answer.workloads[:1]:
        resource = scarce_resource(workload.requests)
        yield Chart(
            "timeline", rollout_timeline.figure(workload, answer.capacity.get(resource)), rollout_timeline.alt(workload)
        )


def _seats(answer: Any) -> Iterator[Chart]:
    if answer.nodes:
        yield Chart("nodes", pool_seats.figure(answer.nodes), pool_seats.alt(answer.nodes))


_DRAWN: Final[Mapping[str, Callable[[Any], Iterator[Chart]]]] = {
    "overview": _overview,
    "capacity": _capacity,
    "costs": _costs,
    "memory": _memory,
    "rollout": _rollout,
    "seats": _seats,
}
