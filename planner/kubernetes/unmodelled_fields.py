"""Finds fields, annotations and labels that a kind's row doesn't list and that may change pods or placement."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final

Tree = dict[str, "Tree"]
"""Names of fields → what is known below them, nothing for all; ``[]`` is each of a list, ``{}`` each of a map, ``name=value`` a field that
is known with that value alone (`with_value`)."""

_OF_ALL: Final = ("apiVersion", "kind", "metadata", "status")
_READ: Final = re.compile(
    r"(^|\.)(ray\.io|kserve\.io|knative\.dev|kubeflow\.org|volcano\.sh|argoproj\.io|kaito\.sh|kruise\.io|opendatahub\.io|sigs\.k8s\.io"
    r"|x-k8s\.io)$"
)
"""Prefixes of annotations and labels that a controller of pods reads."""
_OTHERS: Final = re.compile(r"^(kueue\.x-k8s\.io|argocd\.argoproj\.io|client\.knative\.dev)$")
"""Of those what another rule answers, or only people and clients read."""


_FALSE_UNLESS_SAID: Final = frozenset({"suspend", "paused"})
"""Fields that are false where nothing is said; of every other one that isn't known ``false`` may switch something off."""


def tree(paths: Iterable[str]) -> Tree:
    """What is known, of paths: ``spec.tasks[].replicas``; with a dot behind it of a field nothing below is."""
    root: Tree = {key: {} for key in _OF_ALL}
    for path in sorted(paths, key=len):
        place_of, *value = path.split("=", 1)
        at, parts = root, place_of.replace("[]", ".[]").replace("{}", ".{}").split(".")
        parts[-1] = "=".join((parts[-1], *value))
        for place, part in enumerate(parts):
            if part in at and not at[part]:  # all below it is known
                break
            at = at.setdefault(part, {} if place == len(parts) - 1 else {"": {}})
    return root


def strange_fields(value: Any, field_tree: Tree, path: str = "") -> Iterator[str]:
    """The paths of what says something and isn't known; a name that is known as ``name=value`` says nothing with that value."""
    if not field_tree or _says_nothing(value):
        return
    if isinstance(value, Mapping):
        for key, child in value.items():
            below = field_tree.get(str(key), field_tree.get("{}"))
            where = f"{path}.{key}".lstrip(".")
            if below is not None:
                yield from strange_fields(child, below, where)
            elif not _says_nothing(child, str(key)) and with_value(str(key), child) not in field_tree:
                yield where
    elif isinstance(value, list) and "[]" in field_tree:
        for place, child in enumerate(value):
            yield from strange_fields(child, field_tree["[]"], f"{path}[{place}]")
    else:
        yield path


def with_value(name: str, value: object) -> str:
    """How a name is listed that is known with one value alone: ``priority=0``; text in quotes, so that ``"0"`` is another."""
    return f"{name}={json.dumps(value, sort_keys=True, default=str)}"


def _says_nothing(value: object, name: str = "") -> bool:
    return value is None or value == "" or value == [] or (value is False and name in _FALSE_UNLESS_SAID)


class KnownNotes:
    """Names of annotations and labels, also as ``name=value``; ``prefix/*`` is every name with it, but those that stand there with ``-``
    before them: Argo's controller looks at few of the labels that users write under its prefix."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        prefix = f"{str(name).partition('=')[0].rpartition('/')[0]}/*"
        is_left_out = f"-{str(name).partition('=')[0]}" in self._names
        return name in self._names or (prefix in self._names and not is_left_out)


def strange_notes(
    document: Mapping[str, Any], known_names: Container[str], path: str = "", depth: int = 8
) -> Iterator[str]:
    """Each annotation and label, of the object or of a template in it, that a controller of pods reads and that isn't known by its
    name or as ``name=value``."""
    for key, value in document.items():
        where = f"{path}.{key}".lstrip(".")
        if key in ("annotations", "labels") and isinstance(value, Mapping):
            for name, child in value.items():
                prefix = str(name).rpartition("/")[0]
                if _READ.search(prefix) and not _OTHERS.match(prefix):
                    if str(name) not in known_names and f"{name}={child}" not in known_names:
                        yield f"{where}[{name}]"
        elif depth and isinstance(value, Mapping):
            yield from strange_notes(value, known_names, where, depth - 1)
        elif depth and isinstance(value, list):
            for place, child in enumerate(value[:100]):
                if isinstance(child, Mapping):
                    yield from strange_notes(child, known_names, f"{where}[{place}]", depth - 1)
