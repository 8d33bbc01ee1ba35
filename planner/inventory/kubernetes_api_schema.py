"""The schema of Kubernetes' own API by version: every type's fields, to find unknown fields.

The table is packed in ``kubernetes_api_schema.json.gz``, which ``make fields`` makes from the schemas that PyPI's kubernetes-validate carries
(`tests/inventory/api_fields.py`); `tests/inventory/test_api_fields.py` holds both against each other. What becomes of a field in a
rollout is in `planner.inventory.field_coverage`.

A shape says what a value has to be: ``s`` text, ``i`` and ``l`` whole numbers of 32 and 64 bits, ``n`` number, ``b`` boolean, ``q``
Quantity, ``x`` IntOrString, ``t`` time, ``y`` base64, ``*`` anything, ``[`` and ``{`` before a shape an array and a map of it, ``#`` a type;
``!`` at its end: the field is required.
"""

from __future__ import annotations

import gzip
from functools import cache
from typing import Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.records import Record

Runs = tuple[tuple[int, int, str], ...]
"""(first, last, what) of minor versions in a row."""

SKEW: Final = 3
"""How many minor versions a kubelet may be older than its API server (kubernetes.io, *Version Skew Policy*)."""


class FieldTable(Record):
    """`kinds`: ``apps/v1/Deployment`` → its type; `types`: type → field → shape, a text where it is the same in all versions."""

    first: int
    last: int
    kinds: dict[str, Runs]
    types: dict[str, dict[str, str | Runs]]


@cache
def table() -> FieldTable:
    """The whole table; it takes some 10 ms to unpack, so only what asks about a field reads it."""
    return typed_json.decode(gzip.decompress(table_beside(__name__, "kubernetes_api_schema.json.gz")), FieldTable)


class Served(Record):
    """What the API servers of a cluster may know of a field or a kind.

    `what`: its shape or type in the version that counts; `is_certain`: False where only a server newer than the newest kubelet knows it,
    or where the cluster's version is beyond the table; `since` and `until`: the versions that know it, 0 where none does.
    """

    what: str
    is_certain: bool = True
    since: int = 0
    until: int = 0


def served(runs: str | Runs, minor: int | None) -> Served:
    """What servers of a cluster with kubelets of ``1.<minor>`` make of `runs`; None: no node tells, and any version will do.

    ``Served.what`` is "" where none of them knows it.
    """
    if isinstance(runs, str):
        return Served(what=runs)
    last = runs[-1]
    if minor is None:
        return Served(what=last[2], since=runs[0][0], until=last[1])
    api_table = table()
    counts = min(max(minor, api_table.first), api_table.last)
    for first, until, what in runs:
        if first <= counts <= until:
            return Served(what=what, since=first, until=until)
    later = next((run for run in runs if counts < run[0] <= counts + SKEW), None)
    since, until = runs[0][0], last[1]
    return Served(what=later[2] if later else "", is_certain=False, since=since, until=until)


def groups() -> frozenset[str]:
    """The API groups that are Kubernetes' own: no other project serves a kind in them."""
    return _groups()


@cache
def _groups() -> frozenset[str]:
    return frozenset(key.split("/")[0] if key.count("/") > 1 else "" for key in table().kinds)


def versions_of(kind: str, minor: int | None) -> tuple[str, ...]:
    """The apiVersions in which servers of ``1.<minor>`` serve `kind`, stable ones first."""
    versions = [
        key.rpartition("/")[0]
        for key, runs in table().kinds.items()
        if key.endswith(f"/{kind}") and _is_in(runs, table().last if minor is None else minor)
    ]
    return tuple(sorted(versions, key=lambda version: ("alpha" in version, "beta" in version, version)))


def _is_in(runs: Runs, minor: int) -> bool:
    return any(first <= min(minor, table().last) <= until for first, until, _ in runs)
