"""Worlds of spot nodes made by processes of our own, watched for two months and asked about the third.

Some are what the estimate assumes (renewal), most are not: heavy tails, losses by day, calm and busy days, zones lost whole.
`measured` tells how often the P5 to P95 band held what happened; ``make docs`` writes it into docs/spot.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from planner.inventory.spot_node_lifetimes import NodeSeen, Watch
from planner.spot.assumptions import Assumptions, Fallback, Work
from planner.spot.fitted_node_lifetimes import fit, gaps_of_spells, spells_of
from planner.spot.monte_carlo import simulate

MONTH: Final = 730.0
NODES: Final = 6
ZONES: Final = 2
LOOK: Final = 1 / 12  # hours
LIFE, GAP = 40.0, 2.0
BULK: Final = 6.0  # losses of a whole zone a month
Floats = np.ndarray
Up = list[tuple[float, float]]
"""From and to, hours: a place has a node."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """`draw` gives each place's times with a node over so many hours; `told` is the truth, where an assumption can say it."""

    name: str
    draw: Callable[[np.random.Generator, float], list[Up]]
    told: dict[str, Any] | None = None


def _renewal(life: Callable[[np.random.Generator], float], gap: Callable[[np.random.Generator], float]) -> Callable[[np.random.Generator, float], list[Up]]:  # fmt: skip
    def draw(rng: np.random.Generator, hours: float) -> list[Up]:
        return [list(_spells(lambda _: life(rng), lambda: gap(rng), hours)) for _ in range(NODES)]

    return draw


def _spells(life: Callable[[float], float], gap: Callable[[], float], hours: float) -> Iterator[tuple[float, float]]:
    now = -20 * LIFE  # so that it has run for long when the time begins
    while now < hours:
        end = now + life(now)
        if end > 0:
            yield max(now, 0.0) if now > 0 else now, min(end, hours + 1.0)
        now = end + gap()


def _by_rate(rate: Callable[[float], float], most: float) -> Callable[[np.random.Generator, float], list[Up]]:
    """Losses at a rate that changes with time: thinned from the highest."""

    def draw(rng: np.random.Generator, hours: float) -> list[Up]:
        def life(now: float) -> float:
            at = now
            while True:
                at += rng.exponential(1 / most)
                if rng.random() < rate(at) / most:
                    return at - now

        return [list(_spells(life, lambda: rng.exponential(GAP), hours)) for _ in range(NODES)]

    return draw


def _calm_and_busy(rng: np.random.Generator, hours: float) -> list[Up]:
    """Every day is calm or, one in four, busy for all nodes alike: fifteen times the losses."""
    busy = {day: rng.random() < 0.25 for day in range(-60, int(hours / 24) + 60)}
    return _by_rate(lambda at: (15 if busy.get(int(at // 24), False) else 1) / (4.5 * LIFE), 15 / (4.5 * LIFE))(
        rng, hours
    )


def _zones_lost(rng: np.random.Generator, hours: float) -> list[Up]:
    """All nodes of a zone are lost at once and come back at once, beside a few losses one by one."""
    found: list[Up] = [[] for _ in range(NODES)]
    for zone in range(ZONES):
        now, out = -5 * MONTH / BULK, []
        while now < hours:
            now += rng.exponential(MONTH / BULK)
            out.append((now, now + rng.exponential(GAP)))
        for place in range(zone, NODES, ZONES):
            at = -5 * MONTH / BULK
            while at < hours:
                begin = next((b for b, _ in out if b > at), hours + 1.0)
                own = at + rng.exponential(4 * LIFE)
                end = min(own, begin)
                if end > 0:
                    found[place].append((at, min(end, hours + 1.0)))
                at = own + rng.exponential(GAP) if own < begin else begin
                at = max([at, *(e for b, e in out if b <= at < e)])
                while any(b <= at < e for b, e in out):
                    at = max(e for b, e in out if b <= at < e)
    return found


def _rates(life: float) -> dict[str, Any]:
    return dict.fromkeys(("hazard_low_per_hour", "hazard_likely_per_hour", "hazard_high_per_hour"), 1 / life)


PROCESSES: Final = (
    Process(
        name="renewal, exponential",
        draw=_renewal(lambda rng: rng.exponential(LIFE), lambda rng: rng.exponential(GAP)),
        told=_rates(LIFE) | {"zone_losses_per_month": 0.0, "stock_out_hours": GAP},
    ),
    Process(
        name="heavy tails (log-normal σ 1.8, Weibull 0.5)",
        draw=_renewal(lambda rng: rng.lognormal(np.log(LIFE) - 1.62, 1.8), lambda rng: GAP / 2 * rng.weibull(0.5)),
    ),
    Process(
        name="by day six times as often",
        draw=_by_rate(lambda at: (6 if 8 <= at % 24 < 20 else 1) / (3.5 * LIFE), 6 / (3.5 * LIFE)),
        told=_rates(LIFE) | {"zone_losses_per_month": 0.0, "stock_out_hours": GAP},
    ),
    Process(name="calm and busy days", draw=_calm_and_busy),
    Process(
        name="whole zones lost",
        draw=_zones_lost,
        told=_rates(4 * LIFE) | {"zone_losses_per_month": BULK, "stock_out_hours": GAP},
    ),
)


def watched(ups: list[Up], hours: float) -> Watch:
    """What looks every five minutes see of the places until then."""
    nodes = []
    for place, spells in enumerate(ups):
        for number, (begin, end) in enumerate(spells):
            first, last = np.ceil(max(begin, 0.0) / LOOK), np.ceil(min(end, hours) / LOOK) - 1
            if begin < hours and last >= first:
                nodes.append(
                    NodeSeen(
                        cluster="c", node=f"p{place}-{number}", node_pool="spot", machine_type="m",
                        zone=f"z{place % ZONES}", created_at=begin * 3_600.0, first_at=float(first * LOOK) * 3_600.0,
                        last_at=float(last * LOOK) * 3_600.0,
                    )
                )  # fmt: skip
    looks = tuple(float(i) * LOOK * 3_600.0 for i in range(int(hours / LOOK)))
    return Watch(source="a world", looks=(("c", looks),), nodes=tuple(nodes))


def happened(ups: list[Up], begin: float, end: float) -> tuple[int, float]:
    """Losses, and hours of places without a node, between two moments."""
    losses = sum(begin <= gone < end for spells in ups for _, gone in spells)
    up = sum(max(0.0, min(gone, end) - max(came, begin)) for spells in ups for came, gone in spells)
    return losses, NODES * (end - begin) - up


def bands(assumed: dict[str, Any], runs: int = 600) -> tuple[tuple[float, float], tuple[float, float]]:
    """P5 and P95 of losses and of hours without a node, a month."""
    (a, b), (c, d) = (np.percentile(one, (5, 95)) for one in _drawn(assumed, runs))
    return (float(a), float(b)), (float(c), float(d))


def means(assumed: dict[str, Any], runs: int = 600) -> tuple[float, float]:
    """Losses and hours without a node, expected a month."""
    losses, hours = (float(one.mean()) for one in _drawn(assumed, runs))
    return losses, hours


def _drawn(assumed: dict[str, Any], runs: int) -> tuple[Floats, Floats]:
    """Losses and hours without a node of each simulated month."""
    case = Assumptions(
        nodes=NODES, zones=ZONES, on_demand_usd_per_hour=1.0, spot_usd_per_hour=0.4, node_start_seconds=0.0,
        pod_start_seconds=0.0, request_seconds=0.0, work=Work.SERVING, fallback=Fallback.ON_DEMAND, runs=runs, **assumed,
    )  # fmt: skip
    months = simulate(case)
    return months.interruptions.sum(axis=1) * months.group, months.on_demand_hours.sum(axis=1) * months.group


def told(process: Process, worlds: int, seed: int = 0) -> tuple[float, float]:
    """How often the band held, where the truth is told: losses, hours without a node."""
    assert process.told is not None
    rng, held = np.random.default_rng(seed), np.zeros(2)
    (few, many), (low, high) = bands(process.told, 4_000)
    for _ in range(worlds):
        losses, hours = happened(process.draw(rng, MONTH), 0.0, MONTH)
        held += (few <= losses <= many, low <= hours <= high)
    return float(held[0] / worlds), float(held[1] / worlds)


def learnt(process: Process, worlds: int, seed: int = 0) -> tuple[float, float]:
    """The same, where two months were watched."""
    rng, held = np.random.default_rng(seed), np.zeros(2)
    for _ in range(worlds):
        ups = process.draw(rng, 3 * MONTH)
        seen = watched(ups, 2 * MONTH)
        spells = tuple(spells_of(seen))
        (few, many), (low, high) = bands(fit(spells, tuple(gaps_of_spells(seen, spells))).assumed)
        losses, hours = happened(ups, 2 * MONTH, 3 * MONTH)
        held += (few <= losses <= many, low <= hours <= high)
    return float(held[0] / worlds), float(held[1] / worlds)


def table(told_worlds: int = 400, learnt_worlds: int = 300) -> str:
    """As docs/spot.md has it."""
    lines = ["| process | told: losses, hours | learnt: losses, hours |", "| --- | --- | --- |"]
    for one in PROCESSES:
        known = "–" if one.told is None else "{:.0%}, {:.0%}".format(*told(one, told_worlds))
        lines.append(f"| {one.name} | {known} | {'{:.0%}, {:.0%}'.format(*learnt(one, learnt_worlds))} |")
    return "\n".join(lines)


def with_table(document: str) -> str:
    """docs/spot.md with the table put in."""
    pattern = r"(?<=<!-- back-test -->\n).*?(?=\n<!-- end of back-test -->)"
    return re.sub(pattern, lambda _: table(), document, flags=re.DOTALL)
