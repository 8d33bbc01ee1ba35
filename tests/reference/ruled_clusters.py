"""Random clusters in which rules beside the scheduler's core decide: volumes, devices, admission, revisions, clocks.

``ruled_case(seed)`` takes a cluster as ``random_clusters`` makes them, and one to three of the rules named below.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.reference.admission import validate
from tests.reference.objects import Object, copied, is_bound, strategic_merge
from tests.reference.quotas import Refused
from tests.reference.random_clusters import GPU, NAMESPACE, Case, Ground, Restless, count_use, draft, dump_midway, grow
from tests.reference.simulation import Simulation

LATE = "late"
DRIVER, CLASS = "gpu.example.com", "gpu.example.com"
ACCELERATORS = (GPU, GPU, "amd.com/gpu", "google.com/tpu")


class Conflict(Exception):
    """Two rules that don't go together."""


@dataclass
class Draft:
    """What a case is made of. ``before``: patches played before the cluster is dumped, with the ticks they get.
    ``later``: what is done to the dump."""

    rng: random.Random
    ground: Ground
    items: list[Object]
    workloads: list[Object]
    changes: list[Object]
    neighbours: list[Object]
    never_ready: list[dict[str, str]]
    before: list[Object] = field(default_factory=list)
    ticks: int = 0
    is_settled: bool = False  # what kind the first workload is
    later: list[Callable[[list[Object]], None]] = field(default_factory=list)

    def nodes(self) -> list[Object]:
        return [item for item in self.items if item["kind"] == "Node"]

    def spec(self, index: int = 0) -> Object:
        found: Object = self.workloads[index]["spec"]["template"]["spec"]
        return found

    def container(self, index: int = 0) -> Object:
        found: Object = self.spec(index)["containers"][0]
        return found

    def patch(self, index: int = 0) -> Object:
        found: Object = self.changes[index]["patch"]["spec"]
        return found

    def pod_patch(self, index: int = 0) -> Object:
        found: Object = self.patch(index).setdefault("template", {}).setdefault("spec", {})
        return found

    def container_patch(self, index: int = 0) -> Object:
        containers = self.pod_patch(index).setdefault("containers", [])
        if not containers:
            containers.append({"name": "main"})
        found: Object = containers[0]
        return found

    def either(self, spec: Object, patch: Object, name: str, value: Any) -> None:
        """Said by the template, or only by the change."""
        (spec if self.rng.random() < 0.4 else patch)[name] = value

    def add(self, kind: str, name: str, namespace: str = "", **more: Any) -> Object:
        meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
        item: Object = {"kind": kind, "metadata": meta, **copied(more)}
        self.items.append(item)
        return item

    def quota(self, hard: dict[str, str], **more: Any) -> None:
        name = f"quota-{sum(item['kind'] == 'ResourceQuota' for item in self.items)}"
        self.add("ResourceQuota", name, NAMESPACE, spec={"hard": hard, **more}, status={"hard": hard, "used": {}})

    def be(self, kind: str) -> Object:
        """The first workload becomes one of this kind; Conflict when a rule before needs it to be another."""
        item = self.workloads[0]
        if item["kind"] != kind:
            if self.is_settled:
                raise Conflict
            spec = item["spec"]
            for name in ("strategy", "updateStrategy", "serviceName", "podManagementPolicy", "paused"):
                spec.pop(name, None)
                self.patch().pop(name, None)
            item["kind"] = self.changes[0]["kind"] = kind
            if kind == "DaemonSet":
                spec.pop("replicas", None)
                self.patch().pop("replicas", None)
                spec["updateStrategy"] = {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
                }
                return item
            spec.setdefault("replicas", self.rng.randint(1, 4))
            if kind == "StatefulSet":
                spec["serviceName"] = item["metadata"]["name"]
                spec["podManagementPolicy"] = self.rng.choice(("OrderedReady", "Parallel"))
                spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
                item["status"] = {"currentRevision": "worker-1", "updateRevision": "worker-1"}
            else:
                item["status"] = {}
                limits = self.rng.choice(((1, 0), (0, 1), (1, 1), ("25%", "25%")))
                rolling = {"maxSurge": limits[0], "maxUnavailable": limits[1]}
                spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
        return item


Rule = Callable[[Draft], None]


# --- controllers -----------------------------------------------------------------------------------------------------


def min_ready(case: Draft) -> None:
    if case.rng.random() < 0.5:
        case.be(case.rng.choice(("Deployment", "StatefulSet", "DaemonSet")))
    for index, item in enumerate(case.workloads):
        case.either(item["spec"], case.patch(index), "minReadySeconds", case.rng.choice((1, 3, 10)))


def undo(case: Draft) -> None:
    """The change takes back what a rollout before it (complete, midway or stuck) has brought."""
    item = case.be(case.rng.choice(("Deployment", "Deployment", "StatefulSet", "DaemonSet")))
    kind = case.rng.random()
    back: Object
    forth: Object
    if kind < 0.4:
        forth, back = ({"image": f"example.com/worker:{tag}"} for tag in ("2", "1"))
    else:
        forth, back = ({"env": [{"name": "REV", "value": value}]} for value in ("2", "1"))
    there: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "main", **forth}]}}}
    again: Object = {"template": {"spec": {"containers": [{"name": "main", **back}]}}}
    if kind < 0.2 or 0.4 < kind < 0.6:
        there["template"]["metadata"] = {"labels": {"rev": "two"}}
        again["template"]["metadata"] = {"labels": {"rev": None}}
    if item["kind"] == "StatefulSet" and case.rng.random() < 0.4:
        there["updateStrategy"] = {"rollingUpdate": {"partition": case.rng.randint(0, 2)}}
    if item["kind"] != "DaemonSet" and case.rng.random() < 0.2:
        again["replicas"] = case.rng.randint(1, 5)
    case.before = [{**case.changes[0], "patch": {"spec": there}}]
    case.changes[0]["patch"] = {"spec": again}
    case.ticks = case.rng.choice((0, 1, 2, 3, 30))
    case.never_ready = [{"app": "worker"}] if case.rng.random() < 0.4 else []
    if kind < 0.3:  # pods show it
        case.later.append(without_revisions)


def without_revisions(items: list[Object]) -> None:
    """A dump that doesn't hold ControllerRevisions."""
    items[:] = [one for one in items if one["kind"] != "ControllerRevision"]


def paused(case: Draft) -> None:
    """The template changed while paused, and the change resumes; or the change itself pauses."""
    case.be("Deployment")
    change = case.patch()
    if case.rng.random() < 0.6:
        case.before = [{**case.changes[0], "patch": {"spec": {"paused": True, **copied(change)}}}]
        resumed: Object = {"paused": False}
        if case.rng.random() < 0.3:
            resumed["replicas"] = case.rng.randint(1, 6)
        case.changes[0]["patch"] = {"spec": resumed}
    else:
        change["paused"] = True
    case.ticks = 2


def nothing_changes(case: Draft) -> None:
    container: Object = {"name": "main"}
    if case.rng.random() < 0.5:
        container["env"] = [{"name": "REV", "value": "1"}]
    else:
        container["image"] = case.container()["image"]
    case.changes[0]["patch"] = {"spec": {"template": {"spec": {"containers": [container]}}}}


def gates(case: Draft) -> None:
    case.either(case.spec(), case.pod_patch(), "schedulingGates", [{"name": "example.com/hold"}])


def other_scheduler(case: Draft) -> None:
    if case.rng.random() < 0.6:
        case.either(case.spec(), case.pod_patch(), "schedulerName", "volcano")
    for pod in case.neighbours[:1]:
        pod["spec"]["schedulerName"] = "volcano"


def resized(case: Draft) -> None:
    """Pods whose resize in place is under way: what counts is the most of what is asked for and allocated."""
    conditions = case.rng.choice(
        ([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
         [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
         [{"type": "PodResizeInProgress", "status": "True"}])
    )  # fmt: skip
    asked, held = case.rng.choice((("1", "6"), ("6", "1"), ("20", "2")))

    def later(items: list[Object]) -> None:
        for pod in items:
            if pod["kind"] != "Pod" or not is_bound(pod) or case.rng.random() < 0.4:
                continue
            container = pod["spec"]["containers"][0]
            requests = container["resources"].setdefault("requests", {})
            allocated = {**requests, "cpu": held}
            requests["cpu"] = asked
            pod["status"]["containerStatuses"] = [
                {"name": "main", "allocatedResources": allocated, "resources": {"requests": dict(allocated)}}
            ]
            pod["status"]["conditions"] = [*pod["status"]["conditions"], *copied(conditions)]

    case.later.append(later)


# --- admission -------------------------------------------------------------------------------------------------------


def gke_toleration(case: Draft) -> None:
    for node in case.nodes():
        node["metadata"]["labels"]["cloud.google.com/gke-nodepool"] = node["metadata"]["labels"]["pool"]
        if GPU in node["status"]["allocatable"] and case.rng.random() < 0.8:
            node["spec"]["taints"] = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
    for index in range(len(case.workloads)):
        case.spec(index).pop("tolerations", None)
    for pod in case.neighbours:
        pod["spec"].pop("tolerations", None)


def runtime_class(case: Draft) -> None:
    handler: Object = {"handler": "gvisor"}
    kind = case.rng.random()
    if kind < 0.4:
        handler["overhead"] = {"podFixed": {"cpu": case.rng.choice(("250m", "2")), "memory": "1Gi"}}
    if 0.3 < kind < 0.7:
        handler["scheduling"] = {"nodeSelector": {"sandbox": "yes"}}
        for node in case.nodes():
            if case.rng.random() < 0.6:
                node["metadata"]["labels"]["sandbox"] = "yes"
    if kind > 0.6:
        taint = {"key": "sandbox", "value": "yes", "effect": "NoSchedule"}
        handler.setdefault("scheduling", {})["tolerations"] = [{"key": "sandbox", "operator": "Exists"}]
        for node in case.nodes():
            if case.rng.random() < 0.6:
                node["spec"]["taints"] = [*(node["spec"].get("taints") or []), taint]
    case.add("RuntimeClass", "gvisor", **handler)
    case.either(case.spec(), case.pod_patch(), "runtimeClassName", case.rng.choice(("gvisor",) * 5 + ("lost",)))
    if case.rng.random() < 0.3:
        case.quota({"requests.cpu": str(case.rng.randint(4, 12))})


def unstated(case: Draft) -> None:
    """Quotas on cpu or memory want them stated in each container."""
    key = case.rng.choice(("cpu", "memory", "requests.cpu", "limits.cpu", "limits.memory", "requests.memory"))
    case.quota({key: "64" if "cpu" in key else "400Gi"})
    second: Object = {"name": "second", "image": "example.com/second:1", "resources": {}}
    for kind, amounts in (("requests", {"cpu": "1", "memory": "1Gi"}), ("limits", {"cpu": "1", "memory": "1Gi"})):
        if case.rng.random() < 0.6:
            second["resources"][kind] = amounts
    group = case.rng.choice(("containers", "initContainers"))
    if case.rng.random() < 0.5:
        case.spec().setdefault(group, []).append(second)
    else:
        case.container_patch()
        case.pod_patch().setdefault(group, []).append(second)
    if case.rng.random() < 0.6:
        resources = case.container()["resources"]  # a rule before may have left nothing to be asked for
        resources.setdefault("limits", {})["cpu"] = resources.get("requests", {}).get("cpu", "1")
    if case.rng.random() < 0.15:
        case.spec()["resources"] = {"requests": {"cpu": "12"}}


def object_counts(case: Draft) -> None:
    key = case.rng.choice(("count/replicasets.apps", "count/replicasets.apps", "count/pods", "pods", "count/controllerrevisions.apps"))  # fmt: skip
    most = case.rng.choice((1, 1, 2)) if "apps" in key else case.rng.randint(2, 8)
    if key == "count/controllerrevisions.apps":
        item = case.be(case.rng.choice(("StatefulSet", "DaemonSet")))
        most = case.rng.choice((0, 0, 1)) + (item["kind"] == "StatefulSet")  # whose first one is there from the start
    case.quota({key: str(most)})


def quota_scopes(case: Draft) -> None:
    hard: dict[str, str] = case.rng.choice(({"pods": "4"}, {f"requests.{GPU}": "4"}, {"requests.memory": "30Gi"}))
    selector = {"scopeName": "PriorityClass", "operator": case.rng.choice(("In", "NotIn")), "values": ["high"]}
    exists = {"scopeName": "PriorityClass", "operator": case.rng.choice(("Exists", "DoesNotExist"))}
    scope = case.rng.choice(
        ("NotTerminating", "Terminating", "BestEffort", "NotBestEffort", selector, selector, exists)
    )
    if isinstance(scope, str):
        if "BestEffort" in scope:
            hard = {"pods": "4"}
        case.quota(hard, scopes=[scope])
    else:
        case.quota(hard, scopeSelector={"matchExpressions": [scope]})
    if case.rng.random() < 0.4:
        case.either(case.spec(), case.pod_patch(), "priorityClassName", case.rng.choice(("high", "low")))
    if scope in ("BestEffort", "NotBestEffort") and case.rng.random() < 0.5:
        case.container()["resources"] = {}


def priorities(case: Draft) -> None:
    if case.rng.random() < 0.5:
        case.add("PriorityClass", "usual", value=case.rng.choice((10, 2000)), globalDefault=True)
    else:
        case.either(
            case.spec(), case.pod_patch(), "priorityClassName", case.rng.choice(("lost", "system-node-critical"))
        )


def pod_security(case: Draft) -> None:
    level = case.rng.choice(("baseline", "baseline", "restricted", "privileged"))
    for item in case.items:
        if item["kind"] == "Namespace" and item["metadata"]["name"] == NAMESPACE:
            item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = level
    strict = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    case.container()["securityContext"] = dict(strict)
    breach = case.rng.choice(
        ({}, {"privileged": True, "allowPrivilegeEscalation": None}, {"capabilities": {"add": ["SYS_ADMIN"]}}, {"runAsNonRoot": False},
         {"capabilities": {"add": ["CHOWN"]}}, {"seccompProfile": {"type": "Unconfined"}}, {"allowPrivilegeEscalation": None})
    )  # fmt: skip
    if case.rng.random() < 0.5:
        case.container_patch()["securityContext"] = breach
    else:
        name, value = case.rng.choice(
            (("hostNetwork", True), ("hostPID", True), ("volumes", [{"name": "h", "hostPath": {"path": "/"}}]),
             ("volumes", [{"name": "e", "emptyDir": {}}]), ("securityContext", {"runAsUser": 0}))
        )  # fmt: skip
        case.either(case.spec(), case.pod_patch(), name, value)


def limit_ranges(case: Draft) -> None:
    item: Object = {"type": "Container"}
    kind = case.rng.random()
    if kind < 0.5:
        amount = case.rng.choice(("1Gi", "4Gi", "16Gi"))
        item["default"], item["defaultRequest"] = {"memory": amount}, {"memory": case.rng.choice(("1Gi", amount))}
        if case.rng.random() < 0.6:
            case.container()["resources"].get("limits", {}).pop("memory", None)  # a rule before may have left nothing
    elif kind < 0.75:
        most = case.rng.choice(("2", "4Gi"))
        name = "memory" if most.endswith("i") else "cpu"
        item["max"] = {name: most}
        item["default"] = item["defaultRequest"] = {name: most}
    else:
        item = {"type": case.rng.choice(("Container", "Pod")), "min": {"memory": "4Gi"}}
        if item["type"] == "Container":
            item["defaultRequest"] = {"memory": "4Gi"}
    case.add("LimitRange", "range", NAMESPACE, spec={"limits": [item]})
    if case.rng.random() < 0.4:
        case.container_patch()["resources"] = {"requests": {"memory": case.rng.choice(("2Gi", "6Gi", "20Gi"))}}


# --- volumes ---------------------------------------------------------------------------------------------------------


def storage_class(case: Draft) -> None:
    if not any(item["kind"] == "StorageClass" for item in case.items):
        more: Object = {}
        if case.rng.random() < 0.2:
            expression = {"key": "topology.kubernetes.io/zone", "values": [case.rng.choice(("zone-a", "zone-b"))]}
            more["allowedTopologies"] = [{"matchLabelExpressions": [expression]}]
        mode = {"volumeBindingMode": "WaitForFirstConsumer"}
        case.add("StorageClass", LATE, provisioner="pd.csi.storage.gke.io", **mode, **more)
        case.add("StorageClass", "local", provisioner="kubernetes.io/no-provisioner", **mode)


def claim_spec(size: str = "5Gi", name: str = LATE, mode: str = "ReadWriteOnce") -> Object:
    return {"accessModes": [mode], "resources": {"requests": {"storage": size}}, "storageClassName": name}


def mount(spec: Object, *names: str) -> None:
    spec["volumes"] = [{"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}} for name in names]


def claim_templates(case: Draft) -> None:
    item = case.be("StatefulSet")
    storage_class(case)
    templates = [
        {"metadata": {"name": name}, "spec": claim_spec()} for name in ("data", "logs")[: case.rng.choice((1, 1, 2))]
    ]
    item["spec"]["volumeClaimTemplates"] = templates
    kind = case.rng.random()
    if kind < 0.5:
        case.patch()["replicas"] = item["spec"]["replicas"] + case.rng.randint(0, 3)
    if kind < 0.15:
        item["spec"]["replicas"] = 0
    if kind > 0.8:
        case.pod_patch()["nodeSelector"] = {"topology.kubernetes.io/zone": "zone-a"}
    if case.rng.random() < 0.35:
        hard = case.rng.choice(
            ({"persistentvolumeclaims": str(case.rng.randint(1, 6))}, {"requests.storage": f"{case.rng.randint(5, 30)}Gi"},
             {f"{LATE}.storageclass.storage.k8s.io/requests.storage": f"{case.rng.randint(5, 30)}Gi"},
             {"count/persistentvolumeclaims": str(case.rng.randint(1, 6))})
        )  # fmt: skip
        case.quota(hard)


def late_claim(case: Draft) -> None:
    """A claim that all pods share, bound late; with a new one in the change at times."""
    case.be(case.rng.choice(("Deployment", "Deployment", "DaemonSet")))
    storage_class(case)
    mode = case.rng.choice(("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"))
    for name in ("models", "models2"):
        case.add("PersistentVolumeClaim", name, NAMESPACE, spec=claim_spec(mode=mode), status={"phase": "Pending"})
    if case.rng.random() < 0.5:
        mount(case.spec(), "models")
    if case.rng.random() < 0.6:
        mount(case.pod_patch(), case.rng.choice(("models", "models2")))
    if case.rng.random() < 0.15:
        mount(case.pod_patch(), "lost")
    if case.rng.random() < 0.3:
        case.add("PersistentVolume", "unrelated", spec={
            "capacity": {"storage": "100Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "elsewhere",
            "csi": {"driver": "x", "volumeHandle": "y"},
        }, status={"phase": "Available"})  # fmt: skip


def local_volumes(case: Draft) -> None:
    """Volumes made by hand on nodes; a StatefulSet's claims are bound to them."""
    item = case.be("StatefulSet")
    storage_class(case)
    item["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim_spec(name="local")}]
    for number in range(case.rng.randint(1, 5)):
        node = case.rng.choice(case.nodes())
        expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node["metadata"]["name"]]}
        case.add("PersistentVolume", f"local-{number}", spec={
            "capacity": {"storage": case.rng.choice(("5Gi", "10Gi", "1Gi"))}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local", "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }, status={"phase": "Available"})  # fmt: skip
    if case.rng.random() < 0.5:
        case.patch()["replicas"] = item["spec"]["replicas"] + case.rng.randint(0, 2)


def volume_limits(case: Draft) -> None:
    case.rng.choice((claim_templates, late_claim, late_claim))(case)
    most = case.rng.choice((1, 1, 2, 3))
    for node in case.nodes():
        if case.rng.random() < 0.9:
            driver = {
                "name": "pd.csi.storage.gke.io",
                "nodeID": node["metadata"]["name"],
                "allocatable": {"count": most},
            }
            case.add("CSINode", node["metadata"]["name"], spec={"drivers": [driver]})
    if case.rng.random() < 0.5:
        case.add("PersistentVolumeClaim", "theirs", "other", spec=claim_spec(), status={"phase": "Pending"})
        for pod in case.neighbours[:1]:
            mount(pod["spec"], "theirs")


def ephemeral_volume(case: Draft) -> None:
    storage_class(case)
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim_spec()}}}
    case.either(case.spec(), case.pod_patch(), "volumes", [volume])


# --- devices ---------------------------------------------------------------------------------------------------------


def with_devices(case: Draft, *, claims: bool = True) -> None:
    """Devices of a driver in place of the nodes' extended resource; each pod asks for some by a claim."""
    if any(item["kind"] == "DeviceClass" for item in case.items):
        return
    count = case.rng.choice((1, 2, 4, 6))
    for node in case.nodes():
        if node["status"]["allocatable"].pop(GPU, None) is not None:
            add_slice(case, node, count)
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    case.add("DeviceClass", CLASS, spec={"selectors": [selector]})
    for pod in case.neighbours:
        without_extended(pod["spec"])
    if not claims:
        return
    for index in range(len(case.workloads)):
        without_extended(case.spec(index))
        for container in case.pod_patch(index).get("containers") or []:
            if "resources" in container:
                del container["resources"]
        case.spec(index)["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
        case.container(index)["resources"]["claims"] = [{"name": "gpu"}]
    template(case, "one", {"count": 1})


def without_extended(spec: Object) -> None:
    for container in spec["containers"]:
        for amounts in container["resources"].values():
            if isinstance(amounts, dict):
                amounts.pop(GPU, None)


def add_slice(case: Draft, node: Object, count: int) -> Object:
    name = node["metadata"]["name"]
    devices: list[Object] = [
        {
            "name": f"gpu{number}",
            "attributes": {"model": {"string": case.rng.choice(("A100", "L4"))}, "index": {"int": number}},
            "capacity": {"memory": {"value": case.rng.choice(("24Gi", "80Gi"))}},
        }
        for number in range(count)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    return case.add("ResourceSlice", f"slice-{name}", spec=spec)


def template(case: Draft, name: str, *requests: Object, **more: Any) -> None:
    listed = [
        {"name": f"r{number}", "exactly": {"deviceClassName": CLASS, "allocationMode": "ExactCount", **request}}
        if "firstAvailable" not in request
        else {"name": f"r{number}", **request}
        for number, request in enumerate(requests)
    ]
    case.add("ResourceClaimTemplate", name, NAMESPACE, spec={"spec": {"devices": {"requests": listed, **more}}})


def use_template(case: Draft, name: str) -> None:
    claims: list[Object] = [{"name": "gpu", "resourceClaimTemplateName": name}]
    if case.rng.random() < 0.5:
        case.spec()["resourceClaims"] = claims
    else:
        case.pod_patch()["resourceClaims"] = [{**claims[0], "resourceClaimName": None}]


def slices(case: Draft) -> list[Object]:
    return [item for item in case.items if item["kind"] == "ResourceSlice"]


def extended_devices(case: Draft) -> None:
    """The extended resource comes from a DeviceClass; on some nodes from a device plugin still."""
    before = {node["metadata"]["name"]: node["status"]["allocatable"].get(GPU) for node in case.nodes()}
    with_devices(case, claims=False)
    device_class = next(item for item in case.items if item["kind"] == "DeviceClass")
    device_class["spec"]["extendedResourceName"] = GPU
    if case.rng.random() < 0.3:
        for node in case.nodes()[:1]:
            if before[node["metadata"]["name"]]:
                node["status"]["allocatable"][GPU] = before[node["metadata"]["name"]]
                case.items.remove(next(s for s in slices(case) if s["spec"]["nodeName"] == node["metadata"]["name"]))
    if case.rng.random() < 0.3:
        start: Object = {
            "name": "warm",
            "image": "w",
            "resources": {kind: {GPU: "1"} for kind in ("requests", "limits")},
        }
        if case.rng.random() < 0.5:
            start["restartPolicy"] = "Always"
        case.spec()["initContainers"] = [start]
    if case.rng.random() < 0.25:
        case.quota({f"requests.{GPU}": str(case.rng.randint(1, 6))})


def shared_claim(case: Draft) -> None:
    with_devices(case)
    case.add(
        "ResourceClaim", "shared", NAMESPACE, status={},
        spec={"devices": {"requests": [{"name": "r", "exactly": {
            "deviceClassName": CLASS, "allocationMode": "ExactCount", "count": case.rng.choice((1, 1, 2)),
        }}]}},
    )  # fmt: skip
    shared = [{"name": "gpu", "resourceClaimName": "shared", "resourceClaimTemplateName": None}]
    kind = case.rng.random()
    if kind < 0.7:
        case.spec()["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "shared"}]
    else:
        case.pod_patch()["resourceClaims"] = shared
    if kind < 0.2:
        case.pod_patch()["nodeSelector"] = {"topology.kubernetes.io/zone": case.rng.choice(("zone-a", "zone-b"))}
    if kind > 0.9:
        case.pod_patch()["resourceClaims"][0]["resourceClaimName"] = "lost"


def cel_errors(case: Draft) -> None:
    """A selector that fails on devices that lack the attribute, of this driver or of another."""
    with_devices(case)
    expression = case.rng.choice(
        (f"device.attributes['{DRIVER}'].model == 'A100'", f"device.attributes['{DRIVER}'].index >= 1",
         f"'model' in device.attributes['{DRIVER}'] && device.attributes['{DRIVER}'].model == 'L4'",
         f"device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0")
    )  # fmt: skip
    for part in slices(case):
        if case.rng.random() < 0.3:
            (part["spec"].get("devices") or [{}])[-1].get("attributes", {}).pop("model", None)
    template(case, "choosy", {"count": 1, "selectors": [{"cel": {"expression": expression}}]})
    use_template(case, "choosy")


def device_quotas(case: Draft) -> None:
    with_devices(case)
    hard = case.rng.choice(
        ({f"{CLASS}.deviceclass.resource.k8s.io/devices": str(case.rng.randint(1, 6))},
         {"count/resourceclaims.resource.k8s.io": str(case.rng.randint(1, 6))},
         {f"requests.deviceclass.resource.kubernetes.io/{CLASS}": str(case.rng.randint(1, 6))})
    )  # fmt: skip
    case.quota(hard)
    if case.rng.random() < 0.3:
        sub = {"deviceClassName": CLASS, "allocationMode": "ExactCount"}
        template(
            case, "either", {"firstAvailable": [{"name": "two", "count": 2, **sub}, {"name": "one", "count": 1, **sub}]}
        )
        use_template(case, "either")


def incomplete_pools(case: Draft) -> None:
    with_devices(case)
    for part in slices(case):
        if case.rng.random() < 0.5:
            part["spec"]["pool"]["resourceSliceCount"] = 2
    if case.rng.random() < 0.3:
        template(case, "everything", {"allocationMode": "All"})
        use_template(case, "everything")


def combinations(case: Draft) -> None:
    """Several devices at once: constraints, alternatives, counters, taints, all of a node, admin access."""
    with_devices(case)
    sub = {"deviceClassName": CLASS, "allocationMode": "ExactCount"}
    a100 = [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'A100'"}}]
    kind = case.rng.choice(("match", "match", "distinct", "alternatives", "counters", "taints", "all", "admin", "two"))
    if kind in ("match", "distinct"):
        constraint = {f"{kind}Attribute": f"{DRIVER}/model"}
        template(case, "several", {"count": 2}, constraints=[constraint])
    elif kind == "two":
        template(case, "several", {"count": 1}, {"count": 1, "selectors": a100})
    elif kind == "alternatives":
        first = {"name": "big", "count": 1, "selectors": a100, **sub}
        template(case, "several", {"firstAvailable": [first, {"name": "two", "count": 2, **sub}]})
    elif kind == "all":
        template(case, "several", {"allocationMode": "All"})
    elif kind == "admin":
        template(case, "several", {"count": 1, "adminAccess": True})
        for item in case.items:
            if item["kind"] == "Namespace":
                item["metadata"]["labels"]["resource.kubernetes.io/admin-access"] = "true"
    else:
        toleration = [{"key": "sick", "operator": "Exists"}] if case.rng.random() < 0.4 else []
        template(case, "several", {"count": 1, "tolerations": toleration})
        for part in slices(case):
            split(case, part) if kind == "counters" else taint(case, part)
    use_template(case, "several")


def taint(case: Draft, part: Object) -> None:
    for device in part["spec"].get("devices") or []:
        if case.rng.random() < 0.4:
            device["taints"] = [
                {"key": "sick", "value": "yes", "effect": case.rng.choice(("NoSchedule", "NoExecute", "None"))}
            ]


def split(case: Draft, part: Object) -> None:
    """Parts of one GPU, and the whole of it, in one pool."""
    spec = part["spec"]
    uses = [("mig0", "10Gi"), ("mig1", "10Gi"), ("mig2", "20Gi"), ("whole", "40Gi")]
    spec["devices"] = [
        {"name": name, "consumesCounters": [{"counterSet": "g", "counters": {"mem": {"value": size}}}]}
        for name, size in uses
    ]
    spec["pool"]["resourceSliceCount"] = 2
    counters = [{"name": "g", "counters": {"mem": {"value": "40Gi"}}}]
    shared = {"driver": DRIVER, "pool": dict(spec["pool"]), "nodeName": spec["nodeName"], "sharedCounters": counters}
    case.add("ResourceSlice", f"{part['metadata']['name']}-counters", spec=shared)


RULES: dict[str, Rule] = {
    "1 minReadySeconds": min_ready,
    "2 ExtendedResourceToleration": gke_toleration,
    "3 undo": undo,
    "4 pause and resume": paused,
    "5 volumeClaimTemplates": claim_templates,
    "6 extended resources of DRA": extended_devices,
    "7 RuntimeClass": runtime_class,
    "8 quota unstated": unstated,
    "9 object counts": object_counts,
    "10 PodSecurity": pod_security,
    "11 CSI limits": volume_limits,
    "12 late-bound claims": late_claim,
    "13 shared claims": shared_claim,
    "14 CEL": cel_errors,
    "15 DRA quotas": device_quotas,
    "16 incomplete pools": incomplete_pools,
    "17 device combinations": combinations,
    "18 LimitRange": limit_ranges,
    "19 resize in place": resized,
    "20 other scheduler": other_scheduler,
    "21 nothing changes": nothing_changes,
    "quota scopes": quota_scopes,
    "priority classes": priorities,
    "scheduling gates": gates,
    "local volumes": local_volumes,
    "ephemeral volumes": ephemeral_volume,
}
# These say which change is made: of each case at most one, and it comes first.
LEADING = ("3 undo", "4 pause and resume", "21 nothing changes")


# These don't care what kind of workload they meet.
ANY_KIND = ("10 PodSecurity", "18 LimitRange", "2 ExtendedResourceToleration", "7 RuntimeClass", "8 quota unstated", "priority classes", "quota scopes", "scheduling gates")  # fmt: skip


def ruled_case(seed: int) -> Case:
    """A small cluster with a rollout that some rules decide; the same for the same seed."""
    rng = random.Random(f"ruled {seed}")
    ground, items, workloads, changes, neighbours, never_ready = draft(rng)
    case = Draft(rng, ground, items, workloads, changes, neighbours, never_ready)
    if rng.random() < 0.75:
        widen(case)
    for name in (NAMESPACE, "other"):
        case.add("Namespace", name).setdefault("metadata", {})["labels"] = {"kubernetes.io/metadata.name": name}
    names = rng.sample(sorted(RULES), rng.choice((1, 1, 2, 2, 3)))
    names.sort(key=lambda name: name not in LEADING)
    names = [name for place, name in enumerate(names) if place == 0 or name not in LEADING]
    applied = []
    for name in names:
        try:
            RULES[name](case)
        except Conflict:
            continue
        applied.append(name)
        case.is_settled = case.is_settled or name not in ANY_KIND
    for index in range(len(case.workloads)):
        stay_valid(case, index)
    try:
        dumped = grow(case.items, case.neighbours, seed)
    except Restless:
        return ruled_case(seed + 1_000_000)
    if case.before:
        dumped = play_before(dumped, case, seed)
        if "3 undo" in names:
            case.never_ready = []
    for later in case.later:
        later(dumped)
        count_use(dumped)
    made = Case(dumped, case.changes, case.never_ready, tuple(applied))
    accelerator = rng.choice(ACCELERATORS)
    if accelerator != GPU:
        text = json.dumps([made.items, made.changes]).replace(GPU, accelerator)
        renamed, changed = json.loads(text)
        made = Case(renamed, changed, made.never_ready, made.rules)
    return made


def stay_valid(case: Draft, index: int) -> None:
    """The API server takes no template that asks for more than its limits, nor another host port in the host's network:
    such a change keeps the resources, and such pods the network of their own."""
    if case.spec(index)["containers"][0].get("ports"):
        case.spec(index).pop("hostNetwork", None)
        case.pod_patch(index).pop("hostNetwork", None)
    merged = strategic_merge(case.workloads[index], case.changes[index]["patch"])
    try:
        validate({"spec": merged["spec"]["template"]["spec"]})
    except Refused:
        for container in case.pod_patch(index).get("containers") or []:
            container.pop("resources", None)


def widen(case: Draft) -> None:
    """More room on each node, so that it is the rules that decide."""
    for node in case.nodes():
        room = node["status"]["allocatable"]
        room |= {"cpu": "64", "memory": "256Gi"}
        if GPU in room:
            room[GPU] = str(int(room[GPU]) * 4)
        node["spec"].pop("unschedulable", None)


def play_before(items: list[Object], case: Draft, seed: int) -> list[Object]:
    """The cluster some ticks into other changes; the pods that never got Ready in them are shown broken."""
    simulation = Simulation(items, case.never_ready, seed)
    simulation.apply(case.before)
    simulation.settle()
    for _ in range(case.ticks):
        if not simulation.advance():
            break
        simulation.settle()
    while any(simulation.is_waited_for(pod) for pod in simulation.cluster.of("Pod")):
        simulation.advance()
        simulation.settle()
    return dump_midway(simulation)
