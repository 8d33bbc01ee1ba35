"""Every maxSurge × maxUnavailable with its verdict: cells that can be clicked."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from planner.capacity.strategy_prices import StrategyCosts, StrategyPrice
from planner.figures import palette
from planner.figures.drawing import drawn, laid_out
from planner.ground.words import count, duration, usd
from planner.rollout.answers import GridCell, StrategyGrid, Verdict
from planner.rollout.choice import Choice
from planner.rollout.wording import GLYPH

_CODES = (Verdict.COMPLETES, Verdict.STUCK, Verdict.NEEDS_GROWTH, Verdict.UNKNOWN, Verdict.EVICTIONS_BY_QUEUE)
_TIME_BELOW = 11  # columns up to which a cell has room for the time under the number
_WORDS_BELOW = 14  # columns up to which a cell has room for its number beside the glyph
_GLYPH_BELOW = 30
_FRAME = {"color": palette.LINE, "width": 4}


@drawn
def figure(grid: StrategyGrid, costs: StrategyCosts | None = None, choice: Choice | None = None) -> go.Figure:
    """Rows maxSurge, columns maxUnavailable; in each cell the glyph, the lowest Ready and the minutes. Today's strategy is
    outlined, what nothing beats has a ◆, what is recommended a ★.

    With `costs`, a cell's hover says what its spare GPUs cost.

    A Plotly heatmap's cells can't be selected in Streamlit, so a transparent square lies on each; its ``customdata`` is
    ``[maxSurge, maxUnavailable]``.
    """
    options = choice.options if choice else ()
    marks = {one.pair: "★" if one.is_recommended else "◆" for one in options if one.is_recommended or one.is_best}
    surges, unavailables = [str(value) for value in grid.surges], [str(value) for value in grid.unavailables]
    drawn = go.Figure(
        go.Heatmap(
            x=unavailables,
            y=surges,
            z=[[_CODES.index(cell.verdict) if cell.is_valid else len(_CODES) for cell in row] for row in grid.cells],
            zmin=-0.5,
            zmax=len(_CODES) + 0.5,
            colorscale=palette.steps([*(palette.VERDICT[verdict] for verdict in _CODES), palette.FREE]),
            showscale=False,
            xgap=2,
            ygap=2,
            text=[[_text(cell, len(unavailables), marks) for cell in row] for row in grid.cells],
            texttemplate="%{text}",
            textfont={"color": palette.INK, "size": 12},
            hoverinfo="skip",
        )
    )
    cells = [cell for row in grid.cells for cell in row if cell.is_valid]
    prices = (
        {(one.max_surge, one.max_unavailable): one for one in costs.strategies if not one.is_recreate} if costs else {}
    )
    drawn.add_trace(_squares(cells, prices, size=max(8, min(34, 330 // max(1, len(surges))))))
    for row, line in enumerate(grid.cells):
        for column, cell in enumerate(line):
            if cell.is_current and cell.is_valid:
                drawn.add_shape(type="rect", x0=column - 0.5, x1=column + 0.5, y0=row - 0.5, y1=row + 0.5, line=_FRAME)
    drawn.update_xaxes(type="category", title_text="maxUnavailable", showgrid=False)
    drawn.update_yaxes(type="category", title_text="maxSurge", showgrid=False)
    return laid_out(drawn, max(260, min(620, 90 + 46 * len(surges))), dragmode=False)


def _text(cell: GridCell, columns: int, marks: Mapping[tuple[int, int], str]) -> str:
    """``✓ 5 ◆`` over ``15m``; without the time, then without the number, where there is less room."""
    if not cell.is_valid:
        return "–"
    if columns > _GLYPH_BELOW:
        return ""
    glyph = GLYPH[cell.verdict]
    mark = marks.get((cell.max_surge, cell.max_unavailable), "")
    if cell.verdict is not Verdict.COMPLETES or columns > _WORDS_BELOW:
        return mark or glyph
    said = f"{glyph} {cell.lowest_ready}{f' {mark}' if mark else ''}"
    return f"{said}<br>{_minutes(cell.seconds)}" if columns <= _TIME_BELOW else said


def _minutes(seconds: float) -> str:
    """``15m``, ``3.9m``: two digits are enough to choose by."""
    minutes = seconds / 60
    return f"{minutes:.0f}m" if minutes >= 10 else f"{minutes:.1f}m"


def _squares(cells: list[GridCell], prices: dict[tuple[int, int], StrategyPrice], size: int) -> go.Scatter:
    return go.Scatter(
        x=[str(cell.max_unavailable) for cell in cells],
        y=[str(cell.max_surge) for cell in cells],
        mode="markers",
        marker={"symbol": "square", "size": size, "color": palette.CLEAR},
        customdata=[[cell.max_surge, cell.max_unavailable] for cell in cells],
        text=[words(cell, prices.get((cell.max_surge, cell.max_unavailable))) for cell in cells],
        hovertemplate="%{text}<extra></extra>",
        unselected={"marker": {"opacity": 0}},
    )


def words(cell: GridCell, price: StrategyPrice | None = None) -> str:
    """A cell in words, for the hover and for readers of the table."""
    said = (
        f"maxSurge {cell.max_surge}, maxUnavailable {cell.max_unavailable}: {cell.verdict.value.replace('_', ' ')}<br>"
        f"peak {count(cell.peak_gpus, 'GPU')} in {count(cell.peak_pods, 'pod')}, lowest Ready {cell.lowest_ready}, "
        f"about {duration(cell.seconds)}, {count(cell.evictions, 'eviction')} of others"
    )
    return f"{said}<br>{_price(price)}" if price and price.cost else said


def _price(price: StrategyPrice) -> str:
    """``with 1 spare GPU: $626 a month kept on demand, $260 on spot, $10.44 as nodes added``."""
    cost = price.cost
    assert cost is not None
    if not cost.billed_gpus:
        return "no spare GPU"
    spare = f"with {count(cost.billed_gpus, 'spare GPU')}"
    if cost.kept_on_demand_usd is None or cost.added_usd is None:
        return f"{spare}: no price"
    spot = "no price" if cost.kept_on_spot_usd is None else usd(cost.kept_on_spot_usd)
    return f"{spare}: {usd(cost.kept_on_demand_usd)} a month kept on demand, {spot} on spot, {usd(cost.added_usd)} as nodes added"


def alt(grid: StrategyGrid, costs: StrategyCosts | None = None) -> str:
    """The grid's takeaway in words."""
    cells = [cell for row in grid.cells for cell in row if cell.is_valid]
    done = sum(cell.verdict is Verdict.COMPLETES for cell in cells)
    said = f"{done:,} of {len(cells):,} pairs of maxSurge and maxUnavailable complete. {grid.sentence}"
    return f"{said} {costs.sentence}" if costs and costs.sentence else said
