"""What a savings estimate rests on: every assumption once, with its unit, bounds, default, meaning and source."""

from __future__ import annotations

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


class SpotSettings(Record):
    """Every assumption, as far as it is given; what is empty comes from the cluster, the price book or `assumed`."""

    nodes: int | None = setting(
        None,
        label="Nodes in all",
        unit="nodes",
        group=POOL,
        least=0,
        most=5000,
        help="Nodes that the work needs when nothing is interrupted.",
        source="the cluster: the nodes the workload's pods fill",
    )
    gpus_per_node: int | None = setting(
        None,
        label="GPUs per node",
        unit="GPUs",
        group=POOL,
        least=0,
        most=16,
        help="Only for the cost per GPU-hour; 0 for a pool without GPUs.",
        source="the cluster",
    )
    base_nodes: int | None = setting(
        None,
        label="Of these, kept on demand",
        unit="nodes",
        group=POOL,
        least=0,
        most=5000,
        assumed=0,
        help="The base that is never interrupted; the rest is bought on spot.",
        source="the default",
    )
    needed_nodes: int | None = setting(
        None,
        label="Nodes that must be up",
        unit="nodes",
        group=POOL,
        least=0,
        most=5000,
        help="Fewer ready nodes than this count as a shortfall.",
        source="the workload's PodDisruptionBudget, else one node fewer than in all",
    )
    committed_nodes: int | None = setting(
        None,
        label="Nodes under a commitment already paid for",
        unit="nodes",
        group=POOL,
        least=0,
        most=5000,
        assumed=0,
        help="They cost the same whether they are used or not, so that replacing them saves nothing.",
        source="the default",
    )
    on_demand_usd_per_hour: float | None = setting(
        None,
        label="On-demand price of a node",
        unit="USD/h",
        group=POOL,
        least=0,
        most=1000,
        help="Of the whole node, GPUs included, as it comes to for a month: sustained-use discounts are in it.",
        source="the price book",
    )
    stand_in_usd_per_hour: float | None = setting(
        None,
        label="Price of an on-demand node that stands in",
        unit="USD/h",
        group=POOL,
        least=0,
        most=1000,
        optional=True,
        help="For hours, not for a month: without sustained-use discounts. Empty: the on-demand price.",
        source="the price book",
    )
    spot_usd_per_hour: float | None = setting(
        None,
        label="Spot price of a node",
        unit="USD/h",
        group=POOL,
        least=0,
        most=1000,
        help="Of the whole node, GPUs included.",
        source="the price book",
    )
    committed_usd_per_hour: float | None = setting(
        None,
        label="Price of a committed node",
        unit="USD/h",
        group=POOL,
        least=0,
        most=1000,
        optional=True,
        help="What a committed node costs an hour; it is spent either way.",
        source="the price book, 1-year commitment",
    )
    committed_3y_usd_per_hour: float | None = setting(
        None,
        label="Price of a node committed for 3 years",
        unit="USD/h",
        group=POOL,
        least=0,
        most=1000,
        optional=True,
        help="For comparison. Empty: no price.",
        source="the price book, 3-year commitment",
    )
    flex_start_usd_per_hour: float | None = setting(
        None,
        label="Flex-start price of a node",
        unit="USD/h",
        group=POOL,
        least=0,
        most=1000,
        optional=True,
        help="Flex-start VMs queue for capacity and then run up to 7 days without being preempted. Empty: no price.",
        source="the price book",
    )
    hours_per_month: float | None = setting(
        None,
        label="Hours of useful work a month",
        unit="h",
        group=POOL,
        least=0.01,
        most=HOURS_PER_MONTH * 12,
        assumed=HOURS_PER_MONTH,
        help="Per node. The same work is priced on demand and on spot.",
        source="365 days × 24 h / 12, as cloud price lists have it",
    )
    hazard_low_per_hour: float | None = setting(
        None,
        label="Interruption rate, low",
        unit="per VM-hour",
        group=LOSSES,
        least=0,
        most=1000,
        assumed=0.0021,
        help="Each simulated month draws its rate between low and high, likely most often (triangular).",
        source=f"5% a day: the low end of {_SPOT_GUIDE}",
    )
    hazard_likely_per_hour: float | None = setting(
        None,
        label="Interruption rate, likely",
        unit="per VM-hour",
        group=LOSSES,
        least=0,
        most=1000,
        assumed=0.0044,
        help="Chance that a running spot VM is lost in an hour, as a rate. 0.0044 is one loss in 227 h, 10% a day. "
        "The preemption rate of advice.capacityHistory is preempted VMs per stopped VM: it isn't this number.",
        source=f"10% a day: the middle of {_SPOT_GUIDE}",
    )
    hazard_high_per_hour: float | None = setting(
        None,
        label="Interruption rate, high",
        unit="per VM-hour",
        group=LOSSES,
        least=0,
        most=1000,
        assumed=0.0167,
        help="Scarce GPUs can be far worse: one AWS V100 node lived 2.1 h on average (0.47 per VM-hour).",
        source="3 losses in 180 VM-hours of c3-highcpu-88 in a public trace of GCP; V100: Wu et al., NSDI 2024",
    )
    zones: int | None = setting(
        None,
        label="Zones the spot nodes are spread over",
        unit="zones",
        group=LOSSES,
        least=1,
        most=9,
        assumed=1,
        help="Nodes of one zone are lost together in a bulk loss.",
        source="the cluster: zones of the pool's nodes",
    )
    zone_losses_per_month: float | None = setting(
        None,
        label="Bulk losses per zone",
        unit="per month",
        group=LOSSES,
        least=0,
        most=1000,
        assumed=1,
        help="All spot nodes of a zone are taken at once, on top of the losses one by one.",
        source="assumed: no public count for GCP. 94% of the time all or none of 16 spot VMs were up: NSDI 2024 (AWS)",
    )
    stock_out_hours: float | None = setting(
        None,
        label="Mean gap after a loss",
        unit="h",
        group=LOSSES,
        least=0.01,
        most=720,
        optional=True,
        help="A loss begins a gap: so long it takes, on average, until a spot node is to be had again. Empty: as long as "
        f"the share of time up leaves over, else {duration(ASSUMED_GAP_HOURS * 3_600)}.",
        source=f"assumed: {duration(ASSUMED_GAP_HOURS * 3_600)}, what 61% up and a loss each 2.13 h come to (AWS V100, NSDI 2024); no "
        "public figure for GCP",
    )
    availability: float | None = setting(
        None,
        label="Share of time up",
        unit="share",
        group=LOSSES,
        least=0,
        most=1,
        optional=True,
        help="The share of time a place in the pool has a spot node: mean life / (mean life + mean gap). Of rate, gap and "
        "share two are enough. 1: a lost node is replaced at once; 0: there is never one.",
        source="follows from the rate and the gap",
    )
    node_start_seconds: float | None = setting(
        None,
        label="Time for a node to arrive",
        unit="s",
        group=LOSSES,
        least=0,
        most=86_400,
        assumed=GPU_NODE_ARRIVAL_SECONDS,
        help="From the loss until the new node takes pods; paid for, and no work is done.",
        source=ARRIVAL_SOURCE,
    )
    pod_start_seconds: float | None = setting(
        None,
        label="Time for a pod to get ready",
        unit="s",
        group=LOSSES,
        least=0,
        most=86_400,
        assumed=60,
        help="Image, model, warm-up: from being placed to Ready.",
        source="learnt from the workload's pods where the cluster tells it, else assumed",
    )
    window_seconds: float | None = setting(
        None,
        label="Notice a pod gets",
        unit="s",
        group=LOSSES,
        least=0,
        most=600,
        assumed=15,
        help="From SIGTERM to the end, as the node's provider grants it (the checklist names the source).",
        source="GKE: 15 s for ordinary pods",
    )
    job_minutes: float | None = setting(
        None,
        label="Length of a job",
        unit="min",
        group=WORK,
        least=0.01,
        most=60 * 24 * 365,
        assumed=60,
        help="Of useful work, without interruptions and checkpoints.",
        source="assumed: nobody said",
    )
    checkpoint_minutes: float | None = setting(
        None,
        label="Work between checkpoints",
        unit="min",
        group=WORK,
        least=0,
        most=60 * 24 * 365,
        assumed=0,
        help="0: none, an interrupted job starts again from its beginning.",
        source="assumed: nobody said",
    )
    checkpoint_seconds: float | None = setting(
        None,
        label="Time to write a checkpoint",
        unit="s",
        group=WORK,
        least=0,
        most=86_400,
        assumed=10,
        help="The job stands still meanwhile.",
        source="assumed: nobody said",
    )
    late_factor: float | None = setting(
        None,
        label="A job is late after",
        unit="× its length",
        group=WORK,
        least=1,
        most=1000,
        assumed=2,
        help="Counted from its start, restarts and waiting included.",
        source="the default",
    )
    retries: int | None = setting(
        None,
        label="Retries before a job fails",
        unit="retries",
        group=WORK,
        least=0,
        most=1000,
        optional=True,
        help="Empty: no limit. What failed is done again on demand.",
        source="the Job's backoffLimit; a queue that delivers again has none",
    )
    request_seconds: float | None = setting(
        None,
        label="Length of a request",
        unit="s",
        group=WORK,
        least=0,
        most=86_400,
        assumed=1,
        help="Requests that need longer than the notice are lost and served again.",
        source="assumed: nobody said",
    )
    runs: int | None = setting(
        None,
        label="Simulated months",
        unit="runs",
        group=SIMULATION,
        least=100,
        most=20_000,
        assumed=10_000,
        help="More runs give steadier percentiles.",
        source="the default",
    )
    seed: int | None = setting(
        None,
        label="Seed",
        group=SIMULATION,
        least=0,
        most=2**31 - 1,
        assumed=0,
        help="The same seed gives the same numbers.",
        source="the default",
    )
    work: Work | None = setting(
        None,
        label="Kind of work",
        group=WORK,
        help="Jobs or serving.",
        source="what the workload looks like",
    )
    capacity: Capacity | None = setting(
        None,
        label="Bought in place of on-demand",
        group=POOL,
        help="Preemptible VMs cost the same as Spot VMs and are stopped after 24 hours.",
        source="how its nodes are bought now",
    )
    goes_together: bool | None = setting(
        None,
        label="Nodes of a zone come and go together",
        group=LOSSES,
        help="All nodes of a zone are lost together and come back together, at the rate and with the gaps of one.",
        source="assumed: one by one, but for the bulk losses",
    )
    works_as_gang: bool | None = setting(
        None,
        label="The pods only work together",
        group=WORK,
        help="One lost pod stops all of them (a gang: distributed training, an indexed Job that waits for all).",
        source="the workload's kind and labels",
    )
    fallback: Fallback | None = setting(
        None,
        label="While no spot node is to be had",
        group=LOSSES,
        help="Wait, or buy on demand.",
        source="the default",
    )
    saves_on_notice: bool | None = setting(
        None,
        label="A checkpoint is written on notice",
        group=WORK,
        help="On SIGTERM the worker writes a checkpoint.",
        source="assumed: nobody said",
    )


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
