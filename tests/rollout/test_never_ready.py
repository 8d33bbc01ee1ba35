"""A change of a template whose pods have never got Ready proves nothing; one of pods that were Ready once is as before."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.pod_properties import killed_after_seconds
from planner.questions import gate
from planner.questions.gate import GateSettings
from planner.questions.question import Inputs
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import WHOLE, Item, deployment, node, pod_spec
from tests.builders.objects import snapshot as read
from tests.rollout.rollouts import WORKER, rolling

BEGUN, MUCH_LATER = "2026-11-20T10:00:00Z", "2026-11-20T10:20:00Z"
LIVENESS = {
    "httpGet": {"path": "/health", "port": 8888},
    "initialDelaySeconds": 30,
    "periodSeconds": 10,
    "failureThreshold": 3,
}
STARTUP = {"tcpSocket": {"port": 8888}, "periodSeconds": 5, "failureThreshold": 4}


def with_probes(**probes: Item) -> Item:
    spec = pod_spec(gpus=1)
    spec["containers"][0] |= probes
    return spec


def worker(
    spec: Item, *nodes: str, changed: str = BEGUN, restarts: int = 9, waits: str = "", ready: bool = False
) -> list[Item]:
    """As the kubelet of a container that is killed and begun again tells it; its Ready condition changed at `changed`."""
    made = deployment("worker", list(nodes) or ["g0"], spec, strategy=rolling(1, 0))
    state: Item = {"waiting": {"reason": waits}} if waits else {"running": {"startedAt": BEGUN}}
    container = {"name": "main", "ready": ready, "restartCount": restarts, "image": "x", "imageID": "", "state": state}
    for one in made[2:]:
        one["status"] |= {"startTime": BEGUN, "containerStatuses": [container]}
        one["status"]["conditions"] = [{"type": "Ready", "status": str(ready), "lastTransitionTime": changed}]
    return made


def asked(found: Snapshot, **change: Any) -> RolloutResult:
    request = WorkloadChange(workload=WORKER, **change)
    return rollout_with_remedies.rollout(found, Scenario(changes=(request,), runs=5, with_remedies=False))


def doubted(found: RolloutResult) -> list[str]:
    return [
        str(one.why)
        for one in found.doubts
        if "has never been Ready" in str(one.why) or "ever been Ready" in str(one.why)
    ]


def test_what_never_was_ready_is_said_and_not_proven_at_rollout_and_gate() -> None:
    made = worker(with_probes(livenessProbe=LIVENESS))
    found = read(WHOLE, node("g0", gpus=2), made)
    answer = asked(found)
    assert answer.verdict is Verdict.COMPLETES
    assert answer.ties is not None
    assert not answer.ties.proven
    (why,) = doubted(answer)
    assert "its pod of today has never been Ready (9 restarts)" in why
    assert "isn't up within 1 min is killed by its probe, as today" in why
    manifest = copy.deepcopy(made[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    at_gate = gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))
    assert [str(one.why) for one in at_gate.doubts if "never been Ready" in str(one.why)] == [why]
    assert asked(found, never_ready=True).verdict is Verdict.STUCK  # what the advice shows


@pytest.mark.parametrize(
    "made",
    [
        worker(with_probes(livenessProbe=LIVENESS), changed=MUCH_LATER),  # it was Ready, and isn't any more
        worker(with_probes(livenessProbe=LIVENESS), ready=True),
        worker(with_probes(livenessProbe=LIVENESS), restarts=0),  # it only starts
    ],
    ids=["was Ready once", "is Ready", "starts"],
)
def test_who_was_ready_or_only_starts_is_not_doubted(made: list[Item]) -> None:
    answer = asked(read(WHOLE, node("g0", gpus=2), made))
    assert answer.verdict is Verdict.COMPLETES
    assert doubted(answer) == []
    assert answer.ties is not None
    assert answer.ties.proven


@pytest.mark.parametrize(
    ("probes", "deadline", "is_late"),
    [
        ({}, None, True),
        ({}, 9_000, False),  # it says itself that it may take so long
        ({"startupProbe": STARTUP | {"failureThreshold": 900}}, None, False),  # as does its probe
    ],
)
@pytest.mark.parametrize("change", [{}, {"replicas": 2, "new_revision": False}], ids=["new template", "one more"])
def test_who_starts_for_too_long_proves_nothing_either(
    probes: Item, deadline: int | None, is_late: bool, change: Item
) -> None:
    """Its readiness probe fails: nothing is ever restarted."""
    made = worker(with_probes(**probes), restarts=0)
    if deadline is not None:
        made[0]["spec"]["progressDeadlineSeconds"] = deadline
    found = read(WHOLE, node("g0", gpus=2), made)
    answer = asked(replace(found, taken_at=found.taken_at + 3_600), **change)
    assert answer.verdict is Verdict.COMPLETES
    assert [why for why in doubted(answer) if "never been Ready (in 1 h)" not in why] == []
    assert bool(doubted(answer)) is is_late
    assert answer.ties is not None
    assert answer.ties.proven is not (is_late or bool(change))  # an autoscaler may set other replicas


def test_one_ready_pod_of_the_template_is_enough() -> None:
    made = worker(with_probes(), "g0", "g0")
    made[-1]["status"]["conditions"][0]["status"] = "True"
    assert doubted(asked(read(WHOLE, node("g0", gpus=4), made))) == []
    for one in made[2:]:
        one["status"]["conditions"][0]["status"] = "False"
    (why,) = doubted(asked(read(WHOLE, node("g0", gpus=4), made)))
    assert "none of its 2 pods of today has ever been Ready" in why
    assert "killed" not in why  # it has no probe that kills


def test_a_rollout_that_is_stuck_anyway_is_proven_all_the_same() -> None:
    full = asked(read(WHOLE, node("g0", gpus=1), worker(with_probes(livenessProbe=LIVENESS))))
    assert full.verdict is Verdict.STUCK
    assert doubted(full) == []


@pytest.mark.parametrize(
    ("probes", "seconds"),
    [
        ({}, None),
        ({"readinessProbe": LIVENESS}, None),  # it kills nothing
        ({"livenessProbe": LIVENESS}, 60),
        ({"livenessProbe": LIVENESS, "startupProbe": STARTUP}, 20),
    ],
)
def test_how_long_a_container_may_take_to_come_up(probes: Item, seconds: int | None) -> None:
    found = read(node("g0", gpus=2), worker(with_probes(**probes)))
    assert killed_after_seconds(found.pods[0].spec) == seconds
    taken = asked(found).workloads[0].startup_seconds
    assert taken == (20 if seconds == 20 else 30)  # the default, where no pod tells, and not more than the probe allows
