"""Records of a rollout's answer, for questions, figures, the CLI and pages.

Rooms fill these, nothing here computes. Reasons are enums; the English sentence is rendered last and carried along, so
that every reader shows the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from threading import Lock
from typing import Any, Final

from planner.ground.records import Record
from planner.ground.words import NO_WORDS, Text
from planner.inventory.patch_and_undo import Applied
from planner.kubernetes import workload_kinds
from planner.kubernetes.accelerator_units import GPUS, Nouns
from planner.kubernetes.object_records import EMPTY, Amounts, Finding, FrozenMap, Node, Strategy
from planner.rollout.clusterless_room_need import RoomNeed
from planner.rollout.doubts import Doubt, check_answer


class Verdict(StrEnum):
    """Whether a rollout ends."""

    COMPLETES = "completes"
    STUCK = "stuck"
    NEEDS_GROWTH = "needs_growth"  # completes if a node pool may grow
    EVICTIONS_BY_QUEUE = "evictions_by_queue"  # completes once Kueue has evicted other workloads for it
    UNKNOWN = "unknown"  # the snapshot lacks something the answer depends on


class Reason(StrEnum):
    """Why a rollout is stuck; NONE when it completes."""

    NONE = "none"
    HOLD_AND_WAIT = "hold_and_wait"  # new pods wait for what old pods hold, old pods wait for new ones to be Ready
    NO_MATCHING_NODE = "no_matching_node"  # selectors, affinity, taints or cordons leave no node
    INSUFFICIENT_RESOURCE = "insufficient_resource"  # nodes match, but others than the old pods hold what is needed
    NEVER_READY = "never_ready"  # new pods start and never become Ready
    QUOTA = "quota"  # ResourceQuota refuses the pods
    IGNORED = "ignored"  # the object's controller does nothing about this change
    ADMISSION = "admission"  # LimitRange, a missing PriorityClass or Pod Security refuses the pods
    POD_AFFINITY = "pod_affinity"  # (anti-)affinity to other pods leaves no node
    TOPOLOGY_SPREAD = "topology_spread"
    HOST_PORT = "host_port"
    TOO_MANY_PODS = "too_many_pods"  # the nodes' pod limit
    VOLUME = "volume"  # a claim's volume is elsewhere, missing or unbound
    VOLUME_ATTACHED = "volume_attached"  # another node has the volume, which one node has at a time (Multi-Attach)
    DEVICE = "device"  # devices asked for through ResourceClaims can't be allocated
    MISSING_OBJECT = "missing_object"  # a claim, class or template that isn't there: never tried
    SCHEDULING_GATE = "scheduling_gate"
    QUEUE = "queue"  # Kueue's queue doesn't let the new pods in
    OTHER_SCHEDULER = "other_scheduler"  # not kube-scheduler's pods
    PAUSED = "paused"
    ON_DELETE = "on_delete"  # the strategy waits for someone to delete pods
    POD_MANAGEMENT = "pod_management"  # an OrderedReady StatefulSet waits for a broken pod
    STALE_ANNOTATION = "stale_annotation"  # the Deployment controller takes every sync for a scaling event
    SILENT_NODE = "silent_node"  # a pod on a node that doesn't answer isn't Ready, or never ends
    SURGE_DROPPED = "surge_dropped"  # a LeaderWorkerSet gives its surge groups back before they are made
    UNKNOWN = "unknown"


MEANWHILE = "meanwhile "  # so begins what a step tells of an event
NODES_ON_THEIR_WAY = "nodes are on their way"  # so ends what a step tells that lasts until new nodes come


class PodState(StrEnum):
    """Rows of the timeline; each pod of the workload is in exactly one."""

    OLD_READY = "old_ready"
    OLD_NOT_READY = "old_not_ready"
    NEW_READY = "new_ready"
    NEW_STARTING = "new_starting"
    PENDING = "pending"
    TERMINATING = "terminating"


class RolloutCure(Record):
    """What lets a stuck rollout finish, as it was played. `events`: each as ``--then`` takes it after a time; `command`: what does it, ""
    where no command does."""

    sentence: Text  # "once node b answers again"
    events: tuple[str, ...]
    command: str = ""


class TimelineRow(Record):
    """One quiet moment. `tick` −1 is before the change, 0 right after it; `seconds` is the estimate for that tick."""

    tick: int
    seconds: float
    counts: FrozenMap[int]  # PodState value → pods of the workload
    ready: int  # Ready and not terminating, old and new
    held: Amounts  # extended resources held by bound pods of the whole cluster, terminating ones included
    held_by_workload: Amounts  # the same, this workload's pods only
    event: str = ""  # what the controller and the scheduler did at this moment, in words


class PendingPods(Record):
    """Pods that were never placed at the end, grouped by owner and message."""

    namespace: str
    owner: str  # "ReplicaSet/worker-7d…" or, for pods yet to be made, "ReplicaSet/worker-<new>"
    workload: str  # workload key, "" if none is known
    count: int
    message: Text | None  # kube-scheduler's own words; None: never tried
    is_new: bool = False  # belongs to the new revision


class WaitForEdge(Record):
    """`source` waits for `target`, or is held by it: `label` has the words between them. Edges are a cycle when the last
    one's target is the first one's source."""

    source: str
    target: str
    label: str


class RemedyKind(StrEnum):
    WAIT = "wait"  # until others that are in flight have rolled out
    SWITCH_STRATEGY = "switch_strategy"  # maxSurge/maxUnavailable
    RECREATE = "recreate"
    SCALE_DOWN_FIRST = "scale_down_first"
    ADD_NODE = "add_node"
    SMALLER_REQUEST = "smaller_request"
    RAISE_QUOTA = "raise_quota"
    FREE_CAPACITY = "free_capacity"  # remove or shrink a named other holder
    FIX_SELECTOR = "fix_selector"
    DELETE_PODS = "delete_pods"  # its own pods that never get Ready, after the change
    SAME_NODE = "same_node"  # new pods on the node that has the volume
    DRAIN_NODE = "drain_node"  # of the node that has the volume, once it is stuck
    CORDON_NODE = "cordon_node"  # the same for the pods that hold the volume alone
    SCALE_TO_ZERO = "scale_to_zero"  # and back, once it is stuck
    UNCORDON = "uncordon"  # nodes that take pods again
    NODE_BACK = "node_back"  # a node that doesn't answer does again
    FORCE_DELETE = "force_delete"  # pods on a node that doesn't answer


class Step(Record):
    """One step of a way out: `commands` in their order, the last of which waits until the step is done.

    `is_change`: the user's own change, which Headroom doesn't hold in full; its command names a manifest of theirs.
    `undo`: what takes the step back. `is_lent`: it takes from others, and is taken back when a step fails.
    `target`, `before`, `after`: what is changed (a workload's or quota's key, ``NodePool/gpu``), from what to what; "" of a step that
    changes nothing that has one value. Commands are made of these, and nothing is read back out of a command.
    """

    what: str
    commands: tuple[str, ...]
    is_change: bool = False
    undo: tuple[str, ...] = ()
    is_lent: bool = False
    target: str = ""
    before: str = ""
    after: str = ""


class Remedy(Record):
    """A way out that was simulated and completes. `command` is its cure; `steps` is all that has to be done, in order, with
    what has to be waited for between."""

    kind: RemedyKind
    title: str  # "maxSurge 0, maxUnavailable 1"
    sentence: Text  # what it costs, in words
    lowest_ready: int  # Ready pods at the worst moment
    replicas: int
    seconds: float
    extra_gpus: int = 0  # GPUs beyond today's capacity
    patch_yaml: str  # strategic merge patch, "" when the cure isn't a patch
    command: str  # copyable kubectl (or gcloud) command; of a cure of several steps all of them, in one line
    steps: tuple[Step, ...] = ()
    extra_nodes: int = 0
    node_template: str = ""  # a node like those it adds
    machine: str = ""  # which machine of the pool these have to be of, where it is chosen for the pod
    place: str = ""  # where of the pool they have to be, as "zone a"
    is_kept: bool = False  # whether any of `kept_nodes`
    kept_nodes: int = 0  # of those it adds: that have pods at the end, of any workload, which find no other place
    arrival_seconds: float = 0.0  # of `seconds`: until those nodes take pods
    price: Text = NO_WORDS  # of those nodes; `usd_per_month` of those that stay, or of all; `usd_per_rollout` of those that go again
    usd_per_month: float | None = None
    usd_per_rollout: float | None = None
    quota_hard: tuple[tuple[str, str, int], ...] = ()  # quota, resource, what it is raised to
    disturbs: int = 0  # pods of others that run today and end for it
    lenders: int = 0  # workloads of others that are scaled for it
    events: str = ""  # what is done once it is stuck, as ``--then`` has it
    change: str = ""  # the same as ``--change`` takes it; "" of what no change of a cluster is: an order, a loan
    is_proven: bool = False  # it completes in every placement, not only in those tried


class VolumeCure(Record):
    """What lets a rollout complete whose pod waits for a volume that another node has: played before it is told, in several placements.

    `then`: the events that do it, as ``--then`` has them; `patch`: a strategic merge patch of the workload, in JSON.
    """

    sentence: Text
    then: str = ""
    patch: str = ""


RUNS: Final = 50
"""Placements that are tried at most where is not asked for another number."""


class Extremes(Record):
    """Of one workload, over all placements tried: the fewest pods Ready, the most pods there, and whether no other placement comes to
    fewer Ready pods: that is proven, or its strategy keeps as many and nothing else takes them."""

    lowest_ready: int
    peak_pods: int
    is_bound: bool = False


class Ties(Record):
    """How far the verdict depends on the scheduler's ties. `proven`: a bound shows it, `runs` is then 0; in an answer, that none of
    its doubts could change the verdict either. `outcome`: what came of the placements, in words; `sentence` says how sure that is, too.
    `completed_runs` is no chance: draws are even, and a cluster's aren't. `extremes`: of each changed workload over all placements tried."""

    proven: bool
    runs: int
    completed_runs: int
    sentence: Text
    outcome: Text = NO_WORDS
    extremes: FrozenMap[Extremes] = FrozenMap({})


class OtherInFlight(Record):
    """Another workload that isn't at rest, and was played beside the change. `since`: when its rollout began, as far as its
    objects show (seconds since the epoch)."""

    workload: str
    since: float | None
    is_overdue: bool  # it has made no progress for as long as its progressDeadlineSeconds
    sentence: Text


class Bearing(StrEnum):
    """What the time of an event beside a rollout has to do with the verdict."""

    NEVER_DECIDES = "never_decides"  # the verdict is the same with it, at any time, and without it
    ANY_TIME = "any_time"  # the rollout completes with it, whenever it comes, and not without
    UNTIL = "until"  # completes if it comes before `until_seconds`
    FROM = "from"  # completes if it comes at `from_seconds` or later
    NEVER = "never"  # completes without it, and with it at no time
    MIXED = "mixed"  # completes at some times and not at others, earlier and later ones
    UNKNOWN = "unknown"  # too much to play, or not asked


class EventBeside(Record):
    """Something that happens beside the rollout. `happened`: it came before all was done. `completes_without`: the verdict if it
    didn't come at all; None: not known."""

    event: str
    after_seconds: float
    happened: bool
    sentence: Text
    bearing: Bearing
    until_seconds: float | None = None
    from_seconds: float | None = None
    completes_without: bool | None = None


class RolloutOutcome(Record):
    """How a rollout goes: with this begins whatever is told of one, in short or in full, of one workload or of several."""

    verdict: Verdict
    reason: Reason
    sentence: Text


class QueueEviction(Record):
    """A workload that Kueue evicts for a change: `pods` of it go; `becomes`: what comes of it then, as the verb of a sentence."""

    workload: str
    pods: int
    becomes: Text


class WorkloadOutcome(RolloutOutcome, kw_only=False):  # its own field comes first
    """The same of a workload that is named."""

    workload: str


class DurationBand(Record):
    """How long a rollout takes, by start-ups that were seen: 8 of 10 take `least_seconds` to `most_seconds`, 19 of 20 at most `late_seconds`.

    `percentiles`: the 5th, 10th, … 95th; `pause_percentiles`: the same of the longest time in which no new pod gets available. `terminations`,
    `image_pulls`, `node_arrivals`: how many those are learnt from, 0 where one number stands for them or there are none; `assumed`: of these what
    isn't measured: "termination", "image pull", "node arrival".
    """

    least_seconds: float
    most_seconds: float
    late_seconds: float
    percentiles: tuple[float, ...]
    pause_percentiles: tuple[float, ...]
    pods: int  # it is learned from the start-ups of so many
    rollouts: int  # that these pods were of
    sentence: Text
    terminations: int = 0
    image_pulls: int = 0
    node_arrivals: int = 0
    assumed: tuple[str, ...] = ()


class Cutoff(Record):
    """Something that waits so long for a rollout, and no longer.

    `share`: of such rollouts that take longer; None where no start-up was seen. `is_short`: it is shorter than 1 of 20 takes, or than the
    probes allow. `advised_seconds`: what to set, None where it is long enough.
    """

    by: str
    seconds: float
    is_default: bool
    share: float | None
    is_short: bool
    advised_seconds: int | None = None
    sentence: Text = NO_WORDS


class WorkloadRollout(WorkloadOutcome):
    """One workload's part of a rollout."""

    headline: Text  # a dozen words for the person who decides, without the verdict
    replicas: int
    max_surge: int  # as rounded by the controller; 0 for kinds without
    max_unavailable: int
    strategy_kind: str
    is_new_revision: bool
    peak_pods: int  # the most in all placements tried
    lowest_ready: int  # the fewest in all placements tried
    ticks: int
    seconds: float  # estimate until complete, or until nothing moves any more
    progress_deadline_seconds: int | None
    exceeds_deadline: bool
    final: FrozenMap[int]  # replicas, updatedReplicas, readyReplicas, availableReplicas, unavailableReplicas, …
    pending: tuple[PendingPods, ...]
    timeline: tuple[TimelineRow, ...]
    wait_for: tuple[WaitForEdge, ...] = ()
    requests: Amounts = EMPTY  # of one new pod
    cures: tuple[
        RolloutCure, ...
    ] = ()  # beside the ways out of `RolloutResult.remedies`: what others, or the cluster, may do
    scheduler_message: Text = NO_WORDS  # the FailedScheduling message of the first new pod that waits
    quota_message: Text = NO_WORDS  # the FailedCreate message, where admission refused pods
    startup_seconds: float = 0.0
    startup_source: str = ""  # "learned from 6 pods" | "default" | "given"
    termination_seconds: float = 0.0
    termination_source: str = ""  # "grace period" | "given"
    shown_peak_pods: int | None = None  # of the placement that is shown, where it is another number than in the worst
    shown_lowest_ready: int | None = None
    is_lowest_bound: bool = False  # no placement comes to fewer Ready pods
    evicts: tuple[QueueEviction, ...] = ()  # whom Kueue evicts before it lets its new pods in
    room: RoomNeed | None = None  # where it is stuck for want of room: what it needs wherever it runs
    duration: DurationBand | None = None  # of one that ends, where start-ups were seen
    cutoffs: tuple[Cutoff, ...] = ()  # what waits for it, and how long


class Placement(Sequence[tuple[str, str, str]]):
    """Where pods are in the end, worked out when it is read: mostly is not asked for more than the verdict."""

    def __init__(self, places: Callable[[], tuple[tuple[str, str, str], ...]]) -> None:
        self._work: Callable[[], tuple[tuple[str, str, str], ...]] | None = places
        self._known: tuple[tuple[str, str, str], ...] | None = None
        self._lock = Lock()

    def _places(self) -> tuple[tuple[str, str, str], ...]:
        with self._lock:  # two may read it at once
            if self._work is not None:
                work, self._work = self._work, None  # once: what was broken off half-way would go on from there
                self._known = work()
            if self._known is None:
                raise RuntimeError("the reading of the pods' nodes was interrupted: ask again")
            return self._known

    def __len__(self) -> int:
        return len(self._places())

    def __getitem__(self, at: Any) -> Any:
        return self._places()[at]

    def __eq__(self, other: object) -> bool:
        return self._places() == (other._places() if isinstance(other, Placement) else other)

    def __hash__(self) -> int:
        return hash(self._places())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._places(),)


class RolloutResult(RolloutOutcome):
    """The answer to one scenario; `workloads` has one entry per changed workload, in the order of the changes. `doubts`: all that it
    isn't sure of; an error beside a verdict that passes, and "proven" beside a doubt of the verdict, are no answers."""

    headline: Text  # a dozen words for the person who decides, without the verdict
    but: Text = NO_WORDS  # what may decide otherwise: so its sentence ends
    workloads: tuple[WorkloadRollout, ...]
    ticks: int
    seconds: float
    peak_held: Amounts  # most of each extended resource held at any quiet moment, whole cluster
    capacity: Amounts  # allocatable of the same resources
    pending: tuple[PendingPods, ...]  # of the whole cluster
    timeline: tuple[TimelineRow, ...]  # of the first changed workload
    placement: Sequence[tuple[str, str, str]]  # (namespace, pod or owner, node) at the end, changed workloads only
    ties: Ties | None = None
    remedies: tuple[Remedy, ...] = ()
    volume_cures: tuple[VolumeCure, ...] = ()  # where a pod waits for a volume that another node has
    findings: tuple[Finding, ...] = ()
    preempted: tuple[str, ...] = ()  # "namespace/pod" of victims
    in_flight: tuple[OtherInFlight, ...] = ()  # others that the change meets
    meanwhile: tuple[EventBeside, ...] = ()  # what was to happen beside it, in its order
    apply: tuple[Applied, ...] = ()  # of each changed workload how the change is applied; none for a mere restart
    growth: Text = NO_WORDS  # for NEEDS_GROWTH: what has to grow, in words
    is_growth_automatic: bool = False  # for NEEDS_GROWTH: an autoscaler adds the nodes, within a maximum that is known
    extra_nodes: int = 0  # for NEEDS_GROWTH: nodes that come
    extra_gpus: int = 0  # GPUs on them
    fewest_nodes: int = 0  # with how many of them it completes
    new_nodes: tuple[Node, ...] = ()  # those that come
    node_template: str = ""  # a node of today like the first of them
    unasked_nodes: tuple[Node, ...] = ()  # that an autoscaler brings though it completes without
    unasked_node_seconds: float = 0.0  # how long they are there, all together
    unasked_usd: float | None = None  # what that costs; None without a price
    doubts: tuple[Doubt, ...] = ()  # those that could change the most first

    def __post_init__(self) -> None:
        check_answer(
            passes=self.verdict in (Verdict.COMPLETES, Verdict.NEEDS_GROWTH, Verdict.EVICTIONS_BY_QUEUE),
            is_called_proven=self.ties is not None and self.ties.proven,
            doubts=self.doubts,
            findings=self.findings,
        )


Pair = tuple[int, int]
RECREATE: Final = (-1, -1)
"""Stands for Recreate, which isn't told by maxSurge and maxUnavailable."""


class PlayedStrategy(Record):
    """What a rollout comes to with one strategy."""

    max_surge: int
    max_unavailable: int
    is_recreate: bool = False
    is_current: bool = False
    lowest_ready: int
    seconds: float
    peak_gpus: int  # peak of the workload's GPUs (or of its scarcest resource) held by it, terminating included
    extra_gpus: int = 0  # of the peak, those beyond what it holds before the change
    evictions: int = 0  # times that pods of others are preempted on the way

    @property
    def pair(self) -> Pair:
        return RECREATE if self.is_recreate else (self.max_surge, self.max_unavailable)

    @property
    def strategy(self) -> Strategy:
        """As a Deployment has it."""
        return (
            Strategy(kind=workload_kinds.RECREATE)
            if self.is_recreate
            else rolling(self.max_surge, self.max_unavailable)
        )


def rolling(surge: int, unavailable: int) -> Strategy:
    """RollingUpdate with these limits."""
    return Strategy(kind=workload_kinds.ROLLING_UPDATE, max_surge=surge, max_unavailable=unavailable)


class GridCell(PlayedStrategy):
    verdict: Verdict
    reason: Reason
    peak_pods: int
    ticks: int
    is_valid: bool = True  # 0/0 is refused by the API server
    killed_jobs: int = 0  # of those evicted, the pods of Jobs: what they were at is begun again
    title: str = ""  # of a strategy that isn't told by the two numbers: then these only tell one cell from another


class StrategyGrid(Record):
    """Every maxSurge × maxUnavailable from 0 to replicas (thinned where there are many, but for today's), and Recreate.

    `cells[surge][unavailable]`.
    """

    workload: str
    surges: tuple[int, ...]
    unavailables: tuple[int, ...]
    cells: tuple[tuple[GridCell, ...], ...]
    recreate: GridCell
    sentence: Text
    nouns: Nouns = GPUS  # what the cells' GPUs are a number of
    keep_ready: int | None = None  # pods that the workload's PodDisruptionBudgets keep Ready; None without one


# Reasons an autoscaler reacts to: the pod waits, and might be placed on a node that isn't there yet.
GROWING_REASONS = frozenset(
    {
        Reason.NO_MATCHING_NODE,
        Reason.VOLUME,
        Reason.HOLD_AND_WAIT,
        Reason.INSUFFICIENT_RESOURCE,
        Reason.TOO_MANY_PODS,
        Reason.HOST_PORT,
        Reason.POD_AFFINITY,
        Reason.TOPOLOGY_SPREAD,
        Reason.DEVICE,
    }
)
