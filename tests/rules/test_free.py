"""What is free: where nobody holds it and a pod could be placed. Whoever counts GPUs says the same of one cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.capacity import capacity_answer as capacity_left
from planner.capacity import gpu_holders as seats_room
from planner.capacity import rollout_readiness as overviews
from planner.capacity.change_comparison import what_if
from planner.capacity.fragmentation import fragments
from planner.capacity.gpu_inventory import gpu_lines, known_sum
from planner.capacity.what_if import apply
from planner.capacity.what_if_syntax import parse_changes
from planner.cli import main
from planner.history import snapshot_rows
from planner.inventory.cluster_oddities import check
from planner.kubernetes.object_records import Snapshot
from planner.questions import capacity, diff, findings, fleet, overview, report
from planner.questions.question import Inputs
from planner.questions.what_if import QUESTION as WHAT_IF
from planner.scheduling.cluster import Cluster
from planner.scheduling.template_node import bare_copy
from planner.serve import cluster_metrics as metrics
from planner.sources import demo
from tests.builders.objects import GPU, Item, deployment, node, pod_spec, snapshot
from tests.pages.visiting import said, visit

T4, LABEL = "T4", "nvidia-tesla-t4"
DRAIN = parse_changes("drain:pool/gpu-t4")


def drained() -> Snapshot:
    """The demo with its six T4 nodes cordoned: five GPUs held, one that nobody holds; elsewhere one is free."""
    return apply(Cluster(demo.read()), DRAIN, ()).snapshot


def not_ready(name: str, gpus: int) -> Item:
    item = node(name, pool="p", gpus=gpus)
    item["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    item["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    return item


def mixed_items() -> list[Any]:
    """From the start: 1 free and 1 held on a usable node, 2 and 1 on a cordoned one, 4 on one that isn't Ready, 3 tainted."""
    spec = pod_spec(gpus=1)
    return [
        node("open", pool="p", gpus=2),
        node("shut", pool="p", gpus=3, cordoned=True),
        not_ready("lost", 4),
        node("tainted", pool="q", gpus=3, taints=(("team", "NoSchedule"),)),
        *deployment("a", ["open", "shut"], spec),
    ]


# ── (free, out of use), by whoever counts ────────────────────────────────────────────────────────────────────────────
def by_overview(given: Snapshot) -> tuple[int, int]:
    lines = gpu_lines(Cluster(given))
    assert all(
        known_sum((one.requested, one.free, one.out_of_use)) == known_sum((one.allocatable, one.overcommitted))
        for one in lines
    )
    return known_sum(one.free for one in lines) or 0, known_sum(one.out_of_use for one in lines) or 0


def by_facts(given: Snapshot) -> tuple[float, float]:
    told = list(overview.QUESTION.facts(overviews.overview(given)))
    free, shut = (
        sum(float(one.value) for one in told if one.metric == metric and one.value is not None)
        for metric in ("gpus_free", "gpus_out_of_use")
    )
    return free, shut


def by_resources(given: Snapshot) -> tuple[int, int]:
    (line,) = (one for one in capacity_left.capacity(given).resources if one.resource == GPU)
    assert line.free is not None
    assert line.free_cordoned is not None
    return line.free, line.free_cordoned


def by_pools(given: Snapshot) -> tuple[int, int]:
    found = capacity.QUESTION.rows(capacity_left.capacity(given), "pools")
    return sum(int(str(row["gpus_free"])) for row in found), sum(int(str(row["gpus_out_of_use"])) for row in found)


def by_seats(given: Snapshot) -> tuple[int, int]:
    found = seats_room.seats(given)
    return sum(one.gpus_free for one in found), sum(one.gpus_out_of_use for one in found)


def by_fleet(given: Snapshot) -> tuple[int, int]:
    models = fleet.answer(given, fleet.FleetSettings()).models
    return known_sum(one.free for one in models) or 0, known_sum(one.out_of_use for one in models) or 0


def by_metrics(given: Snapshot) -> tuple[float, float]:
    (family,) = (one for one in metrics.cluster_metrics(given, Inputs()).families if one.name == "gpus")
    free, shut = (
        sum(amount for names, amount in family.samples if names[-1] == state) for state in ("free", "out_of_use")
    )
    return free, shut


COUNTED: list[Callable[[Snapshot], tuple[float, float]]] = [
    by_overview, by_facts, by_resources, by_pools, by_seats, by_fleet, by_metrics,
]  # fmt: skip


@pytest.mark.parametrize("counted", COUNTED, ids=lambda one: one.__name__)
def test_all_who_count_say_the_same(counted: Callable[[Snapshot], tuple[float, float]]) -> None:
    assert counted(demo.read()) == (1, 0)
    assert counted(drained()) == (1, 1)
    assert counted(snapshot(*mixed_items())) == (4, 6)


@pytest.mark.parametrize(("given", "free"), [(demo.read, 1), (drained, 1), (lambda: snapshot(*mixed_items()), 4)])
def test_those_who_count_only_the_free_ones_too(given: Callable[[], Snapshot], free: int) -> None:
    here = given()
    assert fragments(Cluster(here)).free == free
    assert known_sum(one.free for one in capacity_left.capacity(here).supply) == free
    kept = snapshot_rows.rows_of(here, (), written_by="test")["pools"]
    assert sum(int(str(row["free"])) for row in kept if row["resource"] == GPU) == free


def test_commands_say_it_in_the_same_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": mixed_items()}))

    def out(*arguments: str) -> str:
        with pytest.raises(SystemExit):
            main([arguments[0], str(path), *arguments[1:]])
        return capsys.readouterr().out

    aside = "(6 more are out of use, on cordoned or not Ready nodes)"
    assert f"4 of 12 GPUs are free {aside}" in out("capacity")
    assert f"4 of 12 GPUs on 4 nodes are free {aside}; at most 3 on one node" in out("seats")
    assert "shut (cordoned)" in out("seats")
    assert "lost (not Ready)" in out("seats")
    header, line = out("overview").splitlines()[-4:-2]
    assert [one.strip() for one in header.split("  ") if one][-3:] == ["free", "out of use", "wanted"]
    assert line.split() == [T4, LABEL, "4", "2", "4", "of", "12", "6", "0"]


# ── a drain ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_drain_frees_nothing() -> None:
    found = what_if(demo.read(), DRAIN, with_rollouts=False)
    figures = {str(row["figure"]): (row["today"], row["then"]) for row in WHAT_IF.rows(found, "figures")}
    assert (figures["GPUs free"], figures["GPUs out of use"]) == ((1, 1), (0, 1))
    whole = report.review(drained(), report.ReportSettings())
    assert "1 of 27 GPUs is free (1 more is out of use, on cordoned or not Ready nodes)." in [
        str(one.said) for one in whole.chapters
    ]


def test_what_waits_for_a_model_waits_for_it_when_its_nodes_are_cordoned() -> None:
    found = diff.answer(demo.read(), diff.DiffSettings(changes=DRAIN))
    assert "1 more T4 out of use" in str(found.sentence)
    assert " free" not in str(found.sentence)
    numbers = {(one.metric, one.labels.get("model")): (one.before, one.after) for one in found.numbers}
    assert numbers["gpus_pending", T4] == (1, 2)
    assert ("gpus_pending", "") not in numbers
    assert ("gpus_free", T4) not in numbers
    assert numbers["pods_waiting", None] == (2, 3)


def test_pages_say_it_too() -> None:
    asked = visit("what_if", changes="drain:pool/gpu-t4")
    rows = next(one.value for one in asked.dataframe if "Figure" in one.value).set_index("Figure")
    assert list(rows.loc["GPUs free", ["Today", "Then", "Change"]]) == ["1", "1", "0"]
    assert list(rows.loc["GPUs out of use", ["Today", "Then", "Change"]]) == ["0", "1", "1"]
    then = drained()
    shown = visit("headroom", then)
    assert "1 of 27 GPUs is free (1 more is out of use, on cordoned or not Ready nodes)" in said(shown)


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_findings_are_about_the_same_nodes() -> None:
    codes = {one.code: one.what for one in check(snapshot(*mixed_items()))}
    assert codes["gpu-node-cordoned"].startswith("node shut is cordoned")
    assert codes["gpu-node-not-ready"].startswith("node lost is not Ready")
    told = {one.code for one in findings.answer(drained(), findings.FindingsSettings(), Inputs()).findings}
    assert "gpu-node-cordoned" in told


def test_a_new_node_like_one_that_is_out_of_use_takes_pods() -> None:
    lost = next(one for one in snapshot(*mixed_items()).nodes if one.name == "lost")
    new = bare_copy(lost, "new")
    assert ("Ready" in new.conditions, new.taints, new.is_cordoned) == (False, (), False)
