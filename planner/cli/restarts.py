"""``headroom restarts``: the generated command, plus other sources of container logs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from planner.cli import options_from_settings
from planner.cli.question_commands import Called, Hooks, command_of
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.health.restarts.log_selection import wanted_logs
from planner.kubernetes.object_records import PodLog, Snapshot
from planner.sources import pod_log_folder
from planner.sources.cluster_argument import CONTEXT_PREFIX

_OPTIONS: Final = options_from_settings.together(
    options_from_settings.option(
        "",
        "--logs", "log_folders", multiple=True, type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="DIR",
        is_everyday=True, help="Logs beside the snapshot: NAMESPACE/POD/logs.txt (cluster-info dump) or NAMESPACE/POD/CONTAINER.log and "
        "CONTAINER.previous.log; repeatable.",
    ),
    options_from_settings.option(
        "",
        "--live-logs", is_flag=True, help="With context:NAME: read the logs of troubled containers and their peers."
    ),
)  # fmt: skip


def _with_logs(called: Called) -> Snapshot:
    [cluster], [snapshot] = called.specs, called.snapshots
    logs: list[PodLog] = [log for folder in called.values["log_folders"] for log in pod_log_folder.read_folder(folder)]
    if called.values["live_logs"]:
        if not cluster.startswith(CONTEXT_PREFIX):
            raise InputError("only a live cluster has live logs", where="--live-logs", fix="Use it with context:NAME")
        read, problems = pod_log_folder.read_live(cluster.removeprefix(CONTEXT_PREFIX), wanted_logs(snapshot))
        for problem in problems:
            click.echo(f"headroom: {problem}", err=True)
        logs += read
    return replace(snapshot, logs=(*snapshot.logs, *logs)) if logs else snapshot


command = command_of("restarts", Hooks(options=_OPTIONS, reads=_with_logs))
