"""No manifest passes whose pods nobody saw, in any of the clusters; and what is known is answered, not evaded."""

from __future__ import annotations

import pytest

from tests.architecture.tree import ROOT
from tests.collection.asking import NO_CLUSTER, Asked, Outcome, everything, with_tables
from tests.collection.clusters import CLUSTERS
from tests.collection.manifests import Seen, cases
from tests.seen import each


def test_it_is_as_large_as_it_says() -> None:
    assert len(cases()) >= 150
    assert len({case.kind for case in cases()}) >= 25
    assert len(CLUSTERS) >= 20


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_nothing_passes_unseen(cluster: str) -> None:
    faults = [f"{one.case.name}: {one.fault}" for one in each(everything(cluster)) if one.fault]
    assert not faults, "\n".join(faults)


def test_with_room_for_all_each_has_its_one_right_answer() -> None:
    right = {
        Seen.PODS: {Outcome.PASSES},
        Seen.NOTHING: {Outcome.NOTHING},
        Seen.NOT_KNOWN: {Outcome.NOT_KNOWN},
        Seen.REFUSED: {Outcome.REFUSED},
    }
    # asks to be paused: a new Deployment that is paused makes no ReplicaSet
    wrong = [
        f"{one.case.name}: {one.outcome}: {one.sentence[:200]}"
        for one in each(everything("roomy"))
        if one.outcome not in right[one.case.seen] and one.case.name != "deployment-paused"
    ]
    assert not wrong, "\n".join(wrong)


def test_the_page_tells_what_came_of_it() -> None:
    written = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    assert "<!-- collection -->" in written
    assert with_tables(written) == written, "run `make docs`"


def test_what_is_not_known_names_its_kind_and_the_gpus_it_asks_for() -> None:
    asked = {one.case.name: one for one in everything("roomy")}
    for name, told in (
        ("trainjob", "8 × 8 nvidia.com/gpu"), ("nimservice", "4 × 8 nvidia.com/gpu"),
        ("unheard-of", "3 nvidia.com/gpu"),
    ):  # fmt: skip
        assert asked[name].case.kind in asked[name].sentence
        assert told in asked[name].sentence
    assert "those of spec.workflowTemplateRef come from another object" in asked["workflow-of-a-template"].sentence


def test_a_pass_that_does_not_count_is_a_fault() -> None:
    """The check can fail: a pass without the GPUs that the manifest asks for."""
    case = next(one for one in cases() if one.name == "raycluster")
    blind = Asked(case=case, cluster="roomy", outcome=Outcome.PASSES, workloads=1, gpus=0)
    assert blind.fault == "passes with 0 GPUs of 2"
    assert Asked(case=case, cluster="nodes only", outcome=Outcome.PASSES, workloads=1, gpus=2).fault


BY_HAND = {
    "deployment": (Outcome.ROOM, "room for 1 more pod"),  # 3 replicas: 25 % surges by 1, and none may be missing
    "deployment-gpus": (Outcome.ROOM, "room for 1 more pod (2 GPUs"),
    "deployment-of-none": (Outcome.PASSES, "rolls nothing out at 0 replicas; at 1 it needs room for 1 more pod"),
    "deployment-recreate": (Outcome.PASSES, "needs no spare room"),
    "deployment-no-surge": (Outcome.PASSES, "needs no spare room"),
    "statefulset-gpus": (Outcome.PASSES, "needs no spare room"),
    "daemonset": (Outcome.PASSES, "needs no spare room"),
    "job-parallel": (Outcome.NOTHING, "rolls nothing out"),
    "rollout-blue-green": (Outcome.ROOM, "room for 2 more pods"),
    "lws": (Outcome.PASSES, "needs no spare room"),  # one group, which goes before its successor comes
    "raycluster": (Outcome.NOTHING, "rolls nothing out"),  # its pods stay as they are
    "trainjob": (Outcome.NOT_KNOWN, "TrainJob"),
}
"""Manifest → what is said of it without a cluster, worked out by hand."""


def test_what_is_said_without_a_cluster_is_what_was_worked_out_by_hand() -> None:
    asked = {one.case.name: one for one in each(everything(NO_CLUSTER))}
    assert len(asked) == len(cases())
    said = {name: (asked[name].outcome, words in asked[name].sentence) for name, (_, words) in BY_HAND.items()}
    assert said == {name: (outcome, True) for name, (outcome, _) in BY_HAND.items()}


def test_nothing_passes_unseen_without_a_cluster() -> None:
    """What isn't known, and what an API server refuses, is so without a cluster too; a Job rolls nothing out, whoever places its pods."""
    wrong = [
        f"{one.case.name}: {one.outcome}: {one.sentence[:200]}"
        for one in everything(NO_CLUSTER)
        if (one.case.seen is Seen.REFUSED) is not (one.outcome is Outcome.REFUSED)
        or (one.case.seen is Seen.NOT_KNOWN and one.passed and one.case.kind != "Job")
    ]
    assert not wrong, "\n".join(wrong)
