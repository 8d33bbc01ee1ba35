"""A cluster, a manifest and a patch with secrets planted wherever people put them, and every command that takes them.

Each is a text of its own, so that what is found says where it came from.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import random
import string
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from planner.cli import main
from tests.builders.objects import deployment, node, pod, pod_spec

_DRAWN: Final = random.Random(24)
PLACES: Final = (
    "environment", "argument", "command", "annotation", "last applied", "registry", "probe", "hook", "volume", "label-like annotation",
    "Secret data", "Secret text", "ConfigMap", "event address", "event bearer", "event password", "waiting", "scheduler", "patch", "unknown kind",
    "claim", "HTTP header",
)  # fmt: skip
SECRETS: Final = {place: "Zq" + "".join(_DRAWN.choices(string.ascii_letters + string.digits, k=22)) for place in PLACES}
WORKLOAD: Final = "deployment/ml/web"


def _spec() -> dict[str, Any]:
    spec = pod_spec(gpus=1)
    spec["containers"][0] |= {
        "image": f"puller:{SECRETS['registry']}@registry.example.com/team/app:2",
        "env": [{"name": "DB_PASSWORD", "value": SECRETS["environment"]}],
        "args": [f"--token={SECRETS['argument']}"],
        "command": ["/bin/sh", "-c", f"PW={SECRETS['command']} exec run"],
        "livenessProbe": {"exec": {"command": ["check", SECRETS["probe"]]}},
        "readinessProbe": {
            "httpGet": {
                "path": "/",
                "port": 80,
                "httpHeaders": [{"name": "Authorization", "value": SECRETS["HTTP header"]}],
            }
        },
        "lifecycle": {"preStop": {"exec": {"command": ["leave", SECRETS["hook"]]}}},
    }
    spec["volumes"] = [
        {"name": "v", "csi": {"driver": "d.example.com", "volumeAttributes": {"key": SECRETS["volume"]}}}
    ]
    return spec


def _said(text: str) -> dict[str, str]:
    return {
        "note": text,
        "kubectl.kubernetes.io/last-applied-configuration": json.dumps(_applied_before(SECRETS["last applied"])),
    }


def _applied_before(secret: str) -> dict[str, Any]:
    """As kubectl writes it: the whole manifest as it was, with the secret wherever one may stand."""
    container = {"name": "main", "env": [{"name": "A", "value": secret}], "args": [secret], "command": ["run", secret]}
    notes = {"note": secret, "headroom.dev/note": secret}
    template = {"metadata": {"annotations": notes}, "spec": {"containers": [container], "nodeSelector": {"x": secret}}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "annotations": notes},
        "data": {"password": secret}, "spec": {"replicas": 1, "template": template, "password": secret, "tokens": [secret]},
    }  # fmt: skip


def _workload(name: str, **more: Any) -> list[dict[str, Any]]:
    made = deployment(name, ["n-0"], _spec(), **more)
    for one in made:
        one["metadata"].setdefault("annotations", {}).update(_said(SECRETS["annotation"]))
        if template := one.get("spec", {}).get("template"):
            template["metadata"].setdefault("annotations", {})["deploy-token"] = SECRETS["label-like annotation"]
    return made


def _event(number: int, message: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"e-{number}", "namespace": "ml"}, "type": "Warning", "reason": "Failed",
        "message": message, "count": 9, "lastTimestamp": "2026-09-21T14:10:00Z", "firstTimestamp": "2026-09-21T13:10:00Z",
        "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "broken"},
    }  # fmt: skip


def cluster() -> dict[str, Any]:
    """Two GPU nodes, a workload that runs, a pod that can't start and one that can't be placed."""
    broken = pod("broken", pod_spec(), on="n-1")
    broken["status"] = {
        "phase": "Pending", "startTime": "2026-09-21T13:00:00Z",
        "containerStatuses": [{
            "name": "main", "ready": False, "restartCount": 9, "image": "x", "imageID": "",
            "state": {"waiting": {"reason": "ImagePullBackOff",
                                  "message": f"Back-off pulling image https://u:{SECRETS['waiting']}@registry.example.com/x"}},
        }],
    }  # fmt: skip
    unplaced = pod("unplaced", pod_spec(gpus=8))
    unplaced["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                        "message": f"webhook https://u:{SECRETS['scheduler']}@extender/ refused"}],
    }  # fmt: skip
    encoded = base64.b64encode(SECRETS["Secret data"].encode()).decode()
    items: list[Any] = [
        node("n-0", gpus=2), node("n-1", gpus=1), *_workload("web"), broken, unplaced,
        _event(1, f"Failed to pull image: Get https://puller:{SECRETS['event address']}@registry.example.com/v2/: denied"),
        _event(2, f"request failed: Authorization: Bearer {SECRETS['event bearer']}"),
        _event(3, f"connect failed: host=db password={SECRETS['event password']} user=app"),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "ml", "annotations": _said(encoded)},
         "data": {"password": encoded, "plain": SECRETS["Secret data"]}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": "ml"}, "data": {"p": SECRETS["ConfigMap"]}},
    ]  # fmt: skip
    return {"apiVersion": "v1", "kind": "List", "items": items}


def manifest() -> str:
    """The workload with another image, a new one, and objects of kinds that are applied beside them."""
    changed = next(one for one in _workload("web") if one["kind"] == "Deployment")
    changed["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    new = next(one for one in _workload("added") if one["kind"] == "Deployment")
    for one in (changed, new):
        one.pop("status", None)
    beside = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "ml"}, "stringData": {"p": SECRETS["Secret text"]}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": "ml"}, "data": {"p": SECRETS["ConfigMap"]}},
        {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "ml"},
         "spec": {"password": SECRETS["unknown kind"]}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
         "metadata": {"name": "c", "namespace": "ml", "annotations": {"key": SECRETS["claim"]}},
         "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
    ]  # fmt: skip
    return yaml.safe_dump_all([changed, new, *beside])


def patch() -> str:
    """A strategic merge patch with a value that no snapshot keeps, and a field that is kept."""
    env = [{"name": "DB_PASSWORD", "value": SECRETS["patch"]}]
    containers = [{"name": "main", "env": env, "resources": {"requests": {"cpu": "2"}}}]
    return json.dumps({"spec": {"template": {"spec": {"containers": containers}}}})


_FORMATS: Final = ("text", "json", "yaml", "csv", "markdown")
_GATE: Final = (*_FORMATS, "junit", "sarif", "github")
_ASKED: Final = (
    ("rollout", "CLUSTER", "-f", "MANIFEST"),
    ("rollout", "CLUSTER", "-w", WORKLOAD, "--patch", "PATCH"),
    ("rollout", "CLUSTER", "-w", WORKLOAD, "--patch", patch(), "--strategies"),
    ("rollout", "CLUSTER", "-w", WORKLOAD, "--patch", "PATCH", "--costs"),
    ("rollout", "CLUSTER"),
    ("where", "CLUSTER", "CLUSTER", "-f", "MANIFEST"),
    *(
        (one, "CLUSTER")
        for one in (
            "overview", "plan", "capacity", "seats", "costs", "memory", "restarts", "drift", "findings", "fleet", "doctor",
        )
    ),
    ("diff", "CLUSTER", "CLUSTER"),
    ("what-if", "CLUSTER", "--change", "drain:n-1"),
)  # fmt: skip
CROSS: Final = (
    *((*asked, "-o", one) for asked, one in product(_ASKED, _FORMATS)),
    *(("gate", "CLUSTER", "-f", "MANIFEST", "-o", one) for one in _GATE),
    *(("gate", "CLUSTER", "-f", "MANIFEST", "--write", f"{one}=FOLDER/gate") for one in _GATE),
    ("rollout", "CLUSTER", "-w", WORKLOAD, "--patch", "PATCH", "--script"),
    *(("report", "CLUSTER", "--to", f"FOLDER/review.{one}") for one in ("html", "md", "json", "csv")),
    ("anonymize", "CLUSTER", "--to", "FOLDER/shown.json"),
    ("snapshot", "CLUSTER", "--store", "FOLDER/store", "--name", "c"),
    ("sweep", "CLUSTER", "--store", "FOLDER/swept", "--workers", "1"),
)
"""Every command × format × export that takes a cluster, a manifest or a patch."""


def written(command: tuple[str, ...], folder: Path) -> Iterator[tuple[str, str]]:
    """What `command` prints and writes below `folder`, by where it was found."""
    given = {"CLUSTER": "cluster.json", "MANIFEST": "manifest.yaml", "PATCH": "patch.json"}
    for name, text in (("CLUSTER", json.dumps(cluster())), ("MANIFEST", manifest()), ("PATCH", patch())):
        (folder / given[name]).write_text(text, encoding="utf-8")
    words = [str(folder / given[one]) if one in given else one.replace("FOLDER", str(folder)) for one in command]
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(words)
    except SystemExit as stopped:
        status = stopped.code
    yield "exit", str(status)
    yield "standard output", out.getvalue()
    yield "standard error", err.getvalue()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in given.values():
            yield str(path.relative_to(folder)), _unpacked(path.read_bytes())


def _unpacked(data: bytes) -> str:
    if data[:4] == b"PAR1":
        return str(pq.read_table(pa.BufferReader(data)).to_pylist())
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        data = pa.input_stream(pa.BufferReader(data), compression="zstd").read()
    return data.decode("utf-8", "replace")


def found(command: tuple[str, ...], folder: Path) -> list[str]:
    """Secrets that `command` lets out: which, and where; and a run that says nothing, since that shows nothing."""
    everything = dict(written(command, folder))
    bad = [
        f"{' '.join(command)}: {place} in {where}"
        for (where, text), (place, secret) in product(everything.items(), SECRETS.items())
        if secret in text or base64.b64encode(secret.encode()).decode().rstrip("=") in text
    ]
    is_silent = len("".join(text for where, text in everything.items() if where != "exit")) < 20
    failed = everything["exit"] in ("1", "130") or is_silent
    return [*bad, *([f"{' '.join(command)}: {everything['standard error'][-300:]}"] if failed else [])]
