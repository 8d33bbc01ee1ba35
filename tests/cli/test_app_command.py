"""``headroom app``: which folder, which cluster, where it listens."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.cli import main
from planner.cli.app import folder
from planner.sources import dashboard_access
from planner.sources.cluster_argument import CLUSTER_VARIABLE
from tests.architecture.tree import ROOT
from tests.builders.objects import node, pod, pod_spec


class _Started(Exception):
    """What would have been run."""


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    def instead(program: str, words: list[str], environment: dict[str, str]) -> None:
        raise _Started(words, environment)

    monkeypatch.setattr(os, "execve", instead)
    monkeypatch.setattr(os, "chdir", lambda _: None)


def test_a_file_is_named_in_full(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(_Started) as seen:
        main(["app", str(tmp_path / "a.json"), "--no-browser", "--port", "1234"])
    words, environment = seen.value.args
    assert environment[CLUSTER_VARIABLE] == str(tmp_path / "a.json")
    assert words[1:] == ["-m", "planner.cli.dashboard_server", "localhost", "1234"]
    assert environment["STREAMLIT_SERVER_HEADLESS"] == "true"
    assert environment["STREAMLIT_SERVER_PORT"] == "1234"


@pytest.mark.parametrize("name", ["demo", "openb", "context:prod"])
def test_what_is_no_file_is_passed_on(name: str) -> None:
    with pytest.raises(_Started) as seen:
        main(["app", name])
    assert seen.value.args[1][CLUSTER_VARIABLE] == name


@pytest.mark.parametrize("name", ["-", "not-there.json", "a.json,-"])
def test_what_can_not_be_read_again_is_an_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["app", name])
    assert stopped.value.code == 1
    assert capsys.readouterr().err.startswith("headroom: ")


def test_the_folder_of_a_checkout() -> None:
    assert folder() == ROOT
    assert (folder() / "app.py").exists()


def test_the_dashboard_begins_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    items: list[Any] = [node("only-node"), pod("p", pod_spec(), on="only-node")]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    monkeypatch.setenv(CLUSTER_VARIABLE, str(path))
    page = AppTest.from_file(str(ROOT / "pages/_router.py"), default_timeout=60).run()
    assert not page.exception
    assert page.sidebar.selectbox[0].value == "mine.json"
    assert "1 node, 1 pod" in page.sidebar.caption[0].value
    monkeypatch.setenv(CLUSTER_VARIABLE, "openb")
    page = AppTest.from_file(str(ROOT / "pages/_router.py"), default_timeout=120).run()
    assert page.sidebar.selectbox[0].value == "openb"


def test_no_visit_asks_the_disk_about_the_code() -> None:
    """Streamlit would look at every loaded module's file after each run of a page, in the loop that all sessions share."""
    settings = tomllib.loads((folder() / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["server"]["fileWatcherType"] == "none"


SIGN_IN = """
[auth]
redirect_uri = "https://headroom.example/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "headroom"
client_secret = "hidden"
server_metadata_url = "https://login.example/.well-known/openid-configuration"
[access]
groups = ["sre"]
"""


def test_without_sign_in_it_listens_on_localhost_only_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(dashboard_access.VARIABLE, raising=False)
    with pytest.raises(_Started) as seen:
        main(["app", "demo", "--no-browser"])
    assert seen.value.args[0][3:] == ["localhost", "8501"]
    assert seen.value.args[1]["STREAMLIT_SERVER_ADDRESS"] == "localhost"
    assert "listens on localhost only" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["app", "demo", "--host", "0.0.0.0"])
    assert stopped.value.code == 1
    said = capsys.readouterr().err
    assert "without sign-in the dashboard answers on localhost only" in said
    assert "--sign-in FILE" in said


def test_where_people_sign_in_it_listens_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(dashboard_access.VARIABLE, "")  # put back after the test
    file = tmp_path / "sign-in.toml"
    file.write_text(SIGN_IN)
    with pytest.raises(_Started) as seen:
        main(["app", "demo", "--host", "0.0.0.0", "--sign-in", str(file)])
    words, environment = seen.value.args
    assert words[3:] == ["0.0.0.0", "8501", "browser"]
    assert environment[dashboard_access.VARIABLE] == str(file)
    assert "localhost" not in capsys.readouterr().err
    file.write_text(SIGN_IN.replace('groups = ["sre"]', ""))
    with pytest.raises(SystemExit):
        main(["app", "demo", "--sign-in", str(file)])
    assert "neither groups nor domains" in capsys.readouterr().err
