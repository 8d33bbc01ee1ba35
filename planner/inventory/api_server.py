"""What the API server says to the objects of a manifest before any controller sees them: the version isn't served, a field isn't known.

Sources: Kubernetes' *Deprecated API Migration Guide*; `planner.inventory.field_validation` for fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.ground.errors import ChangeError
from planner.ground.records import Record
from planner.ground.words import listing, plural, with_article
from planner.inventory.api_fields import SKEW, groups, served, table, versions_of
from planner.inventory.custom_fields import CustomKind, custom_problems
from planner.inventory.field_validation import REQUIRED, FieldProblem, Object, problems_of
from planner.inventory.limits import LIMITS
from planner.kubernetes.kinds import no_longer_served

_VERSION: Final = "Give the apiVersion of today"


class Given(Record):
    """An object of a manifest: where it stands, in words, and whether the cluster has it."""

    document: Object
    where: str
    is_there: bool


def refuse(objects: Iterable[Given], minor: int | None, customs: dict[str, CustomKind]) -> list[tuple[Given, str]]:
    """Raise a `ChangeError` where an API server refuses one; else those of which it isn't known whether it takes them, and why.

    `minor`: of the newest kubelet, None where no node tells; the API server is of that version or up to three later. `customs`: by
    ``group/version/Kind``.
    """
    refused: list[ChangeError] = []
    doubts: list[tuple[Given, str]] = []
    for given in objects:
        try:
            doubt = _said(given, minor, customs)
        except ChangeError as error:
            refused.append(error)
            continue
        if doubt:
            doubts.append((given, doubt))
    if refused:
        first, others = refused[0], refused[1:]
        named = "".join(f"; {error.where}: {error.what}" for error in others[: LIMITS.problems_shown])
        more = (
            f"; and {len(others) - LIMITS.problems_shown} more objects" if len(others) > LIMITS.problems_shown else ""
        )
        raise ChangeError(f"{first.what}{named}{more}", where=first.where, mend=first.mend)
    return doubts


def _said(given: Given, minor: int | None, customs: dict[str, CustomKind]) -> str:
    kind, api_version = str(given.document.get("kind")), str(given.document.get("apiVersion") or "")
    if not api_version:  # taken for the kind of that name that Kubernetes has
        api_version = next(iter(versions_of(kind, minor)), "?/?")
    key = f"{api_version}/{kind}"
    if since := no_longer_served(kind, api_version, () if minor is None else (minor,)):
        raise ChangeError(_gone(kind, api_version, since), where=given.where, mend=_instead(kind, minor))
    custom = customs.get(key)
    if custom is not None:
        return _of_custom(given, api_version, custom)
    group = api_version.rpartition("/")[0]
    if group not in groups() or (minor is not None and minor < table().first):
        return ""  # of another project, or of a version that the table doesn't go back to
    runs = table().kinds.get(key)
    if runs is None:
        return _of_no_kind(given, kind, api_version, minor)
    known = served(runs, table().last if minor is None else minor)
    if not known.what and minor is None and known.until > table().last - SKEW:
        known = served(runs, minor)  # of a version that clusters of today may still be of
    if not known.what:
        what = _gone(kind, api_version, known.until + 1)
        if minor is not None and known.since > minor:
            what = f"no API server before Kubernetes 1.{known.since} takes {with_article(kind)} of {api_version}, and the nodes run 1.{minor}"
        raise ChangeError(what, where=given.where, mend=_instead(kind, minor))
    problems = problems_of(given.document, known.what, minor, is_there=given.is_there)
    _refuse_all([one for one in problems if one.is_certain], given.where, minor)
    if not known.is_certain:
        return f"{api_version} of {kind} is served since Kubernetes 1.{known.since}, and its nodes run 1.{minor}"
    return _doubt([one for one in problems if not one.is_certain], minor)


def _gone(kind: str, api_version: str, since: int) -> str:
    return f"no API server since Kubernetes 1.{since} takes {with_article(kind)} of {api_version}"


def _instead(kind: str, minor: int | None) -> str:
    versions = versions_of(kind, minor)
    return f"Give apiVersion {versions[0]}" if versions else _VERSION


def _of_no_kind(given: Given, kind: str, api_version: str, minor: int | None) -> str:
    if minor is not None and minor > table().last:
        return f"whether Kubernetes 1.{minor} has a kind {kind} in {api_version} isn't known: what is known here ends with 1.{table().last}"
    what = f"no API server takes {with_article(kind)} of {api_version}: Kubernetes has no such kind there"
    raise ChangeError(what, where=given.where, mend=_instead(kind, minor))


def _of_custom(given: Given, api_version: str, custom: CustomKind) -> str:
    if not custom.is_served:
        what = f"its CustomResourceDefinition doesn't serve {api_version}"
        raise ChangeError(what, where=given.where, mend="Give a version that it serves")
    if custom.schema is not None:
        _refuse_all(custom_problems(given.document, custom.schema, is_there=given.is_there), given.where, None)
    return ""


def _refuse_all(problems: list[FieldProblem], where: str, minor: int | None) -> None:
    if not problems:
        return
    unknown = [one for one in problems if one.is_unknown_field]
    said = (
        [
            f"unknown {plural(len(unknown), 'field')} {listing([_field(one, minor) for one in unknown], most=LIMITS.problems_shown)}"
        ]
        if unknown
        else []
    )
    others = [
        f"{one.path}{' ' if one.what == REQUIRED else ': '}{one.what}" for one in problems if not one.is_unknown_field
    ]
    said += others[: LIMITS.problems_shown] + (["…"] if len(others) > LIMITS.problems_shown else [])
    near = [f'"{one.nearest}"' for one in unknown if one.nearest]
    mend = (
        f"Write {listing(near, most=LIMITS.problems_shown)}"
        if near
        else "Delete what isn't known"
        if unknown
        else "Correct it"
    )
    raise ChangeError("; ".join(said), where=where, mend=mend)


def _field(problem: FieldProblem, minor: int | None) -> str:
    of = f", which {problem.what}, and the nodes run 1.{minor}" if problem.what and minor is not None else ""
    return f'"{problem.path}"{of}'


def _doubt(problems: list[FieldProblem], minor: int | None) -> str:
    if not problems:
        return ""
    fields = listing(
        [f"{one.path}{f' ({one.what})' if one.what else ''}" for one in problems], most=LIMITS.problems_shown
    )
    return f"{fields}: whether its API server knows that isn't known, since its nodes run Kubernetes 1.{minor}"
