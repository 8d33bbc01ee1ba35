"""Records each rollout's prediction and outcome (`headroom serve --predictions`) in a journal of the store.

The webhook's verdict is written before the API server gets its answer. A rollout that the watch sees begin is predicted from the look before
it, which also adds the numbers to the webhook's verdict (that verdict stays as it was told). The looks are compared in a process of their own that
stands back behind those that answer reviews. After a restart the rollouts that were open are followed on. A mistake of ours costs what failed, is
counted and said once, and the watch goes on.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from planner.capacity.node_pools import NodePool
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.history.prediction_outcomes import Judgement, judgement_of, outcome_of
from planner.history.predictions import (
    COUNTED_DAYS,
    Door,
    PredictedRollout,
    Prediction,
    PredictionOutcome,
    RolloutEnd,
    id_of,
    line_of,
    read_journal,
)
from planner.inventory.kubectl_apply import AppliedWorkload
from planner.inventory.lists_from_watch_events import NOTHING_CHANGED, NOTHING_TOLD, WatchedChanges
from planner.kubernetes.object_records import Snapshot, Workload
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RolloutResult, Verdict, WorkloadRollout
from planner.rollout.doubts import Effect
from planner.rollout.observed_course import Meanwhile, ObservedCourse, begun_rollouts, observe
from planner.rollout.past_rollouts import PastCourse
from planner.rollout.prepared_change import Scenario
from planner.serve.admission_review import Silence, WebhookReview
from planner.serve.metrics_process import NICENESS
from planner.serve.processes.snapshot_process import Holder
from planner.serve.request_limits import LIMITS

WATCHED_SECONDS: Final = 86_400.0
"""A rollout is followed for so long; one that is stuck then stays so in the journal."""
STORED_SECONDS: Final = 600.0
"""A write that the watch doesn't show by then was refused after the webhook had been asked."""
_DAY: Final = 86_400.0
_LOOKS_LOST: Final = 2
"""In a row: what is looked at may itself be what fails or ends the process, so that the next look begins anew."""
_BegunRollout = tuple[AppliedWorkload, ObservedCourse]
_Predicted = tuple[Prediction, ObservedCourse]


class Lines(Protocol):
    """A journal (`planner.sources.append_only_journal.Journal`)."""

    def append(self, line: bytes, at: float) -> bool: ...
    def sync(self) -> None: ...
    def lines(self, since: float = 0.0) -> Iterator[bytes]: ...


class PredictionWatch:
    """Keeps predictions, and follows their rollouts.

    Parameters
    ----------
    read : callable
        The newest look at the cluster, and what its watch told since this was called last; raises `HeadroomError`.
    pools : callable
        Pools that may grow.

    Attributes
    ----------
    not_kept : predictions and outcomes that the journal had no room for, or couldn't be written
    errors : mistakes of ours, each of which cost a look or what is known of one rollout
    """

    def __init__(
        self, journal: Lines, read: Callable[[], tuple[Snapshot, WatchedChanges]], pools: Callable[[], tuple[NodePool, ...]], say: Callable[[str], None], *,
        look_seconds: float,
    ) -> None:  # fmt: skip
        self._journal, self._read, self._pools, self._say, self._look_seconds = journal, read, pools, say, look_seconds
        self._rollouts: dict[str, PredictedRollout] = {}  # that are followed
        self._courses: dict[str, ObservedCourse] = {}
        self._lock = threading.Lock()  # of both: reviews come meanwhile
        self._before: Snapshot | None = None
        self._changes = WatchedChanges()  # since then
        self._ended = threading.Event()
        self._process: Holder | None = None
        self._thread = threading.Thread(target=self._run, name="predictions", daemon=True)
        self._days: dict[int, Counter[Judgement]] = {}  # of the predictions' snapshots, since the epoch
        self.not_kept = self.errors = 0
        self._looks_lost = 0  # in a row
        self._reported: set[str] = set()  # mistakes that were said
        self._resume()

    @property
    def open(self) -> int:
        """Rollouts that are followed."""
        return len(self._courses)

    @property
    def counts(self) -> Counter[Judgement]:
        """Verdicts of the last `COUNTED_DAYS` days by what they were worth."""
        with self._lock:
            first = int(time.time() / _DAY) - COUNTED_DAYS
            for day in [day for day in self._days if day < first]:
                del self._days[day]
            return sum(self._days.values(), Counter())

    def _count(self, predicted: PredictedRollout, number: int) -> None:
        day = self._days.setdefault(int(predicted.prediction.at / _DAY), Counter())
        day[judgement_of(predicted)] += number

    def _resume(self) -> None:
        """Follow on what an earlier process left open: what came and went meanwhile isn't seen."""
        now = time.time()
        rollouts, _ = read_journal(self._journal.lines(now - COUNTED_DAYS * _DAY))
        for predicted in rollouts:
            self._count(predicted, 1)
            prediction, outcome = predicted.prediction, predicted.outcome
            is_open = outcome is None or outcome.outcome in (RolloutEnd.STUCK, RolloutEnd.NODE_LOST)
            if is_open and prediction.at >= now - WATCHED_SECONDS:
                self._rollouts[prediction.id] = predicted
                self._courses[prediction.id] = _resumed(prediction, outcome)

    # ── the webhook ──────────────────────────────────────────────────────────────────────────────────────────────────
    def keep(self, review: WebhookReview) -> None:
        """Keep what the webhook says of a write that it lets pass."""
        written = review.written
        if written is None:
            return
        known = None if review.silence is Silence.NOT_KNOWN else review.rollout
        prediction = Prediction(
            id=id_of(written.uid, written.generation), at=written.taken_at, workload=review.workload, uid=written.uid,
            generation=written.generation, door=Door.WEBHOOK, digest=written.digest,
            verdict=Verdict.UNKNOWN if known is None else known.verdict, reason="" if known is None else known.reason.value,
            sentence="" if known is None else str(known.sentence), replicas=None if known is None else known.replicas,
        )  # fmt: skip
        course = ObservedCourse(
            workload=review.workload,
            uid=written.uid,
            generation=written.generation,
            began=time.time(),
            template=written.template,
        )
        with self._lock:
            self._open(prediction, course)

    def _open(self, prediction: Prediction, course: ObservedCourse) -> None:
        if len(self._courses) >= LIMITS.predictions_open and prediction.id not in self._courses:
            self.not_kept += 1
            return
        if (known := self._rollouts.get(prediction.id)) is not None:
            self._count(known, -1)
        self._rollouts[prediction.id] = PredictedRollout(prediction=prediction)
        self._count(self._rollouts[prediction.id], 1)
        self._courses[prediction.id] = course
        self._append(prediction, prediction.at)

    def _append(self, entry: Prediction | PredictionOutcome, at: float) -> None:
        try:
            self.not_kept += not self._journal.append(line_of(entry), at)
        except HeadroomError as error:
            self.not_kept += 1
            self._say(f"a prediction isn't kept: {error}")

    # ── the watch ────────────────────────────────────────────────────────────────────────────────────────────────────
    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End the looks, and their process."""
        self._ended.set()
        if (process := self._process) is not None:  # the other thread may take another one
            process.end()

    def _run(self) -> None:
        while not self._ended.wait(self._look_seconds):
            try:
                self._look()
                self._looks_lost = 0
            except HeadroomError:
                continue  # the keeper says it, and what was known stays
            except Exception as error:  # noqa: BLE001 - a mistake of ours costs one look, not those that come
                self._lose_look(error)

    def _lose_look(self, error: Exception) -> None:
        """Count it; with another process, where the one beside ended by itself."""
        if self._ended.is_set():
            return
        self._looks_lost += 1
        if self._looks_lost >= _LOOKS_LOST:
            self._before = None
        if not isinstance(error, EOFError | OSError):
            self._report(error)
            return
        self.errors += 1
        self._say(f"the process that follows rollouts ended, another one takes its place: {type(error).__name__}")
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                process.end()

    def _report(self, error: Exception) -> None:
        """Count a mistake, and say it once, with where it happened."""
        self.errors += 1
        text = "\n".join([f"{type(error).__name__} {error}".strip(), *getattr(error, "__notes__", ())])
        if text not in self._reported and len(self._reported) < LIMITS.errors_reported:
            self._reported.add(text)
            self._say(f"following rollouts failed, a mistake of ours; it goes on: {text}")

    def _look(self) -> None:
        self._journal.sync()
        now, changes = self._read()
        self._changes = self._changes.followed_by(changes)
        before = self._before
        if now is before:
            return
        if before is None:  # what was open is looked at as it is
            before, self._changes = now, NOTHING_TOLD
        with self._lock:
            courses = dict(self._courses)
        seen = self._observed(before, now, tuple(courses.values()))
        begun, lost = self._begun(before, now, tuple(courses.values())) if before is not now else ([], 0)
        self._before, self._changes = now, NOTHING_CHANGED
        with self._lock:
            for prediction, course in begun:  # first: what ended in the same look has the webhook's verdict
                self._add(prediction, course)
                if self._courses.get(prediction.id) is course:
                    self._settle(prediction.id, course, now.taken_at)
            for (key, known), course in zip(courses.items(), seen, strict=True):
                # else the webhook was asked meanwhile about another write of that number
                if self._courses.get(key) is known:
                    self._courses[key] = course
                    self._settle(key, course, now.taken_at)
            self.not_kept += lost

    def _observed(
        self, before: Snapshot, now: Snapshot, courses: tuple[ObservedCourse, ...]
    ) -> tuple[ObservedCourse, ...]:
        """The courses as they are now; one that can't be followed on is over. Where none can, the mistake is of the look: all are followed on."""
        seen = self._each(observe, before, now, courses, self._changes)
        if not any(seen):
            return tuple(replace(course, is_whole=False) for course in courses)
        over = (replace(course, is_over=True, course=PastCourse.NOT_SEEN) for course in courses)
        return tuple(now_seen or was for now_seen, was in zip(seen, over, strict=True))

    def _begun(
        self, before: Snapshot, now: Snapshot, courses: tuple[ObservedCourse, ...]
    ) -> tuple[list[_Predicted], int]:
        """Rollouts that began, predicted; and of how many there is no prediction."""
        batches, lost = self._run_beside(begun_together, before, now, self._changes, courses)
        predicted = [
            pair for batch in batches for pair in self._each(predict_begun, before, now, batch, self._changes, self._pools())
        ]  # fmt: skip
        return [pair for pair in predicted if pair is not None], lost + predicted.count(None)

    def _each(
        self, function: Callable[..., Any], before: Snapshot, now: Snapshot, parts: Sequence[Any], *more: Any
    ) -> Sequence[Any]:
        """What `function` makes of the parts together; where that fails, of each alone, and None of those that fail alone too."""
        try:
            made: Sequence[Any] = self._run_beside(function, before, now, parts, *more)
            return made
        except RuntimeError as error:  # any error in the process but those that say what the input lacks
            self._report(error)
        alone, errors = list[Any](), list[RuntimeError]()
        for part in parts if len(parts) > 1 else ():
            try:
                alone += self._run_beside(function, before, now, (part,), *more)
            except RuntimeError as error:
                alone.append(None)
                errors.append(error)
        if len(errors) < len(alone):  # else it is the same mistake
            for mistake in errors:
                self._report(mistake)
        return alone or [None] * len(parts)

    def _run_beside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self._process is None:
            self._process = Holder(niceness=NICENESS, most_bytes=0, is_logged=False)
        return self._process.run(function, *arguments)

    def _add(self, prediction: Prediction, course: ObservedCourse) -> None:
        """A rollout that began: with the webhook's verdict where it was told one."""
        predicted, known = self._rollouts.get(prediction.id), self._courses.get(prediction.id)
        was, template = (None if observed is None else observed.template for observed in (known, course))
        is_another = was is not None and template is not None and not was.shows_the_same(template)
        if predicted is None or is_another:
            self._open(prediction, course)
            return
        # What the webhook said before the change was applied is the prediction; what is worked out now has seen how
        # the rollout began.
        if predicted.outcome is None and predicted.prediction.door is Door.WEBHOOK:
            first = predicted.prediction
            prediction = replace(
                prediction, door=first.door, at=first.at, digest=first.digest, verdict=first.verdict, reason=first.reason, sentence=first.sentence,
            )  # fmt: skip
            self._rollouts[prediction.id] = PredictedRollout(prediction=prediction)
            self._append(prediction, first.at)

    def _settle(self, key: str, course: ObservedCourse, at: float) -> None:
        """Keep what came of it, and follow it no more where nothing more can come."""
        is_lost = course.is_unseen and at - course.began > STORED_SECONDS
        is_old = at - course.began > WATCHED_SECONDS
        if is_lost or is_old:
            course = replace(course, is_over=True)
        outcome, predicted = outcome_of(course, at), self._rollouts[key]
        if outcome is not None and (predicted.outcome is None or predicted.outcome.outcome is not outcome.outcome):
            self._count(predicted, -1)
            self._rollouts[key] = replace(predicted, outcome=outcome)
            self._count(self._rollouts[key], 1)
            self._append(outcome, at)
        if course.is_over:
            del self._courses[key], self._rollouts[key]


def _resumed(prediction: Prediction, outcome: PredictionOutcome | None) -> ObservedCourse:
    course = ObservedCourse(
        workload=prediction.workload,
        uid=prediction.uid,
        generation=prediction.generation,
        began=prediction.at,
        is_whole=False,
    )
    if outcome is None:
        return course
    return replace(
        course, began=outcome.began, was_hung=outcome.was_hung, is_overdue=outcome.is_overdue, cause=outcome.cause,
        meanwhile=tuple(map(Meanwhile, outcome.meanwhile)), disturbed_by=tuple(map(Meanwhile, outcome.disturbed_by)),
    )  # fmt: skip


def begun_together(
    before: Snapshot, now: Snapshot, changes: WatchedChanges = NOTHING_TOLD, courses: Sequence[ObservedCourse] = ()
) -> tuple[list[list[_BegunRollout]], int]:
    """Rollouts that began between two looks, each with its course, as they are played: of one workload only the last one beside others. And
    how many more there are. `courses`: that are followed already."""
    every = tuple(begun_rollouts(before, now, changes))
    begun = [
        (applied, ObservedCourse(
            workload=written.key, uid=written.uid, generation=_generation(before, written, courses), began=now.taken_at, template=written.template
        )) for applied, written in every[: LIMITS.predictions_a_look]
    ]  # fmt: skip
    latest = {course.workload: course for _, course in begun}
    others = [(applied, course) for applied, course in begun if latest[course.workload] is course]
    alone = [[(applied, course)] for applied, course in begun if latest[course.workload] is not course]
    size = LIMITS.predictions_together
    batches = [others[first : first + size] for first in range(0, len(others), size)]
    return [*alone, *batches], len(every) - len(begun)


def predict_begun(
    before: Snapshot, now: Snapshot, begun: Sequence[_BegunRollout], changes: WatchedChanges = NOTHING_TOLD,
    pools: tuple[NodePool, ...] = (),
) -> tuple[_Predicted, ...]:  # fmt: skip
    """A prediction, from the look before, of rollouts that are played beside each other, and their courses so far: what others do that aren't
    among these, no prediction knows of."""
    applied, courses = [pair[0] for pair in begun], [pair[1] for pair in begun]
    predictions = predict(before, applied, [course.generation for course in courses], pools)
    seen = observe(before, now, courses, changes, together=[course.workload for course in courses])
    return tuple(zip(predictions, seen, strict=True))


def _generation(before: Snapshot, written: Workload, courses: Sequence[ObservedCourse]) -> int:
    """Of the write that began it. Where it was scaled since and no watch told of both writes, the webhook had the first."""
    known = before.workload(written.key)
    return next(
        (
            course.generation for course in courses
            if course.uid == written.uid and known is not None and known.generation < course.generation < written.generation
            and course.template is not None and course.template.makes_the_same_pods(written.template)
        ),
        written.generation,
    )  # fmt: skip


def predict(
    snapshot: Snapshot, changes: Sequence[AppliedWorkload], generations: Sequence[int], pools: tuple[NodePool, ...] = ()
) -> tuple[Prediction, ...]:
    """What is said of rollouts that aren't begun in the snapshot, with all their numbers."""
    predictions = tuple(
        Prediction(
            id=id_of(change.after.uid, generation), at=snapshot.taken_at, workload=change.after.key, uid=change.after.uid,
            generation=generation, door=Door.WATCH, digest=snapshot.digest, verdict=Verdict.UNKNOWN,
        )
        for change, generation in zip(changes, generations, strict=True)
    )  # fmt: skip
    try:
        result = rollout(snapshot, Scenario(applied=tuple(changes), with_remedies=False), pools) if changes else None
    except HeadroomError as error:
        return tuple(replace(prediction, sentence=f"not known: {error}") for prediction in predictions)
    parts = {part.workload: part for part in result.workloads} if result is not None else {}
    return tuple(
        _with_numbers(prediction, result, parts[prediction.workload])
        for prediction in predictions
        if result is not None
    )


def _with_numbers(prediction: Prediction, result: RolloutResult, part: WorkloadRollout) -> Prediction:
    """With its own verdict; growth, and what isn't known, are of all that began together."""
    band, ties = part.duration, result.ties
    is_of_all = len(result.workloads) == 1 or (
        result.verdict in (Verdict.NEEDS_GROWTH, Verdict.UNKNOWN) and part.verdict is not Verdict.COMPLETES
    )
    shown = result if is_of_all else part
    return replace(
        prediction, verdict=shown.verdict, reason=shown.reason.value, sentence=str(shown.sentence), replicas=part.replicas,
        lowest_ready=part.lowest_ready, seconds=part.seconds, least_seconds=None if band is None else band.least_seconds,
        most_seconds=None if band is None else band.most_seconds,
        nodes_added=result.extra_nodes + len(result.unasked_nodes) if len(result.workloads) == 1 else None,
        pods_preempted=len(result.preempted) if len(result.workloads) == 1 else None,
        completes_share=ties.completed_runs / ties.runs if ties is not None and ties.runs and len(result.workloads) == 1 else None,
        is_proven=ties is not None and ties.proven,
        doubts=tuple(str(doubt.sentence) for doubt in result.doubts if doubt.could_change is Effect.VERDICT),
    )  # fmt: skip
