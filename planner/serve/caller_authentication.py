"""Authenticates callers: admission reviews and metrics may require a token or a client certificate.

Where neither is set up, reviews are answered to every client of the port: an API server shows nothing of itself unless it is told
to (AdmissionConfiguration, ``kubeConfigFile``), which managed clusters don't offer.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from planner.serve.endpoint_paths import METRICS, REVIEWS

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKENS: Final = {METRICS: "HEADROOM_METRICS_TOKEN", REVIEWS: "HEADROOM_REVIEWS_TOKEN"}
"""Path → the variable of the environment with the token that has to be sent (``Authorization: Bearer …``)."""

CERTIFIED: Final = "client_certificate"
"""Of a request's state: whether a certificate of the authority that was named came with it; not there where none was named."""

_WHO: Final = b"Send the token, or a client certificate, that this Headroom was told of.\n"


def is_known(scope: Scope) -> bool:
    """Whether the token or the certificate that was set up for this path came with the request; no where none was set up."""
    token, sent = os.environ.get(TOKENS[scope["path"]], ""), header(scope, b"authorization")
    has_token = bool(token) and hmac.compare_digest(sent.encode("latin-1"), f"Bearer {token}".encode())
    return has_token or scope.get("state", {}).get(CERTIFIED) is True


def asks(scope: Scope) -> bool:
    """Whether a token or a certificate is set up for this path."""
    return bool(os.environ.get(TOKENS[scope["path"]])) or CERTIFIED in scope.get("state", {})


def header(scope: Scope, name: bytes) -> str:
    """A request's header; several by semicolons, as cookies are."""
    return "; ".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)


class Callers:
    """ASGI middleware for the paths by themselves: who isn't known where a token or a certificate is set up is told so."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in TOKENS and asks(scope) and not is_known(scope):
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": _WHO})
            return
        await self._app(scope, receive, send)
