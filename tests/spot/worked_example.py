"""The worked example of docs/spot.md: every number by hand, from the assumptions the page shows.

Nothing here calls the simulation: these are the sums a reader can do on paper. `numbers` gives each as the document
writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt

from planner.spot.assumptions import Assumptions


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """USD and hours a month of the whole pool."""

    on_demand: float
    discount: float
    rate: float  # losses per VM-hour
    interruptions: float
    restart_hours: float
    lost_hours: float
    restarts_usd: float
    lost_usd: float
    out_share: float  # of losses that come in a stock-out
    fallback_usd: float
    net: float
    shortfall_minutes: float
    checkpoint_minutes: float

    @property
    def saved(self) -> float:
        return self.on_demand - self.net


def by_hand(a: Assumptions) -> ByHand:
    node_hours = a.nodes * a.hours_per_month
    mean_rate = (a.hazard_low_per_hour + a.hazard_likely_per_hour + a.hazard_high_per_hour) / 3
    rate = mean_rate + a.zone_losses_per_month / 730
    restart, job = (a.node_start_seconds + a.pod_start_seconds) / 3600, a.job_minutes / 60
    interruptions = rate * node_hours
    lost_hours, restart_hours = interruptions * job / 2, interruptions * restart
    begins = 1 / (a.stock_out_hours * a.availability)
    out_share = (1 - a.availability) * begins / (rate + begins)
    stand_in = a.stock_out_hours * (a.fallback_usd_per_hour - a.spot_usd_per_hour)
    fallback = interruptions * out_share * (stand_in + restart * a.fallback_usd_per_hour)
    on_demand = node_hours * a.on_demand_usd_per_hour
    discount = node_hours * (a.on_demand_usd_per_hour - a.spot_usd_per_hour)
    lost_usd, restarts_usd = lost_hours * a.spot_usd_per_hour, restart_hours * a.spot_usd_per_hour
    likely = a.hazard_likely_per_hour + a.zone_losses_per_month / 730
    return ByHand(
        on_demand=on_demand,
        discount=discount,
        rate=rate,
        interruptions=interruptions,
        restart_hours=restart_hours,
        lost_hours=lost_hours,
        restarts_usd=restarts_usd,
        lost_usd=lost_usd,
        out_share=out_share,
        fallback_usd=fallback,
        net=on_demand - discount + lost_usd + restarts_usd + fallback,
        shortfall_minutes=a.zones * a.zone_losses_per_month * restart * 60,
        checkpoint_minutes=sqrt(2 * a.checkpoint_seconds / 3600 / likely) * 60,
    )


def saved_at(a: Assumptions, hazard: float) -> float:
    """The saving at one interruption rate h: exact for lives that end by chance alone.

    A node's life leaves T e^(−lR) / (e^(lT) − 1) hours of finished jobs (l = h + bulk losses), the stand-in the rest.
    """
    rate = hazard + a.zone_losses_per_month / 730
    restart, job = (a.node_start_seconds + a.pod_start_seconds) / 3600, a.job_minutes / 60
    begins = 1 / (a.stock_out_hours * a.availability)
    out_share = (1 - a.availability) * begins / (rate + begins)
    wait = out_share * a.stock_out_hours
    per_life = job * exp(-rate * restart) / (exp(rate * job) - 1) + wait
    lives = a.nodes * a.hours_per_month / per_life
    paid = lives * (a.spot_usd_per_hour / rate + a.fallback_usd_per_hour * (wait + out_share * restart))
    return a.nodes * a.hours_per_month * a.on_demand_usd_per_hour - paid


def numbers(a: Assumptions, break_even_per_hour: float) -> dict[str, str]:
    """What the document says, by what it is."""
    hand = by_hand(a)
    return {
        "on demand": f"6 × 730 h × ${a.on_demand_usd_per_hour:.5f} = **${hand.on_demand:,.2f}**",
        "discount": f"6 × 730 h × (${a.on_demand_usd_per_hour:.5f} − ${a.spot_usd_per_hour:.5f}) = **−${hand.discount:,.2f}**",
        "rate": f"(0.0021 + 0.0044 + 0.0167) / 3 + 1 / 730 = **{hand.rate:.5f} per VM-hour**",
        "interruptions": f"{hand.rate:.5f} × 6 × 730 h = **{hand.interruptions:.1f} a month**",
        "lost work": f"{hand.interruptions:.1f} × 2.5 min = {hand.lost_hours:.2f} h × ${a.spot_usd_per_hour:.5f} = **${hand.lost_usd:.2f}**",
        "restarts": f"{hand.interruptions:.1f} × 401 s = {hand.restart_hours:.2f} h × ${a.spot_usd_per_hour:.5f} = **${hand.restarts_usd:.2f}**",
        "out share": f"0.05 × 0.2632 / ({hand.rate:.5f} + 0.2632) = **{hand.out_share:.2%}**",
        "fallback": f"= **${hand.fallback_usd:.2f}**",
        "net": f"**${hand.net:,.2f}**",
        "saved": f"**${hand.saved:,.2f}**, {hand.saved / hand.on_demand:.0%} of the on-demand cost",
        "useful hour": f"= **${hand.net / (6 * 730):.4f}**",
        "shortfall": f"2 zones × 1 × 401 s = **{hand.shortfall_minutes:.1f} min**",
        "late": f"**{hand.interruptions:.0f} of 52,560 jobs**",
        "break-even": f"**{break_even_per_hour:.2f} losses per VM-hour**",
        "young": f"= **{hand.checkpoint_minutes:.0f} min**",
    }
