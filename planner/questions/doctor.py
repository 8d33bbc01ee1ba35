"""What can be read of a cluster, what is missing, which answers that costs, and the rights that would bring it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from planner.ground.exit_status import ExitStatus
from planner.ground.tables import Row
from planner.ground.words import Text, count, listing
from planner.inventory import account, wire
from planner.inventory.account import ServerLoad
from planner.inventory.checks import needed_kinds
from planner.kubernetes.records import Finding, Presence, Severity, Snapshot
from planner.questions.question import NOTHING, Fact, Given, Question, fact


class Weight(StrEnum):
    """What hangs on a kind that isn't there."""

    DECIDES = "decides"  # verdicts
    MATTERS = "matters"  # an answer lacks something
    NOTHING = "nothing"  # nothing here needs it


_WEIGHTS: Final = {Severity.ERROR: Weight.DECIDES, Severity.WARNING: Weight.DECIDES, Severity.INFO: Weight.MATTERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorSettings:
    """Nothing is asked: every kind that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRead:
    """One kind. `objects` is None where it wasn't listed; `costs` says what its lack costs, "" where nothing."""

    kind: str
    group: str
    resource: str
    presence: Presence
    objects: int | None
    weight: Weight
    costs: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorAnswer:
    """`rbac` is a ClusterRole (YAML) with exactly what was refused, `command` what fetches what wasn't in the input; ""
    where nothing is lacking. `load`: what reading cost the API server, None where none was asked."""

    sentence: Text
    kinds: tuple[KindRead, ...]
    problems: tuple[Finding, ...]
    rbac: str
    command: str
    load: ServerLoad | None = None


def answer(snapshot: Snapshot, _settings: DoctorSettings, given: Given = NOTHING) -> DoctorAnswer:
    """Every kind that is read, how it went, and what would bring what is missing."""
    costs = needed_kinds(snapshot)
    kinds = []
    for name, kind in wire.READ.items():
        presence = snapshot.presence.get(name, Presence.ABSENT)
        is_there = presence in (Presence.PRESENT, Presence.INFERRED)
        severity, said = costs.get(name, (None, ""))
        kinds.append(
            KindRead(
                kind=name, group=kind.group, resource=kind.resource, presence=presence,
                objects=sum(getattr(one, "kind", name) == name for one in getattr(snapshot, kind.field)) if is_there else None,
                weight=_WEIGHTS[severity] if severity else Weight.NOTHING, costs=Text("" if is_there else said),
            )
        )  # fmt: skip
    refused = [one.kind for one in kinds if one.presence is Presence.REFUSED]
    absent = [one.kind for one in kinds if one.presence is Presence.ABSENT and one.weight is not Weight.NOTHING]
    return DoctorAnswer(
        sentence=Text(_sentence(kinds)),
        kinds=tuple(kinds),
        problems=tuple(one for one in snapshot.problems if one.severity is not Severity.INFO),
        rbac=role(refused) if refused else "",
        command=account.get_command(absent) if absent else "",
        load=given.load,
    )


def role(kinds: Iterable[str]) -> str:
    """A ClusterRole that lets list `kinds`, as YAML."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in kinds:
        groups[wire.READ[name].group].append(wire.READ[name].resource)
    rules = "".join(
        f'  - apiGroups: ["{group}"]\n    resources: [{", ".join(resources)}]\n    verbs: [list]\n'
        for group, resources in groups.items()
    )
    head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: headroom-more\nrules:\n"
    return head + rules


def _sentence(kinds: list[KindRead]) -> str:
    lacking = [one for one in kinds if one.objects is None and one.weight is not Weight.NOTHING]
    read = count(sum(one.objects is not None for one in kinds), "kind")
    if not lacking:
        return f"Everything that answers need could be read: {read}."
    refused = [one.kind for one in lacking if one.presence is Presence.REFUSED]
    absent = [one.kind for one in lacking if one.presence is Presence.ABSENT]
    parts = [f"refused: {listing(refused, most=None)}"] if refused else []
    parts += [f"not in the input: {listing(absent, most=None)}"] if absent else []
    return f"{read} could be read; {'; '.join(parts)}."


def facts(found: DoctorAnswer) -> Iterator[Fact]:
    """How each kind was read, and what it cost the API server."""
    if found.load is not None:
        yield fact("api_requests_last_minute", found.load.requests_last_minute, "requests")
        yield fact("api_requests_per_minute_limit", found.load.most_per_minute, "requests")
    for one in found.kinds:
        yield fact("kind_presence", one.presence.value, kind=one.kind)
        yield fact("kind_objects", one.objects, "objects", kind=one.kind)


def kind_rows(found: DoctorAnswer) -> list[Row]:
    """One row a kind."""
    return [
        {
            "kind": one.kind,
            "group": one.group,
            "presence": one.presence,
            "objects": one.objects,
            "weight": one.weight,
            "costs": one.costs,
        }
        for one in found.kinds
    ]


def _status(found: DoctorAnswer) -> ExitStatus:
    lacks = any(one.objects is None and one.weight is Weight.DECIDES for one in found.kinds)
    return ExitStatus.NOT_KNOWN if lacks else ExitStatus.ANSWERED


QUESTION: Final = Question(
    name="doctor",
    settings=DoctorSettings,
    result=DoctorAnswer,
    answer=answer,
    facts=facts,
    tables={"kinds": kind_rows},
    status=_status,
)
