"""Resolves typed workload names: ``prod/llm-serve``, ``llm-serve``, ``deployment/llm-serve`` with ``-n prod``.

The name stands for a workload where it fits exactly one. A kind is written as kubectl takes it: in any case, singular, plural or short.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.setting_declarations import settings_of
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import WORKLOADS

Settings = TypeVar("Settings")

_SHORT: Final = {
    "deploy": "deployment",
    "sts": "statefulset",
    "ds": "daemonset",
    "lws": "leaderworkerset",
    "ro": "rollout",
}
"""kubectl's and the projects' own short names of kinds (`shortNames` of their API resources)."""
_ALIKE: Final = 3  # names that an error offers for one that there isn't
_NAMED: Final = 5  # workloads that an error names
_FIX: Final = "Write kind/namespace/name, namespace/name, or the name where there is only one"


def workload_key(snapshot: Snapshot, name: str, namespaces: Collection[str] = ()) -> str:
    """The key (``Deployment/prod/llm-serve``) of the workload that `name` stands for, in `namespaces` where some are given.

    A whole key names its namespace itself. One that the snapshot lacks is given back, a short or plural kind in full:
    a manifest may bring the workload.

    Raises
    ------
    InputError
        For a name that fits several workloads, which are named, or none; then the nearest names are.
    """
    parts = name.strip().split("/")
    if len(parts) == 3:
        kind = kind_written(parts[0])
        # Only a short or plural kind is replaced: a full one stays as it was typed, in its case, as errors repeat it.
        full = next((row.name for row in WORKLOADS if row.name.lower() == kind != parts[0].lower()), parts[0])
        key = "/".join((full, *parts[1:]))
        workload = snapshot.workload(key)
        return workload.key if workload is not None else key
    keys = [record.key for record in snapshot.workloads]
    fits = list(dict.fromkeys(key for key in keys if _fits(key, parts, namespaces)))
    if len(fits) == 1:
        return fits[0]
    if fits:
        more = f" and {len(fits) - _NAMED:,} more" if len(fits) > _NAMED else ""
        raise InputError(
            f'"{name[:120]}" may be {", ".join(fits[:_NAMED])}{more}', where=snapshot.source, fix="Write one of these"
        )
    near = nearest(name, keys)
    fix = f"Did you mean {', '.join(near)}?" if near else _FIX
    raise InputError(f'there is no workload "{name[:120]}"', where=snapshot.source, fix=fix)


def nearest(name: str, keys: Iterable[str]) -> list[str]:
    """Keys with written forms that are like `name` or hold its last part, the likeliest first; at most three."""
    written: dict[str, list[str]] = {}
    for key in keys:
        kind, namespace, own = key.split("/", 2)
        for form in (own, f"{namespace}/{own}", f"{kind.lower()}/{own}", f"{kind.lower()}/{namespace}/{own}"):
            if form.count("/") == name.count("/"):
                written.setdefault(form, []).append(key)
    forms = get_close_matches(name.lower(), written, _ALIKE, 0.9) or get_close_matches(
        name.lower(), written, _ALIKE, 0.75
    )
    last = name.rpartition("/")[2]
    alike = [key for form in forms for key in written[form]] or [
        key for some in written.values() for key in some if last and last in key
    ]
    return list(dict.fromkeys(alike))[:_ALIKE]


def with_workload_keys(settings: Settings, snapshot: Snapshot, namespaces: Collection[str] = ()) -> Settings:
    """The settings with the key in the place of every name of a workload (settings declared with `is_workload`)."""
    record: Any = type(settings)
    for setting in settings_of(record):
        if setting.is_workload:
            settings = _with_keys(settings, setting.path, snapshot, namespaces)
    return settings


def _with_keys(settings: Any, path: tuple[str, ...], snapshot: Snapshot, namespaces: Collection[str]) -> Any:
    value = getattr(settings, path[0])
    if len(path) > 1:
        changed = _with_keys(value, path[1:], snapshot, namespaces)
    elif isinstance(value, tuple):
        changed = tuple(workload_key(snapshot, name, namespaces) for name in value)
    else:
        changed = workload_key(snapshot, value, namespaces) if value else value
    return settings if changed == value else replace(settings, **{path[0]: changed})


def kind_written(word: str) -> str:
    """The kind that `word` stands for, in lower case; "" where it is none."""
    word = _SHORT.get(word.lower(), word.lower()).partition(".")[0]
    kind_by_form = {form: kind.name.lower() for kind in WORKLOADS for form in (kind.name.lower(), kind.resource)}
    return kind_by_form.get(word, "")


def _fits(key: str, parts: list[str], namespaces: Collection[str]) -> bool:
    kind, namespace, own = key.split("/", 2)
    if parts[-1] != own or (namespaces and namespace not in namespaces):
        return False
    return len(parts) == 1 or (len(parts) == 2 and (parts[0] == namespace or kind_written(parts[0]) == kind.lower()))
