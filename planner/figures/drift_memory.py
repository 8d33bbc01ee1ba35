"""One service's memory in each of its environments."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.drift.model import Aspect, ServiceDrift
from planner.figures import palette
from planner.figures.drawing import drawn
from planner.figures.labels import plain
from planner.ground.words import count, measured_bytes

_GIB = 2**30
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
        said = ["" if value is None else measured_bytes(value) for value in values]
        drawn.add_trace(
            go.Bar(
                y=[plain(label) for label in labels],
                x=[None if value is None else value / _GIB for value in values],
                name=name,
                orientation="h",
                marker={
                    "color": colour,
                    "pattern": {"shape": pattern, "fgcolor": palette.INK, "fgopacity": 0.3, "fillmode": "overlay"},
                },
                text=said,
                textposition="outside",
                cliponaxis=False,
                customdata=said,
                hovertemplate=f"%{{y}}: {name} %{{customdata}}<extra></extra>",
            )
        )
    rows = max((len(trace.y) for trace in drawn.data), default=1)
    most = max((value for trace in drawn.data for value in trace.x if value is not None), default=1)
    drawn.update_yaxes(autorange="reversed", type="category", automargin=True)
    drawn.update_xaxes(title_text="memory, GiB", range=[0, most * 1.25])
    drawn.update_layout(
        barmode="group",
        height=120 + 84 * max(1, rows),
        margin={"t": 8, "r": 12, "b": 8, "l": 8},
        legend={"orientation": "h", "y": -0.02, "yref": "container", "yanchor": "bottom", "x": 0},
        bargap=0.3,
    )
    return drawn


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
