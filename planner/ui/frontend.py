"""Streamlit's own page and files, answered from memory: with what every page of ours needs asked for at once, and where the server is.

As it is, a browser asks for the code of a link, a figure or a field only when it has drawn the page as far as that, and looks for
the server below the page's own path first, where there is none: it waits a tenth of a second before it looks elsewhere.

Source: Streamlit 1.67, `static/manifest.json` (of Vite), `static/index.html` and ``window.__streamlit`` in `static/js/index.*.js`.
"""

from __future__ import annotations

import gzip
import json
import mimetypes
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

import streamlit as st

from planner.serve.callers import Asgi, Receive, Scope, Send, header

_STATIC: Final = Path(st.__file__).parent / "static"
_ON_EVERY_PAGE: Final = ("Html", "PageLink", "Selectbox", "Button", "DownloadButton", "Metric")  # fmt: skip
_WHERE: Final = "<script>window.__streamlit ??= {BACKEND_BASE_URL: new URL('.', location).href}</script>"
_PINGS: Final = '<link rel="preload" as="fetch" crossorigin href="./_stcore/{}">'
_ASKED: Final = '<link rel="modulepreload" crossorigin href="./{}">'
_AGAIN: Final = (b"range", b"if-none-match", b"if-modified-since")
_FOREVER: Final = b"public, immutable, max-age=31536000"  # a file's name has the digest of what is in it


@cache
def page() -> str:
    """Streamlit's page, with that; "" where a release of Streamlit keeps it elsewhere, and answers it by itself."""
    text = _read("index.html")
    pings = [_PINGS.format(name) for name in ("health", "host-config")]
    more = [_ASKED.format(file) for file in _needed(_ON_EVERY_PAGE) if file not in text]
    return text.replace("<head>", f"<head>{_WHERE}{''.join(pings)}", 1).replace("</head>", f"{''.join(more)}</head>", 1)


@cache
def _packed() -> bytes:
    return gzip.compress(page().encode(), mtime=0)


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


@cache
def _file(place: Path) -> tuple[bytes, bytes]:
    """What is in a file, and its type."""
    kind = mimetypes.guess_type(place.name)[0] or "application/octet-stream"
    return place.read_bytes(), f"{kind}{'; charset=utf-8' if kind.startswith('text/') else ''}".encode()


class Frontend:
    """ASGI middleware; `pages`: their names in links, `base`: what their paths begin with. What isn't asked for anew and whole is
    Streamlit's to answer, as all else is."""

    def __init__(self, app: Asgi, pages: Iterable[str], base: str = "") -> None:
        self._app, self._pages = app, frozenset(f"{base}/{name}" for name in ("", *pages))
        self._files = {f"{base}/{file.relative_to(_STATIC).as_posix()}": file for file in _STATIC.glob("static/*/*")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path"))
        is_whole = scope.get("method") in ("GET", "HEAD") and not any(header(scope, name) for name in _AGAIN)
        if is_whole and path in self._pages and page():
            packs = "gzip" in header(scope, b"accept-encoding")
            more = ((b"vary", b"accept-encoding"), *([(b"content-encoding", b"gzip")] if packs else ()))
            body = _packed() if packs else page().encode()
            await _answer(scope, send, body, b"text/html; charset=utf-8", b"no-cache", *more)
        elif is_whole and path in self._files:
            await _answer(scope, send, *_file(self._files[path]), _FOREVER)
        else:
            await self._app(scope, receive, send)


async def _answer(
    scope: Scope, send: Send, body: bytes, kind: bytes, cache_control: bytes, *more: tuple[bytes, bytes]
) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", cache_control),
        *more,
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
