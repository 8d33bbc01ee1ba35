"""Rows as people read them: words, units and headings, of any question's table."""

from __future__ import annotations

from enum import StrEnum

import pytest

from planner.ground.words import Text
from planner.health.restarts.model import Activity, Cause
from planner.kubernetes.object_records import Presence, Severity
from planner.questions.table_wording import for_people, heading
from planner.rollout.answers import Reason, Verdict


class Speed(StrEnum):
    VERY_SLOW = "very_slow"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("node_pools", "node pools"), ("gpu_model", "GPU model"), ("working_set_bytes", "working set"),
        ("idle_gpu_usd_per_month", "idle GPU per month"), ("asks_cpu_millicores", "asks CPU"), ("usd", "usd"),
        ("asks_nvidia.com/gpu", "asks nvidia.com/gpu"), ("seconds_between", "seconds between"),
    ],
)  # fmt: skip
def test_a_heading_has_words_and_no_unit(name: str, said: str) -> None:
    assert heading(name) == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("verdict", Verdict.NEEDS_GROWTH, "△ Needs growth"), ("reason", Reason.HOLD_AND_WAIT, "waits for itself"),
        ("cause", Cause.OOM_OWN_LIMIT, "OOM-killed at its own limit"), ("severity", Severity.INFO, "note"),
        ("presence", Presence.ABSENT, "– not in the input"), ("speed", Speed.VERY_SLOW, "very slow"),
        ("working_set_bytes", 2**30 * 3 // 2, "1.5 GiB"), ("memory_limit_bytes", 512 * 2**20, "512Mi"),
        ("asks_memory_bytes", 24 * 2**30, "24Gi"), ("asks_cpu_millicores", 6_000, "6"), ("wait_seconds", 90.0, "1 min 30 s"),
        ("since_seconds", 1_784_192_400.0, "2026-07-16 09:00 UTC"), ("saved_usd", -5.0, "−$5.00"),
        ("usd_per_gpu_hour", 0.35, "$0.3500"), ("peak_percent", 12.0, "12%"), ("memory_gib", 12.4, "12.4 GiB"),
        ("replicas", 1_523, 1_523), ("saved_usd", None, None), ("is_sidecar", True, True),
    ],
)  # fmt: skip
def test_a_cell_has_its_unit(name: str, value: object, said: object) -> None:
    (row,) = for_people([{"name": "a", name: value, "always": 1}], {name: "it", "always": ""})
    assert row.get("it") == said


def test_a_unit_of_its_own_column_is_said_once() -> None:
    rows = [
        {"what": "gpus free", "after": 2.0, "unit": "GPUs"},
        {"what": "cost idle", "after": 588.02, "unit": "USD/month"},
    ]
    assert [list(row.values()) for row in for_people(rows)] == [
        ["GPUs free", 2.0, "GPUs"],
        ["cost idle", "$588.02", "a month"],
    ]


def test_a_sentence_beside_its_verdict_doesnt_begin_with_it() -> None:
    told = for_people(
        [{"verdict": Verdict.STUCK, "sentence": "stuck: no node matches"}, {"verdict": None, "sentence": Text("gone")}]
    )
    assert [row["sentence"] for row in told] == ["No node matches.", "Gone."]


def test_columns_without_a_word_are_left_out_and_zeros_are_not() -> None:
    rows = [
        {"a": 0, "b": "", "c": None, "d": False, "e": Text()},
        {"a": 0, "b": "", "c": None, "d": False, "e": Text()},
    ]
    assert for_people(rows) == [{"a": 0}, {"a": 0}]
    assert for_people([]) == []


def test_a_price_that_is_missing_everywhere_is_still_a_column() -> None:
    rows = [{"way": "spot", "price_usd": None, "risk": None}]
    assert for_people(rows) == [{"way": "spot", "price": None}]


def test_money_in_rows_adds_up_to_the_cent() -> None:
    amounts = [100.49, 100.49, 0.02]
    said = [row["saved"] for row in for_people([{"saved_usd": one} for one in [*amounts, sum(amounts)]])]
    cents = [round(float(str(one).removeprefix("$").replace(",", "")) * 100) for one in said]
    assert sum(cents[:-1]) == cents[-1]


def test_every_cause_and_activity_has_words() -> None:
    said = [one.words for one in (*Cause, *Activity)]
    assert all(said)
    assert len(set(said)) == len(said)
