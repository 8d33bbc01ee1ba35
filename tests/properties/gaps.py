"""Parts of a cluster: what is left of a dump when its end, an object or a list is gone, and what is said of it then.

Some losses can't be told from a cluster that has less (`UNNOTICED`, docs/reading.md): nothing that is there speaks of them.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from planner.ground.errors import HeadroomError
from planner.ground.exit_status import ExitStatus
from planner.questions import question_called
from planner.questions.question import Inputs
from planner.rollout.answers import Verdict
from planner.sources import cluster_dumps
from planner.sources.shipped_files import data_folder

Item = dict[str, Any]

UNNOTICED: Final = frozenset({"ResourceQuota", "LimitRange"})
"""Kinds of which a list of several kinds may just have none, or one fewer: what limits a namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A workload that is stuck in the whole cluster, and is said to complete by a part of it, with exit status 0."""

    what: str
    workload: str


@cache
def items() -> tuple[Item, ...]:
    """The demo cluster's objects; Events apart, which no verdict hangs on."""
    found = json.loads(gzip.decompress((data_folder() / "demo/cluster.json.gz").read_bytes()))["items"]
    return tuple(one for one in found if one["kind"] != "Event")


def text_of(some: list[Item] | tuple[Item, ...]) -> bytes:
    """A List as kubectl writes it."""
    return json.dumps({"apiVersion": "v1", "items": list(some), "kind": "List"}).encode()


def verdicts(data: bytes) -> dict[str, Verdict] | None:
    """Workload → verdict, where the overview is answered with exit status 0; else None."""
    overview = question_called("overview")
    try:
        snapshot = cluster_dumps.read_bytes(data, name="part.json")
        answer = overview.answer(snapshot, overview.settings(), Inputs())
    except HeadroomError:
        return None
    if overview.exit_status(snapshot, answer) is not ExitStatus.ANSWERED:
        return None
    return {one.workload: one.verdict for one in answer.workloads}


@cache
def stuck() -> frozenset[str]:
    """The workloads that can't be rolled out in the whole cluster."""
    found = verdicts(text_of(items()))
    assert found is not None
    return frozenset(key for key, verdict in found.items() if verdict is Verdict.STUCK)


def flips(what: str, data: bytes) -> Iterator[Flip]:
    """Stuck workloads that the part `data` lets complete."""
    found = verdicts(data)
    for key in sorted(stuck() if found else ()):
        if found is not None and found.get(key) is Verdict.COMPLETES:
            yield Flip(what=what, workload=key)


def part(drawn: random.Random) -> tuple[str, bytes]:
    """What is gone, and the dump without it."""
    how = drawn.choice(("suffix", "suffix", "shuffled suffix", "object", "object", "list", "half a list", "damaged"))
    some = list(items())
    if "suffix" in how:
        if how == "shuffled suffix":
            drawn.shuffle(some)
        data = text_of(some)
        at = drawn.randrange(100, len(data) - 20)
        return f"{how} from byte {at:,}", data[:at]
    noticed = [one for one in some if one["kind"] not in UNNOTICED and _is_told(one)]
    if how == "object":
        gone = drawn.choice(noticed)
        return f"{gone['kind']}/{gone['metadata']['name']}", text_of([one for one in some if one is not gone])
    kind = drawn.choice(sorted({one["kind"] for one in noticed}))
    if how == "list":
        return f"every {kind}", text_of([one for one in some if one["kind"] != kind])
    if how == "half a list":
        half = {id(one) for one in noticed if one["kind"] == kind and drawn.random() < 0.5}
        return f"{len(half)} {kind}", text_of([one for one in some if id(one) not in half])
    broken = [
        {**one, "spec": 5} if one["kind"] == kind and "spec" in one and drawn.random() < 0.5 else one for one in some
    ]
    return f"damaged {kind}", text_of(broken)


def _is_told(item: Item) -> bool:
    """Whether anything else in the dump tells of it: a pod of nobody, or that nobody counts, may not be there as well."""
    owners = item["metadata"].get("ownerReferences") or []
    return item["kind"] != "Pod" or any(one.get("controller") and one["kind"] != "Node" for one in owners)
