"""What waits for a rollout and how long, at the doors that tell it: Helm's and Flux's default, the progress deadline, the policy's own."""

from __future__ import annotations

import json
from hashlib import sha256
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner.cli import main
from planner.ground.errors import InputError
from planner.history import snapshot_names
from planner.history.snapshot_rows import rows_of
from planner.inventory.flux_timeouts import flux_release
from planner.rollout.deploy_timeouts import advised_seconds, go_text, read_timeout, share_longer, timeouts
from planner.rollout.gate_policy import Failing, read_policy
from planner.sources.store import Store
from tests.builders.objects import Item, read_items
from tests.cli.test_gate_command import document, gate
from tests.cli.test_gate_without_cluster import FILES
from tests.rollout.test_durations import DAY, NOW, Case, items_of
from tests.stories.objects import new_image

HELM = {"app.kubernetes.io/managed-by": "Helm"}
FLUX = {"helm.toolkit.fluxcd.io/name": "llm", "helm.toolkit.fluxcd.io/namespace": "flux"}
ADVICE = "Helm with --wait waits 5 min by default: too short in"


def slow() -> Case:
    """Six pods one after another, each of about two minutes: about 12 minutes in all."""
    chance = Random(3)
    return Case(6, 1, 0, 1, 5.0, lambda: 120 * exp(chance.gauss(0, 0.2)))


def written(folder: Path, given: Case, labels: dict[str, str] | None = None, **spec: Any) -> tuple[str, str]:
    """The cluster and the changed Deployment as files."""
    items, _ = items_of(given, NOW - DAY)
    deployment = items[0]
    deployment["metadata"]["labels"] = labels or {}
    deployment["spec"] |= spec
    cluster, manifest = folder / "cluster.json", folder / "change.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    manifest.write_text(json.dumps(new_image(items)))
    return str(cluster), str(manifest)


def rollout(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["rollout", *arguments])
    return int(str(stopped.value.code or 0)), capsys.readouterr().out


def cutoffs(part: Item) -> dict[str, Item]:
    return {one["by"]: one for one in part["cutoffs"]}


def test_helms_default_is_told_with_the_time_to_set(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster, manifest = written(tmp_path, slow(), HELM)
    status, out = rollout(capsys, cluster, "-f", manifest)
    assert status == 0
    assert "8 of 10 rollouts like it take 1" in out
    assert f"Deployment/ml/app: {ADVICE} nearly every case, then rolls back with --atomic" in out.replace("\n  ", " ")
    _, out = rollout(capsys, cluster, "-f", manifest, "-o", "json")
    part = json.loads(out)["result"]["workloads"][0]
    band, helm = part["duration"], cutoffs(part)["Helm with --wait"]
    assert band["least_seconds"] < part["seconds"] < band["most_seconds"] < band["late_seconds"]
    assert (helm["seconds"], helm["is_default"], helm["is_short"], helm["share"]) == (300, True, True, 1)
    assert band["late_seconds"] < helm["advised_seconds"] <= 2 * band["late_seconds"]
    assert helm["sentence"].endswith(f"Set --timeout {go_text(helm['advised_seconds'])}")
    assert not cutoffs(part)["progressDeadlineSeconds"]["is_short"]


@pytest.mark.parametrize(
    "labels", [{}, {"app.kubernetes.io/managed-by": "kustomize"}], ids=["no label", "another tool"]
)
def test_who_isnt_named_waits_for_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, labels: dict[str, str]
) -> None:
    cluster, manifest = written(tmp_path, slow(), labels)
    _, out = rollout(capsys, cluster, "-f", manifest, "-o", "json")
    assert set(cutoffs(json.loads(out)["result"]["workloads"][0])) == {"progressDeadlineSeconds"}


def test_a_default_that_is_long_enough_is_no_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    quick = slow()._replace(start_up=lambda: 10.0)
    cluster, manifest = written(tmp_path, quick, HELM)
    status, out = rollout(capsys, cluster, "-f", manifest)
    assert (status, "too short" in out) == (0, False)
    status, out, _ = gate(capsys, cluster, "-f", manifest)
    assert (status, "warning" in out) == (0, False)


def test_a_release_of_flux_waits_five_minutes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster, manifest = written(tmp_path, slow(), FLUX)
    status, out, _ = gate(capsys, cluster, "-f", manifest)
    assert status == 0
    assert "HelmRelease/flux/llm waits 5 min by default: too short in nearly every case. Set spec.timeout to" in out.replace("\n", " ")  # fmt: skip


def flux(kind: str, spec: Item, name: str = "llm", namespace: str = "flux") -> Item:
    version = {"HelmRelease": "helm.toolkit.fluxcd.io/v2", "Kustomization": "kustomize.toolkit.fluxcd.io/v1"}[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


KUSTOMIZED = {"kustomize.toolkit.fluxcd.io/name": "llm", "kustomize.toolkit.fluxcd.io/namespace": "flux"}
CHARTED = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "llm"}
MINUTES_8 = {"timeout": "8m", "upgrade": {"remediation": {"retries": 3}}}
IN_ML = {"targetNamespace": "ml"}
APP = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "namespace": "ml"}


@pytest.mark.parametrize(
    ("labels", "release", "by", "seconds"),
    [
        (FLUX, flux("HelmRelease", MINUTES_8), "HelmRelease/flux/llm", 480),
        (FLUX, flux("HelmRelease", {**MINUTES_8, "upgrade": {"timeout": "1h"}}), "HelmRelease/flux/llm", 3600),
        (FLUX, flux("HelmRelease", {"upgrade": {"disableWait": True}}), None, None),
        (FLUX, flux("HelmRelease", {**MINUTES_8, "suspend": True}), None, None),
        (FLUX, flux("HelmRelease", MINUTES_8, namespace="other"), "HelmRelease/flux/llm", 300),
        (FLUX, flux("HelmRelease", MINUTES_8, name="web"), "HelmRelease/flux/llm", 300),
        (FLUX, flux("HelmRelease", {"timeout": 5, "upgrade": "soon"}), "HelmRelease/flux/llm", 300),
        (FLUX, flux("HelmRelease", {"timeout": "9" * 400 + "h"}), "HelmRelease/flux/llm", 300),
        (FLUX, flux("HelmRelease", {"timeout": "8m or so"}), "HelmRelease/flux/llm", 300),
        ({**CHARTED, "app.kubernetes.io/instance": "ml-llm"}, flux("HelmRelease", {**MINUTES_8, **IN_ML}), "HelmRelease/flux/llm", 480),
        (CHARTED, flux("HelmRelease", {**MINUTES_8, **IN_ML, "releaseName": "llm"}), "HelmRelease/flux/llm", 480),
        (CHARTED, flux("HelmRelease", {**MINUTES_8, **IN_ML}), "Helm with --wait", 300),
        (CHARTED, flux("HelmRelease", MINUTES_8), "Helm with --wait", 300),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "wait": True}), "Kustomization/flux/llm", 570),
        (KUSTOMIZED, flux("Kustomization", {"interval": "45s", "wait": True}), "Kustomization/flux/llm", 30),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "timeout": "5s", "wait": True}), "Kustomization/flux/llm", 30),
        (KUSTOMIZED, flux("Kustomization", {"wait": True}), None, None),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "healthChecks": [APP]}), "Kustomization/flux/llm", 570),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "healthChecks": [{**APP, "name": "db"}]}), None, None),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "healthChecks": [{"kind": "$(x)", "name": 5}, 7]}), None, None),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "wait": True, "healthChecks": [{**APP, "name": "db"}]}), "Kustomization/flux/llm", 570),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "timeout": "3m", "wait": True}), "Kustomization/flux/llm", 180),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m"}), None, None),
        ({}, flux("Kustomization", {"interval": "10m", "wait": True}, namespace="ml"), None, None),
        (KUSTOMIZED, flux("Kustomization", {"interval": "10m", "timeout": "0s", "wait": True}), "Kustomization/flux/llm", 30),
        (FLUX, flux("HelmRelease", {"timeout": "0s"}), None, None),
    ],
    ids=[
        "its own", "of upgrades", "without waiting", "suspended", "a namesake", "another", "damaged", "without end", "with words",
        "by Helm's name", "by its own name", "by another name", "by name elsewhere", "its interval", "a short interval", "a short timeout",
        "without an interval", "its health check", "another's health check", "damaged health checks", "all beside health checks",
        "a Kustomization's own", "without wait", "no label", "a Kustomization's 0 s", "Helm's 0 s",
    ],
)  # fmt: skip
def test_a_release_in_the_snapshot_tells_its_own_timeout(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    labels: Item,
    release: Item,
    by: str | None,
    seconds: float | None,
) -> None:
    cluster, manifest = written(tmp_path, slow(), labels)
    read = json.loads(Path(cluster).read_text())
    Path(cluster).write_text(json.dumps({**read, "items": [*read["items"], release]}))
    _, out = rollout(capsys, cluster, "-f", manifest, "-o", "json")
    found = cutoffs(json.loads(out)["result"]["workloads"][0])
    found.pop("progressDeadlineSeconds")
    assert {name: one["seconds"] for name, one in found.items()} == ({} if by is None else {by: seconds})
    if by == "HelmRelease/flux/llm" and seconds == 480:
        assert "then rolls back and tries 3 times more. Set spec.timeout to" in found[by]["sentence"]
        policy = tmp_path / "headroom.toml"
        policy.write_text('[gate]\nfail = ["deploy_timeout"]\n')
        status, out, _ = gate(capsys, cluster, "-f", manifest, "--policy", str(policy))
        assert status == 5
        assert "HelmRelease/flux/llm waits 8 min: too short" in out.replace("\n", " ")


@pytest.mark.parametrize(
    ("remediation", "retries", "then"),
    [
        ({"retries": 3}, 3, "rolls back and tries 3 times more"),
        ({"retries": 1, "strategy": "uninstall"}, 1, "uninstalls it and tries 1 time more"),
        ({"retries": -1}, -1, "rolls back and tries again"),
        ({"retries": -1, "strategy": "uninstall"}, -1, "uninstalls it and tries again"),
        ({"retries": True}, 0, "gives up"),
        ({"retries": 10**30}, 0, "gives up"),
        ({"retries": "2"}, 0, "gives up"),
        ({}, 0, "gives up"),
    ],
)
def test_what_a_release_does_after_an_upgrade_that_failed(remediation: Item, retries: int, then: str) -> None:
    found = flux_release(flux("HelmRelease", {"upgrade": {"remediation": remediation}}))
    assert found is not None
    assert found.retries == retries
    (workload,) = read_items(items_of(slow())[0], taken_at=NOW).workloads
    told, _ = timeouts([flux("HelmRelease", {**IN_ML, "upgrade": {"remediation": remediation}})], [workload], {})
    assert [one.then for one in told.values()] == [then]


@pytest.mark.parametrize(("name", "seconds"), [("app", [570]), ("db", [])], ids=["its own", "another's"])
def test_a_manifests_kustomization_waits_for_its_health_checks(name: str, seconds: list[float]) -> None:
    (workload,) = read_items(items_of(slow())[0], taken_at=NOW).workloads
    spec = {**IN_ML, "interval": "10m", "healthChecks": [{**APP, "name": name}]}
    told, governing = timeouts([flux("Kustomization", spec)], [workload], {})
    assert [one.seconds for one in told.values()] == seconds
    assert governing == {"Kustomization/flux/llm"}


def test_a_long_name_of_a_release_is_cut_with_its_hash() -> None:
    name = "a-name-of-forty-characters-and-then-some-x"
    found = flux_release(flux("HelmRelease", {"targetNamespace": "some-namespace"}, name=name))
    assert found is not None
    assert (
        found.release
        == f"some-namespace-{name}"[:40] + "-" + sha256(f"some-namespace-{name}".encode()).hexdigest()[:12]
    )
    assert len(found.release) == 53


def test_a_deadline_that_begins_anew_with_each_pod_counts_the_longest_pause(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, manifest = written(tmp_path, slow(), progressDeadlineSeconds=100)
    _, out = rollout(capsys, cluster, "-f", manifest, "-o", "json")
    (deadline,) = json.loads(out)["result"]["workloads"][0]["cutoffs"]
    assert deadline["is_short"]
    assert 150 < deadline["advised_seconds"] < 500
    _, out = rollout(capsys, cluster, "-f", manifest)
    assert out.replace("\n  ", " ").count("progressDeadlineSeconds") == 1


@pytest.mark.parametrize("output", ["text", "markdown", "junit", "sarif", "github", "json"])
def test_the_gate_tells_it_in_each_format(capsys: pytest.CaptureFixture[str], tmp_path: Path, output: str) -> None:
    cluster, manifest = written(tmp_path, slow(), HELM)
    policy = tmp_path / "headroom.toml"
    policy.write_text('[gate]\nfail = ["deploy_timeout"]\n')
    status, out, _ = gate(capsys, cluster, "-f", manifest, "--policy", str(policy), "-o", output)
    assert status == 5
    assert "waits 5 min by default" in out.replace("\n", " ").replace("\\", "")


def test_the_gates_table_has_the_band(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster, manifest = written(tmp_path, slow(), HELM)
    status, out, _ = gate(capsys, cluster, "-f", manifest)
    (_row,) = (
        line for line in out.splitlines() if "Deployment/ml/app" in line and "completes" in line and "min to" in line
    )
    assert status == 0  # told, and passes where the policy doesn't name it
    assert f"warning: {ADVICE}" in out
    assert "policy:" not in out


def test_what_a_policy_and_the_option_name_are_held_against_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, manifest = written(tmp_path, slow())
    policy = tmp_path / "headroom.toml"
    policy.write_text(
        '[gate]\nfail = ["stuck", "deploy_timeout"]\ntimeouts = {"GitHub job" = "8m", "nightly" = "2h"}\n'
    )
    status, result = document(capsys, cluster, "-f", manifest, "--policy", str(policy))
    (part,) = result["workloads"]
    assert status == 5
    assert {by: one["is_short"] for by, one in cutoffs(part).items()} == {
        "progressDeadlineSeconds": False, "GitHub job": True, "nightly": False
    }  # fmt: skip
    assert [one for one in part["refusals"] if one.startswith("GitHub job waits 8 min: too short in")]
    status, result = document(capsys, cluster, "-f", manifest, "--deploy-timeout", "3m")
    assert status == 0
    assert cutoffs(result["workloads"][0])["the deploy (--deploy-timeout)"]["is_short"]
    status, result = document(capsys, cluster, "-f", manifest, "--deploy-timeout", "1h")
    assert not cutoffs(result["workloads"][0])["the deploy (--deploy-timeout)"]["is_short"]


def test_without_a_cluster_the_same_word_refuses_what_the_probes_allow(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    policy = tmp_path / "headroom.toml"
    policy.write_text('[gate]\nfail = ["deploy_timeout"]\n')
    file = str(FILES / "flux-five-minutes.yaml")
    assert gate(capsys, "-f", file)[0] == 0
    status, out, _ = gate(capsys, "-f", file, "--policy", str(policy))
    assert status == 5
    assert "HelmRelease/models/llama" in out
    assert gate(capsys, "-f", str(FILES / "statefulset.yaml"), "--policy", str(policy))[0] == 0


def test_a_store_tells_the_pods_of_earlier_rollouts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given, store = slow(), Store(str(tmp_path / "store"))
    for days in (3, 2, 1):
        found = read_items(items_of(given, NOW - days * DAY)[0], source="file", taken_at=NOW - days * DAY + DAY / 2)
        store.write("edu", found, rows_of(found, (), written_by="test"))
    for place, pods, rollouts in (("", 18, 3), (f"@{snapshot_names.time_text(NOW - DAY)}", 12, 2)):
        _, out = rollout(capsys, f"store:{tmp_path / 'store'}#edu{place}", "-w", "app", "-o", "json")
        band = json.loads(out)["result"]["workloads"][0]["duration"]
        assert (band["pods"], band["rollouts"]) == (pods, rollouts)


# ── the policy's words ───────────────────────────────────────────────────────────────────────────────────────────────
def test_a_policy_names_what_waits() -> None:
    found = read_policy('[gate]\nfail = ["deploy_timeout"]\ntimeouts = {ci = "1h30m"}', "headroom.toml")
    assert found.fail == (Failing.DEPLOY_TIMEOUT,)
    assert dict(found.timeouts) == {"ci": 5400.0}


@pytest.mark.parametrize("text", ["", "5", "0s", "soon", "5m or so", "9" * 400 + "h", "300000h"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no time"):
        read_timeout(text)
    assert read_timeout("200000h") == 720_000_000


def test_shares_and_advice() -> None:
    percentiles = tuple(float(one) for one in range(5, 100, 5))
    assert [share_longer(percentiles, at) for at in (1, 50, 52.5, 95, 99)] == pytest.approx(
        [1, 0.5, 0.475, 0.05, 0], abs=0.051
    )
    assert [advised_seconds(late) for late in (10, 100, 700)] == [19, 190, 1380]
    assert [go_text(one) for one in (45, 90, 1500, 3900, 7200)] == ["45s", "90s", "25m", "1h5m", "2h"]
