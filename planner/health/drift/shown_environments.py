"""Which environments a table shows if there are too many to read side by side. Downloads have all."""

from __future__ import annotations

from typing import Final

from planner.ground.records import replace
from planner.ground.words import Text
from planner.health.drift.model import ServiceDrift

MOST_SIDE_BY_SIDE: Final = 12


def of_service(service: ServiceDrift, most: int = MOST_SIDE_BY_SIDE) -> ServiceDrift:
    """The service in at most `most` environments: the reference, those in trouble that a difference explains, those that
    restart, and of the others first one of each kind; in the order that they have."""
    if len(service.environments) <= most:
        return service
    explained = {explanation.environment for explanation in service.explanations}
    value_sets = set()
    rank = []
    for place, environment in enumerate(service.environments):
        values = tuple(row.cells[place] for row in service.rows)
        rank.append((place > 0, environment not in explained, not service.restarts[place], values in value_sets, place))
        value_sets.add(values)
    shown_places = sorted(rank_row[-1] for rank_row in sorted(rank)[:most])
    return replace(
        service,
        environments=tuple(service.environments[place] for place in shown_places),
        workloads=tuple(service.workloads[place] for place in shown_places),
        restarts=tuple(service.restarts[place] for place in shown_places),
        rows=tuple(replace(row, cells=tuple(row.cells[place] for place in shown_places)) for row in service.rows),
    )


def said_of(shown: int, every: int) -> Text:
    """``12 of 84 environments are shown: …``; "" where all are shown."""
    if shown == every:
        return Text("")
    return Text(
        f"{shown:,} of {every:,} environments are shown: what others are compared with and those in trouble first."
    )
