"""``headroom store trends``: what a store's days say, or with ``--predictions`` how often predictions were right."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from planner.cli import options, output, question_commands
from planner.cli.store import there
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.ground.words import count
from planner.health.drift.model import ENVIRONMENT_WORDS
from planner.history.anonymization import renaming
from planner.history.prediction_outcomes import Judgement, judgement_of
from planner.history.prediction_scores import PredictionSettings, score_predictions
from planner.history.predictions import PredictedRollout, read_journal
from planner.serve.prediction_question import QUESTION
from planner.sources.journal import KEPT_DAYS, Journal

CASE_FORMAT: Final = "headroom.wrong-predictions/v1"
_PREDICTIONS: Final = options.together(
    options.option("", "--predictions", is_flag=True, is_everyday=True, help="How often the verdicts were right that headroom serve --predictions kept."),
    options.option("", "--anonymize", is_flag=True, help="Of predictions: under other names, to be shown to others."),
    options.option("", "--case", "case_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                   help="Of predictions: write the wrong ones there, under other names."),
)  # fmt: skip
command = question_commands.command_of("trends", question_commands.Hooks(options=_PREDICTIONS))
_trends: Callable[..., Any] = command.callback or (lambda **_: None)


def _command(clusters: str, **values: Any) -> int:
    if not values["predictions"]:
        options.need("--predictions", ["--anonymize", "--case"])
        return int(_trends(clusters=clusters, **values))
    rollouts, damaged = _read(clusters, values["of_clusters"], values["last_days"] or KEPT_DAYS)
    if values["case_file"] is not None:
        return _write_case(rollouts, values["case_file"])
    scores = score_predictions(_anonymous(rollouts) if values["anonymize"] else rollouts, damaged)
    text = partial(question_commands.show, QUESTION, scores)
    output.show(values["output_format"], QUESTION, (), PredictionSettings(), scores, text=text)
    return ExitStatus.ANSWERED if rollouts else ExitStatus.NOT_KNOWN


def _read(url: str, clusters: Sequence[str], days: float) -> tuple[tuple[PredictedRollout, ...], int]:
    since = time.time() - days * 86_400
    journals = [Journal(there(url).url, cluster) for cluster in clusters or ("",)]
    return read_journal(line for journal in journals for line in journal.lines(since))


def _anonymous(rollouts: Sequence[PredictedRollout]) -> tuple[PredictedRollout, ...]:
    """The same under other names, each always by the same, without sentences, which name nodes and pods; uids and digests name nothing."""
    keys = [rollout.prediction.workload.partition("/") for rollout in rollouts]
    rename = renaming((name for _, _, name in keys), ENVIRONMENT_WORDS)
    return tuple(
        replace(
            rollout,
            prediction=replace(rollout.prediction, workload=f"{kind}/{rename(name)}", sentence="", doubts=()),
        )
        for rollout, (kind, _, name) in zip(rollouts, keys, strict=True)
    )


def _write_case(rollouts: Sequence[PredictedRollout], file: Path) -> int:
    """Write the wrong predictions under other names, each with what came."""
    wrong = _anonymous([rollout for rollout in rollouts if judgement_of(rollout) is Judgement.WRONG])
    if not wrong:
        raise InputError("no prediction was wrong", where="--case", fix="Nothing was written")
    content = msgspec.json.format(msgspec.json.encode({"format": CASE_FORMAT, "predictions": wrong}), indent=1)
    output.write_file(file, content)
    click.echo(
        f"{file}: {count(len(wrong), 'wrong prediction')}. Names were replaced; docs/wrong-answer.md says whom to tell."
    )
    return ExitStatus.ANSWERED


command.callback = _command
