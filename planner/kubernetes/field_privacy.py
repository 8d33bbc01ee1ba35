"""What a record's field reveals of the namespace that its object is in, declared on the field.

`planner.inventory.namespace_redaction` hides by it what a user may not see, `planner.history.anonymization` gives other names by it. A text of
which nothing is said is a name and is replaced, so that a field that is added is hidden before anybody thinks of it.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum, auto
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Tells(Enum):
    """What a field tells."""

    NOTHING = auto()  # the API's own words, nodes, digests: the same for every owner
    INSIDE = auto()  # what a program is and how it fares: hidden from other namespaces
    SHARED_NAME = auto()  # of what is everybody's, such as a class; a secret where no visible object has it
    NODE_KEY = auto()  # a node's label
    POD_KEY = auto()  # a pod's label
    UID = auto()
    IMAGE = auto()
    PATH = auto()  # names behind slashes
    WORKLOAD = auto()  # a workload's key
    NAMES = auto()  # a map of names to names
    SENTENCE = auto()  # words, and names among them
    OURS = auto()  # written by Headroom, from a list of its own


class OneOf(frozenset[str]):
    """The words that Headroom's reader writes into a field; any other is another's."""


Word = Annotated[str, Tells.NOTHING]
Inside = Annotated[T, Tells.INSIDE]
SharedName = Annotated[str, Tells.SHARED_NAME]
NodeKey = Annotated[str, Tells.NODE_KEY]
PodKey = Annotated[str, Tells.POD_KEY]
Uid = Annotated[str, Tells.UID]
Image = Annotated[str, Tells.IMAGE]
Path = Annotated[str, Tells.PATH]
WorkloadKey = Annotated[str, Tells.WORKLOAD]
Message = Annotated[str, Tells.INSIDE, Tells.SENTENCE]
Expression = Annotated[str, Tells.NOTHING, Tells.SENTENCE]  # in CEL
State = Annotated[str, Tells.NOTHING, OneOf({"running", "waiting", "terminated"})]
Handler = Annotated[str, Tells.NOTHING, OneOf({"http", "tcp", "exec", "grpc"})]


@cache
def told_by(record: Any) -> dict[str, tuple[Any, ...]]:
    """Field of a record → what is said on it, however deep in its type."""
    return {name: tuple(_said(hint)) for name, hint in get_type_hints(record, include_extras=True).items()}


def _said(hint: Any) -> list[Any]:
    if get_origin(hint) is Annotated:
        return [*hint.__metadata__, *_said(hint.__origin__)]
    return [literal for inner in get_args(hint) for literal in _said(inner)]


def records_in(hint: Any, records: dict[Any, None] | None = None) -> dict[Any, None]:
    """The records of a type, and all that they hold."""
    records = {} if records is None else records
    for inner in get_args(hint):
        records_in(inner, records)
    if is_dataclass(hint) and isinstance(hint, type) and hint not in records:
        records[hint] = None
        for field_hint in get_type_hints(hint).values():
            records_in(field_hint, records)
    return records
