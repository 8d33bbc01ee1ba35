"""Compares a cluster after what-if changes with today's: free capacity, what fits, rollout verdicts, cost."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

from planner.capacity import rollout_readiness as overviews
from planner.capacity.capacity_answer import CapacityAnswer, capacity
from planner.capacity.free_resources_by_pool import shape
from planner.capacity.headroom import Fit, fits
from planner.capacity.headroom_shapes import standard_shapes
from planner.capacity.what_if import Step, apply
from planner.capacity.what_if_syntax import Change, text_of
from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, usd
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_book import PriceBook
from planner.pricing.projected_bill import cost_cluster
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import compiled


class VerdictChange(Record):
    """A workload with another verdict than before."""

    workload: str
    before: Verdict
    after: Verdict
    sentence: Text


class FitChange(Record):
    """How many more pods of a shape fit, today and then."""

    shape: str
    before: int
    after: int


class WhatIfAnswer(Record):
    """The same answers for the changed cluster, beside today's."""

    sentence: Text
    changes: str
    steps: tuple[Step, ...]
    before: CapacityAnswer
    after: CapacityAnswer
    fits: tuple[FitChange, ...]
    verdicts: tuple[VerdictChange, ...] = ()
    completing_before: int | None = None  # None where rollouts were not played
    completing_after: int | None = None
    unknown_before: int | None = None  # rollouts of which it isn't known
    unknown_after: int | None = None
    waiting_before: int
    waiting_after: int
    usd_per_month_before: float | None = None  # after sustained use; None without a price book, or with gaps in it
    usd_per_month_after: float | None = None


def what_if(
    snapshot: Snapshot, changes: tuple[Change, ...], limits: tuple[PoolLimits, ...] = (), shape_text: str = "",
    with_rollouts: bool = True, book: PriceBook | None = None,
) -> WhatIfAnswer:  # fmt: skip
    """The cluster after `changes`, answered like today's.

    `with_rollouts`: every workload's own rollout is played on both clusters too (seconds, on one of thousands of nodes).
    Raises what `apply` and `shape` do.
    """
    today = compiled(snapshot)
    applied_changes = apply(today, changes, limits)
    then = _named(snapshot, changes, applied_changes.snapshot)
    before = snapshot.derived.once(capacity, snapshot, limits)
    after = capacity(then, limits)
    money = monthly_bills(book, snapshot, then)
    shapes = _fit_changes(before, after, fits(compiled(then), standard_shapes(today)))
    answer = WhatIfAnswer(
        sentence=NO_WORDS,
        changes=text_of(changes),
        steps=applied_changes.steps,
        before=before,
        after=after,
        fits=(*_typed(snapshot, then, shape_text), *shapes),
        waiting_before=applied_changes.waiting_before,
        waiting_after=len(compiled(then).waiting),
        usd_per_month_before=money[0],
        usd_per_month_after=money[1],
    )
    answer = _with_rollouts(answer, snapshot, then, limits) if with_rollouts else answer
    return replace(answer, sentence=Text(_sentence(answer)))


def changed(snapshot: Snapshot, changes: tuple[Change, ...], limits: tuple[PoolLimits, ...] = ()) -> Snapshot:
    """The cluster after `changes`, with a digest of its own. Raises what `apply` does."""
    return _named(snapshot, changes, apply(compiled(snapshot), changes, limits).snapshot)


def _named(snapshot: Snapshot, changes: tuple[Change, ...], then: Snapshot) -> Snapshot:
    digest = hashlib.blake2b(f"{snapshot.digest}\n{text_of(changes)}".encode(), digest_size=16).hexdigest()
    return replace(then, digest=digest)


def monthly_bills(book: PriceBook | None, today: Snapshot, then: Snapshot) -> tuple[float | None, float | None]:
    """Both bills; none of then where other nodes have no price than today: the difference isn't known."""
    if book is None:
        return None, None
    before, after = cost_cluster(book, today), cost_cluster(book, then)
    lacking = [sorted(name for nodes_group in cost.unpriced for name in nodes_group.nodes) for cost in (before, after)]
    return before.usd_per_month, after.usd_per_month if lacking[0] == lacking[1] else None


def _with_rollouts(
    answer: WhatIfAnswer, snapshot: Snapshot, then: Snapshot, limits: tuple[PoolLimits, ...]
) -> WhatIfAnswer:
    now = overviews.overview(snapshot, limits).workloads
    later = overviews.overview(then, limits).workloads
    before = {line.workload: line.verdict for line in now}
    todays, thens = (Counter(line.verdict for line in lines) for lines in (now, later))
    return replace(
        answer,
        verdicts=tuple(
            VerdictChange(
                workload=rollout.workload,
                before=before[rollout.workload],
                after=rollout.verdict,
                sentence=rollout.sentence,
            )
            for rollout in later
            if before.get(rollout.workload, rollout.verdict) is not rollout.verdict
        ),
        completing_before=todays[Verdict.COMPLETES],
        completing_after=thens[Verdict.COMPLETES],
        unknown_before=todays[Verdict.UNKNOWN],
        unknown_after=thens[Verdict.UNKNOWN],
    )


def _typed(snapshot: Snapshot, then: Snapshot, text: str) -> Iterator[FitChange]:
    if text:
        typed = shape(snapshot, text)
        yield FitChange(shape=typed.shape, before=typed.count, after=shape(then, text).count)


def _fit_changes(before: CapacityAnswer, after: CapacityAnswer, standard: tuple[Fit, ...]) -> tuple[FitChange, ...]:
    """Standard shapes are those of today's mix on both sides; workloads by name."""
    then = {fit.shape: fit.count for fit in (*standard, *after.workloads) if not fit.unknown}
    return tuple(
        FitChange(shape=fit.shape, before=fit.count, after=then[fit.shape])
        for fit in (*before.standard, *before.workloads)
        if fit.shape in then and not fit.unknown
    )


def _sentence(answer: WhatIfAnswer) -> str:
    """What the changes come to, the troubles first."""
    failed = [step for step in answer.steps if not step.is_done]
    if not answer.steps:
        return "nothing is changed"
    parts = [str(step.sentence) for step in (failed or answer.steps[:1])]
    worse = sum(verdict.before is Verdict.COMPLETES for verdict in answer.verdicts)
    better = sum(
        verdict.after is Verdict.COMPLETES and verdict.before is not Verdict.UNKNOWN for verdict in answer.verdicts
    )
    if worse:
        parts.append(f"{count(worse, 'rollout that completes', 'rollouts that complete')} today would not")
    if better:
        parts.append(f"{count(better, 'rollout that does not complete', 'rollouts that do not complete')} today would")
    today, then = answer.usd_per_month_before, answer.usd_per_month_after
    if today is not None and then is not None and abs(then - today) >= 1:
        parts.append(
            f"{usd(abs(then - today))} a month {'more' if then > today else 'less'}: {usd(then)} instead of "
            f"{usd(today)}"
        )
    return "; ".join(parts)
