"""Memory by node: who is evicted first, cgroup values, room for file cache; and what a change would do."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.ground import words
from planner.health.memory.node_memory import NodeReport
from planner.health.memory.page_cache import Fate, ReadSource, cache_room, heap_fate, read_again
from planner.questions import memory
from planner.questions.memory import MemoryPlan, MemoryWhatIf
from planner.ui import (
    answer_view,
    errors,
    findings,
    link,
    object_links,
    page_filter,
    tables,
    verdict,
)

_GIB: Final = 2**30
_MOST_RISKS: Final = 8
_FEW_NODES, _NODES_PIXELS = 4, 180  # more nodes scroll
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
def by_node(plan: MemoryPlan) -> None:
    """Every node's requests, limits and use; of one the order of eviction, its cgroups and its room for file cache."""
    if not plan.cluster.nodes:
        lacking = "This snapshot has no nodes, so the order of eviction isn't known. Read nodes as well: kubectl get nodes,pods -A -o json"
        st.caption(page_filter.nothing("node", lacking))
        return
    answer_view.table(
        memory.QUESTION, plan, "nodes", key="all_nodes", height=_NODES_PIXELS if len(plan.cluster.nodes) > _FEW_NODES else "content",
        on_pick=lambda place: st.session_state.update(node=plan.cluster.nodes[place].name),
    )  # fmt: skip
    answer_view.table(memory.QUESTION, plan, "classes")
    st.caption(
        "Select a node. The kubelet evicts pods over their request first, then by priority, then by how far they are over it."
    )
    by_name = {node_report.name: node_report for node_report in plan.cluster.nodes}
    node = by_name[link.select("Node", list(by_name), key="node", help="The nearest to eviction first")]
    st.markdown(words.literal(node.sentence))
    eviction, values, cache_tab = st.tabs(["Order of eviction", "cgroup values", "Page cache"])
    with eviction:
        order(plan, node)
    with values:
        st.caption("cgroup v2, in bytes. A dash: not written, the kernel's default.")
        pod_containers = [(pod, container) for pod in node.pods for container in pod.containers]
        answer_view.table(memory.QUESTION, plan, "containers", items=pod_containers)
    with cache_tab:
        label = "Size of a file, or of a heap, GiB"
        size = link.number(label, key="size_gib", least=0.1, most=10_000, default=4, whole=False, step=1.0)
        page_cache(node, size or 4)


@errors.part
def order(plan: MemoryPlan, node: NodeReport) -> None:
    """The order of eviction as a table."""
    ends = [
        f"{name} {words.measured_bytes(at)}"
        for name, at in (("hard", node.lines.hard_bytes), ("soft", node.lines.soft_bytes))
        if at
    ]
    st.caption(f"The thresholds, of what its pods use: {' · '.join(ends) or 'none'}. {object_links.SELECT}")
    opens = {pod.key: object_links.workload(pod.workload, object_links.HEALTH) for pod in node.pods}
    answer_view.table(
        memory.QUESTION, plan, "pods", items=node.pods, opens=lambda pod: opens[pod.key], key="eviction_order",
        names=_ORDER,
    )  # fmt: skip


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
        st.info(f"{answer.sentence} Change a value or a setting above.", icon=":material/difference:")
        return
    if answer.rollout is not None:
        verdict.show(answer.rollout.verdict, answer.rollout.headline, answer.sentence)
    else:
        st.info(words.literal(answer.sentence), icon=":material/difference:")
    answer_view.table(memory.WHAT_IF, answer, "differences")
    for title, findings_group in (("Risks that go", answer.cured), ("Risks that come", answer.caused)):
        if findings_group:
            st.caption(title)
            findings.show(findings_group, at_most=_MOST_RISKS)
    if answer.command:
        st.code(answer.command, language=None, wrap_lines=True)
