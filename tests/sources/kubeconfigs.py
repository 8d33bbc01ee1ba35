"""Kubeconfig files for local servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def write(path: Path, host: str, user: dict[str, Any] | None = None, *, name: str = "edu", **cluster: Any) -> Path:
    """A kubeconfig with one context; `cluster` are more fields of its cluster (certificate-authority)."""
    user = {"token": "made-up-token"} if user is None else user
    told = {key.replace("_", "-"): str(value) if isinstance(value, Path) else value for key, value in cluster.items()}
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": name, "cluster": {"server": host, **told}}],
                "users": [{"name": "reader", "user": user}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": "reader"}}],
                "current-context": name,
            }
        )
    )
    return path
