"""Objects with fields that weren't read, as values for CEL conditions. Apart from `cel_with_unknowns`: its library
loads slower than a verdict is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any


class UnreadField(Enum):
    """In the place of a value."""

    UNKNOWN = "there, with any value"
    ABSENT = "not there"


UNKNOWN, ABSENT = UnreadField.UNKNOWN, UnreadField.ABSENT


class ClosedFields(dict[str, Any]):
    """An object with all its fields known, but for those that it `may_have`; of a plain dict any other may be there."""

    def __init__(self, members: Mapping[str, Any], may_have: frozenset[str] = frozenset()) -> None:
        super().__init__(members)
        self.may_have = may_have


class OpenList(list[Any]):
    """A list that may have more members than these."""


class Outcome(Enum):
    """Of a condition. An ERROR isn't one of types, which the API server refuses with the object that has the condition."""

    TRUE = "true"
    FALSE = "false"
    ERROR = "a field is missing"
    UNKNOWN = "not known"
