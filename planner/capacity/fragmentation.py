"""Stranded GPUs: free GPUs (`unheld`: none on nodes out of use) that the usual mix of pods can't use, and why.

Two measures. *Stranded*: free GPUs left on a node when it takes as many pods of one observed kind as it can, whichever
kind uses most. *Fragmented*: the expected free GPUs that a pod drawn from the mix can't use, F(M) of Weng et al.,
"Beware of Fragmentation" (USENIX ATC 2023), section 3.1: on a node, all that is free for a kind that can't run there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from planner.capacity.headroom import room_by_node
from planner.capacity.headroom_shapes import asking_pods, gpu_offer, shape_name
from planner.capacity.node_pools import pool_key
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import Text, count, plural
from planner.kubernetes.accelerator_units import card_by_card
from planner.kubernetes.node_properties import Sharing, noun_of
from planner.kubernetes.object_records import Amounts, Finding, FrozenMap, PodSpec, Severity, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import tolerates_taints
from planner.kubernetes.workload_kinds import NODE, POD
from planner.rollout.prepared_change import compiled
from planner.scheduling.cluster import PODS_ROW, Cluster, IntArray
from planner.scheduling.devices import device_table
from planner.scheduling.node_facts import counted, gpu_models, offering, offers
from planner.scheduling.shape import Static

Floats = NDArray[np.float64]


class StrandedReason(StrEnum):
    """Why free GPUs of a node serve no pod of the mix."""

    TAINT = "taint"
    NOT_WANTED = "not wanted"  # no pod's selector or affinity leads there
    CPU = "cpu gone"
    MEMORY = "memory gone"
    PODS = "pod limit"
    HOLE_TOO_SMALL = "hole too small"  # 3 free here and 3 there, and 4 needed on one
    OTHER = "other filters"  # ports, affinity, spread, volumes


class Stranded(Record):
    """Free GPUs of one node that no pod of the mix can use."""

    node: str
    node_pool: str
    model: str
    free: int
    stranded: int
    reason: StrandedReason
    sentence: Text


class SizeFragments(Record):
    """Free GPUs as seen by the pods of the mix that ask for `gpus` of them (0: by any pod of the mix).

    Attributes
    ----------
    pods : pods of the mix that ask for so many
    stranded : free GPUs that none of these kinds can use, alone on a node
    nodes : where they are, most first
    """

    gpus: int
    pods: int
    free: int
    stranded: int
    nodes: tuple[Stranded, ...]

    @property
    def by_reason(self) -> tuple[tuple[StrandedReason, int, int], ...]:
        """(reason, stranded GPUs, nodes), most GPUs first."""
        counts: Counter[StrandedReason] = Counter()
        nodes: Counter[StrandedReason] = Counter()
        for node in self.nodes:
            counts[node.reason] += node.stranded
            nodes[node.reason] += 1
        return tuple((reason, number, nodes[reason]) for reason, number in counts.most_common())


class PoolFragments(Record):
    """One pool: free GPUs, those stranded, and those expected to be of no use to a pod of the mix."""

    node_pool: str
    free: int
    stranded: int
    fragmented: float


class Fragments(Record):
    """The whole cluster.

    Attributes
    ----------
    mix : (what a pod asks for, how many of them), the commonest first; pods that ask for GPUs, waiting ones included
    fragmented : F(M), in GPUs
    """

    resource: str
    free: int
    stranded: int
    fragmented: float
    sentence: Text
    sizes: tuple[SizeFragments, ...]  # any size first, then each that the mix asks for
    pools: tuple[PoolFragments, ...]
    mix: tuple[tuple[str, int], ...]
    sharing: Sharing = Sharing.WHOLE  # how `resource` is offered

    @property
    def noun(self) -> str:
        """``GPUs``, ``time slices``: what is counted."""
        return noun_of(self.resource, self.sharing)


class _MixKind(Record, eq=False):
    """One kind of the mix: how many of its pods each node takes (int64[node]), and its static refusals (uint8[node])."""

    spec: PodSpec
    requests: Amounts
    gpus: int
    weight: int
    room: IntArray
    static: NDArray[np.uint8]


def fragments(cluster: Cluster) -> Fragments:
    """Stranded and fragmented GPUs for the mix of pods that the snapshot holds."""
    resource, how = gpu_offer(cluster)
    if not offers(cluster) or card_by_card(cluster.snapshot, [resource]):
        return _not_told(cluster, resource, how)
    is_offered = offering(cluster, resource, how)
    nothing = np.zeros(cluster.node_count, dtype=np.int64)
    free: IntArray = (
        next((supply.free for supply in counted(cluster) if supply.resource == resource), nothing) * is_offered
    )
    kinds = [replace(kind, room=kind.room * is_offered) for kind in _kinds(cluster, resource)]
    expected = free.astype(np.float64)
    total = sum(kind.weight for kind in kinds)
    # A free GPU is fragmented by the chance that a pod drawn from the mix doesn't fit its node.
    if kinds:
        runs = np.sum([kind.weight * (kind.room > 0) for kind in kinds], axis=0) / total
        expected = free * (1.0 - runs)
    sizes = [_of_size(cluster, free, 0, kinds)]
    sizes += [
        _of_size(cluster, free, gpus, [kind for kind in kinds if kind.gpus == gpus])
        for gpus in sorted({kind.gpus for kind in kinds})
    ]
    any_size = sizes[0]
    return Fragments(
        resource=resource,
        sharing=how,
        free=int(free.sum()),
        stranded=any_size.stranded,
        fragmented=float(expected.sum()),
        sentence=Text(_sentence(int(free.sum()), float(expected.sum()), sizes, partial(noun_of, resource, how))),
        sizes=tuple(sizes),
        pools=_by_pool(cluster, free, _left(free, kinds), expected),
        mix=tuple((shape_name(kind.requests, how), kind.weight) for kind in sorted(kinds, key=lambda k: -k.weight)),
    )


def _not_told(cluster: Cluster, resource: str, how: Sharing) -> Fragments:
    """Where no node has a number of anything, and where another scheduler counts card by card."""
    sentence = "no GPU is free"
    if offers(cluster):
        sentence = f"which pods can use the free {noun_of(resource, how)} is for their own scheduler to say"
    elif counted(cluster) or device_table(cluster).devices:
        sentence = "no node offers a number of GPUs; what parts and devices are left stands above"
    return Fragments(
        resource=resource, sharing=how, free=0, stranded=0, fragmented=0.0, sentence=Text(sentence), sizes=(), pools=(), mix=(),
    )  # fmt: skip


def _left(free: IntArray, kinds: Sequence[_MixKind]) -> IntArray:
    """Free GPUs that stay when a node takes as many pods of one kind as it can: int64[node]."""
    if not kinds:
        return free
    usable: IntArray = np.max([kind.room * kind.gpus for kind in kinds], axis=0)
    return free - np.minimum(free, usable)


def _of_size(cluster: Cluster, free: IntArray, gpus: int, kinds: Sequence[_MixKind]) -> SizeFragments:
    leftover = _left(free, kinds)
    nodes = [_stranded(cluster, n, int(free[n]), int(leftover[n]), kinds) for n in np.flatnonzero(leftover).tolist()]
    return SizeFragments(
        gpus=gpus,
        pods=sum(kind.weight for kind in kinds),
        free=int(free.sum()),
        stranded=int(leftover.sum()),
        nodes=tuple(sorted(nodes, key=lambda node: (-node.stranded, node.node_pool, node.node))),
    )


def _kinds(cluster: Cluster, resource: str) -> list[_MixKind]:
    """Pods that ask for the resource, bound or waiting, grouped by what decides where they can go."""
    asking = asking_pods(cluster, resource)
    rooms: dict[int, _MixKind] = {}
    for (shape, number), (likeness, room, static) in zip(
        asking, room_by_node(cluster, [s for s, _ in asking]), strict=True
    ):
        earlier_kind = rooms.get(likeness)
        requests = pod_requests(shape.spec)
        rooms[likeness] = _MixKind(
            spec=shape.spec,
            requests=requests,
            gpus=requests[resource],
            weight=number + (earlier_kind.weight if earlier_kind else 0),
            room=room,
            static=static,
        )
    return list(rooms.values())


def _stranded(cluster: Cluster, n: int, free: int, stranded: int, kinds: Sequence[_MixKind]) -> Stranded:
    node = cluster.nodes[n]
    reason, words = _reason(cluster, n, stranded, kinds)
    return Stranded(
        node=node.name,
        node_pool=pool_key(node),
        model=gpu_models(cluster)[n],
        free=free,
        stranded=stranded,
        reason=reason,
        sentence=Text(words),
    )


def _reason(cluster: Cluster, n: int, stranded: int, kinds: Sequence[_MixKind]) -> tuple[StrandedReason, str]:
    """What keeps the observed pods away from the GPUs that are left on node `n`."""
    node = cluster.nodes[n]
    matching = [kind for kind in kinds if kind.static[n] == Static.PASSES]
    if not matching:
        codes = {int(kind.static[n]) for kind in kinds}
        if codes == {Static.TAINT}:
            keys = [t.key for t in node.taints if not any(tolerates_taints(k.spec.tolerations, (t,)) for k in kinds)]
            words = ", ".join(sorted(keys)) or "all its taints"
            return StrandedReason.TAINT, f"no such pod tolerates {words}"
        return StrandedReason.NOT_WANTED, "no pod's node selector or affinity leads here"
    smallest = min(kind.gpus for kind in matching)
    if smallest > stranded:
        return StrandedReason.HOLE_TOO_SMALL, f"{stranded} left, and pods that may go here need {smallest} or more"
    # What is missing is judged after the node is filled with the kind of pod that uses most of its GPUs: CPU that these
    # pods take isn't left for the others.
    best = max(matching, key=lambda kind: int(kind.room[n]) * kind.gpus)
    used = {name: amount * int(best.room[n]) for name, amount in best.requests.items()}
    lacking: Counter[str] = Counter()
    for kind in matching:
        if kind.gpus <= stranded:
            for name, amount in kind.requests.items():
                row = cluster.row.get(name)
                if (
                    row is not None
                    and cluster.allocatable[row, n] - cluster.requested[row, n] - used.get(name, 0) < amount
                ):
                    lacking[name] += kind.weight
    pods_left = cluster.allocatable[PODS_ROW, n] - cluster.requested[PODS_ROW, n] - int(best.room[n])
    if pods_left < 1:
        return StrandedReason.PODS, "the node runs as many pods as it may"
    if not lacking:
        return StrandedReason.OTHER, "ports, affinity, spread or volumes keep the pods away"
    name = lacking.most_common(1)[0][0]
    row = cluster.row[name]
    free_amount = int(cluster.allocatable[row, n] - cluster.requested[row, n]) - used.get(name, 0)
    least_request = min(
        kind.requests[name] for kind in matching if kind.gpus <= stranded and kind.requests.get(name, 0) > free_amount
    )
    what = shape_name(FrozenMap({name: max(0, free_amount)}))
    words = f"{what} left, and pods that may go here need {shape_name(FrozenMap({name: least_request}))} or more"
    reason_by_resource = {CPU: StrandedReason.CPU, MEMORY: StrandedReason.MEMORY}
    return reason_by_resource.get(name, StrandedReason.OTHER), words


def _by_pool(cluster: Cluster, free: IntArray, leftover: IntArray, expected: Floats) -> tuple[PoolFragments, ...]:
    sums: dict[str, list[float]] = {}
    for n in np.flatnonzero(free).tolist():
        line = sums.setdefault(pool_key(cluster.nodes[n]), [0, 0, 0.0])
        line[0] += int(free[n])
        line[1] += int(leftover[n])
        line[2] += float(expected[n])
    return tuple(
        PoolFragments(node_pool=name, free=int(line[0]), stranded=int(line[1]), fragmented=line[2])
        for name, line in sorted(sums.items(), key=lambda pool_line: (-pool_line[1][1], pool_line[0]))
    )


def _sentence(free: int, fragmented: float, sizes: Sequence[SizeFragments], noun: Callable[..., str]) -> str:
    """``48 of 2,221 free GPUs …; pods of 8 GPUs can use none of them``."""
    singular, many = noun(number=1), noun(number=2)
    if not free:
        return f"no {singular} is free"
    if not sizes[0].pods:
        return f"{free:,} {noun(number=free)} {plural(free, 'is', 'are')} free, and no pod asks for any"
    share = f"{100 * fragmented / free:.0f}%"
    parts = [f"to a pod drawn from the mix, {share} of the {free:,} free {many} are of no use"]
    if free == 1:
        parts = [f"the one free {singular} is of no use to {share} of the pods"]
    shut_out = [str(size.gpus) for size in sizes[1:] if size.stranded == size.free]
    if shut_out:
        parts.append(f"pods of {' or '.join(shut_out)} {many} can use none")
    if sizes[0].stranded:
        parts.append(f"{sizes[0].stranded:,} serve no pod of the mix at all")
    return "; ".join(parts)


def waiting_in_vain(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Pods that wait for more GPUs than any one node has free, though there are as many."""
    cluster = compiled(snapshot)
    resource, how = gpu_offer(cluster)
    if (
        snapshot.lacks(NODE.name)
        or snapshot.lacks(POD.name)
        or not offers(cluster)
        or card_by_card(snapshot, [resource])
    ):
        return ()
    free = next((supply.free for supply in counted(cluster) if supply.resource == resource), None)
    free = None if free is None else free * offering(cluster, resource, how)
    if free is None or not len(free):
        return ()
    total, most = int(free.sum()), int(free.max())
    requested_gpus = Counter(pod_requests(snapshot.pods[number].spec).get(resource, 0) for number in cluster.waiting)
    noun = partial(noun_of, resource, how)
    return tuple(
        Finding(
            severity=Severity.WARNING,
            code="waits-though-free",
            object="",
            what=f"{count(pods, 'pod waits', 'pods wait')} for {gpus:,} {noun(number=gpus)} each though {total:,} "
            f"{noun(number=total)} {plural(total, 'is', 'are')} free: no node has more than {most:,}",
            fix="Make room (headroom make-room) says which pods would have to move",
        )
        for gpus, pods in sorted(requested_gpus.items())
        if most < gpus <= total
    )
