"""The points of the spot checklist: one small function each, from what the snapshot shows to what would cure it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Final

from planner.ground import vocabulary
from planner.ground.records import Record
from planner.ground.vocabulary import CACHES, DATA_STORES
from planner.ground.words import duration
from planner.kubernetes import commands
from planner.kubernetes.accelerators import alike, tables
from planner.kubernetes.budgets import Protection, limit_text
from planner.kubernetes.clouds import CLOUDS, PREEMPTIBLE
from planner.kubernetes.nodes import (
    GPU_NODE_ARRIVAL_SECONDS,
    gpu_model,
    has_local_ssd,
    is_spot,
    machine_type,
    physical_gpus,
    region,
)
from planner.kubernetes.patches import as_yaml
from planner.kubernetes.pods import node_data
from planner.kubernetes.priorities import SYSTEM_CRITICAL_PRIORITY, priority
from planner.kubernetes.records import CommandForm, Container, FrozenMap, Labels, Node, Pod, Snapshot, Taint, Workload
from planner.kubernetes.selectors import tolerates_taints
from planner.kubernetes.startup import LearntStart
from planner.spot import programs
from planner.spot.assumptions import PREEMPTIBLE_HOURS, Capacity, Work
from planner.spot.programs import Signal
from planner.spot.windows import Provider, Window

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
    own. `by_hand`: what has to be edited where the snapshot doesn't hold it (a command's arguments are never kept)."""

    check: Check
    status: Status
    evidence: str
    cure: str = ""
    yaml: str = ""
    is_whole_object: bool = False
    by_hand: str = ""
    source: str = ""


Say = Callable[..., CheckResult]  # `CheckResult` of one check: a function says the rest


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

    @property
    def containers(self) -> tuple[Container, ...]:
        """The containers that run as long as the pod does."""
        spec = self.workload.template.spec
        return spec.containers + spec.sidecars

    @property
    def runs_on_spot(self) -> bool:
        spot = self.snapshot.derived.once(_spot_names, self.snapshot)
        return bool(self.nodes) and all(node.name in spot for node in self.nodes)

    @property
    def fitting_spot_nodes(self) -> tuple[Node, ...]:
        """Spot nodes with the labels its node selector asks for, a pool's name apart."""
        wanted = self.workload.template.spec.node_selector
        kept = FrozenMap({key: value for key, value in wanted.items() if key not in tables().pool})
        return self.snapshot.derived.once(_spot_nodes_with, self.snapshot, kept)

    def patched(self, spec: Mapping[str, Any]) -> str:
        """`spec` of the pod template as a patch of the workload."""
        return self.written({"spec": {"template": {"spec": dict(spec)}}})

    def written(self, patch: Mapping[str, Any]) -> str:
        """A patch or an object as YAML; "" where cures aren't asked for."""
        return as_yaml(dict(patch)) if self.with_cures else ""


def _spot_nodes(snapshot: Snapshot) -> tuple[Node, ...]:
    return tuple(node for node in snapshot.nodes if is_spot(node))


def _spot_names(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(node.name for node in snapshot.derived.once(_spot_nodes, snapshot))


def _spot_nodes_with(snapshot: Snapshot, labels: Labels) -> tuple[Node, ...]:
    nodes = snapshot.derived.once(_spot_nodes, snapshot)
    return tuple(node for node in nodes if all(node.labels.get(key) == value for key, value in labels.items()))


def _check_controller(case: Case, say: Say) -> CheckResult:
    kind, traits = case.workload.kind, case.workload.traits
    if traits.is_per_node:
        return say(
            Status.UNSUITABLE,
            f"A {kind} has a pod on every node: it goes where the nodes are.",
            "Decide for the workloads on those nodes.",
        )
    if traits.has_ordinals:
        return say(
            Status.MIND,
            f"A {kind} makes a lost pod again under the same name, but only once the old one is gone.",
            "Know how to force it: kubectl delete pod --force, when the node is gone for good.",
            source="https://kubernetes.io/docs/tasks/run-application/force-delete-stateful-set-pod/",
        )
    return say(Status.OK, f"A {kind} makes lost pods again.")


def _check_replicas(case: Case, say: Say) -> CheckResult:
    workload = case.workload
    if workload.traits.is_batch:
        evidence = f"A {workload.kind} starts lost pods again."
        return say(Status.OK, evidence)
    if workload.replicas > 1:
        return say(Status.OK, f"{workload.replicas} replicas: one lost node leaves others.")
    if workload.replicas == 0:
        return say(Status.OK, "Scaled to 0: nothing to lose.")
    return say(
        Status.CHANGE,
        "1 replica: while its node is replaced, nothing runs.",
        "Run two or more, on different nodes.",
        yaml=case.written({"spec": {"replicas": 2}}),
    )


def _check_budget(case: Case, say: Say) -> CheckResult:
    workload = case.workload
    guarded = case.protection
    needs_one = workload.traits.has_replicas and workload.replicas > 1
    if workload.traits.is_per_node or not (needs_one or (guarded.budgets and workload.replicas)):
        return say(Status.OK, "No PodDisruptionBudget is needed.")
    if not guarded.budgets:
        return say(
            Status.CHANGE,
            "No PodDisruptionBudget: a drain may take several pods while others are lost to a preemption.",
            "Add one. It can't stop a preemption, but it counts lost pods and holds back drains meanwhile.",
            yaml=_budget_yaml(case, workload.name),
            is_whole_object=True,
            source="https://kubernetes.io/docs/concepts/workloads/pods/disruptions/",
        )
    evidence = f"PodDisruptionBudget {', '.join(f'{one.name}: {limit_text(one)}' for one in guarded.budgets)}."
    if not guarded.reason:
        unknown = " What it allows hangs on a scale that the snapshot doesn't hold." if guarded.allowed is None else ""
        return say(Status.UNSEEN if unknown else Status.OK, evidence + unknown)
    only = guarded.budgets[0] if len(guarded.budgets) == 1 else None
    never = f"no disruption at all ({guarded.reason}): spot nodes can't be drained or upgraded."
    return say(
        Status.CHANGE,
        f"{evidence} {'It allows' if only else 'Together they allow'} {never}",
        "Allow at least one pod to be away." if only else "Leave one of them: narrow a selector, or delete one.",
        yaml=_budget_yaml(case, only.name) if only else "",
        is_whole_object=only is not None,
    )


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
    if grace <= window.seconds:
        return say(
            Status.OK, f"Grace period {grace} s, notice {window.seconds} s ({window.what}).", source=window.source
        )
    raised = window.raisable_seconds
    may_raise = raised is not None and grace <= raised
    cure = f"Be done within {window.seconds} s and say so in the manifest"
    cure += f"; or raise the node pool's window (up to {raised} s on Spot pools of this version)" if may_raise else ""
    return say(
        Status.CHANGE,
        f"Grace period {grace} s, but a preemption leaves {window.seconds} s: {window.what}.",
        f"{cure}.",
        yaml=case.patched({"terminationGracePeriodSeconds": window.seconds}),
        source=window.source,
    )


def _check_sigterm(case: Case, say: Say) -> CheckResult:
    found = [_signal_of(container, say) for container in case.containers]
    worst = next(
        (result for status in (Status.CHANGE, Status.UNSEEN, Status.OK) for result in found if result.status is status),
        say(Status.UNSEEN, "No container is known."),
    )
    if len(found) < 2:
        return worst
    return say(
        worst.status,
        " ".join(result.evidence for result in found),
        " ".join(dict.fromkeys(result.cure for result in found if result.cure)),
        by_hand="".join(result.by_hand for result in found),
        source=worst.source,
    )


def _signal_of(container: Container, say: Say) -> CheckResult:
    name, program = container.name, container.program
    about = programs.known(program)
    if container.command_form is CommandForm.SHELL:
        runs = f" runs {program}" if program else ""
        return say(
            Status.CHANGE,
            f'{name}: a shell{runs} (sh -c "…" without exec). The shell is process 1 and keeps SIGTERM to '
            "itself, so the program is killed without notice. (Some shells step aside for a single plain command; "
            "images differ.)",
            "Put exec before the program, so that it takes the shell's place."
            + (f" Then: {about.what}." if about else ""),
            by_hand=commands.comment(f"container {name}: add exec to the command that is there").strip() + "\n"
            f'command: ["/bin/sh", "-c", "exec {program or "program"} …"]\n',
            source=about.source if about else "https://docs.docker.com/reference/dockerfile/#entrypoint",
        )
    if container.command_form is CommandForm.INIT_SHELL:
        return say(
            Status.CHANGE,
            f'{name}: an init passes SIGTERM on to a shell (sh -c "…" without exec), which ends by itself; '
            f"{program or 'the program'} is not told and is killed with the container.",
            "Put exec before the program, or have the init tell the whole group (tini -g).",
            by_hand=commands.comment(f"container {name}: add exec to the command that is there").strip() + "\n"
            f'command: ["tini", "--", "/bin/sh", "-c", "exec {program or "program"} …"]\n',
            source="https://github.com/krallin/tini#process-group-killing",
        )
    if container.command_form is CommandForm.SHELL_TRAP:
        return say(
            Status.UNSEEN,
            f"{name}: the shell has a trap for SIGTERM and waits for {program or 'the program'}; what the trap does "
            "can't be seen from here.",
            "Have it end the program and wait for it; look with the command below.",
            source="https://www.gnu.org/software/bash/manual/html_node/Signals.html",
        )
    if container.command_form is CommandForm.IMAGE:
        return say(
            Status.UNSEEN,
            f"{name}: the image's own entrypoint runs; the cluster doesn't tell what it does with SIGTERM.",
            "Look at process 1 with the command below.",
        )
    form = "sh -c exec" if container.command_form is CommandForm.SHELL_EXEC else "exec form"
    if about is None:
        return say(
            Status.UNSEEN,
            f"{name}: {program or 'the program'} is process 1 ({form}) and gets SIGTERM; whether it has a "
            "handler can't be seen from here.",
            "Look at process 1 with the command below.",
        )
    status = {
        Signal.STOPS: Status.OK,
        Signal.PASSES_ON: Status.UNSEEN,
        Signal.NEEDS_HANDLER: Status.UNSEEN,
        Signal.CUTS: Status.CHANGE,
        Signal.DROPS: Status.CHANGE,
    }[about.signal]
    return say(
        status,
        f"{name}: {program} gets SIGTERM ({form}): {about.what}.",
        f"{about.cure}." if about.cure else "",
        source=about.source,
    )


def _check_pre_stop(case: Case, say: Say) -> CheckResult:
    slow = [
        f"{container.name} sleeps {container.pre_stop_seconds} s"
        for container in case.containers
        if (container.pre_stop_seconds or 0) >= case.window.seconds
    ]
    if slow:
        return say(
            Status.CHANGE,
            f"preStop: {', '.join(slow)}, and a preemption leaves {case.window.seconds} s in all: SIGTERM never comes.",
            f"Sleep for less than {case.window.seconds} s, so that the program has the rest to stop.",
            source="https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
        )
    hooked = [container.name for container in case.containers if container.has_pre_stop]
    if hooked:
        return say(
            Status.UNSEEN,
            f"{', '.join(hooked)}: a preStop hook runs before SIGTERM, within the same {case.window.seconds} s.",
            "Time the hook: what it takes is missing for stopping.",
            source="https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/",
        )
    return say(Status.OK, "No preStop hook takes time off the notice.")


def _check_start_up(case: Case, say: Say) -> CheckResult:
    seconds = case.start.seconds if case.start else None
    learnt = f"placed to Ready in {duration(seconds)} (median of its pods)" if seconds is not None else "no time seen"
    if case.work is Work.SERVING and not any(container.readiness_probe for container in case.containers):
        return say(
            Status.CHANGE,
            f"No readiness probe: a pod on a new node gets requests before it can answer them; {learnt}.",
            "Add a readiness probe for the port it serves on.",
            by_hand="# in the container\nreadinessProbe:\n  httpGet: {path: /healthz, port: …}\n  periodSeconds: 5\n",
        )
    if seconds is not None and seconds > _LONG_START_SECONDS:
        return say(
            Status.MIND,
            f"Slow start: {learnt}; each interruption costs that much on top of the node's own start.",
            "Image streaming, a smaller image, the model on a volume that can be mounted at once.",
        )
    return say(Status.OK, f"{learnt[:1].upper()}{learnt[1:]}.")


def _data_store(image: str) -> str:
    """``redis`` of ``docker.io/bitnami/redis:8``: what keeps data, told by its image; "" for others."""
    name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
    return name if name in DATA_STORES else ""


def _check_storage(case: Case, say: Say) -> CheckResult:
    volumes = case.workload.template.spec.volumes
    snapshot = case.snapshot
    found = node_data(volumes, case.workload.namespace, snapshot.persistent_volume_claims, snapshot.persistent_volumes)
    if found.kept:
        return say(
            Status.UNSUITABLE,
            f"{', '.join(found.kept)}: data on the node's own disk is gone with a spot node.",
            "Keep what must last on a network volume or in object storage.",
        )
    store = next((name for one in case.containers if (name := _data_store(one.image))), "")
    if store and not case.workload.claim_templates and not any(one.kind == "persistentVolumeClaim" for one in volumes):
        is_cache = store in CACHES
        lost = (
            "what it holds is gone with its node, and is made again from where it came"
            if is_cache
            else "its data is gone with its node"
        )
        return say(
            Status.MIND if is_cache else Status.UNSUITABLE,
            f"{store} without a volume: {lost}.",
            "Mind the load behind it while it fills again."
            if is_cache
            else "Keep it on demand, or give its data a volume.",
        )
    claims = [volume.name for volume in volumes if volume.kind in ("persistentVolumeClaim", "ephemeral")]
    claims += [template.name for template in case.workload.claim_templates]
    if claims:
        return say(
            Status.MIND,
            f"{', '.join(claims)}: the volume outlives the node, but a zonal disk needs its next node in the "
            "same zone, and is attached only after it is detached from the lost one.",
            "Regional disks, or accept that a stock-out of one zone stops this pod.",
        )
    if found.scratch:
        return say(
            Status.UNSEEN,
            f"{', '.join(found.scratch)}: an emptyDir is gone with its node.",
            "Use it for what can be made again; checkpoints belong into object storage.",
        )
    if found.system:
        places = ", ".join(f"{name} (in {place})" for name, place in found.system)
        return say(
            Status.MIND,
            f"{places}: the node's own; each node like it has the same.",
            "Make sure that spot nodes have it too (drivers, sockets).",
        )
    return say(Status.OK, "No volume that a lost node would take along.")


def _check_job_length(case: Case, say: Say) -> CheckResult:
    if case.work is Work.SERVING:
        return say(Status.OK, "It serves; there is no job to lose.")
    seen = _seen_hours(case)
    hours = case.job_minutes / 60 if case.job_minutes is not None else seen
    if hours is None:
        return say(
            Status.UNSEEN,
            "How long its jobs run can't be seen from here.",
            "Give the length of a job; what is longer than the notice has to be checkpointed or done again.",
        )
    source = "as given" if case.job_minutes is not None else "the longest pod seen"
    if case.capacity is Capacity.PREEMPTIBLE and hours >= PREEMPTIBLE_HOURS:
        return say(
            Status.CHANGE,
            f"Jobs of {duration(hours * 3_600)} ({source}); preemptible VMs live {duration(PREEMPTIBLE_HOURS * 3_600)} at most.",
            "Write checkpoints, or use Spot VMs, which have no maximum run time.",
        )
    if hours * 3600 <= case.window.seconds:
        return say(
            Status.OK, f"Jobs of {duration(hours * 3_600)} ({source}) end within the {case.window.seconds} s of notice."
        )
    return say(
        Status.MIND,
        f"Jobs of {duration(hours * 3_600)} ({source}) don't end within {case.window.seconds} s of notice: "
        "the running one is lost, or goes on from its last checkpoint.",
        "What that costs is in the estimate.",
    )


def _seen_hours(case: Case) -> float | None:
    """The longest run of a finished container of a Job; its pods are not among `case.pods` any more."""
    if not case.workload.traits.is_batch:
        return None
    return case.snapshot.derived.once(_longest_runs, case.snapshot).get(case.workload.key)


def _longest_runs(snapshot: Snapshot) -> dict[str, float]:
    """Key of a pod's owner → hours of the longest run of a finished container."""
    found: dict[str, float] = {}
    for pod in snapshot.pods:
        for state in pod.containers if pod.owner is not None else ():
            if pod.owner is not None and state.started_at is not None and state.finished_at is not None:
                key, hours = pod.owner.key(pod.namespace), (state.finished_at - state.started_at) / 3600
                found[key] = max(found.get(key, hours), hours)
    return found


def _check_retries(case: Case, say: Say) -> CheckResult:
    workload = case.workload
    if not workload.traits.is_batch:
        return say(Status.OK, "Its controller starts lost pods without limit.")
    limit = 6 if workload.backoff_limit is None else workload.backoff_limit
    if workload.ignores_disruptions:
        return say(
            Status.OK,
            f"backoffLimit {limit}, and its podFailurePolicy ignores pods that a disruption ended.",
            source="https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy",
        )
    return say(
        Status.CHANGE,
        f"backoffLimit {limit}: each pod lost to a preemption counts as a failure: no podFailurePolicy ignores it.",
        "Ignore disruptions when failures are counted"
        + ("" if workload.template.spec.restart_policy == "Never" else "; it needs restartPolicy: Never")
        + ". A Job's template can't be changed: do it where it is made.",
        by_hand="# in the Job's spec\npodFailurePolicy:\n  rules:\n  - action: Ignore\n    onPodConditions:\n"
        "    - type: DisruptionTarget\n",
        source="https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy",
    )


def _check_placement(case: Case, say: Say) -> CheckResult:
    spec, is_job = case.workload.template.spec, case.workload.traits.is_batch
    if case.runs_on_spot:
        return say(Status.OK, "Its pods run on spot nodes already.")
    selector, taint = _spot_selector(case.window.provider, case.capacity)
    pinned = [f"{key}={value}" for key, value in spec.node_selector.items() if key in tables().pool]
    wanted: dict[str, Any] = {}
    missing: list[str] = []
    if selector and spec.node_selector.get(selector[0]) != selector[1]:
        unpin = {key: None for key in spec.node_selector if key in tables().pool}
        wanted["nodeSelector"] = {selector[0]: selector[1], **unpin}
        missing.append(f"the selector {selector[0]}={selector[1]}")
    if taint and not tolerates_taints(spec.tolerations, (taint,)):
        added = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        wanted["tolerations"] = [added, *_tolerations(case.workload)]
        missing.append(f"a toleration of {taint.key}")
    pool = "" if case.fitting_spot_nodes else " No spot node of its kind is in the cluster: add a pool first."
    if not missing:
        status = Status.OK if case.fitting_spot_nodes else Status.CHANGE
        return say(status, f"Selector and tolerations allow spot nodes.{pool}", by_hand=_new_pool(case))
    evidence = f"To run on spot it lacks {' and '.join(missing)}."
    evidence += f" {', '.join(pinned)} ties it to its present pool." if pinned else ""
    return say(
        Status.CHANGE,
        evidence + pool,
        f"Select and tolerate spot nodes{', where the Job is made' if is_job else ''}.",
        yaml="" if is_job else case.patched(wanted),
        by_hand=_new_pool(case) + (case.written(wanted) if is_job else ""),
    )


def _new_pool(case: Case) -> str:
    """How to make a spot pool like the one the pods run on now; "" where there is one, or on other clouds."""
    if case.fitting_spot_nodes or case.window.provider is not Provider.GKE or not case.nodes:
        return ""
    labels = case.nodes[0].labels
    gpus = alike(case.nodes[0].capacity)
    accelerator = labels.get(vocabulary.GKE_ACCELERATOR, "")
    pool = commands.positional(labels.get(vocabulary.GKE_NODE_POOL, ""), "pool")
    words = [
        *("gcloud", "container", "node-pools", "create", f"{pool}-{case.capacity}", "--cluster", "CLUSTER"),
        "--spot" if case.capacity is Capacity.SPOT else "--preemptible",
        *("--machine-type", machine_type(case.nodes[0]) or "TYPE"),
        *(("--accelerator", f"type={accelerator},count={gpus}") if accelerator and gpus else ()),
        *("--enable-autoscaling", "--min-nodes", "0", "--max-nodes", "N"),
    ]
    return commands.command(*words) + "\n"


def _tolerations(workload: Workload) -> list[dict[str, str]]:
    """What is tolerated already: a strategic merge patch replaces the whole list of tolerations."""
    kept = []
    for toleration in workload.template.spec.tolerations:
        fields = {
            "key": toleration.key,
            "operator": toleration.operator,
            "value": toleration.value,
            "effect": toleration.effect,
        }
        kept.append({name: value for name, value in fields.items() if value})
    return kept


def _spot_selector(provider: Provider, capacity: Capacity) -> tuple[tuple[str, str] | None, Taint | None]:
    """The label to select spot nodes by, and the taint they have or usually are given."""
    cloud = next((one for one in CLOUDS if one.name == provider and one.spot_label), None)
    if cloud is None or cloud.spot_label is None:
        return None, None
    key, value = cloud.spot_label
    if capacity is not Capacity.SPOT:
        key = cloud.label_of(PREEMPTIBLE, value) or key
    return (key, value), Taint(key=key, value=value, effect="NoSchedule") if cloud.is_spot_tainted else None


def _check_quota(case: Case, say: Say) -> CheckResult:
    """Google's quota for preemptible GPUs is one of its own (compute/docs/gpus/create-gpu-vm-general-purpose, 2026)."""
    gpus, with_disks = (
        case.snapshot.derived.once(_gpus_of_nodes, case.snapshot),
        case.snapshot.derived.once(_with_local_ssd, case.snapshot),
    )
    disks = [node.name for node in case.nodes if node.name in with_disks]
    ssd = (
        f" Its nodes have local SSDs ({disks[0]}, …): what is on them is lost, and only those that the node counts are in the price."
        if disks
        else ""
    )
    if case.window.provider is not Provider.GKE or not any(gpus[node.name] for node in case.nodes) or case.runs_on_spot:
        status = Status.MIND if ssd else Status.OK
        return say(status, f"No quota of spot GPUs is asked for.{ssd}")
    model = gpu_model(case.nodes[0]).replace("-", "_") or "MODEL"
    return say(
        Status.UNSEEN,
        f"Spot GPUs count against a quota of their own, PREEMPTIBLE_NVIDIA_{model}_GPUS of the region, or the ordinary one "
        f"where none was granted; a cluster doesn't tell it.{ssd}",
        "Look before the move: so many GPUs have to be granted.",
        by_hand=commands.command("gcloud", "compute", "regions", "describe", region(case.nodes[0]) or "REGION") + "\n",
        source="https://cloud.google.com/compute/resource-usage#gpu_quota",
    )


def _gpus_of_nodes(snapshot: Snapshot) -> dict[str, int]:
    return {node.name: physical_gpus(node) or 0 for node in snapshot.nodes}


def _with_local_ssd(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(node.name for node in snapshot.nodes if has_local_ssd(node))


def _check_users(case: Case, say: Say) -> CheckResult:
    if case.work is Work.JOBS:
        return say(Status.OK, f"Nobody waits for an answer: {case.work_evidence}.")
    return say(
        Status.MIND,
        f"It seems to answer users: {case.work_evidence}.",
        "Keep a base on demand that carries the load when all spot nodes of a zone go at once; "
        "choose it in the mix below.",
    )


def _check_priority(case: Case, say: Say) -> CheckResult:
    spec = case.workload.template.spec
    classes = {one.name: one for one in case.snapshot.priority_classes}
    value = priority(spec, classes)
    name = f"{spec.priority_class_name} ({value:,})" if spec.priority_class_name else f"{value:,}"
    if value >= SYSTEM_CRITICAL_PRIORITY:
        return say(Status.UNSUITABLE, f"Priority {name}: the cluster itself needs it.", "Keep it on nodes that stay.")
    others = [one.value for one in case.snapshot.priority_classes if one.value < SYSTEM_CRITICAL_PRIORITY]
    if value > 0 and value >= max(others, default=value):
        return say(
            Status.MIND,
            f"Priority {name} is the highest here: somebody found it important. The cloud doesn't ask for it "
            "when it takes a node.",
            "Ask them; a base on demand keeps what must not stop.",
        )
    return say(Status.OK, f"Priority {name}.")


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
    return tuple(function(case, partial(CheckResult, check)) for check, (_, function) in _CHECKS.items())


def in_sentence(check: Check) -> str:
    """A check's name within a sentence: ``SIGTERM arrives``, ``grace period``."""
    name = CHECK_NAME[check]
    return name if check is Check.SIGTERM else name[0].lower() + name[1:]
