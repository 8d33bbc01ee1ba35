from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _page() -> None:
    from planner.kubernetes.records import Finding, Severity
    from planner.ui import findings

    evil = "item 1 of [x](http://elsewhere.example) *left* out"
    one = Finding(severity=Severity.ERROR, code="c", object="", what=evil, mend="`write` it again")
    named = Finding(severity=Severity.ERROR, code="c", object="Quota/a*b*", what=evil)
    findings.show([one, named])


def test_names_out_of_files_never_become_markup_with_or_without_an_object() -> None:
    app = AppTest.from_function(_page, default_timeout=120).run()
    assert not app.exception
    first, second = (line.value for line in app.markdown)
    for line in (first, second):
        assert r"\[x\]\(http\://elsewhere.example\) \*left\* out" in line.replace("\u2060", "")
    assert r"\`write\` it again" in first
    assert r"**Quota/a\*b\***:" in second


def _crowd() -> None:
    from planner.kubernetes.records import Finding, Severity
    from planner.ui import findings

    def found(code: str, number: int) -> list[Finding]:
        return [Finding(severity=Severity.ERROR, code=code, object="", what=f"{code} {i}") for i in range(number)]

    findings.show([*found("loop", 1_208), *found("wait", 2)], at_most=5)
    findings.show([*found("quota", 3), *found("root", 2)], at_most=5)
    findings.show([*found("few", 2), *found("many", 1_500), *found("last", 1)], at_most=1, more=", in the table")


def test_more_than_there_is_room_for_are_told_by_kind() -> None:
    app = AppTest.from_function(_crowd, default_timeout=120).run()
    assert not app.exception
    assert [line.value.rstrip(".") for line in app.markdown] == [
        "✗ Loop 0", "✗ Wait 0", "✗ Quota 0", "✗ Quota 1", "✗ Quota 2", "✗ Root 0", "✗ Root 1", "✗ Few 0",
    ]  # fmt: skip
    assert [line.value for line in app.caption] == [
        "and 1,207 more like it", "and 1 more like it", "and 1 more like it", "and 1,501 more, in the table",
    ]  # fmt: skip
