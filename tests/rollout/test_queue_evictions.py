"""Whom Kueue evicts for a change is named at every door, with what becomes of them; whether it passes is the policy's."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest

import headroom_planner as headroom
from planner.capacity.hypothetical_node_groups import growable_pools
from planner.cli import gate_formats, main
from planner.ground.exit_status import ExitStatus, gravest
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, where
from planner.questions.gate import GateSettings
from planner.questions.question import EXIT, Inputs
from planner.questions.where import WhereSettings
from planner.remedies.make_room import RoomRequest, make_room
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.gate_policy import FAILING, Failing, GatePolicy, read_policy
from planner.rollout.kueue_evictions import GROWTH_BESIDE
from planner.rollout.prepared_change import Scenario
from planner.serve.admission_review import Silence, read_request, review
from tests.capacity.teams import API, flavor, job, local, node, pod, queue, read, workload
from tests.pages.visiting import visit
from tests.rollout.test_queued import job as new_job

Object = dict[str, Any]
HIGH: Final = {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 1000}
URGENT: Final = {"kueue.x-k8s.io/priority-class": "high"}


def items(*more: Object, gpus: int = 8, quotas: dict[str, tuple[str, ...]] | None = None) -> list[Object]:
    """A node whose 8 GPUs a running Job of a preemptible queue holds."""
    return [
        node("n", gpus), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}, HIGH, flavor("f"),
        queue("q", quotas or {"f": ("8",)}, preemption={"withinClusterQueue": "LowerPriority"}), local("a", "q"),
        job("a", "old", 8, suspended=False), pod("a", "old", 8, "n"), workload("a", "old", 8, held=("q", "f")), *more,
    ]  # fmt: skip


def urgent(gpus: int = 8, **more: Any) -> Object:
    return new_job(gpus, namespace="a", labels=URGENT, **more)


def asked(snapshot: Snapshot, *objects: Object, **more: Any) -> RolloutResult:
    return rollout(
        snapshot, Scenario(manifest=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})), **more
    )


def test_who_is_evicted_is_named_with_what_becomes_of_it() -> None:
    found = asked(read(items()), urgent())
    assert found.verdict is Verdict.EVICTIONS_BY_QUEUE
    assert "completes once Kueue has evicted Job/a/old (1 pod), which waits again" in str(found.sentence)
    assert [(one.workload, one.pods) for one in found.workloads[0].evicts] == [("Job/a/old", 1)]
    assert found.ties is not None
    assert not found.ties.proven
    plain = asked(read(items()), new_job(8, namespace="a"))  # the same without a class: it evicts nobody
    assert (plain.verdict, plain.reason, plain.workloads[0].evicts) == (Verdict.STUCK, Reason.QUEUE, ())


def test_quota_after_evictions_is_no_place() -> None:
    """Quota of 8 comes free; a pod of 16 GPUs has no node all the same."""
    big: dict[str, tuple[str, ...]] = {"f": ("16",)}
    found = asked(read(items(quotas=big)), urgent(16))
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.INSUFFICIENT_RESOURCE)
    assert asked(read(items(gpus=16, quotas=big)), urgent(16)).verdict is Verdict.EVICTIONS_BY_QUEUE


def test_a_victim_that_another_flavor_takes_is_let_in_again() -> None:
    """Two flavors, and the urgent Job may only use the first: the victim goes to the second, whose node is free."""
    nodes = [{**node(name, 8), "metadata": {"name": name, "labels": {"pool": name}}} for name in ("n", "m")]
    flavors = [flavor("f", nodeLabels={"pool": "n"}), flavor("g", nodeLabels={"pool": "m"})]
    others = [one for one in items(quotas={"f": ("8",), "g": ("8",)}) if one["kind"] not in ("Node", "ResourceFlavor")]
    found = asked(read([*nodes, *flavors, *others]), urgent(nodeSelector={"pool": "n"}))
    assert found.verdict is Verdict.EVICTIONS_BY_QUEUE, found.sentence
    assert "Job/a/old (1 pod), which is let in again elsewhere (quota of g)" in str(found.sentence)


def test_a_victim_that_is_let_in_again_may_take_the_place_that_came_free() -> None:
    """The second flavor's quota is of the same node: who of the two is placed there isn't known."""
    small: dict[str, tuple[str, ...]] = {"f": ("8",), "g": ("4",)}
    others = [one for one in items(quotas=small) if one["kind"] not in ("Job", "Pod", "Workload")]
    old = [job("a", "old", 4, suspended=False), pod("a", "old", 4, "n"), workload("a", "old", 4, held=("q", "f"))]
    found = asked(read([*others, flavor("g"), *old]), urgent(8))
    assert found.verdict is Verdict.UNKNOWN
    assert "Kueue lets in Job/a/old, too" in str(found.sentence)
    roomy = [node("n", 12) if one["kind"] == "Node" else one for one in others]
    assert asked(read([*roomy, flavor("g"), *old]), urgent(8)).verdict is Verdict.EVICTIONS_BY_QUEUE


def test_a_pod_without_a_controller_is_gone_for_good() -> None:
    bare = pod("a", "old", 8, "n")
    bare["metadata"]["ownerReferences"] = []
    record = workload("a", "old", 8, held=("q", "f"))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "old-0", "uid": "pod-a-old", "controller": True}
    record["metadata"]["ownerReferences"] = [owner]
    others = [one for one in items() if one["kind"] not in ("Job", "Pod", "Workload")]
    found = asked(read([*others, bare, record]), urgent())
    assert "Pod/a/old-0 (1 pod), which is deleted, and no controller makes it anew" in str(found.sentence)


def test_several_changes_come_to_the_gravest() -> None:
    """One that evicts and one that completes; one that evicts and one that is stuck."""
    other = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain", "namespace": "a"},
             "spec": {"containers": [{"name": "c", "image": "x"}]}}  # fmt: skip
    found = asked(read(items()), other, urgent())
    assert [one.verdict for one in found.workloads] == [Verdict.COMPLETES, Verdict.EVICTIONS_BY_QUEUE]
    assert found.verdict is Verdict.EVICTIONS_BY_QUEUE
    stuck = {**other, "spec": {"containers": [{"name": "c", "image": "x"}], "nodeSelector": {"no": "such"}}}
    found = asked(read(items()), urgent(), stuck)
    assert found.verdict is Verdict.STUCK
    assert "Pod/a/plain is stuck" in str(found.sentence)


def test_nodes_that_come_beside_evictions_are_not_played() -> None:
    labelled = [one for one in items(quotas={"f": ("16",)}) if one["kind"] != "Node"]
    nodes = [node(name, 8) for name in "nm"]
    for one in nodes:
        one["metadata"]["labels"]["cloud.google.com/gke-nodepool"] = "gpu"
    cordoned = {**nodes[1], "spec": {"unschedulable": True}}
    held = workload("a", "old", 16, held=("q", "f"))
    snapshot = read([nodes[0], cordoned, *(held if one["kind"] == "Workload" else one for one in labelled)])
    pools = growable_pools(
        snapshot, (PoolLimits(name="gpu", source=LimitSource.GCLOUD, maximum=3, is_autoscaled=True),)
    )
    assert pools
    pods = urgent(8, pods=2)
    assert asked(snapshot, pods).verdict is Verdict.STUCK
    found = asked(snapshot, pods, pools=pools)
    assert found.verdict is Verdict.UNKNOWN
    assert GROWTH_BESIDE in str(found.sentence)


def test_evictions_are_graver_than_growth_and_less_grave_than_not_known() -> None:
    order = [Verdict.STUCK, Verdict.UNKNOWN, Verdict.EVICTIONS_BY_QUEUE, Verdict.NEEDS_GROWTH, Verdict.COMPLETES]
    for place, verdict in enumerate(order):
        assert gravest(EXIT[one] for one in order[place:]) is EXIT[verdict]
    assert [int(EXIT[one]) for one in order] == [2, 4, 6, 3, 0]


@pytest.mark.parametrize("fails", [True, False])
def test_the_policy_decides_at_both_doors(fails: bool) -> None:
    assert Failing.EVICTIONS_BY_QUEUE in FAILING
    words = '"stuck", "unknown", "evictions_by_queue"' if fails else '"stuck", "unknown"'
    policy = read_policy(f"[gate]\nfail = [{words}]\n", "headroom.toml")
    snapshot, given = read(items()), urgent()
    found = gate.answer(snapshot, GateSettings(manifest=json.dumps(given), policy=policy))
    assert found.passes is not fails
    assert found.exit_status == (ExitStatus.EVICTIONS_BY_QUEUE if fails else ExitStatus.ANSWERED)
    assert [one.workload for part in found.workloads for one in part.evicts] == ["Job/a/old"]
    said = reviewed(snapshot, given, policy)
    assert bool(said.warning) is fails
    assert said.silence is (None if fails else Silence.BY_POLICY)
    assert not said.is_stuck  # which --deny would refuse


def reviewed(snapshot: Snapshot, given: Object, policy: GatePolicy) -> Any:
    jobset = {**given, "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {
        "suspend": True, "replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {
            key: value for key, value in given["spec"].items() if key != "suspend"}}}]}}  # fmt: skip
    request = {
        "uid": "1", "operation": "CREATE", "namespace": "a", "name": "new", "object": jobset, "oldObject": None,
        "resource": {"group": "jobset.x-k8s.io", "version": "v1alpha2", "resource": "jobsets"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    return review(snapshot, read_request(body.encode()), policy=policy)


def test_the_webhook_names_the_victims() -> None:
    said = reviewed(read(items()), urgent(), GatePolicy())
    assert said.warning.startswith("headroom: Kueue evicts other workloads for this: ")
    assert "Job/a/old" in said.warning


def test_every_format_of_the_gate_says_it() -> None:
    snapshot = read(items())
    found = gate.answer(snapshot, GateSettings(manifest=json.dumps(urgent())))
    said = "completes once Kueue has evicted Job/a/old (1 pod)"
    assert said in gate_formats.text(found, "here").replace("\n", " ")
    assert said.removeprefix("c") in gate_formats.markdown(found, "here").replace("\\", "")  # a sentence there
    assert 'type="evictions_by_queue"' in gate_formats.junit(found, {})
    assert said in gate_formats.github(found, {})
    report = json.loads(gate_formats.sarif(found, {}))["runs"][0]
    [result] = [one for one in report["results"] if one["ruleId"] == "headroom/evictions_by_queue"]
    assert result["level"] == "error"
    assert report["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    let = gate.answer(snapshot, GateSettings(manifest=json.dumps(urgent()), policy=GatePolicy(fail=(Failing.STUCK,))))
    [result] = [
        one for one in json.loads(gate_formats.sarif(let, {}))["runs"][0]["results"] if "evictions" in one["ruleId"]
    ]
    assert result["level"] == "warning"


def test_commands_python_where_and_the_page_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, manifest = tmp_path / "cluster.json.gz", tmp_path / "job.json"
    cluster.write_bytes(gzip.compress(json.dumps({"apiVersion": "v1", "kind": "List", "items": items()}).encode()))
    manifest.write_text(json.dumps(urgent()), encoding="utf-8")
    for name in ("rollout", "gate"):
        with pytest.raises(SystemExit) as stopped:
            main([name, str(cluster), "-f", str(manifest), "-o", "json"])
        assert stopped.value.code == ExitStatus.EVICTIONS_BY_QUEUE
        assert "evictions_by_queue" in capsys.readouterr().out
    snapshot = read(items())
    answer = headroom.rollout(headroom.read(str(cluster)), manifest=manifest)
    assert (answer.verdict, answer.status) == ("evictions_by_queue", ExitStatus.EVICTIONS_BY_QUEUE)
    [there] = where.answer(snapshot, WhereSettings(manifest=json.dumps(urgent())), Inputs()).clusters
    assert there.verdict is Verdict.EVICTIONS_BY_QUEUE


def test_the_page_shows_the_verdict_of_its_own() -> None:
    shown = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "a"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}},
    }  # fmt: skip
    app = visit("rollout", read(items(shown)), by="manifest", manifest=json.dumps(urgent()))
    [sentence] = [text for one in app.warning if (text := one.value.replace("\\", "").strip("*")).startswith("▽")]
    assert sentence.startswith("▽ Evicts others: Kueue evicts Job/a/old for it")


def test_room_is_made_only_once_they_have_gone() -> None:
    found = make_room(read(items()), RoomRequest(change=Scenario(manifest=json.dumps(urgent()))))
    assert "its pods start once Kueue has evicted Job/a/old" in str(found.queued[0].why)
    assert not found.is_proven
