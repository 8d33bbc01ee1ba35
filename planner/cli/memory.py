"""``headroom memory``: who is evicted and killed first, what lands in the cgroups, and what a change would do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from planner.cli.cluster import read_cluster
from planner.cli.rollout import EXIT_STATUS
from planner.errors import InputError
from planner.inventory import cadvisor
from planner.inventory.cadvisor import NodeMemoryStats
from planner.kubernetes.records import Snapshot
from planner.memory import rows
from planner.memory.kubelet import (
    DEFAULT_HARD,
    DEFAULT_THROTTLING_FACTOR,
    KubeletSettings,
    ReservationPolicy,
    SwapBehavior,
    parse_threshold,
)
from planner.memory.nodes import ClusterMemory, NodeReport
from planner.memory.what_if import Difference, MemoryChange
from planner.quantity import parse
from planner.questions import memory as plan_memory
from planner.questions.memory import MemoryPlan, MemoryWhatIf
from planner.sources import kubectl
from planner.tables import Row, Rows, as_csv, as_text
from planner.vocabulary import MEMORY
from planner.words import measured_bytes

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_WHAT = ("nodes", "pods", "containers")


@click.command("memory")
@click.argument("cluster")
@click.option("--node", metavar="N", help="One node: its order of eviction and its containers' cgroup values.")
@click.option("--workload", "-w", metavar="W", help="What-if: kind/namespace/name of the workload to change.")
@click.option("--container", metavar="C", help="What-if: the container; not needed where there is only one.")
@click.option("--request", metavar="Q", help='What-if: its memory request, such as 2Gi; "0" takes it away.')
@click.option("--limit", metavar="Q", help='What-if: its memory limit; "0" takes it away.')
@click.option("--equal-cpu", is_flag=True, help="What-if: make its CPU limit equal its CPU request.")
@click.option("--memory-qos", is_flag=True, help="The kubelets have the MemoryQoS feature on.")
@click.option(
    "--reservation",
    type=click.Choice([str(one) for one in ReservationPolicy]),
    default=str(ReservationPolicy.NONE),
    show_default=True,
    help="Their memoryReservationPolicy.",
)
@click.option(
    "--throttling-factor",
    type=float,
    default=DEFAULT_THROTTLING_FACTOR,
    show_default=True,
    help="Their memoryThrottlingFactor.",
)
@click.option(
    "--swap-behavior",
    type=click.Choice([str(one) for one in SwapBehavior]),
    default=str(SwapBehavior.NO_SWAP),
    show_default=True,
    help="Their memorySwap.swapBehavior.",
)
@click.option("--swap", default="0", show_default=True, metavar="Q", help="Swap of each node, such as 8Gi.")
@click.option(
    "--hard", default=str(DEFAULT_HARD), show_default=True, help='evictionHard memory.available; "0%" is none.'
)
@click.option("--soft", default="0%", show_default=True, help="evictionSoft memory.available.")
@click.option(
    "--pod-metrics", type=_FILE, help="PodMetrics as kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods gives."
)
@click.option(
    "--kubelet-metrics", type=_FILE, multiple=True, help="A kubelet's metrics/cadvisor, one file a node; repeatable."
)
@click.option(
    "--rows", "what", type=click.Choice(_WHAT), default="nodes", show_default=True, help="What CSV rows stand for."
)
@click.option(
    "--output",
    "-o",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to print.",
)
def command(
    cluster: str,
    node: str | None,
    workload: str | None,
    container: str | None,
    request: str | None,
    limit: str | None,
    equal_cpu: bool,
    memory_qos: bool,
    reservation: str,
    throttling_factor: float,
    swap_behavior: str,
    swap: str,
    hard: str,
    soft: str,
    pod_metrics: Path | None,
    kubelet_metrics: tuple[Path, ...],
    what: str,
    output: str,
) -> int:
    """Who is evicted and OOM-killed first, and what lands in every container's cgroup.

    With --workload it says what another request or limit would change, and whether the rollout of it completes: exit
    status 0 (completes), 2 (stuck), 3 (needs growth).
    """
    snapshot = _with_metrics(read_cluster(cluster), pod_metrics)
    stats = tuple(cadvisor.parse(path.read_text(encoding="utf-8", errors="replace")) for path in kubelet_metrics)
    settings = KubeletSettings(
        memory_qos=memory_qos,
        reservation_policy=ReservationPolicy(reservation),
        throttling_factor=throttling_factor,
        swap_behavior=SwapBehavior(swap_behavior),
        swap_bytes=parse(swap, MEMORY),
        hard=parse_threshold(hard),
        soft=parse_threshold(soft),
    )
    if workload is not None:
        change = MemoryChange(
            workload=workload,
            container=container or _only_container(snapshot, workload),
            request_bytes=None if request is None else parse(request, MEMORY),
            limit_bytes=None if limit is None else parse(limit, MEMORY),
            equal_cpu=equal_cpu,
        )
        return _what_if(snapshot, settings, change, stats, output)
    answer = plan_memory.memory(snapshot, settings, stats)
    shown = _nodes(answer.cluster, node)
    if output == "json":
        document = rows.document(answer.cluster, answer.findings, shown, digest=snapshot.digest, source=snapshot.source)
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif output == "csv":
        click.echo(as_csv(_rows(answer.cluster, shown, what)), nl=False)
    else:
        _print(answer, shown if node else ())
    return 0


def _with_metrics(snapshot: Snapshot, path: Path | None) -> Snapshot:
    if path is None:
        return snapshot
    read = kubectl.read(path)
    return replace(snapshot, pod_metrics=read.pod_metrics, digest=f"{snapshot.digest}+{read.digest}")


def _only_container(snapshot: Snapshot, workload: str) -> str:
    found = snapshot.workload(workload)
    names = [one.name for one in found.template.spec.containers] if found else []
    if len(names) != 1:
        raise InputError(
            f"{workload} has {len(names)} containers" if found else f"there is no {workload}",
            where="--container",
            mend=f"Name one of {', '.join(names)}" if names else "Write the workload as kind/namespace/name",
        )
    return names[0]


def _nodes(cluster: ClusterMemory, name: str | None) -> Sequence[NodeReport]:
    found = [one for one in cluster.nodes if name in (None, one.name)]
    if name is not None and not found:
        raise InputError(f'there is no node "{name}"', where="--node", mend="Leave --node out to see all of them")
    return found


def _rows(cluster: ClusterMemory, nodes: Sequence[NodeReport], what: str) -> Rows:
    if what == "pods":
        return rows.pod_rows(nodes)
    if what == "containers":
        return rows.container_rows(nodes)
    names = {node.name for node in nodes}
    return [row for row in rows.node_rows(cluster) if row["node"] in names]


def _print(answer: MemoryPlan, nodes: Sequence[NodeReport]) -> None:
    click.echo(answer.cluster.sentence)
    if nodes:
        _print_node(nodes[0])
        return
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
        click.echo(f"{finding.severity}: {finding.object or 'cluster'}: {finding.what}. {finding.mend}.")


def _print_node(node: NodeReport) -> None:
    click.echo(f"{node.name}: {node.sentence}")
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


def _what_if(
    snapshot: Snapshot,
    settings: KubeletSettings,
    change: MemoryChange,
    stats: tuple[NodeMemoryStats, ...],
    output: str,
) -> int:
    answer = plan_memory.memory_what_if(snapshot, settings, change, settings, stats)
    lines = [_difference_row(one) for one in answer.differences]
    if output == "csv":
        click.echo(as_csv(lines), nl=False)
    elif output == "json":
        click.echo(json.dumps(_what_if_document(snapshot, answer, lines), indent=2, ensure_ascii=False))
    else:
        click.echo(answer.sentence)
        _table(
            [
                {
                    "OBJECT": one.object,
                    "CONTAINER": one.container,
                    "VALUE": one.field,
                    "NOW": one.before_text,
                    "THEN": one.after_text,
                }
                for one in answer.differences
            ]
        )
        if answer.command:
            click.echo(answer.command)
    return EXIT_STATUS[answer.rollout.verdict] if answer.rollout else 0


def _what_if_document(snapshot: Snapshot, answer: MemoryWhatIf, lines: Rows) -> Row:
    return {
        "format": "headroom.memory-what-if/v1",
        "cluster": {"source": snapshot.source, "digest": snapshot.digest},
        "sentence": answer.sentence,
        "differences": lines,
        "other_pods_that_move": answer.moved_pods,
        "risks_that_go": [one.code for one in answer.cured],
        "risks_that_come": [one.code for one in answer.caused],
        "rollout": {"verdict": answer.rollout.verdict.value, "sentence": str(answer.rollout.sentence)}
        if answer.rollout
        else None,
        "command": answer.command,
    }


def _difference_row(one: Difference) -> Row:
    return {
        "object": one.object,
        "container": one.container or None,
        "value": one.field,
        "now": one.before,
        "then": one.after,
    }


def _bytes(amount: int | None) -> str | None:
    return None if amount is None else measured_bytes(amount)


def _written(value: object) -> str:
    """As it stands in the cgroup's file; ``-`` where nothing is written."""
    return "-" if value is None else str(value)
