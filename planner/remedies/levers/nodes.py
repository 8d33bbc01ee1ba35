"""More nodes, like those of a pool that matches.

How far it goes: as many as pods may need one, `limits.NODES` at most, within what the pool's own limit lets it grow (its maximum, a
NodePool's limits, a cloud's quota). They cost what their pool pays for a node, for the rollout or, where pods stay on them, for good.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from planner.capacity.node_groups import is_chosen_for_the_pod, template_of
from planner.capacity.node_pools import NodePool, binding_words, capacity_of, pool_key
from planner.ground import words
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOSTNAME
from planner.ground.words import Text, plural
from planner.inventory.pool_limits import LimitSource
from planner.kubernetes import shell_commands
from planner.kubernetes.clouds import brings_of, clouds_of
from planner.kubernetes.kinds import DEPLOYMENT
from planner.kubernetes.nodes import arrival_seconds, gpu_count, machine_type, node_pool, out_of_use, pool_label, zone
from planner.kubernetes.records import Amounts, FrozenMap, Node, PodSpec
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import named_nodes
from planner.remedies import limits
from planner.remedies.levers.stuck_rollout import StuckRollout
from planner.remedies.scenario import fewest
from planner.rollout.answers import Remedy, RemedyKind, Step
from planner.rollout.room_when_empty import kept_nodes
from planner.rollout.run import Revision, Run
from planner.scheduling.cluster import Cluster, IntArray
from planner.scheduling.empty_node import daemons_on, empty_copy
from planner.scheduling.shape import Shape, Static, compile_shape, seats

Where: TypeAlias = tuple[str, ...]  # machine, GPUs, zone, and what the labels say that a pod tells places apart by


# ── what it makes of a cluster ───────────────────────────────────────────────────────────────────────────────────────
def grown(cluster: Cluster, likes: Sequence[Node]) -> Cluster:
    """With one more node like each of these, empty but for what DaemonSets take."""
    return cluster.grown(tuple(empty_copy(cluster, like, i) for i, like in enumerate(likes))) if likes else cluster


def grown_by(cluster: Cluster, like: Node, number: int) -> Cluster:
    """With so many more like one."""
    return grown(cluster, [like] * number)


class MoreNodes(Record, eq=False):
    """So many nodes more like `like`, of which pods stay on `kept`; `machine`, `place`: see `NewNode`."""

    like: Node
    number: int
    kept: int = 0
    machine: str = ""
    place: str = ""

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


def growing(
    cluster: Cluster, revisions: Sequence[Revision], shapes: Sequence[Shape], pools: Sequence[NodePool], cut: list[str], *, past_limits: bool
) -> Iterator[Growing]:  # fmt: skip
    """The pools that a combination may grow. `past_limits`: a pool's limit counts as raised; `cut` gets what isn't looked at."""
    pool_by_name, nodes_wanted = {pool.name: pool for pool in pools}, most_wanted(cluster, revisions)
    keys = tuple(dict.fromkeys(key for shape in shapes for key in _topology_keys(shape.spec)))
    new_by_name: dict[str, NewNode] = {}
    # Two zones may do equally well: then the first is told, as in the list of ways out. `Knobs.arounds` begins at the end of this list, so
    # the first place has to stand last.
    for new in (new for shape in shapes for places in new_nodes(cluster, shape, cut) for new in reversed(places)):
        known = new_by_name.setdefault(new.template.name, new)
        if (
            known.place != new.place
        ):  # a change tells places apart that another doesn't: they stand where the template does
            where = _place_words([_where(new.template, keys)], keys)
            new_by_name[new.template.name] = replace(known, place=where)
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


class NewNode(Record, eq=False):
    """A node like `template`.

    Attributes
    ----------
    kind : its machine and GPUs, where they are chosen, and how many such pods it takes: nodes of a pool of one kind do the same
    machine : in words, where a node may be of another machine of the pool
    place : where of its pool, as ``zone europe-west4-a`` or ``rack r1``, "" where the pod tells no places of the pool apart
    is_anywhere : whether every place of the pool takes the pod
    """

    template: Node
    kind: tuple[str, str, int]
    machine: str
    place: str
    is_anywhere: bool

    def more(self, number: int, kept: int) -> MoreNodes:
        return MoreNodes(like=self.template, number=number, kept=kept, machine=self.machine, place=self.place)


def new_nodes(cluster: Cluster, shape: Shape, cut: list[str]) -> list[list[NewNode]]:
    """Of each pool, by its name, what a new node that takes the pod may be like: one of each place that the pod tells apart, and of each
    machine where it is chosen for the pod, the smallest first; up to a limit."""
    keys = () if shape.is_plain else _topology_keys(shape.spec)
    takes = np.zeros(cluster.node_count, dtype=np.int64)
    matching = _matching(cluster, shape, cut)
    takes[matching] = seats(shape, cluster.allocatable)[matching]
    pools = []
    for pool, by_place in cluster.remember(_by_place, keys).items():
        new = _new_of(cluster, shape, keys, by_place, takes, cut)
        new.sort(key=lambda one: _size(one.template) if is_chosen_for_the_pod(one.template) else ())
        if len(new) > limits.PLACES_OF_A_POOL.most:
            cut.append(limits.PLACES_OF_A_POOL.reached(number=len(new), pool=pool))
        pools += [new[: limits.PLACES_OF_A_POOL.most]] if new else []
    if len(pools) > limits.POOLS.most:
        cut.append(limits.POOLS.reached(number=len(pools)))
    return pools[: limits.POOLS.most]


def _new_of(
    cluster: Cluster, shape: Shape, keys: tuple[str, ...], by_place: Mapping[Where, Sequence[int]], takes: IntArray,
    cut: list[str],
) -> list[NewNode]:  # fmt: skip
    """Of one pool. To a pod that each node judges alone, places whose nodes take as many are one."""
    likes: dict[tuple[tuple[str, str, int], tuple[str, ...]], dict[tuple[str, ...], Node]] = {}
    for (machine, gpus, *labels), numbers in by_place.items():
        where = tuple(labels)
        for alike in _alike(cluster, numbers, takes) if not machine else [numbers]:
            like = _like(cluster, shape, alike, takes, cut)
            if like is not None:
                kind = (machine, gpus, int(takes[cluster.node_index[like.name]]))
                # A pod with a spread or an affinity of its own tells places apart even where a node takes as many:
                # each place is a node of its own then.
                likes.setdefault((kind, () if shape.is_plain else where), {})[where] = like
    every = {tuple(where[2:]) for where in by_place}
    is_anywhere = every == {where for nodes in likes.values() for where in nodes}
    # A named machine is one kind however full its nodes are; without one, nodes are told apart by how many such pods
    # they take.
    kinds = {(*w[:2], 0 if w[0] else int(takes[number])) for w, numbers in by_place.items() for number in numbers}
    machines = Counter(machine for machine, *_ in kinds)
    new = []
    for (kind, _), nodes in likes.items():
        template = template_of(sorted(nodes.values(), key=lambda node: cluster.node_index[node.name]))
        of_machine = {tuple(where[2:]) for where in by_place if where[:2] == kind[:2]}
        is_apart = nodes.keys() < of_machine if shape.is_plain else len(every) > 1
        is_chosen = bool(node_pool(template)) and is_chosen_for_the_pod(template)
        machine = kind[0] if kind[0] and machines[kind[0]] == 1 else f"like {template.name}"
        machine = machine if is_chosen and len(kinds) > 1 else ""
        place = _place_words(list(nodes), keys) if is_apart else ""
        new.append(NewNode(template=template, kind=kind, machine=machine, place=place, is_anywhere=is_anywhere))
    return new


def _by_place(cluster: Cluster, keys: tuple[str, ...]) -> dict[str, dict[Where, list[int]]]:
    """Of each pool its nodes by machine and GPUs, where these are chosen for the pod; by zone and by what the labels `keys` say."""
    pools: dict[str, dict[Where, list[int]]] = {}
    for number, node in enumerate(cluster.nodes):
        machine = (machine_type(node), str(gpu_count(node))) if is_chosen_for_the_pod(node) else ("", "")
        pools.setdefault(pool_key(node), {}).setdefault((*machine, *_where(node, keys)), []).append(number)
    return {pool: dict(sorted(by_place.items())) for pool, by_place in sorted(pools.items())}


def _where(node: Node, keys: tuple[str, ...]) -> tuple[str, ...]:
    return zone(node), *(node.labels.get(key, "") for key in keys)


def _alike(cluster: Cluster, numbers: Sequence[int], takes: IntArray) -> list[list[int]]:
    """Nodes of a place by how many of the pods each takes, where no machine type tells them apart: the sizes of bare metal differ by KiB.
    All of them where they aren't chosen."""
    if not is_chosen_for_the_pod(cluster.nodes[numbers[0]]):
        return [list(numbers)]
    groups: dict[int, list[int]] = {}
    for number in numbers:
        groups.setdefault(int(takes[number]), []).append(number)
    return list(groups.values())


def _like(cluster: Cluster, shape: Shape, numbers: Sequence[int], takes: IntArray, cut: list[str]) -> Node | None:
    """Which of the nodes `numbers` of a pool a new one is like; None where that one doesn't take the pod. `takes`: how many such pods each
    takes when empty."""
    if not takes[numbers].any():
        return None
    is_chosen = is_chosen_for_the_pod(cluster.nodes[numbers[0]])
    # A machine that is chosen for the pod (by Karpenter) is one that takes it. What an autoscaler adds is what the
    # pool is made of, whether the pod fits or not.
    nodes = {number: cluster.nodes[number] for number in numbers if takes[number] or not is_chosen}
    template = template_of(list(nodes.values()))
    rooms = {int(takes[number]) for number, node in nodes.items() if not out_of_use(node)}
    if len(rooms) > 1 and not is_chosen and not (named_nodes(shape.spec) or HOSTNAME in shape.spec.node_selector):
        cut.append(f"nodes of pool {node_pool(template)} aren't alike: a new one is taken to be like {template.name}")
    return template if takes[cluster.node_index[template.name]] else None


def _topology_keys(spec: PodSpec) -> tuple[str, ...]:
    """Labels by which its spread and its affinity tell nodes apart, but for those that each node has of its own or `zone` reads."""
    terms = (*spec.pod_affinity, *spec.pod_anti_affinity)
    keys = {*(spread.topology_key for spread in spec.topology_spread), *(term.topology_key for term in terms)}
    return tuple(sorted(key for key in keys if key != HOSTNAME and not key.endswith(("/zone", "/region"))))


def _size(node: Node) -> tuple[bool, tuple[tuple[str, int], ...], str]:
    """One that is there before one that a plan adds (`bare_copy`), which lacks what DaemonSets take; then by size."""
    return not node.uid, tuple(sorted(node.allocatable.items())), node.name


def _place_words(places: Sequence[tuple[str, ...]], keys: tuple[str, ...]) -> str:
    """``zone a, rack r1``; of several places ``zone a or b``."""
    names = ("zone", *(key.rpartition("/")[2] for key in keys))
    values = (" or ".join(dict.fromkeys(filter(None, column))) for column in zip(*places, strict=True))
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True) if value)


def _matching(cluster: Cluster, shape: Shape, cut: list[str]) -> list[int]:
    """Places of nodes that match and are large enough; not like those on which pods of DaemonSets would be preempted."""
    asks, nodes = pod_requests(shape.spec).items(), list[int]()
    pushing: dict[str, None] = {}
    for i in np.flatnonzero(shape.static == Static.PASSES).tolist():
        node = cluster.nodes[i]
        if all(node.allocatable.get(name, 0) >= amount for name, amount in asks):
            if cluster.remember(_pushes_daemons, i):
                pushing[pool_key(node)] = None
            else:
                nodes.append(i)
    pool_keys = {pool_key(cluster.nodes[i]) for i in nodes}
    cut += [
        f"pods of DaemonSets would be preempted on new nodes of {name}, which isn't played"
        for name in pushing
        if name not in pool_keys
    ]
    return nodes


def _pushes_daemons(cluster: Cluster, place: int) -> bool:
    """Whether a pending pod would preempt pods of DaemonSets of a new node like that of a place, where their share is only set
    aside."""
    node = cluster.nodes[place]
    lowest = min(
        (cluster.priority_of(daemon.template.spec) for daemon in daemons_on(cluster.snapshot, node)), default=None
    )
    if lowest is None:
        return False
    allocatable = empty_copy(cluster, node, 0).allocatable
    daemon_amounts = (asks for asks, priority in cluster.remember(_preempting) if priority > lowest)
    return any(
        allocatable.get(name, 0) < amount <= node.allocatable.get(name, 0)
        for asks in daemon_amounts
        for name, amount in asks.items()
    )


def _preempting(cluster: Cluster) -> list[tuple[Mapping[str, int], int]]:
    """What those who wait and may preempt ask for, and their priority."""
    pods = cluster.snapshot.pods
    waiting = {compile_shape(cluster, p.namespace, p.labels, p.spec) for p in (pods[i] for i in cluster.unbound)}
    return [(pod_requests(shape.spec), shape.priority) for shape in waiting if shape.may_preempt]


# ── alone ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def ways_out(case: StuckRollout) -> Iterator[Remedy]:
    """As few as do of each pool. How many depends on rollouts in flight, which would take them, too."""
    if case.cluster.snapshot.lacks(DEPLOYMENT.name) or case.shape is None:
        return
    nodes_wanted = most_wanted(case.cluster, case.revisions)
    most = min(nodes_wanted, limits.NODES.most)
    for templates in new_nodes(case.cluster, case.shape, case.reached):
        tried = [
            (new_node, fewest(range(1, most + 1), partial(_with_nodes, case, new_node.template)))
            for new_node in templates
        ]
        enough = [(*fewest_nodes, new_node) for new_node, fewest_nodes in tried if fewest_nodes is not None]
        if not enough:
            if nodes_wanted > most:
                pool = node_pool(templates[0].template) or templates[0].template.name
                case.reached.append(limits.NODES.reached(pool=pool))
            continue
        count, run, new = min(enough, key=lambda candidate: candidate[0])
        is_anywhere = new.is_anywhere and len(enough) == len(tried) and all(number == count for number, *_ in enough)
        more = replace(new, place="" if is_anywhere else new.place).more(count, len(kept_nodes(run, count)))
        template, step = more.like, added(case.cluster, more)
        arrival = arrival_seconds(has_gpus=bool(gpu_count(template))) if case.arrival is None else case.arrival
        yield case.remedy(
            RemedyKind.ADD_NODE,
            step.what,
            f"the strategy doesn't change ({case.at_worst(run)}); {_afterwards(count, more.kept)}",
            run,
            step=step,
            extra_gpus=count * gpu_count(template),
            extra_nodes=count,
            node_template=template.name,
            machine=more.machine,
            place=more.place,
            change=more.change,
            is_kept=more.kept > 0,
            kept_nodes=more.kept,
            first_seconds=arrival,
            arrival_seconds=arrival,
        )


def _with_nodes(case: StuckRollout, template: Node, count: int, draws: bool) -> Run | None:
    return case.attempt(case.workload, case.grown(case.cluster, template, count), draws=draws)


def _afterwards(nodes: int, staying_nodes: int) -> str:
    """What becomes of added nodes: ``1 of them stays in use afterwards, the other node can be removed``."""
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
        sentence = Text(
            f"{remedy.sentence}; NodePool {pool.name} would be above its limits on {binding_words(pool.binding(used, more))}"
        )
        command = shell_commands.chain(
            [*raised.commands, *([] if remedy.command.startswith("#") else [remedy.command])]
        )
        return replace(remedy, sentence=sentence, steps=(raised, *remedy.steps), command=command)
    limit_sentence = pool.grows(remedy.extra_nodes, used)
    return replace(remedy, sentence=Text(f"{remedy.sentence}; {limit_sentence}")) if limit_sentence else remedy


# ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def added(cluster: Cluster, more: MoreNodes, *, already: int = 0) -> Step:
    """So many nodes more like one of its own: with the command of the pool's cloud, or in words; a node without a pool stands
    for itself, no pool is made of its name. The command of no cloud chooses their machine and place; `already`: that the steps before this
    one add to the pool."""
    like, number, place, what = more.like, more.number, more.place, more.words
    pool = node_pool(like)
    size = already + sum(node_pool(node) == pool for node in cluster.nodes) if pool else 0
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
        resize_command = shell_commands.remark(
            f"grow node pool {pool} from {size} to {words.count(size + number, 'node')}{place_text}"
        )
        undone = shell_commands.remark(f"give node pool {pool} its {words.count(size, 'node')} again")
    return Step(
        what=what, commands=(resize_command,), undo=(undone,), target=f"NodePool/{pool}", before=str(size), after=str(size + number)
    )  # fmt: skip


def _resize(cluster: Cluster, pool: str, nodes: int) -> str:
    """The cloud's command; "" where none is known."""
    cloud = next((cloud for cloud in clouds_of(cluster.nodes) if cloud.resize), None)
    if cloud is None:
        return ""
    text = shell_commands.command(
        *(word.replace("{pool}", pool).replace("{nodes}", str(nodes)) for word in cloud.resize)
    )
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
