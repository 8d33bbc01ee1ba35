"""The same service in several environments, side by side: what differs, by how much, and what that explains.

An environment is a namespace of a cluster. Services are recognised by a rule a person can edit: which label or name
says what a workload is, and which words in names say where it runs (``api-dev`` and ``api-prod`` are both ``api``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.errors import InputError
from planner.inventory.model import Container, Finding, Node, Pod, Probe, Severity, Snapshot, Workload
from planner.inventory.owners import workload_keys
from planner.inventory.usage import Usage, usage_now
from planner.memory.pod_names import pod_name_pattern
from planner.memory.restarts import restarts
from planner.memory.restarts.model import Cause, Loop
from planner.memory.restarts.population import image_repository
from planner.memory.suggestion import Suggestion, suggest
from planner.memory.wording import count, listing, measured_bytes, ratio, short_name, written
from planner.quantity import format_amount
from planner.vocabulary import CPU, MEMORY, NODE_POOL_LABELS, is_gpu_resource

APP_NAME = "app.kubernetes.io/name"
APP_COMPONENT = "app.kubernetes.io/component"
APP = "app"
ENVIRONMENT_WORDS = (
    "dev", "develop", "development", "test", "testing", "qa", "uat", "int", "stage", "staging", "stg", "preprod", "pre",
    "sandbox", "prod", "production", "prd", "live", "canary",
)  # fmt: skip
PRODUCTION_WORDS = ("production", "prod", "prd", "live")
SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease", "gke-managed-system", "gmp-system"})
MOST_SERVICES = 500


class MatchBy(StrEnum):
    """What says which service a workload is."""

    AUTO = "auto"  # the first of these that the workload has: app.kubernetes.io/name, app, its name
    NAME = "name"
    APP_NAME = "app.kubernetes.io/name"
    APP = "app"
    IMAGE = "image"  # the last part of the first container's image
    LABEL = "label"  # the label given in `Rule.label`


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How services are recognised. Checked where it is made, hashable so that answers can be cached by it.

    `environment_words` are taken off names at the ends (``api-dev``, ``dev_api``); `same_as` says by hand which
    names mean one service: pairs (name, service).
    """

    match_by: MatchBy = MatchBy.AUTO
    label: str = ""
    environment_words: tuple[str, ...] = ENVIRONMENT_WORDS
    same_as: tuple[tuple[str, str], ...] = ()
    reference: str = ""  # the environment others are compared with; empty: the most production-like one
    with_system: bool = False  # kube-system and the like too

    def __post_init__(self) -> None:
        if self.match_by is MatchBy.LABEL and not self.label:
            raise InputError("no label is named", mend="Name the label that says which service a workload is")
        if any("" in pair for pair in self.same_as):
            raise InputError("an empty name can't mean a service", mend="Write pairs like backend=api")


def parse_same_as(text: str) -> tuple[tuple[str, str], ...]:
    """``"backend=api, shop-web=web"`` → pairs.

    Raises
    ------
    InputError
        Where a part has no ``=`` or an empty side.
    """
    pairs = []
    for part in filter(None, (one.strip() for one in text.replace("\n", ",").split(","))):
        name, equals, service = (one.strip() for one in part.partition("="))
        if not equals or not name or not service:
            raise InputError(f'"{part[:60]}" is not a pair', where="same service", mend="Write it like backend=api")
        pairs.append((name, service))
    return tuple(pairs)


class Aspect(StrEnum):
    """Rows of the matrix, in order."""

    KIND = "kind"
    REPLICAS = "replicas"
    READY = "ready"
    RESTARTS = "restarts"
    MEMORY_REQUEST = "memory request"
    MEMORY_LIMIT = "memory limit"
    WORKING_SET = "working set (largest seen)"
    CPU_REQUEST = "CPU request"
    CPU_LIMIT = "CPU limit"
    CPU_USED = "CPU used"
    GPUS = "GPUs"
    STRATEGY = "strategy"
    STARTUP_PROBE = "startup probe"
    READINESS_PROBE = "readiness probe"
    LIVENESS_PROBE = "liveness probe"
    GRACE = "grace period"
    IMAGE = "image"
    VERSION = "image version"
    START = "started as"
    NODE_POOL = "node pool"
    PRIORITY = "priority class"


SHOWN_ALWAYS = frozenset({Aspect.RESTARTS})  # beside any difference: what it is all about
_MEASURED = frozenset({Aspect.WORKING_SET, Aspect.CPU_USED, Aspect.READY, Aspect.RESTARTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`amount` where the value is a number (bytes, millicores, count); `ratio` against the reference environment."""

    text: str
    amount: int | None = None
    ratio: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One aspect across environments; `cells` in the order of `ServiceDrift.environments`, None where absent."""

    aspect: Aspect
    container: str  # for aspects of a container, else empty
    cells: tuple[Cell | None, ...]
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSuggestion:
    environment: str
    workload: str
    suggestion: Suggestion
    today: str  # what stands there now


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Trouble in one environment that a difference to the reference explains."""

    environment: str
    workload: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDrift:
    """One service in all its environments."""

    service: str
    environments: tuple[str, ...]  # "dev", or "cluster-b/dev" where there are several clusters
    workloads: tuple[str, ...]  # keys, in the same order
    reference: str
    rows: tuple[Row, ...]
    explanations: tuple[Explanation, ...]
    suggestions: tuple[EnvironmentSuggestion, ...]
    restarts: tuple[int, ...]  # in the same order as environments
    sentence: str

    @property
    def differences(self) -> tuple[Row, ...]:
        """The rows worth showing by default: what is set differently, and restarts beside it."""
        differing = [row for row in self.rows if row.differs and row.aspect not in _MEASURED]
        shown = [row for row in self.rows if row.differs or row.aspect in SHOWN_ALWAYS]
        return tuple(shown) if differing or any(self.restarts) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    services: tuple[ServiceDrift, ...]  # most telling first
    environments: tuple[str, ...]
    unmatched: int  # workloads that live in one environment only
    ambiguous: tuple[str, ...]  # sentences about workloads the rule could not tell apart
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    environment: str
    cluster: str
    workload: Workload
    pods: tuple[Pod, ...]
    nodes: Mapping[str, Node]
    usages: tuple[Usage, ...]
    loops: tuple[Loop, ...]

    @property
    def restart_count(self) -> int:
        return sum(state.restart_count for pod in self.pods for state in pod.containers)

    @property
    def is_quiet(self) -> bool:
        """No loop that is still alive."""
        return not any(loop.is_live for loop in self.loops)


def drift(
    snapshots: Sequence[Snapshot], rule: Rule = Rule(), usages: Sequence[Sequence[Usage] | None] = ()
) -> DriftReport:
    """Services that run in two environments or more, with their differences.

    Parameters
    ----------
    snapshots : sequence of Snapshot
        One or more clusters.
    rule : Rule
        How services are recognised.
    usages : sequence, optional
        For each snapshot a history of use (Prometheus), or None: then its PodMetrics count.

    Raises
    ------
    InputError
        Where `rule.reference` names an environment that doesn't exist.
    """
    members = _members(snapshots, rule, usages)
    environments = tuple(dict.fromkeys(member.environment for members_ in members.values() for member in members_))
    if rule.reference and rule.reference not in environments:
        raise InputError(
            f'there is no environment "{rule.reference}"',
            mend=f"Choose one of {listing(sorted(environments), 8)}" if environments else "",
        )
    services: list[ServiceDrift] = []
    ambiguous: list[str] = []
    alone = 0
    for name, found in sorted(members.items()):
        for service, chosen in _told_apart(name, found, rule, ambiguous):
            if len(chosen) < 2:
                alone += len(chosen)
            elif len(services) < MOST_SERVICES:
                services.append(_service(service, chosen, rule))
    services.sort(key=lambda one: (-len(one.explanations), -sum(one.restarts), -len(one.differences), one.service))
    return DriftReport(
        services=tuple(services),
        environments=tuple(sorted(environments)),
        unmatched=alone,
        ambiguous=tuple(ambiguous),
        sentence=_report_sentence(services, alone),
    )


# ── recognising services ─────────────────────────────────────────────────────────────────────────────────────────────
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


def _members(
    snapshots: Sequence[Snapshot], rule: Rule, usages: Sequence[Sequence[Usage] | None]
) -> dict[str, list[_Member]]:
    clusters = _cluster_names(snapshots)
    found: defaultdict[str, list[_Member]] = defaultdict(list)
    for index, (snapshot, cluster) in enumerate(zip(snapshots, clusters, strict=True)):
        history = usages[index] if index < len(usages) else None
        measured = tuple(usage_now(snapshot) if history is None else history)
        by_pod: defaultdict[tuple[str, str], list[Usage]] = defaultdict(list)
        for usage in measured:
            by_pod[usage.namespace, usage.pod].append(usage)
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
            mine = tuple(pods.get(workload.key, ()))
            found[name].append(
                _Member(
                    environment=f"{cluster}/{workload.namespace}" if cluster else workload.namespace,
                    cluster=cluster,
                    workload=workload,
                    pods=mine,
                    nodes=nodes,
                    usages=_usages_of(workload, mine, by_pod, measured if history is not None else ()),
                    loops=tuple(loops.get(workload.key, ())),
                )
            )
    return found


def _usages_of(
    workload: Workload,
    pods: Sequence[Pod],
    by_pod: Mapping[tuple[str, str], Sequence[Usage]],
    history: Sequence[Usage],
) -> tuple[Usage, ...]:
    """Use of the workload's pods; of a history also the pods that have gone since, known by their names."""
    names = {pod.name for pod in pods}
    current = [usage for pod in pods for usage in by_pod.get((pod.namespace, pod.name), ())]
    pattern = pod_name_pattern(workload)
    gone = [
        usage
        for usage in history
        if usage.namespace == workload.namespace and usage.pod not in names and pattern.fullmatch(usage.pod)
    ]
    return (*current, *gone)


def environment_names(snapshots: Sequence[Snapshot]) -> tuple[str, ...]:
    """Every environment there is to compare: the namespaces that hold workloads, system ones left out."""
    return tuple(
        sorted(
            {
                f"{cluster}/{workload.namespace}" if cluster else workload.namespace
                for snapshot, cluster in zip(snapshots, _cluster_names(snapshots), strict=True)
                for workload in snapshot.workloads
                if workload.namespace not in SYSTEM_NAMESPACES
            }
        )
    )


def _cluster_names(snapshots: Sequence[Snapshot]) -> list[str]:
    """What tells clusters apart: nothing for a single one, else the source's name, numbered where two are alike."""
    if len(snapshots) == 1:
        return [""]
    names = [snapshot.source.rpartition("/")[2].partition(".")[0] or "cluster" for snapshot in snapshots]
    return [f"{name}-{index + 1}" if names.count(name) > 1 else name for index, name in enumerate(names)]


def _told_apart(
    name: str, members: Sequence[_Member], rule: Rule, ambiguous: list[str]
) -> Iterable[tuple[str, list[_Member]]]:
    """Where the rule puts two workloads of one environment under one name, the workloads' own names tell them apart."""
    by_environment: defaultdict[str, list[_Member]] = defaultdict(list)
    for member in members:
        by_environment[member.environment].append(member)
    if all(len(some) == 1 for some in by_environment.values()):
        return [(name, list(members))]
    by_name: defaultdict[str, list[_Member]] = defaultdict(list)
    for member in members:
        by_name[_without_environment(member.workload.name, rule)].append(member)
    result: list[tuple[str, list[_Member]]] = []
    for own, some in sorted(by_name.items()):
        first: dict[str, _Member] = {}
        for member in some:
            if member.environment in first:
                ambiguous.append(
                    f"{member.workload.key} and {first[member.environment].workload.key} are both {own} in "
                    f"{member.environment}; only the latter is compared"
                )
                continue
            first[member.environment] = member
        result.append((own if own == name else f"{name} ({own})", list(first.values())))
    return result


# ── one service ──────────────────────────────────────────────────────────────────────────────────────────────────────
def _service(name: str, members: list[_Member], rule: Rule) -> ServiceDrift:
    reference = _reference(members, rule)
    members = [reference, *sorted((m for m in members if m is not reference), key=lambda m: m.environment)]
    rows = _rows(members)
    explanations = tuple(found for member in members[1:] if (found := _explanation(member, reference)))
    troubled = {one.environment for one in explanations}
    first = sorted(
        members, key=lambda member: member.environment not in troubled
    )  # stable: the reference leads the rest
    suggestions = tuple(one for member in first for one in _suggestions(member, members))
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
        sentence=explanations[0].sentence if explanations else _plain_sentence(name, members, rows),
    )


def _reference(members: Sequence[_Member], rule: Rule) -> _Member:
    """The environment named by the rule; else the one whose name says production; else the one with most replicas."""
    for member in members:
        if member.environment == rule.reference:
            return member
    for word in PRODUCTION_WORDS:
        for member in members:
            if word in re.split(r"[-_./]", member.environment.lower()):
                return member
    return max(members, key=lambda member: (member.workload.replicas, member.environment))


def _rows(members: Sequence[_Member]) -> tuple[Row, ...]:
    rows = [_row(aspect, "", [_workload_cell(aspect, member) for member in members]) for aspect in _WORKLOAD_ASPECTS]
    names = dict.fromkeys(one.name for member in members for one in member.workload.template.spec.containers)
    for container in names:
        pairs = [(member, _container(member, container, len(names))) for member in members]
        for aspect in _CONTAINER_ASPECTS:
            cells = [None if one is None else _container_cell(aspect, member, one) for member, one in pairs]
            rows.append(_row(aspect, container if len(names) > 1 else "", cells))
    kept = [row for row in rows if any(cell is not None and cell.text not in ("", "none") for cell in row.cells)]
    order = tuple(Aspect)
    return tuple(sorted(kept, key=lambda row: (row.container, order.index(row.aspect))))


def _container(member: _Member, name: str, names: int) -> Container | None:
    """The container called `name`; where every workload has just one, that one, whatever it is called."""
    containers = member.workload.template.spec.containers
    if len(containers) == 1 and names == 1:
        return containers[0]
    return next((one for one in containers if one.name == name), None)


def _row(aspect: Aspect, container: str, cells: Sequence[Cell | None]) -> Row:
    first = cells[0]
    base = first.amount if first is not None else None
    compared: list[Cell | None] = []
    for cell in cells:
        if cell is None or cell is first or cell.amount is None or not base or cell.amount == base:
            compared.append(cell)
        else:
            compared.append(Cell(text=cell.text, amount=cell.amount, ratio=ratio(cell.amount, base)))
    texts = {cell.text if cell is not None else None for cell in cells}
    return Row(aspect=aspect, container=container, cells=tuple(compared), differs=len(texts) > 1)


_WORKLOAD_ASPECTS = (
    Aspect.KIND, Aspect.REPLICAS, Aspect.READY, Aspect.RESTARTS, Aspect.STRATEGY, Aspect.GRACE, Aspect.NODE_POOL,
    Aspect.PRIORITY,
)  # fmt: skip
_CONTAINER_ASPECTS = tuple(aspect for aspect in Aspect if aspect not in _WORKLOAD_ASPECTS)


def _workload_cell(aspect: Aspect, member: _Member) -> Cell:
    workload, spec = member.workload, member.workload.template.spec
    match aspect:
        case Aspect.KIND:
            return Cell(text=workload.kind)
        case Aspect.REPLICAS:
            return Cell(text=str(workload.replicas), amount=workload.replicas)
        case Aspect.READY:
            ready = sum(pod.is_ready for pod in member.pods)
            return Cell(text=f"{ready} of {len(member.pods)}")
        case Aspect.RESTARTS:
            return Cell(text=str(member.restart_count), amount=member.restart_count)
        case Aspect.STRATEGY:
            return Cell(text=_strategy_text(workload))
        case Aspect.GRACE:
            return Cell(text=f"{spec.termination_grace_period_seconds} s", amount=spec.termination_grace_period_seconds)
        case Aspect.NODE_POOL:
            return Cell(text=", ".join(_node_pools(member)))
        case _:
            return Cell(text=spec.priority_class_name or "none")


def _container_cell(aspect: Aspect, member: _Member, container: Container) -> Cell:
    match aspect:
        case Aspect.MEMORY_REQUEST:
            return _amount_cell(container.requests.get(MEMORY), MEMORY)
        case Aspect.MEMORY_LIMIT:
            return _amount_cell(container.limits.get(MEMORY), MEMORY)
        case Aspect.CPU_REQUEST:
            return _amount_cell(container.requests.get(CPU), CPU)
        case Aspect.CPU_LIMIT:
            return _amount_cell(container.limits.get(CPU), CPU)
        case Aspect.WORKING_SET:
            seen = max((one.working_set_bytes for one in _of(member, container)), default=None)
            return Cell(text="not measured" if seen is None else measured_bytes(seen), amount=seen)
        case Aspect.CPU_USED:
            used = max((u.cpu_millicores for u in _of(member, container) if u.cpu_millicores is not None), default=None)
            return Cell(text="not measured" if used is None else f"{used}m", amount=used)
        case Aspect.GPUS:
            gpus = {name: amount for name, amount in container.requests.items() if is_gpu_resource(name)}
            text = ", ".join(f"{amount} {name}" for name, amount in sorted(gpus.items()))
            return Cell(text=text or "none", amount=sum(gpus.values()) or None)
        case Aspect.STARTUP_PROBE:
            return Cell(text=_probe_text(container.startup_probe))
        case Aspect.READINESS_PROBE:
            return Cell(text=_probe_text(container.readiness_probe))
        case Aspect.LIVENESS_PROBE:
            return Cell(text=_probe_text(container.liveness_probe))
        case Aspect.IMAGE:
            return Cell(text=image_repository(container.image))
        case Aspect.VERSION:
            return Cell(text=image_version(container.image))
        case _:
            program = f" ({container.program})" if container.program else ""
            return Cell(text=f"{container.command_form.value.replace('_', ' ')}{program}")


def _of(member: _Member, container: Container) -> list[Usage]:
    return [usage for usage in member.usages if usage.container == container.name]


def _amount_cell(amount: int | None, resource: str) -> Cell:
    return Cell(text=written(amount, resource), amount=amount)


def image_version(image: str) -> str:
    """The tag, and of a digest its first letters; ``latest`` where neither is written."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    short = f"@{digest.partition(':')[2][:12]}" if digest else ""
    return f"{tag or ('' if digest else 'latest')}{short}"


def _probe_text(probe: Probe | None) -> str:
    if probe is None:
        return "none"
    return (
        f"{probe.handler}, after {probe.initial_delay_seconds} s, every {probe.period_seconds} s, "
        f"{probe.failure_threshold} failures, timeout {probe.timeout_seconds} s"
    )


def _strategy_text(workload: Workload) -> str:
    strategy = workload.strategy
    if workload.kind == "Job" or strategy.kind != "RollingUpdate":
        return "none" if workload.kind == "Job" else strategy.kind
    parts = [
        f"{name} {value}"
        for name, value in (("surge", strategy.max_surge), ("unavailable", strategy.max_unavailable))
        if value is not None
    ]
    return f"{strategy.kind}" + (f" ({', '.join(parts)})" if parts else "")


def _node_pools(member: _Member) -> list[str]:
    """The pools its pods are on now, by label; nodes without one count by their name."""
    pools = set()
    for pod in member.pods:
        node = member.nodes.get(pod.node_name)
        if node is not None:
            pools.add(next((node.labels[key] for key in NODE_POOL_LABELS if key in node.labels), node.name))
    return sorted(pools)


# ── what a difference explains ───────────────────────────────────────────────────────────────────────────────────────
_MEMORY_CAUSES = frozenset({Cause.OOM_OWN_LIMIT, Cause.OOM_NODE, Cause.CHILD_KILLED, Cause.HEAP_LIMIT, Cause.EVICTED})
_CPU_CAUSES = frozenset({Cause.CPU_THROTTLED})
_TIME_CAUSES = frozenset({Cause.STARTUP_PROBE, Cause.LIVENESS_PROBE, Cause.CHILD_TIMEOUT})
_PROBE_CAUSES = frozenset({Cause.STARTUP_PROBE, Cause.LIVENESS_PROBE})


def _explanation(member: _Member, reference: _Member) -> Explanation | None:
    """``dev has 1/8 of prod's memory request (256Mi of 2Gi) and 18 restarts; prod has none``: only where the trouble's
    cause is one that the difference can explain, and the reference has it better and is quiet."""
    alive = [loop for loop in member.loops if loop.is_live]
    if not alive or not reference.is_quiet:
        return None
    loop = alive[0]
    theirs = _matching_container(reference, loop.container)
    mine = _matching_container(member, loop.container)
    if theirs is None or mine is None:
        return None
    cause, diagnosis = loop.diagnosis.cause, loop.diagnosis
    parts: list[str] = []
    if cause in _MEMORY_CAUSES or diagnosis.wants_memory:
        parts += _shares(mine, theirs, MEMORY, reference)
    if cause in _CPU_CAUSES or diagnosis.wants_cpu:
        parts += _shares(mine, theirs, CPU, reference)
    if cause in _PROBE_CAUSES:
        parts += _probe_differences(mine, theirs, reference)
    if not parts and cause not in _TIME_CAUSES | _MEMORY_CAUSES | _CPU_CAUSES:
        parts += _version_difference(mine, theirs, reference)
    if not parts:
        return None
    restarted = count(loop.restarts, "restart") if loop.restarts else "processes killed inside running pods"
    quiet = f"{reference.environment} has none"
    if reference.restart_count:
        quiet = f"{reference.environment} has {reference.restart_count} old ones only"
    return Explanation(
        environment=member.environment,
        workload=loop.workload,
        sentence=f"{member.environment} has {' and '.join(parts)}, and {restarted} of {short_name(loop.workload)}; {quiet}.",
    )


def _matching_container(member: _Member, name: str) -> Container | None:
    containers = member.workload.template.spec.containers
    return next((one for one in containers if one.name == name), containers[0] if len(containers) == 1 else None)


def _shares(mine: Container, theirs: Container, resource: str, reference: _Member) -> list[str]:
    word = "memory" if resource == MEMORY else "CPU"
    parts = []
    for what, my_amounts, their_amounts in (
        ("request", mine.requests, theirs.requests),
        ("limit", mine.limits, theirs.limits),
    ):
        have, has = my_amounts.get(resource), their_amounts.get(resource)
        if have is not None and has is not None and have < has:
            values = f"{format_amount(have, resource)} of {format_amount(has, resource)}"
            parts.append(f"{ratio(have, has)} of {reference.environment}'s {word} {what} ({values})")
        elif what == "limit" and have is not None and has is None:
            parts.append(f"a {word} limit ({format_amount(have, resource)}) where {reference.environment} has none")
    return parts


def _probe_differences(mine: Container, theirs: Container, reference: _Member) -> list[str]:
    parts = []
    for name, my_probe, their_probe in (
        ("startup", mine.startup_probe, theirs.startup_probe),
        ("liveness", mine.liveness_probe, theirs.liveness_probe),
    ):
        if my_probe != their_probe:
            parts.append(
                f"another {name} probe than {reference.environment} ({_probe_text(my_probe)}; there {_probe_text(their_probe)})"
            )
    return parts


def _version_difference(mine: Container, theirs: Container, reference: _Member) -> list[str]:
    my_version, their_version = image_version(mine.image), image_version(theirs.image)
    if my_version == their_version:
        return []
    return [f"version {my_version} where {reference.environment} has {their_version}"]


def _plain_sentence(name: str, members: Sequence[_Member], rows: Sequence[Row]) -> str:
    differing = [row.aspect.value for row in rows if row.differs and row.aspect not in _MEASURED]
    where = listing([member.environment for member in members])
    if not differing:
        return f"{name} is set up the same in {where}."
    return f"{name} differs between {where}: {listing(list(dict.fromkeys(differing)), 4)}."


def _report_sentence(services: Sequence[ServiceDrift], alone: int) -> str:
    rest = f"; {count(alone, 'workload')} in one environment only" if alone else ""
    if not services:
        return f"No service runs in two environments{rest}."
    differing = sum(bool(service.differences) for service in services)
    head = f"{differing} of {count(len(services), 'service')} that run in several environments differ{rest}."
    told = [f"{service.service} in {one.environment}" for service in services for one in service.explanations]
    return f"The difference explains the trouble of {listing(told, 4)}. {head}" if told else head


# ── suggestions ──────────────────────────────────────────────────────────────────────────────────────────────────────
def _suggestions(member: _Member, members: Sequence[_Member]) -> Iterable[EnvironmentSuggestion]:
    """For every container of `member`'s workload, from its own use, and from the quiet environments' where its own is
    cut off by its limit."""
    for container in member.workload.template.spec.containers:
        was_killed = any(
            loop.container == container.name and loop.diagnosis.cause is Cause.OOM_OWN_LIMIT for loop in member.loops
        )
        others = [
            usage
            for other in members
            if other is not member and other.is_quiet
            for usage in other.usages
            if (one := _matching_container(other, container.name)) is not None and usage.container == one.name
        ]
        found = suggest(container, _of(member, container), others, was_oom_killed=was_killed)
        if found is None or is_as_it_is(container, found):
            continue
        yield EnvironmentSuggestion(
            environment=member.environment,
            workload=member.workload.key,
            suggestion=found,
            today=f"memory request {written(container.requests.get(MEMORY), MEMORY)}, "
            f"limit {written(container.limits.get(MEMORY), MEMORY)}, "
            f"CPU request {written(container.requests.get(CPU), CPU)}",
        )


def is_as_it_is(container: Container, suggestion: Suggestion) -> bool:
    """Whether the suggestion says what stands there already."""
    return (
        suggestion.memory_request_bytes == container.requests.get(MEMORY)
        and suggestion.memory_limit_bytes == container.limits.get(MEMORY)
        and suggestion.cpu_request_millicores in (None, container.requests.get(CPU))
    )


# ── findings ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """One finding a service whose trouble a difference to another environment explains."""
    return findings_of(drift((snapshot,)))


def findings_of(report: DriftReport) -> tuple[Finding, ...]:
    """The findings of a report that was made already."""
    return tuple(
        Finding(
            severity=Severity.WARNING,
            code="environments-differ",
            object=found.workload,
            what=found.sentence.removesuffix("."),
            mend="; ".join(
                f"{one.suggestion.container}: {one.suggestion.text}"
                for one in service.suggestions
                if one.environment == found.environment
            ),
        )
        for service in report.services
        for found in service.explanations
    )
