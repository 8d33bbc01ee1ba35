"""Serves Streamlit's page and static files from memory, and preloads what every page needs.

As it is, a browser asks for the code of a link, a figure or a field only when it has drawn the page as far as that, and looks for
the server below the page's own path first, where there is none: it waits a tenth of a second before it looks elsewhere.

Source: Streamlit 1.67, `static/manifest.json` (of Vite), `static/index.html` and ``window.__streamlit`` in `static/js/index.*.js`.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import mimetypes
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import streamlit as st

from planner.serve.caller_authentication import Asgi, Receive, Scope, Send, header

_STATIC: Final = Path(st.__file__).parent / "static"
_ON_EVERY_PAGE: Final = ("Html", "PageLink", "Selectbox", "Button", "DownloadButton")
_WHERE: Final = "<script>window.__streamlit ??= {BACKEND_BASE_URL: new URL('.', location).href}</script>"
_PINGS: Final = '<link rel="preload" as="fetch" crossorigin href="./_stcore/{}">'
_ASKED: Final = '<link rel="modulepreload" crossorigin href="./{}">'
_PACKED: Final = frozenset([".js", ".css", ".svg"])  # pictures and fonts are as small as they get
_FOREVER: Final = b"public, immutable, max-age=31536000"  # a file's name has the digest of what is in it


@cache
def page() -> str:
    """Streamlit's page, with that; "" where a release of Streamlit keeps it elsewhere, and answers it by itself."""
    text = _read("index.html")
    pings = [_PINGS.format(name) for name in ("health", "host-config")]
    more = [_ASKED.format(file) for file in _needed(_ON_EVERY_PAGE) if file not in text]
    return text.replace("<head>", f"<head>{_WHERE}{''.join(pings)}", 1).replace("</head>", f"{''.join(more)}</head>", 1)


def _read(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8") if (_STATIC / name).is_file() else ""


def _needed(components: Iterable[str]) -> list[str]:
    """The files of these parts of Streamlit's frontend, and of what they import."""
    manifest: dict[str, Any] = json.loads(_read("manifest.json") or "{}")
    remaining_keys = [key for key, of in manifest.items() if of.get("isDynamicEntry") and of.get("name") in components]
    assets: dict[str, None] = {}
    while remaining_keys:
        of = manifest[remaining_keys.pop(0)]
        if of["file"] not in assets:
            assets[of["file"]] = None
            remaining_keys += of.get("imports", ())
    return list(assets)


class _Content:
    """What is answered for a path, packed with gzip for a browser that takes it. Only this form is kept in memory: hardly any browser asks
    for the other, which is read again."""

    def __init__(self, whole: Callable[[], bytes], kind: str, cache_control: bytes, *, packs: bool) -> None:
        content = whole()
        self._packed = gzip.compress(content, mtime=0) if packs else b""
        self._whole = whole if self._packed else lambda: content
        self._tag = hashlib.sha256(content).hexdigest()[:32]
        self._always = [(b"content-type", kind.encode()), (b"cache-control", cache_control)]

    async def answer(self, scope: Scope, send: Send) -> None:
        """Source: RFC 9110, 8.8.3 (each form has a tag of its own), 12.5.5 (Vary), 13.1.2 and 15.4.5 (not modified)."""
        packs = bool(self._packed) and takes_gzip(header(scope, b"accept-encoding"))
        tag = f'"{self._tag}{"-gzip" if packs else ""}"'
        headers = [*self._always, (b"etag", tag.encode()), *([(b"vary", b"accept-encoding")] if self._packed else [])]
        if _has_it(header(scope, b"if-none-match"), tag):
            await send({"type": "http.response.start", "status": 304, "headers": headers[1:]})
            await send({"type": "http.response.body", "body": b""})
            return
        body = self._packed if packs else self._whole()
        headers += [(b"content-length", b"%d" % len(body)), *([(b"content-encoding", b"gzip")] if packs else [])]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def takes_gzip(accept_encoding: str) -> bool:
    """Whether a browser takes gzip: it names it, or any coding, with a weight above 0 (RFC 9110, 12.5.3)."""
    weights: dict[str, str] = {}
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        weights[coding.strip()] = weight.partition("=")[2].strip() or "1"
    weight = weights.get("gzip", weights.get("*", "0"))
    return weight.replace(".", "", 1).isdecimal() and float(weight) > 0


def _has_it(if_none_match: str, tag: str) -> bool:
    """Whether one of the tags that a browser has is this one; a weak one counts here as a strong one does."""
    return any(known.strip().removeprefix("W/") in (tag, "*") for known in if_none_match.split(","))


@cache
def _page() -> _Content:
    return _Content(lambda: page().encode(), "text/html; charset=utf-8", b"no-cache", packs=True)


@cache
def _file(place: Path) -> _Content:
    """A file; packing the largest takes a tenth of a second, so it isn't done where others wait."""
    kind = mimetypes.guess_type(place.name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return _Content(place.read_bytes, f"{kind}{charset}", _FOREVER, packs=place.suffix in _PACKED)


class Frontend:
    """ASGI middleware; `pages`: their names in links, `base`: what their paths begin with. A part of a file is Streamlit's to answer, as
    all else is."""

    def __init__(self, app: Asgi, pages: Iterable[str], base: str = "") -> None:
        self._app, self._pages = app, frozenset(f"{base}/{name}" for name in ("", *pages))
        self._files = {f"{base}/{file.relative_to(_STATIC).as_posix()}": file for file in _STATIC.glob("static/*/*")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path"))
        is_whole = scope.get("method") in ("GET", "HEAD") and not header(scope, b"range")
        if is_whole and path in self._pages and page():
            await _page().answer(scope, send)
        elif is_whole and path in self._files:
            content = await asyncio.to_thread(_file, self._files[path])
            await content.answer(scope, send)
        else:
            await self._app(scope, receive, send)
