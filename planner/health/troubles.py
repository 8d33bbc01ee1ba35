"""Troubles of each workload or node in one row: restarts, memory risks, drift between environments."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from planner.ground.records import Record
from planner.ground.table_formats import Row, alike
from planner.ground.words import count, duration, short_name
from planner.health.drift.model import DriftReport, ServiceDrift
from planner.health.memory.risks import brief as brief_risk
from planner.health.restarts.model import Loop
from planner.kubernetes.object_records import Finding, Severity, Snapshot

DRIFT = "drift"


class Trouble(Record):
    """What is wrong with `object` (a workload's key, or a node's). `kind` says it in a word, or several; `alike` is the same where the
    same is said of other objects; `lasting` how long already, "" where that isn't known; `fix` what to set."""

    object: str
    kind: str
    alike: Hashable
    what: tuple[str, ...]
    fix: str = ""
    lasting: str = ""
    is_grave: bool = False


def troubles(
    snapshot: Snapshot, loops: Sequence[Loop], risks: Sequence[Finding], report: DriftReport | None
) -> list[Trouble]:
    """One for each object, the gravest first: what restarts now, what memory risks, what a difference explains; then the rest."""
    services = report.services if report is not None else ()
    about = [risk for risk in risks if risk.object]
    every = [
        *(_of_loop(loop, snapshot.taken_at) for loop in loops if loop.is_live),
        *(_of_risk(risk) for risk in about if risk.severity is not Severity.INFO),
        *(trouble for service in services for trouble in _explained(service)),
        *(_of_loop(loop, snapshot.taken_at) for loop in loops if not loop.is_live),
        *(_of_risk(risk) for risk in about if risk.severity is Severity.INFO),
    ]
    # of what is named already a difference that explains nothing isn't said: of many rows that are alike one alone would have it
    named = {trouble.object for trouble in every}
    differing = (
        _differing(service, snapshot) for service in services if service.differences and not service.explanations
    )
    every += [trouble for trouble in differing if trouble.object not in named]
    return [_together(same) for same in alike(every, lambda trouble: trouble.object)]


def _together(same: Sequence[Trouble]) -> Trouble:
    return Trouble(
        object=same[0].object,
        kind=", ".join(dict.fromkeys(trouble.kind for trouble in same)),
        alike=tuple((trouble.kind, trouble.alike) for trouble in same),
        what=tuple(dict.fromkeys(what for trouble in same for what in trouble.what)),
        fix=next((trouble.fix for trouble in same if trouble.fix), ""),
        lasting=next((trouble.lasting for trouble in same if trouble.lasting), ""),
        is_grave=same[0].is_grave,
    )


def brief(loop: Loop) -> str:
    """``41 restarts: OOM-killed at its own limit``; of one that doesn't go on, or without a restart, how it stands."""
    state = count(loop.restarts, "restart") if loop.is_live and loop.restarts else loop.activity.words
    return f"{state}: {loop.diagnosis.cause.words}"


def _of_loop(loop: Loop, now: float) -> Trouble:
    return Trouble(
        object=loop.workload,
        kind="restarts",
        alike=(loop.activity, loop.diagnosis.cause, loop.container),
        what=(brief(loop),),
        fix=str(loop.suggestion.text if loop.suggestion is not None else loop.diagnosis.cure),
        lasting="" if loop.since is None else duration(now - loop.since),
        is_grave=loop.is_live,
    )


def _of_risk(risk: Finding) -> Trouble:
    return Trouble(object=risk.object, kind="memory", alike=risk.code, what=(brief_risk(risk),), fix=risk.fix)


def _explained(service: ServiceDrift) -> Iterator[Trouble]:
    fixes = {suggestion.workload: str(suggestion.suggestion.text) for suggestion in service.suggestions}
    for explanation in service.explanations:
        key, what = explanation.workload, (str(explanation.difference),)
        yield Trouble(object=key, kind=DRIFT, alike=service.service, what=what, fix=fixes.get(key, ""))


def _differing(service: ServiceDrift, snapshot: Snapshot) -> Trouble:
    """A service that differs, once: at a workload that isn't the one compared with."""
    by_environment = zip(service.environments, service.workloads, strict=True)
    keys = [key for name, key in by_environment if name != service.reference and snapshot.workload(key) is not None]
    key = next(iter(keys), service.workloads[0])
    fix = next((str(suggested.suggestion.text) for suggested in service.suggestions if suggested.workload == key), "")
    return Trouble(object=key, kind=DRIFT, alike=service.service, what=(str(service.sentence),), fix=fix)


def rows(every: Sequence[Trouble]) -> list[Row]:
    """Each in a row of named values; None where there is nothing to say."""
    return [
        {
            "service": short_name(trouble.object),
            "trouble": trouble.kind,
            "what is wrong": "; ".join(trouble.what),
            "for": trouble.lasting or None,
            "set": trouble.fix or None,
        }
        for trouble in every
    ]
