"""Anonymizes a snapshot: replaces every name, each always by the same new one, and changes nothing else.

Every text is a name, but for digests, what labels of clouds say (zones, machine types, GPU models) and sentences. A name is
taken apart at ``-``, ``.``, ``/``, ``:`` and ``@``; each part gets another one wherever it stands, so that a pod's name still
begins with its ReplicaSet's, and selectors select what they did. Parts that are words of Kubernetes' own or of clouds
(`planner.history.anonymization_allowlist`), short numbers and words that say which environment something is of stay; of sentences, the words
that Kubernetes' own have. The new parts are in the order of the old ones, since ties between equals are broken by names.
"""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import EnumType
from hashlib import blake2b
from typing import Any, Final, get_args, get_origin, get_type_hints

from planner.ground.records import Record, dataclass
from planner.history import snapshot_bytes
from planner.history.anonymization_allowlist import (
    NAMES,
    PART,
    PROGRAMS,
    WORD,
    is_plain_number,
    is_said,
    is_valued,
    matched_texts,
)
from planner.history.snapshot_names import FORMAT
from planner.inventory.redacted_value_digests import is_sealed
from planner.kubernetes.accelerators import accelerator
from planner.kubernetes.field_privacy import OneOf, Tells, records_in, told_by
from planner.kubernetes.object_records import FrozenMap, Snapshot

SOURCE: Final = "anonymous"
_RUN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@'-]*[A-Za-z0-9_]|[A-Za-z0-9_]")
_DIGITS: Final = "0123456789bcdfghklmnpqrstvwxz"  # no vowels: no words
_LABELS_OF_MANIFESTS: Final = frozenset({"matchLabels", "nodeSelector"})


def _holds_map(hint: Any) -> bool:
    return get_origin(hint) is FrozenMap or any(map(_holds_map, get_args(hint)))


def _our_words(hint: Any, marks: Iterable[Any]) -> set[str]:
    """Those that Headroom's own reader has for a field."""
    ours = [kind for kind in (hint, *get_args(hint), *marks) if isinstance(kind, OneOf | EnumType)]
    return {word for words in ours for word in words}


# (a field's name, its type, what is said on it) of every record in a snapshot
_FIELDS: Final = [
    (name, get_type_hints(record)[name], field_marks)
    for record in records_in(Snapshot)
    for name, field_marks in told_by(record).items()
]
_MAPS: Final = {name for name, hint, _ in _FIELDS if _holds_map(hint)} | _LABELS_OF_MANIFESTS
_SENTENCES: Final = {name for name, _, field_marks in _FIELDS if Tells.SENTENCE in field_marks}
_OURS: Final = {name for name, _, field_marks in _FIELDS if Tells.OURS in field_marks}
_WRITTEN_BY_US: Final = {(name, word) for name, hint, field_marks in _FIELDS for word in _our_words(hint, field_marks)}


@dataclass(frozen=True, slots=True)
class Anonymous:
    """The file, and what in it is as it was: sort → value → how often. `rename`: what gives a name of the snapshot its other one."""

    content: bytes
    stayed: Mapping[str, Mapping[str, int]]
    rename: Callable[[str], str] = field(compare=False)


def anonymised(snapshot: Snapshot, stay: Iterable[str] = (), tell: Sequence[str] = ()) -> Anonymous:
    """The snapshot as `planner.history.snapshot_bytes` writes it, under other names; log lines and advice are left out.

    Parameters
    ----------
    stay : words that stay in names besides those of Kubernetes and clouds, such as those of environments
    tell : words that tell something wherever they stand in a name, such as ``train`` in ``trainer``: they are added to the new
        name of what has them
    """
    content = json.loads(snapshot_bytes.encode(snapshot))
    for workload in content["workloads"]:
        workload.pop("applied", None)  # which fields a manifest set: of names, and of no use without that manifest
    for problem in content["problems"]:
        problem["mend"] = ""
    names = _Names(keeps=NAMES | set(stay))
    _Walk(names.meet, names.meet_sentence, names.keep).of(content)
    names.name_all(tell)
    names.stayed.clear()
    document = _Walk(names.name, names.sentence, names.keep).of(content)
    document |= {"source": SOURCE, "format": FORMAT}
    document["digest"] = blake2b(json.dumps(document, sort_keys=True).encode(), digest_size=16).hexdigest()
    written = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    return Anonymous(written, names.stayed, names.name)


def renaming(names: Iterable[str], stay: Iterable[str] = ()) -> Callable[[str], str]:
    """What gives each of these names another one, by the same rules."""
    new_names = _Names(keeps=NAMES | set(stay))
    for name in names:
        new_names.meet(name)
    new_names.name_all(())
    return new_names.name


@dataclass(slots=True)
class _Names:
    """What is called how. First everything is met, then all are named, then they are asked.

    Attributes
    ----------
    keeps : parts that stay
    parts : part → its new one
    whole : names that sentences may hold
    """

    keeps: frozenset[str]
    parts: dict[str, str] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    stayed: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def meet(self, text: str) -> str:
        self.whole |= {text, *(piece for piece in re.split(r"[/:@]", text) if piece)}
        self.parts |= dict.fromkeys((part for part in matched_texts(PART, text) if not self._stays(part)), "")
        return text

    def meet_sentence(self, text: str) -> str:
        words = matched_texts(WORD, text)
        self.parts |= dict.fromkeys((word for word in words if not is_said(word) and not self._stays(word)), "")
        return text

    def name_all(self, tell: Sequence[str]) -> None:
        """New parts in the order of the old ones, and with those that stay between them where they were.

        A part that comes after the word K, which stays, is K0…: that stands between K and every word after it.
        """
        stays = sorted(word for word in self.keeps if word.isalnum() and word.islower() and word.isascii() and not any(prefix in word for prefix in tell))  # fmt: skip
        width = 1
        while len(_DIGITS) ** width <= len(self.parts):
            width += 1
        for place, part in enumerate(sorted(self.parts)):
            before = bisect_right(stays, part)
            telling_word = next((word for word in tell if word in part.lower()), "")
            start = stays[before - 1] if before else "a" if part[0].isalpha() else ""
            self.parts[part] = f"{start}0{_number(place, width)}{telling_word}"

    def keep(self, sort: str, text: str) -> None:
        self.stayed[sort][text] += 1

    def name(self, text: str) -> str:
        return PART.sub(lambda match: self._part(match.group(), "words in names"), text)

    def sentence(self, text: str) -> str:
        return _RUN.sub(lambda match: self._run(match.group()), text)

    def _run(self, run: str) -> str:
        """A name, what begins with one, as that of a pod that was never made does, or words of the sentence."""
        begins = (run[: match.start()] for match in re.finditer("-", run))
        if run in self.whole or any(begin in self.whole and "-" in begin for begin in begins):
            return self.name(run)
        return WORD.sub(lambda match: self._word(match.group()), run)

    def _part(self, part: str, sort: str) -> str:
        if (new := self.parts.get(part)) is not None:
            return new
        self.stayed["numbers" if is_plain_number(part) else sort][part] += 1
        return part

    def _word(self, word: str) -> str:
        if not is_said(word) or is_plain_number(word):
            return self._part(word, "words in messages")
        self.stayed["words in messages"][word] += 1
        return word

    def _stays(self, part: str) -> bool:
        return part in self.keeps or is_plain_number(part)


def _number(place: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        place, digit = divmod(place, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class _Walk(Record, kw_only=False):
    """Each text of a tree through `name` or `sentence`; `keep` is told of what stays as it is (a sort, a text)."""

    name: Callable[[str], str]
    sentence: Callable[[str], str]
    keep: Callable[[str, str], None]

    def of(self, value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            return self._map(field, value) if _is_map(field, value) else self._record(value)
        if isinstance(value, list):
            return [self.of(element, field) for element in value]
        return self._text(field, value) if isinstance(value, str) else value

    def _record(self, record: dict[str, Any]) -> dict[str, Any]:
        """Of a requirement, taint or toleration about a label with values that all clusters have, the values stay too."""
        stays = ("value", "values") if is_valued(str(record.get("key"))) else ()
        return {key: child if key in stays else self.of(child, key) for key, child in record.items()}

    def _map(self, field: str, value: dict[str, Any]) -> dict[str, Any]:
        return {self._key(key): self._value(field, key, child) for key, child in value.items()}

    def _key(self, key: str) -> str:
        """Resources that are an accelerator's, or Kubernetes' own, say what there is, not whose it is."""
        resource = key.removeprefix("requests.").removeprefix("limits.")
        if accelerator(resource) is None:
            return key if is_valued(key) else self.name(key)
        self.keep("resources", resource)
        return key

    def _value(self, field: str, key: str, value: Any) -> Any:
        if is_valued(key) and isinstance(value, str):
            self.keep(f"label {key}", value)
            return value
        return self.of(value, field if isinstance(value, str) else "")

    def _text(self, field: str, text: str) -> str:
        if is_sealed(text) or not text or is_valued(text):
            return text
        if field == "manifest":
            template = self.of(json.loads(base64.b64decode(text)))
            return base64.b64encode(json.dumps(template, separators=(",", ":")).encode()).decode()
        if field in _OURS or (field, text) in _WRITTEN_BY_US:
            return text
        if field == "program" and text in PROGRAMS:
            self.keep("programs", text)
            return text
        return self.sentence(text) if field in _SENTENCES else self.name(text)


def _is_map(field: str, value: dict[str, Any]) -> bool:
    """Whether `value` is key → value; a record may stand in a field of that name elsewhere, as a term does in a device's
    `node_selector`."""
    return field in _MAPS and (
        field == "policies" or not any(isinstance(child, list | dict) for child in value.values())
    )
