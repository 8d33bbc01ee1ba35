"""Where machines ask: the paths beside the pages, the same for every way Headroom serves."""

from __future__ import annotations

from typing import Final

ALIVE: Final = "/healthz"
READY: Final = "/readyz"
REVIEWS: Final = "/v1/rollouts"
METRICS: Final = "/metrics"
