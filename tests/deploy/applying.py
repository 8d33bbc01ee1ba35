"""Objects of a cluster, what was applied to them before, and a manifest to apply now, drawn at random; and who applies it: a real
kubectl, which works out the patch, or has the API server do it (`tests.deploy.server_side`).

An object is as it was applied, then as the API server fills it in, then as others changed it: an autoscaler, ``kubectl edit``,
``kubectl scale``, a webhook with its sidecar. The manifest is what was applied, with some fields left out, changed, added, null
or in another order.
"""

from __future__ import annotations

import copy
import json
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import yaml

from planner.ground.errors import ChangeError
from planner.inventory.change import read_workload_document
from planner.inventory.change_validation import check_workload
from planner.inventory.kubectl_apply import read_manifest
from planner.kubernetes.object_records import Workload
from tests.builders.objects import read_items
from tests.deploy import kubectl
from tests.deploy.control_plane import ControlPlane, Resource
from tests.deploy.server_side import owners
from tests.sources.api_server import api_server

Item = dict[str, Any]
LAST: Final = "kubectl.kubernetes.io/last-applied-configuration"
GPU: Final = "nvidia.com/gpu"
NAMESPACE: Final = "ml"
KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet")
SERVER_SIDE: Final = "server-side"
RECORDS: Final = ("annotation", "annotation", "none", SERVER_SIDE)
RESOURCES: Final = [Resource(kind, "apps", has_scale=True) for kind in KINDS]


@dataclass(frozen=True)
class Case:
    """`there`: the object that is live. `given`: what is applied. `record`: where it stands what was applied before."""

    name: str
    record: str
    there: Item
    given: Item


def drawn(count: int, seed: int = 0) -> list[Case]:
    """That many cases."""
    return [_case(random.Random(f"{seed} {number}"), f"web-{number}") for number in range(count)]


def _case(chance: random.Random, name: str) -> Case:
    record = chance.choice(RECORDS)
    before = _applied(chance, chance.choice(KINDS), name)
    given = copy.deepcopy(before)
    for change in chance.choices(_CHANGES, k=chance.randint(0, 4)):
        change(chance, given)
    if record != SERVER_SIDE and chance.random() < 0.4:
        chance.choice(_ODDITIES)(chance, given)
    there = _live(before)
    others = chance.choices(_OTHERS, k=chance.randint(0, 3))
    changed = copy.deepcopy(there)
    for other in others:
        other(chance, changed)
    if record == "annotation":
        changed["metadata"]["annotations"] = {LAST: json.dumps(before)}
    elif record == SERVER_SIDE:
        changed["metadata"]["managedFields"] = owners(before, there, changed, scaled_by="kube-controller-manager")
    return Case(name, record, changed, given)


# ── what was applied ─────────────────────────────────────────────────────────────────────────────────────────────────
def _maybe(chance: random.Random, likely: float, **fields: Any) -> Item:
    return {key: copy.deepcopy(value) for key, value in fields.items() if chance.random() < likely}


def _container(chance: random.Random, name: str) -> Item:
    amounts = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "2Gi", GPU: "4"}}
    resources = _maybe(chance, 0.7, **amounts)
    return {
        "name": name, "image": "app:1",
        **_maybe(
            chance, 0.5, env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], args=["--serve"],
            ports=[{"containerPort": 80}, {"containerPort": 90, "hostPort": 90 + len(name)},
                   {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}], resources=resources,
            securityContext={"runAsUser": 5, "privileged": False}, command=["run"],
            readinessProbe={"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
            lifecycle={"preStop": {"exec": {"command": ["sleep", "5"]}}},
        ),
    }  # fmt: skip


def _pod_spec(chance: random.Random) -> Item:
    containers = [_container(chance, name) for name in ("main", "logs2", "mesh-90")[: chance.randint(1, 3)]]
    spread = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a100"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    volumes = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "conf", "configMap": {"name": "conf"}}]
    init = [
        {"name": "warm", "image": "init:1", "resources": {"requests": {"cpu": "1"}}},
        {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}},
    ]
    return {
        "containers": containers,
        **_maybe(
            chance, 0.4, initContainers=init, volumes=volumes, nodeSelector={"disk": "ssd", "pool": "gpu"},
            tolerations=[{"key": "gpu", "operator": "Exists"}, {"key": "spot", "operator": "Exists"}], affinity={"nodeAffinity": required},
            topologySpreadConstraints=[spread], priorityClassName="high", terminationGracePeriodSeconds=60, hostNetwork=False,
            runtimeClassName="nvidia", schedulerName="other", resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}],
            imagePullSecrets=[{"name": "pull"}], serviceAccountName="runner", securityContext={"runAsUser": 7}, schedulingGates=[{"name": "wait"}],
        ),
    }  # fmt: skip


def _applied(chance: random.Random, kind: str, name: str) -> Item:
    """As somebody applies it."""
    rolling = _maybe(chance, 0.6, maxSurge=2, maxUnavailable=0) if kind != "StatefulSet" else {"partition": 1}
    metadata = {"labels": {"app": "web", "tier": "b"}, **_maybe(chance, 0.4, annotations={"note": "a"})}
    spec: Item = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": metadata, "spec": _pod_spec(chance)},
    }
    if chance.random() < 0.6:
        strategy = {"type": "RollingUpdate", **_maybe(chance, 0.7, rollingUpdate=rolling)}
        spec["strategy" if kind == "Deployment" else "updateStrategy"] = strategy
    if kind != "DaemonSet":
        spec |= _maybe(chance, 0.6, replicas=3)
    if kind == "StatefulSet":
        spec |= {"serviceName": "web", **_maybe(chance, 0.4, podManagementPolicy="Parallel")}
    if kind == "Deployment":
        spec |= _maybe(chance, 0.4, progressDeadlineSeconds=300, paused=True)
    spec |= _maybe(chance, 0.4, minReadySeconds=5, revisionHistoryLimit=3)
    labels = {"team": "a", "tier": "b"}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


# ── what the API server fills in, and what others change ─────────────────────────────────────────────────────────────
def _live(before: Item) -> Item:
    """With the API server's defaults (kubernetes `pkg/apis/{apps,core}/v1/defaults.go`), as far as they count here."""
    made = copy.deepcopy(before)
    spec, pods = made["spec"], made["spec"]["template"]["spec"]
    for key, value in {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
                       "terminationGracePeriodSeconds": 30, "securityContext": {}}.items():  # fmt: skip
        pods.setdefault(key, value)
    for one in (*pods["containers"], *pods.get("initContainers", ())):
        one |= {
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePolicy": "File",
            "terminationMessagePath": "/dev/termination-log",
        }
        resources = one.setdefault("resources", {})
        if GPU in resources.get("limits", {}):
            resources.setdefault("requests", {}).setdefault(GPU, resources["limits"][GPU])
        for port in one.get("ports", ()):
            port.setdefault("protocol", "TCP")
    for volume in pods.get("volumes", ()):
        volume.get("configMap", {}).setdefault("defaultMode", 420)
    kind = made["kind"]
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    rolling: Item = {
        "Deployment": {"maxSurge": "25%", "maxUnavailable": "25%"},
        "DaemonSet": {"maxSurge": 0, "maxUnavailable": 1},
    }
    strategy = spec.setdefault(field, {"type": "RollingUpdate"})
    strategy["rollingUpdate"] = {**rolling.get(kind, {"partition": 0}), **strategy.get("rollingUpdate", {})}
    spec.setdefault("revisionHistoryLimit", 10)
    if kind == "Deployment":
        spec.setdefault("progressDeadlineSeconds", 600)
    if kind != "DaemonSet":
        spec.setdefault("replicas", 1)
    return made


def _first(one: Item) -> Item:
    found: Item = one["spec"]["template"]["spec"]["containers"][0]
    return found


def _pods(one: Item) -> Item:
    found: Item = one["spec"]["template"]["spec"]
    return found


def _scale(chance: random.Random, one: Item) -> None:
    if "replicas" in one["spec"]:
        one["spec"]["replicas"] = chance.randint(0, 9)


def _edit_resources(chance: random.Random, one: Item) -> None:
    _first(one).setdefault("resources", {}).setdefault("requests", {})["cpu"] = "7"


def _edit_memory(chance: random.Random, one: Item) -> None:
    _first(one).setdefault("resources", {}).setdefault("limits", {})["ephemeral-storage"] = "7Gi"


def _set_env(chance: random.Random, one: Item) -> None:
    _first(one).setdefault("env", []).append({"name": "C", "value": "3"})


def _set_image(chance: random.Random, one: Item) -> None:
    _first(one)["image"] = "app:9"


def _edit_selector(chance: random.Random, one: Item) -> None:
    _pods(one).setdefault("nodeSelector", {})["zone"] = "a"


def _edit_tolerations(chance: random.Random, one: Item) -> None:
    _pods(one).setdefault("tolerations", []).append({"key": "edited", "operator": "Exists"})


def _webhook(chance: random.Random, one: Item) -> None:
    mesh = {"name": "sidecar", "image": "mesh:1", "resources": {"requests": {"cpu": "100m"}}}
    containers = _pods(one)["containers"]
    if all(each["name"] != "sidecar" for each in containers):
        containers.insert(chance.choice((0, len(containers))), mesh)


def _edit_label(chance: random.Random, one: Item) -> None:
    one["metadata"]["labels"]["by"] = "somebody-else"


def _edit_strategy(chance: random.Random, one: Item) -> None:
    if one["kind"] == "Deployment":
        one["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = 5


def _edit_away(chance: random.Random, one: Item) -> None:
    _pods(one).pop(chance.choice(("nodeSelector", "tolerations", "priorityClassName")), None)


def _edit_volume(chance: random.Random, one: Item) -> None:
    for volume in _pods(one).get("volumes", ()):
        if "emptyDir" in volume:
            volume["emptyDir"]["medium"] = "Memory"


def _restart(chance: random.Random, one: Item) -> None:
    metadata = one["spec"]["template"]["metadata"]
    metadata.setdefault("annotations", {})["kubectl.kubernetes.io/restartedAt"] = "2026-11-20T00:00:00Z"


_Change = Callable[[random.Random, Item], None]
_OTHERS: Final[tuple[_Change, ...]] = (
    _scale, _edit_resources, _edit_memory, _set_env, _set_image, _edit_selector, _edit_tolerations, _webhook, _edit_label, _edit_strategy,
    _edit_away, _edit_volume, _restart,
)  # fmt: skip


# ── what the manifest says otherwise ─────────────────────────────────────────────────────────────────────────────────
def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Each place of a document: what holds it, its key there, its path."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(pairs):
        yield value, key, (*above, key)
        yield from _places(one, (*above, key))


_STAY: Final = {"name", "image", "selector", "template", "containers", "metadata", "matchLabels", "labels", "serviceName", "type",
                "containerPort", "spec", "topologyKey", "maxSkew", "whenUnsatisfiable", "nodeSelectorTerms", "key", "operator",
                "resourceClaimName", "httpGet", "port", "preStop", "exec", "command", "requiredDuringSchedulingIgnoredDuringExecution",
                "matchExpressions", "values", "emptyDir", "configMap", "app", "protocol"}  # fmt: skip


def _somewhere(chance: random.Random, one: Item) -> tuple[Any, Any]:
    both = [{"containerPort": 53, "protocol": one} for one in ("UDP", "TCP")]  # kubectl takes both away for one
    places = [
        (above, key) for above, key, path in _places(one["spec"])
        if key not in _STAY and above[key] not in both and path[-2:] != ("containers", 0) and not {"values", "command", "nodeSelectorTerms"} & set(path)
    ]  # fmt: skip
    return chance.choice(places)


def _leave_out(chance: random.Random, one: Item) -> None:
    above, key = _somewhere(chance, one)
    del above[key]


def _null(chance: random.Random, one: Item) -> None:
    above, key = _somewhere(chance, one)
    if isinstance(above, dict):
        above[key] = None


def _bigger(chance: random.Random, one: Item) -> None:
    first = _first(one)
    first["resources"] = {**(first.get("resources") or {}), "limits": {GPU: "8"}}


def _smaller(chance: random.Random, one: Item) -> None:
    first = _first(one)
    first["resources"] = {"requests": {"cpu": "1"}}


def _replicas(chance: random.Random, one: Item) -> None:
    if one["kind"] != "DaemonSet":
        one["spec"]["replicas"] = chance.randint(0, 6)


def _strategy(chance: random.Random, one: Item) -> None:
    if one["kind"] == "Deployment":
        kinds: tuple[Item, ...] = (
            {"type": "Recreate"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            {"rollingUpdate": {"maxUnavailable": 1}},
        )
        one["spec"]["strategy"] = copy.deepcopy(chance.choice(kinds))
    else:
        kinds = ({"type": "OnDelete", "rollingUpdate": None}, {"type": "RollingUpdate"})
        one["spec"]["updateStrategy"] = copy.deepcopy(chance.choice(kinds))


def _more_containers(chance: random.Random, one: Item) -> None:
    name = chance.choice(("mesh-90", "sidecar", "another-one"))
    containers = _pods(one)["containers"]
    if all(each["name"] != name for each in containers):
        containers.insert(chance.randint(0, len(containers)), _container(chance, name))


def _reorder(chance: random.Random, one: Item) -> None:
    lists = [above[key] for above, key, _ in _places(one["spec"]) if isinstance(above[key], list)]
    chance.shuffle(chance.choice(lists))


def _more_init(chance: random.Random, one: Item) -> None:
    init = _pods(one).get("initContainers") or []
    if all(each["name"] != "last" for each in init):
        _pods(one)["initContainers"] = [
            *init,
            {"name": "last", "image": "x:1", "resources": {"requests": {"memory": "9Gi"}}},
        ]


def _volume(chance: random.Random, one: Item) -> None:
    kinds = (
        {"hostPath": {"path": "/tmp"}},
        {"emptyDir": {"medium": "Memory"}},
        {"persistentVolumeClaim": {"claimName": "c"}},
    )
    others = [each for each in _pods(one).get("volumes") or () if each["name"] != "scratch"]
    _pods(one)["volumes"] = [*others, {"name": "scratch", **copy.deepcopy(chance.choice(kinds))}]


def _selector(chance: random.Random, one: Item) -> None:
    _pods(one)["nodeSelector"] = chance.choice(({"disk": "hdd"}, {"disk": "ssd", "new": "1"}, {}))


def _tolerations(chance: random.Random, one: Item) -> None:
    _pods(one)["tolerations"] = chance.choice(([], [{"key": "new", "operator": "Exists"}]))


def _env(chance: random.Random, one: Item) -> None:
    _first(one)["env"] = chance.choice(
        ([{"name": "A", "value": "9"}], [], [{"name": "A", "value": "1"}, {"name": "D", "value": "4"}])
    )


def _spread(chance: random.Random, one: Item) -> None:
    soft = {
        "topologyKey": "host",
        "maxSkew": 2,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    _pods(one)["topologySpreadConstraints"] = [soft]


def _claims(chance: random.Random, one: Item) -> None:
    _pods(one)["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "each"}]


def _annotations(chance: random.Random, one: Item) -> None:
    one["spec"]["template"]["metadata"]["annotations"] = chance.choice(({}, {"note": "b"}, {"other": "c"}))


_CHANGES: Final[tuple[_Change, ...]] = (
    *(_leave_out,) * 6, _bigger, _smaller, _replicas, _strategy, _more_containers, _more_init, _volume, _selector,
    _tolerations, _env, _spread, _claims, _annotations,
)  # fmt: skip


# What is compared on kubectl's side of the wire only: the API server refuses it, or has an order of its own
def _delete_by_hand(chance: random.Random, one: Item) -> None:
    containers = _pods(one)["containers"]
    if len(containers) > 1:
        containers[-1] = {"name": containers[-1]["name"], "$patch": "delete"}


def _twice(chance: random.Random, one: Item) -> None:
    _first(one)["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]


def _part(chance: random.Random, one: Item) -> None:
    first = _first(one)
    one["spec"] = {"template": {"spec": {"containers": [{"name": first["name"], "image": "app:3"}]}}}


def _only_replicas(chance: random.Random, one: Item) -> None:
    one["spec"] = {"replicas": 5} if one["kind"] != "DaemonSet" else {"minReadySeconds": 9}


def _no_metadata(chance: random.Random, one: Item) -> None:
    del one["metadata"]["labels"]


_ODDITIES: Final[tuple[_Change, ...]] = (
    _null, _null, _reorder, _reorder, _delete_by_hand, _twice, _part, _only_replicas, _no_metadata,
)  # fmt: skip


# ── who applies it ───────────────────────────────────────────────────────────────────────────────────────────────────
def applied_by_kubectl(cases: Sequence[Case], binary: Path, folder: Path) -> tuple[dict[str, Item], str]:
    """Each object after a real ``kubectl apply`` of its manifest, by name, and what kubectl said."""
    plane, said = ControlPlane(RESOURCES, lambda item: dict(item.get("status") or {})), ""
    for case in cases:
        plane.put(case.there)
    with api_server(plane.play) as (configuration, _):
        for options in ([], ["--server-side", "--force-conflicts"]):
            mine = [case.given for case in cases if (case.record == SERVER_SIDE) is bool(options)]
            (folder / "given.yaml").write_text(yaml.safe_dump_all(mine), encoding="utf-8")
            done = subprocess.run(
                [str(binary / "kubectl"), "apply", "-f", "given.yaml", "--server", str(configuration.host), *options],
                cwd=folder, check=False, capture_output=True, text=True, timeout=600,
                env={"PATH": f"{binary}:/usr/bin:/bin", "HOME": str(folder), "KUBECONFIG": str(folder / "none")},
            )  # fmt: skip
            said += done.stderr
    found = {case.name: plane.get(case.there["kind"], case.name) for case in cases}
    return {name: one for name, one in found.items() if one is not None}, said


def applied_here(case: Case) -> Workload | None:
    """The workload as Headroom says it is after the manifest; None where it says that the API server refuses it."""
    try:
        [one] = read_manifest(yaml.safe_dump(case.given), read_items([case.there])).workloads
    except ChangeError:
        return None
    return one.after


_COMPARED: Final = ("labels", "replicas", "strategy", "min_ready_seconds", "progress_deadline_seconds", "revision_history_limit",
                    "is_paused", "pod_management_policy", "selector")  # fmt: skip


def differences(case: Case, applied: Item) -> list[str]:
    """What Headroom says otherwise than it stands in the object that the API server would hold."""
    here = applied_here(case)
    if here is None:
        return [] if _is_refused(case.there, applied) else ["refused"]
    right = read_items([applied]).workloads[0]
    mine, theirs = here.template, right.template
    found = [
        *_unlike(here, right, _COMPARED),
        *_unlike(mine.spec, theirs.spec, tuple(one.name for one in fields(mine.spec))),
    ]
    if not found and not mine.makes_the_same_pods(theirs):
        found.append(f"template: {mine.manifest!r} | {theirs.manifest!r}")
    return found


def _unlike(mine: object, theirs: object, names: Sequence[str]) -> list[str]:
    both = ((name, getattr(mine, name), getattr(theirs, name)) for name in names)
    return [f"{name}: {one} | {other}" for name, one, other in both if one != other]


def _is_refused(there: Item, applied: Item) -> bool:
    """Whether an object as a whole would be refused, where the one that was there wasn't."""
    before = read_items([there]).workloads[0]
    try:
        check_workload(before, read_workload_document(before.kind, {"kind": before.kind, **applied}, ""))
    except ChangeError:
        return True
    return False


def compared(count: int, seed: int = 0) -> Iterator[str]:
    """Of that many cases those in which Headroom says otherwise than a real kubectl does."""
    binary = kubectl.folder()
    assert binary is not None, kubectl.MISSING
    cases = drawn(count, seed)
    with tempfile.TemporaryDirectory() as folder:
        applied, said = applied_by_kubectl(cases, binary, Path(folder))
    assert "error" not in said.lower(), said
    for case in cases:
        if found := differences(case, applied[case.name]):
            yield "\n".join((f"{seed} {case.name} {case.record}", *found))
