from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.records import replace
from planner.inventory import cluster_oddities
from planner.ui import findings, session_cluster
from tests.builders.objects import node, read_items


def _page() -> None:
    from planner.kubernetes.object_records import Finding, Severity
    from planner.ui import findings

    evil = "item 1 of [x](http://elsewhere.example) *left* out"
    one = Finding(severity=Severity.ERROR, code="c", object="", what=evil, fix="`write` it again")
    named = Finding(severity=Severity.ERROR, code="c", object="Quota/a*b*", what=evil)
    findings.show([one, named])


def test_names_out_of_files_never_become_markup_with_or_without_an_object() -> None:
    app = AppTest.from_function(_page, default_timeout=120).run()
    assert not app.exception
    first, second = (line.value for line in app.markdown)
    for line in (first, second):
        assert r"\[x\]\(http\://elsewhere.example) \*left\* out" in line.replace("\u2060", "")
    assert r"\`write\` it again" in first
    assert r"**Quota/a\*b\***:" in second


def _crowd() -> None:
    from planner.kubernetes.object_records import Finding, Severity
    from planner.ui import findings

    def found(code: str, number: int) -> list[Finding]:
        return [Finding(severity=Severity.ERROR, code=code, object="", what=f"{code} {i}") for i in range(number)]

    findings.show([*found("loop", 1_208), *found("wait", 2)], at_most=5)
    findings.show([*found("quota", 3), *found("root", 2)], at_most=5)
    findings.show([*found("few", 2), *found("many", 1_500), *found("last", 1)], at_most=1)


def test_more_than_there_is_room_for_are_told_by_kind() -> None:
    app = AppTest.from_function(_crowd, default_timeout=120).run()
    assert not app.exception
    assert [line.value.rstrip(".") for line in app.markdown] == [
        "✗ Loop 0", "✗ Wait 0", "✗ Quota 0", "✗ Quota 1", "✗ Quota 2", "✗ Root 0", "✗ Root 1", "✗ Few 0",
    ]  # fmt: skip
    assert [line.value for line in app.caption] == [
        "and 1,207 more like it", "and 1 more like it", "and 1 more like it", "and 1,501 more",
    ]  # fmt: skip


@pytest.mark.parametrize("clock", [1_800_000_000.0, 1_800_000_299.0, 1_800_000_570.5])
@pytest.mark.parametrize("age", [0, 1, 59, 570, 3_599, 3_601, 86_399, 86_401, -1, -299, -301, -599, -3_600])
def test_a_page_says_of_a_snapshots_age_what_the_clock_does(
    monkeypatch: pytest.MonkeyPatch, clock: float, age: float
) -> None:
    """Whenever it is asked: one of this moment was "9 min 30 s ahead" in the last minutes of each ten."""
    snapshot = replace(read_items([node("n")]), taken_at=clock - age)
    monkeypatch.setattr(session_cluster, "is_demo", lambda: False)
    monkeypatch.setattr("planner.ui.findings.time.time", lambda: clock)
    asked, right = findings.age(snapshot), cluster_oddities.check_age(snapshot, clock)
    assert [(one.code, one.severity) for one in asked] == [(one.code, one.severity) for one in right]
