"""Finds the fewest pod moves exactly with an integer program solver (HiGHS), if the case is small enough.

It knows amounts and which nodes a pod may be on, no rules between pods: its answer is a bound for any plan, and a plan where the
engine confirms it. First as many waiting pods of the highest priority start as can, then of the next, then the moves are as
light as can be. A pod that moves may wait for its room meanwhile, and cordons can lead it to any node, so that any end can be
come to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record
from planner.scheduling.cluster import IntArray


class Guest(Record):
    """Waiting pods that are alike, with the nodes they may be on."""

    asks: Mapping[int, int]
    nodes: tuple[int, ...]
    count: int
    priority: int


class Resident(Record):
    """Pods on one node that may be moved, and are alike."""

    asks: Mapping[int, int]
    home: int
    nodes: tuple[int, ...]
    count: int
    weight: float


class Problem(Record):
    """`free`: int64[resource, node]."""

    free: IntArray
    guests: tuple[Guest, ...]
    residents: tuple[Resident, ...]


class Solution(Record):
    """`hosts`, `leaves`: for each guest and resident the nodes its pods go to. `at_least`: no solution weighs less."""

    hosts: tuple[tuple[int, ...], ...]
    leaves: tuple[tuple[int, ...], ...]
    at_least: float


def solve(problem: Problem) -> Solution | None:
    """The solution; None where there are more variables than are tried, or the solver doesn't come to its end."""
    size = sum(len(guest.nodes) for guest in problem.guests) + sum(len(holder.nodes) for holder in problem.residents)
    if size > LIMITS.variables:
        return None
    places = [(guest, node) for guest in problem.guests for node in guest.nodes]
    ways = [(resident, node) for resident in problem.residents for node in resident.nodes if node != resident.home]
    program = _Program(problem, places, ways)
    # As many pods of the highest priority as can start, then of the next: each number is kept as a constraint for what
    # follows.
    for priority in sorted({guest.priority for guest in problem.guests}, reverse=True):
        started = [1.0 if guest.priority == priority else 0.0 for guest, _ in places] + [0.0] * len(ways)
        best = program.optimise([-cost for cost in started])
        if best is None:
            return None
        program.keep(started, round(-best[0]))
    best = program.optimise([0.0] * len(places) + [resident.weight for resident, _ in ways])
    if best is None:
        return None
    at_least, values = best
    nodes_by_pod: dict[int, list[int]] = {id(guest): [] for guest in (*problem.guests, *problem.residents)}
    for (party, node), value in zip((*places, *ways), values, strict=True):
        nodes_by_pod[id(party)] += [node] * value
    return Solution(
        hosts=tuple(tuple(nodes_by_pod[id(guest)]) for guest in problem.guests),
        leaves=tuple(tuple(nodes_by_pod[id(resident)]) for resident in problem.residents),
        at_least=at_least,
    )


class _Program:
    """The integer program: how many of each guest are on each node, how many of each resident go to each other one."""

    def __init__(
        self, problem: Problem, places: Sequence[tuple[Guest, int]], ways: Sequence[tuple[Resident, int]]
    ) -> None:
        highspy: Any = import_module("highspy")  # a solver in C++, without types: loaded where it is needed only
        self._size = len(places) + len(ways)
        self._highs = highspy.Highs()
        self._optimal = highspy.HighsModelStatus.kOptimal
        for name, value in (("output_flag", False), ("threads", 1), ("random_seed", 0), ("mip_rel_gap", 0.0),
                            ("mip_abs_gap", 1e-6), ("mip_max_nodes", LIMITS.branches)):  # fmt: skip
            self._highs.setOptionValue(name, value)
        most = [float(guest.count) for guest, _ in places] + [float(resident.count) for resident, _ in ways]
        self._highs.addVars(self._size, np.zeros(self._size), np.array(most))
        for column in range(self._size):
            self._highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
        self._rows(problem, places, ways)

    def _rows(
        self, problem: Problem, places: Sequence[tuple[Guest, int]], ways: Sequence[tuple[Resident, int]]
    ) -> None:
        columns: dict[int, list[int]] = {}  # of each guest and resident
        on_node: dict[tuple[int, int], dict[int, float]] = {}  # (row, node) → column → amount
        every: list[tuple[Guest | Resident, int]] = [*places, *ways]
        for column, (mover, node) in enumerate(every):
            columns.setdefault(id(mover), []).append(column)
            for row, amount in mover.asks.items():
                on_node.setdefault((row, node), {})[column] = float(amount)
                if isinstance(mover, Resident):
                    on_node.setdefault((row, mover.home), {})[column] = -float(amount)
        parties: list[Guest | Resident] = [*problem.guests, *problem.residents]
        for party in parties:
            self._row(dict.fromkeys(columns.get(id(party), ()), 1.0), float(party.count))
        for (row, node), amounts in on_node.items():
            if any(amount > 0 for amount in amounts.values()):
                unit = float(np.gcd.reduce([int(abs(amount)) for amount in amounts.values()])) or 1.0
                self._row(
                    {column: amount / unit for column, amount in amounts.items()},
                    float(max(0, int(problem.free[row, node])) // int(unit)),
                )

    def _row(self, amounts: Mapping[int, float], most: float, least: float = -np.inf) -> None:
        if amounts:
            columns = np.array(list(amounts), dtype=np.int32)
            self._highs.addRow(least, most, len(columns), columns, np.array(list(amounts.values())))

    def keep(self, amounts: Sequence[float], least: float) -> None:
        """So much of it stays in what follows."""
        self._row({column: amount for column, amount in enumerate(amounts) if amount}, np.inf, least)

    def optimise(self, costs: Sequence[float]) -> tuple[float, list[int]] | None:
        """(the least cost, whole values)."""
        self._highs.changeColsCost(self._size, np.arange(self._size, dtype=np.int32), np.array(costs))
        self._highs.run()
        if self._highs.getModelStatus() != self._optimal:
            return None
        values = [round(value) for value in self._highs.getSolution().col_value]
        return float(self._highs.getInfo().objective_function_value), values
