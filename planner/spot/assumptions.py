"""The assumptions of a savings estimate: each with its unit, bounds, default, meaning and source."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, Final

from planner.ground.data_files import table_beside
from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.setting_declarations import setting, settings_of
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import count, duration
from planner.kubernetes.node_properties import ARRIVAL_SOURCE, GPU_NODE_ARRIVAL_SECONDS
from planner.pricing.price_history import MONTH_DAYS
from planner.pricing.sustained_use import billed_hours


class Capacity(StrEnum):
    """What is bought in place of on-demand nodes."""

    SPOT = "spot"  # no maximum run time
    PREEMPTIBLE = "preemptible"  # stopped after 24 hours at the latest; same price


class Work(StrEnum):
    """What an interruption costs: a job loses what it did since its last checkpoint, a server what is in flight."""

    JOBS = "jobs"
    SERVING = "serving"


class Fallback(StrEnum):
    """What happens while no spot node is available."""

    WAIT = "wait"
    ON_DEMAND = "on-demand"


# Preemptible VMs are stopped 24 hours after they start at the latest; Spot VMs have no maximum run time.
# https://cloud.google.com/compute/docs/instances/preemptible (read 2026-11)
PREEMPTIBLE_HOURS: Final = 24.0

ASSUMED_GAP_HOURS: Final = 1.36  # of a node that is up 61% of the time and lost each 2.13 h (Wu et al., NSDI 2024)

POOL, LOSSES, WORK, SIMULATION = "What is bought", "Interruptions", "The work", "Simulation"

_TABLE: Final = table_beside(__name__, "assumptions.json").decode()
_TOLD: Final[dict[str, dict[str, Any]]] = json.loads(_TABLE.replace("{gap}", duration(ASSUMED_GAP_HOURS * 3_600)))
"""Setting → what `planner.ground.setting_declarations.setting` is told of it: its group, label, unit, bounds, meaning and source."""

COUNTED: Final = {"nodes": "node", "GPUs": "GPU", "zones": "zone", "retries": "retry", "runs": "run"}
"""Units that are things → one of them."""


def _told(name: str, **more: Any) -> Any:
    return setting(None, **_TOLD[name] | more)


class SpotSettings(Record):
    """Every assumption, as far as it is given; what is empty comes from the cluster, the price book or `assumed`."""

    nodes: int | None = _told("nodes")
    gpus_per_node: int | None = _told("gpus_per_node")
    base_nodes: int | None = _told("base_nodes", is_everyday=True)
    needed_nodes: int | None = _told("needed_nodes")
    committed_nodes: int | None = _told("committed_nodes")
    on_demand_usd_per_hour: float | None = _told("on_demand_usd_per_hour")
    stand_in_usd_per_hour: float | None = _told("stand_in_usd_per_hour")
    spot_usd_per_hour: float | None = _told("spot_usd_per_hour")
    committed_usd_per_hour: float | None = _told("committed_usd_per_hour")
    committed_3y_usd_per_hour: float | None = _told("committed_3y_usd_per_hour")
    flex_start_usd_per_hour: float | None = _told("flex_start_usd_per_hour")
    hours_per_month: float | None = _told("hours_per_month", most=12 * HOURS_PER_MONTH, assumed=HOURS_PER_MONTH)
    hazard_low_per_hour: float | None = _told("hazard_low_per_hour")
    hazard_likely_per_hour: float | None = _told("hazard_likely_per_hour")
    hazard_high_per_hour: float | None = _told("hazard_high_per_hour")
    zones: int | None = _told("zones")
    zone_losses_per_month: float | None = _told("zone_losses_per_month")
    stock_out_hours: float | None = _told("stock_out_hours")
    availability: float | None = _told("availability")
    node_start_seconds: float | None = _told(
        "node_start_seconds", source=ARRIVAL_SOURCE, assumed=GPU_NODE_ARRIVAL_SECONDS
    )
    pod_start_seconds: float | None = _told("pod_start_seconds")
    window_seconds: float | None = _told("window_seconds")
    job_minutes: float | None = _told("job_minutes", is_everyday=True)
    checkpoint_minutes: float | None = _told("checkpoint_minutes", is_everyday=True)
    checkpoint_seconds: float | None = _told("checkpoint_seconds")
    late_factor: float | None = _told("late_factor")
    retries: int | None = _told("retries")
    request_seconds: float | None = _told("request_seconds")
    runs: int | None = _told("runs")
    seed: int | None = _told("seed")
    work: Work | None = _told("work", is_everyday=True)
    capacity: Capacity | None = _told("capacity")
    goes_together: bool | None = _told("goes_together")
    works_as_gang: bool | None = _told("works_as_gang")
    fallback: Fallback | None = _told("fallback", is_everyday=True)
    saves_on_notice: bool | None = _told("saves_on_notice", is_everyday=True)


RATES: Final = ("hazard_low_per_hour", "hazard_likely_per_hour", "hazard_high_per_hour")
SETTINGS: Final = tuple(field for field in settings_of(SpotSettings) if field.kind in (int, float))  # the numbers
SETTING: Final = {spot_setting.name: spot_setting for spot_setting in SETTINGS}
ASSUMED: Final[dict[str, Any]] = {spot_setting.name: spot_setting.assumed for spot_setting in SETTINGS}


class Life(Record):
    """An observed life of a spot VM, or a gap between two. `ended` False: it was still running when it was last seen.

    `since`: how old it was when a user began to look, in hours: had it been lost before, it would not be known.
    """

    hours: float
    ended: bool = True
    since: float = 0.0


class Assumptions(Record):
    """All of `SETTINGS`, checked. `lives` replaces the interruption rate (not the bulk losses) when it isn't empty, `gaps`
    the mean gap and the share of time up.

    Raises
    ------
    InputError
        For a value outside its setting's bounds, or values that contradict each other.
    """

    nodes: int
    on_demand_usd_per_hour: float
    spot_usd_per_hour: float
    gpus_per_node: int = 0
    base_nodes: int = ASSUMED["base_nodes"]
    needed_nodes: int = 0
    committed_nodes: int = ASSUMED["committed_nodes"]
    committed_usd_per_hour: float | None = None
    committed_3y_usd_per_hour: float | None = None
    stand_in_usd_per_hour: float | None = None
    flex_start_usd_per_hour: float | None = None
    hours_per_month: float = ASSUMED["hours_per_month"]
    capacity: Capacity = Capacity.SPOT
    hazard_low_per_hour: float = ASSUMED["hazard_low_per_hour"]
    hazard_likely_per_hour: float = ASSUMED["hazard_likely_per_hour"]
    hazard_high_per_hour: float = ASSUMED["hazard_high_per_hour"]
    lives: tuple[Life, ...] = ()
    zones: int = ASSUMED["zones"]
    zone_losses_per_month: float = ASSUMED["zone_losses_per_month"]
    stock_out_hours: float | None = None
    availability: float | None = None
    gaps: tuple[Life, ...] = ()
    life_drift: float = 0.0  # how far a month's lives are from `lives`: σ of the logarithm of their ratio
    gap_drift: float = 0.0  # … its gaps from `gaps`
    goes_together: bool = False  # nodes of a zone come and go together, with the rate and the gaps of one
    works_as_gang: bool = False  # the pods only work together: one lost node stops all
    price_moves: tuple[float, ...] = ()  # relative moves of the spot price within a month, each as likely
    node_start_seconds: float = ASSUMED["node_start_seconds"]
    pod_start_seconds: float = ASSUMED["pod_start_seconds"]
    window_seconds: float = ASSUMED["window_seconds"]
    work: Work = Work.JOBS
    job_minutes: float = ASSUMED["job_minutes"]
    checkpoint_minutes: float = ASSUMED["checkpoint_minutes"]
    checkpoint_seconds: float = ASSUMED["checkpoint_seconds"]
    saves_on_notice: bool = False  # on SIGTERM the worker writes a checkpoint, if it can within the notice
    late_factor: float = ASSUMED["late_factor"]
    retries: int | None = None
    request_seconds: float = ASSUMED["request_seconds"]
    fallback: Fallback = Fallback.ON_DEMAND
    runs: int = ASSUMED["runs"]
    seed: int = ASSUMED["seed"]
    freed_share: float = 1.0  # of `nodes`, those that really go for it: where nodes are shared, by what it requests
    spot_share: float = 1.0  # … and of the spot nodes that come
    move_days: int = MONTH_DAYS  # over which `price_moves` were seen

    def __post_init__(self) -> None:
        for spot_setting in SETTINGS:
            if (value := getattr(self, spot_setting.name)) is None and not spot_setting.optional:
                raise InputError("None is not possible", where=spot_setting.label, fix="Give a number")
            spot_setting.check(value)
        low, likely, high = self.hazard_low_per_hour, self.hazard_likely_per_hour, self.hazard_high_per_hour
        if not low <= likely <= high:
            what = f"the interruption rates {low:g}, {likely:g} and {high:g} are not in order"
            raise InputError(what, where="interruption rate", fix="Give low ≤ likely ≤ high")
        for name in ("base_nodes", "needed_nodes", "committed_nodes"):
            if (number := getattr(self, name)) > self.nodes:
                fix = f"Give at most {self.nodes}, or raise the number of nodes"
                raise InputError(f"{number} of {count(self.nodes, 'node')}", where=SETTING[name].label, fix=fix)
        if self.works_as_gang and self.base_nodes not in (0, self.nodes):
            what = f"{self.base_nodes} of {self.nodes} nodes on demand don't keep pods going that only work together"
            raise InputError(what, where=SETTING["base_nodes"].label, fix="Keep all of them on demand, or none")
        if self.committed_nodes and self.committed_usd_per_hour is None:
            what = f"{count(self.committed_nodes, 'node is', 'nodes are')} committed, and their price isn't given"
            raise InputError(what, where=SETTING["committed_usd_per_hour"].label, fix="Give their price")

    @property
    def committed_usd(self) -> float:
        """What the commitments cost a month."""
        return self.committed_nodes * (self.committed_usd_per_hour or 0.0) * self.hours_per_month

    @property
    def fallback_usd_per_hour(self) -> float:
        """Of an on-demand node for an hour, before any discount for running longer."""
        return self.on_demand_usd_per_hour if self.stand_in_usd_per_hour is None else self.stand_in_usd_per_hour

    @property
    def sustained_use_discount(self) -> float:
        """Share taken off an on-demand node that runs all month."""
        full, month = self.fallback_usd_per_hour, self.on_demand_usd_per_hour
        return 1 - month / full if full > month else 0.0

    def on_demand_usd(self, hours: float) -> float:
        """What so many hours a month of one on-demand node cost, after the discount for sustained use."""
        return self.fallback_usd_per_hour * billed_hours(hours, self.sustained_use_discount)

    @property
    def spot_nodes(self) -> int:
        return self.nodes - self.base_nodes

    @property
    def restart_hours(self) -> float:
        return (self.node_start_seconds + self.pod_start_seconds) / 3600

    @property
    def hazard_per_hour(self) -> float:
        """The mean interruption rate (of a triangular distribution)."""
        return (self.hazard_low_per_hour + self.hazard_likely_per_hour + self.hazard_high_per_hour) / 3

    @property
    def zone_hazard_per_hour(self) -> float:
        """Bulk losses as one node sees them."""
        return self.zone_losses_per_month / HOURS_PER_MONTH

    @property
    def saves(self) -> bool:
        """Whether an interruption loses no work of a job: a checkpoint is written on notice, and there is time."""
        return self.saves_on_notice and self.checkpoint_seconds <= self.window_seconds
