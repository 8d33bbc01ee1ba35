"""Paths of the machine endpoints beside the pages, the same for every way to serve Headroom."""

from __future__ import annotations

from typing import Final

ALIVE: Final = "/healthz"
READY: Final = "/readyz"
REVIEWS: Final = "/v1/rollouts"
METRICS: Final = "/metrics"
