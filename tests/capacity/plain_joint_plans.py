"""Every plan for one workload of a small cluster, played one by one: orders × strategies × others that lend × moves, no line of the plan's own.

Moves are where pods end: cordons can lead a pod that is evicted to any node that takes it. Who lends is scaled down first and has to find
room again at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations, product

from planner.ground.records import replace
from planner.kubernetes.object_records import Node, Pod, Snapshot, Strategy, Workload
from planner.rollout.answers import rolling
from planner.rollout.run import WHEN_AT_REST, Revision, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State
from planner.scheduling.template_node import empty_copy

GPU = "nvidia.com/gpu"
POOL = "cloud.google.com/gke-nodepool"
MOST_MOVED = 2
DRAWS = 8


def with_nodes(found: Snapshot, more: Counter[str]) -> Snapshot:
    """The cluster with so many more nodes of each pool; who waits has started there, if anywhere."""
    like = {node.labels[POOL]: node for node in found.nodes}
    new = [like[pool] for pool in sorted(more.elements())]
    cluster = Cluster(found)
    return replace(found, nodes=(*found.nodes, *(empty_copy(cluster, one, i) for i, one in enumerate(new))))


def can_be_rolled(found: Snapshot, key: str) -> bool:
    """Whether any plan without more nodes makes its rollout go."""
    own = next(one for one in found.workloads if one.key == key)
    if _gpus(own) * own.replicas + sum(_of(pod) for pod in _running(found) if pod.labels["app"] != own.name) > sum(
        node.allocatable.get(GPU, 0) for node in found.nodes
    ):
        return False  # all have to be there at the end
    others = [one for one in found.workloads if one.key != key]
    for moved in _moved(found):
        cluster = Cluster(moved)
        for number in range(len(others) + 1):
            for before in permutations(others, number):
                ways = (list(_strategies(one)) for one in (*before, own))
                lent = product(*(range(one.replicas, -1, -1) for one in others if one not in before))
                lenders = [one for one in others if one not in before]
                for left, strategies in product(list(lent), list(product(*ways))):
                    if _does(cluster, [*before, own], strategies, list(zip(lenders, left, strict=True))):
                        return True
    return False


def _strategies(one: Workload) -> Iterator[Strategy]:
    yield one.strategy
    yield from (rolling(*pair) for pair in ((0, 1), (1, 0), (1, 1), (0, one.replicas)))


def _moved(found: Snapshot) -> Iterator[Snapshot]:
    pods = [place for place, pod in enumerate(found.pods) if pod.node_name]
    for number in range(MOST_MOVED + 1):
        for some in combinations(pods, number):
            for nodes in product(found.nodes, repeat=number):
                if all(found.pods[place].node_name != node.name for place, node in zip(some, nodes, strict=True)):
                    moved = list(found.pods)
                    for place, node in zip(some, nodes, strict=True):
                        moved[place] = replace(moved[place], node_name=node.name)
                    if all(_holds(node, moved) for node in found.nodes):
                        yield replace(found, pods=tuple(moved))


def _holds(node: Node, pods: list[Pod]) -> bool:
    mine = [pod for pod in pods if pod.node_name == node.name]
    selected = all(pod.spec.node_selector.get(POOL, node.labels[POOL]) == node.labels[POOL] for pod in mine)
    return selected and sum(map(_of, mine)) <= node.allocatable.get(GPU, 0)


def _running(found: Snapshot) -> list[Pod]:
    return [pod for pod in found.pods if pod.node_name]


def _of(pod: Pod) -> int:
    return sum(one.requests.get(GPU, 0) for one in pod.spec.containers)


def _gpus(one: Workload) -> int:
    return sum(each.requests.get(GPU, 0) for each in one.template.spec.containers)


def _does(
    cluster: Cluster, rolled: list[Workload], strategies: tuple[Strategy, ...], lent: list[tuple[Workload, int]]
) -> bool:
    scaled = [
        Revision(before=one, after=replace(one, replicas=left), has_new_template=False)
        for one, left in lent
        if left < one.replicas
    ]
    turns = [
        Revision(before=one, after=replace(one, strategy=way), has_new_template=True)
        for one, way in zip(rolled, strategies, strict=True)
    ]
    later = [replace(one, after_seconds=WHEN_AT_REST) for one in turns]
    changes = [*scaled, *(later if scaled else [turns[0], *later[1:]])]
    for draw in range(DRAWS):
        run = simulate(cluster, changes, seed=draw, draws_order=draw > 0, draws_ends=draw > 0)
        if not all(run.done.values()) or not _given_back(run.simulation.state, cluster, lent):
            return False
        if not (run.choices or run.orders or run.simulation.ends):
            break
    return True


def _given_back(state: State, cluster: Cluster, lent: list[tuple[Workload, int]]) -> bool:
    """Whether all that ran finds room again at once."""
    taken = []
    found = True
    for one, left in lent:
        bound = sum(bool(pod.node_name) and pod.labels["app"] == one.name for pod in cluster.snapshot.pods)
        shape = compile_shape(state.cluster, one.namespace, one.template.labels, one.template.spec)
        for _ in range(max(0, bound - left)):
            nodes = feasible_nodes(state, shape)
            if not len(nodes):
                found = False
                break
            taken.append((shape, int(nodes[0])))
            state.add(shape, int(nodes[0]))
    for shape, node in taken:
        state.remove(shape, node, is_terminating=False)
    return found
