"""Inputs of the health pages beside the cluster: logs, use over time, kubelet settings and their changes, how services
are recognized, and other clusters to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.setting_declarations import settings_of
from planner.health.drift.model import ENVIRONMENT_WORDS, MatchBy, Rule
from planner.health.drift.service_workloads import environment_names
from planner.health.memory.kubelet import (
    DEFAULT_HARD,
    THRESHOLD_SOURCES,
    KubeletSettings,
)
from planner.health.memory.what_if import MemoryChange
from planner.health.restarts.log_selection import wanted_logs
from planner.inventory import cadvisor
from planner.inventory.cadvisor import NodeMemoryStats
from planner.inventory.usage import Usage
from planner.kubernetes.node_properties import is_gke
from planner.kubernetes.object_records import PodLog, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.qos import running_containers
from planner.questions.drift import DriftSettings
from planner.questions.memory import MemoryWhatIfSettings, change_of
from planner.sources import bounded_reading, cluster_dumps, pod_log_folder
from planner.sources.prometheus_usage import usage_before
from planner.ui import errors, findings, link, live_view, sign_in, uploads
from planner.ui.prometheus_form import Form
from planner.ui.settings_form import SettingsForm

_LOGS = "_uploaded_logs"
_JOINED = "_uploaded_logs_joined"
_METRICS: Final = "_kubelet_metrics"
_OTHERS = "_other_clusters"
_MOST_CLUSTERS = 4
_MOST_LIKE_PRODUCTION = "the most production-like"
OF_WHAT_IF: Final = frozenset({"container", "request", "limit", "equal_cpu"})
"""Parameters of the link that change a workload's memory."""
RULE: Final = frozenset(setting.name for setting in settings_of(Rule))
"""Parameters of the link that say how services are recognised."""


def with_uploaded_logs(snapshot: Snapshot) -> Snapshot:
    """`snapshot` with the logs uploaded for it in this session."""
    added = _added(snapshot)
    if not added:
        return snapshot
    joined_logs = st.session_state.get(_JOINED)
    if joined_logs is None or joined_logs[0] is not added:
        joined_logs = st.session_state[_JOINED] = added, replace(snapshot, logs=_newest(snapshot.logs, added))
    joined: Snapshot = joined_logs[1]
    return joined


def _added(snapshot: Snapshot) -> tuple[PodLog, ...]:
    return uploads.kept(_LOGS, (), of=snapshot)


def _newest(before: Sequence[PodLog], added: Sequence[PodLog]) -> tuple[PodLog, ...]:
    """`before` and `added`, one log a run of a container: the one given last."""
    logs_by_key = {(log.namespace, log.pod, log.container, log.is_previous): log for log in (*before, *added)}
    return tuple(logs_by_key.values())


def add_logs(snapshot: Snapshot) -> None:
    """Logs the snapshot didn't bring: from the live cluster it was read from, or from files."""
    with st.expander("Add logs", icon=":material/upload_file:"):
        if live_view.is_live(snapshot):  # whatever a file that a user gave is called, its pods aren't asked for
            _read_live(snapshot)
        st.caption(
            "Either logs.txt files of kubectl cluster-info dump, or what kubectl logs (--previous) printed for one "
            "container: then say which. They stay in this session's memory; only lines with numbers, times and secrets "
            "taken out are shown."
        )
        names = [f"{pod.namespace}/{pod.name}/{c.name}" for pod in snapshot.pods for c in pod.spec.containers]
        of = st.selectbox("A file without frames is the log of", names, key="_logs_of", index=None)
        is_previous = st.toggle("… of the container that ran before (--previous)", key="_logs_previous")

        def read(files: Sequence[tuple[str, bytes]]) -> tuple[PodLog, ...]:
            logs_by_file = [
                pod_log_folder.of_upload(content, default=of or "", is_previous=is_previous) for _, content in files
            ]
            if not all(logs_by_file):
                raise InputError(
                    "it isn't said which container this is the log of",
                    where=", ".join(name for (name, _), logs in zip(files, logs_by_file, strict=True) if not logs),
                    fix="Choose the container above, and give the file again",
                )
            return _newest(_added(snapshot), [log for logs in logs_by_file for log in logs])

        uploads.ask("Log files", key=_LOGS, types=["txt", "log"], nothing=(), of=snapshot, read=read)


def _read_live(snapshot: Snapshot) -> None:
    """A button: containers in trouble, the run before as well, and a few that work to compare with."""
    log_requests = [log for log in wanted_logs(snapshot) if sign_in.sees(log.namespace)]
    if not log_requests or not st.button(
        f"Read {words.count(len(log_requests), 'log')} from {words.literal(snapshot.source)}"
    ):
        return
    with st.spinner("Reading logs …"):
        logs, problems = pod_log_folder.read_live(snapshot.source, log_requests)
    if logs:
        uploads.keep(_LOGS, _newest(_added(snapshot), logs), names=[snapshot.source], of=snapshot)
        st.rerun()
    for problem in problems[:3]:
        errors.show(problem)


_USAGE: Form[tuple[Usage, ...]] = Form(
    key="_prometheus",
    ask=usage_before,
    said=lambda usages: words.count(len(usages), "container"),
    read="✓ Used in the suggestions",
    back="Back to metrics-server's one moment",
)


def usages(snapshot: Snapshot) -> tuple[Usage, ...] | None:
    """What was read for this snapshot in this session; None: nothing, its PodMetrics count."""
    return _USAGE.kept(snapshot)


def ask_usage(snapshot: Snapshot) -> None:
    """The form: address, token, days. Reading replaces the one moment of metrics-server on each page."""
    with st.expander("Use over time, from Prometheus", icon=":material/monitoring:"):
        so_far = "So far the suggestions rest on one moment of metrics-server. A history knows the peaks."
        nothing = "This snapshot holds no PodMetrics: without a history nothing is known of what containers use."
        _USAGE.show(snapshot, so_far if snapshot.pod_metrics else nothing)


def kubelet(snapshot: Snapshot) -> tuple[KubeletSettings, tuple[NodeMemoryStats, ...]]:
    """How the kubelets are set up now, Kubernetes' defaults until a user says otherwise; and their own metrics, where a user gave
    them."""
    widgets = SettingsForm(KubeletSettings)
    with widgets.more("How the kubelets are set up (defaults unless you change them)") as is_drawn:
        if is_drawn:
            names = list(THRESHOLD_SOURCES)
            on_gke = any(is_gke(node) for node in snapshot.nodes)
            chosen = link.segments("Thresholds' defaults", names, key="defaults", default=names[on_gke])
            with st.grid(2):
                widgets.show("hard", placeholder=str(DEFAULT_HARD))
                widgets.show("soft", placeholder="none")
            st.caption(f"Source of the defaults: {THRESHOLD_SOURCES[chosen]}.")
            with st.container(horizontal=True, vertical_alignment="bottom"):
                memory_qos = widgets.show("memory_qos")
                widgets.show("reservation", disabled=not memory_qos)
                widgets.show("swap_behavior")
            if not memory_qos:
                widgets.forget("reservation")
            with st.grid(2):
                widgets.show("throttling_factor", step=0.05)
                widgets.show("swap", placeholder="none")
            uploads.ask(  # kept in this session only, so not part of a link
                "Kubelets' own metrics (optional): tell file cache from anonymous memory, and what the system uses",
                key=_METRICS, nothing=(), of=snapshot,
                help="One file a node: kubectl get --raw /api/v1/nodes/NODE/proxy/metrics/cadvisor",
                read=lambda files: tuple(
                    cadvisor.parse(bounded_reading.checked(content, name).decode("utf-8", "replace"), name) for name, content in files
                ),
            )  # fmt: skip
    return widgets.settings(), uploads.kept(_METRICS, (), of=snapshot)


def what_if(snapshot: Snapshot, key: str) -> MemoryChange | None:
    """The workload's other request and limit; None where none is changed."""
    keys = workload_keys(snapshot)
    pod = next((pod for pod in snapshot.pods if pod.holds_room and keys[pod.uid] == key), None)
    change = None
    names = [] if pod is None else [container.name for container in running_containers(pod.spec)]
    if names:
        container = link.select("Container", names, key="container") if names[1:] else names[0]
        widgets = SettingsForm(MemoryWhatIfSettings)
        with st.grid(3, vertical_alignment="bottom"):
            widgets.show("request", placeholder="as now", help='"2Gi"; "0" removes it')
            widgets.show("limit", placeholder="as now", help='"4Gi"; "0" removes it')
            widgets.show("equal_cpu", help="With equal memory too, the class is Guaranteed")
        change = change_of(snapshot, widgets.settings(workload=key, container=container))
    return None if change is None or change.is_empty else change


def drift_settings(snapshots: Sequence[Snapshot]) -> DriftSettings:
    """How services are recognised, every part of it in the link; and another cluster, for services with clusters as environments."""
    widgets, environments = SettingsForm(DriftSettings), environment_names(snapshots)
    reference = _MOST_LIKE_PRODUCTION
    with widgets.more(
        "Which workloads are the same service; compare with another cluster", but=("service", "between")
    ) as is_drawn:
        if is_drawn:
            with st.grid(2):
                if widgets.show("match") is MatchBy.LABEL:
                    widgets.show("match_label", placeholder="team.example/service")
                reference = link.select("Compared with", [_MOST_LIKE_PRODUCTION, *environments], key="reference")
            widgets.show("environment_words", placeholder=", ".join(ENVIRONMENT_WORDS))
            widgets.show("same", placeholder="backend=api, shop-web=web")
            widgets.show("system")
            _upload()
    return widgets.settings(**({"reference": reference} if reference in environments else {}))


def other_clusters() -> tuple[Snapshot, ...]:
    """The clusters uploaded in this session to compare with."""
    return uploads.kept(_OTHERS, ())


def _upload() -> None:
    st.caption("Another cluster's snapshot stays in this session's memory, beside the cluster every page looks at.")
    for snapshot in uploads.ask("Upload snapshots", key=_OTHERS, types=cluster_dumps.UPLOADED, nothing=(), read=_read):
        st.caption(f"{words.literal(snapshot.source)}, taken {words.moment(snapshot.taken_at)}")
        if lost := findings.lost(snapshot):
            st.warning(f"Of {words.literal(snapshot.source)} {lost}", title="△ Not all of it")


def _read(files: Sequence[tuple[str, bytes]]) -> tuple[Snapshot, ...]:
    """The clusters given before and these, one file each; one given again stands once."""
    read = [cluster_dumps.read_bytes(content, name=name) for name, content in files]
    clusters = {cluster.digest: cluster for cluster in (*other_clusters(), *read)}
    if len(clusters) > _MOST_CLUSTERS:
        raise InputError(
            f"{len(clusters)} clusters to compare with are too many",
            fix=f"Remove those given before, and give at most {_MOST_CLUSTERS}, one file a cluster",
        )
    return tuple(clusters.values())
