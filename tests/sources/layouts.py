"""What support tools write of one small cluster: path → content, made here from the tools' own documentation.

Sources of the layouts: kubectl `cluster-info dump`, openshift/oc `adm inspect`, openshift/insights-operator
`docs/gathered-data.md`, replicatedhq/troubleshoot `cluster-resources`, vmware-tanzu/sonobuoy `docs/results`.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.inventory.objects import Object, a_list, gpu_node, named, pod, workload

Files = dict[str, bytes]

NODES = [gpu_node("gpu-0"), gpu_node("gpu-1")]
PODS = [pod("app-1", "gpu-0"), pod("app-2"), pod("web-1", "gpu-1", namespace="dev")]
DEPLOYMENTS = [
    workload(replicas=2, strategy={"type": "RollingUpdate"}),
    workload(name="web", namespace="dev", strategy={"type": "RollingUpdate"}),
]
QUOTA = named("ResourceQuota", namespace="prod", spec={"hard": {"pods": "5"}})
SERVICE = named("Service", "app", "prod", spec={"ports": [{"port": 80}], "clusterIP": "10.0.0.1"})
OBJECTS = [*NODES, *PODS, *DEPLOYMENTS, QUOTA, SERVICE]
LOG = "one\ntwo\n"
FRAMED = f"==== START logs for container main of pod prod/app-1 ====\n{LOG}==== END logs for container main of pod prod/app-1 ====\n"


def bare(one: Object) -> Object:
    """Without kind and API version: an item of a typed list, or of an API client's answer."""
    return {key: value for key, value in one.items() if key not in ("kind", "apiVersion")}


def as_json(value: Any) -> bytes:
    return json.dumps(value, indent=4).encode()


def as_yaml(value: Any) -> bytes:
    return f"---\n{yaml.safe_dump(value)}".encode()


def typed(kind: str, items: Iterable[Object], api_version: str = "v1") -> Object:
    return {"kind": f"{kind}List", "apiVersion": api_version, "metadata": {}, "items": [bare(one) for one in items]}


def of(namespace: str, objects: Iterable[Object]) -> list[Object]:
    return [one for one in objects if one["metadata"]["namespace"] == namespace]


def dump_folder(write: Callable[[Any], bytes] = as_json, suffix: str = "json") -> Files:
    files = {f"nodes.{suffix}": write(typed("Node", NODES))}
    for namespace in ("dev", "prod"):
        files[f"{namespace}/pods.{suffix}"] = write(typed("Pod", of(namespace, PODS)))
        files[f"{namespace}/deployments.{suffix}"] = write(typed("Deployment", of(namespace, DEPLOYMENTS), "apps/v1"))
    files[f"prod/services.{suffix}"] = write(typed("Service", [SERVICE]))
    files[f"prod/resource-quota.{suffix}"] = write(typed("ResourceQuota", [QUOTA]))
    return files | {"prod/app-1/logs.txt": FRAMED.encode()}


def dump_stream(write: Callable[[Any], bytes] = as_json) -> bytes:
    """``kubectl cluster-info dump``: lists, then each pod's log in its frame; the log holds what looks like more."""
    tricky = FRAMED.replace(LOG, LOG + '{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "no"}}\nkind: Pod\n')
    lists = [typed("Node", NODES), typed("Service", [SERVICE]), typed("ResourceQuota", [QUOTA])]
    pods = [typed("Deployment", DEPLOYMENTS, "apps/v1"), typed("Pod", PODS)]
    return b"\n".join(write(one) for one in lists) + b"\n" + tricky.encode() + b"\n".join(map(write, pods)) + b"\n"


def must_gather() -> Files:
    root = "must-gather.local.123/quay-io-openshift-release-sha256-abc"
    files = {
        f"{root}/version": b"openshift/must-gather\n4.16",
        f"{root}/timestamp": b"2026-11-20",
        f"{root}/namespaces/prod/pods/app-1/main/main/logs/current.log": LOG.encode(),
        f"{root}/namespaces/prod/core/resourcequotas.yaml": as_yaml(typed("ResourceQuota", [QUOTA])),
        f"{root}/namespaces/prod/core/services.yaml": as_yaml(typed("Service", [SERVICE])),
    }
    for node in NODES:
        files[f"{root}/cluster-scoped-resources/core/nodes/{node['metadata']['name']}.yaml"] = as_yaml(node)
    for namespace in ("dev", "prod"):
        files[f"{root}/namespaces/{namespace}/apps/deployments.yaml"] = as_yaml(
            typed("Deployment", of(namespace, DEPLOYMENTS), "apps/v1")
        )
        for one in of(namespace, PODS):
            name = one["metadata"]["name"]
            files[f"{root}/namespaces/{namespace}/pods/{name}/{name}.yaml"] = as_yaml(one)
    return files


def support_bundle() -> Files:
    root = "support-bundle-2026-11-20/cluster-resources"
    files = {
        f"{root}/nodes.json": as_json(typed("Node", NODES)),
        f"{root}/resource-quota/prod.json": as_json(typed("ResourceQuota", [QUOTA])),
        f"{root}/services/prod.json": as_json(typed("Service", [SERVICE])),
        f"{root}/pods/logs/prod/app-1/main.log": LOG.encode(),
        f"{root}/auth-cani-list/prod.json": as_json([{"verbs": ["get"], "resources": ["pods"]}]),
        "support-bundle-2026-11-20/version.yaml": b"apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\n",
    }
    for namespace in ("dev", "prod"):
        files[f"{root}/pods/{namespace}.json"] = as_json([bare(one) for one in of(namespace, PODS)])  # as it once was
        files[f"{root}/deployments/{namespace}.json"] = as_json(
            typed("Deployment", of(namespace, DEPLOYMENTS), "apps/v1")
        )
    return files


def sonobuoy() -> Files:
    files = {
        "resources/cluster/core_v1_nodes.json": as_json(a_list(*NODES)),
        "resources/ns/prod/core_v1_services.json": as_json(a_list(SERVICE)),
        "resources/ns/prod/core_v1_resourcequotas.json": as_json(a_list(QUOTA)),
        "podlogs/prod/app-1/logs/main.txt": LOG.encode(),
        "hosts/gpu-0/healthz.json": b'{"status": 200}',
        "plugins/e2e/sonobuoy_results.yaml": b"name: e2e\nstatus: passed\nitems:\n- name: junit\n  status: passed\n",
        "meta/run.log": b"a run\n",
    }
    for namespace in ("dev", "prod"):
        files[f"resources/ns/{namespace}/core_v1_pods.json"] = as_json(a_list(*of(namespace, PODS)))
        files[f"resources/ns/{namespace}/apps_v1_deployments.json"] = as_json(a_list(*of(namespace, DEPLOYMENTS)))
    return files


def insights() -> Files:
    files = {
        "config/version.json": b'{"major": "1"}',
        "config/id": b"abc",
        "config/resourcequota/prod.json": as_json(bare(QUOTA)),
        "config/service/prod.json": as_json(bare(SERVICE)),
        "conditional/namespaces/prod/pods/app-1/containers/main/logs/last-100-lines.log": LOG.encode(),
    }
    for node in NODES:
        files[f"config/node/{node['metadata']['name']}.json"] = as_json(bare(node))
    for one in PODS:
        meta = one["metadata"]
        files[f"config/pod/{meta['namespace']}/{meta['name']}.json"] = as_json(bare(one))
    for one in DEPLOYMENTS:
        meta = one["metadata"]
        files[f"config/deployments/{meta['namespace']}/{meta['name']}.json"] = as_json(bare(one))
    return files


LAYOUTS: dict[str, Callable[[], Files]] = {
    "dump folder": dump_folder,
    "dump folder in YAML": lambda: dump_folder(as_yaml, "yaml"),
    "must-gather": must_gather,
    "support bundle": support_bundle,
    "sonobuoy": sonobuoy,
    "insights": insights,
    "a file deep down": lambda: {"a/b/c/d/e/f/g/cluster.json": as_json(a_list(*OBJECTS)), "prod/app-1/main.log": LOG.encode()},
    "files packed one by one": lambda: {
        "x/cluster.json.gz": gzip.compress(as_json(a_list(*OBJECTS))), "prod/app-1/main.log": LOG.encode(),
    },
}  # fmt: skip


# ── as files, and as archives ────────────────────────────────────────────────────────────────────────────────────────
def on_disk(files: Files, folder: Path) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def tar(files: Files, mode: str = "w", *members: tarfile.TarInfo) -> bytes:
    """A tar archive; `members` without content come first."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for member in members:
            archive.addfile(member)
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


def zipped(files: Files, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


PACKERS: dict[str, Callable[[Files], bytes]] = {
    "bundle.tar": tar,
    "bundle.tar.gz": lambda files: tar(files, "w:gz"),
    "bundle.tgz": lambda files: tar(files, "w:gz"),
    "bundle.tar.xz": lambda files: tar(files, "w:xz"),
    "bundle.tar.bz2": lambda files: tar(files, "w:bz2"),
    "bundle.zip": zipped,
    "stored.zip": lambda files: zipped(files, zipfile.ZIP_STORED),
}
