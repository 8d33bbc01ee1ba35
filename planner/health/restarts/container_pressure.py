"""Whether a container is short of memory or CPU, the usual reason for slow workers and failing probes."""

from __future__ import annotations

from typing import Any

from planner.ground.quantity import format_amount
from planner.ground.records import Record
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import listing, measured_bytes, ratio, short_name
from planner.health.memory.request_suggestions import CPU_BOUND_PERCENT, is_starved
from planner.health.restarts.container_observations import ContainerCase
from planner.health.restarts.model import Evidence, EvidenceSource, Peers


class Pressure(Record):
    """`memory` and `cpu`: a sentence part where the container is short of it, else empty."""

    memory: str = ""
    cpu: str = ""
    evidence: tuple[Evidence, ...] = ()

    @property
    def root(self) -> str:
        return "; ".join(part for part in (self.memory, self.cpu) if part)

    @property
    def behind(self) -> dict[str, Any]:
        """What a diagnosis says of it: that it lies behind the cause, and what there should be more of."""
        return {"root": self.root, "wants_memory": bool(self.memory), "wants_cpu": bool(self.cpu)}


def pressure(case: ContainerCase, peers: Peers | None) -> Pressure:
    """What `case` is short of, judged by its own use against its limits and by its peers that work."""
    memory, memory_evidence = _memory(case, peers)
    cpu, cpu_evidence = _cpu(case, peers)
    return Pressure(memory=memory, cpu=cpu, evidence=(*memory_evidence, *cpu_evidence))


def _memory(case: ContainerCase, peers: Peers | None) -> tuple[str, list[Evidence]]:
    limit = case.container.limits.get(MEMORY)
    working_set = case.usage.working_set_bytes if case.usage else None
    evidence: list[Evidence] = []
    is_full = is_starved(limit, working_set)
    if working_set is not None:
        share = (
            f", {working_set / limit:.0%} of its limit of {format_amount(limit, MEMORY)}"
            if limit
            else ", without a limit"
        )
        evidence.append(Evidence(EvidenceSource.METRICS, f"working set {measured_bytes(working_set)}{share}"))
    elsewhere = peers.working_set_bytes if peers else None
    is_small = limit is not None and elsewhere is not None and elsewhere > limit
    if peers is not None and elsewhere is not None and limit is not None:
        peer_limit = peers.memory_limit_bytes
        of = f" under a limit of {format_amount(peer_limit, MEMORY)}" if peer_limit is not None else ""
        evidence.append(
            Evidence(
                EvidenceSource.PEERS,
                f"the same program uses up to {measured_bytes(elsewhere)}{of} in {names(peers)}",
            )
        )
    if limit is None or not (is_full or is_small):
        return "", evidence
    parts = []
    if is_full and working_set is not None:
        parts.append(f"memory is full ({measured_bytes(working_set)} of {format_amount(limit, MEMORY)})")
    else:
        parts.append(f"its memory limit is {format_amount(limit, MEMORY)}")
    if is_small and elsewhere is not None and peers is not None:
        parts.append(f"the same program uses up to {measured_bytes(elsewhere)} in {names(peers)}")
    return ", ".join(parts), evidence


def _cpu(case: ContainerCase, peers: Peers | None) -> tuple[str, list[Evidence]]:
    limit, request = case.container.limits.get(CPU), case.container.requests.get(CPU)
    used_millicores = case.usage.cpu_millicores if case.usage else None
    evidence: list[Evidence] = []
    if used_millicores is not None:
        against = (
            f"limit {format_amount(limit, CPU)}" if limit else f"request {format_amount(request or 0, CPU)}, no limit"
        )
        evidence.append(Evidence(EvidenceSource.METRICS, f"CPU {used_millicores}m used ({against})"))
    peer_request = peers.cpu_request_millicores if peers else None
    if peers is not None and peer_request and request and peer_request > request:
        evidence.append(
            Evidence(
                EvidenceSource.PEERS,
                f"CPU request {format_amount(request, CPU)}, {ratio(request, peer_request)} of "
                f"{format_amount(peer_request, CPU)} in {names(peers)}",
            )
        )
    # Without a limit there is no quota of the kernel's, and nothing to be throttled by.
    if not limit:
        return "", evidence
    if used_millicores is not None and used_millicores * 100 >= limit * CPU_BOUND_PERCENT:
        return f"CPU is throttled ({used_millicores}m used of a limit of {format_amount(limit, CPU)})", evidence
    roomier = peers is not None and (peers.cpu_limit_millicores is None or peers.cpu_limit_millicores >= 2 * limit)
    if peers is not None and roomier:
        theirs = peers.cpu_limit_millicores
        text = f"its CPU limit is {format_amount(limit, CPU)}, and " + (
            f"{format_amount(theirs, CPU)} in {names(peers)}" if theirs else f"there is none in {names(peers)}"
        )
        return text, evidence
    return "", evidence


def names(peers: Peers) -> str:
    """``prod/api and staging/api``."""
    return listing([short_name(workload) for workload in peers.workloads])
