"""Patches that are printed, as the API server takes them: merged by Kubernetes' rules, valid, and undone to the byte."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from planner.inventory.change import WorkloadChange, document_of
from planner.kubernetes.object_records import Strategy
from planner.kubernetes.strategic_merge_patch import merge
from planner.remedies.lever_outcomes import LeveredCluster
from planner.remedies.levers import strategy
from planner.remedies.levers.user_change_steps import patched
from planner.remedies.plan_actions import strategy_measure
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RemedyKind, rolling
from planner.rollout.prepared_change import Scenario
from planner.scheduling.cluster import Cluster
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, daemon_set, stateful_set
from tests.rollout.rollouts import rolling as written
from tests.seen import each

RECREATE = {"type": "Recreate"}


def patches(commands: list[str]) -> list[dict[str, Any]]:
    """Of ``kubectl patch`` of a built-in kind, which is a strategic merge patch."""
    found = [shlex.split(command, comments=True) for command in commands]
    return [json.loads(words[words.index("-p") + 1]) for words in found if words[:2] == ["kubectl", "patch"]]


def refused(strategy: dict[str, Any]) -> bool:
    """Whether validation refuses it: kubernetes `pkg/apis/apps/validation/validation.go` `ValidateDeploymentStrategy`
    (``rollingUpdate`` of a Recreate), `ValidateStatefulSetSpec` (of an OnDelete)."""
    return strategy["type"] in ("Recreate", "OnDelete") and strategy.get("rollingUpdate") is not None


def goes_and_comes_back(items: list[Item], key: str, command: str, undo: str, field: str, to: str) -> None:
    today = document_of(snapshot(*items).workload(key))  # type: ignore[arg-type]
    (there,), (back,) = patches([command]), patches([undo])
    then = merge(today, there)
    assert then["spec"][field]["type"] == to
    assert not refused(then["spec"][field])
    again = merge(then, back)
    assert not refused(again["spec"][field])
    assert again == today


@pytest.mark.parametrize(
    ("today", "then"),
    [
        (written(1, 0), rolling(0, 1)), (written(1, 0), Strategy(kind="Recreate")), (RECREATE, rolling(1, 0)),
        (written("25%", "25%"), Strategy(kind="Recreate")), (RECREATE, rolling(0, 1)),
    ],
)  # fmt: skip
def test_a_plans_strategy_is_taken_and_given_back(today: dict[str, Any], then: Strategy) -> None:
    """Null takes ``rollingUpdate`` away, which a merge would leave, and validation would refuse."""
    items = [node("n0", gpus=2), *deployment("worker", ["n0"], pod_spec(gpus=1), strategy=today)]
    world = LeveredCluster(Cluster(snapshot(*items)))
    change = strategy_measure(world, world, WORKER, then)
    assert change is not None
    goes_and_comes_back(items, WORKER, change[0].command, change[0].undo, "strategy", then.kind)


def of(kind: str, today: dict[str, Any]) -> tuple[list[Item], str]:
    """Two nodes of two GPUs, and a workload of two pods with that strategy."""
    nodes, spec = [node("n0", gpus=2), node("n1", gpus=2)], pod_spec(gpus=1)
    if kind == "Deployment":
        return [*nodes, *deployment("worker", ["n0", "n1"], spec, strategy=today)], WORKER
    make = stateful_set if kind == "StatefulSet" else daemon_set
    return [*nodes, *make("own", ["n0", "n1"], spec, updateStrategy=today)], f"{kind}/ml/own"


@pytest.mark.parametrize(
    ("kind", "today"),
    [
        ("Deployment", written(1, 0)), ("Deployment", written("25%", "25%")), ("Deployment", RECREATE),
        ("StatefulSet", {"type": "OnDelete"}), ("StatefulSet", {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}),
        ("StatefulSet", {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}),
        ("DaemonSet", written(0, 1)), ("DaemonSet", {"type": "OnDelete"}),
    ],
)  # fmt: skip
def test_every_strategy_of_the_lever_is_taken_and_given_back(kind: str, today: dict[str, Any]) -> None:
    """Those of ways out and of the certificate: each position of the knob."""
    items, key = of(kind, today)
    asked = snapshot(*items)
    workload = asked.workload(key)
    assert workload is not None
    for way in each(list(strategy.ways(Cluster(asked), workload, []))):
        assert way.patch is not None
        step = patched(workload, way.title, way.patch)
        to = way.patch["spec"][workload.traits.strategy_field]["type"]
        goes_and_comes_back(items, key, step.commands[0], step.undo[0], workload.traits.strategy_field, to)


def test_a_patch_that_takes_nothing_of_todays_is_not_taken_back() -> None:
    """The change rolls where today's Recreate does: keeping that is the way out, and an empty patch would give nothing back."""
    held = deployment("worker", ["n0"], pod_spec(gpus=1), strategy=RECREATE)
    asked = snapshot(node("n0", gpus=1), held)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    patch = json.dumps({"spec": {"strategy": strategy, "template": {"metadata": {"labels": {"new": "yes"}}}}})
    found = rollout(asked, Scenario(changes=(WorkloadChange(workload=WORKER, patch=patch),)))
    (way,) = (one for one in found.remedies if one.kind is RemedyKind.RECREATE)
    (own, change) = way.steps
    assert (own.commands, own.undo) == (
        patched(asked.workload(WORKER), "", {"spec": {"strategy": {**RECREATE, "rollingUpdate": None}}}).commands,
        (),
    )
    assert change.undo


def test_a_strategy_that_keeps_rolling_update_is_seen() -> None:
    """What the check is for: `type` alone leaves `rollingUpdate`, which the API server refuses."""
    items, key = of("Deployment", written(1, 0))
    command = 'kubectl patch deployment/worker -n ml -p \'{"spec": {"strategy": {"type": "Recreate"}}}\''
    with pytest.raises(AssertionError):
        goes_and_comes_back(items, key, command, command, "strategy", "Recreate")
