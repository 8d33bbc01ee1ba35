"""A pod whose owner is of a kind that nobody knows is named at every door where the GPUs that it holds matter."""

from __future__ import annotations

from typing import Any, Final

import pytest

from planner.capacity.what_if_syntax import parse_change
from planner.kubernetes.object_records import Snapshot
from planner.questions import capacity, findings, make_room, overview, rollout, seats, survive, what_if
from tests.builders.objects import read_items
from tests.inventory.objects import Object, gpu_container, gpu_node, named, owned_by, pod, workload

BARN: Final = "ModelFarm/prod/barn"


@pytest.fixture(scope="module")
def held() -> Snapshot:
    """One node of two GPUs, both of a ModelFarm, and a Deployment that waits for one."""
    farm: Object = {
        "apiVersion": "farm.example.com/v1", "kind": "ModelFarm",
        "metadata": {"name": "barn", "namespace": "prod", "uid": "farm"}, "spec": {"models": ["a"]},
    }  # fmt: skip
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [gpu_container()]}}
    web = workload("Deployment", "web", "prod", replicas=1, template=template, selector={"matchLabels": {"app": "web"}})
    one = owned_by(web, workload("ReplicaSet", "web-1", "prod", replicas=1, template=template))
    waiting = owned_by(one, pod("web-1-a", "", "prod", containers=[gpu_container()]))
    waiting["metadata"]["labels"] = {"app": "web", "pod-template-hash": "1"}
    holder = owned_by(farm, pod("barn-0", "gpu-0", "prod", containers=[gpu_container(2)]))
    return read_items([gpu_node("gpu-0", 2), holder, web, one, waiting, named("Namespace", "prod")])


def said(door: str, held: Snapshot) -> str:
    answers: dict[str, Any] = {
        "overview": lambda: overview.answer(held, overview.OverviewSettings()).sentence,
        "capacity": lambda: capacity.answer(held, capacity.CapacitySettings()).findings,
        "findings": lambda: findings.answer(held, findings.FindingsSettings()).findings,
        "seats": lambda: seats.answer(held, seats.SeatsSettings()).nodes,
        "survive": lambda: survive.answer(held, survive.SurviveSettings()),
        "make-room": lambda: make_room.answer(held, make_room.MakeRoomSettings()),
        "rollout": lambda: rollout.answer(held, rollout.RolloutSettings(workloads=("Deployment/prod/web",))).findings,
        "drain": lambda: what_if.answer(held, what_if.WhatIfSettings(changes=(parse_change("drain:gpu-0"),))).steps,
    }
    return str(answers[door]())


@pytest.mark.parametrize(
    "door", ["overview", "capacity", "findings", "seats", "survive", "make-room", "rollout", "drain"]
)
def test_who_holds_gpus_is_named_though_nobody_knows_its_kind(door: str, held: Snapshot) -> None:
    text = said(door, held)
    assert ("1 ModelFarm is not judged (its 1 pod holds 2 GPUs)" if door == "overview" else "barn") in text


@pytest.mark.parametrize("change", ["drain:gpu-0", "delete:gpu-0"])
def test_its_pod_is_not_said_to_find_another_node(change: str, held: Snapshot) -> None:
    [step] = what_if.answer(held, what_if.WhatIfSettings(changes=(parse_change(change),))).steps
    assert "isn't known" in str(step.sentence)
    assert "all find another node" not in str(step.sentence)
