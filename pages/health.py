import streamlit as st

from planner.questions.memory import MemorySettings
from planner.ui import health_inputs, health_view, link, session_cluster

cluster = session_cluster.cluster()
said = st.container()
SERVICES, NODES = "Services", "Memory by node"
services, nodes = link.tabs([SERVICES, NODES], key="part", holds=dict.fromkeys(("nodes", "node", "size_gib"), NODES))
kubelet, stats = health_inputs.kubelet(cluster)
settings = MemorySettings(kubelet=kubelet)
rule = health_inputs.drift_settings((cluster, *health_inputs.other_clusters()))
health_inputs.add_logs(cluster)
health_inputs.ask_usage(cluster)
downloads = st.container()
with said:
    answers = health_view.answers(cluster, settings, stats, rule)
    health_view.headline(answers)
with services:
    if services.open:
        health_view.table(cluster, answers)
with nodes:
    if nodes.open and answers.memory is not None:
        health_view.by_node(answers.memory)
with downloads:
    health_view.downloads_of(cluster, settings, rule, answers)
