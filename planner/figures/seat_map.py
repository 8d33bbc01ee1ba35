"""The seat map on a page: the browser's data, and the script that draws it (`seat_map.js`, `seat_map.css`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from planner.capacity.gpu_holders import NodeSeats, Seat
from planner.capacity.seat_map import NodeLoss, PendingSeats
from planner.figures import palette
from planner.figures.text_labels import short
from planner.ground.table_formats import alike
from planner.ground.words import count, plural, printable, sentence, short_name
from planner.kubernetes.node_properties import NO_POOL

NAMED_NODES: Final = 40  # of more only squares are drawn, and a node's name where one points
DRAWN_SEATS: Final = 8_000  # of more each square stands for several, and nodes aren't told apart
_COLOURS: Final = (  # in this order: dark letters are easily read on all but the last
    palette.SKY, palette.GREEN, palette.ORANGE, palette.PURPLE, palette.VERMILION, palette.YELLOW, palette.BLUE,
)  # fmt: skip
_FREE, _OUT, _OTHERS = "·", "–", "+"
_NAMES: Final = {_OTHERS: "others", _OUT: "out of use", _FREE: "free"}


def seat_map_document(
    nodes: Sequence[NodeSeats], waiting: Sequence[tuple[PendingSeats, Sequence[str], str]], loss: NodeLoss | None, beside: Mapping[str, str],
    note: str,
) -> dict[str, Any]:  # fmt: skip
    """What `seat_map.js` draws. `waiting`: pending pods, each with sentences and the change that starts them, "" where none is known;
    `beside`: pool → what is said of it; `note`: under the map."""
    letters = _letters(nodes)
    scale = -(-sum(len(node.seats) for node in nodes) // DRAWN_SEATS) or 1
    place = {node.node: i for i, node in enumerate(nodes)}
    return {
        "named": len(nodes) <= NAMED_NODES and scale == 1,
        "holders": [[letter, *_looks(name, letter)] for name, letter in letters.items()],
        "pools": [
            {"name": _plain(pool or NO_POOL), "note": _plain(beside.get(pool, "")), "nodes": list(_drawn(some, letters, scale))}
            for (pool, *_), some in ((_pool(some[0]), some) for some in alike(nodes, _pool))
        ],
        "pending": [
            {
                "name": _plain(f"{_named(seats.workloads)} ×{seats.pods:,}"), "say": [_plain(line) for line in said], "change": change,
                "nodes": [place[name] for name in seats.nodes if name in place],
            }
            for seats, said, change in waiting
        ],
        "lost": None if loss is None else {
            "at": place.get(loss.node, -1), "name": _plain(loss.node), "change": f"delete:{loss.node}",
            "say": [_plain(line) for line in loss_words(loss)], "pods": [[_plain(short_name(outside.workload)), outside.pods] for outside in loss.outside],
        },
        "alt": alt(nodes, [seats for seats, _, _ in waiting]),
        "note": note + (f" Each square stands for {scale} of a pool's." if scale > 1 else ""),
    }  # fmt: skip


def _named(workloads: Sequence[str]) -> str:
    """``ml/trainer``, ``ml/trainer and 3 alike``."""
    return short_name(workloads[0]) + (f" and {len(workloads) - 1:,} alike" if workloads[1:] else "")


def loss_words(loss: NodeLoss) -> list[str]:
    """What becomes of the pods of a node that is lost, in sentences."""
    if not loss.pods:
        return ["It has no pods but those of DaemonSets."]
    parts = [f"{loss.back:,} of {count(loss.pods, 'pod')} {plural(loss.back, 'comes', 'come')} back elsewhere."]
    parts += [
        f"{count(outside.pods, 'pod')} of {short_name(outside.workload)} {plural(outside.pods, 'stays', 'stay')} pending."
        for outside in loss.outside
    ]
    return parts + (
        [f"Of {loss.unknown:,} of these it isn't known: what makes them isn't played."] if loss.unknown else []
    )


def _pool(node: NodeSeats) -> tuple[str, str]:
    return node.node_pool, node.name


def _letters(nodes: Sequence[NodeSeats]) -> dict[str, str]:
    """Holder → its letter, who holds most first; all that have no color of their own have one together."""
    counts = Counter(_holder(node, seat) for node in nodes for seat in node.seats)
    ranked = sorted(
        (holder for holder in counts if holder not in (_FREE, _OUT)), key=lambda holder: (-counts[holder], holder)
    )
    own = {holder: chr(ord("A") + i) for i, holder in enumerate(ranked[: len(_COLOURS)])}
    more = [_OTHERS] if len(ranked) > len(own) else []
    return own | {holder: holder for holder in (*more, *(letter for letter in (_OUT, _FREE) if letter in counts))}


def _looks(name: str, letter: str) -> tuple[str, str]:
    if letter in _NAMES:
        return _NAMES[letter], palette.GREY if letter == _OTHERS else palette.FREE
    return _plain(short_name(name)), _COLOURS[ord(letter) - ord("A")]


def _holder(node: NodeSeats, seat: Seat) -> str:
    return seat.holder or (_OUT if node.out_of_use else _FREE)


def _drawn(nodes: Sequence[NodeSeats], letters: Mapping[str, str], scale: int) -> Iterator[list[str]]:
    """(name, short name, seats as letters, in words) of each node; of all together where a square stands for several."""
    if scale > 1:
        held = Counter(letters.get(_holder(node, seat), _OTHERS) for node in nodes for seat in node.seats)
        drawn = "".join(letter * max(1, round(held[letter] / scale)) for letter in letters.values() if held[letter])
        yield ["", "", drawn, count(len(nodes), "node")]
        return
    for node, name in zip(nodes, short([node.node for node in nodes]), strict=True):
        seats = "".join(letters.get(_holder(node, seat), _OTHERS) for seat in node.seats)
        yield [_plain(node.node), _plain(name), seats, _plain(_words(node))]


def _words(node: NodeSeats) -> str:
    held = Counter(seat.holder for seat in node.seats if seat.holder)
    parts = [f"{short_name(holder)} {number}" for holder, number in held.most_common()]
    parts += [f"{node.gpus_free} free"] if node.gpus_free else []
    return ", ".join([*parts, *([node.out_of_use] if node.out_of_use else [])])


def alt(nodes: Sequence[NodeSeats], waiting: Sequence[PendingSeats]) -> str:
    """The map in words."""
    free, total = sum(node.gpus_free for node in nodes), sum(len(node.seats) for node in nodes)
    outside = f", {count(sum(seats.pods for seats in waiting), 'pod')} pending" if waiting else ""
    return sentence(f"{free:,} of {total:,} seats on {count(len(nodes), 'node')} are free{outside}")


def _plain(text: str) -> str:
    return printable(text, one_line=True)
