"""Small pieces of real dumps, changed where and how it hurts: by what a field is, not by its bytes.

The dumps are the project's own (data/demo, data/openb and their README with source and licence).
"""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from planner.sources.shipped_files import data_folder

Item = dict[str, Any]

NUMBERS = (
    0,
    1,
    -1,
    2,
    99,
    2**31 - 1,
    2**31,
    -(2**31),
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    10**18,
    10**30,
    0.5,
    -0.5,
    1e300,
)
QUANTITIES = (
    "0", "1", "-1", "100m", "0.5", "1n", "1Ki", "9Ei", "8E", "9999999999999", "1e3", "1e18", "1e400", "-1e400", "1e-400", ".5", "5.",
    "1Ki5", "0x10", "NaN", "Inf", "", " 1", "1 ", "١", "²", "1_000", "+1", "99999999999999999999999999999999Gi", "0.000000000000001",
)  # fmt: skip
TEXTS = (
    "", " ", "a", "A", "-", "a" * 64, "a" * 300, "é", "\u202e", "\ud83d\ude00", "\x1b[2J", "a\nb", "a;b", "$(id)", "=1+1", "<b>", "null",
    "true", "0", "../..", "a/b/c", "%s%n", "{{x}}", "https://evil.example", ":material/home:", "\x00", "default", "kube-system",
)  # fmt: skip
SHARES = ("0%", "25%", "100%", "250%", "-5%", "%", "1.5%", "999999999999%", 0, 1, -1, 2**31, "1", "²", None, "")
TIMES = (
    "2026-11-20T08:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2026-13-45T99:99:99Z", "",
    "2026-11-20T08:00:00.123456789+14:00", "yesterday", 0, None,
)  # fmt: skip
_SHARES = ("maxSurge", "maxUnavailable", "minAvailable", "partition")
_AMOUNTS = (
    "requests",
    "limits",
    "allocatable",
    "capacity",
    "hard",
    "used",
    "overhead",
    "min",
    "max",
    "usage",
    "default",
)


@cache
def dumps() -> tuple[tuple[Item, ...], ...]:
    """The objects of each dump that pieces are taken from, in their order."""
    found = []
    for name in ("demo/cluster.json.gz", "openb/cluster.json.gz"):
        items = json.loads(gzip.decompress((data_folder() / name).read_bytes()))["items"]
        found.append(tuple(items))
    metrics = json.loads(gzip.decompress((data_folder() / "demo/pod-metrics.json.gz").read_bytes()))
    return (found[0] + tuple(metrics["items"]), found[1])


@cache
def _by_kind(number: int) -> dict[str, tuple[Item, ...]]:
    kinds: dict[str, list[Item]] = {}
    for item in dumps()[number]:
        kinds.setdefault(str(item.get("kind", "PodMetrics")), []).append(item)
    return {kind: tuple(items) for kind, items in kinds.items()}


def piece(drawn: random.Random) -> list[Item]:
    """A few nodes, and some namespaces' objects with their pods on these nodes where they were."""
    number = 0 if drawn.random() < 0.85 else 1
    kinds = _by_kind(number)
    nodes = drawn.sample(kinds["Node"], min(len(kinds["Node"]), drawn.randint(1, 4)))
    names = {node["metadata"]["name"] for node in nodes}
    here = [pod for pod in kinds["Pod"] if pod["spec"].get("nodeName") in names or not pod["spec"].get("nodeName")]
    pods = drawn.sample(here, min(len(here), drawn.randint(0, 8)))
    spaces = {pod["metadata"].get("namespace") for pod in pods}
    others = [
        item
        for kind, items in kinds.items()
        if kind not in ("Node", "Pod", "Event")
        for item in items
        if item["metadata"].get("namespace") in spaces or "namespace" not in item["metadata"]
    ]
    events = drawn.sample(kinds.get("Event", ()), min(len(kinds.get("Event", ())), 3))
    chosen = drawn.sample(others, min(len(others), drawn.randint(1, 14)))
    return copy.deepcopy([*nodes, *pods, *chosen, *events])


def mutated(drawn: random.Random) -> list[Item]:
    """A piece with one to eight changes."""
    items = piece(drawn)
    for _ in range(drawn.choice((1, 1, 1, 2, 3, 5, 8))):
        _change(items, drawn)
    return items


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """(container, key, path) of everything in `value`."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key, (*path, key)
        yield from _places(inner, (*path, key))


def _change(items: list[Item], drawn: random.Random) -> None:
    if not items or drawn.random() < 0.05:
        _change_list(items, drawn)
        return
    change_value(drawn.choice(items), drawn, items)


def change_value(item: Any, drawn: random.Random, items: Sequence[Any] = ()) -> None:
    """One change of something within `item`, perhaps to what stands somewhere in `items`."""
    places = list(_places(item))
    if drawn.random() < 0.7:  # what questions read, rather than labels and annotations
        places = [one for one in places if "spec" in one[2] or "status" in one[2]] or places
    if not places:
        return
    container, key, path = drawn.choice(places)
    how = drawn.random()
    if how < 0.55:
        container[key] = _another(container[key], path, drawn)
    elif how < 0.68:
        del container[key]
    elif how < 0.78 and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif how < 0.88:
        other = drawn.choice(
            list(_places(drawn.choice(items or (item,)))) or [(container, key, path)]
        )  # another field's value
        container[key] = copy.deepcopy(other[0][other[1]])
    elif isinstance(container, dict):
        container[drawn.choice(TEXTS)] = container[key]
    else:
        container[key] = drawn.choice((None, [], {}, "", 0, True, [[[]]], {"a": {}}))


def _change_list(items: list[Item], drawn: random.Random) -> None:
    how = drawn.randrange(5)
    if how == 0 and items:
        items.append(copy.deepcopy(drawn.choice(items)))
    elif how == 1 and items:
        items.remove(drawn.choice(items))
    elif how == 2:
        items.append({"apiVersion": "v1", "kind": "List", "items": copy.deepcopy(items[:2])})
    elif how == 3:
        items.append(
            drawn.choice(({}, {"kind": "Pod"}, {"kind": "Widget", "apiVersion": "x/v1", "metadata": {"name": "w"}}))
        )
    else:
        drawn.shuffle(items)


def _another(value: Any, path: tuple[Any, ...], drawn: random.Random) -> Any:
    """Another value for a field, mostly of its own sort."""
    if drawn.random() < 0.1:
        return drawn.choice((None, [], {}, "", 0, -1, True, "x", [None], {"": None}))
    if path[-1] in _SHARES:
        return drawn.choice(SHARES)
    if any(one in _AMOUNTS for one in path):
        return drawn.choice(QUANTITIES) if drawn.random() < 0.8 else drawn.choice(NUMBERS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return drawn.choice(NUMBERS)
    if isinstance(value, str):
        if value[4:5] == "-" and value.endswith("Z"):
            return drawn.choice(TIMES)
        return drawn.choice(TEXTS)
    if isinstance(value, list):
        return value * drawn.choice((0, 2, 3))
    return drawn.choice(({}, None, []))
