"""The question *memory*: which pods are evicted or OOM-killed first, and the effect of other requests or settings.

The rooms `memory` and `rollout` don't know each other; here the same change is put to both.
"""

from __future__ import annotations

from typing import Final

from planner.capacity.display_filter import Filter, Selection
from planner.capacity.rollout_readiness import filtered
from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.errors import ChangeError, InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.quantity import parse
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.well_known_names import MEMORY
from planner.ground.words import Text, choice, count
from planner.health.memory import listing_columns
from planner.health.memory.kubelet import KubeletSettings
from planner.health.memory.node_memory import ClassLine, ClusterMemory, NodeReport, PodMemory, cluster_memory
from planner.health.memory.risks import risks
from planner.health.memory.what_if import Difference, MemoryChange, Value, apply, differences, patch
from planner.inventory.cadvisor import NodeMemoryStats
from planner.kubernetes.object_records import Container, Finding, Severity, Snapshot, Workload
from planner.kubernetes.workload_kinds import NODE, POD, kind_in
from planner.questions.question import EXIT, NOTHING, Inputs, Question
from planner.questions.table_wording import SEVERITY
from planner.remedies.patch_outcome import Patched, simulate_patch
from planner.rollout.answers import RolloutResult


class MemorySettings(Record):
    """How the kubelets are set up, and which node is looked at ("": all)."""

    node: str = setting(
        "", form="N", is_everyday=True, help="One node: its order of eviction and its containers' cgroup values."
    )
    kubelet: KubeletSettings = settings_within(KubeletSettings)
    filter: Filter = settings_within(Filter)


def _memory(text: str) -> int:
    return parse(text, MEMORY)


class MemoryWhatIfSettings(Record):
    """Another request or limit for one container of a workload."""

    workload: str = setting(
        "", short="-w", form="W", is_workload=True, is_everyday=True, help="What-if: the workload to change."
    )
    container: str = setting(
        "", form="C", is_everyday=True, help="What-if: the container; not needed where there is only one."
    )
    request: int | None = setting(
        None,
        label="Memory request",
        form="Q",
        parse=_memory,
        is_everyday=True,
        help='What-if: its memory request, such as 2Gi; "0" removes it.',
    )
    limit: int | None = setting(
        None,
        label="Memory limit",
        form="Q",
        parse=_memory,
        is_everyday=True,
        help='What-if: its memory limit; "0" removes it.',
    )
    equal_cpu: bool = setting(
        False, label="CPU limit = request",
        help="What-if: make its CPU limit equal its CPU request. With equal memory too, the class is Guaranteed.",
    )  # fmt: skip
    kubelet: KubeletSettings = settings_within(KubeletSettings)


class MemoryPlan(Record):
    """The cluster's memory now, and what is risky in it."""

    cluster: ClusterMemory
    findings: tuple[Finding, ...]
    hidden_nodes: int = 0  # by the filter

    @property
    def sentence(self) -> Text:
        return self.cluster.sentence


class MemoryWhatIf(Record):
    """The same cluster after a change.

    `differences` are those of the changed workload and its nodes, or of every pod where only settings change;
    `moved_pods` counts other pods with another rank. `cured` and `caused` are the risks that go and come. `rollout` is
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


def memory_what_if(
    snapshot: Snapshot, settings: KubeletSettings, change: MemoryChange | None, stats: tuple[NodeMemoryStats, ...] = ()
) -> MemoryWhatIf:
    """What `change` to a workload would do, the kubelets staying as `settings` say.

    Raises
    ------
    ChangeError
        When the workload or container isn't there, or the API server would refuse the values.
    """
    before = after = cluster_memory(snapshot, settings, stats)
    if change is not None:
        after = cluster_memory(apply(snapshot, change), settings, stats)
    shown, moved = _told(differences(before, after), before, change)
    played = _rolled_out(snapshot, change) if change else None
    rollout = played.rollout if played else None
    return MemoryWhatIf(
        sentence=_sentence(shown, moved, before, after, rollout),
        before=before,
        after=after,
        differences=shown,
        moved_pods=moved,
        cured=_risks_gone(before, after),
        caused=_risks_gone(after, before),
        rollout=rollout,
        command=played.command if played else "",
    )


def _told(
    every: tuple[Difference, ...], before: ClusterMemory, change: MemoryChange | None
) -> tuple[tuple[Difference, ...], int]:
    """Those of the changed workload and of nodes; how many other pods move in the order of eviction."""
    changed_pods = {pod.key for pod in before.pods if change is None or pod.workload.lower() == change.workload.lower()}
    moved = {row.object for row in every if row.object not in changed_pods and row.field == Value.EVICTION_RANK}
    return tuple(row for row in every if row.object in changed_pods or kind_in(row.object) is NODE), len(moved)


def _risks_gone(of: ClusterMemory, than: ClusterMemory) -> tuple[Finding, ...]:
    earlier_risks = {(risk.code, risk.object) for risk in risks(than)}
    return tuple(risk for risk in risks(of) if (risk.code, risk.object) not in earlier_risks)


def _rolled_out(snapshot: Snapshot, change: MemoryChange) -> Patched | None:
    """The engine's answer to the change; None for a pod that no workload would make anew."""
    workload = snapshot.workload(change.workload)
    if workload is None:
        return None
    container, is_init = _container(workload, change.container)
    patched_rollout = simulate_patch(snapshot, workload.key, patch(container, change, is_init=is_init))
    if patched_rollout.error:
        raise patched_rollout.error
    return patched_rollout


def _container(workload: Workload, name: str) -> tuple[Container, bool]:
    spec = workload.template.spec
    for containers, is_init in ((spec.containers, False), (spec.init_containers, True)):
        for container in containers:
            if container.name == name:
                return container, is_init
    raise ChangeError(
        f'{workload.key} has no container "{name}"', fix="Choose one of the containers in the workload's template"
    )


def _sentence(
    changes: tuple[Difference, ...],
    moved: int,
    before: ClusterMemory,
    after: ClusterMemory,
    rollout: RolloutResult | None,
) -> str:
    parts = []
    classes = sorted({(str(change.before), str(change.after)) for change in changes if change.field == Value.QOS_CLASS})
    parts += [f"class {was} becomes {now}" for was, now in classes]
    if not changes:
        parts.append("no value changes")
    elif not classes:
        parts.append(
            f"{count(len(changes), 'value')} of {count(len({change.object for change in changes}), 'object')} change"
        )
    if moved:
        parts.append(f"{count(moved, 'other pod')} move in the order of eviction")
    first_before, first_after = _first(before), _first(after)
    if first_before != first_after:
        parts.append(f"the first pod to be evicted becomes {first_after or 'none'} (was {first_before or 'none'})")
    text = "; ".join(parts)
    text = f"{text[0].upper()}{text[1:]}."
    return f"{text} Rollout: {rollout.sentence}" if rollout else text


def _first(cluster: ClusterMemory) -> str:
    node = cluster.nodes[0] if cluster.nodes else None
    return node.first_to_go.key if node and node.first_to_go else ""


# ── the questions ────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: MemorySettings, inputs: Inputs = NOTHING) -> MemoryPlan:
    """Who holds what on every node or on one, who goes first, and the risks.

    Raises
    ------
    InputError
        When the node isn't there.
    """
    cluster = cluster_memory(snapshot, settings.kubelet, inputs.stats)
    plan = narrowed(MemoryPlan(cluster=cluster, findings=risks(cluster)), filtered(snapshot, settings.filter))
    if not settings.node:
        return plan
    nodes = tuple(node for node in plan.cluster.nodes if node.name == settings.node)
    if not nodes:
        raise InputError(
            f'there is no node "{settings.node}"',
            where="node",
            fix=choice(settings.node, (node.name for node in plan.cluster.nodes)),
        )
    return replace(plan, cluster=replace(plan.cluster, nodes=nodes))


def narrowed(whole: MemoryPlan, selection: Selection) -> MemoryPlan:
    """The nodes and risks that are let through; what a node's pods use stays whole, and so do the classes."""
    if selection.is_all:
        return whole
    nodes = tuple(node for node in whole.cluster.nodes if selection.node(node.name))
    total = len(whole.cluster.nodes)
    sentence = selection.beside(whole.cluster.sentence, len(nodes), total, "node")
    return MemoryPlan(
        cluster=replace(whole.cluster, nodes=nodes, sentence=sentence),
        findings=tuple(finding for finding in whole.findings if selection.about(finding.object)),
        hidden_nodes=total - len(nodes),
    )


def _held(answer: MemoryPlan) -> list[listing_columns.Held]:
    return [(pod, container) for pod in answer.cluster.pods for container in pod.containers]


def _of_one(answer: MemoryPlan) -> tuple[NodeReport, ...]:
    """The node, where it is the only one: what its pods and containers hold is told then."""
    return answer.cluster.nodes if len(answer.cluster.nodes) == 1 else ()


def _risk(risk: Finding) -> str:
    return f"{SEVERITY[risk.severity]}: {risk.object or 'cluster'}: {risk.what}. {risk.fix}."


_NODES: Final[Listing[MemoryPlan, NodeReport]] = Listing(
    name="nodes", items=lambda answer: answer.cluster.nodes, columns=listing_columns.NODE, unknown="unknown"
)
_NODE: Final[Listing[MemoryPlan, NodeReport]] = Listing(
    name="node", items=_of_one, line=lambda node: f"{node.name}: {node.sentence}"
)
_PODS: Final[Listing[MemoryPlan, PodMemory]] = Listing(
    name="pods",
    items=lambda answer: answer.cluster.pods,
    told=lambda answer: answer.cluster.pods if _of_one(answer) else (),
    columns=listing_columns.POD,
    unknown="unknown",
)
_CONTAINERS: Final[Listing[MemoryPlan, listing_columns.Held]] = Listing(
    name="containers",
    items=_held,
    told=lambda answer: _held(answer) if _of_one(answer) else (),
    columns=listing_columns.CONTAINER,
    unknown="unknown",
)
_CLASSES: Final[Listing[MemoryPlan, ClassLine]] = Listing(
    name="classes",
    items=lambda answer: answer.cluster.classes,
    columns=listing_columns.CLASS,
    is_shown=False,
    unknown="unknown",
)
_RISKS: Final[Listing[MemoryPlan, Finding]] = Listing(
    name="risks", items=lambda answer: () if _of_one(answer) else answer.findings, line=_risk
)

QUESTION: Final = Question(
    name="memory",
    settings=MemorySettings,
    answer=answer,
    figures=(Figure("memory_risks", lambda answer: len(answer.findings), "findings"),),
    listings=(_NODES, _NODE, _PODS, _CONTAINERS, _CLASSES, _RISKS),
    about="""Which pods are evicted or OOM-killed first, and the cgroup values of each container.

    With --workload it says what another request or limit would change, and whether the rollout of it completes: exit
    status 0 (completes), 2 (stuck), 3 (needs growth), 4 (not known).
    """,
    states={severity.value: ExitStatus.REFUSED for severity in Severity},
    states_of=lambda answer: {finding.severity.value for finding in answer.findings},
    hangs_on=(NODE.name, POD.name),
)


def change_of(snapshot: Snapshot, settings: MemoryWhatIfSettings) -> MemoryChange:
    """The change that was asked for; a workload's only container needs no name.

    Raises
    ------
    InputError
        When no workload is named, it isn't there, or which container is not clear.
    """
    if not settings.workload:
        raise InputError("no workload is named", where="workload", fix="Write it as kind/namespace/name")
    return MemoryChange(
        workload=settings.workload,
        container=settings.container or _only_container(snapshot, settings.workload),
        request_bytes=settings.request,
        limit_bytes=settings.limit,
        equal_cpu=settings.equal_cpu,
    )


def _only_container(snapshot: Snapshot, key: str) -> str:
    workload = snapshot.workload(key)
    names = [container.name for container in workload.template.spec.containers] if workload else []
    if len(names) != 1:
        raise InputError(
            f"{key} has {len(names)} containers" if workload else f"there is no {key}",
            where="container",
            fix=f"Name one of {', '.join(names)}" if names else "Write the workload as kind/namespace/name",
        )
    return names[0]


def answer_what_if(snapshot: Snapshot, settings: MemoryWhatIfSettings, inputs: Inputs = NOTHING) -> MemoryWhatIf:
    """`memory_what_if` of one change to a workload, the kubelets staying as they are."""
    change = change_of(snapshot, settings)
    return memory_what_if(snapshot, settings.kubelet, change, inputs.stats)


_DIFFERENCES: Final[Listing[MemoryWhatIf, Difference]] = Listing(
    name="differences",
    empty="Nothing changes.",
    unknown="unknown",
    columns=(
        Column("object"),
        Column("container", lambda difference: difference.container or None, words=lambda row: row.container),
        Column("value", lambda difference: difference.field, words=lambda difference: str(difference.field)),
        Column("now", lambda difference: difference.before, words=lambda row: row.text(row.before)),
        Column("then", lambda difference: difference.after, words=lambda difference: difference.text(difference.after)),
    ),
)

WHAT_IF: Final = Question(
    name="memory_what_if",
    settings=MemoryWhatIfSettings,
    answer=answer_what_if,
    figures=(
        Figure("values_changed", lambda answer: len(answer.differences), "values"),
        Figure("other_pods_moved", lambda answer: answer.moved_pods, "pods"),
        Figure("risks_cured", lambda answer: len(answer.cured), "findings"),
        Figure("risks_caused", lambda answer: len(answer.caused), "findings"),
        Figure("rollout_verdict", lambda answer: answer.rollout.verdict if answer.rollout else None),
    ),
    listings=(_DIFFERENCES,),
    codes=lambda answer: {"To make it so": answer.command} if answer.command else {},
    status=lambda answer: EXIT[answer.rollout.verdict] if answer.rollout else ExitStatus.ANSWERED,
    hangs_on=(NODE.name, POD.name),
)
