"""Evaluates CEL expressions over objects with unread fields: true, false, an error, or not known.

A part of an expression that meets an unknown field is unknown, whatever comes of it; ``&&``, ``||``, ``!``, ``?:``, ``has``, ``exists`` and
``all`` go by what of their parts decides. Source: CEL's language definition, *Logical Operators*, *Macros*, *Field Selection*: a field that
isn't there is an error, which ``false && …`` and ``true || …`` pass over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import celpy
from celpy import celtypes
from celpy.evaluation import operator_in

from planner.scheduling.cel_errors import CelError, NotEvaluated
from planner.scheduling.device_selectors import CEL_FUNCTIONS
from planner.scheduling.partially_known_objects import ABSENT, UNKNOWN, ClosedFields, OpenList, Outcome

Tree: TypeAlias = Any  # lark's, as celpy parses an expression
# What evaluates as it does in cel-go. A macro in which ``has`` may stand isn't among them: celpy takes any error in it for False.
_FUNCTIONS: Final = frozenset(
    {"contains", "endsWith", "indexOf", "lowerAscii", "matches", "replace", "size", "split", "startsWith", "substring", "trim", "upperAscii"}
)  # fmt: skip
_NO_SUCH_KEY: Final = ("no such member in mapping", "no such key")  # by a field, by an index


class _Fields(celtypes.MapType):
    """An object. `unknown`: the keys that may be there besides, None: any; `touch` is told where one of them is looked for."""

    def __init__(self, members: Mapping[str, Any], unknown: frozenset[str] | None, touch: Callable[[], None]) -> None:
        super().__init__({celtypes.StringType(key): value for key, value in members.items() if value is not ABSENT})
        self._absent = frozenset(key for key, value in members.items() if value is ABSENT)
        self._unknown, self._touch = unknown, touch

    def _may_have(self, key: Any) -> bool:
        return key not in self._absent and (self._unknown is None or key in self._unknown)

    def has(self, key: Any) -> bool:
        if dict.__contains__(self, key):
            return True
        if self._may_have(key):
            self._touch()
        return False

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key) if self.has(key) else UNKNOWN
        if not dict.__contains__(self, key):
            raise KeyError(key)
        if value is UNKNOWN:
            self._touch()
        return value

    def __iter__(self) -> Iterator[Any]:
        if self._unknown is None or self._unknown:
            self._touch()
        return super().__iter__()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if other is not None:
            self._touch()
        return False

    __hash__ = None  # type: ignore[assignment]


class _Members(celtypes.ListType):
    """A list that may have more members than are known."""

    def __init__(self, members: Iterable[Any], touch: Callable[[], None]) -> None:
        super().__init__(members)
        self._touch = touch

    def __iter__(self) -> Iterator[Any]:
        self._touch()
        return super().__iter__()

    def __len__(self) -> int:
        self._touch()
        return super().__len__()

    def __eq__(self, other: object) -> bool:
        self._touch()
        return False

    __hash__ = None  # type: ignore[assignment]


def _in(item: Any, container: Any) -> Any:
    for operand in (item, container):
        if isinstance(operand, celpy.CELEvalError):
            return operand
    return celtypes.BoolType(container.has(item)) if isinstance(container, _Fields) else operator_in(item, container)


class _Evaluation:
    """One expression over one object. `is_touched`: whether the part that is evaluated met what isn't known."""

    def __init__(self) -> None:
        self.is_touched = False

    def _touch(self) -> None:
        self.is_touched = True

    def in_cel(self, value: Any) -> Any:
        """A JSON value with unknown parts, as CEL has it."""
        if value is UNKNOWN or value is ABSENT:
            return value
        if isinstance(value, Mapping):
            fields = {key: self.in_cel(child) for key, child in value.items()}
            return _Fields(fields, value.may_have if isinstance(value, ClosedFields) else None, self._touch)
        if isinstance(value, list | tuple):
            members = [self.in_cel(child) for child in value]
            return _Members(members, self._touch) if isinstance(value, OpenList) else celtypes.ListType(members)
        return celpy.json_to_cel(value)

    def value(self, tree: Tree, context: Mapping[str, Any]) -> Any:
        """Of a part without macros.

        Raises
        ------
        NotEvaluated
            Where it meets what isn't known, or CEL that isn't known here.
        CelError
            Where a field isn't there.
        """
        if not _calls(tree) <= _FUNCTIONS:
            raise NotEvaluated
        self.is_touched = False
        try:
            value = _program(tree).evaluate(dict(context))
        except celpy.CELEvalError as error:
            if self.is_touched or not str(error.args[0]).startswith(_NO_SUCH_KEY):
                raise NotEvaluated from error
            raise CelError(str(error.args[0])) from error
        except Exception as error:  # whatever else its library raises of an expression
            raise NotEvaluated from error
        if self.is_touched or value is UNKNOWN:
            raise NotEvaluated
        return value

    def judge(self, tree: Tree, context: Mapping[str, Any]) -> Outcome:
        parts = tree.children
        match tree.data, len(parts):
            case "expr", 3:
                return self._chosen(parts, context)
            case ("conditionalor" | "conditionaland") as name, 2:
                # CEL's || and && don't depend on the order: one true part makes ``unknown || true`` true, and ``error
                # || true`` too.
                decisive = Outcome.TRUE if name == "conditionalor" else Outcome.FALSE
                return _decided((self.judge(part, context) for part in parts), decisive)
            case "unary", 2 if parts[0].data == "unary_not":
                return _NOT.get(outcome := self.judge(parts[1], context), outcome)
            case "primary", 1 if parts[0].data == "paren_expr":
                return self.judge(parts[0].children[0], context)
            case "primary", 1 if parts[0].data == "ident_arg" and str(parts[0].children[0]) == "has":
                return self._has(parts[0].children[1], context)
            case "member", 1 if parts[0].data == "member_dot_arg" and str(parts[0].children[1]) in ("exists", "all"):
                return self._of_each(parts[0].children, context)
            case (
                ("expr" | "conditionalor" | "conditionaland" | "relation" | "addition" | "multiplication" | "unary"),
                1,
            ):
                return self.judge(parts[0], context)
            case "member", 1 if parts[0].data == "primary":
                return self.judge(parts[0], context)
        return self._outcome(lambda: self.value(tree, context))

    @staticmethod
    def _outcome(evaluate: Callable[[], Any]) -> Outcome:
        try:
            value = evaluate()
        except NotEvaluated:
            return Outcome.UNKNOWN
        except CelError:
            return Outcome.ERROR
        return (Outcome.TRUE if value else Outcome.FALSE) if isinstance(value, celtypes.BoolType) else Outcome.UNKNOWN

    def _chosen(self, parts: list[Tree], context: Mapping[str, Any]) -> Outcome:
        condition = self.judge(parts[0], context)
        if condition in (Outcome.UNKNOWN, Outcome.ERROR):
            return condition
        return self.judge(parts[1 if condition is Outcome.TRUE else 2], context)

    def _has(self, arguments: Tree, context: Mapping[str, Any]) -> Outcome:
        """``has(e.f)``: an error where `e` is one."""
        select = arguments
        while len(select.children) == 1 and isinstance(inner := select.children[0], celpy.Expression):
            select = inner

        def is_there() -> Any:
            owner = self.value(select.children[0], context) if select.data == "member_dot" else None
            if not isinstance(owner, _Fields):
                raise NotEvaluated
            is_there = owner.has(str(select.children[1]))
            if self.is_touched:
                raise NotEvaluated
            return celtypes.BoolType(is_there)

        return self._outcome(is_there)

    def _of_each(self, parts: list[Tree], context: Mapping[str, Any]) -> Outcome:
        """``exists`` and ``all`` over a list's members or an object's keys; what may be there besides is unknown."""
        names = [str(ident.children[0]) for ident in parts[2].children[0].find_data("ident")]
        if len(parts[2].children) != 2 or len(names) != 1:
            return Outcome.UNKNOWN
        try:
            members = self.value(parts[0], context)
        except NotEvaluated:
            return Outcome.UNKNOWN
        except CelError:
            return Outcome.ERROR
        if not isinstance(members, _Fields | celtypes.ListType):
            return Outcome.UNKNOWN
        self.is_touched = False
        body, every = parts[2].children[1], list(members)
        is_open = self.is_touched  # by going through what may have more members
        outcomes = [self.judge(body, {**context, names[0]: member}) for member in every]
        outcomes += [Outcome.UNKNOWN] * is_open
        decisive = Outcome.TRUE if str(parts[1]) == "exists" else Outcome.FALSE
        return _decided(outcomes, decisive) if outcomes else _NOT[decisive]


_NOT: Final = {Outcome.TRUE: Outcome.FALSE, Outcome.FALSE: Outcome.TRUE}


def _decided(outcomes: Iterable[Outcome], decisive: Outcome) -> Outcome:
    """The one that decides if it is among them; else what isn't known or fails; else the other."""
    every = set(outcomes)
    for outcome in (decisive, Outcome.UNKNOWN, Outcome.ERROR):
        if outcome in every:
            return outcome
    return _NOT[decisive]


def _calls(tree: Tree) -> set[str]:
    """Functions and methods that a part calls."""
    methods = {str(call.children[1]) for call in tree.find_data("member_dot_arg")}
    return methods | {str(call.children[0]) for call in tree.find_data("ident_arg")}


@lru_cache(maxsize=512)
def _program(tree: Tree) -> Any:
    return celpy.Environment().program(tree, functions={**CEL_FUNCTIONS, "_in_": _in})


@lru_cache(maxsize=512)
def _compiled(expression: str) -> Tree | None:
    try:
        return celpy.Environment().compile(expression)
    except celpy.CELParseError:
        return None


def condition(expression: str, variables: Mapping[str, Any]) -> Outcome:
    """What comes of a condition, where `variables` are JSON values with `ABSENT` and `UNKNOWN` fields; of others nothing is known."""
    tree = _compiled(expression)
    if tree is None:
        return Outcome.UNKNOWN
    evaluation = _Evaluation()
    return evaluation.judge(tree, {name: evaluation.in_cel(value) for name, value in variables.items()})
