"""The projected monthly bill of a cluster, and its share by namespace and workload."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from planner.ground import garbage_collector
from planner.ground.errors import InputError, NotKnownError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, HOURS_PER_MONTH, MEMORY, SYSTEM_NAMESPACES
from planner.ground.words import Text, count, usd
from planner.inventory.input_report import how_to_add, told, unseen
from planner.inventory.usage import usage_now
from planner.kubernetes.clouds import clouds_of
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.name_validation import is_qualified
from planner.kubernetes.node_properties import NO_POOL, has_local_ssd, node_pool
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap, Pod, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.workload_kinds import POD
from planner.pricing.allocation import PARTS, AllocatedCost, AllocationKind, RequestedShare, added_up, allocate, of_pods
from planner.pricing.cent_rounding import shared_out
from planner.pricing.focus_export import Resource, resource_of
from planner.pricing.node_pool_costs import ClusterCost, SplitCost, cluster_cost, cost_words
from planner.pricing.owned_commitments import covered
from planner.pricing.pod_gpu_shares import amounts_on, is_by_size
from planner.pricing.price_book import OwnedCommitment, PartKind, PriceBook

NAMESPACE, POOL, WORKLOAD, LABEL = "namespace", "pool", "workload", "label:"


class NotIn(Record, kw_only=False):
    """What is paid beside the nodes; `usd_per_month` None: the price isn't known."""

    name: str
    usd_per_month: float | None
    sentence: Text


class ClusterBill(ClusterCost):
    """The cluster's cost, and who bears it. `lines` are whole cents and add up to `bill_usd_per_month`; where the pods
    weren't seen they say that the owner isn't known."""

    by: str
    bill_usd_per_month: float | None  # after negotiated discounts and sustained use; None without any price
    bill_idle: SplitCost | None  # what of the bill is not requested, whole cents; None: as it, or the pods weren't seen
    lines: tuple[AllocatedCost, ...]  # added up: used, shared, idle
    by_node: tuple[AllocatedCost, ...]  # the same a node
    resources: tuple[Resource, ...]  # the nodes with a price
    starts_at: float  # of the month, seconds since the epoch
    not_in: tuple[NotIn, ...]
    counts_usage: bool = False  # who uses more than it requests bears what it uses
    shares_idle: bool = False  # idle and shared are among the lines of who uses the nodes, by weight
    hidden: int = 0  # lines and pools, by the filter
    hidden_usd: float = 0.0  # of the lines that are hidden, a month


Asking = Iterable[tuple[Pod, str, Amounts]]
"""Pods that hold room, the node that each does on, and what it requests."""


@once_a_snapshot
def asking_pods(snapshot: Snapshot) -> list[tuple[Pod, str, Amounts]]:
    """Pods that are bound and not finished; they hold what they request, terminating ones until they are gone. Specs are told by
    identity: pods alike share theirs, and comparing them would cost too much. Don't change it."""
    bound = [pod for pod in snapshot.pods if pod.holds_room]
    requests_by_spec = {key: pod_requests(spec) for key, spec in {id(pod.spec): pod.spec for pod in bound}.items()}
    shared = {node.name: node for node in snapshot.nodes if is_by_size(node)}
    return [
        (
            pod,
            pod.node_name,
            amounts_on(shared[pod.node_name], pod.spec) if pod.node_name in shared else requests_by_spec[id(pod.spec)],
        )
        for pod in bound
    ]


def _added_up(each: Sequence[Amounts]) -> Amounts:
    if len(each) == 1:
        return each[0]
    sums: dict[str, int] = {}
    for amounts in each:
        for name, amount in amounts.items():
            sums[name] = sums.get(name, 0) + amount
    return FrozenMap(sums)


def _used(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Pod's uid → vCPUs and memory, of each container what it requests or uses, whichever is more.

    As OpenCost counts (opencost `pkg/costmodel`: a container's usage for cost is the larger of request and average usage); GPUs
    aren't measured so. Pods without a reading aren't in it.
    """
    usage_by_pod: dict[tuple[str, str], dict[str, Mapping[str, int]]] = defaultdict(dict)
    for usage in usage_now(snapshot):
        amounts = {CPU: usage.cpu_millicores or 0, MEMORY: usage.working_set_bytes}
        usage_by_pod[usage.namespace, usage.pod][usage.container] = amounts
    usage_by_node = {}
    for pod, _, _ in asking_pods(snapshot):
        if (own := usage_by_pod.get((pod.namespace, pod.name))) is not None:
            usage_by_node[pod.uid] = {
                name: sum(
                    max(container.requests.get(name, 0), own.get(container.name, EMPTY).get(name, 0))
                    for container in pod.spec.containers
                )
                for name in (CPU, MEMORY)
            }
    return usage_by_node


@once_a_snapshot
def _requested(snapshot: Snapshot) -> dict[str, Amounts] | None:
    holders_by_node = held_by_node(snapshot, NAMESPACE)
    if holders_by_node is None:
        return None
    return {
        node: _added_up([holder.requests for holder in node_holders]) for node, node_holders in holders_by_node.items()
    }


def usd_of_pods(book: PriceBook, snapshot: Snapshot) -> dict[str, float]:
    """Uid of a pod on a node → what it bears of it, USD an hour; without those on nodes that have no price."""
    of_node: dict[str, dict[str, Amounts]] = defaultdict(dict)
    for pod, node, amounts in asking_pods(snapshot):
        of_node[node][pod.uid] = amounts
    nodes = {cluster_node.name: cluster_node for cluster_node in snapshot.nodes}
    return {
        uid: usd
        for cost in cost_cluster(book, snapshot).nodes
        for uid, usd in of_pods(cost, nodes[cost.node.node], of_node[cost.node.node]).items()
    }


def owned_by_node(book: PriceBook, snapshot: Snapshot) -> Mapping[str, OwnedCommitment]:
    """Which of the account's commitments covers which of the cluster's nodes: of some of them, too, no others do."""
    requested = _requested(snapshot) if book.commitments else None
    return covered(book, snapshot.nodes, requested or {})


def cost_cluster(book: PriceBook, snapshot: Snapshot) -> ClusterCost:
    """The cluster's cost by pool and way of buying, and what is not requested (`planner.pricing.node_pool_costs`), with the
    commitments that cover none of its nodes; worked out once, as the bill and what spot would save both stand on it."""
    return snapshot.derived.once(_cost, snapshot, book)


def _cost(snapshot: Snapshot, book: PriceBook) -> ClusterCost:
    cost = cluster_cost(book, snapshot.nodes, _requested(snapshot))
    more = sum(commitment.usd_per_month or 0.0 for commitment in cost.unused_commitments)
    if not more or cost.usd_per_month is None:
        return cost
    return replace(cost, usd_per_month=cost.usd_per_month + more, list_usd_per_month=cost.list_usd_per_month + more)


@garbage_collector.resting()
def bill(
    book: PriceBook, snapshot: Snapshot, by: str = NAMESPACE, *, counts_usage: bool = False, shares_idle: bool = False
) -> ClusterBill:
    """The cluster's cost shared out by namespace, label, pool or workload.

    Parameters
    ----------
    counts_usage : a pod that uses more than it requests bears what it uses
    shares_idle : idle and shared cost is split over the users of the nodes, by weight; of a pool over the users of the pool

    Raises
    ------
    InputError
        When `by` is none of them.
    NotKnownError
        When usage counts and none is in the input.
    """
    cost, unseen_pods = cost_cluster(book, snapshot), _unseen_pods(snapshot)
    used = _used(snapshot) if counts_usage else {}
    if counts_usage and not used and not unseen_pods:
        fix = 'Add the output of: kubectl get --raw "/apis/metrics.k8s.io/v1beta1/pods"'
        raise NotKnownError("who uses more than it requests isn't known: no pod's usage is in the input", fix=fix)
    nodes = {node.name: node for node in snapshot.nodes}
    pool_of = {node.name: node_pool(node) or NO_POOL for node in snapshot.nodes} if by == POOL else None
    holders_by_node = held_by_node(snapshot, by)
    # None where no pods were listed: nobody can be said to hold anything, whatever the use says.
    if used and holders_by_node is not None:
        holders_by_node = holders(snapshot, asking_pods(snapshot), by, used)
    by_node = tuple(allocate(cost.nodes, nodes, holders_by_node, pool_of))
    lines = (*added_up(by_node, pool_of), *_unused(cost))
    cost_fields = {field.name: getattr(cost, field.name) for field in fields(ClusterCost)}
    # The sum of the lines as they are shown, in whole cents: a bill whose lines add up to another cent than its total
    # isn't believed.
    usd_a_month = sum(round(100 * line.usd) for line in lines) / 100 if cost.nodes else None
    idle = _idle(lines) if cost.nodes and not unseen_pods else None
    if counts_usage:
        every = len(asking_pods(snapshot))
        remainder_text = f"; the other {every - len(used):,} count by what they request" if len(used) < every else ""
        note = f"usage is of one moment (metrics-server), of {len(used):,} of {count(every, 'pod')}{remainder_text}"
        cost_fields["notes"] = (*cost_fields["notes"], note)
    if usd_a_month is not None:
        cost_fields["sentence"] = Text(
            _sentence(cost, usd_a_month, idle, counts_usage) + (f": {unseen_pods}" if unseen_pods else "")
        )
    return ClusterBill(
        **cost_fields,
        by=by,
        bill_usd_per_month=usd_a_month,
        bill_idle=idle,
        lines=tuple(_by_weight(lines, by)) if shares_idle else lines,
        counts_usage=counts_usage,
        shares_idle=shares_idle,
        by_node=by_node,
        resources=tuple(resource_of(nodes[node.node.node]) for node in cost.nodes),
        starts_at=snapshot.taken_at,
        not_in=(*_not_in(snapshot, cost), *_unknown_commitments(cost)),
    )


def _idle(lines: Iterable[AllocatedCost]) -> SplitCost:
    idle = [line for line in lines if line.share is AllocationKind.IDLE]
    gpu, cpu, memory = (sum(round(100 * getattr(line, f"{part}_usd")) for line in idle) / 100 for part in PARTS)
    return SplitCost(gpu=gpu, cpu=cpu, memory=memory)


def _by_weight(lines: Iterable[AllocatedCost], by: str) -> Iterator[AllocatedCost]:
    """Idle and shared lines given to those of who uses the nodes, by what each of these bears; of a pool to its own. Whole cents, and the
    same sum; where no workload uses them they stay."""
    groups: dict[str, list[AllocatedCost]] = defaultdict(list)
    for line in lines:
        groups[line.name if by == POOL else ""].append(line)
    for group in groups.values():
        users = [line for line in group if line.share is AllocationKind.USED]
        overhead_lines = [line for line in group if line.share in (AllocationKind.SHARED, AllocationKind.IDLE)]
        weight = sum(line.usd for line in users)
        if not weight:
            yield from group
            continue
        more = {}
        for part in (f"{resource}_usd" for resource in PARTS):
            amount = sum(round(100 * getattr(line, part)) for line in overhead_lines) / 100
            more[part] = shared_out([amount * line.usd / weight for line in users], amount)
        for number, line in enumerate(users):
            yield replace(
                line, **{part: round(getattr(line, part) + cents[number] / 100, 2) for part, cents in more.items()}
            )
        yield from (line for line in group if line not in users and line not in overhead_lines)


def _sentence(cost: ClusterCost, usd_a_month: float, idle: SplitCost | None, counts_usage: bool) -> str:
    priced = len(cost.nodes)
    every = priced + sum(len(group.nodes) for group in cost.unpriced)
    unused = any(commitment.usd_per_month is not None for commitment in cost.unused_commitments)
    return cost_words(
        usd_a_month,
        idle,
        has_gpus=bool(cost.cost.gpu),
        priced=priced,
        count=every,
        more=" and commitments that cover none" if unused else "",
        does="requested or used" if counts_usage else "requested",
    )


def _unused(cost: ClusterCost) -> Iterator[AllocatedCost]:
    """A line for each commitment that covers fewer nodes than it is paid for; its machine isn't taken apart."""
    for plan in cost.unused_commitments:
        if plan.usd_per_month is not None:
            cents = round(plan.usd_per_month, 2)
            yield AllocatedCost(
                name=plan.commitment_id, share=AllocationKind.UNUSED, gpu_usd=0.0, cpu_usd=cents, memory_usd=0.0
            )


@once_a_snapshot
def held_by_node(snapshot: Snapshot, by: str) -> dict[str, list[RequestedShare]] | None:
    """Node → what is requested on it, by whom; None where the pods weren't seen. The system's namespaces are shared,
    what is asked for.

    Made once a snapshot; don't change it.

    Raises
    ------
    InputError
        When `by` is none of namespace, label:NAME, pool and workload, or no label can be called so.
    """
    holders_by_node = holders(snapshot, asking_pods(snapshot), by)
    return None if _unseen_pods(snapshot) else holders_by_node


def _unseen_pods(snapshot: Snapshot) -> str:
    """Why the pods weren't seen, and what adds them; "" where they were."""
    lacking = [gap for gap in unseen(snapshot) if gap.kind == POD.name]
    return f"{told(lacking)}. {how_to_add(lacking)}" if lacking else ""


def holders(
    snapshot: Snapshot, asking: Asking, by: str = NAMESPACE, used: Mapping[str, Mapping[str, int]] = EMPTY
) -> dict[str, list[RequestedShare]]:
    """`held_by_node` where the snapshot's pods are elsewhere, or what they use counts (`_used`)."""
    label = by.removeprefix(LABEL) if by.startswith(LABEL) else ""
    if not label and by not in (NAMESPACE, POOL, WORKLOAD):
        what = f'"{by[:60]}" is nothing to share a bill out by'
        raise InputError(what, where="by", fix="Give namespace, label:NAME, pool or workload")
    if label and not is_qualified(label):
        fix = "Give the label's key: letters, digits, -, _ and ., 63 at most, with a domain/ before it where it has one"
        raise InputError(f'"{label[:60]}" is no label\'s key', where="by", fix=fix)
    keys = workload_keys(snapshot) if by == WORKLOAD else {}
    spaces = {namespace.name: namespace.labels for namespace in snapshot.namespaces}
    each: dict[str, dict[tuple[str, AllocationKind], list[Amounts]]] = defaultdict(lambda: defaultdict(list))
    for pod, node, amounts in asking:
        if (
            used and (more := used.get(pod.uid)) is not None
        ):  # OpenCost's rule: a pod pays for the larger of its request and its use
            amounts = FrozenMap({**amounts, **{name: max(amounts.get(name, 0), more[name]) for name in more}})
        if pod.namespace in SYSTEM_NAMESPACES:
            who = pod.namespace, AllocationKind.SHARED
        elif label:
            label_value = pod.labels.get(label) or spaces.get(pod.namespace, EMPTY).get(label)
            who = str(label_value) if label_value else f"no label {label}", AllocationKind.USED
        else:
            who = keys[pod.uid] if keys else pod.namespace, AllocationKind.USED
        each[node][who].append(amounts)
    return {
        node: [
            RequestedShare(name=name, share=share, requests=_added_up(node_holders[name, share]))
            for name, share in sorted(node_holders, key=lambda who: (who[0], who[1] is AllocationKind.SHARED))
        ]
        for node, node_holders in sorted(each.items())
    }


def _not_in(snapshot: Snapshot, cost: ClusterCost) -> Iterator[NotIn]:
    """What nodes' prices leave out, as far as the snapshot shows that it is there."""
    for cloud in clouds_of(snapshot.nodes):
        usd_a_month = cloud.fee_usd_per_hour * HOURS_PER_MONTH
        versions = [node.kubelet_version for node in snapshot.nodes if node.kubelet_version]
        if not usd_a_month or (
            cloud.version_has and versions and not any(cloud.version_has in version for version in versions)
        ):
            continue  # a self-managed cluster on the cloud's machines pays no fee; a managed one has "-gke." in its kubelet's version
        fee = f"{cloud.name}'s management fee, {usd(usd_a_month)} a month for each cluster, {cloud.fee_is_less}"
        yield NotIn("cluster fee", usd_a_month, Text(fee))
    if snapshot.nodes:
        which = f"boot disks of {count(len(snapshot.nodes), 'node')}"
        yield NotIn(
            "boot disks", None, Text(f"{which}: their type and size are on no node, and the book has no price of disks")
        )
    priced = {node.node.node for node in cost.nodes if any(p.kind is PartKind.LOCAL_SSD for p in node.node.price.parts)}
    local = [node for node in snapshot.nodes if has_local_ssd(node) and node.name not in priced]
    if local:
        which = f"local SSDs attached to {count(len(local), 'node')} ({local[0].name}, …)"
        note = "how many isn't told by these, or the book has no price of them there; where both are known they are in the price"
        yield NotIn("local SSD", None, Text(f"{which}: {note}"))
    if disks := len(snapshot.persistent_volumes):
        yield NotIn("volumes", None, Text(f"{count(disks, 'PersistentVolume')}: the book has no price of disks"))


def _unknown_commitments(cost: ClusterCost) -> Iterator[NotIn]:
    for commitment in cost.unused_commitments:
        if commitment.usd_per_month is None:
            coverage_text = f"{count(commitment.nodes, 'node')} of {commitment.commitment_id} ({commitment.machine_type}, {commitment.region_id}, {commitment.term}) that cover none"
            yield NotIn("commitment", None, Text(f"{coverage_text}: no price; give usd_per_hour"))
