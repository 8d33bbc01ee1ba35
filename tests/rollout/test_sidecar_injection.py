"""Istio's injector: who gets its proxy, what that asks for, and what an answer says of it.

Expected by `injectRequired` (istio pkg/kube/inject/inject.go), the webhook's selectors (templates/mutatingwebhook.yaml) and the resources of
files/injection-template.yaml, with the defaults of values.yaml: 100m CPU and 128Mi.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.sidecar_injection import PROXY, SidecarInjection
from planner.remedies import rollout_with_remedies
from planner.remedies.make_room import RoomRequest, make_room
from planner.rollout.admission import Admission
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.doubts import Effect
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import MOVED_WHOLE, WHOLE, Item, deployment, node, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, rolling

Items = list[Item | list[Item]]
DEFAULT = {"cpu": 100, "memory": 128 << 20}


def injector(**hook: Any) -> Item:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    default = {
        "name": "namespace.sidecar-injector.istio.io",
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"istio-injection": "enabled"}},
        "objectSelector": {
            "matchExpressions": [{"key": "sidecar.istio.io/inject", "operator": "NotIn", "values": ["false"]}]
        },
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "istio-sidecar-injector"},
        "webhooks": [default | hook],
    }  # fmt: skip


def namespace(**labels: str) -> Item:
    written = {name.replace("_", "-"): value for name, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": written}}


INJECTED = namespace(istio_injection="enabled")


def worker(spec: Item, *, labels: Item | None = None, annotations: Item | None = None) -> list[Item]:
    """A Deployment of one Ready pod, whose template has these labels and annotations more."""
    made = deployment("worker", ["n0"], spec, strategy=rolling(1, 0))
    for one in made[:2]:
        metadata = one["spec"]["template"]["metadata"]
        metadata["labels"] = metadata["labels"] | (labels or {})
        metadata["annotations"] = annotations or {}
    return made


def rolled(*items: Item | list[Item]) -> RolloutResult:
    asked = WorkloadChange(workload=WORKER)
    return rollout_with_remedies.rollout(snapshot(WHOLE, *items), Scenario(changes=(asked,), with_remedies=False))


def proxy_of(*items: Item | list[Item]) -> dict[str, int] | None:
    """What the proxy of a new pod of the worker asks for; None where it gets none."""
    found = snapshot(*items)
    after = found.workload(WORKER)
    assert after is not None
    injected = SidecarInjection(found).of("ml", after.template.labels, after.template.spec)
    return dict(injected.proxy.requests) if injected else None


def test_a_proxy_takes_the_room_that_a_pod_would_just_have() -> None:
    """A node of two CPUs, whose one pod of 1 CPU is joined by a surge of 1 CPU: 100m too few with a proxy."""
    items: Items = [node("n0", cpu="2"), worker(pod_spec(cpu="1"))]
    without = rolled(*items, INJECTED)
    assert without.verdict is Verdict.COMPLETES
    found = rolled(*items, INJECTED, injector())
    assert found.verdict is Verdict.STUCK
    assert "cpu" in str(found.sentence)
    assert rolled(*items, namespace(), injector()).verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("labels", "annotations", "spec", "gets"),
    [
        ({}, {}, {}, DEFAULT),
        ({"sidecar.istio.io/inject": "true"}, {}, {}, DEFAULT),
        ({"sidecar.istio.io/inject": "false"}, {}, {}, None),
        ({}, {"sidecar.istio.io/inject": "false"}, {}, None),
        ({"sidecar.istio.io/inject": "true"}, {"sidecar.istio.io/inject": "false"}, {}, DEFAULT),  # the label goes first
        ({}, {}, {"hostNetwork": True}, None),
        ({}, {"sidecar.istio.io/proxyCPU": "50m"}, {}, {"cpu": 50}),  # then nothing of the default is taken
        ({}, {"sidecar.istio.io/proxyCPU": "1", "sidecar.istio.io/proxyMemory": "1Gi"}, {}, {"cpu": 1000, "memory": 1 << 30}),
        ({}, {"sidecar.istio.io/proxyCPULimit": "1"}, {}, {}),
    ],
    ids=["default", "label", "label off", "annotation off", "label before annotation", "host network", "CPU", "both", "limit alone"],
)  # fmt: skip
def test_who_gets_one_and_what_it_asks_for(labels: Item, annotations: Item, spec: Item, gets: Item | None) -> None:
    items: Items = [INJECTED, injector(), worker({**pod_spec(), **spec}, labels=labels, annotations=annotations)]
    assert proxy_of(*items) == gets


def test_a_proxy_of_its_own_and_a_namespace_that_is_not_there() -> None:
    own = pod_spec()
    own["containers"] = [*own["containers"], {"name": PROXY, "image": "auto"}]
    assert proxy_of(INJECTED, injector(), worker(own)) is None
    assert proxy_of(injector(), worker(pod_spec())) is None
    assert proxy_of(INJECTED, injector(name="sidecar-injector.example.com"), worker(pod_spec())) is None


@pytest.mark.parametrize("is_native", [False, True])
def test_what_runs_tells_what_the_config_map_says(is_native: bool) -> None:
    running = pod_spec()
    proxy = {"name": PROXY, "image": "proxyv2", "resources": {"requests": {"cpu": "10m", "memory": "40Mi"}}}
    if is_native:
        running["initContainers"] = [proxy | {"restartPolicy": "Always"}]
    else:
        running["containers"] = [*running["containers"], proxy]
    items: Items = [INJECTED, injector(), worker(pod_spec())]
    assert proxy_of(*items, pod("other", running, on="n0")) == {"cpu": 10, "memory": 40 << 20}
    found = snapshot(*items, pod("other", running, on="n0"))
    after = found.workload(WORKER)
    assert after is not None
    spec = Admission(found).prepare("ml", after.template.spec, after.template.labels)
    assert len(spec.sidecars) == is_native
    assert (PROXY in {one.name for one in spec.containers}) is not is_native


def test_the_default_is_a_doubt_of_the_verdict_and_what_runs_is_none() -> None:
    items: Items = [node("n0", cpu="8"), INJECTED, injector(), worker(pod_spec(cpu="1"))]
    guessed = rolled(*items)
    assert guessed.verdict is Verdict.COMPLETES
    assert (guessed.ties and guessed.ties.proven) is False
    [doubt] = guessed.doubts
    assert (doubt.about, doubt.could_change) == ("Istio's sidecar injector", Effect.VERDICT)
    assert "100m cpu, 128Mi memory, the documented default" in str(doubt.why)
    running = pod_spec()
    running["containers"] = [*running["containers"], {"name": PROXY, "resources": {"requests": {"cpu": "10m"}}}]
    seen = rolled(*items, pod("other", running, on="n0"))
    assert (seen.ties and seen.ties.proven) is True
    [told] = seen.doubts
    assert (told.could_change, str(told.why)) == (
        Effect.NOTHING,
        "it adds a proxy to each pod, which is played with 10m cpu",
    )


def test_where_the_namespace_is_not_seen_the_webhook_is_not_played() -> None:
    found = rolled(node("n0", cpu="8"), injector(), worker(pod_spec(cpu="1")))
    [doubt] = found.doubts
    assert doubt.about.startswith("MutatingWebhookConfiguration istio-sidecar-injector")


def test_room_is_made_for_the_proxy_too() -> None:
    """A node with one CPU left, and a new pod of one: as it is written it needs no move, and with a proxy no move helps."""
    items: Items = [node("n0", cpu="2"), worker(pod_spec(cpu="1")), MOVED_WHOLE]
    one = deployment("other", [""], pod_spec(cpu="1"))[0]
    asked = RoomRequest(change=Scenario(manifest=json.dumps(one)))
    plain = make_room(snapshot(*items, INJECTED), asked)
    assert (len(plain.starts), plain.moves, [one.about for one in plain.doubts]) == (1, (), [])
    injected = make_room(snapshot(*items, INJECTED, injector()), asked)
    assert (injected.starts, injected.is_most) == ((), False)
    assert "Istio's sidecar injector" in [one.about for one in injected.doubts]


@pytest.mark.parametrize(("pods", "is_refused"), [("1", True), ("9", False)])
def test_places_whose_pods_a_quota_refuses_are_doubted(pods: str, is_refused: bool) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": {"hard": {"pods": pods}},
    }
    items: Items = [node("n0", cpu="2"), worker(pod_spec(cpu="1")), MOVED_WHOLE, quota]
    asked = RoomRequest(change=Scenario(manifest=json.dumps(deployment("other", [""], pod_spec(cpu="1"))[0])))
    found = make_room(snapshot(*items), asked)
    assert any("exceeded quota: q" in str(one.why) for one in found.doubts) is is_refused
