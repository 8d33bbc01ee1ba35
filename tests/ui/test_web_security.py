"""Headers, and whom the server answers; the running app itself is asked in tests/browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from planner.ground.errors import InputError
from planner.ui.web_security import (
    BROWSER,
    Guard,
    browser_of,
    content_security_policy,
    headers,
    is_own_name,
    take_settings,
)

Message = MutableMapping[str, Any]


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("localhost:8501", True), ("LOCALHOST", True), ("a.localhost:1", True), ("127.0.0.1:8501", True), ("10.1.2.3", True),
        ("[::1]:8501", True), ("[fe80::1]", True), ("headroom.example:443", True), ("x.apps.example", True), ("localhost.", True),
        ("headroom.example.", True), ("Headroom.Example.:443", True), ("headroom.example:443:1", True), ("evil.example.", False),
        ("evil.example", False), ("localhost.evil.example", False), ("127.0.0.1.evil.example:8501", False), ("", False),
        ("apps.example", False), ("evilapps.example", False), ("headroom.example.evil", False), ("[::1", True), ("a@localhost", False),
    ],
)  # fmt: skip
def test_names_that_are_the_servers(host: str, passes: bool) -> None:
    assert is_own_name(host, ["headroom.example", " *.apps.example", ""]) is passes


def test_any_name_when_told_so() -> None:
    assert is_own_name("whatever.example", ["*"])


def ask(kind: str, host: str, names: Sequence[str] = ()) -> list[Message]:
    sent: list[Message] = []

    async def app(_scope: Message, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"SAMEORIGIN")]})

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(Guard(app, names)({"type": kind, "headers": [(b"host", host.encode())]}, receive, send))
    return sent


def test_every_answer_carries_the_headers_once() -> None:
    (start,) = ask("http", "localhost")
    names = [name for name, _ in start["headers"]]
    assert len(names) == len(set(names))
    found = dict(start["headers"])
    assert found[b"x-frame-options"] == b"SAMEORIGIN", "what the app says itself stays"
    assert found[b"x-content-type-options"] == b"nosniff"
    assert b"frame-ancestors 'none'" in found[b"content-security-policy"]


def test_another_name_is_refused_on_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("http", "evil.example")[0]["status"] == 421
    assert ask("websocket", "evil.example") == [{"type": "websocket.close", "code": 1008}]
    monkeypatch.setenv("HEADROOM_HOSTS", "evil.example")
    assert ask("http", "evil.example")[0]["status"] == 200


def test_on_community_cloud_it_is_answered_and_shown_in_a_frame_of_its_own_page() -> None:
    (start,) = ask("http", "headroom-demo.streamlit.app")
    assert start["status"] == 200
    assert b"frame-ancestors 'self'" in dict(start["headers"])[b"content-security-policy"]
    for other in ("streamlit.app.example", "xstreamlit.app", "streamlit.app"):
        assert ask("http", other)[0]["status"] == 421
    assert dict(headers())[b"x-frame-options"] == b"DENY"
    assert dict(headers("'self'"))[b"x-frame-options"] == b"SAMEORIGIN"


def test_scripts_in_the_page_are_known_by_their_hash() -> None:
    index = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    policy = content_security_policy(index)
    assert policy.count("'sha256-") == len(re.findall("<script>", index))
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]


def test_the_name_that_people_sign_in_by_is_the_servers() -> None:
    assert ask("http", "headroom.example", names=["headroom.example"])[0]["status"] == 200
    assert ask("http", "other.example", names=["headroom.example"])[0]["status"] == 421


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What is set in Streamlit instead of being set."""
    found: dict[str, object] = {}
    monkeypatch.setattr("planner.ui.web_security.config.set_option", lambda name, value, _: found.update({name: value}))
    return found


def test_settings_of_the_environment_are_taken(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `streamlit run` takes them by itself: behind a proxy, ``headroom app`` answered 404 below its path."""
    for name, text in (("BASE_URL_PATH", "headroom"), ("PORT", "8600"), ("ENABLE_CORS", "false"), ("COOKIE_SECRET", "x"),
                       ("CORS_ALLOWED_ORIGINS", "https://a https://b")):  # fmt: skip
        monkeypatch.setenv(f"STREAMLIT_SERVER_{name}", text)
    take_settings()
    assert settings == {
        "server.baseUrlPath": "headroom", "server.port": 8600, "server.enableCORS": False,
        "server.corsAllowedOrigins": ["https://a", "https://b"],
    }  # fmt: skip


def test_a_setting_that_is_none_is_said(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMLIT_SERVER_MAX_UPLOAD_SIZE", "much")
    with pytest.raises(InputError, match="'much' is not a valid integer") as refused:
        take_settings()
    assert refused.value.where == "STREAMLIT_SERVER_MAX_UPLOAD_SIZE"
    assert settings == {}


def cookies_set(accept: str, told: str = "", *, is_https: bool = False, scheme: str = "http") -> list[str]:
    sent: list[Message] = []

    async def app(_scope: Message, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"accept", accept.encode()), (b"cookie", told.encode())]
    asyncio.run(Guard(app, is_https=is_https)({"type": "http", "scheme": scheme, "headers": headers}, None, send))  # type: ignore[arg-type]
    return [value.decode() for name, value in sent[0]["headers"] if name == b"set-cookie"]


def test_a_browser_gets_a_cookie_of_its_own_with_its_first_page() -> None:
    (first,), (second,) = cookies_set("text/html"), cookies_set("text/html,*/*", "other=1")
    assert first.partition(";")[0] != second.partition(";")[0]
    assert first.partition(";")[2] == " Path=/; HttpOnly; SameSite=Lax"
    assert cookies_set("*/*") == [], "what isn't a page sets none"
    assert cookies_set("text/html", first.partition(";")[0]) == [], "it keeps the one it has"
    assert cookies_set("text/html", f"{BROWSER}=guessed") != [], "one that isn't ours counts as none"
    assert browser_of({BROWSER: "guessed"}) == ""


def test_it_is_sent_by_https_alone_where_people_come_so() -> None:
    assert cookies_set("text/html", is_https=True)[0].endswith("; Secure")
    assert cookies_set("text/html", scheme="https")[0].endswith("; Secure")
