"""Writes the gate's answer without a cluster: the room that each rollout needs, and a manifest that needs none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import yaml

from planner.capacity.gate_result import GatedWorkload
from planner.cli import terminal
from planner.ground.records import replace
from planner.ground.table_formats import Row, as_markdown, as_text
from planner.ground.words import count, listing, literal
from planner.inventory.helm_value_paths import HelmChart, chart_values
from planner.questions.gate import SIGN, GateAnswer
from planner.rollout.answers import Verdict
from planner.rollout.clusterless_room_need import ManifestCure, Need, RoomNeed
from planner.sources.manifest_files import SourceLine

RULE: Final = "needs_room"
"""What a report calls the failure of a workload that needs room."""
RULE_WORDS: Final = "The rollout completes only once there is room: a free place, or a pool that has grown"
_CURES_TOLD: Final = 2
_SHORT: Final = {Need.NOTHING: "none", Need.NEVER: "no room is enough", Need.UNKNOWN: "not known"}


def needs_room(part: GatedWorkload) -> bool:
    """Whether it is told by the room it needs, and needs some."""
    return part.room is not None and part.verdict is Verdict.NEEDS_GROWTH


def rows(parts: Sequence[GatedWorkload]) -> list[Row]:
    """A row a workload: what it needs, and how few of its pods are Ready with that."""
    return [
        {
            " ": "–" if part.exception else SIGN[part.passes],
            "workload": part.workload,
            "room": _short(part),
            "Ready at worst": f"{part.lowest_ready} of {part.replicas:,}" if part.lowest_ready is not None else "–",
        }
        for part in parts
    ]


def _short(part: GatedWorkload) -> str:
    room = part.room
    if room is None or room.need in _SHORT:
        return _SHORT[room.need] if room is not None else "not known"
    room_text = count(room.places, f"more {room.unit}", f"more {room.unit}s") if room.places else ""
    room_text += " a node" if room.is_per_node else ""
    return " and ".join(filter(None, (room_text, "the same node" if room.needs_same_node else "")))


def lines(gate_answer: GateAnswer) -> list[str]:
    """The first lines, the table, each workload with its cures, all of them together."""
    parts = [*map(str, gate_answer.notes[:1]), str(gate_answer.sentence), ""]
    if gate_answer.workloads:
        parts.append(as_text(rows(gate_answer.workloads), room=terminal.width()))
    for part in gate_answer.workloads:
        parts += [whole(part), *(f"  {line}" for line in _beside(part))]
        for place, (title, cure) in enumerate(_cures(part.room)):
            parts += [f"  way out: {title}", *(f"    {line}" for line in cure.manifest.splitlines())]
            if cure.values:
                parts += ["  as values of the chart:", *(f"    {line}" for line in cure.values.splitlines())]
            elif cure.no_values and not place:
                parts.append(f"  as values of the chart: not known: {cure.no_values}")
            if not place:
                parts += ["  as a patch of a kustomization:", *(f"    {line}" for line in cure.kustomize.splitlines())]
    return [*parts, ""]


def whole(part: GatedWorkload) -> str:
    """``Deployment/speech/diarizer needs room for 1 more pod …``"""
    sentence = str(part.sentence)
    return f"{part.workload}: {sentence}" if sentence.startswith("not known") else f"{part.workload} {sentence}"


def _beside(part: GatedWorkload) -> Iterator[str]:
    yield from (f"warning: {warning}" for warning in part.warnings)
    yield from (f"policy: {refusal}" for refusal in part.refusals)
    if part.room is not None and part.room.fits_spare:
        yield "policy: it fits into what a node always has free (spare)"
    if part.exception:
        yield f"excepted until {part.exception.expires}: {part.exception.reason}"


def warnings(gate_answer: GateAnswer) -> list[str]:
    """What is told of workloads beside their room, each with its name."""
    roomy_workloads = [part for part in gate_answer.workloads if gate_answer.without_cluster and part.room is not None]
    return [f"{part.workload}: {line}" for part in roomy_workloads for line in _beside(part)]


def after(verdict: GateAnswer) -> list[str]:
    """What stands after the workloads: all of them at once, what rolls nothing out, what is taken to be so."""
    clauses = [str(verdict.together_sentence)] if str(verdict.together_sentence) else []
    clauses += [f"rolls nothing out: {listing(list(verdict.rolls_nothing), most=10)}"] if verdict.rolls_nothing else []
    return [*clauses, *map(str, verdict.notes[1:])]


def with_values(gate_answer: GateAnswer, chart: HelmChart, places: Mapping[str, SourceLine]) -> GateAnswer:
    """The answer with each cure as values of the chart that made the workload, or why they aren't known."""

    def told(part: GatedWorkload, cure: ManifestCure) -> ManifestCure:
        patch = yaml.safe_load(yaml.safe_load(cure.kustomize)["patches"][0]["patch"])
        source = places[part.workload].file if part.workload in places else "standard input"
        values = chart_values(chart, source, part.workload.partition("/")[0], {"spec": patch["spec"]})
        return replace(cure, values=values.text, no_values=values.why)

    def of(part: GatedWorkload) -> GatedWorkload:
        if part.room is None:
            return part
        return replace(part, room=replace(part.room, cures=tuple(told(part, cure) for cure in part.room.cures)))

    return replace(gate_answer, workloads=tuple(map(of, gate_answer.workloads)))


def _cures(room: RoomNeed | None) -> Iterator[tuple[str, ManifestCure]]:
    for cure in room.cures[:_CURES_TOLD] if room is not None else ():
        verb = "is" if cure.replicas == 1 else "are"
        yield (
            f"{cure.title}: at worst {cure.lowest_ready} of {cure.replicas:,} {verb} Ready",
            cure,
        )


def ways(part: GatedWorkload) -> list[str]:
    """Its cures, each in a line, with the manifest's lines after it."""
    return [f"way out: {title}\n{cure.manifest.rstrip()}" for title, cure in _cures(part.room)]


def markdown(gate_answer: GateAnswer) -> list[str]:
    """The parts of a comment after its head."""
    parts = [f"{literal(note)}\n" for note in map(str, gate_answer.notes[:1])]
    parts += [as_markdown(rows(gate_answer.workloads))] if gate_answer.workloads else []
    for part in gate_answer.workloads:
        name, sentence = literal(part.workload), literal(str(part.sentence))
        parts.append(f"**{name}**{':' if sentence.startswith('not known') else ''} {sentence}\n")
        parts += [f"- {literal(line)}\n" for line in _beside(part)]
        for title, cure in _cures(part.room):
            folded = [("values of the chart", cure.values)] if cure.values else []
            every = "".join(
                f"<details><summary>{name}</summary>\n\n```yaml\n{text}```\n\n</details>\n"
                for name, text in (*folded, ("kustomize", cure.kustomize))
            )
            parts.append(f"- way out: {literal(title)}\n\n```yaml\n{cure.manifest}```\n\n{every}")
    return parts
