"""Which sign-ins are over: told by what was signed, in this process, another one, and after a restart."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.sources import signed_out_sessions
from planner.sources.signed_out_sessions import SignedOut, identity

MINE: dict[str, Any] = {"iss": "https://login.example", "sub": "ann", "iat": 1_000, "exp": 9_000_000_000}
FAR = time.time() + 1e6


def test_what_tells_one_sign_in_from_another() -> None:
    assert identity(MINE) == identity({**MINE, "groups": ["other"], "exp": 5})
    for other in ({"sub": "bob"}, {"iat": 1_001}, {"iss": "another"}, {"sid": "s"}, {"iat": None}, {"iat": True}):
        assert identity({**MINE, **other})[0] != identity(MINE)[0], other
    with_session = {**MINE, "sid": "s"}
    assert identity(with_session)[0] == identity({**with_session, "iat": 2_000, "sub": "x"})[0]
    assert identity({"email": "a"})[0] != identity({"email": "b"})[0]


def test_without_a_folder_another_process_takes_no_cookie_of_this_one() -> None:
    one, other = SignedOut(), SignedOut()
    assert one.secret("configured") == one.secret("configured") != other.secret("configured")
    assert one.secret("configured") != one.secret("another")


def test_with_a_folder_all_sign_alike_and_know_alike(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    one, other = SignedOut(folder), SignedOut(folder)
    assert one.secret("configured") == other.secret("configured") != "configured"
    one.add(MINE, FAR)
    assert MINE in other
    assert MINE in SignedOut(folder)
    assert {**MINE, "iat": 1_001} not in other
    assert not [path for path in folder.iterdir() if path.stat().st_mode & 0o077], "nobody else reads it"


def test_a_folder_that_was_emptied_signs_everybody_out(tmp_path: Path) -> None:
    before = SignedOut(tmp_path).secret("configured")
    for path in tmp_path.iterdir():
        path.unlink()
    assert SignedOut(tmp_path).secret("configured") != before


def test_what_is_over_by_time_is_removed(tmp_path: Path) -> None:
    one = SignedOut(tmp_path)
    one.add(MINE, time.time() - 1)
    one.add({**MINE, "sub": "bob"}, FAR)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["key", identity({**MINE, "sub": "bob"})[0]])


def test_a_later_sign_out_of_the_session_counts_for_all(tmp_path: Path) -> None:
    one, other, mine = SignedOut(tmp_path), SignedOut(tmp_path), {**MINE, "sid": "s"}
    one.add(mine, FAR)
    other.add({**mine, "iat": 2_000}, FAR)
    assert {**mine, "iat": 1_500} in one
    one.add(mine, FAR)
    assert {**mine, "iat": 2_000} in one, "an earlier one takes nothing back"


def test_a_damaged_file_is_a_sign_out(tmp_path: Path) -> None:
    one = SignedOut(tmp_path)
    (tmp_path / identity(MINE)[0]).write_text("[1")
    assert MINE in one


def test_a_sign_out_that_cannot_be_kept_holds_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kept"
    one = SignedOut(folder)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    one.add(MINE, FAR)
    assert MINE in one
    assert "known to this process only" in capsys.readouterr().err


def test_a_folder_that_cannot_be_used_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(signed_out_sessions.VARIABLE, str(tmp_path / "file"))
    with pytest.raises(InputError, match="can't be used"):
        signed_out_sessions.configured()
    monkeypatch.setenv(signed_out_sessions.VARIABLE, str(tmp_path / "new"))
    assert signed_out_sessions.configured().secret("x") == SignedOut(tmp_path / "new").secret("x")
    (tmp_path / "new" / "key").write_bytes(b"")
    with pytest.raises(InputError, match="isn't a key"):
        signed_out_sessions.configured()
    assert os.environ[signed_out_sessions.VARIABLE]
