"""A container's case as a rule is asked it, and the pieces of evidence rules give."""

from __future__ import annotations

from planner.ground.records import Record
from planner.ground.words import count
from planner.kubernetes.records import Event
from planner.restarts.lines import last_words, template
from planner.restarts.model import Confidence, Evidence, EvidenceSource, Peers
from planner.restarts.population import Case
from planner.restarts.pressure import Pressure
from planner.restarts.signs import Hit

SAME_MOMENT_SECONDS = 300.0


class TroubledCase(Record):
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


def is_near(question: TroubledCase, event: Event) -> bool:
    """Whether an event happened at about the moment of the last ending."""
    ended = question.ended_at
    return ended is None or event.last_seen_at is None or abs(event.last_seen_at - ended) <= SAME_MOMENT_SECONDS


def status(text: str) -> Evidence:
    """What the pod's status says."""
    return Evidence(EvidenceSource.STATUS, text)


def spec(text: str) -> Evidence:
    """What the spec, or the node, says."""
    return Evidence(EvidenceSource.SPEC, text)


def event_told(event: Event) -> Evidence:
    """What an event says, with how often."""
    times = f" ({event.count:,} times)" if event.count > 1 else ""
    return Evidence(EvidenceSource.EVENT, f"{event.reason}: {template(event.message)}{times}")


def quoted(hit: Hit) -> Evidence:
    """A log line, as a template."""
    return Evidence(EvidenceSource.LOG, f"“{hit.template}”")


def counted(hits: tuple[Hit, ...]) -> Evidence:
    """The last of some log lines, with how many there are."""
    return Evidence(EvidenceSource.LOG, f"“{hits[-1].template}” ({count(len(hits), 'line')})")


def ending(question: TroubledCase) -> str:
    """The last ending in words."""
    reason = question.ended_as or "no reason kept"
    return f"ended: {reason}, exit code {question.exit_code}"


def probe_evidence(question: TroubledCase) -> list[Evidence]:
    """The events of failing probes and kills."""
    return [event_told(event) for event in question.events("Unhealthy", "Killing")][-3:]


def last_lines(question: TroubledCase) -> list[Evidence]:
    """The last words of the run that ended."""
    lines = question.case.previous_lines or question.case.lines
    return [Evidence(EvidenceSource.LOG, f"“{words}”") for words in last_words(lines)]


def how_it_stands(question: TroubledCase) -> list[Evidence]:
    """What the status shows of it, as evidence."""
    if question.exit_code is not None:
        return [status(ending(question))]
    if question.case.state.state == "running":
        return [status("the container itself runs: its status shows nothing of this")]
    return []


def and_then(question: TroubledCase) -> str:
    """What Kubernetes shows of it, as the end of a sentence."""
    if question.exit_code is not None:
        return f"; Kubernetes only shows exit code {question.exit_code}"
    return ", inside a container that runs on: Kubernetes shows nothing"


def rank(confidence: Confidence) -> int:
    """Weakest first."""
    return (Confidence.POSSIBLE, Confidence.LIKELY, Confidence.CERTAIN).index(confidence)
