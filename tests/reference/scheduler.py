"""kube-scheduler with the default profile: queue, scheduling cycle, preemption and its words."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from tests.reference import devices
from tests.reference.cluster import Cluster
from tests.reference.filters import (
    Placed,
    Refusal,
    affinity_terms,
    matches_all,
    named_nodes,
    ports_clash,
    run_filters,
    spread_selector,
)
from tests.reference.objects import (
    Key,
    Object,
    host_ports,
    is_bound,
    is_terminating,
    key,
    labels,
    priority,
    selector_matches,
)
from tests.reference.scores import total_scores

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass
class Queued:
    pod: Object
    since: int  # when it entered the queue, or came back to it after a failed attempt
    plugins: set[str] = field(default_factory=set)  # who refused it last time
    where: str = "active"  # active, backoff, unschedulable, gated
    failed_in_tick: int = -9  # back-off lasts longer than one tick
    preempting_in_tick: int = -9  # its victims are being deleted


class Scheduler:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.queue: dict[Key, Queued] = {}
        self.nominated: dict[Key, str] = {}  # pod -> node freed for it
        cluster.listeners.append(self.hear)
        pending = [pod for pod in cluster.of("Pod") if not is_bound(pod) and not is_terminating(pod)]
        pending.sort(key=lambda pod: (pod["metadata"]["creationTimestamp"], int(pod["metadata"]["resourceVersion"])))
        for pod in pending:
            queued = Queued(pod, cluster.now())
            self.queue[key(pod)] = queued
            if pod["status"].get("nominatedNodeName"):
                self.nominated[key(pod)] = pod["status"]["nominatedNodeName"]
            if devices.claims_of(cluster, pod) is None:
                queued.where = "gated"
            else:  # it was tried before the dump: learn who refuses it, keep the recorded words
                refusals = self.try_nodes(pod)[1]
                queued.plugins, queued.where = {r.plugin for r in refusals.values()}, "unschedulable"

    # --- queue (pkg/scheduler/backend/queue) ---------------------------------------------------------------------

    def hear(self, event: str, item: Object) -> None:
        if item["kind"] == "Pod":
            if event == "created" and not is_bound(item):
                gated = devices.claims_of(self.cluster, item) is None
                self.queue[key(item)] = Queued(item, self.cluster.now(), where="gated" if gated else "active")
            elif event == "bound":
                self.wake(lambda queued: self.helped_by_arrival(queued, item))
            elif event == "removed":
                self.queue.pop(key(item), None)
                node = self.nominated.pop(key(item), None)
                if is_bound(item):
                    self.wake(lambda queued: self.helped_by_departure(queued, item))
                elif node is not None:  # a nominated pod counts as if it sat there
                    self.wake(
                        lambda queued: priority(queued.pod) <= priority(item) and self.helped_by_departure(queued, item)
                    )
        elif item["kind"] == "ResourceClaim":
            if event == "created":
                for queued in self.queue.values():
                    if queued.where == "gated" and devices.claims_of(self.cluster, queued.pod) is not None:
                        queued.where = "active"
            elif event == "removed" and (item.get("status") or {}).get("allocation"):
                self.wake(lambda queued: "DynamicResources" in queued.plugins)

    def wake(self, helped: object) -> None:
        """MoveAllToActiveOrBackoffQueue: pods whose refusing plugin says that the event may help are tried again.

        A preemptor misses the event that comes while its victims are being deleted (defaultpreemption PreEnqueue): the
        recorder's next removal, as a rule.
        """
        for queued in self.queue.values():
            if queued.where == "unschedulable" and helped(queued):  # type: ignore[operator]
                if queued.preempting_in_tick == self.cluster.tick:
                    queued.preempting_in_tick = -9
                    continue
                waits = queued.failed_in_tick >= self.cluster.tick - 1
                queued.where = "backoff" if waits else "active"

    def helped_by_departure(self, queued: Queued, gone: Object) -> bool:
        """The plugins' queueing hints for an assigned pod that was deleted."""
        pod = queued.pod
        if "NodeResourcesFit" in queued.plugins:
            return True
        if "NodePorts" in queued.plugins:
            if any(ports_clash(mine, theirs) for mine in host_ports(pod) for theirs in host_ports(gone)):
                return True
        if "PodTopologySpread" in queued.plugins and self.spreads_with(pod, gone):
            return True
        if "InterPodAffinity" in queued.plugins:
            if matches_all(pod, affinity_terms(pod, "podAntiAffinity"), gone):
                return True
            if matches_all(gone, affinity_terms(gone, "podAntiAffinity"), pod):
                return True
        return False

    def helped_by_arrival(self, queued: Queued, come: Object) -> bool:
        """The plugins' queueing hints for a pod that was bound."""
        pod = queued.pod
        if "PodTopologySpread" in queued.plugins and self.spreads_with(pod, come):
            return True
        return "InterPodAffinity" in queued.plugins and matches_all(pod, affinity_terms(pod, "podAffinity"), come)

    def spreads_with(self, pod: Object, other: Object) -> bool:
        constraints = [
            c for c in pod["spec"].get("topologySpreadConstraints") or [] if c["whenUnsatisfiable"] == "DoNotSchedule"
        ]
        return other["metadata"]["namespace"] == pod["metadata"]["namespace"] and any(
            selector_matches(spread_selector(pod, c), labels(other)) for c in constraints
        )

    def pop(self) -> Queued | None:
        """queuesort/priority_sort.go: priority, then time in the queue; the back-off queue only when nothing else is
        there (SchedulerPopFromBackoffQ)."""
        for where in ("active", "backoff"):
            waiting = [queued for queued in self.queue.values() if queued.where == where]
            if waiting:
                return min(waiting, key=lambda queued: (-priority(queued.pod), queued.since))
        return None

    def run(self, limit: int | None = None) -> bool:
        """Schedule until the queue is empty (or ``limit`` pods); True when anything was tried."""
        tried = 0
        while limit is None or tried < limit:
            queued = self.pop()
            if queued is None:
                break
            self.schedule_one(queued)
            tried += 1
        return tried > 0

    # --- one pod (pkg/scheduler/schedule_one.go) -----------------------------------------------------------------

    def schedule_one(self, queued: Queued) -> None:
        pod = queued.pod
        feasible, refusals = self.try_nodes(pod)
        if feasible:
            self.bind(queued, self.pick(pod, feasible))
            return
        queued.since, queued.plugins = self.cluster.now(), {r.plugin for r in refusals.values()}
        queued.where, queued.failed_in_tick = "unschedulable", self.cluster.tick
        words = sentence(len(self.cluster.of("Node")), refusals)
        words += self.post_filter(queued, refusals)
        set_condition(pod, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words})

    def try_nodes(self, pod: Object) -> tuple[list[Object], dict[str, Refusal]]:
        """findNodesThatFitPod: the nominated node first, else every node that PreFilter leaves."""
        placed = self.cluster.pods_by_node()
        nodes = self.cluster.of("Node")
        wanted = self.nominated.get(key(pod))
        for node in nodes:
            if node["metadata"]["name"] == wanted and self.fits_with_nominated(pod, node, placed) is None:
                return [node], {}
        names = named_nodes(pod)
        feasible, refusals = [], {}
        for node in nodes:
            name = node["metadata"]["name"]
            if names is not None and name not in names:
                words = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
                refusals[name] = Refusal("NodeAffinity", (words,), False)
                continue
            refusal = self.fits_with_nominated(pod, node, placed)
            if refusal is None:
                feasible.append(node)
            else:
                refusals[name] = refusal
        return feasible, refusals

    def fits_with_nominated(self, pod: Object, node: Object, placed: Placed) -> Refusal | None:
        """RunFilterPluginsWithNominatedPods: with the equal or more important pods nominated to the node, and without."""
        name = node["metadata"]["name"]
        guests = []
        for other, place in self.nominated.items():
            guest = self.cluster.get("Pod", *other)
            if place == name and guest is not None and other != key(pod) and priority(guest) >= priority(pod):
                guests.append(guest)
        if guests:
            refusal = run_filters(self.cluster, pod, node, {**placed, name: placed[name] + guests})
            if refusal is not None:
                return refusal
        return run_filters(self.cluster, pod, node, placed)

    def pick(self, pod: Object, feasible: list[Object]) -> Object:
        """prioritizeNodes and the heap of sortedNodeScores: the best score, ties at random."""
        if len(feasible) == 1:
            return feasible[0]
        scores = total_scores(self.cluster, pod, feasible, self.cluster.pods_by_node())
        best = max(scores.values())
        return self.cluster.random.choice([n for n in feasible if scores[n["metadata"]["name"]] == best])

    def bind(self, queued: Queued, node: Object) -> None:
        pod = queued.pod
        if pod["spec"].get("resourceClaims"):
            devices.reserve(self.cluster, pod, node)
        pod["spec"]["nodeName"] = node["metadata"]["name"]
        self.nominated.pop(key(pod), None)
        self.queue.pop(key(pod), None)
        set_condition(pod, {"type": "PodScheduled", "status": "True"})
        self.cluster.tell("bound", pod)

    # --- preemption (framework/preemption, plugins/defaultpreemption) ----------------------------------------------

    def post_filter(self, queued: Queued, refusals: dict[str, Refusal]) -> str:
        """What the PostFilter plugins add to the message; on success victims are deleted and the node nominated."""
        pod = queued.pod
        claims = "still not schedulable" if pod["spec"].get("resourceClaims") else "no new claims to deallocate"
        eligible = self.may_preempt(pod, refusals)
        if eligible is not None:
            return f" {claims}, preemption: {eligible}"
        candidates, statuses = self.candidates(pod, refusals)
        if not candidates:
            self.nominated.pop(key(pod), None)
            return f" {claims}, preemption: {sentence(len(self.cluster.of('Node')), statuses)}"
        name = self.best(candidates)
        for other in list(self.nominated):  # getLowerPriorityNominatedPods: they must look elsewhere
            guest = self.cluster.get("Pod", *other)
            if self.nominated[other] == name and guest is not None and priority(guest) < priority(pod):
                self.nominated.pop(other)
                if self.queue[other].where == "unschedulable":
                    self.queue[other].where = "active"
        self.nominated[key(pod)] = name
        for victim in candidates[name][0]:
            if not is_terminating(victim):
                queued.preempting_in_tick = self.cluster.tick
                victim["metadata"].setdefault("annotations", {})["preempted"] = "true"
                self.cluster.delete_pod(victim)
        return ""

    def may_preempt(self, pod: Object, refusals: dict[str, Refusal]) -> str | None:
        """PodEligibleToPreemptOthers: None, or why not."""
        if pod["spec"].get("preemptionPolicy") == "Never":
            return "not eligible due to preemptionPolicy=Never."
        name = self.nominated.get(key(pod))
        if name is not None:
            refusal = refusals.get(name)
            if refusal is not None and not refusal.resolvable:
                return None
            for other in self.cluster.pods_by_node().get(name, []):
                preempted = (other["metadata"].get("annotations") or {}).get("preempted") == "true"
                if is_terminating(other) and preempted and priority(other) < priority(pod):
                    return "not eligible due to a terminating pod on the nominated node."
        return None

    def candidates(
        self, pod: Object, refusals: dict[str, Refusal]
    ) -> tuple[dict[str, tuple[list[Object], int]], dict[str, Refusal]]:
        """DryRunPreemption: node -> (victims, budgets broken), and why not on the others."""
        found: dict[str, tuple[list[Object], int]] = {}
        statuses: dict[str, Refusal] = {}
        for node in self.cluster.of("Node"):
            name = node["metadata"]["name"]
            if not refusals[name].resolvable:
                statuses[name] = Refusal("", (NOT_HELPFUL,), False)
                continue
            outcome = self.victims_on(pod, node)
            if isinstance(outcome, Refusal):
                statuses[name] = outcome
            elif outcome[0]:
                found[name] = outcome
        return found, statuses

    def victims_on(self, pod: Object, node: Object) -> tuple[list[Object], int] | Refusal:
        """SelectVictimsOnNode: take all less important pods away, then put back as many as possible."""
        placed, name = self.cluster.pods_by_node(), node["metadata"]["name"]
        potential = [other for other in placed[name] if priority(other) < priority(pod)]
        if not potential:
            return Refusal("", (NO_VICTIMS,), False)
        kept = [other for other in placed[name] if priority(other) >= priority(pod)]
        refusal = self.fits_with_nominated(pod, node, {**placed, name: kept})
        if refusal is not None:
            return refusal
        potential.sort(key=importance)
        breaking, harmless = self.split_by_budget(potential)
        victims, broken = [], 0
        for other in [*breaking, *harmless]:
            if self.fits_with_nominated(pod, node, {**placed, name: [*kept, other]}) is None:
                kept = [*kept, other]
            else:
                victims.append(other)
                broken += any(other is one for one in breaking)
        return sorted(victims, key=importance), broken

    def split_by_budget(self, pods: list[Object]) -> tuple[list[Object], list[Object]]:
        """filterPodsWithPDBViolation."""
        budgets = self.cluster.of("PodDisruptionBudget")
        allowed = [budget["status"].get("disruptionsAllowed", 0) for budget in budgets]
        breaking: list[Object] = []
        harmless: list[Object] = []
        for pod in pods:
            violates = False
            for index, budget in enumerate(budgets):
                selector = budget["spec"].get("selector") or {}
                if budget["metadata"]["namespace"] != pod["metadata"]["namespace"] or not selector:
                    continue
                if not labels(pod) or not selector_matches(selector, labels(pod)):
                    continue
                allowed[index] -= 1
                violates = violates or allowed[index] < 0
            (breaking if violates else harmless).append(pod)
        return breaking, harmless

    def best(self, candidates: dict[str, tuple[list[Object], int]]) -> str:
        """pickOneNodeForPreemption."""

        def cost(name: str) -> tuple[object, ...]:
            victims, broken = candidates[name]
            highest = priority(victims[0])
            starts = [start_time(v) for v in victims if priority(v) == highest]
            total = sum(priority(v) + 2**31 for v in victims)
            return (broken, highest, total, len(victims), Descending(min(starts)))

        lowest = min(cost(name) for name in candidates)
        return self.cluster.random.choice([name for name in candidates if cost(name) == lowest])


@dataclass(frozen=True)
class Descending:
    value: str

    def __lt__(self, other: Descending) -> bool:
        return self.value > other.value


def start_time(pod: Object) -> str:
    """pkg/scheduler/util GetPodStartTime; a pod that has not started counts as starting now."""
    return pod["status"].get("startTime") or "9999"


def importance(pod: Object) -> tuple[int, str]:
    """pkg/scheduler/util MoreImportantPod: priority, then the longer running."""
    return -priority(pod), start_time(pod)


def set_condition(pod: Object, condition: Object) -> None:
    conditions = [c for c in pod["status"].get("conditions") or [] if c["type"] != condition["type"]]
    pod["status"]["conditions"] = [*conditions, copy.deepcopy(condition)]


def sentence(nodes: int, refusals: dict[str, Refusal]) -> str:
    """framework/types.go FitError.Error: reasons counted over the nodes, sorted as text."""
    counts: dict[str, int] = {}
    for refusal in refusals.values():
        for reason in refusal.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    listed = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{nodes} nodes are available: {', '.join(listed)}."
