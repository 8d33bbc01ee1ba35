"""The chart of an answer as stacked bars, one a row, for the pages, the report and Python callers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planner.capacity.fragmentation import SizeFragments, StrandedReason
from planner.capacity.free_resources_by_pool import of
from planner.capacity.gpu_holders import NodeSeats
from planner.figures import palette
from planner.figures.text_labels import plain, ticks
from planner.ground.records import Record, replace
from planner.ground.well_known_names import NVIDIA_GPU
from planner.ground.words import count, duration, measured_bytes, usd
from planner.kubernetes.node_properties import NO_POOL
from planner.rollout.answers import PodState

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST_ROWS: Final = 40  # that a person reads; the tables have all
_GIB: Final = 2**30
_ROW_PIXELS: Final = 28
_FEW: Final = 10  # of fewer every number has its tick: Plotly would put one at 0.5 and write it as 1 or 0
_STATES: Final = {  # color, whether it is hatched, name
    PodState.OLD_READY: (palette.BLUE, False, "old, Ready"),
    PodState.OLD_NOT_READY: (palette.PURPLE, True, "old, not Ready"),
    PodState.NEW_READY: (palette.GREEN, False, "new, Ready"),
    PodState.NEW_STARTING: (palette.SKY, True, "new, starting"),
    PodState.PENDING: (palette.ORANGE, True, "pending"),
    PodState.TERMINATING: (palette.GREY, True, "terminating"),
}
_STRANDED: Final = (
    palette.ORANGE,
    palette.VERMILION,
    palette.PURPLE,
    palette.SKY,
    palette.YELLOW,
    palette.BLUE,
    palette.GREY,
)


class BarPart(NamedTuple):
    """One part of every bar; a length is None or 0 where a row has nothing of it."""

    name: str
    colour: str
    lengths: Sequence[float | None]
    is_hatched: bool = False


class Chart(Record):
    """`table`: beside which of the question's tables it stands; `unit`: of the lengths; `said`: one of them in words; `more`: rows that
    aren't drawn."""

    table: str
    title: str
    rows: tuple[str, ...]
    parts: tuple[BarPart, ...]
    unit: str = "GPUs"
    said: Callable[[float], str] = "{:,.0f}".format
    more: int = 0

    @property
    def alt(self) -> str:
        """The bars in words."""
        rows = "; ".join(f"{row}: {', '.join(self.words(place)) or 'none'}" for place, row in enumerate(self.rows))
        more = f" {count(self.more, 'more row')} in the table only." if self.more else ""
        return f"{self.title}. {rows}.{more}"

    def words(self, place: int) -> list[str]:
        """What the bar in that place consists of: ``8 held``."""
        return [f"{self.said(length)} {part.name}" for part in self.parts if (length := part.lengths[place])]

    def figure(self) -> go.Figure:
        """As Plotly draws it; names as they come, never markup."""
        import plotly.graph_objects as go

        rows = [plain(row) for row in self.rows]
        traces = [
            {
                "type": "bar", "orientation": "h", "name": part.name, "y": rows, "x": [length or 0 for length in part.lengths],
                "text": [f"{self.said(length)} {part.name}" if length else "" for length in part.lengths],
                "textposition": "inside", "textangle": 0, "insidetextanchor": "middle",
                "textfont": {"color": "#FFFFFF" if part.colour == palette.BLUE else palette.INK},
                "marker": {"color": part.colour, "pattern": {
                    "shape": "/" if part.is_hatched else "", "fillmode": "overlay", "fgcolor": palette.INK, "fgopacity": 0.45, "solidity": 0.2,
                }},
                "hovertemplate": "%{y}: %{text}<extra></extra>",
            }
            for part in self.parts
        ]  # fmt: skip
        ends = [
            sum(length or 0 for length in lengths)
            for lengths in zip(*(part.lengths for part in self.parts), strict=True)
        ]
        layout = {
            "height": 92 + _ROW_PIXELS * max(1, len(rows)), "margin": {"t": 8, "r": 8, "b": 8, "l": 8}, "barmode": "stack",
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"}, "uniformtext": {"mode": "hide", "minsize": 10},  # words that have no room aren't there
            "xaxis": {"title": {"text": self.unit}, "tickformat": ",d", "dtick": 1 if max(ends) < _FEW else None},
            "yaxis": {"autorange": "reversed", "type": "category", **ticks(self.rows)},
        }  # fmt: skip
        return go.Figure({"data": traces, "layout": layout})


def charts(question: str, answer: Any) -> Iterator[Chart]:
    """The charts of that question's answer; none where there is nothing to draw."""
    for chart in _DRAWN[question](answer) if question in _DRAWN else ():
        parts = tuple(part for part in chart.parts if any(part.lengths))
        if chart.rows and parts:
            yield replace(
                chart,
                rows=chart.rows[:_MOST_ROWS],
                parts=tuple(part._replace(lengths=part.lengths[:_MOST_ROWS]) for part in parts),
                more=max(0, len(chart.rows) - _MOST_ROWS),
            )


def _overview(answer: Any) -> Iterator[Chart]:
    """What pods wait for is drawn beyond the bar's end. Without pods a bar is what there is in all."""
    lines = answer.gpus
    parts = (
        BarPart("held", palette.BLUE, [line.requested for line in lines]),
        BarPart("free", palette.GREY, [line.free for line in lines]),
        BarPart("out of use", palette.GREY, [line.out_of_use for line in lines], is_hatched=True),
        BarPart("wanted", palette.ORANGE, [line.pending for line in lines], is_hatched=True),
        BarPart("in all", palette.GREY, [line.allocatable if line.free is None else 0 for line in lines]),
    )
    yield Chart(table="gpus", title="GPUs by model", rows=tuple(line.name for line in lines), parts=parts)


def _capacity(answer: Any) -> Iterator[Chart]:
    resource = answer.resource or NVIDIA_GPU
    growth = {line.pool.name: (line.room or 0) * line.pool.amounts.get(resource, 0) for line in answer.pools}
    having = [line for line in answer.pools if line.allocatable.get(resource) or growth[line.pool.name]]
    lines = sorted(
        having, key=lambda line: (-line.allocatable.get(resource, 0) - growth[line.pool.name], line.pool.name)
    )
    nouns = dict.fromkeys(offer.noun for line in lines for offer in line.offers if offer.resource == resource)
    parts = (
        BarPart("requested", palette.BLUE, [of(line.requested, resource) for line in lines]),
        BarPart("free", palette.GREY, [of(line.free, resource) for line in lines]),
        BarPart("out of use", palette.GREY, [of(line.out_of_use, resource) for line in lines], is_hatched=True),
        # Where no pods were listed nothing says what of it is free: one bar for all of it, and none of the three
        # above.
        BarPart("in all", palette.GREY, [line.allocatable.get(resource) if line.free is None else 0 for line in lines]),
        BarPart("room to grow", palette.GREEN, [growth[line.pool.name] for line in lines], is_hatched=True),
    )
    names, unit = tuple(line.pool.name for line in lines), " or ".join(nouns) or "GPUs"
    yield Chart(table="pools", title=f"{unit} by node pool", rows=names, parts=parts, unit=unit)
    if answer.fragments and len(answer.fragments.sizes) > 1:
        yield _stranded(answer.fragments.sizes, answer.fragments.noun)


def _stranded(sizes: Sequence[SizeFragments], noun: str) -> Chart:
    """Free GPUs by what keeps pods of each size from using them."""
    reasons = {
        reason: [{r: gpus for r, gpus, _ in size.by_reason}.get(reason, 0) for size in sizes]
        for reason in StrandedReason
    }
    parts = (
        BarPart("usable", palette.GREEN, [size.free - size.stranded for size in sizes]),
        *(
            BarPart(str(reason), colour, lengths, is_hatched=True)
            for (reason, lengths), colour in zip(reasons.items(), _STRANDED, strict=True)
        ),
    )
    names = tuple("any pod" if size.gpus == 0 else f"pods of {size.gpus}" for size in sizes)
    return Chart(
        table="stranded", title=f"Free {noun} by what they serve", rows=names, parts=parts, unit=f"free {noun}"
    )


def _costs(answer: Any) -> Iterator[Chart]:
    """The dearest first; what isn't requested has no owner."""
    pools = sorted((pool for pool in answer.pools if pool.usd_per_month), key=lambda pool: -pool.usd_per_month)
    idle = [pool.idle.total if pool.idle else 0.0 for pool in pools]
    requested = [pool.cost.total - unused if pool.idle else 0.0 for pool, unused in zip(pools, idle, strict=True)]
    parts = (
        BarPart("requested", palette.BLUE, requested),
        BarPart("idle", palette.GREY, idle, is_hatched=True),
        BarPart("owner not known", palette.GREY, [0.0 if pool.idle else pool.cost.total for pool in pools]),
    )
    names = tuple(f"{pool.node_pool or 'no pool'}, {pool.provisioning}" for pool in pools)
    title = "Cost a month, by pool and way of buying"
    yield Chart(table="pools", title=title, rows=names, parts=parts, unit="USD a month", said=usd)


def _memory(answer: Any) -> Iterator[Chart]:
    """How much more the pods of each node may use until it evicts, the nearest to that first; use that isn't known is not drawn."""
    nodes = answer.cluster.nodes
    left = [0 if node.until_hard_bytes is None or node.known_share is None else node.until_hard_bytes for node in nodes]
    used = [(node.working_set_bytes + min(0, free)) / _GIB for node, free in zip(nodes, left, strict=True)]
    parts = (
        BarPart("used", palette.BLUE, used),
        BarPart("past hard eviction", palette.VERMILION, [max(0, -free) / _GIB for free in left], is_hatched=True),
        BarPart("until hard eviction", palette.GREY, [max(0, free) / _GIB for free in left]),
    )
    yield Chart(
        table="nodes", title="Memory that pods use", rows=tuple(node.name for node in nodes), parts=parts, unit="GiB",
        said=lambda gib: measured_bytes(round(gib * _GIB)),
    )  # fmt: skip


def _rollout(answer: Any) -> Iterator[Chart]:
    """The pods of the first workload by state, a bar a step."""
    for workload in answer.workloads[:1]:
        steps = workload.timeline
        names = tuple(
            f"{place}. {'before' if step.tick < 0 else duration(step.seconds)}" for place, step in enumerate(steps)
        )
        parts = tuple(
            BarPart(name, colour, [step.counts.get(state.value, 0) for step in steps], is_hatched)
            for state, (colour, is_hatched, name) in _STATES.items()
        )
        yield Chart(
            table="timeline", title=f"Pods of {workload.workload} by state", rows=names, parts=parts, unit="pods"
        )


def _seats(answer: Any) -> Iterator[Chart]:
    """Seats summed by pool and zone."""
    by_place: dict[tuple[str, str, str], list[NodeSeats]] = defaultdict(list)
    for node in answer.nodes:
        by_place[node.node_pool or NO_POOL, node.zone or "no zone", node.offer.noun(0)].append(node)
    places = sorted(by_place.items())
    free = [sum(node.gpus_free for node in nodes) for _, nodes in places]
    shut = [sum(node.gpus_out_of_use for node in nodes) for _, nodes in places]
    gpus = [sum(node.gpus for node in nodes) for _, nodes in places]
    parts = (
        BarPart("held", palette.BLUE, [total - idle - out for total, idle, out in zip(gpus, free, shut, strict=True)]),
        BarPart("free", palette.GREY, free),
        BarPart("out of use", palette.GREY, shut, is_hatched=True),
    )
    names = tuple(f"{pool} · {zone} ({count(len(nodes), 'node')}), {noun}" for (pool, zone, noun), nodes in places)
    unit = ", ".join(sorted({noun for (_, _, noun), _ in places}))
    yield Chart(table="nodes", title="Seats by pool and zone", rows=names, parts=parts, unit=unit)


_DRAWN: Final[Mapping[str, Callable[[Any], Iterator[Chart]]]] = {
    "overview": _overview,
    "capacity": _capacity,
    "costs": _costs,
    "memory": _memory,
    "rollout": _rollout,
    "seats": _seats,
}
