"""What leaves the server, and to whom; the running app with a provider is asked in tests/browser/test_sign_in.py."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import MutableMapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from streamlit.auth_util import set_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import TOKENS_COOKIE_NAME, USER_COOKIE_NAME

from planner.serve.caller_authentication import CERTIFIED, TOKENS
from planner.serve.endpoint_paths import METRICS, REVIEWS
from planner.sources.dashboard_access import Access, Person, SignIn
from planner.sources.signed_out_sessions import SignedOut
from planner.ui.sign_in_middleware import Doorkeeper, claims_of, is_open, is_own_place

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
                 server: str = "10.0.0.5", answers: tuple[tuple[bytes, bytes], ...] = (), method: str = "GET",
                 state: dict[str, object] | None = None, **headers: str) -> None:  # fmt: skip
        self.seen: Message | None = None
        self.sent: list[Message] = []
        self.heard: list[Message] = []
        self._answers = answers
        self.door = door or Doorkeeper(self._app, sign_in, PAGES)
        self.door._app = self._app
        named = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
        scope = {
            "type": kind,
            "method": method,
            "state": state or {},
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
            await send({"type": "http.response.body", "body": b""})

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
    monkeypatch.setattr("planner.ui.sign_in_middleware._GRACE_SECONDS", -600)  # as if the time were up now
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


@pytest.mark.parametrize("beside", ["; _streamlit_user_junk=1", "; _streamlit_user_tokens=x", "; _streamlit_user_1=x"])
def test_a_sign_out_holds_whatever_cookies_stand_beside_it(beside: str) -> None:
    mine = cookie(iat=1_000)
    door = Asked("/auth/logout", cookie=f"{mine}; _streamlit_user_tokens=abc").door
    assert Asked("/media/abc.json", cookie=mine + beside, door=door).status == 401
    stream = Asked("/_stcore/stream", kind="websocket", cookie=mine + beside, door=door)
    assert stream.seen is not None
    assert USER_COOKIE_NAME.encode() not in dict(stream.seen["headers"]).get(b"cookie", b"")
    assert Asked("/metrics", cookie=mine + beside, door=door).status == 401
    assert Asked("/media/abc.json", cookie=cookie(iat=1_001), door=door).status == 200, "signed in again"


def test_a_sign_out_is_of_all_that_was_issued_for_the_session() -> None:
    door = Asked("/auth/logout", cookie=cookie(iat=2_000, sid="s1")).door
    assert Asked("/media/a", cookie=cookie(iat=1_500, sid="s1"), door=door).status == 401
    assert Asked("/media/a", cookie=cookie(iat=2_500, sid="s1"), door=door).status == 200
    assert Asked("/media/a", cookie=cookie(iat=1_500, sid="s2"), door=door).status == 200
    assert Asked("/media/a", cookie=cookie(iat=1_500, sid="s1", iss="another"), door=door).status == 200


def test_an_open_page_ends_with_a_sign_out_by_another_cookie(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Asked("/auth/logout", cookie=cookie(iat=2_000, sid="s1")).door
    ended: list[Message] = []

    async def send(message: Message) -> None:
        ended.append(message)

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    claims = claims_of(dict([cookie(iat=1_500, sid="s1").split("=", 1)]))
    who = door._judged(dict([cookie(iat=9_000, sid="s1").split("=", 1)]), SIGN_IN)
    assert isinstance(who, Person)

    async def hear(person: Person) -> Message:
        return await door._ending(never, send, claims, person)()

    heard = asyncio.run(hear(who))
    assert heard["type"] == "websocket.disconnect"
    assert ended[0]["type"] == "websocket.close"


def test_a_sign_out_is_kept_in_the_folder(tmp_path: Path) -> None:
    """A second replica, and a restart."""
    mine, folder = cookie(iat=1_000), tmp_path / "sessions"
    first = Doorkeeper(None, SIGN_IN, PAGES, SignedOut(folder))  # type: ignore[arg-type] # `Asked` brings one
    second = Doorkeeper(None, SIGN_IN, PAGES, SignedOut(folder))  # type: ignore[arg-type]
    assert Asked("/media/a", cookie=mine, door=second).status == 200
    Asked("/auth/logout", cookie=mine, door=first)
    assert Asked("/media/a", cookie=mine, door=second).status == 401
    third = Doorkeeper(None, SIGN_IN, PAGES, SignedOut(folder))  # type: ignore[arg-type]
    assert Asked("/media/a", cookie=mine, door=third).status == 401
    assert Asked("/media/a", cookie=cookie(iat=1_001), door=third).status == 200


# ── out ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_link_signs_nobody_out(site: str) -> None:
    mine = cookie(iat=1_000)
    led = Asked("/auth/logout", cookie=mine, sec_fetch_site=site)
    assert led.seen is None
    assert led.status == 403
    assert b'href="/auth/logout"' in led.sent[1]["body"]
    assert Asked("/media/a", cookie=mine, door=led.door).status == 200


@pytest.mark.parametrize(
    ("method", "site"), [("GET", "same-origin"), ("POST", "same-origin"), ("GET", "none"), ("POST", "")]
)
def test_the_way_out_is_open_from_here(method: str, site: str) -> None:
    mine = cookie(iat=1_000)
    out = Asked("/auth/logout", cookie=mine, method=method, sec_fetch_site=site)
    assert out.seen is not None
    assert out.seen["method"] == "GET", "Streamlit's own way out knows no other"
    assert Asked("/media/a", cookie=mine, door=out.door).status == 401


# ── somebody in very many groups ─────────────────────────────────────────────────────────────────────────────────────
def came_back(claims: dict[str, object], tokens: int, sign_in: SignIn = SIGN_IN) -> Asked:
    """Back from a provider that says so much of somebody."""
    kept: dict[str, str] = {}
    said = {"is_logged_in": True, "sub": "ann", "exp": time.time() + 600, **claims}

    def signed(name: str, value: str) -> bytes:
        return create_signed_value(get_cookie_secret(), name, value)

    for name, value in ((USER_COOKIE_NAME, said), (TOKENS_COOKIE_NAME, {"id_token": "x" * tokens})):
        set_cookie_with_chunks(
            lambda one, text: kept.__setitem__(one, signed(one, text).decode()),
            signed,
            name,
            value,
            cookie_attr_size=90,
        )
    answers = [(b"set-cookie", f"{name}={value}; HttpOnly; Path=/".encode()) for name, value in kept.items()]
    return Asked("/oauth2callback", sign_in=sign_in, answers=((b"location", b"/"), *answers))


def test_cookies_hold_the_groups_that_count() -> None:
    groups = [sha256(str(number).encode()).hexdigest()[:32] for number in range(2_000)]
    back = came_back({"groups": [*groups, "sre"], "sid": "s1", "picture": "x" * 9_000}, tokens=90_000)
    assert back.status == 200
    assert back.header("location") == ["/"]
    sent = back.header("set-cookie")
    assert sum(map(len, sent)) < 8_192, "a websocket's request has lines of at most so much"
    assert all("HttpOnly" in one and one.endswith("; Secure") for one in sent)
    pairs = dict(one.partition(";")[0].split("=", 1) for one in sent)
    claims = claims_of(pairs)
    assert (claims["groups"], claims["sid"]) == (["sre"], "s1")
    assert Asked("/media/a", cookie="; ".join(f"{name}={value}" for name, value in pairs.items())).status == 200


def test_tokens_that_fit_are_kept() -> None:
    sent = came_back({"groups": ["sre"]}, tokens=1_000).header("set-cookie")
    assert any(one.startswith(f"{TOKENS_COOKIE_NAME}=") for one in sent)


def test_who_says_too_much_even_so_hears_it_in_a_sentence() -> None:
    groups = [sha256(str(number).encode()).hexdigest() for number in range(400)]
    many = SignIn(auth=SIGN_IN.auth, access=Access(groups=tuple(groups)))
    back = came_back({"groups": groups}, tokens=10, sign_in=many)
    assert back.status == 400
    assert back.header("set-cookie") == back.header("location") == []
    assert b"fewer groups" in back.sent[1]["body"]


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
    monkeypatch.setenv(TOKENS[METRICS], "let-me-in")
    assert Asked("/metrics", sign_in=sign_in, authorization="Bearer let-me-in").status == 200
    assert Asked("/metrics", sign_in=sign_in, authorization="Bearer let-me-out").status == refused


def test_the_webhook_is_not_reached_by_the_name_that_people_use() -> None:
    for host in (
        "headroom.example",
        "Headroom.Example:443",
        "headroom.example.",
        "headroom.example..:443",
        "headroom.example:443:1",
    ):
        assert Asked("/v1/rollouts", host=host).status == 401, host
        assert Asked("/v1/rollouts", host=host, cookie=cookie()).status == 401, "people don't ask for reviews"
        assert Asked("/healthz", host=host).status == 401


@pytest.mark.parametrize("sign_in", [SIGN_IN, None])
def test_reviews_ask_for_what_was_set_up(sign_in: SignIn | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for state, status in (({}, 200), ({CERTIFIED: False}, 401), ({CERTIFIED: True}, 200)):
        for server in ("10.0.0.5", "127.0.0.1"):
            assert Asked(REVIEWS, sign_in=sign_in, server=server, state=state).status == status  # type: ignore[arg-type]
    monkeypatch.setenv(TOKENS[REVIEWS], "api-server")
    assert Asked(REVIEWS, sign_in=sign_in, server="127.0.0.1").status == 401
    assert Asked(REVIEWS, sign_in=sign_in, authorization="Bearer api-server").status == 200
    assert Asked(REVIEWS, sign_in=sign_in, authorization="Bearer API-server").status == 401
    assert Asked(REVIEWS, sign_in=sign_in, state={CERTIFIED: True}).status == 200
    assert Asked(METRICS, sign_in=sign_in, state={CERTIFIED: True}).status == 200


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
