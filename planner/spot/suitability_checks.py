"""The checks of the spot checklist, one small function each; `checklist.json` has the words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final

from planner.ground import typed_json, well_known_names
from planner.ground.data_files import table_beside
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CACHES, DATA_STORES, KARPENTER_CAPACITY_TYPE
from planner.ground.words import duration
from planner.kubernetes import shell_commands
from planner.kubernetes.accelerators import alike, tables
from planner.kubernetes.clouds import CLOUDS, PREEMPTIBLE
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.disruption_budgets import Protection, limit_text
from planner.kubernetes.node_properties import (
    GPU_NODE_ARRIVAL_SECONDS,
    gpu_model,
    has_local_ssd,
    is_spot,
    labels_however_bought,
    machine_type,
    physical_gpus,
    provisioning_label,
    provisioning_model,
    region,
)
from planner.kubernetes.object_records import (
    EMPTY,
    CommandForm,
    Container,
    FrozenMap,
    Labels,
    Node,
    Pod,
    Snapshot,
    Taint,
    Workload,
)
from planner.kubernetes.pod_properties import LearntStart, node_data
from planner.kubernetes.priorities import SYSTEM_CRITICAL_PRIORITY, priority
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.kubernetes.strategic_merge_patch import as_yaml
from planner.spot import sigterm_behavior
from planner.spot.assumptions import PREEMPTIBLE_HOURS, Capacity, Work
from planner.spot.sigterm_behavior import Signal
from planner.spot.termination_notice import Provider, Window

_LONG_START_SECONDS: Final = GPU_NODE_ARRIVAL_SECONDS  # longer: the pod, not the node, is what one waits for


class Status(StrEnum):
    OK = "ok"
    CHANGE = "change"  # can be cured
    UNSUITABLE = "unsuitable"  # can't be cured by changing the manifest
    UNSEEN = "unseen"  # the snapshot can't show it: try it
    MIND = "mind"  # no obstacle, but part of the decision


class Check(StrEnum):
    """The points of the checklist, in the order they are shown."""

    CONTROLLER = "controller"
    REPLICAS = "replicas"
    BUDGET = "budget"
    GRACE_PERIOD = "grace_period"
    SIGTERM = "sigterm"
    PRE_STOP = "pre_stop"
    START_UP = "start_up"
    STORAGE = "storage"
    JOB_LENGTH = "job_length"
    RETRIES = "retries"
    PLACEMENT = "placement"
    QUOTA = "quota"
    USERS = "users"
    PRIORITY = "priority"


class CheckResult(Record, kw_only=False):
    """`yaml` is part of a strategic merge patch for the workload, unless `is_whole_object`: then it is an object of its
    own. `by_hand`: what has to be edited where the snapshot doesn't hold it (a command's arguments are never kept).
    `worth_usd`: what the cure alone adds to the saving, USD a month; None where the estimate doesn't depend on it."""

    check: Check
    status: Status
    evidence: str
    cure: str = ""
    yaml: str = ""
    is_whole_object: bool = False
    by_hand: str = ""
    source: str = ""
    worth_usd: float | None = None


class _Outcome(Record):
    """What a check may find: `evidence`, `cure` and `by_hand` with the names of what is put in."""

    status: Status
    evidence: str
    cure: str = ""
    by_hand: str = ""
    source: str = ""


_TABLE: Final = table_beside(__name__, "checklist.json")
OUTCOMES: Final = typed_json.decode(_TABLE, dict[str, _Outcome])
"""``controller.per_node`` → what the check of the controller says of a pod on every node."""


def _say(
    check: Check,
    outcome: str,
    *,
    status: Status | None = None,
    yaml: str = "",
    is_whole_object: bool = False,
    by_hand: str = "",
    source: str = "",
    **words: object,
) -> CheckResult:
    """An outcome of a check in words; what is given goes before what stands in the table."""
    outcome_row = OUTCOMES[f"{check}.{outcome}"]
    return CheckResult(
        check,
        status or outcome_row.status,
        outcome_row.evidence.format_map(words),
        outcome_row.cure.format_map(words),
        yaml,
        is_whole_object,
        by_hand or outcome_row.by_hand.format_map(words),
        source or outcome_row.source,
    )


Say = Callable[..., CheckResult]  # `_say` of one check
Refusal = Callable[[Snapshot, str], str]
"""Cluster and a patch of the workload, as YAML → why the engine finds no node for its pods; "" where it finds some, or can't say."""


class Case(Record):
    """What the checks look at."""

    workload: Workload
    pods: tuple[Pod, ...]
    nodes: tuple[Node, ...]  # those the pods run on
    protection: Protection  # what its disruption budgets allow
    start: LearntStart | None  # how long its pods take until they are Ready
    snapshot: Snapshot
    window: Window
    capacity: Capacity
    work: Work
    work_evidence: str
    job_minutes: float | None
    with_cures: bool = True  # whether patches are written down
    refusal: Refusal | None = None  # None: no engine is at hand

    @property
    def containers(self) -> tuple[Container, ...]:
        """The containers that run as long as the pod does."""
        spec = self.workload.template.spec
        return spec.containers + spec.sidecars

    @property
    def runs_on_spot(self) -> bool:
        spot = _spot_nodes(self.snapshot)
        return bool(self.nodes) and all(node.name in spot for node in self.nodes)

    @property
    def fitting_spot_nodes(self) -> tuple[Node, ...]:
        """Spot nodes with the labels its node selector asks for, a pool's name apart, that are large enough for a pod of it: a pool of
        CPUs is none for GPUs."""
        node_selector, requests = self.workload.template.spec.node_selector, pod_requests(self.workload.template.spec)
        selector_labels = FrozenMap({key: value for key, value in node_selector.items() if key not in tables().pool})
        return tuple(
            node
            for node in _spot_nodes_with(self.snapshot, selector_labels)
            if all(node.allocatable.get(name, 0) >= amount for name, amount in requests.items())
        )

    def patched(self, spec: Mapping[str, Any]) -> str:
        """`spec` of the pod template as a patch of the workload."""
        return self.written({"spec": {"template": {"spec": dict(spec)}}})

    def written(self, patch: Mapping[str, Any]) -> str:
        """A patch or an object as YAML; "" where cures aren't asked for."""
        return as_yaml(dict(patch)) if self.with_cures else ""


@once_a_snapshot
def _spot_nodes(snapshot: Snapshot) -> dict[str, Node]:
    return {node.name: node for node in snapshot.nodes if is_spot(node)}


@once_a_snapshot
def _spot_nodes_with(snapshot: Snapshot, labels: Labels) -> tuple[Node, ...]:
    spot = _spot_nodes(snapshot).values()
    return tuple(node for node in spot if all(node.labels.get(key) == value for key, value in labels.items()))


def _check_controller(case: Case, say: Say) -> CheckResult:
    traits = case.workload.traits
    outcome = "per_node" if traits.is_per_node else "ordinals" if traits.has_ordinals else "again"
    return say(outcome, kind=case.workload.kind)


def _check_replicas(case: Case, say: Say) -> CheckResult:
    workload = case.workload
    if workload.traits.is_batch:
        return say("batch", kind=workload.kind)
    if workload.replicas == 1:
        return say("one", yaml=case.written({"spec": {"replicas": 2}}))
    return say("several", replicas=workload.replicas) if workload.replicas else say("none")


def _check_budget(case: Case, say: Say) -> CheckResult:
    workload, guarded = case.workload, case.protection
    needs_one = workload.traits.has_replicas and workload.replicas > 1
    if workload.traits.is_per_node or not (needs_one or (guarded.budgets and workload.replicas)):
        return say("not_needed")
    if not guarded.budgets:
        return say("missing", yaml=_budget_yaml(case, workload.name), is_whole_object=True)
    budgets = ", ".join(f"{budget.name}: {limit_text(budget)}" for budget in guarded.budgets)
    if not guarded.reason:
        return say("of_scale" if guarded.allowed is None else "allows", budgets=budgets)
    if len(guarded.budgets) > 1:
        return say("never_together", budgets=budgets, reason=guarded.reason)
    yaml = _budget_yaml(case, guarded.budgets[0].name)
    return say("never", budgets=budgets, reason=guarded.reason, yaml=yaml, is_whole_object=True)


def _budget_yaml(case: Case, name: str) -> str:
    """A budget that lets one of the workload's pods be away."""
    workload = case.workload
    return case.written(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": workload.namespace},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(workload.selector.match_labels)}},
        }
    )


def _check_grace_period(case: Case, say: Say) -> CheckResult:
    grace, window = case.workload.template.spec.termination_grace_period_seconds, case.window
    grace_words = {"grace": grace, "seconds": window.seconds, "what": window.what, "source": window.source}
    if grace <= window.seconds:
        return say("fits", **grace_words)
    raised = window.raisable_seconds
    may_raise = raised is not None and grace <= raised
    or_raise = (
        f"; or raise the node pool's window (up to {raised} s on Spot pools of this version)" if may_raise else ""
    )
    yaml = case.patched({"terminationGracePeriodSeconds": window.seconds})
    return say("too_long", or_raise=or_raise, yaml=yaml, **grace_words)


def _check_sigterm(case: Case, say: Say) -> CheckResult:
    checks = [_signal_of(container, say) for container in case.containers]
    worst = next(
        (
            check_result
            for status in (Status.CHANGE, Status.UNSEEN, Status.OK)
            for check_result in checks
            if check_result.status is status
        ),
        say("no_container"),
    )
    if len(checks) < 2:
        return worst
    return replace(
        worst,
        evidence=" ".join(check_result.evidence for check_result in checks),
        cure=" ".join(dict.fromkeys(check_result.cure for check_result in checks if check_result.cure)),
        by_hand="".join(check_result.by_hand for check_result in checks),
    )


_OF_SIGNAL: Final = {
    Signal.STOPS: Status.OK,
    Signal.PASSES_ON: Status.UNSEEN,
    Signal.NEEDS_HANDLER: Status.UNSEEN,
    Signal.CUTS: Status.CHANGE,
    Signal.DROPS: Status.CHANGE,
}


def _signal_of(container: Container, say: Say) -> CheckResult:
    name, program = container.name, container.program
    about = sigterm_behavior.known(program)
    words = {
        "name": name,
        "program": program or "the program",
        "plain": program or "program",
        "comment": shell_commands.comment(f"container {name}: add exec to the command that is there").strip() + "\n",
    }
    match container.command_form:
        case CommandForm.SHELL:
            source = about.source if about else "https://docs.docker.com/reference/dockerfile/#entrypoint"
            runs, then = f" runs {program}" if program else "", f" Then: {about.what}." if about else ""
            return say("shell", runs=runs, then=then, source=source, **words)
        case CommandForm.INIT_SHELL:
            return say("init_shell", **words)
        case CommandForm.SHELL_TRAP:
            return say("shell_trap", **words)
        case CommandForm.IMAGE:
            return say("image", **words)
    form = "sh -c exec" if container.command_form is CommandForm.SHELL_EXEC else "exec form"
    if about is None:
        return say("unknown", form=form, **words)
    cure = f"{about.cure}." if about.cure else ""
    status = _OF_SIGNAL[about.signal]
    return say("known", status=status, form=form, what=about.what, cure=cure, source=about.source, **words)


def _check_pre_stop(case: Case, say: Say) -> CheckResult:
    seconds = case.window.seconds
    slow = [
        f"{container.name} sleeps {container.pre_stop_seconds} s"
        for container in case.containers
        if (container.pre_stop_seconds or 0) >= seconds
    ]
    if slow:
        return say("sleeps", slow=", ".join(slow), seconds=seconds)
    hooked = [container.name for container in case.containers if container.has_pre_stop]
    return say("hooked", hooked=", ".join(hooked), seconds=seconds) if hooked else say("none")


def _check_start_up(case: Case, say: Say) -> CheckResult:
    seconds = case.start.seconds if case.start else None
    learnt = f"placed to Ready in {duration(seconds)} (median of its pods)" if seconds is not None else "no time seen"
    if case.work is Work.SERVING and not any(container.readiness_probe for container in case.containers):
        return say("no_probe", learnt=learnt)
    if seconds is not None and seconds > _LONG_START_SECONDS:
        return say("slow", learnt=learnt)
    return say("learnt", learnt=f"{learnt[:1].upper()}{learnt[1:]}")


def _check_storage(case: Case, say: Say) -> CheckResult:
    volumes, templates = case.workload.template.spec.volumes, case.workload.claim_templates
    snapshot = case.snapshot
    storage = node_data(
        volumes, case.workload.namespace, snapshot.persistent_volume_claims, snapshot.persistent_volumes
    )
    if storage.kept:
        return say("kept", names=", ".join(storage.kept))
    # ``redis`` of ``docker.io/bitnami/redis:8``
    images = [container.image.rpartition("/")[2].partition("@")[0].partition(":")[0] for container in case.containers]
    store = next((name for name in images if name in DATA_STORES), "")
    if store and not templates and not any(volume.kind == "persistentVolumeClaim" for volume in volumes):
        return say("cache" if store in CACHES else "store", store=store)
    claims = [volume.name for volume in volumes if volume.kind in ("persistentVolumeClaim", "ephemeral")]
    claims += [template.name for template in templates]
    if claims:
        return say("claims", names=", ".join(claims))
    if storage.scratch:
        return say("scratch", names=", ".join(storage.scratch))
    if storage.system:
        return say("system", names=", ".join(f"{name} (in {place})" for name, place in storage.system))
    return say("none")


def _check_job_length(case: Case, say: Say) -> CheckResult:
    if case.work is Work.SERVING:
        return say("serves")
    hours = case.job_minutes / 60 if case.job_minutes is not None else None
    if hours is None and case.workload.traits.is_batch:  # its finished pods are not among `case.pods` any more
        hours = _longest_runs(case.snapshot).get(case.workload.key)
    if hours is None:
        return say("unknown")
    words = {
        "length": duration(hours * 3_600),
        "whose": "as given" if case.job_minutes is not None else "the longest pod seen",
        "seconds": case.window.seconds,
    }
    if case.capacity is Capacity.PREEMPTIBLE and hours >= PREEMPTIBLE_HOURS:
        return say("capped", cap=duration(PREEMPTIBLE_HOURS * 3_600), **words)
    return say("within" if hours * 3600 <= case.window.seconds else "longer", **words)


@once_a_snapshot
def _longest_runs(snapshot: Snapshot) -> dict[str, float]:
    """Key of a pod's owner → hours of the longest run of a finished container."""
    hours_by_workload: dict[str, float] = {}
    for pod in snapshot.pods:
        for state in pod.containers if pod.owner is not None else ():
            if pod.owner is not None and state.started_at is not None and state.finished_at is not None:
                key, hours = pod.owner.key(pod.namespace), (state.finished_at - state.started_at) / 3600
                hours_by_workload[key] = max(hours_by_workload.get(key, hours), hours)
    return hours_by_workload


def _backoff_limit(workload: Workload) -> int:
    """``backoffLimit``, 6 by default (pkg/apis/batch/v1/defaults.go, SetDefaults_Job)."""
    return 6 if workload.backoff_limit is None else workload.backoff_limit


def counted_retries(workload: Workload) -> int | None:
    """The retries of a Job that disruptions use up; None: they use up none."""
    is_counted = workload.traits.is_batch and not workload.ignores_disruptions
    return _backoff_limit(workload) if is_counted else None


def _check_retries(case: Case, say: Say) -> CheckResult:
    workload = case.workload
    if not workload.traits.is_batch:
        return say("no_limit")
    limit = _backoff_limit(workload)
    if counted_retries(workload) is None:
        return say("ignored", limit=limit)
    may_ignore = workload.template.spec.restart_policy == "Never"
    return say("counted", limit=limit, needs="" if may_ignore else "; it needs restartPolicy: Never")


def _check_placement(case: Case, say: Say) -> CheckResult:
    spec, is_job = case.workload.template.spec, case.workload.traits.is_batch
    if case.runs_on_spot:
        return say("there")
    selector, taints, is_kept_off = _spot_place(case)
    pinned = [f"{key}={value}" for key, value in spec.node_selector.items() if key in tables().pool]
    spec_patch: dict[str, Any] = {}
    missing: list[str] = []
    if selector and spec.node_selector.get(selector[0]) != selector[1]:
        # A selector of today's pool would keep it there: a merge patch removes the key with null.
        unpin = {key: None for key in spec.node_selector if key in tables().pool}
        spec_patch["nodeSelector"] = {selector[0]: selector[1], **unpin}
        missing.append(f"the selector {selector[0]}={selector[1]}")
    if taints:
        added = [
            {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect} for taint in taints
        ]
        spec_patch["tolerations"] = [*added, *_tolerations(case.workload)]
        missing.append(f"a toleration of {' and '.join(taint.key for taint in taints)}")
    if is_kept_off:
        missing.append("a node affinity that lets it go to spot nodes")
    pool = "" if case.fitting_spot_nodes else " No spot node of its kind is in the cluster: add a pool first."
    if not missing:
        is_there = bool(case.fitting_spot_nodes)
        return say("allowed") if is_there else say("no_pool", no_pool=pool, by_hand=_new_pool(case))
    return say(
        "lacking",
        missing=" and ".join(missing),
        pinned=f" {', '.join(pinned)} ties it to its present pool." if pinned else "",
        no_pool=pool,
        where=", where the Job is made" if is_job else "",
        yaml="" if is_job or is_kept_off else case.patched(spec_patch),
        by_hand=_new_pool(case) + (case.written(spec_patch) if is_job and not is_kept_off else ""),
    )


def _spot_place(case: Case) -> tuple[tuple[str, str] | None, tuple[Taint, ...], bool]:
    """The label to select spot nodes by, the taints of them that the pods don't tolerate, and whether their node affinity keeps them
    off all the same: with the first two as a patch a pod gets to a spot node that is there. Where there is none, as its maker makes
    them."""
    spec = case.workload.template.spec
    usual, taint = _spot_selector(case.window.provider, case.capacity, case.nodes)
    spot_nodes = [node for node in case.fitting_spot_nodes if provisioning_model(node) == case.capacity]
    if not spot_nodes:
        lacks = taint is not None and not tolerates_taints(spec.tolerations, (taint,))
        new = _advised_node(case)
        is_kept_off = new is not None and _is_kept_off(case, new, usual)
        return usual, (taint,) if taint is not None and lacks else (), is_kept_off

    def untolerated(node: Node) -> tuple[Taint, ...]:
        lasting = (
            node_taint
            for node_taint in node.taints
            if node_taint.effect in _KEEPS_OFF and not node_taint.key.startswith(_OF_LIFECYCLE)
        )
        return tuple(node_taint for node_taint in lasting if not tolerates_taints(spec.tolerations, (node_taint,)))

    # The spot node for which the pods change least: fewest new tolerations, then the usual label.
    best = min(spot_nodes, key=lambda node: (len(untolerated(node)), not _has(node, usual)))
    label = usual if _has(best, usual) else provisioning_label(best, case.capacity)
    return label, untolerated(best), _is_kept_off(case, best, label)


def _is_kept_off(case: Case, node: Node, label: tuple[str, str] | None) -> bool:
    """Whether the pods' node affinity rules the node out, with `label` selected and their own pool's label not."""
    spec = case.workload.template.spec
    unpinned = {key: value for key, value in spec.node_selector.items() if key not in tables().pool}
    patched = replace(spec, node_selector=FrozenMap(unpinned | (dict([label]) if label else {})))
    return not node_affinity_matches(patched, node.labels, node.name)


def _advised_node(case: Case) -> Node | None:
    """A node of the spot pool that is advised where the cluster has none for the pods: one of those they run on, bought as spot, with
    the label and taint of its maker. Karpenter's capacity type is no property of a NodePool, any other pool is a new one. None: they
    run on no node that new pods might run on, or it is not known how spot nodes are labeled there."""
    label, taint = _spot_selector(case.window.provider, case.capacity, case.nodes)
    spec = case.workload.template.spec
    like = next((node for node in case.nodes if node_affinity_matches(spec, node.labels, node.name)), None)
    if like is None or label is None:
        return None
    node_labels = labels_however_bought(like)
    pools = () if label[0] == KARPENTER_CAPACITY_TYPE else tables().pool
    new = {key: f"{value}-{case.capacity}" for key, value in node_labels.items() if key in pools}
    taints = tuple(node_taint for node_taint in like.taints if not node_taint.key.startswith(_OF_LIFECYCLE))
    return replace(
        like,
        labels=FrozenMap(node_labels | new | dict([label])),
        taints=taints if taint is None or taint in taints else (*taints, taint),
        is_cordoned=False,
        conditions=EMPTY,
        volumes_attached=(),
    )


def cluster_grown(case: Case) -> Snapshot:
    """The cluster with a spot node more for each pod: of those that suit, else of the pool that is advised. What finds no node there
    finds none however large the pools become."""
    like = next(iter(case.fitting_spot_nodes), None) or _advised_node(case)
    if like is None or case.runs_on_spot:
        return case.snapshot
    names = [f"{like.name}-{case.capacity}-{number}" for number in range(case.workload.replicas + 1)]
    more = tuple(
        replace(like, name=name, uid=name, labels=FrozenMap({**like.labels, well_known_names.HOSTNAME: name}))
        for name in names
    )
    nodes = tuple(sorted((*case.snapshot.nodes, *more), key=lambda node: node.name))
    return replace(case.snapshot, nodes=nodes, digest=f"{case.snapshot.digest}+{like.name}")


_KEEPS_OFF: Final = frozenset({"NoSchedule", "NoExecute"})
_OF_LIFECYCLE: Final = "node.kubernetes.io/"  # taints that come and go with the node's state


def _has(node: Node, label: tuple[str, str] | None) -> bool:
    return label is not None and node.labels.get(label[0]) == label[1]


def _new_pool(case: Case) -> str:
    """How to make a spot pool like the one the pods run on now; "" where there is one, or on other clouds."""
    if case.fitting_spot_nodes or case.window.provider is not Provider.GKE or not case.nodes:
        return ""
    labels = case.nodes[0].labels
    gpus = alike(case.nodes[0].capacity)
    accelerator = labels.get(well_known_names.GKE_ACCELERATOR, "")
    pool = shell_commands.positional(labels.get(well_known_names.GKE_NODE_POOL, ""), "pool")
    words = [
        *("gcloud", "container", "node-pools", "create", f"{pool}-{case.capacity}", "--cluster", "CLUSTER"),
        "--spot" if case.capacity is Capacity.SPOT else "--preemptible",
        *("--machine-type", machine_type(case.nodes[0]) or "TYPE"),
        *(("--accelerator", f"type={accelerator},count={gpus}") if accelerator and gpus else ()),
        *("--enable-autoscaling", "--min-nodes", "0", "--max-nodes", "N"),
    ]
    return shell_commands.command(*words) + "\n"


def _tolerations(workload: Workload) -> list[dict[str, str]]:
    """What is tolerated already: a strategic merge patch replaces the whole list of tolerations."""
    return [
        {name: value for name in ("key", "operator", "value", "effect") if (value := getattr(toleration, name))}
        for toleration in workload.template.spec.tolerations
    ]


def _spot_selector(
    provider: Provider, capacity: Capacity, nodes: Sequence[Node]
) -> tuple[tuple[str, str] | None, Taint | None]:
    """The label to select spot nodes by, and the taint they have or usually are given. The label is that of who makes the nodes:
    Karpenter's have its own on every cloud, and not that of the cloud's node groups."""
    if capacity is Capacity.SPOT and any(KARPENTER_CAPACITY_TYPE in node.labels for node in nodes):
        return (KARPENTER_CAPACITY_TYPE, capacity.value), None
    cloud = next((cloud_row for cloud_row in CLOUDS if cloud_row.name == provider and cloud_row.spot_label), None)
    if cloud is None or cloud.spot_label is None:
        return None, None
    key, value = cloud.spot_label
    if capacity is not Capacity.SPOT:
        key = cloud.label_of(PREEMPTIBLE, value) or key
    return (key, value), Taint(key=key, value=value, effect="NoSchedule") if cloud.is_spot_tainted else None


def _check_quota(case: Case, say: Say) -> CheckResult:
    """What spot machines count against, which no object of a cluster tells: it is never called right without having been looked at.
    Google's quota for preemptible GPUs is one of its own (compute/docs/gpus/create-gpu-vm-general-purpose, 2026)."""
    quota_by_node = _gpus_and_disks(case.snapshot)
    disks = [node.name for node in case.nodes if quota_by_node[node.name][1]]
    ssd = (
        f" Its nodes have local SSDs ({disks[0]}, …): what is on them is lost, and only those that the node counts are in the price."
        if disks
        else ""
    )
    if case.runs_on_spot:
        return say("has_disks" if ssd else "has_some", ssd=ssd)
    cloud = next((cloud for cloud in CLOUDS if cloud.name == case.window.provider), None)
    if cloud is None or not cloud.quota_command:
        return say("of_whom", ssd=ssd)
    where = (region(case.nodes[0]) if case.nodes else "") or "REGION"
    by_hand = shell_commands.command(*(word.replace("{region}", where) for word in cloud.quota_command)) + "\n"
    if not cloud.quotas_gpus:
        return say(cloud.quota_unit, ssd=ssd, by_hand=by_hand)
    if not any(quota_by_node[node.name][0] for node in case.nodes):
        return say("cpus", ssd=ssd, by_hand=by_hand)
    model = gpu_model(case.nodes[0]).replace("-", "_") or "MODEL"
    return say("asked", model=model, ssd=ssd, by_hand=by_hand)


@once_a_snapshot
def _gpus_and_disks(snapshot: Snapshot) -> dict[str, tuple[int, bool]]:
    """Node → its GPUs, and whether it has local SSDs."""
    return {node.name: (physical_gpus(node) or 0, has_local_ssd(node)) for node in snapshot.nodes}


def _check_users(case: Case, say: Say) -> CheckResult:
    return say("nobody" if case.work is Work.JOBS else "waiting", evidence=case.work_evidence)


def _check_priority(case: Case, say: Say) -> CheckResult:
    spec = case.workload.template.spec
    classes = {priority_class.name: priority_class for priority_class in case.snapshot.priority_classes}
    value = priority(spec, classes)
    name = f"{spec.priority_class_name} ({value:,})" if spec.priority_class_name else f"{value:,}"
    if value >= SYSTEM_CRITICAL_PRIORITY:
        return say("system", name=name)
    others = [
        priority_class.value
        for priority_class in case.snapshot.priority_classes
        if priority_class.value < SYSTEM_CRITICAL_PRIORITY
    ]
    return say("highest" if value > 0 and value >= max(others, default=value) else "plain", name=name)


_CHECKS: Final[Mapping[Check, tuple[str, Callable[[Case, Say], CheckResult]]]] = {
    Check.CONTROLLER: ("Controller", _check_controller),
    Check.REPLICAS: ("Replicas", _check_replicas),
    Check.BUDGET: ("Disruption budget", _check_budget),
    Check.GRACE_PERIOD: ("Grace period", _check_grace_period),
    Check.SIGTERM: ("SIGTERM arrives", _check_sigterm),
    Check.PRE_STOP: ("preStop hook", _check_pre_stop),
    Check.START_UP: ("Start-up", _check_start_up),
    Check.STORAGE: ("Storage", _check_storage),
    Check.JOB_LENGTH: ("Length of jobs", _check_job_length),
    Check.RETRIES: ("Retries", _check_retries),
    Check.PLACEMENT: ("Selectors and tolerations", _check_placement),
    Check.QUOTA: ("Quota and local SSD", _check_quota),
    Check.USERS: ("Users waiting", _check_users),
    Check.PRIORITY: ("Priority", _check_priority),
}
CHECK_NAME: Final = {check: name for check, (name, _) in _CHECKS.items()}


def checked(case: Case) -> tuple[CheckResult, ...]:
    """What every check says of it."""
    return tuple(function(case, partial(_say, check)) for check, (_, function) in _CHECKS.items())


def in_sentence(check: Check) -> str:
    """A check's name within a sentence: ``SIGTERM arrives``, ``grace period``."""
    name = CHECK_NAME[check]
    return name if check is Check.SIGTERM else name[0].lower() + name[1:]
