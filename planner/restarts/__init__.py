"""Why containers restart: causes with evidence, noise apart, and what would help."""

from __future__ import annotations

from planner.restarts.report import findings, findings_of, restarts

__all__ = ["findings", "findings_of", "restarts"]
