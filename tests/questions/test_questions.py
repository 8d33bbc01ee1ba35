"""What every question of the hall promises: one record of settings, a document with a schema, facts, tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema
import numpy as np
import pytest

from planner.capacity.what_if_syntax import parse_changes
from planner.ground.exit_status import ExitStatus, gravest
from planner.ground.records import replace
from planner.ground.setting_declarations import settings_of
from planner.inventory.gpu_use import GpuUse
from planner.kubernetes.object_records import EMPTY, FrozenMap, Presence, Snapshot
from planner.questions import INDEX, question_called
from planner.questions.capacity import CapacitySettings
from planner.questions.certificate import CertificateSettings
from planner.questions.diff import DiffSettings
from planner.questions.gate import GateSettings
from planner.questions.memory import MemoryWhatIfSettings
from planner.questions.question import NOTHING, Inputs, document, plain
from planner.questions.rollout import RolloutSettings
from planner.questions.savings import SavingsSettings
from planner.questions.strategies import StrategiesSettings
from planner.questions.strategy_costs import StrategyCostSettings
from planner.questions.what_if import WhatIfSettings
from planner.questions.where import WhereSettings
from planner.rollout.answers import Verdict
from planner.sources import cluster_dumps, demo
from planner.sources.prices import embedded_book
from planner.spot.assumptions import Life, SpotSettings
from planner.spot.fitted_node_lifetimes import from_files
from tests.architecture.schemas import closed, document_schema
from tests.architecture.tree import ROOT
from tests.history.histories import history

WORKER = RolloutSettings(workloads=("Deployment/prod/ml-worker",), max_surge="25%", runs=1)
ASKED: Mapping[str, Any] = {
    "where": WhereSettings(shape="cpu=1"),
    "rollout": WORKER,
    "gate": GateSettings(manifest=(ROOT / "docs/examples/manifests/llm-serve.yaml").read_text(encoding="utf-8")),
    "diff": DiffSettings(changes=parse_changes("drain:pool/gpu-t4")),
    "capacity": CapacitySettings(shapes=("gpu=1",)),
    "what_if": WhatIfSettings(changes=parse_changes("drain:pool/gpu-t4"), shape="cpu=1"),
    "savings": SavingsSettings(workload="Deployment/prod/ml-worker", spot=SpotSettings(runs=100)),
    "strategies": StrategiesSettings(rollout=replace(WORKER, max_surge=1)),
    "strategy_costs": StrategyCostSettings(rollout=replace(WORKER, max_surge=None)),
    "certificate": CertificateSettings(rollout=RolloutSettings(workloads=("Deployment/prod/llm-serve",))),
    "memory_what_if": MemoryWhatIfSettings(workload="Deployment/dev/celery", request=2**31, limit=2**31),
}


@cache
def answered(name: str) -> tuple[Any, Snapshot, Any, Any]:
    question, snapshot = question_called(name), with_queues() if name == "queues" else demo.read()
    settings = ASKED.get(name) or question.settings()
    past = history([50.0 + day for day in range(30)])
    given = Inputs(book=embedded_book(), history=past, gpu_uses=(an_idle_gpu(demo.read()),), own_history=OWN)
    return question, snapshot, settings, question.answer(snapshot, settings, given)


def with_queues() -> Snapshot:
    """The demo has no Kueue."""
    return cluster_dumps.read_bytes((ROOT / "docs/examples/teams.json").read_bytes(), name="teams.json")


OWN = from_files(tuple(Life(hours=float(hours)) for hours in range(1, 15)), (Life(hours=1.0),), "lives.csv")


def an_idle_gpu(snapshot: Snapshot) -> GpuUse:
    pod = next(one for one in snapshot.pods if one.name.startswith("ml-worker-") and one.node_name)
    return GpuUse(
        namespace=pod.namespace, pod=pod.name, gpu="GPU-1", node=pod.node_name, model="Tesla T4", samples=100,
        first_at=snapshot.taken_at - 86_400, last_at=snapshot.taken_at, busy_at=None, peak_percent=0.0, mean_percent=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("name", INDEX)
def test_document_is_what_its_schema_says(name: str) -> None:
    question, snapshot, settings, answer = answered(name)
    made = json.loads(json.dumps(document(question, snapshot, settings, answer), allow_nan=False))
    of_v2 = ("gate", "rollout", "strategies", "strategy_costs", "where")
    assert made["format"] == f"headroom.{name}/{'v2' if name in of_v2 else 'v1'}"
    assert made["clusters"] == [{"source": snapshot.source, "digest": snapshot.digest, "taken_at": snapshot.taken_at}]
    schema = closed(document_schema(question))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(made, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made | {"more": 1}, schema)


@pytest.mark.parametrize("name", INDEX)
def test_facts_are_flat_and_each_has_a_name_of_its_own(name: str) -> None:
    question, _, _, answer = answered(name)
    facts = list(question.facts(answer))
    assert facts
    assert len({(one.metric, one.labels) for one in facts}) == len(facts)
    for one in facts:
        assert one.value is None or isinstance(one.value, bool | int | float | str), one
        assert all(isinstance(value, str) for value in one.labels.values()), one
        if isinstance(one.value, int | float) and not isinstance(one.value, bool):
            assert one.unit, f"{one.metric} has no unit"


@pytest.mark.parametrize("name", INDEX)
def test_rows_of_every_table_have_the_same_columns(name: str) -> None:
    question, _, _, answer = answered(name)
    for table in (*question.tables, "facts"):
        assert len({tuple(row) for row in question.rows(answer, table)}) <= 1, table
    assert question.rows(answer) == question.rows(answer, next(iter(question.tables)))


@pytest.mark.parametrize("name", INDEX)
def test_every_setting_says_what_it_is(name: str) -> None:
    settings = settings_of(question_called(name).settings)
    assert len({one.name for one in settings}) == len(settings)
    for one in settings:
        assert one.help.endswith((".", "%.")), one.name
        assert one.label, one.name
        if one.kind in (int, float) and one.parse is None:
            assert one.least is not None, f"{one.name} has no lower bound"
            assert one.most is not None, f"{one.name} has no upper bound"
            one.check(one.default)
            one.check(one.assumed)


def test_the_same_question_gives_the_same_document() -> None:
    question, snapshot, settings, answer = answered("overview")
    again = question.answer(snapshot, settings, NOTHING)
    assert document(question, snapshot, settings, answer) == document(question, snapshot, settings, again)


def test_plain_knows_records_and_nothing_else() -> None:
    assert plain([1, 1.5, "a", None, True, Verdict.STUCK]) == [1, 1.5, "a", None, True, "stuck"]
    assert plain(FrozenMap({"a": FrozenMap({"b": 1})})) == {"a": {"b": 1}}
    with pytest.raises(NotImplementedError, match="int64"):
        plain({"a": np.int64(1)})


# ── exit status ──────────────────────────────────────────────────────────────────────────────────────────────────────
S = ExitStatus


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((), S.ANSWERED),
        ((S.ANSWERED, S.NEEDS_GROWTH), S.NEEDS_GROWTH),
        ((S.NEEDS_GROWTH, S.NOT_KNOWN, S.ANSWERED), S.NOT_KNOWN),
        ((S.NOT_KNOWN, S.STUCK, S.NEEDS_GROWTH), S.STUCK),
    ],
)
def test_of_several_the_gravest(statuses: tuple[ExitStatus, ...], expected: ExitStatus) -> None:
    assert gravest(statuses) is expected


@pytest.mark.parametrize("presence", [Presence.ABSENT, Presence.REFUSED])
@pytest.mark.parametrize("name", ["overview", "seats", "capacity", "costs", "memory", "restarts", "savings"])
def test_a_list_without_its_pods_is_not_known(name: str, presence: Presence) -> None:
    question, snapshot, _, answer = answered(name)
    assert question.exit_status(snapshot, answer) is ExitStatus.ANSWERED
    lacking = replace(snapshot, presence=FrozenMap({**snapshot.presence, "Pod": presence}))
    assert question.exit_status(lacking, answer) is ExitStatus.NOT_KNOWN
    assert question.exit_status(replace(snapshot, presence=EMPTY), answer) is ExitStatus.ANSWERED


@pytest.mark.parametrize(
    ("name", "states", "expected"),
    [
        ("overview", ("stuck",), S.STUCK),
        ("overview", ("unknown", "needs_growth"), S.ANSWERED),
        ("findings", ("error",), S.REFUSED),
        ("findings", (), S.ANSWERED),
        ("restarts", ("looping",), S.REFUSED),
        ("restarts", ("not_starting",), S.ANSWERED),
        ("drift", ("explains",), S.REFUSED),
    ],
)
def test_a_list_fails_on_what_it_is_told_to(name: str, states: tuple[str, ...], expected: ExitStatus) -> None:
    question, snapshot, _, answer = answered(name)
    assert question.exit_status(snapshot, answer, states) is expected
