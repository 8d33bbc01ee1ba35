"""What stands before Streamlit where people sign in: nothing of a cluster leaves without somebody who may see it.

Streamlit's own sign-in tells a page who asks; it leaves open what isn't a page (files to download, uploads, its metrics), lets
a session live for 30 days, and keeps a tab that is open as it is. Here:

- only what the frontend needs to show a page is open: its files, its websocket, the ways to the provider and back. Every
  other path, those of the future too, needs somebody who is signed in, let in, and whose token still holds;
- cookies whose time is up, or that signed out, are taken out before Streamlit sees them, so that no session goes on by them;
- a websocket ends with its person's token, and with a sign-out in whatever window;
- whoever came by a link is led to it after the sign-in.

Where no sign-in is configured, only this machine itself is answered. What machines ask for where the dashboard runs beside
`headroom serve` stays open to them, and not by the name that people use: the webhook, and whether all is well. Metrics name
workloads, so they ask for a token.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import time
from collections.abc import Iterable, Mapping, MutableMapping
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import quote, unquote

import streamlit as st
from starlette.requests import cookie_parser
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import TOKENS_COOKIE_NAME, USER_COOKIE_NAME

from planner.serve.paths import METRICS
from planner.sources import access
from planner.sources.access import Person, Refused, SignIn
from planner.ui.web import MACHINES, Asgi, Receive, Scope, Send

RETURN: Final = "headroom_return"
"""The cookie that remembers where a link led to while its reader signs in."""

METRICS_TOKEN: Final = "HEADROOM_METRICS_TOKEN"  # noqa: S105 - the name of a variable
"""Who sends it (``Authorization: Bearer …``) may read ``/metrics``."""

_STREAM: Final = "/_stcore/stream"
_OPEN: Final = frozenset(
    ["/", "/index.html", "/_stcore/health", "/_stcore/host-config", "/favicon.png", "/favicon.ico", "/manifest.json", "/robots.txt",
     "/auth/login", "/auth/logout", access.CALLBACK, _STREAM]
)  # fmt: skip
_OPEN_BELOW: Final = ("/static/", "/component/")  # the frontend's own files, of Streamlit's packages
_GLANCE_SECONDS: Final = 2.0  # between two looks whether somebody signed out elsewhere
_GRACE_SECONDS: Final = (
    5.0  # after the end of a token: the page that is open turns to the sign-in by itself, which asks
)
_RETURN_SECONDS: Final = 600
_LONGEST_RETURN: Final = 3000
_LOCAL: Final = f"{access.LOCAL_ONLY.capitalize()}. {access.HOW_TO}.\n"
_SIGN_IN: Final = "Sign in first.\n"
_NOT_ALL: Final = "Metrics name workloads of every namespace, and you don't see all of them.\n"


def claims_of(cookies: Mapping[str, str]) -> dict[str, Any]:
    """What the provider said of whoever sends these cookies; {} unless Streamlit signed them here."""

    def signed(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(get_cookie_secret(), name, value.encode("latin-1"))

    try:
        found = json.loads(get_cookie_with_chunks(signed, USER_COOKIE_NAME) or b"{}")
    except (ValueError, UnicodeError):
        return {}
    return found if isinstance(found, dict) and found.get("is_logged_in") is True else {}


class Doorkeeper:
    """ASGI middleware.

    Parameters
    ----------
    sign_in : SignIn | None
        How people sign in; None: only this machine itself is answered.
    pages : iterable of str
        The names of pages in links, the home page's left out.
    """

    def __init__(self, app: Asgi, sign_in: SignIn | None, pages: Iterable[str]) -> None:
        self._app, self._sign_in = app, sign_in
        self._pages = frozenset(["/", *(f"/{one}" for one in pages)])
        self._signed_out: dict[bytes, float] = {}  # digest of a cookie → until when it would have held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._is_machines(scope):
            await self._app(scope, receive, send)
        elif self._sign_in is not None:
            await self._guarded(scope, receive, send, self._sign_in)
        elif _is_asked_locally(scope):
            await self._app(scope, receive, send)
        else:
            await _refuse(scope, receive, send, 403, _LOCAL)

    def _is_machines(self, scope: Scope) -> bool:
        """Whether a machine asks for what is meant for it, and not through the name that people use."""
        path = str(scope["path"])
        if path == METRICS:
            return _has_token(scope)
        if path not in MACHINES or self._sign_in is None:
            return path in MACHINES
        asked = _header(scope, b"host").lower()
        return asked.rpartition(":")[0] != self._sign_in.host and asked != self._sign_in.host

    async def _guarded(self, scope: Scope, receive: Receive, send: Send, sign_in: SignIn) -> None:
        cookies, path = _cookies(scope), _path(scope)
        found = self._judged(cookies, sign_in)
        person = found if isinstance(found, Person) else None
        if person is None and not is_open(path, self._pages):
            await _refuse(scope, receive, send, 401, _SIGN_IN)
        elif person is not None and path == METRICS and person.namespaces is not None:
            await _refuse(scope, receive, send, 403, _NOT_ALL)
        elif scope["type"] == "websocket":
            if person is not None:
                receive = self._ending(receive, send, cookies, person)
            elif not isinstance(found, Refused) or found.is_over:
                scope = {**scope, "headers": _without_person(scope["headers"], cookies)}
            await self._app(scope, receive, send)
        else:
            if path == "/auth/logout" and person is not None:
                self._sign_out(cookies, person)
            answer = _Answer(scope, send, cookies, sign_in.is_https, self._pages, is_in=person is not None)
            await self._app(scope, receive, answer)

    def _judged(self, cookies: Mapping[str, str], sign_in: SignIn) -> Person | Refused | None:
        """Who sends these cookies; None for nobody, and who signed out."""
        claims = claims_of(cookies)
        if not claims or _digest(cookies) in self._signed_out:
            return None
        return access.judged(claims, sign_in.access, time.time())

    def _sign_out(self, cookies: Mapping[str, str], person: Person) -> None:
        now = time.time()
        self._signed_out = {one: until for one, until in self._signed_out.items() if until > now}
        self._signed_out[_digest(cookies)] = person.until

    def _ending(self, receive: Receive, send: Send, cookies: Mapping[str, str], person: Person) -> Receive:
        """`receive`, which says that the websocket is closed once its person's time is up or they signed out."""
        digest = _digest(cookies)

        async def until_then() -> MutableMapping[str, Any]:
            task = asyncio.ensure_future(receive())
            try:
                while (left := person.until + _GRACE_SECONDS - time.time()) > 0 and digest not in self._signed_out:
                    done, _ = await asyncio.wait({task}, timeout=min(left, _GLANCE_SECONDS))
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
        Whether somebody who may be here asks.
    """

    def __init__(
        self,
        scope: Scope,
        send: Send,
        cookies: Mapping[str, str],
        is_https: bool,
        pages: frozenset[str],
        *,
        is_in: bool,
    ) -> None:
        self._scope, self._send, self._cookies = scope, send, cookies
        self._is_https, self._pages, self._is_in = is_https, pages, is_in

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.lower(), value) for name, value in message.get("headers", ())]
            if _path(self._scope) == access.CALLBACK:
                headers = self._after(headers)
            elif not self._is_in and _path(self._scope) in self._pages and _is_navigation(self._scope):
                headers = self._before(headers)
            message["headers"] = [(name, self._safely(name, value)) for name, value in headers]
        await self._send(message)

    def _safely(self, name: bytes, value: bytes) -> bytes:
        is_bare = self._is_https and name == b"set-cookie" and b"; secure" not in value.lower()
        return value + b"; Secure" if is_bare else value

    def _before(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Remember a page that somebody asked for who has to sign in first."""
        query = self._scope["query_string"].decode("latin-1")
        asked = str(self._scope["path"]) + (f"?{query}" if query else "")
        if len(asked) > _LONGEST_RETURN or (asked == f"{_base()}/" and RETURN not in self._cookies):
            return headers
        return [*headers, (b"set-cookie", _cookie(quote(asked, safe="/"), _RETURN_SECONDS))]

    def _after(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Lead somebody who comes back from the provider to the page they asked for."""
        wanted = unquote(self._cookies.get(RETURN, ""))
        signed = any(name == b"set-cookie" and USER_COOKIE_NAME.encode() in value for name, value in headers)
        if not signed or not is_own_place(wanted, self._pages):
            return headers
        there = quote(wanted, safe="/?&=%:,;@+$!*'()~").encode()
        kept = [(name, there if name == b"location" else value) for name, value in headers]
        return [*kept, (b"set-cookie", _cookie("", 0))]


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _base() -> str:
    told = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{told}" if told else ""


def _path(scope: Scope) -> str:
    """The path below the base path."""
    path, base = str(scope["path"]), _base()
    return (path[len(base) :] or "/") if base and (path == base or path.startswith(f"{base}/")) else path


def is_open(path: str, pages: frozenset[str]) -> bool:
    """Whether it may be asked for by anybody: it says nothing of a cluster."""
    if path in _OPEN or path in pages or path.startswith(_OPEN_BELOW):
        return ".." not in path
    page, _, rest = path.rpartition("/_stcore/")
    return page in pages and rest in ("health", "host-config")  # how the frontend finds its base


def is_own_place(text: str, pages: frozenset[str]) -> bool:
    """Whether it is a page of this dashboard: no address of another one, however it is written."""
    path = text.partition("?")[0]
    is_plain = text.startswith("/") and text.isprintable() and not set("\\#") & set(text)
    return is_plain and (path.removeprefix(_base()) or "/") in pages


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _header(scope: Scope, name: bytes) -> str:
    return "; ".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)


def _cookies(scope: Scope) -> dict[str, str]:
    return cookie_parser(_header(scope, b"cookie"))


def _is_persons(name: str) -> bool:
    return name.startswith((USER_COOKIE_NAME, TOKENS_COOKIE_NAME))


def _digest(cookies: Mapping[str, str]) -> bytes:
    """What tells one sign-in from another."""
    found = sorted((name, value) for name, value in cookies.items() if _is_persons(name))
    return blake2b(json.dumps(found).encode(), digest_size=16).digest()


def _without_person(headers: list[tuple[bytes, bytes]], cookies: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    kept = "; ".join(f"{name}={value}" for name, value in cookies.items() if not _is_persons(name))
    return [*((name, value) for name, value in headers if name != b"cookie"), (b"cookie", kept.encode("latin-1"))]


def _cookie(value: str, seconds: int) -> bytes:
    return f"{RETURN}={value}; Path={_base() or '/'}; Max-Age={seconds}; HttpOnly; SameSite=Lax".encode()


def _is_navigation(scope: Scope) -> bool:
    return scope["method"] == "GET" and "text/html" in _header(scope, b"accept")


def _is_asked_locally(scope: Scope) -> bool:
    """Whether the address that was asked is this machine's own to itself; a socket in the file system is."""
    server = scope.get("server")
    return not server or server[1] is None or access.is_local(str(server[0]))


def _has_token(scope: Scope) -> bool:
    token, sent = os.environ.get(METRICS_TOKEN, ""), _header(scope, b"authorization")
    return bool(token) and hmac.compare_digest(sent.encode("latin-1"), f"Bearer {token}".encode())


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, why: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why.encode()})
