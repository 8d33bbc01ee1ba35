"""The help of every command is a screen: fifteen options at most; ``--help-all`` names every one, under headings."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from planner.cli import COMMANDS, headroom, main
from tests.seen import premise

MOST = 15


def _command(name: str) -> click.Command:
    command = headroom.get_command(click.Context(headroom), name)
    assert command is not None
    return command


def _flags(text: str) -> set[str]:
    words = (line.split() for line in text.splitlines() if line.startswith("  -"))
    named = (next((word for word in line[:3] if word.startswith("--")), "") for line in words)  # of a pair the first
    return {word.rstrip(",").partition("/")[0] for word in named if word}


def _help(name: str, flag: str) -> str:
    done = CliRunner().invoke(headroom, [*name.split(" "), flag], prog_name="headroom", terminal_width=100)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_is_a_screen_and_the_long_one_is_whole(name: str) -> None:
    command = _command(name)
    short = _flags(_help(name, "--help"))
    assert len(short) <= MOST
    assert "--help" in short
    shown = {max(one.opts, key=len) for one in command.params if isinstance(one, click.Option) and not one.hidden}
    if premise("--help-all" in short):
        assert shown <= _flags(_help(name, "--help-all"))
        assert len(short) > 5  # those that people type are named
    elif not isinstance(command, click.Group):
        assert shown <= short


def test_a_long_help_has_headings() -> None:
    text = _help("rollout", "--help-all")
    assert all(f"\n{heading}:\n" in text for heading in ("Options", "Autoscaling", "Prices", "Node pools", "Output"))
    assert "--then TIME:CHANGE" in _help("rollout", "--help")
    assert "stops-answering" not in _help("rollout", "--help")
    assert "stops-answering" in text


def test_old_names_of_options_go_on() -> None:
    asked = ["rollout", "demo", "-w", "ml-worker", "--strategies", "-o", "json"]
    old, new = (CliRunner().invoke(headroom, [*asked, flag, "10"]) for flag in ("--extra-gpus", "--weigh-extra-gpus"))
    assert old.exit_code == new.exit_code == 0
    assert old.output == new.output


def test_a_cluster_that_is_missing_says_what_may_stand_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["overview"])
    assert ended.value.code == 1
    assert "Give demo, a FILE of kubectl get … -A -o json, or context:NAME" in capsys.readouterr().err
