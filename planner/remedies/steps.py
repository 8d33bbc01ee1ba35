"""Steps that ways out are made of: what somebody does, what is waited for, and what takes it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from planner.ground import words
from planner.ground.records import replace
from planner.inventory.applied import MANIFEST, applied
from planner.kubernetes import commands
from planner.kubernetes.clouds import brings_of, clouds_of
from planner.kubernetes.nodes import node_pool, pool_label
from planner.kubernetes.records import Workload
from planner.rollout.answers import Step
from planner.rollout.run import Revision, Run
from planner.scheduling.cluster import Cluster

PATIENCE: Final = 2  # how much longer than estimated kubectl waits: times are estimates
SCALE_SECONDS: Final = 600


def change(revision: Revision, run: Run, seconds: float) -> Step:
    """The user's change, without what the way out sets itself, and the wait for its rollout, which takes about `seconds`."""
    workload, key = revision.after, revision.after.key
    before, placed, patience = revision.before, revision.placed, PATIENCE * seconds
    plugin = commands.with_plugin("promote", key)
    promoted = f"; then promote it ({plugin} does the same)" if run.promotions.get(key) else ""
    if placed is not None:
        patient = commands.wait_for(placed.resource, key, placed.waits, patience) if placed.resource else ()
    else:
        pods = (
            run.status[key].get(workload.traits.status.wanted, 0) if workload.traits.is_per_node else workload.replicas
        )
        patient = (
            *_promotions(workload, run.promotions.get(key, 0), patience),
            commands.wait(key, patience, pods=pods, strategy=workload.strategy.kind),
        )
    if before is not None:
        after = replace(workload, strategy=before.strategy, replicas=before.replicas)
        own = applied(before, after)
        if own is not None and own.is_whole:
            return Step(what=f"Apply the change{promoted}", commands=(own.command, *patient), undo=(own.undo,))
    is_named = placed is None or bool(placed.resource)
    return Step(
        what="Apply your change, unless it is applied already; its manifest must not set back what is set above"
        + promoted,
        commands=(commands.command("kubectl", "apply" if is_named else "create", "-f", MANIFEST), *patient),
        is_change=True,
        # one that is there and is only placed can't be undone by a command: deleted, it would be gone whole
        undo=(
            commands.undo(key)
            if before is not None
            else commands.kubectl("delete", key, resource=placed.resource if placed else ""),
        )
        if is_named and not (placed and placed.rules)
        else (),
    )


def _promotions(workload: Workload, times: int, seconds: float) -> Iterator[str]:
    """Each pause that waits for somebody, waited for and ended: without that it never gets Healthy."""
    steps = workload.strategy.canary.steps if workload.strategy.canary is not None else ()
    pauses = [place for place, one in enumerate(steps) if one.is_pause and one.pause_seconds is None]
    places = pauses[-times:] if times and len(pauses) >= times else [None] * times
    for place in places:
        yield from commands.wait_paused(workload.key, seconds, place)
        yield commands.promote_plainly(workload.key)


def scaled(workload: Workload, replicas: int) -> Step:
    """A workload scaled, and that waited for."""
    return Step(
        what=f"Scale {workload.namespace}/{workload.name} to {replicas:,}",
        commands=(
            commands.scale(workload.key, replicas),
            commands.wait(workload.key, SCALE_SECONDS, pods=replicas, strategy=workload.strategy.kind),
        ),
        undo=scaled_back(workload).commands,
        is_lent=True,
    )


def scaled_back(workload: Workload) -> Step:
    """A workload given its pods again; that they have room isn't waited for."""
    return Step(
        what=f"Scale {workload.namespace}/{workload.name} back to {workload.replicas:,}",
        commands=(commands.scale(workload.key, workload.replicas),),
    )


def quota_patches(namespace: str, hard: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Quotas of a namespace with other bounds: quota → key → amount as Kubernetes writes it."""
    return [
        commands.patch(f"ResourceQuota/{namespace}/{name}", {"spec": {"hard": keys}}) for name, keys in hard.items()
    ]


def resize(cluster: Cluster, pool: str, count: int) -> str:
    """A pool with `count` nodes more than today."""
    size = sum(1 for n in cluster.nodes if node_pool(n) == pool)
    label = next((pool_label(node) for node in cluster.nodes if node_pool(node) == pool), "")
    if brings := brings_of(label):
        return commands.comment(brings.replace("{}", pool)).strip()
    how = next((cloud.resize for cloud in clouds_of(cluster.nodes) if cloud.resize), None)
    if how:
        return commands.command(*how[0], pool, *how[1], str(size + count)) + commands.comment(
            "in a pool of several zones: per zone"
        )
    return commands.comment(f"grow node pool {pool} from {size} to {words.count(size + count, 'node')}").strip()
