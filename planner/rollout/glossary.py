"""What the words mean: the pages' glossary and docs/glossary.md are made from this, and from nothing else."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record
from planner.kubernetes.kinds import RECREATE
from planner.rollout.answers import Reason, Verdict
from planner.rollout.wording import REASON, WORD


class Term(Record):
    """A word, and what it means in a sentence or two, for somebody who doesn't run Kubernetes."""

    word: str
    meaning: str


_VERDICTS: Final = {
    Verdict.COMPLETES: "The rollout finishes on this cluster as it is.",
    Verdict.STUCK: "It begins and never finishes: the old pods stay, and the new version isn't there for all.",
    Verdict.NEEDS_GROWTH: "It finishes once a node pool that may still grow has grown.",
    Verdict.UNKNOWN: "What the answer hangs on wasn't in the snapshot. It says what, and how to add it.",
}
_REASONS: Final = {
    Reason.HOLD_AND_WAIT: "The new pod waits for what the old pods hold, and these are kept until the new one is Ready. Neither "
    "gives way.",
    Reason.NO_MATCHING_NODE: "No node is one that the pod may run on: labels, taints or names rule all of them out.",
    Reason.INSUFFICIENT_RESOURCE: "The nodes that the pod may run on have too little left, whoever holds it.",
    Reason.NEVER_READY: "New pods start, and their readiness probe never says yes.",
    Reason.QUOTA: "A ResourceQuota: a namespace may ask for so much together, and the old pods count too.",
    Reason.ADMISSION: "The API server turns the new pods away before any node is looked for.",
    Reason.POD_AFFINITY: "The pod has to be near certain pods, or away from them, and no node is.",
    Reason.TOPOLOGY_SPREAD: "Pods have to be spread evenly over zones or nodes, and the place left would make it uneven.",
    Reason.HOST_PORT: "The pod wants a port of its node that another pod has there.",
    Reason.TOO_MANY_PODS: "Every node takes so many pods and no more, whatever they ask for.",
    Reason.VOLUME: "Its storage can't be reached from a node that has room, or is in use elsewhere.",
    Reason.DEVICE: "A device that it claims (dynamic resource allocation) is taken or not there.",
    Reason.MISSING_OBJECT: "It refers to an object that isn't there.",
    Reason.SCHEDULING_GATE: "Somebody has to lift a gate before a node is looked for.",
    Reason.QUEUE: "Kueue's queue has no quota for the new pods, or doesn't take them; old pods keep theirs until they go.",
    Reason.OTHER_SCHEDULER: "It asks for another scheduler than Kubernetes' own, whose rules aren't known here.",
    Reason.PAUSED: "The Deployment was paused by hand.",
    Reason.ON_DELETE: "New pods come only where somebody deletes old ones.",
    Reason.STALE_ANNOTATION: "An annotation of a ReplicaSet keeps the controller from rolling anything out.",
    Reason.SURGE_DROPPED: "A LeaderWorkerSet with as many groups as it may surge gives the surge back before it is made, and may "
    "miss none.",
    Reason.POD_MANAGEMENT: "A StatefulSet goes on in order, and one of its pods isn't Ready.",
}
_OTHERS: Final = {
    "Rollout": "Putting a new version of a workload in place of the old one, pod by pod.",
    "Pod": "One running copy of a program; what Kubernetes places on a node.",
    "Workload": "A program as Kubernetes runs it: a Deployment, StatefulSet or DaemonSet, with its pods.",
    "Replicas": "How many pods of it are wanted.",
    "Ready": "A pod that says it can serve. Lowest Ready: the fewest at any moment of a rollout.",
    "Node": "A machine of the cluster. A node pool is a group of alike ones.",
    "Requests": "What a pod reserves of its node: CPU, memory, GPUs. Counted whether it uses them or not.",
    "Wanted": "What pods ask for that have no node yet.",
    "maxSurge": "How many pods more than wanted may run during a rollout.",
    "maxUnavailable": "How many pods of those wanted may be missing during a rollout.",
    RECREATE: "All old pods end before the first new one starts: nothing is served meanwhile, and nothing extra is needed.",
    "Way out": "Steps after which the rollout finishes; each was simulated on this very snapshot.",
    "Unblock all": "The least to change or add so that every workload can be rolled out.",
    "Preemption": "A pod of higher priority has others evicted to get their place.",
    "Eviction": "A pod is ended on its node, because memory runs short or somebody needs the place.",
    "Disruption budget": "How many pods of a workload must stay while nodes are drained.",
    "Out of use": "GPUs that nobody holds on nodes that take no new pods, cordoned or not Ready: they are not free.",
    "Stranded": "Free GPUs that no pod of a size can use: too few on one node, or a taint, or no CPU beside them.",
    "Spot": "Nodes at a discount that the cloud may take back at any time.",
    "Drain": "Moving all pods off a node, before it is upgraded or taken away.",
    "OOM-killed": "Ended by the kernel for using more memory than its limit, or than there was.",
    "Snapshot": "The cluster's objects as they were at one moment, in a file. Headroom changes nothing in the cluster.",
}

TERMS: Final = tuple(
    sorted(
        [
            *(Term(word=WORD[verdict], meaning=meaning) for verdict, meaning in _VERDICTS.items()),
            *(
                Term(word=REASON[reason][:1].upper() + REASON[reason][1:], meaning=said)
                for reason, said in _REASONS.items()
            ),
            *(Term(word=word, meaning=meaning) for word, meaning in _OTHERS.items()),
        ],
        key=lambda term: term.word.casefold(),
    )
)
"""Every term, by the alphabet."""


def as_markdown() -> str:
    """The terms as a list in Markdown."""
    return "\n".join(f"- **{term.word}**: {term.meaning}" for term in TERMS)
