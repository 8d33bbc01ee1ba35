"""One field of one recorded case beside what Headroom says of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
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


def cases(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, content) of every ``*.json`` and ``*.json.gz`` in a folder, by name; none when it isn't there."""
    for path in sorted(folder.glob("*.json*")):
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        yield path.name.removesuffix(".gz").removesuffix(".json"), content
