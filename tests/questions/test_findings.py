from __future__ import annotations

from planner.kubernetes.object_records import Finding, Severity
from planner.ui.findings import kinds


def test_findings_of_one_code_and_severity_are_together() -> None:
    def found(code: str, severity: Severity, name: str) -> Finding:
        return Finding(severity=severity, code=code, object=f"Deployment/{name}", what=f"{name} has it")

    first, other = found("loops", Severity.ERROR, "a"), found("waits", Severity.ERROR, "b")
    third, milder = found("loops", Severity.ERROR, "c"), found("loops", Severity.INFO, "d")
    assert kinds([first, other, third, milder]) == [(first, third), (other,), (milder,)]
    assert kinds([]) == []
