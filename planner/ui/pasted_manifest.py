"""A pasted manifest instead of a cluster: the gate's answer, and its rollout on nodes that hold it exactly."""

from __future__ import annotations

import time
from typing import Final

import streamlit as st

from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.questions.gate import GateSettings, answer_without_cluster
from planner.remedies.cluster_from_manifests import SOURCE
from planner.remedies.manifest_room_needs import GIVEN, tightest_cluster_of
from planner.rollout.answers import Verdict
from planner.ui import errors, session_cluster, shared_answers

_LONGEST: Final = 200_000  # letters
_FIRST: Final = (Verdict.STUCK, Verdict.NEEDS_GROWTH, Verdict.COMPLETES)  # the workload that opens


@errors.part
def show() -> None:
    """A manifest in the place of a cluster."""
    with st.expander("No cluster at hand: paste a manifest", icon=":material/description:"):
        text = st.text_area(
            "Manifest", key="_pasted_manifest", height=200, max_chars=_LONGEST, placeholder="apiVersion: apps/v1\nkind: Deployment\n…",
            help="What kubectl apply -f would get. The answer is the room that each rollout needs, wherever it runs.",
        )  # fmt: skip
        if st.button("Ask without a cluster", key="ask_manifest", icon=":material/straighten:"):
            if not text.strip():
                raise InputError("no manifest is given", fix="Paste what kubectl apply -f would get")
            _open(text)


def _open(text: str) -> None:
    """The rollout page of the workload that needs the most; where none can be played, what is said of each instead."""
    with st.spinner("Reading …"):
        gate_answer = shared_answers.work(answer_without_cluster, GateSettings(manifest=text, without_cluster=True))
        parts = [part for part in gate_answer.workloads if part.verdict in _FIRST and part.room is not None]
        counts = {part.workload: max(1, part.room.replicas) for part in parts if part.room is not None}
        snapshot = shared_answers.work(tightest_cluster_of, text, counts) if counts else None
    keys = [workload.key for workload in snapshot.workloads] if snapshot is not None else []
    opens = next(
        (part for verdict in _FIRST for part in parts if part.verdict is verdict and part.workload in keys), None
    )
    if snapshot is None or opens is None:
        st.info(words.literal(words.sentence(gate_answer.sentence)), icon=":material/help:")
        for part in gate_answer.workloads:
            st.caption(words.literal(f"{part.workload}: {part.sentence}"))
        return
    session_cluster.adopt(replace(snapshot, taken_at=time.time()))
    st.switch_page("rollout.py", query_params={"workload": opens.workload})


def is_one(snapshot: Snapshot) -> bool:
    """Whether the cluster looked at is one that a manifest was put on."""
    return snapshot.source == SOURCE


def note(snapshot: Snapshot) -> None:
    """That it is, where it is."""
    if is_one(snapshot):
        st.info(f"{GIVEN} Its pods stand on nodes that hold them exactly.", icon=":material/straighten:")


def room(workload: str, sentence: str) -> str:
    """What a stuck workload needs wherever it runs."""
    return f"Wherever it runs, {words.literal(f'{workload} {sentence}')}."
