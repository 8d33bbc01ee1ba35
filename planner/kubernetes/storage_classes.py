"""Which StorageClass a claim is of."""

from __future__ import annotations

from planner.kubernetes.records import ClaimTemplate, Snapshot, StorageClass


def default_class(snapshot: Snapshot) -> StorageClass | None:
    """The cluster's default: of several the newest, of those made at once the first by name.

    Source: kubernetes `pkg/volume/util/storageclass.go` `GetDefaultClass`.
    """
    defaults = (one for one in snapshot.storage_classes if one.is_default)
    return min(defaults, key=lambda one: (-(one.created_at or 0.0), one.name), default=None)


def class_name_of(snapshot: Snapshot, claim: ClaimTemplate) -> str:
    """The class that a claim names, else the default's; "" for none."""
    if claim.storage_class_name is not None:
        return claim.storage_class_name
    default = default_class(snapshot)
    return default.name if default else ""
