"""A list that the API server refused is never an empty one: every command says so, in words, in JSON and by its status."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.cli import main
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.inventory import api_types
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.sources import cluster_argument, demo

WORKLOAD = "Deployment/prod/ml-worker"
ASKED = {
    "overview": (),
    "rollout": ("-w", WORKLOAD),
    "capacity": (),
    "seats": (),
    "what-if": ("--change", "add:gpu-t4=1"),
    "costs": (),
    "savings": ("-w", WORKLOAD),
    "memory": (),
    "restarts": (),
    "findings": (),
    "drift": (),
}


def refusing(*kinds: str) -> Snapshot:
    """The demo as one sees it who may not list `kinds`."""
    base = demo.read()
    hidden: dict[str, Any] = {}
    for kind in kinds:
        field = api_types.READ[kind].field
        hidden[field] = tuple(
            one for one in hidden.get(field, getattr(base, field)) if getattr(one, "kind", kind) != kind
        )
    presence = FrozenMap({**base.presence, **dict.fromkeys(kinds, Presence.REFUSED)})
    return replace(base, source="live", presence=presence, **hidden)


def run(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def see(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> None:
    snapshot = refusing(*kinds)
    monkeypatch.setattr(cluster_argument, "read_cluster", lambda *_, **__: snapshot)


@pytest.mark.parametrize("command", ASKED)
def test_without_pods_nothing_is_known_of_what_is_free_or_wrong(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, "Pod")
    status, out, err = run([command, "context:live", *ASKED[command]], capsys)
    assert status == ExitStatus.NOT_KNOWN
    assert "refused to list Pods (403)" in err
    assert "of 27" not in out
    status, out, err = run([command, "context:live", *ASKED[command], "-o", "json"], capsys)
    assert status == ExitStatus.NOT_KNOWN
    said = json.loads(out)
    assert {"kind": "Pod", "state": "refused", "lacking": "what of the nodes is held or free isn't known"} in said[
        "not_seen"
    ]
    if command == "capacity":
        assert {line["free"] for line in said["result"]["gpus"]} == {None}
    elif command not in ("overview", "findings", "drift", "costs"):  # these say it of each of their lines
        assert said["result"] is None


def test_without_pods_the_bill_is_known_and_whose_it_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nodes have prices: the demo's $38,390.02 at list, $36,971.90 after sustained use; nothing is idle, nothing is anybody's."""
    see(monkeypatch, "Pod")
    status, out, _ = run(["costs", "context:live"], capsys)
    assert status == ExitStatus.NOT_KNOWN
    assert out.startswith("$36,972 a month for 24 nodes; without pods neither owners nor idle cost are known")
    assert "not known" in out
    assert "$0" not in out
    for by in ("namespace", "label:team", "pool", "workload"):
        status, out, _ = run(["costs", "context:live", "--by", by, "-o", "json"], capsys)
        assert status == ExitStatus.NOT_KNOWN
        bill = json.loads(out)["result"]
        assert bill["bill_usd_per_month"] == 36_971.90
        assert bill["idle"] is None
        assert {line["share"] for line in bill["lines"]} == {"not known"}
        parts = ("gpu_usd", "cpu_usd", "memory_usd")
        assert sum(round(100 * line[part]) for line in bill["lines"] for part in parts) == 3_697_190
        assert len(bill["lines"]) == (6 if by == "pool" else 1)
    status, out, _ = run(["costs", "context:live", "-o", "csv", "--rows", "facts"], capsys)
    assert status == ExitStatus.NOT_KNOWN
    assert "cost,,38390.0" in out
    assert "idle_with_sustained_use,paid_for=cpu,,USD/month" in out


def test_each_kind_refused_breaks_no_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in api_types.READ:
        see(monkeypatch, kind)
        for command in ("rollout", "overview"):
            status, _, err = run([command, "context:live", *ASKED[command]], capsys)
            assert status in (ExitStatus.ANSWERED, ExitStatus.NOT_KNOWN), (kind, command)
            assert "refused to list" in err


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Node"])
def test_a_list_of_workloads_without_some_is_not_the_whole(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, kind)
    for command in ("overview", "capacity", "seats", "findings"):
        status, out, err = run([command, "context:live"], capsys)
        assert status == ExitStatus.NOT_KNOWN, command
        assert f"refused to list {kind}s (403)" in err
    _, out, _ = run(["overview", "context:live"], capsys)
    assert out.startswith("Not known of all workloads")


def test_nothing_at_all_may_be_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    see(monkeypatch, *(kind for kind in api_types.READ))
    for command, more in ASKED.items():
        status, out, _ = run([command, "context:live", *more], capsys)
        assert status in (ExitStatus.NOT_KNOWN, ExitStatus.BAD_INPUT), command
        assert status == ExitStatus.NOT_KNOWN or not out, command


def test_a_quota_that_may_not_be_listed_may_refuse_the_pods(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, "ResourceQuota")
    status, out, _ = run(["rollout", "context:live", "-w", "Deployment/prod/web"], capsys)
    assert status == ExitStatus.NOT_KNOWN or "there is no" in out
    see(monkeypatch, "PodDisruptionBudget")
    status, _, _ = run(["what-if", "context:live", "--change", "add:gpu-t4=1"], capsys)
    assert status == ExitStatus.NOT_KNOWN


def test_without_refusals_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(["capacity", "demo", "-o", "json"], capsys)
    assert status == ExitStatus.ANSWERED
    assert "refused" not in err
    said = json.loads(out)
    assert said["result"] is not None
    assert all(one["state"] != "refused" for one in said["not_seen"])


OF_ALL = {"plan": (), "peak": (), "fleet": (), "diff": ("demo",)}


@pytest.mark.parametrize("command", OF_ALL)
def test_an_answer_of_all_workloads_says_that_it_is_of_those_seen(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, "Deployment")
    if command == "diff":
        hidden, whole = refusing("Deployment"), demo.read()
        monkeypatch.setattr(cluster_argument, "read_cluster", lambda spec, **_: whole if spec == "demo" else hidden)
    status, out, _ = run([command, "context:live", *OF_ALL[command]], capsys)
    assert status == ExitStatus.NOT_KNOWN
    said = "Not known of all workloads: the API server refused to list Deployments (403). Of those seen: "
    assert out.startswith(said)
    assert "workloads appeared" not in out


def test_autoscalers_that_may_not_be_listed_are_not_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, "HorizontalPodAutoscaler")
    status, out, _ = run(["peak", "context:live"], capsys)
    assert status == ExitStatus.NOT_KNOWN
    assert "refused to list HorizontalPodAutoscalers" in out


def test_what_a_refused_list_would_hold_is_not_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, "Deployment")
    status, _, err = run(["savings", "context:live", "-w", WORKLOAD], capsys)
    assert status == ExitStatus.NOT_KNOWN
    assert f"whether there is a {WORKLOAD} is not known" in err
    assert run(["savings", "context:live", "-w", "nothing"], capsys)[0] == ExitStatus.BAD_INPUT
    see(monkeypatch, "Node")
    status, _, err = run(["what-if", "context:live", "--change", "add:gpu-t4=1"], capsys)
    assert status == ExitStatus.NOT_KNOWN
    assert "refused to list Nodes" in err


OPENED = {"overview": (), "plan": (), "fleet": (), "diff": ("demo",), "what-if": ("--change", "add:gpu-t4=1")}


@pytest.mark.parametrize("kind", ["ReplicaSet", "ResourceQuota", "LimitRange"])
@pytest.mark.parametrize("command", OPENED)
def test_what_a_refused_list_leaves_open_is_in_the_exit_status(
    command: str, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden, whole = refusing(kind), refusing()
    monkeypatch.setattr(cluster_argument, "read_cluster", lambda spec, **_: whole if spec == "demo" else hidden)
    status, out, _ = run([command, "context:live", *OPENED[command]], capsys)
    assert status == ExitStatus.NOT_KNOWN, out
    assert command == "fleet" or "unknown" in out or "not known" in out
    assert "became stuck" not in out, "what was not known before did not become so"
    assert "completes today would not" not in out
    monkeypatch.setattr(cluster_argument, "read_cluster", lambda *_, **__: whole)
    assert run([command, "context:live", *OPENED[command]], capsys)[0] == ExitStatus.ANSWERED
