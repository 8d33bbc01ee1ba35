"""The lever *nodes*: more nodes in a matching pool.

How far it goes: as many as pods may need one, `limits.NODES` at most, within what the pool's own limit lets it grow (its maximum, a
NodePool's limits, a cloud's quota). They cost what their pool pays for a node, for the rollout or, where pods stay on them, for good.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from planner.capacity.new_node_kinds import NewNode, kinds_of_new_nodes, place_of, topology_keys
from planner.capacity.node_pools import NodePool, binding_words, capacity_of, pool_key
from planner.ground import words
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.words import Text, plural
from planner.inventory.pool_limits import LimitSource
from planner.kubernetes import shell_commands
from planner.kubernetes.clouds import brings_of, clouds_of
from planner.kubernetes.node_properties import arrival_seconds, gpu_count, node_pool, pool_label
from planner.kubernetes.object_records import Amounts, FrozenMap, Node
from planner.kubernetes.workload_kinds import DEPLOYMENT
from planner.remedies import limits
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.remedies.random_draw_checks import fewest
from planner.rollout.answers import Remedy, RemedyKind, Step
from planner.rollout.room_when_empty import kept_nodes
from planner.rollout.run import Revision, Run
from planner.rollout.snapshot_pending_groups import waiting_of
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import node_pools
from planner.scheduling.shape import Shape
from planner.scheduling.template_node import empty_copy


# ── what it makes of a cluster ───────────────────────────────────────────────────────────────────────────────────────
def with_more_nodes(cluster: Cluster, likes: Sequence[Node]) -> Cluster:
    """With one more node like each of these, empty but for what DaemonSets take."""
    return cluster.grown(tuple(empty_copy(cluster, like, i) for i, like in enumerate(likes))) if likes else cluster


def grown_by(cluster: Cluster, like: Node, number: int) -> Cluster:
    """With so many more like one."""
    return with_more_nodes(cluster, [like] * number)


class MoreNodes(Record, eq=False):
    """So many nodes more like `like`, of which pods stay on `kept`; `machine`, `place`: see `NewNode`."""

    like: Node
    number: int
    kept: int = 0
    machine: str = ""
    place: str = ""

    @classmethod
    def of(cls, new: NewNode, number: int, kept: int) -> MoreNodes:
        return cls(like=new.template, number=number, kept=kept, machine=new.machine, place=new.place)

    @property
    def words(self) -> str:
        """``2 more nodes in gpu, zone a``; ``1 more node like n0`` where it has no pool."""
        pool, many = node_pool(self.like), words.count(self.number, "more node", "more nodes")
        where = f"in {pool}" if pool else f"like {self.like.name}"
        return ", ".join(filter(None, (f"{many} {where}", self.machine, self.place)))

    @property
    def change(self) -> str:
        """``add:gpu=2``, as --change takes it. It brings the pool's own template in the zone with the fewest nodes: "" where another node
        is named."""
        pool = node_pool(self.like)
        return f"add:{pool}={self.number}" if pool and not self.machine and not self.place else ""


# ── how far it goes ──────────────────────────────────────────────────────────────────────────────────────────────────
class Growing(Record):
    """A pool, by a node like those that it would add, and how many it may add; beyond that, `past` its limit."""

    new: NewNode
    pool: str
    most: int
    limit: NodePool | None


def growable_combination(
    cluster: Cluster, revisions: Sequence[Revision], shapes: Sequence[Shape], pools: Sequence[NodePool], cut: list[str], *, past_limits: bool
) -> Iterator[Growing]:  # fmt: skip
    """The pools that a combination may grow. `past_limits`: a pool's limit counts as raised; `cut` gets what isn't looked at."""
    pool_by_name, nodes_wanted = {pool.name: pool for pool in pools}, most_wanted(cluster, revisions)
    keys = tuple(dict.fromkeys(key for shape in shapes for key in topology_keys(shape.spec)))
    new_by_name: dict[str, NewNode] = {}
    # Two zones may do equally well: then the first is told, as in the list of ways out. `Knobs.arounds` begins at the end of this list, so
    # the first place has to stand last.
    for new in (new for shape in shapes for places in new_nodes(cluster, shape, cut) for new in reversed(places)):
        known = new_by_name.setdefault(new.template.name, new)
        # A change tells places apart that another doesn't: they stand where the template does.
        if known.place != new.place:
            new_by_name[new.template.name] = replace(known, place=place_of(new.template, keys))
    for new in new_by_name.values():
        name = pool_key(new.template)
        limit = pool_by_name.get(name)
        room = None if past_limits or limit is None else limit.room_by_hand(capacity_of(cluster, limit))
        most = nodes_wanted if room is None else min(nodes_wanted, room)
        if most > limits.NODES.most:
            most = limits.NODES.most
            cut.append(limits.NODES.reached(pool=name))
        if most:
            yield Growing(new=new, pool=name, most=most, limit=limit)


def most_wanted(cluster: Cluster, revisions: Sequence[Revision]) -> int:
    """With how many more nodes each pod that may need one has its own: more than that help no pod."""
    return max(1, sum(revision.after.pods_wanted for revision in revisions) + len(cluster.waiting))


def new_nodes(cluster: Cluster, shape: Shape, cut: list[str]) -> list[list[NewNode]]:
    """`kinds_of_new_nodes` of each pool, up to the limits; `cut` gets what isn't looked at."""
    pools = kinds_of_new_nodes(cluster, shape, cut)
    places = limits.PLACES_OF_A_POOL.most
    cut += [
        limits.PLACES_OF_A_POOL.reached(number=len(new), pool=pool) for pool, new in pools.items() if len(new) > places
    ]
    if len(pools) > limits.POOLS.most:
        cut.append(limits.POOLS.reached(number=len(pools)))
    return [new[:places] for new in list(pools.values())[: limits.POOLS.most]]


# ── alone ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def ways_out(case: StuckRollout) -> Iterator[Remedy]:
    """As few as do of each pool. How many depends on rollouts in flight, which would take them, too."""
    if case.cluster.snapshot.lacks(DEPLOYMENT.name) or case.shape is None:
        return
    nodes_wanted = most_wanted(case.cluster, case.revisions)
    most = min(nodes_wanted, limits.NODES.most)
    for templates in new_nodes(case.cluster, case.shape, case.reached):
        tried = [
            (new, fewest(range(1, most + 1), partial(_with_nodes, case, new.template), case.holds, _awaited(case.cluster, new.template)))
            for new in templates
        ]  # fmt: skip
        enough = [(*fewest_nodes, new_node) for new_node, fewest_nodes in tried if fewest_nodes is not None]
        if not enough:
            if nodes_wanted > most:
                pool = node_pool(templates[0].template) or templates[0].template.name
                case.reached.append(limits.NODES.reached(pool=pool))
            continue
        count, run, new = min(enough, key=lambda candidate: candidate[0])
        # The command may leave the zone open only if the same number does in every zone.
        is_anywhere = new.is_anywhere and len(enough) == len(tried) and all(number == count for number, *_ in enough)
        more = MoreNodes.of(replace(new, place="" if is_anywhere else new.place), count, len(kept_nodes(run, count)))
        template, step = more.like, added(case.cluster, more)
        arrival = arrival_seconds(has_gpus=bool(gpu_count(template))) if case.arrival is None else case.arrival
        yield case.remedy(
            LeverPosition(kind=RemedyKind.ADD_NODE, title=step.what),
            f"the strategy doesn't change ({case.at_worst(run)}); {_afterwards(count, more.kept)}",
            run, step=step, extra_gpus=count * gpu_count(template), extra_nodes=count, node_template=template.name,
            machine=more.machine, place=more.place, change=more.change, is_kept=more.kept > 0, kept_nodes=more.kept,
            first_seconds=arrival, arrival_seconds=arrival,
        )  # fmt: skip


def _with_nodes(case: StuckRollout, template: Node, count: int) -> Run | None:
    return case.attempt(case.workload, case.grown(case.cluster, template, count), draws=False)


def _awaited(cluster: Cluster, template: Node) -> int:
    """How many more nodes hold what all pods ask for that wait and may go to one like it: who came first gets new nodes first."""
    waiting, place = waiting_of(cluster), cluster.node_index[template.name]
    pods = (
        np.array([len(line.indices) for line in waiting.lines], dtype=np.int64) * waiting.masks[waiting.mask_of, place]
    )
    room = cluster.allocatable[:, place]
    shares = (pods @ waiting.asks)[room > 0] / room[room > 0]
    return int(np.ceil(shares.max(initial=0)))


def _afterwards(nodes: int, staying_nodes: int) -> str:
    """What happens to added nodes after the rollout: ``1 of them stays in use afterwards, the other node can be removed``."""
    if not staying_nodes:
        return f"the {plural(nodes, 'node')} can be removed afterwards"
    if staying_nodes == nodes:
        return plural(nodes, "the node stays in use afterwards", "the nodes stay in use afterwards")
    stay = f"{staying_nodes:,} of them {plural(staying_nodes, 'stays', 'stay')} in use afterwards"
    return f"{stay}, the other {plural(nodes - staying_nodes, 'node', 'nodes')} can be removed"


def within_limit(remedy: Remedy, pools: Sequence[NodePool], cluster: Cluster) -> Remedy:
    """A way out that adds nodes, with what the pool's own limit says to that; a Karpenter NodePool's limits that bind are raised first."""
    pool = next((p for p in pools if remedy.node_template and remedy.node_template in p.nodes), None)
    if pool is None:
        return remedy
    template, used = cluster.nodes[cluster.node_index[remedy.node_template]], capacity_of(cluster, pool)
    a_node = template.capacity or template.allocatable
    more = FrozenMap({name: amount * remedy.extra_nodes for name, amount in a_node.items()})
    if raised := limits_raised(pool, used, more):
        above = f"NodePool {pool.name} would be above its limits on {binding_words(pool.binding(used, more))}"
        own = [] if remedy.command.startswith("#") else [remedy.command]
        command = shell_commands.chain([*raised.commands, *own])
        return replace(
            remedy, sentence=Text(f"{remedy.sentence}; {above}"), steps=(raised, *remedy.steps), command=command
        )
    limit_sentence = pool.grows(remedy.extra_nodes, used)
    return replace(remedy, sentence=Text(f"{remedy.sentence}; {limit_sentence}")) if limit_sentence else remedy


# ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def added(cluster: Cluster, more: MoreNodes, *, already: int = 0) -> Step:
    """So many nodes more like one of its own: with the command of the pool's cloud, or in words; a node without a pool stands
    for itself, no pool is made of its name. The command of no cloud chooses their machine and place; `already`: that the steps before this
    one add to the pool."""
    like, number, place, what = more.like, more.number, more.place, more.words
    pool = node_pool(like)
    size = already + node_pools(cluster).count(pool) if pool else 0
    place_text = "".join(f", {text}" for text in (more.machine, place) if text)
    if not pool:
        does, again = f"add {words.count(number, 'node')} like {like.name}{place_text}", "remove what was added"
        return Step(what=what, commands=(shell_commands.remark(does),), undo=(shell_commands.remark(again),))
    if brings := brings_of(pool_label(like)):
        return Step(what=what, commands=(shell_commands.remark(brings.replace("{}", pool)),), undo=(shell_commands.remark("they go again by themselves"),))  # fmt: skip
    # A role (`worker`) is no node group of a cloud's: no command resizes it.
    sizes = (size + number, size) if pool_label(like) else ()
    resize_command, undone = [_resize(cluster, pool, nodes) for nodes in sizes] or ["", ""]
    resize_command += shell_commands.comment(f"the new nodes have to be in {place}") if resize_command and place else ""
    if not resize_command:
        grown = f"grow node pool {pool} from {size} to {words.count(size + number, 'node')}{place_text}"
        resize_command = shell_commands.remark(grown)
        undone = shell_commands.remark(f"give node pool {pool} its {words.count(size, 'node')} again")
    return Step(
        what=what, commands=(resize_command,), undo=(undone,), target=f"NodePool/{pool}", before=str(size), after=str(size + number)
    )  # fmt: skip


def _resize(cluster: Cluster, pool: str, nodes: int) -> str:
    """The cloud's command; "" where none is known."""
    cloud = next((cloud for cloud in clouds_of(cluster.nodes) if cloud.resize), None)
    if cloud is None:
        return ""
    filled = (word.replace("{pool}", pool).replace("{nodes}", str(nodes)) for word in cloud.resize)
    text = shell_commands.command(*filled)
    return text + (shell_commands.comment(cloud.resize_note) if cloud.resize_note else "")


def limits_raised(pool: NodePool, used: Amounts, more: Amounts) -> Step | None:
    """A Karpenter NodePool's ``spec.limits`` raised by what binds; None where nothing does."""
    binding = pool.binding(used, more)
    if pool.source is not LimitSource.KARPENTER or not binding:
        return None
    then = {name: format_amount(amount, name) for name, amount, _ in binding}
    today = {name: format_amount(limit, name) for name, _, limit in binding}
    command, undone = (
        shell_commands.command("kubectl", "patch", f"nodepools.karpenter.sh/{pool.name}", "--type=merge", "-p", json.dumps({"spec": {"limits": limits_patch}}))
        for limits_patch in (then, today)
    )  # fmt: skip
    what = f"Raise the limits of NodePool {pool.name}: {words.listing([f'{name} to {amount}' for name, amount in then.items()], None)}"
    return Step(
        what=what, commands=(command,), undo=(undone,), target=f"NodePool/{pool.name}/limits", before=json.dumps(today),
        after=json.dumps(then),
    )  # fmt: skip
