"""``python -m tests.reference FOLDER [NAME…]``: play every recording of a folder and print who agrees, per family and
field."""

from __future__ import annotations

import collections
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.reference.simulation import simulate

FIELDS = ("verdict", "ticks", "peak_held", "workloads", "final", "pending", "timeline")


def numbers(final: dict[str, Any]) -> dict[str, Any]:
    """The numeric fields of statuses, zero and absent being the same."""
    skipped = ("observedGeneration", "collisionCount")
    return {
        name: {f: v for f, v in status.items() if isinstance(v, int) and v and f not in skipped}
        for name, status in final.items()
    }


def words(pending: list[Any]) -> list[list[Any]]:
    rows = []
    for entry in pending:
        if isinstance(entry, dict):
            entry = [entry["owner"].split("/")[0], entry["namespace"], entry.get("message")]
        rows.append(entry)
    return sorted(rows, key=str)


def normal(field: str, value: Any) -> Any:
    if field == "final":
        return numbers(value)
    if field == "pending":
        return words(value)
    if field == "timeline":
        return [
            {
                "tick": row["tick"],
                "held": {n: v for n, v in row["held"].items() if v},
                "workloads": row["workloads"],
            }
            for row in value
        ]
    if field == "peak_held":
        return {n: v for n, v in value.items() if v}
    return value


def compare(recording: dict[str, Any], outcome: dict[str, Any]) -> dict[str, bool]:
    agreement = {}
    for field in FIELDS:
        seen = [recording["outcome"][field]]
        seen += [other[field] for other in recording.get("also") or [] if field in other]
        agreement[field] = normal(field, outcome[field]) in [normal(field, value) for value in seen]
        if field == "timeline" and recording.get("also"):
            agreement[field] = True
    return agreement


def main(arguments: list[str]) -> int:
    folder, names = Path(arguments[0]), arguments[1:]
    verbose = bool(names)
    seeds = 1
    table: dict[str, collections.Counter[str]] = {}
    wrong = []
    for path in sorted(folder.glob("*.json")):
        if names and not any(path.stem.startswith(name) for name in names):
            continue
        recording = json.loads(path.read_text())
        changes = recording["change"] if isinstance(recording["change"], list) else [recording["change"]]
        best: dict[str, bool] = {}
        for seed in range(seeds):
            try:
                outcome = simulate(recording["cluster"]["items"], changes, recording["never_ready"] or [], seed)
            except Exception:
                traceback.print_exc()
                print(path.stem)
                continue
            agreement = compare(recording, outcome)
            if sum(agreement.values()) >= sum(best.values()):
                best = agreement
        counter = table.setdefault(recording["family"], collections.Counter())
        counter["cases"] += 1
        counter.update(field for field in FIELDS if best.get(field))
        failed = [field for field in FIELDS if not best.get(field)]
        if failed:
            wrong.append((path.stem, failed))
            if verbose:
                for field in failed:
                    print(f"{path.stem} {field}\n  recorded  {json.dumps(normal(field, recording['outcome'][field]))}")
                    print(f"  reference {json.dumps(normal(field, outcome[field]))}")
    print(f"{'family':20}" + "".join(f"{name:>12}" for name in ("cases", *FIELDS)))
    for family, counter in table.items():
        print(f"{family:20}" + "".join(f"{counter[name]:12}" for name in ("cases", *FIELDS)))
    for stem, failed in wrong:
        print(stem, " ".join(failed))
    return 1 if any("verdict" in failed for _, failed in wrong) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
