"""One service's memory in each of its environments."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.drift.model import Aspect, ServiceDrift
from planner.figures import palette
from planner.figures.drawing import BELOW, amounts, by_rows, drawn, laid_out
from planner.figures.labels import plain
from planner.ground.words import count, measured_bytes

_STYLE = (
    (Aspect.MEMORY_REQUEST, "request", palette.SKY, "/"),
    (Aspect.MEMORY_LIMIT, "limit", palette.ORANGE, "x"),
    (Aspect.WORKING_SET, "used (largest seen)", palette.BLUE, ""),
)


@drawn
def figure(service: ServiceDrift) -> go.Figure:
    """Bars an environment (and container, where there are several), in GiB: request, limit, largest working set."""
    drawn = go.Figure()
    for aspect, name, colour, pattern in _STYLE:
        labels, values = _values(service, aspect)
        drawn.add_trace(amounts([plain(label) for label in labels], values, name, colour, pattern))
    rows = max((len(trace.y) for trace in drawn.data), default=1)
    most = max((value for trace in drawn.data for value in trace.x if value is not None), default=1)
    by_rows(drawn, automargin=True)
    drawn.update_xaxes(title_text="memory, GiB", range=[0, most * 1.25])
    return laid_out(drawn, 120 + 84 * max(1, rows), BELOW, margin={"r": 12}, barmode="group", bargap=0.3)


def has_memory(service: ServiceDrift) -> bool:
    """Whether any environment states or uses memory."""
    return any(value is not None for aspect, *_ in _STYLE for value in _values(service, aspect)[1])


def _values(service: ServiceDrift, aspect: Aspect) -> tuple[list[str], list[int | None]]:
    labels: list[str] = []
    values: list[int | None] = []
    for row in service.rows:
        if row.aspect is not aspect:
            continue
        for environment, cell in zip(service.environments, row.cells, strict=True):
            labels.append(f"{environment} ({row.container})" if row.container else environment)
            values.append(cell.amount if cell else None)
    return labels, values


def alt(service: ServiceDrift) -> str:
    """The bars in words."""
    said = []
    for aspect, name, *_ in _STYLE:
        labels, values = _values(service, aspect)
        known = [f"{label} {measured_bytes(v)}" for label, v in zip(labels, values, strict=True) if v is not None]
        if known:
            said.append(f"{name}: {', '.join(known)}")
    return f"Memory of {service.service} in {count(len(service.environments), 'environment')}. {'; '.join(said)}."
