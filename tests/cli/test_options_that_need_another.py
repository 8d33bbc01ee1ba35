"""An option that means nothing without another one is refused where that isn't given, and never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli import main

WORKER = ("--workload", "Deployment/prod/llm-serve")


@pytest.mark.parametrize(
    ("command", "option", "partner"),
    [
        (["report", "demo"], ["--prometheus-token-file", "TOKEN"], "--prometheus"),
        (["savings", "demo"], ["--prometheus-token-file", "TOKEN"], "--prometheus"),
        (["restarts", "demo"], ["--prometheus-token-file", "TOKEN"], "--prometheus"),
        (["restarts", "demo"], ["--days", "3"], "--prometheus"),
        (["savings", "demo", *WORKER], ["--days", "3"], "--prometheus or --history"),
        (["rollout", "demo"], ["--prices", "TOKEN"], "--workload or --filename"),
        (["rollout", "demo"], ["--discount", "Standard=0.1"], "--workload or --filename"),
        (["rollout", "demo"], ["--commitments", "TOKEN"], "--workload or --filename"),
        (["rollout", "demo", *WORKER], ["--rollouts-per-month", "3"], "--costs"),
        (["rollout", "demo", *WORKER], ["--weigh-money", "3"], "--strategies"),
        (["rollout", "demo", *WORKER], ["--way-out", "2"], "--script"),
        (["rollout", "demo"], ["--costs"], "--workload or --filename"),
        (["rollout", "demo"], ["--replicas", "3"], "--workload or --filename"),
    ],
)
def test_it_is_refused(
    command: list[str], option: list[str], partner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("x")
    with pytest.raises(SystemExit) as ended:
        main([*command, *(str(tmp_path / "token") if one == "TOKEN" else one for one in option)])
    assert ended.value.code == 1
    assert f"{option[0]}: means nothing without {partner}. Give {partner} too" in capsys.readouterr().err


def test_what_the_environment_says_of_every_command_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADROOM_COMMITMENTS", str(tmp_path / "none.csv"))
    with pytest.raises(SystemExit) as ended:
        main(["rollout", "demo", *WORKER])
    assert ended.value.code == 2, capsys.readouterr().err
