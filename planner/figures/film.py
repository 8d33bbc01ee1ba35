"""The film of a run: the browser's data, and the script that draws it (`film.js`, `film.css`).

One script for the page and for the report; why it isn't Plotly's frames: docs/decisions/0022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from planner.figures import palette
from planner.figures.text_labels import LONGEST
from planner.figures.text_labels import short as shortened
from planner.ground.words import count, duration, plural, printable, sentence, short_name
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.node_properties import NO_POOL
from planner.rollout.film import WAITS, Doing, Film, Frame

_COLOURS: Final = (palette.SKY, palette.ORANGE, palette.GREEN, palette.PURPLE, palette.YELLOW, palette.VERMILION)
_OTHERS: Final = "others"
_DOING: Final = {
    Doing.READY: "Ready",
    Doing.STARTING: "not Ready",
    Doing.TERMINATING: "terminating",
    Doing.WAITING: "waiting for a node",
}


def film_document(
    film: Film, *, newly: str = "its new revision", budget: int | None = None, plays: bool = False
) -> dict[str, Any]:
    """What `film.js` draws. `budget`: pods that a PodDisruptionBudget keeps Ready, a red line; `plays`: it begins by itself.

    A film that is stuck opens where it comes to its end, else at the beginning.
    """
    letters = _holders(film)
    return {
        **_film(film, letters, budget),
        "holders": [
            {"letter": letter, "name": printable(short_name(name) or name, one_line=True), "colour": colour}
            for name, (_, letter, colour) in letters.items()
        ],
        "start": len(film.frames) - 1 if film.is_stuck and not plays else 0,
        "plays": plays,
        "doing": [_DOING[doing] for doing in Doing],
        "newly": newly,
        "waiting": "Waiting for a node",
    }


def _holders(film: Film) -> dict[str, tuple[int, str, str]]:
    """Workload → (index, letter, color): those that the film is about first, then who has the most seats; all others one."""
    seats: Counter[str] = Counter()
    for block in film.blocks:
        if block.seats or block.node == WAITS:
            seats[block.workload] += sum(end - start for start, end in block.seats) or 1
    about = [key for key in film.about if key in seats]
    order = about + sorted((key for key in seats if key not in about), key=lambda key: (-seats[key], key))
    holders = {key: (i, chr(ord("A") + i), _COLOURS[i]) for i, key in enumerate(order[: len(_COLOURS)])}
    if len(order) > len(_COLOURS):
        holders[_OTHERS] = len(holders), "+", palette.GREY
    return holders


def _film(film: Film, letters: Mapping[str, tuple[int, str, str]], budget: int | None) -> dict[str, Any]:
    names = shortened([node.name for node in film.nodes])
    doing = list(Doing)
    edges = film.wait_for
    return {
        "title": printable(film.title, one_line=True),
        "rows": [
            {
                "name": printable(f"{description} ({node.note})" if node.note else description, one_line=True)[: LONGEST + 16],
                "pool": printable(node.pool or NO_POOL, one_line=True),
                "seats": node.seats if film.resource else 0,
            }
            for node, description in zip(film.nodes, names, strict=True)
        ],
        "seats": max([node.seats for node in film.nodes] + [end for block in film.blocks for _, end in block.seats], default=1),
        "blocks": [
            [
                letters.get(block.workload, letters.get(_OTHERS, (0, "", "")))[0], block.is_new, doing.index(block.doing), block.node,
                [list(span) for span in block.seats], block.first, block.last, printable(block.pod, one_line=True), block.amount,
            ]
            for block in film.blocks
        ],
        "frames": [_frame(film, frame) for frame in film.frames],
        "lane": any(frame.waiting for frame in film.frames) or any(block.node == WAITS for block in film.blocks),
        "more": _more(film),
        "stuck": "Nothing moves any more." if film.is_stuck else "",
        "over": "nothing moves any more" if film.is_stuck else "done",
        "cycle": [
            printable(f"{edge.source} — {edge.label} → {edge.target}", one_line=True)
            for edge in edges
        ],
        "about": len(film.about),
        "is_cycle": bool(edges) and edges[-1].target == edges[0].source,
        "tracks": _tracks(film, budget),
    }  # fmt: skip


def _frame(film: Film, frame: Frame) -> dict[str, Any]:
    after = "before" if frame.tick < 0 else f"after {duration(frame.seconds)}" if frame.seconds else "at once"
    description = (
        f"{frame.ready:,} of {film.wanted:,} {film.counts}, {frame.waiting:,} {plural(frame.waiting, 'waits', 'wait')}"
    )
    held_text = f", {frame.held:,} {_noun(film, frame.held)} held" if film.resource else ""
    return {
        "after": after,
        "event": printable(frame.event, one_line=True),
        "said": description + held_text,
        "waiting": frame.waiting,
    }


def _noun(film: Film, number: int) -> str:
    return plural(number, "GPU") if is_gpu_resource(film.resource) else film.resource


def _tracks(film: Film, budget: int | None) -> list[dict[str, Any]]:
    ready = [frame.ready for frame in film.frames]
    lines = [{"name": printable(film.counts, one_line=True), "values": ready, "most": max([film.wanted, *ready]), "colour": palette.GREEN, "dash": "none", "budget": budget}]  # fmt: skip
    if film.resource:
        held_gpus = [frame.held for frame in film.frames]
        lines.append(
            {
                "name": f"{_noun(film, 2)} held" + ("" if film.counts == "Ready" else " by these"),
                "values": held_gpus,
                "most": max([film.capacity, *held_gpus]),
                "colour": palette.PURPLE,
                "dash": "7 3",
            }
        )
    return lines


def _more(film: Film) -> str:
    descriptions = []
    if film.more_nodes:
        descriptions.append(f"{count(film.more_nodes, 'more node')} that its pods are on or may go to aren't drawn")
    if film.skipped > 0:
        descriptions.append(f"{count(film.skipped, 'step')} between these aren't shown")
    if film.resource and any(block.node >= 0 and not block.amount for block in film.blocks):
        descriptions.append(f"pods that ask for no {_noun(film, 1)} are counted and not drawn on their nodes")
    if not film.resource:
        descriptions.append("its pods ask for no GPU: each block is a pod, others' aren't drawn")
    return sentence("; ".join(descriptions)) if descriptions else ""


def alt(film: Film) -> str:
    """The film in words: how it begins, and how it ends."""
    first, last = film.frames[0], film.frames[-1]
    end = "nothing moves any more" if film.is_stuck else "it is done"
    chain = "; ".join(f"{edge.source} → {edge.target} ({edge.label})" for edge in film.wait_for)
    return (
        f"{film.title} on {count(len(film.nodes), 'node')}, {count(len(film.frames), 'step')}: {first.ready:,} of {film.wanted:,} "
        f"Ready before; after {duration(last.seconds)} {end}, {last.ready:,} Ready, {last.waiting:,} waiting."
        + (f" {chain}." if chain else "")
    )


@cache
def file(name: str) -> str:
    """A file beside this one, as a browser reads it: ``film.js``, which has ``film(root, told)``, ``film.css``, ``report.css``."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
