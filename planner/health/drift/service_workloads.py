"""Which workloads are the same service, and what is known of each: pods, use, troubles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from planner.ground.records import Record
from planner.ground.well_known_names import APP_NAME, SYSTEM_NAMESPACES
from planner.health.drift.model import (
    APP,
    APP_COMPONENT,
    MatchBy,
    Rule,
)
from planner.health.memory.deleted_pod_owners import usages_by_workload
from planner.health.restarts.container_observations import image_repository
from planner.health.restarts.model import Loop
from planner.health.restarts.report import restarts
from planner.inventory.usage import Usage, usage_now
from planner.kubernetes.object_records import Container, Node, Pod, Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.workload_kinds import NODE, POD


class EnvironmentMember(Record):
    environment: str
    cluster: str
    workload: Workload
    pods: tuple[Pod, ...] | None  # None where pods weren't seen
    nodes: Mapping[str, Node] | None
    usages: tuple[Usage, ...]
    loops: tuple[Loop, ...]

    @property
    def restart_count(self) -> int | None:
        if self.pods is None:
            return None
        return sum(state.restart_count for pod in self.pods for state in pod.containers)

    @property
    def is_quiet(self) -> bool:
        """No loop that is still alive."""
        return not any(loop.is_live for loop in self.loops)


def service_name(workload: Workload, rule: Rule) -> str:
    """What `rule` calls the service `workload` belongs to; empty where the rule's label is missing."""
    labels = {**workload.template.labels, **workload.labels}
    name = _raw_name(workload, labels, rule)
    return dict(rule.same_as).get(name) or dict(rule.same_as).get(workload.name) or _without_environment(name, rule)


def _raw_name(workload: Workload, labels: Mapping[str, str], rule: Rule) -> str:
    match rule.match_by:
        case MatchBy.NAME:
            return workload.name
        case MatchBy.APP_NAME:
            return _app_name(labels)
        case MatchBy.APP:
            return labels.get(APP, "")
        case MatchBy.LABEL:
            return labels.get(rule.label, "")
        case MatchBy.IMAGE:
            containers = workload.template.spec.containers
            return image_repository(containers[0].image).rpartition("/")[2] if containers else ""
        case MatchBy.AUTO:
            return _app_name(labels) or labels.get(APP, "") or workload.name


def _app_name(labels: Mapping[str, str]) -> str:
    name, component = labels.get(APP_NAME, ""), labels.get(APP_COMPONENT, "")
    return f"{name}-{component}" if name and component and component != name else name


def _without_environment(name: str, rule: Rule) -> str:
    """``shop-api-dev`` → ``shop-api``: environment words at either end, as long as something is left."""
    words = {word.lower() for word in rule.environment_words}
    parts = re.split(r"([-_.])", name)
    while len(parts) >= 3 and parts[-1].lower() in words:
        parts = parts[:-2]
    while len(parts) >= 3 and parts[0].lower() in words:
        parts = parts[2:]
    return "".join(parts)


def members_of(
    snapshots: Sequence[Snapshot], rule: Rule, usages: Sequence[Sequence[Usage] | None]
) -> dict[str, list[EnvironmentMember]]:
    """Service → the workloads that are it, in all environments of all `snapshots`."""
    clusters = cluster_names(snapshots)
    members: defaultdict[str, list[EnvironmentMember]] = defaultdict(list)
    for index, (snapshot, cluster) in enumerate(zip(snapshots, clusters, strict=True)):
        history = usages[index] if index < len(usages) else None
        measured = tuple(usage_now(snapshot) if history is None else history)
        used = usages_by_workload(snapshot, measured)
        loops: defaultdict[str, list[Loop]] = defaultdict(list)
        for loop in restarts(snapshot, history).loops:
            loops[loop.workload].append(loop)
        keys = workload_keys(snapshot)
        pods: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in snapshot.pods:
            if pod.phase != "Succeeded":
                pods[keys[pod.uid]].append(pod)
        nodes = {node.name: node for node in snapshot.nodes}
        for workload in snapshot.workloads:
            if (workload.namespace in SYSTEM_NAMESPACES and not rule.with_system) or workload.is_finished:
                continue
            name = service_name(workload, rule)
            if not name:
                continue
            workload_pods = tuple(pods.get(workload.key, ()))
            members[name].append(
                EnvironmentMember(
                    environment=f"{cluster}/{workload.namespace}" if cluster else workload.namespace,
                    cluster=cluster,
                    workload=workload,
                    pods=snapshot.if_known(workload_pods, POD.name),
                    nodes=snapshot.if_known(nodes, NODE.name),
                    usages=tuple(used.get(workload.key, ())),
                    loops=tuple(loops.get(workload.key, ())),
                )
            )
    return members


def environment_names(snapshots: Sequence[Snapshot]) -> tuple[str, ...]:
    """Every environment there is to compare: the namespaces that hold workloads, system ones left out."""
    return tuple(
        sorted(
            {
                f"{cluster}/{workload.namespace}" if cluster else workload.namespace
                for snapshot, cluster in zip(snapshots, cluster_names(snapshots), strict=True)
                for workload in snapshot.workloads
                if workload.namespace not in SYSTEM_NAMESPACES
            }
        )
    )


def cluster_names(snapshots: Sequence[Snapshot]) -> list[str]:
    """What tells clusters apart: nothing for a single one, else the source's name, numbered where two are alike."""
    if len(snapshots) == 1:
        return [""]
    names = [snapshot.source.rpartition("/")[2].partition(".")[0] or "cluster" for snapshot in snapshots]
    return [f"{name}-{index + 1}" if names.count(name) > 1 else name for index, name in enumerate(names)]


def told_apart(
    name: str, members: Sequence[EnvironmentMember], rule: Rule, ambiguous: list[str]
) -> Iterable[tuple[str, list[EnvironmentMember]]]:
    """Where the rule puts two workloads of one environment under one name, the workloads' own names tell them apart."""
    by_environment: defaultdict[str, list[EnvironmentMember]] = defaultdict(list)
    for member in members:
        by_environment[member.environment].append(member)
    if all(len(same_members) == 1 for same_members in by_environment.values()):
        return [(name, list(members))]
    by_name: defaultdict[str, list[EnvironmentMember]] = defaultdict(list)
    for member in members:
        by_name[_without_environment(member.workload.name, rule)].append(member)
    groups_by_name: list[tuple[str, list[EnvironmentMember]]] = []
    for own, name_members in sorted(by_name.items()):
        first: dict[str, EnvironmentMember] = {}
        for member in name_members:
            if member.environment in first:
                ambiguous.append(
                    f"{member.workload.key} and {first[member.environment].workload.key} are both {own} in "
                    f"{member.environment}; only the latter is compared"
                )
                continue
            first[member.environment] = member
        groups_by_name.append((own if own == name else f"{name} ({own})", list(first.values())))
    return groups_by_name


def matching_container(member: EnvironmentMember, name: str) -> Container | None:
    """The container called `name`; where there is just one, that one, whatever it is called."""
    containers = member.workload.template.spec.containers
    return next(
        (container for container in containers if container.name == name),
        containers[0] if len(containers) == 1 else None,
    )


def usage_of(member: EnvironmentMember, container: Container) -> list[Usage]:
    """What `container` was seen to use, in all pods of `member`."""
    return [usage for usage in member.usages if usage.container == container.name]
