"""Who is let in where queues place pods near to each other, worked out by hand from Kueue's `tas_flavor_snapshot.go`."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest

from planner.capacity.kueue_queues import queues
from planner.ground.exit_status import ExitStatus
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate
from planner.questions.gate import GateSettings
from planner.rollout.answers import Reason, Verdict
from planner.rollout.kueue_admission import admitted_revisions
from planner.rollout.prepared_change import Scenario, prepare
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome
from tests.capacity.teams import API, GPU, KINDS, flavor, local, node, pod, queue, read, workload
from tests.rollout.test_queued import Object, asked, job

SPACE: Final[Object] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
TOPOLOGY: Final[Object] = {
    "apiVersion": API, "kind": "Topology", "metadata": {"name": "dc"},
    "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}  # fmt: skip


def racks(*free: int) -> list[Object]:
    """Racks of two nodes each, with so many GPUs."""
    found = []
    for at, gpus in enumerate(free):
        one = node(f"n{at}", gpus)
        one["metadata"]["labels"]["rack"] = f"r{at // 2}"
        found.append(one)
    return found


def cluster(*more: Object, free: tuple[int, ...] = (4, 4, 4, 4), quota: str = "16", **spec: Any) -> list[Object]:
    own = queue("q", {"f": (quota,)}, **spec)
    return [*racks(*free), SPACE, TOPOLOGY, flavor("f", topologyName="dc"), own, local("a", "q"), *more]


def wants(name: str, pods: int, gpus: int, created: int = -100, **request: Any) -> Object:
    one = workload("a", name, gpus, count=pods, created=created)
    one["spec"]["podSets"][0]["topologyRequest"] = request
    return one


def runs(name: str, on: list[str], gpus: int, **more: Any) -> list[Object]:
    """A Workload that has its places, and its pods there."""
    held = workload("a", name, gpus, count=len(on), held=("q", "f"), created=-5000, **more)
    held["spec"]["podSets"][0]["topologyRequest"] = {"unconstrained": True}
    pods = []
    for place, host in enumerate(on):
        one = pod("a", name, gpus, host)
        one["metadata"] |= {
            "name": f"{name}-{place}",
            "uid": f"pod-{name}-{place}",
            "labels": {"kueue.x-k8s.io/podset": "main"},
        }
        pods.append(one)
    return [held, *pods]


def outcomes(objects: list[Object], listed: tuple[str, ...] = KINDS) -> dict[str, tuple[AdmissionOutcome, str]]:
    found = queues(read(objects, listed)).waiting
    return {one.workload.rpartition("/")[2]: (one.outcome, str(one.why)) for one in found}


REQUIRED: Final[Object] = {"required": "rack"}
PREFERRED: Final[Object] = {"preferred": "rack"}
ANY: Final[Object] = {"unconstrained": True}


@pytest.mark.parametrize(
    ("pods", "gpus", "request_of", "outcome"),
    [
        (2, 4, REQUIRED, AdmissionOutcome.LET_IN), (3, 4, REQUIRED, AdmissionOutcome.QUOTA), (3, 4, PREFERRED, AdmissionOutcome.LET_IN),
        (4, 4, PREFERRED, AdmissionOutcome.LET_IN), (5, 3, PREFERRED, AdmissionOutcome.QUOTA), (5, 3, ANY, AdmissionOutcome.QUOTA), (4, 3, ANY, AdmissionOutcome.LET_IN),
        (1, 5, ANY, AdmissionOutcome.QUOTA), (5, 3, {}, AdmissionOutcome.QUOTA), (4, 3, {}, AdmissionOutcome.LET_IN),  # all its queue's flavors have a topology
        (4, 2, {"required": "kubernetes.io/hostname"}, AdmissionOutcome.QUOTA), (2, 2, {"required": "kubernetes.io/hostname"}, AdmissionOutcome.LET_IN),
    ],
)  # fmt: skip
def test_a_required_level_is_one_domains_and_a_preferred_one_may_be_several(
    pods: int, gpus: int, request_of: Object, outcome: AdmissionOutcome
) -> None:
    """16 GPUs of quota are free in each case: 4 on each of 4 nodes."""
    [(found, why)] = outcomes(cluster(wants("w", pods, gpus, **request_of))).values()
    assert found is outcome, why
    assert ("topology dc has room for" in why) is (outcome is AdmissionOutcome.QUOTA)


def test_what_runs_takes_its_places() -> None:
    there = runs("old", ["n0", "n2"], 4)  # one node of each rack
    assert outcomes(cluster(*there, wants("w", 2, 4, **REQUIRED)))["w"] == (
        AdmissionOutcome.QUOTA, "topology dc has room for 1 of 2 pods in one rack",
    )  # fmt: skip
    assert outcomes(cluster(*there, wants("w", 2, 4, **PREFERRED)))["w"][0] is AdmissionOutcome.LET_IN
    beside = pod("a", "daemon", 1, "n1")  # no pod of Kueue's: it takes its room, and none of the queue's quota
    assert outcomes(cluster(*there, beside, wants("w", 2, 4, **PREFERRED)))["w"][0] is AdmissionOutcome.QUOTA


def test_places_are_given_in_turn() -> None:
    """The first takes the first rack, the second the other one, and no rack is left for the third, whose quota is there."""
    some = [wants(name, 2, 3, created=at, **REQUIRED) for name, at in (("first", -300), ("second", -200))]
    found = outcomes(cluster(*some, wants("third", 2, 2, created=-100, **REQUIRED)))
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        "first": AdmissionOutcome.LET_IN, "second": AdmissionOutcome.LET_IN, "third": AdmissionOutcome.QUOTA,
    }  # fmt: skip
    assert found["third"][1] == "topology dc has room for 0 of 2 pods in one rack"


def test_whose_places_another_queue_has_taken_gets_others_before_who_comes_later() -> None:
    """Both first queues' workloads are nominated to the first rack; the second one is placed anew in its turn, in the other rack, as quota is
    there (`updateAssignmentIfNeeded`). Then no place is left for the third, which fits on one node of that rack alone."""
    names = {"q": "first", "r": "second", "s": "third"}
    objects = cluster(quota="8")
    for name in ("r", "s"):
        objects += [queue(name, {"f": ("8",)}), local("a", name, name)]
    first, second, third = (
        wants(name, 1 if of == "s" else 2, 4, created=at, **(ANY if of == "s" else REQUIRED))
        for at, (of, name) in zip((-300, -200, -100), names.items(), strict=True)
    )
    second["spec"]["queueName"], third["spec"]["queueName"] = "r", "s"
    third["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n2"}
    found = outcomes([*objects, first, second, third])
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        "first": AdmissionOutcome.LET_IN, "second": AdmissionOutcome.LET_IN, "third": AdmissionOutcome.QUOTA,
    }  # fmt: skip


def test_whom_kueue_evicts_for_places_is_not_known() -> None:
    lower = {"withinClusterQueue": "LowerPriority"}
    there = runs("old", ["n0", "n2"], 4, priority=-5)
    objects = cluster(*there, wants("w", 2, 4, **REQUIRED), wants("after", 1, 1, created=-50, **ANY), preemption=lower)
    found = outcomes(objects)
    assert found["w"] == (AdmissionOutcome.UNKNOWN, "whom Kueue evicts for places in a topology isn't modelled")
    assert found["after"][0] is AdmissionOutcome.UNKNOWN  # it hangs on that
    same = cluster(*runs("old", ["n0", "n2"], 4), wants("w", 2, 4, **REQUIRED), preemption=lower)
    assert outcomes(same)["w"][0] is AdmissionOutcome.QUOTA  # of its own priority nobody goes
    cramped = cluster(*there, wants("w", 3, 4, **REQUIRED), preemption=lower)
    assert outcomes(cramped)["w"][0] is AdmissionOutcome.QUOTA  # nor does it help if all went


def test_whom_kueue_reclaims_from_for_places_is_not_known_either() -> None:
    """Another queue of the cohort has borrowed what its workload's places are in; without `reclaimWithinCohort` it keeps them."""
    for reclaim, outcome in (("Any", AdmissionOutcome.UNKNOWN), ("Never", AdmissionOutcome.QUOTA)):
        there = runs("old", ["n0", "n2"], 4)
        there[0]["status"]["admission"]["clusterQueue"] = "r"
        other = [queue("r", {"f": ("0",)}, cohort="c"), local("a", "r", "other")]
        there[0]["spec"]["queueName"] = "other"
        own = cluster(
            *there, *other, wants("w", 2, 4, **REQUIRED), cohort="c", preemption={"reclaimWithinCohort": reclaim}
        )
        assert outcomes(own)["w"][0] is outcome, reclaim


@pytest.mark.parametrize(
    ("request_of", "said"),
    [
        ({"required": "rack", "podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}, "slices and groups in a topology aren't modelled"),
        ({"required": "rack", "podSetGroupName": "g"}, "slices and groups in a topology aren't modelled"),
    ],
)  # fmt: skip
def test_slices_and_groups_are_not_known(request_of: Object, said: str) -> None:
    assert outcomes(cluster(wants("w", 2, 2, **request_of)))["w"] == (AdmissionOutcome.UNKNOWN, said)


def test_flavors_that_share_nodes_are_not_known() -> None:
    other = [flavor("g", topologyName="dc"), queue("p", {"g": ("16",)})]
    assert outcomes(cluster(*other, wants("w", 2, 4, **REQUIRED)))["w"] == (
        AdmissionOutcome.UNKNOWN, "flavors with a topology that share nodes aren't modelled",
    )  # fmt: skip
    apart = [flavor("g", topologyName="dc", nodeLabels={"pool": "other"}), other[1]]
    assert outcomes(cluster(*apart, wants("w", 2, 4, **REQUIRED)))["w"][0] is AdmissionOutcome.LET_IN


def test_what_lacks_in_the_input_is_named() -> None:
    objects = cluster(wants("w", 2, 4, **REQUIRED))
    assert outcomes([one for one in objects if one is not TOPOLOGY])["w"] == (
        AdmissionOutcome.UNKNOWN, "the input holds no Topology dc",
    )  # fmt: skip
    for lacking in ("Node", "Pod"):
        blind = [one for one in objects if one["kind"] != lacking]
        assert outcomes(blind, tuple(kind for kind in KINDS if kind != lacking))["w"] == (
            AdmissionOutcome.UNKNOWN, "the nodes and pods of its topology aren't all in the input",
        )  # fmt: skip
    held, *pods = runs("old", ["n0", "n1"], 4)
    assert outcomes(cluster(held, pods[0], wants("w", 2, 4, **REQUIRED)))["w"] == (
        AdmissionOutcome.UNKNOWN, "some pods with quota of f aren't on their nodes yet",
    )  # fmt: skip


def test_workloads_of_flavors_without_a_topology_are_let_in_beside_it() -> None:
    """A queue of both: what asks for no place gets the flavor without a topology, though the other one comes first."""
    both = queue("q", {"f": ("16",), "plain": ("4",)})
    objects = [one for one in cluster() if one["kind"] != "ClusterQueue"]
    for seen in (objects, [one for one in objects if one is not TOPOLOGY]):  # it doesn't hang on places
        found = queues(read([*seen, both, flavor("plain"), workload("a", "w", 4)])).waiting
        assert [(one.outcome, str(one.why)) for one in found] == [(AdmissionOutcome.LET_IN, "quota of plain")]


def at_gate(pods: int, gpus: int, *there: Object, **annotations: str) -> tuple[Snapshot, Object]:
    given = job(gpus, namespace="a", pods=pods)
    notes = {f"kueue.x-k8s.io/podset-{key}-topology": value for key, value in annotations.items()}
    given["spec"]["template"]["metadata"] = {"annotations": notes}
    return read(cluster(*there)), deepcopy(given)


def test_a_new_job_is_placed_in_its_rack_at_each_door() -> None:
    """kube-scheduler alone would spread it; Kueue pins each pod to a node of the rack."""
    snapshot, given = at_gate(2, 4, *runs("old", ["n0"], 4), required="rack")
    found = asked(snapshot, given)
    assert (found.verdict, found.reason) == (Verdict.COMPLETES, Reason.NONE), found.sentence
    assert gate.answer(snapshot, GateSettings(manifest=json.dumps(given))).exit_status is ExitStatus.ANSWERED
    prepared = prepare(snapshot, Scenario(manifest=json.dumps(given)))
    [let] = admitted_revisions(prepared.snapshot, prepared.revisions)
    assert let.placed is not None
    hosts = [(each.template.spec.node_selector["kubernetes.io/hostname"], each.count) for each in let.placed.sets]
    assert hosts == [("n2", 1), ("n3", 1)]
    full, given = at_gate(2, 4, *runs("old", ["n0", "n2"], 4), required="rack")
    found = asked(full, given)
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.QUEUE)
    assert "topology dc has room for 1 of 2 pods in one rack" in str(found.sentence)
    assert gate.answer(full, GateSettings(manifest=json.dumps(given))).exit_status is ExitStatus.STUCK
    loose, given = at_gate(2, 4, *runs("old", ["n0", "n2"], 4), preferred="rack")
    assert asked(loose, given).verdict is Verdict.COMPLETES


def test_amounts_beside_quota_count_in_a_topology() -> None:
    """Quota for 10 nodes' CPU is there; each node has 96."""
    one = wants("w", 2, 1, **REQUIRED)
    [container] = one["spec"]["podSets"][0]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {GPU: "1", "cpu": "97"}, "limits": {GPU: "1"}}
    other = deepcopy(one)
    other["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "96"
    quota = queue("q", {"f": ("16",)})
    [group] = quota["spec"]["resourceGroups"]
    group["coveredResources"].append("cpu")
    group["flavors"][0]["resources"].append({"name": "cpu", "nominalQuota": "1000"})
    objects = [each for each in cluster() if each["kind"] != "ClusterQueue"]
    found = outcomes([*objects, quota, one])
    assert found["w"] == (AdmissionOutcome.QUOTA, "topology dc has room for 0 of 2 pods in one rack")
    assert outcomes([*objects, quota, other])["w"][0] is AdmissionOutcome.LET_IN
