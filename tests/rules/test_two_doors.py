"""The gate and the webhook are two doors of one house: the same change gets the same answer at both."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
import yaml

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.inventory.pool_limits import LimitSource, PoolLimits, parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate
from planner.questions.gate import GateAnswer, GateSettings
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import Inputs
from planner.rollout.gate_policy import GatePolicy, read_policy
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from planner.serve.request_limits import LIMITS
from planner.serve.webhook import response
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import rolling

Item = dict[str, Any]
NOW = 1_790_000_000.0  # 2026-09-21
CALM, SURGING = rolling(0, 1), rolling(1, 0)
OWN = PoolLimits(name="gpu", source=LimitSource.GCLOUD, maximum=3, is_autoscaled=True)
BY_HAND = PoolLimits(name="gpu", source=LimitSource.GCLOUD, is_autoscaled=False)
KARPENTER = PoolLimits(name="gpu", source=LimitSource.KARPENTER, is_autoscaled=True)
MANY = parse_typed_limits("gpu=50")
EXCEPTED = '[[gate.exceptions]]\nworkload = "deployment/ml/*"\nreason = "moves"\nexpires = {}\n'


def failed(minutes: float, *, about: Item, reason: str = "FailedToScaleUpGroup", message: str) -> Item:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "kube-system"}, "type": "Warning",
        "involvedObject": about, "reason": reason, "message": message, "lastTimestamp": stamp(minutes),
    }  # fmt: skip


def stamp(minutes: float) -> str:
    return datetime.fromtimestamp(NOW - 60 * minutes, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


STATUS = {"kind": "ConfigMap", "namespace": "kube-system", "name": "cluster-autoscaler-status"}
OUT = "Scale-up failed for group https://example.com/instanceGroups/gke-c-gpu-1a2b-grp: out of resources"
LATELY = failed(12, about=STATUS, message=OUT)
CLAIM = failed(
    5, about={"kind": "NodeClaim", "name": "gpu-x7k2p"}, reason="InsufficientCapacityError", message="no capacity"
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """`status` of the gate, and whether anything is told (a warning of a change that passes)."""

    status: int
    warns: bool = False
    strategy: Item
    nodes: int = 1
    limits: tuple[PoolLimits, ...] = ()
    events: tuple[Item, ...] = ()
    policy: str = ""


CASES = {
    "completes": Case(status=0, strategy=CALM),
    "stuck": Case(status=2, strategy=SURGING),
    "within its maximum": Case(status=0, strategy=SURGING, limits=(OWN,)),
    "6 of 50": Case(status=0, strategy=SURGING, nodes=6, limits=MANY),
    "Karpenter's without limits": Case(status=0, strategy=SURGING, limits=(KARPENTER,)),
    "beyond its maximum": Case(status=2, strategy=SURGING, limits=parse_typed_limits("gpu=1")),
    "a maximum that nobody states": Case(status=3, strategy=SURGING, limits=parse_typed_limits("other=9")),
    "by hand": Case(status=2, strategy=SURGING, limits=(BY_HAND,)),
    "a scale-up failed lately": Case(status=0, warns=True, strategy=SURGING, limits=(OWN,), events=(LATELY,)),
    "Karpenter's too": Case(status=0, warns=True, strategy=SURGING, limits=(KARPENTER,), events=(CLAIM,)),
    "failed long ago": Case(
        status=0, strategy=SURGING, limits=(OWN,), events=(failed(61, about=STATUS, message=OUT),)
    ),
    "failed elsewhere": Case(
        status=0, strategy=SURGING, limits=(OWN,), events=(failed(1, about=STATUS, message=OUT.replace("-gpu-", "-cpu-")),)
    ),
    "growth refused": Case(status=3, strategy=SURGING, limits=(OWN,), policy='[gate]\nfail = ["needs_growth"]\n'),
    "growth let pass": Case(
        status=0, strategy=SURGING, limits=parse_typed_limits("other=9"), policy='[gate]\nfail = ["stuck"]\n'
    ),
    "stuck let pass": Case(status=0, strategy=SURGING, policy='[gate]\nfail = ["unknown"]\n'),
    "too few Ready": Case(status=5, strategy=CALM, policy="[gate]\nleast_ready = 1\n"),
    "enough Ready": Case(status=0, strategy=CALM, nodes=2, policy='[gate]\nleast_ready = "50%"\n'),
    "excepted": Case(status=0, strategy=SURGING, policy=EXCEPTED.format("2999-01-01")),
    "excepted once": Case(status=2, strategy=SURGING, policy=EXCEPTED.format("2001-01-01")),
}  # fmt: skip


def asked(case: Case, change: Callable[[Item], object] = lambda _: None) -> tuple[GateAnswer, WebhookReview]:
    """What both doors say of a new image and of what else `change` makes of the manifest."""
    names = [f"gke-c-gpu-1a2b-{place}" for place in range(case.nodes)]
    objects = deployment("serve", names, pod_spec(gpus=1), strategy=case.strategy)
    cpu = node("gke-c-cpu-1a2b-0", pool="cpu")
    found = snapshot(*(node(name, pool="gpu", gpus=1) for name in names), cpu, objects, *case.events)
    cluster = replace(found, taken_at=NOW)
    there = next(one for one in objects if one["kind"] == "Deployment")
    manifest = copy.deepcopy(there)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    change(manifest)
    policy = read_policy(case.policy, "headroom.toml")
    return at_gate(cluster, manifest, case, policy), at_webhook(cluster, there, manifest, case, policy)


def at_gate(cluster: Snapshot, manifest: Item, case: Case, policy: GatePolicy) -> GateAnswer:
    settings = GateSettings(manifest=yaml.safe_dump(manifest), pools=PoolSettings(limits=case.limits), policy=policy)
    return gate.answer(cluster, settings, Inputs(now=NOW))


def body_of(there: Item, manifest: Item) -> bytes:
    """The AdmissionReview of an update of the Deployment ml/serve."""
    request = {
        "uid": "1", "operation": "UPDATE", "namespace": "ml", "name": "serve", "object": manifest, "oldObject": there,
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    }  # fmt: skip
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()


def at_webhook(cluster: Snapshot, there: Item, manifest: Item, case: Case, policy: GatePolicy) -> WebhookReview:
    body = body_of(there, manifest)
    pools = growable_pools(cluster, case.limits)
    found, hurried = (
        review(cluster, read_request(body), pools, policy=policy, now=NOW, tells_ways=tells) for tells in (True, False)
    )  # fmt: skip
    assert replace(hurried, warning="") == replace(
        found, warning=""
    )  # who has no time says the same, without a way out
    assert bool(hurried.warning) is bool(found.warning)
    if hurried.warning != found.warning:
        assert found.is_stuck
        assert hurried.warning.endswith("; headroom gate looks for ways out")
    assert len(hurried.warning) <= LIMITS.warning_characters
    return found


@pytest.mark.parametrize("name", CASES)
def test_both_doors_say_the_same(name: str) -> None:
    case = CASES[name]
    at_one, at_other = asked(case)
    (part,) = at_one.workloads
    assert (at_one.exit_status, bool(part.warnings)) == (case.status, case.warns)
    assert bool(at_other.warning) is (case.status != 0 or case.warns)
    assert at_other.is_stuck is (case.status == ExitStatus.STUCK)
    assert len(at_other.warning) <= LIMITS.warning_characters
    if not at_other.warning:
        assert at_other.silence in (Silence.COMPLETES, Silence.BY_POLICY)


def test_who_has_no_time_looks_for_no_way_out_of_another_image_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of it is kept for other images, and doesn't stand for what is said with time."""
    objects = deployment("serve", ["n0", "n1"], pod_spec(gpus=1), strategy=SURGING)
    cluster = snapshot(*(node(name, pool="gpu", gpus=1) for name in ("n0", "n1")), objects)
    there = next(one for one in objects if one["kind"] == "Deployment")
    manifest = copy.deepcopy(there)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    body = body_of(there, manifest)
    looked: list[object] = []

    def way_out(*asked: object) -> str:
        looked.append(asked)
        return "a way"

    monkeypatch.setattr("planner.serve.admission_review._way_out", way_out)
    for tells, tail, number in ((False, "looks for ways out", 0), (False, "looks for ways out", 0), (True, "a way", 1)):
        found = review(cluster, read_request(body), tells_ways=tells)
        assert found.is_stuck
        assert found.warning.endswith(tail)
        assert len(looked) == number


def test_of_pods_that_are_refused_for_good_nobody_is_sent_to_look_for_a_way_out() -> None:
    bounds = {
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "most", "namespace": "ml"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
    }  # fmt: skip
    objects = deployment("serve", ["n0"], pod_spec(cpu="1"), strategy=SURGING)
    there = next(one for one in objects if one["kind"] == "Deployment")
    manifest = copy.deepcopy(there)
    resources = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
    cluster = snapshot(node("n0", cpu="9"), objects, bounds)
    found, hurried = (review(cluster, read_request(body_of(there, manifest)), tells_ways=one) for one in (True, False))
    assert found.is_stuck
    assert hurried == found


GROWS = (LATELY, failed(61, about=STATUS, message=OUT), CLAIM)
POOL_LIMITS = ((), (OWN,), (BY_HAND,), (KARPENTER,), MANY, parse_typed_limits("gpu=1"), parse_typed_limits("other=9"))
POLICIES = (
    *[""] * 6, '[gate]\nfail = ["needs_growth"]\n', '[gate]\nfail = ["stuck"]\n', '[gate]\nfail = ["unknown"]\n',
    *["[gate]\nleast_ready = 1\n"] * 3, '[gate]\nleast_ready = "50%"\n', EXCEPTED.format("2999-01-01"), EXCEPTED.format("2001-01-01"),
)  # fmt: skip


def any_change(random: Random) -> Callable[[Item], object]:
    """More or fewer pods, pods of another size, another strategy, pods that go elsewhere."""
    replicas, gpus = random.choice((None, None, None, 1, 3)), random.choice((*[None] * 6, 2, 9))
    surge, pool = random.choice((None, CALM, SURGING)), random.choice((*[None] * 8, "nowhere"))

    def change(manifest: Item) -> None:
        spec = manifest["spec"]
        pods = spec["template"]["spec"]
        spec |= {"replicas": replicas} if replicas is not None else {}
        spec |= {"strategy": surge} if surge is not None else {}
        if gpus is not None:
            pods["containers"][0]["resources"] = pod_spec(gpus=gpus)["containers"][0]["resources"]
        if pool is not None:
            pods["nodeSelector"] = {"pool": pool}

    return change


def test_both_doors_say_the_same_of_any_change() -> None:
    """150 changes, in clusters whose pools grow in every way there is."""
    seen = Counter[str]()
    for seed in range(150):
        random = Random(seed)
        case = Case(
            status=0, strategy=random.choice((CALM, SURGING)), nodes=random.randint(1, 3), limits=random.choice(POOL_LIMITS),
            events=tuple(one for one in GROWS if random.random() < 0.2), policy=random.choice(POLICIES),
        )  # fmt: skip
        at_one, at_other = asked(case, any_change(random))
        (part,) = at_one.workloads
        told = bool(part.warnings) and part.exception is None
        seen[f"{ExitStatus(at_one.exit_status).name}{' told' * told}"] += 1
        if at_one.exit_status == ExitStatus.NOT_KNOWN:
            assert at_other.silence is Silence.NOT_KNOWN, seed
            continue
        assert bool(at_other.warning) is (at_one.exit_status != ExitStatus.ANSWERED or told), seed
        assert at_other.is_stuck is (at_one.exit_status == ExitStatus.STUCK), seed
        assert len(at_other.warning) <= LIMITS.warning_characters
    assert min(seen[name] for name in ("ANSWERED", "ANSWERED told", "STUCK", "NEEDS_GROWTH", "REFUSED")) >= 3, seen


def test_a_warning_of_growth_never_refuses_a_write() -> None:
    found = asked(CASES["a scale-up failed lately"])[1]
    assert "a scale-up of pool gpu failed 12 min before the snapshot" in found.warning
    assert response("1", found, is_denied=found.is_stuck)["response"]["allowed"] is True


def test_growth_is_told_with_its_minutes_and_what_failed() -> None:
    (part,) = asked(CASES["a scale-up failed lately"])[0].workloads
    assert "5 min of it until nodes arrive" in str(part.sentence)
    assert str(part.warnings[0]).endswith("out of resources")
    assert part.is_growth_automatic


def test_a_pod_that_got_no_node_speaks_of_the_pools_it_could_go_to() -> None:
    """GKE's event names the pod, not the pool."""
    waiting = deployment("waits", [""], pod_spec(gpus=1))
    pod = next(one for one in waiting if one["kind"] == "Pod")
    about = {"kind": "Pod", "namespace": "ml", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    event = failed(3, about=about, reason="FailedScaleUp", message="GCE out of resources")
    case = Case(status=0, warns=True, strategy=SURGING, limits=(OWN,), events=(*waiting, event))
    assert asked(case)[0].workloads[0].warnings
