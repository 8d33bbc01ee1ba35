"""How often predictions were right: verdicts, times, Ready pods, nodes and preempted pods against outcomes.

A share over placements is scored as Brier does (*Verification of forecasts expressed in terms of probability*, 1950): the mean square of its
distance from what came, 0 at best. A band is scored by its coverage: 8 of 10 rollouts shall end in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.records import Record
from planner.ground.words import Text, count, duration, duration_between, moment
from planner.history.prediction_outcomes import Judgement, judgement_of, likeliest_cause
from planner.history.predictions import PredictedRollout, RolloutEnd
from planner.rollout.answers import Verdict

_ORDER: Final = (Judgement.WRONG, Judgement.MEANWHILE, Judgement.OPEN, Judgement.NOT_KNOWN, Judgement.RIGHT)


class PredictionSettings(Record):
    """Nothing is asked: every prediction that was kept."""


class CameTrue(Record):
    """Of predictions that can be scored so, how many came as predicted."""

    right: int
    scored: int


class ScoredPrediction(Record):
    """One prediction as it is shown: what was said, what came, and why it came otherwise."""

    judgement: Judgement
    workload: str
    at: float
    digest: str
    predicted: str
    came: str
    cause: str


class PredictionScores(Record):
    """What the predictions were worth.

    Attributes
    ----------
    right, wrong, meanwhile, not_known, open : verdicts, as `Judgement` has them
    cured : of those that were right, how many were stuck until they were cured
    brier : of verdicts with a share over placements; None where none has one
    band, lowest_ready, nodes_added, pods_preempted : of rollouts that ended as predicted, how many did so within the band, with at least so many
        Ready pods, with so many nodes, with so many pods preempted
    lost : lines of the journal that can't be read
    """

    sentence: Text
    right: int
    wrong: int
    meanwhile: int
    not_known: int
    open: int
    cured: int
    brier: float | None
    band: CameTrue
    lowest_ready: CameTrue
    nodes_added: CameTrue
    pods_preempted: CameTrue
    lost: int
    predictions: tuple[ScoredPrediction, ...]

    @property
    def clause(self) -> str:
        """``412 of 415 right; 23 not known``."""
        unknown = self.not_known + self.meanwhile
        return f"{self.right:,} of {self.right + self.wrong:,} right" + (f"; {unknown:,} not known" if unknown else "")


def score_predictions(rollouts: Sequence[PredictedRollout], lost: int = 0) -> PredictionScores:
    """The scores of predictions beside what came, the wrong ones first."""
    judged = [(judgement_of(rollout), rollout) for rollout in rollouts]
    numbers = Counter(judgement for judgement, _ in judged)
    ended = [rollout for judgement, rollout in judged if judgement is Judgement.RIGHT and _is_undisturbed(rollout)]
    shares = [squared for _, rollout in judged if (squared := _squared(rollout)) is not None]
    cured = sum(
        judgement is Judgement.RIGHT and rollout.outcome is not None and rollout.outcome.outcome is RolloutEnd.CURED
        for judgement, rollout in judged
    )
    band = _tally(_is_in_band(rollout) for rollout in ended)
    rows = [_row(judgement, rollout) for judgement, rollout in judged]
    rows.sort(key=lambda row: (_ORDER.index(row.judgement), -row.at))
    return PredictionScores(
        sentence=Text(_sentence(judged, numbers, cured, band)), right=numbers[Judgement.RIGHT], wrong=numbers[Judgement.WRONG],
        meanwhile=numbers[Judgement.MEANWHILE], not_known=numbers[Judgement.NOT_KNOWN], open=numbers[Judgement.OPEN], cured=cured,
        brier=sum(shares) / len(shares) if shares else None, band=band, lowest_ready=_tally(map(_keeps_ready, ended)),
        nodes_added=_tally(map(_adds_nodes, ended)), pods_preempted=_tally(map(_preempts, ended)), lost=lost, predictions=tuple(rows),
    )  # fmt: skip


def _is_undisturbed(rollout: PredictedRollout) -> bool:
    """Whether it completed without anything that no prediction foretells: then its numbers can be held against what came."""
    return (
        rollout.outcome is not None
        and rollout.outcome.outcome is RolloutEnd.COMPLETED
        and not {*rollout.outcome.meanwhile} - {"node_added"}
    )


def _tally(values: Iterable[bool | None]) -> CameTrue:
    known = [value for value in values if value is not None]
    return CameTrue(right=sum(known), scored=len(known))


def _is_in_band(rollout: PredictedRollout) -> bool | None:
    prediction, outcome = rollout.prediction, rollout.outcome
    if outcome is None or outcome.ended is None or prediction.least_seconds is None or prediction.most_seconds is None:
        return None
    return prediction.least_seconds <= outcome.ended - outcome.began <= prediction.most_seconds


def _keeps_ready(rollout: PredictedRollout) -> bool | None:
    """Whether at least as many pods were Ready as was said; None where a dip may have been missed."""
    least, outcome = rollout.prediction.lowest_ready, rollout.outcome
    is_known = least is not None and outcome is not None and outcome.is_whole and outcome.lowest_ready is not None
    return outcome.lowest_ready >= least if is_known else None  # type: ignore[union-attr,operator]


def _adds_nodes(rollout: PredictedRollout) -> bool | None:
    nodes, outcome = rollout.prediction.nodes_added, rollout.outcome
    return None if nodes is None or outcome is None else nodes == outcome.nodes_added


def _preempts(rollout: PredictedRollout) -> bool | None:
    pods, outcome = rollout.prediction.pods_preempted, rollout.outcome
    return None if pods is None or outcome is None else pods == outcome.pods_preempted


def _squared(rollout: PredictedRollout) -> float | None:
    """How far the share of placements that complete was from what came, squared."""
    share, judgement = rollout.prediction.completes_share, judgement_of(rollout)
    if share is None or rollout.outcome is None or judgement not in (Judgement.RIGHT, Judgement.WRONG):
        return None
    return (share - float(rollout.outcome.outcome is RolloutEnd.COMPLETED)) ** 2


def _sentence(
    judged: Sequence[tuple[Judgement, PredictedRollout]], numbers: Counter[Judgement], cured: int, band: CameTrue
) -> str:
    """``398 said "completes", 396 did; 17 said "stuck", 16 were (1 cured); 23 not known; 88% ended within the band``."""
    parts = []
    known = [pair for pair in judged if pair[0] in (Judgement.RIGHT, Judgement.WRONG)]
    for verdict in Verdict:
        of_verdict = [judgement for judgement, rollout in known if rollout.prediction.verdict is verdict]
        if of_verdict:
            did = sum(judgement is Judgement.RIGHT for judgement in of_verdict)
            also = f" ({cured:,} cured)" if verdict is Verdict.STUCK and cured else ""
            parts.append(f"{len(of_verdict):,} said {verdict.value.replace('_', ' ')}, {did:,} came so{also}")
    for judgement, words in (
        (Judgement.MEANWHILE, "came otherwise after something else happened"),
        (Judgement.NOT_KNOWN, "not known"),
        (Judgement.OPEN, "under way"),
    ):
        parts += [f"{numbers[judgement]:,} {words}"] if numbers[judgement] else []
    parts += [f"{band.right / band.scored:.0%} ended within the band"] if band.scored else []
    return "; ".join(parts) if parts else "no prediction is kept yet"


def _row(judgement: Judgement, rollout: PredictedRollout) -> ScoredPrediction:
    prediction, outcome = rollout.prediction, rollout.outcome
    predicted = prediction.verdict.value.replace("_", " ")
    if prediction.least_seconds is not None and prediction.most_seconds is not None:
        predicted += f", {duration_between(prediction.least_seconds, prediction.most_seconds)}"
    came = "under way" if outcome is None else outcome.outcome.value.replace("_", " ")
    if outcome is not None and outcome.ended is not None:
        came += f" after {duration(max(0.0, outcome.ended - outcome.began))}"
    is_otherwise = judgement in (Judgement.WRONG, Judgement.MEANWHILE) and outcome is not None
    return ScoredPrediction(
        judgement=judgement, workload=prediction.workload, at=prediction.at, digest=prediction.digest[:16], predicted=predicted, came=came,
        cause=likeliest_cause(prediction, outcome) if is_otherwise and outcome is not None else "",
    )  # fmt: skip


PREDICTIONS: Final[Listing[PredictionScores, ScoredPrediction]] = Listing(
    name="predictions",
    empty="No prediction is kept yet.",
    columns=(
        Column("judgement", words=lambda row: row.judgement.value.replace("_", " ")),
        Column("workload", label="workload"),
        Column("at", heading="snapshot taken", words=lambda row: moment(row.at)),
        Column("digest", heading="snapshot"),
        Column("predicted"),
        Column("came"),
        Column("cause", heading="likeliest cause"),
    ),
)


def _figure(name: str, unit: str = "predictions") -> Figure[PredictionScores]:
    return Figure(f"predictions_{name}", lambda scores: getattr(scores, name), unit)


FIGURES: Final = (
    *map(_figure, ("right", "wrong", "meanwhile", "not_known", "open", "cured", "lost")),
    _figure("brier", ""),
)


def notes(scores: PredictionScores) -> list[str]:
    """What else was held against what came."""
    tallies = (
        (scores.band, "ended within the band of 8 in 10"),
        (scores.lowest_ready, "kept as many pods Ready as predicted"),
        (scores.nodes_added, "got as many nodes as predicted"),
        (scores.pods_preempted, "preempted as many pods as predicted"),
    )
    lines = [
        f"{tally.right:,} of {count(tally.scored, 'rollout')} {words}." for tally, words in tallies if tally.scored
    ]
    lines += [f"Brier score over placements: {scores.brier:.3f} (0 is best)."] if scores.brier is not None else []
    lines += [f"{count(scores.lost, 'line')} of the journal can't be read."] if scores.lost else []
    return lines
