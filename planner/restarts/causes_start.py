"""Rules about containers that can't start: image, configuration, volumes, command, what they need.

Source of the reasons: kubernetes `pkg/kubelet/images/types.go`, `pkg/kubelet/kuberuntime/kuberuntime_container.go`.
"""

from __future__ import annotations

from typing import Final

from planner.restarts.lines import template
from planner.restarts.model import Cause, Confidence, Diagnosis
from planner.restarts.question import (
    TroubledCase,
    counted,
    ending,
    event_told,
    quoted,
    status,
)
from planner.restarts.signs import Sign

IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
     "RegistryUnavailable", "SignatureValidationFailed"}
)  # fmt: skip
CONFIG_REASONS = frozenset({"CreateContainerConfigError"})
COMMAND_REASONS = frozenset({"ContainerCannotRun", "StartError", "RunContainerError", "CreateContainerError"})


def image(question: TroubledCase) -> Diagnosis | None:
    """The image can't be had."""
    state = question.case.state
    if state.reason not in IMAGE_REASONS:
        return None
    failed = question.events("Failed", "FailedToPullImage", "InspectFailed", "ErrImageNeverPull")
    told = " ".join((state.message, *(event.message for event in failed))).lower()
    why, cure = _why_no_image(told, state.reason)
    evidence = [status(f"waiting: {state.reason}")]
    evidence += [event_told(event) for event in failed[-1:]]
    image = question.case.container.image
    return Diagnosis(
        cause=Cause.IMAGE,
        confidence=Confidence.CERTAIN,
        what=f"can't be started: its image {image} {why}",
        evidence=tuple(evidence),
        cure=cure,
    )


_NO_IMAGE: Final = (
    (("no match for platform", "exec format"), "isn't built for the node's CPU",
     "Build the image for the node's architecture, or select other nodes"),
    (("unauthorized", "denied", "forbidden", "authentication", "401", "403"), "may not be pulled with these credentials",
     "Give the pod an imagePullSecret, or the node's account read access"),
    (("toomanyrequests", "rate limit"), "isn't given out: the registry's rate limit is used up",
     "Mirror the image, or pull with an account"),
    (("not found", "manifest unknown", "does not exist", "404"), "isn't in the registry",
     "Correct the image's name or tag, or push it"),
    (("no such host", "i/o timeout", "connection refused", "deadline exceeded", "tls"),
     "can't be reached: the registry doesn't answer", "Check the registry's address and the nodes' way to it"),
)  # fmt: skip
"""What registries and runtimes say, what it means, and its cure; the first that is said counts."""


def _why_no_image(told: str, reason: str) -> tuple[str, str]:
    if reason == "InvalidImageName":
        return "has a name no registry can have", "Correct the image's name"
    if reason == "ErrImageNeverPull":
        return "isn't on the node and imagePullPolicy is Never", "Load the image on the node or set imagePullPolicy"
    unsaid = "can't be pulled", "See the event's text"
    return next(((why, cure) for words, why, cure in _NO_IMAGE if any(word in told for word in words)), unsaid)


def config(question: TroubledCase) -> Diagnosis | None:
    """A Secret, ConfigMap or volume is missing."""
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
            evidence=(status(f"waiting: {state.reason}{said}"),),
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
        evidence=(event_told(last),),
        cure="Create the Secret or ConfigMap the volume names"
        if is_config
        else "See the event: the claim, its volume's zone, or another node that still holds it",
    )


def bad_command(question: TroubledCase) -> Diagnosis | None:
    """The program can't be run."""
    state, code = question.case.state, question.exit_code
    wrong_cpu = question.case.signs.of(Sign.ARCHITECTURE)
    reason = state.reason if state.reason in COMMAND_REASONS else question.ended_as
    missing = question.case.signs.of(Sign.COMMAND)
    if reason not in COMMAND_REASONS and code not in (126, 127) and not wrong_cpu:
        return None
    evidence = [status(ending(question))] if code is not None else []
    if state.reason in COMMAND_REASONS:
        evidence.append(status(f"waiting: {state.reason}" + (f": {template(state.message)}" if state.message else "")))
    evidence += [event_told(event) for event in question.events("Failed")[-1:]]
    evidence += [quoted(hit) for hit in (*wrong_cpu, *missing)[:1]]
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


def config_in_log(question: TroubledCase) -> Diagnosis | None:
    """The log names a missing setting, program or module."""
    hits = question.case.signs.of(Sign.CONFIG, Sign.COMMAND)
    if not hits or question.exit_code in (0, 137, 143, None):
        return None
    is_config = hits[-1].sign is Sign.CONFIG
    return Diagnosis(
        cause=Cause.CONFIG if is_config else Cause.BAD_COMMAND,
        confidence=Confidence.LIKELY,
        what=f"ends with exit code {question.exit_code} because "
        + ("a setting is missing or wrong" if is_config else "a program or module isn't in the image"),
        evidence=(counted(hits), status(ending(question))),
        cure="Set what the line names" if is_config else "Correct the command, or build the image with what is missing",
    )


def dependency(question: TroubledCase) -> Diagnosis | None:
    """Something the program needs doesn't answer."""
    hits = question.case.signs.of(Sign.DEPENDENCY)
    if not hits or question.exit_code in (0, 137, 143, None):
        return None
    return Diagnosis(
        cause=Cause.DEPENDENCY,
        confidence=Confidence.LIKELY,
        what=f"ends with exit code {question.exit_code} because something it needs doesn't answer",
        evidence=(counted(hits), status(ending(question))),
        cure="See whether the service it calls exists and is Ready; let the program wait and try again instead of ending",
    )
