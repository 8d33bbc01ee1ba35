"""DaemonSet: one pod on every node it should run on, replaced within surge and unavailable.

Source: kubernetes `pkg/controller/daemon/{daemon_controller,update}.go` of 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from enum import IntEnum
from itertools import islice

from planner.ground.records import replace
from planner.ground.well_known_names import (
    CONTROLLER_REVISION_HASH,
    TAINT_DISK_PRESSURE,
    TAINT_MEMORY_PRESSURE,
    TAINT_NETWORK_UNAVAILABLE,
    TAINT_NOT_READY,
    TAINT_PID_PRESSURE,
    TAINT_UNREACHABLE,
    TAINT_UNSCHEDULABLE,
)
from planner.kubernetes.object_records import (  # fmt: skip
    FrozenMap,
    NodeAffinity,
    NodeSelectorTerm,
    PodSpec,
    Requirement,
    Toleration,
    Workload,
)
from planner.kubernetes.selectors import named_nodes, node_affinity_matches, tolerates, tolerates_taints
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import ON_DELETE
from planner.rollout.controllers.revisions import OverRevisions, newest, unused_revision, used_again
from planner.rollout.silent_nodes import UNREACHABLE
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.shape import shape_of
from planner.scheduling.template_node import shares_on_new_nodes

# Source: pkg/controller/daemon/util/daemonset_util.go AddOrUpdateDaemonPodTolerations
_ALWAYS_TOLERATED: tuple[Toleration, ...] = (
    Toleration(key=TAINT_NOT_READY, operator="Exists", effect="NoExecute"),
    Toleration(key=TAINT_UNREACHABLE, operator="Exists", effect="NoExecute"),
    Toleration(key=TAINT_DISK_PRESSURE, operator="Exists", effect="NoSchedule"),
    Toleration(key=TAINT_MEMORY_PRESSURE, operator="Exists", effect="NoSchedule"),
    Toleration(key=TAINT_PID_PRESSURE, operator="Exists", effect="NoSchedule"),
    Toleration(key=TAINT_UNSCHEDULABLE, operator="Exists", effect="NoSchedule"),
)


class NodeState(IntEnum):
    """What a node has of the DaemonSet's pods; terminating ones count only for LEAVING. A number, which costs nothing to look up."""

    EMPTY = 0
    LEAVING = 1  # only terminating ones
    NEW_READY = 2  # ready: available, that is Ready for minReadySeconds
    NEW_WAITS = 3
    OLD_READY = 4
    OLD_WAITS = 5
    SURGING = 6  # a new one not available beside an old one that is Ready
    REPLACED = 7  # two, of which the old one can go
    CROWDED = 8  # several new or several old ones, such as those of two revisions that surged before


_EMPTY, _LEAVING, _NEW_READY, _NEW_WAITS, _OLD_READY, _OLD_WAITS, _SURGING, _REPLACED, _CROWDED = NodeState
_ALONE = (_NEW_READY, _NEW_WAITS, _OLD_READY, _OLD_WAITS)
_CROWDS = (_REPLACED, _CROWDED, _SURGING)


class DaemonSetController(OverRevisions):
    """One DaemonSet during a rollout.

    `revision` is the hash of the revision its pods shall have, where there are pods that have it; "": with a new template
    none has it, else all have.
    """

    def __init__(
        self, simulation: Simulation, workload: Workload, *, before: Workload | None, has_new_template: bool
    ) -> None:
        super().__init__(workload)
        self.has_new_template = has_new_template
        self.revision = newest(simulation, workload) if before is None or not has_new_template else ""
        if before is not None and has_new_template:
            # A template that was used before still has its ControllerRevision: pods of it count as new from the start.
            self.revision = again = used_again(simulation, before, workload)
            for pod in self.all_pods(simulation):
                pod.is_new = bool(again) and pod.revision == again
        self.lacks_revision = has_new_template and not self.revision
        self._hash = self.revision or unused_revision(simulation, workload)
        if before is not None and has_new_template:
            self.made_templates.append((workload.template, self._hash))
        self._begin_anew()
        # It makes its own pods on new nodes from now on: they need the room that is set aside for them there.
        for node, daemons in shares_on_new_nodes(simulation.cluster, self.key).items():
            simulation.state.release(shape_of(simulation.cluster, daemons), node)

    def _begin_anew(self) -> None:
        """Forgets its pods and nodes, to look at all of them again."""
        self.spec = daemon_spec(self.workload)
        self._tolerates_silence = tolerates_taints(self.spec.tolerations, UNREACHABLE)
        self._targets: tuple[int, ...] | None = None
        self._limits: tuple[int, tuple[int, int]] | None = None  # of so many nodes
        self._absent: frozenset[int] = frozenset()  # nodes that it should run on and couldn't when it last looked
        self._target_set: frozenset[int] = frozenset()
        self._pods: dict[int, list[LivePod]] = {}
        self._state: dict[int, NodeState] = {}
        self._nodes: dict[NodeState, set[int]] = {state: set() for state in NodeState}  # it should run on
        self._others: dict[NodeState, set[int]] = {state: set() for state in NodeState}
        self._order: list[int] = []
        self._rank: dict[int, int] = {}
        self._next = 0  # in the order, before which no Ready old pod is left
        self._read = -1  # how much of the simulation's news is in; −1: nothing yet

    def change(self, simulation: Simulation, workload: Workload, *, before: Workload, has_new_template: bool) -> None:
        """Another template is another revision, or one that there was before; pods of every other one are old (`constructHistory`)."""
        self.workload, self.min_ready_seconds = workload, workload.min_ready_seconds
        if has_new_template:
            self.revision = self.known_revision(simulation, before, workload)
            self.has_new_template, self.lacks_revision = True, not self.revision
            self._hash = self.revision or unused_revision(simulation, workload)
            self.made_templates.append((workload.template, self._hash))
            for pod in self.all_pods(simulation):
                pod.is_new = bool(self.revision) and pod.revision == self.revision
        self._begin_anew()

    def targets(self, simulation: Simulation) -> tuple[int, ...]:
        """Nodes it should run on, of those that are there."""
        if self._targets is None:
            self._targets = daemon_nodes(simulation.cluster, self.spec)
        absent = self._without(simulation)
        return tuple(i for i in self._targets if i not in absent) if absent else self._targets

    def _without(self, simulation: Simulation) -> frozenset[int]:
        """Nodes that aren't there now, and those that fell silent in the run or don't answer yet, unless its pods tolerate that."""
        state = simulation.state
        if not state.closed or self._tolerates_silence:
            return state.absent
        return state.absent.union(node for node, bars in state.closed.items() if TAINT_UNREACHABLE in bars)

    def _is_updated(self, pod: LivePod) -> bool:
        return pod.is_new or (pod.revision == self.revision if self.revision else not self.has_new_template)

    def limits(self, simulation: Simulation) -> tuple[int, int]:
        number = len(self.targets(simulation))
        if self._limits is None or self._limits[0] != number:
            self._limits = number, rolling_limits(self.workload, number)
        return self._limits[1]

    # ── nodes by what is on them, kept up to date from the simulation's news ────────────────────────────────────────
    def _refresh(self, simulation: Simulation) -> None:
        if self._read < 0:
            self._pods = {}
            for pod in self.all_pods(simulation):
                self._pods.setdefault(_node_of(simulation.cluster, pod), []).append(pod)
            self._read = len(simulation.pods.news)
            self._order = list(dict.fromkeys((*self.targets(simulation), *self._pods)))
            simulation.random.shuffle(self._order)  # the controller ranges over a map
            dirty = set(self._order)
        else:
            news = [p for p in simulation.pods.news[self._read :] if p.owner == self.key]
            self._read = len(simulation.pods.news)
            dirty = set()
            for pod in news:
                node = _node_of(simulation.cluster, pod)
                dirty.add(node)
                here = self._pods.setdefault(node, [])
                if pod.is_gone and pod in here:
                    here.remove(pod)
                elif not pod.is_gone and pod not in here:
                    here.append(pod)
        for node in dirty:
            before, after = self._state.get(node), self._judge(self._pods.get(node, []))
            if before is not after:
                nodes = self._nodes if node in self._target_set else self._others
                if before is not None:
                    nodes[before].discard(node)
                self._state[node] = after
                nodes[after].add(node)

    def _judge(self, pods: list[LivePod]) -> NodeState:
        new, old = self._pair(pods)
        if new is None and old is None:
            return _LEAVING if pods else _EMPTY
        if sum(not pod.is_terminating for pod in pods) > (new is not None) + (old is not None):
            return _CROWDED
        if new is not None and old is not None:
            # The old pod of a surging DaemonSet goes once the new one is available, and at once if it isn't Ready
            # itself (`podsShouldBeOnNode`).
            if new.is_available or not old.is_ready:
                return _REPLACED
            return _SURGING
        if new is not None:
            return _NEW_READY if new.is_available else _NEW_WAITS
        assert old is not None
        return _OLD_READY if old.is_available else _OLD_WAITS

    def _pair(self, pods: list[LivePod]) -> tuple[LivePod | None, LivePod | None]:
        """The standing pods of the new and of the old revision (`findUpdatedPodsOnNode`)."""
        new = old = None
        for pod in pods:
            if not pod.is_terminating:
                if self._is_updated(pod):
                    new = new or pod
                else:
                    old = old or pod
        return new, old

    def _in(self, *states: NodeState) -> list[int]:
        """Target nodes in one of the states, in the controller's (arbitrary) order."""
        return self._sorted(n for state in states for n in self._nodes[state])

    def _sorted(self, nodes: Iterable[int]) -> list[int]:
        return sorted(nodes, key=self._rank.__getitem__)

    def _count(self, *states: NodeState) -> int:
        return sum(len(self._nodes[state]) for state in states)

    # ── status ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def status(self, simulation: Simulation) -> dict[str, int]:
        self._begin(simulation)
        targets = self.targets(simulation)
        updated = ready = available = current = 0
        for node in targets:
            here = self._pods.get(node, [])
            current += bool(here)
            standing = [p for p in here if not p.is_terminating]
            ready += any(p.is_ready for p in standing)
            available += any(p.is_available for p in standing)
            oldest = min(here, key=lambda p: (not p.is_ready, p.number), default=None)
            updated += oldest is not None and self._is_updated(oldest)
        return {
            "desiredNumberScheduled": len(targets),
            "currentNumberScheduled": current,
            "updatedNumberScheduled": updated,
            "numberReady": ready,
            "numberAvailable": available,
            "numberUnavailable": len(targets) - available,
            "numberMisscheduled": sum(1 for n, pods in self._pods.items() if pods and n not in self._target_set),
        }

    def is_complete(self, simulation: Simulation) -> bool:
        """With OnDelete too: pods that a node lacks are made at once whatever the strategy (`manage`), so only an old pod that
        stands keeps a change from completing, and where the template stays none has to go."""
        self._begin(simulation)
        done = self._count(_NEW_READY)
        if self.workload.strategy.kind == ON_DELETE and not self.has_new_template:
            done += self._count(_OLD_READY)
        return not self.lacks_revision and done == len(self._target_set)

    def _begin(self, simulation: Simulation) -> None:
        if self._read < 0:
            self._target_set, self._absent = frozenset(self.targets(simulation)), self._without(simulation)
        self._refresh(simulation)
        if self._absent != self._without(simulation):
            self._look_around(simulation)
        if len(self._rank) < len(self._order):
            self._rank = {node: i for i, node in enumerate(self._order)}

    def _look_around(self, simulation: Simulation) -> None:
        """Nodes have come or gone."""
        self._target_set, self._absent = frozenset(self.targets(simulation)), self._without(simulation)
        self._order += [node for node in self.targets(simulation) if node not in self._state]
        for node in self._order:
            state = self._state.setdefault(node, _EMPTY)
            for nodes, is_meant in (
                (self._nodes, node in self._target_set),
                (self._others, node not in self._target_set),
            ):
                (nodes[state].add if is_meant else nodes[state].discard)(node)

    # ── doing ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def sync(self, simulation: Simulation) -> bool:
        """`updateDaemonSet`: a refused pod is an error, with which the rolling update isn't reached."""
        self._begin(simulation)
        if not self.has_revision(simulation):
            return False
        pods_created, was_refused = self._fill(simulation)
        busy = self._prune(simulation) or pods_created
        if self.workload.strategy.kind != ON_DELETE and not was_refused:
            self._refresh(simulation)
            busy |= self._roll(simulation)
        return busy

    def _fill(self, simulation: Simulation) -> tuple[bool, bool]:
        """`podsShouldBeOnNode`: a pod on every target node without; where one is terminating, only a surging DaemonSet
        doesn't wait. Whether any was made, and whether any was refused."""
        surge, _ = self.limits(simulation)
        nodes = self._in(_EMPTY, *([_LEAVING] if surge else []))
        if not nodes:
            return False, False
        creations = [self._create(simulation, node) for node in nodes]
        simulation.choices += any(creations) and not all(creations)  # which nodes go without is up to the map's order
        return any(creations), not all(creations)

    def _prune(self, simulation: Simulation) -> bool:
        """`podsShouldBeOnNode`: one pod a node, the oldest, or two while the new one of a surging DaemonSet gets Ready."""
        surge, _ = self.limits(simulation)
        states = (_REPLACED, _CROWDED) if surge else _CROWDS
        crowded = [node for state in states for node in (*self._in(state), *self._others[state])]
        for node in crowded:
            standing = [pod for pod in self._pods[node] if not pod.is_terminating]
            # Of several pods of a revision the bound and oldest stays (`podByCreationTimestampAndPhase`).
            standing.sort(key=lambda p: (not p.is_bound, p.created_at, p.number))
            new, old = self._pair(standing)
            stay = [pod for pod in (new, old) if pod is not None]
            if not surge:
                stay = standing[:1]
            elif self._judge(stay) is _REPLACED:
                stay = stay[:1]
            for pod in standing:
                if pod not in stay:
                    simulation.delete(pod)
        return bool(crowded) | self._leave(simulation)

    def _leave(self, simulation: Simulation) -> bool:
        """Pods on nodes it should not be on (any more)."""
        busy = False
        for state in (*_ALONE, *_CROWDS) if any(self._others.values()) else ():
            for node in tuple(self._others[state]):
                if not self._may_stay(simulation, node):
                    for pod in [p for p in self._pods[node] if not p.is_terminating]:
                        simulation.delete(pod)
                        busy = True
        return busy

    def _may_stay(self, simulation: Simulation, node: int) -> bool:
        """`nodeShouldRunDaemonPod` shouldContinueRunning: only NoExecute taints push a running pod out."""
        if not 0 <= node < simulation.cluster.node_count or node in simulation.state.absent:
            return False
        node_record = simulation.cluster.nodes[node]
        executing = [t for t in node_record.taints if t.effect == "NoExecute"]
        return node_affinity_matches(self.spec, node_record.labels, node_record.name) and all(
            any(tolerates(t, taint) for t in self.spec.tolerations) for taint in executing
        )

    def _roll(self, simulation: Simulation) -> bool:
        """`rollingUpdate`: within maxUnavailable by deleting old pods, or within maxSurge by adding new ones.

        It looks at every node with a pod, those included that the pods should not be on (any more): an old pod there is
        deleted in its turn, and has no successor.
        """
        surge, unavailable = self.limits(simulation)
        leaving = self._others[_OLD_WAITS]
        if surge == 0:
            waits = (*_CROWDS, _LEAVING, _NEW_WAITS, _OLD_WAITS)
            missing = self._count(_EMPTY, *waits) + sum(len(self._others[state]) for state in waits)
            ready = (self._nodes[_OLD_READY], self._others[_OLD_READY])
            doomed = self._sorted(self._nodes[_OLD_WAITS] | leaving)
            return self._delete_old(simulation, doomed + self._some(simulation, unavailable - missing, *ready))
        busy = self._delete_old(simulation, [*leaving, *self._spare(simulation)])
        states = (_SURGING, _CROWDED)
        surging = self._count(*states) + sum(len(self._others[state]) for state in states)
        candidates = self._some(simulation, surge - surging, self._nodes[_OLD_READY])
        for node in self._in(_OLD_WAITS) + candidates:
            busy |= self._create(simulation, node)
        return busy

    def _spare(self, simulation: Simulation) -> list[int]:
        """Nodes that a surging DaemonSet leaves: an available pod on one goes once as many others are available as it has
        nodes."""
        candidates = self._sorted(self._others[_OLD_READY])
        if not candidates:
            return []
        pairs = [self._pair(pods) for pods in self._pods.values()]
        available = sum(pod.is_available for pod in (old or new for new, old in pairs) if pod is not None)
        return candidates[: max(0, available - len(self.targets(simulation)))]

    def _delete_old(self, simulation: Simulation, nodes: Iterable[int]) -> bool:
        doomed = [old for _, old in (self._pair(self._pods[node]) for node in nodes) if old is not None]
        for pod in doomed:
            simulation.delete(pod)
        return bool(doomed)

    def _some(self, simulation: Simulation, count: int, *ready: Set[int]) -> list[int]:
        """Up to `count` nodes with a Ready old pod, which are in one of `ready`."""
        if count <= 0:
            return []

        def may(node: int) -> bool:
            return any(node in nodes for nodes in ready)

        while self._next < len(self._order) and not may(self._order[self._next]):
            self._next += 1
        picked_nodes = list(islice(filter(may, islice(self._order, self._next, None)), count + 1))
        simulation.choices += len(picked_nodes) > count
        return picked_nodes[:count]

    def _create(self, simulation: Simulation, node: int) -> bool:
        pod = simulation.create(
            self.key,
            self.workload.namespace,
            f"{self.workload.name}-{simulation.random.getrandbits(24):06x}",
            FrozenMap({**self.workload.template.labels, CONTROLLER_REVISION_HASH: self._hash}),
            pinned(self.spec, simulation.cluster.node_names[node]),
            None,
            is_new=self.has_new_template,
            ordinal=node,
            revision=self._hash,
        )
        return pod is not None


def daemon_spec(workload: Workload) -> PodSpec:
    """The spec of its pods before each is bound to a node: with the tolerations that all of them have."""
    spec, extra = workload.template.spec, _ALWAYS_TOLERATED
    if spec.host_network:
        extra += (Toleration(key=TAINT_NETWORK_UNAVAILABLE, operator="Exists", effect="NoSchedule"),)
    return replace(spec, tolerations=spec.tolerations + extra)


def daemon_nodes(cluster: Cluster, spec: PodSpec) -> tuple[int, ...]:
    """Nodes that should have such a pod (`nodeShouldRunDaemonPod`: affinity and taints, not resources)."""
    return tuple(
        i
        for i, node in enumerate(cluster.nodes)
        if spec.node_name in ("", node.name)
        and node_affinity_matches(spec, node.labels, node.name)
        and tolerates_taints(spec.tolerations, node.taints)
    )


def _node_of(cluster: Cluster, pod: LivePod) -> int:
    """The node a daemon pod is on or meant for, which its affinity names (`GetTargetNodeName`); −1 for none that is."""
    if pod.is_bound:
        return pod.node
    if pod.ordinal < 0:
        names = named_nodes(pod.shape.spec) or frozenset()
        pod.ordinal = next((cluster.node_index[name] for name in names if name in cluster.node_index), NOWHERE)
    return pod.ordinal


def pinned(spec: PodSpec, node_name: str) -> PodSpec:
    """`ReplaceDaemonSetPodNodeNameNodeAffinity`: the pod's affinity names its node."""
    field = Requirement(key="metadata.name", operator="In", values=(node_name,))
    affinity = NodeAffinity(required=(NodeSelectorTerm(match_fields=(field,)),), preferred=spec.node_affinity.preferred)
    return replace(spec, node_affinity=affinity)
