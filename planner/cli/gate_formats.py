"""Writes the gate's answer for a pipeline's log, a test report (JUnit), code scanning (SARIF), a pull request.

Names come out of clusters and manifests: each format escapes what its reader would obey.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from planner.capacity.gate_result import GatedWorkload
from planner.cli import gate_without_cluster, terminal
from planner.ground.exit_status import ExitStatus
from planner.ground.table_formats import Row, as_json, as_markdown, as_text
from planner.ground.words import count, duration, listing, literal, printable, sentence, usd
from planner.inventory.finding_texts import NOTES
from planner.kubernetes.object_records import Severity
from planner.questions.gate import SIGN, WORKLOADS, GateAnswer
from planner.questions.table_wording import listed
from planner.rollout.answers import Verdict
from planner.rollout.doubts import AS_DOUBTS, Doubt, Effect
from planner.sources.manifest_files import SourceLine

MARK: Final = "<!-- headroom gate -->"  # a pipeline finds its own comment by it, and edits it
_MOST_CHARACTERS: Final = 60_000  # GitHub takes 65,536 of a comment
_MOST_ROWS: Final = 100
_MOST_TOLD: Final = 20
_SARIF: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_DOUBT_RULE: Final = "headroom/doubt"
_RULES: Final = {
    Verdict.STUCK: "The rollout would never complete",
    Verdict.NEEDS_GROWTH: "The rollout completes only once there is room (a node pool has grown, or a free place)",
    Verdict.EVICTIONS_BY_QUEUE: "The rollout completes only once Kueue has evicted other workloads",
    Verdict.UNKNOWN: "Whether the rollout completes isn't known",
    Verdict.COMPLETES: "The rollout completes, and the policy refuses it or something may decide otherwise",
}


def text(gate_answer: GateAnswer, source: str) -> str:
    """For a terminal and a log."""
    parts = gate_without_cluster.lines(gate_answer) if gate_answer.without_cluster else [str(gate_answer.sentence), ""]
    if gate_answer.workloads and not gate_answer.without_cluster:
        parts.append(as_text(_rows(gate_answer), room=terminal.width()))
    for part in () if gate_answer.without_cluster else _worth_telling(gate_answer):
        parts += [f"{part.workload}: {part.sentence}"]
        parts += [f"  growth: {_growth(part)}"] if part.extra_nodes else []
        parts += [f"  warning: {warning}" for warning in part.warnings]
        parts += [f"  kube-scheduler: {part.scheduler_message}"] if part.scheduler_message else []
        parts += [f"  wherever it runs, it {part.room.sentence}"] if part.room is not None else []
        parts += [f"  policy: {refusal}" for refusal in part.refusals]
        parts += [
            f"  excepted until {exception.expires}: {exception.reason}" for exception in [part.exception] if exception
        ]
        for remedy in part.ways_out:
            parts.append(f"  way out: {remedy.title}: {remedy.sentence}; about {duration(remedy.seconds)}")
            parts += [f"    {remedy.command}"] if remedy.command else []
        parts.append("")
    parts += [f"policy: {refusal}" for refusal in gate_answer.refusals]
    parts += [f"policy: {expiry}" for expiry in _expired(gate_answer)]
    parts += [] if gate_answer.without_cluster else [_takes(gate_answer)]
    parts += [f"meanwhile: {event_beside.sentence}" for event_beside in gate_answer.meanwhile]
    parts += _beside(gate_answer)
    parts += [f"unchanged: {listing(gate_answer.unchanged, most=10)}"] if gate_answer.unchanged else []
    parts += [
        f"{finding.severity.value}: {finding.object + ': ' if finding.object else ''}{finding.what}. {finding.fix}"
        for finding in gate_answer.findings
        if finding.severity is not Severity.INFO and finding.code not in AS_DOUBTS
    ]
    lines = printable("\n".join([*parts, f"from {source}"])).rstrip().split("\n")
    columns = terminal.width()  # lines that begin with four spaces are commands to copy: folding would break them
    return "".join(f"{line if line[:4].isspace() else terminal.fitted(line, columns=columns)}\n" for line in lines)


def markdown(verdict: GateAnswer, source: str, link: str = "") -> str:
    """A comment for a pull request: verdict table, why, ways out, cost, link. It begins with `MARK`."""
    from importlib.metadata import version  # imported here: it loads the email package, which no other command needs

    head = f"{MARK}\n### {SIGN[verdict.passes]} Headroom: {literal(verdict.sentence)}\n"
    parts = [head, *(gate_without_cluster.markdown(verdict) if verdict.without_cluster else ())]
    if verdict.workloads and not verdict.without_cluster:
        parts.append(as_markdown(_rows(verdict, _MOST_ROWS)))
        if len(verdict.workloads) > _MOST_ROWS:
            parts.append(f"… and {len(verdict.workloads) - _MOST_ROWS} more\n")
    listed_workloads = [] if verdict.without_cluster else _worth_telling(verdict)
    parts += [_told(part, link) for part in listed_workloads[:_MOST_TOLD]]
    if len(listed_workloads) > _MOST_TOLD:
        parts.append(f"… and why of {len(listed_workloads) - _MOST_TOLD} more: run `headroom gate` for all of them\n")
    parts += [f"- policy: {literal(refusal)}\n" for refusal in map(str, (*verdict.refusals, *_expired(verdict)))]
    parts += [] if verdict.without_cluster else [f"{literal(_takes(verdict))}\n"]
    parts += [f"- meanwhile: {literal(event_beside.sentence)}\n" for event_beside in verdict.meanwhile]
    parts += [f"- {literal(line)}\n" for line in _beside(verdict)]
    if verdict.unchanged:
        parts.append(f"Unchanged: {literal(listing(verdict.unchanged, most=10))}\n")
    parts.append(f"<sub>From {literal(source)}, by Headroom {version('headroom-planner')}</sub>\n")
    whole = "\n".join(parts)
    cut = "\n\n… cut here: a comment can't be longer\n"
    return whole if len(whole) <= _MOST_CHARACTERS else whole[: _MOST_CHARACTERS - len(cut)] + cut


def junit(gate_answer: GateAnswer, places: Mapping[str, SourceLine]) -> str:
    """A JUnit report as Jenkins' junit-10.xsd has it: a test case a workload and way of asking; excepted ones are skipped."""
    from xml.etree import ElementTree as ET

    cases = []
    for part in gate_answer.workloads:
        is_both = len(gate_answer.workloads) > 1 and (
            not gate_answer.without_cluster or part.together is not part.alone
        )
        verdict_by_case = {"alone": part.alone, "together": part.together} if is_both else {"alone": part.alone}
        for name, verdict in verdict_by_case.items():
            case = ET.Element("testcase", classname=_xml(part.workload), name=f"rolls out {name}")
            if part.exception:
                exception_text = f"excepted until {part.exception.expires}: {part.exception.reason}"
                ET.SubElement(case, "skipped", message=_xml(exception_text))
            elif not part.passes and (verdict is part.verdict or part.verdict is Verdict.COMPLETES):
                message = _xml(_why(part))
                failure = ET.SubElement(case, "failure", type=_type(part, verdict), message=message)
                place = [f"in {places[part.workload].file}"] if part.workload in places else []
                failure.text = _xml("\n".join([_why(part), *_ways(part), *place]))
            cases.append(case)
    if gate_answer.refusals or not gate_answer.passes:
        case = ET.Element("testcase", classname="headroom gate", name="the whole change")
        if not gate_answer.passes:
            status = ExitStatus(gate_answer.exit_status).meaning
            failure = ET.SubElement(case, "failure", type=status, message=_xml(str(gate_answer.sentence)))
            failure.text = _xml("\n".join([str(gate_answer.sentence), *map(str, gate_answer.refusals)]))
        cases.append(case)
    counts: dict[str, Any] = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": "0",
    }
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    suites = ET.Element("testsuites", name="headroom", **counts)
    suite = ET.SubElement(suites, "testsuite", name="headroom gate", skipped=skipped, **counts)
    suite.extend(cases)
    if output_lines := [
        *map(str, gate_answer.notes[:1]),
        *gate_without_cluster.warnings(gate_answer),
        *_beside(gate_answer),
    ]:  # after the cases, as the schema has it
        ET.SubElement(suite, "system-out").text = _xml("\n".join(output_lines))
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def sarif(gate_answer: GateAnswer, places: Mapping[str, SourceLine]) -> str:
    """SARIF 2.1.0: a result for each workload that doesn't simply complete; excepted ones are suppressed."""
    from importlib.metadata import version

    rules = list(_RULES)
    results = []
    for part in _worth_telling(gate_answer):
        sarif_run: dict[str, Any] = {
            "ruleId": f"headroom/{_type(part, part.verdict)}",
            # An index into `rules` of the driver below: the verdicts', the doubts', the one of a need for room.
            "ruleIndex": len(rules) + 1 if gate_without_cluster.needs_room(part) else rules.index(part.verdict),
            "level": "note" if _is_plain_growth(part) else "warning" if part.passes else "error",
            "message": {"text": printable("\n".join([_named(part), *_ways(part)]))},
            "partialFingerprints": {"headroom/workload": part.workload},
        }
        place = places.get(part.workload)
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(place.file if place else "stdin")}}
        if place and place.line:
            physical["region"] = {"startLine": place.line}
        sarif_run["locations"] = [
            {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": part.workload}]}
        ]
        if part.exception:
            justification = f"{part.exception.reason} (until {part.exception.expires})"
            sarif_run["suppressions"] = [{"kind": "external", "status": "accepted", "justification": justification}]
        results.append(sarif_run)
    results += [_doubted(doubt, len(rules), places) for doubt in gate_answer.doubts]
    driver = {
        "name": "headroom",
        "version": version("headroom-planner"),
        "rules": [
            *(
                {"id": f"headroom/{verdict.value}", "shortDescription": {"text": description}}
                for verdict, description in _RULES.items()
            ),
            {"id": _DOUBT_RULE, "shortDescription": {"text": "What the answer isn't sure of"}},
            {
                "id": f"headroom/{gate_without_cluster.RULE}",
                "shortDescription": {"text": gate_without_cluster.RULE_WORDS},
            },
        ],
    }
    invocation: dict[str, Any] = {"executionSuccessful": True, "exitCode": gate_answer.exit_status}
    messages = [("warning", _preempted(gate_answer))] if gate_answer.preempted else []
    messages += [("note", note) for note in (*map(str, gate_answer.notes[:1]), *_notes(gate_answer))]
    if messages:
        invocation["toolExecutionNotifications"] = [
            {"level": level, "message": {"text": printable(message)}} for level, message in messages
        ]
    run = {"tool": {"driver": driver}, "results": results, "invocations": [invocation]}
    return as_json({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


def _doubted(doubt: Doubt, rule: int, places: Mapping[str, SourceLine]) -> dict[str, Any]:
    """A doubt as a result, at the place of the workload that it is about."""
    place = places.get(doubt.about)
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(place.file if place else "stdin")}}
    if place and place.line:
        physical["region"] = {"startLine": place.line}
    return {
        "ruleId": _DOUBT_RULE,
        "ruleIndex": rule,
        "level": "warning" if doubt.could_change is Effect.VERDICT else "note",
        "message": {"text": printable(str(doubt.sentence))},
        "partialFingerprints": {"headroom/doubt": f"{doubt.about}: {doubt.why}"},
        "locations": [{"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": doubt.about}]}],
    }


def github(verdict: GateAnswer, places: Mapping[str, SourceLine]) -> str:
    """Workflow commands of GitHub Actions: annotations at the workload's line, and the sentence.

    Source: GitHub's "Workflow commands", and actions/toolkit `packages/core/src/command.ts` for what is escaped.
    """
    lines = [_annotation("notice", str(note), title="headroom gate") for note in verdict.notes[:1]]
    for part in _worth_telling(verdict):
        level = "notice" if part.exception or _is_plain_growth(part) else "warning" if part.passes else "error"
        place = places.get(part.workload)
        about = {"file": place.file, "line": str(place.line) if place.line else ""} if place else {}
        lines.append(_annotation(level, "\n".join([_why(part), *_ways(part)]), title=part.workload, **about))
    for doubt in verdict.doubts:
        place = places.get(doubt.about)
        about = {"file": place.file, "line": str(place.line) if place.line else ""} if place else {}
        level = "warning" if doubt.could_change is Effect.VERDICT else "notice"
        lines.append(_annotation(level, str(doubt.sentence), title=doubt.about, **about))
    lines += [_annotation("warning", _preempted(verdict), title="headroom gate")] if verdict.preempted else []
    lines += [_annotation("notice", note, title="headroom gate") for note in _notes(verdict)]
    level = "notice" if verdict.passes else "error"
    lines += [
        _annotation(level, str(refusal), title="headroom gate") for refusal in (verdict.sentence, *verdict.refusals)
    ]
    return "".join(f"{line}\n" for line in lines)


def _annotation(level: str, message: str, **properties: str) -> str:
    property_text = ",".join(
        f"{name}={_command(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
        if value
    )
    return f"::{level} {property_text}::{_command(message)}"


def _command(value: str) -> str:
    return printable(value).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# ── what they share ──────────────────────────────────────────────────────────────────────────────────────────────────
def _rows(gate_answer: GateAnswer, most: int | None = None) -> list[Row]:
    return listed(WORKLOADS, gate_answer, gate_answer.workloads[:most])


def _type(part: GatedWorkload, verdict: Verdict) -> str:
    """What a report calls a verdict."""
    return (
        gate_without_cluster.RULE
        if gate_without_cluster.needs_room(part) and verdict is Verdict.NEEDS_GROWTH
        else verdict.value
    )


def _named(part: GatedWorkload) -> str:
    return (
        f"{part.workload} {_why(part)}"
        if part.room is not None and not part.doubts
        else f"{part.workload}: {_why(part)}"
    )


def _beside(gate_answer: GateAnswer) -> list[str]:
    """What stands beside the verdict whatever it is: pods of others that make way, how far a change reaches, and every doubt."""
    return [
        *([_preempted(gate_answer)] if gate_answer.preempted else []),
        *_notes(gate_answer),
        *(str(doubt.sentence) for doubt in gate_answer.doubts),
    ]


def _notes(gate_answer: GateAnswer) -> list[str]:
    """How far a change reaches: on how many nodes, up to how many GPUs."""
    reach = [f"{finding.object} {finding.what}" for finding in gate_answer.findings if finding.code in NOTES]
    return [*reach, *gate_without_cluster.after(gate_answer)]


def _preempted(gate_answer: GateAnswer) -> str:
    return f"preempted on the way: {listing(gate_answer.preempted, most=_MOST_TOLD)}"


def _worth_telling(gate_answer: GateAnswer) -> list[GatedWorkload]:
    return [
        part
        for part in gate_answer.workloads
        if part.verdict is not Verdict.COMPLETES or part.refusals or part.but or part.warnings
    ]


def _why(part: GatedWorkload) -> str:
    sentences = [str(part.sentence)] if part.verdict is not Verdict.COMPLETES or part.but else []
    sentences += [_growth(part)] if part.extra_nodes else []
    return "; ".join([*sentences, *map(str, part.refusals), *(f"warning: {warning}" for warning in part.warnings)])


def _is_plain_growth(part: GatedWorkload) -> bool:
    """Whether it passes, and nothing speaks against it: nodes come by themselves."""
    return part.passes and part.is_growth_automatic and not part.warnings


def _growth(part: GatedWorkload) -> str:
    """``1 more node, 2 GPUs: $512 a month while it is there``."""
    dollars = part.added_usd_per_month
    cost = "what that costs isn't known" if dollars is None else f"{usd(dollars)} a month"
    gpus = f", {part.nouns.count(part.extra_gpus)}" if part.extra_gpus else ""
    return f"{count(part.extra_nodes, 'more node', 'more nodes')}{gpus}: {cost} while {'it is' if part.extra_nodes == 1 else 'they are'} there"


def _ways(part: GatedWorkload) -> list[str]:
    return gate_without_cluster.ways(part) + [
        f"way out: {remedy.title}: {remedy.sentence}{': ' + remedy.command if remedy.command else ''}"
        for remedy in part.ways_out
    ]


def _takes(gate_answer: GateAnswer) -> str:
    """What the change takes beyond today, in one line."""
    gpus = (
        f"{gate_answer.nouns.count(gate_answer.extra_gpus)} more than today"
        if gate_answer.extra_gpus
        else "no more GPUs than today"
    )
    if not all(part.is_told for part in gate_answer.workloads if part.exception is None):
        gpus = f"{gpus} as far as is known"
    if gate_answer.extra_usd_per_month is None:
        return f"takes {gpus}; what that costs isn't known"
    return f"takes {gpus}; {usd(gate_answer.extra_usd_per_month)} more a month after sustained use"


def _expired(gate_answer: GateAnswer) -> list[str]:
    return [
        f"the exception for {exception.workload} expired on {exception.expires} ({exception.reason})"
        for exception in gate_answer.expired
    ]


def _told(part: GatedWorkload, link: str) -> str:
    title = literal(part.workload)
    if link:
        title = f"[{title}]({link.rstrip('/')}/rollout?workload={quote(part.workload, safe='')})"
    lines = [f"**{title}**: {literal(sentence(_why(part)))}"]
    if part.scheduler_message:
        lines.append(f"\nkube-scheduler: {literal(part.scheduler_message)}")
    if part.room is not None:
        lines.append(f"\nWherever it runs, it {literal(part.room.sentence)}.")
    if part.exception:
        lines.append(f"\nExcepted until {part.exception.expires}: {literal(part.exception.reason)}")
    for remedy in part.ways_out:
        lines.append(
            f"\n- way out: {literal(remedy.title)}: {literal(remedy.sentence)}; about {duration(remedy.seconds)}"
        )
        if remedy.command:
            lines.append(f"\n  ```sh\n  {printable(remedy.command, one_line=True)}\n  ```")
    return "\n".join(lines) + "\n"


def _xml(text: str) -> str:
    """`text` without what XML 1.0 can't hold."""
    return "".join(sign for sign in printable(text) if sign not in "\ufffe\uffff")
