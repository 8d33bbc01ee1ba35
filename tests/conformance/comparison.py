"""One field of one recorded case beside what Headroom says of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Comparison(NamedTuple):
    """`expected` is what was recorded (a list where several values were), `got` what Headroom says."""

    case: str
    family: str
    field: str
    expected: object
    got: object
    agrees: bool
    is_verdict: bool = False


def each_case(
    folder: Path, compare_case: Callable[[str, dict[str, Any]], Iterator[Comparison]]
) -> Iterator[Comparison]:
    """`compare_case` for every recording of a folder; one that Headroom fails on counts as a verdict that disagrees."""
    for name, case in cases(folder):
        try:
            yield from list(compare_case(name, case))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other cases are still compared
            said = f"no answer: {type(error).__name__}: {error}"
            family = str(case.get("family", name.split("-")[0]))
            yield Comparison(name, family, "verdict", "an answer", said, agrees=False, is_verdict=True)


def cases(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, content) of every ``*.json`` and ``*.json.gz`` in a folder, by name; none when it isn't there."""
    for path in sorted(folder.glob("*.json*")):
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        yield path.name.removesuffix(".gz").removesuffix(".json"), content
