"""Compares a service's environments side by side: what differs, by how much, and what that explains.

An environment is a namespace of a cluster. Services are recognized by a rule a person can edit: which label or name
says what a workload is, and which words in names say where it runs (``api-dev`` and ``api-prod`` are both ``api``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from planner.ground.errors import InputError
from planner.ground.quantity import format_amount
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import Text, begin_with, choice, count, listing, ratio, short_name, written
from planner.health.drift.aspects_by_environment import image_version, probe_text, rows_of
from planner.health.drift.model import (
    MEASURED,
    PRODUCTION_WORDS,
    DriftReport,
    EnvironmentSuggestion,
    Explanation,
    Row,
    Rule,
    ServiceDrift,
)
from planner.health.drift.service_workloads import (
    EnvironmentMember,
    matching_container,
    members_of,
    told_apart,
    usage_of,
)
from planner.health.memory.request_suggestions import Suggestion, suggest
from planner.health.restarts.model import Cause
from planner.inventory.usage import Usage
from planner.kubernetes.object_records import Container, Finding, Severity, Snapshot

MOST_SERVICES = 500


DEFAULT_RULE = Rule()


def drift(
    snapshots: Sequence[Snapshot], rule: Rule = DEFAULT_RULE, usages: Sequence[Sequence[Usage] | None] = ()
) -> DriftReport:
    """Services that run in two environments or more, with their differences.

    Parameters
    ----------
    snapshots : sequence of Snapshot
        One or more clusters.
    rule : Rule
        How services are recognized.
    usages : sequence, optional
        For each snapshot a history of use (Prometheus), or None: then its PodMetrics count.

    Raises
    ------
    InputError
        Where `rule.reference` names an environment that doesn't exist.
    """
    members = members_of(snapshots, rule, usages)
    environments = tuple(dict.fromkeys(member.environment for members_ in members.values() for member in members_))
    if rule.reference and rule.reference not in environments:
        raise InputError(
            f'there is no environment "{rule.reference}"',
            fix=choice(rule.reference, environments) if environments else "",
        )
    if lacking := sorted({*rule.between} - {*environments}):
        raise InputError(
            f'there is no environment "{lacking[0]}"',
            where="--between",
            fix=choice(lacking[0], environments, "" if environments else "None is known"),
        )
    if rule.between:
        members = {
            name: [member for member in candidates if member.environment in rule.between]
            for name, candidates in members.items()
        }
        environments = tuple(environment for environment in environments if environment in rule.between)
    services: list[ServiceDrift] = []
    ambiguous: list[str] = []
    alone = 0
    for name, service_members in sorted(members.items()):
        for service, chosen in told_apart(name, service_members, rule, ambiguous):
            if len(chosen) < 2:
                alone += len(chosen)
            elif len(services) < MOST_SERVICES:
                services.append(_service(service, chosen, rule))
    services.sort(
        key=lambda drifted: (
            -len(drifted.explanations),
            -sum(filter(None, drifted.restarts)),
            -len(drifted.differences),
            drifted.service,
        )
    )
    return DriftReport(
        services=tuple(services),
        environments=tuple(sorted(environments)),
        unmatched=alone,
        ambiguous=tuple(ambiguous),
        sentence=Text(_report_sentence(services, alone)),
    )


def _service(name: str, members: list[EnvironmentMember], rule: Rule) -> ServiceDrift:
    reference = _reference(members, rule)
    members = [reference, *sorted((m for m in members if m is not reference), key=lambda m: m.environment)]
    rows = rows_of(members)
    explanations = tuple(reason for member in members[1:] if (reason := _explanation(member, reference)))
    troubled = {explanation.environment for explanation in explanations}
    first = sorted(
        members, key=lambda member: member.environment not in troubled
    )  # stable: the reference leads the rest
    quiet = [member for member in members if member.is_quiet]
    suggestions = tuple(suggestion for member in first for suggestion in _suggestions(member, quiet))
    restart_counts = tuple(member.restart_count for member in members)
    return ServiceDrift(
        service=name,
        environments=tuple(member.environment for member in members),
        workloads=tuple(member.workload.key for member in members),
        reference=reference.environment,
        rows=rows,
        explanations=explanations,
        suggestions=suggestions,
        restarts=restart_counts,
        sentence=Text(explanations[0].sentence if explanations else _plain_sentence(name, members, rows)),
    )


def _reference(members: Sequence[EnvironmentMember], rule: Rule) -> EnvironmentMember:
    """The environment named by the rule; else the one named like production; else the one with most replicas."""
    for member in members:
        if member.environment == rule.reference:
            return member
    for word in PRODUCTION_WORDS:
        for member in members:
            if word in re.split(r"[-_./]", member.environment.lower()):
                return member
    return max(members, key=lambda member: (member.workload.replicas, member.environment))


_MEMORY_CAUSES = frozenset({Cause.OOM_OWN_LIMIT, Cause.OOM_NODE, Cause.CHILD_KILLED, Cause.HEAP_LIMIT})
_CPU_CAUSES = frozenset({Cause.CPU_THROTTLED})
_TIME_CAUSES = frozenset({Cause.STARTUP_PROBE, Cause.LIVENESS_PROBE, Cause.CHILD_TIMEOUT})
_NODE_CAUSES = frozenset(
    {Cause.REJECTED, Cause.RUNTIME, Cause.VOLUME, Cause.NODE_LOST, Cause.PREEMPTED}
)  # no version's doing
_PROBE_CAUSES = frozenset({Cause.STARTUP_PROBE, Cause.LIVENESS_PROBE})


def _explanation(member: EnvironmentMember, reference: EnvironmentMember) -> Explanation | None:
    """``dev has 1/8 of prod's memory request (256Mi of 2Gi) and 18 restarts; prod has none``: only where the trouble's
    cause is one that the difference can explain, and the reference has it better and is quiet."""
    alive = [loop for loop in member.loops if loop.is_live]
    if not alive or not reference.is_quiet:
        return None
    loop = alive[0]
    theirs = matching_container(reference, loop.container)
    own_container = matching_container(member, loop.container)
    if theirs is None or own_container is None:
        return None
    cause, diagnosis = loop.diagnosis.cause, loop.diagnosis
    parts: list[str] = []
    if cause in _MEMORY_CAUSES or diagnosis.wants_memory:
        parts += _shares(own_container, theirs, MEMORY, reference)
    if cause in _CPU_CAUSES or diagnosis.wants_cpu:
        parts += _shares(own_container, theirs, CPU, reference)
    if cause in _PROBE_CAUSES:
        parts += _probe_differences(own_container, theirs, reference)
    # Another version explains only what memory, CPU, time or the node don't: else it would be blamed for every
    # difference.
    if not parts and cause not in _TIME_CAUSES | _MEMORY_CAUSES | _CPU_CAUSES | _NODE_CAUSES:
        my_version, their_version = image_version(own_container.image), image_version(theirs.image)
        if my_version != their_version:
            parts.append(f"version {my_version} where {reference.environment} has {their_version}")
    if not parts:
        return None
    restarted = count(loop.restarts, "restart") if loop.restarts else "processes killed inside running pods"
    quiet = f"{reference.environment} has none"
    if reference.restart_count:
        quiet = f"{reference.environment} has {reference.restart_count} old ones only"
    difference = f"{begin_with(member.environment, 'environment')} has {' and '.join(parts)}"
    return Explanation(
        environment=member.environment,
        workload=loop.workload,
        difference=Text(difference),
        sentence=Text(f"{difference}, and {restarted} of {short_name(loop.workload)}; {quiet}."),
    )


def _shares(own_container: Container, theirs: Container, resource: str, reference: EnvironmentMember) -> list[str]:
    word = "memory" if resource == MEMORY else "CPU"
    parts = []
    for what, my_amounts, their_amounts in (
        ("request", own_container.requests, theirs.requests),
        ("limit", own_container.limits, theirs.limits),
    ):
        have, has = my_amounts.get(resource), their_amounts.get(resource)
        if have is not None and has is not None and have < has:
            values = f"{format_amount(have, resource)} of {format_amount(has, resource)}"
            parts.append(f"{ratio(have, has)} of {reference.environment}'s {word} {what} ({values})")
        elif what == "limit" and have is not None and has is None:
            parts.append(f"a {word} limit ({format_amount(have, resource)}) where {reference.environment} has none")
    return parts


def _probe_differences(own_container: Container, theirs: Container, reference: EnvironmentMember) -> list[str]:
    parts = []
    for name, my_probe, their_probe in (
        ("startup", own_container.startup_probe, theirs.startup_probe),
        ("liveness", own_container.liveness_probe, theirs.liveness_probe),
    ):
        if my_probe != their_probe:
            parts.append(
                f"another {name} probe than {reference.environment} ({probe_text(my_probe)}; there {probe_text(their_probe)})"
            )
    return parts


def _plain_sentence(name: str, members: Sequence[EnvironmentMember], rows: Sequence[Row]) -> str:
    differing = [row.aspect.value for row in rows if row.differs and row.aspect not in MEASURED]
    where = listing([member.environment for member in members])
    service = begin_with(name, "service")
    if not differing:
        return f"{service} is set up the same in {where}."
    return f"{service} differs between {where}: {listing(list(dict.fromkeys(differing)), 4)}."


def _report_sentence(services: Sequence[ServiceDrift], alone: int) -> str:
    alone_text = f"; {count(alone, 'workload')} in one environment only" if alone else ""
    if not services:
        return f"No service runs in two environments{alone_text}."
    differing = sum(bool(service.differences) for service in services)
    head = f"{differing:,} of {count(len(services), 'service')} that run in several environments differ{alone_text}."
    explained = [
        f"{service.service} in {explanation.environment}"
        for service in services
        for explanation in service.explanations
    ]
    return f"The difference explains the trouble of {listing(explained, 4)}. {head}" if explained else head


def _suggestions(member: EnvironmentMember, quiet: Sequence[EnvironmentMember]) -> Iterable[EnvironmentSuggestion]:
    """For every container of `member`'s workload, from its own use, and from the `quiet` environments' where its own is
    cut off by its limit."""
    for container in member.workload.template.spec.containers:
        own = usage_of(member, container)
        was_killed = any(
            loop.container == container.name and loop.diagnosis.cause is Cause.OOM_OWN_LIMIT for loop in member.loops
        )
        is_short = any(
            loop.container == container.name and (loop.diagnosis.wants_memory or loop.diagnosis.wants_cpu)
            for loop in member.loops
            if loop.is_live
        )
        if not own and not was_killed and not is_short:
            continue  # nothing was measured, and nothing tells what it needs
        alike = [
            (other, peer_container)
            for other in quiet
            if other is not member and (peer_container := matching_container(other, container.name)) is not None
        ]
        others = [
            usage for other, same_container in alike for usage in other.usages if usage.container == same_container.name
        ]
        suggestion = suggest(
            container,
            own,
            others,
            working=[same_container for _, same_container in alike],
            was_oom_killed=was_killed,
            is_short=is_short,
        )
        if suggestion is None or is_as_it_is(container, suggestion):
            continue
        yield EnvironmentSuggestion(
            environment=member.environment,
            workload=member.workload.key,
            suggestion=suggestion,
            today=f"memory request {written(container.requests.get(MEMORY), MEMORY)}, "
            f"limit {written(container.limits.get(MEMORY), MEMORY)}, "
            f"CPU request {written(container.requests.get(CPU), CPU)}"
            + (
                f", limit {written(container.limits.get(CPU), CPU)}"
                if suggestion.cpu_limit_millicores is not None
                else ""
            ),
        )


def is_as_it_is(container: Container, suggestion: Suggestion) -> bool:
    """Whether the suggestion says what stands there already."""
    return (
        suggestion.memory_request_bytes == container.requests.get(MEMORY)
        and suggestion.memory_limit_bytes == container.limits.get(MEMORY)
        and suggestion.cpu_request_millicores in (None, container.requests.get(CPU))
        and suggestion.cpu_limit_millicores in (None, container.limits.get(CPU))
    )


def findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """One finding for each service with trouble that a difference to another environment explains."""
    return tuple(
        Finding(
            severity=Severity.WARNING,
            code="environments-differ",
            object=explanation.workload,
            what=str(explanation.sentence).removesuffix("."),
            fix="; ".join(
                f"{suggestion.suggestion.container}: {suggestion.suggestion.text}"
                for suggestion in service.suggestions
                if suggestion.environment == explanation.environment
            ),
        )
        for service in drift((snapshot,)).services
        for explanation in service.explanations
    )
