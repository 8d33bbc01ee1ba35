"""Security headers for browsers, and a check of the Host header.

Pages are Streamlit's; this stands before it, for HTTP and for the websocket alike. A page of another site with a name that was
rebound to this machine's address (DNS rebinding) sends that name as its Host: names that aren't this server's are refused.
Addresses can't be rebound, so they pass.

Sources: W3C "Content Security Policy Level 3", Fetch (nosniff), RFC 9110 7.2 and 15.5.20 (421), RFC 6761 6.3 (localhost).
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
import re
import secrets
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final

import click
import streamlit as st
from starlette.requests import cookie_parser
from streamlit import config

from planner.ground.errors import InputError
from planner.serve.caller_authentication import Asgi, Receive, Scope, Send, header
from planner.serve.endpoint_paths import ALIVE, METRICS, READY, REVIEWS
from planner.ui import streamlit_static_files

VARIABLE: Final = "HEADROOM_HOSTS"
"""Names this server is reached by, joined by commas: ``headroom.example, *.apps.example``; ``*`` for any."""

COMMUNITY: Final = "*.streamlit.app"
"""Apps on Streamlit Community Cloud. Only Streamlit says where such a name leads, so none can be rebound to this machine; the page of
that name shows the app in a frame of its own origin (streamlit/streamlit#5084)."""

MACHINES: Final = frozenset([REVIEWS, METRICS, ALIVE, READY])
"""Paths beside the pages that machines ask for, by the name of a Service or by whatever they know this server by: none of them
acts for who looks at a page, and what they say is no page."""

BROWSER: Final = "headroom_browser"
"""The cookie that tells one browser from another, for as long as it runs; by itself it opens nothing (`planner.ui.upload_cache`)."""

_TOKEN: Final = re.compile(r"[\w-]{43}", re.ASCII)  # 256 bits
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_REFUSED: Final = (
    "Headroom doesn't answer to this name: a page of another site may be behind it. If the name is right, start Headroom "
    f"with {VARIABLE}=NAME in its environment.\n"
)


def take_settings() -> None:
    """Streamlit's settings that are in the environment, which only ``streamlit run`` takes from there by itself.

    Raises
    ------
    InputError
        When one isn't what it has to be.

    Source: Streamlit `web/cli.py` ``configurator_options``.
    """
    for name, option in config.get_config_options().items():
        text = os.environ.get(option.env_var)
        if text is None or option.sensitive:
            continue
        kind = click.types.convert_type(option.type)
        try:
            value = [kind(word) for word in text.split()] if option.multiple else kind(text)
        except click.BadParameter as error:
            fix = "Give it another value, or none"
            raise InputError(error.message.rstrip("."), where=option.env_var, fix=fix) from None
        config.set_option(name, value, "environment variable")


def content_security_policy(index: str, framed_by: str = "'none'") -> str:
    """Everything from here and nowhere else; `index` is the page with its own inline scripts, let through by their hash."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in _INLINE.findall(index)]
    # blob: is how Streamlit loads the script of a component (the film's); only a script that runs already can make one
    scripts = " ".join(["'self'", "blob:", *(f"'sha256-{digest}'" for digest in hashes)])
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src {scripts}",
            "style-src 'self' 'unsafe-inline'",  # emotion, glide-data-grid and Vega write styles into the page
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' ws: wss:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-src 'none'",
            f"frame-ancestors {framed_by}",
        ]
    )


def headers(framed_by: str = "'none'") -> tuple[tuple[bytes, bytes], ...]:
    """What every answer carries."""
    named = {
        "content-security-policy": content_security_policy(streamlit_static_files.page(), framed_by),
        "x-frame-options": "DENY" if framed_by == "'none'" else "SAMEORIGIN",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    }
    return tuple((name.encode(), value.encode()) for name, value in named.items())


def picture(path: Path) -> str:
    """A picture's bytes in its address: files to be fetched are closed to who isn't signed in."""
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"


def name_of(host: str) -> str:
    """The name or the address in a Host header: without its port, in small letters, without the root's dot.

    Every check of a Host asks this, so that no way to write a name passes one of them and not another.
    """
    name = host.strip().lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    return name.rstrip(".")


def is_own_name(host: str, names: Iterable[str]) -> bool:
    """Whether a Host header names this server: an address, localhost, or one of `names`."""
    name = name_of(host)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        own_names = [name_of(host_name) for host_name in names if host_name.strip()]
        return (
            name == "localhost"
            or name.endswith(".localhost")
            or any(
                host_name in ("*", name) or (host_name.startswith("*.") and name.endswith(host_name[1:]))
                for host_name in own_names
            )
        )
    return True


def base_path() -> str:
    """What every address of this server begins with: "", or as ``/headroom``."""
    url_path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{url_path}" if url_path else ""


def browser_of(cookies: Mapping[str, str]) -> str:
    """Which browser sends them; "" without a cookie as `Guard` sets them."""
    browser_cookie = str(cookies.get(BROWSER, ""))
    return browser_cookie if _TOKEN.fullmatch(browser_cookie) else ""


def _new_browser(scope: Scope, *, is_https: bool) -> list[tuple[bytes, bytes]]:
    """A cookie for a visitor who has none and asks for a page: of links from elsewhere too (Lax), so that one comes back to what one gave."""
    is_page = scope["type"] == "http" and "text/html" in header(scope, b"accept")
    if not is_page or browser_of(cookie_parser(header(scope, b"cookie"))):
        return []
    secure = "; Secure" if is_https or scope.get("scheme") == "https" else ""
    cookie = f"{BROWSER}={secrets.token_urlsafe(32)}; Path={base_path() or '/'}; HttpOnly; SameSite=Lax{secure}"
    return [(b"set-cookie", cookie.encode())]


class Guard:
    """ASGI middleware: refuses other names than the server's own and `names`, and adds the headers and the browser's cookie;
    `is_https`: where people reach it by https alone, whatever this server itself is asked by."""

    def __init__(self, app: Asgi, names: Iterable[str] = (), *, is_https: bool = False) -> None:
        self._app, self._names, self._is_https = app, tuple(names), is_https
        self._headers, self._in_frame = headers(), headers("'self'")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        own_hosts = [st.get_option("server.address") or "", st.get_option("browser.serverAddress") or "", COMMUNITY]
        names = [
            *os.environ.get(VARIABLE, "").split(","),
            *st.get_option("server.allowedHosts"),
            *own_hosts,
            *self._names,
        ]
        if scope.get("path") not in MACHINES and not is_own_name(host, names):
            await self._refuse(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                header_names = {name.lower() for name, _ in message.get("headers", ())}
                own = self._in_frame if name_of(host).endswith(COMMUNITY[1:]) else self._headers
                more = [(name, value) for name, value in own if name not in header_names]
                message["headers"] = [*message.get("headers", ()), *more, *_new_browser(scope, is_https=self._is_https)]
            await send(message)

        await self._app(scope, receive, with_headers)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: 403
            return
        plain = (b"content-type", b"text/plain; charset=utf-8")
        await send({"type": "http.response.start", "status": 421, "headers": [plain, *self._headers]})
        await send({"type": "http.response.body", "body": _REFUSED.encode()})
