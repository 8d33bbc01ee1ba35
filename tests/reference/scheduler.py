"""kube-scheduler with the default profile: queue, scheduling cycle, preemption and its words."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.reference import devices, storage
from tests.reference.cluster import Cluster
from tests.reference.filters import (
    Placed,
    Refusal,
    affinity_terms,
    matches_all,
    named_nodes,
    ports_clash,
    refusal_everywhere,
    run_filters,
    spread_selector,
)
from tests.reference.objects import (
    Key,
    Object,
    copied,
    host_ports,
    is_bound,
    is_terminating,
    key,
    labels,
    priority,
    selector_matches,
)
from tests.reference.quotas import Refused, check
from tests.reference.scores import total_scores

NOT_HELPFUL = "Preemption is not helpful for scheduling"
GATED = "Scheduling is blocked due to non-empty scheduling gates"
NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass
class Queued:
    pod: Object
    since: int  # when it entered the queue, or came back to it after a failed attempt
    plugins: set[str] = field(default_factory=set)  # who refused it last time
    where: str = "active"  # active, backoff, unschedulable, gated
    failed_in_tick: int = -9  # back-off is over by the next tick
    preempting_in_tick: int = -9  # its victims are being deleted


class Scheduler:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.queue: dict[Key, Queued] = {}
        self.nominated: dict[Key, str] = {}  # pod -> node freed for it
        cluster.listeners.append(self.hear)
        pending = [
            pod for pod in cluster.of("Pod") if not is_bound(pod) and not is_terminating(pod) and self.is_mine(pod)
        ]
        pending.sort(key=lambda pod: (pod["metadata"]["creationTimestamp"], int(pod["metadata"]["resourceVersion"])))
        for pod in pending:
            queued = Queued(pod, cluster.now())
            self.queue[key(pod)] = queued
            if pod["status"].get("nominatedNodeName"):
                self.nominated[key(pod)] = pod["status"]["nominatedNodeName"]
            if self.is_gated(pod):
                queued.where = "gated"
            else:  # it was tried before the dump: learn who refuses it, keep the recorded words
                self.learn(queued)
        self.dumped = list(self.queue.values())

    def is_mine(self, pod: Object) -> bool:
        return bool(pod["spec"].get("schedulerName", "default-scheduler") == "default-scheduler")

    def is_gated(self, pod: Object) -> bool:
        """PreEnqueue of schedulinggates and dynamicresources."""
        return bool(pod["spec"].get("schedulingGates")) or devices.claims_of(self.cluster, pod) is None

    def learn(self, queued: Queued) -> None:
        try:
            refusals = self.try_nodes(queued.pod)[1]
        except devices.SchedulingError:
            queued.where = "failed"
        else:
            queued.plugins, queued.where = {r.plugin for r in refusals.values()}, "unschedulable"

    # --- queue (pkg/scheduler/backend/queue) ---------------------------------------------------------------------

    def hear(self, event: str, item: Object) -> None:
        listener = {
            "Pod": self.hear_of_pod,
            "ResourceClaim": self.hear_of_claim,
            "PersistentVolumeClaim": self.hear_of_volume,
            "PersistentVolume": self.hear_of_volume,
            "Node": self.hear_of_node,
        }.get(item["kind"])
        if listener is not None:
            listener(event, item)
        for queued in self.queue.values():
            if queued.where == "failed":  # no plugin refused it: it is tried again when its back-off is over
                queued.where = "backoff" if queued.failed_in_tick >= self.cluster.tick else "active"

    def hear_of_pod(self, event: str, pod: Object) -> None:
        if event == "created" and not is_bound(pod) and self.is_mine(pod):
            where = "gated" if self.is_gated(pod) else "active"
            self.queue[key(pod)] = Queued(pod, self.cluster.now(), where=where)
            if pod["spec"].get("schedulingGates"):
                condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": GATED}
                set_condition(pod, condition)
        elif event == "bound":
            self.wake(lambda queued: self.helped_by_arrival(queued, pod))
        elif event == "removed":
            self.queue.pop(key(pod), None)
            node = self.nominated.pop(key(pod), None)
            if is_bound(pod):
                self.wake(lambda queued: self.helped_by_departure(queued, pod))
            elif node is not None:  # a nominated pod counts as if it sat there
                self.wake(
                    lambda queued: priority(queued.pod) <= priority(pod) and self.helped_by_departure(queued, pod)
                )

    def hear_of_claim(self, event: str, claim: Object) -> None:
        if event == "created":
            for queued in self.queue.values():
                if queued.where == "gated" and not self.is_gated(queued.pod):
                    queued.where = "active"
        elif event == "deallocated" or (event == "removed" and (claim.get("status") or {}).get("allocation")):
            self.wake(lambda queued: "DynamicResources" in queued.plugins)
        elif event == "reserved":
            self.wake(lambda queued: "DynamicResources" in queued.plugins and self.uses_claim(queued.pod, claim))

    def hear_of_volume(self, event: str, item: Object) -> None:
        self.wake(lambda queued: bool({"VolumeBinding", "VolumeZone", "NodeVolumeLimits"} & queued.plugins))

    def hear_of_node(self, event: str, node: Object) -> None:
        """eventhandlers.go addNodeToCache, deleteNodeFromCache: every plugin is asked, and nearly every one hopes for a node."""
        self.nominated = {pod: name for pod, name in self.nominated.items() if self.cluster.get("Node", "", name)}
        self.wake(lambda queued: True)

    def uses_claim(self, pod: Object, claim: Object) -> bool:
        same = pod["metadata"]["namespace"] == claim["metadata"]["namespace"]
        return same and claim["metadata"]["name"] in [name for _, name in devices.claim_names(pod)]

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
                waits = queued.failed_in_tick >= self.cluster.tick
                queued.where = "backoff" if waits else "active"

    def flush_unschedulable(self, spared: list[Object]) -> None:
        """flushUnschedulablePodsLeftover, for the dump's pods but `spared`: each is popped, refused as before, and put back with a new time
        (AddUnschedulableIfNotPresent)."""
        waiting = [one for one in self.dumped if self.queue.get(key(one.pod)) is one and one.pod not in spared]
        for queued in sorted(waiting, key=lambda queued: queued.since):
            if queued.where in ("unschedulable", "failed"):
                queued.since = self.cluster.now()

    def helped_by_departure(self, queued: Queued, gone: Object) -> bool:
        """The plugins' queueing hints for an assigned pod that was deleted."""
        pod = queued.pod
        if "NodeResourcesFit" in queued.plugins:
            return True
        if "NodePorts" in queued.plugins:
            if any(ports_clash(mine, theirs) for mine in host_ports(pod) for theirs in host_ports(gone)):
                return True
        if "NodeVolumeLimits" in queued.plugins and storage.claim_names(gone):
            return True
        if "VolumeRestrictions" in queued.plugins and storage.shares_claim(pod, gone):
            return True
        if "PodTopologySpread" in queued.plugins and self.spreads_with(pod, gone):
            return True
        if "InterPodAffinity" in queued.plugins:
            if matches_all(self.cluster, pod, affinity_terms(pod, "podAntiAffinity"), gone):
                return True
            if matches_all(self.cluster, gone, affinity_terms(gone, "podAntiAffinity"), pod):
                return True
        return False

    def helped_by_arrival(self, queued: Queued, come: Object) -> bool:
        """The plugins' queueing hints for a pod that was bound."""
        pod = queued.pod
        if "PodTopologySpread" in queued.plugins and self.spreads_with(pod, come):
            return True
        return "InterPodAffinity" in queued.plugins and matches_all(
            self.cluster, pod, affinity_terms(pod, "podAffinity"), come
        )

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
        try:
            feasible, refusals = self.try_nodes(pod)
        except devices.SchedulingError as error:
            self.fail(queued, f'running "DynamicResources" filter plugin: {error}')
            return
        if feasible:
            self.bind(queued, self.pick(pod, feasible))
            return
        queued.since, queued.plugins = self.cluster.now(), {r.plugin for r in refusals.values()}
        queued.where, queued.failed_in_tick = "unschedulable", self.cluster.tick
        words = sentence(len(self.cluster.of("Node")), refusals)
        everywhere = refusal_everywhere(self.cluster, pod)
        if everywhere is not None:
            words = f"0/{len(self.cluster.of('Node'))} nodes are available: {everywhere.reasons[0]}."
        words += self.post_filter(queued, refusals)
        set_condition(pod, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words})

    def fail(self, queued: Queued, words: str) -> None:
        """handleSchedulingFailure for an error that is nobody's refusal: tried again after its back-off."""
        queued.since, queued.plugins = self.cluster.now(), set()
        queued.where, queued.failed_in_tick = "failed", self.cluster.tick
        condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulerError", "message": words}
        set_condition(queued.pod, condition)

    def try_nodes(self, pod: Object) -> tuple[list[Object], dict[str, Refusal]]:
        """findNodesThatFitPod: the nominated node first, else every node that PreFilter leaves."""
        placed = self.cluster.pods_by_node()
        nodes = self.cluster.of("Node")
        everywhere = refusal_everywhere(self.cluster, pod)
        if everywhere is not None:
            return [], {node["metadata"]["name"]: everywhere for node in nodes}
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
        if devices.uses_devices(self.cluster, pod) and not self.reserve(queued, node):
            return
        storage.bind_claims(self.cluster, pod, node)
        pod["spec"]["nodeName"] = node["metadata"]["name"]
        self.nominated.pop(key(pod), None)
        self.queue.pop(key(pod), None)
        set_condition(pod, {"type": "PodScheduled", "status": "True"})
        self.cluster.tell("bound", pod)

    def reserve(self, queued: Queued, node: Object) -> bool:
        """Devices; False when a quota refuses the claim for the pod's extended resources (PreBind fails)."""
        pod, extended = queued.pod, None
        requests = devices.extended_requests(self.cluster, pod, node)
        if requests:
            extended = devices.extended_claim(pod, requests)
            extended["metadata"]["name"] = self.cluster.fresh_name(f"{pod['metadata']['name']}-extended-resources-")
            try:
                check(self.cluster, extended)
            except Refused as error:
                self.fail(queued, f"creating the claim for extended resources: {error}")
                return False
        devices.reserve(self.cluster, pod, node, extended)
        if extended is not None:
            self.cluster.create(extended)
        for claim in devices.claims_of(self.cluster, pod) or []:
            self.cluster.tell("reserved", claim)
        return True

    # --- preemption (framework/preemption, plugins/defaultpreemption) ----------------------------------------------

    def post_filter(self, queued: Queued, refusals: dict[str, Refusal]) -> str:
        """What the PostFilter plugins add to the message; on success victims are deleted and the node nominated."""
        pod = queued.pod
        claims = "still not schedulable" if devices.uses_devices(self.cluster, pod) else "no new claims to deallocate"
        if self.deallocated(queued, refusals):
            return " deallocation of ResourceClaim completed"
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

    def deallocated(self, queued: Queued, refusals: dict[str, Refusal]) -> bool:
        """dynamicresources PostFilter: an allocation nobody else uses, and that keeps the pod from nodes, is given up."""
        unavailable = ("resourceclaim not available on the node",)
        for node in self.cluster.of("Node"):
            refusal = refusals.get(node["metadata"]["name"])
            if refusal is None or refusal.reasons != unavailable:
                continue
            for claim in devices.unavailable_claims(self.cluster, queued.pod, node):
                users = [one["uid"] for one in claim["status"].get("reservedFor") or []]
                if not users or users == [queued.pod["metadata"]["uid"]]:
                    devices.deallocate(self.cluster, claim)
                    return True
        return False

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
    pod["status"]["conditions"] = [*conditions, copied(condition)]


def sentence(nodes: int, refusals: dict[str, Refusal]) -> str:
    """framework/types.go FitError.Error: reasons counted over the nodes, sorted as text."""
    counts: dict[str, int] = {}
    for refusal in refusals.values():
        for reason in refusal.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    listed = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{nodes} nodes are available: {', '.join(listed)}."
