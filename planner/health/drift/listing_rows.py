"""The drift answer as rows of named values, for tables and CSV."""

from __future__ import annotations

from collections.abc import Iterable

from planner.ground.table_formats import Row
from planner.health.drift.model import DriftReport, ServiceDrift
from planner.health.drift.model import Row as DriftRow


def matrix_rows(service: ServiceDrift, *, everything: bool = False) -> list[Row]:
    """One row an aspect, one column an environment (the reference first); ratios against the reference in brackets."""
    return [
        {"what": name_of(row)}
        | {environment: text_of(row, index) for index, environment in enumerate(service.environments)}
        for row in (service.rows if everything else service.differences)
    ]


def name_of(row: DriftRow) -> str:
    """``memory limit (api)``: what is compared, and of which container where there are several."""
    return f"{row.aspect.value} ({row.container})" if row.container else row.aspect.value


def text_of(row: DriftRow, index: int) -> str:
    """What it is in the environment at this place: ``256Mi (1/8)``."""
    cell = row.cells[index]
    if cell is None:
        return "no such container"
    return f"{cell.text} ({cell.ratio})" if cell.ratio else cell.text


def flat_rows(report: DriftReport, *, everything: bool = False) -> list[Row]:
    """One row a service, environment and aspect."""
    return [
        {
            "service": service.service,
            "reference": service.reference,
            "environment": environment,
            "workload": workload,
            "container": row.container,
            "aspect": row.aspect.value,
            "value": cell.text if cell else None,
            "amount": cell.amount if cell else None,
            "ratio": cell.ratio if cell else "",
            "differs": row.differs,
        }
        for service in report.services
        for row in (service.rows if everything else service.differences)
        for environment, workload, cell in zip(service.environments, service.workloads, row.cells, strict=True)
    ]


def suggestion_rows(services: Iterable[ServiceDrift]) -> list[Row]:
    """One row a suggestion: what stands there, what is suggested, by which rule and from which readings."""
    return [
        {
            "service": service.service,
            "environment": suggestion.environment,
            "container": suggestion.suggestion.container,
            "today": suggestion.today,
            "suggested": suggestion.suggestion.text,
            "rule": suggestion.suggestion.rule,
            "source": suggestion.suggestion.source,
        }
        for service in services
        for suggestion in service.suggestions
    ]
