"""Reads manifests as kubectl does (files, folders, standard input), and each object's line in them.

Source of what a folder gives: kubernetes `staging/src/k8s.io/cli-runtime/pkg/resource/visitor.go`, `ExpandPathsToFileVisitors`
and `FileExtensions` (.json, .yaml, .yml; folders below only with ``--recursive``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.inventory.archives import in_units
from planner.inventory.documents import objects_of
from planner.inventory.helm_value_paths import HelmChart, chart_of
from planner.inventory.pasted_text_cleanup import without_terminal
from planner.inventory.yaml_text import DEEPEST
from planner.kubernetes.workload_kinds import NODE, POD
from planner.sources import bounded_reading
from planner.sources.source_limits import LIMITS

EXTENSIONS: Final = (".json", ".yaml", ".yml")
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
STDIN: Final = "-"
_CHART_FILE: Final = "Chart.yaml"
_TEMPLATE: Final = re.compile(r"\{\{[^}]{0,200}(?:\.(?:Values|Release|Chart)\b|\binclude\s)")
"""What only Helm's templates ask; workflows of Argo and rules of Prometheus have ``{{ … }}`` of their own."""
_CHART: Final = re.compile(r"^# Source: (\S+)\s*$", re.MULTILINE)  # helm template, above each document


class SourceLine(Record):
    """Where an object stands. `file` is as it was named, or the chart's that helm names; line 0 isn't known."""

    file: str
    line: int = 0


class Manifests(Record):
    """Everything that was named and can be read, as one text; `places` by ``Kind/namespace/name``; `unread`: why a file isn't in
    it, ``b.yaml: isn't YAML (line 3)``."""

    text: str
    places: Mapping[str, SourceLine]
    unread: tuple[str, ...] = ()


def read(names: Sequence[str], *, recursive: bool = False) -> Manifests:
    """The manifests that `names` stand for: files, folders, ``-``. Of several files those that can be read.

    Raises
    ------
    InputError
        Where none can be read, for a folder without manifests, and one that is for kustomize: its files aren't what is applied.
    """
    texts: list[str] = []
    places: dict[str, SourceLine] = {}
    refused: list[InputError] = []
    for name in names:
        if "," in name and not bounded_reading.exists(name) and all(map(bounded_reading.exists, name.split(","))):
            raise InputError(
                "is no file: several were given",
                where=name,
                fix=f"Give each its own -f: -f {' -f '.join(name.split(','))}",
            )
        files = [name] if name == STDIN or not bounded_reading.is_folder(name) else _in_folder(Path(name), recursive)
        for file in files:
            text = ""
            try:
                text = _pasted(bounded_reading.read_text(file, fix="Give JSON or YAML in UTF-8"))
                objects_of(text, "standard input" if file == STDIN else file)
            except InputError as error:
                if _TEMPLATE.search(text) is not None:  # before Helm has rendered it
                    error.what, error.fix = (
                        f"{error.what}; it is a template of a Helm chart",
                        "Give what helm template prints",
                    )
                refused.append(error)
                continue
            texts.append(text)
            if sum(map(len, texts)) > bounded_reading.LARGEST_TEXT_BYTES:
                most = in_units(bounded_reading.LARGEST_TEXT_BYTES)
                raise InputError(f"together they are larger than {most}", where=str(name), fix="Give fewer files")
            for key, place in _located(text, "stdin" if file == STDIN else file):
                places.setdefault(key, place)
    if refused and not any(text.strip() for text in texts):
        raise refused[0]
    if not any(text.strip() for text in texts):
        raise InputError("it is empty", where=", ".join(names), fix="Give what kubectl apply -f takes")
    unread = tuple(f"{input_error.where}: {input_error.what}" for input_error in refused)
    return Manifests(text="\n---\n".join(texts), places=places, unread=unread)


def read_chart(name: str) -> HelmChart:
    """The templates of a Helm chart's folder, and of charts that are unpacked within it.

    Raises
    ------
    InputError
        For a folder without ``Chart.yaml``, and for files that can't be read.
    """
    folder = Path(name)
    fix = "Give the folder that helm template is given"
    if not (folder / _CHART_FILE).is_file():
        raise InputError(f"holds no {_CHART_FILE}", where=name, fix=fix)
    texts: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        is_template = "templates" in below.parts and path.suffix in EXTENSIONS
        if (is_template or path.name == _CHART_FILE) and path.is_file():
            texts[below.as_posix()] = bounded_reading.read_text(str(path), fix=fix)
        if sum(map(len, texts.values())) > LIMITS.manifest_bytes:
            raise InputError(f"its templates are larger than {in_units(LIMITS.manifest_bytes)}", where=name, fix=fix)
    descriptions = {path: text for path, text in texts.items() if path.rpartition("/")[2] == _CHART_FILE}
    return chart_of({path: text for path, text in texts.items() if path not in descriptions}, descriptions)


def is_manifest(name: str) -> bool:
    """Whether a file holds objects as people write them: no node, no pod, and none that an API server has written, which gives each a uid
    and a time."""
    if not Path(name).is_file() or Path(name).stat().st_size > LIMITS.manifest_bytes:
        return False
    try:
        objects = objects_of(_pasted(bounded_reading.read_text(name, fix="Give JSON or YAML in UTF-8")), name)
    except InputError:
        return False
    written = ("uid", "creationTimestamp", "resourceVersion")
    if not objects or any(document.get("kind") in (NODE.name, POD.name) for document in objects):
        return False
    return not any((document.get("metadata") or {}).get(field) for document in objects for field in written)


def _pasted(text: str) -> str:
    """`text` without prompts, color codes and fences; its lines stay where they are."""
    return bytes(without_terminal(text.encode("utf-8", "surrogatepass"))).decode("utf-8", "surrogatepass")


def _in_folder(folder: Path, recursive: bool) -> list[str]:
    try:
        paths = sorted(folder.rglob("*") if recursive else folder.iterdir())
    except OSError as error:
        problem = f"can't be read: {(error.strerror or type(error).__name__).lower()}"
        raise InputError(problem, where=str(folder), fix="Check its permissions") from None
    if (folder / _CHART_FILE).is_file():
        fix = f"Give what it renders: helm template {folder} | headroom gate CLUSTER -f -, or without CLUSTER"
        raise InputError("is a Helm chart: its files aren't what would be applied", where=str(folder), fix=fix)
    for path in paths:
        if path.name in KUSTOMIZATIONS:
            fix = f"Give what it builds: kubectl kustomize {path.parent} | headroom gate CLUSTER -f -"
            raise InputError("is for kustomize: its files aren't what would be applied", where=str(path), fix=fix)
    files = [str(path) for path in paths if path.suffix in EXTENSIONS and path.is_file()]
    if not files:
        fix = "Name files that end in .json, .yaml or .yml" + ("" if recursive else ", or add --recursive")
        raise InputError("holds no manifest", where=str(folder), fix=fix)
    return files


def _located(text: str, file: str) -> Iterator[tuple[str, SourceLine]]:
    """Objects of `text` and their lines, as far as it can be read: what is wrong with it is told by who reads it."""
    if len(text) > LIMITS.located_characters:
        return
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    lines = text.splitlines()
    end = 0
    try:
        if _is_too_deep(text, loader):
            return
        for document in yaml.compose_all(text, Loader=loader):
            chart = _CHART.search("\n".join(lines[end : document.start_mark.line + 1]))
            end = document.end_mark.line
            for object_node in _objects(document):
                key = _key(object_node)
                if key:
                    yield (
                        key,
                        SourceLine(file=chart[1])
                        if chart
                        else SourceLine(file=file, line=object_node.start_mark.line + 1),
                    )
    except (yaml.YAMLError, RecursionError, ValueError):
        return


def _is_too_deep(text: str, loader: Any) -> bool:
    """Whether it is nested so deep that it is refused, without going there: composing it would end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                return True
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return False


def _objects(document: Any) -> Iterator[Any]:
    items = _field(document, "items")
    if isinstance(items, yaml.SequenceNode):
        for object_node in items.value:
            yield from _objects(object_node)
    else:
        yield document


def _key(object_node: Any) -> str:
    metadata = _field(object_node, "metadata")
    kind, name, namespace = _field(object_node, "kind"), _field(metadata, "name"), _field(metadata, "namespace")
    if not isinstance(kind, yaml.ScalarNode) or not isinstance(name, yaml.ScalarNode):
        return ""
    return f"{kind.value}/{namespace.value if isinstance(namespace, yaml.ScalarNode) else 'default'}/{name.value}"


def _field(node: Any, name: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if getattr(key, "value", None) == name), None)
