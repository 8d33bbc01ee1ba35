"""CEL selectors of devices: whether a device satisfies one, the error that stops the scheduler, or "can't be told".

Source: `k8s.io/dynamic-resource-allocation/cel/compile.go`: a domain that isn't there is an empty map, an attribute that
isn't there is an error. Of Kubernetes' CEL libraries the strings' and quantities' common functions are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import celpy
from celpy import celtypes

from planner.errors import QuantityError
from planner.kubernetes.records import Device, FrozenMap
from planner.quantity import parse_decimal


class CelError(Exception):
    """The expression fails on a device: kube-scheduler gives the attempt up, whatever other devices there are."""


class NotEvaluated(Exception):
    """The expression uses CEL that is not known here."""


class _Domains(celtypes.MapType):
    """Looking up a domain that isn't there gives an empty map (`newStringInterfaceMapWithDefault`)."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if key in self else celtypes.MapType({})


def _equal(a: Any, b: Any) -> Any:
    """Values of different types aren't equal (cel-go's heterogeneous equality); an error on either side stays one."""
    for one in (a, b):
        if isinstance(one, celpy.CELEvalError):
            return one
    try:
        return celtypes.BoolType(a == b)
    except TypeError:
        return celtypes.BoolType(False)


def _unequal(a: Any, b: Any) -> Any:
    equal = _equal(a, b)
    return equal if isinstance(equal, celpy.CELEvalError) else celtypes.BoolType(not equal)


def _text(make: Any) -> Any:
    return lambda text, *more: celtypes.StringType(make(str(text), *(str(one) for one in more)))


_FUNCTIONS: dict[str, Any] = {
    "_==_": _equal,
    "_!=_": _unequal,
    "quantity": lambda text: celtypes.IntType(int(parse_decimal(str(text)))),
    "compareTo": lambda a, b: celtypes.IntType((a > b) - (a < b)),
    "isGreaterThan": lambda a, b: celtypes.BoolType(a > b),
    "isLessThan": lambda a, b: celtypes.BoolType(a < b),
    "lowerAscii": _text(lambda text: "".join(c.lower() if c.isascii() else c for c in text)),
    "upperAscii": _text(lambda text: "".join(c.upper() if c.isascii() else c for c in text)),
    "replace": _text(lambda text, old, new: text.replace(old, new)),
    "trim": _text(lambda text: text.strip()),
    "split": lambda text, by: celtypes.ListType([celtypes.StringType(one) for one in str(text).split(str(by))]),
    "indexOf": lambda text, part: celtypes.IntType(str(text).find(str(part))),
    "substring": lambda text, *at: (
        celtypes.StringType(str(text)[slice(*(int(one) for one in at))])
        if len(at) == 2
        else celtypes.StringType(str(text)[int(at[0]) :])
    ),
}


@lru_cache(maxsize=512)
def _program(expression: str) -> Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(expression), functions=_FUNCTIONS)


def _by_domain(driver: str, values: Iterable[tuple[str, Any]]) -> _Domains:
    """Qualified names ("domain/name") by domain; plain names belong to the driver's."""
    domains: dict[str, dict[str, Any]] = {}
    for name, value in values:
        domain, _, plain = name.rpartition("/")
        domains.setdefault(domain or driver, {})[plain] = value
    return _Domains({celtypes.StringType(d): celpy.json_to_cel(each) for d, each in domains.items()})


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
    subject: Mapping[str, Any] = {
        "device": celtypes.MapType(
            {
                celtypes.StringType("driver"): celtypes.StringType(driver),
                celtypes.StringType("allowMultipleAllocations"): celtypes.BoolType(False),
                celtypes.StringType("attributes"): _by_domain(driver, attributes.items()),
                celtypes.StringType("capacity"): _by_domain(driver, capacity.items()),
            }
        )
    }
    try:
        return bool(program.evaluate(subject))
    except celpy.CELEvalError as error:
        what = str(error.args[0])
        if what.startswith("no such member in mapping"):
            return CelError(f"no such key: {what.rpartition(': ')[2].strip(chr(39))}")
        if "no matching overload" in what and "relation_" in what:
            return CelError("no such overload")
        return NotEvaluated()
    except (QuantityError, TypeError, KeyError, ValueError):
        return NotEvaluated()
