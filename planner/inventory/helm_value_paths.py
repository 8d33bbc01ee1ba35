"""Finds the Helm chart values that set a changed field, in the text of templates, without rendering.

A field is told where the template takes the whole of it from one value (``strategy: {{ toYaml .Values.strategy }}``, in a ``with`` or an ``if``
of that value too), or each number of a rolling update from a value of its own. Whatever else decides what is rendered isn't known.

Source: helm `pkg/chart/common/util/coalesce.go` (values of a user are merged into the chart's, and null removes a key),
`pkg/chart/v2/chart.go` `ChartFullPath` and `pkg/chart/v2/util/dependencies.go` `getAliasDependency` (where a subchart stands in ``# Source:``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from planner.ground.records import Record
from planner.kubernetes.strategic_merge_patch import as_yaml

_DOCUMENT: Final = re.compile(r"^---", re.MULTILINE)
_COMMENT: Final = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}", re.DOTALL)
_ACTION: Final = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_PATH: Final = r"\$?\.Values((?:\.[A-Za-z_]\w*)+)"
_LAID: Final = r"(?:\s*\|\s*(?:trim|n?indent\s+\d+))*"
_WHOLE: Final = (
    rf"toYaml\s+{_PATH}{_LAID}",
    rf"{_PATH}\s*\|\s*toYaml{_LAID}",
    rf"tpl\s+\(\s*toYaml\s+{_PATH}\s*\)\s+[.$]{_LAID}",
    rf"include\s+\"common\.tplvalues\.render\"\s+\(\s*dict\s+\"value\"\s+{_PATH}\s+\"context\"\s+\$\s*\){_LAID}",  # Bitnami's library
)  # fmt: skip
_OF_DOT: Final = rf"(?:toYaml\s+\.|\.\s*\|\s*toYaml){_LAID}"
_NUMBER: Final = rf"{_PATH}(?:\s*\|\s*(?:quote|int|toYaml))*"  # with a default 0 would be replaced: it counts as empty
_FIELDS: Final = (("strategy",), ("updateStrategy",), ("rolloutStrategy",), ("template", "spec", "affinity"))
"""Fields of a workload's spec that a change of its manifest may be in, each whole."""


class HelmChart(Record):
    """A chart's folder. `texts`: its templates by path below the folder, those of charts within too; `aliases`: of a chart within, by the path
    that Helm names it by (``charts/db``), the folder that it is in."""

    name: str
    texts: Mapping[str, str]
    aliases: Mapping[str, str]


class ChartValues(Record):
    """`text`: what a file of values has for a change, as YAML; where that is "", `why` it isn't known."""

    text: str = ""
    why: str = ""


def chart_values(chart: HelmChart, source: str, kind: str, patch: Mapping[str, Any]) -> ChartValues:
    """The values with which a chart renders `patch` (a merge patch of a workload of that kind, null where a field is removed).
    `source`: the template, as ``helm template`` names it above each document."""
    parent, *path = source.split("/")
    if parent != chart.name or "templates" not in path:
        return ChartValues(why=f"{source} is no template of the chart {chart.name}")
    subcharts = path[: path.index("templates")]
    folder = "/".join(chart.aliases.get("/".join(subcharts[: end + 2]), "/".join(subcharts[end : end + 2]))
                      for end in range(0, len(subcharts), 2))  # fmt: skip
    file = "/".join(filter(None, (folder, *path[path.index("templates") :])))
    if file not in chart.texts:
        return ChartValues(why=f"{file} isn't in the chart's folder")
    values: dict[str, Any] = {}
    for field, content in _changed(patch):
        placed = _values_of(chart.texts[file], kind, field, content)
        if placed is None:
            return ChartValues(why=f"{file} doesn't take {field} from one value")
        for keys, value in placed:
            _put(values, (*subcharts[1::2], *keys), value)
    if not values:
        return ChartValues(why="the change is of fields that values aren't looked for")
    return ChartValues(text=as_yaml(values))


def _changed(patch: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The fields that a patch changes, and what they become; [] where others are among them."""
    changed, spec = [], patch.get("spec") or {}
    for path in _FIELDS:
        content = spec
        for key in path:
            content = content.get(key) if isinstance(content, dict) else None
        if content is not None:
            changed.append((path[-1], content))
    return changed if len(changed) == len(spec) else []


def _values_of(template: str, kind: str, field: str, content: Any) -> list[tuple[tuple[str, ...], Any]] | None:
    """Keys and what each becomes; None where the template doesn't tell it, or two of its documents differ."""
    documents = [_COMMENT.sub("", document) for document in _DOCUMENT.split(template)]
    documents = [
        document for document in documents if re.search(rf"^kind:\s*[\"']?{kind}[\"']?\s*$", document, re.MULTILINE)
    ]
    every = [_in_document(document, field, content) for document in documents]
    return every[0] if every and all(placed == every[0] for placed in every) else None


def _in_document(document: str, field: str, content: Any) -> list[tuple[tuple[str, ...], Any]] | None:
    lines = document.splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(rf"\s*{field}:", line)]
    if len(heads) != 1:
        return None
    head = heads[0]
    kind_at = next(number for number, line in enumerate(lines) if line.startswith("kind:"))
    around = _opened(lines[:kind_at])  # it is rendered: an ``if`` around the whole holds
    if not all(re.match(r"(?:else\s+)?if\b|else$", opened_block) for opened_block in around):
        return None
    indent = len(lines[head]) - len(lines[head].lstrip())
    block = [lines[head].partition(":")[2]]
    for line in lines[head + 1 :]:
        is_action = line.lstrip().startswith("{{")
        if line.strip() and not is_action and len(line) - len(line.lstrip()) <= indent:
            break
        block.append(line)
    opened = _opened(lines[kind_at:head])
    text = "\n".join(block).strip()
    action = _ACTION.match(text)
    if action is not None:
        for whole in _WHOLE:
            if match := re.fullmatch(whole, action[1]):
                return _if_open(opened, _keys(match[1]), [(_keys(match[1]), content)])
        if re.fullmatch(_OF_DOT, action[1]) and opened and (match := re.fullmatch(rf"with\s+{_PATH}", opened[-1])):
            return _if_open(opened[:-1], _keys(match[1]), [(_keys(match[1]), content)])
        return None
    return _by_numbers(text, content, opened)


def _opened(lines: list[str]) -> list[str]:
    """Blocks that are open after these lines: ``with .Values.strategy``, ``if …``, ``range …``."""
    blocks: list[str] = []
    for action in _ACTION.findall("\n".join(lines)):
        word = action.split(" ")[0]
        if word in ("if", "with", "range", "define", "block"):
            blocks.append(action)
        elif word == "else" and blocks:
            blocks[-1] = action
        elif word == "end" and blocks:
            blocks.pop()
    return blocks


def _if_open(
    opened: list[str], keys: tuple[str, ...], placed: list[tuple[tuple[str, ...], Any]]
) -> list[tuple[tuple[str, ...], Any]] | None:
    """`placed`, where each open block is an ``if`` of that value itself: others may leave the field out, or make several of one template."""
    own = {".".join(("", "Values", *keys[: end + 1])) for end in range(len(keys))}
    return (
        placed
        if all(re.fullmatch(r"if\s+\$?(\S+)", block) and block.split()[-1].lstrip("$") in own for block in opened)
        else None
    )


def _by_numbers(text: str, content: Any, opened: list[str]) -> list[tuple[tuple[str, ...], Any]] | None:
    """Of a rolling update with a value for each number in its template, under no condition."""
    limits = content.get("rollingUpdate") if isinstance(content, dict) else None
    # Under a condition or in a loop another line than this one may have been rendered.
    if not isinstance(limits, dict) or opened or re.search(r"\{\{-?\s*(?:if|with|range|else|end)\b", text):
        return None
    placed = []
    if (line := re.search(r"^\s*type:\s*(.*?)\s*$", text, re.MULTILINE)) is None:
        return None
    if line[1].strip("\"'") != content.get("type"):
        if (match := re.fullmatch(r"\{\{-?\s*" + _NUMBER + r"\s*-?\}\}", line[1].strip("\"'"))) is None:
            return None
        placed.append((_keys(match[1]), content["type"]))
    for name, number in limits.items():
        line = re.search(rf"^\s*{name}:\s*(.*?)\s*$", text, re.MULTILINE)
        match = re.fullmatch(r"\{\{-?\s*" + _NUMBER + r"\s*-?\}\}", line[1].strip("\"'")) if line is not None else None
        if match is None:
            return None
        placed.append((_keys(match[1]), number))
    return placed


def _keys(path: str) -> tuple[str, ...]:
    return tuple(path.strip(".").split("."))


def _put(values: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    for key in keys[:-1]:
        values = values.setdefault(key, {})
    values[keys[-1]] = value


def chart_of(texts: Mapping[str, str], descriptions: Mapping[str, str]) -> HelmChart:
    """A chart of its templates and of each ``Chart.yaml``, by path below its folder."""
    aliases, name = {}, ""
    for path, text in descriptions.items():
        folder = path.rpartition("/")[0]
        try:
            described = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if not isinstance(described, dict):
            continue
        name = str(described.get("name")) if not folder else name
        for dependency in described.get("dependencies") or ():
            if isinstance(dependency, dict) and dependency.get("alias"):
                where = "/".join(filter(None, (folder, "charts", str(dependency["alias"]))))
                aliases[where] = f"charts/{dependency.get('name')}"
    return HelmChart(name=name, texts=texts, aliases=aliases)
