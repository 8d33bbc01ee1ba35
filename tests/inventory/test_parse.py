"""Objects → snapshot: what is kept, defaults, shared parts, digest, damage."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.well_known_names import KEPT_ANNOTATIONS
from planner.inventory import api_types
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import (
    EMPTY,
    ClaimTemplate,
    CommandForm,
    Container,
    FrozenMap,
    HostPort,
    NodeAffinity,
    Owner,
    Pod,
    PodSpec,
    Presence,
    Probe,
    Severity,
    Snapshot,
    Strategy,
    Toleration,
    TopologySpreadConstraint,
    Version,
    Volume,
    Workload,
)
from planner.sources import cluster_dumps, demo
from planner.sources.shipped_files import data_folder
from tests.builders.objects import read_items
from tests.inventory.objects import (
    a_list,
    container,
    gpu_container,
    gpu_node,
    named,
    node,
    owned_by,
    pod,
    template,
    workload,
)

Object = dict[str, Any]


def read(*items: Object) -> Snapshot:
    return read_items(items)


def read_pod(**spec: Any) -> Pod:
    snapshot = read(pod(**spec))
    assert snapshot.problems == ()
    return snapshot.pods[0]


def read_container(**fields: Any) -> Container:
    return read_pod(containers=[container(**fields)]).spec.containers[0]


def read_workload(kind: str = "Deployment", **spec: Any) -> Workload:
    snapshot = read(workload(kind, **spec))
    assert snapshot.problems == ()
    return snapshot.workloads[0]


# ── what is never kept ───────────────────────────────────────────────────────────────────────────────────────────────
SECRET = "not-a-real-secret-but-must-never-be-stored"
SEALED = re.compile("\0[0-9a-f]{16}\\Z")


def test_the_demos_password_is_nowhere_in_the_snapshot() -> None:
    import gzip

    assert SECRET.encode() in gzip.decompress((data_folder() / "demo" / "cluster.json.gz").read_bytes())
    snapshot = demo.read()
    assert SECRET.encode() not in pickle.dumps(snapshot)
    assert SECRET not in repr(snapshot)


def test_environment_arguments_mounts_and_other_annotations_are_dropped() -> None:
    secret = container(
        command=["sh", "-c", f"TOKEN={SECRET} python x.py --password {SECRET}"],
        args=[SECRET],
        env=[{"name": "A", "value": SECRET}],
        volumeMounts=[{"name": "v", "mountPath": SECRET}],
        readinessProbe={"exec": {"command": [SECRET]}},
        lifecycle={"preStop": {"exec": {"command": [SECRET]}}},
        workingDir=SECRET,
    )
    forged = container("forged") | {api_types.START: f"exec {SECRET} {SECRET}"}
    objects: list[Object] = [
        pod(containers=[secret], hostname=SECRET),
        workload(template=template("app", secret, forged)),
    ]
    for one in objects:
        one["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": SECRET}
    terminated = {"exitCode": 1, "message": SECRET}
    objects[0]["status"]["containerStatuses"] = [{"name": "main", "lastState": {"terminated": terminated}}]
    objects += [named("Secret", data={"a": SECRET}), named("ConfigMap", data={"a": SECRET})]
    snapshot = read(*objects)
    assert snapshot.problems == ()
    assert SECRET not in repr(snapshot)
    assert SECRET.encode() not in pickle.dumps(snapshot)
    assert snapshot.workloads[0].template.spec.containers[0].program == "python"
    manifest = json.loads(snapshot.workloads[0].template.manifest)
    first = manifest["spec"]["containers"][0]
    assert not {"command", "args"} & set(first)
    assert all(SEALED.match(value) for one in first["env"] for value in one.values())
    assert snapshot.other_kinds == {"Secret": 1, "ConfigMap": 1}


def test_exactly_the_annotations_of_the_short_list_are_kept() -> None:
    one = pod()
    one["metadata"]["annotations"] = {key: f"value of {key}" for key in KEPT_ANNOTATIONS} | {"other": "x"}
    assert read(one).pods[0].annotations == {key: f"value of {key}" for key in KEPT_ANNOTATIONS}


def test_damaged_objects_are_named_without_their_secrets() -> None:
    broken = pod(containers=[container(env=[{"name": "A", "value": SECRET}], resources={"limits": {"cpu": "1K"}})])
    [problem] = read(broken, pod("other")).problems
    assert problem.object == "Pod/prod/app-1"
    assert SECRET not in problem.what


# ── defaults ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_pod_of_a_manifest_gets_the_api_servers_defaults() -> None:
    assert read_pod(containers=[{"name": "a"}]).spec == PodSpec(containers=(Container(name="a"),))


def test_requests_left_out_are_the_limits() -> None:
    one = read_container(resources={"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
    assert one.requests == {"cpu": 500, "memory": 2**30}
    assert one.limits == {"cpu": 2000, "memory": 2**30}


def test_pod_level_requests_come_from_containers_then_limits() -> None:
    spec = read_pod(
        resources={"limits": {"cpu": "4", "memory": "8Gi"}},
        containers=[container(resources={"requests": {"cpu": "1"}})],
        initContainers=[
            container("side", restartPolicy="Always", resources={"requests": {"cpu": "500m"}}),
            container("init", resources={"requests": {"cpu": "3"}}),
        ],
    ).spec
    assert spec.pod_requests == {"cpu": 3500, "memory": 8 * 2**30}  # the init container beside the sidecar is the peak
    assert spec.pod_limits == {"cpu": 4000, "memory": 8 * 2**30}


def test_huge_pages_of_containers_count_for_the_pod() -> None:
    pages = {"hugepages-2Mi": "4Mi"}
    spec = read_pod(
        resources={"requests": {"cpu": "1"}},
        containers=[container(resources={"requests": pages, "limits": pages})],
    ).spec
    assert spec.pod_limits == {"hugepages-2Mi": 4 * 2**20}
    assert spec.pod_requests == {"cpu": 1000, "hugepages-2Mi": 4 * 2**20}


def test_without_pod_level_resources_there_are_none() -> None:
    spec = read_pod(resources={}).spec
    assert spec.pod_requests is None
    assert spec.pod_limits is None


def test_probe_defaults() -> None:
    one = read_container(
        startupProbe={"tcpSocket": {"port": 1}},
        readinessProbe={"httpGet": {"path": "/"}, "periodSeconds": 5},
        livenessProbe={"grpc": {"port": 1}, "failureThreshold": 9, "initialDelaySeconds": 7},
        lifecycle={"preStop": {"sleep": {"seconds": 5}}},
    )
    assert one.startup_probe == Probe(handler="tcp")
    assert one.readiness_probe == Probe(handler="http", period_seconds=5)
    assert one.liveness_probe == Probe(handler="grpc", failure_threshold=9, initial_delay_seconds=7)
    assert one.has_pre_stop
    assert read_container(readinessProbe={"exec": {}}).readiness_probe == Probe(handler="exec")


def test_host_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081, "protocol": "UDP", "hostIP": "10.0.0.1"}]
    taken = HostPort(port=8081, protocol="UDP", host_ip="10.0.0.1")
    assert read_container(ports=ports).host_ports == (taken,)
    on_host = read_pod(hostNetwork=True, containers=[container(ports=ports)]).spec
    assert on_host.containers[0].host_ports == (HostPort(port=80), taken)


def test_tolerations_and_spread() -> None:
    spec = read_pod(
        tolerations=[{"key": "a", "value": "b"}, {"operator": "Exists", "tolerationSeconds": 300}],
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    ).spec
    assert spec.tolerations == (
        Toleration(key="a", value="b"),
        Toleration(operator="Exists", toleration_seconds=300),
    )
    assert spec.topology_spread == (
        TopologySpreadConstraint(max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway"),
    )
    assert spec.topology_spread[0].label_selector is None


def test_affinity() -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
    pod_term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}, "namespaces": ["n"]}
    spec = read_pod(
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term}],
            },
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": pod_term}]
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [pod_term]},
        }
    ).spec
    assert spec.node_affinity.required is not None
    assert spec.node_affinity.required[0].match_expressions[0].values == ("b",)
    assert spec.node_affinity.preferred[0].weight == 5
    assert [term.weight for term in spec.pod_affinity] == [7]
    assert [term.weight for term in spec.pod_anti_affinity] == [0]
    assert spec.pod_anti_affinity[0].namespaces == ("n",)


def test_an_empty_required_affinity_matches_nothing_and_none_matches_all() -> None:
    empty: Object = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    assert read_pod(affinity=empty).spec.node_affinity == NodeAffinity(required=())
    assert read_pod(affinity={"nodeAffinity": {}}).spec.node_affinity == NodeAffinity()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, Volume(name="v", kind="emptyDir")),
        ({"emptyDir": {}}, Volume(name="v", kind="emptyDir")),
        (
            {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
            Volume(name="v", kind="emptyDir", medium="Memory", size_limit_bytes=2**30),
        ),
        (
            {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
            Volume(name="v", kind="persistentVolumeClaim", claim_name="data", read_only=True),
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
            Volume(name="v", kind="ephemeral", claim_template=ClaimTemplate(storage_class_name="fast")),
        ),
        ({"gcePersistentDisk": {"pdName": "d"}}, Volume(name="v", kind="gcePersistentDisk", disk_id="d")),
        ({"awsElasticBlockStore": {"volumeID": "d"}}, Volume(name="v", kind="awsElasticBlockStore", disk_id="d")),
        ({"azureDisk": {"diskURI": "d"}}, Volume(name="v", kind="azureDisk", disk_id="d")),
        ({"rbd": {"image": "i"}}, Volume(name="v", kind="rbd", disk_id="rbd/i")),
        ({"iscsi": {"iqn": "q", "readOnly": True}}, Volume(name="v", kind="iscsi", disk_id="q", read_only=True)),
        ({"hostPath": {"path": "/x"}}, Volume(name="v", kind="hostPath")),
        ({"secret": {"secretName": "s"}}, Volume(name="v", kind="secret")),
        ({"downwardAPI": {"items": []}}, Volume(name="v", kind="downwardAPI")),
        ({"scaleIO": {}}, Volume(name="v", kind="scaleIO")),
    ],
)
def test_volumes(source: Object, expected: Volume) -> None:
    assert read_pod(volumes=[{"name": "v"} | source]).spec.volumes == (expected,)


@pytest.mark.parametrize(
    ("kind", "spec", "strategy"),
    [
        ("Deployment", {}, Strategy(max_surge="25%", max_unavailable="25%")),
        ("Deployment", {"strategy": {"type": "Recreate"}}, Strategy(kind="Recreate")),
        (
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "50%"}}},
            Strategy(max_surge=0, max_unavailable="50%"),
        ),
        ("DaemonSet", {}, Strategy(max_surge=0, max_unavailable=1)),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, Strategy(kind="OnDelete")),
        ("StatefulSet", {}, Strategy()),
        ("StatefulSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}}, Strategy(max_unavailable=1)),
        (
            "StatefulSet",
            {"updateStrategy": {"rollingUpdate": {"partition": 2}}},
            Strategy(partition=2),
        ),
        ("Job", {}, Strategy()),
    ],
)
def test_strategies(kind: str, spec: Object, strategy: Strategy) -> None:
    assert read_workload(kind, **spec).strategy == strategy


def test_workload_defaults() -> None:
    deployment, job = read_workload(), read_workload("Job")
    assert (deployment.replicas, deployment.progress_deadline_seconds, deployment.revision_history_limit) == (
        1,
        600,
        10,
    )
    assert deployment.template.spec.termination_grace_period_seconds == 30
    assert (job.replicas, job.completions, job.backoff_limit, job.progress_deadline_seconds) == (1, 1, 6, None)
    assert read_workload("Job", parallelism=3).completions is None
    assert read_workload("DaemonSet").replicas == 0
    assert read_workload("StatefulSet").pod_management_policy == "OrderedReady"
    assert read_workload("Job", suspend=True).is_paused


def test_a_zero_is_a_value() -> None:
    one = read_workload(replicas=0, revisionHistoryLimit=0, template=template("app", terminationGracePeriodSeconds=0))
    assert (one.replicas, one.revision_history_limit, one.template.spec.termination_grace_period_seconds) == (0, 0, 0)


def test_null_is_absent() -> None:
    assert read_workload(replicas=None, strategy=None, minReadySeconds=None) == read_workload()
    assert read_pod(tolerations=None, affinity=None, nodeSelector=None, volumes=None) == read_pod()


def test_a_job_without_a_selector_selects_its_own_pods() -> None:
    one = workload("Job", "train")
    del one["spec"]["selector"]
    assert read(one).workloads[0].selector.match_labels == {"batch.kubernetes.io/job-name": "train"}


def test_without_allocatable_all_capacity_is() -> None:
    one = node()
    del one["status"]["allocatable"]
    assert read(one).nodes[0].allocatable == read(node()).nodes[0].allocatable


def test_namespaces_carry_their_name_as_a_label() -> None:
    assert read(named("Namespace", "prod")).namespaces[0].labels == {"kubernetes.io/metadata.name": "prod"}


def test_limit_range_defaults_follow_from_one_another() -> None:
    limits = [{"type": "Container", "max": {"cpu": "4", "memory": "4Gi"}, "min": {"cpu": "1"}, "default": {"cpu": "2"}}]
    [item] = read(named("LimitRange", namespace="dev", spec={"limits": limits})).limit_ranges[0].items
    assert item.default_limits == {"cpu": 2000, "memory": 4 * 2**30}
    assert item.default_requests == {"cpu": 2000, "memory": 4 * 2**30}


# ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_running_pod() -> None:
    one = pod("api-1", "gpu-0")
    one["metadata"] |= {
        "creationTimestamp": "2026-11-20T09:00:00Z",
        "deletionTimestamp": "2026-11-20T09:30:00Z",
        "deletionGracePeriodSeconds": 20,
        "ownerReferences": [
            {"kind": "Other", "name": "x", "uid": "1"},
            {"kind": "ReplicaSet", "name": "api", "uid": "2", "controller": True},
        ],
    }
    one["status"] |= {
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-20T09:00:01Z"},
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T09:00:31Z"},
        ],
        "startTime": "2026-11-20T09:00:02Z",
        "qosClass": "Burstable",
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "started": True,
                "restartCount": 3,
                "state": {"running": {"startedAt": "2026-11-20T09:00:05Z"}},
                "lastState": {
                    "terminated": {
                        "exitCode": 137,
                        "signal": 9,
                        "reason": "OOMKilled",
                        "finishedAt": "2026-11-20T09:00:04Z",
                    }
                },
            }
        ],
        "initContainerStatuses": [
            {"name": "init", "state": {"waiting": {"reason": "PodInitializing", "message": "m"}}}
        ],
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "api-1-gpu"}],
    }
    [read_one] = read(one).pods
    assert read_one.owner is not None
    assert read_one.owner.name == "api"
    assert read_one.node_name == "gpu-0"
    assert read_one.is_ready
    assert read_one.ready_at == read_one.created_at + 31 if read_one.created_at else False
    assert read_one.created_at is not None
    assert read_one.deleted_at == read_one.created_at + 1800
    assert read_one.deletion_asked_at == read_one.created_at + 1780
    assert read_one.claim_names == {"gpu": "api-1-gpu"}
    main, init = read_one.containers
    assert (main.restart_count, main.state, main.last_reason, main.last_exit_code, main.last_signal) == (
        3, "running", "OOMKilled", 137, 9,
    )  # fmt: skip
    assert (init.is_init, init.state, init.reason, init.message) == (True, "waiting", "PodInitializing", "m")


def test_the_schedulers_message_of_a_waiting_pod() -> None:
    one = pod()
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    one["status"]["conditions"] = [condition]
    assert read(one).pods[0].unschedulable_message == "0/3 nodes"


def test_command_forms_come_from_the_command() -> None:
    shell = read_container(command=["/bin/sh", "-c", "python x.py"])
    assert (shell.command_form, shell.program) == (CommandForm.SHELL, "python")
    assert read_container(args=["--port"]).command_form is CommandForm.IMAGE


def test_devices_of_both_shapes() -> None:
    attributes = {"model": {"string": "T4"}, "index": {"int": 1}, "ok": {"bool": True}, "driver": {"version": "1.2.3"}}
    body = {"attributes": attributes, "capacity": {"memory": {"value": "16Gi"}}}
    slices = [
        named("ResourceSlice", name, api_version=f"resource.k8s.io/{version}",
              spec={"driver": "gpu.x", "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n",
                    "devices": [device]})
        for name, version, device in (
            ("old", "v1beta1", {"name": "gpu-0", "basic": body}),
            ("new", "v1", {"name": "gpu-0"} | body),
        )
    ]  # fmt: skip
    old, new = read(*slices).resource_slices
    assert old.devices == new.devices
    assert new.devices[0].attributes == {"model": "T4", "index": 1, "ok": True, "driver": Version("1.2.3")}
    assert new.devices[0].capacity == {"memory": 16 * 2**30}
    assert not new.devices[0].is_complex


@pytest.mark.parametrize(
    "complexity",
    [{"allowMultipleAllocations": True, "consumesCounters": [{"counterSet": "a"}]}, {"bindingConditions": ["a"]}],
)
def test_devices_that_are_more_than_counted(complexity: Object) -> None:
    spec = {"driver": "d", "pool": {"name": "p"}, "allNodes": True, "devices": [{"name": "x"} | complexity]}
    [one] = read(named("ResourceSlice", api_version="resource.k8s.io/v1", spec=spec)).resource_slices
    assert one.devices[0].is_complex


def test_devices_that_share_counters_and_say_their_nodes_themselves() -> None:
    consumes = [{"counterSet": "g", "counters": {"mem": {"value": "10Gi"}}}]
    term = {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}
    devices = [
        {"name": "a", "nodeName": "n", "consumesCounters": consumes},
        {"name": "b", "nodeSelector": {"nodeSelectorTerms": [term]}},
        {"name": "c", "allNodes": True},
    ]
    spec = {"driver": "d", "pool": {"name": "p"}, "perDeviceNodeSelection": True, "devices": devices,
            "sharedCounters": [{"name": "g", "counters": {"mem": {"value": "40Gi"}}}]}  # fmt: skip
    [one] = read(named("ResourceSlice", api_version="resource.k8s.io/v1", spec=spec)).resource_slices
    assert one.is_per_device
    assert one.counters == (("g", "mem", 40 * 2**30),)
    a, b, c = one.devices
    assert (a.node_name, a.counters) == ("n", (("g", "mem", 10 * 2**30),))
    assert b.node_selector is not None
    assert c.all_nodes
    assert not any(device.is_complex for device in one.devices)


def test_what_device_claims_ask_for_beyond_a_count() -> None:
    devices = {
        "requests": [
            {
                "name": "r",
                "firstAvailable": [{"name": "big", "deviceClassName": "b"}, {"name": "small", "deviceClassName": "s"}],
            }
        ],
        "constraints": [{"requests": ["r"], "matchAttribute": "d/numa"}, {"distinctAttribute": "d/slot"}],
    }
    [one] = read(named("ResourceClaim", "c", "ml", "resource.k8s.io/v1", spec={"devices": devices})).resource_claims
    assert [r.device_class_name for r in one.spec.requests[0].first_available] == ["b", "s"]
    match, distinct = one.spec.constraints
    assert (match.requests, match.match_attribute, distinct.distinct_attribute) == (("r",), "d/numa", "d/slot")
    assert not one.is_allocated


def test_claims_of_both_shapes() -> None:
    exact = {"deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": "true"}}]}
    templates = [
        named("ResourceClaimTemplate", name, "ml", f"resource.k8s.io/{version}",
              spec={"spec": {"devices": {"requests": [request]}}})
        for name, version, request in (
            ("old", "v1beta1", {"name": "r"} | exact),
            ("new", "v1", {"name": "r", "exactly": exact}),
        )
    ]  # fmt: skip
    old, new = read(*templates).resource_claim_templates
    assert old.spec == new.spec
    assert new.spec.requests[0].count == 2
    assert new.spec.requests[0].selectors == ("true",)


def test_events_of_both_apis() -> None:
    about = {"kind": "Pod", "namespace": "dev", "name": "api-1", "uid": "u"}
    core = named("Event", "a", "dev", involvedObject=about, type="Warning", reason="BackOff", message="m", count=4,
                 firstTimestamp="2026-11-20T09:00:00Z", lastTimestamp="2026-11-20T09:10:00Z",
                 source={"component": "kubelet"})  # fmt: skip
    new = named("Event", "b", "dev", "events.k8s.io/v1", regarding=about, type="Warning", reason="BackOff", note="m",
                deprecatedCount=4, deprecatedFirstTimestamp="2026-11-20T09:00:00Z",
                deprecatedLastTimestamp="2026-11-20T09:10:00Z", deprecatedSource={"component": "kubelet"})  # fmt: skip
    assert read(core).events == read(new).events


def test_pod_metrics() -> None:
    usage = {"cpu": "12345678n", "memory": "1000Ki"}
    metrics = named("PodMetrics", "api-1", "dev", "metrics.k8s.io/v1beta1", timestamp="2026-11-20T09:00:00Z",
                    window="1m30s", containers=[{"name": "main", "usage": usage}])  # fmt: skip
    [one] = read(metrics).pod_metrics
    assert one.window_seconds == 90.0
    assert (one.containers[0].cpu_millicores, one.containers[0].working_set_bytes) == (13, 1_024_000)


def test_kinds_beside_the_pods() -> None:
    toleration = {"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    where = {"matchLabels": {"checked": "yes"}}
    admission, secret = (
        "admissionregistration.k8s.io/v1",
        {"caBundle": "c2VjcmV0", "url": "https://hook.example/secret"},
    )
    snapshot = read(
        named("RuntimeClass", "gvisor", "", "node.k8s.io/v1", overhead={"podFixed": {"cpu": "500m", "memory": "1Gi"}},
              scheduling={"nodeSelector": {"runtime": "gvisor"}, "tolerations": [toleration]}),
        named("CSINode", "n1", "", "storage.k8s.io/v1", spec={"drivers": [
            {"name": "pd.csi.storage.gke.io", "nodeID": "n1", "allocatable": {"count": 15}}, {"name": "other"}]}),
        named("HorizontalPodAutoscaler", "web", "prod", "autoscaling/v2", spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9}),
        named("Service", "web", "prod", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
        named("MutatingWebhookConfiguration", "inject", "", admission, webhooks=[
            {"name": "inject.example", "rules": [rule], "failurePolicy": "Ignore", "namespaceSelector": where,
             "clientConfig": secret}]),
        named("ValidatingAdmissionPolicy", "limits", "", admission, spec={
            "matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "secret == 1"}]}),
        named("ValidatingAdmissionPolicyBinding", "limits-prod", "", admission, spec={
            "policyName": "limits", "validationActions": ["Warn"], "matchResources": {"namespaceSelector": where}}),
    )  # fmt: skip
    assert snapshot.problems == ()
    [runtime] = snapshot.runtime_classes
    assert runtime.overhead == {"cpu": 500, "memory": 2**30}
    assert (dict(runtime.node_selector), runtime.tolerations[0].key) == ({"runtime": "gvisor"}, "sandbox")
    assert snapshot.csi_nodes[0].limits == {"pd.csi.storage.gke.io": 15}
    [autoscaler] = snapshot.autoscalers
    assert (autoscaler.target, autoscaler.minimum, autoscaler.maximum) == ("Deployment/prod/web", 1, 9)
    assert snapshot.services[0].selector == {"app": "web"}
    [hook] = snapshot.webhook_configurations[0].hooks
    assert (hook.name, hook.is_required, hook.rules[0].resources) == ("inject/inject.example", False, ("pods",))
    assert hook.namespace_selector == snapshot.admission_policy_bindings[0].namespace_selector != None  # noqa: E711
    assert not snapshot.admission_policy_bindings[0].denies
    assert snapshot.admission_policies[0].rules == hook.rules
    assert "secret" not in repr(snapshot)


def controller_revision(owner: Object, data: Any, **fields: Any) -> Object:
    one = named("ControllerRevision", "app-1", "prod", "apps/v1", data=data, revision=7, **fields)
    return owned_by(owner, one)


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_a_controller_revision_has_the_template_of_its_owner(kind: str) -> None:
    """Compared in full, and nothing of what isn't kept is in it."""
    env = [{"name": "PASSWORD", "value": SECRET}]
    owner = workload(kind, template=template("app", container(env=env)), serviceName="app")
    there = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    before = {"spec": {"template": {**template("app", container(env=[])), "$patch": "replace"}}}
    snapshot = read(owner, controller_revision(owner, there))
    [revision], [one] = snapshot.controller_revisions, snapshot.workloads
    assert revision.template is not None
    assert revision.template.makes_the_same_pods(one.template)
    assert (revision.number, revision.hash) == (7, "app-1")
    assert revision.owner == Owner(kind=kind, name="app", uid=one.uid, api_group="apps")
    assert SECRET not in repr(snapshot)
    [other] = read(owner, controller_revision(owner, before)).controller_revisions
    assert other.template is not None
    assert not other.template.makes_the_same_pods(one.template)
    assert other.template.shows_the_same(one.template)


def test_the_hash_of_a_controller_revision_is_its_label_or_its_name() -> None:
    owner = workload("DaemonSet")
    one = controller_revision(owner, {"spec": {"template": template()}})
    one["metadata"]["labels"] = {"app": "app", "controller-revision-hash": "5f6"}
    assert read(owner, one).controller_revisions[0].hash == "5f6"


@pytest.mark.parametrize(
    "data", [None, "text", {"spec": {"template": {"spec": 7}}}, {"virtualMachine": {"spec": SECRET}}]
)
def test_what_other_kinds_keep_in_a_controller_revision_is_not_read(data: Any) -> None:
    owner = workload("Deployment") | {"kind": "VirtualMachine", "apiVersion": "kubevirt.io/v1"}
    for item in (controller_revision(owner, data), json.dumps(controller_revision(owner, data)).encode()):
        snapshot = build_snapshot([Part(items=[item])], source="x")
        assert snapshot.problems == ()
        assert snapshot.controller_revisions[0].template is None
        assert SECRET not in repr(snapshot)


def test_a_damaged_controller_revision_is_named() -> None:
    owner = workload("DaemonSet")
    snapshot = read(owner, controller_revision(owner, {"spec": {"template": {"spec": {"containers": SECRET}}}}))
    [problem] = snapshot.problems
    assert (problem.code, problem.object) == ("object-unreadable", "ControllerRevision/prod/app-1")
    assert SECRET not in repr(snapshot)
    assert snapshot.controller_revisions == ()


def test_every_kind_is_read() -> None:
    items = [
        named(kind, api_version=f"{api_types.API_GROUPS[kind]}/v1" if kind in api_types.API_GROUPS else "v1",
              spec={"template": template("app")})
        for kind in api_types.READ
    ]  # fmt: skip
    snapshot = read(*items)
    assert snapshot.problems == ()
    assert set(snapshot.presence.values()) == {Presence.PRESENT}
    assert set(snapshot.presence) == set(api_types.READ)
    assert snapshot.other_kinds == {}


# ── the snapshot ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_presence_and_other_kinds() -> None:
    parts = [
        Part(items=[pod(), named("Lease"), named("Job", api_version="batch.example/v1"), named("Lease", "two")]),
        Part(listed=("ResourceQuota",)),
        Part(refused=("Node",)),
    ]
    snapshot = build_snapshot(parts, source="x")
    assert snapshot.presence["Pod"] is Presence.PRESENT
    assert snapshot.presence["ResourceQuota"] is Presence.PRESENT
    assert snapshot.presence["Node"] is Presence.REFUSED
    assert snapshot.presence["Job"] is Presence.ABSENT  # that Job is another group's
    assert snapshot.other_kinds == {"Lease": 2, "Job": 1}


def test_the_time_is_the_newest_in_the_objects_unless_given() -> None:
    one = node()
    one["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-20T09:00:00Z"
    terminating = pod()
    terminating["metadata"] |= {
        "creationTimestamp": "2026-11-20T08:00:00Z",
        "deletionTimestamp": "2030-01-01T00:00:00Z",
    }
    assert read(one, terminating).taken_at == 1795165200.0
    assert read_items([one], taken_at=5.0).taken_at == 5.0
    assert read(node()).taken_at == 0.0


def test_equal_parts_are_one_object() -> None:
    def replica(number: int) -> Object:
        volume = {"name": f"kube-api-access-x{number}", "projected": {"sources": []}}
        mounts = [{"name": volume["name"], "mountPath": "/var/run/secrets"}]
        return pod(f"app-{number}", f"node-{number}", containers=[container(volumeMounts=mounts)], volumes=[volume])

    first, second = read(replica(1), replica(2)).pods
    assert first.spec is second.spec
    assert first.spec.volumes == ()
    assert first.labels is second.labels
    assert (first.node_name, second.node_name) == ("node-1", "node-2")


def test_nodes_are_sorted_by_name() -> None:
    assert [one.name for one in read(node("b"), node("a"), node("c")).nodes] == ["a", "b", "c"]


def test_the_digest_is_that_of_what_is_kept() -> None:
    items = [node(), pod(node_name="gpu-0"), workload()]
    digest = read(*items).digest
    noisy = copy.deepcopy(items)
    for one in noisy:
        one["metadata"] |= {"resourceVersion": "77", "managedFields": [{"manager": "x"}], "annotations": {"other": "x"}}
    noisy[0]["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-20T09:00:00Z"
    noisy[1]["spec"]["containers"][0] |= {"env": [{"name": "A", "value": "b"}], "args": ["x"]}
    noisy[1]["spec"]["volumes"] = [{"name": "kube-api-access-abcde", "projected": {}}]
    assert read(*reversed(noisy)).digest == digest
    assert read(*items, *items).digest == digest
    items[2]["spec"]["replicas"] = 2
    assert read(*items).digest != digest
    items[2]["spec"]["replicas"] = 1
    items[1]["spec"]["nodeName"] = "gpu-1"
    assert read(*items).digest != digest


def test_the_digest_is_that_of_the_objects_in_any_order_where_templates_are_shared() -> None:
    items = [workload(name="app"), workload(name="other", selector={"matchLabels": {"app": "app"}})]
    for one in items:
        one["spec"]["template"]["metadata"] = {"labels": {"app": "app"}, "annotations": {"not": "kept"}}
    assert read(*items).digest == read(*reversed(items)).digest
    for one in items:
        del one["spec"]["template"]["metadata"]["annotations"]
    assert read(*items).digest == read(*reversed(items)).digest


def test_the_same_object_twice_is_one() -> None:
    snapshot = read(pod(), pod(), node(), node())
    assert (len(snapshot.pods), len(snapshot.nodes), snapshot.problems) == (1, 1, ())


def test_two_states_of_an_object_are_one_and_said() -> None:
    snapshot = read(pod(node_name="a"), pod(node_name="b"))
    assert len(snapshot.pods) == 1
    [problem] = snapshot.problems
    assert (problem.code, problem.object) == ("duplicate-object", "Pod/prod/app-1")


def test_a_uid_given_twice_is_told_apart() -> None:
    first, second = pod("a"), pod("b")
    second["metadata"]["uid"] = first["metadata"]["uid"]
    snapshot = read(first, second)
    assert len({one.uid for one in snapshot.pods}) == 2
    [problem] = snapshot.problems
    assert (problem.code, problem.object) == ("duplicate-uid", "Pod/prod/b")


def test_objects_without_a_uid_get_one_of_their_own() -> None:
    items = [pod("a"), pod("b"), pod("a", namespace="dev")]
    for one in items:
        del one["metadata"]["uid"]
    snapshot = read(*items, *items)
    assert len({one.uid for one in snapshot.pods}) == 3
    assert snapshot.problems == ()


# ── damage ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("broken", "name", "what"),
    [
        (pod(containers=[container(resources={"limits": {"memory": "1K"}})]), "Pod/prod/app-1", 'memory: "1K"'),
        (pod(containers=[container(resources={"limits": {"cpu": "-1"}})]), "Pod/prod/app-1", "negative"),
        (
            pod(containers=[container(resources={"limits": {"cpu": "NaN"}})]),
            "Pod/prod/app-1",
            "not a Kubernetes quantity",
        ),
        (pod(containers="x"), "Pod/prod/app-1", "spec.containers: expected `array | null`, got `str`"),
        (workload(replicas="3"), "Deployment/prod/app", "spec.replicas: expected `int | null`, got `str`"),
        (workload(replicas=2**40), "Deployment/prod/app", "spec.replicas"),
        (workload(replicas=-1), "Deployment/prod/app", "spec.replicas"),
        (named("Node", "n", spec={"taints": 3}), "Node/n", "spec.taints"),
        (named("Pod", ""), "", "no metadata.name"),
        ({"metadata": {"name": "x"}}, "", "no kind"),
        ({"kind": 3, "metadata": {"name": "x"}}, "", "no kind"),
        ({}, "", "no kind"),
    ],
)
def test_a_broken_object_is_left_out_and_named(broken: Object, name: str, what: str) -> None:
    snapshot = read_items([node(), broken, pod("good")], source="dump.json")
    assert [one.name for one in snapshot.pods] == ["good"]
    assert len(snapshot.nodes) == 1
    [problem] = snapshot.problems
    assert problem.severity is Severity.ERROR
    assert problem.object == name
    assert problem.what.startswith("item 2 of dump.json was left out: ")
    assert what in problem.what
    assert problem.fix


@pytest.mark.parametrize("item", [3, "x", None, [], True])
def test_what_is_no_object_at_all(item: Any) -> None:
    snapshot = cluster_dumps.read_bytes(json.dumps(a_list(node(), item)).encode(), name="dump.json")
    assert len(snapshot.nodes) == 1
    assert [problem.code for problem in snapshot.problems] == ["object-unreadable"]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
SAMPLES: list[Object] = [
    gpu_node(),
    pod(
        containers=[gpu_container()],
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}},
        volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        tolerations=[{"key": "a"}],
    ),
    workload(strategy={"rollingUpdate": {"maxSurge": 1}}, template=template("app", gpu_container())),
    named("ResourceQuota", namespace="dev", spec={"hard": {"pods": "3"}}),
    named("PodDisruptionBudget", namespace="dev", api_version="policy/v1", spec={"minAvailable": 1, "selector": {}}),
    named("Event", namespace="dev", involvedObject={"kind": "Pod"}, lastTimestamp="2026-11-20T09:00:00Z"),
]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path, *(p for key, one in value.items() for p in _paths(one, (*path, key)))]
    if isinstance(value, list):
        return [path, *(p for i, one in enumerate(value) for p in _paths(one, (*path, i)))]
    return [path]


@given(st.data(), st.sampled_from(SAMPLES), JSON_VALUES)
def test_any_damage_costs_one_object_and_is_told(data: st.DataObject, sample: Object, value: Any) -> None:
    damaged: Any = copy.deepcopy(sample)
    path = data.draw(st.sampled_from([path for path in _paths(damaged) if path]))
    parent = damaged
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    snapshot = read(damaged, pod("good"))
    assert "good" in {one.name for one in snapshot.pods}
    others = sum(map(len, (snapshot.nodes, snapshot.workloads, snapshot.resource_quotas, snapshot.events)))
    others += len(snapshot.pods) - 1 + len(snapshot.pod_disruption_budgets) + sum(snapshot.other_kinds.values())
    told = [problem for problem in snapshot.problems if problem.severity is not Severity.INFO]  # "kind told by fields"
    assert others + len(told) == 1
    reading = snapshot.reading
    assert reading.objects + reading.foreign == 2
    assert reading.objects == reading.used + reading.repeated + reading.unreadable + sum(reading.other_kinds.values())
    hash(snapshot)


def test_frozen_defaults_are_shared() -> None:
    assert read_pod().annotations is EMPTY
    assert isinstance(read_pod().labels, FrozenMap)


@pytest.mark.parametrize(
    ("allocated", "reason", "expected"),
    [
        ({"cpu": "2"}, "Infeasible", 2_000),
        ({"cpu": "2"}, "Deferred", 3_500),
        ({"cpu": "4"}, "", 4_000),  # being made smaller: what it had counts until the kubelet has taken it away
        ({"cpu": "3500m"}, "", 3_500),
    ],
)
def test_while_a_pod_is_resized_what_is_allocated_counts(allocated: Object, reason: str, expected: int) -> None:
    one = pod(containers=[container(resources={"requests": {"cpu": "3500m"}})])
    state = {"name": "main", "resources": {"requests": allocated}, "allocatedResources": allocated}
    pending = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    one["status"] = {**one.get("status", {}), "containerStatuses": [state], "conditions": pending}
    assert read(one).pods[0].spec.containers[0].requests == {"cpu": expected}


def test_while_a_pod_is_resized_as_a_whole_what_is_allocated_counts() -> None:
    """Source: component-helpers `resource/helpers.go` `PodRequests` (InPlacePodLevelResourcesVerticalScaling, on in 1.36)."""
    one = pod(containers=[container(resources={"requests": {"cpu": "1"}})])
    one["spec"]["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}
    held = {"cpu": "3"}
    one["status"] = {**one.get("status", {}), "resources": {"requests": held}, "allocatedResources": held}
    assert read(one).pods[0].spec.pod_requests == {"cpu": 3_000}
    one["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    one["status"] |= {"resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}}
    assert read(one).pods[0].spec.pod_requests == {"cpu": 1_000}
