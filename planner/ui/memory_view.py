"""The Memory page's words, figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from planner.ground import words
from planner.health.memory.node_memory import ClusterMemory, NodeReport
from planner.health.memory.page_cache import Fate, ReadSource, cache_room, heap_fate, read_again
from planner.kubernetes.records import Finding
from planner.questions import memory
from planner.questions.findings import FindingsAnswer, summary
from planner.questions.memory import MemoryPlan, MemoryWhatIf
from planner.ui import (
    errors,
    findings,
    memory_inputs,
    object_links,
    page_filter,
    sheet,
    tables,
    tiles,
    verdict,
)

_GIB: Final = 2**30
_MOST_RISKS: Final = 8
_ORDER: Final = (
    "eviction_rank", "working_set_bytes", "pod", "over_request_bytes", "request_bytes", "qos_class", "priority",
)  # fmt: skip
"""Columns of who goes first: a phone shows the first."""
_READING: Final = {
    ReadSource.CACHED: "✓ stays in memory",
    ReadSource.FROM_DISK: "✗ all from disk, each time",
    ReadSource.UNKNOWN: "? unknown",
}
_FATE: Final = {Fate.FITS: "✓ fits", Fate.SWAPS: "△ lives, and swaps all the time", Fate.OOM_KILLED: "✗ OOM-killed"}


@errors.part
def stop_without_nodes(cluster: ClusterMemory) -> None:
    """End the page with a sentence where there is no node to speak of."""
    if not cluster.nodes:
        lacking = "This snapshot has no nodes, so the order of eviction isn't known. Read nodes as well: kubectl get nodes,pods -A -o json"
        errors.nothing("Nothing to list", page_filter.nothing("node", lacking))


@errors.part
def headline(plan: MemoryPlan) -> None:
    """The answer in a sentence, then four figures."""
    cluster = plan.cluster
    known_nodes = [node for node in cluster.nodes if node.until_hard_bytes is not None and node.known_share is not None]
    past = [node for node in known_nodes if (node.until_hard_bytes or 0) < 0]
    unknown_nodes = len(cluster.nodes) - len(known_nodes)
    if unknown_nodes and not past:
        title = f"? Not known for {unknown_nodes:,} of {words.count(len(cluster.nodes), 'node')}: no use was measured"
        verdict.unknown(page_filter.only(title), cluster.sentence)
    else:
        title = f"✗ Eviction has begun on {words.count(len(past), 'node')}" if past else "✓ No node is evicting"
        verdict.box(page_filter.only(title), cluster.sentence)
    pods = cluster.pods
    over = sum((pod.over_request_bytes or 0) > 0 for pod in pods)
    overcommitted = sum(node.overcommit > 1 or bool(node.unlimited_pods) for node in cluster.nodes)
    unknown = sum(pod.working_set_bytes is None for pod in pods)
    with st.grid(min_column_width=170):  # four on a page, two on a phone
        nearest = known_nodes[0].until_hard_bytes if known_nodes else None
        tiles.show("To nearest eviction", None if nearest is None else words.measured_bytes(nearest))
        tiles.show(
            "Over request",
            over or (None if unknown else 0),
            hint="Pods that use more than they request: evicted before all others",
        )
        hint = "Nodes on which limits add up to more than allocatable, or a pod has no limit"
        tiles.share("Overcommitted", overcommitted, len(cluster.nodes), hint=hint)
        tiles.share("Unknown use", unknown, len(pods), hint="Pods without PodMetrics")


@errors.part
def risks(found: Sequence[Finding]) -> None:
    """The gravest risks with their cures; all of them in a table where there are more."""
    st.header("Risks")
    if not found:
        st.caption("✓ None found.")
    findings.show(found, at_most=_MOST_RISKS)
    if len(found) > _MOST_RISKS:
        with st.expander(f"All {len(found):,} risks", icon=":material/table_rows:"):
            findings.table(FindingsAnswer(sentence=summary(found), findings=tuple(found)))


@errors.part
def nodes(plan: MemoryPlan) -> None:
    """Every node's requests, limits and use."""
    sheet.table(
        memory.QUESTION, plan, "nodes", key="all_nodes",
        on_pick=lambda place: memory_inputs.look_at(plan.cluster.nodes[place].name),
    )  # fmt: skip
    st.caption("Select a row: *Who goes first on a node* is about that node then.")


@errors.part
def classes(plan: MemoryPlan) -> None:
    """The classes: who goes first where a node runs out."""
    st.header("Classes")
    sheet.table(memory.QUESTION, plan, "classes")


@errors.part
def order(plan: MemoryPlan, node: NodeReport) -> None:
    """The order of eviction as a table."""
    ends = [
        f"{name} {words.measured_bytes(at)}"
        for name, at in (("hard", node.lines.hard_bytes), ("soft", node.lines.soft_bytes))
        if at
    ]
    st.caption(f"The thresholds, of what its pods use: {' · '.join(ends) or 'none'}. {object_links.SELECT}")
    opens = {pod.key: object_links.rollout(pod.workload) for pod in node.pods}
    sheet.table(
        memory.QUESTION, plan, "pods", items=node.pods, opens=lambda pod: opens[pod.key], key="eviction_order",
        names=_ORDER,
    )  # fmt: skip


@errors.part
def cgroups(plan: MemoryPlan, node: NodeReport) -> None:
    """What lands in every container's cgroup."""
    pod_containers = [(pod, container) for pod in node.pods for container in pod.containers]
    sheet.table(memory.QUESTION, plan, "containers", items=pod_containers)


@errors.part
def page_cache(node: NodeReport, size_gib: float) -> None:
    """Room for file cache, and what a file or a heap of some size would mean."""
    size = int(size_gib * _GIB)
    free = node.lines.limit_bytes - node.working_set_bytes if not node.unknown_pods else None
    rows = []
    for key, held in ((pod.key, container) for pod in node.pods for container in pod.containers):
        room = cache_room(
            held.limit_bytes, held.working_set_bytes, node_free_bytes=free, anonymous_bytes=held.anonymous_bytes
        )
        fate = heap_fate(size, held.limit_bytes, held.cgroup.memory_swap_max)
        rows.append(
            {
                "container": f"{key}/{held.name}",
                "room for cache": "unknown" if room.room_bytes is None else words.measured_bytes(room.room_bytes),
                f"file of {size_gib:g} GiB, again": _READING[read_again(size, room)],
                f"heap of {size_gib:g} GiB": _FATE[fate],
                "basis": room.reason,
            }
        )
    wide = {"container": st.column_config.TextColumn(width=200)}
    tables.show(rows, alt=f"Room for file cache on {node.name}", empty="No containers on this node.", columns=wide)


@errors.part
def what_if(answer: MemoryWhatIf) -> None:
    """The sentence, the rollout's verdict, and every value that changes."""
    if not answer.differences and answer.rollout is None:
        st.info(f"{answer.sentence} Choose a workload or a setting above.", icon=":material/difference:")
        return
    if answer.rollout is not None:
        verdict.show(answer.rollout.verdict, answer.rollout.headline, answer.sentence)
    else:
        st.info(words.literal(answer.sentence), icon=":material/difference:")
    sheet.table(memory.WHAT_IF, answer, "differences")
    for title, findings_group in (("Risks that go", answer.cured), ("Risks that come", answer.caused)):
        if findings_group:
            st.caption(title)
            findings.show(findings_group, at_most=_MOST_RISKS)
    if answer.command:
        st.code(answer.command, language=None, wrap_lines=True)
