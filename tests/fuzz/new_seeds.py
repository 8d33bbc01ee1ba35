"""``python -m tests.fuzz.new_seeds [MINUTES [FIRST]]``: seeds that nobody tried yet, from a first one drawn here and printed.

Each is a damaged input to the readers (`tests.fuzz.check`), and four clusters that the engine and the reference play
(`tests.properties.__main__`). A seed that fails is printed with what repeats it, and becomes a fixed test: of readers in
`tests/fuzz/test_readers.py`, of clusters among ``ONCE_WRONG`` or ``ONCE_APART`` of `tests/properties`.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator

from tests.fuzz.check import check
from tests.properties.__main__ import cases
from tests.properties.random_rollouts import verdicts_differ

MINUTES = 10.0
_FIRST = 10_000_000  # the seeds of tests, benches and `make reference` are smaller


def faults(seed: int) -> Iterator[str]:
    """What is wrong with what the seed makes, each with what repeats it."""
    found = check(seed)
    if found is not None:
        yield f'{found.what}: python -c "from tests.fuzz.check import check; print(check({seed}))"'
    for kind, (case, _) in cases(seed).items():
        _, difference = verdicts_differ(case)
        if difference:
            yield f"{kind}: {difference}: python -m tests.properties 1 {seed}"


def main(arguments: list[str]) -> int:
    minutes = float(arguments[0]) if arguments else MINUTES
    first = int(arguments[1]) if len(arguments) > 1 else _FIRST + secrets.randbelow(1_000_000_000)
    print(f"seeds from {first} on, for {minutes:g} minutes", flush=True)
    end, seed, wrong = time.monotonic() + 60 * minutes, first, 0
    while time.monotonic() < end or seed == first:
        for fault in faults(seed):
            wrong += 1
            print(f"seed {seed}: {fault}", flush=True)
        seed += 1
    print(f"seeds {first} to {seed - 1}: {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
