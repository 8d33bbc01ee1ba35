"""The help has the pages' rooms; a command within another answers as it did by itself, and its old name says the new one."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from planner.cli import COMMANDS, FIRST, ROOMS, WITHIN, headroom, main
from planner.questions import SETUP
from tests.architecture import documents
from tests.architecture.tree import ROOT
from tests.seen import each

OLD = {name: home for home, commands in WITHIN.items() for name in commands}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_the_help_has_the_rooms_of_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    router = (ROOT / "pages/_router.py").read_text(encoding="utf-8")
    rooms = ["Workloads" if room == "Rollouts" else room for room in ROOMS if room != SETUP]  # commands act, pages list
    assert [room for room in rooms if f'    "{room}": (' in router] == rooms
    said = run(capsys, "--help")[1]
    for room, commands in {"Start with": FIRST, **ROOMS}.items():
        section = said.partition(f"\n{room}:\n")[2].partition("\n\n")[0]
        named = [name for name in commands if room == "Start with" or name not in FIRST]
        assert [line.split()[0] for line in section.splitlines() if line[2:3].strip()] == named


def test_the_commands_are_those_that_were_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = "overview rollout gate capacity make-room survive fleet restarts memory costs spot report diff review store app serve doctor dump"
    assert {name for commands in ROOMS.values() for name in commands} == set(chosen.split())
    screen = run(capsys, "--help")[1].splitlines()[:40]
    assert FIRST == ("overview", "rollout", "gate", "capacity", "costs", "app")
    assert all(any(line.startswith(f"  {name} ") for line in screen) for name in FIRST)
    status, script, _ = run(capsys, "completion", "bash")  # hidden, and there
    assert status == 0
    assert "_HEADROOM_COMPLETE" in script


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["seats", "demo", "-o", "csv"], ["capacity", "demo", "-o", "csv", "--seats"]),
        (["findings", "demo"], ["overview", "--findings", "demo"]),
        (["in-flight", "demo"], ["rollout", "demo", "--in-flight"]),
        (["what-if", "demo", "--change", "add:gpu-t4=1"], ["capacity", "demo", "--change=add:gpu-t4=1"]),
        (["where", "demo", "--shape", "gpu=1"], ["fleet", "demo", "--shape", "gpu=1"]),
        (["prices", "show", "--gpu", "T4"], ["costs", "--price-list", "show", "--gpu", "T4"]),
        (["trends", "none"], ["store", "trends", "none"]),
        (["anonymize", "none", "--to", "x"], ["store", "anonymize", "none", "--to", "x"]),
        (["mcp", "none"], ["serve", "none", "--mcp"]),
        (["plan", "demo"], ["overview", "demo", "--plan"]),
        (["queues", "demo"], ["capacity", "demo", "--queues"]),
        (["queues", "demo", "--change", "quota:x=1"], ["capacity", "--queues", "demo", "--change", "quota:x=1"]),
        (["drift", "demo"], ["diff", "demo", "--between", "all"]),
        (["drift", "demo", "--between=dev,prod"], ["diff", "demo", "--between=dev,prod"]),
        (["savings", "demo", "--runs", "100"], ["spot", "demo", "--runs", "100"]),
        (["costs", "demo", "--spot", "--runs", "100"], ["spot", "demo", "--runs", "100"]),
        (["overview", "demo"], ["rollout", "demo"]),
    ],
    ids=" ".join,
)
def test_both_names_answer_alike(capsys: pytest.CaptureFixture[str], old: list[str], new: list[str]) -> None:
    assert run(capsys, *old) == run(capsys, *new)  # in silence: a script's log isn't the place to learn names


def test_on_a_terminal_an_old_name_says_the_new_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.cli.is_on_terminal", lambda: True)
    first = run(capsys, "findings", "demo")[2].partition("\n")[0]
    assert first == "headroom: findings is called headroom overview --findings now"
    assert "is called" not in run(capsys, "findings", "demo", "--quiet")[2]
    for old, new in (
        ("savings", "spot"),
        ("plan", "overview --plan"),
        ("drift", "diff --between"),
        ("queues", "capacity --queues"),
    ):
        assert f"headroom: {old} is called headroom {new} now" in run(capsys, old, "nowhere.json")[2]
        assert "is called" not in run(capsys, *new.split(), "nowhere.json")[2]
    assert "headroom: costs --spot is called headroom spot now" in run(capsys, "costs", "--spot", "nowhere.json")[2]


def test_a_command_names_those_within_it(capsys: pytest.CaptureFixture[str]) -> None:
    for called in each(one for one in COMMANDS if " " in one):
        home, _, word = called.partition(" ")
        assert word in run(capsys, home, "--help")[1]
        assert f"Usage: headroom {called} " in run(capsys, *called.split(" "), "--help")[1]


def test_completion_offers_rooms_and_not_the_old_names() -> None:
    complete = ShellComplete(headroom, {}, "headroom", "_HEADROOM_COMPLETE")
    offered = {one.value for one in complete.get_completions([], "")}
    assert offered == {name for commands in ROOMS.values() for name in commands}
    assert not offered & set(OLD)
    assert "--seats" in {one.value for one in complete.get_completions(["capacity"], "--se")}
    assert "--change" in {one.value for one in complete.get_completions(["capacity", "--change", "x"], "--ch")}


def test_the_decision_lists_every_name() -> None:
    page = (ROOT / documents.NAMES).read_text(encoding="utf-8")
    assert documents.with_names(page) == page, "run `make docs`"
    assert [called for called in COMMANDS if f"`{called}`" not in page] == []
