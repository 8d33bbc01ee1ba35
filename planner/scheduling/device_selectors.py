"""CEL selectors of devices: whether a device satisfies one, the error that stops the scheduler, or not known.

Source: `k8s.io/dynamic-resource-allocation/cel/compile.go`: a domain that isn't there is an empty map, an attribute that
isn't there is an error. Of Kubernetes' CEL libraries versions and the strings' and quantities' common functions are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import celpy
from celpy import celtypes

from planner.ground.errors import QuantityError
from planner.ground.quantity import parse_decimal
from planner.kubernetes.object_records import Device, FrozenMap, Version
from planner.scheduling.cel_errors import CelError, NotEvaluated


class _Domains(celtypes.MapType):
    """Looking up a domain that isn't there gives an empty map (`newStringInterfaceMapWithDefault`)."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if key in self else celtypes.MapType({})


def _equal(a: Any, b: Any) -> Any:
    """Values of different types aren't equal (cel-go's heterogeneous equality); an error on either side stays one."""
    for operand in (a, b):
        if isinstance(operand, celpy.CELEvalError):
            return operand
    try:
        return celtypes.BoolType(a == b)
    except TypeError:
        return celtypes.BoolType(False)


def _unequal(a: Any, b: Any) -> Any:
    equal = _equal(a, b)
    return equal if isinstance(equal, celpy.CELEvalError) else celtypes.BoolType(not equal)


class _Ordered:
    """What is equal to another of its type of the same `order`, which compares both."""

    order: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.order == other.order

    def __hash__(self) -> int:
        return hash(self.order)


class _Semver(_Ordered):
    """A semantic version (semver.org 2.0.0, 11: of two the one without a pre-release is the later)."""

    _FORM = re.compile(
        r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?",
        re.ASCII,
    )

    def __init__(self, text: str) -> None:
        match = self._FORM.fullmatch(text)
        if match is None:
            raise celpy.CELEvalError(f"invalid semver: {text}")
        self.numbers = tuple(int(group) for group in match.groups()[:3])
        parts = match[4].split(".") if match[4] else []
        pre = tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)
        self.order = (self.numbers, not pre, pre)


class _Quantity(_Ordered):
    """A quantity: compared by its methods and `==`; relations such as `>=` don't exist for it."""

    def __init__(self, value: Decimal) -> None:
        self.order = value


def _compare(a: _Ordered, b: _Ordered) -> int:
    if type(a) is not type(b):
        raise celpy.CELEvalError("compared with another type")
    return int(a.order > b.order) - int(a.order < b.order)


def _normal(version: str) -> str:
    """Without a v before it, with all three numbers and none of their leading zeros."""
    core, mark, suffix = re.fullmatch(r"v?([^-+]*)([-+]?)(.*)", version, re.DOTALL).groups()  # type: ignore[union-attr]
    numbers = [number.lstrip("0") or "0" for number in core.split(".")]
    return ".".join(numbers + ["0"] * (3 - len(numbers))) + mark + suffix


def _text(make: Any) -> Any:
    return lambda text, *more: celtypes.StringType(make(str(text), *(str(argument) for argument in more)))


CEL_FUNCTIONS: dict[str, Any] = {
    "_==_": _equal,
    "_!=_": _unequal,
    "quantity": lambda text: _Quantity(parse_decimal(str(text))),
    "semver": lambda text, normalize=False: _Semver(_normal(str(text)) if normalize else str(text)),
    "isSemver": lambda text: celtypes.BoolType(_Semver._FORM.fullmatch(str(text)) is not None),
    "major": lambda version: celtypes.IntType(version.numbers[0]),
    "minor": lambda version: celtypes.IntType(version.numbers[1]),
    "patch": lambda version: celtypes.IntType(version.numbers[2]),
    "compareTo": lambda a, b: celtypes.IntType(_compare(a, b)),
    "isGreaterThan": lambda a, b: celtypes.BoolType(_compare(a, b) > 0),
    "isLessThan": lambda a, b: celtypes.BoolType(_compare(a, b) < 0),
    "lowerAscii": _text(lambda text: "".join(c.lower() if c.isascii() else c for c in text)),
    "upperAscii": _text(lambda text: "".join(c.upper() if c.isascii() else c for c in text)),
    "replace": _text(lambda text, old, new: text.replace(old, new)),
    "trim": _text(lambda text: text.strip()),
    "split": lambda text, by: celtypes.ListType([celtypes.StringType(piece) for piece in str(text).split(str(by))]),
    "indexOf": lambda text, part: celtypes.IntType(str(text).find(str(part))),
    "substring": lambda text, *at: (
        celtypes.StringType(str(text)[slice(*(int(index) for index in at))])
        if len(at) == 2
        else celtypes.StringType(str(text)[int(at[0]) :])
    ),
}


@lru_cache(maxsize=512)
def _program(expression: str) -> Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(expression), functions=CEL_FUNCTIONS)


def _by_domain(driver: str, values: Iterable[tuple[str, Any]]) -> _Domains:
    """Qualified names ("domain/name") by domain; plain names belong to the driver's."""
    domains: dict[str, dict[Any, Any]] = {}
    for name, value in values:
        domain, _, plain = name.rpartition("/")
        domains.setdefault(domain or driver, {})[celtypes.StringType(plain)] = _in_cel(value)
    return _Domains({celtypes.StringType(d): celtypes.MapType(each) for d, each in domains.items()})


def _in_cel(value: Any) -> Any:
    if isinstance(value, Version):
        return _Semver(value)
    return value if isinstance(value, _Quantity) else celpy.json_to_cel(value)


def satisfies(expression: str, driver: str, device: Device) -> bool:
    """Whether a device satisfies a CEL expression.

    Raises
    ------
    CelError
        When evaluating it fails on this device.
    NotEvaluated
        When it can't be told.
    """
    outcome = _outcome(expression, driver, device.attributes, device.capacity)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


@lru_cache(maxsize=65_536)
def _outcome(
    expression: str, driver: str, attributes: FrozenMap[str | int | bool], capacity: FrozenMap[int]
) -> bool | CelError | NotEvaluated:
    try:
        program = _program(expression)
    except celpy.CELParseError:
        return NotEvaluated()
    amounts = (  # of cpu in thousandths
        (name, _Quantity(Decimal(amount) / (1000 if name.rpartition("/")[2] == "cpu" else 1)))
        for name, amount in capacity.items()
    )
    try:
        subject: Mapping[str, Any] = {
            "device": celtypes.MapType(
                {
                    celtypes.StringType("driver"): celtypes.StringType(driver),
                    celtypes.StringType("allowMultipleAllocations"): celtypes.BoolType(False),
                    celtypes.StringType("attributes"): _by_domain(driver, attributes.items()),
                    celtypes.StringType("capacity"): _by_domain(driver, amounts),
                }
            )
        }
        return bool(program.evaluate(subject))
    except celpy.CELEvalError as error:
        what = str(error.args[0])
        if what.startswith("no such member in mapping"):
            return CelError(f"no such key: {what.rpartition(': ')[2].strip(chr(39))}")
        if ("no matching overload" in what and "relation_" in what) or what == "compared with another type":
            return CelError("no such overload")
        if what.startswith("invalid semver"):
            return CelError(what)
        return NotEvaluated()
    except (QuantityError, AttributeError, TypeError, KeyError, ValueError):
        return NotEvaluated()
