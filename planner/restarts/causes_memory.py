"""Rules about memory that ran out: the container's, the node's, the runtime's, the GPU's."""

from __future__ import annotations

from planner.ground.quantity import format_amount
from planner.ground.vocabulary import MEMORY
from planner.ground.words import duration, measured_bytes
from planner.restarts.model import Cause, Confidence, Diagnosis, Peers
from planner.restarts.pressure import names
from planner.restarts.question import (
    TroubledCase,
    counted,
    ending,
    event_told,
    is_near,
    spec,
    status,
)
from planner.restarts.signs import Sign


def out_of_memory(question: TroubledCase) -> Diagnosis | None:
    """Kubernetes says OOMKilled."""
    case = question.case
    if question.ended_as != "OOMKilled":
        return None
    limit = case.container.limits.get(MEMORY)
    pod_limit = case.pod.spec.pod_limits.get(MEMORY) if case.pod.spec.pod_limits else None
    evidence = [status(ending(question))]
    ran = question.run_seconds
    if ran is not None:
        evidence.append(status(f"the last run took {duration(ran)} from start to kill"))
    node_oom = [e for e in question.case.node_events if e.reason == "SystemOOM" and is_near(question, e)]
    evidence += [event_told(event) for event in node_oom[:1]]
    if any(volume.kind == "emptyDir" and volume.medium == "Memory" for volume in case.pod.spec.volumes):
        evidence.append(spec("a volume in memory (emptyDir, medium Memory) counts against the limit too"))
    if (limit is None and pod_limit is None) or node_oom:
        return Diagnosis(
            cause=Cause.OOM_NODE,
            confidence=Confidence.LIKELY,
            what="was killed for memory"
            + (" because the node ran out" if node_oom else ", and it has no limit of its own: the node ran out"),
            evidence=(*evidence, *question.pressure.evidence),
            cure="Give every pod of the node a memory request near its use, so that the node isn't promised twice",
            wants_memory=True,
        )
    bound = limit if limit is not None else pod_limit
    whose = "its own memory limit" if limit is not None else "its pod's memory limit"
    after = f" {duration(ran)} after its start" if ran is not None and ran < 3_600 else ""
    return Diagnosis(
        cause=Cause.OOM_OWN_LIMIT,
        confidence=Confidence.CERTAIN,
        what=f"was killed at {whose} ({format_amount(bound or 0, MEMORY)}){after}",
        evidence=(*evidence, *question.pressure.evidence),
        cure="Raise the memory limit and request to what the program needs, or make it need less",
        root=_needs_more(question.peers, bound or 0),
        wants_memory=True,
    )


def _needs_more(peers: Peers | None, limit_bytes: int) -> str:
    elsewhere = peers.working_set_bytes if peers else None
    if peers is None or elsewhere is None or elsewhere <= limit_bytes:
        return ""
    return f"the same program uses up to {measured_bytes(elsewhere)} in {names(peers)}"


def runtime_memory(question: TroubledCase) -> Diagnosis | None:
    """The program's own runtime, or the GPU, said no."""
    signs = question.case.signs
    by_sign = (
        (Sign.GPU_MEMORY, Cause.GPU_MEMORY, "ran out of the GPU's memory",
         "Smaller batch or model, or a GPU with more memory; more container memory doesn't help", False),
        (Sign.SHARED_MEMORY, Cause.SHARED_MEMORY, "ran out of shared memory (/dev/shm is 64 MiB by default)",
         "Mount an emptyDir with medium Memory at /dev/shm and count it in the memory limit, or fewer loader workers",
         False),
        (Sign.HEAP_LIMIT, Cause.HEAP_LIMIT, "ran out of the heap its own runtime allows",
         "Raise the runtime's limit (Java -XX:MaxRAMPercentage, Node --max-old-space-size) together with the container's",
         True),
        (Sign.ALLOCATION_FAILED, Cause.HEAP_LIMIT, "was refused memory it asked for",
         "Give it more memory, or lift the limit set inside (ulimit, resource limits of the runtime)", True),
    )  # fmt: skip
    for sign, cause, what, cure, wants_memory in by_sign:
        hits = signs.of(sign)
        if hits and (question.exit_code != 0 or question.case.state.restart_count == 0):
            ended = [status(ending(question))] if question.exit_code is not None else []
            return Diagnosis(
                cause=cause,
                confidence=Confidence.LIKELY,
                what=what,
                evidence=(counted(hits), *ended, *question.pressure.evidence),
                cure=cure,
                root=question.pressure.memory if wants_memory else "",
                wants_memory=wants_memory,
            )
    return None
