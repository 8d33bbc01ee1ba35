"""Other versions of Kubernetes than the recorded: what is said once, and what isn't known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from planner.capacity.rollout_readiness import overview
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.kubernetes.feature_gates import (
    CHANGES,
    FIRST,
    GATES,
    LAST,
    RECORDED,
    Becomes,
    Gate,
    minor_of,
    not_recorded,
)
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.questions.gate import GateSettings
from planner.questions.gate import answer as gated
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import rolling, stateful_set

KEY = "Deployment/ml/worker"
NAMED = {one.name: one for one in GATES}
SIDECAR = {"name": "proxy", "image": "registry.example/proxy:1", "restartPolicy": "Always"}
KEYS = {
    "labelSelector": {"matchLabels": {"app": "worker"}},
    "topologyKey": "kubernetes.io/hostname",
    "matchLabelKeys": ["pod-template-hash"],
}
GUARDED: dict[str, Item] = {
    "SidecarContainers": {"initContainers": [SIDECAR]},
    "PodLevelResources": {"resources": {"requests": {"cpu": "2", "memory": "2Gi"}}},
    "MatchLabelKeysInPodAffinity": {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [KEYS]}}
    },
    "TaintTolerationComparisonOperators": {
        "tolerations": [{"key": "slo", "operator": "Gt", "value": "950", "effect": "NoSchedule"}]
    },
    "DynamicResourceAllocation": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]},
}


def cluster(kubelet: str, *items: Item, spec: Item | None = None) -> Snapshot:
    one = node("n-0")
    if kubelet:
        one["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    worker = deployment("worker", ["n-0"], spec or pod_spec(), strategy=rolling(1, 0))
    return snapshot(one, *worker, *items)


def played(found: Snapshot, spec: Item | None = None, key: str = KEY, **spec_of_set: Any) -> Any:
    patch = {"spec": {**spec_of_set, "template": {"metadata": {"labels": {"rev": "two"}}, "spec": spec or {}}}}
    return rollout(found, Scenario(changes=(WorkloadChange(workload=key, patch=json.dumps(patch)),)))


def said(found: Any) -> list[str]:
    return [one.what for one in found.findings if one.code == "version-not-recorded"]


@pytest.mark.parametrize(
    ("kubelet", "words"),
    [
        ("", ""),
        ("v1.36.2-gke.1208000", ""),
        ("v1.33.4", "Its nodes run Kubernetes 1.33: answers are by documentation, not recorded (1.36 is)"),
        ("v1.38.0", "Its nodes run Kubernetes 1.38: answers are by documentation, not recorded (1.36 is)"),
    ],
)
def test_a_version_that_is_not_the_recorded_one_is_said_once(kubelet: str, words: str) -> None:
    found = cluster(kubelet)
    assert not_recorded(found) == words
    assert said(played(found)) == ([words] if words else [])
    assert str(overview(found).sentence).count("by documentation") == bool(words)
    manifest = next(one for one in deployment("worker", ["n-0"], pod_spec(cpu="2")) if one["kind"] == "Deployment")

    answer = gated(found, GateSettings(manifest=json.dumps(manifest), namespace="ml"))
    assert said(answer) == ([words] if words else [])


def test_the_newest_kubelet_counts() -> None:
    old, new = node("n-0"), node("n-1")
    old["status"]["nodeInfo"], new["status"]["nodeInfo"] = {"kubeletVersion": "v1.33.9"}, {"kubeletVersion": "v1.34.1"}
    assert minor_of(snapshot(old, new, node("n-2"))) == 34


def _cases() -> Iterator[tuple[Gate, int]]:
    for name in GUARDED:
        since = NAMED[name].on_since or LAST + 1
        for minor in sorted({FIRST, since - 1, since, LAST} & {*range(FIRST, LAST + 1)}):
            yield NAMED[name], minor


@pytest.mark.parametrize(
    ("gate", "minor"), list(_cases()), ids=lambda one: one.name if isinstance(one, Gate) else str(one)
)
def test_what_hangs_on_a_gate_that_is_off_is_not_known(gate: Gate, minor: int) -> None:
    answer = played(cluster(f"v1.{minor}.1"), GUARDED[gate.name])
    doubts = [one.what for one in answer.findings if f"feature gate {gate.name} " in one.what]
    assert bool(doubts) is not gate.is_on(minor)
    if doubts:
        assert answer.verdict is Verdict.UNKNOWN
        assert f"off by default in 1.{minor}" in doubts[0]


@pytest.mark.parametrize("name", GUARDED)
def test_a_pod_that_has_the_field_shows_the_gate_to_be_on(name: str) -> None:
    found = cluster("v1.28.0", spec=pod_spec(**GUARDED[name]))
    told = [one.what for one in played(found).findings]
    assert not_recorded(found) in told
    assert not any(f"feature gate {name} " in one for one in told)


@pytest.mark.parametrize(("minor", "is_known"), [(30, True), (34, True), (35, False), (36, True), (37, False)])
def test_max_unavailable_of_a_stateful_set(minor: int, is_known: bool) -> None:
    """kubernetes#137904: on from 1.35.0 to 1.35.3, off until 1.37, whose rules (kubernetes#137666) aren't recorded."""
    found = cluster(f"v1.{minor}.2", *stateful_set("db", ["n-0"] * 3, pod_spec()))
    asked = {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}
    answer = played(found, key="StatefulSet/ml/db", **asked)
    assert (answer.verdict is Verdict.COMPLETES) is is_known
    assert any("MaxUnavailableStatefulSet" in one.what and "depends on the release" in one.what for one in answer.findings) is not is_known  # fmt: skip


def test_a_gang_is_not_known_in_any_version() -> None:
    for minor in (RECORDED, LAST):
        answer = played(cluster(f"v1.{minor}.0"), {"schedulingGroup": {"podGroupName": "gang"}})
        assert answer.verdict is Verdict.UNKNOWN


def test_states_of_gates_by_version() -> None:
    """kubernetes `pkg/features/kube_features.go`, read once by hand for these."""
    assert [NAMED["SidecarContainers"].state(minor) for minor in (28, 29)] == ["off", "on"]
    assert [NAMED["DRAConsumableCapacity"].state(minor) for minor in (33, 34, 35, 36)] == ["-", "off", "off", "on"]
    assert [NAMED["MaxUnavailableStatefulSet"].state(minor) for minor in (34, 35, 36, 37)] == ["off", "on or off", "off", "on"]  # fmt: skip
    assert NAMED["GenericWorkload"].state(37) == "off"
    assert [NAMED["MemoryQoS"].state(minor) for minor in (21, 36, 37)] == ["-", "off", "on"]
    assert [NAMED["PodLevelResources"].state(minor) for minor in (31, 32, 33, 34)] == ["-", "off", "off", "on"]


@pytest.mark.parametrize(("minor", "is_named"), [(33, False), (36, False), (37, True), (38, True)])
def test_nothing_is_proven_of_a_version_after_the_recorded(minor: int, is_named: bool) -> None:
    """At the gate too, in text: what takes the word away is named."""
    full = ("ResourceQuota", "LimitRange", "PriorityClass", "Job", "CronJob")
    seen = cluster(f"v1.{minor}.0")
    found = replace(seen, presence=FrozenMap({**seen.presence, **dict.fromkeys(full, Presence.PRESENT)}))
    answer = played(found)
    named = [one for one in answer.doubts if one.about == f"Kubernetes 1.{minor}"]
    assert bool(named) is is_named
    assert answer.ties is not None
    assert answer.ties.proven is not is_named
    manifest = next(one for one in deployment("worker", ["n-0"], pod_spec(cpu="2")) if one["kind"] == "Deployment")
    at_gate = gated(found, GateSettings(manifest=json.dumps(manifest), namespace="ml"))
    assert (
        any(f"nothing of Kubernetes 1.{minor} is recorded" in str(one.sentence) for one in at_gate.doubts) is is_named
    )


def test_every_change_of_a_newer_version_says_what_becomes_of_it() -> None:
    assert {one.minor for one in CHANGES} == {LAST}
    assert {one.part for one in CHANGES} == {"scheduler", "controllers", "kubelet"}
    assert {one.becomes for one in CHANGES} == set(Becomes)
    assert all(one.source and one.why for one in CHANGES)
    gates = {name for one in CHANGES for name in re.findall(r"\b[A-Z]\w+(?=:)", one.change)} & NAMED.keys()
    assert gates == {"GenericWorkload", "MaxUnavailableStatefulSet"}
    for name in gates:  # what the gates' table says of 1.37 and what the changes' says agree
        [row] = [one for one in CHANGES if f"{name}:" in one.change]
        assert ("on)" in row.change) is NAMED[name].is_on(LAST)
