"""Claims created for pods: ResourceClaims and volume claims from templates, and those that kube-scheduler creates.

They count against quotas as the pods do. A pod with a claim that a quota refuses is there all the same, and isn't tried until
the claim is made.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.ground.well_known_names import DEFAULT_SCHEDULER
from planner.kubernetes.object_records import Pod
from planner.rollout.admission import Admission, Refusal, claim_usage, usage, volume_claim_usage
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import GATED, NOWHERE, LivePod
from planner.scheduling.volume_placement import claims_by_key


class Claims:
    """The claims of a run's pods.

    Parameters
    ----------
    let_in : called with a pod that waited for a claim which is made now
    freed : called with a pod that is gone and had no node, when no pod uses its claims any more

    Attributes
    ----------
    refusals : number of a pod → why a claim of its isn't made
    """

    def __init__(
        self,
        cluster: Cluster,
        admission: Admission,
        *,
        let_in: Callable[[LivePod], None],
        freed: Callable[[LivePod], None],
    ) -> None:
        self._cluster, self._admission, self._let_in, self._freed = cluster, admission, let_in, freed
        self.refusals: dict[int, Refusal] = {}
        self._without: list[LivePod] = []

    def make(self, pod: LivePod) -> None:
        """The claims made for a pod, which a quota may refuse: the pod then is there and gets no node.

        Source: kubernetes `pkg/controller/resourceclaim/controller.go` `handleClaim`, `pkg/controller/volume/ephemeral`.
        """
        for number, (kind, counted) in enumerate(self._of(pod)):
            if number in pod.claims_made:
                continue
            refusal = self._admission.object_refusal(kind, pod.namespace, pod.name, counted)
            if refusal:
                self.refusals[pod.number] = refusal
                self._without.append(pod)
                pod.is_gated = True
                return
            self._admission.charge_object(pod.namespace, counted)
            pod.claims_made |= {number}
        if self.refusals.pop(pod.number, None):
            gate(pod)
            if not pod.is_gated:
                self._let_in(pod)

    def drop(self, pod: LivePod) -> None:
        """Claims go with the pod they were made for; pods that had to do without get theirs."""
        if not pod.claims_made and not pod.devices:
            return
        dropped = [counted for number, (_, counted) in enumerate(self._of(pod)) if number in pod.claims_made]
        if pod.devices:
            dropped.append(self.of_devices(pod, pod.node))
        if not any(dropped):
            return
        for counted in dropped:
            self._admission.charge_object(pod.namespace, counted, -1)
        if not pod.is_bound:  # the event of one that is comes with its room
            self._freed(pod)
        self.retry()

    def retry(self) -> None:
        """Pods with claims that a quota refused try again."""
        waiting, self._without = self._without, []
        for other in waiting:
            if not (other.is_gone or other.is_terminating):
                self.make(other)

    def _of(self, pod: LivePod) -> list[tuple[str, dict[str, int]]]:
        """The claims that are made for a pod from templates: their kind, and what each counts against quotas."""
        spec = pod.shape.spec
        usages: list[tuple[str, dict[str, int]]] = []
        if spec.resource_claims:
            templates = self._cluster.remember(_claim_usages)
            names = [claim.resource_claim_template_name for claim in spec.resource_claims]
            usages += [("ResourceClaim", templates.get((pod.namespace, name), {})) for name in names if name]
        for volume in spec.volumes:
            if volume.claim_template is not None and not volume.claim_name:
                counted = volume_claim_usage(self._cluster.snapshot, volume.claim_template)
                usages.append(("PersistentVolumeClaim", counted))
        return usages

    def of_devices(self, pod: LivePod, node: int) -> dict[str, int]:
        """What the claim counts that kube-scheduler makes for the pod's extended resources on a node; empty without one."""
        demand = pod.shape.devices
        if node == NOWHERE or not demand.delegated:
            return {}
        new_claims = demand.on_node(node)[len(demand.claims) :]
        return claim_usage(self._cluster.snapshot, new_claims[0].spec, usage(pod.shape.spec)) if new_claims else {}


def gate(pod: LivePod) -> None:
    """Pods that kube-scheduler never tries (`PreEnqueue` of SchedulingGates and DynamicResources)."""
    spec = pod.shape.spec
    is_others = spec.scheduler_name != DEFAULT_SCHEDULER
    pod.is_gated = bool(spec.scheduling_gates) or is_others or bool(pod.shape.devices.missing)
    if spec.scheduling_gates:
        pod.words = GATED


def claims_made(cluster: Cluster, pod: Pod) -> frozenset[int]:
    """Which of the claims that are made for the pod are there, by their place in `Claims._of`."""
    claims_exist = [
        claim.name in pod.claim_names for claim in pod.spec.resource_claims if claim.resource_claim_template_name
    ]
    volumes = [v for v in pod.spec.volumes if v.claim_template is not None and not v.claim_name]
    if volumes:
        claim_by_key = cluster.remember(claims_by_key)
        claims_exist += [(pod.namespace, f"{pod.name}-{v.name}") in claim_by_key for v in volumes]
    return frozenset(number for number, is_there in enumerate(claims_exist) if is_there)


def _claim_usages(cluster: Cluster) -> dict[tuple[str, str], dict[str, int]]:
    """Claim template → what a claim made from it counts against quotas."""
    snapshot = cluster.snapshot
    return {
        (claim_template.namespace, claim_template.name): claim_usage(snapshot, claim_template.spec)
        for claim_template in snapshot.resource_claim_templates
    }
