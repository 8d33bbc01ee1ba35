"""Validates names by Kubernetes' rules. An invalid name can't be a cluster's, and may target a shell or a page.

Sources: apimachinery `pkg/util/validation/validation.go` (IsDNS1123Subdomain, IsDNS1123Label, IsQualifiedName,
IsValidLabelValue), `pkg/api/validation/generic.go` (maskTrailingDash), kubernetes `pkg/apis/core/validation`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from planner.ground.errors import InputError

_LABEL = "[a-z0-9][-a-z0-9]*+(?<!-)"  # never gone back into: half the time
_SUBDOMAIN: Final = re.compile(
    rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII
)  # not *+: Python 3.11.2 keeps what half a group took
_DNS_LABEL: Final = re.compile(_LABEL, re.ASCII)
_KIND: Final = re.compile(
    "([A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?)?", re.ASCII
)  # a custom one in small letters is a label of DNS; "" is not known
_WORD: Final = re.compile("[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_LONGEST_SUBDOMAIN, _LONGEST_LABEL = 253, 63
_SHOWN = 80
_MOST_KEPT: Final = 16_384  # answers about names that many objects have: namespaces, containers, nodes


def is_subdomain(text: str) -> bool:
    """What nearly every object may be called: ``gpu-0.example``."""
    return len(text) <= _LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(text) is not None


@lru_cache(_MOST_KEPT)
def is_dns_label(text: str) -> bool:
    """What a namespace, a container or a volume may be called."""
    return len(text) <= _LONGEST_LABEL and _DNS_LABEL.fullmatch(text) is not None


def is_qualified(text: str) -> bool:
    """A label's, taint's or resource's name: ``nvidia.com/gpu``, ``cpu``."""
    prefix, slash, name = text.rpartition("/")
    is_name = len(name) <= _LONGEST_LABEL and _WORD.fullmatch(name) is not None
    return is_name and (is_subdomain(prefix) if slash else True)


def check_object(name: str, namespace: str = "", *, is_prefix: bool = False) -> None:
    """Refuse an object's names; `is_prefix`: as generateName, which may end in a dash.

    Raises
    ------
    InputError
        When the API server would refuse one.
    """
    checked = f"{name[:-1]}a" if is_prefix and len(name) > 1 and name.endswith("-") else name
    if not is_subdomain(checked):
        raise refused("metadata.name", name, "small letters, digits, - and ., 253 at most")
    if namespace:
        check_dns_label("metadata.namespace", namespace)


def parse_namespace(text: str) -> str:
    """A namespace's name as typed.

    Raises
    ------
    InputError
        For one that Kubernetes refuses.
    """
    check_dns_label("the namespace", text)
    return text


def check_reference(field: str, name: str | None) -> None:
    """Refuse what can't be the name of another object.

    Raises
    ------
    InputError
        When the API server would refuse it.
    """
    if name and not _is_subdomain(name):
        raise refused(field, name, "small letters, digits, - and ., 253 at most")


_is_subdomain = lru_cache(_MOST_KEPT)(is_subdomain)


def check_workload_key(field: str, key: str) -> str:
    """A key that another object's reference makes, ``kind/namespace/name``, or an empty text.

    Raises
    ------
    InputError
        When it isn't three words without slashes, the kind, the namespace and the name each one that the API server takes.
    """
    kind, *place = key.split("/")
    if key and (len(place) != 2 or not _KIND.fullmatch(kind)):
        raise refused(field, key, "a kind, a namespace and a name")
    if place and place[0]:
        check_dns_label(field, place[0])
    check_reference(field, place[-1] if place else None)
    return key


def check_dns_label(field: str, name: str) -> None:
    """Refuse what can't be the name of a namespace or a container.

    Raises
    ------
    InputError
        When the API server would refuse it.
    """
    if not is_dns_label(name):
        raise refused(field, name, "small letters, digits and -, 63 at most")


def check_labels(labels: Mapping[str, str]) -> None:
    """Refuse labels' names and values.

    Raises
    ------
    InputError
        When the API server would refuse one.
    """
    for key, value in labels.items():
        if not _is_label(key, value):
            field, text = ("a label's name", key) if not is_qualified(key) else (f"the value of label {key}", value)
            raise refused(field, text, "letters, digits, -, _ and ., 63 at most")


def check_resource(name: str) -> None:
    """Refuse a resource's name.

    Raises
    ------
    InputError
        When the API server would refuse it.
    """
    if not _is_label(name, ""):
        raise refused("a resource's name", name, "letters, digits, -, _ and ., after a domain's name and /")


@lru_cache(maxsize=65_536)
def _is_label(key: str, value: str) -> bool:
    is_value = not value or (len(value) <= _LONGEST_LABEL and _WORD.fullmatch(value) is not None)
    return is_value and is_qualified(key)


def refused(field: str, text: str, allowed: str) -> InputError:
    """The error for a name that Kubernetes refuses."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return InputError(f"{field} {shown!r} is none that Kubernetes takes ({allowed})")
