"""Restart causes from memory: the container, the node, the runtime's heap or the GPU ran out of it."""

from __future__ import annotations

from planner.ground.quantity import format_amount
from planner.ground.well_known_names import MEMORY
from planner.ground.words import duration, measured_bytes
from planner.health.memory.request_suggestions import is_starved
from planner.health.restarts.container_case import TroubledCase, counted, diagnosis, ending, event_told, spec, status
from planner.health.restarts.container_pressure import names
from planner.health.restarts.known_messages import Sign
from planner.health.restarts.model import Confidence, Diagnosis
from planner.kubernetes.object_records import EMPTY


def out_of_memory(question: TroubledCase) -> Diagnosis | None:
    """Kubernetes says OOMKilled."""
    if question.ended_as != "OOMKilled":
        return None
    pod, container, ran = question.case.pod, question.case.container, question.run_seconds
    evidence = [ending(question)]
    if ran is not None:
        evidence.append(status(f"the last run took {duration(ran)} from start to kill"))
    node_oom = question.near_node_events("SystemOOM")
    evidence += [event_told(event) for event in node_oom[:1]]
    if any(volume.kind == "emptyDir" and volume.medium == "Memory" for volume in pod.spec.volumes):
        evidence.append(spec("a volume in memory (emptyDir, medium Memory) counts against the limit too"))
    evidence += question.pressure.evidence
    own = container.limits.get(MEMORY)
    limit = own if own is not None else (pod.spec.pod_limits or EMPTY).get(MEMORY)
    if node_oom or limit is None:
        return diagnosis("memory.node" if node_oom else "memory.no_limit", *evidence)
    elsewhere, root = question.peers.working_set_bytes if question.peers else None, ""
    if question.peers is not None and elsewhere is not None and elsewhere > limit:
        root = f"the same program uses up to {measured_bytes(elsewhere)} in {names(question.peers)}"
    return diagnosis(
        "memory.limit",
        *evidence,
        # the reason OOMKilled also comes of a node without free memory: only the node's SystemOOM event tells these apart
        confidence=None if question.has_end_events or _is_full(question, limit) else Confidence.LIKELY,
        behind={"root": root},
        whose="its own" if own is not None else "its pod's",
        limit=format_amount(limit, MEMORY),
        after=f" {duration(ran)} after its start" if ran is not None and ran < 3_600 else "",
    )


def _is_full(question: TroubledCase, limit: int) -> bool:
    """Whether it was measured near its limit."""
    usage = question.case.usage
    return usage is not None and is_starved(limit, usage.working_set_bytes)


def runtime_memory(question: TroubledCase) -> Diagnosis | None:
    """The program's own runtime, or the GPU, said no."""
    for sign in (Sign.GPU_MEMORY, Sign.SHARED_MEMORY, Sign.HEAP_LIMIT, Sign.ALLOCATION_FAILED):
        hits = question.case.signs.of(sign)
        if hits and (question.exit_code != 0 or question.case.state.restart_count == 0):
            ended = [ending(question)] if question.exit_code is not None else []
            is_of_container = sign in (Sign.HEAP_LIMIT, Sign.ALLOCATION_FAILED)
            behind = {"root": question.pressure.memory} if is_of_container else {}
            return diagnosis(sign.value, counted(hits), *ended, *question.pressure.evidence, behind=behind)
    return None
