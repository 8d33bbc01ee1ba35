"""The lever *quota*: larger ResourceQuotas in the rollout's namespace, as large as its peak use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from planner.ground.quantity import format_amount
from planner.ground.records import replace
from planner.ground.words import listing, plural
from planner.kubernetes import shell_commands
from planner.kubernetes.object_records import FrozenMap, ResourceQuota, Snapshot
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.rollout.admission import usage
from planner.rollout.answers import Remedy, RemedyKind, Step
from planner.rollout.run import Run
from planner.scheduling.cluster import Cluster

UNBOUNDED = 2**62  # of a quota that is out of the way
Bounds = Mapping[tuple[str, str, str], int]
"""Namespace, quota, resource → what it lets in."""


# ── what it makes of a cluster ───────────────────────────────────────────────────────────────────────────────────────
def with_bounds(cluster: Cluster, bounds: Bounds) -> Cluster:
    """With other bounds of these quotas."""
    if not bounds:
        return cluster
    snapshot = cluster.snapshot

    def hard(of: ResourceQuota) -> FrozenMap[int]:
        return FrozenMap({key: bounds.get((of.namespace, of.name, key), n) for key, n in of.hard.items()})

    quotas = tuple(replace(quota, hard=hard(quota)) for quota in snapshot.resource_quotas)
    return cluster.with_snapshot(replace(snapshot, resource_quotas=quotas))


def without_quotas(cluster: Cluster, namespaces: Collection[str]) -> Cluster:
    """With no bound at all in these namespaces: what is used then says how large the quotas have to be."""
    quotas = (quota for quota in cluster.snapshot.resource_quotas if quota.namespace in namespaces)
    return with_bounds(cluster, {(of.namespace, of.name, key): UNBOUNDED for of in quotas for key in of.hard})


Raised = tuple[str, str, str, int, int]


def binding_quotas(snapshot: Snapshot, run: Run, namespaces: Collection[str]) -> Iterator[Raised]:
    """Namespace, quota, resource, today's bound and the most that is used in a run, of the quotas that stood in the way."""
    for quota in snapshot.resource_quotas:
        used = run.simulation.admission.most_used.get((quota.namespace, quota.name), {})
        for key, bound in quota.hard.items() if quota.namespace in namespaces else ():
            if used.get(key, 0) > bound:
                yield quota.namespace, quota.name, key, bound, used[key]


# ── alone ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def ways_out(case: StuckRollout) -> Iterator[Remedy]:
    """The quotas that stand in the way, raised by what the surge needs, or else to the most that is ever used."""
    workload, snapshot = case.workload, case.cluster.snapshot
    if is_unstated(case.run, workload.key):
        return
    # Without any quota first: if it is stuck even so, no quota is a way out, and else the run's peak says how large one
    # must be.
    free = case.attempt(workload, without_quotas(case.cluster, {workload.namespace}))
    if free is None:
        return
    admission = free.simulation.admission
    pod_usage = usage(admission.prepare(workload.namespace, workload.template.spec, workload.template.labels))
    live = sum(1 for p in case.run.pods[workload.key] if not p.is_terminating)
    pods = max(1, rolling_limits(workload)[0], workload.replicas - live)
    most = list(binding_quotas(snapshot, free, {workload.namespace}))
    surged = []
    for space, name, key, bound, peak in most:
        with_surge = min(peak, admission.used_at_first[space, name].get(key, 0) + pods * pod_usage.get(key, 0))
        surged += [(space, name, key, bound, with_surge)] if with_surge > bound else []
    for hard in (surged, most):
        bounds = {(space, name, key): amount for space, name, key, _, amount in hard}
        run = case.attempt(workload, with_bounds(case.cluster, bounds)) if hard else None
        if run is not None:
            yield _remedy(case, [(name, key, bound, amount) for _, name, key, bound, amount in hard], run)
            return


def is_unstated(run: Run, key: str) -> bool:
    """Whether quotas refuse its pods since they don't state what they ask for, whatever the bounds are and however few there are."""
    refusals = [refusal for owner in run.owners[key] if (refusal := run.refusals.get(owner))]
    return bool(refusals) and all(refusal.unstated for refusal in refusals)


def _remedy(case: StuckRollout, hard: Sequence[tuple[str, str, int, int]], run: Run) -> Remedy:
    names = dict.fromkeys(name for name, *_ in hard)
    amounts = ", ".join(f"{key} to {format_amount(amount, key)}" for _, key, _, amount in hard)
    then = tuple((name, key, amount) for name, key, _, amount in hard)
    title = f"Raise the {plural(len(names), 'quota')} {' and '.join(names)}"
    return case.remedy(
        LeverPosition(kind=RemedyKind.RAISE_QUOTA, title=title), f"{amounts}; {case.at_worst(run)}", run,
        step=raise_quotas(case.workload.namespace, hard), change=as_change(case.workload.namespace, then), quota_hard=then,
    )  # fmt: skip


# ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def raise_quotas(namespace: str, hard: Iterable[tuple[str, str, int, int]]) -> Step:
    """Quotas of a namespace with larger bounds: of each the resource, today's bound and the new one."""
    today: dict[str, dict[str, str]] = {}
    larger: dict[str, dict[str, str]] = {}
    for name, key, bound, most in hard:
        larger.setdefault(name, {})[key] = format_amount(most, key)
        today.setdefault(name, {})[key] = format_amount(bound, key)
    names = listing(list(larger), None)
    return Step(
        what=f"Raise the {plural(len(larger), 'quota')} {names} of {namespace}",
        commands=tuple(_patches(namespace, larger)), undo=tuple(_patches(namespace, today)),
        target=listing([f"ResourceQuota/{namespace}/{name}" for name in larger], None),
        before=_amounts(today), after=_amounts(larger),
    )  # fmt: skip


def as_change(namespace: str, hard: Iterable[tuple[str, str, int]]) -> str:
    """The raised quotas as ``--change`` takes them: of each quota the resource and its new bound."""
    return ";".join(f"quota:{namespace}/{name}={key}:{format_amount(most, key)}" for name, key, most in hard)


def _patches(namespace: str, hard: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Quotas of a namespace with other bounds: quota → key → amount as Kubernetes writes it."""
    for name, keys in hard.items():
        yield shell_commands.patch(f"ResourceQuota/{namespace}/{name}", {"spec": {"hard": keys}})


def _amounts(hard: Mapping[str, Mapping[str, str]]) -> str:
    return ", ".join(f"{key} {amount}" for keys in hard.values() for key, amount in keys.items())
