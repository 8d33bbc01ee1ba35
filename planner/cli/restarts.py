"""``headroom restarts``: what restarts or doesn't start, why, and what would help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, plain, terminal
from planner.cli.cluster import read_cluster
from planner.cli.given import prometheus_options, usage_over_time
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.words import count
from planner.kubernetes.records import PodLog, Snapshot
from planner.questions.question import Given
from planner.questions.restarts import QUESTION, Cure, RestartPlan, RestartsSettings, answer
from planner.restarts.model import LineVerdict, Loop
from planner.restarts.wanted import wanted_logs
from planner.sources import pod_logs
from planner.sources.cluster import CONTEXT_PREFIX


@click.command("restarts")
@click.argument("cluster")
@click.option(
    "--logs", "log_folders", multiple=True, type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="DIR",
    help="Logs beside the snapshot: NAMESPACE/POD/logs.txt (cluster-info dump) or NAMESPACE/POD/CONTAINER.log and "
    "CONTAINER.previous.log; repeatable.",
)  # fmt: skip
@click.option(
    "--live-logs", is_flag=True, help="With context:NAME: read the logs of troubled containers and their peers."
)
@options.asked(RestartsSettings)
@prometheus_options()
@output.printing(QUESTION)
def command(
    cluster: str,
    log_folders: tuple[Path, ...],
    live_logs: bool,
    prometheus_url: str,
    prometheus_token_file: Path | None,
    days: int,
    fail_on: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """What restarts or fails to start, since when, how often and why: evidence, noise apart, and what would help.

    Log lines are shown with times, numbers, addresses and secrets taken out. Exits 0 when the question is answered, 4
    when the pods are missing from the snapshot; --fail-on looping exits 5 when something is.
    """
    snapshot = _with_logs(read_cluster(cluster), cluster, log_folders, live=live_logs)
    settings = options.read(RestartsSettings, asked)
    usages = usage_over_time(snapshot, prometheus_url, prometheus_token_file, days)
    found = answer(snapshot, settings, Given(usages=usages))
    output.show(output_format, QUESTION, snapshot, settings, found, text=lambda: _print(found), rows=rows)
    return QUESTION.exit_status(snapshot, found, fail_on)


def _with_logs(snapshot: Snapshot, cluster: str, folders: tuple[Path, ...], *, live: bool) -> Snapshot:
    logs: list[PodLog] = [log for folder in folders for log in pod_logs.read_folder(folder)]
    if live:
        if not cluster.startswith(CONTEXT_PREFIX):
            raise InputError("only a live cluster has live logs", where="--live-logs", mend="Use it with context:NAME")
        read, problems = pod_logs.read_live(cluster.removeprefix(CONTEXT_PREFIX), wanted_logs(snapshot))
        for problem in problems:
            click.echo(f"headroom: {problem}", err=True)
        logs += read
    return replace(snapshot, logs=(*snapshot.logs, *logs)) if logs else snapshot


# ── output ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _print(found: RestartPlan) -> None:
    report = found.report
    terminal.say(report.sentence)
    for gap in report.gaps:
        terminal.say(f"Note: {gap}")
    if not report.loops:
        return
    plain.show_listings(QUESTION, found, "loops")
    for loop in report.loops:
        click.echo()
        _print_loop(loop, found.cure_of(loop))


def _print_loop(loop: Loop, cure: Cure | None) -> None:
    terminal.say(loop.sentence)
    for one in loop.diagnosis.evidence:
        terminal.say(f"  {one.source.words}: {one.text}")
    terminal.say(f"  What would help: {loop.diagnosis.cure}.")
    if loop.suggestion is not None:
        terminal.say(f"  Suggested: {loop.suggestion.text}")
        terminal.say(f"    {loop.suggestion.rule}")
        terminal.say(f"    {loop.suggestion.source}")
    if cure is not None:
        terminal.say(f"    {cure.room_sentence}")
        if cure.rollout is not None:
            terminal.say(f"    Its rollout: {cure.rollout.sentence}")
        if cure.note:
            terminal.say(f"    {cure.note}")
    elif loop.suggestion is not None:
        terminal.say("    Its room and rollout weren't tried: --cures says how many are.")
    for line in loop.lines:
        mark = {LineVerdict.NOISE: "noise", LineVerdict.ONLY_FAILING: "only here", LineVerdict.UNSURE: "unsure"}
        terminal.say(f"  log, {mark[line.verdict]}, {count(line.lines, 'line')}: {line.template}")
        terminal.say(f"    {line.sentence}.")
