"""All plans worth having, on the Rollout page: worked out once opened, with the levers as switches."""

from __future__ import annotations

from tests.pages.visiting import said, visit

SERVE = "Deployment/prod/llm-serve"


def test_the_plans_are_told_once_the_section_is_open() -> None:
    assert "worth having" not in said(visit("rollout", workload=SERVE))
    app = visit("rollout", workload=SERVE, certificate="true")
    assert "2 plans are worth having" in said(app)
    assert (
        "1. maxSurge 0, maxUnavailable 1, llm-lab/llm-canary at 0 replicas meanwhile"
        in app.selectbox(key="plan").options
    )


def test_a_lever_that_is_switched_off_is_not_used() -> None:
    app = visit("rollout", workload=SERVE, certificate="true", lever_lend="false")
    assert "2 plans are worth having" not in said(app)
    assert "llm-canary at 0 replicas meanwhile" not in " ".join(str(box.value) for box in app.selectbox)
