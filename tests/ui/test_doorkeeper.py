"""What leaves the server, and to whom; the running app with a provider is asked in tests/browser/test_sign_in.py."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import MutableMapping
from typing import Any

import pytest
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from planner.sources.access import Access, SignIn
from planner.ui.doorkeeper import METRICS_TOKEN, Doorkeeper, is_open, is_own_place

Message = MutableMapping[str, Any]
SIGN_IN = SignIn(
    auth={"redirect_uri": "https://headroom.example/oauth2callback"},
    access=Access(groups=("sre",), namespaces=(("sre", ("*",)),)),
)
PAGES = ["rollout", "overview"]
EVERY = frozenset(["/", "/rollout", "/overview"])


def cookie(**claims: object) -> str:
    said = {"is_logged_in": True, "sub": "ann", "groups": ["sre"], "exp": time.time() + 600, **claims}
    signed = create_signed_value(get_cookie_secret(), USER_COOKIE_NAME, json.dumps(said)).decode()
    return f"{USER_COOKIE_NAME}={signed}"


class Asked:
    """One request put to a door; what the app behind it saw, and what was sent."""

    def __init__(self, path: str, *, sign_in: SignIn | None = SIGN_IN, kind: str = "http", door: Doorkeeper | None = None, query: str = "",
                 server: str = "10.0.0.5", answers: tuple[tuple[bytes, bytes], ...] = (), **headers: str) -> None:  # fmt: skip
        self.seen: Message | None = None
        self.sent: list[Message] = []
        self.heard: list[Message] = []
        self._answers = answers
        self.door = door or Doorkeeper(self._app, sign_in, PAGES)
        self.door._app = self._app
        named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
        scope = {
            "type": kind,
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": named,
            "server": (server, 8501),
        }
        asyncio.run(self.door(scope, self._receive, self._send))

    async def _app(self, scope: Message, receive: Any, send: Any) -> None:
        self.seen = scope
        if scope["type"] == "websocket":
            self.heard.append(await receive())
        else:
            await send({"type": "http.response.start", "status": 200, "headers": list(self._answers)})

    async def _receive(self) -> Message:
        return {"type": "websocket.connect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    def header(self, name: str) -> list[str]:
        return [value.decode() for key, value in self.sent[0]["headers"] if key == name.encode()]


CLOSED = [
    "/media/abc.json", "/_stcore/upload_file/s/f", "/_stcore/metrics", "/_stcore/script-health-check", "/metrics", "/app/static/x",
    "/_stcore/bidi-components/x", "/anything", "/rollout/more", "/static/../media/x", "//", "/rollout/_stcore/metrics", "/_STCORE/METRICS",
]  # fmt: skip
OPEN = [
    "/",
    "/rollout",
    "/static/js/a.js",
    "/_stcore/health",
    "/rollout/_stcore/host-config",
    "/auth/login",
    "/oauth2callback",
]


@pytest.mark.parametrize("path", CLOSED)
def test_what_is_closed_until_somebody_is_there(path: str) -> None:
    assert not is_open(path, EVERY)
    asked = Asked(path)
    assert asked.seen is None
    assert asked.status == 401
    assert Asked(path, cookie=cookie()).seen is not None


@pytest.mark.parametrize("path", OPEN)
def test_what_the_frontend_needs_is_open(path: str) -> None:
    assert Asked(path).seen is not None


@pytest.mark.parametrize(
    "claims", [{"exp": time.time() - 1}, {"groups": ["dev"]}, {"groups": None}, {"is_logged_in": False}, {"exp": None}]
)
def test_cookies_that_are_not_enough(claims: dict[str, object]) -> None:
    assert Asked("/media/abc.json", cookie=cookie(**claims)).status == 401


def test_a_cookie_that_streamlit_did_not_sign() -> None:
    forged = create_signed_value(
        "another secret", USER_COOKIE_NAME, json.dumps({"is_logged_in": True, "exp": 9e9})
    ).decode()
    for value in (forged, "x", "", "chunks-3", '"', "é"):
        assert Asked("/media/abc.json", cookie=f"{USER_COOKIE_NAME}={value}").status == 401


def test_a_websocket_of_nobody_carries_no_cookie_of_somebody() -> None:
    over = Asked("/_stcore/stream", kind="websocket", cookie=f"{cookie(exp=time.time() - 1)}; _streamlit_xsrf=2")
    assert over.seen is not None
    assert dict(over.seen["headers"])[b"cookie"] == b"_streamlit_xsrf=2"
    let_in = Asked("/_stcore/stream", kind="websocket", cookie=cookie())
    assert let_in.seen is not None
    assert USER_COOKIE_NAME.encode() in dict(let_in.seen["headers"])[b"cookie"]
    assert let_in.heard == [{"type": "websocket.connect"}]
    assert Asked("/other", kind="websocket").sent == [{"type": "websocket.close", "code": 1008}]


def test_a_websocket_ends_with_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.ui.doorkeeper._GRACE_SECONDS", -600)  # as if the time were up now
    asked = Asked("/_stcore/stream", kind="websocket", cookie=cookie(exp=time.time() + 300))
    assert asked.heard == [{"type": "websocket.disconnect", "code": 1008}]
    assert asked.sent == [{"type": "websocket.close", "code": 1008}]


def test_a_cookie_is_nothing_after_a_sign_out() -> None:
    mine = cookie()
    first = Asked("/media/abc.json", cookie=mine)
    assert first.seen is not None
    Asked("/auth/logout", cookie=mine, door=first.door)
    assert Asked("/media/abc.json", cookie=mine, door=first.door).status == 401
    assert Asked("/media/abc.json", cookie=cookie(sub="bob"), door=first.door).status == 200


# ── without sign-in ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("server", "is_answered"), [("127.0.0.1", True), ("::1", True), ("10.0.0.5", False), ("fe80::1", False)]
)
def test_without_sign_in_only_this_machine_is_answered(server: str, is_answered: bool) -> None:
    asked = Asked("/", sign_in=None, server=server)
    assert (asked.seen is not None) is is_answered
    assert asked.status == (200 if is_answered else 403)
    assert (Asked("/_stcore/stream", sign_in=None, server=server, kind="websocket").seen is not None) is is_answered


# ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("sign_in", [SIGN_IN, None])
def test_machines_are_answered_and_metrics_ask_for_a_token(
    sign_in: SignIn | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/healthz", "/readyz", "/v1/rollouts"):
        assert Asked(path, sign_in=sign_in, host="headroom.headroom.svc").status == 200
    refused = 401 if sign_in else 403
    assert Asked("/metrics", sign_in=sign_in).status == refused
    assert Asked("/metrics", sign_in=sign_in, authorization="Bearer ").status == refused
    monkeypatch.setenv(METRICS_TOKEN, "let-me-in")
    assert Asked("/metrics", sign_in=sign_in, authorization="Bearer let-me-in").status == 200
    assert Asked("/metrics", sign_in=sign_in, authorization="Bearer let-me-out").status == refused


def test_the_webhook_is_not_reached_by_the_name_that_people_use() -> None:
    for host in ("headroom.example", "Headroom.Example:443"):
        assert Asked("/v1/rollouts", host=host).status == 401


def test_metrics_are_not_for_who_sees_some_namespaces_only() -> None:
    some = SignIn(auth=SIGN_IN.auth, access=Access(groups=("sre",), namespaces=(("sre", ("prod",)),)))
    assert Asked("/metrics", sign_in=some, cookie=cookie()).status == 403
    assert Asked("/metrics", cookie=cookie()).status == 200


# ── back to the link ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_link_is_remembered_and_followed_after_the_sign_in() -> None:
    first = Asked("/rollout", query="cluster=demo&x=%C3%A9", accept="text/html")
    (kept,) = first.header("set-cookie")
    assert "HttpOnly" in kept
    assert kept.endswith("; Secure")
    back = Asked("/oauth2callback", cookie=kept.partition(";")[0],
                 answers=((b"location", b"/"), (b"set-cookie", f"{USER_COOKIE_NAME}=x; HttpOnly".encode())))  # fmt: skip
    assert back.header("location") == ["/rollout?cluster=demo&x=%C3%A9"]
    assert back.header("set-cookie")[0].endswith("; Secure")
    assert "Max-Age=0" in back.header("set-cookie")[1]
    refused = Asked("/oauth2callback", cookie=kept.partition(";")[0], answers=((b"location", b"/"),))
    assert refused.header("location") == ["/"], "nobody came back"


def test_nothing_is_remembered_of_what_is_no_page_and_of_who_is_in() -> None:
    assert Asked("/static/a.js", accept="text/html").header("set-cookie") == []
    assert Asked("/rollout", accept="text/html", cookie=cookie()).header("set-cookie") == []
    assert Asked("/", accept="text/html").header("set-cookie") == []


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/rollout#x",
        "/media/x",
        "",
        "/rollout\r\nx: y",
        "rollout",
        "/auth/logout",
    ],
)
def test_places_that_nobody_is_led_to(place: str) -> None:
    assert not is_own_place(place, EVERY)


def test_places_that_people_are_led_to() -> None:
    assert is_own_place("/rollout?x=https://evil.example", EVERY)
    assert is_own_place("/?cluster=demo", EVERY)
