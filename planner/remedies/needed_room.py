"""The room that a rollout needs on any cluster: the fewest places with which every simulated draw completes.

A place is one more node like those that its pods stand on (`planner.remedies.cluster_from_manifests`), or as much more on a node that they must
share. Every step is a rollout on a made cluster: nothing of a rollout is worked out here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations_with_replacement, groupby, islice, product
from typing import Any, Final

from planner.ground.errors import HeadroomError
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOSTNAME, is_extended_resource
from planner.ground.words import Text
from planner.inventory.change import WorkloadChange
from planner.kubernetes.accelerator_units import Units, units_of
from planner.kubernetes.autoscaler_replica_bounds import autoscalers_of, lowest
from planner.kubernetes.object_records import FrozenMap, Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.strategic_merge_patch import as_yaml
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import DEPLOYMENT
from planner.remedies import limits
from planner.remedies.cluster_from_manifests import Files, RoomPlace, Stand
from planner.remedies.levers.strategy import ONE_BY_ONE, patch_of
from planner.remedies.levers.template import in_template, near_its_own_pods
from planner.remedies.random_draw_checks import fewest_of, other_draws
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RUNS, Reason, RolloutResult, Verdict
from planner.rollout.argo_and_lws_strategies import OwnWay, own_ways, recreate_way
from planner.rollout.clusterless_room_need import (
    ManifestCure,
    Need,
    NeedAtReplicas,
    PodsToPlace,
    RoomNeed,
    request_words,
)
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.run import Run, simulate
from planner.rollout.tie_break_sensitivity import holds_in_every_placement


class WorkloadNeed(Record):
    """What was found of one workload: its need, and the rollout that tells: with that room, or without where none is enough. `places`: that
    room; `why`: of what isn't known, with what would tell."""

    need: RoomNeed
    result: RolloutResult | None = None
    places: tuple[RoomPlace, ...] = ()
    why: Text = Text("")
    advice: str = ""


def counts_of(files: Files, key: str) -> tuple[int, ...]:
    """The numbers of replicas that are asked about: those that an autoscaler of the files may set, else the manifest's; of 0 that is 1."""
    workload = files.workloads[key]
    if workload.traits.is_per_node:
        return (files.stands[key].daemon_nodes,)
    scaling = autoscalers_of(files.manifest.snapshot, key)
    if not scaling:
        return (max(1, workload.replicas),)
    least = max(1, min(map(lowest, scaling)))
    most = max(least, *(autoscaler.maximum for autoscaler in scaling))
    return tuple(dict.fromkeys((least, *range(least, min(most, limits.REPLICAS_EACH.most) + 1), most)))


def need_by_replicas(files: Files, key: str, *, with_cures: bool = True) -> WorkloadNeed:
    """What the rollout of one workload needs, at each number of replicas that it may have; and changes of the manifest with which it needs
    nothing, where they are wanted."""
    stand = files.stands[key]
    if stand.lacks[0]:
        return WorkloadNeed(need=RoomNeed(need=Need.UNKNOWN), why=Text(stand.lacks[0]), advice=stand.lacks[1])
    counts = counts_of(files, key)
    every = [_need_at(files, stand, number) for number in counts]
    # An autoscaler may set any of these numbers: the one that needs most stands for all.
    grave = max(every, key=lambda replica_need: (_GRAVITY.index(replica_need.need.need), replica_need.need.places))
    if len(every) == 1:
        return replace(grave, need=replace(grave.need, cures=_cures(files, stand, grave.need))) if with_cures else grave
    steps, needs = (
        [],
        {
            number: (number_need.need.need, number_need.need.places)
            for number, number_need in zip(counts, every, strict=True)
        },
    )
    for (kind, places), group in groupby(counts, needs.__getitem__):
        numbers = list(group)
        last = None if numbers[-1] == counts[-1] else numbers[-1]
        steps.append(NeedAtReplicas(first=numbers[0], last=last, need=kind, places=places))
    need = replace(grave.need, by_replicas=tuple(steps), is_proven=all(need_at.need.is_proven for need_at in every))
    return replace(grave, need=replace(need, cures=_cures(files, stand, need) if with_cures else ()))


_BY_HAND: Final = {
    Reason.PAUSED: "Ask about it as it is once it is resumed, or promoted",
    Reason.ON_DELETE: "Ask with the update strategy RollingUpdate",
    Reason.SCHEDULING_GATE: "Ask about it without its scheduling gates",
    Reason.OTHER_SCHEDULER: "Ask with the default scheduler",
    Reason.QUEUE: "Ask with a cluster, which has Kueue's queues: headroom gate CLUSTER -f FILE",
}
"""Why a rollout stands still though there is room: no room ends it, and something else does, so that it isn't known what it needs then."""
_GRAVITY: Final = (Need.NOTHING, Need.ROOM, Need.SAME_NODE, Need.UNKNOWN, Need.NEVER)


def _need_at(files: Files, stand: Stand, number: int) -> WorkloadNeed:
    """The need at one number of replicas."""
    key = stand.workload.key
    counts = {key: number}
    fewest_places = _fewest(files, stand, counts)
    if fewest_places is None:
        rollout_result = _result(files.cluster(counts, _most_room(stand, number)), [key])
        if rollout_result.reason in _BY_HAND:
            why, advice = rollout_result.workloads[0].headline, _BY_HAND[rollout_result.reason]
            return WorkloadNeed(need=RoomNeed(need=Need.UNKNOWN), result=rollout_result, why=why, advice=advice)
        ties = rollout_result.ties
        if rollout_result.verdict is Verdict.STUCK and not (ties and ties.completed_runs):
            return WorkloadNeed(need=RoomNeed(need=Need.NEVER, replicas=number), result=rollout_result)
        why = Text("no room was found with which it completes in every draw")
        return WorkloadNeed(need=RoomNeed(need=Need.UNKNOWN), result=rollout_result, why=why)
    rollout_result, places = fewest_places
    if rollout_result.verdict is Verdict.UNKNOWN:
        return WorkloadNeed(need=RoomNeed(need=Need.UNKNOWN), result=rollout_result)
    is_same = bool(stand.one_node_claims) and not _completes(files.cluster(counts, rooms_elsewhere=[key]), [key])
    need = _need(files, stand, number, places, rollout_result, is_same=is_same)
    return WorkloadNeed(need=need, result=rollout_result, places=places)


def _need(
    files: Files, stand: Stand, replicas: int, places: Sequence[RoomPlace], outcome: RolloutResult, *, is_same: bool
) -> RoomNeed:
    """The need of a rollout that completes with these places; `is_same`: only on the node of its volume."""
    lowest = next(part.lowest_ready for part in outcome.workloads if part.workload == stand.workload.key)
    return RoomNeed(
        need=Need.SAME_NODE if is_same else Need.ROOM if places else Need.NOTHING,
        places=len(places), unit="pod" if len(stand.unit) == 1 else "group", pods=_pods(files, stand, len(places)),
        is_per_node=stand.workload.traits.is_per_node, is_on_its_node=bool(places) and places[0].host is not None,
        in_other_zone=any(place.domain >= stand.domains for place in places),
        needs_same_node=is_same, shares_one_node=is_same and replicas > 1, claims=stand.one_node_claims if is_same else (),
        is_proven=bool(outcome.ties and outcome.ties.proven) and not stand.one_node_claims and not any(pod.devices for pod in stand.unit),
        lowest_ready=lowest, replicas=replicas, size=len(stand.unit), seconds=outcome.seconds,
    )  # fmt: skip


def _pods(files: Files, stand: Stand, places: int) -> tuple[PodsToPlace, ...]:
    """The pods of so many places, by shape."""
    if not places:
        return ()
    units = units_of(files.cluster({stand.workload.key: 1}))
    alike = Counter((pod.role, pod.requests, pod.device_words) for pod in stand.unit)
    times = places if len(stand.unit) == 1 else 1
    return tuple(
        PodsToPlace(
            count=number * times, role=role, requests=requests,
            words=Text(", ".join((*devices, *filter(None, [str(request_words(units, requests))])))),
        )
        for (role, requests, devices), number in alike.items()
    )  # fmt: skip


# ── the search ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _fewest(
    files: Files, stand: Stand, counts: Mapping[str, int]
) -> tuple[RolloutResult, tuple[RoomPlace, ...]] | None:
    """The rollout with the fewest places that are enough, and these; None where none are. One that isn't known needs no places."""
    key = stand.workload.key
    today = _result(files.cluster(counts), [key])
    if today.verdict is Verdict.UNKNOWN or _is_sure(today):
        return today, ()
    fewest = fewest_of(range(1, most_places(stand, counts[key]) + 1), partial(_with, files, stand, counts))
    return fewest[1] if fewest is not None else None


def _with(
    files: Files, stand: Stand, counts: Mapping[str, int], number: int
) -> tuple[RolloutResult, tuple[RoomPlace, ...]] | None:
    """The rollout with so many places, in whichever zones, that completes in every draw."""
    key = stand.workload.key
    for places in distributions(stand, counts[key], number):
        snapshot = files.cluster(counts, places)
        if _completes(snapshot, [key]) and _is_sure(rollout_result := _result(snapshot, [key])):
            return rollout_result, places
    return None


def distributions(stand: Stand, replicas: int, number: int) -> Iterator[tuple[RoomPlace, ...]]:
    """Where so many places may be: on the nodes that its pods share, or on new ones, in whichever zones."""
    key = stand.workload.key
    if stand.workload.traits.is_per_node:
        yield (RoomPlace(workload=key),) * number
        return
    if stand.is_on_one_node:
        options = [RoomPlace(workload=key, host=0)]
    elif stand.hosts:
        options = [RoomPlace(workload=key)] if replicas < len(stand.hosts) else []
        options += [RoomPlace(workload=key, host=place) for place in range(min(replicas, len(stand.hosts)))]
    elif stand.beside:
        options = [RoomPlace(workload=key, host=place) for place in range(min(replicas, limits.HOSTS_BESIDE.most))]
    elif stand.is_in_one_domain:
        options = [RoomPlace(workload=key)]
    else:
        options = [RoomPlace(workload=key, domain=domain) for domain in range(stand.domains)]
        if stand.is_apart_by_domain:
            options += [RoomPlace(workload=key, domain=max(stand.domains, replicas) + more) for more in range(number)]
    every: Iterator[tuple[RoomPlace, ...]] = combinations_with_replacement(options, number)
    if stand.hosts:  # more nodes of its own than names are left aren't there
        free = max(0, len(stand.hosts) - replicas)
        every = (places for places in every if sum(place.host is None for place in places) <= free)
    evenly = sorted(islice(every, limits.DISTRIBUTIONS_SORTED.most), key=lambda places: max(Counter(places).values()))
    yield from evenly[: limits.DISTRIBUTIONS.most]


def most_places(stand: Stand, replicas: int) -> int:
    """More than so many are never of use: what may be there beside the old pods."""
    workload = replace(stand.workload, replicas=replicas)
    if workload.traits.is_per_node:
        return 1
    surge, _ = rolling_limits(workload) if workload.traits.can_surge else (0, 0)
    if workload.strategy.blue_green is not None or workload.strategy.canary is not None:
        return replicas + surge
    return max(1, surge, stand.domains)  # a spread may want one in each zone


def _most_room(stand: Stand, replicas: int) -> tuple[RoomPlace, ...]:
    """All the places that may be of use."""
    return next(distributions(stand, replicas, most_places(stand, replicas)))


def _result(snapshot: Snapshot, keys: Iterable[str], runs: int = RUNS) -> RolloutResult:
    changes = tuple(WorkloadChange(workload=key) for key in keys)
    return rollout(snapshot, Scenario(changes=changes, with_remedies=False, runs=runs))


def _is_sure(outcome: RolloutResult) -> bool:
    """Whether it completes in every draw."""
    ties = outcome.ties
    return outcome.verdict is Verdict.COMPLETES and (ties is None or ties.proven or ties.completed_runs == ties.runs)


def _simulated(snapshot: Snapshot, keys: Sequence[str], patch: str = "") -> Iterator[Run]:
    """The rollouts of these workloads in every draw, each with the patch."""
    cluster, changes = compiled(snapshot), tuple(WorkloadChange(workload=key, patch=patch) for key in keys)
    prepared = prepare(snapshot, Scenario(changes=changes, with_remedies=False))
    # What the manifest is applied for is a new template, beside the patch of its strategy.
    revisions = [replace(revision, has_new_template=True) for revision in prepared.revisions]
    run = simulate(cluster, revisions)
    yield run
    if run.completed and not holds_in_every_placement(run.whole(), revisions):
        yield from other_draws(cluster, revisions, run)


def _completes(snapshot: Snapshot, keys: Sequence[str], patch: str = "") -> bool:
    """In every draw, with a node for each pod: LeaderWorkerSet 0.8 calls a group available while its workers are still pending, since
    another rollout's pod took the node that they gave up."""
    return all(
        run.completed and all(pod.is_bound for key in keys for pod in run.pods[key])
        for run in _simulated(snapshot, keys, patch)
    )


# ── a change of what stands there ────────────────────────────────────────────────────────────────────────────────────
def needed_by_change(files: Files, snapshot: Snapshot, scenario: Scenario, keys: Sequence[str]) -> dict[str, RoomNeed]:
    """The room beyond a tightest cluster (`snapshot`) that each of the workloads `keys`, stuck there for want of it, needs for what `scenario`
    changes: other requests and replicas too. The fewest places of each with which all complete in every draw, found one workload after the
    other; {} where no number is enough. `files`: the same workloads as they are after the change."""
    stands = {key: files.stands[key] for key in keys}
    if any(stand.lacks[0] or any(pod.devices for pod in stand.unit) for stand in stands.values()):
        return {}
    trial = replace(scenario, with_remedies=False, runs=RUNS)
    counts = {key: stand.daemon_nodes or max(1, stand.workload.replicas) for key, stand in stands.items()}
    numbers = {
        key: 1 if stand.workload.traits.is_per_node else counts[key] + most_places(stand, counts[key])
        for key, stand in stands.items()
    }

    def enough(changed: str, number: int) -> tuple[RolloutResult, dict[str, tuple[RoomPlace, ...]]] | None:
        ways = (distributions(stands[key], counts[key], number if key == changed else numbers[key]) for key in stands)
        for every in islice(product(*(list(way) for way in ways)), limits.DISTRIBUTIONS.most):
            outcome = rollout(roomier(files, snapshot, [place for places in every for place in places]), trial)
            if _is_sure(outcome):
                return outcome, dict(zip(stands, every, strict=True))
        return None

    best = None
    for key in keys:  # the numbers of those before stay as small as they were found
        fewest = fewest_of(range(1, numbers[key] + 1), partial(enough, key))
        if fewest is None:
            return {}
        numbers[key], best = fewest
    if best is None:
        return {}
    outcome, places_of = best
    room_needs = {}
    for key, stand in stands.items():
        # More places than its pods, old and new, can fill, but none on its own node: only the volume can keep it back then.
        elsewhere = [RoomPlace(workload=key)] * (2 * counts[key] + 2) if stand.one_node_claims else []
        is_same = bool(elsewhere) and not _is_sure(rollout(roomier(files, snapshot, elsewhere), trial))
        room_needs[key] = _need(files, stand, counts[key], places_of[key], outcome, is_same=is_same)
    return room_needs


def roomier(files: Files, snapshot: Snapshot, places: Sequence[RoomPlace]) -> Snapshot:
    """The cluster with these places: as much more on nodes that pods of the workload are on, or nodes of their own."""
    nodes = {node.name: node for node in snapshot.nodes}
    keys = workload_keys(snapshot)
    for place, times in Counter(places).items():
        stand = files.stands[place.workload]
        hosts = sorted(
            {pod.node_name for pod in snapshot.pods if keys[pod.uid] == place.workload and pod.node_name in nodes}
        )
        shared = [] if place.host is None else [hosts[place.host % len(hosts)]]
        for name, pod in product(hosts if stand.workload.traits.is_per_node else shared, stand.unit):
            larger = Counter(nodes[name].allocatable)
            for resource, amount in pod.requests.items():
                larger[resource] += amount * times
            nodes[name] = replace(nodes[name], allocatable=FrozenMap(larger), capacity=FrozenMap(larger))
        if place.host is not None or stand.workload.traits.is_per_node:
            continue
        counts = {
            place.workload: max(1, sum(keys[pod.uid] == place.workload for pod in snapshot.pods) // len(stand.unit))
        }
        # The exact-fit cluster is built with and without the places: nodes that only the first has are the room itself.
        bare = {node.name for node in files.cluster(counts).nodes}
        for node in files.cluster(counts, [place] * times).nodes:
            if node.name not in bare:
                name = node.name if stand.hosts else f"room-{len(nodes) + 1}"
                nodes[name] = replace(node, name=name, uid=name, labels=FrozenMap({**node.labels, HOSTNAME: name}))
    return replace(snapshot, nodes=tuple(nodes.values()))


# ── several at once ──────────────────────────────────────────────────────────────────────────────────────────────────
def asked_together(files: Files, singles: Mapping[str, WorkloadNeed]) -> WorkloadNeed | None:
    """What the rollouts of all of these need that are applied one right after the other, each workload on nodes of its own: the fewest of
    their own places with which all complete in every draw. A place that one of them frees may be taken by another. None for fewer than
    two; DaemonSets are asked alone: their pods would come to the others' nodes too."""
    keys = [
        key for key, single_need in singles.items()
        if single_need.need.need in (Need.NOTHING, Need.ROOM, Need.SAME_NODE) and not files.workloads[key].traits.is_per_node
    ]  # fmt: skip
    if not 2 <= len(keys) <= limits.TOGETHER.most:
        return None
    counts = {key: singles[key].need.replicas for key in keys}
    # where a place of each is
    own = {key: singles[key].places or next(distributions(files.stands[key], counts[key], 1)) for key in keys}
    needs = {key: len(singles[key].places) for key in keys}
    roomiest = next(
        (key for key in keys if all(_holds(files.stands[key], files.stands[other_key]) for other_key in keys)), ""
    )
    # Together they need at least what the neediest needs alone, and at most what all need alone: the first number that
    # does is the least.
    for total in range(max(needs.values()), sum(max(1, number) for number in needs.values()) + 1):
        # Places of the roomiest kind take a pod of any of them. Where so many of these don't do, no mix does, and none
        # is tried.
        if roomiest and not _completes(_with_places(files, counts, own, {roomiest: total})[0], keys):
            continue
        for numbers in _shares(files, needs, total, roomiest):
            snapshot, places = _with_places(files, counts, own, numbers)
            if not _completes(snapshot, keys):
                continue
            rollout_result = _result(snapshot, keys, limits.DRAWS.most)
            if _is_sure(rollout_result):
                need = RoomNeed(need=Need.ROOM if places else Need.NOTHING, places=total, pods=_pods_of(files, numbers), is_on_its_node=bool(places) and all(place.host is not None for place in places),
                                is_proven=bool(rollout_result.ties and rollout_result.ties.proven), seconds=rollout_result.seconds)  # fmt: skip
                return WorkloadNeed(need=need, result=rollout_result, places=places)
    why = Text("no room of their own was found with which all complete in every draw")
    return WorkloadNeed(need=RoomNeed(need=Need.UNKNOWN), why=why)


def _with_places(
    files: Files, counts: Mapping[str, int], own: Mapping[str, tuple[RoomPlace, ...]], numbers: Mapping[str, int]
) -> tuple[Snapshot, tuple[RoomPlace, ...]]:
    """The cluster with so many places of each, and these."""
    places = tuple(own[key][place % len(own[key])] for key, number in numbers.items() for place in range(number))
    return files.cluster(counts, places), places


def _shares(files: Files, needs: Mapping[str, int], total: int, roomiest: str) -> Iterator[dict[str, int]]:
    """How many places of each, of those that are alike one: at first no more of any than it needs alone; then of the `roomiest`, whose
    places hold every pod, or of any where there is none."""
    names = {key: _alike(files.stands[key]) for key in needs}
    first = product(*(range(number + 1) for number in needs.values()))
    last: Iterable[tuple[int, ...]] = product(range(total + 1), repeat=len(needs))
    last = [tuple(total * (key == roomiest) for key in needs)] if roomiest else last
    seen_shares: set[frozenset[tuple[str, int]]] = set()
    for share_numbers, most in (
        (first, limits.OWN_SHARES.most if roomiest else limits.DISTRIBUTIONS.most),
        (last, limits.DISTRIBUTIONS.most),
    ):
        # Each of the two walks has a limit of its own: what the first has yielded doesn't count against the second.
        most += len(seen_shares)
        for numbers in islice(share_numbers, limits.WALKED.most):
            if sum(numbers) != total or len(seen_shares) >= most:
                continue
            counted: Counter[str] = Counter()
            for key, number in zip(needs, numbers, strict=True):
                counted[names[key]] += number
            shape = frozenset(counted.items())
            if shape not in seen_shares:
                seen_shares.add(shape)
                yield dict(zip(needs, numbers, strict=True))


def _holds(stand: Stand, other: Stand) -> bool:
    """Whether a place of one workload holds a pod of another, as far as amounts and labels tell."""
    if len(stand.unit) > 1 or len(other.unit) > 1 or stand.is_on_one_node or other.is_on_one_node:
        return stand is other
    labels, others = dict(stand.labels or {}), dict(other.labels or {})
    room, asks = stand.unit[0].requests, other.unit[0].requests
    is_open = all(labels.get(key) == value for key, value in others.items())
    return is_open and all(amount <= room.get(name, 0) for name, amount in asks.items())


def _pods_of(files: Files, numbers: Mapping[str, int]) -> tuple[PodsToPlace, ...]:
    """The pods of so many places of each workload, with its name where there are several."""
    several = sum(map(bool, numbers.values())) > 1
    return tuple(
        replace(pods, role=" ".join(filter(None, (pods.role, f"of {key.partition('/')[2]}" if several else ""))),
                count=pods.count if files.stands[key].workload.groups is None else pods.count * number)
        for key, number in numbers.items()
        for pods in _pods(files, files.stands[key], number)
    )  # fmt: skip


def _alike(stand: Stand) -> str:
    """What two workloads with the same places have in common: what their pods request, and which nodes these may be."""
    return str(
        (
            [(pod.role, sorted(pod.requests.items()), pod.device_words) for pod in stand.unit],
            stand.labels,
            stand.is_on_one_node and stand.workload.key,
        )
    )


# ── cures ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _cures(files: Files, stand: Stand, need: RoomNeed) -> tuple[ManifestCure, ...]:
    """Changes of the manifest with which it needs nothing, each played: on the tightest cluster, and where its claim attaches to one node
    with room on others too. At each number of replicas that needs something: the fewest are told."""
    if need.need not in (Need.ROOM, Need.SAME_NODE, Need.NEVER):
        return ()
    # the first number of each range: those between need the same
    numbers = [step.first for step in need.by_replicas if step.need is not Need.NOTHING] or [need.replicas]
    cures = []
    for title, patch in _patches(stand, need):
        lowest_of = []
        for number in numbers:
            try:
                fewest = _lowest_ready(files, stand, number, json.dumps(patch))
            except HeadroomError:  # a strategy that the kind doesn't have, or a value that the API server refuses
                fewest = None
            if fewest is None:
                break
            lowest_of.append((number, fewest))
        if len(lowest_of) == len(numbers):
            replicas, fewest = min(lowest_of, key=lambda lowest_pair: lowest_pair[1])
            cures.append(_cure(stand, title, patch, fewest, replicas * len(stand.unit)))
    return tuple(cures)


def _cure(stand: Stand, title: str, patch: dict[str, Any], lowest_ready: int, replicas: int) -> ManifestCure:
    workload = stand.workload
    head = {"apiVersion": stand.document["apiVersion"], "kind": workload.traits.name,
            "metadata": {"name": workload.name, "namespace": workload.namespace}}  # fmt: skip
    inner = "".join(f"    {line}\n" for line in as_yaml({**head, **patch}).splitlines())
    return ManifestCure(
        title=title, lowest_ready=lowest_ready, replicas=replicas, manifest=as_yaml(_written(patch)), kustomize=f"patches:\n- patch: |-\n{inner}"
    )  # fmt: skip


def smaller_request(stand: Stand, need: RoomNeed, spare: Mapping[str, int], units: Units) -> ManifestCure | None:
    """Requests with which its room is what a node always has free (`spare`); None where it is already, and where no request would do: a
    device can't be asked for in part, and which of several containers needs less isn't known."""
    spec = stand.unit[0].spec
    is_one = len(need.pods) == 1 and len(stand.unit) == 1 and len(spec.containers) == 1 and not spec.init_containers
    if need.need is not Need.ROOM or not is_one or spec.overhead:
        return None
    # On a node that its pods share all of them have to fit the spare at once; elsewhere each may have another node.
    times = need.pods[0].count if need.is_on_its_node else 1
    less = {
        name: spare.get(name, 0) // times
        for name, asks in need.pods[0].requests.items()
        if asks * times > spare.get(name, 0)
    }
    if not less or not all(less.values()) or any(map(is_extended_resource, less)):
        return None
    requests = {name: format_amount(amount, name) for name, amount in less.items()}
    container = {"name": spec.containers[0].name, "resources": {"requests": requests}}
    title = f"requests of at most {request_words(units, less)}, which a node always has free (spare)"
    return _cure(stand, title, in_template({"containers": [container]}), need.lowest_ready or 0, need.replicas)


def _lowest_ready(files: Files, stand: Stand, number: int, patch: str) -> int | None:
    """Ready pods at the worst moment with that patch; None where it needs room or the same node all the same."""
    key = stand.workload.key
    runs = list(_simulated(files.cluster({key: number}), [key], patch))
    if not all(run.completed for run in runs):
        return None
    if stand.one_node_claims and not _completes(files.cluster({key: number}, rooms_elsewhere=[key]), [key], patch):
        return None
    return min(run.lowest_ready(key) for run in runs)


def _patches(stand: Stand, need: RoomNeed) -> Iterator[tuple[str, dict[str, Any]]]:
    """What to try, the least change first."""
    workload = stand.workload
    near = near_its_own_pods(workload) if need.shares_one_node else None
    if near is not None:
        yield "required podAffinity to its own pods", near
    for way in _ways(replace(workload, replicas=max(1, need.replicas))):
        patch = patch_of(workload, way)
        if near is None:
            yield way.title, patch
        else:
            yield f"required podAffinity to its own pods, {way.title}", {"spec": patch["spec"] | near["spec"]}


def _ways(workload: Workload) -> list[OwnWay]:
    if workload.traits.name == DEPLOYMENT.name:
        return [ONE_BY_ONE, *recreate_way(workload)]
    if workload.traits.is_custom:  # its ways are in fields of its own, which an API server takes from no other kind
        return list(own_ways(workload))
    return [ONE_BY_ONE] if workload.traits.is_per_node else []


def _written(patch: Any) -> Any:
    """A patch as a manifest has it: without what it takes away."""
    if isinstance(patch, dict):
        return {key: _written(value) for key, value in patch.items() if value is not None}
    return patch
