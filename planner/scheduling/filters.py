"""kube-scheduler's filters (default profile): which nodes a pod fits now, for all nodes at once.

Filters run in the profile's order and the first one a node fails gives its reason, as in kube-scheduler
(`RunFilterPlugins`). Source: kubernetes `pkg/scheduler/apis/config/v1/default_plugins.go` of 1.36 and each plugin.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import dataclass
from planner.ground.well_known_names import PODS
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray, once_a_cluster
from planner.scheduling.scores import resource_score, resource_scores
from planner.scheduling.scripted_event import CORDONS
from planner.scheduling.shape import Code, Shape, Spread, Static
from planner.scheduling.state import State
from planner.scheduling.volume_placement import STORAGE_REASONS, mark

Nodes = NDArray[np.intp] | slice
_FEW = 8  # nodes that are quicker looked at one by one than as a table


class Fails(Code):
    """The first filter a node fails. Values up to 5 are those of `Static`."""

    NOTHING = 0
    PORTS = 10, "node(s) didn't have free ports for the requested pod ports"
    RESOURCES = 11
    EXCLUSIVE_CLAIM = (
        12,
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    )
    DISK = 13, "node(s) had no available disk"
    VOLUME_LIMIT = 14, "node(s) exceed max volume count"
    STORAGE = 20  # + the storage code
    SPREAD_LABEL = 30, "node(s) didn't match pod topology spread constraints (missing required label)"
    SPREAD = 31, "node(s) didn't match pod topology spread constraints"
    AFFINITY = 32, "node(s) didn't match pod affinity rules"
    ANTI_AFFINITY = 33, "node(s) didn't match pod anti-affinity rules"
    EXISTING_ANTI_AFFINITY = 34, "node(s) didn't satisfy existing pods anti-affinity rules"
    DEVICES = 35, "cannot allocate all claims"
    CLAIM_ELSEWHERE = 36, "resourceclaim not available on the node"
    DEVICE_ERROR = 37, "error of a device selector"


REASONS: dict[int, str] = {
    **{int(code): code.reason for code in (*Static, *Fails) if code.reason},
    **{Fails.STORAGE + code: reason for code, reason in STORAGE_REASONS.items()},
}
# Statuses UnschedulableAndUnresolvable: removing pods can't help. RESOURCES is judged by amounts.
_RESOLVABLE = np.ones(256, dtype=np.bool_)  # bool[code]
_RESOLVABLE[[Fails.NOTHING, *(int(s) for s in Static if s), *(Fails.STORAGE + c for c in STORAGE_REASONS), Fails.SPREAD_LABEL,
             Fails.AFFINITY, Fails.DEVICES, Fails.CLAIM_ELSEWHERE, Fails.DEVICE_ERROR]] = False  # fmt: skip


@dataclass(slots=True, eq=False)
class View:
    """Per shape, kept up to date node by node, over its candidates: whether resources fit, and the score they give."""

    fits: BoolArray  # bool[candidate]
    seen: int  # how much of State.changed is in
    open: NDArray[np.intp] | None = None  # int[], where `fits` holds; None: to be looked up
    nodes: NDArray[np.intp] | None = None  # the nodes there; don't change it
    passing: NDArray[np.intp] | None = None  # the nodes that passed all filters last; don't change it
    may: BoolArray | None = None  # bool[candidate]: fits if all pods of lower priority go; None: not asked
    scores: IntArray | None = None  # int64[candidate]; None: not asked for those of many
    stale: list[int] = field(default_factory=list)  # places where `scores` are older than `fits`
    tried: int = 0  # attempts without a ranking (`planner.scheduling.node_score_classes`)


def view(state: State, shape: Shape) -> View:
    """The shape's view of the state, brought up to date but for its scores."""
    shape_view = state.views.get(shape)
    if not isinstance(shape_view, View):
        shape_view = state.views[shape] = View(resources_fit(state, shape, shape.candidates), len(state.changed))
    elif shape_view.seen < len(state.changed):
        places = state.changed_among(shape.candidates, shape_view.seen)
        shape_view.seen = len(state.changed)
        if len(places) <= _FEW:
            for place in places:
                _look_at(state, shape, shape_view, place)
        else:
            touched = shape.candidates[places]
            fits = resources_fit(state, shape, touched)
            if (shape_view.fits[places] != fits).any():
                shape_view.fits[places] = fits
                shape_view.open = shape_view.nodes = None
            if shape_view.scores is not None:
                shape_view.stale += places
            if shape_view.may is not None:
                shape_view.may[places] = _fits_alone(state, shape, touched)
    return shape_view


def _look_at(state: State, shape: Shape, node_view: View, place: int) -> None:
    """The same of one candidate alone, which is what a pod that comes or goes changes: no table is asked as a whole."""
    node = shape.candidates.item(place)
    fits = fits_on(state, shape, node)
    if node_view.fits.item(place) is not fits:
        node_view.fits[place] = fits
        node_view.open = node_view.nodes = None
    if node_view.scores is not None:
        node_view.stale.append(place)
    if node_view.may is not None:
        node_view.may[[place]] = _fits_alone(state, shape, shape.candidates[[place]])


def scores_on(state: State, shape: Shape, nodes: NDArray[np.intp]) -> IntArray:
    """The scores that resources and images give `nodes`, which are candidates of the shape: int64[len(nodes)]; don't change it."""
    node_view = view(state, shape)
    if node_view.scores is None:
        # Few nodes passed the filters: their scores alone cost less than all, which are kept for a shape that is
        # asked again and again.
        if len(nodes) * 4 < len(shape.candidates):
            return resource_scores(state, shape, nodes)
        node_view.scores = resource_scores(state, shape, shape.candidates)
    elif node_view.stale:
        places, node_view.stale = list(set(node_view.stale)), []
        if len(places) > _FEW:
            node_view.scores[places] = resource_scores(state, shape, shape.candidates[places])
        else:
            for place in places:
                node_view.scores[place] = resource_score(state, shape, shape.candidates.item(place))
    if len(nodes) == len(shape.candidates):
        return node_view.scores
    is_all = nodes is node_view.nodes and node_view.open is not None
    scores: IntArray = node_view.scores[node_view.open if is_all else np.searchsorted(shape.candidates, nodes)]
    return scores


def could_preempt(state: State, shape: Shape) -> NDArray[np.intp]:
    """Candidates of a plain shape that has no place with pods of lower priority, without which it would fit."""
    node_view = view(state, shape)
    if node_view.may is None:
        node_view.may = _fits_alone(state, shape, shape.candidates)
    return shape.candidates[node_view.may]


def _fits_alone(state: State, shape: Shape, nodes: NDArray[np.intp]) -> BoolArray:
    """Whether the amounts fit beside pods of no lower priority, where there is one of a lower."""
    if shape.absent:
        return np.zeros(len(nodes), dtype=np.bool_)
    below = state.requested_below(shape.priority)
    fits: BoolArray = (below[PODS_ROW, nodes] > 0) & (state.free[PODS_ROW, nodes] + below[PODS_ROW, nodes] >= 1)
    for row, amount in shape.asks:
        fits &= state.free[row, nodes] + below[row, nodes] >= amount
    return fits


def is_judged_by_node(state: State, shape: Shape) -> bool:
    """Whether a node's own amounts and labels decide, and neither pods of the shape nor others ask about neighbors."""
    return shape.is_simple and not state.is_kept_away(shape)


def is_judged_alone(state: State, shape: Shape) -> bool:
    """Whether each node judges the pod by static filters and amounts alone: as above, and no volume says anything."""
    return shape.is_plain and is_judged_by_node(state, shape)


def distinct(numbers: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """The numbers there are, none below 0, sorted; `np.unique` loads masked arrays first, a thirtieth of a command on the demo."""
    return np.flatnonzero(np.bincount(numbers))


@once_a_cluster
def refusing(_: Cluster, shape: Shape) -> frozenset[int]:
    """The filters that refuse a plain shape that fits nowhere."""
    codes = set(distinct(shape.static).tolist()) - {int(Static.PASSES)}
    return frozenset(codes | {int(Fails.RESOURCES)} if len(shape.candidates) else codes)


def resources_fit(state: State, shape: Shape, nodes: NDArray[np.intp]) -> BoolArray:
    """Whether the amounts that the shape asks for are free: bool[len(nodes)]."""
    if shape.absent:
        return np.zeros(len(nodes), dtype=np.bool_)
    fits: BoolArray = state.free[PODS_ROW, nodes] >= 1
    for row, amount in shape.asks:
        enough = state.free[row, nodes] >= amount
        fits &= enough | shape.delegated[row][nodes] if row in shape.delegated else enough
    return fits


def fits_on(state: State, shape: Shape, node: int) -> bool:
    """Whether the amounts that the shape asks for are free on one node: `resources_fit` of it alone."""
    free = state.free.item
    if shape.absent or free(PODS_ROW, node) < 1:
        return False
    for row, amount in shape.asks:  # a loop, since every pod that comes or goes asks
        if free(row, node) < amount and not (row in shape.delegated and shape.delegated[row][node]):
            return False
    return True


def feasible_nodes(state: State, shape: Shape) -> NDArray[np.intp]:
    """Nodes that pass every filter now, ascending. Nominated pods are the scheduler's business."""
    # Tied to one node: neither a view nor a table is made.
    if len(shape.candidates) == 1 and is_judged_by_node(state, shape) and shape.storage.codes is None:
        return shape.candidates if fits_on(state, shape, shape.candidates.item(0)) else shape.candidates[:0]
    node_view = view(state, shape)
    if node_view.nodes is None:
        node_view.open = np.flatnonzero(node_view.fits)
        node_view.nodes = shape.candidates[node_view.open]
    nodes = node_view.nodes
    if not len(nodes) or is_judged_by_node(state, shape):
        return nodes
    if shape.uses_devices or shape.storage.codes is not None:  # more nodes than the candidates may come to pass
        return np.flatnonzero(fails(state, shape) == Fails.NOTHING)
    passing = nodes[passes_rules(state, shape, nodes)]
    if node_view.passing is None or not np.array_equal(node_view.passing, passing):
        node_view.passing = passing
    return node_view.passing


def feasible(state: State, shape: Shape) -> BoolArray:
    """The same as a mask: bool[node]."""
    mask = np.zeros(state.cluster.node_count, dtype=np.bool_)
    mask[feasible_nodes(state, shape)] = True
    return mask


def fails(state: State, shape: Shape) -> NDArray[np.uint8]:
    """The first filter each node fails: uint8[node] of `Fails` (or `Static`), 0 where it passes all."""
    node_view = view(state, shape)
    codes: NDArray[np.uint8] = shape.static.copy()
    for node, bars in state.closed.items():
        code = Static.TAINT if CORDONS.isdisjoint(bars) else Static.CORDONED
        if codes[node] == Static.PASSES or codes[node] > code:
            codes[node] = code
    if shape.host_ports:
        mark(codes, _ports_taken(state, shape), Fails.PORTS)
    lacking = np.zeros(len(codes), dtype=np.bool_)
    lacking[shape.candidates[~node_view.fits]] = True
    if shape.storage.codes is not None:  # storage is judged after resources: its conflicts aren't candidates
        conflicts = np.flatnonzero((shape.static == Static.PASSES) & (shape.storage.codes != 0))
        lacking[conflicts[~resources_fit(state, shape, conflicts)]] = True
    mark(codes, lacking, Fails.RESOURCES)
    _mark_rules(state, shape, codes, slice(None))
    return codes


def fails_on(state: State, shape: Shape, node: int) -> int:
    """The first filter that one node fails: `fails` of it alone."""
    if state.closed or not is_judged_alone(state, shape):
        return int(fails(state, shape)[node])
    return shape.static.item(node) or int(Fails.NOTHING if fits_on(state, shape, node) else Fails.RESOURCES)


def passes_rules(state: State, shape: Shape, nodes: NDArray[np.intp]) -> BoolArray:
    """Which of `nodes` pass the rest of the filters, where static ones and amounts are passed: bool[len(nodes)]."""
    codes = np.full(len(nodes), Fails.NOTHING, dtype=np.uint8)
    if shape.host_ports:
        mark(codes, _ports_taken(state, shape)[nodes], Fails.PORTS)
    _mark_rules(state, shape, codes, nodes)
    passes: BoolArray = codes == Fails.NOTHING
    return passes


def _mark_rules(state: State, shape: Shape, codes: NDArray[np.uint8], nodes: Nodes) -> None:
    """The filters after the amounts: `codes` are those of `nodes`."""
    if any(state.exclusive.get(claim, 0) for claim in shape.storage.exclusive_claims):
        mark(codes, np.ones(len(codes), dtype=np.bool_), Fails.EXCLUSIVE_CLAIM)
    if shape.storage.disks:
        mark(codes, _disks_taken(state, shape)[nodes], Fails.DISK)
    if shape.storage.mounts:
        mark(codes, state.volumes.over_limit(shape.storage)[nodes], Fails.VOLUME_LIMIT)
    if shape.storage.codes is not None or shape.storage.late:
        now = state.volumes.codes(shape.storage)[nodes]
        # Not by `mark`, which writes one code: each node has a reason of its own, which the scheduler's message
        # names.
        conflicts = (codes == 0) & (now != 0)
        codes[conflicts] = Fails.STORAGE + now[conflicts]
    for spread in shape.hard_spread:
        _mark_spread(state, shape, spread, codes, nodes)
    _mark_affinity(state, shape, codes, nodes)
    if shape.uses_devices:
        unmarked_nodes = np.zeros(state.cluster.node_count, dtype=np.bool_)
        unmarked_nodes[nodes] = codes == 0
        lacking, elsewhere = state.devices.refused(shape.devices, unmarked_nodes)
        mark(codes, lacking[nodes], Fails.DEVICES)
        mark(codes, elsewhere[nodes], Fails.CLAIM_ELSEWHERE)
        if state.devices.error:
            mark(codes, codes == 0, Fails.DEVICE_ERROR)


def _ports_taken(state: State, shape: Shape) -> BoolArray:
    """Source: `HostPortInfo.CheckConflict`: same protocol and port, and either address is 0.0.0.0 or both agree."""
    taken = np.zeros(state.cluster.node_count, dtype=np.bool_)
    for host_port in shape.host_ports:
        for port, counts in state.ports.items():
            if (port.port, port.protocol) != (host_port.port, host_port.protocol):
                continue
            if port.host_ip == host_port.host_ip or "0.0.0.0" in (port.host_ip, host_port.host_ip):
                taken |= counts > 0
    return taken


def _disks_taken(state: State, shape: Shape) -> BoolArray:
    taken = np.zeros(state.cluster.node_count, dtype=np.bool_)
    for disk, read_only in shape.storage.disks:
        for (other, other_read_only), counts in state.disks.items():
            if other == disk and not (read_only and other_read_only):
                taken |= counts > 0
    return taken


def _mark_spread(state: State, shape: Shape, spread: Spread, codes: NDArray[np.uint8], nodes: Nodes) -> None:
    """Source: plugins/podtopologyspread `Filter`, `minMatchNum`."""
    domains = state.cluster.domains(spread.topology_key)
    mark(codes, domains.codes[nodes] < 0, Fails.SPREAD_LABEL)
    count = state.selected(shape.namespace, spread.selector)
    sums = count.by_domain(domains, spread.topology_key, spread.counted)
    eligible = state.cluster.remember(_eligible, spread, state.absent)
    lowest = int(sums.totals[eligible].min()) if len(eligible) and len(eligible) >= spread.min_domains else 0
    skew = sums.at(nodes) + int(spread.matches_itself) - lowest
    mark(codes, skew > spread.max_skew, Fails.SPREAD)


def _eligible(cluster: Cluster, spread: Spread, absent: frozenset[int]) -> NDArray[np.intp]:
    """The domains in which pods count."""
    codes = cluster.domains(spread.topology_key).codes
    counted = spread.counted & (codes >= 0)
    counted[list(absent)] = False
    return distinct(codes[counted])


def _mark_affinity(state: State, shape: Shape, codes: NDArray[np.uint8], nodes: Nodes) -> None:
    """Source: plugins/interpodaffinity `Filter`."""
    cluster = state.cluster
    if shape.affinity:
        mark(codes, ~_affinity_satisfied(state, shape)[nodes], Fails.AFFINITY)
    for term in shape.anti_affinity:
        sums = state.matching_all((term,)).by_domain(cluster.domains(term.topology_key), term.topology_key, None)
        mark(codes, sums.at(nodes) > 0, Fails.ANTI_AFFINITY)
    for term in state.terms_about(shape, state.anti):
        taken = cluster.domains(term.topology_key).sums(state.anti[term], nodes)
        mark(codes, taken > 0, Fails.EXISTING_ANTI_AFFINITY)


def _affinity_satisfied(state: State, shape: Shape) -> BoolArray:
    """`satisfyPodAffinity`: every term's domain holds a matching pod, or the pod is the first of its kind."""
    cluster = state.cluster
    count = state.matching_all(shape.affinity)
    satisfied = np.ones(cluster.node_count, dtype=np.bool_)
    has_keys = np.ones(cluster.node_count, dtype=np.bool_)
    found_any = False
    for term in shape.affinity:
        domains = cluster.domains(term.topology_key)
        labelled = domains.codes >= 0
        has_keys &= labelled
        sums = count.by_domain(domains, term.topology_key, None)
        satisfied &= sums.at(slice(None)) > 0
        found_any = found_any or bool(sums.totals.any())
    if not found_any and all(t.matches(cluster, shape.namespace, shape.labels) for t in shape.affinity):
        return has_keys
    return satisfied & has_keys


def insufficient(state: State, shape: Shape, nodes: NDArray[np.intp]) -> tuple[Counter[str], BoolArray]:
    """Resources that are short and on how many of `nodes` (`PODS`: the nodes' limit of pods), and where a node's whole
    size is too small (bool[len(nodes)]).

    Source: plugins/noderesources `fitsRequest`: every lacking resource is named.
    """
    names: Counter[str] = Counter()
    too_small = np.zeros(len(nodes), dtype=np.bool_)
    lacking = int((state.free[PODS_ROW, nodes] < 1).sum())
    if lacking:
        names[PODS] = lacking
    for row, amount in shape.asks:
        short = state.free[row, nodes] < amount
        if row in shape.delegated:
            short &= ~shape.delegated[row][nodes]
        if short.any():
            names[state.cluster.resources[row]] = int(short.sum())
            too_small |= short & (state.cluster.allocatable[row, nodes] < amount)
    for name in shape.absent:
        names[name] = len(nodes)
        too_small[:] = True
    return names, too_small


def reasons_for(
    state: State, shape: Shape, codes: NDArray[np.uint8], nodes: NDArray[np.intp] | None = None
) -> tuple[Counter[str], BoolArray]:
    """What refused the pod over all nodes (or `nodes`, none of them absent), and where removing other pods could help: bool[node]."""
    reasons: Counter[str] = Counter()
    # Nodes still to come are in the arrays, and kube-scheduler doesn't count them in its message.
    if state.absent and nodes is None:
        codes = codes.copy()
        codes[list(state.absent)] = Fails.NOTHING
    numbers = np.bincount(codes, minlength=256)
    for code in np.flatnonzero(numbers):
        if code not in (Fails.NOTHING, Fails.RESOURCES):
            reasons[REASONS[int(code)]] += int(numbers[code])
    resolvable = _RESOLVABLE[codes]
    short = np.flatnonzero(codes == Fails.RESOURCES)
    if len(short):
        shortages, too_small = insufficient(state, shape, short if nodes is None else nodes[short])
        reasons.update(
            {"Too many pods" if name == PODS else f"Insufficient {name}": n for name, n in shortages.items()}
        )
        # A node whose whole allocatable is less than the request is no candidate for preemption
        # (`UnschedulableAndUnresolvable`).
        resolvable[short[too_small]] = False
    return reasons, resolvable
