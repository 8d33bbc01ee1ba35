"""Rules about containers that can't start: image, configuration, volumes, command, what they need.

Source of the reasons: kubernetes `pkg/kubelet/images/types.go`, `pkg/kubelet/kuberuntime/kuberuntime_container.go`.
"""

from __future__ import annotations

from typing import Final

from planner.health.restarts.lines import template
from planner.health.restarts.model import Confidence, Diagnosis, Evidence, EvidenceSource
from planner.health.restarts.question import TroubledCase, counted, diagnosis, ending, event_told, status
from planner.health.restarts.signs import Sign

IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
     "RegistryUnavailable", "SignatureValidationFailed"}
)  # fmt: skip
CONFIG_REASONS = frozenset({"CreateContainerConfigError"})
COMMAND_REASONS = frozenset({"ContainerCannotRun", "StartError", "RunContainerError", "CreateContainerError"})
_NO_IMAGE: Final = {
    "image.platform": ("no match for platform", "exec format"),
    "image.denied": ("unauthorized", "denied", "forbidden", "authentication", "401", "403"),
    "image.rate": ("toomanyrequests", "rate limit"),
    "image.missing": ("not found", "manifest unknown", "does not exist", "404"),
    "image.unreachable": ("no such host", "i/o timeout", "connection refused", "deadline exceeded", "tls"),
}
"""Outcome → what registries and runtimes say; the first that is said counts."""


def image(question: TroubledCase) -> Diagnosis | None:
    """The image can't be had."""
    state = question.case.state
    if state.reason not in IMAGE_REASONS:
        return None
    failed = question.events("Failed", "FailedToPullImage", "InspectFailed", "ErrImageNeverPull")
    told = " ".join((state.message, *(event.message for event in failed))).lower()
    said = next((why for why, words in _NO_IMAGE.items() if any(word in told for word in words)), "image.unsaid")
    outcome = {"InvalidImageName": "image.name", "ErrImageNeverPull": "image.never"}.get(state.reason, said)
    evidence = status(f"waiting: {state.reason}"), *map(event_told, failed[-1:])
    return diagnosis(outcome, *evidence, image=question.case.container.image)


def config(question: TroubledCase) -> Diagnosis | None:
    """A Secret, ConfigMap or volume is missing."""
    state = question.case.state
    if state.reason in CONFIG_REASONS:
        named = state.message or next((e.message for e in reversed(question.events("Failed"))), "")
        said = f": {template(named)}" if named else ""
        return diagnosis("config.reference", status(f"waiting: {state.reason}{said}"), said=said)
    mounts = question.events("FailedMount", "FailedAttachVolume")
    if not mounts or state.state != "waiting":
        return None
    last = mounts[-1]
    is_config = any(word in last.message for word in ("secret ", "configmap ", "references non-existent"))
    outcome = "config.mount" if is_config else "volume.mount"
    return diagnosis(outcome, event_told(last), message=template(last.message))


def bad_command(question: TroubledCase) -> Diagnosis | None:
    """The program can't be run."""
    state, code = question.case.state, question.exit_code
    wrong_cpu, missing = (question.case.signs.of(sign) for sign in (Sign.ARCHITECTURE, Sign.COMMAND))
    reason = state.reason if state.reason in COMMAND_REASONS else question.ended_as
    if reason not in COMMAND_REASONS and code not in (126, 127) and not wrong_cpu:
        return None
    evidence = [ending(question)] if code is not None else []
    if state.reason in COMMAND_REASONS:
        evidence.append(status(f"waiting: {state.reason}" + (f": {template(state.message)}" if state.message else "")))
    evidence += [event_told(event) for event in question.events("Failed")[-1:]]
    evidence += [Evidence(EvidenceSource.LOG, f"“{hit.template}”") for hit in (*wrong_cpu, *missing)[:1]]
    if wrong_cpu:
        outcome = "command.cpu"
    elif code == 126:
        outcome = "command.not_executable"
    else:
        outcome = "command.runtime" if state.reason == "CreateContainerError" else "command.not_found"
    is_told = reason in COMMAND_REASONS or wrong_cpu or missing
    program = question.case.container.program
    return diagnosis(
        outcome,
        *evidence,
        confidence=Confidence.CERTAIN if is_told else Confidence.LIKELY,
        program=f" ({program})" if program else "",
    )


def named_in_log(question: TroubledCase) -> Diagnosis | None:
    """It ended by itself with an error, and the log names a missing setting, program or module, else something the program
    needs that doesn't answer; the last of several says why."""
    signs, code = question.case.signs, question.exit_code
    hits = signs.of(Sign.CONFIG, Sign.COMMAND) or signs.of(Sign.DEPENDENCY)
    if not hits or code in (0, 137, 143, None):
        return None
    return diagnosis(f"log.{hits[-1].sign}", counted(hits), ending(question), code=code)
