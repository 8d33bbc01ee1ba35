"""What `deploy/` holds works with what there is: rules by promtool, manifests by the API's schema, names by the code."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped] # it has none
import pytest
import yaml
from click.testing import CliRunner

from planner.cli import headroom
from planner.ground.errors import InputError
from planner.ground.well_known_names import WARNINGS_SWITCH
from planner.questions.question import Inputs
from planner.serve.cluster_metrics import cluster_metrics
from planner.serve.endpoint_paths import REVIEWS
from planner.sources import dashboard_access, demo
from planner.sources.prices import embedded_book
from tests.architecture.tree import ROOT
from tests.seen import each
from tests.sources.prometheus_server import programs

DEPLOY = ROOT / "deploy"
OWN = {
    "headroom_listing_failures", "headroom_snapshot_age_seconds", "headroom_snapshot_taken_timestamp_seconds",
    "headroom_listing_interval_seconds", "headroom_snapshot_nodes", "headroom_snapshot_pods", "headroom_snapshot_problems",
    "headroom_certificate_expiry_timestamp_seconds", "headroom_series_left_out", "headroom_reviews_total", "headroom_review_seconds_bucket",
}  # fmt: skip


def objects(name: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all((DEPLOY / name).read_text()) if one]


def test_the_rules_hold_their_tests() -> None:
    _, promtool = programs()
    for words in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts-test.yaml"]):
        ran = subprocess.run([promtool, *words], cwd=DEPLOY, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_expressions_ask_for_what_is_told() -> None:
    families = cluster_metrics(demo.read(), Inputs(book=embedded_book())).families
    told = OWN | {f"headroom_{family.name}" for family in families}
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    dashboard = json.loads((DEPLOY / "dashboard.json").read_text())
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    expressions = [rule["expr"] for rule in rules] + [target["expr"] for target in targets]
    for text in expressions:
        names = set(re.findall(r"headroom_[a-z_]+", text))
        assert names, text
        assert names <= told, text
        _, promtool = programs()
        assert subprocess.run([promtool, "promql", "format", text], capture_output=True, check=False).returncode in (
            0,
            1,
        )
    states = set(re.findall(r'state="(\w+)"', " ".join(expressions)))
    assert states <= {labels[-1] for family in families if family.name == "gpus" for labels, _ in family.samples}


def test_panels_do_not_cover_each_other() -> None:
    panels = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


KUBERNETES = ("1.36", "1.37")  # the newest that kubernetes-validate ships is the second
OF_OTHERS = ("cert-manager.io", "gateway.networking.k8s.io")  # their schemas aren't Kubernetes' own


def manifests() -> list[dict[str, Any]]:
    files = [path.name for path in DEPLOY.glob("*.yaml") if not path.name.startswith("alerts")]
    return [one for name in files for one in objects(name)]


def test_manifests_are_what_the_api_takes() -> None:
    checked = 0
    for one in manifests():
        if not one["apiVersion"].startswith(OF_OTHERS):
            checked += 1
            for version in KUBERNETES:
                kubernetes_validate.validate(one, version, strict=True)
    assert checked == 15


def test_names_are_those_of_what_there_is() -> None:
    """What one manifest says of another is there: Services, Secrets, ports, accounts, hosts."""
    every = {(one["kind"], one["metadata"]["name"]): one for one in manifests()}
    pod = every["Deployment", "headroom"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    ports = {one["name"] for one in container["ports"]}
    service = every["Service", "headroom"]["spec"]
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    assert {one["targetPort"] for one in service["ports"]} <= ports
    assert {container[f"{probe}Probe"]["httpGet"]["port"] for probe in ("startup", "readiness", "liveness")} <= ports
    secrets = {one["secret"]["secretName"] for one in pod["spec"]["volumes"] if "secret" in one}
    assert secrets == {every["Certificate", "headroom-tls"]["spec"]["secretName"], "headroom-sign-in"}
    assert (
        every["Certificate", "headroom-tls"]["spec"]["issuerRef"]["name"]
        == every["Issuer", "headroom"]["metadata"]["name"]
    )
    assert "headroom.headroom.svc" in every["Certificate", "headroom-tls"]["spec"]["dnsNames"]
    rule = every["Ingress", "headroom"]["spec"]["rules"][0]
    to = rule["http"]["paths"][0]["backend"]["service"]
    assert (to["name"], to["port"]["name"]) == ("headroom", service["ports"][0]["name"])
    route = every["HTTPRoute", "headroom"]["spec"]
    assert route["hostnames"] == [rule["host"]]
    assert route["rules"][0]["backendRefs"] == [{"name": "headroom", "port": service["ports"][0]["port"]}]
    (target,) = every["BackendTLSPolicy", "headroom"]["spec"]["targetRefs"]
    assert (target["name"], target["sectionName"]) == ("headroom", service["ports"][0]["name"])
    policy = every["NetworkPolicy", "headroom-serve"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert {one["port"] for one in policy["ingress"][0]["ports"]} <= ports
    binding = every["ClusterRoleBinding", "headroom"]
    assert ("ClusterRole", binding["roleRef"]["name"]) in every
    account = binding["subjects"][0]
    assert ("ServiceAccount", account["name"]) in every
    assert every["ServiceAccount", "headroom"]["automountServiceAccountToken"] is False
    for kind, name in (("Deployment", "headroom"), ("CronJob", "headroom-snapshot"), ("CronJob", "headroom-compact")):
        spec = every[kind, name]["spec"]
        pods = spec["template"]["spec"] if kind == "Deployment" else spec["jobTemplate"]["spec"]["template"]["spec"]
        assert pods["serviceAccountName"] == account["name"]
        assert pods["automountServiceAccountToken"] is (name != "headroom-compact")
    spaces = {one["metadata"].get("namespace") for one in every.values()} - {None}
    assert spaces == {every["Namespace", "headroom"]["metadata"]["name"]}


def test_the_sign_in_file_is_read_once_it_is_filled_in(tmp_path: Path) -> None:
    (secret,) = objects("sign-in.yaml")
    ((name, text),) = secret["stringData"].items()
    mounted = next(
        mount["mountPath"]
        for mount in next(one for one in manifests() if one["kind"] == "Deployment")["spec"]["template"]["spec"][
            "containers"
        ][0]["volumeMounts"]
        if mount["name"] == "sign-in"
    )
    assert f"{mounted}/{name}" == "/var/lib/headroom/.streamlit/secrets.toml", "where it is looked for"
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InputError, match="lacks cookie_secret, client_secret"):
        dashboard_access.read(file)
    file.write_text(re.sub(r'(cookie_secret|client_secret) = ""', r'\1 = "0123456789abcdef0123456789abcdef"', text))
    found = dashboard_access.read(file).access
    assert found.groups == ("sre", "payments")
    assert found.namespaces == (("sre", ("*",)), ("payments", ("payments", "payments-*")))


def test_the_webhook_warns_only_and_asks_what_is_answered() -> None:
    (configuration,) = objects("webhook.yaml")
    (hook,) = configuration["webhooks"]
    assert (hook["failurePolicy"], hook["sideEffects"], hook["timeoutSeconds"]) == ("Ignore", "None", 2)
    assert hook["clientConfig"]["service"]["path"] == REVIEWS
    recorded = json.loads((ROOT / "tests/serve/recordings/admission.json").read_text())["configuration"]["webhooks"][0]
    assert set(recorded["rules"][0]["resources"]) <= set(hook["rules"][0]["resources"])
    keys = {one["key"]: one for one in hook["namespaceSelector"]["matchExpressions"]}
    assert keys[WARNINGS_SWITCH]["values"] == ["off"]
    service = next(one for one in objects("headroom.yaml") if one["kind"] == "Service")
    named = hook["clientConfig"]["service"]
    assert (named["name"], named["namespace"]) == (service["metadata"]["name"], service["metadata"]["namespace"])


def test_the_deployment_calls_what_there_is() -> None:
    deployment = next(one for one in objects("headroom.yaml") if one["kind"] == "Deployment")
    program, name, cluster, *options = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
    assert (program, name, cluster) == ("headroom", "serve", "context:in-cluster")
    command = headroom.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    known = {flag for option in command.params for flag in option.opts}
    assert {word for word in options if word.startswith("--")} <= known


def test_files_are_in_the_index() -> None:
    index = (DEPLOY / "README.md").read_text()
    others = {"README.md", "__pycache__"}  # where wheel.py was imported
    assert all(f"({path.name})" in index for path in each(DEPLOY.iterdir()) if path.name not in others)


def test_cron_jobs_run_commands_that_there_are() -> None:
    """Their arguments are put to the command line itself, which stops at --help."""
    for one in each(objects("snapshot.yaml")):
        (container,) = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        assert container["command"][0] == "headroom"
        ran = CliRunner().invoke(headroom, [*container["command"][1:], "--help"])
        assert ran.exit_code == 0, ran.output
        known = set(re.findall(r"--[a-z-]+", ran.output))
        assert {text for text in container["command"] if text.startswith("--")} <= known
