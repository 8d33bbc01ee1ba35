"""Writes the examples of this release: ``python -m tests.compatibility``, once a release, beside those of earlier ones."""

from __future__ import annotations

import gzip
import json
from importlib.metadata import version
from pathlib import Path

from planner.history.anonymization import anonymised
from planner.sources import demo
from tests.compatibility.test_compatibility import HERE, QUESTIONS, fields_of, today

if __name__ == "__main__":
    folder = Path(HERE) / version("headroom-planner")
    folder.mkdir(exist_ok=True)
    fields = {name: sorted(fields_of(today(name))) for name in QUESTIONS}
    (folder / "fields.json").write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
    (folder / "snapshot.json.gz").write_bytes(gzip.compress(anonymised(demo.read()).content, mtime=0))
