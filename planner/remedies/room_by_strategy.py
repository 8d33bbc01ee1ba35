"""The room that each strategy of a Deployment needs on the smallest cluster: the strategy grid of a pasted manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.remedies import limits
from planner.remedies.needed_room import distributions, most_places, roomier
from planner.remedies.stuck_rollout_room import files_of
from planner.rollout.answers import GridCell, Pair, StrategyGrid, Verdict
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.strategy_grid import strategy_grid


def cells_of(grid: StrategyGrid) -> Iterator[GridCell]:
    """Cells of the grid that an API server accepts, Recreate as the last."""
    yield from (cell for line in grid.cells for cell in line if cell.is_valid)
    yield grid.recreate


def with_room(snapshot: Snapshot, scenario: Scenario, grid: StrategyGrid) -> tuple[StrategyGrid, Mapping[Pair, int]]:
    """The grid with each cell that doesn't complete as it goes with the fewest places with which it does, and how many these are; a cell for
    which no number that was tried is enough stays as it is."""
    revisions = {revision.after.key: revision for revision in prepare(snapshot, scenario).revisions}
    try:
        files = files_of(snapshot, revisions)
    except HeadroomError:
        return grid, {}
    stand = files.stands.get(grid.workload)
    if stand is None or stand.lacks[0] or any(pod.devices for pod in stand.unit):
        return grid, {}
    roomy: dict[Pair, tuple[GridCell, int]] = {}
    lacking = {cell.pair for cell in cells_of(grid) if cell.verdict is Verdict.STUCK}
    replicas = max(1, stand.workload.replicas)
    for number in range(1, min(most_places(stand, replicas), limits.GRID_PLACES.most) + 1):
        for places in list(distributions(stand, replicas, number))[: limits.GRID_DISTRIBUTIONS.most]:
            if not lacking:
                break
            for cell in cells_of(strategy_grid(roomier(files, snapshot, places), scenario, grid.workload)):
                if cell.pair in lacking and cell.verdict is Verdict.COMPLETES:
                    lacking.discard(cell.pair)
                    roomy[cell.pair] = cell, number

    def put(cell: GridCell) -> GridCell:
        return (
            replace(roomy[cell.pair][0], is_current=cell.is_current) if cell.is_valid and cell.pair in roomy else cell
        )

    cells = tuple(tuple(map(put, line)) for line in grid.cells)
    return replace(grid, cells=cells, recreate=put(grid.recreate)), {
        pair: number for pair, (_, number) in roomy.items()
    }
