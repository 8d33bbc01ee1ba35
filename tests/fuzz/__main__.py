"""``python -m tests.fuzz [COUNT]``: seeded, goes on where it was left, says how long it took."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.check import Mishandled, check

STATE = Path(".trust/fuzz-readers.json")
INPUTS = 100_000
_KEPT_EVERY = 200


def run(count: int = INPUTS, state: Path = STATE) -> tuple[int, list[Mishandled], float]:
    """Inputs tried, those mishandled, and the seconds it took, those of the runs before included."""
    kept: dict[str, Any] = (
        json.loads(state.read_text(encoding="utf-8")) if state.exists() else {"next": 0, "bad": [], "seconds": 0.0}
    )
    bad = [Mishandled(seed=seed, what=what) for seed, what in kept["bad"]]
    before, started = float(kept["seconds"]), time.monotonic()
    for seed in range(kept["next"], count):
        found = check(seed)
        if found:
            bad.append(found)
            print(f"seed {found.seed}: {found.what}", flush=True)
        if seed % _KEPT_EVERY == _KEPT_EVERY - 1 or seed == count - 1:
            state.parent.mkdir(parents=True, exist_ok=True)
            seconds = before + time.monotonic() - started
            said = {"next": seed + 1, "bad": [(one.seed, one.what) for one in bad], "seconds": seconds}
            state.write_text(json.dumps(said), encoding="utf-8")
    return count, bad, before + time.monotonic() - started


if __name__ == "__main__":
    tried, mishandled, seconds = run(int(sys.argv[1]) if len(sys.argv) > 1 else INPUTS)
    print(f"{tried:,} inputs, {len(mishandled)} mishandled, {seconds:,.0f} s")
    for what, number in Counter(one.what.partition(":")[0] for one in mishandled).items():
        print(f"  {what}: {number}")
    sys.exit(bool(mishandled))
