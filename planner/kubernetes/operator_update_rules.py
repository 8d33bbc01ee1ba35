"""Rules of operators: what a change of a custom resource does to its pods, if its controller isn't simulated.

Most controllers of other projects do one of five things (`UpdateEffect`), and so each kind's row in `planner.kubernetes.pod_template_kinds` names
one of the rules in ``operator_update_rules.json``. They are read from each project's source and not recorded; what isn't told here isn't known. A new rule needs its
source and project. Releases are not named: the copies that were read (November 2026) tell commits only. Cases of the projects' own
tests are in `tests/rollout/test_projects_own_cases.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.records import Record


class UpdateEffect(StrEnum):
    """What becomes of the pods, in words that follow the kind's name."""

    UNKNOWN = "isn't modelled"
    STAYS = "leaves its running pods as they are: only pods made later are of the new template, and a number that grows makes more"
    BESIDE = "makes all its pods anew beside the old ones, which go when the new ones are Ready"
    AFTER = "deletes all its pods before it makes the new ones"
    NEXT = "leaves what runs alone: the next run is of the new template"
    REFUSED = "doesn't take another pod template: its webhook refuses the change"
    THROUGH = "writes it into its Deployment, which is rolled out as any other"


class Updates(Record):
    """One rule.

    Attributes
    ----------
    way : what the controller does where no field says otherwise
    project, source : the project of the rule, and its files
    pods_at : the paths that its pods depend on; what changes elsewhere moves none
    counts : paths below these that are numbers of pods, and others that its controller leaves out of the comparison; ``[]`` after a
        name means each of a list
    by_field, ways : a field, and which way each of its values means; a value that isn't there isn't modelled
    one_at_a_time : the field and those of its values with which the pods that run are gone before the next ones come
    while_suspended : paths below `pods_at` that may change while it is suspended, of a kind with a webhook that refuses to change others
    has_fixed_number : whether a number of pods that changes is refused as another template is
    leaves_numbers : whether numbers of pods that alone change stay as they run
    grows_at : a list of groups to which others may be added at its end: these are made beside what runs, and nothing else moves
    held : paths that have to stay as they are for an answer: what other object the pods come from
    through : of a kind that makes Deployments: the one role with a known Deployment, ``{name}-{role}``
    model, container : a field of that role which is a container, and the name of it
    """

    way: UpdateEffect
    project: str
    source: str
    pods_at: tuple[str, ...] = ("spec",)
    counts: tuple[str, ...] = ()
    by_field: str = ""
    ways: tuple[tuple[str, UpdateEffect], ...] = ()
    one_at_a_time: tuple[str, tuple[str, ...]] = ("", ())
    while_suspended: tuple[str, ...] = ()
    has_fixed_number: bool = False
    leaves_numbers: bool = False
    grows_at: str = ""
    held: tuple[str, ...] = ()
    through: str = ""
    container: str = ""
    model: str = ""

    def way_of(self, value: str) -> UpdateEffect:
        """The way that a value of its field means; of "" the default."""
        return self.way if not value else dict(self.ways).get(value, UpdateEffect.UNKNOWN)

    def said(self, document: Mapping[str, Any]) -> str:
        """What its field says in a document, "" where it says nothing."""
        return text_at(document, self.by_field)

    def hung_on(self, document: Mapping[str, Any], *, is_suspended: bool = False) -> dict[str, Any]:
        """What of a document its pods depend on, by path, without the numbers; and without what may change while it is suspended."""
        omitted_paths = [path.split(".") for path in (*self.counts, *(self.while_suspended if is_suspended else ()))]
        return {path: _without(at(document, path), path.split("."), omitted_paths) for path in self.pods_at}

    def held_to(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """What of a document has to stay for an answer, by path."""
        return {path: at(document, path) for path in self.held}


NOT_MODELLED: Final = Updates(way=UpdateEffect.UNKNOWN, project="", source="", pods_at=())
"""Of a kind of which nothing is told: its pods depend on nothing that is known."""


def _rule(row: Mapping[str, Any]) -> Updates:
    ways = [(value, UpdateEffect[way]) for value, way in row.get("ways", ())]
    return typed_json.convert({**row, "way": UpdateEffect[row["way"]], "ways": ways}, Updates)


RULES: Final = {
    name: _rule(row) for name, row in msgspec.json.decode(table_beside(__name__, "operator_update_rules.json")).items()
}
"""By name, of ``operator_update_rules.json``; a row of `planner.kubernetes.pod_template_kinds` names one."""


def text_at(document: Mapping[str, Any], path: str) -> str:
    """The text at a path of names, "" where none is."""
    field = at(document, path)
    return field if isinstance(field, str) else ""


def at(document: Any, path: str) -> Any:
    """What is at a path of names, None where nothing is; the document at ""."""
    for name in path.split(".") if path else ():
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def _without(value: Any, at: list[str], omitted_paths: list[list[str]]) -> Any:
    """A copy of what is at a path, without what is at those of `omitted_paths`."""
    if isinstance(value, Mapping):
        return {
            key: _without(child, [*at, key], omitted_paths)
            for key, child in value.items()
            if [*at, key] not in omitted_paths
        }
    if isinstance(value, list):
        each = [*at[:-1], f"{at[-1]}[]"]
        return [_without(element, each, omitted_paths) for element in value]
    return value
