"""The frontend's page and files, as our middleware answers them: the same that Streamlit answers, with what is asked for at once."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from starlette.testclient import TestClient
from streamlit.web.server.starlette.starlette_static_routes import create_streamlit_static_handler

from planner.ui import streamlit_static_files
from planner.ui.streamlit_static_files import Frontend
from planner.ui.web_security import content_security_policy

STATIC = Path(st.__file__).parent / "static"
Message = MutableMapping[str, Any]


def asked(path: str, *, base: str = "", method: str = "GET", kind: str = "http", **headers: str) -> list[Message]:
    """What is sent; nothing where it is left to Streamlit."""
    sent: list[Message] = []

    async def streamlits(*_: object) -> None:
        return None

    async def send(message: Message) -> None:
        sent.append(message)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "method": method, "path": path, "headers": named}
    asyncio.run(Frontend(streamlits, ["rollout"], base)(scope, streamlits, send))  # type: ignore[arg-type]
    return sent


def test_a_file_is_answered_as_streamlit_answers_it() -> None:
    streamlits = TestClient(create_streamlit_static_handler(str(STATIC), None))
    kinds = {file.suffix: file for file in sorted(STATIC.glob("static/*/*"))}
    assert {".js", ".css", ".woff2"} <= set(kinds)
    for file in kinds.values():
        path = f"/{file.relative_to(STATIC).as_posix()}"
        theirs, (start, body) = streamlits.get(path), asked(path)
        told = {name.decode(): value.decode() for name, value in start["headers"]}
        assert body["body"] == theirs.content == file.read_bytes()
        assert start["status"] == theirs.status_code == 200
        mine = {"etag", "vary"}  # Streamlit's tag is of the time at which it was installed
        assert {name: told[name] for name in told if name not in mine} == {
            name: theirs.headers[name] for name in told if name not in mine
        }
        assert set(told) - {"vary"} == {"content-type", "content-length", "cache-control", "etag"}


@pytest.mark.parametrize(
    "path",
    ["/static/../../secrets.toml", "/static/js/nothing.js", "/static/js/", "/static", "/nothing", "/rollout/", "/index.html", "/_stcore/health",
     "/rollout/_stcore/health", "//rollout", "/component/x"],
)  # fmt: skip
def test_all_else_is_streamlits_to_answer(path: str) -> None:
    assert asked(path) == []


def test_what_is_asked_for_in_part_is_streamlits_to_answer() -> None:
    file = f"/{next(STATIC.glob('static/js/index.*.js')).relative_to(STATIC).as_posix()}"
    assert asked(file)
    assert not asked(file, range="bytes=0-9")
    assert not asked(
        file, range="bytes=0-9", accept_encoding="gzip"
    )  # a part of what isn't packed, under Streamlit's own tag
    assert not asked("/rollout", method="POST")
    assert not asked("/rollout", kind="websocket", method="")


@pytest.mark.parametrize(
    "path", ["/rollout", f"/{next(STATIC.glob('static/js/index.*.js')).relative_to(STATIC).as_posix()}"]
)
def test_who_asks_for_the_headers_gets_those_of_the_answer(path: str) -> None:
    (whole, body), (start, nothing) = asked(path), asked(path, method="HEAD")
    assert start == whole
    assert body["body"]
    assert nothing["body"] == b""


def test_another_release_of_streamlit_answers_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.html").write_text("<html><head></head></html>")
    monkeypatch.setattr(streamlit_static_files, "_STATIC", tmp_path)
    asking = streamlit_static_files.page.__wrapped__  # what another test asked for is remembered
    assert "modulepreload" not in asking()
    (tmp_path / "manifest.json").write_text('{"a": {"file": "static/js/a.js", "isDynamicEntry": true}}')
    assert "modulepreload" not in asking()
    (tmp_path / "index.html").unlink()
    assert asking() == ""
    monkeypatch.setattr(streamlit_static_files, "page", asking)
    assert asked("/rollout") == []


LARGEST = f"/{next(STATIC.glob('static/js/PlotlyChart.*.js')).relative_to(STATIC).as_posix()}"
FONT = f"/{next(STATIC.glob('static/media/*.woff2')).relative_to(STATIC).as_posix()}"
TAKEN = {  # RFC 9110, 12.5.3
    "gzip, deflate, br": True, "GZIP;q=0.5": True, "br;q=1.0, *;q=0.1": True, "*": True,
    "": False, "identity": False, "br": False, "gzip;q=0": False, "gzip; q=0.0, *": False, "*;q=0": False, "gzip;q=much": False,
}  # fmt: skip


@pytest.mark.parametrize(("taken", "is_packed"), TAKEN.items())
@pytest.mark.parametrize("path", ["/rollout", LARGEST])
def test_what_gzip_makes_smaller_is_packed_for_a_browser_that_takes_it(path: str, taken: str, is_packed: bool) -> None:
    whole = streamlit_static_files.page().encode() if path == "/rollout" else (STATIC / path[1:]).read_bytes()
    start, body = asked(path, accept_encoding=taken)
    told = dict(start["headers"])
    assert (told.get(b"content-encoding") == b"gzip") == is_packed
    assert (gzip.decompress(body["body"]) if is_packed else body["body"]) == whole
    assert told[b"content-length"] == b"%d" % len(body["body"])
    assert told[b"vary"] == b"accept-encoding"  # a cache between keeps both
    assert not is_packed or len(body["body"]) < len(whole) / 2


def test_a_font_is_answered_as_it_is() -> None:
    start, body = asked(FONT, accept_encoding="gzip")
    assert body["body"] == (STATIC / FONT[1:]).read_bytes()
    assert not {b"content-encoding", b"vary"} & dict(start["headers"]).keys()


@pytest.mark.parametrize("path", ["/rollout", LARGEST, FONT])
def test_a_browser_that_has_the_form_is_told_so_and_one_that_has_the_other_gets_it(path: str) -> None:
    def tag(**more: str) -> str:
        headers: dict[bytes, bytes] = dict(asked(path, **more)[0]["headers"])
        return headers[b"etag"].decode()

    whole, packed = tag(), tag(accept_encoding="gzip")
    assert (whole == packed) == (path == FONT)
    for known in (packed, f"W/{packed}", f'"other", {packed}', "*"):
        start, body = asked(path, accept_encoding="gzip", if_none_match=known)
        assert (start["status"], body["body"]) == (304, b"")
        assert dict(start["headers"])[b"etag"].decode() == packed
        assert not {b"content-length", b"content-encoding"} & dict(start["headers"]).keys()
    for other in {whole, '"other"', packed.strip('"')} - {packed}:
        assert asked(path, accept_encoding="gzip", if_none_match=other)[0]["status"] == 200
    assert asked(path, if_none_match=whole)[0]["status"] == 304


def test_paths_begin_with_the_base_path() -> None:
    file = f"/{next(STATIC.glob('static/js/index.*.js')).relative_to(STATIC).as_posix()}"
    assert asked(f"/headroom{file}", base="/headroom")
    assert asked("/headroom/", base="/headroom")
    assert asked("/headroom/rollout", base="/headroom")
    assert not asked(file, base="/headroom")
    assert not asked("/rollout", base="/headroom")
    assert not asked("/headroom", base="/headroom")  # led to the path with a slash, below which the files are


def test_the_page_is_streamlits_and_asks_for_what_is_there() -> None:
    theirs, ours = (STATIC / "index.html").read_text(encoding="utf-8"), streamlit_static_files.page()
    added = ours
    for line in map(str.strip, theirs.splitlines()):
        assert line in ours
        added = added.replace(line, "", 1)
    files = re.findall(r'<link rel="modulepreload" crossorigin href="\./(static/[^"]+)">', ours)
    assert len(files) == len(set(files)) > len(re.findall("modulepreload", theirs))
    assert all((STATIC / file).is_file() for file in files)
    for name in (
        streamlit_static_files._ON_EVERY_PAGE
    ):  # one of another name in another release would be asked for late, unseen
        assert any(file.startswith(f"static/js/{name}.") for file in files), name
    assert len(added) < 6_000


def test_its_script_is_let_through_and_theirs_too() -> None:
    policy = content_security_policy(streamlit_static_files.page())
    assert policy.count("'sha256-") == len(re.findall("<script>", (STATIC / "index.html").read_text())) + 1
