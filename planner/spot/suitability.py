"""Whether a workload suits spot: the checklist's verdict, a patch that fixes what it can, and a test that proves it.

After Kubecost's spot checklist (controller, replicas, local storage, budget, update strategy, override by annotation)
and Google's advice for Spot VMs on GKE, with the signal path added. Being ready is no guarantee: what a program does
with its notice can only be seen on a real node, so that every result comes with the commands to try it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

import yaml

from planner.ground import well_known_names
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, with_article
from planner.kubernetes import shell_commands
from planner.kubernetes.clouds import CLOUDS
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.disruption_budgets import Protection, protection
from planner.kubernetes.object_records import Node, Pod, Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import GANG_LABELS, LearntStart, learn_start
from planner.kubernetes.pod_template_kinds import POD_GROUP_NOTES
from planner.kubernetes.strategic_merge_patch import as_yaml
from planner.kubernetes.workload_kinds import POD
from planner.spot.assumptions import Capacity, Work
from planner.spot.suitability_checks import Case, CheckResult, Refusal, Status, checked, cluster_grown, in_sentence
from planner.spot.termination_notice import Window, window_of

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
BACKGROUND: Final = (
    "worker", "celery", "batch", "job", "train", "runner", "embed", "queue", "consumer", "cron", "etl",
)  # fmt: skip
_SERVING_PROGRAMS: Final = frozenset(
    {"gunicorn", "uvicorn", "hypercorn", "nginx", "httpd", "vllm", "tritonserver", "uwsgi"}
)


class Fitness(StrEnum):
    READY = "ready"
    NEEDS_CHANGES = "needs_changes"
    UNSUITABLE = "unsuitable"
    OPTED_OUT = "opted_out"


class Command(Record):
    """A command that proves something on a real cluster."""

    proves: str
    command: str


class Suitability(Record):
    workload: str
    fitness: Fitness
    sentence: Text
    window: Window
    work: Work  # what the workload seems to do
    work_evidence: str
    start: LearntStart | None  # how long its pods take until they are Ready
    checks: tuple[CheckResult, ...]
    patch_yaml: str  # all patches of the checks merged; "" when there is none
    objects_yaml: str  # whole objects to add
    commands: tuple[Command, ...]
    advice: tuple[str, ...]  # what the worker should do in the window


def check_workload(
    snapshot: Snapshot,
    workload: Workload,
    *,
    capacity: Capacity = Capacity.SPOT,
    job_minutes: float | None = None,
    pods: tuple[Pod, ...] | None = None,
    with_cures: bool = True,
    window_seconds: float | None = None,
    refusal: Refusal | None = None,
) -> Suitability:
    """The checklist for one workload.

    Parameters
    ----------
    job_minutes : float, optional
        How long its jobs are, None: not given.
    pods : tuple of Pod, optional
        The workload's pods, where they are at hand (`pods_by_workload`).
    window_seconds : float, optional
        The notice that pods get, where it was given; else the cloud's.
    with_cures : bool
        Whether patches, objects and commands are written down too.
    refusal : Refusal, optional
        Why the engine finds no node for pods with a patch: such a patch isn't offered.
    """
    pods = pods_by_workload(snapshot).get(workload.key, ()) if pods is None else pods
    node_by_name = _nodes_by_name(snapshot)
    nodes = tuple(node_by_name[name] for name in dict.fromkeys(pod.node_name for pod in pods) if name in node_by_name)
    work, evidence = guess_work(workload)
    window = window_of(nodes, capacity) if nodes else _window_anywhere(snapshot, capacity)
    if window_seconds is not None:
        window = replace(window, seconds=round(window_seconds), what="as given")
    case = Case(
        workload=workload,
        pods=pods,
        nodes=nodes,
        protection=protected(snapshot, workload.key),
        start=learn_start(pods),
        snapshot=snapshot,
        window=window,
        capacity=capacity,
        work=work,
        work_evidence=evidence,
        job_minutes=job_minutes,
        with_cures=with_cures,
        refusal=refusal,
    )
    checks = _offered(case, checked(case))
    fitness = _fitness(workload, checks)
    return Suitability(
        workload=workload.key,
        fitness=fitness,
        sentence=Text(_sentence(case, fitness, checks)),
        window=case.window,
        work=case.work,
        work_evidence=case.work_evidence,
        start=case.start,
        checks=checks,
        patch_yaml=_merged(checks),
        objects_yaml="---\n".join(check.yaml for check in checks if check.is_whole_object and check.yaml),
        commands=_commands(case) if with_cures else (),
        advice=_advice(case) if with_cures else (),
    )


def _offered(case: Case, checks: tuple[CheckResult, ...]) -> tuple[CheckResult, ...]:
    """The checks without patches under which the engine finds no node, each with the reason: all patches are put to it together, as
    they are applied, and one by one where it refuses them."""
    together = _merged(checks)
    if case.refusal is None or not together:
        return checks
    cluster = cluster_grown(case)
    if not (why := case.refusal(cluster, together)):
        return checks
    each = {check.check: case.refusal(cluster, check.yaml) for check in checks if _is_patch(check)}
    if not any(each.values()):  # none of them alone
        each = dict.fromkeys(each, why)
    more = len(cluster.nodes) - len(case.snapshot.nodes)
    grown = f" and {count(more, 'more spot node')}" if more else ""
    return tuple(
        replace(check, yaml="", evidence=f"{check.evidence} No patch is offered: with it{grown}, {reason}.")
        if (reason := each.get(check.check))
        else check
        for check in checks
    )


def _is_patch(check: CheckResult) -> bool:
    return bool(check.yaml) and not check.is_whole_object


def _merged(checks: Iterable[CheckResult]) -> str:
    """All patches of the checks as one; "" where there is none."""
    merged: dict[str, Any] = {}
    for check in checks:
        if _is_patch(check):
            _merge(merged, yaml.load(check.yaml, Loader=_LOADER))  # noqa: S506 - the safe one, of libyaml where it is there
    return as_yaml(merged) if merged else ""


@once_a_snapshot
def pods_by_workload(snapshot: Snapshot) -> dict[str, tuple[Pod, ...]]:
    """Workload key → its pods that aren't finished; made once a snapshot, don't change it."""
    keys = workload_keys(snapshot)
    pods_by_key: dict[str, list[Pod]] = {}
    for pod in snapshot.pods:
        if not pod.is_terminal:
            pods_by_key.setdefault(keys[pod.uid], []).append(pod)
    return {key: tuple(pods) for key, pods in pods_by_key.items()}


def guess_work(workload: Workload) -> tuple[Work, str]:
    """Whether the workload does jobs or serves, from its kind, its programs and its name; with the reason."""
    if workload.traits.is_batch:
        return Work.JOBS, f"it is {with_article(workload.kind)}"
    programs_run = {container.program for container in workload.template.spec.containers}
    if serving := sorted(programs_run & _SERVING_PROGRAMS):
        return Work.SERVING, f"it runs {serving[0]}"
    words = f"{workload.name} {' '.join(sorted(programs_run))}".lower()
    if background_word := next((word for word in BACKGROUND if word in words), ""):
        return Work.JOBS, f'its name or program says "{background_word}"'
    if any(container.readiness_probe for container in workload.template.spec.containers):
        return Work.SERVING, "it has a readiness probe and nothing names it a worker"
    return Work.JOBS, "nothing says that it serves users"


_GANG_PROGRAMS: Final = frozenset({"torchrun", "deepspeed", "mpirun", "horovodrun"})


def guess_gang(workload: Workload) -> tuple[bool, str]:
    """Whether its pods only work together, so that one lost pod stops all of them; with the reason."""
    if workload.replicas < 2:
        return False, "it has one pod at most"
    template = workload.template
    labels, annotations = {**workload.labels, **template.labels}, {**workload.annotations, **template.annotations}
    marks = [key for key in GANG_LABELS if key in labels] + [key for key in POD_GROUP_NOTES if key in annotations]
    if marks:
        return True, f"it has {marks[0]}"
    programs_run = {container.program for container in template.spec.containers}
    if gang_programs := sorted(programs_run & _GANG_PROGRAMS):
        return True, f"its {workload.replicas} pods run {gang_programs[0]}"
    return False, "nothing says that its pods only work together"


@once_a_snapshot
def protected(snapshot: Snapshot, key: str) -> Protection:
    """What the disruption budgets over a workload's pods allow."""
    workload = snapshot.workload(key)
    assert workload is not None
    return protection(snapshot, workload)


@once_a_snapshot
def _nodes_by_name(snapshot: Snapshot) -> dict[str, Node]:
    return {node.name: node for node in snapshot.nodes}


@once_a_snapshot
def _window_anywhere(snapshot: Snapshot, capacity: Capacity) -> Window:
    """The window of a workload without a node."""
    return window_of(snapshot.nodes, capacity)


def _fitness(workload: Workload, checks: tuple[CheckResult, ...]) -> Fitness:
    stated = {
        annotations.get(well_known_names.SPOT_OPT_OUT)
        for annotations in (workload.annotations, workload.template.annotations)
    }
    if "never" in stated:
        return Fitness.OPTED_OUT
    statuses = {check.status for check in checks}
    if Status.UNSUITABLE in statuses:
        return Fitness.UNSUITABLE
    return Fitness.NEEDS_CHANGES if Status.CHANGE in statuses else Fitness.READY


def why_unsuitable(checks: Iterable[CheckResult]) -> str:
    """The evidence of the first check that rules spot out; "" where none does."""
    return next((check.evidence for check in checks if check.status is Status.UNSUITABLE), "")


def _sentence(case: Case, fitness: Fitness, checks: tuple[CheckResult, ...]) -> str:
    def named(status: Status) -> str:
        return ", ".join(in_sentence(check.check) for check in checks if check.status is status)

    name = f"{case.workload.namespace}/{case.workload.name}"
    unseen = named(Status.UNSEEN)
    unseen_text = f" Not to be seen from here: {unseen}." if unseen else ""
    if fitness is Fitness.OPTED_OUT:
        return f"{name} is kept off spot by its annotation {well_known_names.SPOT_OPT_OUT}: never."
    if fitness is Fitness.UNSUITABLE:
        return f"{name} is unsuitable for spot. {why_unsuitable(checks)}"
    if fitness is Fitness.NEEDS_CHANGES:
        changes = named(Status.CHANGE)
        if case.runs_on_spot:
            return f"{name} runs on spot, and should be changed for it: {changes}.{unseen_text}"
        return f"{name} needs changes before it runs on spot: {changes}.{unseen_text}"
    state = "runs on spot and is ready for it" if case.runs_on_spot else "is ready for spot"
    return f"{name} {state}, as far as a manifest can tell.{unseen_text}"


def _commands(case: Case) -> tuple[Command, ...]:
    """Commands with the names of a real pod and node of the workload, where there is one."""
    pod = next((pod for pod in case.pods if pod.node_name), None)
    pod_key = POD.key(case.workload.namespace, pod.name if pod else "POD")
    node = next((node for node in case.nodes if pod and node.name == pod.node_name), None)
    node_name, zone = (
        shell_commands.positional(node.name if node else "", "NODE"),
        (node.labels.get(well_known_names.ZONE, "ZONE") if node else "ZONE"),
    )
    container = case.containers[0].name if case.containers else "CONTAINER"
    proofs = [
        Command(
            proves="process 1 is the program, and has a handler: bit 0x4000 of SigCgt is SIGTERM",
            command=shell_commands.kubectl(
                "exec", pod_key, "-c", container, "--", "grep", "-E", "Name|SigCgt", "/proc/1/status"
            ),
        ),
        Command(
            proves=f"the pod ends by itself within {case.window.seconds} s: exit code 0, not 137",
            command=shell_commands.kubectl("delete", pod_key, f"--grace-period={case.window.seconds}"),
        ),
    ]
    cloud = next((provider_cloud for provider_cloud in CLOUDS if provider_cloud.name == case.window.provider), None)
    if cloud is not None and cloud.rehearsal is not None:
        what, words = cloud.rehearsal
        names = {"NODE": node_name, "ZONE": zone}
        proofs.append(
            Command(
                proves=f"the same on {what}", command=shell_commands.command(*(names.get(word, word) for word in words))
            )
        )
    return tuple(proofs)


def _advice(case: Case) -> tuple[str, ...]:
    """What the program should do from SIGTERM on, in order."""
    seconds = case.window.seconds
    if case.work is Work.SERVING:
        return (
            "On SIGTERM: fail the readiness probe and take no new connections.",
            f"Finish open requests, for {max(1, seconds - 3)} s at most; close idle connections at once.",
            f"Exit 0 before the {seconds} s are over.",
        )
    return (
        "On SIGTERM: take no new job from the queue.",
        (
            f"Finish the running job if it ends within {max(1, seconds - 3)} s; else write a checkpoint, or give the "
            "job back (don't acknowledge it) so that another worker starts it again."
        ),
        f"Exit 0 before the {seconds} s are over: what is written after that is lost.",
    )


def _merge(into: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Put `patch` into `into`; mappings are merged, everything else is replaced."""
    for key, value in patch.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value
