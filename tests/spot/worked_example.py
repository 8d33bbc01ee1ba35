"""The worked example of docs/spot.md: every number by hand, from the assumptions the page shows.

Nothing here calls the simulation: these are the sums a reader can do on paper. `worked_example` writes them as the
document has them, `assumption_table` the table of assumptions; ``make docs`` puts both there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import exp, sqrt

from planner.spot.assumptions import SETTINGS, Assumptions
from planner.spot.economics import Savings


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """USD and hours a month of the whole pool."""

    on_demand: float
    discount: float
    rate: float  # losses per VM-hour
    life: float  # hours
    interruptions: float
    restart_hours: float
    lost_hours: float
    restarts_usd: float
    lost_usd: float
    up: float  # share of time
    fallback_usd: float
    moves: float  # mean move of the spot price
    moves_usd: float
    net: float
    shortfall_minutes: float
    checkpoint_minutes: float

    @property
    def saved(self) -> float:
        return self.on_demand - self.net


GAP = 1.36


def by_hand(a: Assumptions) -> ByHand:
    node_hours = a.nodes * a.hours_per_month
    mean_rate = (a.hazard_low_per_hour + a.hazard_likely_per_hour + a.hazard_high_per_hour) / 3
    rate = mean_rate + a.zone_losses_per_month / 730
    life = 1 / rate
    restart, job = (a.node_start_seconds + a.pod_start_seconds) / 3600, a.job_minutes / 60
    interruptions = node_hours / (life + GAP)
    lost_hours, restart_hours = interruptions * job / 2, interruptions * restart
    stand_in = GAP * (a.fallback_usd_per_hour - a.spot_usd_per_hour)
    fallback = interruptions * (stand_in + restart * a.fallback_usd_per_hour)
    on_demand = node_hours * a.on_demand_usd_per_hour
    discount = node_hours * (a.on_demand_usd_per_hour - a.spot_usd_per_hour)
    lost_usd, restarts_usd = lost_hours * a.spot_usd_per_hour, restart_hours * a.spot_usd_per_hour
    moves = sum(a.price_moves) / len(a.price_moves)
    moves_usd = moves * a.spot_usd_per_hour * (node_hours + lost_hours + restart_hours - interruptions * GAP)
    likely = a.hazard_likely_per_hour + a.zone_losses_per_month / 730
    return ByHand(
        on_demand=on_demand,
        discount=discount,
        rate=rate,
        life=life,
        interruptions=interruptions,
        restart_hours=restart_hours,
        lost_hours=lost_hours,
        restarts_usd=restarts_usd,
        lost_usd=lost_usd,
        up=life / (life + GAP),
        fallback_usd=fallback,
        moves=moves,
        moves_usd=moves_usd,
        net=on_demand - discount + lost_usd + restarts_usd + fallback + moves_usd,
        shortfall_minutes=a.zones * a.zone_losses_per_month * restart * 60,
        checkpoint_minutes=sqrt(2 * a.checkpoint_seconds / 3600 / likely) * 60,
    )


def saved_at(a: Assumptions, hazard: float) -> float:
    """The saving at one interruption rate h: exact for lives that end by chance alone, but for the quarters' mean.

    A node's life leaves T e^(−lR) / (e^(lT) − 1) hours of finished jobs (l = h + bulk losses), the stand-in its gap.
    """
    rate = hazard + a.zone_losses_per_month / 730
    restart, job = (a.node_start_seconds + a.pod_start_seconds) / 3600, a.job_minutes / 60
    per_life = job * exp(-rate * restart) / (exp(rate * job) - 1) + GAP
    lives = a.hours_per_month / per_life
    spot = a.spot_usd_per_hour * (1 + sum(a.price_moves) / len(a.price_moves))
    stand_in = a.fallback_usd_per_hour * in_quarters(lives * (GAP + restart))
    return a.nodes * (a.hours_per_month * a.on_demand_usd_per_hour - lives * spot / rate - stand_in)


def in_quarters(hours: float) -> float:
    """N1's sustained use: 100, 80, 60 and 40% of the price in the quarters of a month."""
    return sum(share * min(max(0.0, hours - i * 182.5), 182.5) for i, share in enumerate((1.0, 0.8, 0.6, 0.4)))


def worked_example(a: Assumptions, found: Savings) -> str:
    """The sums, as the document has them."""
    hand, even = by_hand(a), found.break_even.hazard_per_hour or 0.0
    demand, spot, full = a.on_demand_usd_per_hour, a.spot_usd_per_hour, a.fallback_usd_per_hour
    each = f"{hand.interruptions:.1f}"
    return f"""
1. On demand. List price ${full:.6f} an hour, 30% off for running all month: 6 × 730 h × ${demand:.5f} = **${hand.on_demand:,.2f}** a month.
2. Spot discount: 6 × 730 h × (${demand:.5f} − ${spot:.5f}) = **−${hand.discount:,.2f}**.
3. How often a node is lost. The mean of the three rates, and one loss of its zone a month:
   (0.0021 + 0.0044 + 0.0167) / 3 + 1 / 730 = **{hand.rate:.5f} per VM-hour**, a life of {hand.life:.1f} h. A loss begins a gap of
   {GAP} h: up {hand.life:.1f} / ({hand.life:.1f} + {GAP}) = **{hand.up:.1%}** of the time.
4. Interruptions: 6 × 730 h / ({hand.life:.1f} h + {GAP} h) = **{each} a month**.
5. Lost work, half a job each time: {each} × 2.5 min = {hand.lost_hours:.2f} h × ${spot:.5f} = **${hand.lost_usd:.2f}**.
6. Restarts, 300 s for the node and 101 s for the pod: {each} × 401 s = {hand.restart_hours:.2f} h × ${spot:.5f} = **${hand.restarts_usd:.2f}**.
7. Fallback. Each gap buys its hours on demand (at list price: they are few) in place of spot, and one start:
   {each} × ({GAP} h × (${full:.6f} − ${spot:.5f}) + 401 s × ${full:.6f}) = **${hand.fallback_usd:.2f}**.
8. Price moves. The price is {a.move_days - 30} days old when the month begins: over {a.move_days} days Spot moved by {hand.moves:+.1%} in the mean of
   the last year of the price log: {hand.moves:.2%} of what spot costs = **${hand.moves_usd:.2f}**.
9. Net: ${hand.on_demand:,.2f} − ${hand.discount:,.2f} + ${hand.lost_usd:.2f} + ${hand.restarts_usd:.2f} + ${hand.fallback_usd:.2f} + ${hand.moves_usd:.2f} = **${hand.net:,.2f}** (rounded at the end).
   Saved: **${hand.saved:,.2f}**, {hand.saved / hand.on_demand:.0%} of the on-demand cost.

The simulated months agree in the mean; their band, ${found.saved_usd.p5:,.0f} to ${found.saved_usd.p95:,.0f}, is wide because of the price's age, not of the
losses. More of the page, by hand:

- A useful GPU-hour: ${hand.net:,.2f} / (6 × 730) = **${hand.net / 4380:.4f}**, on demand ${demand:.4f}.
- Late: a five-minute job that is hit needs at least its restart of 401 s, which is more than twice its length in
  all: as good as every interruption makes one job late, **{hand.interruptions:.0f} of 52,560 jobs**.
- Fewer than five nodes ready. One node alone never does it; a bulk loss takes three at once, for a restart:
  2 zones × 1 × 401 s = **{hand.shortfall_minutes:.1f} min** a month.
- Break-even. A life of mean length 1/l leaves T e^(−lR) / (e^(lT) − 1) hours of finished five-minute jobs, and the
  stand-in its gap; the saving is 0 at **{even:.2f} losses per VM-hour**, a node lost every {60 / even:.0f} minutes.
- Checkpoints of 10 s lose least (Young) after √(2 × 10 s × M) of work with M = 1 / (0.0044 + 1/730) = 173.3 h,
  = **{hand.checkpoint_minutes:.0f} min**: five-minute jobs need none.

What decides is step 1. Against the list price spot is {1 - spot / full:.0%} cheaper; against what six N1 nodes really cost for a whole
month it is {1 - spot / demand:.0%}.

For part of a month the discount is smaller: 200 h on demand cost 6 × (182.5 + 0.8 × 17.5) h × ${full:.6f} =
**${6 * full * in_quarters(200):,.0f}**, 400 h **${6 * full * in_quarters(400):,.0f}**.
""".strip()


def assumption_table() -> str:
    """Every assumption with its default and its source."""
    lines = ["| assumption | default | source |", "| --- | --- | --- |"]
    for setting in SETTINGS:
        default = "none" if setting.assumed is None else f"{setting.assumed:g} {setting.unit}".strip()
        if setting.assumed is None and not setting.optional:
            default = "from the cluster or the price book"
        lines.append(f"| {setting.label} | {default} | {setting.source} |")
    return "\n".join(lines)


def with_parts(document: str, a: Assumptions, found: Savings) -> str:
    """docs/spot.md with both put in."""
    for name, text in (("worked example", worked_example(a, found)), ("assumptions", assumption_table())):
        pattern = rf"(?<=<!-- {name} -->\n).*?(?=\n<!-- end of {name} -->)"
        document = re.sub(pattern, lambda _, put=text: put, document, flags=re.DOTALL)  # type: ignore[misc]
    return document
