"""DaemonSet: one pod on every node it should run on, replaced within surge and unavailable.

Source: kubernetes `pkg/controller/daemon/{daemon_controller,update}.go` of 1.36.
"""

from __future__ import annotations

from dataclasses import replace

from planner.inventory.model import FrozenMap, Node, NodeAffinity, NodeSelectorTerm, PodSpec, Requirement, Toleration, Workload  # fmt: skip
from planner.rollout.simulation import Simulation
from planner.rollout.strategy import scaled_value
from planner.scheduling.pod import LivePod
from planner.scheduling.selectors import node_affinity_matches, tolerates, tolerates_taints
from planner.vocabulary import CONTROLLER_REVISION_HASH, TAINT_NOT_READY, TAINT_UNREACHABLE, TAINT_UNSCHEDULABLE

NEW_HASH = "new"
# Source: pkg/controller/daemon/util/daemonset_util.go AddOrUpdateDaemonPodTolerations
_ALWAYS_TOLERATED = (
    Toleration(key=TAINT_NOT_READY, operator="Exists", effect="NoExecute"),
    Toleration(key=TAINT_UNREACHABLE, operator="Exists", effect="NoExecute"),
    Toleration(key="node.kubernetes.io/disk-pressure", operator="Exists", effect="NoSchedule"),
    Toleration(key="node.kubernetes.io/memory-pressure", operator="Exists", effect="NoSchedule"),
    Toleration(key="node.kubernetes.io/pid-pressure", operator="Exists", effect="NoSchedule"),
    Toleration(key=TAINT_UNSCHEDULABLE, operator="Exists", effect="NoSchedule"),
)


class DaemonSetController:
    """One DaemonSet during a rollout."""

    def __init__(self, workload: Workload, *, has_new_template: bool) -> None:
        self.workload = workload
        self.key = workload.key
        self.has_new_template = has_new_template
        spec = workload.template.spec
        extra = _ALWAYS_TOLERATED
        if spec.host_network:
            extra += (
                Toleration(key="node.kubernetes.io/network-unavailable", operator="Exists", effect="NoSchedule"),
            )
        self.spec = replace(spec, tolerations=spec.tolerations + extra)
        self._targets: tuple[int, ...] | None = None

    def targets(self, simulation: Simulation) -> tuple[int, ...]:
        """Nodes it should run on (`nodeShouldRunDaemonPod`: affinity and taints, not resources)."""
        if self._targets is None:
            nodes = simulation.cluster.nodes
            self._targets = tuple(i for i, node in enumerate(nodes) if self._should_run(node))
        return self._targets

    def _should_run(self, node: Node) -> bool:
        if self.spec.node_name and self.spec.node_name != node.name:
            return False
        return node_affinity_matches(self.spec, node.labels, node.name) and tolerates_taints(
            self.spec.tolerations, node.taints
        )

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        return simulation.pods_of(self.key, self.workload.uid)

    def _is_updated(self, pod: LivePod) -> bool:
        return pod.is_new or not self.has_new_template

    def limits(self, simulation: Simulation) -> tuple[int, int]:
        count = len(self.targets(simulation))
        strategy = self.workload.strategy
        surge = scaled_value(strategy.max_surge, count, round_up=True)
        unavailable = scaled_value(strategy.max_unavailable, count, round_up=True)
        return surge, unavailable if surge or unavailable else 1

    def _by_node(self, simulation: Simulation) -> dict[int, list[LivePod]]:
        """Pods by the node they are on or meant for, terminating ones included."""
        found: dict[int, list[LivePod]] = {}
        for pod in self.all_pods(simulation):
            node = pod.node if pod.is_bound else pod.ordinal  # a waiting daemon pod's affinity names its node
            found.setdefault(node, []).append(pod)
        return found

    def status(self, simulation: Simulation) -> dict[str, int]:
        by_node = self._by_node(simulation)
        targets = self.targets(simulation)
        updated = ready = current = 0
        for node in targets:
            pods = [p for p in by_node.get(node, ()) if not p.is_terminating]
            current += bool(by_node.get(node))
            ready += any(p.is_ready for p in pods)
            oldest = min(by_node.get(node, ()), key=lambda p: (not p.is_ready, p.number), default=None)
            updated += oldest is not None and self._is_updated(oldest)
        return {
            "desiredNumberScheduled": len(targets),
            "currentNumberScheduled": current,
            "updatedNumberScheduled": updated,
            "numberReady": ready,
            "numberAvailable": ready,
            "numberUnavailable": len(targets) - ready,
            "numberMisscheduled": sum(1 for node in by_node if node not in targets),
        }

    def is_complete(self, simulation: Simulation) -> bool:
        by_node = self._by_node(simulation)
        if self.workload.strategy.kind == "OnDelete" and self.has_new_template:
            return False
        for node in self.targets(simulation):
            pods = by_node.get(node, [])
            if not any(p.is_ready and not p.is_terminating and self._is_updated(p) for p in pods):
                return False
            if any(not self._is_updated(p) and not p.is_terminating for p in pods):
                return False
        return True

    def sync(self, simulation: Simulation) -> bool:
        busy = self._manage(simulation)
        if self.workload.strategy.kind != "OnDelete":
            busy |= self._roll(simulation)
        return busy

    def _manage(self, simulation: Simulation) -> bool:
        """`podsShouldBeOnNode`: one pod a node; where pods are still terminating and it doesn't surge, wait."""
        by_node = self._by_node(simulation)
        surge, _ = self.limits(simulation)
        targets = set(self.targets(simulation))
        busy = False
        for node in sorted(targets):
            pods = by_node.get(node, [])
            standing = [p for p in pods if not p.is_terminating]
            if not pods or (surge and not standing):
                busy |= self._create(simulation, node)
            elif surge and len(standing) > 1:
                busy |= self._prune(simulation, standing)
        for node, pods in by_node.items():
            if node not in targets:
                for pod in pods:
                    if not pod.is_terminating and not self._may_stay(simulation, node):
                        simulation.delete(pod)
                        busy = True
        return busy

    def _may_stay(self, simulation: Simulation, node: int) -> bool:
        """`nodeShouldRunDaemonPod` shouldContinueRunning: only NoExecute taints push a running pod out."""
        if not 0 <= node < simulation.cluster.node_count:
            return False
        found = simulation.cluster.nodes[node]
        executing = [t for t in found.taints if t.effect == "NoExecute"]
        return node_affinity_matches(self.spec, found.labels, found.name) and all(
            any(tolerates(t, taint) for t in self.spec.tolerations) for taint in executing
        )

    def _prune(self, simulation: Simulation, standing: list[LivePod]) -> bool:
        """Two pods on a node are kept only while the new one isn't Ready and the old one is."""
        new = [p for p in standing if self._is_updated(p)]
        old = [p for p in standing if not self._is_updated(p)]
        doomed = new[1:] + old[1:]
        if new and old and (new[0].is_ready or not old[0].is_ready):
            doomed.append(old[0])
        for pod in doomed:
            simulation.delete(pod)
        return bool(doomed)

    def _roll(self, simulation: Simulation) -> bool:
        """`rollingUpdate`."""
        surge, unavailable = self.limits(simulation)
        by_node = {node: list(pods) for node, pods in self._by_node(simulation).items()}
        for node in self.targets(simulation):
            by_node.setdefault(node, [])
        order = sorted(by_node)
        simulation.random.shuffle(order)  # the controller ranges over a map
        if surge == 0:
            return self._replace(simulation, by_node, order, unavailable)
        return self._surge(simulation, by_node, order, surge)

    def _pair(self, pods: list[LivePod]) -> tuple[LivePod | None, LivePod | None]:
        standing = [p for p in pods if not p.is_terminating]
        new = next((p for p in standing if self._is_updated(p)), None)
        old = next((p for p in standing if not self._is_updated(p)), None)
        return new, old

    def _replace(
        self, simulation: Simulation, by_node: dict[int, list[LivePod]], order: list[int], unavailable: int
    ) -> bool:
        missing = 0
        replaceable: list[LivePod] = []
        candidates: list[LivePod] = []
        for node in order:
            new, old = self._pair(by_node[node])
            if (old is None) == (new is None):
                missing += 1
            elif new is not None:
                missing += not new.is_ready
            elif old is not None and not old.is_ready:
                replaceable.append(old)
                missing += 1
            elif old is not None and missing < unavailable:
                candidates.append(old)
        room = max(0, unavailable - missing)
        simulation.choices += 0 < room < len(candidates)
        doomed = replaceable + candidates[:room]
        for pod in doomed:
            simulation.delete(pod)
        return bool(doomed)

    def _surge(self, simulation: Simulation, by_node: dict[int, list[LivePod]], order: list[int], surge: int) -> bool:
        surging = 0
        allowed: list[int] = []
        candidates: list[int] = []
        doomed: list[LivePod] = []
        targets = set(self.targets(simulation))
        for node in order:
            new, old = self._pair(by_node[node])
            if old is None:
                continue
            if new is None:
                if node not in targets:
                    doomed.append(old) if not old.is_ready else None
                elif not old.is_ready:
                    allowed.append(node)
                elif surging < surge:
                    candidates.append(node)
            elif not new.is_ready:
                surging += 1
            else:
                doomed.append(old)
        for pod in doomed:
            simulation.delete(pod)
        busy = bool(doomed)
        room = max(0, surge - surging)
        simulation.choices += 0 < room < len(candidates)
        for node in allowed + candidates[:room]:
            busy |= self._create(simulation, node)
        return busy

    def _create(self, simulation: Simulation, node: int) -> bool:
        pod = simulation.create(
            self.key,
            self.workload.namespace,
            f"{self.workload.name}-{simulation.random.getrandbits(24):06x}",
            FrozenMap({**self.workload.template.labels, CONTROLLER_REVISION_HASH: NEW_HASH}),
            pinned(self.spec, simulation.cluster.node_names[node]),
            None,
            is_new=self.has_new_template,
            ordinal=node,
        )
        return pod is not None


def pinned(spec: PodSpec, node_name: str) -> PodSpec:
    """`ReplaceDaemonSetPodNodeNameNodeAffinity`: the pod's affinity names its node."""
    field = Requirement(key="metadata.name", operator="In", values=(node_name,))
    affinity = NodeAffinity(
        required=(NodeSelectorTerm(match_fields=(field,)),), preferred=spec.node_affinity.preferred
    )
    return replace(spec, node_affinity=affinity)
