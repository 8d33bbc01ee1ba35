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
