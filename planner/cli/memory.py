"""``headroom memory``: who is evicted and killed first, what lands in the cgroups, and what a change would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from planner.cli import options, output, plain, terminal
from planner.cli.cluster import read_cluster
from planner.ground.records import replace
from planner.ground.tables import Rows, as_text
from planner.ground.words import measured_bytes
from planner.inventory import cadvisor
from planner.kubernetes.records import Snapshot
from planner.memory.nodes import NodeReport
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

    def text() -> None:
        if settings.node:
            terminal.say(found.cluster.sentence)
            _print_node(found.cluster.nodes[0])
        else:
            _print(found)

    output.show(output_format, QUESTION, snapshot, settings, found, text=text, rows=rows)
    return QUESTION.exit_status(snapshot, found, fail_on)


def _with_metrics(snapshot: Snapshot, path: Path | None) -> Snapshot:
    if path is None:
        return snapshot
    read = kubectl.read(path, limit_bytes=bounded.limit_bytes())
    return replace(snapshot, pod_metrics=read.pod_metrics, digest=f"{snapshot.digest}+{read.digest}")


def _print(answer: MemoryPlan) -> None:
    terminal.say(answer.cluster.sentence)
    _table(
        [
            {
                "NODE": node.name,
                "ALLOCATABLE": measured_bytes(node.memory.allocatable_bytes),
                "REQUESTED": measured_bytes(node.request_bytes),
                "LIMITS": measured_bytes(node.limit_bytes) + ("+" if node.unlimited_pods else ""),
                "USED": None if node.known_share is None else measured_bytes(node.working_set_bytes),
                "UNTIL HARD": _bytes(node.until_hard_bytes if node.known_share is not None else None),
                "FIRST TO GO": node.first_to_go.key if node.first_to_go else "",
            }
            for node in answer.cluster.nodes
        ]
    )
    for finding in answer.findings:
        terminal.say(
            f"{SEVERITY[finding.severity]}: {finding.object or 'cluster'}: {finding.what}. {finding.mend}.", indent="  "
        )


def _print_node(node: NodeReport) -> None:
    terminal.say(f"{node.name}: {node.sentence}")
    _table(
        [
            {
                "EVICTED": "never" if pod.is_critical else f"{pod.eviction_rank}." if pod.eviction_rank else None,
                "POD": pod.key,
                "CLASS": str(pod.qos),
                "PRIORITY": pod.priority,
                "REQUEST": measured_bytes(pod.request_bytes),
                "USED": _bytes(pod.working_set_bytes),
                "OVER REQUEST": _bytes(pod.over_request_bytes),
            }
            for pod in node.pods
        ]
    )
    _table(
        [
            {
                "CONTAINER": f"{pod.key}/{one.name}",
                "memory.max": _written(one.cgroup.memory_max),
                "memory.high": _written(one.cgroup.memory_high),
                "memory.min": _written(one.cgroup.memory_min),
                "memory.low": _written(one.cgroup.memory_low),
                "memory.swap.max": _written(one.cgroup.memory_swap_max),
                "oom_score_adj": _written(one.cgroup.oom_score_adj),
                "KILLED": f"{one.oom_rank}." if one.oom_rank else None,
            }
            for pod in node.pods
            for one in pod.containers
        ]
    )


def _table(rows: Rows) -> None:
    click.echo(as_text(rows, unknown="unknown"), nl=False)


def _print_changed(answer: MemoryWhatIf) -> None:
    terminal.say(answer.sentence)
    plain.show_listing(DIFFERENCES, answer)
    if answer.command:
        click.echo(answer.command)


def _bytes(amount: int | None) -> str | None:
    return None if amount is None else measured_bytes(amount)


def _written(value: object) -> str:
    """As it stands in the cgroup's file; ``-`` where nothing is written."""
    return "-" if value is None else str(value)
