"""Checks a manifest's objects as the API server does first: is the API version served, is every field known?

Sources: Kubernetes' *Deprecated API Migration Guide*; `planner.inventory.field_validation` for fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.ground.errors import ChangeError
from planner.ground.records import Record
from planner.ground.words import listing, plural, with_article
from planner.inventory.custom_resource_validation import CustomKind, custom_problems
from planner.inventory.field_validation import REQUIRED, FieldProblem, Object, problems_of
from planner.inventory.kubernetes_api_schema import SKEW, groups, served, table, versions_of
from planner.inventory.reading_limits import LIMITS
from planner.kubernetes.workload_kinds import no_longer_served

_VERSION: Final = "Give the apiVersion of today"


class AppliedObject(Record):
    """An object of a manifest: where it stands, in words, and whether the cluster has it."""

    document: Object
    where: str
    is_there: bool


def refuse(
    objects: Iterable[AppliedObject], minor: int | None, customs: dict[str, CustomKind]
) -> list[tuple[AppliedObject, str]]:
    """Raise a `ChangeError` where an API server refuses one; else those of which it isn't known whether it takes them, and why.

    `minor`: of the newest kubelet, None where no node tells; the API server is of that version or up to three later. `customs`: by
    ``group/version/Kind``.
    """
    refused: list[ChangeError] = []
    doubts: list[tuple[AppliedObject, str]] = []
    for given_object in objects:
        try:
            doubt = _said(given_object, minor, customs)
        except ChangeError as error:
            refused.append(error)
            continue
        if doubt:
            doubts.append((given_object, doubt))
    if refused:
        first, others = refused[0], refused[1:]
        named = "".join(f"; {error.where}: {error.what}" for error in others[: LIMITS.problems_shown])
        more = (
            f"; and {len(others) - LIMITS.problems_shown} more objects" if len(others) > LIMITS.problems_shown else ""
        )
        raise ChangeError(f"{first.what}{named}{more}", where=first.where, fix=first.fix)
    return doubts


def _said(given_object: AppliedObject, minor: int | None, customs: dict[str, CustomKind]) -> str:
    kind, api_version = str(given_object.document.get("kind")), str(given_object.document.get("apiVersion") or "")
    if not api_version:  # taken for the kind of that name that Kubernetes has
        api_version = next(iter(versions_of(kind, minor)), "?/?")
    key = f"{api_version}/{kind}"
    if since := no_longer_served(kind, api_version, () if minor is None else (minor,)):
        raise ChangeError(_gone(kind, api_version, since), where=given_object.where, fix=_instead(kind, minor))
    custom = customs.get(key)
    if custom is not None:
        return _of_custom(given_object, api_version, custom)
    group = api_version.rpartition("/")[0]
    if group not in groups() or (minor is not None and minor < table().first):
        return ""  # of another project, or of a version that the table doesn't go back to
    runs = table().kinds.get(key)
    if runs is None:
        return _of_no_kind(given_object, kind, api_version, minor)
    served_kind = served(runs, table().last if minor is None else minor)
    if not served_kind.what and minor is None and served_kind.until > table().last - SKEW:
        served_kind = served(runs, minor)  # of a version that clusters of today may still be of
    if not served_kind.what:
        what = _gone(kind, api_version, served_kind.until + 1)
        if minor is not None and served_kind.since > minor:
            what = f"no API server before Kubernetes 1.{served_kind.since} takes {with_article(kind)} of {api_version}, and the nodes run 1.{minor}"
        raise ChangeError(what, where=given_object.where, fix=_instead(kind, minor))
    problems = problems_of(given_object.document, served_kind.what, minor, is_there=given_object.is_there)
    _refuse_all([problem for problem in problems if problem.is_certain], given_object.where, minor)
    if not served_kind.is_certain:
        return f"{api_version} of {kind} is served since Kubernetes 1.{served_kind.since}, and its nodes run 1.{minor}"
    return _doubt([problem for problem in problems if not problem.is_certain], minor)


def _gone(kind: str, api_version: str, since: int) -> str:
    return f"no API server since Kubernetes 1.{since} takes {with_article(kind)} of {api_version}"


def _instead(kind: str, minor: int | None) -> str:
    versions = versions_of(kind, minor)
    return f"Give apiVersion {versions[0]}" if versions else _VERSION


def _of_no_kind(given_object: AppliedObject, kind: str, api_version: str, minor: int | None) -> str:
    if minor is not None and minor > table().last:
        return f"whether Kubernetes 1.{minor} has a kind {kind} in {api_version} isn't known: what is known here ends with 1.{table().last}"
    what = f"no API server takes {with_article(kind)} of {api_version}: Kubernetes has no such kind there"
    raise ChangeError(what, where=given_object.where, fix=_instead(kind, minor))


def _of_custom(given_object: AppliedObject, api_version: str, custom: CustomKind) -> str:
    if not custom.is_served:
        what = f"its CustomResourceDefinition doesn't serve {api_version}"
        raise ChangeError(what, where=given_object.where, fix="Give a version that it serves")
    if custom.schema is not None:
        _refuse_all(
            custom_problems(given_object.document, custom.schema, is_there=given_object.is_there),
            given_object.where,
            None,
        )
    return ""


def _refuse_all(problems: list[FieldProblem], where: str, minor: int | None) -> None:
    if not problems:
        return
    unknown = [problem for problem in problems if problem.is_unknown_field]
    sentences = (
        [
            f"unknown {plural(len(unknown), 'field')} {listing([_field(problem, minor) for problem in unknown], most=LIMITS.problems_shown)}"
        ]
        if unknown
        else []
    )
    others = [
        f"{problem.path}{' ' if problem.what == REQUIRED else ': '}{problem.what}"
        for problem in problems
        if not problem.is_unknown_field
    ]
    sentences += others[: LIMITS.problems_shown] + (["…"] if len(others) > LIMITS.problems_shown else [])
    near = [f'"{problem.nearest}"' for problem in unknown if problem.nearest]
    fix = (
        f"Write {listing(near, most=LIMITS.problems_shown)}"
        if near
        else "Delete what isn't known"
        if unknown
        else "Correct it"
    )
    raise ChangeError("; ".join(sentences), where=where, fix=fix)


def _field(problem: FieldProblem, minor: int | None) -> str:
    of = f", which {problem.what}, and the nodes run 1.{minor}" if problem.what and minor is not None else ""
    return f'"{problem.path}"{of}'


def _doubt(problems: list[FieldProblem], minor: int | None) -> str:
    if not problems:
        return ""
    fields = listing(
        [f"{doubt.path}{f' ({doubt.what})' if doubt.what else ''}" for doubt in problems], most=LIMITS.problems_shown
    )
    return f"{fields}: whether its API server knows that isn't known, since its nodes run Kubernetes 1.{minor}"
