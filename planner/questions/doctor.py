"""The question *doctor*: what can be read of a cluster, what is missing, and the permissions that add it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from planner.ground.answer_layout import Column, Listing
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.words import NO_WORDS, Text, count, listing
from planner.inventory import api_types, input_report
from planner.inventory.cluster_oddities import needed_kinds
from planner.inventory.input_report import ServerLoad, listed_in
from planner.kubernetes.object_records import Finding, Presence, Severity, Snapshot
from planner.kubernetes.unplayed_kinds import Listed
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.rollout import recording_agreement


class Weight(StrEnum):
    """What depends on a kind that isn't there."""

    DECIDES = "decides"  # verdicts
    MATTERS = "matters"  # an answer lacks something
    NOTHING = "nothing"  # nothing here needs it


_WEIGHTS: Final = {Severity.ERROR: Weight.DECIDES, Severity.WARNING: Weight.DECIDES, Severity.INFO: Weight.MATTERS}


class DoctorSettings(Record):
    """Nothing is asked: every kind that is read."""


class KindRead(Record):
    """One kind. `objects` is None where it wasn't listed; `costs` says what its lack costs, "" where nothing."""

    kind: str
    group: str
    resource: str
    presence: Presence
    objects: int | None
    weight: Weight
    costs: Text


class DoctorAnswer(Record):
    """`rbac` is a ClusterRole (YAML) with exactly what was refused, `command` what fetches what wasn't in the input; ""
    where nothing is lacking. `load`: what reading cost the API server, None where none was asked. `recorded`: how often verdicts are right."""

    sentence: Text
    kinds: tuple[KindRead, ...]
    problems: tuple[Finding, ...]
    rbac: str
    command: str
    load: ServerLoad | None = None
    recorded: Text = NO_WORDS


def answer(snapshot: Snapshot, _settings: DoctorSettings, inputs: Inputs = NOTHING) -> DoctorAnswer:
    """Every kind that is read, how it went, and what would bring what is missing."""
    costs = needed_kinds(snapshot)
    kinds = []
    for name, kind in api_types.READ.items():
        presence = snapshot.presence.get(name, Presence.ABSENT)
        is_there = presence in (Presence.PRESENT, Presence.INFERRED)
        severity, cost_text = costs.get(name, (None, ""))
        kinds.append(
            KindRead(
                kind=name, group=kind.group, resource=kind.resource, presence=presence,
                objects=sum(getattr(one, "kind", name) == name for one in getattr(snapshot, kind.field)) if is_there else None,
                weight=_WEIGHTS[severity] if severity else Weight.NOTHING, costs=Text("" if is_there else cost_text),
            )
        )  # fmt: skip
    kinds += [_listed(snapshot, listed) for listed in listed_in(snapshot)]
    refused = [kind_read.kind for kind_read in kinds if kind_read.presence is Presence.REFUSED]
    absent = [one.kind for one in kinds if one.presence is Presence.ABSENT and one.weight is not Weight.NOTHING]
    return DoctorAnswer(
        sentence=Text(_sentence(kinds)),
        kinds=tuple(kinds),
        problems=tuple(problem for problem in snapshot.problems if problem.severity is not Severity.INFO),
        rbac=input_report.role(refused) if refused else "",
        command=input_report.get_command(absent) if absent else "",
        load=inputs.load,
        recorded=recording_agreement.sentence(),
    )


def _listed(snapshot: Snapshot, kind: Listed) -> KindRead:
    """One of the kinds that aren't played, of those that the cluster has to do with."""
    objects = sum((each.kind, each.api_group) == (kind.kind, kind.group) for each in snapshot.unplayed)
    presence = snapshot.presence.get(kind.name, Presence.PRESENT if objects else Presence.ABSENT)
    is_there = presence is Presence.PRESENT
    return KindRead(
        kind=kind.name, group=kind.group, resource=kind.resource, presence=presence, objects=objects if is_there else None,
        weight=Weight.MATTERS, costs=NO_WORDS if is_there else Text("whether a change of one moves its pods is not known"),
    )  # fmt: skip


def _sentence(kinds: list[KindRead]) -> str:
    lacking = [kind for kind in kinds if kind.objects is None and kind.weight is not Weight.NOTHING]
    read = count(sum(kind.objects is not None for kind in kinds), "kind")
    if not lacking:
        return f"Everything that answers need could be read: {read}."
    refused = [kind.kind for kind in lacking if kind.presence is Presence.REFUSED]
    absent = [kind.kind for kind in lacking if kind.presence is Presence.ABSENT]
    parts = [f"refused: {listing(refused, most=None)}"] if refused else []
    parts += [f"not in the input: {listing(absent, most=None)}"] if absent else []
    return f"{read} could be read; {'; '.join(parts)}."


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _load(load: ServerLoad) -> str:
    asked, most = count(load.requests_last_minute, "request"), load.most_per_minute
    return (
        f"Load: {asked} to the API server in the last minute, never more than {most} in any. headroom app and serve watch "
        "it: about a dozen a minute, however many look."
    )


def _codes(inventory: DoctorAnswer) -> dict[str, str]:
    codes = {
        "Rights to add, with kubectl apply -f, and bound to who reads": inventory.rbac,
        "To add what isn't in the input": inventory.command,
    }
    return {what: code for what, code in codes.items() if code}


def _is_needless(kind_read: KindRead) -> bool:
    """It isn't in the input, and no answer about this cluster depends on it."""
    return kind_read.presence is Presence.ABSENT and kind_read.weight is Weight.NOTHING


def _needless(inventory: DoctorAnswer) -> str:
    kinds = [kind.kind for kind in inventory.kinds if _is_needless(kind)]
    return f"Not in the input, and nothing that was read asks for them: {listing(kinds, most=None)}." if kinds else ""


_KINDS: Final[Listing[DoctorAnswer, KindRead]] = Listing(
    name="kinds",
    unknown="–",
    told=lambda inventory: [kind for kind in inventory.kinds if not _is_needless(kind)],
    note=_needless,
    columns=(
        Column("kind", label="kind"),
        Column("group"),
        Column("presence", heading="state", metric="kind_presence"),
        Column("objects", metric="kind_objects", unit="objects"),
        Column("weight", heading=None),
        Column("costs", heading="without it"),
    ),
)


def _status(inventory: DoctorAnswer) -> ExitStatus:
    lacks = any(kind.objects is None and kind.weight is Weight.DECIDES for kind in inventory.kinds)
    return ExitStatus.NOT_KNOWN if lacks else ExitStatus.ANSWERED


_LOAD: Final[Listing[DoctorAnswer, ServerLoad]] = Listing(
    name="load",
    items=lambda inventory: (inventory.load,) if inventory.load else (),
    line=_load,
    columns=(
        Column("requests_last_minute", metric="api_requests_last_minute", unit="requests"),
        Column("most_per_minute", metric="api_requests_per_minute_limit", unit="requests"),
    ),
)

QUESTION: Final = Question(
    name="doctor",
    settings=DoctorSettings,
    answer=answer,
    listings=(_KINDS, _LOAD),
    notes=lambda inventory: (
        *(f"{problem.severity.value}: {problem.what}. {problem.fix}" for problem in inventory.problems),
        str(inventory.recorded),
    ),
    codes=_codes,
    about="""What can be read of the cluster, what is missing, the answers without it, and the exact rights to add.

    Exits 4 where verdicts depend on something that is missing.
    """,
    wants=(Want.LOAD,),
    status=_status,
)
