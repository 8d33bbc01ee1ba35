"""Loops of pods that a kubelet refuses and a controller recreates; no restart count shows them.

A refused pod stays, Failed; a ReplicaSet doesn't count it and makes another at once, without a back-off, and kube-scheduler,
which doesn't look at what the kubelet refused, may place that on the same node again. Sources: kubernetes
`pkg/kubelet/kubelet.go` `rejectPod`, `pkg/controller/controller_utils.go` `IsPodActive`, `pkg/controller/replicaset/replica_set.go`.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.ground.records import Record, replace
from planner.ground.words import count, duration, listing
from planner.health.restarts.causes_kubelet_and_nodes import is_refused
from planner.health.restarts.container_observations import ContainerCase
from planner.health.restarts.model import Activity, Diagnosis
from planner.kubernetes.object_records import Pod

# CrashLoopBackOff waits at most 5 min, and a run of 10 min ends the back-off: kubernetes `pkg/kubelet/kubelet.go`
# (MaxCrashLoopBackOff, backOffPeriod); what restarted within half an hour is still at it
LOOPING_SECONDS = 1_800.0


class Refusals(Record):
    """Pods of one workload that were refused, and whether it goes on."""

    namespace: str
    pods: int
    nodes: tuple[str, ...]
    maker: str  # the kind of their controller, "" without one
    activity: Activity
    seconds_between: float | None  # of two that were made one after another, on average

    @property
    def is_loop(self) -> bool:
        return self.activity is Activity.LOOPING

    @property
    def sentence(self) -> str:
        """How often, and who makes them again; "" for one alone."""
        if self.pods < 2:
            return ""
        pace = f", one every {duration(self.seconds_between)} on average" if self.seconds_between is not None else ""
        where = f"on node {self.nodes[0]}" if len(self.nodes) == 1 else f"on nodes {listing(self.nodes)}"
        head = f"{count(self.pods, 'pod was', 'pods were')} refused {where}{pace}"
        return f"{head}: a loop, in which the {self.maker} makes each again." if self.is_loop else f"{head}."

    def with_cure(self, diagnosis: Diagnosis) -> Diagnosis:
        """`diagnosis` with what ends the loop in front of what cures its cause."""
        if not self.is_loop:
            return diagnosis
        cordon = "; ".join(f"kubectl cordon {node}" for node in self.nodes)
        clear = f"kubectl delete pods -n {self.namespace} --field-selector=status.phase=Failed"
        return replace(diagnosis, cure=f"End the loop: {cordon}. Then {clear}. {diagnosis.cure}")


def refusals(failing: Sequence[ContainerCase], siblings: Sequence[ContainerCase]) -> Refusals | None:
    """What became of the pods of `failing`, cases of one workload; None where they weren't refused at admission.

    It is over once a pod that was made after the last of them is Ready; without such a pod two refused ones of which the last
    is young are a loop.
    """
    if not all(is_refused(case.pod) for case in failing):
        return None
    refused = [case.pod for case in failing]
    pod_ages = sorted(at for pod in refused if (at := pod.created_at) is not None)
    newest = pod_ages[-1] if pod_ages else None
    successors = [case.pod for case in siblings if _succeeds(case.pod, newest)]
    makers = sorted({pod.owner.kind for pod in refused if pod.owner is not None})
    is_young = newest is not None and failing[0].taken_at - newest <= LOOPING_SECONDS
    if any(pod.is_ready for pod in successors):
        activity = Activity.GONE
    elif len(refused) > 1 and is_young and makers:
        activity = Activity.LOOPING
    else:
        # A successor that isn't Ready shows that the loop is over: it was let in, and what it lacks now is another
        # case.
        activity = Activity.GONE if successors else Activity.NOT_STARTING
    return Refusals(
        namespace=refused[0].namespace,
        pods=len(refused),
        nodes=tuple(sorted({pod.node_name for pod in refused})),
        maker=listing(makers),
        activity=activity,
        seconds_between=(pod_ages[-1] - pod_ages[0]) / (len(pod_ages) - 1) if len(pod_ages) > 1 else None,
    )


def _succeeds(pod: Pod, newest: float | None) -> bool:
    """Whether it may take the place of refused pods of which the last was made at `newest`."""
    return not pod.is_terminal and (newest is None or pod.created_at is None or pod.created_at >= newest)
