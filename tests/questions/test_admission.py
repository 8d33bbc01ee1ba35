"""What is said of a write at admission: recorded reviews, and every reason for silence."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.well_known_names import WARNINGS_SWITCH
from planner.ground.words import NO_WORDS
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.rollout.answers import Reason, Verdict
from planner.rollout.rollout_summary import OwnRollout
from planner.serve.admission_review import (
    _STUCK,
    Silence,
    WebhookReview,
    _of_earlier,
    _ReviewText,
    _warning,
    read_request,
    review,
)
from planner.serve.request_limits import LIMITS
from tests.architecture.tree import ROOT
from tests.builders.objects import deployment, node, pod, pod_spec, snapshot

RECORDED = json.loads((ROOT / "tests/serve/recordings/admission.json").read_text())
STEPS = {step["name"]: step["reviews"][0]["body"] for step in RECORDED["steps"]}
SERVE = pod_spec(gpus=1, cpu="3", memory="6Gi")  # what the recorded client applies
FULL = snapshot(node("gpu-0", pool="gpu", gpus=1), deployment("serve", ["gpu-0"], SERVE))
ROOM = snapshot(*(node(f"gpu-{i}", gpus=2) for i in range(4)), deployment("serve", ["gpu-0"], SERVE))
WITHOUT = snapshot(node("gpu-0", pool="gpu", gpus=1), deployment("other", ["gpu-0"], SERVE))


def asked(name: str, of: Snapshot, **changes: Any) -> WebhookReview:
    """The recorded review `name`, with `changes` to its request."""
    body = copy.deepcopy(STEPS[name])
    body["request"] |= changes
    return review(of, read_request(json.dumps(body).encode()))


@pytest.mark.parametrize("name", ["patch-image", "patch-dry-run", "server-side-apply", "restart", "scale"])
def test_what_rolls_is_warned_of_where_there_is_no_room(name: str) -> None:
    found = asked(name, FULL)
    assert found.workload == "Deployment/ml/serve"
    assert found.warning.startswith("headroom: this rollout would be stuck: the ")
    assert "pod needs 1 nvidia.com/gpu on a node of pool gpu" in found.warning
    assert len(found.warning) <= LIMITS.warning_characters
    assert asked(name, ROOM) == WebhookReview(workload="Deployment/ml/serve", silence=Silence.COMPLETES)


@pytest.mark.parametrize(("resource", "said"), [("pods", True), ("services", False)])
def test_a_webhook_that_may_change_its_pods_is_said_beside_what_is_stuck(resource: str, said: bool) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    hook = {"name": "adder.example.com", "rules": [rule]}
    adder = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "adder"},
        "webhooks": [hook],
    }  # fmt: skip
    full = snapshot(node("gpu-0", pool="gpu", gpus=1), deployment("serve", ["gpu-0"], SERVE), adder)
    warning = asked("patch-image", full).warning
    assert warning.startswith("headroom: this rollout would be stuck")
    assert ("but webhooks may decide otherwise" in warning) is said


@pytest.mark.parametrize("name", ["patch-image", "restart"])
def test_what_kueue_admits_is_not_known(name: str) -> None:
    written = copy.deepcopy(STEPS[name]["request"]["object"])
    written["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "team"
    assert asked(name, FULL, object=written).silence is Silence.NOT_KNOWN


def test_the_way_out_is_in_it() -> None:
    assert asked("patch-image", FULL).warning.endswith("; maxSurge 0, maxUnavailable 1 completes")
    assert asked("scale", FULL).warning.endswith("; way out: 2 more nodes in gpu")


@pytest.mark.parametrize(
    ("name", "kind"), [("create", "Deployment/ml/serve"), ("create-statefulset", "StatefulSet/ml/sts")]
)
def test_what_is_new_is_warned_of(name: str, kind: str) -> None:
    found = asked(name, WITHOUT)
    assert (found.workload, found.silence) == (kind, None)
    assert "no nvidia.com/gpu is free on any of them" in found.warning
    assert (
        asked(name, snapshot(node("gpu-0", gpus=1), pod("else", pod_spec(), on="gpu-0"))).silence is Silence.COMPLETES
    )


def test_labels_move_nothing() -> None:
    assert asked("labels-only", FULL).silence is Silence.NO_ROLLOUT


def test_status_other_kinds_and_deletions_are_none_of_it() -> None:
    for changes in (
        {"subResource": "status"}, {"operation": "DELETE"}, {"operation": "CONNECT"}, {"namespace": ""},
        {"resource": {"group": "apps", "version": "v1", "resource": "replicasets"}},
        {"resource": {"group": "example.com", "version": "v1", "resource": "deployments"}},
    ):  # fmt: skip
        assert asked("patch-image", FULL, **changes) == WebhookReview(silence=Silence.NO_ROLLOUT), changes


def test_scaling_down_is_no_trouble() -> None:
    down = copy.deepcopy(STEPS["scale"]["request"])
    down["object"]["spec"]["replicas"] = 0
    assert asked("scale", FULL, object=down["object"]).silence is Silence.COMPLETES
    assert asked("scale", FULL, object=down["oldObject"]).silence is Silence.NO_ROLLOUT


def test_the_annotation_switches_it_off() -> None:
    written = copy.deepcopy(STEPS["patch-image"]["request"]["object"])
    written["metadata"]["annotations"][WARNINGS_SWITCH] = "off"
    assert asked("patch-image", FULL, object=written).silence is Silence.SWITCHED_OFF
    written["metadata"]["annotations"][WARNINGS_SWITCH] = "on"
    assert asked("patch-image", FULL, object=written).warning
    (serve,) = FULL.workloads  # a Scale doesn't carry it: the snapshot keeps it
    kept = replace(serve, annotations=FrozenMap({WARNINGS_SWITCH: "off"}))
    assert asked("scale", replace(FULL, workloads=(kept,))).silence is Silence.SWITCHED_OFF


def test_a_snapshot_keeps_the_annotation() -> None:
    one = deployment("serve", ["gpu-0"], SERVE)
    one[0]["metadata"] = {**one[0]["metadata"], "annotations": {WARNINGS_SWITCH: "off"}}
    assert asked("scale", snapshot(node("gpu-0", gpus=1), one)).silence is Silence.SWITCHED_OFF


def test_what_the_snapshot_lacks_is_not_known() -> None:
    room = snapshot(node("gpu-0", gpus=9), pod("else", pod_spec(), on="gpu-0"))
    assert asked("patch-image", room).silence is Silence.NOT_KNOWN  # younger than the snapshot: its pods aren't in it
    assert asked("scale", room).silence is Silence.NOT_KNOWN
    assert asked("create", FULL).silence is Silence.NOT_KNOWN  # the snapshot still has one of that name
    for kind in ("Node", "Pod"):
        refused = replace(FULL, presence=FrozenMap({**FULL.presence, kind: Presence.REFUSED}))
        assert asked("patch-image", refused).silence is Silence.NOT_KNOWN


def test_younger_than_the_snapshot_and_stuck_all_the_same() -> None:
    """Without its own old pods it has more room than it will have: stuck even so is stuck."""
    assert "no nvidia.com/gpu is free on any of them" in asked("patch-image", WITHOUT).warning


def test_what_the_api_server_would_refuse_is_not_known() -> None:
    written = copy.deepcopy(STEPS["patch-image"]["request"]["object"])
    written["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "a lot"
    assert asked("patch-image", FULL, object=written).silence is Silence.NOT_KNOWN
    written_oddly: tuple[Any, ...] = (
        None,
        {},
        {"metadata": []},
        {"metadata": {"annotations": 3}, "spec": {"template": 3}},
    )
    for odd in written_oddly:
        assert asked("patch-image", FULL, object=odd).silence in (Silence.NOT_KNOWN, Silence.NO_ROLLOUT)


def test_time_up_is_silence() -> None:
    body = json.dumps(STEPS["scale"]).encode()
    crowd = snapshot(*(node(f"gpu-{i}", gpus=1) for i in range(60)), deployment("serve", ["gpu-0"], SERVE))
    big = json.loads(body)
    big["request"]["object"]["spec"]["replicas"] = 400
    found = review(crowd, read_request(json.dumps(big).encode()), is_wanted=lambda: False)
    assert found.silence is Silence.TIME_UP


def test_a_pool_that_may_grow_is_no_trouble() -> None:
    pools = growable_pools(FULL, parse_typed_limits("gpu=3"))
    request = read_request(json.dumps(STEPS["patch-image"]).encode())
    assert review(FULL, request, pools).silence is Silence.COMPLETES
    assert review(FULL, request, growable_pools(FULL, parse_typed_limits("gpu=1"))).warning


def test_an_undo_goes_back_to_the_old_pods() -> None:
    """Half-way into a rollout that is stuck, with the old pod still Ready, going back needs no new pod."""
    objects = deployment("serve", ["gpu-0"], SERVE)
    workload, old_set, old_pod = objects
    new = copy.deepcopy(old_set)
    new["metadata"] |= {
        "name": "serve-2",
        "uid": "rs-serve-2",
        "annotations": {"deployment.kubernetes.io/revision": "2"},
    }
    old_set["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
    new["spec"]["selector"] = {"matchLabels": {"app": "serve", "pod-template-hash": "2"}}
    new["spec"]["template"]["metadata"]["labels"] = {"app": "serve", "pod-template-hash": "2"}
    new["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:2"
    waiting = copy.deepcopy(old_pod)
    waiting["metadata"] |= {"name": "serve-2-0", "uid": "p-2", "labels": {"app": "serve", "pod-template-hash": "2"}}
    waiting["metadata"]["ownerReferences"] = [
        {**old_pod["metadata"]["ownerReferences"][0], "name": "serve-2", "uid": "rs-serve-2"}
    ]
    waiting["spec"] = new["spec"]["template"]["spec"]
    waiting["status"] = {"phase": "Pending", "conditions": []}
    now = copy.deepcopy(workload)
    now["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:2"
    half = snapshot(node("gpu-0", pool="gpu", gpus=1), [now, old_set, new, old_pod, waiting])
    assert asked("patch-image", half, object=workload, oldObject=now).silence is Silence.COMPLETES
    again = copy.deepcopy(now)
    again["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:3"
    assert asked("patch-image", half, object=again, oldObject=now).warning


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"kind":"Pod"}', b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
     b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"1"}}',
     b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":1}}', b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_review_is_an_error(body: bytes) -> None:
    with pytest.raises(InputError, match="the request's body"):
        read_request(body)


@pytest.mark.parametrize("replicas", [-1, -(2**63), 2**31, 2**70, 1.5, True, "3", None, [], {}])
def test_a_scale_that_no_api_server_takes_is_silence(replicas: Any) -> None:
    scale = copy.deepcopy(STEPS["scale"]["request"])
    for side in ("object", "oldObject"):
        odd = copy.deepcopy(scale[side])
        odd["spec"]["replicas"] = replicas
        assert asked("scale", FULL, **{side: odd}).silence is Silence.NOT_KNOWN


# ── what was let through a moment ago ────────────────────────────────────────────────────────────────────────────────
def _write(name: str, replicas: int, *, old: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The request for a Deployment of `replicas` pods of one GPU each."""
    labels = {"app": name}
    written = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ml", "generation": 2 if old else 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(gpus=1)},
            **spec,
        },
    }
    resource = {"group": "apps", "version": "v1", "resource": "deployments"}
    operation = {"operation": "UPDATE", "oldObject": old} if old else {"operation": "CREATE"}
    return {"uid": name, "namespace": "ml", "name": name, "resource": resource, "object": written, **operation}


def _reviewed(of: Snapshot, request: dict[str, Any], *earlier: dict[str, Any]) -> WebhookReview:
    first, *others = (
        json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": one}).encode()
        for one in (request, *earlier)
    )
    return review(of, read_request(first), earlier=others)


TWO_FREE = snapshot(node("gpu-0", pool="gpu", gpus=2), pod("else", pod_spec(), on="gpu-0"))


def test_a_write_a_moment_ago_takes_its_room() -> None:
    assert _reviewed(TWO_FREE, _write("second", 1)).silence is Silence.COMPLETES
    assert _reviewed(TWO_FREE, _write("second", 1), _write("first", 1)).silence is Silence.COMPLETES
    assert "would be stuck" in _reviewed(TWO_FREE, _write("second", 1), _write("first", 2)).warning


def test_a_write_that_the_snapshot_shows_is_not_played_again() -> None:
    there = snapshot(node("gpu-0", pool="gpu", gpus=3), deployment("first", ["gpu-0", "gpu-0"], pod_spec(gpus=1)))
    assert _reviewed(there, _write("second", 1), _write("first", 2)).silence is Silence.COMPLETES


@pytest.mark.parametrize(("replicas", "is_stuck"), [(2, False), (3, True)])
def test_an_update_a_moment_ago_takes_its_room_until_the_snapshot_shows_it(replicas: int, is_stuck: bool) -> None:
    items = deployment("first", ["gpu-0"], pod_spec(gpus=1))
    items[0]["metadata"]["generation"] = 1
    there = snapshot(node("gpu-0", pool="gpu", gpus=3), items)
    old = {**(first := _write("first", 1)["object"]), "metadata": {**first["metadata"], "generation": 1}}
    write = _write("first", replicas, old=old)  # of generation 2, as the API server counts
    for _ in range(2):  # what it came to is kept
        assert bool(_reviewed(there, _write("second", 1), write).warning) is is_stuck
    assert _reviewed(there, _write("second", 1)).silence is Silence.COMPLETES
    items[0]["metadata"]["generation"] = 2
    shown = snapshot(node("gpu-0", pool="gpu", gpus=3), items)
    assert _reviewed(shown, _write("second", 1), write).silence is Silence.COMPLETES


def _next(old: dict[str, Any], generation: int, gpus: int = 1, **spec: Any) -> dict[str, Any]:
    """The request for another write of *first*, after `old`."""
    write = _write("first", 1, old=old)
    template = {**old["spec"]["template"], "spec": pod_spec(gpus=gpus)}
    write["object"] = {
        **old,
        "metadata": {**old["metadata"], "generation": generation},
        "spec": {**old["spec"], "template": template, **spec},
    }
    return write


def _scale(old: int, new: int) -> dict[str, Any]:
    one, other = ({"metadata": {"name": "first", "namespace": "ml"}, "spec": {"replicas": n}} for n in (old, new))
    write = {**_write("first", 1, old=one), "subResource": "scale"}
    write["object"] = other
    return write


@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("way", ["written", "scaled"])
def test_what_was_taken_back_a_moment_ago_takes_no_room(way: str, is_back: bool) -> None:
    items = deployment("first", ["gpu-0"], pod_spec(gpus=1))
    items[0]["metadata"]["generation"] = 1
    there = snapshot(node("gpu-0", pool="gpu", gpus=3), items)
    base = _write("first", 1)["object"]
    up = _next(base, 2, replicas=3)
    writes = [up, _next(up["object"], 3, replicas=1)] if way == "written" else [_scale(1, 3), _scale(3, 1)]
    found = _reviewed(there, _write("second", 1), *writes[: 1 + is_back])
    assert bool(found.warning) is not is_back


@pytest.mark.parametrize("way", ["at once", "written", "scaled"])
def test_replicas_that_were_written_a_moment_after_a_template_keep_it(way: str) -> None:
    """Two pods of three GPUs each leave one of seven."""
    items = deployment("first", ["gpu-0"], pod_spec(gpus=1))
    items[0]["metadata"]["generation"] = 1
    there = snapshot(node("gpu-0", pool="gpu", gpus=7), items)
    base = _write("first", 1)["object"]
    larger = _next(base, 2, gpus=3)
    writes = {
        "at once": [_next(base, 2, gpus=3, replicas=2)],
        "written": [larger, _next(larger["object"], 3, gpus=3, replicas=2)],
        "scaled": [larger, _scale(1, 2)],
    }[way]
    assert _reviewed(there, _write("second", 1), *writes).silence is Silence.COMPLETES
    assert "would be stuck" in _reviewed(there, _write("second", 2), *writes).warning


def test_of_many_earlier_writes_all_are_played_and_the_last_are_kept() -> None:
    room = snapshot(node("gpu-0", pool="gpu", gpus=40, cpu="64", memory="512Gi"), pod("else", pod_spec(), on="gpu-0"))
    writes = [_write(f"one-{number}", 1) for number in range(39)]
    assert _reviewed(room, _write("last", 1), *writes).silence is Silence.COMPLETES
    for _ in range(2):
        assert "would be stuck" in _reviewed(room, _write("last", 2), *writes).warning
    assert len(room.derived.once(_of_earlier, room)) == LIMITS.earlier_writes


def test_only_what_rolls_is_remembered() -> None:
    assert _reviewed(TWO_FREE, _write("first", 1)).rolls
    assert not _reviewed(TWO_FREE, {**_write("first", 1), "dryRun": True}).rolls
    assert not asked("labels-only", FULL).rolls


def test_a_pause_is_not_warned_of() -> None:
    old = _write("serve", 1)["object"]
    there = snapshot(node("gpu-0", pool="gpu", gpus=1), deployment("serve", ["gpu-0"], pod_spec(gpus=1)))
    paused = _write("serve", 1, old=old, paused=True)
    assert _reviewed(there, paused) == WebhookReview(workload="Deployment/ml/serve", silence=Silence.NO_ROLLOUT)
    paused["object"]["spec"]["template"]["metadata"]["labels"]["rev"] = "two"
    assert _reviewed(there, paused).silence is Silence.NO_ROLLOUT


@pytest.mark.parametrize("is_behind", [True, False], ids=["its template changed", "at rest"])
@pytest.mark.parametrize("gpus", [1, 3])
def test_one_that_is_paused_is_scaled_and_nobody_is_told_to_resume_it(gpus: int, is_behind: bool) -> None:
    """Where its template has changed meanwhile, its older pods are scaled: somebody wants it so."""
    items = deployment("serve", ["gpu-0"], pod_spec(gpus=1))
    old = _write("serve", 1, paused=True)["object"]
    old["metadata"]["generation"] = items[0]["metadata"]["generation"] = 2
    items[0]["spec"]["paused"] = True
    if is_behind:
        for one in (old, items[0]):
            one["spec"]["template"] = {"metadata": {"labels": {"app": "serve", "rev": "two"}}, "spec": pod_spec(gpus=1)}
    there = snapshot(node("gpu-0", pool="gpu", gpus=gpus), items)
    write = _write("serve", 3, old=old)
    write["object"] = {**old, "spec": {**old["spec"], "replicas": 3}, "metadata": {**old["metadata"], "generation": 3}}
    scale = {
        **write,
        "subResource": "scale",
        "object": {"spec": {"replicas": 3}},
        "oldObject": {"spec": {"replicas": 1}},
    }
    for asked_for in (write, scale):
        found = _reviewed(there, asked_for)
        assert bool(found.warning) is (gpus == 1)
        assert "paused" not in found.warning
        assert "resume" not in found.warning
        assert found.warning or found.silence in (Silence.NO_ROLLOUT, Silence.COMPLETES)


def test_one_that_is_resumed_waits_for_what_its_older_pods_hold() -> None:
    items = deployment("serve", ["gpu-0"], pod_spec(gpus=1))
    old = _write("serve", 1, paused=True)["object"]
    items[0]["spec"] |= {"paused": True}
    for one in (old, items[0]):
        one["spec"]["template"] = {"metadata": {"labels": {"app": "serve", "rev": "two"}}, "spec": pod_spec(gpus=1)}
    there = snapshot(node("gpu-0", pool="gpu", gpus=1), items)
    write = _write("serve", 1, old=old)
    write["object"]["spec"]["template"] = old["spec"]["template"]
    found = _reviewed(there, write).warning
    assert "held by the old pod" in found
    assert found.endswith("; maxSurge 0, maxUnavailable 1 completes")


_SEEN = OwnRollout(verdict=Verdict.STUCK, reason=Reason.HOLD_AND_WAIT, sentence=NO_WORDS)


def test_what_is_in_parentheses_goes_before_anything_else() -> None:
    long = _warning(f"{_STUCK}: ", _ReviewText(_SEEN, f"stuck: {'the new pod waits ' * 10}(1 pod more than 6 may run)", "Recreate completes"))  # fmt: skip
    assert len(long) <= LIMITS.warning_characters
    assert "…" not in long
    assert "(" not in long
    assert long.endswith("; Recreate completes")
