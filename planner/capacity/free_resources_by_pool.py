"""Free resources by cluster and by node pool: total, requested, free, and how many more pods of each shape fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.capacity.fragmentation import Fragments
from planner.capacity.gpu_inventory import GpuModelLine, free_words, supplies_of, unoffered_words
from planner.capacity.headroom import Fit, fit
from planner.capacity.headroom_shapes import parse_shape, workload_shapes
from planner.capacity.node_pools import NodePool, capacity_of, unmatched
from planner.ground.records import Record
from planner.ground.well_known_names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from planner.ground.words import count, plural, roughly, short_name
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.accelerator_units import Offer, units_of
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.node_properties import Sharing, noun_of
from planner.kubernetes.object_records import EMPTY, Amounts, Finding, FrozenMap, Severity, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import POD
from planner.rollout import prepared_change as prepared_question
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import counted, machines, offers_by_node, unheld

_SHOWN_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


class ResourceLine(Record):
    """One resource of the whole cluster. Requests are those of bound pods; what waiting pods ask for stands apart.

    ``requested + free + free_cordoned == allocatable + overcommitted``: what is free on one node doesn't help another, on
    which pods ask for more than there is. `free_cordoned` is what no pod holds on nodes out of use, not Ready ones too: it isn't
    free, whatever the name says, which documents have had from the first.
    """

    resource: str
    allocatable: int
    requested: int | None  # None, as all that pods tell, where they weren't seen
    free: int | None
    free_cordoned: int | None
    pending: int | None
    overcommitted: int | None = 0


class PoolOffer(Record):
    """What a pool's machines offer of accelerators in one way. `noun`: ``GPUs``, ``time slices``."""

    resource: str
    sharing: Sharing
    profile: str
    noun: str
    allocatable: int
    requested: int | None
    free: int | None
    out_of_use: int | None


class PoolLine(Record):
    """A node pool with what its nodes have and what is requested of it; `offers`: of accelerators, devices first. What depends on
    pods is None where they weren't seen."""

    pool: NodePool
    allocatable: Amounts
    requested: Amounts | None
    free: Amounts | None
    out_of_use: Amounts | None  # that no pod holds, on nodes that take no new pods
    room: int | None  # nodes it may grow by; None where nothing says
    offers: tuple[PoolOffer, ...] = ()


def of(amounts: Amounts | None, resource: str) -> int | None:
    """How much of a resource; None where that isn't known."""
    return None if amounts is None else amounts.get(resource, 0)


def shape(snapshot: Snapshot, text: str) -> Fit:
    """How many more pods of a typed shape (``gpu=2,cpu=8,memory=64Gi``) or of a workload (its key) fit, where, what stops
    the next one, and how many more by preempting whom.

    Raises
    ------
    InputError
        When the text isn't a shape.
    """
    cluster = prepared_question.compiled(snapshot)
    own = next(
        (pod_shape for pod_shape in workload_shapes(cluster) if pod_shape.name.lower() == text.strip().lower()), None
    )
    return fit(cluster, own or parse_shape(text, cluster))


def resource_lines(cluster: Cluster) -> tuple[ResourceLine, ...]:
    """Each resource of the cluster: allocatable, requested, free, waited for; those most asked about first."""
    pending: dict[str, int] = {}
    for index in cluster.waiting:
        for name, amount in (*pod_requests(cluster.snapshot.pods[index].spec).items(), (PODS, 1)):
            pending[name] = pending.get(name, 0) + amount
    unheld_supply, here, if_known = unheld(cluster), machines(cluster), cluster.snapshot.if_known
    allocatable, requested = cluster.allocatable * here, cluster.requested * here
    over = np.maximum(requested - allocatable, 0)
    lines = [
        ResourceLine(
            resource=name,
            allocatable=int(allocatable[row].sum()),
            requested=if_known(int(requested[row].sum()), POD.name),
            free=if_known(int(unheld_supply.free[row].sum()), POD.name),
            free_cordoned=if_known(int(unheld_supply.out_of_use[row].sum()), POD.name),
            pending=if_known(pending.get(name, 0), POD.name),
            overcommitted=if_known(int(over[row].sum()), POD.name),
        )
        for name, row in cluster.row.items()
    ]
    shown_lines = [line for line in lines if line.allocatable or line.requested or line.pending]
    order = {name: place for place, name in enumerate(_SHOWN_FIRST, start=1)}
    return tuple(sorted(shown_lines, key=lambda line: (order.get(line.resource, 0), line.resource)))


def pool_line(cluster: Cluster, pool: NodePool) -> PoolLine:
    """A node pool, what it has and what is free of it: requests are those of bound pods."""
    places = np.array([cluster.node_index[name] for name in pool.nodes], dtype=np.intp)
    unheld_supply, here, if_known = unheld(cluster), machines(cluster), cluster.snapshot.if_known
    every = cluster.allocatable * here, cluster.requested * here, unheld_supply.free, unheld_supply.out_of_use
    sums = [amounts[:, places].sum(axis=1) for amounts in every]
    rows = [(name, row) for name, row in cluster.row.items() if sums[0][row] or sums[1][row]]
    allocatable, requested, free, out_of_use = (
        FrozenMap({name: int(amounts[row]) for name, row in rows}) for amounts in sums
    )
    return PoolLine(
        pool=pool, allocatable=allocatable, requested=if_known(requested, POD.name), free=if_known(free, POD.name),
        out_of_use=if_known(out_of_use, POD.name), room=pool.room(capacity_of(cluster, pool)), offers=_offers(cluster, pool),
    )  # fmt: skip


def _offers(cluster: Cluster, pool: NodePool) -> tuple[PoolOffer, ...]:
    units, places = units_of(cluster.snapshot), [cluster.node_index[name] for name in pool.nodes]
    if_known = cluster.snapshot.if_known
    sums: dict[Offer, list[int]] = {}
    for supply in counted(cluster):
        for n in places:
            if supply.allocatable[n]:
                line = sums.setdefault(offers_by_node(cluster, supply.resource)[n], [0] * 4)
                more = supply.allocatable, supply.requested, supply.free, supply.out_of_use
                line[:] = [total + int(amounts[n]) for total, amounts in zip(line, more, strict=True)]
    ranked = sorted(sums, key=lambda offer: (list(Sharing).index(offer.sharing), -sums[offer][0], offer.resource))
    return tuple(
        PoolOffer(
            resource=offer.resource, sharing=offer.sharing, profile=offer.profile,
            noun=offer.noun(0, is_only=units.is_only(offer.resource)), allocatable=sums[offer][0],
            requested=if_known(sums[offer][1], POD.name), free=if_known(sums[offer][2], POD.name),
            out_of_use=if_known(sums[offer][3], POD.name),
        )
        for offer in ranked
    )  # fmt: skip


def findings_of_room(cluster: Cluster, limits: tuple[PoolLimits, ...]) -> tuple[Finding, ...]:
    """Findings about free room that need attention."""
    findings = [
        Finding(
            severity=Severity.INFO,
            code="node-group-without-pool",
            object="",
            what=f"the autoscaler's group {name} fits no node pool of the snapshot",
            fix="Name the pool's limit by hand: POOL=MAX",
        )
        for name in unmatched(cluster, limits)
    ]
    virtual = [
        node for node, is_machine in zip(cluster.nodes, machines(cluster).tolist(), strict=True) if not is_machine
    ]
    if virtual:
        cpu = roughly(sum(node.allocatable.get(CPU, 0) for node in virtual), CPU)
        what = f"{count(len(virtual), 'virtual node is', 'virtual nodes are')} counted apart: "
        what += f"{cpu} cpu there are the limit of a container service, and no free room of this cluster"
        fix = "Pods that tolerate such a node may still be placed there, and are in the rollouts"
        findings.append(Finding(severity=Severity.INFO, code="virtual-nodes", object="", what=what, fix=fix))
    return tuple(findings)


def room_sentence(
    gpus: tuple[GpuModelLine, ...], standard: tuple[Fit, ...], own: tuple[Fit, ...], broken: Fragments | None,
    resources: tuple[ResourceLine, ...] = (),
) -> str:  # fmt: skip
    """``2,221 of 6,212 GPUs are free. 1,310 more pods of 1 GPU fit with the usual CPU and memory beside each GPU, none of 8``.

    Each number is of a shape, and the shape is said: pods of the same GPUs that ask for less beside them may still fit.
    """
    supplies, away = supplies_of(gpus), unoffered_words(gpus)
    if not supplies:
        beside = _cpu_and_memory(resources)
        none = "the cluster has no GPUs"
        return f"the cluster offers no GPUs: {away}" if away else f"{beside}; {none}" if beside else none
    words = free_words(supplies) + (f"; {away}" if away else "")
    if broken is None:  # the pods weren't seen
        return words
    if not standard:
        return f"{words}; how many more pods fit is for their own scheduler or driver to say"
    requests = [(pod_fit, *_asks(pod_fit)) for pod_fit in standard]
    fitting = [
        f"{count(pod_fit.count, 'more pod')} of {number:,} {noun}"
        for pod_fit, number, noun in requests
        if pod_fit.count
    ]
    lacking = [(number, noun) for pod_fit, number, noun in requests if not pod_fit.count]
    if fitting:
        kinds = {_asks(pod_fit, 1)[1] for pod_fit in standard}
        is_one = len(kinds) == 1
        none = " or ".join(str(number) if is_one else f"{number} {noun}" for number, noun in lacking)
        each = kinds.pop() if is_one else "of them"
        fit = plural(sum(shape_fit.count for shape_fit, _, _ in requests), "fits", "fit")
        text = f"{words}. {' or '.join(fitting)} {fit} with the usual CPU and memory beside each {each}"
        text += f", none of {none}" if none else ""
    else:
        first = f"{requests[0][1]} {requests[0][2]}"
        text = f"{words}. A typical pod of {first}{_usual(standard)} doesn't fit"
    smaller = _smaller(own, [number for number, _ in lacking], broken)
    return f"{text}; {smaller}" if smaller else text


def _cpu_and_memory(resources: Sequence[ResourceLine]) -> str:
    """``12 of 32 cpu and 40Gi of 118Gi memory are free``; "" where what pods hold isn't known."""
    lines = {resource.resource: resource for resource in resources if resource.free is not None}
    parts = [
        f"{roughly(line.free or 0, name)} of {roughly(line.allocatable, name)} {name}"
        for name in (CPU, MEMORY) if (line := lines.get(name))
    ]  # fmt: skip
    return f"{' and '.join(parts)} are free" if parts else ""


def _asks(pod_fit: Fit, number: int = 0) -> tuple[int, str]:
    """(2, "GPUs"), (1, "time slice"): what a standard shape asks for, as its name begins."""
    resource = next(name for name in pod_fit.requests if is_gpu_resource(name))
    number = number or int(pod_fit.requests[resource])
    return number, noun_of(resource, pod_fit.sharing or Sharing.WHOLE, number=number)


def _usual(standard: tuple[Fit, ...]) -> str:
    """`` (6 cpu, 24Gi)``: of the first standard shape."""
    requests = standard[0].requests if standard else EMPTY
    parts = [roughly(requests[CPU], CPU) + " CPU"] if CPU in requests else []
    parts += [roughly(requests[MEMORY], MEMORY)] if MEMORY in requests else []
    return f" ({', '.join(parts)})" if parts else ""


def _smaller(own: tuple[Fit, ...], lacking: Sequence[int], broken: Fragments) -> str:
    """The workload that most more pods fit of, among those of as many GPUs as no standard shape has room for."""
    fitting = [pod_fit for pod_fit in own if pod_fit.known_count and _gpus(pod_fit, broken) in lacking]
    if not fitting:
        return ""
    most = max(fitting, key=lambda pod_fit: pod_fit.count)
    asks = f"{_gpus(most, broken):,} {noun_of(broken.resource, broken.sharing, number=_gpus(most, broken))} and less CPU or memory"
    return f"{count(most.count, 'more pod')} of {short_name(most.shape)} ({asks}) {plural(most.count, 'does', 'do')}"


def _gpus(pod_fit: Fit, broken: Fragments) -> int:
    return int(pod_fit.requests.get(broken.resource, 0))
