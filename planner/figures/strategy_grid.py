"""The grid of maxSurge × maxUnavailable: data for the control that draws it (`strategy_grid.js`, `strategy_grid.css`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.figures import palette
from planner.ground.words import count, duration, plural
from planner.rollout.answers import RECREATE, GridCell, Pair, Reason, StrategyGrid, Verdict
from planner.rollout.strategy_choice import Choice
from planner.rollout.verdict_wording import GLYPH, WORD

_NO_PLACES: Final[Mapping[Pair, int]] = {}
_NONE_READY: Final = (246, 236, 224)  # red, green, blue of a cell
_ALL_READY: Final = (0, 112, 79)
# of pods Ready: from here on white letters have more contrast on the cell than black ones (WCAG 2.2, 1.4.3)
_DARK_SHARE: Final = 0.84


def grid_document(
    grid: StrategyGrid, choice: Choice, replicas: int, chosen: Pair, places: Mapping[Pair, int] = _NO_PLACES
) -> dict[str, Any]:
    """What `strategy_grid.js` draws: rows maxSurge, the highest first, columns maxUnavailable, then Recreate. A cell's color is its
    lowest Ready; below the workload's PodDisruptionBudget it is hatched. ★: what is recommended, where that isn't today's. `places`: how
    many more pods a cell has room for, where it needs some: ``+1``."""
    best = choice.recommended
    star = None if best is None or best.is_current else best.pair

    def cell(grid_cell: GridCell, name: str) -> dict[str, Any]:
        is_star, room = grid_cell.is_valid and grid_cell.pair == star, places.get(grid_cell.pair, 0)
        return _cell(grid_cell, name, replicas, grid.keep_ready, is_star=is_star, room=room)

    rows = []
    for alike in reversed(list(_alike(grid, places))):
        surges, lines = [grid.surges[row] for row in alike], [grid.cells[row] for row in alike]
        name = str(surges[0]) if len(surges) == 1 else f"{surges[0]} … {surges[-1]}"
        columns = list(zip(*lines, strict=True))
        shown = [
            next((grid_cell for grid_cell in column if grid_cell.is_valid and grid_cell.pair == star), column[0])
            for column in columns
        ]
        marked = [
            grid_cell.max_surge
            for line in lines
            for grid_cell in line
            if grid_cell.is_valid and (grid_cell.pair == star or grid_cell.is_current)
        ]
        rows.append(
            {
                "name": name,
                "surges": surges,
                "takes": marked[0] if marked else surges[0],  # one row stands for several equal maxSurges: a click on it chooses this value
                "cells": [
                    {**cell(grid_cell, f"maxSurge {name}, maxUnavailable {grid_cell.max_unavailable}"),
                     "today": any(other.is_valid and other.is_current for other in column)}
                    for grid_cell, column in zip(shown, columns, strict=True)
                ],
            }
        )  # fmt: skip
    return {
        "rows": rows,
        "columns": list(grid.unavailables),
        "surges": list(grid.surges),
        "recreate": {
            **(recreate := cell(grid.recreate, "Recreate")),
            "long": f"{recreate['text']} Ready, {duration(grid.recreate.seconds)}"
            if grid.recreate.verdict is Verdict.COMPLETES
            else recreate["text"],
            "pair": list(RECREATE),
            "today": grid.recreate.is_current,
        },
        "chosen": list(chosen),
        "alt": alt(grid),
    }


def _alike(grid: StrategyGrid, places: Mapping[Pair, int]) -> Iterator[list[int]]:
    """Places of rows beside each other of which the same is said in every column."""
    some: list[int] = []
    for place, line in enumerate(grid.cells):
        if some and _said(line, places) != _said(grid.cells[some[0]], places):
            yield some
            some = []
        some.append(place)
    yield some


def _said(line: Sequence[GridCell], places: Mapping[Pair, int]) -> list[tuple[object, ...]]:
    return [
        (
            places.get(cell.pair),
            cell.is_valid,
            cell.verdict,
            cell.lowest_ready,
            round(cell.seconds),
            cell.evictions,
            cell.extra_gpus,
        )
        for cell in line
    ]


def why_alike(grid: StrategyGrid, device: str, places: Mapping[Pair, int] = _NO_PLACES) -> str:
    """``maxSurge 1 to 6: no T4 is free to surge into.``: why rows come to the same; "" where none do. `device`: what a pod asks for."""
    rows = max(_alike(grid, places), key=len)
    surges = [grid.surges[row] for row in rows if grid.surges[row]]
    if len(surges) < 2:
        return ""
    cells = [cell for row in rows for cell in grid.cells[row] if cell.is_valid]
    short = any(cell.reason in (Reason.HOLD_AND_WAIT, Reason.INSUFFICIENT_RESOURCE) for cell in cells)
    if any(cell.reason is Reason.QUOTA for cell in cells):
        why = "the quota has no room to surge into"
    elif device and short and not any(cell.extra_gpus for cell in cells):
        why = f"no {device} is free to surge into"
    else:
        why = "the same in each, so more surge changes nothing"
    return f"maxSurge {surges[0]:,} to {surges[-1]:,}: {why}."


def _cell(
    cell: GridCell, name: str, replicas: int, keep_ready: int | None, *, is_star: bool, room: int
) -> dict[str, Any]:
    if not cell.is_valid:
        return {"text": "–", "words": f"{name}: the API server refuses it", "ready": None}
    is_done = cell.verdict is Verdict.COMPLETES
    share = cell.lowest_ready / replicas if replicas else 1.0
    shade = [round(a + (b - a) * share) for a, b in zip(_NONE_READY, _ALL_READY, strict=True)]
    is_below = is_done and keep_ready is not None and cell.lowest_ready < keep_ready
    parts = (
        [f"{cell.lowest_ready:,} of {count(replicas, 'pod stays', 'pods stay')} Ready, {duration(cell.seconds)}"]
        if is_done
        else [WORD[cell.verdict]]
    )
    parts += [f"below the budget of {keep_ready:,}"] if is_below else []
    parts += [f"evicts {cell.evictions:,} {plural(cell.evictions, 'pod', 'pods')} of others"] if cell.evictions else []
    parts += [f"needs room for {count(room, 'more pod', 'more pods')}"] if room else []
    beside = f" +{room}" if room else " ★" if is_star else ""
    return {
        "text": f"{cell.lowest_ready:,}{beside}" if is_done else GLYPH[cell.verdict],
        "words": f"{name}: {', '.join(parts)}{', recommended' if is_star else ''}",
        "ready": cell.lowest_ready,
        "colour": "#{:02X}{:02X}{:02X}".format(*shade) if is_done else palette.VERDICT[cell.verdict],
        "ink": "#FFFFFF" if is_done and share >= _DARK_SHARE else "#000000",
        "below": is_below,
    }  # fmt: skip


def alt(grid: StrategyGrid) -> str:
    """The grid's takeaway in words."""
    cells = [cell for row in grid.cells for cell in row if cell.is_valid]
    done = sum(cell.verdict is Verdict.COMPLETES for cell in cells)
    return f"{done:,} of {len(cells):,} pairs of maxSurge and maxUnavailable complete. {grid.sentence}"
