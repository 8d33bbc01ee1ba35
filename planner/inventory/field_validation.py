"""Validates an object's fields as the API server does: unknown fields, wrong types, missing values.

kubectl's default since 1.25 is ``--validate=strict``: the API server decodes strictly and refuses fields that it doesn't know (kubernetes
`staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go`, `fieldValidation`; `sigs.k8s.io/json` `UnmarshalStrict`; field names keep
their case). What a value may be is from `pkg/apis/*/validation`; ``field_checks.json`` has a row a field. Of what the schemas call
required, rows of that file leave out what validation doesn't miss. A ``status`` is decoded and then dropped, so only its fields and types
count. Values never stand in a message: they may be of a Secret.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from planner.ground import quantity, typed_json
from planner.ground.data_files import table_beside
from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.inventory.kubernetes_api_schema import Runs, Served, served, table
from planner.inventory.reading_limits import LIMITS
from planner.inventory.redacted_value_digests import is_sealed
from planner.kubernetes import name_validation

Object = dict[str, Any]
REQUIRED: Final = "is required"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:\d\d)\Z", re.ASCII)
_PORT_NAME: Final = re.compile(r"(?=.{1,15}\Z)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*\Z", re.ASCII)
_FILE_NAME: Final = re.compile(r"(?!\.\.?\Z)[-._a-zA-Z0-9]{1,253}\Z", re.ASCII)
_VARIABLE: Final = re.compile(
    r"[ -<>-~]+\Z", re.ASCII
)  # printable ASCII but "=", since Kubernetes 1.30; earlier versions take less
_BITS: Final = {"i": 31, "l": 63}
_MOST_PORT: Final = 65_535


class FieldProblem(Record):
    """What is wrong at a path of an object; `nearest`: for an unknown field the one that was meant; `is_certain`: False where a newer API
    server may know the field."""

    path: str
    what: str
    nearest: str = ""
    is_unknown_field: bool = False
    is_certain: bool = True


class _Rows(Record):
    values: dict[str, dict[str, str]]
    proposed: dict[str, list[str]]  # fields of KEPs that no version of the table has: a newer API server may
    not_required: dict[str, list[str]]


_ROWS: Final = typed_json.decode(
    table_beside(__name__, "field_checks.json").replace(b'"not required"', b'"not_required"'), _Rows
)
_NOT_REQUIRED: Final = frozenset(each for every in _ROWS.not_required.values() for each in every)


def problems_of(document: Object, type_name: str, minor: int | None, *, is_there: bool = False) -> list[FieldProblem]:
    """What API servers of a cluster with kubelets of ``1.<minor>`` refuse of `document`, an object of `type_name`.

    `is_there`: the cluster has the object, and what the document leaves out stays.
    """
    problems: list[FieldProblem] = []
    for problem in _of_type(document, type_name, "", _Validation(minor=minor, is_whole=not is_there)):
        problems.append(problem)
        if len(problems) >= LIMITS.problems:
            break
    return problems


class _Validation(Record):
    minor: int | None
    is_whole: bool
    is_status: bool = False


def _of_type(value: Object, type_name: str, path: str, reading: _Validation) -> Iterator[FieldProblem]:
    fields = table().types[type_name]
    short = type_name.rpartition(".")[2]
    checks = {} if reading.is_status else _ROWS.values.get(short, {})
    inner = reading if path else _Validation(minor=reading.minor, is_whole=False, is_status=True)
    for name, field in value.items():
        if name.startswith("$"):  # a directive of strategic merge patches, which kubectl carries out
            continue
        place = f"{path}.{name}" if path else name
        field_runs = fields.get(name)
        if field_runs is None and name in _ROWS.proposed.get(short, ()):
            yield FieldProblem(path=place, what="is a field of KEP-6276", is_unknown_field=True, is_certain=False)
            continue
        if field_runs is None:
            yield from _unknown(name, place, fields, Served(what="", is_certain=_is_of_table(reading.minor)))
            continue
        if isinstance(field_runs, str):
            shape = field_runs
        else:
            served_field = served(field_runs, reading.minor)
            if not served_field.what or not served_field.is_certain:
                yield from _unknown(name, place, fields, served_field)
                continue
            shape = served_field.what
        if field is None:
            continue
        yield from _of_shape(field, shape.rstrip("!"), place, inner if name == "status" and not path else reading)
        if name in checks and not is_sealed(field):
            yield from _checked(field, checks[name], place)
    if reading.is_whole:
        yield from _missing(value, fields, short, type_name, path, reading.minor)


def _is_of_table(minor: int | None) -> bool:
    return minor is None or table().first <= minor <= table().last


def _unknown(name: str, place: str, fields: Mapping[str, str | Runs], served_field: Served) -> Iterator[FieldProblem]:
    if served_field.since:
        when = (
            f"since Kubernetes 1.{served_field.since}"
            if served_field.what
            else f"in Kubernetes 1.{served_field.since} to 1.{served_field.until}"
        )
        yield FieldProblem(
            path=place, what=f"is a field {when}", is_unknown_field=True, is_certain=not served_field.what
        )
        return
    yield FieldProblem(
        path=place, what="", nearest=nearest(name, fields), is_unknown_field=True, is_certain=served_field.is_certain
    )


def nearest(name: str, fields: Mapping[str, object]) -> str:
    """Of `fields` the one that was meant by `name`, "" where none is near."""
    from difflib import get_close_matches  # only who has a typo pays for it

    by_small = {field.casefold(): field for field in fields}
    near = get_close_matches(name.casefold(), by_small, n=1, cutoff=0.75)
    return by_small[near[0]] if near else ""


def _missing(
    value: Object, fields: Mapping[str, str | Runs], short: str, type_name: str, path: str, minor: int | None
) -> Iterator[FieldProblem]:
    if type_name.partition(".")[0] in _NOT_REQUIRED:
        return
    for name, field_runs in fields.items():
        what = field_runs if isinstance(field_runs, str) else served(field_runs, minor).what
        if what.endswith("!") and value.get(name) is None and f"{short}.{name}" not in _NOT_REQUIRED:
            yield FieldProblem(path=f"{path}.{name}" if path else name, what=REQUIRED)


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _of_shape(value: Any, shape: str, path: str, reading: _Validation) -> Iterator[FieldProblem]:
    sort = shape[0]
    if is_sealed(value):  # a document that Headroom kept: a digest stands for the value, and has no type to check
        return
    if sort == "#":
        if isinstance(value, dict):
            yield from _of_type(value, shape[1:], path, reading)
        else:
            yield FieldProblem(path=path, what=f"expected an object, got {called(value)}")
    elif sort == "[":
        if not isinstance(value, list):
            yield FieldProblem(path=path, what=f"expected a list, got {called(value)}")
            return
        for number, each in enumerate(value):
            if each is not None:
                yield from _of_shape(each, shape[1:], f"{path}[{number}]", reading)
    elif sort == "{":
        if not isinstance(value, dict):
            yield FieldProblem(path=path, what=f"expected an object, got {called(value)}")
            return
        for name, each in value.items():
            if each is not None and not name.startswith("$"):
                yield from _of_shape(each, shape[1:], f"{path}[{name}]", reading)
    elif sort != "*" and (what := _SCALARS[sort](value)):
        yield FieldProblem(path=path, what=what)


def called(value: object) -> str:
    """What people call a value's type."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def _text(value: object) -> str:
    return "" if isinstance(value, str) else f"expected a text in quotes, got {called(value)}"


def is_whole(value: object) -> bool:
    """Whether a number has no fraction: 2.0 of YAML reaches the server as 2."""
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _whole(value: object, bits: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"expected a whole number, got {called(value)}"
    if not is_whole(value):
        return "expected a whole number, got a fraction"
    return "" if -(2**bits) <= value < 2**bits else "the number is out of bounds"


def _number(value: object) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if is_number else f"expected a number, got {called(value)}"


def _boolean(value: object) -> str:
    return "" if isinstance(value, bool) else f"expected true or false, got {called(value)}"


def _quantity(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return f"expected a quantity such as 500m, got {called(value)}"
    try:
        quantity.parse_decimal(str(value))
    except InputError as error:
        return error.what
    return ""


def _number_or_text(value: object) -> str:
    return "" if isinstance(value, str) else _whole(value, _BITS["i"])


def _time(value: object) -> str:
    return _text(value) or ("" if _TIME.match(str(value)) else "expected a time such as 2026-01-31T12:00:00Z")


def _base64(value: object) -> str:
    if problem := _text(value):
        return problem
    try:
        a2b_base64(str(value).replace("\n", "").replace("\r", ""), strict_mode=True)
    except (Base64Error, ValueError):
        return "expected base64"
    return ""


_SCALARS: Final[Mapping[str, Callable[[Any], str]]] = {
    "s": _text,
    "i": lambda value: _whole(value, _BITS["i"]),
    "l": lambda value: _whole(value, _BITS["l"]),
    "n": _number,
    "b": _boolean,
    "q": _quantity,
    "x": _number_or_text,
    "t": _time,
    "y": _base64,
}


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _checked(value: Any, check: str, path: str) -> Iterator[FieldProblem]:
    """By a row of ``field_checks.json``: a named check, or the values that are taken."""
    check_function = _CHECKS.get(check)
    if check_function is not None:
        what = check_function(value)
        if what:
            yield FieldProblem(path=path, what=what)
        return
    choices = check.split(" ")
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str) and each and each not in choices:
            yield FieldProblem(path=path, what=f"has to be {', '.join(choices[:-1])} or {choices[-1]}")


def _label_problem(value: Any) -> str:
    try:
        name_validation.check_labels({key: each for key, each in value.items() if isinstance(each, str)})
    except InputError as error:
        return f"has what is no label: {error.what}"
    return ""


def _port_or_name(value: Any) -> str:
    if isinstance(value, str):
        return "" if _PORT_NAME.match(value) else _NO_PORT_NAME
    return "" if not _is_int(value) or 1 <= value <= _MOST_PORT else "has to be from 1 to 65535"


def _is_int(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at_least(least: int) -> Callable[[Any], str]:
    return lambda value: "" if not _is_int(value) or value >= least else f"has to be {least} or more"


def _matches(test: Callable[[str], object], what: str) -> Callable[[Any], str]:
    return lambda value: "" if not isinstance(value, str) or not value or test(value) else what


def _keys(test: Callable[[str], object], what: str) -> Callable[[Any], str]:
    return lambda value: "" if not isinstance(value, dict) or all(map(test, value)) else what


_NO_PORT_NAME: Final = "has to be 1 to 15 small letters, digits and -, with a letter"
_CHECKS: Final[Mapping[str, Callable[[Any], str]]] = {
    "dns label": _matches(name_validation.is_dns_label, "has to be small letters, digits and -, 63 at most"),
    "subdomain": _matches(name_validation.is_subdomain, "has to be small letters, digits, - and ., 253 at most"),
    "port name": _matches(_PORT_NAME.match, _NO_PORT_NAME),
    "port": lambda value: "" if not _is_int(value) or 1 <= value <= _MOST_PORT else "has to be from 1 to 65535",
    "no or a port": lambda value: "" if not _is_int(value) or 0 <= value <= _MOST_PORT else "has to be from 1 to 65535",
    "port or its name": _port_or_name,
    "name of a variable": _matches(_VARIABLE.match, 'has to be printable ASCII without "="'),
    "0 or more": _at_least(0),
    "1 or more": _at_least(1),
    "labels": lambda value: _label_problem(value) if isinstance(value, dict) else "",
    "names of annotations": _keys(
        lambda name: name_validation.is_qualified(name.lower()), "has a name that no annotation may have"
    ),
    "names of files": _keys(
        _FILE_NAME.match, "has a name that no file may have: letters, digits, -, _ and ., 253 at most"
    ),
}
