"""Simulates ``kubectl drain --ignore-daemonsets``: cordon, then evictions that disruption budgets may refuse.

How evictions go on is `planner.capacity.eviction_simulation`. Source: kubernetes `staging/src/k8s.io/kubectl/pkg/drain`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from planner.capacity.eviction_simulation import EvictionRun, cordoned, evict
from planner.capacity.node_losses import is_unplayed
from planner.ground.errors import ChangeError
from planner.ground.records import Record, replace
from planner.ground.words import Text, begin_with, count, listing, plural
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Finding, Severity
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import deletes_with
from planner.rollout.eviction_requests import on_nodes
from planner.rollout.simulation import Simulation
from planner.rollout.volume_attachments import VOLUME_ELSEWHERE
from planner.scheduling.cluster import Cluster


class HeldBack(Record):
    """A pod that could not be evicted: which budget keeps it, and the API server's reason."""

    pod: str  # namespace/name
    workload: str
    node: str
    budget: str
    why: str


class Unplaced(Record):
    """Pods that wait at the end, by workload and kube-scheduler's words; `before` of them waited already."""

    workload: str
    count: int
    before: int
    message: Text


class DrainResult(Record):
    """What draining some nodes comes to."""

    nodes: tuple[str, ...]
    drained: bool
    sentence: Text
    evicted: int
    ticks: int
    held_back: tuple[HeldBack, ...]
    unplaced: tuple[Unplaced, ...]
    moved_to: tuple[tuple[str, int], ...]  # (pool, pods that were made anew and are placed there)
    lost: tuple[str, ...]  # namespace/name of evicted pods without a controller: nothing makes them anew
    unjudged: tuple[tuple[str, int], ...]  # (what owns them, pods that are evicted): what makes them anew isn't played
    findings: tuple[Finding, ...]
    unattached: int = 0  # pods made anew that have a node and wait there for a volume that another node has


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _known(cluster: Cluster, names: Sequence[str]) -> list[int]:
    for name in names:
        if name not in cluster.node_index:
            raise ChangeError(f"there is no node {name}", fix="Name nodes of the snapshot")
    if not names:
        raise ChangeError("no node is named", fix="Name the nodes to drain")
    return [cluster.node_index[name] for name in names]


def simulate_drain(
    cluster: Cluster, names: Sequence[str], *, seed: int = 0, watch: Callable[[Simulation, float], None] | None = None
) -> EvictionRun:
    """Cordon the nodes and evict what is on them until nothing moves; `watch` as `evict` has it.

    Raises
    ------
    ChangeError
        When a name is no node of the cluster.
    TooLargeError
        When it costs more than a question may.
    """
    drained = set(_known(cluster, names))
    nodes = tuple(cordoned(node) if i in drained else node for i, node in enumerate(cluster.nodes))
    return evict(cluster.with_nodes(nodes), on_nodes(drained), seed=seed, watch=watch)


# ── the answer ───────────────────────────────────────────────────────────────────────────────────────────────────────
def drain_result(cluster: Cluster, names: Sequence[str], run: EvictionRun) -> DrainResult:
    """A drain that was played, as an answer."""
    keys = workload_keys(cluster.snapshot)
    # A pod made during the drain isn't in the snapshot: its workload is found by its owner.
    by_owner = {pod.owner.key(pod.namespace): keys[pod.uid] for pod in cluster.snapshot.pods if pod.owner}
    held_pods = tuple(
        HeldBack(
            pod=f"{pod.namespace}/{pod.name}",
            workload=keys.get(pod.uid, by_owner.get(pod.owner, pod.owner)),
            node=cluster.node_names[pod.node],
            budget=budget,
            why=why or "it was not asked for again",
        )
        for pod, budget, why in run.left
    )
    unplaced = _unplaced(run, keys, by_owner)
    placed = Counter(node_pool(cluster.nodes[p.node]) for p in run.made if p.is_bound and not p.is_gone)
    drain = DrainResult(
        nodes=tuple(names),
        drained=not run.left,
        sentence=Text(),
        evicted=run.evicted,
        ticks=run.ticks,
        held_back=held_pods,
        unplaced=unplaced,
        moved_to=tuple(sorted(placed.items(), key=lambda node_count: (-node_count[1], node_count[0]))),
        lost=tuple(f"{pod.namespace}/{pod.name}" for pod in run.lost),
        unjudged=tuple(Counter(keys[pod.uid] for pod in run.moved if is_unplayed(cluster, pod)).most_common()),
        findings=_findings(run),
        unattached=sum(pod.number > 0 for pod in run.simulation.attachments.waiting),
    )
    return replace(drain, sentence=Text(_sentence(drain)))


def _unplaced(run: EvictionRun, keys: dict[str, str], by_owner: dict[str, str]) -> tuple[Unplaced, ...]:
    groups: Counter[tuple[str, str]] = Counter()
    before: Counter[tuple[str, str]] = Counter()
    for pod in run.simulation.queue.pods():
        group = (keys.get(pod.uid, by_owner.get(pod.owner, pod.owner)), pod.message or "never tried")
        groups[group] += 1
        before[group] += pod.number < 0
    return tuple(
        Unplaced(workload=workload, count=count, before=before[workload, message], message=Text(message))
        for (workload, message), count in groups.most_common()
    )


def _findings(run: EvictionRun) -> tuple[Finding, ...]:
    """What kubectl would ask for on the way."""
    findings = []
    if run.lost:
        names = ", ".join(f"{pod.namespace}/{pod.name}" for pod in run.lost[:5])
        findings.append(
            Finding(
                severity=Severity.WARNING,
                code="drain-loses-pods",
                object="",
                what=f"{count(len(run.lost), 'pod has', 'pods have')} no controller and will not come back ({names})",
                fix="kubectl drain refuses until --force is given: move or delete them first",
            )
        )
    local = [pod for pod in run.moved if deletes_with(pod.shape.spec.volumes)]
    if local:
        findings.append(
            Finding(
                severity=Severity.INFO,
                code="drain-deletes-local-data",
                object="",
                what=f"{count(len(local), 'pod has', 'pods have')} emptyDir volumes; their data is lost with the pods",
                fix="kubectl drain refuses until --delete-emptydir-data is given",
            )
        )
    return tuple(findings)


def gone_words(names: Sequence[str]) -> str:
    """``pod ml/train-x has no controller and is gone with its work``."""
    if len(names) == 1:
        return f"pod {names[0]} has no controller and is gone with its work"
    return f"{len(names):,} pods have no controller ({listing(list(names))}) and are gone with their work"


def _sentence(drain: DrainResult) -> str:
    """``drained: 3 pods evicted; 2 of them find no node``."""
    what = begin_with(drain.nodes[0], "node") if len(drain.nodes) == 1 else count(len(drain.nodes), "node")
    fewer = sum(unplaced.count - unplaced.before for unplaced in drain.unplaced)
    moved = f"{count(drain.evicted, 'pod')} evicted"
    others = "all others" if drain.lost else "all"
    where = f"; {others} find another node" if drain.evicted > len(drain.lost) else ""
    if drain.unjudged:
        several = count(sum(number for _, number in drain.unjudged), "pod")
        back = "those that are made anew find another node; " if drain.moved_to else ""
        where = f"; {back}whether {several} of {listing([key for key, _ in drain.unjudged])} {plural(drain.unjudged[0][1], 'comes', 'come')} back isn't known"
    if fewer:
        where = f"; {fewer:,} of the new ones {plural(fewer, 'finds', 'find')} no node"
    if drain.unattached:
        verb = plural(drain.unattached, "waits", "wait")
        where += f"; {drain.unattached:,} of them {verb} there {VOLUME_ELSEWHERE}"
    if drain.lost:
        where += f"; {gone_words(drain.lost)}, which kubectl drain refuses without --force"
    if drain.drained:
        only = " only with --force" if drain.lost else ""
        return f"{what} can be drained{only}: {moved}{where}"
    budgets = sorted({held_back.budget for held_back in drain.held_back if held_back.budget})
    by = f" by the {plural(len(budgets), 'disruption budget')} {', '.join(budgets)}" if budgets else ""
    held_words = f"{count(len(drain.held_back), 'pod is', 'pods are')} held back{by}"
    return f"{what} can't be drained: {held_words}; {moved}{where}"
