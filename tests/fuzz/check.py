"""What has to hold for any input: only our own errors, an end, sums that are right, amounts that aren't negative, no node
filled beyond what it has by us, JSON that is JSON, and every object accounted for."""

from __future__ import annotations

import json
import random
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import FrameType
from typing import Any

from planner.ground.errors import HeadroomError
from planner.ground.table_formats import as_csv, as_json, as_markdown, as_text
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.requests import pod_requests
from planner.pricing.price_book import PriceBook
from planner.questions import question_called
from planner.questions.question import Inputs, document
from planner.questions.rollout import RolloutSettings
from planner.rollout.answers import RolloutResult
from planner.rollout.prepared_change import compiled
from planner.sources import cluster_dumps
from planner.sources.prices import load_book
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import try_reader

LONGEST_SECONDS = (
    120  # of a processor for one input, as a question may cost: an alarm, not a measurement; they take hundredths
)
_QUESTIONS = ("overview", "capacity", "seats", "costs", "memory", "restarts", "drift", "findings")
_MAY_BE_NEGATIVE = ("saving", "difference", "change", "until", "usd", "cost", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mishandled:
    """An input that wasn't handled: which, by what, and how it went wrong."""

    seed: int
    what: str


class HangError(Exception):
    """An input takes longer than any may."""


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise HangError

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, 1),
        (signal.SIGALRM, signal.ITIMER_REAL, 10),
    )  # of a machine that others use
    before = [(one, signal.signal(one, ring)) for one, _, _ in timers]
    for _, timer, times in timers:
        signal.setitimer(timer, LONGEST_SECONDS * times)
    try:
        yield
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for one, handler in before:
            signal.signal(one, handler)


def check(seed: int) -> Mishandled | None:
    """Try the input that `seed` stands for."""
    drawn = random.Random(seed)
    try:
        with _alarm():
            if seed % 2:
                _try(mutated(drawn), drawn)
            else:
                try_reader(drawn)
    except HeadroomError:
        return None
    except HangError:
        return Mishandled(seed=seed, what="hang")
    except AssertionError as error:
        return Mishandled(seed=seed, what=f"broken: {_where(error)}")
    except Exception as error:  # noqa: BLE001 - whatever isn't ours is what is looked for
        return Mishandled(seed=seed, what=f"crash: {type(error).__name__}: {_where(error)}")
    return None


def _where(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error} ({last.filename.rpartition('/')[2]}:{last.lineno})"[:300]


def _try(items: list[Any], drawn: random.Random) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    try:
        snapshot = cluster_dumps.read_bytes(text.encode("utf-8", "surrogatepass"), name="fuzz.json")
    except HeadroomError:
        return
    reading = snapshot.reading
    known = reading.used + reading.repeated + reading.unreadable + sum(reading.other_kinds.values())
    assert reading.objects == known, f"{reading.objects} objects, {known} in used and named"
    _sums(snapshot)
    for name in drawn.sample(_QUESTIONS, 2):
        _ask(name, snapshot)
    rolling = [one.key for one in snapshot.workloads if one.traits.rolls_out]
    if rolling:
        _roll_out(snapshot, drawn.choice(rolling), drawn)


@cache
def _book() -> PriceBook:
    return load_book()


def _ask(name: str, snapshot: Snapshot) -> None:
    question = question_called(name)
    settings, given = question.settings(), Inputs(book=_book(), now=snapshot.taken_at + 60)
    try:
        answer = question.answer(snapshot, settings, given)
    except HeadroomError:
        return
    _printed(question, snapshot, settings, answer)
    for one in question.facts(answer):
        is_number = isinstance(one.value, int | float) and not isinstance(one.value, bool)
        if is_number and not any(word in one.metric for word in _MAY_BE_NEGATIVE):
            assert one.value >= 0, f"{name}: {one.metric} {dict(one.labels)} is {one.value}"


def _printed(question: Any, snapshot: Snapshot, settings: Any, answer: Any) -> None:
    json.loads(as_json(document(question, snapshot, settings, answer)))
    writers: tuple[Callable[[Any], str], ...] = (as_csv, as_markdown, as_text)
    for table in question.tables:
        for write in writers:
            write(question.rows(answer, table)).encode()


def _sums(snapshot: Snapshot) -> None:
    try:
        cluster = compiled(snapshot)
    except HeadroomError:
        return
    assert (cluster.allocatable >= 0).all(), "a node has less than nothing"
    assert (cluster.requested >= 0).all(), "pods hold less than nothing"
    capacity = question_called("capacity")
    try:
        answer = capacity.answer(snapshot, capacity.settings(), Inputs())
    except HeadroomError:
        return
    for line in answer.resources:
        told = (line.requested, line.free, line.free_cordoned, line.overcommitted, line.pending)
        known = [one for one in told if one is not None]
        assert min([line.allocatable, *known]) >= 0
        if len(known) < len(told):
            assert snapshot.lacks("Pod") or snapshot.lacks("Node"), f"{line.resource}: not known, and nothing lacks"
            continue
        requested, free, cordoned, over, _ = known
        left, right = requested + free + cordoned, line.allocatable + over
        assert left == right, f"{line.resource}: {left} held, free and out of use, {right} there"


def _roll_out(snapshot: Snapshot, key: str, drawn: random.Random) -> None:
    question = question_called("rollout")
    settings = RolloutSettings(workloads=(key,), max_surge=drawn.choice((None, 0, 1, "25%")), runs=3)
    try:
        result = question.answer(snapshot, settings, Inputs())
    except HeadroomError:
        return
    _printed(question, snapshot, settings, result)
    for part in result.workloads:
        assert part.seconds >= 0
        assert part.lowest_ready >= 0
        assert part.peak_pods >= 0
    _not_overfilled(snapshot, key, result)


def _not_overfilled(snapshot: Snapshot, key: str, result: RolloutResult) -> None:
    """New pods on a node ask for no more than it has, whatever else is on it; those that an older ReplicaSet still makes ask
    for what its own template says."""
    workload = snapshot.workload(key)
    assert workload is not None
    before = {(pod.namespace, pod.name) for pod in snapshot.pods}
    older = {(one.namespace, one.name): one.template for one in snapshot.replica_sets}
    held: Counter[tuple[str, str]] = Counter()
    for namespace, name, node in result.placement:
        if (namespace, name) not in before:
            template = older.get((namespace, name.rpartition("-")[0]), workload.template)
            held.update({(node, resource): amount for resource, amount in pod_requests(template.spec).items()})
    nodes = {node.name: node for node in snapshot.nodes}
    for (node, resource), amount in held.items():
        has = nodes[node].allocatable.get(resource, 0)
        assert amount <= has or amount == 0, f"{amount} {resource} on {node}, which has {has}"
