import streamlit as st

from planner.questions.memory import MemorySettings
from planner.ui import (
    drift_inputs,
    health_view,
    link,
    memory_inputs,
    memory_view,
    restarts_inputs,
    session,
    usage_inputs,
)

cluster = session.cluster()
said = st.container()
fold = "Memory by node: which pods are evicted first, their cgroup values"
with link.expander(fold, key="nodes", icon=":material/memory:", is_open=link.says(memory_inputs.OF_NODES)) as is_open:
    nodes = st.container()
kubelet, stats = memory_inputs.kubelet(cluster)
settings = MemorySettings(kubelet=kubelet)
rule = drift_inputs.settings((cluster, *drift_inputs.other_clusters()))
restarts_inputs.add_logs(cluster)
usage_inputs.ask(cluster)
downloads = st.container()
with said:
    answers = health_view.answers(cluster, settings, stats, rule)
    health_view.headline(answers)
    health_view.table(cluster, answers)
with nodes:
    if is_open and answers.memory is not None:
        memory_view.by_node(answers.memory)
with downloads:
    health_view.downloads_of(cluster, settings, rule, answers)
