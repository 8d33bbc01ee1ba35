"""The recorder's lock step (conformance/README.md): change, then ticks until nobody has anything left to do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.reference.admission import adds_tolerations
from tests.reference.attachment import Attacher
from tests.reference.cluster import Cluster
from tests.reference.controllers import (
    REVISION,
    held_revisions,
    looks_like,
    next_retry,
    owned_pods,
    owned_replica_sets,
    revision_again,
    sync_all,
    sync_autoscaler,
)
from tests.reference.objects import (
    Object,
    controller_of,
    copied,
    is_bound,
    is_ready,
    is_terminating,
    key,
    labels,
    pod_requests,
    strategic_merge,
    tolerates,
)
from tests.reference.scheduler import Scheduler, set_condition
from tests.reference.silence import evict, is_out_of_service, is_silent, mark_pods_not_ready, silence

MOST_ROUNDS = 10_000
MOST_TICKS = 1_000
# The recorder's times, fitted to its recordings (only delayed retries after a refused quota depend on them): one write,
# the quiet it waits for, and the longer quiet before it says "stuck". A wide range around each gives the same outcomes.
ROUND_MS = 6.0
QUIET_MS = 900.0
LOOKS_EVERY_MS = 15_000.0  # an autoscaler
RECORDERS_PATIENCE_MS = AFTER_RETRY_MS = 5400.0
PATIENCE_MS = 1_000_900.0  # in life: the work queue's longest delay, and the quiet after it
NATIVE = ("cpu", "memory", "ephemeral-storage", "pods")
ADDED = (REVISION, "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")


class Simulation:
    def __init__(self, items: list[Object], never_ready: list[dict[str, str]], seed: int) -> None:
        self.cluster = Cluster(items, seed)
        adds_tolerations(self.cluster)  # as the templates are before the change
        self.never_ready = never_ready
        self.tries_again = False
        self.workloads: list[Object] = []
        self.timeline: list[Object] = []
        for kind in ("StatefulSet", "DaemonSet"):
            for item in self.cluster.of(kind):
                self.remember_revisions(item)
        self.scheduler = Scheduler(self.cluster)
        self.attacher: Attacher | None = Attacher(self.cluster)  # None: the recorder attached nothing
        mark_pods_not_ready(self.cluster)

    def remember_revisions(self, item: Object) -> None:
        """Which revision is which template; where a dump holds no ControllerRevisions, as far as pods show it."""
        pods, template = owned_pods(self.cluster, item), item["spec"]["template"]
        held = item["metadata"]["templates"] = held_revisions(self.cluster, item)
        if item["kind"] == "StatefulSet":
            current, latest = item["status"].get("currentRevision"), item["status"]["updateRevision"]
            of_current = next((pod for pod in pods if labels(pod).get(REVISION) == current != latest), None)
            if of_current is not None and not held:
                held[current] = as_template(of_current, template)
            held[latest] = copied(template)
        else:
            equal = [name for name, known in held.items() if known == template]
            if equal:
                item["metadata"]["revision"] = equal[-1]
            else:
                self.remember_daemon_revision(item, pods, template)
            held[item["metadata"]["revision"]] = copied(template)

    def remember_daemon_revision(self, item: Object, pods: list[Object], template: Object) -> None:
        metadata, observed = item["metadata"], item["status"].get("observedGeneration")
        alike = [pod for pod in pods if looks_like(pod, template)]
        if not alike and observed != metadata.get("generation", 1):  # its revision isn't made: a quota refuses it
            metadata["revision"] = metadata.setdefault("unmade", self.cluster.fresh_name(f"{key(item)[1]}-"))
            return
        alike = alike or pods
        revisions = [labels(pod).get(REVISION) for pod in alike]
        item["metadata"]["revision"] = max(revisions, key=revisions.count) if revisions else "old"

    def apply(self, changes: list[Object]) -> None:
        for change in changes:
            name = (change.get("namespace", ""), change["name"])
            item = self.cluster.kinds[change["kind"]][name]
            before = copied(item["spec"].get("template"))
            merged = strategic_merge(item, change["patch"])
            item.clear()
            item.update(merged)
            if item["spec"].get("template") != before:
                if item["kind"] in ("StatefulSet", "DaemonSet"):
                    latest = revision_again(self.cluster, item)
                    item["metadata"]["templates"].pop(latest, None)  # an undo makes it the latest
                    item["metadata"]["templates"][latest] = copied(item["spec"]["template"])
                    if item["kind"] == "StatefulSet":
                        item["status"]["updateRevision"] = latest
                    else:
                        item["metadata"]["revision"] = latest
            item["metadata"]["generation"] = item["metadata"].get("generation", 1) + 1

    def round(self) -> bool:
        """About the time of one request: each controller writes once; the scheduler, quicker than they, empties its
        queue before and after."""
        self.cluster.milliseconds += ROUND_MS
        tried = self.scheduler.run()
        changed = sync_all(self.cluster)
        return self.scheduler.run() or changed or tried

    def settle(self, quiet_ms: float = QUIET_MS) -> None:
        """Until nobody has done anything for ``quiet_ms``; delayed retries that fall into it are made."""
        since = self.cluster.milliseconds
        for _ in range(MOST_ROUNDS):
            if self.round() or self.look_at_scale():
                since = self.cluster.milliseconds
                continue
            retry = next_retry(self.cluster)
            if retry is None or retry > since + quiet_ms:
                self.cluster.milliseconds = max(self.cluster.milliseconds, since + quiet_ms)
                if self.attacher is not None:
                    self.attacher.reconcile()
                return
            self.cluster.milliseconds = retry
        raise RuntimeError("the cluster does not settle")

    def look_at_scale(self) -> bool:
        """Autoscalers look when the others have come to rest; the recorder waits for them, too."""
        looked = [sync_autoscaler(self.cluster, one) for one in self.cluster.of("HorizontalPodAutoscaler")]
        return any(looked)

    def can_end(self, pod: Object) -> bool:
        """Only a kubelet reports that a deleted pod has ended, or the pod garbage collector that its node is out of service."""
        return is_terminating(pod) and (not is_silent(self.cluster, pod) or is_out_of_service(self.cluster, pod))

    def can_become_ready(self, pod: Object) -> bool:
        if is_silent(self.cluster, pod):
            return False
        if self.attacher is not None and is_bound(pod) and not self.attacher.has_its_volumes(pod):
            return False
        young = pod["metadata"].get("created") is not None
        states = [one.get("state") or {} for one in pod["status"].get("containerStatuses") or []]
        if any((state.get("waiting") or {}).get("reason") == "CrashLoopBackOff" for state in states):
            return False
        return not (young and self.is_broken(pod))

    def is_broken(self, pod: Object) -> bool:
        return any(all(labels(pod).get(n) == v for n, v in s.items()) for s in self.never_ready)

    def wait(self, most_ms: float) -> None:
        """Nothing moves: delayed retries are made until something does, or nobody has done anything for ``most_ms``."""
        since = self.cluster.milliseconds
        for _ in range(MOST_ROUNDS):
            if self.is_moving():
                break
            if self.round() or self.look_at_scale():
                since = self.cluster.milliseconds
                continue
            if self.attacher is not None:  # the attach-detach controller acts as soon as a retried pod has its node
                self.attacher.reconcile()
                if self.is_moving():
                    break
            retry = next_retry(self.cluster)
            if retry is None or retry > since + most_ms:
                return
            self.cluster.milliseconds = retry
        self.settle(AFTER_RETRY_MS)

    def is_moving(self) -> bool:
        """Whether a tick has anything to do."""
        return any(
            self.can_end(pod)
            or self.is_waited_for(pod)
            or (is_bound(pod) and not is_ready(pod) and self.can_become_ready(pod))
            for pod in self.cluster.of("Pod")
        )

    def advance(self) -> bool:
        """One tick; False when there is nothing for it to do. The recorder, too, makes one request after another; last, it
        waits until the pods that were Ready at the start have been so for their workload's minReadySeconds."""
        waiting = [pod for pod in self.cluster.of("Pod") if self.is_waited_for(pod)]
        starting = [
            pod
            for pod in self.cluster.of("Pod")
            if is_bound(pod) and not is_ready(pod) and not is_terminating(pod) and self.can_become_ready(pod)
        ]
        ending = [pod for pod in self.cluster.of("Pod") if self.can_end(pod)]
        if not starting and not ending and not waiting:
            return False
        self.cluster.tick += 1
        if self.tries_again and (starting or waiting or any(grace_seconds(pod) for pod in ending)):
            self.try_again()
        for pod in starting:
            pod["status"]["phase"] = "Running"
            pod["status"]["startTime"] = f"tick {self.cluster.tick:06d}"
            pod["metadata"]["ready"] = (self.cluster.tick, self.cluster.now())
            pod["metadata"]["available"] = False
            set_condition(pod, {"type": "Ready", "status": "True"})
            self.round()
        for pod in ending:
            self.cluster.remove(pod)
            self.round()
        if waiting:
            self.settle()
        for pod in waiting:
            pod["metadata"]["available"] = True
        return True

    def try_again(self) -> None:
        """Others' pods that waited in the dump, which kube-scheduler looks at every five minutes."""
        self.scheduler.flush_unschedulable([pod for workload in self.workloads for pod in self.pods_of(workload)])

    def is_waited_for(self, pod: Object) -> bool:
        if not is_ready(pod) or is_terminating(pod) or pod["metadata"].get("available", True):
            return False
        owner = controller_of(pod)
        found = owner and self.cluster.get(owner["kind"], pod["metadata"]["namespace"], owner["name"])
        return bool(found and found["spec"].get("minReadySeconds"))

    # --- what is seen --------------------------------------------------------------------------------------------

    def pods_of(self, workload: Object) -> list[Object]:
        if workload["kind"] == "Deployment":
            return [p for rs in owned_replica_sets(self.cluster, workload) for p in owned_pods(self.cluster, rs)]
        return owned_pods(self.cluster, workload)

    def record(self) -> None:
        held: dict[str, float] = {}
        for pod in self.cluster.of("Pod"):
            if is_bound(pod):
                for name, amount in pod_requests(pod).items():
                    if name not in NATIVE and not name.startswith("hugepages-"):
                        held[name] = held.get(name, 0.0) + float(amount)
        rows = {}
        for workload in self.workloads:
            pods = self.pods_of(workload)
            rows[label(workload)] = {
                "pods": len(pods),
                "bound": sum(is_bound(p) for p in pods),
                "pending": sum(not is_bound(p) for p in pods),
                "ready": sum(is_ready(p) and not is_terminating(p) for p in pods),
                "terminating": sum(is_terminating(p) for p in pods),
            }
        self.timeline.append({"tick": self.cluster.tick, "held": held, "workloads": rows})

    def is_complete(self, workload: Object) -> bool:
        spec, status = workload["spec"], workload["status"]
        if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 1):
            return False
        if any(self.can_end(pod) for pod in self.pods_of(workload)):
            return False
        if workload["kind"] == "Deployment":
            fields = ("updatedReplicas", "replicas", "availableReplicas")
            return all(status.get(field, 0) == spec["replicas"] for field in fields)
        if workload["kind"] == "StatefulSet":
            partition = (spec["updateStrategy"].get("rollingUpdate") or {}).get("partition", 0)
            enough = status["updatedReplicas"] >= spec["replicas"] - partition
            ready = status["readyReplicas"] - sum(
                is_ready(pod) for pod in self.pods_of(workload) if is_terminating(pod)
            )
            is_one = (
                bool(partition) or status.get("currentRevision") == status["updateRevision"]
            )  # kubectl rollout_status.go
            return bool(enough and ready == spec["replicas"] and (is_one or status["replicas"] == spec["replicas"]))
        desired = status["desiredNumberScheduled"]
        return bool(status["updatedNumberScheduled"] == desired == status["numberAvailable"])

    def happen(self, event: Object) -> None:
        """What somebody else does: ``add`` a Node, ``delete`` one by its name (with its pods, as gc_controller.go gcOrphaned
        takes them), ``taint`` one or write whether it is ``cordoned`` (a NoExecute taint deletes who doesn't tolerate it,
        taint_eviction.go processPodOnNode), or write ``replicas`` of a ``workload``; ``silence`` a node; ``apply`` a change. Time has passed: a ReplicaSet that was
        refused tries again."""
        if "silence" in event:
            node = self.cluster.kinds["Node"]["", event["silence"]]
            silence(node)
            mark_pods_not_ready(self.cluster)
            self.cluster.tell("node", node)
        elif "apply" in event:
            self.apply([event["apply"]])
        elif "add" in event:
            self.cluster.create(copied(event["add"]))
        elif "delete" in event:
            self.cluster.remove(self.cluster.kinds["Node"]["", event["delete"]])
            for pod in self.cluster.of("Pod"):
                if pod["spec"].get("nodeName") == event["delete"]:
                    self.cluster.remove(pod)
        elif "node" in event:
            node = self.cluster.kinds["Node"]["", event["node"]]
            node["spec"]["unschedulable"] = event.get("cordoned", node["spec"].get("unschedulable", False))
            node["spec"]["taints"] = event.get("taints", node["spec"].get("taints") or [])
            self.cluster.tell("node", node)
            executing = [one for one in node["spec"]["taints"] if one["effect"] == "NoExecute"]
            for pod in self.cluster.of("Pod"):
                if pod["spec"].get("nodeName") == event["node"] and not all(
                    any(tolerates(own, one) for own in pod["spec"].get("tolerations") or []) for one in executing
                ):
                    self.cluster.delete_pod(pod)
        else:
            item = self.cluster.kinds[event["workload"][0]][event["workload"][1:]]
            item["spec"]["replicas"] = event["replicas"]
            item["metadata"]["generation"] = item["metadata"].get("generation", 1) + 1
        self.time_has_passed()

    def time_has_passed(self) -> None:
        for replica_set in self.cluster.of("ReplicaSet"):
            (replica_set["metadata"].get("work") or {}).update(failures=0, due=None)
        self.settle()

    def outcome(self, verdict: str) -> Object:
        rows = self.timeline[1:]
        peak_held: dict[str, float] = {}
        for row in self.timeline:
            for name, amount in row["held"].items():
                peak_held[name] = max(amount, peak_held.get(name, 0.0))
        names = [label(workload) for workload in self.workloads]
        return {
            "verdict": verdict,
            "ticks": self.cluster.tick,
            "peak_held": peak_held,
            "workloads": {
                name: {
                    "peak_pods": max(row["workloads"][name]["pods"] for row in rows),
                    "min_ready": min(row["workloads"][name]["ready"] for row in rows),
                }
                for name in names
            },
            "final": {label(w): copied(w["status"]) for w in self.workloads},
            "pending": sorted(self.pending(), key=lambda p: (p["namespace"], p["name"])),
            "timeline": self.timeline,
        }

    def pending(self) -> list[Object]:
        found = []
        for pod in self.cluster.of("Pod"):
            if is_bound(pod):
                continue
            conditions = [c for c in pod["status"].get("conditions") or [] if c["type"] == "PodScheduled"]
            owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
            found.append(
                {
                    "namespace": pod["metadata"]["namespace"],
                    "name": pod["metadata"]["name"],
                    "owner": f"{owner.get('kind')}/{owner.get('name')}",
                    "message": conditions[0].get("message") if conditions else None,
                }
            )
        return found


def grace_seconds(pod: Object) -> int:
    """How long a pod takes to end; at 0 the API server deletes it at once."""
    return int(pod["spec"].get("terminationGracePeriodSeconds", 30))


def as_template(pod: Object, like: Object) -> Object:
    """What is left of an old template in a pod of it."""
    own = {name: value for name, value in labels(pod).items() if name not in ADDED}
    spec = {name: copied(value) for name, value in pod["spec"].items() if name in {*like["spec"], "containers"}}
    return {"metadata": {"labels": own}, "spec": spec}


def label(workload: Object) -> str:
    namespace, name = key(workload)
    return f"{workload['kind']}/{namespace}/{name}"


def simulate(
    cluster_items: list[Object],
    changes: list[Object],
    never_ready: list[dict[str, str]],
    seed: int = 0,
    events: Sequence[tuple[int, Object]] = (),
    patience_ms: float = PATIENCE_MS,
    tries_again: bool = False,
    attaches: bool = True,
) -> dict[str, Any]:
    """Play ``changes`` on a cluster and return what the recorder would have written as ``outcome``, had it waited for so long.

    ``tries_again``: before the change and in each tick that takes time kube-scheduler has tried others' pods of the dump again.
    ``attaches``: volumes have to be on a pod's node before it starts; not so in recordings before `rollouts5`.
    ``events``: what others do in which tick, in that order; at once where nobody has anything left to do before. All of them are
    played, also where the changes are done before: what they come to then is the verdict.
    """
    left = list(events)
    simulation = Simulation(cluster_items, never_ready, seed)
    simulation.cluster.draws_order = seed > 0
    simulation.tries_again = tries_again
    if not attaches:
        simulation.attacher = None
    simulation.workloads = [simulation.cluster.kinds[c["kind"]][(c.get("namespace", ""), c["name"])] for c in changes]
    if simulation.look_at_scale():  # others have been scaled when the change comes, nobody knows how long before
        simulation.settle(random.Random(seed).uniform(0, LOOKS_EVERY_MS) if seed else QUIET_MS)
    if tries_again:
        simulation.try_again()
    simulation.record()
    simulation.cluster.tick = 0
    simulation.apply(changes)
    for _ in range(MOST_TICKS):
        simulation.settle()
        while left and left[0][0] <= simulation.cluster.tick:
            simulation.happen(left.pop(0)[1])
        simulation.record()
        if not left and all(simulation.is_complete(workload) for workload in simulation.workloads):
            return simulation.outcome("complete")
        if not simulation.advance():
            simulation.wait(patience_ms)
            if not simulation.advance():
                if left:
                    simulation.cluster.tick += 1
                    if tries_again:
                        simulation.try_again()
                    simulation.happen(left.pop(0)[1])
                    continue
                if simulation.attacher is not None and simulation.attacher.detach_by_force():
                    simulation.time_has_passed()
                    continue
                if evict(simulation.cluster):
                    simulation.time_has_passed()
                    continue
                simulation.record()
                return simulation.outcome("stuck")
    raise RuntimeError("the rollout does not end")
