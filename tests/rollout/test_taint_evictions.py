"""Pods that tolerate a NoExecute taint of their node for some seconds: evicted when these are over, beside a rollout.

Source: kubernetes `pkg/controller/tainteviction/taint_eviction.go` `processPodOnNode`. Pods take 30 s to start and 30 s to end.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import parse_later
from planner.ground.errors import NotKnownError
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot, Taint
from planner.questions import gate, overview
from planner.questions.gate import GateSettings
from planner.questions.overview import OverviewSettings
from planner.questions.question import Inputs
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.doubts import Effect
from planner.rollout.prepared_change import Scenario
from planner.rollout.taint_evictions import evictions, short_stays
from planner.scheduling.cluster import Cluster
from planner.serve.admission_review import read_request, review
from tests.builders.objects import WHOLE, Item, deployment, node, pod, pod_spec
from tests.builders.objects import snapshot as read
from tests.rollout.rollouts import daemon_set, rolling

WORKER, KEY = "Deployment/ml/worker", "maintenance"
FOR_EVER: Item = {"key": KEY, "operator": "Exists"}
OTHERS: Item = {"key": "other", "operator": "Exists"}


def for_seconds(seconds: int) -> Item:
    return {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


def tainted(name: str, gpus: int = 1, effect: str = "NoExecute") -> Item:
    return node(name, gpus=gpus, taints=((KEY, effect),))


def asked(found: Snapshot, key: str = WORKER, then: str = "") -> RolloutResult:
    scenario = Scenario(changes=(WorkloadChange(workload=key),), runs=5, with_remedies=False)
    return rollout_with_remedies.rollout(found, scenario, beside=LaterEvents(later=parse_later(then)))


def tolerant(*tolerations: Item, gpus: int = 1) -> Item:
    return pod_spec(gpus=gpus, tolerations=list(tolerations))


def making_room(stays: Item, *, effect: str = "NoExecute") -> Snapshot:
    """The worker's surge waits for the GPU of b, which other's pod holds; the worker tolerates b's taint, other as `stays` says."""
    mine = deployment("worker", ["a"], tolerant(FOR_EVER), strategy=rolling(1, 0))
    other = deployment("other", ["b"], tolerant(stays))
    return read(WHOLE, node("a", gpus=1), tainted("b", effect=effect), mine, other)


def taking_room(stays: Item) -> Snapshot:
    """Two of the worker's pods surge by one on the GPU that c has free; other's pod, evicted from b meanwhile, wants the next that is free."""
    mine = deployment("worker", ["a", "a"], pod_spec(gpus=1), strategy=rolling(1, 0))
    other = deployment("other", ["b"], tolerant(stays))
    also = node("b", gpus=1, taints=((KEY, "NoExecute"), (KEY, "NoSchedule")))
    return read(WHOLE, node("a", gpus=2), also, node("c", gpus=1), mine, other)


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([for_seconds(60)], [60.0]),
        ([for_seconds(60), FOR_EVER], [60.0]),  # the first that matches counts
        ([FOR_EVER, for_seconds(60)], []),
        ([for_seconds(0)], []),  # it goes at once
        ([], []),
        ([{"key": "other", "operator": "Exists", "tolerationSeconds": 60, "effect": "NoExecute"}], []),
    ],
)
def test_for_how_long_a_pod_tolerates_a_taint(tolerations: list[Item], seconds: list[float]) -> None:
    spec = read(deployment("worker", ["a"], pod_spec(tolerations=tolerations))).pods[0].spec
    taint = Taint(key=KEY, value="", effect="NoExecute")
    assert [stay for _, stay in short_stays(spec, (taint,))] == seconds
    untolerated = Taint(key="gone", value="", effect="NoExecute")
    assert list(short_stays(spec, (taint, untolerated))) == [], "it goes at once"


def test_who_is_evicted_and_when() -> None:
    (event,) = evictions(Cluster(making_room(for_seconds(60))))
    assert (event.puts_out, event.after_seconds) == ("b", 60.0)
    assert event.words == "pods are evicted from b, whose taint maintenance they tolerate for 1 min"
    for never in (making_room(FOR_EVER), making_room(for_seconds(60), effect="NoSchedule")):
        assert evictions(Cluster(never)) == ()
    of_daemons = daemon_set("agent", ["b"], tolerant(for_seconds(60)))
    assert evictions(Cluster(read(WHOLE, tainted("b"), of_daemons))) == (), "they are made there anew"


def test_an_eviction_makes_room_for_a_rollout() -> None:
    answer = asked(making_room(for_seconds(60)))
    assert answer.verdict is Verdict.COMPLETES
    assert not any("may make pods anew" in str(one.why) for one in answer.doubts)
    # evicted before the change comes, other's pod is first in the queue, and comes back to b
    assert decisive(answer) == [
        "when pods are evicted from b may decide: with that at once it is stuck, without that it is stuck"
    ]
    for never in (making_room(FOR_EVER), making_room(for_seconds(60), effect="NoSchedule")):
        assert asked(never).verdict is Verdict.STUCK


def test_an_eviction_takes_the_room_of_a_rollout() -> None:
    """The worker's first old pod is gone at 60 s. Other's successor of 15 s is before the worker's second pod, made at 30 s; of 45 s behind."""
    answer = asked(taking_room(for_seconds(15)))
    assert answer.verdict is Verdict.STUCK
    assert any(
        why.endswith("with that at once it is also stuck, without that it completes") for why in decisive(answer)
    )
    late = asked(taking_room(for_seconds(45)))
    assert late.verdict is Verdict.COMPLETES
    assert any(why.endswith("with that at once it is stuck, without that it also completes") for why in decisive(late))
    never = asked(taking_room(FOR_EVER))
    assert (never.verdict, decisive(never)) == (Verdict.COMPLETES, [])


def decisive(answer: RolloutResult) -> list[str]:
    return [str(one.why) for one in answer.doubts if one.could_change is Effect.VERDICT]


@pytest.mark.parametrize(("seconds", "verdict"), [(15, Verdict.STUCK), (9_000, Verdict.COMPLETES)])
def test_the_gate_the_webhook_and_the_list_say_the_same(seconds: int, verdict: Verdict) -> None:
    found = taking_room(for_seconds(seconds))
    manifest = deployment("worker", ["a", "a"], pod_spec(gpus=1), strategy=rolling(1, 0))[0]
    before = copy.deepcopy(manifest)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    at_gate = gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))
    listed = overview.answer(found, OverviewSettings(), Inputs(now=found.taken_at))
    request: dict[str, Any] = {
        "uid": "1", "operation": "UPDATE", "object": manifest, "oldObject": before, "namespace": "ml", "name": "worker",
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    said = review(found, read_request(body.encode()), now=found.taken_at)
    assert [one.verdict for one in at_gate.workloads] == [verdict]
    assert [one.verdict for one in listed.workloads if one.workload == WORKER] == [verdict]
    assert said.is_stuck is (verdict is Verdict.STUCK)


def test_new_pods_that_tolerate_a_taint_for_a_time_take_the_proof_away() -> None:
    """They may come to b and are evicted there again and again, which isn't played."""
    mine = deployment("worker", ["a"], tolerant(for_seconds(60)), strategy=rolling(1, 0))
    for then in ("", f"10m:untaint:node/b={KEY}"):
        answer = asked(read(WHOLE, node("a", gpus=1), tainted("b"), mine), then=then)
        assert answer.verdict is Verdict.COMPLETES
        (why,) = (why for why in decisive(answer) if KEY in why)
        told = "node b has the taint maintenance:NoExecute: new pods there tolerate it for 1 min, and are evicted then"
        assert why == told
        assert answer.ties is not None
        assert not answer.ties.proven
    for tolerations in ([FOR_EVER], []):
        mine = deployment("worker", ["a"], tolerant(*tolerations), strategy=rolling(1, 0))
        found = read(WHOLE, node("a", gpus=2), tainted("b"), mine)
        for then in ("", f"10m:untaint:node/b={KEY}"):
            assert not any(KEY in why for why in decisive(asked(found, then=then)))


def test_who_has_to_go_for_a_taint_that_is_taken_off_later_may_go_before() -> None:
    """Other's pod doesn't tolerate b's taint: it may be deleted at any moment, and wants the worker's next GPU."""
    for then in ("", f"10m:untaint:node/b={KEY}"):
        assert any(
            "Deployment/ml/other may make pods anew that leave b" in why
            for why in decisive(asked(taking_room(OTHERS), then=then))
        ), then


def test_a_taint_that_comes_evicts_those_there_after_their_seconds() -> None:
    """At 30 s b gets the taint, at 90 s other's pod goes, at 120 s the worker has its GPU; taken off at 60 s, nobody goes."""
    mine = deployment("worker", ["a"], tolerant(FOR_EVER), strategy=rolling(1, 0))
    other = deployment("other", ["b"], tolerant(for_seconds(60)))
    found = read(WHOLE, node("a", gpus=1), node("b", pool="other", gpus=1), mine, other)
    taint, untaint = f"30s:taint:b={KEY}:NoExecute", f"60s:untaint:b={KEY}"
    assert asked(found).verdict is Verdict.STUCK
    answer = asked(found, then=taint)
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, 180)
    assert asked(found, then=f"{taint};{untaint}").verdict is Verdict.STUCK


def test_a_taint_that_is_taken_off_has_evicted_those_whose_seconds_were_over() -> None:
    """Other's pod goes from b at 60 s, long before the taint does; taken off at 30 s, nobody goes."""
    found = making_room(for_seconds(60))
    assert asked(found, then=f"10m:untaint:node/b={KEY}").verdict is Verdict.COMPLETES
    for then in (
        "30s",
        "60s",
    ):  # in the same second the taint goes first, as it does from a silent node; nothing is proven then
        answer = asked(found, then=f"{then}:untaint:node/b={KEY}")
        assert answer.verdict is Verdict.STUCK
        assert answer.ties is None or not answer.ties.proven
    assert asked(making_room(FOR_EVER), then=f"10m:untaint:node/b={KEY}").verdict is Verdict.STUCK


# ── two taints of one node ───────────────────────────────────────────────────────────────────────────────────────────
OTHER_KEY = "repair"


def stays(key: str, seconds: int | None) -> Item:
    return {"key": key, "operator": "Exists"} | (
        {} if seconds is None else {"tolerationSeconds": seconds, "effect": "NoExecute"}
    )


def twice_tainted(first: int | None, second: int | None, *, now: tuple[str, ...] = (KEY, OTHER_KEY)) -> Snapshot:
    """The worker's surge waits for the GPU of b, which other's pod holds: it tolerates b's two taints for so many seconds."""
    forever = tolerant(stays(KEY, None), stays(OTHER_KEY, None))
    mine = deployment("worker", ["a"], forever, strategy=rolling(1, 0))
    other = deployment("other", ["b"], tolerant(stays(KEY, first), stays(OTHER_KEY, second)))
    b = node("b", pool="other", gpus=1, taints=tuple((key, "NoExecute") for key in now))
    return read(WHOLE, node("a", gpus=1), b, mine, other)


@pytest.mark.parametrize(
    ("first", "second", "lifts", "seconds"),
    [
        (60, 600, "", 150),  # 60 s, 30 s to end, two start-ups
        (60, 600, f"30s:untaint:node/b={KEY}", 150),  # what is scheduled stays, though its taint has gone
        (60, 600, f"30s:untaint:node/b={OTHER_KEY}", 150),
        (60, None, f"30s:untaint:node/b={KEY}", None),  # the other one it tolerates forever: cancelled
        (60, None, f"30s:untaint:node/b={OTHER_KEY}", 150),
        (60, 600, f"20s:untaint:node/b={KEY};30s:untaint:node/b={OTHER_KEY}", None),  # none is left
    ],
)
def test_an_eviction_stays_at_its_time_while_a_taint_is_left_that_is_tolerated_for_a_time(
    first: int | None, second: int | None, lifts: str, seconds: int | None
) -> None:
    """Source: kubernetes `pkg/controller/tainteviction/taint_eviction.go` `processPodOnNode` (``if startTime.Add(minTolerationTime).Before(
    triggerTime) { return }``), and `cancelWorkWithEvent` where none is left, or all are tolerated forever."""
    answer = asked(twice_tainted(first, second), then=lifts)
    assert (answer.verdict, answer.seconds if seconds else None) == (
        (Verdict.COMPLETES, seconds) if seconds else (Verdict.STUCK, None)
    )


@pytest.mark.parametrize(("first", "second", "seconds"), [(600, 30, 690), (70, 10, 160)])
def test_a_taint_that_comes_beside_makes_an_eviction_no_earlier(first: int, second: int, seconds: int) -> None:
    found = twice_tainted(first, second, now=(KEY,))
    assert asked(found, then=f"40s:taint:b={OTHER_KEY}:NoExecute").seconds == seconds


@pytest.mark.parametrize(("second", "seconds"), [(600, 160), (None, None)])
def test_a_taint_that_comes_beside_keeps_an_eviction_when_the_first_one_goes(
    second: int | None, seconds: int | None
) -> None:
    then = f"40s:taint:b={OTHER_KEY}:NoExecute;60s:untaint:node/b={KEY}"
    answer = asked(twice_tainted(70, second, now=(KEY,)), then=then)
    assert (answer.verdict, answer.seconds if seconds else None) == (
        (Verdict.COMPLETES, seconds) if seconds else (Verdict.STUCK, None)
    )


def test_a_taint_that_comes_alone_counts_from_then() -> None:
    found = twice_tainted(60, 30, now=())
    assert asked(found, then=f"40s:taint:b={OTHER_KEY}:NoExecute").seconds == 160  # 40 s, 30 s, and 90 s as above


# ── pods that name their node ────────────────────────────────────────────────────────────────────────────────────────
def naming(taints: tuple[tuple[str, str], ...] = (), *others: Item, **node_more: Any) -> Snapshot:
    """Two pods of the worker, which name a, and room there for two more."""
    a = node("a", pool="p", gpus=4, taints=taints, **node_more)
    mine = deployment("worker", ["a", "a"], pod_spec(gpus=1, nodeName="a"), strategy=rolling(1, 0))
    return read(WHOLE, a, mine, list(others))


@pytest.mark.parametrize(
    ("there", "then"),
    [
        ((), "40s:taint:a=x:NoSchedule"),
        ((("x", "NoSchedule"),), "10m:untaint:a=x"),
        ((("x", "NoSchedule"),), "40s:taint:a=y:NoSchedule"),
    ],
)
def test_a_pod_that_names_its_node_never_meets_a_taint_of_the_scheduler(
    there: tuple[tuple[str, str], ...], then: str
) -> None:
    """Source: kubernetes `pkg/kubelet/lifecycle/predicate.go` `generalFilter`: a kubelet looks at NoExecute alone."""
    answer = asked(naming(there), then=then)
    assert (answer.verdict, answer.seconds) == (Verdict.COMPLETES, asked(naming()).seconds)


def test_a_pod_that_names_its_node_meets_one_of_the_kubelet() -> None:
    assert asked(naming(), then="40s:taint:a=x:NoExecute").verdict is Verdict.STUCK
    lifted = asked(naming((("x", "NoExecute"),)), then="10m:untaint:a=x")
    assert (lifted.verdict, lifted.seconds) == (Verdict.COMPLETES, 600 + asked(naming()).seconds)


def test_beside_one_that_does_not_name_its_node_a_taint_of_the_scheduler_is_not_played() -> None:
    waits = pod("waits", pod_spec(gpus=1, nodeSelector={"kubernetes.io/hostname": "a"}))
    with pytest.raises(NotKnownError, match="tolerates the taint and"):
        asked(naming((), waits), then="40s:taint:a=x:NoSchedule")


def test_a_cordon_beside_one_that_names_its_node_is_not_played() -> None:
    with pytest.raises(NotKnownError, match="goes to cordoned nodes, too"):
        asked(naming(cordoned=True), then="10m:uncordon:a")
