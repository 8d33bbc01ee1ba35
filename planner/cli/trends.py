"""``headroom store trends``: trends of a store's days, or with ``--predictions`` how often predictions were right."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from planner.cli import options_from_settings, output, question_commands
from planner.cli.store import there
from planner.ground.errors import HeadroomError, InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.ground.words import count, duration
from planner.health.drift.model import ENVIRONMENT_WORDS
from planner.history.anonymization import Anonymous, anonymised, renaming
from planner.history.prediction_outcomes import Judgement, judgement_of
from planner.history.prediction_scores import PredictionSettings, score_predictions
from planner.history.predictions import PredictedRollout, Prediction, id_of, read_journal
from planner.kubernetes.object_records import Snapshot
from planner.serve.prediction_listing import QUESTION
from planner.sources.append_only_journal import KEPT_DAYS, Journal
from planner.sources.store import Store, StoredSnapshot

CASE_FORMAT: Final = "headroom.wrong-predictions/v1"
NEAR_SECONDS: Final = 3_600.0
"""A snapshot so much older than a prediction is still a help to replay it."""
_PREDICTIONS: Final = options_from_settings.together(
    options_from_settings.option("", "--predictions", is_flag=True, is_everyday=True, help="How often the verdicts were right that headroom serve --predictions kept."),
    options_from_settings.option("", "--anonymize", is_flag=True, help="Of predictions: under other names, to be shown to others."),
    options_from_settings.option("", "--case", "case_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                   help="Of predictions: write the wrong ones there, under other names."),
)  # fmt: skip
command = question_commands.command_of("trends", question_commands.Hooks(options=_PREDICTIONS))
_trends: Callable[..., Any] = command.callback or (lambda **_: None)


def _command(clusters: str, **values: Any) -> int:
    if not values["predictions"]:
        options_from_settings.need("--predictions", ["--anonymize", "--case"])
        return int(_trends(clusters=clusters, **values))
    rollouts, damaged = _read(clusters, values["of_clusters"], values["last_days"] or KEPT_DAYS)
    if values["case_file"] is not None:
        return _write_case(there(clusters), values["of_clusters"], rollouts, values["case_file"])
    scores = score_predictions(_anonymous(rollouts) if values["anonymize"] else rollouts, damaged)
    text = partial(question_commands.show, QUESTION, scores)
    output.show(values["output_format"], QUESTION, (), PredictionSettings(), scores, text=text)
    return ExitStatus.ANSWERED if rollouts else ExitStatus.NOT_KNOWN


def _read(url: str, clusters: Sequence[str], days: float) -> tuple[tuple[PredictedRollout, ...], int]:
    since = time.time() - days * 86_400
    journals = [Journal(there(url).url, cluster) for cluster in clusters or ("",)]
    return read_journal(line for journal in journals for line in journal.lines(since))


def _anonymous(
    rollouts: Sequence[PredictedRollout], rename: Callable[[str], str] | None = None
) -> tuple[PredictedRollout, ...]:
    """The same under other names, each always by the same, without sentences, which name nodes and pods; digests name nothing."""
    predictions = [rollout.prediction for rollout in rollouts]
    names = (name for prediction in predictions for name in (prediction.workload.partition("/")[2], prediction.uid))
    rename = rename or renaming(names, ENVIRONMENT_WORDS)
    anonymous = []
    for prediction, rollout in zip(predictions, rollouts, strict=True):
        kind, _, name = prediction.workload.partition("/")
        uid = rename(prediction.uid)
        key, outcome = id_of(uid, prediction.generation), rollout.outcome
        renamed = replace(prediction, id=key, uid=uid, workload=f"{kind}/{rename(name)}", sentence="", doubts=())
        anonymous.append(PredictedRollout(prediction=renamed, outcome=outcome and replace(outcome, id=key)))
    return tuple(anonymous)


def _write_case(store: Store, clusters: Sequence[str], rollouts: Sequence[PredictedRollout], file: Path) -> int:
    """Write the wrong predictions under other names, each with what came, and the snapshot that it was made from, as near as the store has it."""
    wrong = [rollout for rollout in rollouts if judgement_of(rollout) is Judgement.WRONG]
    if not wrong:
        raise InputError("no prediction was wrong", where="--case", fix="Nothing was written")
    read = lru_cache(maxsize=1)(store.snapshot)  # a large cluster's fills the memory: one at a time
    uids_of = lru_cache(maxsize=None)(partial(_uids, read))
    snapshots = dict[StoredSnapshot, Anonymous]()
    cases, lacks = [], dict[str, None]()
    for rollout, anonymous in zip(wrong, _anonymous(wrong), strict=True):
        kept, is_damaged = _stored(store.snapshots(clusters, *_near(rollout.prediction)), rollout.prediction, uids_of)
        if kept is not None:
            if kept not in snapshots:
                snapshots[kept] = anonymised(read(kept), ENVIRONMENT_WORDS)
            (anonymous,) = _anonymous([rollout], snapshots[kept].rename)
        before = None if kept is None else max(0.0, rollout.prediction.at - kept.taken_at)
        is_same = kept is not None and _is_same(kept, rollout.prediction)
        lacking = [*_lacks(is_same=is_same, before=before, is_damaged=is_damaged)]
        lacks |= dict.fromkeys(lacking)
        cases.append({
            "prediction": anonymous.prediction, "outcome": anonymous.outcome, "snapshot": kept and kept.snapshot,
            "is_same_snapshot": is_same, "snapshot_taken_seconds_before": before, "lacks": lacking,
        })  # fmt: skip
    document = {
        "format": CASE_FORMAT, "predictions": cases,
        "snapshots": {kept.snapshot: msgspec.Raw(anonymous.content) for kept, anonymous in snapshots.items()},
    }  # fmt: skip
    output.write_file(file, msgspec.json.format(msgspec.json.encode(document), indent=1))
    click.echo(
        f"{file}: {count(len(wrong), 'wrong prediction')}, {count(len(snapshots), 'snapshot')}. Names were replaced; "
        "docs/wrong-answer.md says whom to tell."
    )
    for lack in lacks:
        click.echo(f"To replay it: {lack}", err=True)
    return ExitStatus.ANSWERED


def _near(prediction: Prediction) -> tuple[float, float]:
    return prediction.at - NEAR_SECONDS, prediction.at + 1.0


def _uids(read: Callable[[StoredSnapshot], Snapshot], kept: StoredSnapshot) -> Mapping[str, str] | None:
    """Workload → its uid; None of a snapshot that can't be read."""
    try:
        return {workload.key: workload.uid for workload in read(kept).workloads}
    except HeadroomError:
        return None


def _stored(
    near: Sequence[StoredSnapshot],
    prediction: Prediction,
    uids_of: Callable[[StoredSnapshot], Mapping[str, str] | None],
) -> tuple[StoredSnapshot | None, bool]:
    """The snapshot that a prediction was made from, else the last one of the hour before that has its workload; whether a better one
    can't be read."""
    is_damaged = False
    for kept in sorted(near, key=lambda kept: (_is_same(kept, prediction), kept.taken_at), reverse=True):
        uids = uids_of(kept)
        is_damaged = is_damaged or uids is None
        if uids is not None and uids.get(prediction.workload) == prediction.uid:
            return kept, is_damaged
    return None, is_damaged


def _is_same(kept: StoredSnapshot, prediction: Prediction) -> bool:
    return kept.snapshot.endswith(f"-{prediction.digest[:16]}")


def _lacks(*, is_same: bool, before: float | None, is_damaged: bool) -> Iterator[str]:
    yield "add the manifest that was applied, under the same names"
    if is_damaged:
        yield "a snapshot of the hour before is damaged in the store"
    if before is None and not is_damaged:
        yield "no snapshot of the hour before is in the store; run headroom store snapshot every few minutes"
    elif before is not None and not is_same:
        yield f"the nearest snapshot is {duration(before)} older than the prediction; run headroom store snapshot more often"


command.callback = _command
