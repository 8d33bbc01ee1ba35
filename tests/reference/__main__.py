"""``python -m tests.reference FOLDER [NAME…]``: play every recording of a folder (rollouts, drains or headroom) and print
who agrees, per family and field; with names, both sides of every disagreement."""

from __future__ import annotations

import collections
import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.reference.drain import drain
from tests.reference.headroom import headroom
from tests.reference.objects import Object
from tests.reference.simulation import RECORDERS_PATIENCE_MS, simulate


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


def words_of_1_36(message: str) -> str:
    """Headroom was recorded on 1.34, which named the taint: ``node(s) had untolerated taint {key: value}``."""
    start, between, rest = message.partition(". ")
    if "untolerated taint {" not in start:
        return message
    head, _, reasons = start.partition(": ")
    counts: collections.Counter[str] = collections.Counter()
    for count, reason in re.findall(r"(\d+) ((?:[^,{]|{[^}]*})+)", reasons):
        counts[re.sub(r"untolerated taint {[^}]*}", "untolerated taint(s)", reason)] += int(count)
    return f"{head}: {', '.join(sorted(f'{count} {reason}' for reason, count in counts.items()))}{between}{rest}"


def normal(field: str, value: Any) -> Any:
    if field == "final":
        return numbers(value)
    if field == "pending" and isinstance(value, list):
        return words(value)
    if field == "stops_because":
        return words_of_1_36(value)
    if field == "messages":
        return sorted(set(value))
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


def compare(recording: Object, outcome: Object) -> dict[str, bool]:
    """Field by field: equal to the recording, or to what another recording of the same objects saw."""
    agreement = {}
    for field in outcome:
        seen = [recording["outcome"][field]]
        seen += [other[field] for other in recording.get("also") or [] if field in other]
        agreement[field] = normal(field, outcome[field]) in [normal(field, value) for value in seen]
        if field == "timeline" and recording.get("also"):
            agreement[field] = True
    return agreement


def shapes(recording: Object) -> Iterator[Object]:
    """A recording of headroom holds several shapes, each a case of its own; the others are one case."""
    for entry in recording.get("headroom") or []:
        yield {
            "name": f"{recording['name']} {entry['pod']['metadata']['name']}",
            "family": "headroom",
            "cluster": recording["cluster"],
            "pod": entry["pod"],
            "outcome": entry,
        }
    if "headroom" not in recording:
        yield recording


def play(recording: Object, seed: int = 0) -> Object:
    items = recording["cluster"]["items"]
    if "pod" in recording:
        return headroom(items, recording["pod"], seed)
    if "drain" in recording:
        return drain(items, recording["drain"], seed)
    changes = recording["change"] if isinstance(recording["change"], list) else [recording["change"]]
    attaches = "waiting" in recording["outcome"]
    return simulate(
        items, changes, recording["never_ready"] or [], seed, patience_ms=RECORDERS_PATIENCE_MS, attaches=attaches
    )


def read_recording(path: Path) -> Object:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    recording: Object = json.loads(text)
    return recording


def main(arguments: list[str]) -> int:
    folder, names = Path(arguments[0]), arguments[1:]
    table: dict[str, collections.Counter[str]] = {}
    fields: list[str] = []
    wrong = {}
    for path in sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")]):
        if names and not any(path.stem.startswith(name) for name in names):
            continue
        for recording in shapes(read_recording(path)):
            outcome = play(recording)
            agreement = compare(recording, outcome)
            fields = list(agreement)
            counter = table.setdefault(recording.get("family", "drains"), collections.Counter())
            counter["cases"] += 1
            counter.update(field for field in fields if agreement[field])
            failed = [field for field in fields if not agreement[field]]
            if failed:
                wrong[recording["name"]] = failed
            for field in failed if names else []:
                print(f"{recording['name']} {field}")
                print(f"  recorded  {json.dumps(normal(field, recording['outcome'][field]))}")
                print(f"  reference {json.dumps(normal(field, outcome[field]))}")
    table["all"] = sum(table.values(), collections.Counter())
    print(f"{'family':18}" + "".join(f"{name:>15}" for name in ("cases", *fields)))
    for family, counter in table.items():
        print(f"{family:18}" + "".join(f"{counter[name]:15}" for name in ("cases", *fields)))
    for stem, failed in wrong.items():
        print(stem, " ".join(failed))
    return 1 if any({"verdict", "drained", "fits"} & set(failed) for failed in wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
