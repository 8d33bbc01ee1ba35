"""``headroom memory``: who is evicted and killed first, what lands in the cgroups, and what a change would do."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, plain, terminal
from planner.cli.cluster import read_cluster
from planner.ground.records import replace
from planner.inventory import cadvisor
from planner.kubernetes.records import Snapshot
from planner.questions.memory import (
    DIFFERENCES,
    QUESTION,
    WHAT_IF,
    MemoryPlan,
    MemorySettings,
    MemoryWhatIf,
    MemoryWhatIfSettings,
    answer,
    answer_what_if,
)
from planner.questions.question import FACTS, Given
from planner.questions.wording import SEVERITY
from planner.sources import bounded, kubectl

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


@click.command("memory")
@click.argument("cluster")
@options.asked(MemorySettings, MemoryWhatIfSettings)
@click.option(
    "--pod-metrics", type=_FILE, help="PodMetrics as kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods gives."
)
@click.option(
    "--kubelet-metrics", type=_FILE, multiple=True, help="A kubelet's metrics/cadvisor, one file a node; repeatable."
)
@output.printing(QUESTION)
def command(
    cluster: str,
    pod_metrics: Path | None,
    kubelet_metrics: tuple[Path, ...],
    fail_on: tuple[str, ...],
    rows: str,
    output_format: str,
    **asked: Any,
) -> int:
    """Who is evicted and OOM-killed first, and what lands in every container's cgroup.

    With --workload it says what another request or limit would change, and whether the rollout of it completes: exit
    status 0 (completes), 2 (stuck), 3 (needs growth), 4 (not known).
    """
    snapshot = _with_metrics(read_cluster(cluster), pod_metrics)
    given = Given(
        stats=tuple(
            cadvisor.parse(bounded.read_file(path).decode("utf-8", "replace"), str(path)) for path in kubelet_metrics
        )
    )
    if asked["workload"]:
        change = options.read(MemoryWhatIfSettings, asked)
        changed = answer_what_if(snapshot, change, given)
        table = rows if rows == FACTS else ""
        output.show(output_format, WHAT_IF, snapshot, change, changed, text=lambda: _print_changed(changed), rows=table)
        return WHAT_IF.exit_status(snapshot, changed)
    settings = options.read(MemorySettings, asked)
    found = answer(snapshot, settings, given)

    text = partial(_print, found, is_of_one_node=bool(settings.node))
    output.show(output_format, QUESTION, snapshot, settings, found, text=text, rows=rows)
    return QUESTION.exit_status(snapshot, found, fail_on)


def _with_metrics(snapshot: Snapshot, path: Path | None) -> Snapshot:
    if path is None:
        return snapshot
    read = kubectl.read(path, limit_bytes=bounded.limit_bytes())
    return replace(snapshot, pod_metrics=read.pod_metrics, digest=f"{snapshot.digest}+{read.digest}")


def _print(found: MemoryPlan, *, is_of_one_node: bool) -> None:
    terminal.say(found.cluster.sentence)
    if is_of_one_node:
        [node] = found.cluster.nodes
        terminal.say(f"{node.name}: {node.sentence}")
        plain.show_listings(QUESTION, found, "pods", "containers")
        return
    plain.show_listings(QUESTION, found, "nodes")
    for finding in found.findings:
        terminal.say(
            f"{SEVERITY[finding.severity]}: {finding.object or 'cluster'}: {finding.what}. {finding.mend}.", indent="  "
        )


def _print_changed(answer: MemoryWhatIf) -> None:
    terminal.say(answer.sentence)
    plain.show_listing(DIFFERENCES, answer)
    if answer.command:
        click.echo(answer.command)
