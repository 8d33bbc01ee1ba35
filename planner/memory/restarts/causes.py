"""The rules: from one container's status, events, log, use and peers to a cause with evidence.

Each rule is a function that gives a diagnosis or None; `RULES` is their order, most telling first. Kubernetes' own
words are in kubernetes `pkg/kubelet/kuberuntime/kuberuntime_container.go`, `pkg/kubelet/container/sync_result.go`,
`pkg/kubelet/images/types.go`, `pkg/kubelet/events/event.go`; read 2026-11-20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner import vocabulary
from planner.inventory.model import Event, Probe
from planner.memory.restarts.lines import last_words, template
from planner.memory.restarts.model import Cause, Confidence, Diagnosis, Evidence, EvidenceSource, Peers
from planner.memory.restarts.population import FEW_CHILD_KILLS, Case, troubled_signs
from planner.memory.restarts.pressure import Pressure, names
from planner.memory.restarts.signs import Hit, Sign
from planner.memory.wording import count, duration, measured_bytes
from planner.quantity import format_amount
from planner.vocabulary import MEMORY

IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
     "RegistryUnavailable", "SignatureValidationFailed"}
)  # fmt: skip
CONFIG_REASONS = frozenset({"CreateContainerConfigError"})
COMMAND_REASONS = frozenset({"ContainerCannotRun", "StartError", "RunContainerError", "CreateContainerError"})
LOST_REASONS = frozenset(
    {"NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity", "ContainerStatusUnknown"}
)
NODE_GONE_EVENTS = frozenset(
    {"NodeNotReady", "Rebooted", "Shutdown", "RemovingNode", "DeletingNode", "PreemptScheduled", "SpotInterruption",
     "NodeControllerEviction", "TaintManagerEviction"}
)  # fmt: skip
SPOT_LABELS = (
    (vocabulary.GKE_SPOT, "true"),
    (vocabulary.GKE_PREEMPTIBLE, "true"),
    (vocabulary.EKS_CAPACITY_TYPE, "SPOT"),
    (vocabulary.KARPENTER_CAPACITY_TYPE, "spot"),
    (vocabulary.AKS_SCALE_SET_PRIORITY, "spot"),
)
SIGNAL_NAMES = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}
_SAME_MOMENT_SECONDS = 300.0
_RESTART_SLACK_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A case with what its peers say and what it is short of."""

    case: Case
    peers: Peers | None
    pressure: Pressure

    @property
    def exit_code(self) -> int | None:
        """Of the last ending that is known."""
        state = self.case.state
        return state.exit_code if state.state == "terminated" else state.last_exit_code

    @property
    def ended_as(self) -> str:
        """The reason of the last ending, such as OOMKilled, Error, Completed; empty when it never ended."""
        state = self.case.state
        return state.reason if state.state == "terminated" else state.last_reason

    @property
    def run_seconds(self) -> float | None:
        """How long the last finished run took."""
        state = self.case.state
        begin, end = (
            (state.started_at, state.finished_at)
            if state.state == "terminated"
            else (state.last_started_at, state.last_finished_at)
        )
        return None if begin is None or end is None else end - begin

    @property
    def ended_at(self) -> float | None:
        state = self.case.state
        return state.finished_at if state.state == "terminated" else state.last_finished_at

    def events(self, *reasons: str, having: str = "") -> tuple[Event, ...]:
        return tuple(e for e in self.case.events if e.reason in reasons and having in e.message)


def diagnose(question: Question) -> Diagnosis | None:
    """The first rule's answer that fits; None where the container is in no trouble."""
    if not is_troubled(question.case):
        return None
    for rule in RULES:
        found = rule(question)
        if found is not None:
            return found
    return _unknown(question)


def is_troubled(case: Case) -> bool:
    """Whether there is anything to explain: restarts, a failed pod, a start that doesn't come, killed children."""
    state = case.state
    if case.pod.deleted_at is not None:
        return False
    if state.state == "waiting":
        if state.reason not in ("", "ContainerCreating", "PodInitializing"):
            return True
        return bool(case.pod.node_name) and any(event.reason == "FailedMount" for event in case.events)
    if (
        case.is_init
        and case.container.restart_policy != "Always"
        and state.state == "terminated"
        and state.exit_code == 0
    ):
        return False  # it did its work; that it needed several tries is past
    return (
        state.restart_count > 0
        or case.pod.phase == "Failed"
        or (state.state == "terminated" and state.exit_code not in (0, None))
        or troubled_signs(case)
    )


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _image(question: Question) -> Diagnosis | None:
    state = question.case.state
    if state.reason not in IMAGE_REASONS:
        return None
    failed = question.events("Failed", "FailedToPullImage", "InspectFailed", "ErrImageNeverPull")
    told = " ".join((state.message, *(event.message for event in failed))).lower()
    why, cure = _why_no_image(told, state.reason)
    evidence = [_status(f"waiting: {state.reason}")]
    evidence += [_event(event) for event in failed[-1:]]
    image = question.case.container.image
    return Diagnosis(
        cause=Cause.IMAGE,
        confidence=Confidence.CERTAIN,
        what=f"can't be started: its image {image} {why}",
        evidence=tuple(evidence),
        cure=cure,
    )


def _why_no_image(told: str, reason: str) -> tuple[str, str]:
    if reason == "InvalidImageName":
        return "has a name no registry can have", "Correct the image's name"
    if reason == "ErrImageNeverPull":
        return "isn't on the node and imagePullPolicy is Never", "Load the image on the node or set imagePullPolicy"
    if "no match for platform" in told or "exec format" in told:
        return "isn't built for the node's CPU", "Build the image for the node's architecture, or select other nodes"
    if any(word in told for word in ("unauthorized", "denied", "forbidden", "authentication", "401", "403")):
        return (
            "may not be pulled with these credentials",
            "Give the pod an imagePullSecret, or the node's account read access",
        )
    if "toomanyrequests" in told or "rate limit" in told:
        return "isn't given out: the registry's rate limit is used up", "Mirror the image, or pull with an account"
    if any(word in told for word in ("not found", "manifest unknown", "does not exist", "404")):
        return "isn't in the registry", "Correct the image's name or tag, or push it"
    if any(word in told for word in ("no such host", "i/o timeout", "connection refused", "deadline exceeded", "tls")):
        return "can't be reached: the registry doesn't answer", "Check the registry's address and the nodes' way to it"
    return "can't be pulled", "See the event's text"


def _config(question: Question) -> Diagnosis | None:
    case = question.case
    state = case.state
    mounts = question.events("FailedMount", "FailedAttachVolume")
    if state.reason in CONFIG_REASONS:
        named = state.message or next((e.message for e in reversed(question.events("Failed"))), "")
        said = f": {template(named)}" if named else ""
        return Diagnosis(
            cause=Cause.CONFIG,
            confidence=Confidence.CERTAIN,
            what=f"can't be created{said}",
            evidence=(_status(f"waiting: {state.reason}{said}"),),
            cure="Create the Secret or ConfigMap it names (with that key), or mark the reference optional",
        )
    if not mounts or state.state != "waiting":
        return None
    last = mounts[-1]
    is_config = any(word in last.message for word in ("secret ", "configmap ", "references non-existent"))
    return Diagnosis(
        cause=Cause.CONFIG if is_config else Cause.VOLUME,
        confidence=Confidence.CERTAIN,
        what=f"waits for a volume that can't be mounted: {template(last.message)}",
        evidence=(_event(last),),
        cure="Create the Secret or ConfigMap the volume names"
        if is_config
        else "See the event: the claim, its volume's zone, or another node that still holds it",
    )


def _bad_command(question: Question) -> Diagnosis | None:
    state, code = question.case.state, question.exit_code
    wrong_cpu = question.case.signs.of(Sign.ARCHITECTURE)
    reason = state.reason if state.reason in COMMAND_REASONS else question.ended_as
    missing = question.case.signs.of(Sign.COMMAND)
    if reason not in COMMAND_REASONS and code not in (126, 127) and not wrong_cpu:
        return None
    evidence = [_status(_ending(question))] if code is not None else []
    if state.reason in COMMAND_REASONS:
        evidence.append(_status(f"waiting: {state.reason}" + (f": {template(state.message)}" if state.message else "")))
    evidence += [_event(event) for event in question.events("Failed")[-1:]]
    evidence += [_log(hit) for hit in (*wrong_cpu, *missing)[:1]]
    program = question.case.container.program
    named = f" ({program})" if program else ""
    if wrong_cpu:
        what, cure = "can't be run: its program is built for another CPU", "Build the image for the node's architecture"
    elif code == 126:
        what, cure = (
            f"can't be run: its program{named} isn't executable",
            "chmod +x in the image, or correct the command",
        )
    elif state.reason == "CreateContainerError":
        what, cure = "can't be created by the container runtime", "See the message"
    else:
        what, cure = (
            f"can't be run: its program{named} isn't found in the image",
            "Correct command and args, or the image",
        )
    is_told = reason in COMMAND_REASONS or wrong_cpu or missing
    return Diagnosis(
        cause=Cause.BAD_COMMAND,
        confidence=Confidence.CERTAIN if is_told else Confidence.LIKELY,
        what=what,
        evidence=tuple(evidence),
        cure=cure,
    )


def _out_of_memory(question: Question) -> Diagnosis | None:
    case = question.case
    if question.ended_as != "OOMKilled":
        return None
    limit = case.container.limits.get(MEMORY)
    pod_limit = case.pod.spec.pod_limits.get(MEMORY) if case.pod.spec.pod_limits else None
    evidence = [_status(_ending(question))]
    ran = question.run_seconds
    if ran is not None:
        evidence.append(_status(f"the last run took {duration(ran)} from start to kill"))
    node_oom = _node_ran_out(question)
    evidence += [_event(event) for event in node_oom[:1]]
    if any(volume.kind == "emptyDir" and volume.medium == "Memory" for volume in case.pod.spec.volumes):
        evidence.append(_spec("a volume in memory (emptyDir, medium Memory) counts against the limit too"))
    if (limit is None and pod_limit is None) or node_oom:
        return Diagnosis(
            cause=Cause.OOM_NODE,
            confidence=Confidence.LIKELY,
            what="was killed for memory"
            + (" because the node ran out" if node_oom else ", and it has no limit of its own: the node ran out"),
            evidence=(*evidence, *question.pressure.evidence),
            cure="Give every pod of the node a memory request near its use, so that the node isn't promised twice",
            wants_memory=True,
        )
    bound = limit if limit is not None else pod_limit
    whose = "its own memory limit" if limit is not None else "its pod's memory limit"
    after = f" {duration(ran)} after its start" if ran is not None and ran < 3_600 else ""
    return Diagnosis(
        cause=Cause.OOM_OWN_LIMIT,
        confidence=Confidence.CERTAIN,
        what=f"was killed at {whose} ({format_amount(bound or 0, MEMORY)}){after}",
        evidence=(*evidence, *question.pressure.evidence),
        cure="Raise the memory limit and request to what the program needs, or make it need less",
        root=_needs_more(question.peers, bound or 0),
        wants_memory=True,
    )


def _needs_more(peers: Peers | None, limit_bytes: int) -> str:
    elsewhere = peers.working_set_bytes if peers else None
    if peers is None or elsewhere is None or elsewhere <= limit_bytes:
        return ""
    return f"the same program uses up to {measured_bytes(elsewhere)} in {names(peers)}"


def _node_ran_out(question: Question) -> tuple[Event, ...]:
    ended = question.ended_at
    return tuple(
        event
        for event in question.case.node_events
        if event.reason == "SystemOOM"
        and (ended is None or event.last_seen_at is None or abs(event.last_seen_at - ended) <= _SAME_MOMENT_SECONDS)
    )


def _node_lost(question: Question) -> Diagnosis | None:
    case = question.case
    pod, node = case.pod, case.node
    preempted = question.events("Preempted")
    if preempted or pod.reason == "Preempting":
        return Diagnosis(
            cause=Cause.PREEMPTED,
            confidence=Confidence.CERTAIN,
            what="was removed for a pod of higher priority",
            evidence=tuple([_event(event) for event in preempted[-1:]] or [_status(f"pod: {pod.reason}")]),
            cure="Give it a higher priority, or the cluster room for both",
        )
    evicted = question.events("Evicted")
    if pod.reason == "Evicted" or evicted:
        return Diagnosis(
            cause=Cause.EVICTED,
            confidence=Confidence.CERTAIN,
            what="was evicted by its node" + (f": {template(evicted[-1].message)}" if evicted else ""),
            evidence=tuple([_event(event) for event in evicted[-1:]] or [_status("pod: Evicted")]),
            cure="Request what it uses: pods over their request go first when a node runs short",
            wants_memory=any("memory" in event.message for event in evicted),
        )
    is_missing = case.has_nodes and bool(pod.node_name) and node is None
    is_down = node is not None and node.conditions.get("Ready", "True") != "True"
    is_lost = pod.reason in LOST_REASONS or question.ended_as in LOST_REASONS
    rebooted = [e for e in case.node_events if e.reason in NODE_GONE_EVENTS and _near(question, e)]
    rebooted += [e for e in case.events if e.reason in NODE_GONE_EVENTS]
    unknown_end = question.exit_code == 255 and question.ended_as in ("Unknown", "Error", "ContainerStatusUnknown")
    if not (is_missing or is_down or is_lost or (rebooted and (unknown_end or question.exit_code in (137, 143, None)))):
        return None
    evidence = []
    if is_missing:
        evidence.append(_status(f"node {pod.node_name} isn't in the cluster any more"))
    if is_down:
        evidence.append(_status(f"node {pod.node_name} isn't Ready"))
    if is_lost:
        evidence.append(_status(f"pod or container: {pod.reason or question.ended_as}"))
    evidence += [_event(event) for event in rebooted[-1:]]
    is_spot = node is not None and any(node.labels.get(key) == value for key, value in SPOT_LABELS)
    if is_spot:
        evidence.append(_spec(f"node {pod.node_name} is a spot or preemptible node"))
    return Diagnosis(
        cause=Cause.NODE_LOST,
        confidence=Confidence.CERTAIN if is_lost or is_missing else Confidence.LIKELY,
        what="went down with its node" + (", a spot node" if is_spot else ""),
        evidence=tuple(evidence),
        cure="Nothing in the pod is wrong. On spot: stop cleanly at SIGTERM, keep work in checkpoints, spread the replicas",
    )


def _refused(question: Question) -> Diagnosis | None:
    reason = question.case.pod.reason
    if reason == "DeadlineExceeded":
        return Diagnosis(
            cause=Cause.DEADLINE,
            confidence=Confidence.CERTAIN,
            what="was stopped because its time was up (activeDeadlineSeconds)",
            evidence=(_status("pod: DeadlineExceeded"),),
            cure="Give it more time, or make the work shorter",
        )
    if reason != "UnexpectedAdmissionError" and not reason.startswith("OutOf"):
        return None
    told = question.events(reason)
    return Diagnosis(
        cause=Cause.REJECTED,
        confidence=Confidence.CERTAIN,
        what=f"was refused by its node after the scheduler had placed it there ({reason})",
        evidence=(_status(f"pod: {reason}"), *[_event(event) for event in told[-1:]]),
        cure="Its owner makes another pod; delete the failed one. Where it comes again, see the node's device plugin and what "
        "the node can really give",
    )


def _near(question: Question, event: Event) -> bool:
    ended = question.ended_at
    return ended is None or event.last_seen_at is None or abs(event.last_seen_at - ended) <= _SAME_MOMENT_SECONDS


def _runtime_memory(question: Question) -> Diagnosis | None:
    signs = question.case.signs
    by_sign = (
        (Sign.GPU_MEMORY, Cause.GPU_MEMORY, "ran out of the GPU's memory",
         "Smaller batch or model, or a GPU with more memory; more container memory doesn't help", False),
        (Sign.SHARED_MEMORY, Cause.SHARED_MEMORY, "ran out of shared memory (/dev/shm is 64 MiB by default)",
         "Mount an emptyDir with medium Memory at /dev/shm and count it in the memory limit, or fewer loader workers",
         False),
        (Sign.HEAP_LIMIT, Cause.HEAP_LIMIT, "ran out of the heap its own runtime allows",
         "Raise the runtime's limit (Java -XX:MaxRAMPercentage, Node --max-old-space-size) together with the container's",
         True),
        (Sign.ALLOCATION_FAILED, Cause.HEAP_LIMIT, "was refused memory it asked for",
         "Give it more memory, or lift the limit set inside (ulimit, resource limits of the runtime)", True),
    )  # fmt: skip
    for sign, cause, what, cure, wants_memory in by_sign:
        hits = signs.of(sign)
        if hits and (question.exit_code != 0 or question.case.state.restart_count == 0):
            ended = [_status(_ending(question))] if question.exit_code is not None else []
            return Diagnosis(
                cause=cause,
                confidence=Confidence.LIKELY,
                what=what,
                evidence=(_counted(hits), *ended, *question.pressure.evidence),
                cure=cure,
                root=question.pressure.memory if wants_memory else "",
                wants_memory=wants_memory,
            )
    return None


def _killed_children(question: Question) -> Diagnosis | None:
    case = question.case
    late, others = case.signs.killed_by_supervisor(), case.signs.killed_by_others()
    if len(late) + len(others) == 0:
        return None
    return _late_children(question, late) if len(late) >= len(others) else _shot_children(question, others)


def _late_children(question: Question, late: tuple[Hit, ...]) -> Diagnosis:
    case = question.case
    boots = case.signs.of(Sign.WORKER_BOOT)
    program = next((hit.program for hit in late if hit.program), "") or case.container.program or "its supervisor"
    life = case.signs.seconds_until_timeout()
    evidence = [_counted(late)]
    guesses = case.signs.of(Sign.CHILD_SIGKILL)
    if guesses:
        evidence.append(
            Evidence(
                source=EvidenceSource.LOG,
                text=f"“{guesses[0].template}” ({count(len(guesses), 'line')}) is {program}'s own kill after the timeout, "
                "not the kernel's: no container of this pod was OOMKilled"
                if question.ended_as != "OOMKilled"
                else f"“{guesses[0].template}” ({count(len(guesses), 'line')})",
            )
        )
    if boots:
        evidence.append(
            Evidence(
                source=EvidenceSource.LOG,
                text=f"{count(len(boots), 'worker')} started, {len(late)} stopped for being late"
                + (f", each {duration(life)} after its start (median)" if life is not None else ""),
            )
        )
    evidence += _probe_evidence(question)
    evidence += _how_it_stands(question)
    after = f" after {duration(life)}" if life is not None else ""
    short = question.pressure
    return Diagnosis(
        cause=Cause.CHILD_TIMEOUT,
        confidence=Confidence.LIKELY,
        what=f"has its workers killed by {program}'s own timeout{after}"
        + (" and its readiness probe fails" if question.events("Unhealthy", having="Readiness") else "")
        + _and_then(question),
        evidence=(*evidence, *short.evidence),
        cure=(
            f"Give it the resources it has where it works; raising {program}'s timeout only hides that it is starved"
            if short.root
            else f"Find what the workers wait for at start; then fewer workers or a longer timeout of {program}"
        ),
        root=short.root,
        wants_memory=bool(short.memory),
        wants_cpu=bool(short.cpu),
    )


def _shot_children(question: Question, others: tuple[Hit, ...]) -> Diagnosis:
    case = question.case
    kernel = case.signs.of(Sign.KERNEL_OOM)
    node_says = tuple(event for event in case.node_events if event.reason in ("OOMKilling", "SystemOOM"))
    evidence = [_counted(others), *([_counted(kernel)] if kernel else []), *[_event(event) for event in node_says[:1]]]
    evidence += _probe_evidence(question)
    evidence += _how_it_stands(question)
    version = case.node.kubelet_version if case.node else ""
    evidence.append(
        _spec(
            "the kernel kills a whole container since kubelet 1.28 on cgroup v2 unless singleProcessOOMKill is set; a child "
            "alone is killed before, on cgroup v1, or by somebody inside"
            + (f" (this node: {version})" if version else "")
        )
    )
    is_memory = bool(question.pressure.memory or kernel or node_says)
    return Diagnosis(
        cause=Cause.CHILD_KILLED,
        confidence=Confidence.LIKELY if is_memory else Confidence.POSSIBLE,
        what="has child processes killed (SIGKILL)"
        + (", most likely for memory" if is_memory else "")
        + _and_then(question),
        evidence=(*evidence, *question.pressure.evidence),
        cure="Raise the memory limit, or start fewer children: each holds memory of its own",
        root=question.pressure.memory,
        wants_memory=True,
    )


def _dying_children(question: Question) -> Diagnosis | None:
    """uvicorn's "Child process [12] died", a data loader that "exited unexpectedly": dead, and the log doesn't say of
    what. gunicorn's workers that exit by themselves tell more in their own last words."""
    died = question.case.signs.of(Sign.CHILD_DIED)
    if question.exit_code is not None:
        died = tuple(hit for hit in died if hit.program != "gunicorn")
    if not died or (question.exit_code is None and len(died) < FEW_CHILD_KILLS):
        return None
    short = question.pressure
    return Diagnosis(
        cause=Cause.CHILD_KILLED,
        confidence=Confidence.LIKELY if short.memory else Confidence.POSSIBLE,
        what=f"loses child processes that die without a word{_and_then(question)}",
        evidence=(_counted(died), *_probe_evidence(question), *_how_it_stands(question), *short.evidence),
        cure="See whether memory is short (each child holds its own) or the children are too busy to answer their supervisor",
        root=short.root,
        wants_memory=bool(short.memory),
        wants_cpu=bool(short.cpu),
    )


def _and_then(question: Question) -> str:
    if question.exit_code is not None:
        return f"; Kubernetes only shows exit code {question.exit_code}"
    return ", inside a container that runs on: Kubernetes shows nothing"


def _how_it_stands(question: Question) -> list[Evidence]:
    if question.exit_code is not None:
        return [_status(_ending(question))]
    if question.case.state.state == "running":
        return [_status("the container itself runs: its status shows nothing of this")]
    return []


def _task_limit(question: Question) -> Diagnosis | None:
    hits = question.case.signs.of(Sign.TASK_TIME_LIMIT)
    if len(hits) < 2 or question.case.state.restart_count:
        return None
    return Diagnosis(
        cause=Cause.CHILD_TIMEOUT,
        confidence=Confidence.LIKELY,
        what=f"has {count(len(hits), 'task')} killed at its own time limit, inside a container that runs on",
        evidence=(_counted(hits), *question.pressure.evidence),
        cure="Make the tasks shorter or their time limit longer",
        root=question.pressure.root,
        wants_memory=bool(question.pressure.memory),
        wants_cpu=bool(question.pressure.cpu),
    )


def _probes(question: Question) -> Diagnosis | None:
    for name, cause, probe in (
        ("Startup", Cause.STARTUP_PROBE, question.case.container.startup_probe),
        ("Liveness", Cause.LIVENESS_PROBE, question.case.container.liveness_probe),
    ):
        killing = question.events("Killing", having=f"failed {name.lower()} probe")
        unhealthy = question.events("Unhealthy", having=f"{name} probe failed")
        ended_by_kubelet = question.exit_code in (137, 143, 0)
        fits = (
            probe is not None
            and question.exit_code in (137, 143)  # with 0 it may have ended by itself: only an event can tell
            and question.case.state.restart_count > 1
            and _run_fits(question, probe)
        )
        if not killing and not (unhealthy and ended_by_kubelet) and not fits:
            continue
        confidence = Confidence.CERTAIN if killing else Confidence.LIKELY if unhealthy else Confidence.POSSIBLE
        return _probe_diagnosis(question, name.lower(), cause, probe, confidence)
    return None


def patience_seconds(probe: Probe) -> int:
    """How long after its start a container that never answers is left alone: the first check comes after the initial
    delay, and `failure_threshold` checks in a row have to fail. Source: kubernetes `pkg/kubelet/prober/worker.go`."""
    return probe.initial_delay_seconds + probe.failure_threshold * probe.period_seconds


def _run_fits(question: Question, probe: Probe) -> bool:
    """Whether the last run is as long as a container's that never answered: the probe's patience, then the grace."""
    ran = question.run_seconds
    if ran is None:
        return False
    least = patience_seconds(probe) - probe.period_seconds
    most = patience_seconds(probe) + probe.timeout_seconds + question.case.pod.spec.termination_grace_period_seconds
    return least <= ran <= most + _RESTART_SLACK_SECONDS


def _probe_diagnosis(
    question: Question, name: str, cause: Cause, probe: Probe | None, confidence: Confidence
) -> Diagnosis:
    evidence = _probe_evidence(question)
    if question.exit_code is not None:
        evidence.append(_status(_ending(question)))
    needed = question.peers.startup_seconds if question.peers else None
    patience = patience_seconds(probe) if probe else None
    at_start = probe is not None and _run_fits(question, probe)
    too_tight = at_start and needed is not None and patience is not None and needed > patience
    if patience is not None:
        evidence.append(_spec(f"the {name} probe gives up {patience} s after the start"))
    if needed is not None and question.peers:
        evidence.append(
            Evidence(
                source=EvidenceSource.PEERS,
                text=f"the same program takes up to {duration(needed)} to be Ready in {names(question.peers)}",
            )
        )
    ran = question.run_seconds
    if ran is not None:
        evidence.append(_status(f"the last run took {duration(ran)}"))
    evidence += question.pressure.evidence
    is_slow_cpu = bool(question.pressure.cpu) and at_start and not too_tight
    if is_slow_cpu:
        return Diagnosis(
            cause=Cause.CPU_THROTTLED,
            confidence=min(confidence, Confidence.LIKELY, key=_rank),
            what=f"is too slow to start within its {name} probe's {patience} s: {question.pressure.cpu}",
            evidence=tuple(evidence),
            cure="Raise or remove the CPU limit, or give a startup probe time enough",
            root=question.pressure.root,
            wants_cpu=True,
            wants_memory=bool(question.pressure.memory),
        )
    if too_tight and needed is not None:
        what = f"is killed by its {name} probe after {patience} s, and needs {duration(needed)} to start"
    elif at_start:
        what = f"is killed by its {name} probe, {patience} s after its start, before it ever answered"
    else:
        what = f"is killed by its {name} probe: it stops answering"
    return Diagnosis(
        cause=cause,
        confidence=confidence,
        what=what,
        evidence=tuple(evidence),
        cure=f"Add or lengthen a startup probe (failureThreshold × periodSeconds above {duration(needed or patience or 60)})"
        if at_start
        else f"See why it stops answering; a longer {name} timeout or threshold if it is only slow",
        root=question.pressure.root,
        wants_memory=bool(question.pressure.memory),
        wants_cpu=bool(question.pressure.cpu),
    )


def _completed(question: Question) -> Diagnosis | None:
    if question.exit_code != 0 or question.ended_as not in ("Completed", ""):
        return None
    return Diagnosis(
        cause=Cause.COMPLETED,
        confidence=Confidence.CERTAIN if question.ended_as else Confidence.LIKELY,
        what="ends by itself with exit code 0 and is started again, because restartPolicy is "
        + question.case.pod.spec.restart_policy,
        evidence=(_status(_ending(question)),),
        cure="A task that ends belongs in a Job; a server must stay in the foreground",
    )


def _crash(question: Question) -> Diagnosis | None:
    code = question.exit_code
    if code is None or code - 128 not in SIGNAL_NAMES:
        return None
    signal = SIGNAL_NAMES[code - 128]
    hits = question.case.signs.of(Sign.CRASH)
    return Diagnosis(
        cause=Cause.CRASH,
        confidence=Confidence.CERTAIN,
        what=f"crashes ({signal}, exit code {code})",
        evidence=(_status(_ending(question)), *([_counted(hits)] if hits else []), *_last_lines(question)),
        cure="A fault in the program or a library: see its log, and try the image that ran before",
    )


def _dependency(question: Question) -> Diagnosis | None:
    hits = question.case.signs.of(Sign.DEPENDENCY)
    if not hits or question.exit_code in (0, 137, 143, None):
        return None
    return Diagnosis(
        cause=Cause.DEPENDENCY,
        confidence=Confidence.LIKELY,
        what=f"ends with exit code {question.exit_code} because something it needs doesn't answer",
        evidence=(_counted(hits), _status(_ending(question))),
        cure="See whether the service it calls exists and is Ready; let the program wait and try again instead of ending",
    )


def _config_in_log(question: Question) -> Diagnosis | None:
    hits = question.case.signs.of(Sign.CONFIG, Sign.COMMAND)
    if not hits or question.exit_code in (0, 137, 143, None):
        return None
    is_config = hits[-1].sign is Sign.CONFIG
    return Diagnosis(
        cause=Cause.CONFIG if is_config else Cause.BAD_COMMAND,
        confidence=Confidence.LIKELY,
        what=f"ends with exit code {question.exit_code} because "
        + ("a setting is missing or wrong" if is_config else "a program or module isn't in the image"),
        evidence=(_counted(hits), _status(_ending(question))),
        cure="Set what the line names" if is_config else "Correct the command, or build the image with what is missing",
    )


def _killed(question: Question) -> Diagnosis | None:
    if question.exit_code != 137:
        return None
    return Diagnosis(
        cause=Cause.KILLED,
        confidence=Confidence.POSSIBLE,
        what="was killed (SIGKILL), and neither status nor events say by whom",
        evidence=(_status(_ending(question)), *_probe_evidence(question), *question.pressure.evidence),
        cure="Not OOMKilled, so not its own memory limit as far as Kubernetes knows. Look for a probe, a shutdown longer than "
        "the grace period, or a kill from inside",
        root=question.pressure.memory,
        wants_memory=bool(question.pressure.memory),
    )


def _error_exit(question: Question) -> Diagnosis | None:
    code = question.exit_code
    if code is None or code == 0:
        return None
    last = _last_lines(question)
    stopped = code == 143
    return Diagnosis(
        cause=Cause.ERROR_EXIT,
        confidence=Confidence.LIKELY if last else Confidence.POSSIBLE,
        what="was told to stop (SIGTERM, exit code 143)" if stopped else f"ends with exit code {code}",
        evidence=(_status(_ending(question)), *last, *question.pressure.evidence),
        cure="See its last words in the log" if last else "Get the log of the run that ended: kubectl logs --previous",
        root=question.pressure.root,
        wants_memory=bool(question.pressure.memory),
        wants_cpu=bool(question.pressure.cpu),
    )


def _unknown(question: Question) -> Diagnosis:
    state = question.case.state
    said = (
        f"waiting: {state.reason}" if state.reason else f"{count(state.restart_count, 'restart')}, no last state kept"
    )
    return Diagnosis(
        cause=Cause.UNKNOWN,
        confidence=Confidence.POSSIBLE,
        what="restarted, and nothing that was read says why" if state.restart_count else "doesn't start",
        evidence=(_status(said), *[_event(event) for event in question.case.events if event.kind == "Warning"][-2:]),
        cure="Get its events and the log of the run that ended: kubectl describe pod, kubectl logs --previous",
    )


RULES: tuple[Callable[[Question], Diagnosis | None], ...] = (
    _image,
    _config,
    _out_of_memory,
    _refused,
    _node_lost,
    _bad_command,
    _runtime_memory,
    _killed_children,
    _task_limit,
    _dying_children,
    _probes,
    _crash,
    _completed,
    _config_in_log,
    _dependency,
    _killed,
    _error_exit,
)


# ── evidence ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _status(text: str) -> Evidence:
    return Evidence(source=EvidenceSource.STATUS, text=text)


def _spec(text: str) -> Evidence:
    return Evidence(source=EvidenceSource.SPEC, text=text)


def _event(event: Event) -> Evidence:
    times = f" ({event.count:,} times)" if event.count > 1 else ""
    return Evidence(source=EvidenceSource.EVENT, text=f"{event.reason}: {template(event.message)}{times}")


def _log(hit: Hit) -> Evidence:
    return Evidence(source=EvidenceSource.LOG, text=f"“{hit.template}”")


def _counted(hits: tuple[Hit, ...]) -> Evidence:
    return Evidence(source=EvidenceSource.LOG, text=f"“{hits[-1].template}” ({count(len(hits), 'line')})")


def _ending(question: Question) -> str:
    reason = question.ended_as or "no reason kept"
    return f"ended: {reason}, exit code {question.exit_code}"


def _probe_evidence(question: Question) -> list[Evidence]:
    return [_event(event) for event in question.events("Unhealthy", "Killing")][-3:]


def _last_lines(question: Question) -> list[Evidence]:
    lines = question.case.previous_lines or question.case.lines
    return [Evidence(source=EvidenceSource.LOG, text=f"“{words}”") for words in last_words(lines)]


def _rank(confidence: Confidence) -> int:
    """Weakest first."""
    return (Confidence.POSSIBLE, Confidence.LIKELY, Confidence.CERTAIN).index(confidence)
