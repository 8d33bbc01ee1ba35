"""One container's case as diagnosis rules read it, pieces of evidence, and causes' words (`causes.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.records import Record
from planner.ground.words import count
from planner.health.restarts.container_observations import ContainerCase
from planner.health.restarts.container_pressure import Pressure
from planner.health.restarts.known_messages import Hit
from planner.health.restarts.log_line_templates import last_words, template
from planner.health.restarts.model import Cause, Confidence, Diagnosis, Evidence, EvidenceSource, Peers
from planner.health.restarts.status_messages import with_message
from planner.kubernetes.object_records import EMPTY, Event
from planner.kubernetes.status_reasons import Place

SAME_MOMENT_SECONDS = 300.0
EVENT_TTL_SECONDS = 3_600.0


class _Outcome(Record):
    """What a rule may find: `what` and `cure` with the names of what is put in."""

    cause: Cause
    confidence: Confidence = Confidence.CERTAIN
    what: str
    cure: str
    wants_memory: bool = False


_TABLE: Final = table_beside(__name__, "causes.json")
OUTCOMES: Final = typed_json.decode(_TABLE, dict[str, _Outcome])


def diagnosis(
    outcome: str,
    *evidence: Evidence,
    cause: Cause | None = None,
    confidence: Confidence | None = None,
    behind: Mapping[str, Any] = EMPTY,
    **words: object,
) -> Diagnosis:
    """An outcome of a rule in words; what is given goes before what stands in the table. `behind`: as `Pressure` has it."""
    outcome_definition = OUTCOMES[outcome]
    return Diagnosis(
        cause=cause or outcome_definition.cause,
        confidence=confidence or outcome_definition.confidence,
        what=outcome_definition.what.format_map(words),
        evidence=evidence,
        cure=outcome_definition.cure.format_map(words),
        **{"wants_memory": outcome_definition.wants_memory, **behind},
    )


class TroubledCase(Record):
    """A case with what its peers say and what it is short of."""

    case: ContainerCase
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
    def reasons(self) -> tuple[tuple[Place, str, str], ...]:
        """Place, reason and message of what the container waits for and of its last ending."""
        state = self.case.state
        reasons: list[tuple[Place, str, str]] = []
        if state.state == "waiting" and state.reason:
            reasons.append(("waiting", state.reason, state.message))
        if self.ended_as:
            message = state.message if state.state == "terminated" else state.last_message
            reasons.append(("terminated", self.ended_as, message))
        return tuple(reasons)

    def told_as(self, place: Place, reason: str, message: str) -> Evidence:
        head = (
            "waiting" if place == "waiting" else "pod" if place == "pod" else f"ended with exit code {self.exit_code}"
        )
        return status(f"{head}: {with_message(reason, message)}")

    @property
    def has_end_events(self) -> bool:
        """Whether the events of the last ending were looked at: what a probe, a hook or the node did there stands in them.

        The API server keeps events for an hour (kube-apiserver ``--event-ttl``), so that of an older ending there are none.
        """
        ended = self.case.ended_at
        return self.case.has_events and (ended is None or self.case.taken_at - ended <= EVENT_TTL_SECONDS)

    @property
    def run_seconds(self) -> float | None:
        """How long the last finished run took."""
        state, end = self.case.state, self.case.ended_at
        begin = state.started_at if state.state == "terminated" else state.last_started_at
        return None if begin is None or end is None else end - begin

    def events(self, *reasons: str, having: str = "") -> tuple[Event, ...]:
        return tuple(e for e in self.case.events if e.reason in reasons and having in e.message)

    def near_node_events(self, *reasons: str) -> list[Event]:
        """What its node said for these reasons at about the moment of the last ending."""
        ended = self.case.ended_at
        return [
            event
            for event in self.case.node_events
            if event.reason in reasons
            and (ended is None or event.last_seen_at is None or abs(event.last_seen_at - ended) <= SAME_MOMENT_SECONDS)
        ]


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


def counted(hits: tuple[Hit, ...]) -> Evidence:
    """The last of some log lines, with how many there are."""
    return Evidence(EvidenceSource.LOG, f"“{hits[-1].template}” ({count(len(hits), 'line')})")


def ending(question: TroubledCase) -> Evidence:
    """The last ending in words."""
    return status(f"ended: {question.ended_as or 'no reason kept'}, exit code {question.exit_code}")


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
        return [ending(question)]
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
