"""Printed scripts beside a real control plane: what the engine makes of the old ones is what happened, and today's do what they promise.

`data/scripts4.json.gz`: clusters in which pods wait, what Headroom printed for each on 2026-11-28 (`said`), and what came of it when kubectl
carried it out on Kubernetes 1.36.3 (`happened`).
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planner.capacity.what_if import apply as what_if
from planner.capacity.what_if_syntax import parse_change
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan_answer
from planner.remedies.make_room import make_room
from planner.remedies.plan_actions import Measure, MeasureKind
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.scheduling.cluster import Cluster
from tests.builders.objects import read_items
from tests.quick import sample
from tests.remedies.carried_out import Carried, NotCarriedOut

RECORDED: list[dict[str, Any]] = json.loads(
    gzip.decompress((Path(__file__).parent / "data" / "scripts4.json.gz").read_bytes())
)
PLANS = [one for one in RECORDED if one["ask"][0] == "plan"]
WAYS_OUT = [one for one in RECORDED if one["ask"][0] == "rollout"]
ROOMS = [one for one in RECORDED if one["ask"][0] == "make-room"]


@cache
def read(name: str) -> Snapshot:
    case = next(one for one in RECORDED if one["name"] == name)
    return read_items(case["cluster"]["items"])


def named(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    some = sample(cases)
    return pytest.mark.parametrize("case", some, ids=[one["name"] for one in some])


def change_of(case: dict[str, Any]) -> WorkloadChange:
    return WorkloadChange(workload=case["ask"][2], patch=json.dumps(case["patch"]) if "patch" in case else "")


# ── what was printed then ────────────────────────────────────────────────────────────────────────────────────────────
@named([one for one in WAYS_OUT if "steps" in one["said"]])
def test_a_recorded_way_out_does_in_the_engine_what_it_did(case: dict[str, Any]) -> None:
    carried = Carried(read(case["name"]), change_of(case))
    if "is_applied" in case:
        carried.apply_first()
    for commands in case["said"]["steps"]:
        for command in commands:
            carried.run(command)
    assert carried.done[case["ask"][2]] == case["happened"]["done"] is True


@named([one for one in PLANS if one["said"].get("order")])
def test_a_recorded_order_goes_in_the_engine_as_it_went(case: dict[str, Any]) -> None:
    said, happened = case["said"], [one for one in case["happened"]["order"] if one[0] != "needs"]
    carried = Carried(read(case["name"]))
    kinds = [(one["kind"], one["command"], one["undo"]) for one in said.get("measures", ())]
    went = turns(carried, kinds, [(one["workload"], one["needs"]) for one in said["order"]], until_stuck=True)
    assert [(key, is_done) for key, is_done, _ in went] == [(one[0], one[3]) for one in happened]


@named([one for one in ROOMS if one["said"].get("moves") and one["happened"]])
def test_recorded_moves_start_in_the_engine_whom_they_started(case: dict[str, Any]) -> None:
    after = moved(read(case["name"]), [(one["pod"], one["to"]) for one in case["said"]["moves"]])
    bound = {f"{pod.namespace}/{pod.name}" for pod in after.pods if pod.node_name}
    assert set(case["happened"]["started"]) <= bound


# ── what is printed today ────────────────────────────────────────────────────────────────────────────────────────────
@named(WAYS_OUT)
def test_each_way_out_of_today_does_what_it_says(case: dict[str, Any]) -> None:
    change = change_of(case)
    found = rollout(read(case["name"]), Scenario(changes=(change,)))
    assert found.remedies or found.verdict is not Verdict.STUCK or "sts-bigger" in case["name"]
    for way in found.remedies:
        carried = Carried(read(case["name"]), change).steps(way.steps)
        assert carried.done[change.workload], way.title
        assert carried.lowest[change.workload] >= way.lowest_ready, way.title


@named(PLANS)
def test_the_order_of_todays_plan_completes(case: dict[str, Any]) -> None:
    plan = plan_answer(read(case["name"]), PlanSettings())
    kinds = [(one.kind.value, one.command, one.undo) for one in plan.measures]
    asked = [(turn.workload, turn.needs) for turn in plan.order]
    promised = {turn.workload: turn.lowest_ready for turn in plan.order}
    starts = [asked] if plan.is_order_played else [[one] for one in asked]
    went = [one for some in starts for one in turns(Carried(prepared(case, plan.measures)), kinds, some)]
    assert len(went) == len(plan.order)
    for key, is_done, lowest in went:
        assert is_done, key
        assert lowest >= promised[key], key


@named(ROOMS)
def test_todays_moves_start_whom_they_say(case: dict[str, Any]) -> None:
    made = make_room(read(case["name"]))
    after = moved(read(case["name"]), [(one.pod, one.to) for one in made.moves])
    bound = {f"{pod.namespace}/{pod.name}" for pod in after.pods if pod.node_name}
    assert {one.pod for one in made.starts} <= bound


def test_the_order_that_was_stuck_in_its_third_turn_is_not_printed_any_more() -> None:
    """`plan4-008`: after two bought nodes the third rollout was stuck for ever."""
    (case,) = (one for one in PLANS if one["name"] == "plan4-008")
    assert case["happened"]["order"][-1][3] is False, "so it went on the control plane"
    plan = plan_answer(read("plan4-008"), PlanSettings())
    assert [turn.workload for turn in plan.order] != [
        one["workload"] for one in case["said"]["order"]
    ] or not plan.is_order_played


def prepared(case: dict[str, Any], measures: tuple[Measure, ...]) -> Snapshot:
    """The cluster, after the moves that a plan asks for."""
    found = read(case["name"])
    if any(one.kind is MeasureKind.MOVES for one in measures):
        return moved(found, [(one.pod, one.to) for one in make_room(found).moves])
    return found


def moved(snapshot: Snapshot, moves: list[tuple[str, str]]) -> Snapshot:
    for pod, node in moves:
        text = f"move:{pod}={node}" if node else f"evict:{pod}"
        snapshot = what_if(Cluster(snapshot), (parse_change(text),)).snapshot
    return snapshot


def turns(
    carried: Carried, measures: list[tuple[str, str, str]], order: list[tuple[str, Any]], *, until_stuck: bool = False
) -> list[tuple[str, bool, int]]:
    """Each rollout in its turn, after what it needs: loans are given back after each; how it went."""
    there: set[int] = set()
    went = []
    for key, needs in order:
        lent = [number for number in needs if measures[number - 1][0] == MeasureKind.LEND.value]
        for number in (one for one in needs if one not in there):
            kind, command, _ = measures[number - 1]
            if kind != MeasureKind.MOVES.value:
                carried.run_all(command)
            there |= {number} - set(lent)
        try:
            carried.roll(WorkloadChange(workload=key))
        except NotCarriedOut:
            carried.done[key] = False
        went.append((key, carried.done[key], carried.lowest[key]))
        if until_stuck and not carried.done[key]:
            break
        for number in reversed(lent):
            carried.run_all(measures[number - 1][2])
    return went
