"""The page Health: each service's troubles, since when, and what to set; a row opens the workload's page. Memory by
node: eviction order, cgroup values, page cache.
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from planner.ground import words
from planner.ground.errors import NotKnownError
from planner.ground.records import Record
from planner.ground.table_formats import alike
from planner.health.drift.model import DriftReport
from planner.health.memory.node_memory import NodeReport
from planner.health.memory.page_cache_room import Fate, ReadSource, cache_room, heap_fate, read_again
from planner.health.troubles import DRIFT, Trouble, rows, troubles
from planner.inventory.cadvisor import NodeMemoryStats
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.workload_kinds import NODE
from planner.questions import drift, memory, restarts
from planner.questions.drift import DriftSettings
from planner.questions.memory import MemoryPlan, MemorySettings
from planner.questions.question import Inputs
from planner.questions.question import document as document_of
from planner.questions.restarts import RestartPlan, RestartsSettings
from planner.ui import (
    answer_view,
    downloads,
    errors,
    health_inputs,
    link,
    object_page_links,
    page_filter,
    page_frame,
    shared_answers,
    tables,
    verdict,
)

_FEW: Final = 12  # rows that are shown at once


class HealthAnswers(Record):
    """What restarts, the memory of nodes and what differs between environments, of what the filter lets through; None where what it
    depends on wasn't read."""

    restarts: RestartPlan | None
    memory: MemoryPlan | None
    drift: DriftReport | None


def answers(
    cluster: Snapshot, settings: MemorySettings, stats: tuple[NodeMemoryStats, ...], rule: DriftSettings
) -> HealthAnswers:
    """The three answers that the page shows in one table."""
    usages = health_inputs.usages(cluster)
    plan = _known(restarts, health_inputs.with_uploaded_logs(cluster), RestartsSettings(cures=0), Inputs(usages=usages))
    given = Inputs(usages=usages, others=health_inputs.other_clusters())
    return HealthAnswers(
        restarts=plan,
        memory=plan and _known(memory, cluster, settings, Inputs(stats=stats)),
        drift=plan and _known(drift, cluster, rule, given),
    )


def _known(question: Any, snapshot: Snapshot, settings: object, inputs: Inputs) -> Any:
    """The answer of the module `question`; None where what it depends on wasn't read, which is said in its place."""
    try:
        return question.narrowed(
            shared_answers.ask(question.QUESTION, snapshot, settings, inputs), page_filter.kept(snapshot)
        )
    except NotKnownError as error:
        errors.show(error)
        return None


@errors.part
def headline(health: HealthAnswers) -> None:
    """What restarts in a sentence, then how near eviction nodes are, what differs, and what could not be looked at."""
    if health.restarts is None:
        return
    report, nodes = health.restarts.report, health.memory.cluster.nodes if health.memory is not None else ()
    past = sum((node.until_hard_bytes or 0) < 0 for node in nodes)
    unmeasured = sum(node.until_hard_bytes is None or node.known_share is None for node in nodes)
    sentences = [
        str(answer.sentence) for answer in (health.restarts, health.memory, health.drift) if answer is not None
    ]
    if any(loop.is_live for loop in report.loops):
        verdict.box(page_filter.only("✗ Something keeps restarting"), sentences.pop(0))
    elif past:
        verdict.box(page_filter.only(f"✗ Eviction has begun on {words.count(past, 'node')}"), sentences.pop(1))
    elif unmeasured:
        title = f"? Nothing restarts; memory isn't known of {unmeasured:,} of {words.count(len(nodes), 'node')}: no use was measured"
        verdict.unknown(page_filter.only(title), sentences.pop(0))
    else:
        verdict.box(page_filter.only("✓ Nothing restarts"), sentences.pop(0))
    sentences += [*report.gaps, *(health.drift.ambiguous[:5] if health.drift is not None else ())]
    with page_frame.folded("Memory, differences, and what isn't known", "beside"):
        st.caption("  \n".join(map(words.literal, sentences)))


@errors.part
def table(snapshot: Snapshot, health: HealthAnswers) -> None:
    """One row a service: what is wrong with it, for how long, and what to set."""
    plan, risks = health.restarts, health.memory.findings if health.memory is not None else ()
    every = troubles(snapshot, plan.report.loops if plan is not None else (), risks, health.drift)
    groups = alike(every, lambda trouble: trouble.alike)
    if not groups:
        st.markdown(page_filter.nothing("service", "Nothing is known to be wrong with any service."))
    for place, (trouble, *others) in enumerate(groups[:_FEW]):
        more = [f"And {len(others):,} more like it."] if others else []
        fix = [f":gray[Set: {words.literal(words.sentence(trouble.fix))}]"] if trouble.fix else []
        text = "  \n".join([*(words.literal(words.sentence(what)) for what in trouble.what), *more, *fix])
        with st.container(key=f"row_{place}"):
            lasting = f"for {trouble.lasting}" if trouble.lasting else ""
            color = "red" if trouble.is_grave else "orange"
            tables.row(_target(snapshot, trouble), words.short_name(trouble.object), trouble.kind, color, text, lasting)
    if len(every) > len(groups[:_FEW]):
        label = f"All {len(every):,}, one by one"
        with link.expander(label, key="every_service", icon=":material/table_rows:") as is_open:
            if is_open:
                opens = [_target(snapshot, trouble) for trouble in every]
                tables.show(rows(every), alt="What is wrong with each service", key="services", opens=opens, height=300)


def _target(snapshot: Snapshot, trouble: Trouble) -> object_page_links.PageLink | None:
    """The workload's tab that has it, by the rule that services are matched by here; None for pods that have gone."""
    key = trouble.object
    if key.startswith(f"{NODE.name}/"):
        return object_page_links.node(key)
    if snapshot.workload(key) is None and key not in workload_keys(snapshot).values():
        return None
    tab = object_page_links.ELSEWHERE if trouble.kind == DRIFT else object_page_links.HEALTH
    return object_page_links.workload(key, tab, link.given(health_inputs.RULE))


@errors.part
def downloads_of(cluster: Snapshot, settings: MemorySettings, rule: DriftSettings, health: HealthAnswers) -> None:
    """Each answer as JSON and CSV: what restarts with the cures that the command tries."""
    with link.expander("Downloads", key="downloads", icon=":material/download:") as is_open:
        if not is_open or health.restarts is None:
            return
        plan, cures, logged = health.restarts, RestartsSettings(), health_inputs.with_uploaded_logs(cluster)
        st.caption("Restarts; memory; drift between environments")
        downloads.show(
            "restarts", rows=lambda: restarts.QUESTION.rows(plan, ""),
            document=lambda: document_of(restarts.QUESTION, logged, cures, shared_answers.work(restarts.with_cures, logged, plan, cures.cures)),
        )  # fmt: skip
        if health.memory is not None:
            downloads.answer(memory.QUESTION, cluster, settings, health.memory, rows="containers")
        if health.drift is not None:
            downloads.answer(drift.QUESTION, (cluster, *health_inputs.other_clusters()), rule, health.drift, rows="all")


_GIB: Final = 2**30
_FEW_NODES, _NODES_PIXELS = 4, 180  # more nodes scroll
_ORDER: Final = (
    "pod", "eviction_rank", "working_set_bytes", "over_request_bytes", "request_bytes", "qos_class", "priority",
)  # fmt: skip
"""Columns of who goes first: the pod is the title of a card on a phone."""
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
        memory.QUESTION, plan, "nodes", height=_NODES_PIXELS if len(plan.cluster.nodes) > _FEW_NODES else "content",
    )  # fmt: skip
    answer_view.table(memory.QUESTION, plan, "classes")
    st.caption("The kubelet evicts pods over their request first, then by priority, then by how far they are over it.")
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
    st.caption(f"The thresholds, of what its pods use: {' · '.join(ends) or 'none'}. {object_page_links.SELECT}")
    opens = {pod.key: object_page_links.workload(pod.workload, object_page_links.HEALTH) for pod in node.pods}
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
    tables.show(rows, alt=f"Room for file cache on {node.name}", empty="No containers on this node.")
