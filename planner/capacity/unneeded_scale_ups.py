"""Scale-ups that a rollout triggers although it completes without them: its pods are pending for a while.

A successor waits while its predecessor terminates. cluster-autoscaler leaves new pods alone until the oldest is 2 s old (30 s where it
asks for GPUs). After that it adds nodes for all that wait: they come too late to be of use, and go again after 10 minutes.

Source: kubernetes/autoscaler `cluster-autoscaler/core/static_autoscaler.go` `allPodsAreNew` and `RunOnce`,
``--scale-down-unneeded-time`` of `config/flags/flags.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.capacity.capacity_buffers import BUFFER, Consumers, nodes_for, provisioned_buffer_pods
from planner.capacity.cluster_autoscaler import scale_up, unschedulable
from planner.capacity.node_groups import NodeGroup, Sizes, is_karpenters, node_groups
from planner.capacity.node_pools import NodePool
from planner.capacity.scale_up_simulation import arrival_of
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record
from planner.ground.words import count, duration, listing, plural
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.pool_limits import LimitSource
from planner.kubernetes.accelerators import alike
from planner.kubernetes.object_records import Node
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import kind_in
from planner.pricing.node_price import price_node
from planner.pricing.price_book import PriceBook
from planner.rollout.run import QuietMoment, Revision, Run, simulate
from planner.rollout.strategy_choice import Brought
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import Happening
from planner.scheduling.template_node import bare_copy


class Unasked(Record, eq=False):
    """Nodes that come though the rollout completes without; each stays until it was not needed for some time after it came or the rollout was done.

    Attributes
    ----------
    stays_seconds : how long they are there, by node
    waits_seconds : the longest that a pod waited before
    buffers : the CapacityBuffers that they fill up
    is_pushing : whether pods were pushed out for it
    lasts : whether they are needed when it is done: by pods that it pushed out, or for the room of a buffer that it took
    """

    nodes: tuple[Node, ...]
    pools: tuple[tuple[str, int], ...]
    stays_seconds: tuple[float, ...]
    waits_seconds: float
    buffers: tuple[str, ...] = ()
    is_pushing: bool = False
    lasts: bool = False

    def usd(self, book: PriceBook | None) -> float | None:
        """What they cost in all, USD; None where one of them has no price, or stays."""
        if self.lasts or book is None:
            return None
        hourly = [price_node(book, node).price.usd_per_hour for node in self.nodes]
        known_prices = [price for price in hourly if price is not None]
        if len(known_prices) < len(hourly):
            return None
        return sum(usd * seconds for usd, seconds in zip(known_prices, self.stays_seconds, strict=True)) / 3600

    def brought(self, book: PriceBook | None) -> Brought:
        """Unneeded scale-ups in short, for one row of a table."""
        return Brought(nodes=len(self.nodes), seconds=max(self.stays_seconds), usd=self.usd(book))

    @property
    def sentence(self) -> str:
        """``the autoscaler brings 3 nodes of pool gpu that it doesn't need, for about 12 min: …``."""
        pools_text = " and ".join(f"{count(nodes, 'node')} of pool {name}" for name, nodes in self.pools)
        many = sum(nodes for _, nodes in self.pools)
        why = f"pods wait up to {duration(self.waits_seconds)} while others terminate"
        if self.is_pushing:
            why = "for pods that it pushes out"
        if self.buffers:
            why = f"to keep the room of {listing(self.buffers)}"
        stay = f"for about {duration(max(self.stays_seconds))}"
        if self.lasts:
            stay = "as long as those pods are" if not self.buffers else "as long as that room is kept"
        return f"the autoscaler brings {pools_text} on the way, which it doesn't need: {why}. {plural(many, 'It is', 'They are')} there {stay}"


class _Coming(Record, eq=False):
    group: NodeGroup
    node: Node
    at_seconds: float
    buffers: tuple[str, ...] = ()  # it comes for nothing but their room


def unneeded_scale_ups(
    cluster: Cluster, revisions: Sequence[Revision], pools: Sequence[NodePool], how: Autoscaling, *, seed: int = 0
) -> Unasked | None:
    """What cluster-autoscaler adds while a rollout that completes goes on; None where nothing.

    Parameters
    ----------
    revisions : Revisions
        With `Revision.times`.

    Raises
    ------
    TooLargeError
        When it is too large to play.
    """
    grown_by_it = [
        pool for pool in pools
        if pool.source is not LimitSource.UNKNOWN and pool.is_autoscaled is not False and not is_karpenters(pool)
    ]  # fmt: skip
    groups, _ = node_groups(cluster, grown_by_it)
    if not groups:
        return None
    sizes = Sizes(cluster, grown_by_it)
    coming: list[_Coming] = []
    run, last_tick, waits = _played(cluster, revisions, coming, seed), -1, 0.0
    buffer_pods, consumers = provisioned_buffer_pods(cluster), Consumers.of(cluster.snapshot, revisions)
    for _ in range(LIMITS.unasked_growths):
        arrivals = _next(run, groups, sizes, how, coming, last_tick, buffer_pods, consumers)
        if arrivals is None:
            break
        pause, more = arrivals
        last_tick, waits = pause.tick, max(waits, pause.until_seconds - pause.seconds)
        coming += more
        run = _played(cluster, revisions, coming, seed)
    if not coming:
        return None
    done = max(run.tick_ends, default=0.0)
    return Unasked(
        nodes=tuple(new_node.node for new_node in coming),
        pools=tuple(Counter(new_node.group.pool.name for new_node in coming).items()),
        stays_seconds=tuple(
            max(0.0, done - new_node.at_seconds) + how.scale_down_unneeded_seconds for new_node in coming
        ),
        waits_seconds=waits,
        buffers=tuple(dict.fromkeys(name.removeprefix(f"{BUFFER}/") for arrival in coming for name in arrival.buffers)),
        is_pushing=_pushes(run),
        lasts=(bool(buffer_pods) or _pushes(run)) and _lasts(run, coming, buffer_pods),
    )


def _played(cluster: Cluster, revisions: Sequence[Revision], coming: Sequence[_Coming], seed: int) -> Run:
    later = tuple(
        Happening(
            after_seconds=new_node.at_seconds,
            words=f"1 node of pool {new_node.group.pool.name} comes",
            nodes_come=(new_node.node.name,),
            prolongs=False,
        )
        for new_node in coming
    )
    grown = (
        cluster.grown(tuple(new_node.node for new_node in coming)).expecting((*cluster.later, *later))
        if coming
        else cluster
    )
    return simulate(grown, revisions, seed=seed, keeps_rests=True).whole()


def _next(
    run: Run,
    groups: Sequence[NodeGroup],
    sizes: Sizes,
    how: Autoscaling,
    coming: Sequence[_Coming],
    last_tick: int,
    buffer_pods: Sequence[LivePod],
    consumers: Consumers,
) -> tuple[QuietMoment, list[_Coming]] | None:
    """The first moment after tick `last_tick` in which it adds nodes, and those."""
    since: dict[str, float] = {}
    for pause in (*run.rests, *_last(run, how, buffer_pods)):
        for pod in pause.waiting:
            since.setdefault(pod.uid or pod.name, pause.seconds)
        if pause.tick <= last_tick:
            continue
        waiting = consumers.without(run, pause.waiting)
        ages = [(pause.until_seconds - since[pod.uid or pod.name], pod) for pod in waiting]
        with_gpus = [age for age, pod in ages if _asks_for_gpus(pod)]
        # pods of a buffer are as old as can be: nothing is waited for
        is_time = bool(buffer_pods) or max((age for age, _ in ages), default=0.0) > how.pod_delay_seconds
        is_time &= bool(buffer_pods) or not with_gpus or max(with_gpus) > how.gpu_pod_delay_seconds
        added = _added(run, pause, (*waiting, *buffer_pods), groups, sizes, how, coming) if is_time else []
        if added:
            return pause, added
    return None


def _pushes(run: Run) -> bool:
    """Whether pods lose a node that they have today; one that came meanwhile they may lose again."""
    pods = run.simulation.snapshot.pods
    return any(pod.number < 0 and pods[pod.number + len(pods)].node_name for pod in run.preempted)


def _lasts(run: Run, coming: Sequence[_Coming], buffer_pods: Sequence[LivePod]) -> bool:
    """Whether fewer nodes of the groups that grew are left without pods than came."""
    simulation, cluster = run.simulation, run.simulation.cluster
    state = simulation.state.over(cluster)
    for new_node in coming:
        if (place := cluster.node_index[new_node.node.name]) in state.absent:
            state.open(place)
    on_it = ((node, pod) for node in range(cluster.node_count) for pod in simulation.pods.on(node))
    used = {node for node, pod in on_it if not kind_in(pod.owner).is_per_node}
    # Pods that are still pending, and buffers' placeholders, make a node needed though no pod runs there yet.
    used |= nodes_for(state, (*(run.waiting if _pushes(run) else ()), *buffer_pods), used)
    names = {name for arrival in coming for name in arrival.group.pool.nodes}
    places = {cluster.node_index[name] for name in (*names, *(arrival.node.name for arrival in coming))}
    return len(places - used) < len(coming)


def _last(run: Run, how: Autoscaling, buffer_pods: Sequence[LivePod]) -> tuple[QuietMoment, ...]:
    """The moment after it is done, where it pushed out pods that now wait, or took room that is kept."""
    waiting = run.waiting if _pushes(run) else ()
    if not waiting and not buffer_pods:
        return ()
    seconds = max(run.tick_ends, default=0.0)
    until = seconds + how.pod_delay_seconds + how.gpu_pod_delay_seconds + 1
    position = run.simulation.state.position
    return (
        QuietMoment(
            tick=run.simulation.clock.tick + 1, seconds=seconds, until_seconds=until, position=position, waiting=waiting
        ),
    )


def _added(
    run: Run, pause: QuietMoment, waiting: Sequence[LivePod], groups: Sequence[NodeGroup], sizes: Sizes, how: Autoscaling,
    coming: Sequence[_Coming],
) -> list[_Coming]:  # fmt: skip
    cluster = run.simulation.cluster
    state = run.simulation.state.at(pause.position)
    for new_node in coming:  # on their way: taken for there
        place = cluster.node_index[new_node.node.name]
        if place in state.absent:
            state.open(place)
    arrivals: list[_Coming] = []
    pending_pods = unschedulable(state.over(cluster), waiting, how)
    buffers = tuple(pod.owner for pod in pending_pods if pod.owner.startswith(f"{BUFFER}/"))
    buffers = buffers if len(buffers) == len(pending_pods) else ()
    for group in scale_up(cluster, state, waiting, groups, sizes, how):
        name = f"{group.template.name}-unasked-{len(coming) + len(arrivals) + 1}"
        has_gpus = any(_asks_for_gpus(pod) for pod in waiting)
        delay = max(how.pod_delay_seconds, how.gpu_pod_delay_seconds if has_gpus else 0.0)
        wait = arrival_of(group.pool) + delay if how.arrival_seconds is None else how.arrival_seconds
        arrivals.append(
            _Coming(group=group, node=bare_copy(group.template, name), at_seconds=pause.seconds + wait, buffers=buffers)
        )
    return arrivals


def _asks_for_gpus(pod: LivePod) -> bool:
    return bool(alike(pod_requests(pod.shape.spec)))
