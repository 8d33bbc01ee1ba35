"""Middleware in front of Streamlit if sign-in is configured: no data of a cluster leaves without an allowed user.

Streamlit's own sign-in tells a page who asks; it leaves open what isn't a page (files to download, uploads, its metrics), lets
a session live for 30 days, and keeps a tab that is open as it is. Here:

- only what the frontend needs to show a page is open: its files, its websocket, the ways to the provider and back. Every
  other path, those of the future too, needs a user who is signed in and let in, with a token that still holds;
- expired cookies, and those that signed out, are taken out before Streamlit sees them, so that no session goes on by them;
- a websocket ends with its person's token, and with a sign-out in whatever window;
- a visitor who came by a link is led to it after the sign-in.

Where no sign-in is configured, only this machine itself is answered. What machines ask for where the dashboard runs beside
`headroom serve` stays open to them, and not by the name that people use: the webhook, and whether all is well. Metrics name
workloads, so they ask for a token.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import quote, unquote

from starlette.requests import cookie_parser
from streamlit.auth_util import get_cookie_with_chunks, set_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value, decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import TOKENS_COOKIE_NAME, USER_COOKIE_NAME

from planner.serve import caller_authentication
from planner.serve.caller_authentication import Asgi, Receive, Scope, Send, header
from planner.serve.endpoint_paths import METRICS, REVIEWS
from planner.sources import dashboard_access
from planner.sources.dashboard_access import Person, Refused, SignIn
from planner.sources.signed_out_sessions import SignedOut
from planner.ui.web_security import MACHINES, base_path, name_of

RETURN: Final = "headroom_return"
"""The cookie that remembers where a link led to while its reader signs in."""

_STREAM: Final = "/_stcore/stream"
_SIGN_OUT: Final = "/auth/logout"
_OPEN: Final = frozenset(
    ["/", "/index.html", "/_stcore/health", "/_stcore/host-config", "/favicon.png", "/favicon.ico", "/manifest.json", "/robots.txt",
     "/auth/login", _SIGN_OUT, dashboard_access.CALLBACK, _STREAM]
)  # fmt: skip
_OPEN_BELOW: Final = ("/static/", "/component/")  # the frontend's own files, of Streamlit's packages
_GLANCE_SECONDS: Final = 2.0  # between two looks whether a user signed out elsewhere
_GRACE_SECONDS: Final = (
    5.0  # after the end of a token: the page that is open turns to the sign-in by itself, which asks
)
_RETURN_SECONDS: Final = 600
_LONGEST_RETURN: Final = 3000
_MOST_COOKIE_BYTES: Final = 6000  # of a user's cookies: a websocket's request has lines of at most 8,192
_LOCAL: Final = f"{dashboard_access.LOCAL_ONLY.capitalize()}. {dashboard_access.HOW_TO}.\n"
_TOO_LONG: Final = (
    "You are signed in, but what the provider says of you doesn't fit into cookies, even without the groups that nothing here asks "
    "for. Ask the operator of this Headroom to name fewer groups in its [access], or to have the provider send a shorter token.\n"
)
_ASK: Final = (
    "<!doctype html><title>Headroom</title><p>Another site led here to sign you out. "
    '<a href="{place}">Sign out</a>, or close this page and stay signed in.\n'
)
_SIGN_IN: Final = "Sign in first.\n"
_MACHINES: Final = "Reviews are for an API server, by its own name for this server, with the token that it was told.\n"
_NOT_ALL: Final = "Metrics name workloads of every namespace, and you don't see all of them.\n"


def claims_of(cookies: Mapping[str, str]) -> dict[str, Any]:
    """What the provider said of the client that sends these cookies; {} unless Streamlit signed them here."""

    def signed(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(get_cookie_secret(), name, value.encode("latin-1"))

    try:
        claims = json.loads(get_cookie_with_chunks(signed, USER_COOKIE_NAME) or b"{}")
    except (ValueError, UnicodeError):
        return {}
    return claims if isinstance(claims, dict) and claims.get("is_logged_in") is True else {}


class Doorkeeper:
    """ASGI middleware.

    Parameters
    ----------
    sign_in : SignIn | None
        How people sign in; None: only this machine itself is answered.
    pages : iterable of str
        The names of pages in links, the home page's left out.
    signed_out : SignedOut, optional
        The sign-ins that are over; by default those of this process.
    """

    def __init__(
        self, app: Asgi, sign_in: SignIn | None, pages: Iterable[str], signed_out: SignedOut | None = None
    ) -> None:
        self._app, self._sign_in = app, sign_in
        self._pages = frozenset(["/", *(f"/{page}" for page in pages)])
        self._signed_out = signed_out or SignedOut()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_machines(scope):
            await self._app(scope, receive, send)
        elif scope["path"] == REVIEWS:
            await _refuse(scope, receive, send, 401, _MACHINES)
        elif self._sign_in is not None:
            await self._guarded(scope, receive, send, self._sign_in)
        elif _is_asked_locally(scope):
            await self._app(scope, receive, send)
        else:
            await _refuse(scope, receive, send, 403, _LOCAL)

    def _is_machines(self, scope: Scope) -> bool:
        """Whether a machine asks for what is meant for it, and not through the name that people use."""
        path = str(scope["path"])
        if path in caller_authentication.TOKENS and (path == METRICS or caller_authentication.asks(scope)):
            return caller_authentication.is_known(scope)
        if path not in MACHINES or self._sign_in is None:
            return path in MACHINES
        return name_of(header(scope, b"host")) != name_of(self._sign_in.host)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send, sign_in: SignIn) -> None:
        cookies, path = cookie_parser(header(scope, b"cookie")), _path(scope)
        judgment = self._judged(cookies, sign_in)
        person = judgment if isinstance(judgment, Person) else None
        if person is None and not is_open(path, self._pages):
            await _refuse(scope, receive, send, 401, _SIGN_IN)
        elif person is not None and path == METRICS and person.namespaces is not None:
            await _refuse(scope, receive, send, 403, _NOT_ALL)
        elif scope["type"] == "websocket":
            if person is not None:
                receive = self._ending(receive, send, claims_of(cookies), person)
            elif not isinstance(judgment, Refused) or judgment.is_over:
                # Streamlit reads the person from the cookie by itself, and doesn't know that the session is over:
                # without it the page asks to sign in.
                cookie_text = "; ".join(f"{name}={value}" for name, value in cookies.items() if not _is_persons(name))
                others = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
                scope = {**scope, "headers": [*others, (b"cookie", cookie_text.encode("latin-1"))]}
            await self._app(scope, receive, send)
        else:
            if path == _SIGN_OUT and _is_led_here(scope):
                await _refuse(scope, receive, send, 403, _ASK.format(place=base_path() + _SIGN_OUT), kind="html")
                return
            if path == _SIGN_OUT and person is not None:
                self._signed_out.add(claims_of(cookies), person.until)
            # Whatever asks to sign out does: Streamlit's own way out answers a GET only.
            answer = _Answer(scope, send, cookies, sign_in, self._pages, is_in=person is not None)
            await self._app({**scope, "method": "GET"} if path == _SIGN_OUT else scope, receive, answer)

    def _judged(self, cookies: Mapping[str, str], sign_in: SignIn) -> Person | Refused | None:
        """Who sends these cookies; None for no one, and who signed out."""
        claims = claims_of(cookies)
        if not claims or claims in self._signed_out:
            return None
        return dashboard_access.judged(claims, sign_in.access, time.time())

    def _ending(self, receive: Receive, send: Send, claims: Mapping[str, Any], person: Person) -> Receive:
        """`receive`, which says that the websocket is closed once its person's time is up or they signed out."""

        async def until_then() -> MutableMapping[str, Any]:
            task = asyncio.ensure_future(receive())
            try:
                while (time_left := person.until + _GRACE_SECONDS - time.time()) > 0 and claims not in self._signed_out:
                    done, _ = await asyncio.wait({task}, timeout=min(time_left, _GLANCE_SECONDS))
                    if done:
                        return task.result()
            finally:
                task.cancel()
            await send({"type": "websocket.close", "code": 1008})
            return {"type": "websocket.disconnect", "code": 1008}

        return until_then


class _Answer:
    """`send` that adds where to go after the sign-in, and keeps people's cookies to https.

    Parameters
    ----------
    is_in : bool
        Whether a user who may be here asks.
    """

    def __init__(
        self,
        scope: Scope,
        send: Send,
        cookies: Mapping[str, str],
        sign_in: SignIn,
        pages: frozenset[str],
        *,
        is_in: bool,
    ) -> None:
        self._scope, self._send, self._cookies = scope, send, cookies
        self._sign_in, self._pages, self._is_in = sign_in, pages, is_in
        self._instead = b""  # of the answer's own body

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body" and self._instead:
            message = {"type": "http.response.body", "body": self._instead}
        if message["type"] == "http.response.start":
            headers = [(name.lower(), value) for name, value in message.get("headers", ())]
            if _path(self._scope) == dashboard_access.CALLBACK:
                small = _small(headers, self._sign_in.access)
                if small is None:
                    self._instead = _TOO_LONG.encode()
                    message["status"] = 400
                headers = _plain(len(self._instead)) if small is None else self._after(small)
            elif not self._is_in and _path(self._scope) in self._pages and _is_navigation(self._scope):
                headers = self._before(headers)
            message["headers"] = [(name, self._safely(name, value)) for name, value in headers]
        await self._send(message)

    def _safely(self, name: bytes, value: bytes) -> bytes:
        is_bare = self._sign_in.is_https and name == b"set-cookie" and b"; secure" not in value.lower()
        return value + b"; Secure" if is_bare else value

    def _before(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Remember a page that a user asked for who has to sign in first."""
        query = self._scope["query_string"].decode("latin-1")
        return_path = str(self._scope["path"]) + (f"?{query}" if query else "")
        if len(return_path) > _LONGEST_RETURN or (return_path == f"{base_path()}/" and RETURN not in self._cookies):
            return headers
        return [*headers, (b"set-cookie", _cookie(quote(return_path, safe="/"), _RETURN_SECONDS))]

    def _after(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Lead a user who comes back from the provider to the page they asked for."""
        return_path = unquote(self._cookies.get(RETURN, ""))
        signed = any(name == b"set-cookie" and USER_COOKIE_NAME.encode() in value for name, value in headers)
        if not signed or not is_own_place(return_path, self._pages):
            return headers
        location = quote(return_path, safe="/?&=%:,;@+$!*'()~").encode()
        new_headers = [(name, location if name == b"location" else value) for name, value in headers]
        return [*new_headers, (b"set-cookie", _cookie("", 0))]


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _path(scope: Scope) -> str:
    """The path below the base path."""
    path, base = str(scope["path"]), base_path()
    return (path[len(base) :] or "/") if base and (path == base or path.startswith(f"{base}/")) else path


def is_open(path: str, pages: frozenset[str]) -> bool:
    """Whether it may be asked for by anybody: it says nothing of a cluster."""
    if path in _OPEN or path in pages or path.startswith(_OPEN_BELOW):
        return ".." not in path
    page, _, endpoint = path.rpartition("/_stcore/")
    return page in pages and endpoint in ("health", "host-config")  # how the frontend finds its base


def is_own_place(text: str, pages: frozenset[str]) -> bool:
    """Whether it is a page of this dashboard: no address of another one, however it is written."""
    path = text.partition("?")[0]
    is_plain = text.startswith("/") and text.isprintable() and not set("\\#") & set(text)
    return is_plain and (path.removeprefix(base_path()) or "/") in pages


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _is_persons(name: str) -> bool:
    return name.startswith((USER_COOKIE_NAME, TOKENS_COOKIE_NAME))


def _small(headers: list[tuple[bytes, bytes]], rules: dashboard_access.Access) -> list[tuple[bytes, bytes]] | None:
    """A sign-in's headers with cookies that hold what is asked of a user and no more; None where even that is too long.

    Tokens are left out where they are: they only spare a user a question at the provider's own sign-out.
    """
    set_now = [value for name, value in headers if name == b"set-cookie" and _is_kept_of_person(value)]
    theirs = [
        (pair, attributes) for pair, _, attributes in (value.decode("latin-1").partition(";") for value in set_now)
    ]
    cookie_by_name = {key: value for pair, _ in theirs for key, value in cookie_parser(pair).items()}
    claims = claims_of(cookie_by_name)
    if not claims:
        return headers
    secret, new_cookies = get_cookie_secret(), dict[str, str]()

    def signed(name: str, value: str) -> bytes:
        return create_signed_value(secret, name, value)

    def keep(name: str, value: str) -> None:
        new_cookies[name] = signed(name, value).decode()

    set_cookie_with_chunks(keep, signed, USER_COOKIE_NAME, dashboard_access.needed(claims, rules), cookie_attr_size=200)
    tokens = {name: value for name, value in cookie_by_name.items() if name.startswith(TOKENS_COOKIE_NAME) and value}
    if _length(new_cookies | tokens) <= _MOST_COOKIE_BYTES:
        new_cookies |= tokens
    if _length(new_cookies) > _MOST_COOKIE_BYTES:
        return None
    others = [(name, value) for name, value in headers if name != b"set-cookie" or not _is_kept_of_person(value)]
    how = theirs[-1][1]
    return [
        *others,
        *((b"set-cookie", f"{name}={value};{how}".encode("latin-1")) for name, value in new_cookies.items()),
    ]


def _length(cookies: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) + 3 for name, value in cookies.items())


def _is_kept_of_person(set_cookie: bytes) -> bool:
    name, _, attributes = set_cookie.decode("latin-1").partition("=")
    return _is_persons(name) and "max-age=0" not in attributes.lower()


def _cookie(value: str, seconds: int) -> bytes:
    return f"{RETURN}={value}; Path={base_path() or '/'}; Max-Age={seconds}; HttpOnly; SameSite=Lax".encode()


def _is_navigation(scope: Scope) -> bool:
    return scope["method"] == "GET" and "text/html" in header(scope, b"accept")


def _is_asked_locally(scope: Scope) -> bool:
    """Whether the address that was asked is this machine's own to itself; a socket in the file system is."""
    server = scope.get("server")
    return not server or server[1] is None or dashboard_access.is_local(str(server[0]))


def _is_led_here(scope: Scope) -> bool:
    """Whether another site's page led a user here; browsers that don't say so (before 2023) aren't held up.

    Streamlit's own way out is a GET that its page goes to (`st.logout`), so that no POST can be asked for; the Fetch Metadata say
    what a POST's Origin would (W3C, Fetch Metadata Request Headers, 2.4).
    """
    return header(scope, b"sec-fetch-site") not in ("", "same-origin", "none")


def _plain(length: int, kind: str = "plain") -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", f"text/{kind}; charset=utf-8".encode()),
        (b"content-length", str(length).encode()),
        (b"cache-control", b"no-store"),
    ]


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str, *, kind: str = "plain") -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
        return
    body = why.encode()
    await send({"type": "http.response.start", "status": status, "headers": _plain(len(body), kind)})
    await send({"type": "http.response.body", "body": body})
