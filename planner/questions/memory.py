"""Memory joined with the scheduler: who goes first now, and what other requests, limits or settings would change.

The rooms `memory` and `rollout` don't know each other; here the same change is put to both.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import ChangeError
from planner.inventory.cadvisor import NodeMemoryStats
from planner.kubernetes.records import Container, Finding, Snapshot, Workload
from planner.memory.kubelet import KubeletSettings
from planner.memory.nodes import ClusterMemory, cluster_memory
from planner.memory.risks import risks
from planner.memory.what_if import Difference, MemoryChange, apply, differences, patch
from planner.questions.patched import Patched, put
from planner.rollout.answers import RolloutResult
from planner.words import count


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """The cluster's memory now, and what is risky in it."""

    cluster: ClusterMemory
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWhatIf:
    """The same cluster after a change.

    `differences` are those of the changed workload and its nodes, or of every pod where only settings change;
    `moved_pods` counts other pods whose rank moves. `cured` and `caused` are the risks that go and come. `rollout` is
    None where nothing is rolled out.
    """

    sentence: str
    before: ClusterMemory
    after: ClusterMemory
    differences: tuple[Difference, ...]
    moved_pods: int
    cured: tuple[Finding, ...]
    caused: tuple[Finding, ...]
    rollout: RolloutResult | None
    command: str  # the change as a copyable kubectl command, empty where nothing is rolled out


def memory(snapshot: Snapshot, settings: KubeletSettings, stats: tuple[NodeMemoryStats, ...] = ()) -> MemoryPlan:
    """Who holds what on every node, who goes first, and the risks; `stats` are kubelets' own metrics, if given."""
    cluster = cluster_memory(snapshot, settings, stats)
    return MemoryPlan(cluster=cluster, findings=risks(cluster))


def memory_what_if(
    snapshot: Snapshot,
    settings: KubeletSettings,
    change: MemoryChange | None,
    changed_settings: KubeletSettings,
    stats: tuple[NodeMemoryStats, ...] = (),
) -> MemoryWhatIf:
    """What `change` to a workload and `changed_settings` of the kubelets would do, against `settings` as they are.

    Raises
    ------
    ChangeError
        When the workload or container isn't there, or the API server would refuse the values.
    """
    before = cluster_memory(snapshot, settings, stats)
    after = before
    if change is not None or changed_settings != settings:
        after = cluster_memory(apply(snapshot, change) if change else snapshot, changed_settings, stats)
    every = differences(before, after)
    mine = {pod.key for pod in before.pods if change is None or pod.workload.lower() == change.workload.lower()}
    moved = {one.object for one in every if one.object not in mine and one.field == "eviction rank"}
    put_to_engine = _rolled_out(snapshot, change) if change else None
    rollout = put_to_engine.rollout if put_to_engine else None
    shown = tuple(one for one in every if one.object in mine or one.object.startswith("Node/"))
    old, new = ({(one.code, one.object): one for one in risks(cluster)} for cluster in (before, after))
    return MemoryWhatIf(
        sentence=_sentence(shown, len(moved), before, after, rollout),
        before=before,
        after=after,
        differences=shown,
        moved_pods=len(moved),
        cured=tuple(one for key, one in old.items() if key not in new),
        caused=tuple(one for key, one in new.items() if key not in old),
        rollout=rollout,
        command=put_to_engine.command if put_to_engine else "",
    )


def _rolled_out(snapshot: Snapshot, change: MemoryChange) -> Patched | None:
    """The engine's answer to the change; None for a pod that no workload would make anew."""
    workload = snapshot.workload(change.workload)
    if workload is None:
        return None
    container, is_init = _container(workload, change.container)
    found = put(snapshot, workload.key, patch(container, change, is_init=is_init))
    if found.error:
        raise found.error
    return found


def _container(workload: Workload, name: str) -> tuple[Container, bool]:
    spec = workload.template.spec
    for containers, is_init in ((spec.containers, False), (spec.init_containers, True)):
        for one in containers:
            if one.name == name:
                return one, is_init
    raise ChangeError(
        f'{workload.key} has no container "{name}"', mend="Choose one of the containers in the workload's template"
    )


def _sentence(
    changes: tuple[Difference, ...],
    moved: int,
    before: ClusterMemory,
    after: ClusterMemory,
    rollout: RolloutResult | None,
) -> str:
    parts = []
    classes = sorted({(str(one.before), str(one.after)) for one in changes if one.field == "QoS class"})
    parts += [f"class {was} becomes {now}" for was, now in classes]
    if not changes:
        parts.append("no value changes")
    elif not classes:
        parts.append(
            f"{count(len(changes), 'value')} of {count(len({one.object for one in changes}), 'object')} change"
        )
    if moved:
        parts.append(f"{count(moved, 'other pod')} move in the order of eviction")
    first_before, first_after = _first(before), _first(after)
    if first_before != first_after:
        parts.append(f"the first to go becomes {first_after or 'nobody'} (was {first_before or 'nobody'})")
    text = "; ".join(parts)
    text = f"{text[0].upper()}{text[1:]}."
    return f"{text} Rollout: {rollout.sentence}" if rollout else text


def _first(cluster: ClusterMemory) -> str:
    node = cluster.nodes[0] if cluster.nodes else None
    return node.first_to_go.key if node and node.first_to_go else ""
