"""Changes of Argo Rollouts and LeaderWorkerSets beyond those that were recorded: what comes of each was decided by hand from their
controllers' source, before it was asked.

Source: argo-rollouts at 9f8d111d (1.9) `utils/replicaset/canary.go`, `rollout/{canary,bluegreen,replicaset}.go`,
`pkg/apis/rollouts/validation/validation.go`; lws 0.8 `pkg/controllers/leaderworkerset_controller.go`, `pkg/webhooks/leaderworkerset_webhook.go`.
"""

from __future__ import annotations

import copy
import json
from typing import Any
from zlib import crc32

import pytest

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import parse_later
from planner.ground.errors import ChangeError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate
from planner.questions.gate import GateSettings
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.tie_break_sensitivity import PLACEMENTS
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from tests.collection.clusters import whole
from tests.quick import is_quick
from tests.stories.catalogue import _lws, new_lws
from tests.stories.objects import Item, app, gpu_nodes, new_image, of_rollout

ROUTER: Item = {"trafficRouting": {"nginx": {"stableIngress": "i"}}, "stableService": "s", "canaryService": "c"}
DYNAMIC: Item = {**ROUTER, "dynamicStableScale": True}
PAUSE: Item = {"pause": {}}
SHORT: Item = {"pause": {"duration": "10s"}}
NO_SERVICES = "trafficRouting without stableService and canaryService"
DONE, STUCK = Verdict.COMPLETES, Verdict.STUCK


def weight(*percent: int) -> list[Item]:
    return [{"setWeight": one} for one in percent]


def canary(*steps: Item, surge: int | str | None = None, missing: int | str | None = None, **more: Any) -> Item:
    given = {"maxSurge": surge, "maxUnavailable": missing, "steps": list(steps) or None}
    return {"canary": {**{key: one for key, one in given.items() if one is not None}, **more}}


def blue_green(**more: Any) -> Item:
    return {"blueGreen": {"activeService": "a", "previewService": "p", **more}}


def argo(replicas: int, gpus: int, now: Item, /, **spec: Any) -> RolloutResult:
    """So many pods of one GPU, on as many nodes of one GPU; another image is applied, with `spec` over the Rollout's own."""
    items = of_rollout([f"gpu-{one}" for one in range(replicas)], now, gpus=1)
    snapshot, text = whole([*items, *gpu_nodes(gpus)]), json.dumps(new_image(items, "Rollout", **spec))
    found = rollout(snapshot, Scenario(manifest=text, runs=PLACEMENTS, with_remedies=False))
    if is_quick() and crc32(text.encode()) % 4:  # who asks at the other doors is asked of one in four
        return found
    at_gate = gate.answer(snapshot, GateSettings(manifest=text))
    assert at_gate.passes is (found.verdict is DONE)
    assert at_gate.workloads[0].verdict in (found.verdict, DONE), "what isn't read stands beside it"
    said = written(snapshot, items[0], json.loads(text))
    assert said.is_stuck is (found.verdict is STUCK and not spec.get("paused"))  # that one rolls nothing out
    return found


def written(snapshot: Snapshot, before: Item | None, after: Item) -> WebhookReview:
    """What the webhook says of the write."""
    request = {
        "uid": "1", "operation": "UPDATE" if before else "CREATE", "namespace": "ml", "name": "app", "object": after, "oldObject": before,
        "resource": {"group": "argoproj.io", "version": "v1alpha1", "resource": "rollouts"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    return review(snapshot, read_request(body.encode()))


@pytest.mark.parametrize(
    ("replicas", "gpus", "strategy", "verdict"),
    [
        (4, 4, canary(), DONE),  # 25 % of 4 may be missing
        (1, 1, canary(), STUCK),  # 25 % of 1: surge 1, none may be missing
        (1, 1, canary(surge=0, missing=1), DONE),
        (4, 4, canary(*weight(50), PAUSE, surge=1, missing=0), STUCK),
        (4, 5, canary(*weight(50), PAUSE, surge=1, missing=0), DONE),
        (4, 4, canary(*weight(25), SHORT, *weight(50), SHORT, surge=0, missing=1), DONE),
        (12, 12, canary(*weight(20), surge="25%", missing="25%"), STUCK),  # 3 of 13 come closest to 20 %: 10 old ones stay
        (12, 12, canary(*weight(25), surge="25%", missing="25%"), DONE),  # 3 of 12 are 25 %
        (4, 4, canary(*weight(50), **ROUTER), STUCK),
        (4, 5, canary(*weight(50), **ROUTER), STUCK),  # two on top of four
        (4, 7, canary(*weight(50), **ROUTER), STUCK),  # four on top of four at the end
        (4, 8, canary(*weight(50), **ROUTER), DONE),
        (4, 5, canary(*weight(25, 50, 75), **DYNAMIC), DONE),
        (4, 4, canary(*weight(25, 50, 75), **DYNAMIC), STUCK),
        (4, 5, canary(*weight(50), **DYNAMIC), STUCK),
        (4, 6, canary(*weight(50), **DYNAMIC), DONE),
        (4, 7, canary(**DYNAMIC), STUCK),  # no steps: all at once
        (4, 8, canary(**DYNAMIC), DONE),
        (2, 3, canary({"setCanaryScale": {"replicas": 1}}, PAUSE, **ROUTER), STUCK),
        (2, 4, canary({"setCanaryScale": {"replicas": 1}}, PAUSE, **ROUTER), DONE),
        (2, 3, canary({"setCanaryScale": {"weight": 100}}, *weight(10), PAUSE, **ROUTER), STUCK),
        (4, 5, canary(*weight(5), PAUSE, minPodsPerReplicaSet=2, **ROUTER), STUCK),
        (2, 3, canary({"analysis": {"templates": [{"templateName": "x"}]}}, surge=1, missing=0), DONE),
        (2, 2, blue_green(), STUCK),
        (2, 2, blue_green(maxUnavailable=1), STUCK),
        (2, 4, blue_green(), DONE),
        (2, 3, blue_green(previewReplicaCount=1), STUCK),  # the preview fits, the promotion doesn't
        (2, 4, blue_green(previewReplicaCount=1), DONE),
        (2, 3, blue_green(autoPromotionEnabled=False), STUCK),
        (2, 4, blue_green(autoPromotionEnabled=False), DONE),
        (2, 4, blue_green(scaleDownDelaySeconds=600, autoPromotionSeconds=60), DONE),
    ],
)  # fmt: skip
def test_a_rollout_of_argos(replicas: int, gpus: int, strategy: Item, verdict: Verdict) -> None:
    found = argo(replicas, gpus, strategy)
    assert found.verdict is verdict, found.sentence


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        (canary({"setCanaryScale": {"replicas": 1}}), "setCanaryScale without trafficRouting"),
        (canary(dynamicStableScale=True), "dynamicStableScale without trafficRouting"),
        (canary(scaleDownDelaySeconds=10), "scaleDownDelaySeconds without trafficRouting"),
        (canary(scaleDownDelaySeconds=10, **DYNAMIC), "dynamicStableScale with scaleDownDelaySeconds"),
        (canary(surge=0, missing="0%"), "maxSurge and maxUnavailable are both 0"),
        (canary(*weight(150)), "setWeight 150"),
        (canary({"setWeight": 10, "pause": {}}), "step 1 says several things (setWeight, pause)"),
        ({**canary(), **blue_green()}, "both canary and blueGreen"),
        (blue_green(previewService="a"), "activeService and previewService are the same"),
        (canary(stableService="s", canaryService="s"), "stableService and canaryService are the same"),
        (canary(trafficRouting={"nginx": {}}), NO_SERVICES),
        (canary(trafficRouting={"nginx": {}}, stableService="s"), NO_SERVICES),
        (canary(trafficRouting={"istio": {"virtualService": {}}}), NO_SERVICES),
        (canary(trafficRouting={"alb": {}}, canaryService="c"), NO_SERVICES),
    ],
)  # fmt: skip
def test_what_argo_rollouts_refuses_is_not_known(strategy: Item, said: str) -> None:
    """The API server takes it, its controller does nothing about it."""
    found = argo(2, 8, strategy)
    assert found.verdict is Verdict.UNKNOWN
    assert f"rolls nothing out (InvalidSpec): {said}" in str(found.sentence)
    assert found.ties is None or not found.ties.proven
    new = new_image(of_rollout(["gpu-0"], strategy, gpus=1), "Rollout")
    with pytest.raises(NotKnownError, match="InvalidSpec"):  # of a new one it makes no pods either
        rollout(whole(gpu_nodes(8)), Scenario(manifest=json.dumps(new)))
    assert gate.answer(whole(gpu_nodes(8)), GateSettings(manifest=json.dumps(new))).exit_status == ExitStatus.NOT_KNOWN
    assert written(whole(gpu_nodes(8)), None, new).silence is Silence.NOT_KNOWN


@pytest.mark.parametrize(
    "routing",
    [
        {"istio": {"destinationRule": {"name": "d"}}},
        {"plugins": {"argoproj-labs/gatewayAPI": {}}},
        {"managedRoutes": [{"name": "m"}]},
    ],
)
def test_routers_that_need_no_services(routing: Item) -> None:
    """`requireCanaryStableServices`."""
    assert argo(2, 4, canary(*weight(50), trafficRouting=routing)).verdict is DONE


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"restartAt": "2026-01-01T00:00:00Z"}, "restartAt"),
        ({"rollbackWindow": {"revisions": 3}}, "rollbackWindow"),  # back to a late revision its steps are passed over
        ({"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}, "workloadRef"),
        ({"strategy": canary(antiAffinity={"requiredDuringSchedulingIgnoredDuringExecution": {}})}, "antiAffinity"),
        ({"strategy": canary({"experiment": {"templates": []}})}, "a step (experiment)"),
    ],
)
def test_what_is_not_modelled_of_argos_is_named(spec: Item, said: str) -> None:
    found = argo(2, 8, canary(), **spec)
    assert found.verdict is Verdict.UNKNOWN
    assert said in str(found.sentence)


def test_one_that_is_paused_by_hand_rolls_nothing_out() -> None:
    assert argo(2, 8, canary(), paused=True).verdict is STUCK


# ── midway: another image has begun ──────────────────────────────────────────────────────────────────────────────────
def midway(
    old: int, new: int, replicas: int, now: Item, deadline: bool = False, **status: Any
) -> tuple[list[Item], Item]:
    """A Rollout with so many pods of its stable revision and of the next, each on a node; and its stable template."""
    made_of = of_rollout([f"gpu-{place}" for place in range(old)], now, gpus=1)
    given, replica_set, *pods = (copy.deepcopy(one) for one in made_of)  # they share their templates
    back = copy.deepcopy(given["spec"]["template"])
    given["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    given["spec"]["replicas"] = replicas
    begun = copy.deepcopy(replica_set)
    begun["metadata"] |= {"name": "app-2", "uid": "app-2"}
    begun["spec"]["replicas"] = new
    begun["status"] = {"replicas": new, "readyReplicas": new, "availableReplicas": new}
    made = [copy.deepcopy(pods[0]) for _ in range(new)]
    for place, pod in enumerate(made):
        pod["metadata"] |= {"name": f"new-{place}", "uid": f"new-{place}"}
        pod["metadata"]["ownerReferences"][0] |= {"name": "app-2", "uid": "app-2"}
        pod["spec"]["nodeName"] = f"gpu-{old + place}"
    of_new = [begun["spec"]["template"], *made]
    for one in of_new:
        one["spec"]["containers"][0]["image"] = "app:2"
    labels = (begun["metadata"], *(one["metadata"] for one in of_new))
    for one in (*(each["labels"] for each in labels), begun["spec"]["selector"]["matchLabels"]):
        one["rollouts-pod-template-hash"] = "2"
    if deadline:
        replica_set["metadata"].setdefault("annotations", {})["scale-down-deadline"] = "2026-11-25T00:00:00Z"
    for one in (replica_set, begun):
        one["metadata"].setdefault("annotations", {})["rollout.argoproj.io/desired-replicas"] = str(replicas)
    given["status"] |= {"currentPodHash": "2", "currentStepIndex": 0, **status}
    return [given, replica_set, begun, *pods, *made], back


SERVICES: Item = {"activeSelector": "1", "previewSelector": "2"}
BY_HAND = blue_green(autoPromotionEnabled=False)
HALF = canary(*weight(50), PAUSE, surge=1, missing=0)


@pytest.mark.parametrize(
    ("old", "new", "replicas", "gpus", "strategy", "verdict"),
    [
        (2, 2, 2, 4, BY_HAND, DONE),  # the stable set is whole: the service stays with it
        (2, 2, 4, 4, HALF, STUCK),  # one more of the stable set first, and none may be missing
        (2, 2, 4, 5, HALF, DONE),
        (2, 2, 4, 4, canary(*weight(50), PAUSE, surge=0, missing=1), DONE),
        (4, 2, 4, 6, canary(*weight(50), PAUSE, **ROUTER), DONE),  # nothing of the stable set went
    ],
)
def test_a_template_that_is_set_back_midway(
    old: int, new: int, replicas: int, gpus: int, strategy: Item, verdict: Verdict
) -> None:
    """`kubectl argo rollouts undo`, as a plain patch and as the manifest applied anew."""
    items, back = midway(old, new, replicas, strategy, blueGreen=SERVICES)
    snapshot = whole([*items, *gpu_nodes(gpus)])
    text = json.dumps({**items[0], "spec": {**items[0]["spec"], "template": back}})
    applied = rollout(snapshot, Scenario(manifest=text))
    assert applied.verdict is verdict, applied.sentence
    patch = WorkloadChange(
        workload="Rollout/ml/app", patch=json.dumps({"spec": {"template": back}}), new_revision=False
    )
    assert rollout(snapshot, Scenario(changes=(patch,))).verdict is verdict
    assert gate.answer(snapshot, GateSettings(manifest=text)).passes is (verdict is DONE)
    assert written(snapshot, items[0], json.loads(text)).is_stuck is (verdict is STUCK)


@pytest.mark.parametrize("status", [{"abort": True}, {"promoteFull": True}, {"pauseConditions": []}])
def test_a_patch_of_the_status_is_not_known(status: Item) -> None:
    """With `--subresource=status` the controller acts on it; a manifest that is applied leaves the status alone."""
    items, _ = midway(2, 2, 2, BY_HAND, blueGreen=SERVICES)
    snapshot = whole([*items, *gpu_nodes(4)])
    patch = WorkloadChange(workload="Rollout/ml/app", patch=json.dumps({"status": status}), new_revision=False)
    found = rollout(snapshot, Scenario(changes=(patch,)))
    assert found.verdict is Verdict.UNKNOWN
    assert "status of Rollout/ml/app may change its pods" in str(found.sentence)
    applied = {**items[0], "status": {**items[0]["status"], **status}}
    assert gate.answer(snapshot, GateSettings(manifest=json.dumps(applied))).passes


@pytest.mark.parametrize(
    ("strategy", "verdict"),
    [
        (blue_green(), DONE),  # the preview goes after abortScaleDownDelaySeconds, 30 s
        (blue_green(abortScaleDownDelaySeconds=600), DONE),
        (blue_green(abortScaleDownDelaySeconds=0), STUCK),  # it stays for good
        (canary(*weight(50), PAUSE, **ROUTER), DONE),
        (canary(*weight(50), PAUSE, abortScaleDownDelaySeconds=0, **ROUTER), STUCK),
        (canary(*weight(50), PAUSE), DONE),
    ],
)
def test_what_an_aborted_one_gives_back(strategy: Item, verdict: Verdict) -> None:
    """Beside it two pods wait for the GPUs that its new revision holds."""
    paused = [{"reason": "BlueGreenPause", "startTime": "2026-11-25T00:00:00Z"}]
    items, _ = midway(2, 2, 2, strategy, blueGreen=SERVICES, abort=True, pauseConditions=paused)
    other = app(["gpu-0"] * 2, name="other", gpus=1)[0]
    text = json.dumps(other)
    snapshot = whole([*items, *gpu_nodes(4)])
    found = rollout(snapshot, Scenario(manifest=text))
    assert found.verdict is verdict, found.sentence
    assert gate.answer(snapshot, GateSettings(manifest=text)).passes is (verdict is DONE)


@pytest.mark.parametrize(
    ("gpus", "strategy", "verdict"),
    [
        (4, blue_green(scaleDownDelaySeconds=600), DONE),  # the third waits until the first is gone
        (4, blue_green(scaleDownDelaySeconds=600, autoPromotionEnabled=False, previewReplicaCount=1), DONE),
        (4, canary(*weight(50), scaleDownDelaySeconds=600, **ROUTER), DONE),
        (6, canary(*weight(50), scaleDownDelaySeconds=600, **ROUTER), DONE),
        (5, blue_green(scaleDownDelaySeconds=600), STUCK),  # three replicas twice
        (5, canary(*weight(50), scaleDownDelaySeconds=600, **ROUTER), STUCK),
    ],
)
def test_a_second_change_while_the_first_set_waits_to_go(gpus: int, strategy: Item, verdict: Verdict) -> None:
    """`scaleDownDelaySeconds`: the set before is still there when the next change comes."""
    items, _ = midway(
        2, 2, 2, strategy, deadline=True, stableRS="2", blueGreen={"activeSelector": "2"}, currentStepIndex=1
    )
    third = copy.deepcopy(items[0])
    third["spec"]["template"]["spec"]["containers"][0]["image"] = "app:3"
    third["spec"]["replicas"] = 3 if gpus == 5 else 2
    snapshot = whole([*items, *gpu_nodes(gpus)])
    found = rollout(snapshot, Scenario(manifest=json.dumps(third)))
    assert found.verdict is verdict, found.sentence
    assert gate.answer(snapshot, GateSettings(manifest=json.dumps(third))).passes is (verdict is DONE)
    assert written(snapshot, items[0], third).is_stuck is (verdict is STUCK)


@pytest.mark.parametrize(
    ("least", "most", "gpus", "verdict"), [(3, 3, 3, DONE), (3, 3, 2, STUCK), (1, 1, 2, DONE), (1, 4, 2, None)]
)
@pytest.mark.parametrize("strategy", [canary(), blue_green()])
def test_the_bounds_of_an_autoscaler(least: int, most: int, gpus: int, verdict: Verdict | None, strategy: Item) -> None:
    """Through the scale subresource, at once; what its metrics do between them takes the proof away."""
    scaler = {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"namespace": "ml", "name": "app"},
        "spec": {"scaleTargetRef": {"kind": "Rollout", "name": "app"}, "minReplicas": least, "maxReplicas": most},
    }  # fmt: skip
    items = of_rollout(["gpu-0", "gpu-1"], strategy, gpus=1)
    snapshot = whole([*items, *gpu_nodes(gpus)])
    if verdict is not None:
        found = rollout(snapshot, Scenario(manifest=json.dumps(scaler)))
        assert (found.verdict, found.workloads[0].replicas) == (verdict, least)
        assert gate.answer(snapshot, GateSettings(manifest=json.dumps(scaler))).passes is (verdict is DONE)
        request = {
            "uid": "1", "operation": "CREATE", "namespace": "ml", "name": "app", "object": scaler,
            "resource": {"group": "autoscaling", "version": "v2", "resource": "horizontalpodautoscalers"},
        }  # fmt: skip
        body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
        assert review(snapshot, read_request(body.encode())).is_stuck is (verdict is STUCK)
    changed = rollout(
        whole([*items, scaler, *gpu_nodes(8)]), Scenario(manifest=json.dumps(new_image(items, "Rollout")))
    )
    assert changed.verdict is DONE
    assert changed.ties is not None
    assert not changed.ties.proven
    assert ("may set 1 to 4 replicas meanwhile" in str(changed.ties.sentence)) is (least < most)


# ── LeaderWorkerSets: groups of pods of 8 GPUs, on nodes of 8 ────────────────────────────────────────────────────────
def groups(
    count: int, surge: int | str, missing: int, each: int, nodes: int, kept: Item | None = None, **new: Any
) -> Any:
    """`kept`: of its leaderWorkerTemplate, before and after; `new`: what the applied one says: size, partition, replicas or of its template."""
    items = _lws(count, surge, missing, each)  # type: ignore[arg-type]
    template = items[0]["spec"]["leaderWorkerTemplate"]
    template |= kept or {}
    given = copy.deepcopy(new_lws(items))
    rolling = given["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
    for name, one in new.items():
        place = (
            rolling
            if name in rolling
            else given["spec"]
            if name in given["spec"]
            else given["spec"]["leaderWorkerTemplate"]
        )
        place[name] = one
    return rollout(whole([*items, *gpu_nodes(nodes, 8)]), Scenario(manifest=json.dumps(given)))


@pytest.mark.parametrize(
    ("count", "surge", "missing", "size", "nodes", "new", "verdict"),
    [
        (1, 1, 0, 2, 8, {}, STUCK),  # the surge is given back before it is made
        (2, 1, 1, 2, 4, {}, STUCK),  # surge groups come first
        (2, 0, 1, 2, 4, {}, DONE),
        (2, 0, 2, 2, 4, {}, DONE),
        (2, 1, 0, 2, 4, {}, STUCK),
        (2, 1, 0, 2, 6, {}, DONE),
        (4, "50%", 0, 2, 8, {}, STUCK),
        (2, 0, 1, 2, 4, {"partition": 2}, DONE),  # none is replaced
        (2, 0, 1, 2, 4, {"partition": 1}, DONE),
        (2, 1, 0, 2, 4, {"partition": 1}, STUCK),
        (2, 0, 1, 2, 6, {"size": 3}, DONE),
        (2, 0, 1, 3, 6, {"size": 2}, DONE),
        (2, 0, 1, 2, 4, {"replicas": 3}, STUCK),
        (2, 0, 1, 2, 6, {"replicas": 3}, DONE),
        (3, 0, 1, 2, 6, {"replicas": 2}, DONE),
        (2, 0, 1, 2, 4, {"startupPolicy": "LeaderReady"}, DONE),
        (2, 0, 1, 2, 4, {"restartPolicy": "None"}, DONE),
    ],
)
def test_a_leader_worker_set(
    count: int, surge: int | str, missing: int, size: int, nodes: int, new: Item, verdict: Verdict
) -> None:
    found = groups(count, surge, missing, size, nodes, **new)
    assert found.verdict is verdict, found.sentence
    assert "wait" not in str(found.sentence) or verdict is STUCK


@pytest.mark.parametrize(
    ("policy", "is_whole", "lowest"),
    [
        ("RecreateGroupOnPodRestart", False, 0), ("RecreateGroupOnPodRestart", True, 0),
        ("RecreateGroupAfterStart", False, 1), ("RecreateGroupAfterStart", True, 0),
        ("None", False, 1), ("None", True, 2),
    ],
)  # fmt: skip
def test_a_group_with_a_pending_pod_is_begun_anew_by_its_restart_policy(
    policy: str, is_whole: bool, lowest: int
) -> None:
    """A worker of three pods is drained: RecreateGroupAfterStart takes the leader along only where no pod is Pending."""
    items = _lws(1, 0, 1, 3)
    items[0]["spec"]["leaderWorkerTemplate"]["restartPolicy"] = policy
    if not is_whole:
        last = [item for item in items if item["kind"] == "Pod"][-1]
        del last["spec"]["nodeName"]
        last["status"] = {"phase": "Pending"}
    given = copy.deepcopy(new_lws(items))
    given["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"] = 1  # no group is replaced
    beside = LaterEvents(later=parse_later("10s:drain:gpu-1"), manifests=())
    cluster = whole([*items, *gpu_nodes(4 if is_whole else 2, 8)])
    found = rollout(cluster, Scenario(manifest=json.dumps(given)), beside=beside)
    assert found.workloads[0].lowest_ready == lowest


def test_workers_that_wait_though_it_is_called_available_are_told() -> None:
    """0.8's `StatefulsetReady` counts pods that are made: of two groups of three on four nodes one pod of each waits."""
    found = groups(2, 0, 1, 2, 4, size=3)
    assert found.verdict is DONE
    assert "2 pods of its groups wait for a node all the same: LeaderWorkerSet asks for them since 0.9" in str(
        found.sentence
    )


@pytest.mark.parametrize(("second", "is_known"), [("1", True), ("2", False)])
def test_groups_of_two_revisions_hide_whether_a_change_goes_back(second: str, is_known: bool) -> None:
    """Source: lws 0.8 `pkg/utils/revision/revision_utils.go` `EqualRevision`: a group of that revision stays as it is."""
    items = _lws(2, 0, 1)
    for item in items[1:]:
        if item["metadata"]["name"].startswith("app-1"):
            item["metadata"]["labels"] = {
                **item["metadata"]["labels"],
                "leaderworkerset.sigs.k8s.io/template-revision-hash": second,
            }
    found = rollout(
        whole([*items, *gpu_nodes(8, 8)]),
        Scenario(manifest=json.dumps(new_lws(items)), runs=PLACEMENTS, with_remedies=False),
    )
    assert (found.verdict is not Verdict.UNKNOWN) is is_known
    assert ("its groups are of 2 revisions" in str(found.sentence)) is not is_known


def test_what_its_webhook_refuses_is_refused() -> None:
    kept = {"subGroupPolicy": {"subGroupSize": 2}}
    assert groups(2, 0, 1, 4, 8, kept).verdict is DONE
    for before, after in ((None, 2), (kept, 4)):
        with pytest.raises(ChangeError, match=r"subGroupPolicy\.subGroupSize can't be changed"):
            groups(2, 0, 1, 4, 8, before, subGroupPolicy={"subGroupSize": after})
    with pytest.raises(ChangeError, match="maxSurge is 150%"):
        groups(2, 0, 1, 2, 8, maxSurge="150%")
    with pytest.raises(ChangeError, match="both 0"):
        groups(2, 0, 1, 2, 8, maxUnavailable=0)


def test_exclusive_topology_is_played_of_one_that_is_there() -> None:
    items = _lws(2, 0, 1)
    items[0]["metadata"]["annotations"] = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}
    given = new_lws(items)
    given["metadata"]["annotations"] = items[0]["metadata"]["annotations"]
    found = rollout(whole([*items, *gpu_nodes(8, 8)]), Scenario(manifest=json.dumps(given)))
    assert found.verdict is STUCK, "no node has a label rack"
    nodes = gpu_nodes(8, 8)
    for number, one in enumerate(nodes):
        one["metadata"]["labels"]["rack"] = f"r{number // 4}"
    assert rollout(whole([*items, *nodes]), Scenario(manifest=json.dumps(given))).verdict is not Verdict.UNKNOWN
