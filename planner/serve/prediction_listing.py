"""Lists the predictions that `headroom serve` kept, with the outcome of each."""

from planner.history.prediction_scores import FIGURES, PREDICTIONS, PredictionSettings, notes, score_predictions
from planner.questions.question import Question

QUESTION = Question(
    name="predictions", settings=PredictionSettings, figures=FIGURES, listings=(PREDICTIONS,), notes=notes,
    answer=lambda _snapshot, _settings, _given: score_predictions(()),
)  # fmt: skip
