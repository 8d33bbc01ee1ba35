"""kube-scheduler's queueing hints: which pending pods are retried after an event.

Source: the plugins' EventsToRegister (kubernetes `pkg/scheduler/framework/plugins`).
"""

from __future__ import annotations

from planner.ground.records import Record
from planner.kubernetes.selectors import labels_match
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import Fails
from planner.scheduling.shape import Shape
from planner.scheduling.state import carried_terms

# As plain numbers, since looking a member up in its enumeration costs more than all that is done with it here.
_DEVICE_ERROR, _DEVICES, _CLAIM_ELSEWHERE, _PORTS, _SPREAD, _AFFINITY, _ANTI_AFFINITY, _EXISTING_ANTI_AFFINITY = map(
    int,
    (
        Fails.DEVICE_ERROR, Fails.DEVICES, Fails.CLAIM_ELSEWHERE, Fails.PORTS, Fails.SPREAD, Fails.AFFINITY, Fails.ANTI_AFFINITY,
        Fails.EXISTING_ANTI_AFFINITY,
    ),
)  # fmt: skip
_FREED_BY_REMOVAL = frozenset(
    (Fails.RESOURCES, Fails.DEVICES, Fails.CLAIM_ELSEWHERE, Fails.EXCLUSIVE_CLAIM, Fails.DISK, Fails.VOLUME_LIMIT)
)
_HELPED_BY_ARRIVAL = frozenset((Fails.DEVICE_ERROR, Fails.SPREAD, Fails.AFFINITY))


class ClusterEvent(Record, kw_only=False, eq=False):
    """A pod was bound or is gone; what that means to pods that wait depends on what refused them.

    Source: the plugins' EventsToRegister and queueing hints (kubernetes `pkg/scheduler/framework/plugins`).
    """

    shape: Shape
    is_removal: bool
    frees_claim: bool = False  # instead: a ResourceClaim that no pod uses was given up
    is_nodes: bool = False  # instead: nodes came or went, which every filter may hope for (`Node`/`Add` of all plugins)

    def may_wake(self, refused: frozenset[int]) -> bool:
        """Whether it may help any pod that these filters refused: `wakes`, before a pod is looked at."""
        if self.is_removal or self.is_nodes or self.frees_claim:
            return True
        return not refused.isdisjoint(_HELPED_BY_ARRIVAL)

    def wakes_all(self, refused: frozenset[int]) -> bool:
        """Whether it may help every pod that these filters refused, whatever it asks for."""
        # A node that comes or changes may lift whatever a filter refused; where a plugin returned an error it refused nothing, so
        # kube-scheduler tries the pod again after each event.
        if self.is_nodes or _DEVICE_ERROR in refused:
            return True
        freed = (_DEVICES, _CLAIM_ELSEWHERE) if self.frees_claim else _FREED_BY_REMOVAL if self.is_removal else ()
        return not refused.isdisjoint(freed)

    def wakes(self, cluster: Cluster, shape: Shape, refused: frozenset[int]) -> bool:
        """Whether the event may help a pod of `shape`, given which filters refused it."""
        other = self.shape
        if self.wakes_all(refused):
            return True
        if self.frees_claim:
            return False
        if self.is_removal and _PORTS in refused:
            ports_wanted = {(p.port, p.protocol) for p in shape.host_ports}
            if any((p.port, p.protocol) in ports_wanted for p in other.host_ports):
                return True
        # A pod that comes helps here too: it may raise the smallest domain, and with it how many the others may have.
        if _SPREAD in refused and other.namespace == shape.namespace:
            if any(labels_match(s.selector, other.labels) for s in shape.hard_spread):
                return True
        # What is asked below needs a pod that goes: nothing is left to hope for from one that comes.
        if not self.is_removal and _AFFINITY in refused:
            return any(t.matches(cluster, other.namespace, other.labels) for t in shape.affinity)
        if self.is_removal and _ANTI_AFFINITY in refused:
            if any(t.matches(cluster, other.namespace, other.labels) for t in shape.anti_affinity):
                return True
        if self.is_removal and _EXISTING_ANTI_AFFINITY in refused:
            anti, _ = carried_terms(other.namespace, other.labels, other.spec)
            return any(t.matches(cluster, shape.namespace, shape.labels) for t in anti)
        return False
