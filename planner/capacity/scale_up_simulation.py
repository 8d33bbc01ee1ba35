"""Simulates the scale-ups of autoscalers for a rollout that is stuck on today's nodes: verdict, new nodes, limits.

The rollout is played until nothing moves; then cluster-autoscaler (`cluster_autoscaler`) and Karpenter (`karpenter`) are asked what
they add for all pods that wait, whosever they are; the nodes come, and the rollout goes on, until it completes or they add
nothing more. So growth that others eat is seen, and as many pools grow as it takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from planner.capacity import karpenter
from planner.capacity.capacity_buffers import Consumers, provisioned_buffer_pods, provisioning_request_effect
from planner.capacity.cluster_autoscaler import scale_up, unschedulable, with_daemons_aside
from planner.capacity.hypothetical_node_groups import hypothetical_groups, unmatched_pool_list, without_devices
from planner.capacity.node_groups import NodeGroup, Sizes, is_karpenters, node_groups
from planner.capacity.node_pools import NodePool, binding_words, capacity_of
from planner.capacity.work_limits import LIMITS
from planner.ground.errors import NotKnownError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOSTNAME
from planner.ground.words import Text, count, listing, plural, roughly
from planner.ground.work_budget import SEARCH_UNITS, TOO_LARGE, TooLargeError, part, too_large
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.pool_limits import LimitSource
from planner.kubernetes.node_properties import arrival_seconds, gpu_count, machine_type, zone
from planner.kubernetes.object_records import FrozenMap, Node, Pod
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import named_nodes, node_affinity_matches, tolerates_taints
from planner.kubernetes.workload_kinds import POD
from planner.rollout.ownership import pods_of, workloads_by_owner
from planner.rollout.prepared_change import compiled
from planner.rollout.room_when_empty import RoomWhenEmpty
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.stuck_diagnosis import fits_without
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import Happening
from planner.scheduling.shape import Shape
from planner.scheduling.state import State
from planner.scheduling.template_node import bare_copy, empty_copy


class PoolGrowth(Record, eq=False):
    """A pool that grows by so many nodes; `like`: of which of its nodes they are like, where these aren't alike."""

    pool: NodePool
    nodes: int
    like: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """``pool gpu-t4 grows by 1 node (5 → 6, max 8)``."""
        now = self.pool.node_count
        nodes = f"{count(self.nodes, 'node')}{f' like {listing(list(self.like))}' if self.like else ''}"
        return f"pool {self.pool.name} grows by {nodes} ({now} → {now + self.nodes}, {limit_of(self.pool)})"


class Growth(Record, eq=False):
    """Pools grown so that the rollout completes; `run` is that rollout.

    Attributes
    ----------
    comes : what the autoscalers bring for all that wait; where nothing says that a pool grows by itself, the fewest
    fewest : with how many of those nodes it completes
    nodes : the nodes that come
    taken : nodes that others' pods take, by workload
    arrival_seconds : until the first come
    """

    comes: tuple[PoolGrowth, ...]
    fewest: tuple[PoolGrowth, ...]
    run: Run
    nodes: tuple[Node, ...]
    taken: tuple[tuple[str, int], ...]
    arrival_seconds: float

    @property
    def pool(self) -> NodePool:
        """The pool that grows most."""
        return max(self.comes, key=lambda pool_growth: pool_growth.nodes).pool

    @property
    def grows_by_itself(self) -> bool:
        return all(come.pool.grows_by_itself for come in self.comes)

    @property
    def has_grown(self) -> str:
        """``pool gpu-t4 has 4 more nodes``."""
        return " and ".join(
            f"pool {come.pool.name} has {count(come.nodes, 'more node', 'more nodes')}" for come in self.comes
        )

    @property
    def gpus(self) -> int:
        return sum(gpu_count(node) for node in self.nodes)

    @property
    def sentence(self) -> str:
        """``completes if pool gpu-t4 grows by 1 node (5 → 6, max 8); the autoscaler will bring 4``."""
        sentence = f"completes if {' and '.join(pool_growth.sentence for pool_growth in self.fewest)}"
        few, many = sum(pool_growth.nodes for pool_growth in self.fewest), sum(come.nodes for come in self.comes)
        # The autoscaler brings nodes for all that wait, others' pods too: more than this rollout needs.
        if many > few:
            by_pool = (
                ", ".join(f"{pool_growth.nodes} of {pool_growth.pool.name}" for pool_growth in self.comes)
                if len(self.comes) > 1
                else ""
            )
            sentence += f"; the autoscaler will bring {many}" + (f" ({by_pool})" if by_pool else "")
        if self.taken:
            takers_text = ", ".join(f"{nodes} to {key}" for key, nodes in self.taken[: LIMITS.others_named])
            sentence += (
                f"; of the new nodes go {takers_text}, {plural(len(self.taken), 'which waits', 'which wait')} too"
            )
        return sentence


class GrowthAnswer(Record, eq=False):
    """The growth that completes it, if any, and the sentence either way; `unknown`: what has to be known to say, chance too:
    who of those that wait is tried first."""

    growth: Growth | None
    sentence: Text
    unknown: str = ""


def limit_of(pool: NodePool) -> str:
    """Of a pool that grows, how far it may."""
    if pool.source is LimitSource.UNKNOWN:
        return "its maximum is unknown"
    if pool.is_autoscaled is False:
        return f"fixed size by {pool.source}"
    if pool.maximum is not None:
        return f"max {pool.maximum}"
    return f"within its limits on {', '.join(sorted(pool.resource_limits))}" if pool.resource_limits else "no maximum"


@part(units=SEARCH_UNITS)
def grow(
    cluster: Cluster,
    revisions: Sequence[Revision],
    stuck: Run,
    waiting: Shape | None,
    pools: Sequence[NodePool],
    *,
    seed: int = 0,
    how: Autoscaling | None = None,
    says_why: bool = True,
) -> GrowthAnswer:
    """What autoscalers bring so that the rollout completes, within the pools' limits.

    Parameters
    ----------
    stuck : Run
        The rollout as it ends today.
    waiting : Shape or None
        A pod of it that finds no node.
    says_why : bool
        Whether the sentence is wanted where nothing helps: what it would take without limits is played for it.
    """
    if waiting is None:
        return GrowthAnswer(growth=None, sentence=Text())
    if node := tied_to(stuck, revisions):
        why = f"more nodes don't help: a pod of it can only run on {node}" if says_why else ""
        return GrowthAnswer(growth=None, sentence=Text(why))
    question = _GrowthRequest(cluster, revisions, stuck, how or Autoscaling(), seed)
    stated = [pool for pool in pools if pool.source is not LimitSource.UNKNOWN]
    unknown: list[str] = []
    foreign = unmatched_pool_list(pools)
    # Pools with known limits come first: a pool without a known limit is only asked where these don't do.
    for tried_pools in (stated, pools) if len(stated) < len(pools) else (pools,):
        if not tried_pools:
            continue
        tried = _Scaling(question, tried_pools)
        try:
            if tried.play():
                growth = tried.growth()
                # These pools may be another cluster's, since the list names none of this cluster's own: no growth rests
                # on them.
                if not (strange := [foreign[come.pool.name] for come in growth.comes if come.pool.name in foreign]):
                    return GrowthAnswer(growth=growth, sentence=Text(growth.sentence))
                unknown += strange[:1]
                continue
            if not unknown and (lacks := tried.missing(waiting) or tried.luck(waiting)):
                unknown.append(lacks)
        except TooLargeError:
            unknown.append(f"whether it completes once {tried.names} {tried.has_grown} is {TOO_LARGE}")
            break
    if not unknown and (lacks := _lacking(question, pools, waiting)):
        unknown.append(lacks)
    requests = [provisioning_request_effect(cluster.snapshot, revision) for revision in revisions]
    unknown += [words for words, is_known in requests if not is_known]
    refused = [words for words, is_known in requests if words and is_known]
    if says_why and not refused and not unknown:
        refused += _past_limits(question, pools) or _too_small(question, pools, waiting) or _why_none(question, waiting)
    return GrowthAnswer(growth=None, sentence=Text("; ".join(refused)), unknown="; ".join(dict.fromkeys(unknown)))


def tied_to(stuck: Run, revisions: Sequence[Revision]) -> str:
    """The nodes on which alone a pod of the changes can run and finds no room, whatever nodes come; "" where there is no such pod.

    A pod of a DaemonSet names its node. Others' pods leave that node for a new one only if a rollout of theirs replaces them, or if an
    event moves them. Without this rule the search feeds itself: a DaemonSet that preempts gets a pod on every new node, and preempts
    there again.

    Source: kubernetes `pkg/controller/daemon/util/daemonset_util.go` `ReplaceDaemonSetPodNodeNameNodeAffinity`; kubernetes/autoscaler
    `cluster-autoscaler/simulator/node_info_utils.go` `SanitizedTemplateNodeInfo` (a new node has a name and a hostname of its own).
    """
    cluster, pods = stuck.simulation.cluster, stuck.simulation.pods
    if cluster.later:
        return ""
    owners = workloads_by_owner(cluster)
    rolling = {revision.after.key for revision in revisions} | {other.key for other in stuck.others}
    for key in (revision.after.key for revision in revisions):
        for pod in stuck.pods[key]:
            own = pod.shape.spec.node_selector.get(HOSTNAME)
            only = named_nodes(pod.shape.spec) or ([own] if own else ())
            places = [cluster.node_index[name] for name in only if name in cluster.node_index]
            if pod.is_bound or pod.is_gone or not places:
                continue
            movers = [
                live_pod for place in places for live_pod in pods.on(place)
                if owners.get(live_pod.owner, live_pod.owner) in rolling - {key} and not live_pod.is_new
            ]  # fmt: skip
            if not fits_without(stuck, pod.shape, movers):
                return listing([cluster.node_names[place] for place in places])
    return ""


class _New(Record, eq=False):
    """A node that comes; `like`: see `NodeGroup`."""

    pool: NodePool
    node: Node
    like: str = ""


class _GrowthRequest:
    """The question, which is the same whatever may grow."""

    def __init__(
        self, cluster: Cluster, revisions: Sequence[Revision], stuck: Run, how: Autoscaling, seed: int
    ) -> None:
        self.cluster, self.revisions, self.stuck, self.how, self.seed = cluster, revisions, stuck, how, seed
        self.consumers = Consumers.of(cluster.snapshot, revisions)

    @cached_property
    def buffered(self) -> tuple[LivePod, ...]:
        return provisioned_buffer_pods(self.cluster)

    def played(self, waves: Sequence[Sequence[_New]], *, others_last_of: int | None = None) -> Run:
        """The rollout, to which each wave of nodes comes once nothing moves.

        Parameters
        ----------
        others_last_of : int, optional
            Others' pods that wait with this priority come after the workloads'.

        Raises
        ------
        TooLargeError
            When it is too large to play.
        """
        cluster = self.cluster
        if others_last_of is not None:
            cluster = _put_last(cluster, self.revisions, others_last_of)
        grown = cluster.grown(tuple(new.node for wave in waves for new in wave))
        come = tuple(
            Happening(
                after_seconds=WHEN_AT_REST, words=_words(wave), prolongs=False, takes_seconds=self.arrival_of(wave),
                nodes_come=tuple(new.node.name for new in wave),
            )
            for wave in waves
        )  # fmt: skip
        return simulate(grown.expecting((*self.cluster.later, *come)), self.revisions, seed=self.seed).whole()

    def arrival_of(self, wave: Iterable[_New]) -> float:
        """Seconds until all of them take pods."""
        if self.how.arrival_seconds is not None:
            return self.how.arrival_seconds
        return max(max(arrival_of(new.pool), arrival_seconds(has_gpus=bool(gpu_count(new.node)))) for new in wave)

    def at_rest(self, run: Run) -> State:
        """The cluster as it is once nothing moves, without the expendable pods: theirs is room that cluster-autoscaler takes
        for free."""
        state = run.simulation.state.over(run.simulation.cluster)
        if min((pod.spec.priority or 0 for pod in self.cluster.snapshot.pods), default=0) < self.how.expendable_below:
            for node in range(run.simulation.cluster.node_count):
                for pod in run.simulation.pods.on(node):
                    if pod.priority < self.how.expendable_below:
                        state.remove(pod.shape, node, is_terminating=pod.is_terminating)
        return state


def _put_last(cluster: Cluster, revisions: Sequence[Revision], priority: int) -> Cluster:
    """The cluster in which others' pods that wait with that priority come after the workloads'."""
    own = {index for revision in revisions for index in pods_of(cluster, revision.after)}

    def put(index: int, pod: Pod) -> Pod:
        if index in own or not pod.waits or cluster.priority_of(pod.spec) != priority:
            return pod
        return replace(pod, spec=replace(pod.spec, priority=priority - 1, preemption_policy="Never"))

    return compiled(replace(cluster.snapshot, pods=tuple(put(i, pod) for i, pod in enumerate(cluster.snapshot.pods))))


def _words(wave: Iterable[_New]) -> str:
    by_pool = Counter(new.pool.name for new in wave)
    return " and ".join(
        f"{count(nodes, 'node')} of pool {name} {plural(nodes, 'comes', 'come')}" for name, nodes in by_pool.items()
    )


class _Scaling:
    """Autoscalers at work on one rollout; `is_bound` False: as if no pool had a limit."""

    def __init__(
        self,
        question: _GrowthRequest,
        pools: Sequence[NodePool],
        *,
        is_bound: bool = True,
        untold: Sequence[NodeGroup] = (),
    ) -> None:
        self._asked = question
        if not is_bound:
            pools = [replace(pool, is_autoscaled=None) if pool.is_autoscaled is False else pool for pool in pools]
        self._pools = pools
        self._of_karpenter = [pool for pool in pools if is_karpenters(pool)]
        self._groups, self._missing = node_groups(question.cluster, [pool for pool in pools if not is_karpenters(pool)])
        self._groups += tuple(untold)
        self.grown: set[NodeGroup] = set()
        self._sizes = Sizes(question.cluster, [*pools, *(node_group.pool for node_group in untold)], is_bound=is_bound)
        self._offer = karpenter.Provisioner(question.cluster, self._of_karpenter, is_bound=is_bound)
        self._waves: list[list[_New]] = []
        self._run = question.stuck

    @property
    def names(self) -> str:
        names = dict.fromkeys(new.pool.name for wave in self._waves for new in wave)
        return "node pools" if not names else ("pool " if len(names) == 1 else "pools ") + " and ".join(names)

    @property
    def has_grown(self) -> str:
        return "has grown" if len({new.pool.name for wave in self._waves for new in wave}) == 1 else "have grown"

    @property
    def new(self) -> list[_New]:
        return [new for wave in self._waves for new in wave]

    def play(self) -> bool:
        """Whether it completes with what they bring.

        Raises
        ------
        TooLargeError
            When that is too large to play: what more nodes would do isn't known then.
        """
        while wave := self._next():
            self._waves.append(wave)
            if len(self._waves) > LIMITS.growth_waves or len(self.new) > LIMITS.nodes_brought:
                raise too_large()
            self._run = self._asked.played(self._waves)
            if self._run.completed:
                return True
        return False

    def _next(self) -> list[_New]:
        """What they add now."""
        run, how = self._run, self._asked.how
        cluster = run.simulation.cluster
        wave: list[_New] = []
        if self._groups:
            waiting = (*self._asked.consumers.without(run, run.waiting), *self._asked.buffered)
            more = scale_up(cluster, self._asked.at_rest(run), waiting, self._groups, self._sizes, how)
            wave += [self._made(group, number) for number, group in enumerate(more)]
        if self._of_karpenter:
            state = run.simulation.state.over(cluster)
            for pool, node in self._offer.provision(cluster, state, run.waiting):
                wave.append(_New(pool=pool, node=bare_copy(node, self._name(node.name, len(wave)))))
        return wave

    def _made(self, group: NodeGroup, number: int) -> _New:
        self.grown.add(group)
        node = bare_copy(group.template, self._name(group.template.name, number))
        return _New(pool=group.pool, node=node, like=group.like)

    def _name(self, like: str, number: int) -> str:
        number += len(self.new) + 1
        while (name := f"{like}-new-{number}") in self._asked.cluster.node_index:
            number += LIMITS.nodes_brought
        return name

    def growth(self) -> Growth:
        new, run = self.new, self._run
        fewest, smaller = self._fewest()
        if not all(new_node.pool.grows_by_itself for new_node in new):
            new, run = new[:fewest], smaller
        return Growth(
            comes=_by_pool(new),
            fewest=_by_pool(self.new[:fewest]),
            run=run,
            nodes=tuple(new_node.node for new_node in new),
            taken=_taken(run, [new_node.node.name for new_node in new]),
            arrival_seconds=self._asked.arrival_of(self._waves[0]),
        )

    def _fewest(self) -> tuple[int, Run]:
        """With how many of the nodes, in the order they come, it completes; and how it goes then."""
        question, new = self._asked, self.new
        grown = question.cluster.grown(tuple(new_node.node for new_node in new))
        rooms = [RoomWhenEmpty.of(question.stuck, revision) for revision in question.revisions]
        least = (
            room.least_growth(grown, len(new), revision.after)
            for room, revision in zip(rooms, question.revisions, strict=True)
        )
        low, high, run = min(len(new), max(1, *least)), len(new), self._run
        middle, step = low, 1  # it mostly is what holds them, or little more
        while low < high:
            smaller = question.played([new[:middle]])
            if smaller.completed:
                high, run = middle, smaller
            else:
                low, step = middle + 1, 2 * step
            middle = min((low + high) // 2, low + step - 2)
        return high, run

    def luck(self, waiting: Shape) -> str:
        """Of nodes that others' pods of the same priority take: that it completes where its own come first; "" where it doesn't.

        Who waits longest is tried first, but who backs off comes last, and a back-off lasts the longer the oftener a pod was
        refused (10 s at most). A new node is tainted ``not-ready`` for some seconds: all are tried and refused then.

        Source: kubernetes `pkg/scheduler/backend/queue/backoff_queue.go` `calculateBackoffDuration`,
        `plugin/pkg/admission/nodetaint/admission.go`.
        """
        taken = _taken(self._run, [new.node.name for new in self.new])
        if not taken:
            return ""
        lucky = self._asked.played(self._waves, others_last_of=waiting.priority)
        if not lucky.completed or lucky.preempted:
            return ""
        who, come = listing([key for key, _ in taken]), len(self.new)
        return (
            f"whether the {count(come, 'node')} that {plural(come, 'comes', 'come')} to {self.names} {plural(come, 'goes', 'go')} "
            f"to {who}, {plural(len(taken), 'which waits', 'which wait')} with the same priority, or to its own pods is chance: "
            "who backs off as nodes get Ready is tried last. With its own first it completes"
        )

    def past_limits(self) -> list[str]:
        """Of what it would take, how far that is past limits."""
        fewest, _ = self._fewest()
        rooms = Sizes(self._asked.cluster, self._pools)
        limit_words = (
            _past(growth, rooms, self._new_zones(growth.pool, fewest), self._binding(growth.pool, fewest))
            for growth in _by_pool(self.new[:fewest])
        )
        return [words for words in limit_words if words is not None]

    def _binding(self, pool: NodePool, fewest: int) -> str:
        """The limits on resources that its new nodes pass, beside those that are there or on their way."""
        more, used = Counter[str](), Counter(capacity_of(self._asked.cluster, pool))
        for new in self.new[:fewest]:
            more.update(new.node.capacity or new.node.allocatable if new.pool.name == pool.name else {})
        for claim in karpenter.unregistered(self._asked.cluster, pool.name):
            used.update(claim.capacity)
        return binding_words(pool.binding(FrozenMap(used), FrozenMap(more)))

    def _new_zones(self, pool: NodePool, fewest: int) -> list[tuple[NodeGroup, int]]:
        counted = Counter(zone(new.node) for new in self.new[:fewest] if new.pool.name == pool.name)
        return [
            (group, counted[group.zone])
            for group in self._groups
            if group.pool.name == pool.name and counted[group.zone]
        ]

    def missing(self, waiting: Shape) -> str:
        """What isn't known of pools that might take the pod; "" where that makes no difference."""
        of = {pool.name: pool for pool in self._pools}
        pairs = [(str(missing), of[missing.pool]) for missing in self._missing]
        reasons = [
            reason
            for reason, pool in pairs
            if pool.room() != 0 and tolerates_taints(waiting.spec.tolerations, pool.taints)
        ]
        devices = without_devices(self._pools, waiting)
        return "; ".join(filter(None, (*reasons, *self._offer.missing(waiting), devices)))


def _by_pool(new: Sequence[_New]) -> tuple[PoolGrowth, ...]:
    pools: dict[str, list[_New]] = {}
    for new_node in new:
        pools.setdefault(new_node.pool.name, []).append(new_node)
    likes = [tuple(dict.fromkeys(pool_node.like for pool_node in some if pool_node.like)) for some in pools.values()]
    return tuple(
        PoolGrowth(pool=some[0].pool, nodes=len(some), like=like)
        for some, like in zip(pools.values(), likes, strict=True)
    )


def _taken(run: Run, names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """How many of the new nodes run only pods of other workloads, by workload."""
    simulation, pods_by_workload = run.simulation, Counter[str]()
    daemons = {workload.key for workload in simulation.snapshot.every_workload if workload.traits.is_per_node}
    owners = workloads_by_owner(simulation.cluster)
    for name in names:
        pods = [pod for pod in simulation.pods.on(simulation.cluster.node_index[name]) if pod.owner not in daemons]
        if pods and all(run.is_others(pod) for pod in pods):
            pods_by_workload[owners.get(pods[0].owner, pods[0].owner or POD.key(pods[0].namespace, pods[0].name))] += 1
    return tuple(pods_by_workload.most_common())


def _lacking(question: _GrowthRequest, pools: Sequence[NodePool], waiting: Shape) -> str:
    """What is not known of the pools there are, where it would complete if that were as its pods ask; "" else."""
    more = dict(hypothetical_groups(question.cluster, pools, waiting))
    if not more:
        return ""
    if any(new_node.pool.source is LimitSource.KARPENTER for new_node in more):  # whatever the priority of who waits
        how = replace(question.how, expendable_below=-(2**31))
        question = _GrowthRequest(question.cluster, question.revisions, question.stuck, how, question.seed)
    tried = _Scaling(question, pools, untold=list(more))
    try:
        completes = tried.play()
    except TooLargeError:
        completes = True  # for all that is known
    reasons = [what for group, what in more.items() if group in tried.grown] or more.values()
    return "; ".join(dict.fromkeys(reasons)) if completes else ""


# ── where nothing helps ──────────────────────────────────────────────────────────────────────────────────────────────
def _past_limits(question: _GrowthRequest, pools: Sequence[NodePool]) -> list[str]:
    """Words for the growth that it would take if no pool had a limit."""
    tried = _Scaling(question, pools, is_bound=False)
    try:
        return tried.past_limits() if tried.play() else []
    except TooLargeError:
        return []


def _past(growth: PoolGrowth, rooms: Sizes, zones: Sequence[tuple[NodeGroup, int]], binding: str = "") -> str | None:
    """``pool gpu-a100 would need 1 more node; its maximum is 2 (gcloud node-pools list)``."""
    pool, now = growth.pool, growth.pool.node_count
    wish = f"pool {pool.name} would need {count(growth.nodes, 'more node')}"
    if any(group.pool.is_autoscaled is None for group, _ in zones) and pool.source is not LimitSource.UNKNOWN:
        return f"{wish}; its size is fixed ({pool.source})"
    if pool.maximum is not None and now + growth.nodes > pool.maximum:
        return f"{wish}; its maximum is {pool.maximum} ({pool.source})"
    for group, nodes in zones:
        room = rooms.room(group)
        if room is not None and nodes > room:
            return f"{wish} in zone {group.zone}; its maximum is {pool.maximum_per_zone} a zone ({pool.source})"
    if pool.resource_limits:
        return f"{wish}, above its limits on {binding or ', '.join(sorted(pool.resource_limits))} ({pool.source})"
    return None


def _too_small(question: _GrowthRequest, pools: Sequence[NodePool], waiting: Shape) -> list[str]:
    """The pools that may grow, with nodes that the pod may run on, with too little of what it asks for even empty.

    Source: kubernetes/autoscaler `cluster-autoscaler/core/scaleup/orchestrator` ("wouldn't fit if a new node is added").
    """
    groups, _ = node_groups(question.cluster, [pool for pool in pools if not is_karpenters(pool)])
    sizes, spec, sentences = Sizes(question.cluster, pools), waiting.spec, dict[str, str]()
    requests = pod_requests(spec)
    for group in groups:
        node, pool = with_daemons_aside(question.cluster, group.template), group.pool
        has = node.allocatable
        lacking = [name for name, amount in requests.items() if amount > has.get(name, 0)]
        may_run = tolerates_taints(spec.tolerations, node.taints) and node_affinity_matches(
            spec, node.labels, node.name
        )
        # A pool without any of a resource is of another kind (no GPU at all): it isn't too small, and is no news.
        if not may_run or sizes.room(group) == 0 or not lacking or any(not has.get(name, 0) for name in lacking):
            continue
        capacity_text = listing([f"{roughly(has[name], name)} {name}" for name in lacking])
        asks = listing([f"{roughly(requests[name], name)} {name}" for name in lacking])
        machine = f" {machine_type(group.template)}" if machine_type(group.template) else ""
        now = f"{pool.node_count} now, {limit_of(pool)}"
        sentences[pool.name] = (
            f"pool {pool.name} ({now}) doesn't help: a new{machine} node has {capacity_text} for pods, and the pod needs {asks}"
        )
    return list(sentences.values())[: LIMITS.others_named]


def _why_none(question: _GrowthRequest, waiting: Shape) -> list[str]:
    """Why cluster-autoscaler adds nothing for the pod, where that isn't plain."""
    cutoff = question.how.expendable_below
    if waiting.priority < cutoff:
        return [f"the autoscaler adds no node for pods of a priority below {cutoff}, which are expendable to it"]
    pending_pods = unschedulable(question.at_rest(question.stuck), question.stuck.waiting, question.how)
    if all(pod.shape is not waiting for pod in pending_pods):
        what = f"it takes the room of expendable pods (priority below {cutoff}) for free, and the pod may not push them out"
        return [f"the autoscaler adds no node: {what}"]
    return []


def arrival_of(pool: NodePool) -> float:
    """Seconds until a new node of the pool takes pods."""
    return arrival_seconds(has_gpus=bool(pool.gpus_a_node))


def new_nodes(cluster: Cluster, pool: NodePool, count: int) -> tuple[Node, ...]:
    """`count` nodes that the pool would grow by, what DaemonSets will take set aside."""
    return tuple(empty_copy(cluster, node, i) for i, node in enumerate(zone_templates(cluster, pool, count)))


def zone_templates(cluster: Cluster, pool: NodePool, count: int) -> tuple[Node, ...]:
    """Which nodes `count` new ones of a pool are like: each in the zone that has the fewest, where it has room.

    Source: GKE's location policies BALANCED and ANY keep to the same limits; balanced is assumed.

    Raises
    ------
    NotKnownError
        For a pool without nodes of which nothing says what its machine is.
    """
    groups, missing = node_groups(cluster, [pool])
    if not groups:
        raise NotKnownError(str(missing[0]), fix="Give --node-pools with its machine type")
    sizes = Sizes(cluster, [pool])
    chosen = []
    for _ in range(count):
        free = [
            node_group
            for node_group in groups
            if pool.maximum_per_zone is None or sizes.size(node_group) < pool.maximum_per_zone
        ]
        group = min(free or groups, key=lambda node_group: (sizes.size(node_group), node_group.zone))
        sizes.added[group.key] += 1
        chosen.append(group.template)
    return tuple(chosen)


def waiting_shape(run: Run, key: str) -> Shape | None:
    """A pod of the workload that waits at the end, one of the new revision if there is one."""
    waiting = [pod for pod in run.pods[key] if not pod.is_bound]
    return next((pod.shape for pod in waiting if pod.is_new), waiting[0].shape if waiting else None)
