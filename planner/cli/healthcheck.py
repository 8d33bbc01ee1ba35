"""``python -m planner.cli.healthcheck``: checks that Headroom answers in this container, for an image's HEALTHCHECK."""

from __future__ import annotations

import http.client
import ssl
import sys
from functools import partial
from typing import Final

from planner.serve.endpoint_paths import ALIVE

PORTS: Final = (
    (8501, False),
    (9443, True),
    (9443, False),
)  # of `headroom app` and `headroom serve`, and whether by TLS


def is_alive() -> bool:
    """Whether one of the ports that Headroom listens on by itself says that all is well."""
    itself = ssl._create_unverified_context()  # noqa: S323 - this very container, for no more than "ok"
    for port, is_tls in PORTS:
        connection_type = partial(http.client.HTTPSConnection, context=itself) if is_tls else http.client.HTTPConnection
        connection = connection_type("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", ALIVE)
            if connection.getresponse().status == 200:
                return True
        except (OSError, http.client.HTTPException):
            continue
    return False


if __name__ == "__main__":
    sys.exit(not is_alive())
