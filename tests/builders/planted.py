"""A snapshot with a word of its own in every text that its records can hold."""

from __future__ import annotations

import base64
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import count
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from planner.kubernetes.object_records import FrozenMap, Snapshot


class Planter:
    """Makes a `Snapshot`; `words` are those that were planted: word → where (``Pod.name``, ``Pod.labels[]``)."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self._numbers = count(1)

    def snapshot(self) -> Snapshot:
        made: Snapshot = self._of(Snapshot, "Snapshot", ())
        return made

    def _word(self, where: str) -> str:
        word = f"q{next(self._numbers):04d}planted"
        self.words[word] = where
        return word

    def _of(self, hint: Any, where: str, inside: tuple[Any, ...]) -> Any:
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            texts_first = sorted((one for one in inner if one is not type(None)), key=lambda one: one is not str)
            return self._of(texts_first[0], where, inside)
        if origin is tuple:
            return tuple(self._of(one, where, inside) for one in inner if one is not Ellipsis)
        if origin is FrozenMap:
            return FrozenMap({self._word(f"{where}[key]"): self._of(inner[0], f"{where}[]", inside)})
        if is_dataclass(hint):
            return self._record(hint, inside)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return next(iter(hint))
        if hint is bytes:
            of_pod = {"labels": {self._word(f"{where}[key]"): self._word(f"{where}[]")}}
            return json.dumps({"metadata": of_pod}).encode()
        if hint in (bool, int, float):
            return hint(1)
        assert hint is str, f"{where}: nobody says what a {hint} holds"
        return self._word(where)

    def _record(self, record: Any, inside: tuple[Any, ...]) -> Any:
        hints = get_type_hints(record)
        made = {}
        for one in fields(record):
            if not one.init or (record in inside and one.name == "first_available"):
                continue
            made[one.name] = self._of(hints[one.name], f"{record.__name__}.{one.name}", (*inside, record))
        return record(**made)


def texts_of(content: bytes) -> str:
    """All of a written snapshot, with what its templates' manifests hold."""
    text = content.decode()
    return text + "".join(base64.b64decode(one).decode() for one in _manifests(json.loads(text)))


def _manifests(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["manifest"]] if isinstance(value.get("manifest"), str) else []
        return own + [found for one in value.values() for found in _manifests(one)]
    return [found for one in value for found in _manifests(one)] if isinstance(value, list) else []
