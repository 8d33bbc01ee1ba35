"""What a savings estimate rests on: every assumption once, with its unit, bounds, default, meaning and source."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.settings import Setting, setting, settings_of
from planner.ground.vocabulary import HOURS_PER_MONTH
from planner.ground.words import duration
from planner.kubernetes.nodes import ARRIVAL_SOURCE, GPU_NODE_ARRIVAL_SECONDS
from planner.pricing.history import MONTH_DAYS
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
    """What happens while no spot node is to be had."""

    WAIT = "wait"
    ON_DEMAND = "on-demand"


# Preemptible VMs are stopped 24 hours after they start at the latest; Spot VMs have no maximum run time.
# https://cloud.google.com/compute/docs/instances/preemptible (read 2026-11)
PREEMPTIBLE_HOURS: Final = 24.0

ASSUMED_GAP_HOURS: Final = 1.36  # of a node that is up 61% of the time and lost each 2.13 h (Wu et al., NSDI 2024)

_SPOT_GUIDE = "Google's former guide line of 5 to 15% of preemptible VMs a day (2019, since withdrawn)"


POOL, LOSSES, WORK, SIMULATION = "What is bought", "Interruptions", "The work", "Simulation"


def _of(group: str, unit: str = "", least: float | None = None, most: float | None = None) -> Callable[..., Any]:
    """Makes settings of `group`; unit and bounds are these where a setting has none of its own."""

    def of(
        label: str, said: str, source: str, unit: str = unit, least: float | None = least, most: float | None = most,
        **more: Any,
    ) -> Any:  # fmt: skip
        return setting(
            None, label=label, help=said, source=source, group=group, unit=unit, least=least, most=most, **more
        )

    return of


_bought, _lost, _work, _simulated = map(_of, (POOL, LOSSES, WORK, SIMULATION))
_nodes = _of(POOL, "nodes", 0, 5000)
_price = _of(POOL, "USD/h", 0, 1000)
_rate = _of(LOSSES, "per VM-hour", 0, 1000)
_arriving = _of(LOSSES, "s", 0, 86_400)
_working = _of(WORK, "s", 0, 86_400)


class SpotSettings(Record):
    """Every assumption, as far as it is given; what is empty comes from the cluster, the price book or `assumed`."""

    nodes: int | None = _nodes(
        "Nodes in all",
        "Nodes that the work needs when nothing is interrupted.",
        "the cluster: the nodes the workload's pods fill",
    )
    gpus_per_node: int | None = _bought(
        "GPUs per node", "Only for the cost per GPU-hour; 0 for a pool without GPUs.", "the cluster", "GPUs", 0, 16
    )
    base_nodes: int | None = _nodes(
        "Of these, kept on demand",
        "The base that is never interrupted; the rest is bought on spot.",
        "the default",
        assumed=0,
    )
    needed_nodes: int | None = _nodes(
        "Nodes that must be up",
        "Fewer ready nodes than this count as a shortfall.",
        "the workload's PodDisruptionBudget, else one node fewer than in all",
    )
    committed_nodes: int | None = _nodes(
        "Nodes under a commitment already paid for",
        "They cost the same whether they are used or not, so that replacing them saves nothing.",
        "the default",
        assumed=0,
    )
    on_demand_usd_per_hour: float | None = _price(
        "On-demand price of a node",
        "Of the whole node, GPUs included, as it comes to for a month: sustained-use discounts are in it.",
        "the price book",
    )
    stand_in_usd_per_hour: float | None = _price(
        "Price of an on-demand node that stands in",
        "For hours, not for a month: without sustained-use discounts. Empty: the on-demand price.",
        "the price book",
        optional=True,
    )
    spot_usd_per_hour: float | None = _price(
        "Spot price of a node", "Of the whole node, GPUs included.", "the price book"
    )
    committed_usd_per_hour: float | None = _price(
        "Price of a committed node",
        "What a committed node costs an hour; it is spent either way.",
        "the price book, 1-year commitment",
        optional=True,
    )
    committed_3y_usd_per_hour: float | None = _price(
        "Price of a node committed for 3 years",
        "For comparison. Empty: no price.",
        "the price book, 3-year commitment",
        optional=True,
    )
    flex_start_usd_per_hour: float | None = _price(
        "Flex-start price of a node",
        "Flex-start VMs queue for capacity and then run up to 7 days without being preempted. Empty: no price.",
        "the price book",
        optional=True,
    )
    hours_per_month: float | None = _bought(
        "Hours of useful work a month",
        "Per node. The same work is priced on demand and on spot.",
        "365 days × 24 h / 12, as cloud price lists have it",
        "h",
        0.01,
        HOURS_PER_MONTH * 12,
        assumed=HOURS_PER_MONTH,
    )
    hazard_low_per_hour: float | None = _rate(
        "Interruption rate, low",
        "Each simulated month draws its rate between low and high, likely most often (triangular).",
        f"5% a day: the low end of {_SPOT_GUIDE}",
        assumed=0.0021,
    )
    hazard_likely_per_hour: float | None = _rate(
        "Interruption rate, likely",
        "Chance that a running spot VM is lost in an hour, as a rate. 0.0044 is one loss in 227 h, 10% a day. "
        "The preemption rate of advice.capacityHistory is preempted VMs per stopped VM: it isn't this number.",
        f"10% a day: the middle of {_SPOT_GUIDE}",
        assumed=0.0044,
    )
    hazard_high_per_hour: float | None = _rate(
        "Interruption rate, high",
        "Scarce GPUs can be far worse: one AWS V100 node lived 2.1 h on average (0.47 per VM-hour).",
        "3 losses in 180 VM-hours of c3-highcpu-88 in a public trace of GCP; V100: Wu et al., NSDI 2024",
        assumed=0.0167,
    )
    zones: int | None = _lost(
        "Zones the spot nodes are spread over",
        "Nodes of one zone are lost together in a bulk loss.",
        "the cluster: zones of the pool's nodes",
        "zones",
        1,
        9,
        assumed=1,
    )
    zone_losses_per_month: float | None = _lost(
        "Bulk losses per zone",
        "All spot nodes of a zone are taken at once, on top of the losses one by one.",
        "assumed: no public count for GCP. 94% of the time all or none of 16 spot VMs were up: NSDI 2024 (AWS)",
        "per month",
        0,
        1000,
        assumed=1,
    )
    stock_out_hours: float | None = _lost(
        "Mean gap after a loss",
        "A loss begins a gap: so long it takes, on average, until a spot node is to be had again. Empty: as long as "
        f"the share of time up leaves over, else {duration(ASSUMED_GAP_HOURS * 3_600)}.",
        f"assumed: {duration(ASSUMED_GAP_HOURS * 3_600)}, what 61% up and a loss each 2.13 h come to (AWS V100, NSDI 2024); no "
        "public figure for GCP",
        "h",
        0.01,
        720,
        optional=True,
    )
    availability: float | None = _lost(
        "Share of time up",
        "The share of time a place in the pool has a spot node: mean life / (mean life + mean gap). Of rate, gap and "
        "share two are enough. 1: a lost node is replaced at once; 0: there is never one.",
        "follows from the rate and the gap",
        "share",
        0,
        1,
        optional=True,
    )
    node_start_seconds: float | None = _arriving(
        "Time for a node to arrive",
        "From the loss until the new node takes pods; paid for, and no work is done.",
        ARRIVAL_SOURCE,
        assumed=GPU_NODE_ARRIVAL_SECONDS,
    )
    pod_start_seconds: float | None = _arriving(
        "Time for a pod to get ready",
        "Image, model, warm-up: from being placed to Ready.",
        "learnt from the workload's pods where the cluster tells it, else assumed",
        assumed=60,
    )
    window_seconds: float | None = _lost(
        "Notice a pod gets",
        "From SIGTERM to the end, as the node's provider grants it (the checklist names the source).",
        "GKE: 15 s for ordinary pods",
        "s",
        0,
        600,
        assumed=15,
    )
    job_minutes: float | None = _work(
        "Length of a job",
        "Of useful work, without interruptions and checkpoints.",
        "assumed: nobody said",
        "min",
        0.01,
        60 * 24 * 365,
        assumed=60,
    )
    checkpoint_minutes: float | None = _work(
        "Work between checkpoints",
        "0: none, an interrupted job starts again from its beginning.",
        "assumed: nobody said",
        "min",
        0,
        60 * 24 * 365,
        assumed=0,
    )
    checkpoint_seconds: float | None = _working(
        "Time to write a checkpoint", "The job stands still meanwhile.", "assumed: nobody said", assumed=10
    )
    late_factor: float | None = _work(
        "A job is late after",
        "Counted from its start, restarts and waiting included.",
        "the default",
        "× its length",
        1,
        1000,
        assumed=2,
    )
    retries: int | None = _work(
        "Retries before a job fails",
        "Empty: no limit. What failed is done again on demand.",
        "the Job's backoffLimit; a queue that delivers again has none",
        "retries",
        0,
        1000,
        optional=True,
    )
    request_seconds: float | None = _working(
        "Length of a request",
        "Requests that need longer than the notice are lost and served again.",
        "assumed: nobody said",
        assumed=1,
    )
    runs: int | None = _simulated(
        "Simulated months", "More runs give steadier percentiles.", "the default", "runs", 100, 20_000, assumed=10_000
    )
    seed: int | None = _simulated(
        "Seed", "The same seed gives the same numbers.", "the default", least=0, most=2**31 - 1, assumed=0
    )
    work: Work | None = _work("Kind of work", "Jobs or serving.", "what the workload looks like")
    capacity: Capacity | None = _bought(
        "Bought in place of on-demand",
        "Preemptible VMs cost the same as Spot VMs and are stopped after 24 hours.",
        "how its nodes are bought now",
    )
    goes_together: bool | None = _lost(
        "Nodes of a zone come and go together",
        "All nodes of a zone are lost together and come back together, at the rate and with the gaps of one.",
        "assumed: one by one, but for the bulk losses",
    )
    works_as_gang: bool | None = _work(
        "The pods only work together",
        "One lost pod stops all of them (a gang: distributed training, an indexed Job that waits for all).",
        "the workload's kind and labels",
    )
    fallback: Fallback | None = _lost("While no spot node is to be had", "Wait, or buy on demand.", "the default")
    saves_on_notice: bool | None = _work(
        "A checkpoint is written on notice", "On SIGTERM the worker writes a checkpoint.", "assumed: nobody said"
    )


RATES: Final = ("hazard_low_per_hour", "hazard_likely_per_hour", "hazard_high_per_hour")
SETTINGS: Final = tuple(one for one in settings_of(SpotSettings) if one.kind in (int, float))  # the numbers
SETTING: Final = {one.name: one for one in SETTINGS}
ASSUMED: Final[dict[str, Any]] = {one.name: one.assumed for one in SETTINGS}


class Life(Record):
    """An observed life of a spot VM, or a gap between two. `ended` False: it was still running when it was last seen.

    `since`: how old it was when somebody began to look, in hours: had it been lost before, nobody would know of it.
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
    freed_share: float = (
        1.0  # on-demand nodes that really go for it, of `nodes`: where nodes are shared, by what it requests
    )
    spot_share: float = 1.0  # … and of the spot nodes that come
    move_days: int = MONTH_DAYS  # over which `price_moves` were seen

    def __post_init__(self) -> None:
        for one in SETTINGS:
            _check(one, getattr(self, one.name))
        if not self.hazard_low_per_hour <= self.hazard_likely_per_hour <= self.hazard_high_per_hour:
            raise InputError(
                f"the interruption rates {self.hazard_low_per_hour:g}, {self.hazard_likely_per_hour:g} and "
                f"{self.hazard_high_per_hour:g} are not in order",
                where="interruption rate",
                mend="Give low ≤ likely ≤ high",
            )
        for name in ("base_nodes", "needed_nodes", "committed_nodes"):
            if getattr(self, name) > self.nodes:
                raise InputError(
                    f"{getattr(self, name)} of {self.nodes} nodes",
                    where=SETTING[name].label,
                    mend=f"Give at most {self.nodes}, or raise the number of nodes",
                )
        if self.works_as_gang and self.base_nodes not in (0, self.nodes):
            raise InputError(
                f"{self.base_nodes} of {self.nodes} nodes on demand don't keep pods going that only work together",
                where=SETTING["base_nodes"].label,
                mend="Keep all of them on demand, or none",
            )
        if self.committed_nodes and self.committed_usd_per_hour is None:
            raise InputError(
                f"{self.committed_nodes} nodes are committed, and nobody says at which price",
                where=SETTING["committed_usd_per_hour"].label,
                mend="Give their price",
            )

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


def _check(one: Setting, value: float | None) -> None:
    if value is None and not one.optional:
        raise InputError("None is not possible", where=one.label, mend="Give a number")
    one.check(value)
