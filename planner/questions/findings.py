"""The question *findings*: everything in a cluster that needs attention, from every package that checks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from planner.capacity.display_filter import Filter, Selection
from planner.capacity.fragmentation import waiting_in_vain
from planner.capacity.rollout_readiness import filtered
from planner.ground.answer_layout import Column, Listing
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.setting_declarations import settings_within
from planner.ground.words import Text, count
from planner.health.drift import service_differences as drift
from planner.health.memory import risks
from planner.health.restarts import report as restarts
from planner.inventory import api_types, cluster_oddities
from planner.kubernetes.object_records import Finding, Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.question import NOTHING, Fact, Inputs, Question, Want, fact
from planner.questions.table_wording import SEVERITY

# Each room that finds something adds its function: snapshot → findings.
SOURCES: Final[tuple[Callable[[Snapshot], Sequence[Finding]], ...]] = (
    cluster_oddities.check,
    restarts.findings,
    drift.findings,
    risks.check,
    waiting_in_vain,
)

_RANK: Final = {severity: place for place, severity in enumerate(SEVERITY)}


class FindingsSettings(Record):
    """Every room looks at everything; the filter says what of it is listed."""

    filter: Filter = settings_within(Filter)


class FindingsAnswer(Record):
    """All findings, the gravest first."""

    sentence: Text
    findings: tuple[Finding, ...]
    hidden: int = 0  # by the filter


def answer(snapshot: Snapshot, settings: FindingsSettings, inputs: Inputs = NOTHING) -> FindingsAnswer:
    """What every room finds; how old the snapshot is where the caller gives the time and it isn't meant to be old."""
    aged = () if inputs.now is None or inputs.is_embedded else cluster_oddities.check_age(snapshot, inputs.now)
    every = dict.fromkeys([*aged, *(finding for source in SOURCES for finding in source(snapshot))])
    findings = tuple(sorted(every, key=lambda finding: _RANK[finding.severity]))
    return narrowed(FindingsAnswer(sentence=summary(findings), findings=findings), filtered(snapshot, settings.filter))


def narrowed(whole: FindingsAnswer, selection: Selection) -> FindingsAnswer:
    """The findings that are let through; those about all that was read stay."""
    if selection.is_all:
        return whole
    findings = tuple(finding for finding in whole.findings if selection.about(finding.object))
    hidden = len(whole.findings) - len(findings)
    sentence = Text(f"{summary(findings)} {selection.said}; {hidden:,} hidden")
    return FindingsAnswer(sentence=sentence, findings=findings, hidden=hidden)


def summary(findings: Sequence[Finding]) -> Text:
    """``2 errors, 5 warnings, 1 note``."""
    counts = Counter(finding.severity for finding in findings)
    severity_counts = [count(counts[severity], word) for severity, word in SEVERITY.items() if counts[severity]]
    return Text(", ".join(severity_counts) or "Nothing found")


def facts(answer: FindingsAnswer) -> Iterator[Fact]:
    """How many findings there are, by severity and by code."""
    severities = Counter(finding.severity for finding in answer.findings)
    for severity in SEVERITY:
        yield fact("findings", severities[severity], "findings", severity=severity)
    codes = Counter((finding.code, finding.severity) for finding in answer.findings)
    for (code, severity), number in sorted(codes.items()):
        yield fact("findings_of_code", number, "findings", code=code, severity=severity)


def _line(finding: Finding) -> str:
    about = f"{finding.object}: " if finding.object else ""
    return f"{SEVERITY[finding.severity]}: {about}{finding.what}{f'. {finding.fix}' if finding.fix else ''}"


_FINDINGS: Final[Listing[FindingsAnswer, Finding]] = Listing(
    name="findings",
    line=_line,
    columns=(
        Column("severity"),
        Column("code", heading=None),
        Column("object"),
        Column("what"),
        Column("mend", attrgetter("fix"), heading="how to fix it"),
    ),
)

QUESTION: Final = Question(
    name="findings",
    settings=FindingsSettings,
    answer=answer,
    facts=facts,
    listings=(_FINDINGS,),
    about="""What is worth a person's attention: damaged and missing input, contradictory objects, restarts,
    differences behind trouble, risks of memory. The gravest first.

    Exits 0; --fail-on error,warning exits 5 when there is one.
    """,
    wants=(Want.CLOCK,),
    tells=tuple(api_types.READ),
    states={severity.value: ExitStatus.REFUSED for severity in SEVERITY},
    states_of=lambda answer: {finding.severity.value for finding in answer.findings},
    parts_hang_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
)
