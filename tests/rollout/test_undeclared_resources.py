"""A ClusterQueue with quota of GPUs only, and pods that ask for CPU and memory, too: by its default Kueue refuses them
(`flavorassigner.go` `findFlavorForPodSets`), and its configuration may leave such resources out. Workloads show which it does."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest

from planner.capacity.kueue_queues import queues
from planner.capacity.rollout_readiness import overview
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.remedies.make_room import make_room
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from tests.capacity.teams import GPU, flavor, local, node, queue, read, workload
from tests.rollout.test_queued import gated, job, served_items

Object = dict[str, Any]
BESIDE: Final = {"cpu": "4", "memory": "16Gi"}
NOT_KNOWN: Final = "no resource group has cpu, unless Kueue's configuration leaves that out"
REFUSES: Final = "couldn't assign flavors to pod set main: resource cpu unavailable in ClusterQueue"


def asking(one: Any) -> Any:
    """The object with CPU and memory beside the GPUs of its containers."""
    if isinstance(one, list):
        return [asking(each) for each in one]
    if not isinstance(one, dict):
        return one
    changed = {key: asking(value) for key, value in one.items()}
    for container in changed.get("containers", ()):
        container["resources"] = {
            "requests": {**container["resources"]["limits"], **BESIDE},
            "limits": container["resources"]["limits"],
        }
    return changed


def running(**usage: str) -> Object:
    """A Workload with quota of the queue; `usage`: what was counted beside its GPU, in the same flavor."""
    one: Object = asking(workload("a", "old", 1, held=("q", "f")))
    [granted] = one["status"]["admission"]["podSetAssignments"]
    granted["flavors"] |= dict.fromkeys(usage, "f")
    granted["resourceUsage"] |= usage
    return one


def pending(message: str, counted: dict[str, str], gpus: int = 1) -> Object:
    """`counted`: what Kueue says that it counted beside the GPUs."""
    one: Object = asking(workload("a", "earlier", gpus, created=-9000))
    refusal = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": message}
    one["status"] = {
        "conditions": [refusal],
        "resourceRequests": [{"name": "main", "resources": {GPU: str(gpus), **counted}}],
    }
    return one


def cluster(*more: Object, quota: str = "8") -> Snapshot:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    return read([node("n0", 8), space, flavor("f"), queue("q", {"f": (quota,)}), local("a", "q"), *more])


CASES: Final = {
    "nothing shows it": ((), Verdict.UNKNOWN, AdmissionOutcome.UNKNOWN, NOT_KNOWN),
    "one has quota without a flavor for them": ((running(),), Verdict.COMPLETES, AdmissionOutcome.LET_IN, ""),
    "one was counted without them": ((pending("insufficient quota", {}, 16),), Verdict.COMPLETES, AdmissionOutcome.LET_IN, ""),
    "one was counted with them": ((pending("insufficient quota", BESIDE, 16),), Verdict.UNKNOWN, AdmissionOutcome.UNKNOWN, NOT_KNOWN),
    "Kueue refused one": ((pending(REFUSES, BESIDE),), Verdict.STUCK, AdmissionOutcome.NEVER, "no resource group has cpu"),
    "Kueue refused one since": ((running(), pending(REFUSES, BESIDE)), Verdict.STUCK, AdmissionOutcome.NEVER, "no resource group has cpu"),
    # memory was left out and CPU wasn't: of CPU nothing is shown where no resource group has it
    "another is counted": ((running(cpu="4"),), Verdict.UNKNOWN, AdmissionOutcome.UNKNOWN, NOT_KNOWN),
    # `transformations`: CPU is counted as something else, which no pod asks for
    "a transformation": ((running(**{"example.com/credits": "4"}),), Verdict.UNKNOWN, AdmissionOutcome.UNKNOWN, NOT_KNOWN),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_door_says_what_kueues_workloads_show(case: str) -> None:
    more, verdict, outcome, said = CASES[case]
    found = rollout(cluster(*more), Scenario(manifest=json.dumps(asking(job(1, namespace="a")))))
    assert found.verdict is verdict, found.sentence
    assert said in str(found.sentence)
    answer = queues(cluster(*more, asking(workload("a", "new", 1))))
    assert any("leaves cpu and memory out of quotas" in each for each in answer.assumed) == (
        outcome is AdmissionOutcome.LET_IN
    )
    waiting = answer.waiting
    [row] = [each for each in waiting if each.workload == "Job/a/new"]
    assert (row.outcome, said in str(row.why)) == (outcome, True), row.why
    room = make_room(cluster(*more, *asking(gated("w", 1, -50))))
    kept = [str(each.why) for each in room.queued if each.workload == "Pod/a/w-0"]
    assert [said in why for why in kept] == ([] if outcome is AdmissionOutcome.LET_IN else [True]), kept
    assert ("may keep" in str(room.sentence)) == (outcome is AdmissionOutcome.UNKNOWN), room.sentence


@pytest.mark.parametrize("door", ["rollout", "queues"])
def test_gpus_that_the_queue_never_has_are_lacking_whatever_is_left_out(door: str) -> None:
    said = f"8 {GPU} more of f than the queue can ever have"
    if door == "rollout":
        found = rollout(cluster(), Scenario(manifest=json.dumps(asking(job(16, namespace="a")))))
        assert (found.verdict, said in str(found.sentence)) == (Verdict.STUCK, True)
    else:
        [row] = queues(cluster(asking(workload("a", "new", 16)))).waiting
        assert (row.outcome, str(row.why)) == (AdmissionOutcome.NEVER, said)


def test_a_set_that_asks_for_nothing_else_is_not_known() -> None:
    """`excludeResourcePrefixes` lets it in, `IgnoreUndeclared` doesn't (`assignFlavors` `atLeastOnePodsAssignmentFailed`)."""
    launcher = asking(workload("a", "new", 0))
    [container] = launcher["spec"]["podSets"][0]["template"]["spec"]["containers"]
    container["resources"] = {"requests": BESIDE}
    [row] = queues(cluster(running(), launcher)).waiting
    assert (row.outcome, NOT_KNOWN in str(row.why)) == (AdmissionOutcome.UNKNOWN, True)


def test_others_of_the_cohort_may_get_less_where_it_may_be_let_in() -> None:
    both = (asking(workload("a", "new", 8, created=-900)), workload("a", "plain", 8, created=-100))
    assert {row.workload: row.outcome for row in queues(cluster(*both)).waiting} == {
        "Job/a/new": AdmissionOutcome.UNKNOWN,
        "Job/a/plain": AdmissionOutcome.UNKNOWN,
    }


def test_what_old_pods_show_holds_once_they_have_gone() -> None:
    """Under Recreate the Job that waits gets what they give back, as it does of a queue that covers all that they ask for."""
    items = [*deepcopy(served_items(2, 1, 0)), workload("team-c", "other", 1)]
    next(each for each in items if each["kind"] == "Deployment")["spec"]["strategy"] = {"type": "Recreate"}
    snapshot = read([asking(each) for each in items])
    found = rollout(snapshot, Scenario(changes=(WorkloadChange(workload="Deployment/team-c/app"),)))
    assert (found.verdict, "Kueue lets in 1 of 2 new pods" in str(found.sentence)) == (Verdict.STUCK, True)


def test_the_overview_says_the_same_of_a_deployment_whose_pods_show_it() -> None:
    snapshot = read([asking(each) for each in deepcopy(served_items(3, 1, 0))])
    [row] = overview(snapshot).workloads
    found = rollout(snapshot, Scenario(changes=(WorkloadChange(workload="Deployment/team-c/app"),)))
    assert (row.verdict, found.verdict) == (Verdict.COMPLETES, Verdict.COMPLETES), found.sentence
