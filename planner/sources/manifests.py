"""Manifests as kubectl takes them: files, folders, standard input; and where in them each object stands.

Source of what a folder gives: kubernetes `staging/src/k8s.io/cli-runtime/pkg/resource/visitor.go`, `ExpandPathsToFileVisitors`
and `FileExtensions` (.json, .yaml, .yml; folders below only with ``--recursive``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

import yaml

from planner.errors import InputError
from planner.sources import bounded

EXTENSIONS: Final = (".json", ".yaml", ".yml")
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
STDIN: Final = "-"
_MOST_LOCATED: Final = 8 * 2**20  # characters of a file whose lines are counted; beyond, objects have no line
_CHART: Final = re.compile(r"^# Source: (\S+)\s*$", re.MULTILINE)  # helm template, above each document


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an object stands. `file` is as it was named, or the chart's that helm names; line 0 isn't known."""

    file: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """Everything that was named, as one text; `places` by ``Kind/namespace/name``."""

    text: str
    places: Mapping[str, Place]


def read(names: Sequence[str], *, recursive: bool = False, stdin: TextIO) -> Manifests:
    """The manifests that `names` stand for: files, folders, ``-``.

    Raises
    ------
    InputError
        For what can't be read, a folder without manifests, and one that is for kustomize: its files aren't what is applied.
    """
    texts: list[str] = []
    places: dict[str, Place] = {}
    for name in names:
        files = [name] if name == STDIN or not bounded.is_folder(name) else _in_folder(Path(name), recursive)
        for file in files:
            text = _text(file, stdin)
            texts.append(text)
            for key, place in _located(text, "stdin" if file == STDIN else file):
                places.setdefault(key, place)
    return Manifests(text="\n---\n".join(texts), places=places)


def _in_folder(folder: Path, recursive: bool) -> list[str]:
    found = sorted(folder.rglob("*") if recursive else folder.iterdir())
    for path in found:
        if path.name in KUSTOMIZATIONS:
            mend = f"Give what it builds: kubectl kustomize {path.parent} | headroom gate CLUSTER -f -"
            raise InputError("is for kustomize: its files aren't what would be applied", where=str(path), mend=mend)
    files = [str(path) for path in found if path.suffix in EXTENSIONS and path.is_file()]
    if not files:
        mend = "Name files that end in .json, .yaml or .yml" + ("" if recursive else ", or add --recursive")
        raise InputError("holds no manifest", where=str(folder), mend=mend)
    return files


def _text(name: str, stdin: TextIO) -> str:
    if name == STDIN:
        text = stdin.read(bounded.LARGEST_TEXT_BYTES + 1)
        return bounded.text_of(text.encode(), "standard input")
    return bounded.read_text(name, mend="Give JSON or YAML in UTF-8")


def _located(text: str, file: str) -> Iterator[tuple[str, Place]]:
    """Objects of `text` and their lines, as far as it can be read: what is wrong with it is told by who reads it."""
    if len(text) > _MOST_LOCATED:
        return
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    lines = text.splitlines()
    end = 0
    try:
        for document in yaml.compose_all(text, Loader=loader):
            chart = _CHART.search("\n".join(lines[end : document.start_mark.line + 1]))
            end = document.end_mark.line
            for one in _objects(document):
                key = _key(one)
                if key:
                    yield key, Place(file=chart[1]) if chart else Place(file=file, line=one.start_mark.line + 1)
    except (yaml.YAMLError, RecursionError, ValueError):
        return


def _objects(document: Any) -> Iterator[Any]:
    items = _field(document, "items")
    yield from items.value if isinstance(items, yaml.SequenceNode) else [document]


def _key(one: Any) -> str:
    metadata = _field(one, "metadata")
    kind, name, namespace = _field(one, "kind"), _field(metadata, "name"), _field(metadata, "namespace")
    if not isinstance(kind, yaml.ScalarNode) or not isinstance(name, yaml.ScalarNode):
        return ""
    return f"{kind.value}/{namespace.value if isinstance(namespace, yaml.ScalarNode) else 'default'}/{name.value}"


def _field(node: Any, name: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if getattr(key, "value", None) == name), None)
