"""Words of verdicts and reasons, for pages, commands and documents."""

from __future__ import annotations

from typing import Final

from planner.ground.words import Text
from planner.ground.words import sentence as as_sentence
from planner.rollout.answers import Reason, Verdict

GLYPH: Final = {
    Verdict.COMPLETES: "✓",
    Verdict.STUCK: "✗",
    Verdict.NEEDS_GROWTH: "△",
    Verdict.EVICTIONS_BY_QUEUE: "▽",
    Verdict.UNKNOWN: "?",
}
WORD: Final = {
    Verdict.COMPLETES: "Completes",
    Verdict.STUCK: "Stuck",
    Verdict.NEEDS_GROWTH: "Needs growth",
    Verdict.EVICTIONS_BY_QUEUE: "Evicts others",
    Verdict.UNKNOWN: "Unknown",
}
REASON: Final = {
    reason: reason.value.replace("_", " ") for reason in Reason
} | {  # where the word itself says too little
    Reason.NONE: "",
    Reason.HOLD_AND_WAIT: "waits for itself",
    Reason.INSUFFICIENT_RESOURCE: "not enough left",
    Reason.NEVER_READY: "never Ready",
    Reason.IGNORED: "ignored by its controller",
    Reason.ADMISSION: "refused at admission",
    Reason.POD_AFFINITY: "pod (anti-)affinity",
    Reason.HOST_PORT: "host port taken",
    Reason.TOO_MANY_PODS: "node's pod limit",
    Reason.DEVICE: "device claims",
    Reason.VOLUME_ATTACHED: "its volume is on another node",
    Reason.QUEUE: "Kueue's queue",
    Reason.OTHER_SCHEDULER: "another scheduler's",
    Reason.ON_DELETE: "waits for deletion by hand",
    Reason.POD_MANAGEMENT: "waits for a broken pod",
    Reason.STALE_ANNOTATION: "waits for an annotation to be set right",
    Reason.SILENT_NODE: "waits for a node that doesn't answer",
    Reason.SURGE_DROPPED: "never starts: its surge is given back at once",
}


def stay_ready(lowest: int, replicas: int) -> str:
    """What a rollout keeps: ``all 6 pods stay Ready``, ``at least 5 of 6 pods stay Ready``."""
    if not lowest:
        return "for a while none of its pods is Ready" if replicas else "it has no pods"
    if replicas == 1:
        return "its pod stays Ready"
    ready_text = f"all {replicas:,}" if lowest >= replicas else f"at least {lowest:,} of {replicas:,}"
    return f"{ready_text} pods stay Ready"


def title(verdict: Verdict, headline: str | Text) -> str:
    """``✗ Stuck: the new pod needs 4 A100s``; of what needs room, where no cluster was given, ``△ Needs room for 1 more pod``."""
    text = str(headline)
    if verdict is Verdict.NEEDS_GROWTH and text.startswith("needs "):  # it is the verdict
        return f"{GLYPH[verdict]} {text[0].upper()}{text[1:]}"
    return f"{GLYPH[verdict]} {WORD[verdict]}{f': {text}' if text else ''}"


def details(verdict: Verdict, sentence: str | Text) -> str:
    """The sentence without the verdict it may begin with, for where a headline or a badge has said that."""
    head, colon, tail = str(sentence).partition(": ")
    return as_sentence(tail if colon and head == verdict.value.replace("_", " ") else sentence)


def words(verdict: Verdict, reason: Reason = Reason.NONE) -> str:
    """``✗ Stuck: waits for itself``; of what is unknown for a reason that is, only that."""
    reason_text = REASON[reason] if reason is not Reason.UNKNOWN or verdict is not Verdict.UNKNOWN else ""
    return f"{GLYPH[verdict]} {WORD[verdict]}" + (f": {reason_text}" if reason_text else "")
