"""Every kind of way out carried out as it is printed, command by command: it completes, and its undo leaves everything set as before."""

from __future__ import annotations

import copy
import json

import pytest
import yaml

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import parse_later
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Remedy, RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import Item, deployment, node, pod_spec, read_items, snapshot
from tests.builders.volumes import bound, csi_driver, only_room_elsewhere, using
from tests.remedies.carried_out import Carried, settings_of
from tests.remedies.test_doors import WAYS
from tests.rollout.rollouts import WORKER, daemon_set, rolling, stateful_set
from tests.rollout.test_admission import quota
from tests.rollout.test_in_flight import beside_one_in_flight
from tests.rollout.test_remedies import GPU, worker
from tests.rollout.test_silent_nodes import recorded
from tests.rollout.test_volumes_elsewhere import STORE

TRAP = WAYS["trap-change"]
PATCHED = json.dumps({"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}})
RIVAL = deployment("rival", [""], pod_spec(gpus=1))
LENDER = deployment("other", ["gpu-0", "gpu-0"], pod_spec(gpus=1))
LARGER = pod_spec(cpu="3")
LARGER["containers"][0]["image"] = "registry.example/app:2"
ORDINALS = snapshot(node("n-0", cpu="4"), stateful_set("worker", ["n-0", "n-0"], pod_spec(cpu="2")))
ORDINALS_KEY = "StatefulSet/ml/worker"
CASES: list[tuple[set[RemedyKind], Snapshot, WorkloadChange]] = [
    (
        {RemedyKind.SWITCH_STRATEGY, RemedyKind.RECREATE, RemedyKind.SCALE_DOWN_FIRST, RemedyKind.ADD_NODE},
        snapshot(GPU, worker("gpu-0", "gpu-0")), WorkloadChange(workload=WORKER),
    ),
    (
        {RemedyKind.SWITCH_STRATEGY},
        snapshot(node("n-0", gpus=1), daemon_set("worker", ["n-0"], pod_spec(gpus=1), updateStrategy=rolling(1, 0))),
        WorkloadChange(workload="DaemonSet/ml/worker"),
    ),
    ({RemedyKind.ADD_NODE}, snapshot(node("gpu-0", gpus=2), worker("gpu-0", "gpu-0")), WorkloadChange(workload=WORKER)),
    ({RemedyKind.FREE_CAPACITY}, snapshot(GPU, LENDER, worker("", surge=0, unavailable=1)), WorkloadChange(workload=WORKER)),
    ({RemedyKind.FREE_CAPACITY}, snapshot(GPU, worker("gpu-0", "gpu-0"), RIVAL), WorkloadChange(workload=WORKER)),
    (
        {RemedyKind.RAISE_QUOTA}, snapshot(node("n-0"), worker("n-0", spec=pod_spec()), quota({"pods": "1"})),
        WorkloadChange(workload=WORKER),
    ),
    (
        {RemedyKind.SMALLER_REQUEST},
        snapshot(node("n-0"), deployment("other", ["n-0"], pod_spec(cpu="3")), worker("", spec=pod_spec(cpu="6"))),
        WorkloadChange(workload=WORKER),
    ),
    (
        {RemedyKind.FIX_SELECTOR}, snapshot(node("n-0"), worker("n-0", spec=pod_spec())),
        WorkloadChange(workload=WORKER, patch=PATCHED),
    ),
    (
        {RemedyKind.DELETE_PODS}, read_items(WAYS["trap"]["items"]),
        WorkloadChange(workload=f"StatefulSet/{TRAP['metadata']['namespace']}/{TRAP['metadata']['name']}", patch=json.dumps({"spec": TRAP["spec"]})),
    ),
    (
        {RemedyKind.UNCORDON}, snapshot(GPU, node("gpu-1", gpus=1, cordoned=True), worker("gpu-0", "gpu-0")),
        WorkloadChange(workload=WORKER),
    ),
    ({RemedyKind.WAIT}, beside_one_in_flight(), WorkloadChange(workload=WORKER)),
    (
        {RemedyKind.SMALLER_REQUEST}, ORDINALS,
        WorkloadChange(workload=ORDINALS_KEY, patch=json.dumps({"spec": {"template": {"spec": LARGER}}})),
    ),
]  # fmt: skip


SILENT, SILENT_KEY, SILENT_PATCH = recorded("node5-before-recreate")
STORE_CHANGE = WorkloadChange(workload=STORE)
ONCE_STUCK_CASES: list[tuple[set[RemedyKind], Snapshot, WorkloadChange]] = [
    (
        {RemedyKind.CORDON_NODE, RemedyKind.DRAIN_NODE, RemedyKind.SCALE_TO_ZERO},
        snapshot(*only_room_elsewhere(), bound(), csi_driver()), STORE_CHANGE,
    ),
    (
        {RemedyKind.SAME_NODE},
        snapshot(node("a", cpu="3"), node("b", cpu="9"), *deployment("store", ["a"], using(), strategy=rolling(1, 0)), bound(), csi_driver()),
        STORE_CHANGE,
    ),
    (
        {RemedyKind.NODE_BACK, RemedyKind.FORCE_DELETE},
        SILENT, WorkloadChange(workload=SILENT_KEY, patch=SILENT_PATCH, new_revision=False),
    ),
]  # fmt: skip
"""Kinds that cure a rollout that was applied and is stuck: a volume that another node holds, a node that doesn't answer."""


def ways_of(found: Snapshot, change: WorkloadChange) -> tuple[Remedy, ...]:
    answer = rollout(found, Scenario(changes=(change,)))
    assert answer.verdict is Verdict.STUCK
    return answer.remedies


@pytest.mark.parametrize(("kinds", "found", "change"), CASES)
def test_a_way_out_does_what_it_says_and_is_undone(
    kinds: set[RemedyKind], found: Snapshot, change: WorkloadChange
) -> None:
    ways = ways_of(found, change)
    assert kinds <= {way.kind for way in ways}
    before = settings_of(found)
    for way in ways:
        carried = Carried(found, change).steps(way.steps)
        assert carried.done[change.workload], way.title
        assert carried.lowest[change.workload] >= way.lowest_ready, way.title
        for step in way.steps:
            assert step.undo or not step.target, f"{step.what}: what sets a value takes it back"
            assert bool(step.before) == bool(step.after) == bool(step.target), step.what
        after = settings_of(carried.undo([step for step in way.steps if not step.is_change]).snapshot)
        own = {change.workload} if change.patch else set()  # the user's change isn't taken back here
        assert {key: one for key, one in after.items() if key not in own} == {
            key: one for key, one in before.items() if key not in own
        }, way.title


@pytest.mark.parametrize("is_told", [True, False])
def test_a_template_that_is_not_told_is_in_the_users_file_whatever_else_is(is_told: bool) -> None:
    """A patch of the strategy alone would roll nothing out."""
    image = json.dumps({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "serve:2"}]}}}})
    change = WorkloadChange(workload=WORKER, max_surge=2, max_unavailable=0, patch=image if is_told else "")
    ways = ways_of(snapshot(GPU, worker("gpu-0", "gpu-0")), change)
    assert RemedyKind.ADD_NODE in {way.kind for way in ways}
    for way in ways:
        commands = [command for step in way.steps for command in step.commands]
        assert ("kubectl apply -f CHANGE.yaml" in commands) is not is_told, way.title


def test_another_template_comes_with_a_statefulsets_change_where_only_the_users_file_says_that() -> None:
    """Values of the environment aren't kept: the file is applied once, with what the way out asks written into it before."""
    spec = copy.deepcopy(LARGER)
    spec["containers"][0]["env"] = [{"name": "TOKEN", "value": "hidden"}]
    change = WorkloadChange(workload=ORDINALS_KEY, patch=json.dumps({"spec": {"template": {"spec": spec}}}))
    (way,) = (way for way in ways_of(ORDINALS, change) if way.kind is RemedyKind.SMALLER_REQUEST)
    written, applied = way.steps
    assert way.command == written.commands[0]
    assert written.commands[0].startswith("# write it into CHANGE.yaml: ")
    assert '{"requests": {"cpu": "2"}}' in written.commands[0]
    assert applied.commands[0] == "kubectl apply -f CHANGE.yaml"
    assert not any("kubectl patch" in command for step in way.steps for command in step.commands)


@pytest.mark.parametrize(
    ("pods", "asked"),
    [(2, {}), (1, {"replicas": 2}), (2, {"strategy": rolling(2, 0)}), (1, {"replicas": 2, "strategy": rolling(2, 0)})],
)
def test_what_the_change_asks_beside_its_template_is_applied_with_it(pods: int, asked: Item) -> None:
    """Its replicas, and its strategy where the way out sets none: what was played is what the printed steps come to."""
    image = {"spec": {"containers": [{"name": "main", "image": "serve:2"}]}}
    found = snapshot(GPU, worker(*["gpu-0"] * pods))
    change = WorkloadChange(workload=WORKER, patch=json.dumps({"spec": {**asked, "template": image}}))
    ways = {way.kind: way for way in ways_of(found, change)}
    assert {RemedyKind.SWITCH_STRATEGY, RemedyKind.RECREATE, RemedyKind.ADD_NODE} <= ways.keys()
    assert (RemedyKind.SCALE_DOWN_FIRST in ways) is (pods == 2), "today's number is the one to come back to"
    for kind, way in ways.items():
        carried = Carried(found, change).steps(way.steps)
        after = carried.snapshot.workload(WORKER)
        assert carried.done[WORKER], way.title
        assert carried.lowest[WORKER] >= way.lowest_ready, way.title
        assert after is not None
        assert after.replicas == 2, way.title
        if kind is RemedyKind.ADD_NODE:
            assert after.strategy.max_surge == (2 if "strategy" in asked else 1)


@pytest.mark.parametrize(("kinds", "found", "change"), ONCE_STUCK_CASES)
def test_what_cures_once_it_is_stuck_is_played_by_its_events(
    kinds: set[RemedyKind], found: Snapshot, change: WorkloadChange
) -> None:
    """The change is applied first; the cure is what `--then` has come later, and with it the rollout completes."""
    ways = [way for way in ways_of(found, change) if way.kind in kinds]
    assert kinds == {way.kind for way in ways}
    for way in ways:
        assert bool(way.events) != (way.kind is RemedyKind.SAME_NODE)
        if way.events:
            later = parse_later(way.events)
            answer = rollout(found, Scenario(changes=(change,)), beside=LaterEvents(later=later))
        else:
            patch = yaml.safe_load(way.patch_yaml)
            answer = rollout(found, Scenario(changes=(replace(change, patch=json.dumps(patch), new_revision=False),)))
        assert answer.verdict is Verdict.COMPLETES, way.title


def test_every_kind_is_carried_out() -> None:
    assert set().union(*(kinds for kinds, _, _ in (*CASES, *ONCE_STUCK_CASES))) == set(RemedyKind)
