"""Changes applied to a workload."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import ChangeError
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange, apply_change, document_of, read_changed
from planner.kubernetes.object_records import CommandForm, Finding, FrozenMap, Strategy, Workload
from planner.sources import demo
from tests.builders.objects import read_items
from tests.inventory.objects import container, gpu_container, named, template, workload
from tests.seen import each, may_refuse

Object = dict[str, Any]
SHELL = ["sh", "-c", "python worker.py"]


def read(kind: str = "Deployment", **spec: Any) -> Workload:
    snapshot = read_items([workload(kind, **spec)])
    assert snapshot.problems == ()
    return snapshot.workloads[0]


WORKER = read(
    replicas=4,
    strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    template=template(
        "app",
        gpu_container() | {"command": SHELL, "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]},
        container("side"),
        nodeSelector={"pool": "gpu"},
        tolerations=[{"key": "gpu"}],
        terminationGracePeriodSeconds=30,
        volumes=[{"name": "w", "emptyDir": {}}],
    ),
)


def change(before: Workload = WORKER, **fields: Any) -> tuple[Workload, bool, tuple[Finding, ...]]:
    if isinstance(fields.get("patch"), dict):
        fields["patch"] = json.dumps(fields["patch"])
    return apply_change(before, WorkloadChange(workload=before.key, **fields))


def spec_patch(**spec: Any) -> Object:
    return {"spec": {"template": {"spec": spec}}}


def main_patch(**fields: Any) -> Object:
    return spec_patch(containers=[{"name": "main", **fields}])


def resources(requests: Object | None = None, limits: Object | None = None) -> Object:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


# ── nothing, restart, scale ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_change_of_nothing_is_a_restart() -> None:
    assert change() == (WORKER, True, ())
    assert change(new_revision=False) == (WORKER, False, ())


def test_replicas() -> None:
    after, is_new, findings = change(replicas=7, new_revision=False)
    assert (after, is_new, findings) == (replace(WORKER, replicas=7), False, ())
    assert after.template is WORKER.template


def test_a_daemon_set_has_no_replicas() -> None:
    with pytest.raises(ChangeError, match="has no replicas"):
        change(read("DaemonSet"), replicas=3)


def test_a_patch_that_scales_is_no_new_revision() -> None:
    after, is_new, _ = change(patch={"spec": {"replicas": 7}})
    assert after.replicas == 7
    assert not is_new


def test_replicas_beside_a_patch_win() -> None:
    assert change(patch={"spec": {"replicas": 7}}, replicas=9)[0].replicas == 9


# ── what makes a new template ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "patch",
    [
        pytest.param(main_patch(image="registry.example/app:2"), id="image"),
        pytest.param(main_patch(**resources({"cpu": "2"})), id="request"),
        pytest.param(main_patch(**resources(limits={"cpu": "8"})), id="limit"),
        pytest.param(main_patch(ports=[{"containerPort": 81}]), id="port"),
        pytest.param(main_patch(readinessProbe={"httpGet": {"port": 80}}), id="probe"),
        pytest.param(spec_patch(nodeSelector={"pool": "other"}), id="node selector"),
        pytest.param(spec_patch(nodeSelector=None), id="node selector taken away"),
        pytest.param(spec_patch(tolerations=[]), id="tolerations taken away"),
        pytest.param(spec_patch(terminationGracePeriodSeconds=60), id="grace"),
        pytest.param(spec_patch(containers=[{"name": "side", "$patch": "delete"}]), id="container taken away"),
        pytest.param(spec_patch(containers=[container("third")]), id="container added"),
        pytest.param(spec_patch(volumes=[{"name": "v", "emptyDir": {}}]), id="volume"),
        pytest.param({"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}, id="label"),
    ],
)
def test_a_patch_of_what_is_kept_makes_a_new_template(patch: Object) -> None:
    after, is_new, _ = change(patch=patch)
    assert is_new
    assert after.template != WORKER.template


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, id="the workload's own label"),
        pytest.param({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 2}}}}, id="strategy"),
        pytest.param({"spec": {"minReadySeconds": 5, "progressDeadlineSeconds": 60}}, id="times"),
        pytest.param(main_patch(image="registry.example/app:1"), id="the same image"),
        pytest.param(main_patch(**resources({"cpu": "1000m", "memory": "1024Mi"})), id="the same amounts"),
        pytest.param(spec_patch(restartPolicy="Always", schedulerName="default-scheduler"), id="defaults"),
    ],
)
def test_a_patch_that_leaves_the_template_alone(patch: Object) -> None:
    after, is_new, findings = change(patch=patch)
    assert not is_new
    assert findings == ()
    assert after.template.spec == WORKER.template.spec


RESTARTED = {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}


@pytest.mark.parametrize(
    "patch",
    [
        main_patch(env=[{"name": "A", "value": "2"}]),
        main_patch(env=[{"name": "A", "$patch": "delete"}]),
        main_patch(env=[{"name": "B", "value": ""}]),
        main_patch(args=["--fast"]),
        main_patch(command=["sh", "-c", "python worker.py --fast"]),
        main_patch(command=None),
        main_patch(imagePullPolicy="Always"),
        main_patch(volumeMounts=[{"name": "w", "mountPath": "/v"}]),
        main_patch(readinessProbe={"httpGet": {"path": "/x"}}),
        spec_patch(serviceAccountName="x"),
        spec_patch(hostUsers=True),
        spec_patch(tolerations=[{"key": "gpu", "operator": "Equal"}]),
        main_patch(securityContext={"privileged": False}),
        spec_patch(volumes=[{"name": "v", "secret": {"secretName": "s"}}]),
        RESTARTED,
    ],
)
def test_what_is_not_kept_is_compared(patch: Object) -> None:
    after, is_new, findings = change(patch=patch)
    assert is_new
    assert findings == ()
    again, is_new, _ = change(after, patch=patch)
    assert not is_new or "$patch" in str(patch)
    assert again.template.makes_the_same_pods(after.template)


@pytest.mark.parametrize(
    "patch",
    [
        main_patch(env=[{"name": "A", "value": "1"}]),
        main_patch(env=[{"$patch": "delete", "name": "Z"}]),
        main_patch(command=SHELL),
        main_patch(args=[], volumeMounts=[]),
        main_patch(imagePullPolicy="IfNotPresent", terminationMessagePolicy="File", tty=False),
        spec_patch(dnsPolicy="ClusterFirst", securityContext={}, enableServiceLinks=True),
        {"spec": {"template": {"metadata": {"annotations": {"no.example/one": None}}}}},
    ],
)
def test_what_is_not_kept_and_says_the_same_is_no_new_revision(patch: Object) -> None:
    after, is_new, _ = change(patch=patch)
    assert not is_new
    assert after.template.makes_the_same_pods(WORKER.template)


def test_an_undone_change_of_what_is_not_kept_is_the_first_template() -> None:
    after, _, _ = change(patch=main_patch(env=[{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]))
    undo = main_patch(env=[{"name": "A", "value": "1"}, {"name": "B", "$patch": "delete"}])
    assert change(after, patch=undo)[0].template.makes_the_same_pods(WORKER.template)


def test_a_patch_never_brings_values_into_the_record() -> None:
    after, _, findings = change(patch=main_patch(env=[{"name": "A", "value": "SECRET"}], args=["SECRET"]))
    assert "SECRET" not in repr(after)
    assert "SECRET" not in repr(findings)


@pytest.mark.parametrize(
    ("fields", "form", "program"),
    [
        ({"command": ["sh", "-c", "exec python worker.py"]}, CommandForm.SHELL_EXEC, "python"),
        ({"command": ["gunicorn"], "args": ["app"]}, CommandForm.EXEC, "gunicorn"),
        ({"command": None}, CommandForm.IMAGE, ""),
        ({"command": []}, CommandForm.IMAGE, ""),
        ({"args": ["--fast"]}, CommandForm.SHELL, "python"),
        ({"args": None}, CommandForm.SHELL, "python"),
        ({"image": "other"}, CommandForm.SHELL, "python"),
    ],
)
def test_how_the_process_is_started_follows_the_patch(fields: Object, form: CommandForm, program: str) -> None:
    main = change(patch=main_patch(**fields))[0].template.spec.containers[0]
    assert (main.command_form, main.program) == (form, program)


def test_a_patch_of_one_container_leaves_the_rest() -> None:
    after, _, _ = change(patch=main_patch(**resources({"cpu": "2"})))
    main, side = after.template.spec.containers
    assert main.requests == {"cpu": 2000, "memory": 2**30, "nvidia.com/gpu": 1}
    assert side == WORKER.template.spec.containers[1]
    assert after.template.spec.node_selector == {"pool": "gpu"}
    assert after.strategy == WORKER.strategy


def test_yaml_and_json_are_the_same() -> None:
    patch = main_patch(image="x")
    assert change(patch=yaml.safe_dump(patch)) == change(patch=json.dumps(patch))


def test_a_whole_patch_document_names_its_workload() -> None:
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app", "namespace": "prod"}}
    assert change(patch=patch)[0] == WORKER


def test_a_field_the_planner_does_not_read_is_told() -> None:
    _, is_new, findings = change(patch={"spec": {"replica": 3}})
    assert not is_new
    assert [finding.code for finding in findings] == ["change-not-read"]
    assert "spec.replica" in findings[0].what


# ── strategy ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("fields", "strategy"),
    [
        ({"max_surge": 0, "max_unavailable": 1}, Strategy(max_surge=0, max_unavailable=1)),
        ({"max_unavailable": "50%"}, Strategy(max_surge=1, max_unavailable="50%")),
        ({"strategy_kind": "Recreate"}, Strategy(kind="Recreate")),
        ({"strategy_kind": "RollingUpdate"}, WORKER.strategy),
        ({"patch": {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}}, Strategy(kind="Recreate")),
        (
            {
                "patch": {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
                "strategy_kind": "RollingUpdate",
            },
            Strategy(max_surge="25%", max_unavailable="25%"),
        ),
    ],
)
def test_strategy(fields: Object, strategy: Strategy) -> None:
    assert change(**fields)[0].strategy == strategy


@pytest.mark.parametrize(
    ("before", "fields", "what"),
    [
        (WORKER, {"max_surge": 0, "max_unavailable": 0}, "both 0"),
        (WORKER, {"max_surge": "0%", "max_unavailable": "0%"}, "both 0"),
        (WORKER, {"max_surge": "many"}, 'maxSurge is "many"'),
        (WORKER, {"max_surge": -1}, 'maxSurge is "-1"'),
        (WORKER, {"max_unavailable": "120%"}, "maxUnavailable is 120%"),
        (WORKER, {"strategy_kind": "OnDelete"}, "doesn't exist"),
        (WORKER, {"strategy_kind": "Recreate", "max_surge": 1}, "has no meaning"),
        (read("StatefulSet"), {"max_surge": 1}, "has no meaning"),
        (read("StatefulSet"), {"strategy_kind": "Recreate"}, "doesn't exist"),
        (read("Job"), {"max_surge": 1}, "has no update strategy"),
        (WORKER, {"patch": {"spec": {"strategy": {"type": "Recreate"}}}}, "may not come with rollingUpdate"),
        (WORKER, {"patch": {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0}}}}}, "both 0"),
    ],
)
def test_strategies_that_are_refused(before: Workload, fields: Object, what: str) -> None:
    with pytest.raises(ChangeError, match=what):
        change(before, **fields)


def test_a_stateful_sets_max_unavailable_may_be_dropped() -> None:
    for before, expected in ((read("StatefulSet"), ["change-dropped"]), (WORKER, [])):
        assert [one.code for one in change(before, max_unavailable=2)[2]] == expected


# ── requests, node selector ──────────────────────────────────────────────────────────────────────────────────────────
def test_requests_go_to_the_container_that_asks_for_most() -> None:
    after, is_new, findings = change(requests=FrozenMap({"nvidia.com/gpu": 2, "cpu": 3000}))
    main, side = after.template.spec.containers
    assert (main.requests["nvidia.com/gpu"], main.limits["nvidia.com/gpu"], main.requests["cpu"]) == (2, 2, 3000)
    assert side.requests == {}
    assert is_new
    assert findings == ()


def test_requests_count_what_the_others_ask_for() -> None:
    both = [container("a", **resources({"cpu": "1"})), container("b", **resources({"cpu": "3"}))]
    before = read(template=template("app", *both))
    after = change(before, requests=FrozenMap({"cpu": 6000}))[0]
    assert [one.requests["cpu"] for one in after.template.spec.containers] == [1000, 5000]
    with pytest.raises(ChangeError, match=r"less than the other containers ask for.*at least 1"):
        change(before, requests=FrozenMap({"cpu": 500}))


def test_a_limit_in_the_way_is_raised_and_told() -> None:
    before = read(template=template("app", container(**resources({"memory": "1Gi"}, {"memory": "2Gi"}))))
    after, _, findings = change(before, requests=FrozenMap({"memory": 4 * 2**30}))
    assert after.template.spec.containers[0].limits == {"memory": 4 * 2**30}
    assert [finding.code for finding in findings] == ["change-raised-limit"]
    assert change(before, requests=FrozenMap({"memory": 2 * 2**30}))[2] == ()


def test_no_devices_any_more() -> None:
    main = change(requests=FrozenMap({"nvidia.com/gpu": 0}))[0].template.spec.containers[0]
    assert "nvidia.com/gpu" not in main.requests
    assert "nvidia.com/gpu" not in main.limits


def test_pod_level_requests_follow() -> None:
    before = read(template=template("app", resources={"requests": {"cpu": "4"}, "limits": {"cpu": "8"}}))
    after = change(before, requests=FrozenMap({"cpu": 5000}))[0]
    assert after.template.spec.pod_requests == {"cpu": 5000}


def test_node_selector_is_replaced() -> None:
    after, is_new, _ = change(node_selector=FrozenMap({"zone": "b"}))
    assert after.template.spec.node_selector == {"zone": "b"}
    assert is_new
    assert change(node_selector=FrozenMap())[0].template.spec.node_selector == {}
    assert not change(node_selector=FrozenMap({"pool": "gpu"}), new_revision=False)[1]


# ── what the API server refuses ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("patch", "what"),
    [
        ("{", "isn't JSON"),
        ("a: [", "isn't YAML"),
        ("3", "isn't one object"),
        ("a: 1\n---\nb: 2", "isn't one object"),
        ('[{"op": "replace"}]', "JSON patch"),
        ("kind: StatefulSet", "kind is StatefulSet"),
        ("metadata: {name: other}", "metadata.name is other"),
        ("metadata: {namespace: dev}", "metadata.namespace is dev"),
        ("metadata: 3", "metadata isn't an object"),
        ("spec: 3", "spec: it has to be an object"),
        ("spec: null", "takes the pod template away"),
        ("spec: {template: null}", "takes the pod template away"),
        ("spec: {template: {spec: null}}", "no containers"),
        ("spec: {replicas: -1}", "replicas"),
        ("spec: {replicas: two}", "spec.replicas: expected `int"),
        ("spec: {selector: {matchLabels: {app: other}}}", "spec.selector can't be changed"),
        ("spec: {template: {metadata: {labels: {app: other}}}}", "doesn't select its own pod template"),
        ("spec: {template: {spec: {restartPolicy: Never}}}", "restartPolicy is Never"),
        (main_patch(**resources({"cpu": "1K"})), "not a Kubernetes quantity"),
        (main_patch(**resources({"cpu": "-1"})), "negative"),
        (main_patch(**resources({"memory": "2Gi"}, {"memory": "1Gi"})), "above the limit"),
        (main_patch(**resources({"nvidia.com/gpu": 2})), "request 2 and limit 1 differ"),
        (main_patch(**resources({"example.com/fpga": 1})), "a request without a limit"),
        (main_patch(image=None), 'container "main" has no image'),
        (spec_patch(containers=[{"name": "mian", "env": []}]), r'"mian" has no image.*there: main, side'),
        (spec_patch(containers=[{"image": "x"}]), "has no name"),
        (spec_patch(initContainers=[container("main")]), "used twice"),
    ],
)
def test_patches_that_are_refused(patch: str | Object, what: str) -> None:
    with pytest.raises(ChangeError, match=what) as refused:
        change(patch=patch)
    assert refused.value.where


@pytest.mark.parametrize(
    ("kind", "spec", "patch", "what"),
    [
        ("StatefulSet", {"serviceName": "a"}, {"serviceName": "b"}, "spec.serviceName can't be changed"),
        ("StatefulSet", {}, {"podManagementPolicy": "Parallel"}, "spec.podManagementPolicy"),
        ("Job", {}, {"completions": 5}, "spec.completions"),
        ("Job", {}, {"template": {"spec": {"nodeSelector": {"a": "b"}}}}, "spec.template"),
    ],
)
def test_what_never_changes(kind: str, spec: Object, patch: Object, what: str) -> None:
    with pytest.raises(ChangeError, match=what):
        change(read(kind, **spec), patch={"spec": patch})


def test_a_suspended_job_may_change_its_template() -> None:
    job = read("Job", suspend=True)
    after, is_new, _ = change(job, patch=spec_patch(nodeSelector={"a": "b"}))
    assert is_new
    assert after.template.spec.node_selector == {"a": "b"}


# ── documents ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_workload_of_the_demo_reads_back_from_its_document() -> None:
    for one in each(demo.read().workloads):
        assert read_changed(one, document_of(one)) == one


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job"])
def test_status_and_identity_stay(kind: str) -> None:
    item = workload(kind)
    item["metadata"] |= {"generation": 7, "creationTimestamp": "2026-11-20T09:00:00Z"}
    item["status"] = {"replicas": 3, "readyReplicas": 2, "observedGeneration": 7, "currentRevision": "a-1"}
    [before] = read_items([item]).workloads
    after, _, _ = change(before, patch={"spec": {"minReadySeconds": 9}})
    assert after == replace(before, min_ready_seconds=9)


PATCHED = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "spec",
                    "template",
                    "metadata",
                    "labels",
                    "containers",
                    "name",
                    "replicas",
                    "strategy",
                    "rollingUpdate",
                    "maxSurge",
                    "resources",
                    "requests",
                    "cpu",
                    "nodeSelector",
                    "affinity",
                    "tolerations",
                    "volumes",
                    "$patch",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


@given(PATCHED)
def test_any_patch_is_applied_or_refused(patch: Any) -> None:
    for value in (patch, {"spec": patch}, {"spec": {"template": {"spec": patch}}}, main_patch(resources=patch)):
        with may_refuse(ChangeError):
            after, _, _ = change(patch=json.dumps(value))
            assert after.key == WORKER.key
            assert after.template.spec.containers


def test_a_workload_without_a_selector_of_its_own_can_be_changed() -> None:
    item = named("Job", "train", "ml", "batch/v1", spec={"template": template("train")})
    [job] = read_items([item]).workloads
    assert change(job, replicas=3)[0].replicas == 3
