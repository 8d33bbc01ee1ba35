"""Causes why containers can't start: image, configuration, volumes, command, missing dependencies.

The reasons and their sources stand in `planner.kubernetes.status_reasons`, what their messages say in
`planner.health.restarts.status_messages`.
"""

from __future__ import annotations

from typing import Final

from planner.health.restarts.container_case import (
    OUTCOMES,
    TroubledCase,
    counted,
    diagnosis,
    ending,
    event_told,
    status,
)
from planner.health.restarts.known_messages import GPU_PROGRAMS, Sign
from planner.health.restarts.log_line_templates import template
from planner.health.restarts.model import Confidence, Diagnosis, Evidence, EvidenceSource
from planner.health.restarts.status_messages import outcome_of_message, quoted, with_message
from planner.kubernetes.status_reasons import outcome_of

_NO_IMAGE: Final = {
    "image.platform": ("no match for platform", "exec format"),
    "image.denied": ("unauthorized", "denied", "forbidden", "authentication", "401", "403"),
    "image.rate": ("toomanyrequests", "rate limit"),
    "image.missing": ("not found", "manifest unknown", "does not exist", "404"),
    "image.unreachable": ("no such host", "i/o timeout", "connection refused", "deadline exceeded", "tls"),
}
"""Outcome → what registries and runtimes say; the first that is said counts."""
_OF_VOLUMES: Final = ("FailedMount", "FailedAttachVolume", "FailedMapVolume")
_OF_SANDBOX: Final = ("start.network", "start.disk", "start.slow", "start.exhausted")
"""What may keep a sandbox from being made as well as a container."""


def image(question: TroubledCase) -> Diagnosis | None:
    """The image can't be had."""
    state = question.case.state
    if outcome_of("waiting", state.reason) != "image":
        return None
    failed = question.events("Failed", "FailedToPullImage", "InspectFailed", "ErrImageNeverPull")
    messages = " ".join((state.message, *(event.message for event in failed))).lower()
    outcome_name = next(
        (why for why, words in _NO_IMAGE.items() if any(word in messages for word in words)), "image.unsaid"
    )
    outcome = {"InvalidImageName": "image.name", "ErrImageNeverPull": "image.never"}.get(state.reason, outcome_name)
    evidence = status(f"waiting: {with_message(state.reason, state.message)}"), *map(event_told, failed[-1:])
    return diagnosis(outcome, *evidence, image=question.case.container.image)


def config(question: TroubledCase) -> Diagnosis | None:
    """A Secret, ConfigMap or volume is missing, or what the pod asks for can't be configured."""
    state = question.case.state
    if outcome_of("waiting", state.reason) == "config":
        message = state.message or next((e.message for e in reversed(question.events("Failed"))), "")
        outcome, words = outcome_of_message("config", message)
        message_text = f": {quoted(message)}" if message else ""
        waits = status(f"waiting: {with_message(state.reason, message)}")
        return diagnosis(outcome or "config.unsaid", waits, said=message_text, **words)
    mounts = [event for event in question.case.start_failures if event.reason in _OF_VOLUMES]
    if not mounts or state.state != "waiting":
        return None
    last = mounts[-1]
    is_config = any(word in last.message for word in ("secret ", "configmap ", "references non-existent"))
    outcome = "config.mount" if is_config else "volume.mount"
    return diagnosis(outcome, event_told(last), message=template(last.message))


def not_started(question: TroubledCase) -> Diagnosis | None:
    """The status names a step of the start that failed: the runtime's own error, a hook, a check of the kubelet's.

    Which error it is stands in the message: RunContainerError and StartError are what containerd and CRI-O say of a missing
    program, of NVIDIA's driver and of a full disk alike.
    """
    for place, reason, message in question.reasons:
        outcome = outcome_of(place, reason)
        if outcome == "start":
            return _runtime_error(question, reason, message)
        if outcome in OUTCOMES:
            message_text = f": {quoted(message)}" if message else ""
            evidence = [
                question.told_as(place, reason, message),
                *map(event_told, question.events("FailedPostStartHook")),
            ]
            return diagnosis(outcome, *evidence, node=question.case.pod.node_name, said=message_text)
    failed = question.events("FailedPostStartHook")
    if not failed or question.exit_code not in (0, 137, 143):
        return None
    evidence = [*map(event_told, failed[-1:]), ending(question)]
    return diagnosis("hook", *evidence, confidence=Confidence.LIKELY, said="")


def _runtime_error(question: TroubledCase, reason: str, message: str) -> Diagnosis:
    """By the runtime's message, or that of its event where the status has none."""
    failed, code = question.events("Failed"), question.exit_code
    text = message or (failed[-1].message if failed else "")
    outcome, words = outcome_of_message("start", text)
    # POSIX's own two: found and not executable, not found.
    by_code = {126: "command.not_executable", 127: "command.not_found"}.get(code or 0, "start.unsaid")
    outcome = outcome or ("start.other" if text else by_code)
    evidence = [question.told_as(place, why, of) for place, why, of in question.reasons if why == reason][:1]
    program = question.case.container.program
    return diagnosis(
        outcome,
        *evidence,
        *map(event_told, failed[-1:]),
        confidence=None if text else Confidence.LIKELY,
        program=f" ({program})" if program else "",
        node=question.case.pod.node_name,
        **words,
    )


def not_created(question: TroubledCase) -> Diagnosis | None:
    """The pod waits in ContainerCreating, and an event says that its node can't make its sandbox or prepare its devices."""
    failed = [event for event in question.case.start_failures if event.reason not in _OF_VOLUMES]
    if not failed or question.case.state.state != "waiting":
        return None
    last, node = failed[-1], question.case.pod.node_name
    evidence = Evidence(EvidenceSource.EVENT, with_message(last.reason, last.message))
    if last.reason == "FailedPrepareDynamicResources":
        return diagnosis("device.prepare", evidence, node=node)
    outcome, words = outcome_of_message("start", last.message)
    is_of_pod = outcome.startswith(("gpu.", "device.", "security.")) or outcome in _OF_SANDBOX
    return diagnosis(outcome if is_of_pod else "sandbox", evidence, confidence=Confidence.LIKELY, node=node, **words)


def bad_command(question: TroubledCase) -> Diagnosis | None:
    """The program can't be run, as its exit code or its log says."""
    code = question.exit_code
    wrong_cpu, missing = (question.case.signs.of(sign) for sign in (Sign.ARCHITECTURE, Sign.COMMAND))
    # A program of another CPU may end with any code; its log says so (exec format error).
    if code not in (126, 127) and not wrong_cpu:
        return None
    evidence = [ending(question)] if code is not None else []
    evidence += [event_told(event) for event in question.events("Failed")[-1:]]
    evidence += [Evidence(EvidenceSource.LOG, f"“{hit.template}”") for hit in (*wrong_cpu, *missing)[:1]]
    if wrong_cpu:
        outcome = "command.cpu"
    else:
        outcome = "command.not_executable" if code == 126 else "command.not_found"
    program = question.case.container.program
    return diagnosis(
        outcome,
        *evidence,
        confidence=Confidence.CERTAIN if wrong_cpu or missing else Confidence.LIKELY,
        program=f" ({program})" if program else "",
    )


def named_in_log(question: TroubledCase) -> Diagnosis | None:
    """It ended by itself with an error, and the log names a missing setting, program or module, or what is wrong with its GPU,
    else something the program needs that doesn't answer; the last of several says why."""
    signs, code = question.case.signs, question.exit_code
    hits = signs.of(Sign.CONFIG, Sign.COMMAND, *GPU_PROGRAMS) or signs.of(Sign.DEPENDENCY)
    if not hits or code in (0, 137, 143, None):
        return None
    return diagnosis(
        f"log.{hits[-1].sign}", counted(hits), ending(question), code=code, node=question.case.pod.node_name
    )
