"""Steps that ways out are made of: what somebody does, what is waited for, and what takes it back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from planner.capacity.node_pools import NodePool
from planner.ground import words
from planner.ground.quantity import format_amount
from planner.ground.records import replace
from planner.inventory.applied import MANIFEST, applied, taken_back
from planner.inventory.pool_limits import LimitSource
from planner.kubernetes import commands
from planner.kubernetes.clouds import brings_of, clouds_of
from planner.kubernetes.nodes import node_pool, pool_label
from planner.kubernetes.patches import Object
from planner.kubernetes.records import Amounts, Node, Workload
from planner.remedies import limits
from planner.rollout.answers import Step
from planner.rollout.ownership import workloads_by_key
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


def waits_for(cluster: Cluster, flying: Sequence[str], seconds: float) -> tuple[str, ...]:
    """A command for each that is rolling out, which waits until it has; it may take twice the `seconds` that are estimated."""
    known, most = workloads_by_key(cluster), limits.AWAITED.most
    waits = [
        commands.wait(key, PATIENCE * seconds, pods=known[key].replicas, strategy=known[key].strategy.kind)
        for key in flying[:most]
        if key in known
    ]
    if len(flying) > most:
        waits.append(commands.comment(limits.AWAITED.reached(number=len(flying) - most)).strip())
    return tuple(waits)


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
        target=workload.key,
        before=str(workload.replicas),
        after=str(replicas),
    )


def scaled_back(workload: Workload) -> Step:
    """A workload given its pods again; that they have room isn't waited for."""
    return Step(
        what=f"Scale {workload.namespace}/{workload.name} back to {workload.replicas:,}",
        commands=(commands.scale(workload.key, workload.replicas),),
    )


def _quota_patches(namespace: str, hard: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Quotas of a namespace with other bounds: quota → key → amount as Kubernetes writes it."""
    return [
        commands.patch(f"ResourceQuota/{namespace}/{name}", {"spec": {"hard": keys}}) for name, keys in hard.items()
    ]


def nodes_added(cluster: Cluster, like: Node, number: int, *, place: str = "") -> Step:
    """So many nodes more like one of its own: with the command of the cloud whose pool it is, or in words; a node without a pool stands
    for itself, no pool is made of its name. `place`: where of the pool they have to be, which the command of no cloud chooses."""
    pool = node_pool(like)
    size = sum(node_pool(node) == pool for node in cluster.nodes) if pool else 0
    there = f", {place}" if place else ""
    what = f"{words.count(number, 'more node', 'more nodes')} {f'in {pool}' if pool else f'like {like.name}'}{there}"
    if not pool:
        more, again = f"add {words.count(number, 'node')} like {like.name}{there}", "remove what was added"
        return Step(what=what, commands=(_comment(more),), undo=(_comment(again),))
    if brings := brings_of(pool_label(like)):
        return Step(what=what, commands=(_comment(brings.replace("{}", pool)),), undo=(_comment("they go again by themselves"),))  # fmt: skip
    made, undone = _resize(cluster, pool, size + number), _resize(cluster, pool, size)
    made += _only_there(place) if made else ""
    if not made:
        made = _comment(f"grow node pool {pool} from {size} to {words.count(size + number, 'node')}{there}")
        undone = _comment(f"give node pool {pool} its {words.count(size, 'node')} again")
    return Step(
        what=what, commands=(made,), undo=(undone,), target=f"NodePool/{pool}", before=str(size), after=str(size + number)
    )  # fmt: skip


def _resize(cluster: Cluster, pool: str, nodes: int) -> str:
    """The cloud's command; "" where none is known."""
    cloud = next((cloud for cloud in clouds_of(cluster.nodes) if cloud.resize), None)
    if cloud is None:
        return ""
    text = commands.command(*(word.replace("{pool}", pool).replace("{nodes}", str(nodes)) for word in cloud.resize))
    return text + (commands.comment(cloud.resize_note) if cloud.resize_note else "")


def _only_there(place: str) -> str:
    return commands.comment(f"the new nodes have to be in {place}") if place else ""


def limits_raised(pool: NodePool, used: Amounts, more: Amounts) -> Step | None:
    """A Karpenter NodePool's ``spec.limits`` raised by what binds; None where nothing does."""
    binding = pool.binding(used, more)
    if pool.source is not LimitSource.KARPENTER or not binding:
        return None
    then = {name: format_amount(amount, name) for name, amount, _ in binding}
    today = {name: format_amount(limit, name) for name, _, limit in binding}
    made, undone = (
        commands.command("kubectl", "patch", f"nodepools.karpenter.sh/{pool.name}", "--type=merge", "-p", json.dumps({"spec": {"limits": one}}))
        for one in (then, today)
    )  # fmt: skip
    what = f"Raise the limits of NodePool {pool.name}: {words.listing([f'{name} to {amount}' for name, amount in then.items()], None)}"
    return Step(
        what=what, commands=(made,), undo=(undone,), target=f"NodePool/{pool.name}/limits", before=json.dumps(today),
        after=json.dumps(then),
    )  # fmt: skip


def _comment(text: str) -> str:
    return commands.comment(text).strip()


def quota_raised(namespace: str, hard: Iterable[tuple[str, str, int, int]]) -> Step:
    """Quotas of a namespace with larger bounds: of each the resource, today's bound and the new one."""
    today: dict[str, dict[str, str]] = {}
    larger: dict[str, dict[str, str]] = {}
    for name, key, bound, most in hard:
        larger.setdefault(name, {})[key] = format_amount(most, key)
        today.setdefault(name, {})[key] = format_amount(bound, key)
    names = words.listing(list(larger), None)
    return Step(
        what=f"Raise the {words.plural(len(larger), 'quota')} {names} of {namespace}",
        commands=tuple(_quota_patches(namespace, larger)), undo=tuple(_quota_patches(namespace, today)),
        target=words.listing([f"ResourceQuota/{namespace}/{name}" for name in larger], None),
        before=_amounts(today), after=_amounts(larger),
    )  # fmt: skip


def _amounts(hard: Mapping[str, Mapping[str, str]]) -> str:
    return ", ".join(f"{key} {amount}" for keys in hard.values() for key, amount in keys.items())


def strategy_set(before: Workload, title: str, patch: Object) -> Step:
    """A workload that is there with another strategy, as a patch."""
    return Step(
        what=title, commands=(commands.patch(before.key, patch),), undo=(commands.patch(before.key, taken_back(before, patch)),),
        target=before.key, before=json.dumps(taken_back(before, patch)), after=json.dumps(patch),
    )  # fmt: skip
