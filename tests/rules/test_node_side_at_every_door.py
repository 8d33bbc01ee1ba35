"""What happens on the node, at every door: no door proves or lets pass what another doubts, and no two verdicts differ.

The kinds of issue *What happens on the node*: volumes that attach once, nodes that don't answer, taints that are about to come, kubelets
that refuse, pods that were never Ready, devices that are away, cut, missing or offered twice; each with an opposite.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from planner.cli import mcp
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, overview, plan, rollout
from planner.questions.gate import GateSettings
from planner.questions.question import Inputs, document
from planner.questions.rollout import RolloutSettings
from planner.rollout.answers import Verdict
from planner.rollout.doubts import Effect
from planner.serve.admission_review import Silence, read_request, review
from tests.builders.objects import NODE_CRITICAL, WHOLE, Item, deployment, node, owner, pod, pod_spec, snapshot
from tests.builders.volumes import alone_on_its_node, bound, csi_driver, only_room_elsewhere
from tests.pages.visiting import said, visit
from tests.rollout import test_silent_nodes
from tests.rollout.rollouts import daemon_set, rolling
from tests.rollout.test_devices_not_there import CLASS, GPU, H100, SLICE, claiming, claims, offering, slice_of
from tests.rollout.test_never_ready import LIVENESS, with_probes, worker

STORE, WORKER = "Deployment/ml/store", "Deployment/ml/worker"
ENDS = {Verdict.COMPLETES: ExitStatus.ANSWERED, Verdict.STUCK: ExitStatus.STUCK, Verdict.UNKNOWN: ExitStatus.NOT_KNOWN}


SILENT = {Verdict.COMPLETES: Silence.COMPLETES, Verdict.UNKNOWN: Silence.NOT_KNOWN}


class Case(NamedTuple):
    """`items` with the workload `key` in them; what each door has to say of another image for it, and whether it may be proven."""

    items: list[Item]
    key: str
    verdict: Verdict
    is_doubted: bool = False
    taken_at: float = 0.0


def flat(*items: Item | list[Item]) -> list[Item]:
    return [one for item in items for one in (item if isinstance(item, list) else [item])]


def volume(where: list[Item], *more: Item | list[Item], verdict: Verdict, is_doubted: bool = False) -> Case:
    return Case(flat(where, *more, NODE_CRITICAL), STORE, verdict, is_doubted)


def of(
    *items: Item | list[Item], key: str = WORKER, verdict: Verdict, is_doubted: bool = False, at: float = 0.0
) -> Case:
    return Case(flat(WHOLE, *items), key, verdict, is_doubted, at)


def pressed(*taints: tuple[str, str], condition: str = "MemoryPressure") -> Item:
    made = node("g0", gpus=8, taints=taints)
    made["status"]["conditions"] += [{"type": condition, "status": "True"}] if condition else []
    return made


def refused(reason: str, phase: str = "Failed") -> Item:
    made = pod("refused", pod_spec(gpus=1), on="g0", owner=owner("ReplicaSet", "worker-1", "rs-worker"))
    made["status"] = {"phase": phase, "reason": reason, "message": "Pod was rejected"}
    return made


def recreated(*nodes: Item) -> Case:
    made = deployment("worker", ["g1"], pod_spec(gpus=1), strategy={"type": "Recreate"})
    is_silent = any(one["spec"].get("taints") for one in nodes)
    verdict = Verdict.STUCK if is_silent else Verdict.COMPLETES
    return of(*nodes, made, verdict=verdict, is_doubted=is_silent, at=test_silent_nodes.NOW)


def aligned(policy: str) -> Item:
    made = node("g0", gpus=8)
    arguments = ["server", "--kubelet-arg", f"topology-manager-policy={policy}"]
    made["metadata"]["annotations"] = {"k3s.io/node-args": json.dumps(arguments)}
    return made


MINE, TWO = deployment("worker", ["g0"], pod_spec(gpus=1)), deployment("worker", ["g0"], pod_spec(gpus=2))
NAMED = deployment("worker", ["g0"], pod_spec(gpus=1, nodeName="g0"))
FLEX: Item = {"flexVolume": {"driver": "example.com/lvm"}}
OTHERS: Item = {"csi": {"driver": "disk.example.com", "volumeHandle": "x"}}
KEY = "node.kubernetes.io/memory-pressure"
OWN = rolling(0, 1)
NEVER = with_probes(livenessProbe=LIVENESS)
CASES = {
    "a volume is elsewhere": volume(only_room_elsewhere(), bound(), csi_driver(), verdict=Verdict.STUCK),
    "it stays on its node": volume(alone_on_its_node(), bound(), csi_driver(), verdict=Verdict.COMPLETES),
    "several nodes may have it": volume(only_room_elsewhere(), bound("data", "ReadWriteMany"), csi_driver(), verdict=Verdict.COMPLETES),
    "a driver that no list tells of": volume(only_room_elsewhere(), bound(of=OTHERS), verdict=Verdict.UNKNOWN, is_doubted=True),
    "a driver that is presumed to attach": volume(only_room_elsewhere(), bound(), verdict=Verdict.STUCK, is_doubted=True),
    "a FlexVolume": volume(only_room_elsewhere(), bound(of=FLEX), csi_driver(), verdict=Verdict.UNKNOWN, is_doubted=True),
    "a FlexVolume for many": volume(only_room_elsewhere(), bound("data", "ReadWriteMany", of=FLEX), csi_driver(), verdict=Verdict.COMPLETES),
    "a silent node": recreated(node("g0", gpus=1), test_silent_nodes.silent("g1")),
    "a node that answers": recreated(node("g0", gpus=1), node("g1", gpus=1)),
    "a DaemonSet behind a silent node": of(
        node("g0", gpus=1), test_silent_nodes.silent("g1"), daemon_set("worker", ["g0", "g1"], pod_spec(gpus=1)),
        key="DaemonSet/ml/worker", verdict=Verdict.STUCK, is_doubted=True, at=test_silent_nodes.NOW,
    ),
    "never Ready": of(node("g0", gpus=2), worker(NEVER), verdict=Verdict.COMPLETES, is_doubted=True),
    "Ready once": of(node("g0", gpus=2), worker(NEVER, ready=True), verdict=Verdict.COMPLETES),
    "a taint that is about to come": of(pressed(), MINE, verdict=Verdict.COMPLETES, is_doubted=True),
    "a pod that names the node": of(pressed(), NAMED, verdict=Verdict.COMPLETES),
    "a taint that is there": of(pressed((KEY, "NoSchedule")), MINE, verdict=Verdict.STUCK),
    "no pressure": of(pressed(condition=""), MINE, verdict=Verdict.COMPLETES),
    "a kubelet that aligns": of(aligned("single-numa-node"), TWO, verdict=Verdict.COMPLETES, is_doubted=True),
    "a kubelet that tries to": of(aligned("best-effort"), TWO, verdict=Verdict.COMPLETES),
    "pods that it refused": of(node("g0", gpus=8), MINE, refused("TopologyAffinityError"), verdict=Verdict.COMPLETES, is_doubted=True),
    "pods that ended": of(node("g0", gpus=8), MINE, refused("", "Succeeded"), verdict=Verdict.COMPLETES),
    "a device plugin that is away": of(
        offering("g0", {GPU: 0}, {GPU: 1}), deployment("worker", [""], pod_spec(gpus=1)), verdict=Verdict.STUCK
    ),
    "a GPU that is cut": of(
        offering("g0", {GPU: 0, SLICE: 7}, {GPU: 0, SLICE: 7}, **H100), deployment("worker", [""], pod_spec(gpus=1)), verdict=Verdict.STUCK
    ),
    "a class without devices": of(node("g0"), CLASS, claims(1), deployment("worker", [""], claiming()), verdict=Verdict.STUCK),
    "devices offered twice": of(
        node("g0", gpus=8), CLASS, claims(1), slice_of("g0", 8), deployment("worker", ["g0"], pod_spec(gpus=1), strategy=OWN),
        verdict=Verdict.COMPLETES, is_doubted=True,
    ),
    "other devices": of(
        node("g0", gpus=8), CLASS, claims(1), slice_of("g0", 8, "tpu.google.com"), deployment("worker", ["g0"], pod_spec(gpus=1), strategy=OWN),
        verdict=Verdict.COMPLETES,
    ),
}  # fmt: skip


class HerePool:
    """Answers in this process."""

    def run(self, ask: Callable[..., Any], *about: Any, is_wanted: Callable[[], bool]) -> Any:
        assert is_wanted()
        return ask(*about)


def at_agents(found: Snapshot, name: str, **settings: Any) -> tuple[str, Any]:
    pool: Any = HerePool()
    text, whole = mcp.ask_within(found, name, settings, pool=pool, is_embedded=False, answer_seconds=600)
    return text, whole["result"]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def read(case: Case) -> Snapshot:
    found = snapshot(copy.deepcopy(case.items))
    return replace(found, taken_at=case.taken_at) if case.taken_at else found


def changed(case: Case) -> tuple[Item, Item]:
    kind, _, name = case.key.split("/")
    there = next(one for one in case.items if (one["kind"], one["metadata"]["name"]) == (kind, name))
    manifest = copy.deepcopy(there)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    return there, manifest


def proves(text: str) -> bool:
    """Whether a door says that it is proven: the rollout's document and its page do, and others tell doubts only."""
    return "(proven)" in text


def test_every_door_says_the_same(case: Case) -> None:
    there, manifest = changed(case)
    written, now = json.dumps(manifest), case.taken_at or read(case).taken_at

    asked = RolloutSettings(manifest=written)
    answer = rollout.answer(read(case), asked, Inputs(now=now))
    assert answer.verdict is case.verdict
    doubts = [one for one in answer.doubts if one.could_change is Effect.VERDICT]
    assert bool(doubts) or answer.verdict is Verdict.UNKNOWN or not case.is_doubted
    is_proven = answer.ties is not None and answer.ties.proven
    assert not (is_proven and case.is_doubted)
    whole = json.dumps(document(rollout.QUESTION, read(case), asked, answer))
    assert proves(whole) is is_proven

    gated = gate.answer(read(case), GateSettings(manifest=written), Inputs(now=now))
    (line,) = gated.workloads
    assert line.verdict is case.verdict
    assert gated.exit_status == ENDS[case.verdict]

    kind, namespace, name = case.key.split("/")
    request = {
        "uid": "1", "operation": "UPDATE", "namespace": namespace, "name": name, "object": manifest, "oldObject": there,
        "resource": {"group": "apps", "version": "v1", "resource": f"{kind.lower()}s"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()
    reviewed = review(read(case), read_request(body), now=now)
    assert reviewed.is_stuck is (case.verdict is Verdict.STUCK)
    assert reviewed.silence is SILENT.get(case.verdict)

    listed = overview.answer(read(case), overview.OverviewSettings(), Inputs(now=now))
    (own,) = [one for one in listed.workloads if one.workload == case.key]
    assert own.verdict is case.verdict
    planned = plan.answer(read(case), plan.PlanSettings(), Inputs(now=now))
    assert planned.ready_now == sum(one.verdict is Verdict.COMPLETES for one in listed.workloads)

    text, told = at_agents(read(case), "rollout", manifest=written)
    assert told["verdict"] == case.verdict
    assert ("not sure: " in text) >= bool(doubts)
    text, told = at_agents(read(case), "gate", manifest=written)
    assert [one["verdict"] for one in told["workloads"]] == [case.verdict]
    assert ("not sure: " in text) >= bool(doubts)
    _, told = at_agents(read(case), "overview")
    assert [one["verdict"] for one in told["workloads"] if one["workload"] == case.key] == [case.verdict]


def test_its_page_says_the_same(case: Case) -> None:
    page = said(visit("rollout", read(case), w=case.key))
    own = rollout.answer(read(case), RolloutSettings(workloads=(case.key,)), Inputs(now=read(case).taken_at))
    assert own.verdict is case.verdict
    assert any(str(words)[1:40] in page for words in (own.sentence, own.headline))
    assert proves(page) is (own.ties is not None and own.ties.proven)
    assert not (case.is_doubted and proves(page))
    doubts = [str(one.why) for one in own.doubts if one.could_change is Effect.VERDICT]
    assert not doubts or any(why[1:60] in page for why in (*doubts, str(own.sentence)))
