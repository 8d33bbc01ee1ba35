import streamlit as st

from planner.ground.words import literal
from planner.questions import memory as plan_memory
from planner.questions.question import Inputs
from planner.ui import cache, downloads, link, memory_inputs, memory_view, page_filter, session

snapshot = session.cluster()
said = st.container()
kubelet, stats = memory_inputs.kubelet(snapshot)
settings = plan_memory.MemorySettings(kubelet=kubelet)
whole = cache.ask(plan_memory.QUESTION, snapshot, settings, Inputs(stats=stats))
plan = plan_memory.narrowed(whole, page_filter.kept(snapshot))
with said:
    memory_view.stop_without_nodes(plan.cluster)
    memory_view.headline(plan)

RISKS, NODES, FIRST, CHANGE = "Risks", "Nodes", "Who goes first on a node", "What would change"
ON_LINK = {"node": FIRST, "size_gib": FIRST, "workload": CHANGE, "then_qos": CHANGE, "then_swap": CHANGE}
risks, nodes, first, change = link.tabs([RISKS, NODES, FIRST, CHANGE], key="part", holds=ON_LINK)
with risks:
    if risks.open:
        memory_view.risks(plan.findings)
        memory_view.classes(plan)
with nodes:
    if nodes.open:
        memory_view.nodes(plan)
with first:
    st.caption("The kubelet evicts pods over their request first, then by priority, then by how far they are over it.")
    node = memory_inputs.node(plan.cluster)
    st.markdown(literal(node.sentence))
    eviction, values, page_cache = st.tabs(["Order of eviction", "cgroup values", "Page cache"])
    with eviction:
        if first.open:
            memory_view.order(plan, node)
    with values:
        st.caption("cgroup v2, in bytes. A dash: not written, the kernel's default.")
        if first.open:
            memory_view.cgroups(plan, node)
    with page_cache:
        memory_view.page_cache(node, memory_inputs.size_gib())
with change:
    asked, then = memory_inputs.what_if(snapshot, kubelet)
    if change.open:
        memory_view.what_if(cache.answer(plan_memory.memory_what_if, snapshot, kubelet, asked, then, stats))
downloads.answer(plan_memory.QUESTION, snapshot, settings, plan, rows="containers")
