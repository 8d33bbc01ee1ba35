"""The chart renders to the plain manifests."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped] # it has none
import pytest
import yaml

from planner.sources import signed_out_sessions
from tests.deploy import helm
from tests.deploy.chart import DEPLOY, TEMPLATES, WHEN, templates

CHART = DEPLOY / "chart"
EVERYTHING: dict[str, Any] = {one: {"enabled": True} for one in ("ingress", "gateway", "snapshots", "logs")}
OF_OTHERS = ("cert-manager.io", "gateway.networking.k8s.io")  # their schemas aren't Kubernetes' own

Objects = dict[tuple[str, str], dict[str, Any]]


def test_templates_are_made_of_the_manifests() -> None:
    assert {path.name for path in TEMPLATES.iterdir()} == set(WHEN)
    for name, text in templates().items():
        assert (TEMPLATES / name).read_text() == text, f"{name}: python -m tests.deploy.chart"


def test_its_version_is_headrooms() -> None:
    import tomllib

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == chart["version"] == project["version"]
    assert f"headroom:{project['version']}" in (DEPLOY / "headroom.yaml").read_text()


def keyed(texts: list[str]) -> Objects:
    found = [one for text in texts for one in yaml.safe_load_all(text) if one]
    named = {(one["kind"], one["metadata"]["name"]): one for one in found}
    assert len(named) == len(found)
    return named


def rendered(values: dict[str, Any], namespace: str = "headroom") -> Objects:
    python = helm.python()
    if python is None:
        pytest.skip(helm.MISSING)
    command = [
        str(python),
        str(CHART.parents[1] / "tests/deploy/rendering.py"),
        str(CHART),
        json.dumps(values),
        namespace,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["lint"] == []
    return keyed(list(found["made"].values()))


def plain(*but: str) -> Objects:
    every = keyed([(DEPLOY / name).read_text() for name in WHEN if name not in but])
    del every["Namespace", "headroom"]  # helm install --create-namespace
    return every


def test_with_everything_it_is_the_plain_manifests() -> None:
    assert rendered(EVERYTHING) == plain()


def test_as_it_comes() -> None:
    assert rendered({}) == plain("ingress.yaml", "gateway.yaml", "snapshot.yaml", "logs.yaml")


def test_values_reach_their_places() -> None:
    values = {
        **EVERYTHING, "image": {"repository": "example.net/h", "tag": "1.2"}, "host": "h.example.net", "certManager": False,
        "webhook": {"caBundle": "Zm9v"}, "resources": {"requests": {"memory": "9Gi"}}, "networkPolicy": {"enabled": False},
        "snapshots": {"enabled": True, "cluster": "a: b", "store": "gs://x/y", "schedule": "1 2 * * *", "keepDays": 7},
    }  # fmt: skip
    found = rendered(values, "elsewhere")
    assert not {kind for kind, _ in found} & {"Certificate", "Issuer", "NetworkPolicy"}
    container = found["Deployment", "headroom"]["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "example.net/h:1.2"
    assert container["resources"]["requests"]["memory"] == "9Gi"
    webhook = found["ValidatingWebhookConfiguration", "headroom"]
    assert webhook["webhooks"][0]["clientConfig"]["caBundle"] == "Zm9v"
    assert webhook["webhooks"][0]["clientConfig"]["service"]["namespace"] == "elsewhere"
    assert "annotations" not in webhook["metadata"]
    job = found["CronJob", "headroom-snapshot"]["spec"]
    command = job["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[command.index("--name") + 1] == "a: b"
    assert command[command.index("--store") + 1] == "gs://x/y"
    assert job["schedule"] == "1 2 * * *"
    assert found["Ingress", "headroom"]["spec"]["rules"][0]["host"] == "h.example.net"
    assert {one["metadata"].get("namespace", "elsewhere") for one in found.values()} == {"elsewhere"}
    assert found["ClusterRoleBinding", "headroom"]["subjects"][0]["namespace"] == "elsewhere"
    for one in found.values():
        if not one["apiVersion"].startswith(OF_OTHERS):
            kubernetes_validate.validate(one, "1.36", strict=True)


def test_a_claim_keeps_sessions_over_a_restart() -> None:
    found = rendered({"sessions": {"claim": "people"}})
    spec = found["Deployment", "headroom"]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    [folder] = [one["value"] for one in container["env"] if one["name"] == signed_out_sessions.VARIABLE]
    [mount] = [one for one in container["volumeMounts"] if folder.startswith(f"{one['mountPath']}/")]
    assert not mount.get("readOnly")
    [volume] = [one for one in spec["volumes"] if one["name"] == mount["name"]]
    assert volume["persistentVolumeClaim"] == {"claimName": "people"}
    assert spec["securityContext"]["fsGroup"], "else the volume is root's"
    kubernetes_validate.validate(found["Deployment", "headroom"], "1.36", strict=True)
    without = rendered({})["Deployment", "headroom"]
    spec["volumes"].remove(volume)
    container["volumeMounts"].remove(mount)
    container["env"] = [one for one in container["env"] if one["name"] != signed_out_sessions.VARIABLE]
    assert found["Deployment", "headroom"] == without
