"""Recognizes Helm hooks: objects of a chart that Helm doesn't apply with the rest.

Source: helm `pkg/release/v1/hook.go` (the events), `pkg/release/util/manifest_sorter.go` (the annotation, several joined by
commas), `pkg/action/hooks.go` (deletion). Those before an install or upgrade are there when the rest is applied, unless they are
deleted once they have succeeded.
"""

from __future__ import annotations

from typing import Any, Final

_HOOK: Final = "helm.sh/hook"
_DELETED: Final = "helm.sh/hook-delete-policy"
_BEFORE: Final = frozenset({"pre-install", "pre-upgrade"})
_EVENTS: Final = _BEFORE | frozenset(
    {"post-install", "post-upgrade", "pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success"}
)  # fmt: skip


def events(document: dict[str, Any]) -> tuple[str, ...]:
    """When Helm makes the object, by itself; () for one that is applied with the rest."""
    return tuple(event for event in _listed(document, _HOOK) if event in _EVENTS)


def stays(hook: dict[str, Any]) -> bool:
    """Whether a hook is made before the rest is applied, and is still there then."""
    return not _BEFORE.isdisjoint(events(hook)) and "hook-succeeded" not in _listed(hook, _DELETED)


def _listed(document: dict[str, Any], name: str) -> list[str]:
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(name) if isinstance(annotations, dict) else None
    return [part.strip().lower() for part in text.split(",")] if isinstance(text, str) else []
