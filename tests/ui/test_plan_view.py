from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _page() -> None:
    import streamlit as st

    from planner.ground.words import Text
    from planner.questions.plan import PlanSettings
    from planner.remedies.plan_actions import Measure, MeasureKind
    from planner.remedies.readiness_planner import PlanAnswer
    from planner.sources import demo
    from planner.ui import unblock_all_dialog

    def measure(team: int, patch: str) -> Measure:
        key = f"Deployment/team-{team}/serve"
        command = f"kubectl patch deployment/serve -n team-{team} -p '{patch}'"
        return Measure(
            kind=MeasureKind.STRATEGY, what=Text(f"team-{team}/serve: {patch}"), workload=key, command=command,
            undo=f"{command}-", makes=(key,), alike=patch,
        )  # fmt: skip

    measures = (*(measure(team, "alike") for team in range(7)), *(measure(team, f"own-{team}") for team in range(30)))
    found = PlanAnswer(
        sentence=Text("so it is"), total=37, ready_now=0, ready_free=37, ready_all=37, unknown=0, measures=measures,
        order=(), left=(), nodes=0, usd_per_month=0.0, usd_per_rollout=0.0,
    )  # fmt: skip
    unblock_all_dialog.show(demo.read(), found, PlanSettings(), st.container())


def test_the_same_change_of_many_is_one_card_and_what_has_none_is_in_the_downloads() -> None:
    app = AppTest.from_function(_page, default_timeout=120).run()
    assert not app.exception
    said = [one.value.replace("\\", "") for one in app.markdown]
    assert "unblocks 7 workloads" in said[0]
    assert said[1] == "The same for 2. team-1/serve, 3. team-2/serve, 4. team-3/serve and 3 more."
    assert [line.split()[4] for line in app.code[1].value.splitlines()] == [f"team-{i}" for i in range(7)]
    assert app.code[0].value.splitlines()[6].endswith("'alike'-")
    assert [one.value.partition("** ")[0] for one in app.markdown[2:5]] == ["**8.", "**9.", "**10."]
    assert len(app.code) == 2 * 20
    assert "and 11 more measures: all of them, with their commands, are in the downloads below" in [
        one.value for one in app.caption
    ]
