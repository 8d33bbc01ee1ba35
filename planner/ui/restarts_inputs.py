"""Logs that the snapshot didn't bring."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.health.restarts.log_selection import wanted_logs
from planner.kubernetes.records import PodLog, Snapshot
from planner.serve.processes.snapshot_fingerprint import identity
from planner.sources import pod_logs
from planner.ui import errors, live_view, sign_in, uploads

_LOGS = "_uploaded_logs"
_JOINED = "_uploaded_logs_joined"


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
    return uploads.kept(_LOGS, (), of=identity(snapshot))


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
                pod_logs.of_upload(content, default=of or "", is_previous=is_previous) for _, content in files
            ]
            if not all(logs_by_file):
                raise InputError(
                    "it isn't said which container this is the log of",
                    where=", ".join(name for (name, _), logs in zip(files, logs_by_file, strict=True) if not logs),
                    fix="Choose the container above, and give the file again",
                )
            return _newest(_added(snapshot), [log for logs in logs_by_file for log in logs])

        uploads.ask("Log files", key=_LOGS, types=["txt", "log"], nothing=(), of=identity(snapshot), read=read)


def _read_live(snapshot: Snapshot) -> None:
    """A button: containers in trouble, the run before as well, and a few that work to compare with."""
    log_requests = [log for log in wanted_logs(snapshot) if sign_in.sees(log.namespace)]
    if not log_requests or not st.button(
        f"Read {words.count(len(log_requests), 'log')} from {words.literal(snapshot.source)}"
    ):
        return
    with st.spinner("Reading logs …"):
        logs, problems = pod_logs.read_live(snapshot.source, log_requests)
    if logs:
        uploads.keep(_LOGS, _newest(_added(snapshot), logs), names=[snapshot.source], of=identity(snapshot))
        st.rerun()
    for problem in problems[:3]:
        errors.show(problem)
