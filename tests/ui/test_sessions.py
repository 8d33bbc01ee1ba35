"""Several people at once: nothing that one gave is ever shown to another."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from planner.ground.records import replace
from planner.kubernetes.object_records import Finding, FrozenMap, PodLog, Presence, Reading, Severity, Snapshot
from planner.questions.question import Inputs
from planner.serve.processes.snapshot_fingerprint import identity
from planner.sources import demo
from planner.ui import session_cluster, shared_answers, uploads
from tests.pages.visiting import said, visit

_CHANGES: dict[str, Any] = {
    "taken_at": 1.0,
    "source": "another name",
    "digest": "another",
    "logs": (PodLog(namespace="dev", pod="api", container="main", is_previous=False, lines=("one",)),),
    "presence": FrozenMap({"Pod": Presence.REFUSED}),
    "reading": Reading(files=77),
    "problems": (Finding(severity=Severity.ERROR, code="x", object="", what="y"),),
}


def with_log_line(snapshot: Snapshot, line: str) -> Snapshot:
    """Each log beginning with a line of its own; the digest, of the objects, is the same."""
    return replace(snapshot, logs=tuple(replace(log, lines=(line, *log.lines)) for log in snapshot.logs), source="mine")


def test_two_sessions_with_the_same_objects_see_their_own_logs() -> None:
    base = demo.read()
    first, second = (
        with_log_line(base, f"Traceback: RuntimeError {word} exploded") for word in ("alfalfa", "brontosaur")
    )
    assert first.digest == second.digest
    one, other = visit("restarts", first, loop="dev/api"), visit("restarts", second, loop="dev/api")
    assert "alfalfa" in said(one)
    assert "brontosaur" in said(other)
    assert "alfalfa" not in said(other)


@pytest.mark.parametrize("name", [one.name for one in fields(Snapshot) if one.compare])
def test_whatever_differs_makes_another_key(name: str) -> None:
    base = demo.read()
    more: dict[str, Any] = {name: _CHANGES[name] if name in _CHANGES else (*getattr(base, name), *base.nodes)}
    changed = replace(base, **more)
    assert identity(changed) != identity(base)
    assert identity(replace(base)) == identity(base)


def _digests(snapshot: Snapshot, given: Inputs) -> str:
    return " ".join(str(len(one.logs)) for one in (snapshot, *given.others))


def test_clusters_to_compare_with_are_in_the_key_whole() -> None:
    base = demo.read()
    bare = replace(base, logs=())
    with_logs = shared_answers.answer(_digests, base, Inputs(others=(base,)))
    without = shared_answers.answer(_digests, base, Inputs(others=(bare,)))
    assert with_logs != without


def test_logs_uploaded_for_a_cluster_are_not_another_ones() -> None:
    base = demo.read()
    other = with_log_line(base, "Traceback: RuntimeError cormorant exploded")
    app = visit("restarts", base, loop="dev/api")
    app.session_state["_uploaded_logs-kept"] = uploads.ReadFiles(names=("a",), of=identity(other), value=other.logs)
    app.run()
    assert "cormorant" not in said(app)
    app.session_state["_uploaded_logs-kept"] = uploads.ReadFiles(names=("a",), of=identity(base), value=other.logs)
    app.run()
    assert "cormorant" in said(app)


def test_uploads_that_were_read_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = MemoryUploadedFileManager("/upload")
    record = UploadedFileRec(file_id="f", name="cluster.json", type="", data=b"{}")
    kept.add_file("me", record)
    kept.add_file("another", record)
    run = SimpleNamespace(session_id="me", uploaded_file_mgr=kept)
    monkeypatch.setattr(session_cluster, "get_script_run_ctx", lambda **_: run)
    session_cluster.forget([UploadedFile(record, kept.get_upload_urls("me", ["cluster.json"])[0])])  # type: ignore[arg-type]
    assert kept.get_files("me", ["f"]) == []
    assert len(kept.get_files("another", ["f"])) == 1
